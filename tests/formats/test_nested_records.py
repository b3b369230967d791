"""Areas and their parts from microdata, held against every dataset, and against their published counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from brute_force import TooManyWorlds, all_counts, legal_types
from needs import SLOW
from showthrough.errors import InputError
from showthrough.formats.read_subject import read_subject
from showthrough.formats.subject import Subject
from showthrough.release import UNBOUNDED
from showthrough.report.verify import verify
from showthrough.scratch import private_scratch
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof.whole import check_run
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.inputs import Nested
from showthrough.tables.run.nests import audited_parts
from showthrough.tables.run.read import AuditRun
from tiny_nests import NestCase, member_of

TOP = """
area = ["town", "district"]
record = "person"
[attributes.x]
values = ["a", "b"]
[attributes.y]
values = ["a", "b", "c"]
"""

RULE = """
[[rules]]
if = { x = "a" }
then = { y = ["a", "b"] }
"""

TWICE = 'name = "twice"\n[tables.cells]\nsum = [{ weight = 2, where = { x = "a" } }, { y = "b" }]'
OWN = 'name = "own"\n[tables.cells]\nsum = [{ x = "b" }, { weight = 3, where = { y = "a" } }]'

#: Tables, two of which count some people several times, and whether they are published for towns only.
TABLES = {
    'formula = "x"': False,
    'formula = "y"': False,
    'formula = "x*y"': True,
    'formula = "y"\nname = "yy"': True,
    TWICE: True,
    OWN: False,
}


def written(folder: Path, seed: int) -> tuple[Path, Path]:
    """A release file, and microdata of two towns."""
    rng = np.random.default_rng([seed, 5])
    chosen = [list(TABLES.items())[at] for at in sorted(rng.choice(len(TABLES), 3, replace=False))]
    ruled = bool(rng.random() < 0.5)
    only = 'area = "town"\n'
    tables = "".join(f"\n[[tables]]\n{only if above else ''}{text}\n" for text, above in chosen)
    (folder / "release.toml").write_text(TOP + (RULE if ruled else "") + tables, "utf-8")
    rows = {"town": list[str](), "district": list[str](), "x": list[str](), "y": list[str]()}
    for town, district in (("A", "1"), ("A", "2"), ("A", "3"), ("B", "1"), ("B", "2")):
        for _ in range(int(rng.integers(1, 4))):
            x = "ab"[rng.integers(2)]
            y = "abc"[rng.integers(2 if ruled and x == "a" else 3)]
            for name, value in zip(rows, (town, district, x, y), strict=True):
                rows[name].append(value)
    order = rng.permutation(len(rows["x"]))
    pa_csv.write_csv(pa.table(rows).take(pa.array(order, pa.int64())), folder / "people.csv")
    return folder / "people.csv", folder / "release.toml"


def nested(subject: Subject) -> list[Nested]:
    with private_scratch() as scratch:
        return [area for area in subject.stream(scratch) if isinstance(area, Nested)]


def case_of(area: Nested) -> NestCase | None:
    """The area with every dataset that there is; None if these are too many."""
    nest = Nest(area.whole, tuple(part.release for part in area.parts))
    types = legal_types(nest.whole.schema)
    member, n = member_of(nest.layout, types), len(nest.parts)
    rows = [np.tile(member, n)]
    for part in range(n):
        row = np.zeros((len(member), n * len(types)), np.int64)
        row[:, part * len(types) : (part + 1) * len(types)] = member
        rows.append(row)
    try:
        counts, free = all_counts(np.concatenate(rows), nest.low, nest.high, most=3000)
    except TooManyWorlds:
        return None
    truth = {part.release.area: part.truth for part in area.parts if part.truth is not None}
    return NestCase(nest, truth, types, counts.reshape(-1, n, len(types)), free)


@pytest.mark.parametrize("first", range(0, 400 if SLOW else 12, 12))
def test_claims_are_those_of_all_datasets(first: int, tmp_path: Path) -> None:
    n_cases = 0
    for seed in range(first, first + 12):
        people, release = written(tmp_path, seed)
        for area in nested(read_subject(people, releases=[release], streaming=True)):
            case = case_of(area)
            if case is None:
                continue
            n_cases += 1
            assert all(part.truth is not None for part in area.parts)
            for at, found in enumerate(audited_parts(area, Settings(findings=False, seed=seed))):
                said = {(one.claim.selection, one.claim.multiplicity) for one in found.of_kind("verified")}
                assert said == case.verified(at)
                assert not found.n_of("undecided")
    assert n_cases > 5


def test_records_and_their_counts_give_the_same(tmp_path: Path) -> None:
    people, release = written(tmp_path, 3)
    records = nested(read_subject(people, releases=[release], streaming=True))
    names = [part.release.area for area in records for part in area.parts]
    assert names == ["A/1", "A/2", "A/3", "B/1", "B/2"]
    rows: dict[str, list[object]] = {name: [] for name in ("town", "district", "table", "cell", "value")}
    for area in records:
        for one in (area.whole, *(part.release for part in area.parts)):
            town, _, district = one.area.partition("/")
            for (table, cell), low, high in zip(one.layout.names, one.low, one.high, strict=True):
                if high < UNBOUNDED:
                    assert low == high
                    for name, value in zip(rows, (town, district, table, cell, int(low)), strict=True):
                        rows[name].append(value)
    pa_csv.write_csv(pa.table(rows), tmp_path / "counts.csv")
    counted = nested(read_subject(tmp_path / "counts.csv", releases=[release], streaming=True))
    for one, other in zip(records, counted, strict=True):
        assert one.whole.area == other.whole.area
        for mine, theirs in zip(
            (one.whole, *(p.release for p in one.parts)),
            (other.whole, *(p.release for p in other.parts)),
            strict=True,
        ):
            assert (mine.low == theirs.low).all()
            assert (mine.high == theirs.high).all()


def test_a_run_over_records_is_checked_by_both_checkers(tmp_path: Path) -> None:
    people, release = written(tmp_path, 11)
    subject = read_subject(people, releases=[release], streaming=True)
    settings = Settings(refuted=True, variability=True)
    for folder, batch in (("one", 50), ("several", 1)):
        run_audit(subject.stream, subject.layout, tmp_path / folder, settings=settings, batch=batch)
    one, several = (AuditRun.open(tmp_path / folder) for folder in ("one", "several"))
    for name in ("claims", "areas", "proofs", "witnesses", "wholes", "variability"):
        assert one.table(name).equals(several.table(name))
    assert one.summary.areas_compared == 5
    assert verify(one.folder).holds
    assert check_run(one.folder).holds


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("differ_high", -1), "differ_high is"),
        (("differ_low", 1), "differ_low is"),
        (("differ_low", None), "differ_low is None"),
    ],
)
def test_ends_that_are_changed_are_noticed(
    change: tuple[str, int | None], message: str, tmp_path: Path
) -> None:
    people, release = written(tmp_path, 11)
    subject = read_subject(people, releases=[release], streaming=True)
    run_audit(subject.stream, subject.layout, tmp_path / "run", settings=Settings(variability=True))
    path = tmp_path / "run" / "areas.parquet"
    rows, (name, by) = pq.read_table(path), change
    old = rows[name].to_pylist()
    new = [None if by is None else int(old[0] or 0) + by, *old[1:]]
    pq.write_table(rows.set_column(rows.column_names.index(name), name, pa.array(new, pa.int64())), path)
    assert any(message in problem for problem in verify(tmp_path / "run").problems)


def test_a_pair_of_other_records_is_noticed(tmp_path: Path) -> None:
    people, release = written(tmp_path, 11)
    subject = read_subject(people, releases=[release], streaming=True)
    run_audit(subject.stream, subject.layout, tmp_path / "run", settings=Settings(variability=True))
    path = tmp_path / "run" / "proofs" / "variability.parquet"
    rows = pq.read_table(path).to_pylist()
    assert '"x":"a"' in rows[0]["first"]
    rows[0]["first"] = rows[0]["first"].replace('"x":"a"', '"x":"b"')
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path, compression="gzip")
    assert not verify(tmp_path / "run").holds
    problems = check_run(tmp_path / "run").problems
    assert any("witness" in problem for problem in problems)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A,", "A/B,", "has a /"),
        ("town,", "city,", "no such column"),
        ("district", "part", "no such column"),
    ],
)
def test_bad_areas_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    people, release = written(tmp_path, 1)
    text = people.read_text("utf-8").replace('"', "")
    people.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message) as caught:
        nested(read_subject(people, releases=[release], streaming=True))
    assert "people.csv" in str(caught.value)


def test_one_level_of_two_is_refused(tmp_path: Path) -> None:
    people, release = written(tmp_path, 1)
    assert 'area = "town"' in release.read_text("utf-8")
    with pytest.raises(InputError, match="for larger areas only"):
        read_subject(people, releases=[release], by="district", streaming=True)
    release.write_text(release.read_text("utf-8").replace('area = "town"', 'area = "state"'), "utf-8")
    with pytest.raises(InputError, match=r"one of two nested ones.*choose from town, district"):
        read_subject(people, releases=[release], streaming=True)


def test_a_bad_record_costs_its_town_only(tmp_path: Path) -> None:
    people, release = written(tmp_path, 1)
    lines = people.read_text("utf-8").replace('"', "").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("A,2,"))
    lines[at] = "A,2,z,a"
    people.write_text("\n".join(lines) + "\n", "utf-8")
    subject = read_subject(people, releases=[release], streaming=True, keep_going=True)
    run = run_audit(subject.stream, subject.layout, tmp_path / "run", settings=Settings(keep_going=True))
    status = {row["area"]: row["status"] for row in run.table("areas").to_pylist()}
    assert all(
        "A/2: " in text and text.startswith("contradiction") for a, text in status.items() if a[0] == "A"
    )
    assert {status["B/1"], status["B/2"]} == {"decided"}
