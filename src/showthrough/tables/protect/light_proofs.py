"""Proofs of forbidden claims that rest on facts of which the relaxation takes little.

The relaxation says to which share each fact is given up. Suppose that every count is known only up to the
share that is given up of it: if a claim follows even then, it follows from facts whose shares, times their
multipliers, add up to less than 1, and its clause mostly cuts the relaxation off. So one small linear program
per area and relaxation finds such proofs, for one claim after the other from the last one's solution. Cells
published as 0 of which nothing is given up rule out most record types beforehand.

The multipliers are rounded, and all record types are looked at in whole numbers: those for which the
inequality fails must be ruled out by zeros, which are then among the facts. So no clause rests on the solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.release import Release, pack, unpack
from showthrough.tables.protect.clauses import Clause, Clauses, Ways
from showthrough.tables.protect.moves import Move
from showthrough.tables.protect.statements import CellBound, Facts, bit_of, distinct_rows
from showthrough.tables.search.questions import Candidates
from showthrough.tables.search.solver import Inequalities
from showthrough.tables.search.universe import Universe

__all__ = [
    "ClaimSet",
    "LightProofs",
]

#: Multipliers are multiples of one over this.
_UNIT = 12

#: Up to which share a fact counts as kept.
_KEPT = 1e-2

#: A claim that a count is above the next smaller whole number by this follows.
_CLEARLY = 1e-3

#: The most record types in a program, and those looked at to choose a zero that rules many out.
_MOST_TYPES, _SAMPLE = 12_000, 300

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClaimSet:
    """Claims: for each the values of its columns in some record type, and its count.

    Parameters
    ----------
    claims
        The claims.
    values
        The codes of the record types that they refer to.
    names
        The columns of these codes.
    """

    claims: Candidates
    values: NDArray[np.integer]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.claims)

    def count(self, claim: int) -> int:
        """How many records a claim is about."""
        return int(self.claims.count[claim])

    def matches(self, claim: int, names: Sequence[str], codes: NDArray[np.integer]) -> Flags:
        """Which record types a claim is about."""
        found, subset = np.ones(len(codes), bool), int(self.claims.subset[claim])
        values = self.values[self.claims.type[claim]]
        for at, name in enumerate(self.names):
            if subset >> at & 1:
                found &= codes[:, names.index(name)] == values[at]
        return found

    def counts(
        self, which: Numbers, names: Sequence[str], codes: NDArray[np.integer], times: Vector
    ) -> Vector:
        """The counts of some claims, if there are this many records of some types."""
        have = codes[:, [names.index(name) for name in self.names]]
        bits = 1 << np.arange(len(self.names), dtype=np.int64)
        kinds, of_kind = np.unique(self.claims.type[which], return_inverse=True)
        same = (have[:, None, :] == self.values[kinds][None, :, :]) @ bits
        return times @ (self.claims.subset[which][None, :] & ~same[:, of_kind] == 0)


class LightProofs:
    """Proofs of the claims about one area from what is planned.

    Parameters
    ----------
    release
        What is planned.
    types
        The record types that can exist, as far as cells that cannot be changed tell.
    claims
        The claims.
    clauses
        Turns what a proof rests on into a clause.
    """

    def __init__(self, release: Release, types: Universe, claims: ClaimSet, clauses: Clauses) -> None:
        self.release, self.types, self.claims, self.clauses = release, types, claims, clauses
        self.words = np.ascontiguousarray(types.words)
        self.zero = release.high == 0
        #: The different sets of zeros that types lie in, and whose each is.
        self._zeros, self._zeros_of = distinct_rows(self.words & self._packed(self.zero))
        known = np.flatnonzero((release.low == release.high) & ~self.zero)
        self.known = known[clauses.first_of_equal(known)]
        self._columns: dict[int, Flags] = {}
        #: How much was done: the record types of all programs that were solved.
        self.work = 0

    @cached_property
    def prices(self) -> _Prices:
        """What the facts cost: the lower ends of known counts, the upper ends, and the zeros."""
        low, high = self.release.low, self.release.high
        zeros = np.flatnonzero(self.zero)
        facts = [CellBound(at, "low", int(low[at])) for at in self.known.tolist()]
        facts += [CellBound(at, "high", int(high[at])) for at in (*self.known.tolist(), *zeros.tolist())]
        return _Prices([self.clauses.ways(fact) for fact in facts])

    def clauses_at(
        self, shares: Mapping[Move, float], claims: Sequence[int], *, most: int, looser: float = 1.0
    ) -> Iterator[tuple[int, Clause]]:
        """Clauses of claims that rest on facts of which little is taken.

        Parameters
        ----------
        shares
            How much the relaxation takes of each move.
        claims
            The claims to look at.
        most
            How many clauses are enough.
        looser
            By how much more than by its share each count is loosened: then the proofs are lighter.

        Yields
        ------
        tuple
            A claim, and the clause of a proof of it.
        """
        price = self.prices.at(shares)
        price = looser * np.where(price > _KEPT, price, 0.0)
        n = len(self.known)
        zeros = np.full(len(self.zero), np.inf)
        zeros[self.zero] = price[2 * n :]
        loose = _Loosened(self, price[:n], price[n : 2 * n], zeros, np.array(claims, np.int64))
        left = most if len(loose.types) <= _MOST_TYPES else 0
        for claim in claims:
            if not left:
                return
            if loose.refuted[claim]:
                continue
            found = self._facts(loose, claim, zeros)
            self.work += len(loose.types)
            if found is not None:
                left -= 1
                yield claim, self.clauses.of_facts([found])

    def _facts(self, loose: _Loosened, claim: int, zeros: Vector) -> Facts | None:
        """What a proof of a claim by loosened counts rests on; None if there is none."""
        bounds, failing = set[CellBound](), np.zeros(len(self._zeros), bool)
        for sign in (1, -1):
            weights = loose.weights(claim, sign)
            fails = None if weights is None else self._fails(weights, claim, sign)
            if weights is None or fails is None:
                return None
            for at, weight in weights.items():
                end = self.release.low[at] if weight > 0 else self.release.high[at]
                bounds.add(CellBound(at, "low" if weight > 0 else "high", int(end)))
            failing[self._zeros_of[fails]] = True
        empty = self._ruled_out(self._zeros[failing], zeros)
        return None if empty is None else Facts(frozenset(bounds), empty)

    def _fails(self, weights: Mapping[int, int], claim: int, sign: int) -> Flags | None:
        """The record types for which an inequality fails; None if it does not prove the claim anyway.

        The claim's count, times ``sign``, is at least the weighted sum of the counts.
        """
        least = sum(weight * int(self.release.low[at]) for at, weight in weights.items())
        if least <= _UNIT * (sign * self.claims.count(claim) - 1):
            return None
        matches = self.claims.matches(claim, self.types.frame.names, self.types.codes)
        total = np.zeros(len(matches), np.int64)
        for at, weight in weights.items():
            total += weight * self._column(at)
        return total > sign * _UNIT * matches

    def _ruled_out(self, failing: NDArray[np.uint64], zeros: Vector) -> frozenset[frozenset[int]] | None:
        """Sets of zeros, one of each of which rules some of these types out, and all of them together all.

        ``zeros`` is what each costs; a cheap one that rules out many is looked for, and the types that it
        rules out are ruled out by each zero that they all lie in. None if a type lies in no zero.
        """
        found = set[frozenset[int]]()
        while len(failing):
            sample = failing[np.linspace(0, len(failing) - 1, min(len(failing), _SAMPLE)).astype(np.int64)]
            n_inside = unpack(sample, len(self.zero)).sum(axis=0)
            best = int((n_inside / (zeros + 0.01)).argmax())
            inside = bit_of(failing, best)
            if not inside.any():
                return None
            shared = np.bitwise_and.reduce(failing[inside], axis=0)
            found.add(frozenset(np.flatnonzero(unpack(shared[None, :], len(self.zero))[0]).tolist()))
            failing = failing[~inside]
        return frozenset(found)

    def alive(self, kept: Flags) -> NDArray[np.int64]:
        """The types that none of some zeros rules out."""
        return np.flatnonzero(np.logical_not((self.words & self._packed(kept)).any(axis=1)))

    def packed(self, cells: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Some cells as bits of the types' words."""
        return self._packed(np.isin(np.arange(len(self.zero)), cells))

    def _packed(self, cells: Flags) -> NDArray[np.uint64]:
        flags = np.zeros((1, self.words.shape[1] * 64), bool)
        flags[0, : len(cells)] = cells
        return pack(flags)[0]

    def _column(self, cell: int) -> Flags:
        """Which types a cell counts."""
        if cell not in self._columns:
            self._columns[cell] = bit_of(self.words, cell)
        return self._columns[cell]


