"""A ledger: the runs of one release after the other, in one folder that only grows.

``DIR/0001-people/``, ``DIR/0002-jobs/`` … are runs, each about its own tables together with all earlier
ones. ``DIR/ledger.json`` lists them; the hash of every entry is made of its run and of the entry before, so
that no release can be changed, left out or put between others afterwards without being noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from showthrough.errors import RunError
from showthrough.files import file_digest, read_json, write_json
from showthrough.folders import MANIFEST
from showthrough.tables.after import read_after
from showthrough.tables.earlier import EarlierRun, earlier_tables
from showthrough.tables.run.read import AuditRun

__all__ = [
    "LEDGER",
    "Entry",
    "Ledger",
    "is_ledger",
]

LEDGER = "ledger.json"

KIND = "ledger"

DAMAGED = "put back a copy of the ledger, or begin a new one"


@dataclass(frozen=True)
class Entry:
    """A release in a ledger.

    Parameters
    ----------
    folder
        The name of its run folder.
    run
        The SHA-256 of the ``run.json`` in it.
    chain
        The SHA-256 of this hash and of the chain of the entry before.
    tables
        The names of its new tables.
    findings, new
        How many findings all tables have together, and how many of them are new.
    """

    folder: str
    run: str
    chain: str
    tables: tuple[str, ...]
    findings: int
    new: int


def linked(before: str, run: str) -> str:
    """The chain up to a run, given the chain before it.

    >>> linked("", "ab")[:16]
    'fb8e20fc2e4c3f24'
    """
    return hashlib.sha256(f"{before}{run}".encode()).hexdigest()


def is_ledger(folder: Path) -> bool:
    """Whether a folder is a ledger."""
    return (folder / LEDGER).is_file()


@dataclass(frozen=True)
class Ledger:
    """The releases in a folder, in order."""

    folder: Path
    entries: tuple[Entry, ...] = ()

    @classmethod
    def open(cls, folder: str | Path) -> Ledger:
        """The ledger in a folder; an empty one if there is nothing yet.

        Raises
        ------
        RunError
            If the folder holds something else, or ``ledger.json`` is damaged.
        """
        place = Path(folder)
        if not place.exists():
            return cls(place)
        if not place.is_dir():
            raise RunError("the ledger is a file, not a folder", file=str(place))
        if not is_ledger(place):
            if any(
                not path.name.startswith(".") and not _NUMBERED.match(path.name) for path in place.iterdir()
            ):
                raise RunError(
                    "the folder is not empty and not a ledger",
                    file=str(place),
                    remedy="choose a new or empty folder",
                )
            return cls(place)
        return cls(place, tuple(_entries(place / LEDGER)))

    @property
    def last(self) -> Path | None:
        """The run folder of the last release, which holds the tables of all of them."""
        return self.folder / self.entries[-1].folder if self.entries else None

    def next_folder(self, name: str) -> Path:
        """The run folder of the next release.

        >>> Ledger(Path("out")).next_folder("My tables (new)").name
        '0001-My-tables-new'
        """
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")[:40]
        return self.folder / f"{len(self.entries) + 1:04d}-{plain or 'release'}"

    def check(self, *, growing: bool = False) -> Iterator[str]:
        """What does not fit: hashes, the chain, and what every run says about the one before.

        A ledger that is ``growing`` may hold the folder of the next release, from a command that was killed.
        """
        chain, before = "", None
        for number, entry in enumerate(self.entries, 1):
            chain = linked(chain, entry.run)
            if entry.chain != chain:
                yield f"{LEDGER}: the chain is broken at entry {number}: {entry.folder}"
            path = self.folder / entry.folder
            try:
                found = file_digest(path / MANIFEST)
                if found != entry.run:
                    yield f"{entry.folder}: not the run that {LEDGER} lists"
                    continue
                yield from _differences(EarlierRun.open(path), entry, before)
            except (OSError, RunError) as error:
                yield f"{entry.folder}: {' '.join(str(error).split())}"
            before = entry
        known, coming = {entry.folder for entry in self.entries}, f"{len(self.entries) + 1:04d}-"
        for path in sorted(self.folder.iterdir()):
            if not path.is_dir() or path.name in known or path.name.startswith("."):
                continue
            if not (growing and path.name.startswith(coming)):
                yield f"{path.name}: not listed in {LEDGER}"

    def with_run(self, folder: Path) -> Ledger:
        """The ledger with one more run, which is in its folder already; written before this returns."""
        digest, before = file_digest(folder / MANIFEST), self.entries[-1].chain if self.entries else ""
        tables, findings, new = _said(AuditRun.open(folder))
        entry = Entry(folder.name, digest, linked(before, digest), tables, findings, new)
        grown = Ledger(self.folder, (*self.entries, entry))
        write_json(self.folder / LEDGER, {"kind": KIND, "entries": [asdict(one) for one in grown.entries]})
        return grown

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Release, new tables, findings in all, new findings; with heads, for people."""
        listed = [
            (one.folder, ", ".join(one.tables), f"{one.findings:,}", f"{one.new:,}") for one in self.entries
        ]
        return [("release", "new tables", "findings", "new"), *listed]


_NUMBERED = re.compile(r"0001-[A-Za-z0-9_-]+\Z")


def _said(run: AuditRun) -> tuple[tuple[str, ...], int, int]:
    """The new tables of a run, its findings, and how many of them are new."""
    old, after = set(earlier_tables(run)), read_after(run)
    tables = tuple(table.name for table in run.layout.tables if table.name not in old)
    return tables, run.summary.findings, run.summary.findings if after is None else after.new


def _differences(earlier: EarlierRun, entry: Entry, before: Entry | None) -> Iterator[str]:
    """How a run differs from what its entry says, and whether it comes after the one before."""
    if _said(earlier.run) != (entry.tables, entry.findings, entry.new):
        yield f"{LEDGER}: other tables or findings than those of {entry.folder}"
    if before is not None and before.run not in earlier.holds:
        yield f"{entry.folder}: it does not come after {before.folder}"


def _entries(path: Path) -> Iterator[Entry]:
    plain: dict[str, Any] = read_json(path, error=RunError, remedy=DAMAGED)
    listed = plain.get("entries")
    if plain.get("kind") != KIND or not isinstance(listed, list):
        raise RunError("not a list of releases", file=str(path), remedy=DAMAGED)
    for number, one in enumerate(listed, 1):
        if not isinstance(one, dict) or not _fits(one):
            raise RunError("an entry is damaged", file=str(path), row=number, remedy=DAMAGED)
        known: dict[str, Any] = {**one, "tables": tuple(one["tables"])}
        yield Entry(**known)


def _fits(one: dict[str, Any]) -> bool:
    if set(one) != {entry.name for entry in fields(Entry)}:
        return False
    texts = all(isinstance(one[name], str) for name in ("folder", "run", "chain"))
    counts = all(type(one[name]) is int and one[name] >= 0 for name in ("findings", "new"))
    tables = isinstance(one["tables"], list) and all(isinstance(name, str) for name in one["tables"])
    plain = texts and re.fullmatch(r"[0-9]{4,}-[A-Za-z0-9_-]+", one["folder"]) is not None
    return plain and counts and tables
