"""How probabilities compare with the truth: reliability, and a curve that corrects them.

The curve is logistic, log-odds → intercept + slope·log-odds, and its figures are *out of fold*: what was
said about an area was corrected by a curve fitted to other areas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HIGH",
    "UNEARNED",
    "Calibration",
    "Curve",
    "Measure",
    "Told",
    "fit_curve",
    "said_of",
]

Floats = NDArray[np.float64]

#: From here on a probability counts as high, and must be earned; otherwise no more than this is said.
HIGH, UNEARNED = 0.9, 0.89

#: To be said, high probabilities must have come true at least so often, with so much confidence (areas,
#: not statements, are what is independent), and in this many cases and areas.
EARNED_RATE, EARNED_CONFIDENCE, EARNED_CASES, EARNED_AREAS = 0.85, 0.95, 30, 10

#: Parts that areas are divided into; each is corrected by a curve fitted to the others.
FOLDS = 5

#: Steps of the reliability table, and how far from 0 and 1 probabilities are kept when they are scored.
STEPS, CLIP = 10, 1e-4

Kind = Literal["claim", "finding"]


@dataclass(frozen=True)
class ReliabilityStep:
    """Probabilities between two ends: how many, their mean, and how often they came true."""

    low: float
    high: float
    n: int
    said: float
    true: float


@dataclass(frozen=True)
class Measure:
    """How some probabilities compare with the truth.

    Attributes
    ----------
    n
        How many were compared.
    share_true
        How often they came true.
    brier, log_loss
        Mean squared error, and mean negative log-likelihood.
    ece
        Expected calibration error: the mean distance between what was said and what was true, over ten
        equal steps of probability, each weighted by its number.
    n_high, said_high, true_high
        How many were at least 0.9, their mean, and how often these came true.
    steps
        The reliability table.
    areas_high, floor_high
        In how many areas such were said, and how often they come true at least (with 95 % confidence).
    """

    n: int
    share_true: float
    brier: float
    log_loss: float
    ece: float
    n_high: int
    said_high: float
    true_high: float
    steps: tuple[ReliabilityStep, ...]
    areas_high: int = 0
    floor_high: float = 0.0

    @classmethod
    def of(cls, said: Floats, true: Floats, area: NDArray[np.int64] | None = None) -> Measure:
        """From probabilities, what came true (0 or 1), and the area of each; all are others without.

        >>> Measure.of(np.array([0.95, 0.95, 0.05]), np.array([1.0, 1.0, 0.0])).true_high
        1.0
        """
        clipped = np.clip(said, CLIP, 1 - CLIP)
        loss = -(true * np.log(clipped) + (1 - true) * np.log1p(-clipped))
        high = said >= HIGH
        which = np.minimum((said * STEPS).astype(np.int64), STEPS - 1)
        steps = tuple(
            ReliabilityStep(
                at / STEPS, (at + 1) / STEPS, int(mine.sum()), _mean(said[mine]), _mean(true[mine])
            )
            for at in range(STEPS)
            if (mine := which == at).any()
        )
        ece = sum(step.n * abs(step.said - step.true) for step in steps) / max(len(said), 1)
        return cls(
            len(said),
            _mean(true),
            _mean((said - true) ** 2),
            _mean(loss),
            round(ece, 6),
            int(high.sum()),
            _mean(said[high]),
            _mean(true[high]),
            steps,
            *_floor(true[high], np.arange(len(said))[high] if area is None else area[high]),
        )

    @property
    def ece_by_chance(self) -> float:
        """The calibration error to be expected if every probability were right.

        As if all came true on their own: statements about one area do so together, and chance makes more.

        >>> round(Measure.of(np.full(100, 0.5), np.zeros(100)).ece_by_chance, 3)
        0.04
        """
        return sum(_mean_deviation(step.n, step.said) for step in self.steps) / max(self.n, 1)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Measure:
        """From the content of a file."""
        steps = {"steps": tuple(ReliabilityStep(**step) for step in plain["steps"])}
        given: dict[str, Any] = {**plain, **steps}
        return cls(**given)


def _floor(true: Floats, area: NDArray[np.int64]) -> tuple[int, float]:
    """The number of areas, and a lower bound of how often statements come true; areas vary as wholes."""
    from scipy.special import stdtrit

    areas, of = np.unique(area, return_inverse=True)
    if len(areas) < 2:
        return len(areas), 0.0
    rate = true.mean()
    # one more failure than there was, as a whole: without any, nothing would vary
    off = np.append(np.bincount(of, true - rate), -rate)
    error = np.sqrt(len(off) / (len(off) - 1) * (off**2).sum()) / (len(true) + 1)
    reach = float(stdtrit(len(areas) - 1, EARNED_CONFIDENCE))
    return len(areas), round(max(0.0, float(rate - reach * error)), 6)


def _mean_deviation(n: int, p: float) -> float:
    """How far the number of n that come true with probability p is from n·p on average (de Moivre)."""
    if not 0 < p < 1:
        return 0.0
    above = min(n, math.floor(n * p) + 1)
    ways = math.lgamma(n + 1) - math.lgamma(above + 1) - math.lgamma(n - above + 1)
    return 2 * above * math.exp(ways + above * math.log(p) + (n - above + 1) * math.log1p(-p))


def _mean(numbers: Floats) -> float:
    return round(float(numbers.mean()), 6) if len(numbers) else 0.0


@dataclass(frozen=True)
class Curve:
    """A correction of probabilities, and how they compare with the truth before and after it.

    ``corrected`` is out of fold; ``groups`` are parts of what was said, after correction, by size of
    the area and by number of columns.
    """

    slope: float
    intercept: float
    raw: Measure
    corrected: Measure
    groups: tuple[tuple[str, Measure], ...] = ()

    @property
    def earned(self) -> bool:
        """Whether probabilities of at least 0.9 came true often enough to be said."""
        one = self.corrected
        many = one.n_high >= EARNED_CASES and one.areas_high >= EARNED_AREAS
        return many and one.floor_high >= EARNED_RATE

    def apply(self, q: Floats) -> Floats:
        """Probabilities as they are said: corrected, and no higher than what was measured can bear."""
        most = 1 - 1 / (self.corrected.n_high + 2) if self.earned else UNEARNED
        return np.minimum(corrected(q, self.slope, self.intercept), most)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Curve:
        """From the content of a file."""
        return cls(
            float(plain["slope"]),
            float(plain["intercept"]),
            Measure.from_plain(plain["raw"]),
            Measure.from_plain(plain["corrected"]),
            tuple((str(name), Measure.from_plain(one)) for name, one in plain["groups"]),
        )


@dataclass(frozen=True)
class Calibration:
    """How a prior's probabilities compared with the truth of some areas.

    Attributes
    ----------
    n_areas
        How many areas.
    claims, findings
        The curves of the two kinds of statements.
    where
        The file that the areas came from.
    """

    n_areas: int
    claims: Curve
    findings: Curve
    where: str = ""

    def curve(self, kind: Kind) -> Curve:
        """The curve of one kind of statement."""
        return self.claims if kind == "claim" else self.findings

    def to_plain(self) -> dict[str, Any]:
        """As it is kept in the file of a prior."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Calibration:
        """From the content of a file."""
        claims, findings = Curve.from_plain(plain["claims"]), Curve.from_plain(plain["findings"])
        return cls(int(plain["n_areas"]), claims, findings, str(plain["where"]))


