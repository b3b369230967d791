"""The options of the commands that protect tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from showthrough.cli.options import OUTPUT, Effort, Seed, Workers, Writing

__all__ = [
    "Protecting",
    "Safely",
]

POLICY = Group("What must not follow, and what may change", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Protecting(Writing):
    """What must not follow, what may be changed, and where the result goes."""

    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write the safe release to.")]
    policy: Annotated[Path | None, Parameter(group=POLICY, help="A policy.toml.")] = None
    forbid: Annotated[
        tuple[str, ...],
        Parameter(
            group=POLICY,
            help='What must not follow: "singletons,k>=5" (all conditions of one must hold). Also '
            "multiplicity<=3, sensitive=attribute, groups, hidden, baseline<0.01. Repeatable.",
        ),
    ] = ()
    moves: Annotated[
        str | None,
        Parameter(
            group=POLICY, help="What may be done: suppress,round:5,merge,drop (default: suppress,drop)."
        ),
    ] = None
    same: Annotated[bool, Parameter(group=POLICY, help="The same moves in all areas.")] = False
    compare: Annotated[
        bool, Parameter(group=OUTPUT, help="Also: what classical rules cost and still give away.")
    ] = False
    workers: Workers = None
    effort: Effort = 1.0
    seed: Seed = 0


Safely = Annotated[Protecting, Parameter(name="*")]
