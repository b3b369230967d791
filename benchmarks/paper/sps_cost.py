"""What SPS costs: by the publications themselves, by a derivation, and by a simulation of its own.

A group of n records, c of them with the value asked for, shows it O times after uniform perturbation; with
q = (1 − p)/m the variance of O is v = c (p + q)(1 − p − q) + (n − c) q (1 − q). SPS perturbs only t = s_g of
the n records and scales the result by n/t: the variance becomes (n/t)² (t/n) v = (n/t) v, because sampling
keeps the shares. An answer adds up groups, so its standard deviation is √Σ v/p for UP and √Σ (n/t) v/p for
SPS. The cost is the root of the mean of n/t over the records asked about, whatever else the data are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.paper.data import ADULT, CENSUS, STAND_IN, Asked, merged, queries, read
from benchmarks.paper.figure import Curve, Figure, Said, signed
from numpy.typing import NDArray

from showthrough.microdata.queries import QueryPool
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, n_trials
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import measure

PROMISE = ReconstructionPrivacy(0.3, 0.3)

#: SPS as the paper prints it: trials by the largest frequency, every number rounded by itself.
PRINTED_SPS = Sampled(PROMISE, 0.5, "chernoff", trials="printed", rounding="separate")

RETENTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)

Floats = NDArray[np.float64]


def derived(pool: QueryPool, retention: float, *, sampled: bool) -> float:
    """The mean relative error of answers that are normal with the variance above: √(2/π) sd/answer."""
    groups = pool.groups
    counts, sizes, m = groups.counts.toarray().astype(float), groups.sizes.astype(float), len(groups.totals)
    other = (1 - retention) / m
    own = retention + other
    spread = counts * own * (1 - own) + (sizes[:, None] - counts) * other * (1 - other)
    if sampled:
        trials = n_trials(groups.counts, PROMISE, retention=retention, bound="chernoff", band=1)
        spread *= (sizes / trials)[:, None]
    sd = np.sqrt(np.asarray(pool.conditions @ spread)[pool.condition, pool.value]) / retention
    return float(np.sqrt(2 / np.pi) * (sd / pool.answers).mean())


def simulated(pool: QueryPool, retention: float, *, sampled: bool, seed: int) -> float:
    """The same by drawing every record, with nothing but random numbers: no code of the publications."""
    rng = np.random.default_rng(seed)
    counts = pool.groups.counts.toarray()
    m, shown = counts.shape[1], np.zeros(counts.shape)
    for at, row in enumerate(counts):
        values, n = np.repeat(np.arange(m), row), int(row.sum())
        limit = _limit(row.max() / n, retention, m) if sampled else n
        if limit < n:
            wanted = row * (limit / n)
            taken = np.floor(wanted) + (rng.random(m) < wanted % 1)
            values = np.repeat(np.arange(m), taken.astype(int))
        replaced = rng.random(len(values)) >= retention
        values = np.where(replaced, rng.integers(0, m, len(values)), values)
        copies = n / max(len(values), 1)
        times = np.floor(copies) + (rng.random(len(values)) < copies % 1)
        shown[at] = np.bincount(values, times, m)
    seen = np.asarray(pool.conditions @ shown)[pool.condition, pool.value]
    total = np.asarray(pool.conditions @ shown.sum(axis=1))[pool.condition]
    answer = (seen - total * (1 - retention) / m) / retention
    return float((np.abs(answer - pool.answers) / pool.answers).mean())


def _limit(frequency: float, retention: float, m: int) -> float:
    """The paper's s_g, equation 10."""
    shown = frequency * retention + (1 - retention) / m
    return -2 * shown * np.log(PROMISE.chance) / (PROMISE.error * retention * frequency) ** 2


def sps_cost(asked: Asked) -> list[Figure]:
    """How much larger errors are with SPS than with UP, on merged groups and on groups as they are."""
    return [_cost("ADULT", asked), _cost("CENSUS", asked)]


#: What the paper says, and up to which cost that is so.
SAID = {"ADULT": ("about 50 % in the worst case", 0.6), "CENSUS": ("less than 10 % for most settings", 0.1)}


