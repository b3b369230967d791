"""Questions while they are decided: what is proved, what is refuted, what is still open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.proof import Node

__all__ = [
    "Answers",
    "Asked",
]

Counts = NDArray[np.int64]

UNDECIDED, VERIFIED, REFUTED = 0, 1, 2


@dataclass(eq=False)
class Answers:
    """Per question a state, proofs of both ends, the world that refutes it, and what decided."""

    words: NDArray[np.uint64]
    count: Counts
    state: NDArray[np.int8]
    stage: list[str]
    at_least: list[Node | None]
    at_most: list[Node | None]
    witness: NDArray[np.int64]

    @classmethod
    def open(cls, words: NDArray[np.uint64], count: Counts) -> Answers:
        """Nothing decided yet."""
        n = len(words)
        return cls(
            words,
            count,
            np.zeros(n, np.int8),
            [""] * n,
            [None] * n,
            [None] * n,
            np.full(n, -1, np.int64),
        )

    def part(self, start: int, stop: int) -> Answers:
        """Some of the answers, in order."""
        return Answers(
            self.words[start:stop],
            self.count[start:stop],
            self.state[start:stop],
            self.stage[start:stop],
            self.at_least[start:stop],
            self.at_most[start:stop],
            self.witness[start:stop],
        )

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """Parts as one, in order."""
        return cls(
            np.concatenate([part.words for part in parts]),
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.state for part in parts]),
            [stage for part in parts for stage in part.stage],
            [node for part in parts for node in part.at_least],
            [node for part in parts for node in part.at_most],
            np.concatenate([part.witness for part in parts]),
        )


@dataclass(eq=False)
class Asked:
    """Questions at the level of classes: ``low`` is 1 where all types of a class match, ``high``
    where any does. Where they differ, a record of that class can be moved in and out of the mask.
    """

    answers: Answers
    low: NDArray[np.uint8]
    high: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.open = np.ones(len(self.low), bool)
        self.whole = (self.low == self.high).all(axis=1)
        self._compact()

    def _compact(self) -> None:
        """Class × open question, so that looking up a move's classes touches whole rows."""
        self._kept = np.flatnonzero(self.open)
        nobody = np.zeros((1, len(self._kept)), np.int8)
        self._by_class = np.vstack([self.low[self._kept].T, nobody]).astype(np.int8)
        split = (self.low[self._kept] != self.high[self._kept]).T
        self._split = np.vstack([split, nobody.astype(bool)])

    def goal(self, at: int, side: int) -> tuple[Counts, int]:
        """What to minimise to prove one end: Σ goal ≥ target."""
        m = int(self.answers.count[at])
        if side > 0:
            return self.low[at].astype(np.int64), m
        return -self.high[at].astype(np.int64), -m

    def has(self, at: int, side: int) -> bool:
        """Whether one end is proved already."""
        return (self.answers.at_least if side > 0 else self.answers.at_most)[at] is not None

    def try_world(self, counts: Counts, number: int) -> bool:
        """Refute every open question on which a world with these class counts can differ."""
        which = np.flatnonzero(self.open)
        if not len(which):
            return False
        occupied = np.flatnonzero(counts)
        low = self.low[np.ix_(which, occupied)]
        split = (low != self.high[np.ix_(which, occupied)]).any(axis=1)
        fallen = split | (low.astype(np.float64) @ counts[occupied] != self.answers.count[which])
        self.refute(which[fallen], number)
        return bool(fallen.any())

    def hits(
        self, old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Open questions, and move × question: whether the world after the move refutes it."""
        if self.open[self._kept].sum() < len(self._kept) * 0.7:
            self._compact()
        low, split = self._by_class, self._split
        change = np.zeros((len(new), len(self._kept)), np.int8)
        hit = np.zeros(change.shape, bool)
        for into, out in zip(new.T, old.T, strict=True):
            change += low[into]
            change -= low[out]
            hit |= split[into]
        hit |= change != 0
        hit &= self.open[self._kept]
        return self._kept, hit

    def refute(self, which: NDArray[np.int64], number: int) -> None:
        """These questions fall to the world of this number."""
        self.open[which] = False
        self.answers.state[which] = REFUTED
        self.answers.witness[which] = number
        for at in which:
            self.answers.stage[at] = "worlds"

    def prove(self, at: int, lower: Node, upper: Node, stage: str) -> None:
        """Both ends at once."""
        self.prove_side(at, 1, lower, stage)
        self.prove_side(at, -1, upper, stage)

    def prove_side(self, at: int, side: int, node: Node, stage: str) -> None:
        """One end; the question is settled when both are."""
        (self.answers.at_least if side > 0 else self.answers.at_most)[at] = node
        self.answers.stage[at] = max(self.answers.stage[at], stage, key=_STAGES.index)
        if self.answers.at_least[at] is not None and self.answers.at_most[at] is not None:
            self.answers.state[at] = VERIFIED
            self.open[at] = False


#: What can settle a question, the strongest means last.
_STAGES = ["", "cell", "algebra", "linear", "branching", "solver only", "worlds"]
