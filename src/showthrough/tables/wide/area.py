"""An area with too many record types to list, and what all steps of deciding it share.

An excerpt is the release of some of its attributes: the cells about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Contradiction
from showthrough.packing import unpack
from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table
from showthrough.selection import Selection
from showthrough.tables.decision import Context
from showthrough.tables.proof import Branch, Checker, Leaf, Node, Proof
from showthrough.tables.recheck import Recheck
from showthrough.tables.search.conflict import explain_conflict
from showthrough.tables.search.decider import Decider, Effort, Work
from showthrough.tables.search.implied import Closures, Margins
from showthrough.tables.search.system import System, build_system
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame, make_frame
from showthrough.tables.wide.dataset import Dataset
from showthrough.tables.wide.ties import Ties, exact_totals
from showthrough.tables.wide.watch import told

__all__ = [
    "Excerpt",
    "WideArea",
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


@dataclass(frozen=True, eq=False)
class WideArea:
    """What is published about an area, its parts, and the limits on work.

    ``tell`` is told what is being done.
    """

    release: Release
    context: Context
    effort: Effort
    seed: int
    tell: Callable[[str], None] = field(default_factory=told)
    work: Work = field(default_factory=Work)

    @cached_property
    def ties(self) -> Ties:
        """Which attributes are tied together."""
        return Ties(self.release.layout)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each part."""
        return self.ties.parts

    @cached_property
    def recheck(self) -> Recheck:
        """The independent checker, for the whole release."""
        return Recheck(self.release)

    @property
    def checker(self) -> Checker:
        """The same, to be asked directly."""
        return self.recheck.checker

    @cached_property
    def totals(self) -> list[tuple[frozenset[int], int]]:
        """Where exact cells add up to the number of records; contradictory ones are an error."""
        found = exact_totals(self.release, self.context.margins)
        if len({total for _, total in found}) > 1:
            raise self._contradiction(found)
        return found

    def _contradiction(self, found: list[tuple[frozenset[int], int]]) -> Contradiction:
        """Two tables that add up to different numbers of records."""
        one = found[0]
        other = next(pair for pair in found if pair[1] != one[1])
        over = tuple(sorted(one[0] | other[0]))
        excerpt = excerpt_of(self.release, self.ties, over)
        return explain_conflict(excerpt.release, range(len(excerpt.cells)))

    @cached_property
    def total_cells(self) -> list[tuple[int, int]]:
        """Exact cells that add up to the number of records, few of them, each with its count."""
        release = self.release
        exact = (
            cells
            for cells in self.context.margins.of(Selection())
            if (release.low[list(cells)] == release.high[list(cells)]).all()
        )
        return [(cell, int(release.low[cell])) for cell in min(exact, key=len)]

    @property
    def n_records(self) -> int | None:
        """The number of records, where exact cells add up to it."""
        return self.totals[0][1] if self.totals else None

    @cached_property
    def boxes(self) -> NDArray[np.bool_]:
        """Selection × attribute: which attributes each selection of the layout names."""
        schema, boxes = self.release.schema, self.release.layout.boxes
        found = np.zeros((len(boxes), len(schema.attributes)), bool)
        for row, box in enumerate(boxes):
            found[row, [schema.index[name] for name in box.attributes]] = True
        return found

    @cached_property
    def allowed(self) -> list[NDArray[np.bool_]]:
        """Per attribute, value × selection: which selections of the layout allow the value."""
        layout = self.release.layout
        return [unpack(bits, len(layout.boxes)).astype(bool) for bits in layout.bits]

    @cached_property
    def forbidden(self) -> list[dict[int, NDArray[np.bool_]]]:
        """What rules forbid: per attribute that one names, which values."""
        schema, found = self.release.schema, list[dict[int, NDArray[np.bool_]]]()
        for box in schema.forbidden:
            mine = dict[int, NDArray[np.bool_]]()
            for at, codes in schema.encode(box).items():
                mine[at] = np.zeros(len(schema.attributes[at].values), bool)
                mine[at][list(codes)] = True
            found.append(mine)
        return found

    @cached_property
    def sums(self) -> frozenset[int]:
        """The cells that are sums of selections, or have weights."""
        return frozenset(self.release.layout.sums)

    @cached_property
    def table_of(self) -> list[int]:
        """The table of every cell."""
        return [at for at, table in enumerate(self.release.layout.tables) for _ in table.cells]

    def borrowed(self, over: tuple[int, ...]) -> tuple[int, ...]:
        """Attributes to look at besides, so that the number of records is known; none where it is anyway."""
        mine = set(over)
        if not self.totals or any(attributes <= mine for attributes, _ in self.totals):
            return ()
        return tuple(sorted(self.totals[0][0] - mine))

    def excerpt(self, over: tuple[int, ...]) -> Excerpt:
        """Some attributes by themselves."""
        return excerpt_of(self.release, self.ties, over)
