"""One column of a dataset, filled so that all cells about it and the other columns come out right.

Records that are alike in the attributes around a column are interchangeable. So there is one unknown per
kind of record and value: how many of these records get the value. Whatever a solver proposes is counted
again before it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from showthrough.release import UNBOUNDED
from showthrough.tables.search.solver import Inequalities
from showthrough.tables.wide.area import WideArea
from showthrough.tables.wide.dataset import Dataset

__all__ = [
    "ColumnFill",
    "dataset_by_columns",
]

Counts = NDArray[np.int64]

#: Unknowns of one column: beyond this many it is not tried.
MOST_UNKNOWNS = 60_000

#: Nodes of a search for whole numbers, orders of columns that are tried, and rounds through all columns.
NODES, ORDERS, ROUNDS = 3, 2, 12

#: Unknowns and conditions up to which whole numbers are looked for where a relaxed solution has fractions.
FEW_UNKNOWNS, FEW_CONDITIONS = 900, 200

#: Different records up to which columns are filled anew, and how many in all columns together.
FEW_RECORDS, MOST_FILLED = 600, 100_000

#: Attributes around a column up to which it is filled where there are more different records.
FEW_NEAR = 6

#: Counts that a fractional change concerns, up to which whole numbers are looked for, and nodes for that.
MOST_SUPPORT, SUPPORT_NODES = 600, 20


class ColumnFill:
    """One attribute, given the values of some others.

    Parameters
    ----------
    area
        What is published.
    at
        The attribute.
    known
        The attributes whose values are given.
    """

    def __init__(self, area: WideArea, at: int, known: Sequence[int]) -> None:
        self.area, self.at = area, at
        self.known = frozenset(known)
        near = area.ties.neighbours[at].copy()
        near[at] = False
        self.near = tuple(one for one in np.flatnonzero(near).tolist() if one in self.known)
        self.n_values = len(area.release.schema.attributes[at].values)

    @cached_property
    def _sums(self) -> list[list[int]]:
        """The selections that each condition adds up: of a cell, or of cells alike in what is known."""
        area, layout = self.area, self.area.release.layout
        groups: dict[object, list[int]] = {}
        here = {*self.known, self.at}
        for box in np.flatnonzero(area.boxes[:, self.at]).tolist():
            cell = int(layout.box_cells[box])
            outside = [one for one in np.flatnonzero(area.boxes[box]).tolist() if one not in here]
            if cell in area.sums:
                groups.setdefault(("sum", cell), []).append(-1 if outside else box)
            else:
                inside = tuple(
                    (one, area.allowed[one][:, box].tobytes())
                    for one in np.flatnonzero(area.boxes[box]).tolist()
                    if one in here
                )
                key = area.table_of[cell], inside, tuple(outside) if outside else cell
                groups.setdefault(key, []).append(box)
        return [mine for mine in groups.values() if -1 not in mine and self._whole(mine)]

    def _whole(self, boxes: list[int]) -> bool:
        """Whether cells together leave out no value of the attributes that are not known yet."""
        area, here = self.area, {*self.known, self.at}
        outside = [one for one in np.flatnonzero(area.boxes[boxes[0]]).tolist() if one not in here]
        if not outside:
            return True
        sizes = np.prod([area.allowed[one][:, boxes].sum(axis=0) for one in outside], axis=0)
        return int(sizes.sum()) == int(np.prod([len(area.allowed[one]) for one in outside]))

    @cached_property
    def _conditions(self) -> tuple[list[list[tuple[int, int]]], Counts, Counts]:
        """Per condition its selections with weights, and both ends."""
        layout, release = self.area.release.layout, self.area.release
        terms, low, high = list[list[tuple[int, int]]](), list[int](), list[int]()
        for boxes in self._sums:
            cells = sorted({int(layout.box_cells[box]) for box in boxes})
            if len(cells) > 1:
                terms.append([(boxes[0], 1)])
            else:
                terms.append([(box, int(layout.box_weights[box])) for box in boxes])
            low.append(int(release.low[cells].sum()))
            high.append(min(UNBOUNDED, int(sum(release.high[cells].tolist()))))
        return terms, np.array(low, np.int64), np.array(high, np.int64)

    def filled(self, dataset: Dataset, rng: np.random.Generator) -> tuple[Dataset, int] | None:
        """The dataset with the column filled anew, and how far its cells are off, as little as was found.

        Which of several ways is left to chance. None if there are too many kinds of records.
        """
        kinds, of = self.kinds(dataset)
        n, v = len(kinds), self.n_values
        if n * v > MOST_UNKNOWNS:
            return None
        times = np.zeros(n, np.int64)
        np.add.at(times, of, dataset.times)
        rows, low, high = self._rows(self._member(kinds, self.near), times)
        upper = np.where(self._forbidden(kinds, self.near), 0, times[:, None]).ravel()
        if (upper.reshape(n, v).max(axis=1) == 0).any():  # rules leave some records no value
            return None
        counts = self._nearest(rows, low, high, upper, rng)
        if counts is None or (counts < 0).any() or (counts > upper).any():
            return None
        sums: NDArray[np.int64] = rows @ counts
        if (sums[:n] != times).any():
            return None
        off = np.maximum(low - sums, 0) + np.maximum(sums - high, 0)
        return self._dealt(dataset, of, counts.reshape(n, v), rng), int(off.sum())

    def _nearest(
        self, rows: csr_array, low: Counts, high: Counts, upper: Counts, rng: np.random.Generator
    ) -> Counts | None:
        """Whole numbers for which the conditions are off by as little as a short search finds."""
        n_cells = len(self._conditions[0])
        n = len(upper)
        each = len(low) - n_cells
        loose = csr_array(
            vstack([csr_array((each, n_cells), dtype=np.int64), csr_array(np.eye(n_cells, dtype=np.int64))])
        )
        all_ = csr_array(hstack([rows, loose, -loose]))
        cost = np.concatenate([rng.random(n) * 1e-3, np.ones(2 * n_cells)])
        most = np.concatenate([upper, np.full(2 * n_cells, upper.sum(dtype=float))]).astype(float)
        program = Inequalities(cost, np.zeros(len(cost)), most, iterations=20_000)
        top = np.where(high >= UNBOUNDED, np.inf, high.astype(float))
        program.add(all_, low.astype(float), top)
        relaxed = program.solve()
        if relaxed is None:
            return None
        point = relaxed.counts()[:n]
        torn = (np.abs(point - np.rint(point)) > 1e-6).reshape(-1, self.n_values).any(axis=1)
        if not torn.any():
            return np.rint(point).astype(np.int64)
        if n > FEW_UNKNOWNS or n_cells > FEW_CONDITIONS:
            return None
        self.area.work.solves += 1
        found, _ = program.solve_whole(np.ones(len(cost), bool), nodes=NODES)
        return None if found is None else np.rint(found[:n]).astype(np.int64)

    def with_other_count(
        self, dataset: Dataset, others: dict[int, int], value: int, rng: np.random.Generator
    ) -> Dataset | None:
        """The dataset with few values of the column changed, so that another number has these codes.

        A linear program looks for the least change; where it is fractional, whole numbers are looked for
        among the records that it changes.
        """
        kinds, of = self.kinds(dataset, tuple(others))
        n, v, near = len(kinds), self.n_values, sorted({*self.near, *others})
        if n * v > MOST_UNKNOWNS:
            return None
        match = np.ones(n, bool)
        for at, code in others.items():
            match &= kinds[:, near.index(at)] == code
        before = np.zeros((n, v), np.int64)
        np.add.at(before, (of, dataset.codes[:, self.at].astype(np.int64)), dataset.times)
        rows, low, high = self._rows(self._member(kinds, near), before.sum(axis=1))
        goal = np.zeros((n, v), np.int64)
        goal[match, value] = 1
        most = np.where(self._forbidden(kinds, near), 0, before.sum(axis=1)[:, None] - before)
        change = CountChange(rows, low, high, before.ravel(), most.ravel(), goal.ravel())
        for sign in (1, -1):
            self.area.work.programs += 1
            after = change.least(sign)
            if after is not None:
                return self._dealt(dataset, of, after.reshape(n, v), rng)
        return None

    def kinds(self, dataset: Dataset, also: Sequence[int] = ()) -> tuple[NDArray[np.uint16], Counts]:
        """The different records around the column, and the kind of each row of a dataset."""
        near = sorted({*self.near, *also})
        if not near:
            return np.zeros((1, 0), np.uint16), np.zeros(len(dataset.codes), np.int64)
        found, of = np.unique(dataset.codes[:, near], axis=0, return_inverse=True)
        return found, of.ravel().astype(np.int64)

    def _member(self, kinds: NDArray[np.uint16], near: Sequence[int]) -> dict[int, NDArray[np.bool_]]:
        """Per selection which kinds match it, as far as it names known attributes."""
        boxes = [box for terms in self._conditions[0] for box, _ in terms]
        found = np.ones((len(kinds), len(boxes)), bool)
        for column, one in enumerate(near):
            found &= self.area.allowed[one][:, boxes][kinds[:, column]]
        return dict(zip(boxes, found.T, strict=True))

    def _rows(self, member: dict[int, NDArray[np.bool_]], times: Counts) -> tuple[csr_array, Counts, Counts]:
        """All conditions, and that every record gets one value."""
        terms, low, high = self._conditions
        n, v = len(times), self.n_values
        each = csr_array(
            (np.ones(n * v), (np.repeat(np.arange(n), v), np.arange(n * v))), shape=(n, n * v), dtype=np.int64
        )
        rows, columns, data = list[Counts](), list[Counts](), list[Counts]()
        for number, mine in enumerate(terms):
            for box, weight in mine:
                values = np.flatnonzero(self.area.allowed[self.at][:, box])
                which = (np.flatnonzero(member[box])[:, None] * v + values).ravel()
                rows.append(np.full(len(which), number))
                columns.append(which)
                data.append(np.full(len(which), weight))
        if not terms:
            return each, times, times
        entries = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
        cells = csr_array(entries, shape=(len(terms), n * v), dtype=np.int64)
        both = csr_array(vstack([each, cells]))
        return both, np.concatenate([times, low]), np.concatenate([times, high])

    def _forbidden(self, kinds: NDArray[np.uint16], near: Sequence[int]) -> NDArray[np.bool_]:
        """Kind × value: what a rule forbids that names no unknown attributes."""
        found, here = np.zeros((len(kinds), self.n_values), bool), {*self.known, self.at}
        for rule in self.area.forbidden:
            if self.at in rule and set(rule) <= here:
                hit = np.ones(len(kinds), bool)
                for one in rule.keys() - {self.at}:
                    hit &= rule[one][kinds[:, list(near).index(one)]]
                found |= hit[:, None] & rule[self.at][None, :]
        return found

    def _dealt(self, dataset: Dataset, of: Counts, counts: Counts, rng: np.random.Generator) -> Dataset:
        """Give this many records of each kind each value; which of them is left to chance."""
        order = np.lexsort((rng.random(len(of)), of))
        times = dataset.times[order]
        here, there = np.cumsum(times), np.cumsum(counts.ravel())
        every = np.unique(np.concatenate([here, there]))
        every = every[every > 0]
        source = order[np.searchsorted(here, every, "left")]
        value = np.searchsorted(there, every, "left") % self.n_values
        codes = dataset.codes[source].copy()
        codes[:, self.at] = value.astype(np.uint16)
        return Dataset(codes, np.diff(every, prepend=0)).distinct()


@dataclass(frozen=True, eq=False)
class CountChange:
    """Counts that satisfy rows, and other counts near them.

    ``rows`` · counts stay between ``low`` and ``high``; counts may fall to 0, and rise by ``most``.
    """

    rows: csr_array
    low: Counts
    high: Counts
    before: Counts
    most: Counts
    goal: Counts

    def least(self, sign: int) -> Counts | None:
        """Counts with a smaller sum over the goal (larger for a sign of −1), changed as little as can be."""
        every = np.arange(len(self.before))
        point = self._solved(every, sign, nodes=0)
        if point is None:
            return None
        after = self._after(every, point)
        if after is None:
            moved = every[(np.abs(point[: len(every)]) > 1e-9) | (np.abs(point[len(every) :]) > 1e-9)]
            some = self._solved(moved, sign, nodes=SUPPORT_NODES) if len(moved) <= MOST_SUPPORT else None
            after = None if some is None else self._after(moved, some)
        return after

    def _solved(self, which: Counts, sign: int, nodes: int) -> NDArray[np.float64] | None:
        """The least rises and falls of some counts, as whole numbers if nodes of a search are allowed."""
        some = csr_array(self.rows[:, which])
        sums = self.rows @ self.before
        used = np.diff(some.indptr) > 0
        both = csr_array(hstack([some, -some]))[used]
        n = len(which)
        upper = np.concatenate([self.most[which], self.before[which]]).astype(float)
        cost = np.concatenate([np.full(n, 1.0), np.full(n, 1e-3)])
        program = Inequalities(cost, np.zeros(2 * n), upper, iterations=20_000)
        free = self.high[used] >= UNBOUNDED
        top = np.where(free, np.inf, (self.high - sums)[used].astype(float))
        program.add(both, (self.low - sums)[used].astype(float), top)
        goal = sign * self.goal[which]
        program.add(csr_array(np.concatenate([goal, -goal])[None, :]), np.array([-np.inf]), np.array([-1.0]))
        if not nodes:
            found = program.solve()
            return None if found is None else found.counts()
        return program.solve_whole(np.ones(2 * n, bool), nodes=nodes)[0]

    def _after(self, which: Counts, point: NDArray[np.float64]) -> Counts | None:
        """The counts after a change, if it is whole and all rows are kept."""
        near = np.rint(point)
        if (np.abs(point - near) > 1e-6).any():
            return None
        after, n = self.before.copy(), len(which)
        after[which] += (near[:n] - near[n:]).astype(np.int64)
        sums = self.rows @ after
        fits = (after >= 0).all() and ((self.low <= sums) & (sums <= self.high)).all()
        return after if fits and self.goal @ after != self.goal @ self.before else None


def dataset_by_columns(area: WideArea, columns: tuple[int, ...], n: int) -> Dataset | None:
    """A dataset of n records over tied attributes, from counts alone; None if none was found.

    Columns are filled one after the other, those with many known neighbours first. Where the tables form a
    tree in this order all cells come out right. Elsewhere some may not: then columns are filled anew, one
    by one and given all others, as long as that helps.
    """
    rng = np.random.Generator(np.random.Philox(area.seed))
    own = area.excerpt(columns).release
    for attempt in range(ORDERS):
        found = _filled_in(area, _order(area, columns, rng, shaken=attempt > 0), n, rng)
        if found is not None and found.agrees_with(own):
            return found
    return None


def _filled_in(area: WideArea, order: list[int], n: int, rng: np.random.Generator) -> Dataset | None:
    """A dataset whose cells are right, if columns in this order, and then one by one, lead to it."""
    dataset = Dataset(np.zeros((1, len(area.release.schema.attributes)), np.uint16), np.array([n], np.int64))
    known, left = list[int](), MOST_FILLED * max(1, area.effort.nodes // 300)
    for at in order:
        column, many = ColumnFill(area, at, known), len(dataset.codes) > FEW_RECORDS
        made = None if many and len(column.near) > FEW_NEAR else column.filled(dataset, rng)
        if made is None or (many and made[1]):
            return None
        dataset = made[0]
        known.append(at)
    last: dict[int, int] = {}
    before = n * len(order)
    for number in range(ROUNDS):
        for at in order if number == 0 else rng.permutation(order).tolist():
            left -= len(dataset.codes)
            if left < 0:
                return None
            made = ColumnFill(area, at, [one for one in order if one != at]).filled(dataset, rng)
            if made is None:
                return None
            dataset, last[at] = made
            area.tell(f"looking for a dataset: cells are off by {sum(last.values()):,}")
        off = sum(last.values())
        if not off:
            return dataset
        if off > 0.9 * before:
            return None
        before = off
    return None


def _order(area: WideArea, columns: tuple[int, ...], rng: np.random.Generator, *, shaken: bool) -> list[int]:
    """Columns such that each has as many neighbours as possible among those before it."""
    left, order, known = list(columns), list[int](), np.zeros(len(area.ties.neighbours), bool)
    degree = area.ties.neighbours.sum(axis=0)
    while left:
        noise = rng.random(len(left)) if shaken else np.zeros(len(left))
        scores = [
            (int(area.ties.neighbours[at][known].sum()), float(noise[place]), int(degree[at]), -at)
            for place, at in enumerate(left)
        ]
        best = left[max(range(len(left)), key=scores.__getitem__)]
        left.remove(best)
        order.append(best)
        known[best] = True
    return order
