"""People in the census: columns, tables cell by cell, readers, and simulated people."""

from __future__ import annotations

import csv
import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.census.additivity import check_people
from showthrough.census.blocks import PeopleTables, read_blocks
from showthrough.census.figures import ProvedPeople, is_about_people, summarise_people
from showthrough.census.people import AGE_BINS, AGE_YEARS, RACES, age_range, ages_between, person_schema
from showthrough.census.people_simulator import (
    AGE_SHARES,
    FEMALE_SHARE,
    HISPANIC_SHARE,
    RACE_SHARES,
    make_households,
    simulate_people,
    write_people,
)
from showthrough.census.people_tables import cell_code, people_cells, people_labels, people_layout
from showthrough.release import Layout
from showthrough.tally import times_counted

#: Cells per table as printed.
PRINTED = {
    "P1": 1,
    "P3": 8,
    "P4": 3,
    "P5": 17,
    "P6": 7,
    "P7": 15,
    "P8": 71,
    "P9": 73,
    "P10": 71,
    "P11": 73,
    "P12": 49,
    "P14": 43,
    "PCT12": 209,
}


def person(*races: str, sex: str = "male", age: str = "30-34", hispanic: str = "no") -> dict[str, str]:
    has = {name: "yes" if name in races else "no" for name in RACES}
    return {"sex": sex, "age": age, **has, "hispanic": hispanic}


def counts_of(layout: Layout, someone: dict[str, str], *tables: str) -> dict[str, int]:
    """How often somebody counts in each cell of some tables, or of all, by plain matching."""
    cells = (cell for table in layout.tables if not tables or table.name in tables for cell in table.cells)
    return {cell.name: times_counted(cell.terms, someone) for cell in cells}


@pytest.mark.parametrize(
    ("census", "place", "n_tables", "n_cells"),
    [
        ("2010", "block", 16, 702),
        ("2010", "tract", 32, 4046),
        ("2020", "block", 34, 1509),
        ("2020", "tract", 50, 4853),
    ],
)
def test_tables_have_as_many_cells_as_printed(census: str, place: str, n_tables: int, n_cells: int) -> None:
    layout = people_layout(census=census, place=place)  # pyright: ignore[reportArgumentType]
    assert (len(layout.tables), len(layout.names)) == (n_tables, n_cells)
    for table in layout.tables:
        name = next(
            one
            for one in sorted(PRINTED, key=len, reverse=True)
            if table.name.rstrip("ABCDEFGHIJKLMNOPQRSTUV") == one
        )
        assert len(table.cells) == PRINTED[name], table.name
    codes = [cell for _, cell in layout.names]
    assert len(set(codes)) == len(codes)
    assert set(codes) <= set(people_labels(census))  # pyright: ignore[reportArgumentType]


def test_ages() -> None:
    assert (len(AGE_BINS), len(AGE_YEARS)) == (38, 103)
    for ages in (AGE_BINS, AGE_YEARS):
        years = [year for age in ages for year in range(age_range(age)[0], age_range(age)[1] + 1)]
        assert years == list(range(201))
    assert ages_between(18, 24) == ("18", "19", "20", "21", "22-24")
    with pytest.raises(st.InputError, match="both sides"):
        ages_between(23, 29)


def test_everybody_has_a_race() -> None:
    for ages in ("bins", "years"):
        schema = person_schema(ages=ages)
        (box,) = schema.forbidden
        assert box == st.Selection.of(dict.fromkeys(RACES, "no"))
    with pytest.raises(st.InputError, match="bins or years"):
        person_schema(ages="months")  # pyright: ignore[reportArgumentType]


