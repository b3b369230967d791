"""Files read area by area: the same areas, and the same run, as from a file read at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.census.simulator import simulate_households
from showthrough.cli import main
from showthrough.errors import InputError, RecordsError
from showthrough.formats.counts_file import open_counts, read_counts
from showthrough.formats.design import read_design
from showthrough.formats.read_subject import read_subject
from showthrough.formats.records_file import open_records, read_records
from showthrough.formats.subject import Subject
from showthrough.frames import content as content_module
from showthrough.frames import delimited as delimited_module
from showthrough.frames import stream as stream_module
from showthrough.releases import write_counts
from showthrough.tables.run.batch import Planned

PEOPLE = """town,sex,ill
Brook,f,no
Aldea,f,no
Brook,m,yess
Aldea,m,yes
Crow,m,no
Crow,f,no
Brook,,no
"""

SCHEMA = """
[attributes.sex]
values = ["f", "m"]
[attributes.ill]
values = ["no", "yes"]
"""

RELEASE = 'schema = "schema.toml"\n[[tables]]\nformula = "sex"\n[[tables]]\nformula = "ill"\n'


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Chunks of a few rows, so that areas lie across them."""
    monkeypatch.setattr(stream_module, "CHUNK", 64)
    monkeypatch.setattr(delimited_module, "BLOCK", 256)
    monkeypatch.setattr(content_module, "HELD", 0)
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA, "utf-8")
    Path("release.toml").write_text(RELEASE, "utf-8")


def homes(n_blocks: int = 12, *, shuffled: bool) -> pa.Table:
    table = simulate_households(n_blocks, seed=4).select(["block", "tenure", "size", "race"])
    order = np.random.default_rng(1).permutation(len(table)) if shuffled else np.arange(len(table))
    return table.take(pa.array(order))


def write(table: pa.Table, name: str) -> Path:
    if name.endswith(".csv"):
        arrow_csv.write_csv(table, name)
    else:
        pq.write_table(table, name, row_group_size=37)
    return Path(name)


def same_records(path: Path, schema: st.Schema | None, tmp_path: Path, by: str = "block") -> None:
    """The stream gives what reading the whole file gives."""
    whole = read_records(path, schema, by=by)
    streamed = open_records(path, schema, by=by, columns=None, tolerant=False)
    assert streamed.schema == whole.schema
    expected = list(whole.by_area())
    found = list(streamed.areas(tmp_path))
    assert streamed.n_areas == len(expected)
    assert [name for name, _ in found] == [name for name, _ in expected]
    for (_, mine), (_, theirs) in zip(found, expected, strict=True):
        assert isinstance(mine, st.Records)
        assert mine.codes.dtype == theirs.codes.dtype
        assert np.array_equal(mine.codes, theirs.codes)


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("name", ["homes.parquet", "homes.csv"])
@pytest.mark.parametrize("declared", [True, False], ids=["schema", "inferred"])
def test_records_are_the_same(tmp_path: Path, name: str, shuffled: bool, declared: bool) -> None:
    path = write(homes(shuffled=shuffled), name)
    same_records(path, read_records(path, by="block").schema if declared else None, tmp_path)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, 2.0, None, 4.0] * 50),
        pa.array([1.0] * 199 + [2.5]),
        pa.array([7, 8] * 100),
        pa.array([True, False] * 100),
        pa.array([3.0, float("nan")] * 100),
        pa.array(["é", "\U0001f600", "z", "Z"] * 50).dictionary_encode(),
    ],
    ids=["whole decimals", "one fraction at the end", "numbers", "truth values", "not a number", "words"],
)
def test_values_are_written_the_same_in_every_chunk(tmp_path: Path, column: pa.Array) -> None:
    places = [f"{at % 7}" for at in range(200)]
    same_records(write(pa.table({"block": places, "x": column}), "odd.parquet"), None, tmp_path)
    if not column.null_count and column.type != pa.float64():
        table = pa.table({"block": column, "x": places})
        same_records(write(table, "areas.parquet"), None, tmp_path)


