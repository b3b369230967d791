"""A simulator of homes in blocks, tracts, counties and states, with realistic national figures.

Blocks are as uneven as real ones: about half have ten homes or fewer, a few have hundreds. Tracts
are mixtures of kinds of neighbourhood (:mod:`showthrough.census.neighbourhoods`, which also
gives the sources of all figures), so they differ in tenure, age, race and household type. Every
tract has a random stream of its own: a simulation of more blocks starts with the same homes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from numbers import Integral

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from showthrough.census.neighbourhoods import Nation, make_nation
from showthrough.census.places import DIGITS
from showthrough.errors import InputError, check_type
from showthrough.files import replacing
from showthrough.schema import Schema

__all__ = [
    "block_mixes",
    "check_request",
    "iter_households",
    "place_columns",
    "simulate_households",
    "tracts_in_batches",
    "write_batches",
    "write_households",
]

BLOCKS_PER_TRACT = 80
TRACTS_PER_COUNTY = 25
COUNTIES_PER_STATE = 40
MOST_BLOCKS = 99 * COUNTIES_PER_STATE * TRACTS_PER_COUNTY * BLOCKS_PER_TRACT

#: Tracts that are made, and written, at a time.
_BATCH = 100

# Block sizes are log-normal: median 10, mean 10·exp(1.13²/2) = 19.
_MEDIAN_SIZE, _SPREAD = 10.0, 1.13
_LARGEST = 1_500

#: How much of a tract is of its main kind on average, and how alike its blocks are.
_MAIN_SHARE = (3.0, 2.0)
_OTHER_KINDS, _ALIKE = 6.0, 8.0
_GOLDEN = (5**0.5 - 1) / 2

Codes = NDArray[np.uint8]


def simulate_households(n_blocks: int, *, seed: int, children: bool = False) -> pa.Table:
    """Simulate the homes of some census blocks.

    Parameters
    ----------
    n_blocks
        The number of blocks.
    seed
        The seed of the simulation. A simulation of more blocks starts with the same homes.
    children
        Add the eleventh census column; see :func:`census_schema`.

    Returns
    -------
    pyarrow.Table
        One row per home: ``state``, ``county``, ``tract``, ``block`` and the census columns. Places
        have made-up codes of 2, 5, 11 and 15 digits, each beginning with that of the larger place.

    Raises
    ------
    InputError
        If the number of blocks or the seed is out of range.

    Examples
    --------
    >>> homes = simulate_households(3, seed=1)
    >>> homes.num_rows, homes["block"].unique().to_pylist()
    (64, ['010010000010001', '010010000010002', '010010000010003'])
    """
    return pa.concat_tables(iter_households(n_blocks, seed=seed, children=children)).combine_chunks()


def write_households(
    path: str | os.PathLike[str], n_blocks: int, *, seed: int, children: bool = False
) -> int:
    """Simulate homes and write them to a Parquet file, some tracts at a time.

    Parameters
    ----------
    path
        The file to write.
    n_blocks, seed, children
        As for :func:`simulate_households`.

    Returns
    -------
    int
        The number of homes.

    Raises
    ------
    InputError
        If the file cannot be written, or the number of blocks or the seed is out of range.
    """
    return write_batches(path, iter_households(n_blocks, seed=seed, children=children))


def write_batches(path: str | os.PathLike[str], batches: Iterator[pa.Table]) -> int:
    """Write tables to one Parquet file; how many rows they have."""
    check_type(path, (str, os.PathLike), name="path", remedy="give the path of the file to write")
    first, n_rows = next(batches), 0
    with replacing(path) as draft, pq.ParquetWriter(draft, first.schema, compression="zstd") as writer:
        for batch in chain([first], batches):
            writer.write_table(batch)
            n_rows += batch.num_rows
    return n_rows


def iter_households(n_blocks: int, *, seed: int, children: bool = False) -> Iterator[pa.Table]:
    """Simulate homes as a stream of tables, each of whole tracts.

    Parameters
    ----------
    n_blocks, seed, children
        As for :func:`simulate_households`.

    Returns
    -------
    Iterator
        Tables with the columns of :func:`simulate_households`.
    """
    check_type(children, bool, name="children")
    check_request(n_blocks, seed)
    return _batches(n_blocks, seed, children)


def check_request(n_blocks: int, seed: int) -> None:
    """Raise unless this many blocks can be simulated with such a seed."""
    check_type(n_blocks, Integral, name="n_blocks")
    check_type(seed, Integral, name="seed")
    if not 1 <= n_blocks <= MOST_BLOCKS:
        raise InputError(
            "number of blocks out of range", found=str(n_blocks), remedy=f"use 1 to {MOST_BLOCKS:,}"
        )
    if not 0 <= seed < 2**64:
        raise InputError(
            "seed out of range", found=str(seed), remedy="use a whole number from 0 to 2**64 - 1"
        )


def tracts_in_batches(n_blocks: int) -> Iterator[range]:
    """The tracts that have this many blocks, some at a time."""
    n_tracts = -(-n_blocks // BLOCKS_PER_TRACT)
    return (range(start, min(start + _BATCH, n_tracts)) for start in range(0, n_tracts, _BATCH))


def _batches(n_blocks: int, seed: int, children: bool) -> Iterator[pa.Table]:
    nation = make_nation(children)
    for tracts in tracts_in_batches(n_blocks):
        made = [_tract(nation, tract, seed) for tract in tracts]
        block, codes = made[-1]
        kept = block < n_blocks - tracts[-1] * BLOCKS_PER_TRACT
        made[-1] = block[kept], codes[kept]
        blocks = [block + tract * BLOCKS_PER_TRACT for tract, (block, _) in zip(tracts, made, strict=True)]
        yield _table(np.concatenate(blocks), np.concatenate([codes for _, codes in made]), nation.schema)


def _tract(nation: Nation, tract: int, seed: int) -> tuple[NDArray[np.int64], Codes]:
    """Each home's block within the tract, and the homes' codes."""
    rng = np.random.Generator(np.random.Philox(key=np.array([seed, tract], np.uint64)))
    sizes = np.rint(_MEDIAN_SIZE * np.exp(_SPREAD * rng.standard_normal(BLOCKS_PER_TRACT)))
    block = np.repeat(np.arange(BLOCKS_PER_TRACT), np.clip(sizes, 1, _LARGEST).astype(np.int64))
    mixes = block_mixes(nation.weights, tract, seed, rng)
    n = len(block)
    kind = (rng.random((n, 1)) >= np.cumsum(mixes, axis=1)[block, :-1]).sum(axis=1)
    codes = _occupied(nation, kind, rng)
    vacant = rng.random(n) < np.minimum(0.9, nation.vacancy[kind] * rng.gamma(4.0, 0.25))
    use = _draw(nation.empty, kind, 7, rng)
    for at, attribute in enumerate(nation.schema.attributes):
        empty = 1 + use if attribute.name == "vacancy" else len(attribute.values) - 1
        codes[:, at] = np.where(vacant, empty, codes[:, at])
    return block, codes


def block_mixes(
    weights: NDArray[np.float64], tract: int, seed: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Block × kind. The main kinds of tracts follow a golden-ratio sequence, so that they come in
    the nation's proportions already in a small number of tracts."""
    start = np.random.Generator(np.random.Philox(key=np.array([seed, 2**63], np.uint64))).random()
    place = (start + tract * _GOLDEN) % 1
    main = int(np.searchsorted(np.cumsum(weights)[:-1], place, side="right"))
    share = rng.beta(*_MAIN_SHARE)
    mix = (1 - share) * rng.dirichlet(_OTHER_KINDS * weights)
    mix[main] += share
    gammas = rng.standard_gamma(_ALIKE * mix, (BLOCKS_PER_TRACT, len(mix)))
    total = gammas.sum(axis=1, keepdims=True)
    return np.where(total > 0, gammas / np.where(total > 0, total, 1), mix)


