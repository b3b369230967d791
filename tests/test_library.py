"""What a person types: tables, selections and numbers as text, results as data frames, named errors."""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import showthrough as st

SCHEMA = st.Schema.of({"sex": ["f", "m"], "age": ["young", "old"]}, rules=[st.Rule("sex=f", "age=old")])
ROWS = [{"sex": "f", "age": "old"}, {"sex": "m", "age": "young"}, {"sex": "m", "age": "old"}]
PEOPLE = st.Records.of(ROWS, SCHEMA)
TOWNS = st.Records(SCHEMA, PEOPLE.codes, np.array(["South", "North", "South"], object))


class TestTabulate:
    def test_tables_in_any_form(self) -> None:
        one = st.make_table(SCHEMA, "age")
        for given in (("sex", "age"), (["sex", "age"],), ("sex", one), (["sex"], one)):
            assert st.tabulate(PEOPLE, *given).low.tolist() == [1, 2, 1, 2]

    def test_one_release_per_area(self) -> None:
        found = st.tabulate(TOWNS, "sex")
        assert isinstance(found, st.Releases)
        assert {release.area: release.low.tolist() for release in found} == {"North": [0, 1], "South": [1, 1]}

    def test_areas_are_pooled_on_request_only(self) -> None:
        found = st.tabulate(TOWNS, "sex", area="everywhere", pool=True)
        assert (found.area, found.low.tolist()) == ("everywhere", [1, 2])

    def test_a_name_for_several_areas(self) -> None:
        with pytest.raises(st.InputError, match="the records name their areas themselves"):
            st.tabulate(TOWNS, "sex", area="everywhere")

    @pytest.mark.parametrize("wrong", [3, [3], None])
    def test_wrong_tables(self, wrong: Any) -> None:
        with pytest.raises(st.InputError, match="table must be"):
            st.tabulate(PEOPLE, wrong)

    def test_no_records(self) -> None:
        with pytest.raises(st.InputError, match="records must be Records, not list"):
            st.tabulate(ROWS, "sex")  # type: ignore[arg-type]


class TestTypedIn:
    def test_values_in_order_and_by_name(self) -> None:
        given = {"sex": [3, None], "age": {"age=old": (1, 4)}}
        assert st.Release.of(SCHEMA, given).to_arrow().to_pydict() == {
            "table": ["sex", "sex", "age", "age"],
            "cell": ["sex=f", "sex=m", "age=young", "age=old"],
            "value": ["3", "unknown", "unknown", "1-4"],
            "low": [3, 0, 0, 1],
            "high": [3, None, None, 4],
        }

    @pytest.mark.parametrize(
        ("published", "message"),
        [
            ({"sex": [3]}, "table sex has 2 cells but 1 values"),
            ({"sex": [3, "four"]}, "a value of table sex is not a count"),
            ({"sex": [3, (1, 2, 3)]}, "a value of table sex is not a count"),
            ({"sex": {"sex=x": 3}}, "table sex has no such cell"),
            ({"sex": 3}, "the values of table sex must be"),
            ({3: [1, 2]}, "table must be str or Table, not int"),
            ([3], "published must be Mapping, not list"),
        ],
    )
    def test_wrong_values(self, published: Any, message: str) -> None:
        with pytest.raises(st.InputError, match=message):
            st.Release.of(SCHEMA, published)


class TestSelections:
    def test_in_any_form(self) -> None:
        chosen = st.Selection.of(sex="m", age=["young", "old"])
        for given in ("sex=m,age=young|old", {"sex": "m", "age": ["young", "old"]}, chosen):
            assert st.Selection.of(given) == chosen
            assert PEOPLE.count(given) == 2

    def test_text_and_more(self) -> None:
        assert st.Selection.of("sex=m", age="old") == st.Selection.parse("age=old,sex=m")

    @pytest.mark.parametrize("wrong", [3, ["sex=m"]])
    def test_wrong_types(self, wrong: Any) -> None:
        with pytest.raises(st.InputError, match="selection must be Selection, str or Mapping, not"):
            PEOPLE.count(wrong)

    def test_a_value_that_is_a_number(self) -> None:
        with pytest.raises(st.SchemaError, match="not text"):
            st.Selection.of(age=3)  # type: ignore[arg-type]


NOUNS: list[Any] = [PEOPLE, TOWNS, st.tabulate(PEOPLE, "sex"), st.tabulate(TOWNS, "sex")]


@pytest.mark.parametrize(
    "noun", [*NOUNS, SCHEMA, NOUNS[2].layout, NOUNS[2].tables[0], SCHEMA["sex"]], ids=repr
)
def test_reprs_are_short(noun: Any) -> None:
    assert len(repr(noun)) < 300


def test_the_repr_of_a_large_schema_is_short() -> None:
    many = {f"column {at}": [f"value {code}" for code in range(1000)] for at in range(100)}
    assert len(repr(st.Schema.of(many))) < 1000
    assert "… and 92 more" in repr(st.Schema.of(many))


@pytest.mark.parametrize("noun", NOUNS, ids=repr)
class TestFrames:
    def test_all_forms_agree(self, noun: Any) -> None:
        table = noun.to_arrow()
        assert noun.to_polars().to_arrow().to_pydict() == table.to_pydict()
        assert list(noun.to_pandas().columns) == table.column_names
        assert len(noun.to_pandas()) == table.num_rows

    def test_other_libraries_read_it(self, noun: Any) -> None:
        import polars

        assert polars.DataFrame(noun).height == noun.to_arrow().num_rows

    def test_notebooks(self, noun: Any) -> None:
        assert "<table>" in noun._repr_html_()

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_without_the_library(self, noun: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(
            st.InputError, match=f"{library} is not installed; install {library}, or use to_arrow"
        ):
            getattr(noun, f"to_{library}")()


def test_notebooks_say_how_much_is_left_out() -> None:
    many = st.Records(SCHEMA, np.tile([0, 1], (30, 1)))
    assert "… and 20 more rows" in many._repr_html_()
    assert repr(many) == "Records: 30 records of sex, age"


#: The modules whose public names everything else is made from.
GROUND = (
    "errors estimate formats.counts_file formats.design formats.records_file formats.release_file "
    "formats.schema_file frames.source notation records release releases report schema selection"
)
CALLABLE = [
    name
    for name, module in st._MODULES.items()
    if module in GROUND.split() and not name.endswith("Error") and name not in ("Contradiction", "Undecided")
]


class Odd:
    """Something that nobody expects."""


@pytest.mark.parametrize("odd", [Odd(), 3, None, "nowhere"], ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("name", CALLABLE)
def test_wrong_types_are_named(name: str, odd: Any) -> None:
    """Whatever is given for all required arguments, no error comes from inside."""
    call = getattr(st, name)
    wanted = [
        one
        for one in inspect.signature(call).parameters.values()
        if one.default is one.empty and one.kind < 2
    ]
    with suppress(st.InputError):
        call(*(odd for _ in wanted))
