"""Bounds of cells from the sums that they are part of, all at once; each with the cells that prove it.

Where a cell is the sum of others, it is at most the sum of their upper ends, and one of them is at least
what is left of its lower end without the upper ends of the others. This is done for all sums together,
again and again, until nothing changes. How each bound came about is noted, so that it can be written as
one sum of published cells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.search.lattice import CellLattice

__all__ = [
    "Propagation",
]

End = Literal["low", "high"]
Floats = NDArray[np.float64]
Multipliers = dict[int, int]

#: Rounds at most, and the most steps of one proof.
_MOST_ROUNDS, _MOST_STEPS = 40, 4_000

#: Counts beyond this are not sums of floating-point numbers any more.
_LARGEST = 2.0**40


class Propagation:
    """The bounds of all rows of a lattice that follow from its equations."""

    def __init__(self, lattice: CellLattice) -> None:
        self.lattice = lattice
        empty = lattice.sizes == 0
        high = np.where(lattice.high >= UNBOUNDED, np.inf, lattice.high.astype(float))
        self.low: Floats = lattice.low.astype(float)
        self.high: Floats = np.where(empty, 0.0, high)
        self._equations = lattice.equations
        #: Per row and end: (round, equation) of every improvement.
        self._events: dict[tuple[int, End], list[tuple[int, int]]] = {}
        self._known: dict[tuple[int, End, int], Multipliers | None] = {}
        self._steps = 0
        finite = self.high[np.isfinite(self.high)]
        if self._equations and float(max(self.low.max(initial=0), finite.max(initial=0))) < _LARGEST:
            self._prepare()
            self._run()

    @property
    def conflict(self) -> bool:
        """Whether some row has no count left."""
        return bool((self.low > self.high).any())

    def proof(self, row: int, end: End) -> Multipliers | None:
        """Multipliers of rows that prove the row's lower or upper end; None if they are too many.

        They are at most the row (or minus the row) on every class, and add up to the end (or minus it).
        """
        self._steps = 0
        try:
            return self._proof(row, end, _MOST_ROUNDS + 1)
        except _TooLong:
            return None

    def _prepare(self) -> None:
        sizes = [len(equation.children) for equation in self._equations]
        self._parent = np.array([equation.parent for equation in self._equations], np.int64)
        self._child = np.concatenate([np.array(e.children, np.int64) for e in self._equations])
        self._of = np.repeat(np.arange(len(sizes)), sizes)
        self._starts: NDArray[np.int64] = np.cumsum(sizes).astype(np.int64) - np.array(sizes, np.int64)

    def _run(self) -> None:
        for number in range(_MOST_ROUNDS):
            low, high = self.low, self.high
            least, most, endless = self._sums(low, high)
            others_low = least[self._of] - low[self._child]
            finite = np.where(np.isinf(high), 0.0, high)
            others_high = most[self._of] - finite[self._child]
            unlimited = endless[self._of] - np.isinf(high)[self._child] > 0
            lower = np.where(unlimited, -np.inf, low[self._parent][self._of] - others_high)
            upper = high[self._parent][self._of] - others_low
            whole = np.where(endless > 0, np.inf, most)
            rows = np.concatenate([self._parent, self._child])
            equations = np.concatenate([np.arange(len(self._parent)), self._of])
            new_low = self._better(number, "low", rows, equations, np.concatenate([least, lower]), low)
            new_high = self._better(number, "high", rows, equations, np.concatenate([whole, upper]), high)
            if new_low is low and new_high is high:
                return
            self.low, self.high = new_low, new_high
            if self.conflict:
                return

    def _sums(self, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """Per equation the sum of its children's lower ends and upper ends, and how many have none."""
        endless = np.isinf(high)
        finite = np.where(endless, 0.0, high)
        return (
            np.add.reduceat(low[self._child], self._starts),
            np.add.reduceat(finite[self._child], self._starts),
            np.add.reduceat(endless[self._child].astype(float), self._starts),
        )

    def _better(
        self,
        number: int,
        end: End,
        rows: NDArray[np.int64],
        equations: NDArray[np.int64],
        found: Floats,
        before: Floats,
    ) -> Floats:
        """The bounds with what was found, noting what improved; the same array if nothing did."""
        after = before.copy()
        (np.maximum if end == "low" else np.minimum).at(after, rows, found)
        changed = after != before
        if not changed.any():
            return before
        used = np.flatnonzero(changed[rows] & (found == after[rows]))
        for row, equation in zip(rows[used].tolist(), equations[used].tolist(), strict=True):
            events = self._events.setdefault((row, end), [])
            if not events or events[-1][0] < number:
                events.append((number, equation))
        return after

    def _proof(self, row: int, end: End, before: int) -> Multipliers:
        """The proof of the bound that a row had before a round."""
        events = self._events.get((row, end), [])
        at = bisect_left(events, (before, -1)) - 1
        if at < 0:
            return self._published(row, end)
        key = (row, end, at)
        known = self._known.get(key)
        if known is not None:
            return known
        number, equation = events[at]
        made = self._sum(self._parts(row, end, equation), number)
        self._known[key] = made
        return made

    def _published(self, row: int, end: End) -> Multipliers:
        if self.lattice.sizes[row] == 0:
            return {}
        if end == "high":
            return {row: -1}
        return {row: 1} if self.lattice.low[row] > 0 else {}

    def _parts(self, row: int, end: End, number: int) -> Sequence[tuple[int, End]]:
        """The bounds that a bound is the sum of."""
        equation = self._equations[number]
        if row == equation.parent:
            return [(child, end) for child in equation.children]
        other: End = "high" if end == "low" else "low"
        return [(equation.parent, end), *((child, other) for child in equation.children if child != row)]

    def _sum(self, parts: Sequence[tuple[int, End]], before: int) -> Multipliers:
        total: Multipliers = {}
        for row, end in parts:
            self._steps += 1
            for at, u in self._proof(row, end, before).items():
                total[at] = total.get(at, 0) + u
            if self._steps > _MOST_STEPS:
                raise _TooLong
        return {at: u for at, u in total.items() if u}


class _TooLong(Exception):
    """A proof has more steps than anybody wants."""
