"""Which claims a single published cell, or the sum of a table's cells, states outright."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.closure import Closure
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tally import only_selection

__all__ = [
    "Closures",
    "Kinds",
    "Margins",
    "forget_all",
]

#: Answers remembered for other areas of the same layout; a nation has more than memory holds.
MOST_REMEMBERED = 200_000

#: Kinds of record, as far as rules tell them apart, that are enumerated to look at all rules together.
MOST_KINDS = 100_000


class Kinds:
    """The records that rules allow, values that no rule tells apart taken together.

    They tell what all rules imply together, where :class:`~showthrough.closure.Closure` looks at one
    after the other: of x and y that both imply p, it does not see that everybody has p.

    >>> Kinds(Closure((2, 2), ({0: 0b01, 1: 0b10}, {0: 0b10, 1: 0b10}))).hull([0b11, 0b11])
    (3, 1)
    """

    def __init__(self, closure: Closure) -> None:
        self._used = sorted({at for box in closure.boxes for at in box})
        self._groups = [_told_apart(closure, at) for at in self._used]
        self._rows = self._grown(closure)
        self._with: dict[tuple[int, int], int] = {}
        self._seen: dict[int, tuple[int, ...]] = {}

    def hull(self, allowed: Sequence[int]) -> tuple[int, ...] | None:
        """Per attribute the allowed codes that some record within bit sets has; None if none lies there."""
        inside = self._all
        for at in self._used:
            key = at, allowed[at]
            some = self._with.get(key)
            inside &= self._with_any(key) if some is None else some
        if not inside or not all(allowed):
            return None
        seen = self._seen.get(inside)
        seen = self._seen_in(inside) if seen is None else seen
        left = list(allowed)
        for at, codes in zip(self._used, seen, strict=True):
            left[at] &= codes
        return tuple(left)

    def _with_any(self, key: tuple[int, int]) -> int:
        """The kinds with any of some codes of an attribute."""
        at, codes = key
        groups, having = self._having[at]
        some = (kinds for group, kinds in zip(groups, having, strict=True) if codes & group)
        forget_all(self._with)
        self._with[key] = reduce(or_, some, 0)
        return self._with[key]

    def _seen_in(self, inside: int) -> tuple[int, ...]:
        """Per attribute that a rule names the codes that some kinds have."""
        found = list[int]()
        for groups, having in self._having.values():
            seen = (group for group, kinds in zip(groups, having, strict=True) if inside & kinds)
            found.append(reduce(or_, seen, 0))
        forget_all(self._seen)
        self._seen[inside] = tuple(found)
        return self._seen[inside]

    @cached_property
    def _all(self) -> int:
        """All kinds, a bit each."""
        return (1 << len(self.rows)) - 1

    @cached_property
    def _having(self) -> dict[int, tuple[list[int], list[int]]]:
        """Per attribute that a rule names its groups of codes, and the kinds with each group, a bit each."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        for column, (at, groups) in enumerate(zip(self._used, self._groups, strict=True)):
            codes = self.rows[:, column]
            packed = [np.packbits(codes == number, bitorder="little") for number in range(len(groups))]
            found[at] = groups, [int.from_bytes(bits.tobytes(), "little") for bits in packed]
        return found

    def count(self, allowed: Sequence[int]) -> int:
        """How many different records lie within bit sets."""
        used, total = set(self._used), 1
        for at, some in enumerate(allowed):
            total *= 1 if at in used else some.bit_count()
        sizes = np.ones(len(self.rows), object)
        for column, (at, groups) in enumerate(zip(self._used, self._groups, strict=True)):
            each = [(allowed[at] & group).bit_count() for group in groups]
            sizes = sizes * np.array(each, object)[self.rows[:, column]]
        return total * int(sizes.sum())

    @property
    def known(self) -> bool:
        """Whether there are few enough to enumerate."""
        return self._rows is not None

    @property
    def rows(self) -> NDArray[np.uint16]:
        """One row per kind, one column per attribute that a rule names."""
        if self._rows is None:
            raise AssertionError("too many kinds of record were not enumerated")
        return self._rows

    def _grown(self, closure: Closure) -> NDArray[np.uint16] | None:
        """One row per kind, one column per attribute that a rule names."""
        rows = np.zeros((1, 0), np.uint16)
        for step, groups in enumerate(self._groups):
            if len(rows) * len(groups) > MOST_KINDS:
                return None
            new = np.tile(np.arange(len(groups), dtype=np.uint16), len(rows))
            rows = np.column_stack([np.repeat(rows, len(groups), axis=0), new])
            rows = rows[~self._forbidden(rows, closure, self._used[: step + 1])]
        return rows

    def _forbidden(self, rows: NDArray[np.uint16], closure: Closure, known: list[int]) -> NDArray[np.bool_]:
        """Which rows lie in a box that names the newest attribute and none that is still to come."""
        dead = np.zeros(len(rows), bool)
        for box in closure.boxes:
            if known[-1] in box and set(box) <= set(known):
                hit = np.ones(len(rows), bool)
                for at, inside in box.items():
                    column = known.index(at)
                    hit &= np.array([bool(g & inside) for g in self._groups[column]])[rows[:, column]]
                dead |= hit
        return dead


