"""Published counts that are given as records: recognised, and refused before a row is taken for a person."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, RecordsError
from showthrough.frames.columns import distinct
from showthrough.frames.marks import (
    is_count_name,
    is_mark,
    is_total_label,
    is_weight_name,
    may_be_count_name,
    plain_name,
)
from showthrough.frames.source import Source

__all__ = [
    "CountsFound",
    "published_counts",
    "refuse_counts",
]

#: Rows that are looked at, from the beginning, and columns at most.
ROWS, COLUMNS = 2_000, 200

#: Rows from which a complete table is no accident, and the share of rows that may be there twice by mistake.
MANY, TWICE = 24, 0.02

#: No table has more dimensions.
MOST_DIMENSIONS = 12

_WHOLE = re.compile(r"\s*[0-9]{1,3}(?:[,   ][0-9]{3})+\s*|\s*[0-9]{1,18}(?:\.0*)?\s*")
_DECIMAL = re.compile(r"\s*-?[0-9]+\.[0-9]+(?:e-?[0-9]+)?\s*%?\s*", re.IGNORECASE)
#: Marks of suppression, which say nothing but that; others also stand for missing values of records.
_SUPPRESSED = re.compile(r"c|s|\.\.|:|\[(?:c|low|x|s)\]|\(c\)|(?:<|≤|<=)\s*[0-9]+", re.IGNORECASE)
_CATEGORY = re.compile(
    r"[0-9]{1,3}\s*(?:-|–|to)\s*[0-9]{1,3}(?: years?)?|[0-9]{1,3}\s*(?:\+|and over|and older)"
    r"|(?:under|<)\s*[0-9]{1,3}|(?:fe)?males?|women|men|girls|boys|(?:19|20)[0-9]{2}",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CountsFound:
    """Why a file looks like published counts.

    Parameters
    ----------
    count
        The columns that hold the counts.
    dimensions
        The columns that say what is counted.
    why
        What is unusual for records, in words.
    """

    count: tuple[str, ...]
    dimensions: tuple[str, ...]
    why: tuple[str, ...]


def refuse_counts(source: Source, *, records: bool = False) -> None:
    """Raise if a file looks like published counts, unless somebody says that its rows are records."""
    found = None if records else published_counts(source)
    if found is None:
        return
    file = "FILE" if source.name is None else shlex.quote(source.name)
    raise RecordsError(
        f"these look like published counts, not records: {'; '.join(found.why)}",
        file=source.name,
        column=found.count[0],
        remedy=f"turn them into a release with: showthrough import {file} --out DIR; if every row is a "
        "record about one person or home, add --records (in Python: records=True)",
    )


def published_counts(source: Source) -> CountsFound | None:
    """What makes a file look like published counts; None if its rows may be records.

    The names of the columns and the first rows decide.

    >>> import pyarrow as pa
    >>> sexes, ages = ["f", "m", "Total"] * 2, ["young"] * 3 + ["old"] * 3
    >>> table = pa.table({"sex": sexes, "age": ages, "count": ["3", "c", "7", "2", "2", "4"]})
    >>> published_counts(Source.of(table)).count
    ('count',)
    >>> people = pa.table({"sex": ["f", "m", "m"], "age": ["young", "old", "old"]})
    >>> published_counts(Source.of(people)) is None
    True
    """
    columns = _sample(source)
    if len(columns) < 2 or len(columns[0].codes) < 2 or not _all_differ(columns):
        return None
    return _as_tidy(columns) or _as_cross_table(columns)


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the first rows: its different texts, and which of them each row has."""

    name: str
    codes: NDArray[np.int64]
    texts: tuple[str | None, ...]

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The texts that stand in the place of numbers."""
        return tuple(text for text in self.texts if text and not _WHOLE.fullmatch(text) and is_mark(text))

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The whole numbers among its texts."""
        whole = (text for text in self.texts if text and _WHOLE.fullmatch(text))
        return tuple(int(float(re.sub(r"[,\s  ]", "", text))) for text in whole)

    @cached_property
    def is_counts(self) -> bool:
        """Whether it holds whole numbers from 0, marks, and nothing else."""
        if not all(_is_number_or_mark(text) for text in self.texts):
            return False
        n_empty = sum(not text for text in self.texts)
        others = len(self.texts) - n_empty - len(self.numbers) - len(self.marks)
        return bool(self.numbers) and not others and len(self.marks) <= 6

    @cached_property
    def is_figures(self) -> bool:
        """Whether it holds numbers of any kind, marks, and nothing else."""
        if not all(_is_number_or_mark(text) or _DECIMAL.fullmatch(text or "") for text in self.texts):
            return False
        texts = [text for text in self.texts if text]
        decimals = sum(_DECIMAL.fullmatch(text) is not None for text in texts)
        return bool(decimals) and decimals + len(self.numbers) + len(self.marks) == len(texts)

    @cached_property
    def totals(self) -> tuple[str, ...]:
        """The labels of totals among its texts, if there are others too."""
        found = tuple(text for text in self.texts if text and is_total_label(text))
        return found if len(found) < len(self.texts) else ()

    @property
    def n_values(self) -> int:
        """How many different texts there are."""
        return len(self.texts)

    @cached_property
    def hashed(self) -> NDArray[np.uint64]:
        """A random number for the text of each row, the same for equal texts."""
        drawn = np.random.default_rng(list(self.name.encode())).integers(
            2**64, size=len(self.texts), dtype=np.uint64
        )
        return drawn[self.codes]


