"""Proofs as arithmetic on published cells, for people to follow.

What kind of evidence a proof is has one word in files and one phrase for people. This label is read off the
proof as it is stored: how many cells it multiplies, and of how many tables. That cells published as 0
exclude record types beforehand goes without saying where several cells are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

import numpy as np

from showthrough.errors import check_type
from showthrough.release import UNBOUNDED, Layout, Published, Release
from showthrough.selection import Selection
from showthrough.tables.proof import Leaf, Node, Proof, Terms, leaves_of
from showthrough.tables.proof.possible import Possible, Types

__all__ = [
    "EVIDENCE",
    "ExplainedRow",
    "Explanation",
    "Sense",
    "count_tables",
    "explain_proof",
    "label_of",
]

#: What proves a claim, in words, from the most to the least obvious. ``stated`` is no label of a proof:
#: it stands for claims that are direct.
EVIDENCE = {
    "stated": "a published cell states it",
    "zeros": "rules and zero cells",
    "cell": "one cell",
    "cell and zeros": "one cell, by rules and zero cells",
    "table": "several cells of one table",
    "tables": "cells of several tables",
    "cases": "cells, case by case",
    "nested": "cells of the larger area and its parts",
}


def label_of(nodes: Iterable[Node | None], layout: Layout, *, direct: bool, nested: bool = False) -> str:
    """The kind of evidence that the nodes of a proof are; ``direct`` says that a cell states the claim.

    ``nested`` says that the cells are those of an area and of all its parts.

    >>> from showthrough.release import Table, make_table
    >>> from showthrough.schema import Schema
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> layout = Layout(schema, (make_table(schema, "total"), make_table(schema, "sex")))
    >>> women = Leaf(cells=((1, 1),), branches=(), denominator=1, total=3)
    >>> men = Leaf(cells=((0, 1), (1, -1)), branches=(), denominator=1, total=2)
    >>> label_of([women], layout, direct=False), label_of([men], layout, direct=False)
    ('cell and zeros', 'tables')
    """
    if nested:
        return "nested"
    found = [node for node in nodes if node is not None]
    if not all(isinstance(node, Leaf) for node in found):
        return "cases"
    cells = {cell for node in found for leaf in leaves_of(node) for cell, _ in leaf.cells}
    if len(cells) <= 1:
        return "zeros" if not cells else "cell" if direct else "cell and zeros"
    return "table" if count_tables(layout, cells) == 1 else "tables"


def count_tables(layout: Layout, cells: Iterable[int]) -> int:
    """How many tables some cells are of; cells of an area and its parts are numbered through."""
    names = layout.names
    return len({(cell // len(names), names[cell % len(names)][0]) for cell in cells})


def explain_proof(proof: Proof, release: Release) -> list[str]:
    """A proof as arithmetic, line by line: ``[…]`` is a published cell, ``count`` what is counted.

    A line holds because every record type that can exist contributes as much to the left as to
    the right, or at least (at most) as much.

    Parameters
    ----------
    proof
        The proof of a claim or of a bound.
    release
        The release that it is about.

    Returns
    -------
    list of str
        The lines.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex"): [3, 2],
    ...                                  st.make_table(schema, "sex*ill"): [1, None, None, None]})
    >>> found = st.bounds(release, "sex=f,ill=yes")
    >>> explain_proof(found.low_proof, release)
    ['count ≥ [sex=f] − [ill=no,sex=f] = 3 − 1 = 2']
    """
    check_type(proof, Proof, name="proof")
    check_type(release, Release, name="release")
    return list(Explanation(proof, release).lines())


@dataclass(frozen=True)
class ExplainedRow:
    """What a leaf multiplies: its name, the ends between which its count lies, and what it counts."""

    name: str
    low: int
    high: int | None
    counted: Sequence[tuple[int, Terms]]


@dataclass(frozen=True)
class Sense:
    """Which way a root proves: the sign of its multipliers, its relation, how it rounds."""

    sign: int
    relation: str
    rounded: str


_AT_LEAST = Sense(1, "≥", "up")
_AT_MOST = Sense(-1, "≤", "down")


class Explanation:
    """One proof, put into lines of text."""

    def __init__(self, proof: Proof, release: Release) -> None:
        self.proof = proof
        self.release = release

    def lines(self) -> Iterator[str]:
        """All lines of the proof."""
        low, high = self.proof.at_least, self.proof.at_most
        if isinstance(low, Leaf) and isinstance(high, Leaf) and _mirrored(low, high):
            yield self._arithmetic(low, _AT_LEAST, (), relation="=")
        else:
            if low is not None:
                yield from self._node(low, _AT_LEAST, ())
            if high is not None:
                yield from self._node(high, _AT_MOST, ())
        if self.proof.never is not None:
            m = self.proof.multiplicity
            yield f"suppose count = {m}:"
            rows = (ExplainedRow("count", m, m, [(1, self.proof.selection)]),)
            yield from _indented(self._node(self.proof.never, None, rows))

    def _node(self, node: Node, sense: Sense | None, rows: tuple[ExplainedRow, ...]) -> Iterator[str]:
        if isinstance(node, Leaf):
            yield self._leaf(node, sense, rows)
            return
        total = " + ".join(_counted(terms) for terms in node.on)
        counted = [(1, terms) for terms in node.on]
        below, above = (
            ExplainedRow(total, 0, node.at, counted),
            ExplainedRow(total, node.at + 1, None, counted),
        )
        yield f"either {total} ≤ {node.at}:"
        yield from _indented(self._node(node.below, sense, (*rows, below)))
        yield f"or {total} ≥ {node.at + 1}:"
        yield from _indented(self._node(node.above, sense, (*rows, above)))

    def _leaf(self, leaf: Leaf, sense: Sense | None, rows: tuple[ExplainedRow, ...]) -> str:
        if sense is None:
            return f"{self._arithmetic(leaf, _AT_LEAST, rows, start='0')}, which cannot be"
        if not leaf.cells and not leaf.branches:
            return "count ≥ 0" if sense is _AT_LEAST else self._nobody()
        if rows and self._is_contradiction(leaf, rows):
            return f"{self._arithmetic(_reduced(leaf), _AT_LEAST, rows, start='0')}, which cannot be"
        return self._arithmetic(leaf, sense, rows)

    def _is_contradiction(self, leaf: Leaf, rows: tuple[ExplainedRow, ...]) -> bool:
        """Whether a leaf shows that its case cannot be, so that it would prove any bound there."""
        used = [(self._row(at), u) for at, u in leaf.cells] + [(rows[depth], u) for depth, u in leaf.branches]
        types = self._types
        total = np.zeros(types.n, object)
        for row, u in used:
            for weight, terms in row.counted:
                total += u * weight * types.array(types.selected(terms)).astype(object)
        return leaf.total > 0 and all(value <= 0 for value in total)

    @cached_property
    def _types(self) -> Types:
        """The record types that can exist, over the attributes of the proof."""
        return Possible(self.release.schema, self.release.cells).types(self.proof.over)

    def _nobody(self) -> str:
        """Why nobody can match: a zero cell that holds them all, or several that do so together."""
        mine = Selection(self.proof.selection)
        for cell in self.release.cells if not self.proof.sum else ():
            if cell.high == 0 and any(mine.is_within(one) for _, one in cell.terms):
                return f"count ≤ {self._label(cell)} = 0"
        return "count ≤ 0: the rules and the cells published as 0 leave no such record"

    def _arithmetic(
        self,
        leaf: Leaf,
        sense: Sense,
        rows: tuple[ExplainedRow, ...],
        *,
        start: str = "count",
        relation: str = "",
    ) -> str:
        used = self._used(leaf, sense)
        used += [(rows[depth], sense.sign * u) for depth, u in leaf.branches]
        used.sort(key=lambda pair: pair[1] < 0)
        ends = [(_end(row, u, sense), u, row) for row, u in used]
        names = _sum([(row.name, u) for row, u in used])
        numbers = _sum([(str(end), u) for end, u, _ in ends])
        exact = all(row.low == row.high for row, _ in used)
        value = Fraction(sense.sign * leaf.total, leaf.denominator)
        if leaf.denominator > 1:
            names, numbers = (f"({part})/{leaf.denominator}" for part in (names, numbers))
        text = f"{start} {relation or sense.relation} {names} {'=' if exact else sense.relation} {numbers}"
        if numbers != str(value):
            text += f" = {value}"
        if value.denominator > 1:
            whole = -(-value // 1) if sense is _AT_LEAST else value // 1
            text += f", rounded {sense.rounded}: {whole}"
        return text

    def _used(self, leaf: Leaf, sense: Sense) -> list[tuple[ExplainedRow, int]]:
        """The cells of a leaf with their multipliers."""
        return [(self._row(at), sense.sign * u) for at, u in leaf.cells]

    def _row(self, at: int) -> ExplainedRow:
        cell = self.release.cells[at]
        counted = [(weight, one.terms) for weight, one in cell.terms]
        return ExplainedRow(
            self._label(cell), cell.low, None if cell.high >= UNBOUNDED else cell.high, counted
        )

    def _label(self, cell: Published) -> str:
        """The cell's name, with its table where several tables have a cell of that name."""
        name = f"{cell.name} of {cell.table}" if self._times[cell.name] > 1 else cell.name
        return name if name.isidentifier() else f"[{name}]"

    @cached_property
    def _times(self) -> Counter[str]:
        return Counter(cell for _, cell in self.release.layout.names)


