"""Ordinal perturbation: a record shows its own value or, more likely than others, one that is near.

Values are ordered, x and y are positions in this order. A record with x shows y with a probability
proportional to max(exp(−θ|x − y|), φ): the *decay* θ makes near values likelier, the *floor* φ keeps far ones
possible. What counts for a promise is the amplification, the largest P(y|x)/P(y|x′) over all x, x′ and y:
if it is at most γ = ρ2(1 − ρ1)/(ρ1(1 − ρ2)), then a reader who holds any value, or any set of values, for at
most ρ1 probable, holds it for at most ρ2 probable after seeing a row, exactly as with uniform perturbation.
For each θ the smallest φ that keeps to γ is found; and the θ is taken that makes means most precise if all
values are equally frequent. Nothing here depends on the records but the number of their values. A large θ
is uniform perturbation, so means are never less precise than with it. Counts are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import KeyCodec
from showthrough.errors import InputError, RecordsError, check_each, check_type, closest
from showthrough.frames.columns import texts
from showthrough.microdata.channel import Channel
from showthrough.microdata.groups import Block, Groups, cut, iter_blocks
from showthrough.microdata.manifest import MOST_ORDERED
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.plan import PERTURB, Plan, SubTable, generator, promise_facts
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.uniform import Cells

__all__ = [
    "OrdinalPerturbation",
    "choose_channel",
    "describe_ordinal",
    "order_values",
    "ordinal_channel",
    "perturb_ordinal",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Decays that are tried, and the steps in which each one's floor is found.
DECAYS: Final = 40
STEPS: Final = 60

#: Records of a block that are drawn one by one; more are drawn by value.
ONE_BY_ONE: Final = 2**20

_NUMBER = re.compile(r"\s*(under )?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:$|\D.*)", re.I)


@dataclass(frozen=True)
class OrdinalPerturbation:
    """Every record shows its sensitive value or, more likely than others, one near it.

    Parameters
    ----------
    promise : RhoPrivacy
        What is promised about each person.
    order : sequence of str, optional
        The sensitive values as text in ascending order; by default that of their numbers.

    Raises
    ------
    InputError
        If there is no promise.

    Examples
    --------
    >>> OrdinalPerturbation(RhoPrivacy(0.1, 0.5)).name
    'ordinal'
    """

    promise: RhoPrivacy
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_type(self.promise, RhoPrivacy, name="promise", remedy="write RhoPrivacy(0.1, 0.5)")
        check_each(self.order, str, name="order", remedy="list the sensitive values in ascending order")
        object.__setattr__(self, "order", tuple(self.order))

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "ordinal"

    def table(self, domain: Any) -> SubTable:
        """The one table, with the values of a domain in their order."""
        order = order_values(domain, self.order)
        return choose_table(check_domain(len(order)), self.promise.amplification, order)

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Find the order of the values, and the decay."""
        table = self.table(tally.codec.domain)
        return _OrdinalPlan(tally.codec, tally.records, table, {"promise": promise_facts(self.promise)}, seed)


@dataclass(frozen=True, eq=False)
class _OrdinalPlan:
    codec: KeyCodec
    records: int
    table: SubTable
    facts: dict[str, Any]
    seed: int

    @property
    def tables(self) -> tuple[SubTable, ...]:
        return (self.table,)

    def blocks(self, tally: Tally) -> Iterator[Block]:
        return iter_blocks(tally)

    def draw(self, block: Block) -> Batch:
        cells = _perturb_counts(block.counts, self.table, generator(self.seed, PERTURB, block.number))
        return self.codec.join(block.public[cells.group], cells.value), cells.count


def ordinal_channel(n_values: int, decay: float, floor: float) -> Channel:
    """P(y|x) ∝ max(exp(−θ|x − y|), φ).

    >>> ordinal_channel(3, 1e9, 0.25).matrix.round(3).tolist()[0]
    [0.667, 0.167, 0.167]
    """
    at = np.arange(n_values)
    weights = np.maximum(np.exp(-decay * np.abs(at[:, None] - at)), floor)
    return Channel(weights / weights.sum(axis=1, keepdims=True))


@lru_cache(maxsize=64)
def choose_channel(n_values: int, amplification: float) -> tuple[float, float]:
    """The decay and the floor that make means most precise, of those that keep to an amplification.

    >>> decay, floor = choose_channel(20, 6.0)
    >>> ordinal_channel(20, decay, floor).amplification <= 6
    True
    """
    best, found = math.inf, (0.0, 1.0)
    for decay in np.geomspace(0.5 / n_values, 30, DECAYS).tolist():
        floor = _least_floor(n_values, decay, amplification)
        channel, ranks = ordinal_channel(n_values, decay, floor), np.arange(n_values)
        try:
            spread = float(channel.weigh(ranks).spread.mean())
        except InputError:  # no inverse
            continue
        if 0 < spread < best * (1 - 1e-9):
            best, found = spread, (decay, floor)
    return found


def _least_floor(n_values: int, decay: float, amplification: float) -> float:
    """The smallest floor that keeps to an amplification; the last one that was tried and does."""
    low, high = 0.0, 1.0
    if ordinal_channel(n_values, decay, low).amplification <= amplification:
        return low
    for _ in range(STEPS):
        middle = (low + high) / 2
        if ordinal_channel(n_values, decay, middle).amplification <= amplification:
            high = middle
        else:
            low = middle
    return high


