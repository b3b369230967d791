"""Which public values tell different stories about the sensitive value, given all other public values.

Two values of an attribute are compared within *strata*, the combinations of the other attributes, by two
tests at half the level each:

- the generalized Cochran–Mantel–Haenszel test, which adds up what differs in the same direction over all
  strata and so sees small steady differences;
- the sum of Pearson's statistics of the strata, which sees differences that cancel over strata. Many
  strata are small, so the statistic is compared with a gamma distribution of the mean and the variance
  that it has exactly when values are dealt at random.

With one stratum, so with one public attribute, it is Pearson's test. Values are joined by agglomeration: of
all pairs the one that the test tells apart least is pooled, until every pair is told apart. Joined values
were chosen for being alike, so two classes of them always look different: a pair of classes with k values in
all is told apart only if the test could tell these k values apart by chance no more often than its level,
whichever way they are put into two classes (k − 1 times the degrees of freedom, as in Gabriel 1966).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from showthrough.records import number_rows

__all__ = [
    "homogeneous",
    "merge_agglomeratively",
    "merge_attributes",
    "sum_rows",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Values whose pairs are all compared at once; of more, blocks of similar ones are joined first.
_AT_ONCE: Final = 96
#: Numbers held at once.
_BLOCK: Final = 2_000_000
#: Eigenvalues below this share of the largest are 0.
_RANK: Final = 1e-9


def sum_rows(counts: Any, of: Whole, number: int) -> Any:
    """Rows of a count matrix added up by the number each belongs to."""
    chosen = csr_array((np.ones(len(of), np.int64), (of, np.arange(len(of)))), shape=(number, len(of)))
    return chosen @ counts


def scale_rows(counts: Any, factors: Floats) -> Any:
    """Each row of a count matrix multiplied by a number of its own.

    >>> scale_rows(csr_array([[1, 2], [0, 3]]), np.array([0.5, 2.0])).toarray().tolist()
    [[0.5, 1.0], [0.0, 6.0]]
    """
    found = counts.astype(np.float64)
    found.data *= np.repeat(factors, np.diff(found.indptr))
    return found


def merge_attributes(
    codes: list[Whole], n_values: list[int], names: list[str], counts: Any, *, significance: float
) -> list[Whole]:
    """For each attribute the merged value of each of its values, conditionally on all other attributes.

    ``codes`` are the positions of each group's public values. Attributes that say least about the sensitive
    value by themselves come first; the rounds end when nothing changes. The order of columns changes nothing.
    """
    table = csr_array(counts, dtype=np.float64)
    labels = [np.arange(number) for number in n_values]
    order = sorted(
        range(len(codes)), key=lambda at: (_association(sum_rows(table, codes[at], n_values[at])), names[at])
    )
    changed = True
    while changed:
        changed = False
        for at in order:
            merged = _merge_one(at, codes, labels, table, significance)
            changed = changed or merged.max(initial=-1) < labels[at].max(initial=-1)
            labels[at] = merged
    return _split(codes, labels)


def merge_agglomeratively(contingency: Any, *, significance: float) -> Whole:
    """The same for one attribute by itself, from a table value × sensitive value.

    >>> merge_agglomeratively([[60, 40], [50, 50], [40, 60]], significance=0.05).tolist()
    [0, 0, 1]
    """
    table = csr_array(contingency, dtype=np.float64)
    sizes = np.asarray(table.sum(axis=1))
    rows = np.flatnonzero(sizes > 0)
    strata = _Strata(np.arange(len(rows)), np.zeros(len(rows), np.int64), table[rows])
    found = _agglomerate(strata, np.ones(len(rows), np.int64), significance)
    labels = np.full(len(sizes), -1, np.int64)
    labels[rows] = found
    labels[labels < 0] = found.max(initial=-1) + 1 + np.arange((labels < 0).sum())
    return _renumbered(labels)


def _association(table: Any) -> float:
    """How much an attribute says about the sensitive value: Pearson's statistic in standard deviations."""
    cells = table.tocoo()
    sizes, totals = np.asarray(table.sum(axis=1)), np.asarray(table.sum(axis=0))
    n = sizes.sum()
    degrees = ((sizes > 0).sum() - 1) * ((totals > 0).sum() - 1)
    if n <= 0 or degrees <= 0:
        return -np.inf
    statistic = n * ((cells.data**2 / (sizes[cells.row] * totals[cells.col])).sum() - 1)
    return float((statistic - degrees) / np.sqrt(2 * degrees))


