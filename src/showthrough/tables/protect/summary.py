"""A plan in figures: what it costs, what it changes, and how many claims it hides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.tables.protect.limits import gap_between
from showthrough.tables.protect.moves import Drop, Merge, Move, Round, Suppress
from showthrough.tables.protect.protection import (
    BoundKind,
    PlanStep,
    Protection,
    SafeArea,
    Status,
    at_cost,
    cost_from_plain,
    cost_to_plain,
)
from showthrough.text import percent, several

__all__ = [
    "ClaimCounts",
    "PlanSummary",
    "Waiver",
    "headline",
    "what_is_special",
    "what_was_done",
]


@dataclass(frozen=True)
class ClaimCounts:
    """How many claims followed in one area before, and how many follow after.

    ``steps_and_intervals_before`` counts group disclosures and narrow intervals that were forbidden,
    ``counts_before`` the counts of cells where these alone are forbidden (then no claims are decided),
    ``already_out`` all that is forbidden and follows from tables that are already out: it is not among the
    others.
    """

    area: str
    followed_before: int
    follow_after: int
    forbidden_before: int
    forbidden_after: int
    steps_and_intervals_before: int
    allowed_but_lost: int
    already_out: int = 0
    counts_before: int = 0

    @classmethod
    def of(cls, area: SafeArea, comparison: pa.Table) -> ClaimCounts:
        """Counted over an area's comparison."""
        if area.before is None:
            out = area.judge.settled.n_forbidden
            return cls(area.area, 0, 0, 0, 0, 0, 0, out, area.found.n_forbidden)
        forbidden = np.asarray(comparison["forbidden"].to_pylist(), bool)
        before, after = (
            np.asarray([verdict == "verified" for verdict in comparison[name].to_pylist()], bool)
            for name in ("before", "after")
        )
        n_forbidden = int((before & forbidden).sum())
        return cls(
            area.area,
            int(before.sum()),
            int((before & after).sum()),
            n_forbidden,
            int((after & forbidden).sum()),
            area.found.n_forbidden - n_forbidden,
            int((before & ~after & ~forbidden).sum()),
            area.judge.settled.n_forbidden,
        )


@dataclass(frozen=True)
class Waiver:
    """A cell that stays published although a rule forbids what it states, and why."""

    area: str
    table: str
    cell: str
    reason: str

    def __str__(self) -> str:
        where = f" in {self.area}" if self.area else ""
        return f"{self.cell} of {self.table}{where} ({self.reason})"

    @classmethod
    def all_of(cls, area: SafeArea) -> list[Waiver]:
        """The waivers for an area."""
        orders = area.judge.policy.orders_of(area.area)
        return [cls(area.area, one.table, one.cell, one.reason) for one in orders if one.order == "waive"]


@dataclass(frozen=True)
class PlanSummary:
    """A plan for one or several areas, as ``moves.json`` has it.

    ``remains`` lists what still follows, or is undecided, where the plan is not safe; ``bound_kind`` says
    whether the lower bound was checked exactly or only reported by a solver.
    """

    areas: tuple[str, ...]
    status: Status
    cost: Fraction
    lower_bound: Fraction
    plans_audited: int
    steps: tuple[PlanStep, ...]
    remains: tuple[str, ...]
    claims: tuple[ClaimCounts, ...]
    waivers: tuple[Waiver, ...] = ()
    bound_kind: BoundKind = "solver"

    @classmethod
    def of(cls, found: Protection, claims: Sequence[ClaimCounts]) -> PlanSummary:
        """The figures of a protection."""
        return cls(
            tuple(area.area for area in found.areas),
            found.status,
            found.cost,
            found.lower_bound,
            found.rounds,
            found.steps,
            found.remains,
            tuple(claims),
            tuple(waiver for area in found.areas for waiver in Waiver.all_of(area)),
            found.bound_kind,
        )

    @property
    def optimal(self) -> bool:
        """Whether no safe plan is cheaper."""
        return self.status == "safe" and self.cost == self.lower_bound

    @property
    def gap(self) -> Fraction | None:
        """How much more the plan costs than the lower bound, as a share of it; None if that is not known."""
        return gap_between(self.cost, self.lower_bound) if self.status == "safe" else None

    @property
    def where(self) -> str:
        """The area, if there is only one and it has a name."""
        return self.areas[0] if len(self.areas) == 1 else ""

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "areas": list(self.areas),
            "status": self.status,
            "cost": cost_to_plain(self.cost),
            "lower_bound": cost_to_plain(self.lower_bound),
            "bound": self.bound_kind,
            "gap": None if self.gap is None else float(self.gap),
            "optimal": self.optimal,
            "plans_audited": self.plans_audited,
            "moves": [step.to_plain() for step in self.steps],
            "remains": list(self.remains),
            "claims": [asdict(counts) for counts in self.claims],
            "waivers": [asdict(waiver) for waiver in self.waivers],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PlanSummary:
        """Read what :meth:`to_plain` gave."""
        return cls(
            tuple(plain["areas"]),
            plain["status"],
            cost_from_plain(plain["cost"]),
            cost_from_plain(plain["lower_bound"]),
            int(plain["plans_audited"]),
            tuple(PlanStep.from_plain(step) for step in plain["moves"]),
            tuple(plain["remains"]),
            tuple(ClaimCounts(**counts) for counts in plain["claims"]),
            tuple(Waiver(**waiver) for waiver in plain.get("waivers", ())),
            plain.get("bound", "solver"),
        )


