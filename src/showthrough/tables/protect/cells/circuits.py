"""Circuits: simple ways to change a dataset that change one cell and few others.

A circuit is a tensor product of one-dimensional moves: on each axis either one leaf takes a record
from another one, or a leaf gains a record and every set that contains it does too. Each cell changes
by −1, 0 or 1, or all by a multiple of it, forth or back. Where all cells that change are suppressed,
the circuit is a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.problem import CellProblem

__all__ = [
    "Circuits",
    "circuits_of",
]

#: One-dimensional moves: which nodes change (padded with 0), and by how much (0 for padding).
Moves = tuple[NDArray[np.int64], NDArray[np.int8]]

#: Circuits made for one cell before choosing, kept for one cell, and kept in all.
_MOST_MADE, _MOST_KEPT, _MOST_IN_ALL = 12_000, 1_500, 1_500_000
_MOST_MADE_IN_ALL = 3_000_000

#: Leaves of a set, and leaves outside it, that one-dimensional moves are made of.
_MOST_INNER, _MOST_OUTER = 8, 40


@dataclass(frozen=True, eq=False)
class Circuits:
    """The circuits that change one primary cell, as they add to it.

    Parameters
    ----------
    cells
        Circuits × cells that change, padded with the number of cells.
    signs
        By how much each of them does; 0 for padding.
    up, down
        How often each circuit can be applied, and how often backwards, before a count is negative.
    """

    cells: NDArray[np.int32]
    signs: NDArray[np.int16]
    up: NDArray[np.int64]
    down: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.cells)

    def room(self, sign: int) -> NDArray[np.int64]:
        """How often each circuit can be applied in a direction."""
        return self.up if sign > 0 else self.down


def circuits_of(
    problem: CellProblem,
    cell: int,
    *,
    n_primary: int,
    rng: np.random.Generator,
    known: dict[tuple[int, int], Moves],
) -> Circuits:
    """The circuits that change a cell, as far as they can be used; at random where there are many.

    ``known`` keeps the moves of single leaves from one call to the next.
    """
    inner, made = _inner(problem, cell), max(1_000, min(_MOST_MADE, _MOST_MADE_IN_ALL // max(1, n_primary)))
    moves = list[Moves]()
    for at, (axis, node) in enumerate(zip(problem.axes, problem.cells[cell].tolist(), strict=True)):
        if (at, node) not in known or node >= axis.n_leaves:
            known[at, node] = _moves(axis, node, inner[at], rng)
        moves.append(known[at, node])
    upward = [
        _padded([axis.members[:, leaves[0]].astype(np.int8)])
        for axis, leaves in zip(problem.axes, inner, strict=True)
    ]
    cells, signs = _joined(_products(problem, _limited(moves, made, rng)), _products(problem, upward))
    return _kept(problem, cell, _possible(problem, cells, signs), n_primary=n_primary, rng=rng)


def _kept(
    problem: CellProblem, cell: int, found: Circuits, *, n_primary: int, rng: np.random.Generator
) -> Circuits:
    """The circuits that cost least, of those that reach far enough for the cell in one direction at least."""
    down, up, width = problem.required[cell].tolist()
    half = -(-width // 2)
    useful = np.flatnonzero((found.up >= (up or half)) | (found.down >= (down or half)))
    paid = np.append(np.where(problem.primary | problem.hidden, 0, problem.cost), 0)
    price = paid[found.cells[useful]].sum(axis=1) + 0.5 * rng.random(len(useful))
    most = max(60, min(_MOST_KEPT, _MOST_IN_ALL // max(1, n_primary)))
    return _trimmed(found, useful[np.argsort(price, kind="stable")[:most]])


def _possible(problem: CellProblem, cells: NDArray[np.int64], signs: NDArray[np.int8]) -> Circuits:
    """The circuits that leave the cells that must stay and can be applied in one direction at least."""
    nothing = len(problem.counts)
    cells = np.where((signs == 0) | (cells < 0), nothing, cells)
    signs = np.where(cells == nothing, 0, signs).astype(np.int8)
    counts = np.append(problem.counts, 0)[cells]
    many = np.iinfo(np.int64).max
    up = np.where(signs < 0, counts, many).min(axis=1, initial=many)
    down = np.where(signs > 0, counts, many).min(axis=1, initial=many)
    fixed = np.append(~problem.movable, np.False_)[cells].any(axis=1)
    used = np.flatnonzero(~fixed & ((up > 0) | (down > 0)))
    return Circuits(cells[used].astype(np.int32), signs[used].astype(np.int16), up[used], down[used])


def _trimmed(found: Circuits, chosen: NDArray[np.intp]) -> Circuits:
    """Some of the circuits, without columns that are padding in every row."""
    cells, signs = found.cells[chosen], found.signs[chosen]
    order = np.argsort(signs == 0, axis=1, kind="stable")
    cells, signs = np.take_along_axis(cells, order, 1), np.take_along_axis(signs, order, 1)
    used = max(1, int((signs != 0).sum(axis=1).max(initial=0)))
    return Circuits(
        np.ascontiguousarray(cells[:, :used]),
        np.ascontiguousarray(signs[:, :used]),
        found.up[chosen],
        found.down[chosen],
    )


def _inner(problem: CellProblem, cell: int) -> list[NDArray[np.int64]]:
    """Leaves of a cell's nodes: first those of one atom that has records, then of others, then any.

    From an atom that has records a record can always be taken, and one can be added.
    """
    mine = np.ones(len(problem.atoms), bool)
    for at, (axis, node) in enumerate(zip(problem.axes, problem.cells[cell].tolist(), strict=True)):
        mine &= axis.members[node][problem.cells[problem.atoms, at]]
    atoms = problem.atoms[mine]
    order = atoms[np.argsort(-problem.counts[atoms], kind="stable")]
    some = order[problem.counts[order] > 0] if problem.counts[cell] else order
    return [
        np.array(list(dict.fromkeys(problem.cells[some, at].tolist()))[:_MOST_INNER], np.int64)
        for at in range(len(problem.axes))
    ]


def _moves(axis: TableAxis, node: int, inner: NDArray[np.int64], rng: np.random.Generator) -> Moves:
    """One-dimensional moves that change a node: few changes first."""
    outer = np.flatnonzero(~axis.members[node])
    changes = list[NDArray[np.int8]]()
    for leaf in inner.tolist():
        with_leaf = axis.members[:, leaf].astype(np.int8)
        changes.append(with_leaf)
        near = outer[np.lexsort((rng.random(len(outer)), axis.distance[leaf, outer]))][:_MOST_OUTER]
        changes += list(with_leaf - axis.members[:, near].T)
    return _padded(sorted(changes, key=np.count_nonzero))


def _padded(changes: list[NDArray[np.int8]]) -> Moves:
    width = max(np.count_nonzero(one) for one in changes)
    nodes, signs = np.zeros((len(changes), width), np.int64), np.zeros((len(changes), width), np.int8)
    for at, one in enumerate(changes):
        used = np.flatnonzero(one)
        nodes[at, : len(used)], signs[at, : len(used)] = used, one[used]
    return nodes, signs


def _joined(*parts: Moves) -> Moves:
    """Circuits of several kinds, padded to one width."""
    width = max(cells.shape[1] for cells, _ in parts)
    room = [((0, 0), (0, width - cells.shape[1])) for cells, _ in parts]
    cells = np.concatenate(
        [np.pad(one, by, constant_values=-1) for (one, _), by in zip(parts, room, strict=True)]
    )
    signs = np.concatenate([np.pad(one, by) for (_, one), by in zip(parts, room, strict=True)])
    return cells, signs


def _limited(moves: list[Moves], most: int, rng: np.random.Generator) -> list[Moves]:
    """So few moves on each axis that their products are not too many; the longest axis is cut first."""
    sizes = [len(nodes) for nodes, _ in moves]
    while np.prod(sizes) > most:
        sizes[int(np.argmax(sizes))] -= 1
    found = list[Moves]()
    for (nodes, signs), size in zip(moves, sizes, strict=True):
        first = np.arange(min(size // 2, len(nodes)))  # half of them short, half of them any
        others = rng.permutation(np.arange(len(first), len(nodes)))[: size - len(first)]
        chosen = np.concatenate([first, np.sort(others)])
        found.append((nodes[chosen], signs[chosen]))
    return found


def _products(problem: CellProblem, moves: list[Moves]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """All tensor products: the cells that change (−1: no cell there), and by how much."""
    places, signs = np.zeros((1, 1), np.int64), np.ones((1, 1), np.int8)
    for stride, (nodes, marks) in zip(problem.strides, moves, strict=True):
        places = places[:, None, :, None] + nodes[None, :, None, :] * stride
        signs = signs[:, None, :, None] * marks[None, :, None, :]
        rows, width = places.shape[0] * places.shape[1], places.shape[2] * places.shape[3]
        places, signs = places.reshape(rows, width), signs.reshape(rows, width)
    return problem.index[places], signs
