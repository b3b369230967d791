"""Pools of random count queries, drawn as the papers draw them, to measure how useful a publication is.

A query asks how many records have certain values in one to three public attributes and one certain
sensitive value. Queries are answered for thousands of conditions at once, from matrices of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.keys import sorted_keys
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.generalize import Generalization
from showthrough.microdata.groups import Groups
from showthrough.microdata.plan import generator

__all__ = [
    "QueryPool",
    "crossed_queries",
    "single_queries",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

pc: Any = pyarrow.compute

#: Public attributes in a condition, at most.
WIDEST: Final = 3

#: Queries drawn at a time, and batches drawn at most: before the first hit, and for the whole pool.
BATCH: Final = 20_000
MOST_MISSES: Final = 10
MOST_BATCHES: Final = 200

#: The name of the generator that draws queries.
QUERIES: Final = 16


@dataclass(frozen=True, eq=False)
class QueryPool:
    """Count queries about groups: a condition on public attributes, and a sensitive value, each.

    The same condition, and the same query, may occur more than once.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[60, 40], [80, 20]])
    >>> pool = single_queries(groups, seed=1, number=3)
    >>> len(pool), sorted(set(pool.answers.tolist()) - {20, 40, 60, 80})
    (3, [])
    """

    groups: Groups
    #: A ``scipy.sparse.csr_array`` of 0 and 1: which groups match each of the different conditions.
    conditions: Any
    #: For each query the condition and the sensitive value, as positions.
    condition: Whole
    value: Whole

    def __len__(self) -> int:
        return len(self.condition)

    def added_up(self, counts: Any) -> NDArray[Any]:
        """For each query the sum over the groups it asks about, in the column of its value."""
        found = csr_array(self.conditions @ counts)[self.condition, self.value]
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found).ravel()

    def numbers(self, sizes: NDArray[Any]) -> NDArray[Any]:
        """For each query the sum of one number for each group, over the groups it asks about."""
        return np.asarray(self.conditions @ sizes)[self.condition]

    @cached_property
    def answers(self) -> Whole:
        """The true answer of each query."""
        return self.added_up(self.groups.counts).astype(np.int64)

    @property
    def selectivity(self) -> Floats:
        """The share of all records that each query counts."""
        return self.answers / self.groups.records


def single_queries(
    groups: Groups,
    *,
    seed: int,
    number: int = 5_000,
    least: float = 0.001,
    merged: Generalization | None = None,
) -> QueryPool:
    """Queries with a sensitive value drawn for each, kept where they count at least a share ``least``.

    How many attributes, which, their values and the sensitive value are all drawn with equal chances.
    With ``merged`` values, queries are drawn and kept over the original ones and then ask for the
    merged ones. There are fewer queries than ``number`` where next to none counts enough records.
    """
    _check(number, least)
    coding = _Coding.of(groups, merged)
    chance = generator(seed, QUERIES)
    wanted, kept, n_kept = least * groups.records, list[Whole](), 0
    for batch in range(MOST_BATCHES):
        drawn = coding.draw(BATCH, chance)
        value = chance.integers(len(groups.totals), size=BATCH)
        pool = coding.original(drawn, np.arange(BATCH), value)
        hit = np.flatnonzero(pool.answers >= max(wanted, 1))
        kept.append(np.column_stack([drawn[hit], value[hit]]))
        n_kept += len(hit)
        if n_kept >= number or (not n_kept and batch >= MOST_MISSES):
            break
    if not n_kept:
        raise _too_selective(least)
    queries = np.concatenate(kept)[:number]
    return coding.pool(queries[:, :-1], np.arange(len(queries)), queries[:, -1])


def crossed_queries(
    groups: Groups,
    *,
    seed: int,
    number: int = 200,
    least: float = 0.001,
    merged: Generalization | None = None,
) -> QueryPool:
    """Every one of ``number`` random conditions with every sensitive value.

    Kept are those queries that count at least a share ``least`` of the records.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[60, 40], [80, 20]])
    >>> len(crossed_queries(groups, seed=1, number=10, least=0.15))
    15
    """
    _check(number, least)
    coding = _Coding.of(groups, merged)
    drawn = coding.draw(number, generator(seed, QUERIES))
    m = len(groups.totals)
    pool = coding.pool(drawn, np.repeat(np.arange(number), m), np.tile(np.arange(m), number))
    hit = np.flatnonzero(pool.answers >= max(least * groups.records, 1))
    if not len(hit):
        raise _too_selective(least)
    return QueryPool(pool.groups, pool.conditions, pool.condition[hit], pool.value[hit])


def _check(number: int, least: float) -> None:
    if number < 1:
        raise InputError("a pool needs at least one query", found=str(number))
    if not 0 <= least < 1:
        raise InputError(
            "a selectivity must be a share from 0 to below 1", found=str(least), remedy="for example 0.001"
        )


def _too_selective(least: float) -> InputError:
    return InputError(
        f"none of the drawn queries counts {least:.3g} of the records",
        remedy="choose a smaller selectivity, or fewer or coarser public columns",
    )


@dataclass(frozen=True, eq=False)
class _Coding:
    """Public values as numbers: of the groups given, and of the groups queries are about."""

    source: Groups
    target: Groups
    source_codes: Whole
    target_codes: Whole
    #: For each attribute the merged value of each original one.
    translated: tuple[Whole, ...]

    @classmethod
    def of(cls, groups: Groups, merged: Generalization | None) -> _Coding:
        names = groups.public.column_names
        if not names:
            raise InputError("queries need a public column", remedy="give at least one")
        known = [sorted_keys(groups.public[name].unique()) for name in names]
        source = _codes(groups.public, known)
        for name, values in zip(names, known, strict=True):
            if len(values) >= 2**20:
                raise RecordsError(
                    "the column has too many values for queries",
                    column=name,
                    remedy="leave it out, or group its values",
                )
        if merged is None:
            return cls(groups, groups, source, source, tuple(np.arange(len(values)) for values in known))
        kept, translated = list[pa.Array](), list[Whole]()
        for column, values in zip(merged.columns, known, strict=True):
            labels = pa.array(sorted(set(column.labels)), pa.string()) if column.merged else values
            kept.append(labels)
            named = pa.array([column.mapping[value] for value in values.to_pylist()], pa.string())
            place = pc.index_in(named, value_set=labels).to_numpy() if column.merged else range(len(values))
            translated.append(np.asarray(place, np.int64))
        return cls(groups, merged.groups, source, _codes(merged.groups.public, kept), tuple(translated))

    def draw(self, number: int, chance: np.random.Generator) -> Whole:
        """Conditions as original values by attribute, −1 for attributes that are left out."""
        n_values = np.array([len(values) for values in self.translated])
        width = chance.integers(1, min(WIDEST, len(n_values)) + 1, size=number)
        rank = chance.random((number, len(n_values))).argsort(axis=1).argsort(axis=1)
        value = (chance.random((number, len(n_values))) * n_values).astype(np.int64)
        return np.where(rank < width[:, None], value, -1)

    def original(self, drawn: Whole, condition: Whole, value: Whole) -> QueryPool:
        """Queries about the groups given."""
        return _pool(self.source, self.source_codes, drawn, condition, value)

    def pool(self, drawn: Whole, condition: Whole, value: Whole) -> QueryPool:
        """The same about groups with merged values."""
        asked = drawn.copy()
        for at, to in enumerate(self.translated):
            chosen = drawn[:, at] >= 0
            asked[chosen, at] = to[drawn[chosen, at]]
        return _pool(self.target, self.target_codes, asked, condition, value)


def _pool(groups: Groups, codes: Whole, drawn: Whole, condition: Whole, value: Whole) -> QueryPool:
    different, of = np.unique(drawn, axis=0, return_inverse=True)
    of = of.ravel()
    return QueryPool(groups, _matches(different, codes), of[condition].astype(np.int64), value)


def _matches(conditions: Whole, codes: Whole) -> Any:
    """Which groups match each condition; conditions on the same attributes exclude each other."""
    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    patterns, of = np.unique(conditions >= 0, axis=0, return_inverse=True)
    n_values = codes.max(axis=0, initial=0) + 1
    for at, chosen in enumerate(patterns):
        asked = np.flatnonzero(of.ravel() == at)
        scale = np.cumprod([1, *n_values[chosen][:-1].tolist()])
        keys = conditions[asked][:, chosen] @ scale
        order = np.argsort(keys)
        there = codes[:, chosen] @ scale
        place = np.minimum(np.searchsorted(keys[order], there), len(order) - 1)
        hit = np.flatnonzero(keys[order][place] == there)
        rows.append(asked[order[place[hit]]])
        columns.append(hit)
    row, column = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(len(row), np.int8), (row, column)), shape=(len(conditions), len(codes)))


def _codes(public: pa.Table, values: Sequence[pa.Array]) -> Whole:
    """Each group's position among the values of each attribute."""
    found = [
        pc.index_in(public[name], value_set=known).to_numpy().astype(np.int64)
        for name, known in zip(public.column_names, values, strict=True)
    ]
    return np.column_stack(found) if len(public) else np.zeros((0, len(found)), np.int64)