def _occupied(nation: Nation, kind: NDArray[np.int64], rng: np.random.Generator) -> Codes:
    """A household for every home."""
    schema = nation.schema
    codes = np.zeros((len(kind), len(schema.attributes)), np.uint8)
    core = nation.cores[_draw(nation.core, kind, len(nation.cores), rng)]
    for at, name in enumerate(nation.core_names):
        codes[:, schema.index[name]] = core[:, at]
    age, type_ = (codes[:, schema.index[name]].astype(np.int64) for name in ("age", "type"))
    row = nation.row_of_rest(kind, age, type_)
    rest = _draw(nation.rest, row, 4 * 7 * 2, rng)
    for name, part in zip(("tenure", "race", "hispanic"), np.unravel_index(rest, (4, 7, 2)), strict=True):
        codes[:, schema.index[name]] = part
    return codes


def _draw(
    rows: NDArray[np.float64], row: NDArray[np.int64], width: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each entry a column of its row, by inversion."""
    at = np.searchsorted(rows, row + rng.random(len(row)), side="right")
    return np.minimum(at - row * width, width - 1)


def _table(block: NDArray[np.int64], codes: Codes, schema: Schema) -> pa.Table:
    """Numbers of blocks and codes as text columns."""
    columns = place_columns(block)
    for at, attribute in enumerate(schema.attributes):
        values = pa.array(attribute.values, pa.string())
        columns[attribute.name] = pa.DictionaryArray.from_arrays(pa.array(codes[:, at], pa.int8()), values)
    return pa.table(columns)


def place_columns(block: NDArray[np.int64]) -> dict[str, pa.Array]:
    """State, county, tract and block of numbers of blocks."""
    columns: dict[str, pa.Array] = {}
    for name, step in zip(
        DIGITS,
        (
            BLOCKS_PER_TRACT * TRACTS_PER_COUNTY * COUNTIES_PER_STATE,
            BLOCKS_PER_TRACT * TRACTS_PER_COUNTY,
            BLOCKS_PER_TRACT,
            1,
        ),
        strict=True,
    ):
        places, index = np.unique(block // step, return_inverse=True)
        names = [_geoid(int(place) * step)[: DIGITS[name]] for place in places]
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array(index, pa.int32()), pa.array(names, pa.string())
        )
    return columns


def _geoid(block: int) -> str:
    """The 15-digit code of a block: state, county (odd numbers), tract, block."""
    tract, block = divmod(block, BLOCKS_PER_TRACT)
    county, tract = divmod(tract, TRACTS_PER_COUNTY)
    state, county = divmod(county, COUNTIES_PER_STATE)
    return f"{state + 1:02d}{2 * county + 1:03d}{tract + 1:06d}{block + 1:04d}"
