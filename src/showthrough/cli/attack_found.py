"""What was found about columns of noisy numbers: measured, summed up, and written to a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.numbers.attack import Attacked
from showthrough.numbers.columns_file import Numbers
from showthrough.numbers.density import Distribution, Histogram
from showthrough.numbers.exposure import Exposure, disclose_all, expose
from showthrough.numbers.interquantile import PrivacyIntervals
from showthrough.numbers.matrix import matrix_errors
from showthrough.numbers.noise import Floats, JointNoise, Noise
from showthrough.numbers.pairs import NOISY, TRUE, Pair, compare_pairs

__all__ = [
    "ColumnAttack",
    "Measured",
    "PrivacyChoice",
    "measure",
    "measure_pairs",
    "summarise",
    "write_found",
]

#: Words in the explanation of an attack without which its result would be misread.
DOUBTS = ("not to be trusted", "no spread is recoverable", "left out")


@dataclass(frozen=True)
class PrivacyChoice:
    """Which privacy intervals to measure at: shares of the value, half widths, or columns."""

    shares: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()
    columns: tuple[str, str] | None = None

    def intervals(self, truth: Floats, given: Numbers | None) -> list[PrivacyIntervals]:
        """For the true values of one column."""
        made = [PrivacyIntervals.relative(truth, share) for share in self.shares]
        made += [PrivacyIntervals.absolute(truth, width) for width in self.widths]
        if given is not None:
            try:
                made.append(PrivacyIntervals(given.matrix[:, 0], given.matrix[:, 1]))
            except InputError as error:
                raise error.at(file=given.file, column=" to ".join(given.columns)) from None
        return made


@dataclass(frozen=True, eq=False)
class ColumnAttack:
    """What was found in one column."""

    column: str
    noise: str
    attacked: Attacked
    exposure: Exposure | None
    losses: Mapping[str, float]

    @property
    def doubts(self) -> list[str]:
        """What speaks against the result, once each, whichever attack says it first."""
        said = dict[str, str]()
        for notes in self.attacked.explanations.values():
            for note in notes:
                for mark in DOUBTS:
                    if mark in note:
                        said.setdefault(mark, note)
        return list(said.values())


@dataclass(frozen=True, eq=False)
class Measured:
    """The files and settings that everything is measured with."""

    noisy: Numbers
    noise: Noise | JointNoise
    true: Numbers | None
    given: Numbers | None
    privacy: PrivacyChoice
    confidence: float


def measure(setting: Measured, attacked: Sequence[Attacked]) -> list[ColumnAttack]:
    """Each column's attacks, against the truth where it is known."""
    return [_column(setting, at, one) for at, one in enumerate(attacked)]


def _column(setting: Measured, at: int, attacked: Attacked) -> ColumnAttack:
    noise, name = setting.noise, setting.noisy.columns[at]
    law = str(noise.marginal(at) if isinstance(noise, JointNoise) else noise)
    if setting.true is None:
        return ColumnAttack(name, law, attacked, None, {})
    values = setting.true.matrix[:, at]
    exposure = expose(
        values,
        setting.noisy.matrix[:, at],
        attacks=attacked.intervals,
        privacy=setting.privacy.intervals(values, setting.given),
        confidence=setting.confidence,
    )
    true = Distribution.of(values)
    losses = {method: found.loss(true) for method, found in attacked.distributions.items()}
    return ColumnAttack(name, law, attacked, exposure, losses)


def measure_pairs(setting: Measured, attacked: Sequence[Attacked]) -> tuple[Pair, ...]:
    """The most correlated pairs of columns; none if there is one column."""
    if len(attacked) < 2:
        return ()
    true = None if setting.true is None else setting.true.matrix
    return compare_pairs(setting.noisy.matrix, setting.noise, attacked[0].rebuilt, truth=true)


def summarise(found: Sequence[ColumnAttack], pairs: Sequence[Pair], setting: Measured) -> dict[str, Any]:
    """All figures, for machines."""
    noisy, true = setting.noisy, setting.true
    summary: dict[str, Any] = {
        "file": noisy.file,
        "people": len(noisy),
        "confidence": setting.confidence,
        "columns": [
            {**_column_summary(one), "histogram": _histogram(setting, at).to_dict()}
            for at, one in enumerate(found)
        ],
    }
    if pairs:
        summary["pairs"] = [_pair_summary(pair, noisy.columns) for pair in pairs]
    if true is not None and found[0].attacked.rebuilt:
        summary["errors"] = {
            method: {"absolute": off.absolute, "relative": off.relative}
            for method, rebuilt in found[0].attacked.rebuilt.items()
            for off in [matrix_errors(rebuilt.estimates, true.matrix)]
        }
    return summary


