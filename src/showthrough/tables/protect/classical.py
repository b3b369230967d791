"""Classical disclosure control rules, for comparison: what each costs, and what it still gives away.

* *threshold*: cells with 1 to t − 1 records are suppressed;
* *threshold with partners*: where such a cell is the only suppressed one in a sum that its own table
  shows, the smallest other cell of that sum is suppressed too. This is secondary suppression as it
  is done by hand, table by table: it does not consider what other tables show;
* *rounding*: every count is rounded to the nearest multiple of a base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, check_each, check_type
from showthrough.release import Layout, Release, Table
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.moves import Drop, Mark, Move, Round, Suppress, apply_moves, starts_of
from showthrough.tables.protect.policy import Policy, PolicyLike
from showthrough.tables.run.batch import Area

__all__ = [
    "Outcome",
    "classical_rules",
    "compare_rules",
    "judge_plan",
    "partners",
    "small_cells",
]


@dataclass(frozen=True)
class Outcome:
    """What a rule does to a release, and what still follows.

    Parameters
    ----------
    rule
        The rule, in words.
    withheld, rounded
        The cells that show a mark or are gone, and those that show a multiple of a base.
    dropped
        The tables that are not published.
    forbidden, undecided
        The forbidden claims that still follow, and those that could not be decided.
    """

    rule: str
    withheld: int
    rounded: int
    dropped: int
    forbidden: int
    undecided: int

    def __add__(self, other: Outcome) -> Outcome:
        """The same rule in two areas."""
        mine, theirs = (list(vars(one).values())[1:] for one in (self, other))
        return Outcome(self.rule, *(a + b for a, b in zip(mine, theirs, strict=True)))


def small_cells(release: Release, threshold: int) -> list[Move]:
    """Suppress every cell that shows 1 to threshold − 1 records.

    >>> from showthrough.release import Release, make_table
    >>> from showthrough.schema import Schema
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> [str(move) for move in small_cells(Release.of(schema, {make_table(schema, "sex"): [2, 9]}), 5)]
    ['suppress sex=f of sex']
    """
    small = (release.low == release.high) & (release.low > 0) & (release.low < threshold)
    return [Suppress(*release.layout.names[at]) for at in np.flatnonzero(small).tolist()]


def partners(release: Release, moves: Sequence[Move]) -> list[Move]:
    """Suppressions, and one more cell in each sum of a table in which only one cell is hidden."""
    hidden = {release.layout.names.index((m.table, m.cell)) for m in moves if isinstance(m, Suppress)}
    sums = [one for table in release.tables for one in _sums(release.layout, table)]
    changed = True
    while changed:
        changed = False
        for cells in sums:
            left = [at for at in cells if at not in hidden]
            if len(left) == len(cells) - 1 and left:
                hidden.add(min(left, key=lambda at: (release.low[at] == 0, release.low[at], at)))
                changed = True
    return [Suppress(*release.layout.names[at]) for at in sorted(hidden)]


def _sums(layout: Layout, table: Table) -> Iterator[tuple[int, ...]]:
    """A cell of a table with cells of the same table that add up to it, over one attribute each."""
    start = starts_of(layout)[table.name]
    own = range(start, start + len(table.cells))
    whole = {layout.selections[at]: at for at in own}
    for attribute in layout.schema.attributes:
        groups: dict[object, list[int]] = {}
        for at in own:
            selection = layout.selections[at]
            if attribute.name in selection:
                rest = tuple(term for term in selection.terms if term[0] != attribute.name)
                groups.setdefault(rest, []).append(at)
        for selection, total in whole.items():
            rest = tuple(term for term in selection.terms if term[0] != attribute.name)
            wanted = selection[attribute.name] if attribute.name in selection else set(attribute.values)
            parts = [
                at
                for at in groups.get(rest, ())
                if at != total and layout.selections[at][attribute.name] <= wanted
            ]
            finest = [at for at in parts if not _has_part(layout, at, parts, attribute.name)]
            sizes = [len(layout.selections[at][attribute.name]) for at in finest]
            union = {value for at in finest for value in layout.selections[at][attribute.name]}
            if finest and union == set(wanted) and sum(sizes) == len(union):
                yield (total, *finest)


def _has_part(layout: Layout, at: int, parts: Sequence[int], name: str) -> bool:
    mine = layout.selections[at][name]
    return any(layout.selections[other][name] < mine for other in parts)


def classical_rules(
    release: Release, *, threshold: int = 5, bases: Sequence[int] = (3, 5)
) -> Iterator[tuple[str, list[Move], Mark]]:
    """Each rule's name, its moves, and what a suppressed cell shows."""
    if threshold < 2:
        raise InputError("a threshold below 2 hides nothing", found=str(threshold), remedy="use 2 or more")
    small = small_cells(release, threshold)
    yield f"suppress 1 to {threshold - 1}", small, Mark()
    yield f"suppress 1 to {threshold - 1}, and a partner in each sum", partners(release, small), Mark()
    for base in bases:
        yield f"round to {base}", [Round(table.name, base) for table in release.tables], Mark()


def compare_rules(
    area: Area,
    policy: PolicyLike,
    *,
    threshold: int = 5,
    bases: Sequence[int] = (3, 5),
    effort: float = 1.0,
    seed: int = 0,
) -> list[Outcome]:
    """Apply classical rules to one area, and show what still follows after each.

    Parameters
    ----------
    area
        The planned release, with the records if available.
    policy
        What is forbidden.
    threshold
        Cells with fewer records than this are suppressed.
    bases
        The bases to round to.
    effort, seed
        As for :func:`protect`.

    Returns
    -------
    list of Outcome
        First for the release as planned, then for each rule.
    """
    check_type(area, Area, name="area", remedy="write Area(release, records)")
    check_type(threshold, Integral, name="threshold")
    check_each(bases, Integral, name="bases", remedy="write (3, 5)")
    check_type(seed, Integral, name="seed")
    search = AreaSearch(area, Policy.from_any(policy), effort=effort, seed=seed)
    rules = classical_rules(area.release, threshold=threshold, bases=bases)
    return [
        judge_plan("as planned", search, ()),
        *(judge_plan(name, search, moves, mark=mark) for name, moves, mark in rules),
    ]


def judge_plan(name: str, search: AreaSearch, moves: Sequence[Move], *, mark: Mark | None = None) -> Outcome:
    """What a plan costs in cells and tables, and what is forbidden and still follows after it."""
    planned = search.planned
    release, members = apply_moves(planned, moves, mark=mark or search.policy.change.mark)
    leaks = search.leaks(release)
    gone = np.ones(len(planned.low), bool)
    for at, one in enumerate(members):
        if len(one) == 1:
            same = planned.low[one[0]] == release.low[at] and planned.high[one[0]] == release.high[at]
            gone[one[0]] = not same
    rounded = _rounded(planned, moves)
    dropped = sum(isinstance(move, Drop) for move in moves)
    return Outcome(
        name,
        int((gone & ~rounded).sum()),
        int((gone & rounded).sum()),
        dropped,
        leaks.n_forbidden,
        len(leaks.undecided),
    )


def _rounded(planned: Release, moves: Sequence[Move]) -> NDArray[np.bool_]:
    tables = {move.table for move in moves if isinstance(move, Round)}
    return np.array([table in tables for table, _ in planned.layout.names], bool)
