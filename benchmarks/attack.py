"""Reconstruction from noisy numbers: speed and information loss against peers, cost, memory.

In four parts, ``--part`` runs one of them:

- ``stream``: many values in chunks, seconds and peak memory;
- ``growth``: seconds by records and bins;
- ``unfolding``: PyUnfold, whose D'Agostini iteration is the same EM, at equal bins and iterations;
- ``smooth``: Efron's g-modelling (:mod:`benchmarks.g_modelling`), over seeds.

PyUnfold is a peer, not a dependency: ``pip install --no-deps pyunfold six`` beside the development
environment. Its memory grows with the fourth power of the bins, so 28 are used.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.g_modelling import g_model
from numpy.typing import NDArray

from showthrough.attack.density import Distribution, Grid
from showthrough.attack.joint_noise import perturb
from showthrough.attack.kernel import make_taps, n_taps_beside
from showthrough.attack.noise import Gaussian, Uniform
from showthrough.attack.reconstruction import reconstruct
from showthrough.attack.tally import count_in_bins
from showthrough.datasets.numbers import bank_balances, bimodal

Floats = NDArray[np.float64]

NOISE = Uniform(125)
CHUNK = 1_000_000


def seconds(job: Callable[[], object], repeats: int = 5) -> float:
    """The least of several timings."""
    found: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        job()
        found.append(time.perf_counter() - started)
    return min(found)


def peak_mib() -> float:
    """The most memory this process has used so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def chunks(n: int, seed: int) -> Iterator[Floats]:
    """Noisy bimodal values, a million at a time."""
    for number in range(0, n, CHUNK):
        size = min(CHUNK, n - number)
        yield perturb(bimodal(size, seed=seed + number), Gaussian(sd=20), seed=seed + number + 1)


def stream(options: argparse.Namespace) -> bool:
    """Many values in bounded memory."""
    for n in (options.stream // 10, options.stream):
        before = peak_mib()
        started = time.perf_counter()
        found = reconstruct(chunks(n, options.seed), Gaussian(sd=20))
        whole = time.perf_counter() - started
        started = time.perf_counter()
        for _ in chunks(n, options.seed):
            pass
        making = time.perf_counter() - started
        truth = Distribution.of(bimodal(1_000_000, seed=options.seed), found.grid)
        print(f"{found.n_values:>13,} values in chunks of {CHUNK:,}")
        print(f"  seconds               {whole - making:8.1f}  and {making:.1f} to make the values")
        print(f"  peak memory           {peak_mib():8.0f}  MiB, {before:.0f} before")
        loss = found.distribution.loss(truth)
        print(f"  information loss      {loss:8.3f}  after {found.iterations:,} iterations")
    return True


def growth(options: argparse.Namespace) -> bool:
    """Seconds for 200 iterations by records and bins."""
    sizes, bins = (10_000, 100_000, 1_000_000), (128, 512, 2_048)
    print("seconds to count, and for 200 iterations of EM on the counts")
    print(f"{'records':>12}{'counting':>12}" + "".join(f"{f'{b:,} bins':>14}" for b in bins))
    for n in sizes:
        values = perturb(bank_balances(n, seed=options.seed)[:, 0], NOISE, seed=options.seed + 1)
        cells: list[float] = []
        for b in bins:
            grid = Grid.over(-125, 275, bins=b)
            none = seconds(lambda grid=grid, values=values: reconstruct(values, NOISE, grid=grid, stop=0), 3)
            some = seconds(
                lambda grid=grid, values=values: reconstruct(values, NOISE, grid=grid, stop=200), 3
            )
            cells.append(some - none)
        print(f"{n:>12,}{none:>12.4f}" + "".join(f"{cell:>14.4f}" for cell in cells))
    return True


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


PARTS = {"stream": stream, "growth": growth, "unfolding": unfolding, "smooth": smooth}


def main(arguments: list[str]) -> int:
    """Run all parts or one; the exit code says whether every goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--stream", type=int, default=100_000_000, help="values of the streamed part")
    parser.add_argument("--iterations", type=int, default=100, help="of AS and EM beside PyUnfold")
    parser.add_argument("--seeds", type=int, default=10, help="of the comparison with g-modelling")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    failed: list[str] = []
    for name, part in PARTS.items():
        if options.part in (None, name):
            print(f"\n== {name}")
            if not part(options):
                failed.append(name)
    if failed:
        print(f"\ngoals missed: {', '.join(failed)}")
    return 1 if failed else 0