def said_of(q: Floats, calibration: Calibration | None, kind: Kind) -> Floats:
    """Probabilities as they are said.

    >>> said_of(np.array([0.5, 0.99]), None, "claim").tolist()
    [0.5, 0.89]
    """
    return np.minimum(q, UNEARNED) if calibration is None else calibration.curve(kind).apply(q)


def corrected(q: Floats, slope: float, intercept: float) -> Floats:
    """Probabilities with corrected log-odds; 0 and 1 stay."""
    inside = np.clip(q, CLIP / 100, 1 - CLIP / 100)
    odds = intercept + slope * (np.log(inside) - np.log1p(-inside))
    return np.where((q <= 0) | (q >= 1), q, 1 / (1 + np.exp(-odds)))


@dataclass(frozen=True, eq=False)
class Told:
    """What was said about areas whose truth is known; one entry per statement."""

    q: Floats
    true: Floats
    area: NDArray[np.int64]
    size: NDArray[np.int64]
    columns: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[Told]) -> Told:
        """Several areas' statements as one."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("q", "true", "area", "size", "columns")
            )
        )


def fit_curve(told: Told) -> Curve:
    """The correction that fits, and its figures out of fold."""
    held_out = np.zeros(len(told.q))
    for fold in range(FOLDS):
        mine = told.area % FOLDS == fold
        slope, intercept = _logistic(told.q[~mine], told.true[~mine])
        held_out[mine] = corrected(told.q[mine], slope, intercept)
    slope, intercept = _logistic(told.q, told.true)
    groups = [
        *_groups(held_out, told.true, told.size, ((1, 14), (15, 30), (31, 60), (61, 10**9)), "records"),
        *_groups(held_out, told.true, told.columns, ((1, 1), (2, 2), (3, 3), (4, 10**9)), "columns"),
    ]
    return Curve(
        slope,
        intercept,
        Measure.of(told.q, told.true, told.area),
        Measure.of(held_out, told.true, told.area),
        tuple(groups),
    )


def _groups(
    said: Floats, true: Floats, by: NDArray[np.int64], ranges: Sequence[tuple[int, int]], noun: str
) -> list[tuple[str, Measure]]:
    found: list[tuple[str, Measure]] = []
    for low, high in ranges:
        mine = (by >= low) & (by <= high)
        if mine.any():
            name = f"{low}+" if high >= 10**9 else f"{low}" if low == high else f"{low}–{high}"
            found.append(
                (
                    f"{name} {noun.removesuffix('s') if name == '1' else noun}",
                    Measure.of(said[mine], true[mine]),
                )
            )
    return found


#: How many observations the belief that nothing needs correction is worth.
_INERTIA = 10.0


def _logistic(q: Floats, true: Floats) -> tuple[float, float]:
    """Slope and intercept by Newton's method, drawn a little towards 1 and 0."""
    inside = np.clip(q, CLIP, 1 - CLIP)
    design = np.column_stack([np.log(inside) - np.log1p(-inside), np.ones(len(q))])
    start = np.array([1.0, 0.0])
    found: Floats = start.copy()
    for _ in range(50):
        chance: Floats = 1 / (1 + np.exp(-(design @ found)))
        gradient = design.T @ (true - chance) - _INERTIA * (found - start)
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + _INERTIA * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        found += np.clip(step, -1, 1)
        if abs(step).max() < 1e-9:
            break
    return round(float(found[0]), 6), round(float(found[1]), 6)
