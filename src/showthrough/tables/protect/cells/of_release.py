"""A planned release and a policy as a problem about cells, where they are of that kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.protect.cells.axis import Axis
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.moves import Mark, Move, Suppress
from showthrough.tables.protect.policy import Policy

__all__ = [
    "ReleaseCells",
    "cells_of_release",
]

#: The most combinations of nodes.
_MOST_CELLS = 60_000

Box = tuple[frozenset[int], ...]


@dataclass(frozen=True, eq=False)
class ReleaseCells:
    """A problem about cells, and what each of its cells is in the release.

    Parameters
    ----------
    problem
        The problem. Its cells are all combinations of nodes, published or not.
    moves
        Per cell the moves that suppress it, in all tables that show it.
    unit
        What a cost of 1 stands for.
    """

    problem: CellProblem
    moves: Mapping[int, tuple[Suppress, ...]]
    unit: Fraction

    def plan(self, suppressed: Iterable[int]) -> frozenset[Move]:
        """The moves that suppress some cells."""
        return frozenset(move for cell in suppressed for move in self.moves[cell])


def cells_of_release(
    release: Release, policy: Policy, world: Records, costs: Mapping[Move, Fraction]
) -> ReleaseCells | None:
    """The problem about cells whose safe plans are those of the policy; None if it is not of that kind.

    It is where claims about few records are forbidden whatever their attributes, where cells may be
    suppressed (and tables dropped at no less), where every count is published or unknown, and where the
    schema has no rules but hierarchies.

    Parameters
    ----------
    release, policy
        What is planned, and what is forbidden and allowed.
    world
        Records that agree with the release.
    costs
        What each allowed move costs.
    """
    if not _is_about_cells(release, policy):
        return None
    schema = release.schema
    used = {schema.base(name) for one in release.layout.selections for name in one.attributes}
    names = [name for name in schema.names if name in used]
    boxes = [_box(schema, names, selection) for selection in release.layout.selections]
    single = [_values(schema, name) for name in names]
    axes = [
        Axis.of(
            len(schema[name].values), [*own, *(box[at] for box in boxes), range(len(schema[name].values))]
        )
        for at, (name, own) in enumerate(zip(names, single, strict=True))
    ]
    if not names or prod(map(len, axes)) > _MOST_CELLS or any(axis.n_leaves < 2 for axis in axes):
        return None
    shape = tuple(axis.n_leaves for axis in axes)
    codes = world.codes[:, [schema.index[name] for name in names]].astype(np.int64)
    flat = np.ravel_multi_index(tuple(codes.T), shape) if len(codes) else np.zeros(0, np.int64)
    counts = np.bincount(flat, minlength=prod(shape)).reshape(shape)
    made = CellProblem.with_margins(counts, axes=axes)
    return _with_moves(made, release, boxes, policy, costs, single)


def _is_about_cells(release: Release, policy: Policy) -> bool:
    schema, change, cost = release.schema, policy.change, policy.cost
    exact = (release.low == release.high) | ((release.low == 0) & (release.high >= UNBOUNDED))
    levels = any(schema.base(name) != name for name in schema.names)
    return (
        bool(policy.forbidden)
        and not policy.narrow
        and not schema.own_rules
        and bool(exact.all())
        and change.mark == Mark()
        and {"suppress"} <= set(change.kinds) <= {"suppress", "drop"}
        and cost.dropped >= cost.suppressed
        and all(
            one.most is not None
            and not (one.sensitive or one.hidden or one.groups)
            and one.baseline is None
            and not (levels and one.columns > 1)
            for one in policy.forbidden
        )
    )


def _values(schema: Schema, name: str) -> list[frozenset[int]]:
    """What single values of an attribute, and of the levels above it, are in its leaves."""
    above = [level for level in schema.names if schema.base(level) == name]
    found = [schema.inside(level, value)[1] for level in above for value in schema[level].values]
    return [frozenset(schema[name].code(leaf) for leaf in leaves) for leaves in found]


def _box(schema: Schema, names: list[str], selection: Selection) -> Box:
    """On each axis the leaves that a selection allows."""
    allowed = {name: frozenset(range(len(schema[name].values))) for name in names}
    for name, values in selection.terms:
        base = schema.base(name)
        inside = (leaf for value in values for leaf in schema.inside(name, value)[1])
        allowed[base] &= frozenset(schema[base].code(leaf) for leaf in inside)
    return tuple(allowed.values())


def _with_moves(
    made: CellProblem,
    release: Release,
    boxes: list[Box],
    policy: Policy,
    costs: Mapping[Move, Fraction],
    single: list[list[frozenset[int]]],
) -> ReleaseCells | None:
    """Which cells are published, what they cost, and which must not be determined."""
    moves, n = dict[int, list[Suppress]](), len(made.counts)
    hidden, hideable, price = np.ones(n, bool), np.ones(n, bool), [Fraction(0)] * n
    for at, (table, cell) in enumerate(release.layout.names):
        nodes = [axis.node(leaves) for axis, leaves in zip(made.axes, boxes[at], strict=True)]
        if None in nodes:
            return None  # a cell that nobody can be in
        if release.high[at] >= UNBOUNDED:
            continue
        mine = int(made.index[sum(node * by for node, by in zip(nodes, made.strides, strict=True) if node)])
        move = Suppress(table, cell)
        hidden[mine] = False
        hideable[mine] &= move in costs
        price[mine] += costs.get(move, Fraction(0))
        moves.setdefault(mine, []).append(move)
    unit = Fraction(1, lcm(1, *(one.denominator for one in price)))
    cost = np.array([int(one / unit) for one in price], np.int64)
    primary = _primary(made, policy, single)
    problem = CellProblem(made.axes, made.cells, made.counts, cost, hideable, hidden, primary)
    return ReleaseCells(problem, {cell: tuple(found) for cell, found in moves.items()}, unit)


def _primary(made: CellProblem, policy: Policy, single: list[list[frozenset[int]]]) -> NDArray[np.bool_]:
    """The cells that are claims about so few records that they are forbidden."""
    columns, claim = np.zeros(len(made.counts), np.int64), np.ones(len(made.counts), bool)
    for at, (axis, values) in enumerate(zip(made.axes, single, strict=True)):
        total = axis.node(range(axis.n_leaves))
        named = np.isin(
            np.arange(len(axis)), [node for one in values if (node := axis.node(one)) is not None]
        )
        mine = made.cells[:, at]
        columns += mine != total
        claim &= named[mine] | (mine == total)
    found = np.zeros(len(claim), bool)
    for one in policy.forbidden:
        few = (made.counts > 0) & (made.counts <= (one.most or 0))
        found |= claim & few & (columns >= one.columns)
    return found