#: Cells of a person, found by looking at the printed tables.
KNOWN = [
    (
        person("white"),
        {
            "P001001": 1,
            "P006001": 1,
            "P006002": 1,
            "P007002": 1,
            "P007003": 1,
            "P009003": 1,
            "P009004": 1,
            "P009005": 1,
            "P011005": 1,
            "P012002": 1,
            "P012012": 1,
            "P012A012": 1,
            "P012I012": 1,
        },
        {
            "P006003": 0,
            "P007009": 0,
            "P009002": 0,
            "P009011": 0,
            "P012026": 0,
            "P012G001": 0,
            "P012H001": 0,
            "P014001": 0,
        },
    ),
    (
        person("white", "black", sex="female", age="4", hispanic="yes"),
        {
            "P001001": 1,
            "P006001": 2,
            "P006002": 1,
            "P006003": 1,
            "P007001": 2,
            "P007009": 2,
            "P007010": 1,
            "P007011": 1,
            "P009002": 1,
            "P012027": 1,
            "P012G027": 1,
            "P012H027": 1,
            "P014023": 1,
            "P014028": 1,
        },
        {"P007002": 0, "P009003": 0, "P011001": 0, "P012A001": 0, "P012B001": 0, "P012I001": 0},
    ),
    (
        person(*RACES, sex="female", age="85+"),
        {
            "P006001": 6,
            "P006007": 1,
            "P007002": 6,
            "P009003": 1,
            "P009011": 1,
            "P009072": 1,
            "P009073": 1,
            "P011073": 1,
            "P012049": 1,
            "P012G049": 1,
        },
        {"P009004": 0, "P009012": 0, "P009065": 0, "P012025": 0, "P014001": 0},
    ),
    (
        person("asian", "pacific", age="18"),
        {"P009012": 1, "P009025": 1, "P011012": 1, "P012007": 1, "P014021": 1},
        {"P009013": 0, "P009027": 0, "P009028": 0, "P012006": 0, "P014022": 0, "P014041": 0},
    ),
]


@pytest.mark.parametrize(("someone", "there", "not_there"), KNOWN)
def test_cells_of_known_people(
    someone: dict[str, str], there: dict[str, int], not_there: dict[str, int]
) -> None:
    found = counts_of(people_layout(), someone)
    assert {cell: found[cell] for cell in (*there, *not_there)} == {**there, **not_there}


def test_combinations_of_races_in_order() -> None:
    """Cells 5 to 10, 13 to 27, 29 to 48, 50 to 64, 66 to 71 and 73 of table P9 are the 63 combinations."""
    layout = people_layout(census="2020")
    cells = [*range(5, 11), *range(13, 28), *range(29, 49), *range(50, 65), *range(66, 72), 73]
    every = [some for many in range(1, 7) for some in combinations(RACES, many)]
    for number, some in zip(cells, every, strict=True):
        found = counts_of(layout, person(*some), "P3", "P5", "P6", "P8", "P9", "P12G", "P12O", "P12V")
        assert found[f"P9_{number:03d}N"] == 1
        assert sum(found[f"P9_{other:03d}N"] for other in cells) == 1
        assert sum(found[f"P8_{other - 2:03d}N"] for other in cells) == found[f"P8_{number - 2:03d}N"] == 1
        several = int(len(some) > 1)
        assert (found["P3_008N"], found["P9_011N"], found["P12G_001N"], found["P12O_001N"]) == (several,) * 4
        assert (found["P12V_001N"], found["P6_001N"], found["P5_002N"]) == (0, len(some), 1)


def test_codes_are_those_of_the_api() -> None:
    assert cell_code("P1", 1, "2010") == "P001001"
    assert cell_code("PCT12O", 209, "2010") == "PCT012O209"
    assert people_labels()["PCT012106"] == "Total > Female"
    assert people_labels("2020")["PCT12_105N"] == "Total > Male > 110 years and over"
    assert people_cells("p12h", "2020", "block")[0] == "Sex by age (Hispanic or Latino)"
    with pytest.raises(st.InputError, match="no such person table"):
        people_cells("P99", "2010", "block")


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return simulate_people(160, seed=4)


