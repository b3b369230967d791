"""Moves, the changes a publisher can make to a table: suppress cells, round, merge values, drop it.

Every move only *loosens* what is published: each cell's interval is kept or widened, several cells
become their sum, or a cell is no longer published. Every dataset that agreed before agrees
afterwards, so nothing new can be proved and what could be proved can only become less.

A table is either published with some of its cells suppressed, or treated as a whole: rounded,
merged or dropped. The two are not combined, so that what a move does never depends on another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from numbers import Integral
from types import NoneType
from typing import Any

import numpy as np

from showthrough.errors import InputError, check_each, check_type, closest
from showthrough.notation import Rounding
from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table
from showthrough.selection import Selection

__all__ = [
    "Drop",
    "Mark",
    "Merge",
    "Move",
    "Protected",
    "Round",
    "Suppress",
    "apply_moves",
    "merged_cells",
    "move_from_plain",
    "move_to_plain",
    "starts_of",
    "treat",
]

Interval = tuple[int, int]
Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, order=True)
class Suppress:
    """Publish a mark instead of a cell's count.

    Parameters
    ----------
    table, cell
        The names of the table and of its cell.
    """

    table: str
    cell: str

    def __post_init__(self) -> None:
        check_type(self.table, str, name="table", remedy="give the name of a table")
        check_type(self.cell, str, name="cell", remedy="give the name of a cell")

    def __str__(self) -> str:
        return f"suppress {self.cell} of {self.table}"


@dataclass(frozen=True, order=True)
class Round:
    """Publish a table's counts rounded to multiples of a base (halves up).

    Parameters
    ----------
    table
        The name of the table.
    base
        Counts are rounded to multiples of this.
    controlled
        Whether all tables are rounded together so that they add up: each count goes to the multiple below
        or above. :func:`~showthrough.controlled_rounding` makes such a release.
    """

    table: str
    base: int
    controlled: bool = False

    def __post_init__(self) -> None:
        check_type(self.table, str, name="table", remedy="give the name of a table")
        check_type(self.base, Integral, name="base", remedy="give a number such as 5")
        check_type(self.controlled, bool, name="controlled")

    def __str__(self) -> str:
        return f"round {self.table} to multiples of {self.base}{' that add up' if self.controlled else ''}"

    @property
    def rounding(self) -> Rounding:
        """What readers are told about the table's counts."""
        return Rounding(self.base, "random" if self.controlled else "conventional")


@dataclass(frozen=True, order=True)
class Merge:
    """Publish a table with some values of an attribute merged.

    Parameters
    ----------
    table, attribute
        The names of the table and of the attribute.
    groups
        Disjoint sets of values, each of which becomes one value. Other values stay apart.
    name
        What the policy calls this grouping.
    """

    table: str
    attribute: str
    groups: Groups
    name: str = ""

    def __post_init__(self) -> None:
        for name in ("table", "attribute", "name"):
            check_type(getattr(self, name), str, name=name)
        remedy = "write (('15-24', '25-34'), ('65-74', '75+'))"
        check_each(self.groups, Sequence, name="groups", remedy=remedy)
        for group in self.groups:
            check_each(group, str, name="a group", remedy=remedy)
        object.__setattr__(self, "groups", tuple(map(tuple, self.groups)))

    def __str__(self) -> str:
        return f"merge {self.attribute} in {self.table}" + (f" ({self.name})" if self.name else "")


@dataclass(frozen=True, order=True)
class Drop:
    """Do not publish a table.

    Parameters
    ----------
    table
        The name of the table.
    """

    table: str

    def __post_init__(self) -> None:
        check_type(self.table, str, name="table", remedy="give the name of a table")

    def __str__(self) -> str:
        return f"drop {self.table}"


Move = Suppress | Round | Merge | Drop


