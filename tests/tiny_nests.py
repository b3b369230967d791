"""Tiny random nested releases, whose every dataset can be enumerated, part by part."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brute_force import TooManyWorlds, all_counts, legal_types
from showthrough.errors import SchemaError
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Cell, Layout, Release, Table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from showthrough.tables.linked.nest import Nest
from strategies import random_selection, random_table

MOST_WORLDS = 3000


@dataclass(frozen=True, eq=False)
class NestCase:
    """A nest, its true records, and every dataset: ``counts[world, part, type]``."""

    nest: Nest
    truth: dict[str, Records]
    types: list[dict[str, str]]
    counts: NDArray[np.int64]
    free: NDArray[np.bool_]

    def verified(self, part: int) -> set[tuple[Selection, int]]:
        """The claims about a part that hold in every dataset, about at least one record."""
        found: set[tuple[Selection, int]] = set()
        for selection, mask in selections_of(self.nest.whole.schema, self.types):
            counts = self.counts[:, part, mask].sum(axis=1)
            if counts.min() == counts.max() >= 1:
                found.add((selection, int(counts[0])))
        return found

    def count(self, part: int, selection: Selection) -> NDArray[np.int64]:
        """The selection's count in a part, in every dataset."""
        mask = [all(one[name] in values for name, values in selection.terms) for one in self.types]
        return self.counts[:, part, mask].sum(axis=1)


def selections_of(schema: Schema, types: list[dict[str, str]]) -> list[tuple[Selection, NDArray[np.bool_]]]:
    """Every selection with one value in each of at least one attribute, and its types."""
    found: dict[Selection, NDArray[np.bool_]] = {}
    names = schema.names
    for chosen in range(1, 1 << len(names)):
        mine = [name for at, name in enumerate(names) if chosen >> at & 1]
        for one in types:
            selection = Selection.of({name: one[name] for name in mine})
            if selection not in found:
                mask = [all(other[name] == one[name] for name in mine) for other in types]
                found[selection] = np.array(mask)
    return list(found.items())


def random_nest(seed: int) -> NestCase:
    """A case whose datasets can be enumerated; the same for the same seed."""
    for attempt in range(1000):
        rng = np.random.default_rng([seed, attempt, 77])
        case = _draw(rng)
        if case is not None:
            return case
    raise AssertionError(f"no case of enumerable size for seed {seed}")


def _draw(rng: np.random.Generator) -> NestCase | None:
    schema = _schema(rng)
    types = legal_types(schema)
    if len(types) > 9:
        return None
    n_parts = int(rng.integers(2, 4))
    tables = [random_table(rng, schema, f"t{at}") for at in range(rng.integers(1, 4))]
    if rng.random() < 0.2:
        tables.append(_weighted(rng, schema))
    layout = Layout(schema, tuple(tables))
    sizes = rng.integers(0, 4, n_parts)
    records = [Records.of([types[at] for at in rng.integers(0, len(types), n)], schema) for n in sizes]
    levels = rng.choice(3, size=len(tables), p=[0.3, 0.3, 0.4])  # the whole, the parts, both
    if 2 not in levels and rng.random() < 0.7:
        levels[rng.integers(len(levels))] = 2
    exact = rng.random() < 0.6
    whole = _release(rng, layout, levels != 1, "w", exact, records)
    parts = [_release(rng, layout, levels != 0, f"p{at}", exact, [mine]) for at, mine in enumerate(records)]
    nest = Nest(whole, tuple(parts))
    truth = {f"p{at}": mine for at, mine in enumerate(records)}
    return _enumerated(nest, truth, types)


def _schema(rng: np.random.Generator) -> Schema:
    values = ("a", "b", "c")
    sizes = rng.choice([2, 2, 3], size=rng.integers(1, 4))
    attributes = {name: values[:size] for name, size in zip(("x", "y", "z"), sizes, strict=False)}
    schema = Schema.of(attributes)
    if rng.random() < 0.4 and len(sizes) > 1:
        rule = Rule(random_selection(rng, schema, 1), random_selection(rng, schema, 1), rng.random() < 0.4)
        with suppress(SchemaError):
            schema = Schema.of(attributes, rules=[rule])
    return schema


def _weighted(rng: np.random.Generator, schema: Schema) -> Table:
    terms = [(int(rng.integers(1, 4)), random_selection(rng, schema, 2)) for _ in range(2)]
    return Table("weighted", (Cell.sum("s", terms),))


def _release(
    rng: np.random.Generator,
    layout: Layout,
    published: NDArray[np.bool_],
    area: str,
    exact: bool,
    records: list[Records],
) -> Release:
    counts = sum((layout.count(one.codes) for one in records), start=np.zeros(len(layout.names), np.int64))
    low, high = counts.copy(), counts.copy()
    at = 0
    for table, shown in zip(layout.tables, published, strict=True):
        mine = slice(at, at + len(table.cells))
        at += len(table.cells)
        if not shown:
            low[mine], high[mine] = 0, UNBOUNDED
        elif not exact and rng.random() < 0.6:
            for cell in range(mine.start, mine.stop):
                form = rng.integers(4)
                if form == 0 and 1 <= counts[cell] <= 4:
                    low[cell], high[cell] = 1, 4
                elif form == 1:
                    low[cell], high[cell] = max(0, counts[cell] - 1), counts[cell] + 1
                elif form == 2 and rng.random() < 0.3:
                    high[cell] = UNBOUNDED
    return Release(layout, low, high, area)


def _enumerated(nest: Nest, truth: dict[str, Records], types: list[dict[str, str]]) -> NestCase | None:
    n_types, n_parts = len(types), len(nest.parts)
    member = member_of(nest.layout, types)
    rows = [np.tile(member, n_parts)]
    for part in range(n_parts):
        row = np.zeros((len(member), n_parts * n_types), np.int64)
        row[:, part * n_types : (part + 1) * n_types] = member
        rows.append(row)
    whole = np.concatenate(rows)
    try:
        counts, free = all_counts(whole, nest.low, nest.high, most=MOST_WORLDS)
    except TooManyWorlds:
        return None
    if not len(counts):
        raise AssertionError("the truth is not among the datasets")
    return NestCase(nest, truth, types, counts.reshape(-1, n_parts, n_types), free)


def member_of(layout: Layout, types: list[dict[str, str]]) -> NDArray[np.int64]:
    """How often each cell counts each type."""
    cells = [cell for table in layout.tables for cell in table.cells]
    return np.array(
        [
            [
                sum(w for w, one in cell.terms if all(t[name] in values for name, values in one.terms))
                for t in types
            ]
            for cell in cells
        ],
        np.int64,
    ).reshape(len(cells), len(types))