def _is_number_or_mark(text: str | None) -> bool:
    return not text or _WHOLE.fullmatch(text) is not None or is_mark(text)


def _sample(source: Source) -> list[_Column]:
    """The first rows, column by column; what cannot be read is left to whoever reads it."""
    parts: dict[str, list[str | None]] = {}
    try:
        names = [name for name in source.names[:COLUMNS] if _is_readable(source, name)]
        n_rows = 0
        for chunk in source.chunks(names, rows=ROWS):
            table = chunk.table.slice(0, ROWS - n_rows)
            n_rows += table.num_rows
            for name in names:
                codes, texts = distinct(table[name])
                listed = texts.to_pylist()
                parts.setdefault(name, []).extend(listed[code] for code in codes.tolist())
            if n_rows >= ROWS:
                break
    except InputError:
        return []
    return [_column(name, texts) for name, texts in parts.items()]


def _column(name: str, texts: Sequence[str | None]) -> _Column:
    positions: dict[str | None, int] = {}
    codes = np.array([positions.setdefault(text, len(positions)) for text in texts], np.int64)
    return _Column(name, codes, tuple(positions))


def _is_readable(source: Source, name: str) -> bool:
    try:
        return bool(source.types[name])
    except InputError:
        return False


def _as_tidy(columns: Sequence[_Column]) -> CountsFound | None:
    """A row for each combination of categories, and its count beside them."""
    names = {column.name for column in columns}
    if {"cell", "value"} <= names:
        why = ("the columns cell and value are those of a counts file",)
        return CountsFound(("value",), ("cell",), why)
    candidates = [column for column in columns if column.is_counts or column.is_figures]
    for candidate in sorted(candidates, key=lambda one: not is_count_name(one.name)):
        found = _with_count(candidate, columns)
        if found is not None:
            return found
    return None


def _with_count(count: _Column, columns: Sequence[_Column]) -> CountsFound | None:
    """A column as the count of all others, or of those that are no counts themselves."""
    others = [one for one in columns if one is not count and one.n_values > 1]
    described = [one for one in others if not one.is_figures and not _is_flag(one)]
    without = [one for one in described if not (one.is_counts and may_be_count_name(one.name))]
    return _as_count_of(count, described) or (
        _as_count_of(count, without) if len(without) < len(described) else None
    )


def _as_count_of(count: _Column, described: Sequence[_Column]) -> CountsFound | None:
    n_rows = len(count.codes)
    dimensions = [one for one in described if one.n_values <= n_rows / 2] or list(described)
    if not dimensions or not _all_differ(dimensions):
        return None
    shown = ", ".join(one.name for one in dimensions[:4]) + (", …" if len(dimensions) > 4 else "")
    why = [f"no two rows have the same {shown}"]
    full = n_rows / float(np.prod([float(one.n_values) for one in _independent(dimensions)]))
    totals = [(one, one.totals[0]) for one in dimensions if one.totals]
    why += [f"{label!r} in column {one.name} is a total" for one, label in totals[:2]]
    suppressed = [text for text in count.marks if _SUPPRESSED.fullmatch(text.strip())]
    if suppressed:
        why.append(f"{suppressed[0]!r} in column {count.name} stands in the place of a count")
    if totals or suppressed:
        pass
    elif is_count_name(count.name):
        why.append(f"the column {count.name} has whole numbers")
    else:
        why.append(f"all combinations are there, each with a number in the column {count.name}")
    decided = bool(totals) or (count.is_counts and _enough(count, dimensions, full, bool(suppressed)))
    return CountsFound((count.name,), tuple(one.name for one in dimensions), tuple(why)) if decided else None


