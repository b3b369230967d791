"""Headings of several levels as dimensions: crossed, nested, or several classifications side by side.

The rows and the columns of a printed table have paths of labels, such as ``(Males, 0-15)``. What the levels
mean is not printed, but it shows:

- the same labels return under each heading: two dimensions, crossed;
- headings have different values of their own, or together make the total: one dimension, nested;
- the labels under a heading make the total alone, or under each heading the same sum: several
  classifications, each a table of its own.

Where none of this shows, guessing could count people twice, and is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from showthrough.formats.printed.grid import is_measure
from showthrough.formats.printed.table import Category, Dimension
from showthrough.frames.marks import is_total_label

__all__ = [
    "TOTAL",
    "Axis",
    "Compare",
    "Path",
    "UnclearHeadings",
    "arrange",
    "containing_rows",
    "lift_last_total",
]

#: The labels of a row or column, from the outermost heading on; empty at the end where there are no more.
Path = tuple[str, ...]

#: On how many lines the sums of two lists of rows (or columns) are known and agree; -1 if they differ on one.
Compare = Callable[[Sequence[int], Sequence[int]], int]

#: Lines on which sums must agree, so that this is no accident.
ENOUGH = 2

#: What a category without a label is called that others divide.
TOTAL = "Total"


class UnclearHeadings(Exception):
    """It does not show whether headings are parts of one classification or several."""

    def __init__(self, headings: Sequence[str], positions: Sequence[int]) -> None:
        super().__init__(", ".join(headings))
        self.headings = tuple(headings)
        self.positions = tuple(positions)


@dataclass(frozen=True)
class Axis:
    """Rows or columns as categories of dimensions.

    Parameters
    ----------
    positions
        Which rows or columns.
    dimensions
        From the outermost heading on.
    codes
        Positions × dimensions: the place of each one's category.
    """

    positions: tuple[int, ...]
    dimensions: tuple[Dimension, ...]
    codes: NDArray[np.int32]


def arrange(paths: Sequence[Path], names: Sequence[str], agree: Compare) -> list[Axis]:
    """The dimensions that paths of labels stand for; several axes for several classifications.

    Parameters
    ----------
    paths
        The labels of each row or column, all equally many.
    names
        The dimension that each level names; empty if unknown.
    agree
        On how many lines the sums of two lists of rows (or columns) agree; -1 if they differ on one.

    Raises
    ------
    UnclearHeadings
        If headings may be parts of one classification or several.

    Examples
    --------
    >>> paths = [("Males", "0-15"), ("Males", "16+"), ("Females", "0-15"), ("Females", "16+")]
    >>> axes = arrange(paths, ["sex", "age"], lambda first, second: 0)
    >>> [[category.code for category in dimension.categories] for dimension in axes[0].dimensions]
    [['Males', 'Females'], ['0-15', '16+']]
    """

    def agree_on(first: Sequence[int], second: Sequence[int]) -> int:
        return agree(first, second) if first and second else 0

    packed = [tuple(label for label in path if label) for path in paths]
    depth = max((len(path) for path in packed), default=0)
    return _arrange(list(range(len(packed))), packed, [*names, *[""] * depth][:depth], agree_on)


def _arrange(at: list[int], paths: list[Path], names: list[str], agree: Compare) -> list[Axis]:
    paths, names = _without_constant([path or (TOTAL,) for path in paths], names)
    if all(len(path) <= 1 for path in paths):
        return [_flat(at, [path[0] if path else TOTAL for path in paths], names[0] if names else "")]
    groups: dict[str, list[int]] = {}
    for position, path in enumerate(paths):
        groups.setdefault(path[0] if path else TOTAL, []).append(position)
    divided = {
        label: rows for label, rows in groups.items() if any(len(paths[position]) > 1 for position in rows)
    }
    owned = [label for label, rows in divided.items() if any(len(paths[position]) == 1 for position in rows)]
    if len(divided) == 1 and not owned:
        return _under_one(at, paths, names, next(iter(divided)), agree)
    if len(divided) == 1 and len(groups) == 1:
        return _under_root(at, paths, names, agree)
    if len(divided) > 1 and _are_crossed([{paths[p][1:] for p in rows} for rows in divided.values()]):
        return _crossed(at, paths, names, agree)
    unsure = len(divided) > 1 or len(owned) < len(divided)
    if unsure and _are_several(at, paths, groups, divided, agree):
        return _side_by_side(at, paths, groups, divided, agree)
    return [_nested(at, paths, next(filter(None, names), ""))]


def _under_root(at: list[int], paths: list[Path], names: list[str], agree: Compare) -> list[Axis]:
    """Everything is contained in one row that has a value: a total, however it is called."""
    root = paths[0][0]
    label = root if is_total_label(root) else TOTAL
    axes = _arrange(at, [path[1:] or (label,) for path in paths], [*names[1:], ""], agree)
    plain = len(axes) == 1 and len(axes[0].dimensions) == 1
    return [_nested(at, paths, next(filter(None, names), ""))] if plain else axes


def _without_constant(paths: list[Path], names: list[str]) -> tuple[list[Path], list[str]]:
    """A heading over everything names what is under it."""
    level = 0
    while level + 1 < max(len(path) for path in paths):
        labels = {path[level] if len(path) > level + 1 else None for path in paths}
        if len(labels) > 1 or None in labels:
            level += 1
            continue
        name = next(iter(labels)) or ""
        below = names[level + 1] or ("" if is_measure(name) else names[level] or name)
        paths = [(*path[:level], *path[level + 1 :]) for path in paths]
        names = [*names[:level], below, *names[level + 2 :]]
    return paths, names


def _flat(at: Sequence[int], labels: Sequence[str], name: str) -> Axis:
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    codes = np.array([[places[label]] for label in labels], np.int32).reshape(len(labels), 1)
    return Axis(tuple(at), (Dimension(name, tuple(Category(label) for label in places)),), codes)


def _under_one(
    at: list[int], paths: list[Path], names: list[str], heading: str, agree: Compare
) -> list[Axis]:
    """One heading only is divided, and has no value itself: it names the others' dimension."""
    inside = {position for position, path in enumerate(paths) if path and path[0] == heading}
    counted = [at[p] for p in sorted(inside) if not is_total_label(paths[p][-1])]
    joined = [
        position
        for position, path in enumerate(paths)
        if position not in inside
        and (not path or is_total_label(path[0]) or agree([at[position]], counted) > 0)
    ]
    kept = sorted({*inside, *joined})
    apart = sorted({*range(len(paths))} - {*kept})
    below = [paths[p][1:] if p in inside else paths[p] for p in kept]
    name = names[1] or ("" if is_measure(heading) else heading)
    axes = _arrange([at[p] for p in kept], below, [name, *names[2:]], agree)
    return axes + [_flat([at[position]], paths[position][:1], names[0]) for position in apart]


