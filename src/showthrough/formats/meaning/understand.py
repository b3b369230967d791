"""From printed tables to a release: areas, attributes, totals, marks and rounding, and what was decided.

Nothing is guessed that would let a false claim be proved. A mark whose meaning nobody declared is a count
of 0 or more; categories that may overlap are not taken for parts of one attribute; counts that look
rounded are taken as rounded. Each such decision is a sentence, and where it matters a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from showthrough.errors import ReleaseError, closest
from showthrough.formats.design import Design
from showthrough.formats.meaning.additivity import (
    MOST,
    SameRecords,
    TotalAndParts,
    check_totals,
    compare_tables,
)
from showthrough.formats.meaning.areas import AreaColumns, find_areas
from showthrough.formats.meaning.bounds import ReadTable, find_marks, open_marks, read_values
from showthrough.formats.meaning.categories import (
    Meaning,
    Member,
    ReadAttribute,
    find_attributes,
    find_totals,
    texts_of,
)
from showthrough.formats.meaning.lay_out import Entries, LaidTable
from showthrough.formats.meaning.pick import pick_tables
from showthrough.formats.meaning.shapes import PrintedShape
from showthrough.formats.meaning.understood import Corrections, MarkMeaning, Understood, UnderstoodTable
from showthrough.formats.printed.table import Dimension, PrintedTable
from showthrough.formats.printed.values import printed_place
from showthrough.frames.marks import MEASURE_NAMES, plain_name
from showthrough.notation import Notation, parse_value
from showthrough.release import Layout
from showthrough.schema import Attribute, Schema
from showthrough.selection import Selection
from showthrough.text import several

__all__ = [
    "understand",
]


def understand(tables: Iterable[PrintedTable], corrections: Corrections | None = None) -> Understood:
    """Make one release of printed tables.

    Parameters
    ----------
    tables
        The tables, as a reader of office files returns them.
    corrections
        What only people know about them.

    Returns
    -------
    Understood
        The release, and what was decided.

    Raises
    ------
    ReleaseError
        If there are no tables, a value is no count, or a cell occurs twice; the message names file, row
        and column.

    Examples
    --------
    >>> import numpy as np
    >>> from showthrough.formats.printed.table import Category, Dimension
    >>> sexes = Dimension("sex", (Category("f"), Category("m"), Category("Total")))
    >>> printed = PrintedTable("people", (sexes,), np.array([[0], [1], [2]], np.int32), ["3", "c", "7"])
    >>> found = understand([printed], Corrections(mark={"c": "1-4"}))
    >>> [f"{cell.name}: {cell.value()}" for cell in found.releases[""].cells]
    ['sex=f: 3', 'sex=m: 1-4', 'total: 7']
    """
    given = corrections or Corrections()
    picked, notes = pick_tables(
        tables, sheet=given.sheet, only=given.only, drop=given.drop, totals=given.total
    )
    read, asked = read_values(picked, given)
    bounds = [(one.low, one.high) for one in read]
    areas, said = find_areas(picked, bounds, asked=given.area, totals=given.total)
    notes += said
    members = [
        Member(number, at, dimension, find_totals(dimension, given.total))
        for number, table in enumerate(picked)
        for at, dimension in enumerate(table.dimensions)
        if at not in areas.of[number]
    ]
    names = [one.name for one in read]
    attributes, apart = find_attributes(members, names=names, rest=given.rest, same=given.same)
    _check_named(given, attributes)
    _widen_totals(attributes, read)
    marks = find_marks(read, given)
    notes += [*_said_of(attributes), *_said_of_flags(read)]
    notes += [f"{table.name}: {remark}" for table in picked for remark in table.remarks]
    asked += [f"{table.name}: {question}" for table in picked for question in table.questions]
    return _assembled(read, attributes, areas, given, marks=marks, notes=notes, questions=[*asked, *apart])


def _assembled(
    read: Sequence[ReadTable],
    attributes: Sequence[ReadAttribute],
    areas: AreaColumns,
    given: Corrections,
    *,
    marks: tuple[MarkMeaning, ...],
    notes: list[str],
    questions: list[str],
) -> Understood:
    kept = [one for one in attributes if not one.is_constant]
    if not kept:
        raise ReleaseError(
            "there is nothing to audit: no dimension but the area has several categories",
            file=read[0].table.file or None,
            remedy="take the area as an attribute: --area none",
        )
    schema = Schema(tuple(Attribute(one.name, one.values, one.label) for one in kept), record=given.record)
    laid = [
        LaidTable.of(number, one, kept, areas.of[number], given.missing) for number, one in enumerate(read)
    ]
    layout = Layout(schema, tuple(one.table for one in laid))
    entries = Entries.of(laid, areas)
    suppressed = {mark.text: parse_value(mark.meaning, Notation()) for mark in marks}
    notations = tuple(Notation(suppressed, one.rounding) for one in read)
    design = Design(layout, notations, area="area" if areas.names else None)
    described = tuple(
        _described(number, one, mine, attributes, areas.of[number])
        for number, (one, mine) in enumerate(zip(read, laid, strict=True))
    )
    compared = compare_tables(read, attributes, areas)
    if len(read) > 1:
        notes.append("all tables are taken to count the same records; choose some of them with --sheet")
    questions += [] if given.complete else _unconfirmed(described, compared)
    questions += _measures(kept)
    empty = sum(not text for one in read for text in one.values.texts)
    if empty and "" not in given.mark:
        notes.append(f"{several(empty, 'cell')} printed empty: taken as not published")
    questions += open_marks(marks)
    return Understood(
        design,
        entries.table(layout, with_area=bool(areas.names)),
        entries.releases(layout),
        described,
        marks,
        tuple(dict.fromkeys(notes)),
        tuple(dict.fromkeys(questions)),
        _conflicts(described, compared, entries, layout),
        tuple(_shape(number, one, kept, areas) for number, one in enumerate(laid)),
    )


def _shape(number: int, laid: LaidTable, kept: Sequence[ReadAttribute], areas: AreaColumns) -> PrintedShape:
    """Where the cells of a table stand as printed; cells that were filled in are the last ones."""
    table, names = laid.read.table, {at: one.name for one in kept for of, at in one.meanings if of == number}
    more = [""] * (len(laid.cells) - len(table.values))
    whole = replace(
        table,
        codes=laid.codes,
        values=[*table.values, *more],
        flags=[*table.flags, *more] if table.flags else (),
        rows=(),
        columns=(),
    )
    return PrintedShape(
        whole,
        laid.read.name,
        tuple(names.get(at, "") for at in range(len(table.dimensions))),
        tuple(areas.of[number]),
        areas.labels(number, laid.area_codes),
        [laid.table.cells[at].name for at in laid.cells.tolist()],
        laid.texts,
        len(table.values),
        table.format,
    )


def _unconfirmed(tables: Sequence[UnderstoodTable], compared: SameRecords) -> Iterator[str]:
    """What is assumed about who is counted, and no count confirms."""
    for table in tables:
        for name in table.assumed:
            yield (
                f"it is assumed that the categories of {name} add up to their total in table "
                f"{table.name}: too few rows show it; if some records are in none of them: --rest "
                f'"{name}"; if not: --complete'
            )
    for name in compared.unsure:
        yield (
            f"it is assumed that table {name} counts the same records as the others: no total shows "
            "it; if its categories leave some out, name the dimension: --rest COLUMN; if not: "
            "--complete; if it is about other records, choose tables with --sheet"
        )


def _conflicts(
    tables: Sequence[UnderstoodTable], compared: SameRecords, entries: Entries, layout: Layout
) -> tuple[str, ...]:
    inside = [text for table in tables for text in table.conflicts]
    return (*inside, *compared.conflicts, *_disagreements(entries, layout))


def _measures(attributes: Sequence[ReadAttribute]) -> Iterator[str]:
    """Dimensions whose categories may be different figures about the same records."""
    for one in attributes:
        roles = {member.dimension.role for member in one.members}
        if plain_name(one.name) in MEASURE_NAMES or "metric" in roles:
            yield (
                f"{one.name} looks like a list of figures: if a record can be in several of its categories, "
                f'claims would be false; take one of them: --only "{one.name}={one.values[0]}"'
            )


def _disagreements(entries: Entries, layout: Layout) -> Iterator[str]:
    """Cells that count the same records in two tables, with counts that cannot both be true."""
    same: dict[Selection, int] = {}
    kind = np.array([same.setdefault(one, len(same)) for one in layout.selections], np.int64)
    keys = entries.codes * len(same) + kind[entries.cells]
    order = np.argsort(keys, kind="stable")
    first = order[np.searchsorted(keys[order], keys)]
    wrong = np.flatnonzero((entries.low > entries.high[first]) | (entries.high < entries.low[first]))
    for at in wrong[:MOST].tolist():
        one, other = (layout.names[int(entries.cells[place])] for place in (first[at], at))
        area = entries.areas[int(entries.codes[at])]
        before = entries.texts[int(first[at])]
        yield (
            f"{f'{area}: ' if area else ''}{one[1]} is {before} in table {one[0]}, and {entries.texts[at]} "
            f"in table {other[0]}, where it counts the same records"
        )


def _check_named(given: Corrections, attributes: Sequence[ReadAttribute]) -> None:
    """Raise if a correction names a dimension that there is not."""
    known = {plain_name(one.name) for one in attributes}
    for option in ("rest", "same"):
        for name in getattr(given, option):
            if plain_name(name) not in known:
                raise ReleaseError(
                    "no such dimension",
                    file=f"--{option}",
                    found=name,
                    remedy=closest(name, [one.name for one in attributes]),
                )


def _widen_totals(attributes: Sequence[ReadAttribute], read: Sequence[ReadTable]) -> None:
    """Let a total mean all values where it exceeds the sum of its table's own categories."""
    for attribute in attributes:
        for (number, at), known in attribute.meanings.items():
            part = any(one.is_total and len(one.values) < len(attribute.values) for one in known)
            if not part:
                continue
            one = read[number]
            alone = [known if dimension == at else None for dimension in range(len(one.table.dimensions))]
            found = check_totals(one.table, alone, one.low, one.high)
            unclear = bool(attribute.rest and found.unconfirmed)
            if unclear or any(wrong.published[0] > wrong.parts[1] for wrong in found.wrong):
                attribute.meanings[number, at] = tuple(
                    replace(one, values=attribute.values) if one.is_total else one for one in known
                )


