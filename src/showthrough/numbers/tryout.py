"""Try out how many people are disclosed under how much noise: one scale, or a whole curve of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from numbers import Integral, Real
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError, check_each, check_function, check_type, closest
from showthrough.numbers.exposure import DIRECT, IDEAL, Exposed, Exposure, Rate, expose
from showthrough.numbers.interquantile import PrivacyIntervals, check_confidence
from showthrough.numbers.joint_noise import IndependentNoise, correlated_like
from showthrough.numbers.methods import run_attacks
from showthrough.numbers.noise import (
    Floats,
    GaussianNoise,
    JointNoise,
    LaplaceNoise,
    Noise,
    UniformNoise,
    check_matrix,
)
from showthrough.numbers.perturb import perturb
from showthrough.numbers.points import Point, find_points, whose

__all__ = [
    "FAMILIES",
    "Family",
    "Limit",
    "NoiseTrial",
    "Privacy",
    "Tryout",
    "make_noise",
    "trials_table",
    "try_scales",
]

Family = Literal["uniform", "gaussian", "laplace", "correlated"]
FAMILIES: tuple[Family, ...] = ("uniform", "gaussian", "laplace", "correlated")

#: How a privacy interval follows from true values.
Privacy = Callable[[Floats], PrivacyIntervals]

#: The series of draws that curves are made with; searches use lower numbers.
CURVE = 1_000

#: The series of a confirmation with the draws of the curve, and of the last steps of a search.
CONFIRMED, CLIMB = CURVE + 1, CURVE + 2


@dataclass(frozen=True)
class NoiseTrial:
    """What one scale of noise discloses: the worst attack in the worst column and draw.

    Attributes
    ----------
    scale
        The standard deviation of the noise, in those of the data.
    noise
        The noise as text.
    method, column
        The attack that discloses most, and the column (from 0) where it does.
    disclosed
        How many people it discloses: of all, or of the people in ``group`` if that is more.
    group
        Whom ``disclosed`` is about where many people hold exactly the same value: those people, or the
        others, as a clause such as "whose value is exactly 0"; empty for all people.
    by_method
        The largest share that each method discloses.
    draws
        How often noise was drawn.
    series
        0 for draws of the search, 1 and up for its confirmations, and :data:`CURVE` for a curve.
    exceeding
        How many of the draws disclosed more than the limit of the search; 0 where none was given.
    """

    scale: float
    noise: str
    method: str
    column: int
    disclosed: Rate
    by_method: tuple[tuple[str, float], ...]
    draws: int = 1
    series: int = 0
    group: str = ""
    exceeding: int = 0

    @property
    def ideal(self) -> float:
        """The share disclosed by the true distribution alone, whatever the noise."""
        return dict(self.by_method)[IDEAL]

    @property
    def role(self) -> str:
        """What it was tried for: the search, its confirmation, or a curve."""
        return {0: "search", CLIMB: "search", CURVE: "curve"}.get(self.series, "confirmation")


@dataclass(frozen=True)
class Limit:
    """The largest share that may be disclosed, and how many draws may exceed it before drawing ends."""

    share: float
    patience: int = 0


#: What each method found in each column, draw by draw.
_Rows = Mapping[tuple[int, str], Sequence[Exposed]]


def trials_table(trials: Sequence[NoiseTrial], columns: Sequence[str], *, level: float = 0.95) -> pa.Table:
    """One row for each trial, with an interval for its share, and the share of each method.

    ``columns`` are the names of the data's columns.
    """
    ends = [one.disclosed.interval(level) for one in trials]
    methods = dict.fromkeys(name for one in trials for name, _ in one.by_method)
    made: dict[str, pa.Array] = {
        "scale": pa.array([one.scale for one in trials], pa.float64()),
        "noise": pa.array([one.noise for one in trials], pa.string()),
        "role": pa.array([one.role for one in trials], pa.string()),
        "draws": pa.array([one.draws for one in trials], pa.int64()),
        "method": pa.array([one.method for one in trials], pa.string()),
        "column": pa.array([columns[one.column] for one in trials], pa.string()),
        "disclosed": pa.array([one.disclosed.count for one in trials], pa.int64()),
        "people": pa.array([one.disclosed.total for one in trials], pa.int64()),
        "group": pa.array([one.group for one in trials], pa.string()),
        "share": pa.array([one.disclosed.value for one in trials], pa.float64()),
        "low": pa.array([low for low, _ in ends], pa.float64()),
        "high": pa.array([high for _, high in ends], pa.float64()),
    }
    for name in methods:
        made[f"by {name}"] = pa.array([dict(one.by_method).get(name) for one in trials], pa.float64())
    return pa.table(made)


def try_scales(
    values: ArrayLike,
    scales: Iterable[float],
    *,
    privacy: float | Privacy,
    family: Family = "uniform",
    confidence: float = 0.95,
    draws: int = 3,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> tuple[NoiseTrial, ...]:
    """What each of several scales discloses, with the same draws for all: the curve of disclosure.

    The draws are not those of :func:`showthrough.advise`, so that its search has no influence on the
    curve.

    Parameters
    ----------
    values
        The true values: a list, or a matrix with one row for each person.
    scales
        Standard deviations of the noise, in those of each column.
    privacy, family, confidence, draws, seed, progress
        As for :func:`showthrough.advise`.

    Returns
    -------
    tuple of NoiseTrial
        One for each scale.

    Raises
    ------
    InputError
        If a scale is not positive, or the values do not vary.

    Examples
    --------
    >>> incomes = np.random.default_rng(1).gamma(9, 5, 1000)
    >>> less, more = try_scales(incomes, [0.5, 4.0], privacy=0.5, draws=1, seed=1)
    >>> less.disclosed.value > more.disclosed.value
    True
    """
    check_type(scales, Iterable, name="scales", remedy="write [0.5, 1.0, 2.0]")
    check_function(progress, name="progress")
    tests = Tryout.of(values, privacy, family=family, confidence=confidence, draws=draws, seed=seed)
    found = list[NoiseTrial]()
    for scale in scales:
        check_type(scale, Real, name="a scale")
        found.append(tests.run(scale, series=CURVE))
        if progress is not None:
            progress(1)
    return tuple(found)


def make_noise(matrix: ArrayLike, family: Family, scale: float) -> Noise | JointNoise:
    """Noise of a family whose standard deviation is ``scale`` times that of each column.

    >>> make_noise([[-1.0], [0.0], [1.0]], "gaussian", 3.0)
    GaussianNoise(sd=3.0)
    """
    given = check_matrix(matrix)
    if family == "correlated":
        return correlated_like(given, ratio=round_up(scale**2))
    laws = [_law(family, scale * float(sd)) for sd in given.std(axis=0, ddof=1)]
    return laws[0] if len(laws) == 1 else IndependentNoise(laws)


def _law(family: Family, sd: float) -> Noise:
    if family == "uniform":
        return UniformNoise(round_up(math.sqrt(3) * sd))
    return (
        GaussianNoise(sd=round_up(sd)) if family == "gaussian" else LaplaceNoise(round_up(sd / math.sqrt(2)))
    )


def round_up(value: float, digits: int = 3) -> float:
    """The smallest number of this many digits that is not below a positive value, as a person would type it.

    >>> round_up(2.5712), round_up(0.05), round_up(1_234.5)
    (2.58, 0.05, 1240.0)
    """
    found = Decimal(repr(float(value)))
    step = Decimal(1).scaleb(found.adjusted() - digits + 1)
    return float((found / step).to_integral_value(ROUND_CEILING) * step)


@dataclass(frozen=True, eq=False)
class Tryout:
    """What is needed to try out scales of noise: the true values, their privacy intervals, and draws."""

    matrix: Floats
    privacy: Sequence[PrivacyIntervals]
    family: Family
    confidence: float
    draws: int
    seed: int
    points: Sequence[Sequence[Point]] = ()

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        privacy: float | Privacy,
        *,
        family: Family,
        confidence: float,
        draws: int,
        seed: int,
    ) -> Tryout:
        """For noise on these values, if they and all else are usable."""
        matrix = _check(values, family, draws)
        check_confidence(confidence)
        check_type(seed, Integral, name="the seed")
        if seed < 0:
            raise InputError("a seed is a whole number from 0", found=str(seed))
        make = privacy if callable(privacy) else _relative(privacy)
        intervals = [make(column) for column in matrix.T]
        check_each(intervals, PrivacyIntervals, name="privacy", remedy="give a share such as 0.5")
        points = [find_points(column) for column in matrix.T]
        return cls(matrix, intervals, family, confidence, draws, seed, points)

    def run(
        self, scale: float, *, series: int, draws: int | None = None, limit: Limit | None = None
    ) -> NoiseTrial:
        """The worst over draws, columns and attacks; each ``series`` has draws of its own.

        An attack that is right as often as it claims in one draw counts in all of them: whether it is so
        in the next draw is chance. With a ``limit``, no more is drawn once too many draws exceed it.
        """
        noise = make_noise(self.matrix, self.family, scale)
        rows, exceeding = dict[tuple[int, str], list[Exposed]](), 0
        for draw in range(draws or self.draws):
            rng = np.random.default_rng([self.seed, series, draw])
            for column, found in enumerate(self._exposures(noise, rng)):
                for row in found.rows:
                    rows.setdefault((column, row.method), []).append(row)
            exceeding = 0 if limit is None else self._exceeding(rows, limit.share)
            if limit is not None and exceeding > limit.patience:
                break
        by_method = dict[str, float]()
        for (_, method), mine in rows.items():
            by_method[method] = max(by_method.get(method, 0.0), *(row.worst.value for row in mine))
        column, row = max(
            ((at, row) for (at, _), mine in self._counted(rows).items() for row in mine),
            key=lambda one: (one[1].worst.value, one[1].disclosed.count),
        )
        group = whose(self.points[column], at=row.worst_group == "at points") if row.worst_group else ""
        made, shares = max(map(len, rows.values())), tuple(by_method.items())
        return NoiseTrial(
            scale, str(noise), row.method, column, row.worst, shares, made, series, group, exceeding
        )

    def _counted(self, rows: _Rows) -> _Rows:
        """The rows of the attacks that count: those that are right as often as they claim, or else all."""
        attacks = {key: mine for key, mine in rows.items() if key[1] not in (DIRECT, IDEAL)}
        return {key: mine for key, mine in attacks.items() if self._is_credible(mine)} or attacks

    def _exceeding(self, rows: _Rows, share: float) -> int:
        """In how many draws an attack that counts discloses more than a share."""
        return len(
            {
                draw
                for mine in self._counted(rows).values()
                for draw, row in enumerate(mine)
                if row.worst.value > share
            }
        )

    def _is_credible(self, rows: Sequence[Exposed]) -> bool:
        return any(row.is_credible(self.confidence) for row in rows)

    def _exposures(self, noise: Noise | JointNoise, rng: np.random.Generator) -> list[Exposure]:
        noisy = perturb(self.matrix, noise, seed=rng)
        attacked = run_attacks(noisy, noise, confidence=self.confidence, points=self.points)
        return [
            expose(
                self.matrix[:, column],
                noisy[:, column],
                attacks=found.intervals,
                privacy=[self.privacy[column]],
                confidence=self.confidence,
                points=[point.value for point in self.points[column]],
            )
            for column, found in enumerate(attacked)
        ]


def _relative(share: float) -> Privacy:
    return lambda column: PrivacyIntervals.relative(column, share)


def _check(values: ArrayLike, family: str, draws: int) -> Floats:
    matrix = check_matrix(values)
    flat = np.flatnonzero(np.ptp(matrix, axis=0) == 0)
    if len(flat):
        raise RecordsError(
            "all true values are equal, so any noise would be scaled by 0",
            column=str(int(flat[0]) + 1),
            found=f"{matrix[0, flat[0]]:g}",
            remedy="leave the column out",
        )
    check_type(family, str, name="family", remedy=f"one of {', '.join(FAMILIES)}")
    check_type(draws, Integral, name="the number of draws")
    if family not in FAMILIES:
        raise InputError("unknown family of noise", found=family, remedy=closest(family, FAMILIES))
    if family == "correlated" and matrix.shape[1] == 1:
        raise InputError("correlated noise needs several columns", remedy="use gaussian for one column")
    if draws < 1:
        raise InputError("at least one draw is needed", found=str(draws))
    return matrix
