"""From a proof about a count to an integer program that no whole numbers satisfy.

The rows are what the proof adds up: published cells, each as "at least" or as "at most"; cells published
as zero, and rules, as "at most 0"; and the claim, denied. Each variable is the number of records of some
types. The program says less than the release, never more, because every record type that an "at least"
row counts has a variable that stands

- in all "at least" rows that count the type, and
- in no "at most" row that does not count it.

Take any dataset that agrees with the release, and add up its records by variable: all rows hold, except
perhaps the one that denies the claim. So if no whole numbers satisfy all rows, the claim holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from showthrough.errors import ProofError
from showthrough.formats.vipr.kinds import Excluded, Integers, Line, RecordKinds, Variable
from showthrough.formats.vipr.vipr_file import Certificate, DerivationStep, Row, check_certificate, plain_name
from showthrough.release import UNBOUNDED, Published, Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.proof import Leaf, Node, Proof, Terms

__all__ = [
    "CLAIM",
    "Part",
    "broken_rules",
    "certify",
    "parts_of",
    "row_names",
]

#: The row that denies the claim.
CLAIM = "claim_denied"

#: What a proof may prove.
Part = Literal["at_least", "at_most", "never"]

#: Multipliers that add up to less are computed with in 64 bits.
_SMALL = 2**40


def parts_of(proof: Proof) -> tuple[Part, ...]:
    """What a proof proves; each takes a certificate."""
    every: tuple[Part, ...] = ("at_least", "at_most", "never")
    return tuple(part for part in every if getattr(proof, part) is not None)


def row_names(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The name of each cell's row, from the names of its table and of the cell.

    >>> row_names([("age*sex", "age=old,sex=f"), ("größe", "1"), ("größe", "1 ")])
    ('age*sex:age=old,sex=f', 'gr~f6~~df~e:1', 'gr~f6~~df~e:1_')
    """
    new = _Names()
    return tuple(new(f"{plain_name(table)}:{plain_name(cell)}") for table, cell in names)


def broken_rules(schema: Schema) -> tuple[Excluded, ...]:
    """The records that rules exclude, one selection for each way to break a rule.

    >>> from showthrough.schema import Rule
    >>> rule = Rule("size=1", "type=alone", both_ways=True)
    >>> schema = Schema.of({"size": ["1", "2"], "type": ["alone", "couple"]}, rules=[rule])
    >>> [(one.name, str(Selection(one.terms))) for one in broken_rules(schema)]
    [('rule_1.1', 'size=1,type=couple'), ('rule_1.2', 'size=2,type=alone')]
    """
    found: list[Excluded] = []
    for number, rule in enumerate(schema.rules, start=1):
        sides = [(rule.when, rule.then), (rule.then, rule.when)][: 1 + rule.both_ways]
        ways = [(when, name, allowed) for when, then in sides for name, allowed in then.terms]
        for way, (when, name, allowed) in enumerate(ways, start=1):
            given = {n: v for n, v in when.terms if set(v) != set(schema[n].values)}
            given[name] = tuple(v for v in given.get(name, schema[name].values) if v not in allowed)
            if given[name]:
                found.append(Excluded(f"rule_{number}.{way}", Selection.of(given).terms))
    return tuple(found)


def certify(
    proof: Proof,
    part: Part,
    claims: Sequence[Terms],
    release: Release,
    names: Sequence[str],
    comments: Sequence[str] = (),
) -> Certificate:
    """A certificate that one part of a proof holds for all of these claims; its steps are checked.

    Parameters
    ----------
    proof, part
        The proof, and which of its parts.
    claims
        The selections whose counts it is about.
    release
        What is published.
    names
        The name of each cell's row: see :func:`row_names`.
    comments
        Lines about it for people.

    Raises
    ------
    ProofError
        If the proof does not hold for all of the claims.
    """
    apart = _Apart.of(proof, part, tuple(claims), release.cells, names)
    zeros = [
        Excluded(name, selection.terms)
        for cell, name in zip(release.cells, names, strict=True)
        if cell.high == 0
        for _, selection in cell.terms
    ]
    schema = release.schema
    kinds = RecordKinds(apart.lines, apart.matrix(), schema, proof.over, [*broken_rules(schema), *zeros])
    certificate = _Assembly(apart, kinds).certificate(comments)
    check_certificate(certificate)
    return certificate


