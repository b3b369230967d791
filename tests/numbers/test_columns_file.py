"""Columns of numbers from files, and tables written back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from showthrough.errors import InputError, RecordsError
from showthrough.frames import read_table
from showthrough.numbers.columns_file import read_numbers, write_table


def write(folder: Path, text: str, name: str = "n.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


class TestReading:
    def test_text_and_binary_files_agree(self, tmp_path: Path) -> None:
        text = write(tmp_path, "a,b,c\n 1 ,x,2.5\n-3e2,y,4\n")
        binary = tmp_path / "n.parquet"
        pq.write_table(pa.table({"a": [1, -300], "b": ["x", "y"], "c": pa.array([2.5, 4.0])}), binary)
        for path in (text, binary):
            found = read_numbers(path, ["c", "a"])
            assert found.columns == ("c", "a")
            assert found.matrix.tolist() == [[2.5, 1.0], [4.0, -300.0]]
            assert len(found) == 2

    def test_other_number_types(self, tmp_path: Path) -> None:
        path = tmp_path / "n.parquet"
        small = pa.array([1, 2], pa.int8())
        pq.write_table(
            pa.table({"a": small, "b": pa.array([1.5, 2.5], pa.float32()), "c": small.dictionary_encode()}),
            path,
        )
        assert read_numbers(path, ["a", "b", "c"]).matrix.tolist() == [[1, 1.5, 1], [2, 2.5, 2]]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a\n1\n\n", r"n.csv, row 2, column a: the value is missing"),
            ("a\n1\nnan\n", r"n.csv, row 2, column a: the value is not finite \(found 'nan'\)"),
            ("a\n1\n-inf\n", r"n.csv, row 2, column a: the value is not finite \(found '-inf'\)"),
            ("a\n1\n12a\n", r"n.csv, row 2, column a: the value is not a number \(found '12a'\)"),
            ("a\n1,5\n2,5\n", r"row 1.*2 fields"),
            ("a\n1\n", r"n.csv: at least 2 records are needed"),
            ("a\n", r"there are no records"),
            ("b\n1\n2\n", r"column a: no such column"),
        ],
    )
    def test_bad_files(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(RecordsError, match=message):
            read_numbers(write(tmp_path, text), ["a"])

    def test_no_numbers_at_all(self, tmp_path: Path) -> None:
        path = tmp_path / "n.parquet"
        pq.write_table(pa.table({"a": pa.array([None, 1.0]), "d": pa.array([1, 2], pa.date32())}), path)
        with pytest.raises(RecordsError, match="row 1, column a: the value is missing"):
            read_numbers(path, ["a"])
        with pytest.raises(RecordsError, match="column d: the column is not numeric"):
            read_numbers(path, ["d"])

    def test_columns(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a\n1\n2\n")
        with pytest.raises(RecordsError, match="no column was named"):
            read_numbers(path, [])
        with pytest.raises(RecordsError, match="named twice"):
            read_numbers(path, ["a", "a"])


class TestWriting:
    @pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
    def test_other_columns_stay(self, tmp_path: Path, ending: str) -> None:
        path = write(tmp_path, 'id,a,b\n01,1,"x, ""y"""\n02,2,\n03,3,a\tb\n')
        found = read_numbers(path, ["a"], whole=True)
        out = tmp_path / f"out{ending}"
        write_table(out, found.replaced(found.matrix + 0.25))
        back = read_table(out)
        assert back["id"].to_pylist() == ["01", "02", "03"]
        assert back["b"].to_pylist() == ['x, "y"', None, "a\tb"]
        assert read_numbers(out, ["a"]).matrix.ravel().tolist() == [1.25, 2.25, 3.25]

    def test_plain_text_is_not_quoted(self, tmp_path: Path) -> None:
        out = tmp_path / "out.csv"
        write_table(out, pa.table({"id": ["01", "a b"], "a": [1.5, 0.1]}))
        assert out.read_text("utf-8") == "id,a\n01,1.5\na b,0.1\n"

    def test_both_ways_to_write_agree(self, tmp_path: Path) -> None:
        numbers = np.random.default_rng(1).normal(0, 1e6, 500)
        for name, texts in (("plain", ["x"] * 500), ("quoted", ['"'] * 500)):
            write_table(tmp_path / f"{name}.csv", pa.table({"a": numbers, "t": texts}))
            with (tmp_path / f"{name}.csv").open(newline="") as stream:
                rows = list(csv.DictReader(stream))
            assert [float(row["a"]) for row in rows] == numbers.tolist()

    def test_nothing_is_told_about_the_original(self, tmp_path: Path) -> None:
        path = tmp_path / "n.parquet"
        told = pa.schema([pa.field("a", pa.float64(), metadata={"mean": "1.5"})], metadata={"min": "1"})
        pq.write_table(pa.table({"a": [1.0, 2.0]}, schema=told), path)
        found = read_numbers(path, ["a"], whole=True)
        table = found.replaced(found.matrix)
        assert table.schema.metadata is None
        assert table.schema.field("a").metadata is None

    def test_refusals(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"unsupported file extension .*'.txt'"):
            write_table(tmp_path / "out.txt", pa.table({"a": [1]}))
        with pytest.raises(InputError, match="cannot be written as text"):
            write_table(tmp_path / "out.csv", pa.table({"a": [[1]]}))
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(InputError, match="only some columns"):
            read_numbers(write(tmp_path, "a\n1\n2\n"), ["a"]).replaced(np.zeros((2, 1)))
