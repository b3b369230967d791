"""Levels of attributes: what they are made from, what is refused, and what a schema makes of them."""

from __future__ import annotations

import pytest

import showthrough as st
from showthrough.errors import SchemaError

LEVELS = ["region", "district", "town"]
PARENTS = {"t1": "d1", "t2": "d1", "t3": "d2", "d1": "r", "d2": "r"}


@pytest.fixture(scope="module")
def schema() -> st.Schema:
    """Three towns in two districts of one region, and a grid across them."""
    return st.Schema.of(
        {"town": ["t1", "t2", "t3"], "sex": ["f", "m"]},
        hierarchies=[
            st.Hierarchy.of("place", LEVELS, PARENTS),
            st.Hierarchy.of("squares", ["grid", "town"], {"t1": "g1", "t2": "g2", "t3": "g2"}),
        ],
    )


def test_the_same_hierarchy_in_four_ways() -> None:
    made = st.Hierarchy.of("place", LEVELS, PARENTS)
    groups = {"district": {"d1": ["t1", "t2"], "d2": ["t3"]}, "region": {"r": ["d1", "d2"]}}
    rows = [("r", "d1", "t1"), ("r", "d1", "t2"), ("r", "d2", "t3")]
    assert made == st.Hierarchy.by_groups("place", LEVELS, groups)
    assert made == st.Hierarchy.of_rows("place", LEVELS, rows)
    codes = ["DE11", "DE12", "DE21"]
    nested = st.Hierarchy.nested("nuts", ["land", "nuts1", "nuts2"], codes, lengths=[2, 3, 4])
    assert nested == st.Hierarchy.nested("nuts", ["land", "nuts1", "nuts2"], codes, lengths=[2, 3])
    assert nested.groups("land") == {"DE": ("DE1", "DE2")}