def test_area_names_that_are_decimals(tmp_path: Path) -> None:
    for last in (3.0, 3.5):
        table = pa.table({"block": [float(at % 3) for at in range(199)] + [last], "x": ["a", "b"] * 100})
        same_records(write(table, "decimals.parquet"), None, tmp_path)


def test_areas_whose_names_are_in_several_columns(tmp_path: Path) -> None:
    table = simulate_households(12, seed=4).select(["block", "tenure", "size"])
    codes = table["block"].cast(pa.string()).to_pylist()
    order = np.random.default_rng(2).permutation(len(table))
    parts = pa.table(
        {
            "tract": [int(codes[at][:11]) for at in order],
            "block": [int(codes[at][11:]) for at in order],
            "tenure": table["tenure"].take(pa.array(order)),
            "size": table["size"].take(pa.array(order)),
        }
    )
    whole = parts.set_column(1, "block", pa.array([codes[at] for at in order]))
    schema = read_records(write(whole, "whole.parquet"), by="block", columns=["tenure", "size"]).schema
    expected = dict(read_records(Path("whole.parquet"), schema, by="block").by_area())
    joined = {"tract": 11, "block": 4}
    streamed = open_records(
        write(parts, "parts.parquet"), schema, by="block", columns=None, tolerant=False, joined=joined
    )
    assert streamed.n_areas == len(expected) == 12
    found = list(streamed.areas(tmp_path))
    assert [name for name, _ in found] == sorted(expected)
    for name, records in found:
        assert isinstance(records, st.Records)
        assert np.array_equal(records.codes, expected[name].codes)


