"""What draws suggest is likely: claims and findings that are worth a closer look."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.likely.posterior import Posterior

__all__ = [
    "Candidate",
    "likely_claims",
    "likely_findings",
]

Whole = NDArray[np.int64]
Values = tuple[tuple[int, int], ...]

#: How far below the limit draws may be for something to be looked at.
_SLACK = 0.05

#: Possible keys up to which those that occur are marked rather than sorted.
_MOST_KEYS = 1_000_000

#: Keys × draws counted together.
_MOST_ENTRIES = 20_000_000


@dataclass(frozen=True)
class Candidate:
    """Values of columns, as pairs (column, code): those known, and those that are claimed or learnt.

    For a claim ``given`` is empty and ``count`` the number of records.
    """

    given: Values
    values: Values
    count: int = 0


def _keyed(codes: Whole, columns: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[Whole, Whole]:
    """The distinct combinations of values of some columns, and each record's number among them.

    A code as large as its column's size means that there is no record; that combination comes last.
    """
    size = int(np.prod([sizes[column] for column in columns], dtype=object))
    key = np.zeros(codes.shape[:-1], np.int64)
    for column in columns:
        key = key * sizes[column] + codes[..., column]
    key[codes[..., columns[0]] >= sizes[columns[0]]] = size
    keys, of = _numbered(key, size + 1)
    keys = keys[keys < size]
    values = np.zeros((len(keys), len(columns)), np.int64)
    for place in range(len(columns) - 1, -1, -1):
        keys, values[:, place] = np.divmod(keys, sizes[columns[place]])
    return values, of


def _numbered(key: Whole, size: int) -> tuple[Whole, Whole]:
    """The keys that occur, sorted, and each one's number; counted where there are few possible ones."""
    if size > _MOST_KEYS:
        keys, of = np.unique(key, return_inverse=True)
        return keys, of.reshape(key.shape)
    present = np.zeros(size, bool)
    present[key.ravel()] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[key]


def likely_claims(posterior: Posterior, *, least: float, max_columns: int) -> Iterator[Candidate]:
    """Claims about some records that hold in most draws, whatever their number of columns up to a limit."""
    codes = posterior.codes
    sizes = posterior.universe.frame.sizes
    n_draws = codes.shape[0] * codes.shape[1]
    for k in range(1, min(max_columns, len(sizes)) + 1):
        for columns in itertools.combinations(range(len(sizes)), k):
            values, of = _keyed(codes, columns, sizes)
            many = np.bincount(of.ravel(), minlength=len(values))[: len(values)]
            common = np.flatnonzero(many >= least / 2 * n_draws)
            number = np.full(len(values) + 1, -1, np.int64)
            number[common] = np.arange(len(common))
            for at, count in _steady(number[of].reshape(n_draws, -1), len(common), least - _SLACK):
                yield Candidate((), tuple(zip(columns, values[common[at]].tolist(), strict=True)), count)


def _steady(numbers: Whole, size: int, least: float) -> Iterator[tuple[int, int]]:
    """Combinations that most draws have equally often, with that number."""
    n_draws = len(numbers)
    step = max(1, _MOST_ENTRIES // max(n_draws, 1))
    for start in range(0, size, step):
        width = min(step, size - start)
        inside = np.where((numbers >= start) & (numbers < start + width), numbers - start, width)
        keys = inside + np.arange(n_draws)[:, None] * (width + 1)
        counts = np.bincount(keys.ravel(), minlength=n_draws * (width + 1)).reshape(n_draws, width + 1)
        counts = counts[:, :width]
        middle = np.sort(counts, axis=0)[n_draws // 2]  # whatever more than half of the draws have
        share = (counts == middle).mean(axis=0)
        for at in np.flatnonzero((share >= least) & (middle > 0)).tolist():
            yield start + at, int(middle[at])


def likely_findings(posterior: Posterior, *, least: float, max_known: int) -> Iterator[Candidate]:
    """What is learnt from at most this many known columns about one other, in most draws.

    Where fewer known columns say it as surely, more are not listed.
    """
    sizes = posterior.universe.frame.sizes
    n_draws = posterior.codes.shape[0] * posterior.codes.shape[1]
    known: dict[tuple[Values, tuple[int, int]], float] = {}
    for size in range(1, min(max_known, len(sizes) - 1) + 1):
        for columns in itertools.combinations(range(len(sizes)), size):
            values, of = _keyed(posterior.codes, columns, sizes)
            there = of.ravel() < len(values)
            total = np.bincount(of.ravel()[there], minlength=len(values))
            for target in set(range(len(sizes))) - set(columns):
                pairs = (of.ravel() * sizes[target] + posterior.codes[..., target].ravel())[there]
                table = np.bincount(pairs, minlength=len(values) * sizes[target]).reshape(len(values), -1)
                best = table.argmax(axis=1)
                share = table[np.arange(len(values)), best] / np.maximum(total, 1)
                for at in np.flatnonzero((share >= least - _SLACK) & (total >= n_draws / 2)).tolist():
                    given = tuple(zip(columns, values[at].tolist(), strict=True))
                    learnt = (target, int(best[at]))
                    if not _known_already(known, given, learnt, share[at]):
                        known[given, learnt] = share[at]
                        yield Candidate(given, (learnt,))


def _known_already(
    known: dict[tuple[Values, tuple[int, int]], float], given: Values, learnt: tuple[int, int], share: float
) -> bool:
    """Whether one known column fewer says it as surely."""
    return any(
        known.get((tuple(one for one in given if one != left), learnt), -1.0) >= share - 0.01
        for left in given
    )
