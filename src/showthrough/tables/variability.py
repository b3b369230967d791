"""How different two datasets that agree with a release can be: from a pair, and with a proof."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack

from showthrough.errors import ProofError, Undecided
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release
from showthrough.selection import Selection
from showthrough.tables.audit import context_of, start_decider
from showthrough.tables.bounds import bounds
from showthrough.tables.claims import World, world_of
from showthrough.tables.proof import Leaf, Proof
from showthrough.tables.proof.differ import DifferChecker
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.prove import Rows, row_total
from showthrough.tables.search.solver import Inequalities, Solution
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "Variability",
    "variability",
]

Counts = NDArray[np.int64]

#: Denominators tried for the multipliers of the proof.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 30, 60, 120, 360, 840, 5040)

#: Worlds from which the most different one is looked for, and how often each time.
_STARTS, _ROUNDS = 8, 4


@dataclass(frozen=True)
class Variability:
    """In how many records two datasets that agree with a release can differ.

    Attributes
    ----------
    records
        How many records there are, in every dataset.
    low, high
        Two datasets differ in ``low`` records; no two differ in more than ``high``. If ``high`` is 0, only
        one dataset agrees.
    worlds
        Two datasets that differ in ``low`` records.
    leaf, total
        The proof of ``high``: multipliers, and a proof of how many records there are.
    """

    records: int
    low: int
    high: int
    worlds: tuple[World, World] = field(repr=False)
    leaf: Leaf = field(repr=False)
    total: Proof = field(repr=False)

    @property
    def share(self) -> tuple[float, float]:
        """Both ends as shares of the records; 0 where there are none."""
        n = max(1, self.records)
        return self.low / n, self.high / n


def variability(
    release: Release, *, truth: Records | None = None, effort: float = 1.0, seed: int = 0
) -> Variability | None:
    """How different two datasets that agree with a release can be.

    Parameters
    ----------
    release
        The published tables of one area.
    truth
        The microdata, where the publisher holds them; they only save the search for a first dataset.
    effort
        A factor on all limits of work.
    seed
        The seed of the random walks.

    Returns
    -------
    Variability or None
        The largest number of records found in which two datasets differ, and a proved largest number;
        None where the number of records does not follow from the release.

    Raises
    ------
    Contradiction
        If no dataset agrees with the release.

    Examples
    --------
    Who of the three is ill is not known, but one is. So two datasets differ in two records at most.

    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {"sex": [1, 2], "ill": [2, 1]})
    >>> found = variability(release)
    >>> found.low, found.high, found.records
    (2, 2, 3)
    """
    counted = bounds(release, Selection(), truth=truth, effort=effort, seed=seed)
    if counted.low != counted.high or counted.high_proof is None:
        return None
    decider = start_decider(release, truth=truth, effort=effort, seed=seed)
    context = context_of(release.layout)
    open_ = any(len(release.schema[name].values) > 1 for name in context.left_out)
    over = decider.system.universe.frame.names
    low_proof, high_proof = counted.low_proof, counted.high_proof
    total = Proof((), counted.low, low_proof.at_least, high_proof.at_most, over=over)
    fixed = np.bincount(decider.system.group, minlength=decider.system.n_classes) == 1
    fixed &= not open_
    one, other = _most_different(decider, fixed)
    low = counted.low - int(np.minimum(one, other)[fixed].sum())
    leaf, common = _proof(decider.system, fixed)
    high = max(low, counted.low - common) if common > 0 else counted.low
    worlds = _pair(decider, one, other)
    found = Variability(counted.low, low, high, worlds, leaf, total)
    try:
        DifferChecker(release.schema, release).check_differ(found.leaf, found.total, found.high)
    except ProofError as error:
        raise Undecided(f"the checker rejects what was found: {error}; please report this") from None
    return found


def _most_different(decider: Decider, fixed: NDArray[np.bool_]) -> tuple[Counts, Counts]:
    """Class counts of two worlds with as few records in common as were found."""
    for _ in range(_STARTS):
        if decider.wander(3):
            decider.keep(decider.current)
    pool = [decider.class_counts(world) for world in decider.pool[: 2 * _STARTS]]
    pairs = [(one, other) for at, one in enumerate(pool) for other in pool[: at + 1]]

    def common(pair: tuple[Counts, Counts]) -> int:
        return int(np.minimum(*pair)[fixed].sum())

    best = min(pairs, key=common)
    for start in (*best, *pool[:_STARTS]):
        current = start
        for _ in range(_ROUNDS):
            found = decider.program.minimise(((current > 0) & fixed).astype(np.int64))
            point = found.integral(decider.system) if isinstance(found, Solution) else None
            if point is None:
                break
            if common((current, point)) < common(best):
                best = current, point
            current = point
    return best


def _pair(decider: Decider, one: Counts, other: Counts) -> tuple[World, World]:
    """Two datasets with these class counts; where a class has several types they have different ones."""
    system = decider.system
    firsts = system.order[system.starts[:-1]]
    seconds = system.order[
        np.minimum(system.starts[:-1] + (np.diff(system.starts) > 1), len(system.order) - 1)
    ]
    made = world_of(system, TypeCounts.of_counts(firsts, one))
    second = world_of(system, TypeCounts.of_counts(seconds, other))
    schema = system.release.schema
    codes = second.codes.copy()
    for at, attribute in enumerate(schema.attributes):
        if attribute.name not in system.universe.frame.names and len(attribute.values) > 1:
            codes[:, at] = 1
    return made, World(schema, codes, second.times)


def _proof(system: System, fixed: NDArray[np.bool_]) -> tuple[Leaf, int]:
    """Multipliers that prove that any two datasets have so many records in common; none prove 0."""
    limits = system.most
    useful = np.flatnonzero(fixed & (limits < UNBOUNDED))
    nothing = Leaf((), (), 1, 0), 0
    if not len(useful) or not len(system.rows):
        return nothing
    n, m = system.n_classes, len(useful)
    program = Inequalities(np.append(np.zeros(n), np.ones(m)), np.zeros(n + m), np.full(n + m, np.inf))
    wide = hstack([csr_array(system.rows, dtype=float), csr_array((len(system.rows), m))])
    high = np.where(system.high >= UNBOUNDED, np.inf, system.high.astype(float))
    program.add(csr_array(wide), system.low.astype(float), high)
    twice = csr_array((np.full(m, 2.0), (np.arange(m), useful)), shape=(m, n))
    program.add(
        csr_array(hstack([twice, -diags_array(np.ones(m))])),
        np.full(m, -np.inf),
        limits[useful].astype(float),
    )
    found = program.solve()
    if found is None:
        return nothing
    multipliers = found.multipliers[: len(system.rows)]
    tried = [_made(system, useful, multipliers, denominator) for denominator in _DENOMINATORS]
    return max((one for one in tried if one is not None), key=lambda one: one[1], default=nothing)


def _made(
    system: System, useful: Counts, multipliers: NDArray[np.float64], denominator: int
) -> tuple[Leaf, int] | None:
    """The multipliers with a denominator, and how many records they prove to be in common."""
    numerators = np.rint(multipliers * denominator).astype(np.int64)
    sums = system.combined(numerators)
    most = np.zeros(system.n_classes, np.int64)
    most[useful] = 2 * denominator
    if (sums > most).any():
        return None
    total = row_total(numerators, system.low, system.high)
    if total is None:
        return None
    used = np.flatnonzero(sums > 0)
    pairs = zip(sums[used].tolist(), system.most[used].tolist(), strict=True)
    shared = 2 * total - sum(one * limit for one, limit in pairs)
    leaf = Rows(system).leaf(numerators, denominator, total)
    return leaf, max(0, -(-shared // (2 * denominator)))
