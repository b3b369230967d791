"""How sure readers become of people's values when they look at the public values too.

(ρ1, ρ2)-privacy as the papers state it takes the share of a value among *all* records for what a reader
knows beforehand. Readers also see the public columns, and in a sub-table or class its label: for them the
share among the people with the same public values counts. A value that is rare in the whole table need
not be rare there. This module counts the people for whom that matters, from true numbers;
:mod:`showthrough.microdata.people_published` does the same from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from showthrough.frames.columns import texts
from showthrough.microdata.groups import Groups
from showthrough.microdata.plan import SubTable
from showthrough.microdata.promises import RhoPrivacy, posterior, posterior_of_all_rows
from showthrough.text import percent

__all__ = [
    "SMALL",
    "ExposedGroup",
    "PeopleExposed",
    "PeopleSummary",
    "ReaderUnits",
    "belief",
    "find_exposure",
    "largest_share",
    "summarize_people",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Groups with fewer people than this are counted apart: nobody learns a share from so few perturbed rows.
SMALL: Final = 10

#: Shares and posteriors this much over a limit still count as equal to it.
EQUAL: Final = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class ReaderUnits:
    """People as readers see them: those with the same public values, in the same sub-table.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[60, 40], [90, 10]])
    >>> units = ReaderUnits.of(groups, 0.5)
    >>> len(units), units.sizes.tolist()
    (2, [100.0, 100.0])
    """

    public: pa.Table
    #: The sensitive values as text, one entry for each sensitive column.
    domain: tuple[tuple[str, ...], ...]
    #: A sparse matrix with one row for each unit and one column for each value. Where chance divides a
    #: group into sub-tables, numbers are expected ones.
    counts: Any
    table: Whole
    tables: tuple[SubTable, ...]
    #: Whether it is known with which probabilities records went to the sub-tables, or estimated.
    divided: bool = True

    @classmethod
    def of(cls, groups: Groups, retention: float) -> ReaderUnits:
        """Groups whose records keep their value with one retention."""
        columns = [texts(groups.domain[name]) for name in groups.domain.column_names]
        domain = tuple(zip(*columns, strict=True))
        tables = (SubTable(retention, tuple(range(len(domain)))),)
        return cls(groups.public, domain, groups.counts, np.zeros(len(groups), np.int64), tables)

    def __len__(self) -> int:
        return self.counts.shape[0]

    @cached_property
    def sizes(self) -> Floats:
        """How many people each unit has."""
        return np.asarray(self.counts.sum(axis=1), np.float64)

    def named(self, unit: int) -> dict[str, str]:
        """A unit's public values as text."""
        row = self.public.slice(unit, 1)
        return {name: texts(row[name])[0] for name in row.column_names}


@dataclass(frozen=True)
class ExposedGroup:
    """People with the same public values, and the value of which a reader becomes too sure."""

    group: dict[str, str]
    #: The number of the sub-table or class, if there are several.
    part: int | None
    value: str
    people: int
    share: float
    posterior: float
    #: For estimates: the standard error of the share, and what the posterior surely exceeds.
    error: float | None = None
    surely: float | None = None

    HEADS: ClassVar[tuple[str, ...]] = ("group", "people", "value", "share", "posterior")
    ESTIMATED: ClassVar[tuple[str, ...]] = ("group", "people", "value", "share, about", "posterior, over")

    def cells(self) -> tuple[str, ...]:
        """As a row below :attr:`HEADS`, or below :attr:`ESTIMATED`."""
        named = [f"{name}={value}" for name, value in self.group.items()]
        where = ", ".join([*named, *([f"sub-table {self.part}"] if self.part else [])]) or "everybody"
        off = "" if self.error is None else f" ± {self.error:.3f}"
        sure = self.posterior if self.surely is None else self.surely
        return where, f"{self.people:,}", self.value, f"{self.share:.3f}{off}", f"{sure:.3f}"


