"""Reconstruction from noisy numbers: against peers and the paper's tables, cost, memory, disclosure.

In seven parts, ``--part`` runs one of them:

- ``stream``: many values in chunks, seconds and peak memory;
- ``growth``: seconds by records and bins;
- ``unfolding``: PyUnfold, whose D'Agostini iteration is the same EM, at equal bins and iterations;
- ``smooth``: Efron's g-modelling (:mod:`benchmarks.g_modelling`), over seeds;
- ``tables``: both tables of the inter-quantile paper on simulated data, beside the print, over seeds;
- ``scf``: the first of them on the Survey of Consumer Finances 2019 (``scf2019_bank5.parquet`` in the
  folder that ``--data`` or SHOWTHROUGH_DATA names). Its goal, the paper's order on everybody who owns
  stocks or bonds, is out of reach: such intervals are too wide, and narrow bands show what it takes;
- ``posterior``: how many people each one's own posterior interval discloses beyond the population's.

PyUnfold is a peer, not a dependency: ``pip install --no-deps pyunfold six`` beside the development
environment. Its memory grows with the fourth power of the bins, so 28 are used.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.attack_peers import seconds, smooth, unfolding
from benchmarks.interquantile_draws import NOISE, Floats
from benchmarks.interquantile_paper import posterior, scf, tables
from benchmarks.simulated_numbers import bank_balances, bimodal

from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.noise import GaussianNoise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import reconstruct

CHUNK = 1_000_000


def peak_mib() -> float:
    """The most memory this process has used so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def chunks(n: int, seed: int) -> Iterator[Floats]:
    """Noisy bimodal values, a million at a time."""
    for number in range(0, n, CHUNK):
        size = min(CHUNK, n - number)
        yield perturb(bimodal(size, seed=seed + number), GaussianNoise(sd=20), seed=seed + number + 1)


def stream(options: argparse.Namespace) -> bool:
    """Many values in bounded memory."""
    for n in (options.stream // 10, options.stream):
        before = peak_mib()
        started = time.perf_counter()
        found = reconstruct(chunks(n, options.seed), GaussianNoise(sd=20))
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
        none = 0.0
        for b in bins:
            grid = Grid.over(-125, 275, bins=b)
            none = seconds(lambda grid=grid, values=values: reconstruct(values, NOISE, grid=grid, stop=0), 3)
            some = seconds(
                lambda grid=grid, values=values: reconstruct(values, NOISE, grid=grid, stop=200), 3
            )
            cells.append(some - none)
        print(f"{n:>12,}{none:>12.4f}" + "".join(f"{cell:>14.4f}" for cell in cells))
    return True


PARTS = {
    "stream": stream,
    "growth": growth,
    "unfolding": unfolding,
    "smooth": smooth,
    "tables": tables,
    "scf": scf,
    "posterior": posterior,
}


def main(arguments: list[str]) -> int:
    """Run all parts or one; the exit code says whether every goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks attack")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--stream", type=int, default=100_000_000, help="values of the streamed part")
    parser.add_argument("--iterations", type=int, default=100, help="of AS and EM beside PyUnfold")
    parser.add_argument("--seeds", type=int, default=10, help="draws of noise, from smooth to posterior")
    parser.add_argument("--data", type=Path, default=os.environ.get("SHOWTHROUGH_DATA"), help="for scf")
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
