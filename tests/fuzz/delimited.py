"""Delimited text, also compressed: every command reads it as the oracle does, whole or in blocks."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind, Outcome, attempt, limited, patched
from fuzz.mutate import change_bytes, change_tokens
from fuzz.oracle import Meant, Refused, number, read_delimited, unpack
from showthrough.engine import duck
from showthrough.errors import RecordsError
from showthrough.files import Limits
from showthrough.formats.records_file import open_records
from showthrough.frames import content, delimited, iter_tables, read_column_names, read_table
from showthrough.microdata.groups import Groups
from showthrough.numbers.columns_file import read_numbers

__all__ = ["KINDS"]

#: Small enough that small files reach them.
LIMITS = Limits(cell=48, unpacked=2**12, ratio=2)

#: Files are read in blocks of this size, and not kept.
BLOCKS = (content, "HELD", 0), (delimited, "BLOCK", 64)

PLAIN = (b"x", b"y", b"01", b"1", b"2", b"5-9", b"a b", b"", b"\xc3\xa9", b"none", b"3.5", b"-1")
NUMBERS = (
    b"1", b"-2", b"+3", b"1e5", b"1E-3", b".5", b"5.", b"0x1p3", b"1_0", b"nan", b"inf", b"-inf",
    b"Infinity", b"1,5", b" 7", b"8 ", b"\t9", b"1e999", b"-0.0", b"0.1", b"123456789012345678901",
    "１２".encode(), "−3".encode(), b"1e", b"e5", b".", b"-", b"4.9e-324", b"\xc2\xa05", b"1d5", b"1 0",
    b"0000000000000000000000000000000001",
)  # fmt: skip
ODD = (
    b'"', b'""', b'"x"', b'"x"y', b'x"y', b'x"', b'"x""y"', b'"x\ny"', b'"x\r\ny"', b'"x,y"', b'"x\ty"',
    b'" x"', b' "x"', b'"""', b'""""', b",", b"\t", b";", b"\n", b"\r", b"\r\n", b"\n\r", b"\n\n",
    b"\r\r", b"\r\n\r\n", b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xef\xbb",
    b"\xff\xfe", b" ", b"\xc2\xa0", b"\xc2\x85", b"\xe2\x80\xa8", b"\x0b", b"\x0c", b"\x1a", b"\x1c",
    b"a" * 47, b"b" * 48, b"c" * 49, b'"' + b"d" * 48 + b'"', b'"' + b"e" * 49 + b'"',
    b'"' + b'""' * 24 + b'"', b'"' + b'""' * 25 + b'"', b"f" * 130, b"a", b"A", b"#", b"'",
    "\u0430".encode(), b"\\", b'\\"', b"NULL", b"NA", b"null", b"=1+1", b"\xf4\x90\x80\x80",
    b"\xf0\x9f\xa7\xa8",
)  # fmt: skip
NAMES = (
    b"a",
    b"b",
    b"c",
    b"A",
    b" a",
    b"",
    b'""',
    b'"a"',
    b'"b,c"',
    b'"b\nc"',
    b"\xc3\xa9",
    b"a b",
    b'"q""q"',
)
LINE_ENDS = (b"\n", b"\r\n", b"\r")


def make(dice: Dice, separator: bytes = b",") -> bytes:
    """A table as text, with some things wrong with it, or none."""
    n_columns = dice.of((1, 1, 2, 2, 3, 4))
    names = list((b"a", b"b", b"c", b"d")[:n_columns])
    if dice.one_in(6):
        names[dice.below(n_columns)] = dice.of(NAMES)
    pool = NUMBERS if dice.one_in(4) else PLAIN
    if dice.one_in(4):
        pool = (*pool, dice.of(ODD))
    end = dice.of(LINE_ENDS)
    trailing = dice.one_in(8)
    tokens: list[bytes] = []
    for row in [names, *([dice.of(pool) for _ in names] for _ in range(dice.of((0, 1, 2, 3, 5, 8, 20))))]:
        for at, field in enumerate(row):
            if at:
                tokens.append(separator)
            tokens.append(b'"' + field + b'"' if dice.one_in(8) and b'"' not in field else field)
        if trailing:
            tokens.append(separator)
        tokens.append(dice.of(LINE_ENDS) if dice.one_in(20) else end)
    if dice.one_in(3):
        tokens.pop()
    for _ in range(dice.of((0, 0, 1, 1, 1, 2, 3))):
        tokens = change_tokens(tokens, dice, ODD)
    data = b"".join(tokens)
    if dice.one_in(12):
        data = b"\xef\xbb\xbf" + data
    if dice.one_in(10):
        data = change_bytes(data, dice, odd=ODD)
    if dice.one_in(80):
        data = data.decode("utf-8", "replace").encode(
            dice.of(("utf-16", "utf-16-le", "utf-32", "latin-1")), "replace"
        )
    return data


def make_packed(dice: Dice) -> bytes:
    """A compressed table, the bytes or the members of which may be wrong."""
    text = make(dice)
    if dice.one_in(12):
        text = text * dice.of((2, 40, 200))
    cut = dice.below(len(text) + 1)
    parts = [text[:cut], text[cut:]] if dice.one_in(3) else [text]
    data = b"".join(gzip.compress(part, dice.of((0, 1, 9)), mtime=0) for part in parts)
    way = dice.below(8)
    if way == 0:
        data += dice.of((b"\x00", b"\x00" * 9, b"x", b"\x1f", b"\x1f\x8b", b"a,b\n", data[:10]))
    elif way == 1:
        data = data[: dice.below(len(data) + 1)]
    elif way == 2:
        data = data[:-8] + dice.bytes(4) + data[-4:]
    elif way == 3:
        data = data[:-4] + dice.bytes(4)
    elif way in (4, 5):
        data = change_bytes(data, dice)
    elif way == 6 and dice.one_in(4):
        data = dice.of((text, zlib.compress(text), b"", b"\x1f\x8b"))
    return data


def check(data: bytes, folder: Path, ending: str) -> str | None:
    """Read a file in every way there is."""
    path = folder / f"table{ending}"
    path.write_bytes(data)
    meant = _meant(data, ending)
    every = zlib.crc32(data)  # what takes long is done with some of them
    with limited(LIMITS):
        whole = attempt(lambda: read_table(path), file=path)
        _compare("at once", whole, meant)
        with patched(*BLOCKS):
            blocks = attempt(lambda: read_table(path), file=path)
            _compare("in blocks", blocks, meant)
            _same_words(whole, blocks)
        if every % 8 == 0:
            _check_chunks(path, whole, meant)
        if every % 16 == 1 or not every:
            _check_groups(path, whole, meant, dense=every % 256 != 1)
        if every % 32 == 2 or not every:
            _check_records(path, whole, meant)
        if every % 8 == 3 or not every:
            _check_numbers(path, whole, meant)
    return whole.words


def _meant(data: bytes, ending: str) -> Meant | Refused:
    try:
        if ending.endswith(".gz"):
            data = unpack(data, most=LIMITS.most_unpacked(len(data)) or 0)
        return read_delimited(data, "\t" if ".tsv" in ending else ",", longest=LIMITS.cell)
    except Refused as refused:
        return refused


#: What is said about files that cannot be unpacked.
_UNPACKING = ("the file cannot be read:", "unpacks to more than")


def _compare(how: str, found: Outcome, meant: Meant | Refused) -> None:
    """What was read is what was meant, or what was refused had to be, because of the same row."""
    if isinstance(meant, Refused):
        if found.error is None:
            raise Fault(f"read {how}, though it should be refused ({meant}, row {meant.row})")
        if found.row != meant.row and str(meant) not in ("damaged", "cut off", "a bomb"):
            raise Fault(f"read {how}, refused for row {found.row}, not {meant.row} ({meant}): {found.words}")
        return
    if found.error is not None:
        raise Fault(f"read {how}, refused though nothing is wrong: {found.words}")
    names, columns = tuple(found.value.column_names), [one.to_pylist() for one in found.value.columns]
    if names != meant.names or columns != [list(column) for column in meant.columns]:
        raise Fault(f"read {how} as {dict(zip(names, columns, strict=False))}, not as {meant}")


def _same_words(one: Outcome, other: Outcome) -> None:
    if all(words and any(part in words for part in _UNPACKING) for words in (one.words, other.words)):
        return  # damaged and too large: which comes first depends on how much is read at a time
    if one.words != other.words:
        raise Fault(f"refused with different words: {one.words!r}, {other.words!r}")


def _check_chunks(path: Path, whole: Outcome, meant: Meant | Refused) -> None:
    names = meant.names if isinstance(meant, Meant) else None

    def read() -> pa.Table:
        chosen = names or read_column_names(path)
        return pa.concat_tables([chunk.table for chunk in iter_tables(path, chosen, error=RecordsError)])

    chunks = attempt(read, file=path)
    _compare("chunk by chunk", chunks, meant)
    _same_words(whole, chunks)


def _check_groups(path: Path, whole: Outcome, meant: Meant | Refused, *, dense: bool) -> None:
    """Counting all kinds of records, as ``publish`` does."""
    sensitive = meant.names[-1] if isinstance(meant, Meant) else None

    def read() -> Groups:
        return Groups.read(path, sensitive=sensitive or read_column_names(path)[-1])

    with patched(
        (duck, "DENSE", duck.DENSE if dense else -1), (duck, "SORTED", duck.SORTED if dense else -1)
    ):
        groups = attempt(read, file=path)
    if isinstance(meant, Refused):
        _same_words(whole, groups)
        return
    if None in meant.columns[-1]:
        if groups.words is None or "the sensitive value is missing" not in groups.words:
            raise Fault(f"a missing sensitive value was counted: {groups.words}")
        return
    if groups.error is not None:
        raise Fault(f"not counted: {groups.words}")
    found: Counter[tuple[str | None, ...]] = Counter()
    public, domain = groups.value.public.to_pylist(), groups.value.domain.to_pylist()
    counts = groups.value.counts.tocoo()
    for group, value, count in zip(
        counts.row.tolist(), counts.col.tolist(), counts.data.tolist(), strict=True
    ):
        found[*public[group].values(), *domain[value].values()] += count
    if found != Counter(zip(*meant.columns, strict=True)):
        raise Fault(f"counted as {found}, not as {meant}")


def _check_records(path: Path, whole: Outcome, meant: Meant | Refused) -> None:
    """Reading area by area, as ``audit`` does."""

    def read() -> int:
        stream = open_records(path, None, by=read_column_names(path)[0], columns=None, tolerant=False)
        with TemporaryDirectory(dir=path.parent) as scratch:
            return sum(len(records) for _, records in stream.areas(Path(scratch)))

    found = attempt(read, file=path)
    if isinstance(meant, Refused):
        _same_words(whole, found)
    elif found.error is None and found.value != meant.n_rows:
        raise Fault(f"{found.value} records by area, not {meant.n_rows}")


def _check_numbers(path: Path, whole: Outcome, meant: Meant | Refused) -> None:
    """Reading numbers, as ``attack`` does."""
    found = attempt(lambda: read_numbers(path, read_column_names(path), least=1), file=path)
    if isinstance(meant, Refused):
        _same_words(whole, found)
        return
    wanted = [[None if text is None else number(text) for text in column] for column in meant.columns]
    bad = any(one is None or one in (float("inf"), float("-inf")) for column in wanted for one in column)
    if found.error is None and (bad or found.value.matrix.T.tolist() != wanted):
        raise Fault(f"read as numbers {found.value.matrix.T.tolist()}, not {wanted}")
    if found.error is not None and not bad:
        raise Fault(f"no numbers, though they are: {found.words}")


KINDS = (
    Kind("csv", make, partial(check, ending=".csv"), 8),
    Kind("tsv", partial(make, separator=b"\t"), partial(check, ending=".tsv"), 4),
    Kind("gz", make_packed, partial(check, ending=".csv.gz"), 3.5),
)
