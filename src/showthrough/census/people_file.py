"""Microdata of people: the person columns, with ages in years, and the block or tract each person is in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from showthrough.census.people import AGE_BINS, AGE_YEARS, age_range
from showthrough.errors import RecordsError
from showthrough.frames import Source, distinct_values
from showthrough.frames.bins import Bins
from showthrough.schema import Schema

__all__ = [
    "with_ages",
]

#: Nobody is older; a larger number is a mistake.
_MOST_YEARS = 130


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
