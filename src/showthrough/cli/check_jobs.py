"""Check promises, for raw data, for a planned retention and for a finished publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.cli.methods import read_diversity, read_reconstruction, read_retention, read_rho
from showthrough.cli.promises import Columns, Promises
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError
from showthrough.publish.anatomy import kept_totals
from showthrough.publish.checking import check_diversity, check_reconstruction, check_rho
from showthrough.publish.generalize import generalize
from showthrough.publish.groups import Groups
from showthrough.publish.manifest import MANIFEST
from showthrough.publish.parameters import check_domain
from showthrough.publish.promise import LDiversity, ReconstructionPrivacy, RhoPrivacy
from showthrough.publish.publication import Publication
from showthrough.publish.text import texts
from showthrough.publish.violations import Bound, DiversityCheck, ReconstructionCheck

__all__ = ["check_promises"]

Whole = NDArray[np.int64]

BOUNDS = {
    "chernoff": "By the paper's bound (a larger group surely violates, a smaller one may)",
    "exact": "By exact tails (what is the case)",
}


@dataclass(frozen=True, eq=False)
class _Result:
    """What one check found: for machines, and as an exit code."""

    facts: dict[str, Any]
    code: int


def check_promises(
    data: Path, columns: Columns, promises: Promises, terminal: Terminal, *, keep_values: bool, worst: int
) -> int:
    """Check every promise given, say what was found, and return the exit code."""
    rho, reconstruction, diversity = (
        read_rho(promises),
        read_reconstruction(promises),
        read_diversity(promises),
    )
    kept = read_retention(promises)
    if rho is None and reconstruction is None and diversity is None:
        raise InputError(
            "there is nothing to check",
            remedy="name a promise with --reconstruction 0.3:0.3, --rho 0.1:0.5 or --diversity 4",
        )
    results = list[_Result]()
    if (data / MANIFEST).is_file():
        if kept is not None or columns.sensitive or columns.public is not None:
            raise InputError(
                "a publication says itself what is sensitive and what was kept",
                file=str(data),
                remedy="leave --sensitive, --public and --retention out",
            )
        publication = Publication.open(data)
        if reconstruction:
            results.append(_published_groups(publication, reconstruction, terminal, worst=worst))
        if rho:
            results.append(_published_tables(publication, rho, terminal))
        if diversity:
            found = check_diversity(publication, diversity)
            results.append(_diverse(found, diversity, terminal, what="buckets"))
    else:
        groups = Groups.read(str(data), sensitive=columns.sensitive, public=columns.public_names)
        check_domain(len(groups.totals))
        if reconstruction:
            results.append(
                _raw_groups(groups, reconstruction, kept, terminal, worst=worst, keep_values=keep_values)
            )
        if rho:
            results.append(_raw_rho(groups, rho, kept, terminal))
        if diversity:
            results.append(_raw_diversity(groups, diversity, terminal))
    codes = {result.code for result in results}
    code = 1 if 1 in codes else max(codes)
    if terminal.as_json:
        terminal.json({"checks": [result.facts for result in results], "exit_code": code})
    return code


def _raw_groups(
    groups: Groups,
    promise: ReconstructionPrivacy,
    kept: float | None,
    terminal: Terminal,
    *,
    worst: int,
    keep_values: bool,
) -> _Result:
    if not keep_values and groups.public.column_names:
        merged = generalize(groups)
        for name, (before, after) in merged.sizes.items():
            if after < before:
                terminal.say(f"{name}: {before:,} values are merged to {after:,}.")
        groups = merged.groups
    _say_promise(promise, "published as they are" if kept is None else f"retention {kept:.4g}", terminal)
    retention = 1.0 if kept is None else kept
    found = promise.check(groups, retention=retention)
    return _say_groups(found, groups.public, found.sizes, terminal, promise, retention, worst=worst)


def _published_groups(
    publication: Publication, promise: ReconstructionPrivacy, terminal: Terminal, *, worst: int
) -> _Result:
    checked = check_reconstruction(publication, promise)
    _say_promise(promise, f"{publication.manifest.method}, retention {checked.retention:.4g}", terminal)
    terminal.say("The groups' sizes are published; their frequencies are estimated from the publication.")
    return _say_groups(
        checked.found, checked.public, checked.trials, terminal, promise, checked.retention, worst=worst
    )


def _say_promise(promise: ReconstructionPrivacy, how: str, terminal: Terminal) -> None:
    terminal.say(
        f"Promise: a frequency estimated from a group is off by more than {promise.error:.4g} of it with a "
        f"chance of at least {promise.chance:.4g} ({how}).",
        style="bold",
    )


def _say_groups(
    found: ReconstructionCheck,
    public: pa.Table,
    trials: Whole,
    terminal: Terminal,
    promise: ReconstructionPrivacy,
    retention: float,
    *,
    worst: int,
) -> _Result:
    bounds: dict[str, Any] = {}
    bound: Bound
    for bound in get_args(Bound):
        violated = found.violated(bound)
        bounds[bound] = {
            "holds": found.holds(bound),
            "groups": int(violated.sum()),
            "group_rate": found.group_rate(bound),
            "records": int(found.sizes[violated].sum()),
            "record_rate": found.record_rate(bound),
        }
        terminal.say(f"{BOUNDS[bound]}: {_violators(bounds[bound])}.")
    rows = _worst_rows(found, public, trials, number=worst)
    if rows and not terminal.silent:
        sampled = bool((trials != found.sizes).any())
        terminal.say()
        terminal.say("The worst groups, by how far they exceed s_g, the paper's largest size:")
        heads = (
            "group",
            "records",
            *(("sampled",) if sampled else ()),
            "largest share",
            "s_g",
            "exact limit",
        )
        terminal.table([heads, *(_shown(row, sampled=sampled) for row in rows)])
    facts = {
        "promise": {"kind": "reconstruction", "error": promise.error, "chance": promise.chance},
        "retention": retention,
        "groups": len(found.sizes),
        "records": int(found.sizes.sum()),
        **bounds,
        "worst": rows,
    }
    return _Result(facts, 0 if found.holds("exact") and found.holds("chernoff") else 1)


def _violators(rate: dict[str, Any]) -> str:
    if not rate["groups"]:
        return "no group violates it"
    return (
        f"{_number(rate['groups'], 'group')} ({rate['group_rate']:.1%} of all) with "
        f"{_number(rate['records'], 'record')} ({rate['record_rate']:.1%}) violate it"
    )


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _worst_rows(
    found: ReconstructionCheck, public: pa.Table, trials: Whole, *, number: int
) -> list[dict[str, Any]]:
    # Groups over s_g are violators by either bound; the exact ones alone come after them.
    chosen = list(dict.fromkeys([*found.worst(number, bound="chernoff"), *found.worst(number)]))[:number]
    columns = {name: texts(public[name].take(pa.array(chosen, pa.int64()))) for name in public.column_names}
    return [
        {
            "group": {name: column[at] for name, column in columns.items()},
            "records": int(found.sizes[group]),
            "sampled": int(trials[group]),
            "frequency": float(found.frequency[group]),
            "limit": float(found.chernoff_limit[group]),
            "exact_limit": int(found.exact_limit[group]),
        }
        for at, group in enumerate(chosen)
    ]


def _shown(row: dict[str, Any], *, sampled: bool) -> Sequence[str]:
    name = ", ".join(f"{key}={value}" for key, value in row["group"].items()) or "everybody"
    trials = (f"{row['sampled']:,}",) if sampled else ()
    share, limit = f"{row['frequency']:.3f}", f"{row['limit']:,.1f}"
    return (name, f"{row['records']:,}", *trials, share, limit, f"{row['exact_limit']:,}")


def _say_rho(promise: RhoPrivacy, how: str, terminal: Terminal) -> None:
    terminal.say(
        f"Promise: nobody becomes more than {promise.posterior:.4g} sure of a value that at most "
        f"{promise.prior:.4g} of the records have ({how}).",
        style="bold",
    )


def _raw_rho(groups: Groups, promise: RhoPrivacy, kept: float | None, terminal: Terminal) -> _Result:
    retention, m = 1.0 if kept is None else kept, len(groups.totals)
    found = promise.check(groups, retention=retention)
    n_protected = int((~found.unprotected).sum())
    largest = promise.retention(m)
    _say_rho(promise, "published as they are" if kept is None else f"retention {kept:.4g}", terminal)
    if n_protected:
        terminal.say(
            f"A reader becomes {found.posterior[0]:.4g} sure of one of the {n_protected:,} values so rare: "
            f"the promise is {'kept' if found.holds else 'broken'}."
        )
    else:
        terminal.say("No value is so rare: the promise protects nobody.")
    terminal.say(f"With a retention of at most {largest:.4g} it is kept whatever the records are.")
    facts = {
        "promise": {"kind": "rho", "prior": promise.prior, "posterior": promise.posterior},
        "retention": retention,
        "largest_retention": largest,
        "protected_values": n_protected,
        "posterior": float(found.posterior[0]),
        "holds": found.holds,
    }
    return _Result(facts, 0 if found.holds else 1)


def _published_tables(publication: Publication, promise: RhoPrivacy, terminal: Terminal) -> _Result:
    found = check_rho(publication, promise)
    _say_rho(promise, publication.manifest.method, terminal)
    said = {
        "holds": "It holds, whatever the records are: the retention is small enough.",
        "violated": "It is broken in a sub-table, even if its frequencies are off by four standard errors.",
        "undecided": "The publication does not contradict it. Whether it holds depends on frequencies that "
        "can only be estimated from outside; the publisher can check the records themselves.",
    }
    terminal.say(said[found.verdict])
    rows = [
        {
            "retention": float(found.retention[at]),
            "n_values": int(found.n_values[at]),
            "posterior": float(found.posterior[at]),
            "low": float(found.low[at]),
            "high": float(found.high[at]),
        }
        for at in range(len(found.retention))
    ]
    heads = ("sub-table", "retention", "values", "sure of a value, about", "between")
    lines = [
        (
            str(at),
            f"{row['retention']:.4g}",
            f"{row['n_values']:,}",
            f"{row['posterior']:.3f}",
            f"{row['low']:.3f} and {row['high']:.3f}",
        )
        for at, row in enumerate(rows, 1)
    ]
    terminal.table([heads, *lines])
    facts = {
        "promise": {"kind": "rho", "prior": promise.prior, "posterior": promise.posterior},
        "verdict": found.verdict,
        "tables": rows,
    }
    return _Result(facts, {"holds": 0, "violated": 1, "undecided": 3}[found.verdict])


def _raw_diversity(groups: Groups, promise: LDiversity, terminal: Terminal) -> _Result:
    result = _diverse(promise.check(groups), promise, terminal, what="groups")
    if (groups.totals > 0).sum() < promise.l:
        left_out = groups.records
        terminal.say(f"An anatomy cannot be made: there are fewer than {promise.l} values.")
    else:
        left_out = int((groups.totals - kept_totals(groups.totals, promise)).sum())
        more = f"after leaving out {_number(left_out, 'record')}" if left_out else "of all records"
        terminal.say(f"An anatomy with buckets of {promise.l} different values can be made {more}.")
    return _Result({**result.facts, "left_out_by_anatomy": left_out}, result.code)


def _diverse(found: DiversityCheck, promise: LDiversity, terminal: Terminal, *, what: str) -> _Result:
    terminal.say(f"Promise: no value has more than 1/{promise.l} of one of the {what}.", style="bold")
    if found.holds:
        terminal.say(f"It holds for all {len(found.sizes):,} {what}.")
    else:
        terminal.say(
            f"{int(found.violated.sum()):,} {what} ({found.group_rate:.1%} of all) with "
            f"{int(found.sizes[found.violated].sum()):,} records ({found.record_rate:.1%}) violate it."
        )
    facts = {
        "promise": {"kind": "diversity", "l": promise.l},
        "holds": found.holds,
        what: len(found.sizes),
        "group_rate": found.group_rate,
        "record_rate": found.record_rate,
    }
    return _Result(facts, 0 if found.holds else 1)
