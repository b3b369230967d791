"""Compare methods of publishing by the errors of answers to random queries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough import __version__
from showthrough.cli.options import Writing
from showthrough.cli.promises import Columns
from showthrough.cli.report_jobs import page_maker
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.folders import REPORT, Description, Draft, result_folder
from showthrough.frames import Source
from showthrough.locks import hold
from showthrough.microdata.compare import (
    Setting,
    answers_table,
    compare,
    setting_text,
    settings,
    table_of,
    violations_table,
)
from showthrough.microdata.generalize import generalize
from showthrough.microdata.groups import Groups
from showthrough.microdata.queries import QueryPool, crossed_queries, single_queries
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.utility import Comparable, Utility

__all__ = [
    "Asking",
    "PoolName",
    "compare_methods",
    "read_shares",
    "read_sweeps",
]

PoolName = Literal["crossed", "single"]

KIND = "showthrough comparison"
PACKAGES = ("showthrough", "numpy", "scipy", "pyarrow", "duckdb")
POOLS = {"crossed": "random conditions, each with every sensitive value", "single": "random queries"}
NUMBERS = {"crossed": 200, "single": 5_000}


@dataclass(frozen=True)
class Asking:
    """Which queries are asked, and how often everything is repeated."""

    pool: PoolName
    number: int | None
    selectivities: tuple[float, ...]
    runs: int
    seed: int
    keep_values: bool

    @property
    def n_drawn(self) -> int:
        """How many queries or conditions are drawn."""
        return self.number or NUMBERS[self.pool]


def read_sweeps(texts: Sequence[str]) -> dict[str, list[float]]:
    """Swept parameters and their values, as ``retention=0.1,0.3``.

    >>> read_sweeps(["retention=0.1,0.3", "l=2,4"])
    {'retention': [0.1, 0.3], 'l': [2.0, 4.0]}
    """
    found: dict[str, list[float]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            found[name.strip()] = [float(value) for value in values.split(",")]
        except ValueError:
            equals = ""
        if not equals or name.strip() not in found:
            raise InputError(
                "cannot read this sweep",
                file="--sweep",
                found=text,
                remedy="write a parameter and its values: retention=0.1,0.3,0.5",
            )
    return found


def read_shares(text: str) -> tuple[float, ...]:
    """Percentages with commas between, as shares in ascending order.

    >>> read_shares("0.1,1")
    (0.001, 0.01)
    """
    try:
        shares = tuple(sorted(float(part) / 100 for part in text.split(",")))
    except ValueError:
        shares = ()
    if not shares or not all(0 <= share < 1 for share in shares):
        raise InputError(
            "selectivities are percentages from 0 to under 100",
            file="--selectivity",
            found=text,
            remedy="for example 0.1,0.5,1",
        )
    return shares


def compare_methods(
    data: Path,
    columns: Columns,
    methods: Sequence[Comparable],
    sweeps: dict[str, list[float]],
    how: Writing,
    *,
    asking: Asking,
    promise: ReconstructionPrivacy | None,
    out: Path | None,
) -> int:
    """Measure, print a table, and write the numbers for charts."""
    with nullcontext() if out is None else hold(out):
        chosen = settings(methods, sweeps)
        return _compare_methods(data, columns, chosen, how, asking=asking, promise=promise, out=out)


def _compare_methods(
    data: Path,
    columns: Columns,
    chosen: Sequence[Setting],
    how: Writing,
    *,
    asking: Asking,
    promise: ReconstructionPrivacy | None,
    out: Path | None,
) -> int:
    terminal, place, page = how.terminal(), nullcontext(), None
    opened = Source.of(data)
    if out is not None:
        asked = {"pool": asking.pool, "drawn": asking.n_drawn, "runs": asking.runs, "seed": asking.seed}
        page = page_maker(out, terminal, wanted=how.report)
        what = Description(KIND, asked, opened.digests(), PACKAGES)
        place = result_folder(out, what, overwrite=how.overwrite, page=page)
    with place as draft:
        with terminal.step("counting groups and drawing queries"):
            groups = Groups.read(opened, sensitive=columns.sensitive, public=columns.public_names)
            pool = _draw(groups, asking, merge=any(isinstance(one.method, Sampled) for one in chosen))
        with terminal.step("comparing"), terminal.progress("comparing", len(chosen)) as progress:
            found = compare(
                chosen,
                pool,
                seed=asking.seed,
                runs=asking.runs,
                selectivities=asking.selectivities,
                progress=progress,
            )
        tables = {"comparison": table_of(found), "answers": answers_table(found, pool)}
        if promise is not None:
            with terminal.step("checking groups"):
                tables["violations"] = violations_table(found, pool.groups, promise)
        facts = _facts(opened, groups, pool, asking, merged=pool.groups is not groups)
        if draft is not None:
            with terminal.step("writing"):
                _write(draft, tables, facts)
    if terminal.as_json:
        checked = {"violations": tables["violations"].to_pylist()} if promise is not None else {}
        written = {
            "folder": None if out is None else str(out),
            "report": str(out / REPORT) if out and page else None,
        }
        terminal.json({**facts, "rows": tables["comparison"].to_pylist(), **checked, **written})
    _say(found, groups, pool, asking, terminal)
    if out is not None:
        files = ["comparison.parquet", "comparison.csv", *(f"{name}.parquet" for name in list(tables)[1:])]
        terminal.say()
        terminal.say(f"Written to {out}/: {', '.join([*files, 'run.json', *([REPORT] if page else [])])}.")
    return 0


def _draw(groups: Groups, asking: Asking, *, merge: bool) -> QueryPool:
    merged = generalize(groups) if merge and not asking.keep_values and groups.public.column_names else None
    make = crossed_queries if asking.pool == "crossed" else single_queries
    least = asking.selectivities[0]
    return make(groups, seed=asking.seed, number=asking.n_drawn, least=least, merged=merged)


def _say(
    found: Sequence[tuple[Setting, Utility]],
    groups: Groups,
    pool: QueryPool,
    asking: Asking,
    terminal: Terminal,
) -> None:
    terminal.say(
        f"{groups.records:,} records in {len(groups):,} groups, {len(groups.totals):,} sensitive values; "
        f"{asking.n_drawn:,} {POOLS[asking.pool]}; {asking.runs:,} runs.",
        style="bold",
    )
    if pool.groups is not groups:
        left = f"{len(pool.groups):,} groups are" if len(pool.groups) != 1 else "1 group is"
        terminal.say(
            f"Public values that tell the same are merged, for all methods and queries: {left} left."
        )
    terminal.say(
        "Mean relative error in percent of queries that count at least so many percent of the records, "
        "± its standard error over runs:"
    )
    terminal.say()
    queries = found[0][1].queries.tolist()
    heads = [
        f"≥ {share:.4g} % ({number:,})"
        for share, number in zip((100 * s for s in asking.selectivities), queries, strict=True)
    ]
    swept = any(setting.parameter for setting, _ in found)
    first = ["method", "promise", *(["swept"] if swept else []), "retention", "used", *heads]
    lines = [first]
    for setting, utility in found:
        value = "" if setting.value is None else f"{setting.parameter} {setting.value:.4g}"
        kept = "–" if utility.retention is None else f"{utility.retention:.4f}"
        errors = [
            f"{100 * mean:.2f} ± {100 * error:.2f}"
            for mean, error in zip(utility.mean, utility.standard_error, strict=True)
        ]
        name = [setting.method.name, setting_text(setting.method), *([value] if swept else [])]
        lines.append([*name, kept, f"{utility.used:.1%}", *errors])
    terminal.table(lines, indent=0)


def _facts(data: Source, groups: Groups, pool: QueryPool, asking: Asking, *, merged: bool) -> dict[str, Any]:
    return {
        "kind": KIND,
        "version": __version__,
        "inputs": data.digests(),
        "records": groups.records,
        "groups": len(groups),
        "groups_after_merging": len(pool.groups) if merged else None,
        "sensitive_values": len(groups.totals),
        "pool": asking.pool,
        "drawn": asking.n_drawn,
        "queries": len(pool),
        "runs": asking.runs,
        "seed": asking.seed,
    }


def _write(draft: Draft, tables: dict[str, pa.Table], facts: dict[str, Any]) -> None:
    for name, table in tables.items():
        pq.write_table(table, draft.path / f"{name}.parquet")
    arrow_csv.write_csv(tables["comparison"], draft.path / "comparison.csv")
    # What is known about the records stands beside what every folder says of itself.
    draft.parameters["queries"], draft.facts = facts["queries"], facts
