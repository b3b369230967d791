"""When to stop: a fixed count, convergence, or what values held out say.

Run to convergence, the update finds the distribution under which the published values are likeliest,
and that one has learnt the noise by heart. Stopped early it is a smooth estimate; the number of
iterations is what decides how smooth. :class:`HeldOut` finds it by prediction: the published counts
are split at random into folds, each fold is predicted from the others, and the iteration taken is
the first whose predictions are, for all one can tell, as good as the best. As values are counted
already, a split is one multinomial draw per bin, and all folds run side by side.

After k iterations the update has fitted what the noise leaves more than about 1/k of, and n values
say less about what it leaves 1/n of than one standard error. So more than n iterations can only fit
noise, and :class:`HeldOut` goes no further unless told to.
"""

from __future__ import annotations

from dataclasses import dataclass

from showthrough.errors import InputError

__all__ = ["Converged", "Fixed", "HeldOut", "Stop", "as_rule", "most_iterations"]


@dataclass(frozen=True)
class Fixed:
    """So many iterations."""

    iterations: int

    def __post_init__(self) -> None:
        _check_count(self.iterations, "iterations")


@dataclass(frozen=True)
class Converged:
    """Until an iteration raises the mean log-likelihood per value by less than ``tolerance``."""

    tolerance: float = 1e-10
    most: int = 100_000

    def __post_init__(self) -> None:
        _check_count(self.most, "iterations")
        if not self.tolerance > 0:
            raise InputError("a tolerance must be positive", found=f"{self.tolerance:g}")


@dataclass(frozen=True)
class HeldOut:
    """Until twice the iterations predict held-out values no better, by ``margin`` of log-likelihood.

    The iteration taken is the first within ``margin`` of the best, the log-likelihood being summed
    over all values: a likelihood ratio of e speaks for nothing, and fewer iterations fit less noise.

    ``seed`` fixes the split into folds. Unlike seeds elsewhere it has a default: the split only tunes
    how smooth the estimate is, nothing is published from it and no secret hangs on it, and with a
    constant the same values give the same estimate in any order and in any chunks.
    """

    folds: int = 10
    margin: float = 1.0
    most: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        _check_count(self.most or 0, "iterations")
        if self.folds < 2:
            raise InputError("values are held out in two folds or more", found=str(self.folds))
        if not self.margin >= 0:
            raise InputError("a margin is not negative", found=f"{self.margin:g}")


Stop = Fixed | Converged | HeldOut

#: Where :class:`HeldOut` ends at the latest if it is not told.
_MOST = 20_000


def as_rule(stop: Stop | int | None) -> Stop:
    """A rule from a rule, a plain number of iterations, or nothing: then held-out values decide."""
    if stop is None:
        return HeldOut()
    return Fixed(stop) if isinstance(stop, int) else stop


def most_iterations(stop: Stop, n_values: int) -> int:
    """Where the rule ends at the latest.

    >>> most_iterations(Fixed(50), 300), most_iterations(HeldOut(), 300)
    (50, 300)
    """
    if isinstance(stop, Fixed):
        return stop.iterations
    return stop.most if stop.most is not None else min(n_values, _MOST)


def _check_count(count: int, what: str) -> None:
    if count < 0:
        raise InputError(f"the number of {what} is not negative", found=str(count))
