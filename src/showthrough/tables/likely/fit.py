"""Fitting priors to records: averaged Bayes nets, latent classes, independent attributes, or nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.errors import InputError, check_type
from showthrough.records import Records
from showthrough.tables.likely.prior import Level, Net, Node, Prior, keys_of

__all__ = [
    "Model",
    "fit_prior",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

Model = Literal["bayes-nets", "latent-classes", "independent", "uniform"]

#: Bootstrap samples that a net is fitted to each, and most parents of an attribute.
N_NETS, MOST_PARENTS = 6, 3

#: How many records the table for fewer parents is worth, and the fewest records of a combination of
#: parents that gets chances of its own.
BACK_OFF, FEWEST = 5.0, 5

#: Latent classes at most, records per class at least, and steps of the EM algorithm.
MOST_CLASSES, PER_CLASS, EM_STEPS = 30, 50, 150

#: Digits of chances that are kept.
DIGITS = 6


def fit_prior(records: Records, *, model: Model = "bayes-nets", name: str = "", seed: int = 0) -> Prior:
    """Fit a prior to records of other areas: how likely each record type is.

    Parameters
    ----------
    records
        The records; they should come from areas like those that it will be used for, but not from the areas
        whose tables are examined.
    model
        ``bayes-nets`` (the default) averages networks of attributes, each fitted to a bootstrap
        sample by greedy search; ``latent-classes`` is a mixture of independent attributes;
        ``independent`` knows the shares of single values only; ``uniform`` knows nothing.
    name
        What it is called wherever it is used.
    seed
        The seed of the bootstrap samples and of the first classes.

    Returns
    -------
    Prior
        The prior, not calibrated yet.

    Raises
    ------
    InputError
        If there are no records, or the model is unknown.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "job": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "job": "yes"}] * 3 + [{"sex": "m", "job": "no"}], schema)
    >>> st.fit_prior(people, model="independent", name="a village")
    Prior "a village": independent attributes fitted to 4 records, not calibrated here
    """
    check_type(records, Records, name="records", remedy="read them with read_records")
    check_type(seed, Integral, name="seed")
    check_type(name, str, name="name")
    if model not in get_args(Model):
        raise InputError("unknown model", found=str(model), remedy=f"use {', '.join(get_args(Model))}")
    if not len(records):
        raise InputError("there are no records to fit a prior to")
    sizes = tuple(len(attribute.values) for attribute in records.schema.attributes)
    codes, times = np.unique(records.codes.astype(np.int64), axis=0, return_counts=True)
    rng = np.random.Generator(np.random.Philox(seed))
    nets = tuple(_nets(model, codes, times.astype(float), sizes, rng))
    attributes = {attribute.name: attribute.values for attribute in records.schema.attributes}
    return Prior(name or "unnamed", model, attributes, nets, len(records))


def _nets(
    model: Model, codes: Whole, times: Floats, sizes: tuple[int, ...], rng: np.random.Generator
) -> Iterator[Net]:
    n = int(times.sum())
    if model == "bayes-nets":
        for _ in range(N_NETS):
            drawn = rng.multinomial(n, times / n).astype(float)
            yield _net(1 / N_NETS, codes, drawn, sizes, Structure(codes, drawn, sizes).climb())
    elif model == "latent-classes":
        yield from _latent(codes, times, sizes, rng)
    else:
        weights = times if model == "independent" else np.zeros(len(times))
        yield _net(1.0, codes, weights, sizes, [()] * len(sizes))


def _net(
    weight: float, codes: Whole, times: Floats, sizes: tuple[int, ...], parents: Sequence[tuple[int, ...]]
) -> Net:
    nodes = [
        Node(column, parents[column], _levels(codes, times, sizes, column, parents[column]))
        for column in _ordered(parents)
    ]
    return Net(weight, sizes, tuple(nodes))


def _ordered(parents: Sequence[tuple[int, ...]]) -> list[int]:
    """Parents before children."""
    order: list[int] = []
    while len(order) < len(parents):
        order += [at for at, of in enumerate(parents) if at not in order and set(of) <= set(order)]
    return order


def _levels(
    codes: Whole, times: Floats, sizes: tuple[int, ...], column: int, parents: tuple[int, ...]
) -> tuple[Level, ...]:
    """Chances for each number of parents, each smoothed towards those for one parent fewer."""
    size = sizes[column]
    alone = np.bincount(codes[:, column], times, size) + 0.5
    levels = [Level(np.zeros(1, np.int64), _rounded((alone / alone.sum())[None, :]))]
    node = Node(column, parents, tuple(levels))
    for depth in range(1, len(parents) + 1):
        chosen = list(parents[:depth])
        keys, of = np.unique(keys_of(codes[:, chosen], [sizes[at] for at in chosen]), return_inverse=True)
        counts = np.bincount(of * size + codes[:, column], times, len(keys) * size).reshape(-1, size)
        known = np.flatnonzero(counts.sum(axis=1) >= FEWEST)
        first = np.zeros(len(keys), np.int64)
        first[of[::-1]] = np.arange(len(codes))[::-1]
        before = node.rows(codes[first[known]], sizes)
        counts = counts[known]
        chances = (counts + BACK_OFF * before) / (counts.sum(axis=1, keepdims=True) + BACK_OFF)
        levels.append(Level(keys[known], _rounded(chances)))
        node = Node(column, parents, tuple(levels))
    return tuple(levels)


def _rounded(chances: Floats) -> Floats:
    """Chances with the digits that are kept in files."""
    if not chances.size:
        return chances
    return np.array([[float(f"{chance:.{DIGITS}g}") for chance in row] for row in chances.tolist()])


class Structure:
    """The parents of each attribute, by greedy search for the best BIC."""

    def __init__(self, codes: Whole, times: Floats, sizes: tuple[int, ...]) -> None:
        used = times > 0
        self.codes, self.times, self.sizes = codes[used], times[used], sizes
        self.price = 0.5 * math.log(max(times.sum(), 2))
        self.parents: list[list[int]] = [[] for _ in sizes]
        self._scores: dict[tuple[int, tuple[int, ...]], float] = {}

    def climb(self) -> list[tuple[int, ...]]:
        """Add, remove and reverse edges as long as that makes the score better."""
        while True:
            best, change = 1e-9, None
            for gain, candidate in self._changes():
                if gain > best:
                    best, change = gain, candidate
            if change is None:
                return [tuple(of) for of in self.parents]
            for column, of in change:
                self.parents[column] = of

    def _changes(self) -> Iterator[tuple[float, list[tuple[int, list[int]]]]]:
        """Every change of one edge with what it gains."""
        for child, of in enumerate(self.parents):
            own = self.score(child, of)
            for other in range(len(self.sizes)):
                if other == child:
                    continue
                if other in of:
                    less = [at for at in of if at != other]
                    loss = self.score(child, less) - own
                    yield loss, [(child, less)]
                    theirs = self.parents[other]
                    if len(theirs) < MOST_PARENTS and not self._reaches(other, child, without=(other, child)):
                        more = [*theirs, child]
                        gain = self.score(other, more) - self.score(other, theirs)
                        yield loss + gain, [(child, less), (other, more)]
                elif len(of) < MOST_PARENTS and not self._reaches(child, other):
                    yield self.score(child, [*of, other]) - own, [(child, [*of, other])]

    def _reaches(self, start: int, end: int, without: tuple[int, int] | None = None) -> bool:
        """Whether ``start`` is an ancestor of ``end``, one edge (parent, child) left out."""
        left, seen = [end], set[int]()
        while left:
            at = left.pop()
            for parent in self.parents[at]:
                if (parent, at) == without or parent in seen:
                    continue
                if parent == start:
                    return True
                seen.add(parent)
                left.append(parent)
        return False

    def score(self, child: int, parents: Sequence[int]) -> float:
        """The BIC of one attribute given others; only combinations that occur have parameters."""
        key = child, tuple(sorted(parents))
        if key not in self._scores:
            self._scores[key] = self._score(child, key[1])
        return self._scores[key]

    def _score(self, child: int, parents: tuple[int, ...]) -> float:
        size = self.sizes[child]
        _, of = np.unique(
            keys_of(self.codes[:, list(parents)], [self.sizes[at] for at in parents]), return_inverse=True
        )
        counts = np.bincount(of * size + self.codes[:, child], self.times, (of.max() + 1) * size)
        counts = counts.reshape(-1, size).astype(float)
        total = counts.sum(axis=1)
        likelihood = _xlogx(counts).sum() - _xlogx(total).sum()
        return float(likelihood - self.price * (size - 1) * len(total))


def _xlogx(counts: Floats) -> Floats:
    return counts * np.log(np.where(counts > 0, counts, 1))


def _latent(codes: Whole, times: Floats, sizes: tuple[int, ...], rng: np.random.Generator) -> Iterator[Net]:
    """Classes in which attributes are independent, by the EM algorithm."""
    n = times.sum()
    n_classes = int(min(MOST_CLASSES, max(1, n // PER_CLASS)))
    starts = np.cumsum([0, *sizes])
    places = codes + starts[:-1]
    marks: Any = csr_array(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, len(sizes))),
        shape=(len(codes), int(starts[-1])),
    )
    overall = (times @ marks + 0.5) / n
    belong = rng.dirichlet(np.full(n_classes, 0.5), len(codes))
    sizes_of, chances = np.ones(n_classes), np.ones((n_classes, int(starts[-1])))
    for _ in range(EM_STEPS):
        weighted = belong * times[:, None]
        sizes_of = weighted.sum(axis=0) + 1 / n_classes
        chances = (marks.T @ weighted).T + overall[None, :]  # one record's worth of the whole
        for start, end in itertools.pairwise(starts.tolist()):
            chances[:, start:end] /= chances[:, start:end].sum(axis=1, keepdims=True)
        log = marks @ np.log(chances).T + np.log(sizes_of / sizes_of.sum())
        belong = np.exp(log - log.max(axis=1, keepdims=True))
        belong /= belong.sum(axis=1, keepdims=True)
    weights = sizes_of / sizes_of.sum()
    for at, weight in enumerate(weights.tolist()):
        nodes = [
            Node(column, (), (Level(np.zeros(1, np.int64), _rounded(chances[at : at + 1, start:end])),))
            for column, (start, end) in enumerate(itertools.pairwise(starts.tolist()))
        ]
        yield Net(float(f"{weight:.{DIGITS}g}"), sizes, tuple(nodes))
