"""How many people an attack discloses, beside doing nothing and beside knowing the distribution.

*Direct*: the noisy value itself lies in the person's privacy interval. *Ideal*: the inter-quantile
interval of the true distribution. Rates come with Wilson's interval, which treats the people as a
random sample: it says where the share would lie among many more people of the same kind under the
same noise, and says nothing about people of another kind.

An attack that claims 95 % confidence must be right about 95 % of the people. One whose intervals are
so narrow that they miss far more than they may is guessing; it is shown, but never called the
strongest.

*Jointly*: a person has a privacy interval in every column: a box. An attacker who knows how the columns go
together has an ellipsoid for the person. Whoever's ellipsoid lies inside their box is disclosed in all
columns at once, with the confidence of the whole, which intervals column by column do not have. The
ellipsoid lies inside the box if its projections lie inside the intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from statistics import NormalDist

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_each, check_type
from showthrough.estimate import Estimate
from showthrough.export import Tabular
from showthrough.numbers.ellipsoids import Ellipsoids
from showthrough.numbers.interquantile import (
    Disclosure,
    Interval,
    PrivacyIntervals,
    check_confidence,
    disclose,
    interquantile,
)
from showthrough.numbers.noise import as_floats
from showthrough.text import html_summary, percent

__all__ = [
    "Exposed",
    "Exposure",
    "JointlyExposed",
    "Rate",
    "disclose_all",
    "expose",
    "expose_jointly",
]

#: The names of the two yardsticks.
DIRECT, IDEAL = "direct", "ideal"

#: How much less often than it claims an attack may be right and still count.
SLACK = 0.05


@dataclass(frozen=True)
class Rate:
    """A count out of a total.

    Parameters
    ----------
    count
        How many people.
    total
        Out of how many; 1 or more.

    Examples
    --------
    >>> rate = Rate(0, 20)
    >>> rate.value, [round(end, 3) for end in rate.interval(0.95)]
    (0.0, [0.0, 0.161])
    """

    count: int
    total: int

    def __post_init__(self) -> None:
        check_type(self.count, Integral, name="the count of a rate")
        check_type(self.total, Integral, name="the total of a rate")
        if not 0 <= self.count <= self.total or not self.total:
            raise InputError("a rate needs 0 ≤ count ≤ total", found=f"{self.count} of {self.total}")

    @property
    def value(self) -> float:
        """The share."""
        return self.count / self.total

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wilson's interval for the share among many more people of the same kind."""
        z = NormalDist().inv_cdf((1 + check_confidence(level)) / 2)
        n, share = self.total, self.value
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        # At the ends the formula gives exactly 0 and 1, but for rounding.
        low = 0.0 if not self.count else max(0.0, middle - reach)
        return low, 1.0 if self.count == n else min(1.0, middle + reach)

    def __str__(self) -> str:
        return percent(self.value, 1)


@dataclass(frozen=True)
class Exposed:
    """What one method discloses at one size of privacy interval.

    ``degree`` is D, the mean of the d_i, and ``coverage`` the share of the people whose value the
    attack's interval holds; there are none for the direct reading, whose interval is a point. Where
    many people hold exactly the same value, ``at_points`` is about them and ``elsewhere`` about the
    others: one share for both would hide what happens to either.
    """

    method: str
    privacy: str
    width: float | None
    disclosed: Rate
    degree: Estimate | None
    coverage: Rate | None
    at_points: Rate | None = None
    elsewhere: Rate | None = None

    @property
    def worst(self) -> Rate:
        """The rate among those of whom most are disclosed: the people at points, or all others."""
        apart = [rate for rate in (self.at_points, self.elsewhere) if rate is not None]
        return max(apart, key=lambda rate: rate.value, default=self.disclosed)

    @property
    def worst_group(self) -> str:
        """Whom :attr:`worst` is about: the people at points, or elsewhere; empty for all people."""
        for name, rate in (("at points", self.at_points), ("elsewhere", self.elsewhere)):
            if rate is not None and rate is self.worst:
                return name
        return ""

    def is_credible(self, confidence: float) -> bool:
        """Whether the attack is right as often as it claims, but for chance and some slack."""
        return self.coverage is None or self.coverage.interval()[1] >= confidence - SLACK


