"""How useful a publication is: the errors of its answers to random queries, method by method.

The methods draw counts in memory, exactly as they would for a publication, and queries are answered
from these counts as a reader would. Errors are relative to the true answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import CountingPlace, backend_of
from showthrough.engine.engine import LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import InputError
from showthrough.microdata.anatomy import Anatomized, Dealing, anatomize, kept_totals
from showthrough.microdata.estimation import invert
from showthrough.microdata.given import UniformGivenPublic, classify, perturb_classes
from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import PublishingMethod, Setting, describe_method, on_equal_terms
from showthrough.microdata.ordinal import OrdinalPerturbation, ordinal_channel, perturb_ordinal
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.partitioned import Partitioned, perturb_partition
from showthrough.microdata.plan import check_seed
from showthrough.microdata.promises import LDiversity
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.stratified import scale_rows
from showthrough.microdata.uniform import UniformPerturbation, perturb
from showthrough.text import html_summary, percent

__all__ = [
    "SELECTIVITIES",
    "QueryTrial",
    "Utility",
    "expected_counts",
    "measure",
    "measure_settings",
    "prepare",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Least shares of the records that a query counts; errors are reported for each of them.
SELECTIVITIES: Final = (0.001, 0.005, 0.01)

#: The name of the seeds of runs.
RUNS: Final = 17


@dataclass(frozen=True, eq=False)
class QueryTrial:
    """A method made ready for a pool of queries."""

    #: The share of records that keep their value; none where values are not perturbed.
    retention: float | None
    #: The share of records that are drawn from or published at all.
    used: float
    #: Estimates for all queries, from one seed.
    answer: Callable[[int], Floats]


@dataclass(frozen=True, eq=False)
class Utility:
    """The relative errors of answers, by the least selectivity of queries, run by run."""

    method: PublishingMethod
    retention: float | None
    used: float
    selectivities: tuple[float, ...]
    #: How many queries have at least each selectivity.
    queries: Whole
    #: The mean relative error of these, one row for each run.
    errors: Floats
    #: The first run's estimates, one for each query.
    estimates: Floats

    @property
    def mean(self) -> Floats:
        """The relative error, averaged over queries and runs."""
        return self.errors.mean(axis=0)

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean, from the spread between runs; the queries are taken as given."""
        runs = len(self.errors)
        if runs < 2:
            return np.full(len(self.selectivities), np.nan)
        return self.errors.std(axis=0, ddof=1) / np.sqrt(runs)

    def _repr_html_(self) -> str:
        """The errors by selectivity, for notebooks."""
        rows = [
            [f"≥ {percent(share)}", f"{number:,}", percent(mean, 2), percent(error, 2)]
            for share, number, mean, error in zip(
                self.selectivities, self.queries, self.mean, self.standard_error, strict=True
            )
        ]
        heads = ["share of the records", "queries", "mean relative error", "standard error"]
        title = f"{self.method.name}: relative errors of answers over {len(self.errors):,} runs"
        return html_summary(title, [heads, *rows])


def measure(
    method: PublishingMethod,
    pool: QueryPool,
    *,
    seed: int,
    runs: int = 10,
    selectivities: Sequence[float] = SELECTIVITIES,
) -> Utility:
    """The relative errors of a method's answers to a pool of queries.

    ``pool.groups`` are what is published, so a sampled publication with merged public values needs a
    pool of queries about merged values. Without a query of some selectivity its error is not a number.

    >>> from showthrough.microdata.queries import crossed_queries
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6000, 4000], [8000, 2000]])
    >>> found = measure(UniformPerturbation(0.5), crossed_queries(groups, seed=1), seed=2)
    >>> found.errors.shape, bool(0.005 < found.mean[0] < 0.05)
    ((10, 3), True)
    """
    if runs < 1:
        raise InputError("at least one run is needed", found=str(runs), remedy="for example 10")
    shares = tuple(selectivities)
    asked = pool.selectivity[:, None] >= np.array(shares) * (1 - 1e-12)
    ready = prepare(method, pool)
    errors = np.full((runs, len(shares)), np.nan)
    first = np.zeros(0)
    for run in range(runs):
        estimates = np.asarray(ready.answer(_run_seed(seed, run)), np.float64)
        first = first if run else estimates
        off = np.abs(estimates - pool.answers) / pool.answers
        for at in np.flatnonzero(asked.any(axis=0)):
            errors[run, at] = off[asked[:, at]].mean()
    return Utility(method, ready.retention, ready.used, shares, asked.sum(axis=0), errors, first)


def measure_settings(
    chosen: Sequence[Setting],
    pool: QueryPool,
    *,
    seed: int,
    runs: int = 10,
    selectivities: Sequence[float] = SELECTIVITIES,
    progress: Callable[[int], None] | None = None,
    engine: CountingPlace = None,
) -> list[tuple[Setting, Utility]]:
    """Measure every setting on the same queries, uniform and partitioned ones on equal terms.

    Each is measured for itself, here or wherever a cluster has room.
    """
    found = list[tuple[Setting, Utility]]()
    cluster = getattr(backend_of(engine), "engine", None)
    work = partial(_measured, pool=pool, seed=seed, runs=runs, selectivities=tuple(selectivities))
    settings = on_equal_terms(chosen, pool.groups)
    for setting, utility in zip(settings, in_order_on(cluster or LocalEngine(), work, settings), strict=True):
        found.append((setting, utility))
        if progress:
            progress(1)
    return found


