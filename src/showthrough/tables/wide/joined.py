"""All claims of an area, from what was decided about its parts.

A claim across parts is proved if one selection has exactly m records and everybody matches the others. Let
A have exactly m records and let everybody match B. Then exactly m match both: no more than match A, and no
fewer than count(A) + count(B) − N, because nobody matches A and B more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray

from showthrough.selection import Selection
from showthrough.tables.claims import World
from showthrough.tables.proof import Branch, Leaf, Node, Proof, Terms, leaves_of
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.questions import REFUTED, REJECTED, UNDECIDED, VERIFIED, Answers, Candidates
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame, Universe
from showthrough.tables.wide.area import WideArea
from showthrough.tables.wide.dataset import (
    Beside,
    Dataset,
    Wanted,
    least_together,
    most_together,
    side_by_side,
)
from showthrough.tables.wide.settled import BothEnds, SettledPart

__all__ = [
    "Factor",
    "Joined",
    "WideClaims",
    "at_least_all",
    "shell",
]


@dataclass(frozen=True)
class Factor:
    """One selection of a claim across parts: exactly ``count`` records match it."""

    terms: Terms
    count: int
    ends: BothEnds


def at_least_all(factors: Sequence[Factor], total: Sequence[tuple[int, int]]) -> Node:
    """At least Σ counts − (k − 1)·N records match all factors.

    ``total`` are exact cells, with their counts, that add up to the number of records N.
    """
    sums = [_summed(factor) for factor in factors]
    if all(leaf is not None for leaf in sums):
        return _added([leaf for leaf in sums if leaf is not None], total)
    return _by_cases(factors, total)


def _summed(factor: Factor) -> Leaf | None:
    """The factor's lower end, if it is one sum that needs no rounding."""
    leaf = factor.ends.low
    if isinstance(leaf, Leaf) and not leaf.branches and leaf.total == leaf.denominator * factor.count:
        return leaf
    return None


def _added(leaves: Sequence[Leaf], total: Sequence[tuple[int, int]]) -> Leaf:
    """The leaves added up, less everybody as often as needed."""
    denominator = lcm(*(leaf.denominator for leaf in leaves))
    cells: dict[int, int] = {}
    sum_ = 0
    for leaf in leaves:
        scale = denominator // leaf.denominator
        sum_ += scale * leaf.total
        for cell, u in leaf.cells:
            cells[cell] = cells.get(cell, 0) + scale * u
    for cell, count in total:
        u = (len(leaves) - 1) * denominator
        cells[cell] = cells.get(cell, 0) - u
        sum_ -= u * count
    kept = tuple(sorted((cell, u) for cell, u in cells.items() if u))
    return Leaf(kept, (), denominator, sum_)


def _by_cases(factors: Sequence[Factor], total: Sequence[tuple[int, int]]) -> Node:
    """Either a factor has fewer records than it has, which cannot be, or all have theirs: then add up."""
    target = sum(factor.count for factor in factors) - (len(factors) - 1) * sum(n for _, n in total)
    others = -(len(factors) - 1)
    cells = tuple(sorted((cell, others) for cell, _ in total)) if others else ()
    made: Node = Leaf(cells, tuple((depth, 1) for depth in range(len(factors))), 1, target)
    for depth in range(len(factors) - 1, -1, -1):
        factor = factors[depth]
        below = _contradiction(factor.ends.low, depth, factor.count - 1, max(target, 1), 0)
        made = Branch((factor.terms,), factor.count - 1, below, made)
    return made


def _contradiction(node: Node, depth: int, most: int, target: int, inner: int) -> Node:
    """A proof that a factor has more than ``most`` records, where the branch ``depth`` says that it has not.

    Its own branches come after those that are there already.
    """
    if isinstance(node, Branch):
        sides = [_contradiction(side, depth, most, target, inner + 1) for side in (node.below, node.above)]
        return Branch(node.on, node.at, *sides)
    branches = {at + depth + 1: u * target for at, u in node.branches}
    branches[depth] = -node.denominator * target
    cells = tuple((cell, u * target) for cell, u in node.cells)
    total = (node.total - node.denominator * most) * target
    return Leaf(cells, tuple(sorted(branches.items())), 1, total)


