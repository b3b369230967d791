"""What a run says, in short: the headline, the figures, and the most telling findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from showthrough.schema import Schema
from showthrough.tables.run.folder import AuditRun

__all__ = [
    "EVIDENCE",
    "exit_code",
    "figures",
    "headline",
    "ranked",
    "several",
    "telling",
    "unsettled",
]

#: How each kind of evidence reads in a table of figures, in order.
EVIDENCE = {
    "stated": "a published cell states it",
    "cell": "one cell, given what cannot exist",
    "algebra": "sums and differences of cells",
    "linear": "inequalities between cells",
    "branching": "inequalities, case by case",
}

#: Findings looked at when the most telling ones are chosen.
MOST_LOOKED_AT = 20_000


def exit_code(run: AuditRun) -> int:
    """1 findings, 2 an area contradicts itself, 3 something is undecided, 0 none of these."""
    summary = run.summary
    if summary["findings"]:
        return 1
    parts = run.batches("areas", ["status"])
    if any(pc.any(pc.starts_with(part["status"], "contradiction")).as_py() for part in parts):
        return 2
    return 3 if summary["undecided"] or summary["areas_failed"] else 0


def headline(summary: Mapping[str, Any], schema: Schema) -> str:
    """The result in one sentence.

    >>> schema = Schema.of({"sex": ["f", "m"]}, record="person")
    >>> print(headline({"areas": 12, "areas_with_findings": 5, "findings": 41, "singletons": 17,
    ...                 "undecided": 0, "areas_failed": 0}, schema))
    5 of 12 areas give away something about single records: 41 findings, 17 of them about exactly one person.
    """
    n, found = summary["areas"], summary["findings"]
    if not found:
        where = "Nothing shows through" if n == 1 else f"Nothing shows through in any of {n:,} areas"
        left = summary["undecided"]
        but = f", but {several(left, 'claim')} {'is' if left == 1 else 'are'} undecided" if left else ""
        return f"{where} beyond what the cells state{but}."
    if n == 1:
        who = "These tables give"
    else:
        verb = "gives" if summary["areas_with_findings"] == 1 else "give"
        who = f"{summary['areas_with_findings']:,} of {n:,} areas {verb}"
    single = f"{summary['singletons']:,} of them about exactly one {schema.record}"
    return f"{who} away something about single records: {several(found, 'finding')}, {single}."


def figures(run: AuditRun) -> list[tuple[str, str, str]]:
    """Rows of (verdict, evidence, number of claims) that add up to all claims decided."""
    proved, others = Counter[str](), Counter[tuple[str, str]]()
    columns = ["verdict", "evidence", "direct"]
    for part in run.batches("claims", columns):
        for row in part.group_by(columns).aggregate([([], "count_all")]).to_pylist():
            if row["verdict"] == "verified":
                proved["stated" if row["direct"] else row["evidence"]] += row["count_all"]
            elif row["verdict"] != "refuted":
                others[row["verdict"], row["evidence"]] += row["count_all"]
    rows = [("verified", EVIDENCE[kind], proved[kind]) for kind in EVIDENCE if kind in proved]
    rows.append(("refuted", "two datasets disagree on it", run.summary["refuted"]))
    rows += [(verdict, _why(verdict, evidence), n) for (verdict, evidence), n in sorted(others.items())]
    return [(*_once(rows, at), f"{row[2]:,}") for at, row in enumerate(rows)]


def _why(verdict: str, evidence: str) -> str:
    if verdict == "undecided":
        return {"solver only": "only a solver says so"}.get(evidence, "the effort ran out")
    return EVIDENCE.get(evidence, evidence)


def _once(rows: list[tuple[str, str, int]], at: int) -> tuple[str, str]:
    """Verdict and evidence of a row, the verdict only where it changes."""
    verdict, evidence, _ = rows[at]
    return ("" if at and rows[at - 1][0] == verdict else verdict), evidence


def telling(run: AuditRun, n: int = 5) -> list[tuple[str, str]]:
    """The most telling findings as (area, sentence): about one record, much learnt from little.

    At most one of each area, as long as there are enough areas.
    """
    columns = ["area", "kind", "k", "n_tables", "knows", "learns", "sentence"]
    chosen = ranked(run, columns)[:n]
    return [(row["area"], row["sentence"]) for row in sorted(chosen, key=_rank)]


def ranked(
    run: AuditRun, columns: Sequence[str] | None = None, *, most: int = MOST_LOOKED_AT
) -> list[dict[str, Any]]:
    """The most telling findings: the best one of every area, then every area's second, and so on."""
    down: Literal["descending"] = "descending"
    kept: list[pa.Table] = []
    for part in run.batches("findings", columns):
        found = pa.concat_tables([*kept, part])
        order = pc.sort_indices(found, sort_keys=[("kind", down), ("k", down), ("n_tables", down)])
        kept = [found.take(order[:most]).combine_chunks()]
    rows = sorted((row for part in kept for row in part.to_pylist()), key=_rank)
    place, seen = list[int](), Counter[str]()
    for row in rows:
        place.append(seen[row["area"]])
        seen[row["area"]] += 1
    return [rows[at] for at in sorted(range(len(rows)), key=place.__getitem__)]


def _rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    knows, learns = len(json.loads(row["knows"])), len(json.loads(row["learns"]))
    kinds = ("singleton", "group", "group of unknown size")
    surprise = learns - knows if knows else 0
    return kinds.index(row["kind"]), -surprise, -row["n_tables"], row["area"], row["sentence"]


def unsettled(run: AuditRun) -> Iterator[str]:
    """Sentences about areas that could not be decided, or not wholly."""
    parts = run.batches("areas", ["area", "status", "undecided"])
    open_ = (part.filter(pc.field("status") != "decided").to_pylist() for part in parts)
    for row in chain.from_iterable(open_):
        name = f"{row['area']}: " if row["area"] else ""
        if row["status"] == "partly decided":
            yield f"{name}{several(row['undecided'], 'claim')} undecided; a larger --effort may settle them"
        else:
            yield f"{name}{row['status']}"


def several(count: int, noun: str) -> str:
    """A number of things: ``1 claim``, ``2,000 claims``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
