"""What it costs to hide every claim about a single home of five columns or more, against classical rules.

Simulated census blocks of about ten homes with the 79 published tables. Showthrough drops whole
tables, or suppresses cells; beside it cells of 1 to 4 are suppressed, without and with a partner in
each sum, and all counts are rounded. Every result is audited: the last columns say in how many
blocks something forbidden still follows, and how much. All in one process, figures added up over
the blocks.

On request only: ``--rules same``, one pattern of suppressed cells for all blocks; and ``--rules counts``,
where counts of 1 must stay unknown (or, with the mark "<5", those of 1 and 2): rules of the schema, or the
mark, keep these from the fast road for tables.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass, field

import showthrough as st
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_layout
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.classical import Outcome, classical_rules, judge_plan
from showthrough.tables.protect.moves import Mark
from showthrough.tables.protect.policy import Change, Policy
from showthrough.tables.protect.protect import protect, protect_alike
from showthrough.tables.protect.protection import Protection
from showthrough.tables.run.batch import Area

FORBIDDEN = "singletons,k>=5"

#: What can be compared: how the name of a classical rule starts, and what showthrough does.
RULES = ("as planned", "suppress", "round to 3", "round to 5", "tables", "cells")

#: What is measured on request only.
FURTHER = ("same", "counts")

#: Rules about counts that take the general road.
COUNTS = {
    "counts of 1": Policy.of("count<=1", moves="suppress"),
    'counts of 1 and 2, shown as "<5"': Policy.of(
        "count<=2", moves="suppress", change=Change(mark=Mark(0, 4))
    ),
}


@dataclass
class Row:
    """One way to protect, over all blocks."""

    outcome: Outcome | None = None
    leaking: int = 0
    optimal: int = 0
    seconds: float = 0.0
    lower: float = 0.0
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, one: Outcome) -> None:
        """One more block."""
        self.outcome = one if self.outcome is None else self.outcome + one
        self.leaking += bool(one.forbidden or one.undecided)


def blocks(n: int, smallest: int, largest: int, seed: int) -> list[Area]:
    """The first blocks of a simulation whose number of homes lies in a range."""
    layout = census_layout()
    homes = simulate_households(40 + 12 * n, seed=seed)
    records = st.Records.from_arrow(homes, layout.schema, by="block")
    chosen = [(name, mine) for name, mine in records.by_area() if smallest <= len(mine) <= largest]
    return [Area(layout.tabulate(mine, area=name), mine) for name, mine in chosen[:n]]


def measure(area: Area, moves: str, rows: dict[str, Row], name: str, effort: float) -> None:
    """Protect one block and audit what comes out."""
    policy = Policy.of(FORBIDDEN, moves=moves)
    started = time.process_time()
    found = protect(area.release, policy, truth=area.truth, effort=effort)
    row = rows.setdefault(name, Row())
    row.seconds += time.process_time() - started
    row.notes[found.status] += 1
    row.optimal += found.optimal
    row.lower += float(found.lower_bound)
    search = AreaSearch(area, policy, effort=1.0, seed=1)  # another seed than that of the search
    row.add(judge_plan(name, search, sorted(found.plan, key=repr)))


def measure_further(areas: list[Area], rules: list[str], effort: float) -> None:
    """One pattern for all blocks, and rules about counts: cost, bound and time of each."""
    if "same" in rules:
        started = time.process_time()
        found = protect_alike(areas, Policy.of(FORBIDDEN, moves="suppress,drop"), effort=effort)
        print_further(f"one pattern for {len(areas)} blocks", found, time.process_time() - started)
    for name, policy in COUNTS.items() if "counts" in rules else ():
        for area in areas:
            started = time.process_time()
            found = protect(area.release, policy, truth=area.truth, effort=effort)
            print_further(f"{name}, block {area.release.area}", found, time.process_time() - started)


def print_further(name: str, found: Protection, seconds: float) -> None:
    """One line."""
    cost, bound = float(found.cost), float(found.lower_bound)
    print(f"{name}: {found.status}; cost {cost:,.0f}, bound {bound:,.0f}; {seconds:.0f} core-seconds")


def main(arguments: list[str]) -> int:
    """Protect, audit, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks protect")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--homes", type=int, nargs=2, default=(9, 12), help="smallest and largest block")
    parser.add_argument("--skip", type=int, default=0, help="blocks to leave out at the start")
    parser.add_argument("--rules", nargs="+", default=RULES, choices=(*RULES, *FURTHER))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", type=float, default=1.0)
    options = parser.parse_args(arguments)
    areas = blocks(options.skip + options.blocks, *options.homes, options.seed)[options.skip :]
    policy = Policy.of(FORBIDDEN)
    rows: dict[str, Row] = {}
    for area in areas:
        search = AreaSearch(area, policy, effort=1.0, seed=1)
        for name, moves, mark in [("as planned", [], Mark()), *classical_rules(area.release)]:
            if any(name.startswith(rule) for rule in options.rules):
                rows.setdefault(name, Row()).add(judge_plan(name, search, moves, mark=mark))
        if "tables" in options.rules:
            measure(area, "drop", rows, "protect, whole tables", options.effort)
        if "cells" in options.rules:
            measure(area, "suppress,drop", rows, "protect, cells", options.effort)
        print(f"block {area.release.area} done", flush=True)
    measure_further(areas, options.rules, options.effort)
    if not rows:
        return 0
    n_cells, n_tables = len(areas[0].release.low), len(areas[0].release.tables)
    homes = sum(len(area.truth) for area in areas if area.truth is not None)
    print(f"{len(areas)} blocks, {homes} homes, {n_tables} tables with {n_cells} cells each block")
    print(f"forbidden: {FORBIDDEN}; figures are per block\n")
    print_table(rows, len(areas))
    unsafe = [name for name, row in rows.items() if name.startswith("protect") and row.leaking]
    return 1 if unsafe else 0


def print_table(rows: dict[str, Row], n: int) -> None:
    """The table for the README, in Markdown."""
    print(
        "| rule | cells withheld | cells rounded | tables dropped | forbidden claims left | blocks leaking |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    for name, row in rows.items():
        one = row.outcome
        assert one is not None
        figures = [one.withheld / n, one.rounded / n, one.dropped / n, one.forbidden / n]
        shown = " | ".join(f"{figure:,.1f}" for figure in figures)
        left = f"{row.leaking} of {n}"
        print(f"| {name} | {shown} | {left} |")
    print()
    for name, row in rows.items():
        if name.startswith("protect"):
            ended = ", ".join(f"{count} {status}" for status, count in row.notes.items())
            print(
                f"{name}: {ended}; proved cheapest in {row.optimal} of {n}; lower bound "
                f"{row.lower / n:.1f} cells; {row.seconds / n:.0f} core-seconds per block"
            )
