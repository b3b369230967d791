"""Runs over the releases of one plan, written to a folder and verified there.

What an audit writes, ``showthrough verify`` must accept: it derives findings, sentences and figures with
code of its own, so the two are held against each other on many kinds of release.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import showthrough as st
from showthrough.tables.run.verify import verify_tables
from tiny_asked import Found
from tiny_cases import random_plan, random_tiny

#: Areas of one run.
AREAS = 6


def compare_stored(seed: int, *, sums: bool = False) -> Found:
    """Audit some releases of a plan into a folder; every problem that verifying finds there."""
    found = Found()
    plan = random_plan(seed, sums=sums)
    cases = [random_tiny(plan, seed, draw) for draw in range(AREAS)]
    areas = [
        st.Release(plan.layout, case.release.low, case.release.high, f"area {at}")
        for at, case in enumerate(cases)
        if len(case.counts)
    ]
    if not areas:
        return found
    with tempfile.TemporaryDirectory() as folder:
        run = st.run_audit(areas, plan.layout, Path(folder) / "run", settings=random_settings(seed))
        checked = verify_tables(run)
    found.said["stored claims verified"] += checked.claims
    found.said["stored findings verified"] += checked.findings
    found.rejected += [f"verify: {problem}" for problem in checked.problems]
    if checked.areas != len(areas):
        found.rejected.append(f"verify: {checked.areas} of {len(areas)} areas")
    return found


def random_settings(seed: int) -> st.Settings:
    """Any scope: everything, few columns, absences, gaps, with refuted claims or without."""
    draws = np.random.default_rng([seed, 5]).random(5)
    most = 2 if draws[0] < 0.3 else None
    scope = st.Scope(
        max_columns=most,
        multiplicity=(1, 2) if draws[1] < 0.15 else None,
        absent=bool(draws[2] < 0.3),
        gaps=bool(draws[3] < 0.2),
    )
    return st.Settings(scope=scope, refuted=bool(draws[4] < 0.5))
