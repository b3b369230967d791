"""One area during the search for a plan: its release after any plan, audited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import RecordsError, Undecided
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release
from showthrough.tables.audit import Scope, audit, context_of, start_decider
from showthrough.tables.bounds import bounds
from showthrough.tables.claims import world_of
from showthrough.tables.decision import Decision
from showthrough.tables.protect.cells.evidence import CellEvidence
from showthrough.tables.protect.cells.of_release import ReleaseCells
from showthrough.tables.protect.cells.result import CellPlan
from showthrough.tables.protect.clauses import Clause, Clauses
from showthrough.tables.protect.hidden_counts import HiddenCount, known_exactly
from showthrough.tables.protect.judge import Judge, Leak, Leaks
from showthrough.tables.protect.known_cells import known_cells
from showthrough.tables.protect.light_proofs import ClaimSet, LightProofs
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Drop, Mark, Move, Suppress, apply_moves
from showthrough.tables.protect.near_counts import near_counts
from showthrough.tables.protect.near_datasets import NearDatasets
from showthrough.tables.protect.needs import needs_of, waived
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protection import SafeArea
from showthrough.tables.protect.settled import excuse, settle
from showthrough.tables.protect.statements import legal_types
from showthrough.tables.protect.unsafe_plans import UnsafePlan
from showthrough.tables.protect.withhold import without_withheld
from showthrough.tables.result import Audit
from showthrough.tables.run.batch import Area
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.questions import VERIFIED
from showthrough.tables.search.universe import TooManyTypes, grow

__all__ = [
    "AreaSearch",
    "PlanAudit",
]

#: How undecided claims are tried again: a factor on the effort, and whether from the same dataset.
_TRIES = ((1, True), (4, True), (4, False), (16, False))

#: The forbidden claims of an area that is little work.
_LIGHT = 6_000

#: Claims that are decided first: if one of them follows, a plan is not safe.
_SOME = 32

#: Changes that are possible in an area with too many record types to list, at most.
_MOST_WIDE = 100

#: Claims that are looked at for each clause that is wanted.
_TRIED = 4

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

    def __init__(
        self, area: Area, policy: Policy, *, effort: float, seed: int, start: Release | None = None
    ) -> None:
        self.given = area.release
        self.planned, self.withheld = without_withheld(area.release, policy)
        #: What moves are applied to: what is planned, unless all of it is rounded first.
        self.start = self.planned if start is None else start
        self.policy = policy
        self.effort = effort
        self.seed = seed
        #: How much was done to decide claims after plans, for limits that do not depend on the clock.
        self.work = 0
        self.menu = Menu(self.start, policy, self.planned)
        #: Nothing but the counts of some cells is forbidden: then no claims need to be decided.
        self.before = None if policy.only_cells else self._first_audit(area.truth)
        if self.before is None and area.truth is not None and not area.release.agrees_with(area.truth):
            raise RecordsError(
                "the records do not have the published counts",
                remedy="protect the counts alone, or tabulate these records",
            )
        self.world = self._first() if area.truth is None else area.truth
        #: Plans under which datasets show that nobody knows too much about any count.
        self.evidence = dict[frozenset[Move], CellEvidence]()
        #: What is known about cells under plans that cannot be made any looser.
        self.known = dict[frozenset[Move], Leaks]()
        #: Datasets that are known, which refute what a plan lets them.
        self.near: NearDatasets | None = None
        needs = needs_of(policy, area.release, self.world, known=area.truth is not None)
        judge = Judge(policy, self.planned.schema, self.world, self._stated(), needs=needs)
        judge = settle(judge, self.planned, effort=effort, seed=seed)
        self.judge = excuse(judge, waived(policy, self.planned))

    def _first_audit(self, truth: Records | None) -> Audit:
        """All claims about what is planned; refused where plans could not be searched for in useful time."""
        if len(self.menu.moves) > _MOST_WIDE:
            most, frame = Effort.of(self.effort).types, context_of(self.planned.layout).frame
            try:
                grow(frame, self.planned, most=most)
            except TooManyTypes:
                raise Undecided(
                    f"no plan is searched for: more than {most:,} record types are possible, and "
                    f"{len(self.menu.moves):,} changes; forbid counts of cells instead of claims "
                    "(count<=2), allow only whole tables to be dropped, or protect fewer columns together"
                ) from None
        return audit(
            self.planned, truth=truth, effort=self.effort, seed=self.seed, findings=self._about_groups
        )

    @property
    def _about_groups(self) -> bool:
        """Whether groups are forbidden, which are read off the findings."""
        return any(one.groups for one in self.policy.forbidden)

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
        evidence = CellEvidence(cells, found.certificates, self.world, release)
        if len(evidence.shown(self.judge.needs)) < len(self.judge.needs):
            return False
        self.evidence[plan] = evidence
        return True

    @cached_property
    def _protected(self) -> frozenset[Move]:
        """The suppressions of cells whose own counts must stay unknown."""
        needed = {need.where for need in self.judge.needs}
        cells = zip(self.planned.layout.names, self.planned.layout.selections, strict=True)
        return frozenset(Suppress(*named) for named, selection in cells if selection in needed)

    def is_protected(self, move: Move) -> bool:
        """Whether a move suppresses a cell whose own count must stay unknown."""
        return move in self._protected

    def is_hopeless(self, plan: frozenset[Move]) -> bool:
        """Whether some count is known too well under the loosest plan, by proof: then it always is."""
        release, _ = self._after(plan, keep_tables=True)
        self.known[plan] = known_cells(release, self.judge.needs, effort=self.effort, seed=self.seed)
        return bool(self.known[plan].leaks)

    def audit_plan(self, plan: frozenset[Move]) -> PlanAudit:
        """Audit the release after a plan, with more effort while something forbidden is undecided."""
        release, members = self._after(plan, keep_tables=True)
        same = release.layout is self.planned.layout
        for most in (_SOME, None):
            wanted = self._not_refuted(plan) if same else None
            if wanted is not None and not len(wanted):
                return PlanAudit(release, members, Leaks((), 0))
            some = wanted if wanted is None or most is None else _spread(wanted, most)
            found, leaks = self._tried(release, self.policy.scope, plan, some)
            if self.near is not None and some is not None and found is not None:
                self.near.learn(found.claim_table)
            if not leaks.clean or wanted is None or some is None or len(some) == len(wanted):
                break
        return PlanAudit(release, members, leaks)

    def audit_nearby(self, one: UnsafePlan) -> PlanAudit | None:
        """Decide some claims that no known dataset refutes after a plan; None if that cannot be done."""
        if self.near is None or self.before is None or not self.before.claim_table.candidates.lattice.exact:
            return None
        claims = np.flatnonzero(~self.near.refuted(one.plan))
        release = self._blanked(move for move in one.plan if move in self.menu.moves)
        if not len(claims) or not _covers_all_attributes(release, self._attributes):
            return None
        some = [one.claim] if one.claim in claims else []
        some += claims[[0, len(claims) // 2, -1]].tolist()[len(some) :]
        keys = self.before.claim_table.candidates.keys[self.forbidden[np.unique(some)]]
        found, leaks = self._judged(self.judge, release, self.policy.scope, 1, keys, same=True)
        if found is not None:
            self.near.learn(found.claim_table)
        return PlanAudit(release, self._members, leaks)

    @cached_property
    def _light(self) -> LightProofs | None:
        """Light proofs of the forbidden claims; None where there are too many record types."""
        if self.before is None or self.start is not self.planned or self.planned.layout.sums:
            return None
        known = self.before.claim_table.system.universe
        types = legal_types(self.planned.layout, frozenset(known.frame.names), self._clauses.support.closed)
        if types is None:
            return None
        candidates = self.before.claim_table.candidates.take(self.forbidden)
        claims = ClaimSet(candidates, known.codes, known.frame.names)
        return LightProofs(self.planned, types, claims, self._clauses)

    @property
    def light_work(self) -> int:
        """How much was done to find light proofs."""
        return 0 if self._light is None else self._light.work

    def light_clauses(
        self, shares: Mapping[Move, float], *, most: int, seed: int, looser: float = 1.0
    ) -> Iterator[tuple[Clause, Leak]]:
        """Clauses of forbidden claims that rest on facts of which the relaxation takes little."""
        if self.before is None or self._light is None:
            return
        hardest = np.arange(len(self.forbidden)) if self.near is None else self.near.hardest
        claims = np.random.default_rng([seed, 31]).permutation(hardest)[: _TRIED * most]
        for claim, clause in self._light.clauses_at(shares, claims.tolist(), most=most, looser=looser):
            known = self.before.claim_table.claim(int(self.forbidden[claim]))
            text = known.sentence(self.planned.schema)
            yield clause, Leak(text, (), known.selection, known.multiplicity)

    @cached_property
    def forbidden(self) -> NDArray[np.int64]:
        """The claims that must not follow, by position among those that hold in the first dataset."""
        if self.before is None:
            return np.zeros(0, np.int64)
        facts = self.before.claim_table
        return np.flatnonzero(self.judge.forbids(facts, np.arange(len(facts.state))))

    @cached_property
    def weight(self) -> int:
        """How much work it is to look at this area once, for limits that do not depend on the clock."""
        return 1 + len(self.forbidden) // _LIGHT

    def n_open(self, plan: frozenset[Move]) -> int:
        """How many forbidden claims no known dataset refutes after a plan."""
        if self.near is None:
            return len(self.forbidden)
        return int(np.count_nonzero(~self.near.refuted(plan)))

    def _not_refuted(self, plan: frozenset[Move]) -> NDArray[np.uint64] | None:
        """The keys of forbidden claims that no dataset near the first one refutes; None: decide them all."""
        if self.near is None or self.before is None:
            return None
        candidates = self.before.claim_table.candidates
        if not candidates.lattice.exact:
            return None
        return candidates.keys[self.forbidden[~self.near.refuted(plan)]]

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
        shown, known = near_counts(release, self.world, self.judge.needs), known_exactly(self.planned)
        for need in self.judge.needs:
            if need in shown and need.where in known:
                yield HiddenCount.of(need, shown[need][0].count(need.where), shown[need])
                continue
            was, found = (
                bounds(one, need.where, truth=self.world, effort=self.effort, seed=self.seed)
                for one in (self.planned, release)
            )
            if not need.met_by(was.low, was.high):
                yield HiddenCount.of(need, was.low, self.judge.datasets(release, need, found))

    def _tried(
        self,
        release: Release,
        scope: Scope | None,
        plan: frozenset[Move] | None = None,
        wanted: NDArray[np.uint64] | None = None,
    ) -> tuple[Audit | None, Leaks]:
        """The first audit that decides everything forbidden (or what is wanted), or the last one tried."""
        if plan in self.known:
            return None, self.known[plan]
        judge = replace(self.judge, needs=()) if plan in self.evidence else self.judge
        found, leaks = None, Leaks((), 0)
        for factor, same in _TRIES:
            found, leaks = self._judged(judge, release, scope, factor, wanted, same=same)
            if leaks.leaks or not leaks.undecided:
                break
        return found, leaks

    def _after(self, plan: frozenset[Move], *, keep_tables: bool = False) -> tuple[Release, Members]:
        """The release after those moves of a plan that change something here.

        Keeping the layout saves work, unless nothing would be published about some attribute.
        """
        mine = [move for move in plan if move in self.menu.moves]
        mark = self.policy.change.mark
        if keep_tables:
            simple = all(isinstance(move, Suppress | Drop) for move in mine)
            whole = None if simple else apply_moves(self.start, mine, mark=mark, blank=True)[0]
            blank = self._blanked(mine) if whole is None else whole
            if blank.layout is self.planned.layout and _covers_all_attributes(blank, self._attributes):
                return blank, self._members
        return apply_moves(self.start, mine, mark=mark)

    def _blanked(self, moves: Iterable[Move]) -> Release:
        """The release with the marks of suppressed cells, and with nothing in tables that are dropped."""
        start, mark, chosen = self.start, self.policy.change.mark, list(moves)
        low, high = start.low.copy(), start.high.copy()
        cells = [at for move in chosen for at in self._cells_of[move]]
        low[cells], high[cells] = 0, UNBOUNDED
        for move in chosen if mark != Mark() else ():
            for at in self._cells_of[move] if isinstance(move, Suppress) else ():
                shown = mark.of(int(start.low[at]), int(start.high[at]))
                low[at], high[at] = shown or (0, UNBOUNDED)
        return Release(start.layout, low, high, start.area)

    @cached_property
    def _cells_of(self) -> dict[Move, list[int]]:
        """The cells that each suppression or dropped table hides."""
        found: dict[Move, list[int]] = {}
        for at, (table, cell) in enumerate(self.planned.layout.names):
            found.setdefault(Drop(table), []).append(at)
            found[Suppress(table, cell)] = [at]
        return found

    @cached_property
    def _members(self) -> Members:
        return tuple((at,) for at in range(len(self.planned.low)))

    @cached_property
    def _attributes(self) -> NDArray[np.bool_]:
        """Cell × attribute: which attributes each cell restricts."""
        schema, selections = self.planned.schema, self.planned.layout.selections
        found = np.zeros((len(selections), len(schema.attributes)), bool)
        for at, selection in enumerate(selections):
            found[at, [schema.index[name] for name in selection.attributes]] = True
        return found

    def _judged(
        self,
        judge: Judge,
        release: Release,
        scope: Scope | None,
        factor: float,
        wanted: NDArray[np.uint64] | None,
        *,
        same: bool,
    ) -> tuple[Audit | None, Leaks]:
        """The audit of a release (None if the effort does not suffice), and what is forbidden and
        follows.

        ``same`` starts from the same dataset as all other audits; another one may decide more.
        """
        self.work += self.weight
        effort, truth, found = self.effort * factor, self.world if same else None, None
        try:
            if scope is not None and wanted is not None:
                decider = start_decider(release, truth=truth, effort=effort, seed=self.seed)
                found = Decision(context_of(release.layout), decider, scope, wanted).audit(findings=False)
            elif scope is not None:
                found = audit(
                    release,
                    truth=truth,
                    scope=scope,
                    effort=effort,
                    seed=self.seed,
                    findings=self._about_groups,
                )
            return found, judge.leaks(release, found, effort=effort, seed=self.seed)
        except Undecided as error:
            return found, Leaks((), 0, (f"Undecided: {error}.",))


def _spread(keys: NDArray[np.uint64], most: int) -> NDArray[np.uint64]:
    """Some of the keys, from the first to the last."""
    if len(keys) <= most:
        return keys
    return keys[np.linspace(0, len(keys) - 1, most).round().astype(np.int64)]


def _covers_all_attributes(release: Release, attributes: NDArray[np.bool_]) -> bool:
    """Whether something is published about every attribute that cells restrict."""
    published = (release.low > 0) | (release.high < UNBOUNDED)
    return bool((attributes[published].any(axis=0) == attributes.any(axis=0)).all())
