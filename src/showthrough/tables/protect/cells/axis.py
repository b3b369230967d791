"""One dimension of linked tables: its finest values, and the sets of them that cells refer to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "TableAxis",
]

Nodes = tuple[int, ...]

#: Ways to cover one set by others that are looked for where sets overlap, and steps of that search.
_MOST_COVERS, _MOST_STEPS = 4, 2_000


@dataclass(frozen=True, eq=False)
class TableAxis:
    """The sets of values of one attribute, as nodes; the finest values (leaves) come first.

    Parameters
    ----------
    members
        Nodes × leaves. Row i of the first rows is leaf i alone; no set occurs twice.

    Examples
    --------
    >>> axis = TableAxis.of(4, [{0, 1}, {2, 3}, {0, 1, 2, 3}])
    >>> axis.covers[6]
    ((4, 5), (0, 1, 2, 3))
    """

    members: NDArray[np.bool_]

    def __post_init__(self) -> None:
        n = self.members.shape[1]
        if not np.array_equal(self.members[:n], np.eye(n, dtype=bool)):
            raise ValueError("the first nodes of an axis are its leaves")
        if len(np.unique(self.members, axis=0)) < len(self.members):
            raise ValueError("a set of values occurs twice on an axis")

    @classmethod
    def of(cls, n_leaves: int, sets: Iterable[Iterable[int]] = ()) -> TableAxis:
        """The leaves, and these sets of leaves (single leaves and repetitions are left out)."""
        known = {frozenset({leaf}) for leaf in range(n_leaves)}
        rows = list[NDArray[np.bool_]]()
        for one in map(frozenset, sets):
            if one and one not in known:
                known.add(one)
                row = np.zeros(n_leaves, bool)
                row[sorted(one)] = True
                rows.append(row)
        return cls(np.vstack([np.eye(n_leaves, dtype=bool), *rows]))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return self.members.shape[1]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many leaves each node has."""
        return self.members.sum(axis=1)

    @cached_property
    def distance(self) -> NDArray[np.floating]:
        """Leaves × leaves: how many nodes contain one of the two and not the other."""
        counts = self.members.astype(np.float32)
        common = counts.T @ counts
        return np.diag(common)[:, None] + np.diag(common)[None, :] - 2 * common

    def node(self, leaves: Iterable[int]) -> int | None:
        """The node that is exactly these leaves."""
        return self._nodes.get(frozenset(leaves))

    @cached_property
    def _nodes(self) -> dict[frozenset[int], int]:
        return {frozenset(np.flatnonzero(row).tolist()): at for at, row in enumerate(self.members)}

    @cached_property
    def covers(self) -> tuple[tuple[Nodes, ...], ...]:
        """Per node, ways in which it is a disjoint union of others; the last one is its leaves.

        In a hierarchy: its children, their children, and so on. Where sets overlap, a few exact covers.
        """
        counts = self.members.astype(np.float32)
        within = (counts @ counts.T == self.sizes[:, None]) & (self.sizes[:, None] < self.sizes[None, :])
        found: list[tuple[Nodes, ...]] = [()] * len(self)
        for node in np.argsort(self.sizes, kind="stable").tolist():
            if self.sizes[node] > 1:
                found[node] = self._covers_of(node, np.flatnonzero(within[:, node]), found)
        return tuple(found)

    def _covers_of(
        self, node: int, parts: NDArray[np.intp], found: Sequence[tuple[Nodes, ...]]
    ) -> tuple[Nodes, ...]:
        first = self._children(node, parts)
        covers = dict.fromkeys([first] if first else self._exact_covers(node, parts))
        level = first
        while level and any(found[one] for one in level):
            level = tuple(below for one in level for below in (found[one][0] if found[one] else (one,)))
            covers[level] = None
        leaves: Nodes = tuple(np.flatnonzero(self.members[node]).tolist())
        covers.pop(leaves, None)
        return (*covers, leaves)

    def _children(self, node: int, parts: NDArray[np.intp]) -> Nodes:
        """The largest sets inside a node, if they are disjoint and nothing is left over."""
        order = parts[np.argsort(-self.sizes[parts], kind="stable")]
        left, chosen = self.members[node].copy(), list[int]()
        for part in order.tolist():
            mine = self.members[part]
            if left[mine].all():
                chosen.append(part)
                left &= ~mine
            elif left[mine].any():
                return ()
            if not left.any():
                break
        return tuple(chosen)

    def _exact_covers(self, node: int, parts: NDArray[np.intp]) -> list[Nodes]:
        found, steps = list[Nodes](), [_MOST_STEPS]
        order = parts[np.argsort(-self.sizes[parts], kind="stable")]

        def extend(left: NDArray[np.bool_], chosen: Nodes) -> None:
            steps[0] -= 1
            if not left.any():
                found.append(chosen)
                return
            first = int(np.argmax(left))
            for part in order[self.members[order, first]].tolist():
                if len(found) >= _MOST_COVERS or steps[0] < 0:
                    return
                if left[self.members[part]].all():
                    extend(left & ~self.members[part], (*chosen, part))

        extend(self.members[node].copy(), ())
        return found
