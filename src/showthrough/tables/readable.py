"""Short proofs for what people are shown: of a finding, what is known and what is learnt.

All claims of a finding are about the same records. At least as many match the largest of them, so at
least as many match every other one; at most as many match one of the smallest, so at most as many match
every claim that has its values and more. A few short proofs thus do for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from showthrough.tables.claims import Bounds
from showthrough.tables.proof import Leaf, Node
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.shorten import Shortener, cells_of, n_cells, shorter

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
) -> tuple[int, ...]:
    """Give the claims of one finding shorter proofs; the cells of those that are shown.

    ``top_of`` has all claims of the finding, each with the largest one above it; ``minimal`` are the
    smallest ones; ``shown`` are what is known and that with what is learnt (or one claim).
    """
    best = _Ends(claims, shortener)
    known, both = shown[0], shown[-1]
    best.try_parts(known, low_of=both, high_of=known)
    best.try_parts(both, low_of=both, high_of=known)
    for at in dict.fromkeys(shown):
        if n_cells(*claims.ends(at)) > 1:
            best.try_own(at, one_cell=n_cells(*claims.ends(at)) == 2)
    subsets = claims.candidates.subset
    for at, top in top_of.items():
        if at not in shown:
            inside = [way for way in minimal if subsets[way] & ~subsets[at] == 0]
            best.try_shortest(at, top, inside)
    return tuple(sorted({cell for at in shown for cell in cells_of(*claims.ends(at))}))


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
        ends = shortener.exactly(terms, high)
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
    """Proposes ends for claims, and keeps those that are shorter."""

    def __init__(self, claims: ClaimTable, shortener: Shortener) -> None:
        self.claims = claims
        self.shortener = shortener
        self._low: dict[int, Leaf | None] = {}
        self._high: dict[int, Leaf | None] = {}

    def try_own(self, at: int, *, one_cell: bool) -> None:
        """Ends found for the claim itself."""
        terms, count = self.claims.selection(at).terms, int(self.claims.candidates.count[at])
        self._propose(at, *self.shortener.exactly(terms, count, one_cell=one_cell))

    def try_parts(self, at: int, *, low_of: int, high_of: int) -> None:
        """The lower end of a larger claim and the upper end of a smaller one."""
        self._propose(at, self._least(low_of), self._most(high_of))

    def try_shortest(self, at: int, top: int, inside: Sequence[int]) -> None:
        """The lower end of the largest claim and the shortest upper end of a smaller one."""
        found = [high for way in inside if (high := self._most(way, one_cell=True)) is not None]
        if found:
            self._propose(at, self._least(top), min(found, key=n_cells))

    def _least(self, at: int) -> Leaf | None:
        if at not in self._low:
            terms, count = self.claims.selection(at).terms, int(self.claims.candidates.count[at])
            self._low[at] = self.shortener.at_least(terms, count)
        return self._low[at]

    def _most(self, at: int, *, one_cell: bool = False) -> Leaf | None:
        """The upper end of a claim; a single cell where no other was looked for yet."""
        if self._high.get(at) is None:
            terms, count = self.claims.selection(at).terms, int(self.claims.candidates.count[at])
            self._high[at] = self.shortener.at_most(terms, count, one_cell=one_cell)
        return self._high[at]

    def _propose(self, at: int, low: Node | None, high: Node | None) -> None:
        before = self.claims.ends(at)
        if before[0] is None or before[1] is None or low is None or high is None:
            return
        if shorter((before[0], before[1]), (low, high)) == (low, high):
            self.claims.short[at] = low, high
