"""Microdata as counts: rows that agree on everything are interchangeable.

Groups are drawn and handed on in blocks. A block has a fixed number of groups, in ascending order, and
chance is drawn block by block, so the result depends on the data and the seed only: not on the order of
the rows, and not on who did the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from showthrough.engine.backend import Batch, CountingPlace, Tally, backend_of
from showthrough.engine.keys import KeyCodec, Keys
from showthrough.errors import RecordsError, check_type
from showthrough.export import Tabular
from showthrough.microdata.parameters import as_names
from showthrough.text import several

__all__ = [
    "Block",
    "Groups",
    "block_size",
    "cut",
    "iter_blocks",
]


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Tabular):
    """Personal groups (records that agree on all public columns) and their sensitive values.

    Groups and values are in ascending order, so equal data give equal groups.

    Attributes
    ----------
    public : pyarrow.Table
        One row for each group: its public values.
    domain : pyarrow.Table
        One row for each sensitive value; several columns if the sensitive value is compound.
    counts : scipy.sparse.csr_array
        ``counts[g, v]`` is the number of records of group g that have value v.

    Examples
    --------
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"disease": ["cold", "flu"]}, [[3, 1], [0, 2]])
    >>> groups.sizes.tolist(), groups.totals.tolist(), len(groups)
    ([4, 2], [3, 3], 2)
    """

    public: pa.Table
    domain: pa.Table
    #: A ``scipy.sparse.csr_array`` of int64 (SciPy ships no types).
    counts: Any

    def __post_init__(self) -> None:
        for name, table in (("public", self.public), ("domain", self.domain)):
            check_type(table, pa.Table, name=name, remedy="use Groups.read for records")
        if not issparse(self.counts):
            raise RecordsError(
                f"counts must be a sparse matrix, not {type(self.counts).__name__}",
                remedy="use Groups.of for plain lists",
            )
        if self.counts.shape != (self.public.num_rows, self.domain.num_rows):
            raise RecordsError("counts need one row for each group and one column for each value")
        if self.counts.nnz and self.counts.data.min() < 0:
            raise RecordsError("a count is negative", found=str(self.counts.data.min()))

    @classmethod
    def of(cls, public: dict[str, list[Any]], domain: dict[str, list[Any]], counts: Any) -> Groups:
        """From plain lists, for examples and tests."""
        for name, columns in (("public", public), ("domain", domain)):
            check_type(columns, dict, name=name, remedy="write {'sex': ['f', 'm']}")
        try:
            made = pa.table(public), pa.table(domain), csr_array(np.asarray(counts, np.int64))
        except (TypeError, ValueError) as error:
            raise RecordsError(f"not valid columns and counts: {error}") from None
        return cls(*made)

    @classmethod
    def read(
        cls,
        source: object,
        *,
        sensitive: str | Sequence[str],
        public: Sequence[str] | None = None,
        engine: CountingPlace = None,
    ) -> Groups:
        """Count the records of files or of a table in memory; all other columns are public by default.

        ``source`` is a path to a CSV, TSV or Parquet file, a folder of Parquet files, a pattern, or a
        table of Arrow, pandas, polars or Spark. Groups with a missing public value are groups like others.
        Records are counted on this machine, or on an ``engine``.

        >>> people = pa.table({"sex": ["m", "f", "m"], "ill": ["no", "no", "yes"]})
        >>> Groups.read(people, sensitive="ill").counts.toarray().tolist()
        [[1, 0], [1, 1]]
        """
        from showthrough.engine.handed import shared_scratch
        from showthrough.frames import Source

        names = as_names(sensitive, name="sensitive")
        public = None if public is None else as_names(public, name="public")
        chosen = backend_of(engine)
        with (
            shared_scratch(getattr(chosen, "engine", None)) as scratch,
            chosen.tally(
                Source.of(source, scratch=scratch), public=public, sensitive=names, scratch=scratch
            ) as tally,
        ):
            return cls.of_tally(tally)

    @classmethod
    def of_tally(cls, tally: Tally) -> Groups:
        """All groups of a tally."""
        blocks, codec = list(iter_blocks(tally)), tally.codec
        keys = np.concatenate([block.public for block in blocks])
        public = codec.table(keys, range(len(codec.public)))
        return cls(public, codec.domain, csr_array(vstack([block.counts for block in blocks], format="csr")))

    def with_counts(self, parts: Sequence[Any]) -> Groups:
        """The same groups and values with other counts, given as matrices one below the other."""
        return replace(self, counts=csr_array(vstack(list(parts), format="csr", dtype=np.int64)))

    def __len__(self) -> int:
        return self.public.num_rows

    def __repr__(self) -> str:
        public, sensitive = (", ".join(table.column_names) for table in (self.public, self.domain))
        size = (
            f"{several(self.records, 'record')} in {several(len(self), 'group')}, "
            f"{several(self.domain.num_rows, 'sensitive value')}"
        )
        return f"Groups: {size}\n  public: {public or 'none'}; sensitive: {sensitive}"

    def to_arrow(self) -> pa.Table:
        """One row for each group and sensitive value that occurs in it, with the number of records."""
        cells = self.counts.tocoo()
        table, hidden = self.public.take(cells.row), self.domain.take(cells.col)
        columns = [*table.columns, *hidden.columns, pa.chunked_array([cells.data.astype(np.int64)])]
        names = [*table.column_names, *hidden.column_names]
        number = "records" + "_" * sum(name.rstrip("_") == "records" for name in names)
        return pa.Table.from_arrays(columns, names=[*names, number])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each group has."""
        return np.asarray(self.counts.sum(axis=1), np.int64)

    @property
    def totals(self) -> NDArray[np.int64]:
        """How many records have each sensitive value."""
        return np.asarray(self.counts.sum(axis=0), np.int64)

    @property
    def records(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())


