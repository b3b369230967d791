"""Mutation testing: every small fault in the checker, in inverting and in rebuilding is noticed.

Which faults there are says ``benchmarks/mutations.py``, how tests meet them ``mutant_forks.py``.
Mutants that change nothing anyone could see are declared in ``equivalent_mutants.toml``, each with
its reason. The exit code is 1 if another mutant survives, or if a declaration is stale: it fits no
mutant, or the mutant is killed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutant_forks import KILLED, SURVIVED, TIMED_OUT, Case, Target, cases_of, run_target

__all__ = ["TARGETS", "Equivalent", "Target", "main", "run"]

HERE = Path(__file__).resolve().parent

TARGETS = {
    "checker": Target(
        (
            "src/showthrough/tables/proof/checker.py",
            "src/showthrough/tables/proof/possible.py",
            "src/showthrough/tables/proof/tree.py",
            "src/showthrough/tables/proof/world.py",
        ),
        (
            "tests/tables/test_checker.py",
            "tests/tables/test_checker_alone.py::TestWorlds",
            "tests/tables/test_proof.py",
            "tests/test_nouns.py",
        ),
        ("tests/tables/test_proof.py::TestTampering",),
    ),
    "folder": Target(
        (
            "src/showthrough/tables/proof/whole.py",
            "src/showthrough/tables/proof/folder.py",
            "src/showthrough/tables/proof/parquet.py",
            "src/showthrough/tables/proof/pages.py",
            "src/showthrough/tables/proof/thrift.py",
        ),
        ("tests/tables/test_checker_alone.py", "tests/tables/test_parquet_reader.py", "tests/test_nouns.py"),
        (
            "tests/tables/test_checker_alone.py::TestWhatHolds::test_a_run_of_an_audit",
            "tests/tables/test_checker_alone.py::test_a_copy_needs_numpy_and_nothing_else",
            "tests/tables/test_parquet_reader.py::test_it_reads_what_arrow_wrote_and_nothing_damaged",
        ),
        # Limits on memory: one more or less makes no difference to anyone.
        apart=("MOST_TOLD,", "LONGEST_HEADER,", "MOST_ENTRIES", "LARGEST_FOOTER", "DEEPEST"),
    ),
    "perturb": Target(
        ("src/showthrough/microdata/uniform.py",),
        ("tests/microdata/test_perturb.py", "tests/test_nouns.py"),
        apart=("UniformPerturbation", "_UniformPlan"),
    ),
    "inversion": Target(
        ("src/showthrough/microdata/estimation.py",),
        ("tests/microdata/test_inversion.py", "tests/microdata/test_statistics.py", "tests/test_nouns.py"),
    ),
    "promise": Target(
        ("src/showthrough/microdata/reconstruction_privacy.py",),
        (
            "tests/microdata/test_promise.py",
            "tests/microdata/test_reconstruction_privacy.py",
            "tests/microdata/test_verbs.py",
            "tests/test_nouns.py",
        ),
        apart=(
            *("Tails", "_pairs", "_distinct_pairs", "_cells", "_binomial", "_binomial_at_least"),
            *("_SLACK", "_BERRY_ESSEEN", "_BLOCK", "_MOST_SIZES"),
        ),
    ),
    "rebuilding": Target(
        (
            "src/showthrough/numbers/reconstruction.py",
            "src/showthrough/numbers/iteration.py",
            "src/showthrough/numbers/density.py",
            "src/showthrough/numbers/bins.py",
        ),
        (
            "tests/numbers/test_distribution.py",
            "tests/numbers/test_rebuilding.py",
            "tests/numbers/test_density.py::TestDistribution",
            "tests/numbers/test_density.py::test_a_value_at_the_upper_end_of_the_grid_lies_on_it",
            "tests/numbers/test_density.py::test_as_by_fft_equals_the_double_sum",
            "tests/numbers/test_density.py::test_one_record",
            "tests/numbers/test_density.py::test_unusable_settings",
            "tests/numbers/test_wrong_types.py",
            "tests/test_nouns.py",
        ),
        apart=(
            # What noisy values say about the spread, and when to stop.
            *("Spread", "best_constant", "explain_spread", "_IMPOSSIBLE", "_PARTS"),
            *("Fixed", "Converged", "HeldOut", "as_rule", "most_iterations", "_check_count"),
            # Counting values into bins.
            *("BinCounts", "check_finite", "check_method", "as_array", "chunks_of", "count_in_bins"),
            *("_TINY", "_CHUNK"),
        ),
    ),
}

#: Loaded once, so that forks that load a module anew need not.
PRELOADED = ("numpy", "scipy.stats", "scipy.sparse", "pyarrow", "highspy", "ortools.sat.python.cp_model")

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Equivalent:
    """Mutants of one statement that change nothing, and why."""

    file: str
    within: str
    line: str
    becomes: tuple[str, ...]
    reason: str

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Equivalent:
        """From an entry of the file."""
        becomes = plain["becomes"]
        texts = (becomes,) if isinstance(becomes, str) else tuple(becomes)
        if not plain.get("reason", "").strip():
            raise SystemExit(f"declared equivalent without a reason: {plain['line']}")
        return cls(plain["file"], plain["within"], plain["line"], texts, plain["reason"])

    @property
    def keys(self) -> list[Key]:
        """The mutants it is about."""
        return [(self.file, self.within, self.line, text) for text in self.becomes]


def read_equivalents(path: Path) -> list[Equivalent]:
    """What is declared in a file."""
    entries = tomllib.loads(path.read_text("utf-8")).get("mutant", [])
    return [Equivalent.from_plain(entry) for entry in entries]


@dataclass(frozen=True)
class Outcome:
    """What became of a target's mutants, and which of them are declared equivalent."""

    fates: Mapping[Case, tuple[str, str]]
    declared: frozenset[Key]

    @property
    def survived(self) -> list[Case]:
        """Survivors nobody has declared."""
        return [c for c, (what, _) in self.fates.items() if what == SURVIVED and c.key not in self.declared]

    @property
    def equivalent(self) -> list[Case]:
        """Survivors that are declared."""
        return [c for c, (what, _) in self.fates.items() if what == SURVIVED and c.key in self.declared]

    @property
    def stale(self) -> list[str]:
        """Declared mutants that are killed."""
        right = {case.key for case in self.equivalent}
        wrong = [
            (c, by) for c, (_, by) in self.fates.items() if c.key in self.declared and c.key not in right
        ]
        return [f"stale: killed by {by or 'itself'}\n{_shown(case.key)}" for case, by in wrong]

    @property
    def row(self) -> list[int]:
        """Mutants, killed, timed out, survived, equivalent."""
        counts = Counter(what for what, _ in self.fates.values())
        found = (len(self.fates), counts[KILLED], counts[TIMED_OUT], len(self.survived), len(self.equivalent))
        return list(found)


