"""Audit many areas batch by batch and write one folder; an interrupted run is resumed.

While a run is under way its finished batches lie in ``RUN/.partial``, which only its owner can read.
There the final files are made too; once all are complete, a file ``commit`` says so, and they move to
their places, ``run.json`` last. So a folder with ``run.json`` is complete, and one without is resumed
by the same call, whenever it was killed. Nothing in the folder but ``timing.parquet`` depends on the
engine or on the number of workers, and no process holds more than a few batches in memory. A run of a
single batch in a single process has no need of stored batches: its tables are written at once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from numbers import Integral
from os import PathLike
from pathlib import Path
from secrets import token_hex
from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.engine import Engine, LocalEngine, check_workers
from showthrough.errors import Contradiction, InputError, RunError, check_function, check_type
from showthrough.files import file_digest, flush_folder, read_json, write_json, write_text
from showthrough.folders import (
    DAMAGED,
    MANIFEST,
    REPORT,
    PageMaker,
    complete,
    explained,
    listed_files,
    recover,
    remove,
    versions,
)
from showthrough.locks import INSIDE, Lock, hold
from showthrough.release import Layout, Release
from showthrough.scratch import private_scratch
from showthrough.tables.run.batch import (
    Area,
    BatchStore,
    Broken,
    Input,
    Nested,
    Planned,
    Settings,
    decide_batch,
    names_of,
    ready,
)
from showthrough.tables.run.read import SUMMARY, AuditRun
from showthrough.tables.run.totals import add_up
from showthrough.tables.stored import PLACES, SOMETIMES, TABLES, layout_to_json
from showthrough.tables.wide.watch import telling

__all__ = [
    "BATCH",
    "run_audit",
]

#: Areas decided together and written as one part.
BATCH = 50

#: Bytes gathered before they are written as one row group.
ROW_GROUP = 16 * 2**20

#: Files that depend on the machine, so that no hash of them is listed.
NOT_HASHED = (PLACES["timing"],)

#: Files that manifests of earlier versions did not list.
OLDER = {*PLACES.values(), SUMMARY, "release.json", REPORT}

Progress = Callable[[int], None]
Tables = dict[str, pa.Table]

#: Areas, or how to get them given a folder for scratch files.
Inputs = Iterable[Input | Release] | Callable[[Path], Iterable[Input | Release]]


def run_audit(
    areas: Inputs,
    layout: Layout,
    folder: str | Path,
    *,
    settings: Settings | None = None,
    engine: Engine | None = None,
    workers: int = 1,
    inputs: Mapping[str, str] | None = None,
    extra_files: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
    batch: int = BATCH,
    page: PageMaker | None = None,
    derive: PageMaker | None = None,
) -> AuditRun:
    """Audit every area and write the run folder.

    Nobody else can write to the folder meanwhile. An interrupted run is resumed by the same call; a
    finished one stays unless ``overwrite`` is set, and then until the new one is finished.

    Parameters
    ----------
    areas
        The areas (or their releases), or a function that yields them, given a folder for scratch
        files.
    layout
        The tables that all areas publish.
    folder
        The run folder to write.
    settings
        What to decide, with how much effort.
    engine
        Where the work is done; by default on this machine.
    workers
        How many processes of this machine work, where no engine is given.
    inputs
        Names of the input files with their hashes, for the record.
    extra_files
        Names and texts of further files to write into the folder.
    progress
        Called with the number of areas done since the last call.
    overwrite
        Whether to replace a finished run.
    batch
        How many areas are decided together.
    page
        What makes the page of the finished folder it is given, and puts it there.
    derive
        What adds to the folder, before its page is made, files that are made of the others.

    Returns
    -------
    AuditRun
        The finished run.

    Raises
    ------
    RunError
        If the folder is not empty, or holds a finished run that is not to be replaced.
    Contradiction
        If no dataset agrees with an area's release, unless ``settings.keep_going`` is set.
    """
    if not callable(areas):
        check_type(areas, Iterable, name="areas", remedy="list areas: [Area(release)]")
    check_type(layout, Layout, name="layout", remedy="a release has one: release.layout")
    check_type(folder, (str, PathLike), name="folder", remedy="give the path of the folder to write")
    check_type(settings, (Settings, NoneType), name="settings", remedy="write Settings(effort=2.0)")
    if engine is not None and not hasattr(engine, "run"):
        raise InputError(f"engine must be an engine, not {type(engine).__name__}", remedy="use open_engine")
    check_workers(workers)
    for name, files in (("inputs", inputs), ("extra_files", extra_files)):
        check_type(files, (Mapping, NoneType), name=name, remedy="write {'name': 'text'}")
    for name, called in (("progress", progress), ("page", page), ("derive", derive)):
        check_function(called, name=name)
    check_type(batch, Integral, name="batch")
    plan = _Plan(layout, settings or Settings(), inputs or {}, batch)
    with hold(folder) as lock, explained(lock.target, folder):
        writer = _RunWriter(lock, Path(folder), plan, overwrite=overwrite, page=page)
        if writer.open():
            whole = _decide(areas, writer, engine or LocalEngine(workers), progress or _unwatched)
            writer.finish(extra_files or {}, whole, derive)
        elif not _is_about(AuditRun(lock.target), areas):
            raise writer.refused("the output folder already holds a finished run")
    return AuditRun(Path(folder))


def _is_about(run: AuditRun, areas: Inputs) -> bool:
    """Whether a run that an earlier call had finished is about these areas."""
    with private_scratch() as scratch:
        names = chain.from_iterable(map(names_of, _listed(areas, scratch)))
        known = chain.from_iterable(part["area"].to_pylist() for part in run.batches("areas", ["area"]))
        return all(one == other for one, other in zip_longest(names, known))


def _listed(areas: Inputs, scratch: Path) -> Iterator[Input]:
    """The areas, one after the other."""
    for area in areas(scratch) if callable(areas) else areas:
        check_type(area, (Area, Planned, Broken, Nested, Release), name="an area")
        yield Area(area) if isinstance(area, Release) else area


def _decide(areas: Inputs, writer: _RunWriter, engine: Engine, done: Progress) -> Tables | None:
    """Decide all batches; the tables, where there is a single batch and nobody else to decide it.

    After an error nothing is left but what an earlier call had finished.
    """
    plan = writer.plan
    try:
        left = _batches(_listed(areas, writer.scratch()), plan.batch)
        first, more = next(left, []), next(left, None)
        if more is None and engine == LocalEngine(1) and not writer.resumed:
            with telling(done, "auditing"):
                tables = decide_batch([ready(area, plan.layout) for area in first], plan.settings)
            done(_n_names(first))
            return tables
        store = writer.store()
        batches = chain([first] if first else [], [] if more is None else [more], left)
        pending = _Pending(batches, store, plan.layout, done)
        for number, n_areas in engine.run(store, pending):
            store.input(number).unlink(missing_ok=True)
            done(n_areas)
        writer.n_parts = pending.n_batches
        return None
    except (InputError, Contradiction):
        writer.discard()
        raise


def _unwatched(done: int) -> None:
    """Progress that nobody watches."""


@dataclass
class _Pending:
    """The numbers of the batches still to be decided; their input is written on the way."""

    batches: Iterable[list[Input]]
    store: BatchStore
    layout: Layout
    progress: Progress
    n_batches: int = 0

    def __iter__(self) -> Iterator[int]:
        for batch in self.batches:
            number, self.n_batches = self.n_batches, self.n_batches + 1
            found = self.store.names(number)
            if found is None:
                self.store.write_input(number, batch, self.layout)
                yield number
                continue
            if found != [name for area in batch for name in names_of(area)]:
                raise RunError(
                    "the unfinished run in this folder is about other areas",
                    file=str(self.store.part(number)),
                    remedy="choose another folder or add --overwrite",
                )
            getattr(self.progress, "resumed", self.progress)(_n_names(batch))


def _batches(areas: Iterable[Input], size: int) -> Iterator[list[Input]]:
    """Areas that are decided together: so many, where the parts of an area count one by one."""
    held, n = list[Input](), 0
    for area in areas:
        held.append(area)
        n += len(names_of(area))
        if n >= size:
            yield held
            held, n = [], 0
    if held:
        yield held


def _n_names(areas: Iterable[Input]) -> int:
    return sum(len(names_of(area)) for area in areas)


@dataclass(frozen=True)
class _Plan:
    """What determines a run's content."""

    layout: Layout
    settings: Settings
    inputs: Mapping[str, str]
    batch: int

    def to_plain(self) -> dict[str, Any]:
        """As run.json has it."""
        plain = {
            "parameters": {
                name: one for name, one in asdict(self.settings).items() if name != "noise" or one
            },
            "batch": self.batch,
            "inputs": dict(sorted(self.inputs.items())),
            "release": hashlib.sha256(layout_to_json(self.layout).encode()).hexdigest(),
            "versions": versions(("showthrough", "numpy", "scipy", "pyarrow", "highspy", "ortools")),
        }
        return json.loads(json.dumps(plain))


