"""Records from files, with and without a schema."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from showthrough.errors import InputError, RecordsError, SchemaError
from showthrough.formats.records_file import read_records
from showthrough.formats.schema_file import write_schema
from showthrough.schema import Schema
from showthrough.selection import Selection

SCHEMA = Schema.of({"sex": ["m", "f"], "age": ["young", "old"]})


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("block,sex,age,id\n2,f,old,1\n1,m,old,2\n1,f,young,3\n")
    return path


def test_with_a_schema(people, tmp_path):
    write_schema(SCHEMA, tmp_path / "schema.toml")
    for schema in (SCHEMA, tmp_path / "schema.toml", str(tmp_path / "schema.toml")):
        records = read_records(people, schema, by="block")
        assert records.schema == SCHEMA
        assert records.codes.tolist() == [[1, 1], [0, 1], [1, 0]]
        assert [(area, len(mine)) for area, mine in records.by_area()] == [("1", 2), ("2", 1)]


def test_inferred(people):
    records = read_records(people, columns=["sex", "age", "block"], by="block")
    assert records.schema == Schema.of({"sex": ["f", "m"], "age": ["old", "young"]})
    assert read_records(people, by="block").schema.names == ("sex", "age", "id")
    assert read_records(people).areas is None


def test_an_area_may_be_an_attribute_of_a_schema(people):
    schema = Schema.of({"block": ["1", "2"]})
    assert read_records(people, schema, by="block").count(Selection.of(block="1")) == 2


def test_data_frames():
    columns = {"sex": ["f", None], "size": [1, 2]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns).to_reader()):
        records = read_records(frame)
        assert records.schema["sex"].values == ("f", "missing")
        assert records.schema["size"].values == ("1", "2")
        assert records.codes.tolist() == [[0, 0], [1, 1]]


def test_odd_numbers_are_values_like_any_other():
    records = read_records(pa.table({"x": [1e300, float("inf"), 2.0, float("nan")]}))
    assert set(records.schema["x"].values) == {"2", "1e+300", "inf", "missing"}


def test_too_many_columns(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"c{number}" for number in range(66)]
    path.write_text(",".join(names) + "\n" + ",".join("x" * 66) + "\n")
    with pytest.raises(RecordsError) as caught:
        read_records(path, by="c0")
    assert caught.value.file == str(path)
    assert "there are 65 columns" in caught.value.problem
    assert caught.value.remedy == "list them with --columns, or in a schema with --schema"
    assert read_records(path, columns=names).schema.names == tuple(names)
    assert read_records(path, Schema.of({"c7": ["x"]})).schema.names == ("c7",)


def test_errors_name_the_place(people):
    with pytest.raises(RecordsError) as caught:
        read_records(people, Schema.of({"sex": ["f"]}))
    error = caught.value
    assert (error.file, error.row, error.column, error.found) == (str(people), 2, "sex", "m")
    with pytest.raises(RecordsError, match=r"column blok: no such column; .*'block'"):
        read_records(people, SCHEMA, by="blok")
    with pytest.raises(RecordsError, match="column size: no such column"):
        read_records(people, Schema.of({"size": ["1"]}))
    with pytest.raises(InputError, match="both a schema and columns are given"):
        read_records(people, SCHEMA, columns=["sex"])
    with pytest.raises(SchemaError, match=r"people.csv: the schema has no attributes"):
        read_records(people, columns=["block"], by="block")
    with pytest.raises(SchemaError, match="no such file"):
        read_records(people, "none.toml")
