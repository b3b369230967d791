"""Which records go to which sub-table: left to chance, but with the numbers a partition prescribes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.errors import RecordsError
from showthrough.publish.blocks import cut
from showthrough.publish.draws import ALLOT, PERTURB, generator
from showthrough.publish.groups import Groups
from showthrough.publish.partition import Partition
from showthrough.publish.perturb import Cells, perturb_counts

__all__ = ["Allotter", "divide", "divide_counts", "perturb_partition"]

Whole = NDArray[np.int64]

#: NumPy draws hypergeometric numbers for fewer records than this.
MOST = 10**9


@dataclass
class Allotter:
    """Shares a partition's allotment out to blocks that come one after the other.

    A block's records of a value are a random part of all records of that value, so their numbers by
    sub-table are multivariate hypergeometric, given what is left.
    """

    left: Whole
    chance: np.random.Generator

    @classmethod
    def of(cls, allotment: ArrayLike, *, seed: int) -> Allotter:
        """For an allotment with one row for each sub-table and one column for each value."""
        return cls(np.array(allotment, np.int64), generator(seed, ALLOT))

    def take(self, totals: ArrayLike) -> Whole:
        """How many of the next block's records of each value go to each sub-table."""
        taken = np.zeros_like(self.left)
        for value in np.flatnonzero(np.asarray(totals)):
            taken[:, value] = _draw(self.left[:, value], int(np.asarray(totals)[value]), self.chance)
        self.left -= taken
        return taken


def divide(groups: Groups, partition: Partition, *, seed: int) -> list[Groups]:
    """The records of each sub-table, before they are perturbed.

    >>> from showthrough.publish.partition import partition
    >>> from showthrough.publish.promise import RhoPrivacy
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["a", "b", "c"]}, [[6, 5, 1], [2, 4, 1]])
    >>> plan = partition(groups.totals, RhoPrivacy(1 / 2, 2 / 3))
    >>> tables = divide(groups, plan, seed=1)
    >>> [table.totals.tolist() for table in tables] == plan.allotment.tolist()
    True
    """
    allotter = Allotter.of(partition.allotment, seed=seed)
    parts: list[list[Any]] = [[] for _ in range(len(partition))]
    for number, counts in cut(groups.counts):
        taken = allotter.take(counts.sum(axis=0))
        split = divide_counts(counts, taken, chance=generator(seed, ALLOT, number))
        for part, table in zip(parts, split, strict=True):
            part.append(table)
    return [groups.with_counts(part) for part in parts]


def perturb_partition(groups: Groups, partition: Partition, *, seed: int) -> list[Groups]:
    """Every sub-table, perturbed within its own domain and with its own retention."""
    tables = divide(groups, partition, seed=seed)
    parts: list[list[Any]] = [[] for _ in tables]
    blocks = [list(cut(table.counts)) for table in tables]
    for number, _ in cut(groups.counts):
        chance = generator(seed, PERTURB, number)
        drawn = perturb_tables([block[number][1] for block in blocks], partition, chance=chance)
        for part, cells, block in zip(parts, drawn, blocks, strict=True):
            part.append(cells.matrix(block[number][1].shape))
    return [groups.with_counts(part) for part in parts]


def perturb_tables(
    tables: list[Any], partition: Partition, *, chance: np.random.Generator
) -> Iterator[Cells]:
    """One block of every sub-table, perturbed."""
    for counts, domain, retention in zip(tables, partition.domains, partition.retention, strict=True):
        cells = perturb_counts(csr_array(counts[:, domain]), float(retention), chance=chance)
        yield Cells(cells.group, domain[cells.value], cells.count)


def divide_counts(counts: Any, taken: Whole, *, chance: np.random.Generator) -> list[Any]:
    """A block's matrix of counts as one matrix for each sub-table, whose columns add up to ``taken``."""
    by_value = counts.tocsc()
    split = np.zeros((len(taken), by_value.nnz), np.int64)
    for value in range(counts.shape[1]):
        cells = slice(by_value.indptr[value], by_value.indptr[value + 1])
        tables = np.flatnonzero(taken[:, value])
        if len(tables):
            split[tables, cells] = _assign(by_value.data[cells], taken[tables, value], chance)
    found = list[Any]()
    for numbers in split:
        table = by_value.copy()
        table.data = numbers
        table.eliminate_zeros()
        found.append(csr_array(table.tocsr()))
    return found


def _assign(counts: Whole, sizes: Whole, chance: np.random.Generator) -> Whole:
    """How many records of each cell go to each table of these sizes; rows are tables."""
    if len(sizes) == 1:
        return counts[None, :]
    if int(counts.sum()) <= 4 * len(counts) * len(sizes):
        labels = np.repeat(np.arange(len(sizes)), sizes)
        chance.shuffle(labels)
        cell = np.repeat(np.arange(len(counts)), counts)
        found = np.bincount(labels * len(counts) + cell, minlength=len(sizes) * len(counts))
        return found.reshape(len(sizes), len(counts))
    drawn, left = np.zeros((len(sizes), len(counts)), np.int64), counts.copy()
    for at, size in enumerate(sizes[:-1].tolist()):
        drawn[at] = _draw(left, size, chance)
        left -= drawn[at]
    drawn[-1] = left
    return drawn


def _draw(counts: Whole, size: int, chance: np.random.Generator) -> Whole:
    """How many of each kind there are among ``size`` records drawn without replacement."""
    total = int(counts.sum())
    if total >= MOST:
        raise RecordsError(
            "too many records share one sensitive value to be divided among sub-tables",
            found=f"{total:,}",
            remedy=f"publish the data in parts of under {MOST:,} records",
        )
    return chance.multivariate_hypergeometric(counts, size, method="marginals")
