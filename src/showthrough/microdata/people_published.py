"""From outside: for how many people a publication makes readers surer than promised.

True shares are not published, so nothing here goes by estimates alone. A group counts as exposed only if so
many of its rows show a value that this would hardly happen if the promise were kept there, and as safe
only if so few do. *Hardly* is a probability for the whole publication (``LEVEL``), divided among all pairs of
a group and a value that are looked at (Bonferroni), so one false alarm anywhere is that unlikely.

Of n rows of a group in which k people have a value, the number that shows it is a sum of n independent
draws of 0 or 1 with mean n q, q = p k/n + (1 − p)/m. Its tails beyond the mean are at most those of a
binomial number with n draws and chance q (Hoeffding 1956, theorem 4), which are computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.sparse import csr_array, vstack

from showthrough.errors import InputError
from showthrough.frames.columns import texts
from showthrough.microdata.groups import Groups
from showthrough.microdata.manifest import Manifest
from showthrough.microdata.partitioned import recover
from showthrough.microdata.people import (
    SMALL,
    ExposedGroup,
    PeopleSummary,
    ReaderUnits,
    belief,
    largest_share,
)
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.published import damaged, renumber

__all__ = [
    "LEVEL",
    "Shown",
    "estimate_people",
    "surely_rare",
    "tail_above",
    "tail_below",
    "true_units",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: The probability, for a whole publication, that anything said to be sure is wrong.
LEVEL: Final = 0.01

#: How it is divided: for which values are rare; and three times for who is exposed, for who is not, and
#: for whole sub-tables.
RARE: Final = 0.4
EACH: Final = 0.2


@dataclass(frozen=True, eq=False)
class Shown:
    """The rows of a publication by unit; ``units.counts`` is how many show each value."""

    units: ReaderUnits
    #: How many copies of each trial a sampled publication has; 1 elsewhere, NaN if not published.
    copies: Floats
    #: Whether it is fixed how many people of a unit have a value; else chance decides that too, because
    #: records were sampled or sub-tables drawn.
    fixed: bool

    @classmethod
    def of(cls, publication: Publication) -> Shown:
        """Count the rows of a publication by public values and sub-table."""
        said = publication.manifest
        technical = [name for name in (said.label, said.copies) if name]
        groups = publication.read_groups([*said.public, *technical])
        table = np.zeros(len(groups), np.int64)
        copies = np.ones(len(groups)) if said.method != "sampled" else np.full(len(groups), np.nan)
        try:
            if said.label:
                table = np.asarray(groups.public[said.label].cast(pa.int64()), np.int64) - 1
            if said.copies:
                copies = np.asarray(groups.public[said.copies].cast(pa.float64()), np.float64)
        except (pa.ArrowException, ValueError):
            table = np.full(len(groups), -1)
        if len(table) and not (table.min() >= 0 and table.max() < len(said.tables)):
            raise damaged(publication.data, "a row belongs to a sub-table that does not exist")
        public = groups.public.select(list(said.public))
        units = ReaderUnits(
            public, said.domain, _aligned(groups, said, publication.data), table, said.sub_tables
        )
        return cls(units, copies, fixed=said.method == "uniform")

    @property
    def trials(self) -> Whole:
        """How many independent draws each unit has; none where that is not known."""
        found = np.rint(self.units.sizes / np.where(self.copies > 0, self.copies, np.inf))
        return np.where(np.isfinite(self.copies), found, 0).astype(np.int64)


def _aligned(groups: Groups, said: Manifest, file: Path) -> Any:
    """Counts with one column for each value of the domain, whether it is shown or not."""
    at = {row: number for number, row in enumerate(said.domain)}
    columns = [texts(groups.domain[name]) for name in said.sensitive]
    rows = list(zip(*columns, strict=True))
    unknown = next((row for row in rows if row not in at), None)
    if unknown is not None:
        raise damaged(file, "a row has a sensitive value that is not in the domain", ", ".join(unknown))
    cells = groups.counts.tocoo()
    value = np.array([at[row] for row in rows], np.int64)
    shape = (len(groups), len(said.domain))
    return csr_array((cells.data, (cells.row, value[cells.col])), shape=shape, dtype=np.int64)


def true_units(shown: Shown, truth: Groups, publication: Publication) -> ReaderUnits:
    """The people of a publication with their true values, as its readers see them.

    Public values are merged as the publication merged them. With which probabilities the records of a value
    went to which sub-table follows from the totals. Where it does not, because another version made the
    partition, it is estimated, and ``divided`` of the units says so.
    """
    said, units = publication.manifest, shown.units
    of, true = _joined_groups(units.public, truth, said)
    at_truth, at_unit = of[: len(truth)], of[len(truth) :]
    shape = (int(of.max(initial=-1)) + 1, len(said.domain))
    counts = csr_array((true.data, (at_truth[true.row], true.col)), shape=shape)
    sizes = np.asarray(counts.sum(axis=1), np.int64)
    published = np.bincount(at_unit, units.sizes, len(sizes)).astype(np.int64)
    if not (published == sizes)[(published > 0) | (said.method != "sampled")].all():
        raise InputError(
            "these are not the records of the publication: groups of people have other sizes",
            file=str(publication.folder),
            remedy="give the records it was made from, with the same columns",
        )
    if said.method != "partitioned":
        return ReaderUnits(units.public, units.domain, csr_array(counts[at_unit]), units.table, units.tables)
    first = np.unique(at_unit, return_index=True)[1]
    tables = len(units.tables)
    weights = _known_division(publication, np.asarray(counts.sum(axis=0), np.int64))
    divided = [counts.multiply(row[None, :]) for row in (_division(units) if weights is None else weights)]
    public = units.public.take(np.tile(first, tables)) if units.public.column_names else units.public
    return ReaderUnits(
        public,
        units.domain,
        csr_array(vstack([csr_array(part) for part in divided], format="csr")),
        np.repeat(np.arange(tables), len(first)),
        units.tables,
        divided=weights is not None,
    )


def _joined_groups(published: pa.Table, truth: Groups, said: Manifest) -> tuple[Whole, Any]:
    """A number for each group of the truth and each published one, the same for the same people."""
    domain = {row: number for number, row in enumerate(said.domain)}
    rows = list(zip(*(texts(truth.domain[name]) for name in said.sensitive), strict=True))
    unknown = next((row for row in rows if row not in domain), None)
    if unknown is not None:
        raise InputError(
            "these are not the records of the publication: a sensitive value is not in its domain",
            found=", ".join(unknown),
            remedy="give the records it was made from",
        )
    columns = list[pa.ChunkedArray]()
    for name in said.public:
        labels = {value: label for label, members in said.merged.get(name, {}).items() for value in members}
        given = [labels.get(value, value) for value in texts(truth.public[name])]
        shown: list[str] = [*given, *texts(published[name])]
        columns.append(pa.chunked_array([pa.array(shown, pa.string())]))
    number = len(truth) + len(published)
    of = renumber(columns)[0] if columns else np.zeros(number, np.int64)
    cells = truth.counts.tocoo()
    value = np.array([domain[row] for row in rows], np.int64)
    return of, csr_array(
        (cells.data, (cells.row, value[cells.col])), shape=(len(truth), len(said.domain))
    ).tocoo()


def _known_division(publication: Publication, totals: Whole) -> Floats | None:
    """For each sub-table (row) and value the probability with which its records went there, if known."""
    said = publication.manifest
    try:
        promise = said.own_promise
    except (LookupError, TypeError, ValueError):
        return None
    if not isinstance(promise, RhoPrivacy):
        return None
    found = recover(said.sub_tables, totals, promise, [", ".join(row) for row in said.domain])
    return None if found is None else found.allotment / np.maximum(found.allotment.sum(axis=0), 1)


def _division(units: ReaderUnits) -> Floats:
    """For each sub-table (row) and value the share of the value's records in it, estimated."""
    kept = np.array([table.retention for table in units.tables])
    cells = units.counts.tocoo()
    seen = np.zeros((len(kept), len(units.domain)))
    np.add.at(seen, (units.table[cells.row], cells.col), cells.data)
    stray = np.array([table.stray for table in units.tables])
    held = np.maximum((seen - (stray * seen.sum(axis=1))[:, None]) / kept[:, None], 0)
    inside = np.zeros(seen.shape, bool)
    for at, table in enumerate(units.tables):
        inside[at, list(table.values)] = True
    held = np.where(inside, held + 1e-9, 0)
    total = held.sum(axis=0)
    return np.divide(held, total, out=np.zeros_like(held), where=total > 0)


