"""The commands that audit tables of counts, and infer a schema."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import AUDIT, app
from showthrough.cli.folder import page_maker, places, print_files
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    AuditOptions,
    Overwrite,
    ReadOptions,
    TableOptions,
    cores,
    listed,
    print_notes,
)
from showthrough.cli.terminal import Terminal

if TYPE_CHECKING:
    from showthrough.engine.engine import Engine
    from showthrough.folders import PageMaker
    from showthrough.formats.subject import Subject
    from showthrough.schema import Schema
    from showthrough.tables.run.batch import Settings
    from showthrough.tables.run.read import AuditRun

__all__ = [
    "audit",
    "audit_subject",
    "print_findings",
    "print_open",
    "print_run_files",
    "print_verdicts",
    "schema",
]

AUDIT_HELP = """Planned tables are counted over microdata: give DATA with --tables, or with a
--release that describes the tables. Published counts are read as they are:
give --release with a counts file.

Examples:

  showthrough audit people.csv --tables "age*sex" --tables sex --out run/
  showthrough audit --release release.toml counts.csv --by block --out run/
  showthrough audit people.csv --tables "sex*job" --after run/ --out next/

Exit codes: 0 no findings, 1 findings (with --after or --ledger: new ones;
with --no-findings: a proved claim that no cell states), 2 bad input,
3 something is undecided."""

SCHEMA_HELP = """Examples:

  showthrough schema people.csv
  showthrough schema people.csv --columns age,sex,job --by town \\
      --out schema.toml"""

FILES = {
    "findings.parquet": "what shows through, as sentences",
    "after.parquet": "which findings are new, and because of which cells",
    "claims.parquet": "every claim, its verdict and its evidence",
    "areas.parquet": "one row per area",
    "proofs/": "the proofs, and the datasets that refute",
    "schema.toml": "the schema used",
}

#: Areas that are listed at most.
MOST_AREAS = 5


@app.command(group=AUDIT, help_epilogue=AUDIT_HELP)
def audit(
    data: Annotated[Path | None, Parameter(group=INPUT, help="Microdata, or published counts.")] = None,
    *,
    source: TableOptions = TableOptions(),
    after: Annotated[
        tuple[Path, ...],
        Parameter(group=INPUT, help="A run about tables that are already published. Repeatable."),
    ] = (),
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="The run folder to write.")] = None,
    ledger: Annotated[
        Path | None,
        Parameter(
            group=OUTPUT,
            help="Instead of --out: a folder of earlier releases, to compare with and to add this one to.",
        ),
    ] = None,
    how: AuditOptions = AuditOptions(),
    absent: Annotated[
        bool, Parameter(group=SCOPE, help="Also decide which selections no record matches.")
    ] = False,
    gaps: Annotated[bool, Parameter(group=SCOPE, help="Also decide which counts are impossible.")] = False,
    keep_going: Annotated[
        bool, Parameter(group=SCOPE, help="Report areas that cannot be audited, and continue.")
    ] = False,
) -> int:
    """Decide which claims about the records follow from tables of counts."""
    settings = how.settings(keep_going=keep_going, absent=absent, gaps=gaps)
    if after or ledger is not None or out is None:
        from showthrough.cli.after import audit_after

        return audit_after(source, data, after, out=out, ledger=ledger, how=how, settings=settings)
    with how.cluster() as cluster:
        with how.terminal().step("reading"):
            subject = source.read(data, streaming=True, keep_going=keep_going, engine=cluster)
        return audit_subject(subject, out, how, settings=settings)


def audit_subject(
    subject: Subject,
    out: Path,
    how: AuditOptions,
    *,
    settings: Settings,
    compare: Callable[[Engine, Terminal], PageMaker] | None = None,
) -> int:
    """Audit all areas, write the run folder, and print what was found.

    ``compare`` makes what writes into the folder how it compares with earlier releases.
    """
    from showthrough.engine.engine import open_engine
    from showthrough.formats.schema_file import INFERRED, schema_to_toml
    from showthrough.locks import hold
    from showthrough.tables.headline import exit_code
    from showthrough.tables.run.folder import BATCH, run_audit

    terminal, n_areas = how.terminal(), subject.n_areas
    print_notes(subject, terminal)
    head = INFERRED if subject.inferred else ""
    make_page = page_maker(out, terminal, wanted=how.report)
    workers = (how.workers or cores()) if n_areas > BATCH else 1
    with hold(out):  # until all is printed, so that after a kill the same command prints it
        with (
            open_engine(how.engine, workers=workers, notice=terminal.note) as where,
            terminal.step("auditing"),
            terminal.progress("auditing", n_areas) as progress,
        ):
            run = run_audit(
                subject,
                subject.layout,
                out,
                settings=replace(settings, noise=subject.noise),
                engine=where,
                inputs=subject.inputs(),
                extra_files={"schema.toml": head + schema_to_toml(subject.layout.schema), **_notes(subject)},
                progress=progress,
                overwrite=how.overwrite,
                page=make_page,
                derive=None if compare is None else compare(where, terminal),
            )
        code = exit_code(run)
        news: dict[str, object] = {}
        if run.came_after:
            from showthrough.cli.after import code_after, plain_after

            code, news = code_after(run, code), plain_after(run)
        if terminal.as_json:
            plain = {**run.summary.to_plain(), **news, "notes": list(subject.notes)}
            terminal.json({**plain, **places(out), "exit_code": code})
        _print_suppressed(run, terminal)
        print_verdicts(run, subject.layout.schema, terminal)
        print_findings(run, terminal)
        print_open(run, terminal)
        print_run_files(out, terminal)
    return code


def _notes(subject: Subject) -> dict[str, str]:
    """The file of notes, if there are any: what the page says rests on them."""
    import json

    from showthrough.tables.run.read import NOTES

    plain = {"notes": list(subject.notes)}
    return {NOTES: json.dumps(plain, ensure_ascii=False, indent=1) + "\n"} if subject.notes else {}


def _print_suppressed(run: AuditRun, terminal: Terminal) -> None:
    """What follows about suppressed cells, if there are any."""
    if terminal.silent or not run.has_intervals:
        return
    from showthrough.tables.recover import sentence
    from showthrough.tables.run.recovered import recover_run

    found = recover_run(run)
    if found.found:
        terminal.say(f"{sentence(found.found)} {found.note}".rstrip(), style="bold")


def print_verdicts(run: AuditRun, schema: Schema, terminal: Terminal) -> None:
    """Print the verdicts with their evidence."""
    from showthrough.tables.headline import verdict_rows

    terminal.say(run.summary.headline(schema), style="bold")
    if differences := run.summary.differences(schema):
        terminal.say(differences)
    terminal.say()
    terminal.table([("verdict", "evidence", "claims"), *verdict_rows(run)])


def print_findings(run: AuditRun, terminal: Terminal) -> None:
    """Print the most telling findings, or those that are new."""
    from showthrough.tables.headline import most_telling

    if run.came_after:
        from showthrough.cli.after import print_after

        print_after(run, terminal)
        return
    chosen = most_telling(run)
    if chosen:
        terminal.say()
        terminal.say("The most telling of them:" if run.summary.findings > len(chosen) else "Found:")
    for finding in chosen:
        area = f"{finding.area}: " if finding.area else ""
        terminal.say(f"- {area}{finding.sentence}", indent=2, hang=2)


def print_open(run: AuditRun, terminal: Terminal) -> None:
    """Print the areas that were not decided."""
    from showthrough.tables.headline import open_areas

    number = 0
    for number, text in enumerate(open_areas(run), 1):
        if number == 1:
            terminal.say()
            terminal.say("Not decided:", style="bold yellow")
        if number <= MOST_AREAS:
            terminal.say(f"- {text}", indent=2, hang=2)
    if number > MOST_AREAS:
        terminal.say(f"… and {number - MOST_AREAS:,} more areas (areas.parquet)", indent=2)


def print_run_files(out: Path, terminal: Terminal) -> None:
    """Print the files of a run, and how to check them."""
    print_files(out, FILES, terminal)
    terminal.line(f"Check every proof again with: showthrough verify {shlex.quote(str(out))}")


@app.command(group=AUDIT, help_epilogue=SCHEMA_HELP)
def schema(
    data: Annotated[Path, Parameter(help="Microdata.")],
    *,
    columns: Annotated[str | None, Parameter(help="Only these columns: a,b,c.")] = None,
    by: Annotated[str | None, Parameter(help="The column that names the area; it is left out.")] = None,
    records: Annotated[
        bool, Parameter(help="Every row is a record, even if the file looks like published counts.")
    ] = False,
    out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="The file to write (default: print it).")
    ] = None,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Infer a schema from data, to be corrected by hand."""
    from showthrough.files import check_new, write_text
    from showthrough.formats.records_file import read_records
    from showthrough.formats.schema_file import schema_to_toml

    terminal = options.terminal()
    if out is not None:
        check_new(out, overwrite=overwrite)
    with terminal.step("reading"):
        found = schema_to_toml(read_records(data, columns=listed(columns), by=by, records=records).schema)
    if out is not None:
        write_text(out, found)
    if terminal.as_json:
        terminal.json({"file": None if out is None else str(out), "toml": found})
    elif out is None and not terminal.silent:
        terminal.data(found)
    elif out is not None:
        terminal.say(f"Wrote {out}. Add labels and rules, then pass it with --schema.")
    return 0