def _told_apart(closure: Closure, at: int) -> list[int]:
    """The codes of an attribute as bit sets, those together that lie in the same boxes."""
    groups: dict[tuple[bool, ...], int] = {}
    for code in range(closure.sizes[at]):
        where = tuple(bool(box[at] >> code & 1) for box in closure.boxes if at in box)
        groups[where] = groups.get(where, 0) | 1 << code
    return list(groups.values())


class Closures:
    """Selections with everything the rules imply, all of them together.

    Two selections with the same closure select the same records, whatever the tables say, and two
    that select the same records (and any) have the same closure. Only where there are too many kinds
    of record to enumerate are the rules followed one after the other.

    >>> from showthrough.schema import Rule
    >>> schema = Schema.of({"size": ["1", "2"], "type": ["alone", "family"]},
    ...     rules=[Rule(Selection.of(size="1"), Selection.of(type="alone"), both_ways=True)])
    >>> closures = Closures(schema)
    >>> closures.of(Selection.of(size="1")) == closures.of(Selection.of(type="alone"))
    True
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._closure = schema.closure
        self._everything = schema.closure.everything()
        self._only = {a.name: a.values[0] for a in schema.attributes if len(a.values) == 1}
        self._known: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        self._of: dict[Selection, tuple[int, ...] | None] = {}
        self._determined: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def of(self, selection: Selection) -> tuple[int, ...] | None:
        """One bit set of allowed codes per attribute; None if nobody can match."""
        if selection not in self._of:
            forget_all(self._of)
            self._of[selection] = self.close(self._closure.only(self._schema.encode(selection)))
        return self._of[selection]

    def everything(self) -> list[int]:
        """The bit sets that allow everything."""
        return self._everything.copy()

    def close(self, allowed: Sequence[int]) -> tuple[int, ...] | None:
        """The closure of bit sets, one per attribute."""
        key = tuple(allowed)
        if key not in self._known:
            forget_all(self._known)
            self._known[key] = self._close(key)
        return self._known[key]

    def _close(self, allowed: tuple[int, ...]) -> tuple[int, ...] | None:
        if not self._closure.boxes or not self._kinds.known:
            return self._closure.close(allowed)
        return self._kinds.hull(allowed)

    @cached_property
    def _kinds(self) -> Kinds:
        return Kinds(self._closure)

    def n_records(self, allowed: Sequence[int]) -> int:
        """How many different records lie within bit sets; those that break a rule count as well
        where there are too many kinds to enumerate.
        """
        if self._closure.boxes and self._kinds.known:
            return self._kinds.count(allowed)
        return math.prod(some.bit_count() for some in allowed)

    def determined(self, known: Mapping[str, str]) -> dict[str, str]:
        """The attributes of which the rules leave one value to whoever has these values."""
        if not self._closure.boxes:
            return {**self._only, **known}
        key = tuple(known.items())
        found = self._determined.get(key)
        if found is None:
            forget_all(self._determined)
            found = self._determined[key] = self._only_values(known)
        return found

    def _only_values(self, known: Mapping[str, str]) -> dict[str, str]:
        closed = self.of(Selection.of(known))
        if closed is None:
            return {}
        return {
            attribute.name: attribute.values[bits.bit_length() - 1]
            for attribute, bits in zip(self._schema.attributes, closed, strict=True)
            if bits.bit_count() == 1
        }


class Margins:
    """Which claims are sums over the cells of one table, so that the table as good as states them.

    Cells fill a selection if every record that the rules allow and that matches lies in exactly one
    of them.

    >>> from showthrough.release import make_table
    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> margins = Margins(Layout(schema, (make_table(schema, "sex*age"),)))
    >>> margins.of(Selection.of(sex="f"))
    [(0, 1)]
    """

    def __init__(self, layout: Layout, closures: Closures | None = None) -> None:
        self._layout = layout
        self._closures = Closures(layout.schema) if closures is None else closures
        self._known: dict[Selection, list[tuple[int, ...]]] = {}
        self._sizes: dict[tuple[int, ...], int] = {}
        self._ends = np.cumsum([len(table.cells) for table in layout.tables])

    @cached_property
    def _boxes(self) -> Boxes:
        """The closure of every cell; none for sums of selections, which are no part of a margin."""
        selections = map(only_selection, self._layout.terms)
        return Boxes([None if one is None else self._closures.of(one) for one in selections])

    def of(self, selection: Selection) -> list[tuple[int, ...]]:
        """Per table that splits the selection exactly: the positions of the cells it splits into."""
        if selection not in self._known:
            whole = self._closures.of(selection)
            forget_all(self._known)
            self._known[selection] = [] if whole is None else list(self._splits(whole))
        return self._known[selection]

    def _splits(self, whole: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        inside = self._boxes.inside(whole)
        for cells in np.split(inside, np.searchsorted(inside, self._ends[:-1])):
            if len(cells) and self._fills(whole, cells):
                yield tuple(cells.tolist())

    def _fills(self, whole: tuple[int, ...], cells: NDArray[np.int64]) -> bool:
        """Whether the cells are disjoint and together make up the selection.

        Cells within it that have as many records as it has make it up if no two of them overlap.
        """
        left = self._size(whole)
        for box in self._boxes.each(cells):
            left -= self._size(box)
            if left < 0:
                return False
        return left == 0 and not any(map(self._overlap, self._boxes.alike(cells)))

    def _overlap(self, cells: NDArray[np.int64]) -> bool:
        """Whether a record can lie in two of some cells."""
        boxes = list(self._boxes.each(cells))
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                common = [mine & its for mine, its in zip(one, other, strict=True)]
                if all(common) and self._closures.n_records(common):
                    return True
        return False

    def _size(self, box: tuple[int, ...]) -> int:
        """How many different records lie in a box."""
        size = self._sizes.get(box)
        if size is None:
            forget_all(self._sizes)
            size = self._sizes[box] = self._closures.n_records(box)
        return size


class Boxes:
    """Many boxes, one bit set per attribute each, numbered: those in which nobody can be are never found.

    >>> boxes = Boxes([(0b01, 0b11), (0b10, 0b01), None])
    >>> boxes.inside((0b11, 0b01)).tolist()
    [1]
    """

    def __init__(self, boxes: Sequence[tuple[int, ...] | None]) -> None:
        self._boxes = boxes
        self._there = np.array([at for at, box in enumerate(boxes) if box is not None], np.int64)
        sides = zip(*(box for box in boxes if box is not None), strict=True)
        self._sides = [Sides(side, self._there, len(boxes)) for side in sides]

    def each(self, which: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
        """The boxes of these numbers."""
        return (box for at in which.tolist() if (box := self._boxes[at]) is not None)

    def inside(self, whole: Sequence[int]) -> NDArray[np.int64]:
        """The boxes that lie within another one, in order."""
        if not len(self._there):
            return self._there
        fitting = [side.within(allowed) for side, allowed in zip(self._sides, whole, strict=True)]
        each = zip(self._sides, fitting, strict=True)
        limits = [(side, fits) for side, fits in each if not fits.all()]
        if not limits:
            return self._there
        limits.sort(key=lambda limit: int(limit[0].sizes[limit[1]].sum()))
        first, fits = limits[0]
        found = first.having(fits)
        for side, fits in limits[1:]:
            found = found[fits[side.number[found]]]
        return np.sort(found)

    def alike(self, which: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The boxes in groups such that boxes of different groups have nothing in common.

        Where the sides of an attribute are equal or disjoint, boxes with different sides are disjoint.
        """
        group = np.zeros(len(which), np.int64)
        for side in self._sides:
            used, mine = np.unique(side.number[which], return_inverse=True)
            sides = [side.distinct[at] for at in used.tolist()]
            if len(sides) > 1 and sum(map(int.bit_count, sides)) == reduce(or_, sides).bit_count():
                group = np.unique(group * len(sides) + mine.ravel(), return_inverse=True)[1].ravel()
        order = np.argsort(group, kind="stable")
        return np.split(which[order], np.flatnonzero(np.diff(group[order])) + 1)


