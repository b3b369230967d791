"""Proofs of claims across parts: one selection has exactly m records, everybody matches the others.

Let A have exactly m records and let everybody match B. Then exactly m match both: no more than match A, and
no fewer than count(A) + count(B) − N, because nobody matches A and B more than once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from showthrough.tables.proof import Branch, Leaf, Node, Terms, leaves_of
from showthrough.tables.wide.settled import BothEnds

__all__ = [
    "Factor",
    "at_least_all",
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
