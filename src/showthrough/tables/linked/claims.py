"""The claims about one part of a nest, with proofs by all cells and datasets of all parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ProofError
from showthrough.tables.claims import Finding, Verdict, World
from showthrough.tables.explain import count_tables
from showthrough.tables.linked.nest import PART
from showthrough.tables.linked.parts import LinkedParts
from showthrough.tables.proof import Branch, Leaf, Node, PartChecker, Proof, Terms
from showthrough.tables.recheck import Recheck
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.questions import VERIFIED, Answers
from showthrough.tables.search.shorten import cells_of
from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "PartClaims",
    "PartRecheck",
    "in_nest",
    "shifted",
]

Counts = NDArray[np.int64]


def shifted(node: Node, by: int) -> Node:
    """A proof by cells of a part, as one by cells among all."""
    if isinstance(node, Branch):
        return replace(node, below=shifted(node.below, by), above=shifted(node.above, by))
    return Leaf(tuple((cell + by, u) for cell, u in node.cells), node.branches, node.denominator, node.total)


def in_nest(proof: Proof, part: str) -> Proof:
    """A proof whose cells are among all, as one about a part."""
    return replace(proof, selection=((PART, (part,)), *proof.selection), over=(PART, *proof.over))


@dataclass(frozen=True, eq=False, kw_only=True)
class PartClaims(ClaimTable):
    """Claims about one part. ``nested`` are the questions whose proofs are by cells among all; a world's
    number is its position among ``worlds``, which are records by part.
    """

    linked: LinkedParts
    part: int
    nested: frozenset[int]
    checker: PartChecker
    worlds: Sequence[tuple[TypeCounts, ...]]

    def is_nested(self, at: int) -> bool:
        """Whether the proof of a claim is by cells among all."""
        return int(self.question[at]) in self.nested and at not in self.short

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim; None if there is none."""
        made = super().proof(at)
        if made is None or not self.is_nested(at):
            return made
        return in_nest(made, self.linked.nest.names[self.part])

    def _of_proof(self, at: int) -> tuple[str, int]:
        if not self.is_nested(at):
            return super()._of_proof(at)
        return "nested", count_tables(self.system.release.layout, cells_of(*self.ends(at)))

    def disagreeing(self, at: int) -> tuple[World, World]:
        """Two datasets of all parts that disagree on a refuted claim."""
        question = int(self.question[at])
        number = int(self.witness[at] if question < 0 else self.answers.witness[question])
        mask, m = self.system.mask(self.selection(at).terms), int(self.candidates.count[at])
        other = self._with_count(mask, (self.pool[number],), m, equal=False)
        for first in (*range(1, min(50, len(self.pool))), 0):
            try:
                same = self._with_count(mask, (self.pool[first],), m, equal=True)
            except AssertionError:
                continue
            return self._whole(first, same), self._whole(number, other)
        raise AssertionError("the first world does not have the count that it suggested")

    def world_checker(self) -> PartChecker:
        """What every dataset of all parts must pass before it is written."""
        return self.checker

    def _whole(self, number: int, records: TypeCounts) -> World:
        """A dataset of all parts, with this part's records as given."""
        nest, found, times = self.linked.nest, list[NDArray[np.uint16]](), list[Counts]()
        for part, world in zip(self.linked.parts, self.worlds[number], strict=True):
            universe = part.system.universe
            mine = records if part.number == self.part else world
            codes = np.zeros((len(mine.types), len(nest.schema.attributes)), np.uint16)
            codes[:, 0] = part.number
            codes[:, [at + 1 for at in universe.frame.over]] = universe.codes[mine.types]
            found.append(codes)
            times.append(mine.times)
        return World(nest.schema, np.concatenate(found), np.concatenate(times))


class PartRecheck(Recheck):
    """Checks what was found about one part; proofs that need the whole get all cells."""

    def __init__(self, linked: LinkedParts, part: int, checker: PartChecker) -> None:
        super().__init__(linked.nest.parts[part])
        self.__dict__["checker"] = checker
        self.name, self.first = linked.nest.names[part], linked.nest.first_cell(part)

    def nested(self, proof: Proof) -> Proof:
        """A proof by the part's own cells, and zeros of the whole, as one by cells among all."""
        nodes = {name: getattr(proof, name) for name in ("at_least", "at_most", "never")}
        moved = {name: None if node is None else shifted(node, self.first) for name, node in nodes.items()}
        return in_nest(replace(proof, **moved), self.name)

    def resting_on_whole(
        self, answers: Answers, terms: Sequence[list[Terms]], over: tuple[str, ...], known: set[int]
    ) -> set[int]:
        """Questions whose proofs, by the part's own cells, need zeros of the whole: these now name all cells.

        ``terms`` are the selections of the claims that ask each question, ``known`` those that name all.
        """
        found: set[int] = set()
        for question in sorted(set(np.flatnonzero(answers.state == VERIFIED).tolist()) - known):
            low, high = answers.at_least[question], answers.at_most[question]
            if low is None or high is None or not terms[question]:
                continue
            proof = Proof(terms[question][0], int(answers.count[question]), low, high, over=over)
            try:
                self.checker.check_all(proof, terms[question])
            except ProofError:
                answers.at_least[question] = shifted(low, self.first)
                answers.at_most[question] = shifted(high, self.first)
                found.add(question)
        return found

    def findings(self, found: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], list[Verdict]]:
        """The findings whose own proofs hold, and a verdict on every proof that does not."""
        made = [
            replace(one, proofs=tuple(p if self.accepts(p) else self.nested(p) for p in one.proofs))
            for one in found
        ]
        return super().findings(tuple(made))

    def about_whole(
        self, answers: Answers, terms: list[Terms], over: tuple[str, ...], nested: set[int]
    ) -> None:
        """Check the questions about single records and about their number, one selection each."""
        for question in np.flatnonzero(answers.state == VERIFIED).tolist():
            ends = answers.at_least[question], answers.at_most[question]
            proof = Proof(terms[question], int(answers.count[question]), *ends, over=over)
            proof = in_nest(proof, self.name) if question in nested else proof
            if not self.accepts(proof) and (question in nested or not self.accepts(self.nested(proof))):
                answers.reject(question)
