"""A run in short, for the terminal and the page: its verdicts, most telling findings and open areas.

For a run after earlier releases, also what its new tables add to those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.tables.explain import EVIDENCE
from showthrough.tables.run.read import AuditRun, StoredFinding
from showthrough.tables.run.totals import add_up
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.tables.after import AfterTotals, NewFinding

__all__ = [
    "AfterSection",
    "after_section",
    "exit_code",
    "exit_code_without",
    "most_telling",
    "open_areas",
    "rank_findings",
    "telling_new",
    "verdict_rows",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: Why a claim is undecided, where it is not for want of effort.
_UNDECIDED = {
    "solver only": "reported by a solver, not proved",
    "rejected": "the checker rejects the proof that was found: please report this",
}

#: Findings among which the most telling ones are chosen.
MOST_RANKED = 20_000

KINDS = ("singleton", "group", "group of unknown size")

#: New findings that the page lists.
MOST_LISTED = 200


def exit_code(run: AuditRun) -> int:
    """1 findings, 2 an area contradicts itself, 3 something is undecided, 0 none of these.

    Where findings were not asked for, 1 says that a claim is proved that no cell states.
    """
    totals = run.summary
    found = totals.hidden if totals.without_findings else totals.findings
    return 1 if found else exit_code_without(run)


def exit_code_without(run: AuditRun) -> int:
    """The exit code of a run whose findings do not count."""
    totals = run.summary
    parts = run.batches("areas", ["status"])
    if any(pc.any(pc.starts_with(part["status"], "contradiction")).as_py() for part in parts):
        return 2
    return 3 if totals.undecided or totals.areas_failed else 0


def verdict_rows(run: AuditRun) -> list[tuple[str, str, str]]:
    """Rows of (verdict, evidence, number of claims) that add up to all claims decided."""
    proved, others = Counter[str](), Counter[tuple[str, str]]()
    stored = run.summary.stored_by_verdict or add_up(run, by_verdict=True).stored_by_verdict
    for key, n in stored.items():
        verdict, evidence, *stated = key.split(", ")
        if verdict == "verified":
            proved["stated" if stated else evidence] += n
        elif verdict != "refuted":
            others[verdict, evidence] += n
    rows = [("verified", EVIDENCE[kind], proved[kind]) for kind in EVIDENCE if kind in proved]
    rows.append(("refuted", "two datasets disagree on it", run.summary.refuted))
    rows += [(verdict, _reason(verdict, evidence), n) for (verdict, evidence), n in sorted(others.items())]
    verdicts = ["", *(verdict for verdict, _, _ in rows)]
    return [
        ("" if verdict == before else verdict, evidence, f"{n:,}")
        for before, (verdict, evidence, n) in zip(verdicts, rows, strict=False)
    ]


def _reason(verdict: str, evidence: str) -> str:
    if verdict == "undecided":
        return _UNDECIDED.get(evidence, "the effort ran out")
    return EVIDENCE.get(evidence, evidence)


def most_telling(run: AuditRun, n: int = 5) -> list[StoredFinding]:
    """The most telling findings: about one record, much learnt from little, with a proof of few tables.

    At most one of each area, as long as there are enough areas.
    """
    return sorted(rank_findings(run)[:n], key=_rank)


def rank_findings(run: AuditRun, *, most: int = MOST_RANKED) -> list[StoredFinding]:
    """The most telling findings: the best one of every area, then every area's second, and so on."""
    places = _first_ranked(run, most)
    found = run.rows_at("findings", np.sort(places)).to_pylist()
    ranked = sorted((StoredFinding.of(found[at]) for at in np.argsort(np.argsort(places))), key=_rank)
    place, seen = list[int](), Counter[str]()
    for finding in ranked:
        place.append(seen[finding.area])
        seen[finding.area] += 1
    return [ranked[at] for at in sorted(range(len(ranked)), key=place.__getitem__)]


def _first_ranked(run: AuditRun, most: int) -> NDArray[np.int64]:
    """Where the findings are that may be among the first; a few columns tell, so that little is read."""
    kept, places, n_rows = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    for part in run.batches("findings", ["kind", "k", "n_tables_added"], rows=2**17):
        found = _telling(part)
        better = np.arange(len(found)) if len(kept) < most else np.flatnonzero(found > kept[-1])
        if len(better):
            both = np.concatenate([kept, found[better]])
            first = np.argsort(-both, kind="stable")[:most]  # of equal ones the first stay
            kept, places = both[first], np.concatenate([places, n_rows + better])[first]
        n_rows += part.num_rows
    return places


#: The kinds of findings as they are ranked before their sentences are read, the last one first.
_RANKED = pa.array(sorted(KINDS), pa.string())


def _telling(findings: pa.Table) -> NDArray[np.int64]:
    """How telling findings are: by kind, then by how much is known in the end, then by few tables."""
    kinds: Any = pc.fill_null(pc.index_in(findings["kind"], value_set=_RANKED), len(KINDS))
    k, tables = (np.clip(findings[name].to_numpy(), 0, 2**20 - 1) for name in ("k", "n_tables_added"))
    return (kinds.to_numpy().astype(np.int64) << 40) + (k << 20) - tables


def _rank(finding: StoredFinding) -> tuple[int, int, int, str]:
    """By surprise, then by how easily the proof is followed; an area's own findings stay in order."""
    knows, learns = len(finding.knows), len(finding.learns)
    surprise = learns - knows if knows else 0
    return KINDS.index(finding.kind), -surprise, finding.n_tables_added, finding.area


def open_areas(run: AuditRun) -> Iterator[str]:
    """A sentence about every area that was not decided, or not wholly."""
    parts = run.batches("areas", ["area", "status", "undecided"])
    open_ = (part.filter(pc.field("status") != "decided").to_pylist() for part in parts)
    for row in chain.from_iterable(open_):
        name = f"{row['area']}: " if row["area"] else ""
        if row["status"] == "partly decided":
            yield f"{name}{several(row['undecided'], 'claim')} undecided; a larger --effort may settle them"
        else:
            yield f"{name}{row['status']}"


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
    from showthrough.tables.after import read_after

    totals = read_after(run)
    if totals is None:
        return None
    found = tuple(telling_new(run, MOST_LISTED))
    return AfterSection(totals, totals.headline(run.summary), tuple(totals.lines()), found)


def telling_new(run: AuditRun, n: int) -> list[NewFinding]:
    """Some of the new findings, the most telling first."""
    from showthrough.tables.after import new_findings

    place = {(one.area, one.sentence): at for at, one in enumerate(rank_findings(run))}
    found = nsmallest(
        n,
        enumerate(new_findings(run)),
        key=lambda one: (place.get((one[1].area, one[1].sentence), len(place)), one[0]),
    )
    return [finding for _, finding in found]
