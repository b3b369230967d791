"""Draws of noise: what attacks disclose, beside the tables of the inter-quantile paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.exposure import DIRECT, IDEAL, expose
from showthrough.numbers.interquantile import Interval, PrivacyIntervals, interquantile
from showthrough.numbers.noise import GaussianNoise, Noise, UniformNoise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.posterior import posterior_intervals
from showthrough.numbers.reconstruction import reconstruct, reconstruct_columns
from showthrough.numbers.spectral import matrix_errors, spectral_filter

Floats = NDArray[np.float64]

NOISE = UniformNoise(125)

FIXED, HELD_OUT, POSTERIOR, SF = "AS, fixed", "AS, held-out", "posterior", "SF"

#: Privacy intervals in percent of the value, and the percentages disclosed that the paper prints.
WIDTHS_1, WIDTHS_2 = range(35, 85, 5), range(60, 105, 5)
TABLE_1: Mapping[str, Sequence[float]] = {
    DIRECT: (13.9, 16.0, 17.9, 19.8, 22.0, 23.9, 26.0, 28.0, 29.9, 32.0),
    FIXED: (3.5, 15.1, 29.6, 41.8, 53.2, 63.4, 73.5, 83.7, 94.5, 100),
    IDEAL: (21.2, 32.5, 43.0, 52.9, 62.9, 72.9, 83.3, 94.3, 99.9, 100),
}
TABLE_2: Mapping[str, Sequence[float]] = {
    DIRECT: (46.6, 50.1, 53.3, 56.4, 59.2, 62.1, 64.6, 66.9, 69.2),
    FIXED: (62.2, 65.0, 67.7, 70.5, 73.2, 76.0, 78.9, 82.1, 85.6),
    SF: (6, 22.8, 61.5, 64.1, 66.7, 69.2, 71.8, 74.4, 77.0),
    IDEAL: (69.3, 72.2, 72.4, 75.3, 78.4, 81.6, 90.2, 100, 100),
}
ENDS_2 = {IDEAL: (2.05, 3.9), FIXED: (1.6, 4.2), SF: (1.2, 4.5)}
LOSSES_2 = {FIXED: 0.329, SF: 0.470}

#: The paper names neither support nor iterations. These were chosen for coming nearest to its print:
#: 50 on a wide support for the first table, 200 for the second.
WIDE, FEW, MORE = Grid.over(-125, 275, bins=140), 50, 200


@dataclass(frozen=True)
class Draw:
    """One draw of noise: by method the percentages disclosed and the degrees D, width by width.

    ``ends`` are those of intervals for all people.
    """

    shares: Mapping[str, Floats]
    degrees: Mapping[str, Floats]
    coverage: Mapping[str, float]
    ends: Mapping[str, tuple[float, float]]
    losses: Mapping[str, float]


def draw(
    hidden: Floats,
    values: Floats,
    *,
    attacks: Mapping[str, Interval],
    found: Mapping[str, Distribution],
    widths: Sequence[int],
) -> Draw:
    """What attacks disclose at all widths, and what the distributions behind them have lost."""
    privacy = [PrivacyIntervals.relative(hidden, width / 100) for width in widths]
    exposure = expose(hidden, values, attacks=attacks, privacy=privacy)
    shares: dict[str, Floats] = {}
    degrees: dict[str, Floats] = {}
    coverage: dict[str, float] = {}
    for method in exposure.methods:
        rows = [row for row in exposure.rows if row.method == method]
        shares[method] = np.array([100 * row.disclosed.value for row in rows])
        degrees[method] = np.array([row.degree.value if row.degree else np.nan for row in rows])
        coverage[method] = rows[0].coverage.value if rows[0].coverage else np.nan
    ends = {
        name: (float(interval.low), float(interval.high))
        for name, interval in {**attacks, IDEAL: interquantile(hidden)}.items()
        if not interval.low.ndim
    }
    true = Distribution.of(hidden)
    return Draw(shares, degrees, coverage, ends, {name: one.loss(true) for name, one in found.items()})


def balances_draw(
    hidden: Floats, noise: Noise, *, seed: int, grid: Grid | None = WIDE, widths: Sequence[int] = WIDTHS_1
) -> Draw:
    """AS stopped like the paper's, AS stopped by held-out values, and posterior intervals from that."""
    values = perturb(hidden, noise, seed=seed)
    fixed = reconstruct(values, noise, method="as", grid=grid, stop=FEW).distribution
    held = reconstruct(values, noise, method="as").distribution
    attacks = {
        FIXED: interquantile(fixed),
        HELD_OUT: interquantile(held),
        POSTERIOR: posterior_intervals(values, noise, held),
    }
    return draw(hidden, values, attacks=attacks, found={FIXED: fixed, HELD_OUT: held}, widths=widths)


