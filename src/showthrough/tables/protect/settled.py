"""What is forbidden but follows from tables already published: no plan for other tables can hide it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from showthrough.errors import Contradiction, Undecided
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.selection import Selection
from showthrough.tables.audit import audit
from showthrough.tables.protect.judge import Judge, Settled
from showthrough.tables.result import Audit
from showthrough.tables.search.questions import VERIFIED

__all__ = [
    "earlier_part",
    "excuse",
    "settle",
]


def earlier_part(release: Release, earlier: tuple[str, ...]) -> Release | None:
    """The tables of a release that are already out; None if they say nothing."""
    keep = np.array([table in earlier for table, _ in release.layout.names], bool)
    tables = tuple(table for table in release.tables if table.name in earlier)
    low, high = release.low[keep], release.high[keep]
    if not ((low > 0) | (high < UNBOUNDED)).any():
        return None
    return Release(Layout(release.schema, tables), low, high, release.area)


def settle(judge: Judge, planned: Release, *, effort: float, seed: int) -> Judge:
    """The judge who forbids only what does not follow from the tables that are already out.

    What is undecided about these stays forbidden.
    """
    alone = earlier_part(planned, judge.policy.change.earlier)
    if alone is None:
        return judge
    try:
        found = None if judge.policy.only_cells else audit(alone, truth=judge.world, effort=effort, seed=seed)
        leaks = judge.leaks(alone, found, effort=effort, seed=seed)
    except (Undecided, Contradiction):
        return judge
    texts = [] if found is None else _verified(found)
    steps = frozenset(leak.text for leak in leaks.leaks if leak.multiplicity is None)
    settled = Settled(frozenset(texts), steps, leaks.n_forbidden)
    return replace(judge, settled=settled, needs=judge.left_to_hide(alone, effort=effort, seed=seed))


def excuse(judge: Judge, waived: Iterable[Selection]) -> Judge:
    """The judge who does not forbid what waived cells state."""
    texts = frozenset(selection.to_json() for selection in waived)
    return replace(judge, settled=replace(judge.settled, claims=judge.settled.claims | texts))


def _verified(found: Audit) -> list[str]:
    """The claims that follow, as JSON."""
    facts = found.claim_table
    verified = np.flatnonzero(facts.state == VERIFIED)
    return list(map(str, facts.wording.selections(verified).to_pylist())) if len(verified) else []
