"""Charts of results for notebooks: each is an SVG there, and ``.plot()`` gives an Altair object."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from showthrough.audit.answers import VERIFIED
from showthrough.audit.area import Audit
from showthrough.audit.baseline import Reference
from showthrough.audit.evaluation import evaluate
from showthrough.audit.run import AuditRun
from showthrough.audit.verify import open_run
from showthrough.protect.result import Protection
from showthrough.publish.checking import CheckedGroups
from showthrough.publish.publication import Publication
from showthrough.publish.violations import DiversityCheck
from showthrough.records import Records
from showthrough.report.answer_charts import answer_charts, violation_charts
from showthrough.report.attack_plots import (
    plot_advice,
    plot_ellipses,
    plot_exposure,
    plot_leaks,
    plot_ratio,
    plot_reconstruction,
)
from showthrough.report.audit_charts import audit_charts, claims_chart
from showthrough.report.charts import Chart
from showthrough.report.comparison_page import error_charts
from showthrough.report.group_charts import group_charts
from showthrough.report.protect_page import before_and_after
from showthrough.report.publication_page import publication_charts
from showthrough.report.violation_charts import diversity_charts

__all__ = [
    "plot_advice",
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
    _, _, layout = open_run(run.folder)
    summary = evaluate(run.folder, records, references=references)
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
    facts = audit.facts
    hidden = (facts.state == VERIFIED) & ~facts.direct
    single = hidden & (facts.candidates.count == 1)
    counted = {
        name: {str(k): int((which & (facts.k == k)).sum()) for k in sorted(set(facts.k[hidden].tolist()))}
        for name, which in (("hidden_by_columns", hidden), ("hidden_singletons_by_columns", single))
    }
    return claims_chart(counted, audit.schema)


def plot_protection(found: Protection) -> list[Chart]:
    """Claims that follow before and after: those that are forbidden, and those that are not."""
    rows = [row for area in found.areas for row in area.comparison.to_pylist()]
    return before_and_after(rows)


def plot_comparison(
    table: pa.Table, *, answers: pa.Table | None = None, violations: pa.Table | None = None
) -> list[Chart]:
    """Errors of methods, from the table of a comparison; with its other tables, what these show."""
    return [
        *error_charts([row for row in table.to_pylist() if row["error"] is not None]),
        *answer_charts([] if answers is None else answers.to_pylist()),
        *violation_charts([] if violations is None else violations.to_pylist()),
    ]


def plot_publication(publication: Publication) -> list[Chart]:
    """What can be estimated from a publication, how many values are kept, and whether its promise is."""
    return publication_charts(publication)


def plot_check(found: CheckedGroups | DiversityCheck) -> list[Chart]:
    """Which groups violate a promise, and how large they are.

    >>> from showthrough.publish import Groups, ReconstructionPrivacy
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [500, 300]])
    >>> checked = CheckedGroups.of(groups, ReconstructionPrivacy(0.3, 0.3), retention=0.5)
    >>> print(plot_check(checked)[0].says)
    By exact tails, 50 % of the groups violate the promise, and 98.5 % of the records are in them.
    """
    if isinstance(found, DiversityCheck):
        return diversity_charts(found.sizes, found.violated, what="groups")
    return group_charts(found.table(), found.promise, retention=found.retention, n_values=found.n_values)
