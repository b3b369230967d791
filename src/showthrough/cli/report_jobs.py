"""Pages of results: on request, and at the end of the commands that make results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from showthrough.census.homes_file import read_homes
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, RecordsError
from showthrough.files import check_new
from showthrough.records import Records
from showthrough.report.audit_page import Background
from showthrough.report.page import INSTALL, check_installed, write_page
from showthrough.report.write import FILE, page_of, write_report
from showthrough.tables.run.verify import open_run
from showthrough.tables.surprise import Reference, ReferenceDistribution, texts

__all__ = [
    "make_report",
    "one_place",
    "page_maker",
]


def make_report(
    run: Path,
    terminal: Terminal,
    *,
    html: Path | None,
    homes: Path | None,
    by: str,
    overwrite: bool = False,
) -> int:
    """Write the page of a folder and say where it is."""
    check_installed()
    if html is not None:
        check_new(html, overwrite=overwrite)
    background = None
    if homes is not None:
        with terminal.step("reading homes"):
            background = _census(run, homes, by, terminal)
    with terminal.step("writing the page"):
        written = write_report(run, html, background=background)
    if terminal.as_json:
        terminal.json({"folder": str(run), "report": str(written), "bytes": written.stat().st_size})
    terminal.say(f"Wrote {written}: open it in a browser, it needs no network.")
    return 0


def page_maker(
    out: Path, terminal: Terminal, *, wanted: bool, background: Background | None = None
) -> Callable[[Path], object] | None:
    """What makes the page of a result while it is written; None, with a note, if that cannot be.

    ``out`` is where the result will be: the folder that is handed over is its draft.
    """
    if not wanted:
        return None
    try:
        check_installed()
    except InputError:
        terminal.note(f"for a page to look at: {INSTALL}, then showthrough report {out}")
        return None

    def make(folder: Path) -> None:
        with terminal.step("writing the page"):
            write_page(page_of(folder, background=background), folder / FILE)

    return make


def one_place(records: Records, name: str) -> Background:
    """All records together as what areas might have been drawn from."""
    return Background(records, {name: (ReferenceDistribution.of(records), _nowhere)})


def _nowhere(area: str) -> str:  # noqa: ARG001
    return ""


def _census(folder: Path, homes: Path, by: str, terminal: Terminal) -> Background:
    """Homes as records of the blocks, with their tracts and states as references."""
    run, _, layout = open_run(folder)
    read = read_homes(homes, layout.schema, by=by)
    table = read.table(places=("tract", "state"))
    if left := len(read.records) - table.num_rows:
        terminal.note(f"{homes}: left out {left:,} homes that break a rule of the schema")
    records = Records.from_arrow(table, layout.schema, by="block")
    blocks = texts(table["block"])
    unknown = set(texts(run.table("findings")["area"])) - set(blocks)
    if unknown:
        raise RecordsError(
            "a block of the run has no homes in this file",
            file=str(homes),
            column=by,
            found=min(unknown),
            remedy="name the homes that were audited",
        )
    references: dict[str, tuple[Reference, Callable[[str], str]]] = {}
    for name in ("tract", "state"):
        labels = table[name].cast(pa.string())
        of = dict(zip(blocks, texts(labels), strict=True))
        references[name] = ReferenceDistribution.of(records, np.array(texts(labels), object)), of.__getitem__
    return Background(records, references)
