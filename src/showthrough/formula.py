"""Formulas such as ``age*sex``: which cells a table has, and what each is called."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from showthrough.errors import ReleaseError, SchemaError
from showthrough.schema import Schema
from showthrough.selection import Selection

__all__ = [
    "formula_attributes",
    "formula_cells",
    "stars_missing",
]

#: Cells a single formula may describe; more is a mistake in nearly every case.
MOST_CELLS = 1_000_000

#: Attribute → group → the values it merges.
Groups = Mapping[str, Mapping[str, Sequence[str]]]

#: The places on one axis of a table: what is shown there, and the values it stands for.
Axis = list[tuple[dict[str, str], dict[str, tuple[str, ...]]]]


def formula_attributes(formula: str, schema: Schema | None = None) -> tuple[str, ...]:
    """The attributes a formula crosses, checked against the schema when there is one.

    >>> formula_attributes("age * sex")
    ('age', 'sex')
    """
    if formula.strip() in ("", "total"):
        return ()
    names = tuple(part.strip() for part in re.split(r"[*×]", formula))
    for name in names:
        if not name:
            raise ReleaseError("cannot read this formula", found=formula, remedy="write age*sex")
        if schema is not None:
            try:
                schema[name]
            except SchemaError as error:
                raise ReleaseError(
                    f"table {formula} uses an attribute that the schema does not have",
                    found=name,
                    remedy=stars_missing(name, schema.names) or error.remedy,
                ) from None
    if len(set(names)) != len(names):
        raise ReleaseError("a formula names an attribute twice", found=formula)
    return names


def formula_cells(
    schema: Schema, formula: str, *, universe: Selection, groups: Groups, totals: bool, table: str
) -> dict[str, Selection]:
    """The cells of a table: name → the records counted, with all margins if there are ``totals``.

    Margins include the levels above an attribute. Attributes of one hierarchy are crossed where one
    lies in the other; other combinations have no cell.
    """
    attributes = formula_attributes(formula, schema)
    for grouped in groups:
        if grouped not in attributes:
            raise ReleaseError(f"table {table} groups an attribute its formula does not use", found=grouped)
    axes_of = _Axes(schema, universe, groups)
    margins = dict.fromkeys(_margins(schema, attributes, groups)) if totals else [attributes]
    crossed = [axes_of.crossed(margin) for margin in margins]
    if sum(math.prod(len(axis) for axis in axes) for axes in crossed) > MOST_CELLS:
        raise ReleaseError(
            f"table {table} would have more than {MOST_CELLS:,} cells",
            remedy="use fewer attributes or group their values",
        )
    cells: dict[str, Selection] = {}
    for places in (places for axes in crossed for places in itertools.product(*axes)):
        shown = {name: value for names, _ in places for name, value in names.items()}
        terms = {name: values for _, one in places for name, values in one.items()}
        selection = schema.check_selection(universe & Selection.of(terms))
        cells.setdefault(str(Selection.of(shown)) or "total", selection)
    return cells


def _margins(schema: Schema, attributes: Sequence[str], groups: Groups) -> Iterator[tuple[str, ...]]:
    """Every set of the attributes, the largest first, also with the levels above them in their place."""
    above = {name: (name, *(() if name in groups else schema.coarser(name))) for name in attributes}
    for size in range(len(attributes), -1, -1):
        for chosen in itertools.combinations(attributes, size):
            for levels in itertools.product(*(above[name] for name in chosen)):
                if levels == chosen or not any(set(schema.coarser(name)) & {*levels} for name in levels):
                    yield tuple(dict.fromkeys(levels))


class _Axes:
    """The axes of tables within a universe."""

    def __init__(self, schema: Schema, universe: Selection, groups: Groups) -> None:
        self.schema = schema
        self.groups = groups
        self.allowed = {schema.base(name): set(schema[schema.base(name)].values) for name in schema.names}
        for name, values in universe.terms:
            below = [schema.inside(name, value)[1] for value in values]
            self.allowed[schema.base(name)] &= frozenset[str]().union(*below)

    def crossed(self, attributes: Sequence[str]) -> list[Axis]:
        """One axis per attribute; one for those that are levels of the same."""
        together: dict[tuple[str, bool], list[str]] = {}
        for name in attributes:
            grouped = name in self.groups
            together.setdefault((name if grouped else self.schema.base(name), grouped), []).append(name)
        axes = together.values()
        return [self._single(names[0]) if len(names) == 1 else self._nested(names) for names in axes]

    def _single(self, name: str) -> Axis:
        allowed = self.allowed[self.schema.base(name)]
        kept = [value for value in self.schema[name].values if self.schema.inside(name, value)[1] & allowed]
        if name not in self.groups:
            return [({name: value}, {name: (value,)}) for value in kept]
        inside = set(kept)
        named = {
            group: tuple(value for value in _known(self.schema, name, group, values) if value in inside)
            for group, values in self.groups[name].items()
        }
        return [({name: group}, {name: values}) for group, values in named.items() if values]

    def _nested(self, names: Sequence[str]) -> Axis:
        """The combinations of levels that occur, in the order of the finest."""
        base = self.schema.base(names[0])
        of = {
            name: {
                under: value
                for value in self.schema[name].values
                for under in self.schema.inside(name, value)[1]
            }
            for name in names
        }
        finest = [value for value in self.schema[base].values if value in self.allowed[base]]
        rows = dict.fromkeys(tuple(of[name][value] for name in names) for value in finest)
        shown = [dict(zip(names, row, strict=True)) for row in rows]
        return [(one, {name: (value,) for name, value in one.items()}) for one in shown]


def _known(schema: Schema, name: str, group: str, values: Sequence[str]) -> Sequence[str]:
    """The values of a group; an error for those that the attribute does not have."""
    for value in values:
        try:
            schema[name].code(value)
        except SchemaError as error:
            raise ReleaseError(
                f"group {group} of {name} holds an unknown value", found=value, remedy=error.remedy
            ) from None
    return values


def stars_missing(name: str, names: Iterable[str]) -> str | None:
    """What to write instead of names that something other than a star separates.

    >>> stars_missing("age,sex", ["age", "sex"])
    'write "age*sex" for one table of age by sex, or "age" and "sex" for two tables'
    >>> stars_missing("age by job", ["age", "sex"])
    """
    parts = [part for part in re.split(r"\s*[,;:+/]\s*|\s+(?:by |x )?", name.strip()) if part]
    if len(parts) < 2 or not set(parts) <= set(names):
        return None
    quoted = [f'"{part}"' for part in parts]
    each = f"{', '.join(quoted[:-1])} and {quoted[-1]}"
    number = {2: "two", 3: "three"}.get(len(parts), str(len(parts)))
    return f'write "{"*".join(parts)}" for one table of {" by ".join(parts)}, or {each} for {number} tables'
