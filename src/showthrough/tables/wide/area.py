"""An area with too many record types to list, and what all steps of deciding it share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Contradiction
from showthrough.packing import unpack
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.decision import Context
from showthrough.tables.proof import Checker
from showthrough.tables.recheck import Recheck
from showthrough.tables.search.conflict import explain_conflict
from showthrough.tables.search.decider import Effort, Work
from showthrough.tables.wide.excerpt import Excerpt, excerpt_of
from showthrough.tables.wide.ties import Ties, exact_totals
from showthrough.tables.wide.watch import told

__all__ = [
    "WideArea",
]


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
