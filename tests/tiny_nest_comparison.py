"""The audit of a tiny nested release next to the answer by exhaustion: an area, its parts, every dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from showthrough.errors import ProofError
from showthrough.release import UNBOUNDED
from showthrough.tables.linked.audit import audit_nest
from showthrough.tables.linked.differ import variability_of_parts
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import NestChecker, Proof
from showthrough.tables.proof.nested import PartChecker
from showthrough.tables.result import Audit, Verdict
from showthrough.tables.variability import settled_records
from tiny_asked import Found, Totals
from tiny_nests import NestCase, random_nest

#: One nest in so many is also asked how different two datasets can be.
_DIFFERENCES = 4


def checker_of(nest: Nest) -> NestChecker:
    """The independent checker for an area and its parts."""
    return NestChecker(nest.whole.schema, nest.whole.cells, {one.area: one.cells for one in nest.parts})


def compare_nests(seeds: range) -> Totals:
    """Compare random nests; a crash is a false answer like any other."""
    totals = Totals()
    for seed in seeds:
        case, found = random_nest(seed), Found()
        try:
            compare_nest(case, found, seed=seed)
        except Exception as error:  # noqa: BLE001 (counted and reported, and the exit code is 1)
            found.false.append(f"{type(error).__name__}: {error}")
        totals.add(kinds_of(case, seed), found, f"nest {seed}")
    return totals


def kinds_of(case: NestCase, seed: int) -> Iterator[str]:
    """The names of what a nest has, and of what is asked about it."""
    nest = case.nest
    given = nest.high < UNBOUNDED
    cells = [cell for table in nest.layout.tables for cell in table.cells]
    named = {
        "nested": True,
        "nested, three parts": len(nest.parts) == 3,
        "nested, rules": bool(nest.whole.schema.rules),
        "nested, intervals": bool((given & (nest.low < nest.high)).any()),
        "nested, no upper end": bool((~given & (nest.low > 0)).any()),
        "nested, weights and sums": any(cell.terms != ((1, cell.terms[0][1]),) for cell in cells),
        "nested, truth at hand": seed % 2 == 1,
        "nested, differences": seed % _DIFFERENCES == 0,
    }
    return (kind for kind, there in named.items() if there)


def compare_nest(case: NestCase, found: Found, *, seed: int) -> None:
    """Audit a nest and note all that differs from brute force."""
    truth = case.truth if seed % 2 else None
    audits = audit_nest(case.nest, truth=truth, seed=seed, findings=seed % 5 == 0)
    checker = checker_of(case.nest)
    for part, audit in enumerate(audits):
        _check_part(case, part, audit, found)
        _check_evidence(checker, case.nest.names[part], audit, found)
    if seed % _DIFFERENCES == 0:
        _check_differences(case, checker, audits, found)


def _check_part(case: NestCase, part: int, audit: Audit, found: Found) -> None:
    """Claims, the number of records, and whether one dataset alone agrees."""
    name, verdicts = case.nest.names[part], list(audit.verdicts)
    said = {(one.claim.selection, one.claim.multiplicity) for one in audit.of_kind("verified")}
    true = case.verified(part)
    found.said.update(f"nested: {one.kind}" for one in verdicts)
    found.false += [f"{name}: {selection} is {n}" for selection, n in said - true]
    open_ = {one.claim.selection for one in verdicts if one.kind == "undecided"}
    found.undecided += [f"{name}: {selection}" for selection in open_]
    found.missed += [f"{name}: {selection} is {n}" for selection, n in true - said if selection not in open_]
    for one in audit.of_kind("refuted"):
        counts = case.count(part, one.claim.selection)
        if counts.min() == counts.max() == one.claim.multiplicity:
            found.false.append(f"{name}: {one.claim.selection} is not {one.claim.multiplicity}")
    free = case.free.reshape(len(case.nest.parts), -1)[part].any()
    unique = len(np.unique(case.counts[:, part], axis=0)) == 1 and not free
    if not audit.left_out and audit.unique is not unique:
        (found.missed if audit.unique is None else found.false).append(f"{name}: unique is {audit.unique}")
    sizes = case.counts[:, part].sum(axis=1)
    if audit.n_records is not None and (free or (sizes != audit.n_records).any()):
        found.false.append(f"{name}: {audit.n_records} records, datasets have {sizes.min()} to {sizes.max()}")


def _check_evidence(checker: NestChecker, part: str, audit: Audit, found: Found) -> None:
    """Every proof is accepted, and none for another count; of two datasets one has the count claimed."""
    mine = checker.part(part)
    for one in audit.verdicts:
        try:
            if one.kind == "verified":
                found.said["nested: proofs read"] += 1
                assert one.proof is not None
                mine.check(one.proof)
                if _accepts(mine, replace(one.proof, multiplicity=one.claim.multiplicity + 1)):
                    found.false.append(f"{part}: {one.claim.selection}: a proof of another count is accepted")
            elif one.kind == "refuted":
                found.said["nested: refutations read"] += 1
                found.rejected += [f"{part}: {problem}" for problem in _refutation_problems(mine, one)]
        except ProofError as error:
            found.rejected.append(f"{part}: {one.claim.selection}: {error}")


def _accepts(checker: PartChecker, proof: Proof) -> bool:
    try:
        checker.check(proof)
    except ProofError:
        return False
    return True


def _refutation_problems(checker: PartChecker, verdict: Verdict) -> Iterator[str]:
    assert verdict.worlds is not None
    worlds = [checker.check_world(world.rows()) for world in verdict.worlds]
    first, second = (world.count(verdict.claim.selection.terms) for world in worlds)
    if not first == verdict.claim.multiplicity != second:
        yield f"{verdict.claim.selection}: datasets have {first} and {second}"


def _check_differences(case: NestCase, checker: NestChecker, audits: tuple[Audit, ...], found: Found) -> None:
    """How different two datasets can be lies between the ends, and the upper one is proved."""
    for at, one in enumerate(variability_of_parts(audits, seed=0)):
        if one is None:
            continue
        counts, name = case.counts[:, at], case.nest.names[at]
        common = min(int(np.minimum(mine, counts).sum(axis=1).min()) for mine in counts)
        free = any(len(case.nest.whole.schema[n].values) > 1 for n in audits[at].left_out)
        largest = one.records if free else one.records - common
        found.said["nested: differences"] += 1
        if not one.low <= largest <= one.high:
            found.false.append(f"{name}: {one.low} to {one.high} records differ, datasets have {largest}")
        try:
            one.proof.check(checker.part(name), settled_records(audits[at]))
        except ProofError as error:
            found.rejected.append(f"{name}: records that differ: {error}")
