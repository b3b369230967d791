"""Kinds of records, told apart attribute by attribute, and no further than a proof needs.

A kind is a set of record types that have the same values of the first attributes. It stands in each "at
least" line that counts some of its records, and in the "at most" lines that count all of them. As soon
as this makes the sums of the proof come out, or a cell or a rule says that nobody is of the kind, it is
not divided further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ProofError
from showthrough.formats.vipr.vipr_file import Sense
from showthrough.schema import Schema
from showthrough.tables.proof import Terms

__all__ = [
    "Excluded",
    "Line",
    "RecordKinds",
    "Variable",
]

#: Kinds of records told apart at once, at most.
MOST_KINDS = 1_000_000

Flags = NDArray[np.bool_]

#: Integers, of any size if need be.
Integers = NDArray[Any]


@dataclass(frozen=True)
class Line:
    """Something that a proof adds up: how many records match selections.

    Parameters
    ----------
    name
        The name of its row.
    sense
        ``G`` at least, ``L`` at most; ``E`` is a case: at most this many in one part of the proof, and
        more in the other.
    value
        The number it is compared with.
    about
        The selections. "At least" is about records that match one of them, "at most" about those that
        match all; in a case, a record counts once for each that it matches.
    weights
        For a cell: how often a record counts for each of the selections that it matches.
    """

    name: str
    sense: Sense
    value: int
    about: tuple[Terms, ...]
    weights: tuple[int, ...] = ()


@dataclass(frozen=True)
class Excluded:
    """Records that cannot exist: those of a cell published as zero, or those that break a rule."""

    name: str
    terms: Terms


@dataclass
class Variable:
    """A number of records.

    Parameters
    ----------
    column
        How often it stands in each line.
    terms
        What its records have in common.
    excluded
        What says that there are none, if something does.
    n_more
        How many other kinds it counts too.
    """

    column: NDArray[np.int64]
    terms: Terms = ()
    excluded: Excluded | None = None
    n_more: int = 0


@dataclass(frozen=True)
class _Selections:
    """Selections, to be compared with kinds of records: the allowed values, and where the last one is."""

    allowed: Mapping[str, Flags]
    last: NDArray[np.int64]

    @classmethod
    def of(cls, every: Sequence[Terms], schema: Schema, over: Sequence[str]) -> _Selections:
        allowed = {name: np.ones((len(every), len(schema[name].values)), bool) for name in over}
        last = np.zeros(len(every), np.int64)
        for at, terms in enumerate(every):
            for name, values in terms:
                if name not in allowed:
                    raise ProofError(f"the proof leaves out an attribute it needs: {name}")
                allowed[name][at] = [value in values for value in schema[name].values]
                last[at] = max(last[at], 1 + over.index(name))
        return cls(allowed, last)


@dataclass
class _Growing:
    """Kinds that are not settled yet: their codes, and which selections still fit them."""

    codes: NDArray[np.int64]
    fits: Flags
    nobody: Flags
    n_alike: NDArray[np.int64]
    depth: int = 0

    def only(self, which: NDArray[np.int64]) -> _Growing:
        """Some of them."""
        return _Growing(
            self.codes[which], self.fits[which], self.nobody[which], self.n_alike[which], self.depth
        )

    def merged(self) -> _Growing:
        """One kind for all that no selection tells apart, now or later."""
        same = np.packbits(np.column_stack([self.fits, self.nobody]), axis=1)
        _, first, of = np.unique(same, axis=0, return_index=True, return_inverse=True)
        merged = self.only(first)
        merged.n_alike = np.bincount(of.ravel(), self.n_alike, len(first)).astype(np.int64)
        return merged


class RecordKinds:
    """The kinds of records that a proof tells apart.

    Parameters
    ----------
    lines
        What the proof adds up.
    multipliers
        One row per line, one column per leaf of the proof; negative for "at most".
    schema, over
        The schema, and the attributes that are looked at.
    excluded
        Records that cannot exist.
    """

    def __init__(
        self,
        lines: Sequence[Line],
        multipliers: Integers,
        schema: Schema,
        over: tuple[str, ...],
        excluded: Sequence[Excluded],
    ) -> None:
        if len(set(over)) != len(over) or any(name not in schema.index for name in over):
            raise ProofError("the proof names an unknown attribute, or one of them twice")
        self._schema, self._over, self._multipliers = schema, over, multipliers
        counted = [dict(terms) for line in lines if line.sense == "G" for terms in line.about]
        self._excluded = [one for one in excluded if _matters(one, over, counted)]
        self._lines = _Selections.of([terms for line in lines for terms in line.about], schema, over)
        self._nobody = _Selections.of([one.terms for one in self._excluded], schema, over)
        self._of = [at for at, line in enumerate(lines) for _ in line.about]
        self._senses = np.array([line.sense for line in lines])
        self._sizes = np.array([len(line.about) for line in lines])
        self._weights = np.array(
            [w for line in lines for w in line.weights or (1,) * len(line.about)], np.int64
        )
        self._weighted = np.array([bool(line.weights) for line in lines], bool)

    def excess(self, columns: NDArray[np.int64]) -> Integers:
        """Per column and leaf, by how much the sums exceed 0: nothing may, if the proof is right."""
        return columns.astype(self._multipliers.dtype) @ self._multipliers

    def variables(self) -> list[Variable]:
        """A variable for every record type that an "at least" line counts.

        Raises
        ------
        ProofError
            If a type spoils the sums and nothing says that it cannot exist.
        """
        found: list[Variable] = []
        nobody: dict[int, Variable] = {}
        growing = _Growing(
            np.zeros((1, 0), np.int64),
            np.ones((1, len(self._of)), bool),
            np.ones((1, len(self._excluded)), bool),
            np.ones(1, np.int64),
        )
        for name in (None, *self._over):
            if name is not None:
                growing = self._divided(growing, name)
            columns = self._columns(growing)
            counted = (columns[:, self._senses == "G"] > 0).any(axis=1)
            settled = counted & (self.excess(columns) <= 0).all(axis=1)
            found += [self._variable(columns, growing, at) for at in np.flatnonzero(settled).tolist()]
            gone = growing.nobody & (self._nobody.last <= growing.depth)
            left = counted & ~settled
            self._exclude(nobody, columns[left], gone[left])
            growing = growing.only(np.flatnonzero(left & ~gone.any(axis=1)))
        if len(growing.codes):
            raise ProofError("the multipliers exceed what a record type can contribute")
        return self._fewest(found) + [nobody[at] for at in sorted(nobody)]

    def _divided(self, growing: _Growing, name: str) -> _Growing:
        """The kinds, each by the values of one more attribute."""
        n_values = len(self._schema[name].values)
        if len(growing.codes) * n_values > MOST_KINDS:
            raise ProofError(f"more than {MOST_KINDS:,} kinds of records: too many for a certificate")
        value = np.tile(np.arange(n_values), len(growing.codes))
        old = np.repeat(np.arange(len(growing.codes)), n_values)
        return _Growing(
            np.column_stack([growing.codes[old], value]),
            growing.fits[old] & self._lines.allowed[name][:, value].T,
            growing.nobody[old] & self._nobody.allowed[name][:, value].T,
            growing.n_alike[old],
            growing.depth + 1,
        ).merged()

    def _columns(self, growing: _Growing) -> NDArray[np.int64]:
        """How often the kinds stand in each line."""
        surely = growing.fits & (self._lines.last <= growing.depth)
        some, all_of = (self._summed(fits) for fits in (growing.fits, surely))
        least = np.where(self._weighted, some, some > 0)
        most = np.where(self._weighted, all_of, all_of == self._sizes)
        return np.where(self._senses == "G", least, np.where(self._senses == "L", most, all_of))

    def _summed(self, fits: Flags) -> NDArray[np.int64]:
        total = np.zeros((len(fits), len(self._senses)), np.int64)
        for at, line in enumerate(self._of):
            total[:, line] += fits[:, at] * self._weights[at]
        return total

    def _variable(self, columns: NDArray[np.int64], growing: _Growing, at: int) -> Variable:
        known = zip(self._over, growing.codes[at].tolist(), strict=False)
        terms = tuple((name, (self._schema[name].values[code],)) for name, code in known)
        return Variable(columns[at], terms, n_more=int(growing.n_alike[at]) - 1)

    def _exclude(self, nobody: dict[int, Variable], columns: NDArray[np.int64], gone: Flags) -> None:
        """Count kinds that cannot exist with a variable for the reason, one of few reasons."""
        columns, gone = columns[gone.any(axis=1)], gone[gone.any(axis=1)]
        for at in [*nobody, *_cover(gone, list(nobody))]:
            if at not in nobody:
                nothing = np.zeros(len(self._senses), np.int64)
                nobody[at] = Variable(nothing, self._excluded[at].terms, self._excluded[at])
            mine = gone[:, at]
            least = np.where(self._senses == "G", columns[mine].max(axis=0, initial=0), 0)
            nobody[at].column = np.maximum(nobody[at].column, least)
            columns, gone = columns[~mine], gone[~mine]

    def _fewest(self, found: Sequence[Variable]) -> list[Variable]:
        """Fewer variables that do the same.

        One that stands in more "at least" lines and in fewer "at most" lines can count the records of
        another too; and none needs more "at most" lines than make the sums come out.
        """
        least, most = self._senses == "G", self._senses == "L"
        kept: list[Variable] = []
        columns = np.zeros((len(found), len(self._senses)), np.int64)
        for one in sorted(found, key=lambda one: (-int(one.column[least].sum()), one.column.tolist())):
            before = columns[: len(kept)]
            fits = (before[:, least] >= one.column[least]).all(axis=1)
            fits &= (before[:, most] <= one.column[most]).all(axis=1)
            if fits.any():
                kept[int(fits.argmax())].n_more += 1 + one.n_more
                continue
            columns[len(kept)] = one.column = self._slim(one.column)
            kept.append(one)
        return kept

    def _slim(self, column: NDArray[np.int64]) -> NDArray[np.int64]:
        """Without the "at most" lines that are not needed, the heaviest first."""
        weight = [-sum(map(int, row)) for row in self._multipliers]
        standing = np.flatnonzero((self._senses == "L") & (column > 0)).tolist()
        for at in sorted(standing, key=lambda at: (-weight[at], at)):
            fewer = column.copy()
            fewer[at] = 0
            if (self.excess(fewer[None]) <= 0).all():
                column = fewer
        return column


def _matters(one: Excluded, over: Sequence[str], counted: Sequence[Mapping[str, tuple[str, ...]]]) -> bool:
    """Whether it can be said of some records that are counted, knowing these attributes alone."""
    wanted = {name: frozenset(values) for name, values in one.terms}
    if not wanted.keys() <= set(over):
        return False
    return any(
        all(not values.isdisjoint(terms.get(name, values)) for name, values in wanted.items())
        for terms in counted
    )


def _cover(hits: Flags, chosen: Sequence[int]) -> Iterator[int]:
    """Few columns more that have a hit in every row that has one anywhere."""
    left = hits[hits.any(axis=1) & ~hits[:, list(chosen)].any(axis=1)]
    while len(left):
        best = int(left.sum(axis=0).argmax())
        yield best
        left = left[~left[:, best]]