COLUMNS = ("target", "mutants", "killed", "timed out", "survived", "equivalent", "seconds")


def run(
    targets: Mapping[str, Target],
    *,
    root: Path,
    equivalents: Sequence[Equivalent] = (),
    sample: int | None = None,
    seed: int = 1,
    workers: int = 1,
    log: Path | None = None,
    again: frozenset[Key] | None = None,
) -> int:
    """Run every target's mutants, print what became of them, and return the exit code."""
    declared = frozenset(key for one in equivalents for key in one.keys)
    bad: list[str] = []
    _print_row(COLUMNS)
    for name, target in targets.items():
        started = time.perf_counter()
        every = cases_of(target, root)
        gone = {key for key in declared if key[0] in target.files} - {case.key for case in every}
        bad += [f"stale: no such mutant\n{_shown(key)}" for key in sorted(gone)]
        cases = [case for case in every if again is None or case.key in again]
        if sample is not None:
            cases = random.Random(f"{seed} {name}").sample(cases, min(sample, len(cases)))  # noqa: S311
        outcome = Outcome(_fates(name, target, root, cases, workers, log), declared)
        bad += [f"survived: {c.file}:{c.mutant.lines[0]}\n{_shown(c.key)}" for c in outcome.survived]
        bad += outcome.stale
        _print_row([name, *outcome.row, round(time.perf_counter() - started)])
    print("".join(f"\n{one}" for one in bad), end="\n" if bad else "")
    return 1 if bad else 0


def _fates(
    name: str, target: Target, root: Path, cases: Sequence[Case], workers: int, log: Path | None
) -> dict[Case, tuple[str, str]]:
    """The fate of each mutant, noted in the log as it becomes known and counted on a terminal."""
    found: dict[Case, tuple[str, str]] = {}
    for case, what, by in run_target(target, root, cases, workers) if cases else ():
        found[case] = what, by
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*case.key, case.mutant.lines[0], what, by]) + "\n")
        if sys.stderr.isatty():
            print(f"\r{name} {len(found):,}/{len(cases):,} ", end="\r", file=sys.stderr, flush=True)
    return {case: found[case] for case in cases}


def _print_row(row: Sequence[object]) -> None:
    first, *rest = row
    cells = [f"{cell:>12,}" if isinstance(cell, int) else f"{cell:>12}" for cell in rest]
    print(f"{first:<12}{''.join(cells)}", flush=True)


def _shown(key: Key) -> str:
    file, within, line, becomes = key
    return f"  {file}, in {within or 'the module'}\n  - {line}\n  + {becomes}"


def survivors_in(log: Path) -> frozenset[Key]:
    """The mutants that survived when a log was written."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return frozenset(
        (file, within, line, to) for file, within, line, to, _, what, _ in lines if what == SURVIVED
    )


def main(arguments: list[str]) -> int:
    """Run the mutants, print the figures, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks mutants")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; may be repeated")
    parser.add_argument("--sample", type=int, help="only so many mutants of each target")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--log", type=Path, help="append the fate of every mutant to this file, as JSON")
    parser.add_argument("--again", type=Path, help="only mutants that survived according to this log")
    options = parser.parse_args(arguments)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    for name in PRELOADED:
        importlib.import_module(name)
    return run(
        {name: TARGETS[name] for name in options.target or TARGETS},
        root=HERE.parent,
        equivalents=read_equivalents(HERE / "equivalent_mutants.toml"),
        sample=options.sample,
        seed=options.seed,
        workers=options.workers,
        log=options.log,
        again=survivors_in(options.again) if options.again else None,
    )
