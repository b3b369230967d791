"""The subject of a command, from the files and options that a user gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from showthrough.errors import InputError, RunError
from showthrough.formats.subject import Subject
from showthrough.frames import Source
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.release import Release
from showthrough.releases import Releases
from showthrough.tables.run.read import AuditRun

__all__ = [
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
    engine: object = None,
) -> Subject:
    """The areas and releases that files and options describe.

    ``data`` is a run folder, a release file, microdata or published counts; ``tables`` are
    formulas to tabulate over microdata. ``records`` says that rows are records even if they look like
    published counts. What is to be ``protected`` must not have marks of unknown meaning.
    With ``streaming`` areas are read when they are asked for
    (:meth:`Subject.stream`), so that any number fits; then ``keep_going`` notes those whose
    records or counts cannot be used, instead of giving up. Where ``engine`` is a cluster, its tasks look
    through large files of records.
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
        from showthrough.formats.published import printed_subject

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
            engine=engine,
        )
    from showthrough.formats.published import published_subject

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
