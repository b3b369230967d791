"""Which claims a single published cell, or the sum of a table's cells, states outright."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection

__all__ = [
    "Closures",
    "Margins",
    "forget_all",
]

#: Answers remembered for other areas of the same layout; a nation has more than memory holds.
MOST_REMEMBERED = 200_000


class Closures:
    """Selections with everything the rules imply.

    Two selections with the same closure select the same records, whatever the tables say.

    >>> from showthrough.schema import Rule
    >>> schema = Schema.of({"size": ["1", "2"], "type": ["alone", "family"]},
    ...     rules=[Rule(Selection.of(size="1"), Selection.of(type="alone"), both_ways=True)])
    >>> closures = Closures(schema)
    >>> closures.of(Selection.of(size="1")) == closures.of(Selection.of(type="alone"))
    True
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._closure = schema.closure
        self._everything = schema.closure.everything()
        self._only = {a.name: a.values[0] for a in schema.attributes if len(a.values) == 1}
        self._known: dict[tuple[int, ...], tuple[int, ...] | None] = {}

    def of(self, selection: Selection) -> tuple[int, ...] | None:
        """One bit set of allowed codes per attribute; None if nobody can match."""
        return self.close(self._closure.only(self._schema.encode(selection)))

    def everything(self) -> list[int]:
        """The bit sets that allow everything."""
        return self._everything.copy()

    def close(self, allowed: Sequence[int]) -> tuple[int, ...] | None:
        """The closure of bit sets, one per attribute."""
        key = tuple(allowed)
        if key not in self._known:
            forget_all(self._known)
            self._known[key] = self._closure.close(key)
        return self._known[key]

    def determined(self, known: Mapping[str, str]) -> dict[str, str]:
        """The attributes of which the rules leave one value to whoever has these values."""
        if not self._closure.boxes:
            return {**self._only, **known}
        closed = self.of(Selection.of(known))
        if closed is None:
            return {}
        return {
            attribute.name: attribute.values[bits.bit_length() - 1]
            for attribute, bits in zip(self._schema.attributes, closed, strict=True)
            if bits.bit_count() == 1
        }


class Margins:
    """Which claims are sums over the cells of one table, so that the table as good as states them.

    >>> from showthrough.release import make_table
    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> margins = Margins(Layout(schema, (make_table(schema, "sex*age"),)))
    >>> margins.of(Selection.of(sex="f"))
    [(0, 1)]
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._n_values = {attribute.name: len(attribute.values) for attribute in layout.schema.attributes}
        self._known: dict[Selection, list[tuple[int, ...]]] = {}

    def of(self, selection: Selection) -> list[tuple[int, ...]]:
        """Per table that splits the selection exactly: the positions of the cells it splits into."""
        if selection not in self._known:
            start, found = 0, list[tuple[int, ...]]()
            for table in self._layout.tables:
                cells = self._inside(selection, range(start, start + len(table.cells)))
                start += len(table.cells)
                if cells and self._fills(selection, cells):
                    found.append(tuple(cells))
            forget_all(self._known)
            self._known[selection] = found
        return self._known[selection]

    def _inside(self, selection: Selection, cells: range) -> list[int]:
        """Cells all of whose records match."""
        return [at for at in cells if self._layout.selections[at].is_within(selection)]

    def _fills(self, selection: Selection, cells: Sequence[int]) -> bool:
        """Whether the cells are disjoint and together make up the selection."""
        boxes = [self._layout.selections[at] for at in cells]
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                if all(one[n] & other[n] for n in one.attributes if n in other):
                    return False
        return sum((self._share(box) for box in boxes), Fraction()) == self._share(selection)

    def _share(self, selection: Selection) -> Fraction:
        """The share of all conceivable records that a selection allows."""
        share = Fraction(1)
        for name, values in selection.terms:
            share *= Fraction(len(values), self._n_values[name])
        return share


def forget_all(known: dict[Any, Any]) -> None:
    """Start over where too much is remembered."""
    if len(known) >= MOST_REMEMBERED:
        known.clear()
