"""Schemas inferred from data."""

from __future__ import annotations

import hypothesis.strategies as hs
import pyarrow as pa
import pytest
from hypothesis import given

from showthrough.errors import RecordsError, SchemaError
from showthrough.formats.schema_file import infer_schema, natural_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["-10", "-2", "0", "01", "1", "9", "10"],
        ["0-4", "5-9", "10-14", "100+"],
        ["a1b2", "a1b10", "a2"],
        ["", "Z", "a", "ä"],
        ["1", "9" * 5000, "1" + "0" * 5000],
    ],
)
def test_natural_order(ordered):
    assert natural_order(ordered[::-1]) == ordered


@given(hs.lists(hs.text(hs.sampled_from("019-a "), max_size=5), unique=True))
def test_natural_order_does_not_depend_on_the_order_given(texts):
    assert natural_order(texts) == natural_order(texts[::-1])
    assert sorted(natural_order(texts)) == sorted(texts)


def test_missing_entries_become_a_value():
    table = pa.table({"a": ["x", None], "b": ["missing", None], "c": pa.nulls(2), "d": [1.0, 2.0]})
    schema = infer_schema(table, ["a", "b", "c", "d"])
    assert [a.values for a in schema.attributes] == [
        ("x", "missing"),
        ("missing",),
        ("missing",),
        ("1", "2"),
    ]
    assert [a.missing for a in schema.attributes] == ["missing", "missing", "missing", None]


def test_an_identifier_is_no_category():
    table = pa.table({"id": list(range(1001)), "fine": [*range(1000), None]})
    assert len(infer_schema(table, ["fine"])["fine"].values) == 1001
    with pytest.raises(SchemaError) as caught:
        infer_schema(table, ["id"], file="people.csv")
    assert caught.value.file == "people.csv"
    assert caught.value.column == "id"
    assert "looks like an identifier or a number, not a category" in caught.value.problem
    assert caught.value.remedy == "declare it in a schema with --schema, or leave the column out"


def test_unknown_and_no_columns():
    table = pa.table({"age": ["x"]})
    with pytest.raises(RecordsError, match=r"f.csv, column aeg: no such column; .*'age'"):
        infer_schema(table, ["aeg"], file="f.csv")
    with pytest.raises(SchemaError, match=r"f.csv: the schema has no attributes"):
        infer_schema(table, [], file="f.csv")
