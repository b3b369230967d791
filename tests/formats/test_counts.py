"""Counts files, tidy and wide, and releases of many areas."""

from __future__ import annotations

import hypothesis.strategies as hs
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from needs import SLOW
from showthrough.errors import ReleaseError
from showthrough.formats.counts_file import read_counts
from showthrough.formats.design import Design, read_design
from showthrough.formats.release_file import read_release, write_release
from showthrough.notation import Notation, Rounding
from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table, make_table
from showthrough.releases import Releases, combine_releases, write_counts
from showthrough.schema import Schema
from showthrough.selection import Selection

SCHEMA = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})

RELEASE = """
counts = "counts.csv"
[attributes.sex]
values = ["f", "m"]
[attributes.age]
values = ["young", "old"]
[suppressed]
"*" = "1-4"
[[tables]]
formula = "sex"
totals = true
[[tables]]
formula = "age"
totals = true
rounding = { base = 3, method = "random" }
suppressed = { "" = "unknown" }
"""

CELLS = ["sex=f", "sex=m", "total", "age=young", "age=old", "total"]

TIDY = """table,cell,value,area
age,age=young,3,2
sex,sex=f,*,10
sex,sex=f,5,2
sex,total,<5,10
age,total,,10
"""

EXPECTED = {
    "10": {0: (1, 4), 2: (0, 4)},
    "2": {0: (5, 5), 3: (1, 5)},
}


@pytest.fixture
def read(tmp_path):
    """Read a release from the text of its counts file."""

    def reader(text: str, *, name: str = "counts.csv", toml: str = RELEASE, by: str | None = None):
        (tmp_path / "release.toml").write_text(toml)
        (tmp_path / name).write_text(text)
        return read_release(tmp_path / "release.toml", tmp_path / name, by=by)

    return reader


def bounds(release: Release) -> dict[int, tuple[int, int]]:
    """Position → bounds, of the cells about which anything is published."""
    pairs = zip(release.low.tolist(), release.high.tolist(), strict=True)
    return {at: pair for at, pair in enumerate(pairs) if pair != (0, UNBOUNDED)}


def test_tidy(read, tmp_path):
    releases = read(TIDY)
    assert [cell for _, cell in releases.layout.names] == CELLS
    assert releases.areas == ("10", "2")
    assert len(releases) == 2
    assert {release.area: bounds(release) for release in releases} == EXPECTED
    assert bounds(releases["2"]) == EXPECTED["2"]
    assert read_release(tmp_path / "release.toml").areas == ("10", "2")


def test_the_area_column_may_have_any_name(read):
    text = TIDY.replace(",area", ",block")
    assert read(text, by="block").areas == ("10", "2")
    assert read(text, toml=f"area = 'block'\n{RELEASE}").areas == ("10", "2")
    with pytest.raises(ReleaseError) as caught:
        read(text, by="blok")
    assert caught.value.column == "blok"
    assert "did you mean 'block'?" in caught.value.remedy


def test_one_unnamed_area(read):
    releases = read("table,cell,value\nsex,sex=f,5\n")
    assert releases.areas == ("",)
    assert bounds(releases[""]) == {0: (5, 5)}


def test_tidy_without_tables(read):
    releases = read("cell,value\nsex=f,5\nage=old,3\nage:total,6\n")
    assert bounds(releases[""]) == {0: (5, 5), 4: (1, 5), 5: (4, 8)}


def test_wide(read):
    releases = read("area,sex=f,age=young,sex:total,age:total\n2,5,3,7,\n10,*,0,<5,\n")
    assert {release.area: bounds(release) for release in releases} == {
        "2": {0: (5, 5), 2: (7, 7), 3: (1, 5)},
        "10": {0: (1, 4), 2: (0, 4), 3: (0, 2)},
    }
    assert bounds(read("sex=m\n3\n")[""]) == {1: (3, 3)}


def test_other_sources(read, tmp_path):
    read(TIDY)
    design = read_design(tmp_path / "release.toml")
    frame = pl.DataFrame({"area": [2, 10], "cell": ["sex=f", "sex=m"], "value": [5, 6]})
    pq.write_table(frame.to_arrow(), tmp_path / "counts.parquet")
    for source in (frame, frame.to_arrow().to_reader(), tmp_path / "counts.parquet"):
        releases = read_counts(source, design)
        assert [bounds(release) for release in releases] == [{1: (6, 6)}, {0: (5, 5)}]


