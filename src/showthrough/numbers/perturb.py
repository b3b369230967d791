"""Add noise to numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from showthrough.errors import InputError
from showthrough.numbers.joint_noise import as_noise
from showthrough.numbers.noise import Floats, JointNoise, Noise, as_floats

__all__ = [
    "perturb",
]


def perturb(
    values: ArrayLike,
    noise: Noise | JointNoise | str | Sequence[Noise | str],
    *,
    seed: int | np.random.Generator,
) -> Floats:
    """Add noise to values.

    Parameters
    ----------
    values
        One column (a list) or several (a matrix with one row for each record).
    noise
        A law of noise, or its text as on the command line: ``"uniform:125"``, ``"gaussian:sd=2.8"``,
        ``"laplace:20"``. A law for one column is drawn independently for every column; a list gives
        each column its own law.
    seed
        A whole number from 0, or a generator. Whoever knows the seed can remove the noise again.

    Returns
    -------
    numpy.ndarray
        The noisy values, in the shape of the values.

    Raises
    ------
    InputError
        If a value is missing or infinite, or the noise is for another number of columns.

    Examples
    --------
    >>> perturb([10.0, 20.0], "uniform:1", seed=1).round(2).tolist()
    [10.02, 20.9]
    """
    given = as_floats(values)
    if given.ndim not in (1, 2):
        raise InputError("values must be a list or a matrix", found=f"{given.ndim} dimensions")
    if not np.isfinite(given).all():
        at = tuple(int(place) for place in np.argwhere(~np.isfinite(given))[0])
        raise InputError(
            "a value is missing or infinite",
            row=at[0] + 1,
            column=str(at[1] + 1) if given.ndim == 2 else None,
            found=str(given[at]),
            remedy="remove such rows first",
        )
    law = as_noise(noise, columns=1 if given.ndim == 1 else given.shape[1])
    generator = np.random.default_rng(check_seed(seed))
    if not isinstance(law, JointNoise):
        return given + law.sample(given.shape, seed=generator)
    if given.ndim != 2 or given.shape[1] != law.columns:
        raise InputError(
            "the noise is for another number of columns",
            found=f"{law.columns} for values of shape {given.shape}",
        )
    return given + law.sample(len(given), seed=generator)


def check_seed(seed: int | np.random.Generator) -> int | np.random.Generator:
    """The seed, if it is a generator or a whole number from 0."""
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, int | np.integer) or seed < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError("a seed is a whole number from 0", found=str(seed))
    return int(seed)
