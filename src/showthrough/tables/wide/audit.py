"""The audit of an area with too many record types to list, and datasets that agree with its release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from showthrough.errors import Undecided
from showthrough.records import Records
from showthrough.release import Release
from showthrough.tables.claims import Finding, Verdict, World, world_of
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
from showthrough.tables.wide.shuffle import Shuffler
from showthrough.tables.wide.small import SmallPart

if TYPE_CHECKING:
    from showthrough.tables.audit import Scope

__all__ = [
    "audit_wide",
    "parts_of",
    "wide_area",
    "worlds_wide",
]

Part = SmallPart | LargePart

#: Numbers of records that are tried where the number is not known.
_MOST_NUMBERS = 50

#: Vain steps after which no more are looked for, and steps of a walk between two datasets of a part.
_IDLE, _STRIDE = 30, 5

#: Records up to which they are put in a random order one by one.
_FEW_RECORDS = 100_000


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


def worlds_wide(area: WideArea, n: int, *, truth: Records | None) -> tuple[World, ...]:
    """Up to n different datasets, without the microdata where these are given."""
    known = None if truth is None else Dataset.of_records(truth)
    parts = parts_of(area, known)
    first = first_dataset(area, parts) if known is None else known
    schema, rng = area.release.schema, np.random.Generator(np.random.Philox(area.seed))
    found: dict[bytes, Dataset] = {}
    if known is None:
        found[_key(first)] = first
    columns = tuple(at for part in parts for at in part.columns)
    walk, idle = Shuffler(area.release, area.ties, columns, first, area.seed), 0
    while len(found) < n and idle < _IDLE:
        area.tell(f"{len(found):,} of {n:,} datasets")
        walk.wander(1)
        sides = [_side(part, walk.current, rng) for part in parts]
        made = side_by_side(sides, len(schema.attributes))
        new = _key(made) not in found and not (known is not None and made.same_as(known))
        idle = 0 if new else idle + 1
        if new and not made.agrees_with(area.release):
            raise AssertionError("a dataset does not agree with the release")
        found.setdefault(_key(made), made)
        if known is not None:
            found.pop(_key(known), None)
    return tuple(one.world(schema) for one in list(found.values())[:n])


def _key(dataset: Dataset) -> bytes:
    return dataset.codes.tobytes() + dataset.times.tobytes()


def _side(part: Part, current: Dataset, rng: np.random.Generator) -> Beside:
    """The columns of a part, as the walk has them or from its own walk, in a random order."""
    columns, side = part.columns, Beside.of(current, part.columns)
    if isinstance(part, SmallPart) and part.decider.wander(_STRIDE):
        world = Dataset.of_world(world_of(part.decider.system, part.decider.current))
        if len(world) == len(current):
            side = Beside.of(world, columns)
    if len(side) > _FEW_RECORDS:
        order = rng.permutation(len(side.codes))
        return Beside(columns, side.codes[order], side.times[order])
    rows = rng.permutation(np.repeat(np.arange(len(side.codes)), side.times))
    return Beside(columns, side.codes[rows], np.ones(len(rows), np.int64))
