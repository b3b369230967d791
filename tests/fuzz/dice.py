"""Random choices for making inputs: many small ones, all from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

__all__ = ["Dice"]

One = TypeVar("One")

#: Numbers drawn at a time: one at a time takes longer than what is done with them.
_DRAWN = 128


class Dice:
    """Choices from a NumPy generator, the same for the same seed.

    >>> Dice(1, 2).below(10) == Dice(1, 2).below(10)
    True
    """

    def __init__(self, *seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._left: list[int] = []

    def below(self, number: int) -> int:
        """A whole number from 0 to one less than this."""
        if not self._left:
            self._left = self._rng.integers(0, 2**32, _DRAWN, np.uint64).tolist()
        return self._left.pop() * number >> 32

    def between(self, low: int, high: int) -> int:
        """A whole number from one to another, both included."""
        return low + self.below(high - low + 1)

    def one_in(self, number: int) -> bool:
        """True once in so many times."""
        return not self.below(number)

    def of(self, choices: Sequence[One]) -> One:
        """One of some things."""
        return choices[self.below(len(choices))]

    def bytes(self, number: int) -> bytes:
        """Any bytes."""
        return bytes(self.below(256) for _ in range(number))

    def shuffled(self, things: Sequence[One]) -> list[One]:
        """The same in another order."""
        left = list(things)
        return [left.pop(self.below(len(left))) for _ in things]
