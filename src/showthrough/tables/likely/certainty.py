"""What holds in every dataset: statements that are proved, and so not merely likely."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Contradiction, Undecided
from showthrough.packing import pack
from showthrough.release import UNBOUNDED, Release
from showthrough.tables.audit import start_decider
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.questions import VERIFIED, Answers, Asked
from showthrough.tables.search.universe import Universe

__all__ = [
    "ByDecider",
    "ByRules",
    "Prover",
]

Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Prover(Protocol):
    """Proves that exactly this many records match a mask over the types of a universe."""

    @property
    def universe(self) -> Universe:
        """The types that masks are over."""
        ...

    def proved(self, masks: Mask, counts: Whole) -> Mask:
        """Which statements hold in every dataset; what is not proved may hold all the same."""
        ...


class ByDecider:
    """Proofs as in an audit."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider

    @property
    def universe(self) -> Universe:
        """The types that masks are over."""
        return self.decider.system.universe

    def proved(self, masks: Mask, counts: Whole) -> Mask:
        """Which statements hold in every dataset."""
        answers = Answers.open(pack(masks), counts)
        self.decider.prove(Asked(answers, *self.decider.system.spread(masks)))
        return np.asarray(answers.state == VERIFIED)


class ByRules:
    """Proofs for noisy tables: by rules alone, and by an audit where noise has bounds."""

    def __init__(self, release: Release, universe: Universe, *, effort: float, seed: int) -> None:
        self.release, self._universe = release, universe
        self.effort, self.seed = effort, seed

    @property
    def universe(self) -> Universe:
        """The types that masks are over: all that the rules allow."""
        return self._universe

    @cached_property
    def _decider(self) -> Decider | None:
        """For tables whose bounds say something, unless they are too large."""
        informative = (self.release.low > 0) | (self.release.high < UNBOUNDED)
        if not informative.any():
            return None
        try:
            return start_decider(self.release, truth=None, effort=self.effort, seed=self.seed)
        except (Undecided, Contradiction):
            return None

    def proved(self, masks: Mask, counts: Whole) -> Mask:
        """Which statements hold in every dataset."""
        found = ~masks.any(axis=1) & (counts == 0)
        decider, rest = self._decider, np.flatnonzero(~found)
        if decider is None or not len(rest):
            return found
        kept = _positions(decider.system.universe, self._universe)
        found[rest] = ByDecider(decider).proved(masks[rest][:, kept], counts[rest])
        return found


def _positions(some: Universe, every: Universe) -> Whole:
    """Where the types of a universe stand in a larger one over the same attributes."""
    order = [some.frame.over.index(at) for at in every.frame.over]
    number = {row: at for at, row in enumerate(map(tuple, every.codes.tolist()))}
    return np.array([number[tuple(row)] for row in some.codes[:, order].tolist()], np.int64)
