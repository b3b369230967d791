"""The numbers of a comparison as tables: errors, single answers, and groups that violate a promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import Setting, describe_method
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy, largest_counts
from showthrough.microdata.sampled import Sampled, n_trials
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import Utility
from showthrough.microdata.violations import Bound, ReconstructionCheck

__all__ = [
    "MOST_ANSWERS",
    "answers_table",
    "errors_table",
    "violations_table",
]

Measured = Sequence[tuple[Setting, Utility]]
Whole = NDArray[np.int64]

#: Queries whose answers are kept for each setting.
MOST_ANSWERS: Final = 600

_SETTING: Final = [
    ("method", pa.string()),
    ("promise", pa.string()),
    ("parameter", pa.string()),
    ("value", pa.float64()),
]
_ERRORS: Final = pa.schema(
    [
        *_SETTING,
        ("retention", pa.float64()),
        ("used", pa.float64()),
        ("selectivity", pa.float64()),
        ("queries", pa.int64()),
        ("runs", pa.int64()),
        ("error", pa.float64()),
        ("standard_error", pa.float64()),
    ]
)
_ANSWERS: Final = pa.schema(
    [*_SETTING, ("truth", pa.int64()), ("estimate", pa.float64()), ("selectivity", pa.float64())]
)
_VIOLATIONS: Final = pa.schema(
    [
        *_SETTING,
        ("retention", pa.float64()),
        ("error", pa.float64()),
        ("chance", pa.float64()),
        ("bound", pa.string()),
        ("groups", pa.int64()),
        ("group_rate", pa.float64()),
        ("records", pa.int64()),
        ("record_rate", pa.float64()),
    ]
)


def errors_table(measured: Measured) -> pa.Table:
    """One row for each setting and selectivity."""
    rows = list[dict[str, object]]()
    for setting, utility in measured:
        for at, share in enumerate(utility.selectivities):
            number = int(utility.queries[at])
            rows.append(
                {
                    **_named(setting),
                    "retention": utility.retention,
                    "used": utility.used,
                    "selectivity": share,
                    "queries": number,
                    "runs": len(utility.errors),
                    "error": float(utility.mean[at]) if number else None,
                    "standard_error": _known(float(utility.standard_error[at])) if number else None,
                }
            )
    return pa.Table.from_pylist(rows, _ERRORS)


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
    parts = [pa.Table.from_pylist([], _ANSWERS)]
    for setting, utility in measured:
        named = [pa.array([value] * len(chosen)) for value in _named(setting).values()]
        columns = [*named, pa.array(truth), pa.array(utility.estimates[chosen]), pa.array(share)]
        parts.append(pa.Table.from_arrays(columns, names=_ANSWERS.names).cast(_ANSWERS))
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
    rows = list[dict[str, Any]]()
    known: dict[tuple[Any, ...], ReconstructionCheck] = {}
    for setting, utility in found:
        if not isinstance(setting.method, UniformPerturbation | Sampled) or utility.retention is None:
            continue
        for value, asked in _asked(setting, found, promise):
            sampled = setting.method if isinstance(setting.method, Sampled) else None
            key = (sampled, utility.retention, asked)
            if key not in known:
                known[key] = _checked(groups, asked, utility.retention, sampled)
            rows += _rows({**_named(setting), "value": value}, known[key], asked, utility.retention)
    return pa.Table.from_pylist(rows, _VIOLATIONS)


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
    trials = n_trials(
        groups.counts, sampled.promise, retention=retention, bound=sampled.bound, band=sampled.band
    )
    frequency = largest_counts(groups) / np.maximum(groups.sizes, 1)
    n_values = len(groups.totals)
    found = promise.check_sizes(trials, frequency, retention=retention, n_values=n_values)
    return replace(found, sizes=groups.sizes)


def _rows(
    named: dict[str, Any], found: ReconstructionCheck, promise: ReconstructionPrivacy, retention: float
) -> Iterator[dict[str, Any]]:
    bound: Bound
    for bound in get_args(Bound):
        violated = found.violated(bound)
        yield {
            **named,
            "retention": retention,
            "error": promise.error,
            "chance": promise.chance,
            "bound": bound,
            "groups": int(violated.sum()),
            "group_rate": found.group_rate(bound),
            "records": int(found.sizes[violated].sum()),
            "record_rate": found.record_rate(bound),
        }
