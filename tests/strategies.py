"""Small random releases whose every consistent dataset can be enumerated.

:func:`random_case` is for bulk testing; :func:`cases` is the same as a Hypothesis strategy. The
functions after it change a case in a way whose effect on the verified claims is known.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import hypothesis.strategies as hs
import numpy as np

from brute_force import TooManyWorlds, Worlds, all_worlds, legal_types, matches
from showthrough.errors import SchemaError
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Cell, Layout, Published, Release, Table, make_table
from showthrough.schema import Attribute, Rule, Schema
from showthrough.selection import Selection

#: Partial datasets the brute force may hold; a draw that needs more is drawn again.
MOST_WORLDS = 20_000

MOST_TYPES = 40

NAMES = ("age", "sex", "home size", "größe")
VALUES = ("0", "1-4", "5|6", "x, y")  # some need quotes when a selection is printed


@dataclass(frozen=True, eq=False)
class Case:
    """A truth and a release that agrees with it."""

    schema: Schema
    records: Records
    release: Release

    @cached_property
    def worlds(self) -> Worlds:
        """Every dataset that agrees with the release."""
        return all_worlds(self.release)


@lru_cache(maxsize=2000)
def random_case(seed: int) -> Case:
    """A case whose datasets can be enumerated; the same for the same seed."""
    for attempt in range(1000):
        rng = np.random.default_rng([seed, attempt])
        case = _draw_case(rng)
        try:
            worlds = all_worlds(case.release, most=MOST_WORLDS)
        except TooManyWorlds:
            continue
        if len(worlds) == 1 and rng.random() < 0.7:  # else most cases would be of this kind
            continue
        case.__dict__["worlds"] = worlds
        return case
    raise AssertionError(f"no case of enumerable size for seed {seed}")


def _draw_case(rng: np.random.Generator) -> Case:
    schema = random_schema(rng)
    records = random_records(rng, schema)
    if len(schema.names) >= 3 and rng.random() < 0.15:
        pairs = [(a, b) for at, a in enumerate(schema.names) for b in schema.names[:at]]
        tables = [make_table(schema, f"{a}*{b}") for a, b in pairs]
    else:
        tables = [random_table(rng, schema, f"t{at}") for at in range(rng.integers(1, 6))]
    publish = _exact if rng.random() < 0.35 else _some_intervals
    if rng.random() < 0.25:
        total = [make_table(schema, "total", name="total")] if rng.random() < 0.6 else []
        overlapping = overlapping_table(rng, schema, "overlapping")
        tables = [overlapping, *total, *tables[: rng.integers(3)]]
        publish = _exact if rng.random() < 0.3 else _nearly_exact
    return Case(schema, records, _published(rng, records, tables, publish))


def random_schema(rng: np.random.Generator) -> Schema:
    """Two to four attributes of one to four values with up to three rules."""
    while True:
        sizes = rng.choice(4, size=rng.integers(2, 5), p=[0.08, 0.37, 0.35, 0.2]) + 1
        if math.prod(sizes) <= MOST_TYPES:
            break
    attributes = {name: VALUES[:size] for name, size in zip(NAMES, sizes, strict=False)}
    schema = Schema.of(attributes)
    for _ in range(rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])):
        rule = Rule(random_selection(rng, schema, 2), random_selection(rng, schema, 2), rng.random() < 0.4)
        try:
            schema = Schema.of(attributes, rules=[*schema.rules, rule])
        except SchemaError:  # this rule would leave no record type
            continue
    return schema


def random_records(rng: np.random.Generator, schema: Schema) -> Records:
    """Zero to eight records, mostly few, often with equal ones."""
    types = legal_types(schema)
    size = rng.choice(9, p=[0.04, 0.14, 0.18, 0.2, 0.16, 0.14, 0.06, 0.05, 0.03])
    pool = rng.choice(len(types), size=rng.integers(1, len(types) + 1))
    return Records.of([types[at] for at in rng.choice(pool, size=size)], schema)


def random_selection(rng: np.random.Generator, schema: Schema, most: int) -> Selection:
    """Some values of one to ``most`` attributes."""
    chosen = rng.permutation(len(schema.names))[: rng.integers(1, most + 1)]
    return Selection.of({schema.names[at]: _some_values(rng, schema.attributes[at]) for at in chosen})


def _some_values(rng: np.random.Generator, attribute: Attribute) -> list[str]:
    size = 1 if rng.random() < 0.6 else rng.integers(1, len(attribute.values) + 1)
    return [str(value) for value in rng.permutation(attribute.values)[:size]]


def random_table(rng: np.random.Generator, schema: Schema, name: str) -> Table:
    """A table by formula, with groups, a universe or totals, or a few cells of any shape."""
    if rng.random() < 0.2:
        drawn = [random_selection(rng, schema, 3) for _ in range(rng.integers(1, 4))]
        cells = [Cell(f"c{at}", selection) for at, selection in enumerate(drawn)]
        return Table(name, tuple(cells))
    used = rng.permutation(schema.names)[: rng.choice(4, p=[0.1, 0.35, 0.4, 0.15])].tolist()
    where = random_selection(rng, schema, 2) if rng.random() < 0.25 else None
    groups = {attribute: random_groups(rng, schema[attribute]) for attribute in used if rng.random() < 0.25}
    totals = rng.random() < 0.25
    table = make_table(schema, "*".join(used), name=name, where=where, groups=groups, totals=totals)
    return table if table.cells else make_table(schema, "total", name=name)


def overlapping_table(rng: np.random.Generator, schema: Schema, name: str) -> Table:
    """Cells that overlap in cycles, so that fractions of records could do what records cannot.

    Every pair of some values of one attribute, as in {a, b}, {b, c}, {c, a}, perhaps for every
    value of another attribute; or random boxes.
    """
    widest = max(schema.attributes, key=lambda attribute: len(attribute.values))
    shape = rng.random()
    if shape < 0.6:
        kept = rng.permutation(widest.values)[: rng.integers(3, 5)].tolist()
        drawn = [Selection.of({widest.name: pair}) for pair in itertools.combinations(kept, 2)]
        others = [a for a in schema.attributes if a is not widest and len(a.values) > 1]
        if others and shape < 0.45:
            levels = [Selection.of({others[0].name: value}) for value in others[0].values]
            drawn = [pair & level for pair in drawn for level in levels]
    else:
        types = legal_types(schema)
        drawn = [random_selection(rng, schema, 1) for _ in range(rng.integers(3, 8))]
        for _ in range(rng.integers(1, 4)):
            a, b = (types[at] for at in rng.choice(len(types), size=2))
            drawn.append(Selection.of({name: {a[name], b[name]} for name in schema.names}))
    drawn = list(dict.fromkeys(drawn)) or [Selection()]
    return Table(name, tuple(Cell(f"c{at}", each) for at, each in enumerate(drawn)))


def random_groups(rng: np.random.Generator, attribute: Attribute) -> dict[str, list[str]]:
    """A partition of the values, or, at times, groups that overlap or leave values out."""
    n_groups = rng.integers(1, 4)
    if rng.random() < 0.3:
        return {f"g{at}": _some_values(rng, attribute) for at in range(n_groups)}
    group_of = rng.integers(n_groups, size=len(attribute.values))
    made: dict[str, list[str]] = {}
    for value, group in zip(attribute.values, group_of, strict=True):
        made.setdefault(f"g{group}", []).append(value)
    return made


Interval = tuple[int, int]


def _exact(rng: np.random.Generator, count: int) -> Interval:  # noqa: ARG001
    return count, count


def _suppressed(rng: np.random.Generator, count: int) -> Interval:  # noqa: ARG001
    return (1, 4) if 1 <= count <= 4 else (count, count)


def _unknown(rng: np.random.Generator, count: int) -> Interval:  # noqa: ARG001
    return 0, UNBOUNDED


def _rounded_3(rng: np.random.Generator, count: int) -> Interval:
    shown = 3 * (count // 3) + (3 if rng.random() < count % 3 / 3 else 0)
    return max(0, shown - 2), shown + 2


def _rounded_5(rng: np.random.Generator, count: int) -> Interval:  # noqa: ARG001
    shown = 5 * ((count + 2) // 5)
    return max(0, shown - 2), shown + 2


def _at_least(rng: np.random.Generator, count: int) -> Interval:
    return int(rng.integers(0, count + 1)), UNBOUNDED


def _nearly_exact(rng: np.random.Generator, count: int) -> Interval:
    low, high = ((0, 0), (0, 1), (-1, 0))[rng.integers(3)]
    return max(0, count + low), count + high


_FORMS = (_suppressed, _unknown, _rounded_3, _rounded_5, _at_least)


def _some_intervals(rng: np.random.Generator, count: int) -> Interval:
    form = _FORMS[rng.integers(len(_FORMS))] if rng.random() < 0.35 else _exact
    return form(rng, count)


def _published(
    rng: np.random.Generator,
    records: Records,
    tables: Iterable[Table],
    publish: Callable[[np.random.Generator, int], Interval],
) -> Release:
    """Each table's counts, by plain counting, made into intervals that hold the truth."""
    rows = as_rows(records)
    shown: dict[Table, list[Interval]] = {}
    for table in tables:
        form = publish if table.name == "overlapping" or rng.random() < 0.6 else _exact
        counts = [sum(matches(cell.selection, row) for row in rows) for cell in table.cells]
        shown[table] = [form(rng, count) for count in counts]
    return Release.of(records.schema, shown)


