"""What a check found, in short: typed results with the sentences that the terminal and the page share.

``to_plain`` and :func:`read_summary` are the form that ``checks.json`` keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from showthrough.microdata.generalize import PooledSummary
from showthrough.microdata.people import PeopleSummary
from showthrough.microdata.promises import (
    LDiversity,
    RhoPrivacy,
    describe_limits,
    describe_promise,
    promise_to_plain,
)
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.set_exposure import SetSummary
from showthrough.microdata.violations import Bound, ReconstructionCheck
from showthrough.text import percent

__all__ = [
    "BeliefSummary",
    "CheckSummary",
    "CheckVerdict",
    "DiversitySummary",
    "GroupsSummary",
    "SubTableBelief",
    "SubTablesSummary",
    "ViolationCount",
    "WorstGroup",
    "read_summary",
]

#: Whether a promise holds, as far as it can be known.
CheckVerdict = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True)
class ViolationCount:
    """How many groups violate a promise by one bound, and how many records are in them."""

    holds: bool
    groups: int
    group_rate: float
    records: int
    record_rate: float

    @classmethod
    def of(cls, found: ReconstructionCheck, bound: Bound) -> ViolationCount:
        """Count what a check found."""
        violated = found.violated(bound)
        return cls(
            found.holds(bound),
            int(violated.sum()),
            found.group_rate(bound),
            int(found.sizes[violated].sum()),
            found.record_rate(bound),
        )

    def __str__(self) -> str:
        if not self.groups:
            return "no group violates the promise"
        found = _counted(self.groups, "group", self.group_rate, self.records, self.record_rate)
        return f"{found} {'violates' if self.groups == 1 else 'violate'} the promise"


@dataclass(frozen=True)
class WorstGroup:
    """A group that violates reconstruction privacy, with its size and its limits."""

    group: dict[str, str]
    records: int
    sampled: int
    #: The share of its most frequent value.
    frequency: float
    #: s_g, the largest size that the paper's bound allows.
    limit: float
    exact_limit: int

    HEADS: ClassVar[tuple[str, ...]] = ("group", "records", "sampled", "largest share", "s_g", "exact limit")

    def cells(self) -> tuple[str, ...]:
        """As a row below :attr:`HEADS`."""
        return (
            ", ".join(f"{name}={value}" for name, value in self.group.items()) or "everybody",
            f"{self.records:,}",
            f"{self.sampled:,}",
            f"{self.frequency:.3f}",
            f"{self.limit:,.1f}",
            f"{self.exact_limit:,}",
        )


@dataclass(frozen=True)
class GroupsSummary:
    """Reconstruction privacy: how many personal groups can be estimated too precisely."""

    promise: ReconstructionPrivacy
    #: How the publication was made; None for records.
    method: str | None
    #: For each public column with merged values, how many values it has before and after.
    merged: dict[str, tuple[int, int]]
    retention: float
    n_values: int
    groups: int
    records: int
    sampled: int
    chernoff: ViolationCount
    exact: ViolationCount
    worst: tuple[WorstGroup, ...]
    #: Of a publication: in how many groups the promise holds, or is broken, whatever the records are.
    surely_held: int | None = None
    surely_violated: int | None = None
    #: Of records: which groups readers may pool, and whether these keep the promise.
    pooled: PooledSummary | None = None

    @property
    def verdict(self) -> CheckVerdict:
        """Whether the promise holds: for these records, or, of a publication, whatever its records were."""
        if self.method is not None:
            if self.surely_violated:
                return "violated"
            return "holds" if self.surely_held == self.groups else "undecided"
        pooled = self.pooled is None or not self.pooled.violating
        return "holds" if self.exact.holds and self.chernoff.holds and pooled else "violated"

    @property
    def promised(self) -> str:
        """The promise as a sentence."""
        return _promised(self.promise, _how(self.method, self.retention))

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.method is not None:
            return self._published_headline
        if not self.exact.groups and not self.chernoff.groups:
            pooled = self.pooled is not None and self.pooled.violating
            alone = " by itself" if pooled else ""
            return f"No group violates the promise{alone}, neither by exact tails nor by the paper's bound."
        return f"By exact tails, {self.exact}; by the paper's bound, {self.chernoff}."

    @property
    def _published_headline(self) -> str:
        match self.verdict:
            case "holds":
                return (
                    "The promise holds in every published group, whatever the records are: at any frequency "
                    "an estimate is off by that much, upwards and downwards, often enough."
                )
            case "violated":
                n = self.surely_violated or 0
                broken = "breaks" if n == 1 else "break"
                return f"{_number(n, 'group')} {broken} the promise, whatever the records are."
            case "undecided":
                held = f"it is certain for {self.surely_held or 0:,} of {_number(self.groups, 'group')}"
                return f"The publication does not show whether the promise holds: {held}."

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read it."""
        bounds = (
            "Exact tails decide. The paper's bound is one-sided: a group larger than s_g, the largest size "
            "it allows, certainly violates the promise, and a smaller one may violate it too."
        )
        if self.method is None:
            return (bounds,) if self.pooled is None else (bounds, str(self.pooled))
        if self.verdict == "holds":
            return (
                "It is a promise about single groups. A reader who pools groups that differ only in a column "
                "that says nothing about the sensitive value estimates more precisely; check the records to "
                "see which these are.",
            )
        guess = f"With the frequencies that the publication itself suggests, {self.exact} by exact tails"
        return (f"{guess}, and {self.chernoff} by the paper's bound. These frequencies are estimates.",)

    def worst_rows(self) -> list[tuple[str, ...]]:
        """The worst groups as a table with heads; without the column of samples if nothing was sampled."""
        rows = [WorstGroup.HEADS, *(group.cells() for group in self.worst)]
        return rows if self.sampled != self.records else [(*row[:2], *row[3:]) for row in rows]

    def to_plain(self) -> dict[str, Any]:
        """As ``checks.json`` keeps it."""
        return {**asdict(self), "promise": promise_to_plain(self.promise)}