def tail_above(shown: ArrayLike, number: ArrayLike, chance: ArrayLike) -> Floats:
    """At most this probable: that many or more of ``number`` draws with mean ``chance``; 1 below the mean.

    >>> float(tail_above(3, 3, 0.5)), float(tail_above(1, 3, 0.5))
    (0.125, 1.0)
    """
    o, n, q = (np.asarray(x, np.float64) for x in (shown, number, chance))
    with np.errstate(invalid="ignore"):
        tail = special.betainc(np.maximum(o, 1), np.maximum(n - o, 0) + 1, np.clip(q, 0, 1))
    return np.where((o >= 1) & (o - 1 >= n * q * (1 - 1e-12)), tail, 1.0)


def tail_below(shown: ArrayLike, number: ArrayLike, chance: ArrayLike) -> Floats:
    """At most this probable: that many or fewer of ``number`` draws with mean ``chance``; 1 above the mean.

    >>> float(tail_below(0, 3, 0.5)), float(tail_below(2, 3, 0.5))
    (0.125, 1.0)
    """
    o, n, q = (np.asarray(x, np.float64) for x in (shown, number, chance))
    tail = special.betaincc(np.maximum(o, 0) + 1, np.maximum(n - o, 1), np.clip(q, 0, 1))
    return np.where((o < n) & (o + 1 <= n * q * (1 + 1e-12)), tail, 1.0)


