"""Merge public values whose sensitive values a test cannot distinguish.

Personal groups over merged values are those that matter: two values with the same sensitive
distribution reveal the same to a reader, so records that differ only in them belong together. By default
values are compared given all other public values and joined by agglomeration
(:mod:`showthrough.microdata.stratified`); the paper compares them by themselves and merges whatever is
connected.

Readers may pool groups that differ in one public attribute only, if no test tells them apart. If an
attribute says nothing about the sensitive value, a reader adds up the groups that differ only in it and
estimates from all of them. What is published together like this has to keep the promise as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import csr_array

from showthrough.errors import InputError
from showthrough.frames.columns import texts
from showthrough.microdata.groups import Groups
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy, every_count
from showthrough.microdata.stratified import homogeneous, merge_attributes, sum_rows
from showthrough.records import number_rows

__all__ = [
    "Generalization",
    "MergedColumn",
    "Merging",
    "PooledGroup",
    "PooledSummary",
    "check_pooled",
    "generalize",
    "merge_values",
    "pool_groups",
    "ranked",
    "relabel",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: How public values are compared: given all other public values, by themselves as in the paper, or not.
Merging = Literal["conditional", "components", "none"]

#: Characters a merged label may have.
_LONGEST_LABEL = 60
_MISSING = "(missing)"
#: Numbers held at once while one value is compared with others.
_BLOCK = 4_000_000


@dataclass(frozen=True, eq=False)
class MergedColumn:
    """One public attribute: its values in ascending order and the label each becomes."""

    name: str
    values: pa.Array
    labels: tuple[str, ...]

    @cached_property
    def mapping(self) -> dict[Any, str]:
        """Each value's label."""
        return dict(zip(self.values.to_pylist(), self.labels, strict=True))

    @property
    def n_labels(self) -> int:
        """How many values are left."""
        return len(set(self.labels))

    @property
    def merged(self) -> bool:
        """Whether any two values became one; otherwise the column stays as it is."""
        return self.n_labels < len(self.labels)


@dataclass(frozen=True, eq=False)
class Generalization:
    """Groups over merged public values, and what was merged.

    Attributes
    ----------
    columns : tuple of MergedColumn
        For each public column, its values and the label each one has now.
    groups : Groups
        The groups over the merged values.
    """

    columns: tuple[MergedColumn, ...]
    groups: Groups

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """For each attribute the number of values before and after."""
        return {column.name: (len(column.labels), column.n_labels) for column in self.columns}

    @property
    def facts(self) -> dict[str, dict[str, list[str]]]:
        """For each attribute with merged values, each label's original values as text."""
        merged: dict[str, dict[str, list[str]]] = {}
        for column in self.columns:
            if column.merged:
                members = merged.setdefault(column.name, {})
                for label, text in zip(column.labels, texts(column.values), strict=True):
                    members.setdefault(label, []).append(text)
        return merged


def generalize(
    groups: Groups, *, significance: float = 0.05, merging: Merging = "conditional"
) -> Generalization:
    """Merge the values of each public attribute, then the groups that have become equal.

    ``conditional`` merges two values unless the sensitive value depends on which of them a record has,
    given its other public values; so an attribute that says nothing beyond the others is merged into one
    value, and values that differ stay apart. ``components`` is the paper's form: each attribute by itself,
    and whatever is connected through values that are not told apart becomes one. ``none`` merges nothing.

    >>> public = {"job": ["cook", "judge", "nurse"]}
    >>> groups = Groups.of(public, {"ill": ["no", "yes"]}, [[50, 50], [90, 10], [48, 52]])
    >>> found = generalize(groups)
    >>> found.groups.public["job"].to_pylist(), found.groups.sizes.tolist()
    (['cook | nurse', 'judge'], [200, 100])
    """
    _check_level(significance)
    if merging not in get_args(Merging):
        raise InputError(
            "unknown way to merge", found=str(merging), remedy="choose conditional, components or none"
        )
    known = [ranked(groups.public[name]) for name in groups.public.column_names]
    if merging == "none":
        return relabel(groups, [np.arange(len(values)) for values, _ in known])
    if merging == "components":
        tables = [sum_rows(groups.counts, codes, len(values)) for values, codes in known]
        return relabel(groups, [merge_values(table, significance=significance) for table in tables])
    codes, sizes = [codes for _, codes in known], [len(values) for values, _ in known]
    names = groups.public.column_names
    return relabel(groups, merge_attributes(codes, sizes, names, groups.counts, significance=significance))


def relabel(groups: Groups, merged: Sequence[Whole]) -> Generalization:
    """Merge public values as said: for each attribute the number of each value's merged value.

    Values are in ascending order, a missing one last.

    >>> groups = Groups.of({"age": [1, 2, 3]}, {"ill": ["no", "yes"]}, [[5, 5], [9, 1], [4, 6]])
    >>> relabel(groups, [np.array([0, 0, 1])]).groups.public["age"].to_pylist()
    ['1–2', '3']
    """
    columns: list[MergedColumn] = []
    keys: list[pa.Array] = []
    for name, numbers in zip(groups.public.column_names, merged, strict=True):
        values, codes = ranked(groups.public[name])
        columns.append(MergedColumn(name, values, _labels(values, numbers)))
        kept: Any = pa.array(columns[-1].labels, pa.string()) if columns[-1].merged else values
        keys.append(kept.take(codes))
    if not columns:
        return Generalization((), groups)
    public = pa.Table.from_arrays(keys, names=groups.public.column_names)
    return Generalization(tuple(columns), _regrouped(groups, public))


