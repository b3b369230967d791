"""The command that protects tables of counts: ``protect``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from showthrough.cli.after import read_after_runs, tables_before
from showthrough.cli.app import AUDIT, app
from showthrough.cli.calls import CallError
from showthrough.cli.folder import page_maker
from showthrough.cli.options import INPUT, OUTPUT, SCOPE, Effort, Seed, Workers, WriteOptions, cores
from showthrough.cli.tables import TableOptions
from showthrough.cli.terminal import Terminal
from showthrough.text import several

if TYPE_CHECKING:
    from showthrough.formats.subject import Subject
    from showthrough.tables.protect.areas import ProtectedAreas
    from showthrough.tables.protect.classical import Outcome
    from showthrough.tables.protect.policy import Policy
    from showthrough.tables.protect.summary import PlanSummary

__all__ = [
    "ProtectOptions",
    "protect",
    "protect_subject",
]

POLICY = Group("What is forbidden, and what may change", sort_key=2)

PROTECT_HELP = """Examples:

  showthrough protect people.csv --tables "age*sex" --tables sex \\
      --forbid singletons --out safe/
  showthrough protect --release release.toml counts.csv --policy policy.toml \\
      --out safe/
  showthrough audit --release safe/release.toml safe/counts.csv --out run/
  showthrough protect people.csv --tables "sex*job" --after run/ \\
      --forbid singletons --out next/