def signals_draw(truth: Floats, noise: GaussianNoise, *, seed: int) -> tuple[Draw, float]:
    """The first column by AS and by SF, which needs all columns; and the relative error of SF."""
    matrix = perturb(truth, noise, seed=seed)
    values = matrix[:, 0]
    filtered = spectral_filter(matrix, noise).estimates
    found = {
        FIXED: reconstruct(values, noise, method="as", stop=MORE).distribution,
        HELD_OUT: reconstruct(values, noise, method="as").distribution,
        SF: Distribution.of(filtered[:, 0]),
    }
    attacks = {name: interquantile(one) for name, one in found.items() if name != SF}
    attacks[SF] = interquantile(filtered[:, 0])
    one = draw(truth[:, 0], values, attacks=attacks, found=found, widths=WIDTHS_2)
    return one, matrix_errors(filtered, truth).relative


def column_losses(
    truth: Floats, variance: float, *, seed: int, columns: slice = slice(None)
) -> dict[str, float]:
    """The information loss, mean over columns, of AS by three stopping rules and of SF (which sees all)."""
    noise = GaussianNoise(variance=variance)
    matrix = perturb(truth, noise, seed=seed)
    true = [Distribution.of(column) for column in truth.T[columns]]
    losses: dict[str, float] = {}
    for name, stop in ((f"AS, {FEW}", FEW), (f"AS, {MORE}", MORE), (HELD_OUT, None)):
        found = reconstruct_columns(matrix[:, columns], noise, method="as", stop=stop)
        losses[name] = float(
            np.mean([one.distribution.loss(other) for one, other in zip(found, true, strict=True)])
        )
    filtered = spectral_filter(matrix, noise).estimates.T[columns]
    losses[SF] = float(
        np.mean([Distribution.of(one).loss(other) for one, other in zip(filtered, true, strict=True)])
    )
    return losses


def stack(draws: Sequence[Draw], method: str) -> Floats:
    """A method's percentages: one row for each draw."""
    return np.array([one.shares[method] for one in draws])


def first_width_above(draws: Sequence[Draw], widths: Sequence[int]) -> int | None:
    """From which privacy interval on fixed AS discloses more than the noisy values themselves."""
    above = (stack(draws, FIXED) > stack(draws, DIRECT)).all(axis=0)
    last = np.flatnonzero(~above)
    at = int(last[-1]) + 1 if len(last) else 0
    return widths[at] if at < len(widths) else None


def say_draws(draws: Sequence[Draw], widths: Sequence[int], printed: Mapping[str, Sequence[float]]) -> None:
    """Mean percentages and their standard deviation from draw to draw, beside the print."""
    methods = list(draws[0].shares)
    print(f"{'':>7}" + "".join(f"{name + (' (paper)' if name in printed else ''):>24}" for name in methods))
    found = {name: stack(draws, name) for name in methods}
    for at, width in enumerate(widths):
        cells: list[str] = []
        for name in methods:
            column = found[name][:, at]
            paper = f" ({printed[name][at]:5.1f})" if name in printed else ""
            cells.append(f"{f'{column.mean():.1f} ± {column.std(ddof=1):.1f}{paper}':>24}")
        print(f"  ±{width:>3} %" + "".join(cells))
    for name in draws[0].ends:
        ends = np.array([one.ends[name] for one in draws])
        low, high = np.median(ends, axis=0)
        away = ends.std(axis=0, ddof=1)
        lost = [one.losses[name] for one in draws if name in one.losses]
        loss = f", information loss {np.mean(lost):.3f} ± {np.std(lost, ddof=1):.3f}" if lost else ""
        print(f"  {name}: {low:.2f} ± {away[0]:.2f} to {high:.2f} ± {away[1]:.2f}{loss}")
    cover = ", ".join(
        f"{name} {100 * np.mean([one.coverage[name] for one in draws]):.1f} %"
        for name in methods
        if name != DIRECT
    )
    print(f"  values in their interval, 95 % claimed: {cover}\n")
