"""A planned release and a policy as a problem about cells, where they are of that kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.moves import Mark, Move, Suppress
from showthrough.tables.protect.needs import Need, waived
from showthrough.tables.protect.policy import Policy

__all__ = [
    "ReleaseCells",
    "cells_of_release",
]

#: The most combinations of nodes.
_MOST_CELLS = 200_000

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
    schema, names
        The schema of the release, and the attributes that are the axes.
    """

    problem: CellProblem
    moves: Mapping[int, tuple[Suppress, ...]]
    unit: Fraction
    schema: Schema
    names: tuple[str, ...]

    def plan(self, suppressed: Iterable[int]) -> frozenset[Move]:
        """The moves that suppress some cells."""
        return frozenset(move for cell in suppressed for move in self.moves[cell])

    def atoms_of(self, records: Records) -> NDArray[np.int64]:
        """The atom that each record is in."""
        columns = records.codes[:, [self.schema.index[name] for name in self.names]].astype(np.int64)
        shape = tuple(axis.n_leaves for axis in self.problem.axes)
        return self.problem.atoms[np.ravel_multi_index(tuple(columns.T), shape)]

    def records_in(self, atoms: Sequence[int]) -> NDArray[np.uint16]:
        """A record in each of some atoms; attributes that are no axis have their first value."""
        leaves = self.problem.cells[np.array(atoms, np.int64)]
        return _full_codes(self.schema, self.names, leaves)


def cells_of_release(
    release: Release,
    policy: Policy,
    world: Records,
    costs: Mapping[Move, Fraction],
    needs: Sequence[Need] = (),
) -> ReleaseCells | None:
    """The problem about cells whose safe plans are those of the policy; None if it is not of that kind.

    It is where counts, or claims about few records whatever their attributes, are forbidden, where cells may
    be suppressed (and tables dropped at no less), where every count is published or unknown, and where the
    schema has no rules but hierarchies.

    Parameters
    ----------
    release, policy
        What is planned, and what is forbidden and allowed.
    world
        Records that agree with the release.
    costs
        What each allowed move costs.
    needs
        What must stay unknown about single counts.
    """
    if not _is_about_cells(release, policy) or not (needs or policy.forbidden):
        return None
    schema = release.schema
    used = {schema.base(name) for name in _used(release)}
    names = [name for name in schema.names if name in used]
    if any(schema.base(name) not in used for need in needs for name in need.where.attributes):
        return None
    boxes = [_box(schema, names, selection) for selection in release.layout.selections]
    asked = [_box(schema, names, need.where) for need in needs]
    single = [_values(schema, name) for name in names]
    axes = [
        TableAxis.of(
            len(schema[name].values),
            [*own, *(box[at] for box in (*boxes, *asked)), range(len(schema[name].values))],
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
    problem = _needy(made, release, policy, list(zip(needs, asked, strict=True)), single)
    if problem is None:
        return None
    return _with_moves(problem, release, boxes, costs, tuple(names))


def _is_about_cells(release: Release, policy: Policy) -> bool:
    schema, change, cost = release.schema, policy.change, policy.cost
    exact = (release.low == release.high) | ((release.low == 0) & (release.high >= UNBOUNDED))
    levels = any(schema.base(name) != name for name in schema.names)
    return (
        not (policy.forbidden and change.earlier)
        and not release.layout.sums
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
    costs: Mapping[Move, Fraction],
    names: tuple[str, ...],
) -> ReleaseCells | None:
    """Which cells are published, and what they cost."""
    moves, n = dict[int, list[Suppress]](), len(made.counts)
    hidden, hideable, price = np.ones(n, bool), np.ones(n, bool), [Fraction(0)] * n
    for at, (table, cell) in enumerate(release.layout.names):
        mine = _cell(made, boxes[at])
        if mine is None:
            return None  # a cell that nobody can be in
        if release.high[at] >= UNBOUNDED:
            continue
        move = Suppress(table, cell)
        hidden[mine] = False
        hideable[mine] &= move in costs
        price[mine] += costs.get(move, Fraction(0))
        moves.setdefault(mine, []).append(move)
    unit = Fraction(1, lcm(1, *(one.denominator for one in price)))
    cost = np.array([int(one / unit) for one in price], np.int64)
    problem = replace(made, cost=cost, hideable=hideable, hidden=hidden)
    listed = {cell: tuple(found) for cell, found in moves.items()}
    return ReleaseCells(problem, listed, unit, release.schema, names)


def _cell(made: CellProblem, box: Box) -> int | None:
    """The cell that is a box; None if nobody can be in it."""
    nodes = [axis.node(leaves) for axis, leaves in zip(made.axes, box, strict=True)]
    if None in nodes:
        return None
    return int(made.index[sum(node * by for node, by in zip(nodes, made.strides, strict=True) if node)])


def _needy(
    made: CellProblem,
    release: Release,
    policy: Policy,
    needs: list[tuple[Need, Box]],
    single: list[list[frozenset[int]]],
) -> CellProblem | None:
    """Which cells must not be determined, and how far around their counts; None if nobody can be in one."""
    alike = sum(len(attribute.values) == 1 for attribute in release.schema.attributes)
    primary, required = _primary(made, policy, single, alike), np.zeros((len(made.counts), 3), np.int64)
    names = [name for name in release.schema.names if name in {*map(release.schema.base, _used(release))}]
    for selection in waived(policy, release):
        at = _cell(made, _box(release.schema, names, selection))
        if at is not None:
            primary[at] = False
    for need, box in needs:
        at = _cell(made, box)
        if at is None:
            return None
        count = int(made.counts[at])
        below = 0 if need.low is None else count - need.low
        above = 0 if need.high is None else need.high - count
        primary[at] = True
        required[at] = np.maximum(required[at], (below, above, need.width))
    return replace(made, primary=primary, needs=required)


def _used(release: Release) -> set[str]:
    """The attributes that cells name."""
    return {name for one in release.layout.selections for name in one.attributes}


def _primary(
    made: CellProblem, policy: Policy, single: list[list[frozenset[int]]], alike: int
) -> NDArray[np.bool_]:
    """The cells that are claims about so few records that they are forbidden.

    Every claim can name the attributes too that are ``alike`` in all records: those with a single value.
    """
    columns, claim = np.full(len(made.counts), alike, np.int64), np.ones(len(made.counts), bool)
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


def _full_codes(schema: Schema, names: Sequence[str], leaves: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Records with these values: levels as they follow, and other attributes with their first value."""
    codes = np.zeros((len(leaves), len(schema.names)), np.uint16)
    given = dict(zip(names, leaves.T, strict=True))
    for at, name in enumerate(schema.names):
        base = schema.base(name)
        column = given.get(base, np.zeros(len(leaves), np.int64))
        codes[:, at] = _level_of(schema, name)[column]
    return codes


def _level_of(schema: Schema, name: str) -> NDArray[np.int64]:
    """For each value of the finest level below an attribute, the value that it lies in."""
    base = schema[schema.base(name)]
    found = np.zeros(len(base.values), np.int64)
    for code, value in enumerate(schema[name].values):
        for leaf in schema.inside(name, value)[1]:
            found[base.code(leaf)] = code
    return found
