"""Charts of results for notebooks: each is an SVG there, and ``.plot()`` gives an Altair object."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from showthrough.attack.exposure import Exposure
from showthrough.audit.baseline import Reference
from showthrough.audit.evaluation import evaluate
from showthrough.audit.run import AuditRun
from showthrough.audit.verify import open_run
from showthrough.records import Records
from showthrough.report.attack_page import exposure_chart
from showthrough.report.audit_charts import audit_charts
from showthrough.report.charts import Chart
from showthrough.report.comparison_page import error_charts

__all__ = ["plot_comparison", "plot_exposure", "plot_run"]


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


def plot_exposure(exposure: Exposure, column: str = "") -> Chart:
    """How many people each attack discloses, by privacy interval."""
    return exposure_chart(column, exposure.to_arrow().to_pylist())


def plot_comparison(table: pa.Table) -> list[Chart]:
    """Errors of methods, from the table of a comparison."""
    return error_charts([row for row in table.to_pylist() if row["error"] is not None])
