"""Census counts as the API, data.census.gov and wide files hold them."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.census.counts import open_census, read_census, write_census
from showthrough.census.homes import census_schema
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_labels, census_layout
from showthrough.errors import InputError
from showthrough.frames import content as content_module
from showthrough.frames import stream as stream_module
from showthrough.release import Release
from showthrough.releases import Releases

HEADER = ["NAME", "P16_001N", "P16_002N", "P16_001NA", "P1_001N", "state", "county", "tract", "block"]
ROW = ["Block 1000", "12", "7", None, "31", "01", "001", "020100", "1000"]
OTHER = ["Block 1001", 3, None, None, "8", "01", "001", "020100", "1001"]


def write_json(folder: Path, rows: object, name: str = "answer.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(rows), "utf-8")
    return path


def published(release: Release) -> dict[str, str]:
    return {cell.name: cell.value() for cell in release.cells if cell.value() != "unknown"}


def test_answer_of_the_api(tmp_path: Path) -> None:
    read = read_census(write_json(tmp_path, [HEADER, ROW, OTHER]))
    assert read.releases.areas == ("010010201001000", "010010201001001")
    assert published(read.releases["010010201001000"]) == {"P16_001N": "12", "P16_002N": "7"}
    assert published(read.releases["010010201001001"]) == {"P16_001N": "3"}  # null: not published
    assert read.ignored == ("P1_001N",)
    assert "children" in read.releases.layout.schema.names


def test_place_in_geo_id_and_numbers_without_leading_zeros(tmp_path: Path) -> None:
    by_id = write_json(tmp_path, [["GEO_ID", "H1_001N"], ["1000000US010010201001000", "4"]], "a.json")
    by_number = write_json(
        tmp_path, [["H3_002N", "state", "county", "tract", "block"], ["3", 1, 1, 20100, 1000]], "b.json"
    )
    both = read_census([by_id, by_number]).releases
    assert both.areas == ("010010201001000",)
    assert published(both["010010201001000"]) == {"H1_001N": "4", "H3_002N": "3"}


def test_download_of_the_website(tmp_path: Path) -> None:
    path = tmp_path / "DECENNIALDHC2020.P16-Data.csv"
    labels = census_labels()
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(["GEO_ID", "NAME", "P16_001N", "P16_003N", "H4A_002N", ""])
        writer.writerow(["Geography", "Geographic Area Name", labels["P16_001N"], "Married", "Owned", ""])
        writer.writerow(["1000000US010010201001000", "Block 1000, Tract 201", "12", "", "3", ""])
        writer.writerow(["1000000US010010201001001", "Block 1001, Tract 201", "2", "1", "0", ""])
    read = read_census(path)
    assert published(read.releases["010010201001000"]) == {"P16_001N": "12", "H4A_002N": "3"}
    assert published(read.releases["010010201001001"]) == {"P16_001N": "2", "P16_003N": "1", "H4A_002N": "0"}
    assert read.ignored == ()


@cache
def blocks(n: int, seed: int) -> Releases:
    homes = simulate_households(n, seed=seed)
    records = st.Records.from_arrow(homes, census_schema(), by="block")
    layout = census_layout()
    return Releases.of([layout.tabulate(inside, area=name) for name, inside in records.by_area()])


@pytest.mark.parametrize("name", ["counts.parquet", "counts.csv"])
def test_wide_files_read_back_as_they_were(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("showthrough.census.counts._BATCH", 4)
    releases = blocks(9, 3)
    hidden = releases["010010000010002"]
    high = hidden.high.copy()
    low = hidden.low.copy()
    low[5], high[5] = 0, 2**62
    mixed = Releases.of(
        [Release(r.layout, low, high, r.area) if r.area == hidden.area else r for r in releases]
    )
    write_census(mixed, tmp_path / name)
    back = read_census(tmp_path / name, census_layout()).releases
    assert back.areas == mixed.areas
    for area in mixed.areas:
        assert np.array_equal(back[area].low, mixed[area].low)
        assert np.array_equal(back[area].high, mixed[area].high)
    if name.endswith("parquet"):
        file = pq.ParquetFile(tmp_path / name)
        assert len(file.schema_arrow) == 862
        assert file.num_row_groups == 3


def test_intervals_do_not_fit_a_wide_file(tmp_path: Path) -> None:
    one = next(iter(blocks(1, 3)))
    with pytest.raises(st.ReleaseError, match="cannot hold intervals"):
        write_census(Releases.of([Release(one.layout, one.low, one.high + 1, "a")]), tmp_path / "c.csv")
    with pytest.raises(st.ReleaseError, match=r"\.csv or \.parquet"):
        write_census(blocks(1, 3), tmp_path / "c.txt")


def test_tables_in_memory_and_smaller_layouts() -> None:
    table = pa.table({"block": ["b1"], "P16_001N": [5], "P16_003N": [2], "note": ["x"]})
    read = read_census(table, census_layout(cells="621"))
    assert published(read.releases["b1"]) == {"P16_003N": "2"}
    assert read.ignored == ("P16_001N", "note")


def test_what_is_read_can_be_audited(tmp_path: Path) -> None:
    write_census(blocks(2, 17), tmp_path / "counts.parquet")
    release = next(iter(read_census(tmp_path / "counts.parquet", census_layout()).releases))
    assert (
        st.audit(release, max_columns=2).n_records
        == release.low[release.layout.names.index(("H1", "H1_001N"))]
    )


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ({"error": "no key"}, r"answer.json: this file is not a response of the Census API"),
        ([], "not a response of the Census API"),
        ([HEADER], "the file has no areas"),
        ([["A", "A"], ["1", "2"]], "must give every column a different name"),
        ([HEADER, ROW[:-1]], "row 1: the row has 8 fields, the header has 9"),
        ([["NAME", "state"], ["x", "01"]], r"no column is a variable.*NAME, state"),
        ([["P16_010N", "block"], ["1", "1000"]], r"column P16_010N: table P16 has no such variable"),
        ([["P16_1N", "block"], ["1", "1000"]], "no column is a variable"),
        ([["P16_001E", "block"], ["1", "1000"]], "table P16 has no such variable"),
        ([["P16_001N", "NAME"], ["1", "x"]], "no column names the area"),
        ([["P16_001N", "block"], ["1", None]], r"row 1, column block: a row has no area"),
        (
            [["P16_001N", "GEO_ID"], ["1", "somewhere"]],
            r"row 1, column GEO_ID: invalid geographic code.*somewhere",
        ),
        ([["P16_001N", "GEO_ID"], ["Total", "Geography"]], "the file has no areas"),
        ([HEADER, ROW, ROW], r"row 2: an area has two rows \(found '010010201001000'\)"),
        ([HEADER, ROW, [*OTHER[:1], "-1", *OTHER[2:]]], r"row 2, column P16_001N: negative count"),
        ([HEADER, [*ROW[:2], "many", *ROW[3:]]], r"row 1, column P16_002N: .*'many'"),
    ],
)
def test_unusable_answers(tmp_path: Path, rows: object, problem: str) -> None:
    with pytest.raises(st.ReleaseError, match=problem):
        read_census(write_json(tmp_path, rows))


def test_unreadable_files(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("[[", "utf-8")
    with pytest.raises(st.ReleaseError, match=r"broken\.json: the file cannot be read"):
        read_census(broken)
    with pytest.raises(st.ReleaseError, match="no such file"):
        read_census(tmp_path / "nowhere.json")
    with pytest.raises(st.ReleaseError, match="no files given"):
        read_census([])


def test_one_value_in_two_files(tmp_path: Path) -> None:
    one = write_json(tmp_path, [HEADER, ROW], "one.json")
    two = write_json(
        tmp_path, [["H1_001N", "P16_002N", "GEO_ID"], ["1", "7", "1000000US010010201001000"]], "two.json"
    )
    with pytest.raises(st.ReleaseError, match=r"two\.json, column P16_002N: a value of area 010010201001000"):
        read_census([one, two])


class TestStream:
    """The same areas, read some rows at a time."""

    @pytest.fixture(autouse=True)
    def small_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stream_module, "CHUNK", 2_000)
        monkeypatch.setattr(content_module, "HELD", 0)
        monkeypatch.setattr("showthrough.census.variables._ROWS_AT_A_TIME", 2)

    def wide(self, folder: Path, n: int = 5) -> pa.Table:
        write_census(blocks(n, 3), folder / "counts.parquet")
        return pq.read_table(folder / "counts.parquet")

    def same(self, sources: list[Path], folder: Path, n: int = 5) -> None:
        expected = blocks(n, 3)
        streamed = open_census(sources, census_layout(), tolerant=False)
        assert streamed.n_areas == n
        found = list(streamed.areas(folder))
        assert [area for area, _ in found] == list(expected.areas)
        for area, release in found:
            assert isinstance(release, Release)
            assert np.array_equal(release.low, expected[area].low)
            assert np.array_equal(release.high, expected[area].high)

    @pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.json"])
    @pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
    def test_one_file(self, tmp_path: Path, name: str, shuffled: bool) -> None:
        table = self.wide(tmp_path)
        if shuffled:
            table = table.take(pa.array([3, 0, 4, 2, 1]))
        self.same([save(table, tmp_path / name)], tmp_path)

    def test_tables_of_the_same_blocks_and_other_blocks(self, tmp_path: Path) -> None:
        table = self.wide(tmp_path)
        names = table.column_names
        few, many = table.select(names[:300]), table.select([names[0], *names[300:]])
        parts = [few, many.slice(3).take(pa.array([1, 0])), many.slice(0, 3)]
        paths = [save(part, tmp_path / f"{at}.parquet") for at, part in enumerate(parts)]
        self.same(paths, tmp_path)

    def test_blocks_numbered_within_tracts(self, tmp_path: Path) -> None:
        table = self.wide(tmp_path)
        codes = table["block"].to_pylist()
        table = table.drop(["block"])
        for name, start, stop in (("state", 0, 2), ("county", 2, 5), ("tract", 5, 11), ("block", 11, 15)):
            table = table.append_column(name, pa.array([int(code[start:stop]) for code in codes]))
        self.same([save(table, tmp_path / "parts.parquet")], tmp_path)

    def test_decimals_are_counts_if_all_are_whole(self, tmp_path: Path) -> None:
        table = self.wide(tmp_path)
        columns = [table["block"], *(table[name].cast(pa.float64()) for name in table.column_names[1:])]
        self.same([save(pa.table(columns, names=table.column_names), tmp_path / "f.parquet")], tmp_path)

    def bad(self, folder: Path) -> Path:
        table = self.wide(folder)
        texts = table["H1_001N"].cast(pa.string()).to_pylist()
        texts[3] = "-3"
        at = table.column_names.index("H1_001N")
        return save(table.set_column(at, "H1_001N", pa.array(texts)), folder / "bad.parquet")

    def test_a_bad_value_costs_its_area_or_everything(self, tmp_path: Path) -> None:
        path = self.bad(tmp_path)
        with pytest.raises(st.ReleaseError, match=r"bad\.parquet, row 4, column H1_001N: negative count"):
            open_census([path], census_layout(), tolerant=False)
        found = dict(open_census([path], census_layout(), tolerant=True).areas(tmp_path))
        wrong = [area for area, one in found.items() if isinstance(one, InputError)]
        assert wrong == ["010010000010004"]
        assert "bad.parquet, row 4, column H1_001N: negative count" in str(found[wrong[0]])

    def test_two_rows_of_an_area(self, tmp_path: Path) -> None:
        table = self.wide(tmp_path)
        path = save(pa.concat_tables([table, table.slice(3, 1)]), tmp_path / "twice.parquet")
        with pytest.raises(st.ReleaseError, match=r"twice\.parquet, row 6: an area has two rows"):
            list(open_census([path], census_layout(), tolerant=False).areas(tmp_path))
        found = dict(open_census([path], census_layout(), tolerant=True).areas(tmp_path))
        assert [area for area, one in found.items() if isinstance(one, InputError)] == ["010010000010004"]

    def test_totals_are_checked_where_they_stand(self, tmp_path: Path) -> None:
        table = self.wide(tmp_path)
        at = table.column_names.index("H3_001N")
        counts = table["H3_001N"].to_pylist()
        counts[4] += 2
        path = save(table.set_column(at, "H3_001N", pa.array(counts)), tmp_path / "odd.csv")
        found = dict(open_census([path], census_layout(), tolerant=False).areas(tmp_path))
        (wrong,) = [str(one) for one in found.values() if isinstance(one, InputError)]
        assert wrong.startswith(f"{path}, row 5, column H")
        assert "area 010010000010005: the tables do not add up: " in wrong
        assert f"H3_001N ({counts[4]})" in wrong
        assert wrong.endswith("; correct the counts, or publish these cells as intervals")

    def test_a_file_given_twice(self, tmp_path: Path) -> None:
        self.wide(tmp_path)
        path = tmp_path / "counts.parquet"
        with pytest.raises(st.ReleaseError, match="a file is given twice"):
            open_census([path, tmp_path / "." / "counts.parquet"], census_layout(), tolerant=True)


def save(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".json":
        rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
        path.write_text(json.dumps([table.column_names, *map(list, rows)]), "utf-8")
    elif path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path
