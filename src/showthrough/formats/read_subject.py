"""The subject of a command, from the files and options that a user gives.

Microdata with planned tables, counts that a release file describes, tables as an office prints them, or a
folder of results; and after earlier releases, new tables together with those that are out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from showthrough.errors import InputError, ReleaseError, RunError, closest
from showthrough.formats.counts_file import open_counts, read_counts
from showthrough.formats.declared import described, listed, over_used_levels
from showthrough.formats.design import Design, combine_designs, read_design
from showthrough.formats.printed.office import printed_files
from showthrough.formats.read_tables import read_decided
from showthrough.formats.records_file import RecordStream
from showthrough.formats.schema_file import read_schema, schema_to_toml
from showthrough.formats.subject import Subject
from showthrough.frames import Content, Source
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.records import Records
from showthrough.release import Release
from showthrough.releases import Releases, combine_releases
from showthrough.schema import Schema
from showthrough.scratch import private_scratch
from showthrough.tables.earlier import EarlierRun, Following, open_earlier, unite_schemas
from showthrough.tables.run.batch import Area, Broken, Input
from showthrough.tables.run.inputs import Nested
from showthrough.tables.run.read import AuditRun

__all__ = [
    "SubjectAfter",
    "printed_subject",
    "published_subject",
    "read_following",
    "read_subject",
]


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
    described = bool(tables or releases)
    if data is not None and data.is_dir() and (found := _from_folder(data, described=described)) is not None:
        if isinstance(found, Subject):
            _refuse_options(data, counts or schema or columns or by or described)
            return found
        data = found
    if data is not None and data.suffix.lower() == ".toml":
        data, releases, described = None, (data, *releases), True
    if data is not None and counts is not None:
        raise InputError(
            "both data and --counts are given",
            file=str(data),
            found=str(counts),
            remedy="give microdata, or counts with --counts",
        )
    if data is not None and not (described or schema or columns or records):
        from showthrough.formats.printed.office import is_printed

        if is_printed(data):
            return printed_subject(data, by, protected=protected)
    _check_tables(data, tables, releases, totals=totals)
    opened = None if data is None else Source.of(data)
    if opened is not None and (tables or _is_microdata(opened, releases, schema)):
        from showthrough.formats.planned import planned_subject

        refuse_counts(opened, records=records)
        return planned_subject(
            opened,
            tables,
            releases,
            totals=totals,
            schema=schema,
            columns=columns,
            by=by,
            tolerant=tolerant,
        )

    return published_subject(counts or opened, releases, schema=schema, by=by, tolerant=tolerant)


def _is_microdata(data: Source, releases: Sequence[Path], schema: Path | None) -> bool:
    from showthrough.formats.declared import is_microdata

    return is_microdata(data, releases, schema)


def _check_tables(
    data: Path | None, tables: Sequence[str], releases: Sequence[Path], *, totals: bool
) -> None:
    """Raise unless tables are named, and there is something to count those of formulas over."""
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


def _from_folder(folder: Path, *, described: bool) -> Subject | Path | None:
    """A run as a subject, the release file of an import, or nothing: the folder is a table in parts."""
    from showthrough.formats.import_folder import is_import

    if is_import(folder):
        return folder / "release.toml"
    return _from_run(folder) if _is_result(folder) or not described else None


def _refuse_options(folder: Path, given: object) -> None:
    if given:
        raise InputError(
            "a run folder holds its own tables, schema and counts",
            file=str(folder),
            remedy="give the folder without these options",
        )


def _is_result(folder: Path) -> bool:
    """Whether a folder is a finished or an unfinished run, rather than a table in parts."""
    return (folder / "run.json").exists() or (folder / ".partial").exists()


def _from_run(folder: Path) -> Subject:
    run = AuditRun.open(folder)
    layout = run.layout
    try:
        if run.is_nested:
            return _from_nested_run(run)
        rows = run.table("counts").to_pylist()
        releases = [Release(layout, row["low"], row["high"], row["area"]) for row in rows]
        return Subject(layout, Releases.of(releases))
    except RunError:
        raise
    except (OSError, pa.ArrowException, ValueError, TypeError, LookupError, InputError) as error:
        raise RunError("the counts of the run cannot be read", file=str(folder), found=str(error)) from None


def _from_nested_run(run: AuditRun) -> Subject:
    """The areas of a run about nested ones, each with its parts."""
    from showthrough.formats.nested import Nests
    from showthrough.tables.linked.nest import Nest

    layout = run.layout
    counts = {row["area"]: row for row in run.table("counts").to_pylist()}
    nests: list[Nest] = []
    for whole in run.table("wholes").to_pylist():
        rows = [whole, *(counts[name] for name in whole["parts"])]
        above, *parts = (Release(layout, row["low"], row["high"], row["area"]) for row in rows)
        nests.append(Nest(above, tuple(parts)))
    return Subject(layout, Nests(layout, tuple(nests)))


def published_subject(
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
    several, read, files = list[Releases](), list[Content](), described(releases, schema)
    for design in designs:
        if counts is None and design.counts is None:
            raise ReleaseError(
                "the release has no counts",
                file=design.file,
                remedy='add counts = "counts.csv" to the file, or give a counts file',
            )
        opened = Source.of(counts if counts is not None else design.counts, error=ReleaseError)
        read += opened.contents
        if design.within is not None and by is None:
            return _nested(opened, design, designs, listed(*files, *read))
        if tolerant is not None and len(designs) == 1:
            stream = open_counts(opened, design, by=by, tolerant=tolerant)
            if stream is not None:
                return Subject(design.layout, stream, listed(*files, *read), notes=design.notes)
        several.append(read_counts(opened, design, by=by))
    source = several[0] if len(several) == 1 else combine_releases(several)
    notes = dict.fromkeys(note for design in designs for note in design.notes)
    return Subject(source.layout, source, listed(*files, *read), notes=tuple(notes))


def _nested(opened: Source, design: Design, designs: Sequence[Design], files: tuple[Content, ...]) -> Subject:
    """Counts of areas and of their parts."""
    from showthrough.formats.nested import read_nests

    if len(designs) > 1:
        raise ReleaseError(
            "nested areas of several releases cannot be combined",
            file=design.file,
            remedy="put all tables into one release file",
        )
    found = read_nests(opened, design)
    return Subject(found.layout, found, files, notes=design.notes)


def printed_subject(data: Path, by: str | None, *, protected: bool) -> Subject:
    """Published tables in which nothing is to be decided."""
    found = read_decided(data, by=by, protected=protected)
    notes = (found.summary(str(data)), *found.notes)
    files = listed(*printed_files(data))
    return Subject(found.releases.layout, found.releases, files, notes=notes, printing=found.printing)


@dataclass(frozen=True, eq=False, kw_only=True)
class SubjectAfter(Subject):
    """New tables and those that were out before, as one subject. ``new`` are the new ones alone."""

    new: Subject
    following: Following
    keep_going: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all areas, sorted."""
        with TemporaryDirectory() as scratch:
            return tuple(area.release.area for area in self._each(Path(scratch)))

    @property
    def n_areas(self) -> int:
        """How many areas there are at least: those of the new tables, or of the largest earlier run."""
        return max(self.new.n_areas, *(one.run.summary.areas for one in self.following.earlier))

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The areas in order, each with its new tables and its earlier ones."""
        yield from self.following.areas(self.new.stream(scratch), keep_going=self.keep_going)

    def areas(self, only: str | None = None) -> Iterator[Area]:
        """The areas in order; or one of them."""
        found = False
        with private_scratch() as scratch:
            for area in self._each(scratch):
                if only in (None, area.release.area):
                    found = True
                    yield area
        if not found and only is not None:
            raise InputError("unknown area", found=only, remedy=closest(only, self.names))

    def _each(self, scratch: Path) -> Iterator[Area]:
        for found in self.stream(scratch):
            if not isinstance(found, Area):
                why = "the areas lie within larger ones" if isinstance(found, Nested) else "not counted"
                raise InputError(found.why if isinstance(found, Broken) else why)
            yield found

    def inputs(self) -> dict[str, str]:
        """The files' names with their hashes; of earlier runs, their ``run.json``."""
        return {**self.new.inputs(), **self.following.inputs()}


