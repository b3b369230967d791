"""The commands that look closer at a release: ``bounds``, ``worlds`` and ``recover``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.app import CLOSER, app
from showthrough.cli.options import (
    INPUT,
    OUTPUT,
    SCOPE,
    Effort,
    Overwrite,
    Positive,
    ReadOptions,
    Seed,
    TableOptions,
    print_notes,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from showthrough.formats.subject import Subject
    from showthrough.selection import Selection
    from showthrough.tables.recover import Recovery
    from showthrough.tables.run.inputs import Area

__all__ = [
    "bounds",
    "recover",
    "worlds",
]

BOUNDS_HELP = """Examples:

  showthrough bounds run/ --where "age=25-34,tenure=rented"
  showthrough bounds people.csv --tables "age*sex" --where "sex=f" --by town"""

WORLDS_HELP = """Example:

  showthrough worlds run/ --n 20 --out worlds.parquet"""

RECOVER_HELP = """Every number has a proof, which is printed as arithmetic on published cells.
Exit codes: 1 some cells can be computed, 3 for some cells this is undecided.

Examples:

  showthrough recover release/release.toml
  showthrough recover tables.xlsx --out recovered.html
  showthrough recover run/ --area North --json"""

#: Cells and areas that are listed.
MOST_CELLS, MOST_AREAS = 20, 10


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
    """Find the smallest and the largest number of records that can match, with proofs."""
    from showthrough.selection import Selection
    from showthrough.tables.bounds import bounds as find_bounds
    from showthrough.tables.wide.watch import telling

    terminal = options.terminal()
    with terminal.step("reading"):
        subject = source.read(data)
    try:
        selection = subject.layout.schema.check_selection(Selection.parse(where))
    except InputError as error:
        raise error.at(file="--where") from None
    print_notes(subject, terminal)
    rows: list[dict[str, Any]] = []
    for name, one, wanted in _releases(subject, selection, area):
        with (
            terminal.step(f"bounding {name}".rstrip()),
            terminal.progress("bounding", None) as progress,
            telling(progress, "bounding"),
        ):
            found = find_bounds(one.release, wanted, truth=one.truth, effort=effort, seed=seed)
        rows.append({"area": name, **found.to_plain(one.release)})
        sentence = found.sentence(subject.layout.schema)
        terminal.say(f"{name}: {sentence}" if name else sentence, style="bold")
        for line in rows[-1]["arithmetic"]:
            terminal.line(line, indent=2)
    if terminal.as_json:
        terminal.json({"where": str(selection), "areas": rows})
    terminal.say()
    terminal.say(
        "[…] is a published cell. Each line holds because it holds for every record type that the "
        "rules and the cells published as 0 leave possible."
    )
    return 0


def _releases(
    subject: Subject, selection: Selection, only: str | None
) -> Iterator[tuple[str, Area, Selection]]:
    """Each area with its release and what is counted there; of nested areas, the records of one part."""
    if subject.nests is None:
        yield from ((one.release.area, one, selection) for one in subject.areas(only))
        return
    from showthrough.selection import Selection
    from showthrough.tables.linked.nest import PART, plain_release
    from showthrough.tables.run.inputs import Area

    for nest, name in subject.nests.of_parts(only):
        yield name, Area(plain_release(nest)), selection & Selection.of({PART: name})


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
    from showthrough.frames.stream import writing_tables
    from showthrough.tables.audit import context_of
    from showthrough.tables.wide.watch import telling

    terminal = options.terminal()
    with terminal.step("reading"):
        subject = source.read(data)
    check_new(out, overwrite=overwrite)
    print_notes(subject, terminal)
    found: dict[str, int] = {}
    total = 1 if area is not None else len(subject.names)
    with (
        terminal.step("searching"),
        writing_tables(out, what="datasets") as write,
        terminal.progress("searching", total) as progress,
        telling(progress, "searching"),
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
        terminal.note(f"used in no table and no rule, so the first value is taken: {', '.join(free)}")
    terminal.say(f"Written to {out}")
    return 0


def _area_worlds(
    subject: Subject, *, n: int, only: str | None, effort: float, seed: int
) -> Iterator[tuple[str, int, pa.Table]]:
    """Each area's name, the number of its datasets, and these as one table."""
    from showthrough.tables.worlds import stack_worlds
    from showthrough.tables.worlds import worlds as find_worlds

    if subject.nests is not None:
        from showthrough.tables.linked.nest import plain_release

        for nest in dict.fromkeys(nest for nest, _ in subject.nests.of_parts(only)):
            made = find_worlds(plain_release(nest), n, effort=effort, seed=seed)
            yield nest.area, len(made), stack_worlds(made, area=nest.area)
        return
    named = subject.names != ("",)
    for area in subject.areas(only):
        name = area.release.area
        made = find_worlds(area.release, n, truth=area.truth, effort=effort, seed=seed)
        yield name, len(made), stack_worlds(made, area=name if named else None)


