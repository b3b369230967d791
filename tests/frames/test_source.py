"""Tables from files and data frames, and every way a file can be wrong."""

from __future__ import annotations

import gzip
import os

import hypothesis.strategies as hs
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from needs import SLOW
from showthrough.errors import InputError, RecordsError
from showthrough.files import lifted_limits
from showthrough.frames import read_table

PLAIN = {"a": ["01", None], "b": ["x", "y"]}


@pytest.fixture
def csv(tmp_path):
    """Write bytes to a CSV file."""

    def writer(content: bytes, name: str = "data.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return writer


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", b"a,b\n01,x\n,y\n"),
        ("DATA.CSV", b"a,b\n01,x\n,y\n"),
        ("data.csv", b"\xef\xbb\xbfa,b\r\n01,x\r\n,y"),
        ("data.csv", b'\na,b\n\n"01","x"\n"","y"\n\n'),
        ("data.tsv", b"a\tb\n01\tx\n\ty\n"),
        ("data.csv.gz", gzip.compress(b"a,b\n01,x\n,y\n", mtime=0)),
        ("data.tsv.gz", gzip.compress(b"a\tb\n01\tx\n\ty\n", mtime=0)),
    ],
)
def test_delimited_files_are_text(csv, name, content):
    assert read_table(csv(content, name)).to_pydict() == PLAIN


