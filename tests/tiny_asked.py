"""What is asked about a tiny case, what was wrong with it, and the totals of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tiny_cases import TinyCase


@dataclass
class Totals:
    """How many cases of each kind were compared, and what was wrong with how many of them."""

    cases: Counter[str] = field(default_factory=Counter[str])
    false: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    rejected: Counter[str] = field(default_factory=Counter[str])
    undecided: Counter[str] = field(default_factory=Counter[str])
    said: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def add(self, kinds: Iterable[str], found: Found, name: str) -> None:
        """Count one case under each of its kinds and under all."""
        for kind in ("all", *kinds):
            self.cases[kind] += 1
            for what in ("false", "missed", "rejected", "undecided"):
                if getattr(found, what):
                    getattr(self, what)[kind] += 1
        self.said.update(found.said)
        for what in ("false", "missed", "rejected", "undecided"):
            self.problems += [f"{name}: {what}: {text}" for text in getattr(found, what)]

    @property
    def wrong(self) -> int:
        """How many cases had anything wrong with them."""
        return self.false["all"] + self.missed["all"] + self.rejected["all"] + self.undecided["all"]


@dataclass
class Found:
    """What is wrong with one case: said though false, not said though true, evidence that fails."""

    false: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    rejected: list[str] = field(default_factory=list[str])
    undecided: list[str] = field(default_factory=list[str])
    said: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True)
class Asked:
    """What is asked about a case."""

    findings: bool
    absent: bool
    gaps: bool
    min_columns: int
    max_columns: int | None
    multiplicity: tuple[int, int] | None
    truth: bool
    effort: float
    bounds: bool
    worlds: bool
    read: bool

    @classmethod
    def of(cls, case: TinyCase, rng: np.random.Generator) -> Asked:
        """Anything; three cases in a hundred are asked everything."""
        draws = rng.random(12)
        everything = bool(draws[0] < 0.03)
        limited = not everything and draws[1] < 0.15
        jumps = "counts that jump" in case.kinds
        k = len(case.schema.names)
        return cls(
            findings=bool(everything or draws[2] < 0.35),
            absent=bool(everything or (not limited and draws[3] < 0.1)),
            gaps=bool(everything or (not limited and draws[4] < (0.5 if jumps else 0.04))),
            min_columns=2 if limited and k > 1 and draws[5] < 0.2 else 1,
            max_columns=max(1, k - 1) if limited and draws[5] >= 0.2 else None,
            multiplicity=(1, 1 + int(draws[6] * 3)) if limited and draws[7] < 0.3 else None,
            truth=case.truth is not None and bool(draws[8] < 0.4),
            effort=1.0 if everything or draws[9] < 0.2 else 0.3,
            bounds=bool(everything or draws[10] < 0.1),
            worlds=bool(everything or 0.1 < draws[10] < 0.115),
            read=bool(everything or draws[11] < 0.05),
        )

    def kinds(self) -> Iterator[str]:
        """The names of what is asked."""
        named = {
            "findings": self.findings,
            "absences": self.absent,
            "gaps": self.gaps,
            "min_columns": self.min_columns > 1,
            "max_columns": self.max_columns is not None,
            "multiplicity": self.multiplicity is not None,
            "truth at hand": self.truth,
            "little effort": self.effort < 1,
            "bounds": self.bounds,
            "datasets": self.worlds,
            "evidence read": self.read,
            "everything on": self.findings and self.absent and self.gaps and self.bounds and self.worlds,
        }
        return (kind for kind, there in named.items() if there)