@app.command(group=CLOSER, help_epilogue=RECOVER_HELP)
def recover(
    data: Annotated[
        Path | None, Parameter(group=INPUT, help="A run folder, release.toml, or published tables.")
    ] = None,
    *,
    source: TableOptions = TableOptions(),
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
    out: Annotated[
        Path | None, Parameter(group=OUTPUT, help="The page to write: each table with what was recovered.")
    ] = None,
    effort: Effort = 1.0,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    options: ReadOptions = ReadOptions(),
) -> int:
    """Compute suppressed cells where they follow from what is published."""
    from showthrough.files import check_new
    from showthrough.tables.recover import exit_code
    from showthrough.tables.recover import recover as find

    terminal = options.terminal()
    with terminal.step("reading"):
        subject = source.read(data)
    if out is not None:
        check_new(out, overwrite=overwrite)
    print_notes(subject, terminal)
    found: list[Recovery] = []
    total = 1 if area is not None else subject.n_areas
    with terminal.step("recovering"), terminal.progress("recovering", total) as progress:
        for one in subject.areas(area):
            found.append(find(one.release, effort=effort, seed=seed))
            progress(1)
    if out is not None:
        _write(found, out, terminal, inputs=subject.inputs(), parameters={"effort": effort, "seed": seed})
    if terminal.as_json:
        terminal.json([row for one in found for row in one.to_plain()])
    _print(found, terminal)
    if out is not None:
        terminal.say()
        terminal.say(f"Written to {out}")
    return exit_code(found)


def _write(
    found: list[Recovery],
    out: Path,
    terminal: Terminal,
    *,
    inputs: Mapping[str, str],
    parameters: Mapping[str, float],
) -> None:
    from showthrough.report.page import write_page
    from showthrough.report.recovered import recover_page

    with terminal.step("writing the page"):
        write_page(recover_page(found, inputs=inputs, parameters=parameters), out)


def _print(found: list[Recovery], terminal: Terminal) -> None:
    from showthrough.tables.recover import area_rows, given_away, most_exposed, sentence

    terminal.say(sentence(found), style="bold")
    if whole := given_away(found):
        terminal.say(whole)
    exposed = most_exposed(found)
    if len(exposed) > 1:
        terminal.say()
        rows = area_rows(found)
        terminal.table(rows[: MOST_AREAS + 1])
        if len(rows) > MOST_AREAS + 1:
            terminal.say(f"… and {len(rows) - MOST_AREAS - 1:,} more areas (--json lists all)")
    _print_cells(exposed, terminal)
    if any(not one.whole for one in found):
        terminal.say()
        terminal.say(
            "Too many record types are possible to consider all tables together: each table was "
            "examined only with the tables about its own attributes, so narrower intervals may "
            "follow."
        )


def _print_cells(found: list[Recovery], terminal: Terminal) -> None:
    from showthrough.tables.recover import interval

    chosen = [(one, cell) for one in found for cell in one.cells if cell.outcome in ("exact", "close")]
    chosen.sort(key=lambda pair: pair[1].outcome != "exact")
    if chosen:
        terminal.say()
    for one, cell in chosen[:MOST_CELLS]:
        where = f"{one.release.area}: " if one.release.area else ""
        name = f"{cell.published.name} of {cell.published.table}"
        terminal.line(f"{where}{name}: {interval(cell.low, cell.high)}")
        for line in cell.arithmetic(one.release):
            terminal.line(line, indent=2)
    if len(chosen) > MOST_CELLS:
        terminal.say(f"… and {len(chosen) - MOST_CELLS:,} more cells (--json lists all)")
    if chosen:
        terminal.say()
        terminal.say("[…] is a published cell.")
