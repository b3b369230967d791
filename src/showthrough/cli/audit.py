"""The commands about tables of counts: audit, and what looks closer at a run.

What they do is imported when they run, so that other commands start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from showthrough.cli.app import AUDIT, CLOSER, app
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    Auditing,
    Effort,
    How,
    Overwrite,
    Positive,
    Read,
    Reading,
    RunFolder,
    Seed,
    Telling,
    Told,
    Workers,
    cores,
)
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.formats.subject import Subject


__all__ = [
    "audit",
    "bounds",
    "demo",
    "schema",
    "verify",
    "worlds",
]

AUDIT_HELP = """Planned tables are counted over microdata: DATA with --tables, or with a
--release that describes tables. Published counts are read as they are:
--release with a counts file.

Examples:

  showthrough audit people.csv --tables "age*sex" --tables sex --out run/
  showthrough audit --release release.toml counts.csv --by block --out run/"""

BOUNDS_HELP = """Examples:

  showthrough bounds run/ --where "age=25-34,tenure=rented"
  showthrough bounds people.csv --tables "age*sex" --where "sex=f" --by town"""

WORLDS_HELP = """Example:

  showthrough worlds run/ --n 20 --out worlds.parquet"""

VERIFY_HELP = """Examples:

  showthrough verify run/
  showthrough verify run/ --json

