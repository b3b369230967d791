"""Small printed tables for tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

import hypothesis.strategies as hs
import numpy as np

from showthrough.formats.printed.table import Category, Dimension, PrintedTable

__all__ = ["cells", "make_printed", "printed_tables", "shown"]


def make_printed(
    values: str,
    dimensions: dict[str, str],
    *,
    name: str = "T1",
    across: int = 1,
    title: str = "",
    notes: tuple[str, ...] = (),
    flags: Sequence[str] = (),
) -> PrintedTable:
    """A complete table from texts: ``make_printed("3 c 5", {"sex": "m f Total"})``.

    Categories are ``code``, ``code~label`` or ``code<parent``; an underscore inside stands for a space.
    """
    made = tuple(Dimension(key, tuple(map(_category, text.split()))) for key, text in dimensions.items())
    places = list(product(*(range(len(dimension.categories)) for dimension in made)))
    texts = [text.replace("_", " ") if text != "_" else "" for text in values.split()]
    codes = np.array(places, np.int32).reshape(len(places), len(made))
    return PrintedTable(name, made, codes, texts, flags=flags, across=across, title=title, notes=notes)


def _category(text: str) -> Category:
    code, _, parent = text.partition("<")
    code, _, label = code.partition("~")
    return Category(re.sub("(?<=.)_", " ", code), label.replace("_", " "), parent or None)


def shown(table: PrintedTable) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Dimensions with their labels (and what contains them), and values with their flags."""
    dimensions = [
        (
            dimension.name,
            [f"{one.code}<{one.parent}" if one.parent else one.code for one in dimension.categories],
        )
        for dimension in table.dimensions
    ]
    flags = table.flags or [""] * len(table.values)
    return dimensions, [
        f"{value}|{flag}" if flag else value for value, flag in zip(table.values, flags, strict=True)
    ]


def cells(table: PrintedTable) -> dict[tuple[str, ...], tuple[str, str]]:
    """Labels → value and flag."""
    texts = [[one.label or one.code for one in dimension.categories] for dimension in table.dimensions]
    flags = table.flags or [""] * len(table.values)
    return {
        tuple(texts[at][code] for at, code in enumerate(key)): (table.values[row], flags[row])
        for row, key in enumerate(table.codes.tolist())
    }


_LABELS = hs.text("abcxyzNMTé0159 -+<=@'\"[](),.:;/&", min_size=1, max_size=8).map(
    lambda text: " ".join(text.split())
)
_VALUES = hs.one_of(
    hs.integers(0, 3000).map(str), hs.sampled_from(["c", "..", "[low]", "<5", "x", "-", "1,234", "*", "n/a"])
)


@hs.composite
def printed_tables(draw: hs.DrawFn) -> PrintedTable:
    """Complete tables with labels of all kinds."""
    known = hs.sampled_from(["area", "age", "sex", "Age group", ""])
    names = draw(hs.lists(known, min_size=1, max_size=3, unique=True))
    labels = _LABELS.map(lambda text: " ".join(text.split())).filter(bool)
    dimensions = tuple(
        Dimension(
            name,
            tuple(map(Category, draw(hs.lists(labels, min_size=1, max_size=4, unique=True)))),
        )
        for name in names
    )
    places = list(product(*(range(len(dimension.categories)) for dimension in dimensions)))
    values = draw(hs.lists(_VALUES, min_size=len(places), max_size=len(places)))
    across = draw(hs.integers(0, len(dimensions) - 1))
    codes = np.array(places, np.int32).reshape(len(places), len(dimensions))
    return PrintedTable("T1", dimensions, codes, values, across=across)
