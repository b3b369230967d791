"""The person tables of the 2010 Census (Summary File 1) and of the 2020 Census (DHC), cell by cell.

Cells are sums of selections: "two or more races" adds up disjoint combinations of the six race columns,
and tables P6 and P7 count a person once for every race. Tables named P are published for blocks and for
tracts, tables named PCT for tracts only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal, get_args

from showthrough.census.people import RACES, Ages, ages_between, person_schema
from showthrough.errors import InputError, check_type, closest
from showthrough.release import Cell, Layout, Table
from showthrough.selection import Selection
from showthrough.tally import CellTerms, make_terms, terms_as_text

__all__ = [
    "Census",
    "Place",
    "cell_code",
    "listed_tables",
    "people_cells",
    "people_labels",
    "people_layout",
]

#: Which census.
Census = Literal["2010", "2020"]

#: What tables are about: blocks, or tracts, which have more of them.
Place = Literal["block", "tract"]

PUBLISHER = "US Census Bureau"

EVERYBODY: CellTerms = ((1, Selection()),)

#: The 23 age groups of table P12: label, first and last year.
GROUPS = (
    ("Under 5 years", 0, 4),
    ("5 to 9 years", 5, 9),
    ("10 to 14 years", 10, 14),
    ("15 to 17 years", 15, 17),
    ("18 and 19 years", 18, 19),
    ("20 years", 20, 20),
    ("21 years", 21, 21),
    ("22 to 24 years", 22, 24),
    ("25 to 29 years", 25, 29),
    ("30 to 34 years", 30, 34),
    ("35 to 39 years", 35, 39),
    ("40 to 44 years", 40, 44),
    ("45 to 49 years", 45, 49),
    ("50 to 54 years", 50, 54),
    ("55 to 59 years", 55, 59),
    ("60 and 61 years", 60, 61),
    ("62 to 64 years", 62, 64),
    ("65 and 66 years", 65, 66),
    ("67 to 69 years", 67, 69),
    ("70 to 74 years", 70, 74),
    ("75 to 79 years", 75, 79),
    ("80 to 84 years", 80, 84),
    ("85 years and over", 85, 200),
)

#: The single years of table P14, which is about people under 20, and the ages of PCT12.
_UNDER_20 = tuple(
    (_years, year, year)
    for year, _years in enumerate(["Under 1 year", "1 year", *(f"{n} years" for n in range(2, 20))])
)
_ALL_YEARS = (
    *_UNDER_20,
    *((f"{year} years", year, year) for year in range(20, 100)),
    ("100 to 104 years", 100, 104),
    ("105 to 109 years", 105, 109),
    ("110 years and over", 110, 200),
)


@dataclass(frozen=True)
class TableLine:
    """A cell: how deep it is printed, its label, and what it adds to the cell that it is part of."""

    depth: int
    label: str
    counts: CellTerms


def people_layout(*, census: Census = "2010", place: Place = "block") -> Layout:
    """The person columns and tables together, as audits need them.

    Parameters
    ----------
    census
        ``"2010"``: P1, P6, P7, P9, P11, P12, P12A to I and P14, and for tracts also PCT12 and PCT12A to
        O. ``"2020"``: P1, P3 to P12, P12A to V and P14, and for tracts also PCT12 and PCT12A to O.
    place
        ``"block"`` has 38 ages; ``"tract"`` has more tables, and 103 ages.

    Returns
    -------
    Layout

    Examples
    --------
    >>> people_layout()
    Layout: 702 cells in 16 tables (P1, P6, P7, P9, P11, P12, …)
    >>> people_layout(place="tract")
    Layout: 4,046 cells in 32 tables (P1, P6, P7, P9, P11, P12, …)
    """
    _check_options(census, place)
    return _layout(census, place)


def _check_options(census: object, place: object) -> None:
    for name, given, known in (("census", census, get_args(Census)), ("place", place, get_args(Place))):
        check_type(given, str, name=name, remedy=f"choose from {', '.join(known)}")
        if given not in known:
            raise InputError(f"{name} must be {' or '.join(known)}", found=str(given))


@lru_cache(maxsize=4)
def _layout(census: Census, place: Place) -> Layout:
    ages: Ages = "bins" if place == "block" else "years"
    tables: list[Table] = []
    for name, title, restriction, lines in listed_tables(census, place, ages):
        cells = [
            Cell.of_terms(cell_code(name, number, census), terms)
            for number, terms in enumerate(_counted(lines, restriction), 1)
        ]
        tables.append(Table(name, tuple(cells), PUBLISHER, title))
    return Layout(person_schema(ages=ages), tuple(tables))


def cell_code(table: str, number: int, census: Census) -> str:
    """The name of a cell, as the Census API has it.

    >>> cell_code("P12A", 3, "2010"), cell_code("PCT12", 3, "2010"), cell_code("P12A", 3, "2020")
    ('P012A003', 'PCT012003', 'P12A_003N')
    """
    if census == "2020":
        return f"{table}_{number:03d}N"
    letters = table.rstrip("ABCDEFGHIJKLMNOPQRSTUV").rstrip("0123456789")
    digits = table[len(letters) :].rstrip("ABCDEFGHIJKLMNOPQRSTUV")
    return f"{letters}{int(digits):03d}{table[len(letters) + len(digits) :]}{number:03d}"


@dataclass(frozen=True)
class PeopleCell:
    """A cell of a person table: its variable, its label, and the people that it counts."""

    cell: str
    label: str
    where: str


def people_cells(name: str, census: Census, place: Place) -> tuple[str, tuple[PeopleCell, ...]]:
    """The title of a table, and its cells.

    >>> people_cells("p6", "2010", "block")[1][1].where
    'white=yes'
    """
    layout, labels = people_layout(census=census, place=place), people_labels(census)
    table = next((one for one in layout.tables if one.name == name.upper()), None)
    if table is None:
        known = [one.name for one in layout.tables]
        raise InputError("there is no such person table", found=name, remedy=closest(name.upper(), known))
    cells = (PeopleCell(one.name, labels[one.name], terms_as_text(one.terms)) for one in table.cells)
    return table.label, tuple(cells)


def people_labels(census: Census = "2010") -> dict[str, str]:
    """The labels of all cells for tracts, which have all tables.

    >>> people_labels()["P012A027"]
    'Total > Female > Under 5 years'
    """
    found: dict[str, str] = {}
    for name, _, _, lines in listed_tables(census, "tract", "years"):
        above: list[str] = []
        for number, line in enumerate(lines, 1):
            del above[line.depth :]
            above.append(line.label)
            found[cell_code(name, number, census)] = " > ".join(above)
    return found


def listed_tables(
    census: Census, place: Place, ages: Ages
) -> Iterator[tuple[str, str, CellTerms, tuple[TableLine, ...]]]:
    """Every table: its name, its title, whom it is about, and its cells."""
    made = _tables(ages)
    names = _P_2010 if census == "2010" else _P_2020
    letters = "ABCDEFGHI" if census == "2010" else "ABCDEFGHIJKLMNOPQRSTUV"
    for name in names:
        title, lines = made[name]
        yield name, title, EVERYBODY, lines
        for letter in letters if name == "P12" else "":
            whom, restriction = _ITERATIONS[letter]
            yield f"{name}{letter}", f"{title} ({whom})", restriction, lines
    if place == "tract":
        title, lines = made["PCT12"]
        yield "PCT12", title, EVERYBODY, lines
        for letter in "ABCDEFGHIJKLMNO":
            whom, restriction = _ITERATIONS[letter]
            yield f"PCT12{letter}", f"{title} ({whom})", restriction, lines


_P_2010 = ("P1", "P6", "P7", "P9", "P11", "P12", "P14")
_P_2020 = ("P1", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P14")


def _counted(lines: tuple[TableLine, ...], restriction: CellTerms) -> Iterator[CellTerms]:
    """What each cell of a table counts: its own condition, those above it, and the table's."""
    above: list[CellTerms] = []
    for line in lines:
        del above[line.depth :]
        above.append(both(above[-1] if above else restriction, line.counts))
        yield above[-1]


