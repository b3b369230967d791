"""Some parts of a nest as one system: their own rows, and rows for the cells of the whole.

What the other parts have in the cells of the whole is either taken as it is in one dataset (*pinned*:
whatever agrees with this system is part of a dataset of the whole) or bounded by their own cells
(*relaxed*: what holds in this system holds in the whole). With all parts the two are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Layout, make_table
from showthrough.tables.linked.nest import Nest
from showthrough.tables.linked.parts import ENDLESS, LinkedParts, PartBoxes
from showthrough.tables.proof import Branch, Leaf, Node
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame, Universe

__all__ = [
    "Joint",
    "expanded",
    "joint_frame",
    "pinned",
    "relaxed",
]

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Joint:
    """Some parts as one system; types and classes are those of the parts, one part after the other.

    Rows of the whole's cells are named by numbers below 0: −1 − 2·k is the lower end of the k-th, −2 − 2·k
    the upper end.
    """

    linked: LinkedParts
    chosen: tuple[int, ...]
    system: System
    boxes: PartBoxes | None

    @cached_property
    def type_starts(self) -> list[int]:
        """Where the types of each part start, and where they end."""
        return _starts([len(self.linked.parts[at].system.group) for at in self.chosen])

    @cached_property
    def class_starts(self) -> list[int]:
        """Where the classes of each part start, and where they end."""
        return _starts([self.linked.parts[at].system.n_classes for at in self.chosen])

    @cached_property
    def ends(self) -> tuple[dict[int, int], dict[int, int]]:
        """The ends of all rows by the names of what gives them."""
        system = self.system
        low = dict(zip(system.low_cell.tolist(), system.low.tolist(), strict=True))
        return low, dict(zip(system.high_cell.tolist(), system.high.tolist(), strict=True))

    def lifted(self, part: int, masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Masks over the types of a part as masks over all types."""
        found = np.zeros((len(masks), self.type_starts[-1]), bool)
        at = self.chosen.index(part)
        found[:, self.type_starts[at] : self.type_starts[at + 1]] = masks
        return found

    def joined(self, worlds: Sequence[TypeCounts]) -> TypeCounts:
        """The records of all these parts, given those of every part of the nest."""
        pairs = list(zip(self.chosen, self.type_starts, strict=False))
        types = np.concatenate([worlds[part].types + start for part, start in pairs])
        return TypeCounts(types, np.concatenate([worlds[part].times for part in self.chosen]))

    def split(self, world: TypeCounts) -> dict[int, TypeCounts]:
        """The records of each part."""
        ends = np.searchsorted(world.types, self.type_starts)
        return {
            part: TypeCounts(world.types[a:b] - start, world.times[a:b])
            for part, start, a, b in zip(self.chosen, self.type_starts, ends[:-1], ends[1:], strict=False)
        }


def relaxed(linked: LinkedParts, boxes: PartBoxes, chosen: Sequence[int], frame: Frame) -> Joint:
    """Some parts, with what the cells of the whole and of the other parts leave for them."""
    low, high = boxes.left_for(list(chosen))
    own_low, own_high = boxes.own(list(chosen))
    low = np.where(low > own_low, low, 0)
    high = np.where(high < own_high, high, UNBOUNDED)
    return _joint(linked, chosen, frame, low, high, boxes)


def pinned(linked: LinkedParts, worlds: Sequence[TypeCounts], chosen: Sequence[int], frame: Frame) -> Joint:
    """Some parts, with the others as they are in a dataset."""
    taken = np.zeros(len(linked.cells), np.int64)
    for at, part in enumerate(linked.parts):
        if at not in chosen:
            taken += part.counted_above(worlds[at])
    high = np.where(linked.high >= ENDLESS, UNBOUNDED, linked.high - taken)
    return _joint(linked, chosen, frame, np.maximum(0, linked.low - taken), high, None)


