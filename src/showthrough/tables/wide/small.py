"""Parts with few enough record types to list them: decided like any area."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from showthrough.errors import Contradiction, Undecided
from showthrough.release import Cell, Layout, Release, Table
from showthrough.selection import Selection
from showthrough.tables.claims import world_of
from showthrough.tables.decision import Decision
from showthrough.tables.proof import Proof
from showthrough.tables.result import Audit
from showthrough.tables.search.conflict import explain_conflict
from showthrough.tables.search.decider import Decider, Infeasible
from showthrough.tables.search.ranges import range_of
from showthrough.tables.search.system import Conflict
from showthrough.tables.wide.area import Excerpt, WideArea
from showthrough.tables.wide.dataset import Beside, Dataset
from showthrough.tables.wide.settled import SettledPart

if TYPE_CHECKING:
    from showthrough.tables.audit import Scope

__all__ = [
    "SmallPart",
    "audited_excerpt",
    "started",
]


class SmallPart:
    """A part whose record types can be listed; too many are an error.

    ``columns`` are its attributes. Where the number of records follows from cells of other parts only, the
    attributes of these cells are looked at as well.
    """

    def __init__(self, area: WideArea, columns: tuple[int, ...], first: Dataset | None) -> None:
        self.area, self.columns = area, columns
        over = (*columns, *area.borrowed(columns))
        self.excerpt: Excerpt = area.excerpt(over)
        self.decider: Decider = started(area, self.excerpt, first)

    @property
    def n_types(self) -> int:
        """How many record types the part has, those that tell no attributes of it apart taken together."""
        universe = self.decider.system.universe
        mine = [column for column, at in enumerate(universe.frame.over) if at in self.columns]
        return len(np.unique(universe.codes[:, mine], axis=0))

    def least_records(self) -> int:
        """The least number of records that the part's own cells allow."""
        return range_of(self.decider, Selection()).low

    def some(self) -> Beside:
        """The columns of a dataset of the part."""
        world = world_of(self.decider.system, self.decider.pool[0])
        return Beside.of(Dataset.of_world(world), self.columns)

    def with_records(self, n: int) -> Beside | None:
        """The columns of a dataset with this many records; None if none was found."""
        try:
            excerpt = _with_total(self.excerpt, n)
            decider = started(self.area, excerpt, None)
        except (Contradiction, Undecided):
            return None
        return Beside.of(Dataset.of_world(world_of(decider.system, decider.pool[0])), self.columns)

    def settle(self, scope: Scope, first: Dataset) -> SettledPart:
        """Decide all claims about the part that the first dataset suggests."""
        found = audited_excerpt(self.area, self.excerpt, scope, first)
        assumed = None
        if self.area.n_records is None:
            excerpt = _with_total(self.excerpt, len(first))
            plain = replace(scope, absent=False, gaps=False)
            assumed = audited_excerpt(self.area, excerpt, plain, first)
        return SettledPart.of_audit(self.columns, found, self.excerpt, assumed)


def started(area: WideArea, excerpt: Excerpt, first: Dataset | None) -> Decider:
    """What answers questions about an excerpt; a contradiction names the cells."""
    try:
        return excerpt.decider(excerpt.system(area.effort.types), area.effort, area.seed, first)
    except Conflict as conflict:
        raise explain_conflict(excerpt.release, conflict.cells) from None
    except Infeasible as conflict:
        cells = Proof((), 0, never=conflict.node).cells
        raise explain_conflict(excerpt.release, cells) from None


def audited_excerpt(area: WideArea, excerpt: Excerpt, scope: Scope, first: Dataset | None) -> Audit:
    """All claims about the attributes of an excerpt, as far as its cells decide them."""
    decider = started(area, excerpt, first)
    own = replace(
        scope,
        min_columns=1,
        max_columns=min(scope.max_columns or len(excerpt.over), len(excerpt.over)),
        multiplicity=None,
    )
    found = Decision(excerpt.context(area.context.closures), decider, own).audit(findings=False)
    for name in ("steps", "programs", "nodes", "solves"):
        setattr(area.work, name, getattr(area.work, name) + getattr(decider.work, name))
    return found


def _with_total(excerpt: Excerpt, n: int) -> Excerpt:
    """The excerpt with one cell more, which says how many records there are: an assumption."""
    release = excerpt.release
    names = {table.name for table in release.layout.tables}
    name = next(name for at in range(len(names) + 1) if (name := f"number of records {at}") not in names)
    total = Table(name, (Cell("records", Selection()),))
    layout = Layout(release.schema, (*release.layout.tables, total))
    low, high = np.append(release.low, n), np.append(release.high, n)
    return Excerpt(Release(layout, low, high, release.area), excerpt.over, np.append(excerpt.cells, -1))
