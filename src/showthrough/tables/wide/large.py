"""Parts with too many record types to list.

What follows from the cells about a few of the attributes follows from all cells. So claims are proved in
*views*: the attributes of a claim and of tables about them, few enough that their record types can be
listed. What does not follow there may still follow, so nothing is refuted in a view. Claims are refuted
only by datasets of the whole, which a walk finds without listing types. What neither settles stays open,
claim by claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.tables.claims import World
from showthrough.tables.decision import Decision
from showthrough.tables.proof import Proof
from showthrough.tables.result import ClaimTable
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.questions import (
    VERIFIED,
    Answers,
    Candidates,
    candidates_of,
    make_lattice,
)
from showthrough.tables.search.system import Conflict
from showthrough.tables.search.universe import Frame, TooManyTypes
from showthrough.tables.wide.area import Excerpt, WideArea
from showthrough.tables.wide.column import ColumnFill, dataset_by_columns
from showthrough.tables.wide.dataset import Beside, Dataset
from showthrough.tables.wide.joined import shell
from showthrough.tables.wide.settled import BothEnds, SettledPart
from showthrough.tables.wide.shuffle import Shuffler
from showthrough.tables.wide.views import Views

if TYPE_CHECKING:
    from showthrough.tables.audit import Scope

__all__ = [
    "LargePart",
]

#: Datasets that claims are tried on, as long as one of the last few makes some of them fall.
_MOST_DATASETS, _PATIENCE = 40, 4

#: Rounds of the walk between two datasets.
_ROUNDS = 3

#: Searches for other datasets that are aimed at open claims.
_TRIES = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class LargeClaims(ClaimTable):
    """Claims about a large part. A world's number is its position among ``datasets``."""

    overs: list[tuple[str, ...]]
    datasets: list[Dataset]

    def proof(self, at: int) -> Proof | None:
        """The proof of a claim; None if there is none."""
        if self.state[at] != VERIFIED:
            return None
        low, high = self.ends(at)
        over = self.overs[int(self.question[at])]
        return Proof(self.selection(at).terms, int(self.candidates.count[at]), low, high, over=over)

    def disagreeing(self, at: int) -> tuple[World, World]:
        """Two datasets that disagree on a refuted claim."""
        schema = self.system.release.schema
        return self.datasets[0].world(schema), self.datasets[int(self.witness[at])].world(schema)


class LargePart:
    """A part whose record types cannot be listed."""

    n_types = None

    def __init__(self, area: WideArea, columns: tuple[int, ...]) -> None:
        self.area, self.columns = area, columns

    def least_records(self) -> int:
        """The least number of records; nothing is known of it here."""
        return 0

    def with_records(self, n: int) -> Beside | None:
        """The columns of a dataset with this many records; None if none was found."""
        self.area.tell("looking for a dataset")
        found = dataset_by_columns(self.area, self.columns, n)
        return None if found is None else Beside.of(found, self.columns)

    def settle(self, scope: Scope, first: Dataset) -> SettledPart:
        """Decide the claims about the part that the first dataset suggests, as far as the effort goes."""
        if scope.absent or scope.gaps:
            raise InputError(
                "absences and impossible counts are not decided where attributes that are tied together "
                f"have more than {self.area.effort.types:,} record types",
                remedy="leave out --absent and --gaps, raise --effort, or audit fewer columns together",
            )
        search = _Search(self.area, self.columns, scope, first)
        search.screen()
        search.prove()
        search.aim()
        claims = search.claims()
        unique = False if len(search.datasets) > 1 else None
        return SettledPart(self.columns, claims, None, unique=unique)


