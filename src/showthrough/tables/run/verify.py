"""Check the tables of a run again: every file, proof and dataset, and all that is derived from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import RunError, ShowthroughError
from showthrough.release import Layout
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.portions import AreaNames, Portion, Portions
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals, add_up
from showthrough.tables.run.verification import Verification
from showthrough.tables.run.verify_after import check_after, comes_after
from showthrough.tables.run.verify_area import verify_area
from showthrough.tables.run.verify_files import (
    check_columns,
    check_files,
    check_manifest,
    check_summary,
    read_settings,
    unknown_files,
)

__all__ = [
    "verify_tables",
]

#: Rows that a process checks at a time, at least; and a machine of a cluster, to which handing costs more.
_PORTION, _FAR = 2**12, 2**15

#: What no check of a folder covers.
ALWAYS = ("counts", "schema", "work", "settings")


def verify_tables(
    run: AuditRun, *, engine: Engine | None = None, progress: Callable[[int], None] | None = None
) -> Verification:
    """Check all of a run but its page and its schema file, area by area, on an engine."""
    done, engine = Verification(), engine or LocalEngine()
    done.open.update(ALWAYS)
    if run.files.problem:
        done.problems.append(run.files.problem)
        return done
    done.problems += check_files(run, engine)
    for check in (check_manifest, check_columns):
        done.problems += check(run)
    done.files += unknown_files(run)
    if comes_after(run):
        done.open["earlier"] += 1
    try:
        found = _check_run(run, engine, progress or _unwatched)
        done.add(found.done)
        if found.names.repeated():
            done.problems.append("areas.parquet: several areas have the same name")
        if found.totals is not None:
            done.problems += check_summary(run, found.totals)
            done.problems += check_after(run)
    except RunError as error:
        done.problems.append(str(error))
    return done


def _unwatched(done: int) -> None:
    """Progress that nobody watches."""


@dataclass
class _CheckedAreas:
    """What was checked of some areas, their names, and what their rows add up to, unless they are damaged."""

    done: Verification
    names: AreaNames
    totals: RunTotals | None

    def add(self, other: _CheckedAreas) -> None:
        """Take over what was checked elsewhere."""
        self.done.add(other.done)
        self.names.add_all(other.names)
        if self.totals is not None:
            self.totals = other.totals and RunTotals.sum_of([self.totals, other.totals])


def _check_run(run: AuditRun, engine: Engine, progress: Callable[[int], None]) -> _CheckedAreas:
    """Check all areas. Of a run in several parts, each is read where it is checked, if that is elsewhere."""
    settings = read_settings(run.manifest) or Settings()
    if isinstance(engine, LocalEngine) or len(run.parts) == 1:
        return _check_areas(run, run.layout, settings, engine, progress)
    found = _CheckedAreas(Verification(), AreaNames(), RunTotals(without_findings=run.without_findings))
    work = partial(_check_areas, layout=run.layout, settings=settings)
    for part in in_order_on(engine, work, run.parts):
        found.add(part)
        progress(part.done.areas)
    return found


def _check_areas(
    run: AuditRun,
    layout: Layout,
    settings: Settings,
    engine: Engine | None = None,
    progress: Callable[[int], None] = _unwatched,
) -> _CheckedAreas:
    """Check the areas of a run, or of a part of one; a damaged file ends it."""
    engine = engine or LocalEngine()
    portions = Portions(run, _PORTION if isinstance(engine, LocalEngine) else _FAR)
    found = _CheckedAreas(Verification(), portions.names, None)
    done, names = found.done, found.names
    try:
        engine, handed = _worthwhile(engine, iter(portions))
        for part in in_order_on(engine, partial(_verify_areas, layout, settings), handed):
            done.add(part)
            progress(part.areas)
        if done.areas != len(names):
            raise ShowthroughError(f"{len(names):,} areas were read, but {done.areas:,} were checked")
        done.problems += portions.left()
        found.totals = add_up(run, without_findings=run.without_findings)
    except RunError as error:
        done.problems.append(str(error))
    return found


def _worthwhile(engine: Engine, portions: Iterator[Portion]) -> tuple[Engine, Iterator[Portion]]:
    """The engine to check portions on: processes take a while to start, for what is checked in no time."""
    if not isinstance(engine, LocalEngine):
        return engine, portions
    first = list(islice(portions, engine.workers))
    return engine if len(first) == engine.workers else LocalEngine(), chain(first, portions)


def _verify_areas(layout: Layout, settings: Settings, portion: Portion) -> Verification:
    done, reader = Verification(), portion.read()
    for tables in reader:
        area = str(tables["areas"]["area"][0])
        try:
            if tables["areas"].num_rows > 1:
                raise RunError("areas.parquet has several rows for it")
            done.add(verify_area(tables, layout, settings))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  (what cannot be checked does not hold, whatever it is)
            done.areas += 1
            gist = f"{type(error).__name__}: {' '.join(str(error).split())}"
            done.problems.append(f"{f'area {area}: ' if area else ''}cannot be checked: {gist}")
    done.problems += reader.left()
    return done
