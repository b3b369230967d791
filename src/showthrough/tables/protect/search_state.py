"""A search for a plan: what was learnt so far, what each audit adds to it, and the lower bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.clauses import Clause
from showthrough.tables.protect.company import Company, cell_sums
from showthrough.tables.protect.hitting import cost_of
from showthrough.tables.protect.judge import Leak
from showthrough.tables.protect.limits import Clock
from showthrough.tables.protect.master import Master
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Drop, Mark, Move, Suppress
from showthrough.tables.protect.protection import PlanStep
from showthrough.tables.protect.relaxation import Relaxation, Relaxed
from showthrough.tables.protect.unsafe_plans import unsafe_plans

__all__ = [
    "SearchState",
]

#: The shares of a move above which the relaxation takes it.
_SHARES = (1e-6, 0.05, 0.1, 0.2, 0.34)

#: Clauses learnt from a plan that are enough, so that other areas are not looked at.
_ENOUGH = 40

#: Clauses taken from a plan, and from one that was thinned out too far.
_MANY, _FEW = 24, 2

#: How much areas are looked at to raise the bound, at an effort of 1.
_MOST_WORK = 250

#: Plans near the relaxation that are audited before it is solved again, and clauses that are enough.
_MOST_NEARBY, _ENOUGH_NEARBY = 24, 12

#: Rounds with light proofs at an effort of 1, clauses learnt in each (and from several areas for each of
#: them), and at most from one of several.
_LIGHT_ROUNDS, _MOST_LIGHT, _PER_AREA, _FROM_ONE = 14, 40, 3, 15

#: How much is done for light proofs at an effort of 1, in record types of programs.
_LIGHT_WORK = 3_000_000

#: How much looser than by its share each count is at first, what becomes of that when few proofs are found,
#: and the weight of the newest solution in the mean of all.
_LOOSER, _TIGHTER, _NEWEST = 2.0, 0.85, 0.5

#: The rounds over which the relaxation's rise is seen, those that it is expected to go on for, and the least
#: rise that is worth them, as a share of the value.
_SLOPE, _AHEAD, _LEAST_RISE = 3, 3, 0.002

#: Reasons named for a move.
_MOST_REASONS = 3

#: Plans audited to learn more from one plan.
_MOST_STEPS = 30


class SearchState:
    """What is known about plans: clauses, a lower bound, and the cheapest plan that is safe."""

    def __init__(
        self,
        searches: Sequence[AreaSearch],
        effort: float,
        progress: Callable[[int], None] | None,
        clock: Clock,
    ) -> None:
        self.clock, self.interrupted = clock, False
        self.checked = Fraction(0)
        self.searches = searches
        self.progress = progress
        self.costs = _summed(search.menu for search in searches)
        self.effort = effort
        self.clauses: dict[Clause, Leak] = {}
        self.assumed: list[Clause] = []
        #: The moves' numbers, and the clauses as sets of them.
        self._number = {move: at for at, move in enumerate(self.costs)}
        self._masks: list[tuple[tuple[int, ...], ...]] = []
        self.lower = Fraction(0)
        self.n_audited = self.n_relaxed = self.n_light = 0
        #: The mean of the relaxation's solutions, and how much looser than by their shares counts are now.
        self._centre: Mapping[Move, float] = {}
        self._looser = _LOOSER
        self.best: frozenset[Move] | None = None
        self.impossible = False

    @property
    def work(self) -> int:
        """How often areas were looked at, those that are much work several times."""
        return sum(search.work for search in self.searches)

    def _is_enough(self) -> bool:
        """Whether there is a safe plan, and no time or no need to look for a cheaper one."""
        if self.best is None:
            return False
        return self.clock.late or self.clock.is_near_enough(cost_of(self.best, self.costs), self.lower)

    def _note(self) -> None:
        """What is known about the cheapest plan, for those who watch; with what is withheld anyway."""
        fixed = sum((step.cost for step in self._withheld()), Fraction(0))
        cost = None if self.best is None else cost_of(self.best, self.costs) + fixed
        self.clock.note(cost, self.lower + fixed)

    @cached_property
    def fine(self) -> dict[Move, Fraction]:
        """The moves without dropped tables that may as well be suppressed cell by cell."""
        if self.searches[0].policy.change.mark != Mark():
            return self.costs
        cells = dict[str, Fraction]()
        for move, cost in self.costs.items():
            if isinstance(move, Suppress):
                cells[move.table] = cells.get(move.table, Fraction(0)) + cost
        return {
            move: cost
            for move, cost in self.costs.items()
            if not (isinstance(move, Drop) and move.table in cells and cells[move.table] <= cost)
        }

    def whole_tables(self, plan: frozenset[Move]) -> frozenset[Move]:
        """The plan with tables dropped all of whose cells it suppresses, if that costs the same."""
        for drop in (move for move in self.costs if move not in self.fine):
            cells = frozenset(
                move for move in self.fine if isinstance(move, Suppress) and move.table == drop.table
            )
            if cells <= plan and cost_of(cells, self.costs) == self.costs[drop]:
                plan = plan - cells | {drop}
        return plan

    @cached_property
    def company(self) -> Company | None:
        """What else holds for some cheapest plan."""
        return self._company(None)

    def _company(self, among: Collection[Move] | None) -> Company | None:
        sums = cell_sums(self.searches[0].planned.layout)
        return None if sums is None else Company(sums, [search.menu for search in self.searches], among)

    @cached_property
    def relaxation(self) -> Relaxation:
        """The relaxation of all conditions, of which it knows the first ones."""
        return Relaxation(Master(self.fine, self._company(self.fine.keys())))

    def _raise_bound(self, rounds: int) -> bool:
        """Add what still follows where the relaxation of all conditions takes anything of the moves.

        Returns whether the bound could rise further with more rounds.
        """
        limit = self.work + int(_MOST_WORK * self.effort)
        values, light = list[float](), int(_LIGHT_ROUNDS * self.effort)
        most = self._light_work + int(_LIGHT_WORK * self.effort)
        for _ in range(rounds + light):
            if self.assumed or self._is_enough() or self.work > limit or self._stalls(values):
                return False
            self.relaxation.add(list(self.clauses)[self.n_relaxed :])
            self.n_relaxed = len(self.clauses)
            relaxed = self.relaxation.solve()
            if relaxed is None:
                return False
            self.checked = max(self.checked, relaxed.bound)
            self.lower = max(self.lower, relaxed.bound)
            self._note()
            values.append(relaxed.value)
            if light and self._light_work < most:
                light -= 1
                if self._learn_lightly(relaxed):
                    continue
            elif self.n_light:
                return True
            if not self._learn_from(relaxed, limit):
                return False
        return True

    def _stalls(self, values: Sequence[float]) -> bool:
        """Whether the relaxation's values rise too slowly for the bound to rise in the next rounds.

        The bound is a multiple of what all plans' costs are multiples of, so it rises in steps.
        """
        if len(values) <= _SLOPE:
            return False
        rise = (values[-1] - values[-1 - _SLOPE]) / _SLOPE
        return values[-1] + _AHEAD * rise <= max(float(self.lower), values[-1] * (1 + _LEAST_RISE))

    def _learn_lightly(self, relaxed: Relaxed) -> bool:
        """Learn from proofs of which the relaxation takes little, of a few areas; whether there were any.

        What it takes changes much from one solution to the next; a mean of them is a steadier guide. Only
        if that teaches nothing more, the solution itself is one.
        """
        known, moves = len(self.clauses), {**self._centre, **relaxed.shares}
        self._centre = {
            move: (1 - _NEWEST) * self._centre.get(move, 0.0) + _NEWEST * relaxed.shares.get(move, 0.0)
            for move in moves
        }
        self._light_from(self._centre)
        if len(self.clauses) - known < self._n_light / 2:
            self._looser = max(1.0, self._looser * _TIGHTER)
        if len(self.clauses) == known:
            self._centre = dict(relaxed.shares)
            self._light_from(relaxed.shares)
        self.n_light += len(self.clauses) - known
        return len(self.clauses) > known

    @property
    def _light_work(self) -> int:
        """How much was done to find light proofs, in all areas."""
        return sum(search.light_work for search in self.searches)

    @property
    def _n_light(self) -> int:
        """The clauses learnt from light proofs at once."""
        return max(_MOST_LIGHT, _PER_AREA * len(self.searches))

    def _light_from(self, shares: Mapping[Move, float]) -> None:
        """Learn from light proofs, if so much is taken of the moves."""
        known, first = len(self.clauses), self.n_relaxed % len(self.searches)
        areas = (*self.searches[first:], *self.searches[:first])
        each = self._n_light if len(areas) == 1 else max(_FROM_ONE, self._n_light // len(areas))
        for search in areas:
            found = search.light_clauses(shares, most=each, seed=known, looser=self._looser)
            for clause, leak in found:
                self.clauses.setdefault(clause, leak)
            if len(self.clauses) - known >= self._n_light:
                return

    def _learn_from(self, relaxed: Relaxed, limit: int) -> bool:
        """Audit the moves that the relaxation takes anything of, or most of; whether that taught more."""
        known = len(self.clauses)
        for number, least in enumerate(_SHARES):
            plan = relaxed.plan(least)
            if not self._audit(plan):
                break
            self._keep(plan)
            if number == 0 and self._learn_nearby(relaxed, limit):
                return True
        return len(self.clauses) > known

    def _learn_nearby(self, relaxed: Relaxed, limit: int) -> bool:
        """Audit plans that no known dataset shows to be safe; whether there were any."""
        known, first, audited = len(self.clauses), self.n_audited % len(self.searches), 0
        for search in (*self.searches[first:], *self.searches[:first]):
            for one in () if search.near is None else unsafe_plans(search.near, relaxed.shares, seed=known):
                if (
                    audited >= _MOST_NEARBY
                    or len(self.clauses) - known >= _ENOUGH_NEARBY
                    or self.work > limit
                ):
                    return True
                found = search.audit_nearby(one)
                if found is not None:
                    audited += 1
                    self.n_audited += 1
                    self._learn(one.plan, search.clauses(found))
        return bool(audited)

    def _learn(self, plan: frozenset[Move], found: Iterable[tuple[Clause, Leak]]) -> int:
        """Keep clauses of what follows after a plan; how many."""
        learnt = 0
        for clause, leak in found:
            if clause.met_by(plan):
                raise AssertionError("a plan under which a proof was found must not break it")
            self.clauses.setdefault(clause, leak)
            learnt += 1
        return learnt

    def _audit(self, plan: frozenset[Move], *, few: bool = False) -> bool:
        """Whether nothing forbidden follows after a plan; otherwise its clauses exclude it from now on.

        With ``few`` only some of what follows becomes clauses.
        """
        clean, learnt = True, 0
        self.n_audited += 1
        for search in self._in_turn(plan, few=few):
            if not clean and (few or learnt >= _ENOUGH):
                break
            audited = search.audit_plan(plan)
            learnt += self._learn(plan, search.clauses(audited, most=_FEW if few else _MANY))
            clean &= audited.leaks.clean
            if audited.leaks.undecided and not audited.leaks.leaks:
                others = frozenset(self.costs) - plan
                self.assumed.append(Clause(frozenset({frozenset({others})} if others else ())))
        if self.progress is not None:
            self.progress(1)
        return clean

    def _in_turn(self, plan: frozenset[Move], *, few: bool) -> Sequence[AreaSearch]:
        """The areas, from another one each time; with ``few`` those first about which least is known."""
        if few and len(self.searches) > 1:
            return sorted(self.searches, key=lambda search: -search.n_open(plan))
        first = self.n_audited % len(self.searches)
        return (*self.searches[first:], *self.searches[:first])

    def _keep(self, plan: frozenset[Move]) -> None:
        if self.best is None or cost_of(plan, self.costs) < cost_of(self.best, self.costs):
            self.best = plan
            self._note()

    def _may_be_safe(self, plan: frozenset[Move]) -> bool:
        """Whether a plan meets all clauses found so far."""
        new = list(self.clauses)[len(self._masks) :]
        self._masks += [clause.masks(self._number) for clause in new]
        chosen = sum(1 << self._number[move] for move in plan)
        for facts in self._masks:
            for ways in facts:
                if all(map(chosen.__and__, ways)):
                    break
            else:
                return False
        return all(clause.met_by(plan) for clause in self.assumed)

    def _loosen(self, plan: frozenset[Move], costs: Mapping[Move, Fraction]) -> None:
        """Loosen a plan generously, again and again, until it is safe."""
        for _ in range(_MOST_STEPS):
            more = plan
            for clause in [*self.clauses, *self.assumed]:
                if not clause.met_by(more):
                    more = _extended(more, _least(clause, more, costs))
            if more == plan or self.clock.late:
                return
            plan = more
            if self._audit(plan):
                self._keep(plan)
                return

    def _withheld(self) -> list[PlanStep]:
        """What may not be published in some area, whatever is planned."""
        found = dict[Move, PlanStep]()
        for search in self.searches:
            for move, (cost, reason) in search.withheld.items():
                before = found[move].cost if move in found else Fraction(0)
                found[move] = PlanStep(
                    move, before + cost, (reason or "It may not be published.",), ordered=True
                )
        return list(found.values())

    def _purpose(self, move: Move, plan: frozenset[Move]) -> tuple[str, ...]:
        """What may follow without a move that was found in table space."""
        shown = [search for search in self.searches if plan in search.evidence]
        if not shown:
            return ()
        if any(search.is_protected(move) for search in shown):
            return ("Its count, which must stay unknown.",)
        return ("Perhaps counts that must stay unknown.",)

    def _reasons(self, plan: frozenset[Move]) -> dict[Move, tuple[str, ...]]:
        """What would follow without each move, in words: a few of them."""
        found: dict[Move, set[str]] = {}
        for clause, leak in self.clauses.items():
            for move in clause.used(plan):
                found.setdefault(move, set()).add(leak.text)
        shortest = {move: sorted(texts, key=lambda text: (len(text), text)) for move, texts in found.items()}
        return {move: tuple(texts[:_MOST_REASONS]) for move, texts in shortest.items()}


def _least(clause: Clause, plan: frozenset[Move], costs: Mapping[Move, Fraction]) -> frozenset[Move]:
    """Cheap moves that meet a clause: for each fact the cheapest of each set, then the best fact."""
    best: frozenset[Move] = frozenset()
    for ways in clause.facts:
        chosen: set[Move] = set()
        for moves in sorted(ways, key=lambda one: (len(one), sorted(map(repr, one)))):
            if not moves & (plan | chosen):
                usable = [move for move in moves if move in costs]
                chosen |= {min(usable, key=lambda move: (costs[move], repr(move)))} if usable else set()
        cheap = (cost_of(chosen, costs), sorted(map(repr, chosen)))
        if chosen and (not best or cheap < (cost_of(best, costs), sorted(map(repr, best)))):
            best = frozenset(chosen)
    return best


def _extended(plan: frozenset[Move], more: frozenset[Move]) -> frozenset[Move]:
    """Both together; where they treat a table differently, the looser or the earlier treatment."""
    found = set(plan)
    for move in sorted(more, key=repr):
        mine = [other for other in found if other.table == move.table]
        if isinstance(move, Drop):
            found.difference_update(mine)
            found.add(move)
        elif all(isinstance(other, Suppress) for other in [move, *mine]) or not mine:
            found.add(move)
    return frozenset(found)


def _summed(menus: Iterable[Menu]) -> dict[Move, Fraction]:
    """Each move's cost over all areas."""
    costs: dict[Move, Fraction] = {}
    for menu in menus:
        for move, cost in menu.moves.items():
            costs[move] = costs.get(move, Fraction(0)) + cost
    return costs