def joint_frame(nest: Nest, frame: Frame) -> Frame:
    """A frame for the names and values of joint systems: the part, then the attributes of its own frame."""
    layout = Layout(nest.schema, (make_table(nest.schema, "total"),))
    return Frame(layout, (0, *(at + 1 for at in frame.over)))


def _joint(
    linked: LinkedParts,
    chosen: Sequence[int],
    frame: Frame,
    low: Counts,
    high: Counts,
    boxes: PartBoxes | None,
) -> Joint:
    parts = [linked.parts[at] for at in chosen]
    above = np.hstack([part.above for part in parts])
    used = np.flatnonzero(((low > 0) | (high < UNBOUNDED)) & above.any(axis=1))
    kind = np.result_type(above.dtype, *(part.system.rows.dtype for part in parts))
    classes = _starts([part.system.n_classes for part in parts])
    rows = np.zeros((sum(len(part.system.rows) for part in parts) + len(used), classes[-1]), kind)
    at = 0
    for part, start in zip(parts, classes, strict=False):
        own = part.system.rows
        rows[at : at + len(own), start : start + part.system.n_classes] = own
        at += len(own)
    rows[at:] = above[used]
    firsts = [linked.nest.first_cell(number) for number in chosen]
    pairs = list(zip(parts, firsts, strict=True))
    codes = [
        np.insert(part.system.universe.codes, 0, number, axis=1)
        for number, part in zip(chosen, parts, strict=True)
    ]
    every = np.concatenate(codes).astype(np.uint16)
    system = System(
        release=linked.nest.whole,
        universe=Universe(frame, every, np.zeros((len(every), 1), np.uint64)),
        rows=rows,
        low=np.concatenate([*(part.system.low for part in parts), low[used]]),
        high=np.concatenate([*(part.system.high for part in parts), high[used]]),
        low_cell=np.concatenate([*(part.system.low_cell + first for part, first in pairs), -1 - 2 * used]),
        high_cell=np.concatenate([*(part.system.high_cell + first for part, first in pairs), -2 - 2 * used]),
        group=np.concatenate(
            [part.system.group + start for part, start in zip(parts, classes, strict=False)]
        ),
        n_classes=classes[-1],
        row_of_cell=np.full(len(linked.nest.whole.low), -1, np.int64),
    )
    return Joint(linked, tuple(chosen), system, boxes)


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]


def expanded(joint: Joint, node: Node) -> Node:
    """A proof about a joint system as one that adds published cells only: of the whole and of all parts."""
    if isinstance(node, Branch):
        return replace(node, below=expanded(joint, node.below), above=expanded(joint, node.above))
    nest = joint.linked.nest
    cells: dict[int, int] = {}
    for cell, u in node.cells:
        for name, v in _published(joint, cell, u):
            cells[name] = cells.get(name, 0) + v
    used = sorted((cell, u) for cell, u in cells.items() if u)
    total = sum(u * int(nest.low[cell] if u > 0 else nest.high[cell]) for cell, u in used)
    branches = node.total - _total(joint, node)
    return Leaf(tuple(used), node.branches, node.denominator, total + branches)


def _total(joint: Joint, leaf: Leaf) -> int:
    """What the rows of a leaf, without its branches, add up to."""
    low, high = joint.ends
    return sum(u * (low[cell] if u > 0 else high[cell]) for cell, u in leaf.cells)


def _published(joint: Joint, cell: int, u: int) -> list[tuple[int, int]]:
    """A row of a joint system, times a number, as published cells with multipliers."""
    if cell >= 0:
        return [(cell, u)]
    if u > 0 and not joint.ends[0][cell]:
        return []  # a count is at least 0 whatever is published, and what is left out only lowers the sum
    at = (-1 - cell) // 2
    found = [(int(joint.linked.cells[at]), u)]
    if joint.boxes is None or len(joint.chosen) == len(joint.linked.parts):
        return found
    for part in range(len(joint.linked.parts)):
        if part not in joint.chosen:
            cells = joint.boxes.cells_over(part, at) if u > 0 else joint.boxes.cells_below(part, at)
            found += [(name, -u) for name in cells]
    return found
