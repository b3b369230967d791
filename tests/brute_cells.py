"""Protecting cells by exhaustive search: all small changes of a tiny dataset, and all unions of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from showthrough.tables.protect.cells.axis import Axis
from showthrough.tables.protect.cells.certificate import Certificate
from showthrough.tables.protect.cells.problem import CellProblem

KINDS = ("2-D", "3-D", "hierarchy", "linked", "overlapping")


def tiny(kind: str, seed: int) -> CellProblem:
    """A tiny problem: cells that must stay, costs and zeros as the seed has them."""
    rng = np.random.default_rng(seed)
    shape = {
        "2-D": ((2, 2), (2, 3), (3, 3))[seed % 3],
        "3-D": (2, 2, 2),
        "hierarchy": (4, 2),
        "linked": (2, 2, 2),
        "overlapping": (4, 2),
    }[kind]
    joint = rng.integers(0, 4, shape)
    axes = [Axis.of(size, [range(size)]) for size in shape]
    if kind == "hierarchy":
        axes[0] = Axis.of(4, [{0, 1}, {2, 3}, range(4)])
    if kind == "overlapping":
        axes[0] = Axis.of(4, [{0, 1}, {1, 2}, {2, 3}, range(4)])
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
    return CellProblem(made.axes, made.cells, made.counts, cost, hideable, hidden, primary)


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


def supports(problem: CellProblem, largest: int) -> list[int]:
    """The cells that change (as bits) in each change of no atom by more than ``largest``, smallest first."""
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
    moved = changes @ inside.T.astype(np.int64) != 0
    moved = moved[moved.any(axis=1) & ~(moved & problem.fixed).any(axis=1)]
    bits = moved @ np.array([1 << at for at in range(len(problem.counts))], object)
    return sorted(set(bits.tolist()), key=lambda one: (one.bit_count(), one))


def bits_of(certificate: Certificate, problem: CellProblem) -> int:
    """The cells that a certificate changes, added up atom by atom; raises unless the counts stay whole."""
    leaves = {at: tuple(problem.cells[at].tolist()) for at in problem.atoms.tolist()}
    change = {leaves[at]: by for at, by in zip(certificate.atoms, certificate.change, strict=True)}
    for at, by in zip(certificate.atoms, certificate.change, strict=True):
        assert problem.counts[at] + by >= 0
    return sum(1 << at for at, by in enumerate(recounted(problem, change)) if by)


def is_safe(problem: CellProblem, suppressed: Iterable[int], known: list[int]) -> bool:
    """Whether each primary cell changes in a change that leaves every published cell as it is."""
    open_ = sum(1 << at for at in {*suppressed, *np.flatnonzero(problem.hidden).tolist()})
    usable = [one for one in known if one & ~open_ == 0]
    return all(any(one >> at & 1 for one in usable) for at in np.flatnonzero(problem.primary).tolist())


def cheapest(problem: CellProblem, known: list[int]) -> int | None:
    """The cost of the cheapest safe plan made of these changes; None if there is none."""
    price = np.where(problem.hidden, 0, problem.cost).tolist()
    free = sum(1 << at for at in np.flatnonzero(problem.hidden | problem.primary).tolist())
    primaries = np.flatnonzero(problem.primary).tolist()
    if (problem.primary & problem.fixed).any():
        return None

    def cost(cells: int) -> int:
        return sum(price[at] for at in range(len(price)) if cells >> at & 1)

    unions = {0}
    for at in primaries:
        mine = _minimal({one & ~free for one in known if one >> at & 1})
        if not mine:
            return None
        unions = _minimal({union | one for union in unions for one in mine})
    return min(map(cost, unions)) + sum(price[at] for at in primaries)


def _minimal(sets: set[int]) -> set[int]:
    kept = list[int]()
    for one in sorted(sets, key=lambda bits: (bits.bit_count(), bits)):
        if not any(other & ~one == 0 for other in kept):
            kept.append(one)
    return set(kept)
