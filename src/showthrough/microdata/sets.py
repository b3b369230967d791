"""Sets of values: how sure a reader becomes that a record has *one of* several values.

(ρ1, ρ2)-privacy, as it is promised here, is about single values. Uniform perturbation over one domain
keeps it for sets too: if no published value is more than γ times likelier under one true value than under
another, the posterior of a set with prior π is at most γπ/(γπ + 1 − π), which is what a single value with
this prior would have. Sub-tables do not: their label excludes all values that are not in them, so a set of
rare values may fill much of a sub-table, or all of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, closest
from showthrough.frames.columns import texts
from showthrough.microdata.promises import RhoPrivacy
from showthrough.text import percent

__all__ = [
    "SINGLE",
    "Family",
    "SetBelief",
    "describe_sets",
    "equivalent_share",
    "largest_shares",
    "set_share",
    "value_names",
    "worst_set",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
#: How bad it is to show a value with this many records whose set has that many; grows with both.
Score = Callable[[Any, Any], Any]

#: How many choices are looked at to find the heaviest set of one sub-table, before a bound must do.
_NODES = 20_000
#: Values of a set that are named in a sentence.
_NAMED = 4


@dataclass(frozen=True)
class Family:
    """Which sets of values are protected: all up to a size, and some that are named by their positions.

    >>> Family.of(RhoPrivacy(0.1, 0.5, sets=(("mayor", "judge"),)), ["clerk", "judge", "mayor"])
    Family(size=1, named=((1, 2),))
    """

    size: int = 1
    named: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, promise: RhoPrivacy, names: Sequence[str] = ()) -> Family:
        """The sets of a promise; ``names`` are those of the values."""
        if isinstance(promise.sets, int):
            return cls(promise.sets)
        at = {name: position for position, name in enumerate(names)}
        for name in (name for one in promise.sets for name in one):
            if name not in at:
                raise InputError(
                    "a set has a value that no record has", found=name, remedy=closest(name, names)
                )
        return cls(1, tuple(tuple(sorted({at[name] for name in one})) for one in promise.sets))

    @property
    def is_single(self) -> bool:
        """Whether it is about single values only."""
        return self.size == 1 and not self.named


#: Single values only.
SINGLE = Family()


def value_names(domain: pa.Table) -> list[str]:
    """The sensitive values as text; the parts of compound ones with commas between them."""
    columns = [texts(domain[name]) for name in domain.column_names]
    return [", ".join(row) for row in zip(*columns, strict=True)]


def equivalent_share(largest: ArrayLike, together: ArrayLike, promise: RhoPrivacy) -> Floats:
    """The share of a single value that would need the same retention as a set does.

    The set has the share s ``together``, and the most frequent of its values the share a, ``largest``. With
    b = (1 − p)/m its posterior is (b s + p a)/(b + p a); this is at most ρ2 if and only if the posterior of
    a single value with the share ρ2 a/(a + ρ2 − s) is. For a reader who knows the totals it is s itself,
    because that is what the bound for such a reader goes by.

    >>> float(equivalent_share(0.1, 0.1, RhoPrivacy(0.2, 0.5)))
    0.1
    """
    a, s = np.broadcast_arrays(np.asarray(largest, np.float64), np.asarray(together, np.float64))
    if promise.known_totals:
        return s.copy()
    room = promise.posterior - s
    return np.divide(promise.posterior * a, a + room, out=s.copy(), where=(room > 0) & (a > 0))


def largest_shares(tables: ArrayLike, promise: RhoPrivacy, family: Family) -> Floats:
    """For each sub-table (row) the largest equivalent share of a protected value or set, or a little more.

    Protected are the values and the sets of the family that at most a share ρ1 of all records has. For
    sets up to a size it is exact, or a bound above it where there are too many.

    >>> tables = [[4, 4, 2, 0, 0], [0, 0, 2, 1, 1]]
    >>> largest_shares(tables, RhoPrivacy(1 / 3, 2 / 3), Family(named=((3, 4),))).round(3).tolist()
    [0.4, 0.5]
    """
    counts = np.asarray(tables, np.int64)
    totals = counts.sum(axis=0)
    sizes = np.maximum(counts.sum(axis=1), 1)
    capacity = promise.most_protected(totals)
    found = counts[:, promise.protects(totals)].max(axis=1, initial=0) / sizes
    for members in map(list, family.named):
        if 0 < totals[members].sum() <= capacity:
            inside = counts[:, members]
            shares = equivalent_share(inside.max(axis=1) / sizes, inside.sum(axis=1) / sizes, promise)
            found = np.maximum(found, shares)
    if family.size > 1:
        for at, row in enumerate(counts):
            found[at] = max(found[at], set_share(row, totals, promise, family.size)[1])
    return found


def set_share(row: Any, totals: Any, promise: RhoPrivacy, number: int) -> tuple[float, float]:
    """The largest equivalent share of a protected set in one sub-table: found, and what it is at most."""
    size = max(float(row.sum()), 1e-300)

    def score(largest: Any, together: Any) -> Any:
        return equivalent_share(largest / size, together / size, promise)

    best = _search(row, totals, promise.most_protected(totals), number, score)
    return best.score, best.at_most


@dataclass(frozen=True)
class SetBelief:
    """How sure a reader becomes that a record has one of several values."""

    #: Positions of the values, and the sub-table (from 0) and the published value with which it happens.
    values: tuple[int, ...]
    table: int
    shown: int
    #: The share of all records that have one of them.
    prior: float
    posterior: float
    #: No other set of this kind has a larger posterior than this; equal to ``posterior`` if it is exact.
    at_most: float

    @property
    def is_exact(self) -> bool:
        """Whether this is certainly the worst set."""
        return self.at_most <= self.posterior * (1 + 1e-12)


def worst_set(
    tables: ArrayLike,
    retention: ArrayLike,
    promise: RhoPrivacy,
    *,
    n_values: ArrayLike | None = None,
    size: int | None = None,
    sizes: ArrayLike | None = None,
    totals: ArrayLike | None = None,
) -> SetBelief | None:
    """The set of values that a reader becomes surest of, among sets with a prior of at most ρ1.

    Rows of ``tables`` are sub-tables, with how many records of each value they (are expected to) have, each
    perturbed with its retention over its ``n_values`` values, by default those that occur in it. ``size``
    limits how many values a set has. None if no set of two values is rare enough. If numbers are not known:
    with as many as there surely are in ``tables``, the ``sizes`` of sub-tables, and as many as there can be
    in ``totals``, the posterior is one that is surely reached.

    >>> tables = [[12, 8, 6, 4, 4, 2, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 1, 1, 1, 1]]
    >>> found = worst_set(tables, [1 / 3, 3 / 5], RhoPrivacy(1 / 3, 2 / 3), size=2)
    >>> found.table, round(found.posterior, 4), found.is_exact
    (1, 0.7333, True)
    """
    counts = np.asarray(tables, np.float64)
    rows = counts.sum(axis=1) if sizes is None else np.asarray(sizes, np.float64)
    total = counts.sum(axis=0) if totals is None else np.asarray(totals, np.float64)
    kept = np.broadcast_to(np.asarray(retention, np.float64), len(counts))
    domain = np.broadcast_to((counts > 0).sum(axis=1) if n_values is None else n_values, len(counts))
    capacity, number = promise.most_protected(rows), len(total) if size is None else size
    best: SetBelief | None = None
    at_most = 0.0
    for at, row in enumerate(counts):
        if not row.any():
            continue
        score = _posterior_score(float(rows[at]), float(kept[at]), int(domain[at]))
        found = _search(row, total, capacity, number, score)
        at_most = max(at_most, found.at_most)
        if len(found.values) > 1 and (best is None or found.score > best.posterior):
            prior = float(total[list(found.values)].sum() / rows.sum())
            best = SetBelief(found.values, at, found.shown, prior, found.score, 0.0)
    if best is None:
        return None
    return SetBelief(best.values, best.table, best.shown, best.prior, best.posterior, at_most)


def _posterior_score(size: float, retention: float, n_values: int) -> Score:
    stray = (1 - retention) / n_values

    def score(largest: Any, together: Any) -> Any:
        return (stray * together + retention * largest) / (stray * size + retention * largest)

    return score


def describe_sets(found: SetBelief, names: Sequence[str], promise: RhoPrivacy, *, exact: bool = True) -> str:
    """What a reader learns about a set of values, as a sentence; at least, if numbers are not ``exact``.

    >>> found = SetBelief((6, 7), 1, 6, 2 / 42, 11 / 15, 11 / 15)
    >>> print(describe_sets(found, list("abcdefjm"), RhoPrivacy(1 / 3, 2 / 3)).replace("\xa0", " "))
    of 2 values together a reader can become surer: up to 73.3 % that it is one of j, m (4.8 % of the records)
    """
    shown = [names[at] for at in found.values[:_NAMED]]
    more = len(found.values) - len(shown)
    listed = ", ".join(shown) + (f" and {more:,} more" if more else "")
    of_all = f"{'' if exact else 'at most '}{percent(found.prior, 1)} of the records"
    sure = (
        f"{'up to' if exact else 'over'} {percent(found.posterior, 1)} that it is one of {listed} ({of_all})"
    )
    surer = "can become surer:" if found.posterior > promise.posterior * (1 + 1e-9) else "becomes sure"
    return f"of {len(found.values):,} values together a reader {surer} {sure}"


@dataclass(frozen=True)
class _Best:
    values: tuple[int, ...]
    shown: int
    score: float
    at_most: float


def _search(row: Any, totals: Any, capacity: float, number: int, score: Score) -> _Best:
    """The set with the highest score in one sub-table, and a bound on the score of any other.

    For each value that may be shown, the worst set that has it is a knapsack: as many records of this
    sub-table as possible, with no more than the capacity in the whole table.
    """
    items = np.flatnonzero((row > 0) & (totals <= capacity))
    if not len(items):
        return _Best((), -1, 0.0, 0.0)
    gain, weight = row[items], totals[items]
    most = np.sort(gain)[::-1][: number - 1].sum() if number > 1 else 0
    # Others add no more than the heaviest of them, and no more than what is left of the capacity.
    together = np.minimum(gain + np.minimum(most, capacity - weight), gain.sum())
    limits = np.asarray(score(gain, together), np.float64)
    best, nodes = _Best((), -1, 0.0, 0.0), _NODES
    # Of sets that are alike, the one with the smallest prior is found first.
    for at in np.lexsort((weight, -limits)).tolist():
        if limits[at] <= best.at_most * (1 + 1e-12):
            break
        others = np.delete(np.arange(len(items)), at)
        packed = _pack(gain[others], weight[others], capacity - weight[at], number - 1, nodes)
        nodes = max(0, nodes - packed.nodes)
        chosen = others[list(packed.chosen)]
        reached = float(score(gain[at], gain[at] + gain[chosen].sum()))
        bound = max(best.at_most, float(score(gain[at], gain[at] + packed.at_most)))
        if reached > best.score:
            values = tuple(sorted(items[[at, *chosen]].tolist()))
            best = _Best(values, int(items[at]), reached, bound)
        else:
            best = _Best(best.values, best.shown, best.score, bound)
    return best


@dataclass(frozen=True)
class _Packed:
    chosen: tuple[int, ...]
    #: No choice gains more.
    at_most: float
    nodes: int = 0


def _pack(gain: Any, weight: Any, capacity: float, number: int, nodes: int) -> _Packed:
    """Items that gain most, at most this many and so heavy; no item gains more than it weighs."""
    fits = np.flatnonzero(weight <= capacity)
    if number < 1 or not len(fits):
        return _Packed((), 0.0)
    heaviest = fits[np.lexsort((weight[fits], -gain[fits]))[:number]]
    if number == 1 or weight[heaviest].sum() <= capacity:
        return _Packed(tuple(heaviest.tolist()), float(gain[heaviest].sum()))
    order = fits[np.lexsort((-gain[fits], -gain[fits] / weight[fits]))]
    found = _Knapsack(gain[order].tolist(), weight[order].tolist()).best(capacity, number, nodes)
    return _Packed(tuple(order[list(found.chosen)].tolist()), found.at_most, found.nodes)


class _Knapsack:
    """Branch and bound over items in the order of their gain by weight."""

    def __init__(self, gain: list[float], weight: list[float]) -> None:
        self.gain, self.weight = gain, weight
        self.gains, self.weights = [0, *accumulate(gain)], [0, *accumulate(weight)]
        self.largest = [*accumulate(reversed(gain), max)][::-1]

    def best(self, capacity: float, number: int, nodes: int) -> _Packed:
        best, chosen, used = 0.0, tuple[int, ...](), 0
        stack = [(0, capacity, number, 0.0, tuple[int, ...]())]
        while stack and used < nodes:
            start, room, left, value, taken = stack.pop()
            used += 1
            if value > best:
                best, chosen = value, taken
            if start < len(self.gain) and left and value + self.limit(start, room, left) > best:
                stack.append((start + 1, room, left, value, taken))
                if self.weight[start] <= room:
                    more = (room - self.weight[start], left - 1, value + self.gain[start], (*taken, start))
                    stack.append((start + 1, *more))
        open_ = [value + self.limit(start, room, left) for start, room, left, value, _ in stack]
        return _Packed(chosen, max([best, *open_]), used)

    def limit(self, start: int, room: float, left: int) -> float:
        """What the items from ``start`` gain at most: if parts of them could be taken, or by their number."""
        if start == len(self.gain) or not left:
            return 0.0
        end = bisect_right(self.weights, self.weights[start] + room) - 1
        whole = self.gains[end] - self.gains[start]
        if end < len(self.gain):
            part = room - (self.weights[end] - self.weights[start])
            whole += self.gain[end] * part / self.weight[end]
        return min(whole, left * self.largest[start])
