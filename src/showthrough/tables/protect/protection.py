"""The result of protecting: the plan with its reasons, the safe releases, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute

from showthrough.errors import InputError
from showthrough.export import Tabular
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.claims import KINDS, World, world_of
from showthrough.tables.protect.hidden_counts import HiddenCount, compare_counts
from showthrough.tables.protect.judge import Judge, Leaks
from showthrough.tables.protect.limits import Improvement, gap_between
from showthrough.tables.protect.moves import Move, move_from_plain, move_to_plain
from showthrough.tables.result import Audit
from showthrough.tables.search.questions import REFUTED, UNDECIDED
from showthrough.tables.stored import texts
from showthrough.text import html_summary, several

__all__ = [
    "COMPARISON_COLUMNS",
    "BoundKind",
    "PlanStep",
    "Protection",
    "SafeArea",
    "Status",
    "at_cost",
    "cost_from_plain",
    "cost_to_plain",
]

COMPARISON_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("selection", pa.string()),
        ("k", pa.int32()),
        ("multiplicity", pa.int64()),
        ("forbidden", pa.bool_()),
        ("before", pa.string()),
        ("after", pa.string()),
        ("sentence", pa.string()),
    ]
)

#: The plan of a protection as a table.
PLAN_COLUMNS = pa.schema(
    [
        ("move", pa.string()),
        ("kind", pa.string()),
        ("table", pa.string()),
        ("cost", pa.float64()),
        ("reasons", pa.list_(pa.string())),
    ]
)

Status = Literal["safe", "impossible", "undecided"]

#: Whether a lower bound was checked exactly, or reported by a solver, not proved.
BoundKind = Literal["checked", "solver"]

#: Moves that a repr lists.
_MOST_SHOWN = 10

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


@dataclass(frozen=True)
class PlanStep:
    """One move of a plan.

    Parameters
    ----------
    move
        What is changed.
    cost
        What it costs.
    reasons
        Some of the forbidden claims whose proofs it breaks: what would follow without it.
    ordered
        Whether the policy orders it: the cell may not be published.
    """

    move: Move
    cost: Fraction
    reasons: tuple[str, ...] = ()
    ordered: bool = False

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **move_to_plain(self.move),
            "cost": cost_to_plain(self.cost),
            "reasons": list(self.reasons),
            **({"ordered": True} if self.ordered else {}),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PlanStep:
        """Read what :meth:`to_plain` gave."""
        ordered = bool(plain.get("ordered", False))
        return cls(move_from_plain(plain), cost_from_plain(plain["cost"]), tuple(plain["reasons"]), ordered)


def at_cost(cost: Fraction, lower: Fraction, kind: BoundKind) -> str:
    """The cost of a safe plan and a lower bound on it; a bound that only a solver reports is marked.

    >>> at_cost(Fraction(7), Fraction(7), "checked")
    'at a cost of 7; no safe plan costs less'
    >>> at_cost(Fraction(7), Fraction(6), "solver")
    'at a cost of 7; no safe plan costs less than 6 (reported by a solver, not proved)'
    """
    than = "" if cost == lower else f" than {float(lower):g}"
    word = " (reported by a solver, not proved)" if kind == "solver" and lower > 0 else ""
    return f"at a cost of {float(cost):g}; no safe plan costs less{than}{word}"


def cost_to_plain(cost: Fraction) -> int | float:
    """A cost as JSON has it: whole where it is whole."""
    return int(cost) if cost.denominator == 1 else float(cost)


def cost_from_plain(number: float) -> Fraction:
    """A cost that JSON has."""
    return Fraction(number)


@dataclass(frozen=True, eq=False, repr=False)
class SafeArea(Tabular):
    """One area before and after its moves.

    Parameters
    ----------
    planned, release
        The release as it was planned, and after the moves.
    before, after
        The audits of the two; ``after`` is None where the effort did not suffice for it.
    judge
        Applies the policy to this area.
    found, left
        What is forbidden and followed from the planned release, and what still follows or is
        undecided.
    counts
        Where only counts of cells are forbidden, those that were known before, with their evidence; then
        there are no audits of claims.
    """

    planned: Release
    release: Release
    before: Audit | None
    after: Audit | None
    judge: Judge
    found: Leaks
    left: Leaks
    counts: tuple[HiddenCount, ...] = ()

    def __repr__(self) -> str:
        where = f" {self.area!r}" if self.area else ""
        return (
            f"SafeArea{where}: {self.found.n_forbidden:,} forbidden before, {self.left.n_forbidden:,} after"
        )

    def to_arrow(self) -> pa.Table:
        """The claims before and after: :attr:`comparison`."""
        return self.comparison

    @property
    def area(self) -> str:
        """The area's name."""
        return self.planned.area

    @cached_property
    def comparison(self) -> pa.Table:
        """Every claim that followed (or was not decided) before: whether it is forbidden, and what
        became of it."""
        if self.before is None:
            return compare_counts(self.counts, self.planned.schema, self.area, COMPARISON_COLUMNS)
        facts = self.before.claim_table
        which = np.flatnonzero(facts.state != REFUTED)
        claims = facts.wording.table(which, self.area)
        unseen = UNDECIDED if self.after is None else REFUTED
        after = [self._after.get(text, unseen) for text in texts(claims["selection"])]
        table = pa.Table.from_arrays(
            [
                *(claims[name] for name in ("area", "selection", "k", "multiplicity")),
                pa.array(self.judge.forbids(facts, which)),
                claims["verdict"],
                pa.array([KINDS[state] for state in after], pa.string()),
                claims["sentence"],
            ],
            schema=COMPARISON_COLUMNS,
        )
        by_text = [(name, "ascending") for name in ("k", "selection")]
        return table.take(pc.sort_indices(table, sort_keys=by_text)).combine_chunks()

    @cached_property
    def _after(self) -> dict[str, int]:
        """Claims' selections after → what became of them."""
        if self.after is None:
            return {}
        facts = self.after.claim_table
        if not len(facts.candidates):
            return {}
        named = facts.wording.selections(np.arange(len(facts.candidates)))
        return {str(text): int(state) for text, state in zip(named, facts.state, strict=True)}

    @cached_property
    def _counts(self) -> dict[Selection, HiddenCount]:
        return {one.need.where: one for one in self.counts}

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {text: at for at, text in enumerate(self._after)}

    def hidden(self) -> Iterator[tuple[Selection, int]]:
        """The forbidden claims that followed before and no longer do."""
        rows = self.comparison
        gone = rows.filter(pc.and_(rows["forbidden"], pc.equal(rows["after"], "refuted")))
        for text, m in zip(texts(gone["selection"]), gone["multiplicity"].to_numpy(), strict=True):
            yield Selection.from_json(text), int(m)

    def disagreement(self, selection: Selection) -> tuple[World, World]:
        """Two datasets that agree with the safe release and have different counts of these records."""
        if (hidden := self._counts.get(selection)) is not None:
            return hidden.worlds
        if self.after is None:
            raise InputError(
                "the release after the moves was not audited", found=self.area, remedy="raise the effort"
            )
        at = self._positions.get(selection.to_json())
        if at is not None and self.after.claim_table.state[at] == REFUTED:
            return self.after.claim_table.disagreeing(at)
        facts, world = self.after.claim_table, World(self.planned.schema, self.judge.world.codes)
        free = [name for name in selection.attributes if name in self.after.left_out]
        other = self._without(selection, free[0]) if free else world_of(facts.system, facts.pool[0])
        if world.count(selection) == other.count(selection):
            raise InputError("no two datasets are known that disagree on this count", found=str(selection))
        return world, other

    def _without(self, selection: Selection, free: str) -> World:
        """The dataset with another value of an attribute nothing is known about: nobody matches."""
        schema, codes = self.planned.schema, self.judge.world.codes.astype(np.uint16)
        other = next(value for value in schema[free].values if value not in selection[free])
        codes[:, schema.index[free]] = schema[free].code(other)
        return World(schema, codes)