def _are_crossed(children: Sequence[set[Path]]) -> bool:
    """Whether the labels under headings are mostly the same."""
    plain = [{path for path in paths if path and not is_total_label(path[0])} for paths in children]
    full = [paths for paths in plain if paths]
    most = max(full, key=len, default=set[Path]())
    return len(full) > 1 and all(2 * len(paths & most) >= len(paths) for paths in full)


def _crossed(at: list[int], paths: list[Path], names: list[str], agree: Compare) -> list[Axis]:
    rests = [path[1:] or (TOTAL,) for path in paths]
    unique = list(dict.fromkeys(rests))
    heads = [path[0] if path else TOTAL for path in paths]
    place = {(head, rest): at[p] for p, (head, rest) in enumerate(zip(heads, rests, strict=True))}

    def agree_within(first: Sequence[int], second: Sequence[int]) -> int:
        found = [
            agree([place[head, unique[p]] for p in first], [place[head, unique[p]] for p in second])
            for head in dict.fromkeys(heads)
            if all((head, unique[p]) in place for p in (*first, *second))
        ]
        return -1 if -1 in found else sum(found)

    outer = _flat(at, heads, names[0])
    axes: list[Axis] = []
    for inner in _arrange(list(range(len(unique))), unique, names[1:], agree_within):
        rows = {unique[p]: inner.codes[k] for k, p in enumerate(inner.positions)}
        kept = [p for p, rest in enumerate(rests) if rest in rows]
        codes = np.array([[*outer.codes[p], *rows[rests[p]]] for p in kept], np.int32)
        axes.append(Axis(tuple(at[p] for p in kept), (*outer.dimensions, *inner.dimensions), codes))
    return axes


