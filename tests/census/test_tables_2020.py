"""The census columns, rules and tables against what is documented about them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import showthrough as st
from needs import SLOW
from showthrough.census.homes import census_schema
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_labels, census_layout, census_tables, check_additivity
from showthrough.release import UNBOUNDED, Layout, Release, unpack
from showthrough.tables.search.universe import Universe, grow, make_frame

CODES = {
    "TEN": ("tenure", {1: "mortgage", 2: "owned", 3: "rented", 4: "no rent"}),
    "VACS": (
        "vacancy",
        dict(
            enumerate(
                ["occupied", "for rent", "rented", "for sale", "sold", "seasonal", "migrant workers", "other"]
            )
        ),
    ),
    "HHSIZE": ("size", {1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "6", 7: "7+"}),
    "HHT": ("type", dict(enumerate(census_schema()["type"].values, 1))),
    "HHT2": ("detailed_type", dict(enumerate(census_schema()["detailed_type"].values, 1))),
    "P18": ("under18", {0: "no", 1: "yes"}),
    "P65": ("over65", {0: "no", 1: "yes"}),
    "PAC_HAS": ("children", {0: "no", 1: "yes"}),
    "HHSPAN": ("hispanic", {1: "no", 2: "yes"}),
    "HHLDRAGE": ("age", dict(enumerate(census_schema()["age"].values, 1))),
    "HHRACE": ("race", dict(enumerate(census_schema()["race"].values, 1))),
}


def legal_types(layout: Layout) -> Universe:
    """Every record type that the rules allow."""
    n_cells = len(layout.names)
    nothing = Release(layout, np.zeros(n_cells, np.int64), np.full(n_cells, UNBOUNDED))
    return grow(make_frame(layout), nothing, most=1_000_000)


def shared_cells() -> list[dict[str, object]]:
    """The cells as listed elsewhere, where somebody has that list."""
    folders = [os.environ.get("SHOWTHROUGH_SHARED", "")]
    if data := os.environ.get("SHOWTHROUGH_DATA"):
        folders.append(str(Path(data).parent))
    for folder in filter(None, folders):
        path = Path(folder, "census", "dhc_cells.json")
        if path.is_file():
            return json.loads(path.read_text("utf-8"))
    pytest.skip("SHOWTHROUGH_SHARED names no folder with census/dhc_cells.json")


@pytest.mark.parametrize(("children", "expected"), [(False, 109_375), (True, 132_839)])
def test_legal_record_types(children: bool, expected: int) -> None:
    assert len(legal_types(census_layout(children=children))) == expected


def test_ten_columns_allow_what_eleven_allow_without_the_last() -> None:
    """The ten-column rules are exactly the projection of the eleven-column rules."""
    ten, eleven = legal_types(census_layout()), legal_types(census_layout(children=True))
    names = census_schema().names
    both = [u.codes[:, [u.frame.names.index(name) for name in names]] for u in (ten, eleven)]
    assert np.array_equal(np.unique(both[0], axis=0), np.unique(both[1], axis=0))


def test_edit_rule_forbids_old_mothers_of_children_only() -> None:
    with_edits = legal_types(census_layout(edits=True))
    names = with_edits.frame.names
    schema = census_schema()
    mothers = with_edits.codes[:, names.index("detailed_type")] == schema["detailed_type"].code(
        "woman with children"
    )
    old = with_edits.codes[:, names.index("age")] >= schema["age"].code("75-84")
    assert not (mothers & old & (with_edits.codes[:, names.index("vacancy")] == 0)).any()
    # 6 sizes × 2 ages × 4 tenures × 7 races × 2 origins; over65 is yes.
    assert 109_375 - len(with_edits) == 6 * 2 * 4 * 7 * 2


@pytest.mark.parametrize(
    ("home", "legal"),
    [
        ({}, True),
        ({"size": "2"}, False),  # a man alone is one person
        ({"detailed_type": "woman alone"}, False),
        ({"over65": "yes"}, False),  # alone and 35 to 44
        ({"under18": "yes"}, False),
        ({"under18": "yes", "age": "15-24"}, True),
        ({"tenure": "vacant"}, False),
        ({"vacancy": "sold"}, False),
        ({"type": "male family", "detailed_type": "man with children", "size": "2"}, False),
        ({"type": "male family", "detailed_type": "man with children", "size": "2", "under18": "yes"}, True),
        (
            {"type": "female family", "detailed_type": "man with children", "size": "2", "under18": "yes"},
            False,
        ),
        (
            {
                "type": "married couple",
                "detailed_type": "married with children",
                "size": "2",
                "under18": "yes",
            },
            False,
        ),
        ({"type": "male family", "detailed_type": "cohabiting without children", "size": "2"}, False),
        (
            {"type": "man with nonrelatives", "detailed_type": "cohabiting without children", "size": "2"},
            True,
        ),
    ],
)
def test_rules_by_example(home: dict[str, str], legal: bool) -> None:
    alone = {
        "tenure": "rented",
        "vacancy": "occupied",
        "size": "1",
        "type": "man alone",
        "detailed_type": "man alone",
        "under18": "no",
        "over65": "no",
        "hispanic": "no",
        "age": "35-44",
        "race": "black",
    }
    if legal:
        assert len(st.Records.of([alone | home], census_schema())) == 1
    else:
        with pytest.raises(st.RecordsError, match="breaks a rule"):
            st.Records.of([alone | home], census_schema())


@pytest.mark.parametrize(
    ("cells", "n_tables", "n_cells"), [("all", 79, 861), ("bottom", 79, 628), ("621", 78, 621)]
)
def test_number_of_tables_and_cells(cells: str, n_tables: int, n_cells: int) -> None:
    tables = census_tables(census_schema(), cells=cells)  # type: ignore[arg-type]
    assert (len(tables), sum(len(table.cells) for table in tables)) == (n_tables, n_cells)
    assert set(census_labels()) >= {cell.name for table in tables for cell in table.cells}


def test_children_are_those_of_the_eleventh_column_if_there_is_one() -> None:
    for children, name in ((False, "under18"), (True, "children")):
        layout = census_layout(children=children)
        at = layout.names.index(("H15", "H15_003N"))
        assert layout.selections[at] == st.Selection.parse(f"tenure=mortgage|owned,{name}=yes")


def test_renters_as_published_and_as_in_the_paper() -> None:
    assert dict_of(census_layout())["H4_004N"] == st.Selection.of(tenure=["rented", "no rent"])
    assert dict_of(census_layout(renter="paper"))["H4_004N"] == st.Selection.of(tenure="rented")
    assert dict_of(census_layout(renter="paper"))["H12B_011N"] == st.Selection.of(
        tenure="rented", race="black", size="1"
    )


def dict_of(layout: Layout) -> dict[str, st.Selection]:
    return {cell: s for (_, cell), s in zip(layout.names, layout.selections, strict=True)}


def test_cells_are_those_listed_elsewhere() -> None:
    layout = census_layout(children=True)
    ours, labels = dict_of(layout), census_labels()
    kept = {
        cells: {c.name for t in census_tables(layout.schema, cells=cells) for c in t.cells}  # type: ignore[arg-type]
        for cells in ("bottom", "621")
    }
    listed = shared_cells()
    assert len(listed) == len(ours)
    for cell in listed:
        name, where = str(cell["cell"]), dict(cell["where"])  # type: ignore[call-overload]
        if set(where) > {"VACS"}:
            assert where.pop("VACS") == [0]  # implied by any condition on households
        expected = {CODES[code][0]: [CODES[code][1][v] for v in values] for code, values in where.items()}
        assert ours[name] == layout.schema.check_selection(st.Selection.of(expected)), name
        assert labels[name].split(" > ")[1:] == cell["path"], name
        assert (name in kept["621"]) == cell["in_621"], name
        open_cell = name in ("P20_009N", "P20_015N")
        assert (name in kept["bottom"]) == (bool(cell["bottom"]) and not open_cell), name


PRIME = 2_147_483_647


def rank(matrix: NDArray[np.int64]) -> int:
    """The rank modulo a prime, by elimination."""
    left, found = matrix % PRIME, 0
    for column in range(left.shape[1]):
        rows = np.flatnonzero(left[found:, column])
        if not len(rows):
            continue
        pivot = found + int(rows[0])
        left[[found, pivot]] = left[[pivot, found]]
        left[found] = left[found] * pow(int(left[found, column]), -1, PRIME) % PRIME
        below = left[found + 1 :]
        below -= below[:, [column]] * left[found][None, :] % PRIME
        below %= PRIME
        found += 1
        if found == len(left):
            break
    return found


@pytest.mark.parametrize(("children", "expected"), [(False, 392), *([(True, 393)] if SLOW else [])])
def test_rank_of_the_cells(children: bool, expected: int) -> None:
    """The rank of cells × types, through random sums of types and then of sums: 400 columns.

    The rank of the sums is never larger. It is smaller only if 400 random combinations of the
    columns span less than they could, which has a chance of about 256 ** -7.
    """
    types = legal_types(census_layout(children=children))
    rng = np.random.default_rng(7)
    summed = np.zeros((2_000, 861), np.int64)
    for start in range(0, len(types), 20_000):
        member = unpack(types.words[start : start + 20_000], 861).astype(np.int32)
        place, weight = rng.integers(0, 2_000, len(member)), rng.integers(1, 256, len(member), np.int32)
        summed += sparse.csr_array((weight, (place, np.arange(len(member)))), (2_000, len(member))) @ member
    assert summed.max() < 2**20
    # 2^20 × 2^8 × 2,000 < 2^53: exact in double precision.
    projected = (summed.T.astype(np.float64) @ rng.integers(0, 256, (2_000, 400))).astype(np.int64)
    assert rank(projected) == expected


def homes(seed: int, n: int) -> st.Records:
    """Random legal homes."""
    universe = legal_types(census_layout())
    rng = np.random.default_rng(seed)
    names = universe.frame.names
    chosen = universe.codes[rng.integers(0, len(universe), n)]
    order = [names.index(name) for name in census_schema().names]
    return st.Records(census_schema(), chosen[:, order])


def test_tabulated_homes_add_up() -> None:
    check_additivity(census_layout().tabulate(homes(1, 200), area="somewhere"))
    check_additivity(census_layout(renter="paper").tabulate(homes(1, 200)))


@pytest.mark.parametrize(
    "cell", ["P16_004N", "H4A_002N", "H9_002N", "H3_002N", "P16P_008N", "H14_028N", "H1_001N"]
)
def test_tables_that_do_not_add_up_are_named(cell: str) -> None:
    right = census_layout().tabulate(homes(1, 200), area="a7")
    at = [name for _, name in right.layout.names].index(cell)
    counts = right.low.copy()
    counts[at] += 1
    with pytest.raises(st.ReleaseError, match=f"area a7.*{cell}") as caught:
        check_additivity(Release(right.layout, counts, counts, "a7"))
    assert str(counts[at]) in str(caught.value)
    # Not published exactly: nothing to check.
    high = counts.copy()
    high[at] += 1
    check_additivity(Release(right.layout, np.minimum(counts, right.low), high, "a7"))


def test_sentences() -> None:
    schema = census_schema()
    claim = st.Claim(st.Selection.of(size="2", race="black", under18="no", age="25-34"), 1)
    assert claim.sentence(schema) == (
        "For exactly one home, two people live there, nobody there is under 18, "
        "the householder is 25 to 34 and Black."
    )
    assert schema.describe(st.Selection.of(tenure=["rented", "no rent"])) == (
        "tenure is rented or occupied without rent"
    )


def test_sentences_do_not_say_what_is_implied() -> None:
    """What a value implies by the rules is not said again; of equals the first is said."""
    schema = census_schema()
    for text, said in (
        ("type=woman alone,detailed_type=woman alone,size=1", "a woman lives alone"),
        ("type=married couple,detailed_type=married with children,under18=yes",
         "a married couple lives with own children under 18"),
        ("vacancy=occupied,tenure=rented", "the home is rented"),
        ("vacancy=for rent,tenure=vacant,age=vacant", "the home is vacant and for rent"),
        ("tenure=vacant,age=vacant", "the home is vacant"),
        ("over65=yes,age=65-74", "the householder is 65 to 74"),
        ("type=male family,detailed_type=cohabiting without children",
         "the householder is a man with relatives but no spouse there and an unmarried couple lives "
         "without own children under 18"),
    ):  # fmt: skip
        assert schema.describe(st.Selection.parse(text)) == said


@pytest.mark.slow
def test_sentences_of_a_table_are_those_of_single_claims() -> None:
    homes = simulate_households(4 if SLOW else 2, seed=8)
    layout = census_layout()
    for block, inside in st.Records.from_arrow(homes, layout.schema, by="block").by_area():
        found = st.audit(layout.tabulate(inside, area=block), truth=inside, max_columns=4 if SLOW else 3)
        rows = found.table(refuted=True).to_pylist()[::37]
        assert rows
        for row in rows:
            claim = st.Claim(st.Selection.from_json(row["selection"]), row["multiplicity"])
            assert row["sentence"] == claim.sentence(layout.schema, row["verdict"])