@dataclass(frozen=True)
class PeopleExposed:
    """How many people are in groups where a value that is rare in the whole table is not rare."""

    groups: int = 0
    people: float = 0.0
    #: In groups where the share of a protected value exceeds the prior.
    not_rare: float = 0.0
    #: In groups where a reader who is shown a protected value becomes surer of it than promised.
    exposed: float = 0.0
    exposed_groups: int = 0
    #: Of the exposed, those in groups of fewer than ``SMALL`` people.
    small: float = 0.0
    #: Expected rows that show a protected value, and those of them that tell too much.
    shown: float = 0.0
    rows: float = 0.0
    #: The largest posterior, in all groups and in groups that are not small.
    posterior: float = 0.0
    posterior_large: float = 0.0

    def __add__(self, other: PeopleExposed) -> PeopleExposed:
        """The same over the groups of both."""
        largest = ("posterior", "posterior_large")
        added = {name: number + getattr(other, name) for name, number in vars(self).items()}
        return PeopleExposed(
            **{**added, **{at: max(getattr(self, at), getattr(other, at)) for at in largest}}
        )


@dataclass(frozen=True)
class PeopleSummary:
    """For how many people readers become surer than promised, as ``checks.json`` keeps it.

    The numbers are exact where the truth is known. From a publication alone ``exposed`` is a number that
    there are at least and ``exposed_most`` one that there are at most, with a confidence of 1 − ``level``.
    """

    exact: bool
    #: Whether readers surely become surer of somebody than promised.
    broken: bool
    groups: int
    people: int
    protected_values: int
    #: None where it is not known.
    not_rare: int | None
    exposed: int
    exposed_most: int
    exposed_groups: int
    small: int
    #: Rows that show a protected value and, of these, rows in exposed groups: expected, or as published.
    shown: int
    rows: int
    #: The largest posterior; from a publication alone, one that is surely exceeded.
    posterior: float
    posterior_large: float
    level: float | None = None
    worst: tuple[ExposedGroup, ...] = ()

    @classmethod
    def of(
        cls, found: PeopleExposed, *, protected_values: int, worst: Iterable[ExposedGroup] = ()
    ) -> PeopleSummary:
        """From what the truth shows."""
        whole = {
            name: round(getattr(found, name)) for name in ("people", "not_rare", "small", "shown", "rows")
        }
        return cls(
            exact=True,
            broken=found.exposed > 0,
            groups=found.groups,
            protected_values=protected_values,
            # Whoever is exposed at all counts.
            exposed=max(round(found.exposed), int(found.exposed > 0)),
            exposed_most=max(round(found.exposed), int(found.exposed > 0)),
            exposed_groups=found.exposed_groups,
            posterior=found.posterior,
            posterior_large=found.posterior_large,
            worst=tuple(worst),
            **whole,
        )

    def headline(self, promise: RhoPrivacy) -> str:
        """For how many people readers become too sure, in one sentence."""
        sure = f"a reader becomes more than {percent(promise.posterior)} sure of a value that at most "
        sure += f"{percent(promise.prior)} of the records have"
        of_all = f"of {self.people:,} people"
        if self.exact and not self.exposed:
            return (
                "As these records are, a reader who sees the public values becomes at most "
                f"{percent(self.posterior, 1)} sure of a value that at most {percent(promise.prior)} of the "
                "records have: the promise is kept."
            )
        if self.exact:
            be = "is" if self.exposed == 1 else "are"
            return f"{self.exposed:,} {of_all} {be} in groups with the same public values in which {sure}."
        confidence = f"with {percent(1 - (self.level or 0))} confidence"
        if self.exposed:
            most = f" to {self.exposed_most:,}" if self.exposed_most > self.exposed else ""
            between = f"{self.exposed:,}{most} {of_all}"
            return f"{between} are in groups with the same public values in which {sure} ({confidence})."
        if not self.exposed_most:
            return (
                f"{confidence.capitalize()}, nobody is in a group with the same public values in which "
                f"{sure}. The publication alone cannot make that certain."
            )
        if self.broken:
            return (
                f"In some groups with the same public values, {sure} ({confidence}); the rows do not show "
                "in which."
            )
        return (
            "The publication alone does not show whether the promise holds for everybody: up to "
            f"{self.exposed_most:,} {of_all} may be in groups with the same public values in which "
            f"{sure} ({confidence})."
        )

    def notes(self, promise: RhoPrivacy) -> tuple[str, ...]:
        """How many rows tell it, who is in small groups, and where a rare value is not rare."""
        found = list[str]()
        if self.exposed:
            what = "rows that show such a value" if not self.exact else "rows expected to show such a value"
            surely = "" if self.exact else "over "
            found.append(
                f"Of {self.shown:,} {what}, {self.rows:,} are in these groups: each tells a reader the value "
                f"with more than {percent(promise.posterior)} certainty, in the worst group with {surely}"
                f"{percent(self.posterior, 1)}."
            )
        if self.exact and self.small:
            large = f" (in larger groups up to {percent(self.posterior_large, 1)} sure)"
            found.append(
                f"{self.small:,} of these people are in groups of fewer than {SMALL}. The publication does "
                f"not show shares in such groups, but a reader may know them{large}."
            )
        if self.not_rare and self.not_rare != self.exposed:
            found.append(
                f"{self.not_rare:,} people are in groups in which such a value has a share of more than "
                f"{percent(promise.prior)}: it is rare in the whole table, but not among them."
            )
        return tuple(found)

    def worst_rows(self) -> list[tuple[str, ...]]:
        """The worst groups as a table with heads; empty if there are none."""
        if not self.worst:
            return []
        heads = ExposedGroup.HEADS if self.exact else ExposedGroup.ESTIMATED
        return [heads, *(group.cells() for group in self.worst)]


