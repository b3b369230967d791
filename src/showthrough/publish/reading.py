"""Counts in the rows of a publication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as arrow_csv
import pyarrow.dataset
import pyarrow.fs
from numpy.typing import NDArray

from showthrough.engine.coding import found_values
from showthrough.engine.keys import in_order
from showthrough.errors import InputError
from showthrough.frames import Source, plain_texts

__all__ = ["PublishedFile", "renumber"]

pc: Any = pyarrow.compute

#: Counted cells of chunks that wait to be added up.
CELLS = 2**20


@dataclass(frozen=True, eq=False)
class PublishedFile:
    """A file (or a folder of files) of published rows."""

    path: Path
    #: The columns it must have.
    names: tuple[str, ...]

    @cached_property
    def source(self) -> Source:
        """The rows, checked for the columns they must have."""
        if not self.path.exists():
            raise InputError(
                "the rows of the publication are missing",
                file=str(self.path),
                remedy="copy the whole folder of the publication",
            )
        found = Source.of(self.path, error=InputError)
        for name in self.names:
            if name not in found.names:
                raise InputError(
                    "a column of the publication is missing",
                    file=str(self.path),
                    column=name,
                    remedy="ask the publisher for the original",
                )
        return found

    @property
    def files(self) -> tuple[str, ...]:
        """The files the rows are in."""
        return self.source.files

    @cached_property
    def records(self) -> int:
        """How many rows there are."""
        known = self.source.n_rows()
        if known is not None:
            return known
        return sum(chunk.table.num_rows for chunk in self.source.chunks(self.source.names[:1]))

    def values(self, name: str) -> pa.Array:
        """The different values of a column, in order."""
        return found_values(self.source, [name]).column(name).values

    def count(self, columns: Sequence[str], allowed: Mapping[str, pa.Array]) -> pa.Table:
        """How many rows there are of each kind, of those that have allowed values.

        The result has the columns in the order given, and the numbers as its last.
        """
        wanted = list(dict.fromkeys((*columns, *allowed)))
        if not columns:
            return pa.table({"number": [sum(len(table) for table in self._allowed(wanted, allowed))]})
        names = [f"column_{at}" for at in range(len(columns))]
        found, n_cells = list[pa.Table](), 0
        for table in self._allowed(wanted, allowed):
            cells: Any = table.select(list(columns)).rename_columns(names)
            found.append(cells.group_by(names).aggregate([([], "count_all")]))
            n_cells += found[-1].num_rows
            if n_cells > CELLS:
                found = [_added(found, names)]
                n_cells = found[0].num_rows - CELLS
        if not found:
            kinds = [(name, self.source.types[column]) for name, column in zip(names, columns, strict=True)]
            return pa.schema([*kinds, ("number", pa.int64())]).empty_table()
        return _added(found, names).rename_columns([*names, "number"])

    def _allowed(self, wanted: Sequence[str], allowed: Mapping[str, pa.Array]) -> Iterator[pa.Table]:
        """The rows that have allowed values, texts in no dictionary."""
        for chunk in self.source.chunks(wanted):
            table = plain_texts(chunk.table)
            for name, values in allowed.items():
                table = table.filter(pc.is_in(table[name], value_set=values))
            yield table

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The rows for other programs, which read from the files what they need."""
        local = pyarrow.fs.LocalFileSystem()
        if not self.source.is_text:
            return pyarrow.dataset.dataset(list(self.files), format="parquet", filesystem=local)
        texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(self.source.names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        )
        kind = pyarrow.dataset.CsvFileFormat(
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True), convert_options=texts
        )
        return pyarrow.dataset.dataset(list(self.files), format=kind, filesystem=local)


def _added(parts: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Counts of the same cells, added up."""
    whole: Any = pa.concat_tables(parts)
    counted = whole.group_by(list(names)).aggregate([("count_all", "sum")])
    return counted.select([*names, "count_all_sum"]).rename_columns([*names, "count_all"])


def renumber(columns: Sequence[pa.ChunkedArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal rows get equal numbers, in ascending order; and the first row with each number.

    >>> of, first = renumber([pa.chunked_array([["b", "a", "b"]]), pa.chunked_array([[1, 1, 1]])])
    >>> of.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    key = np.zeros(len(columns[0]) if columns else 0, np.int64)
    for column in columns:
        values = in_order(column.unique())
        codes = pc.index_in(column, value_set=values).to_numpy().astype(np.int64)
        # Numbered anew column by column, so keys stay small however many columns there are.
        key = np.unique(key * max(1, len(values)) + codes, return_inverse=True)[1].astype(np.int64)
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    return of.astype(np.int64), first.astype(np.int64)