def cycles(n: int) -> Case:
    """A case that no sum of published cells settles: only telling cases apart does.

    In each of n halls at most one person speaks a or b, at most one b or c, at most one c or a; so
    at most one speaks any of them, though half a person of each would fit, one and a half in all.
    There are n + 1 people in all and at most one speaks d, so exactly one does.
    """
    halls = [str(at) for at in range(n)]
    schema = Schema.of({"hall": halls, "speaks": ["a", "b", "c", "d"]}, record="person")
    pairs = [
        Cell(f"{hall}{pair}", Selection.of(hall=hall, speaks=list(pair)))
        for hall in halls
        for pair in ("ab", "bc", "ca")
    ]
    some_d = Table("d", (Cell("d", Selection.of(speaks="d")),))
    elsewhere = Table("no d", (Cell("no d", Selection.of(hall=halls[1:], speaks="d")),))
    people = [{"hall": hall, "speaks": "a"} for hall in halls] + [{"hall": "0", "speaks": "d"}]
    release = Release.of(
        schema,
        {
            Table("pairs", tuple(pairs)): [(0, 1)] * len(pairs),
            make_table(schema, "total"): [n + 1],
            some_d: [(0, 1)],
            elsewhere: [0],
        },
    )
    return Case(schema, Records.of(people, schema), release)


