"""What is to be done next in a run: batches of areas to decide, and parts of decided batches to join.

Areas are read ahead of those that are decided, more and more of them, so that work begins at once and heavy
areas are found early: an area that takes as long as many is a batch by itself, and comes first. The others
come in their order, so that the batches of a part are soon complete and are joined while work goes on.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol, TypeVar

from showthrough.errors import RunError
from showthrough.release import Layout
from showthrough.tables.run.batch import BatchStore, DecidedBatch, LostResults
from showthrough.tables.run.batch_input import digest_input, write_input
from showthrough.tables.run.inputs import Area, Broken, Input, Nested, Planned
from showthrough.tables.run.parts import PartCut, PartStore, SealedPart

__all__ = [
    "BATCH",
    "Agenda",
    "Batch",
    "Waiting",
    "grouped",
    "in_batches",
    "weight",
]

#: Areas of the usual size that are decided together; in large runs more, up to a multiple.
BATCH, MOST_TIMES = 50, 5

#: Of the areas read so far, the share that a batch may be in large runs.
SHARE = 200

#: Up to this many records an area takes about as long as any other; beyond, a power of their number.
USUAL, POWER = 40, 1.5

#: Batches that are read ahead: at first, for each that is handed out, and at most.
FIRST_AHEAD, EACH_AHEAD, MOST_AHEAD = 8, 4, 4096

Progress = Callable[[int], None]

Item = TypeVar("Item")

#: Areas of a batch, and how heavy it is if it is a single heavy one.
Group = tuple[list[Item], float]


class Waiting(Protocol):
    """Areas that are to be decided together, wherever they are."""

    @property
    def heavy(self) -> float:
        """How heavy a single area is that is to be decided before others; 0 for several areas."""
        ...

    def content(self, layout: Layout) -> str:
        """A digest of the areas."""
        ...

    def write(self, path: Path, layout: Layout) -> str:
        """Write them down for whoever decides them; their digest."""
        ...


@dataclass(frozen=True, eq=False)
class Batch:
    """Areas that are decided together; one that is heavy is decided before others."""

    areas: list[Input]
    heavy: float = 0.0

    def content(self, layout: Layout) -> str:
        """A digest of the areas."""
        return digest_input(self.areas, layout)

    def write(self, path: Path, layout: Layout) -> str:
        """Write them to a file; their digest."""
        return write_input(path, self.areas, layout)


def weight(area: Input) -> float:
    """How many areas of the usual size take about as long to decide."""
    if isinstance(area, Nested):
        return sum(map(weight, area.parts))
    if isinstance(area, Broken):
        return 1.0
    return max(1.0, (_n_records(area) / USUAL) ** POWER)


def _n_records(area: Area | Planned) -> float:
    records = area.truth if isinstance(area, Area) else area.records
    if records is not None:
        return len(records)
    release = area.release if isinstance(area, Area) else None
    return 0 if release is None else float(release.low.sum()) / max(1, len(release.layout.tables))


def in_batches(areas: Iterable[Input], size: int) -> Iterator[Batch]:
    """Areas in order, this many of the usual size together, and heavy ones alone."""
    return (Batch(mine, heavy) for mine, heavy in grouped(areas, weight, size))


def grouped(items: Iterable[Item], weight: Callable[[Item], float], size: int) -> Iterator[Group[Item]]:
    """What stands for areas in order, this many of the usual size together, and heavy ones alone."""
    held, n = list[Item](), 0.0
    for seen, item in enumerate(items):
        mine, most = weight(item), max(size, min(MOST_TIMES * size, seen // SHARE))
        if mine >= size and held:
            yield held, 0.0
            held, n = [], 0.0
        held.append(item)
        n += mine
        if n >= most or mine >= size:
            yield held, mine if mine >= size else 0.0
            held, n = [], 0.0
    if held:
        yield held, 0.0


@dataclass
class Agenda:
    """The work of a run, item by item, for one call or for one that goes on after another."""

    batches: Iterable[Waiting]
    store: BatchStore
    layout: Layout
    progress: Progress
    cut: PartCut = field(default_factory=PartCut)
    n_batches: int = 0
    n_decided: int = 0
    _ready: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    _joins: deque[int] = field(default_factory=deque[int])
    _n_handed: int = 0
    _contents: dict[int, str] = field(default_factory=dict[int, str])

    @cached_property
    def parts(self) -> PartStore:
        """Where decided batches are put together."""
        return PartStore(self.store)

    @cached_property
    def _made(self) -> dict[int, SealedPart]:
        """Parts that an earlier call has made."""
        return self.parts.intact()

    @cached_property
    def _within(self) -> dict[int, DecidedBatch]:
        """The batches in these parts."""
        return {
            part.span[0] + at: batch for part in self._made.values() for at, batch in enumerate(part.batches)
        }

    def __iter__(self) -> Iterator[int]:
        """The numbers of batches to decide, whose input is written now, and ~number of parts to join."""
        left = iter(self.batches)
        while self._look_ahead(left) or self._joins:
            if self._joins:
                yield self._joins.popleft()
                continue
            self._n_handed += 1
            yield heapq.heappop(self._ready)[1]

    def _look_ahead(self, left: Iterator[Waiting]) -> bool:
        """Read some more areas; whether a batch waits to be decided."""
        most = min(MOST_AHEAD, FIRST_AHEAD + EACH_AHEAD * self._n_handed)
        while len(self._ready) < most and (batch := next(left, None)) is not None:
            number, self.n_batches = self.n_batches, self.n_batches + 1
            found = self._within.get(number) or self.store.intact(number)
            if found is None:
                self.store.make_room(number)
                write = partial(batch.write, layout=self.layout)
                self._contents[number] = self.store.write_input(number, write)
                heapq.heappush(self._ready, (-batch.heavy, number))
            elif found.content == batch.content(self.layout):
                getattr(self.progress, "resumed", self.progress)(found.n_areas)
                self._note(number, found)
            else:
                raise RunError(
                    "the unfinished run in this folder is about other areas, or other data about them",
                    file=str(self.store.part(number)),
                    remedy="choose another folder or add --overwrite",
                )
        return bool(self._ready)

    def finished(self, item: int, n_areas: int) -> None:
        """Note what an engine has done."""
        if item < 0:
            return
        self.store.input(item).unlink(missing_ok=True)
        found, content = self.store.decided(item), self._contents.pop(item)
        if found.content != content:
            raise LostResults(
                f"batch {item} was decided, but from other data than were handed out",
                file=str(self.store.part(item)),
                remedy="every machine must read from the same storage; start again with --overwrite",
            )
        self._note(item, found)
        self.progress(n_areas)

    def last_joins(self) -> list[int]:
        """The parts (~number) that are still to be joined when all batches are decided."""
        if self.n_decided < self.n_batches:
            raise LostResults(
                f"{self.n_batches} batches were to be decided, but {self.n_decided} are",
                file=self.store.folder,
                remedy="every machine must write to the same storage; the same call tries again",
            )
        self._plan(self.cut.end())
        return list(self._joins)

    def _note(self, number: int, batch: DecidedBatch) -> None:
        self.n_decided += 1
        self._plan(self.cut.add(number, batch.n_bytes))

    def _plan(self, parts: Iterable[int]) -> None:
        """Have parts joined whose batches are all decided, unless that is done."""
        for number in parts:
            span, made = self.cut.spans[number], self._made.get(number)
            if made is None:
                self.parts.plan(number, span)
                self._joins.append(~number)
            elif made.span != span:
                raise RunError(
                    "the unfinished run in this folder has parts of another size",
                    file=self.store.folder,
                    remedy="choose another folder or add --overwrite",
                )
