"""What the command protect does: read a policy, protect every area, write, and say what was done."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from showthrough.cli.options import cores
from showthrough.cli.protecting import Protecting
from showthrough.cli.report_jobs import page_maker
from showthrough.cli.terminal import Terminal
from showthrough.engine.local import in_order
from showthrough.errors import InputError, RecordsError, ShowthroughError, closest, nearest
from showthrough.files import file_digest
from showthrough.folders import REPORT, Description, check_place
from showthrough.formats.policy_file import read_policy
from showthrough.formats.safe_release import KIND, PRIVATE, Brief, brief, headline, write_protected
from showthrough.formats.subject import Subject
from showthrough.locks import hold
from showthrough.records import Records
from showthrough.scratch import private_scratch
from showthrough.tables.protect.classical import Outcome, compare_rules
from showthrough.tables.protect.policy import Kind, Policy, parse_moves
from showthrough.tables.protect.protect import protect, protect_alike
from showthrough.tables.run.batch import Area, Broken
from showthrough.tables.surprise import ReferenceDistribution

__all__ = [
    "protect_subject",
]

#: Exit codes by how it ended, the gravest first.
_CODES = {"impossible": 1, "undecided": 3, "safe": 0}

#: The words that --forbid and --moves are written with.
_WORDS = ("singletons", "multiplicity", "sensitive", "groups", "hidden", "baseline", *get_args(Kind))

#: Moves, and claims that remain, that are listed.
_MOST_LISTED = 12


def protect_subject(subject: Subject, how: Protecting, terminal: Terminal, *, only: str | None = None) -> int:
    """Protect all areas of a subject and write the safe releases."""
    with hold(how.out):
        return _protect_subject(subject, how, terminal, only=only)


def _protect_subject(subject: Subject, how: Protecting, terminal: Terminal, *, only: str | None) -> int:
    for note in subject.notes:
        terminal.note(note)
    policy = _policy(subject, how)
    policy.check(subject.layout)
    page = page_maker(how.out, terminal, wanted=how.report)
    what = Description(KIND, _parameters(how), _inputs(subject, how))
    check_place(how.out, what, overwrite=how.overwrite, page=page)
    areas = _areas(subject, only)
    with terminal.step("protecting"):
        if how.same:
            briefs, rules = _alike(areas, policy, how, terminal)
        else:
            briefs, rules = _each(areas, policy, how, subject.n_areas if only is None else 1, terminal)
    status = next(one for one in _CODES if any(b.status == one for b in briefs))
    if status == "safe":
        write_protected(
            how.out,
            briefs,
            what,
            rules=[asdict(one) for one in rules],
            overwrite=how.overwrite,
            page=page,
        )
    _say(briefs, rules, terminal, status=status, out=how.out, page=REPORT if page else None)
    return _CODES[status]


def _alike(
    areas: Iterable[Area], policy: Policy, how: Protecting, terminal: Terminal
) -> tuple[list[Brief], list[Outcome]]:
    """One plan for all areas."""
    listed = list(areas)
    with terminal.progress("plans audited", None) as progress:
        found = protect_alike(listed, policy, effort=how.effort, seed=how.seed, progress=progress)
    return [brief(found)], _rules(listed, policy, how)


def _each(
    areas: Iterable[Area], policy: Policy, how: Protecting, n_areas: int, terminal: Terminal
) -> tuple[list[Brief], list[Outcome]]:
    """A plan for each area, in the order of the areas, by several processes."""
    workers = min(how.workers or cores(), max(1, n_areas))
    made = in_order(partial(_one, policy=policy, how=how), areas, workers=workers)
    briefs, rules = list[Brief](), list[Outcome]()
    with terminal.progress("protecting", n_areas) as progress:
        for found, outcomes in made:
            if isinstance(found, ShowthroughError):
                raise found
            briefs.append(found)
            rules = _added(rules, outcomes)
            progress(1)
    return briefs, rules


def _one(area: Area, policy: Policy, how: Protecting) -> tuple[Brief | ShowthroughError, list[Outcome]]:
    """One area; what is wrong with it is returned, so that the first area in order is told of."""
    try:
        found = protect(area.release, policy, truth=area.truth, effort=how.effort, seed=how.seed)
        return brief(found), _rules([area], policy, how)
    except ShowthroughError as error:
        return error, []


def _policy(subject: Subject, how: Protecting) -> Policy:
    """The policy file, with what the flags add."""
    with _suggesting():
        return _read_policy(subject, how)


@contextmanager
def _suggesting() -> Generator[None]:
    """Say what a mistyped word of --forbid or --moves may have meant."""
    try:
        yield
    except InputError as error:
        typed = [word for word in re.findall(r"[a-z]{3,}", error.found or "") if word not in _WORDS]
        near = next((found for word in typed if (found := nearest(word, _WORDS))), None)
        if near is None or error.file is not None:
            raise
        remedy = f"did you mean {near!r}? {error.remedy or ''}".rstrip()
        raise InputError(error.problem, found=error.found, remedy=remedy) from None


def _read_policy(subject: Subject, how: Protecting) -> Policy:
    whole = subject.source if isinstance(subject.source, Records) else None
    reference = None if whole is None else ReferenceDistribution.of(Records(whole.schema, whole.codes))
    if how.policy is None:
        if not how.forbid:
            raise InputError(
                "it is not said what must not follow",
                remedy='name a policy with --policy, or say it: --forbid "singletons,k>=5"',
            )
        return Policy.of(*how.forbid, moves=how.moves or (), reference=reference)
    policy = read_policy(how.policy, subject.layout.schema, reference=reference)
    if how.forbid:
        more = Policy.of(*how.forbid, reference=policy.reference)
        policy = replace(policy, forbidden=(*policy.forbidden, *more.forbidden))
    if how.moves:
        kinds, bases = parse_moves(how.moves)
        policy = replace(policy, change=replace(policy.change, kinds=kinds, bases=bases))
    return policy


def _areas(subject: Subject, only: str | None) -> Iterator[Area]:
    """The areas with their releases, tables counted where they are planned."""
    if only is not None and only not in subject.names:
        raise InputError("unknown area", found=only, remedy=closest(only, subject.names))
    with private_scratch() as scratch:
        for found in subject.stream(scratch):
            if isinstance(found, Broken) or (isinstance(found, Area) and found.problem):
                raise RecordsError(found.why if isinstance(found, Broken) else found.problem)
            if isinstance(found, Area):
                area = found
            else:
                area = Area(subject.layout.tabulate(found.records, area=found.area), found.records)
            if only in (None, area.release.area):
                yield area


def _rules(areas: Sequence[Area], policy: Policy, how: Protecting) -> list[Outcome]:
    found = list[Outcome]()
    for area in areas if how.compare else ():
        found = _added(found, compare_rules(area, policy, effort=how.effort, seed=how.seed))
    return found


def _added(one: Sequence[Outcome], other: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes of the same rules in different areas, added up."""
    if not one or not other:
        return [*one, *other]
    return [a + b for a, b in zip(one, other, strict=True)]


