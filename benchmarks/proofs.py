"""How long proofs are that people are shown: cells and multipliers, as found first and made short.

The demo's county and simulated census blocks. For every finding the proofs of what is known and of that
with what is learnt are taken together: the number of different cells that they multiply, and the largest
multiplier. Every proof, long or short, is given to the independent checker; the exit code is 1 if it
rejects one, or if a short proof is longer than what ``bounds`` finds for the same selection (a sample).

What it costs to make proofs short and to check them before they are written: the CPU time of the same
audits with both, divided by that without.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import numpy as np
from benchmarks.census import Simulation
from threadpoolctl import threadpool_limits

import showthrough as st
from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
from showthrough.tables.proof import Checker, Node, Proof, leaves_of
from showthrough.tables.recheck import Recheck
from showthrough.tables.run.batch import Area
from showthrough.tables.search.questions import VERIFIED
from showthrough.tables.search.shorten import Shortener

#: One finding in so many is compared with what ``bounds`` finds.
SAMPLE = 20

Ends = tuple[Node | None, Node | None]


@dataclass
class Lengths:
    """Cells and largest multipliers, before and after, by kind of finding; and what is wrong."""

    cells: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    multipliers: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    checked: int = 0
    compared: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    seconds_without: float = 0.0

    @property
    def ratio(self) -> float:
        """CPU time with short, checked proofs, divided by that without."""
        return self.seconds / max(self.seconds_without, 1e-9)

    def add(self, kind: str, when: str, ends: Iterable[Ends]) -> None:
        """Note the proofs of one finding."""
        leaves = [leaf for pair in ends for node in pair if node is not None for leaf in leaves_of(node)]
        self.cells.setdefault((kind, when), []).append(len({at for leaf in leaves for at, _ in leaf.cells}))
        largest = max((abs(u) for leaf in leaves for _, u in leaf.cells), default=0)
        self.multipliers.setdefault((kind, when), []).append(largest)


def county(areas: int) -> Iterator[Area]:
    """The areas of the demo."""
    people = simulate_county(areas, seed=7)
    tables = tuple(st.make_table(COUNTY_SCHEMA, formula) for formula in COUNTY_TABLES)
    layout = st.Layout(COUNTY_SCHEMA, tables)
    for name, records in people.by_area():
        mine = st.Records(COUNTY_SCHEMA, records.codes)
        yield Area(layout.tabulate(mine, area=name), mine)


def measure(areas: Iterable[Area]) -> Lengths:
    """The lengths of all proofs of findings of some areas. What all areas share is made before."""
    found, every = Lengths(), list(areas)
    with threadpool_limits(1):
        for area in every[:1]:
            _timed(area)
        for area in every:
            _measure_area(area, found)
    return found


def _nothing(*_: object, **_options: object) -> None:
    """In place of a search, or of a check."""


def _all_hold(*_: object) -> bool:
    return True


def _kept(_: object, found: tuple[st.Finding, ...]) -> tuple[tuple[st.Finding, ...], list[st.Verdict]]:
    return found, []


@contextmanager
def neither_short_nor_checked() -> Generator[None]:
    """Audits keep the proofs that they find first, and do not check them."""
    with ExitStack() as stack:
        for name in ("between", "at_least", "at_most"):
            stack.enter_context(patch.object(Shortener, name, _nothing))
        stack.enter_context(patch.object(Recheck, "claims", _all_hold))
        stack.enter_context(patch.object(Recheck, "findings", _kept))
        stack.enter_context(patch.object(Recheck, "whole", _nothing))
        yield


def _timed(area: Area) -> tuple[st.Audit, float]:
    started = time.process_time()
    audit = st.audit(area.release, truth=area.truth)
    return audit, time.process_time() - started


def _measure_area(area: Area, into: Lengths) -> None:
    with neither_short_nor_checked():
        _, without = _timed(area)
    audit, seconds = _timed(area)
    into.seconds, into.seconds_without = into.seconds + seconds, into.seconds_without + without
    claims = audit.claim_table
    verified = np.flatnonzero(claims.state == VERIFIED)
    texts = claims.wording.selections(verified).to_pylist() if len(verified) else []
    at_text = dict(zip(texts, verified.tolist(), strict=True))
    checker = Checker(audit.schema, area.release)
    for number, finding in enumerate(audit.findings):
        if finding.kind == "group of unknown size":
            continue
        both = finding.knows & finding.learns
        shown = [at_text[one.to_json()] for one in ([finding.knows] if finding.knows.terms else []) + [both]]
        asked = [int(claims.question[at]) for at in shown]
        long: list[Ends] = [(claims.answers.at_least[q], claims.answers.at_most[q]) for q in asked]
        short = [claims.ends(at) for at in shown]
        into.add(finding.kind, "before", long)
        into.add(finding.kind, "after", short)
        over = claims.system.universe.frame.names
        for at, *pairs in zip(shown, long, short, strict=True):
            claim = claims.claim(at)
            for low, high in pairs:
                _check(checker, Proof(claim.selection.terms, claim.multiplicity, low, high, over=over), into)
        if number % SAMPLE == 0:
            _compare(area, claims.claim(shown[-1]), short[-1], into)


def _check(checker: Checker, proof: Proof, into: Lengths) -> None:
    into.checked += 1
    try:
        checker.check(proof)
    except st.ProofError as error:
        into.problems.append(f"{proof.selection}: {error}")


def _compare(area: Area, claim: st.Claim, ends: Ends, into: Lengths) -> None:
    """The page is never longer than ``bounds``."""
    into.compared += 1
    bounds = st.bounds(area.release, claim.selection, truth=area.truth)
    proofs = [proof for proof in (bounds.low_proof, bounds.high_proof) if proof is not None]
    other = len({cell for proof in proofs for cell in proof.cells})
    mine = {cell for node in ends if node is not None for leaf in leaves_of(node) for cell, _ in leaf.cells}
    if len(mine) > other:
        into.problems.append(f"{claim}: {len(mine)} cells, bounds has {other}")


def report(name: str, found: Lengths, seconds: float) -> None:
    """Print what was measured."""
    print(
        f"{name}: {found.checked:,} proofs checked, {found.compared:,} compared with bounds, {seconds:.0f} s"
    )
    print(f"  {'findings':<12}{'':8}{'number':>8}{'median':>8}{'p90':>6}{'longest':>9}{'multiplier':>12}")
    for (kind, when), cells in found.cells.items():
        middle, most = np.percentile(cells, [50, 90])
        print(
            f"  {kind:<12}{when:<8}{len(cells):>8,}{middle:>8.0f}{most:>6.0f}{max(cells):>9,}"
            f"{max(found.multipliers[kind, when]):>12,}"
        )
    print(
        f"  CPU seconds of the audits: {found.seconds_without:,.1f} with the proofs found first, unchecked; "
        f"{found.seconds:,.1f} with short ones, checked; ratio {found.ratio:.2f}"
    )
    for problem in found.problems[:20]:
        print(f"  {problem}")


def main(arguments: list[str]) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks proofs")
    parser.add_argument("--areas", type=int, default=40, help="areas of the demo")
    parser.add_argument("--blocks", type=int, default=200, help="census blocks")
    options = parser.parse_args(arguments)
    parts = {"demo": county(options.areas), "census blocks": Simulation.of(options.blocks, 1).areas()}
    wrong = False
    for name, areas in parts.items():
        started = time.process_time()
        found = measure(areas)
        report(name, found, time.process_time() - started)
        wrong |= bool(found.problems)
    return 1 if wrong else 0
