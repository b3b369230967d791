"""The least noise under which the strongest attack discloses at most a chosen share of the people.

The publisher holds the truth, so each candidate is tried out: noise is drawn, every implemented
attack is run, and the strongest of them, in the worst column and the worst of several draws, counts.
Direct reading is shown but does not count: that a noisy value happens to be near is luck that nobody
can tell from bad luck. Nor do attacks that are wrong far more often than they claim. The share falls
with the noise but for chance; so the search halves an interval of scales and then confirms its answer
with fresh draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.attack.attacks import run_attacks
from showthrough.attack.density import Distribution
from showthrough.attack.exposure import IDEAL, Exposed, Exposure, Rate, expose
from showthrough.attack.interquantile import PrivacyIntervals, check_confidence
from showthrough.attack.joint_noise import Independent, correlated_like, perturb
from showthrough.attack.matrix import check_matrix
from showthrough.attack.noise import Floats, Gaussian, JointNoise, Laplace, Noise, Uniform
from showthrough.errors import InputError, RecordsError, closest

__all__ = ["FAMILIES", "Advice", "Family", "Trial", "Utility", "advise", "make_noise"]

Family = Literal["uniform", "gaussian", "laplace", "correlated"]
FAMILIES: tuple[Family, ...] = ("uniform", "gaussian", "laplace", "correlated")

#: How a privacy interval follows from true values.
Privacy = Callable[[Floats], PrivacyIntervals]

#: Neighbouring scales of the search differ by at most this factor.
FINE = 1.05

#: Standard deviations of the noise, in those of the data, beyond which the search gives up.
SMALLEST, LARGEST = 2.0**-12, 2.0**12

#: Confirmations that may fail before the scale is called unreachable.
MOST_STEPS = 40


@dataclass(frozen=True)
class Trial:
    """What one scale of noise gives away: the worst attack in the worst column and draw."""

    scale: float
    noise: str
    method: str
    column: int
    disclosed: Rate
    by_method: tuple[tuple[str, float], ...]

    @property
    def ideal(self) -> float:
        """The share disclosed by the true distribution alone, whatever the noise."""
        return dict(self.by_method)[IDEAL]


@dataclass(frozen=True)
class Utility:
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


@dataclass(frozen=True)
class Advice:
    """The noise advised, proof by trial that it is enough, and that a little less is not."""

    noise: Noise | JointNoise
    family: Family
    share: float
    trial: Trial
    smaller: Trial | None
    utility: Utility
    trials: tuple[Trial, ...]


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
    matrix = _check(values, share, family, draws)
    check_confidence(confidence)
    intervals = privacy if callable(privacy) else _relative(privacy)
    tests = _Tests(matrix, [intervals(column) for column in matrix.T], family, confidence, draws, seed)
    search = _Search(tests, share, progress)
    low, high = search.bracket()
    while high / low > FINE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if search.passes(middle) else (middle, high)
    return search.confirm(low, high)


def make_noise(matrix: ArrayLike, family: Family, scale: float) -> Noise | JointNoise:
    """Noise of a family whose standard deviation is ``scale`` times that of each column.

    >>> make_noise([[-1.0], [0.0], [1.0]], "gaussian", 3.0)
    Gaussian(sd=3.0)
    """
    given = check_matrix(matrix)
    if family == "correlated":
        return correlated_like(given, ratio=scale**2)
    laws = [_law(family, scale * float(sd)) for sd in given.std(axis=0, ddof=1)]
    return laws[0] if len(laws) == 1 else Independent(laws)


def _law(family: Family, sd: float) -> Noise:
    if family == "uniform":
        return Uniform(math.sqrt(3) * sd)
    return Gaussian(sd=sd) if family == "gaussian" else Laplace(sd / math.sqrt(2))


@dataclass(frozen=True, eq=False)
class _Tests:
    """Tries out scales of noise."""

    matrix: Floats
    privacy: Sequence[PrivacyIntervals]
    family: Family
    confidence: float
    draws: int
    seed: int

    def run(self, scale: float, *, fresh: int) -> Trial:
        """The worst over draws, columns and attacks; ``fresh`` tells one series of draws from another."""
        noise = make_noise(self.matrix, self.family, scale)
        worst: tuple[int, Exposed] | None = None
        by_method = dict[str, float]()
        for draw in range(self.draws):
            rng = np.random.default_rng([self.seed, fresh, draw])
            for column, found in enumerate(self._exposures(noise, rng)):
                for row in found.rows:
                    by_method[row.method] = max(row.disclosed.value, by_method.get(row.method, 0.0))
                strongest = found.strongest(found.privacies[0])
                if worst is None or strongest.disclosed.value > worst[1].disclosed.value:
                    worst = column, strongest
        if worst is None:
            raise InputError("there must be a draw at least")
        column, row = worst
        return Trial(scale, str(noise), row.method, column, row.disclosed, tuple(by_method.items()))

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


class _Search:
    """Halves an interval of scales and remembers what it has tried."""

    def __init__(self, tests: _Tests, share: float, progress: Callable[[int], None] | None) -> None:
        self.tests, self.share, self.progress = tests, share, progress
        self.trials: list[Trial] = []

    def passes(self, scale: float, *, fresh: int = 0) -> bool:
        """Whether so much noise is enough."""
        self.trials.append(self.tests.run(scale, fresh=fresh))
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

    def confirm(self, low: float, high: float) -> Advice:
        """Raise the scale until fresh draws agree that it is enough; then see what is left."""
        for fresh in range(1, MOST_STEPS):
            if self.passes(high, fresh=fresh):
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


def _utility(tests: _Tests, noise: Noise | JointNoise) -> Utility:
    matrix = tests.matrix
    noisy = perturb(matrix, noise, seed=np.random.default_rng([tests.seed, MOST_STEPS, 0]))
    before, after = matrix.var(axis=0), noisy.var(axis=0)
    found = run_attacks(noisy, noise, methods=["em"], confidence=tests.confidence)
    loss = [one.distributions["em"].loss(Distribution.of(matrix[:, at])) for at, one in enumerate(found)]
    kept = [float(np.corrcoef(matrix[:, at], noisy[:, at])[0, 1]) for at in range(matrix.shape[1])]
    several = matrix.shape[1] > 1
    change = np.corrcoef(noisy, rowvar=False) - np.corrcoef(matrix, rowvar=False)
    return Utility(
        max(loss),
        math.sqrt(float((after / before).max())),
        min(kept),
        float(np.abs(change).max()) if several else None,
    )


def _relative(share: float) -> Privacy:
    return lambda column: PrivacyIntervals.relative(column, share)


def _check(values: ArrayLike, share: float, family: str, draws: int) -> NDArray[np.float64]:
    matrix = check_matrix(values)
    flat = np.flatnonzero(np.ptp(matrix, axis=0) == 0)
    if len(flat):
        raise RecordsError(
            "all true values are equal, so any noise would be scaled by 0",
            column=str(int(flat[0]) + 1),
            found=f"{matrix[0, flat[0]]:g}",
            remedy="leave the column out",
        )
    if not 0 <= share < 1:
        raise InputError("a share lies from 0 up to, not including, 1", found=str(share))
    if family not in FAMILIES:
        raise InputError("unknown family of noise", found=family, remedy=closest(family, FAMILIES))
    if family == "correlated" and matrix.shape[1] == 1:
        raise InputError("correlated noise needs several columns", remedy="use gaussian for one column")
    if draws < 1:
        raise InputError("there must be a draw at least", found=str(draws))
    return matrix
