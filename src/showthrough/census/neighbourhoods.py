"""How homes differ between neighbourhoods, and how they add up to the nation.

Six kinds of neighbourhood lean towards some ages, household types, tenures and races. What they
lean towards is made up; how the six together look is not: their joint distribution is raked
(iterative proportional fitting) to national figures. Published ones, with their tables:

* ``TYPES``, ``ALONE_65``, ``UNDER_18``, ``OVER_65``, ``HOUSEHOLDS`` and the share of people living
  alone in ``SIZES``: American Community Survey (ACS) 2021, 1-year, table DP02, in thousands of
  127,545 households; their average size is 2.54.
* ``VACANT_SHARE``: 2020 Census, table H3: of 140,498,736 homes 126,817,580 were occupied.
* ``OWNER_SHARE``: 2020 Census, table H4: 80.1 of 126.8 million households, 63.1 %.

Assumptions, made to look plausible beside these and taken from no table:

* how households without partner and own children divide into such with and without relatives
  (four entries of ``TYPES``, whose sums for men and women are those of DP02);
* sizes of two and more people in ``SIZES`` (their mean is 2.48, if seven or more are 7.6 people),
  ``AGES_OF_HOUSEHOLDERS``, ``OWNERS_BY_AGE``, ``RACES``, ``VACANCIES``;
* in ``TENURES`` how owners divide into such with and without a mortgage, and how many homes are
  occupied without rent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from showthrough.census.homes import AGES, census_schema
from showthrough.records import Records
from showthrough.schema import Schema

__all__ = [
    "KINDS",
    "Nation",
    "make_nation",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Kinds of neighbourhood with their share of all homes and the share of their homes that is vacant.
KINDS = ("city", "families", "seniors", "rural", "black", "hispanic")
_WEIGHTS = np.array([0.20, 0.28, 0.16, 0.18, 0.08, 0.10])
_VACANCY = np.array([0.080, 0.045, 0.100, 0.185, 0.115, 0.060])

VACANT_SHARE = 1 - 126_817_580 / 140_498_736
OWNER_SHARE = 0.631

# Thousands of households, in the order of the schema's detailed types.
TYPES = np.array([22_870, 37_490, 2_934, 6_261, 19_691, 6_253, 6_900, 2_036, 16_359, 1_573, 2_800, 2_377])
ALONE_65 = {"woman alone": 9_539, "man alone": 4_814}
UNDER_18 = 37_662
OVER_65 = 39_885
HOUSEHOLDS = 127_545

SIZES = np.array([28.3, 33.8, 15.4, 12.9, 5.9, 2.3, 1.4])
AGES_OF_HOUSEHOLDERS = np.array([4.0, 16.0, 17.3, 16.7, 9.3, 9.5, 16.0, 8.2, 3.0])
OWNERS_BY_AGE = np.array([0.17, 0.42, 0.61, 0.70, 0.74, 0.76, 0.79, 0.79, 0.70])
TENURES = np.array([38.6, 24.5, 34.9, 2.0])  # with mortgage, without, rented, no rent
RACES = np.array(  # white, black, native, asian, pacific, other, several; not Hispanic, Hispanic
    [[62.8, 3.2], [12.0, 0.3], [0.6, 0.3], [5.2, 0.1], [0.15, 0.02], [0.45, 5.9], [4.0, 4.98]]
)
VACANCIES = np.array([18.8, 3.3, 9.6, 4.1, 31.9, 0.2, 32.1])

# What follows is made up: odds of ages, sizes and so on before raking, by detailed type.
_AGE_ODDS = np.array(
    [
        [1, 20, 42, 28, 5, 2, 1, 0.3, 0.05],
        [1, 9, 7, 14, 15, 16, 24, 11, 2.5],
        [6, 38, 36, 16, 2.5, 1, 0.4, 0.1, 0.02],
        [9, 33, 14, 14, 9, 8, 9, 3, 0.6],
        [3, 10, 8, 11, 8, 11, 22, 18, 9],
        [5, 30, 38, 22, 3, 1.2, 0.6, 0.15, 0.03],
        [5, 10, 11, 20, 11, 11, 16, 10, 5],
        [22, 32, 11, 10, 6, 6, 8, 4, 1],
        [4, 17, 14, 16, 10, 11, 16, 8, 3],
        [2, 20, 38, 30, 6, 2.5, 1.2, 0.3, 0.05],
        [7, 20, 15, 17, 9, 9, 12, 8, 3],
        [20, 36, 14, 12, 6, 5, 5, 1.5, 0.4],
    ]
)
_SIZE_ODDS = np.array(
    [
        [0, 0, 38, 37, 16, 6, 3],
        [0, 70, 17, 8, 3, 1.2, 0.8],
        [0, 0, 36, 32, 18, 8, 6],
        [0, 85, 9, 4, 1.2, 0.5, 0.3],
        [1, 0, 0, 0, 0, 0, 0],
        [0, 40, 33, 16, 7, 3, 1],
        [0, 58, 23, 11, 5, 2, 1],
        [0, 75, 15, 7, 2, 0.7, 0.3],
        [1, 0, 0, 0, 0, 0, 0],
        [0, 45, 32, 14, 6, 2, 1],
        [0, 60, 22, 11, 4, 2, 1],
        [0, 72, 16, 8, 3, 0.7, 0.3],
    ]
)
# Chance of somebody under 18 where no own children live: two people, more people.
_CHILD_ODDS = np.array(
    [
        [0, 0],
        [0.0005, 0.15],
        [0, 0],
        [0.001, 0.2],
        [0.001, 0],
        [0, 0],
        [0.12, 0.45],
        [0.02, 0.06],
        [0.001, 0],
        [0, 0],
        [0.10, 0.40],
        [0.01, 0.04],
    ]
)
# Chance of somebody over 65 with a householder under 65, and how it depends on the type.
_OLD_ODDS = np.array([0.004, 0.012, 0.03, 0.07, 0.10, 0.20])
_OLD_BY_TYPE = np.array([0.6, 1.0, 0.6, 0.8, 1, 1, 3, 0.7, 1, 1, 3, 0.7])
# Odds of the household type (in schema order) where the detailed type leaves it open.
_TYPE_ODDS = np.array([1, 0.6, 0.75, 1, 0.9, 1, 0.8])

# How the kinds of neighbourhood lean, one row each.
_AGE_LEAN = np.array(
    [
        [2.2, 1.8, 1, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6],
        [0.4, 0.9, 1.6, 1.4, 0.9, 0.7, 0.5, 0.4, 0.3],
        [0.2, 0.4, 0.5, 0.7, 1.1, 1.4, 2.0, 2.4, 2.4],
        [0.8, 0.8, 0.85, 1, 1.2, 1.2, 1.2, 1.1, 1],
        [1.1, 1, 1, 1, 1, 1, 0.9, 0.9, 0.9],
        [1.2, 1.3, 1.3, 1.1, 0.9, 0.8, 0.7, 0.6, 0.5],
    ]
)
_TYPE_LEAN = np.array(
    [
        [0.45, 0.55, 0.8, 1.6, 1.5, 1, 0.9, 2.2, 1.6, 0.9, 0.9, 2.2],
        [2.0, 1.1, 1, 0.8, 0.5, 0.9, 0.9, 0.6, 0.5, 1, 0.9, 0.6],
        [0.5, 1.3, 0.4, 0.7, 1.3, 0.4, 1, 0.7, 1.1, 0.5, 1, 0.7],
        [0.9, 1.2, 1.1, 1, 0.9, 0.8, 0.8, 0.5, 1.1, 1.1, 0.9, 0.7],
        [0.5, 0.5, 1.1, 0.8, 1.3, 2.2, 1.8, 0.9, 1.2, 1.4, 1.5, 0.9],
        [1.5, 0.7, 1.7, 0.8, 0.6, 1.6, 1.5, 0.8, 0.7, 1.5, 1.6, 1],
    ]
)
_LARGE_LEAN = np.array([0.7, 1, 0.7, 0.9, 1.1, 1.8])  # five people or more
_TENURE_LEAN = np.array(
    [
        [0.35, 0.3, 2.2, 1],
        [1.9, 0.7, 0.5, 0.6],
        [0.8, 2.2, 0.6, 0.8],
        [0.9, 1.6, 0.7, 2],
        [0.6, 0.8, 1.7, 1.2],
        [0.9, 0.7, 1.4, 1],
    ]
)
_RACE_LEAN = np.array(
    [
        [0.8, 1.4, 0.9, 1.6, 1.2, 1, 1.2],
        [1.05, 0.6, 0.7, 1.5, 1, 0.8, 1],
        [1.2, 0.5, 0.7, 0.6, 0.6, 0.5, 0.8],
        [1.25, 0.35, 3, 0.15, 0.4, 0.5, 0.9],
        [0.25, 8, 0.7, 0.4, 0.8, 0.8, 1],
        [0.35, 0.6, 0.9, 0.7, 1, 1.2, 0.8],
    ]
)
_HISPANIC_LEAN = np.array([1.2, 0.8, 0.45, 0.35, 0.7, 6])
_VACANCY_LEAN = np.array(
    [
        [2.5, 2, 0.8, 0.8, 0.4, 0.1, 0.7],
        [1, 1, 1.6, 1.6, 0.6, 0.3, 0.9],
        [0.6, 0.8, 1.2, 1.2, 1.3, 0.2, 0.9],
        [0.4, 0.6, 0.7, 0.8, 1.8, 2, 1],
        [1.5, 1, 0.8, 0.8, 0.2, 0.3, 1.6],
        [1.3, 1.2, 0.9, 0.9, 0.5, 2, 1],
    ]
)
# Tenure by age, by household class (married, other family, alone, other) and by race.
_PAID_OFF = np.array([0.12, 0.15, 0.2, 0.3, 0.45, 0.65, 1.2, 2.2, 3.5])
_OWNER_BY_CLASS = np.array([2.4, 0.8, 0.8, 0.6])
_OWNER_BY_RACE = np.array([1.5, 0.5, 0.7, 1.0, 0.5, 0.6, 0.75])
_OWNER_IF_HISPANIC = 0.7

#: Household type → class: married couple, other family, alone, other.
_CLASS = np.array([0, 1, 1, 2, 3, 2, 3])


@dataclass(frozen=True, eq=False)
class Nation:
    """Distributions to draw from, each as rows of cumulative shares; the row's number is added.

    ``core`` has a row per kind over ``cores`` (codes of the columns ``core_names``); ``rest`` has a
    row per kind, age and class over tenure × race × Hispanic; ``empty`` has a row per kind over
    what vacant homes are vacant for.
    """

    schema: Schema
    core_names: tuple[str, ...]
    cores: NDArray[np.uint8]
    core: Floats
    rest: Floats
    empty: Floats
    weights: Floats
    vacancy: Floats

    def row_of_rest(self, kind: Whole, age: Whole, type_: Whole) -> Whole:
        """The row of ``rest`` for a kind and codes of age and household type."""
        return (kind * len(AGES) + age) * 4 + _CLASS[type_]


@lru_cache(maxsize=2)
def make_nation(children: bool = False) -> Nation:
    """Rake the made-up leanings to the national figures."""
    vacancy = _VACANCY * VACANT_SHARE / float(_WEIGHTS @ _VACANCY)
    occupied = _WEIGHTS * (1 - vacancy)
    schema = census_schema(children=children)
    names, cores = _legal_cores(schema)
    core = _raked_cores(names, cores, occupied / occupied.sum())
    return Nation(
        schema,
        names,
        cores,
        _cumulative(core),
        _cumulative(_raked_rest(names, cores, core)),
        _cumulative(_raked_vacancies(_WEIGHTS * vacancy)),
        _WEIGHTS,
        vacancy,
    )


def _legal_cores(schema: Schema) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Every combination of the columns that rules tie together, for occupied homes."""
    names = ("size", "type", "detailed_type", "under18", "over65", "age")
    names += ("children",) if "children" in schema.index else ()
    sizes = [len(schema[name].values) - 1 for name in names]  # the last value is for vacant homes
    every = np.indices(sizes).reshape(len(sizes), -1).T
    codes = np.zeros((len(every), len(schema.attributes)), np.uint8)
    codes[:, [schema.index[name] for name in names]] = every
    records = Records(schema, codes)
    legal = ~np.any([records.matching(box) for box in schema.forbidden], axis=0)
    return names, every[legal].astype(np.uint8)