def surely_rare(shown: Shown, prior: float, *, level: float) -> tuple[Flags, Flags]:
    """Which values surely have at most a share ``prior`` of the records, and which may have.

    Bernstein's inequality for the sum of all rows, each weighed with its copies and 1/retention. It holds
    for any true numbers; ``level`` is divided among values and both directions.
    """
    units, copies = shown.units, np.where(np.isfinite(shown.copies), shown.copies, 1)
    kept = np.array([table.retention for table in units.tables])[units.table]
    stray = np.array([table.stray for table in units.tables])[units.table]
    sizes, m = units.sizes, len(units.domain)
    member = np.zeros((len(units.tables), m), bool)
    for at, table in enumerate(units.tables):
        member[at, list(table.values)] = True
    estimate = (
        np.asarray((1 / kept) @ units.counts)
        - np.bincount(units.table, stray * sizes / kept, len(units.tables)) @ member
    )
    own = kept + stray
    spread = np.maximum(own * (1 - own), stray * (1 - stray))
    # Any draw of 0 or 1 has a variance of at most 1/4, whatever else is left to chance.
    draws = sizes * copies * (spread if shown.fixed else 0.25) / kept**2
    within = np.bincount(units.table, draws, len(units.tables)) @ member
    step = float((copies / kept).max(initial=1))
    log = np.log(2 * m / level)
    reach = step * log / 3 + np.sqrt((step * log / 3) ** 2 + 2 * within * log)
    # Rounding of samples and copies moves a group's number by less than one of each.
    reach += float(((1 / kept + copies / kept) * (copies > 1)).sum())
    known = np.isfinite(shown.copies).all()
    limit = prior * sizes.sum()
    perhaps = (estimate - reach <= limit) | (not known)
    return (estimate + reach <= limit) & known & (member.any(axis=0)), perhaps


