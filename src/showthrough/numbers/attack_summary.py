"""The folder of an attack: its tables, its figures as plain data, and the sentences about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from showthrough.errors import InputError
from showthrough.files import write_json
from showthrough.numbers.attack import Attack, MeasuredColumn, UnknownNoise, person_columns, with_column
from showthrough.numbers.exposure import DIRECT, Exposure, JointlyExposed
from showthrough.numbers.interquantile import OWN
from showthrough.numbers.noise import Floats
from showthrough.numbers.pairs import NOISY, TRUE, Pair
from showthrough.numbers.points import Point, whose
from showthrough.numbers.spectral import Errors, matrix_errors
from showthrough.text import percent

__all__ = [
    "AttackSummary",
    "ColumnSummary",
    "ExposureRow",
    "Histogram",
    "HistogramCounts",
    "JointRow",
    "MethodSummary",
    "PairSummary",
    "ShapeSummary",
    "write_attack",
]

#: What is missing where only the noisy values are known.
NO_TRUTH = "How many people this discloses cannot be determined without their true values: add --truth."

#: What is said where all attacks are wrong more often than they claim.
NOT_CREDIBLE = (
    "How many people are disclosed cannot be determined: no attack is right as often as it claims.",
    "The noise probably does not follow the law given; attacks that know its real law may do better.",
)

#: Bins of a picture.
BINS = 60

#: The share of the values on either side that is counted, but not drawn: tails can be very long.
TAIL = 0.001

#: The files of a folder, and what they hold.
FILES = {
    "densities.parquet": "the rebuilt distributions",
    "intervals.parquet": "everybody's own interval, from the attacks on single people",
    "exposure.parquet": "how many people are disclosed, by method and privacy interval",
    "points.parquet": "some records of pairs of columns, as published and as rebuilt",
    "people.parquet": "who is disclosed by which method",
    "summary.json": "all figures printed here, and more",
}


@dataclass(frozen=True)
class HistogramCounts:
    """How many values lie in each bin, below all bins and above them."""

    counts: tuple[int, ...]
    below: int
    above: int

    @property
    def beyond(self) -> int:
        """How many values lie outside the bins."""
        return self.below + self.above


@dataclass(frozen=True)
class Histogram:
    """Several lists of values, by name, counted in the same bins.

    >>> shown = Histogram.of({"noisy": [0.0, 1.0, 2.0, 3.0]}, bins=3)
    >>> shown.edges, shown.values["noisy"]
    ((0.0, 1.0, 2.0, 3.0), HistogramCounts(counts=(1, 1, 2), below=0, above=0))
    """

    edges: tuple[float, ...]
    values: dict[str, HistogramCounts]

    @classmethod
    def of(cls, values: Mapping[str, ArrayLike], *, bins: int = BINS) -> Histogram:
        """From lists of values by name; the bins span the middle 99.8 % of each."""
        lists = {name: np.asarray(given, np.float64).ravel() for name, given in values.items()}
        if not lists or not all(len(given) for given in lists.values()):
            raise InputError("a histogram needs values")
        ends = [_middle(given) for given in lists.values()]
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        if not high > low:
            reach = 0.5 * (abs(low) or 1.0)
            low, high = low - reach, high + reach
        edges = np.linspace(low, high, bins + 1)
        counted = {
            name: HistogramCounts(
                tuple(np.histogram(given, edges)[0].tolist()),
                int((given < low).sum()),
                int((given > high).sum()),
            )
            for name, given in lists.items()
        }
        return cls(tuple(edges.tolist()), counted)

    @property
    def midpoints(self) -> Floats:
        """The middle of each bin."""
        edges = np.asarray(self.edges)
        return (edges[:-1] + edges[1:]) / 2

    def density(self, name: str) -> Floats:
        """The density of one list of values in each bin."""
        found = self.values[name]
        return np.asarray(found.counts) / (sum(found.counts) + found.beyond) / np.diff(self.edges)


@dataclass(frozen=True)
class MethodSummary:
    """What one attack finds out: one interval for all people, or (None) everybody's own."""

    interval: tuple[float, float] | None
    mean_length: float
    explanation: tuple[str, ...]
    information_loss: float | None

    @property
    def interval_text(self) -> str:
        """The interval for people to read."""
        return "everybody's own" if self.interval is None else "{:.5g} to {:.5g}".format(*self.interval)


