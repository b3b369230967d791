"""How many records match a selection, where there are too many record types to list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from showthrough.errors import Undecided
from showthrough.records import Records
from showthrough.selection import Selection
from showthrough.tables.claims import Bounds, World
from showthrough.tables.proof import Leaf, Node, Proof, Terms
from showthrough.tables.readable import shorten_bounds
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.ranges import range_of
from showthrough.tables.search.universe import TooManyTypes
from showthrough.tables.wide.area import Excerpt, WideArea
from showthrough.tables.wide.audit import Part, first_dataset, parts_of
from showthrough.tables.wide.dataset import Beside, Dataset, least_together, most_together
from showthrough.tables.wide.joined import Factor, at_least_all, attributes_used
from showthrough.tables.wide.settled import BothEnds
from showthrough.tables.wide.shuffle import Shuffler
from showthrough.tables.wide.small import SmallPart
from showthrough.tables.wide.views import grown_views

__all__ = [
    "WideBounds",
]

#: Datasets of a walk that are tried on both ends.
_WALKED = 12

#: Views that are kept for the next selections.
_MOST_VIEWS = 12


@dataclass(frozen=True, eq=False)
class End:
    """One end of a range, with its proof by cells of the whole, and columns of a part that attain it."""

    count: int
    node: Node
    over: tuple[str, ...]
    beside: Beside | None


@dataclass(frozen=True, eq=False)
class PartRange:
    """Both ends for the part of a selection that is about one part of the area; no upper end: None."""

    part: Part
    terms: Terms
    low: End
    high: End | None


class WideBounds:
    """Answers how many records match selections.

    Parameters
    ----------
    area
        What is published.
    truth
        The microdata, where the publisher has them.
    """

    def __init__(self, area: WideArea, truth: Records | None) -> None:
        self.area = area
        self.known = None if truth is None else Dataset.of_records(truth)
        self.parts = parts_of(area, self.known)
        self._views: dict[tuple[int, ...], tuple[Excerpt, Decider]] = {}

    @cached_property
    def first(self) -> Dataset | None:
        """A dataset of the whole; None if none was found."""
        if self.known is not None:
            return self.known
        try:
            return first_dataset(self.area, self.parts)
        except Undecided:
            return None

    @cached_property
    def _walked(self) -> list[Dataset]:
        """Some datasets of a walk from the first one, for all selections."""
        if self.first is None:
            return []
        columns = tuple(at for part in self.parts for at in part.columns)
        walk = Shuffler(self.area.release, self.area.ties, columns, self.first, self.area.seed)
        return [walk.current for _ in range(_WALKED) if walk.wander(1)]

    def of(self, selection: Selection) -> Bounds:
        """Both ends for a selection."""
        area = self.area
        ranges = [self._range(part, terms) for part, terms in self._split(selection)]
        free = [name for name in selection.attributes if name in area.context.left_out]
        low, high = self._low(selection, ranges, free), self._high(selection, ranges)
        found = Bounds(
            selection,
            low.multiplicity,
            None if high is None else high.multiplicity,
            low,
            high,
            self._attaining(selection, ranges, low.multiplicity, inside=False),
            None if high is None else self._attaining(selection, ranges, high.multiplicity, inside=True),
        )
        return replace(area.recheck.bounds(found), release=area.release)

    def _split(self, selection: Selection) -> Iterator[tuple[Part, Terms]]:
        """What a selection says about each part that it is about."""
        names = self.area.release.schema.names
        for part in self.parts:
            mine = {names[at] for at in part.columns}
            terms = tuple(term for term in selection.terms if term[0] in mine)
            if terms:
                yield part, terms

    def _range(self, part: Part, terms: Terms) -> PartRange:
        if isinstance(part, SmallPart):
            found = shorten_bounds(range_of(part.decider, Selection(terms)), part.decider.shortener)
            return _in_whole(part, terms, found, part.excerpt)
        return self._in_views(part, terms)

    def _in_views(self, part: Part, terms: Terms) -> PartRange:
        """The best ends that views of more and more attributes prove; datasets of a view show nothing."""
        area, index = self.area, self.area.release.schema.index
        best: PartRange | None = None
        for over in grown_views(area, part.columns, tuple(index[name] for name, _ in terms)):
            area.tell(f"looking at {len(over):,} attributes")
            try:
                excerpt, decider = self._view(over)
                found = shorten_bounds(range_of(decider, Selection(terms)), decider.shortener)
            except (TooManyTypes, Undecided):
                continue
            best = _better(best, _in_whole(part, terms, found, excerpt))
        if best is None:
            names = tuple(name for name, _ in terms)
            return PartRange(part, terms, End(0, Leaf((), (), 1, 0), names, None), None)
        return best

    def _view(self, over: tuple[int, ...]) -> tuple[Excerpt, Decider]:
        """Some attributes, and what answers questions about them: kept for the next selections."""
        area = self.area
        if over not in self._views:
            excerpt = area.excerpt(over)
            effort = replace(area.effort, nodes=max(1, area.effort.nodes // 10), solver=0.0)
            decider = excerpt.decider(excerpt.system(effort.types), effort, area.seed, self.known)
            if len(self._views) >= _MOST_VIEWS:
                self._views.clear()
            self._views[over] = excerpt, decider
        return self._views[over]

    def _low(self, selection: Selection, ranges: Sequence[PartRange], free: Sequence[str]) -> Proof:
        """The lower end: of one part its own, of several what the number of records leaves over."""
        nothing = Proof(selection.terms, 0, at_least=Leaf((), (), 1, 0), over=selection.attributes)
        if free:
            return nothing
        if len(ranges) == 1:
            low = ranges[0].low
            return Proof(selection.terms, low.count, at_least=low.node, over=low.over)
        n = self.area.n_records
        if n is None or not ranges:
            return nothing if ranges else self._everybody()
        least = sum(one.low.count for one in ranges) - (len(ranges) - 1) * n
        if least <= 0:
            return nothing
        factors = [
            Factor(one.terms, one.low.count, BothEnds(one.low.node, one.low.node, one.low.over))
            for one in ranges
        ]
        node = at_least_all(factors, self.area.total_cells)
        return (
            self._accepted(Proof(selection.terms, least, at_least=node), [one.low for one in ranges])
            or nothing
        )

    def _everybody(self) -> Proof:
        """The least number of records."""
        best = Proof((), 0, at_least=Leaf((), (), 1, 0))
        for part in self.parts:
            low = self._range(part, ()).low
            if low.count > best.multiplicity:
                best = Proof((), low.count, at_least=low.node, over=low.over)
        return best

    def _high(self, selection: Selection, ranges: Sequence[PartRange]) -> Proof | None:
        """The upper end: the least of those of the parts, or the number of records."""
        highs = [one.high for one in ranges if one.high is not None]
        if len(highs) < len(self.parts) and not (len(ranges) == 1 and highs):
            others = [part for part in self.parts if all(part is not one.part for one in ranges)]
            whole = [self._range(part, ()).high for part in others]
            highs += [high for high in whole if high is not None]
        for high in sorted(highs, key=lambda high: high.count):
            proof = Proof(selection.terms, high.count, at_most=high.node)
            accepted = self._accepted(proof, [high])
            if accepted is not None:
                return accepted
        if highs or any(not isinstance(part, SmallPart) for part in self.parts):
            raise Undecided("no upper bound could be proved within the effort; raise --effort")
        return None

    def _accepted(self, proof: Proof, ends: Sequence[End]) -> Proof | None:
        """A proof over few attributes, or more, whichever the checker accepts."""
        area = self.area
        named = {name for name, _ in proof.selection}
        used = attributes_used(proof.nodes, area.release.layout.attributes) | named
        wide = {name for end in ends for name in end.over} | used
        for names in (used, wide):
            over = [name for name in area.context.frame.names if name in names]
            over += [name for name in area.context.left_out if name in names]
            made = replace(proof, over=tuple(over))
            if area.recheck.accepts(made):
                return made
        return None

    def _attaining(
        self, selection: Selection, ranges: Sequence[PartRange], count: int, *, inside: bool
    ) -> World | None:
        """A dataset of the whole in which the selection has a count; None if none was found."""
        for made in self._proposed(selection, ranges, inside=inside):
            shown = self._with_free(made, selection, inside=inside).world(self.area.release.schema)
            if shown.count(selection) == count and made.agrees_with(self.area.release):
                return shown
        return None

    def _proposed(
        self, selection: Selection, ranges: Sequence[PartRange], *, inside: bool
    ) -> Iterator[Dataset]:
        """Datasets of the whole in which a selection has as few records as possible, or as many."""
        encoded = self.area.release.schema.encode(selection)
        wanted = [{at: codes for at, codes in encoded.items() if at in part.columns} for part in self.parts]
        put = most_together if inside else least_together
        chosen = {id(one.part): (one.high if inside else one.low) for one in ranges}
        ends = [chosen.get(id(part)) for part in self.parts]
        sides = [None if end is None else end.beside for end in ends]
        numbers = {len(side) for side in sides if side is not None}
        if len(numbers) == 1:
            whole = self._filled(sides, numbers.pop())
            if whole is not None:
                yield put(whole, wanted, len(self.area.release.schema.attributes))
        if self.first is None:
            return
        own = [Beside.of(self.first, part.columns) for part in self.parts]
        yield put(own, wanted, len(self.area.release.schema.attributes))
        yield from self._walked

    def _filled(self, sides: Sequence[Beside | None], n: int) -> list[Beside] | None:
        """Columns of all parts, those that are free from any dataset with this many records."""
        found = list[Beside]()
        for part, side in zip(self.parts, sides, strict=True):
            if side is None and self.first is not None and len(self.first) == n:
                side = Beside.of(self.first, part.columns)
            side = part.with_records(n) if side is None else side
            if side is None:
                return None
            found.append(side)
        return found

    def _with_free(self, made: Dataset, selection: Selection, *, inside: bool) -> Dataset:
        """Attributes nothing is known about, in or out of the selection."""
        schema, codes = self.area.release.schema, made.codes.copy()
        for name in selection.attributes:
            if name in self.area.context.left_out:
                attribute = schema[name]
                value = next((v for v in attribute.values if (v in selection[name]) == inside), None)
                if value is not None:
                    codes[:, schema.index[name]] = attribute.code(value)
        return Dataset(codes, made.times)


def _in_whole(part: Part, terms: Terms, found: Bounds, excerpt: Excerpt) -> PartRange:
    """Bounds in an excerpt, with proofs by cells of the whole; datasets only if it is the whole part."""
    own = isinstance(part, SmallPart)

    def end(count: int, proof: Proof, world: World | None) -> End:
        node = proof.nodes[0]
        beside = Beside.of(Dataset.of_world(world), part.columns) if own and world is not None else None
        return End(count, excerpt.whole(node), proof.over, beside)

    high = None
    if found.high is not None and found.high_proof is not None:
        high = end(found.high, found.high_proof, found.high_world)
    return PartRange(part, terms, end(found.low, found.low_proof, found.low_world), high)


def _better(one: PartRange | None, other: PartRange) -> PartRange:
    """The better ends of both."""
    if one is None:
        return other
    low = max(one.low, other.low, key=lambda end: end.count)
    highs = [end for end in (one.high, other.high) if end is not None]
    high = min(highs, key=lambda end: end.count) if highs else None
    return PartRange(one.part, one.terms, low, high)
