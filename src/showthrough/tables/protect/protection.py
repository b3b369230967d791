"""What protecting gives: the plan with its reasons, the safe releases, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute

from showthrough.errors import InputError
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.claims import KINDS, World, world_of
from showthrough.tables.protect.leaks import Judge, Leaks
from showthrough.tables.protect.moves import Move
from showthrough.tables.result import Audit
from showthrough.tables.search.answers import REFUTED, UNDECIDED
from showthrough.tables.surprise import texts
from showthrough.text import html_summary

__all__ = [
    "COMPARISON_COLUMNS",
    "PlanStep",
    "Protection",
    "SafeArea",
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

Status = Literal["safe", "impossible", "undecided"]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


@dataclass(frozen=True)
class PlanStep:
    """A move of a plan, what it costs, and what would otherwise follow: some of the forbidden
    things whose proof it breaks."""

    move: Move
    cost: Fraction
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SafeArea:
    """One area before and after. ``found`` is what is forbidden and followed from the planned release,
    ``left`` what still follows, or is not decided; there is no audit after where the effort did not
    suffice for one."""

    planned: Release
    release: Release
    before: Audit
    after: Audit | None
    judge: Judge
    found: Leaks
    left: Leaks

    @property
    def area(self) -> str:
        """The area's name."""
        return self.planned.area

    @cached_property
    def comparison(self) -> pa.Table:
        """Every claim that followed (or was not decided) before: whether it is forbidden, and what
        became of it."""
        facts = self.before.facts
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
        facts = self.after.facts
        if not len(facts.candidates):
            return {}
        named = facts.wording.selections(np.arange(len(facts.candidates)))
        return {str(text): int(state) for text, state in zip(named, facts.state, strict=True)}

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {text: at for at, text in enumerate(self._after)}

    def hidden(self) -> Iterator[tuple[Selection, int]]:
        """The forbidden claims that followed before and do not any more."""
        rows = self.comparison
        gone = rows.filter(pc.and_(rows["forbidden"], pc.equal(rows["after"], "refuted")))
        for text, m in zip(texts(gone["selection"]), gone["multiplicity"].to_numpy(), strict=True):
            yield Selection.from_json(text), int(m)

    def disagreement(self, selection: Selection) -> tuple[World, World]:
        """Two datasets that agree with the safe release and have different counts of these records."""
        if self.after is None:
            raise InputError("the release after the plan was not audited", found=self.area)
        at = self._positions.get(selection.to_json())
        if at is not None and self.after.facts.state[at] == REFUTED:
            return self.after.facts.disagreeing(at)
        facts, world = self.after.facts, World(self.planned.schema, self.judge.world.codes)
        free = [name for name in selection.attributes if name in self.after.left_out]
        other = self._without(selection, free[0]) if free else world_of(facts.system, facts.pool[0])
        if world.count(selection) == other.count(selection):
            raise InputError("no two datasets are known that disagree on this", found=str(selection))
        return world, other

    def _without(self, selection: Selection, free: str) -> World:
        """The dataset with another value of an attribute nothing is known about: nobody matches."""
        schema, codes = self.planned.schema, self.judge.world.codes.astype(np.uint16)
        other = next(value for value in schema[free].values if value not in selection[free])
        codes[:, schema.index[free]] = schema[free].code(other)
        return World(schema, codes)


@dataclass(frozen=True, eq=False)
class Protection:
    """A plan for one area, or one plan for several.

    ``status`` is ``safe`` if nothing forbidden follows any more (each area's audit shows it),
    ``impossible`` if no plan within the policy achieves that, and ``undecided`` if none was found
    within the effort. No safe plan costs less than ``lower_bound``; where the plan's cost is equal
    to it, it is the cheapest. For what is not safe, the areas show what remains after the most that
    was tried, and ``remains`` says it in words.
    """

    status: Status
    steps: tuple[PlanStep, ...]
    lower_bound: Fraction
    rounds: int
    areas: tuple[SafeArea, ...]
    remains: tuple[str, ...] = ()
    work: dict[str, int] = field(default_factory=dict[str, int])

    def _repr_html_(self) -> str:
        """The plan, for notebooks."""
        rows = [[str(step.move), f"{float(step.cost):g}", "; ".join(step.reasons[:1])] for step in self.steps]
        bound = (
            "no safe plan costs less" if self.optimal else f"at least {float(self.lower_bound):g} is needed"
        )
        title = f"{self.status.capitalize()}: {len(rows):,} moves at a cost of {float(self.cost):g}; {bound}"
        note = "; ".join(self.remains[:10])
        return html_summary(title, [["move", "cost", "because otherwise"], *rows], note=note)

    @property
    def safe(self) -> bool:
        """Whether nothing forbidden follows any more."""
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
    def release(self) -> Release:
        """The safe release of the first area."""
        return self.areas[0].release