def choose_table(n_values: int, amplification: float, order: tuple[int, ...]) -> SubTable:
    """A table that keeps to an amplification."""
    if n_values > MOST_ORDERED:  # estimates would be nothing but noise
        raise RecordsError(
            f"ordinal perturbation is for up to {MOST_ORDERED:,} values",
            found=str(n_values),
            remedy="put the numbers into bins, as in --bin income=quantiles:20",
        )
    decay, floor = choose_channel(n_values, amplification)
    reached = ordinal_channel(n_values, decay, floor).amplification
    # The retention of uniform perturbation that gives away as much: (γ − 1)/(m − 1 + γ).
    return SubTable((reached - 1) / (n_values - 1 + reached), order, decay, floor)


def describe_ordinal(table: SubTable) -> str:
    """What happens to a record, in a sentence."""
    own = np.diag(ordinal_channel(table.n_values, table.decay or 0, table.floor or 0).matrix)
    ends = sorted({f"{end:.3g}" for end in (own.min(), own.max())}, key=float)
    return (
        f"A record shows its own value with probability {' to '.join(ends)}, and near values more often than "
        f"far ones, of {table.n_values:,} values (decay {table.decay:.4g}, floor {table.floor:.4g})."
    )


def order_values(domain: Any, order: Sequence[str] = ()) -> tuple[int, ...]:
    """The positions of sensitive values in ascending order: as given, or by their numbers.

    >>> import pyarrow as pa
    >>> order_values(pa.table({"age": ["18–29", "65 and over", "under 18", "30–64"]}))
    (2, 0, 3, 1)
    >>> order_values(pa.table({"pain": ["none", "much", "some"]}), ["none", "some", "much"])
    (0, 2, 1)
    """
    if len(domain.column_names) != 1:
        raise InputError(
            "ordinal perturbation needs one sensitive column",
            found=", ".join(domain.column_names),
            remedy="name one column with --sensitive",
        )
    name = domain.column_names[0]
    shown = texts(domain[name])
    if order:
        return _given_order(name, shown, order)
    keys = [_key(text) for text in shown]
    for text, key in zip(shown, keys, strict=True):
        if key is None:
            raise RecordsError(
                "this value is not a number, so it has no place in the order",
                column=name,
                found=text,
                remedy="list all values in ascending order with --order, or use another method",
            )
    return tuple(sorted(range(len(shown)), key=lambda at: (keys[at], shown[at])))


def _given_order(name: str, shown: Sequence[str], order: Sequence[str]) -> tuple[int, ...]:
    for text in shown:
        if text not in order:
            raise InputError(
                "a value has no place in the order", column=name, found=text, remedy=closest(text, order)
            )
    if len(set(order)) < len(order):
        raise InputError("the order lists a value twice", column=name, found=", ".join(order))
    place = {text: at for at, text in enumerate(order)}
    return tuple(sorted(range(len(shown)), key=lambda at: place[shown[at]]))


def _key(text: str) -> tuple[float, int] | None:
    """Where a number or a bin stands: by its lower end, "under 18" before "18"."""
    found = _NUMBER.fullmatch(text)
    return None if found is None else (float(found[2]), 0 if found[1] else 1)


def perturb_ordinal(groups: Groups, table: SubTable, *, seed: int) -> Groups:
    """Groups whose records show their value or, more likely than others, one near it.

    >>> groups = Groups.of({"sex": ["f"]}, {"age": [10, 20, 30]}, [[50, 0, 0]])
    >>> table = OrdinalPerturbation(RhoPrivacy(0.1, 0.5)).table(groups.domain)
    >>> perturb_ordinal(groups, table, seed=1).sizes.tolist()
    [50]
    """
    parts = [
        _perturb_counts(counts, table, generator(seed, PERTURB, number)).matrix(counts.shape)
        for number, counts in cut(groups.counts)
    ]
    return groups.with_counts(parts)


def _perturb_counts(counts: Any, table: SubTable, chance: np.random.Generator) -> Cells:
    n_groups, n_values = counts.shape
    order = np.array(table.values)
    rank = np.argsort(order)
    matrix = ordinal_channel(n_values, table.decay or 0.0, table.floor or 0.0).matrix
    row = np.repeat(np.arange(n_groups), np.diff(counts.indptr))
    at = rank[counts.indices]
    if counts.data.sum() <= ONE_BY_ONE:
        group, of = np.repeat(row, counts.data), np.repeat(at, counts.data)
        # All distributions one after the other: that of rank x lies between x and x + 1.
        ends = np.cumsum(matrix, axis=1)
        ends[:, -1] = 1
        steps = (ends + np.arange(n_values)[:, None]).ravel()
        shown = np.searchsorted(steps, chance.random(len(of)) + of, side="right") - of * n_values
        shown = np.clip(shown, 0, n_values - 1)
        return Cells(group, order[shown], np.ones(len(group), np.int64))
    drawn = np.zeros((n_groups, n_values), np.int64)
    for value in range(n_values):
        own = at == value
        if own.any():
            np.add.at(drawn, row[own], chance.multinomial(counts.data[own], matrix[value]))
    group, shown = np.nonzero(drawn)
    return Cells(group, order[shown], drawn[group, shown])
