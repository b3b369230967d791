"""People in the census: sex, age, six races of which a person has at least one, and origin.

The tables for blocks tell 38 ages apart, those for tracts 103: see :data:`AGE_BINS` and :data:`AGE_YEARS`.

Files may have ages in years; they are read as the ages of the schema.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa

from showthrough.attribute import Attribute
from showthrough.errors import InputError, RecordsError, check_type
from showthrough.frames import Source, distinct_values
from showthrough.frames.bins import Bins
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection

__all__ = [
    "AGE_BINS",
    "AGE_YEARS",
    "RACES",
    "Ages",
    "age_range",
    "ages_between",
    "person_schema",
    "with_ages",
]

#: Which ages are told apart: the 38 of the block tables, or the 103 of the tract tables.
Ages = Literal["bins", "years"]

#: The ages that block tables tell apart: single years up to 21, then the groups of table P12.
AGE_BINS = (
    *(str(year) for year in range(22)),
    *("22-24", "25-29", "30-34", "35-39", "40-44", "45-49", "50-54", "55-59", "60-61", "62-64"),
    *("65-66", "67-69", "70-74", "75-79", "80-84", "85+"),
)

#: The ages that tract tables tell apart: single years up to 99, and three groups.
AGE_YEARS = (*(str(year) for year in range(100)), "100-104", "105-109", "110+")

#: Columns of races, and what the Census Bureau calls them, in its order.
RACES = {
    "white": "White",
    "black": "Black or African American",
    "native": "American Indian and Alaska Native",
    "asian": "Asian",
    "pacific": "Native Hawaiian and Other Pacific Islander",
    "other": "Some Other Race",
}

#: No age is larger.
OLDEST = 200

#: Nobody is older; a larger number is a mistake.
_MOST_YEARS = 130


def ages_between(first: int, last: int = OLDEST, *, ages: Ages = "bins") -> tuple[str, ...]:
    """The ages from one year to another, both included.

    Raises
    ------
    InputError
        If an age lies on both sides of an end.

    Examples
    --------
    >>> ages_between(20, 29)
    ('20', '21', '22-24', '25-29')
    """
    found: list[str] = []
    for age in AGE_BINS if ages == "bins" else AGE_YEARS:
        low, high = age_range(age)
        if first <= low and high <= last:
            found.append(age)
        elif not (high < first or last < low):
            raise InputError("an age lies on both sides of an end", found=age)
    return tuple(found)


def age_range(age: str) -> tuple[int, int]:
    """The first and the last year of an age.

    >>> age_range("22-24"), age_range("7"), age_range("85+")
    ((22, 24), (7, 7), (85, 200))
    """
    first, _, last = age.removesuffix("+").partition("-")
    return int(first), OLDEST if age.endswith("+") else int(last or first)


def person_schema(*, ages: Ages = "bins") -> Schema:
    """The nine columns of the person tables, and the rule that everybody has a race.

    Parameters
    ----------
    ages
        ``"bins"``, the 38 ages that tables for blocks tell apart; or ``"years"``, the 103 ages that
        tables for tracts do.

    Returns
    -------
    Schema

    Examples
    --------
    >>> person_schema().names
    ('sex', 'age', 'white', 'black', 'native', 'asian', 'pacific', 'other', 'hispanic')
    >>> len(person_schema()["age"].values), len(person_schema(ages="years")["age"].values)
    (38, 103)
    """
    check_type(ages, str, name="ages", remedy="choose from bins, years")
    if ages not in ("bins", "years"):
        raise InputError("ages must be bins or years", found=str(ages))
    return _schema(ages)


@lru_cache(maxsize=2)
def _schema(ages: Ages) -> Schema:
    *most, last = RACES
    rule = Rule(Selection.of(dict.fromkeys(most, "no")), Selection.of({last: "yes"}))
    columns = (
        _column("sex", "sex", {"male": "the person is male", "female": "the person is female"}),
        _column("age", "age", {age: _aged(age) for age in (AGE_BINS if ages == "bins" else AGE_YEARS)}),
        *(_race(name, title) for name, title in RACES.items()),
        _column(
            "hispanic",
            "Hispanic origin",
            {"no": "the person is not Hispanic", "yes": "the person is Hispanic"},
        ),
    )
    return Schema(columns, (rule,), record="person", records="people")


#: How sentences call people of a race.
_SHORT = {
    "black": "Black",
    "native": "American Indian",
    "pacific": "Pacific Islander",
    "other": "of some other race",
}


def _race(name: str, title: str) -> Attribute:
    whom = _SHORT.get(name, title)
    return _column(name, title, {"no": f"the person is not {whom}", "yes": f"the person is {whom}"})


def _aged(age: str) -> str:
    low, high = age_range(age)
    if high == OLDEST:
        return f"the person is {low} years old or older"
    if low < high:
        return f"the person is {low} to {high} years old"
    return f"the person is {low} {'year' if low == 1 else 'years'} old"


def _column(name: str, label: str, phrases: dict[str, str]) -> Attribute:
    return Attribute(name, tuple(phrases), label, {}, phrases)


@dataclass(frozen=True)
class AgeBins(Bins):
    """Years of age, as the ages of a schema; what is no age of a person is in none of them."""

    names: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The ages, between what is too low and what is too high."""
        return ("below 0", *self.names, f"over {_MOST_YEARS}")


def with_ages(source: Source, schema: Schema) -> Source:
    """The same file, with ages that are given in years as the ages of a schema.

    >>> from showthrough.census.people import person_schema
    >>> ages = Source.of(pa.table({"age": [3, 23, 110]}))
    >>> with_ages(ages, person_schema()).table(["age"])["age"].to_pylist()
    ['3', '22-24', '85+']
    """
    if "age" not in source.names or not _in_years(source):
        return source
    names = schema["age"].values
    if names not in (AGE_BINS, AGE_YEARS):
        raise AssertionError("the ages of a person schema")
    ends = (*(age_range(age)[0] for age in names), _MOST_YEARS + 1)
    return replace(source, bins={"age": AgeBins(tuple(map(float, ends)), True, names)})


def _in_years(source: Source) -> bool:
    """Whether all ages are numbers."""
    kind: Any = source.types["age"]
    if not (pa.types.is_string(kind) or pa.types.is_dictionary(kind) or pa.types.is_large_string(kind)):
        return True
    found, _ = distinct_values(source, ["age"], error=RecordsError, decimals_only=False, most=500)
    texts = [str(value).strip() for value in found["age"].to_pylist() if value is not None]
    return all(text.removeprefix("-").isdecimal() for text in texts)
