"""The command that protects tables of counts: ``protect``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.after import read_after_runs, tables_before
from showthrough.cli.app import AUDIT, app
from showthrough.cli.folder import page_maker
from showthrough.cli.options import INPUT, SCOPE, cores
from showthrough.cli.protect_options import ProtectOptions, read_options
from showthrough.cli.protect_result import describe, exit_code, print_result
from showthrough.cli.tables import TableOptions
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, closest

if TYPE_CHECKING:
    from showthrough.formats.subject import Subject
    from showthrough.tables.protect.areas import ProtectedAreas
    from showthrough.tables.protect.policy import Policy

__all__ = [
    "ProtectOptions",
    "protect",
    "protect_subject",
]

PROTECT_HELP = """Examples:

  showthrough protect people.csv --tables "age*sex" --tables sex \\
      --forbid singletons --out safe/
  showthrough protect --release release.toml counts.csv --policy policy.toml \\
      --out safe/
  showthrough protect --release release.toml counts.csv --forbid "count<=2" \\
      --cells cells.csv --seconds 60 --gap 5% --out safe/
  showthrough audit --release safe/release.toml safe/counts.csv --out run/
  showthrough protect people.csv --tables "sex*job" --after run/ \\
      --forbid singletons --out next/

Exit codes: 0 safe, 1 impossible within the policy (the claims that remain are
listed, and nothing is written), 2 bad input, 3 no safe plan found within the
effort, 130 interrupted (Ctrl-C): the best safe plan until then is written, if
there is one."""

#: A note for plans that may not be what is published in the end.
NO_TOTALS = (
    "the tables are planned without totals. If their totals are published, now or later, "
    "suppressed cells may follow from them: plan them too, with --totals, or totals = true in a release file"
)


@app.command(group=AUDIT, help_epilogue=PROTECT_HELP)
def protect(
    data: Annotated[Path | None, Parameter(group=INPUT, help="Microdata, or published counts.")] = None,
    *,
    source: TableOptions = TableOptions(),
    how: ProtectOptions,
    after: Annotated[
        tuple[Path, ...],
        Parameter(group=INPUT, help="A run about tables that are already out. Repeatable."),
    ] = (),
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
) -> int:
    """Withhold, round or merge as little as possible so that nothing forbidden follows."""
    terminal = how.terminal()
    with terminal.step("reading"):
        if after:
            subject = read_after_runs(source, data, after, protected=True)
        else:
            subject = source.read(data, protected=True)
    counts = None if source.tables else source.counts or data
    subject = _printed(subject, source, data)
    return protect_subject(subject, how, terminal, only=area, counts=counts, by=source.by)


def _printed(subject: Subject, source: TableOptions, data: Path | None) -> Subject:
    """The subject, with how its tables are printed if they were imported."""
    from showthrough.formats.import_folder import find_printing

    if subject.printing is not None or source.counts is not None or source.tables:
        return subject
    return replace(subject, printing=find_printing(data, source.release))


def protect_subject(
    subject: Subject,
    how: ProtectOptions,
    terminal: Terminal,
    *,
    only: str | None = None,
    counts: Path | None = None,
    by: str | None = None,
) -> int:
    """Protect all areas of a subject, write the safe releases, and print what was done.

    ``counts`` is the file that flags are read from, ``by`` its column that names the area.
    """
    from showthrough.files import file_digest
    from showthrough.folders import Description, check_place
    from showthrough.formats.hand_back import check_linked
    from showthrough.formats.safe_release import KIND, write_protected
    from showthrough.formats.write_back import handed_back
    from showthrough.locks import hold

    if how.same and how.engine != "local":
        raise InputError(
            "the same moves for all areas are searched for in one process: each plan follows from the audit "
            "of the one before, so that a cluster would do little but wait",
            found=f"--same with --engine {how.engine}",
            remedy="leave out --engine, or --same",
        )
    with hold(how.out):
        notes = [NO_TOTALS] if subject.lacks_totals else []
        for note in (*subject.notes, *notes):
            terminal.note(note)
        policy = read_options(subject, how, counts=counts, by=by)
        earlier = tables_before(subject)
        if earlier:
            policy = replace(policy, change=replace(policy.change, earlier=earlier))
        policy.check(subject.layout)
        _check_areas(policy, subject)
        printing = subject.printing
        check_linked(printing.shapes if printing else ())
        page = page_maker(how.out, terminal, wanted=how.report)
        files = {path.name: file_digest(path) for path in (how.policy, how.cells) if path}
        what = Description(KIND, _parameters(how), {**subject.inputs(), **files})
        check_place(how.out, what, overwrite=how.overwrite, page=page)
        found = _protect(subject, policy, how, terminal, only=only)
        if found.status == "safe":
            handed, said = handed_back(
                subject.layout, printing, found, earlier=earlier, every=bool(how.formats)
            )
            said += write_protected(
                how.out,
                found,
                what,
                notes=[*notes, *said],
                earlier=earlier,
                handed=handed,
                formats=how.formats if how.formats or printing else None,
                overwrite=how.overwrite,
                page=page,
            )
            for note in said:
                terminal.note(note)
        print_result(found, how.out, terminal, has_page=page is not None)
        return exit_code(found)


def _check_areas(policy: Policy, subject: Subject) -> None:
    """Raise if something is ordered about an area that does not exist."""
    named = [order for order in policy.orders if order.area is not None]
    there = subject.names if named else ()
    for order in named:
        if order.area not in there:
            raise InputError(
                f"there is no such area for cell {order.cell} of table {order.table}",
                found=order.area,
                remedy=closest(order.area or "", there),
            )


def _parameters(how: ProtectOptions) -> dict[str, Any]:
    """What was asked for, as the manifest has it."""
    always = {name: getattr(how, name) for name in ("moves", "same", "effort", "seed")}
    named = {name: getattr(how, name) for name in ("flags", "keep_zeros", "seconds", "gap")}
    given = {name: value for name, value in named.items() if value}
    wanted = {"as": list(how.formats)} if how.formats else {}
    return {"forbid": list(how.forbid), **always, **given, **wanted}


def _protect(
    subject: Subject, policy: Policy, how: ProtectOptions, terminal: Terminal, *, only: str | None
) -> ProtectedAreas:
    from showthrough.tables.protect.areas import protect_areas

    n_areas = subject.n_areas if only is None else 1
    what, total = ("plans audited", None) if how.same else ("protecting", n_areas)
    workers = min(how.workers or cores(), max(1, n_areas))
    with (
        how.open(terminal, workers=workers) as engine,
        terminal.step("protecting"),
        terminal.progress(what, total) as progress,
    ):
        return protect_areas(
            subject.areas(only),
            policy,
            same=how.same,
            compare=how.compare,
            effort=how.effort,
            seed=how.seed,
            engine=engine,
            progress=progress,
            seconds=how.seconds,
            gap=how.largest_gap,
            watch=lambda improvement: progress.tell(f"{what}: {describe(improvement)}"),
        )
