"""Charts of results for notebooks: each is an SVG there, and ``.plot()`` gives an Altair object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.microdata.check import CheckResult
from showthrough.microdata.check_published import CheckedGroups
from showthrough.microdata.compare import Comparison
from showthrough.microdata.comparison_tables import AnswerRow, ErrorFinding, ErrorRow, ViolationRow, read_rows
from showthrough.microdata.publication import Publication
from showthrough.microdata.violations import DiversityCheck
from showthrough.numbers.advise import Advice
from showthrough.numbers.attack import Attack
from showthrough.numbers.attack_summary import ExposureRow, Histogram
from showthrough.numbers.density import Distribution
from showthrough.numbers.exposure import Exposure
from showthrough.numbers.leaks import leaking_groups, simulate_ratios
from showthrough.numbers.leaks_summary import ErrorCurve
from showthrough.numbers.methods import ColumnAttack
from showthrough.numbers.pairs import NOISY, TRUE, Pair
from showthrough.numbers.ratio import AnswerNoise, RatioAttack, as_answer_noise
from showthrough.numbers.tryout import NoiseTrial, trials_table
from showthrough.records import Records
from showthrough.report.advice_page import advice_charts
from showthrough.report.attack_page import density_chart, ellipse_chart, exposure_chart
from showthrough.report.audit_charts import audit_charts, claims_chart
from showthrough.report.charts import Chart
from showthrough.report.check_page import check_charts
from showthrough.report.comparison_page import answer_charts, error_charts, violation_charts
from showthrough.report.group_charts import diversity_charts, group_charts
from showthrough.report.protect_page import before_and_after
from showthrough.report.publication_page import publication_charts
from showthrough.report.ratio_page import reading_chart, readings_chart
from showthrough.tables.coverage import evaluate
from showthrough.tables.protect.protection import Protection
from showthrough.tables.result import Audit
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.search.questions import VERIFIED
from showthrough.tables.surprise import Reference

__all__ = [
    "plot_advice",
    "plot_attack",
    "plot_audit",
    "plot_check",
    "plot_comparison",
    "plot_ellipses",
    "plot_exposure",
    "plot_leaks",
    "plot_protection",
    "plot_publication",
    "plot_ratio",
    "plot_reconstruction",
    "plot_run",
]


def plot_run(
    run: AuditRun,
    records: Records | None = None,
    *,
    references: Mapping[str, tuple[Reference, Callable[[str], str]]] | None = None,
) -> list[Chart]:
    """The charts of a run; with records and references as ``evaluate`` takes them."""
    layout = AuditRun.open(run.folder).layout
    summary = evaluate(run, records, references=references)
    return audit_charts(run, layout.schema, summary)


def plot_audit(audit: Audit) -> Chart:
    """How many claims no cell states follow from a release, by number of columns.

    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"], "age": ["young", "old"]})
    >>> counts = {"sex*ill": [5, 1, 3, 2], "sex*age": [6, 0, 2, 3]}
    >>> release = st.Release.of(schema, {st.make_table(schema, name): n for name, n in counts.items()})
    >>> print(plot_audit(st.audit(release)).says)
    8 verified claims, 1 of them about exactly one record.
    """
    facts = audit.claim_table
    hidden = (facts.state == VERIFIED) & ~facts.direct
    single = hidden & (facts.candidates.count == 1)
    columns = sorted(set(facts.k[hidden].tolist()))
    by_k, ones = (
        {str(k): int((which & (facts.k == k)).sum()) for k in columns} for which in (hidden, single)
    )
    return claims_chart(RunTotals(hidden_by_columns=by_k, hidden_singletons_by_columns=ones), audit.schema)


def plot_protection(found: Protection) -> list[Chart]:
    """Claims that follow before and after: those that are forbidden, and those that are not."""
    return before_and_after(pa.concat_tables([area.comparison for area in found.areas]))


def plot_comparison(
    table: Comparison | pa.Table, *, answers: pa.Table | None = None, violations: pa.Table | None = None
) -> list[Chart]:
    """The charts of a comparison, or of its tables: errors, and, if given, answers and violations."""
    findings: Sequence[ErrorFinding] = ()
    if isinstance(table, Comparison):
        table, answers, violations, findings = (
            table.to_arrow(),
            table.answers,
            table.violations,
            table.findings,
        )
    return [
        *error_charts(read_rows(ErrorRow, table), findings),
        *answer_charts([] if answers is None else read_rows(AnswerRow, answers)),
        *violation_charts([] if violations is None else read_rows(ViolationRow, violations)),
    ]


def plot_publication(publication: Publication) -> list[Chart]:
    """What can be estimated from a publication, how many values are kept, and whether its promise is."""
    return publication_charts(publication)


def plot_check(found: CheckResult | CheckedGroups | DiversityCheck) -> list[Chart]:
    """Which groups violate a promise, and how large they are.

    >>> from showthrough.microdata.groups import Groups
    >>> from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [500, 300]])
    >>> checked = CheckedGroups.of(groups, ReconstructionPrivacy(0.3, 0.3), retention=0.5)
    >>> plot_check(checked)[0].says.replace("\xa0", " ")
    'By exact tails, 50 % of the groups violate the promise, and 98.5 % of the records are in them.'
    """
    if isinstance(found, CheckResult):
        return check_charts(found.summary, found.table)
    if isinstance(found, DiversityCheck):
        return diversity_charts(found.sizes, found.violated, what="groups")
    return group_charts(found.to_arrow(), found.promise, retention=found.retention, n_values=found.n_values)


#: Points of a curve.
POINTS = 120


def plot_attack(attack: Attack) -> list[Chart]:
    """What comes back of each column, how many people are disclosed, and the shapes of pairs of columns.

    >>> import showthrough as st
    >>> truth = np.random.default_rng(1).gamma(9, 5, 2000)
    >>> noisy = st.perturb(truth, "uniform:60", seed=1)
    >>> [chart.name for chart in plot_attack(st.attack(noisy, "uniform:60", truth, columns=["income"]))]
    ['densities-income', 'exposure-income']
    """
    names, charts = attack.noisy.columns, list[Chart]()
    for at, one in enumerate(attack.columns):
        truth = None if attack.truth is None else attack.truth.matrix[:, at]
        noisy = attack.noisy.matrix[:, at]
        charts.append(plot_reconstruction(one.attacked, noisy, truth=truth, column=one.name))
        if one.exposure is not None:
            charts.append(plot_exposure(one.exposure, one.name))
    pairs = [plot_ellipses(pair, (names[pair.columns[0]], names[pair.columns[1]])) for pair in attack.pairs]
    return [*charts, *pairs]


def plot_exposure(exposure: Exposure, column: str = "") -> Chart:
    """How many people each attack discloses, by privacy interval."""
    return exposure_chart(column, ExposureRow.of(exposure))


def plot_reconstruction(
    attacked: ColumnAttack, values: ArrayLike, *, truth: ArrayLike | None = None, column: str = "values"
) -> Chart:
    """The distribution of one column as published, as rebuilt, and (where known) as it is.

    >>> import showthrough as st
    >>> truth = np.random.default_rng(1).gamma(9, 5, 2000)
    >>> noisy = st.perturb(truth, "uniform:60", seed=1)
    >>> attacked = st.attack(noisy, "uniform:60").columns[0].attacked
    >>> chart = plot_reconstruction(attacked, noisy, truth=truth)
    >>> sorted({row["values"] for row in chart.rows})
    ['noisy', 'rebuilt (as)', 'rebuilt (em)', 'true']
    """
    lists = {NOISY: values} if truth is None else {NOISY: values, TRUE: truth}
    losses = {}
    if truth is not None:
        real = Distribution.of(truth)
        losses = {name: found.loss(real) for name, found in attacked.distributions.items()}
    return density_chart(column, Histogram.of(lists), attacked.densities(), losses=losses)


def plot_ellipses(pair: Pair, columns: tuple[str, str] | None = None) -> Chart:
    """The shapes of two columns: noisy, true where known, as rebuilt, and of the noise.

    >>> from showthrough.numbers.spectral import bayes_estimate
    >>> from showthrough.numbers.pairs import compare_pairs
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(size=(500, 1)) * [2.0, 1.0] + rng.normal(size=(500, 2)) / 4
    >>> noisy = truth + rng.normal(size=(500, 2))
    >>> pair, = compare_pairs(noisy, 1.0, {"be": bayes_estimate(noisy, 1.0)}, truth=truth)
    >>> print(plot_ellipses(pair, ("income", "debt")).says)
    A correlation of 0.95 becomes 0.62 under the noise; as rebuilt by be it is 1.00.
    """
    one, two = (f"column {at + 1}" for at in pair.columns)
    points = [(x, y) for x, y in pair.points[NOISY].tolist()]
    return ellipse_chart(columns or (one, two), pair.shapes, points)


def plot_advice(
    advice: Advice, curve: Sequence[NoiseTrial] = (), *, columns: Sequence[str] = ()
) -> list[Chart]:
    """The share disclosed by the amount of noise; ``curve`` is from ``try_scales``.

    >>> import showthrough as st
    >>> incomes = np.random.default_rng(1).gamma(9, 5, 1000)
    >>> found = st.advise(incomes, share=0.05, privacy=0.5, draws=1, confirmations=6, seed=1)
    >>> scales = [found.trial.scale / 2, found.trial.scale]
    >>> curve = st.try_scales(incomes, scales, privacy=0.5, draws=1, seed=1)
    >>> [chart.name for chart in plot_advice(found, curve)]
    ['advice', 'advice-methods']
    """
    trials = [*advice.trials, *curve]
    names = list(columns) or [f"column {at + 1}" for at in range(1 + max(one.column for one in trials))]
    rows = trials_table(trials, names).to_pylist()
    return advice_charts(rows, share=advice.share, scale=advice.trial.scale)


def plot_ratio(attack: RatioAttack, *, confidence: float = 0.95) -> Chart:
    """How likely each reading of the share is, when both answers are noisy.

    >>> import showthrough as st
    >>> plot_ratio(st.ratio_attack(501, 420, "laplace:20")).says.replace("\xa0", " ")
    'The true share is 83.8 %; 95 % of readings lie between 69.7 % and 100.3 %.'
    """
    tail = (1 - confidence) / 2
    first, low, high, last = attack.quantiles([tail / 4, tail, 1 - tail, 1 - tail / 4]).tolist()
    edges = np.linspace(first, last, POINTS + 1)
    mass = np.diff([attack.probability(float(edge)) for edge in edges])
    middles, density = (edges[1:] + edges[:-1]) / 2, np.maximum(mass, 0.0) / np.diff(edges)
    rows = [
        {"at": float(f"{at:.6g}"), "density": float(f"{height:.5g}")}
        for at, height in zip(middles.tolist(), density.tolist(), strict=True)
    ]
    return reading_chart(rows, share=attack.confidence, ends=(low, high), level=confidence)


def plot_leaks(
    sizes: ArrayLike,
    matching: ArrayLike,
    noise: AnswerNoise | str,
    *,
    seed: int,
    confidence: float = 0.95,
) -> Chart:
    """How far one drawn reading of each group's share is off, beside what theory says.

    >>> chart = plot_leaks([5000, 501, 90], [4000, 420, 10], "laplace:20", seed=1)
    >>> [row["leaks"] for row in chart.rows]
    [True, True, False]
    """
    law = as_answer_noise(noise)
    found = leaking_groups(sizes, matching, law)
    people = np.asarray(sizes, np.float64)
    reading = simulate_ratios(sizes, matching, law, seed=seed)
    groups = [
        {
            "size": float(people[at]),
            "share": float(found.confidence[at]),
            "reading": float(reading[at]),
            "error": abs(float(reading[at] - found.confidence[at])),
            "leaks": bool(found.leaks[at]),
        }
        for at in np.flatnonzero(~np.isnan(reading)).tolist()
    ]
    usual = float((people * found.confidence).sum() / people.sum())
    return readings_chart(groups, ErrorCurve.of(people, usual, law, confidence), level=confidence)
