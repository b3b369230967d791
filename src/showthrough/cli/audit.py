"""The commands about tables of counts: audit, bounds, worlds, schema and demo."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.app import AUDIT, CLOSER, app
from showthrough.cli.folder import page_maker, places, print_files
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    AuditOptions,
    Effort,
    Overwrite,
    Positive,
    PrintOptions,
    ReadOptions,
    Seed,
    Workers,
    cores,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, ProofError
from showthrough.text import several

if TYPE_CHECKING:
    import pyarrow as pa

    from showthrough.engine.engine import Engine
    from showthrough.folders import PageMaker
    from showthrough.formats.subject import Subject
    from showthrough.records import Records
    from showthrough.release import Layout
    from showthrough.schema import Schema
    from showthrough.tables.run.batch import Settings
    from showthrough.tables.run.read import AuditRun

__all__ = [
    "audit",
    "audit_subject",
    "bounds",
    "demo",
    "schema",
    "worlds",
]

AUDIT_HELP = """Planned tables are counted over microdata: give DATA with --tables, or with a
--release that describes the tables. Published counts are read as they are:
give --release with a counts file.

Examples:

  showthrough audit people.csv --tables "age*sex" --tables sex --out run/
  showthrough audit --release release.toml counts.csv --by block --out run/
  showthrough audit people.csv --tables "sex*job" --after run/ --out next/