@dataclass(frozen=True)
class BeliefSummary:
    """(ρ1, ρ2)-privacy of records: how sure a reader becomes of a protected value."""

    promise: RhoPrivacy
    method: None
    retention: float
    n_values: int
    #: The largest retention that keeps the promise for any records.
    largest_retention: float
    protected_values: int
    #: The share of the most frequent protected value.
    largest_share: float
    #: How sure a reader becomes without looking at the public values.
    posterior: float
    #: Whether nobody becomes surer than promised, not even readers who see the public values.
    holds: bool
    #: For how many people they do; None in checks by older versions, which did not ask.
    people: PeopleSummary | None = None
    #: What readers learn about sets of values.
    sets: SetSummary | None = None

    @property
    def verdict(self) -> CheckVerdict:
        """Whether the promise holds."""
        if self.holds and self.sets is not None and self.sets.unsettled:
            return "undecided"
        return "holds" if self.holds else "violated"

    @property
    def promised(self) -> str:
        """The promise as a sentence."""
        return _promised(self.promise, _how(None, self.retention), given="public")

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if not self.protected_values:
            return "No value is rare enough: the promise protects nobody."
        if self.people is not None:
            about_sets = self.sets.headline(self.promise) if self.sets else ""
            return about_sets or self.people.headline(self.promise)
        kept = "kept" if self.holds else "broken"
        return f"A reader becomes up to {percent(self.posterior, 1)} sure of a value: the promise is {kept}."

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read it."""
        of_people = self.people.notes(self.promise) if self.people and self.protected_values else ()
        return (
            *of_people,
            "A reader who does not look at the public values becomes up to "
            f"{percent(self.posterior, 1)} sure of such a value.",
            f"With a retention of at most {self.largest_retention:.4g}, this is kept for any records: "
            f"{describe_promise(self.promise)}.",
            *(self.sets.notes(self.promise) if self.sets else ()),
            *_limits(self.promise, "uniform", kept=self.retention <= self.largest_retention * (1 + 1e-9)),
        )

    def to_plain(self) -> dict[str, Any]:
        """As ``checks.json`` keeps it."""
        return {**asdict(self), "promise": promise_to_plain(self.promise)}


@dataclass(frozen=True)
class SubTableBelief:
    """How sure a reader becomes of a protected value of one sub-table, about, and between which ends."""

    retention: float
    n_values: int
    posterior: float
    low: float
    high: float

    HEADS: ClassVar[tuple[str, ...]] = ("sub-table", "retention", "values", "posterior, about", "between")

    def cells(self, number: int) -> tuple[str, ...]:
        """As a row below :attr:`HEADS`."""
        return (
            str(number),
            f"{self.retention:.4g}",
            f"{self.n_values:,}",
            f"{self.posterior:.3f}",
            f"{self.low:.3f} and {self.high:.3f}",
        )


@dataclass(frozen=True)
class SubTablesSummary:
    """(ρ1, ρ2)-privacy of a publication, sub-table by sub-table, with shares that are estimated."""

    promise: RhoPrivacy
    method: str
    verdict: CheckVerdict
    tables: tuple[SubTableBelief, ...]
    #: For how many people readers become too sure; None in checks by older versions.
    people: PeopleSummary | None = None
    #: What readers learn about sets of values.
    sets: SetSummary | None = None
    #: Whether it is known with which probabilities records went to the sub-tables, or estimated.
    divided: bool = True

    @property
    def promised(self) -> str:
        """The promise as a sentence."""
        return _promised(self.promise, self.method, given="public")

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.people is not None and (self.people.exact or self.verdict != "holds"):
            about_sets = self.sets.headline(self.promise) if self.sets else ""
            if self.people.exact and self.verdict == "undecided" and not about_sets:
                return "What all rows of a sub-table reveal together has no known limit."
            return about_sets or self.people.headline(self.promise)
        match self.verdict:
            case "holds":
                return "The promise holds for any records: the retention is small enough."
            case "violated":
                return "The promise is broken, even if the estimated shares are off by four standard errors."
            case "undecided":
                return "The publication does not show whether the promise holds."

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read it."""
        found = list(self.people.notes(self.promise)) if self.people else []
        if self.method == "uniform" and self._largest <= self.promise.amplification * (1 + 1e-9):
            found.append(f"For any records, this is kept: {describe_promise(self.promise)}.")
        if self.people is not None and self.people.exact and not self.divided:
            found.append("How values that are in several sub-tables were divided among them is estimated.")
        if self.verdict == "undecided" and not (self.people and self.people.exact):
            found.append(
                "That depends on shares that can only be estimated from outside. The publisher can check it "
                "exactly, with --truth."
            )
        found += self.sets.notes(self.promise) if self.sets else ()
        kept = self._largest <= self.promise.amplification * (1 + 1e-9)
        found += _limits(self.promise, self.method, kept=kept)
        return tuple(found)

    @property
    def _largest(self) -> float:
        """γ, the largest factor by which one value makes a published value likelier than another does."""
        return max(1 + row.n_values * row.retention / max(1 - row.retention, 1e-300) for row in self.tables)

    def to_plain(self) -> dict[str, Any]:
        """As ``checks.json`` keeps it."""
        return {**asdict(self), "promise": promise_to_plain(self.promise)}


