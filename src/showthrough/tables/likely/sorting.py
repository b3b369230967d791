"""Candidates sorted into what is likely, what is certain, and what is withheld."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from showthrough.packing import pack
from showthrough.selection import Selection
from showthrough.tables.likely.calibration import Kind, said_of
from showthrough.tables.likely.candidates import Candidate
from showthrough.tables.likely.mixing import MOST_RHAT, Averages
from showthrough.tables.likely.posterior import Posterior
from showthrough.tables.likely.statement import UNSURPRISING, Statement
from showthrough.tables.likely.without import baseline_of
from showthrough.tables.search.universe import Universe

__all__ = [
    "Sorted",
]


class Sorted:
    """Candidates of one kind, sorted into statements, certainties and what is withheld."""

    def __init__(self, posterior: Posterior, kind: Kind, least: float) -> None:
        self.posterior, self.least = posterior, least
        self.kind: Kind = kind
        self.statements: list[Statement] = []
        self.n_withheld = 0
        self.certain = Counter[int]()
        self.universe = posterior.universe
        self.baseline = baseline_of(posterior.prior, posterior.release.layout)
        self._certain = np.zeros(len(self.universe), bool)
        self._telling = np.zeros(len(self.universe), bool)

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Sort candidates."""
        candidates = self._distinct(candidates)
        if not candidates:
            return
        given = _masks(self.universe, [one.given for one in candidates])
        both = _masks(self.universe, [(*one.given, *one.values) for one in candidates])
        counts = np.array([one.count for one in candidates], np.int64)
        if self.kind == "claim":
            found = self.posterior.claims(both, counts)
        else:
            found = self.posterior.shares(given, both)

        def asked(universe: Universe, which: NDArray[np.int64]) -> NDArray[np.bool_]:
            """Records that a claim counts, or those that would contradict a finding."""
            some = [candidates[at] for at in which.tolist()]
            all_of = _masks(universe, [(*one.given, *one.values) for one in some])
            return all_of if self.kind == "claim" else _masks(universe, [one.given for one in some]) & ~all_of

        certain = self.posterior.certain(found, asked, counts)
        disagree = ~certain & ~(found.rhat <= MOST_RHAT)
        said = [
            said_of(numbers, self.posterior.prior.calibration, self.kind)
            for numbers in (found.mean, found.low, found.high)
        ]
        expected = self.posterior.expected(given)
        for at, one in enumerate(candidates):
            if certain[at]:
                self.certain[len(one.given) + len(one.values)] += 1
                self._note_certain(one, given[at])
            elif found.mean[at] >= self.least:
                self.n_withheld += int(disagree[at])
                if not disagree[at]:
                    multiplicity = one.count or max(1, round(float(expected[at])))
                    self._say(
                        one, given[at], [float(numbers[at]) for numbers in said], found, at, multiplicity
                    )

    def _say(
        self, one: Candidate, given: NDArray[np.bool_], q: list[float], found: Averages, at: int, many: int
    ) -> None:
        known, claimed = self._selection(one.given), self._selection(one.values)
        if self.kind == "claim":
            before = self.baseline.claim(claimed, one.count, self.posterior.n_records)
        else:
            before = self.baseline.finding(known, claimed)
        ess = None if self.posterior.exact else float(found.ess[at])
        statement = Statement(
            self.kind, known, claimed, many, q[0], q[1], q[2], ess, float(found.rhat[at]), before
        )
        self.statements.append(statement)
        if statement.telling:
            self._telling |= given

    def _note_certain(self, one: Candidate, given: NDArray[np.bool_]) -> None:
        if self.kind == "finding" and not (self._certain[given]).all():
            known, learnt = self._selection(one.given), self._selection(one.values)
            if self.baseline.finding(known, learnt) <= UNSURPRISING:
                self._certain |= given

    def n_people(self) -> tuple[float, float]:
        """The expected number of records that telling findings are about; without those of certain ones."""
        masks = np.array([self._telling, self._telling & ~self._certain])
        people, beyond = self.posterior.expected(masks).tolist()
        return people, beyond

    def _distinct(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Of claims about the same types the one with the most columns; findings as they are."""
        if self.kind == "finding" or not candidates:
            return list(candidates)
        masks = pack(_masks(self.universe, [one.values for one in candidates]))
        best: dict[tuple[bytes, int], Candidate] = {}
        for one, mask in zip(candidates, masks, strict=True):
            key = mask.tobytes(), one.count
            if key not in best or len(best[key].values) < len(one.values):
                best[key] = one
        return list(best.values())

    def _selection(self, values: Sequence[tuple[int, int]]) -> Selection:
        frame = self.universe.frame
        schema = frame.layout.schema
        return Selection.of({frame.names[at]: (schema[frame.names[at]].values[code],) for at, code in values})


def _masks(universe: Universe, values: Sequence[Sequence[tuple[int, int]]]) -> NDArray[np.bool_]:
    """Which types of a universe have some values."""
    masks = np.ones((len(values), len(universe)), bool)
    for at, terms in enumerate(values):
        for column, code in terms:
            masks[at] &= universe.codes[:, column] == code
    return masks
