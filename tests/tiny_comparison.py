"""The audit of a tiny case next to the answer by exhaustion, fast enough for a million of them.

What is compared varies from case to case (:class:`Asked`), so that every option meets every kind of
release. Claims are compared as arrays; one case in twelve is also read the way users do, verdict by
verdict, with each proof and dataset checked again (``comparison.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import comparison
import showthrough as st
from brute_force import TooManyWorlds, Worlds, has_counts, matches, projected
from showthrough.records import Records
from showthrough.release import UNBOUNDED
from showthrough.tables.search.questions import REFUTED, REJECTED, VERIFIED
from strategies import Case, random_selection
from tiny_asked import Asked, Found, Totals
from tiny_cases import DRAWS, TinyCase, random_plan, random_tiny
from tiny_findings import check_findings

#: Datasets asked for where datasets are compared.
FEW = 12


def compare_plan(seed: int, draws: int = DRAWS, *, sums: bool = False) -> Totals:
    """Compare all cases of one plan; a crash is a false answer like any other."""
    totals = Totals()
    plan = random_plan(seed, sums=sums)
    for draw in range(draws):
        case = random_tiny(plan, seed, draw)
        asked = Asked.of(case, np.random.default_rng([seed, draw, 1_000]))
        found = Found(false=list(case.misread))
        try:
            compare_tiny(case, asked, found, seed=draw)
        except Exception as error:  # noqa: BLE001 (counted and reported, and the exit code is 1)
            found.false.append(f"{type(error).__name__}: {error}")
        totals.add({*case.kinds, *asked.kinds()}, found, f"plan {seed}, draw {draw}")
    return totals


def compare_tiny(case: TinyCase, asked: Asked, found: Found, *, seed: int = 0) -> None:
    """Audit as asked and note all that differs from brute force."""
    truth = None
    if asked.truth and case.truth is not None:
        truth = Records(case.schema, np.repeat(case.plan.codes, case.truth, axis=0))
    try:
        audit = st.audit(
            case.release,
            truth=truth,
            effort=asked.effort,
            seed=seed,
            min_columns=asked.min_columns,
            max_columns=asked.max_columns,
            multiplicity=asked.multiplicity,
            absent=asked.absent,
            gaps=asked.gaps,
            findings=asked.findings,
        )
    except st.Contradiction as error:
        check_conflict(case, error, found)
        return
    if not len(case.counts):
        found.missed.append("the contradiction")
        return
    verified = check_claims(case, audit, asked, found)
    check_pool(case, audit, found)
    check_whole(case, audit, asked, found)
    if asked.absent:
        check_absences(case, audit, found)
    if asked.gaps:
        check_gaps(case, audit, found)
    if asked.findings:
        check_findings(case, audit, asked, verified, found)
    if asked.bounds:
        check_bounds(case, seed, found)
    if asked.worlds:
        check_worlds(case, seed, found)
    if asked.read:
        check_evidence(case, audit, found)


def check_conflict(case: TinyCase, error: st.Contradiction, found: Found) -> None:
    """The cells named cannot all be true, and could if any one were left out."""
    found.said["contradictions"] += 1
    if len(case.counts):
        found.false.append(f"datasets agree, but: {error}")
        return
    cells = [case.release.layout.names.index((table, cell)) for table, cell, _ in error.cells]

    def possible(some: list[int]) -> bool:
        return has_counts(
            case.plan.member[some], case.release.low[some], case.release.high[some], most=20_000
        )

    try:
        if possible(cells):
            found.false.append(f"these cells do not conflict: {error}")
        if error.minimal and not all(possible([at for at in cells if at != one]) for one in cells):
            found.false.append(f"not all of these cells are needed: {error}")
    except TooManyWorlds:
        found.said["conflicts too large to check"] += 1


def numbers_of(case: TinyCase, audit: st.Audit) -> NDArray[np.int64]:
    """Per claim of an audit the number of its selection."""
    claims = audit.claim_table
    frame = claims.system.universe.frame
    named = claims.candidates.subset[:, None] >> np.arange(len(frame.over)) & 1
    strides = case.plan.strides[list(frame.over)]
    return ((claims.codes.astype(np.int64) + 1) * named) @ strides


def check_claims(case: TinyCase, audit: st.Audit, asked: Asked, found: Found) -> NDArray[np.bool_]:
    """Claims are verified exactly if every dataset has that count; which selections are so."""
    claims, plan = audit.claim_table, case.plan
    number, count, state = numbers_of(case, audit), claims.candidates.count, claims.state
    is_true = (case.least[number] == count) & (case.most[number] == count)
    wanted = (case.least == case.most) & (case.least > 0) & plan.in_use & (plan.columns > 0)
    wanted &= (plan.columns >= asked.min_columns) & (plan.columns <= (asked.max_columns or 99))
    if asked.multiplicity is not None:
        low, high = asked.multiplicity
        wanted &= (case.least >= low) & (case.least <= high)
    verified = np.zeros(len(wanted), bool)
    verified[number[state == VERIFIED]] = True
    found.said["verified"] += int((state == VERIFIED).sum())
    found.said["refuted"] += int((state == REFUTED).sum())
    found.false += _named(case, number[(state == VERIFIED) & ~is_true], "verified")
    found.false += _named(case, number[(state == REFUTED) & is_true], "refuted")
    found.false += _named(case, np.flatnonzero(verified & ~wanted), "verified, out of the scope or absent")
    for at in np.flatnonzero((state != VERIFIED) & (state != REFUTED)).tolist():
        note(case, claims.selection(at), claims.evidence(at), asked, found)
    missed = wanted & ~verified
    missed[number[(state != VERIFIED) & (state != REFUTED)]] = False
    found.missed += _named(case, np.flatnonzero(missed), "not verified")
    return verified


def note(case: TinyCase, about: st.Selection, evidence: str, asked: Asked, found: Found) -> None:
    """An open question: a defect if a proof was rejected or the whole effort was spent."""
    found.said["undecided"] += 1
    if evidence == REJECTED:
        found.rejected.append(f"{about}: the proof was rejected")
    elif asked.effort >= 1:
        found.undecided.append(f"{about or 'all of ' + case.schema.records}")


def _named(case: TinyCase, numbers: NDArray[np.int64], what: str) -> list[str]:
    return [
        f"{case.plan.selections[number]} {what}, datasets have {case.least[number]} to {case.most[number]}"
        for number in numbers.tolist()
    ]


def check_pool(case: TinyCase, audit: st.Audit, found: Found) -> None:
    """Every dataset kept as evidence follows the rules and agrees with every cell."""
    claims, plan = audit.claim_table, case.plan
    frame = claims.system.universe.frame
    codes = np.zeros((len(claims.system.universe.codes), len(plan.strides)), np.int64)
    codes[:, list(frame.over)] = claims.system.universe.codes
    numbers = ((codes + 1) @ plan.strides).tolist()
    types = np.array([plan.type_of.get(number, -1) for number in numbers], np.int64)
    found.said["datasets"] += len(claims.pool)
    counts = np.zeros((len(claims.pool), len(plan.types)), np.int64)
    for at, world in enumerate(claims.pool):
        mine = types[world]
        if (mine < 0).any():
            found.false.append("a dataset breaks a rule")
            return
        counts[at] = np.bincount(mine, minlength=len(plan.types))
    cells = counts @ plan.member.T
    if ((cells < case.release.low) | (cells > case.release.high)).any():
        found.false.append("a dataset does not agree with the release")


def check_whole(case: TinyCase, audit: st.Audit, asked: Asked, found: Found) -> None:
    """The number of records, and whether one dataset alone agrees."""
    total = int(case.least[0]) if case.least[0] == case.most[0] else None
    if audit.n_records is not None and audit.n_records != total:
        found.false.append(f"{audit.n_records} records, datasets have {case.least[0]} to {case.most[0]}")
    unique = len(case.counts) == 1 and not case.free.any()
    if audit.unique is not None and audit.unique is not unique:
        found.false.append(f"unique is {audit.unique}, datasets: {len(case.counts)}")
    if asked.effort >= 1 and (audit.unique is None or audit.n_records != total):
        found.missed.append(f"unique is {audit.unique}, {audit.n_records} of {total} records")


def check_absences(case: TinyCase, audit: st.Audit, found: Found) -> None:
    """The smallest selections that nobody matches in any dataset, and no others."""
    absent = case.most == 0
    minimal = absent & case.plan.in_use & (case.plan.columns > 0)
    for number in np.flatnonzero(minimal).tolist():
        minimal[number] = not any(absent[smaller] for smaller in _smaller(case, number))
    said = {v.claim.selection for v in audit.extra if v.kind == "verified"}
    true = {case.plan.selections[number] for number in np.flatnonzero(minimal).tolist()}
    found.said["absences"] += len(said)
    found.false += [f"nobody matches {one}" for one in said - true]
    found.missed += [f"nobody matches {one}" for one in true - said]
    _check_proofs(case, [v for v in audit.extra if v.kind == "verified"], found)


def _smaller(case: TinyCase, number: int) -> list[int]:
    """The selections with one attribute less; that of nothing has no count of its own."""
    terms = case.plan.selections[number].terms
    if not case.counts.any():  # where there is nobody at all, single values say it
        return [0] if len(terms) > 1 else []
    rest = (st.Selection(tuple(t for t in terms if t[0] != name)) for name, _ in terms)
    return [case.plan.number(one) for one in rest if one.terms]


def check_gaps(case: TinyCase, audit: st.Audit, found: Found) -> None:
    """The counts between the smallest and the largest that no dataset has, and no others."""
    verdicts = [v for v in audit.extra if v.kind == "impossible"]
    said = {(v.claim.selection, v.claim.multiplicity) for v in verdicts}
    true: set[tuple[st.Selection, int]] = set()
    wide = case.plan.in_use & (case.plan.columns > 0) & (case.most - case.least > 1) & (case.most < UNBOUNDED)
    for number in np.flatnonzero(wide).tolist():
        between = set(range(int(case.least[number]), int(case.most[number])))
        true |= {(case.plan.selections[number], m) for m in between - set(case.table[:, number].tolist())}
    found.said["gaps"] += len(said)
    found.false += [f"{one} is never {m}" for one, m in said - true]
    found.missed += [f"{one} is never {m}" for one, m in true - said]
    _check_proofs(case, verdicts, found)


def _check_proofs(case: TinyCase, verdicts: list[st.Verdict], found: Found) -> None:
    """Proofs that stand outside the table of claims: each must be accepted."""
    for verdict in verdicts:
        problems = comparison.proof_problems(as_case(case), checker_of(case), verdict)
        found.rejected += [f"{verdict.claim.selection}: {problem}" for problem in problems]


def as_case(case: TinyCase) -> Case:
    """The case as other tests have it."""
    truth = case.counts[0] if case.truth is None else case.truth
    records = Records(case.schema, np.repeat(case.plan.codes, truth, axis=0))
    made = Case(case.schema, records, case.release)
    made.__dict__["worlds"] = Worlds(tuple(case.plan.types), case.counts, case.free)
    return made


def checker_of(case: TinyCase) -> comparison.Checker:
    """The independent checker for the release."""
    return comparison.Checker(case.schema, case.release)


def check_bounds(case: TinyCase, seed: int, found: Found) -> None:
    """The ends of any selection's count, with proofs and datasets for both."""
    selection = random_selection(np.random.default_rng(seed), case.schema, 3)
    bounds = st.bounds(case.release, selection)
    mask = np.array([matches(selection, record) for record in case.plan.types])
    counts = case.counts[:, mask].sum(axis=1)
    most = None if (mask & case.free).any() else int(counts.max())
    found.said["bounds"] += 1
    if bounds.low > counts.min() or (bounds.high is not None and (most is None or bounds.high < most)):
        found.false.append(f"{selection}: {bounds}, datasets have {counts.min()} to {most}")
    elif (bounds.low, bounds.high) != (counts.min(), most) or not bounds.tight:
        found.missed.append(f"{selection}: {bounds}, datasets have {counts.min()} to {most}")
    for world, end in ((bounds.low_world, bounds.low), (bounds.high_world, bounds.high)):
        if world is not None:
            problems = comparison.world_problems(case.release, world.rows())
            found.rejected += [f"{selection}: {problem}" for problem in problems]
            if comparison.count_in(world.rows(), selection) != end:
                found.false.append(f"{selection}: a dataset does not attain {end}")


