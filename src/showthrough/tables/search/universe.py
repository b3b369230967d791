"""The record types that can exist: everything the rules and the cells published as zero allow.

The full product of the attributes is never made. Partial types grow one attribute at a time, and a
partial type is dropped as soon as a rule or a zero cell that it matches is decided, that is, has no
attribute left to come. Cell membership travels along as packed bits, so that at the end every
surviving type knows its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Undecided
from showthrough.packing import pack, pack_selections
from showthrough.release import Layout, Release

__all__ = [
    "Frame",
    "TooManyTypes",
    "Universe",
    "grow",
]

#: Words (8 bytes each) one growth step may hold at once.
_STEP_WORDS = 8_000_000


class TooManyTypes(Undecided):
    """More record types than the effort allows."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A layout compiled for growing record types over some of its attributes.

    ``over`` holds attribute positions in growth order. Bits run over the selections that the layout's
    cells count (one per cell, several for a cell that is a sum) and then over the rules' forbidden
    selections; those that need an attribute outside ``over`` are switched off (never decided).
    """

    layout: Layout
    over: tuple[int, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names in growth order."""
        return tuple(self.layout.schema.names[at] for at in self.over)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has, in growth order."""
        return tuple(len(self.layout.schema.attributes[at].values) for at in self.over)

    @cached_property
    def needs(self) -> NDArray[np.bool_]:
        """(selections and rules) × attributes: which attributes each one restricts."""
        schema = self.layout.schema
        boxes = (*self.layout.boxes, *schema.forbidden)
        needs = np.zeros((len(boxes), len(schema.attributes)), bool)
        for row, box in enumerate(boxes):
            needs[row, [schema.index[name] for name in box.attributes]] = True
        return needs

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which selections and rules need no attribute outside ``over``."""
        outside = np.ones(self.needs.shape[1], bool)
        outside[list(self.over)] = False
        return np.logical_not(self.needs[:, outside].any(axis=1))

    @cached_property
    def cells_inside(self) -> NDArray[np.bool_]:
        """Which cells need no attribute outside ``over``, in any of their terms."""
        boxes = self.inside[: len(self.layout.boxes)]
        return np.logical_and.reduceat(boxes, self.layout.box_starts) if self.layout.sums else boxes

    @cached_property
    def bits(self) -> tuple[NDArray[np.uint64], ...]:
        """Per attribute in growth order: value × words, which selections and rules allow the value."""
        schema = self.layout.schema
        packed = pack_selections((*self.layout.boxes, *schema.forbidden), schema)
        return tuple(packed[at] for at in self.over)

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Step × (selections and rules): what is decided exactly when that attribute is added.

        Something without attributes (a grand total) counts as decided at the first step.
        """
        needs = self.needs[:, list(self.over)]
        if not self.over:
            return np.zeros((0, len(needs)), bool)
        last = np.where(needs.any(axis=1), needs.shape[1] - 1 - needs[:, ::-1].argmax(axis=1), 0)
        return (last[None, :] == np.arange(len(self.over))[:, None]) & self.inside[None, :]


@dataclass(frozen=True, eq=False)
class Universe:
    """Surviving record types: codes (type × attribute, in growth order) and packed selections."""

    frame: Frame
    codes: NDArray[np.uint16]
    words: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.codes)

    def times_counted(self, cells: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Type × cell: how many times a record of the type counts in some of the cells."""
        return self.frame.layout.times_counted(self.words, cells)


def active_attributes(layout: Layout) -> tuple[int, ...]:
    """The attributes something is known about: in a cell, in a rule, or with one value only."""
    schema = layout.schema
    named = {name for selection in layout.boxes for name in selection.attributes}
    named |= {n for rule in schema.rules for n in (*rule.when.attributes, *rule.then.attributes)}
    return tuple(
        at
        for at, attribute in enumerate(schema.attributes)
        if attribute.name in named or len(attribute.values) == 1
    )


def make_frame(layout: Layout, attributes: tuple[int, ...] | None = None) -> Frame:
    """A frame whose growth order lets rules and cells decide early.

    Greedy: the next attribute is the one that decides most rules and cells for its size.
    """
    left = list(active_attributes(layout) if attributes is None else attributes)
    needs = Frame(layout, tuple(left)).needs
    weight = np.ones(len(needs))
    weight[len(layout.boxes) :] = 5.0  # rules always prune, cells only where they are zero
    known = np.zeros(needs.shape[1], bool)
    order: list[int] = []
    while left:
        scores = [_score(needs, weight, known, at, layout) for at in left]
        best = left[int(np.argmax(scores))]
        left.remove(best)
        order.append(best)
        known[best] = True
    return Frame(layout, tuple(order))


def _score(
    needs: NDArray[np.bool_],
    weight: NDArray[np.float64],
    known: NDArray[np.bool_],
    at: int,
    layout: Layout,
) -> float:
    after = known.copy()
    after[at] = True
    newly = needs[:, at] & ~(needs & ~after).any(axis=1)
    touched = needs[:, at].sum() * 1e-3
    return (weight[newly].sum() + touched + 1e-9) / len(layout.schema.attributes[at].values)


def grow(frame: Frame, release: Release, *, most: int) -> Universe:
    """All record types over the frame's attributes that can exist under this release."""
    n_boxes = len(frame.inside)
    fatal = np.ones(n_boxes, bool)
    layout = frame.layout
    fatal[: len(layout.boxes)] = (release.high == 0)[layout.box_cells]  # of a sum of 0, all its terms
    kill = pack(frame.decided & fatal[None, :])
    codes = np.zeros((1, 0), np.uint16)
    words = pack(np.ones((1, n_boxes), bool))
    if not frame.over and bool((fatal & frame.inside).any()):
        return Universe(frame, codes[:0], words[:0])
    for step, bits in enumerate(frame.bits):
        codes, words = _extend(codes, words, bits, kill[step], most)
    return Universe(frame, codes, words)


def _extend(
    codes: NDArray[np.uint16],
    words: NDArray[np.uint64],
    bits: NDArray[np.uint64],
    kill: NDArray[np.uint64],
    most: int,
) -> tuple[NDArray[np.uint16], NDArray[np.uint64]]:
    """One more attribute for every partial type, without those that just became impossible."""
    chunk = max(1, _STEP_WORDS // bits.size)
    grown_codes: list[NDArray[np.uint16]] = []
    grown_words: list[NDArray[np.uint64]] = []
    size = 0
    for start in range(0, len(codes), chunk):
        both = words[start : start + chunk, None, :] & bits[None, :, :]
        row, value = np.nonzero(~(both & kill).any(axis=2))
        grown_words.append(both[row, value])
        new = value.astype(np.uint16)[:, None]
        grown_codes.append(np.hstack([codes[start : start + chunk][row], new]))
        size += len(row)
        if size > most:
            raise TooManyTypes(
                f"more than {most:,} record types are possible; raise --effort, audit fewer columns "
                "together, or group values"
            )
    if not grown_codes:
        return np.zeros((0, codes.shape[1] + 1), np.uint16), words[:0]
    return np.concatenate(grown_codes), np.concatenate(grown_words)
