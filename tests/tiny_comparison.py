"""The audit of a tiny case next to the answer by exhaustion, fast enough for a million of them.

What is compared varies from case to case (:class:`Asked`), so that every option meets every kind of
release. Claims are compared as arrays; one case in twelve is also read the way users do, verdict by
verdict, with each proof and dataset checked again (``comparison.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import comparison
import showthrough as st
from brute_force import TooManyWorlds, Worlds, has_counts, matches, projected
from showthrough.records import Records
from showthrough.release import UNBOUNDED
from showthrough.tables.search.questions import REFUTED, REJECTED, VERIFIED
from strategies import Case, random_selection
from tiny_cases import DRAWS, TinyCase, random_plan, random_tiny

#: Datasets asked for where datasets are compared.
FEW = 12


@dataclass
class Totals:
    """How many cases of each kind were compared, and what was wrong with how many of them."""

    cases: Counter[str] = field(default_factory=Counter[str])
    false: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    rejected: Counter[str] = field(default_factory=Counter[str])
    undecided: Counter[str] = field(default_factory=Counter[str])
    said: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def add(self, kinds: Iterable[str], found: Found, name: str) -> None:
        """Count one case under each of its kinds and under all."""
        for kind in ("all", *kinds):
            self.cases[kind] += 1
            for what in ("false", "missed", "rejected", "undecided"):
                if getattr(found, what):
                    getattr(self, what)[kind] += 1
        self.said.update(found.said)
        for what in ("false", "missed", "rejected", "undecided"):
            self.problems += [f"{name}: {what}: {text}" for text in getattr(found, what)]

    @property
    def wrong(self) -> int:
        """How many cases had anything wrong with them."""
        return self.false["all"] + self.missed["all"] + self.rejected["all"] + self.undecided["all"]


@dataclass
class Found:
    """What is wrong with one case: said though false, not said though true, evidence that fails."""

    false: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    rejected: list[str] = field(default_factory=list[str])
    undecided: list[str] = field(default_factory=list[str])
    said: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True)
class Asked:
    """What is asked about a case."""

    findings: bool
    absent: bool
    gaps: bool
    min_columns: int
    max_columns: int | None
    multiplicity: tuple[int, int] | None
    truth: bool
    effort: float
    bounds: bool
    worlds: bool
    read: bool

    @classmethod
    def of(cls, case: TinyCase, rng: np.random.Generator) -> Asked:
        """Anything; three cases in a hundred are asked everything."""
        draws = rng.random(12)
        everything = bool(draws[0] < 0.03)
        limited = not everything and draws[1] < 0.15
        jumps = "counts that jump" in case.kinds
        k = len(case.schema.names)
        return cls(
            findings=bool(everything or draws[2] < 0.35),
            absent=bool(everything or (not limited and draws[3] < 0.1)),
            gaps=bool(everything or (not limited and draws[4] < (0.5 if jumps else 0.04))),
            min_columns=2 if limited and k > 1 and draws[5] < 0.2 else 1,
            max_columns=max(1, k - 1) if limited and draws[5] >= 0.2 else None,
            multiplicity=(1, 1 + int(draws[6] * 3)) if limited and draws[7] < 0.3 else None,
            truth=case.truth is not None and bool(draws[8] < 0.4),
            effort=1.0 if everything or draws[9] < 0.2 else 0.3,
            bounds=bool(everything or draws[10] < 0.1),
            worlds=bool(everything or 0.1 < draws[10] < 0.115),
            read=bool(everything or draws[11] < 0.05),
        )

    def kinds(self) -> Iterator[str]:
        """The names of what is asked."""
        named = {
            "findings": self.findings,
            "absences": self.absent,
            "gaps": self.gaps,
            "min_columns": self.min_columns > 1,
            "max_columns": self.max_columns is not None,
            "multiplicity": self.multiplicity is not None,
            "truth at hand": self.truth,
            "little effort": self.effort < 1,
            "bounds": self.bounds,
            "datasets": self.worlds,
            "evidence read": self.read,
            "everything on": self.findings and self.absent and self.gaps and self.bounds and self.worlds,
        }
        return (kind for kind, there in named.items() if there)


def compare_plan(seed: int, draws: int = DRAWS) -> Totals:
    """Compare all cases of one plan; a crash is a false answer like any other."""
    totals = Totals()
    plan = random_plan(seed)
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


def check_findings(
    case: TinyCase, audit: st.Audit, asked: Asked, verified: NDArray[np.bool_], found: Found
) -> None:
    """Every finding holds in all datasets, and everything learnt about known groups is a finding."""
    exact: dict[int, list[tuple[set[int], int]]] = {}
    for finding in audit.findings:
        found.said[f"findings: {finding.kind}"] += 1
        if finding.kind == "group of unknown size":
            _check_group(case, finding, found)
            continue
        m, whole = finding.multiplicity, finding.knows & finding.learns
        ways = [one for one in (finding.knows, *finding.other_ways) if one.terms]
        for way in [*ways, whole]:
            both = way & whole
            if not all(_exactly(case, one, m) for one in (way, both)):
                found.false.append(f"{way}: {finding.sentence(case.schema)}")
        if finding.knows.terms:
            _check_news(case, finding, found)
            closed = _closed(case, case.plan.number(whole))
            exact.setdefault(m, []).append(({case.plan.number(way) for way in ways}, closed))
    _check_complete(case, asked, verified, exact, found)
    _count_groups(case, audit, found)


def _exactly(case: TinyCase, selection: st.Selection, m: int) -> bool:
    number = case.plan.number(selection)
    return case.least[number] == case.most[number] == m


def _check_news(case: TinyCase, finding: st.Finding, found: Found) -> None:
    """What is learnt must not be in the rules already."""
    closed = _closed(case, case.plan.number(finding.knows))
    for name, values in finding.learns.terms:
        if _has(case, closed, case.plan.number(st.Selection.of({name: values}))):
            found.false.append(f"the rules alone say {name}: {finding.sentence(case.schema)}")


def _closed(case: TinyCase, number: int) -> int:
    """The largest selection that the rules make the same: all values its types have in common."""
    mine = case.plan.codes[case.plan.masks[number]]
    same = (mine == mine[0]).all(axis=0) if len(mine) else np.zeros(len(case.plan.strides), bool)
    return int(((mine[0] + 1) * same) @ case.plan.strides) if len(mine) else number


def _has(case: TinyCase, number: int, part: int) -> bool:
    """Whether a selection has all values of another."""
    return {*case.plan.selections[number].terms} >= {*case.plan.selections[part].terms}


def _check_group(case: TinyCase, finding: st.Finding, found: Found) -> None:
    """Somebody is as known in every dataset, and nobody who is differs in what is learnt."""
    holds = case.least[case.plan.number(finding.knows)] >= finding.multiplicity == 1
    known = case.plan.masks[case.plan.number(finding.knows)]
    both = case.plan.masks[case.plan.number(finding.knows & finding.learns)]
    holds &= not case.counts[:, known & ~both].any() and not (case.free & known & ~both).any()
    if not holds:
        found.false.append(finding.sentence(case.schema))
    _check_news(case, finding, found)


def _check_complete(
    case: TinyCase,
    asked: Asked,
    verified: NDArray[np.bool_],
    exact: dict[int, list[tuple[set[int], int]]],
    found: Found,
) -> None:
    """Wherever as many match G as match G and C, some finding says that knowing G tells C.

    Not where the rules tell it, and not where single exact cells state every such claim about these
    records. A finding for G has a way within G; what it says is closed under the rules. Where columns
    are limited, a finding says as much as one claim can hold, so something is enough there.
    """
    direct, numbers = _stated(case), np.flatnonzero(verified).tolist()
    for small in numbers:
        m = int(case.least[small])
        same = [big for big in numbers if case.least[big] == m and big != small and _has(case, big, small)]
        if not same or all(direct[one] for one in (small, *same)):
            continue
        told = [whole for ways, whole in exact.get(m, []) if any(_has(case, small, way) for way in ways)]
        for news in _news(case, small, same):
            found.said["learnt"] += 1
            if not any(asked.max_columns or _has(case, whole, news) for whole in told):
                text = f"{case.plan.selections[small]} tells {case.plan.selections[news]} ({m} records)"
                found.missed.append(text)


def _news(case: TinyCase, small: int, same: list[int]) -> set[int]:
    """The single values that claims about the same records have, beyond the claim and the rules."""
    closed = set(case.plan.selections[_closed(case, small)].terms)
    terms = {term for big in same for term in case.plan.selections[big].terms}
    return {case.plan.number(st.Selection((term,))) for term in terms - closed}


def _count_groups(case: TinyCase, audit: st.Audit, found: Found) -> None:
    """How many groups of unknown size share a value, and how many a finding tells; no promise is made."""
    told = [finding for finding in audit.findings if finding.kind == "group of unknown size"]
    few = (case.plan.columns > 0) & (case.plan.columns <= 2) & (case.least > 0) & (case.least < case.most)
    for number in np.flatnonzero(few & case.plan.in_use).tolist():
        known = case.plan.masks[number]
        there = case.plan.codes[known & (case.counts.any(axis=0) | case.free)]
        rules = case.plan.codes[known]
        if ((there == there[0]).all(axis=0) & (rules != rules[0]).any(axis=0)).any():
            found.said["groups that share a value"] += 1
            ways = (case.plan.number(finding.knows) for finding in told)
            found.said["groups that share a value, told"] += any(_has(case, number, way) for way in ways)


def _stated(case: TinyCase) -> NDArray[np.bool_]:
    """Per selection whether an exact cell counts just its types, given only the rules."""
    exact = (case.release.low == case.release.high) & (case.release.high > 0)
    stated = {row.tobytes() for row in case.plan.member[exact]}
    return np.array([row.tobytes() in stated for row in case.plan.masks])


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
