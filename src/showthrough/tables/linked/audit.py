"""The audit of an area and its parts: claims about the parts, decided by the tables of all.

Where the records are not at hand, a solver finds a first dataset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, hstack, vstack

from showthrough.errors import InputError, RecordsError, Undecided
from showthrough.records import Records
from showthrough.release import UNBOUNDED
from showthrough.tables.audit import Scope, area_seed, locate
from showthrough.tables.decision import Context, Decision, context_of
from showthrough.tables.linked.claims import PartClaims, PartRecheck
from showthrough.tables.linked.decide import NestDecider, PartState, state_of
from showthrough.tables.linked.joint import expanded, joint_frame, relaxed
from showthrough.tables.linked.nest import Nest, plain_release
from showthrough.tables.linked.parts import LinkedParts, NestPart, PartBoxes, link
from showthrough.tables.linked.together import MOST_ENTRIES
from showthrough.tables.proof import NestChecker, PartChecker, Proof, Terms
from showthrough.tables.result import Audit
from showthrough.tables.search.branch import type_terms
from showthrough.tables.search.conflict import explain_conflict
from showthrough.tables.search.decider import Decider, Effort, Infeasible
from showthrough.tables.search.questions import Candidates, Questions, group_by_mask
from showthrough.tables.search.solver import Inequalities
from showthrough.tables.search.system import Conflict
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame

__all__ = [
    "audit_nest",
    "first_world",
]

Counts = NDArray[np.int64]

#: Random worlds that candidates are tried on before masks are made, as long as each makes this share fall.
_MOST_SCREENS, _SCREENED = 8, 0.02


def audit_nest(
    nest: Nest,
    *,
    truth: Mapping[str, Records] | None = None,
    scope: Scope | None = None,
    effort: float = 1.0,
    seed: int = 0,
    findings: bool = True,
) -> tuple[Audit, ...]:
    """Every claim about single records of each part that follows from the tables of all.

    Parameters
    ----------
    nest
        What is published about an area and its parts.
    truth
        The records of every part, by its name, where the publisher holds them.
    scope
        Which claims to decide.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walks.
    findings
        Whether to combine the claims into findings.

    Returns
    -------
    tuple
        One audit per part, in order. What refutes a claim are datasets of all parts.

    Raises
    ------
    Contradiction
        If no dataset agrees with all tables.
    Undecided
        If no dataset was found within the effort.

    Examples
    --------
    North has two people, South one. Only the town's table tells who is ill: all of them.

    >>> import showthrough as st
    >>> schema = st.Schema.of({"ill": ["no", "yes"]})
    >>> layout = st.Layout(schema, (st.make_table(schema, "total"), st.make_table(schema, "ill")))
    >>> any_ = (0, 2**62)
    >>> def about(area, total, no, yes):
    ...     low, high = zip(total, no, yes)
    ...     return st.Release(layout, low, high, area)
    >>> parts = about("North", (2, 2), any_, any_), about("South", (1, 1), any_, any_)
    >>> found = audit_nest(Nest(about("town", (3, 3), (0, 0), (3, 3)), parts))
    >>> [[str(v.claim.selection) for v in part.of_kind("verified")] for part in found]
    [['ill=yes'], ['ill=yes']]
    """
    scope = scope or Scope()
    if scope.absent or scope.gaps:
        raise InputError(
            "absences and impossible counts are not decided for nested areas",
            remedy="leave out --absent and --gaps, or audit the parts without their larger area",
        )
    limits, context = Effort.of(effort), context_of(nest.layout)
    try:
        linked = link(nest, context.frame, most_types=limits.types)
        starting = area_seed(seed, nest.area)
        if truth is None:
            first = first_world(linked, context.frame, limits, seed=starting)
        else:
            first = _located(linked, truth)
        search = NestDecider(linked, context.frame, limits, seed=starting, first=first)
    except Conflict as conflict:
        raise explain_conflict(plain_release(nest), conflict.cells) from None
    except Infeasible as conflict:
        proof = Proof((), 0, never=conflict.node)
        raise explain_conflict(plain_release(nest), proof.cells) from None
    return _audited(search, context, scope, findings=findings)


def _located(linked: LinkedParts, truth: Mapping[str, Records]) -> tuple[TypeCounts, ...]:
    """The types of the records of every part, which must agree with all tables."""
    nest, found = linked.nest, list[TypeCounts]()
    above = np.zeros(len(nest.whole.low), np.int64)
    for part, own in zip(linked.parts, nest.parts, strict=True):
        records = truth.get(own.area)
        if records is None:
            raise RecordsError("a part has no records", found=own.area)
        above += nest.layout.count(records.codes)
        if not bool(np.all(above <= nest.whole.high)):
            break
        found.append(TypeCounts.of_records(locate(part.system, records)))
    if not bool(np.all((nest.whole.low <= above) & (above <= nest.whole.high))):
        raise RecordsError(
            "the records of the parts do not add up to the published counts",
            found=nest.area,
            remedy="audit the counts alone, or tabulate these records",
        )
    return tuple(found)


def _audited(search: NestDecider, context: Context, scope: Scope, *, findings: bool) -> tuple[Audit, ...]:
    nest = search.linked.nest
    parts = {own.area: own.cells for own in nest.parts}
    checker = NestChecker(nest.whole.schema, nest.whole.cells, parts)
    decisions = [
        PartDecision(context, search, part, scope, checker.part(nest.names[part.number]))
        for part in search.linked.parts
    ]
    _screen(search, decisions)
    states = [decision.asked() for decision in decisions]
    search.decide(states)
    return tuple(one.audited(state, findings=findings) for one, state in zip(decisions, states, strict=True))


def _screen(search: NestDecider, decisions: Sequence[PartDecision]) -> None:
    """Let candidates fall to a few random worlds."""
    for _ in range(_MOST_SCREENS):
        if not search.wander(1):
            return
        number = search.keep(search.current)
        alive = sum(int((one.fallen < 0).sum()) for one in decisions)
        gone = sum(one.screen(search.current[one.part.number], number) for one in decisions)
        if gone < _SCREENED * alive:
            return


class PartDecision(Decision):
    """The audit of one part in progress."""

    def __init__(
        self, context: Context, search: NestDecider, part: NestPart, scope: Scope, checker: PartChecker
    ) -> None:
        self.context, self.search, self.part, self.scope = context, search, part, scope
        self.wanted = None
        self.system, self.universe = part.system, part.system.universe
        self.frame, self.n_types = self.universe.frame, len(self.universe)
        self.checker = checker
        self.recheck: PartRecheck = PartRecheck(search.linked, part.number, checker)
        self.first = search.worlds[0][part.number]
        self.candidates: Candidates = self._candidates(self.first)
        self.fallen = np.full(len(self.candidates), -1, np.int64)

    def screen(self, world: TypeCounts, number: int) -> int:
        """Let candidates fall that a world refutes; how many do."""
        alive = np.flatnonzero(self.fallen < 0)
        left = self.candidates.take(alive)
        gone = left.counts_in(self.universe.codes[world.types], world.times) != left.count
        self.fallen[alive[gone]] = number
        return int(gone.sum())

    def asked(self) -> PartState:
        """The questions that are left, and those about the whole part."""
        self.alive = np.flatnonzero(self.fallen < 0)
        self.questions: Questions = group_by_mask(self.universe, self.candidates.take(self.alive))
        words, counts = self._about_whole(self.first)
        every = np.concatenate([self.questions.words, words])
        return state_of(self.part, every, np.concatenate([self.questions.count, counts]))

    def audited(self, state: PartState, *, findings: bool) -> Audit:
        """The audit, all of whose proofs are checked."""
        self.decider = Decider(self.system, self.search.effort, seed=self.search.seed, first=self.first)
        n = len(self.questions)
        claims = self._claim_table(state, n)
        whole = state.answers.part(n, len(state.answers.state))
        every = [type_terms(self.universe, int(type_)) for type_ in self.first.types]
        nested = {question - n for question in state.linked if question >= n}
        self.recheck.about_whole(whole, [*every, ()], self.frame.names, nested)
        total, unique = self._whole(self.first, whole.state)
        found, rejected = self._checked(claims, findings=findings)
        return Audit(
            release=self.system.release,
            claim_table=claims,
            n_types=self.n_types,
            n_records=total,
            unique=unique,
            left_out=self.context.left_out,
            extra=tuple(rejected),
            findings=found,
            work=self._work() if not self.part.number else {},
            without_findings=not findings,
        )

    def _claim_table(self, state: PartState, n: int) -> PartClaims:
        question = np.full(len(self.candidates), -1, np.int64)
        question[self.alive] = self.questions.of
        answers = state.answers.part(0, n)
        nested = {at for at in state.linked if at < n}
        if self._needs_zeros():
            self.decider.shortener.stopped = True
            terms = self._terms(question, n)
            nested |= self.recheck.resting_on_whole(answers, terms, self.frame.names, nested)
        stating = self._direct(self.candidates, question, answers)
        direct = np.zeros(len(self.candidates), bool)
        direct[list(stating)] = True
        claims = PartClaims(
            system=self.system,
            pool=[world[self.part.number] for world in self.search.worlds],
            candidates=self.candidates,
            question=question,
            witness=self.fallen,
            answers=answers,
            direct=direct,
            linked=self.search.linked,
            part=self.part.number,
            nested=frozenset(nested),
            checker=self.checker,
            worlds=self.search.worlds,
        )
        self._state_directly(claims, stating)
        return claims

    def _needs_zeros(self) -> bool:
        """Whether zeros of the whole exclude record types that the part's own cells may not."""
        whole, own = self.search.linked.nest.whole, self.system.release
        return bool(((whole.high == 0) & (own.high > 0)).any())

    def _terms(self, question: Counts, n: int) -> list[list[Terms]]:
        """The selections of the claims that ask each question."""
        order = np.argsort(question, kind="stable")
        starts = np.searchsorted(question[order], np.arange(n + 1))
        schema, names = self.frame.layout.schema, self.frame.names
        values = [schema[name].values for name in names]
        found: list[list[Terms]] = []
        for a, b in pairwise(starts.tolist()):
            mine = order[a:b]
            codes = self.universe.codes[self.candidates.type[mine]].tolist()
            subsets = self.candidates.subset[mine].tolist()
            found.append(
                [
                    tuple(sorted((names[c], (values[c][row[c]],)) for c in range(len(names)) if s >> c & 1))
                    for s, row in zip(subsets, codes, strict=True)
                ]
            )
        return found

    def _work(self) -> dict[str, int]:
        search = self.search
        return {
            "steps": search.steps,
            "programs": search.programs,
            "nodes": search.nodes,
            "solves": search.solves,
        }