def test_the_same_code_at_several_levels_is_no_circle() -> None:
    berlin = st.Hierarchy.of_rows("place", LEVELS, [("Berlin", "Berlin", "Berlin"), ("B", "P", "P1")])
    assert berlin.groups("region") == {"Berlin": ("Berlin",), "B": ("P",)}


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": "b", "b": "a"}, "in a circle: a → b → a"),
        ({"": "d1", "d1": "r"}, "an empty value"),
        ({"t1": "d1", "d1": "r", "t2": "d2"}, "t2 → d2 has 2 levels, not 3: a parent is missing"),
        ({"x": "t1", "t1": "d1", "d1": "r"}, "x → t1 → d1 → r has 4 levels, not 3"),
    ],
)
def test_chains_that_do_not_fit_are_refused(parents: dict[str, str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        st.Hierarchy.of("place", LEVELS, parents)


def test_a_chain_without_end_is_refused_at_once() -> None:
    long = {str(at): str(at + 1) for at in range(1_000)}
    with pytest.raises(SchemaError, match="64 levels, not 3"):
        st.Hierarchy.of("place", LEVELS, long)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"district": {"d1": ["t1"], "d2": ["t1"]}, "region": {"r": ["d1", "d2"]}}, "t1 lies in two values"),
        ({"district": {"d1": ["t1"]}}, "the groups of a level are missing"),
        ({"district": {"d1": ["t1"]}, "region": {"r": ["d2"]}}, "a value lies in no region"),
        ({"district": {"d1": ["t1"]}, "region": {"r": ["d1", "d2"]}}, "no town lies in a value"),
        ({"county": {"d1": ["t1"]}}, "groups of an unknown level"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups: dict[str, dict[str, list[str]]], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        st.Hierarchy.by_groups("place", LEVELS, groups)


@pytest.mark.parametrize(
    ("rows", "message", "row"),
    [
        ([("r", "d1", "t1"), ("r", "d1", "t1")], "listed twice", 2),
        ([("r", "d1", "t1"), ("s", "d1", "t2")], "d1 lies in two values: r and s", 2),
        ([("r", "d1", "t1"), ("", "", "")], "needs a value for each level", 2),
        ([("r", "", "d1"), ("r", "d1", "t2")], "skips a level has the name of another's group", 1),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_their_number(
    rows: list[tuple[str, ...]], message: str, row: int
) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        st.Hierarchy.of_rows("place", LEVELS, rows, numbered=True)
    assert caught.value.row == row


def test_skipped_levels_and_leaves_above_stand_for_themselves() -> None:
    rows = [("r", "d1", "t1"), ("r", "", "t2"), ("s", "", "")]
    made = st.Hierarchy.of_rows("place", LEVELS, rows)
    assert made.groups("district") == {"d1": ("t1",), "t2": ("t2",), "s": ("s",)}
    assert made.groups("region") == {"r": ("d1", "t2"), "s": ("s",)}


@pytest.mark.parametrize("lengths", [[3], [3, 3], [4, 3], [1, 2, 3, 4], [0, 2]])
def test_lengths_of_nested_codes_must_fit_the_levels(lengths: list[int]) -> None:
    with pytest.raises(SchemaError, match="lengths do not fit"):
        st.Hierarchy.nested("nuts", LEVELS, ["DE11"], lengths=lengths)


@pytest.mark.parametrize("code", ["DE", "DE1", "DE111"])
def test_codes_of_other_lengths_are_refused(code: str) -> None:
    with pytest.raises(SchemaError, match="wrong length") as caught:
        st.Hierarchy.nested("nuts", ["a", "b", "c"], ["DE11", code], lengths=[2, 3, 4])
    assert caught.value.found == code


def test_levels_become_attributes_and_rules(schema: st.Schema) -> None:
    assert schema.names == ("region", "district", "grid", "town", "sex")
    assert schema["district"].values == ("d1", "d2")
    assert schema.own_rules == ()
    assert schema.coarser("town") == ("district", "region", "grid")
    again = st.Schema(schema.attributes, schema.rules, hierarchies=schema.hierarchies)
    assert again == schema


def test_hierarchies_may_stand_on_each_other() -> None:
    place = st.Hierarchy.of("place", LEVELS, PARENTS)
    zones = st.Hierarchy.of("zones", ["zone", "district"], {"d1": "z1", "d2": "z2"})
    stacked = st.Schema.of({"town": ["t1", "t2", "t3"]}, hierarchies=[place, zones])
    assert stacked.inside("zone", "z1") == ("town", frozenset({"t1", "t2"}))
    records = st.Records.of([{"town": "t3"}], stacked)
    assert records.to_arrow().to_pylist() == [{"zone": "z2", "region": "r", "district": "d2", "town": "t3"}]


@pytest.mark.parametrize(
    ("hierarchies", "message"),
    [
        ([("a", ["x", "town"]), ("b", ["x", "town"])], "belongs to the hierarchies a and b"),
        ([("a", ["x", "town"]), ("b", ["town", "x"])], "depend on each other"),
        ([("a", ["x"])], "two or more levels"),
        ([("a", ["x", "x"])], "two or more levels"),
    ],
)
def test_levels_that_contradict_each_other_are_refused(
    hierarchies: list[tuple[str, list[str]]], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        st.Schema.of(
            {"town": ["t1"]},
            hierarchies=[st.Hierarchy(name, tuple(levels), ({"t1": "t1"},)) for name, levels in hierarchies],
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"town": ["t1", "t2", "t3", "t4"]}, "leaves a value out"),
        ({"town": ["t1", "t2"]}, "unknown value"),
        ({"town": ["t1", "t2", "t3"], "region": ["r", "s"]}, "leaves a value out"),
        ({"town": ["t1", "t2", "t3"], "region": ["s"]}, "unknown value"),
        ({"town": ["t1", "t2", "t3"], "district": ["d1", "d3"]}, "unknown value"),
    ],
)
def test_a_hierarchy_lists_exactly_the_values(values: dict[str, list[str]], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        st.Schema.of(values, hierarchies=[st.Hierarchy.of("place", LEVELS, PARENTS)])


def test_totals_are_those_of_all_levels(schema: st.Schema) -> None:
    cells = [cell.name for cell in st.make_table(schema, "town*sex", totals=True).cells]
    assert [name for name in cells if "region" in name] == ["region=r,sex=f", "region=r,sex=m", "region=r"]
    assert sum("grid" in name for name in cells) == 6
    assert sum("district" in name for name in cells) == 6
    assert cells[-1] == "total"
    assert len(cells) == 6 + 4 + 2 + 4 + 3 + 2 + 1 + 2 + 2 + 1


def test_levels_are_crossed_where_one_lies_in_the_other(schema: st.Schema) -> None:
    def names(formula: str, *, where: str = "", totals: bool = False) -> list[str]:
        return [cell.name for cell in st.make_table(schema, formula, where=where, totals=totals).cells]

    assert names("district*town") == ["district=d1,town=t1", "district=d1,town=t2", "district=d2,town=t3"]
    assert names("district*grid") == ["district=d1,grid=g1", "district=d1,grid=g2", "district=d2,grid=g2"]
    assert names("town", where="district=d1") == ["town=t1", "town=t2"]
    assert names("grid", where="district=d2") == ["grid=g2"]
    assert not {"district=d1,region=r", "region=r,town=t1"} & {*names("district*town", totals=True)}


def test_sentences_name_the_level(schema: st.Schema) -> None:
    def said(text: str) -> str:
        return schema.describe(st.Selection.parse(text))

    assert said("town=t1|t2") == "district is d1"
    assert said("town=t2|t3") == "grid is g2"
    assert said("town=t1|t3") == "town is t1 or t3"
    assert said("town=t1|t2|t3") == "region is r"
    assert said("town=t3,sex=f") == "town is t3 and sex is f"
    assert said("district=d1,town=t1,sex=f") == "town is t1 and sex is f"


def test_records_follow_from_the_finest_level_or_from_zonings(schema: st.Schema) -> None:
    whole = st.Records.of([{"town": "t2", "sex": "f"}], schema)
    pieces = st.Records.of([{"district": "d1", "grid": "g2", "sex": "f"}], schema)
    assert whole.codes.tolist() == pieces.codes.tolist()
    assert whole.count("district=d1,grid=g2") == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"town": "t1", "sex": "f"}, {"town": "t3", "district": "d1", "sex": "f"}],
            "row 1, column district: missing value",
        ),
        (
            [{"town": "t1", "district": "d1", "sex": "f"}, {"town": "t3", "district": "d1", "sex": "f"}],
            r"row 2, column district: town t3 lies in another district \(found 'd1'\); it lies in d2",
        ),
        ([{"district": "d1", "sex": "f"}], "column town: no such column; give it: district cannot tell t1"),
        (
            [{"district": "d2", "grid": "g1", "sex": "f"}],
            r"row 1, column grid: no town lies in these values of district, grid \(found 'd2, g1'\)",
        ),
        ([{"sex": "f"}], "column town: missing value"),
        ([{"town": "t1", "region": "x", "sex": "f"}], "row 1, column region: value outside the schema"),
    ],
)
def test_records_that_contradict_the_hierarchy_are_errors(
    schema: st.Schema, rows: list[dict[str, str]], message: str
) -> None:
    with pytest.raises(st.RecordsError, match=message):
        st.Records.of(rows, schema)


