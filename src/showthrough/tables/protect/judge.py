"""The judge of releases: what a policy forbids and a release gives away all the same, with proofs.

Whether a claim is forbidden must not depend on how the release is changed: only then must every safe
plan break its proof. So "no cell states it" refers to the release as planned, and the number of
records for the baseline is that of the dataset the search starts from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.bounds import bounds, bounds_of_each
from showthrough.tables.claims import Bounds, World
from showthrough.tables.proof import Leaf, Proof
from showthrough.tables.protect.near_counts import near_counts
from showthrough.tables.protect.needs import Need
from showthrough.tables.protect.policy import Forbidden, Policy
from showthrough.tables.protect.statements import legal_types, matching
from showthrough.tables.result import Audit, ClaimTable
from showthrough.tables.search.implied import Closures
from showthrough.tables.search.questions import UNDECIDED, VERIFIED
from showthrough.tables.surprise import baseline

__all__ = [
    "Judge",
    "Leak",
    "Leaks",
    "Settled",
]

#: Claims with one and the same proof that are looked at: they differ in the zero cells they need.
_PER_QUESTION = 2


@dataclass(frozen=True)
class Leak:
    """Something forbidden that follows, by proofs that are all needed together."""

    text: str
    proofs: tuple[Proof, ...]
    selection: Selection
    multiplicity: int | None = None


@dataclass(frozen=True)
class Leaks:
    """What is forbidden and follows, how many forbidden claims that are, and what is undecided.

    A few leaks stand for all the claims that one proof proves.
    """

    leaks: tuple[Leak, ...]
    n_forbidden: int
    undecided: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether certainly nothing forbidden follows."""
        return not self.n_forbidden and not self.undecided


@dataclass(frozen=True)
class Settled:
    """What follows from tables that are already out, so that no plan can hide it.

    ``claims`` are all of them (as JSON), ``steps`` group disclosures about groups of unknown size, and
    ``n_forbidden`` says how much of it a policy forbids. Claims that are waived are among them.
    """

    claims: frozenset[str] = frozenset()
    steps: frozenset[str] = frozenset()
    n_forbidden: int = 0