def estimate_people(
    shown: Shown, promise: RhoPrivacy, *, level: float = LEVEL, worst: int = 10
) -> PeopleSummary:
    """For how many people a reader of the publication becomes surer than promised: at least, at most."""
    units, sizes, trials = shown.units, shown.units.sizes, shown.trials
    rare, perhaps = surely_rare(shown, promise.prior, level=level * RARE)
    limits = _Limits.of(shown, promise)
    cells = csr_array(units.counts).tocoo()
    unit, value, seen = cells.row.astype(np.int64), cells.col.astype(np.int64), cells.data.astype(np.float64)
    copies = np.where(np.isfinite(shown.copies), shown.copies, 1)[unit]
    low_seen = np.where(copies > 1, np.ceil((seen - 1) / copies), seen)
    high_seen = np.where(copies > 1, np.floor((seen + 1) / copies), seen)
    above, can_be_over = _threshold(limits.over**trials, limits.n_values, level * EACH)
    below, can_be_safe = _threshold((1 - limits.under) ** trials, limits.n_values, level * EACH)
    tails = tail_above(low_seen, trials[unit], limits.over[unit])
    sure = rare[value] & can_be_over[unit] & (tails <= above)
    tails = tail_below(high_seen, trials[unit], limits.under[unit])
    fine = ~perhaps[value] | (can_be_safe[unit] & (tails <= below))
    # Values that no row of a unit shows must be excluded too, if they may be rare.
    inside = np.array([int(perhaps[list(table.values)].sum()) for table in units.tables])[units.table]
    unseen = inside > np.bincount(unit, perhaps[value], len(sizes))
    safe = np.bincount(unit, ~fine, len(sizes)) == 0
    safe &= ~unseen | (can_be_safe & (tail_below(0, trials, limits.under) <= below))
    exposed = np.unique(unit[sure])
    found = _Sure(shown, promise, unit[sure], value[sure], low_seen[sure], above, limits)
    pooled = csr_array((low_seen, (units.table[unit], value)), shape=(len(units.tables), len(rare))).toarray()
    return PeopleSummary(
        exact=False,
        broken=bool(len(exposed)) or _is_broken_pooled(shown, limits, pooled, rare, level * EACH),
        groups=len(sizes),
        people=int(sizes.sum()),
        protected_values=int(rare.sum()),
        not_rare=None,
        exposed=int(sizes[exposed].sum()),
        exposed_most=int(max(sizes[~safe].sum(), sizes[exposed].sum())),
        exposed_groups=len(exposed),
        small=int(sizes[exposed][sizes[exposed] < SMALL].sum()),
        shown=int(seen[rare[value]].sum()),
        rows=int(seen[sure].sum()),
        posterior=float(found.surely.max(initial=0)),
        posterior_large=float(found.surely.max(initial=0)),
        level=level,
        worst=found.worst(worst),
    )


@dataclass(frozen=True, eq=False)
class _Limits:
    """The chances of a row to show a value: at most if the promise is kept, and at least if it is not."""

    over: Floats
    under: Floats
    n_values: Whole

    @classmethod
    def of(cls, shown: Shown, promise: RhoPrivacy) -> _Limits:
        units, number = shown.units, np.maximum(shown.trials, 1)
        kept = np.array([table.retention for table in units.tables])[units.table]
        n_values = np.array([table.n_values for table in units.tables])[units.table]
        stray = np.array([table.stray for table in units.tables])[units.table]
        share = largest_share(promise, kept, n_values)
        if shown.fixed:  # k of n people have it, so k is whole
            most = np.floor(share * number * (1 + 1e-12) + 1e-9)
            over, under = most / number, (most + 1) / number
        else:
            rounded = np.where(shown.copies > 1, 1 / number, 0)
            over, under = share + rounded, np.maximum(share - rounded, 0)
        return cls(
            np.clip(kept * np.minimum(over, 1) + stray, 0, 1),
            np.clip(kept * np.minimum(under, 1) + stray, 0, 1),
            n_values,
        )


