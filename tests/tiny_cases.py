"""Tiny random releases by the thousand: a plan is a layout that many counts are drawn for.

A layout is compiled once, and so are the masks of all selections; then a case costs milliseconds.
Every case has the names of its kinds, so that a run can say what it has seen.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import brute_force
from brute_force import TooManyWorlds, all_counts, legal_types, matches, membership
from showthrough.errors import SchemaError
from showthrough.hierarchy import Hierarchy
from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table, make_table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from strategies import NAMES, VALUES, overlapping_table, random_groups, random_selection
from tiny_forms import EXACT, FORMS, NEARLY, Form

#: Counts drawn for one layout.
DRAWS = 24

MOST_TYPES = 12

#: Partial datasets the brute force may hold; a draw that needs more is drawn again.
MOST_WORLDS = 1500


@dataclass(frozen=True, eq=False)
class Plan:
    """A layout, how each cell is printed, and the yardstick's view of both."""

    layout: Layout
    forms: tuple[Form, ...]
    kinds: frozenset[str]
    n_first: int = 0

    @cached_property
    def types(self) -> list[dict[str, str]]:
        """Every record type that the rules allow."""
        return legal_types(self.layout.schema)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Per type the position of each value in the schema."""
        schema = self.layout.schema
        rows = [[a.values.index(record[a.name]) for a in schema.attributes] for record in self.types]
        return np.array(rows, np.int64).reshape(len(self.types), len(schema.attributes))

    @cached_property
    def strides(self) -> NDArray[np.int64]:
        """Σ (code + 1)·stride over some attributes is the number of a selection by single values."""
        sizes = [len(attribute.values) + 1 for attribute in self.layout.schema.attributes]
        return np.cumprod([1, *sizes])[:-1]

    @cached_property
    def type_of(self) -> dict[int, int]:
        """The number of a selection of all attributes → the type it selects."""
        return {int(number): at for at, number in enumerate((self.codes + 1) @ self.strides)}

    @cached_property
    def member(self) -> NDArray[np.int64]:
        """How many times each cell (row) counts a record of each type (column)."""
        empty = np.zeros(len(self.layout.names), np.int64)
        return membership(Release(self.layout, empty, empty), self.types)

    @cached_property
    def selections(self) -> list[Selection]:
        """Every selection by single values, at its number; that of nothing comes first."""
        by_number = {0: Selection()}
        for one in brute_force.selections(self.layout.schema):
            by_number[self.number(one)] = one
        return [by_number[at] for at in range(len(by_number))]

    @cached_property
    def masks(self) -> NDArray[np.bool_]:
        """Which selection (row) matches which type (column)."""
        rows = [[matches(one, record) for record in self.types] for one in self.selections]
        return np.array(rows, bool).reshape(len(rows), len(self.types))

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """Per selection how many attributes it names."""
        return np.array([len(one) for one in self.selections])

    @cached_property
    def attributes(self) -> NDArray[np.int64]:
        """Per selection the attributes it names, as bits."""
        names = self.layout.schema.names
        return np.array([sum(1 << names.index(name) for name in one.attributes) for one in self.selections])

    @cached_property
    def in_use(self) -> NDArray[np.bool_]:
        """Per selection whether something is known about all attributes that it names."""
        empty = np.zeros(len(self.layout.names), np.int64)
        named = set(brute_force.attributes_in_use(Release(self.layout, empty, empty)))
        return np.array([named >= {*one.attributes} for one in self.selections])

    def number(self, selection: Selection) -> int:
        """The number of a selection by single values."""
        schema = self.layout.schema
        return sum(
            (schema[name].values.index(values[0]) + 1) * int(self.strides[schema.names.index(name)])
            for name, values in selection.terms
        )


@dataclass(frozen=True, eq=False)
class TinyCase:
    """A release, every dataset that agrees with it, and the truth unless a cell was changed."""

    plan: Plan
    release: Release
    truth: NDArray[np.int64] | None
    counts: NDArray[np.int64]
    free: NDArray[np.bool_]
    kinds: set[str]
    misread: list[str] = field(default_factory=list[str])

    @property
    def schema(self) -> Schema:
        """The schema of the release."""
        return self.release.schema

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """Dataset × selection: the count of each selection in each dataset."""
        return (self.counts.astype(np.float64) @ self.plan.masks.T).astype(np.int64)

    @cached_property
    def least(self) -> NDArray[np.int64]:
        """Per selection the smallest count."""
        return self.table.min(axis=0)

    @cached_property
    def most(self) -> NDArray[np.int64]:
        """Per selection the largest count; :data:`UNBOUNDED` where there is none."""
        endless = (self.plan.masks & self.free).any(axis=1)
        return np.where(endless, UNBOUNDED, self.table.max(axis=0))


def random_plan(seed: int, *, sums: bool = False) -> Plan:
    """A plan; the same for the same seed. One in ten has cells that are sums, or all if so wanted."""
    rng = np.random.default_rng([seed, 77])
    if np.random.default_rng([seed, 78]).random() < 0.05:
        return _jumping_plan(rng)
    schema, kinds = _schema(rng, levels=np.random.default_rng([seed, 79]).random() < 0.08)
    tables: list[Table] = []
    for at in range(rng.integers(1, 4)):
        publisher = f"office {at % 2}"
        table, about = _table(rng, schema, f"t{at}", publisher)
        tables.append(table)
        kinds |= about
    if rng.random() < 0.45:
        tables.append(make_table(schema, "total", name="all of them"))
    more = np.random.default_rng([seed, 80])
    if sums or more.random() < 0.1:
        tables, about = _with_sums(more, schema, tables)
        kinds |= about
    n_first = 0
    if len(tables) > 1 and rng.random() < 0.08:
        n_first = int(rng.integers(1, len(tables)))
        kinds.add("several publishers")
    n_cells = sum(len(table.cells) for table in tables)
    plan = Plan(Layout(schema, tuple(tables)), (), frozenset(kinds))
    if _overlapping(plan) and "totals" not in kinds:
        kinds.add("overlapping cells")
    if not plan.in_use.all():
        kinds.add("attribute in no table")
    return Plan(plan.layout, _forms(rng, tables, n_cells), frozenset(kinds), n_first)


def _with_sums(rng: np.random.Generator, schema: Schema, tables: list[Table]) -> tuple[list[Table], set[str]]:
    """The tables with some cells made sums of selections, with weights or without, or one more table."""
    made, kinds = list[Table](), set[str]()
    for table in tables:
        cells = [_summed(rng, schema, cell) if rng.random() < 0.5 else cell for cell in table.cells]
        made.append(dataclasses.replace(table, cells=tuple(cells)))
    if not any(cell.is_sum for table in made for cell in table.cells):
        drawn = [Cell(f"s{at}", random_selection(rng, schema, 2)) for at in range(rng.integers(1, 4))]
        made.append(Table("sums", tuple(_summed(rng, schema, cell) for cell in drawn)))
    for cell in (cell for table in made for cell in table.cells):
        times = [sum(w for w, one in cell.terms if matches(one, record)) for record in legal_types(schema)]
        kinds |= {"sums of selections"} if len(cell.terms) > 1 else set()
        kinds |= {"weights"} if max(times) > 1 else set()
    return made, kinds


def _summed(rng: np.random.Generator, schema: Schema, cell: Cell) -> Cell:
    """A cell with a weight, or up to two more selections; disjoint ones half of the time."""
    terms = list(cell.terms)
    for _ in range(rng.choice([0, 1, 2], p=[0.2, 0.5, 0.3])):
        other = random_selection(rng, schema, 2)
        apart = not any(matches(s, r) and matches(other, r) for _, s in terms for r in legal_types(schema))
        if apart or rng.random() < 0.5:
            terms.append((1, other))
    weights = (2, 3)[: rng.integers(1, 3)]
    heavy = rng.random() < 0.5 or len(terms) == 1
    chosen = rng.integers(len(terms)) if heavy else -1
    return Cell.sum(
        cell.name,
        [(int(rng.choice(weights)) if at == chosen else w, one) for at, (w, one) in enumerate(terms)],
    )


def _jumping_plan(rng: np.random.Generator) -> Plan:
    """A layout with counts that can only be even, or multiples of three.

    As many are a or c as are b or c, so there are as many a as b, and they are paired.
    """
    kinds = ("a", "b", "d")[: rng.integers(2, 4)]
    rule = Rule(Selection.of(kind="c"), Selection.of(paired="no"), both_ways=True)
    schema = Schema.of({"kind": [*kinds, "c"], "paired": ["yes", "no"]}, rules=[rule])
    cells = [Cell(f"{kind} or c", Selection.of(kind=[kind, "c"])) for kind in kinds]
    tables, forms = [Table("equal", tuple(cells))], [EXACT] * len(cells)
    if rng.random() < 0.5:
        tables.append(_table(rng, schema, "more", "")[0])
        forms += [(EXACT, NEARLY, FORMS[rng.integers(len(FORMS))])[rng.integers(3)] for _ in tables[1].cells]
    named = frozenset({"counts that jump", "overlapping cells", "rules with iff"})
    return Plan(Layout(schema, tuple(tables)), tuple(forms), named)


def _schema(rng: np.random.Generator, *, levels: bool) -> tuple[Schema, set[str]]:
    """One to four attributes of one to four values with up to three rules, one perhaps with two levels."""
    while True:
        sizes = rng.choice(
            4, size=rng.choice([1, 2, 3, 4], p=[0.05, 0.45, 0.4, 0.1]), p=[0.08, 0.5, 0.3, 0.12]
        )
        if 2 <= math.prod(int(size) + 1 for size in sizes) <= MOST_TYPES:
            break
    values = {name: VALUES[: size + 1] for name, size in zip(NAMES, sizes, strict=False)}
    hierarchies = _levels(rng, values) if levels else []
    schema, kinds = Schema.of(values, hierarchies=hierarchies), set[str]()
    if hierarchies:
        kinds.add("levels")
    if 0 in sizes:
        kinds.add("attribute of one value")
    for _ in range(rng.choice(4, p=[0.45, 0.3, 0.17, 0.08])):
        rule = Rule(random_selection(rng, schema, 2), random_selection(rng, schema, 2), rng.random() < 0.4)
        try:
            schema = Schema.of(values, rules=[*schema.rules, rule], hierarchies=hierarchies)
        except SchemaError:  # this rule would leave no record type
            continue
        kinds.add("rules with iff" if rule.both_ways else "rules")
    return schema, kinds


def _levels(rng: np.random.Generator, values: Mapping[str, Sequence[str]]) -> list[Hierarchy]:
    """Regions of the values of the attribute that has the most, if these are three or more."""
    name = max(values, key=lambda one: len(values[one]))
    if len(values[name]) < 3:
        return []
    parents = {value: f"r{at if at < 2 else rng.integers(2)}" for at, value in enumerate(values[name])}
    return [Hierarchy.of("by region", ["region", name], parents)]


def _table(rng: np.random.Generator, schema: Schema, name: str, publisher: str) -> tuple[Table, set[str]]:
    """A table by formula, with groups, a filter or totals, or cells of any shape."""
    shape = rng.random()
    if shape < 0.12:
        return overlapping_table(rng, schema, name), {"cells one by one"}
    if shape < 0.22:
        drawn = [random_selection(rng, schema, 3) for _ in range(rng.integers(1, 4))]
        return Table(name, tuple(Cell(f"c{at}", s) for at, s in enumerate(drawn))), {"cells one by one"}
    used = rng.permutation(schema.names)[: rng.choice([1, 2, 3], p=[0.4, 0.5, 0.1])].tolist()
    where = random_selection(rng, schema, 2) if rng.random() < 0.2 else None
    groups = {one: random_groups(rng, schema[one]) for one in used if rng.random() < 0.2}
    totals = bool(rng.random() < 0.2)
    table = make_table(
        schema, "*".join(used), name=name, where=where, groups=groups, totals=totals, publisher=publisher
    )
    if not table.cells:
        return make_table(schema, "total", name=name), set()
    named = {"filter": where is not None, "groupings": bool(groups), "totals": totals}
    return table, {kind for kind, there in named.items() if there}


def _overlapping(plan: Plan) -> bool:
    """Whether a type lies in two cells of one table."""
    start = 0
    for table in plan.layout.tables:
        if ((plan.member[start : start + len(table.cells)] > 0).sum(axis=0) > 1).any():
            return True
        start += len(table.cells)
    return False


def _forms(rng: np.random.Generator, tables: list[Table], n_cells: int) -> tuple[Form, ...]:
    """One form per cell: all exact, or one per table, or any mixture."""
    style = rng.random()
    if style < 0.25:
        return (EXACT,) * n_cells
    found: list[Form] = []
    for table in tables:
        form = FORMS[rng.integers(len(FORMS))] if rng.random() < 0.5 else EXACT
        for _ in table.cells:
            mixed = (EXACT, NEARLY, FORMS[rng.integers(len(FORMS))])[rng.integers(3)]
            found.append(form if style < 0.7 else mixed)
    return tuple(found)


def random_tiny(plan: Plan, seed: int, draw: int) -> TinyCase:
    """A case of a plan whose datasets can be enumerated; the same for the same numbers."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, draw, attempt])
        try:
            case = _draw(plan, rng, exact=attempt / 8)
        except TooManyWorlds:
            continue
        if len(case.counts) == 1 and rng.random() < 0.75:  # else most cases would be of this kind
            continue
        return case
    raise AssertionError(f"no case of enumerable size for seed {seed}")


