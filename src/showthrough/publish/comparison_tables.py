"""What stands beside the errors of a comparison: single answers, and who would be read off too well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.publish.comparison import Setting, setting_text
from showthrough.publish.grouped import Sampled
from showthrough.publish.groups import Groups
from showthrough.publish.method import Uniform
from showthrough.publish.pools import QueryPool
from showthrough.publish.reconstruction import ReconstructionPrivacy, largest_counts
from showthrough.publish.sample import n_trials
from showthrough.publish.utility import Utility
from showthrough.publish.violations import Bound, ReconstructionCheck

__all__ = ["answers_table", "violations_table"]

Whole = NDArray[np.int64]

#: Queries whose answers are kept for each setting.
MOST_ANSWERS: Final = 600

_SETTING: Final = [
    ("method", pa.string()),
    ("promise", pa.string()),
    ("parameter", pa.string()),
    ("value", pa.float64()),
]
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


def answers_table(
    found: Sequence[tuple[Setting, Utility]], pool: QueryPool, *, number: int = MOST_ANSWERS
) -> pa.Table:
    """True answers and the estimates of each setting's first run, for the same queries.

    Of many different queries, ``number`` are taken at even steps from the smallest to the largest.

    >>> from showthrough.publish.comparison import compare
    >>> from showthrough.publish.pools import crossed_queries
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[600, 400], [800, 200]])
    >>> pool = crossed_queries(groups, seed=1, number=20)
    >>> table = answers_table(compare([Setting(Uniform(0.5))], pool, seed=2, runs=2), pool)
    >>> table["truth"].to_pylist()
    [200, 400, 600, 800]
    """
    chosen = _spread(pool, number)
    truth, share = pool.answers[chosen], pool.selectivity[chosen]
    parts = [pa.Table.from_pylist([], _ANSWERS)]
    for setting, utility in found:
        named = [pa.array([value] * len(chosen)) for value in _named(setting).values()]
        columns = [*named, pa.array(truth), pa.array(utility.estimates[chosen]), pa.array(share)]
        parts.append(pa.Table.from_arrays(columns, names=_ANSWERS.names).cast(_ANSWERS))
    return pa.concat_tables(parts)


def _named(setting: Setting) -> dict[str, Any]:
    return {
        "method": setting.method.name,
        "promise": setting_text(setting.method),
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


def violations_table(
    found: Sequence[tuple[Setting, Utility]], groups: Groups, promise: ReconstructionPrivacy
) -> pa.Table:
    """Which shares of the groups (v_g) and of the records (v_r) would violate the promise, by both bounds.

    That can be said of methods with one retention over all values, so of uniform and sampled ones. Along a
    swept error or chance the promise changes for all methods.

    >>> from showthrough.publish.comparison import compare
    >>> from showthrough.publish.pools import crossed_queries
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [800, 200]])
    >>> found = compare([Setting(Uniform(0.5))], crossed_queries(groups, seed=1), seed=2, runs=1)
    >>> violations_table(found, groups, ReconstructionPrivacy(0.3, 0.3))["group_rate"].to_pylist()
    [0.5, 0.5]
    """
    rows = list[dict[str, Any]]()
    known: dict[tuple[Any, ...], ReconstructionCheck] = {}
    for setting, utility in found:
        if not isinstance(setting.method, Uniform | Sampled) or utility.retention is None:
            continue
        for value, asked in _asked(setting, found, promise):
            sampled = setting.method if isinstance(setting.method, Sampled) else None
            key = (sampled, utility.retention, asked)
            if key not in known:
                known[key] = _checked(groups, asked, utility.retention, sampled)
            rows += _rows({**_named(setting), "value": value}, known[key], asked, utility.retention)
    return pa.Table.from_pylist(rows, _VIOLATIONS)


def _asked(
    setting: Setting, found: Sequence[tuple[Setting, Utility]], promise: ReconstructionPrivacy
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
