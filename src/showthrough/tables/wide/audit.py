"""The audit of an area with too many record types to list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from showthrough.errors import Undecided
from showthrough.release import Release
from showthrough.tables.claims import Verdict
from showthrough.tables.decision import context_of
from showthrough.tables.findings import collect_findings
from showthrough.tables.result import Audit
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.questions import candidates_of, make_lattice
from showthrough.tables.search.universe import TooManyTypes
from showthrough.tables.wide.area import WideArea
from showthrough.tables.wide.dataset import Beside, Dataset, side_by_side
from showthrough.tables.wide.joined import Joined, WideClaims, shell
from showthrough.tables.wide.large import LargePart
from showthrough.tables.wide.settled import Settled
from showthrough.tables.wide.small import SmallPart

if TYPE_CHECKING:
    from showthrough.records import Records
    from showthrough.tables.audit import Scope

__all__ = [
    "audit_wide",
    "parts_of",
    "wide_area",
]

Part = SmallPart | LargePart

#: Numbers of records that are tried where the number is not known.
_MOST_NUMBERS = 50


def wide_area(release: Release, *, effort: float, seed: int) -> WideArea:
    """An area that is decided part by part."""
    return WideArea(release, context_of(release.layout), Effort.of(effort), seed)


def audit_wide(area: WideArea, *, truth: Records | None, scope: Scope, findings: bool) -> Audit:
    """Decide everything in the scope, each claim by itself where need be."""
    known = None if truth is None else Dataset.of_records(truth)
    parts = parts_of(area, known)
    first = first_dataset(area, parts) if known is None else known
    if not first.agrees_with(area.release):
        raise AssertionError("the first dataset does not agree with the release")
    settled = list[Settled]()
    for number, part in enumerate(parts, 1):
        area.tell(f"part {number:,} of {len(parts):,}")
        settled.append(part.settle(scope, first))
    area.tell("putting parts together")
    return _Assembly(area, settled, first, scope).audit(parts, findings=findings)


def parts_of(area: WideArea, first: Dataset | None) -> list[Part]:
    """The parts of an area, those with too many record types as what they are."""
    return [_part(area, columns, first) for columns in area.parts]


def _part(area: WideArea, columns: tuple[int, ...], first: Dataset | None) -> Part:
    try:
        return SmallPart(area, columns, first)
    except TooManyTypes:
        return LargePart(area, columns)


def first_dataset(area: WideArea, parts: Sequence[Part]) -> Dataset:
    """A dataset of the whole, from datasets of the parts with the same number of records."""
    width = len(area.release.schema.attributes)
    if area.n_records is not None:
        return side_by_side([_found(part.with_records(area.n_records)) for part in parts], width)
    start = max((part.least_records() for part in parts), default=0)
    for n in range(start, start + _MOST_NUMBERS):
        sides = list[Beside]()
        for part in parts:
            side = part.with_records(n)
            if side is None:
                break
            sides.append(side)
        if len(sides) == len(parts):
            return side_by_side(sides, width)
    return side_by_side([_found(None)], width)


def _found(side: Beside | None) -> Beside:
    if side is None:
        raise Undecided(
            "no dataset was found within the effort, and none was shown not to exist; raise --effort"
        )
    return side


class _Assembly:
    """The audit of the whole, from what was decided about its parts."""

    def __init__(self, area: WideArea, settled: Sequence[Settled], first: Dataset, scope: Scope) -> None:
        self.area, self.settled, self.first, self.scope = area, settled, first, scope

    def audit(self, parts: Sequence[Part], *, findings: bool) -> Audit:
        area = self.area
        joined = self._joined()
        claims = joined.claims()
        found, rejected = self._checked(claims, findings=findings)
        work = area.work
        return Audit(
            release=area.release,
            claim_table=claims,
            n_types=_product([part.n_types for part in parts]),
            n_records=area.n_records,
            unique=self._unique(),
            left_out=area.context.left_out,
            extra=(*self._extra(), *rejected),
            findings=found,
            work={"steps": work.steps, "programs": work.programs, "nodes": work.nodes, "solves": work.solves},
            without_findings=not findings,
        )

    def _joined(self) -> Joined:
        frame, scope = self.area.context.frame, self.scope
        system, world = shell(self.area, frame, self.first)
        largest = scope.max_columns or len(frame.sizes)
        lattice = make_lattice(frame.sizes, len(world.types), scope.min_columns, largest)
        candidates = candidates_of(lattice, system.universe, world)
        if scope.multiplicity is not None:
            low, high = scope.multiplicity
            candidates = candidates.take((candidates.count >= low) & (candidates.count <= high))
        return Joined(self.area, self.settled, self.first, system, candidates)

    def _checked(self, claims: WideClaims, *, findings: bool) -> tuple[tuple[object, ...], list[Verdict]]:
        """The findings, after all proofs were checked."""
        area = self.area
        area.tell("checking proofs")
        area.recheck.claims(claims)
        if not findings:
            return (), []
        found = collect_findings(claims, None, area.context.closures, area.context.margins)
        return area.recheck.findings(found)

    def _extra(self) -> list[Verdict]:
        made = [
            self.area.recheck.verdict(one)
            for part in self.settled
            for one in part.extra
            if len(one.claim.selection) >= self.scope.min_columns
        ]
        return made

    def _unique(self) -> bool | None:
        """Whether only one dataset agrees: no part has another one, and their order makes no difference."""
        if any(part.unique is False for part in self.settled):
            return False
        if self.area.context.left_out and len(self.first):
            return False
        several = [part for part in self.settled if len(np.unique(part.beside(self.first).codes, axis=0)) > 1]
        if len(several) > 1:
            return False
        known = self.area.n_records is not None and all(part.unique for part in self.settled)
        return True if known else None


def _product(numbers: Sequence[int | None]) -> int | None:
    """The product; None if a factor is not known, or it is too large to be stored."""
    found = 1
    for number in numbers:
        if number is None:
            return None
        found *= number
    return found if found < 2**62 else None
