"""Rows of codes as single numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["number_rows"]


def number_rows(columns: Iterable[NDArray[np.integer]], length: int) -> NDArray[np.int64]:
    """Rows of codes as one number each: equal rows have equal numbers, in ascending order without gaps.

    >>> number_rows([np.array([1, 0, 1, 0]), np.array([5, 7, 5, 0])], 4).tolist()
    [2, 1, 2, 0]
    """
    numbers: NDArray[np.int64] = np.zeros(length, np.int64)
    for codes in columns:
        # Numbered anew column by column, so numbers stay small however many columns there are.
        n_codes = int(codes.max(initial=0)) + 1
        numbers = np.unique(numbers * n_codes + codes, return_inverse=True)[1].astype(np.int64)
    return numbers
