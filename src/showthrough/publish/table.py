"""A sub-table of a publication: what its records were perturbed among, and how often they were kept."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SubTable"]


@dataclass(frozen=True)
class SubTable:
    """Records that kept their sensitive value with ``retention``, else drew one of ``values``.

    ``values`` are positions among all sensitive values.

    >>> SubTable(0.5, (0, 2, 3)).n_values
    3
    """

    retention: float
    values: tuple[int, ...]

    @property
    def n_values(self) -> int:
        """How many values there are to draw from."""
        return len(self.values)

    @property
    def stray(self) -> float:
        """The chance that a record shows one certain value it does not have: (1 − p)/m."""
        return (1 - self.retention) / self.n_values
