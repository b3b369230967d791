"""Run by test_spark.py in a process of its own: everything that needs a cluster, on one cluster.

Usage: on_spark.py MASTER FOLDER PEOPLE. Prints one JSON object. FOLDER has what the commands read, and
PEOPLE what is published: people.csv, people.parquet and bad.csv. When FOLDER/lost/ holds a file for
every core, whoever watches may take a worker away: the work waits for it, once.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import crowd
import small_run
from showthrough.cli import main
from showthrough.engine.backend import open_backend
from showthrough.engine.engine import Engine, Work
from showthrough.engine.spark import SparkEngine
from showthrough.errors import Contradiction, InputError, RecordsError, ShowthroughError
from showthrough.microdata import write as writing
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.report.verify import verify
from showthrough.tables.run import parts
from showthrough.tables.run.read import AuditRun

#: Commands, and the files they read.
COMMANDS = {
    "audit": ("people.csv", "audit --tables sex*ill --by town"),
    "census audit": ("homes.parquet", "census audit --max-columns 2 --effort 0.1"),
}

#: Bytes of a part, so that a small run has several.
TINY = 30_000

SEED = 2**80 + 1

#: Several bundles of blocks, four chunks and two files, although there are few rows.
FEW_ROWS = {"CHUNK": 750, "PIECE": 1000, "ONE_FILE": 2000, "FILE_ROWS": 1500}

SENSITIVE = ("ill", "job")
METHOD = Partitioned(RhoPrivacy(0.2, 0.4))


def command(name: str, folder: Path, out: str, *more: str) -> int:
    """Run one of the commands on what is in a folder; how it ended."""
    file, words = COMMANDS[name]
    return main([*words.split(), str(folder / file), "--quiet", "--out", str(folder / out / name), *more])


def publications(master: str, people: Path) -> dict[str, str]:
    """Make a publication, and be refused two."""
    for name, value in FEW_ROWS.items():
        setattr(writing, name, value)
    said: dict[str, str] = {}
    with open_backend(master) as backend:
        publish(
            people / "people.csv",
            people / "there",
            sensitive=SENSITIVE,
            method=METHOD,
            seed=SEED,
            engine=backend,
            scratch=people,
        )
        for name, file, sensitive in (("missing", "people.parquet", "age"), ("refused", "bad.csv", "ill")):
            try:
                publish(
                    people / file,
                    people / "none",
                    sensitive=sensitive,
                    method=UniformPerturbation(0.5),
                    seed=1,
                    engine=backend,
                    scratch=people,
                )
            except RecordsError as error:
                said[name] = error.problem if name == "missing" else str(error)
    return said


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


def refused(master: str) -> str:
    """What is said to somebody who asks for a second master while a session is running."""
    try:
        SparkEngine.open(master)
    except InputError as error:
        return str(error)
    return ""


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


def long_work(engine: SparkEngine, folder: Path, people: Path) -> dict[str, object]:
    """Verify and count on the cluster; take a DataFrame in, and hand one out."""
    known = SparkEngine(engine.session, scratch=people)
    frame = engine.session.createDataFrame(crowd.people(300)).repartition(2)
    method = UniformPerturbation(0.5)
    publish(frame, people / "framed", sensitive="ill", method=method, seed=SEED, scratch=people)
    return {
        "verified": verify(folder / "run", engine=known).to_plain(),
        "counted": Publication.open(people / "there", engine=known).count("town=Aldea").to_plain(0.9),
        "claims": AuditRun.open(folder / "run").to_spark(engine.session, "claims").count(),
        "shown": Publication.open(people / "there").to_spark(engine.session).groupBy("town").count().count(),
    }


def everything(master: str, folder: Path, people: Path) -> dict[str, object]:
    engine = SparkEngine.open(master)  # what follows joins this session
    try:
        codes = [command(name, folder, "there", "--engine", master) for name in COMMANDS]
        said = publications(master, people)
        small_run.run(folder / "run", engine=Unreliable(engine, FailsOnce, folder / "failed"))
        found = {
            "codes": codes,
            **said,
            "attempts": noted(folder / "failed"),
            "contradiction": contradiction(engine, folder / "contradiction"),
            "said": said_by(SparkEngine(engine.session)),  # as somebody who brings a session along
            "second": refused("local[1]"),
            **long_work(engine, folder, people),
        }
        parts.PART_BYTES = TINY
        small_run.run(folder / "parts", engine=engine)
        parts.PART_BYTES = 2**30
        small_run.run(folder / "survived", engine=Unreliable(engine, Lingers, folder / "lost"))
        return {**found, "after": noted(folder / "lost")}
    finally:
        engine.close()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(everything(sys.argv[1], *map(Path, sys.argv[2:]))))