Exit codes: 0 everything holds, 1 something does not, 2 bad input."""

SCHEMA_HELP = """Examples:

  showthrough schema people.csv
  showthrough schema people.csv --columns age,sex,job --by town --out schema.toml"""

DEMO_HELP = """Examples:

  showthrough demo
  showthrough demo --areas 200 --out county/"""


@Parameter(name="*", group=INPUT)
@dataclass(frozen=True)
class TableOptions:
    """Which tables, of which data; shared by several commands."""

    tables: Annotated[tuple[str, ...], Parameter(help='A table to count: "age*sex". Repeatable.')] = ()
    release: Annotated[
        tuple[Path, ...], Parameter(help="A release.toml that describes tables. Repeatable.")
    ] = ()
    counts: Annotated[Path | None, Parameter(help="Published counts, where DATA could be either.")] = None
    schema: Annotated[Path | None, Parameter(help="A schema.toml: attributes, values, rules.")] = None
    columns: Annotated[str | None, Parameter(help="Columns to take into an inferred schema: a,b,c.")] = None
    by: Annotated[str | None, Parameter(help="The column that names the area.")] = None

    def read(self, data: Path | None, *, streaming: bool = False, keep_going: bool = False) -> Subject:
        """The areas and releases described."""
        from showthrough.formats.subject import read_subject

        return read_subject(
            data,
            tables=self.tables,
            releases=self.release,
            counts=self.counts,
            schema=self.schema,
            columns=_listed(self.columns),
            by=self.by,
            streaming=streaming,
            keep_going=keep_going,
        )


Inputs = Annotated[TableOptions | None, Parameter(name="*")]


@app.command(group=AUDIT, help_epilogue=AUDIT_HELP)
def audit(
    data: Annotated[Path | None, Parameter(group=INPUT, help="Microdata, or published counts.")] = None,
    *,
    source: Inputs = None,
    out: RunFolder,
    how: How = None,
    absent: Annotated[bool, Parameter(group=SCOPE, help="Also: selections that match nobody.")] = False,
    gaps: Annotated[bool, Parameter(group=SCOPE, help="Also: counts that can never be.")] = False,
    keep_going: Annotated[
        bool, Parameter(group=SCOPE, help="Note areas that cannot be audited, and go on.")
    ] = False,
) -> int:
    """Decide every claim about single records that tables of counts could prove."""
    from showthrough.cli.audit_jobs import audit_subject

    how = how or Auditing()
    settings = how.settings(keep_going=keep_going, absent=absent, gaps=gaps)
    with how.terminal().step("reading"):
        subject = (source or TableOptions()).read(data, streaming=True, keep_going=keep_going)
    return audit_subject(subject, out, how, settings=settings)


@app.command(group=CLOSER, help_epilogue=BOUNDS_HELP)
def bounds(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, microdata or counts.")
    ] = None,
    *,
    where: Annotated[str, Parameter(group=SCOPE, help='Which records: "age=25-34,tenure=rented|owned".')],
    source: Inputs = None,
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
    effort: Effort = 1.0,
    seed: Seed = 0,
    told: Read = None,
) -> int:
    """Say between which numbers the count of some records must lie, and prove it."""
    from showthrough.cli.audit_jobs import bounds_of_areas
    from showthrough.selection import Selection

    terminal = (told or Reading()).terminal()
    with terminal.step("reading"):
        subject = (source or TableOptions()).read(data)
    try:
        selection = subject.layout.schema.check_selection(Selection.parse(where))
    except InputError as error:
        raise error.at(file="--where") from None
    return bounds_of_areas(subject, selection, terminal, only=area, effort=effort, seed=seed)


@app.command(group=CLOSER, help_epilogue=WORLDS_HELP)
def worlds(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, microdata or counts.")
    ] = None,
    *,
    source: Inputs = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The .parquet or .csv file to write.")],
    n: Annotated[Positive, Parameter(group=SCOPE, help="Datasets for each area (default: 100).")] = 100,
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
    effort: Effort = 1.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    told: Read = None,
) -> int:
    """Write different datasets that all have the published counts."""
    from showthrough.cli.audit_jobs import write_worlds

    terminal = (told or Reading()).terminal()
    with terminal.step("reading"):
        subject = (source or TableOptions()).read(data)
    return write_worlds(subject, out, terminal, n=n, only=area, effort=effort, seed=seed, overwrite=overwrite)


@app.command(group=CLOSER, help_epilogue=VERIFY_HELP)
def verify(
    run: Annotated[Path, Parameter(help="A run folder.")],
    *,
    workers: Workers = None,
    told: Read = None,
) -> int:
    """Check every file, proof and witness of a run again, with a checker of its own."""
    from showthrough.tables.run.verify import verify_run

    terminal = (told or Reading()).terminal()
    with terminal.step("checking"), terminal.progress("checking", None) as progress:
        done = verify_run(run, workers=workers or cores(), progress=progress)
    counted = {name: getattr(done, name) for name in ("areas", "proofs", "claims", "witnesses")}
    if terminal.as_json:
        terminal.json({"folder": str(run), "holds": done.holds, **counted, "problems": done.problems})
    one = {"areas": "area", "proofs": "proof", "claims": "claim", "witnesses": "witness"}
    said = (f"{n:,} {one[name] if n == 1 else name}" for name, n in counted.items())
    terminal.say(f"Checked {', '.join(said)}.")
    if done.holds:
        terminal.say("Everything holds.", style="bold green")
        return 0
    terminal.say(f"{len(done.problems):,} problems:", style="bold red")
    for problem in done.problems[:20]:
        terminal.line(problem, indent=2)
    if len(done.problems) > 20:
        terminal.say(f"… and {len(done.problems) - 20:,} more", indent=2)
    return 1


@app.command(group=AUDIT, help_epilogue=SCHEMA_HELP)
def schema(
    data: Annotated[Path, Parameter(help="Microdata.")],
    *,
    columns: Annotated[str | None, Parameter(help="Only these columns: a,b,c.")] = None,
    by: Annotated[str | None, Parameter(help="The column that names the area; it is left out.")] = None,
    out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="The file to write (default: print it).")
    ] = None,
    overwrite: Overwrite = False,
    told: Read = None,
) -> int:
    """Write down the schema that data suggest, to be corrected by hand."""
    from showthrough.files import check_new, write_text
    from showthrough.formats.records_file import read_records
    from showthrough.formats.schema_file import schema_to_toml

    terminal = (told or Reading()).terminal()
    if out is not None:
        check_new(out, overwrite=overwrite)
    with terminal.step("reading"):
        found = schema_to_toml(read_records(data, columns=_listed(columns), by=by).schema)
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
    told: Told = None,
) -> int:
    """Simulate a small county, audit the tables planned for it, and check the proofs."""
    from showthrough.cli.audit_jobs import run_demo

    return run_demo(out, (told or Telling()).terminal(), areas=areas, seed=seed, workers=workers or cores())


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
