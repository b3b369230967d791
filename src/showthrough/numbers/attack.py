"""Attack noisy numbers: rebuild what the noise hides, and measure it against the truth where it is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, RecordsError, check_each, check_type
from showthrough.export import Tabular
from showthrough.numbers.columns_file import Numbers, as_numbers
from showthrough.numbers.density import Distribution
from showthrough.numbers.exposure import Exposure, JointlyExposed, disclose_all, expose, expose_jointly
from showthrough.numbers.interquantile import PrivacyIntervals, disclose
from showthrough.numbers.joint_noise import as_noise
from showthrough.numbers.methods import BAYES, ColumnAttack, run_attacks, with_measured
from showthrough.numbers.noise import Floats, JointNoise, Noise
from showthrough.numbers.pairs import Pair, compare_pairs
from showthrough.numbers.points import Point, find_points
from showthrough.numbers.unknown_noise import NoiseCheck, check_noise
from showthrough.text import percent

__all__ = [
    "Attack",
    "MeasuredColumn",
    "PrivacyLevels",
    "UnknownNoise",
    "attack",
]

#: The paper's privacy intervals, as shares of each value.
USUAL_SHARES = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)


@dataclass(frozen=True, eq=False)
class PrivacyLevels:
    """The privacy intervals to measure at: shares of each value, half-widths, or everybody's own.

    Parameters
    ----------
    shares
        Shares of each value: 0.5 is ±50 %.
    widths
        Half widths, the same for everybody.
    columns
        The names of the two columns with the ends of everybody's own interval.
    own
        The numbers in these columns.
    floor
        The half-width below which no share of a value goes, for values near 0.
    """

    shares: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    columns: tuple[str, str] | None = None
    own: Numbers | None = None
    floor: float = 0.0

    def __post_init__(self) -> None:
        for name, values in (("shares", self.shares), ("widths", self.widths)):
            check_type(values, Sequence, name=name, remedy="list them: (0.35, 0.5)")
            for value in values:
                check_type(value, Real, name=f"an entry of {name}")
        if self.columns is not None:
            check_type(self.columns, Sequence, name="columns", remedy="name two columns")
            check_each(self.columns, str, name="columns", remedy="name two columns")
        if self.own is not None:
            check_type(self.own, Numbers, name="own", remedy="read them with read_numbers")

    @classmethod
    def of(cls, given: float | Sequence[float] | PrivacyLevels | None) -> PrivacyLevels:
        """From shares of each value, or as it is; the usual ones if nothing is given.

        >>> PrivacyLevels.of(0.5).shares, len(PrivacyLevels.of(None).shares)
        ((0.5,), 10)
        """
        if isinstance(given, PrivacyLevels):
            return given
        if given is None:
            return cls(USUAL_SHARES)
        shares = [given] if isinstance(given, int | float) else given
        try:
            return cls(tuple(sorted({float(share) for share in shares})))
        except (TypeError, ValueError):
            raise InputError(
                "privacy intervals are shares of each value", found=f"{given!r}"[:60], remedy="such as 0.5"
            ) from None

    def intervals(self, truth: Floats) -> list[PrivacyIntervals]:
        """Everybody's privacy intervals, for the true values of one column."""
        made = [PrivacyIntervals.relative(truth, share, floor=self.floor) for share in self.shares]
        made += [PrivacyIntervals.absolute(truth, width) for width in self.widths]
        if self.own is not None:
            try:
                made.append(PrivacyIntervals(self.own.matrix[:, 0], self.own.matrix[:, 1]))
            except InputError as error:
                raise error.at(file=self.own.file, column=" to ".join(self.own.columns)) from None
        return made

    def to_plain(self) -> dict[str, object]:
        """For the manifest of a folder."""
        return {"shares": self.shares, "widths": self.widths, "columns": self.columns, "floor": self.floor}


