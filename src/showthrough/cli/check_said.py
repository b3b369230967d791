"""Says what checks of promises found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from showthrough.cli.terminal import Terminal

__all__ = [
    "say_check",
]

Facts = Mapping[str, Any]

BOUNDS = {
    "chernoff": "By the paper's bound (a larger group surely violates, a smaller one may)",
    "exact": "By exact tails (what is the case)",
}

VERDICTS = {
    "holds": "It holds, whatever the records are: the retention is small enough.",
    "violated": "It is broken in a sub-table, even if its frequencies are off by four standard errors.",
    "undecided": "The publication does not contradict it. Whether it holds depends on frequencies that "
    "can only be estimated from outside; the publisher can check the records themselves.",
}


def say_check(facts: Facts, terminal: Terminal) -> None:
    """One check: the promise, what was found, and the worst."""
    match facts["promise"]["kind"]:
        case "reconstruction":
            _say_groups(facts, terminal)
        case "rho" if "tables" in facts:
            _say_tables(facts, terminal)
        case "rho":
            _say_rho(facts, terminal)
        case _:
            _say_diversity(facts, terminal)


def _how(facts: Facts) -> str:
    """How records are published, as far as the check knows."""
    if facts["method"] is None and facts["retention"] == 1:
        return "published as they are"
    kept = f"retention {facts['retention']:.4g}"
    return kept if facts["method"] is None else f"{facts['method']}, {kept}"


def _say_groups(facts: Facts, terminal: Terminal) -> None:
    promise = facts["promise"]
    for name, (before, after) in facts["merged"].items():
        terminal.say(f"{name}: {before:,} values are merged to {after:,}.")
    terminal.say(
        f"Promise: a frequency estimated from a group is off by more than {promise['error']:.4g} of it with "
        f"a chance of at least {promise['chance']:.4g} ({_how(facts)}).",
        style="bold",
    )
    if facts["method"] is not None:
        terminal.say("The groups' sizes are published; their frequencies are estimated from the publication.")
    for bound, words in BOUNDS.items():
        terminal.say(f"{words}: {_violators(facts[bound])}.")
    if facts["worst"]:
        terminal.say()
        terminal.say("The worst groups, by how far they exceed s_g, the paper's largest size:")
        sampled = facts["sampled"] != facts["records"]
        trials = ("sampled",) if sampled else ()
        heads = ("group", "records", *trials, "largest share", "s_g", "exact limit")
        terminal.table([heads, *(_shown(row, sampled=sampled) for row in facts["worst"])])


def _violators(rate: Facts) -> str:
    if not rate["groups"]:
        return "no group violates it"
    return (
        f"{_number(rate['groups'], 'group')} ({rate['group_rate']:.1%} of all) with "
        f"{_number(rate['records'], 'record')} ({rate['record_rate']:.1%}) violate it"
    )


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _shown(row: Facts, *, sampled: bool) -> Sequence[str]:
    name = ", ".join(f"{key}={value}" for key, value in row["group"].items()) or "everybody"
    trials = (f"{row['sampled']:,}",) if sampled else ()
    share, limit = f"{row['frequency']:.3f}", f"{row['limit']:,.1f}"
    return (name, f"{row['records']:,}", *trials, share, limit, f"{row['exact_limit']:,}")


def _say_belief(facts: Facts, how: str, terminal: Terminal) -> None:
    promise = facts["promise"]
    terminal.say(
        f"Promise: nobody becomes more than {promise['posterior']:.4g} sure of a value that at most "
        f"{promise['prior']:.4g} of the records have ({how}).",
        style="bold",
    )


def _say_rho(facts: Facts, terminal: Terminal) -> None:
    _say_belief(facts, _how(facts), terminal)
    if facts["protected_values"]:
        terminal.say(
            f"A reader becomes {facts['posterior']:.4g} sure of one of the {facts['protected_values']:,} "
            f"values so rare: the promise is {'kept' if facts['holds'] else 'broken'}."
        )
    else:
        terminal.say("No value is so rare: the promise protects nobody.")
    largest = facts["largest_retention"]
    terminal.say(f"With a retention of at most {largest:.4g} it is kept whatever the records are.")


def _say_tables(facts: Facts, terminal: Terminal) -> None:
    _say_belief(facts, facts["method"], terminal)
    terminal.say(VERDICTS[facts["verdict"]])
    heads = ("sub-table", "retention", "values", "sure of a value, about", "between")
    lines = [
        (
            str(at),
            f"{row['retention']:.4g}",
            f"{row['n_values']:,}",
            f"{row['posterior']:.3f}",
            f"{row['low']:.3f} and {row['high']:.3f}",
        )
        for at, row in enumerate(facts["tables"], 1)
    ]
    terminal.table([heads, *lines])


def _say_diversity(facts: Facts, terminal: Terminal) -> None:
    what = "groups" if "groups" in facts else "buckets"
    l = facts["promise"]["l"]  # noqa: E741 - the name the literature knows it by
    terminal.say(f"Promise: no value has more than 1/{l} of one of the {what}.", style="bold")
    if facts["holds"]:
        terminal.say(f"It holds for all {facts[what]:,} {what}.")
    else:
        terminal.say(
            f"{facts['violating']:,} {what} ({facts['group_rate']:.1%} of all) with "
            f"{facts['violating_records']:,} records ({facts['record_rate']:.1%}) violate it."
        )
    if facts["method"] is not None:
        return
    if facts["n_values"] < l:
        terminal.say(f"An anatomy cannot be made: there are fewer than {l} values.")
    else:
        left = facts["left_out_by_anatomy"]
        more = f"after leaving out {_number(left, 'record')}" if left else "of all records"
        terminal.say(f"An anatomy with buckets of {l} different values can be made {more}.")
