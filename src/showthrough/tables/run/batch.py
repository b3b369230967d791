"""Batches of areas: decided one area after the other, and stored on disk where several are under way.

:func:`decide_batch` makes the tables of a batch. :class:`BatchStore` does so wherever it is called:
a process on any machine reads the batch from the run's working folder and writes its tables there,
so nothing large passes through the process that runs the whole. A result appears whole or not at
all, and the first one stays, so doing a batch twice does no harm. It is sealed with the hashes of
its files and the key of its run, so that a damaged result, or one of another run, is decided again.
"""

from __future__ import annotations

import gc
import json
import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from showthrough.errors import InputError, ProofError, RecordsError
from showthrough.files import file_digest, read_json, write_text
from showthrough.folders import remove
from showthrough.records import Records, code_dtype
from showthrough.release import Layout, Release
from showthrough.tables.audit import audit
from showthrough.tables.proof import Proof
from showthrough.tables.result import Audit
from showthrough.tables.run.inputs import (
    Area,
    Broken,
    Input,
    Nested,
    Planned,
    Settings,
    names_of,
    ready,
    records_of,
)
from showthrough.tables.run.variability import differ_columns, variability_table, with_variability
from showthrough.tables.search.questions import REFUTED
from showthrough.tables.stored import (
    AREA_COLUMNS,
    COUNT_COLUMNS,
    OPTIONAL,
    PROOF_COLUMNS,
    TABLES,
    TIMING_COLUMNS,
    WITNESS_COLUMNS,
    layout_from_json,
    layout_to_json,
)

__all__ = [
    "Area",
    "BatchStore",
    "Broken",
    "Input",
    "Nested",
    "Planned",
    "Settings",
    "decide_batch",
    "names_of",
    "ready",
]


def decide_batch(areas: Sequence[Area | Broken | Nested], settings: Settings) -> dict[str, pa.Table]:
    """All tables for these areas, in order. One thread, so that nothing depends on the machine."""
    parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    with threadpool_limits(1), _rare_collections():
        for area in areas:
            several = _decide_parts(area, settings) if isinstance(area, Nested) else [_decide(area, settings)]
            for name, table in (pair for tables in several for pair in tables.items()):
                parts[name].append(table)
    return {
        name: pa.concat_tables(tables).combine_chunks() if tables else TABLES[name].empty_table()
        for name, tables in parts.items()
    }


#: New objects after which Python looks for garbage, and how often it looks at older ones.
_GARBAGE = (50_000, 20, 20)