def equal_pairs(n: int) -> Case:
    """A case with a count that can only be even.

    As many are a or c as are b or c, namely n, so there are as many a as b, and their number
    together is even.
    """
    schema = Schema.of(
        {"kind": ["a", "b", "c"], "paired": ["yes", "no"]},
        rules=[Rule(Selection.of(kind="c"), Selection.of(paired="no"), both_ways=True)],
    )
    cells = [Cell("ac", Selection.of(kind=["a", "c"])), Cell("bc", Selection.of(kind=["b", "c"]))]
    people = [{"kind": "c", "paired": "no"}] * (n - 1)
    people += [{"kind": kind, "paired": "yes"} for kind in "ab"]
    release = Release.of(schema, {Table("pairs", tuple(cells)): [n, n]})
    return Case(schema, Records.of(people, schema), release)


def as_rows(records: Records) -> list[dict[str, str]]:
    """The records as attribute → value."""
    return [
        {a.name: a.values[code] for a, code in zip(records.schema.attributes, row, strict=True)}
        for row in records.codes.tolist()
    ]


def cases() -> hs.SearchStrategy[Case]:
    """Random cases."""
    return hs.integers(0, 2**32 - 1).map(random_case)


def seeds() -> hs.SearchStrategy[int]:
    """Seeds for the functions below."""
    return hs.integers(0, 2**32 - 1)


