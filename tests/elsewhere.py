"""An engine as awkward as a cluster: work is pickled and done late, in any order, some of it twice."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field

from showthrough.engine.engine import Work


@dataclass
class Elsewhere:
    """Items are taken some at a time and worked on from the last to the first, the first of them twice."""

    wave: int = 3
    #: How many items were worked on.
    done: list[int] = field(default_factory=list[int])

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        packed, held = pickle.dumps(work), list[int]()
        for item in items:
            held.append(item)
            if len(held) == self.wave:
                yield from self._worked(packed, held)
                held = []
        yield from self._worked(packed, held)

    def _worked(self, packed: bytes, items: list[int]) -> Iterator[tuple[int, int]]:
        with chdir("/"):  # of another machine
            found = [(item, _unpacked(packed)(item)) for item in [*items[:1], *reversed(items)]]
        self.done += items
        yield from found[1:]


def _unpacked(packed: bytes) -> Work:
    return pickle.loads(packed)  # noqa: S301  (our own)