#: How much the sentences about what was done list.
_MOST_NAMED = 8


def what_was_done(plans: Sequence[PlanSummary]) -> list[str]:
    """What safe plans change, a sentence for each kind of change.

    >>> from showthrough.tables.protect.moves import Suppress
    >>> steps = [PlanStep(Suppress("sex", cell), Fraction(1)) for cell in ("sex=f", "sex=m")]
    >>> what_was_done([PlanSummary(("a",), "safe", Fraction(2), Fraction(2), 1, tuple(steps), (), ())])
    ['Suppressed: 2 cells, of sex.']
    """
    found: dict[type[Move], Counter[str]] = {kind: Counter() for kind in (Suppress, Round, Merge, Drop)}
    for plan in plans:
        for step in plan.steps:
            found[type(step.move)][_changed_part(step.move)] += len(plan.areas)
    cells, n_areas = found.pop(Suppress), sum(len(plan.areas) for plan in plans)
    lines = list[str]()
    if cells:
        many = len(cells) > 1
        named = [f"{name} ({number:,})" if many else name for name, number in sorted(cells.items())]
        lines.append(f"Suppressed: {several(cells.total(), 'cell')}, of {_listed(named)}.")
    for kind, verb in ((Round, "Rounded"), (Merge, "Merged"), (Drop, "Not published")):
        named = [
            name if number == n_areas else f"{name} (in {number:,} of {n_areas:,} areas)"
            for name, number in sorted(found[kind].items())
        ]
        lines += [f"{verb}: {_listed(named)}."] if named else []
    return lines


def what_is_special(plans: Sequence[PlanSummary]) -> list[str]:
    """How far from the cheapest plans may be, and which cells are waived, in sentences.

    >>> waiver = Waiver("", "sex", "sex=f", "out since May")
    >>> plan = PlanSummary(("",), "safe", Fraction(21), Fraction(20), 1, (), (), (), (waiver,))
    >>> [line.replace("\xa0", " ") for line in what_is_special([plan])]
    ['The plan costs at most 5 % more than the cheapest one.', 'Waived: sex=f of sex (out since May).']
    """
    cost, lower = (sum((getattr(plan, of) for plan in plans), Fraction(0)) for of in ("cost", "lower_bound"))
    gap, lines = gap_between(cost, lower), list[str]()
    if gap:
        plan = "The plan costs" if len(plans) == 1 else "The plans cost"
        lines.append(f"{plan} at most {percent(float(gap), 1)} more than the cheapest one.")
    waivers = [waiver for plan in plans for waiver in plan.waivers]
    if waivers:
        lines.append(f"Waived: {_listed([str(waiver) for waiver in waivers])}.")
    return lines


def _changed_part(move: Move) -> str:
    if isinstance(move, Round):
        return f"{move.table} to multiples of {move.base:,}{' that add up' if move.controlled else ''}"
    return f"{move.attribute} in {move.table}" if isinstance(move, Merge) else move.table


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def headline(plans: Sequence[PlanSummary]) -> str:
    """What safe plans hide and what that costs, in a sentence."""
    counts = [one for plan in plans for one in plan.claims]
    if out := sum(one.already_out for one in counts):
        return f"{_changed(plans, new=True)} {already_out(out)}"
    return _changed(plans)


def already_out(number: int) -> str:
    """That something forbidden follows from tables that are already out.

    >>> already_out(1)
    'Already out: 1 forbidden claim follows from the earlier tables alone, whatever is done to the new ones.'
    """
    verb = "follows" if number == 1 else "follow"
    what = several(number, "forbidden claim")
    return f"Already out: {what} {verb} from the earlier tables alone, whatever is done to the new ones."


def _changed(plans: Sequence[PlanSummary], *, new: bool = False) -> str:
    counts = [one for plan in plans for one in plan.claims]
    hidden = sum(one.forbidden_before for one in counts)
    others = sum(one.steps_and_intervals_before for one in counts)
    cells = sum(one.counts_before for one in counts)
    if not hidden + others + cells:
        safe = "The new tables add nothing forbidden" if new else "Safe as planned: nothing forbidden follows"
        if any(plan.steps for plan in plans):  # cells that may not be published anyway
            return f"{safe.replace(' as planned', '')}, {_at_cost(plans)}."
        return f"{safe}, and nothing was changed."
    parts = [several(hidden, "forbidden claim")] if hidden else []
    parts += [f"{others:,} forbidden group disclosures and intervals"] if others else []
    counts_of = "the count of" if cells == 1 else "the counts of"
    parts += [f"{counts_of} {several(cells, 'protected cell')}"] if cells else []
    verb = "follows" if hidden + others + cells == 1 else "follow"
    safe = "The new tables add nothing forbidden" if new else "Safe"
    return f"{safe}: {' and '.join(parts)} no longer {verb}, {_at_cost(plans)}."


def _at_cost(plans: Sequence[PlanSummary]) -> str:
    cost = sum((plan.cost for plan in plans), Fraction(0))
    lower = sum((plan.lower_bound for plan in plans), Fraction(0))
    by_solver = any(plan.bound_kind == "solver" and plan.lower_bound > 0 for plan in plans)
    return at_cost(cost, lower, "solver" if by_solver else "checked")
