"""The options of the commands about noisy numbers and noisy answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from showthrough.cli.options import Positive
from showthrough.errors import InputError

__all__ = [
    "ANSWERS",
    "NUMBERS",
    "Advising",
    "Answered",
    "Columns",
    "NoiseLaw",
    "Noisy",
]

NUMBERS = Group("Noisy numbers", sort_key=1)
ANSWERS = Group("Noisy answers", sort_key=2)

Columns = Annotated[
    tuple[str, ...], Parameter(group=NUMBERS, help="A column of numbers. Repeatable.", name="--column")
]
NoiseLaw = Annotated[
    tuple[str, ...],
    Parameter(
        group=NUMBERS,
        name="--noise",
        help="uniform:125, gaussian:sd=8, gaussian:variance=8 or laplace:20; once, or once for each column.",
    ),
]
Confidence = Annotated[float, Parameter(help="The attacker's confidence (default: 0.95).")]

#: The paper's privacy intervals.
USUAL = "35,40,45,50,55,60,65,70,75,80"


@Parameter(name="*", group=NUMBERS)
@dataclass(frozen=True, kw_only=True)
class Noisy:
    """Which columns are noisy, how, and how closely nobody may be placed."""

    column: Columns = ()
    noise: NoiseLaw = ()
    covariance: Annotated[Path | None, Parameter(help="A file with the covariance of correlated noise.")] = (
        None
    )
    truth: Annotated[Path | None, Parameter(help="The true values: same columns, same order of rows.")] = None
    method: Annotated[
        tuple[Literal["as", "em", "sf", "pca", "be", "all"], ...],
        Parameter(help="Only these attacks (default: all that fit). Repeatable."),
    ] = ()
    confidence: Confidence = 0.95
    privacy: Annotated[
        str | None, Parameter(help="Privacy intervals in percent of each value (default: 35 to 80).")
    ] = None
    absolute: Annotated[str | None, Parameter(help="Privacy intervals as half widths: 10,20.")] = None
    privacy_columns: Annotated[
        str | None, Parameter(help="Columns of --truth with each person's interval: low,high.")
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether noisy numbers are what is to be attacked."""
        return bool(self.column or self.noise or self.covariance or self.truth)

    @property
    def methods(self) -> list[str] | None:
        """The methods asked for; None for all that fit."""
        return None if not self.method or "all" in self.method else [str(name) for name in self.method]

    @property
    def shares(self) -> tuple[float, ...]:
        """Privacy intervals as shares of each value: the usual ones if none of any kind are given."""
        if self.privacy is not None:
            return tuple(share / 100 for share in _numbers(self.privacy, "--privacy"))
        if self.absolute is not None or self.privacy_columns is not None:
            return ()
        return tuple(share / 100 for share in _numbers(USUAL, "--privacy"))

    @property
    def widths(self) -> tuple[float, ...]:
        """Privacy intervals as half widths."""
        return () if self.absolute is None else _numbers(self.absolute, "--absolute")

    @property
    def ends(self) -> tuple[str, str] | None:
        """The columns with everybody's own privacy interval."""
        if self.privacy_columns is None:
            return None
        names = [part.strip() for part in self.privacy_columns.split(",")]
        if len(names) != 2 or not all(names):
            raise InputError(
                "cannot read --privacy-columns",
                found=self.privacy_columns,
                remedy="write two names: low,high",
            )
        return names[0], names[1]


@Parameter(name="*", group=ANSWERS)
@dataclass(frozen=True)
class Answered:
    """The noise on answers, and which groups are asked about."""

    answers: Annotated[
        str | None, Parameter(help="True counts: a group's size and the matching, 501:420.")
    ] = None
    laplace: Annotated[float | None, Parameter(help="The scale of Laplace noise.")] = None
    gaussian: Annotated[float | None, Parameter(help="The standard deviation of Gaussian noise.")] = None
    epsilon: Annotated[float | None, Parameter(help="The ε of differential privacy instead.")] = None
    delta: Annotated[float | None, Parameter(help="Its δ: the noise is then Gaussian.")] = None
    sensitivity: Annotated[
        float | None, Parameter(help="How far one person moves both counts (default: 2, √2 with δ).")
    ] = None
    public: Annotated[str | None, Parameter(help="Public columns: a,b,c (default: all others).")] = None
    sensitive: Annotated[str | None, Parameter(help="The sensitive column.")] = None

    @property
    def public_names(self) -> list[str]:
        """The public columns; none for all others."""
        return [part.strip() for part in (self.public or "").split(",") if part.strip()]


@Parameter(name="*", group=NUMBERS)
@dataclass(frozen=True, kw_only=True)
class Advising:
    """How much may be disclosed, and how advice is looked for."""

    share: Annotated[float, Parameter(help="The largest share of people that may be disclosed: 0.05.")]
    privacy: Annotated[float | None, Parameter(help="Privacy interval in percent of each value: 50.")] = None
    absolute: Annotated[float | None, Parameter(help="Privacy interval as a half width instead.")] = None
    family: Annotated[
        Literal["uniform", "gaussian", "laplace", "correlated"],
        Parameter(help="The kind of noise (default: uniform); correlated is for several columns."),
    ] = "uniform"
    confidence: Confidence = 0.95
    draws: Annotated[Positive, Parameter(help="Draws of the noise for each scale tried (default: 3).")] = 3
    seed: Annotated[int, Parameter(help="Seed of the simulation (default: 0).")] = 0


def _numbers(text: str, option: str) -> tuple[float, ...]:
    """A list of positive numbers, as written by a user.

    >>> _numbers("35, 40", "--privacy")
    (35.0, 40.0)
    """
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 < number < float("inf") for number in numbers):
        raise InputError(
            f"cannot read {option}", found=text, remedy="write positive numbers such as 35,50,80"
        )
    return tuple(sorted(set(numbers)))
