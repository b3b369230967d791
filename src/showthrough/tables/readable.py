"""Short proofs for what people are shown: of a finding, what is known and what is learnt.

All claims of a finding are about the same records. At least as many match the largest of them, so at
least as many match every other one; at most as many match one of the smallest, so at most as many match
every claim that has its values and more. A few short proofs thus do for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from showthrough.tables.claims import Bounds
from showthrough.tables.proof import Leaf, Node, Terms
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.shorten import Shortener, n_cells, shorter
from showthrough.tables.search.sums import LARGEST

__all__ = [
    "shorten_bounds",
    "shorten_claims",
]


def shorten_claims(
    claims: ClaimTable,
    top_of: Mapping[int, int],
    minimal: Sequence[int],
    shown: Sequence[int],
    shortener: Shortener,
) -> None:
    """Give the claims of one finding shorter proofs.

    ``top_of`` has all claims of the finding, each with the largest one above it; ``minimal`` are the
    smallest ones; ``shown`` are what is known and that with what is learnt (or one claim).
    """
    best = _Ends(claims, shortener)
    best.try_pair(shown[0], shown[-1])
    for at in dict.fromkeys(shown):
        best.try_own(at)
    best.try_others(top_of, minimal, shown)


def shorten_bounds(found: Bounds, shortener: Shortener) -> Bounds:
    """The same bounds with shorter proofs, as far as there are any."""
    names = shortener.system.universe.frame.names
    terms = tuple(term for term in found.selection.terms if term[0] in names)
    whole = len(terms) == len(found.selection.terms)
    low_node, high = found.low_proof.at_least, found.high
    if high is None or found.high_proof is None or found.high_proof.at_most is None:
        low = shortener.at_least(terms, found.low) if whole else None
        return found if low_node is None else _with_nodes(found, shorter((low_node,), (low,)))
    if low_node is None:
        return found
    if whole and found.low == high:
        ends = shortener.exactly(terms, high) or (None, None)
        return _with_nodes(found, shorter((low_node, found.high_proof.at_most), ends))
    low = shortener.at_least(terms, found.low) if whole else None
    most = shortener.at_most(terms, high)
    nodes = (*shorter((low_node,), (low,)), *shorter((found.high_proof.at_most,), (most,)))
    return _with_nodes(found, nodes)


def _with_nodes(found: Bounds, nodes: tuple[Node, ...]) -> Bounds:
    low_proof, high_proof = replace(found.low_proof, at_least=nodes[0]), found.high_proof
    if high_proof is not None and len(nodes) > 1:
        high_proof = replace(high_proof, at_most=nodes[1])
    return replace(found, low_proof=low_proof, high_proof=high_proof)


class _Ends:
    """Proposes ends for the claims of one finding, and keeps those that are shorter."""

    def __init__(self, claims: ClaimTable, shortener: Shortener) -> None:
        self.claims = claims
        self.shortener = shortener
        self._known: dict[int, Terms] = {}
        self._low: dict[int, Leaf | None] = {}
        self._high: dict[int, Leaf | None] = {}
        self._sizes: dict[tuple[int, int], tuple[int, Node, Node]] = {}

    def try_pair(self, known: int, both: int) -> None:
        """The lower end of the larger claim and the upper end of the smaller one, for both of them."""
        below = max(n_cells(*self.claims.ends(at)) for at in (known, both))
        inner, outer = self._terms(both), self._terms(known)
        found = self.shortener.between(inner, outer, self._count(known), below=below)
        if found is not None:
            self._low[both], self._high[known] = found
            self._propose(known, *found)
            self._propose(both, *found)

    def try_own(self, at: int) -> None:
        """Ends found for the claim itself."""
        below = n_cells(*self.claims.ends(at))
        found = self.shortener.exactly(self._terms(at), self._count(at), below=below)
        if found is not None:
            self._propose(at, *found)

    def try_others(self, top_of: Mapping[int, int], minimal: Sequence[int], shown: Sequence[int]) -> None:
        """For claims that are not shown: the lower end of the largest, an upper end of a smaller one."""
        ways = [(way, high) for way in minimal if (high := self._most(way)) is not None]
        ways.sort(key=lambda way: n_cells(way[1]))
        found: dict[tuple[int, int, int], tuple[Node, Node] | None] = {}
        short = self.claims.short
        for at, question, top, way in self._ways_to(top_of, [way for way, _ in ways]):
            before = short.get(at)
            key = question if before is None else -id(before), top, way
            if key not in found:
                found[key] = self._shorter(self.claims.ends(at), self._least(top), self._most(way))
            if (ends := found[key]) is not None and at not in shown:
                short[at] = ends

    def _ways_to(self, top_of: Mapping[int, int], ways: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
        """Claims of the finding with their questions, the largest claims above them, and a way to them.

        That is the first of some of its claims whose values they have; those that have none's are left out.
        """
        members = np.fromiter(top_of, np.int64, len(top_of))
        subsets = self.claims.candidates.subset[members]
        first = np.full(len(members), -1, np.int64)
        for way in ways[::-1]:
            named = self.claims.candidates.subset[way]
            first[subsets & named == named] = way
        questions = self.claims.question[members].tolist()
        together = zip(top_of.items(), questions, first.tolist(), strict=True)
        return ((at, question, top, way) for (at, top), question, way in together if way >= 0)

    def _terms(self, at: int) -> Terms:
        """The values that a claim is about, sorted by attribute."""
        if at not in self._known:
            self._known[at] = self.claims.sorted_terms(at)
        return self._known[at]

    def _count(self, at: int) -> int:
        return int(self.claims.candidates.count[at])

    def _least(self, at: int) -> Leaf | None:
        if at not in self._low:
            self._low[at] = self.shortener.at_least(self._terms(at), self._count(at), cells=LARGEST)
        return self._low[at]

    def _most(self, at: int) -> Leaf | None:
        """The upper end of a claim; a single cell where no other was looked for yet."""
        if at not in self._high:
            self._high[at] = self.shortener.at_most(self._terms(at), self._count(at), cells=1)
        return self._high[at]

    def _propose(self, at: int, low: Node, high: Node) -> None:
        ends = self._shorter(self.claims.ends(at), low, high)
        if ends is not None:
            self.claims.short[at] = ends

    def _shorter(
        self, before: tuple[Node | None, Node | None], low: Node | None, high: Node | None
    ) -> tuple[Node, Node] | None:
        """The ends proposed, if they are shorter than those of before."""
        if before[0] is None or before[1] is None or low is None or high is None:
            return None
        one, other = (before[0], before[1]), (low, high)
        if self._n_cells(*one) < self._n_cells(*other):
            return None
        return other if shorter(one, other) is not one else None

    def _n_cells(self, low: Node, high: Node) -> int:
        """How many cells two ends have, which are remembered with them, as numbers of objects are reused."""
        key = id(low), id(high)
        if key not in self._sizes:
            self._sizes[key] = n_cells(low, high), low, high
        return self._sizes[key][0]
