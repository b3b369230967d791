"""Paper 003, tables and theory: retentions, sub-tables, Theorem 2, and the bound as a guide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.paper.data import SIZES, Asked
from benchmarks.paper.figure import Curve, Figure, Said, written
from benchmarks.paper.totals import as_printed, decay, errors_of_totals, geometric
from benchmarks.paper.totals import totals as rounded_totals
from scipy import stats

from showthrough.microdata.merging import Cost
from showthrough.microdata.partition import partition
from showthrough.microdata.promises import RhoPrivacy

PAPER = "003"

UP, UP_LARGEST, PP_PRINTED, PP_BEST = "UP", "UP, largest share", "PP, as printed", "PP, best order"

TABLE_1 = {77: (5, 1), 70: (5, 1), 50: (7, 2), 14: (22, 6), 9: (31, 8), 7: (36, 9), 6: (40, 10), 2: (67, 17)}
TABLE_2 = {6: (2.9, 9.0), 5: (4.0, 12.3), 4: (5.9, 17.3), 3: (9.4, 25.7)}
TABLE_3 = {
    "initial groups": (17, 18, 19, 20, 20),
    "sub-tables": (15, 8, 10, 11, 12),
    "mean m_i": (15.0, 20.9, 17.3, 17, 18.4),
    "mean γ_i": (2.6, 2.7, 2.6, 2.6, 2.8),
}

SURROGATE = "OCC is not public; totals of 50 values in geometric decay, the largest 7.57 %, take its place."


def table_1(asked: Asked) -> Figure:
    """Retentions for γ = 5."""
    del asked
    promise = RhoPrivacy(1 / 6, 1 / 2)
    kept = [promise.retention(m) for m in TABLE_1]
    other = [(1 - p) / m for p, m in zip(kept, TABLE_1, strict=True)]
    printed = list(zip(*TABLE_1.values(), strict=True))
    curves = [
        Curve.of(name, TABLE_1, found, [one / 100 for one in given])
        for name, found, given in (("p", kept, printed[0]), ("q", other, printed[1]))
    ]
    return Figure(
        PAPER,
        "Table 1",
        "Retention p and probability q of each other value, γ = 5",
        "m",
        "probability",
        tuple(curves),
        tuple(Said.near(curve, 0.005, "%") for curve in curves),
        unit="%",
    )


def table_2(asked: Asked) -> Figure:
    """Mean retentions of uniform perturbation and of sub-tables."""
    numbers = list(TABLE_2)
    rows: dict[str, list[list[float]]] = {
        UP: [],
        UP_LARGEST: [],
        PP_PRINTED: [],
        PP_BEST: [],
    }
    for draw in range(asked.draws):
        totals = geometric(300_000, seed=asked.seed + draw)
        found: dict[str, list[float]] = {name: [] for name in rows}
        for number in numbers:
            promise = RhoPrivacy(1 / 13, 1 / number)
            largest = promise.for_frequency(float(totals.max() / totals.sum()))
            found[UP].append(promise.retention(50))
            found[UP_LARGEST].append(largest.retention(50))
            found[PP_PRINTED].append(float(as_printed(totals, promise).retention.mean()))
            found[PP_BEST].append(float(partition(totals, promise, cost="bound", step=1).retention.mean()))
        for name, one in found.items():
            rows[name].append(one)
    given = {name: [TABLE_2[n][at] / 100 for n in numbers] for at, name in ((0, UP), (1, PP_PRINTED))}
    given[UP_LARGEST] = given[UP]
    curves = {name: Curve.of(name, numbers, found, given.get(name)) for name, found in rows.items()}
    return Figure(
        PAPER,
        "Table 2",
        "Retention of uniform perturbation (UP) and mean retention of sub-tables (PP), 300,000 records",
        "L",
        "retention",
        tuple(curves.values()),
        (
            Said.near(curves[UP], 0.0005, "%"),
            Said.near(curves[UP_LARGEST], 0.0015, "%"),
            Said.near(curves[PP_PRINTED], 0.03, "%"),
        ),
        "The printed retentions of UP do not follow from ρ1 = 1/13; they follow from the "
        "largest share, about "
        "7.5 %, in its place.",
        unit="%",
        data=SURROGATE,
    )


def table_3(asked: Asked) -> Figure:
    """Sub-tables by the number of records, ρ2 = 1/6."""
    promise = RhoPrivacy(1 / 13, 1 / 6)
    found: dict[str, list[list[float]]] = {name: [] for name in TABLE_3}
    for draw in range(asked.draws):
        each = [as_printed(geometric(int(size), seed=asked.seed + draw), promise) for size in SIZES]
        found["initial groups"].append([one.n_groups for one in each])
        found["sub-tables"].append([len(one) for one in each])
        found["mean m_i"].append([float(np.mean([len(domain) for domain in one.domains])) for one in each])
        found["mean γ_i"].append([float(one.amplification.mean()) for one in each])
    named = [f"{size:,}" for size in SIZES]
    curves = [Curve.of(name, named, rows, TABLE_3[name]) for name, rows in found.items()]
    return Figure(
        PAPER,
        "Table 3",
        "Sub-tables of PP by the number of records, ρ2 = 1/6",
        "records",
        "number, mean",
        tuple(curves),
        (
            Said.near(curves[0], 2),
            Said.near(curves[1], 5),
            Said.near(curves[2], 5),
            Said.near(curves[3], 0.3),
        ),
        f"The sizes of the table hardly matter; which draw it is does: sub-tables differ by "
        f"{max(curves[1].spread or (0,)):.1f} (standard deviation) and so does the print from column to "
        "column.",
        data=SURROGATE,
    )


#: Tables of records: how many, values, γ, and how many have the value asked about. The second is the toy T2.
CASES = ((42, 6, 4.0, 12), (6, 6, 10.0, 1), (100, 50, 3.0, 1), (300, 50, 2.5, 20), (3_000, 50, 2.5, 200))


def theorem_2(asked: Asked) -> Figure:
    """The bound on the error of a frequency: its condition, and how often errors are larger."""
    del asked
    at = [f"n {n:,}, m {m}, γ {gamma:g}, f {f}" for n, m, gamma, f in CASES]
    slack = np.array([_exceeded(*case) for case in CASES])
    broken = float(stats.binom.sf(10, 100, 0.01)), 2 * float(np.exp(-(9**2) * 1 / 4))
    return Figure(
        PAPER,
        "Theorem 2",
        "How often an estimated frequency is off by more than the bound ε allows, β = 0.05",
        "table",
        "probability",
        (
            Curve.of("by the paper's ε, exactly", at, slack[:, 1]),
            Curve.of("by Hoeffding's ε, exactly", at, slack[:, 2]),
            Curve.of("θ / (2e − 1)", at, slack[:, 0]),
        ),
        (
            Said(
                "errors are within ε with probability 1 − β",
                f"beyond it in {written(slack[:, 1].max(), '%')} at most",
                bool(slack[:, 1].max() <= 0.05),
            ),
            Said(
                "Pr[|Y − μ| > θμ] < 2 exp(−θ²μ/4) for any θ",
                f"n = 100, t = 0.01, θ = 9: {broken[0]:.1e} and {broken[1]:.1e}",
                broken[0] < broken[1],
            ),
        ),
        "The tail bound in the proof holds for θ ≤ 2e − 1 only. The theorem is true nevertheless, and "
        "weaker than it could be: "
        "Hoeffding's inequality gives 2 exp(−2n(pε)²) without any condition, an ε that is √8 times smaller.",
    )


def _exceeded(n: int, m: int, gamma: float, f: int) -> tuple[float, float, float]:
    """θ/(2e − 1), and how often the estimate of f is off by more than the paper's and Hoeffding's ε."""
    kept = (gamma - 1) / (m - 1 + gamma)
    other = (1 - kept) / m
    shown = np.convolve(
        stats.binom.pmf(np.arange(f + 1), f, kept + other),
        stats.binom.pmf(np.arange(n - f + 1), n - f, other),
    )
    off = np.abs((np.arange(n + 1) - n * other) / kept - f) / n
    log = np.log(2 / 0.05)
    theirs, ours = 2 * np.sqrt(log) / (kept * np.sqrt(n)), np.sqrt(log / 2) / (kept * np.sqrt(n))
    share = kept * f / n + other
    return (
        theirs * kept / share / (2 * np.e - 1),
        float(shown[off > theirs].sum()),
        float(shown[off > ours].sum()),
    )


def costs(asked: Asked) -> Figure:
    """How far estimates of totals are off: by the bound, by the variance, and with coarser grids."""
    shapes = {
        "geometric": (rounded_totals(decay(50, 0.0757) ** np.arange(50)), 1 / 13),
        "Zipf": (rounded_totals(1 / np.arange(1.0, 101)), 1 / 5),
        "nearly even": (rounded_totals(np.arange(20.0, 40)), 0.06),
    }
    ways: tuple[tuple[Cost, float], ...] = (
        ("bound", 1),
        *(("variance", step) for step in (1, 1.02, 1.05, 1.1, 1.5)),
    )
    names = ["uniform", *(f"{cost}, step {written(step - 1, '%')}" for cost, step in ways)]
    at, rows = list[str](), list[list[float]]()
    for shape, (totals, prior) in shapes.items():
        for number in asked.some((4, 3)):
            promise = RhoPrivacy(prior, 1 / number)
            found = [partition(totals, promise, cost=cost, step=step) for cost, step in ways]
            at.append(f"{shape}, L {number}")
            rows.append([errors_of_totals(one)[0] for one in (found[0].unpartitioned, *found)])
    table = np.array(rows)
    return Figure(
        PAPER,
        "the bound as a guide",
        "Root mean squared error of estimated totals, 300,000 records, by what the partition makes small",
        "totals",
        "records",
        tuple(Curve.of(name, at, table[:, place]) for place, name in enumerate(names)),
        (),
        "The bound that the paper makes small is a poor guide: by the variance, mean squared errors are "
        f"{written(1 - (table[:, 2] / table[:, 1]).max() ** 2, '%')} to "
        f"{written(1 - (table[:, 2] / table[:, 1]).min() ** 2, '%')} "
        "smaller. The step of the grid, which hides shares, costs little up to 5 %.",
        log=True,
    )


TABLES: dict[str, Callable[[Asked], Figure | list[Figure]]] = {
    "Table 1": table_1,
    "Table 2": table_2,
    "Table 3": table_3,
    "Theorem 2": theorem_2,
    "the bound as a guide": costs,
}
