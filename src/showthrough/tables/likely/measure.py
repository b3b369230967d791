"""Measuring on areas whose truth is known how often what is said comes true.

Noise can be drawn for exact tables, to see on such areas what noisy ones leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from showthrough.engine.engine import in_order
from showthrough.errors import InputError, Undecided, check_type
from showthrough.noise_law import UNKNOWN, NoiseLaw, NoisyCounts
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release, Table
from showthrough.tables.audit import area_seed
from showthrough.tables.likely.calibration import Calibration, Told, fit_curve
from showthrough.tables.likely.certainty import ByDecider
from showthrough.tables.likely.chains import MOST_RHAT, ChainPlan
from showthrough.tables.likely.likely import Candidate, likely_findings
from showthrough.tables.likely.posterior import Posterior, find_posterior
from showthrough.tables.likely.prior import Prior
from showthrough.tables.search.universe import Universe

__all__ = [
    "ReadClaims",
    "add_noise",
    "calibrate",
    "noise_like",
    "some_world",
    "tell_area",
]

Values = tuple[tuple[int, int], ...]

#: Claims and findings of each area that are compared with its truth.
N_CLAIMS, N_FINDINGS = 48, 48

#: Columns of a claim at most, and known columns of a finding.
MOST_COLUMNS, MOST_KNOWN = 3, 2

#: The fewest areas, and the fewest statements of each kind, that a calibration can rest on.
FEWEST_AREAS, FEWEST_STATEMENTS = 5, 50

#: Steps of a walk that knows no prior, before claims are read off the dataset it comes to.
_WALK = 30

Whole = NDArray[np.int64]


def calibrate(
    prior: Prior,
    areas: Iterable[tuple[Release, Records]],
    *,
    where: str = "",
    plan: ChainPlan | None = None,
    effort: float = 1.0,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int], object] = lambda _: None,
) -> Prior:
    """Measure a prior on areas whose records are known, and fit a correction of its probabilities.

    Parameters
    ----------
    prior
        The prior; earlier measurements of it are discarded.
    areas
        The tables and the true records of each area. They must not be among the records that the prior
        was fitted to.
    where
        What the areas are called.
    plan, effort, seed
        As for :func:`likely`.
    workers
        Processes that look at areas; the result does not depend on their number.
    progress
        Called with 1 after each area.

    Returns
    -------
    Prior
        The prior with its calibration.

    Raises
    ------
    InputError
        If there are too few areas, or too few statements about them.
    """
    work = partial(tell_area, prior=prior.with_calibration(None), plan=plan, effort=effort, seed=seed)
    told: list[tuple[Told, Told]] = []
    for found in in_order(work, enumerate(areas), workers=workers):
        if found is not None:
            told.append(found)
        progress(1)
    if len(told) < FEWEST_AREAS:
        raise InputError(
            "too few areas to calibrate a prior",
            found=str(len(told)),
            remedy=f"give at least {FEWEST_AREAS} areas whose records are known",
        )
    claims, findings = (Told.joined([pair[kind] for pair in told]) for kind in (0, 1))
    if min(len(claims.q), len(findings.q)) < FEWEST_STATEMENTS:
        raise InputError(
            "too few statements to calibrate a prior",
            found=f"{len(claims.q)} claims, {len(findings.q)} findings",
            remedy=f"give more areas: at least {FEWEST_STATEMENTS} of each are needed",
        )
    return prior.with_calibration(Calibration(len(told), fit_curve(claims), fit_curve(findings), where))


def tell_area(
    area: tuple[int, tuple[Release, Records]],
    *,
    prior: Prior,
    plan: ChainPlan | None,
    effort: float,
    seed: int,
) -> tuple[Told, Told] | None:
    """What is said about a numbered area, claims and findings, and what is true; None if nothing can be."""
    number, (release, truth) = area
    try:
        posterior = find_posterior(release, prior, plan=plan, effort=effort, seed=seed)
    except Undecided:
        return None
    if not posterior.n_records:
        return None
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([area_seed(seed, release.area), 7])))
    true = truth.codes[:, list(posterior.universe.frame.over)].astype(np.int64)
    return _claims(posterior, true, number, rng), _findings(posterior, true, number, rng)


def _claims(posterior: Posterior, true: NDArray[np.int64], number: int, rng: np.random.Generator) -> Told:
    """Claims of a dataset that agrees and knows no prior, without those that are certain."""
    asked = ReadClaims.of(some_world(posterior, rng), rng)
    kept, q = asked.said(posterior)
    return _told(q, asked.hold(true)[kept], number, len(true), asked.n_columns[kept])


@dataclass(frozen=True, eq=False)
class ReadClaims:
    """Claims that were read off a dataset: values of columns, and how many records have them."""

    values: list[Values]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, world: NDArray[np.int64], rng: np.random.Generator) -> ReadClaims:
        """Some claims of a dataset, record × column."""
        chosen: dict[Values, int] = {}
        for _ in range(N_CLAIMS):
            record = world[rng.integers(len(world))]
            k = int(rng.integers(1, min(MOST_COLUMNS, world.shape[1]) + 1))
            columns = np.sort(rng.choice(world.shape[1], k, replace=False)).tolist()
            values = tuple((column, int(record[column])) for column in columns)
            chosen[values] = int(_matching(world, values).sum())
        return cls(list(chosen), np.array(list(chosen.values()), np.int64))

    @property
    def n_columns(self) -> NDArray[np.int64]:
        """How many columns each is about."""
        return np.array([len(values) for values in self.values], np.int64)

    def hold(self, world: NDArray[np.int64]) -> NDArray[np.float64]:
        """Which of them hold in a dataset, record × column: 1 or 0."""
        found = [int(_matching(world, values).sum()) for values in self.values]
        return (np.array(found, np.int64) == self.counts).astype(float)

    def said(self, posterior: Posterior) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which are neither certain nor withheld, and the probabilities of these."""
        found = posterior.claims(_masks(posterior.universe.codes, self.values), self.counts)

        def asked(types: Universe, which: NDArray[np.int64]) -> NDArray[np.bool_]:
            return _masks(types.codes, [self.values[at] for at in which.tolist()])

        kept = ~posterior.certain(found, asked, self.counts) & (found.rhat <= MOST_RHAT)
        return kept, found.mean[kept]


