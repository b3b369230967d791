"""Methods side by side, and along a parameter: one table of errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from showthrough.errors import InputError, closest
from showthrough.publish.grouped import Anatomized, Sampled
from showthrough.publish.method import Partitioned, Uniform
from showthrough.publish.pools import QueryPool
from showthrough.publish.promise import LDiversity, ReconstructionPrivacy, RhoPrivacy
from showthrough.publish.utility import SELECTIVITIES, Comparable, Utility, measure

__all__ = ["PARAMETERS", "Setting", "compare", "setting_text", "settings", "table_of", "vary"]

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

    >>> vary(Uniform(0.5), "retention", 0.3)
    Uniform(retention=0.3, promise=None)
    >>> vary(Uniform(promise=RhoPrivacy(0.1, 0.5)), "l", 4)
    Uniform(retention=None, promise=RhoPrivacy(prior=0.1, posterior=0.25))
    >>> vary(Uniform(0.5), "l", 4) is None
    True
    """
    if parameter not in PARAMETERS:
        raise InputError("an unknown parameter", found=parameter, remedy=closest(parameter, PARAMETERS))
    match method:
        case Uniform(retention=float()) | Sampled() if parameter == "retention":
            return replace(method, retention=value)
        case Sampled(promise=promise) if parameter in ("error", "chance"):
            return replace(method, promise=replace(promise, **{parameter: value}))
        case Uniform(promise=RhoPrivacy() as promise) | Partitioned(promise=promise) if parameter in (
            "prior",
            "posterior",
            "l",
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
        case Uniform(promise=RhoPrivacy() as promise) | Partitioned(promise=promise):
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
