"""The least noise under which the strongest attack discloses at most a chosen share of the people.

The publisher holds the truth, so each candidate is tried out: noise is drawn, every implemented attack is
run, and the strongest of them, in the worst column and the worst of several draws, counts. Direct reading
is shown but does not count: that a noisy value happens to be near is luck that nobody can tell from bad
luck. Nor do attacks that are wrong far more often than they claim. The share falls with the noise but for
chance; so the search halves an interval of scales and then confirms its answer with many fresh draws, none
of which may disclose too many: that limits how often the noise fails. One thing can make it rise again:
with more noise an attack that claimed too much may come to claim what is true, and count. So larger scales
are tried as well, and where one of them is not enough the search goes on above it.

*Confirmations.* A draw of the noise is the unit, not a person: all people of a draw share one
reconstruction, so they are disclosed together or not at all. If *k* independent draws all keep the limit,
then the probability *q* that a draw does not is, with confidence 1 − α, at most 1 − α^(1/k) (Clopper and
Pearson's limit for none out of *k*): were it larger, *k* good draws in a row would be rarer than α.

Scales are confirmed one after another until one passes, and a bad one may pass by luck. So the α of
5 % is divided: the *j*-th attempt has α / (j (j + 1)) of it, and all attempts together have α.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.errors import InputError, check_function, check_type
from showthrough.export import Tabular
from showthrough.numbers.density import Distribution
from showthrough.numbers.methods import run_attacks
from showthrough.numbers.noise import JointNoise, Noise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.tryout import (
    CLIMB,
    CONFIRMED,
    CURVE,
    Family,
    Limit,
    NoiseTrial,
    Privacy,
    Tryout,
    make_noise,
    trials_table,
)
from showthrough.text import html_summary, percent

__all__ = [
    "CONFIRMATIONS",
    "Advice",
    "Confirmation",
    "NoiseUtility",
    "advise",
    "check_confirmations",
]

#: Fresh draws that must all keep the limit; at the first attempt, at most 5 % of draws then do not.
CONFIRMATIONS = 72

#: The confidence of the limit on how often a draw fails.
CONFIDENCE = 0.95

#: Neighbouring scales of the search differ by at most this factor.
FINE = 1.05

#: Standard deviations of the noise, in those of the data, beyond which the search gives up.
SMALLEST, LARGEST = 2.0**-12, 2.0**12

#: Times the scale found that are tried as well, and how often the search goes on above one of them.
BEYOND, MOST_RISES = (2**0.5, 2.0, 2**1.5, 4.0), 6

#: Confirmations that may fail before the scale is called unreachable.
MOST_STEPS = 40

#: What fails within this many draws is far from enough: the next step is larger.
SOON = 3


@dataclass(frozen=True)
class Confirmation:
    """Fresh draws of the noise advised, all of which kept the limit.

    Attributes
    ----------
    draws
        How many there were.
    attempts
        How many scales were confirmed with draws of their own, this one included.
    worst
        The largest share of the people that one of the draws disclosed.
    chance
        The largest probability, at this confidence, that another draw exceeds the limit.
    confidence
        The confidence of ``chance``.
    """

    draws: int
    attempts: int
    worst: float
    chance: float
    confidence: float = CONFIDENCE

    @classmethod
    def of(cls, draws: int, attempts: int, *, worst: float) -> Confirmation:
        """From how many draws all kept the limit, at which attempt.

        >>> [round(Confirmation.of(72, attempts, worst=0.03).chance, 3) for attempts in (1, 4)]
        [0.05, 0.08]
        """
        alpha = (1 - CONFIDENCE) / (attempts * (attempts + 1))
        return cls(draws, attempts, worst, 1 - alpha ** (1 / draws))

    def sentence(self, share: float) -> str:
        """What the draws show, for people.

        >>> Confirmation.of(72, 1, worst=0.03).sentence(0.05).split(":")[1]
        ' with 95\xa0% confidence, at most 5\xa0% of all draws of this noise disclose more.'
        """
        kept = "One fresh draw" if self.draws == 1 else f"{self.draws:,} fresh draws"
        return (
            f"{kept} disclosed at most {percent(self.worst, 1)} each; {percent(share)} is allowed: with "
            f"{percent(self.confidence)} confidence, at most {percent(self.chance, 1)} of all draws of this "
            "noise disclose more."
        )


def check_confirmations(draws: int) -> int:
    """The number of confirmations, if it is one.

    >>> check_confirmations(20)
    20
    """
    check_type(draws, Integral, name="the number of confirmations")
    if draws < 1:
        raise InputError("at least one confirmation is needed", found=str(draws))
    return int(draws)


def advise(
    values: ArrayLike,
    *,
    share: float,
    privacy: float | Privacy,
    family: Family = "uniform",
    confidence: float = 0.95,
    draws: int = 3,
    confirmations: int = CONFIRMATIONS,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Advice:
    """Find the least noise under which no attack tried discloses more than a given share of people.

    The answer holds for the people at hand, the attacks implemented here and this confidence; it is no
    guarantee against others.

    Parameters
    ----------
    values
        The true values: a list, or a matrix with one row for each person.
    share
        The largest share of the people that may be disclosed.
    privacy
        The width of relative privacy intervals (0.5 is ±50 % of each value), or a function that makes
        the privacy intervals of a column of true values.
    family
        ``"uniform"``, ``"gaussian"``, ``"laplace"`` (on each column in proportion to its standard
        deviation), or ``"correlated"``: Gaussian with the covariance of the data times a factor.
    confidence
        The confidence that attackers claim.
    draws
        How often noise is drawn for each scale tried; the worst draw counts.
    confirmations
        How many fresh draws of the noise advised must all keep the limit. The more there are, the
        rarer are draws that do not.
    seed
        The seed of the simulation.
    progress
        Called with 1 after each scale tried.

    Returns
    -------
    Advice
        The noise, the trial that confirms it, how often a draw may disclose more, and what remains of
        the data.

    Raises
    ------
    InputError
        If no noise is enough, or chance decides whether it is.

    Examples
    --------
    >>> incomes = np.random.default_rng(1).gamma(9, 5, 2000)
    >>> found = advise(incomes, share=0.05, privacy=0.5, draws=1, confirmations=20, seed=1)
    >>> found.trial.disclosed.value <= 0.05 < found.smaller.disclosed.value
    True
    >>> found.confirmation.draws, found.confirmation.chance < 0.4
    (20, True)
    """
    check_type(share, Real, name="the share")
    check_function(progress, name="progress")
    if not 0 <= share < 1:
        raise InputError("a share is at least 0 and less than 1", found=str(share), remedy="for example 0.05")
    tests = Tryout.of(values, privacy, family=family, confidence=confidence, draws=draws, seed=seed)
    search = _Search(tests, share, check_confirmations(confirmations), progress)
    low, high = search.bracket()
    for _ in range(MOST_RISES):
        found = search.confirm(*search.halve(low, high))
        risen = search.risen(found.trial.scale)
        if risen is None:
            return found
        low, high = search.above(risen)
    raise InputError(
        "the share disclosed rises and falls with the noise: no scale is enough with all larger ones",
        found=f"share {share:g}",
        remedy="allow a larger share, or attack one column at a time",
    )


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

        >>> NoiseUtility(0.065, 2.65, 0.364, None).words()[1]
        ('standard error of a mean grows by a factor', '2.65')
        """
        rows = [
            ("information loss of the rebuilt distribution", percent(self.loss, 1)),
            ("standard error of a mean grows by a factor", f"{self.error_factor:.2f}"),
            ("correlation of published with true values", f"{self.correlation:.2f}"),
        ]
        if self.distortion is not None:
            rows.append(("largest change of a correlation between columns", f"{self.distortion:.2f}"))
        return rows


