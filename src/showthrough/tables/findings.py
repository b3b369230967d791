"""From claims to sentences: whoever knows this learns that.

If R(G, m) and R(G ∪ C, m) both hold in every world, the m records that match G are exactly those
that match G ∪ C. Claims linked in this way speak of the same records; they form one finding. Its
largest member is what is learnt, its smallest members are what must be known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from showthrough.selection import Selection
from showthrough.tables.claims import Finding
from showthrough.tables.explain import count_tables
from showthrough.tables.grounds import Grounds, Resting
from showthrough.tables.group_findings import group_findings, learnt_beside
from showthrough.tables.proof import PART
from showthrough.tables.readable import shorten_claims
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.implied import Closures, Margins
from showthrough.tables.search.questions import VERIFIED, mask_words, value_words
from showthrough.tables.search.shorten import Shortener, cells_of

__all__ = [
    "collect_findings",
    "order_of",
]

#: Findings of an area about a known number of records, the most telling first, for which it is counted
#: how many tables they rest on: that takes its time.
MOST_COUNTED = 3

#: Findings about groups of known size, of an area, the most telling first, whose proofs are made short.
MOST_SHORTENED = 200


def collect_findings(
    claims: ClaimTable, decider: Decider | None, closures: Closures, margins: Margins
) -> tuple[Finding, ...]:
    """All findings of an area, singletons first, the most telling first, those with short proofs first.

    The claims of the most telling ones get short proofs. Without a decider, which knows all record types,
    proofs stay as they are, and groups of unknown size are not looked for.
    """
    linked = sorted(_linked(claims, decider, closures, margins), key=lambda made: order_of(made.finding))
    claims.resting.clear()
    shortener = None if decider is None else decider.shortener
    found = [
        _with_proofs(made, claims, shortener if number < MOST_SHORTENED else None)
        for number, made in enumerate(linked)
    ]
    grounds = Grounds(claims.system.release)
    counted = zip(found[:MOST_COUNTED], linked, strict=False)
    found[:MOST_COUNTED] = [_counted(finding, made, claims, grounds) for finding, made in counted]
    groups = () if decider is None else group_findings(claims, decider, closures)
    return tuple(sorted([*found, *groups], key=order_of))


@dataclass(frozen=True, eq=False)
class _Linked:
    """A finding and its claims: each with the largest one above it, the smallest, those to be shown."""

    finding: Finding
    top_of: dict[int, int]
    minimal: list[int]
    shown: tuple[int, ...]


def order_of(finding: Finding) -> tuple[int, int, int, int, int, str, str]:
    """What findings of an area are sorted by."""
    kinds = {"singleton": 0, "group": 1, "group of unknown size": 2}
    return (
        kinds[finding.kind],
        -len(finding.learns) if finding.knows.terms else 0,
        len(finding.knows),
        finding.n_cells,
        finding.multiplicity,
        finding.knows.to_json(),
        finding.learns.to_json(),
    )


def _linked(
    claims: ClaimTable, decider: Decider | None, closures: Closures, margins: Margins
) -> Iterator[_Linked]:
    """One finding per set of verified claims about the same records."""
    chosen = np.flatnonzero(claims.state == VERIFIED)
    tops = _tops(claims, chosen)
    same = tops if decider is None else _same_records(claims, chosen, tops, decider)
    order = np.argsort(same, kind="stable")
    starts = np.flatnonzero(np.diff(same[order], prepend=-1))
    for part in np.split(order, starts[1:]) if len(order) else ():
        made = _finding(claims, chosen[part], chosen[tops[part]], closures, margins)
        if made is not None:
            yield made


def _with_proofs(made: _Linked, claims: ClaimTable, shortener: Shortener | None) -> Finding:
    """The finding, after its claims were given short proofs (if they are to be), with what these use."""
    if shortener is not None:
        shorten_claims(claims, made.top_of, made.minimal, made.shown, shortener)
    cells = cells_of(*(node for at in made.shown for node in claims.ends(at)))
    tables = count_tables(claims.system.release.layout, cells)
    return replace(made.finding, n_tables_added=tables, n_cells=len(cells))


def _counted(finding: Finding, made: _Linked, claims: ClaimTable, grounds: Grounds) -> Finding:
    """The finding with the number of tables that its proofs rest on, unless these are of nested areas."""
    whole = Resting()
    proofs = {at: claims.proof(at) for at in made.shown}
    if any(proof is not None and PART in proof.over for proof in proofs.values()):
        return finding
    for at, proof in proofs.items():
        if proof is not None:
            claims.resting[at] = grounds.tables(proof)
            whole |= claims.resting[at]
    return replace(finding, n_tables=whole.n_tables)


def _tops(claims: ClaimTable, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Per chosen claim the position (in ``chosen``) of the largest claim about the same records.

    If G ∪ C has G's count then so has G with each single column of C, so it suffices to look at
    claims with one column more, from the largest claims down.
    """
    keys = claims.candidates.keys[chosen]
    order = np.argsort(keys)
    subset, count = claims.candidates.subset[chosen], claims.candidates.count[chosen]
    codes = claims.codes[chosen]
    tops = np.arange(len(chosen))
    larger: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for column, parts in enumerate(claims.candidates.lattice.parts):
        big = np.flatnonzero(subset >> column & 1)
        wanted = keys[big] - parts[codes[big, column]]
        at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(order) - 1)]
        linked = (keys[at] == wanted) & (count[at] == count[big])
        larger.append((at[linked], big[linked]))
    small = np.concatenate([pair[0] for pair in larger]) if larger else np.zeros(0, np.int64)
    big = np.concatenate([pair[1] for pair in larger]) if larger else np.zeros(0, np.int64)
    level = claims.k[chosen][small]
    for k in range(int(level.max(initial=0)), 0, -1):
        tops[small[level == k]] = tops[big[level == k]]
    return tops


