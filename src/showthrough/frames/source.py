"""What to read rows from: files of one format, or a table in memory. All commands read through here."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

import pyarrow as pa

from showthrough.errors import InputError, RecordsError
from showthrough.files import Limits, current_limits
from showthrough.frames.binary import ParquetFile
from showthrough.frames.bins import Bins, as_numbers
from showthrough.frames.columns import check_columns, from_memory, readable, readable_type
from showthrough.frames.content import Content
from showthrough.frames.delimited import Delimited
from showthrough.frames.parts import FilePart, Format, check_alike, find_parts, format_of
from showthrough.frames.spark_frame import KeptFolder, is_spark_frame, store_frame

__all__ = [
    "Chunk",
    "Position",
    "Source",
    "digests",
    "is_path",
    "plain_texts",
    "read_column_names",
    "read_table",
]

#: Rows handed over at a time.
ROWS = 2**20

#: Parsed text that is kept takes at most this many bytes.
KEPT = 2**26


@dataclass(frozen=True)
class Position:
    """Where rows stand: the file's name, and how many of its rows come before them."""

    file: str | None = None
    row: int = 0

    def after(self, rows: int) -> Position:
        """The place of rows further down."""
        return Position(self.file, self.row + rows)


class _Types(dict[str, pa.DataType]):
    """Types that are found out when they are asked for."""

    def __init__(self, find: Callable[[str], pa.DataType]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> pa.DataType:
        self[name] = self._find(name)
        return self[name]


class Chunk(NamedTuple):
    """Some rows, how many of all rows come before them, and their place."""

    before: int
    table: pa.Table
    place: Position

    def slice(self, start: int, length: int | None = None) -> Chunk:
        """Some of the rows."""
        return Chunk(self.before + start, self.table.slice(start, length), self.place.after(start))


@dataclass(frozen=True, eq=False)
class Source:
    """Files of one format, or a table.

    >>> Source.of(pa.table({"a": [1]})).names
    ('a',)
    """

    #: What the caller called it, for messages.
    name: str | None
    format: Format
    names: tuple[str, ...]
    parts: tuple[FilePart, ...] = ()
    held: pa.Table | None = None
    error: type[InputError] = RecordsError
    limits: Limits = field(default_factory=current_limits)
    #: The columns' types where they are known already.
    known: Mapping[str, pa.DataType] | None = None
    #: Columns of numbers that are handed over as names of bins.
    bins: Mapping[str, Bins] = field(default_factory=dict[str, Bins])
    #: Whether these are a piece of all rows, which may have none.
    is_piece: bool = False
    #: A folder that goes with whoever reads it last, where the files were made only to be read here.
    kept: KeptFolder | None = None

    @classmethod
    def of(
        cls,
        source: object,
        *,
        error: type[InputError] = RecordsError,
        scratch: str | os.PathLike[str] | None = None,
    ) -> Source:
        """From a path, a folder of files, a pattern such as ``2024-*.parquet``, or a table.

        A file may be CSV, TSV (also compressed as .gz), Parquet, Arrow or Feather; a table may be of
        Arrow, pandas or polars. A DataFrame of Spark is written to files by its own tasks, in a private
        folder below ``scratch`` (or SHOWTHROUGH_SCRATCH) that its machines share.
        """
        if isinstance(source, Source):
            return source
        if is_spark_frame(source):
            kept = store_frame(source, scratch, error=error)
            found = cls.of(kept.path, error=error)
            parts = (part.named(f"Spark data frame, part {at}") for at, part in enumerate(found.parts, 1))
            return replace(found, name=None, parts=tuple(parts), kept=kept)
        if not is_path(source):
            table = from_memory(source, error)
            check_columns(table.column_names, (), file=None, error=error)
            return cls(None, "memory", tuple(table.column_names), held=table, error=error)
        name = os.fspath(source)
        parts = tuple(find_parts(name, error))
        check_alike(parts, error)
        return cls(
            name, format_of(parts[0].file.content.path, name, error), parts[0].names, parts, error=error
        )

    @property
    def is_text(self) -> bool:
        """Whether every value is text."""
        return self.format in ("csv", "tsv")

    @cached_property
    def types(self) -> Mapping[str, pa.DataType]:
        """The type that each column's values are handed over in; texts may come as dictionaries.

        A column that cannot be read has no type until somebody asks for it.
        """
        return _Types(self._shown_type)

    def _shown_type(self, name: str) -> pa.DataType:
        return pa.string() if name in self.bins else self._read_types[name]

    @cached_property
    def _read_types(self) -> Mapping[str, pa.DataType]:
        """The same before numbers are put into bins."""
        return _Types(self._type) if self.known is None else self.known

    def _type(self, name: str) -> pa.DataType:
        if self.held is not None:
            return readable_type(self.held.schema.field(name).type, name, file=None, error=self.error)
        kinds = {
            readable_type(part.type_of(name), name, file=part.file.content.name, error=self.error): part
            for part in self.parts
        }
        if len(kinds) == 1:
            return next(iter(kinds))
        try:
            schemas = [pa.schema([(name, kind)]) for kind in kinds]
            made = pa.unify_schemas(schemas, promote_options="permissive").field(name).type
            if pa.types.is_floating(made) and any(pa.types.is_decimal(kind) for kind in kinds):
                raise pa.ArrowInvalid("decimals would lose digits")
            return made
        except pa.ArrowException:
            raise self._other_type(name, list(kinds), list(kinds.values())[-1].file.content.name) from None

    def _other_type(self, name: str, kinds: Sequence[pa.DataType], file: str | None) -> InputError:
        return self.error(
            "the column has a different type than in the previous files",
            file=file,
            column=name,
            found=", ".join(str(kind) for kind in kinds),
            remedy="write all files with the same types",
        )

    def chunks(self, columns: Sequence[str] | None = None, *, rows: int = ROWS) -> Iterator[Chunk]:
        """The rows, some at a time, with these columns in this order.

        Delimited files come as text throughout, so that ``01`` stays ``01``.
        """
        wanted = list(self.names if columns is None else columns)
        check_columns(self.names, wanted, file=self.name, error=self.error)
        if not self.names:  # rows without any column are no records
            return
        before = 0
        for place, table in self._tables(wanted, rows):
            if table.num_rows:
                yield Chunk(before, self._binned(self._readable(table, place), place), place)
                before += table.num_rows

    def _tables(self, wanted: list[str], rows: int) -> Iterator[tuple[Position, pa.Table]]:
        if self.held is not None:
            table = self.held.select(wanted)
            yield from ((Position(None, at), table.slice(at, rows)) for at in range(0, table.num_rows, rows))
            return
        for part in self.parts:
            start = Position(part.file.content.name, part.before)
            yield from _placed(self._of_part(part, wanted, rows), start)

    def _of_part(self, part: FilePart, wanted: list[str], rows: int) -> Iterator[pa.Table]:
        whole = self._parsed(wanted)
        if whole is None or not isinstance(part.file, Delimited):
            return part.tables(wanted, rows=rows)
        return _texts(whole, part.file, wanted, rows)

    def _parsed(self, wanted: Sequence[str]) -> pa.Table | None:
        """All fields of a small delimited file, parsed once; None if it is none, or not small.

        Where there is a fault, these columns must be text before it.
        """
        if len(self.parts) != 1 or self.parts[0].shared:
            return None
        file = self.parts[0].file
        if not isinstance(file, Delimited) or not file.content.is_small:
            return None
        if not self._kept:
            self._kept.append(_all_fields(file, wanted))
        return self._kept[0]

    @cached_property
    def _kept(self) -> list[pa.Table | None]:
        """What was parsed already, if anything was."""
        return []

    def _readable(self, table: pa.Table, place: Position) -> pa.Table:
        columns = list[Any]()
        for name in table.column_names:
            found: Any = readable(
                table[name], name, file=place.file, error=self.error, longest=self.limits.cell
            )
            kind = self._read_types[name]
            is_text = pa.types.is_dictionary(found.type) and kind == pa.string()
            try:
                columns.append(found if is_text or found.type == kind else found.cast(kind))
            except pa.ArrowException:  # a value that the type for all files has no place for
                raise self._other_type(name, [found.type, kind], place.file) from None
        if not columns:
            return table
        return pa.Table.from_arrays(columns, names=list(table.column_names))

    def _binned(self, table: pa.Table, place: Position) -> pa.Table:
        """Columns of numbers as names of bins."""
        for at, name in enumerate(table.column_names):
            if name in self.bins:
                numbers = as_numbers(table[name], name, file=place.file, row=place.row, error=self.error)
                table = table.set_column(at, name, self.bins[name].recode(numbers))
        return table

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows at once; texts as plain texts. No rows are an error, but for a piece of them."""
        wanted = list(self.names if columns is None else columns)
        tables = [plain_texts(chunk.table) for chunk in self.chunks(wanted)]
        if not tables and self.is_piece:
            return pa.schema([(name, self.types[name]) for name in wanted]).empty_table()
        if not tables:
            raise self.no_records()
        return pa.concat_tables(tables)

    def no_records(self) -> InputError:
        """The error for a source without rows."""
        return self.error("there are no records", file=self.name, remedy="the file needs one row per record")

    def place(self, row: int) -> Position:
        """The file that a row (from 1, of all rows) is in, and which of its rows it is."""
        for chunk in self.chunks(self.names[:1]):
            if chunk.before < row <= chunk.before + chunk.table.num_rows:
                return chunk.place.after(row - chunk.before)
        return Position(self.name, row)

    @contextmanager
    def locating(self) -> Generator[None]:
        """Errors that number a row among all rows name its file, and number it there."""
        try:
            yield
        except InputError as error:
            if error.row is None or len(self.parts) < 2:
                raise
            place = self.place(error.row)
            raise type(error)(
                error.problem,
                file=place.file,
                row=place.row,
                column=error.column,
                found=error.found,
                remedy=error.remedy,
            ) from None

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the files that are read."""
        return tuple(str(content.path) for content in self.contents)

    @property
    def contents(self) -> tuple[Content, ...]:
        """The files that are read, but for those that were made only for that."""
        if self.kept is not None:
            return ()
        return tuple(part.file.content for part in self.parts)

    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file by its name."""
        return digests(self.contents)

    def pieces(self) -> list[Source]:
        """The same rows as several sources, which can be read side by side, also elsewhere."""
        found = list[Source]()
        types = {name: self._read_types[name] for name in self.names}
        for part in self.parts:
            groups: Sequence[tuple[int, ...] | None] = [None]
            if isinstance(part.file, ParquetFile) and len(part.file.groups) > 1:
                groups = [(at,) for at in range(len(part.file.groups))]
            found += [
                replace(self, parts=(replace(part, groups=one),), known=types, is_piece=True)
                for one in groups
            ]
        return found

    def n_rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""
        if self.held is not None:
            return self.held.num_rows
        known = [part.n_rows for part in self.parts if part.n_rows is not None]
        return sum(known) if len(known) == len(self.parts) else None


def digests(contents: Sequence[Content]) -> dict[str, str]:
    """The SHA-256 of files by their names; by their paths where two have the same name."""
    short = [content.path.name for content in contents]
    return {
        name if short.count(name) == 1 else str(content.path): content.digest()
        for name, content in zip(short, contents, strict=True)
    }


def is_path(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether the source is a file rather than a table in memory."""
    return isinstance(source, str | os.PathLike)


def read_table(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    error: type[InputError] = RecordsError,
) -> pa.Table:
    """Read a table from a file, or take one that is in memory.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow, Feather; a folder or a pattern of such files), an Arrow
        table, or a pandas, polars or Spark data frame.
    columns
        The columns to keep, in this order; all if none are given.
    error
        The kind of error to raise.

    Returns
    -------
    pyarrow.Table
        The table.

    Raises
    ------
    RecordsError
        If the table cannot be read; the message names file, row and column.

    Examples
    --------
    >>> read_table(pa.table({"a": [1], "b": ["x"]}), columns=["b"]).column_names
    ['b']
    """
    return Source.of(source, error=error).table(columns)


def read_column_names(source: object, *, error: type[InputError] = RecordsError) -> list[str]:
    """The names of the columns, without reading the rows of a file."""
    return list(Source.of(source, error=error).names)


def _placed(tables: Iterator[pa.Table], place: Position) -> Iterator[tuple[Position, pa.Table]]:
    for table in tables:
        yield place, table
        place = place.after(table.num_rows)


def _all_fields(file: Delimited, wanted: Sequence[str]) -> pa.Table | None:
    """All fields as bytes; None if they take too much memory."""
    empty = pa.schema([(name, pa.binary()) for name in file.names]).empty_table()
    tables, size = [empty], 0
    for table in file.tables(file.names, kind=pa.binary(), texts=wanted):
        tables.append(table)
        size += table.nbytes
        if size > KEPT:
            return None
    return pa.concat_tables(tables)


def _texts(whole: pa.Table, file: Delimited, wanted: list[str], rows: int) -> Iterator[pa.Table]:
    """Some columns of parsed bytes as texts."""
    try:
        columns = [whole[name].cast(pa.string()) for name in wanted]
    except pa.ArrowInvalid as problem:
        file.explain(problem, wanted)
    if not columns:
        yield pa.table({"": pa.nulls(whole.num_rows)}).select([])
        return
    table = pa.Table.from_arrays(columns, names=wanted)
    yield from (table.slice(at, rows) for at in range(0, table.num_rows, rows))


def plain_texts(table: pa.Table) -> pa.Table:
    """The same with texts that are in no dictionary."""
    columns: list[Any] = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names) if columns else table
