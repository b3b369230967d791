"""The command that protects tables of counts, ``protect``, and what it prints of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from showthrough.cli.after import read_after_runs, tables_before
from showthrough.cli.app import AUDIT, app
from showthrough.cli.folder import page_maker
from showthrough.cli.options import INPUT, SCOPE, TableOptions, cores
from showthrough.cli.protect_options import ProtectOptions, read_options
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, closest
from showthrough.text import percent, several

if TYPE_CHECKING:
    from showthrough.formats.subject import Subject
    from showthrough.tables.protect.areas import PlanResult, ProtectedAreas
    from showthrough.tables.protect.classical import Outcome
    from showthrough.tables.protect.limits import Improvement
    from showthrough.tables.protect.policy import Policy
    from showthrough.tables.protect.summary import PlanSummary

__all__ = [
    "ProtectOptions",
    "describe",
    "exit_code",
    "print_result",
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
effort, 130 interrupted (Ctrl-C): the best safe plan found so far is written, if
there is one."""

#: A note for plans that may not be what is published in the end.
NO_TOTALS = (
    "the tables are planned without totals. If their totals are published, now or later, suppressed "
    "cells may follow from them: include them with --totals, or with totals = true in a release file"
)

#: Exit codes by how it ended, and after an interruption.
EXIT_CODES = {"impossible": 1, "undecided": 3, "safe": 0}
INTERRUPTED = 130

#: Moves, and claims that remain, that are listed.
MOST_LISTED = 12


@app.command(group=AUDIT, help_epilogue=PROTECT_HELP)
def protect(
    data: Annotated[Path | None, Parameter(group=INPUT, help="Microdata, or published counts.")] = None,
    *,
    source: TableOptions = TableOptions(),
    how: ProtectOptions,
    after: Annotated[
        tuple[Path, ...],
        Parameter(group=INPUT, help="A run about tables that are already published. Repeatable."),
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


def exit_code(found: ProtectedAreas) -> int:
    """How it ended."""
    return INTERRUPTED if found.interrupted else EXIT_CODES[found.status]


def describe(improvement: Improvement) -> str:
    """What is known so far, for a bar.

    >>> from fractions import Fraction
    >>> from showthrough.tables.protect.limits import Improvement
    >>> describe(Improvement(Fraction(147), Fraction(130), 2.5)).replace("\xa0", " ")
    'plan 147, bound 130, gap 13.1 %'
    """
    bound = f"bound {float(improvement.lower_bound):g}"
    if improvement.cost is None:
        return bound
    gap = "" if improvement.gap is None else f", gap {percent(float(improvement.gap), 1)}"
    return f"plan {float(improvement.cost):g}, {bound}{gap}"


def print_result(found: ProtectedAreas, out: Path, terminal: Terminal, *, has_page: bool) -> None:
    from showthrough.folders import REPORT
    from showthrough.formats.safe_release import private_note
    from showthrough.tables.protect.intervals import narrowest
    from showthrough.tables.protect.summary import headline, what_is_special, what_was_done

    safe = found.status == "safe"
    if terminal.as_json:
        terminal.json(_plain(found, out, report=str(out / REPORT) if has_page else None))
    if safe:
        terminal.say(headline(found.plans), style="bold")
        for line in (*what_was_done(found.plans), *what_is_special(found.plans)):
            terminal.say(line)
    for plan in found.plans:
        _print_plan(plan, terminal)
    if safe and (known := narrowest(found.intervals)):
        terminal.say(known)
    lost = sum(counts.allowed_but_lost for plan in found.plans for counts in plan.claims)
    if safe and lost:
        terminal.say(_lost_too(lost))
    if found.rules:
        _print_rules(found.rules, terminal)
    if not safe:
        terminal.say("Nothing was written.")
        return
    if found.interrupted:
        terminal.note("interrupted: the best safe plan found so far is kept; a cheaper one may exist")
    terminal.say()
    terminal.say(f"Written to {out}/. {private_note(out)}")
    if has_page:
        terminal.line(f"Open it in a browser: {out / REPORT}")


def _plain(found: ProtectedAreas, out: Path, *, report: str | None) -> dict[str, object]:
    from showthrough.tables.protect.protection import cost_to_plain

    written = {"folder": str(out), "report": report} if found.status == "safe" else {}
    gap = found.gap
    return {
        "status": found.status,
        "exit_code": exit_code(found),
        "cost": cost_to_plain(found.cost),
        "lower_bound": cost_to_plain(found.lower_bound),
        "gap": None if gap is None else float(gap),
        "seconds": round(sum(result.seconds for result in found.results), 3),
        "interrupted": found.interrupted,
        "steps": [step for result in found.results for step in _steps(result)],
        "intervals": found.intervals.to_pylist(),
        "plans": [plan.to_plain() for plan in found.plans],
        **written,
        "classical": [asdict(rule) for rule in found.rules],
    }


def _steps(result: PlanResult) -> list[dict[str, object]]:
    """How a plan became cheaper, and its lower bound higher."""
    from showthrough.tables.protect.protection import cost_to_plain

    return [
        {
            "area": result.summary.where,
            "cost": None if one.cost is None else cost_to_plain(one.cost),
            "lower_bound": cost_to_plain(one.lower_bound),
            "seconds": round(one.seconds, 3),
        }
        for one in result.improvements
    ]


def _lost_too(number: int) -> str:
    """What else no longer follows.

    >>> _lost_too(1)
    '1 claim that is not forbidden no longer follows either.'
    """
    be, follow = ("is", "follows") if number == 1 else ("are", "follow")
    return f"{several(number, 'claim')} that {be} not forbidden no longer {follow} either."


def _print_plan(plan: PlanSummary, terminal: Terminal) -> None:
    where = f"{plan.where}: " if plan.where else ""
    if plan.status == "safe":
        _print_list([f"{where}{step.move}" for step in plan.steps], terminal, more=" (moves.json)")
        return
    titles = {
        "impossible": "Impossible: whatever changes the policy allows, this still follows:",
        "undecided": "No safe plan was found within the effort. What remains:",
    }
    terminal.say(where + titles[plan.status], style="bold red")
    _print_list(plan.remains, terminal)


def _print_list(lines: Sequence[str], terminal: Terminal, *, more: str = "") -> None:
    for line in lines[:MOST_LISTED]:
        terminal.say(f"- {line}", indent=2, hang=2)
    if len(lines) > MOST_LISTED:
        terminal.say(f"… and {len(lines) - MOST_LISTED:,} more{more}", indent=2)


def _print_rules(rules: Sequence[Outcome], terminal: Terminal) -> None:
    terminal.say()
    terminal.say("Classical rules, for comparison:")
    rows = [("rule", "cells withheld", "cells rounded", "forbidden claims that still follow")]
    for rule in rules:
        undecided = f" ({rule.undecided:,} undecided)" if rule.undecided else ""
        rows.append((rule.rule, str(rule.withheld), str(rule.rounded), f"{rule.forbidden:,}{undecided}"))
    terminal.table(rows)
