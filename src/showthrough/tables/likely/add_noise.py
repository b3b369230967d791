"""Noise drawn for exact tables, to see on areas with known truth what noisy ones leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import check_type
from showthrough.noise_law import UNKNOWN, NoiseLaw, NoisyCounts
from showthrough.release import UNBOUNDED, Release, Table
from showthrough.tables.audit import area_seed

__all__ = [
    "add_noise",
    "noise_like",
]

Whole = NDArray[np.int64]


def add_noise(
    release: Release, law: NoiseLaw, *, keep: Callable[[Table], bool] = lambda _: False, seed: int = 0
) -> Release:
    """Publish exact tables with noise of a law.

    Parameters
    ----------
    release
        Exact counts.
    law
        The law of the noise.
    keep
        Which tables stay exact.
    seed
        The seed of the noise.

    Returns
    -------
    Release
        Values with noise, and the bounds that the law gives them.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"]})
    >>> noisy = add_noise(st.Release.of(schema, {"sex": [4, 8]}), st.RandomRounding(3), seed=1)
    >>> noisy.noise.values.tolist()
    [3, 9]
    """
    check_type(law, NoiseLaw, name="law", remedy="use parse_law")
    kept = [keep(table) for table in release.tables]
    of = np.repeat(np.where(kept, -1, 0), [len(table.cells) for table in release.tables])
    return _noisy(release, NoisyCounts(release.low, (law,), of), seed=seed)


def noise_like(release: Release, example: NoisyCounts, *, seed: int) -> Release:
    """Exact tables of another area, published with the laws of an example; what it leaves out is left out."""
    found = _noisy(release, example, seed=seed)
    if found.noise is None:
        return found
    left_out = (example.law_of >= 0) & (example.values == UNKNOWN)
    low, high = np.where(left_out, 0, found.low), np.where(left_out, UNBOUNDED, found.high)
    values = np.where(left_out, UNKNOWN, found.noise.values)
    return Release(release.layout, low, high, release.area, NoisyCounts(values, example.laws, example.law_of))


def _noisy(release: Release, example: NoisyCounts, *, seed: int) -> Release:
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([area_seed(seed, release.area), 11])))
    values, low, high = release.low.copy(), release.low.copy(), release.high.copy()
    for number, law in enumerate(example.laws):
        mine = np.flatnonzero(example.law_of == number)
        values[mine] = law.draw(release.low[mine], rng)
        ends = np.array([law.bounds(value) for value in values[mine].tolist()], np.int64).reshape(-1, 2)
        low[mine], high[mine] = ends[:, 0], ends[:, 1]
    return Release(release.layout, low, high, release.area, NoisyCounts(values, example.laws, example.law_of))
