"""Company: a suppressed cell that follows from what is still published may as well be published.

**Why this holds for some cheapest plan.** If a cell follows from the others after a plan, the same
datasets agree with the release whether it is suppressed or not. So the plan without that move is as
safe, and costs no more. A safe plan from which no move can be taken back therefore suppresses a cell
only if

* every other cell with the same records is hidden too;
* in every sum that it is part of (a cell that is made up of others), another count is hidden. If the
  cell is 0 and the whole is published, one that is not 0: nothing is left for the zeros otherwise;
* no cell published as 0 contains it.

These are conditions on cheapest plans, not on safe ones. They raise the lower bound; they are no leaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Layout, Release
from showthrough.tables.protect.clauses import Ways
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Move, Suppress
from showthrough.tables.search.implied import Closures

__all__ = [
    "CellSums",
    "Company",
    "Condition",
    "cell_sums",
]

#: Up to how many different sets of records sums are looked for.
_MOST_SETS = 4_000

Box = tuple[int, ...]


@dataclass(frozen=True)
class Condition:
    """A move is of use only if one of these counts is hidden: for each, one move of each of its sets."""

    move: Move
    hidden: tuple[Ways, ...]

    def met_by(self, plan: frozenset[Move]) -> bool:
        """Whether a plan does without the move, or hides one of the counts."""
        return self.move not in plan or any(all(moves & plan for moves in ways) for ways in self.hidden)


@lru_cache(maxsize=4)
def cell_sums(layout: Layout) -> CellSums | None:
    """The sums among the cells of a layout; None if there are too many cells, or cells that are sums."""
    if layout.sums:
        return None
    closures = Closures(layout.schema)
    found = CellSums(layout, closures)
    return found if len(found.boxes) <= _MOST_SETS else None


class CellSums:
    """The different sets of records that cells count, and which are made up of others.

    ``number`` has the set of every cell; −1 where nobody can be.

    >>> from showthrough.release import make_table
    >>> from showthrough.schema import Schema
    >>> schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> tables = make_table(schema, "sex"), make_table(schema, "total")
    >>> CellSums(Layout(schema, tables), Closures(schema)).sums
    ((2, (0, 1)),)
    """

    def __init__(self, layout: Layout, closures: Closures) -> None:
        self.layout = layout
        self.closures = closures
        numbers: dict[Box, int] = {}
        self.number = np.full(len(layout.names), -1, np.int64)
        for at, selection in enumerate(layout.selections):
            box = closures.of(selection)
            if box is not None:
                self.number[at] = numbers.setdefault(box, len(numbers))
        self.boxes: tuple[Box, ...] = tuple(numbers)

    @cached_property
    def cells(self) -> list[list[int]]:
        """The cells of each set."""
        found: list[list[int]] = [[] for _ in self.boxes]
        for at, number in enumerate(self.number.tolist()):
            if number >= 0:
                found[number].append(at)
        return found

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Whether each set lies in each other one."""
        found = np.ones((len(self.boxes), len(self.boxes)), bool)
        for side in zip(*self.boxes, strict=True):
            distinct, own = {bits: at for at, bits in enumerate(dict.fromkeys(side))}, []
            own = np.array([distinct[bits] for bits in side], np.int64)
            fits = np.array([[not one & ~other for other in distinct] for one in distinct], bool)
            found &= fits[np.ix_(own, own)]
        np.fill_diagonal(found, val=False)
        return found

    @cached_property
    def sums(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Sets that are made up of others: the whole and its parts, which do not overlap."""
        found: dict[tuple[int, tuple[int, ...]], None] = {}
        for whole in range(len(self.boxes)):
            for group in self._groups(whole):
                for parts in self._partitions(whole, group):
                    found[whole, parts] = None
        return tuple(found)

    def _groups(self, whole: int) -> Iterable[list[int]]:
        """The sets inside one, by table and by the attributes that they restrict further."""
        mine = dict(self.layout.selections[self.cells[whole][0]].terms)
        groups: dict[object, dict[int, None]] = {}
        for number in np.flatnonzero(self.inside[:, whole]).tolist():
            for at in self.cells[number]:
                terms = self.layout.selections[at].terms
                further = frozenset(name for name, values in terms if mine.get(name) != values)
                groups.setdefault(self.layout.names[at][0], {})[number] = None
                groups.setdefault(further, {})[number] = None
        return [list(group) for group in groups.values() if len(group) > 1]

    def _partitions(self, whole: int, group: list[int]) -> Iterator[tuple[int, ...]]:
        """The largest and the smallest of some sets, where they make up the whole without overlap."""
        within = self.inside[np.ix_(group, group)]
        for axis in (1, 0):
            chosen = np.flatnonzero(np.logical_not(within.any(axis=axis))).tolist()
            parts = tuple(sorted(group[at] for at in chosen))
            size = sum(map(self._size, parts))
            if len(parts) > 1 and size == self._size(whole) and self._apart(parts):
                yield parts

    def _size(self, number: int) -> int:
        if number not in self._sizes:
            self._sizes[number] = self.closures.n_records(self.boxes[number])
        return self._sizes[number]

    @cached_property
    def _sizes(self) -> dict[int, int]:
        return {}

    def _apart(self, parts: Sequence[int]) -> bool:
        """Whether no record can be in two of these sets, as far as single attributes tell."""
        boxes = [self.boxes[number] for number in parts]
        return all(
            any(not mine & its for mine, its in zip(one, other, strict=True))
            for one, other in combinations(boxes, 2)
        )


class Company:
    """The conditions on cheapest plans for some areas that are treated alike.

    ``menus`` are the moves allowed in each; ``among`` are those of which plans are made, if not all.
    """

    def __init__(self, sums: CellSums, menus: Sequence[Menu], among: Collection[Move] | None = None) -> None:
        self.sums = sums
        self.menus = menus
        self.among = among
        releases: list[Release] = [menu.release for menu in menus]
        self.exact = np.all([release.low == release.high for release in releases], axis=0)
        self.zero = np.all([release.high == 0 for release in releases], axis=0)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, each once."""
        found: dict[Condition, None] = {}
        for condition in (*self._equal(), *self._in_sums(), *self._in_zeros()):
            found[condition] = None
        return tuple(found)

    @cached_property
    def twins(self) -> dict[Move, tuple[Move, ...]]:
        """Moves that a cheapest plan has together or not at all: they hide the same count, and no other
        move does."""
        found: dict[Move, tuple[Move, ...]] = {}
        for number, cells in enumerate(self.sums.cells):
            ways = [self._breaking[at] for at in cells]
            alone = all(len(one) == 1 and isinstance(next(iter(one)), Suppress) for one in ways)
            if len(cells) > 1 and alone and self._known[number]:
                moves = tuple(sorted({next(iter(one)) for one in ways}, key=repr))
                found |= dict.fromkeys(moves, moves)
        return found

    @cached_property
    def _known(self) -> list[bool]:
        """Which sets have cells that are exact everywhere."""
        return [bool(self.exact[cells].all()) for cells in self.sums.cells]

    @cached_property
    def _zeros(self) -> list[bool]:
        """Which sets are empty everywhere, and published so."""
        return [bool(self.zero[cells].all()) for cells in self.sums.cells]

    @cached_property
    def _breaking(self) -> list[frozenset[Move]]:
        """Per cell the moves after which its table may no longer state its count, in some area."""
        found: list[frozenset[Move]] = []
        for at, (table, _) in enumerate(self.sums.layout.names):
            moves = set[Move]()
            for menu in self.menus:
                moves.update(menu.breaks(table, (at,), "low", int(menu.release.low[at])))
                moves.update(menu.breaks(table, (at,), "high", int(menu.release.high[at])))
            found.append(frozenset(moves if self.among is None else moves.intersection(self.among)))
        return found

    @cached_property
    def _ways(self) -> list[Ways]:
        """Per set what hides its count: one move for each cell."""
        return [frozenset(self._breaking[at] for at in cells) for cells in self.sums.cells]

    @cached_property
    def _suppressions(self) -> list[list[Suppress]]:
        """Per set the moves that suppress its cells; one of several that go together."""
        moves: Mapping[tuple[str, str], Suppress] = {
            (move.table, move.cell): move
            for menu in self.menus
            for move in menu.moves
            if isinstance(move, Suppress)
        }
        names = self.sums.layout.names
        found = [[moves[names[at]] for at in cells if names[at] in moves] for cells in self.sums.cells]
        return [own[:1] if own and own[0] in self.twins else own for own in found]

    def _equal(self) -> Iterator[Condition]:
        """Of cells that count the same, one is hidden only if all are."""
        for number, cells in enumerate(self.sums.cells):
            if len(cells) > 1 and self._known[number]:
                for move in self._suppressions[number]:
                    if move not in self.twins:
                        yield from (Condition(move, (frozenset({self._breaking[at]}),)) for at in cells)

    def _in_sums(self) -> Iterator[Condition]:
        for whole, parts in self.sums.sums:
            if not all(self._known[number] for number in (whole, *parts)):
                continue
            yield from self._only_if(whole, parts)
            for part in parts:
                others = [n for n in parts if n != part and not (self._zeros[part] and self._zeros[n])]
                yield from self._only_if(part, [whole, *others])

    def _in_zeros(self) -> Iterator[Condition]:
        """What lies in a cell published as 0 is 0."""
        zeros = np.array(self._zeros, bool) & np.array(self._known, bool)
        for number in range(len(self.sums.boxes)):
            around = np.flatnonzero(self.sums.inside[number] & zeros)
            nearest = around[~self.sums.inside[np.ix_(around, around)].any(axis=0)]
            for zero in nearest.tolist():
                yield from self._only_if(number, [zero])

    def _only_if(self, number: int, others: Iterable[int]) -> Iterator[Condition]:
        """A set's cells are suppressed only if one of the others is hidden."""
        able = (self._ways[other] for other in others)
        hidden = tuple(ways for ways in able if frozenset() not in ways)
        yield from (Condition(move, hidden) for move in self._suppressions[number])