def _reduced(leaf: Leaf) -> Leaf:
    """A contradiction in the smallest numbers."""
    by = gcd(*(u for _, u in (*leaf.cells, *leaf.branches)))
    cells, branches = (tuple((at, u // by) for at, u in rows) for rows in (leaf.cells, leaf.branches))
    return Leaf(cells, branches, 1, leaf.total // by)


def _mirrored(low: Leaf, high: Leaf) -> bool:
    """Whether both leaves are one equation: the same multipliers, up to the sign."""
    flipped = tuple((at, -u) for at, u in high.cells)
    same = sorted(low.cells) == sorted(flipped) and not (low.branches or high.branches)
    return same and bool(low.cells) and low.denominator == high.denominator and low.total == -high.total


def _end(row: ExplainedRow, multiplier: int, sense: Sense) -> int:
    """The end of the interval that the inequality uses."""
    lower = (multiplier > 0) == (sense is _AT_LEAST) or row.high is None
    return row.low if lower else int(row.high or 0)


def _sum(terms: list[tuple[str, int]]) -> str:
    """Terms with multipliers as text: ``a + 2·b − c``."""
    text = ""
    for name, u in terms:
        factor = "" if abs(u) == 1 else f"{abs(u)}·"
        body = f"({name})" if " + " in name and (factor or u < 0) else name
        sign = ("− " if u < 0 else "+ ") if text else ("−" if u < 0 else "")
        text += f"{' ' if text else ''}{sign}{factor}{body}"
    return text


def _counted(terms: Terms) -> str:
    return f"count({Selection(terms)})"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
