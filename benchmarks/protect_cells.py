"""Suppressing cells of ordinary office tables: cells, seconds, lower bound and gap, all certified.

Tables made at random with about as many cells and single records as those of an earlier prototype, and
tables of a sample of workers where the data folder has them. Where R has GaussSuppression, it protects
the same tables, as it does by default and without its guard against people who know their own record;
elsewhere its figures are printed as they were on the prototype's data, so that only orders of magnitude
compare. Where R has sdcTable, its heuristic with attacker problems protects them too. Elimination, the idea
of GaussSuppression, is run by code of our own wherever tables are not too large. All patterns, ours too,
are audited alike: which primary cells have certificates, which are proved to follow, which follow by branch
and bound alone, and how wide the intervals are that a reader derives.

Packages are found as R finds them: ``R_LIBS`` may name a folder of further ones.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks import elimination, gauss_suppression, sdc_table
from benchmarks.pattern_audit import MOST, audit_pattern
from benchmarks.r_packages import PeerFailed, PeerPattern, why_absent
from numpy.typing import NDArray

from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.protect_cells import protect_cells


@dataclass(frozen=True)
class Case:
    """A table to protect, and what the peer had on a similar one: primary cells, cells, seconds."""

    name: str
    make: Callable[[bool, int], CellProblem]
    peer: str


def joint(shape: tuple[int, ...], records: int, seed: int) -> NDArray[np.int64]:
    """Counts with uneven margins and some interaction."""
    rng = np.random.default_rng(seed)
    shares = np.ones(())
    for size in shape:
        shares = np.multiply.outer(shares, rng.dirichlet(np.ones(size)))
    shares = shares * rng.gamma(2.0, 1.0, shape)
    return rng.multinomial(records, (shares / shares.sum()).ravel()).reshape(shape)


def crossed(*shape: int, records: int) -> Callable[[bool, int], CellProblem]:
    """A table with all its margins."""
    return lambda zeros, seed: CellProblem.with_margins(joint(shape, records, seed), zeros=zeros)


def towns(regions: int, districts: int, n: int, *, records: int) -> Callable[[bool, int], CellProblem]:
    """Towns in districts in regions, by age and sex, with all totals."""
    groups = [
        range(at, at + n // parts) for parts in (districts, regions, 1) for at in range(0, n, n // parts)
    ]
    axes = [TableAxis.of(n, groups), TableAxis.of(10, [range(10)]), TableAxis.of(2, [range(2)])]
    return lambda zeros, seed: CellProblem.with_margins(
        joint((n, 10, 2), records, seed), axes=axes, zeros=zeros
    )


def margins_alone(made: Callable[[bool, int], CellProblem]) -> Callable[[bool, int], CellProblem]:
    """All margins of a table, but not the table itself: its cells are unknown to a reader."""

    def make(zeros: bool, seed: int) -> CellProblem:
        whole = made(zeros, seed)
        return replace(whole, hidden=whole.is_atom, primary=whole.primary & ~whole.is_atom)

    return make


def workers(*names: str, records: int = 3_500) -> Callable[[bool, int], CellProblem]:
    """A sample of workers by some attributes: skewed, most combinations empty."""

    def make(zeros: bool, seed: int) -> CellProblem:
        from pyarrow import parquet

        table = parquet.read_table(Path(os.environ["SHOWTHROUGH_DATA"]) / WORKERS, columns=list(names))
        chosen = np.random.default_rng(seed).choice(len(table), records, replace=False)
        codes, shape = list[NDArray[np.intp]](), list[int]()
        for name in names:
            values, own = np.unique(
                table[name].to_numpy(zero_copy_only=False).astype(str), return_inverse=True
            )
            shape.append(len(values))
            codes.append(own[chosen])
        flat = np.ravel_multi_index(tuple(codes), shape)
        counts = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
        return CellProblem.with_margins(counts, zeros=zeros)

    return make


WORKERS = "acs2018_workers.parquet"
FOUR = ("edu14", "marital", "race", "occ_group")


CASES = (
    Case("14 × 5 × 9", crossed(14, 5, 9, records=8_000), "89, 239 (0.4 s)"),
    Case("30 × 30", crossed(30, 30, records=8_000), "79, –"),
    Case("10 × 10 × 10", crossed(10, 10, 10, records=20_000), "91, 248 (0.8 s)"),
    Case("100 towns × age × sex", towns(5, 20, 100, records=60_000), "228, 810 (2.4 s)"),
    Case("1,000 towns × age × sex", towns(10, 100, 1000, records=250_000), "3,081, 8,868 (185 s)"),
    Case("14 × 5 × 9 × 25", crossed(14, 5, 9, 25, records=400_000), "–"),
    Case("2,700 towns × age × sex", towns(30, 270, 2700, records=700_000), "–"),
    Case("workers, three-way", workers(*FOUR[:3]), "89, 239 (0.4 s)"),
    Case("workers, four-way", workers(*FOUR), "1,294, 2,796 (119 s)"),
    Case("workers, up to three-way", margins_alone(workers(*FOUR)), "760, 1,091 (52 s)"),
)


@dataclass(frozen=True)
class Peer:
    """Another tool: the package it needs, and how it protects a table within so many seconds."""

    title: str
    package: str
    protect: Callable[[CellProblem, float], PeerPattern]


PEERS = (
    Peer(
        "GaussSuppression (CPU s)",
        "GaussSuppression",
        lambda problem, seconds: gauss_suppression.protect(problem, seconds=seconds),
    ),
    Peer(
        "the same, plain",
        "GaussSuppression",
        lambda problem, seconds: gauss_suppression.protect(problem, plain=True, seconds=seconds),
    ),
    Peer("sdcTable", "sdcTable", lambda problem, seconds: sdc_table.protect(problem, seconds=seconds)),
)


def measure(case: Case, options: argparse.Namespace) -> bool:
    """Protect one table and print a line; whether the plan is safe."""
    problem = case.make(options.zeros, options.seed)
    if options.by_count:
        problem = replace(problem, cost=np.maximum(problem.counts, 1))
    started, times = time.perf_counter(), list[tuple[float, int]]()
    busy = time.process_time()

    def note(cost: int, _bound: int, _seconds: float) -> None:
        times.append((time.process_time() - busy, cost))

    found = protect_cells(problem, effort=options.effort, seconds=options.seconds, progress=note)
    spent, seconds = time.process_time() - busy, time.perf_counter() - started
    first, cost = times[0] if times else (0.0, 0)
    gap = "–" if found.gap is None else f"{float(100 * found.gap):.1f} %"
    own = np.isin(np.arange(len(problem.counts)), found.suppressed)
    width = audit_pattern(problem, own, most=25).width
    figures = [
        case.name,
        f"{int((~problem.hidden).sum()):,}",
        f"{int(problem.primary.sum()):,}",
        f"{cost:,} ({first:.1f})",
        f"{found.cost:,} ({spent:.1f}; {seconds:.0f})",
        f"{found.lower_bound:,} {found.bound_kind}",
        gap,
        f"{'all' if found.safe else f'all but {len(found.open):,}'}, width {width:g}",
        *_others(case, problem, found.cost, options),
    ]
    print(f"| {' | '.join(figures)} |", flush=True)
    return found.safe


def _others(case: Case, problem: CellProblem, cost: int, options: argparse.Namespace) -> list[str]:
    """What elimination and the peers do with the same table."""
    if options.alone:
        return ["–"] * (1 + len(PEERS))
    own = elimination.eliminate(problem)
    parts = ["too large" if own is None else _other(problem, own.suppressed, own.seconds, cost, options)]
    return parts + [_peer(case, peer, problem, cost, options) for peer in PEERS]


def _peer(case: Case, peer: Peer, problem: CellProblem, cost: int, options: argparse.Namespace) -> str:
    """A peer's pattern, audited; its printed figure if the package is not there."""
    if why_absent(peer.package) is not None:
        return f"{case.peer}, printed" if peer is PEERS[0] else "–"
    try:
        found = peer.protect(problem, options.peer_seconds)
    except PeerFailed as error:
        return str(error)
    return _other(problem, found.suppressed, found.seconds, cost, options)