#: The cases that a leaf lies in: each by the position of its line, with 1 where there are more.
_Path = tuple[tuple[int, int], ...]


@dataclass
class _Apart:
    """A proof taken apart: the lines it adds up, and per leaf the multipliers, negative for "at most"."""

    root: Node
    lines: list[Line] = field(default_factory=list[Line])
    leaves: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    _place: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])

    @classmethod
    def of(
        cls,
        proof: Proof,
        part: Part,
        claims: tuple[Terms, ...],
        cells: Sequence[Published],
        names: Sequence[str],
    ) -> _Apart:
        root: Node = getattr(proof, part)
        apart, m = cls(root), proof.multiplicity
        for leaf, path in apart._paths(root, ()):
            used: dict[int, int] = {}
            branches = dict(leaf.branches)
            if leaf.denominator < 1 or len(branches) != len(leaf.branches):
                raise ProofError("a denominator is not positive, or a row is multiplied twice")
            if part == "at_least":
                apart._add(used, -1, Line(CLAIM, "L", m - 1, claims), -leaf.denominator)
            elif part == "at_most":
                apart._add(used, -1, Line(CLAIM, "G", m + 1, claims), leaf.denominator)
            elif u := branches.pop(0, 0):
                apart._add(used, -1, Line(CLAIM, "G" if u > 0 else "L", m, claims), u)
            for at, u in leaf.cells:
                if not 0 <= at < len(cells):
                    raise ProofError(f"the proof names cell {at}, the release has {len(cells)}")
                apart._add_cell(used, at, cells[at], names[at], u)
            for depth, u in branches.items():
                _add_case(used, path, depth - (part == "never"), u)
            apart.leaves.append(used)
        return apart

    def matrix(self) -> Integers:
        """The multipliers: lines down, leaves across."""
        every = [[leaf.get(at, 0) for leaf in self.leaves] for at in range(len(self.lines))]
        small = sum(abs(u) for row in every for u in row) < _SMALL
        return np.array(every, np.int64 if small else object).reshape(len(every), len(self.leaves))

    def _paths(self, node: Node, path: _Path) -> Iterator[tuple[Leaf, _Path]]:
        if isinstance(node, Leaf):
            yield node, path
            return
        at = len(self.lines)
        self.lines.append(Line(f"case_{at + 1}", "E", node.at, node.on))
        yield from self._paths(node.below, (*path, (at, 0)))
        yield from self._paths(node.above, (*path, (at, 1)))

    def _add_cell(self, used: dict[int, int], at: int, cell: Published, name: str, u: int) -> None:
        terms = tuple(selection.terms for _, selection in cell.terms)
        weights = tuple(weight for weight, _ in cell.terms) if cell.is_sum else ()
        if u < 0 and cell.high >= UNBOUNDED:
            raise ProofError("a multiplier uses an upper bound that is not published")
        if u < 0:
            self._add(used, at, Line(name, "L", cell.high, terms, weights), u)
        elif u > 0 and cell.low > 0:  # that a count is at least 0 adds nothing
            self._add(used, at, Line(name, "G", cell.low, terms, weights), u)

    def _add(self, used: dict[int, int], at: int, line: Line, u: int) -> None:
        if (at, line.sense) not in self._place:
            self._place[at, line.sense] = len(self.lines)
            self.lines.append(line)
        place = self._place[at, line.sense]
        if place in used:
            raise ProofError("a row is multiplied twice")
        used[place] = u


def _add_case(used: dict[int, int], path: _Path, depth: int, u: int) -> None:
    if not 0 <= depth < len(path):
        raise ProofError(f"the proof uses branch {depth}, but only {len(path)} are open there")
    at, more = path[depth]
    if more and u < 0:
        raise ProofError("a multiplier uses an upper bound that is not published")
    if more or u < 0:  # that a count is at least 0 adds nothing
        used[at] = u