def _raked_cores(names: tuple[str, ...], cores: NDArray[np.uint8], kinds: Floats) -> Floats:
    """Kind × core: shares of all households."""
    column = {name: cores[:, at].astype(np.int64) for at, name in enumerate(names)}
    size, detail, age = column["size"], column["detailed_type"], column["age"]
    young, old = column["under18"] == 1, column["over65"] == 1
    child = np.where(_CHILD_ODDS[detail].any(axis=1), _CHILD_ODDS[detail, (size > 1).astype(int)], 1)
    elder = np.minimum(0.9, np.append(_OLD_ODDS, [1, 1, 1])[age] * _OLD_BY_TYPE[detail])
    elder = np.where((age >= 6) | (size == 0), 1, np.where(old, elder, 1 - elder))
    base = _AGE_ODDS[detail, age] * _SIZE_ODDS[detail, size] * _TYPE_ODDS[column["type"]] * elder
    base = base * np.where(young, child, np.where(_CHILD_ODDS[detail].any(axis=1), 1 - child, 1))
    if "children" in column:  # a householder, spouse or partner of 15 to 17 and no child: rare
        base = base * np.where(young & (column["children"] == 0), 0.001, 1)
    lean = _AGE_LEAN[:, age] * _TYPE_LEAN[:, detail]
    lean = lean * np.where(size >= 4, _LARGE_LEAN[:, None], 1)
    alone = np.zeros(len(cores), np.int64)
    values = census_schema()["detailed_type"].values
    for at, kind in enumerate(ALONE_65):
        alone[detail == values.index(kind)] = 2 * at + 1
    alone += (alone > 0) & (age >= 6)
    singles = [x for k, n in ALONE_65.items() for x in (TYPES[values.index(k)] - n, n)]
    return _rake(
        base[None, :] * lean,
        [
            (_by_column(detail), TYPES),
            (_by_column(alone), np.array([HOUSEHOLDS - sum(singles), *singles])),
            (_by_column(size), SIZES),
            (_by_column(age), AGES_OF_HOUSEHOLDERS),
            (_by_column(young.astype(int)), np.array([HOUSEHOLDS - UNDER_18, UNDER_18])),
            (_by_column(old.astype(int)), np.array([HOUSEHOLDS - OVER_65, OVER_65])),
            (_by_row(np.arange(len(kinds)), len(cores)), kinds),
        ],
    )