def _other(
    problem: CellProblem,
    suppressed: NDArray[np.bool_],
    seconds: float,
    cost: int,
    options: argparse.Namespace,
) -> str:
    audit = audit_pattern(problem, suppressed, most=None if options.every_primary else MOST)
    return f"{audit.cost:,} ({seconds:.1f} s), ours {cost / audit.cost:.2f} times; {audit}"


def main(arguments: list[str]) -> int:
    """Protect, certify, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks protect_cells")
    parser.add_argument("--cases", type=int, nargs="+", default=range(4), help="which lines, from 0 to 9")
    parser.add_argument("--seconds", type=float, help="stop improving a plan after this many seconds")
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zeros", action="store_true", help="cells of 0 may be suppressed too")
    parser.add_argument("--by-count", action="store_true", help="a cell costs its count, not 1")
    parser.add_argument("--alone", action="store_true", help="without elimination and peers")
    parser.add_argument("--peer-seconds", type=float, default=3600.0, help="stop a peer after so long")
    parser.add_argument(
        "--every-primary", action="store_true", help=f"audit all primary cells, not {MOST} of them"
    )
    options = parser.parse_args(arguments)
    head = [
        "table",
        "cells",
        "primary",
        "first plan (CPU s)",
        "plan (CPU s; s)",
        "lower bound",
        "gap",
        "certified",
    ]
    for package in dict.fromkeys(peer.package for peer in PEERS):
        reason = why_absent(package)
        print(f"{package}: {'runs' if reason is None else f'not run, {reason}'}")
    titles = [*head, "by elimination", *(peer.title for peer in PEERS)]
    print(f"\n| {' | '.join(titles)} |")
    print("|---|" + "--:|" * (len(titles) - 1))
    safe = [measure(CASES[at], options) for at in options.cases]
    print(f"\n{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB at most")
    return 0 if all(safe) else 1