def largest_share(promise: RhoPrivacy, retention: ArrayLike, n_values: ArrayLike) -> Floats:
    """The largest share of a value in a group at which its posterior does not exceed the promised one.

    From f a/(f p + b) ≤ ρ2 with b = (1 − p)/m and a = p + b; with known totals from the bound of
    :func:`belief`. At the retention that the promise asks for it is the prior.

    >>> promise = RhoPrivacy(0.3, 0.6)
    >>> float(largest_share(promise, promise.retention(2), 2).round(9))
    0.3
    """
    kept = np.asarray(retention, np.float64)
    stray = (1 - kept) / np.asarray(n_values, np.float64)
    if promise.known_totals:
        odds = promise.posterior / (1 - promise.posterior) * (stray / (kept + stray)) ** 2
        return odds / (1 + odds)
    return promise.posterior * stray / (kept * (1 - promise.posterior) + stray)


def belief(promise: RhoPrivacy, share: ArrayLike, retention: ArrayLike, n_values: ArrayLike) -> Floats:
    """How sure a reader becomes of a value with some share of a group who is shown it.

    If the promise is also to readers who know the group's totals and combine its rows: at most so sure,
    γ² f/(γ² f + 1 − f), since rows that swap their values change the likelihood by a factor of at most γ².

    >>> belief(RhoPrivacy(0.3, 0.6), [0.3, 0.8], 5 / 9, 2).round(3).tolist()
    [0.6, 0.933]
    """
    f, kept = np.asarray(share, np.float64), np.asarray(retention, np.float64)
    if not promise.known_totals:
        return posterior(f[..., None], kept[..., None], n_values=np.asarray(n_values)[..., None])[..., 0]
    return posterior_of_all_rows(f, kept, n_values=n_values)


