"""Audit many areas batch by batch and write one folder; an interrupted run is resumed.

Nothing in the folder but the times that areas took depends on the engine or on the number of workers, and
no process holds more than a few batches in memory. A run of a single batch in a single process has no need
of stored batches: its tables are written at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, zip_longest
from numbers import Integral
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

from showthrough.engine.engine import Engine, LocalEngine, check_workers
from showthrough.engine.pieces import cluster_of
from showthrough.errors import Contradiction, InputError, check_function, check_type
from showthrough.folders import PageMaker, explained
from showthrough.locks import hold
from showthrough.release import Layout, Release
from showthrough.scratch import private_scratch
from showthrough.tables.run.agenda import BATCH, Agenda, Batch, Waiting, in_batches
from showthrough.tables.run.batch import (
    Area,
    Broken,
    Input,
    LostResults,
    Nested,
    Planned,
    Settings,
    decide_batch,
    names_of,
    ready,
)
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.writer import RunPlan, RunWriter, Tables
from showthrough.tables.wide.watch import telling

if TYPE_CHECKING:
    from showthrough.tables.run.sorted_input import AreaRows

__all__ = [
    "BATCH",
    "run_audit",
]

Progress = Callable[[int], None]

#: With more areas than this it is said why a cluster does not read them itself.
MANY = 10_000

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
        How many areas of the usual size are decided together; an area with very many records is alone, and
        in large runs there are more of them.
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
    plan = RunPlan(layout, settings or Settings(), inputs or {}, batch)
    with hold(folder) as lock, explained(lock.target, folder):
        writer = RunWriter(lock, Path(folder), plan, overwrite=overwrite, page=page)
        if writer.open():
            found = _decide(areas, writer, engine or LocalEngine(workers), progress or _unwatched)
            writer.finish(extra_files or {}, found, derive)
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


def _batches(areas: Inputs, writer: RunWriter, engine: Engine) -> Iterator[Waiting]:
    """The batches: read here, or where areas are in pieces that a cluster sees, by the cluster."""
    scratch, size = writer.scratch(), writer.plan.batch
    cluster = cluster_of(engine)
    in_pieces: Callable[[], AreaRows | None] | None = getattr(areas, "in_pieces", None)
    rows = None if cluster is None or in_pieces is None else in_pieces()
    if cluster is not None and rows is None and getattr(areas, "n_areas", 0) > MANY:
        cluster.notice(
            "this program reads the input and hands it to the cluster; the cluster itself reads records or "
            "census counts only in several files, or in Parquet files with several row groups"
        )
    if cluster is None or rows is None:
        return in_batches(_listed(areas, scratch), size)
    from showthrough.tables.run.sorted_input import sort_areas

    return sort_areas(rows, writer.plan.layout, cluster, scratch, size=size)


def _decide(areas: Inputs, writer: RunWriter, engine: Engine, done: Progress) -> Tables | Agenda:
    """Decide all batches; the tables, where there is a single batch and nobody else to decide it.

    After an error nothing is left but what an earlier call had finished.
    """
    plan = writer.plan
    try:
        left = _batches(areas, writer, engine)
        begun = list(islice(left, 2))
        if len(begun) < 2 and engine == LocalEngine(1) and not writer.resumed:
            first = begun[0].areas if begun and isinstance(begun[0], Batch) else []
            with telling(done, "auditing"):
                tables = decide_batch([ready(area, plan.layout) for area in first], plan.settings)
            done(tables["areas"].num_rows)
            return tables
        agenda = Agenda(chain(begun, left), writer.store(), plan.layout, done)
        for item, n_areas in engine.run(agenda.store, agenda):
            agenda.finished(item, n_areas)
        if joins := agenda.last_joins():  # of which small runs have none
            for item, n_areas in engine.run(agenda.store, joins):
                agenda.finished(item, n_areas)
        return agenda
    except LostResults:
        raise
    except (InputError, Contradiction):
        writer.discard()
        raise


def _unwatched(done: int) -> None:
    """Progress that nobody watches."""
