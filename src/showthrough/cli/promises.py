"""Options that the commands about records with a sensitive column share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter

__all__ = [
    "PROMISE",
    "PUBLISHING",
    "RECORDS",
    "Bound",
    "Columns",
    "MethodName",
    "Named",
    "Promised",
    "Promises",
]

PUBLISHING = Group("Records with a sensitive column", sort_key=2)
RECORDS = Group("The records", sort_key=1)
PROMISE = Group("What is promised", sort_key=2)

MethodName = Literal["uniform", "partitioned", "sampled", "anatomy"]

Bound = Annotated[
    Literal["chernoff", "exact"],
    Parameter(
        group=PROMISE,
        help="Group sizes by the paper's bound (the default), which promises too little, or by exact tails.",
    ),
]


@Parameter(name="*", group=RECORDS)
@dataclass(frozen=True)
class Columns:
    """Which columns are sensitive and which are public."""

    sensitive: Annotated[
        tuple[str, ...],
        Parameter(help="The sensitive column. Repeatable: several count as one compound value."),
    ] = ()
    public: Annotated[
        str | None, Parameter(help="The public columns: a,b,c (default: all that are not sensitive).")
    ] = None

    @property
    def public_names(self) -> list[str] | None:
        """The public columns as a list."""
        return listed(self.public)


@Parameter(name="*", group=PROMISE)
@dataclass(frozen=True)
class Promises:
    """What is promised about each person, and how many values are kept."""

    rho: Annotated[
        str | None,
        Parameter(
            help="PRIOR:POSTERIOR, as 0.1:0.5: nobody becomes surer than POSTERIOR of a value that at "
            "most a share PRIOR of all records has."
        ),
    ] = None
    reconstruction: Annotated[
        str | None,
        Parameter(
            help="ERROR:CHANCE, as 0.3:0.3: a frequency estimated from a group of equal people is off "
            "by more than ERROR with at least this CHANCE."
        ),
    ] = None
    diversity: Annotated[
        int | None, Parameter(help="L: no sensitive value has more than 1/L of a bucket.")
    ] = None
    retention: Annotated[
        float | None, Parameter(help="The share of sensitive values that are kept as they are.")
    ] = None


Named = Annotated[Columns | None, Parameter(name="*")]
Promised = Annotated[Promises | None, Parameter(name="*")]


def listed(text: str | None) -> list[str] | None:
    """Names with commas between.

    >>> listed("age, sex")
    ['age', 'sex']
    """
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
