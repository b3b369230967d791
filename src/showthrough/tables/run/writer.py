"""Writes the folder of a run, so that a process that is killed meanwhile leaves nothing wrong behind.

While a run is under way its finished batches and parts lie in ``RUN/.partial``, which only its owner can
read. There the final files are made too; once all are complete, a file ``commit`` says so, and they move to
their places, ``run.json`` last. So a folder with ``run.json`` is complete, and one without is resumed by the
same call, whenever it was killed.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from showthrough.errors import InputError, RunError
from showthrough.files import file_digest, flush_folder, read_json, write_json, write_text
from showthrough.folders import (
    DAMAGED,
    MANIFEST,
    REPORT,
    PageMaker,
    complete,
    listed_files,
    recover,
    remove,
    versions,
)
from showthrough.locks import INSIDE, Lock
from showthrough.release import Layout
from showthrough.tables.run.batch import BatchStore, Settings
from showthrough.tables.run.files import RunFiles, place_of_part
from showthrough.tables.run.parts import PartStore, joined, write_table
from showthrough.tables.run.read import SUMMARY, AuditRun
from showthrough.tables.run.totals import RunTotals, add_up
from showthrough.tables.stored import PLACES, SOMETIMES, layout_to_json

if TYPE_CHECKING:
    from showthrough.tables.run.agenda import Agenda

__all__ = [
    "RunPlan",
    "RunWriter",
    "Tables",
]

#: Files that manifests of earlier versions did not list.
OLDER = {*PLACES.values(), SUMMARY, "release.json", REPORT}

#: The name of the folder in which the files of a run are before they are moved.
_FINAL = re.compile(r"final(-[0-9a-f]{16})?")

#: How often a folder is emptied that somebody still writes to.
_TRIES = 20

Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class RunPlan:
    """What determines a run's content."""

    layout: Layout
    settings: Settings
    inputs: Mapping[str, str]
    batch: int

    @cached_property
    def release(self) -> str:
        """The layout as release.json has it; that of a census takes a while to write."""
        return layout_to_json(self.layout)

    def to_plain(self) -> dict[str, Any]:
        """As run.json has it."""
        plain = {
            "parameters": {
                name: one for name, one in asdict(self.settings).items() if name != "noise" or one
            },
            "batch": self.batch,
            "inputs": dict(sorted(self.inputs.items())),
            "release": hashlib.sha256(self.release.encode()).hexdigest(),
            "versions": versions(("showthrough", "numpy", "scipy", "pyarrow", "highspy", "ortools")),
        }
        return json.loads(json.dumps(plain))


