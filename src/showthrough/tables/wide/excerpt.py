"""Some attributes of a release by themselves: the cells about them, as a release of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table
from showthrough.selection import Selection
from showthrough.tables.decision import Context
from showthrough.tables.proof import Branch, Leaf, Node, Proof
from showthrough.tables.search.decider import Decider, Effort
from showthrough.tables.search.implied import Closures, Margins
from showthrough.tables.search.system import System, build_system
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame, make_frame
from showthrough.tables.wide.dataset import Dataset
from showthrough.tables.wide.ties import Ties

__all__ = [
    "Excerpt",
    "excerpt_of",
]


class ExcerptContext(Context):
    """What the layout of an excerpt needs; the rules are those of the whole release."""

    def __init__(self, layout: Layout, frame: Frame, closures: Closures) -> None:
        self.layout, self.closures = layout, closures
        self.margins = Margins(layout, closures)
        self.closed_keys: dict[int, tuple[int, ...] | None] = {}
        self.left_out = ()
        self.__dict__["frame"] = frame


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The cells of a release that name no other attributes than some.

    What follows from them follows from the release: datasets that agree with the release agree with them.
    Not everything that follows from the release follows from them.

    Parameters
    ----------
    release
        The cells as a release of its own.
    over
        The attributes, by position in the schema.
    cells
        The position of each of its cells in the whole release.
    """

    release: Release
    over: tuple[int, ...]
    cells: NDArray[np.int64]

    @cached_property
    def frame(self) -> Frame:
        """The attributes in growth order."""
        return make_frame(self.release.layout, self.over)

    def context(self, closures: Closures) -> Context:
        """What an audit of the excerpt shares with others."""
        return ExcerptContext(self.release.layout, self.frame, closures)

    def system(self, most_types: int) -> System:
        """The excerpt as a system; too many record types are an error."""
        return build_system(self.frame, self.release, most_types=most_types)

    def decider(self, system: System, effort: Effort, seed: int, first: Dataset | None) -> Decider:
        """What answers questions about the excerpt, from a dataset of the whole or one it finds."""
        return Decider(
            system, effort, seed=seed, first=None if first is None else self.located(system, first)
        )

    def located(self, system: System, dataset: Dataset) -> TypeCounts:
        """The record types of a dataset of the whole, as far as the excerpt tells them apart."""
        wanted = dataset.codes[:, list(self.frame.over)].astype(np.uint16)
        known = {row.tobytes(): at for at, row in enumerate(system.universe.codes)}
        types = [known[row.tobytes()] for row in np.ascontiguousarray(wanted)]
        return TypeCounts.of_counts(np.array(types, np.int64), dataset.times)

    def whole(self, node: Node) -> Node:
        """A proof by cells of the excerpt, as one by cells of the whole release."""
        if isinstance(node, Branch):
            return replace(node, below=self.whole(node.below), above=self.whole(node.above))
        return Leaf(
            tuple((int(self.cells[cell]), u) for cell, u in node.cells),
            node.branches,
            node.denominator,
            node.total,
        )

    def whole_proof(self, proof: Proof) -> Proof:
        """The same for a proof with all its ends."""
        ends = {name: getattr(proof, name) for name in ("at_least", "at_most", "never")}
        return replace(
            proof, **{name: None if node is None else self.whole(node) for name, node in ends.items()}
        )


def excerpt_of(release: Release, ties: Ties, over: tuple[int, ...]) -> Excerpt:
    """The cells about some attributes, and totals."""
    cells = ties.inside(over)
    chosen, tables, start = set(cells.tolist()), list[Table](), 0
    for table in release.layout.tables:
        mine = [cell for at, cell in enumerate(table.cells, start) if at in chosen]
        start += len(table.cells)
        if mine:
            tables.append(Table(table.name, tuple(mine), table.publisher, table.label))
    low, high = release.low[cells], release.high[cells]
    if not tables:  # a release has a table: one that says nothing
        tables = [Table("number of records", (Cell("records", Selection()),))]
        low, high, cells = np.array([0]), np.array([UNBOUNDED]), np.array([-1])
    layout = Layout(release.schema, tuple(tables))
    return Excerpt(Release(layout, low, high, release.area), over, cells)
