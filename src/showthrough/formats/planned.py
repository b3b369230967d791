"""Planned tables: microdata, and the tables to be counted over them, area by area where needed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

from showthrough.engine.engine import Engine, check_engine
from showthrough.errors import InputError, RecordsError, check_each, check_type, closest
from showthrough.formats.declared import (
    area_columns,
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
from showthrough.formats.records_file import MOST_COLUMNS, RecordStream, open_records, read_records
from showthrough.formats.subject import Subject, SubjectRows
from showthrough.formula import formula_attributes, stars_missing
from showthrough.frames import Source
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.records import Records
from showthrough.release import Layout, Table, make_table
from showthrough.schema import Schema
from showthrough.tables.run.batch import Input
from showthrough.tally import only_selection

if TYPE_CHECKING:
    from showthrough.formats.nested import RecordNests

__all__ = [
    "PlannedAreas",
    "left_out_note",
    "planned_subject",
    "read_areas",
]


@dataclass(frozen=True, eq=False)
class PlannedAreas:
    """Areas whose tables are yet to be counted, for :func:`run_audit`; :func:`read_areas` makes them.

    Parameters
    ----------
    subject
        What was read.
    """

    subject: Subject

    def __post_init__(self) -> None:
        check_type(self.subject, Subject, name="subject", remedy="use read_areas")

    @property
    def layout(self) -> Layout:
        """The tables to count, and the schema of the records."""
        return self.subject.layout

    @property
    def n_areas(self) -> int:
        """How many areas there are."""
        return self.subject.n_areas

    @property
    def notes(self) -> tuple[str, ...]:
        """How the records were read."""
        return self.subject.notes

    def __repr__(self) -> str:
        return f"PlannedAreas: {self.n_areas:,} areas, {self.layout!r}"

    def __call__(self, scratch: Path) -> Iterator[Input]:
        """The areas in order; what does not fit in memory while they are sorted goes to ``scratch``."""
        return self.subject.stream(scratch)

    def in_pieces(self) -> SubjectRows | None:
        """The areas for a cluster that reads the records itself; None if they are not in pieces."""
        return self.subject.in_pieces()


def read_areas(
    source: object,
    *tables: str,
    by: str | None = None,
    schema: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
    totals: bool = False,
    records: bool = False,
    engine: Engine | None = None,
) -> PlannedAreas:
    """Plan tables of microdata, area by area, for a run; the records need not fit in memory.

    Parameters
    ----------
    source
        A path, an Arrow table, or a pandas, polars or Spark data frame. Of Spark's, no row passes through
        the driver's memory but as part of an area.
    tables
        Formulas such as ``"age*sex"``.
    by
        The column that names the area; without it there is one area, which is read whole.
    schema
        The path of a schema file; without one the schema is inferred from the values.
    columns
        The columns to infer a schema from; those of the tables if none are given.
    totals
        Whether the totals of tables are published too.
    records
        Every row is a record, even if the file looks like published counts.
    engine
        A cluster whose tasks look through the records, if these are in several pieces: Parquet files with
        several row groups, several files, or a data frame of Spark. Otherwise it is done here.

    Returns
    -------
    PlannedAreas
        The areas, with their layout.

    Raises
    ------
    InputError
        If the records cannot be read, or a table names an unknown column.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import showthrough as st
    >>> people = pa.table({"town": ["A", "A", "B"], "sex": ["f", "m", "f"], "ill": ["no", "yes", "no"]})
    >>> areas = st.read_areas(people, "sex", "ill", by="town")
    >>> areas
    PlannedAreas: 2 areas, Layout: 4 cells in 2 tables (sex, ill)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     st.run_audit(areas, areas.layout, f"{folder}/run").summary.areas
    2
    """
    check_each(tables, str, name="tables", remedy='write "age*sex"')
    check_type(by, (str, NoneType), name="by", remedy="name the column of areas")
    check_type(schema, (str, os.PathLike, NoneType), name="schema", remedy="give the path of a schema file")
    check_engine(engine, workers=1)
    opened = Source.of(source)
    refuse_counts(opened, records=records)
    found = planned_subject(
        opened,
        tables,
        (),
        totals=totals,
        schema=None if schema is None else Path(schema),
        columns=columns,
        by=by,
        tolerant=False,
        engine=engine,
    )
    return PlannedAreas(found)


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
    engine: object = None,
) -> Subject:
    """Microdata, and the tables to be counted over them."""
    declared = declared_schema(releases, schema)
    if declared is not None and columns:
        raise InputError(
            "both a schema and --columns are given",
            found=", ".join(columns),
            remedy="leave out --columns: the schema names the columns",
        )
    within, area = (None, None) if by else area_columns(releases)
    _refuse_one_level(by, releases)
    by = by or area
    if declared is not None and not has_finest(declared, data.names):
        declared = used_levels([Layout(declared, _planned(declared, formulas, releases, totals=totals))])
    wanted = None if declared else _wanted(data, formulas, releases, columns=columns, by=by)
    _check_columns(data, within, by if within else None)
    if by is not None and (tolerant is not None or within is not None):
        records = open_records(
            data,
            declared,
            by=by,
            columns=wanted,
            tolerant=bool(tolerant),
            within=within,
            records=True,
            engine=engine,
        )
    else:
        records = read_records(data, declared, by=by, columns=wanted, records=True)
    designs = [read_design(path, records.schema) for path in releases]
    layout = Layout(records.schema, _planned(records.schema, formulas, releases, totals=totals))
    notes = [*_left_out(data, wanted, {by, within}), *_unused_marks(designs)]
    if (schema_used := used_levels([layout])) != layout.schema:
        notes.append(unused_levels(layout.schema, schema_used))
        layout, records = Layout(schema_used, layout.tables), records.over(schema_used)
    files = listed(*data.contents, *described(releases, schema))
    planned = [*formulas, *_planned_formulas(releases)]
    source = _nested(records, layout, designs) if within is not None else records
    return Subject(layout, source, files, declared is None, tuple(notes), _lacks_totals(layout, planned))


def _nested(records: RecordStream | Records, layout: Layout, designs: Sequence[Design]) -> RecordNests:
    """Records whose areas are parts of larger ones; tables are published for these, or for the parts."""
    if not isinstance(records, RecordStream):
        raise AssertionError("nested areas are read one after the other")
    from showthrough.formats.nested import NestedLayout, RecordNests

    above = {name for design in designs for name in design.above}
    return RecordNests(
        records, NestedLayout.of_tables(layout, [table.name in above for table in layout.tables])
    )


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


def _refuse_one_level(by: str | None, releases: Sequence[Path]) -> None:
    """Raise if areas are to be taken one by one, but some tables are published for larger ones only."""
    for path in releases if by else ():
        shape = release_shape(path)
        within, _ = shape.area_columns
        if within is not None and any(table.area == within for table in shape.tables):
            raise InputError(
                "--by names one column, but some tables are published for larger areas only",
                file=str(path),
                found=by,
                remedy="leave out --by: the release names both columns",
            )


def _check_columns(data: Source, *names: str | None) -> None:
    """Raise if a column that names areas is missing."""
    for name in names:
        if name is not None and name not in data.names:
            raise RecordsError(
                "no such column", file=data.name, column=name, remedy=closest(name, data.names)
            )


def _left_out(data: Source, wanted: Sequence[str] | None, places: set[str | None]) -> Iterator[str]:
    names = [] if wanted is None else [n for n in data.names if n not in wanted and n not in places]
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
