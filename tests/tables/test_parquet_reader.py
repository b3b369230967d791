"""The checker's reader of Parquet files: equal to Arrow's, and no damaged file is accepted."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needs import SLOW
from showthrough.tables.proof import pages, parquet, thrift
from showthrough.tables.proof.failure import Unreadable
from showthrough.tables.proof.pages import ColumnShape, DataPage, read_dictionary, read_page, read_values
from showthrough.tables.proof.parquet import NUMBER, NUMBERS, TEXT, TEXTS, read_rows
from showthrough.tables.proof.thrift import read_struct, varint

COLUMNS = {"t": TEXT, "n": NUMBER, "ts": TEXTS, "ns": NUMBERS}
SCHEMA = pa.schema(
    [
        ("x", pa.float64()),
        ("t", pa.string()),
        ("ns", pa.list_(pa.int64())),
        ("n", pa.int64()),
        ("ts", pa.list_(pa.string())),
    ]
)
GZIP: dict[str, Any] = {"compression": "gzip"}
TEXTUAL, NUMERIC = ColumnShape(True, False, 0, 0), ColumnShape(False, False, 0, 0)


def random_table(dice: random.Random) -> pa.Table:
    """Few rows or many, with texts and numbers that repeat or do not, and lists of them."""

    def word() -> str:
        return "".join(dice.choice('aé漢"\0') for _ in range(dice.randrange(6)))

    n, repeat = dice.choice([0, 1, 2, 7, 8, 9, 64, 300]), dice.random() < 0.5
    pool = [word() for _ in range(dice.choice([1, 2, 5, 300]))]
    text: Callable[[], Any] = (lambda: dice.choice(pool)) if repeat else word
    ends = (-(2**63), 2**63 - 1, 0, 7)
    number: Callable[[], Any] = (
        (lambda: dice.choice(ends)) if repeat else lambda: dice.randrange(-(2**63), 2**63)
    )
    made: dict[str, Any] = {"x": [dice.random() for _ in range(n)]}
    for name, one in (("t", text), ("n", number)):
        made[name] = [one() for _ in range(n)]
        made[name + "s"] = [[one() for _ in range(dice.choice([0, 0, 1, 2, 9]))] for _ in range(n)]
    return pa.table(made, schema=SCHEMA if dice.random() < 0.7 else required(dice.random() < 0.5))


def required(inner: bool) -> pa.Schema:
    """Columns in which Arrow allows no missing value."""
    kinds = {
        field.name: pa.list_(pa.field("one", field.type.value_type, inner))
        if pa.types.is_list(field.type)
        else field.type
        for field in SCHEMA
    }
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


def written(table: pa.Table, path: Path, dice: random.Random) -> Path:
    """The table in a file, stored in one of many ways; all of it stands under a checksum."""
    version: Any = dice.choice(["1.0", "2.0"])
    codec: Any = dice.choice(["gzip", "gzip", "none"])
    pq.write_table(
        table,
        path,
        compression=codec,
        data_page_version=version,
        use_dictionary=dice.random() < 0.7,
        row_group_size=dice.choice([None, 1, 10, 100]) if table.num_rows < 100 else None,
        data_page_size=dice.choice([1, 64, 1000, 2**20]),
        dictionary_pagesize_limit=dice.choice([10, 1000, 2**20]),
        write_page_checksum=codec == "none" or version == "2.0" or dice.random() < 0.5,
        write_statistics=dice.random() < 0.5,
    )
    return path


def refused(read: Callable[[], object]) -> str:
    """What the reader says against it; nothing if it is content."""
    try:
        read()
    except (ValueError, LookupError, zlib.error) as error:
        return repr(error)
    return ""


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in table.to_pylist()]


@pytest.mark.parametrize("seed", range(400 if SLOW else 30))
def test_it_reads_what_arrow_wrote_and_nothing_damaged(seed: int, tmp_path: Path) -> None:
    """Random tables; then bytes are flipped or cut off: an error, or the same rows."""
    dice = random.Random(seed)  # noqa: S311
    table = random_table(dice)
    path = written(table, tmp_path / "table.parquet", dice)
    expected, whole = rows_of(table), path.read_bytes()
    assert list(read_rows(path, COLUMNS)) == expected
    for _ in range(15 if SLOW else 4):
        broken = bytearray(whole)
        if dice.random() < 0.1:
            del broken[dice.randrange(len(broken)) :]
        else:
            broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        path.write_bytes(broken)
        with suppress(Unreadable):
            assert list(read_rows(path, COLUMNS)) == expected


class TestFiles:
    def told(self, path: Path, columns: dict[str, str] | None = None) -> str:
        with pytest.raises(Unreadable) as told:
            list(read_rows(path, columns or {"t": TEXT}))
        assert str(told.value).startswith(f"{path}: ")
        return str(told.value)

    def file(self, tmp_path: Path, values: Any, kind: pa.DataType | None = None, **how: Any) -> Path:
        path = tmp_path / "file.parquet"
        pq.write_table(pa.table({"t": pa.array(values, kind)}), path, **(GZIP | how))
        return path

    def test_other_files(self, tmp_path: Path) -> None:
        path = tmp_path / "none.parquet"
        assert "No such file" in self.told(path)
        for content in (b"", b"PAR1", b"PAR1" * 3, b"PAR1" + bytes(4) + b"PARE", b"x" * 100):
            path.write_bytes(content)
            self.told(path)
        good = self.file(tmp_path, ["a"]).read_bytes()
        for at in (0, len(good) - 1):  # the name of the format, at both ends
            path.write_bytes(good[:at] + b"?" + good[at + 1 :])
            assert "no Parquet file" in self.told(path)
        size = int.from_bytes(good[-8:-4], "little")
        for length in (size + 1, size - 1, len(good), 2**32 - 1):
            path.write_bytes(good[:-8] + length.to_bytes(4, "little") + b"PAR1")
            self.told(path)
        path.write_bytes(good[:-8] + b"\x00" + (size + 1).to_bytes(4, "little") + b"PAR1")
        assert "does not end where it says" in self.told(path)

    @pytest.mark.parametrize("codec", ["zstd", "snappy", "brotli", "lz4"])
    def test_other_compressions(self, codec: str, tmp_path: Path) -> None:
        told = self.told(self.file(tmp_path, ["a"], compression=codec))
        assert re.search(rf"compressed with {codec}, not with gzip; showthrough verify reads it", told, re.I)

    @pytest.mark.parametrize(
        "kind",
        [pa.int64(), pa.binary(), pa.list_(pa.string()), pa.float64(), pa.bool_(), pa.int32()],
        ids=str,
    )
    def test_other_types(self, kind: pa.DataType, tmp_path: Path) -> None:
        assert "column 't' does not hold texts" in self.told(self.file(tmp_path, [], kind))

    @pytest.mark.parametrize(
        "kind",
        [
            *(pa.uint64(), pa.timestamp("ms"), pa.timestamp("ns"), pa.time64("ns"), pa.decimal128(12, 2)),
            *(pa.int32(), pa.string(), pa.struct([("a", pa.int64())])),
        ],
        ids=str,
    )
    def test_other_numbers(self, kind: pa.DataType, tmp_path: Path) -> None:
        """A column that says something else about its 64 bits is no column of whole numbers."""
        told = self.told(self.file(tmp_path, [], kind), {"t": NUMBER})
        assert "column 't' does not hold whole numbers" in told

    @pytest.mark.parametrize(
        "kind",
        [
            pa.list_(pa.list_(pa.int64())),
            pa.struct([("a", pa.int64())]),
            pa.struct([("a", pa.struct([("b", pa.int64())]))]),
            pa.map_(pa.string(), pa.int64()),
            pa.list_(pa.uint64()),
        ],
        ids=str,
    )
    def test_other_lists(self, kind: pa.DataType, tmp_path: Path) -> None:
        self.told(self.file(tmp_path, [], kind), {"t": NUMBERS})

    def test_missing_values_and_columns(self, tmp_path: Path) -> None:
        assert "a value is missing" in self.told(self.file(tmp_path, ["a", None]))
        for values in ([["a"], None], [["a", None]], [[], None]):
            path = self.file(tmp_path, values, pa.list_(pa.string()))
            assert "a value is missing" in self.told(path, {"t": TEXTS})
        assert "there are 0 columns 'u'" in self.told(path, {"u": TEXT})
        pq.write_table(
            pa.table([pa.array(["a"]), pa.array(["b"])], names=["t", "t"]), path, compression="gzip"
        )
        assert "there are 2 columns 't'" in self.told(path)

    @pytest.mark.parametrize(("outer", "inner"), [(False, True), (True, False), (False, False)])
    def test_lists_in_which_nothing_may_be_missing(self, outer: bool, inner: bool, tmp_path: Path) -> None:
        path, values = tmp_path / "file.parquet", [[], ["a", "b"], [], ["c"]]
        kind = pa.list_(pa.field("one", pa.string(), nullable=inner))
        schema = pa.schema([pa.field("t", kind, nullable=outer)])
        pq.write_table(pa.table({"t": values}, schema=schema), path, compression="gzip")
        assert [found for (found,) in read_rows(path, {"t": TEXTS})] == values

    @pytest.mark.parametrize("codec", ["gzip", "none"])
    @pytest.mark.parametrize("version", ["1.0", "2.0"])
    def test_both_kinds_of_pages(self, version: Any, codec: Any, tmp_path: Path) -> None:
        path = tmp_path / "file.parquet"
        values: dict[str, Any] = {
            "t": [f"text {n % 7}" for n in range(40)],
            "n": list(range(40)),
            "ts": [[f"{n}"] * (n % 4) for n in range(40)],
            "ns": [[n] * (n % 3) for n in range(40)],
        }
        pq.write_table(pa.table(values), path, compression=codec, data_page_version=version)
        assert list(read_rows(path, COLUMNS)) == list(zip(*values.values(), strict=True))

    def test_columns_among_others(self, tmp_path: Path) -> None:
        """Columns of columns before and between those that are asked for."""
        path = tmp_path / "file.parquet"
        pair = {"a": [1, 2], "b": {"c": "x"}}
        table = pa.table({"p": [pair, pair], "t": ["1", "2"], "q": [pair, pair], "n": [3, 4]})
        pq.write_table(table, path, compression="gzip")
        assert list(read_rows(path, {"n": NUMBER, "t": TEXT})) == [(3, "1"), (4, "2")]

    def test_groups_of_rows_one_after_the_other(self, tmp_path: Path) -> None:
        path = self.file(tmp_path, [str(n) for n in range(10)], row_group_size=3)
        assert [text for (text,) in read_rows(path, {"t": TEXT})] == list("0123456789")

    def test_rows_come_before_the_file_is_read_to_its_end(self, tmp_path: Path) -> None:
        """A damaged end is met only when it is reached."""
        path = self.file(
            tmp_path, [f"{n:06d}" for n in range(4000)], use_dictionary=False, row_group_size=2000
        )
        whole = bytearray(path.read_bytes())
        second = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
        whole[second + 200] ^= 1
        path.write_bytes(whole)
        rows = read_rows(path, {"t": TEXT})
        assert [next(rows)[0] for _ in range(2000)][-1] == "001999"
        with pytest.raises(Unreadable):
            next(rows)

    def test_columns_of_different_groups(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two rows of one column beside three of the other."""
        path, real = tmp_path / "file.parquet", parquet.read_footer
        table = pa.table({"t": list("abcde"), "n": range(5)})
        with pq.ParquetWriter(path, table.schema, compression="gzip") as writer:
            writer.write_table(table[:2])
            writer.write_table(table[2:])

        def footer(file: Any) -> dict[int, Any]:
            found = real(file)
            first, second = found[4]
            first[1][1], second[3] = second[1][1], 3
            return found

        monkeypatch.setattr(parquet, "read_footer", footer)
        self.told(path, {"t": TEXT, "n": NUMBER})
        self.told(path, {"n": NUMBER, "t": TEXT})

    def test_columns_of_different_lengths(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = self.file(tmp_path, ["a", "b"])
        real = parquet.read_footer

        def other(change: Callable[[dict[int, Any]], None]) -> str:
            def footer(file: Any) -> dict[int, Any]:
                found = real(file)
                change(found)
                return found

            monkeypatch.setattr(parquet, "read_footer", footer)
            return self.told(path)

        assert "more or fewer rows than it says" in other(lambda said: said.update({3: 1}))
        assert "a column has 2 rows, not 3" in other(
            lambda said: (said.update({3: 3}), said[4][0].update({3: 3}))[0]
        )
        for n in (1, 3):
            told = other(lambda said, n=n: said[4][0][1][0][3].update({5: n}))
            assert "more or fewer values than it says" in told
        for change in (-1, 1):
            other(lambda said, by=change: said[4][0][1][0][3].update({7: said[4][0][1][0][3][7] + by}))


class TestThrift:
    def test_numbers(self) -> None:
        assert varint(b"\x00", 0) == (0, 1)
        assert varint(b"?\x7f", 1) == (127, 2)
        assert varint(b"\x80\x01", 0) == (128, 2)
        assert varint(b"\xff" * 9 + b"\x01", 0) == (2**64 - 1, 10)
        for data in (b"", b"\x80", b"\xff" * 10 + b"\x01"):
            with pytest.raises(ValueError, match="number"):
                varint(data, 0)

    def test_every_kind_of_value(self) -> None:
        data = bytes.fromhex("111213071405150616071700000000000000001803616263192504061c15020005a0010400")
        assert read_struct(data, 0) == (
            {
                1: True,
                2: False,
                3: 7,
                4: -3,
                5: 3,
                6: -4,
                7: bytes(8),
                8: b"abc",
                9: [2, 3],
                10: {1: 1},
                80: 2,
            },
            len(data),
        )
        for end in range(len(data)):
            with pytest.raises(ValueError, match=r"ends within|longer than the data"):
                read_struct(data[:end], 0)

    def test_lists(self) -> None:
        long = b"\x19\xf5" + bytes([20]) + bytes(range(0, 40, 2)) + b"\x00"
        assert read_struct(long, 0) == ({1: list(range(20))}, len(long))
        flags = b"\x19\x21\x01\x02\x00"
        assert read_struct(flags, 0) == ({1: [1, 2]}, 5)
        with pytest.raises(ValueError, match="longer than the data"):
            read_struct(b"\x19\xf5\xff\xff\xff\xff\x0f\x00", 0)

    def test_what_is_malformed(self) -> None:
        for data, told in (
            (b"\x15\x02\x05\x02\x02\x00", "field 1 occurs twice"),
            (b"\x1b\x00", "type 11"),
            (b"\x1c" * 10_000, "too deep"),
            (b"\x19" * 10_000, "too deep"),
            (b"\x18\x05abc", "ends within a value"),
        ):
            with pytest.raises(ValueError, match=told):
                read_struct(data, 0)
        for n, is_right in ((thrift.DEEPEST + 1, True), (thrift.DEEPEST + 2, False)):
            nested = b"\x1c" * n + b"\x00" * (n + 1)
            lists = b"\x19" * n + b"\x05\x00"
            for data in (nested, lists):
                assert bool(refused(partial(read_struct, data, 0))) != is_right
        assert read_struct(b"\x08\xa0\x01\x01a\x08\xa2\x01\x01b\x00", 0)[0] == {80: b"a", 81: b"b"}


def packed(values: list[int], width: int) -> bytes:
    """Numbers of so many bits, lowest first, as a run of eights."""
    bits = "".join(f"{value:0{width}b}"[::-1] for value in values) if width else ""
    data = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    return bytes([len(values) // 8 << 1 | 1]) + data


class TestRuns:
    @pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 17, 31, 32])
    def test_runs_and_eights(self, width: int) -> None:
        dice = random.Random(width)  # noqa: S311
        eights = [dice.randrange(2**width) for _ in range(24)]
        top = 2**width - 1
        run = bytes([5 << 1]) + top.to_bytes((width + 7) // 8, "little")
        data = run + packed(eights, width)
        for n in (22, 23, 24):
            assert pages.read_runs(data, width, 5 + n).tolist() == [top] * 5 + eights[:n]
        assert pages.read_runs(data + run, width, 34).tolist() == [top] * 5 + eights + [top] * 5

    def test_what_does_not_fit(self) -> None:
        run, eight = bytes([5 << 1, 1]), packed([1] * 8, 1)
        assert pages.read_runs(run, 1, 5).tolist() == [1] * 5
        assert pages.read_runs(eight, 1, 1).tolist() == [1]
        assert pages.read_runs(b"", 0, 3).tolist() == [0, 0, 0]
        assert pages.read_runs(b"\x06", 0, 3).tolist() == [0, 0, 0]
        assert pages.read_runs(b"", 1, 0).tolist() == []
        fit, more = "do not fit", "more numbers, or larger ones"
        for data, width, n, told in (
            (run, 1, 4, fit),  # longer than it should be
            (run, 1, 6, "ends within a number"),
            (run + run, 1, 9, fit),
            (run + b"\x00", 1, 5, more),
            (eight, 1, 0, more),
            (eight, 1, 9, "ends within a number"),
            (packed([1] * 16, 1), 1, 8, fit),
            (b"\x00\x01", 1, 1, fit),  # none at all
            (b"\x01", 1, 1, fit),
            (bytes([5 << 1]), 1, 5, fit),  # cut off
            (eight[:-1], 1, 8, fit),
            (bytes([5 << 1, 2]), 1, 5, more),  # more bits than there are
            (bytes([5 << 1]) + bytes(5), 33, 5, "numbers of 33 bits"),
            (b"\x00", 0, 1, fit),
            (b"", 1, 1, "ends within a number"),
        ):
            assert told in refused(partial(pages.read_runs, data, width, n))


class TestPages:
    def test_texts_and_numbers(self) -> None:
        texts = b"\x01\x00\x00\x00a\x00\x00\x00\x00\x02\x00\x00\x00\xc3\xa9"
        assert pages.read_plain(texts, 3, TEXTUAL) == ["a", "", "é"]
        numbers = np.array([1, -(2**63)], "<i8").tobytes()
        assert pages.read_plain(numbers, 2, NUMERIC) == [1, -(2**63)]
        for data, n, shape, told in (
            (texts, 2, TEXTUAL, "more texts than"),
            (texts, 4, TEXTUAL, "ends within a text"),
            (texts[:-1], 3, TEXTUAL, "ends within a text"),
            (b"\x00", 1, TEXTUAL, "ends within a text"),
            (b"\x01\x00\x00\x00\xff", 1, TEXTUAL, "UnicodeDecodeError"),
            (numbers, 1, NUMERIC, "more or fewer numbers"),
            (numbers, 3, NUMERIC, "more or fewer numbers"),
        ):
            assert told in refused(partial(pages.read_plain, data, n, shape))

    def test_bytes_before_they_were_compressed(self) -> None:
        data, none, gzip = b"abc" * 9, 0, 2
        small = zlib.compress(data, wbits=31)
        assert pages.inflate(data, 27, none) == pages.inflate(small, 27, gzip) == data
        assert pages.inflate(zlib.compress(b"", wbits=31), 0, gzip) == b""
        for body, size, codec in (
            (data, 26, none),
            (data, -1, none),
            (small, 26, gzip),
            (small, 28, gzip),
            (small[:-1], 27, gzip),
            (small + b"x", 27, gzip),
            (small + small, 27, gzip),
            (zlib.compress(data), 27, gzip),
            (b"", pages.LARGEST_PAGE + 1, none),
        ):
            assert refused(partial(pages.inflate, body, size, codec))
        for codec, name in ((1, "snappy"), (6, "zstd"), (8, "8"), (-1, "-1")):
            assert f"compressed with {name}, not" in refused(partial(pages.inflate, data, 27, codec))
        wrong = bytearray(small)
        wrong[-8] ^= 1  # its checksum
        assert refused(partial(pages.inflate, bytes(wrong), 27, gzip))

    def test_a_small_page_does_not_become_a_large_one(self) -> None:
        """What inflates to more than it says is given up early."""
        bomb = zlib.compress(bytes(2**20), wbits=31)
        for size in (0, 100):
            assert "not compressed as a whole" in refused(partial(pages.inflate, bomb, size, 2))
        for size in (-1, pages.LARGEST_PAGE + 1):
            assert "too large" in refused(partial(pages.inflate, bomb, size, 2))

    def test_bytes_that_repeat_what_is_far_back(self) -> None:
        far = 2 * random.Random(1).randbytes(30_000)  # noqa: S311
        assert pages.inflate(zlib.compress(far, wbits=31), 60_000, 2) == far

    def test_pages_that_are_not_compressed_although_the_column_is(self) -> None:
        numbers = np.array([1, 2], "<i8").tobytes()
        said: dict[int, Any] = {1: 2, 2: 0, 3: 2, 4: 0, 5: 0, 6: 0}
        for flag, body in (({7: False}, numbers), ({7: True}, zlib.compress(numbers, wbits=31))):
            page = DataPage({1: 3, 2: 16, 3: len(body), 8: said | flag}, body, 2)
            assert read_values(page, NUMERIC, None)[2] == [1, 2]
        assert read_values(DataPage({1: 3, 2: 16, 8: said}, body, 2), NUMERIC, None)[2] == [1, 2]

    def test_values_from_a_dictionary(self) -> None:
        shape, body = TEXTUAL, b"\x01" + packed([0, 1, 1, 0, 0, 0, 0, 0], 1)
        known = ["a", "b"]
        for encoding in (2, 8):
            assert pages.decode(body, encoding, 3, shape, known) == ["a", "b", "b"]
        assert pages.decode(b"", 8, 0, shape, known) == []
        for data, encoding, n, given in (
            (body, 8, 3, None),
            (body, 8, 3, ["a"]),
            (body, 8, 3, []),
            (b"\x01" + packed([0] * 8, 1), 8, 0, known),
            (body, 3, 3, known),
            (body, 5, 3, known),
            (b"", 8, 1, known),
        ):
            assert refused(partial(pages.decode, data, encoding, n, shape, given))

    def test_levels(self) -> None:
        """Three lists without values; and levels that are longer than their page."""
        ones = b"\x02\x00\x00\x00\x06"
        shape = ColumnShape(True, True, 2, 1)
        for body, is_right in ((ones + b"\x00" + ones + b"\x01", True), (ones + b"\x00" + ones, False)):
            page = DataPage({1: 0, 2: len(body), 5: {1: 3, 2: 0, 3: 3, 4: 3}}, body, 0)
            if is_right:
                goes_on, levels, values = read_values(page, shape, None)
                assert (goes_on.tolist(), levels.tolist(), values) == ([0] * 3, [1] * 3, [])
            else:
                assert "levels are longer" in refused(partial(read_values, page, shape, None))

    def test_other_pages(self) -> None:
        numbers = np.array([1, 2], "<i8").tobytes()
        said: dict[int, Any] = {1: 0, 2: 16, 3: 16, 5: {1: 2, 2: 0, 3: 3, 4: 3}}
        assert read_values(DataPage(said, numbers, 0), NUMERIC, None)[2] == [1, 2]
        assert read_dictionary(DataPage({1: 2, 2: 16, 7: {1: 2, 2: 2}}, numbers, 0), NUMERIC) == [1, 2]
        for change, told in (
            ({1: 1}, "a page of kind 1,"),
            ({5: {**said[5], 3: 4}}, "levels are stored"),
            ({5: {**said[5], 4: 4}}, "levels are stored"),
            ({5: {**said[5], 1: -1}}, "a page says -1 where"),
        ):
            page = DataPage({**said, **change}, numbers, 0)
            assert told in refused(partial(read_values, page, NUMERIC, None))
        for given, told in (
            ({1: 2, 2: 8}, "a dictionary has encoding 8"),
            ({1: 2**24 + 1, 2: 0}, "a number of up to 16,777,216 is expected"),
            ({1: None, 2: 0}, "a page says None where"),
        ):
            page = DataPage({1: 2, 2: 16, 7: given}, numbers, 0)
            assert told in refused(partial(read_dictionary, page, NUMERIC))

    def test_places(self, tmp_path: Path) -> None:
        """A page must lie in its place; its checksum, if it has one, must be right."""
        body = b"0123456789"
        for checksum, is_right in ((b"", True), (crc_field(zlib.crc32(body)), True), (crc_field(5), False)):
            header = b"\x15\x00\x15\x14\x15\x14" + checksum + b"\x00"
            path = tmp_path / "page"
            path.write_bytes(b"??" + header + body)
            end = 2 + len(header) + 10
            with path.open("rb") as file:
                if is_right:
                    page, at = read_page(file, 2, end, 0)
                    assert (page.body, at, page.is_dictionary) == (body, end, False)
                else:
                    with pytest.raises(ValueError, match="checksum"):
                        read_page(file, 2, end, 0)
                with pytest.raises(ValueError, match="longer than its place"):
                    read_page(file, 2, end - 1, 0)
            path.write_bytes(b"\x15\x00\x15\x00\x15\x00\x00")
            with path.open("rb") as file:
                assert read_page(file, 0, 7, 0)[0].body == b""
            path.write_bytes(b"??" + header + body[:-1])
            with path.open("rb") as file, pytest.raises(ValueError, match="ends within a page"):
                read_page(file, 2, end, 0)


def crc_field(value: int) -> bytes:
    """Field 4 of a header: a number of 32 bits with a sign."""
    signed = value - 2**32 if value >= 2**31 else value
    zigzag, data = (signed << 1) ^ (signed >> 31), b""
    while zigzag > 127:
        data, zigzag = data + bytes([zigzag & 127 | 128]), zigzag >> 7
    return b"\x15" + data + bytes([zigzag])


class TestLists:
    def read(self, *found: tuple[list[int], list[int], list[Any]], empty: int = 1) -> list[list[Any]]:
        """Lists from pages: what goes on, the levels (2 is a value), the values."""
        pages = ((np.array(a), np.array(b), c) for a, b, c in found)
        return list(parquet.read_lists(pages, ColumnShape(True, True, 2, empty)))

    def test_lists_within_and_across_pages(self) -> None:
        assert self.read(([0, 1, 0, 0], [2, 2, 1, 2], ["a", "b", "c"])) == [["a", "b"], [], ["c"]]
        assert self.read(([0], [2], ["a"]), ([1, 1, 0], [2, 2, 1], ["b", "c"])) == [["a", "b", "c"], []]
        assert self.read(([0], [2], ["a"]), ([1], [2], ["b"]), ([1, 0], [2, 2], ["c", "d"])) == [
            ["a", "b", "c"],
            ["d"],
        ]
        assert self.read(([0, 0], [1, 1], []), ([0], [2], ["a"])) == [[], [], ["a"]]
        assert self.read(([], [], [])) == self.read() == []

    def test_what_is_malformed(self) -> None:
        for found in (
            [([1], [2], ["a"])],  # has not begun
            [([0], [1], []), ([1], [2], ["a"])],  # has no values, and goes on
            [([0, 1], [1, 2], ["a"])],
            [([0, 1], [2, 1], ["a"])],
            [([0], [0], [])],  # missing
            [([0], [3], [])],
        ):
            assert refused(partial(self.read, *found))
