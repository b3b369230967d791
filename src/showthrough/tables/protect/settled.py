"""What is forbidden and follows from tables that are already out: no plan for other tables can hide it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from showthrough.errors import Contradiction, Undecided
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.tables.audit import audit
from showthrough.tables.protect.judge import Judge, Settled
from showthrough.tables.search.questions import VERIFIED

__all__ = [
    "earlier_part",
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
        found = audit(alone, truth=judge.world, effort=effort, seed=seed)
        leaks = judge.leaks(alone, found, effort=effort, seed=seed)
    except (Undecided, Contradiction):
        return judge
    facts = found.claim_table
    verified = np.flatnonzero(facts.state == VERIFIED)
    texts = facts.wording.selections(verified).to_pylist() if len(verified) else []
    steps = frozenset(leak.text for leak in leaks.leaks if leak.multiplicity is None)
    narrow = frozenset(one for one in judge.policy.narrow if judge.is_narrow(alone, one, effort, seed))
    settled = Settled(frozenset(map(str, texts)), steps, narrow, leaks.n_forbidden)
    return replace(judge, settled=settled)
