"""Nested areas of a run: an area that is published with its parts, and their audits."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from showthrough.errors import RecordsError, RunError
from showthrough.release import Layout, Release
from showthrough.tables.linked.audit import audit_nest
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import NestChecker
from showthrough.tables.result import Audit
from showthrough.tables.run.inputs import Nested, Settings
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.variability import parts_with_variability
from showthrough.tables.stored import WHOLE_COLUMNS

__all__ = [
    "audited_parts",
    "nest_checker",
    "nests_of",
    "whole_table",
    "with_siblings",
]


def audited_parts(area: Nested, settings: Settings) -> tuple[Audit, ...]:
    """The audits of all parts."""
    for part in area.parts:
        if part.problem:
            raise RecordsError(part.problem)
    truth = {part.release.area: part.truth for part in area.parts if part.truth is not None}
    found = audit_nest(
        Nest(area.whole, tuple(part.release for part in area.parts)),
        truth=truth if len(truth) == len(area.parts) else None,
        scope=settings.scope,
        effort=settings.effort,
        seed=settings.seed,
        findings=settings.findings,
    )
    return parts_with_variability(found, settings)


def whole_table(area: Nested) -> pa.Table:
    """What is published about the area, and the names of its parts."""
    names = [part.release.area for part in area.parts]
    row = {"area": area.whole.area, "parts": names, "low": area.whole.low, "high": area.whole.high}
    return pa.Table.from_pylist([row], WHOLE_COLUMNS)


class _Remembered:
    """The checker of the nest that was looked at last: its parts come one after the other."""

    tables: tuple[pa.Table, pa.Table] | None = None
    checker: NestChecker


def nest_checker(whole: pa.Table, parts: pa.Table, layout: Layout) -> NestChecker:
    """The checker of an area and its parts, from the row of the area and the counts of its parts."""
    known = _Remembered.tables
    if known is None or known[0] is not whole or known[1] is not parts:
        row = whole.to_pylist()[0]
        above = Release(layout, np.array(row["low"]), np.array(row["high"]), row["area"])
        inside = {
            one["area"]: Release(layout, np.array(one["low"]), np.array(one["high"]), one["area"]).cells
            for one in parts.to_pylist()
        }
        _Remembered.checker = NestChecker(layout.schema, above.cells, inside)
        _Remembered.tables = whole, parts
    return _Remembered.checker


def with_siblings(tables: list[dict[str, pa.Table]], whole: pa.Table) -> list[dict[str, pa.Table]]:
    """The tables of all parts of an area, each with those of the area and the counts of all parts."""
    siblings = pa.concat_tables([one["counts"] for one in tables])
    names = [str(one["areas"]["area"][0]) for one in tables]
    if whole.num_rows != 1 or whole["parts"][0].as_py() != names or siblings["area"].to_pylist() != names:
        raise RunError(
            f"wholes.parquet: the parts of {whole['area'][0].as_py()} are not where they should be"
        )
    differ = pa.concat_tables([one["variability"] for one in tables])
    return [{**one, "wholes": whole, "siblings": siblings, "differ": differ} for one in tables]


def nests_of(run: AuditRun, wanted: Collection[str]) -> dict[str, Nest]:
    """For areas of a run that are parts of larger ones: the larger area with all its parts."""
    wholes = [
        row
        for batch in run.batches("wholes")
        for row in batch.to_pylist()
        if any(name in wanted for name in row["parts"])
    ]
    needed = {name for row in wholes for name in row["parts"]}
    counts = {
        row["area"]: Release(run.layout, np.array(row["low"]), np.array(row["high"]), row["area"])
        for batch in run.batches("counts", rows=2**10)
        if needed
        for row in batch.to_pylist()
        if row["area"] in needed
    }
    found: dict[str, Nest] = {}
    for row in wholes:
        whole = Release(run.layout, np.array(row["low"]), np.array(row["high"]), row["area"])
        nest = Nest(whole, tuple(counts[name] for name in row["parts"]))
        found |= dict.fromkeys(row["parts"], nest)
    return found
