"""One way in: tables from files and from memory, for all commands."""

from showthrough.frames.columns import check_columns, distinct
from showthrough.frames.content import Content
from showthrough.frames.source import (
    Chunk,
    Position,
    Source,
    digests,
    is_path,
    plain_texts,
    read_column_names,
    read_table,
)
from showthrough.frames.stream import distinct_values, iter_tables, join_values

__all__ = [
    "Chunk",
    "Content",
    "Position",
    "Source",
    "check_columns",
    "digests",
    "distinct",
    "distinct_values",
    "is_path",
    "iter_tables",
    "join_values",
    "plain_texts",
    "read_column_names",
    "read_table",
]