def merge_values(contingency: Any, *, significance: float = 0.05) -> Whole:
    """For each value (row) of a table value × sensitive value the number of its merged value.

    Values that are not told apart at the level of significance are connected, and what is connected
    is merged. Numbers follow the first value of each; values without records stay alone.

    >>> merge_values([[50, 50], [90, 10], [48, 52]]).tolist()
    [0, 1, 0]
    """
    _check_level(significance)
    table = csr_array(contingency, dtype=np.float64)
    table.eliminate_zeros()
    sizes = np.asarray(table.sum(axis=1))
    labels = np.full(len(sizes), -1, np.int64)
    for first in range(len(sizes)):
        if labels[first] < 0:
            members = _component(table, sizes, first, labels < 0, significance) if sizes[first] else [first]
            labels[members] = labels.max() + 1
    return labels


def _check_level(significance: float) -> None:
    if not 0 < significance < 1:
        raise InputError(
            "a significance level must be between 0 and 1", found=str(significance), remedy="for example 0.05"
        )


def _component(
    table: Any, sizes: Floats, first: int, unseen: NDArray[np.bool_], significance: float
) -> list[int]:
    """All values connected with one, found by search: each is compared with those still outside."""
    outside = np.flatnonzero(unseen & (sizes > 0))
    outside = outside[outside != first]
    members = [first]
    for value in members:
        if not len(outside):
            break
        statistic, degrees = _chi_square(table, sizes, value, outside)
        # Where one column is left, the distributions are equal.
        told = (degrees > 0) & (statistic > special.chdtri(np.maximum(degrees, 1), significance))
        members.extend(outside[~told].tolist())
        outside = outside[told]
    return members


