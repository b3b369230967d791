"""Methods side by side, and along a parameter: one table of errors.

What stands beside the errors of a comparison: single answers, and who would be read off too well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, closest
from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.groups import Groups
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy, largest_counts
from showthrough.microdata.sampled import Sampled, n_trials
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import SELECTIVITIES, Comparable, Utility, measure
from showthrough.microdata.violations import Bound, ReconstructionCheck

__all__ = [
    "PARAMETERS",
    "Setting",
    "answers_table",
    "compare",
    "setting_text",
    "settings",
    "table_of",
    "vary",
    "violations_table",
]

#: What can be swept, and what it is.
PARAMETERS: Final = {
    "retention": "the retention p of uniform and sampled publications",
    "error": "the error λ of reconstruction privacy",
    "chance": "the chance δ of reconstruction privacy",
    "prior": "the prior ρ1",
    "posterior": "the posterior ρ2",
    "l": "the l of an anatomy, and 1/l as the posterior ρ2 of the others: both limit belief to 1/l",
}


@dataclass(frozen=True, eq=False)
class Setting:
    """A method, and which parameter was given which value in it (none for the method as it is)."""

    method: Comparable
    parameter: str | None = None
    value: float | None = None


def vary(method: Comparable, parameter: str, value: float) -> Comparable | None:
    """The method with one parameter changed; nothing for a method that does not have it.

    >>> vary(UniformPerturbation(0.5), "retention", 0.3)
    UniformPerturbation(retention=0.3, promise=None)
    >>> vary(UniformPerturbation(promise=RhoPrivacy(0.1, 0.5)), "l", 4)
    UniformPerturbation(retention=None, promise=RhoPrivacy(prior=0.1, posterior=0.25))
    >>> vary(UniformPerturbation(0.5), "l", 4) is None
    True
    """
    if parameter not in PARAMETERS:
        raise InputError("an unknown parameter", found=parameter, remedy=closest(parameter, PARAMETERS))
    match method:
        case UniformPerturbation(retention=float()) | Sampled() if parameter == "retention":
            return replace(method, retention=value)
        case Sampled(promise=promise) if parameter in ("error", "chance"):
            return replace(method, promise=replace(promise, **{parameter: value}))
        case UniformPerturbation(promise=RhoPrivacy() as promise) | Partitioned(promise=promise) if (
            parameter
            in (
                "prior",
                "posterior",
                "l",
            )
        ):
            changed = {"posterior": 1 / value} if parameter == "l" else {parameter: value}
            return replace(method, promise=replace(promise, **changed))
        case Anatomized() if parameter == "l":
            return Anatomized(LDiversity(_whole(value)))
        case _:
            return None


def _whole(value: float) -> int:
    if value != int(value):
        raise InputError("l is a whole number from 2", found=str(value), remedy="for example 4")
    return int(value)


def settings(
    methods: Sequence[Comparable], sweeps: Mapping[str, Sequence[float]] | None = None
) -> list[Setting]:
    """Every method as it is, or, with sweeps, every method with each value of its swept parameters.

    A sweep changes one parameter at a time. A method without a parameter goes once into the sweep as
    it is, to compare with.
    """
    if not sweeps:
        return [Setting(method) for method in methods]
    found = list[Setting]()
    for parameter, values in sweeps.items():
        swept = {method: [vary(method, parameter, value) for value in values] for method in methods}
        if not any(changed for many in swept.values() for changed in many):
            raise InputError(
                "no method compared has this parameter",
                found=parameter,
                remedy=f"{parameter} is {PARAMETERS[parameter]}",
            )
        for method, many in swept.items():
            if not any(many):
                found.append(Setting(method, parameter, None))
            found += [
                Setting(changed, parameter, value)
                for changed, value in zip(many, values, strict=True)
                if changed is not None
            ]
    return found


def compare(
    chosen: Sequence[Setting],
    pool: QueryPool,
    *,
    seed: int,
    runs: int = 10,
    selectivities: Sequence[float] = SELECTIVITIES,
    progress: Callable[[int], None] | None = None,
) -> list[tuple[Setting, Utility]]:
    """Measure every setting on the same queries."""
    found = list[tuple[Setting, Utility]]()
    for setting in chosen:
        try:
            utility = measure(setting.method, pool, seed=seed, runs=runs, selectivities=selectivities)
        except InputError as error:
            raise error.at(file=f"{setting.method.name}, {setting_text(setting.method)}") from None
        found.append((setting, utility))
        if progress:
            progress(1)
    return found


def setting_text(method: Comparable) -> str:
    """What a method promises, in short.

    >>> setting_text(Partitioned(RhoPrivacy(0.1, 0.5)))
    'ρ 0.1:0.5'
    """
    match method:
        case UniformPerturbation(promise=RhoPrivacy() as promise) | Partitioned(promise=promise):
            return f"ρ {promise.prior:.4g}:{promise.posterior:.4g}"
        case Sampled(promise=ReconstructionPrivacy() as promise, bound=bound):
            exact = ", exact" if bound == "exact" else ""
            return f"λ {promise.error:.4g}, δ {promise.chance:.4g}{exact}"
        case Anatomized(promise=promise):
            return f"l {promise.l}"
        case _:
            return "–"


def table_of(found: Sequence[tuple[Setting, Utility]]) -> pa.Table:
    """One row for each setting and selectivity, for charts."""
    rows = list[dict[str, object]]()
    for setting, utility in found:
        for at, share in enumerate(utility.selectivities):
            number = int(utility.queries[at])
            rows.append(
                {
                    "method": setting.method.name,
                    "promise": setting_text(setting.method),
                    "parameter": setting.parameter,
                    "value": setting.value,
                    "retention": utility.retention,
                    "used": utility.used,
                    "selectivity": share,
                    "queries": number,
                    "runs": len(utility.errors),
                    "error": float(utility.mean[at]) if number else None,
                    "standard_error": _known(float(utility.standard_error[at])) if number else None,
                }
            )
    return pa.Table.from_pylist(rows, _SCHEMA)


def _known(number: float) -> float | None:
    return None if number != number else number


_SCHEMA: Final = pa.schema(
    [
        ("method", pa.string()),
        ("promise", pa.string()),
        ("parameter", pa.string()),
        ("value", pa.float64()),
        ("retention", pa.float64()),
        ("used", pa.float64()),
        ("selectivity", pa.float64()),
        ("queries", pa.int64()),
        ("runs", pa.int64()),
        ("error", pa.float64()),
        ("standard_error", pa.float64()),
    ]
)


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

    >>> from showthrough.microdata.compare import compare
    >>> from showthrough.microdata.queries import crossed_queries
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[600, 400], [800, 200]])
    >>> pool = crossed_queries(groups, seed=1, number=20)
    >>> table = answers_table(compare([Setting(UniformPerturbation(0.5))], pool, seed=2, runs=2), pool)
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

    >>> from showthrough.microdata.compare import compare
    >>> from showthrough.microdata.queries import crossed_queries
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [800, 200]])
    >>> found = compare([Setting(UniformPerturbation(0.5))], crossed_queries(groups, seed=1), seed=2, runs=1)
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