def _threshold(least: Floats, pairs: Whole, level: float) -> tuple[float, Flags]:
    """How small a tail must be: ``level`` over the pairs that are tested at all; and which units are.

    ``least`` is the smallest tail each unit can have, which follows from its size: units that could never
    be sure are not tested, so that they do not count (Tarone 1990).
    """
    order = np.argsort(least, kind="stable")
    number = np.cumsum(pairs[order])
    fits = np.flatnonzero((least[order] <= level / np.maximum(number, 1)) & (least[order] < 1))
    tested = np.zeros(len(least), bool)
    if not len(fits):
        return 0.0, tested
    tested[order[: fits[-1] + 1]] = True
    return float(level / number[fits[-1]]), tested


def _is_broken_pooled(shown: Shown, limits: _Limits, seen: Floats, rare: Flags, level: float) -> bool:
    """Whether a sub-table shows a rare value more often than if every group in it kept the promise."""
    table, trials = shown.units.table, shown.trials.astype(np.float64)
    number = np.bincount(table, trials, len(seen))
    chance = np.bincount(table, trials * limits.over, len(seen)) / np.maximum(number, 1)
    tails = tail_above(seen, number[:, None], chance[:, None])
    return bool((tails[:, rare] <= level / seen.size).any())


@dataclass(frozen=True, eq=False)
class _Sure:
    """Pairs of a unit and a value that surely break the promise."""

    shown: Shown
    promise: RhoPrivacy
    unit: Whole
    value: Whole
    seen: Floats
    threshold: float
    limits: _Limits

    @property
    def surely(self) -> Floats:
        """What each posterior surely exceeds: at the least share that the number of rows allows."""
        units, n = self.shown.units, self.shown.trials[self.unit]
        kept = np.array([table.retention for table in units.tables])[units.table[self.unit]]
        stray = np.array([table.stray for table in units.tables])[units.table[self.unit]]
        chance = special.betaincinv(np.maximum(self.seen, 1), n - self.seen + 1, self.threshold)
        extra = np.where(self.shown.copies[self.unit] > 1, 1 / np.maximum(n, 1), 0)
        share = (chance - stray) / kept - extra
        # The test itself excludes every share up to the limit.
        limit = (self.limits.under if self.shown.fixed else self.limits.over)[self.unit]
        at_least = (limit - stray) / kept - (0 if self.shown.fixed else extra)
        return self._posterior(np.clip(np.maximum(share, at_least), 0, 1))

    def _posterior(self, share: Floats) -> Floats:
        units = self.shown.units
        table = units.table[self.unit]
        kept = np.array([one.retention for one in units.tables])[table]
        n_values = np.array([one.n_values for one in units.tables])[table]
        return belief(self.promise, share, kept, n_values)

    def worst(self, number: int) -> tuple[ExposedGroup, ...]:
        """Those with the largest posteriors that are sure, with estimated shares."""
        units, surely = self.shown.units, self.surely
        order = np.lexsort((self.value, self.unit, -surely))[:number]
        n = np.maximum(self.shown.trials[self.unit], 1)
        kept = np.array([one.retention for one in units.tables])[units.table[self.unit]]
        stray = np.array([one.stray for one in units.tables])[units.table[self.unit]]
        share = np.clip((self.seen / n - stray) / kept, 0, 1)
        own = kept + stray
        error = np.sqrt((share * own * (1 - own) + (1 - share) * stray * (1 - stray)) / n) / kept
        sure = self._posterior(share)
        return tuple(
            ExposedGroup(
                units.named(int(self.unit[at])),
                int(units.table[self.unit[at]]) + 1 if len(units.tables) > 1 else None,
                ", ".join(units.domain[int(self.value[at])]),
                int(units.sizes[self.unit[at]]),
                float(share[at]),
                float(sure[at]),
                float(error[at]),
                float(surely[at]),
            )
            for at in order.tolist()
        )
