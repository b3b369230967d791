"""Multipliers as few and as small as LPs find them, for proofs that no sum of a few rows is.

An LP has the multipliers with the smallest sum (of absolute values), which are few; rows that are hardly used
get a higher cost, and the LP is solved again; then rows are left out one by one, as long as the others still
prove it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.search.prove import Rows, exact_numerators
from showthrough.tables.search.solver import Multipliers, Program, Solution
from showthrough.tables.search.system import System

__all__ = [
    "Lightest",
    "ProofGoal",
]

Counts = NDArray[np.int64]

#: Times the LP is solved with weights that depend on the last multipliers.
_ROUNDS = 3

#: With more cells than this none is left out on trial.
_MOST_PRUNED = 24

#: How far the sum may fall short of the target: it is rounded up.
_SHORT_OF = (0.0, 0.5, 0.9)

#: Rows × classes for which an LP counts once more.
_UNIT = 10_000

#: Simplex iterations of one LP.
_ITERATIONS = 2_000


@dataclass(frozen=True, eq=False)
class ProofGoal:
    """Σ weight ≥ target is to be proved; using a row costs its price. Equal weights have the same number."""

    weight: Counts
    target: int
    price: NDArray[np.float64]
    number: int


class Lightest:
    """Looks for multipliers by LP.

    Parameters
    ----------
    system
        The system with all types.
    most
        How many LPs may be started; where rows and classes are many each of them counts several times.
    """

    def __init__(self, system: System, most: int) -> None:
        self.system = system
        self.left = most
        self._rows = Rows(system)

    def find(self, goal: ProofGoal) -> tuple[Counts, int] | None:
        """The best multipliers that several LPs find."""
        if self.left <= 0:
            return None
        self.left -= 1 + self.system.rows.size // _UNIT
        for short_of in _SHORT_OF:
            program = Multipliers(self.system, goal.weight, goal.target - short_of, iterations=_ITERATIONS)
            best = self._best(program, goal)
            if best is not None:
                return self._pruned(program, best, goal)
        return None

    def _by_duals(self, goal: ProofGoal) -> tuple[Counts, int] | None:
        """The multipliers that an LP over records has: a corner, with other cells perhaps, and few."""
        found = Program(self.system, iterations=_ITERATIONS).minimise(goal.weight)
        return self._exact(found.multipliers, goal) if isinstance(found, Solution) else None

    def _best(self, program: Multipliers, goal: ProofGoal) -> tuple[Counts, int] | None:
        best: tuple[Counts, int] | None = None
        weight = goal.price
        for _ in range(_ROUNDS):
            found = program.lightest(weight)
            if found is None:
                break
            best = self._better(best, self._exact(found, goal), goal)
            if best is not None and _is_short(*best):
                break
            weight = goal.price / (np.abs(found) + 0.1)
        if best is None or _is_short(*best):
            return best
        return self._better(best, self._by_duals(goal), goal)

    def _pruned(self, program: Multipliers, best: tuple[Counts, int], goal: ProofGoal) -> tuple[Counts, int]:
        """Without rows that are not needed, tried one by one."""
        used = np.flatnonzero(best[0])
        if _is_short(*best) or len(used) > _MOST_PRUNED:
            return best
        for row in used[np.argsort(-goal.price[used], kind="stable")].tolist():
            allowed = best[0] != 0
            if not allowed[row] or allowed.sum() < 2:
                continue
            allowed[row] = False
            found = program.lightest(goal.price, allowed)
            best = best if found is None else self._better(best, self._exact(found, goal), goal) or best
        return best

    def _exact(self, found: NDArray[np.float64], goal: ProofGoal) -> tuple[Counts, int] | None:
        return exact_numerators(self._rows, found, goal.weight, goal.target)

    def _better(
        self, one: tuple[Counts, int] | None, other: tuple[Counts, int] | None, goal: ProofGoal
    ) -> tuple[Counts, int] | None:
        """The one with fewer rows, then with smaller multipliers, then with cheaper rows."""
        both = [made for made in (one, other) if made is not None]
        return min(both, key=lambda made: _length(made, goal.price), default=None)


def _is_short(numerators: Counts, denominator: int) -> bool:
    """Whether there is no need to look on: two rows, as one was tried before, or multipliers 1 and −1.

    No others of that kind are fewer, as their sum is the least.
    """
    largest = int(np.abs(numerators).max(initial=0))
    return (denominator == 1 and largest <= 1) or int(np.count_nonzero(numerators)) <= 2


def _length(made: tuple[Counts, int], price: NDArray[np.float64]) -> tuple[int, int, int, float]:
    numerators, denominator = made
    sizes = np.abs(numerators)
    return int(np.count_nonzero(sizes)), denominator, int(sizes.sum()), float(price[sizes > 0].sum())