def find_exposure(units: ReaderUnits, promise: RhoPrivacy, protected: Flags) -> PeopleExposed:
    """How many people there are in groups where readers become too sure, from true numbers.

    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[60, 40], [90, 10]])
    >>> promise = RhoPrivacy(0.3, 0.6)
    >>> units = ReaderUnits.of(groups, promise.retention(2))
    >>> found = find_exposure(units, promise, promise.protects(groups.totals))
    >>> found.not_rare, found.exposed, round(found.posterior, 3)
    (100.0, 100.0, 0.7)
    """
    cells, sizes = _cells(units, promise, protected), units.sizes
    over = cells.posterior > promise.posterior * EQUAL
    exposed, not_rare = np.zeros(len(sizes), bool), np.zeros(len(sizes), bool)
    exposed[cells.unit[over]] = True
    not_rare[cells.unit[cells.share > promise.prior * EQUAL]] = True
    inside = np.array([int(protected[list(table.values)].sum()) for table in units.tables])
    kept, stray = _parameters(units)
    held = np.bincount(cells.unit, cells.share * sizes[cells.unit], len(sizes))
    large = cells.posterior[sizes[cells.unit] >= SMALL]
    return PeopleExposed(
        groups=int((sizes > 0).sum()),
        people=float(sizes.sum()),
        not_rare=float(sizes[not_rare].sum()),
        exposed=float(sizes[exposed].sum()),
        exposed_groups=int(exposed.sum()),
        small=float(sizes[exposed][sizes[exposed] < SMALL].sum()),
        shown=float((kept * held + stray * sizes * inside[units.table]).sum()),
        rows=float((sizes[cells.unit] * (kept[cells.unit] * cells.share + stray[cells.unit]))[over].sum()),
        posterior=float(cells.posterior.max(initial=0)),
        posterior_large=float(large.max(initial=0)),
    )


def summarize_people(units: ReaderUnits, promise: RhoPrivacy, *, worst: int = 10) -> PeopleSummary:
    """For how many people readers become surer than promised, from true numbers, and the worst groups.

    Which values are protected follows from all units together.
    """
    protected = promise.protects(np.asarray(units.counts.sum(axis=0)).round(6))
    found = find_exposure(units, promise, protected)
    chosen = _worst(units, promise, protected, number=worst)
    return PeopleSummary.of(found, protected_values=int(protected.sum()), worst=chosen)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Units and the protected values that occur in them."""

    unit: Whole
    value: Whole
    share: Floats
    #: How sure a reader of the value becomes who is shown it.
    posterior: Floats


def _cells(units: ReaderUnits, promise: RhoPrivacy, protected: Flags) -> _Cells:
    found = csr_array(units.counts)
    kept = np.flatnonzero(protected[found.indices] & (found.data > 0))
    unit = np.repeat(np.arange(len(units)), np.diff(found.indptr))[kept]
    value = found.indices[kept].astype(np.int64)
    counted: Whole = found.data[kept]
    share = counted / units.sizes[unit]
    kept_by = np.array([table.retention for table in units.tables])
    n_values = np.array([table.n_values for table in units.tables])
    table = units.table[unit] if len(kept_by) > 1 else 0
    return _Cells(unit, value, share, belief(promise, share, kept_by[table], n_values[table]))


def _parameters(units: ReaderUnits) -> tuple[Floats, Floats]:
    """Each unit's retention, and the chance that a record shows one certain value it does not have."""
    kept = np.array([table.retention for table in units.tables])[units.table]
    return kept, np.array([table.stray for table in units.tables])[units.table]


def _worst(
    units: ReaderUnits, promise: RhoPrivacy, protected: Flags, *, number: int
) -> Iterable[ExposedGroup]:
    """Groups that are not small first, by posterior; then the small ones."""
    cells, sizes = _cells(units, promise, protected), units.sizes
    over = np.flatnonzero(cells.posterior > promise.posterior * EQUAL)
    size = sizes[cells.unit[over]]
    order = np.lexsort((cells.value[over], cells.unit[over], -size, -cells.posterior[over], size < SMALL))
    for at in over[order[:number]].tolist():
        unit = int(cells.unit[at])
        yield ExposedGroup(
            units.named(unit),
            int(units.table[unit]) + 1 if len(units.tables) > 1 else None,
            ", ".join(units.domain[int(cells.value[at])]),
            round(sizes[unit]),
            float(cells.share[at]),
            float(cells.posterior[at]),
        )
