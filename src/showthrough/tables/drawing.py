"""Proofs drawn: the published tables that a proof uses, with the cells it uses marked, and what follows.

A drawing says the same as :func:`~showthrough.tables.explain.explain_proof`, for eyes: which cells are added
(+) and which subtracted (−), the sum in ordinary numbers, what follows from it, and which cells published
as 0 (✕) and which rules exclude the records for which the sum would be wrong. It consists of plain values;
:mod:`~showthrough.tables.drawn_html` makes HTML of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from showthrough.release import UNBOUNDED, Published, Release
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from showthrough.tables.grounds import Exclusions, Grounds
from showthrough.tables.proof import Branch, Leaf, Node, Proof, Terms
from showthrough.tables.shape import cut, shape_of

__all__ = [
    "Drawing",
    "DrawnStep",
    "DrawnTable",
    "UsedCell",
    "draw_proof",
]

#: Sums of more cells, and proofs with more cases, are not drawn: nobody would follow them by eye.
MOST_CELLS, MOST_CASES = 24, 8

#: Zeros that are put into words one by one; and marked at all.
MOST_SAID, MOST_ZEROS = 8, 60


@dataclass(frozen=True)
class UsedCell:
    """A cell that is used: added (``+``), subtracted (``−``), or 0 and so excluding records (``✕``)."""

    cell: int
    sign: str
    times: int = 1


@dataclass(frozen=True)
class DrawnTable:
    """A table, by its number, with the rows and columns of its shape that are shown, and its marks."""

    table: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    marks: tuple[UsedCell, ...]

    @property
    def added(self) -> bool:
        """Whether cells of it are added or subtracted, and not only zeros used."""
        return any(mark.sign != "✕" for mark in self.marks)


@dataclass(frozen=True)
class DrawnStep:
    """One step: what it is about, tables, a sum, what follows, what is given, and its cases."""

    heading: str = ""
    tables: tuple[DrawnTable, ...] = ()
    sum: str = ""
    therefore: str = ""
    because: str = ""
    given: tuple[str, ...] = ()
    cases: tuple[DrawnStep, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A proof as steps, each of which holds for itself."""

    steps: tuple[DrawnStep, ...]

    @property
    def tables(self) -> set[int]:
        """The numbers of all tables that are shown."""
        left, found = list(self.steps), set[int]()
        while left:
            step = left.pop()
            found |= {one.table for one in step.tables}
            left += step.cases
        return found


def draw_proof(proof: Proof, release: Release, grounds: Grounds | None = None) -> Drawing | None:
    """The drawing of a proof; None if it is too long to be followed by eye.

    Parameters
    ----------
    proof
        The proof of a claim or of a bound.
    release
        The release that it is about.
    grounds
        What proofs about the release rest on, where it was made before.

    Returns
    -------
    Drawing or None
        The steps.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {"sex": [3, 2], "sex*ill": [1, None, 0, None]})
    >>> found = st.bounds(release, "sex=f,ill=yes")
    >>> step = draw_proof(found.low_proof, release).steps[0]
    >>> f"{step.sum}, {step.therefore}"
    '3 − 1 = 2, so at least 2 records.'
    >>> [(mark.sign, release.cells[mark.cell].name) for table in step.tables for mark in table.marks]
    [('+', 'sex=f'), ('−', 'ill=no,sex=f')]
    """
    leaves = proof.leaves
    if len(leaves) > MOST_CASES or any(len(leaf.cells) > MOST_CELLS for leaf in leaves):
        return None
    return Drawing(tuple(_Drawer(proof, release, grounds or Grounds(release)).steps()))


@dataclass(frozen=True)
class _Sense:
    """Which way a root proves: the sign of its multipliers, its words, and why sums prove it."""

    sign: int
    words: str
    rounded: str
    because: str


