"""The paper's integer program: corrected it agrees with the audit, as printed it is unsound."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import showthrough as st
from needs import SLOW

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper_formulation import PaperProgram, claims_of

SCHEMA = st.Schema.of(
    {"a": ["x", "y", "z"], "b": ["0", "1"], "c": ["p", "q", "r"], "d": ["-", "+"]},
    rules=[st.Rule(st.Selection.of(a="z"), st.Selection.of(d="+"))],
)
TABLES = ("total", "a*b", "b*c", "c*d")


def block(n: int, seed: int) -> st.Records:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, len(a.values), n) for a in SCHEMA.attributes])
    codes[codes[:, 0] == 2, 3] = 1
    return st.Records(SCHEMA, codes)


@pytest.mark.parametrize(
    ("n", "seed", "tables"),
    [
        (4, 2, TABLES),
        (5, 2, ("a*b", "b*c", "d")),
        *([(5, 1, TABLES), (6, 2, TABLES), (6, 3, ("a", "b*c", "a*d"))] if SLOW else []),
    ],
)
def test_corrected_program_agrees_with_the_audit(n: int, seed: int, tables: tuple[str, ...]) -> None:
    records = block(n, seed)
    release = st.tabulate(records, tables)
    program = PaperProgram(release, n)
    verdicts = {v.claim: v.kind for v in st.audit(release, truth=records).verdicts}
    assert set(claims_of(records)) == set(verdicts)
    assert set(verdicts.values()) == {"verified", "refuted"}
    for claim, kind in verdicts.items():
        assert program.verify(claim) == kind, claim


def test_printed_program_verifies_false_claims() -> None:
    """With (16) as printed, claims whose count can only be smaller count as verified."""
    records = block(6, 2)
    release = st.tabulate(records, TABLES)
    right = PaperProgram(release, 6)
    printed = replace(right, as_printed=True)
    verdicts = {v.claim: v for v in st.audit(release, truth=records).verdicts}
    false = []
    for claim, verdict in verdicts.items():
        answer = printed.verify(claim)
        if verdict.kind == "verified":
            assert answer == "verified"
        elif answer == "verified":
            false.append(claim)
    assert false
    for claim in false:
        assert right.verify(claim) == "refuted"
        worlds = verdicts[claim].worlds
        assert worlds is not None
        counts = [world.count(claim.selection) for world in worlds]
        assert min(counts) < claim.multiplicity == max(counts)
        assert all(release.agrees_with(world.records()) for world in worlds)


def test_datasets_found_have_the_tables() -> None:
    records = block(5, 4)
    release = st.tabulate(records, TABLES)
    for ordered in (False, True):
        found = PaperProgram(release, 5, ordered=ordered).find()
        assert found is not None
        assert release.agrees_with(found)
        found.check_rules()
    assert PaperProgram(release, 4).find() is None


def test_ordering_changes_no_answer() -> None:
    records = block(4, 5)
    release = st.tabulate(records, TABLES[:3])
    plain, ordered = PaperProgram(release, 4), PaperProgram(release, 4, ordered=True)
    claims = list(claims_of(records))[::5]
    assert [plain.verify(c) for c in claims] == [ordered.verify(c) for c in claims]


def test_intervals_and_unpublished_cells() -> None:
    records = block(4, 6)
    exact = st.tabulate(records, TABLES[:3])
    wide = st.Release(exact.layout, np.maximum(exact.low - 1, 0), exact.high + 1)
    claims = list(claims_of(records))[:10]
    kinds = {v.claim: v.kind for v in st.audit(exact, truth=records).verdicts}
    assert [PaperProgram(exact, 4).verify(c) for c in claims] == [kinds[c] for c in claims]
    assert "refuted" in [PaperProgram(wide, 4).verify(c) for c in claims]
