"""The part of an audit's page that says what its new tables add to those that were out before."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest

from showthrough.tables.after import AfterTotals, NewFinding, new_findings, read_after
from showthrough.tables.headline import rank_findings
from showthrough.tables.run.read import AuditRun

__all__ = [
    "AfterSection",
    "after_section",
    "telling_new",
]

#: New findings that the page lists.
MOST_LISTED = 200


@dataclass(frozen=True)
class AfterSection:
    """What is new, in sentences."""

    totals: AfterTotals
    headline: str
    lines: tuple[str, ...]
    findings: tuple[NewFinding, ...]

    @property
    def left(self) -> int:
        """How many new findings are not listed."""
        return self.totals.new - len(self.findings)


def after_section(run: AuditRun) -> AfterSection | None:
    """What a run adds to earlier releases; None if it did not come after any."""
    totals = read_after(run)
    if totals is None:
        return None
    found = tuple(telling_new(run, MOST_LISTED))
    return AfterSection(totals, totals.headline(run.summary), tuple(totals.lines()), found)


def telling_new(run: AuditRun, n: int) -> list[NewFinding]:
    """Some of the new findings, the most telling first."""
    place = {(one.area, one.sentence): at for at, one in enumerate(rank_findings(run))}
    found = nsmallest(
        n,
        enumerate(new_findings(run)),
        key=lambda one: (place.get((one[1].area, one[1].sentence), len(place)), one[0]),
    )
    return [finding for _, finding in found]