class _RunWriter:
    """Writes a run folder: parts first, the final files at the end."""

    def __init__(
        self, lock: Lock, shown: Path, plan: _Plan, *, overwrite: bool, page: PageMaker | None
    ) -> None:
        self.lock, self.folder, self.shown = lock, lock.target, str(shown)
        self.plan, self.plain_plan = plan, plan.to_plain()
        self.overwrite, self.page = overwrite, page
        self.partial = self.folder / ".partial"
        self.final, self.marker = self.partial / "final", self.partial / "commit"
        self.n_parts = 0
        self._created = self.resumed = False

    @property
    def key(self) -> str:
        """What determines the results, in short."""
        return hashlib.sha256(json.dumps(self.plain_plan, sort_keys=True).encode()).hexdigest()

    @property
    def whole(self) -> str:
        """The same, with whether there is a page."""
        return f"{self.key}{'+page' if self.page else ''}"

    def open(self) -> bool:
        """Make the folder, or resume an interrupted run of the same plan; False if all is done."""
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError("the output is a file, not a folder", file=self.shown)
        recover(self.folder)
        done = self._move_in()
        if done == self.whole:
            self._note(self.folder)
        if done is not None:
            self._tidy()
        if self._check_finished() and self.lock.finished(self.whole):
            self._tidy()
            return False
        if self._is_finished() and not self.overwrite:
            raise self.refused("the output folder already holds a finished run")
        self._check_own()
        self.resumed = self._is_resumable()
        self._created = not self.folder.exists()
        if not self.resumed:  # parts without a plan may be anybody's
            remove(self.partial)
        try:
            self.folder.mkdir(exist_ok=True)
            self.partial.mkdir(mode=0o700, exist_ok=True)
            self.partial.chmod(0o700)
            write_json(self.partial / "plan.json", self.plain_plan)
        except (InputError, OSError):
            self.discard()
            raise
        return True

    def _note(self, folder: Path) -> None:
        self.lock.note(self.whole, file=MANIFEST, digest=file_digest(folder / MANIFEST))

    def _is_finished(self) -> bool:
        return (self.folder / MANIFEST).exists()

    def _check_finished(self) -> bool:
        """Whether the folder holds a finished run; raise if it holds another result."""
        if not self._is_finished():
            return False
        found = read_json(self.folder / MANIFEST, error=RunError, remedy=DAMAGED)
        if "kind" in found or not isinstance(found.get("outputs"), dict):
            raise RunError(
                "the output folder holds the result of another command",
                file=self.shown,
                remedy="choose a new or empty folder",
            )
        return True

    def _check_own(self) -> None:
        """Raise if the folder holds other files and no run."""
        if not self.folder.exists() or self._is_finished():
            return
        if any(path.name not in (self.partial.name, INSIDE) for path in self.folder.iterdir()):
            raise RunError(
                "the output folder is not empty",
                file=self.shown,
                remedy="choose a new or empty folder",
            )

    def _is_resumable(self) -> bool:
        """Whether an unfinished run of this plan is here; one of another plan is in the way."""
        try:
            found = read_json(self.partial / "plan.json")
        except InputError:
            return False
        if found == self.plain_plan:
            return True
        if not self.overwrite:
            raise self.refused("the output folder holds an unfinished run with other settings")
        return False

    def refused(self, problem: str) -> RunError:
        """The error for a run that must not be replaced."""
        return RunError(problem, file=self.shown, remedy="choose another folder or add --overwrite")

    def store(self) -> BatchStore:
        """Where batches are kept while others are worked on."""
        store = BatchStore(str(self.partial), self.plan.settings, self.key)
        store.prepare(self.plan.layout)
        return store

    def scratch(self) -> Path:
        """A folder for whatever the reading of the areas needs, gone when the run is done."""
        scratch = self.partial / "scratch"
        remove(scratch)
        scratch.mkdir(mode=0o700)
        return scratch

    def finish(
        self, extra_files: Mapping[str, str], whole: Tables | None, derive: PageMaker | None = None
    ) -> None:
        """Write the tables (given, or joined from the parts), sum up, make the page, and commit."""
        remove(self.final)
        (self.final / "proofs").mkdir(parents=True)
        if whole is None:
            self._check_parts()
        for name, place in {**PLACES, **SOMETIMES}.items():
            tables = self._joined(name) if whole is None else iter((whole[name],))
            if name in SOMETIMES:
                first = next((table for table in tables if table.num_rows), None)
                if first is None:
                    continue
                tables = chain((first,), tables)
            _write_table(tables, name, self.final / place)
        for name, text in {**extra_files, "release.json": layout_to_json(self.plan.layout)}.items():
            write_text(self.final / Path(name).name, text)
        totals = add_up(AuditRun(self.final), without_findings=not self.plan.settings.findings)
        write_json(self.final / SUMMARY, totals.to_plain())
        if derive is not None:
            derive(self.final)
        complete(self.final, self._describe, page=self.page)
        self._commit()

    def _parts(self) -> list[Path]:
        return [self.partial / f"{number:08d}" for number in range(self.n_parts)]

    def _check_parts(self) -> None:
        there = sum(part.exists() for part in self._parts())
        if there < self.n_parts:
            raise RunError(
                f"{self.n_parts} batches were decided, but {there} are in the folder",
                file=str(self.partial),
                remedy="every machine must write to the same storage; the same call tries again",
            )

    def _joined(self, name: str) -> Iterator[pa.Table]:
        """A table of all parts, small parts together: millions of row groups would fill the memory."""
        waiting, size = list[pa.Table](), 0
        for part in self._parts():
            table = pq.read_table(part / f"{name}.parquet", use_threads=False)
            if table.num_rows:
                waiting.append(table)
                size += table.nbytes
            if size >= ROW_GROUP:
                yield pa.concat_tables(waiting).combine_chunks()
                waiting, size = [], 0
        if waiting:
            yield pa.concat_tables(waiting).combine_chunks()

    def _describe(self, folder: Path, hashes: Mapping[str, str]) -> None:
        outputs = {name: digest for name, digest in hashes.items() if name not in NOT_HASHED}
        write_json(folder / MANIFEST, {**self.plain_plan, "outputs": outputs, "not_hashed": list(NOT_HASHED)})

    def _commit(self) -> None:
        """From here on the run is finished: whoever comes next moves its files in."""
        new = sorted(str(path.relative_to(self.final)) for path in self.final.rglob("*") if path.is_file())
        new.sort(key=lambda name: name == MANIFEST)
        old = self._old_files() if self._is_finished() else set[str]()
        self._note(self.final)
        write_json(self.marker, {"plan": self.whole, "new": new, "old": sorted(old - set(new))})
        self._move_in()
        self._tidy()

    def _old_files(self) -> set[str]:
        """The files of the run that is to be replaced."""
        found = read_json(self.folder / MANIFEST, error=RunError, remedy=DAMAGED)
        return {name for name in OLDER | listed_files(found) if self._is_within(name)}

    def _is_within(self, name: object) -> bool:
        return isinstance(name, str) and (self.folder / name).resolve().is_relative_to(self.folder)

    def _move_in(self) -> str | None:
        """Move a finished run's files to their places; its plan, or None if there is none to move.

        The old manifest goes first and the new one comes last, so that no files are ever described by
        the wrong one. Done again after a kill, it does what is left to do.
        """
        if not self.marker.exists():
            return None
        found = read_json(self.marker, error=RunError, remedy=DAMAGED)
        old, new = (found.get(name) for name in ("old", "new"))
        if not isinstance(old, list) or not isinstance(new, list) or not all(map(self._is_within, old + new)):
            raise RunError("the file is damaged", file=str(self.marker), remedy=DAMAGED)
        if (self.final / MANIFEST).exists():
            (self.folder / MANIFEST).unlink(missing_ok=True)
            for name in old:
                (self.folder / name).unlink(missing_ok=True)
            for name in new:
                if (self.final / name).exists():
                    (self.folder / name).parent.mkdir(exist_ok=True)
                    (self.final / name).replace(self.folder / name)
        flush_folder(self.folder)
        return str(found.get("plan"))

    def _tidy(self) -> None:
        """Remove what only an unfinished run needs, last of all what says that it is finished."""
        if self.partial.exists():
            for path in self.partial.iterdir():
                if path != self.marker:
                    remove(path)
            remove(self.partial)

    def discard(self) -> None:
        """Leave nothing half-written behind, but keep what an earlier call had finished."""
        if self.resumed:
            return
        gone = self.partial.with_name(f".gone-{token_hex(8)}")
        with suppress(OSError):
            self.partial.rename(gone)  # a straggler finds no folder to write to while it is emptied
        for folder in (gone, self.partial):
            shutil.rmtree(folder, ignore_errors=True)
        if self._created:
            with suppress(OSError):
                self.folder.rmdir()


def _write_table(tables: Iterable[pa.Table], name: str, place: Path) -> None:
    try:
        # With gzip, so that Python alone can read it (showthrough.tables.proof).
        with pq.ParquetWriter(place, TABLES[name], compression="gzip", compression_level=6) as writer:
            for table in tables:
                if table.num_rows:
                    writer.write_table(table)
    except pa.ArrowInvalid as problem:
        raise RunError(
            f"a batch of the run was damaged: {' '.join(str(problem).split())}",
            file=str(place),
            remedy="check the disk; the same call decides it again",
        ) from None