class RunWriter:
    """Writes a run folder: parts first, the final files at the end."""

    def __init__(
        self, lock: Lock, shown: Path, plan: RunPlan, *, overwrite: bool, page: PageMaker | None
    ) -> None:
        self.lock, self.folder, self.shown = lock, lock.target, str(shown)
        self.plan, self.plain_plan = plan, plan.to_plain()
        self.overwrite, self.page = overwrite, page
        self.partial = self.folder / ".partial"
        self.marker = self.partial / "commit"
        self._created = self.resumed = False

    @property
    def key(self) -> str:
        """What determines the results, in short."""
        return hashlib.sha256(json.dumps(self.plain_plan, sort_keys=True).encode()).hexdigest()

    @property
    def final(self) -> Path:
        """Where the files are made."""
        return PartStore(self._batches).final

    @property
    def _batches(self) -> BatchStore:
        return BatchStore(str(self.partial), self.plan.settings, self.key)

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
        self._batches.prepare(self.plan.layout)
        return self._batches

    def scratch(self) -> Path:
        """A folder for whatever the reading of the areas needs, gone when the run is done."""
        scratch, gone = self.partial / "scratch", self.partial / f"draft-scratch-{token_hex(8)}"
        with suppress(FileNotFoundError):
            scratch.rename(gone)  # a straggler finds no folder to write to while it is emptied
            shutil.rmtree(gone, ignore_errors=True)
        scratch.mkdir(mode=0o700)
        return scratch

    def finish(
        self, extra_files: Mapping[str, str], found: Tables | Agenda, derive: PageMaker | None = None
    ) -> None:
        """Write the tables (given, or of the batches), sum up, make the page, and commit."""
        known = dict[str, str]()
        if not isinstance(found, dict) and found.cut.spans:
            known, totals = self._take_parts(found)
        else:
            remove(self.final)
            (self.final / "proofs").mkdir(parents=True)
            self._write_tables(found)
            totals = add_up(AuditRun(self.final), without_findings=not self.plan.settings.findings)
        for name, text in {**extra_files, "release.json": self.plan.release}.items():
            write_text(self.final / Path(name).name, text)
        write_json(self.final / SUMMARY, totals.to_plain())
        if derive is not None:
            derive(self.final)
        complete(self.final, self._describe, page=self.page, known=known)
        self._commit()

    def _write_tables(self, found: Tables | Agenda) -> None:
        """One file for each table."""
        for name, place in {**PLACES, **SOMETIMES}.items():
            if isinstance(found, dict):
                tables = iter((found[name],))
            else:
                tables = joined(name, map(found.store.part, range(found.n_batches)))
            if name in SOMETIMES:
                first = next((table for table in tables if table.num_rows), None)
                if first is None:
                    continue
                tables = chain((first,), tables)
            write_table(tables, name, self.final / place)

    def _take_parts(self, agenda: Agenda) -> tuple[dict[str, str], RunTotals]:
        """The hashes of the parts that have been written, and what they add up to; nothing else stays."""
        parts = agenda.parts.collect(agenda.cut.spans)
        rows = {name: sum(part.rows[name] for part in parts.values()) for name in SOMETIMES}
        absent = {place_of_part(name, at) for name in SOMETIMES if not rows[name] for at in parts}
        known = {place: digest for part in parts.values() for place, digest in part.files.items()}
        known = {place: digest for place, digest in known.items() if place not in absent}
        kept = {*known, *(place_of_part("timing", at) for at in parts)}
        for path in [path for path in self.final.rglob("*") if path.is_file()]:
            if path.relative_to(self.final).as_posix() not in kept:
                path.unlink()
        return known, RunTotals.sum_of(part.totals for part in parts.values())

    def _describe(self, folder: Path, hashes: Mapping[str, str]) -> None:
        not_hashed = list(RunFiles(folder).places("timing"))
        outputs = {name: digest for name, digest in hashes.items() if name not in not_hashed}
        write_json(folder / MANIFEST, {**self.plain_plan, "outputs": outputs, "not_hashed": not_hashed})

    def _commit(self) -> None:
        """From here on the run is finished: whoever comes next moves its files in."""
        new = sorted(str(path.relative_to(self.final)) for path in self.final.rglob("*") if path.is_file())
        new.sort(key=lambda name: name == MANIFEST)
        old = self._old_files() if self._is_finished() else set[str]()
        self._note(self.final)
        plain = {"plan": self.whole, "final": self.final.name, "new": new, "old": sorted(old - set(new))}
        write_json(self.marker, plain)
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
        made = str(found.get("final", "final"))  # earlier versions had one name for all
        if (
            not isinstance(old, list)
            or not isinstance(new, list)
            or not all(map(self._is_within, old + new))
            or not _FINAL.fullmatch(made)
        ):
            raise RunError("the file is damaged", file=str(self.marker), remedy=DAMAGED)
        final = self.partial / made
        if (final / MANIFEST).exists():
            (self.folder / MANIFEST).unlink(missing_ok=True)
            for name in old:
                self._remove_old(self.folder / name)
            for name in new:
                if (final / name).exists():
                    (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (final / name).replace(self.folder / name)
        flush_folder(self.folder)
        return str(found.get("plan"))

    def _remove_old(self, path: Path) -> None:
        """Remove a file, and the folders that held nothing else."""
        path.unlink(missing_ok=True)
        with suppress(OSError):
            for above in path.parents:
                if above == self.folder:
                    return
                above.rmdir()

    def _tidy(self) -> None:
        """Remove what only an unfinished run needs, last of all what says that it is finished."""
        for _ in range(_TRIES):  # a straggler may write while its folder is emptied, but makes it once only
            if not self.partial.exists():
                return
            with suppress(OSError):
                for path in self.partial.iterdir():
                    if path != self.marker:
                        remove(path)
                remove(self.partial)
        if self.partial.exists():
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
