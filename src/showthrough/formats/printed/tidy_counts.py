"""Tidy tables of counts: a row for each cell, with its categories, its count, and perhaps a flag."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from showthrough.errors import ReleaseError, closest
from showthrough.formats.printed.grid import is_value, split_flag
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.frames import Source, distinct
from showthrough.frames.marks import is_count_name, may_be_count_name, plain_name
from showthrough.records import as_text

__all__ = [
    "count_column",
    "is_tidy",
    "read_tidy",
    "texts_by_column",
]

#: Names of columns with the status of each value, and of columns with remarks, in the plain form.
FLAGS = frozenset(["flag", "flags", "obsflag", "obsstatus", "confstatus", "obsconf", "status", "symbol"])
REMARKS = frozenset(["note", "notes", "footnote", "footnotes", "comment", "comments", "remark", "remarks"])

#: How names of columns with codes and with labels end.
CODES, LABELS = ("code", "id"), ("name", "label", "desc", "description")

#: The category of rows that name none.
EMPTY = "(empty)"


def read_tidy(source: object, *, count: str | None = None) -> list[PrintedTable]:
    """Read a tidy table of counts.

    Parameters
    ----------
    source
        A path, an Arrow table, or a pandas or polars data frame.
    count
        The column that holds the counts; by default the one whose name or content says so.

    Returns
    -------
    list of PrintedTable
        The table.

    Raises
    ------
    ReleaseError
        If the file cannot be read, or it is not clear which column holds the counts.
    """
    opened = Source.of(source, error=ReleaseError)
    held = opened.table()
    columns = texts_by_column(held)
    counted = count_column(columns, file=opened.name, asked=count)
    flags = [name for name in columns if plain_name(name) in FLAGS and name != counted]
    remarks = [name for name in columns if plain_name(name) in REMARKS and name != counted]
    figures = [name for name in columns if name not in (counted, *flags) and _is_figures(name, columns[name])]
    described = [name for name in columns if name not in (counted, *flags, *remarks, *figures)]
    if not described:
        raise ReleaseError(
            "no column says what is counted",
            file=opened.name,
            column=counted,
            remedy="a table of counts has a column for each dimension, such as age and sex",
        )
    pairs = _with_labels(described, columns)
    made = [_dimension(name, columns[name], columns.get(label or "")) for name, label in pairs]
    split = [split_flag(text.strip()) for text in columns[counted]]
    left_out = [*remarks, *figures]
    stem = "counts" if opened.name is None else Path(opened.name).name.partition(".")[0]
    return [
        PrintedTable(
            stem,
            tuple(dimension for dimension, _ in made),
            np.column_stack([codes for _, codes in made]).astype(np.int32),
            [value for value, _ in split],
            flags=_joined([[flag for _, flag in split], *(columns[name] for name in flags)]),
            rows=range(1, held.num_rows + 1),
            file="" if opened.name is None else os.fspath(opened.name),
            remarks=(f"columns that are left out: {', '.join(left_out)}",) if left_out else (),
            measure=counted,
            across=0,
        )
    ]


def texts_by_column(table: pa.Table) -> dict[str, list[str]]:
    """The columns of a table as texts; what is missing is empty."""
    found: dict[str, list[str]] = {}
    for name in table.column_names:
        codes, texts = distinct(as_text(table[name]))
        known = [text or "" for text in texts.to_pylist()]
        found[name] = [known[code] for code in codes.tolist()]
    return found


def is_tidy(columns: Mapping[str, Sequence[str]]) -> bool:
    """Whether a table has one column of counts, rather than one for each category.

    A cross-table has several, beside labels that differ from row to row.

    >>> is_tidy({"sex": ["f", "m", "f"], "size": ["1", "1", "2"], "n": ["3", "c", "5"]})
    True
    >>> is_tidy({"area": ["North", "South"], "f": ["3", "4"], "m": ["5", "c"]})
    False
    """
    counts = [name for name, texts in columns.items() if _is_counts(texts)]
    if len([name for name in counts if is_count_name(name)]) == 1:
        return True
    aside = FLAGS | REMARKS
    labels = [name for name in columns if name not in counts and plain_name(name) not in aside]
    labels = labels or list(columns)[:1]
    rows = list(zip(*(columns[name] for name in labels), strict=True))
    others = [name for name in counts if name not in labels]
    return len(others) < 2 or len(set(rows)) < len(rows)


def count_column(columns: Mapping[str, Sequence[str]], *, file: str | None, asked: str | None = None) -> str:
    """The column that holds the counts.

    >>> count_column({"sex": ["f", "m"], "n": ["3", "c"]}, file=None)
    'n'
    """
    if asked is not None:
        if asked not in columns:
            remedy = closest(asked, list(columns))
            raise ReleaseError("no such column", file=file, column=asked, remedy=remedy)
        return asked
    numeric = [name for name, texts in columns.items() if _is_counts(texts)]
    for choice in (
        [name for name in numeric if is_count_name(name)],
        [name for name in numeric if may_be_count_name(name)],
        [name for name in numeric if not _is_code(name)][-1:],
    ):
        if len(choice) == 1:
            return choice[0]
        if choice:
            raise ReleaseError(
                "several columns may hold the counts",
                file=file,
                found=", ".join(choice),
                remedy=f'name one of them: --count "{choice[0]}"',
            )
    raise ReleaseError(
        "no column holds counts",
        file=file,
        found=", ".join(columns),
        remedy="name the column with the counts: --count COLUMN",
    )


def _is_counts(texts: Sequence[str]) -> bool:
    shown = {text.strip() for text in texts} - {""}
    return any(text[0].isdigit() for text in shown) and all(map(_may_be_value, shown))


def _may_be_value(text: str) -> bool:
    return is_value(text) or text.isdigit()


def _is_code(name: str) -> bool:
    return plain_name(name).endswith(("code", "id", "year", "age", "geoid", "fips"))


def _is_figures(name: str, texts: Sequence[str]) -> bool:
    """Whether a column holds other figures than counts: rates, percentages, another measure."""
    shown = {text.strip() for text in texts} - {""}
    if not shown or not all(is_value(text) for text in shown):
        return False
    return may_be_count_name(name) or any("%" in text or "." in text.strip(".") for text in shown)


def _with_labels(names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> list[tuple[str, str | None]]:
    """The columns of dimensions, each with the column that has labels for its codes."""
    pairs: dict[str, str | None] = dict.fromkeys(names)
    stems = {name: _stem(name) for name in names}
    for name in names:
        for other in names:
            coded = name != other and stems[name] == stems[other] and _rank(name) < _rank(other)
            if coded and pairs.get(name, "") is None and other in pairs and _one_each(columns, name, other):
                pairs[name] = other
                del pairs[other]
    return list(pairs.items())


def _stem(name: str) -> str:
    plain = plain_name(name)
    for ending in (*CODES, *LABELS):
        if plain.endswith(ending) and plain != ending:
            return plain.removesuffix(ending)
    return plain


def _rank(name: str) -> int:
    """Codes come before names without an ending, and these before labels."""
    plain = plain_name(name)
    return 0 if plain.endswith(CODES) else 2 if plain.endswith(LABELS) else 1


def _one_each(columns: Mapping[str, Sequence[str]], code: str, label: str) -> bool:
    """Whether every code has one label."""
    return len(set(zip(columns[code], columns[label], strict=True))) == len(set(columns[code]))


def _dimension(name: str, texts: Sequence[str], labels: Sequence[str] | None) -> tuple[Dimension, list[int]]:
    positions: dict[str, int] = {}
    codes = [positions.setdefault(text.strip() or EMPTY, len(positions)) for text in texts]
    known = (
        {}
        if labels is None
        else {text.strip() or EMPTY: label for text, label in zip(texts, labels, strict=True)}
    )
    categories = tuple(Category(text, known.get(text, "").strip()) for text in positions)
    shown = name if labels is None else name[: len(name) - _ending(name)].rstrip(" _-.") or name
    return Dimension(shown, categories), codes


def _ending(name: str) -> int:
    return next((len(ending) for ending in (*CODES, *LABELS) if name.casefold().endswith(ending)), 0)


def _joined(flags: Sequence[Sequence[str]]) -> list[str]:
    """The flags of several columns as one; those that say that nothing is special are left out."""
    plain = [
        [text.strip() if text.strip().upper() not in ("A", "F") else "" for text in one] for one in flags
    ]
    return [" ".join(filter(None, row)) for row in zip(*plain, strict=True)]