class Sides:
    """One attribute's bit sets of many boxes: the distinct ones, and which boxes have each."""

    def __init__(self, sides: Sequence[int], boxes: NDArray[np.int64], n: int) -> None:
        numbers: dict[int, int] = {}
        mine = np.array([numbers.setdefault(bits, len(numbers)) for bits in sides], np.int64)
        self.distinct = list(numbers)
        self.number = np.zeros(n, np.int64)
        self.number[boxes] = mine
        self.sizes = np.bincount(mine, minlength=len(numbers))
        self._by_side = np.split(boxes[np.argsort(mine, kind="stable")], np.cumsum(self.sizes)[:-1])
        self._known: dict[int, NDArray[np.bool_]] = {}

    def within(self, allowed: int) -> NDArray[np.bool_]:
        """Which distinct bit sets lie within the allowed codes."""
        found = self._known.get(allowed)
        if found is None:
            forget_all(self._known)
            found = self._known[allowed] = np.array([not bits & ~allowed for bits in self.distinct], bool)
        return found

    def having(self, which: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The boxes with one of some distinct bit sets."""
        chosen = [self._by_side[at] for at in np.flatnonzero(which).tolist()]
        return np.concatenate([np.zeros(0, np.int64), *chosen])


def forget_all(known: dict[Any, Any]) -> None:
    """Start over where too much is remembered."""
    if len(known) >= MOST_REMEMBERED:
        known.clear()