def _cost(name: str, asked: Asked) -> Figure:
    source, retentions = ADULT if name == "ADULT" else CENSUS, asked.some(RETENTIONS)
    groups = read(asked.folder, source)
    joined, apart = queries(groups, merged(asked.folder, source), asked), queries(groups, None, asked)
    curves = [
        Curve.of("merged", retentions, _costs(joined, retentions, 4 * asked.runs, published_errors)),
        Curve.of("merged, derivation", retentions, _derived_costs(joined, retentions)),
        Curve.of(
            "merged, plain simulation", retentions, _costs(joined, retentions, asked.runs, simulated_errors)
        ),
        Curve.of("not merged", retentions, _costs(apart, retentions, 2 * asked.runs, published_errors)),
        Curve.of("not merged, derivation", retentions, _derived_costs(apart, retentions)),
    ]
    runs = {0: 4 * asked.runs, 2: asked.runs}
    same = "agree" if all(_agree(curves[at], curves[1], n) for at, n in runs.items()) else "DISAGREE"
    text, most = SAID[name]
    return Figure(
        "001",
        f"cost of SPS, {name}",
        f"{name}: how much larger errors are with SPS than with UP (λ = δ = 0.3)",
        "p",
        "cost",
        tuple(curves),
        (
            _said(f"{text} (groups merged, as described)", curves[0], name, most),
            _said(f"{text} (groups not merged)", curves[3], name, most),
        ),
        f"Publications, derivation and simulation {same}: the cost is √(mean of n/s_g over records) − 1. "
        f"{_least_said(joined)}The print is near what groups over values that were not merged cost up to p = "
        "0.5, where few records are sampled.",
        unit="%",
        numeric=True,
        data="" if name == "ADULT" else STAND_IN,
    )


def _said(text: str, curve: Curve, name: str, most: float) -> Said:
    """The worst cost counts for ADULT, the usual one for CENSUS."""
    usual, worst = float(np.median(curve.mean)), max(curve.mean)
    found = f"{signed(min(curve.mean))} to {signed(worst)} by p, the median {signed(usual)}"
    return Said(text, found, (worst if name == "ADULT" else usual) <= most)


#: The errors of UP and SPS in so many runs.
Way = Callable[[QueryPool, float, int], tuple[Floats, Floats]]


def _costs(pool: QueryPool, retentions: tuple[float, ...], runs: int, way: Way) -> Floats:
    """The cost run by run (rows), by retention."""
    errors = [way(pool, kept, runs) for kept in retentions]
    return np.column_stack([sampled / uniform.mean() - 1 for uniform, sampled in errors])


def published_errors(pool: QueryPool, kept: float, runs: int) -> tuple[Floats, Floats]:
    """The errors of publications, uniform and sampled, run by run."""
    sampled = Sampled(PROMISE, kept, "chernoff", trials="printed", rounding="separate")
    uniform, other = (measure(one, pool, seed=1, runs=runs) for one in (UniformPerturbation(kept), sampled))
    return uniform.errors[:, 0], other.errors[:, 0]


def simulated_errors(pool: QueryPool, kept: float, runs: int) -> tuple[Floats, Floats]:
    """The same by the simulation of its own."""
    one, other = (
        np.array([simulated(pool, kept, sampled=sampled, seed=run) for run in range(runs)])
        for sampled in (False, True)
    )
    return one, other


def _derived_costs(pool: QueryPool, retentions: tuple[float, ...]) -> list[float]:
    return [derived(pool, kept, sampled=True) / derived(pool, kept, sampled=False) - 1 for kept in retentions]


def _agree(found: Curve, expected: Curve, runs: int) -> bool:
    """Whether errors are within 10 % of what is expected, and four standard errors of the mean."""
    off = np.abs(np.array(found.mean) - expected.mean)
    chance = 4 * np.array(found.spread or 0.0) / np.sqrt(runs)
    return bool((off <= 0.1 * (1 + np.array(expected.mean)) + chance).all())


def _least_said(pool: QueryPool) -> str:
    """What SPS would cost if all groups were of one size, and all had the largest limit of them."""
    groups = pool.groups
    largest = np.asarray(groups.counts.max(axis=1).toarray()).ravel() / groups.sizes
    limits = PROMISE.largest_group(largest, 0.5, len(groups.totals), bound="chernoff")
    least = float(np.sqrt(max(1.0, groups.sizes.mean() / float(limits.max()))) - 1)
    if least < 0.1:
        return ""
    return f"Groups of one size, all with the largest limit, would still cost {signed(least)} at p = 0.5. "
