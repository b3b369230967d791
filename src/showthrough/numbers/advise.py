"""The least noise under which the strongest attack discloses at most a chosen share of the people.

The publisher holds the truth, so each candidate is tried out: noise is drawn, every implemented
attack is run, and the strongest of them, in the worst column and the worst of several draws, counts.
Direct reading is shown but does not count: that a noisy value happens to be near is luck that nobody
can tell from bad luck. Nor do attacks that are wrong far more often than they claim. The share falls
with the noise but for chance; so the search halves an interval of scales and then confirms its answer
with fresh draws. One thing can make it rise again: with more noise an attack that claimed too much
may come to claim what is true, and count. So larger scales are tried as well, and where one of them
is not enough the search goes on above it.

Trying out how much noise gives away how many people: one scale, or a whole curve of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError, closest
from showthrough.numbers.attack import run_attacks
from showthrough.numbers.density import Distribution
from showthrough.numbers.exposure import IDEAL, Exposed, Exposure, Rate, expose
from showthrough.numbers.interquantile import PrivacyIntervals, check_confidence
from showthrough.numbers.joint_noise import IndependentNoise, correlated_like, perturb
from showthrough.numbers.matrix import check_matrix
from showthrough.numbers.noise import Floats, GaussianNoise, JointNoise, LaplaceNoise, Noise, UniformNoise
from showthrough.text import html_summary

__all__ = [
    "FAMILIES",
    "Advice",
    "Family",
    "NoiseTrial",
    "NoiseUtility",
    "Privacy",
    "Tryout",
    "advise",
    "make_noise",
    "trials_table",
    "try_scales",
]

#: Neighbouring scales of the search differ by at most this factor.
FINE = 1.05

#: Standard deviations of the noise, in those of the data, beyond which the search gives up.
SMALLEST, LARGEST = 2.0**-12, 2.0**12

#: Times the scale found that are tried as well, and how often the search goes on above one of them.
BEYOND, MOST_RISES = (2**0.5, 2.0, 2**1.5, 4.0), 6

#: Confirmations that may fail before the scale is called unreachable.
MOST_STEPS = 40


@dataclass(frozen=True)
class NoiseUtility:
    """What the noisy values are still good for.

    ``loss`` is the information loss of the rebuilt distribution, ``error_factor`` by how much the
    standard error of a mean grows, ``correlation`` how well a published value follows the true one,
    each for the worst column; ``distortion`` is the largest change of a correlation between two
    columns as published.
    """

    loss: float
    error_factor: float
    correlation: float
    distortion: float | None

    def words(self) -> list[tuple[str, str]]:
        """What remains, as names and figures for people.

        >>> NoiseUtility(0.065, 2.65, 0.364, None).words()[0]
        ('information loss of the rebuilt distribution', '6.5 %')
        """
        told = [
            ("information loss of the rebuilt distribution", f"{100 * self.loss:.1f} %"),
            ("standard error of a mean grows by a factor", f"{self.error_factor:.2f}"),
            ("correlation of published with true values", f"{self.correlation:.2f}"),
        ]
        if self.distortion is not None:
            told.append(("largest change of a correlation between columns", f"{self.distortion:.2f}"))
        return told


@dataclass(frozen=True)
class Advice:
    """The noise advised, proof by trial that it is enough, and that a little less is not."""

    noise: Noise | JointNoise
    family: Family
    share: float
    trial: NoiseTrial
    smaller: NoiseTrial | None
    utility: NoiseUtility
    trials: tuple[NoiseTrial, ...]

    def _repr_html_(self) -> str:
        """The advice, for notebooks."""
        rows = [("what remains of the data", ""), *self.utility.words()]
        note = f"{self.trial.disclosed} disclosed by {self.trial.method}; {100 * self.share:g} % is allowed"
        return html_summary(f"Noise {self.noise} is enough", rows, note=note)


def advise(
    values: ArrayLike,
    *,
    share: float,
    privacy: float | Privacy,
    family: Family = "uniform",
    confidence: float = 0.95,
    draws: int = 3,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Advice:
    """The least noise of a family under which at most ``share`` of the people are disclosed.

    ``privacy`` is the P of relative privacy intervals, or a function of the true values. The noise on
    each of several columns is scaled by the column's standard deviation; ``correlated`` noise has the
    covariance of the data times a factor. The answer is good for the people at hand, the attacks
    implemented here and this confidence, and is no guarantee against others. ``progress`` is called
    with 1 after each scale tried.

    >>> incomes = np.random.default_rng(1).gamma(9, 5, 2000)
    >>> found = advise(incomes, share=0.05, privacy=0.5, family="uniform", draws=1, seed=1)
    >>> found.trial.disclosed.value <= 0.05 < found.smaller.disclosed.value
    True
    """
    if not 0 <= share < 1:
        raise InputError("a share lies from 0 up to, not including, 1", found=str(share))
    tests = Tryout.of(values, privacy, family=family, confidence=confidence, draws=draws, seed=seed)
    search = _Search(tests, share, progress)
    low, high = search.bracket()
    for _ in range(MOST_RISES):
        found = search.confirm(*search.halve(low, high))
        risen = search.risen(found.trial.scale)
        if risen is None:
            return found
        low, high = search.above(risen)
    raise InputError(
        "the share disclosed rises and falls with the noise: no scale is enough together with all above it",
        found=f"share {share:g}",
        remedy="allow a larger share, or attack one column at a time",
    )


class _Search:
    """Halves an interval of scales and remembers what it has tried."""

    def __init__(self, tests: Tryout, share: float, progress: Callable[[int], None] | None) -> None:
        self.tests, self.share, self.progress = tests, share, progress
        self.trials: list[NoiseTrial] = []

    def passes(self, scale: float, *, series: int = 0) -> bool:
        """Whether so much noise is enough."""
        self.trials.append(self.tests.run(scale, series=series))
        if self.progress is not None:
            self.progress(1)
        return self.trials[-1].disclosed.value <= self.share

    def bracket(self) -> tuple[float, float]:
        """A scale that is not enough and one that is, a factor 2 apart."""
        scale = 1.0
        if self.passes(scale):
            while scale > SMALLEST and self.passes(scale / 2):
                scale /= 2
            return scale / 2, scale
        return self.above(scale)

    def above(self, scale: float) -> tuple[float, float]:
        """The same, above a scale that is not enough."""
        while scale < LARGEST:
            if self.passes(2 * scale):
                return scale, 2 * scale
            scale *= 2
        last = self.trials[-1]
        raise InputError(
            f"even noise of {LARGEST:,.0f} times the data's spread leaves {last.disclosed} disclosed "
            f"(attack {last.method})",
            found=f"share {self.share:g}",
            remedy="allow a larger share or narrower privacy intervals: these hold nearly everybody's value",
        )

    def halve(self, low: float, high: float) -> tuple[float, float]:
        """Two scales close together, of which the first is not enough and the second is."""
        while high / low > FINE:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.passes(middle) else (middle, high)
        return low, high

    def risen(self, scale: float) -> float | None:
        """The largest of some larger scales that is not enough, if there is one."""
        larger = [scale * factor for factor in BEYOND]
        passed = [self.passes(one) for one in larger]
        return max((one for one, enough in zip(larger, passed, strict=True) if not enough), default=None)

    def confirm(self, low: float, high: float) -> Advice:
        """Raise the scale until fresh draws agree that it is enough; then see what is left."""
        for series in range(1, MOST_STEPS):
            if self.passes(high, series=series):
                break
            low, high = high, high * FINE
        else:
            raise InputError(
                "chance decides: fresh draws do not confirm any of the scales tried",
                found=f"share {self.share:g}, {self.trials[-1].disclosed} disclosed",
                remedy="use more people or more draws",
            )
        trial = self.trials[-1]
        smaller = next((one for one in reversed(self.trials) if one.scale == low), None)
        if smaller is None or smaller.disclosed.value <= self.share:
            smaller = None  # even the least noise tried is enough
        noise = make_noise(self.tests.matrix, self.tests.family, trial.scale)
        utility = _utility(self.tests, noise)
        return Advice(noise, self.tests.family, self.share, trial, smaller, utility, tuple(self.trials))


def _utility(tests: Tryout, noise: Noise | JointNoise) -> NoiseUtility:
    matrix = tests.matrix
    noisy = perturb(matrix, noise, seed=np.random.default_rng([tests.seed, MOST_STEPS, 0]))
    before, after = matrix.var(axis=0), noisy.var(axis=0)
    found = run_attacks(noisy, noise, methods=["em"], confidence=tests.confidence)
    loss = [one.distributions["em"].loss(Distribution.of(matrix[:, at])) for at, one in enumerate(found)]
    kept = [float(np.corrcoef(matrix[:, at], noisy[:, at])[0, 1]) for at in range(matrix.shape[1])]
    several = matrix.shape[1] > 1
    change = np.corrcoef(noisy, rowvar=False) - np.corrcoef(matrix, rowvar=False)
    return NoiseUtility(
        max(loss),
        math.sqrt(float((after / before).max())),
        min(kept),
        float(np.abs(change).max()) if several else None,
    )


Family = Literal["uniform", "gaussian", "laplace", "correlated"]
FAMILIES: tuple[Family, ...] = ("uniform", "gaussian", "laplace", "correlated")

#: How a privacy interval follows from true values.
Privacy = Callable[[Floats], PrivacyIntervals]

#: The series of draws that curves are made with; searches use lower numbers.
CURVE = 1_000


@dataclass(frozen=True)
class NoiseTrial:
    """What one scale of noise gives away: the worst attack in the worst column and draw.

    ``scale`` is the noise's standard deviation in those of the data, and ``series`` tells draws of
    the search (0), of its confirmation (1 and up) and of a curve apart.
    """

    scale: float
    noise: str
    method: str
    column: int
    disclosed: Rate
    by_method: tuple[tuple[str, float], ...]
    draws: int = 1
    series: int = 0

    @property
    def ideal(self) -> float:
        """The share disclosed by the true distribution alone, whatever the noise."""
        return dict(self.by_method)[IDEAL]

    @property
    def role(self) -> str:
        """What it was tried for: the search, its confirmation, or a curve."""
        return {0: "search", CURVE: "curve"}.get(self.series, "confirmation")


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
    """What each of several scales gives away, with the same draws for all: the curve of disclosure.

    Scales are standard deviations of the noise in those of each column. The draws are not those of
    :func:`showthrough.numbers.advise.advise`, so that its search has no influence on the curve.

    >>> incomes = np.random.default_rng(1).gamma(9, 5, 1000)
    >>> less, more = try_scales(incomes, [0.5, 4.0], privacy=0.5, draws=1, seed=1)
    >>> less.disclosed.value > more.disclosed.value
    True
    """
    tests = Tryout.of(values, privacy, family=family, confidence=confidence, draws=draws, seed=seed)
    found = list[NoiseTrial]()
    for scale in scales:
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
        return correlated_like(given, ratio=scale**2)
    laws = [_law(family, scale * float(sd)) for sd in given.std(axis=0, ddof=1)]
    return laws[0] if len(laws) == 1 else IndependentNoise(laws)


def _law(family: Family, sd: float) -> Noise:
    if family == "uniform":
        return UniformNoise(math.sqrt(3) * sd)
    return GaussianNoise(sd=sd) if family == "gaussian" else LaplaceNoise(sd / math.sqrt(2))


@dataclass(frozen=True, eq=False)
class Tryout:
    """Tries out scales of noise."""

    matrix: Floats
    privacy: Sequence[PrivacyIntervals]
    family: Family
    confidence: float
    draws: int
    seed: int

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
        """Tryout of noise on these values, if they and all else are usable."""
        matrix = _check(values, family, draws)
        check_confidence(confidence)
        if seed < 0:
            raise InputError("a seed is a whole number from 0", found=str(seed))
        intervals = privacy if callable(privacy) else _relative(privacy)
        return cls(matrix, [intervals(column) for column in matrix.T], family, confidence, draws, seed)

    def run(self, scale: float, *, series: int) -> NoiseTrial:
        """The worst over draws, columns and attacks; ``series`` tells some draws from others."""
        noise = make_noise(self.matrix, self.family, scale)
        worst: tuple[int, Exposed] | None = None
        by_method = dict[str, float]()
        for draw in range(self.draws):
            rng = np.random.default_rng([self.seed, series, draw])
            for column, found in enumerate(self._exposures(noise, rng)):
                for row in found.rows:
                    by_method[row.method] = max(row.disclosed.value, by_method.get(row.method, 0.0))
                strongest = found.strongest(found.privacies[0])
                if worst is None or strongest.disclosed.value > worst[1].disclosed.value:
                    worst = column, strongest
        if worst is None:
            raise InputError("there must be a draw at least")
        column, row = worst
        shares = tuple(by_method.items())
        return NoiseTrial(scale, str(noise), row.method, column, row.disclosed, shares, self.draws, series)

    def _exposures(self, noise: Noise | JointNoise, rng: np.random.Generator) -> list[Exposure]:
        noisy = perturb(self.matrix, noise, seed=rng)
        attacked = run_attacks(noisy, noise, confidence=self.confidence)
        return [
            expose(
                self.matrix[:, column],
                noisy[:, column],
                attacks=found.intervals,
                privacy=[self.privacy[column]],
                confidence=self.confidence,
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
    if family not in FAMILIES:
        raise InputError("unknown family of noise", found=family, remedy=closest(family, FAMILIES))
    if family == "correlated" and matrix.shape[1] == 1:
        raise InputError("correlated noise needs several columns", remedy="use gaussian for one column")
    if draws < 1:
        raise InputError("there must be a draw at least", found=str(draws))
    return matrix
