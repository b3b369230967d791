"""The search for the cheapest safe plan: implicit hitting sets.

Choose the cheapest plan that meets all clauses found so far, audit the release after it, add the
clauses of everything forbidden that still follows, and repeat. The cost of the plan is a lower bound
in every round (see :mod:`showthrough.tables.protect.clauses`), so the first safe plan is the cheapest.

Three things make it faster. A plan that is not safe is loosened, generously, until it is: that
yields many clauses for one plan, and a safe plan early. Where cells can be suppressed and whole
tables dropped, tables are tried first. And a safe plan that is not known to be the cheapest is
thinned out: moves are taken back as long as it stays safe, in several orders, because the result
depends on the order.

With many moves the first plan comes from :mod:`datasets near the true one <.near_plan>`.

A plan is not safe while the audit cannot decide a forbidden claim. The audit is repeated with more
effort; a claim that is still undecided counts as if it followed, so that the search moves on to
other plans, but the lower bound is no longer raised.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from showthrough.tables.protect.cells.of_release import cells_of_release
from showthrough.tables.protect.cells.protect_cells import protect_cells
from showthrough.tables.protect.cells_alike import plan_alike
from showthrough.tables.protect.hitting import cheapest_plan, cost_of
from showthrough.tables.protect.moves import Drop, Move, Suppress
from showthrough.tables.protect.near_plan import better_plan, near_plan
from showthrough.tables.protect.protection import PlanStep, Protection, SafeArea, Status
from showthrough.tables.protect.search_state import SearchState

__all__ = [
    "PlanSearch",
]

#: Plans audited, per unit of effort: in all, before tables are tried first, and to thin a plan out.
_MOST, _FIRST, _THINNING = 300, 15, 700

#: How much more is done to thin a plan out for each area that it is for, at an effort of 1.
_THINNING_EACH = 100

#: Rounds with the relaxation, at an effort of 1.
_LP_ROUNDS = 20

#: How often a plan is thinned out and made again from the datasets that are known by then.
_PASSES = 3

#: How far above the bound the cost of a plan is if more is done for the bound.
_WIDE = Fraction(5, 4)

#: Moves taken back at once.
_MOST_AT_ONCE = 8

#: Orders in which moves are taken back, and how much work they may have been for one more.
_ORDERS, _LITTLE_WORK = 6, 100

#: Beyond this many cells that could be suppressed, plans are made in table space first, if they can be.
_MANY_CELLS = 100


class PlanSearch(SearchState):
    """One search for the cheapest safe plan, in progress."""

    def run(self) -> Protection:
        """Search until the cheapest safe plan is found, none can be, or the effort is spent."""
        try:
            self._run()
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.interrupted = True
        return self._result()

    def _run(self) -> None:
        most = max(4, int(_MOST * self.effort))
        whole: dict[Move, Fraction] = {
            move: cost for move, cost in self.costs.items() if isinstance(move, Drop)
        }
        if self._by_cells() or self._is_enough():
            return
        if len(self.costs) > _MANY_CELLS and (self._by_datasets() or self._by_relaxation()):
            self._refine()
            return
        finer = 0 < len(whole) < len(self.costs)
        done = self._try_cheapest(self.costs, int(_FIRST * self.effort) if finer else most)
        if not done and finer:
            self._try_cheapest(whole, self.n_audited + most // 2)
        if not done and self.best is not None:
            self._thin_out(self.best)
            self._try_cheapest(self.costs, self.n_audited + most // 20)
        if not done and self.best is None:
            self._complete()

    def _by_cells(self) -> bool:
        """A plan made in table space, where the policy is about cells; whether the search ends with it.

        It starts the search from a lower bound, whatever becomes of it. Safety rests on the audit, and on
        datasets that the tables of the release count.
        """
        search, few = self.searches[0], len(self.costs) <= _MANY_CELLS
        if len(self.searches) > 1:
            return search.policy.only_cells and self._alike(few=few)
        if few and not search.policy.only_cells:
            return False
        cells = cells_of_release(search.start, search.policy, search.world, self.costs, search.judge.needs)
        if cells is None:
            return False
        fixed = sum((step.cost for step in self._withheld()), Fraction(0))

        def improved(cost: int, bound: int, _: float) -> None:
            self.clock.note(cost * cells.unit + fixed, bound * cells.unit + fixed)

        found = protect_cells(
            cells.problem,
            effort=self.effort,
            seed=search.seed,
            seconds=self.clock.left,
            gap=self.clock.gap,
            progress=improved,
        )
        self.interrupted = found.interrupted
        self.lower = found.lower_bound * cells.unit
        self.checked = self.lower if found.bound_kind == "checked" else Fraction(0)
        plan = cells.plan(found.suppressed)
        if found.safe and search.certify(plan, cells, found) and self._audit(plan):
            self._keep(plan)
        if self.best is None:
            return not few and search.policy.only_cells and self._gives_up()
        return not few or self.interrupted or cost_of(self.best, self.costs) <= self.lower

    def _alike(self, *, few: bool) -> bool:
        """One plan for all areas, made in table space; whether the search ends with it."""
        found = plan_alike(self.searches, self.costs, effort=self.effort, clock=self.clock)
        if found is None:
            return False
        if found.plan is None:
            return not few and self._gives_up()
        self.interrupted, self.lower = found.interrupted, found.lower_bound
        self.checked = self.lower
        pairs = zip(self.searches, found.parts, strict=True)
        shown = all(part is None or search.certify(found.plan, *part) for search, part in pairs)
        if shown and self._audit(found.plan):
            self._keep(found.plan)
        return self.best is not None and (not few or self.interrupted)

    def _gives_up(self) -> bool:
        """Where nothing but counts is forbidden and no plan was found: whether there is none."""
        loosest = self._loosest()
        hopeless = [search.is_hopeless(loosest) for search in self.searches]
        self.impossible = any(hopeless)
        return True

    def _by_datasets(self) -> bool:
        """A plan made from datasets near the true one, where claims are forbidden; whether one is safe."""
        plan = near_plan(
            self.searches, self.fine, effort=self.effort, goal=self.lower, stop=lambda: self.clock.late
        )
        if plan is None:
            return False
        if self._audit(plan):
            self._keep(plan)
        else:
            self._loosen(plan, self.fine)
        return self.best is not None

    def _by_relaxation(self) -> bool:
        """A plan from the relaxation, where only cells matter and are suppressed; whether one is safe."""
        about_cells = all(search.policy.only_cells for search in self.searches)
        if self.best is not None or not about_cells or any(not isinstance(m, Suppress) for m in self.fine):
            return False
        if self._audit(frozenset()):
            self._keep(frozenset())
        self._raise_bound(int(_LP_ROUNDS * self.effort))
        if self.best is None and not self.assumed and (relaxed := self.relaxation.solve()) is not None:
            self._loosen(relaxed.plan(0.0), self.fine)
        return self.best is not None

    def _refine(self) -> None:
        """Take moves back that a safe plan does without, and raise the bound by what follows without them."""
        if self.best is None or self._is_enough():
            return
        thinning = max(4, int((_THINNING + _THINNING_EACH * len(self.searches)) * self.effort))
        rounds = int(_LP_ROUNDS * self.effort)
        if self.clock.left is not None or len(self.searches) > 1:
            self._thin_in_steps(self.best, self.work + thinning // 2)  # else the bound, which saves audits
        unfinished = self._raise_bound(rounds)
        limit = self.work + thinning
        self._thin_in_steps(self.best, limit)
        for _ in range(_PASSES):
            if self._is_enough() or not self._improve(self.best, limit):
                break
        if unfinished and len(self.searches) == 1 and cost_of(self.best, self.costs) > _WIDE * self.lower:
            self._raise_bound(rounds)
        self.best = self.whole_tables(self.best)

    def _improve(self, plan: frozenset[Move], limit: int) -> bool:
        """Make a plan again from all datasets that are known by now; whether it is cheaper."""
        other = better_plan(
            self.searches, self.fine, plan, effort=self.effort, goal=self.lower, stop=self._is_enough
        )
        if other is None or cost_of(other, self.costs) >= cost_of(plan, self.costs):
            return False
        if not self._audit(other):
            return False
        self._keep(other)
        self._thin_in_steps(other, limit)
        return True

    def _thin_in_steps(self, plan: frozenset[Move], limit: int) -> None:
        """Take moves back that a plan does without; in several orders, if that is little work.

        At first, of moves that cost the same, those come first without which known datasets refute most.
        """
        needed = {move: sum(search.n_open(plan - {move}) for search in self.searches) for move in plan}
        order = sorted(plan, key=lambda move: (-self.costs[move], needed[move], repr(move)))
        shuffle = random.Random(self.searches[0].seed).shuffle  # noqa: S311 - nothing secret
        most = min(limit, self.work + _LITTLE_WORK)
        self._take_back(plan, order, limit)
        for _ in range(1, _ORDERS):
            if self.work < most and self.searches[0].near is not None:
                shuffle(order)
                self._take_back(plan, order, limit)

    def _take_back(self, plan: frozenset[Move], left: Sequence[Move], limit: int) -> None:
        """Take moves back, more at a time while that works; the best plan is kept on the way."""
        size = 1
        while left and self.work < limit and not self._is_enough():
            rest = plan - frozenset(left[:size])
            if self._may_be_safe(rest) and self._audit(rest, few=True):
                plan, left, size = rest, left[size:], min(2 * size, _MOST_AT_ONCE)
                self._keep(plan)
            elif size == 1:
                left = left[1:]
            else:
                size = max(1, size // 4)

    def _try_cheapest(self, costs: Mapping[Move, Fraction], limit: int) -> bool:
        """Audit the cheapest plans made of some moves; returns whether the search is finished."""
        while self.n_audited < limit and not self._is_enough() and not self.clock.late:
            everything = len(costs) == len(self.costs)
            company = self.company if everything and len(costs) <= _MANY_CELLS else None
            plan = cheapest_plan([*self.clauses, *self.assumed], costs, company=company)
            if plan is None:
                self.impossible = everything and not self.assumed
                return True
            if everything and not self.assumed:
                self.lower = max(self.lower, cost_of(plan, self.costs))
                self._note()
            if self.best is not None and cost_of(self.best, self.costs) <= cost_of(plan, self.costs):
                return True
            if self._audit(plan):
                self._keep(plan)
            else:
                self._loosen(plan, costs)
        return False

    def _thin_out(self, plan: frozenset[Move]) -> None:
        """Take moves back while the plan stays safe, in one order after the other."""
        limit = self.n_audited + max(4, int(_THINNING * self.effort))
        finer = frozenset(part for move in plan for part in self._parts(move))
        if finer != plan and self._may_be_safe(finer) and self._audit(finer):
            self._keep(finer)
            plan = finer
        order = sorted(plan, key=lambda move: (-self.costs[move], repr(move)))
        shuffle = random.Random(self.searches[0].seed).shuffle  # noqa: S311 - nothing secret
        for _ in range(_ORDERS):
            self._keep(self._thinned(plan, order, limit))
            shuffle(order)

    def _thinned(self, plan: frozenset[Move], order: Sequence[Move], limit: int) -> frozenset[Move]:
        """Without moves that it is safe without, many at a time where that works."""
        parts = [order]
        while parts and self.n_audited < limit and not self._is_enough():
            part = parts.pop()
            rest = plan - frozenset(part)
            if self._may_be_safe(rest) and self._audit(rest):
                plan = rest
            elif len(part) > 1:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return plan

    def _parts(self, move: Move) -> list[Move]:
        """A dropped table as suppressed cells, if that costs no more."""
        cells: list[Move] = [m for m in self.costs if isinstance(m, Suppress) and m.table == move.table]
        if isinstance(move, Drop) and cells and cost_of(cells, self.costs) <= self.costs[move]:
            return cells
        return [move]

    def _complete(self) -> None:
        """Try the loosest plan, where no safe one was found in the time or with the effort given."""
        loosest = self._loosest()
        if self._may_be_safe(loosest) and self._audit(loosest):
            self._keep(loosest)
            self._thin_out(loosest)
        elif all(isinstance(move, Suppress | Drop) for move in self.costs):
            leaks = [search.audit_plan(loosest).leaks for search in self.searches]
            self.impossible = any(one.leaks for one in leaks)  # by proof; every other plan publishes more

    def _loosest(self) -> frozenset[Move]:
        """The most that can be done: drop every table, else suppress all its cells, else anything."""
        chosen: list[Move] = []
        by_table: dict[str, list[Move]] = {}
        for move in self.costs:
            by_table.setdefault(move.table, []).append(move)
        for moves in by_table.values():
            drops = [move for move in moves if isinstance(move, Drop)]
            cells = [move for move in moves if isinstance(move, Suppress)]
            chosen += drops[:1] or cells or moves[-1:]
        return frozenset(chosen)

    def _result(self) -> Protection:
        status: Status = "safe" if self.best is not None else "undecided"
        if self.best is None and self.impossible:
            status = "impossible"
        plan = self._loosest() if self.best is None else self.best
        areas = tuple(search.result(plan) for search in self.searches)
        if status == "safe" and not all(area.left.clean for area in areas):
            status = "undecided"
        reasons = self._reasons(plan)
        steps = [
            PlanStep(move, self.costs[move], reasons.get(move) or self._purpose(move, plan))
            for move in sorted(plan, key=repr)
        ]
        withheld = self._withheld()
        fixed = sum((step.cost for step in withheld), Fraction(0))
        steps = sorted([*steps, *withheld], key=lambda step: repr(step.move))
        work = {"clauses": len(self.clauses), "undecided_plans": len(self.assumed)}
        remains = () if status == "safe" else tuple(self._remaining(areas))
        return Protection(
            status,
            tuple(steps),
            self.lower + fixed,
            self.n_audited,
            areas,
            remains,
            work,
            interrupted=self.interrupted,
            seconds=self.clock.passed,
            improvements=tuple(self.clock.improvements),
            bound_kind="checked" if self.lower <= self.checked else "solver",
        )

    def _remaining(self, areas: Sequence[SafeArea]) -> Iterator[str]:
        """What still follows or is undecided; if nothing, the claims that cannot be hidden together."""
        named = [leak.text for area in areas for leak in area.left.leaks]
        named += [text for area in areas for text in area.left.undecided]
        every = frozenset(self.costs)
        named += [leak.text for clause, leak in self.clauses.items() if not clause.met_by(every)]
        yield from dict.fromkeys(named or [leak.text for leak in self.clauses.values()])