@dataclass(frozen=True)
class DiversitySummary:
    """l-diversity: how many groups, or buckets of an anatomy, have a value that is too frequent."""

    promise: LDiversity
    holds: bool
    #: What was checked, and how many of them.
    unit: Literal["groups", "buckets"]
    number: int
    records: int
    group_rate: float
    record_rate: float
    violating: int
    violating_records: int
    #: How the publication was made; None for records.
    method: str | None
    #: Of records: how many values there are, and how many records an anatomy would leave out.
    n_values: int | None = None
    left_out_by_anatomy: int | None = None

    @property
    def verdict(self) -> CheckVerdict:
        """Whether the promise holds."""
        return "holds" if self.holds else "violated"

    @property
    def promised(self) -> str:
        """The promise as a sentence."""
        return f"Promise: {describe_promise(self.promise, unit=self.unit[:-1])}."

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.holds:
            unit = self.unit if self.number != 1 else self.unit[:-1]
            return f"The promise holds in all {self.number:,} {unit}."
        found = _counted(
            self.violating, self.unit[:-1], self.group_rate, self.violating_records, self.record_rate
        )
        return f"In {found}, one value has more than 1/{self.promise.l} of the records."

    @property
    def notes(self) -> tuple[str, ...]:
        """What an anatomy could do."""
        if self.n_values is None or self.left_out_by_anatomy is None:
            return ()
        needed, left = self.promise.l, self.left_out_by_anatomy
        if self.n_values < needed:
            return (f"An anatomy is not possible: it needs at least {needed} different values.",)
        without = (
            f"after {_number(left, 'record')} are left out" if left != 1 else "after 1 record is left out"
        )
        return (
            f"An anatomy with buckets of {needed} different values is possible "
            f"{without if left else 'for all records'}.",
        )

    def to_plain(self) -> dict[str, Any]:
        """As ``checks.json`` keeps it: the number of groups or buckets is called by what they are."""
        plain = {**asdict(self), "promise": promise_to_plain(self.promise), self.unit: self.number}
        names = ("promise", "holds", self.unit, "records", "group_rate", "record_rate", "violating")
        kept = {name: plain[name] for name in (*names, "violating_records", "method")}
        for name in ("n_values", "left_out_by_anatomy"):
            if plain[name] is not None:
                kept[name] = plain[name]
        return kept


CheckSummary = GroupsSummary | BeliefSummary | SubTablesSummary | DiversitySummary


def read_summary(plain: Mapping[str, Any]) -> CheckSummary:
    """What ``to_plain`` made, read back and checked."""
    from pydantic import TypeAdapter

    match plain["promise"]["kind"]:
        case "reconstruction":
            return TypeAdapter(GroupsSummary).validate_python(plain)
        case "rho" if "tables" in plain:
            return TypeAdapter(SubTablesSummary).validate_python(plain)
        case "rho":
            return TypeAdapter(BeliefSummary).validate_python(plain)
        case _:
            unit = "groups" if "groups" in plain else "buckets"
            return TypeAdapter(DiversitySummary).validate_python(
                {**plain, "unit": unit, "number": plain[unit]}
            )


def _limits(promise: RhoPrivacy, method: str, *, kept: bool) -> tuple[str, ...]:
    said = describe_limits(promise, method, kept=kept)
    return (said,) if said else ()


def _promised(promise: RhoPrivacy | ReconstructionPrivacy, how: str, *, given: str | None = None) -> str:
    return f"Promise: {describe_promise(promise, given=given)} ({how})."


def _how(method: str | None, retention: float) -> str:
    """How records are published, as far as the check knows."""
    if method is None and retention == 1:
        return "records published as they are"
    kept = f"retention {retention:.4g}"
    return kept if method is None else f"{method}, {kept}"


def _counted(n: int, unit: str, rate: float, records: int, record_rate: float) -> str:
    """Some groups and the records in them, with their shares."""
    of_records = f"{_number(records, 'record')} ({percent(record_rate, 1)})"
    return f"{_number(n, unit)} ({percent(rate, 1)}) with {of_records}"


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
