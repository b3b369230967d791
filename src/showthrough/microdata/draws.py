"""Repeatable random numbers: a generator for every piece of work, whoever does it."""

from __future__ import annotations

from typing import Final

import numpy as np

from showthrough.errors import InputError

__all__ = [
    "ALLOT",
    "LEVEL",
    "ORDER",
    "PERTURB",
    "SCATTER",
    "check_seed",
    "generator",
]

#: What is drawn, as the second part of a generator's name.
PERTURB: Final = 0
ALLOT: Final = 1
SCATTER: Final = 2
ORDER: Final = 3
LEVEL: Final = 4


def check_seed(seed: int) -> int:
    """Raise unless the seed is a whole number from 0.

    Whoever knows the seed can undo the perturbation, and a small one can be found by trying. Take a
    large random number (``secrets.randbits(128)``) and keep it as secret as the data.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "a seed must be a whole number of at least 0",
            found=str(seed),
            remedy="for example secrets.randbits(128)",
        )
    return int(seed)


def generator(seed: int, *name: int) -> np.random.Generator:
    """The generator with this name: the same numbers on every machine, in every order of work.

    >>> generator(7, PERTURB, 3).integers(100) == generator(7, PERTURB, 3).integers(100)
    np.True_
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(check_seed(seed), spawn_key=name)))
