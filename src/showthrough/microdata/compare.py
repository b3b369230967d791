"""Compare methods of publishing by the errors of their answers to the same random queries.

Each method is measured as it is, or along parameters that are varied one at a time (a *sweep*). Beside
the errors, a comparison has single answers and the shares of groups that could be estimated too precisely.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Integral, Real
from types import NoneType
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.engine.backend import CountingPlace
from showthrough.errors import InputError, check_each, check_function, check_type
from showthrough.export import Tabular, html_table
from showthrough.folders import Description, PageMaker, result_folder, versions
from showthrough.microdata.bins import BinRuleLike
from showthrough.microdata.columns import Columns
from showthrough.microdata.comparison_tables import (
    ErrorFinding,
    answers_table,
    errors_table,
    find,
    violations_table,
)
from showthrough.microdata.generalize import Merging
from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import (
    MethodOptions,
    PublishingMethod,
    Setting,
    choose_methods,
    describe_method,
    settings,
)
from showthrough.microdata.plan import check_seed
from showthrough.microdata.promises import Promise, PromiseLike, read_promises
from showthrough.microdata.queries import QueryPool, crossed_queries, single_queries
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, Trials
from showthrough.microdata.utility import SELECTIVITIES, Utility, measure_settings
from showthrough.microdata.violations import Bound
from showthrough.text import percent

__all__ = [
    "Comparison",
    "ComparisonSummary",
    "PoolKind",
    "QueryPlan",
    "compare",
    "comparison_description",
    "draw_queries",
    "reconstruction_promise",
    "write_comparison",
]

KIND: Final = "showthrough comparison"

PoolKind = Literal["crossed", "single"]

#: Queries or conditions drawn if no number is given.
USUAL_NUMBER: Final[Mapping[PoolKind, int]] = {"crossed": 200, "single": 5_000}


@dataclass(frozen=True)
class QueryPlan:
    """Which queries are asked, and how often everything is repeated."""

    pool: PoolKind = "crossed"
    number: int | None = None
    selectivities: tuple[float, ...] = SELECTIVITIES
    runs: int = 10
    seed: int = 0

    @property
    def n_drawn(self) -> int:
        """How many queries or conditions are drawn."""
        return self.number or USUAL_NUMBER[self.pool]

    def measure(
        self,
        chosen: Sequence[Setting],
        drawn: QueryPool,
        *,
        progress: Callable[[int], None] | None = None,
        engine: CountingPlace = None,
    ) -> tuple[tuple[Setting, Utility], ...]:
        """The errors of all settings on queries that were drawn, as often as is planned."""
        found = measure_settings(
            chosen,
            drawn,
            seed=self.seed,
            runs=self.runs,
            selectivities=self.selectivities,
            progress=progress,
            engine=engine,
        )
        return tuple(found)

    def to_plain(self) -> dict[str, Any]:
        """As ``run.json`` keeps it."""
        return {"pool": self.pool, "drawn": self.n_drawn, "runs": self.runs, "seed": self.seed}


@dataclass(frozen=True)
class ComparisonSummary:
    """What was compared, as ``run.json`` keeps it."""

    kind: str
    version: str
    inputs: dict[str, str]
    records: int
    groups: int
    groups_after_merging: int | None
    sensitive_values: int
    pool: str
    drawn: int
    queries: int
    runs: int
    seed: int
    #: What the comparison shows, in sentences: for the smallest queries, and for each size.
    headline: str
    findings: tuple[ErrorFinding, ...]

    def to_plain(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "findings": [finding.to_plain() for finding in self.findings]}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """Methods side by side: the errors of their answers to the same queries.

    Attributes
    ----------
    measured : tuple of (Setting, Utility)
        Each setting with its errors.
    pool : QueryPool
        The queries, with their true answers.
    queries : QueryPlan
        How the queries were drawn and how often runs were repeated.
    promise : ReconstructionPrivacy or None
        The promise that methods with one retention are checked for.
    """

    measured: tuple[tuple[Setting, Utility], ...]
    #: The groups as they were counted; those of ``pool`` may have merged values.
    groups: Groups
    pool: QueryPool
    queries: QueryPlan
    promise: ReconstructionPrivacy | None = None

    def to_arrow(self) -> pa.Table:
        """One row for each setting and selectivity, with the mean relative error."""
        return errors_table(self.measured)

    @cached_property
    def answers(self) -> pa.Table:
        """True answers beside the estimates of each setting's first run."""
        return answers_table(self.measured, self.pool)

    @cached_property
    def violations(self) -> pa.Table | None:
        """The shares of groups and records that would violate the promise; None without a promise."""
        return (
            None if self.promise is None else violations_table(self.measured, self.pool.groups, self.promise)
        )

    @cached_property
    def findings(self) -> tuple[ErrorFinding, ...]:
        """Which method has the smaller error under the same promise, and where there is a tie."""
        return find(self.measured)

    @property
    def headline(self) -> str:
        """The same for the smallest queries."""
        least = min(finding.selectivity for finding in self.findings)
        return " ".join(finding.says for finding in self.findings if finding.selectivity == least)

    @property
    def is_merged(self) -> bool:
        """Whether public values were merged before queries were asked."""
        return self.pool.groups is not self.groups

    def summary(self, inputs: Mapping[str, str] | None = None) -> ComparisonSummary:
        """What was compared; ``inputs`` are the files with their hashes."""
        return ComparisonSummary(
            kind=KIND,
            version=versions(["showthrough"])["showthrough"],
            inputs=dict(inputs or {}),
            records=self.groups.records,
            groups=len(self.groups),
            groups_after_merging=len(self.pool.groups) if self.is_merged else None,
            sensitive_values=len(self.groups.totals),
            pool=self.queries.pool,
            drawn=self.queries.n_drawn,
            queries=len(self.pool),
            runs=self.queries.runs,
            seed=self.queries.seed,
            headline=self.headline,
            findings=self.findings,
        )

    def to_plain(self, inputs: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Everything but single answers, as plain data."""
        checked = {} if self.violations is None else {"violations": self.violations.to_pylist()}
        return {**self.summary(inputs).to_plain(), "rows": self.to_arrow().to_pylist(), **checked}

    def __repr__(self) -> str:
        lines = [f"Comparison of {len(self.measured)} settings on {len(self.pool):,} queries"]
        for setting, utility in self.measured:
            swept = "" if setting.value is None else f", {setting.parameter} {setting.value:.4g}"
            error = f"mean relative error {percent(float(utility.mean[0]), 2)}"
            lines.append(f"  {setting.method.name} ({describe_method(setting.method)}){swept}: {error}")
        return "\n".join([*lines[:6], *(["  …"] if len(lines) > 6 else []), self.headline])

    def _repr_html_(self) -> str:
        """The errors as a table, for notebooks."""
        return html_table(repr(self).partition("\n")[0], self.to_arrow())


def compare(
    data: object,
    methods: str | Sequence[str | PublishingMethod],
    *,
    sensitive: str | Sequence[str],
    public: Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    bins: Mapping[str, BinRuleLike] | None = None,
    records: bool = False,
    promise: PromiseLike | Sequence[PromiseLike] = (),
    retention: float | None = None,
    bound: Bound = "exact",
    trials: Trials = "independent",
    merging: Merging = "conditional",
    given: str | None = None,
    sweeps: Mapping[str, Sequence[float]] | None = None,
    pool: PoolKind = "crossed",
    queries: int | None = None,
    selectivities: Sequence[float] = SELECTIVITIES,
    runs: int = 10,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    engine: CountingPlace = None,
) -> Comparison:
    """Measure how far the answers of each method to random count queries are off.

    Parameters
    ----------
    data : path, table or Groups
        Records, as for :func:`publish`, or counted already.
    methods : str or sequence
        Names, such as ``"uniform,anatomy"``, or methods.
    sensitive : str or sequence of str
        The sensitive column; several count as one compound value.
    public : sequence of str, optional
        The public columns, by default all others. A column that nearly identifies single people is
        refused unless it is named here.
    drop : str or sequence of str
        Columns to leave out.
    bins : mapping, optional
        Puts numbers into bins first, as :func:`publish` does: ``{"age": 10}``.
    records : bool
        Every row is a record, even if the file looks like published counts.
    promise : promise, str or sequence of these
        What the named methods promise. A reconstruction promise is also checked for the groups.
    retention : float, optional
        The share of sensitive values that uniform methods keep, and the most that sampled ones may keep.
    bound : {"exact", "chernoff"}
        Which bound the sample sizes of ``sampled`` follow.
    trials : {"independent", "banded", "printed"}
        How many records of a group ``sampled`` draws; see :func:`publish`.
    merging : {"conditional", "components", "none"}
        How public values are merged if ``sampled`` is compared; see :func:`publish`.
    given : {"public"}, optional
        Also measure ``uniform`` as it keeps its promise to readers who see the public values.
    sweeps : mapping, optional
        Values to give a parameter in turn: retention, error, chance, prior, posterior or l.
    pool : {"crossed", "single"}
        Random conditions with every sensitive value, or single random queries.
    queries : int, optional
        How many conditions (by default 200) or single queries (5,000) are drawn.
    selectivities : sequence of float
        Least shares of the records that a query counts; errors are reported for each.
    runs : int
        How often each method is drawn.
    seed : int
        The seed of queries and runs.
    progress : callable, optional
        Called with 1 after each setting.
    engine : Engine, optional
        Where records are counted and settings are measured, by default on this machine.

    Returns
    -------
    Comparison
        The errors of each setting.

    Raises
    ------
    InputError
        If a method lacks its promise or retention, or no query is large enough.

    Examples
    --------
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> methods = "uniform,anatomy"
    >>> found = compare(people, methods, sensitive="ill", promise="diversity=2", retention=0.5, runs=2)
    >>> found.to_arrow()["method"].unique().to_pylist()
    ['uniform', 'anatomy']
    """
    options = MethodOptions(retention=retention, bound=bound, trials=trials, merging=merging, given=given)
    chosen = settings(choose_methods(methods, promise, options), sweeps)
    check_type(pool, str, name="pool", remedy="choose crossed or single")
    if pool not in USUAL_NUMBER:
        raise InputError("unknown pool of queries", found=pool, remedy="choose crossed or single")
    check_type(queries, (Integral, NoneType), name="queries", remedy="give a number of queries")
    check_each(selectivities, Real, name="selectivities", remedy="list shares, such as [0.001, 0.01]")
    check_type(runs, Integral, name="runs", remedy="give a number of runs, such as 10")
    check_function(progress, name="progress")
    check_seed(seed)
    plan = QueryPlan(pool, queries, tuple(selectivities), runs, seed)
    columns = Columns.of(sensitive, public=public, drop=drop, bins=bins, records=records)
    groups = data if isinstance(data, Groups) else columns.read(data, engine=engine)
    drawn = draw_queries(groups, chosen, plan)
    measured = plan.measure(chosen, drawn, progress=progress, engine=engine)
    return Comparison(measured, groups, drawn, plan, reconstruction_promise(read_promises(promise)))


def reconstruction_promise(promises: Iterable[Promise]) -> ReconstructionPrivacy | None:
    """The promise whose violations a comparison counts, if it is among those given."""
    return next((one for one in promises if isinstance(one, ReconstructionPrivacy)), None)


def draw_queries(groups: Groups, chosen: Sequence[Setting], plan: QueryPlan) -> QueryPool:
    """Random queries; about merged public values if a method that is compared merges them."""
    sampled = next((one.method for one in chosen if isinstance(one.method, Sampled)), None)
    merged = None if sampled is None else sampled.merge(groups)
    make = crossed_queries if plan.pool == "crossed" else single_queries
    return make(groups, seed=plan.seed, number=plan.n_drawn, least=plan.selectivities[0], merged=merged)


def write_comparison(
    comparison: Comparison,
    out: str | os.PathLike[str],
    inputs: Mapping[str, str],
    *,
    overwrite: bool = False,
    page: PageMaker | None = None,
) -> list[str]:
    """Write a comparison to a folder; the names of the files with results."""
    tables = {"comparison": comparison.to_arrow(), "answers": comparison.answers}
    if comparison.violations is not None:
        tables["violations"] = comparison.violations
    what = comparison_description(comparison.queries, inputs)
    with result_folder(out, what, overwrite=overwrite, page=page) as draft:
        for name, table in tables.items():
            pq.write_table(table, draft.path / f"{name}.parquet")
        arrow_csv.write_csv(tables["comparison"], draft.path / "comparison.csv")
        # What is known about the records is written beside what every folder states about itself.
        draft.parameters["queries"] = len(comparison.pool)
        draft.facts = comparison.summary(inputs).to_plain()
    return ["comparison.parquet", "comparison.csv", *(f"{name}.parquet" for name in list(tables)[1:])]


def comparison_description(plan: QueryPlan, inputs: Mapping[str, str]) -> Description:
    """What determines the content of a folder with a comparison."""
    return Description(KIND, plan.to_plain(), inputs, ("showthrough", "numpy", "scipy", "pyarrow", "duckdb"))
