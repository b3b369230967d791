"""Every claim about one area as columns: what became of it, and the evidence behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.audit.answers import REFUTED, UNDECIDED, VERIFIED, Answers
from showthrough.audit.claims import Candidates
from showthrough.audit.proof import Proof
from showthrough.audit.result import KINDS, Claim, Verdict, World, world_of
from showthrough.audit.system import System
from showthrough.audit.wording import Wording
from showthrough.schema import Selection

__all__ = ["Facts"]


@dataclass(frozen=True, eq=False)
class Facts:
    """Claims as columns. ``question[i]`` indexes ``answers``; −1 fell to ``witness[i]`` before."""

    system: System
    pool: Sequence[NDArray[np.int64]]
    candidates: Candidates
    question: NDArray[np.int64]
    witness: NDArray[np.int64]
    answers: Answers
    direct: NDArray[np.bool_]
    n_tables: NDArray[np.int64]

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """Per claim: verified, refuted or undecided."""
        asked = np.append(self.answers.state, np.int8(REFUTED))
        return asked[self.question]

    @cached_property
    def codes(self) -> NDArray[np.uint16]:
        """Per claim the codes of a type that has its values."""
        return self.system.universe.codes[self.candidates.type]

    @cached_property
    def k(self) -> NDArray[np.int64]:
        """Per claim the number of its columns."""
        return np.bitwise_count(self.candidates.subset).astype(np.int64)

    def columns_of(self, at: int) -> list[int]:
        """The columns a claim is about."""
        subset = int(self.candidates.subset[at])
        return [c for c in range(len(self.system.universe.frame.names)) if subset >> c & 1]

    def terms(self, at: int) -> dict[str, str]:
        """A claim's attributes and values."""
        frame = self.system.universe.frame
        schema = frame.layout.schema
        names = frame.names
        return {names[c]: schema[names[c]].values[int(self.codes[at, c])] for c in self.columns_of(at)}

    def claim(self, at: int) -> Claim:
        """One claim."""
        return Claim(Selection.of(self.terms(at)), int(self.candidates.count[at]))

    def evidence(self, at: int) -> str:
        """What settled a claim."""
        question = int(self.question[at])
        stage = "worlds" if question < 0 else self.answers.stage[question]
        if self.state[at] == UNDECIDED:
            return stage if stage == "solver only" else "effort"
        return stage

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim (of one end, if it is undecided); None if there is none."""
        question = int(self.question[at])
        if question < 0 or self.state[at] == REFUTED:
            return None
        claim = self.claim(at)
        made = Proof(
            claim.selection.terms,
            claim.multiplicity,
            at_least=self.answers.at_least[question],
            at_most=self.answers.at_most[question],
            over=self.system.universe.frame.names,
        )
        return made if made.nodes else None

    @cached_property
    def wording(self) -> Wording:
        """Claims as JSON and as sentences."""
        return Wording(self)

    def verdict(self, at: int) -> Verdict:
        """Everything about one claim."""
        state, claim, question = self.state[at], self.claim(at), int(self.question[at])
        proof = self.proof(at)
        m = claim.multiplicity
        return Verdict(
            claim,
            KINDS[int(state)],
            self.evidence(at),
            direct=bool(self.direct[at]),
            n_tables=int(self.n_tables[question]) if state == VERIFIED else 0,
            proof=proof,
            worlds=self.disagreeing(at) if state == REFUTED else None,
            low=m if proof is not None and proof.at_least is not None else 0,
            high=m if proof is not None and proof.at_most is not None else None,
        )

    def disagreeing(self, at: int) -> tuple[World, World]:
        """Two worlds that disagree on a refuted claim.

        The first world of the pool may be the true data, so another one with the claimed count is
        preferred where there is one.
        """
        question = int(self.question[at])
        number = int(self.witness[at] if question < 0 else self.answers.witness[question])
        mask = self.system.mask(self.claim(at).selection.terms)
        m = int(self.candidates.count[at])
        pool = self.pool
        other = self._with_count(mask, (pool[number],), m, equal=False)
        same = self._with_count(mask, (*pool[1:50], pool[0]), m, equal=True)
        return world_of(self.system, same), world_of(self.system, other)

    def _with_count(
        self, mask: NDArray[np.bool_], worlds: Sequence[NDArray[np.int64]], m: int, *, equal: bool
    ) -> NDArray[np.int64]:
        """A world in which the mask has (or has not) m records, moved within classes if need be."""
        for world in worlds:
            for side in (None, False, True):
                moved = world if side is None else self._moved(world, mask, side)
                if (int(mask[moved].sum()) == m) is equal:
                    return moved
        raise AssertionError("the world kept as a witness is none")

    def _moved(self, world: NDArray[np.int64], mask: NDArray[np.bool_], inside: bool) -> NDArray[np.int64]:
        """The world with every record in or out of the mask where its class allows it."""
        moved = world.copy()
        for at, type_ in enumerate(world):
            members = self.system.members(int(self.system.group[type_]))
            wanted = members[mask[members] == inside]
            if len(wanted):
                moved[at] = wanted[0]
        return np.sort(moved)