def permuted(case: Case, seed: int) -> Case:
    """The same case with rows, columns, values, rules, tables and cells in another order."""
    rng = np.random.default_rng([seed, 1])
    attributes = [
        dataclasses.replace(attribute, values=tuple(rng.permutation(attribute.values).tolist()))
        for attribute in case.schema.attributes
    ]
    rng.shuffle(attributes)
    rules = list(case.schema.rules)
    rng.shuffle(rules)
    schema = Schema(tuple(attributes), tuple(rules))
    rows = as_rows(case.records)
    rng.shuffle(rows)
    by_table: dict[str, list[Published]] = {}
    for cell in case.release.cells:
        by_table.setdefault(cell.table, []).append(cell)
    tables = list(by_table.values())
    rng.shuffle(tables)
    for cells in tables:
        rng.shuffle(cells)
    return Case(schema, Records.of(rows, schema), release_of(schema, itertools.chain(*tables)))


def release_of(schema: Schema, cells: Iterable[Published]) -> Release:
    """A release of just these cells; cells of one table must be neighbours."""
    by_table: dict[str, list[Published]] = {}
    for cell in cells:
        by_table.setdefault(cell.table, []).append(cell)
    return Release.of(
        schema,
        {
            Table(name, tuple(Cell.of_terms(c.name, c.terms) for c in listed)): [
                (c.low, c.high) for c in listed
            ]
            for name, listed in by_table.items()
        },
    )


def with_true_table(case: Case, seed: int) -> Case:
    """The case with one more table that agrees with the truth."""
    rng = np.random.default_rng([seed, 2])
    table = random_table(rng, case.schema, "one more")
    more = _published(rng, case.records, [table], _exact if rng.random() < 0.5 else _some_intervals)
    return Case(case.schema, case.records, case.release.merged(more))


def with_copy(case: Case, seed: int) -> Case:
    """The case with one of its tables published a second time under another name."""
    rng = np.random.default_rng([seed, 3])
    table = case.release.tables[rng.integers(len(case.release.tables))]
    at = [i for i, (name, _) in enumerate(case.release.layout.names) if name == table.name]
    layout = Layout(case.schema, (dataclasses.replace(table, name="copy"),))
    copy = Release(layout, case.release.low[at], case.release.high[at])
    return Case(case.schema, case.records, case.release.merged(copy))


def redundant_totals(case: Case, *, exact: bool = False) -> list[Published]:
    """Cells that follow from two published ones whose selections differ in one attribute.

    If the two share no value of that attribute, their union counts the sum of their counts.
    """
    found: list[Published] = []
    cells = [cell for cell in case.release.cells if cell.exact or not exact]
    for at, a in enumerate(cells):
        for b in cells[:at]:
            union = _disjoint_union(case.schema, a.selection, b.selection)
            if union is not None:
                high = UNBOUNDED if max(a.high, b.high) == UNBOUNDED else a.high + b.high
                found.append(Published("sums", f"s{len(found)}", ((1, union),), a.low + b.low, high))
    return found


def _disjoint_union(schema: Schema, a: Selection, b: Selection) -> Selection | None:
    def allowed(selection: Selection, name: str) -> set[str]:
        return set(selection[name] if name in selection else schema[name].values)

    differing = [name for name in schema.names if allowed(a, name) != allowed(b, name)]
    if len(differing) != 1 or allowed(a, differing[0]) & allowed(b, differing[0]):
        return None
    values = {name: allowed(a, name) | allowed(b, name) for name in schema.names}
    return schema.check_selection(Selection.of(values))


def with_totals(case: Case) -> Case:
    """The case with redundant totals as one more table (unchanged if there are none)."""
    more = redundant_totals(case)
    release = release_of(case.schema, [*case.release.cells, *more])
    return Case(case.schema, case.records, release)


def with_wrong_total(case: Case, seed: int) -> Release | None:
    """The release with one redundant exact total off by one; None if it has no such total."""
    totals = redundant_totals(case, exact=True)
    if not totals:
        return None
    rng = np.random.default_rng([seed, 4])
    total = totals[rng.integers(len(totals))]
    shown = total.low + (1 if total.low == 0 or rng.random() < 0.5 else -1)
    wrong = dataclasses.replace(total, low=shown, high=shown)
    return release_of(case.schema, [*case.release.cells, wrong])
