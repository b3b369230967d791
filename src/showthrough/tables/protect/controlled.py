"""Controlled rounding: counts become multiples of a base, and the tables still add up.

Every count goes to the multiple of the base below or above it; multiples stay. Which of the two is chosen
so that whatever equation holds between the published counts of all datasets holds between the rounded ones:
a total is the sum of its parts, in every table and between tables. Among all such choices one is taken
that changes the counts least in sum.

Equations need not be listed. Counts satisfy all of them just if they are sums over classes of record types,
whatever numbers (negative ones, too) stand for the classes. So the changes of the counts are sums over
classes of changes, which are the variables of an integer program. What its solver finds is checked in whole
numbers; that no nearer choice exists is reported by a solver, not proved.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack

from showthrough.errors import InputError, check_each, check_type
from showthrough.notation import LARGEST_BASE, Rounding
from showthrough.release import UNBOUNDED, Release, refuse_sums
from showthrough.tables.audit import check_release
from showthrough.tables.search.solver import Inequalities
from showthrough.tables.search.system import System, build_system
from showthrough.tables.search.universe import make_frame

__all__ = [
    "METHOD",
    "ControlledRounding",
    "controlled_rounding",
]

#: What readers are told: the multiple below or above, and multiples as they are.
METHOD = "random"

#: The most record types, and the nodes of the search at an effort of 1.
_MOST_TYPES, _NODES = 200_000, 2_000

#: Changes of classes are fractions with one of these denominators.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 12, 60)

#: Changes beyond this are not added up, so that no sum leaves 64 bits.
_SMALL = 2**40

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ControlledRounding:
    """A release with rounded counts that add up.

    Parameters
    ----------
    release
        What readers know: each rounded count lies less than the base from the number they see.
    counts
        The numbers that are published, by cell; -1 where the release had no count.
    base
        All rounded counts are multiples of this.
    distance
        By how much the counts changed, in sum.
    nearest
        Whether no other choice changes them less, as reported by a solver, not proved.
    """

    release: Release
    counts: Counts
    base: int
    distance: int
    nearest: bool

    def __repr__(self) -> str:
        most = "" if self.nearest else " (perhaps not the least)"
        return f"ControlledRounding: multiples of {self.base}, changed by {self.distance:,} in sum{most}"


def controlled_rounding(
    release: Release, base: int, *, keep: Collection[str] = (), effort: float = 1.0
) -> ControlledRounding | None:
    """Round all counts of a release to multiples of a base so that its tables still add up.

    Parameters
    ----------
    release
        The tables about one area. Intervals and suppressed cells stay as they are.
    base
        Counts become multiples of this.
    keep
        Tables whose counts stay as they are.
    effort
        Multiplies the limit on work.

    Returns
    -------
    ControlledRounding or None
        The rounding; None if none was found in which every count goes to a multiple next to it.

    Raises
    ------
    InputError
        If the base is not a whole number of 2 or more.
    Undecided
        If too many kinds of records are possible.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex*ill"): [6, 1, 3, 2],
    ...                                  st.make_table(schema, "sex"): [7, 5]})
    >>> found = st.controlled_rounding(release, 5)
    >>> found.counts.tolist(), found.distance
    ([5, 0, 5, 0, 5, 5], 8)
    >>> [cell.value() for cell in found.release.cells]
    ['1-9', '0-4', '1-9', '0-4', '1-9', '1-9']
    """
    check_release(release)
    _check(base, keep, effort)
    refuse_sums(release.layout, "rounding")
    exact = release.low == release.high
    free = exact & np.array([table not in keep for table, _ in release.layout.names], bool)
    over = np.where(free, release.low % base, 0)
    up = _choice(_classes(release, exact), over, free, base=base, nodes=max(1, int(_NODES * effort)))
    if up is None:
        return None
    above, nearest = up
    change = np.where(over > 0, above * base - over, 0)
    counts = np.where(exact, release.low + change, -1)
    low, high = release.low.copy(), release.high.copy()
    below, beyond = Rounding(base, METHOD).reach
    low[free] = np.maximum(0, counts[free] - below)
    high[free] = np.minimum(UNBOUNDED, counts[free] + beyond)
    made = Release(release.layout, low, high, release.area)
    return ControlledRounding(made, counts, base, int(np.abs(change).sum()), nearest)


def _check(base: int, keep: Collection[str], effort: float) -> None:
    check_type(base, Integral, name="base", remedy="give a number such as 5")
    if not 2 <= base <= LARGEST_BASE:
        raise InputError(
            f"a rounding base must lie between 2 and {LARGEST_BASE:,}",
            found=str(base)[:20],
            remedy="use a number such as 5",
        )
    check_each(keep, str, name="keep", remedy="list the names of tables")
    check_type(effort, Real, name="effort")


def _classes(release: Release, exact: NDArray[np.bool_]) -> System:
    """The classes of record types that exact cells tell apart.

    Nothing but the schema says which types there are, so that just the equations that always hold do.
    """
    low, high = np.zeros(len(exact), np.int64), np.full(len(exact), UNBOUNDED, np.int64)
    high[exact] = 1
    blank = Release(release.layout, low, high, release.area)
    return build_system(make_frame(release.layout), blank, most_types=_MOST_TYPES)


def _choice(
    system: System, over: Counts, free: NDArray[np.bool_], *, base: int, nodes: int
) -> tuple[Counts, bool] | None:
    """Per cell whether it is rounded up, and whether nothing nearer is left; None if no choice was found.

    ``over`` is how far each count lies above a multiple, ``free`` says which counts may be rounded.
    """
    cells = np.flatnonzero(system.row_of_cell >= 0)
    row_of, n_rows, n_classes = system.row_of_cell[cells], len(system.rows), system.n_classes
    excess, times, kept = (np.zeros(n_rows, np.int64) for _ in range(3))
    np.maximum.at(excess, row_of, over[cells])
    np.add.at(times, row_of, free[cells])
    np.add.at(kept, row_of, ~free[cells])
    if bool(((excess > 0) & (kept > 0)).any()):
        return None  # a count that must stay in one table and is rounded in another one
    cost = np.concatenate([np.zeros(n_classes), times * (base - 2.0 * excess)])
    lower = np.concatenate([np.full(n_classes, -np.inf), np.zeros(n_rows)])
    upper = np.concatenate([np.full(n_classes, np.inf), (excess > 0).astype(float)])
    program = Inequalities(cost, lower, upper)
    ends = -excess.astype(float)
    program.add(csr_array(hstack([system.sparse, -base * eye_array(n_rows)])), ends, ends)
    point, bound = program.solve_whole(np.arange(n_classes + n_rows) >= n_classes, nodes=nodes)
    if point is None:
        return None
    up = np.where(excess > 0, np.rint(point[n_classes:]), 0).astype(np.int64)
    if not _adds_up(system, point[:n_classes], base * up - excess):
        return None
    found = np.zeros(len(over), np.int64)
    found[cells] = up[row_of]
    return found, bound > float(cost[n_classes:] @ up) - 0.5


def _adds_up(system: System, classes: NDArray[np.float64], change: Counts) -> bool:
    """Whether the changes are sums over classes of changes, in whole numbers; those may be fractions."""
    for denominator in _DENOMINATORS:
        scaled = np.rint(classes * denominator)
        small = np.abs(scaled).max(initial=0) < _SMALL
        if small and np.array_equal(system.sums(scaled.astype(np.int64)), denominator * change):
            return True
    return False
