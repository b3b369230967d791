"""Cells are found whatever the order of the attributes in their names."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pyarrow as pa
import pytest

import showthrough as st
from showthrough.errors import InputError, ReleaseError
from showthrough.formats.cell_names import AMBIGUOUS, UNKNOWN, CellNames
from showthrough.selection import canonical

SCHEMA = st.Schema.of({"sex": ["f", "m"], "age": ["young", "old"], "job": ["none", "a,b"]})
WOMEN = st.Selection.of(sex="f")
TABLES = (
    st.make_table(SCHEMA, "sex*age*job"),
    st.make_table(SCHEMA, "age*sex", name="t:u"),
    st.Table(
        "own", (st.Cell("b=1,a=2", st.Selection.of(sex="f")), st.Cell("a=2,b=1", st.Selection.of(sex="m")))
    ),
    st.Table("words", (st.Cell("Women, 65+", st.Selection.of(sex="f", age="old")),)),
)
DESIGN = st.Design(st.Layout(SCHEMA, TABLES))


def read(**columns: list[str]) -> st.Release:
    (release,) = st.read_counts(pa.table(columns), DESIGN)
    return release


@pytest.mark.parametrize("order", [*itertools.permutations(["sex=f", "age=old", 'job="a,b"'])])
def test_tidy_and_wide_files_take_any_order(order: tuple[str, ...]) -> None:
    name = ", ".join(order)
    for release in (read(cell=[name], value=["7"]), read(table=["sex*age*job"], cell=[name], value=["7"])):
        assert release.low.tolist().index(7) == 3
    (wide,) = st.read_counts(pa.table({name: ["7"], "t:u:sex=m,age=old": ["5"]}), DESIGN)
    assert wide.low.tolist().index(7) == 3
    assert wide.low.tolist().index(5) == 8 + 3


def test_names_of_another_form_stay_exact() -> None:
    names = CellNames(DESIGN.layout)
    assert names.find("Women, 65+") == len(DESIGN.layout.names) - 1
    assert names.find("65+, Women") == UNKNOWN
    assert (names.find("b=1,a=2"), names.find("a=2,b=1")) == (12, 13)
    assert names.find("b=1, a=2") == AMBIGUOUS
    assert names.find("own:b=1, a=2") == UNKNOWN
    assert canonical('a="b') == 'a="b'


def test_a_cell_that_is_named_in_two_orders_has_two_values() -> None:
    twice = ["age=old,sex=f", "sex=f,age=old"]
    with pytest.raises(ReleaseError, match="row 2, column cell: cell age=old,sex=f of table t:u occurs"):
        read(cell=twice, value=["1", "1"])
    with pytest.raises(ReleaseError, match="two columns are the same cell"):
        st.read_counts(pa.table({name: ["1"] for name in twice}), DESIGN)
    with pytest.raises(ReleaseError, match="cell age=old,sex=f of table t:u has two values"):
        st.Release.of(SCHEMA, {TABLES[1]: dict.fromkeys(twice, 1)})


def test_releases_moves_and_policies_take_any_order() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    release = st.Release.of(schema, {"sex*age": {"sex=f,age=old": 3, "age=old,sex=m": 4}, "sex": [5, 6]})
    assert [cell.value() for cell in release.cells] == ["unknown", "3", "unknown", "4", "5", "6"]
    hidden, _ = st.apply_moves(release, [st.Suppress("sex*age", "sex=f,age=old")])
    assert hidden.cells[1].value() == "unknown"
    change = st.Change(keep_cells=frozenset({("sex*age", "sex=f,age=old")}))
    change.check(release.layout)
    with pytest.raises(InputError, match="unknown cell"):
        st.Change(keep_cells=frozenset({("sex*age", "sex=f")})).check(release.layout)


def test_what_a_policy_keeps_is_kept_in_any_order() -> None:
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = st.Release.of(schema, {"sex*ill": [5, 1, 3, 2]})

    def protected(cell: str) -> tuple[str, list[str]]:
        change = st.Change(("suppress",), keep_cells=frozenset({("sex*ill", cell)}))
        policy = replace(st.Policy.of("singletons,k>=2"), change=change)
        found = st.protect(release, policy)
        return found.status, [str(step.move) for step in found.steps]

    kept = protected("sex=f,ill=yes")
    assert kept == protected("ill=yes,sex=f")
    assert kept[0] == "impossible"
    assert "suppress ill=yes,sex=f of sex*ill" not in kept[1]
    assert protected("sex=m,ill=yes") == ("safe", ["suppress ill=yes,sex=f of sex*ill"])