def _raked_rest(names: tuple[str, ...], cores: NDArray[np.uint8], core: Floats) -> Floats:
    """(Kind, age, class) × (tenure, race, Hispanic): shares of all households."""
    ages, classes = cores[:, names.index("age")].astype(int), _CLASS[cores[:, names.index("type")]]
    joint = np.zeros((len(KINDS), len(AGES), 4))
    for kind, shares in enumerate(core):
        np.add.at(joint[kind], (ages, classes), shares)
    kind, age, group = (axis.ravel() for axis in np.indices(joint.shape))
    tenure, race, hispanic = (axis.ravel() for axis in np.indices((4, 7, 2)))
    owner = tenure < 2
    odds = (
        RACES[race, hispanic] * _RACE_LEAN[kind][:, race] * np.where(hispanic, _HISPANIC_LEAN[kind, None], 1)
    )
    odds = odds * TENURES[tenure] * _TENURE_LEAN[kind][:, tenure]
    odds = odds * np.where(tenure == 1, _PAID_OFF[age, None], 1)
    bought = _OWNER_BY_CLASS[group, None] * _OWNER_BY_RACE[race] * np.where(hispanic, _OWNER_IF_HISPANIC, 1)
    odds = odds * np.where(owner, bought, 1)
    by_age = np.bincount(age, joint.ravel())
    owned = OWNERS_BY_AGE * OWNER_SHARE / float(OWNERS_BY_AGE @ by_age)
    return _rake(
        odds,
        [
            (_by_column(tenure), TENURES),
            (_by_column(race * 2 + hispanic), RACES.ravel()),
            (age[:, None] * 2 + owner, np.stack([by_age * (1 - owned), by_age * owned], 1).ravel()),
            (_by_row(np.arange(len(kind)), len(tenure)), joint.ravel()),
        ],
    )