@pytest.mark.parametrize(
    ("text", "problem", "row", "column", "found", "remedy"),
    [
        ("", "the file is empty", None, None, None, "the first line"),
        ("table,cell,value\n", "there are no records", None, None, None, "one row"),
        ("table,cell\nsex,sex=f\n", "column value is missing", None, "value", None, "cell and va"),
        ("table,value\nsex,1\n", "the column cell is missing", None, "cell", None, "cell and va"),
        ("table,cell,value\nsex,sex=f,1\nsix,a,1\n", "no such table", 2, "table", "six", "'sex'?"),
        ("table,cell,value\nsex,sex=f,1\n,a,1\n", "no such table", 2, "table", "", "'sex', 'age'"),
        (
            "table,cell,value\nsex,sex=f,1\nsex,sex=x,1\n",
            "table sex has no such cell",
            2,
            "cell",
            "sex=x",
            "did you mean 'sex=",
        ),
        (
            "cell,value\nsex=x,1\n",
            "the release has no such cell",
            1,
            "cell",
            "sex=x",
            "did you mean",
        ),
        ("cell,value\ntotal,1\n", "several tables: sex, age", 1, "cell", "total", "column table"),
        (
            "area,cell,value\n1,sex=f,1\n1,sex=m,1\n2,sex=f,1\n1,sex=f,2\n",
            "cell sex=f of table sex occurs twice in area 1",
            4,
            "cell",
            "sex=f",
            "keep one value per area, table and cell",
        ),
        ("area,cell,value\n1,sex=f,1\n,sex=f,1\n", "a row has no area", 2, "area", None, "fill"),
        ("cell,value\nage=old,3\nsex=f,-1\n", "negative count", 2, "value", "-1", "start at 0"),
        ("cell,value\nage=old,3\nsex=f,1.5\n", "not a whole", 2, "value", "1.5", "whole counts"),
        ("cell,value\nage=old,3\nsex=f,abc\n", "not a number", 2, "value", "abc", '"abc" = "unk'),
        ("cell,value\nage=old,3\nsex=f,\n", "a value is empty", 2, "value", "", '"" = "unknown"'),
        ("cell,value\nage=old,4\n", "not a multiple of the rounding", 1, "value", "4", "= false"),
        ("area,sex=f,sex=x\n1,2,3\n", "not a cell of the release", None, "sex=x", "sex=x", "--by"),
        ("area,total\n1,2\n", "several cells have this name", None, "total", "total", "table:cell"),
        ("sex=f,sex:sex=f\n1,2\n", "the same cell", None, "sex:sex=f", "sex:sex=f", "keep one"),
        ("area,sex=f\n1,2\n1,3\n", "an area has two rows", 2, "area", "1", "one row per area"),
        ("sex=f\n2\n3\n", "several rows but no column for the area", 2, None, None, "--by"),
        ("area,sex=f,sex=m\n1,2,1\n2,1,-3\n", "negative count", 2, "sex=m", "-3", "start at 0"),
        ("cell,value\nsex=f,1,2\n", "the row has 3 fields", 1, None, "sex=f,1,2", "double quotes"),
    ],
)
def test_a_wrong_counts_file(read, tmp_path, text, problem, row, column, found, remedy):
    with pytest.raises(ReleaseError) as caught:
        read(text)
    error = caught.value
    assert error.file == str(tmp_path / "counts.csv")
    assert problem in error.problem
    assert (error.row, error.column, error.found) == (row, column, found)
    assert remedy in error.remedy


def test_no_counts_at_all(tmp_path):
    path = tmp_path / "release.toml"
    path.write_text(RELEASE.replace('counts = "counts.csv"', ""))
    with pytest.raises(ReleaseError, match=r"release.toml: the release has no counts; add counts"):
        read_release(path)
    path.write_text(RELEASE)
    with pytest.raises(ReleaseError, match=r"counts.csv: no such file"):
        read_release(path)


def test_names_that_could_mean_two_cells_are_refused():
    tables = (
        Table("a", (Cell("b", Selection()),)),
        Table("z", (Cell("a:b", Selection()),)),
    )
    design = Design(Layout(SCHEMA, tables), (Notation(), Notation()))
    with pytest.raises(ReleaseError, match="several cells have this name"):
        read_counts(pa.table({"a:b": [1]}), design)
    releases = read_counts(pa.table({"b": [1], "z:a:b": [2]}), design)
    assert releases[""].low.tolist() == [1, 2]


def test_a_design_needs_one_notation_per_table():
    layout = Layout(SCHEMA, (make_table(SCHEMA, "sex"), make_table(SCHEMA, "age")))
    assert Design(layout).notations == (Notation(), Notation())
    with pytest.raises(ReleaseError, match="2 tables need as many notations, not 1; give one"):
        Design(layout, (Notation(),))


def test_an_unknown_area(read):
    with pytest.raises(ReleaseError, match=r"unknown area .found '3'.; known: '10', '2'"):
        read(TIDY)["3"]


intervals = hs.integers(0, 9).map(lambda n: (n, n)) | hs.tuples(
    hs.integers(0, 9), hs.sampled_from([9, 20, UNBOUNDED])
)
area_names = hs.lists(hs.text(min_size=1, max_size=4), min_size=1, max_size=3, unique=True)