class _Loosened:
    """The program in which every count is known only up to what is given up of it.

    ``low`` and ``high`` are the prices of the known counts' ends, ``zeros`` those of the zeros, and ``asked``
    the claims that proofs are looked for.
    """

    def __init__(self, proofs: LightProofs, low: Vector, high: Vector, zeros: Vector, asked: Numbers) -> None:
        self.claims, self._asked = proofs.claims, asked
        kept = zeros <= _KEPT
        self.types = proofs.alive(kept)
        self.names, self.codes = proofs.types.frame.names, proofs.types.codes[self.types]
        others = np.flatnonzero(np.isfinite(zeros) & ~kept)
        self.cells = np.concatenate([proofs.known, others])
        counts = proofs.release.low[self.cells].astype(float)
        below = np.concatenate([low, np.zeros(len(others))])
        above = np.concatenate([high, zeros[others]])
        self.n_known = len(proofs.known)
        self._order, self._starts = _alike(proofs.words[self.types] & proofs.packed(self.cells))
        n = len(self._starts) if len(self.types) <= _MOST_TYPES else 0
        first = self.types[self._order[self._starts[:n]]]
        bits = unpack(proofs.words[first], len(zeros))[:, self.cells]
        most = np.full(n, float(counts.sum() + above.sum()))
        self._program = Inequalities(np.zeros(n), np.zeros(n), most, presolve=False, primal=True)
        self._program.add(csr_array(bits.T.astype(float)), counts - below, counts + above)
        #: Claims asked for that do not follow, as numbers of records have shown that are left possible.
        self.refuted = np.zeros(len(self.claims), bool)

    def weights(self, claim: int, sign: int) -> dict[int, int] | None:
        """Multipliers of known counts, in units, that show the claim's count times a sign to be at least so
        large; None if there are none.
        """
        goal = sign * self.claims.matches(claim, self.names, self.codes)[self._order].astype(np.int8)
        cheapest = np.minimum.reduceat(goal, self._starts)
        self._program.price(cheapest.astype(float))
        found = self._program.solve()
        if found is not None:
            self._learn(found.point, goal, cheapest)
        if found is None or found.value <= sign * self.claims.count(claim) - 1 + _CLEARLY:
            return None
        exact = found.multipliers[: self.n_known] * _UNIT
        whole = np.rint(exact)
        if np.abs(exact - whole).max(initial=0.0) > _CLEARLY or np.abs(whole).max(initial=0.0) > 2**20:
            return None
        used = np.flatnonzero(whole)
        return {int(self.cells[at]): int(whole[at]) for at in used.tolist()}

    def _learn(self, point: Vector, goal: NDArray[np.int8], cheapest: NDArray[np.int8]) -> None:
        """Which claims some numbers of records show not to follow; each stands for the first type that costs
        as little.
        """
        used = np.flatnonzero(point > _CLEARLY)
        sizes = np.diff(self._starts, append=len(self._order))
        cheap = np.flatnonzero(goal == np.repeat(cheapest, sizes))
        types = self._order[cheap[np.searchsorted(cheap, self._starts[used])]]
        counts = self.claims.counts(self._asked, self.names, self.codes[types], point[used])
        off = np.abs(counts - self.claims.claims.count[self._asked])
        self.refuted[self._asked[off >= 1 - _CLEARLY]] = True