def check_worlds(case: TinyCase, seed: int, found: Found) -> None:
    """Datasets are different, agree, and are all there are where there are few."""
    listed = st.worlds(case.release, FEW, seed=seed)
    different = {frozenset((frozenset(r.items()), n) for r, n in world.rows()) for world in listed}
    if len(different) < len(listed):
        found.false.append("two datasets are the same")
    for world in listed:
        found.rejected += comparison.world_problems(case.release, world.rows())
    names = [
        name
        for at, name in enumerate(case.schema.names)
        if case.plan.in_use[np.flatnonzero(case.plan.attributes == 1 << at)].all()
    ]
    few = FEW if case.free.any() else min(FEW, len(projected(as_case(case).worlds, names)))
    if len(listed) != few:
        found.missed.append(f"{len(listed)} datasets listed, {few} exist or were asked for")


def check_evidence(case: TinyCase, audit: st.Audit, found: Found) -> None:
    """Every verdict as users read it: its proof or its two datasets, checked once more."""
    tally = comparison.Tally()
    comparison.check_verdicts(as_case(case), audit, tally, "read")
    comparison.check_findings(as_case(case), audit, tally, "read")
    found.said["proofs read"] += tally.proofs
    found.said["refutations read"] += tally.worlds // 2
    found.rejected += [problem for problem in tally.problems if not problem.endswith(": undecided")]
