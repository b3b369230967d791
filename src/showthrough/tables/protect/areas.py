"""Protecting many areas: a plan for each, wherever an engine works on it, or one plan for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import ShowthroughError
from showthrough.release import Release
from showthrough.tables.claims import World
from showthrough.tables.protect.classical import Outcome, compare_rules
from showthrough.tables.protect.intervals import INTERVAL_COLUMNS, intervals_of
from showthrough.tables.protect.limits import Improvement, gap_between
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.protect import protect, protect_alike
from showthrough.tables.protect.protection import Protection, SafeArea, Status
from showthrough.tables.protect.summary import ClaimCounts, PlanSummary
from showthrough.tables.run.batch import Area

__all__ = [
    "WORLD_NUMBERS",
    "PlanResult",
    "ProtectedAreas",
    "protect_areas",
]

#: The columns of a comparison with the numbers of two worlds that disagree.
WORLD_NUMBERS = ("first_world", "second_world")

#: One area that was protected, or why it could not be, and what classical rules would have done.
_Done = tuple["PlanResult | ShowthroughError", list[Outcome]]

#: How a protection can end, the gravest first.
_STATUSES: tuple[Status, ...] = ("impossible", "undecided", "safe")


@dataclass(frozen=True)
class AreasSearch:
    """How plans are searched for: the arguments of :func:`protect`."""

    effort: float
    seed: int
    seconds: float | None = None
    gap: float | None = None
    watch: Callable[[Improvement], None] | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """By name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, eq=False)
class PlanResult:
    """A protection without its audits: what is written of it.

    ``planned`` and ``releases`` are the areas before and after. ``comparison`` has for every forbidden
    claim that is now hidden the numbers (from 0) of two of the ``worlds`` that disagree on it. A world is an
    area with its records as JSON. ``intervals`` has what follows about cells without a count.
    """

    summary: PlanSummary
    releases: tuple[Release, ...]
    comparison: pa.Table
    worlds: tuple[tuple[str, str], ...]
    planned: tuple[Release, ...]
    seconds: float = 0.0
    improvements: tuple[Improvement, ...] = ()
    interrupted: bool = False
    intervals: pa.Table = field(default_factory=INTERVAL_COLUMNS.empty_table)

    @classmethod
    def of(cls, found: Protection, *, effort: float = 1.0, seed: int = 0) -> PlanResult:
        """What is written of a protection; ``effort`` and ``seed`` are those of the search for intervals."""
        worlds: dict[tuple[str, str], int] = {}
        tables = [_with_worlds(area, worlds) for area in found.areas]
        counts = [ClaimCounts.of(area, table) for area, table in zip(found.areas, tables, strict=True)]
        releases = tuple(area.release for area in found.areas)
        planned = tuple(area.planned for area in found.areas)
        return cls(
            PlanSummary.of(found, counts),
            releases,
            pa.concat_tables(tables),
            tuple(worlds),
            planned,
            found.seconds,
            found.improvements,
            found.interrupted,
            pa.concat_tables(
                [intervals_of(area, effort=effort, seed=seed) for area in found.areas if found.safe]
                or [INTERVAL_COLUMNS.empty_table()]
            ),
        )


@dataclass(frozen=True, eq=False)
class ProtectedAreas:
    """The plans for some areas, and what classical rules would have done (if that was asked for)."""

    results: tuple[PlanResult, ...]
    rules: tuple[Outcome, ...] = ()

    @property
    def plans(self) -> list[PlanSummary]:
        """The plans in figures."""
        return [result.summary for result in self.results]

    @property
    def intervals(self) -> pa.Table:
        """What follows about the cells without a count, in all areas."""
        return pa.concat_tables([result.intervals for result in self.results])

    @property
    def cost(self) -> Fraction:
        """What all plans cost together."""
        return sum((plan.cost for plan in self.plans), Fraction(0))

    @property
    def lower_bound(self) -> Fraction:
        """What safe plans cost at least."""
        return sum((plan.lower_bound for plan in self.plans), Fraction(0))

    @property
    def gap(self) -> Fraction | None:
        """How much more the plans cost than the lower bound, as a share of it; None if they are not safe."""
        return gap_between(self.cost, self.lower_bound) if self.status == "safe" else None

    @property
    def interrupted(self) -> bool:
        """Whether a search was interrupted."""
        return any(result.interrupted for result in self.results)

    @property
    def status(self) -> Status:
        """Safe if all plans are; impossible if one is."""
        found = {plan.status for plan in self.plans}
        return next(status for status in _STATUSES if status in found)