def _enough(count: _Column, dimensions: Sequence[_Column], full: float, suppressed: bool) -> bool:
    """Whether a column beside combinations that all differ is a count."""
    n_rows = len(count.codes)
    if is_count_name(count.name):
        return True
    if suppressed and full >= 0.5:
        return True
    if is_weight_name(count.name):
        return False
    crossed = len(dimensions) > 1 and all(one.n_values <= n_rows / 2 for one in dimensions)
    if may_be_count_name(count.name) and crossed:
        large = n_rows >= 6 and max(count.numbers) >= 100
        return (n_rows >= 12 and full >= 0.9) or (large and full >= 0.5)
    if may_be_count_name(count.name) and n_rows >= 4:
        return not dimensions[0].is_counts and max(count.numbers) >= 1_000
    return crossed and n_rows >= MANY and full >= 1


def _independent(dimensions: Sequence[_Column]) -> list[_Column]:
    """The columns without those that others determine, such as names beside codes."""
    if len(dimensions) > MOST_DIMENSIONS:
        return list(dimensions)
    kept: list[_Column] = []
    for one in sorted(dimensions, key=lambda one: -one.n_values):
        if not any(len(np.unique(other.hashed + one.hashed)) == other.n_values for other in kept):
            kept.append(one)
    return kept


def _is_flag(column: _Column) -> bool:
    """Whether a column holds the status of observations rather than a dimension."""
    return plain_name(column.name) in {"obsstatus", "confstatus", "flag", "flags", "status", "symbol", "note"}


def _all_differ(columns: Sequence[_Column]) -> bool:
    """Whether no two rows are equal, but for very few."""
    keys = np.zeros(len(columns[0].codes), np.uint64)
    for column in columns:
        keys += column.hashed
    return len(np.unique(keys)) >= (1 - TWICE) * len(keys)


def _as_cross_table(columns: Sequence[_Column]) -> CountsFound | None:
    """A row for each category of one dimension, a column of counts for each of another."""
    counts = [one for one in columns if one.is_counts]
    labels = [one for one in columns if one not in counts and not one.is_figures]
    if not labels and counts and counts[0].n_values == len(counts[0].codes):
        labels, counts = counts[:1], counts[1:]
    if not labels or len(counts) < 2 or len(labels) + len(counts) < len(columns) or not _all_differ(labels):
        return None
    why = _of_cross_table(labels, counts)
    found = tuple(one.name for one in counts), tuple(one.name for one in labels)
    return CountsFound(*found, why) if why else None


def _of_cross_table(labels: Sequence[_Column], counts: Sequence[_Column]) -> tuple[str, ...]:
    """What says that columns of counts are categories."""
    for one in labels:
        if one.totals:
            return (f"the row {one.totals[0]!r} in column {one.name} is a total",)
    for one in counts:
        if is_total_label(one.name) and _is_sum(one, [other for other in counts if other is not one]):
            return (f"the column {one.name} is the sum of the others",)
    suppressed = [
        one
        for one in counts
        if any(re.fullmatch(r"c|\[c\]|\[low\]|(?:<|≤|<=)\s*[0-9]+", m) for m in one.marks)
    ]
    if len(suppressed) > 1:
        return (f"{suppressed[0].marks[0]!r} in column {suppressed[0].name} stands in the place of a count",)
    categories = [one for one in counts if _CATEGORY.fullmatch(one.name.strip())]
    if len(categories) > 1 and max(number for one in categories for number in one.numbers) > 1:
        return (f"the columns {categories[0].name} and {categories[1].name} are categories with counts",)
    return ()


def _is_sum(total: _Column, parts: Sequence[_Column]) -> bool:
    """Whether a column is the sum of others in nearly all rows that have all numbers."""
    sums, known = np.zeros(len(total.codes)), np.ones(len(total.codes), bool)
    for column, sign in [(total, -1), *((part, 1) for part in parts)]:
        values = np.array([_number(text) for text in column.texts])[column.codes]
        known &= ~np.isnan(values)
        sums += sign * np.nan_to_num(values)
    return bool(known.sum() > 1 and (sums[known] == 0).mean() >= 0.9)


def _number(text: str | None) -> float:
    return float(re.sub(r"[,\s  ]", "", text)) if text and _WHOLE.fullmatch(text) else float("nan")