_LEAST = _Sense(
    1, "at least", "rounded up", "no possible {record} counts for more in the sum than in what is claimed"
)
_MOST = _Sense(
    -1,
    "at most",
    "rounded down",
    "every possible {record} counts for at least as much in the sum as in what is claimed",
)
_EXACT = _Sense(
    1, "exactly", "", "every possible {record} counts for as much in the sum as in what is claimed"
)
_NEVER = _Sense(1, "", "", "no possible {record} counts for more than nothing in the sum")


@dataclass(frozen=True)
class _Row:
    """A sum of counts that a case says something about: its words, and its ends."""

    name: str
    low: int
    high: int | None


@dataclass(frozen=True, eq=False)
class _Drawer:
    """One proof on its way into steps."""

    proof: Proof
    release: Release
    grounds: Grounds

    @property
    def schema(self) -> Schema:
        return self.release.schema

    def steps(self) -> Iterator[DrawnStep]:
        proof = self.proof
        low, high = proof.at_least, proof.at_most
        if isinstance(low, Leaf) and isinstance(high, Leaf) and _mirrored(low, high):
            yield self._leaf(low, _EXACT, (), replace(proof, never=None))
        else:
            if low is not None and not _is_nothing(low):
                yield self._root(low, _LEAST, replace(proof, at_most=None, never=None))
            if high is not None:
                yield self._root(high, _MOST, replace(proof, at_least=None, never=None))
        if proof.never is not None:
            m = proof.multiplicity
            rows = (_Row("what is counted", m, m),)
            alone = replace(proof, at_least=None, at_most=None)
            step = self._node(proof.never, _NEVER, rows, alone)
            yield replace(step, heading=f"Suppose that there were exactly {m:,} {self.schema.noun(m)}.")

    def _root(self, node: Node, sense: _Sense, alone: Proof) -> DrawnStep:
        step = self._node(node, sense, (), alone)
        m = self.proof.multiplicity
        if isinstance(node, Branch):
            many = f"{sense.words} {m:,} {self.schema.noun(m)}"
            return replace(step, therefore=f"In every case, {many}.")
        return step

    def _node(self, node: Node, sense: _Sense, rows: tuple[_Row, ...], alone: Proof) -> DrawnStep:
        if isinstance(node, Leaf):
            return self._leaf(node, sense, rows, alone)
        cases = self._cases(node, sense, rows, alone)
        told = [replace(case, heading=f"Case {at}: {case.heading}") for at, case in enumerate(cases, 1)]
        given = self._given(self.grounds.exclusions(alone), ()) if not rows or sense is _NEVER else ()
        return DrawnStep(cases=tuple(told), given=given)

    def _cases(self, node: Node, sense: _Sense, rows: tuple[_Row, ...], alone: Proof) -> Iterator[DrawnStep]:
        """The cases below a node, each with all that is supposed in it."""
        if isinstance(node, Leaf):
            step = self._leaf(node, sense, rows, None)
            yield replace(step, heading="; ".join(_supposed(row) for row in rows))
            return
        name = " and ".join(self._counted(terms) for terms in node.on)
        yield from self._cases(node.below, sense, (*rows, _Row(name, 0, node.at)), alone)
        yield from self._cases(node.above, sense, (*rows, _Row(name, node.at + 1, None)), alone)

    def _counted(self, terms: Terms) -> str:
        return f"the {self.schema.records} for which {self.schema.describe(Selection(terms))}"

    def _leaf(self, leaf: Leaf, sense: _Sense, rows: tuple[_Row, ...], alone: Proof | None) -> DrawnStep:
        """One sum; without a proof of its own, what it rests on is said elsewhere."""
        found = Exclusions() if alone is None else self.grounds.exclusions(alone)
        marks = [UsedCell(at, "+" if sense.sign * u > 0 else "−", abs(u)) for at, u in leaf.cells]
        used = {mark.cell for mark in marks}
        zeros = [UsedCell(at, "✕") for at in found.zeros if at not in used][:MOST_ZEROS]
        intervals = tuple(self._end_said(at, u) for at, u in leaf.cells if not self._cell(at).exact)
        nobody = not leaf.cells and not leaf.branches
        return DrawnStep(
            tables=tuple(self._tables([*marks, *(zeros if found.complete else [])])),
            sum="" if nobody else self._sum(leaf, sense, rows),
            therefore=self._nobody() if nobody else self._therefore(leaf, sense),
            because=self._because(leaf, sense, found),
            given=self._given(found, intervals) if alone is not None else intervals,
        )

    def _tables(self, marks: Sequence[UsedCell]) -> Iterator[DrawnTable]:
        """The tables with marked cells: those with cells that are added first."""
        layout, start = self.release.layout, 0
        found = list[DrawnTable]()
        for number, table in enumerate(layout.tables):
            mine = [mark for mark in marks if start <= mark.cell < start + len(table.cells)]
            start += len(table.cells)
            if mine:
                rows, columns = cut(shape_of(layout, number), (mark.cell for mark in mine))
                found.append(DrawnTable(number, rows, columns, tuple(mine)))
        yield from sorted(found, key=lambda one: not one.added)

    def _sum(self, leaf: Leaf, sense: _Sense, rows: tuple[_Row, ...]) -> str:
        """The sum in numbers: ``3 + 2 × 2 − 4 = 3``."""
        terms = [(_used_end(self._cell(at), sense.sign * u, sense), sense.sign * u) for at, u in leaf.cells]
        terms += [(_row_end(rows[depth], u), sense.sign * u) for depth, u in leaf.branches]
        terms.sort(key=lambda term: term[1] < 0)
        text = ""
        for number, u in terms:
            shown = f"{number:,}" if abs(u) == 1 else f"{abs(u):,} × {number:,}"
            text += (" − " if u < 0 else " + ") if text else ("−" if u < 0 else "")
            text += shown
        value = Fraction(sense.sign * leaf.total, leaf.denominator)
        if leaf.denominator > 1:
            text = f"({text}) / {leaf.denominator:,}" if len(terms) > 1 else f"{text} / {leaf.denominator:,}"
        if len(terms) == 1 and text == _decimal(value):
            return f"The marked cell is {text}" if leaf.cells else text
        return f"{text} = {_decimal(value)}"

    def _therefore(self, leaf: Leaf, sense: _Sense) -> str:
        """What follows from the sum."""
        value = Fraction(sense.sign * leaf.total, leaf.denominator)
        if sense is _NEVER:
            return f"but the sum cannot be more than 0: so there are never {self.proof.multiplicity:,}."
        whole = -(-value // 1) if sense.sign > 0 else value // 1
        rounding = f" ({sense.rounded}, as {self.schema.records} come whole)" if value != whole else ""
        return f"so {sense.words} {int(whole):,} {self.schema.noun(int(whole))}{rounding}."

    def _nobody(self) -> str:
        return f"So there is no such {self.schema.record}."

    def _because(self, leaf: Leaf, sense: _Sense, found: Exclusions) -> str:
        record, records = self.schema.record, self.schema.records
        given = found.zeros or found.rules or not found.whole
        after = ", given:" if given else "."
        if not leaf.cells and not leaf.branches:
            return f"Every such {record} is excluded:"
        if (
            len(leaf.cells) == 1
            and not leaf.branches
            and leaf.denominator == 1
            and abs(leaf.cells[0][1]) == 1
        ):
            words = {
                _EXACT: f"The marked cell counts the same {records}",
                _LEAST: f"Every {record} in the marked cell is counted",
                _MOST: f"Every {record} that is counted is in the marked cell",
            }
            if sense in words:
                return words[sense] + after
        return f"This holds because {sense.because.format(record=record)}{after}"

    def _given(self, found: Exclusions, intervals: tuple[str, ...]) -> tuple[str, ...]:
        """What the sum rests on besides: ends of intervals, zeros, and rules, in words."""
        rules = [self._rule(self.schema.rules[at]) for at in found.rules]
        if not found.whole and self.schema.rules:
            rules.append(f"The rules exclude more kinds of {self.schema.record}.")
        return (*intervals, *self._zeros_said(found), *rules)

    def _zeros_said(self, found: Exclusions) -> Iterator[str]:
        """Which records the zeros exclude, those of one table together where that makes it shorter."""
        if not found.complete:
            yield f"Cells published as 0 exclude other kinds of {self.schema.record}."
            return
        tables: dict[str, list[Selection]] = {}
        for at in found.zeros:
            cell = self._cell(at)
            tables.setdefault(cell.table, []).extend(selection for _, selection in cell.terms)
        for table, selections in tables.items():
            said = _merged(selections)
            for selection in said[:MOST_SAID]:
                what = self.schema.describe(selection) or "anything"
                yield f"For no {self.schema.record}, {what}: table {table} publishes 0."
            if len(said) > MOST_SAID:
                yield f"… and {len(said) - MOST_SAID:,} more zeros of table {table}."

    def _rule(self, rule: Rule) -> str:
        when, then = self.schema.describe(rule.when), self.schema.describe(rule.then)
        both = ", and vice versa" if rule.both_ways else ""
        return f"A rule: whenever {when}, {then}{both}." if when else f"A rule: {then}."

    def _end_said(self, at: int, u: int) -> str:
        """Which end of an interval is used."""
        cell = self._cell(at)
        words, end = ("At least", cell.low) if u > 0 else ("At most", cell.high)
        where = f"in the cell {cell.name} of table {cell.table}"
        return f"{words} {end:,} {self.schema.noun(end)} {where}: it is published as {cell.value()}."

    def _cell(self, at: int) -> Published:
        return self.release.cells[at]


def _is_nothing(node: Node) -> bool:
    """Whether a node proves only that a count is not negative."""
    return isinstance(node, Leaf) and not node.cells and not node.branches


def _mirrored(low: Leaf, high: Leaf) -> bool:
    """Whether both leaves are one equation: the same multipliers, up to the sign."""
    flipped = tuple((at, -u) for at, u in high.cells)
    same = sorted(low.cells) == sorted(flipped) and not (low.branches or high.branches)
    return same and bool(low.cells) and low.denominator == high.denominator and low.total == -high.total


def _used_end(cell: Published, multiplier: int, sense: _Sense) -> int:
    """The end of the published interval that the inequality uses."""
    lower = (multiplier > 0) == (sense.sign > 0) or cell.high >= UNBOUNDED
    return cell.low if lower else cell.high


def _row_end(row: _Row, multiplier: int) -> int:
    return row.low if multiplier > 0 or row.high is None else row.high


def _supposed(row: _Row) -> str:
    if row.high is None:
        return f"{row.name}: {row.low:,} or more"
    return f"{row.name}: {row.high:,}" if row.low == row.high else f"{row.name}: {row.high:,} or fewer"


def _decimal(value: Fraction) -> str:
    """A number as people write it; a fraction where it has no short decimals."""
    if value.denominator == 1:
        return f"{int(value):,}"
    return f"{float(value):g}" if value.denominator in (2, 4, 5, 8, 10) else f"{value}"


def _merged(selections: Sequence[Selection]) -> list[Selection]:
    """Selections that differ in one attribute only, put together; they cover the same records."""
    left = [dict(one.terms) for one in selections]
    for name in sorted({name for one in left for name in one}):
        groups: dict[tuple[object, ...], dict[str, tuple[str, ...]]] = {}
        for one in left:
            key = (name in one, *sorted((n, v) for n, v in one.items() if n != name))
            if key in groups and name in one:
                groups[key][name] = tuple(dict.fromkeys((*groups[key][name], *one[name])))
            else:
                groups[key] = dict(one)
        left = list(groups.values())
    return [Selection(tuple(one.items())) for one in left]
