"""The multiplicative update, for many columns at once, and the rules for when to stop it.

f_p ← f_p · Σ_s (y_s/n) A[s, p] / Σ_t A[s, t] f_t

AS (Agrawal and Srikant), EM (expectation maximisation), Richardson and Lucy's deconvolution and
D'Agostini's unfolding are this update with different A. It stops after a fixed count, at convergence,
or when it no longer predicts held-out values better.

Run to convergence, the update finds the distribution under which the published values are likeliest,
which has learnt the noise by heart. Stopped early it is a smooth estimate; the number of iterations
decides how smooth. :class:`HeldOut` finds it by prediction: the published counts are split at random
into folds, each fold is predicted from the others, and the iteration taken is the first whose
predictions are as good as the best, but for a margin of log-likelihood. As values are counted
already, a split is one multinomial draw per bin, and all folds run side by side.

After k iterations the update has fitted what the noise leaves more than about 1/k of, and n values
reveal less than one standard error about what it leaves 1/n of. So more than n iterations can only fit
noise, and :class:`HeldOut` goes no further unless told to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, check_type
from showthrough.numbers.bins import Kernel
from showthrough.numbers.noise import Floats

__all__ = [
    "NEGLIGIBLE",
    "Converged",
    "Fixed",
    "HeldOut",
    "Run",
    "Stop",
    "Update",
    "as_rule",
    "iterate",
    "log_likelihood",
    "most_iterations",
]

#: Folded masses below this share of the largest are rounding of the FFT.
NEGLIGIBLE = 1e-14

#: The iterations at which likelihoods are looked at grow by this factor.
_GROWTH = 1.12

#: Held-out predictions are not judged before this many iterations.
_LEAST_JUDGED = 20

#: Up to this many values are dealt to the folds one by one, so that none is left empty by chance.
_DEALT = 10_000


@dataclass(frozen=True)
class Update:
    """After some iterations: the mean log-likelihood of the values, and that of held-out values."""

    iteration: int
    log_likelihood: float
    held_out: float | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """Where one column ended, the steps on the way, and why it ended there."""

    mass: Floats
    iterations: int
    steps: tuple[Update, ...]
    reason: str


@dataclass
class _Column:
    """What was seen of one column while it runs."""

    counts: NDArray[np.int64]
    tests: NDArray[np.int64]
    steps: list[Update] = field(default_factory=list[Update])
    masses: list[Floats] = field(default_factory=list[Floats])
    predictions: list[float] = field(default_factory=list[float])

    @classmethod
    def of(cls, counts: NDArray[np.int64], stop: Stop) -> _Column:
        return cls(counts, _deal(counts, stop) if isinstance(stop, HeldOut) else counts[None][:0])

    @property
    def shares(self) -> Floats:
        """The published shares: of all values first, then without one fold each."""
        held_in: NDArray[np.int64] = self.counts[None] - self.tests
        members = np.concatenate([self.counts[None], held_in])
        return members / _total(members, self.counts.ndim)

    def most(self, stop: Stop) -> int:
        """Where the rule ends at the latest."""
        return most_iterations(stop, int(self.counts.sum()))

    def look(self, iteration: int, mass: Floats, folded: Floats) -> None:
        """Note the likelihoods after this iteration."""
        total = int(self.counts.sum())
        held = None
        if len(self.tests):
            each = [log_likelihood(*pair) for pair in zip(self.tests, folded[1:], strict=True)]
            self.predictions.append(sum(each))
            held = sum(each) / total
        else:
            self.masses.clear()
        self.masses.append(mass[0].copy())
        self.steps.append(Update(iteration, log_likelihood(self.counts, folded[0]) / total, held))

    def end(self, stop: Stop) -> Run | None:
        """The result, once the rule is content."""
        now = self.steps[-1].iteration
        if isinstance(stop, HeldOut) and self.counts.sum() < 2:
            return self._at_last("a single value cannot be held out; one update was made") if now else None
        if isinstance(stop, Fixed):
            return self._at_last(f"{now:,} iterations, as asked") if now >= stop.iterations else None
        if isinstance(stop, Converged):
            return self._converged(stop)
        if now >= self.most(stop) or (now >= _LEAST_JUDGED and self._gain_of_doubling() <= stop.margin):
            return self._predicted(stop, int(np.argmax(self.predictions)))
        return None

    def _gain_of_doubling(self) -> float:
        half = self.steps[-1].iteration / 2
        before = [
            score for score, step in zip(self.predictions, self.steps, strict=True) if step.iteration <= half
        ]
        return max(self.predictions) - max(before)

    def _at_last(self, reason: str) -> Run:
        return Run(self.masses[-1], self.steps[-1].iteration, tuple(self.steps), reason)

    def _converged(self, stop: Converged) -> Run | None:
        now = self.steps[-1]
        if len(self.steps) > 1:
            before = self.steps[-2]
            gain = (now.log_likelihood - before.log_likelihood) / (now.iteration - before.iteration)
            if gain < stop.tolerance:
                return self._at_last(f"converged: an iteration adds {max(gain, 0):.1g} to the log-likelihood")
        if now.iteration >= stop.most:
            return self._at_last(f"not converged in {stop.most:,} iterations, the most allowed")
        return None

    def _predicted(self, stop: HeldOut, best: int) -> Run:
        scores = np.array(self.predictions)
        at = int(np.flatnonzero(scores[best] - scores <= stop.margin)[0])
        first, last = self.steps[best].iteration, self.steps[-1].iteration
        reason = f"held-out values are predicted best after {first:,} iterations"
        if first == last:
            reason = f"predictions of held-out values were as good as they get after {last:,} iterations"
        if at < best:
            chosen = self.steps[at].iteration
            reason += f", and within {stop.margin:g} of that log-likelihood after {chosen:,}"
        return Run(self.masses[at], self.steps[at].iteration, tuple(self.steps), reason)


def iterate(counts: NDArray[np.int64], kernel: Kernel, start: Floats, stop: Stop) -> list[Run]:
    """Run every column (the first axis) from its start until the rule is content with it.

    >>> kernel = Kernel.of(np.array([[[0.25, 0.5, 0.25]]]), bins=(2,))
    >>> run, = iterate(np.array([[1, 2, 1, 0]]), kernel, np.array([[0.5, 0.5]]), Fixed(50))
    >>> run.mass.round(3).tolist(), run.reason
    ([1.0, 0.0], '50 iterations, as asked')
    """
    columns = [_Column.of(column, stop) for column in counts]
    shares = np.stack([column.shares for column in columns])
    mass = np.repeat(start[:, None], shares.shape[1], axis=1)
    ended: dict[int, Run] = {}
    alive, now, look = np.arange(len(columns)), 0, 0
    while True:
        folded = kernel.fold(mass)
        folded = np.maximum(folded, NEGLIGIBLE * folded.max())
        if now == look:
            for place, at in enumerate(alive.tolist()):
                columns[at].look(now, mass[place], folded[place])
                if (run := columns[at].end(stop)) is not None:
                    ended[at] = run
            going = np.array([at not in ended for at in alive.tolist()])
            if not going.any():
                return [ended[at] for at in range(len(columns))]
            if not going.all():
                alive, shares, kernel = alive[going], shares[going], kernel[going]
                mass, folded = mass[going], folded[going]
            most = min(columns[at].most(stop) for at in alive.tolist())
            look = min(max(now + 1, round(now * _GROWTH)), max(most, now + 1))
        mass = mass * np.maximum(kernel.unfold(shares / folded), 0)
        mass /= _total(mass, len(kernel.bins))
        now += 1


def _total(values: Floats | NDArray[np.int64], axes: int) -> Floats:
    """Sums over the last axes, in a form that divides."""
    return values.sum(axis=tuple(range(-axes, 0)), keepdims=True)


def log_likelihood(counts: NDArray[np.int64], folded: Floats) -> float:
    """Of counts in bins under the probabilities of these bins.

    >>> log_likelihood(np.array([0, 3]), np.array([0.0, 1.0]))
    0.0
    """
    some = counts > 0
    return float(counts[some] @ np.log(folded[some]))


def _deal(counts: NDArray[np.int64], stop: HeldOut) -> NDArray[np.int64]:
    """Counts of each fold, the first axis; together they are all counts."""
    rng = np.random.default_rng(stop.seed)
    total = int(counts.sum())
    folds = stop.folds
    if total > _DEALT:
        return np.moveaxis(rng.multinomial(counts, np.full(folds, 1 / folds)), -1, 0)
    if total < 2:
        return np.zeros((folds, *counts.shape), np.int64)
    owners = rng.permutation(np.repeat(np.arange(counts.size), counts.ravel()))
    dealt = [np.bincount(owners[fold::folds], minlength=counts.size) for fold in range(folds)]
    return np.stack(dealt).reshape(folds, *counts.shape)


@dataclass(frozen=True)
class Fixed:
    """A fixed number of iterations.

    Parameters
    ----------
    iterations
        How many.
    """

    iterations: int

    def __post_init__(self) -> None:
        _check_count(self.iterations, "iterations")


@dataclass(frozen=True)
class Converged:
    """Until an iteration hardly raises the log-likelihood any more.

    Parameters
    ----------
    tolerance
        The least that an iteration must add to the mean log-likelihood of a value.
    most
        The most iterations.
    """

    tolerance: float = 1e-10
    most: int = 100_000

    def __post_init__(self) -> None:
        _check_count(self.most, "iterations")
        check_type(self.tolerance, Real, name="the tolerance")
        if not self.tolerance > 0:
            raise InputError("a tolerance must be positive", found=f"{self.tolerance:g}")


@dataclass(frozen=True)
class HeldOut:
    """Until twice the iterations predict held-out values no better, by ``margin`` of log-likelihood.

    The iteration taken is the first within ``margin`` of the best, the log-likelihood being summed over all
    values: a likelihood ratio of e is no evidence, and fewer iterations fit less noise.

    ``seed`` fixes the split into folds. Unlike seeds elsewhere it has a default: the split only tunes how
    smooth the estimate is, nothing is published from it and no secret depends on it, and with a constant the
    same values give the same estimate in any order and in any chunks.

    Parameters
    ----------
    folds
        Into how many parts the values are dealt; each is held out once.
    margin
        The least gain of log-likelihood that counts.
    most
        The most iterations; by default as many as there are values, up to 20,000.
    seed
        The seed of the split.
    """

    folds: int = 10
    margin: float = 1.0
    most: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        _check_count(self.most or 0, "iterations")
        check_type(self.folds, Integral, name="the number of folds")
        check_type(self.margin, Real, name="the margin")
        check_type(self.seed, Integral, name="the seed")
        if self.seed < 0:
            raise InputError("a seed is a whole number from 0", found=str(self.seed))
        if self.folds < 2:
            raise InputError("values are held out in two folds or more", found=str(self.folds))
        if not self.margin >= 0:
            raise InputError("a margin is not negative", found=f"{self.margin:g}")


Stop = Fixed | Converged | HeldOut

#: Where :class:`HeldOut` ends at the latest by default.
_MOST = 20_000


def as_rule(stop: Stop | int | None) -> Stop:
    """A rule from a rule, a plain number of iterations, or nothing: then held-out values decide."""
    if stop is None:
        return HeldOut()
    if isinstance(stop, int):
        return Fixed(stop)
    check_type(
        stop, (Fixed, Converged, HeldOut), name="stop", remedy="give a rule, a number of iterations, or None"
    )
    return stop


def most_iterations(stop: Stop, n_values: int) -> int:
    """Where the rule ends at the latest.

    >>> most_iterations(Fixed(50), 300), most_iterations(HeldOut(), 300)
    (50, 300)
    """
    if isinstance(stop, Fixed):
        return stop.iterations
    return stop.most if stop.most is not None else min(n_values, _MOST)


def _check_count(count: int, what: str) -> None:
    check_type(count, Integral, name=f"the number of {what}")
    if count < 0:
        raise InputError(f"the number of {what} is not negative", found=str(count))
