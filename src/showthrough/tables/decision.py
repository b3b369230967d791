"""How one area is decided: candidates from one world become verdicts and findings, all checked again."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Layout, pack, unpack
from showthrough.selection import Selection
from showthrough.tables.claims import Claim, Finding, Verdict
from showthrough.tables.findings import collect_findings
from showthrough.tables.proof import Leaf
from showthrough.tables.recheck import Recheck
from showthrough.tables.result import Audit, ClaimTable
from showthrough.tables.search.branch import type_terms
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.implied import Closures, Margins, forget_all
from showthrough.tables.search.questions import (
    REFUTED,
    VERIFIED,
    Answers,
    Candidates,
    candidates_of,
    group_by_mask,
    make_lattice,
)
from showthrough.tables.search.shorten import n_cells
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.universe import Frame, make_frame

if TYPE_CHECKING:
    from showthrough.tables.audit import Scope

__all__ = [
    "Context",
    "Decision",
    "context_of",
]


class Context:
    """What all areas of one layout share."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.closures = Closures(layout.schema)
        self.margins = Margins(layout, self.closures)
        self.closed_keys: dict[int, tuple[int, ...] | None] = {}
        self.left_out = tuple(name for name in layout.schema.names if name not in set(self.frame.names))

    @cached_property
    def frame(self) -> Frame:
        """All attributes something is known about, in growth order."""
        return make_frame(self.layout)


@lru_cache(maxsize=16)
def context_of(layout: Layout) -> Context:
    """The shared part, made once per layout."""
    return Context(layout)


#: Random worlds that candidates are tried on before masks are made, as long as each makes this
#: share of them fall.
_MOST_SCREENS, _SCREENED = 12, 0.02


