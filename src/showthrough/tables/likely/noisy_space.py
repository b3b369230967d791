"""All record types of noisy tables, as arrays for the moves of a chain; made once for all areas."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.cell import UNBOUNDED
from showthrough.errors import ReleaseError
from showthrough.noise_law import UNKNOWN, NoisyCounts
from showthrough.release import Layout, Release
from showthrough.tables.likely.hashing import PRIME, make_hash_table
from showthrough.tables.likely.noisy_moves import TypeGroups, TypeKeys
from showthrough.tables.search.universe import Universe, grow, make_frame

__all__ = [
    "NoisySpace",
    "noisy_space",
    "scores_of",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The most record types.
MOST_TYPES = 2_000_000

#: Sets of columns that are drawn anew together: how many, of how many columns, and how many types may agree
#: in all others on average (as seen from a type).
_SETS, _SET_COLUMNS, _GROUP = 40, 5, 300

#: Types looked at together when cells are compared.
_CHUNK = 4_096

#: The seed of the keys, which nothing that is said depends on.
_SEED = 20_261_117

#: What an impossible count costs for every unit that it is away from possible ones.
IMPOSSIBLE = 1e6


@dataclass(frozen=True, eq=False)
class NoisySpace:
    """Record types, the distinct rows that cells have over them, and what moves look up.

    ``row_of`` leads from the release's cells to rows, −1 where a cell says nothing; ``everything`` marks the
    rows that count every record once.
    """

    universe: Universe
    start: Whole
    row: NDArray[np.int32]
    times: NDArray[np.int32]
    row_of: Whole
    n_rows: int
    everything: NDArray[np.bool_]
    groups: TypeGroups
    keys: TypeKeys

    @property
    def most_times(self) -> int:
        """How often a record counts in a row at most."""
        return int(self.times.max(initial=1))


_KEPT: OrderedDict[tuple[int, bytes], tuple[Layout, NoisySpace]] = OrderedDict()


def noisy_space(release: Release) -> NoisySpace:
    """The space of a release; kept for other areas with the same tables and impossible cells."""
    impossible = release.high == 0
    key = id(release.layout), impossible.tobytes()
    if key not in _KEPT:
        _KEPT[key] = release.layout, _make(release)
        while len(_KEPT) > 2:
            _KEPT.popitem(last=False)
    return _KEPT[key][1]


def _make(release: Release) -> NoisySpace:
    frame = make_frame(release.layout)
    universe = grow(frame, release, most=MOST_TYPES)
    if not len(universe):
        raise ReleaseError(
            "no kind of record is possible", remedy="check the rules, and cells published as 0"
        )
    cells = np.flatnonzero(frame.cells_inside & (release.high > 0))
    start, row, times, row_of_used, everything = _rows(universe, cells)
    row_of = np.full(len(release.low), -1, np.int64)
    row_of[cells] = row_of_used
    return NoisySpace(
        universe,
        start,
        row,
        times,
        row_of,
        len(everything),
        everything,
        _groups(universe),
        _keys(universe),
    )


def _rows(
    universe: Universe, cells: Whole
) -> tuple[Whole, NDArray[np.int32], NDArray[np.int32], Whole, NDArray[np.bool_]]:
    """Type by type the rows that it counts in, how often, and the row of every cell."""
    rng = np.random.default_rng(_SEED)
    hashes = np.zeros(len(cells), np.uint64)
    parts: list[tuple[Whole, Whole, Whole]] = []
    everything = np.ones(len(cells), bool)
    for first in range(0, len(universe), _CHUNK):
        some = slice(first, first + _CHUNK)
        member = universe.frame.layout.times_counted(universe.words[some], cells)
        weights = rng.integers(1, 2**63, len(member)).astype(np.uint64)
        at, of = np.nonzero(member)
        number = member[at, of].astype(np.int64)
        hashes += weights @ member.astype(np.uint64)
        everything &= (member == 1).all(axis=0)
        parts.append((at + first, of, number))
    _, example, row_of = np.unique(hashes, return_index=True, return_inverse=True)
    kept = np.zeros(len(cells), bool)
    kept[example] = True
    at, of, number = (np.concatenate([part[k] for part in parts]) for k in range(3))
    chosen = kept[of]
    at, of, number = at[chosen], of[chosen], number[chosen]
    start = np.searchsorted(at, np.arange(len(universe) + 1))
    return start, row_of[of].astype(np.int32), number.astype(np.int32), row_of, everything[example]


def _groups(universe: Universe) -> TypeGroups:
    """Groups of types for some sets of columns: large ones where types are few, smaller ones otherwise."""
    codes, sizes = universe.codes.astype(np.int64), universe.frame.sizes
    n_columns = codes.shape[1]
    found: list[tuple[Whole, Whole, Whole]] = []
    sets = [
        chosen
        for k in range(1, min(_SET_COLUMNS, n_columns) + 1)
        for chosen in itertools.combinations(range(n_columns), k)
    ]
    if len(universe) <= _GROUP:
        sets.append(tuple(range(n_columns)))
    rng = np.random.default_rng(_SEED)
    for at in rng.permutation(len(sets)).tolist():
        if len(found) == _SETS:
            break
        rest = [column for column in range(n_columns) if column not in sets[at]]
        key = np.zeros(len(codes), np.int64)
        for column in rest:
            key = key * sizes[column] + codes[:, column]
        _, group, many = np.unique(key, return_inverse=True, return_counts=True)
        typical = float((many.astype(float) ** 2).sum() / len(codes))
        if 1.2 < typical <= _GROUP:
            order = np.argsort(group, kind="stable")
            found.append((order, group, np.concatenate([[0], np.cumsum(many)])))
    if not found:
        every = np.arange(len(codes))
        found.append((every, every, np.arange(len(codes) + 1)))
    width = max(len(start) for _, _, start in found)
    starts = np.zeros((len(found), width), np.int32)
    for number, (_, _, start) in enumerate(found):
        starts[number, : len(start)] = start
    return TypeGroups(
        np.array([order for order, _, _ in found], np.int32),
        np.array([group for _, group, _ in found], np.int32),
        starts,
    )


def _keys(universe: Universe) -> TypeKeys:
    """A key for each type: a sum of random numbers, one for each value."""
    rng = np.random.default_rng(_SEED + 1)
    codes = universe.codes
    most = PRIME // max(1, codes.shape[1])  # the sum of a record's parts stays below the modulus
    key = np.zeros(len(codes), np.int64)
    parts = np.zeros(codes.shape, np.int64)
    for column, size in enumerate(universe.frame.sizes):
        parts[:, column] = rng.integers(0, most, size)[codes[:, column]]
        key += parts[:, column]
    return TypeKeys(key, parts, *make_hash_table(key))


def scores_of(release: Release, space: NoisySpace, most: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Row × count up to ``most``: the logarithm of the chance of what was published; and which are possible.

    An impossible count costs more the further it is from a possible one.
    """
    counts = np.arange(most + 1)
    score = np.zeros((space.n_rows, most + 1))
    allowed = np.ones((space.n_rows, most + 1), bool)
    seen: set[tuple[int, int, str]] = set()
    noise = release.noise or NoisyCounts(release.low, (), np.full(len(release.low), -1))
    for cell in np.flatnonzero(space.row_of >= 0).tolist():
        row, low, high = int(space.row_of[cell]), int(release.low[cell]), int(release.high[cell])
        law = noise.laws[noise.law_of[cell]] if noise.law_of[cell] >= 0 else None
        value = int(noise.values[cell])
        if law is None or value == UNKNOWN:
            if low > 0 or high < UNBOUNDED:
                allowed[row] &= (counts >= low) & (counts <= high)
            continue
        if law.keyed and (row, value, law.text) in seen:
            continue
        seen.add((row, value, law.text))
        chances = law.log_chances(value, most)
        allowed[row] &= np.isfinite(chances)
        score[row] += np.where(np.isfinite(chances), chances, 0.0)
    if not allowed.any(axis=1).all():
        raise ReleaseError(
            "two cells with the same records were published with values that no count explains",
            remedy="check the values and the law of the noise",
        )
    return score, allowed