def _chi_square(table: Any, sizes: Floats, value: int, others: Whole) -> tuple[Floats, Whole]:
    """Pearson's 2 × m statistic of one value against others, and its degrees of freedom (1.7).

    With N = n + n' it is N (Σ_j o_j²/(n c_j) + Σ_j o'_j²/(n' c_j) − 1), c_j = o_j + o'_j; where o_j = 0
    a term is o'_j/n', so only the columns in which ``value`` occurs are looked at.
    """
    entries = slice(table.indptr[value], table.indptr[value + 1])
    columns, own, n = table.indices[entries], table.data[entries], sizes[value]
    statistic, degrees = np.empty(len(others)), np.empty(len(others), np.int64)
    height = max(1, _BLOCK // len(columns))
    for at in range(0, len(others), height):
        part = slice(at, at + height)
        there, size = table[others[part]][:, columns].toarray(), sizes[others[part]]
        both = own + there
        agreement = (own**2 / both).sum(axis=1) / n + (there**2 / both - there).sum(axis=1) / size
        statistic[part] = (n + size) * agreement
        occurring = np.diff(table.indptr)[others[part]]
        degrees[part] = len(columns) + occurring - (there > 0).sum(axis=1) - 1
    return statistic, degrees


def ranked(column: pa.ChunkedArray) -> tuple[pa.Array, Whole]:
    """The distinct values of a column in ascending order (missing last), and each row's position."""
    whole: Any = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    encoded: Any = pc.dictionary_encode(whole, null_encoding="encode")
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    return encoded.dictionary.take(order), position[encoded.indices.to_numpy(zero_copy_only=False)]


def _regrouped(groups: Groups, public: pa.Table) -> Groups:
    """The same counts over other public values; equal rows become one, in ascending order."""
    of = number_rows((ranked(public[name])[1] for name in public.column_names), len(groups))
    first = np.unique(of, return_index=True)[1]
    return Groups(public.take(first), groups.domain, sum_rows(groups.counts, of, len(first)))


def _labels(values: pa.Array, merged: Whole) -> tuple[str, ...]:
    """A label for each value; different merged values get different labels."""
    numeric = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    texts = [_MISSING if value is None else str(value) for value in values.to_pylist()]
    members: dict[int, list[int]] = {}
    for at, label in enumerate(merged.tolist()):
        members.setdefault(label, []).append(at)
    names = {label: _label(texts, at, numeric=numeric) for label, at in members.items()}
    taken: Counter[str] = Counter(names.values())
    if max(taken.values(), default=0) > 1:
        names = {label: f"{name} #{label + 1}" for label, name in names.items()}
    return tuple(names[label] for label in merged.tolist())


def _label(texts: Sequence[str], members: Sequence[int], *, numeric: bool) -> str:
    """Members side by side, neighbouring numbers as a range; what does not fit is counted."""
    if len(members) == 1:
        return texts[members[0]]
    parts = _ranges(texts, members) if numeric else [(texts[at], 1) for at in members]
    label = " | ".join(text for text, _ in parts)
    shown = len(parts)
    while len(label) > _LONGEST_LABEL and shown > 1:
        shown -= 1
        left = sum(number for _, number in parts[shown:])
        label = f"{' | '.join(text for text, _ in parts[:shown])} | … {left} more"
    if len(label) > _LONGEST_LABEL:
        label = f"{parts[0][0][: _LONGEST_LABEL // 2]}… and {len(members) - 1} more"
    return label


def _ranges(texts: Sequence[str], members: Sequence[int]) -> list[tuple[str, int]]:
    apart = [high - low > 1 or texts[high] == _MISSING for low, high in pairwise(members)]
    runs = np.split(np.asarray(members), np.flatnonzero(apart) + 1)
    ends = [(int(run[0]), int(run[-1])) for run in runs]
    return [
        (texts[low] if low == high else f"{texts[low]}–{texts[high]}", high - low + 1) for low, high in ends
    ]


@dataclass(frozen=True)
class PooledGroup:
    """Groups that differ only in one attribute and are not told apart, as one."""

    #: What they have in common.
    group: dict[str, str]
    #: The attribute they differ in, and how many groups they are.
    attribute: str
    members: int
    records: int

    def __str__(self) -> str:
        common = ", ".join(f"{name}={value}" for name, value in self.group.items()) or "everybody"
        return f"{common} ({self.members:,} values of {self.attribute}, {self.records:,} records)"


@dataclass(frozen=True)
class PooledSummary:
    """How many unions of groups readers may pool, and how many of them violate a promise."""

    unions: int
    violating: int
    #: The largest ones that do.
    worst: tuple[PooledGroup, ...] = ()

    def __str__(self) -> str:
        """What was found, in a sentence."""
        if not self.unions:
            return "No groups that differ in one public column only look alike, so there is nothing to pool."
        unions = "1 union" if self.unions == 1 else f"{self.unions:,} unions"
        alike = f"{unions} of groups that differ in one public column only and are not told apart"
        if not self.violating:
            return (
                f"Readers may pool {alike}; none of these violates the promise. Unions over several columns "
                "are not looked at."
            )
        named = f": {'; '.join(map(str, self.worst))}" if self.worst else ""
        violate = "violates" if self.violating == 1 else "violate"
        return f"Readers may pool {alike}; {self.violating:,} of these {violate} the promise{named}."


def pool_groups(groups: Groups, *, significance: float = 0.05) -> Iterator[tuple[str, Groups, Whole]]:
    """For each attribute the unions of two groups and more, and how many groups each is made of.

    >>> public = {"sex": ["f", "f", "m", "m"], "color": ["blue", "red", "blue", "red"]}
    >>> counts = [[50, 50], [48, 52], [90, 10], [91, 9]]
    >>> groups = Groups.of(public, {"ill": ["no", "yes"]}, counts)
    >>> [(name, found.public.to_pylist(), found.sizes.tolist()) for name, found, _ in pool_groups(groups)]
    [('color', [{'sex': 'f'}, {'sex': 'm'}], [200, 200])]
    """
    codes = [ranked(groups.public[name])[1] for name in groups.public.column_names]
    for at, name in enumerate(groups.public.column_names):
        key = np.zeros(len(groups), np.int64)
        for other, code in enumerate(codes):
            if other != at:
                key = np.unique(key * (code.max(initial=0) + 1) + code, return_inverse=True)[1].astype(
                    np.int64
                )
        _, first, of, members = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        alike = homogeneous(groups.counts, of.astype(np.int64), significance=significance)
        chosen = np.flatnonzero(alike & (members > 1))
        if len(chosen):
            counts = sum_rows(groups.counts, of.astype(np.int64), len(first))[chosen]
            public = groups.public.take(first[chosen]).drop_columns([name])
            if not public.num_columns:
                public = pa.table({"all": ["everybody"] * len(chosen)})
            yield name, Groups(public, groups.domain, counts), members[chosen]


def check_pooled(
    groups: Groups, promise: ReconstructionPrivacy, *, retention: float, worst: int = 3
) -> PooledSummary:
    """Which unions of groups violate a promise if everything is published with one retention."""
    unions, found = 0, list[PooledGroup]()
    n_values = len(groups.totals)
    for name, pooled, members in pool_groups(groups):
        group, count = every_count(pooled)
        sizes = pooled.sizes
        held = promise.holds(count, sizes[group], retention=retention, n_values=n_values)
        unions += len(pooled)
        failing = np.unique(group[~held])
        columns = {
            one: texts(pooled.public[one].take(failing))
            for one in pooled.public.column_names
            if one in groups.public.column_names
        }
        found += [
            PooledGroup(
                {one: column[at] for one, column in columns.items()}, name, int(members[row]), int(sizes[row])
            )
            for at, row in enumerate(failing.tolist())
        ]
    found.sort(key=lambda one: (-one.records, one.attribute, str(one)))
    return PooledSummary(unions, len(found), tuple(found[:worst]))
