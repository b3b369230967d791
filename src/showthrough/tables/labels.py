"""What kind of evidence a proof is: one word for it in files, one phrase for people.

The label is read off the proof as it is stored: how many cells it multiplies, and of how many tables. That
cells published as 0 exclude record types beforehand goes without saying where several cells are used.
"""

from __future__ import annotations

from collections.abc import Iterable

from showthrough.release import Layout
from showthrough.tables.proof import Leaf, Node, leaves_of

__all__ = [
    "EVIDENCE",
    "count_tables",
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
