"""Findings about groups of unknown size: what everybody like this shares, however many there are.

If nobody matches G without C, and somebody matches G, everybody who is known to match G is known to match C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.release import unpack
from showthrough.selection import Selection
from showthrough.tables.claims import Finding
from showthrough.tables.explain import count_tables
from showthrough.tables.proof import Leaf, Proof, Terms
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.implied import Closures
from showthrough.tables.search.prove import Rows, exact_leaf, lifted_leaf
from showthrough.tables.search.questions import REFUTED, mask_words, value_words
from showthrough.tables.search.shorten import n_cells
from showthrough.tables.search.solver import Program, Solution
from showthrough.tables.search.system import System

__all__ = [
    "group_findings",
    "learnt_beside",
]

#: Columns an attacker may need to know for a finding about a group of unknown size.
_GROUP_KEY = 2


@dataclass(frozen=True, eq=False)
class _Group:
    """Who is known, what all of them share besides, and the classes that lie within the group (1, else 0)."""

    known: dict[str, str]
    learnt: dict[str, str]
    goal: NDArray[np.int64]

    @property
    def terms(self) -> Terms:
        """The group as a selection."""
        return Selection.of(self.known).terms


def group_findings(claims: ClaimTable, decider: Decider, closures: Closures) -> Iterator[Finding]:
    """Attributes that everybody of a group shares although the group's size varies.

    Only groups described by at most two columns, of which no smaller description does.
    """
    groups = list(_telling(claims, decider, closures))
    others = _Others(claims.system, decider)
    for group, node in zip(groups, _somebody(decider, groups) if groups else (), strict=True):
        if node is not None:
            proof = Proof(group.terms, 1, at_least=node, over=decider.system.universe.frame.names)
            proofs = (proof, *others.nobody(group))
            cells = {cell for one in proofs for cell in one.cells}
            yield Finding(
                "group of unknown size",
                1,
                Selection.of(group.known),
                Selection.of(group.learnt),
                n_tables_added=count_tables(claims.system.release.layout, cells),
                n_cells=len(cells),
                proofs=proofs,
            )


def learnt_beside(known: dict[str, str], whole: dict[str, str], closures: Closures) -> dict[str, str]:
    """What of the whole is neither known nor implied by the rules."""
    implied = closures.determined(known)
    return {n: v for n, v in whole.items() if n not in known and implied.get(n) != v}


def _telling(claims: ClaimTable, decider: Decider, closures: Closures) -> Iterator[_Group]:
    """Groups that have somebody in every world seen, and whose types share what the rules do not imply."""
    few = np.flatnonzero((claims.state == REFUTED) & (claims.k <= _GROUP_KEY))
    universe = claims.system.universe
    words = value_words(universe)
    masks = mask_words(words, universe, claims.candidates.subset[few], claims.candidates.type[few])
    goals, everywhere = _within_all_worlds(decider, masks)
    rows = np.argsort(claims.k[few], kind="stable")
    rows = rows[everywhere[rows]]
    shared = _shared(claims, few[rows], masks[rows], words)
    seen: set[bytes] = set()
    for row, mine in zip(rows.tolist(), shared, strict=True):
        key = masks[row].tobytes()
        if key in seen:
            continue
        known = claims.terms(int(few[row]))
        learnt = learnt_beside(known, {**known, **mine}, closures)
        if learnt:
            seen.add(key)
            yield _Group(known, learnt, goals[row].astype(np.int64))


def _within_all_worlds(
    decider: Decider, masks: NDArray[np.uint64]
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """The classes within each mask, and which masks have a record in every world seen.

    They have it however records move within their classes.
    """
    if not len(masks):
        return np.zeros((0, decider.system.n_classes), np.uint8), np.zeros(0, bool)
    low, _ = decider.system.spread(unpack(masks, len(decider.system.universe)).astype(bool))
    worlds = np.stack([decider.class_counts(world) for world in decider.pool], axis=1)
    return low, (low.astype(np.float64) @ worlds).min(axis=1) >= 1


def _shared(
    claims: ClaimTable,
    which: NDArray[np.int64],
    masks: NDArray[np.uint64],
    words: tuple[NDArray[np.uint64], ...],
) -> Iterator[dict[str, str]]:
    """Per claim the values that all types in its mask have."""
    frame, codes = claims.system.universe.frame, claims.codes[which]
    values = [frame.layout.schema[name].values for name in frame.names]
    apart = [np.asarray((masks & ~words[at][codes[:, at]]).any(axis=1)) for at in range(len(values))]
    for row, mine in enumerate(codes.tolist()):
        yield {
            name: values[column][mine[column]]
            for column, name in enumerate(frame.names)
            if not apart[column][row]
        }


def _somebody(decider: Decider, groups: Sequence[_Group]) -> list[Leaf | None]:
    """For each group a proof that it has a record, by a cell or one LP; None if there is none."""
    program, shortener = decider.program, decider.shortener
    found = list[Leaf | None]()
    left = list[int]()
    for at, group in enumerate(groups):
        node = None
        if not program.has_seen_nobody(group.goal):
            node = shortener.at_least(group.terms, 1, cells=2) or _one_cell(decider.system, group.goal)
            left += [] if node is not None else [at]
        found.append(node)
    _leave_out(program, [groups[at].goal for at in left])
    for at in left:
        group = groups[at]
        if not program.has_seen_nobody(group.goal) and not _may_be_nobody(program, group.goal):
            found[at] = shortener.at_least(group.terms, 1) or _by_program(program, group.goal)
    return found


def _leave_out(program: Program, goals: Sequence[NDArray[np.int64]]) -> None:
    """Look for points that have no record in many groups at once: so that not each takes an LP of its own."""
    left = list(goals)
    while len(left) > 1:
        if not isinstance(program.minimise(np.sum(left, axis=0)), Solution):
            return
        still = [goal for goal in left if not program.has_seen_nobody(goal)]
        if len(still) == len(left):
            return
        left = still


def _by_program(program: Program, goal: NDArray[np.int64]) -> Leaf | None:
    """A proof by an LP that starts cold, if it is one."""
    found = program.minimise_afresh(goal)
    if not isinstance(found, Solution) or not found.promises(1):
        return None
    return exact_leaf(Rows(program.system), found.multipliers, goal, 1)


def _may_be_nobody(program: Program, goal: NDArray[np.int64]) -> bool:
    """Whether the relaxed system allows that no record is like this, so that no LP shows one.

    An optimum's value does not depend on where the LP starts, so this one starts warm, which takes
    few steps. Its multipliers do, so a proof is left to an LP that starts cold.
    """
    found = program.minimise(goal)
    return isinstance(found, Solution) and not found.promises(1)


def _one_cell(system: System, goal: NDArray[np.int64]) -> Leaf | None:
    """A cell with records that lies within the group, if there is one, says that it has some."""
    inside = np.flatnonzero(system.within(goal) & (system.low > 0))
    if not len(inside):
        return None
    multipliers = np.zeros(len(system.rows), np.int64)
    multipliers[inside[0]] = 1
    return lifted_leaf(Rows(system), multipliers, 1, 0)


class _Others:
    """Proves that nobody is as known and has another value of what is learnt."""

    def __init__(self, system: System, decider: Decider) -> None:
        self._system = system
        self._shortener = decider.shortener
        #: Nobody is of a type that was taken out: that much needs no cell.
        self._taken_out = lifted_leaf(Rows(system), np.zeros(len(system.rows), np.int64), 1, -1)

    def nobody(self, group: _Group) -> Iterator[Proof]:
        """One proof for each column that is learnt."""
        schema = self._system.release.schema
        for name, value in group.learnt.items():
            others = tuple(v for v in schema[name].values if v != value)
            terms = Selection.of({**group.known, name: others}).terms
            leaf = self._taken_out
            if leaf is None or leaf.cells:
                short = self._shortener.at_most(terms, 0)
                shorter = short is not None and (leaf is None or n_cells(short) <= n_cells(leaf))
                leaf = short if shorter else leaf
            if leaf is not None:
                yield Proof(terms, 0, at_most=leaf, over=self._system.universe.frame.names)
