"""Blocks of people linked with the tables of their tracts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import runner
from needs import SLOW
from showthrough.census.blocks import LinkedTables, PeopleTables, read_blocks
from showthrough.census.counts import write_census
from showthrough.census.figures import ProvedPeople, summarise_people
from showthrough.census.people import AGE_YEARS, RACES, age_range
from showthrough.errors import InputError, ReleaseError
from showthrough.release import UNBOUNDED
from showthrough.report.verify import verify
from showthrough.scratch import private_scratch
from showthrough.selection import Selection
from showthrough.tables.bounds import bounds
from showthrough.tables.linked.nest import PART, Nest, plain_release
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.inputs import Nested
from showthrough.tables.run.nests import audited_parts

TRACT = "01001020100"


def someone(block: int, age: int, *races: str, sex: str = "male", hispanic: str = "no") -> dict[str, object]:
    row = {"block": f"{TRACT}{block:04d}", "sex": sex, "age": age}
    return {**row, **{name: "yes" if name in races else "no" for name in RACES}, "hispanic": hispanic}


#: By its own tables it is open who is Hispanic in the first block: at each age one of two. The tables of the
#: tract tell. Who has which races in the second block is open in any case.
PEOPLE = [
    someone(1, 30, "black"),
    someone(1, 30, "asian", hispanic="yes"),
    someone(1, 40, "black", hispanic="yes"),
    someone(1, 40, "asian"),
    someone(2, 31, "asian", "white"),
    someone(2, 41, "asian", "black"),
    someone(3, 5, "black", sex="female", hispanic="yes"),
]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nests") / "people.parquet"
    pq.write_table(pa.Table.from_pylist(PEOPLE), path)
    return path


@pytest.fixture(scope="module")
def counts(people: Path) -> list[Path]:
    """The counts of the blocks and of the tract, as files."""
    found = [people.with_name(f"{place}.csv") for place in ("block", "tract")]
    of_tract = people.with_name("tract.parquet")
    table = pq.read_table(people)
    pq.write_table(table.append_column("tract", pa.array([TRACT] * len(table))), of_tract)
    for path, source in zip(found, (people, of_tract), strict=True):
        tables = PeopleTables("2010", path.stem)  # pyright: ignore[reportArgumentType]
        releases = (area.release for area in read_blocks(source, tables=tables).areas())
        write_census(releases, path, place=path.stem)  # pyright: ignore[reportArgumentType]
    return found


def nested(**given: object) -> Nested:
    with private_scratch() as scratch:
        (found,) = read_blocks(**given).stream(scratch)  # pyright: ignore[reportArgumentType]
        assert isinstance(found, Nested)
        return found


def nest_of(area: Nested) -> Nest:
    return Nest(area.whole, tuple(part.release for part in area.parts))


@pytest.mark.parametrize("ages", ["bins", "years"])
def test_counts_of_both_are_those_of_the_people(ages: str, people: Path, counts: list[Path]) -> None:
    tables = LinkedTables("2010", ages)  # pyright: ignore[reportArgumentType]
    mine, theirs = nested(homes=people, tables=tables), nested(counts=counts, tables=tables)
    assert [part.release.area for part in theirs.parts] == [f"{TRACT}{n:04d}" for n in (1, 2, 3)]
    for one, other in zip(
        (mine.whole, *(p.release for p in mine.parts)),
        (theirs.whole, *(p.release for p in theirs.parts)),
        strict=True,
    ):
        assert one.area == other.area
        shown = one.high < UNBOUNDED
        assert (one.low[shown] == other.low[shown]).all()
        assert (one.high[shown] == other.high[shown]).all()
    published = [table.name for table in tables.layout().tables if table.name.startswith("PCT")]
    assert len(published) == 16


@pytest.mark.skipif(not SLOW, reason="a minute; with SHOWTHROUGH_SLOW=1")
def test_38_ages_give_what_single_years_do(people: Path) -> None:
    """What is said in 38 ages, held against bounds with the tables of single years."""
    coarse, fine = (
        nested(homes=people, tables=LinkedTables("2010", ages))  # pyright: ignore[reportArgumentType]
        for ages in ("bins", "years")
    )
    plain = plain_release(nest_of(fine))
    found = audited_parts(coarse, Settings(findings=False))
    rng = np.random.default_rng(1)
    for audit in found[: 3 if SLOW else 2]:
        asked = list(audit.of_kind("refuted"))
        asked = [asked[at] for at in rng.permutation(len(asked))[: 40 if SLOW else 1]]
        nested_ = [v for v in audit.of_kind("verified") if v.proof is not None and PART in v.proof.over]
        for verdict in (*asked, *nested_[: 40 if SLOW else 1]):
            plain_terms = dict(verdict.claim.selection.terms)
            if "age" in plain_terms:
                first, last = age_range(plain_terms["age"][0])
                years = [age for age in AGE_YEARS if first <= age_range(age)[0] <= last]
                plain_terms["age"] = tuple(years)
            ends = bounds(plain, Selection.of({**plain_terms, PART: audit.area}))
            assert (ends.low == ends.high) is (verdict.kind == "verified")
            assert ends.low <= verdict.claim.multiplicity <= ends.high


def test_the_tables_of_the_tract_prove_more(people: Path, tmp_path: Path) -> None:
    subject = read_blocks(people, tables=LinkedTables())
    settings = Settings(variability=True, findings=True)
    run = run_audit(subject.stream, subject.layout, tmp_path / "linked", settings=settings)
    alone = read_blocks(people, tables=PeopleTables())
    apart = run_audit(alone.stream, alone.layout, tmp_path / "apart", settings=settings)
    assert run.summary.verified > apart.summary.verified
    assert run.summary.verified_by_evidence["nested"]
    assert run.summary.differ_high < apart.summary.differ_high
    assert verify(run.folder).holds
    linked, plain = summarise_people(run.folder), summarise_people(apart.folder)
    assert linked.n_people == plain.n_people == len(PEOPLE)
    assert linked.alone is not None
    assert plain.alone is None
    assert isinstance(linked.alone, ProvedPeople)
    assert (linked.alone.n_whole or 0) <= (plain.settled.n_whole or 0) < (linked.settled.n_whole or 0)
    assert linked.alone.n_unique <= plain.settled.n_unique <= linked.settled.n_unique
    names = {row["area"] for row in run.table("findings").to_pylist()}
    assert names <= {f"{TRACT}{n:04d}" for n in (1, 2, 3)}


def few_counts(folder: Path, **of_tract: str) -> list[Path]:
    """Files with few cells: how many people the blocks have, and some cells of the tract."""
    blocks, tract = folder / "blocks.csv", folder / "tract.csv"
    rows = "".join(f"{TRACT}{block:04d},{n}\n" for block, n in ((1, 4), (2, 2)))
    blocks.write_text(f"block,P001001\n{rows}", "utf-8")
    tract.write_text(f"{','.join(of_tract)}\n{','.join(of_tract.values())}\n", "utf-8")
    return [blocks, tract]


def test_counts_that_do_not_add_up_over_blocks(tmp_path: Path) -> None:
    area = nested(counts=few_counts(tmp_path, tract=TRACT, P001001="7"), tables=LinkedTables())
    assert "P001001 of table P1 is 7, but its blocks add up to 6" in area.parts[0].problem
    assert "a block is missing" in area.parts[0].problem
    area = nested(counts=few_counts(tmp_path, tract=TRACT, P001001="6"), tables=LinkedTables())
    assert not area.parts[0].problem


def test_some_tables_of_single_years_are_not_enough(tmp_path: Path) -> None:
    counts = few_counts(tmp_path, tract=TRACT, PCT012H003="1")
    assert "add --ages years" in nested(counts=counts, tables=LinkedTables()).parts[0].problem
    assert not nested(counts=counts, tables=LinkedTables("2010", "years")).parts[0].problem


@pytest.mark.parametrize(
    ("code", "message"), [("01001020200", "no counts of its blocks"), ("01001", "neither the code")]
)
def test_a_tract_without_blocks(code: str, message: str, tmp_path: Path) -> None:
    counts = few_counts(tmp_path, tract=code, P001001="6")
    with pytest.raises(ReleaseError, match=message), private_scratch() as scratch:
        list(read_blocks(counts=counts, tables=LinkedTables()).stream(scratch))


def test_blocks_without_their_tract(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{**PEOPLE[0], "block": "1001"}]), tmp_path / "p.parquet")
    with pytest.raises(InputError, match="15 digits"):
        nested(homes=tmp_path / "p.parquet", tables=LinkedTables())


def test_the_command_links_counts_of_both(
    counts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runner(capsys)
    files = [text for path in counts for text in ("--counts", str(path))]
    shown = run("census", "audit", "--people", *files, "--no-report", "--out", str(tmp_path / "run"))
    assert "cells of the larger area and its parts" in shown.out
    shown = run("census", "summary", str(tmp_path / "run"))
    assert "by tables of blocks alone" in shown.out
    assert "at most 20.1" in shown.out
    refused = run("census", "audit", "--people", "--ages", "years", str(counts[0]), "--out", "x")
    assert "--place both" in refused.err
