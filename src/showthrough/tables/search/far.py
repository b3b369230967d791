"""Worlds far from a known one, where counts are so large that floating point cannot tell them apart.

A linear program in records would have to tell 10¹⁷ from 10¹⁷ + 1. So the way is gone in strides: first in
units of very many records, then of fewer, each a program with small numbers. What is taken from it are
whole numbers, checked exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED
from showthrough.tables.search.solver import Program, Solution
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import exact_dot

__all__ = [
    "far_counts",
]

Counts = NDArray[np.int64]

#: Numbers up to this many bits are small for a solver, and so are their tolerances.
_BITS = 20

#: The largest denominator of a change in units.
_MOST_PARTS = 24


def far_counts(system: System, start: Counts, goal: Counts, *, iterations: int) -> Counts:
    """Class counts with Σ goal as small as strides from some counts reach; at worst these themselves."""
    best = start
    for unit in _units(system):
        found = Program(system, iterations=iterations, origin=best, unit=unit).minimise(goal)
        if isinstance(found, Solution):
            best = min(best, *_along(system, best, found.point, unit), key=partial(exact_dot, goal))
    return best


def _units(system: System) -> Iterator[int]:
    """Strides from long to short, the last of one record."""
    ends = np.where(system.high < UNBOUNDED, system.high, system.low)
    bits = int(ends.max(initial=0)).bit_length()
    yield from (1 << at for at in range(max(0, bits - _BITS), 0, -_BITS))
    yield 1


def _along(system: System, origin: Counts, change: NDArray[np.float64], unit: int) -> Iterator[Counts]:
    """Where a change in units leads, if it is of whole parts of one: as far along it as these allow."""
    yield origin
    for parts in range(1, min(unit, _MOST_PARTS) + 1):
        whole = np.rint(change * parts)
        if np.abs(change * parts - whole).max(initial=0) < 1e-5 and np.abs(whole).max(initial=0) < 2**40:
            counts = _moved(origin, whole.astype(np.int64), unit // parts)
            if counts is not None and system.allows(counts):
                yield counts
            return


def _moved(origin: Counts, whole: Counts, length: int) -> Counts | None:
    """The counts after a change this many times; None if they would be too large."""
    far = [int(y) + int(step) * length for y, step in zip(origin, whole, strict=True)]
    return np.array(far, np.int64) if min(far, default=0) >= 0 and sum(far) < 2**62 else None
