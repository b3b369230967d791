"""The audit of an area with too many record types to list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from showthrough.errors import Undecided
from showthrough.release import Release
from showthrough.tables.claims import Finding, Verdict
from showthrough.tables.decision import context_of
from showthrough.tables.findings import collect_findings
from showthrough.tables.result import Audit, ClaimTable
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.questions import candidates_of, make_lattice
from showthrough.tables.search.universe import TooManyTypes
from showthrough.tables.wide.area import WideArea
from showthrough.tables.wide.dataset import Beside, Dataset, side_by_side
from showthrough.tables.wide.joined import Joined, shell
from showthrough.tables.wide.large import LargePart
from showthrough.tables.wide.listed import listed_claims
from showthrough.tables.wide.settled import SettledPart
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
    try:
        first = first_dataset(area, parts) if known is None else known
    except Undecided:
        return _Assembly(area, scope).without_dataset(findings=findings)
    if not first.agrees_with(area.release):
        raise AssertionError("the first dataset does not agree with the release")
    settled = list[SettledPart]()
    for number, part in enumerate(parts, 1):
        area.tell(f"part {number:,} of {len(parts):,}")
        settled.append(part.settle(scope, first))
    area.tell("putting parts together")
    return _Assembly(area, scope).audit(parts, settled, first, findings=findings)


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

    def __init__(self, area: WideArea, scope: Scope) -> None:
        self.area, self.scope = area, scope

    def audit(
        self, parts: Sequence[Part], settled: Sequence[SettledPart], first: Dataset, *, findings: bool
    ) -> Audit:
        """From verdicts on the claims of a first dataset, part by part."""
        extra = [
            self.area.recheck.verdict(one)
            for part in settled
            for one in part.extra
            if len(one.claim.selection) >= self.scope.min_columns
        ]
        found = self._audit(self._joined(settled, first).claims(), extra, findings=findings)
        n_types = _product([part.n_types for part in parts])
        return replace(found, n_types=n_types, unique=self._unique(settled, first))

    def without_dataset(self, *, findings: bool) -> Audit:
        """From what views prove: no dataset is known."""
        if self.scope.absent or self.scope.gaps:
            raise Undecided(
                "no dataset was found within the effort, so absences and impossible counts are not "
                "decided; leave out --absent and --gaps, or raise --effort"
            )
        return self._audit(listed_claims(self.area, self.scope), (), findings=findings)

    def _audit(self, claims: ClaimTable, extra: Sequence[Verdict], *, findings: bool) -> Audit:
        found, rejected = self._checked(claims, findings=findings)
        work = self.area.work
        return Audit(
            release=self.area.release,
            claim_table=claims,
            n_types=None,
            n_records=self.area.n_records,
            unique=None,
            left_out=self.area.context.left_out,
            extra=(*extra, *rejected),
            findings=found,
            work={"steps": work.steps, "programs": work.programs, "nodes": work.nodes, "solves": work.solves},
            without_findings=not findings,
        )

    def _joined(self, settled: Sequence[SettledPart], first: Dataset) -> Joined:
        frame, scope = self.area.context.frame, self.scope
        system, world = shell(self.area, frame, first)
        largest = scope.max_columns or len(frame.sizes)
        lattice = make_lattice(frame.sizes, len(world.types), scope.min_columns, largest)
        candidates = candidates_of(lattice, system.universe, world)
        if scope.multiplicity is not None:
            low, high = scope.multiplicity
            candidates = candidates.take((candidates.count >= low) & (candidates.count <= high))
        return Joined(self.area, settled, first, system, candidates)

    def _checked(self, claims: ClaimTable, *, findings: bool) -> tuple[tuple[Finding, ...], list[Verdict]]:
        """The findings, after all proofs were checked."""
        area = self.area
        area.tell("checking proofs")
        area.recheck.claims(claims)
        if not findings:
            return (), []
        found = collect_findings(claims, None, area.context.closures, area.context.margins)
        return area.recheck.findings(found)

    def _unique(self, settled: Sequence[SettledPart], first: Dataset) -> bool | None:
        """Whether only one dataset agrees: no part has another one, and their order makes no difference."""
        if any(part.unique is False for part in settled) or (self.area.context.left_out and len(first)):
            return False
        if sum(len(np.unique(part.beside(first).codes, axis=0)) > 1 for part in settled) > 1:
            return False
        known = self.area.n_records is not None and all(part.unique for part in settled)
        return True if known else None


def _product(numbers: Sequence[int | None]) -> int | None:
    """The product; None if a factor is not known, or it is too large to be stored."""
    found = 1
    for number in numbers:
        if number is None:
            return None
        found *= number
    return found if found < 2**62 else None
