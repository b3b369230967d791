"""Every proof is checked before anybody sees it, by the checker that shares no code with the search.

A proof that it rejects is a bug of the search. What it was to prove becomes undecided, with ``rejected``
as the evidence, so that a run says so wherever it counts verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ProofError, Undecided
from showthrough.release import Layout, Release
from showthrough.tables.claims import Bounds, Claim, Finding, Verdict
from showthrough.tables.proof import Checker, Proof, Terms
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.questions import REJECTED, VERIFIED, Answers

__all__ = [
    "Recheck",
    "extreme",
    "outermost",
]


#: An attribute with its values.
Term = tuple[str, tuple[str, ...]]

#: Claims with one proof of which the outermost are looked for.
_FEW, _MANY = 4, 5_000

#: Columns up to which all sets of them are tabulated.
MOST_TABULATED = 10

#: So many sets of columns are tabulated: fewer are compared with each other.
FEW_SETS = 200


class Recheck:
    """Checks everything that was found about one area.

    Parameters
    ----------
    release
        What is published.
    """

    def __init__(self, release: Release) -> None:
        self.release = release

    @cached_property
    def checker(self) -> Checker:
        """The independent checker, for this release."""
        return Checker(self.release.schema, self.release)

    def accepts(self, proof: Proof) -> bool:
        """Whether the checker accepts a proof."""
        try:
            self.checker.check(proof)
        except ProofError:
            return False
        return True

    def claims(self, claims: ClaimTable) -> bool:
        """Check the proofs of all verified claims; whether all hold.

        Answers whose proofs are rejected are undone, and so are short proofs that are rejected.
        """
        all_hold = True
        for group in list(claims.by_proof()):
            proof = claims.proof(int(group[0]))
            if proof is None or self.proves(proof, claims, group):
                continue
            all_hold = False
            for at in group.tolist():
                if claims.short.pop(at, None) is None:
                    claims.answers.reject(int(claims.question[at]))
        if not all_hold:
            claims.forget_states()
        return all_hold

    def whole(self, answers: Answers, terms: list[Terms], over: tuple[str, ...]) -> None:
        """The same for questions about these selections, one each."""
        for question in np.flatnonzero(answers.state == VERIFIED).tolist():
            low, high = answers.at_least[question], answers.at_most[question]
            proof = Proof(terms[question], int(answers.count[question]), low, high, over=over)
            if not self.accepts(proof):
                answers.reject(question)

    def proves(self, proof: Proof, claims: ClaimTable, group: NDArray[np.int64]) -> bool:
        """Whether the checker accepts one proof for all claims of a group.

        What is at least this many for the claims with the most values is so for those with fewer, and what is
        at most this many for those with the fewest is so for those with more. So if these hold all do.
        """
        few = outermost(claims, group) if _FEW < len(group) < _MANY else group
        if len(few) < len(group) and self._all_proved(proof, list(_terms(claims, few))):
            return True
        return self._all_proved(proof, list(_terms(claims, group)))

    def _all_proved(self, proof: Proof, selections: list[Terms]) -> bool:
        try:
            self.checker.check_all(proof, selections)
        except ProofError:
            return False
        return True

    def verdict(self, verdict: Verdict) -> Verdict:
        """The verdict, or one that says that its proof was rejected."""
        proof = verdict.proof
        if proof is None or self.accepts(proof):
            return verdict
        return _rejected(verdict.claim)

    def findings(self, found: tuple[Finding, ...]) -> tuple[tuple[Finding, ...], list[Verdict]]:
        """The findings whose own proofs hold, and a verdict on every proof that does not."""
        kept, rejected = list[Finding](), list[Verdict]()
        for finding in found:
            wrong = [proof for proof in finding.proofs if not self.accepts(proof)]
            claims = [Claim(finding.knows & finding.learns, proof.multiplicity) for proof in wrong[:1]]
            rejected += [_rejected(claim) for claim in claims]
            if not wrong:
                kept.append(finding)
        return tuple(kept), rejected

    def bounds(self, found: Bounds) -> Bounds:
        """The bounds, if their proofs hold and their datasets agree with the release."""
        proofs = [proof for proof in (found.low_proof, found.high_proof) if proof is not None]
        worlds = [world for world in (found.low_world, found.high_world) if world is not None]
        try:
            for proof in proofs:
                self.checker.check(proof)
            for world in worlds:
                self.checker.check_world(world.rows())
        except ProofError as error:
            raise Undecided(f"the checker rejects what was found: {error}; please report this") from None
        return found


def _rejected(claim: Claim) -> Verdict:
    return Verdict(claim, "undecided", REJECTED)


def outermost(claims: ClaimTable, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """The claims of a group whose values no other's are among, and those that have none of others.

    All of them, if they do not have the same values where they have the same columns.
    """
    subsets, types = claims.candidates.subset[group], claims.candidates.type[group]
    if (types != types[0]).any() and _differ(claims, group):  # claims of one type have the values of that
        return group
    return group[extreme(subsets.astype(np.int64), claims.codes.shape[1])]


def _differ(claims: ClaimTable, group: NDArray[np.int64]) -> bool:
    """Whether claims have different values in a column that they share."""
    named = claims.candidates.subset[group][:, None] >> np.arange(claims.codes.shape[1]) & 1 != 0
    codes = claims.codes[group].astype(np.int64)
    largest, least = np.where(named, codes, -1).max(axis=0), np.where(named, codes, 2**32).min(axis=0)
    return bool((least < largest).any())


def extreme(subsets: NDArray[np.int64], n_columns: int) -> NDArray[np.bool_]:
    """Which sets of columns, given as bits and all different, hold no other one or are in no other one."""
    if n_columns > MOST_TABULATED or len(subsets) < FEW_SETS:
        inside = subsets[:, None] & subsets == subsets[:, None]  # the first has no columns beyond the second
        return (inside.sum(axis=0) == 1) | (inside.sum(axis=1) == 1)
    held, holding = np.zeros((2, 1 << n_columns), np.int64)  # how many of them each set holds, or is in
    held[subsets] = holding[subsets] = 1
    for column in range(n_columns):
        without, with_ = (table.reshape(-1, 2, 1 << column) for table in (holding, held))
        without[:, 0] += without[:, 1]
        with_[:, 1] += with_[:, 0]
    return (held[subsets] == 1) | (holding[subsets] == 1)


def _terms(claims: ClaimTable, which: NDArray[np.int64]) -> Iterator[Terms]:
    """The selections of claims, sorted by attribute, as selections are."""
    frame = claims.system.universe.frame
    parts, by_name = _parts_of_terms(frame.layout, frame.names)
    subsets, codes = claims.candidates.subset[which].tolist(), claims.codes[which].tolist()
    for subset, mine in zip(subsets, codes, strict=True):
        yield tuple(parts[column][mine[column]] for column in by_name if subset >> column & 1)


@lru_cache(maxsize=16)
def _parts_of_terms(layout: Layout, names: tuple[str, ...]) -> tuple[list[list[Term]], list[int]]:
    """Per column its values as parts of selections, and the columns by name."""
    parts = [[(name, (value,)) for value in layout.schema[name].values] for name in names]
    return parts, sorted(range(len(parts)), key=names.__getitem__)
