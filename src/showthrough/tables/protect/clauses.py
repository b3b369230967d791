"""Clauses: from a proof to a condition on plans, namely which moves can break it.

**Why it is a lower bound.** Let P be a proof of something forbidden in the release after some plan,
and F the facts it rests on, each of the form "at least (at most) n records match this selection".
A *source* of a fact is a table with some of its cells that implies it: the cell itself, a smaller
cell that already has as many records, a larger one that has no more, or a sum of cells that a
merged table would show. (That records of some type do not exist has as its sources all cells planned
as 0 that contain them.) A move *breaks* a source if after it the table may no longer state the fact
(:meth:`~showthrough.tables.protect.menu.Menu.breaks`); moves that do not break a source leave it, whatever
else is done. So if a plan leaves for every fact in F at least one source that none of its moves
breaks, all facts in F still follow, P still holds, and the plan is not safe. Hence

    every safe plan breaks, for some fact in F, all of the fact's sources.

A :class:`Clause` is this condition. The cheapest plan that meets all clauses found so far costs
at most as much as the cheapest safe plan; if nothing forbidden follows after it, it is the cheapest.
And a plan under which P was found never meets the clause of P, because the cells P uses are sources
that its moves leave: so every round excludes the plan that was audited, and the search ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.protect.judge import Leak
from showthrough.tables.protect.menu import End, Menu
from showthrough.tables.protect.moves import Move
from showthrough.tables.protect.statements import CellBound, Facts, Support
from showthrough.tables.search.implied import Closures

__all__ = [
    "Clause",
    "Clauses",
    "Ways",
]

#: Sets of moves, of each of which one is needed to take a fact away.
Ways = frozenset[frozenset[Move]]


@dataclass(frozen=True)
class Clause:
    """For some of these facts, one move of each of its sets is needed. Empty: nothing helps."""

    facts: frozenset[Ways]

    def met_by(self, plan: frozenset[Move]) -> bool:
        """Whether a plan breaks the proof, as far as this clause can tell."""
        return any(not any(moves.isdisjoint(plan) for moves in ways) for ways in self.facts)

    def masks(self, number: Mapping[Move, int]) -> tuple[tuple[int, ...], ...]:
        """The sets of moves of each fact as bits of a number; moves without a number are never made.

        >>> from showthrough.tables.protect.moves import Drop
        >>> clause = Clause(frozenset({frozenset({frozenset({Drop("a"), Drop("b")})})}))
        >>> clause.masks({Drop("b"): 2})
        ((4,),)
        """
        return tuple(
            tuple(sum(1 << number[move] for move in moves if move in number) for moves in ways)
            for ways in self.facts
        )

    def used(self, plan: frozenset[Move]) -> frozenset[Move]:
        """The moves of a plan that break the proof."""
        broken = [ways for ways in self.facts if all(moves & plan for moves in ways)]
        return frozenset(move for ways in broken for moves in ways for move in moves & plan)


class Clauses:
    """Turns leaks of one area into clauses."""

    def __init__(self, menu: Menu, closures: Closures) -> None:
        self.menu = menu
        self.support = Support(menu.release, menu.fixed)
        self._closures = closures
        layout = menu.release.layout
        names = layout.names
        self.sources: list[tuple[str, tuple[int, ...]]] = [(names[at][0], (at,)) for at in range(len(names))]
        self.sources += menu.merges
        boxes = [*layout.selections, *(_sum(menu, members) for _, members in menu.merges)]
        fits = all(len(attribute.values) < 63 for attribute in layout.schema.attributes)
        self._kind: type = np.int64 if fits else object
        self._boxes = np.array([self._box(one) for one in boxes], self._kind)
        self._closed = np.array([self._closure(one) for one in boxes], self._kind)
        self._low = np.array([menu.stated(members, "low") for _, members in self.sources], object)
        self._high = np.array([menu.stated(members, "high") for _, members in self.sources], object)
        self._subsets = _Subsets()
        self._known: dict[tuple[Selection, tuple[int, ...], End, int], Ways] = {}
        self._emptied: dict[frozenset[int], Ways] = {}

    def of(self, leak: Leak, after: Release, members: Sequence[tuple[int, ...]]) -> Clause:
        """The clause of a leak found in the release after some moves."""
        return self._of((self.support.facts(proof, after, members) for proof in leak.proofs), after, members)

    def of_facts(self, found: Iterable[Facts]) -> Clause:
        """The clause of what proofs from the planned release rest on."""
        return self._of(found, self.menu.release, self._own)

    @cached_property
    def _own(self) -> tuple[tuple[int, ...], ...]:
        return tuple((at,) for at in range(len(self.menu.release.low)))

    def _of(self, found: Iterable[Facts], after: Release, members: Sequence[tuple[int, ...]]) -> Clause:
        ways = set[Ways]()
        for one in found:
            ways |= {self._ways_after(fact, after, members) for fact in one.bounds}
            ways |= {self._possible(cells) for cells in one.empty}
        return Clause(frozenset(self._easiest(one for one in ways if frozenset() not in one)))

    def ways(self, fact: CellBound) -> Ways:
        """The moves that break each of the sources of what a planned cell states."""
        return self._ways_after(fact, self.menu.release, self._own)

    def first_of_equal(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of cells such that no earlier one counts the same records."""
        first = dict[tuple[int, ...], int]()
        for at, closed in enumerate(self._closed[cells].tolist()):
            first.setdefault(tuple(closed), at)
        return np.array(list(first.values()), np.int64)

    def _easiest(self, facts: Iterable[Ways]) -> list[Ways]:
        """Without facts that are taken away only together with another one."""
        facts = set(facts)
        self._subsets.learn(moves for ways in facts for moves in ways)
        kept: list[tuple[Ways, int, int]] = []
        for ways in sorted(facts, key=lambda ways: (len(ways), sorted(map(len, ways)))):
            wanted, given = self._subsets.bits(ways), self._subsets.around(ways)
            if not any(not easier & ~given for _, easier, _ in kept):
                kept = [one for one in kept if wanted & ~one[2]]
                kept.append((ways, wanted, given))
        return [ways for ways, _, _ in kept]

    def _ways_after(self, fact: CellBound, after: Release, members: Sequence[tuple[int, ...]]) -> Ways:
        """The moves that break each of the sources of what a cell of the release after moves states."""
        table, selection = after.layout.names[fact.cell][0], after.layout.selections[fact.cell]
        return self._ways(selection, (table, members[fact.cell]), fact.end, fact.value)

    def _possible(self, cells: frozenset[int]) -> Ways:
        """The moves that break each of some planned zeros, and what else says as much."""
        if cells not in self._emptied:
            layout = self.menu.release.layout
            each = [self._ways(layout.selections[at], self.sources[at], "high", 0) for at in sorted(cells)]
            self._emptied[cells] = _without_larger(frozenset[frozenset[Move]]().union(*each))
        return self._emptied[cells]

    def _ways(self, selection: Selection, own: tuple[str, tuple[int, ...]], end: End, value: int) -> Ways:
        """The moves that break each of a fact's sources, without sets that contain another."""
        key = selection, own[1], end, value
        if key not in self._known:
            sources = [own, *(self.sources[at] for at in self._implying(selection, end, value))]
            found = {frozenset(self.menu.breaks(*source, end, value)) for source in sources}
            if end == "high" and self._closures.of(selection) is None:
                found = {frozenset[Move]()}  # the rules alone say so
            self._known[key] = _without_larger(frozenset(found))
        return self._known[key]

    def _implying(self, selection: Selection, end: End, value: int) -> Iterator[int]:
        """Sources that, as planned, imply the fact."""
        closed, box = self._closure(selection), self._box(selection)
        if end == "low":
            inside = ((self._closed & ~np.array(box, self._kind)) == 0).all(axis=1)
            yield from np.flatnonzero(inside & (self._low >= value)).tolist()
        else:
            outside = ((np.array(closed, self._kind) & ~self._boxes) == 0).all(axis=1)
            yield from np.flatnonzero(outside & (self._high <= value)).tolist()

    def _closure(self, selection: Selection) -> tuple[int, ...]:
        """The allowed values per attribute after all that the rules imply."""
        closed = self._closures.of(selection)
        return (0,) * len(self._closures.everything()) if closed is None else closed

    def _box(self, selection: Selection) -> tuple[int, ...]:
        schema = self.menu.release.schema
        return tuple(schema.closure.only(schema.encode(selection)))


