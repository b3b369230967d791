"""Paper 000, Generate-then-Verify: homes covered, blocks with claims, how surprising they are, its method."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.census import LAYOUT, Simulation
from benchmarks.paper.data import Asked
from benchmarks.paper.figure import Curve, Figure, Said, written
from benchmarks.paper.generate_verify import generate_then_verify

from showthrough.census.figures import PAPER_COVERED, PAPER_HOMES
from showthrough.tables.coverage import Background, Coverage, evaluate
from showthrough.tables.run.folder import run_audit
from showthrough.tables.surprise import UniformValues

PAPER = "000"
KINDS = {"singletons": "claims about exactly one home", "all": "claims about any number of homes"}
COLUMNS = tuple(range(1, 11))

SIMULATED = (
    "The 2010 microdata file is not at hand: blocks of median size are simulated, with the 79 block tables "
    "of 2020. "
)


@dataclass(frozen=True, eq=False)
class BlockDraw:
    """One draw of blocks: the figures of its audit, and how many blocks have one dataset only."""

    summary: Coverage
    unique: int

    def numbers(self, table: str, kind: str, name: str, reference: str = "") -> list[float]:
        """A row of numbers by k; not a number where there is none."""
        rows: list[dict[str, Any]] = getattr(self.summary, table).to_pylist()
        found = {
            row["k"]: row[name]
            for row in rows
            if row["kind"] == kind and (not reference or row["reference"] == reference)
        }
        return [float(np.nan if found.get(k) is None else found[k]) for k in COLUMNS]


@cache
def drawn(asked: Asked) -> tuple[BlockDraw, ...]:
    """Blocks of 9 to 11 homes, audited, several times over."""
    return tuple(_audited(asked, asked.seed + draw) for draw in range(max(2, asked.draws // 3)))


def _audited(asked: Asked, seed: int) -> BlockDraw:
    simulation = Simulation.of(10 * asked.blocks, seed)
    names = simulation.median(asked.blocks)
    known = Background.of_places(simulation.homes, LAYOUT.schema, {"tract": "tract", "state": "state"})
    references = {**known.references, "uniform": (UniformValues(LAYOUT.schema), str)}
    with tempfile.TemporaryDirectory() as folder:
        run = run_audit(simulation.areas(names), LAYOUT, Path(folder) / "run", workers=1)
        summary = evaluate(run.folder, known.records, references=references)
        return BlockDraw(summary, run.summary.areas_unique)


def tables_2_and_3(asked: Asked) -> list[Figure]:
    """Shares of homes covered by verified claims of k columns."""
    draws = drawn(asked)
    figures = list[Figure]()
    for place, kind in (("Table 2", "singletons"), ("Table 3", "all")):
        rows = [one.numbers("covered", kind, "share") for one in draws]
        printed = [PAPER_COVERED[kind].get(k) for k in COLUMNS]
        shares = [None if one is None else one / PAPER_HOMES for one in printed]
        curve = Curve.of(KINDS[kind], COLUMNS, rows, shares)
        falls = all(a >= b - 0.01 for a, b in zip(curve.mean[4:], curve.mean[5:], strict=False))
        homes = np.mean([one.summary.n_records for one in draws])
        figures.append(
            Figure(
                PAPER,
                place,
                f"Homes covered by verified {KINDS[kind]}, by the number of columns",
                "columns",
                "share of homes",
                (curve,),
                (
                    Said.near(curve, 0.1, "%"),
                    Said(
                        "the more columns, the fewer homes",
                        "from 5 to 10 columns" if falls else "not throughout",
                        falls,
                    ),
                ),
                f"On average {homes:,.0f} homes in {draws[0].summary.n_areas} blocks. Every "
                "claim is decided here; "
                "the paper verifies what 100 datasets have in common, within a time limit.",
                (
                    f"Blocks with a single dataset: {', '.join(str(one.unique) for one in draws)}; the "
                    "paper has 1 of 50.",
                ),
                unit="%",
                data=SIMULATED,
            )
        )
    return figures


def figures_2a_and_3a(asked: Asked) -> list[Figure]:
    """Blocks with at least one verified claim of k columns."""
    draws = drawn(asked)
    figures = list[Figure]()
    for place, kind in (("Figure 2a", "singletons"), ("Figure 3a", "all")):
        curve = Curve.of(KINDS[kind], COLUMNS, [one.numbers("areas", kind, "share") for one in draws])
        five, eight, ten = curve.mean[4], curve.mean[7], curve.mean[9]
        said = (
            Said("of 8 columns in the majority of blocks", written(eight, "%"), eight > 0.5),
            Said("of 5 columns in over 90 % of blocks", written(five, "%"), five > 0.9),
            Said("of all 10 columns often not", written(ten, "%"), ten < 0.6),
        )
        figures.append(
            Figure(
                PAPER,
                place,
                f"Blocks with verified {KINDS[kind]}, by the number of columns",
                "columns",
                "share of blocks",
                (curve,),
                said if kind == "singletons" else (),
                "",
                unit="%",
                data=SIMULATED,
            )
        )
    return figures


def figures_2_and_3_baselines(asked: Asked) -> list[Figure]:
    """How likely verified claims are in a block drawn from the tract, from the state, or from nothing."""
    draws = drawn(asked)
    figures = list[Figure]()
    for place, kind in (("Figure 2b, 2c", "singletons"), ("Figure 3b, 3c", "all")):
        curves = [
            Curve.of(
                f"{reference}, median",
                COLUMNS,
                [one.numbers("baselines", kind, "median", reference) for one in draws],
            )
            for reference in ("tract", "state", "uniform")
        ]
        tract = curves[0].mean
        figures.append(
            Figure(
                PAPER,
                place,
                f"How likely verified {KINDS[kind]} are in a block drawn at random: medians",
                "columns",
                "probability",
                tuple(curves),
                (
                    Said(
                        "the median is under 5 % for every number of columns",
                        f"from {written(tract[0], '%')} to {written(tract[-1], '%')}",
                        max(tract) < 0.05,
                    ),
                    Said(
                        "nearly 0 for 7 columns or more", written(max(tract[6:]), "%"), max(tract[6:]) < 0.05
                    ),
                ),
                "Claims of one to five columns are about common homes here: all that follow are counted.",
                (
                    "The uniform prior, which the paper calls uninteresting, makes everything look "
                    "surprising: not the default.",
                ),
                unit="%",
                data=SIMULATED,
            )
        )
    return figures


FIGURES: dict[str, Callable[[Asked], Figure | list[Figure]]] = {
    "Tables 2 and 3": tables_2_and_3,
    "Figures 2a and 3a": figures_2a_and_3a,
    "Figures 2b, 2c, 3b, 3c": figures_2_and_3_baselines,
    "generate-then-verify": generate_then_verify,
}
