"""What was decided about the claims of one part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.claims import Verdict
from showthrough.tables.proof import Node, Proof
from showthrough.tables.result import Audit, ClaimTable
from showthrough.tables.search.questions import REFUTED, VERIFIED, Lattice
from showthrough.tables.wide.area import Excerpt
from showthrough.tables.wide.dataset import Beside, Dataset

__all__ = [
    "BothEnds",
    "SettledPart",
]


@dataclass(frozen=True, eq=False)
class BothEnds:
    """Both ends of a proof by cells of the whole release, and the attributes it looks at."""

    low: Node
    high: Node
    over: tuple[str, ...]

    def proof(self, terms: tuple[tuple[str, tuple[str, ...]], ...], m: int) -> Proof:
        """The proof that exactly m records match."""
        return Proof(terms, m, self.low, self.high, over=self.over)


@dataclass(frozen=True, eq=False)
class SettledPart:
    """The claims about one part with their verdicts.

    Parameters
    ----------
    columns
        The attributes of the part, by position in the schema.
    claims
        Its claims; their columns may be more than those of the part.
    excerpt
        Where the cells of their proofs are numbered; None if as in the whole release.
    assumed
        The same claims where the number of records is taken to be that of the first dataset; None where it
        is known. Datasets that refute claims are then from here, proofs never.
    """

    columns: tuple[int, ...]
    claims: ClaimTable
    excerpt: Excerpt | None
    assumed: ClaimTable | None = None
    extra: tuple[Verdict, ...] = ()
    unique: bool | None = None
    _ends: dict[tuple[int, int], tuple[BothEnds, object]] = field(
        default_factory=dict["tuple[int, int]", "tuple[BothEnds, object]"]
    )

    @classmethod
    def of_audit(
        cls, columns: tuple[int, ...], found: Audit, excerpt: Excerpt, assumed: Audit | None
    ) -> SettledPart:
        """From the audit of an excerpt."""
        names = {found.schema.names[at] for at in columns}
        extra = [
            replace(one, proof=None if one.proof is None else excerpt.whole_proof(one.proof))
            for one in found.extra
            if set(one.claim.selection.attributes) <= names
        ]
        other = None if assumed is None else assumed.claim_table
        unique = found.unique if assumed is None else assumed.unique
        return cls(columns, found.claim_table, excerpt, other, tuple(extra), unique)

    @property
    def lattice(self) -> Lattice:
        """How claims are numbered."""
        return self.claims.candidates.lattice

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.claims.candidates.keys, kind="stable")

    @cached_property
    def place(self) -> dict[int, int]:
        """The column of the claims that each attribute has."""
        return {at: column for column, at in enumerate(self.claims.system.universe.frame.over)}

    def numbers(self, codes: NDArray[np.integer], named: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The claims with these codes (claim × attribute) where they are named; −1 where none is."""
        keys = np.zeros(len(codes), np.uint64)
        any_ = np.zeros(len(codes), bool)
        for at in self.columns:
            part = self.lattice.parts[self.place[at]]
            keys += np.where(named[:, at], part[codes[:, at]], np.uint64(0))
            any_ |= named[:, at]
        known = self.claims.candidates.keys
        where = np.minimum(np.searchsorted(known, keys, sorter=self._order), max(len(known) - 1, 0))
        found = self._order[where] if len(known) else np.zeros(len(codes), np.int64)
        if not (known[found[any_]] == keys[any_]).all():
            raise AssertionError("a claim of the first dataset was not decided in its part")
        return np.where(any_, found, -1)

    @cached_property
    def state(self) -> NDArray[np.int8]:
        """Per claim its verdict: proved without assumptions, or refuted by a dataset that fits the others."""
        if self.assumed is None:
            return self.claims.state
        found = np.zeros(len(self.claims.state), np.int8)
        found[self._assumed_state == REFUTED] = REFUTED
        found[self.claims.state == VERIFIED] = VERIFIED
        return found

    @cached_property
    def _same(self) -> NDArray[np.int64]:
        """Per claim its number among the assumed ones."""
        keys = self._given.candidates.keys
        order = np.argsort(keys, kind="stable")
        return order[np.searchsorted(keys, self.claims.candidates.keys, sorter=order)]

    @property
    def _given(self) -> ClaimTable:
        """The claims where the number of records is given."""
        return self.claims if self.assumed is None else self.assumed

    @cached_property
    def _assumed_state(self) -> NDArray[np.int8]:
        return self._given.state[self._same]

    def ends(self, at: int) -> BothEnds:
        """The proof of a verified claim."""
        (low, high), proof = self.claims.ends(at), self.claims.proof(at)
        if low is None or high is None or proof is None:
            raise AssertionError("a verified claim has no proof")
        key = id(low), id(high)
        if key not in self._ends:
            if self.excerpt is None:
                made = BothEnds(low, high, proof.over)
            else:
                made = BothEnds(self.excerpt.whole(low), self.excerpt.whole(high), proof.over)
            self._ends[key] = made, (low, high)  # kept, so that their numbers are not given to others
        return self._ends[key][0]

    def refuting(self, at: int) -> Dataset:
        """A dataset of the part that refutes a claim, with as many records as the first."""
        if self.assumed is None:
            return Dataset.of_world(self.claims.disagreeing(at)[1])
        return Dataset.of_world(self.assumed.disagreeing(int(self._same[at]))[1])

    def beside(self, dataset: Dataset) -> Beside:
        """The columns of the part in a dataset."""
        return Beside.of(dataset, self.columns)

    def verified(self) -> Iterator[int]:
        """The claims that are proved."""
        return iter(np.flatnonzero(self.state == VERIFIED).tolist())