@dataclass(frozen=True, eq=False, repr=False)
class Protection(Tabular):
    """A plan for one area, or one plan for several.

    Parameters
    ----------
    status
        ``safe`` if nothing forbidden follows any more (each area's audit shows it), ``impossible`` if
        no plan within the policy achieves that, ``undecided`` if none was found within the effort.
    steps
        The moves of the plan, each with its cost and reasons.
    lower_bound
        No safe plan costs less than this. A plan at this cost is the cheapest.
    rounds
        How many plans were audited.
    areas
        The areas before and after; where the plan is not safe, after the most that was tried.
    remains
        What still follows, or is undecided, in words.
    work
        How much work the search did.
    interrupted
        Whether the search was interrupted: then this is the best safe plan found so far.
    seconds
        How long the search took.
    improvements
        How the plan became cheaper and the lower bound higher.
    bound_kind
        Whether the lower bound was ``checked`` exactly, or only reported by a ``solver``.
    """

    status: Status
    steps: tuple[PlanStep, ...]
    lower_bound: Fraction
    rounds: int
    areas: tuple[SafeArea, ...]
    remains: tuple[str, ...] = ()
    work: dict[str, int] = field(default_factory=dict[str, int])
    interrupted: bool = False
    seconds: float = 0.0
    improvements: tuple[Improvement, ...] = ()
    bound_kind: BoundKind = "solver"

    def __repr__(self) -> str:
        shown = "".join(f"\n  {step.move}" for step in self.steps[:_MOST_SHOWN])
        more = len(self.steps) - _MOST_SHOWN
        return f"Protection: {self._title}{shown}" + (f"\n  … and {more:,} more" if more > 0 else "")

    def _repr_html_(self) -> str:
        """The plan, for notebooks."""
        rows = [[str(step.move), f"{float(step.cost):g}", "; ".join(step.reasons[:1])] for step in self.steps]
        note = "; ".join(self.remains[:_MOST_SHOWN])
        return html_summary(self._title, [["move", "cost", "because otherwise"], *rows], note=note)

    @property
    def _title(self) -> str:
        n_moves = several(len(self.steps), "move")
        if not self.safe:
            return f"{self.status}, {several(len(self.remains), 'forbidden claim')} left after {n_moves}"
        return f"safe, {n_moves} {at_cost(self.cost, self.lower_bound, self.bound_kind)}"

    def to_arrow(self) -> pa.Table:
        """The plan, one row per move: ``move``, ``kind``, ``table``, ``cost`` and ``reasons``."""
        rows = [
            {
                "move": str(step.move),
                "kind": type(step.move).__name__.lower(),
                "table": step.move.table,
                "cost": float(step.cost),
                "reasons": list(step.reasons),
            }
            for step in self.steps
        ]
        return pa.Table.from_pylist(rows, PLAN_COLUMNS)

    @property
    def safe(self) -> bool:
        """Whether nothing forbidden follows any longer."""
        return self.status == "safe"

    @property
    def plan(self) -> frozenset[Move]:
        """The moves."""
        return frozenset(step.move for step in self.steps)

    @property
    def cost(self) -> Fraction:
        """What the plan costs."""
        return sum((step.cost for step in self.steps), Fraction(0))

    @property
    def optimal(self) -> bool:
        """Whether no safe plan is cheaper."""
        return self.safe and self.cost == self.lower_bound

    @property
    def gap(self) -> Fraction | None:
        """How much more the plan costs than the lower bound, as a share of it; None if that is not known."""
        return gap_between(self.cost, self.lower_bound) if self.safe else None

    @property
    def release(self) -> Release:
        """The safe release of the first area."""
        return self.areas[0].release
