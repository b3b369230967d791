"""Which suppressed cells can be computed from what is published, and how narrow the others are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import Undecided, check_type
from showthrough.export import Tabular
from showthrough.release import UNBOUNDED, Published, Release
from showthrough.tables.audit import area_seed, check_release, start_decider
from showthrough.tables.decision import context_of
from showthrough.tables.explain import explain_proof
from showthrough.tables.proof import Proof
from showthrough.tables.recheck import Recheck
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.ends import Ends, NoWorld
from showthrough.tables.search.lattice import build_lattice
from showthrough.tables.search.reduced import TooLarge
from showthrough.tables.search.universe import Frame, TooManyTypes, make_frame
from showthrough.tally import attributes_of
from showthrough.text import html_summary, several

__all__ = [
    "OUTCOMES",
    "Outcome",
    "RecoveredCell",
    "Recovery",
    "area_rows",
    "exit_code",
    "given_away",
    "interval",
    "most_exposed",
    "recover",
    "sentence",
]

Outcome = Literal["exact", "close", "narrowed", "hidden", "undecided"]

#: What can become of a cell, and how that is called.
OUTCOMES: dict[Outcome, str] = {
    "exact": "exact",
    "close": "to within ±1",
    "narrowed": "narrowed",
    "hidden": "as published",
    "undecided": "not decided",
}

#: Areas named in a sentence.
_MOST_NAMED = 5

#: From this many different finite intervals on, a table without exact counts is taken as rounded.
_ROUNDED = 3


def interval(low: int, high: int | None) -> str:
    """An interval as it is printed.

    >>> interval(3, 3), interval(0, 4), interval(2, None)
    ('3', '0–4', 'at least 2')
    """
    if high is None:
        return f"at least {low:,}" if low else "any number"
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


@dataclass(frozen=True)
class RecoveredCell:
    """What follows about one cell whose count is not published.

    Attributes
    ----------
    at
        The cell's position in the release.
    published
        The cell, with the bounds that are published.
    low, high
        The proved bounds of its count; ``high`` is None if nothing limits it.
    low_attained, high_attained
        Whether a dataset was found that attains the end: then it cannot be narrower.
    differs
        Whether two datasets were found in which the cell has different counts: then nobody can compute it.
    rounded
        Whether the cell is rounded rather than suppressed.
    proofs
        The proofs of the ends that are narrower than published; one where the count is exact.
    """

    at: int
    published: Published
    low: int
    high: int | None
    low_attained: bool
    high_attained: bool
    differs: bool
    rounded: bool = False
    proofs: tuple[Proof, ...] = field(default=(), repr=False)

    @property
    def exact(self) -> bool:
        """Whether the count follows from what is published."""
        return self.low == self.high

    @property
    def tight(self) -> bool:
        """Whether datasets attain both ends."""
        return self.low_attained and self.high_attained

    @property
    def outcome(self) -> Outcome:
        """``exact``; ``close`` (to within ±1) or ``narrowed``; ``hidden`` if nothing follows beyond what
        is published; ``undecided`` if the datasets found do not show that it differs, or is hidden."""
        if self.exact:
            return "exact"
        if not self.differs or not (self.proofs or self.tight):
            return "undecided"
        if not self.proofs:
            return "hidden"
        return "close" if self.high is not None and self.high - self.low <= 2 else "narrowed"

    def arithmetic(self, release: Release) -> list[str]:
        """Its proof as arithmetic on published cells."""
        return [line for proof in self.proofs for line in explain_proof(proof, release)]

    def to_plain(self, release: Release) -> dict[str, object]:
        """As ``recover --json`` prints it."""
        return {
            "area": release.area,
            "table": self.published.table,
            "cell": self.published.name,
            "low": self.low,
            "high": self.high,
            "published": self.published.value(),
            "exact": self.exact,
            "narrowest": self.tight,
            "rounded": self.rounded,
            "proof": self.arithmetic(release),
        }


@dataclass(frozen=True, eq=False)
class Recovery(Tabular):
    """What follows about all cells of an area whose counts are not published.

    Attributes
    ----------
    release
        What is published.
    cells
        The cells without a published count, in the order of the release.
    whole
        Whether all datasets were considered together; if not, there are too many record types, and
        bounds follow from the tables of fewer attributes alone: narrower ones may exist.
    """

    release: Release
    cells: tuple[RecoveredCell, ...]
    whole: bool = True

    def __repr__(self) -> str:
        return f"<Recovery: {sentence([self])}>"

    def _repr_html_(self) -> str:
        """The sentence and the first cells, for notebooks."""
        rows = [
            [c.published.table, c.published.name, c.published.value(), interval(c.low, c.high)]
            for c in self.cells
        ]
        note = f"… and {len(rows) - 20:,} more in .cells" if len(rows) > 20 else ""
        return html_summary(
            sentence([self]), [["table", "cell", "published", "proved"], *rows[:20]], note=note
        )

    @property
    def suppressed(self) -> tuple[RecoveredCell, ...]:
        """The cells that are not merely rounded."""
        return tuple(cell for cell in self.cells if not cell.rounded)

    @property
    def recovered(self) -> tuple[RecoveredCell, ...]:
        """The cells whose count follows."""
        return tuple(cell for cell in self.cells if cell.exact)

    @property
    def given_away(self) -> bool:
        """Whether the count of every cell follows."""
        return bool(self.cells) and all(cell.exact for cell in self.cells)

    def to_plain(self) -> list[dict[str, object]]:
        """One object for each cell, as ``recover --json`` prints them."""
        return [cell.to_plain(self.release) for cell in self.cells]

    def to_arrow(self) -> pa.Table:
        """One row per cell without a published count."""
        return pa.table(
            {
                "table": pa.array([cell.published.table for cell in self.cells], pa.string()),
                "cell": pa.array([cell.published.name for cell in self.cells], pa.string()),
                "published": pa.array([cell.published.value() for cell in self.cells], pa.string()),
                "low": pa.array([cell.low for cell in self.cells], pa.int64()),
                "high": pa.array([cell.high for cell in self.cells], pa.int64()),
                "outcome": pa.array([cell.outcome for cell in self.cells], pa.string()),
            }
        )


def sentence(found: Iterable[Recovery]) -> str:
    """How many cells can be computed, in words; the same on the terminal and on pages.

    >>> sentence([])
    'Every cell has a published count: there is nothing to recover.'
    """
    cells = [cell for one in found for cell in one.cells]
    parts = [
        _counted([c.outcome for c in cells if c.rounded == rounded], kind)
        for rounded, kind in ((False, "suppressed cell"), (True, "rounded cell"))
        if any(c.rounded == rounded for c in cells)
    ]
    return " ".join(parts) or "Every cell has a published count: there is nothing to recover."


def given_away(found: Sequence[Recovery]) -> str:
    """In which areas all cells follow; nothing where there are none, or no areas."""
    names = [one.release.area for one in found if one.given_away and one.release.area]
    if not names:
        return ""
    listed = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return f"In {several(len(names), 'area')} no cell stays hidden: {listed}."


def most_exposed(found: Iterable[Recovery]) -> list[Recovery]:
    """The areas with cells that are not published, those of which most cells follow first."""
    return sorted(
        (one for one in found if one.cells), key=lambda one: (-len(one.recovered), one.release.area)
    )


def area_rows(found: Iterable[Recovery]) -> list[tuple[str, ...]]:
    """Per area its cells by what became of them, as far as that occurs, with a row of heads."""
    exposed = most_exposed(found)
    seen = {cell.outcome for one in exposed for cell in one.cells}
    kinds: list[Outcome] = [kind for kind in OUTCOMES if kind in seen]
    rows: list[tuple[str, ...]] = [("area", "cells", *(OUTCOMES[kind] for kind in kinds))]
    for one in exposed:
        times = Counter(cell.outcome for cell in one.cells)
        rows.append((one.release.area, f"{len(one.cells):,}", *(f"{times[kind]:,}" for kind in kinds)))
    return rows


def exit_code(found: Iterable[Recovery]) -> int:
    """1 if a cell can be computed, 3 if that is not decided for some, 0 if none can."""
    outcomes = {cell.outcome for one in found for cell in one.cells}
    return 1 if "exact" in outcomes else 3 if "undecided" in outcomes else 0


def _counted(outcomes: list[Outcome], kind: str) -> str:
    times, n = Counter(outcomes), len(outcomes)
    text = f"{times['exact']:,} of {several(n, kind)} can be computed exactly"
    more = [f"{times['close']:,} more to within ±1"] if times["close"] else []
    more += [f"{times['narrowed']:,} narrowed"] if times["narrowed"] else []
    more += [f"{times['hidden']:,} as hidden as published"] if times["hidden"] else []
    more += [f"{times['undecided']:,} not decided"] if times["undecided"] else []
    return "; ".join([text, *more]) + "."


def recover(release: Release, *, effort: float = 1.0, seed: int = 0) -> Recovery:
    """What follows about every cell whose count is suppressed, rounded or left out.

    Parameters
    ----------
    release
        The published tables of one area.
    effort
        Multiplies all limits on work.
    seed
        The seed of the draws.

    Returns
    -------
    Recovery
        For every such cell the least and the largest count, each proved where it is narrower than
        published, and whether datasets attain them.

    Raises
    ------
    Contradiction
        If no dataset agrees with the release.
    Undecided
        If no dataset was found within the effort.

    Examples
    --------
    A row and a column total give the suppressed cells away:

    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {"sex*ill": [7, None, 5, 2], "sex": [8, 7]})
    >>> found = st.recover(release)
    >>> found
    <Recovery: 1 of 1 suppressed cell can be computed exactly.>
    >>> found.cells[0].arithmetic(release)
    ['count = [sex=f] − [ill=no,sex=f] = 8 − 7 = 1']
    """
    check_release(release)
    check_type(seed, Integral, name="seed")
    limits = Effort.of(effort)
    targets = np.flatnonzero(release.low < release.high)
    if not len(targets):
        return Recovery(release, ())
    work = _Work(release, targets, limits, area_seed(seed, release.area))
    try:
        made = work.over(context_of(release.layout).frame)
        whole = True
    except (TooManyTypes, TooLarge):
        made, whole = work.over_parts(), False
    except NoWorld:
        start_decider(release, truth=None, effort=effort, seed=seed)  # says what contradicts what
        raise Undecided("no dataset was found within the effort; raise --effort") from None
    return Recovery(release, tuple(made), whole)


class _Work:
    """The cells of one release that are to be found."""

    def __init__(self, release: Release, targets: NDArray[np.int64], limits: Effort, seed: int) -> None:
        self.release = release
        self.targets = targets
        self.limits = limits
        self.seed = seed
        self.recheck = Recheck(release)
        rounded = set(_rounded_tables(release))
        cells = release.cells
        self._rounded = {int(at): cells[at].table in rounded and cells[at].high < UNBOUNDED for at in targets}

    def over(self, frame: Frame) -> list[RecoveredCell]:
        """All targets that restrict no attribute outside a frame."""
        release = self.release
        inside = frame.cells_inside
        wanted = np.zeros(len(release.low), bool)
        wanted[self.targets] = True
        lattice = build_lattice(frame, release, wanted, most_types=self.limits.types)
        mine = self.targets[inside[self.targets]]
        rows, position = np.unique(lattice.row_of_cell[mine], return_inverse=True)
        ends = Ends(lattice, rows, self.limits, seed=self.seed)
        pairs = zip(mine.tolist(), position.tolist(), strict=True)
        return [self._cell(at, number, ends, frame) for at, number in pairs]

    def over_parts(self) -> list[RecoveredCell]:
        """The same from each table's own attributes: sound, but perhaps not the narrowest."""
        best = {int(at): self._as_published(int(at)) for at in self.targets}
        for attributes in _attribute_sets(self.release):
            try:
                found = self.over(make_frame(self.release.layout, attributes))
            except (TooManyTypes, TooLarge):
                continue
            except NoWorld:
                raise Undecided(
                    "no dataset was found for the tables of some attributes; raise --effort"
                ) from None
            for cell in found:
                best[cell.at] = _narrower(best[cell.at], cell)
        return list(best.values())

    def _as_published(self, at: int) -> RecoveredCell:
        cell = self.release.cells[at]
        high = None if cell.high >= UNBOUNDED else cell.high
        return RecoveredCell(at, cell, cell.low, high, False, False, False, self._rounded[at])

    def _cell(self, at: int, number: int, ends: Ends, frame: Frame) -> RecoveredCell:
        base = self._as_published(at)
        low, most = int(ends.low.bound[number]), float(ends.high.bound[number])
        high = None if np.isinf(most) else int(most)
        nodes = [
            ends.proof(number, sign) if narrower else None
            for sign, narrower in ((1, low > base.low), (-1, high is not None and high != base.high))
        ]
        if (low > base.low and nodes[0] is None) or (high != base.high and nodes[1] is None):
            return base  # bounds without a proof are not said
        counted = tuple((weight, one.terms) for weight, one in base.published.terms)
        terms, over = () if base.published.is_sum else counted[0][1], frame.names
        proofs = [
            Proof(terms, end, **{part: node}, over=over, sum=counted if base.published.is_sum else ())
            for end, part, node in ((low, "at_least", nodes[0]), (high or 0, "at_most", nodes[1]))
            if node is not None
        ]
        if low == high and len(proofs) == 2:
            proofs = [replace(proofs[0], at_most=nodes[1])]
        for proof in proofs:
            if not self.recheck.accepts(proof):
                raise Undecided("the checker rejects what was found; please report this")
        return replace(
            base,
            low=low,
            high=high,
            low_attained=bool(ends.low.attained[number]),
            high_attained=bool(ends.high.attained[number]),
            differs=bool(ends.differ[number]),
            proofs=tuple(proofs),
        )