@dataclass(frozen=True)
class ExposureRow:
    """How many people one method discloses at one privacy interval, a row of ``exposure.parquet``."""

    method: str
    privacy: str
    width: float | None
    disclosed: int
    people: int
    share: float
    low: float
    high: float
    coverage: float | None
    credible: bool
    degree: float | None
    degree_error: float | None
    at_points: int | None = None
    people_at_points: int | None = None
    elsewhere: int | None = None
    people_elsewhere: int | None = None

    @classmethod
    def of(cls, exposure: Exposure) -> tuple[ExposureRow, ...]:
        """All rows of an exposure."""
        return tuple(cls(**row) for row in exposure.to_arrow().to_pylist())


@dataclass(frozen=True)
class ColumnSummary:
    """All attacks on one column; ``strongest`` has the strongest method by privacy interval."""

    column: str
    noise: str
    methods: dict[str, MethodSummary]
    exposure: tuple[ExposureRow, ...] | None
    strongest: dict[str, str | None] | None
    doubts: tuple[str, ...]
    histogram: Histogram
    points: tuple[Point, ...] = ()

    @classmethod
    def of(cls, attack: Attack, at: int) -> ColumnSummary:
        """The summary of one column of an attack."""
        one = attack.columns[at]
        values = {NOISY: attack.noisy.matrix[:, at]}
        if attack.truth is not None:
            values[TRUE] = attack.truth.matrix[:, at]
        exposure = strongest = None
        if one.exposure is not None:
            exposure = ExposureRow.of(one.exposure)
            found = {level: one.exposure.strongest(level) for level in one.exposure.privacies}
            strongest = {level: row and row.method for level, row in found.items()}
        return cls(
            one.name,
            str(one.noise),
            _methods(one),
            exposure,
            strongest,
            tuple(one.doubts),
            Histogram.of(values),
            one.points,
        )

    @property
    def measured_methods(self) -> list[str]:
        """The methods whose exposure is known: direct first, ideal last."""
        return list(dict.fromkeys(row.method for row in self.exposure or ()))

    @property
    def levels(self) -> list[str]:
        """The labels of the privacy intervals."""
        return list(self.strongest or ())

    @property
    def shares(self) -> dict[tuple[str, str], float]:
        """The share disclosed, by privacy interval and method."""
        return {(row.privacy, row.method): row.share for row in self.exposure or ()}

    @property
    def middle(self) -> tuple[ExposureRow, ExposureRow] | None:
        """The strongest attack and the direct reading, at the middle privacy interval; None if unknown."""
        if self.strongest is None or self.exposure is None:
            return None
        level = self.levels[len(self.levels) // 2]
        method = self.strongest[level]
        rows = {row.method: row for row in self.exposure if row.privacy == level}
        return None if method is None else (rows[method], rows[DIRECT])

    @property
    def apart(self) -> str:
        """How many are disclosed of the people at common values and of the others, as a sentence."""
        row = None if self.middle is None else self.middle[0]
        if row is None or row.at_points is None or not row.people_at_points:
            return ""
        said = [
            f"Of the {row.people_at_points:,} people {whose(self.points)}, "
            f"{percent(row.at_points / row.people_at_points, 1)} are"
        ]
        if row.elsewhere is not None and row.people_elsewhere:
            others = percent(row.elsewhere / row.people_elsewhere, 1)
            said.append(f"of the {row.people_elsewhere:,} others {others}")
        return f"{', '.join(said)}."

    @property
    def wrong(self) -> dict[str, float]:
        """The methods that are wrong more often than they claim, and how many people they are right about."""
        return {
            row.method: row.coverage
            for row in self.exposure or ()
            if row.coverage is not None and not row.credible
        }


@dataclass(frozen=True)
class ShapeSummary:
    """The mean, covariance and correlation of two columns."""

    mean: tuple[float, float]
    covariance: tuple[tuple[float, float], tuple[float, float]]
    correlation: float | None


@dataclass(frozen=True)
class PairSummary:
    """Two columns by name, and their shapes: noisy, noise, as rebuilt and true."""

    columns: tuple[str, str]
    shapes: dict[str, ShapeSummary]


@dataclass(frozen=True)
class JointRow:
    """How many people are disclosed in all columns together, at one privacy interval."""

    privacy: str
    people: int
    jointly: int
    one_by_one: int
    coverage: float
    credible: bool

    @classmethod
    def of(cls, found: JointlyExposed, confidence: float) -> JointRow:
        """From what was measured."""
        return cls(
            found.privacy,
            found.jointly.total,
            found.jointly.count,
            found.one_by_one.count,
            found.coverage.value,
            found.is_credible(confidence),
        )


@dataclass(frozen=True)
class AttackSummary:
    """All figures of an attack, as ``summary.json`` has them."""

    file: str
    people: int
    confidence: float
    columns: tuple[ColumnSummary, ...]
    pairs: tuple[PairSummary, ...] = ()
    errors: dict[str, Errors] | None = None
    joint: tuple[JointRow, ...] = ()
    unknown: UnknownNoise | None = None

    @classmethod
    def of(cls, attack: Attack) -> AttackSummary:
        """The summary of an attack."""
        errors, rebuilt = None, attack.columns[0].attacked.rebuilt
        if attack.truth is not None and rebuilt:
            truth = attack.truth.matrix
            errors = {method: matrix_errors(found.estimates, truth) for method, found in rebuilt.items()}
        return cls(
            attack.noisy.file,
            len(attack.noisy),
            attack.confidence,
            tuple(ColumnSummary.of(attack, at) for at in range(len(attack.columns))),
            tuple(_pair(pair, attack.noisy.columns) for pair in attack.pairs),
            errors,
            tuple(JointRow.of(found, attack.confidence) for found in attack.joint),
            attack.unknown,
        )

    @classmethod
    def from_plain(cls, content: object) -> AttackSummary:
        """From what :meth:`to_plain` made, if it is complete."""
        from pydantic import TypeAdapter  # only pages read summaries

        return TypeAdapter(cls).validate_python(content)

    def to_plain(self) -> dict[str, object]:
        """As plain data, for JSON; what there is not is left out."""
        content = asdict(self)
        optional = {
            "pairs": self.pairs,
            "errors": self.errors,
            "joint": self.joint,
            "unknown": self.unknown,
        }
        return {name: found for name, found in content.items() if optional.get(name, True)}

    def headline(self, column: ColumnSummary) -> tuple[str, str] | None:
        """How many people the strongest attack on a column discloses, and beside what; None if unknown."""
        if column.exposure is not None and column.middle is None:
            return NOT_CREDIBLE
        if column.middle is None:
            return None
        strong, direct = column.middle
        where = f"within {strong.privacy} of the truth"
        if strong.privacy == OWN:
            where = "inside their own privacy interval"
        return (
            f"{percent(strong.share, 1)} of {self.people:,} people can be placed {where}.",
            f"The strongest attack ({strong.method}) does so with {percent(self.confidence)} confidence "
            f"({percent(strong.low, 1)} to {percent(strong.high, 1)} among many more people of the same "
            f"kind). The noisy value itself is that close for {percent(direct.share, 1)}, but a reader "
            f"cannot know for whom. {column.apart}".rstrip(),
        )

    @property
    def together(self) -> str:
        """How many people are disclosed in all columns together, at the middle privacy interval."""
        if not self.joint:
            return ""
        row = self.joint[len(self.joint) // 2]
        if not row.credible:
            return (
                f"How many are disclosed in all {len(self.columns)} columns together cannot be determined: "
                f"the ellipsoids claim {percent(self.confidence)} and hold the values of "
                f"{percent(row.coverage, 1)} of the people."
            )
        return (
            f"In all {len(self.columns)} columns together, {percent(row.jointly / row.people, 1)} of the "
            f"people can be placed within {row.privacy} of the truth (their ellipsoid lies inside their "
            f"box, with {percent(self.confidence)} confidence for the whole); column by column "
            f"{percent(row.one_by_one / row.people, 1)} are in every one."
        )

    @property
    def worst(self) -> ColumnSummary | None:
        """The column in which most people are disclosed; None without the truth."""
        measured = [column for column in self.columns if column.exposure is not None]
        return max(measured, key=_disclosed, default=None)


def _middle(values: Floats) -> tuple[float, float]:
    """The ends of the middle; all of it where values are few."""
    if len(values) * TAIL < 1:
        return float(values.min()), float(values.max())
    low, high = np.quantile(values, [TAIL, 1 - TAIL]).tolist()
    return low, high


def _disclosed(column: ColumnSummary) -> float:
    return column.middle[0].share if column.middle else 0.0


def _methods(one: MeasuredColumn) -> dict[str, MethodSummary]:
    explained: Mapping[str, tuple[str, ...]] = one.attacked.explanations
    return {
        method: MethodSummary(
            None if interval.low.ndim else (float(interval.low), float(interval.high)),
            interval.mean_length,
            explained.get(method, ()),
            one.losses.get(method),
        )
        for method, interval in one.attacked.intervals.items()
    }


def _pair(pair: Pair, columns: tuple[str, ...]) -> PairSummary:
    shapes = dict[str, ShapeSummary]()
    for name, shape in pair.shapes.items():
        (a, b), ((aa, ab), (ba, bb)) = shape.mean.tolist(), shape.covariance.tolist()
        shapes[name] = ShapeSummary((a, b), ((aa, ab), (ba, bb)), shape.correlation)
    first, second = pair.columns
    return PairSummary((columns[first], columns[second]), shapes)


def write_attack(folder: Path, attack: Attack, summary: AttackSummary) -> None:
    """Write the tables that an attack has, and its summary."""
    tables = {
        "densities.parquet": [with_column(one.attacked.densities(), one.name) for one in attack.columns],
        "intervals.parquet": [table for one in attack.columns for table in _own_intervals(one)],
        "exposure.parquet": [] if attack.truth is None else [attack.exposures()],
        "people.parquet": [] if attack.truth is None else [attack.people()],
        "points.parquet": [_points(number, pair) for number, pair in enumerate(attack.pairs, 1)],
    }
    for name, parts in tables.items():
        _store(folder / name, parts)
    write_json(folder / "summary.json", summary.to_plain())


def _store(path: Path, tables: Sequence[pa.Table]) -> None:
    if tables:
        pq.write_table(pa.concat_tables(tables), path, compression="zstd")


def _own_intervals(one: MeasuredColumn) -> Iterator[pa.Table]:
    """The intervals of the attacks on single people."""
    for method, interval in one.attacked.intervals.items():
        if interval.low.ndim:
            n = len(interval.low)
            columns = {**person_columns(one.name, n), "method": pa.array([method] * n, pa.string())}
            yield pa.table({**columns, "low": pa.array(interval.low), "high": pa.array(interval.high)})


def _points(number: int, pair: Pair) -> pa.Table:
    """Records of a pair of columns, by its number in the summary (from 1)."""
    n = len(pair.rows)
    parts = list[pa.Table]()
    for name, values in pair.points.items():
        columns: dict[str, Any] = {
            "pair": pa.array([number] * n, pa.int64()),
            "values": pa.array([name] * n, pa.string()),
            "row": pa.array(pair.rows + 1, pa.int64()),
            "first": pa.array(np.ascontiguousarray(values[:, 0])),
            "second": pa.array(np.ascontiguousarray(values[:, 1])),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)
