"""AS as it was published: Bayes' rule averaged over records, not over bins.

Agrawal and Srikant take the density of the noise between each published value and the middle of each bin:

    f_p ← (1/n) Σ_i f_R(z_i − u_p) f_p / Σ_t f_R(z_i − u_t) f_t.

Counting the published values into bins first (:func:`~showthrough.numbers.reconstruction.reconstruct`) gives
the same up to the width of a bin, at a cost that does not grow with the number of records. So this is for
comparison only.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError, check_type
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.joint_noise import as_column_noise
from showthrough.numbers.noise import Noise, as_floats

__all__ = ["reconstruct_by_record"]

#: Densities held at once.
_BLOCK = 4_000_000


def reconstruct_by_record(
    values: ArrayLike, noise: Noise | str, *, grid: Grid, iterations: int = 50
) -> Distribution:
    """Rebuild a distribution by Bayes' rule, record by record.

    Each iteration costs records times bins, where counting into bins first costs bins alone; the result is
    the same up to the width of a bin. Values that no bin explains are left out.

    Parameters
    ----------
    values
        The noisy values.
    noise
        The law of the noise, or its text: ``"uniform:60"``.
    grid
        The bins of the hidden values.
    iterations
        How many updates are made, from a uniform distribution on.

    Returns
    -------
    Distribution
        The distribution of the hidden values.

    Raises
    ------
    InputError
        If no value can come from the grid with this noise.

    Examples
    --------
    >>> found = reconstruct_by_record([0.9, 1.1, 5.0], "uniform:1", grid=Grid(0, 2.0, 3), iterations=100)
    >>> found.mass.round(3).tolist()
    [0.667, 0.0, 0.333]
    """
    law, published = as_column_noise(noise), np.atleast_1d(as_floats(values))
    check_type(grid, Grid, name="grid", remedy="write Grid(0, 2.5, 40)")
    check_type(iterations, Integral, name="iterations")
    if published.ndim != 1 or not published.size or iterations < 0:
        raise InputError("values are a list of one number or more, iterations a number from 0")
    middles = (grid.edges[1:] + grid.edges[:-1]) / 2
    rows = max(1, _BLOCK // grid.bins)
    parts = [law.density(published[at : at + rows, None] - middles) for at in range(0, len(published), rows)]
    mass = np.full(grid.bins, 1 / grid.bins)
    for _ in range(iterations):
        share, explained = np.zeros(grid.bins), 0
        for likely in parts:
            total = likely @ mass
            seen = total > 0
            share += mass * (likely[seen] / total[seen, None]).sum(axis=0)
            explained += int(seen.sum())
        if not explained:
            raise InputError(
                "no value can come from the grid with this noise",
                remedy="use a grid nearer to the values, or check the law of the noise",
            )
        mass = share / explained
    return Distribution(grid.edges, mass)
