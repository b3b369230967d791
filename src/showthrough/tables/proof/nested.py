"""Proofs about a part of an area, from the tables of the area and of all its parts.

An area and its parts are one release over records that name their part (the attribute ``PART``). Cells
are numbered through: those of the whole first, which count records of any part, then those of each
part, which count its own. A proof that needs them says so: the first attribute that it looks at is the
part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import overload

import numpy as np
from numpy.typing import NDArray

from .checker import Checker, Proof
from .failure import ProofError
from .possible import CellLike, Possible, RuleLike, SchemaLike, Types
from .tree import Terms
from .world import World

__all__ = [
    "PART",
    "NestChecker",
    "PartChecker",
]

#: The attribute that names the part a record is in.
PART = "(part)"


@dataclass(frozen=True)
class _Selection:
    terms: Terms


@dataclass(frozen=True)
class _Cell:
    terms: tuple[tuple[int, _Selection], ...]
    low: int
    high: int


@dataclass(frozen=True)
class _Cells:
    cells: Sequence[CellLike]


class _Through(Sequence[CellLike]):
    """The cells of the whole and then of each part, numbered through; those of parts say which part."""

    def __init__(self, whole: Sequence[CellLike], parts: Mapping[str, Sequence[CellLike]]) -> None:
        self._parts = ((None, whole), *parts.items())
        self._starts = [0, *accumulate(len(cells) for _, cells in self._parts)]

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, at: int) -> CellLike: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[CellLike]: ...
    def __getitem__(self, at: int | slice) -> CellLike | Sequence[CellLike]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        number = bisect_right(self._starts, at) - 1
        part, cells = self._parts[number]
        cell = cells[at - self._starts[number]]
        return cell if part is None else _located(cell, part)


class _Within(Possible):
    """The record types of one part, given what nobody in it matches."""

    def __init__(self, values: dict[str, dict[str, int]], nobody: list[Terms]) -> None:
        self.values, self._nobody, self._known = values, nobody, {}


class _Possible(Possible):
    """The record types of each part: which rules, the zeros of the whole and its own zeros leave."""

    def __init__(
        self, schema: SchemaLike, whole: Sequence[CellLike], parts: Mapping[str, Sequence[CellLike]]
    ) -> None:
        super().__init__(schema, ())
        if PART in self.values:
            raise ProofError(f"an attribute is named {PART}")
        self._memory: dict[Terms, Terms] = {}
        above, self._within, self.alone = self._zeros(whole), dict[str, Possible](), dict[str, Possible]()
        for name, cells in parts.items():
            own = [*self._nobody, *self._zeros(cells)]
            self.alone[name] = _Within(self.values, own)
            self._within[name] = _Within(self.values, [*above, *own])
        self.values = {PART: {name: code for code, name in enumerate(parts)}, **self.values}

    def _zeros(self, cells: Sequence[CellLike]) -> list[Terms]:
        """What nobody matches because of cells published as zero."""
        found: list[Terms] = []
        for cell in cells:
            if any(weight < 1 for weight, _ in cell.terms):
                raise ProofError("a cell counts records with a weight that is not positive")
            for _, one in cell.terms if cell.high == 0 else ():
                if one.terms not in self._memory:
                    self._memory[one.terms] = self._trimmed(one.terms)
                found.append(self._memory[one.terms])
        return found

    def types(self, over: tuple[str, ...]) -> Types:
        """Every record type over these attributes, the part first, that can exist."""
        if over not in self._known:
            if over[:1] != (PART,):
                raise ProofError("a proof about parts does not look at the part first")
            found = [within.types(over[1:]) for within in self._within.values()]
            sizes = [types.n for types in found]
            columns = {PART: np.repeat(np.arange(len(found), dtype=np.int32), sizes)}
            for name in over[1:]:
                columns[name] = np.concatenate([types.codes(name) for types in found])
            self._known = {over: Types(self.values, columns, sum(sizes))}
        return self._known[over]

    def n_within(self, part: str, over: tuple[str, ...]) -> int:
        """How many record types over these attributes can exist in a part."""
        return self.types_within(part, over).n

    def types_within(self, part: str, over: tuple[str, ...]) -> Types:
        """The record types over these attributes that can exist in a part."""
        return self._within[part].types(over)


class NestChecker(Checker):
    """Checks proofs and datasets against an area and all its parts.

    Parameters
    ----------
    schema
        What records can look like.
    whole
        The cells of the area.
    parts
        The cells of each part, in order.
    """

    def __init__(
        self, schema: SchemaLike, whole: Sequence[CellLike], parts: Mapping[str, Sequence[CellLike]]
    ) -> None:
        super().__init__(schema, _Cells(whole))
        self.whole = Checker(schema, _Cells(whole))
        self._cells = _Through(whole, parts)
        self._possible = possible = _Possible(schema, whole, parts)
        self._parts = {
            name: PartChecker(self, name, cells, rules=self._rules, possible=possible.alone[name])
            for name, cells in parts.items()
        }
        self.n_within, self.types_within = possible.n_within, possible.types_within

    def part(self, name: str) -> PartChecker:
        """The checker of what is said about one part."""
        return self._parts[name]

    def check_world(self, records: Iterable[tuple[Mapping[str, str], int]]) -> World:
        """Raise :class:`ProofError` unless these records, each with its part, agree with all cells."""
        rows, inside = list(records), {name: list[tuple[dict[str, str], int]]() for name in self._parts}
        for record, times in rows:
            if record.get(PART) not in inside:
                raise ProofError(f"a witness holds an impossible record: {dict(record)}")
            own = {name: value for name, value in record.items() if name != PART}
            inside[record[PART]].append((own, times))
        self.whole.check_world([row for mine in inside.values() for row in mine])
        for name, mine in inside.items():
            self._parts[name].check_own(mine)
        return World(rows)


class PartChecker(Checker):
    """Checks what is said about one part: by its own tables alone, or by all of the area.

    Parameters
    ----------
    nest
        The checker of the area.
    part
        The part's name.
    own
        The cells of the part.
    rules
        The rules of the schema.
    possible
        The record types that the rules and the part's own cells leave.
    """

    def __init__(
        self,
        nest: NestChecker,
        part: str,
        own: Sequence[CellLike],
        *,
        rules: tuple[RuleLike, ...],
        possible: Possible,
    ) -> None:
        self._rules, self._cells, self._possible = rules, own, possible
        self._rows, self._rows_of = {}, None
        self._nest, self.name, self._here = nest, part, ((PART, (part,)),)

    def check_all(self, proof: Proof, selections: Sequence[Terms]) -> None:
        """Raise :class:`ProofError` unless the proof holds, and proves the same of every selection."""
        if PART not in proof.over:
            super().check_all(proof, selections)
            return
        if dict(proof.selection).get(PART) != (self.name,):
            raise ProofError("the proof is about another part")
        self._nest.check_all(proof, [(*self._here, *terms) for terms in selections])

    def check_world(self, records: Iterable[tuple[Mapping[str, str], int]]) -> World:
        """Raise :class:`ProofError` unless these records of all parts agree; the part's own are returned."""
        rows = list(records)
        self._nest.check_world(rows)
        return World([(record, times) for record, times in rows if record[PART] == self.name])

    def n_types(self, over: tuple[str, ...]) -> int:
        """How many record types over these attributes can exist in the part."""
        return self._nest.n_within(self.name, over)

    def possible_types(self, over: tuple[str, ...]) -> Types:
        """The record types over these attributes that can exist in the part, by all tables."""
        return self._nest.types_within(self.name, over)

    def most_of_each(self, types: Types) -> NDArray[np.int64]:
        """How many records of each type the part can have; no more than there are in the whole."""
        return np.minimum(super().most_of_each(types), self._nest.whole.most_of_each(types))

    def check_own(self, records: Iterable[tuple[Mapping[str, str], int]]) -> World:
        """Raise :class:`ProofError` unless these records, all of the part, agree with its own tables."""
        return super().check_world(records)


def _located(cell: CellLike, part: str) -> _Cell:
    """A cell of a part as one that counts records of this part only."""
    here = (PART, (part,))
    terms = tuple((weight, _Selection((here, *one.terms))) for weight, one in cell.terms)
    return _Cell(terms, int(cell.low), int(cell.high))