def _narrower(one: RecoveredCell, other: RecoveredCell) -> RecoveredCell:
    """The narrower of two, as a bound that may not be attained."""
    width = [UNBOUNDED if cell.high is None else cell.high - cell.low for cell in (one, other)]
    best = other if (width[1], -other.low) < (width[0], -one.low) else one
    return replace(best, low_attained=False, high_attained=False, differs=False)


def _attribute_sets(release: Release) -> Iterator[tuple[int, ...]]:
    """The attributes of each table, those of the largest first."""
    index = release.schema.index
    sets = {
        tuple(sorted({index[name] for cell in table.cells for name in attributes_of(cell.terms)}))
        for table in release.tables
    }
    return iter(sorted(sets, key=lambda one: (-len(one), one)))


def _rounded_tables(release: Release) -> Iterator[str]:
    """Tables in which no count but 0 is exact, and many intervals are different: rounded ones."""
    start = 0
    for table in release.tables:
        low, high = (ends[start : start + len(table.cells)] for ends in (release.low, release.high))
        start += len(table.cells)
        finite = (high < UNBOUNDED) & (low < high)
        different = set(zip(low[finite].tolist(), high[finite].tolist(), strict=True))
        if not ((low == high) & (low > 0)).any() and len(different) >= _ROUNDED:
            yield table.name
