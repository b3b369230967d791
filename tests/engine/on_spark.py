"""Run by test_spark.py in a process of its own: everything that needs a cluster, on one cluster.

Usage: on_spark.py MASTER FOLDER. Prints one JSON object. When FOLDER/lost/ holds a file for every
core, whoever watches may take a worker away: the work waits for it, once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import small_run
from showthrough.engine.engine import Engine, Work
from showthrough.engine.spark import SparkEngine
from showthrough.errors import Contradiction, ShowthroughError


def attempt(notes: Path, item: int) -> int:
    """How often an item was begun before; this time is noted."""
    before = len(list(notes.glob(f"{item}-*")))
    (notes / f"{item}-{before}").touch()
    return before


class FailsOnce:
    """Work that fails once before it begins, for one item, and once after all is done, for another."""

    def __init__(self, work: Work, notes: Path) -> None:
        self.work, self.notes = work, notes

    def __call__(self, item: int) -> int:
        if item == 1:
            self.fail(item)
        done = self.work(item)
        if item == 2:
            self.fail(item)
        return done

    def fail(self, item: int) -> None:
        if not attempt(self.notes, item):
            raise RuntimeError("the machine has gone away")


class Lingers:
    """Work whose first two items, done at the same time, take until a machine is gone."""

    def __init__(self, work: Work, notes: Path) -> None:
        self.work, self.notes = work, notes

    def __call__(self, item: int) -> int:
        first = item < 2 and not attempt(self.notes, item)
        while first and not (self.notes / "gone").exists():
            time.sleep(0.05)
        return self.work(item)


class Unreliable:
    """An engine on which work is done in one of these ways."""

    def __init__(self, engine: Engine, way: type[FailsOnce] | type[Lingers], notes: Path) -> None:
        self.engine, self.way, self.notes = engine, way, notes
        notes.mkdir()

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        return self.engine.run(self.way(work, self.notes), items)


def always_fails(item: int) -> int:
    raise RuntimeError(f"no machine likes item {item}")


def said_by(engine: Engine) -> str:
    try:
        list(engine.run(always_fails, [4]))
    except ShowthroughError as error:
        return str(error)
    return ""


def contradiction(engine: Engine, folder: Path) -> str:
    try:
        small_run.run(folder, engine=engine, keep_going=False)
    except Contradiction as error:
        return error.area
    return ""


def noted(notes: Path) -> list[str]:
    return sorted(path.name for path in notes.iterdir())


def everything(master: str, folder: Path) -> dict[str, object]:
    engine = SparkEngine.open(master)
    try:
        small_run.run(folder / "run", engine=Unreliable(engine, FailsOnce, folder / "failed"))
        found = {
            "attempts": noted(folder / "failed"),
            "contradiction": contradiction(engine, folder / "contradiction"),
            "said": said_by(engine),
        }
        small_run.run(folder / "survived", engine=Unreliable(engine, Lingers, folder / "lost"))
        return {**found, "after": noted(folder / "lost")}
    finally:
        engine.close()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(everything(sys.argv[1], Path(sys.argv[2]))))