@dataclass(frozen=True)
class Advice(Tabular):
    """The noise advised, with trials which show that it is enough and that a little less is not.

    Attributes
    ----------
    noise
        The noise that is enough.
    family
        The family it belongs to.
    share
        The largest share of the people that may be disclosed.
    trial
        The trial that confirms it.
    smaller
        A trial with a little less noise, which is not enough; None if even the least noise tried is.
    utility
        What the noisy values are still good for.
    trials
        All trials of the search, in order.
    confirmation
        How many fresh draws kept the limit, and so how often a draw may not.
    """

    noise: Noise | JointNoise
    family: Family
    share: float
    trial: NoiseTrial
    smaller: NoiseTrial | None
    utility: NoiseUtility
    trials: tuple[NoiseTrial, ...]
    confirmation: Confirmation

    def to_arrow(self) -> pa.Table:
        """One row for each trial of the search."""
        n_columns = 1 + max(trial.column for trial in self.trials)
        return trials_table(self.trials, [f"column {at + 1}" for at in range(n_columns)])

    def __repr__(self) -> str:
        return (
            f"Advice(noise {self.noise}: {self.trial.disclosed} disclosed by {self.trial.method}, "
            f"{percent(self.share)} allowed)"
        )

    def _repr_html_(self) -> str:
        """The advice, for notebooks."""
        rows = [("what remains of the data", ""), *self.utility.words()]
        note = self.confirmation.sentence(self.share)
        return html_summary(f"Noise {self.noise} is enough", rows, note=note)


