"""In how many records two datasets that agree can differ, at most: such a bound, and its check.

Two datasets of N records have Σ min(x, y) records in common, with x and y the numbers of records of each
type. Where a type has at most h records, min(x, y) ≥ max(0, x + y − h). So with z the mean of the two,
which satisfies every cell as both do, they have at least Σ max(0, 2·z − h) in common. Let u be one
integer per cell and d a positive integer, such that for every type t that can exist ::

    s(t) = Σ u_i·[t ∈ cell_i]  ≤  2·d,   and  ≤ 0  where nothing limits the number of its records

then max(0, 2·z − h) ≥ s⁺/(2·d)·(2·z − h) for each type, and Σ s⁺·z ≥ Σ s·z ≥ total, as in every proof.

Records that proved claims name in every attribute are in all datasets, so that two have these in common.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .checker import Checker, Proof
from .failure import ProofError
from .tree import Leaf, Terms, from_plain, to_plain

__all__ = [
    "Difference",
    "n_different",
    "n_settled",
]

#: Records, each with how often it occurs.
Rows = Sequence[tuple[Mapping[str, str], int]]


@dataclass(frozen=True)
class Difference:
    """No two datasets that agree differ in more than ``most`` records.

    Attributes
    ----------
    most
        So many.
    total
        A proof of how many records there are, exactly.
    over
        The attributes that the multipliers look at.
    leaf
        The multipliers, without branches; None if the claims about whole records prove it.
    """

    most: int
    total: Proof
    over: tuple[str, ...] = ()
    leaf: Leaf | None = None

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.total.multiplicity

    def check(self, checker: Checker, settled: int = 0) -> None:
        """Raise :class:`ProofError` unless this holds.

        Parameters
        ----------
        checker
            The checker of the release, or of a part of an area.
        settled
            How many records proved claims name in every attribute.
        """
        if self.total.selection or self.total.at_least is None or self.total.at_most is None:
            raise ProofError("how many records there are is not proved")
        checker.check(self.total)
        if self.records - settled <= self.most:
            return
        if self.leaf is None:
            raise ProofError(f"claims prove that at most {self.records - settled} differ, not {self.most}")
        in_common = self._in_common(checker, self.leaf)
        if self.records - in_common > self.most:
            raise ProofError(
                f"the multipliers prove that at most {self.records - in_common} differ, not {self.most}"
            )

    def _in_common(self, checker: Checker, leaf: Leaf) -> int:
        """How many records any two datasets have in common, by the multipliers."""
        if not checker.open_attributes() <= set(self.over):
            raise ProofError("datasets can differ in an attribute that the proof leaves out")
        if leaf.branches or leaf.denominator < 1:
            raise ProofError("the proof is malformed")
        if len({at for at, _ in leaf.cells}) != len(leaf.cells):
            raise ProofError("a row is multiplied twice")
        types = checker.possible_types(self.over)
        sums, total = [0] * types.n, 0
        for at, u in leaf.cells:
            row = checker.row(at, types)
            if u < 0 and row.high is None:
                raise ProofError("a multiplier uses an upper bound that is not published")
            total += u * row.low if u > 0 or row.high is None else u * row.high
            member = row.member(types)
            for number in member.nonzero()[0].tolist():
                sums[number] += u * int(member[number])
        limits = checker.most_of_each(types).tolist()
        if any(s > 2 * leaf.denominator or (s > 0 and h >= 2**62) for s, h in zip(sums, limits, strict=True)):
            raise ProofError("the multipliers exceed what a record type can contribute")
        shared = 2 * total - sum(s * h for s, h in zip(sums, limits, strict=True) if s > 0)
        return -(-shared // (2 * leaf.denominator))

    def to_json(self) -> str:
        """As one line of JSON."""
        plain: dict[str, Any] = {"most": self.most, "total": json.loads(self.total.to_json())}
        if self.leaf is not None:
            plain |= {"over": list(self.over), "leaf": to_plain(self.leaf)}
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Difference:
        """The inverse of :meth:`to_json`; anything malformed is a :class:`ProofError`."""
        try:
            plain = json.loads(text)
            leaf = from_plain(plain["leaf"]) if "leaf" in plain else None
            if type(plain["most"]) is not int or not (leaf is None or isinstance(leaf, Leaf)):
                raise TypeError("a number, or multipliers, expected")
            total = Proof.from_json(json.dumps(plain["total"], ensure_ascii=False))
            return cls(plain["most"], total, tuple(map(str, plain.get("over", ()))), leaf)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProofError(f"the proof cannot be read: {error}") from None


def n_settled(claims: Iterable[tuple[Terms, int]], attributes: set[str]) -> int:
    """How many records proved claims (selection, count) name in all of these attributes."""
    whole: dict[tuple[str, ...], int] = {}
    names = sorted(attributes)
    for terms, count in claims:
        found = dict(terms)
        if all(len(found.get(name, ())) == 1 for name in names):
            whole[tuple(found[name][0] for name in names)] = count
    return sum(whole.values())


def n_different(first: Rows, second: Rows) -> int:
    """In how many records two datasets with as many records differ.

    >>> n_different([({"sex": "f"}, 2), ({"sex": "m"}, 1)], [({"sex": "f"}, 3)])
    1
    """
    counts: list[dict[tuple[tuple[str, str], ...], int]] = [{}, {}]
    for rows, count in zip((first, second), counts, strict=True):
        for record, times in rows:
            key = tuple(sorted(record.items()))
            count[key] = count.get(key, 0) + times
    one, other = counts
    if sum(one.values()) != sum(other.values()):
        raise ProofError("two datasets have different numbers of records")
    return sum(max(0, n - other.get(record, 0)) for record, n in one.items())