@pytest.fixture(scope="module")
def file(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    some = people.slice(0, 400)
    pq.write_table(some, path)
    return path


@pytest.mark.parametrize(("census", "place"), [("2010", "tract"), ("2020", "block")])
def test_counts_of_simulated_people_add_up(census: str, place: str, file: Path) -> None:
    tables = PeopleTables(census, place)  # pyright: ignore[reportArgumentType]
    areas = [area.release for area in read_blocks(file, tables=tables).areas()]
    assert sum(int(release.low[0]) for release in areas) == 400
    for release in areas:
        check_people(release)
    names = [cell for _, cell in areas[0].layout.names]
    for wrong in (
        names.index(cell_code("P12C", 3, tables.census)),
        names.index(cell_code("P7", 10, tables.census)),
    ):
        low = areas[0].low.copy()
        low[wrong] += 1
        with pytest.raises(st.ReleaseError, match="do not add up"):
            check_people(st.Release(areas[0].layout, low, low))


def test_counts_are_those_of_plain_counting(people: pa.Table, file: Path) -> None:
    rows = people.slice(0, 400).to_pylist()
    (tract,) = read_blocks(file, tables=PeopleTables("2010", "tract")).areas()
    found = dict(
        zip((cell for _, cell in tract.release.layout.names), tract.release.low.tolist(), strict=True)
    )
    several = [row for row in rows if sum(row[race] == "yes" for race in RACES) > 1]
    assert found["P012G001"] == found["PCT012G001"] == len(several)
    assert found["PCT012O001"] == sum(row["hispanic"] == "no" for row in several)
    assert found["P006001"] == sum(row[race] == "yes" for row in rows for race in RACES)
    for year in (0, 7, 19, 42, 99):
        of_age = [row for row in rows if row["age"] == year]
        assert found[f"PCT012{3 + year:03d}"] == sum(row["sex"] == "male" for row in of_age)
        assert found[f"PCT012{107 + year:03d}"] == sum(row["sex"] == "female" for row in of_age)


class TestFiles:
    def _one(self, counts: Path, tables: PeopleTables | None = None) -> dict[str, st.Release]:
        read = read_blocks(counts=[counts], tables=tables or PeopleTables())
        return {area.release.area: area.release for area in read.areas()}

    def test_the_api(self, tmp_path: Path) -> None:
        header = ["P001001", "P012A001", "state", "county", "tract", "block"]
        (tmp_path / "a.json").write_text(
            json.dumps([header, ["3", "2", "01", "001", "000100", "1001"]]), "utf-8"
        )
        (found,) = self._one(tmp_path / "a.json").items()
        assert found[0] == "010010001001001"
        assert dict(zip(found[1].layout.names, found[1].low.tolist(), strict=True))["P12A", "P012A001"] == 2

    def test_the_api_for_tracts(self, tmp_path: Path) -> None:
        header = ["PCT12_001N", "state", "county", "tract"]
        (tmp_path / "a.json").write_text(json.dumps([header, ["30", "01", "001", "000100"]]), "utf-8")
        (area,) = self._one(tmp_path / "a.json", PeopleTables("2020", "tract"))
        assert area == "01001000100"

    def test_names_of_summary_files(self, tmp_path: Path) -> None:
        with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["block", "P0010001", "P012A001"], ["010010001001001", 3, 2]])
        (release,) = self._one(tmp_path / "a.csv").values()
        assert int(release.low[0]) == 3

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            (["block", "P012050"], "table P12 has no such variable"),
            (["block", "P001001", "P0010001"], "a variable has two columns"),
            (["block", "B01001"], "no column is a variable.*P001001"),
            (["block", "P12_001N"], "no column is a variable|no such variable"),
        ],
    )
    def test_other_variables(self, header: list[str], message: str, tmp_path: Path) -> None:
        with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, ["010010001001001", *(["1"] * (len(header) - 1))]])
        with pytest.raises(st.ReleaseError, match=message):
            self._one(tmp_path / "a.csv")

    @pytest.mark.parametrize(("age", "message"), [(-1, "below 0"), (131, "over 130")])
    def test_impossible_ages(self, age: int, message: str, file: Path, tmp_path: Path) -> None:
        table = pq.read_table(file).slice(0, 3)
        ages = pa.array([30, age, 4], pa.int16())
        pq.write_table(table.set_column(table.column_names.index("age"), "age", ages), tmp_path / "p.parquet")
        with pytest.raises(st.RecordsError, match=message):
            list(read_blocks(tmp_path / "p.parquet", tables=PeopleTables()).areas())

    def test_ages_in_bins_are_read_as_they_are(self, tmp_path: Path) -> None:
        rows = [person("white", age="22-24"), person("black", age="7")]
        pq.write_table(pa.Table.from_pylist([{"block": "b", **row} for row in rows]), tmp_path / "p.parquet")
        (area,) = read_blocks(tmp_path / "p.parquet", tables=PeopleTables()).areas()
        names = [cell for _, cell in area.release.layout.names]
        assert int(area.release.low[names.index("P012010")]) == 1

    def test_tracts_numbered_within_counties(self, tmp_path: Path) -> None:
        rows = [{"state": s, "county": "1", "tract": "100", **person("white", age="50")} for s in ("1", "2")]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
        found = read_blocks(tmp_path / "p.parquet", tables=PeopleTables("2010", "tract")).areas()
        assert [area.release.area for area in found] == ["01001000100", "02001000100"]