def _raked_vacancies(kinds: Floats) -> Floats:
    """Kind × what a vacant home is vacant for."""
    columns = np.arange(len(VACANCIES))
    margins = [(_by_column(columns), VACANCIES), (_by_row(np.arange(len(kinds)), len(columns)), kinds)]
    return _rake(VACANCIES * _VACANCY_LEAN, margins)


def _by_column(labels: Whole) -> Whole:
    return np.asarray(labels, np.int64)[None, :]


def _by_row(labels: Whole, n_columns: int) -> Whole:
    return np.broadcast_to(labels[:, None], (len(labels), n_columns))


def _rake(odds: Floats, margins: Sequence[tuple[Whole, NDArray[np.number]]]) -> Floats:
    """Multiply until every margin (label per cell, total per label) is met; shares add up to 1."""
    shares = odds / odds.sum()
    flat = [
        (np.broadcast_to(labels, odds.shape).ravel(), np.asarray(totals, float) / np.sum(totals))
        for labels, totals in margins
    ]
    for _ in range(200):
        worst = 0.0
        for labels, totals in flat:
            now = np.bincount(labels, shares.ravel(), len(totals))
            factor = np.divide(totals, now, out=np.ones_like(totals), where=now > 0)
            worst = max(worst, float(np.abs(now - totals).max()))
            shares = shares * factor[labels].reshape(shares.shape)
        if worst < 1e-9:
            break
    return shares


def _cumulative(shares: Floats) -> Floats:
    """Rows as cumulative shares plus the row's number, one after the other in one sorted array."""
    totals = np.cumsum(shares, axis=1)
    totals = totals / np.where(totals[:, -1:] > 0, totals[:, -1:], 1)
    totals[:, -1] = 1
    return (totals + np.arange(len(totals))[:, None]).ravel()
