"""What the command ``protect`` prints of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from showthrough.cli.terminal import Terminal
from showthrough.text import percent, several

if TYPE_CHECKING:
    from showthrough.tables.protect.areas import PlanResult, ProtectedAreas
    from showthrough.tables.protect.classical import Outcome
    from showthrough.tables.protect.limits import Improvement
    from showthrough.tables.protect.summary import PlanSummary

__all__ = [
    "describe",
    "exit_code",
    "print_result",
]

#: Exit codes by how it ended, and after an interruption.
EXIT_CODES = {"impossible": 1, "undecided": 3, "safe": 0}
INTERRUPTED = 130

#: Moves, and claims that remain, that are listed.
MOST_LISTED = 12


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
