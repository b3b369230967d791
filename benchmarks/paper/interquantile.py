"""Paper 002, the inter-quantile attack: both tables, the plateau, more noise, and the papers' variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from benchmarks.interquantile_draws import (
    ENDS_2,
    FEW,
    FIXED,
    HELD_OUT,
    LOSSES_2,
    NOISE,
    POSTERIOR,
    SF,
    TABLE_1,
    TABLE_2,
    WIDE,
    WIDTHS_1,
    WIDTHS_2,
    Draw,
    balances_draw,
    signals_draw,
    stack,
)
from benchmarks.paper.data import Asked
from benchmarks.paper.figure import Curve, Figure, Floats, Said, change, written
from benchmarks.paper.interquantile_shapes import BANK, ERROR_SF, PAPER, SHAPES, SINE, around
from benchmarks.simulated_numbers import bank_balances, plateau, signals

from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.exposure import DIRECT, IDEAL
from showthrough.numbers.interquantile import Interval, PrivacyIntervals, disclose
from showthrough.numbers.noise import GaussianNoise, UniformNoise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import reconstruct

#: The degrees D of both tables.
DEGREES_1 = {
    IDEAL: (0.605, 0.66, 0.712, 0.763, 0.814, 0.864, 0.916, 0.972, 0.999, 1),
    FIXED: (0.663, 0.698, 0.746, 0.796, 0.844, 0.889, 0.932, 0.977, 0.999, 1),
}
DEGREES_2 = {
    IDEAL: (0.838, 0.855, 0.871, 0.888, 0.906, 0.926, 0.950, 1, 1),
    FIXED: (0.845, 0.856, 0.866, 0.877, 0.889, 0.900, 0.913, 0.926, 0.94),
    SF: (0.699, 0.735, 0.875, 0.882, 0.889, 0.897, 0.905, 0.913, 0.922),
}
LOSS_1 = 0.146


def figure_1(asked: Asked) -> list[Figure]:
    """A plateau under noise "0.3", by AS; 0.3 as a standard deviation and as a variance."""
    return [
        _plateau(GaussianNoise(sd=0.3), "sd 0.3", asked),
        _plateau(GaussianNoise(variance=0.3), "variance 0.3", asked),
    ]


def _plateau(noise: GaussianNoise, named: str, asked: Asked) -> Figure:
    at = np.round(np.arange(-0.45, 1.5, 0.1), 2)
    grid = Grid.over(-0.5, 1.5, bins=20)
    shown: dict[str, list[Floats]] = {
        "original": [],
        "perturbed": [],
        f"AS, {FEW} iterations": [],
        "AS, held-out": [],
    }
    losses: dict[str, list[float]] = {name: [] for name in shown}
    for draw in range(asked.draws):
        hidden = plateau(9_750, seed=asked.seed + draw) / 100
        values = perturb(hidden, noise, seed=1_000 + draw)
        found = (
            Distribution.of(hidden, grid),
            Distribution.of(np.clip(values, -0.5, 1.49999), grid),
            reconstruct(values, noise, method="as", stop=FEW).distribution,
            reconstruct(values, noise, method="as").distribution,
        )
        for name, one in zip(shown, found, strict=True):
            mass = np.diff(one.cumulative(grid.edges))
            shown[name].append(mass / 0.1)
            losses[name].append(0.5 * float(np.abs(mass - np.diff(found[0].cumulative(grid.edges))).sum()))
    lost = {name: (float(np.mean(one)), float(np.std(one, ddof=1))) for name, one in losses.items()}
    rebuilt, noisy = lost[f"AS, {FEW} iterations"][0], lost["perturbed"][0]
    return Figure(
        PAPER,
        f"Figure 1 ({named})",
        "A plateau of 9,750 values, rebuilt by AS",
        "value",
        "density",
        tuple(Curve.of(name, at, one) for name, one in shown.items()),
        (
            Said(
                "the reconstructed distribution is close to the original (half the loss of the noisy values)",
                f"loss {rebuilt:.3f} ± {lost[f'AS, {FEW} iterations'][1]:.3f}, of the perturbed values "
                f"{noisy:.3f}",
                rebuilt < noisy / 2,
            ),
        ),
        "“Standard variance 0.3” may be either; neither the shape of the plateau nor a loss is printed, "
        "and the figure is "
        "not in the text. The rebuilt steps are rounded off.",
        tuple(
            f"{name}: loss {mean:.3f} ± {sd:.3f}." for name, (mean, sd) in lost.items() if name != "original"
        ),
        numeric=True,
    )


def table_1(asked: Asked) -> list[Figure]:
    """Balances under uniform noise: shares disclosed and degrees."""
    hidden = [bank_balances(50_000, seed=asked.seed + draw)[:, 0] for draw in range(asked.draws)]
    draws = [balances_draw(one, NOISE, seed=1_000 + draw) for draw, one in enumerate(hidden)]
    widths = [f"±{width} %" for width in WIDTHS_1]
    curves = _share_curves(draws, widths, TABLE_1, (DIRECT, FIXED, IDEAL, HELD_OUT, POSTERIOR))
    losses = np.array([one.losses[FIXED] for one in draws])
    spread = stack(draws, FIXED).std(axis=0, ddof=1) / 100
    from_45 = slice(2, None)
    printed, fixed = np.array(TABLE_1[FIXED]) / 100, stack(draws, FIXED).mean(axis=0) / 100
    inside = bool((np.abs(fixed - printed)[from_45] <= 2 * np.maximum(spread, 1e-9)[from_45]).all())
    return [
        Figure(
            PAPER,
            "Table 1 and Figure 5",
            "Balances under uniform noise up to ±125: people disclosed",
            "privacy interval",
            "share disclosed",
            tuple(curves),
            (
                Said.near(curves[0], 0.005, "%"),
                Said.near(curves[2], 0.025, "%"),
                Said(
                    f"{FIXED}: as printed from ±45 % on",
                    f"{'' if inside else 'not '}within two standard deviations of a draw",
                    inside,
                ),
                Said(
                    "information loss of AS 14.6 %",
                    f"{written(losses.mean(), '%')} ± {written(losses.std(ddof=1), '%')}",
                    abs(losses.mean() - LOSS_1) < 3 * losses.std(ddof=1),
                ),
            ),
            f"AS has neither grid nor stopping rule in the paper: {FEW} iterations on {WIDE.bins} "
            "bins come nearest. "
            "At ±35 and ±40 % the upper end of the interval decides, and a draw differs much from the next.",
            unit="%",
            data=BANK,
        ),
        _degrees("Table 1, D", hidden, [one.ends for one in draws], WIDTHS_1, DEGREES_1, BANK),
    ]


def _share_curves(
    draws: Sequence[Draw], at: Sequence[str], printed: Mapping[str, Sequence[float]], names: Sequence[str]
) -> list[Curve]:
    return [
        Curve.of(
            name,
            at,
            stack(draws, name) / 100,
            [one / 100 for one in printed[name]] if name in printed else None,
        )
        for name in names
    ]


def _degrees(
    place: str,
    hidden: Sequence[Floats],
    ends: Sequence[Mapping[str, tuple[float, float]]],
    widths: Sequence[int],
    printed: Mapping[str, Sequence[float]],
    data: str,
) -> Figure:
    """Mean degrees by both rules: 1 for whoever is fully disclosed, or the overlap throughout."""
    curves = list[Curve]()
    off: dict[str, float] = {}
    for rule, title in (("full", ""), ("overlap", ", overlap only")):
        for name, given in printed.items():
            rows = [
                [
                    disclose(
                        PrivacyIntervals.relative(people, width / 100),
                        Interval(np.asarray(end[name][0]), np.asarray(end[name][1])),
                        rule="full" if rule == "full" else "overlap",
                    ).degree.mean()
                    for width in widths
                ]
                for people, end in zip(hidden, ends, strict=True)
            ]
            curve = Curve.of(
                f"{name}{title}", [f"±{width} %" for width in widths], rows, given if rule == "full" else None
            )
            curves.append(curve)
            if name == IDEAL:
                off[rule] = float(np.abs(np.array(curve.mean) - given).max())
    return Figure(
        PAPER,
        place,
        "The mean degree D by the two rules",
        "privacy interval",
        "D",
        tuple(curves),
        (
            Said(
                "D of the ideal interval",
                f"off by at most {off['full']:.3f} if 1 for who is fully disclosed",
                off["full"] < 0.06,
            ),
            Said(
                "d_i = |∩| / |∪| (printed formula)",
                f"off by up to {off['overlap']:.3f} from the printed D",
                off["overlap"] < 0.06,
            ),
        ),
        "The printed formula does not give the printed D: whoever is fully disclosed counts as 1 there.",
        (
            "The overlap alone is an option and not the default: by it a narrower interval inside a privacy "
            "interval discloses less.",
        ),
        data=data,
    )


def table_2(asked: Asked) -> list[Figure]:
    """A sinusoid under Gaussian noise of variance 8: shares disclosed, degrees, SF's spread."""
    truth, noise = signals(seed=1), GaussianNoise(variance=8)
    pairs = [signals_draw(truth, noise, seed=seed) for seed in range(4 * asked.draws)]
    draws = [one for one, _ in pairs]
    curves = _share_curves(
        draws, [f"±{width} %" for width in WIDTHS_2], TABLE_2, (DIRECT, FIXED, SF, IDEAL, HELD_OUT)
    )
    said = [Said.near(curves[0], 0.02, "%")]
    for name in (FIXED, SF):
        ends = np.array([one.ends[name] for one in draws])
        off = np.abs(ends.mean(axis=0) - ENDS_2[name]) / ends.std(axis=0, ddof=1)
        said.append(
            Said(
                f"{name}: interval {ENDS_2[name][0]} to {ENDS_2[name][1]}",
                f"{around(ends[:, 0])} to {around(ends[:, 1])}",
                bool((off < 2).all()),
            )
        )
        losses = np.array([one.losses[name] for one in draws])
        near = abs(losses.mean() - LOSSES_2[name]) < 2 * losses.std(ddof=1)
        said.append(Said(f"{name}: information loss {LOSSES_2[name]}", around(losses), bool(near)))
    errors = np.array([error for _, error in pairs])
    near = abs(errors.mean() - ERROR_SF) < 3 * errors.std(ddof=1)
    said.append(Said(f"relative error of SF {ERROR_SF}", around(errors), bool(near)))
    spread = stack(draws, SF).std(axis=0, ddof=1)
    return [
        Figure(
            PAPER,
            "Table 2 and Figure 6",
            "A sinusoid under Gaussian noise of variance 8: people disclosed",
            "privacy interval",
            "share disclosed",
            tuple(curves),
            tuple(said),
            f"“Gaussian (0, 8)” has variance 8, not standard deviation 8. One draw is printed; "
            "shares of SF differ by "
            f"{spread.min():.0f} to {spread.max():.0f} points from draw to draw, so its column is one of "
            "many. Its printed "
            "relative error is that of 17 directions of noise; four are kept here.",
            unit="%",
            data=SINE,
        ),
        _degrees(
            "Table 2, D", [truth[:, 0]] * len(draws), [one.ends for one in draws], WIDTHS_2, DEGREES_2, SINE
        ),
    ]