@dataclass(frozen=True, eq=False)
class Judge:
    """Applies a policy to audits of one area.

    ``stated`` are the claims its planned cells state, ``needs`` what must stay unknown about single counts.
    """

    policy: Policy
    schema: Schema
    world: Records
    stated: frozenset[str] = frozenset()
    settled: Settled = Settled()
    needs: tuple[Need, ...] = ()

    @cached_property
    def closures(self) -> Closures:
        """What the rules imply."""
        return Closures(self.schema)

    @cached_property
    def _bare(self) -> Layout:
        """The schema with nothing but a total, for asking what its rules allow."""
        return Layout(self.schema, (make_table(self.schema, "total"),))

    def leaks(self, release: Release, audit: Audit | None, *, effort: float, seed: int) -> Leaks:
        """Everything forbidden that follows from a release, which has been audited."""
        parts = [*self._intervals(release, effort, seed)]
        if audit is not None:
            parts += [self._claims(audit), *(self._groups(audit, one) for one in self._group_rules)]
        return Leaks(
            tuple(leak for part in parts for leak in part.leaks),
            sum(part.n_forbidden for part in parts),
            tuple(text for part in parts for text in part.undecided),
        )

    def forbids(self, facts: ClaimTable, which: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these claims (by position) would be forbidden if they followed."""
        hit = np.zeros(len(which), bool)
        for one in self.policy.forbidden:
            if not one.groups:
                hit[~hit] = self._meets(facts, which[~hit], one)
        hit[hit] = ~self._is_settled(facts, which[hit])
        return hit

    def _is_settled(self, facts: ClaimTable, which: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which claims follow from tables that are already out."""
        if not self.settled.claims or not len(which):
            return np.zeros(len(which), bool)
        texts = facts.wording.selections(which).to_pylist()
        return np.array([text in self.settled.claims for text in texts], bool)

    @property
    def _group_rules(self) -> tuple[Forbidden, ...]:
        return tuple(one for one in self.policy.forbidden if one.groups)

    def _meets(self, facts: ClaimTable, which: NDArray[np.int64], one: Forbidden) -> NDArray[np.bool_]:
        meets = self._n_columns(facts, which) >= one.columns
        if one.most is not None:
            meets &= facts.candidates.count[which] <= one.most
        if one.sensitive:
            names = facts.system.universe.frame.names
            about = sum(1 << names.index(name) for name in one.sensitive if name in names)
            meets &= facts.candidates.subset[which] & about != 0
        if one.hidden and meets.any():
            texts = facts.wording.selections(which[meets]).to_pylist()
            meets[meets] = [text not in self.stated for text in texts]
        if one.baseline is not None and meets.any():
            meets[meets] = self._probability(facts, which[meets]) < one.baseline
        return meets

    def _n_columns(self, facts: ClaimTable, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many columns each claim is about, without those that a finer level of the claim implies."""
        names, subset = facts.system.universe.frame.names, facts.candidates.subset[which]
        counted = facts.k[which].copy()
        for at, name in enumerate(names):
            below = sum(1 << names.index(finer) for finer in self.schema.below(name) if finer in names)
            counted -= (subset >> at & 1) & (subset & below != 0)
        return counted

    def _probability(self, facts: ClaimTable, which: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.policy.reference is None:
            raise AssertionError("a policy with a baseline has a reference")
        claims = pa.table(
            {
                "area": pa.repeat(pa.scalar("", pa.string()), len(which)),
                "selection": facts.wording.selections(which),
                "multiplicity": pa.array(facts.candidates.count[which]),
            }
        )
        sizes: dict[str, int | None] = {"": len(self.world)}
        found = baseline(claims, self.policy.reference, schema=self.schema, n_records=sizes)
        return found["probability"].to_numpy(zero_copy_only=False)

    def _claims(self, audit: Audit) -> Leaks:
        facts = audit.claim_table
        open_ = np.flatnonzero(facts.state == UNDECIDED)
        verified = np.flatnonzero(facts.state == VERIFIED)
        verified = verified[self.forbids(facts, verified)]
        open_ = open_[self.forbids(facts, open_)] if not self._group_rules else open_
        open_ = open_[~self._is_settled(facts, open_)]
        chosen = _representatives(facts, verified)
        leaks = [_claim_leak(facts, at, self.schema) for at in chosen]
        unsure = tuple(facts.claim(int(at)).sentence(self.schema, "undecided") for at in open_)
        return Leaks(tuple(leaks), len(verified), unsure)

    def _groups(self, audit: Audit, rule: Forbidden) -> Leaks:
        known = list(self._of_known_size(audit.claim_table, rule))
        unknown = list(self._of_unknown_size(audit, rule))
        return Leaks((*known, *unknown), len(known) + len(unknown))

    def _of_known_size(self, facts: ClaimTable, rule: Forbidden) -> Iterator[Leak]:
        """Pairs of claims, one with one column more, about equally many records: the same ones."""
        chosen = np.flatnonzero(facts.state == VERIFIED)
        out = {*chosen[self._is_settled(facts, chosen)].tolist()}
        at_key = {int(key): int(at) for key, at in zip(facts.candidates.keys[chosen], chosen, strict=True)}
        names, seen = facts.system.universe.frame.names, set[tuple[int, int, int]]()
        enough = (facts.k[chosen] >= 2) & (self._n_columns(facts, chosen) >= rule.columns)
        for big in chosen[enough].tolist():
            for column in facts.columns_of(big):
                if rule.sensitive and names[column] not in rule.sensitive:
                    continue
                part = facts.candidates.lattice.parts[column][facts.codes[big, column]]
                small = at_key.get(int(facts.candidates.keys[big] - part))
                if small is None or facts.candidates.count[small] != facts.candidates.count[big]:
                    continue
                if small in out and big in out:
                    continue
                asked = int(facts.question[small]), int(facts.question[big]), column
                name = names[column]
                known, value = facts.claim(small).selection, facts.terms(big)[name]
                if asked not in seen and not self._implied(known, name, value):
                    seen.add(asked)
                    yield self._pair(facts, small, big, name)

    def _implied(self, known: Selection, name: str, value: str) -> bool:
        """Whether the rules alone leave whoever matches no other value of an attribute."""
        others = tuple(other for other in self.schema[name].values if other != value)
        if not others:
            return True
        ruled = {n for rule in self.schema.rules for n in (*rule.when.attributes, *rule.then.attributes)}
        types = legal_types(self._bare, frozenset({*known.attributes, name, *ruled}), frozenset())
        terms = (*known.terms, (name, others))
        return types is not None and not matching(types, terms).any()

    def _pair(self, facts: ClaimTable, small: int, big: int, name: str) -> Leak:
        """At most m match what is known, at least m match it with the value that is learnt."""
        one, other = facts.proof(small), facts.proof(big)
        if one is None or other is None:
            raise AssertionError("a verified claim has a proof")
        known, learnt = facts.claim(small).selection, facts.claim(big)
        proofs = (
            Proof(one.selection, one.multiplicity, at_most=one.at_most, over=one.over),
            Proof(other.selection, other.multiplicity, at_least=other.at_least, over=other.over),
        )
        value = Selection.of({name: facts.terms(big)[name]})
        return Leak(self._learns(known, value), proofs, learnt.selection, learnt.multiplicity)

    def _learns(self, known: Selection, learnt: Selection) -> str:
        return f"Whoever knows that {self.schema.describe(known)} learns that {self.schema.describe(learnt)}."

    def _of_unknown_size(self, audit: Audit, rule: Forbidden) -> Iterator[Leak]:
        for finding in audit.findings:
            if finding.kind != "group of unknown size" or len(finding.knows) + 1 < rule.columns:
                continue
            somebody, *nobody = finding.proofs
            for proof in nobody:
                (name,) = (n for n, _ in proof.selection if n not in finding.knows)
                (learnt,) = finding.learns[name]
                wanted = not rule.sensitive or name in rule.sensitive
                if wanted and not self._implied(finding.knows, name, learnt):
                    value = Selection.of({name: learnt})
                    text = self._learns(finding.knows, value)
                    if text not in self.settled.steps:
                        yield Leak(text, (somebody, proof), finding.knows & value)

    def left_to_hide(self, release: Release, *, effort: float, seed: int) -> tuple[Need, ...]:
        """What must stay unknown about single counts, once a release is known."""
        found = [
            (need, bounds(release, need.where, truth=self.world, effort=effort, seed=seed))
            for need in self.needs
        ]
        left = [need.after(known.low, known.high) for need, known in found]
        return tuple(need for need in left if need is not None)

    def _intervals(self, release: Release, effort: float, seed: int) -> Iterator[Leaks]:
        if not self.needs:
            return
        shown = near_counts(release, self.world, self.needs)
        stated = _stated(release)
        left = list[Need]()
        for need in self.needs:
            known = stated.get(need.where)
            if known is not None and not need.met_by(known.low, known.high):
                yield Leaks((_interval_leak(known, need),), 1)
            elif need not in shown:
                left.append(need)
        if not left:
            return
        places = (need.where for need in left)
        each = bounds_of_each(release, places, truth=self.world, effort=effort, seed=seed)
        for need, found in zip(left, each, strict=True):
            if not need.met_by(found.low, found.high):
                yield Leaks((_interval_leak(found, need),), 1)
            elif not need.shown_by(
                [world.count(need.where) for world in self.datasets(release, need, found)]
            ):
                yield Leaks((), 0, (f"Undecided: {need}.",))

    def datasets(self, release: Release, need: Need, found: Bounds) -> tuple[World, ...]:
        """Datasets that agree with a release, among them those with the least and the largest count found."""
        high = found.high_world
        if found.high is None:  # nothing limits the count: datasets with as many more as are needed
            most = len(self.world) + need.width + max(need.high or 0, found.low)
            capped = release.merged(_total(release, most))
            high = bounds(capped, need.where, truth=self.world).high_world
        own = World(self.schema, self.world.codes)
        return (own, *(world for world in (found.low_world, high) if world is not None))


def _total(release: Release, most: int) -> Release:
    """That there are this many records at most."""
    name = "'".join(("total", *(table.name for table in release.tables)))
    layout = Layout(release.schema, (make_table(release.schema, "total", name=name),))
    return Release(layout, np.zeros(1, np.int64), np.array([most], np.int64), release.area)


def _stated(release: Release) -> dict[Selection, Bounds]:
    """What single cells state exactly, with the proofs that are these cells."""
    found = dict[Selection, Bounds]()
    for at in np.flatnonzero(release.low == release.high).tolist():
        selection, count = release.layout.selections[at], int(release.low[at])
        over = tuple(sorted(selection.attributes))
        low = Proof(selection.terms, count, at_least=Leaf(((at, 1),), (), 1, count), over=over)
        high = Proof(selection.terms, count, at_most=Leaf(((at, -1),), (), 1, -count), over=over)
        found[selection] = Bounds(selection, count, count, low, high, None, None)
    return found


def _interval_leak(found: Bounds, need: Need) -> Leak:
    """One end alone, if it excludes too much, or both."""
    low, high, proofs = found.low, found.high, (found.low_proof, found.high_proof)
    number = str(low) if low == high else f"{low} to {high}"
    if need.low is not None and low > need.low:
        number, proofs = f"at least {low}", (found.low_proof,)
    elif need.high is not None and high is not None and high < need.high:
        number, proofs = f"at most {high}", (found.high_proof,)
    text = f"The number of records with {need.where or 'any values'} is {number}."
    return Leak(text, tuple(proof for proof in proofs if proof is not None), need.where)


def _claim_leak(facts: ClaimTable, at: int, schema: Schema) -> Leak:
    proof, claim = facts.proof(at), facts.claim(at)
    if proof is None:
        raise AssertionError("a verified claim has a proof")
    return Leak(claim.sentence(schema), (proof,), claim.selection, claim.multiplicity)


def _representatives(facts: ClaimTable, claims: NDArray[np.int64]) -> list[int]:
    """Two claims per question: one with the fewest and one with the most columns."""
    order = claims[np.lexsort((claims, facts.k[claims], facts.question[claims]))]
    starts = np.flatnonzero(np.diff(facts.question[order], prepend=-1))
    chosen: list[int] = []
    for part in np.split(order, starts[1:]) if len(order) else ():
        picks = np.linspace(0, len(part) - 1, min(_PER_QUESTION, len(part))).round().astype(int)
        chosen += part[picks].tolist()
    return chosen
