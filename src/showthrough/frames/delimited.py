r"""Delimited text (CSV, TSV): every field as text, and errors that name the row.

A field either holds no quote, or it stands in quotes as a whole and a quote in it is doubled.
Anything else (``"x"y``, ``5" pipe``, a quote that is never closed) could be read in several ways,
so it is refused. Lines end in ``\n``, ``\r\n`` or ``\r``; empty lines are passed over, unless there
is one column only, where an empty line is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.files import unreadable
from showthrough.frames.content import DAMAGED, Content

__all__ = [
    "UNNAMED",
    "Delimited",
    "open_delimited",
]

#: Bytes read at a time, and parsed by one thread; a single row may be longer.
BLOCK, PARSED = 2**22, 2**20

#: Bytes in which the header must end.
LONGEST_HEADER = 2**26

#: A last column without a name, as files with a separator at the end of each line have it.
UNNAMED = ""

QUOTE, LINE_ENDS = ord('"'), (ord("\n"), ord("\r"))
_LINE_END = re.compile(rb"\r\n?|\n")
_QUOTED = re.compile(rb'"([^"]*(?:""[^"]*)*)"')
_BOM, _UTF16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, eq=False)
class Delimited:
    """A delimited file whose header has been read."""

    content: Content
    separator: str
    #: All columns, among them one without a name where the header ends in a separator.
    header: tuple[str, ...]
    #: Where the first row begins.
    start: int

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that can be asked for."""
        return self.header[:-1] if self.ends_unnamed else self.header

    @property
    def ends_unnamed(self) -> bool:
        """Whether the last column has no name, because lines end in a separator."""
        return self.header[-1] == UNNAMED

    def tables(
        self,
        columns: Sequence[str],
        *,
        kind: pa.DataType | None = None,
        texts: Sequence[str] | None = None,
    ) -> Iterator[pa.Table]:
        """The rows as texts (or as another ``kind``), some at a time; empty fields are missing.

        Where there is a fault, ``texts`` (by default all these columns) must be text before it.
        """
        try:
            with self.content.open() as raw:
                _skip(raw, self.start)
                for rows in _Checked(raw, self).blocks(BLOCK):
                    table = self._parse(rows, columns, kind or pa.string())
                    if table.num_rows:
                        yield table
        except (*DAMAGED, pa.ArrowException) as problem:
            self.explain(problem, columns if texts is None else texts)

    def _parse(self, rows: bytes, columns: Sequence[str], kind: pa.DataType) -> pa.Table:
        """Some whole rows. The parser gets them in memory, so that none of its threads waits for Python."""
        parsing = arrow_csv.ParseOptions(
            delimiter=self.separator,
            newlines_in_values=b'"' in rows,
            ignore_empty_lines=len(self.header) > 1,
        )
        wanted = [*columns, *self.header[len(self.names) :]]
        converting = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(self.header, kind),
            include_columns=wanted,
            null_values=[""],
            strings_can_be_null=True,
        )
        # The parser passes over a byte order mark, so it is given one: the next belongs to the first row.
        marked = _BOM + rows
        for size in (PARSED, len(marked) + 1):
            reading = arrow_csv.ReadOptions(block_size=size, column_names=list(self.header))
            try:
                given: Any = pa.BufferReader(marked)
                table = arrow_csv.read_csv(given, reading, parsing, converting)
            except pa.ArrowInvalid as problem:
                if "Empty CSV" in str(problem):  # nothing but empty lines
                    return pa.schema([(name, kind) for name in columns]).empty_table()
                if "straddl" not in str(problem) or size > len(marked):
                    raise
                continue
            if self.ends_unnamed and table[UNNAMED].null_count < table.num_rows:
                raise pa.ArrowInvalid("a value in a column that has no name")
            return table.select(list(columns))
        raise AssertionError("unreachable: the last size returns or raises")

    def explain(self, problem: Exception, columns: Sequence[str]) -> NoReturn:
        """Raise what is wrong with a file that does not parse: read it again, slowly, for the place.

        Fields of other columns than these need not be text.
        """
        try:
            with self.content.open() as raw:
                _skip(raw, self.start)
                for row, fields in _suspects(raw, self):
                    _check_texts(fields, self, row, columns)
        except DAMAGED as damage:
            raise unreadable(self.content.name, damage, error=self.content.error) from None
        raise unreadable(self.content.name, problem, error=self.content.error) from None

    def fault(self, problem: str, *, row: int, found: bytes, remedy: str) -> InputError:
        """An error about a row; row 0 is the header."""
        shown = found.decode("utf-8", "replace").strip("\r\n")
        return self.content.error(
            problem, file=self.content.name, row=row or None, found=shown, remedy=remedy
        )