def both(some: CellTerms, other: CellTerms) -> CellTerms:
    """Who is counted by both, as often as by one times as often as by the other.

    >>> from showthrough.tally import terms_as_text
    >>> terms_as_text(both(make_terms([(1, "sex=f"), (2, "age=old")]), make_terms([(1, "age=old")])))
    'age=old,sex=f + 2 × age=old'
    """
    return make_terms([(w * v, one & two) for w, one in some for v, two in other if _meet(one, two)])


def _meet(one: Selection, other: Selection) -> bool:
    return all(one[name] & other[name] for name in one.attributes if name in other)


def races(*yes: str) -> Selection:
    """Those who have these races and no other.

    >>> print(races("white", "asian"))
    asian=yes,black=no,native=no,other=no,pacific=no,white=yes
    """
    return Selection.of({name: "yes" if name in yes else "no" for name in RACES})


def _at_least_two() -> CellTerms:
    """Two or more races: whatever the first two are, in the order of the columns."""
    names = list(RACES)
    return make_terms(
        (
            1,
            Selection.of(
                {name: "yes" if name in pair else "no" for name in names[: names.index(pair[1]) + 1]}
            ),
        )
        for pair in combinations(names, 2)
    )


def _exactly(many: int) -> CellTerms:
    return make_terms((1, races(*some)) for some in combinations(RACES, many))