def _draw(plan: Plan, rng: np.random.Generator, *, exact: float) -> TinyCase:
    """Records, and what is printed of them: each table is exact with this probability, others as planned."""
    truth, kinds = _truth(plan, rng)
    if "counts that jump" in plan.kinds and rng.random() < 0.8:
        truth = _evened(plan, truth)
    true = plan.member @ truth
    low, high = np.zeros(len(true), np.int64), np.zeros(len(true), np.int64)
    misread: list[str] = []
    for at, count in enumerate(true.tolist()):
        form = EXACT if exact and rng.random() < exact else plan.forms[at]
        texts = form.printed[count]
        text = texts[rng.integers(len(texts))] if len(texts) > 1 else texts[0]
        misread += filter(None, [form.wrong(text)] if rng.random() < 0.02 else [])
        low[at], high[at] = form.meaning[text]
        kinds.add(form.kind)
    changed = rng.random() < 0.025
    if changed:
        at = rng.integers(len(low))
        by = int(rng.integers(-min(2, low[at]), 3))
        low[at] += by
        high[at] += 0 if high[at] == UNBOUNDED else by
        kinds.add("a cell changed")
    counts, free = all_counts(plan.member, low, high, most=MOST_WORLDS)
    release = _release(plan, low, high)
    kinds |= _about_worlds(counts, free)
    return TinyCase(plan, release, None if changed else truth, counts, free, kinds | plan.kinds, misread)


