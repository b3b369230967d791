"""The subject of a command: areas with their releases, from the files and options that a user gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import pyarrow as pa

from showthrough.errors import InputError, RecordsError, ReleaseError, RunError, closest
from showthrough.formats.cell_names import UNKNOWN, CellNames
from showthrough.formats.counts_file import open_counts, read_counts
from showthrough.formats.design import Design, ReleaseShape, combine_designs, read_design
from showthrough.formats.import_folder import is_import
from showthrough.formats.meaning.shapes import Printing
from showthrough.formats.printed.office import is_printed, printed_files
from showthrough.formats.read_tables import read_decided
from showthrough.formats.records_file import MOST_COLUMNS, open_records, read_records
from showthrough.formats.schema_file import named_code_lists, read_schema
from showthrough.formats.toml import check_shape, read_toml
from showthrough.formats.used_levels import has_finest, over_used_levels, unused_levels, used_levels
from showthrough.formula import formula_attributes, stars_missing
from showthrough.frames import Content, Source, digests
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.records import Records, needed
from showthrough.release import Layout, Release, Table, make_table
from showthrough.releases import Releases, combine_releases
from showthrough.schema import Schema
from showthrough.scratch import private_scratch
from showthrough.tables.run.batch import Area, Broken, Input, Planned
from showthrough.tables.run.read import AuditRun

__all__ = [
    "AreaStream",
    "Subject",
    "left_out_note",
    "read_subject",
]


class AreaStream(Protocol):
    """Areas that are read when they are asked for, sorted by name."""

    @property
    def n_areas(self) -> int:
        """How many there are."""
        ...

    def areas(self, scratch: Path) -> Iterator[tuple[str, Records | Release | InputError]]:
        """Each area's name with its records or its release, or why these cannot be used.

        What does not fit in memory while it is sorted goes to the folder ``scratch``.
        """
        ...


@dataclass(frozen=True, eq=False)
class Subject:
    """Releases of some areas: read from counts, or to be tabulated over records.

    ``inferred`` says that the schema was inferred from the data; ``notes`` say how the files were
    read; ``lacks_totals`` says that tables are planned without some of their totals; ``printing``
    says how published tables are printed. Where the source is a stream, areas are read when they are
    asked for.
    """

    layout: Layout
    source: Records | Releases | AreaStream
    files: tuple[Content, ...] = ()
    inferred: bool = False
    notes: tuple[str, ...] = ()
    lacks_totals: bool = False
    printing: Printing | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The areas' names, sorted; one empty name if the area has none."""
        if not isinstance(self.source, Records | Releases):
            with TemporaryDirectory() as scratch:
                return tuple(name for name, _ in self.source.areas(Path(scratch)))
        if isinstance(self.source, Releases):
            return self.source.areas
        if self.source.areas is None:
            return ("",)
        return tuple(str(name) for name in np.unique(self.source.areas.astype(str)))

    @property
    def n_areas(self) -> int:
        """How many areas there are."""
        if not isinstance(self.source, Records | Releases):
            return self.source.n_areas
        return len(self.names)

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The areas in order for a run, which counts tables where they are yet to be counted."""
        if isinstance(self.source, Records | Releases):
            yield from self.areas()
            return
        for name, found in self.source.areas(scratch):
            if isinstance(found, Records):
                yield Planned(name, found)
            elif isinstance(found, Release):
                yield Area(found)
            else:
                yield Broken(name, str(found))

    def areas(self, only: str | None = None) -> Iterator[Area]:
        """The areas in order, each made when it is asked for; or one of them."""
        if only is not None and only not in self.names:
            raise InputError("unknown area", found=only, remedy=closest(only, self.names))
        if not isinstance(self.source, Records | Releases):
            yield from (area for area in self._streamed() if only in (None, area.release.area))
            return
        if isinstance(self.source, Releases):
            chosen = self.source if only is None else [self.source[only]]
            yield from (Area(release) for release in chosen)
            return
        for name, records in self.source.by_area():
            if only in (None, name):
                yield Area(self.layout.tabulate(records, area=name), records)

    def _streamed(self) -> Iterator[Area]:
        """The areas of a stream with their tables counted; an error at the first unusable one."""
        with private_scratch() as scratch:
            for found in self.stream(scratch):
                if isinstance(found, Planned):
                    yield Area(self.layout.tabulate(found.records, area=found.area), found.records)
                elif isinstance(found, Broken) or found.problem:
                    raise RecordsError(found.why if isinstance(found, Broken) else found.problem)
                else:
                    yield found

    def inputs(self) -> dict[str, str]:
        """The files' names with their hashes."""
        return digests(self.files)