class _Assembly:
    """Puts the rows and the steps of a certificate together."""

    def __init__(self, apart: _Apart, kinds: RecordKinds) -> None:
        self._apart, self._variables = apart, kinds.variables()
        columns = [one.column for one in self._variables]
        self._columns = np.array(columns, np.int64).reshape(-1, len(apart.lines))
        self._excess = kinds.excess(self._columns)
        #: Per variable that it takes, the row that says: at least 0, or none at all.
        self._bound: dict[int, int] = {}
        self._place: dict[int, int] = {}
        self._steps: list[DerivationStep] = []
        self._n_leaves = 0

    def certificate(self, comments: Sequence[str]) -> Certificate:
        """The certificate."""
        rows = self._made_rows()
        self._cases = iter([at for at, line in enumerate(self._apart.lines) if line.sense == "E"])
        self._n_rows = len(rows)
        self._follow(self._apart.root, {})
        new = _Names()
        names = tuple(new(_words(at, one)) for at, one in enumerate(self._variables))
        n_bounds = sum(self._variables[at].excluded is None for at in self._bound)
        whole = tuple(range(len(names)))
        return Certificate(names, whole, tuple(rows), tuple(self._steps), n_bounds, tuple(comments))

    def _made_rows(self) -> list[Row]:
        new, rows = _Names(), list[Row]()
        for at, one in enumerate(self._variables):
            if one.excluded is None and self._excess[at].any():
                self._bound[at] = len(rows)
                rows.append(Row(new(f"nonnegative_{at}"), "G", 0, ((at, 1),)))
        for at, line in enumerate(self._apart.lines):
            if line.sense != "E":
                self._place[at] = len(rows)
                rows.append(Row(new(line.name), line.sense, line.value, self._terms(at)))
        for at, one in enumerate(self._variables):
            if one.excluded is not None:
                self._bound[at] = len(rows)
                rows.append(Row(new(one.excluded.name), "L", 0, ((at, 1),)))
        return rows

    def _terms(self, line: int) -> tuple[tuple[int, int], ...]:
        column = self._columns[:, line]
        return tuple((int(at), int(column[at])) for at in np.flatnonzero(column))

    def _follow(self, node: Node, cases: Mapping[int, int]) -> int:
        """Add the steps that contradict the rows and the open cases; where the last of them is."""
        if isinstance(node, Leaf):
            return self._sum(cases)
        at = next(self._cases)
        name, terms = self._apart.lines[at].name, self._terms(at)
        below = self._add(DerivationStep(Row(f"{name}.most", "L", node.at, terms), "asm"))
        above = self._add(DerivationStep(Row(f"{name}.least", "G", node.at + 1, terms), "asm"))
        first = self._follow(node.below, {**cases, at: below})
        second = self._follow(node.above, {**cases, at: above})
        return self._add(
            DerivationStep(Row(f"{name}.both", "G", 1), "uns", ((first, below), (second, above)))
        )

    def _sum(self, cases: Mapping[int, int]) -> int:
        """Add the sum of one leaf, in which all variables cancel out."""
        leaf, total = self._n_leaves, 0
        self._n_leaves += 1
        uses = [(row, -int(u)) for at, row in self._bound.items() if (u := self._excess[at, leaf])]
        for at, u in self._apart.leaves[leaf].items():
            line = self._apart.lines[at]
            uses.append((self._place[at] if line.sense != "E" else cases[at], u))
            total += u * (line.value + (line.sense == "E" and u > 0))
        return self._add(DerivationStep(Row(f"sum_{leaf + 1}", "G", total), "lin", tuple(sorted(uses))))

    def _add(self, step: DerivationStep) -> int:
        self._steps.append(step)
        return self._n_rows + len(self._steps) - 1


class _Names:
    """Names, none of them twice."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def __call__(self, name: str) -> str:
        """The name, with a number where it is taken."""
        number, found = 1, name
        while found in self._used:
            number += 1
            found = f"{name}@{number}"
        self._used.add(found)
        return found


def _words(at: int, one: Variable) -> str:
    """Whom a variable counts, as its name: one kind, by its values, and how many others."""
    if one.excluded is not None:
        return f"nobody_{at}"
    first = plain_name(",".join(value for _, (value,) in one.terms)) if one.terms else "anybody"
    return f"{first}+{one.n_more}" if one.n_more else first