def _parameters(how: Protecting) -> dict[str, Any]:
    return {
        "forbid": list(how.forbid),
        "moves": how.moves,
        "same": how.same,
        "effort": how.effort,
        "seed": how.seed,
    }


def _inputs(subject: Subject, how: Protecting) -> dict[str, str]:
    return {**subject.inputs(), **({how.policy.name: file_digest(how.policy)} if how.policy else {})}


def _say(
    briefs: Sequence[Brief],
    rules: Sequence[Outcome],
    terminal: Terminal,
    *,
    status: str,
    out: Path,
    page: str | None,
) -> None:
    plans = [one.content for one in briefs]
    if terminal.as_json:
        content = {"status": status, "exit_code": _CODES[status], "plans": plans}
        report = None if page is None else str(out / page)
        written = {"folder": str(out), "report": report} if status == "safe" else {}
        terminal.json({**content, **written, "classical": [asdict(one) for one in rules]})
    claims = [row for plan in plans for row in plan["claims"]]
    if status == "safe":
        terminal.say(headline(plans), style="bold")
    for plan in plans:
        _say_plan(plan, terminal)
    lost = sum(row["allowed_but_lost"] for row in claims)
    if status == "safe" and lost:
        terminal.say(f"Besides, {lost:,} claims that nobody forbids no longer follow.")
    if rules:
        terminal.say()
        terminal.say("Classical rules, for comparison:")
        head = ("rule", "cells withheld", "cells rounded", "forbidden claims that still follow")
        rows = [(one.rule, str(one.withheld), str(one.rounded), _left(one)) for one in rules]
        terminal.table([head, *rows])
    if status == "safe":
        terminal.say()
        terminal.say(f"Written to {out}/. {PRIVATE}")
        if page is not None:
            terminal.line(f"Look at it in a browser: {out / page}")
    else:
        terminal.say("Nothing was written.")


def _left(one: Outcome) -> str:
    return f"{one.forbidden:,}" + (f" ({one.undecided:,} undecided)" if one.undecided else "")


def _say_plan(plan: dict[str, Any], terminal: Terminal) -> None:
    where = f"{plan['areas'][0]}: " if len(plan["areas"]) == 1 and plan["areas"][0] else ""
    if plan["status"] == "safe":
        for move in plan["moves"][:_MOST_LISTED]:
            terminal.say(f"- {where}{_named(move)}", indent=2, hang=2)
        if len(plan["moves"]) > _MOST_LISTED:
            terminal.say(f"… and {len(plan['moves']) - _MOST_LISTED:,} more (moves.json)", indent=2)
        return
    words = {
        "impossible": "Impossible: whatever the policy allows to change, this still follows:",
        "undecided": "No safe plan was found within the effort. What is left:",
    }
    terminal.say(where + words[plan["status"]], style="bold red")
    for text in plan["remains"][:_MOST_LISTED]:
        terminal.say(f"- {text}", indent=2, hang=2)
    if len(plan["remains"]) > _MOST_LISTED:
        terminal.say(f"… and {len(plan['remains']) - _MOST_LISTED:,} more", indent=2)


def _named(move: dict[str, Any]) -> str:
    what = {
        "suppress": "suppress {cell} of {table}",
        "round": "round {table} to multiples of {base}",
        "merge": "merge {attribute} in {table}",
        "drop": "drop {table}",
    }
    text = what[move["move"]]
    for name in ("cell", "table", "base", "attribute"):
        text = text.replace(f"{{{name}}}", str(move.get(name, "")))
    return text
