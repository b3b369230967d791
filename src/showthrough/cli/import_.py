"""The command that turns published tables into a release: ``import``."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from showthrough.cli.app import AUDIT, app
from showthrough.cli.folder import page_maker, places, print_files
from showthrough.cli.options import INPUT, OUTPUT, WriteOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError

if TYPE_CHECKING:
    from showthrough.formats.import_folder import Story
    from showthrough.formats.meaning.understood import Corrections
    from showthrough.notation import Rounding

__all__ = [
    "import_tables",
]

CORRECT = Group("Corrections, where something was misunderstood", sort_key=2)

IMPORT_HELP = """No questions are asked: how the tables were understood is printed, shown on a
page, and written as comments into the files. Correct it with the options or in
the files.

Examples:

  showthrough import counts.csv --out release/
  showthrough import tables.xlsx --mark "c=1-4" --area region --out release/
  showthrough audit release/release.toml --out run/"""

FILES = {
    "release.toml": "the tables, and what marks mean",
    "schema.toml": "attributes and their values",
    "counts.csv": "the values, one per row",
}

#: Sentences of a kind that are printed.
MOST_LISTED = 12


@Parameter(name="*", group=CORRECT)
@dataclass(frozen=True, kw_only=True)
class CorrectionOptions:
    """What only people know about published tables."""

    area: Annotated[
        tuple[str, ...], Parameter(help="The column that names the area, or none. Repeatable.")
    ] = ()
    total: Annotated[tuple[str, ...], Parameter(help="A label that stands for a total. Repeatable.")] = ()
    mark: Annotated[
        tuple[str, ...], Parameter(help='What a mark means: "c=1-4", "-=0" or "x=unknown". Repeatable.')
    ] = ()
    count: Annotated[str | None, Parameter(help="The column that holds the counts.")] = None
    drop: Annotated[
        tuple[str, ...], Parameter(help="A column to leave out; only its total is used. Repeatable.")
    ] = ()
    only: Annotated[
        tuple[str, ...], Parameter(help='Categories to import: "unit=persons,year=2024". Repeatable.')
    ] = ()
    sheet: Annotated[tuple[str, ...], Parameter(help="A sheet or table to import. Repeatable.")] = ()
    rest: Annotated[
        tuple[str, ...],
        Parameter(help="A column whose total includes records in none of its categories. Repeatable."),
    ] = ()
    same: Annotated[
        tuple[str, ...],
        Parameter(help="A column whose categories are mutually exclusive across all tables. Repeatable."),
    ] = ()
    complete: Annotated[
        bool,
        Parameter(help="Assume that categories leave nobody out and that all tables count the same records."),
    ] = False
    rounding: Annotated[
        str | None,
        Parameter(help="How counts are rounded: 5, 5:conventional or 3:random; 1 if they are not rounded."),
    ] = None
    missing: Annotated[
        str,
        Parameter(help="The count of combinations that a table does not list: 0 (default: not published)."),
    ] = ""
    thousands: Annotated[str, Parameter(help='The thousands separator, such as ".".')] = ""
    record: Annotated[str, Parameter(help='What is counted, in the singular: "home".')] = "record"

    def read(self) -> Corrections:
        """The corrections as the library takes them."""
        from showthrough.formats.meaning.understood import Corrections

        plain = {
            name: value for name, value in asdict(self).items() if name not in ("mark", "rounding", "count")
        }
        return Corrections(
            **plain, mark=dict(map(_read_mark, self.mark)), rounding=_read_rounding(self.rounding)
        )


@app.command(name="import", group=AUDIT, help_epilogue=IMPORT_HELP)
def import_tables(
    *files: Annotated[
        Path, Parameter(group=INPUT, help="Tables of counts: Excel, CSV, JSON-stat, SDMX-CSV, Parquet, ACRO.")
    ],
    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write.")],
    how: CorrectionOptions = CorrectionOptions(),
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Turn published tables into a release that can be audited."""
    from showthrough.folders import Description, check_place
    from showthrough.formats.import_folder import KIND, Story, write_import
    from showthrough.formats.printed.office import printed_files
    from showthrough.formats.read_tables import read_understood
    from showthrough.frames import Content, digests
    from showthrough.locks import hold

    if not files:
        raise InputError("no files given", remedy="showthrough import counts.csv --out release/")
    corrections = how.read()
    with hold(out):
        terminal = writing.terminal()
        page = page_maker(out, terminal, wanted=writing.report)
        read = dict.fromkeys(path for file in files for path in printed_files(file))
        inputs = digests([Content(path, str(path), InputError) for path in read])
        parameters = {name: value for name, value in asdict(how).items() if value}
        what = Description(KIND, parameters, inputs)
        check_place(out, what, overwrite=writing.overwrite, page=page)
        with terminal.step("reading"):
            found = read_understood(files, corrections, count=how.count)
        with terminal.step("writing"):
            write_import(out, found, what, overwrite=writing.overwrite, page=page)
        _print_story(Story.of(found), out, terminal)
    return 0


def _print_story(story: Story, out: Path, terminal: Terminal) -> None:
    if terminal.as_json:
        terminal.json({**asdict(story), **places(out), "exit_code": 0})
    terminal.say(story.headline, style="bold")
    terminal.say()
    terminal.table(story.tables)
    if story.marks:
        terminal.say()
        terminal.table(story.marks)
    _print_list("Decided:", story.notes, terminal)
    _print_list("To be decided:", story.questions, terminal, style="bold yellow")
    _print_list(
        "These counts contradict each other, and an audit will stop at them:",
        story.conflicts,
        terminal,
        "bold red",
    )
    print_files(out, FILES, terminal)
    audit = f"showthrough audit {shlex.quote(str(out / 'release.toml'))} --out run/"
    terminal.line(f"Audit it with: {audit}")


def _print_list(title: str, lines: tuple[str, ...], terminal: Terminal, style: str = "") -> None:
    if not lines:
        return
    terminal.say()
    terminal.say(title, style=style)
    for line in lines[:MOST_LISTED]:
        terminal.say(f"- {line}", indent=2, hang=2)
    if len(lines) > MOST_LISTED:
        terminal.say(f"… and {len(lines) - MOST_LISTED:,} more (release.toml)", indent=2)


def _read_mark(text: str) -> tuple[str, str]:
    """A mark and its meaning.

    >>> _read_mark("c=1-4"), _read_mark("<=4=1-4"), _read_mark("=0")
    (('c', '1-4'), ('<=4', '1-4'), ('', '0'))
    """
    mark, equals, meaning = text.rpartition("=")
    if not equals:
        raise InputError(
            "cannot read this mark", file="--mark", found=text, remedy='write a mark and its meaning: "c=1-4"'
        )
    return mark.strip(), meaning.strip()


def _read_rounding(text: str | None) -> Rounding | None:
    """How counts are rounded, as written by a user.

    >>> _read_rounding("5:random")
    Rounding(base=5, method='random')
    """
    if text is None:
        return None
    from showthrough.notation import Rounding

    base, _, method = text.partition(":")
    if not (base.isascii() and base.isdigit() and len(base) < 10):
        raise InputError(
            "cannot read this rounding", file="--rounding", found=text, remedy="write 5, or 5:conventional"
        )
    return Rounding(int(base), method or "random")