@given(
    hs.just([""]) | area_names,
    hs.lists(hs.text(max_size=4), min_size=2, max_size=2, unique=True),
    hs.lists(hs.text(max_size=4), min_size=1, max_size=3, unique=True),
    hs.sampled_from(["csv", "parquet"]),
    hs.data(),
)
def test_written_counts_read_back_equal(tmp_path_factory, areas, tables, cells, ending, data):
    made = tuple(Table(t, tuple(Cell(c, Selection()) for c in cells)) for t in tables)
    layout = Layout(SCHEMA, made)
    releases: list[Release] = []
    for area in areas:
        pairs = data.draw(hs.lists(intervals, min_size=2 * len(cells), max_size=2 * len(cells)))
        ends = np.array(pairs, np.int64)
        releases.append(Release(layout, ends[:, 0], ends[:, 1], area))
    path = tmp_path_factory.mktemp("counts") / f"counts.{ending}"
    write_counts(Releases.of(releases), path)
    read = read_counts(path, Design(layout, (Notation(), Notation())))
    assert read.areas == tuple(sorted(areas))
    for release in releases:
        assert read[release.area].low.tolist() == release.low.tolist()
        assert read[release.area].high.tolist() == release.high.tolist()


def test_a_written_release_is_read_as_a_whole(tmp_path):
    table = make_table(SCHEMA, "sex*age", totals=True)
    release = Release.of(SCHEMA, {table: [1, (1, 4), None, 3, 4, 5, 6, 7, (5, UNBOUNDED)]})
    write_release(release.layout, tmp_path / "release.toml", counts="counts.parquet")
    write_counts([release], tmp_path / "counts.parquet")
    (read,) = read_release(tmp_path / "release.toml")
    assert [cell.value() for cell in read.cells] == [cell.value() for cell in release.cells]


def test_many_areas_are_written_in_batches(tmp_path, monkeypatch):
    areas = 30_000 if SLOW else 300
    monkeypatch.setattr("showthrough.releases.BATCH", areas * 10 // 3)
    layout = Layout(SCHEMA, (make_table(SCHEMA, "sex*age", totals=True),))
    counts = np.arange(9)
    written = [Release(layout, counts, counts, f"{area:05d}") for area in range(areas)]
    write_counts(written, tmp_path / "counts.csv")
    read = read_counts(tmp_path / "counts.csv", Design(layout, (Notation(),)))
    assert len(read) == areas
    assert np.array_equal(read.low, np.tile(counts, areas))


def test_what_cannot_be_written(tmp_path):
    layout = Layout(SCHEMA, (make_table(SCHEMA, "sex"),))
    ours, unnamed = (Release(layout, np.zeros(2), np.ones(2), area) for area in ("1", ""))
    with pytest.raises(ReleaseError, match=r"CSV or Parquet only .found '.xlsx'.; use the extension .csv"):
        write_counts([ours], tmp_path / "counts.xlsx")
    for releases in ([ours, unnamed], [unnamed, ours]):
        with pytest.raises(ReleaseError, match="one of several areas has no name"):
            write_counts(releases, tmp_path / "counts.csv")
    with pytest.raises(ReleaseError, match="no counts to write"):
        write_counts([], tmp_path / "counts.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ReleaseError, match=r"an area occurs twice .found '1'"):
        Releases.of([ours, ours])
    other = Release(Layout(SCHEMA, (make_table(SCHEMA, "age"),)), np.zeros(2), np.ones(2), "2")
    with pytest.raises(ReleaseError, match="the releases have different layouts"):
        Releases.of([ours, other])


def test_several_publishers_about_the_same_areas():
    sex, age = (Layout(SCHEMA, (make_table(SCHEMA, name),)) for name in ("sex", "age"))
    ours = Releases.of(Release(sex, [n, n], [n, n], area) for n, area in enumerate("bca"))
    theirs = Releases.of([Release(age, [7, 7], [8, 8], "c"), Release(age, [9, 9], [9, 9], "d")])
    both = combine_releases([ours, theirs])
    assert both.areas == ("a", "b", "c", "d")
    assert [table.name for table in both.layout.tables] == ["sex", "age"]
    assert [bounds(release) for release in both] == [
        {0: (2, 2), 1: (2, 2)},
        {0: (0, 0), 1: (0, 0)},
        {0: (1, 1), 1: (1, 1), 2: (7, 8), 3: (7, 8)},
        {2: (9, 9), 3: (9, 9)},
    ]
    unnamed = Releases.of([Release(age, [7, 7], [8, 8])])
    with pytest.raises(ReleaseError, match="one release names areas and another does not"):
        combine_releases([ours, unnamed])
    with pytest.raises(ReleaseError, match="no releases to combine"):
        combine_releases([])


def test_each_table_has_its_own_notation():
    layout = Layout(SCHEMA, (make_table(SCHEMA, "sex"), make_table(SCHEMA, "age")))
    design = Design(layout, (Notation({}, Rounding(5)), Notation({"*": (1, 2)})))
    cells = ["age=old", "sex=f", "age=young", "sex=m"]
    releases = read_counts(pa.table({"cell": cells, "value": ["*", "10", "3", "0"]}), design)
    assert bounds(releases[""]) == {0: (8, 12), 1: (0, 2), 2: (3, 3), 3: (1, 2)}
    with pytest.raises(ReleaseError, match="row 2, column value: not a number"):
        read_counts(pa.table({"cell": cells[:2], "value": ["*", "*"]}), design)
