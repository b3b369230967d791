"""Check promises from outside: on a finished publication, with nothing but what is published.

Group sizes and parameters are published; frequencies are not, so they are estimated, and whatever
depends on them is only as certain as these estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError
from showthrough.export import Tabular
from showthrough.frames.columns import texts
from showthrough.microdata.check_ordinal import check_ordinal
from showthrough.microdata.check_summary import CheckVerdict, SubTableBelief
from showthrough.microdata.estimation import invert, likeliest, variance
from showthrough.microdata.groups import Groups, cut
from showthrough.microdata.manifest import SENSITIVE, Manifest
from showthrough.microdata.people import PeopleSummary, summarize_people
from showthrough.microdata.people_published import Shown, estimate_people, true_units
from showthrough.microdata.plan import free_name
from showthrough.microdata.promises import LDiversity, RhoPrivacy, posterior
from showthrough.microdata.publication import Publication
from showthrough.microdata.published import PublishedFile, damaged
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import trials_for
from showthrough.microdata.set_exposure import SetSummary, check_unit_sets
from showthrough.microdata.trials import IndependentTrials
from showthrough.microdata.violations import DiversityCheck, ReconstructionCheck
from showthrough.text import html_summary, percent

__all__ = [
    "CheckedGroups",
    "CheckedTables",
    "check_diversity",
    "check_reconstruction",
    "check_rho",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: How many standard errors the ends of an estimated posterior are away.
SURE: Final = 4.0

#: The methods that keep a value with a retention, or draw one of all with equal chances.
RANDOMIZED: Final = ("uniform", "partitioned", "sampled")


@dataclass(frozen=True, eq=False, repr=False)
class CheckedGroups(Tabular):
    """Which groups can be estimated too precisely, of records or of a publication (by estimated shares).

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [500, 300]])
    >>> checked = CheckedGroups.of(groups, ReconstructionPrivacy(0.3, 0.3), retention=0.5)
    >>> checked.to_arrow()["exact_violated"].to_pylist()
    [False, True]
    """

    public: pa.Table
    found: ReconstructionCheck
    #: How many records of each group were perturbed: all, or as many as were sampled.
    trials: Whole
    retention: float
    n_values: int
    promise: ReconstructionPrivacy
    #: Of a publication: where the promise holds, or is broken, whatever the records are.
    surely_held: NDArray[np.bool_] | None = None
    surely_violated: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, groups: Groups, promise: ReconstructionPrivacy, *, retention: float) -> CheckedGroups:
        """The groups of records, as they would be published with a retention (1: as they are)."""
        found = promise.check(groups, retention=retention)
        return cls(groups.public, found, found.sizes, retention, len(groups.totals), promise)

    def to_arrow(self) -> pa.Table:
        """One row for each group: its public values and, in the last columns, what was found."""
        table, found = self.public, self.found
        numbers: dict[str, Any] = {
            "records": found.sizes,
            "sampled": self.trials,
            "frequency": found.frequency,
            "limit": found.chernoff_limit,
            "exact_limit": found.exact_limit,
            "chernoff_violated": found.chernoff_violated,
            "exact_violated": found.exact_violated,
        }
        columns = [*table.columns, *map(pa.array, numbers.values())]
        names = list(table.column_names)
        for name in numbers:
            names.append(free_name(name, names))
        return pa.Table.from_arrays(columns, names=names)

    def __repr__(self) -> str:
        groups, records = (percent(rate, 1) for rate in (self.found.group_rate(), self.found.record_rate()))
        found = f"{groups} of {len(self.trials):,} groups, with {records} of the records,"
        return f"By exact tails, {found} violate the promise"

    def _repr_html_(self) -> str:
        """The groups that exceed the promise most, for notebooks."""
        worst = self.found.worst(10, bound="chernoff")
        taken = self.to_arrow().take(pa.array(worst, pa.int64()))
        rows = zip(*(texts(column) for column in taken.columns), strict=True)
        note = "The worst groups, by the paper's bound. limit is s_g, the largest size that bound allows."
        return html_summary(repr(self), [taken.column_names, *rows], note=note)


@dataclass(frozen=True, eq=False)
class CheckedTables(Tabular):
    """How sure readers become of a protected value: in each sub-table of a publication, and of whom."""

    retention: Floats
    n_values: Whole
    #: Estimated, for the protected value it is largest for, and how far that may be off upwards and
    #: downwards (four standard errors of its share).
    posterior: Floats
    low: Floats
    high: Floats
    verdict: CheckVerdict
    #: For how many people readers become too sure who see the public values.
    people: PeopleSummary
    #: What readers learn about sets of values.
    sets: SetSummary | None = None
    #: Whether it is known with which probabilities records went to the sub-tables.
    divided: bool = True

    def rows(self) -> tuple[SubTableBelief, ...]:
        """The same, sub-table by sub-table."""
        columns = (self.retention, self.n_values, self.posterior, self.low, self.high)
        return tuple(
            SubTableBelief(*row) for row in zip(*(column.tolist() for column in columns), strict=True)
        )

    def to_arrow(self) -> pa.Table:
        """One row for each sub-table."""
        names = ("retention", "n_values", "posterior", "low", "high")
        return pa.table({name: pa.array(getattr(self, name)) for name in names})

    def _repr_html_(self) -> str:
        """How sure a reader becomes, for notebooks."""
        rows = [row.cells(at) for at, row in enumerate(self.rows(), 1)]
        return html_summary(f"The promise: {self.verdict}", [SubTableBelief.HEADS, *rows])


def check_reconstruction(publication: Publication, promise: ReconstructionPrivacy) -> CheckedGroups:
    """Which groups of a publication violate reconstruction privacy, with the number of trials each had."""
    said = publication.manifest
    if len(said.tables) != 1 or said.method in ("ordinal", "product"):
        raise InputError(
            "reconstruction privacy needs one retention for all values",
            file=str(publication.folder),
            found=f"{said.method} with {len(said.tables)} sub-tables",
            remedy="check a uniform or a sampled publication",
        )
    table = said.sub_tables[0]
    columns = [*said.public, *([said.copies] if said.copies else [])]
    groups = publication.read_groups(columns)
    # Values that were published in no record at all have no column, and are not the largest.
    largest = [
        likeliest(counts.toarray(), retention=table.retention, n_values=table.n_values).max(axis=1)
        for _, counts in cut(groups.counts)
    ]
    sizes = groups.sizes
    frequency = np.clip(np.concatenate(largest) / sizes, 1 / table.n_values, 1)
    trials = _trials(publication, groups, frequency)
    frequency = np.minimum(frequency, _most_frequent(publication, trials, sizes))
    known: dict[str, Any] = {"retention": table.retention, "n_values": table.n_values}
    if said.trials == "independent":
        limits = IndependentTrials(promise, **known)
        failed = ~limits.hold(frequency, trials, sizes)
        found = promise.result(trials, frequency, failed, **known, exact_limit=limits.largest(sizes))
    else:
        found = promise.check_sizes(trials, frequency, **known)
    public = groups.public.select(list(said.public))
    held, violated = _certain(said, promise, trials, sizes)
    return CheckedGroups(
        public,
        replace(found, sizes=sizes),
        trials,
        table.retention,
        table.n_values,
        promise,
        surely_held=held,
        surely_violated=violated,
    )


def _certain(
    said: Manifest, promise: ReconstructionPrivacy, trials: Whole, sizes: Whole
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """In which groups the promise holds, and in which it is broken, whatever the records are.

    Of a sample whose size follows from the frequencies of its group (by bands, or as printed) neither is
    certain: that size is known, and it tells the frequency.
    """
    kept, n_values = said.tables[0].retention, len(said.tables[0].values)
    if said.method == "sampled":
        if said.trials != "independent":
            return np.zeros(len(sizes), bool), np.zeros(len(sizes), bool)
        limits = IndependentTrials(promise, kept, n_values)
        return limits.valid(trials, sizes), limits.surely_fail(trials)
    return promise.certain(sizes, retention=kept, n_values=n_values)


def _trials(publication: Publication, groups: Groups, frequency: Floats) -> Whole:
    said, sizes = publication.manifest, groups.sizes
    if said.method != "sampled":
        return sizes
    if not said.copies:
        # As many as its own promise allowed the publisher.
        return _own_trials(publication, frequency, sizes)
    copies = _counted(groups.public[said.copies], publication.data, kind=pa.float64())
    return np.rint(sizes / copies).astype(np.int64)


def _counted(column: pa.ChunkedArray, file: Path, *, kind: pa.DataType | None = None) -> NDArray[Any]:
    """A column of numbers above 0."""
    try:
        found = np.asarray(column.cast(kind or pa.int64()))
        if not column.null_count and found.min(initial=1) > 0:
            return found
    except pa.ArrowException:
        pass
    raise damaged(file, "a row has no number above 0 where one should be")


def _own_trials(publication: Publication, frequency: ArrayLike, sizes: Whole) -> Whole:
    said = publication.manifest
    try:
        promise = said.own_promise
    except (LookupError, TypeError, ValueError):
        promise = None
    if not isinstance(promise, ReconstructionPrivacy):
        raise damaged(publication.folder / "publication.json", "its promise cannot be read")
    return trials_for(
        np.broadcast_to(np.asarray(frequency, np.float64), sizes.shape),
        sizes,
        promise=promise,
        retention=said.tables[0].retention,
        n_values=len(said.tables[0].values),
        bound=said.bound or "chernoff",
        band=said.band,
    )


def _most_frequent(publication: Publication, trials: Whole, sizes: Whole) -> Floats:
    """The largest frequency each group can have: how many records were sampled tells its band."""
    said = publication.manifest
    if not said.copies or said.band is None:
        return np.ones(len(sizes))
    number = math.floor(math.log(len(said.tables[0].values)) / math.log(said.band) + 1e-9) + 1
    most = np.ones(len(sizes))
    for end in said.band ** -np.arange(number - 1.0, -1, -1):
        most[_own_trials(publication, end, sizes) == trials] = end
    return most


def check_rho(
    publication: Publication, promise: RhoPrivacy, *, truth: Groups | None = None, worst: int = 10
) -> CheckedTables:
    """How sure readers become, of whom, and in each sub-table; exactly if the ``truth`` is given.

    Without it, the verdict is *violated* only if that is sure, and *holds* only if it is certain for any
    records: without public columns, and with a retention that is small enough.
    """
    said = publication.manifest
    if said.method in ("ordinal", "product"):
        low, middle, high, verdict, people = check_ordinal(publication, promise, truth=truth, worst=worst)
        kept, number = (np.array([x]) for x in (said.tables[0].retention, len(said.domain)))
        sure = [np.array([x]) for x in (middle, low, high)]
        return CheckedTables(kept, number, sure[0], sure[1], sure[2], verdict, people)
    if said.method not in RANDOMIZED:
        problem = f"(ρ1, ρ2)-privacy is not checked for the method {said.method}"
        if not said.tables:
            problem = "an anatomy has no retention, so (ρ1, ρ2)-privacy does not apply"
        raise InputError(
            problem, file=str(publication.folder), remedy="check its diversity, or another promise"
        )
    shown = Shown.of(publication)
    kept = np.array([table.retention for table in said.tables])
    n_values = np.array([len(table.values) for table in said.tables])
    low, middle, high = _beliefs(shown, promise, kept, n_values)
    units = shown.units
    if truth is None:
        people = estimate_people(shown, promise, worst=worst)
        sets = check_unit_sets(units, promise, estimated=True)
        certain = len(kept) == 1 and kept[0] <= promise.retention(int(n_values[0])) * (1 + 1e-9)
        verdict = "violated" if people.broken else "holds" if certain and not said.public else "undecided"
    else:
        units = true_units(shown, truth, publication)
        people = summarize_people(units, promise, worst=worst)
        sets = check_unit_sets(units, promise)
        # Of sub-tables, how many records of a group have each value is known to nobody, and there is no
        # bound for readers who combine all rows.
        unknown = promise.known_totals and said.method == "partitioned"
        verdict = "undecided" if unknown or sets.unsettled else "holds"
        verdict = "violated" if people.broken or sets.exposed else verdict
    return CheckedTables(kept, n_values, middle, low, high, verdict, people, sets, units.divided)


def _beliefs(
    shown: Shown, promise: RhoPrivacy, kept: Floats, n_values: Whole
) -> tuple[Floats, Floats, Floats]:
    """The largest posterior in each sub-table: at four standard errors less, as estimated, and at more."""
    cells = shown.units.counts.tocoo()
    observed = np.zeros((len(kept), len(shown.units.domain)), np.int64)
    np.add.at(observed, (shown.units.table[cells.row], cells.col), cells.data)
    inside = np.zeros(observed.shape, bool)
    for at, table in enumerate(shown.units.tables):
        inside[at, list(table.values)] = True
    shares, errors = _shares(observed, kept, n_values)
    sizes = observed.sum(axis=1)
    whole = sizes / max(1, sizes.sum())
    total = (np.where(inside, shares, 0) * whole[:, None]).sum(axis=0)
    total_error = np.sqrt(((np.where(inside, errors, 0) * whole[:, None]) ** 2).sum(axis=0))
    perhaps = inside & (total - SURE * total_error <= promise.prior)
    surely = inside & (total + SURE * total_error <= promise.prior)
    # A protected value has at most the prior of all records, so at most so much of a sub-table.
    most = np.minimum(1, promise.prior / np.maximum(whole, 1e-300))[:, None]
    ends = [
        posterior(np.clip(shares + way * SURE * errors, 0, most), kept[:, None], n_values=n_values[:, None])
        for way in (-1, 0, 1)
    ]
    low = np.where(surely, ends[0], 0).max(axis=1)
    middle, high = (np.where(perhaps, end, 0).max(axis=1) for end in ends[1:])
    return low, middle, high


def _shares(observed: Whole, kept: Floats, n_values: Whole) -> tuple[Floats, Floats]:
    """Each value's estimated share in each sub-table, and its standard error."""
    sizes = np.maximum(observed.sum(axis=1), 1)
    shape = observed.shape
    known: dict[str, Any] = {
        "retention": np.repeat(kept, shape[1]),
        "n_values": np.repeat(n_values, shape[1]),
    }
    n = np.repeat(sizes, shape[1])
    found = invert(observed.ravel(), n, **known)
    spread = variance(found, n, **known, within=np.arange(found.size))
    return found.reshape(shape) / sizes[:, None], np.sqrt(spread).reshape(shape) / sizes[:, None]


def check_diversity(publication: Publication, promise: LDiversity) -> DiversityCheck:
    """Which buckets of an anatomy are not diverse enough: exactly, since it publishes true values."""
    said = publication.manifest
    if said.method != "anatomy":
        raise InputError(
            "the published values are randomized, so diversity does not apply",
            file=str(publication.folder),
            found=said.method,
            remedy="check the diversity of an anatomy or of raw data",
        )
    label = str(said.label)
    file = PublishedFile(publication.folder / SENSITIVE[said.format], (label, *said.sensitive))
    number = next((name for name in file.source.names if name not in file.names), None)
    if number is None:
        raise damaged(file.path, "there is no column of numbers")
    rows = file.count([label, *said.sensitive, number], {})
    bucket = _counted(rows.column(0), file.path) - 1
    held = _counted(rows.column(rows.num_columns - 2), file.path)
    if not len(bucket):
        raise damaged(file.path, "there are no rows")
    largest = np.zeros(int(bucket.max()) + 1, np.int64)
    np.maximum.at(largest, bucket, held)
    sizes = np.bincount(bucket, held, len(largest)).astype(np.int64)
    return DiversityCheck(sizes, largest, promise.l * largest > sizes)