def open_delimited(content: Content, separator: str) -> Delimited:
    """Read the header of a delimited file."""
    bare = Delimited(content, separator, ("",), 0)
    try:
        with content.open() as raw:
            line, start = _header_line(raw, bare)
    except DAMAGED as problem:
        raise unreadable(content.name, problem, error=content.error) from None
    found = _record(line, 0, bare, 0, last=True)
    try:
        header = [field.decode() for field in found[0]] if found else []
    except UnicodeDecodeError:
        raise content.error("the header is not UTF-8", file=content.name, remedy="save as UTF-8") from None
    if not any(header):
        raise content.error(
            "the header names no column", file=content.name, remedy="the first line must name the columns"
        )
    _check_header(header, content)
    return Delimited(content, separator, tuple(header), start)


def _check_header(header: Sequence[str], content: Content) -> None:
    for at, name in enumerate(header):
        if not name and at + 1 < len(header):
            raise content.error(
                f"column {at + 1} has no name",
                file=content.name,
                found=", ".join(header),
                remedy="name every column on the first line",
            )
        if name in header[:at]:
            raise content.error(
                "two columns have the same name", file=content.name, column=name, remedy="rename one"
            )


def _header_line(raw: BinaryIO, bare: Delimited) -> tuple[bytes, int]:
    """The first line that is not empty, and where the next one begins."""
    held, content = b"", bare.content
    while len(held) <= LONGEST_HEADER:
        more = raw.read(max(2**16, len(held)))  # ever more, because all of it is looked at again
        held += more
        if held[:2] in _UTF16:
            raise content.error("the header is not UTF-8", file=content.name, remedy="save as UTF-8")
        first = 3 if held.startswith(_BOM) else 0
        first += len(held[first:]) - len(held[first:].lstrip(b"\r\n"))
        end = _end_of_record(held, first)
        # One more byte is wanted after \r, in case it is \n.
        if end is not None and (end + 1 < len(held) or not more):
            after = end + (2 if held[end : end + 2] == b"\r\n" else 1)
            return held[first:end], after
        if not more:
            if not held[first:]:
                raise content.error(
                    "the file is empty", file=content.name, remedy="the first line must name the columns"
                )
            if held.count(b'"', first) % 2:
                raise bare.fault(
                    "a quote in the header is never closed", row=0, found=held[first : first + 200],
                    remedy="close it, or remove it",
                )  # fmt: skip
            return held[first:], len(held)
    raise content.error(
        "the header does not end", file=content.name, remedy="the first line must name the columns"
    )


def _end_of_record(held: bytes, first: int) -> int | None:
    """Where the record that begins at ``first`` ends; None if that is not in sight."""
    inside = False
    for found in re.finditer(rb'["\r\n]', held[first:]):
        if found[0] == b'"':
            inside = not inside
        elif not inside:
            return first + found.start()
    return None


def _last_end(held: bytes) -> int:
    r"""Where the last whole row ends, of rows that begin outside quotes; 0 if none does.

    >>> _last_end(b"a\nb"), _last_end(b'a\n"b\n'), _last_end(b"a\r")
    (2, 2, 0)
    """
    last = len(held) - 1  # a \r there may be the first half of a line end
    if b'"' not in held:
        return max(held.rfind(b"\n"), held.rfind(b"\r", 0, last)) + 1
    found = np.frombuffer(held, np.uint8)
    ends = np.flatnonzero(
        (found == LINE_ENDS[0]) | ((found == LINE_ENDS[1]) & (np.arange(len(found)) < last))
    )
    outside = np.searchsorted(np.flatnonzero(found == QUOTE), ends) % 2 == 0
    return int(ends[outside][-1]) + 1 if outside.any() else 0