@dataclass(frozen=True, eq=False)
class MeasuredColumn:
    """What attacks find out about one column; ``exposure`` and ``losses`` need the truth.

    ``losses`` holds the information loss of each rebuilt distribution, ``points`` the values that many
    people hold exactly, and ``check`` how published minus true values compare with the law declared.
    """

    name: str
    noise: Noise
    attacked: ColumnAttack
    exposure: Exposure | None
    losses: Mapping[str, float]
    points: tuple[Point, ...] = ()
    check: NoiseCheck | None = None

    @property
    def doubts(self) -> list[str]:
        """What speaks against the result: how the noise compares with its law, and the attacks' own."""
        refuted = [] if self.check is None or self.check.holds else [self.check.sentence]
        return [*refuted, *self.attacked.doubts]


@dataclass(frozen=True)
class UnknownNoise:
    """What follows where the law of the noise is not known, over all laws that agree with what is.

    ``estimates`` are sentences about the laws, ``tried`` how many of them were attacked with, ``worst``
    the law that discloses most, ``low`` and ``high`` the least and the largest share disclosed at the
    privacy interval ``level`` (None where it cannot be determined). ``known`` is what told the laws apart.
    """

    estimates: tuple[str, ...]
    tried: int
    worst: str
    level: str | None
    low: float | None
    high: float | None
    discloses: bool | None
    known: str = ""

    @property
    def sentence(self) -> str:
        """What is known of the noise, and what that means for people."""
        said = [f"The noise is unknown: {'; '.join(self.estimates)}."]
        if self.low is not None and self.high is not None:
            said.append(
                f"Under the {self.tried} laws that were tried, from end to end, the strongest attack "
                f"discloses {percent(self.low, 1)} to {percent(self.high, 1)} of the people at {self.level}."
            )
        said.append(f"All other figures are about the worst of them, {self.worst}.")
        if self.known:
            said.append(
                f"That {self.known} was used to find the noise, not to place people: "
                "whoever uses it for that too may disclose more."
            )
        return " ".join(said)