def _merge_one(at: int, codes: list[Whole], labels: list[Whole], table: Any, significance: float) -> Whole:
    """The merged values of one attribute, given the merged values of the others."""
    own = labels[at][codes[at]]
    others = [labels[other][codes[other]] for other in range(len(codes)) if other != at]
    stratum = number_rows(others, len(own))
    present = np.unique(own)
    strata = _Strata(np.searchsorted(present, own), stratum, table).gathered()
    found = np.arange(labels[at].max(initial=-1) + 1) + len(present)
    found[present] = _agglomerate(
        strata, np.bincount(labels[at], minlength=len(found))[present], significance
    )
    return _renumbered(found[labels[at]])


def _split(codes: list[Whole], labels: list[Whole]) -> list[Whole]:
    """Take apart what was merged without effect: values that no group has together."""
    merged = (label[code] for code, label in zip(codes, labels, strict=True))
    key = number_rows(merged, len(codes[0]) if codes else 0)
    found = list[Whole]()
    for code, label in zip(codes, labels, strict=True):
        n_values, n_keys = len(label), int(key.max(initial=-1)) + 1
        links = coo_array((np.ones(len(code)), (code, n_values + key)), shape=(n_values + n_keys,) * 2)
        found.append(_renumbered(connected_components(links, directed=False)[1][:n_values].astype(np.int64)))
    return found


def _renumbered(labels: Whole) -> Whole:
    """The same classes, numbered by their first member."""
    _, first, of = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of]