def _said_of_flags(read: Sequence[ReadTable]) -> Iterator[str]:
    found = Counter[str]()
    for one in read:
        found.update(one.values.flags)
    for flag, number in sorted(found.items()):
        yield f"the flag {flag!r} stands beside {several(number, 'value')}: these are taken as they are"


def _said_of(attributes: Sequence[ReadAttribute]) -> Iterator[str]:
    for one in attributes:
        if one.is_constant:
            what = f"always {one.values[0]}" if one.values else "a total only"
            yield f"{one.name} is {what}: left out"
        if one.rest:
            yield f"{one.name}: the value {one.rest!r} is added, for those whom the tables do not list"
        coarse = {text.text for known in one.meanings.values() for text in known if not text.is_total}
        if added := [value for value in one.values if value not in coarse and value != one.rest]:
            shown = ", ".join(added[:6]) + (", …" if len(added) > 6 else "")
            yield f"{one.name}: categories overlap, so they are divided into common parts ({shown})"


def _described(
    number: int, read: ReadTable, laid: LaidTable, attributes: Sequence[ReadAttribute], areas: Sequence[int]
) -> UnderstoodTable:
    mine = {at: one for one in attributes for table, at in one.meanings if table == number}
    meanings = [
        mine[at].meanings[number, at] if at in mine else _of_areas(dimension, at in areas)
        for at, dimension in enumerate(read.table.dimensions)
    ]
    checked = check_totals(read.table, meanings, read.low, read.high)
    names = [mine[at].name if at in mine else one.name for at, one in enumerate(read.table.dimensions)]
    conflicts = [_sentence(read, one, names[one.dimension], meanings[one.dimension]) for one in checked.wrong]
    assumed = [mine[at].name for at in checked.unconfirmed if at in mine]
    shown = {mine[at].name: mine[at].meanings[number, at] for at in sorted(mine) if not mine[at].is_constant}
    published = sum(bool(text) for text in laid.texts)
    return UnderstoodTable(
        read.name,
        read.table.title,
        shown,
        len(laid.table.cells),
        published,
        tuple(conflicts),
        read.rounding,
        tuple(assumed),
    )


def _of_areas(dimension: Dimension, is_area: bool) -> tuple[Meaning, ...] | None:
    """What areas and their total are sums of; None where some areas may contain others."""
    totals, texts = find_totals(dimension), texts_of(dimension)
    if not is_area or any(one.parent for one in dimension.categories):
        return None
    every = tuple(text for text, total in zip(texts, totals, strict=True) if not total)
    return tuple(
        Meaning(text, every if total else (text,), total) for text, total in zip(texts, totals, strict=True)
    )


def _sentence(read: ReadTable, conflict: TotalAndParts, name: str, meanings: Sequence[Meaning] | None) -> str:
    place = printed_place(read.table, conflict.cell)
    where = [f"row {place['row']}"] if place["row"] else []
    where += [f"column {place['column']}"] if place["column"] else []
    category = int(read.table.codes[conflict.cell, conflict.dimension])
    text = meanings[category].text if meanings is not None else ""
    more = conflict.published[1] < conflict.parts[0]
    end = f"at least {conflict.parts[0]:,}" if more else f"at most {conflict.parts[1]:,}"
    return (
        f"{', '.join([f'table {read.name}', *where])}: {text} of {name} is "
        f"{read.values.texts[conflict.cell]}, but its parts add up to {end}"
    )