def attributes_used(ends: Sequence[Node], names: Sequence[tuple[str, ...]]) -> set[str]:
    """The attributes that the cells and cases of proofs name."""
    found = set[str]()
    for node in ends:
        for leaf in leaves_of(node):
            found |= {name for cell, _ in leaf.cells for name in names[cell]}
        found |= _cased(node)
    return found


def _cased(node: Node) -> set[str]:
    if isinstance(node, Leaf):
        return set()
    mine = {name for terms in node.on for name, _ in terms}
    return mine | _cased(node.below) | _cased(node.above)


def shell(area: WideArea, frame: Frame, first: Dataset) -> tuple[System, TypeCounts]:
    """The record types of a dataset as a system without rows, which nothing is asked of, and the dataset."""
    rows, number = np.unique(first.codes[:, list(frame.over)], axis=0, return_inverse=True)
    none, n = np.zeros(0, np.int64), len(rows)
    words = np.zeros((n, 1), np.uint64)
    system = System(
        area.release,
        Universe(frame, rows.astype(np.uint16), words),
        np.zeros((0, n), np.uint8),
        none,
        none,
        none,
        none,
        np.arange(n),
        n,
        np.full(len(area.release.low), -1, np.int64),
    )
    return system, TypeCounts.of_counts(number.ravel().astype(np.int64), first.times)