def _skip(raw: BinaryIO, number: int) -> None:
    while number:
        passed = len(raw.read(min(number, 2**20)))
        if not passed:
            return
        number -= passed


class _Checked:
    """The rows on their way to the parser, which is laxer about quotes than we are."""

    def __init__(self, raw: BinaryIO, file: Delimited) -> None:
        self._raw, self._file = raw, file
        self._limit = file.content.limits.cell
        self._ends = np.array([ord(file.separator), *LINE_ENDS, QUOTE], np.uint8)
        self._before = LINE_ENDS[0]  # the byte before the ones to come
        self._inside = False  # whether they stand in quotes
        self._bare = self._quoted = 0  # how long the field they are in is already

    def blocks(self, size: int) -> Iterator[bytes]:
        """The rows in blocks of about this many bytes, none of them cut in two."""
        held = b""
        while more := self._raw.read(size):
            self._check(more)
            held += more
            if end := _last_end(held):
                yield held[:end]
                held = held[end:]
        if self._inside:
            self._refuse()
        if held:
            yield held

    def _check(self, block: bytes) -> None:
        if self._before == QUOTE and not self._inside and block[0] not in self._ends:
            self._refuse()  # a quote that ended the block before was a closing one
        if self._limit is not None:
            self._check_bare(block, self._limit)
        if b'"' in block:
            self._check_quotes(np.frombuffer(block, np.uint8))
        elif self._inside:
            self._quoted += len(block)
        if self._limit is not None and self._inside and self._quoted > self._limit + 1:  # with its quote
            self._refuse()
        self._before = block[-1]

    def _check_bare(self, block: bytes, limit: int) -> None:
        """There is a separator, a line end or a quote often enough that no bare field is too long."""
        marks, at = (self._file.separator.encode(), b"\n", b"\r", b'"'), 0
        while at < len(block):
            stop = at + max(0, limit - self._bare) + 1
            last = max(block.rfind(mark, at, stop) for mark in marks)
            if last < 0 and stop <= len(block):
                if not (self._inside + block.count(b'"', 0, at)) % 2:
                    self._refuse()
                last = block.find(b'"', at)  # a field in quotes is looked at elsewhere
            if last < 0:
                self._bare += len(block) - at
                return
            at, self._bare = last + 1, 0

    def _check_quotes(self, block: NDArray[np.uint8]) -> None:
        """Every quote opens or closes a field, or is one of a pair within it; no such field is too long."""
        at = np.flatnonzero(block == QUOTE)
        opening = (np.arange(len(at)) + self._inside) % 2 == 0
        before, after = block[at - 1], block[np.minimum(at + 1, len(block) - 1)]
        goes_on = self._inside
        if at[0] == 0:
            before[0] = self._before
            goes_on |= self._before == QUOTE
        if at[-1] == len(block) - 1:  # looked at with the next block
            after[-1] = LINE_ENDS[0]
        if (~np.isin(np.where(opening, before, after), self._ends)).any():
            self._refuse()
        starts, ends = at[opening & (before != QUOTE)], at[~opening & (after != QUOTE)]
        if goes_on:
            starts = np.concatenate([[-self._quoted], starts])
        self._inside = bool((self._inside + len(at)) % 2)
        lengths = ends - starts[: len(ends)] - 1
        if self._limit is not None and len(lengths) and lengths.max() > self._limit:
            self._refuse()
        self._quoted = int(len(block) - starts[-1]) if len(starts) else 0

    def _refuse(self) -> NoReturn:
        # The parser passes this on; whoever called it reads again to say where and why.
        raise pa.ArrowInvalid("quotes or lengths of fields")


def _suspects(raw: BinaryIO, file: Delimited) -> Iterator[tuple[int, list[bytes]]]:
    """The rows, with their numbers from 1, but for stretches with nothing wrong; faults are raised.

    A plain reading: slow, but it knows the place. It shares nothing with the parser.
    """
    held, row, last = b"", 0, False
    while not last:
        more = raw.read(2**20)
        last = not more
        held += more
        whole = held.rfind(b"\n") + 1
        number = _clean_rows(held[:whole], file)
        if number is not None:
            row, held = row + number, held[whole:]
        at = 0
        while at < len(held):
            if len(file.header) > 1 and held[at] in LINE_ENDS:
                at += 1
                continue
            found = _record(held, at, file, row + 1, last=last)
            if found is None:
                break
            fields, at = found
            row += 1
            _check_fields(fields, file, row)
            yield row, fields
        held = held[at:]