class TestSimulation:
    def test_the_nation(self) -> None:
        made = make_households()
        weight = (made.weights[:, None] * np.diff(made.odds, axis=1, prepend=0)).ravel()
        each = np.repeat(weight, made.sizes)
        each /= each.sum()
        ages = np.bincount(np.minimum(made.people[:, 1] // 5, 17), each)
        assert np.abs(100 * ages - np.array(AGE_SHARES) * 100 / sum(AGE_SHARES)).max() < 0.5
        assert 100 * each @ made.people[:, 0] == pytest.approx(FEMALE_SHARE, abs=0.5)
        races = made.people[:, 2:8]
        kind = np.where(races.sum(axis=1) > 1, 6, races.argmax(axis=1))
        assert (
            np.abs(100 * np.bincount(kind, each) - np.array(RACE_SHARES) * 100 / sum(RACE_SHARES)).max() < 0.7
        )
        assert 100 * each @ made.people[:, 8] == pytest.approx(HISPANIC_SHARE, abs=0.7)
        assert (races.sum(axis=1) > 0).all()

    def test_blocks_are_uneven_and_neighbourhoods_differ(self) -> None:
        many = simulate_people(2400, seed=1)
        _, sizes = np.unique(many["block"].combine_chunks().indices.to_numpy(), return_counts=True)
        assert 40 < sizes.mean() < 62
        assert np.median(sizes) < 0.6 * sizes.mean()
        assert sizes.max() > 500
        black = np.asarray(many["black"].combine_chunks().indices) == 1
        tract = np.asarray(many["tract"].combine_chunks().indices)
        shares = np.bincount(tract, black) / np.bincount(tract)
        assert shares.min() < 0.1
        assert shares.max() > 0.3

    def test_more_blocks_begin_with_the_same_people(self) -> None:
        few, more = simulate_people(30, seed=9), simulate_people(100, seed=9)
        assert more.slice(0, few.num_rows).to_pylist() == few.to_pylist()
        assert simulate_people(30, seed=8).slice(0, 50).to_pylist() != few.slice(0, 50).to_pylist()

    def test_writing(self, tmp_path: Path) -> None:
        n_people = write_people(tmp_path / "p.parquet", 20, seed=1)
        assert pq.read_table(tmp_path / "p.parquet").num_rows == n_people
        with pytest.raises(st.InputError, match="number of blocks"):
            simulate_people(0, seed=1)


def test_an_audit_is_right_about_people(tmp_path: Path) -> None:
    """Every verified claim has its count in the records, and the checker accepts the run."""
    rows = [
        {"block": "b", **person(*races, sex=sex, age=age)}
        for races, sex, age in (
            (("white",), "male", "40-44"),
            (("white",), "female", "40-44"),
            (("white", "asian"), "female", "7"),
            (("black",), "male", "85+"),
        )
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    subject = read_blocks(tmp_path / "p.parquet", tables=PeopleTables())
    run = st.run_audit(subject.areas(), subject.layout, tmp_path / "run")
    claims = [row for row in run.table("claims").to_pylist() if row["verdict"] == "verified"]
    assert len(claims) > 1000
    for row in claims[::7]:
        selection = st.Selection.from_json(row["selection"])
        assert sum(selection.matches(one) for one in rows) == row["multiplicity"]
    (area,) = run.table("areas").to_pylist()
    assert (area["records"], area["unique"]) == (4, True)
    found = summarise_people(run.folder)
    assert (found.n_areas, found.n_people, found.settled) == (1, 4, ProvedPeople(1, 4, 4))
    assert found.to_plain()["people_proved_in_every_column"] == 4


def test_a_summary_says_what_was_not_asked(tmp_path: Path) -> None:
    rows = [{"block": "b", **person("white")}, {"block": "c", **person("black")}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    subject = read_blocks(tmp_path / "p.parquet", tables=PeopleTables())
    settings = st.Settings(scope=st.Scope(max_columns=2))
    run = st.run_audit(subject.areas(), subject.layout, tmp_path / "run", settings=settings)
    assert summarise_people(run.folder).settled.n_whole is None
    assert is_about_people(run.folder)


def test_all_types_have_cells() -> None:
    """Types over race and origin: how often each counts is the number of its races, in P6 and P7."""
    layout = people_layout()
    for races in product(("no", "yes"), repeat=6):
        if "yes" in races:
            someone = person(*(name for name, has in zip(RACES, races, strict=True) if has == "yes"))
            found = counts_of(layout, someone, "P6", "P7")
            assert found["P006001"] == found["P007001"] == races.count("yes")
