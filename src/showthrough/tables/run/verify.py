"""Check the tables of a run again: every file, proof and dataset, and all that is derived from them."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain, islice

import numpy as np
import pyarrow as pa

from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import RunError, ShowthroughError
from showthrough.release import Layout
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.nests import with_siblings
from showthrough.tables.run.read import AreaReader, AuditRun
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
from showthrough.tables.stored import VARIABILITY, WHOLES

__all__ = [
    "verify_tables",
]

Tables = dict[str, pa.Table]

#: Rows that a process checks at a time, at least.
_PORTION = 2**12

#: The tables that are read beside that of the areas.
READ = ("counts", "claims", "findings", "proofs", "witnesses", VARIABILITY)

#: What no check of a folder covers.
ALWAYS = ("counts", "schema", "work", "settings")


def verify_tables(
    run: AuditRun, *, engine: Engine | None = None, progress: Callable[[int], None] | None = None
) -> Verification:
    """Check all of a run but its page and its schema file, area by area, on an engine."""
    done = Verification()
    done.open.update(ALWAYS)
    if run.files.problem:
        done.problems.append(run.files.problem)
        return done
    for check in (check_files, check_manifest, check_columns):
        done.problems += check(run)
    done.files += unknown_files(run)
    if comes_after(run):
        done.open["earlier"] += 1
    settings = read_settings(run.manifest) or Settings()
    readers = {name: AreaReader(run, name) for name in ("areas", *READ)}
    wholes = AreaReader(run, WHOLES)
    names = _Names()
    try:
        engine, portions = _worthwhile(engine or LocalEngine(), _portions(readers, wholes, names))
        work = partial(_verify_areas, run.layout, settings)
        for found in in_order_on(engine, work, portions):
            done.add(found)
            if progress is not None:
                progress(found.areas)
        if done.areas != len(names):
            raise ShowthroughError(f"{len(names):,} areas were read, but {done.areas:,} were checked")
        for name, reader in {**readers, WHOLES: wholes}.items():
            if (area := reader.next_area()) is not None:
                done.problems.append(f"{name}: unexpected rows about area {area}")
        if names.repeated():
            done.problems.append("areas.parquet: several areas have the same name")
        done.problems += check_summary(run)
        done.problems += check_after(run)
    except RunError as error:
        done.problems.append(str(error))
    return done


class _Names:
    """The names of areas, as few bytes as suffice to see that they differ."""

    def __init__(self) -> None:
        self._seen = array("Q")

    def add(self, name: str) -> None:
        """One more."""
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._seen.append(int.from_bytes(digest, "little"))

    def __len__(self) -> int:
        return len(self._seen)

    def repeated(self) -> bool:
        """Whether a name occurs twice."""
        seen = np.frombuffer(self._seen, np.uint64)
        return len(np.unique(seen)) < len(seen)


def _worthwhile(engine: Engine, portions: Iterator[list[Tables]]) -> tuple[Engine, Iterator[list[Tables]]]:
    """The engine to check portions on: processes take a while to start, for what is checked in no time."""
    if not isinstance(engine, LocalEngine):
        return engine, portions
    first = list(islice(portions, engine.workers))
    return engine if len(first) == engine.workers else LocalEngine(), chain(first, portions)


def _portions(readers: Mapping[str, AreaReader], wholes: AreaReader, names: _Names) -> Iterator[list[Tables]]:
    """The areas with their rows, some of them together; parts of one area always."""
    held, n_rows = list[Tables](), 0
    while readers["areas"].next_area() is not None:
        whole = wholes.take(found) if (found := wholes.next_area()) is not None else None
        mine = list[Tables]()
        for _ in range(1 if whole is None else len(whole["parts"][0])):
            if (area := readers["areas"].next_area()) is not None:
                names.add(area)
                mine.append({name: reader.take(area) for name, reader in readers.items()})
        held += mine if whole is None else with_siblings(mine, whole)
        n_rows += sum(table.num_rows for tables in mine for table in tables.values())
        if n_rows >= _PORTION:
            yield held
            held, n_rows = [], 0
    if held:
        yield held


def _verify_areas(layout: Layout, settings: Settings, portion: list[Tables]) -> Verification:
    done = Verification()
    for tables in portion:
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
    return done
