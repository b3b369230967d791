"""A simulator of people in blocks, tracts, counties and states, with national figures like those of 2010.

People live in households, households in blocks as uneven as
real ones: 50 people on average, many blocks with a handful, a few with thousands. Tracts are mixtures of
kinds of neighbourhood. Every tract has a random stream of its own: a simulation of more blocks starts with
the same people.

Six kinds of neighbourhood lean towards some ages, households, races and origins. What they lean towards
is made up, and so are the households. How all people together look is not: the weights of the households
are raked to national figures of the 2010 Census,

* sex and age: 2010 Census, shares of five-year groups; 50.8 % are female;
* race: 72.4 % White alone, 12.6 Black, 0.9 American Indian or Alaska Native, 4.8 Asian, 0.2 Native
  Hawaiian or Pacific Islander, 6.2 some other race, 2.9 two or more; 16.3 % are Hispanic.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.census.people import RACES
from showthrough.census.simulator import (
    BLOCKS_PER_TRACT,
    block_mixes,
    check_request,
    place_columns,
    tracts_in_batches,
    write_batches,
)

__all__ = [
    "Households",
    "iter_people",
    "make_households",
    "simulate_people",
    "write_people",
]

Floats = NDArray[np.float64]

#: Shares of people by age, in five-year groups from 0 to 84, and 85 or older.
AGE_SHARES = (6.5, 6.6, 6.7, 7.1, 7.0, 6.8, 6.5, 6.5, 6.8, 7.4, 7.2, 6.4, 5.4, 4.0, 3.0, 2.4, 1.9, 1.8)
FEMALE_SHARE = 50.8

#: Shares of people by race: six alone, in the order of the columns, and two or more.
RACE_SHARES = (72.4, 12.6, 0.9, 4.8, 0.2, 6.2, 2.9)
HISPANIC_SHARE = 16.3

#: Per kind of neighbourhood: its share, ages of householders (young, middle, old), and races of households.
_KINDS = (
    (0.20, (0.40, 0.42, 0.18), (0.62, 0.14, 0.01, 0.14, 0.003, 0.087)),  # city
    (0.28, (0.20, 0.66, 0.14), (0.84, 0.05, 0.004, 0.07, 0.001, 0.035)),  # families
    (0.16, (0.10, 0.38, 0.52), (0.90, 0.05, 0.004, 0.025, 0.001, 0.02)),  # seniors
    (0.18, (0.18, 0.52, 0.30), (0.91, 0.045, 0.025, 0.005, 0.001, 0.014)),  # rural
    (0.08, (0.32, 0.48, 0.20), (0.16, 0.76, 0.005, 0.015, 0.001, 0.059)),  # black
    (0.10, (0.33, 0.50, 0.17), (0.46, 0.07, 0.01, 0.03, 0.003, 0.427)),  # hispanic
)

#: Who is Hispanic: those of some other race mostly, of other races the share of each kind.
_HISPANIC = (0.12, 0.06, 0.04, 0.03, 0.04, 0.72)

#: Households made per kind of neighbourhood, and rounds of raking.
_PER_KIND, _ROUNDS = 4_000, 80

#: Columns of a person: sex, age in years, six races, Hispanic.
Person = tuple[int, ...]

# Households per block are log-normal: median 9, mean 9·exp(1.29²/2) = 20.7, with 2.4 people each.
_MEDIAN_SIZE, _SPREAD, _LARGEST = 9.0, 1.29, 2_500


@dataclass(frozen=True, eq=False)
class Households:
    """Households to draw from: people one after the other, and for each kind the odds of each household.

    Attributes
    ----------
    people
        Person × column: sex, age in years, six races, Hispanic.
    starts, sizes
        The first person of each household, and how many there are.
    weights
        The share of each kind of neighbourhood among households.
    odds
        Kind × household of that kind: cumulative odds.
    """

    people: NDArray[np.int8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    weights: Floats
    odds: Floats

    def draw(self, kinds: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A household for each kind."""
        flat = (self.odds + np.arange(len(self.odds))[:, None]).ravel()
        return np.minimum(np.searchsorted(flat, kinds + rng.random(len(kinds)), side="right"), len(flat) - 1)