def _are_several(
    at: Sequence[int],
    paths: Sequence[Path],
    groups: dict[str, list[int]],
    divided: dict[str, list[int]],
    agree: Compare,
) -> bool:
    """Whether headings are classifications of the same people, and not parts of one classification.

    Parts together make the total; a classification makes it alone. Without a total, several that make the
    same sums are classifications. Headings whose own values differ are parts.
    """
    own = {label: [at[p] for p in rows if len(paths[p]) == 1] for label, rows in divided.items()}
    parts = [own[label] or _counted(at, paths, rows) for label, rows in divided.items()]
    whole = {label: [at[p] for p in rows] for label, rows in groups.items() if label not in divided}
    others = [place for label, rows in whole.items() if not is_total_label(label) for place in rows]
    everything = [place for part in parts for place in part]
    totals = [rows for label, rows in whole.items() if is_total_label(label)]
    if totals:
        if agree(totals[0], everything) > 0 or agree(totals[0], [*everything, *others]) > 0:
            return False
        if any(agree(totals[0], part) > 0 for part in parts):
            return True
    found = [agree(one, two) for one, two in pairwise(parts)]
    if found and min(found) >= ENOUGH:
        return True
    if all(own.values()) and max(found, default=0) <= 0:
        return False
    raise UnclearHeadings(list(divided), everything)


def _counted(at: Sequence[int], paths: Sequence[Path], rows: Sequence[int]) -> list[int]:
    """What makes a heading's sum: its innermost labels, but for totals."""
    kept = [p for p in rows if len(paths[p]) > 1 and not is_total_label(paths[p][-1])]
    inner = {paths[p][:-1] for p in kept}
    return [at[p] for p in kept if paths[p] not in inner]


def _side_by_side(
    at: list[int],
    paths: list[Path],
    groups: dict[str, list[int]],
    divided: dict[str, list[int]],
    agree: Compare,
) -> list[Axis]:
    shared = [
        p for label, rows in groups.items() if label not in divided and is_total_label(label) for p in rows
    ]
    apart = [p for label, rows in groups.items() if label not in divided for p in rows if p not in shared]
    axes: list[Axis] = []
    for label, rows in divided.items():
        kept = sorted([*shared, *rows])
        below = [paths[p] if p in shared else paths[p][1:] for p in kept]
        depth = max(len(path) for path in below)
        axes += _arrange([at[p] for p in kept], below, [label, *[""] * depth][:depth], agree)
    return axes + [_flat([at[p]], paths[p][:1], "") for p in apart]


def _nested(at: Sequence[int], paths: Sequence[Path], name: str) -> Axis:
    """One dimension whose categories know what contains them."""
    every = dict.fromkeys(path[:depth] for path in paths for depth in range(1, len(path) + 1))
    labels = Counter(path[-1] for path in every)
    codes = {path: path[-1] if labels[path[-1]] == 1 else " > ".join(path) for path in every}
    categories = tuple(
        Category(code, path[-1] if code != path[-1] else "", codes[path[:-1]] if len(path) > 1 else None)
        for path, code in codes.items()
    )
    places = {path: place for place, path in enumerate(every)}
    found = np.array([[places[path]] for path in paths], np.int32).reshape(len(paths), 1)
    return Axis(tuple(at), (Dimension(name, categories),), found)


def containing_rows(levels: Sequence[int]) -> list[int]:
    """The row that contains each row, by how far rows are indented; -1 for none.

    >>> containing_rows([0, 2, 2, 4, 0])
    [-1, 0, 0, 2, -1]
    """
    open_rows: list[int] = []
    parents: list[int] = []
    for row, level in enumerate(levels):
        while open_rows and levels[open_rows[-1]] >= level:
            open_rows.pop()
        parents.append(open_rows[-1] if open_rows else -1)
        open_rows.append(row)
    return parents


def lift_last_total(paths: list[Path]) -> list[Path]:
    """Paths in which a total at the end is that of all headings, if no other heading has one like it.

    >>> lift_last_total([("Males", "0-15"), ("Females", "0-15"), ("Females", "Total")])[-1]
    ('Total',)
    >>> lift_last_total([("Males", "0-15"), ("Males", "Total"), ("Females", "Total")])[-1]
    ('Females', 'Total')
    """
    *before, last = paths or [()]
    heads = {path[0] for path in paths if len(path) > 1}
    if len(last) != 2 or len(heads) < 2 or not is_total_label(last[1]):
        return paths
    alike = any(path[1:2] == last[1:] for path in before)
    return paths if alike else [*before, last[1:]]
