"""A simulator of people in blocks, tracts, counties and states, with national figures like those of 2010.

People live in households (:mod:`showthrough.census.people_households`), households in blocks as uneven as
real ones: 50 people on average, many blocks with a handful, a few with thousands. Tracts are mixtures of
kinds of neighbourhood. Every tract has a random stream of its own: a simulation of more blocks starts with
the same people.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.census.people import RACES
from showthrough.census.people_households import Households, make_households
from showthrough.census.simulator import (
    BLOCKS_PER_TRACT,
    block_mixes,
    check_request,
    place_columns,
    tracts_in_batches,
    write_batches,
)

__all__ = [
    "iter_people",
    "simulate_people",
    "write_people",
]

# Households per block are log-normal: median 9, mean 9·exp(1.29²/2) = 20.7, with 2.4 people each.
_MEDIAN_SIZE, _SPREAD, _LARGEST = 9.0, 1.29, 2_500


def simulate_people(n_blocks: int, *, seed: int) -> pa.Table:
    """Simulate the people of some census blocks.

    Parameters
    ----------
    n_blocks
        The number of blocks.
    seed
        The seed of the simulation. A simulation of more blocks starts with the same people.

    Returns
    -------
    pyarrow.Table
        One row per person: ``state``, ``county``, ``tract``, ``block``, ``sex``, ``age`` in years, the
        six races and ``hispanic``. Places have made-up codes of 2, 5, 11 and 15 digits, each beginning
        with that of the larger place.

    Raises
    ------
    InputError
        If the number of blocks or the seed is out of range.

    Examples
    --------
    >>> people = simulate_people(3, seed=1)
    >>> people.column_names[4:8], people["block"].unique().to_pylist()[:2]
    (['sex', 'age', 'white', 'black'], ['010010000010001', '010010000010002'])
    """
    return pa.concat_tables(iter_people(n_blocks, seed=seed)).combine_chunks()


def write_people(path: str | os.PathLike[str], n_blocks: int, *, seed: int) -> int:
    """Simulate people and write them to a Parquet file, some tracts at a time.

    Parameters
    ----------
    path
        The file to write.
    n_blocks, seed
        As for :func:`simulate_people`.

    Returns
    -------
    int
        The number of people.

    Raises
    ------
    InputError
        If the file cannot be written, or the number of blocks or the seed is out of range.
    """
    return write_batches(path, iter_people(n_blocks, seed=seed))


def iter_people(n_blocks: int, *, seed: int) -> Iterator[pa.Table]:
    """Simulate people as a stream of tables, each of whole tracts.

    Parameters
    ----------
    n_blocks, seed
        As for :func:`simulate_people`.

    Returns
    -------
    Iterator
        Tables with the columns of :func:`simulate_people`.
    """
    check_request(n_blocks, seed)
    return _batches(n_blocks, seed)


def _batches(n_blocks: int, seed: int) -> Iterator[pa.Table]:
    households = make_households()
    for tracts in tracts_in_batches(n_blocks):
        made = [_tract(households, tract, seed) for tract in tracts]
        blocks = [block + tract * BLOCKS_PER_TRACT for tract, (block, _) in zip(tracts, made, strict=True)]
        block, people = np.concatenate(blocks), np.concatenate([people for _, people in made])
        kept = block < n_blocks
        yield _table(block[kept], people[kept])


def _tract(households: Households, tract: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Each person's block within the tract, and the people."""
    rng = np.random.Generator(np.random.Philox(key=np.array([seed, tract], np.uint64)))
    sizes = np.rint(_MEDIAN_SIZE * np.exp(_SPREAD * rng.standard_normal(BLOCKS_PER_TRACT)))
    block = np.repeat(np.arange(BLOCKS_PER_TRACT), np.clip(sizes, 1, _LARGEST).astype(np.int64))
    mixes = block_mixes(households.weights, tract, seed, rng)
    kind = (rng.random((len(block), 1)) >= np.cumsum(mixes, axis=1)[block, :-1]).sum(axis=1)
    drawn = households.draw(kind, rng)
    many = households.sizes[drawn]
    offset = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    people = households.people[np.repeat(households.starts[drawn], many) + offset]
    return np.repeat(block, many), people


def _table(block: NDArray[np.int64], people: NDArray[np.int8]) -> pa.Table:
    """Numbers of blocks and people as columns."""
    columns: dict[str, pa.Array] = dict(place_columns(block))
    columns["sex"] = _words(people[:, 0], ("male", "female"))
    columns["age"] = pa.array(people[:, 1].astype(np.int16), pa.int16())
    for at, name in enumerate((*RACES, "hispanic"), 2):
        columns[name] = _words(people[:, at], ("no", "yes"))
    return pa.table(columns)


def _words(codes: NDArray[np.int8], words: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(words, pa.string()))