class _Search:
    """Halves an interval of scales and remembers what it has tried."""

    def __init__(
        self, tests: Tryout, share: float, confirmations: int, progress: Callable[[int], None] | None
    ) -> None:
        self.tests, self.share, self.progress = tests, share, progress
        self.confirmations, self.attempts = confirmations, 0
        self.trials: list[NoiseTrial] = []

    def passes(self, scale: float, *, series: int = 0, draws: int | None = None) -> bool:
        """Whether so much noise is enough: in most draws of the search, or in all of the others."""
        patience = self.tests.draws // 2 if series == 0 else 0
        found = self.tests.run(scale, series=series, draws=draws, limit=Limit(self.share, patience))
        self.trials.append(replace(found, series=CONFIRMED) if series == CURVE else found)
        if self.progress is not None:
            self.progress(1)
        return found.exceeding <= patience

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

    def climb(self, low: float, high: float) -> tuple[float, float]:
        """Raise the scale until some more draws all keep the limit, with a margin; the last that did not."""
        draws = max(1, self.confirmations // 3)
        while high < LARGEST and not self.passes(high, series=CLIMB, draws=draws):
            low, high = high, high * (FINE**2 if self.trials[-1].draws <= SOON else FINE)
        return low, high * FINE

    def confirm(self, low: float, high: float) -> Advice:
        """Raise the scale until fresh draws agree that it is enough; then see what is left."""
        low, high = self.climb(low, high)
        for _ in range(MOST_STEPS):
            self.attempts += 1
            # The draws of the curve count too, so that the advice holds where it is drawn.
            kept = self.passes(high, series=self.attempts, draws=self.confirmations)
            if kept and self.passes(high, series=CURVE):
                break
            low, high = high, high * FINE**2
        else:
            raise InputError(
                "chance decides: fresh draws confirm none of the scales tried",
                found=f"share {self.share:g}, {self.trials[-1].disclosed} disclosed",
                remedy="allow a larger share, use more people, or ask for fewer confirmations",
            )
        trial = max(self.trials[-2:], key=lambda one: one.disclosed.value)
        smaller = next((one for one in reversed(self.trials) if one.scale == low), None)
        if smaller is None or not smaller.exceeding:
            smaller = None  # even the least noise tried is enough
        noise = make_noise(self.tests.matrix, self.tests.family, trial.scale)
        utility = _utility(self.tests, noise)
        confirmed = Confirmation.of(self.confirmations, self.attempts, worst=self.trials[-2].disclosed.value)
        trials = tuple(self.trials)
        return Advice(noise, self.tests.family, self.share, trial, smaller, utility, trials, confirmed)


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
