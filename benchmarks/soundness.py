"""The engine against exhaustion on many small random releases: false and missed claims.

The cases and the comparison are those of ``tests/test_soundness.py``, with other seeds. The exit
code is 1 if anything differs from brute force.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from comparison import Tally, compare_seed

CHUNK = 50


def compare_seeds(seeds: Iterable[int]) -> Tally:
    """The tally over some seeds; a crash of the engine is a problem like any other."""
    tally = Tally()
    for seed in seeds:
        try:
            tally += compare_seed(seed)
        except Exception as error:  # noqa: BLE001 (reported, and the exit code is 1)
            tally.cases += 1
            tally.problems.append(f"seed {seed}: {type(error).__name__}: {error}")
    return tally


def main(arguments: list[str]) -> int:
    """Compare, print the counts, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks soundness")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first case's seed")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    last = options.seed + options.cases
    chunks = [range(at, min(at + CHUNK, last)) for at in range(options.seed, last, CHUNK)]
    run = Parallel(n_jobs=options.workers, return_as="generator")
    tally = sum(run(delayed(compare_seeds)(chunk) for chunk in chunks), start=Tally())
    report(tally, time.perf_counter() - started)
    return 1 if tally.problems else 0


def report(tally: Tally, seconds: float) -> None:
    """Print every problem and the counts."""
    for problem in tally.problems[:50]:
        print(problem)
    counts = {
        "cases": tally.cases,
        "claims verified": tally.verified,
        "claims refuted": tally.refuted,
        "absences": tally.absences,
        "impossible": tally.gaps,
        "findings": tally.findings,
        "false": tally.false,
        "missed": tally.missed,
        "undecided": tally.undecided,
        "proofs checked": tally.proofs,
        "worlds checked": tally.worlds,
        "problems": len(tally.problems),
    }
    for name, count in counts.items():
        print(f"{name:<16}{count:>12,}")
    print(f"{'seconds':<16}{seconds:>12,.1f}")