def figure_7(asked: Asked) -> list[Figure]:
    """More noise: the share disclosed and D, by the half-width of uniform noise, at ±60 %."""
    halves = asked.some((75, 100, 125, 150, 200, 250, 300, 350, 400))
    names = (DIRECT, FIXED, HELD_OUT, POSTERIOR, IDEAL)
    shares = {name: np.zeros((asked.draws, len(halves))) for name in names}
    degrees = {name: np.zeros((asked.draws, len(halves))) for name in (FIXED, IDEAL)}
    losses = np.zeros((asked.draws, len(halves)))
    for draw in range(asked.draws):
        hidden = bank_balances(50_000, seed=asked.seed + draw)[:, 0]
        for at, half in enumerate(halves):
            wide = Grid.over(-half, 150 + half, bins=140)
            one = balances_draw(hidden, UniformNoise(half), seed=1_000 + draw, grid=wide, widths=[60])
            for name, found in shares.items():
                found[draw, at] = one.shares[name][0] / 100
            for name, found in degrees.items():
                found[draw, at] = one.degrees[name][0]
            losses[draw, at] = one.losses[FIXED]
    fixed, lost = shares[FIXED].mean(axis=0), losses.mean(axis=0)
    falls, grows = bool(fixed[-1] < fixed[0]), bool(lost[-1] > lost[0])
    why = (
        "“Range from 150 to 400” may be the width or half of it, so half-widths from 75 to 400 are "
        "shown; the "
        "privacy interval is not printed, ±60 % is the one the text uses elsewhere."
    )
    return [
        Figure(
            PAPER,
            "Figure 7a",
            "Balances disclosed at ±60 %, by the noise",
            "half-width of the noise",
            "share disclosed",
            tuple(Curve.of(name, halves, found) for name, found in shares.items()),
            (
                Said("disclosure by AS falls as noise grows", change(fixed[0], fixed[-1]), falls),
                Said(
                    "AS discloses more than the perturbed values themselves",
                    f"at {int((fixed > shares[DIRECT].mean(axis=0)).sum())} of {len(halves)} half-widths",
                    bool((fixed > shares[DIRECT].mean(axis=0)).all()),
                ),
            ),
            why,
            unit="%",
            numeric=True,
            data=BANK,
        ),
        Figure(
            PAPER,
            "Figure 7b",
            "Mean degree D and information loss, by the noise",
            "half-width of the noise",
            "D, and loss",
            (
                *(Curve.of(f"D, {name}", halves, found) for name, found in degrees.items()),
                Curve.of("information loss, AS", halves, losses),
            ),
            (Said("the more noise, the more information is lost", f"{lost[0]:.3f} → {lost[-1]:.3f}", grows),),
            why,
            numeric=True,
            data=BANK,
        ),
    ]


FIGURES: dict[str, Callable[[Asked], Figure | list[Figure]]] = {
    "Figure 1": figure_1,
    "Table 1 and Figure 5": table_1,
    "Table 2 and Figure 6": table_2,
    "Figure 7": figure_7,
    **SHAPES,
}