@dataclass(frozen=True)
class Exposure(Tabular):
    """All methods side by side at all sizes of privacy interval.

    Attributes
    ----------
    confidence
        The confidence that attackers claim.
    rows
        What each method discloses at each size.
    """

    confidence: float
    rows: tuple[Exposed, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in order."""
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def privacies(self) -> tuple[str, ...]:
        """The privacy intervals' labels, in order."""
        return tuple(dict.fromkeys(row.privacy for row in self.rows))

    @property
    def middle(self) -> str:
        """The label of the privacy interval in the middle, which summaries are about."""
        return self.privacies[len(self.privacies) // 2]

    def get(self, method: str, privacy: str) -> Exposed:
        """One method at one size."""
        for row in self.rows:
            if (row.method, row.privacy) == (method, privacy):
                return row
        raise InputError("nothing was measured for this", found=f"{method}, {privacy}")

    def worst(self, privacy: str) -> Exposed:
        """The attack that discloses most people at one size, whether it can be trusted or not."""
        return max(self._attacks(privacy), key=lambda row: (row.worst.value, row.disclosed.count))

    def strongest(self, privacy: str) -> Exposed | None:
        """The attack that discloses most people at one size; None if no attack can be trusted.

        The two yardsticks do not count, nor attacks that are wrong more often than they claim. People
        who hold a common value and all others are looked at apart, and the larger share counts.
        """
        credible = [row for row in self._attacks(privacy) if row.is_credible(self.confidence)]
        return max(credible, key=lambda row: (row.worst.value, row.disclosed.count), default=None)

    def _attacks(self, privacy: str) -> list[Exposed]:
        """All attacks at one size, without the two yardsticks."""
        rows = [row for row in self.rows if row.privacy == privacy and row.method not in (DIRECT, IDEAL)]
        if not rows:
            raise InputError("there is no attack to compare")
        return rows

    def __repr__(self) -> str:
        strongest = ((p, self.strongest(p)) for p in self.privacies)
        found = (
            f"  {p}: no attack is right as often as it claims"
            if one is None
            else f"  {p}: {one.disclosed} by {one.method}"
            for p, one in strongest
        )
        return "\n".join([f"Exposure at {percent(self.confidence)} confidence", *found])

    def _repr_html_(self) -> str:
        """The shares disclosed, for notebooks."""
        rows = [[p, *(self.get(m, p).disclosed for m in self.methods)] for p in self.privacies]
        title = f"People disclosed with {percent(self.confidence)} confidence"
        return html_summary(title, [["privacy interval", *self.methods], *rows])

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """One row for each method and privacy interval; ``low`` and ``high`` hold at this level."""
        ends = [row.disclosed.interval(level) for row in self.rows]
        return pa.table(
            {
                "method": pa.array([row.method for row in self.rows], pa.string()),
                "privacy": pa.array([row.privacy for row in self.rows], pa.string()),
                "width": pa.array([row.width for row in self.rows], pa.float64()),
                "disclosed": pa.array([row.disclosed.count for row in self.rows], pa.int64()),
                "people": pa.array([row.disclosed.total for row in self.rows], pa.int64()),
                "share": pa.array([row.disclosed.value for row in self.rows], pa.float64()),
                "low": pa.array([low for low, _ in ends], pa.float64()),
                "high": pa.array([high for _, high in ends], pa.float64()),
                "coverage": pa.array(
                    [row.coverage and row.coverage.value for row in self.rows], pa.float64()
                ),
                "credible": pa.array([row.is_credible(self.confidence) for row in self.rows], pa.bool_()),
                "degree": pa.array([row.degree and row.degree.value for row in self.rows], pa.float64()),
                "degree_error": pa.array(
                    [row.degree and row.degree.error for row in self.rows], pa.float64()
                ),
                "at_points": pa.array(
                    [row.at_points and row.at_points.count for row in self.rows], pa.int64()
                ),
                "people_at_points": pa.array(
                    [row.at_points and row.at_points.total for row in self.rows], pa.int64()
                ),
                "elsewhere": pa.array(
                    [row.elsewhere and row.elsewhere.count for row in self.rows], pa.int64()
                ),
                "people_elsewhere": pa.array(
                    [row.elsewhere and row.elsewhere.total for row in self.rows], pa.int64()
                ),
            }
        )


def expose(
    truth: ArrayLike,
    noisy: ArrayLike,
    *,
    attacks: Mapping[str, Interval],
    privacy: Sequence[PrivacyIntervals],
    confidence: float = 0.95,
    points: Sequence[float] = (),
) -> Exposure:
    """Measure attacks against the truth, with the direct reading first and the ideal one last.

    Parameters
    ----------
    truth
        The true values of one column.
    noisy
        The noisy values of the same people in the same order.
    attacks
        Each attack's interval at this confidence, for all people or for each.
    privacy
        The privacy intervals to measure at.
    confidence
        The confidence that attackers claim.
    points
        Values that many people hold exactly: these people and the others are also counted apart.

    Returns
    -------
    Exposure
        How many people each method discloses at each privacy interval.

    Raises
    ------
    InputError
        If these are not about the same people.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.linspace(90, 110, 101)
    >>> noisy = truth + np.where(np.arange(101) % 2, 60, -60)
    >>> found = expose(truth, noisy, attacks={"guess": Interval(85, 115)},
    ...                privacy=[PrivacyIntervals.relative(truth, 0.3)])
    >>> [(row.method, row.disclosed.value) for row in found.rows]
    [('direct', 0.0), ('guess', 1.0), ('ideal', 1.0)]
    """
    check_type(attacks, Mapping, name="attacks", remedy="give each attack's Interval by its name")
    check_each(list(attacks.values()), Interval, name="attacks")
    check_each(
        privacy, PrivacyIntervals, name="privacy", remedy="write [PrivacyIntervals.relative(truth, 0.5)]"
    )
    true = as_floats(truth, "the true values")
    held = np.isin(true, list(points))
    rows = [
        Exposed(method, intervals.label, intervals.width, *_summary(method, found), *_apart(found, held))
        for intervals in privacy
        for method, found in disclose_all(
            truth, noisy, attacks=attacks, privacy=intervals, confidence=confidence
        ).items()
    ]
    return Exposure(confidence, tuple(rows))


def disclose_all(
    truth: ArrayLike,
    noisy: ArrayLike,
    *,
    attacks: Mapping[str, Interval],
    privacy: PrivacyIntervals,
    confidence: float = 0.95,
) -> dict[str, Disclosure]:
    """Person by person, what each method discloses, the two yardsticks among them."""
    true, seen = as_floats(truth, "the true values"), as_floats(noisy, "the noisy values")
    if true.shape != seen.shape or true.ndim != 1:
        raise InputError(
            "the truth and the noisy values differ in the number of people",
            found=f"{true.shape} and {seen.shape}",
        )
    if len(privacy) != len(true):
        raise InputError(
            "there is not one privacy interval for each person", found=f"{len(privacy)} for {len(true)}"
        )
    named = {DIRECT: Interval(seen, seen), **attacks, IDEAL: interquantile(true, confidence)}
    return {method: disclose(privacy, interval, truth=true) for method, interval in named.items()}


def _apart(found: Disclosure, held: NDArray[np.bool_]) -> tuple[Rate | None, Rate | None]:
    """The rates among those who hold a point and among the others, if there are both or only the former."""
    if not held.any():
        return None, None
    n = int(held.sum())
    others = len(held) - n
    return (
        Rate(int(found.full[held].sum()), n),
        Rate(int(found.full[~held].sum()), others) if others else None,
    )


def _summary(method: str, found: Disclosure) -> tuple[Rate, Estimate | None, Rate | None]:
    n = len(found.full)
    rate = Rate(int(found.full.sum()), n)
    if method == DIRECT or found.covered is None:
        return rate, None, None
    error = float(found.degree.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    degree = Estimate(float(found.degree.mean()), error, n)
    return rate, degree, Rate(int(found.covered.sum()), n)


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