_IS_HISPANIC: CellTerms = ((1, Selection.of(hispanic="yes")),)
_NOT_HISPANIC: CellTerms = ((1, Selection.of(hispanic="no")),)
_TWO_OR_MORE = _at_least_two()
_ALONE: dict[str, CellTerms] = {name: ((1, races(name)),) for name in RACES}
_TALLIED: CellTerms = make_terms((1, Selection.of({name: "yes"})) for name in RACES)


def _iterations() -> Iterator[tuple[str, CellTerms]]:
    """Whom tables A to V are about: a race alone or several, Hispanics, then races by origin."""
    groups = [(f"{title} alone", _ALONE[name]) for name, title in RACES.items()]
    groups.append(("Two or More Races", _TWO_OR_MORE))
    yield from groups
    yield "Hispanic or Latino", _IS_HISPANIC
    for word, origin in (("not ", _NOT_HISPANIC), ("", _IS_HISPANIC)):
        for title, terms in groups:
            yield f"{title}, {word}Hispanic or Latino", both(terms, origin)


_ITERATIONS = dict(zip("ABCDEFGHIJKLMNOPQRSTUV", _iterations(), strict=True))


@lru_cache(maxsize=2)
def _tables(ages: Ages) -> dict[str, tuple[str, tuple[TableLine, ...]]]:
    """Title and cells of every table, without iterations."""
    adults: CellTerms = ((1, Selection.of(age=ages_between(18, ages=ages))),)
    by_race = tuple(_by_race("Total", EVERYBODY))
    by_origin = tuple(_by_origin_and_race("Total", EVERYBODY))
    return {
        "P1": ("Total population", (TableLine(0, "Total", EVERYBODY),)),
        "P3": ("Race", (TableLine(0, "Total", EVERYBODY), *_seven(1))),
        "P4": (
            "Hispanic or Latino origin",
            (TableLine(0, "Total", EVERYBODY), *(TableLine(1, *one) for one in _ORIGINS)),
        ),
        "P5": ("Hispanic or Latino origin by race", tuple(_by_origin())),
        "P6": ("Race (total races tallied)", tuple(_tallied(0, "Total races tallied", EVERYBODY))),
        "P7": ("Hispanic or Latino origin by race (total races tallied)", tuple(_tallied_by_origin())),
        "P8": ("Race", by_race),
        "P9": ("Hispanic or Latino, and not Hispanic or Latino by race", by_origin),
        "P10": ("Race for the population 18 years and over", tuple(_by_race("Total", adults))),
        "P11": (
            "Hispanic or Latino, and not Hispanic or Latino by race for the population 18 years and over",
            tuple(_by_origin_and_race("Total", adults)),
        ),
        "P12": ("Sex by age", tuple(_by_sex(GROUPS, 200, ages))),
        "P14": ("Sex by age for the population under 20 years", tuple(_by_sex(_UNDER_20, 19, ages))),
        **({"PCT12": ("Sex by age", tuple(_by_sex(_ALL_YEARS, 200, ages)))} if ages == "years" else {}),
    }


