"""What a check of a promise found, group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from showthrough.text import html_summary, percent

__all__ = [
    "Bound",
    "DiversityCheck",
    "ReconstructionCheck",
    "RhoCheck",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Which tail a check of reconstruction privacy goes by: the paper's bound, or the exact one.
Bound = Literal["chernoff", "exact"]


@dataclass(frozen=True, eq=False)
class ReconstructionCheck:
    """Which personal groups let a reader estimate a frequency too precisely, by both bounds.

    A size over ``chernoff_limit`` (the paper's s_g) proves a violation, a size under it proves
    nothing; ``exact_violated`` decides. ``exact_limit`` is the largest size at which the group's largest
    frequency would be safe; smaller sizes may fail, since tails jump from count to count.
    """

    sizes: Whole
    #: The largest share of one sensitive value in each group.
    frequency: Floats
    chernoff_limit: Floats
    exact_limit: Whole
    chernoff_violated: Flags
    exact_violated: Flags

    def violated(self, bound: Bound = "exact") -> Flags:
        """Which groups violate the promise, by one bound."""
        return self.exact_violated if bound == "exact" else self.chernoff_violated

    def holds(self, bound: Bound = "exact") -> bool:
        """Whether the promise holds for every group."""
        return not self.violated(bound).any()

    def group_rate(self, bound: Bound = "exact") -> float:
        """v_g: the share of groups (with records) that violate the promise."""
        return _rate(self.violated(bound), (self.sizes > 0).astype(np.int64))

    def record_rate(self, bound: Bound = "exact") -> float:
        """v_r: the share of records that are in such a group."""
        return _rate(self.violated(bound), self.sizes)

    def worst(self, number: int = 10, *, bound: Bound = "exact") -> Whole:
        """The groups that violate it, those with the most records for their s_g first."""
        groups = np.flatnonzero(self.violated(bound))
        order = np.argsort(-self.sizes[groups] / self.chernoff_limit[groups], kind="stable")
        return groups[order[:number]]

    def _repr_html_(self) -> str:
        """The shares of groups and records that violate the promise, for notebooks."""
        bounds: tuple[tuple[Bound, str], ...] = (("exact", "exact tails"), ("chernoff", "the paper's bound"))
        rows = [
            [name, percent(self.group_rate(bound), 1), percent(self.record_rate(bound), 1)]
            for bound, name in bounds
        ]
        title = f"Reconstruction privacy of {len(self.sizes):,} groups with {int(self.sizes.sum()):,} records"
        return html_summary(title, [["by", "groups that violate it", "records in them"], *rows])


@dataclass(frozen=True, eq=False)
class RhoCheck:
    """How sure a reader can become of a protected value, in each sub-table."""

    sizes: Whole
    retention: Floats
    #: The largest Pr[value | published value] over protected values, exactly.
    posterior: Floats
    violated: Flags
    #: Values over the prior: the promise says nothing about them.
    unprotected: Flags

    @property
    def holds(self) -> bool:
        """Whether the promise holds in every sub-table."""
        return not self.violated.any()

    def _repr_html_(self) -> str:
        """How sure a reader can become, for notebooks."""
        rows = [
            [at, f"{size:,}", f"{kept:.4g}", f"{sure:.4g}", "no" if broken else "yes"]
            for at, (size, kept, sure, broken) in enumerate(
                zip(self.sizes, self.retention, self.posterior, self.violated, strict=True), 1
            )
        ]
        title = f"The promise is {'kept' if self.holds else 'broken'}"
        return html_summary(title, [["sub-table", "records", "retention", "posterior", "kept"], *rows])


@dataclass(frozen=True, eq=False)
class DiversityCheck:
    """Which groups or buckets have a sensitive value that is too frequent in them."""

    sizes: Whole
    #: How many records the most frequent value has in each.
    largest: Whole
    violated: Flags

    @property
    def holds(self) -> bool:
        """Whether the promise holds for every group."""
        return not self.violated.any()

    @property
    def group_rate(self) -> float:
        """The share of groups (with records) that violate the promise."""
        return _rate(self.violated, (self.sizes > 0).astype(np.int64))

    @property
    def record_rate(self) -> float:
        """The share of records that are in such a group."""
        return _rate(self.violated, self.sizes)

    def _repr_html_(self) -> str:
        """The shares of groups and records that violate the promise, for notebooks."""
        title = f"Diversity of {len(self.sizes):,} groups with {int(self.sizes.sum()):,} records"
        row = [percent(self.group_rate, 1), percent(self.record_rate, 1)]
        return html_summary(title, [["groups that violate it", "records in them"], row])


def _rate(violated: Flags, weight: Whole) -> float:
    total = int(weight.sum())
    return float(weight[violated].sum() / total) if total else 0.0