@contextmanager
def _rare_collections() -> Generator[None]:
    """Let Python look for garbage less often: proofs are many objects, and none of them garbage."""
    usual = gc.get_threshold()
    gc.set_threshold(*_GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _decide(area: Area | Broken, settings: Settings) -> dict[str, pa.Table]:
    if isinstance(area, Broken):
        if not settings.keep_going:
            raise RecordsError(area.why)
        return {"areas": _failed(area.area, f"contradiction: {area.why}")}
    started = time.process_time()
    return _decided(settings.attempt(lambda: _audited(area, settings)), area.release, settings, started, 1)


def _decide_parts(area: Nested, settings: Settings) -> Iterator[dict[str, pa.Table]]:
    """The tables of an area and of its parts, one after the other; the time is shared equally."""
    from showthrough.tables.run.nests import audited_parts, whole_table

    yield {"wholes": whole_table(area)}
    started = time.process_time()
    found = settings.attempt(lambda: audited_parts(area, settings))
    for at, part in enumerate(area.parts):
        mine = found if isinstance(found, str) else found[at]
        yield _decided(mine, part.release, settings, started, len(area.parts))


def _decided(
    found: Audit | str, release: Release, settings: Settings, started: float, n_parts: int
) -> dict[str, pa.Table]:
    """The tables of one area that was audited since so many seconds, with others or alone."""
    try:
        if isinstance(found, Audit):
            tables = _tables(found, settings)
        else:
            tables = {"areas": _failed(release.area, found)}
    except ProofError as error:
        tables = {"areas": _failed(release.area, f"undecided: the checker says: {error}; please report this")}
    tables["counts"] = pa.Table.from_pylist(
        [{"area": release.area, "low": release.low, "high": release.high}], COUNT_COLUMNS
    )
    spent = (time.process_time() - started) / n_parts
    tables["timing"] = pa.Table.from_pylist([{"area": release.area, "core_seconds": spent}], TIMING_COLUMNS)
    return tables


def _audited(area: Area, settings: Settings) -> Audit:
    if area.problem:
        raise RecordsError(area.problem)
    found = audit(
        area.release,
        truth=area.truth,
        scope=settings.scope,
        effort=settings.effort,
        seed=settings.seed,
        findings=settings.findings,
    )
    return with_variability(found, settings, truth=area.truth)


def _tables(found: Audit, settings: Settings) -> dict[str, pa.Table]:
    return {
        "claims": found.table(refuted=settings.refuted),
        "findings": found.findings_table(),
        "areas": pa.Table.from_pylist([_area_row(found)], AREA_COLUMNS),
        "variability": variability_table(found),
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
        "direct": int(found.claim_table.direct.sum()) + sum(v.direct for v in found.extra),
        "findings": len(found.findings),
        "singletons": sum(1 for one in found.findings if one.kind == "singleton"),
        **{name: found.work.get(name, 0) for name in ("steps", "programs", "nodes", "solves")},
        **differ_columns(found),
    }


def _failed(area: str, why: str) -> pa.Table:
    row = dict.fromkeys(AREA_COLUMNS.names, 0)
    row |= {"area": area, "status": why, **dict.fromkeys(OPTIONAL & set(row))}
    return pa.Table.from_pylist([row], AREA_COLUMNS)


def _proof_rows(found: Audit) -> Iterator[dict[str, object]]:
    """One row per proof, with every claim that it proves."""
    claims = found.claim_table
    groups = list(claims.by_proof())
    every = np.concatenate(groups) if groups else np.zeros(0, np.int64)
    texts = iter(claims.wording.selections(every).to_pylist() if groups else [])
    for group in groups:
        proof, mine = claims.proof(int(group[0])), [str(next(texts)) for _ in group]
        if proof is not None:
            yield _proof_row(found.area, proof, sorted(mine))
    for verdict in found.extra:
        if verdict.kind in ("verified", "impossible") and verdict.proof is not None:
            yield _proof_row(found.area, verdict.proof, [verdict.claim.selection.to_json()])
    for finding in found.findings:
        for proof in finding.proofs:
            yield _proof_row(found.area, proof, [])


def _proof_row(area: str, proof: Proof, claims: Sequence[str]) -> dict[str, object]:
    return {"area": area, "proof": proof.to_json(), "claims": list(claims)}


def _witness_rows(found: Audit) -> Iterator[dict[str, object]]:
    """For every refuted claim two datasets that disagree on it, checked before they are written."""
    claims, checked = found.claim_table, set[str]()
    checker = claims.world_checker()
    refuted = np.flatnonzero(claims.state == REFUTED)
    selections = claims.wording.selections(refuted).to_pylist() if len(refuted) else []
    for at, selection in zip(refuted, selections, strict=True):
        worlds = claims.disagreeing(int(at))
        first, second = (world.to_json() for world in worlds)
        for world, text in zip(worlds, (first, second), strict=True):
            if text not in checked:
                checker.check_world(world.rows())
                checked.add(text)
        yield {"area": found.area, "selection": selection, "first": first, "second": second}


#: What a result is sealed with.
SEAL = "seal.json"

INPUT_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("low", pa.list_(pa.int64())),
        ("high", pa.list_(pa.int64())),
        ("codes", pa.binary()),
        ("why", pa.string()),
        ("n_parts", pa.int64()),
    ]
)