@dataclass(frozen=True, eq=False)
class _Strata:
    """Counts of sensitive values, one row for each value of an attribute and stratum it occurs in."""

    value: Whole
    stratum: Whole
    counts: Any

    @property
    def n_values(self) -> int:
        return int(self.value.max(initial=-1)) + 1

    @property
    def n_strata(self) -> int:
        return int(self.stratum.max(initial=-1)) + 1

    def gathered(self) -> _Strata:
        """Rows of equal values and strata added up, in ascending order."""
        width = self.n_strata
        key, of = np.unique(self.value * width + self.stratum, return_inverse=True)
        return _Strata(key // width, key % width, csr_array(sum_rows(self.counts, of, len(key))))

    def of(self, chosen: Whole) -> _Strata:
        """Some of the values, in ascending order, numbered anew."""
        position = np.full(self.n_values, -1, np.int64)
        position[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(position[self.value] >= 0)
        return _Strata(position[self.value[rows]], self.stratum[rows], self.counts[rows])


def _agglomerate(strata: _Strata, members: Whole, significance: float) -> Whole:
    """Join values until every pair is told apart; for each the number of its class.

    ``members`` is how many original values each of them stands for.
    """
    labels = np.arange(strata.n_values)
    while strata.n_values > _AT_ONCE:
        order = _by_likeness(strata)
        found, n = np.empty(strata.n_values, np.int64), 0
        for part in map(np.sort, np.array_split(order, -(-len(order) // _AT_ONCE))):
            found[part] = n + _join_all(strata.of(part), members[part], significance)
            n = int(found[part].max()) + 1
        if n > 0.9 * strata.n_values:
            break
        labels, strata = found[labels], replace(strata, value=found[strata.value]).gathered()
        members = np.bincount(found, members).astype(np.int64)
    return _renumbered(_join_all(strata, members, significance)[labels])


def _by_likeness(strata: _Strata) -> Whole:
    """Values in an order in which neighbours have similar shares of the sensitive values."""
    table = sum_rows(strata.counts, strata.value, strata.n_values)
    sizes = np.asarray(table.sum(axis=1))
    common = int(np.argmax(np.asarray(table.sum(axis=0))))
    return np.argsort(table[:, [common]].toarray().ravel() / np.maximum(sizes, 1), kind="stable")


def _join_all(strata: _Strata, members: Whole, significance: float) -> Whole:
    """The same for values that are all compared with each other."""
    n = strata.n_values
    labels, members = np.arange(n), members.copy()
    agreement = np.full((n, n), -1.0)
    for value in range(n):
        agreement[value] = _agreement(strata, value, members, significance)
    agreement = np.minimum(agreement, agreement.T)
    np.fill_diagonal(agreement, -1)
    while n > 1:
        one, other = sorted(divmod(int(agreement.argmax()), n))
        if agreement[one, other] <= significance:
            break
        labels[labels == other] = one
        members[one] += members[other]
        strata = replace(strata, value=np.where(strata.value == other, one, strata.value)).gathered()
        agreement[other], agreement[:, other] = -1, -1
        alone = agreement[:, one] == -1
        fresh = _agreement(strata, one, members, significance)
        fresh[alone] = -1
        agreement[one], agreement[:, one] = fresh, fresh
    return _renumbered(labels)


def _agreement(strata: _Strata, value: int, members: Whole, significance: float) -> Floats:
    """The p-value of one value against every other; just above the level where no stratum has both.

    So values without anything in common are joined last, which changes no group.
    """
    found = np.full(len(members), significance * (1 + 1e-9))
    place = np.full(strata.n_strata, -1, np.int64)
    own = strata.value == value
    place[strata.stratum[own]] = np.flatnonzero(own)
    rows = np.flatnonzero((place[strata.stratum] >= 0) & ~own)
    others = strata.value[rows]
    height = max(1, _BLOCK // strata.counts.shape[1])
    start = 0
    while start < len(rows):
        # All rows of a value stay together.
        end = int(np.searchsorted(others, others[min(start + height, len(rows)) - 1], side="right"))
        part = rows[start:end]
        here, there = strata.counts[place[strata.stratum[part]]].toarray(), strata.counts[part].toarray()
        which, first = np.unique(others[start:end], return_index=True)
        ways = members[value] + members[which] - 1
        found[which] = _compare(here, there, first, ways, plain=strata.n_strata == 1)
        start = end
    found[value] = -1
    return found


def _compare(here: Floats, there: Floats, first: Whole, ways: Whole, *, plain: bool) -> Floats:
    """The p-values of several comparisons, each of some strata (rows) from ``first`` on.

    ``ways`` is by how much the degrees of freedom grow because classes were chosen, 1 for single values.
    """
    both = here + there
    n, size = here.sum(axis=1), there.sum(axis=1)
    total, occurs = n + size, both > 0
    safe = np.where(occurs, both, 1)
    statistic = total * ((here**2 / safe).sum(axis=1) / n + (there**2 / safe).sum(axis=1) / size - 1)
    degrees = occurs.sum(axis=1) - 1
    if plain:
        tail = special.chdtrc(np.maximum(degrees, 1) * ways, np.maximum(statistic, 0))
        return np.where(degrees > 0, tail, 1.0)
    columns = (total[:, None] / safe * occurs).sum(axis=1)
    spread = _pearson_variance(total, total / n + total / size, 2, columns, degrees + 1)
    parts = (statistic, total / (total - 1) * degrees, spread)
    statistic, mean, spread = (np.asarray(np.add.reduceat(part, first), np.float64) for part in parts)
    more = ways.astype(np.float64)
    within = _gamma_tail(statistic, mean * more, spread * more)
    return np.minimum(1, 2 * np.minimum(within, _steady(here, both, n, size, first, ways)))


def _steady(here: Floats, both: Floats, n: Floats, size: Floats, first: Whole, ways: Whole) -> Floats:
    """The p-values of the generalized Cochran–Mantel–Haenszel test."""
    total = n + size
    off = np.add.reduceat(here - (n / total)[:, None] * both, first, axis=0)
    weight = n * size / (total**2 * (total - 1))
    diagonal = np.add.reduceat((weight * total)[:, None] * both, first, axis=0)
    if both.shape[1] == 2:
        across = np.add.reduceat(weight * both[:, 0] ** 2, first)
        variance = diagonal[:, 0] - across
        known = variance > _RANK * np.maximum(diagonal[:, 0], 1e-300)
        return np.where(known, special.chdtrc(ways, off[:, 0] ** 2 / np.where(known, variance, 1)), 1.0)
    found = np.ones(len(first))
    ends = [*first[1:].tolist(), len(both)]
    for at, (begin, end) in enumerate(zip(first.tolist(), ends, strict=True)):
        kept = np.flatnonzero(diagonal[at] > 0)
        part = both[begin:end][:, kept]
        covariance = np.diag(diagonal[at, kept]) - (part * weight[begin:end, None]).T @ part
        values, vectors = np.linalg.eigh(covariance)
        use = values > _RANK * values.max(initial=0)
        if use.any():
            statistic = ((off[at, kept] @ vectors[:, use]) ** 2 / values[use]).sum()
            found[at] = special.chdtrc(use.sum() * ways[at], statistic)
    return found


def _pearson_variance(n: Floats, rows: Floats, n_rows: Any, columns: Floats, n_columns: Any) -> Floats:
    """The variance of Pearson's statistic where values are dealt at random (Haldane 1940).

    ``rows`` and ``columns`` are the sums of N/size. Of up to three records twice the degrees of freedom is
    taken, which is more.
    """
    small = n <= 3
    n = np.where(small, 4, n)
    rows, columns = (rows - n_rows**2) / (n - 2), (columns - n_columns**2) / (n - 2)
    free_rows, free_columns = (
        (n - n_rows) * (n_rows - 1) / (n - 1),
        (n - n_columns) * (n_columns - 1) / (n - 1),
    )
    exact = 2 * n / (n - 3) * (free_rows - rows) * (free_columns - columns) + n**2 / (n - 1) * rows * columns
    return np.where(small, 2.0 * (n_rows - 1) * (n_columns - 1), np.maximum(exact, 0))


def _gamma_tail(statistic: Floats, mean: Floats, variance: Floats) -> Floats:
    """Pr[a gamma variable of this mean and variance exceeds the statistic]; 1 where nothing varies."""
    varies = variance > 1e-12
    mean, variance = np.where(varies, mean, 1), np.where(varies, variance, 1)
    tail = special.gammaincc(mean**2 / variance, np.maximum(statistic, 0) * mean / variance)
    return np.where(varies, tail, 1.0)


def homogeneous(counts: Any, of: Whole, *, significance: float) -> Flags:
    """For each class of rows whether its rows are not told apart: may come from one distribution.

    >>> homogeneous(csr_array([[50, 50], [45, 55], [90, 10]]), np.array([0, 0, 0]), significance=0.05)
    array([False])
    >>> homogeneous(csr_array([[50, 50], [45, 55], [90, 10]]), np.array([0, 0, 1]), significance=0.05)
    array([ True,  True])
    """
    number = int(of.max(initial=-1)) + 1
    cells: Any = csr_array(counts, dtype=np.float64).tocoo()
    total: Any = csr_array(sum_rows(counts, of, number), dtype=np.float64)
    sizes: Floats = np.asarray(counts.sum(axis=1), np.float64)
    whole: Floats = np.asarray(total.sum(axis=1), np.float64)
    column: Floats = np.asarray(total[of[cells.row], cells.col], np.float64).ravel()
    n_rows, n_columns = np.bincount(of[sizes > 0], minlength=number), np.diff(total.indptr)
    entry = np.repeat(np.arange(number), n_columns)
    parts, rows, columns = (
        _sums(of[cells.row], cells.data**2 / (sizes[cells.row] * column), number),
        whole * _sums(of[sizes > 0], 1 / sizes[sizes > 0], number),
        whole * _sums(entry, 1 / total.data, number),
    )
    degrees = (n_rows - 1) * (n_columns - 1)
    spread = _pearson_variance(whole, rows, n_rows, columns, n_columns)
    mean = whole / np.maximum(whole - 1, 1) * degrees
    return (degrees <= 0) | (_gamma_tail(whole * (parts - 1), mean, spread) > significance)


def _sums(of: Whole, numbers: Floats, number: int) -> Floats:
    return np.asarray(np.bincount(of, numbers, number), np.float64)
