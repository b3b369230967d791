"""A schema from the data: every column's distinct values, in their natural order."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from showthrough.errors import RecordsError, SchemaError, closest
from showthrough.frames import distinct
from showthrough.schema import Attribute, Schema

__all__ = ["infer_schema", "natural_order"]

#: More distinct values than this and a column is taken for an identifier or a measurement.
MOST_VALUES = 1_000

#: The value that stands for missing entries in an inferred schema.
MISSING = "missing"


def infer_schema(table: pa.Table, columns: Sequence[str], *, file: str | None = None) -> Schema:
    """The schema whose attributes are these columns, with the values they hold.

    >>> table = pa.table({"age": ["10-14", "5-9", None], "size": [10, 9, 9]})
    >>> [attribute.values for attribute in infer_schema(table, ["age", "size"]).attributes]
    [('5-9', '10-14', 'missing'), ('9', '10')]
    """
    try:
        return Schema(tuple(_attribute(table, name, file) for name in columns))
    except SchemaError as error:
        raise error.at(file=file) from None


def _attribute(table: pa.Table, name: str, file: str | None) -> Attribute:
    if name not in table.column_names:
        remedy = closest(name, table.column_names)
        raise RecordsError("there is no such column", file=file, column=name, remedy=remedy)
    _, texts = distinct(table[name])
    if len(texts) - texts.null_count > MOST_VALUES:
        raise SchemaError(
            f"more than {MOST_VALUES:,} distinct values: "
            "this looks like an identifier or a number, not a category",
            column=name,
            remedy="declare it in a schema with --schema, or leave the column out",
        )
    values = natural_order([text for text in texts.to_pylist() if text is not None])
    if not texts.null_count:
        return Attribute(name, tuple(values))
    return Attribute(name, tuple(dict.fromkeys([*values, MISSING])), missing=MISSING)


def natural_order(texts: Sequence[str]) -> list[str]:
    """Texts sorted as a person would: whole numbers by size, digits inside text as numbers.

    >>> natural_order(["10", "-2", "9"]), natural_order(["b10", "b9", "a"])
    (['-2', '9', '10'], ['a', 'b9', 'b10'])
    """
    if all(re.fullmatch(r"[+-]?[0-9]{1,18}", text) for text in texts):
        return sorted(texts, key=lambda text: (int(text), text))
    return sorted(texts, key=lambda text: (_parts(text), text))


def _parts(text: str) -> list[tuple[int, str]]:
    """Text and digit runs in turn; digits compare by length first, so as numbers of any size."""
    parts = re.split(r"([0-9]+)", text)
    digits = [part.lstrip("0") if at % 2 else part for at, part in enumerate(parts)]
    return [(len(part) if at % 2 else 0, part) for at, part in enumerate(digits)]
