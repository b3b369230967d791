"""The numbers of a comparison as tables: errors, single answers, and groups that violate a promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import Setting, describe_method
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, check_design
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import Utility
from showthrough.microdata.violations import Bound, ReconstructionCheck

__all__ = [
    "MOST_ANSWERS",
    "AnswerRow",
    "ErrorRow",
    "SettingRow",
    "ViolationRow",
    "answers_table",
    "errors_table",
    "read_rows",
    "violations_table",
]

Measured = Sequence[tuple[Setting, Utility]]
Whole = NDArray[np.int64]

#: Queries whose answers are kept for each setting.
MOST_ANSWERS: Final = 600


@dataclass(frozen=True)
class SettingRow:
    """Which setting a row is about: a method, its promise, and the parameter that is varied."""

    method: str
    promise: str
    parameter: str | None
    value: float | None

    @property
    def series(self) -> str:
        """What the setting is called in a chart: its method, and its promise unless that is varied."""
        return self.method if self.parameter or self.promise == "–" else f"{self.method} ({self.promise})"


@dataclass(frozen=True)
class ErrorRow(SettingRow):
    """The mean relative error of a setting, for queries of at least one selectivity."""

    retention: float | None
    used: float
    selectivity: float
    queries: int
    runs: int
    error: float | None
    standard_error: float | None


@dataclass(frozen=True)
class AnswerRow(SettingRow):
    """One query: its true answer, and the estimate of a setting's first run."""

    truth: int
    estimate: float
    selectivity: float


@dataclass(frozen=True)
class ViolationRow(SettingRow):
    """How many groups and records of a setting violate reconstruction privacy, by one bound."""

    retention: float
    error: float
    chance: float
    bound: Bound
    groups: int
    group_rate: float
    records: int
    record_rate: float


_Row = TypeVar("_Row", bound=SettingRow)


def read_rows(kind: type[_Row], table: pa.Table) -> list[_Row]:
    """The rows of a table that was made from such rows."""
    return [kind(**row) for row in table.to_pylist()]


def errors_table(measured: Measured) -> pa.Table:
    """One row for each setting and selectivity."""
    return _table(ErrorRow, list(_error_rows(measured)))


def _error_rows(measured: Measured) -> Iterator[ErrorRow]:
    for setting, utility in measured:
        for at, share in enumerate(utility.selectivities):
            number = int(utility.queries[at])
            yield ErrorRow(
                **_named(setting),
                retention=utility.retention,
                used=utility.used,
                selectivity=share,
                queries=number,
                runs=len(utility.errors),
                error=float(utility.mean[at]) if number else None,
                standard_error=_known(float(utility.standard_error[at])) if number else None,
            )


def _known(number: float) -> float | None:
    return None if number != number else number


def answers_table(measured: Measured, pool: QueryPool, *, number: int = MOST_ANSWERS) -> pa.Table:
    """True answers and the estimates of each setting's first run, for the same queries.

    Of many different queries, ``number`` are taken at even steps from the smallest to the largest.

    >>> from showthrough.microdata.queries import crossed_queries
    >>> from showthrough.microdata.utility import measure_settings
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[600, 400], [800, 200]])
    >>> pool = crossed_queries(groups, seed=1, number=20)
    >>> measured = measure_settings([Setting(UniformPerturbation(0.5))], pool, seed=2, runs=2)
    >>> answers_table(measured, pool)["truth"].to_pylist()
    [200, 400, 600, 800]
    """
    chosen = _spread(pool, number)
    truth, share = pool.answers[chosen], pool.selectivity[chosen]
    parts = [_table(AnswerRow, [])]
    for setting, utility in measured:
        named = [pa.array([value] * len(chosen)) for value in _named(setting).values()]
        columns = [*named, pa.array(truth), pa.array(utility.estimates[chosen]), pa.array(share)]
        parts.append(pa.Table.from_arrays(columns, names=parts[0].column_names).cast(parts[0].schema))
    return pa.concat_tables(parts)