def _same_records(
    claims: ClaimTable, chosen: NDArray[np.int64], tops: NDArray[np.int64], decider: Decider
) -> NDArray[np.int64]:
    """Per chosen claim a number that it shares with all claims about the same records.

    Claims with fewer columns than the audit allows have that of the largest claim. The largest ones
    could have more columns: so it is asked what else their records have in common in every world.
    Fewer columns then never mean more findings.
    """
    lattice, n_columns = claims.candidates.lattice, len(claims.system.universe.frame.names)
    wide = np.unique(tops[claims.k[chosen][tops] == lattice.largest])
    if lattice.largest >= n_columns or not len(wide):
        return tops
    whole = _everything_shared(claims, chosen[wide], decider)
    counts = claims.candidates.count[chosen[wide]].tolist()
    first: dict[tuple[object, ...], int] = {}
    number = np.arange(len(chosen))
    for top, codes, count in zip(wide.tolist(), whole.tolist(), counts, strict=True):
        number[top] = first.setdefault((*codes, count), top)
    return number[tops]


def _everything_shared(claims: ClaimTable, which: NDArray[np.int64], decider: Decider) -> NDArray[np.int64]:
    """Per claim the codes that its records have in every world, −1 where they differ or may differ."""
    universe, candidates = claims.system.universe, claims.candidates
    n_columns, first = universe.codes.shape[1], universe.codes[decider.pool[0].types]
    codes = universe.codes[candidates.type[which]].astype(np.int64)
    known = candidates.subset[which][:, None] >> np.arange(n_columns) & 1 != 0
    rows, columns = list[int](), list[int]()
    for row in range(len(which)):
        mine = first[(first == codes[row])[:, known[row]].all(axis=1)]
        for column in np.flatnonzero(~known[row] & (mine == codes[row]).all(axis=0)).tolist():
            rows.append(row)
            columns.append(column)
    subset = candidates.subset[which[rows]] | np.left_shift(1, np.array(columns, np.int64))
    masks = mask_words(value_words(universe), universe, subset, candidates.type[which[rows]])
    distinct, of = np.unique(masks, axis=0, return_inverse=True)
    counts = np.zeros(len(distinct), np.int64)
    counts[of.ravel()] = candidates.count[which[rows]]
    states = decider.ask(distinct, counts).state[of.ravel()]
    shared = np.where(known, codes, -1)
    for row, column, state in zip(rows, columns, states, strict=True):
        if state == VERIFIED:
            shared[row, column] = codes[row, column]
    return shared