Exit codes: 0 safe, 1 impossible within the policy (the claims that remain are
listed, and nothing is written), 2 bad input, 3 no safe plan found within the
effort."""

#: A note for plans that may not be what is published in the end.
NO_TOTALS = (
    "the tables are planned without totals. If their totals are published, now or later, "
    "suppressed cells may follow from them: plan them too, with --totals, or totals = true in a release file"
)

#: Exit codes by how it ended.
EXIT_CODES = {"impossible": 1, "undecided": 3, "safe": 0}

#: Moves, and claims that remain, that are listed.
MOST_LISTED = 12


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProtectOptions(WriteOptions):
    """What is forbidden, what may be changed, and where the result goes."""

    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write the safe release to.")]
    policy: Annotated[Path | None, Parameter(group=POLICY, help="A policy.toml.")] = None
    forbid: Annotated[
        tuple[str, ...],
        Parameter(
            group=POLICY,
            help='Forbidden claims: "singletons,k>=5" (those that meet all conditions). Also '
            "multiplicity<=3, sensitive=attribute, groups, hidden, baseline<0.01. Repeatable.",
        ),
    ] = ()
    moves: Annotated[
        str | None,
        Parameter(group=POLICY, help="Allowed moves: suppress,round:5,merge,drop (default: suppress,drop)."),
    ] = None
    same: Annotated[bool, Parameter(group=POLICY, help="Use the same moves in all areas.")] = False
    formats: Annotated[
        tuple[Literal["xlsx", "csv", "jsonstat", "sdmx"], ...],
        Parameter(
            name="--as",
            group=OUTPUT,
            help="Also write the safe tables as an office prints them: xlsx, csv, jsonstat or sdmx (default: "
            "as they came). Repeatable.",
        ),
    ] = ()
    compare: Annotated[
        bool, Parameter(group=OUTPUT, help="Also apply classical rules, and show what still follows.")
    ] = False
    workers: Workers = None
    effort: Effort = 1.0
    seed: Seed = 0


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
    return protect_subject(_printed(subject, source, data), how, terminal, only=area)


def _printed(subject: Subject, source: TableOptions, data: Path | None) -> Subject:
    """The subject, with how its tables are printed if they were imported."""
    from showthrough.formats.import_folder import find_printing

    if subject.printing is not None or source.counts is not None or source.tables:
        return subject
    return replace(subject, printing=find_printing(data, source.release))


def protect_subject(
    subject: Subject, how: ProtectOptions, terminal: Terminal, *, only: str | None = None
) -> int:
    """Protect all areas of a subject, write the safe releases, and print what was done."""
    from showthrough.files import file_digest
    from showthrough.folders import Description, check_place
    from showthrough.formats.hand_back import check_linked
    from showthrough.formats.safe_release import KIND, write_protected
    from showthrough.formats.write_back import handed_back
    from showthrough.locks import hold

    with hold(how.out):
        notes = [NO_TOTALS] if subject.lacks_totals else []
        for note in (*subject.notes, *notes):
            terminal.note(note)
        policy, earlier = _read_policy(subject, how), tables_before(subject)
        if earlier:
            policy = replace(policy, change=replace(policy.change, earlier=earlier))
        policy.check(subject.layout)
        printing = subject.printing
        check_linked(printing.shapes if printing else ())
        page = page_maker(how.out, terminal, wanted=how.report)
        parameters = {name: getattr(how, name) for name in ("moves", "same", "effort", "seed")}
        policy_file = {how.policy.name: file_digest(how.policy)} if how.policy else {}
        wanted = {"as": list(how.formats)} if how.formats else {}
        parameters = {"forbid": list(how.forbid), **parameters, **wanted}
        what = Description(KIND, parameters, {**subject.inputs(), **policy_file})
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
        _print_result(found, how.out, terminal, has_page=page is not None)
        return EXIT_CODES[found.status]


def _read_policy(subject: Subject, how: ProtectOptions) -> Policy:
    """The policy file, with what the flags add."""
    from showthrough.formats.policy_file import read_policy
    from showthrough.records import Records
    from showthrough.tables.protect.policy import Policy
    from showthrough.tables.surprise import ReferenceDistribution

    whole = subject.source if isinstance(subject.source, Records) else None
    whole = whole if whole is not None and whole.schema == subject.layout.schema else None
    reference = None if whole is None else ReferenceDistribution.of(Records(whole.schema, whole.codes))
    if how.policy is not None:
        policy = read_policy(how.policy, subject.layout.schema, reference=reference)
        return policy.extended(*how.forbid, moves=how.moves or ())
    if not how.forbid:
        raise CallError(
            "no forbidden claims given",
            remedy='name them with --forbid "singletons,k>=5", or give a policy file with --policy',
            options={"--forbid": "singletons"},
        )
    return Policy.of(*how.forbid, moves=how.moves or (), reference=reference)


def _protect(
    subject: Subject, policy: Policy, how: ProtectOptions, terminal: Terminal, *, only: str | None
) -> ProtectedAreas:
    from showthrough.tables.protect.areas import protect_areas

    n_areas = subject.n_areas if only is None else 1
    what, total = ("plans audited", None) if how.same else ("protecting", n_areas)
    with terminal.step("protecting"), terminal.progress(what, total) as progress:
        return protect_areas(
            subject.areas(only),
            policy,
            same=how.same,
            compare=how.compare,
            effort=how.effort,
            seed=how.seed,
            workers=min(how.workers or cores(), max(1, n_areas)),
            progress=progress,
        )


def _print_result(found: ProtectedAreas, out: Path, terminal: Terminal, *, has_page: bool) -> None:
    from showthrough.folders import REPORT
    from showthrough.formats.safe_release import private_note
    from showthrough.tables.protect.summary import headline, what_was_done

    safe = found.status == "safe"
    if terminal.as_json:
        terminal.json(_plain(found, out, report=str(out / REPORT) if has_page else None))
    if safe:
        terminal.say(headline(found.plans), style="bold")
        for line in what_was_done(found.plans):
            terminal.say(line)
    for plan in found.plans:
        _print_plan(plan, terminal)
    lost = sum(counts.allowed_but_lost for plan in found.plans for counts in plan.claims)
    if safe and lost:
        terminal.say(_lost_too(lost))
    if found.rules:
        _print_rules(found.rules, terminal)
    if not safe:
        terminal.say("Nothing was written.")
        return
    terminal.say()
    terminal.say(f"Written to {out}/. {private_note(out)}")
    if has_page:
        terminal.line(f"Look at it in a browser: {out / REPORT}")


def _plain(found: ProtectedAreas, out: Path, *, report: str | None) -> dict[str, object]:
    written = {"folder": str(out), "report": report} if found.status == "safe" else {}
    return {
        "status": found.status,
        "exit_code": EXIT_CODES[found.status],
        "plans": [plan.to_plain() for plan in found.plans],
        **written,
        "classical": [asdict(rule) for rule in found.rules],
    }


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
        "impossible": "Impossible: whatever the policy allows to change, this still follows:",
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