def test_with_many_values_a_schema_is_still_made_at_once() -> None:
    towns = {f"t{at}": f"d{at % 400}" for at in range(10_000)}
    districts = {f"d{at}": f"r{at % 16}" for at in range(400)}
    place = st.Hierarchy.of("place", LEVELS, {**towns, **districts})
    schema = st.Schema.of({"town": list(towns), "sex": ["f", "m"]}, hierarchies=[place])
    table = st.make_table(schema, "district*sex", totals=True)
    assert len(table.cells) == 2 * 416 + 416 + 2 + 1
    assert st.Records.of([{"town": "t9999", "sex": "f"}], schema).count("district=d399,region=r15") == 1


@pytest.mark.parametrize(
    ("used", "names"),
    [
        ({"town"}, ("region", "district", "grid", "town", "sex")),
        ({"district"}, ("region", "district", "sex")),
        ({"region"}, ("region", "sex")),
        ({"grid", "region"}, ("region", "district", "grid", "town", "sex")),
        ({"sex"}, ("region", "sex")),
    ],
)
def test_levels_finer_than_all_that_is_used_can_be_left_out(
    schema: st.Schema, used: set[str], names: tuple[str, ...]
) -> None:
    assert schema.trimmed(used).names == names
    ruled = st.Schema(schema.attributes, (st.Rule("town=t1", "sex=f"),), hierarchies=schema.hierarchies)
    assert ruled.trimmed(used) == ruled


def test_a_zoning_or_a_stacked_hierarchy_that_is_not_used_goes_too() -> None:
    towns = ["t1", "t2", "t3", "t4"]
    parents = {"t1": "d1", "t2": "d1", "t3": "d2", "t4": "d3", "d1": "r1", "d2": "r1", "d3": "r2"}
    place = st.Hierarchy.of("place", LEVELS, parents)
    squares = st.Hierarchy.of("squares", ["grid", "town"], {"t1": "g1", "t2": "g2", "t3": "g2", "t4": "g1"})
    zones = st.Hierarchy.of("zones", ["zone", "district"], {"d1": "z1", "d2": "z2", "d3": "z1"})
    schema = st.Schema.of({"town": towns, "sex": ["f", "m"]}, hierarchies=[place, squares, zones])
    for used, left in {
        ("grid",): {"grid", "sex"},
        ("zone",): {"zone", "sex"},
        ("region",): {"region", "sex"},
        ("sex",): {"sex"},
        ("zone", "region"): {"zone", "region", "district", "sex"},
        ("zone", "grid"): {"zone", "region", "district", "town", "grid", "sex"},
    }.items():
        assert {*schema.trimmed({*used, "sex"}).names} >= {*used}
        assert {*schema.trimmed({*used, "sex"}).names} <= left, used