def test_binary_files(tmp_path):
    table = pa.table(PLAIN)
    pq.write_table(table, tmp_path / "data.parquet")
    feather.write_feather(table, tmp_path / "data.feather")
    with pa.ipc.new_file(tmp_path / "data.arrow", table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    for name in ("data.parquet", "data.feather", "data.arrow", "stream.arrow"):
        assert read_table(str(tmp_path / name)).equals(table)
        assert read_table(tmp_path / name, columns=["b"]).column_names == ["b"]


def test_tables_in_memory():
    table = pa.table(PLAIN)
    frames = [
        table,
        table.to_reader(),
        table.to_batches()[0],
        pd.DataFrame(PLAIN, index=[7, 8]),
        pl.DataFrame(PLAIN),
        pl.DataFrame(PLAIN).with_columns(pl.col("b").cast(pl.Categorical)),
        pd.DataFrame(PLAIN).astype({"b": "category"}),
    ]
    for frame in frames:
        assert read_table(frame, columns=["a", "b"]).to_pydict() == PLAIN


def test_not_a_number_is_missing():
    table = read_table(pl.DataFrame({"a": [1.5, float("nan"), None]}), columns=["a"])
    assert table["a"].to_pylist() == [1.5, None, None]


def test_columns_come_in_the_order_asked(csv):
    assert read_table(csv(b"a,b,c\n1,2,3\n"), columns=["c", "a"]).column_names == ["c", "a"]


def test_fields_may_hold_anything(csv):
    path = csv(b'a,b\n"x\ny, ""z""",\x00\n')
    assert read_table(path).to_pylist() == [{"a": 'x\ny, "z"', "b": "\x00"}]


def test_a_field_of_megabytes(csv):
    size = 10_000_000 if SLOW else 2_000_000
    long, quoted = b"x" * size, b'"' + b"y\n" * (size // 2) + b'"'
    for row in (long + b",2", b"2," + quoted, long + b"," + quoted):
        path = csv(b"a,b\n1,2\n" + row + b"\n")
        with pytest.raises(RecordsError, match=r"row 2: a value is longer than .* bytes .*--no-limits"):
            read_table(path)
        with lifted_limits():
            found = read_table(path).to_pylist()[1]
        assert {len(found["a"]), len(found["b"])} <= {1, size}


def test_a_blank_line_in_a_file_of_one_column_is_a_record(csv):
    assert read_table(csv(b"a\n1\n\n2\n"))["a"].to_pylist() == ["1", None, "2"]


@pytest.mark.parametrize(
    ("content", "problem", "row", "column", "found", "remedy"),
    [
        (b"", "the file is empty", None, None, None, "the first line must name the columns"),
        (b"\n\n", "the file is empty", None, None, None, "the first line must name the columns"),
        (b",\n1,2\n", "the header names no column", None, None, None, "the first line"),
        (b"a,b\n", "there are no records", None, None, None, "one row per record"),
        (b"a,b", "there are no records", None, None, None, "one row per record"),
        (b"a,a\n1,2\n", "two columns have the same name", None, "a", None, "rename one"),
        (b"a,b\n1,2\n\n3\n", "the row has 1 fields, the header 2", 2, None, "3", "double quotes"),
        (b"a,b\n1,2,3\n", "the row has 3 fields, the header 2", 1, None, "1,2,3", "double quotes"),
        (b"a,b\n1,2\nx,\xe9\n\xff,1\n", "not UTF-8", 2, "b", "é", "save as UTF-8"),
        (b"a\xe9,b\n1,2\n", "the header is not UTF-8", None, None, None, "save as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "the header is not UTF-8", None, None, None, "save as"),
    ],
)
def test_a_wrong_delimited_file(csv, content, problem, row, column, found, remedy):
    path = csv(content)
    with pytest.raises(RecordsError) as caught:
        read_table(path)
    error = caught.value
    assert error.file == str(path)
    assert problem in error.problem
    assert (error.row, error.column, error.found) == (row, column, found)
    assert remedy in error.remedy


def test_the_bad_row_of_a_long_file(csv):
    n_good = 3_000_000 if SLOW else 1_000_000
    good = b"1,2\n" * n_good
    with pytest.raises(RecordsError, match=f"row {n_good + 1}: the row has 1 fields"):
        read_table(csv(b"a,b\n" + good + b"3\n" + good))
    with pytest.raises(RecordsError, match=f"row {n_good + 1}, column b: the text is not UTF-8"):
        read_table(csv(b"a,b\n" + good + b"3,\xff\n" + good))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.parquet", b"PAR1 not really"),
        ("data.parquet", b""),
        ("data.arrow", b"ARROW1 not really"),
        ("data.feather", b""),
        ("data.csv.gz", b"not really"),
        ("data.csv.gz", gzip.compress(b"a,b\n" + bytes(range(256)) * 2, mtime=0)[:-100]),
    ],
)
def test_a_broken_file(csv, name, content):
    path = csv(content, name)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert caught.value.file == str(path)
    assert "damaged" in caught.value.problem or "cannot be read" in caught.value.problem
    assert caught.value.remedy


def test_a_cut_parquet_file(tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": [str(number) for number in range(10_000)]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 2000 + whole[2004:])
    with pytest.raises(InputError, match=r"data.parquet: the file is damaged or not a parquet file"):
        read_table(path)


def test_text_in_parquet_that_is_no_text(tmp_path):
    column = pa.array([b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"a": column}), tmp_path / "data.parquet")
    with pytest.raises(InputError, match=r"data.parquet: the file is damaged"):
        read_table(tmp_path / "data.parquet")


def test_two_columns_of_one_name_in_parquet(tmp_path):
    table = pa.table({"a": [1], "b": [2]}).rename_columns(["a", "a"])
    pq.write_table(table, tmp_path / "data.parquet")
    for source in (table, tmp_path / "data.parquet"):
        with pytest.raises(RecordsError, match="column a: two columns have the same name"):
            read_table(source)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none.csv: no such file; check the name"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match="there is no table in this folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read_table("nul\0byte.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(csv):
    path = csv(b"a\n1\n")
    path.chmod(0)
    with pytest.raises(InputError, match=r"data.csv: the file cannot be read: Permission denied"):
        read_table(path)


def test_an_unknown_ending(csv):
    with pytest.raises(InputError, match=r"unsupported file extension \(found '.xlsx'\); use"):
        read_table(csv(b"x", "data.xlsx"))


def test_an_unknown_column(csv):
    with pytest.raises(RecordsError) as caught:
        read_table(csv(b"age,sex\n1,2\n"), columns=["aeg"])
    assert caught.value.column == "aeg"
    assert "did you mean 'age'?" in caught.value.remedy


def test_columns_and_sources_of_no_use():
    with pytest.raises(RecordsError, match="column a: the column cannot be read as text") as caught:
        read_table(pa.table({"a": [[1]], "b": [1]}), columns=["a"])
    assert caught.value.found.startswith("list")
    for kind in (pa.binary(), pa.large_binary(), pa.binary(1), pa.binary_view()):
        bad, good = (pa.table({"a": pa.array([text], kind)}) for text in (b"\xff", b"x"))
        assert read_table(good, columns=["a"])["a"].to_pylist() == ["x"]
        with pytest.raises(RecordsError, match="column a: the column cannot be read as text"):
            read_table(bad, columns=["a"])
    with pytest.raises(RecordsError, match=r"neither a path nor a table .found 'int'"):
        read_table(3)
    with pytest.raises(RecordsError, match="the data frame cannot be read"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(RecordsError, match="the data frame cannot be read"):
        read_table(pd.DataFrame({"a": [1, "x"]}))
    with pytest.raises(RecordsError, match="there are no records"):
        read_table(pa.table({"a": pa.array([], pa.string())}))


texts = hs.text(min_size=1, max_size=5)


@given(
    hs.lists(texts, min_size=1, max_size=3, unique=True).flatmap(
        lambda names: hs.lists(
            hs.fixed_dictionaries({name: hs.none() | texts for name in names}),
            min_size=1,
            max_size=4,
        )
    )
)
def test_any_text_survives_a_csv_file(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    table = pa.Table.from_pylist(rows, schema=pa.schema([(name, pa.string()) for name in rows[0]]))
    arrow_csv.write_csv(table, path)
    assert read_table(path).equals(table)


@given(hs.binary(max_size=60), hs.sampled_from(["csv", "tsv", "parquet", "arrow", "csv.gz"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("any") / f"data.{ending}"
    path.write_bytes(content)
    try:
        n_rows, file = read_table(path).num_rows, str(path)
    except InputError as error:
        n_rows, file = 1, error.file
    assert n_rows > 0
    assert file == str(path)
