"""The options of the command ``protect``, and the policy that they make."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter, validators

from showthrough.cli.calls import CallError
from showthrough.cli.options import OUTPUT, SCOPE, Effort, EngineOptions, Seed, Workers, WriteOptions

if TYPE_CHECKING:
    from showthrough.formats.subject import Subject
    from showthrough.tables.protect.cell_rules import CellOrder
    from showthrough.tables.protect.policy import Policy

__all__ = [
    "ProtectOptions",
    "read_options",
]

POLICY = Group("What is forbidden, and what may change", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProtectOptions(EngineOptions, WriteOptions):
    """What is forbidden, what may be changed, and where the result goes."""

    out: Annotated[Path, Parameter(group=OUTPUT, help="The folder to write the safe release to.")]
    policy: Annotated[Path | None, Parameter(group=POLICY, help="A policy.toml.")] = None
    forbid: Annotated[
        tuple[str, ...],
        Parameter(
            group=POLICY,
            help='Forbidden claims: "singletons,k>=5" (those that meet all conditions). Also '
            "multiplicity<=3, sensitive=attribute, groups, hidden, baseline<0.01. Or counts of cells: "
            '"count<=2", with zeros, suppressed, table=name, width>=3, below>=20%, above>=20%. Repeatable.',
        ),
    ] = ()
    cells: Annotated[
        Path | None,
        Parameter(
            group=POLICY,
            help="A file of cells to hide, keep, waive or withhold: columns table, cell, order, area, width, "
            "below, above, cost, reason.",
        ),
    ] = None
    flags: Annotated[
        str | None,
        Parameter(group=POLICY, help="A column of the counts file that flags cells to hide (1) or keep (z)."),
    ] = None
    keep_zeros: Annotated[bool, Parameter(negative=(), group=POLICY, help="Leave cells of 0 unchanged.")] = (
        False
    )
    moves: Annotated[
        str | None,
        Parameter(
            group=POLICY,
            help="Moves: suppress,round:5,controlled:5,merge,drop (default: suppress,drop).",
        ),
    ] = None
    same: Annotated[bool, Parameter(group=POLICY, help="Use the same moves in all areas.")] = False
    seconds: Annotated[
        float | None,
        Parameter(
            group=SCOPE,
            validator=validators.Number(gte=0),
            help="Stop improving each plan after this many seconds. The result then depends on the clock.",
        ),
    ] = None
    gap: Annotated[
        str | None,
        Parameter(
            group=SCOPE, help="Stop once a plan costs at most this much more than the lower bound: 5%."
        ),
    ] = None
    formats: Annotated[
        tuple[Literal["xlsx", "csv", "jsonstat", "sdmx"], ...],
        Parameter(
            name="--as",
            group=OUTPUT,
            help="Also write the safe tables in the formats in which offices publish: xlsx, csv, jsonstat "
            "or sdmx (default: the format they were imported from). Repeatable.",
        ),
    ] = ()
    compare: Annotated[
        bool, Parameter(group=OUTPUT, help="Also apply classical rules, and show what still follows.")
    ] = False
    workers: Workers = None
    effort: Effort = 1.0
    seed: Seed = 0

    @property
    def largest_gap(self) -> float | None:
        """The gap as a share."""
        if self.gap is None:
            return None
        match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(%?)\s*", self.gap)
        if match is None:
            raise CallError("--gap must be a share", found=self.gap, remedy="write --gap 5% or --gap 0.05")
        return float(match[1]) / (100 if match[2] else 1)


def read_options(subject: Subject, how: ProtectOptions, *, counts: Path | None, by: str | None) -> Policy:
    """The policy file, with what the other options add; flags are read from the file of ``counts``."""
    from showthrough.formats.policy_file import read_policy
    from showthrough.records import Records
    from showthrough.tables.protect.policy import Policy
    from showthrough.tables.surprise import ReferenceDistribution

    whole = subject.source if isinstance(subject.source, Records) else None
    whole = whole if whole is not None and whole.schema == subject.layout.schema else None
    reference = None if whole is None else ReferenceDistribution.of(Records(whole.schema, whole.codes))
    orders = _read_orders(subject, how, counts, by)
    if how.policy is not None:
        policy = read_policy(
            how.policy, subject.layout.schema, reference=reference, layout=subject.layout, orders=orders
        )
        policy = policy.extended(*how.forbid, moves=how.moves or ())
    elif how.forbid or any(order.order == "hide" for order in orders):
        policy = Policy.of(*how.forbid, moves=how.moves or (), reference=reference, orders=orders)
    else:
        raise CallError(
            "no forbidden claims given",
            remedy='name them with --forbid "singletons,k>=5", or give a policy file with --policy, or cells '
            "to hide with --cells",
            options={"--forbid": "singletons"},
        )
    if how.keep_zeros:
        policy = replace(policy, change=replace(policy.change, keep_zeros=True))
    return policy


def _read_orders(
    subject: Subject, how: ProtectOptions, counts: Path | None, by: str | None
) -> tuple[CellOrder, ...]:
    """What is ordered about single cells."""
    from showthrough.formats.policy_file import read_cell_orders, read_flags

    found = () if how.cells is None else read_cell_orders(how.cells, subject.layout, by=by)
    if how.flags is None:
        return found
    if counts is None:
        raise CallError(
            "--flags names a column of a file of counts, and there is none",
            found=how.flags,
            remedy="give the counts, or a file of cells with --cells",
        )
    return (*found, *read_flags(counts, subject.layout, how.flags, by=by))