def _truth(plan: Plan, rng: np.random.Generator) -> tuple[NDArray[np.int64], set[str]]:
    """How many records there are of each type: mostly few, often equal, sometimes all alike or none."""
    n_types = len(plan.types)
    size = rng.choice(9, p=[0.03, 0.07, 0.14, 0.2, 0.22, 0.16, 0.1, 0.05, 0.03])
    pool = rng.integers(n_types, size=1 if rng.random() < 0.06 else rng.integers(2, n_types + 3))
    truth = np.bincount(pool[rng.integers(len(pool), size=size)], minlength=n_types)
    kinds = {"empty area"} if not size else {"records all alike"} if (truth == size).any() else set[str]()
    return truth, kinds


def _evened(plan: Plan, truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """As many paired records of every kind as of the first one."""
    paired = plan.masks[plan.number(Selection.of(paired="yes"))]
    return np.where(paired, truth[paired][0], truth)


def _about_worlds(counts: NDArray[np.int64], free: NDArray[np.bool_]) -> set[str]:
    total = counts.sum(axis=1)
    named = {
        "no dataset": not len(counts),
        "one dataset": len(counts) == 1,
        "number of records unknown": len(counts) > 0 and total.min() < total.max(),
        "no upper end": bool(free.any()),
    }
    return {kind for kind, there in named.items() if there}


def _release(plan: Plan, low: NDArray[np.int64], high: NDArray[np.int64]) -> Release:
    """The release; that of several publishers is put together from theirs."""
    if not plan.n_first:
        return Release(plan.layout, low, high)
    tables, schema = plan.layout.tables, plan.layout.schema
    n_cells = sum(len(table.cells) for table in tables[: plan.n_first])
    first = Release(Layout(schema, tables[: plan.n_first]), low[:n_cells], high[:n_cells])
    return first.merged(Release(Layout(schema, tables[plan.n_first :]), low[n_cells:], high[n_cells:]))


def kinds_of(cases: list[TinyCase]) -> Counter[str]:
    """How many cases are of each kind."""
    return Counter(kind for case in cases for kind in case.kinds)
