"""What a release makes likely: claims and findings with their probabilities under a prior.

Draws suggest candidates. They are sorted into what is likely, what is certain, and what is withheld.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, check_type
from showthrough.packing import pack
from showthrough.release import Release
from showthrough.selection import Selection
from showthrough.tables.likely.calibration import Kind, said_of
from showthrough.tables.likely.chains import MOST_RHAT, Averages, ChainPlan
from showthrough.tables.likely.posterior import Posterior, find_posterior
from showthrough.tables.likely.prior import Prior
from showthrough.tables.likely.statement import LEAST, UNSURPRISING, Likely, Statement, baseline_of
from showthrough.tables.search.universe import Universe

__all__ = [
    "Candidate",
    "Sorted",
    "likely",
    "likely_claims",
    "likely_findings",
    "statements_of",
]

Whole = NDArray[np.int64]
Values = tuple[tuple[int, int], ...]

#: How far below the limit draws may be for something to be looked at.
_SLACK = 0.05

#: Possible keys up to which those that occur are marked rather than sorted.
_MOST_KEYS = 1_000_000

#: Keys × draws counted together.
_MOST_ENTRIES = 20_000_000


def likely(
    release: Release,
    prior: Prior,
    *,
    least: float = LEAST,
    max_columns: int = 3,
    plan: ChainPlan | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> Likely:
    """What a release makes likely without proving it, with probabilities under a prior.

    Parameters
    ----------
    release
        The published tables of one area; the number of its records must follow from them.
    prior
        How likely record types are without the tables.
    least
        Statements of at least this probability are kept.
    max_columns
        The most columns of a statement.
    plan
        How many datasets are listed or drawn.
    effort
        Multiplies all limits on work.
    seed
        The seed of the chains.

    Returns
    -------
    Likely
        Statements with probabilities, sampling errors and baselines.

    Raises
    ------
    Contradiction
        If no dataset agrees with the release.
    Undecided
        If the number of records does not follow from the tables.
    InputError
        If the prior is about other attributes or values.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "yes"}] * 30 + [{"sex": "m", "ill": "no"}] * 60, schema)
    >>> prior = st.fit_prior(people, name="a clinic", seed=1)
    >>> release = st.Release.of(schema, {"sex": [1, 2], "ill": [2, 1]})
    >>> found = st.likely(release, prior)
    >>> print(found.of_kind("finding")[0].sentence(schema, prior).replace("\\xa0", " "))
    ... # doctest: +ELLIPSIS
    Likely, not proved: whoever knows that ill is yes learns that sex is f, with probability 89 % under ...
    """
    _check(least, max_columns)
    posterior = find_posterior(release, prior, plan=plan, effort=effort, seed=seed)
    return statements_of(posterior, least=least, max_columns=max_columns)


def _check(least: object, max_columns: object) -> None:
    check_type(least, (int, float), name="least")
    check_type(max_columns, int, name="max_columns")
    if not 0.5 <= float(least) <= 1:  # type: ignore[arg-type]
        raise InputError("least must be a probability from 0.5 to 1", found=str(least))
    if int(max_columns) < 1:  # type: ignore[call-overload]
        raise InputError("max_columns must be at least 1", found=str(max_columns))


def statements_of(posterior: Posterior, *, least: float, max_columns: int) -> Likely:
    """Claims and findings that a posterior makes likely."""
    if not posterior.n_records:
        return Likely(posterior.release, posterior.prior, (), 0, posterior.exact)
    claims = Sorted(posterior, "claim", least)
    claims.add(list(likely_claims(posterior, least=least, max_columns=max_columns)))
    findings = Sorted(posterior, "finding", least)
    findings.add(list(likely_findings(posterior, least=least, max_known=max_columns - 1)))
    found = sorted(
        [*claims.statements, *findings.statements],
        key=lambda one: (-one.surprise, one.kind, str(one.given), str(one.selection)),
    )
    return Likely(
        posterior.release,
        posterior.prior,
        tuple(found),
        posterior.n_records,
        posterior.exact,
        claims.certain + findings.certain,
        claims.n_withheld + findings.n_withheld,
        *findings.n_people(),
    )


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


@dataclass(frozen=True)
class Candidate:
    """Values of columns, as pairs (column, code): those known, and those that are claimed or learnt.

    For a claim ``given`` is empty and ``count`` the number of records.
    """

    given: Values
    values: Values
    count: int = 0


def _keyed(codes: Whole, columns: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[Whole, Whole]:
    """The distinct combinations of values of some columns, and each record's number among them.

    A code as large as its column's size means that there is no record; that combination comes last.
    """
    size = int(np.prod([sizes[column] for column in columns], dtype=object))
    key = np.zeros(codes.shape[:-1], np.int64)
    for column in columns:
        key = key * sizes[column] + codes[..., column]
    key[codes[..., columns[0]] >= sizes[columns[0]]] = size
    keys, of = _numbered(key, size + 1)
    keys = keys[keys < size]
    values = np.zeros((len(keys), len(columns)), np.int64)
    for place in range(len(columns) - 1, -1, -1):
        keys, values[:, place] = np.divmod(keys, sizes[columns[place]])
    return values, of


def _numbered(key: Whole, size: int) -> tuple[Whole, Whole]:
    """The keys that occur, sorted, and each one's number; counted where there are few possible ones."""
    if size > _MOST_KEYS:
        keys, of = np.unique(key, return_inverse=True)
        return keys, of.reshape(key.shape)
    present = np.zeros(size, bool)
    present[key.ravel()] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[key]


