"""How many people are disclosed in all their columns together.

A person has a privacy interval in every column: a box. An attacker who knows how the columns go together
has an ellipsoid for the person. Whoever's ellipsoid lies inside their box is disclosed in all columns at
once, with the confidence of the whole, which intervals column by column do not have. The ellipsoid lies
inside the box if its projections lie inside the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_each, check_type
from showthrough.numbers.ellipsoids import Ellipsoids
from showthrough.numbers.exposure import SLACK, Rate
from showthrough.numbers.interquantile import PrivacyIntervals
from showthrough.numbers.noise import as_floats

__all__ = [
    "JointlyExposed",
    "expose_jointly",
]


@dataclass(frozen=True)
class JointlyExposed:
    """What is disclosed in all columns together, at one size of privacy interval.

    ``jointly`` counts the people whose ellipsoid lies inside their box, ``coverage`` those whose true
    values lie in the ellipsoid, and ``one_by_one`` those who are disclosed in every column by itself.
    """

    privacy: str
    jointly: Rate
    coverage: Rate
    one_by_one: Rate

    def is_credible(self, confidence: float) -> bool:
        """Whether the ellipsoids hold the truth as often as they claim, but for chance and some slack."""
        return self.coverage.interval()[1] >= confidence - SLACK


def expose_jointly(
    truth: ArrayLike,
    ellipsoids: Ellipsoids,
    *,
    privacy: Sequence[PrivacyIntervals],
    one_by_one: NDArray[np.bool_] | None = None,
) -> JointlyExposed:
    """Who is disclosed in all columns together.

    Parameters
    ----------
    truth
        The true values, one row for each person.
    ellipsoids
        The attacker's ellipsoid for each person.
    privacy
        Everybody's privacy intervals, for each column.
    one_by_one
        Who is disclosed in every column by itself, where that is known.

    Returns
    -------
    JointlyExposed

    Raises
    ------
    InputError
        If these are not about the same people and columns.

    Examples
    --------
    >>> truth = np.array([[10.0, 10.0], [100.0, 100.0]])
    >>> around = Ellipsoids(truth, np.eye(2) * 9, confidence=0.95)
    >>> boxes = [PrivacyIntervals.relative(column, 0.5) for column in truth.T]
    >>> expose_jointly(truth, around, privacy=boxes).jointly
    Rate(count=1, total=2)
    """
    check_type(ellipsoids, Ellipsoids, name="ellipsoids")
    check_each(privacy, PrivacyIntervals, name="privacy")
    true = np.atleast_2d(as_floats(truth, "the true values"))
    if true.shape != ellipsoids.centres.shape or [len(one) for one in privacy] != [len(true)] * true.shape[1]:
        raise InputError("the truth, the ellipsoids and the privacy intervals are not about the same people")
    low, high = ellipsoids.projections()
    inside = np.all(
        [(one.low <= low[:, at]) & (high[:, at] <= one.high) for at, one in enumerate(privacy)], axis=0
    )
    n, apart = len(true), np.zeros(len(true), bool) if one_by_one is None else one_by_one
    return JointlyExposed(
        privacy[0].label,
        Rate(int(inside.sum()), n),
        Rate(int(ellipsoids.contains(true).sum()), n),
        Rate(int(apart.sum()), n),
    )
