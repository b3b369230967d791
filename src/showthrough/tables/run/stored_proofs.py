"""The proofs of an area as a run keeps them: each is checked, and may be asked for by what it proves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pyarrow as pa

from showthrough.errors import ProofError
from showthrough.selection import Selection
from showthrough.tables.proof import PART, Checker, Proof
from showthrough.tables.run.stored_claims import Vocabulary
from showthrough.tables.stored import MALFORMED

__all__ = [
    "StoredProofs",
]

#: Proofs that are remembered, as small areas have many in common, and the longest text of one.
_REMEMBERED, _SHORT = 2**13, 500

#: A claim: its selection as JSON, its count, and whether it is verified or impossible.
Key = tuple[str, int, str]


@dataclass
class StoredProofs:
    """The proofs that hold.

    Attributes
    ----------
    of
        Per claim that a proof lists, the proof.
    ends
        Proofs of one end of a count, by selection, count and end.
    problems
        What does not hold.
    unused
        How many proofs of each claim or end nothing has asked for yet.
    """

    of: dict[Key, Proof] = field(default_factory=dict[Key, Proof])
    ends: dict[Key, Proof] = field(default_factory=dict[Key, Proof])
    problems: list[str] = field(default_factory=list[str])
    unused: Counter[Key] = field(default_factory=Counter[Key])

    @classmethod
    def of_table(cls, table: pa.Table, checker: Checker, vocabulary: Vocabulary) -> StoredProofs:
        """Check all proofs of an area."""
        found = cls()
        for row in table.to_pylist():
            try:
                found._take(row, checker, vocabulary)
            except ProofError as error:
                found.problems.append(str(error))
            except MALFORMED as error:
                gist = f"{type(error).__name__}: {' '.join(str(error).split())}"
                found.problems.append(f"a proof cannot be read: {gist}")
        return found

    def _take(self, row: Mapping[str, Any], checker: Checker, vocabulary: Vocabulary) -> None:
        """Check a row, and keep its proof by what it proves."""
        text, listed = row["proof"], list(row["claims"])
        proof, mine = _known_proof(text) if len(text) <= _SHORT else _read_proof(text)
        m, says = proof.multiplicity, _says(proof)
        if not listed:
            checker.check(proof)
            self.ends[mine, m, says] = proof
            self.unused[mine, m, says] += 1
            return
        if says not in ("verified", "impossible"):
            raise ProofError(f"a proof of one end is listed for a claim: {listed[0]}")
        if mine not in listed:
            raise ProofError(f"a proof is about another selection than its claims: {mine}")
        checker.check_all(proof, [vocabulary.terms(text) for text in listed])
        for text in listed:
            self.of[text, m, says] = proof
            self.unused[text, m, says] += 1

    def claim(self, selection: str, m: int, verdict: str) -> Proof | None:
        """The proof of a claim."""
        self.unused[selection, m, verdict] -= 1
        return self.of.get((selection, m, verdict))

    def end(self, selection: str, m: int, end: str) -> Proof | None:
        """The proof of one end of a count."""
        self.unused[selection, m, end] -= 1
        return self.ends.get((selection, m, end))

    def left(self) -> Iterator[str]:
        """A sentence about every proof that nothing asked for."""
        for (selection, m, _), times in self.unused.items():
            if times > 0:
                yield f"a proof belongs to nothing in the run: {selection} x{m}"


def _read_proof(text: str) -> tuple[Proof, str]:
    """A proof, and the selection that it is about; an error unless it is written as proofs are."""
    proof = Proof.from_json(text)
    if proof.to_json() != text:
        raise ProofError(f"a proof is not written as proofs are: {text[:200]}")
    return proof, Selection(tuple(term for term in proof.selection if term[0] != PART)).to_json()


@lru_cache(_REMEMBERED)
def _known_proof(text: str) -> tuple[Proof, str]:
    return _read_proof(text)


def _says(proof: Proof) -> str:
    if proof.at_least is not None and proof.at_most is not None:
        return "verified"
    if proof.never is not None:
        return "impossible"
    return "at least" if proof.at_least is not None else "at most"