def read_subject(
    data: Path | None,
    *,
    tables: Sequence[str] = (),
    totals: bool = False,
    releases: Sequence[Path] = (),
    counts: Path | None = None,
    schema: Path | None = None,
    columns: Sequence[str] | None = None,
    by: str | None = None,
    records: bool = False,
    protected: bool = False,
    streaming: bool = False,
    keep_going: bool = False,
) -> Subject:
    """The areas and releases that files and options describe.

    ``data`` is a run folder, a release file, microdata or published counts; ``tables`` are
    formulas to tabulate over microdata. ``records`` says that rows are records even if they look like
    published counts. What is to be ``protected`` must not have marks of unknown meaning.
    With ``streaming`` areas are read when they are asked for
    (:meth:`Subject.stream`), so that any number fits; then ``keep_going`` notes those whose
    records or counts cannot be used, instead of giving up.
    """
    tolerant = keep_going if streaming else None
    if data is not None and is_import(data):
        data = data / "release.toml"
    if data is not None and data.is_dir() and (_is_result(data) or not (tables or releases)):
        if tables or releases or counts or schema or columns or by:
            raise InputError(
                "a run folder holds its own tables, schema and counts",
                file=str(data),
                remedy="give the folder without these options",
            )
        return _from_run(data)
    if data is not None and data.suffix.lower() == ".toml":
        data, releases = None, (data, *releases)
    if data is not None and counts is not None:
        raise InputError(
            "both data and --counts are given",
            file=str(data),
            found=str(counts),
            remedy="give microdata, or counts with --counts",
        )
    if data is not None and not (tables or releases or schema or columns or records) and is_printed(data):
        return _from_printed(data, by, protected=protected)
    if not tables and not releases:
        raise InputError(
            "no tables given",
            file=None if data is None else str(data),
            remedy='give the published tables: --tables "age*sex", or --release release.toml',
        )
    if totals and not tables:
        raise InputError(
            "--totals is for the tables that --tables names",
            remedy="in a release file write totals = true in each table",
        )
    if data is None and tables:
        raise InputError(
            "no data given: these tables are counted over microdata",
            found=", ".join(tables),
            remedy='give the file: showthrough audit people.csv --tables "age*sex" …',
        )
    opened = None if data is None else Source.of(data)
    if opened is not None and (tables or _is_microdata(opened, releases, schema)):
        refuse_counts(opened, records=records)
        return _from_records(
            opened,
            tables,
            releases,
            totals=totals,
            schema=schema,
            columns=columns,
            by=by,
            tolerant=tolerant,
        )
    return _from_counts(counts or opened, releases, schema=schema, by=by, tolerant=tolerant)


def _from_printed(data: Path, by: str | None, *, protected: bool) -> Subject:
    """Published tables in which nothing is to be decided."""
    found = read_decided(data, by=by, protected=protected)
    notes = (found.summary(str(data)), *found.notes)
    files = _listed(*printed_files(data))
    return Subject(found.releases.layout, found.releases, files, notes=notes, printing=found.printing)


def _is_result(folder: Path) -> bool:
    """Whether a folder is a finished or an unfinished run, rather than a table in parts."""
    return (folder / "run.json").exists() or (folder / ".partial").exists()


def _from_run(folder: Path) -> Subject:
    run = AuditRun.open(folder)
    layout = run.layout
    try:
        rows = run.table("counts").to_pylist()
        releases = [Release(layout, row["low"], row["high"], row["area"]) for row in rows]
        return Subject(layout, Releases.of(releases))
    except RunError:
        raise
    except (OSError, pa.ArrowException, ValueError, TypeError, InputError) as error:
        raise RunError("the counts of the run cannot be read", file=str(folder), found=str(error)) from None


def _from_counts(
    counts: Path | Source | None,
    releases: Sequence[Path],
    *,
    schema: Path | None,
    by: str | None,
    tolerant: bool | None,
) -> Subject:
    """Published counts: of one file for all releases, or of each release's own."""
    given = None if schema is None else read_schema(schema)
    designs = over_used_levels([read_design(path, given) for path in releases])
    if counts is not None:
        designs = [combine_designs(designs)]
    several, read, files = list[Releases](), list[Content](), _described(releases, schema)
    for design in designs:
        if counts is None and design.counts is None:
            raise ReleaseError(
                "the release has no counts",
                file=design.file,
                remedy='add counts = "counts.csv" to the file, or give a counts file',
            )
        opened = Source.of(counts if counts is not None else design.counts, error=ReleaseError)
        read += opened.contents
        if tolerant is not None and len(designs) == 1:
            stream = open_counts(opened, design, by=by, tolerant=tolerant)
            if stream is not None:
                return Subject(design.layout, stream, _listed(*files, *read), notes=design.notes)
        several.append(read_counts(opened, design, by=by))
    source = several[0] if len(several) == 1 else combine_releases(several)
    notes = dict.fromkeys(note for design in designs for note in design.notes)
    return Subject(source.layout, source, _listed(*files, *read), notes=tuple(notes))


