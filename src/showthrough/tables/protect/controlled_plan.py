"""Plans that round all tables together, so that they still add up, and hide more where that is not enough.

Such a plan rounds first; what is forbidden and still follows from the rounded tables is hidden by suppressing
cells and dropping tables. It competes with the plans that do not round.

Of all roundings in which the tables add up, only the nearest one is tried. Another one might need fewer other
moves, so the lower bound takes rounding to be enough, and where the nearest one is not safe, it stays
undecided whether another one is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from showthrough.errors import Undecided
from showthrough.release import Release
from showthrough.tables.protect.change import Change
from showthrough.tables.protect.controlled import controlled_rounding
from showthrough.tables.protect.limits import Clock, Improvement
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Drop, Round
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protection import PlanStep, Protection
from showthrough.tables.protect.withhold import without_withheld
from showthrough.tables.run.batch import Area

__all__ = [
    "RoundingToo",
    "SearchFrom",
]

#: Reasons named for rounding.
_MOST_REASONS = 3


class SearchFrom(Protocol):
    """A search for the cheapest plan without controlled rounding."""

    def __call__(self, policy: Policy, clock: Clock, starts: Sequence[Release | None]) -> Protection:
        """Search among plans for what is planned, or for the ``starts`` that it was rounded to."""
        ...


@dataclass(frozen=True, eq=False)
class RoundingToo:
    """The search for the cheapest plan where all tables may be rounded together."""

    areas: Sequence[Area]
    policy: Policy
    search: SearchFrom
    clock: Clock
    effort: float

    def run(self) -> Protection:
        """The cheapest plan found, rounded or not."""
        half = None if self.clock.left is None else self.clock.left / 2
        clock = Clock(half, self.clock.gap, self._note_plain)
        plain = self.search(
            self._without("suppress", "round", "merge", "drop"), clock, [None] * len(self.areas)
        )
        if not self.prices:
            return plain
        fixed = sum((step.cost for step in plain.steps if step.ordered), Fraction(0))
        bound = self._least + fixed
        if plain.status != "impossible":
            bound = min(bound, plain.lower_bound)
        tried, notes = [plain], list[str]()
        try:
            for base, prices in self.prices.items():
                if plain.interrupted or (plain.safe and self._is_enough(tried, bound)):
                    break
                made = self._rounded(base, prices, tried, bound)
                if made is None:
                    notes.append(
                        f"No rounding to multiples of {base:,} was found in which the tables add up."
                    )
                else:
                    tried.append(made)
        except KeyboardInterrupt:
            if not plain.safe:
                raise
            tried[0] = replace(plain, interrupted=True)
        return self._chosen(tried, bound, notes)

    def _without(self, *kinds: str) -> Policy:
        """The policy with moves of some kinds only."""
        change = self.policy.change
        kept = tuple(kind for kind in change.kinds if kind in kinds)
        return replace(self.policy, change=replace(change, kinds=kept, controlled=()))

    @cached_property
    def _planned(self) -> list[Release]:
        return [without_withheld(area.release, self.policy)[0] for area in self.areas]

    @cached_property
    def prices(self) -> dict[int, dict[str, Fraction]]:
        """Base → the tables that can be rounded in all areas, and what that costs."""
        found = dict[int, dict[str, Fraction]]()
        for base in self.policy.change.controlled:
            costs = self._costs(Change(("round",), (base,)))
            if costs:
                found[base] = costs
        return found

    def _costs(self, kind: Change) -> dict[str, Fraction]:
        """What one kind of move costs, by table, where all areas allow it."""
        change = replace(self.policy.change, kinds=kind.kinds, bases=kind.bases, controlled=())
        menus = [Menu(planned, replace(self.policy, change=change)).moves for planned in self._planned]
        common = [move for move in menus[0] if all(move in menu for menu in menus)]
        return {move.table: sum((menu[move] for menu in menus), Fraction(0)) for move in common}

    @cached_property
    def _least(self) -> Fraction:
        """What a plan that rounds costs at least: each table is rounded or dropped."""
        drops = self._costs(Change(("drop",))) if "drop" in self.policy.change.kinds else {}
        return min(
            sum((min(price, drops.get(table, price)) for table, price in prices.items()), Fraction(0))
            for prices in self.prices.values()
        )

    def _is_enough(self, tried: Sequence[Protection], bound: Fraction) -> bool:
        best = min(one.cost for one in tried if one.safe)
        return best <= bound or self.clock.late or self.clock.is_near_enough(best, bound)

    def _note_plain(self, made: Improvement) -> None:
        bound = min(made.lower_bound, self._least) if self.prices else made.lower_bound
        self.clock.note(made.cost, bound)

    def _rounded(
        self, base: int, prices: Mapping[str, Fraction], tried: Sequence[Protection], bound: Fraction
    ) -> Protection | None:
        """The plan that rounds first; None if no rounding was found."""
        price = sum(prices.values(), Fraction(0))
        before = min((one.cost for one in tried if one.safe), default=None)

        def note(made: Improvement) -> None:
            if made.cost is not None and (before is None or made.cost + price < before):
                self.clock.note(made.cost + price, bound)

        keep = {table.name for table in self.areas[0].release.tables} - prices.keys()
        try:
            made = [controlled_rounding(one, base, keep=keep, effort=self.effort) for one in self._planned]
        except Undecided:
            return None
        starts = [one.release for one in made if one is not None]
        if len(starts) < len(made):
            return None
        clock = Clock(self.clock.left, self.clock.gap, note)
        found = self.search(self._without("suppress", "drop"), clock, starts)
        dropped = {step.move.table for step in found.steps if isinstance(step.move, Drop)}
        texts = {leak.text for area in found.areas for leak in area.found.leaks}
        alone = all(step.ordered for step in found.steps)
        reasons = sorted(texts, key=lambda text: (len(text), text))[:_MOST_REASONS] if alone else ()
        steps = [
            PlanStep(Round(table, base, controlled=True), cost, tuple(reasons))
            for table, cost in prices.items()
            if table not in dropped
        ]
        status = "undecided" if found.status == "impossible" else found.status
        steps = sorted([*steps, *found.steps], key=lambda step: repr(step.move))
        return replace(found, steps=tuple(steps), status=status)

    def _chosen(self, tried: Sequence[Protection], bound: Fraction, notes: Sequence[str]) -> Protection:
        """The cheapest safe plan; without one the last that was tried."""
        safe = [one for one in tried if one.safe]
        best = min(safe, key=lambda one: one.cost) if safe else tried[-1]
        status = best.status if best.safe else "undecided"
        return replace(
            best,
            status=status,
            lower_bound=bound,
            rounds=sum(one.rounds for one in tried),
            remains=() if best.safe else (*notes, *best.remains),
            work={name: sum(one.work.get(name, 0) for one in tried) for name in best.work},
            interrupted=any(one.interrupted for one in tried),
            seconds=self.clock.passed,
            improvements=tuple(self.clock.improvements),
            bound_kind=tried[0].bound_kind,
        )
