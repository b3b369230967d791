"""How different two datasets that agree with a release can be: from a pair, and with a proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from showthrough.errors import ProofError, Undecided
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Release
from showthrough.selection import Selection
from showthrough.tables.audit import context_of, start_decider
from showthrough.tables.bounds import bounds
from showthrough.tables.claims import Variability, World, world_of
from showthrough.tables.proof import Checker, Leaf, Proof
from showthrough.tables.proof.differ import Difference
from showthrough.tables.result import Audit
from showthrough.tables.search.decider import Decider
from showthrough.tables.search.prove import Rows, row_total
from showthrough.tables.search.questions import VERIFIED
from showthrough.tables.search.solver import Inequalities, Solution
from showthrough.tables.search.system import System
from showthrough.tables.search.type_counts import TypeCounts

__all__ = [
    "Variability",
    "bound_of",
    "checked",
    "pair_of",
    "settled_records",
    "told_apart",
    "total_of",
    "variability",
    "variability_of",
]

Counts = NDArray[np.int64]

#: Denominators tried for the multipliers of the proof.
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 24, 30, 60, 120, 360, 840, 5040)

#: Worlds from which the most different one is looked for, and how often each time.
_STARTS, _ROUNDS = 8, 4


def variability(
    release: Release, *, truth: Records | None = None, effort: float = 1.0, seed: int = 0
) -> Variability | None:
    """How different two datasets that agree with a release can be.

    Parameters
    ----------
    release
        The published tables of one area.
    truth
        The microdata, where the publisher holds them; they only spare the search for a first dataset.
    effort
        Multiplies all limits on work.
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
    >>> found = st.variability(release)
    >>> found.low, found.high, found.records
    (2, 2, 3)
    """
    total = total_of(release, truth=truth, effort=effort, seed=seed)
    if total is None:
        return None
    decider = start_decider(release, truth=truth, effort=effort, seed=seed)
    apart = told_apart(decider.system)
    one, other = _most_different(decider, apart)
    low = total.multiplicity - int(np.minimum(one, other)[apart].sum())
    proof = bound_of(decider.system, total)
    found = Variability(low, pair_of(decider.system, one, other), proof)
    return checked(found, Checker(release.schema, release))


def variability_of(
    found: Audit, *, truth: Records | None = None, effort: float = 1.0, seed: int = 0
) -> Variability | None:
    """As :func:`variability`, of an area that was audited: what was proved of its records helps.

    Where only one dataset agrees, nothing is left to be searched. None also where there are too many record
    types to be listed.
    """
    release = found.release
    if found.n_types is None:
        return None
    settled = settled_records(found)
    if found.unique:
        total = total_of(release, truth=truth, effort=effort, seed=seed)
        if total is not None and total.multiplicity == settled:
            world = world_of(found.claim_table.system, found.claim_table.pool[0])
            return Variability(0, (world, world), Difference(0, total))
    alone = variability(release, truth=truth, effort=effort, seed=seed)
    if alone is None or alone.records - settled >= alone.high:
        return alone
    proof = Difference(alone.records - settled, alone.proof.total)
    return checked(replace(alone, proof=proof), Checker(release.schema, release), settled)


def checked(found: Variability, checker: Checker, settled: int = 0) -> Variability:
    """The same, once the checker has accepted it."""
    try:
        found.proof.check(checker, settled)
    except ProofError as error:
        raise Undecided(f"the checker rejects what was found: {error}; please report this") from None
    if found.low > found.high:
        raise Undecided(
            f"two datasets differ in {found.low} records, where {found.high} are proved to be the most; "
            "please report this"
        )
    return found


def settled_records(found: Audit) -> int:
    """How many records proved claims name in every attribute that has several values."""
    if any(len(found.schema[name].values) > 1 for name in found.left_out):
        return 0
    claims = found.claim_table
    n_columns = len(claims.system.universe.frame.names)
    sizes = np.bitwise_count(claims.candidates.subset.astype(np.uint64))
    whole = (claims.state == VERIFIED) & (sizes == n_columns)
    return int(claims.candidates.count[whole].sum())


def total_of(
    release: Release, *, truth: Records | None = None, effort: float = 1.0, seed: int = 0
) -> Proof | None:
    """A proof of how many records there are; None where that does not follow."""
    context = context_of(release.layout)
    for cells in context.margins.of(Selection()):
        low, high = release.low[list(cells)], release.high[list(cells)]
        if not (low == high).all():
            continue
        n = sum(low.tolist())
        ends = (Leaf(tuple((at, sign) for at in cells), (), 1, sign * n) for sign in (1, -1))
        alone = len(cells) == 1 and not release.layout.attributes[cells[0]]
        return Proof((), n, *ends, over=() if alone else context.frame.names)
    counted = bounds(release, Selection(), truth=truth, effort=effort, seed=seed)
    if counted.low != counted.high or counted.high_proof is None:
        return None
    return Proof(
        (), counted.low, counted.low_proof.at_least, counted.high_proof.at_most, over=context.frame.names
    )


def bound_of(system: System, total: Proof, most: Counts | None = None) -> Difference:
    """The best bound that multipliers prove about all records of a system; at worst, how many there are.

    ``most`` says how many records of each class there can be, where more is known than its own cells say.
    """
    limits = system.most if most is None else np.minimum(system.most, most)
    leaf, common = _proof(system, told_apart(system), limits)
    if common <= 0:
        return Difference(total.multiplicity, total)
    return Difference(total.multiplicity - common, total, system.universe.frame.names, leaf)


def told_apart(system: System) -> NDArray[np.bool_]:
    """Which classes have a single record type: records of others can differ without any count doing so."""
    frame = system.universe.frame
    if any(len(a.values) > 1 for a in frame.layout.schema.attributes if a.name not in frame.names):
        return np.zeros(system.n_classes, bool)
    return np.bincount(system.group, minlength=system.n_classes) == 1


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


def pair_of(system: System, one: Counts, other: Counts) -> tuple[World, World]:
    """Two datasets with these class counts; where a class has several types they have different ones."""
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


def _proof(system: System, fixed: NDArray[np.bool_], limits: Counts) -> tuple[Leaf, int]:
    """Multipliers that prove that any two datasets have this many records in common; none prove 0."""
    useful = np.flatnonzero(fixed & (limits < UNBOUNDED))
    nothing = Leaf((), (), 1, 0), 0
    if not len(useful) or not len(system.rows):
        return nothing
    n, m = system.n_classes, len(useful)
    program = Inequalities(np.append(np.zeros(n), np.ones(m)), np.zeros(n + m), np.full(n + m, np.inf))
    wide = hstack([csr_array(system.rows, dtype=float), csr_array((len(system.rows), m))])
    high = np.where(system.high >= UNBOUNDED, np.inf, system.high.astype(float))
    program.add(csr_array(wide), system.low.astype(float), high)
    each = np.arange(m)
    places = (np.append(each, each), np.append(useful, n + each))
    twice = csr_array((np.append(np.full(m, 2.0), np.full(m, -1.0)), places), shape=(m, n + m))
    program.add(twice, np.full(m, -np.inf), limits[useful].astype(float))
    found = program.solve()
    if found is None:
        return nothing
    multipliers = found.multipliers[: len(system.rows)]
    tried = [_made(system, limits, useful, (multipliers, denominator)) for denominator in _DENOMINATORS]
    return max((one for one in tried if one is not None), key=lambda one: one[1], default=nothing)


def _made(
    system: System, limits: Counts, useful: Counts, fractions: tuple[NDArray[np.float64], int]
) -> tuple[Leaf, int] | None:
    """The multipliers with a denominator, and how many records they prove to be in common."""
    multipliers, denominator = fractions
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
    pairs = zip(sums[used].tolist(), limits[used].tolist(), strict=True)
    shared = 2 * total - sum(one * limit for one, limit in pairs)
    leaf = Rows(system).leaf(numerators, denominator, total)
    return leaf, max(0, -(-shared // (2 * denominator)))