def first_world(linked: LinkedParts, frame: Frame, effort: Effort, *, seed: int) -> tuple[TypeCounts, ...]:
    """Records of every part that together have all published counts.

    Raises :class:`Infeasible` with a proof over all cells where there are none, and
    :class:`~showthrough.errors.Undecided` where none were found within the effort.
    """
    if linked.size > MOST_ENTRIES:
        return _by_solver(linked, effort)
    joint = relaxed(linked, PartBoxes(linked), range(len(linked.parts)), joint_frame(linked.nest, frame))
    try:
        decider = Decider(joint.system, effort, seed=seed, first=None)
    except Infeasible as conflict:
        raise Infeasible(expanded(joint, conflict.node)) from None
    found = joint.split(decider.pool[0])
    return tuple(found[at] for at in range(len(linked.parts)))


def _by_solver(linked: LinkedParts, effort: Effort) -> tuple[TypeCounts, ...]:
    """By one integer program over the classes of all parts, its rows without their zeros."""
    systems = [part.system for part in linked.parts]
    own = block_diag([csr_array(system.rows, dtype=float) for system in systems])
    above = hstack([csr_array(part.above, dtype=float) for part in linked.parts])
    rows = csr_array(vstack([own, above]))
    low = np.concatenate([*(system.low for system in systems), linked.low]).astype(float)
    high = np.concatenate([*(system.high for system in systems), linked.high])
    n = sum(system.n_classes for system in systems)
    program = Inequalities(np.zeros(n), np.zeros(n), np.full(n, np.inf))
    program.add(rows, low, np.where(high >= UNBOUNDED, np.inf, high.astype(float)))
    point, _ = program.solve_whole(np.ones(n, bool), nodes=effort.nodes)
    if point is not None:
        ends = np.cumsum([0, *(system.n_classes for system in systems)])
        counts = [np.rint(point[a:b]).astype(np.int64) for a, b in pairwise(ends.tolist())]
        sums = sum(
            (part.above.astype(np.int64) @ mine for part, mine in zip(linked.parts, counts, strict=True)),
            start=np.zeros(len(linked.cells), np.int64),
        )
        inside = (linked.low <= sums).all() and (sums <= linked.high).all()
        if inside and all(one.allows(mine) for one, mine in zip(systems, counts, strict=True)):
            pairs = zip(systems, counts, strict=True)
            return tuple(TypeCounts.of_counts(one.order[one.starts[:-1]], mine) for one, mine in pairs)
    raise Undecided(
        "no dataset of the area and its parts was found within the effort, and none was shown not to "
        "exist; raise --effort"
    )