def _histogram(setting: Measured, at: int) -> Histogram:
    """How the noisy values of a column, and the true ones where known, spread over equal bins."""
    columns = {NOISY: setting.noisy.matrix[:, at]}
    if setting.true is not None:
        columns[TRUE] = setting.true.matrix[:, at]
    return Histogram.of(columns)


def _pair_summary(pair: Pair, columns: Sequence[str]) -> dict[str, Any]:
    shapes = {
        name: {
            "mean": shape.mean.tolist(),
            "covariance": shape.covariance.tolist(),
            "correlation": shape.correlation,
        }
        for name, shape in pair.shapes.items()
    }
    return {"columns": [columns[at] for at in pair.columns], "shapes": shapes}


def _column_summary(one: ColumnAttack) -> dict[str, Any]:
    explained = one.attacked.explanations
    methods = {
        method: {
            "interval": None if interval.low.ndim else [float(interval.low), float(interval.high)],
            "mean_length": interval.mean_length,
            "explanation": list(explained.get(method, ())),
            "information_loss": one.losses.get(method),
        }
        for method, interval in one.attacked.intervals.items()
    }
    exposure = None if one.exposure is None else one.exposure.to_arrow().to_pylist()
    strongest = None
    if one.exposure is not None:
        strongest = {privacy: one.exposure.strongest(privacy).method for privacy in one.exposure.privacies}
    return {
        "column": one.column,
        "noise": one.noise,
        "methods": methods,
        "exposure": exposure,
        "strongest": strongest,
        "doubts": one.doubts,
    }


def write_found(
    folder: Path, found: Sequence[ColumnAttack], pairs: Sequence[Pair], setting: Measured
) -> None:
    """The tables of a run."""
    _store(folder / "densities.parquet", [_densities(one) for one in found])
    own = [table for one in found for table in _own_intervals(one)]
    if own:
        _store(folder / "intervals.parquet", own)
    exposures = [
        one.exposure.to_arrow().add_column(0, "column", pa.array([one.column] * len(one.exposure.rows)))
        for one in found
        if one.exposure is not None
    ]
    if exposures:
        _store(folder / "exposure.parquet", exposures)
        _store(folder / "people.parquet", [_people(one, at, setting) for at, one in enumerate(found)])
    if pairs:
        _store(folder / "points.parquet", [_points(at, pair) for at, pair in enumerate(pairs)])


def _store(path: Path, tables: Sequence[pa.Table]) -> None:
    pq.write_table(pa.concat_tables(tables), path, compression="zstd")


def _densities(one: ColumnAttack) -> pa.Table:
    table = one.attacked.densities()
    return table.add_column(0, "column", pa.array([one.column] * len(table), pa.string()))


def _points(at: int, pair: Pair) -> pa.Table:
    """Records of a pair of columns, which the summary names in the same order."""
    n = len(pair.rows)
    parts = list[pa.Table]()
    for name, values in pair.points.items():
        columns: dict[str, Any] = {
            "pair": pa.array([at + 1] * n, pa.int64()),
            "values": pa.array([name] * n, pa.string()),
            "row": pa.array(pair.rows + 1, pa.int64()),
            "first": pa.array(np.ascontiguousarray(values[:, 0])),
            "second": pa.array(np.ascontiguousarray(values[:, 1])),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def _own_intervals(one: ColumnAttack) -> list[pa.Table]:
    """The intervals of the attacks on single people."""
    parts = list[pa.Table]()
    for method, interval in one.attacked.intervals.items():
        if interval.low.ndim:
            n = len(interval.low)
            columns = _rows_of(one, n)
            columns |= {"method": pa.array([method] * n, pa.string()), "low": interval.low}
            parts.append(pa.table(columns | {"high": pa.array(interval.high)}))
    return parts


def _people(one: ColumnAttack, at: int, setting: Measured) -> pa.Table:
    """For each person and method the narrowest privacy interval at which they are disclosed."""
    if setting.true is None:
        raise InputError("who is disclosed cannot be said without the truth")
    truth, noisy = setting.true.matrix[:, at], setting.noisy.matrix[:, at]
    narrowest: dict[str, NDArray[np.object_]] = {}
    for intervals in reversed(setting.privacy.intervals(truth, setting.given)):
        by_method = disclose_all(
            truth, noisy, attacks=one.attacked.intervals, privacy=intervals, confidence=setting.confidence
        )
        for method, disclosed in by_method.items():
            labels = narrowest.setdefault(method, np.full(len(truth), None, object))
            labels[disclosed.full] = intervals.label
    columns = _rows_of(one, len(truth))
    return pa.table(columns | {method: pa.array(labels, pa.string()) for method, labels in narrowest.items()})


def _rows_of(one: ColumnAttack, n: int) -> dict[str, Any]:
    return {"row": pa.array(np.arange(1, n + 1)), "column": pa.array([one.column] * n, pa.string())}