def _from_records(
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
    declared = _declared_schema(releases, schema)
    if declared is not None and columns:
        raise InputError(
            "both a schema and --columns are given",
            found=", ".join(columns),
            remedy="leave out --columns: the schema names the columns",
        )
    by = by or _area_column(releases)
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
    files = _listed(*data.contents, *_described(releases, schema))
    planned = [*formulas, *_planned_formulas(releases)]
    return Subject(layout, records, files, declared is None, tuple(notes), _lacks_totals(layout, planned))


def _planned(
    schema: Schema, formulas: Sequence[str], releases: Sequence[Path], *, totals: bool
) -> tuple[Table, ...]:
    """The tables to be counted."""
    designs = [read_design(path, schema) for path in releases]
    return (*_tables(designs), *(make_table(schema, formula, totals=totals) for formula in formulas))


def _planned_formulas(releases: Sequence[Path]) -> Iterator[str]:
    """The formulas of release files, of tables that count all records by single values."""
    for path in releases:
        yield from (
            one.formula for one in _shape(path).tables if one.formula and not (one.where or one.groups)
        )


def _lacks_totals(layout: Layout, formulas: Sequence[str]) -> bool:
    """Whether some margin of these formulas is in no table."""
    shown = set(map(only_selection, layout.terms))
    return any(
        cell.selection not in shown
        for formula in formulas
        for cell in make_table(layout.schema, formula, totals=True).cells
    )


def _is_microdata(data: Source, releases: Sequence[Path], schema: Path | None) -> bool:
    """Whether a file given with a release holds records rather than published counts."""
    declared = _declared_schema(releases, schema)
    if declared is None:
        return True  # counts can only be read with a schema
    names = set(data.names)
    layout = Layout(declared, _tables([read_design(path, declared) for path in releases]))
    known = CellNames(layout)
    if {"cell", "value"} <= names or any(known.find(name) != UNKNOWN for name in names):
        return False
    missing = [name for name in needed(declared, names) if name not in names]
    if missing and ("cell" in names or "value" in names):
        return False
    if missing:
        raise InputError(
            "neither published counts nor microdata: there are no columns cell and value, no column "
            f"named after a cell, and no column for the attribute {missing[0]}",
            file=data.name,
            found=", ".join(sorted(names)),
            remedy="rename the columns, or say what the file is with --counts or --tables",
        )
    return True


def _declared_schema(releases: Sequence[Path], schema: Path | None) -> Schema | None:
    if schema is not None:
        return read_schema(schema)
    for path in releases:
        shape = _shape(path)
        if shape.schema_file is not None or shape.attributes or shape.hierarchies:
            return read_design(path).layout.schema
    return None


def _shape(path: Path) -> ReleaseShape:
    plain = read_toml(path, error=ReleaseError)
    return check_shape(ReleaseShape, plain, file=str(path), error=ReleaseError)


def _described(releases: Sequence[Path], schema: Path | None) -> list[Path]:
    """The files that describe tables and attributes, code lists and perturbation tables included."""
    shapes = {path: _shape(path) for path in releases}
    lists = [f for path, shape in shapes.items() for f in (*shape.code_lists(path), *shape.ptables(path))]
    return [*releases, *([] if schema is None else [schema, *named_code_lists(schema)]), *lists]


def _area_column(releases: Sequence[Path]) -> str | None:
    return next((area for path in releases if (area := _shape(path).area)), None)


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
    used |= {name: f"{path} uses" for path in releases for name in _named_columns(_shape(path))}
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
        for conditions in (table.cells or {}).values():
            yield from conditions


def _tables(designs: Sequence[Design]) -> tuple[Table, ...]:
    return tuple(table for design in designs for table in design.layout.tables)


def _listed(*files: Path | Content | None) -> tuple[Content, ...]:
    """The files that were read, each once."""
    opened = [
        file if isinstance(file, Content) else Content(file, str(file), InputError)
        for file in files
        if file is not None
    ]
    return tuple({content.path: content for content in opened}.values())


def _left_out(data: Source, wanted: Sequence[str] | None, by: str | None) -> Iterator[str]:
    names = [] if wanted is None else [n for n in data.names if n not in wanted and n != by]
    if names:
        yield left_out_note(data.name, names)


def left_out_note(file: str | None, names: Sequence[str]) -> str:
    """That some columns of a file are in no table."""
    few = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"{file}: columns in no table are left out: {few}"


def _unused_marks(designs: Sequence[Design]) -> Iterator[str]:
    for design in designs:
        if any(n.suppressed or n.rounding or n.noise for n in design.notations):
            yield (
                f"{design.file}: counted over microdata, its tables are audited as exact counts; "
                "the suppression, rounding and noise it declares are ignored"
            )
