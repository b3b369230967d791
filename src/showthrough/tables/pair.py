"""Two datasets that differ much, and a proof of how much any two can."""

from __future__ import annotations

from dataclasses import dataclass, field

from showthrough.tables.claims import World
from showthrough.tables.proof.differ import Difference

__all__ = [
    "Variability",
]


@dataclass(frozen=True, eq=False)
class Variability:
    """In how many records two datasets that agree with a release can differ.

    Attributes
    ----------
    low
        Two datasets differ in this many records.
    worlds
        Two datasets that do. Those of a part of an area have its records alone.
    proof
        No two differ in more records than this proves. If that is 0, only one dataset agrees.
    """

    low: int
    worlds: tuple[World, World] = field(repr=False)
    proof: Difference = field(repr=False)

    @property
    def high(self) -> int:
        """No two datasets differ in more records."""
        return self.proof.most

    @property
    def records(self) -> int:
        """How many records there are, in every dataset."""
        return self.proof.records

    @property
    def share(self) -> tuple[float, float]:
        """Both ends as shares of the records; 0 where there are none."""
        n = max(1, self.records)
        return self.low / n, self.high / n