@lru_cache(maxsize=1)
def make_households() -> Households:
    """The households, the same ones every time."""
    random = Random(2010)  # noqa: S311 (made-up people)
    listed = [
        _household(random, ages, races, hispanic)
        for (_, ages, races), hispanic in zip(_KINDS, _HISPANIC, strict=True)
        for _ in range(_PER_KIND)
    ]
    sizes = np.array([len(one) for one in listed], np.int64)
    people = np.array([person for one in listed for person in one], np.int8)
    start = np.repeat([share for share, _, _ in _KINDS], _PER_KIND) / _PER_KIND
    weight = _raked(people, sizes, start).reshape(len(_KINDS), _PER_KIND)
    total = weight.sum(axis=1)
    odds = np.cumsum(weight / total[:, None], axis=1)
    odds[:, -1] = 1.0
    return Households(people, np.cumsum(sizes) - sizes, sizes, total / total.sum(), odds)


def _household(
    random: Random, ages: tuple[float, ...], races: tuple[float, ...], hispanic: float
) -> list[Person]:
    """One household: a householder, perhaps a partner, children, and others."""
    stage = random.choices((0, 1, 2), ages)[0]
    age = random.randrange(*((18, 34), (34, 65), (65, 96))[stage])
    sex = int(random.random() < 0.5)
    race = random.choices(range(6), races)[0]
    origin = int(random.random() < (0.95 if race == 5 else hispanic))
    made = [(sex, age, race, origin)]
    if random.random() < (0.42, 0.62, 0.46)[stage]:
        other = random.choices(range(6), races)[0] if random.random() < 0.12 else race
        apart = age + random.randrange(-4, 5) + (2 if sex else -2)
        made.append(
            (1 - sex, max(18, min(100, apart)), other, origin if random.random() < 0.9 else 1 - origin)
        )
    made += _children(random, made, stage)
    while random.random() < (0.22, 0.12, 0.10)[stage]:
        made.append((int(random.random() < 0.5), random.randrange(18, 90), race, origin))
    parents = {one[2] for one in made[:2]} if len(made) > 1 else {race}
    return [
        _person(random, one, parents if at > 1 and one[1] < 25 else {one[2]}) for at, one in enumerate(made)
    ]


def _children(
    random: Random, adults: list[tuple[int, int, int, int]], stage: int
) -> list[tuple[int, int, int, int]]:
    """Children of the first adults, not older than these can have."""
    _, age, race, origin = adults[0]
    likely = (0.40, 0.55, 0.03)[stage] if len(adults) > 1 else (0.22, 0.24, 0.02)[stage]
    if random.random() >= likely:
        return []
    oldest = max(0, min(24, age - 18))
    many = random.choices((1, 2, 3, 4, 5), (42, 36, 15, 5, 2))[0]
    youngest = max(0, age - 45)
    if youngest > oldest:
        return []
    return [
        (int(random.random() < 0.49), random.randint(youngest, oldest), race, origin) for _ in range(many)
    ]


def _person(random: Random, one: tuple[int, int, int, int], parents: set[int]) -> Person:
    """The columns of a person, who has the races of both parents, or by chance another one."""
    sex, age, race, origin = one
    own = {race} | (parents if random.random() < 0.7 else set())
    if random.random() < 0.012:
        own.add(random.randrange(6))
    return (sex, age, *(int(at in own) for at in range(6)), origin)


def _raked(people: NDArray[np.int8], sizes: NDArray[np.int64], weight: Floats) -> Floats:
    """The weights of households with which all people have the national shares."""
    household = np.repeat(np.arange(len(sizes)), sizes)
    races = people[:, 2:8]
    several = races.sum(axis=1) > 1
    margins = (
        (np.minimum(people[:, 1] // 5, 17).astype(np.int64), np.array(AGE_SHARES)),
        (people[:, 0].astype(np.int64), np.array([100 - FEMALE_SHARE, FEMALE_SHARE])),
        (np.where(several, 6, races.argmax(axis=1)).astype(np.int64), np.array(RACE_SHARES)),
        (people[:, 8].astype(np.int64), np.array([100 - HISPANIC_SHARE, HISPANIC_SHARE])),
    )
    for _ in range(_ROUNDS):
        for group, shares in margins:
            found = np.bincount(group, weight[household], len(shares))
            factor = np.log(shares / shares.sum() / np.maximum(found / found.sum(), 1e-12))
            weight = weight * np.exp(np.bincount(household, factor[group]) / sizes)
    return weight / weight.sum()


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
