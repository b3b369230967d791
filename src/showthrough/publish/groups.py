"""Microdata as counts: rows that agree on everything are interchangeable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from showthrough.errors import RecordsError

if TYPE_CHECKING:
    from showthrough.engine.plane import Plane, Tally

__all__ = ["Groups"]


@dataclass(frozen=True, eq=False)
class Groups:
    """Personal groups (records that agree on all public attributes) and their sensitive values.

    ``public`` has one row for each group, ``domain`` one row for each sensitive value (several
    columns where the sensitive value is compound), and ``counts[g, v]`` says how many records of
    group g have value v. Groups and values are in ascending order, so equal data give equal groups.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"disease": ["cold", "flu"]}, [[3, 1], [0, 2]])
    >>> groups.sizes.tolist(), groups.totals.tolist(), len(groups)
    ([4, 2], [3, 3], 2)
    """

    public: pa.Table
    domain: pa.Table
    #: A ``scipy.sparse.csr_array`` of int64 (SciPy ships no types).
    counts: Any

    def __post_init__(self) -> None:
        if self.counts.shape != (self.public.num_rows, self.domain.num_rows):
            raise RecordsError("counts need one row for each group and one column for each value")
        if self.counts.nnz and self.counts.data.min() < 0:
            raise RecordsError("a count is negative", found=str(self.counts.data.min()))

    @classmethod
    def of(cls, public: dict[str, list[Any]], domain: dict[str, list[Any]], counts: Any) -> Groups:
        """From plain lists, for examples and tests."""
        return cls(pa.table(public), pa.table(domain), csr_array(np.asarray(counts, np.int64)))

    @classmethod
    def read(
        cls,
        source: object,
        *,
        sensitive: str | Sequence[str],
        public: Sequence[str] | None = None,
        plane: Plane | None = None,
    ) -> Groups:
        """Count the records of files or of a table in memory; all other columns are public by default.

        ``source`` is a path to a CSV, TSV or Parquet file, a folder of Parquet files, a pattern, or a
        table of Arrow, pandas or polars. Groups with a missing public value are groups like others.

        >>> people = pa.table({"sex": ["m", "f", "m"], "ill": ["no", "no", "yes"]})
        >>> Groups.read(people, sensitive="ill").counts.toarray().tolist()
        [[1, 0], [1, 1]]
        """
        from showthrough.engine.duck import DuckPlane
        from showthrough.frames import Source
        from showthrough.scratch import private_scratch

        names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
        opened, chosen = Source.of(source), plane or DuckPlane()
        with (
            private_scratch() as scratch,
            chosen.tally(opened, public=public, sensitive=names, scratch=scratch) as tally,
        ):
            return cls.of_tally(tally)

    @classmethod
    def of_tally(cls, tally: Tally) -> Groups:
        """All groups of a tally."""
        from showthrough.publish.blocks import iter_blocks

        blocks, layout = list(iter_blocks(tally)), tally.layout
        keys = np.concatenate([block.public for block in blocks])
        public = layout.table(keys, range(len(layout.public)))
        return cls(public, layout.domain, csr_array(vstack([block.counts for block in blocks], format="csr")))

    def with_counts(self, parts: Sequence[Any]) -> Groups:
        """The same groups and values with other counts, given as matrices one below the other."""
        return replace(self, counts=csr_array(vstack(list(parts), format="csr", dtype=np.int64)))

    def __len__(self) -> int:
        return self.public.num_rows

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