def move_to_plain(move: Move) -> dict[str, Any]:
    """A move with its kind, as JSON has it.

    >>> move_to_plain(Suppress("sex", "sex=f"))
    {'move': 'suppress', 'table': 'sex', 'cell': 'sex=f'}
    """
    plain = {"move": type(move).__name__.lower(), **asdict(move)}
    if plain.get("controlled") is False:
        del plain["controlled"]
    return plain


def move_from_plain(plain: Mapping[str, Any]) -> Move:
    """Read what :func:`move_to_plain` gave."""
    table = str(plain["table"])
    match plain["move"]:
        case "suppress":
            return Suppress(table, str(plain["cell"]))
        case "round":
            return Round(table, int(plain["base"]), bool(plain.get("controlled", False)))
        case "merge":
            groups = tuple(tuple(map(str, group)) for group in plain["groups"])
            return Merge(table, str(plain["attribute"]), groups, str(plain["name"]))
        case "drop":
            return Drop(table)
        case other:
            raise InputError("unknown move", found=str(other))


@dataclass(frozen=True)
class Mark:
    """What a suppressed cell shows: nothing at all, or that its count lies in an interval.

    With an interval such as 0–4 ("<5") larger cells need another mark, from which a reader
    concludes that they are larger: they are published as "5 or more". A cell below the interval
    cannot be hidden in it.

    Parameters
    ----------
    low, high
        The ends of the interval; by default anything is possible.

    Examples
    --------
    >>> Mark().of(7, 7) == (0, UNBOUNDED), Mark(0, 4).of(3, 3), Mark(1, 4).of(0, 0)
    (True, (0, 4), None)
    """

    low: int = 0
    high: int = UNBOUNDED

    def __post_init__(self) -> None:
        for name, end in (("low", self.low), ("high", self.high)):
            check_type(end, Integral, name=name, remedy="write Mark(0, 4) for a cell of 0 to 4")
        if not 0 <= self.low < self.high <= UNBOUNDED:
            raise InputError(
                "a mark must stand for several counts",
                found=f"{self.low} to {self.high}",
                remedy='write mark = "unknown" or an interval such as "<5"',
            )

    def of(self, low: int, high: int) -> Interval | None:
        """What is published for a cell of which this interval was; None if it cannot be hidden."""
        if self.low <= low and high <= self.high:
            return self.low, self.high
        if low > self.high:
            return self.high + 1, UNBOUNDED
        return None if high < self.low else (0, UNBOUNDED)


def rounded(count: int, base: int) -> Interval:
    """The counts that are published like this one when multiples of a base are.

    >>> rounded(3, 5), rounded(0, 5), rounded(1, 3)
    ((3, 7), (0, 2), (0, 1))
    """
    half = base // 2
    shown = (count + half) // base * base
    return max(0, shown - half), shown + base - half - 1


@dataclass(frozen=True)
class Protected:
    """One cell as it is published after moves, and the cells it is the sum of before.

    ``members`` are positions in the release before.
    """

    members: tuple[int, ...]
    name: str
    selection: Selection
    low: int
    high: int


@lru_cache(maxsize=16)
def starts_of(layout: Layout) -> dict[str, int]:
    """Per table the position of its first cell."""
    ends = np.cumsum([0, *(len(table.cells) for table in layout.tables)])
    return {table.name: int(start) for table, start in zip(layout.tables, ends, strict=False)}


