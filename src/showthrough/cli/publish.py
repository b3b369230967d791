"""The command ``publish``. What it does is imported when it runs, so that other commands start fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from showthrough.cli.app import app
from showthrough.cli.options import OUTPUT, EngineOptions, WriteOptions
from showthrough.cli.promises import (
    PROMISE,
    PUBLISHING,
    ColumnOptions,
    Data,
    Given,
    PromiseOptions,
    SamplingOptions,
    naming,
)
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.microdata.manifest import Manifest, TableEntry
    from showthrough.microdata.product import ProductPerturbation
    from showthrough.microdata.publication import Publication

__all__ = [
    "publish",
]

PUBLISH_HELP = """Examples:

  showthrough publish people.parquet --sensitive disease --rho 0.1:0.5 \\
      --out public/
  showthrough publish people.csv --sensitive disease --rho 0.1:0.5 \\
      --method partitioned --out public/
  showthrough publish people.parquet --sensitive disease \\
      --reconstruction 0.3:0.3 --out public/
  showthrough publish people.parquet --sensitive disease --diversity 4 \\
      --out public/"""

#: Sub-tables that are listed one by one.
MOST_LISTED = 8

#: Seeds below this can be found by trying them all.
GUESSABLE = 2**64


@app.command(group=PUBLISHING, help_epilogue=PUBLISH_HELP)
def publish(
    data: Data,
    *,
    columns: ColumnOptions = ColumnOptions(),
    promises: PromiseOptions = PromiseOptions(),
    method: Annotated[
        Literal["uniform", "partitioned", "ordinal", "product", "sampled", "anatomy"] | None,
        Parameter(group=PROMISE, help="The method (default: follows from the promise)."),
    ] = None,
    sampling: SamplingOptions = SamplingOptions(),
    given: Given = None,
    seed: Annotated[
        int | None,
        Parameter(
            group=OUTPUT,
            help="Makes the result repeatable. Keep it as secret as the records: a seed that somebody can "
            "guess undoes the protection. By default a seed is drawn and discarded.",
        ),
    ] = None,
    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write.")],
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["parquet", "csv"], Parameter(group=OUTPUT, help="How rows are written (default: parquet).")
    ] = "parquet",
    where: EngineOptions = EngineOptions(),
    writing: WriteOptions = WriteOptions(),
) -> int:
    """Publish records so that individual sensitive values stay deniable and statistics can be estimated."""
    from showthrough.cli.folder import page_maker
    from showthrough.locks import hold
    from showthrough.microdata import publish as room
    from showthrough.microdata.methods import choose_method

    chosen = _several(method, promises)
    if chosen is None:
        promises.check_given(method)
        options = sampling.read(retention=promises.retention, given=given)
        chosen = choose_method(method, promises.read(), options)
        (chosen,) = columns.ordered([chosen])
    named = columns.read()
    with hold(out):
        terminal = writing.terminal()
        if seed is not None and 0 <= seed < GUESSABLE:
            terminal.note(
                "a seed this small can be found by trying, and whoever finds it can undo the "
                "perturbation; leave out --seed to have one drawn and discarded"
            )
        # The page is as public as the folder: it is made from what the folder holds, and nothing else.
        page = page_maker(out, terminal, wanted=writing.report)
        with (
            where.open_backend(terminal) as backend,
            terminal.step("publishing"),
            terminal.progress("publishing", None) as progress,
        ):
            found = room.publish(
                data,
                out,
                sensitive=named.sensitive,
                method=chosen,
                seed=seed,
                public=named.public,
                drop=named.drop,
                bins=dict(named.bins),
                records=named.records,
                file_format=format,
                overwrite=writing.overwrite,
                engine=backend,
                scratch=where.scratch,
                page=page,
                progress=progress,
            )
        _print_publication(found, terminal, has_page=page is not None)
    return 0


def _several(method: str | None, promises: PromiseOptions) -> ProductPerturbation | None:
    """The method that keeps a promise for each of several columns, if there are such promises."""
    by_column = promises.by_column
    if not by_column:
        return None
    other = (promises.reconstruction, promises.diversity, promises.retention)
    if promises.known_totals or promises.sets or any(one is not None for one in other):
        raise InputError(
            "promises for each column cannot be combined with other promises",
            file="--rho",
            remedy="leave out --known-totals, --sets, --retention and other promises",
        )
    from showthrough.microdata.product import ProductPerturbation

    with naming("--rho"):
        return ProductPerturbation.of(by_column, method=method)


def _print_publication(found: Publication, terminal: Terminal, *, has_page: bool) -> None:
    from showthrough.folders import REPORT
    from showthrough.microdata.bins import listed_ends
    from showthrough.microdata.manifest import MANIFEST
    from showthrough.microdata.price import describe_price

    said, left_out = found.manifest, found.left_out or 0
    if terminal.as_json:
        terminal.json(
            {
                "folder": str(found.folder),
                "method": said.method,
                "records": said.records,
                "suppressed": left_out,
                "sensitive": list(said.sensitive),
                "public": list(said.public),
                "n_values": len(said.domain),
                "retention": [table.retention for table in said.tables],
                "trials": said.drawn,
                "promise": said.promise,
                "given": said.given,
                "people": None if found.people is None else asdict(found.people),
                "notes": list(found.notes),
                "report": str(found.folder / REPORT) if has_page else None,
            }
        )
    values = f"{several(len(said.domain), 'value')} of {', '.join(said.sensitive)}"
    terminal.say(
        f"Published {several(said.records, 'record')} with the method {said.method}, {values}.", style="bold"
    )
    for line in _promised(found):
        terminal.say(line)
    if left_out and said.method == "anatomy":
        terminal.say(
            f"{several(left_out, 'record')} {'was' if left_out == 1 else 'were'} left out: too many "
            "have the same value for the buckets."
        )
    for line in describe_price(found):
        terminal.say(line)
    for line in _done(said):
        terminal.say(line)
    for name, entry in (said.bins or {}).items():
        terminal.say(f"{name}: put into bins that end at {listed_ends(entry.bins)}.")
    for note in found.notes:
        terminal.note(note)
    if limits := found.describe_limits():
        terminal.say(limits)
    for name, labels in said.merged.items():
        before = sum(len(members) for members in labels.values())
        terminal.say(f"{name}: {before:,} values were merged into {len(labels):,}.")
    terminal.say()
    terminal.say(f"Wrote {found.data.name} and {MANIFEST} to {found.folder}/, and counted the rows again.")
    if has_page:
        terminal.say(f"For readers, made from the published files alone: {REPORT}.")
    if said.public:
        terminal.line(f"Count in it with: showthrough count {found.folder} --by {said.public[0]}")


def _promised(found: Publication) -> Iterator[str]:
    """What is promised to whom, and what readers of the public values learn all the same."""
    from showthrough.microdata.promises import RhoPrivacy, describe_promise

    said, people = found.manifest, found.people
    promise = said.own_promise
    if not isinstance(promise, RhoPrivacy):
        return
    yield f"Promise: {describe_promise(promise, method=said.method, given=said.given)}."
    if people is None or not people.protected_values:
        return
    yield "For the publisher only, because it follows from the true values:"
    yield people.headline(promise)
    yield from people.notes(promise)
    if people.broken and said.public and said.method == "uniform":
        yield "With --given public, this is avoided."


def _done(said: Manifest) -> list[str]:
    """What happened to records, in sentences."""
    from showthrough.microdata.ordinal import describe_ordinal
    from showthrough.microdata.product import describe_product

    match said.method:
        case "ordinal":
            return [describe_ordinal(said.sub_tables[0])]
        case "product":
            return describe_product(said)
        case _:
            return _kept(said.tables)


def _kept(tables: Sequence[TableEntry]) -> list[str]:
    """How often values are kept; in one line if there are many sub-tables."""
    if len(tables) > MOST_LISTED:
        kept, values = [table.retention for table in tables], [len(table.values) for table in tables]
        return [
            f"{len(tables):,} sub-tables: a record keeps its value with probability {min(kept):.4g} to "
            f"{max(kept):.4g}, or draws one of {min(values):,} to {max(values):,} values."
        ]
    return [
        f"{f'Sub-table {number}: a' if len(tables) > 1 else 'A'} record keeps its value with probability "
        f"{table.retention:.4g}, or draws one of {len(table.values):,} values."
        for number, table in enumerate(tables, 1)
    ]