def some_world(posterior: Posterior, rng: np.random.Generator) -> NDArray[np.int64]:
    """A dataset to read claims off: one that knows no prior, or for noisy tables a draw."""
    universe = posterior.universe
    if isinstance(posterior.prover, ByDecider):
        decider = posterior.prover.decider
        decider.wander(_WALK)
        return universe.codes[decider.current].astype(np.int64)
    drawn = posterior.draws[rng.integers(posterior.draws.shape[0]), rng.integers(posterior.draws.shape[1])]
    return universe.codes[drawn[drawn < len(universe)]].astype(np.int64)


def _findings(posterior: Posterior, true: NDArray[np.int64], number: int, rng: np.random.Generator) -> Told:
    """Findings of any probability above one half, each about one true record that matches what is known."""
    universe = posterior.universe
    every = list(likely_findings(posterior, least=0.55, max_known=MOST_KNOWN))
    some = [every[at] for at in rng.permutation(len(every))[:N_FINDINGS].tolist()]
    given = _masks(universe.codes, [one.given for one in some])
    both = given & _masks(universe.codes, [one.values for one in some])
    found = posterior.shares(given, both)

    def asked(types: Universe, which: NDArray[np.int64]) -> NDArray[np.bool_]:
        codes, chosen = types.codes, [some[at] for at in which.tolist()]
        known = _masks(codes, [one.given for one in chosen])
        return known & ~_masks(codes, [one.values for one in chosen])

    certain = posterior.certain(found, asked, np.zeros(len(some), np.int64))
    kept = ~certain & (found.rhat <= MOST_RHAT)
    q, happened, columns = list[float](), list[float](), list[int]()
    for at in np.flatnonzero(kept).tolist():
        people = true[_matching(true, some[at].given)]
        if len(people):
            one = people[rng.integers(len(people))][None, :]
            q.append(float(found.mean[at]))
            happened.append(float(_matching(one, some[at].values)[0]))
            columns.append(_n_columns(some[at]))
    return _told(np.array(q), np.array(happened), number, len(true), np.array(columns, np.int64))


def _n_columns(one: Candidate) -> int:
    return len(one.given) + len(one.values)


def _told(
    q: NDArray[np.float64], happened: NDArray[np.float64], number: int, size: int, columns: NDArray[np.int64]
) -> Told:
    n = len(q)
    return Told(q, happened, np.full(n, number, np.int64), np.full(n, size, np.int64), columns)


def _masks(codes: NDArray[np.integer], values: list[Values]) -> NDArray[np.bool_]:
    return np.array([_matching(codes, one) for one in values]).reshape(len(values), len(codes))


def _matching(codes: NDArray[np.integer], values: Values) -> NDArray[np.bool_]:
    hit = np.ones(len(codes), bool)
    for column, code in values:
        hit &= codes[:, column] == code
    return hit


def add_noise(
    release: Release, law: NoiseLaw, *, keep: Callable[[Table], bool] = lambda _: False, seed: int = 0
) -> Release:
    """Publish exact tables with noise of a law.

    Parameters
    ----------
    release
        Exact counts.
    law
        The law of the noise.
    keep
        Which tables stay exact.
    seed
        The seed of the noise.

    Returns
    -------
    Release
        Values with noise, and the bounds that the law gives them.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"]})
    >>> noisy = add_noise(st.Release.of(schema, {"sex": [4, 8]}), st.RandomRounding(3), seed=1)
    >>> noisy.noise.values.tolist()
    [3, 9]
    """
    check_type(law, NoiseLaw, name="law", remedy="use parse_law")
    kept = [keep(table) for table in release.tables]
    of = np.repeat(np.where(kept, -1, 0), [len(table.cells) for table in release.tables])
    return _noisy(release, NoisyCounts(release.low, (law,), of), seed=seed)


def noise_like(release: Release, example: NoisyCounts, *, seed: int) -> Release:
    """Exact tables of another area, published with the laws of an example; what it leaves out is left out."""
    found = _noisy(release, example, seed=seed)
    if found.noise is None:
        return found
    left_out = (example.law_of >= 0) & (example.values == UNKNOWN)
    low, high = np.where(left_out, 0, found.low), np.where(left_out, UNBOUNDED, found.high)
    values = np.where(left_out, UNKNOWN, found.noise.values)
    return Release(release.layout, low, high, release.area, NoisyCounts(values, example.laws, example.law_of))


def _noisy(release: Release, example: NoisyCounts, *, seed: int) -> Release:
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([area_seed(seed, release.area), 11])))
    values, low, high = release.low.copy(), release.low.copy(), release.high.copy()
    for number, law in enumerate(example.laws):
        mine = np.flatnonzero(example.law_of == number)
        values[mine] = law.draw(release.low[mine], rng)
        ends = np.array([law.bounds(value) for value in values[mine].tolist()], np.int64).reshape(-1, 2)
        low[mine], high[mine] = ends[:, 0], ends[:, 1]
    return Release(release.layout, low, high, release.area, NoisyCounts(values, example.laws, example.law_of))
