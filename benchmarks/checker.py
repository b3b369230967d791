"""What checking a run costs, beside what finding its proofs cost: audit, verify, and the checker alone.

The demo's county and simulated census blocks, all claims with their evidence. The exit code is 1 if
something does not hold, or if the checker alone takes more than a fifth of the audit's time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from benchmarks.census import LAYOUT, Simulation
from benchmarks.proofs import county

import showthrough as st
from showthrough.tables.proof.whole import check_run
from showthrough.tables.run.batch import Area, Settings
from showthrough.tables.run.folder import run_audit

#: The checker may take so much of the time that the audit took.
MOST = 1 / 5


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and the core-seconds it took."""
    started = time.process_time()
    return work(), time.process_time() - started


def measure(name: str, areas: Iterable[Area], layout: st.Layout, *, refuted: bool) -> bool:
    """Audit some areas and check the run both ways; whether all is well."""
    with tempfile.TemporaryDirectory() as place:
        run = run_audit(areas, layout, Path(place) / "run", settings=Settings(refuted=refuted))
        audit = pc.sum(run.table("timing")["core_seconds"]).as_py()
        verified, verifying = timed(lambda: st.verify(run.folder))
        checked, checking = timed(lambda: check_run(run.folder))
        size = sum(file.stat().st_size for file in run.folder.rglob("*.parquet"))
    n = checked.claims + checked.witnesses
    megabytes = f"{size / 1e6:.1f} MB of tables"
    print(f"{name}: {checked.areas:,} areas, {checked.proofs:,} proofs, {n:,} claims, {megabytes}")
    print(f"  {'':<18}{'core-seconds':>14}{'per claim':>14}{'of the audit':>14}")
    for what, seconds in (("audit", audit), ("verify", verifying), ("the checker alone", checking)):
        print(f"  {what:<18}{seconds:>14.2f}{1e6 * seconds / n:>11.0f} µs{seconds / audit:>14.3f}")
    for problem in (*verified.problems, *checked.problems)[:20]:
        print(f"  {problem}")
    return verified.holds and checked.holds and checking <= MOST * audit


def main(arguments: list[str]) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks checker")
    parser.add_argument("--areas", type=int, default=40, help="areas of the demo")
    parser.add_argument("--blocks", type=int, default=20, help="census blocks")
    parser.add_argument("--verified-only", action="store_true", help="without refuted claims")
    options = parser.parse_args(arguments)
    demo = list(county(options.areas))
    refuted = not options.verified_only
    good = measure("demo", demo, demo[0].release.layout, refuted=refuted)
    blocks = Simulation.of(options.blocks, 1).areas()
    good &= measure("census blocks", blocks, LAYOUT, refuted=refuted)
    return 0 if good else 1
