"""Check (ρ1, ρ2)-privacy of an ordinal publication: for any records, or exactly if these are given.

From outside, what is certain follows from the amplification γ: a value with a share f of a group is
believed with at most γ f/(γ f + 1 − f), whatever the other values are. With the truth, Bayes' rule is
applied to every group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.microdata.channel import AnyChannel, Channel
from showthrough.microdata.check_summary import CheckVerdict
from showthrough.microdata.groups import Groups
from showthrough.microdata.manifest import MOST_ORDERED
from showthrough.microdata.ordinal import ordinal_channel
from showthrough.microdata.people import EQUAL, SMALL, ExposedGroup, PeopleExposed, PeopleSummary, ReaderUnits
from showthrough.microdata.people_published import LEVEL, Shown, true_units
from showthrough.microdata.plan import SubTable
from showthrough.microdata.product import find_channel
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publication import Publication

__all__ = [
    "OrdinalCheck",
    "check_ordinal",
    "find_ordinal_exposure",
    "posteriors",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Numbers (groups times values times values) that are held at a time.
HELD = 2**22

#: How sure readers become, at least, about and at most; the verdict, and for how many people.
OrdinalCheck = tuple[float, float, float, CheckVerdict, PeopleSummary]


def check_ordinal(
    publication: Publication, promise: RhoPrivacy, *, truth: Groups | None, worst: int
) -> OrdinalCheck:
    """How sure readers of an ordinal publication become."""
    said = publication.manifest
    (table,) = said.sub_tables
    channel, order = find_channel(said), list(table.values)
    power = 2 if promise.known_totals else 1
    most = _bound(promise.prior, channel.amplification**power)
    shown = Shown.of(publication)
    totals = channel.likeliest(np.asarray(shown.units.counts.sum(axis=0))[order])
    shares = totals / max(1, totals.sum())
    about = _largest(shares, channel)
    rare = (shares > 0) & (shares <= promise.prior)
    middle = min(most, float(about[rare].max(initial=0)))
    if truth is None:
        certain = channel.amplification <= promise.amplification * EQUAL
        people = _unknown(shown.units, certain=certain and not said.public)
        verdict: CheckVerdict = "holds" if certain and not said.public else "undecided"
        return 0.0, middle, most, verdict, people
    if promise.sets != 1 or promise.known_totals:
        raise InputError(
            f"sets of values and known totals are not checked with the records for the method {said.method}",
            file=str(publication.folder),
            remedy="check it without the records, or for single values",
        )
    if table.n_values > MOST_ORDERED:
        raise InputError(
            f"the records of a publication with over {MOST_ORDERED:,} combinations of values are not checked",
            file=str(publication.folder),
            found=str(table.n_values),
            remedy="check it without the records",
        )
    units = true_units(shown, truth, publication)
    people = _exact(units, promise, _dense(channel), order, worst=worst)
    return 0.0, middle, most, _verdict(people), people


def _largest(shares: Floats, channel: AnyChannel) -> Floats:
    """How sure a reader becomes of each value, at most, if values have these shares."""
    if isinstance(channel, Channel):
        return posteriors(shares[None, :], channel).max(axis=2)[0]
    # Whatever a product of uniform channels shows, the value itself makes it likeliest.
    own = np.ones(1)
    for one in channel.channels:
        own = np.outer(own, np.diag(one.matrix)).ravel()
    shown = channel.push(shares)
    return np.divide(shares * own, shown, out=np.zeros_like(shown), where=shown > 0)


def _verdict(people: PeopleSummary) -> CheckVerdict:
    return "violated" if people.broken else "holds"


def posteriors(shares: Floats, channel: Channel) -> Floats:
    """Pr[X = x | Y = y] for each group (row of shares), value x and shown value y, by Bayes' rule.

    >>> posteriors(np.array([[0.5, 0.5]]), Channel(np.array([[0.75, 0.25], [0.25, 0.75]])))[0].tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    joint = shares[:, :, None] * channel.matrix
    shown = joint.sum(axis=1, keepdims=True)
    return np.divide(joint, shown, out=np.zeros_like(joint), where=shown > 0)


def _bound(share: float, amplification: float) -> float:
    return amplification * share / (amplification * share + 1 - share)


