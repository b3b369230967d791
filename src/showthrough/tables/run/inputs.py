"""What a run takes as areas, and how it audits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import NoneType
from typing import TypeVar

from showthrough.errors import Contradiction, RecordsError, Undecided, check_each, check_type
from showthrough.records import Records
from showthrough.release import Layout, Release
from showthrough.tables.audit import Scope, check_release

__all__ = [
    "Area",
    "Broken",
    "Input",
    "Nested",
    "Planned",
    "Settings",
    "names_of",
    "ready",
    "records_of",
]


T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """How to audit many areas, and what to write.

    Parameters
    ----------
    scope
        Which claims to decide.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walks.
    refuted
        Whether to write refuted claims too, each with two datasets that disagree on it.
    keep_going
        Whether to report an area that cannot be audited and continue, instead of stopping.
    findings
        Whether to combine the claims into findings.
    variability
        Whether to find in how many records two datasets can differ.
    noise
        The laws of the counts' noise, in short; a run keeps the bounds that they give, and not the values.
    """

    scope: Scope = field(default_factory=Scope)
    effort: float = 1.0
    seed: int = 0
    refuted: bool = False
    keep_going: bool = False
    findings: bool = True
    variability: bool = False
    noise: str = ""

    def __post_init__(self) -> None:
        check_type(self.scope, Scope, name="scope", remedy="write Scope(max_columns=4)")
        check_type(self.effort, Real, name="effort")
        check_type(self.seed, Integral, name="seed")

    def attempt(self, decide: Callable[[], T]) -> T | str:
        """What was decided about an area, or why nothing was."""
        try:
            return decide()
        except (Contradiction, RecordsError) as error:
            if not self.keep_going:
                raise
            return f"contradiction: {error}"
        except Undecided as error:
            return f"undecided: {error}"


@dataclass(frozen=True, eq=False)
class Area:
    """One area to audit.

    Parameters
    ----------
    release
        What is published.
    truth
        The records, if available.
    problem
        Why it cannot be audited, where that is known already.
    """

    release: Release
    truth: Records | None = None
    problem: str = ""

    def __post_init__(self) -> None:
        check_release(self.release)
        check_type(self.truth, (Records, NoneType), name="truth", remedy="read them with read_records")
        check_type(self.problem, str, name="problem")


@dataclass(frozen=True)
class Broken:
    """An area without usable counts, and why."""

    area: str
    why: str


@dataclass(frozen=True, eq=False)
class Planned:
    """An area whose tables are still to be counted over its records."""

    area: str
    records: Records


@dataclass(frozen=True, eq=False)
class Nested:
    """An area that is published together with its parts, each of which is audited.

    Parameters
    ----------
    whole
        What is published about the area.
    parts
        The parts; those with records have all their records.
    """

    whole: Release
    parts: tuple[Area, ...]

    def __post_init__(self) -> None:
        check_release(self.whole)
        check_each(self.parts, Area, name="parts", remedy="give one Area per part")
        object.__setattr__(self, "parts", tuple(self.parts))


#: What a run accepts as an area.
Input = Area | Planned | Broken | Nested


def names_of(area: Input) -> list[str]:
    """The names of what is audited: the area's, or those of its parts."""
    if isinstance(area, Nested):
        return [part.release.area for part in area.parts]
    return [area.release.area if isinstance(area, Area) else area.area]


def ready(area: Input, layout: Layout) -> Area | Broken | Nested:
    """An area as it is decided: with a release of this layout, counted if need be."""
    if isinstance(area, Broken):
        return area
    if isinstance(area, Nested):
        whole = Release(layout, area.whole.low, area.whole.high, area.whole.area)
        return Nested(whole, tuple(_with_layout(part, layout) for part in area.parts))
    if isinstance(area, Area):
        return _with_layout(area, layout)
    records = records_of(area, layout)
    return Area(layout.tabulate(area.records, area=area.area), records)


def _with_layout(area: Area, layout: Layout) -> Area:
    release = Release(layout, area.release.low, area.release.high, area.release.area)
    return Area(release, records_of(area, layout), area.problem)


def records_of(area: Area | Planned, layout: Layout) -> Records | None:
    """The records of an area, if there are any, without the names of areas."""
    records = area.truth if isinstance(area, Area) else area.records
    if records is None:
        return None
    if records.schema != layout.schema:
        raise RecordsError("the records have another schema than the release", file=names_of(area)[0] or None)
    return Records(layout.schema, records.codes)