def _alike(words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of rows in which equal ones follow each other, and where the next ones start."""
    rows = np.ascontiguousarray(words[:, words.any(axis=0)])
    if not rows.size:
        return np.arange(len(words)), np.zeros(min(1, len(words)), np.int64)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, number = np.unique(keys, return_inverse=True)
    order = np.argsort(number, kind="stable")
    return order, np.flatnonzero(np.diff(number[order], prepend=-1))


class _Prices:
    """How much of each of some facts is given up by the moves that are taken."""

    def __init__(self, facts: Sequence[Ways]) -> None:
        sets = {moves: at for at, moves in enumerate(dict.fromkeys(one for ways in facts for one in ways))}
        self.moves = tuple(dict.fromkeys(move for moves in sets for move in sorted(moves, key=repr)))
        number = {move: at for at, move in enumerate(self.moves)}
        pairs = [(at, number[move]) for moves, at in sets.items() for move in moves]
        places = np.array(pairs, np.int64).reshape(-1, 2)
        self._moves = csr_array((np.ones(len(pairs)), places.T), shape=(len(sets), len(number)))
        self._sets = np.array([sets[one] for ways in facts for one in ways], np.int64)
        self._starts = np.cumsum([0, *map(len, facts)])[:-1]

    def at(self, shares: Mapping[Move, float]) -> Vector:
        """Per fact the least that is taken of one of its sets."""
        taken = np.array([shares.get(move, 0.0) for move in self.moves])
        each = self._moves @ taken
        return np.minimum.reduceat(each[self._sets], self._starts) if len(self._starts) else np.zeros(0)