def both_runs(tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command with its files streamed, and with everything in memory."""
    assert main([*arguments, "--out", "streamed"]) == 1
    read: list[Subject] = []

    def in_memory(*positional: object, streaming: bool, keep_going: bool, **named: object) -> Subject:
        assert streaming
        assert not keep_going
        read.append(read_subject(*positional, **named))  # type: ignore[arg-type]
        return read[-1]

    monkeypatch.setattr("showthrough.formats.read_subject.read_subject", in_memory)
    assert main([*arguments, "--out", "held"]) == 1
    assert isinstance(read[0].source, st.Records | st.Releases)
    files = {
        folder: {
            str(path.relative_to(folder)): path.read_bytes()
            for path in (tmp_path / folder).relative_to(tmp_path).rglob("*")
            if path.is_file() and path.name != "timing.parquet"
        }
        for folder in ("streamed", "held")
    }
    assert len(files["held"]) > 5
    assert files["streamed"] == files["held"]


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_runs_over_microdata_are_the_same(
    tmp_path: Path, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(homes(6, shuffled=shuffled), "homes.parquet")
    arguments = ["audit", str(path), "--tables", "tenure*race", "--tables", "size", "--by", "block",
                 "--workers", "1", "--effort", "0.01", "--quiet"]  # fmt: skip
    both_runs(tmp_path, arguments, monkeypatch)


def releases(n_areas: int) -> list[st.Release]:
    layout = read_design("release.toml").layout
    rng = np.random.default_rng(2)
    made: list[st.Release] = []
    for at in rng.permutation(n_areas):
        codes = rng.integers(0, 2, (4, 2)).astype(np.uint8)
        made.append(layout.tabulate(st.Records(layout.schema, codes), area=f"a{at}"))
    return made


def wide(made: list[st.Release]) -> pa.Table:
    names = [f"{table}:{cell}" for table, cell in made[0].layout.names]
    columns = {name: [str(one.low[at]) for one in made] for at, name in enumerate(names)}
    return pa.table({"area": [one.area for one in made], **columns})


@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "shuffled"])
@pytest.mark.parametrize("name", ["tidy.csv", "tidy.parquet", "wide.csv", "wide.parquet"])
def test_counts_are_the_same(tmp_path: Path, name: str, ordered: bool) -> None:
    made = releases(60)
    if ordered:
        made.sort(key=lambda release: release.area)
    if name.startswith("tidy"):
        write_counts(made, name)
    else:
        write(wide(made), name)
    design = read_design("release.toml")
    expected = read_counts(name, design)
    streamed = open_counts(Path(name), design, by=None, tolerant=False)
    assert streamed is not None
    assert streamed.ascending is ordered
    assert streamed.n_areas == 60
    found = list(streamed.areas(tmp_path))
    assert [area for area, _ in found] == list(expected.areas)
    for (_, mine), theirs in zip(found, expected, strict=True):
        assert isinstance(mine, st.Release)
        assert np.array_equal(mine.low, theirs.low)
        assert np.array_equal(mine.high, theirs.high)


def test_rows_of_an_area_may_lie_anywhere(tmp_path: Path) -> None:
    """A tidy file sorted by cell, with cells left out and marks."""
    rows = [
        {"area": f"a{at}", "table": "sex", "cell": f"sex={sex}", "value": value}
        for sex, value in (("f", "1"), ("m", "<5"))
        for at in range(40)
        if (at + (sex == "m")) % 3
    ]
    write(pa.Table.from_pylist(rows), "tidy.parquet")
    design = read_design("release.toml")
    expected = read_counts("tidy.parquet", design)
    streamed = open_counts(Path("tidy.parquet"), design, by=None, tolerant=False)
    assert streamed is not None
    for (area, mine), theirs in zip(streamed.areas(tmp_path), expected, strict=True):
        assert isinstance(mine, st.Release)
        assert area == theirs.area
        assert (mine.low.tolist(), mine.high.tolist()) == (theirs.low.tolist(), theirs.high.tolist())


def test_runs_over_counts_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(wide(releases(20)), "wide.parquet")
    arguments = ["audit", "wide.parquet", "--release", "release.toml", "--workers", "1", "--quiet"]
    both_runs(tmp_path, [*arguments, "--effort", "0.01"], monkeypatch)


class TestBadAreas:
    def test_the_first_bad_record_stops_the_reading(self) -> None:
        path = Path("people.csv")
        path.write_text("town,sex,ill\n" + "A,f,no\n" * 80 + "B,m,yess\n", "utf-8")
        schema = st.read_schema("schema.toml")
        with pytest.raises(RecordsError) as caught:
            open_records(path, schema, by="town", columns=None, tolerant=False)
        with pytest.raises(RecordsError) as held:
            read_records(path, schema, by="town")
        assert str(caught.value) == str(held.value)
        assert caught.value.row == 81

    def test_keep_going_notes_records_outside_the_schema(self) -> None:
        Path("people.csv").write_text(PEOPLE, "utf-8")
        arguments = ["audit", "people.csv", "--tables", "sex*ill", "--tables", "ill", "--by", "town",
                     "--schema", "schema.toml", "--quiet"]  # fmt: skip
        assert main([*arguments, "--out", "run"]) == 2
        assert not Path("run").exists()
        main([*arguments, "--out", "run", "--keep-going"])
        found = pq.read_table("run/areas.parquet").to_pylist()
        status = {row["area"]: row["status"] for row in found}
        assert status["Aldea"] == status["Crow"] == "decided"
        assert status["Brook"] == (
            "contradiction: people.csv, row 3, column ill: value outside the schema (found 'yess'); "
            "did you mean 'yes'? known: 'no', 'yes'"
        )
        assert st.AuditRun(Path("run")).summary.areas_failed == 1
        assert st.verify("run").holds

    def test_keep_going_notes_records_that_break_a_rule(self, tmp_path: Path) -> None:
        rule = '[[rules]]\nif = { sex = "m" }\nthen = { ill = "no" }\n'
        Path("schema.toml").write_text(SCHEMA + rule, "utf-8")
        Path("people.csv").write_text("town,sex,ill\nA,m,yes\nB,f,yes\nA,f,no\n", "utf-8")
        schema = st.read_schema("schema.toml")
        found = dict(
            open_records(Path("people.csv"), schema, by="town", columns=None, tolerant=True).areas(tmp_path)
        )
        assert "people.csv, row 1: a record breaks a rule of the schema" in str(found["A"])
        assert isinstance(found["B"], st.Records)

    def test_a_record_without_an_area_has_nowhere_to_be_noted(self) -> None:
        Path("people.csv").write_text(PEOPLE + ",f,no\n", "utf-8")
        schema = st.read_schema("schema.toml")
        with pytest.raises(RecordsError, match="row 8, column town: a record has no area"):
            open_records(Path("people.csv"), schema, by="town", columns=None, tolerant=True)

    @pytest.mark.parametrize("name", ["tidy.parquet", "wide.parquet"])
    def test_keep_going_notes_counts_that_are_none(self, tmp_path: Path, name: str) -> None:
        made = releases(50)
        if name.startswith("tidy"):
            write_counts(made, name)
            table, column = pq.read_table(name), "value"
        else:
            table, column = wide(made), "sex:sex=f"
        values = table[column].to_pylist()
        values[77 % len(values)] = "-3"
        area = table["area"][77 % len(values)].as_py()
        write(table.set_column(table.column_names.index(column), column, pa.array(values)), name)
        design = read_design("release.toml")
        with pytest.raises(InputError, match=f"row {77 % len(values) + 1}, .*negative count"):
            open_counts(Path(name), design, by=None, tolerant=False)
        streamed = open_counts(Path(name), design, by=None, tolerant=True)
        assert streamed is not None
        found = dict(streamed.areas(tmp_path))
        assert len(found) == 50
        bad = {name for name, release in found.items() if isinstance(release, InputError)}
        assert bad == {area}
        assert f"{name}, row {77 % len(values) + 1}" in str(found[area])

    def test_totals_that_do_not_add_up(self) -> None:
        table = wide(releases(5)).set_column(1, "sex:sex=f", pa.array(["9", "0", "0", "0", "0"]))
        write(table, "wide.parquet")
        arguments = ["audit", "wide.parquet", "--release", "release.toml", "--quiet"]
        assert main([*arguments, "--out", "run"]) == 2
        assert not Path("run").exists()
        main([*arguments, "--out", "run", "--keep-going"])
        found = pq.read_table("run/areas.parquet")
        first = found.filter(pa.compute.field("area") == table["area"][0].as_py())
        assert first["status"][0].as_py().startswith("contradiction: area")
        assert len(found) == 5

    @pytest.mark.parametrize("tolerant", [False, True])
    def test_an_area_with_two_rows(self, tmp_path: Path, tolerant: bool) -> None:
        table = wide(releases(40))
        write(pa.concat_tables([table, table.slice(3, 1)]), "wide.parquet")
        design = read_design("release.toml")
        streamed = open_counts(Path("wide.parquet"), design, by=None, tolerant=tolerant)
        assert streamed is not None
        if tolerant:
            bad = [area for area, one in streamed.areas(tmp_path) if isinstance(one, InputError)]
            assert bad == [table["area"][3].as_py()]
        else:
            with pytest.raises(InputError, match="occurs twice in area"):
                list(streamed.areas(tmp_path))


def test_what_goes_wrong_while_sorting_is_told(tmp_path: Path) -> None:
    """A file that changes between the first look and the second."""
    path = write(homes(shuffled=True), "homes.parquet")
    schema = read_records(path, by="block").schema
    streamed = open_records(path, schema, by="block", columns=None, tolerant=False)
    table = homes(shuffled=True)
    write(table.set_column(1, "tenure", pa.array(["castle"] * len(table))), "homes.parquet")
    with pytest.raises(RecordsError, match="the file changed while it was being read"):
        list(streamed.areas(tmp_path))


def test_a_subject_counts_its_areas_without_reading_them() -> None:
    path = write(homes(9, shuffled=True), "homes.parquet")
    subject = read_subject(path, tables=["tenure"], by="block", streaming=True)
    assert subject.n_areas == 9
    assert len(subject.names) == 9
    assert all(isinstance(area, Planned) for area in subject.stream(Path()))
