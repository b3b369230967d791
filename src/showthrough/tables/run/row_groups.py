"""Which row groups of a file have to be read for some of its rows: a run is larger than what a page shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = [
    "GroupsAt",
    "groups_near",
]


def groups_near(areas: Sequence[str], file: pq.FileMetaData) -> list[int]:
    """The row groups that may have rows about one of these areas, which are in order."""
    return [at for at in range(file.num_row_groups) if _is_near(file.row_group(at), areas)]


def _is_near(group: Any, areas: Sequence[str]) -> bool:
    columns = (group.column(at) for at in range(group.num_columns))
    stated = next((one.statistics for one in columns if one.path_in_schema == "area"), None)
    if stated is None or not stated.has_min_max:
        return True
    first = bisect_left(areas, str(stated.min))
    return first < len(areas) and areas[first] <= str(stated.max)


@dataclass
class GroupsAt:
    """The rows of a file at some places among the rows of all files; its own begin at ``first``."""

    places: NDArray[np.int64]
    first: int
    end: int = 0
    _wanted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _n_read: int = 0

    def __call__(self, file: pq.FileMetaData) -> list[int]:
        """The row groups that have some."""
        sizes = np.array([file.row_group(at).num_rows for at in range(file.num_row_groups)], np.int64)
        starts = self.first + np.concatenate([[0], np.cumsum(sizes)])
        self.end = int(starts[-1])
        mine = self.places[slice(*np.searchsorted(self.places, (self.first, self.end)))]
        groups = np.searchsorted(starts, mine, side="right") - 1
        chosen = np.unique(groups)
        before = np.concatenate([[0], np.cumsum(sizes[chosen])])  # rows that are read before each of them
        self._wanted = before[np.searchsorted(chosen, groups)] + mine - starts[groups]
        return chosen.tolist()

    def taken(self, part: pa.Table) -> pa.Table:
        """Those of the next rows that were read."""
        low, high = np.searchsorted(self._wanted, (self._n_read, self._n_read + part.num_rows))
        found = part.take(pa.array(self._wanted[low:high] - self._n_read, pa.int64()))
        self._n_read += part.num_rows
        return found
