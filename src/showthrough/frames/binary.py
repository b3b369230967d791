"""Parquet and Arrow files, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import InputError
from showthrough.frames.content import Content

__all__ = [
    "ArrowFile",
    "ParquetFile",
    "open_arrow",
    "open_parquet",
]

#: What Arrow raises about files that are not what they should be.
BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError, ValueError)


@dataclass(frozen=True, eq=False)
class ParquetFile:
    """A Parquet file whose columns are known."""

    content: Content
    schema: pa.Schema
    #: How many rows each of its groups has.
    groups: tuple[int, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that can be asked for."""
        return tuple(self.schema.names)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.groups)

    def tables(
        self, columns: Sequence[str], *, rows: int, groups: Sequence[int] | None = None
    ) -> Iterator[pa.Table]:
        """The rows, this many at a time; of all groups or of some. Texts may come as dictionaries."""
        texts = [name for name in columns if _is_text(self.schema.field(name).type)]
        try:
            with pq.ParquetFile(self.content.arrow(), pre_buffer=False, read_dictionary=texts) as file:
                # Group by group: across groups, whether Arrow finds them broken depends on the batches.
                for group in groups if groups is not None else range(len(self.groups)):
                    if not columns:  # only how many rows there are
                        yield pa.table({"": pa.nulls(self.groups[group])}).select([])
                        continue
                    for batch in file.iter_batches(rows, row_groups=[group], columns=list(columns)):
                        table = pa.Table.from_batches([batch])
                        table.validate(full=True)
                        yield table.select(list(columns))
        except BROKEN as problem:
            raise _broken(self.content, problem) from None


@dataclass(frozen=True, eq=False)
class ArrowFile:
    """An Arrow file (also known as Feather) or stream whose columns are known."""

    content: Content
    schema: pa.Schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that can be asked for."""
        return tuple(self.schema.names)

    def tables(self, columns: Sequence[str], *, rows: int) -> Iterator[pa.Table]:
        """The rows, at most this many at a time."""
        try:
            with self.content.arrow() as file, _reader(file) as reader:
                for batch in _batches(reader):
                    table = pa.Table.from_batches([batch]).select(list(columns))
                    table.validate(full=True)
                    for start in range(0, table.num_rows, rows):
                        yield table.slice(start, rows)
        except BROKEN as problem:
            raise _broken(self.content, problem) from None


def open_parquet(content: Content) -> ParquetFile:
    """Read what a Parquet file says about itself."""
    try:
        with pq.ParquetFile(content.arrow(), pre_buffer=False) as file:
            found = file.metadata
            groups = tuple(found.row_group(at).num_rows for at in range(found.num_row_groups))
            return ParquetFile(content, _named(file.schema_arrow), groups)
    except BROKEN as problem:
        raise _broken(content, problem) from None


def open_arrow(content: Content) -> ArrowFile:
    """Read what an Arrow file says about itself."""
    try:
        with content.arrow() as file, _reader(file) as reader:
            return ArrowFile(content, _named(reader.schema))
    except BROKEN as problem:
        raise _broken(content, problem) from None


def _named(schema: pa.Schema) -> pa.Schema:
    """The same, once its names are known to be text: Arrow does not look before it is asked."""
    _ = schema.names
    return schema


def _reader(file: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def _batches(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchStreamReader):
        yield from reader
    else:
        yield from (reader.get_batch(at) for at in range(reader.num_record_batches))


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _broken(content: Content, problem: Exception) -> InputError:
    if isinstance(problem, InputError):
        return problem
    return content.error(
        f"the file is damaged or not a {content.path.suffix[1:].lower()} file",
        file=content.name,
        found=" ".join(str(problem).split()) or type(problem).__name__,
        remedy="write it again, or convert it to CSV",
    )
