"""The engine against exhaustion on many small random releases: false and missed claims.

The cases and the comparison are those of ``tests/test_soundness.py``, with other seeds. A seed is a
layout that 24 releases are drawn for, and sometimes one larger release, or a run that is verified; and two
nested releases, of an area and its parts (``--only nested``: twenty of them and nothing else). With
``--add FILE`` the totals are added to those in a file, which is written every few seconds, and seeds go on
where they stopped. The exit code is 1 if anything differs from brute force.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from comparison import compare_seed
from tiny_asked import Found, Totals
from tiny_cases import DRAWS
from tiny_comparison import compare_plan
from tiny_nest_comparison import compare_nests
from tiny_runs import compare_stored

#: Seeds one process compares at a time.
CHUNK = 25

#: One seed in so many comes with a larger release.
LARGER = 10

#: One seed in so many has some of its releases audited into a folder, which is verified.
STORED = 10

FIRST_SEED = 1_000_000

#: Nested releases of one seed: among others, and alone.
NESTS, NESTS_ALONE = 2, 20

#: Problems that are kept; more say nothing new.
MOST_PROBLEMS = 200


@dataclass
class Sum:
    """Totals of several runs, the seeds they had, from and up to, and the seconds of processors."""

    totals: Totals = field(default_factory=Totals)
    seeds: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    seconds: float = 0.0

    def add(self, totals: Totals, seeds: tuple[int, int], seconds: float) -> None:
        """Add what a run found."""
        self.totals += totals
        self.totals.problems = self.totals.problems[:MOST_PROBLEMS]
        self.seconds += seconds
        if self.seeds and self.seeds[-1][1] == seeds[0]:
            self.seeds[-1] = (self.seeds[-1][0], seeds[1])
        else:
            self.seeds.append(seeds)

    def next_seed(self, wanted: int | None, many: int) -> int:
        """Where to go on; a seed must not be counted twice."""
        if wanted is None:
            return max((last for _, last in self.seeds), default=FIRST_SEED)
        for first, last in self.seeds:
            if wanted < last and first < wanted + many:
                raise SystemExit(f"seeds {first} to {last - 1} are in the file already; leave out --seed")
        return wanted

    def write(self, path: Path) -> None:
        """Write the totals, all of them or nothing."""
        kept = {"seeds": self.seeds, "seconds": round(self.seconds, 1), **vars(self.totals)}
        temporary = path.with_name(f"{path.name}.new")
        temporary.write_text(json.dumps(kept, indent=1, ensure_ascii=False), "utf-8")
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path | None) -> Sum:
        """The totals in a file; none if there is no such file."""
        if path is None or not path.exists():
            return cls()
        kept = json.loads(path.read_text("utf-8"))
        seeds, seconds = [(a, b) for a, b in kept.pop("seeds")], kept.pop("seconds")
        made = {name: value if isinstance(value, list) else Counter(value) for name, value in kept.items()}
        return cls(Totals(**made), seeds, seconds)


def compare_seeds(seeds: Iterable[int], only: str | None = None) -> tuple[Totals, float]:
    """The totals over some seeds and what they took; a crash is a problem like any other."""
    totals, started = Totals(), time.process_time()
    for seed in seeds:
        totals += compare_nests(_nests(seed, NESTS if only is None else NESTS_ALONE))
        if only is not None:
            continue
        totals += compare_plan(seed)
        if seed % LARGER == 0:
            totals.add(["larger release"], _larger(seed), f"larger release {seed // LARGER}")
        if seed % STORED == 5:
            totals.add(["stored and verified"], _stored(seed), f"run of plan {seed}")
    return totals, time.process_time() - started


def _nests(seed: int, many: int) -> range:
    """The seeds of so many nested releases: others for every seed."""
    return range(NESTS_ALONE * seed, NESTS_ALONE * seed + many)


def _larger(seed: int) -> Found:
    """One case with more record types and everything on."""
    try:
        problems = compare_seed(seed // LARGER).problems
    except Exception as error:  # noqa: BLE001 (counted and reported, and the exit code is 1)
        problems = [f"{type(error).__name__}: {error}"]
    found = Found()
    for problem in problems:
        kinds = (kind for kind in ("missed", "rejected", "undecided") if kind in problem)
        getattr(found, next(kinds, "false")).append(problem)
    return found


def _stored(seed: int) -> Found:
    """One run of several areas that is written and verified."""
    try:
        return compare_stored(seed)
    except Exception as error:  # noqa: BLE001 (counted and reported, and the exit code is 1)
        return Found(rejected=[f"{type(error).__name__}: {error}"])


def chunks(first: int, last: int, seconds: float | None) -> Iterator[range]:
    """Seeds in chunks until there are no more or the time is over."""
    started = time.monotonic()
    for at in range(first, last, CHUNK):
        if seconds is not None and time.monotonic() - started > seconds:
            return
        yield range(at, min(at + CHUNK, last))


def main(arguments: list[str]) -> int:
    """Compare, print the counts, and return the exit code."""
    options = _options(arguments)
    whole = Sum.read(options.add)
    many = -(-options.cases // (DRAWS if options.only is None else NESTS_ALONE))
    first = whole.next_seed(options.seed, many)
    run = Parallel(n_jobs=options.workers, return_as="generator", pre_dispatch="2*n_jobs")
    left = chunks(first, first + many, options.seconds)
    parts = run(delayed(compare_seeds)(chunk, options.only) for chunk in left)
    for part, seconds in parts:
        n_seeds = min(CHUNK, many)
        whole.add(part, (first, first + n_seeds), seconds)
        first, many = first + n_seeds, many - n_seeds
        if options.add is not None:
            whole.write(options.add)
    report(whole)
    return 1 if whole.totals.wrong else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks soundness")
    parser.add_argument(
        "--cases", type=int, default=20_000, help="at most so many (rounded up to whole seeds)"
    )
    parser.add_argument("--seconds", type=float, help="begin nothing new after this many seconds")
    parser.add_argument("--seed", type=int, help=f"the first seed: {FIRST_SEED:,}, or where FILE stopped")
    parser.add_argument("--only", choices=("nested",), help="nested releases and nothing else")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--add", type=Path, metavar="FILE", help="add the totals to those in this file")
    return parser.parse_args(arguments)


def report(whole: Sum) -> None:
    """Print every problem, and the counts by kind."""
    totals = whole.totals
    for problem in totals.problems[:50]:
        print(problem)
    columns = (totals.cases, totals.false, totals.missed, totals.rejected, totals.undecided)
    print(f"{'kind':<28}{'cases':>12}{'false':>8}{'missed':>8}{'rejected':>10}{'undecided':>11}")
    for kind, _ in totals.cases.most_common():
        cells = [counted[kind] for counted in columns]
        print("{:<28}{:>12,}{:>8,}{:>8,}{:>10,}{:>11,}".format(kind, *cells))
    print()
    for said, count in totals.said.most_common():
        print(f"{said:<36}{count:>12,}")
    rate = totals.cases["all"] / max(whole.seconds, 1e-9)
    print(f"\n{whole.seconds:,.0f} core-seconds; {rate:,.0f} cases per core-second")