def _sum(menu: Menu, members: tuple[int, ...]) -> Selection:
    """The selection that a merged table would show for some of its cells."""
    selections = [menu.release.layout.selections[at] for at in members]
    names = {name for one in selections for name in one.attributes}
    values = {name: {v for one in selections for v in one[name]} for name in sorted(names)}
    return menu.release.schema.check_selection(Selection.of(values))


def _without_larger(sets: Ways) -> Ways:
    """Without sets that contain another."""
    if len({len(one) for one in sets}) < 2:
        return sets
    smallest = list[frozenset[Move]]()
    for one in sorted(sets, key=len):
        if not any(other < one for other in smallest):
            smallest.append(one)
    return frozenset(smallest)


class _Subsets:
    """The sets of moves seen so far, each with a bit of its own."""

    def __init__(self) -> None:
        self._bit: dict[frozenset[Move], int] = {}
        self._around: dict[frozenset[Move], int] = {}

    def bits(self, ways: Ways) -> int:
        """The bits of some sets."""
        return sum(self._bit[one] for one in ways)

    def around(self, ways: Ways) -> int:
        """The bits of all sets that contain one of these."""
        found = 0
        for one in ways:
            found |= self._around[one]
        return found

    def learn(self, sets: Iterable[frozenset[Move]]) -> None:
        """See more sets."""
        for new in sets:
            if new not in self._bit:
                own = self._bit[new] = 1 << len(self._bit)
                self._around[new] = own
                for other, bit in self._bit.items():
                    if new < other:
                        self._around[new] |= bit
                    elif other < new:
                        self._around[other] |= own
