"""Some areas decided one after the other, as Arrow tables ready to be written."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from showthrough.audit.answers import REFUTED, VERIFIED
from showthrough.audit.area import FINDING_COLUMNS, Audit
from showthrough.audit.decide import Scope, audit
from showthrough.audit.proof import Proof
from showthrough.audit.wording import CLAIM_COLUMNS
from showthrough.errors import Contradiction, RecordsError, Undecided
from showthrough.records import Records
from showthrough.release import Release

__all__ = [
    "AREA_COLUMNS",
    "COUNT_COLUMNS",
    "PROOF_COLUMNS",
    "TABLES",
    "Area",
    "Broken",
    "Settings",
    "decide_batch",
]

AREA_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("status", pa.string()),
        ("records", pa.int64()),
        ("record_types", pa.int64()),
        ("worlds_seen", pa.int64()),
        ("unique", pa.bool_()),
        ("verified", pa.int64()),
        ("refuted", pa.int64()),
        ("undecided", pa.int64()),
        ("impossible", pa.int64()),
        ("direct", pa.int64()),
        ("findings", pa.int64()),
        ("singletons", pa.int64()),
        ("steps", pa.int64()),
        ("programs", pa.int64()),
        ("nodes", pa.int64()),
        ("solves", pa.int64()),
    ]
)

PROOF_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("proof", pa.string()),
        ("claims", pa.list_(pa.string())),
    ]
)

WITNESS_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("selection", pa.string()),
        ("first", pa.string()),
        ("second", pa.string()),
    ]
)

COUNT_COLUMNS = pa.schema(
    [("area", pa.string()), ("low", pa.list_(pa.int64())), ("high", pa.list_(pa.int64()))]
)

TIMING_COLUMNS = pa.schema([("area", pa.string()), ("core_seconds", pa.float64())])

#: Every table of a run and its columns.
TABLES: dict[str, pa.Schema] = {
    "claims": CLAIM_COLUMNS,
    "areas": AREA_COLUMNS,
    "findings": FINDING_COLUMNS,
    "proofs": PROOF_COLUMNS,
    "witnesses": WITNESS_COLUMNS,
    "counts": COUNT_COLUMNS,
    "timing": TIMING_COLUMNS,
}


@dataclass(frozen=True)
class Settings:
    """How to audit: the scope, the effort, the seed, and what to write."""

    scope: Scope = field(default_factory=Scope)
    effort: float = 1.0
    seed: int = 0
    refuted: bool = False
    keep_going: bool = False


@dataclass(frozen=True, eq=False)
class Area:
    """One area to audit: what is published, and the records where they are at hand.

    ``problem`` says why it cannot be audited, where the reader of its input has seen that already.
    """

    release: Release
    truth: Records | None = None
    problem: str = ""


@dataclass(frozen=True)
class Broken:
    """An area of which there are not even counts, and why."""

    area: str
    why: str


def decide_batch(areas: Sequence[Area | Broken], settings: Settings) -> dict[str, pa.Table]:
    """All tables for these areas, in order. One thread, so that nothing depends on the machine."""
    parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    with threadpool_limits(1):
        for area in areas:
            for name, table in _decide(area, settings).items():
                parts[name].append(table)
    return {
        name: pa.concat_tables(tables).combine_chunks() if tables else TABLES[name].empty_table()
        for name, tables in parts.items()
    }


def _decide(area: Area | Broken, settings: Settings) -> dict[str, pa.Table]:
    if isinstance(area, Broken):
        if not settings.keep_going:
            raise RecordsError(area.why)
        return {"areas": _failed(area.area, f"contradiction: {area.why}")}
    started = time.process_time()
    found, release = _audited(area, settings), area.release
    tables = _tables(found, settings) if isinstance(found, Audit) else {"areas": _failed(release.area, found)}
    tables["counts"] = pa.Table.from_pylist(
        [{"area": release.area, "low": release.low, "high": release.high}], COUNT_COLUMNS
    )
    spent = time.process_time() - started
    tables["timing"] = pa.Table.from_pylist([{"area": release.area, "core_seconds": spent}], TIMING_COLUMNS)
    return tables


def _audited(area: Area, settings: Settings) -> Audit | str:
    """The audit, or why there is none."""
    try:
        if area.problem:
            raise RecordsError(area.problem)
        return audit(
            area.release,
            truth=area.truth,
            scope=settings.scope,
            effort=settings.effort,
            seed=settings.seed,
        )
    except (Contradiction, RecordsError) as error:
        if not settings.keep_going:
            raise
        return f"contradiction: {error}"
    except Undecided as error:
        return f"undecided: {error}"


def _tables(found: Audit, settings: Settings) -> dict[str, pa.Table]:
    return {
        "claims": found.table(refuted=settings.refuted),
        "findings": found.findings_table(),
        "areas": pa.Table.from_pylist([_area_row(found)], AREA_COLUMNS),
        "proofs": pa.Table.from_pylist(list(_proof_rows(found)), PROOF_COLUMNS),
        "witnesses": pa.Table.from_pylist(
            list(_witness_rows(found)) if settings.refuted else [], WITNESS_COLUMNS
        ),
    }


def _area_row(found: Audit) -> dict[str, object]:
    return {
        "area": found.area,
        "status": "decided" if not found.n_of("undecided") else "partly decided",
        "records": found.n_records,
        "record_types": found.n_types,
        "worlds_seen": found.n_worlds,
        "unique": found.unique,
        "verified": found.n_of("verified"),
        "refuted": found.n_of("refuted"),
        "undecided": found.n_of("undecided"),
        "impossible": found.n_of("impossible"),
        "direct": int(found.facts.direct.sum()) + sum(v.direct for v in found.extra),
        "findings": len(found.findings),
        "singletons": sum(1 for one in found.findings if one.kind == "singleton"),
        **{name: found.work.get(name, 0) for name in ("steps", "programs", "nodes", "solves")},
    }


def _failed(area: str, why: str) -> pa.Table:
    row = dict.fromkeys(AREA_COLUMNS.names, 0)
    row |= {"area": area, "status": why, "records": None, "unique": None}
    return pa.Table.from_pylist([row], AREA_COLUMNS)


def _proof_rows(found: Audit) -> Iterator[dict[str, object]]:
    """One row per proved question, with every claim that has the same record types."""
    facts = found.facts
    verified = np.flatnonzero(facts.state == VERIFIED)
    order = verified[np.lexsort((facts.k[verified], facts.question[verified]))]
    selections = [str(s) for s in facts.wording.selections(order).to_pylist()] if len(order) else []
    starts = np.flatnonzero(np.diff(facts.question[order], prepend=-1))
    stops = [*starts[1:], len(order)] if len(order) else []
    for start, stop in zip(starts, stops, strict=True):
        proof = facts.proof(int(order[start]))
        if proof is not None:
            yield _proof_row(found.area, proof, sorted(selections[start:stop]))
    for verdict in found.extra:
        if verdict.kind in ("verified", "impossible") and verdict.proof is not None:
            yield _proof_row(found.area, verdict.proof, [verdict.claim.selection.to_json()])
    for finding in found.findings:
        for proof in finding.proofs:
            yield _proof_row(found.area, proof, [])


def _proof_row(area: str, proof: Proof, claims: Sequence[str]) -> dict[str, object]:
    return {"area": area, "proof": proof.to_json(), "claims": list(claims)}


def _witness_rows(found: Audit) -> Iterator[dict[str, object]]:
    """For every refuted claim two datasets that disagree on it."""
    facts = found.facts
    refuted = np.flatnonzero(facts.state == REFUTED)
    selections = facts.wording.selections(refuted).to_pylist() if len(refuted) else []
    for at, selection in zip(refuted, selections, strict=True):
        first, second = facts.disagreeing(int(at))
        yield {
            "area": found.area,
            "selection": selection,
            "first": first.to_json(),
            "second": second.to_json(),
        }
