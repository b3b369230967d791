"""Protecting cells by exhaustive search: all small changes of a tiny dataset, and all unions of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.certificate import CellCertificate
from showthrough.tables.protect.cells.problem import CellProblem

Changes = NDArray[np.int64]

KINDS = ("2-D", "3-D", "hierarchy", "linked", "overlapping", "intervals", "given")


def tiny(kind: str, seed: int) -> CellProblem:
    """A tiny problem: cells that must stay, costs and zeros as the seed has them."""
    rng = np.random.default_rng(seed)
    shape = {
        "2-D": ((2, 2), (2, 3), (3, 3))[seed % 3],
        "3-D": (2, 2, 2),
        "hierarchy": (4, 2),
        "linked": (2, 2, 2),
        "overlapping": (4, 2),
        "intervals": ((2, 2), (2, 3), (5,))[seed % 3],
        "given": ((2, 2), (2, 3), (2, 2, 2))[seed % 3],
    }[kind]
    joint = rng.integers(0, 4, shape)
    axes = [TableAxis.of(size, [range(size)]) for size in shape]
    if len(shape) == 1:
        axes[0] = TableAxis.of(5, [{0, 1}, {1, 2}, {2, 3, 4}, range(5)])
    if kind == "hierarchy":
        axes[0] = TableAxis.of(4, [{0, 1}, {2, 3}, range(4)])
    if kind == "overlapping":
        axes[0] = TableAxis.of(4, [{0, 1}, {1, 2}, {2, 3}, range(4)])
    made = CellProblem.with_margins(joint, axes=axes, zeros=bool(seed % 2))
    hidden, hideable, cost = made.hidden.copy(), made.hideable.copy(), made.cost.copy()
    if kind == "linked":  # a*b and a*c with their margins: two attributes at most, and never b with c
        leaf = made.cells < 2
        hidden = leaf.all(axis=1) | (leaf[:, 1] & leaf[:, 2])
    if seed % 4 == 1:
        hideable &= rng.random(len(cost)) < 0.85
    if seed % 3 == 1:
        cost = rng.integers(1, 5, len(cost))
    primary = made.primary & ~(hidden & (rng.random(len(cost)) < 0.7))
    needs = None
    if kind in ("intervals", "given"):  # any count, zero too
        primary = rng.random(len(cost)) < 0.25
        hideable |= primary & (rng.random(len(cost)) < 0.95)
    if kind == "intervals":
        needs = rng.integers(0, 3, (len(cost), 3)) * (rng.random((len(cost), 3)) < 0.5)
        needs[:, 0] = np.minimum(needs[:, 0], made.counts)
    return CellProblem(made.axes, made.cells, made.counts, cost, hideable, hidden, primary, needs)


def recounted(problem: CellProblem, atoms: dict[tuple[int, ...], int]) -> list[int]:
    """Every cell's count, added up atom by atom."""
    return [
        sum(
            count
            for leaves, count in atoms.items()
            if all(
                axis.members[node, leaf] for axis, node, leaf in zip(problem.axes, nodes, leaves, strict=True)
            )
        )
        for nodes in problem.cells.tolist()
    ]


def changes_of(problem: CellProblem, largest: int) -> Changes:
    """How all cells change with each change of no atom by more than ``largest``."""
    limits = [range(-min(int(problem.counts[at]), largest), largest + 1) for at in problem.atoms]
    changes = np.array(list(product(*limits)), np.int64)
    leaves = problem.cells[problem.atoms]
    inside = np.array(
        [
            [
                all(axis.members[n, leaf] for axis, n, leaf in zip(problem.axes, nodes, mine, strict=True))
                for mine in leaves.tolist()
            ]
            for nodes in problem.cells.tolist()
        ]
    )
    moved = changes @ inside.T.astype(np.int64)
    return moved[(moved != 0).any(axis=1) & ~((moved != 0) & problem.fixed).any(axis=1)]


def change_of(certificate: CellCertificate, problem: CellProblem) -> list[int]:
    """How all cells change, added up atom by atom; raises if a count becomes negative."""
    leaves = {at: tuple(problem.cells[at].tolist()) for at in problem.atoms.tolist()}
    change = {leaves[at]: by for at, by in zip(certificate.atoms, certificate.change, strict=True)}
    for at, by in zip(certificate.atoms, certificate.change, strict=True):
        assert problem.counts[at] + by >= 0
    return recounted(problem, change)


def is_safe(problem: CellProblem, suppressed: Iterable[int], known: Changes) -> bool:
    """Whether changes that leave every published cell as it is give each primary cell what it needs."""
    published = np.ones(len(problem.counts), bool)
    published[[*suppressed, *np.flatnonzero(problem.hidden).tolist()]] = False
    usable = known[~(known[:, published] != 0).any(axis=1)]
    for at in np.flatnonzero(problem.primary).tolist():
        below, above = -usable[:, at].min(initial=0), usable[:, at].max(initial=0)
        down, up, width = _needs(problem, at)
        if below < down or above < up or below + above < width:
            return False
    return True


def _needs(problem: CellProblem, cell: int) -> tuple[int, int, int]:
    down, up, width = (0, 0, 1) if problem.needs is None else problem.needs[cell].tolist()
    return down, up, max(width, 1)


def cheapest(problem: CellProblem, known: Changes) -> int | None:
    """The cost of the cheapest safe plan made of these changes; None if there is none."""
    price = np.where(problem.hidden, 0, problem.cost).tolist()
    free = sum(1 << at for at in np.flatnonzero(problem.hidden | problem.primary).tolist())
    primaries = np.flatnonzero(problem.primary).tolist()
    if (problem.primary & problem.fixed).any():
        return None
    bits = (known != 0) @ np.array([1 << at for at in range(len(problem.counts))], object)
    needed = [int(one) & ~free for one in bits]

    def cost(cells: int) -> int:
        return sum(price[at] for at in range(len(price)) if cells >> at & 1)

    unions = {0}
    for at in primaries:
        mine = _options(known[:, at].tolist(), needed, *_needs(problem, at))
        if not mine:
            return None
        unions = _joined(unions, mine)
    return min(map(cost, unions)) + sum(price[at] for at in primaries)


def _options(change: list[int], needed: list[int], down: int, up: int, width: int) -> set[int]:
    """The sets of further cells whose suppression gives a cell what it needs; the least ones."""

    def above(far: int) -> set[int]:
        return _minimal({b for by, b in zip(change, needed, strict=True) if by >= far}) if far else {0}

    def below(far: int) -> set[int]:
        return _minimal({b for by, b in zip(change, needed, strict=True) if -by >= far}) if far else {0}

    slides = {b for part in range(width + 1) for b in _joined(above(part), below(width - part))}
    return _joined(_joined(above(up), below(down)), _minimal(slides))


def _joined(one: set[int], other: set[int]) -> set[int]:
    return _minimal({first | second for first in one for second in other})


def _minimal(sets: set[int]) -> set[int]:
    kept = list[int]()
    for one in sorted(sets, key=lambda bits: (bits.bit_count(), bits)):
        if not any(other & ~one == 0 for other in kept):
            kept.append(one)
    return set(kept)