@dataclass(frozen=True)
class BatchStore:
    """The working folder of a run. Called with a number, it decides that batch.

    ``key`` stands for everything that determines the results.
    """

    folder: str
    settings: Settings
    key: str

    def __call__(self, number: int) -> int:
        """Decide a batch and write it, unless it is written; the number of its areas."""
        part = self.part(number)
        if not self.is_decided(number):
            areas = _read_input(self.input(number), _layout(self.folder, self.key))
            tables = decide_batch(areas, self.settings)
            remove(part)
            _write_part(tables, part, self.key)
        return pq.read_metadata(part / "areas.parquet").num_rows

    def part(self, number: int) -> Path:
        """Where a decided batch is."""
        return Path(self.folder, f"{number:08d}")

    def input(self, number: int) -> Path:
        """Where a batch's input is while it waits."""
        return Path(self.folder, "input", f"{number:08d}.parquet")

    def prepare(self, layout: Layout) -> None:
        """Write down what all batches share."""
        self.input(0).parent.mkdir(exist_ok=True)
        write_text(Path(self.folder, "layout.json"), layout_to_json(layout))

    def is_decided(self, number: int) -> bool:
        """Whether there is a result of this batch, undamaged and of this run."""
        part = self.part(number)
        if not part.exists():
            return False
        try:
            sealed = read_json(part / SEAL)
            return sealed == {"key": self.key, "files": _hashes(part)}
        except (InputError, OSError):
            return False

    def names(self, number: int) -> list[str] | None:
        """The areas of a decided batch; None if it is not decided."""
        if not self.is_decided(number):
            return None
        areas = pq.read_table(self.part(number) / "areas.parquet", columns=["area"])["area"]
        return [str(area) for area in areas.to_pylist()]

    def write_input(self, number: int, areas: Sequence[Input], layout: Layout) -> None:
        """Write what is to be decided, so that any process can."""
        rows = [row for area in areas for row in _rows(area, layout)]
        table = pa.Table.from_pylist(rows, INPUT_COLUMNS)
        draft = Path(self.folder, f"draft-input-{number:08d}-{token_hex(8)}")
        pq.write_table(table, draft, compression="zstd")
        draft.replace(self.input(number))


def _rows(area: Input, layout: Layout) -> Iterator[dict[str, object]]:
    """An area as a row; with parts a row for the whole, which counts them, and one for each."""
    if not isinstance(area, Nested):
        yield _row(area, layout)
        return
    whole = area.whole
    yield {"area": whole.area, "low": whole.low, "high": whole.high, "n_parts": len(area.parts)}
    yield from (_row(part, layout) for part in area.parts)


def _row(area: Area | Planned | Broken, layout: Layout) -> dict[str, object]:
    row: dict[str, object] = {"area": names_of(area)[0]}
    if isinstance(area, Broken):
        return row | {"why": area.why}
    if isinstance(area, Area):
        row |= {"low": area.release.low, "high": area.release.high, "why": area.problem or None}
    records = records_of(area, layout)
    if records is None:
        return row
    return row | {"codes": records.codes.astype(code_dtype(layout.schema)).tobytes()}


def _read_input(path: Path, layout: Layout) -> list[Area | Broken | Nested]:
    rows = iter(pq.read_table(path, use_threads=False).to_pylist())
    found: list[Area | Broken | Nested] = []
    for row in rows:
        n_parts = row.pop("n_parts")
        area = _area(layout=layout, **row)
        if n_parts is None:
            found.append(area)
            continue
        parts = [
            _area(layout=layout, **{k: v for k, v in one.items() if k != "n_parts"})
            for one in islice(rows, n_parts)
        ]
        if isinstance(area, Area):
            found.append(Nested(area.release, tuple(part for part in parts if isinstance(part, Area))))
    return found


def _area(
    *,
    area: str,
    low: list[int] | None,
    high: list[int] | None,
    codes: bytes | None,
    why: str | None,
    layout: Layout,
) -> Area | Broken:
    records = None if codes is None else _records(codes, layout)
    if low is not None and high is not None:
        release = Release(layout, np.array(low, np.int64), np.array(high, np.int64), area)
        return Area(release, records, why or "")
    if records is None:
        return Broken(area, why or "no counts and no records")
    return Area(layout.tabulate(records, area=area), records)


def _records(codes: bytes, layout: Layout) -> Records:
    schema = layout.schema
    flat = np.frombuffer(codes, code_dtype(schema))
    return Records(schema, flat.reshape(-1, len(schema.attributes)))


@lru_cache(maxsize=2)
def _layout(folder: str, key: str) -> Layout:  # noqa: ARG001  (the key tells runs in one folder apart)
    """The layout, read once by each process, so that what is derived from it is shared too."""
    return layout_from_json(Path(folder, "layout.json").read_text("utf-8"))


def _write_part(tables: dict[str, pa.Table], part: Path, key: str) -> None:
    draft = part.with_name(f"draft-{part.name}-{token_hex(8)}")
    draft.mkdir()  # without parents: once a run is over, a straggler finds no folder
    try:
        for name, table in tables.items():
            pq.write_table(table, draft / f"{name}.parquet", compression="zstd")
        (draft / SEAL).write_text(json.dumps({"key": key, "files": _hashes(draft)}), "utf-8")
        draft.rename(part)
    except OSError:
        if not part.exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _hashes(part: Path) -> dict[str, str]:
    return {path.name: file_digest(path) for path in sorted(part.iterdir()) if path.name != SEAL}