def _measured(
    setting: Setting, pool: QueryPool, *, seed: int, runs: int, selectivities: tuple[float, ...]
) -> Utility:
    try:
        return measure(setting.method, pool, seed=seed, runs=runs, selectivities=selectivities)
    except InputError as error:
        raise error.at(file=f"{setting.method.name}, {describe_method(setting.method)}") from None


def prepare(method: PublishingMethod, pool: QueryPool) -> QueryTrial:
    """Everything about a method that does not depend on chance."""
    check_domain(len(pool.groups.totals))
    match method:
        case UniformPerturbation():
            return _uniform(method, pool)
        case UniformGivenPublic():
            return _given_public(method, pool)
        case Partitioned():
            return _partitioned(method, pool)
        case OrdinalPerturbation():
            return _ordinal(method, pool)
        case Sampled():
            return _sampled(method, pool)
        case Anatomized():
            return _anatomized(method, pool)


def _uniform(method: UniformPerturbation, pool: QueryPool) -> QueryTrial:
    m = len(pool.groups.totals)
    kept = float(method.promise.retention(m) if method.promise else method.retention or 0)

    def answer(seed: int) -> Floats:
        return _inverted(perturb(pool.groups, kept, seed=seed), pool, kept, m)

    return QueryTrial(kept, 1.0, answer)


def _given_public(method: UniformGivenPublic, pool: QueryPool) -> QueryTrial:
    """Queries are about the values before they were merged: a merged group's estimate is divided evenly."""
    m = len(pool.groups.totals)

    def answer(seed: int) -> Floats:
        found = classify(pool.groups, method.promise, seed=seed)
        number = np.bincount(found.of, minlength=len(found.groups))
        place = (np.arange(len(found.of)), found.of)
        asked = pool.conditions @ csr_array((1 / number[found.of], place), shape=(len(found.of), len(number)))
        kept, drawn = found.retention[found.part], perturb_classes(found, seed=seed)
        shown = scale_rows(drawn.counts, 1 / kept)
        total = csr_array(asked @ shown)[pool.condition, pool.value]
        seen = np.asarray(total.toarray() if hasattr(total, "toarray") else total).ravel()
        return seen - np.asarray(asked @ ((1 - kept) / m / kept * drawn.sizes))[pool.condition]

    return QueryTrial(classify(pool.groups, method.promise, seed=0).mean_retention, 1.0, answer)


def _partitioned(method: Partitioned, pool: QueryPool) -> QueryTrial:
    found = method.partition(pool.groups.totals, pool.groups.domain)
    retention = found.retention.tolist()

    def answer(seed: int) -> Floats:
        total = np.zeros(len(pool))
        tables = perturb_partition(pool.groups, found, seed=seed)
        for table, domain, kept in zip(tables, found.domains, retention, strict=True):
            inside = np.isin(pool.value, domain)
            total[inside] += _inverted(table, pool, kept, len(domain))[inside]
        return total

    return QueryTrial(found.mean_retention, 1.0, answer)


def _ordinal(method: OrdinalPerturbation, pool: QueryPool) -> QueryTrial:
    table = method.table(pool.groups.domain)
    channel = ordinal_channel(table.n_values, table.decay or 0, table.floor or 0)
    rank = np.argsort(table.values)
    inverse = channel.inverse[np.ix_(rank, rank)]
    own = float(np.diag(channel.matrix)[rank] @ pool.groups.totals / pool.groups.records)

    def answer(seed: int) -> Floats:
        shown = pool.conditions @ perturb_ordinal(pool.groups, table, seed=seed).counts
        return (shown.toarray() @ inverse)[pool.condition, pool.value]

    return QueryTrial(own, 1.0, answer)


def _sampled(method: Sampled, pool: QueryPool) -> QueryTrial:
    groups, m = pool.groups, len(pool.groups.totals)
    design = method.design(groups)

    def answer(seed: int) -> Floats:
        # Groups that are left out are unknown to readers, who count none of their records.
        return _inverted(design.sample(groups, seed=seed), pool, design.retention, m)

    return QueryTrial(design.retention, float(design.trials.sum() / groups.records), answer)


def _anatomized(method: Anatomized, pool: QueryPool) -> QueryTrial:
    def answer(seed: int) -> Floats:
        found = expected_counts(pool.groups, method.promise, seed=seed, dealing=method.dealing)
        return pool.added_up(found)

    kept = int(kept_totals(pool.groups.totals, method.promise).sum())
    return QueryTrial(None, kept / pool.groups.records, answer)


def expected_counts(groups: Groups, promise: LDiversity, *, seed: int, dealing: Dealing = "turns") -> Any:
    """An anatomy's estimates for every group and value: Σ rows · values/size over its buckets.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[1, 0], [0, 1]])
    >>> expected_counts(groups, LDiversity(2), seed=1).toarray().tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    found = anatomize(groups, promise, seed=seed, dealing=dealing)
    n_buckets, ones = len(found.sizes), np.ones(len(found.bucket))
    rows: Any = csr_array((ones, (found.group, found.bucket)), shape=(len(groups), n_buckets))
    held = csr_array((ones, (found.bucket, found.value)), shape=(n_buckets, len(groups.totals)))
    return rows @ scale_rows(held, 1 / found.sizes)


def _inverted(drawn: Groups, pool: QueryPool, retention: float, n_values: int) -> Floats:
    shown, sizes = pool.added_up(drawn.counts), pool.numbers(drawn.sizes)
    return invert(shown, sizes, retention=retention, n_values=n_values)


def _run_seed(seed: int, run: int) -> int:
    """A seed of its own for each run."""
    words = np.random.SeedSequence(check_seed(seed), spawn_key=(RUNS, run)).generate_state(2, np.uint64)
    return int(words[0]) << 64 | int(words[1])
