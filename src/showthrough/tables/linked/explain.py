"""Proofs about parts as arithmetic on the cells of the area and of its parts, for people to follow."""

from __future__ import annotations

from functools import cached_property, lru_cache

from showthrough.release import UNBOUNDED
from showthrough.tables.explain import ExplainedRow, Explanation, Sense
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import PART, Leaf, NestChecker, Proof
from showthrough.tables.proof.possible import Types
from showthrough.text import several

__all__ = [
    "explain_nested",
]

#: Cells of other parts that are named one by one; more are added up.
MOST_NAMED = 6


def explain_nested(proof: Proof, nest: Nest) -> list[str]:
    """A proof about a part as arithmetic, line by line: ``[… in …]`` is a published cell of an area.

    Parameters
    ----------
    proof
        The proof; its first attribute is the part.
    nest
        The area and its parts.

    Returns
    -------
    list of str
        The lines.
    """
    return list(_NestExplanation(proof, nest).lines())


@lru_cache(maxsize=1)
def _checker_of(nest: Nest) -> NestChecker:
    """What knows the record types of every part; one proof of an area comes after the other."""
    parts = {part.area: part.cells for part in nest.parts}
    return NestChecker(nest.whole.schema, nest.whole.cells, parts)


class _NestExplanation(Explanation):
    """One proof about a part, put into lines of text."""

    def __init__(self, proof: Proof, nest: Nest) -> None:
        super().__init__(proof, nest.whole)
        self.nest = nest
        self.part = nest.names.index(dict(proof.selection)[PART][0])

    @cached_property
    def _types(self) -> Types:
        return _checker_of(self.nest).possible_types(self.proof.over)

    def _nobody(self) -> str:
        return "count ≤ 0: the rules and the cells published as 0 leave no such record"

    def _row(self, at: int) -> ExplainedRow:
        nest, size = self.nest, len(self.nest.whole.low)
        cell = nest.whole.cells[at % size]
        area = nest.area if at < size else nest.names[at // size - 1]
        named = self._label(cell).removeprefix("[").removesuffix("]")
        high = int(nest.high[at])
        here = () if at < size else ((PART, (area,)),)
        counted = [(weight, (*here, *one.terms)) for weight, one in cell.terms]
        label = f"[{named} in {area}]"
        return ExplainedRow(label, int(nest.low[at]), None if high >= UNBOUNDED else high, counted)

    def _used(self, leaf: Leaf, sense: Sense) -> list[tuple[ExplainedRow, int]]:
        """The rows of a leaf; many cells of other parts are added up."""
        size = len(self.nest.whole.low)
        near = [(at, u) for at, u in leaf.cells if at // size in (0, self.part + 1)]
        far = [(at, u) for at, u in leaf.cells if at // size not in (0, self.part + 1)]
        if len(far) <= MOST_NAMED:
            return super()._used(leaf, sense)
        found = [(self._row(at), sense.sign * u) for at, u in near]
        for sign in (1, -1):
            mine = [(self._row(at), abs(u), at // size) for at, u in far if sense.sign * u * sign > 0]
            if mine:
                low = sum(row.low * u for row, u, _ in mine)
                highs = [None if row.high is None else row.high * u for row, u, _ in mine]
                ends = [high for high in highs if high is not None]
                parts = several(len({part for _, _, part in mine}), "other part")
                name = f"[{several(len(mine), 'cell')} of {parts}]"
                high = sum(ends) if len(ends) == len(highs) else None
                found.append((ExplainedRow(name, low, high, []), sign))
        return found