Exit codes: 0 no findings, 1 findings (with --after or --ledger: new ones),
2 bad input, 3 something is undecided."""

BOUNDS_HELP = """Examples:

  showthrough bounds run/ --where "age=25-34,tenure=rented"
  showthrough bounds people.csv --tables "age*sex" --where "sex=f" --by town"""

WORLDS_HELP = """Example:

  showthrough worlds run/ --n 20 --out worlds.parquet"""

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

#: The input that a demonstration names, by which it is recognised.
DEMO = "simulated county"

#: Areas that are listed at most.
MOST_AREAS = 5

DEMO_HELP = """Examples:

  showthrough demo
  showthrough demo --areas 200 --out county/"""


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True)
class TableOptions:
    """Which tables, of which data; shared by several commands."""

    tables: Annotated[tuple[str, ...], Parameter(help='A table to count: "age*sex". Repeatable.')] = ()
    totals: Annotated[
        bool, Parameter(help="Count the totals of these tables too, with all levels above.")
    ] = False
    release: Annotated[
        tuple[Path, ...], Parameter(help="A release.toml that describes tables. Repeatable.")
    ] = ()
    counts: Annotated[Path | None, Parameter(help="Published counts, where DATA could be either.")] = None
    schema: Annotated[Path | None, Parameter(help="A schema.toml: attributes, values, rules.")] = None
    columns: Annotated[str | None, Parameter(help="Columns to take into an inferred schema: a,b,c.")] = None
    by: Annotated[str | None, Parameter(help="The column that names the area.")] = None
    records: Annotated[
        bool, Parameter(help="Every row is a record, even if the file looks like published counts.")
    ] = False

    def read(
        self,
        data: Path | None,
        *,
        protected: bool = False,
        streaming: bool = False,
        keep_going: bool = False,
    ) -> Subject:
        """The areas and releases described."""
        from showthrough.formats.read_subject import read_subject

        return read_subject(
            data,
            tables=self.tables,
            totals=self.totals,
            releases=self.release,
            counts=self.counts,
            schema=self.schema,
            columns=_listed(self.columns),
            by=self.by,
            records=self.records,
            protected=protected,
            streaming=streaming,
            keep_going=keep_going,
        )


@app.command(group=AUDIT, help_epilogue=AUDIT_HELP)
def audit(
    data: Annotated[Path | None, Parameter(group=INPUT, help="Microdata, or published counts.")] = None,
    *,
    source: TableOptions = TableOptions(),
    after: Annotated[
        tuple[Path, ...],
        Parameter(group=INPUT, help="A run about tables that are already out. Repeatable."),
    ] = (),
    out: Annotated[Path | None, Parameter(group=OUTPUT, help="The run folder to write.")] = None,
    ledger: Annotated[
        Path | None,
        Parameter(group=OUTPUT, help="Instead of --out: a folder of releases to come after, and to add to."),
    ] = None,
    how: AuditOptions = AuditOptions(),
    absent: Annotated[
        bool, Parameter(group=SCOPE, help="Decide also which selections match nobody.")
    ] = False,
    gaps: Annotated[bool, Parameter(group=SCOPE, help="Decide also which counts are impossible.")] = False,
    keep_going: Annotated[
        bool, Parameter(group=SCOPE, help="Note areas that cannot be audited, and go on.")
    ] = False,
) -> int:
    """Decide every claim about single records that tables of counts could prove."""
    settings = how.settings(keep_going=keep_going, absent=absent, gaps=gaps)
    if after or ledger is not None or out is None:
        from showthrough.cli.after import audit_after

        return audit_after(source, data, after, out=out, ledger=ledger, how=how, settings=settings)
    with how.terminal().step("reading"):
        subject = source.read(data, streaming=True, keep_going=keep_going)
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
    _print_notes(subject, terminal)
    head = INFERRED if subject.inferred else ""
    make_page = page_maker(out, terminal, wanted=how.report)
    with hold(out):  # until all is printed, so that after a kill the same command prints it
        with (
            open_engine(how.engine, workers=(how.workers or cores()) if n_areas > BATCH else 1) as where,
            terminal.step("auditing"),
            terminal.progress("auditing", n_areas) as progress,
        ):
            run = run_audit(
                subject.stream,
                subject.layout,
                out,
                settings=settings,
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
        _print_verdicts(run, subject.layout.schema, terminal)
        _print_findings(run, terminal)
        _print_open(run, terminal)
        _print_files(out, terminal)
    return code


def _notes(subject: Subject) -> dict[str, str]:
    """The file of notes, if there are any: what the page says rests on them."""
    import json

    from showthrough.tables.run.read import NOTES

    plain = {"notes": list(subject.notes)}
    return {NOTES: json.dumps(plain, ensure_ascii=False, indent=1) + "\n"} if subject.notes else {}


def _print_notes(subject: Subject, terminal: Terminal) -> None:
    for note in subject.notes:
        terminal.note(note)


def _print_suppressed(run: AuditRun, terminal: Terminal) -> None:
    """What follows about suppressed cells, if there are any."""
    if terminal.silent or not run.has_intervals:
        return
    from showthrough.tables.recover import sentence
    from showthrough.tables.run.recovered import recover_run

    found = recover_run(run)
    if found.found:
        terminal.say(f"{sentence(found.found)} {found.note}".rstrip(), style="bold")


def _print_verdicts(run: AuditRun, schema: Schema, terminal: Terminal) -> None:
    from showthrough.tables.headline import verdict_rows

    terminal.say(run.summary.headline(schema), style="bold")
    terminal.say()
    terminal.table([("verdict", "evidence", "claims"), *verdict_rows(run)])


def _print_findings(run: AuditRun, terminal: Terminal) -> None:
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


def _print_open(run: AuditRun, terminal: Terminal) -> None:
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


def _print_files(out: Path, terminal: Terminal) -> None:
    print_files(out, FILES, terminal)
    terminal.line(f"Check every proof again with: showthrough verify {shlex.quote(str(out))}")


@app.command(group=CLOSER, help_epilogue=BOUNDS_HELP)
def bounds(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, microdata or counts.")
    ] = None,
    *,
    where: Annotated[str, Parameter(group=SCOPE, help='Which records: "age=25-34,tenure=rented|owned".')],
    source: TableOptions = TableOptions(),
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
    effort: Effort = 1.0,
    seed: Seed = 0,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Give the least and the largest number of records that can match, with proofs."""
    from showthrough.selection import Selection
    from showthrough.tables.bounds import bounds as find_bounds

    terminal = options.terminal()
    with terminal.step("reading"):
        subject = source.read(data)
    try:
        selection = subject.layout.schema.check_selection(Selection.parse(where))
    except InputError as error:
        raise error.at(file="--where") from None
    _print_notes(subject, terminal)
    rows: list[dict[str, Any]] = []
    for one in subject.areas(area):
        name = one.release.area
        with terminal.step(f"bounding {name}".rstrip()):
            found = find_bounds(one.release, selection, truth=one.truth, effort=effort, seed=seed)
        rows.append({"area": name, **found.to_plain(one.release)})
        sentence = found.sentence(subject.layout.schema)
        terminal.say(f"{name}: {sentence}" if name else sentence, style="bold")
        for line in rows[-1]["arithmetic"]:
            terminal.line(line, indent=2)
    if terminal.as_json:
        terminal.json({"where": str(selection), "areas": rows})
    terminal.say()
    terminal.say(
        "[…] is a published cell. Each line holds because it holds for every kind of record that the "
        "rules and the cells published as 0 leave possible."
    )
    return 0