def protect_areas(
    areas: Iterable[Area],
    policy: Policy,
    *,
    same: bool = False,
    compare: bool = False,
    effort: float = 1.0,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
    seconds: float | None = None,
    gap: float | None = None,
    watch: Callable[[Improvement], None] | None = None,
) -> ProtectedAreas:
    """Protect every area on its own, or all of them with the ``same`` moves.

    ``compare`` also applies the classical rules. ``progress`` is called with 1 after each area, or,
    with the same moves for all, after each plan that was audited. ``seconds`` and ``gap`` end the search for
    each plan early; ``watch`` is called with each improvement, where one process does all the work. What is
    found does not depend on the ``engine`` (by default this process), but for ``seconds``; the same moves for
    all areas are always searched for here.
    """
    engine = engine or LocalEngine()
    here = engine == LocalEngine()
    how = AreasSearch(effort, seed, seconds, gap, watch if same or here else None)
    rules_of = partial(_rules, policy=policy, effort=effort, seed=seed, compare=compare)
    if same:
        listed = list(areas)
        found = protect_alike(listed, policy, progress=progress, **how.arguments)
        return ProtectedAreas((PlanResult.of(found, effort=effort, seed=seed),), tuple(rules_of(listed)))
    work = partial(_protect_one, policy=policy, how=how, compare=compare)
    if here:
        work = _Interruptible(work, how)
    results, rules = list[PlanResult](), list[Outcome]()
    for result, outcomes in in_order_on(engine, work, areas):
        if isinstance(result, ShowthroughError):
            raise result
        results.append(result)
        rules = _added(rules, outcomes)
        if progress is not None:
            progress(1)
    return ProtectedAreas(tuple(results), tuple(rules))


class _Interruptible:
    """Protects areas in this process; after an interruption each with its first safe plan."""

    def __init__(self, work: Callable[..., _Done], how: AreasSearch) -> None:
        self.work, self.how = work, how

    def __call__(self, area: Area) -> _Done:
        found = self.work(area, how=self.how)
        if isinstance(found[0], PlanResult) and found[0].interrupted:
            self.how = replace(self.how, seconds=0.0)
        return found


def _protect_one(area: Area, policy: Policy, *, how: AreasSearch, compare: bool) -> _Done:
    """One area; an error is returned, so that the first in the order of the areas is raised."""
    try:
        found = protect(area.release, policy, truth=area.truth, **how.arguments)
        rules = _rules([area], policy, effort=how.effort, seed=how.seed, compare=compare)
        return PlanResult.of(found, effort=how.effort, seed=how.seed), rules
    except ShowthroughError as error:
        return error, []


def _rules(
    areas: Sequence[Area], policy: Policy, *, effort: float, seed: int, compare: bool
) -> list[Outcome]:
    found = list[Outcome]()
    for area in areas if compare else ():
        found = _added(found, compare_rules(area, policy, effort=effort, seed=seed))
    return found


def _added(some: Sequence[Outcome], more: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes of the same rules in different areas, added up."""
    if not some or not more:
        return [*some, *more]
    return [a + b for a, b in zip(some, more, strict=True)]


def _with_worlds(area: SafeArea, worlds: dict[tuple[str, str], int]) -> pa.Table:
    """The comparison of an area, with two datasets for each claim that was hidden."""
    pairs: dict[str, tuple[int, int]] = {}
    texts = dict[int, tuple[World, str]]()
    for selection, _ in area.hidden():
        made = [(area.area, _json(world, texts)) for world in area.disagreement(selection)]
        first, second = (worlds.setdefault(one, len(worlds)) for one in made)
        pairs[selection.to_json()] = first, second
    table = area.comparison
    selections = [str(text) for text in table["selection"].to_pylist()]
    for at, name in enumerate(WORLD_NUMBERS):
        numbers = [pairs[text][at] if text in pairs else None for text in selections]
        table = table.append_column(name, pa.array(numbers, pa.int64()))
    return table


def _json(world: World, texts: dict[int, tuple[World, str]]) -> str:
    """A dataset as JSON, made once."""
    if id(world) not in texts:
        texts[id(world)] = world, world.to_json()
    return texts[id(world)][1]