@dataclass(frozen=True, eq=False)
class Attack(Tabular):
    """All attacks on columns of noisy numbers, and how many people they disclose.

    Attributes
    ----------
    noisy
        The noisy values.
    noise
        The law of the noise.
    truth
        The true values, where they are known.
    privacy
        The privacy intervals measured at.
    confidence
        The confidence that the attacker claims.
    columns
        What was found out about each column.
    pairs
        The most correlated pairs of columns, side by side.
    joint
        How many people are disclosed in all columns together, at each size of privacy interval.
    unknown
        Where the law of the noise was not given: what is known of it, and the range over all laws.
    """

    noisy: Numbers
    noise: Noise | JointNoise
    truth: Numbers | None
    privacy: PrivacyLevels
    confidence: float
    columns: tuple[MeasuredColumn, ...]
    pairs: tuple[Pair, ...]
    joint: tuple[JointlyExposed, ...] = ()
    unknown: UnknownNoise | None = None

    @property
    def largest(self) -> float | None:
        """The largest share disclosed in a column, at the privacy interval in the middle; None if unknown."""
        measured = [one.exposure for one in self.columns if one.exposure is not None]
        found = [exposure.strongest(exposure.middle) for exposure in measured]
        return max((row.worst.value for row in found if row is not None), default=None)

    @property
    def discloses(self) -> bool | None:
        """Whether an attack that is right as often as it claims discloses anybody.

        None if that cannot be determined: without the truth, where no attack is right as often as it
        claims, or where the noise does not follow the law declared.
        """
        if self.unknown is not None:
            return self.unknown.discloses
        measured = [one for one in self.columns if one.exposure is not None]
        found = [
            one.exposure.strongest(p) for one in measured if one.exposure for p in one.exposure.privacies
        ]
        if any(row is not None and row.disclosed.count for row in found):
            return True
        misled = any(one.check is not None and not one.check.holds for one in measured)
        return None if misled or not measured or None in found else False

    def to_arrow(self) -> pa.Table:
        """One row for each column and method: its interval, and what it loses of the distribution."""
        tables = list[pa.Table]()
        for one in self.columns:
            found = one.attacked.to_arrow()
            losses = [one.losses.get(method) for method in one.attacked.intervals]
            found = found.append_column("information_loss", pa.array(losses, pa.float64()))
            tables.append(with_column(found, one.name))
        return pa.concat_tables(tables)

    def exposures(self) -> pa.Table:
        """One row for each column, method and privacy interval: how many people are disclosed."""
        tables = [with_column(one.exposure.to_arrow(), one.name) for one in self.columns if one.exposure]
        if not tables:
            raise InputError("how many people are disclosed cannot be determined without the truth")
        return pa.concat_tables(tables)

    def people(self) -> pa.Table:
        """For each person, column and method the narrowest privacy interval at which they are disclosed."""
        if self.truth is None:
            raise InputError("who is disclosed cannot be determined without the truth")
        return pa.concat_tables([self._people(at, self.truth) for at in range(len(self.columns))])

    def _people(self, at: int, true: Numbers) -> pa.Table:
        truth, noisy, one = true.matrix[:, at], self.noisy.matrix[:, at], self.columns[at]
        narrowest: dict[str, NDArray[np.object_]] = {}
        for intervals in reversed(self.privacy.intervals(truth)):
            by_method = disclose_all(
                truth, noisy, attacks=one.attacked.intervals, privacy=intervals, confidence=self.confidence
            )
            for method, disclosed in by_method.items():
                labels = narrowest.setdefault(method, np.full(len(truth), None, object))
                labels[disclosed.full] = intervals.label
        labelled: dict[str, Any] = {name: pa.array(found, pa.string()) for name, found in narrowest.items()}
        return pa.table(person_columns(one.name, len(truth)) | labelled)

    def __repr__(self) -> str:
        lines = [f"Attack({len(self.noisy):,} people, noise {self.noise})"]
        for one in self.columns:
            lines.append(f"  {one.name}: {', '.join(one.attacked.intervals)}")
            if one.exposure is not None:
                level = one.exposure.middle
                strongest = one.exposure.strongest(level)
                lines.append(
                    "    no attack is right as often as it claims"
                    if strongest is None
                    else f"    {strongest.disclosed} disclosed at {level} by {strongest.method}"
                )
        return "\n".join(lines)


def attack(
    noisy: Numbers | ArrayLike | str,
    noise: Noise | JointNoise | str | Sequence[Noise | str],
    truth: Numbers | ArrayLike | str | None = None,
    *,
    columns: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    privacy: float | Sequence[float] | PrivacyLevels | None = None,
    confidence: float = 0.95,
) -> Attack:
    """Reconstruct the values behind noise, and measure how many people this discloses.

    Parameters
    ----------
    noisy
        The noisy values: a list, a matrix with one row for each person, or :class:`Numbers`. With
        ``columns`` also a file or a data frame.
    noise
        The law of the noise, which the attacker knows, or its text: ``"uniform:125"``. A list gives
        each column its own law.
    truth
        The true values of the same people in the same order, in any of these forms. Without it
        nobody can determine who is disclosed.
    columns
        The names of the columns.
    methods
        Some of ``"as"``, ``"em"``, ``"sf"``, ``"pca"`` and ``"be"``; all that fit by default. The last
        three need correlated columns.
    privacy
        Privacy intervals as shares of each value (0.5 is ±50 %), or :class:`PrivacyLevels`; 0.35 to
        0.8 by default.
    confidence
        The confidence that the attacker claims.

    Returns
    -------
    Attack
        The rebuilt distributions and intervals of every column and, with the truth, the exposure.

    Raises
    ------
    InputError
        If the values, the noise or the truth do not fit each other.

    Examples
    --------
    >>> truth = np.random.default_rng(1).gamma(9, 5, 2000)
    >>> noisy = truth + np.random.default_rng(2).uniform(-20, 20, 2000)
    >>> found = attack(noisy, "uniform:20", truth, privacy=0.5)
    >>> found.discloses, found.columns[0].exposure.strongest("±50 %").method
    (True, 'posterior')
    """
    numbers = as_numbers(noisy, columns)
    law = as_noise(noise, columns=len(numbers.columns))
    true = None if truth is None else check_truth(as_numbers(truth, numbers.columns), numbers)
    levels = PrivacyLevels.of(privacy)
    points = () if true is None else [find_points(column) for column in true.matrix.T]
    try:
        attacked = run_attacks(numbers.matrix, law, methods=methods, confidence=confidence, points=points)
    except InputError as error:
        raise numbers.named(error) from None
    measured = tuple(
        _measure(one, numbers, true, at, law, levels, confidence, points[at] if points else ())
        for at, one in enumerate(attacked)
    )
    pairs = ()
    if len(attacked) > 1:
        known = None if true is None else true.matrix
        pairs = compare_pairs(numbers.matrix, law, attacked[0].rebuilt, truth=known)
    joint = () if true is None else tuple(_jointly(attacked, true, levels, confidence))
    return Attack(numbers, law, true, levels, confidence, measured, pairs, joint)


