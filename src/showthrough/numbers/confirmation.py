"""How often noise that passed all its confirmations may fail: a limit that holds over draws.

A draw of the noise is the unit, not a person: all people of a draw share one reconstruction, so they
are disclosed together or not at all. If *k* independent draws all keep the limit, then the probability
*q* that a draw does not is, with confidence 1 − α, at most 1 − α^(1/k) (Clopper and Pearson's limit
for none out of *k*): were it larger, *k* good draws in a row would be rarer than α.

Scales are confirmed one after another until one passes, and a bad one may pass by luck. So the α of
5 % is divided: the *j*-th attempt has α / (j (j + 1)) of it, and all attempts together have α.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

from showthrough.errors import InputError, check_type
from showthrough.text import percent

__all__ = [
    "CONFIRMATIONS",
    "Confirmation",
    "check_confirmations",
]

#: Fresh draws that must all keep the limit; at the first attempt, at most 5 % of draws then do not.
CONFIRMATIONS = 72

#: The confidence of the limit on how often a draw fails.
CONFIDENCE = 0.95


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
