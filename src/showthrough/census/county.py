"""A small county for demonstrations: households in blocks of different character, and planned tables.

Everything is made up. What matters for an audit is realistic: values are correlated, blocks differ,
most combinations are rare, and some cannot exist at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from showthrough.errors import InputError, check_type
from showthrough.records import Records
from showthrough.schema import Attribute, Rule, Schema
from showthrough.selection import Selection

__all__ = [
    "COUNTY_SCHEMA",
    "COUNTY_TABLES",
    "simulate_county",
]

AGES = ("15-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")

COUNTY_SCHEMA = Schema(
    (
        Attribute(
            "tenure",
            ("mortgage", "free", "rented"),
            label="tenure",
            phrases={
                "mortgage": "the home is owned with a mortgage",
                "free": "the home is owned free and clear",
                "rented": "the home is rented",
            },
        ),
        Attribute(
            "size",
            ("1", "2", "3", "4", "5+"),
            label="household size",
            phrases={
                "1": "one person lives there",
                "2": "two people live there",
                "3": "three people live there",
                "4": "four people live there",
                "5+": "five or more people live there",
            },
        ),
        Attribute(
            "type",
            ("alone", "couple", "single parent", "relatives", "housemates"),
            label="household type",
            phrases={
                "alone": "the householder lives alone",
                "couple": "the householder lives with a partner",
                "single parent": "the householder is a single parent",
                "relatives": "the householder lives with other relatives",
                "housemates": "the householder lives with people who are not relatives",
            },
        ),
        Attribute(
            "age",
            AGES,
            label="the householder's age",
            phrases={
                **{age: f"the householder is {age.replace('-', ' to ')}" for age in AGES},
                "75+": "the householder is 75 or older",
            },
        ),
        Attribute(
            "race",
            ("white", "black", "asian", "native", "other"),
            label="the householder's race",
            phrases={
                "white": "the householder is White",
                "black": "the householder is Black",
                "asian": "the householder is Asian",
                "native": "the householder is Native American",
                "other": "the householder is of another race or of several",
            },
        ),
        Attribute(
            "children",
            ("no", "yes"),
            label="children",
            phrases={"no": "nobody there is under 18", "yes": "somebody there is under 18"},
        ),
        Attribute(
            "seniors",
            ("no", "yes"),
            label="seniors",
            phrases={"no": "nobody there is 65 or older", "yes": "somebody there is 65 or older"},
        ),
    ),
    (
        Rule(Selection.of(size="1"), Selection.of(type="alone"), both_ways=True),
        Rule(Selection.of(size="1"), Selection.of(children="no")),
        Rule(Selection.of(type="single parent"), Selection.of(children="yes")),
        Rule(Selection.of(type="housemates"), Selection.of(children="no")),
        Rule(Selection.of(type="couple", size="2"), Selection.of(children="no")),
        Rule(Selection.of(age=["65-74", "75+"]), Selection.of(seniors="yes")),
        Rule(Selection.of(size="1", age=AGES[:5]), Selection.of(seniors="no")),
    ),
    record="household",
)

#: The tables a statistics office might plan for every block.
COUNTY_TABLES = (
    "total",
    "tenure*size",
    "tenure*age",
    "tenure*race",
    "tenure*children",
    "size*type",
    "type*age",
    "type*race",
    "type*children*seniors",
    "age*seniors",
    "race*children",
    "tenure*type*seniors",
)


@dataclass(frozen=True)
class _Mix:
    """The character of a block: how often each value occurs there."""

    tenure: tuple[float, ...]
    type: tuple[float, ...]
    age: tuple[float, ...]
    race: tuple[float, ...]


_MIXES = (
    _Mix(  # new houses: families paying them off
        (0.75, 0.10, 0.15),
        (0.10, 0.66, 0.10, 0.10, 0.04),
        (0.01, 0.18, 0.34, 0.26, 0.13, 0.06, 0.02),
        (0.70, 0.08, 0.14, 0.01, 0.07),
    ),
    _Mix(  # the old village: owners who grew old there
        (0.25, 0.60, 0.15),
        (0.34, 0.46, 0.04, 0.13, 0.03),
        (0.01, 0.05, 0.08, 0.14, 0.22, 0.27, 0.23),
        (0.90, 0.03, 0.02, 0.02, 0.03),
    ),
    _Mix(  # flats near the centre: young, renting, sharing
        (0.12, 0.05, 0.83),
        (0.40, 0.24, 0.10, 0.08, 0.18),
        (0.22, 0.36, 0.18, 0.10, 0.07, 0.05, 0.02),
        (0.45, 0.28, 0.12, 0.02, 0.13),
    ),
    _Mix(  # a bit of everything
        (0.40, 0.22, 0.38),
        (0.26, 0.44, 0.11, 0.13, 0.06),
        (0.04, 0.15, 0.19, 0.20, 0.19, 0.14, 0.09),
        (0.62, 0.18, 0.06, 0.04, 0.10),
    ),
)


def simulate_county(n_areas: int = 40, *, seed: int, smallest: int = 5, largest: int = 25) -> Records:
    """Simulate the households of a small county.

    Parameters
    ----------
    n_areas
        The number of blocks.
    seed
        The seed of the simulation.
    smallest, largest
        The number of households in a block lies between these.

    Returns
    -------
    Records
        Households over ``COUNTY_SCHEMA``, with their block as area.

    Raises
    ------
    InputError
        If there would be no blocks or no households.

    Examples
    --------
    >>> county = simulate_county(3, seed=7)
    >>> [(name, len(block)) for name, block in county.by_area()]
    [('block 1', 18), ('block 2', 12), ('block 3', 7)]
    """
    named = {"n_areas": n_areas, "seed": seed, "smallest": smallest, "largest": largest}
    for name, number in named.items():
        check_type(number, Integral, name=name)
    if seed < 0:
        raise InputError("a seed must be at least 0", found=str(seed), remedy="for example 1")
    if not (n_areas >= 1 and 1 <= smallest <= largest):
        raise InputError(
            "a county needs at least one block, and each block at least one household",
            found=f"{n_areas} blocks of {smallest} to {largest} households",
            remedy="use n_areas >= 1 and 1 <= smallest <= largest",
        )
    rng = np.random.default_rng(seed)
    rows: list[Mapping[str, str]] = []
    areas: list[str] = []
    width = len(str(n_areas))
    for number in range(1, n_areas + 1):
        mix = _MIXES[int(rng.integers(len(_MIXES)))]
        size = int(rng.integers(smallest, largest + 1))
        rows += [_household(mix, rng) for _ in range(size)]
        areas += [f"block {number:0{width}d}"] * size
    records = Records.of(rows, COUNTY_SCHEMA)
    return Records(COUNTY_SCHEMA, records.codes, np.array(areas, dtype=object))


def _household(mix: _Mix, rng: np.random.Generator) -> dict[str, str]:
    """One household that obeys every rule."""
    age = _pick("age", mix.age, rng)
    old = AGES.index(age) >= 5
    kind = _pick("type", mix.type, rng)
    if old and kind == "single parent":
        kind = "alone"
    young = kind == "single parent" or (
        kind in ("couple", "relatives") and rng.random() < (0.05 if old else 0.55)
    )
    size = _size(kind, young, rng)
    others_old = kind in ("couple", "relatives") and age == "55-64" and rng.random() < 0.2
    others_old |= kind == "relatives" and rng.random() < 0.3
    return {
        "tenure": _pick("tenure", mix.tenure, rng),
        "size": size,
        "type": kind,
        "age": age,
        "race": _pick("race", mix.race, rng),
        "children": "yes" if young else "no",
        "seniors": "yes" if old or others_old else "no",
    }


def _size(kind: str, young: bool, rng: np.random.Generator) -> str:
    """The household's size, given its type and whether children live there."""
    if kind == "alone":
        return "1"
    chances = {
        ("couple", False): (0.0, 0.85, 0.10, 0.04, 0.01),
        ("couple", True): (0.0, 0.0, 0.40, 0.40, 0.20),
        ("single parent", True): (0.0, 0.50, 0.32, 0.13, 0.05),
        ("relatives", False): (0.0, 0.60, 0.25, 0.10, 0.05),
        ("relatives", True): (0.0, 0.25, 0.30, 0.25, 0.20),
        ("housemates", False): (0.0, 0.60, 0.25, 0.10, 0.05),
    }[kind, young]
    return _pick("size", chances, rng)


def _pick(name: str, chances: tuple[float, ...], rng: np.random.Generator) -> str:
    return COUNTY_SCHEMA[name].values[int(rng.choice(len(chances), p=chances))]
