"""The parts of a large run: each is made of decided batches, by whoever has nothing else to do.

Batches are small, so that work can be shared out; files are large, so that they are few. Which batches
become a part follows from their sizes alone. :class:`PartCut` says so as soon as it is known, and then a
process on any machine joins them (:class:`PartStore`): it writes the files under names that nobody else
uses, adds up their figures, moves them to their places, and seals the part with their hashes. What joins a
part twice writes the same twice. A run that does not fill a part has none: its tables are one file each.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import InputError, RunError
from showthrough.files import file_digest, flush_file, read_json
from showthrough.folders import remove
from showthrough.tables.run.batch import BatchStore, DecidedBatch, LostResults
from showthrough.tables.run.files import place_of_part
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.totals import RunTotals, add_up
from showthrough.tables.stored import PLACES, SOMETIMES, TABLES

__all__ = [
    "PART_BYTES",
    "PartCut",
    "PartStore",
    "SealedPart",
    "joined",
    "write_table",
]

#: Bytes of decided batches that fill a part: all tables together take about as much once they are joined.
PART_BYTES = 256 * 2**20

#: Bytes gathered before they are written as one row group.
ROW_GROUP = 16 * 2**20

#: The batches of a part: the number of the first, and of the first that is not in it.
Span = tuple[int, int]


@dataclass
class PartCut:
    """Which batches make up which part, as far as it is known."""

    n_batches: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    _sizes: dict[int, int] = field(default_factory=dict[int, int])
    _held: int = 0

    def add(self, number: int, n_bytes: int) -> Iterator[int]:
        """Note the size of a decided batch; the parts whose batches are all known now."""
        self._sizes[number] = n_bytes
        while self.n_batches in self._sizes:
            self._held += self._sizes.pop(self.n_batches)
            self.n_batches += 1
            if self._held >= PART_BYTES:
                yield self._close()

    def end(self) -> Iterator[int]:
        """What is left makes a last part, unless it is all there is."""
        if self.spans and self.spans[-1][1] < self.n_batches:
            yield self._close()

    def _close(self) -> int:
        first = self.spans[-1][1] if self.spans else 0
        self.spans.append((first, self.n_batches))
        self._held = 0
        return len(self.spans) - 1


@dataclass(frozen=True)
class SealedPart:
    """A part that is complete: its batches, the hashes of its files, its rows by table, and its figures."""

    span: Span
    batches: tuple[DecidedBatch, ...]
    files: Mapping[str, str]
    rows: Mapping[str, int]
    totals: RunTotals

    def to_plain(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "span": list(self.span),
            "batches": [asdict(batch) for batch in self.batches],
            "files": dict(self.files),
            "rows": dict(self.rows),
            "totals": self.totals.to_plain(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> SealedPart:
        """The inverse."""
        return cls(
            (plain["span"][0], plain["span"][1]),
            tuple(map(DecidedBatch.from_plain, plain["batches"])),
            plain["files"],
            plain["rows"],
            RunTotals.from_plain(plain["totals"]),
        )


@dataclass(frozen=True)
class PartStore:
    """Where parts are made and kept while a run is under way."""

    store: BatchStore

    @property
    def final(self) -> Path:
        """Where the files of a run are before it is finished; no run with other settings has this folder."""
        return Path(self.store.folder, f"final-{self.store.key[:16]}")

    @property
    def _notes(self) -> Path:
        """Where plans and seals are: a folder that only the process which plans makes, for this run alone.

        So a worker that outlived another run in this place neither seals anything here nor removes batches.
        """
        return Path(self.store.folder, f"parts-{self.store.key[:16]}")

    def _file(self, number: int, what: str) -> Path:
        return self._notes / f"{number:05d}.{what}.json"

    def plan(self, number: int, span: Span) -> None:
        """Write down which batches make up a part, so that any process can join them."""
        self._file(number, "plan").parent.mkdir(exist_ok=True)
        self._write(self._file(number, "plan"), {"span": list(span)})

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write a small file of this run, all of it or nothing."""
        draft = path.with_name(f"draft-{path.name}-{token_hex(8)}")
        draft.write_text(json.dumps({"key": self.store.key, **content}), "utf-8")
        flush_file(draft)
        draft.replace(path)

    def sealed(self, number: int) -> SealedPart | None:
        """A part that is complete, as its seal says; None if there is none of this run."""
        try:
            found = read_json(self._file(number, "seal"))
            return SealedPart.from_plain(found) if found["key"] == self.store.key else None
        except (InputError, LookupError, TypeError):
            return None

    def intact(self) -> dict[int, SealedPart]:
        """The parts that an earlier call has made, undamaged; others are removed, and made again."""
        found = dict[int, SealedPart]()
        for path in self._notes.glob("[0-9]*.seal.json"):
            number = int(path.name.split(".")[0])
            part = self.sealed(number)
            if part is not None and self._is_whole(number, part):
                found[number] = part
            else:
                remove(path)
        return found

    def _is_whole(self, number: int, part: SealedPart) -> bool:
        try:
            timing = (self.final / place_of_part("timing", number)).is_file()
            return timing and all(file_digest(self.final / name) == one for name, one in part.files.items())
        except OSError:
            return False

    def join(self, number: int) -> int:
        """Join the batches of a part, unless that is done; how many areas they are about."""
        if (done := self.sealed(number)) is not None:
            return done.totals.areas
        first, end = read_json(self._file(number, "plan"))["span"]
        draft = Path(self.store.folder, f"draft-part-{number:05d}-{token_hex(8)}")
        draft.mkdir()  # without parents: once a run is over, a straggler finds no folder
        try:
            part = self._written(number, (first, end), draft)
            self._write(self._file(number, "seal"), part.to_plain())
        except (OSError, InputError):
            if (done := self.sealed(number)) is None:
                raise
            part = done
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        for batch in range(first, end):
            shutil.rmtree(self.store.part(batch), ignore_errors=True)
        return part.totals.areas

    def _written(self, number: int, span: Span, draft: Path) -> SealedPart:
        """The part, with its files at their places."""
        batches = tuple(map(self.store.decided, range(*span)))
        places = PLACES | SOMETIMES
        (draft / "proofs").mkdir()
        for name, place in places.items():
            write_table(joined(name, map(self.store.part, range(*span))), name, draft / place)
            flush_file(draft / place)
        rows = {name: pq.read_metadata(draft / place).num_rows for name, place in places.items()}
        expected = sum(batch.n_areas for batch in batches)
        if rows["areas"] != expected:
            raise RunError(f"{expected} areas were decided, but {rows['areas']} were joined", file=str(draft))
        without = not self.store.settings.findings
        totals = add_up(AuditRun(draft), without_findings=without, by_verdict=True)
        hashed = {place_of_part(name, number): place for name, place in places.items() if name != "timing"}
        files = {target: file_digest(draft / place) for target, place in hashed.items()}
        self.final.mkdir(exist_ok=True)  # without parents, too
        for name, place in places.items():
            target = self.final / place_of_part(name, number)
            for above in reversed(target.relative_to(self.final).parents[:-1]):
                (self.final / above).mkdir(exist_ok=True)
            (draft / place).replace(target)
        return SealedPart(span, batches, files, rows, totals)

    def collect(self, spans: Sequence[Span]) -> dict[int, SealedPart]:
        """All parts of a run; an error if one is not to be seen from here."""
        found = {number: part for number in range(len(spans)) if (part := self.sealed(number)) is not None}
        wrong = [
            number for number, span in enumerate(spans) if number not in found or found[number].span != span
        ]
        if wrong:
            raise LostResults(
                f"{len(spans)} parts were joined, but part {wrong[0]} is not in the folder as it was planned",
                file=self.store.folder,
                remedy="every machine must write to the same storage; the same call tries again",
            )
        return found


def joined(name: str, batches: Iterable[Path]) -> Iterator[pa.Table]:
    """A table of several batches, small ones together: millions of row groups would fill the memory."""
    waiting, size = list[pa.Table](), 0
    for batch in batches:
        table = pq.read_table(batch / f"{name}.parquet", use_threads=False)
        if table.num_rows:
            waiting.append(table)
            size += table.nbytes
        if size >= ROW_GROUP:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def write_table(tables: Iterable[pa.Table], name: str, place: Path) -> None:
    """Write a table of a run."""
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