class _Search:
    """The claims about a large part while they are decided."""

    def __init__(self, area: WideArea, columns: tuple[int, ...], scope: Scope, first: Dataset) -> None:
        self.area, self.columns, self.first = area, columns, first
        self.frame = Frame(area.release.layout, columns)
        self.system, self.world = shell(area, self.frame, first)
        largest = scope.max_columns or len(columns)
        lattice = make_lattice(self.frame.sizes, len(self.world.types), 1, largest)
        self.candidates: Candidates = candidates_of(lattice, self.system.universe, self.world)
        self.fallen = np.full(len(self.candidates), -1, np.int64)
        self.datasets = [first]
        self.ends: list[BothEnds] = []
        self.direct = np.zeros(len(self.candidates), bool)
        self.proved = np.full(len(self.candidates), -1, np.int64)

    def screen(self) -> None:
        """Let claims fall that other datasets refute."""
        walk = Shuffler(self.area.release, self.area.ties, self.columns, self.first, self.area.seed)
        idle, most = 0, max(1, int(_MOST_DATASETS * self._scale))
        for number in range(most):
            self.area.tell(f"{self._n_open():,} claims open, dataset {number + 1:,} of up to {most:,}")
            if not walk.wander(_ROUNDS) or idle >= _PATIENCE:
                break
            self.area.work.steps += 1
            idle = 0 if self.try_dataset(walk.current) else idle + 1

    @property
    def _scale(self) -> float:
        return self.area.effort.steps / Effort().steps

    def try_dataset(self, found: Dataset) -> int:
        """Let claims fall that a dataset refutes, which is counted before; how many do."""
        if not found.agrees_with(self.area.release):
            raise AssertionError("a dataset does not agree with the release")
        alive = np.flatnonzero((self.fallen < 0) & (self.proved < 0))
        left = self.candidates.take(alive)
        gone = left.counts_in(found.codes[:, list(self.columns)], found.times) != left.count
        if gone.any():
            self.fallen[alive[gone]] = len(self.datasets)
            self.datasets.append(found)
        return int(gone.sum())

    def _n_open(self) -> int:
        return int(((self.fallen < 0) & (self.proved < 0)).sum())

    def prove(self) -> None:
        """Prove what follows over few attributes."""
        views = Views(self.area, self.columns)
        while (view := views.next(self._open_subsets())) is not None:
            self.area.tell(f"{self._n_open():,} claims open, {views.done:,} sets of attributes looked at")
            views.note(self._prove_in(view))

    def aim(self) -> None:
        """Look for datasets that refute open claims: one column of a known one is filled anew.

        What no column of one dataset allows another may: so each claim is tried before any is again.
        """
        rng, tries = np.random.Generator(np.random.Philox(self.area.seed)), int(_TRIES * self._scale)
        tried, idle = np.zeros(len(self.candidates), np.int64), 0
        for number in range(tries):
            open_ = np.flatnonzero((self.fallen < 0) & (self.proved < 0))
            if not len(open_) or idle >= max(1, tries // 3):
                return
            self.area.tell(f"{self._n_open():,} claims open, {number:,} of up to {tries:,} searches")
            at = int(rng.choice(open_[tried[open_] == tried[open_].min()]))
            tried[at] += 1
            found = self._other(at, self.datasets[int(rng.integers(len(self.datasets)))], rng)
            if found is not None and not found.agrees_with(self.area.release):  # cells that are sums
                found = None
            idle = idle + 1 if found is None else 0
            if found is not None and self.try_dataset(found):
                walk = Shuffler(self.area.release, self.area.ties, self.columns, found, self.area.seed)
                if walk.wander(_ROUNDS):
                    self.try_dataset(walk.current)

    def _other(self, at: int, start: Dataset, rng: np.random.Generator) -> Dataset | None:
        """A dataset near one in which a claim has another count; None if none was found."""
        row, subset = self.system.universe.codes[self.candidates.type[at]], int(self.candidates.subset[at])
        wanted = {c: int(row[place]) for place, c in enumerate(self.columns) if subset >> place & 1}
        for column in wanted:
            rest = {c: code for c, code in wanted.items() if c != column}
            known = [c for c in self.columns if c != column]
            found = ColumnFill(self.area, column, known).with_other_count(start, rest, wanted[column], rng)
            if found is not None:
                return found
        return None

    def _open_subsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The sets of columns of open claims, as bits, and how many claims each has."""
        open_ = (self.fallen < 0) & (self.proved < 0)
        return np.unique(self.candidates.subset[open_], return_counts=True)

    def _prove_in(self, over: tuple[int, ...]) -> int:
        """Decide the open claims about some attributes by the cells about them; how many are proved."""
        mask = sum(1 << self.columns.index(at) for at in over if at in self.columns)
        open_ = (self.fallen < 0) & (self.proved < 0)
        mine = np.flatnonzero(open_ & (self.candidates.subset & ~np.int64(mask) == 0))
        found = self._view_claims(over, mine) if len(mine) else None
        if found is None:
            return 0
        claims, excerpt = found
        view = SettledPart(over, claims, excerpt)
        codes, named = self._codes(mine)
        numbers = view.numbers(codes, named)
        known: dict[int, int] = {}
        good = np.flatnonzero(view.state[numbers] == VERIFIED)
        for at, number in zip(mine[good].tolist(), numbers[good].tolist(), strict=True):
            ends = view.ends(number)
            if id(ends) not in known:
                known[id(ends)] = len(self.ends)
                self.ends.append(ends)
            self.proved[at] = known[id(ends)]
            self.direct[at] = claims.direct[number]
        return len(good)

    def _codes(self, which: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
        """Claim × attribute of the schema: the codes, and whether the claim names it."""
        width = len(self.area.release.schema.attributes)
        codes, named = np.zeros((len(which), width), np.uint16), np.zeros((len(which), width), bool)
        codes[:, list(self.columns)] = self.system.universe.codes[self.candidates.type[which]]
        for column, at in enumerate(self.columns):
            named[:, at] = self.candidates.subset[which] >> column & 1 != 0
        return codes, named

    def _view_claims(
        self, over: tuple[int, ...], mine: NDArray[np.int64]
    ) -> tuple[ClaimTable, Excerpt] | None:
        from showthrough.tables.audit import Scope

        area = self.area
        excerpt = area.excerpt(over)
        try:
            system = excerpt.system(area.effort.types)
        except TooManyTypes:
            return None
        except Conflict:
            raise AssertionError("a dataset of the whole contradicts cells about some attributes") from None
        decider = excerpt.decider(system, _light(area.effort), area.seed, self.first)
        subset, codes = self.candidates.subset[mine], self.system.universe.codes[self.candidates.type[mine]]
        largest = int(np.bitwise_count(subset).max())
        lattice = make_lattice(excerpt.frame.sizes, len(self.world.types), 1, largest)
        keys = np.zeros(len(mine), np.uint64)
        for column, at in enumerate(excerpt.frame.over):
            if at in self.columns:
                own = self.columns.index(at)
                part = lattice.parts[column][codes[:, own]]
                keys += np.where(subset >> own & 1 != 0, part, np.uint64(0))
        context = excerpt.context(area.context.closures)
        decision = Decision(context, decider, Scope(1, largest), keys)
        found = decision.audit(findings=False)
        area.work.programs += decider.work.programs
        area.work.nodes += decider.work.nodes
        return found.claim_table, excerpt

    def claims(self) -> LargeClaims:
        """All claims with their verdicts."""
        n = len(self.ends)
        answers = Answers.open(np.zeros((n + 1, 1), np.uint64), np.zeros(n + 1, np.int64))
        for at, ends in enumerate(self.ends):
            answers.at_least[at], answers.at_most[at] = ends.low, ends.high
            answers.state[at], answers.stage[at] = VERIFIED, "linear"
        answers.stage[n] = "effort"
        question = np.where(self.proved >= 0, self.proved, n)
        question[self.fallen >= 0] = -1
        return LargeClaims(
            system=self.system,
            pool=[self.world],
            candidates=self.candidates,
            question=question,
            witness=self.fallen,
            answers=answers,
            direct=self.direct,
            overs=[*(ends.over for ends in self.ends), ()],
            datasets=self.datasets,
        )


def _light(effort: Effort) -> Effort:
    """Less effort on refuting: nothing is refuted by the datasets of a view."""
    return replace(
        effort, tries=max(1, effort.tries // 8), solver=effort.solver / 8, solvers=effort.solvers / 8
    )