def treat(release: Release, table: Table, moves: Sequence[Move], *, mark: Mark) -> list[Protected] | None:
    """The table's cells after the moves that concern it; None if it is dropped."""
    start = starts_of(release.layout)[table.name]
    cells = [
        Protected(
            (at,), cell.name, release.layout.selections[at], int(release.low[at]), int(release.high[at])
        )
        for at, cell in enumerate(table.cells, start)
    ]
    whole = [move for move in moves if not isinstance(move, Suppress)]
    if len(whole) > 1 or (whole and len(moves) > 1):
        raise InputError(
            f"these moves on table {table.name} exclude each other",
            found=", ".join(map(str, moves)),
            remedy="suppress some of its cells, or round, merge or drop the whole table",
        )
    if not whole:
        hidden = {table.position(move.cell): move.cell for move in moves if isinstance(move, Suppress)}
        if None in hidden:
            raise InputError(
                f"table {table.name} has no such cell",
                found=hidden[None],
                remedy=closest(hidden[None], table.positions),
            )
        return [_suppressed(cell, mark) if at in hidden else cell for at, cell in enumerate(cells)]
    if isinstance(whole[0], Drop):
        return None
    if isinstance(whole[0], Round):
        if whole[0].controlled:
            raise InputError(
                "a table cannot be rounded alone so that all tables add up",
                found=str(whole[0]),
                remedy="round the release with controlled_rounding, or each table with Round(table, base)",
            )
        return [_rounded(cell, whole[0].base) for cell in cells]
    return _merged(release, table, cells, whole[0])


def apply_moves(
    release: Release, moves: Iterable[Move], *, mark: Mark | None = None, blank: bool = False
) -> tuple[Release, tuple[tuple[int, ...], ...]]:
    """The release after some moves.

    Parameters
    ----------
    release
        The planned release.
    moves
        Moves that do not exclude each other.
    mark
        What a suppressed cell shows; by default nothing.
    blank
        Keep dropped tables without any value. (If all are dropped, the first one always stays so.)

    Returns
    -------
    tuple
        The release, and for each of its cells the positions of the cells before that it is the sum of.

    Raises
    ------
    InputError
        If a table or a cell does not exist, or if moves on one table exclude each other.

    Examples
    --------
    >>> from showthrough.release import make_table
    >>> from showthrough.schema import Schema
    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> release = Release.of(schema, {make_table(schema, "sex*age"): [1, 2, 3, 4],
    ...                               make_table(schema, "sex"): [3, 7]})
    >>> merged = Merge("sex*age", "age", (("young", "old"),))
    >>> after, members = apply_moves(release, [merged, Suppress("sex", "sex=f")])
    >>> [f"{cell.name}: {cell.value()}" for cell in after.cells]
    ['sex=f: 3', 'sex=m: 7', 'sex=f: unknown', 'sex=m: 7']
    >>> members
    ((0, 1), (2, 3), (4,), (5,))
    """
    check_type(release, Release, name="release", remedy="give the release of one area")
    check_type(mark, (Mark, NoneType), name="mark", remedy="write Mark(0, 4)")
    remedy = "write [Suppress('sex', 'sex=f'), Drop('age')]"
    check_type(moves, Iterable, name="moves", remedy=remedy)
    wanted = list(moves)
    check_each(wanted, (Suppress, Round, Merge, Drop), name="moves", remedy=remedy)
    by_table = {name: [m for m in wanted if m.table == name] for name in {m.table for m in wanted}}
    for name in by_table.keys() - {table.name for table in release.tables}:
        known = [table.name for table in release.tables]
        raise InputError("the release has no such table", found=name, remedy=closest(name, known))
    made: list[tuple[Table, list[Protected]]] = []
    for table in release.tables:
        cells = treat(release, table, by_table.get(table.name, ()), mark=mark or Mark())
        if cells or blank:
            made.append((table, cells or _blank(release, table)))
    made = made or [(release.tables[0], _blank(release, release.tables[0]))]
    everything = [cell for _, cells in made for cell in cells]
    layout = release.layout
    if [cell.members for cell in everything] != [(at,) for at in range(len(layout.names))]:
        layout = Layout(release.schema, tuple(_shown(table, cells) for table, cells in made))
    low = np.array([cell.low for cell in everything], np.int64)
    high = np.array([cell.high for cell in everything], np.int64)
    return Release(layout, low, high, release.area), tuple(cell.members for cell in everything)


