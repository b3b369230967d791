"""One area during the search for a plan: its release after any plan, audited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from showthrough.errors import RecordsError, Undecided
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release
from showthrough.tables.audit import Scope, audit, start_decider
from showthrough.tables.bounds import bounds
from showthrough.tables.claims import world_of
from showthrough.tables.protect.cells.evidence import Evidence
from showthrough.tables.protect.cells.of_release import ReleaseCells
from showthrough.tables.protect.cells.result import CellPlan
from showthrough.tables.protect.clauses import Clause, Clauses
from showthrough.tables.protect.hidden_counts import HiddenCount, known_exactly
from showthrough.tables.protect.judge import Judge, Leak, Leaks
from showthrough.tables.protect.known_cells import known_cells
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Move, apply_moves
from showthrough.tables.protect.needs import needs_of, waived
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protection import SafeArea
from showthrough.tables.protect.settled import excuse, settle
from showthrough.tables.protect.withhold import without_withheld
from showthrough.tables.result import Audit
from showthrough.tables.run.batch import Area
from showthrough.tables.search.questions import VERIFIED

__all__ = [
    "AreaSearch",
    "PlanAudit",
]

#: How undecided claims are tried again: a factor on the effort, and whether from the same dataset.
_TRIES = ((1, True), (4, True), (4, False), (16, False))

Members = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class PlanAudit:
    """One area after a plan: its release, and what is forbidden and still follows.

    ``members`` are, for each cell, the planned cells that it is the sum of.
    """

    release: Release
    members: Members
    leaks: Leaks


class AreaSearch:
    """One area, with everything that stays the same during the search."""

    def __init__(self, area: Area, policy: Policy, *, effort: float, seed: int) -> None:
        self.given = area.release
        self.planned, self.withheld = without_withheld(area.release, policy)
        self.policy = policy
        self.effort = effort
        self.seed = seed
        #: Nothing but the counts of some cells is forbidden: then no claims need to be decided.
        self.before = (
            None if policy.only_cells else audit(self.planned, truth=area.truth, effort=effort, seed=seed)
        )
        if self.before is None and area.truth is not None and not area.release.agrees_with(area.truth):
            raise RecordsError(
                "the records do not have the published counts",
                remedy="protect the counts alone, or tabulate these records",
            )
        self.menu = Menu(self.planned, policy)
        self.world = self._first() if area.truth is None else area.truth
        #: Plans under which datasets show that nobody knows too much about any count.
        self.evidence = dict[frozenset[Move], Evidence]()
        #: What is known about cells under plans that cannot be made any looser.
        self.known = dict[frozenset[Move], Leaks]()
        needs = needs_of(policy, area.release, self.world, known=area.truth is not None)
        judge = Judge(policy, self.planned.schema, self.world, self._stated(), needs=needs)
        judge = settle(judge, self.planned, effort=effort, seed=seed)
        self.judge = excuse(judge, waived(policy, self.planned))

    def _first(self) -> Records:
        """Some dataset that agrees with what is planned."""
        if self.before is None:
            decider = start_decider(self.planned, truth=None, effort=self.effort, seed=self.seed)
            return world_of(decider.system, decider.pool[0]).records()
        facts = self.before.claim_table
        return world_of(facts.system, facts.pool[0]).records()

    def _stated(self) -> frozenset[str]:
        """The claims that planned cells state, as JSON."""
        if self.before is None:
            return frozenset()
        facts = self.before.claim_table
        stated = np.flatnonzero((facts.state == VERIFIED) & facts.direct)
        return frozenset(map(str, facts.wording.selections(stated).to_pylist() if len(stated) else []))

    @cached_property
    def _clauses(self) -> Clauses:
        return Clauses(self.menu, self.judge.closures)

    def clauses(self, audited: PlanAudit, *, most: int | None = None) -> Iterator[tuple[Clause, Leak]]:
        """The clause of each leak, or of some of them."""
        leaks = audited.leaks.leaks
        step = 1 if most is None else max(1, -(-len(leaks) // most))
        for leak in leaks[::step]:
            yield self._clauses.of(leak, audited.release, audited.members), leak

    def certify(self, plan: frozenset[Move], cells: ReleaseCells, found: CellPlan) -> bool:
        """Whether datasets, counted by the release's own tables, show that no count is known too well."""
        if not self.judge.needs:
            return True
        release, _ = self._after(plan, keep_tables=True)
        evidence = Evidence(cells, found.certificates, self.world, release)
        if len(evidence.shown(self.judge.needs)) < len(self.judge.needs):
            return False
        self.evidence[plan] = evidence
        return True

    def is_hopeless(self, plan: frozenset[Move]) -> bool:
        """Whether some count is known too well under the loosest plan, by proof: then it always is."""
        release, _ = self._after(plan, keep_tables=True)
        self.known[plan] = known_cells(release, self.judge.needs, effort=self.effort, seed=self.seed)
        return bool(self.known[plan].leaks)

    def audit_plan(self, plan: frozenset[Move]) -> PlanAudit:
        """Audit the release after a plan, with more effort while something forbidden is undecided."""
        release, members = self._after(plan, keep_tables=True)
        return PlanAudit(release, members, self._tried(release, self.policy.scope, plan)[1])

    def leaks(self, release: Release) -> Leaks:
        """What is forbidden and follows from a release about this area."""
        return self._tried(release, self.policy.scope)[1]

    def result(self, plan: frozenset[Move]) -> SafeArea:
        """The area before and after, with all claims decided."""
        release, _ = self._after(plan)
        after, left = self._tried(release, None if self.before is None else Scope(), plan)
        counts = tuple(self._hidden(release, plan)) if self.before is None and left.clean else ()
        if self.before is None and (plan in self.evidence or plan in self.known):
            exact = known_exactly(self.planned)
            found = Leaks((), sum(need.where in exact for need in self.judge.needs))
        else:
            found = self.judge.leaks(self.planned, self.before, effort=self.effort, seed=self.seed)
        return SafeArea(self.given, release, self.before, after, self.judge, found, left, counts)

    def _hidden(self, release: Release, plan: frozenset[Move]) -> Iterator[HiddenCount]:
        """The counts that were known too well, with two datasets that disagree on each."""
        if (evidence := self.evidence.get(plan)) is not None:
            known = known_exactly(self.planned)
            for need, counts in evidence.shown(self.judge.needs).items():
                if need.where in known:
                    yield evidence.hidden(need, counts)
            return
        for need in self.judge.needs:
            was, found = (
                bounds(one, need.where, truth=self.world, effort=self.effort, seed=self.seed)
                for one in (self.planned, release)
            )
            if not need.met_by(was.low, was.high):
                yield HiddenCount.of(need, was.low, self.judge.datasets(release, need, found))

    def _tried(
        self, release: Release, scope: Scope | None, plan: frozenset[Move] | None = None
    ) -> tuple[Audit | None, Leaks]:
        """The first audit that decides everything forbidden, or the last one tried."""
        if plan in self.known:
            return None, self.known[plan]
        judge = replace(self.judge, needs=()) if plan in self.evidence else self.judge
        found, leaks = None, Leaks((), 0)
        for factor, same in _TRIES:
            found, leaks = self._judged(judge, release, scope, factor, same=same)
            if leaks.leaks or not leaks.undecided:
                break
        return found, leaks

    def _after(self, plan: frozenset[Move], *, keep_tables: bool = False) -> tuple[Release, Members]:
        """The release after those moves of a plan that change something here.

        Keeping the layout saves work, unless nothing would be published about some attribute.
        """
        mine = [move for move in plan if move in self.menu.moves]
        mark = self.policy.change.mark
        blank = apply_moves(self.planned, mine, mark=mark, blank=True)
        return (
            blank
            if keep_tables and _covers_all_attributes(*blank)
            else apply_moves(self.planned, mine, mark=mark)
        )

    def _judged(
        self, judge: Judge, release: Release, scope: Scope | None, factor: float, *, same: bool
    ) -> tuple[Audit | None, Leaks]:
        """The audit of a release (None if the effort does not suffice), and what is forbidden and
        follows.

        ``same`` starts from the same dataset as all other audits; another one may decide more.
        """
        effort, truth, found = self.effort * factor, self.world if same else None, None
        groups = any(one.groups for one in self.policy.forbidden)  # which are read off the findings
        try:
            if scope is not None:
                found = audit(
                    release, truth=truth, scope=scope, effort=effort, seed=self.seed, findings=groups
                )
            return found, judge.leaks(release, found, effort=effort, seed=self.seed)
        except Undecided as error:
            return found, Leaks((), 0, (f"Undecided: {error}.",))


def _covers_all_attributes(release: Release, members: Members) -> bool:
    """Whether the tables are the same as before and something is published about every attribute."""
    layout = release.layout
    published = np.flatnonzero((release.low > 0) | (release.high < UNBOUNDED)).tolist()
    named = {name for at in published for name in layout.selections[at].attributes}
    once = {name for selection in layout.selections for name in selection.attributes}
    return named == once and all(len(one) == 1 for one in members)
