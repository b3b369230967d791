"""Protected tables as an office prints them: in the shape in which they came, with what is safe to publish.

Nothing but the safe release decides what a cell shows. The text that was printed before stays only where
it says what the safe release says; a suppressed cell gets a mark that means no less than any count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from showthrough.errors import ReleaseError
from showthrough.formats.meaning.shapes import PrintedShape, joined_label
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.notation import Notation, Rounding, parse_values
from showthrough.release import UNBOUNDED, Release
from showthrough.tables.protect.areas import PlanResult, ProtectedAreas
from showthrough.tables.protect.moves import Merge, Move, Round, merged_cells, starts_of

__all__ = [
    "HandedBack",
    "check_linked",
    "hand_back",
    "suppression_mark",
]

#: Marks that offices use for confidential counts, the usual ones first.
USUAL = ("c", "[c]", "(c)", "C", "Q C", "Q", "x", "X", "[x]", "s", "S", "*", ":", ".", "..", "…", "/", "#")

#: Marks that mean something else unless somebody declared that they stand for any count.
OTHERWISE = ("", "-", "–", "—", "−", "z", "[z]", "n/a", "na", "n.a.", "null", "nan")

Mark = tuple[str, str]
Interval = tuple[int, int]

#: A dimension with the position of a category in it, or with those of several that are merged.
Key = tuple[int, int | tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class HandedBack:
    """A table before and after, as printed.

    Parameters
    ----------
    before, after
        The table as it was printed, and as it is safe.
    changed
        For each cell before: ``changed``, or empty where nothing changed.
    states
        For each cell after: ``suppressed``, ``rounded``, ``merged``, or empty where nothing changed.
    mark
        What is printed in suppressed cells: value and flag.
    format
        The format of the file that the table came from; empty if it came from none.
    """

    before: PrintedTable
    after: PrintedTable
    changed: tuple[str, ...]
    states: tuple[str, ...]
    mark: Mark
    format: str = ""


def check_linked(shapes: Sequence[PrintedShape]) -> None:
    """Raise where what is suppressed in one area would follow from a total over areas.

    Areas are protected one by one, so that nobody would notice.
    """
    for shape in shapes:
        if name := shape.linked_by():
            raise ReleaseError(
                f"table {shape.name} has totals over {name}: what is suppressed in one area would follow "
                "from them and the other areas, because areas are protected one by one",
                file=shape.table.file or None,
                remedy="import it with --area none, so that all areas are protected together",
            )
    areas = {bool(shape.area_dimensions) for shape in shapes}
    if len(areas) > 1:
        alone = next(shape for shape in shapes if not shape.area_dimensions)
        raise ReleaseError(
            f"table {alone.name} has no areas and others have: what is suppressed in one area may follow "
            "from it and the other areas, because areas are protected one by one",
            file=alone.table.file or None,
            remedy="import them with --area none, so that all areas are protected together",
        )


def suppression_mark(shapes: Sequence[PrintedShape], notations: Mapping[str, Notation]) -> Mark:
    """What suppressed cells show: the mark of the tables that stands for any count, or ``c``.

    A mark with a narrower meaning would tell more than the safe release does.
    """
    used = Counter(text for shape in shapes for text in shape.texts)
    known = {mark: ends for one in notations.values() for mark, ends in one.suppressed.items()}
    free = [mark for mark, ends in known.items() if ends == (0, UNBOUNDED) and mark not in OTHERWISE]
    rank = {mark: at for at, mark in enumerate(USUAL)}
    if found := sorted(free, key=lambda mark: (rank.get(mark, len(rank)), -used[mark], mark)):
        return _as_printed(found[0], shapes)
    return next(mark for mark in ("c", "x", ":", "*", "[c]", "[x]", "#") if mark not in known), ""


def _as_printed(mark: str, shapes: Sequence[PrintedShape]) -> Mark:
    """The value and the flag that a mark is printed as."""
    for shape in shapes:
        if mark in shape.texts:
            at = list(shape.texts).index(mark)
            return shape.table.values[at], shape.table.flags[at] if shape.table.flags else ""
    return mark, ""


@dataclass(frozen=True)
class _After:
    """A cell after the plan: its interval, the cells before that it is the sum of, and where they differ."""

    low: int
    high: int
    members: tuple[int, ...]
    attribute: str = ""


@dataclass(frozen=True, eq=False)
class _Area:
    """One area before and after."""

    planned: Release
    after: Mapping[int, _After]
    moves: Sequence[Move]

    @cached_property
    def positions(self) -> Mapping[tuple[str, str], int]:
        """Table and cell → its place in the release before."""
        return {pair: at for at, pair in enumerate(self.planned.layout.names)}

    def form(self, table: str) -> Merge | None:
        """How the table is merged here."""
        found = (move for move in self.moves if isinstance(move, Merge) and move.table == table)
        return next(found, None)

    def rounding(self, table: str) -> Rounding | None:
        """How the table is rounded here; None if it is not."""
        found = (move.rounding for move in self.moves if isinstance(move, Round) and move.table == table)
        return next(found, None)


def _areas(found: Sequence[PlanResult]) -> dict[str, _Area]:
    return {
        planned.area: _Area(planned, _matched(planned, release, moves), moves)
        for result in found
        for moves in [[step.move for step in result.summary.steps]]
        for planned, release in zip(result.planned, result.releases, strict=True)
    }


def _matched(planned: Release, release: Release, moves: Sequence[Move]) -> dict[int, _After]:
    """For each cell before the cell that it is in after; those that are gone are left out."""
    before, after = starts_of(planned.layout), starts_of(release.layout)
    tables = {table.name: table for table in release.tables}
    merges = {move.table: move for move in moves if isinstance(move, Merge)}
    found: dict[int, _After] = {}
    for table in planned.tables:
        if table.name not in tables:
            continue
        cells = tables[table.name].cells
        own: Sequence[tuple[int, ...]] = [(at,) for at in range(len(table.cells))]
        attribute = ""
        if [cell.name for cell in cells] != [cell.name for cell in table.cells]:
            move = merges[table.name]
            own, attribute = merged_cells(planned.layout, table.name, move), move.attribute
        start, first = after[table.name], before[table.name]
        for at, (_, members) in enumerate(zip(cells, own, strict=True), start):
            whole = tuple(first + member for member in members)
            ends = int(release.low[at]), int(release.high[at])
            found.update(dict.fromkeys(whole, _After(*ends, whole, attribute if len(whole) > 1 else "")))
    return found


def hand_back(
    shapes: Sequence[PrintedShape], notations: Mapping[str, Notation], found: ProtectedAreas
) -> tuple[list[HandedBack], list[str]]:
    """The tables as printed before and after a plan, and what their publisher should know about them.

    ``notations`` says how values of the tables are written. Areas that were not protected are left out.
    """
    mark = suppression_mark(shapes, notations)
    areas = _areas(found.results)
    made, notes = list[HandedBack](), list[str]()
    for shape in shapes:
        notation = notations.get(shape.name, Notation())
        mine = [areas[name] for name in dict.fromkeys(shape.areas) if name in areas]
        forms = list(dict.fromkeys(area.form(shape.name) for area in mine))
        several_forms = 0
        for form in forms:
            names = {area.planned.area for area in mine if area.form(shape.name) == form}
            done = _Filling(shape, notation, mark, {name: areas[name] for name in names}).done()
            if done is None:
                notes.append(f"table {shape.name} is not handed back: no count of it is left")
                continue
            several_forms += 1
            name = done.after.name if several_forms == 1 else f"{done.after.name} ({several_forms})"
            kept, said = _without_counts(replace(done.after, name=name), done)
            made.append(replace(done, after=kept))
            notes += said
    return made, notes


@dataclass(frozen=True, eq=False)
class _Filling:
    """A shape on its way to a table with the values after a plan, for areas where it has one form."""

    shape: PrintedShape
    notation: Notation
    mark: Mark
    areas: Mapping[str, _Area]

    def done(self) -> HandedBack | None:
        """The table before and after; None if no count is left."""
        cells = list(self._cells())
        if not any(value[:1].isdigit() for _, (value, _), _ in cells):
            return None
        merged = list(dict.fromkeys(key for keys, _, _ in cells for key in keys if isinstance(key[1], tuple)))
        dimensions, places = self._dimensions(merged, {key for keys, _, _ in cells for key in keys})
        table = self.shape.table
        after = replace(
            table,
            dimensions=dimensions,
            codes=np.array([[places[key] for key in keys] for keys, _, _ in cells], np.int32).reshape(
                len(cells), len(dimensions)
            ),
            values=[value for _, (value, _), _ in cells],
            flags=[flag for _, (_, flag), _ in cells] if any(flag for _, (_, flag), _ in cells) else (),
            rows=(),
            columns=(),
            remarks=(),
            notes=(*table.notes, *self._said()),
        )
        states = tuple(state for _, _, state in cells)
        before, changed = self._before()
        return HandedBack(before, after, changed, states, self.mark, self.shape.format)

    def _before(self) -> tuple[PrintedTable, tuple[str, ...]]:
        """The cells that were printed, of these areas, as they were, and which of them changed."""
        shape, table = self.shape, self.shape.table
        kept = [at for at in range(shape.n_printed) if shape.areas[at] in self.areas]
        values, flags = list(table.values), list(table.flags or [""] * len(table.values))
        if not shape.format:
            values = [self._planned_text(at) for at in range(shape.n_cells)]
        before = replace(
            table,
            codes=table.codes[kept],
            values=[values[at] for at in kept],
            flags=[flags[at] for at in kept] if any(flags) else (),
            rows=(),
            columns=(),
        )
        return before, tuple("changed" if self._is_changed(at) else "" for at in kept)

    def _is_changed(self, at: int) -> bool:
        area = self.areas[self.shape.areas[at]]
        position = area.positions.get((self.shape.name, self.shape.cells[at]))
        after = None if position is None else area.after.get(position)
        if position is None or after is None or len(after.members) > 1:
            return True
        return (after.low, after.high) != (area.planned.low[position], area.planned.high[position])

    def _planned_text(self, at: int) -> str:
        area = self.areas.get(self.shape.areas[at])
        if area is None:
            return ""
        where = area.positions[self.shape.name, self.shape.cells[at]]
        return _interval_text((int(area.planned.low[where]), int(area.planned.high[where]))) or self.mark[0]

    def _cells(self) -> Iterator[tuple[tuple[Key, ...], Mark, str]]:
        """The cells after: their categories, what is printed, and what was done."""
        shape, meant = self.shape, self._meant()
        seen = set[tuple[Key, ...]]()
        alike = len({area.rounding(shape.name) for area in self.areas.values()}) == 1
        for at, (name, cell) in enumerate(zip(shape.areas, shape.cells, strict=True)):
            area = self.areas.get(name)
            position = None if area is None else area.positions.get((shape.name, cell))
            if area is None or position is None or position not in area.after:
                continue
            after = area.after[position]
            keys = self._keys(at, after, area)
            if keys in seen:
                continue
            seen.add(keys)
            planned = int(area.planned.low[position]), int(area.planned.high[position])
            text, state = self._printed(
                at, after, planned, meant[at], area.rounding(shape.name) if alike else None
            )
            if at < shape.n_printed or state:
                yield keys, text, state

    def _meant(self) -> list[Interval | None]:
        """The interval that the text of each cell stands for; None where nothing was printed."""
        shown = [at for at, text in enumerate(self.shape.texts) if text]
        low, high = parse_values(
            pa.array([self.shape.texts[at] for at in shown], pa.string()), self.notation, file=None
        )
        ends: list[Interval | None] = [None] * self.shape.n_cells
        for at, *both in zip(shown, low.tolist(), high.tolist(), strict=True):
            ends[at] = both[0], both[1]
        return ends

    def _keys(self, at: int, after: _After, area: _Area) -> tuple[Key, ...]:
        """The category of each dimension: its position, or the positions of those that are merged."""
        codes = self.shape.table.codes[at].tolist()
        keys: list[Key] = list(enumerate(codes))
        if after.attribute:
            where = self.shape.attributes.index(after.attribute)
            keys[where] = where, self._merged_codes(at, where, after, area)
        return tuple(keys)

    def _merged_codes(self, at: int, where: int, after: _After, area: _Area) -> tuple[int, ...]:
        mine = self._index[self.shape.areas[at]]
        names = [area.planned.layout.names[member][1] for member in after.members]
        return tuple(sorted({code for name in names for code in mine.get((name, where), ())}))

    @cached_property
    def _index(self) -> Mapping[str, Mapping[tuple[str, int], set[int]]]:
        """Area → cell and dimension → positions of categories."""
        found: dict[str, dict[tuple[str, int], set[int]]] = {}
        codes = self.shape.table.codes.tolist()
        for area, cell, row in zip(self.shape.areas, self.shape.cells, codes, strict=True):
            for where, code in enumerate(row):
                found.setdefault(area, {}).setdefault((cell, where), set()).add(code)
        return found

    def _printed(
        self, at: int, after: _After, planned: Interval, meant: Interval | None, rounding: Rounding | None
    ) -> tuple[Mark, str]:
        """What is printed in a cell, and what was done."""
        shape, table, ends = self.shape, self.shape.table, (after.low, after.high)
        unchanged = len(after.members) == 1 and ends == planned
        if unchanged and shape.format and (meant == ends or (meant is None and ends == (0, UNBOUNDED))):
            return (table.values[at], table.flags[at] if table.flags else ""), ""
        state = "" if unchanged else "merged" if len(after.members) > 1 else "suppressed"
        if rounding and not unchanged and (value := rounding.value(*ends)) is not None:
            return (str(value), ""), "rounded"
        if not unchanged and state != "merged" and rounding and ends != (0, UNBOUNDED):
            state = "rounded"
        declared = (mark for mark, one in self.notation.suppressed.items() if one == ends and mark)
        text = _interval_text(ends)
        if text is None:
            return self.mark, state
        if after.low != after.high and (mark := next(declared, None)) is not None:
            return _as_printed(mark, [shape]), state
        return (text, ""), state

    def _dimensions(
        self, merged: Sequence[Key], used: set[Key]
    ) -> tuple[tuple[Dimension, ...], dict[Key, int]]:
        """The dimensions with merged categories, each where the first that it consists of stood."""
        dimensions, places = list[Dimension](), dict[Key, int]()
        before = self.shape.table.codes
        for at, dimension in enumerate(self.shape.table.dimensions):
            had = set(before[:, at].tolist())
            keys: list[Key] = [(at, k) for k in range(len(dimension.categories))]
            keys += [key for key in merged if key[0] == at]
            kept = [key for key in keys if key in used or (isinstance(key[1], int) and key[1] not in had)]
            kept.sort(key=lambda key: (key[1], 1) if isinstance(key[1], int) else (key[1][0], 0))
            made = [_category(dimension, key[1]) for key in kept]
            codes = {one.code for one in made}
            categories = tuple(one if one.parent in codes else replace(one, parent=None) for one in made)
            dimensions.append(replace(dimension, categories=categories))
            places.update({key: number for number, key in enumerate(kept)})
        return tuple(dimensions), places

    def _said(self) -> Iterator[str]:
        """What readers of the table should know."""
        found = {area.rounding(self.shape.name) for area in self.areas.values()}
        if len(found) == 1 and (rounding := found.pop()):
            yield f"Counts are rounded to multiples of {rounding.base}."


def _category(dimension: Dimension, which: int | tuple[int, ...]) -> Category:
    """A category, or what several of them are merged into."""
    if isinstance(which, int):
        return dimension.categories[which]
    parts = [dimension.categories[at] for at in which]
    parents = {one.parent for one in parts}
    label = joined_label([one.label or one.code for one in parts])
    coded = any(one.label for one in parts)
    code = "_".join(one.code for one in parts) if coded else label
    return Category(code, label if coded else "", parents.pop() if len(parents) == 1 else None)


def _interval_text(ends: Interval) -> str | None:
    """How an interval is printed; None if any count is possible.

    >>> [_interval_text(ends) for ends in ((3, 3), (0, 4), (5, UNBOUNDED), (2, 4), (0, UNBOUNDED))]
    ['3', '<5', '>=5', '2-4', None]
    """
    low, high = ends
    if low == high:
        return str(low)
    if high >= UNBOUNDED:
        return f">={low}" if low else None
    return f"{low}-{high}" if low else f"<{high + 1}"


def _without_counts(table: PrintedTable, done: HandedBack) -> tuple[PrintedTable, list[str]]:
    """The table without notes that have the number of a suppressed cell, and what was left out."""
    hidden = _hidden_numbers(done)
    told = [note for note in table.notes if hidden & _numbers(_bare(note))]
    said = [
        f"table {table.name}: the note {note!r} is left out, because it has a number that is suppressed"
        for note in told
    ]
    if hidden & _numbers(table.title):
        said.append(f"table {table.name}: its title has a number that is suppressed: check what it tells")
    return replace(table, notes=tuple(note for note in table.notes if note not in told)), said


def _hidden_numbers(done: HandedBack) -> set[str]:
    """The numbers that are printed less often than before."""
    before, after = (
        Counter(digits for text in one.values for digits in _numbers(text))
        for one in (done.before, done.after)
    )
    return set(before - after)


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"[0-9]+", re.sub(r"(?<=[0-9])[,.'  ](?=[0-9]{3})", "", text)))


def _bare(note: str) -> str:
    """A note without the marker that it begins with."""
    return re.sub(r"^\W*[0-9]{1,2}\W+", "", note)
