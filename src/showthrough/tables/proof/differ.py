"""In how many records two datasets that agree can differ, at most: the checker of such a bound.

Two datasets of N records have Σ min(x, y) records in common, with x and y the numbers of records of each
type. Where a type has at most h records, min(x, y) ≥ max(0, x + y − h). So with z the mean of the two,
which satisfies every cell as both do, they have at least Σ max(0, 2·z − h) in common. Let u be one
integer per cell and d a positive integer, such that for every type t that can exist ::

    s(t) = Σ u_i·[t ∈ cell_i]  ≤  2·d,   and  ≤ 0  where nothing limits the number of its records

then max(0, 2·z − h) ≥ s⁺/(2·d)·(2·z − h) for each type, and Σ s⁺·z ≥ Σ s·z ≥ total, as in every proof.
"""

from __future__ import annotations

from .checker import Checker, Proof
from .failure import ProofError
from .tree import Leaf

__all__ = [
    "DifferChecker",
]


class DifferChecker(Checker):
    """Checks bounds on how different two datasets can be."""

    def check_differ(self, leaf: Leaf, total: Proof, most: int) -> None:
        """Raise :class:`ProofError` unless two datasets never differ in more than so many records.

        Parameters
        ----------
        leaf
            The multipliers; no branches.
        total
            A proof of how many records there are, exactly.
        most
            The number of records.
        """
        n, over = total.multiplicity, total.over
        if total.selection or total.at_least is None or total.at_most is None:
            raise ProofError("how many records there are is not proved")
        self.check(total)
        if most >= n:
            return
        if any(len(values) > 1 for name, values in self._possible.values.items() if name not in over):
            raise ProofError("datasets can differ in an attribute that the proof leaves out")
        if leaf.branches or leaf.denominator < 1:
            raise ProofError("the proof is malformed")
        types = self._possible.types(over)
        sums, limits = [0] * types.n, [-1] * types.n
        total_sum = 0
        for at, cell in enumerate(self._cells):
            if cell.high < 2**62:
                for number, weight in enumerate(self._row(at, types).member.tolist()):
                    if weight and not 0 <= limits[number] <= cell.high // int(weight):
                        limits[number] = cell.high // int(weight)
        if len({at for at, _ in leaf.cells}) != len(leaf.cells):
            raise ProofError("a row is multiplied twice")
        for at, u in leaf.cells:
            row = self._row(at, types)
            if u < 0 and row.high is None:
                raise ProofError("a multiplier uses an upper bound that is not published")
            total_sum += u * row.low if u > 0 or row.high is None else u * row.high
            for number, weight in enumerate(row.member.tolist()):
                sums[number] += u * int(weight)
        for one, limit in zip(sums, limits, strict=True):
            if one > 2 * leaf.denominator or (one > 0 and limit < 0):
                raise ProofError("the multipliers exceed what a record type can contribute")
        shared = 2 * total_sum - sum(one * limit for one, limit in zip(sums, limits, strict=True) if one > 0)
        in_common = -(-shared // (2 * leaf.denominator))
        if n - in_common > most:
            raise ProofError(f"the multipliers prove that at most {n - in_common} differ, not {most}")