def _finding(
    claims: ClaimTable,
    members: NDArray[np.int64],
    tops: NDArray[np.int64],
    closures: Closures,
    margins: Margins,
) -> _Linked | None:
    """The finding of one set of claims, each with the largest one above it; None if cells state all."""
    if claims.direct[members].all():
        return None
    m = int(claims.candidates.count[members[0]])
    kind = "singleton" if m == 1 else "group"
    top_of = dict(zip(members.tolist(), tops.tolist(), strict=True))
    minimal = _minimal(claims, members)
    known = {at: claims.terms(at) for at in minimal}
    largest = {top: claims.terms(top) for top in sorted({*top_of.values()})}
    learnt = {at: _most_learnt(claims, at, known[at], top_of[at], largest, closures) for at in minimal}
    ways = sorted(
        (at for at in minimal if learnt[at]),
        key=lambda at: (len(known[at]), -len(learnt[at]), sorted(known[at].items())),
    )
    if not ways:
        told = members[~claims.direct[members]].tolist()
        hidden = [at for at in told if not _is_margin(claims, claims.selection(at), margins)]
        if not hidden:
            return None
        least = min(hidden, key=lambda at: int(claims.k[at]))
        finding = Finding(kind, m, Selection(), claims.selection(least), (), len(members))
        return _Linked(finding, top_of, minimal, (least,))
    first, *rest = ways
    others = tuple(Selection.of(known[at]) for at in rest)
    knows, learns = Selection.of(known[first]), Selection.of(learnt[first])
    finding = Finding(kind, m, knows, learns, others, len(members))
    both = {**known[first], **learnt[first]}
    shown = (first, *(at for at in _about(claims, members, both) if at != first))
    return _Linked(finding, top_of, minimal, shown)


def _about(claims: ClaimTable, members: NDArray[np.int64], terms: dict[str, str]) -> list[int]:
    """The members with exactly these values."""
    names = claims.system.universe.frame.names
    subset = sum(1 << names.index(name) for name in terms)
    named = members[claims.candidates.subset[members] == subset].tolist()
    return [at for at in named if claims.terms(at) == terms]


def _is_margin(claims: ClaimTable, selection: Selection, margins: Margins) -> bool:
    """Whether the cells of one table, all published exactly, add up to the selection."""
    release = claims.system.release
    return any((release.low[list(c)] == release.high[list(c)]).all() for c in margins.of(selection))


def _minimal(claims: ClaimTable, members: NDArray[np.int64]) -> list[int]:
    """Members that contain no other member."""
    subsets = claims.candidates.subset[members]
    order = np.argsort(claims.k[members], kind="stable")
    left = np.ones(len(members), bool)
    kept: list[int] = []
    for at in order:
        if left[at]:  # all members have the values of the largest, so columns decide
            kept.append(int(members[at]))
            left &= subsets & subsets[at] != subsets[at]
    return kept


def _most_learnt(
    claims: ClaimTable,
    at: int,
    known: dict[str, str],
    top: int,
    largest: dict[int, dict[str, str]],
    closures: Closures,
) -> dict[str, str]:
    """The most that one of the largest claims above this one tells beyond it and the rules.

    Where columns are limited there are several of them, and some may tell nothing new.
    """
    if len(largest) == 1:
        return learnt_beside(known, largest[top], closures)
    subset = int(claims.candidates.subset[at])
    tops = [top, *(one for one in largest if one != top)]
    above = [one for one in tops if not subset & ~int(claims.candidates.subset[one])]
    return max((learnt_beside(known, largest[one], closures) for one in above), key=len)