def read_following(
    read: Callable[[Path | None], Subject], folders: Sequence[Path], *, keep_going: bool = False
) -> SubjectAfter:
    """The new tables after the runs in some folders.

    ``read`` reads the new tables, with the schema file that it is given.
    """
    earlier, notes = open_earlier(folders)
    subject = read(None)
    schema = _schema_of(subject, earlier)
    if subject.inferred and schema != subject.layout.schema:
        subject = _with_schema(subject, read, schema)
    following = Following.of(subject.layout, earlier, schema)
    if _has_records(subject) and subject.layout.schema != schema:
        extra = [name for name in schema.names if name not in subject.layout.schema.names]
        notes.append(
            "the records are used to count the new tables only: they lack "
            f"{', '.join(extra) or 'the schema'} of the earlier tables"
        )
    return SubjectAfter(
        following.layout,
        subject.source,
        subject.files,
        subject.inferred,
        (*subject.notes, *notes),
        subject.lacks_totals,
        subject.printing,
        new=subject,
        following=following,
        keep_going=keep_going,
    )


def _schema_of(subject: Subject, earlier: Sequence[EarlierRun]) -> Schema:
    schema = subject.layout.schema
    for one in earlier:
        other = one.run.layout.schema
        schema = unite_schemas(schema, other, inferred=subject.inferred, file=str(one.run.folder))
    return schema


def _has_records(subject: Subject) -> bool:
    return isinstance(subject.source, Records | RecordStream)


def _with_schema(subject: Subject, read: Callable[[Path | None], Subject], schema: Schema) -> Subject:
    """The subject read once more over the schema of all tables, if the data have all its columns."""
    with TemporaryDirectory() as place:
        path = Path(place) / "schema.toml"
        path.write_text(schema_to_toml(schema), "utf-8")
        try:
            again = read(path)
        except InputError:
            return subject
    if again.layout.schema != schema:
        return subject
    files = tuple(content for content in again.files if content.path != path)
    notes = tuple(note for note in subject.notes if "in no table" not in note)
    return Subject(again.layout, again.source, files, subject.inferred, notes, again.lacks_totals)