def _named(setting: Setting) -> dict[str, Any]:
    return {
        "method": setting.method.name,
        "promise": describe_method(setting.method),
        "parameter": setting.parameter,
        "value": setting.value,
    }


def _spread(pool: QueryPool, number: int) -> Whole:
    """Different queries at even steps of their true answers."""
    keys = pool.condition * (int(pool.value.max(initial=0)) + 1) + pool.value
    _, different = np.unique(keys, return_index=True)
    order = different[np.argsort(pool.answers[different], kind="stable")]
    if len(order) <= number:
        return order
    return order[np.rint(np.linspace(0, len(order) - 1, number)).astype(np.int64)]


def violations_table(found: Measured, groups: Groups, promise: ReconstructionPrivacy) -> pa.Table:
    """Which shares of the groups (v_g) and of the records (v_r) would violate the promise, by both bounds.

    That can be said of methods with one retention over all values, so of uniform and sampled ones. Along a
    swept error or chance the promise changes for all methods.

    >>> from showthrough.microdata.queries import crossed_queries
    >>> from showthrough.microdata.utility import measure_settings
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [800, 200]])
    >>> pool = crossed_queries(groups, seed=1)
    >>> found = measure_settings([Setting(UniformPerturbation(0.5))], pool, seed=2, runs=1)
    >>> violations_table(found, groups, ReconstructionPrivacy(0.3, 0.3))["group_rate"].to_pylist()
    [0.5, 0.5]
    """
    rows = list[ViolationRow]()
    known: dict[tuple[Any, ...], ReconstructionCheck] = {}
    for setting, utility in found:
        if not isinstance(setting.method, UniformPerturbation | Sampled) or utility.retention is None:
            continue
        for value, asked in _asked(setting, found, promise):
            sampled = setting.method if isinstance(setting.method, Sampled) else None
            key = (sampled, utility.retention, asked)
            if key not in known:
                known[key] = _checked(groups, asked, utility.retention, sampled)
            rows += _violation_rows({**_named(setting), "value": value}, known[key], asked, utility.retention)
    return _table(ViolationRow, rows)


def _asked(
    setting: Setting, found: Measured, promise: ReconstructionPrivacy
) -> Iterator[tuple[float | None, ReconstructionPrivacy]]:
    """What is asked of a method, with the swept value it is asked at."""
    if setting.parameter not in ("error", "chance"):
        yield setting.value, promise
        return
    swept = {one.value for one, _ in found if one.parameter == setting.parameter and one.value is not None}
    for value in sorted(swept) if setting.value is None else [setting.value]:
        yield value, replace(promise, **{setting.parameter: value})


def _checked(
    groups: Groups, promise: ReconstructionPrivacy, retention: float, sampled: Sampled | None
) -> ReconstructionCheck:
    if sampled is None:
        return promise.check(groups, retention=retention)
    return check_design(groups, sampled.design(groups), promise)


def _violation_rows(
    named: dict[str, Any], found: ReconstructionCheck, promise: ReconstructionPrivacy, retention: float
) -> Iterator[ViolationRow]:
    bound: Bound
    for bound in get_args(Bound):
        violated = found.violated(bound)
        yield ViolationRow(
            **named,
            retention=retention,
            error=promise.error,
            chance=promise.chance,
            bound=bound,
            groups=int(violated.sum()),
            group_rate=found.group_rate(bound),
            records=int(found.sizes[violated].sum()),
            record_rate=found.record_rate(bound),
        )


_TYPES: Final = {"float": pa.float64(), "int": pa.int64(), "str": pa.string(), "Bound": pa.string()}


def _table(kind: type[SettingRow], rows: Sequence[SettingRow]) -> pa.Table:
    types = {field.name: _TYPES[str(field.type).removesuffix(" | None")] for field in fields(kind)}
    return pa.Table.from_pylist([vars(row) for row in rows], pa.schema(list(types.items())))
