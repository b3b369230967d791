"""The claims of an area: every column of every row, derived again or compared with its proof."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from showthrough.release import Layout, Release, pack
from showthrough.tables.audit import Scope
from showthrough.tables.explain import count_tables, label_of
from showthrough.tables.proof import PART
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.stored_claims import Numbers, StoredClaims, Vocabulary, vocabulary_of
from showthrough.tables.run.stored_proofs import StoredProofs
from showthrough.tally import only_selection

__all__ = [
    "PROVED",
    "Stating",
    "expected_direct",
    "rows_out_of_place",
    "unproved_claims",
]

#: Verdicts that have a proof.
PROVED = ("verified", "impossible")

#: What verdicts without a proof may rest on. With a proof, its label is derived.
GROUNDS = {"refuted": {"worlds"}, "undecided": {"effort", "solver only", "rejected"}}

#: Claims beyond those that one dataset suggests have one of these; a rejected proof may repeat a claim.
REJECTED = "rejected"


def rows_out_of_place(claims: StoredClaims, settings: Settings) -> Iterator[str]:
    """Unknown words, rows in another order or twice, and rows that are not in the scope."""
    scope, rows = settings.scope, list(zip(claims.selections, claims.multiplicity.tolist(), strict=True))
    for verdict, evidence in sorted({*zip(claims.verdict, claims.evidence, strict=True)}):
        if verdict not in PROVED and evidence not in GROUNDS.get(verdict, ()):
            yield f"a verdict or its evidence is unknown: {verdict}, {evidence}"
    order = list(zip(claims.k.tolist(), rows, strict=True))
    for at in range(1, len(order)):
        again = order[at] == order[at - 1] and REJECTED in claims.evidence[at - 1 : at + 1]
        if order[at] <= order[at - 1] and not again:
            yield f"claims.parquet: rows out of order at {rows[at][0]} x{rows[at][1]}"
            break
    for at in _outside(claims, scope, refuted=settings.refuted):
        yield f"not in the scope of the run: {rows[at][0]} x{rows[at][1]}, {claims.verdict[at]}"
    for at in np.flatnonzero(claims.k != np.array(claims.stated["k"], np.int64)).tolist():
        yield f"k is wrong for {rows[at][0]}"


def _outside(claims: StoredClaims, scope: Scope, *, refuted: bool) -> list[int]:
    """The rows that a run with this scope does not have."""
    low, high = scope.multiplicity or (1, np.iinfo(np.int64).max)
    verdict, m = np.array(claims.verdict, object), claims.multiplicity
    rejected = np.array(claims.evidence, object) == REJECTED
    most = scope.max_columns or len(claims.vocabulary.names)
    wrong = (claims.k < scope.min_columns) | (claims.k > most) | (m < 0)
    wrong |= (verdict == "refuted") & (not refuted)
    wrong |= (verdict == "impossible") & (not scope.gaps)
    wrong |= (m == 0) & ((not scope.absent) | ~np.isin(verdict, ["verified", "undecided"]))
    extra = (m == 0) | (verdict == "impossible") | ((verdict == "undecided") & scope.gaps)
    wrong |= ~extra & ((m < low) | (m > high))
    return np.flatnonzero(wrong & ~rejected).tolist()


def unproved_claims(claims: StoredClaims, proofs: StoredProofs, layout: Layout) -> Iterator[str]:
    """Claims without a proof, or with other evidence and figures than it has."""
    known = dict[tuple[int, bool], tuple[str, int]]()
    direct, added = claims.direct.tolist(), claims.stated["n_tables_added"]
    rows = zip(claims.selections, claims.multiplicity.tolist(), claims.verdict, strict=True)
    for at, (selection, m, verdict) in enumerate(rows):
        if verdict not in PROVED:
            if added[at] or claims.stated["n_tables"][at] is not None:
                yield f"tables are counted for a claim without a proof: {selection} x{m}"
            continue
        proof = proofs.claim(selection, m, verdict)
        if proof is None:
            yield f"no proof for {selection} x{m}"
            continue
        key = id(proof), direct[at]
        if key not in known:
            label = label_of(proof.nodes, layout, direct=direct[at], nested=PART in proof.over)
            known[key] = label, count_tables(layout, proof.cells)
        if known[key] != (claims.evidence[at], added[at]):
            yield f"evidence or n_tables_added is wrong for {selection} x{m}: not {known[key]}"


class Stating:
    """Which claims a single exact cell states, given only the rules: what all areas of a layout share."""

    def __init__(self, layout: Layout) -> None:
        self.vocabulary: Vocabulary = vocabulary_of(layout)
        closures = self.vocabulary.context.closures
        alone = [only_selection(terms) for terms in layout.terms]
        self.boxes = [None if selection is None else closures.of(selection) for selection in alone]
        self.zeros = [[closures.of(selection) for _, selection in terms] for terms in layout.terms]
        schema, numbers = layout.schema, self.vocabulary.number
        single = np.zeros((len(numbers), len(self.boxes)), bool)
        for (name, value), number in numbers.items():
            at, only = schema.index[name], 1 << schema[name].code(value)
            single[number] = [box is not None and box[at] == only for box in self.boxes]
        self.words = pack(single)
        #: Claims that one cell of one value per attribute counts, by position in the layout.
        self.claims = [
            (cell, selection.to_json())
            for cell, selection in enumerate(alone)
            if selection is not None
            and selection.terms
            and all(len(values) == 1 for _, values in selection.terms)
        ]
        self._known: dict[Numbers, tuple[int, ...] | None] = {}

    def closure(self, numbers: Numbers) -> tuple[int, ...] | None:
        """What the rules make of a selection."""
        if numbers not in self._known:
            closures, vocabulary = self.vocabulary.context.closures, self.vocabulary
            allowed = closures.everything()
            for number in numbers:
                at = vocabulary.schema.index[vocabulary.pairs[number][0]]
                allowed[at] = 1 << int(vocabulary.code[number])
            if len(self._known) >= 200_000:
                self._known.clear()
            self._known[numbers] = closures.close(allowed)
        return self._known[numbers]


@lru_cache(maxsize=4)
def stating_of(layout: Layout) -> Stating:
    """The shared part, made once per layout and process."""
    return Stating(layout)


def expected_direct(claims: StoredClaims, release: Release) -> NDArray[np.bool_]:
    """Which claims one exact cell states, given only the rules."""
    stating = stating_of(release.layout)
    exact = (release.low == release.high) & (release.high > 0)
    stated = {stating.boxes[cell] for cell in np.flatnonzero(exact).tolist()} - {None}
    found = np.zeros(len(claims), bool)
    for at in np.flatnonzero(_within_a_cell(claims, stating, release, exact)).tolist():
        found[at] = stating.closure(claims.numbers[at]) in stated
    zero = [box for cell in np.flatnonzero(release.high == 0).tolist() for box in stating.zeros[cell]]
    for at in np.flatnonzero(claims.multiplicity == 0).tolist():
        mine = stating.closure(claims.numbers[at])
        found[at] = mine is None or any(
            box is not None and not any(a & ~b for a, b in zip(mine, box, strict=True)) for box in zero
        )
    return found


def _within_a_cell(
    claims: StoredClaims, stating: Stating, release: Release, exact: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Claims all of whose values follow from being in some exact cell that has their count."""
    if not len(claims):
        return np.zeros(0, bool)
    flat = np.concatenate([np.array(numbers, np.int64) for numbers in claims.numbers])
    starts = np.cumsum(claims.k) - claims.k
    counts, of = np.unique(claims.multiplicity, return_inverse=True)
    by_count = pack(exact[None, :] & (release.high[None, :] == counts[:, None]))
    cells = np.bitwise_and.reduceat(stating.words[flat], starts, axis=0)
    return np.any(cells & by_count[of.ravel()], axis=1)
