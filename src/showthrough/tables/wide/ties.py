"""Which attributes are linked, and what that means for claims about them.

Two attributes are *tied* if a cell or a rule names both. Attributes that are tied, directly or through
others, form a **part**; cells and rules then concern one part each (a grand total concerns none).

**What parts have in common is the number of records, and nothing else.** Let D be a dataset, and Dₚ its
columns of part p, a dataset over fewer attributes with as many records. A cell of part p counts the same
records in D as in Dₚ, and a rule of part p is broken in D exactly if it is in Dₚ. So D agrees with the
release if and only if every Dₚ agrees with the cells and rules of p, and the number of records with the
totals. The other way round, take for every part any dataset that agrees, all with the same number of
records N. Put side by side, record by record in **any** order, they agree with the release.

It follows, where N is known:

* *Claims about one part.* The counts that a selection of part p has in all datasets are those it has in
  the datasets of p alone with N records. So it has the same verdict there, the same proof (its cells are
  cells of the release), and a dataset that refutes it becomes one of the whole by putting any datasets
  of the other parts beside it.
* *Claims across parts.* Let selections A₁ … A_k of different parts have a₁ … a_k records. As the order
  is free, the number of records that match all of them can be any whole number from
  max(0, a₁ + … + a_k − (k − 1)·N) to min(a₁, …, a_k). So "exactly m match all", with m ≥ 1, holds in all
  datasets if and only if one of the A has exactly m records in all of them, and each of the others has
  N, everybody. (Where it holds, the two ends are m for all possible a. If aᵢ is the least of them, the
  ends are equal only if the others lack nobody, a_j = N; so aᵢ = m, and no other datasets of the parts can
  change that.)

Where N is not known the first half remains: what is proved about a part is proved, and datasets of parts
with equal numbers of records can be put side by side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Layout, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.search.implied import Margins
from showthrough.tables.search.universe import active_attributes

__all__ = [
    "Ties",
    "exact_totals",
]


@dataclass(frozen=True, eq=False)
class Ties:
    """Which attributes of a layout cells and rules tie together.

    >>> from showthrough.release import make_table
    >>> schema = Schema.of({name: ["no", "yes"] for name in "abcd"})
    >>> tables = [make_table(schema, formula) for formula in ("a*b", "b*c", "d")]
    >>> Ties(Layout(schema, tuple(tables))).parts
    ((0, 1, 2), (3,))
    """

    layout: Layout

    @cached_property
    def needs(self) -> NDArray[np.bool_]:
        """Cell × attribute: which attributes each cell names, in any of its terms."""
        return _named(self.layout.attributes, self.layout.schema)

    @cached_property
    def edges(self) -> NDArray[np.bool_]:
        """Different sets of at least two attributes that a cell or a rule names, × attribute."""
        schema = self.layout.schema
        rules = _named([box.attributes for box in schema.forbidden], schema)
        every = np.unique(np.vstack([self.needs, rules]), axis=0)
        return every[every.sum(axis=1) > 1]

    @cached_property
    def neighbours(self) -> NDArray[np.bool_]:
        """Attribute × attribute: whether they are the same one or tied."""
        n = len(self.layout.schema.attributes)
        edges = self.edges.astype(np.int64)
        return (edges.T @ edges > 0) | np.eye(n, dtype=bool)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The attributes that something is known about, in parts."""
        left, found = set(active_attributes(self.layout)), list[tuple[int, ...]]()
        while left:
            reached = np.zeros(len(self.neighbours), bool)
            reached[min(left)] = True
            while True:
                wider = self.neighbours[reached].any(axis=0)
                if (wider == reached).all():
                    break
                reached = wider
            part = tuple(np.flatnonzero(reached).tolist())
            left -= set(part)
            found.append(part)
        return tuple(found)

    def inside(self, attributes: Iterable[int]) -> NDArray[np.int64]:
        """The cells that name no other attributes than these."""
        outside = np.ones(self.needs.shape[1], bool)
        outside[list(attributes)] = False
        return np.flatnonzero(~self.needs[:, outside].any(axis=1))


def _named(names: Iterable[Iterable[str]], schema: Schema) -> NDArray[np.bool_]:
    rows = [[schema.index[name] for name in some] for some in names]
    found = np.zeros((len(rows), len(schema.attributes)), bool)
    for row, columns in enumerate(rows):
        found[row, columns] = True
    return found


def exact_totals(release: Release, margins: Margins) -> list[tuple[frozenset[int], int]]:
    """Where the number of records can be read: the attributes of exact cells that add up to it, and the sum.

    Those with few combinations of values come first.
    """
    schema, found = release.schema, list[tuple[int, int, frozenset[int], int]]()
    for number, cells in enumerate(margins.of(Selection())):
        low, high = release.low[list(cells)], release.high[list(cells)]
        if (low == high).all():
            names = {name for cell in cells for name in release.layout.attributes[cell]}
            over = frozenset(schema.index[name] for name in names)
            found.append((len(cells), number, over, int(low.sum(dtype=object))))
    return [(over, total) for _, _, over, total in sorted(found)]
