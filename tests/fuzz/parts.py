"""Tables in several files: the rows of all of them, one file after the other, or refused by name."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind, Outcome, attempt, check_words
from fuzz.words import clean
from showthrough.errors import RecordsError
from showthrough.frames import Source, iter_tables, plain_texts, read_table
from showthrough.microdata.groups import Groups

__all__ = ["KINDS"]

_DAY = datetime.date(2024, 2, 29)
TYPES: tuple[tuple[pa.DataType, tuple[Any, ...]], ...] = (
    (pa.string(), ("x", "y", None, "")),
    (pa.string(), ("x", "y", None, "")),
    (pa.large_string(), ("x", None)),
    (pa.dictionary(pa.int8(), pa.string()), ("x", "z", None)),
    (pa.int32(), (1, -1, None)),
    (pa.int64(), (1, 2**53 + 1, None, -(2**63))),
    (pa.uint64(), (1, 2**64 - 1)),
    (pa.float64(), (0.5, -0.0, 1e300, float("nan"), None)),
    (pa.float32(), (0.5, None)),
    (pa.bool_(), (True, False)),
    (pa.date32(), (_DAY, datetime.date(9999, 1, 1))),
    (pa.timestamp("ns"), (datetime.datetime(2024, 1, 1), None)),
    (pa.timestamp("s"), (datetime.datetime(9999, 1, 1), None)),
    (pa.decimal128(5, 2), (Decimal("1.50"), None)),
    (pa.decimal128(38, 0), (Decimal(10**37), None)),
    (pa.null(), (None,)),
    (pa.binary(), (b"x", b"\xff")),
    (pa.list_(pa.int8()), ([1], None)),
)
PLACES = (
    "", "", "", "sub/", "c=1/", "c=2/", "c=__HIVE_DEFAULT_PARTITION__/", "c=x%20y/d=1/", "a=1/", "=/", "c=/",
    "c=1/c=2/", "_x/", ".x/", "%FF=1/", "c=%FF/",
)  # fmt: skip
NAMES = (
    "0.parquet",
    "1.parquet",
    "2.parquet",
    "x[1].parquet",
    "0.csv",
    "_SUCCESS",
    ".x.parquet",
    "0.txt",
    "é.parquet",
)


def make(dice: Dice) -> bytes:
    """A file on each line: its path, and a column and its type on each side of it."""
    width, kinds = dice.of((1, 2)), [dice.below(len(TYPES)) for _ in range(2)]
    lines: list[list[Any]] = []
    for at in range(dice.of((1, 2, 2, 3))):
        columns = [["ab"[column], kinds[column]] for column in range(width)]
        if dice.one_in(3):
            columns[dice.below(width)][1] = dice.below(len(TYPES))
        if dice.one_in(12):
            columns[dice.below(width)][0] = dice.of(("a", "b", "c", ""))
        name = dice.of(NAMES) if dice.one_in(6) else f"{at}.parquet"
        lines.append(
            [
                dice.of(PLACES[:4] if dice.one_in(2) else PLACES) + name,
                columns,
                dice.of((0, 1, 2, 5)),
                dice.below(999),
            ]
        )
    return "\n".join(json.dumps(line) for line in lines).encode()


def check(data: bytes, folder: Path) -> str | None:
    """Write the files, and read them together and one by one."""
    clean(folder, keep=())
    root = folder / "parts"
    root.mkdir()
    try:
        for line in data.decode().splitlines():
            _write(root, *json.loads(line))
    except (ValueError, TypeError, LookupError, pa.ArrowException):
        return None  # no recipe
    whole = attempt(lambda: read_table(root))
    if whole.words is not None:
        check_words(whole.words, root)
    chunks = attempt(lambda: _chunks(root))
    if whole.words != chunks.words:
        raise Fault(f"refused with different words: {whole.words!r}, {chunks.words!r}")
    _compare(whole, root)
    if whole.error is None:
        attempt(lambda: Groups.read(root, sensitive=whole.value.column_names[-1]))
    return whole.words


def _write(root: Path, name: str, columns: list[Any], n_rows: int, seed: int) -> None:
    dice, path = Dice(seed), root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.resolve().is_relative_to(root.resolve()):
        raise ValueError(name)
    arrays = [
        pa.array([dice.of(TYPES[kind][1]) for _ in range(n_rows)], TYPES[kind][0]) for _, kind in columns
    ]
    if name.endswith(".csv"):
        rows = [
            ",".join(str(one) for one, _ in columns),
            *(",".join("x" for _ in columns) for _ in range(n_rows)),
        ]
        path.write_text("\n".join(rows) + "\n", "utf-8")
    else:
        pq.write_table(pa.Table.from_arrays(arrays, names=[str(one) for one, _ in columns]), path)


def _chunks(root: Path) -> pa.Table:
    source = Source.of(root)
    chunks = iter_tables(source, source.names, error=RecordsError)
    return pa.concat_tables([plain_texts(chunk.table) for chunk in chunks])


def _compare(found: Outcome, root: Path) -> None:
    """The rows are those of the files, read one by one."""
    if found.error is not None:
        return
    rows = list[dict[str, Any]]()
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        if path.is_dir() or any(part.startswith((".", "_")) for part in inside):
            continue
        alone = attempt(lambda path=path: read_table(path))
        if alone.error is not None:
            if "there are no records" not in str(alone.words):
                raise Fault(f"read together with others, but alone: {alone.words}")
            continue
        shared = dict(part.split("=", 1) for part in inside[:-1] if "=" in part)
        rows += [{**row, **dict.fromkeys(shared)} for row in alone.value.to_pylist()]
    names = [name for name in found.value.column_names if not rows or name in rows[0]]
    read = [{name: row[name] for name in names} for row in found.value.to_pylist()]
    if len(read) != len(rows):
        raise Fault(f"{len(read)} rows, not {len(rows)}")
    for one, other in zip(read, rows, strict=True):
        for name in names:
            if other[name] is not None and not _same(one[name], other[name]):
                raise Fault(f"{name}: read as {one[name]!r} with others, as {other[name]!r} alone")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, datetime.datetime) and type(other) is datetime.date:  # as the other files have it
        return one == datetime.datetime(other.year, other.month, other.day)
    return bool(one == other)


KINDS = (Kind("parts", make, check, 0.7),)