def likely_claims(posterior: Posterior, *, least: float, max_columns: int) -> Iterator[Candidate]:
    """Claims about some records that hold in most draws, whatever their number of columns up to a limit."""
    codes = posterior.codes
    sizes = posterior.universe.frame.sizes
    n_draws = codes.shape[0] * codes.shape[1]
    for k in range(1, min(max_columns, len(sizes)) + 1):
        for columns in itertools.combinations(range(len(sizes)), k):
            values, of = _keyed(codes, columns, sizes)
            many = np.bincount(of.ravel(), minlength=len(values))[: len(values)]
            common = np.flatnonzero(many >= least / 2 * n_draws)
            number = np.full(len(values) + 1, -1, np.int64)
            number[common] = np.arange(len(common))
            for at, count in _steady(number[of].reshape(n_draws, -1), len(common), least - _SLACK):
                yield Candidate((), tuple(zip(columns, values[common[at]].tolist(), strict=True)), count)


def _steady(numbers: Whole, size: int, least: float) -> Iterator[tuple[int, int]]:
    """Combinations that most draws have equally often, with that number."""
    n_draws = len(numbers)
    step = max(1, _MOST_ENTRIES // max(n_draws, 1))
    for start in range(0, size, step):
        width = min(step, size - start)
        inside = np.where((numbers >= start) & (numbers < start + width), numbers - start, width)
        keys = inside + np.arange(n_draws)[:, None] * (width + 1)
        counts = np.bincount(keys.ravel(), minlength=n_draws * (width + 1)).reshape(n_draws, width + 1)
        counts = counts[:, :width]
        middle = np.sort(counts, axis=0)[n_draws // 2]  # whatever more than half of the draws have
        share = (counts == middle).mean(axis=0)
        for at in np.flatnonzero((share >= least) & (middle > 0)).tolist():
            yield start + at, int(middle[at])


def likely_findings(posterior: Posterior, *, least: float, max_known: int) -> Iterator[Candidate]:
    """What is learnt from at most this many known columns about one other, in most draws.

    Where fewer known columns say it as surely, more are not listed.
    """
    sizes = posterior.universe.frame.sizes
    n_draws = posterior.codes.shape[0] * posterior.codes.shape[1]
    known: dict[tuple[Values, tuple[int, int]], float] = {}
    for size in range(1, min(max_known, len(sizes) - 1) + 1):
        for columns in itertools.combinations(range(len(sizes)), size):
            values, of = _keyed(posterior.codes, columns, sizes)
            there = of.ravel() < len(values)
            total = np.bincount(of.ravel()[there], minlength=len(values))
            for target in set(range(len(sizes))) - set(columns):
                pairs = (of.ravel() * sizes[target] + posterior.codes[..., target].ravel())[there]
                table = np.bincount(pairs, minlength=len(values) * sizes[target]).reshape(len(values), -1)
                best = table.argmax(axis=1)
                share = table[np.arange(len(values)), best] / np.maximum(total, 1)
                for at in np.flatnonzero((share >= least - _SLACK) & (total >= n_draws / 2)).tolist():
                    given = tuple(zip(columns, values[at].tolist(), strict=True))
                    learnt = (target, int(best[at]))
                    if not _known_already(known, given, learnt, share[at]):
                        known[given, learnt] = share[at]
                        yield Candidate(given, (learnt,))


def _known_already(
    known: dict[tuple[Values, tuple[int, int]], float], given: Values, learnt: tuple[int, int], share: float
) -> bool:
    """Whether one known column fewer says it as surely."""
    return any(
        known.get((tuple(one for one in given if one != left), learnt), -1.0) >= share - 0.01
        for left in given
    )
