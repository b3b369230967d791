"""Reconstruction from noisy numbers beside PyUnfold and g-modelling."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import numpy as np
from benchmarks.g_modelling import g_model
from benchmarks.interquantile_draws import NOISE, Floats
from benchmarks.simulated_numbers import bank_balances
from numpy.typing import NDArray

from showthrough.numbers.bins import count_in_bins, make_taps, n_taps_beside
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import reconstruct


def seconds(job: Callable[[], object], repeats: int = 5) -> float:
    """The least of several timings."""
    found: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        job()
        found.append(time.perf_counter() - started)
    return min(found)


def unfolding(options: argparse.Namespace) -> bool:
    """PyUnfold at equal bins and iterations."""
    if importlib.util.find_spec("pyunfold") is None:
        print("PyUnfold is missing; to compare with it: pip install --no-deps pyunfold six")
        return False
    from pyunfold import iterative_unfold

    hidden = bank_balances(50_000, seed=options.seed)[:, 0]
    values = perturb(hidden, NOISE, seed=options.seed + 1)
    grid = Grid.over(0, 140, bins=28)
    truth = Distribution.of(hidden, grid)
    good = True
    for method in ("as", "em"):
        beside = n_taps_beside(NOISE, grid.width, tail=1e-11)
        taps = make_taps(NOISE, grid.width, beside, method)
        n_published = grid.bins + 2 * beside
        counts, _ = count_in_bins(
            values, low=grid.low - beside * grid.width, width=grid.width, bins=n_published
        )
        response = np.zeros((n_published, grid.bins))
        for p in range(grid.bins):
            response[p : p + len(taps), p] = taps / taps.sum()

        def peer(counts: NDArray[np.int64] = counts, response: Floats = response) -> Floats:
            n_causes = response.shape[1]
            found = iterative_unfold(
                data=counts.astype(float),
                data_err=np.sqrt(np.maximum(counts, 1)),
                response=response,
                response_err=np.full_like(response, 1e-6),
                efficiencies=np.ones(n_causes),
                efficiencies_err=np.full(n_causes, 1e-6),
                ts="ks",
                ts_stopping=1e-300,
                max_iter=options.iterations,
            )
            assert found["num_iterations"] == options.iterations
            return np.asarray(found["unfolded"])

        found = reconstruct(values, NOISE, method=method, grid=grid, stop=options.iterations)
        ours = seconds(
            lambda m=method: reconstruct(values, NOISE, method=m, grid=grid, stop=options.iterations)
        )
        started = time.perf_counter()
        theirs = Distribution(grid.edges, peer())
        other = time.perf_counter() - started
        losses = found.distribution.loss(truth), theirs.loss(truth)
        print(f"{method.upper()}, {grid.bins} bins, {options.iterations} iterations, {len(values):,} values")
        print(f"  seconds               {ours:8.4f}  PyUnfold {other:.4f}: {other / ours:,.0f} times faster")
        print(f"  information loss      {losses[0]:8.4f}  PyUnfold {losses[1]:.4f}")
        good &= other / ours >= 20 and losses[0] <= losses[1] + 1e-3
    return good


def smooth(options: argparse.Namespace) -> bool:
    """Information loss beside g-modelling's, on the bank-like case."""
    losses: dict[str, list[float]] = {}
    spent: dict[str, float] = {}
    at = Grid.over(0, 140, bins=70)

    def note(name: str, hidden: Floats, job: Callable[[], Distribution]) -> None:
        started = time.perf_counter()
        found = job()
        spent[name] = spent.get(name, 0) + time.perf_counter() - started
        binned = Distribution(at.edges, np.diff(found.cumulative(at.edges)))
        losses.setdefault(name, []).append(binned.loss(Distribution.of(hidden, at)))

    for seed in range(options.seeds):
        hidden = bank_balances(50_000, seed=seed)[:, 0]
        values = perturb(hidden, NOISE, seed=1_000 + seed)
        for method in ("as", "em"):
            for stop in (None, 20, 200, 20_000):
                if stop == 20_000 and seed >= 3:
                    continue
                how = "held-out values decide" if stop is None else f"{stop:,} iterations"
                name = f"{method.upper()}, {how}"
                note(
                    name,
                    hidden,
                    lambda m=method, s=stop, v=values: reconstruct(v, NOISE, method=m, stop=s).distribution,
                )
        for degrees in (5, 8, 12):
            name = f"g-modelling, {degrees} degrees, true range"
            note(name, hidden, lambda d=degrees, v=values: g_model(v, NOISE, at, degrees=d))
    print(f"information loss on bank-like balances, 50,000 values, {NOISE}, bins of {at.width:g}")
    print(f"{'':<40}{'mean':>8}{'worst':>8}{'seconds':>10}")
    for name, found in losses.items():
        print(f"{name:<40}{np.mean(found):>8.3f}{np.max(found):>8.3f}{spent[name] / len(found):>10.3f}")
    best = min(float(np.mean(found)) for name, found in losses.items() if name.startswith("g-"))
    return all(np.mean(losses[f"{m}, held-out values decide"]) <= best for m in ("AS", "EM"))
