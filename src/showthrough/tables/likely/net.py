"""A distribution of record types: a network of attributes, each given at most a few others.

Where a combination of parents was rare, its table is left out and the one for fewer parents stands in
for it (back-off); every table is smoothed towards that one, so that no possible value has chance 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError

__all__ = [
    "Level",
    "Net",
    "Node",
    "keys_of",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Codes = NDArray[np.integer]

#: Rows looked at together where attributes are summed out, and how many rows that may make in all.
_CHUNK, _MOST_ROWS = 1_000_000, 50_000_000


def keys_of(codes: Codes, sizes: Sequence[int]) -> Whole:
    """Rows of codes as single numbers."""
    key = np.zeros(len(codes), np.int64)
    for column, size in enumerate(sizes):
        key = key * size + codes[:, column]
    return key


@dataclass(frozen=True, eq=False)
class Level:
    """Chances of an attribute's values (columns) for some combinations of its first parents (rows)."""

    keys: Whole
    chances: Floats


@dataclass(frozen=True, eq=False)
class Node:
    """One attribute: its parents, the most important first, and a level for each number of them."""

    column: int
    parents: tuple[int, ...]
    levels: tuple[Level, ...]

    def rows(self, codes: Codes, sizes: Sequence[int]) -> Floats:
        """For each row of codes the chances of all values, given the parents' codes in it."""
        found = np.broadcast_to(self.levels[0].chances[0], (len(codes), sizes[self.column])).copy()
        for depth, level in enumerate(self.levels[1:], 1):
            parents = list(self.parents[:depth])
            keys = keys_of(codes[:, parents], [sizes[at] for at in parents])
            if len(level.keys):
                at = np.minimum(np.searchsorted(level.keys, keys), len(level.keys) - 1)
                hit = level.keys[at] == keys
                found[hit] = level.chances[at[hit]]
        return found


@dataclass(frozen=True, eq=False)
class Net:
    """A network of attributes, parents before children, with its weight in a mixture."""

    weight: float
    sizes: tuple[int, ...]
    nodes: tuple[Node, ...]

    @cached_property
    def _by_column(self) -> dict[int, Node]:
        return {node.column: node for node in self.nodes}

    def chances(self, codes: Codes, columns: Sequence[int]) -> Floats:
        """For rows of codes of some attributes their chance, the other attributes summed out."""
        needed = self._ancestors(columns)
        nodes = [node for node in self.nodes if node.column in needed]
        extra = sorted(needed - set(columns))
        ways = int(np.prod([self.sizes[at] for at in extra], dtype=object))
        if ways * len(codes) > _MOST_ROWS:
            raise InputError(
                f"the prior has {len(extra)} attributes that no table is about, too many to sum out",
                remedy="fit a prior to the attributes of the tables alone (--columns)",
            )
        step = max(1, _CHUNK // max(ways, 1))
        parts = [
            self._summed(codes[start : start + step], columns, nodes, extra)
            for start in range(0, len(codes), step)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _summed(
        self, codes: Codes, columns: Sequence[int], nodes: Sequence[Node], extra: Sequence[int]
    ) -> Floats:
        others = list(itertools.product(*(range(self.sizes[at]) for at in extra)))
        filled = np.array(others, np.int64).reshape(len(others), len(extra))
        whole = np.zeros((len(filled) * len(codes), len(self.sizes)), np.int64)
        whole[:, list(columns)] = np.tile(codes, (len(filled), 1))
        whole[:, list(extra)] = np.repeat(filled, len(codes), axis=0)
        chance = np.ones(len(whole))
        every = np.arange(len(whole))
        for node in nodes:
            chance *= node.rows(whole, self.sizes)[every, whole[:, node.column]]
        return chance.reshape(len(filled), len(codes)).sum(axis=0)

    def _ancestors(self, columns: Sequence[int]) -> set[int]:
        found: set[int] = set()
        left = list(columns)
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left.extend(self._by_column[at].parents)
        return found

    def draw(self, n: int, rng: np.random.Generator) -> Codes:
        """Random records."""
        codes = np.zeros((n, len(self.sizes)), np.int64)
        for node in self.nodes:
            cumulative = np.cumsum(node.rows(codes, self.sizes), axis=1)
            wanted = rng.random(n) * cumulative[:, -1]
            found = (cumulative <= wanted[:, None]).sum(axis=1)
            codes[:, node.column] = np.minimum(found, self.sizes[node.column] - 1)
        return codes
