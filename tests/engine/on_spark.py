"""Run by test_spark.py in a process of its own: everything that needs a cluster, on one cluster.

Usage: on_spark.py MASTER FOLDER. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import small_run
from showthrough.cli import main
from showthrough.engine import Engine, SparkEngine, Work
from showthrough.errors import Contradiction, ShowthroughError


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
        attempts = len(list(self.notes.glob(f"{item}-*")))
        (self.notes / f"{item}-{attempts}").touch()
        if not attempts:
            raise RuntimeError("the machine has gone away")


class Unreliable:
    """An engine on which FailsOnce is done."""

    def __init__(self, engine: Engine, notes: Path) -> None:
        self.engine, self.notes = engine, notes

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        return self.engine.run(FailsOnce(work, self.notes), items)


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


def everything(master: str, folder: Path) -> dict[str, object]:
    notes = folder / "notes"
    notes.mkdir()
    engine = SparkEngine.open(master)
    try:
        small_run.run(folder / "run", engine=Unreliable(engine, notes))
        people = ["audit", str(folder / "people.csv"), "--tables", "sex*ill", "--by", "town", "--quiet"]
        return {
            "attempts": sorted(path.name for path in notes.iterdir()),
            "contradiction": contradiction(engine, folder / "contradiction"),
            "said": said_by(engine),
            "code": main([*people, "--out", str(folder / "command"), "--engine", master]),
        }
    finally:
        engine.close()


if __name__ == "__main__":
    found = everything(sys.argv[1], Path(sys.argv[2]))
    sys.stdout.write(json.dumps(found))
