"""Compare methods of publishing by the errors of answers to random queries."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough import __version__
from showthrough.cli.promises import Columns
from showthrough.cli.report_jobs import add_report
from showthrough.cli.terminal import Terminal
from showthrough.engine.source import Source
from showthrough.errors import InputError, RunError
from showthrough.publish.comparison import Setting, compare, setting_text, settings, table_of
from showthrough.publish.generalize import generalize
from showthrough.publish.grouped import Sampled
from showthrough.publish.groups import Groups
from showthrough.publish.pools import QueryPool, crossed_queries, single_queries
from showthrough.publish.utility import Comparable, Utility

__all__ = ["Asking", "PoolName", "compare_methods", "read_shares", "read_sweeps"]

PoolName = Literal["crossed", "single"]

KIND = "showthrough comparison"
FACTS = "run.json"
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
    terminal: Terminal,
    *,
    asking: Asking,
    out: Path | None,
    overwrite: bool,
) -> int:
    """Measure, print a table, and write the numbers for charts."""
    chosen = settings(methods, sweeps)
    if out is not None:
        _check_free(out, overwrite=overwrite)
    groups = Groups.read(str(data), sensitive=columns.sensitive, public=columns.public_names)
    pool = _draw(groups, asking, merge=any(isinstance(method, Sampled) for method in methods))
    with terminal.progress("comparing", len(chosen)) as progress:
        found = compare(
            chosen,
            pool,
            seed=asking.seed,
            runs=asking.runs,
            selectivities=asking.selectivities,
            progress=progress,
        )
    table = table_of(found)
    facts = _facts(data, groups, pool, asking, merged=pool.groups is not groups)
    if terminal.as_json:
        terminal.json({**facts, "rows": table.to_pylist(), "folder": None if out is None else str(out)})
    _say(found, groups, pool, asking, terminal)
    if out is not None:
        _write(out, table, facts, overwrite=overwrite)
        page = add_report(out, terminal)
        files = ["comparison.parquet", "comparison.csv", FACTS, *([page] if page else [])]
        terminal.say()
        terminal.say(f"Written to {out}/: {', '.join(files)}.")
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
        terminal.say(
            f"Public values that tell the same are merged, for all methods and queries: {len(pool.groups):,} "
            "groups are left."
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


def _facts(data: Path, groups: Groups, pool: QueryPool, asking: Asking, *, merged: bool) -> dict[str, Any]:
    return {
        "kind": KIND,
        "version": __version__,
        "inputs": {Path(file).name: _hash(file) for file in Source.of(str(data)).files},
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


def _hash(file: str) -> str:
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_free(out: Path, *, overwrite: bool) -> None:
    """Raise unless the folder can be made, or replaced as one that was made by this command."""
    if not out.exists():
        return
    if not out.is_dir():
        raise RunError("the output is a file, not a folder", file=str(out), remedy="choose a new folder")
    if not any(out.iterdir()):
        return
    if not _is_comparison(out):
        raise RunError(
            "the output folder is not empty and holds no comparison",
            file=str(out),
            remedy="choose a new folder",
        )
    if not overwrite:
        raise RunError(
            "there is a comparison already", file=str(out), remedy="choose a new folder, or add --overwrite"
        )


def _is_comparison(folder: Path) -> bool:
    try:
        return json.loads((folder / FACTS).read_text("utf-8"))["kind"] == KIND
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _write(out: Path, table: pa.Table, facts: dict[str, Any], *, overwrite: bool) -> None:
    """All files or none."""
    draft = out.absolute().parent / f".{secrets.token_hex(8)}.partial"
    try:
        draft.mkdir(parents=True)
        pq.write_table(table, draft / "comparison.parquet")
        arrow_csv.write_csv(table, draft / "comparison.csv")
        text = json.dumps(facts, indent=1, ensure_ascii=False)
        (draft / FACTS).write_text(f"{text}\n", "utf-8")
        _check_free(out, overwrite=overwrite)
        if out.exists():
            shutil.rmtree(out)
        draft.rename(out)
    except OSError as problem:
        raise RunError(
            f"the comparison cannot be written: {problem.strerror or problem}",
            file=str(out),
            remedy="choose a folder you may write to",
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
