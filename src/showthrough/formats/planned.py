"""Planned tables: microdata, and the tables to be counted over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from showthrough.errors import InputError, RecordsError, closest
from showthrough.formats.declared import (
    area_column,
    declared_schema,
    described,
    has_finest,
    listed,
    release_shape,
    tables_of,
    unused_levels,
    used_levels,
)
from showthrough.formats.design import Design, ReleaseShape, read_design
from showthrough.formats.records_file import MOST_COLUMNS, open_records, read_records
from showthrough.formats.subject import Subject
from showthrough.formula import formula_attributes, stars_missing
from showthrough.frames import Source
from showthrough.release import Layout, Table, make_table
from showthrough.schema import Schema
from showthrough.tally import only_selection

__all__ = [
    "left_out_note",
    "planned_subject",
]


def planned_subject(
    data: Source,
    formulas: Sequence[str],
    releases: Sequence[Path],
    *,
    totals: bool,
    schema: Path | None,
    columns: Sequence[str] | None,
    by: str | None,
    tolerant: bool | None,
) -> Subject:
    """Microdata, and the tables to be counted over them."""
    declared = declared_schema(releases, schema)
    if declared is not None and columns:
        raise InputError(
            "both a schema and --columns are given",
            found=", ".join(columns),
            remedy="leave out --columns: the schema names the columns",
        )
    by = by or area_column(releases)
    if declared is not None and not has_finest(declared, data.names):
        declared = used_levels([Layout(declared, _planned(declared, formulas, releases, totals=totals))])
    wanted = None if declared else _wanted(data, formulas, releases, columns=columns, by=by)
    if tolerant is not None and by is not None:
        records = open_records(data, declared, by=by, columns=wanted, tolerant=tolerant, records=True)
    else:
        records = read_records(data, declared, by=by, columns=wanted, records=True)
    designs = [read_design(path, records.schema) for path in releases]
    layout = Layout(records.schema, _planned(records.schema, formulas, releases, totals=totals))
    notes = [*_left_out(data, wanted, by), *_unused_marks(designs)]
    if (schema_used := used_levels([layout])) != layout.schema:
        notes.append(unused_levels(layout.schema, schema_used))
        layout, records = Layout(schema_used, layout.tables), records.over(schema_used)
    files = listed(*data.contents, *described(releases, schema))
    planned = [*formulas, *_planned_formulas(releases)]
    return Subject(layout, records, files, declared is None, tuple(notes), _lacks_totals(layout, planned))


def _planned(
    schema: Schema, formulas: Sequence[str], releases: Sequence[Path], *, totals: bool
) -> tuple[Table, ...]:
    """The tables to be counted."""
    designs = [read_design(path, schema) for path in releases]
    return (*tables_of(designs), *(make_table(schema, formula, totals=totals) for formula in formulas))


def _planned_formulas(releases: Sequence[Path]) -> Iterator[str]:
    """The formulas of release files, of tables that count all records by single values."""
    for path in releases:
        yield from (
            one.formula for one in release_shape(path).tables if one.formula and not (one.where or one.groups)
        )


def _lacks_totals(layout: Layout, formulas: Sequence[str]) -> bool:
    """Whether some margin of these formulas is in no table."""
    shown = set(map(only_selection, layout.terms))
    return any(
        cell.selection not in shown
        for formula in formulas
        for cell in make_table(layout.schema, formula, totals=True).cells
    )


def _wanted(
    data: Source,
    formulas: Sequence[str],
    releases: Sequence[Path],
    *,
    columns: Sequence[str] | None,
    by: str | None,
) -> list[str]:
    """The columns that the tables (and ``columns``) name, in the file's order."""
    names = data.names
    if len(names) > MOST_COLUMNS and not columns:
        raise RecordsError(
            f"there are {len(names)} columns: choose those to use",
            file=data.name,
            remedy="list them with --columns, or in a schema with --schema",
        )
    used = {name: f"table {text} uses" for text in formulas for name in formula_attributes(text)}
    used |= {name: f"{path} uses" for path in releases for name in _named_columns(release_shape(path))}
    used |= dict.fromkeys(columns or (), "--columns names")
    for name, why in used.items():
        if name not in names:
            known = [known for known in names if known != by]
            raise RecordsError(
                f"{why} a column that the data do not have",
                file=data.name,
                column=name,
                remedy=stars_missing(name, names) or closest(name, known),
            )
    return [name for name in names if name in used]


def _named_columns(shape: ReleaseShape) -> Iterator[str]:
    for table in shape.tables:
        yield from formula_attributes(table.formula or "")
        yield from table.where
        for counted in (table.cells or {}).values():
            for conditions in [counted] if isinstance(counted, dict) else [term.where for term in counted]:
                yield from conditions


def _left_out(data: Source, wanted: Sequence[str] | None, by: str | None) -> Iterator[str]:
    names = [] if wanted is None else [n for n in data.names if n not in wanted and n != by]
    if names:
        yield left_out_note(data.name, names)


def _unused_marks(designs: Sequence[Design]) -> Iterator[str]:
    for design in designs:
        if any(n.suppressed or n.rounding or n.noise for n in design.notations):
            yield (
                f"{design.file}: counted over microdata, its tables are audited as exact counts; "
                "the suppression, rounding and noise it declares are ignored"
            )


def left_out_note(file: str | None, names: Sequence[str]) -> str:
    """That some columns of a file are in no table."""
    few = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{file}: columns in no table are left out: {few}"