@dataclass(frozen=True, eq=False, kw_only=True)
class WideClaims(ClaimTable):
    """Claims whose proofs look at different attributes, and whose datasets are made when they are asked for.

    ``overs`` are the attributes that the proof of each question looks at.
    """

    joined: Joined
    overs: Sequence[tuple[str, ...]]
    reasons: Sequence[str] = field(default=())

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim; None if there is none."""
        question = int(self.question[at])
        if question < 0 or self.state[at] != VERIFIED:
            return None
        low, high = self.ends(at)
        m = int(self.candidates.count[at])
        return Proof(self.selection(at).terms, m, low, high, over=self.overs[question])

    def disagreeing(self, at: int) -> tuple[World, World]:
        """Two datasets that disagree on a refuted claim: the first one, and another."""
        schema, m = self.system.release.schema, int(self.candidates.count[at])
        other = self.joined.refuting(at).world(schema)
        if other.count(self.selection(at)) == m:
            raise AssertionError("the dataset that was to refute a claim does not")
        return self.joined.first.world(schema), other


@dataclass(frozen=True, eq=False)
class Joined:
    """Claims of the first dataset, and how each is put together from claims about parts."""

    area: WideArea
    parts: Sequence[SettledPart]
    first: Dataset
    system: System
    candidates: Candidates

    @cached_property
    def codes(self) -> NDArray[np.uint16]:
        """Claim × attribute of the schema: the codes, where the claim names the attribute."""
        found = np.zeros((len(self.candidates), len(self.area.release.schema.attributes)), np.uint16)
        found[:, list(self.system.universe.frame.over)] = self.system.universe.codes[self.candidates.type]
        return found

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """Claim × attribute of the schema: whether the claim names it."""
        found = np.zeros((len(self.candidates), len(self.area.release.schema.attributes)), bool)
        for column, at in enumerate(self.system.universe.frame.over):
            found[:, at] = self.candidates.subset >> column & 1 != 0
        return found

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """Part × claim: the claim about the part that it consists of, −1 if it names none of its columns."""
        return np.array([part.numbers(self.codes, self.named) for part in self.parts]).reshape(
            len(self.parts), len(self.candidates)
        )

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """The verdict on every claim, as far as those about parts tell it; see :mod:`.ties`."""
        total, n = len(self.first), len(self.candidates)
        states = np.full((len(self.parts), n), VERIFIED, np.int8)
        lacking = np.zeros((len(self.parts), n), bool)
        for at, (part, numbers) in enumerate(zip(self.parts, self.numbers, strict=True)):
            there = numbers >= 0
            states[at, there] = part.state[numbers[there]]
            lacking[at, there] = part.claims.candidates.count[numbers[there]] < total
        verified, refuted = (states == VERIFIED).all(axis=0), (states == REFUTED).any(axis=0)
        across = (self.numbers >= 0).sum(axis=0) > 1
        found = np.full(n, UNDECIDED, np.int8)
        known = self.area.n_records is not None
        found[verified & (~across | known)] = VERIFIED
        found[refuted | (lacking.sum(axis=0) > 1)] = REFUTED
        return found

    def refuting(self, at: int) -> Dataset:
        """A dataset in which a refuted claim has another count than in the first."""
        chosen = [(part, int(n)) for part, n in zip(self.parts, self.numbers[:, at], strict=True)]
        sides = [part.beside(self.first) for part in self.parts]
        width, m = len(self.area.release.schema.attributes), int(self.candidates.count[at])
        wanted = [
            {c: frozenset({int(self.codes[at, c])}) for c in part.columns if self.named[at, c]}
            for part in self.parts
        ]
        for number, (part, claim) in enumerate(chosen):
            if claim >= 0 and part.state[claim] == REFUTED:
                if all(not mine for other, mine in enumerate(wanted) if other != number):
                    return self._with(number, part.refuting(claim))
                changed = [*sides]
                changed[number] = part.beside(part.refuting(claim))
                sides = sides if self._differs(sides, wanted, m) is not None else changed
        found = self._differs(sides, wanted, m)
        if found is None:
            raise AssertionError(f"no order of {width} attributes refutes a claim that is refuted")
        return found

    def _with(self, number: int, dataset: Dataset) -> Dataset:
        """The first dataset with other columns of one part."""
        mine = [part.beside(self.first) for part in self.parts]
        mine[number] = self.parts[number].beside(dataset)
        return side_by_side(mine, self.first.codes.shape[1])

    def _differs(self, sides: Sequence[Beside], wanted: Sequence[Wanted], m: int) -> Dataset | None:
        """The parts in an order in which not exactly m records match all."""
        width = self.first.codes.shape[1]
        for put in (least_together, most_together):
            made = put(sides, wanted, width)
            hit = np.ones(len(made.codes), bool)
            for mine in wanted:
                for at, codes in mine.items():
                    hit &= np.isin(made.codes[:, at], sorted(codes))
            if int(made.times[hit].sum()) != m:
                return made
        return None

    def claims(self) -> WideClaims:
        """All claims, each proved one with its proof."""
        made = _Questions(self)
        for at in np.flatnonzero(self.state != REFUTED).tolist():
            made.add(at)
        claims = WideClaims(
            system=self.system,
            pool=[shell(self.area, self.system.universe.frame, self.first)[1]],
            candidates=self.candidates,
            question=made.question,
            witness=np.zeros(len(self.candidates), np.int64),
            answers=made.answers(),
            direct=made.direct,
            joined=self,
            overs=made.overs,
        )
        claims.short.update(made.short)
        return claims


class _Questions:
    """Claims that are proved or open, those with the same proof together."""

    def __init__(self, joined: Joined) -> None:
        n = len(joined.candidates)
        self.joined = joined
        self.question = np.full(n, -1, np.int64)
        self.direct = np.zeros(n, bool)
        self.overs = list[tuple[str, ...]]()
        self.short = dict[int, tuple[Node, Node]]()
        self._ends = list[BothEnds | None]()
        self._counts, self._stages = list[int](), list[str]()
        self._known: dict[tuple[object, ...], int] = {}
        self._across = (joined.numbers >= 0).sum(axis=0) > 1

    def add(self, at: int) -> None:
        """One claim that is not refuted."""
        joined = self.joined
        part = int((joined.numbers[:, at] >= 0).argmax())
        settled, number = joined.parts[part], int(joined.numbers[part, at])
        if joined.state[at] != VERIFIED:
            self._open(at, settled.claims.evidence(number))
        elif not self._across[at]:
            self.direct[at] = settled.claims.direct[number]
            ends = settled.ends(number)
            self._proved(at, (id(ends),), ends)
        else:
            self._proved_across(at)

    def _open(self, at: int, reason: str) -> None:
        stage = reason if reason in ("solver only", REJECTED) else "effort"
        key = "open", stage, int(self.joined.candidates.count[at])
        self._ask(at, key, None, stage)

    def _proved(self, at: int, key: tuple[object, ...], ends: BothEnds) -> None:
        self._ask(at, key, ends, "linear")

    def _ask(self, at: int, key: tuple[object, ...], ends: BothEnds | None, stage: str) -> None:
        if key not in self._known:
            self._known[key] = len(self._ends)
            self._ends.append(ends)
            self.overs.append(() if ends is None else ends.over)
            self._counts.append(int(self.joined.candidates.count[at]))
            self._stages.append(stage)
        self.question[at] = self._known[key]

    def _proved_across(self, at: int) -> None:
        """A claim across parts: the proof of the one that does not hold for everybody, and of the others."""
        joined, area = self.joined, self.joined.area
        selection, m = self._selection(at), int(joined.candidates.count[at])
        cell = self._stating.get(area.context.closures.of(selection), {}).get(m)
        if cell is not None:
            self.direct[at] = True
            leaves = Leaf(((cell, 1),), (), 1, m), Leaf(((cell, -1),), (), 1, -m)
            names = {*area.release.layout.attributes[cell], *selection.attributes}
            self._proved(at, ("cell", cell), BothEnds(*leaves, over=self._with_rules(names)))
            return
        factors = self._factors(at)
        least = min(factors, key=lambda factor: factor.count)
        low, high = at_least_all(factors, area.total_cells), least.ends.high
        used = attributes_used((low, high), area.release.layout.attributes)
        wide = {name for factor in factors for name in factor.ends.over} | used
        for names in (used | set(selection.attributes), wide | set(selection.attributes)):
            ends = BothEnds(low, high, self._with_rules(names))
            if area.recheck.accepts(ends.proof(selection.terms, m)):
                self._proved(at, ("across", at), ends)
                return
        self._open(at, "effort")

    def _with_rules(self, names: set[str]) -> tuple[str, ...]:
        """Attributes in the order in which record types are best listed."""
        return tuple(name for name in self.joined.system.universe.frame.names if name in names)

    def _factors(self, at: int) -> list[Factor]:
        found, joined = list[Factor](), self.joined
        for part, number in zip(joined.parts, joined.numbers[:, at].tolist(), strict=True):
            if number >= 0:
                terms = part.claims.selection(number).terms
                count = int(part.claims.candidates.count[number])
                found.append(Factor(terms, count, part.ends(number)))
        return found

    def _selection(self, at: int) -> Selection:
        schema, joined = self.joined.area.release.schema, self.joined
        named = np.flatnonzero(joined.named[at]).tolist()
        return Selection.of(
            {schema.names[c]: schema.attributes[c].values[int(joined.codes[at, c])] for c in named}
        )

    @cached_property
    def _stating(self) -> dict[tuple[int, ...] | None, dict[int, int]]:
        """Per closure the exact cells with it, by their counts."""
        area, found = self.joined.area, dict[tuple[int, ...] | None, dict[int, int]]()
        release = area.release
        for cell in np.flatnonzero((release.low == release.high) & (release.high > 0)).tolist()[::-1]:
            terms = release.layout.terms[cell]
            if len(terms) == 1 and terms[0][0] == 1:
                closed = area.context.closures.of(terms[0][1])
                found.setdefault(closed, {})[int(release.low[cell])] = cell
        return found

    def answers(self) -> Answers:
        """The questions with their answers."""
        n = len(self._ends)
        found = Answers.open(np.zeros((n, 1), np.uint64), np.array(self._counts, np.int64))
        for at, ends in enumerate(self._ends):
            if ends is not None:
                found.at_least[at], found.at_most[at], found.state[at] = ends.low, ends.high, VERIFIED
            found.stage[at] = self._stages[at]
        return found
