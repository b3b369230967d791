"""Clauses: from a proof to a condition on plans, namely which moves can break it.

**Why it is a lower bound.** Let P be a proof of something forbidden in the release after some plan,
and F the facts it rests on, each of the form "at least (at most) n records match this selection".
A *source* of a fact is a table with some of its cells that implies it: the cell itself, a smaller
cell that already has as many records, a larger one that has no more, or a sum of cells that a
merged table would show. A move *breaks* a source if after it the table may no longer state the fact
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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.protect.judge import Leak
from showthrough.tables.protect.menu import End, Menu
from showthrough.tables.protect.moves import Move
from showthrough.tables.protect.statements import CellBound, Support
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

    def of(self, leak: Leak, after: Release, members: Sequence[tuple[int, ...]]) -> Clause:
        """The clause of a leak found in the release after some moves."""
        facts = {fact for proof in leak.proofs for fact in self.support.facts(proof, after, members)}
        ways = {self._ways(fact, after, members) for fact in facts}
        return Clause(frozenset(self._easiest(one for one in ways if frozenset() not in one)))

    def _easiest(self, facts: Iterable[Ways]) -> list[Ways]:
        """Without facts that are taken away only together with another one."""
        kept: list[Ways] = []
        facts = set(facts)
        self._subsets.learn(moves for ways in facts for moves in ways)
        for ways in sorted(facts, key=lambda ways: (len(ways), sorted(map(len, ways)))):
            if not any(self._follows(easier, ways) for easier in kept):
                kept = [harder for harder in kept if not self._follows(ways, harder)]
                kept.append(ways)
        return kept

    def _follows(self, easier: Ways, harder: Ways) -> bool:
        """Whether every plan that takes the second fact away also takes the first."""
        if easier <= harder:
            return True
        return self._subsets.nested and all(
            not self._subsets.of(wanted).isdisjoint(harder) for wanted in easier
        )

    def _ways(self, fact: CellBound, after: Release, members: Sequence[tuple[int, ...]]) -> Ways:
        """The moves that break each of a fact's sources, without sets that contain another."""
        selection, own = after.layout.selections[fact.cell], members[fact.cell]
        if fact.end == "high" and self._closures.of(selection) is None:
            return frozenset({frozenset[Move]()})  # the rules alone say so
        key = selection, own, fact.end, fact.value
        if key not in self._known:
            found = {self._breaks(after.layout.names[fact.cell][0], own, fact)}
            found |= {self._breaks(*self.sources[at], fact) for at in self._implying(selection, fact)}
            self._known[key] = frozenset(s for s in found if not any(other < s for other in found))
        return self._known[key]

    def _breaks(self, table: str, members: tuple[int, ...], fact: CellBound) -> frozenset[Move]:
        return frozenset(self.menu.breaks(table, members, fact.end, fact.value))

    def _implying(self, selection: Selection, fact: CellBound) -> Iterator[int]:
        """Sources that, as planned, imply the fact."""
        closed, box = self._closure(selection), self._box(selection)
        if fact.end == "low":
            inside = ((self._closed & ~np.array(box, self._kind)) == 0).all(axis=1)
            yield from np.flatnonzero(inside & (self._low >= fact.value)).tolist()
        else:
            outside = ((np.array(closed, self._kind) & ~self._boxes) == 0).all(axis=1)
            yield from np.flatnonzero(outside & (self._high <= fact.value)).tolist()

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


class _Subsets:
    """Which of the sets seen so far lie in a set; ``nested`` says whether any lies in another one."""

    def __init__(self) -> None:
        self._inside: dict[frozenset[Move], set[frozenset[Move]]] = {}
        self.nested = False

    def of(self, wanted: frozenset[Move]) -> set[frozenset[Move]]:
        """All sets that lie in this one, itself among them."""
        return self._inside[wanted]

    def learn(self, sets: Iterable[frozenset[Move]]) -> None:
        """See more sets."""
        for new in sets:
            if new not in self._inside:
                inside = {one for one in self._inside if one <= new}
                around = [one for one in self._inside if new <= one]
                for other in around:
                    self._inside[other].add(new)
                self.nested |= bool(inside or around)
                self._inside[new] = {*inside, new}
