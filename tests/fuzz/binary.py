"""Parquet, Arrow and Feather: what Arrow reads is what we read, in plain types, or it is refused."""

from __future__ import annotations

import datetime
import io
import math
import zlib
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind, Outcome, attempt, limited, patched
from fuzz.mutate import change_bytes
from showthrough.errors import RecordsError
from showthrough.files import Limits
from showthrough.frames import Source, content, iter_tables, plain_texts, read_column_names, read_table
from showthrough.microdata.groups import Groups
from showthrough.numbers.columns_file import read_numbers

__all__ = ["KINDS"]

LIMITS = Limits(cell=48)

_NOON = datetime.datetime(2024, 2, 29, 12)
TEXTS: tuple[Any, ...] = ("x", "y", "", None, "01", "é", "a\nb", "k" * 47, "\x00", "z" * 48)
NUMBERS: tuple[Any, ...] = (0, 1, -1, None, 127, 5)
DECIMALS: tuple[Any, ...] = (0.0, -0.0, 1.5, float("nan"), float("inf"), None, 2.0**53, 1e300, 3.0)
TYPES: tuple[tuple[pa.DataType, tuple[Any, ...]], ...] = (
    *((kind, TEXTS) for kind in (pa.string(), pa.string(), pa.large_string(), pa.string_view())),
    *(
        (kind, (b"x", b"", None, b"\xff", b"y"))
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    ),
    (pa.binary(2), (b"ab", b"cd", None, b"\xff\xfe")),
    *((kind, NUMBERS) for kind in (pa.int8(), pa.int32(), pa.int64())),
    *((kind, (0, 1, None, 255)) for kind in (pa.uint8(), pa.uint64())),
    *((kind, DECIMALS) for kind in (pa.float64(), pa.float32(), pa.float16())),
    (pa.bool_(), (True, False, None)),
    (pa.null(), (None,)),
    (pa.decimal128(10, 2), (Decimal("1.50"), Decimal("-0.00"), None)),
    (pa.decimal256(40, 3), (Decimal("1.5"), None)),
    (pa.date32(), (_NOON.date(), None)),
    (pa.date64(), (_NOON.date(), None)),
    (pa.time32("s"), (_NOON.time(), None)),
    (pa.time64("us"), (_NOON.time(), None)),
    (pa.timestamp("us"), (_NOON, None)),
    (pa.timestamp("ns", "UTC"), (_NOON, None)),
    (pa.duration("s"), (datetime.timedelta(1), None)),
    (pa.list_(pa.int8()), ([1], [], None)),
    (pa.large_list(pa.string()), (["x"], None)),
    (pa.struct([("x", pa.int8())]), ({"x": 1}, None)),
    (pa.map_(pa.string(), pa.int8()), ([("x", 1)], None)),
    (pa.dictionary(pa.int8(), pa.string()), ("x", "y", None)),
    (pa.dictionary(pa.int32(), pa.large_string()), ("x", None)),
    (pa.dictionary(pa.int16(), pa.int64()), (1, 2, None)),
    (pa.dictionary(pa.int8(), pa.float64()), (1.0, -0.0, None)),
)
NAMES = ("a", "b", "c", "a", "", " ", "é", "x.y", "a\nb", "k" * 70)


def make_table(dice: Dice) -> pa.Table:
    """A table of any types."""
    n_rows, columns, names = dice.of((0, 1, 2, 3, 6, 12)), list[Any](), list[str]()
    for at in range(dice.of((1, 1, 2, 2, 3, 0 if dice.one_in(6) else 1))):
        kind, pool = dice.of(TYPES)
        values = [dice.of(pool) for _ in range(n_rows)]
        columns.append(_column(values, kind))
        names.append(dice.of(NAMES) if dice.one_in(8) else "abc"[at])
    table = pa.Table.from_arrays(columns, names=names)
    if n_rows > 1 and dice.one_in(3):
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    if dice.one_in(4):
        table = table.replace_schema_metadata(
            {dice.of(("pandas", "x", "ARROW:schema")): dice.of(("{}", "", "[" * 99))}
        )
    return table


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind == pa.float16():
        return pa.array([None if one is None else np.float16(min(one, 6e4)) for one in values], kind)
    return pa.array(values, kind)


def make_parquet(dice: Dice) -> bytes:
    """A Parquet file, often with wrong bytes."""
    stream, table = io.BytesIO(), make_table(dice)
    try:
        pq.write_table(
            table,
            stream,
            row_group_size=dice.of((1, 2, 1000)),
            compression=dice.of(("none", "zstd", "snappy", "gzip")),
            use_dictionary=not dice.one_in(3),
            data_page_version=dice.of(("1.0", "2.0")),
            write_statistics=not dice.one_in(3),
            store_schema=not dice.one_in(3),
        )
    except (pa.ArrowException, ValueError):  # not every type has a place in Parquet
        return b"PAR1"
    return _changed(stream.getvalue(), dice)


