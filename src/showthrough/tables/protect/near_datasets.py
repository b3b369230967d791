"""The datasets of one area that are known: they refute forbidden claims under every plan that admits them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import unpack
from showthrough.tables.protect.dataset_pool import DatasetPool, hardest
from showthrough.tables.protect.moves import Drop, Move
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.questions import Candidates

__all__ = [
    "NearDatasets",
]

#: Datasets that are learnt, and the moves that one of them may need.
_MOST_LEARNT, _MOST_NEEDS = 3_000, 150

Flags = NDArray[np.bool_]


class NearDatasets:
    """Datasets near the true one, and those that audits found; a plan admits some of them.

    Parameters
    ----------
    pool
        The datasets to start with.
    moves
        The moves that they may need.
    hidden_by
        Per cell the number of the move that hides it; −1 where nothing does, −2 where nothing is published.
    counts
        The true count of every cell.
    claims
        The forbidden claims, with the true counts.
    """

    def __init__(
        self,
        pool: DatasetPool,
        moves: Sequence[Move],
        hidden_by: NDArray[np.int64],
        counts: NDArray[np.int64],
        claims: Candidates,
    ) -> None:
        self.moves, self.hidden_by, self.counts, self.claims = tuple(moves), hidden_by, counts, claims
        self._pool = pool.distinct
        #: What audits found: the moves that each dataset needs and the claims that it refutes, as bits.
        self._learnt: dict[tuple[int, int], None] = {}

    @property
    def pool(self) -> DatasetPool:
        """All of them."""
        if not self._learnt:
            return self._pool
        needs = np.array([_as_flags(needs, len(self.moves)) for needs, _ in self._learnt])
        refutes = np.array([_as_flags(refutes, len(self.claims)) for _, refutes in self._learnt])
        return self._pool.united(DatasetPool(needs, refutes))

    @cached_property
    def hardest(self) -> NDArray[np.int64]:
        """Claims that need a move; the first datasets that refute these refute all that they can."""
        free = np.logical_not(self._pool.needs.any(axis=1))
        open_ = np.flatnonzero(self._pool.refutes.any(axis=0) & ~self._pool.refutes[free].any(axis=0))
        return open_[hardest(self._pool.refutes[:, open_])]

    def refuted(self, plan: frozenset[Move]) -> Flags:
        """Which claims are refuted by datasets that agree with the release after a plan."""
        dropped = {move.table for move in plan if isinstance(move, Drop)}
        chosen = np.array([move in plan or move.table in dropped for move in self.moves], bool)
        found = self._pool.refuted(chosen)
        missing, more = _as_number(~chosen), 0
        for needs, refutes in self._learnt:
            if not needs & missing:
                more |= refutes
        return found | _as_flags(more, len(found))

    def learn(self, found: ClaimTable) -> None:
        """Keep the datasets that an audit found, each counted again, unless they need too much."""
        universe = found.system.universe
        for world in found.pool:
            if len(self._learnt) >= _MOST_LEARNT:
                return
            bits = unpack(np.ascontiguousarray(universe.words[world.types]), len(self.counts))
            hidden = self.hidden_by[world.times @ bits.astype(np.int64) != self.counts]
            needs = np.zeros(len(self.moves), bool)
            needs[hidden[hidden >= 0]] = True
            if (hidden == -1).any() or not 0 < needs.sum() <= _MOST_NEEDS:
                continue
            refutes = self.claims.counts_in(universe.codes[world.types], world.times) != self.claims.count
            if refutes.any():
                self._learnt[_as_number(needs), _as_number(refutes)] = None


def _as_number(flags: Flags) -> int:
    """Flags as the bits of a number."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _as_flags(number: int, size: int) -> Flags:
    """The inverse of :func:`_as_number`."""
    bits = np.frombuffer(number.to_bytes(-(-size // 8), "little"), np.uint8)
    return np.unpackbits(bits, count=size, bitorder="little").astype(bool)
