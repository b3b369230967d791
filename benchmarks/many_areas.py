"""A hundred thousand small areas on one machine: audit, verification, summary and page, with time and memory.

Few of the areas are different, and each of these is decided once: what is measured is everything but
deciding, which ``census`` measures. Every area is fed, batched, joined, sealed, verified, summarised and
counted for the page. Times are core-seconds with those of workers; memory is the most that this process has
held so far.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import showthrough as st
from showthrough.report.write import write_report
from showthrough.tables.coverage import evaluate
from showthrough.tables.run import batch as batches

SCHEMA = st.Schema.of({"age": ["young", "old"], "sex": ["f", "m"], "ill": ["no", "yes"]})
LAYOUT = st.Layout(SCHEMA, (st.make_table(SCHEMA, "age*sex"), st.make_table(SCHEMA, "sex*ill")))


def small_areas(n: int, n_different: int, seed: int = 1) -> Iterator[st.Area]:
    """So many areas of two to six people, so many of them different."""
    rng = np.random.default_rng(seed)
    people = [st.Records(SCHEMA, rng.integers(0, 2, (rng.integers(2, 7), 3))) for _ in range(n_different)]
    known = [(LAYOUT.tabulate(one), one) for one in people]
    for at in range(n):
        release, truth = known[at % n_different]
        yield st.Area(st.Release(LAYOUT, release.low, release.high, f"{at:07d}"), truth)


class DecidedOnce:
    """Decides areas as a run does, those with the same counts once."""

    def __init__(self) -> None:
        self._decide = batches._decide  # pyright: ignore[reportPrivateUsage]
        self._known = dict[bytes, dict[str, pa.Table]]()

    def __call__(self, area: st.Area, settings: st.Settings) -> dict[str, pa.Table]:
        """The tables of an area."""
        key = area.release.low.tobytes()
        if key not in self._known:
            self._known[key] = self._decide(area, settings)
        return {name: _named(table, area.release.area) for name, table in self._known[key].items()}


def _named(table: pa.Table, area: str) -> pa.Table:
    return table.set_column(0, "area", pa.array([area] * table.num_rows, pa.string()))


def measured(name: str, do: Callable[[], str]) -> None:
    """Do something, and print what it took."""
    before = _spent()
    said = do()
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  {name:<12}{_spent() - before:>10,.1f} s {held:>8,} MB   {said}", flush=True)


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main(arguments: list[str]) -> int:
    """Print a line for each step; the exit code is 1 if a check fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks many_areas", description=__doc__)
    parser.add_argument("--areas", type=int, default=100_000)
    parser.add_argument("--different", type=int, default=200, help="how many of them are different")
    parser.add_argument("--workers", type=int, default=1, help="processes that verify")
    options = parser.parse_args(arguments)
    batches._decide = DecidedOnce()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    problems = list[str]()

    def verify() -> str:
        done = st.verify(folder, workers=options.workers, page=False)
        problems.extend(done.problems)
        return f"{done.sentence()} {len(done.problems)} problems"

    def audit() -> str:
        st.run_audit(small_areas(options.areas, options.different), LAYOUT, folder)
        files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
        return f"{len(files)} files, {sum(files) / 1e6:,.0f} MB"

    def summary() -> str:
        found = evaluate(folder)
        return f"{found.n_areas:,} areas, {found.n_records:,} records"

    def page() -> str:
        return f"{write_report(folder).stat().st_size / 1e6:.2f} MB"

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        for step in (audit, verify, summary, page):
            measured(step.__name__, step)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