#: Cells (groups times sensitive values) in a block.
CELLS = 2**18


@dataclass(frozen=True, eq=False)
class Block:
    """Some groups: their public keys, and the counts of sensitive values in them."""

    number: int
    public: Keys
    #: A ``scipy.sparse.csr_array`` of int64.
    counts: Any
    #: What a method has decided about these groups beforehand.
    more: NDArray[np.int64] | None = None


def block_size(n_values: int) -> int:
    """How many groups a block has."""
    return max(1, CELLS // max(1, n_values))


def cut(counts: Any) -> Iterator[tuple[int, Any]]:
    """The rows of a matrix of counts, block by block, numbered."""
    size = block_size(counts.shape[1])
    for number, first in enumerate(range(0, counts.shape[0], size)):
        yield number, counts[first : first + size]


def iter_blocks(tally: Tally) -> Iterator[Block]:
    """All groups of a tally, block by block."""
    yield from gather_blocks(tally.cells(), tally.codec)


def gather_blocks(batches: Iterable[Batch], codec: KeyCodec) -> Iterator[Block]:
    """Blocks from cells in ascending order."""
    size, number = block_size(codec.n_values), 0
    left: list[tuple[Keys, NDArray[np.int64], NDArray[np.int64]]] = []
    n_groups = 0
    for keys, counts in batches:
        public, value = codec.split(keys)
        left.append((public, value, counts))
        n_groups += 1 + int((public[1:] != public[:-1]).any(axis=1).sum())
        if n_groups <= size + len(left):  # a group may be cut in two at the end of a batch
            continue
        ready = _joined(left)
        starts = _starts(ready[0])
        # The last group may go on in the next batch.
        n_full = (len(starts) - 1) // size
        for at in range(n_full):
            first, end = starts[at * size], starts[(at + 1) * size]
            yield _block(number, [part[first:end] for part in ready], codec)
            number += 1
        rest = starts[n_full * size]
        left, n_groups = [tuple(part[rest:] for part in ready)], len(starts) - n_full * size  # pyright: ignore[reportAssignmentType]
    if left:
        ready = _joined(left)
        starts = np.append(_starts(ready[0]), len(ready[0]))
        for at in range(0, len(starts) - 1, size):
            first, end = starts[at], starts[min(at + size, len(starts) - 1)]
            yield _block(number, [part[first:end] for part in ready], codec)
            number += 1


def _joined(parts: list[tuple[Any, ...]]) -> list[Any]:
    return [np.concatenate(of) for of in zip(*parts, strict=True)]


def _starts(public: Keys) -> NDArray[np.int64]:
    """Where a group begins."""
    new = (public[1:] != public[:-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(new) + 1]) if len(public) else np.zeros(0, np.int64)


def _block(number: int, cells: list[Any], codec: KeyCodec) -> Block:
    public, value, count = cells
    starts = _starts(public)
    ends = np.append(starts, len(public))
    counts = csr_array((count, value, ends), shape=(len(starts), codec.n_values))
    return Block(number, public[starts], counts)
