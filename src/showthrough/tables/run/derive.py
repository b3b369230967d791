"""Findings derived once more from the claims that a run keeps, all of them proved.

This is code of its own beside :mod:`showthrough.tables.findings`; it knows nothing but the stored claims,
the rules and the layout. Where claims have as many columns as the audit allowed, the search asked further
questions to tell whether they are about the same records; their answers are not kept, so for these the
derivation says only what can be said without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.claims import Finding
from showthrough.tables.run.stored_claims import StoredClaims

__all__ = [
    "Derived",
    "Linked",
]


@dataclass(frozen=True, eq=False)
class Derived:
    """A finding, and the claims whose proofs people are shown: what is known, and with what is learnt."""

    finding: Finding
    shown: tuple[int, ...]


class Linked:
    """The verified claims of an area, each with the largest one about the same records.

    Parameters
    ----------
    claims
        The area's claims.
    release
        What is published.
    largest
        The most columns of a claim.
    """

    def __init__(self, claims: StoredClaims, release: Release, largest: int) -> None:
        self.claims = claims
        self.release = release
        self.limited = largest < len(claims.vocabulary.names)
        proved = [v == "verified" for v in claims.verdict]
        chosen = np.flatnonzero(np.array(proved, bool) & (claims.multiplicity > 0))
        self.chosen = chosen[np.argsort(claims.keys[chosen], kind="stable")]
        self._at_limit = claims.k[self.chosen] == largest

    @cached_property
    def _links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of claims with the same count, the second of which has one column more."""
        claims, chosen, parts = self.claims, self.chosen, self.claims.vocabulary.lattice.parts
        keys, codes, counts = claims.keys[chosen], claims.codes[chosen], claims.multiplicity[chosen]
        small, big = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for column, part in enumerate(parts):
            larger = np.flatnonzero(codes[:, column] >= 0)
            wanted = keys[larger] - part[codes[larger, column]]
            at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            same = (keys[at] == wanted) & (counts[at] == counts[larger])
            small.append(at[same])
            big.append(larger[same])
        return np.concatenate(small), np.concatenate(big)

    @cached_property
    def tops(self) -> NDArray[np.int64]:
        """Per claim (by position in ``chosen``) the largest one about the same records."""
        small, big = self._links
        tops, level = np.arange(len(self.chosen)), self.claims.k[self.chosen][small]
        for k in range(int(level.max(initial=0)), 0, -1):
            tops[small[level == k]] = tops[big[level == k]]
        return tops

    def torn(self) -> Iterator[int]:
        """Claims from which a column leads to no claim, although a larger one about the same records has it.

        What holds of few and of many columns holds of all between, with the same count. So a claim was
        taken out; where some are undecided it may be one of these.
        """
        k = self.claims.k[self.chosen]
        steps = np.bincount(self._links[0], minlength=len(k))
        yield from self.chosen[steps < k[self.tops] - k].tolist()

    def wide(self, at: int) -> bool:
        """Whether a claim's finding may have claims that are not linked to it."""
        place = int(np.flatnonzero(self.chosen == at)[0])
        return self.limited and bool(self._at_limit[self.tops[place]])

    def findings(self, *, wide: bool) -> Iterator[Derived]:
        """The findings about this many records; ``wide``: those that may have more claims than are linked."""
        order = np.argsort(self.tops, kind="stable")
        starts = np.flatnonzero(np.diff(self.tops[order], prepend=-1))
        for part in np.split(order, starts[1:]) if len(order) else ():
            top = int(self.tops[part[0]])
            if (self.limited and bool(self._at_limit[top])) is wide:
                made = self._finding(self.chosen[part].tolist(), int(self.chosen[top]))
                if made is not None:
                    yield made

    def _finding(self, members: list[int], top: int) -> Derived | None:
        claims = self.claims
        if claims.direct[members].all():
            return None
        m = int(claims.multiplicity[top])
        kind = "singleton" if m == 1 else "group"
        known = {at: claims.terms(at) for at in self._minimal(members)}
        learnt = {at: self.learnt(terms, top) for at, terms in known.items()}
        ways = [at for at in known if learnt[at]]
        if not ways:
            hidden = [at for at in members if not claims.direct[at] and not self.is_margin(at)]
            if not hidden:
                return None
            least = min(hidden, key=lambda at: len(claims.numbers[at]))
            finding = Finding(kind, m, Selection(), claims.selection(least), (), len(members))
            return Derived(finding, (least,))
        ways.sort(key=lambda at: (len(known[at]), -len(learnt[at]), sorted(known[at].items())))
        first = ways[0]
        knows, *others = map(claims.selection, ways)
        finding = Finding(kind, m, knows, self._selection(learnt[first]), tuple(others), len(members))
        both = known[first] | learnt[first]
        shown = [at for at in members if len(claims.numbers[at]) == len(both) and claims.terms(at) == both]
        return Derived(finding, (first, *(at for at in shown if at != first)))

    def _selection(self, terms: dict[str, str]) -> Selection:
        vocabulary = self.claims.vocabulary
        return vocabulary.selection(tuple(sorted(map(vocabulary.number.__getitem__, terms.items()))))[0]

    def learnt(self, known: dict[str, str], top: int) -> dict[str, str]:
        """What the largest claim says beyond what is known and what the rules imply from it."""
        implied = self.claims.vocabulary.context.closures.determined(known)
        whole = self.claims.terms(top).items()
        return {name: value for name, value in whole if name not in known and implied.get(name) != value}

    def tells(self, known: dict[str, str], learnt: dict[str, str]) -> bool:
        """Whether something is learnt, and all of it is new to who knows the rules."""
        implied = self.claims.vocabulary.context.closures.determined(known)
        return bool(learnt) and not any(known.get(n) or implied.get(n) == v for n, v in learnt.items())

    def is_margin(self, at: int) -> bool:
        """Whether the cells of one table, all published exactly, add up to a claim."""
        margins, release = self.claims.vocabulary.context.margins, self.release
        split = margins.of(self.claims.selection(at))
        return any((release.low[list(cells)] == release.high[list(cells)]).all() for cells in split)

    def _minimal(self, members: Sequence[int]) -> Iterator[int]:
        """The members that contain no other one, those with few columns first."""
        subsets = self.claims.subset[list(members)]
        left = np.ones(len(members), bool)
        for at in np.argsort(self.claims.k[list(members)], kind="stable").tolist():
            if left[at]:  # members agree on the values they share, so columns decide
                yield members[at]
                left &= subsets & subsets[at] != subsets[at]