def _unknown(units: ReaderUnits, *, certain: bool) -> PeopleSummary:
    people = int(units.sizes.sum())
    return PeopleSummary(
        exact=False,
        broken=False,
        groups=len(units),
        people=people,
        protected_values=0,
        not_rare=None,
        exposed=0,
        exposed_most=0 if certain else people,
        exposed_groups=0,
        small=0,
        shown=0,
        rows=0,
        posterior=0.0,
        posterior_large=0.0,
        level=LEVEL,
    )


def find_ordinal_exposure(
    counts: Any, table: SubTable, promise: RhoPrivacy, protected: Flags
) -> PeopleExposed:
    """How many people there are in groups where readers become too sure, from true numbers."""
    channel, order = _channel(table), list(table.values)
    found = PeopleExposed()
    for _, some in _blocks(counts, order):
        found += _Sure.of(some, channel, promise, protected[order]).exposure(promise)
    return found


def _exact(
    units: ReaderUnits, promise: RhoPrivacy, channel: Channel, order: list[int], *, worst: int
) -> PeopleSummary:
    """For how many people readers become too sure, from true numbers, and the worst groups."""
    protected = promise.protects(np.asarray(units.counts.sum(axis=0)))
    found, exposed = PeopleExposed(), list[tuple[bool, float, int, int, float]]()
    for first, some in _blocks(units.counts, order):
        sure = _Sure.of(some, channel, promise, protected[order])
        found += sure.exposure(promise)
        for at, x in np.argwhere(sure.over.any(axis=2)).tolist():
            small, share = bool(sure.sizes[at] < SMALL), float(sure.shares[at, x])
            exposed.append((small, -float(sure.largest[at, x]), first + at, x, share))
    worst_groups = [
        ExposedGroup(
            units.named(at), None, ", ".join(units.domain[order[x]]), round(units.sizes[at]), share, -minus
        )
        for _, minus, at, x, share in sorted(exposed)[:worst]
    ]
    return PeopleSummary.of(found, protected_values=int(protected.sum()), worst=worst_groups)


def _dense(channel: AnyChannel) -> Channel:
    if isinstance(channel, Channel):
        return channel
    matrix: Any = reduce(np.kron, (one.matrix for one in channel.channels))
    return Channel(matrix)


def _channel(table: SubTable) -> Channel:
    return ordinal_channel(table.n_values, table.decay or 0, table.floor or 0)


def _blocks(counts: Any, order: list[int]) -> Iterator[tuple[int, Floats]]:
    size = max(1, HELD // len(order) ** 2)
    for first in range(0, counts.shape[0], size):
        yield first, np.asarray(counts[first : first + size].toarray(), np.float64)[:, order]


@dataclass(frozen=True, eq=False)
class _Sure:
    """How sure readers become in some groups; values are in the order of the channel."""

    sizes: Floats
    shares: Floats
    #: The chance that a row of a group shows a value.
    showing: Floats
    protected: Flags
    #: The largest posterior of each protected value; and which shown value makes one too sure of which.
    largest: Floats
    over: NDArray[np.bool_]

    @classmethod
    def of(cls, counts: Floats, channel: Channel, promise: RhoPrivacy, protected: Flags) -> _Sure:
        sizes = counts.sum(axis=1)
        shares = counts / np.maximum(sizes, 1)[:, None]
        sure = posteriors(shares, channel)
        over = protected[None, :, None] & (sure > promise.posterior * EQUAL)
        largest = np.where(protected, sure.max(axis=2), 0)
        return cls(sizes, shares, shares @ channel.matrix, protected, largest, over)

    def exposure(self, promise: RhoPrivacy) -> PeopleExposed:
        """The same in numbers of people."""
        sizes, small = self.sizes, self.sizes < SMALL
        exposed, rows = self.over.any(axis=(1, 2)), sizes[:, None] * self.showing
        not_rare = (self.shares[:, self.protected] > promise.prior * EQUAL).any(axis=1)
        return PeopleExposed(
            groups=len(sizes),
            people=float(sizes.sum()),
            not_rare=float(sizes[not_rare].sum()),
            exposed=float(sizes[exposed].sum()),
            exposed_groups=int(exposed.sum()),
            small=float(sizes[exposed & small].sum()),
            shown=float(rows[:, self.protected].sum()),
            rows=float(rows[self.over.any(axis=1)].sum()),
            posterior=float(self.largest.max(initial=0)),
            posterior_large=float(self.largest[~small].max(initial=0)),
        )
