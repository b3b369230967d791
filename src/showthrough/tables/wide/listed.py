"""Claims of an area of which no dataset is known: what views prove, and what they leave open.

Whatever follows from the cells about some attributes follows from all cells, whether a dataset is known or
not. Nothing is refuted without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import Undecided
from showthrough.tables.proof import Proof
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.questions import (
    VERIFIED,
    Answers,
    Candidates,
    Lattice,
    candidates_of,
    make_lattice,
)
from showthrough.tables.search.system import System
from showthrough.tables.search.universe import Frame, TooManyTypes, Universe
from showthrough.tables.wide.area import WideArea
from showthrough.tables.wide.dataset import Beside, Dataset, side_by_side
from showthrough.tables.wide.joined import shell
from showthrough.tables.wide.settled import BothEnds, SettledPart
from showthrough.tables.wide.small import audited_excerpt
from showthrough.tables.wide.views import Views

if TYPE_CHECKING:
    from showthrough.tables.audit import Scope

__all__ = [
    "ListedClaims",
    "listed_claims",
]


@dataclass(frozen=True)
class Listed:
    """A claim by its codes, one per column of the area (−1: any), with its proof if it has one."""

    codes: tuple[int, ...]
    count: int
    ends: BothEnds | None
    direct: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedClaims(ClaimTable):
    """Claims that are verified or open, each proof with the attributes that it looks at."""

    overs: Sequence[tuple[str, ...]]

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim; None if there is none."""
        if self.state[at] != VERIFIED:
            return None
        low, high = self.ends(at)
        over = self.overs[int(self.question[at])]
        return Proof(self.selection(at).terms, int(self.candidates.count[at]), low, high, over=over)


def listed_claims(area: WideArea, scope: Scope) -> ListedClaims:
    """All claims that views suggest: proved there, or open."""
    found: dict[tuple[int, ...], Listed] = {}
    for columns in area.parts:
        views = Views(area, columns)
        while (over := views.next_table()) is not None:
            area.tell(f"{len(found):,} claims, {views.done:,} sets of attributes looked at")
            views.note(0)
            for one in _of_view(area, over, scope):
                if one.ends is not None or one.codes not in found:
                    found[one.codes] = one
    for one in _open(area, scope, found):
        found.setdefault(one.codes, one)
    low, high = scope.multiplicity or (1, 2**62)
    kept = [one for _, one in sorted(found.items()) if low <= one.count <= high]
    return _table(area, scope, kept)


def _of_view(area: WideArea, over: tuple[int, ...], scope: Scope) -> list[Listed]:
    """The claims about some attributes, by the cells about them."""
    excerpt, frame = area.excerpt(over), area.context.frame
    try:
        audited = audited_excerpt(area, excerpt, scope, first=None)
    except (TooManyTypes, Undecided):
        return []
    claims = audited.claim_table
    view = SettledPart(over, claims, excerpt)
    places = [frame.over.index(at) for at in excerpt.frame.over]
    found = list[Listed]()
    named = claims.candidates.subset[:, None] >> np.arange(len(places)) & 1 != 0
    for at in np.flatnonzero(claims.k >= scope.min_columns).tolist():
        codes = np.full(len(frame.over), -1, np.int64)
        codes[places] = np.where(named[at], claims.codes[at].astype(np.int64), -1)
        ends = view.ends(at) if claims.state[at] == VERIFIED else None
        count = int(claims.candidates.count[at])
        found.append(Listed(tuple(codes.tolist()), count, ends, bool(claims.direct[at])))
    return found


def _open(area: WideArea, scope: Scope, found: Mapping[tuple[int, ...], Listed]) -> Iterator[Listed]:
    """Claims about columns that no view looked at: those of a made-up dataset with the counts of values.

    No such dataset need exist; but every set of columns has claims that are named as open.
    """
    frame = area.context.frame
    system, world = shell(area, frame, _made_up(area, found))
    largest = scope.max_columns or len(frame.sizes)
    lattice = make_lattice(frame.sizes, len(world.types), scope.min_columns, largest)
    claims = candidates_of(lattice, system.universe, world)
    named = claims.subset[:, None] >> np.arange(len(frame.over)) & 1 != 0
    codes = np.where(named, system.universe.codes[claims.type].astype(np.int64), -1)
    for row, count in zip(codes.tolist(), claims.count.tolist(), strict=True):
        yield Listed(tuple(row), count, None, direct=False)


def _made_up(area: WideArea, found: Mapping[tuple[int, ...], Listed]) -> Dataset:
    """Columns side by side, each with the counts of its values as far as these are proved."""
    frame, n = area.context.frame, area.n_records or 1
    sides = list[Beside]()
    for column, (at, size) in enumerate(zip(frame.over, frame.sizes, strict=True)):
        times, left = np.zeros(size, np.int64), n
        for code in range(size):
            alone = tuple(code if place == column else -1 for place in range(len(frame.over)))
            times[code] = min(left, found[alone].count if alone in found else 0)
            left -= int(times[code])
        times[0] += left
        sides.append(Beside((at,), np.arange(size, dtype=np.uint16)[:, None], times))
    return side_by_side(sides, len(area.release.schema.attributes))


def _table(area: WideArea, scope: Scope, listed: Sequence[Listed]) -> ListedClaims:
    frame = area.context.frame
    codes = np.array([one.codes for one in listed], np.int64).reshape(len(listed), len(frame.over))
    lattice = Lattice(frame.sizes, scope.min_columns, min(scope.max_columns or 62, len(frame.over)))
    bits = 1 << np.arange(len(frame.over), dtype=np.int64)
    subset = ((codes >= 0) * bits).sum(axis=1)
    keys = np.zeros(len(listed), np.uint64)
    for column, part in enumerate(lattice.parts):
        mine = codes[:, column]
        keys += np.where(mine >= 0, part[np.maximum(mine, 0)], np.uint64(0))
    count = np.array([one.count for one in listed], np.int64)
    candidates = Candidates(lattice, keys, subset, np.arange(len(listed)), count)
    ends = list({id(one.ends): one.ends for one in listed if one.ends is not None}.values())
    number = {id(one): at for at, one in enumerate(ends)}
    answers = Answers.open(np.zeros((len(ends) + 1, 1), np.uint64), np.zeros(len(ends) + 1, np.int64))
    for at, one in enumerate(ends):
        answers.at_least[at], answers.at_most[at] = one.low, one.high
        answers.state[at], answers.stage[at] = VERIFIED, "linear"
    answers.stage[len(ends)] = "effort"
    return ListedClaims(
        system=_rows(area, frame, np.maximum(codes, 0).astype(np.uint16)),
        pool=[],
        candidates=candidates,
        question=np.array([number.get(id(one.ends), len(ends)) for one in listed], np.int64),
        witness=np.full(len(listed), -1, np.int64),
        answers=answers,
        direct=np.array([one.direct for one in listed], bool),
        overs=[*(one.over for one in ends), ()],
    )


def _rows(area: WideArea, frame: Frame, codes: NDArray[np.uint16]) -> System:
    """Rows of codes as a system without cells, which nothing is asked of."""
    none, n = np.zeros(0, np.int64), len(codes)
    universe = Universe(frame, codes, np.zeros((n, 1), np.uint64))
    cells = np.full(len(area.release.low), -1, np.int64)
    return System(
        area.release, universe, np.zeros((0, n), np.uint8), none, none, none, none, np.arange(n), n, cells
    )