def make_arrow(dice: Dice) -> bytes:
    """An Arrow file, stream or Feather file, often with wrong bytes."""
    stream, table, way = io.BytesIO(), make_table(dice), dice.below(4)
    try:
        if way < 2:
            made = (pa.ipc.new_file, pa.ipc.new_stream)[way]
            options = pa.ipc.IpcWriteOptions(compression=dice.of((None, None, "zstd", "lz4")))
            with made(stream, table.schema, options=options) as writer:
                writer.write_table(table, max_chunksize=dice.of((1, 1000)))
        else:
            feather.write_feather(table, stream)
    except (pa.ArrowException, ValueError):
        return b"ARROW1"
    data = _changed(stream.getvalue(), dice)
    return b"FEA1" + data + b"FEA1" if dice.one_in(60) else data  # as the first version begins and ends


def _changed(data: bytes, dice: Dice) -> bytes:
    for _ in range(dice.of((0, 0, 0, 1, 1, 2, 4))):
        if dice.one_in(2):  # what a file says about itself is at its end
            cut = max(0, len(data) - dice.of((8, 64, 512)))
            data = data[:cut] + change_bytes(data[cut:], dice)
        else:
            data = change_bytes(data, dice)
    return data


def check(data: bytes, folder: Path, ending: str) -> str | None:
    """Read a file at once and in pieces, beside Arrow."""
    path = folder / f"table{ending}"
    path.write_bytes(data)
    meant = _meant(data, ending)
    with limited(LIMITS):
        whole = attempt(lambda: read_table(path), file=path)
        _compare(whole, meant)
        with patched((content, "HELD", 0)):
            pieces = attempt(lambda: _in_pieces(path), file=path)
        if (whole.error is None) != (pieces.error is None):
            raise Fault(f"not refused alike: {whole.words!r}, {pieces.words!r}")
        _compare(pieces, meant)
        every = zlib.crc32(data) % 8
        if not _n_columns(path):
            return whole.words
        if every == 0:
            _check_use(path, whole, lambda: Groups.read(path, sensitive=read_column_names(path)[-1:]))
        elif every == 1:
            _check_use(path, whole, lambda: read_numbers(path, read_column_names(path), least=1))
    return whole.words


def _in_pieces(path: Path) -> pa.Table:
    source = Source.of(path)
    tables = [plain_texts(chunk.table) for chunk in source.chunks(rows=2)]
    if not tables:
        raise source.no_records()
    for _ in iter_tables(source, source.names, error=RecordsError):
        pass
    return pa.concat_tables(tables)


def _n_columns(path: Path) -> int:
    found = attempt(lambda: read_column_names(path), file=path)
    return 1 if found.error is not None else len(found.value)


def _check_use(path: Path, whole: Outcome, use: Any) -> None:
    found = attempt(use, file=path if whole.error is not None else None)
    if whole.error is not None and found.error is None:
        raise Fault(f"used, though it cannot be read: {whole.words}")


def _meant(data: bytes, ending: str) -> dict[str, list[Any]] | str | None:
    """What Arrow reads in plain types; a word if it must be refused, None if it may be."""
    try:
        table = _read(data, ending)
        table.validate(full=True)
        values = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, ValueError, ArithmeticError, KeyError):
        return None
    if len(set(table.column_names)) < table.num_columns:
        return "two columns"
    if not table.num_columns or not table.num_rows:
        return "no records"
    found: dict[str, list[Any]] = {}
    for name, column, kind in zip(table.column_names, values, table.schema.types, strict=True):
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(inner):
            return "as text"
        if pa.types.is_duration(inner) or pa.types.is_null(inner) or "view" in str(inner):
            return None
        try:
            found[name] = [_plain(value, inner) for value in column]
        except UnicodeDecodeError:
            return "as text"
        if any(isinstance(value, str) and len(value.encode()) > (LIMITS.cell or 0) for value in found[name]):
            return None  # which of the values is looked at depends on how they are written
    return found


def _read(data: bytes, ending: str) -> pa.Table:
    if ending == ".parquet":
        return pq.ParquetFile(pa.BufferReader(data), pre_buffer=False).read(use_threads=False)
    try:
        return pa.ipc.open_file(data).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(data).read_all()


def _plain(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if value is not None and pa.types.is_floating(kind):
        number = float(value)
        return None if math.isnan(number) else number + 0.0
    return value


def _compare(found: Outcome, meant: dict[str, list[Any]] | str | None) -> None:
    if isinstance(meant, str) and (found.words is None or meant not in found.words):
        raise Fault(f"it should be refused ({meant}): {found.words or found.value}")
    if not isinstance(meant, dict):
        return
    if found.error is not None:
        if "damaged" not in str(found.words):
            raise Fault(f"refused though Arrow reads it: {found.words}")
        return
    values = {
        name: [_signed(one) for one in found.value[name].to_pylist()] for name in found.value.column_names
    }
    if values != {name: [_signed(one) for one in column] for name, column in meant.items()}:
        raise Fault(f"read as {values}, not as {meant}")


def _signed(value: Any) -> Any:
    """Zeros that differ in sign are different here."""
    return ("float", math.copysign(1, value), value) if isinstance(value, float) else value


KINDS = (
    Kind("parquet", make_parquet, partial(check, ending=".parquet"), 3),
    Kind("arrow", make_arrow, partial(check, ending=".arrow"), 4),
)