def check_truth(truth: Numbers, noisy: Numbers) -> Numbers:
    """The truth, if it is about as many people and columns as the noisy numbers."""
    if len(truth) != len(noisy):
        raise RecordsError(
            "the truth and the noisy values differ in the number of people",
            file=None if truth.source is None else truth.file,
            found=f"{len(truth):,} rows, not {len(noisy):,}",
            remedy="give the same people in the same order",
        )
    return truth


def _measure(
    attacked: ColumnAttack,
    noisy: Numbers,
    truth: Numbers | None,
    at: int,
    noise: Noise | JointNoise,
    privacy: PrivacyLevels,
    confidence: float,
    points: tuple[Point, ...],
) -> MeasuredColumn:
    """The attacks on one column, measured against the truth where it is known."""
    law = noise.marginal(at) if isinstance(noise, JointNoise) else noise
    if truth is None:
        return MeasuredColumn(noisy.columns[at], law, attacked, None, {})
    values, seen = truth.matrix[:, at], noisy.matrix[:, at]
    check = check_noise(seen, values, law)
    if not check.holds:
        attacked = with_measured(attacked, seen, seen - values, confidence=confidence)
    exposure = expose(
        values,
        seen,
        attacks=attacked.intervals,
        privacy=privacy.intervals(values),
        confidence=confidence,
        points=[point.value for point in points],
    )
    true = Distribution.of(values)
    losses = {method: found.loss(true) for method, found in attacked.distributions.items()}
    return MeasuredColumn(noisy.columns[at], law, attacked, exposure, losses, points, check)


def _jointly(
    attacked: Sequence[ColumnAttack],
    truth: Numbers,
    privacy: PrivacyLevels,
    confidence: float,
) -> Iterator[JointlyExposed]:
    """Who is disclosed in all columns together, by the Bayes estimate; nothing where it was not made."""
    rebuilt = attacked[0].rebuilt.get("be")
    if rebuilt is None or privacy.own is not None:
        return
    ellipsoids = rebuilt.ellipsoids(confidence)
    for boxes in zip(*(privacy.intervals(column) for column in truth.matrix.T), strict=True):
        each = np.ones(len(truth), bool)
        for at, intervals in enumerate(boxes):
            each &= disclose(intervals, attacked[at].intervals[BAYES]).full
        yield expose_jointly(truth.matrix, ellipsoids, privacy=boxes, one_by_one=each)


def person_columns(name: str, people: int) -> dict[str, Any]:
    """The columns that say whom a row is about: the row of the file, and the column."""
    return {"row": pa.array(np.arange(1, people + 1)), "column": pa.array([name] * people, pa.string())}


def with_column(table: pa.Table, name: str) -> pa.Table:
    """A table about one column, with the column's name in front."""
    return table.add_column(0, "column", pa.array([name] * len(table), pa.string()))