_ORIGINS = (("Not Hispanic or Latino", _NOT_HISPANIC), ("Hispanic or Latino", _IS_HISPANIC))


def _seven(depth: int) -> Iterator[TableLine]:
    for name, title in RACES.items():
        yield TableLine(depth, f"{title} alone", _ALONE[name])
    yield TableLine(depth, "Two or More Races", _TWO_OR_MORE)


def _by_origin() -> Iterator[TableLine]:
    yield TableLine(0, "Total", EVERYBODY)
    for label, origin in _ORIGINS:
        yield TableLine(1, label, origin)
        yield from _seven(2)


def _tallied(depth: int, label: str, whom: CellTerms) -> Iterator[TableLine]:
    """People as often as they have races, then who has each race, alone or in combination.

    The total is a sum over all races already, so its parts stand beside it, not below.
    """
    yield TableLine(depth, label, both(_TALLIED, whom))
    for name, title in RACES.items():
        has = both(((1, Selection.of({name: "yes"})),), whom)
        yield TableLine(depth, f"{title} alone or in combination with one or more other races", has)


def _tallied_by_origin() -> Iterator[TableLine]:
    yield TableLine(0, "Total races tallied", _TALLIED)
    for label, origin in _ORIGINS:
        yield from _tallied(0, f"{label}: total races tallied", origin)


def _by_race(label: str, whom: CellTerms, depth: int = 0) -> Iterator[TableLine]:
    yield TableLine(depth, label, whom)
    yield TableLine(depth + 1, "Population of one race", _exactly(1))
    for name, title in RACES.items():
        yield TableLine(depth + 2, f"{title} alone", _ALONE[name])
    yield TableLine(depth + 1, "Two or More Races", _TWO_OR_MORE)
    for many, word in ((2, "two"), (3, "three"), (4, "four"), (5, "five"), (6, "six")):
        yield TableLine(depth + 2, f"Population of {word} races", _exactly(many))
        for some in combinations(RACES, many):
            yield TableLine(depth + 3, "; ".join(RACES[name] for name in some), ((1, races(*some)),))


def _by_origin_and_race(label: str, whom: CellTerms) -> Iterator[TableLine]:
    yield TableLine(0, label, whom)
    yield TableLine(1, "Hispanic or Latino", _IS_HISPANIC)
    yield from _by_race("Not Hispanic or Latino", _NOT_HISPANIC, 1)


def _by_sex(groups: tuple[tuple[str, int, int], ...], last: int, ages: Ages) -> Iterator[TableLine]:
    whole = Selection() if last >= 200 else Selection.of(age=ages_between(0, last, ages=ages))
    yield TableLine(0, "Total", ((1, whole),))
    for sex in ("male", "female"):
        yield TableLine(1, sex.capitalize(), ((1, Selection.of(sex=sex)),))
        for label, low, high in groups:
            yield TableLine(2, label, ((1, Selection.of(age=ages_between(low, high, ages=ages))),))
