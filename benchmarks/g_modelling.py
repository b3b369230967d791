"""The smooth rival of AS and EM: Efron's g-modelling, fitted by penalised maximum likelihood.

The hidden density is exp(Qα) on a grid, Q a natural cubic spline basis with a few degrees of
freedom, and α maximises the likelihood of the counts less c·‖α‖. Defaults (5 degrees, c = 1) are
those of the R package deconvolveR.
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.simulated_numbers import bank_balances
from numpy.typing import NDArray
from scipy import optimize

from showthrough.numbers.bins import Kernel, count_in_bins, make_taps, n_taps_beside
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.noise import Noise, UniformNoise
from showthrough.numbers.perturb import perturb

Floats = NDArray[np.float64]


def natural_splines(at: Floats, degrees: int) -> Floats:
    """A natural cubic spline basis with knots at equal steps, columns centred and of unit length."""
    knots = np.linspace(at[0], at[-1], degrees + 1)
    scale = knots[-1] - knots[0]

    def bend(knot: float) -> Floats:
        return (
            (np.maximum(at - knot, 0) ** 3 - np.maximum(at - knots[-1], 0) ** 3)
            / (knots[-1] - knot)
            / scale**2
        )

    last = bend(float(knots[-2]))
    basis = np.column_stack([at / scale, *(bend(float(knot)) - last for knot in knots[:-2])])
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0]
    return basis / np.linalg.norm(basis, axis=0)


def g_model(
    values: Floats, noise: Noise, grid: Grid, *, degrees: int = 5, penalty: float = 1.0
) -> Distribution:
    """The smooth estimate on a grid."""
    beside = n_taps_beside(noise, grid.width, tail=1e-11)
    counts, _ = count_in_bins(
        values, low=grid.low - beside * grid.width, width=grid.width, bins=grid.bins + 2 * beside
    )
    kernel = Kernel.of(make_taps(noise, grid.width, beside, "em"), bins=(grid.bins,))
    basis = natural_splines(grid.midpoints, degrees)

    def loss(weights: Floats) -> tuple[float, Floats]:
        logs = basis @ weights
        mass = np.exp(logs - logs.max())
        mass /= mass.sum()
        folded = np.maximum(kernel.fold(mass), 1e-15)
        length = float(np.sqrt((weights**2).sum() + 1e-12))
        pull = mass * (kernel.unfold(counts / folded) - counts.sum())
        return penalty * length - float(counts @ np.log(folded)), penalty * weights / length - basis.T @ pull

    found = optimize.minimize(
        loss, np.zeros(degrees), jac=True, method="L-BFGS-B", options={"maxiter": 2_000}
    )
    logs = basis @ found.x
    return Distribution(grid.edges, np.exp(logs - logs.max()))


def main(arguments: list[str]) -> int:
    """Information loss on the bank-like case by degrees of freedom."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks g_modelling")
    parser.add_argument("--values", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    hidden = bank_balances(options.values, seed=options.seed)[:, 0]
    published, grid = perturb(hidden, UniformNoise(125), seed=options.seed + 1), Grid.over(0, 140, bins=70)
    for degrees in (3, 5, 8, 12, 20):
        loss = g_model(published, UniformNoise(125), grid, degrees=degrees).loss(
            Distribution.of(hidden, grid)
        )
        print(f"{degrees:>3} degrees of freedom: information loss {loss:.3f}")
    return 0