def _clean_rows(lines: bytes, file: Delimited) -> int | None:
    """How many rows some lines are, if all of them are whole and without any fault; else None."""
    separator, limit = file.separator.encode(), file.content.limits.cell
    rows = lines.splitlines()
    if len(file.header) > 1:
        rows = [row for row in rows if row]
    if b'"' in lines or any(row.count(separator) + 1 != len(file.header) for row in rows):
        return None
    if limit is not None and any(len(row) > limit for row in rows):
        return None
    if file.ends_unnamed and not all(row.endswith(separator) for row in rows):
        return None
    try:
        lines.decode()
    except UnicodeDecodeError:
        return None
    return len(rows)


def _record(held: bytes, at: int, file: Delimited, row: int, *, last: bool) -> tuple[list[bytes], int] | None:
    """The fields of the record that begins at ``at``, and where the next begins; None if cut off."""
    separator, start, fields = file.separator.encode(), at, list[bytes]()
    line_end = _LINE_END.search(held, at)
    if line_end is not None and line_end.end() < len(held) and held.find(b'"', at, line_end.end()) < 0:
        fields = held[at : line_end.start()].split(separator)
        _check_length(max(map(len, fields)), max(fields, key=len)[:200], file, row)
        return fields, line_end.end()
    bare = re.compile(rb'[^"\r\n' + re.escape(separator) + rb"]*")
    while True:
        is_quoted = held[at : at + 1] == b'"'
        match = (_QUOTED if is_quoted else bare).match(held, at)
        end = len(held) if match is None else match.end()
        _check_length(end - at - (2 if is_quoted and match else is_quoted), held[at : at + 200], file, row)
        if not last and (end == len(held) or (end + 1 == len(held) and held.endswith(b"\r"))):
            return None
        if match is None:
            raise file.fault(
                "a quote is never closed",
                row=row,
                found=held[start : start + 200],
                remedy="close it, or remove it",
            )
        fields.append(match[1].replace(b'""', b'"') if is_quoted else match[0])
        after = held[end : end + 1]
        if after in (b"", b"\n", b"\r"):
            return fields, end + (2 if held[end : end + 2] == b"\r\n" else 1)
        if after != separator:
            raise file.fault(
                "a quote stands inside a field",
                row=row,
                found=re.split(rb"[\r\n]", held[start : start + 2**16], maxsplit=1)[0],
                remedy="put the whole field in double quotes, and double the quotes in it",
            )
        at = end + 1


def _check_length(length: int, sample: bytes, file: Delimited, row: int) -> None:
    limit = file.content.limits.cell
    if limit is not None and length > limit:
        raise file.fault(
            f"a value is longer than {limit:,} bytes",
            row=row,
            found=sample,
            remedy="check that quotes are closed, or read it anyway with --no-limits",
        )


def _check_fields(fields: Sequence[bytes], file: Delimited, row: int) -> None:
    if len(fields) != len(file.header):
        raise file.fault(
            f"the row has {len(fields)} fields, the header {len(file.header)}",
            row=row,
            found=file.separator.encode().join(fields),
            remedy="put fields that hold the separator or a quote in double quotes",
        )
    if file.ends_unnamed and fields[-1]:
        raise file.fault(
            "there is a value in a column that has no name",
            row=row,
            found=fields[-1],
            remedy="name the column on the first line",
        )


def _check_texts(fields: Sequence[bytes], file: Delimited, row: int, columns: Sequence[str]) -> None:
    for name, field in zip(file.header, fields, strict=True):
        try:
            if name in columns:
                field.decode()
        except UnicodeDecodeError:
            raise file.content.error(
                "the text is not UTF-8",
                file=file.content.name,
                row=row,
                column=name,
                found=field.decode("latin-1"),
                remedy="save as UTF-8",
            ) from None