class Decision:
    """One audit in progress.

    With ``wanted``, the keys of some claims, only these are decided, and nothing about the whole area.
    """

    def __init__(
        self, context: Context, decider: Decider, scope: Scope, wanted: NDArray[np.uint64] | None = None
    ) -> None:
        self.context = context
        self.decider = decider
        self.scope = scope
        self.wanted = wanted
        self.n_types = len(decider.system.universe)
        for _ in range(2):
            if decider.wander(3):
                decider.keep(decider.current)
        decider.reduce()
        self.system = decider.system
        self.universe = decider.system.universe
        self.frame = decider.system.universe.frame
        self.recheck = Recheck(decider.system.release)

    def audit(self, *, findings: bool) -> Audit:
        """Decide everything in the scope."""
        first = self.decider.pool[0]
        claims, whole = self._claims(first)
        extra = [self.recheck.verdict(verdict) for verdict in (*self._absences(), *self._gaps())]
        found, rejected = self._checked(claims, findings=findings)
        extra += rejected
        every = _every_record(claims.candidates, first, len(self.frame.names))
        total, unique = self._whole(first, np.concatenate([claims.state[every], whole.state]))
        return Audit(
            release=self.system.release,
            claim_table=claims,
            n_types=self.n_types,
            n_records=total,
            unique=unique,
            left_out=self.context.left_out,
            extra=tuple(extra),
            findings=found,
            work=self._work(),
            without_findings=not findings,
        )

    def _checked(self, claims: ClaimTable, *, findings: bool) -> tuple[tuple[Finding, ...], list[Verdict]]:
        """The findings, after all proofs were checked, and verdicts on proofs that were rejected.

        A rejected proof is a bug, but nothing may rest on it: so findings are collected again, and
        with long proofs, the first time that there is one.
        """
        closures, margins, shortener = self.context.closures, self.context.margins, self.decider.shortener
        while True:
            found = collect_findings(claims, self.decider, closures, margins) if findings else ()
            all_hold = self.recheck.claims(claims)
            found, rejected = self.recheck.findings(found)
            if all_hold and (not rejected or shortener.stopped):
                return found, rejected
            shortener.stopped = True
            claims.short.clear()

    def _claims(self, first: TypeCounts) -> tuple[ClaimTable, Answers]:
        """The claims' columns, and answers about the whole area that no claim gives."""
        candidates = self._candidates(first)
        alive, fallen = self._screen(candidates)
        questions = group_by_mask(self.universe, candidates.take(alive))
        words, counts = self._about_whole(first)
        if claimed := len(_every_record(candidates, first, len(self.frame.names))):
            words, counts = words[claimed:], counts[claimed:]
        asked = self.decider.ask(
            np.concatenate([questions.words, words]), np.concatenate([questions.count, counts])
        )
        answers, whole = asked.part(0, len(questions)), asked.part(len(questions), len(asked.state))
        question = np.full(len(candidates), -1, np.int64)
        question[alive] = questions.of
        stating = self._direct(candidates, question, answers)
        direct = np.zeros(len(candidates), bool)
        direct[list(stating)] = True
        claims = ClaimTable(
            system=self.system,
            pool=self.decider.pool,
            candidates=candidates,
            question=question,
            witness=fallen,
            answers=answers,
            direct=direct,
        )
        self._state_directly(claims, stating)
        if self.wanted is None:
            every = [type_terms(self.universe, int(type_)) for type_ in first.types[claimed:]]
            self.recheck.whole(whole, [*every, ()], self.frame.names)
        return claims, whole

    def _assignments(self, world: TypeCounts) -> Candidates:
        """Every partial assignment in the scope that a record of a world has."""
        sizes = self.frame.sizes
        largest = self.scope.max_columns or len(sizes)
        lattice = make_lattice(sizes, len(world.types), self.scope.min_columns, largest)
        return candidates_of(lattice, self.universe, world)

    def _candidates(self, first: TypeCounts) -> Candidates:
        found = self._assignments(first)
        if self.wanted is not None:
            found = found.take(np.isin(found.keys, self.wanted))
        if self.scope.multiplicity is None:
            return found
        low, high = self.scope.multiplicity
        return found.take((found.count >= low) & (found.count <= high))

    def _screen(self, candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Candidates that a few random worlds leave standing, and for each the world it fell to."""
        fallen = np.full(len(candidates), -1, np.int64)
        for _ in range(_MOST_SCREENS):
            alive = np.flatnonzero(fallen < 0)
            if not len(alive) or not self.decider.wander(3):
                break
            world = self.decider.current
            left = candidates.take(alive)
            gone = left.counts_in(self.universe.codes[world.types], world.times) != left.count
            if gone.any():
                fallen[alive[gone]] = self.decider.keep(world)
            if gone.sum() < _SCREENED * len(alive):
                break
        return np.flatnonzero(fallen < 0), fallen

    def _direct(
        self, candidates: Candidates, question: NDArray[np.int64], answers: Answers
    ) -> dict[int, int]:
        """The claims that one exact cell states, given only the rules, each with that cell."""
        stated, found = self._stating_cells(answers), dict[int, int]()
        settled = np.flatnonzero(np.isin(question, list(stated)))
        keys, of = candidates.keys[settled].tolist(), question[settled].tolist()
        known = self.context.closed_keys if candidates.lattice.exact else {}
        for at, key, asked in zip(settled.tolist(), keys, of, strict=True):
            closure = known[key] if key in known else self._closure(candidates, at)
            cell = stated[asked].get(closure)
            if cell is not None:
                found[at] = cell
        return found

    def _state_directly(self, claims: ClaimTable, stating: dict[int, int]) -> None:
        """Give claims that a cell states that cell as their proof, where their question has a longer one."""
        made = dict[int, tuple[Leaf, Leaf]]()
        ends = zip(claims.answers.at_least, claims.answers.at_most, strict=True)
        long_ = {question for question, pair in enumerate(ends) if n_cells(*pair) > 1}
        for at, cell in stating.items():
            if int(claims.question[at]) in long_:
                if cell not in made:
                    count = int(self.system.release.low[cell])
                    made[cell] = Leaf(((cell, 1),), (), 1, count), Leaf(((cell, -1),), (), 1, -count)
                claims.short[at] = made[cell]

    def _closure(self, candidates: Candidates, at: int) -> tuple[int, ...] | None:
        """A claim's closure, which is remembered for all areas of the layout."""
        key, known = int(candidates.keys[at]), self.context.closed_keys
        codes, subset = self.universe.codes[candidates.type[at]].tolist(), int(candidates.subset[at])
        allowed = self.context.closures.everything()
        for column, attribute in enumerate(self.frame.over):
            if subset >> column & 1:
                allowed[attribute] = 1 << codes[column]
        forget_all(known)
        known[key] = self.context.closures.close(allowed)
        return known[key]

    def _stating_cells(self, answers: Answers) -> dict[int, dict[tuple[int, ...] | None, int]]:
        """For questions settled by one cell: closure → exact cell with that mask."""
        found: dict[int, dict[tuple[int, ...] | None, int]] = {}
        settled = [at for at, stage in enumerate(answers.stage) if stage == "cell"]
        if not settled:
            return found
        release = self.system.release
        exact = np.flatnonzero((release.low == release.high) & (release.high > 0))
        exact = exact[~np.isin(exact, release.layout.sums)]
        member = self.universe.times_counted(exact)
        by_mask: dict[bytes, list[int]] = {}
        for cell, packed in zip(exact, pack(member.T.astype(bool)), strict=True):
            by_mask.setdefault(packed.tobytes(), []).append(int(cell))
        for at in settled:
            cells = by_mask.get(answers.words[at].tobytes(), [])
            terms = self.frame.layout.terms
            found[at] = {self.context.closures.of(terms[cell][0][1]): cell for cell in reversed(cells)}
        return found

    def _about_whole(self, first: TypeCounts) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """One question per distinct record, and one about the number of records."""
        if self.wanted is not None:
            return pack(np.zeros((0, len(self.universe)), bool)), np.zeros(0, np.int64)
        masks = np.zeros((len(first.types) + 1, len(self.universe)), bool)
        masks[np.arange(len(first.types)), first.types] = True
        masks[-1] = True
        return pack(masks), np.append(first.times, len(first))

    def _whole(self, first: TypeCounts, states: NDArray[np.int8]) -> tuple[int | None, bool | None]:
        """The number of records if it follows, and whether the area is unique."""
        if self.wanted is not None:
            return None, None
        total = len(first) if states[-1] == VERIFIED else None
        if (states == REFUTED).any() or (self.context.left_out and len(first)):
            return total, False
        return total, True if (states == VERIFIED).all() else None

    def _absences(self) -> list[Verdict]:
        if not self.scope.absent:
            return []
        from showthrough.tables.search.ranges import Absences

        largest = min(self.scope.max_columns or len(self.frame.sizes), len(self.frame.sizes))
        closures = self.context.closures
        return list(Absences(self.decider, closures, largest, self.scope.min_columns).verdicts())

    def _gaps(self) -> list[Verdict]:
        """Impossible counts of every selection some type matches; equal masks are asked once."""
        if not self.scope.gaps:
            return []
        from showthrough.tables.search.ranges import impossible, range_of

        every = self._assignments(TypeCounts.of_records(np.arange(len(self.universe))))
        questions = group_by_mask(self.universe, every)
        found: list[Verdict] = []
        for number, words in enumerate(questions.words):
            mask = unpack(words[None, :], len(self.universe))[0].astype(bool)
            members = np.flatnonzero(questions.of == number)
            named = [self._selection(every, int(at)) for at in members]
            for one in impossible(self.decider, range_of(self.decider, named[0]), mask):
                found += [_about(one, selection) for selection in named]
        return found

    def _selection(self, candidates: Candidates, at: int) -> Selection:
        schema, names = self.frame.layout.schema, self.frame.names
        codes, subset = self.universe.codes[candidates.type[at]], int(candidates.subset[at])
        return Selection.of(
            {n: schema[n].values[int(codes[c])] for c, n in enumerate(names) if subset >> c & 1}
        )

    def _work(self) -> dict[str, int]:
        work = self.decider.work
        return {
            "steps": work.steps,
            "programs": work.programs,
            "nodes": work.nodes,
            "solves": work.solves,
            **{f"by {stage or 'nothing'}": n for stage, n in sorted(work.stages.items())},
        }


def _every_record(candidates: Candidates, first: TypeCounts, n_columns: int) -> NDArray[np.int64]:
    """The claims about all columns, if there is one for every distinct record of the world; else none."""
    found = np.flatnonzero(candidates.subset == (1 << n_columns) - 1)
    return found if len(found) == len(first.types) else found[:0]


def _about(verdict: Verdict, selection: Selection) -> Verdict:
    """The same verdict for another selection with the same record types."""
    proof = None if verdict.proof is None else replace(verdict.proof, selection=selection.terms)
    return replace(verdict, claim=Claim(selection, verdict.claim.multiplicity), proof=proof)