def _blank(release: Release, table: Table) -> list[Protected]:
    start, selections = starts_of(release.layout)[table.name], release.layout.selections
    return [
        Protected((at,), cell.name, selections[at], 0, UNBOUNDED)
        for at, cell in enumerate(table.cells, start)
    ]


def _shown(table: Table, cells: Sequence[Protected]) -> Table:
    kept = tuple(Cell(cell.name, cell.selection) for cell in cells)
    return Table(table.name, kept, table.publisher, table.label)


def _suppressed(cell: Protected, mark: Mark) -> Protected:
    shown = mark.of(cell.low, cell.high)
    if shown is None:
        raise InputError(
            "the cell's count is below the interval of the mark",
            found=f"{cell.name}: {cell.low}-{cell.high}",
        )
    return Protected(cell.members, cell.name, cell.selection, *shown)


def _rounded(cell: Protected, base: int) -> Protected:
    if cell.low != cell.high:
        return cell  # a mark or an interval is no count to round
    return Protected(cell.members, cell.name, cell.selection, *rounded(cell.low, base))


def _merged(release: Release, table: Table, cells: Sequence[Protected], move: Merge) -> list[Protected]:
    found: list[Protected] = []
    names: set[str] = set()
    for members in merged_cells(release.layout, table.name, move):
        parts = [cells[at] for at in members]
        selection = parts[0].selection if len(parts) == 1 else _union(release.layout, parts, move.attribute)
        name = parts[0].name if len(parts) == 1 else str(selection) or "total"
        while name in names:
            name += "'"
        names.add(name)
        low = sum(part.low for part in parts)
        high = min(UNBOUNDED, sum(part.high for part in parts))
        found.append(Protected(tuple(m for p in parts for m in p.members), name, selection, low, high))
    return found


def _union(layout: Layout, parts: Sequence[Protected], attribute: str) -> Selection:
    """The parts differ in one attribute only: whoever has any of their values of it."""
    rest = [term for term in parts[0].selection.terms if term[0] != attribute]
    values = tuple(value for part in parts for value in part.selection[attribute])
    return layout.schema.check_selection(Selection((*rest, (attribute, values))))


@lru_cache(maxsize=4096)
def merged_cells(layout: Layout, table: str, move: Merge) -> tuple[tuple[int, ...], ...]:
    """Which cells of a table (by position in it) a merged table shows as one, in order.

    A cell stays if its values of the attribute are whole groups. Cells that differ only in the
    attribute and lie within one group become their sum if no record is in two of them. All others
    (parts of groups that overlap, or that reach into another group) are gone, and so is a sum that
    another cell shows already.
    """
    start = starts_of(layout)[table]
    size = next(len(t.cells) for t in layout.tables if t.name == table)
    group_of = {value: at for at, group in enumerate(move.groups) for value in group}
    whole = {at: frozenset(group) for at, group in enumerate(move.groups)}
    kept: list[tuple[int, ...]] = []
    parts: dict[tuple[object, ...], list[int]] = {}
    for at in range(size):
        selection = layout.selections[start + at]
        values = selection[move.attribute] if move.attribute in selection else frozenset[str]()
        touched = {group_of[value] for value in values if value in group_of}
        if all(whole[group] <= values for group in touched):
            kept.append((at,))
        elif len(touched) == 1 and all(value in group_of for value in values):
            rest = tuple(term for term in selection.terms if term[0] != move.attribute)
            parts.setdefault((rest, *touched), []).append(at)
    shown = {layout.selections[start + at] for (at,) in kept}
    for members in parts.values():
        sets = [layout.selections[start + at][move.attribute] for at in members]
        union = frozenset[str]().union(*sets)
        if len(union) < sum(map(len, sets)):
            continue
        rest = [t for t in layout.selections[start + members[0]].terms if t[0] != move.attribute]
        merged = layout.schema.check_selection(Selection((*rest, (move.attribute, tuple(union)))))
        if merged not in shown:
            kept.append(tuple(members))
    return tuple(sorted(kept))
