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
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from showthrough.errors import InputError, ProofError, RecordsError, RunError
from showthrough.files import file_digest, read_json, write_text
from showthrough.folders import remove
from showthrough.release import Layout, Release
from showthrough.tables.audit import audit
from showthrough.tables.proof import Proof
from showthrough.tables.result import Audit
from showthrough.tables.run.batch_input import digest_of, pointer_of, read_input
from showthrough.tables.run.inputs import Area, Broken, Input, Nested, Planned, Settings, names_of, ready
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
    "DecidedBatch",
    "Input",
    "LostResults",
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
    """The tables of one area that was audited since this many seconds, with others or alone."""
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
    texts: list[Any] = claims.wording.selections(every).to_pylist() if groups else []
    start = 0
    for group in groups:
        proof, mine = claims.proof(int(group[0])), texts[start : start + len(group)]
        start += len(group)
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


class LostResults(RunError):
    """What another process has written is not to be seen here; what is there stays for the next call."""


@dataclass(frozen=True)
class DecidedBatch:
    """What is known of a decided batch without its tables.

    ``content`` is a digest of its areas, and ``n_bytes`` the size of its tables, but for that of the times,
    which differs from machine to machine.
    """

    content: str
    n_areas: int
    n_bytes: int

    @classmethod
    def from_plain(cls, plain: Any) -> DecidedBatch:
        """As it is sealed; an :class:`InputError` if it is something else."""
        if (
            isinstance(plain, dict)
            and set(plain) == {"content", "n_areas", "n_bytes"}
            and isinstance(plain["content"], str)
            and all(isinstance(plain[name], int) for name in ("n_areas", "n_bytes"))
        ):
            return cls(**plain)
        raise InputError("the seal of a batch is damaged")


@dataclass(frozen=True)
class BatchStore:
    """The working folder of a run. Called with a number, it decides that batch.

    Called with a number below 0, it puts decided batches together (:class:`PartStore`): ~0, or −1, stands for
    part 0. ``key`` stands for everything that determines the results.
    """

    folder: str
    settings: Settings
    key: str

    def __call__(self, number: int) -> int:
        """Decide a batch and write it, unless it is written; the number of its areas."""
        if number < 0:
            from showthrough.tables.run.parts import PartStore

            return PartStore(self).join(~number)
        if (done := self.intact(number)) is not None:
            return done.n_areas
        content, areas = self._waiting(number)
        tables = decide_batch(areas, self.settings)
        # Nothing is removed here: what is there now is what another attempt has written meanwhile.
        return _write_part(tables, self.part(number), self.key, content).n_areas

    def _waiting(self, number: int) -> tuple[str, list[Area | Broken | Nested]]:
        """What is to be decided, and its digest."""
        waiting, layout = self.input(number), _layout(self.folder, self.key)
        if pointer := pointer_of(waiting):
            from showthrough.tables.run.sorted_input import read_pointer

            return read_pointer(self.folder, pointer, layout, content=digest_of(waiting))
        return digest_of(waiting), read_input(waiting, layout)

    def make_room(self, number: int) -> None:
        """Remove what is left of a damaged batch, before any process is asked to decide it."""
        remove(self.part(number))

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

    def intact(self, number: int) -> DecidedBatch | None:
        """A decided batch whose tables are undamaged and of this run; None if there is none."""
        part = self.part(number)
        if not part.exists():
            return None
        try:
            sealed = read_json(part / SEAL)
            if (sealed.get("key"), sealed.get("files")) != (self.key, _hashes(part)):
                return None
            return DecidedBatch.from_plain(sealed.get("batch"))
        except (InputError, OSError):
            return None

    def decided(self, number: int) -> DecidedBatch:
        """A batch that a process has just decided; an error if this one does not see it."""
        try:
            sealed = read_json(self.part(number) / SEAL)
            if sealed.get("key") == self.key:
                return DecidedBatch.from_plain(sealed.get("batch"))
            problem = "the one in the folder is that of another run"
        except (InputError, OSError):
            problem = "it is not in the folder"
        raise LostResults(
            f"batch {number} was decided, but {problem}",
            file=str(self.part(number)),
            remedy="every machine must write to the same storage; the same call tries again",
        )

    def write_input(self, number: int, write: Callable[[Path], str]) -> str:
        """Write what is to be decided, so that any process can; ``write`` does so, and returns its digest."""
        draft = Path(self.folder, f"draft-input-{number:08d}-{token_hex(8)}")
        content = write(draft)
        draft.replace(self.input(number))
        return content


@lru_cache(maxsize=2)
def _layout(folder: str, key: str) -> Layout:  # noqa: ARG001  (the key tells runs in one folder apart)
    """The layout, read once by each process, so that what is derived from it is shared too."""
    return layout_from_json(Path(folder, "layout.json").read_text("utf-8"))


def _write_part(tables: dict[str, pa.Table], part: Path, key: str, content: str) -> DecidedBatch:
    """Write a decided batch, unless another attempt at it was faster: what both write is the same."""
    draft = part.with_name(f"draft-{part.name}-{token_hex(8)}")
    draft.mkdir()  # without parents: once a run is over, a straggler finds no folder
    try:
        for name, table in tables.items():
            pq.write_table(table, draft / f"{name}.parquet", compression="zstd")
        sizes = (path.stat().st_size for path in draft.iterdir() if path.stem != "timing")
        batch = DecidedBatch(content, tables["areas"].num_rows, sum(sizes))
        sealed = {"key": key, "files": _hashes(draft), "batch": asdict(batch)}
        (draft / SEAL).write_text(json.dumps(sealed), "utf-8")
        try:
            draft.rename(part)
        except OSError:
            if not part.exists():
                raise
            if not _is_of(part, key):  # a run in this folder that was killed, but for one of its workers
                remove(part)
                draft.rename(part)
        return batch
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _is_of(part: Path, key: str) -> bool:
    """Whether a decided batch is one of the run with this key."""
    try:
        return read_json(part / SEAL).get("key") == key
    except (InputError, OSError):
        return False


def _hashes(part: Path) -> dict[str, str]:
    return {path.name: file_digest(path) for path in sorted(part.iterdir()) if path.name != SEAL}