@app.command(group=CLOSER, help_epilogue=WORLDS_HELP)
def worlds(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, microdata or counts.")
    ] = None,
    *,
    source: TableOptions = TableOptions(),
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .parquet or .csv file to write.")],
    n: Annotated[Positive, Parameter(group=SCOPE, help="Datasets for each area (default: 100).")] = 100,
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
    effort: Effort = 1.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Write different datasets that all have the published counts."""
    from showthrough.files import check_new
    from showthrough.frames.write import writing_tables
    from showthrough.tables.audit import context_of

    terminal = options.terminal()
    with terminal.step("reading"):
        subject = source.read(data)
    check_new(out, overwrite=overwrite)
    _print_notes(subject, terminal)
    found: dict[str, int] = {}
    total = 1 if area is not None else len(subject.names)
    with (
        terminal.step("searching"),
        writing_tables(out, what="datasets") as write,
        terminal.progress("searching", total) as progress,
    ):
        for name, number, table in _area_worlds(subject, n=n, only=area, effort=effort, seed=seed):
            found[name] = number
            write(table)
            progress(1)
    if terminal.as_json:
        terminal.json({"file": str(out), "asked": n, "found": found})
    for name, number in found.items():
        more = "" if number == n else ", and the search found no others"
        text = f"{number:,} {'dataset' if number == 1 else 'datasets'} with the published counts{more}"
        terminal.say(f"{name}: {text}" if name else f"{text}.")
    if free := context_of(subject.layout).left_out:
        terminal.note(f"in no table and no rule, so the first value is used: {', '.join(free)}")
    terminal.say(f"Written to {out}")
    return 0


def _area_worlds(
    subject: Subject, *, n: int, only: str | None, effort: float, seed: int
) -> Iterator[tuple[str, int, pa.Table]]:
    """Each area's name, the number of its datasets, and these as one table."""
    from showthrough.tables.worlds import stack_worlds
    from showthrough.tables.worlds import worlds as find_worlds

    named = subject.names != ("",)
    for area in subject.areas(only):
        name = area.release.area
        made = find_worlds(area.release, n, truth=area.truth, effort=effort, seed=seed)
        yield name, len(made), stack_worlds(made, area=name if named else None)


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
        found = schema_to_toml(read_records(data, columns=_listed(columns), by=by, records=records).schema)
    if out is not None:
        write_text(out, found)
    if terminal.as_json:
        terminal.json({"file": None if out is None else str(out), "toml": found})
    elif out is None and not terminal.silent:
        terminal.data(found)
    elif out is not None:
        terminal.say(f"Wrote {out}. Add labels and rules, then pass it with --schema.")
    return 0


@app.command(group=AUDIT, help_epilogue=DEMO_HELP)
def demo(
    *,
    out: Annotated[Path, Parameter(help="The run folder to write.")] = Path("showthrough-demo"),
    areas: Annotated[Positive, Parameter(help="How many blocks (default: 40).")] = 40,
    seed: Annotated[int, Parameter(help="Seed of the simulation (default: 7).")] = 7,
    workers: Workers = None,
    options: PrintOptions = PrintOptions(),
) -> int:
    """Simulate a small county, audit the tables planned for it, and check the proofs."""
    from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
    from showthrough.locks import hold
    from showthrough.release import Layout, make_table

    terminal = options.terminal()
    layout = Layout(COUNTY_SCHEMA, tuple(make_table(COUNTY_SCHEMA, formula) for formula in COUNTY_TABLES))
    with hold(out):
        with terminal.step("simulating"):
            county = simulate_county(areas, seed=seed)
        terminal.say(
            f"A simulated county: {several(len(county), 'household')} in {several(areas, 'block')}, "
            f"{len(COUNTY_SCHEMA.names)} columns. The statistics office plans {len(layout.tables)} tables "
            f"of counts for every block, {len(layout.names)} cells in all. What would they give away?"
        )
        terminal.say()
        _audit_county(county, layout, out, terminal, areas=areas, seed=seed, workers=workers or cores())
    return 0


def _audit_county(
    county: Records, layout: Layout, out: Path, terminal: Terminal, *, areas: int, seed: int, workers: int
) -> None:
    """Audit and verify a simulated county, and print what was found."""
    from showthrough.folders import REPORT, read_result
    from showthrough.formats.subject import Subject
    from showthrough.tables.coverage import Background
    from showthrough.tables.run.folder import BATCH, run_audit
    from showthrough.tables.run.verify import verify_tables

    before = (read_result(out) or {}).get("inputs")
    make_page = page_maker(out, terminal, wanted=True, background=Background.whole(county, "county"))
    with terminal.step("auditing"), terminal.progress("auditing", areas) as progress:
        run = run_audit(
            Subject(layout, county).areas(),
            layout,
            out,
            workers=workers if areas > BATCH else 1,
            inputs={DEMO: f"{several(areas, 'area')}, seed {seed}"},
            extra_files=_county_files(county, layout),
            progress=progress,
            overwrite=isinstance(before, dict) and DEMO in before,
            page=make_page,
        )
    with terminal.step("checking"), terminal.progress("checking", areas) as progress:
        checked = verify_tables(run, progress=progress)
    if not checked.holds:
        raise ProofError(f"the run does not hold: {checked.problems[0]}")
    if terminal.as_json:
        terminal.json({**run.summary.to_plain(), "checked": checked.proofs, **places(out), "exit_code": 0})
    _print_verdicts(run, layout.schema, terminal)
    _print_open(run, terminal)
    terminal.say()
    terminal.say(
        f"The checker, which shares no code with the search, checked all {checked.proofs:,} proofs "
        f"of {checked.claims:,} claims again: all hold."
    )
    _print_files(out, terminal)
    _print_findings(run, terminal)
    if make_page is not None:
        terminal.say()
        terminal.line(f"Now open {out / REPORT} in a browser.")


def _county_files(county: Records, layout: Layout) -> dict[str, str]:
    """The simulated data and the tables, to play with."""
    import pyarrow.csv as arrow_csv

    from showthrough.formats.release_file import design_to_toml
    from showthrough.formats.schema_file import schema_to_toml

    text = io.BytesIO()
    arrow_csv.write_csv(county.to_arrow(), text)
    return {
        "schema.toml": schema_to_toml(layout.schema),
        "release.toml": design_to_toml(layout),
        "households.csv": text.getvalue().decode(),
    }


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
