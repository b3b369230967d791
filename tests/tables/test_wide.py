"""Areas with too many record types to list, against exhaustion: with a limit so low that tiny ones do."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import brute_force
import showthrough as st
from needs import SLOW
from showthrough.release import UNBOUNDED
from showthrough.tables.proof import Checker
from showthrough.tables.result import Audit
from showthrough.tables.search.decider import Effort
from showthrough.tables.wide.dataset import Dataset
from showthrough.tables.wide.shuffle import Shuffler
from showthrough.tables.wide.ties import Ties
from tiny_asked import Asked, Found
from tiny_cases import random_plan, random_tiny
from tiny_comparison import compare_tiny

pick = st.Selection.of


@pytest.fixture
def few_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than four record types are listed."""
    usual = Effort.of.__func__  # type: ignore[attr-defined]

    def limited(cls: type[Effort], scale: float) -> Effort:
        return dataclasses.replace(usual(cls, scale), types=4)

    monkeypatch.setattr(Effort, "of", classmethod(limited))


def random_release(seed: int, formulas: list[list[str]], *, hidden: float) -> tuple[st.Release, st.Records]:
    """Tables of a few random records over yes-or-no attributes, some cells of them as intervals."""
    rng = np.random.default_rng(seed)
    names = sorted({name for formula in formulas for name in formula})
    schema = st.Schema.of({name: ["no", "yes"] for name in names})
    skew = rng.random(len(names))
    codes = (rng.random((int(rng.integers(1, 5)), len(names))) < skew).astype(np.uint16)
    records = st.Records(schema, codes)
    exact = st.tabulate(records, ["*".join(formula) for formula in formulas])
    low, high = exact.low.copy(), exact.high.copy()
    vague = rng.random(len(low)) < hidden
    low[vague], high[vague] = np.maximum(low[vague] - 1, 0), high[vague] + 1
    return st.Release(exact.layout, low, high), records


#: Tables about attributes in two or three parts, of which none has more than four types.
APART = [
    [["a", "b"], ["c", "d"]],
    [["a", "b"], ["c"], ["d"]],
    [["a", "b"], ["b"], ["c", "d"]],
]


def compared(release: st.Release, audit: Audit) -> tuple[list[str], int]:
    """What the audit says though exhaustion says otherwise, and how many claims are open."""
    worlds, wrong = brute_force.all_worlds(release), list[str]()
    checker = Checker(release.schema, release)
    for verdict in audit.verdicts:
        counts = worlds.count(verdict.claim.selection)
        holds = bool((counts == verdict.claim.multiplicity).all())
        if verdict.kind == "verified":
            assert verdict.proof is not None
            checker.check(verdict.proof)
        if verdict.kind == "refuted":
            assert verdict.worlds is not None
            seen = [checker.check_world(world.rows()) for world in verdict.worlds]
            assert len({one.count(verdict.claim.selection.terms) for one in seen}) == 2
        if (verdict.kind == "verified") > holds or (verdict.kind == "refuted") > (not holds):
            wrong.append(f"{verdict.claim}: {verdict.kind}")
    return wrong, audit.n_of("undecided")


@pytest.mark.usefixtures("few_types")
@pytest.mark.parametrize("seed", range(60 if SLOW else 4))
@pytest.mark.parametrize("formulas", APART, ids=str)
@pytest.mark.parametrize("told", [True, False], ids=["with records", "counts alone"])
def test_attributes_that_nothing_ties_together_are_decided_exactly(
    seed: int, formulas: list[list[str]], told: bool
) -> None:
    release, records = random_release(seed, formulas, hidden=0.0)
    found = st.audit(release, truth=records if told else None)
    assert compared(release, found) == ([], 0)
    assert found.n_records == len(records)
    assert found.unique is (len(brute_force.all_worlds(release)) == 1)


@pytest.mark.usefixtures("few_types")
@pytest.mark.parametrize("seed", range(80 if SLOW else 5))
def test_a_part_learns_the_number_of_records_from_another(seed: int) -> None:
    """Cells of the second part are vague, so that what follows of it hangs on the total of the first."""
    release, records = random_release(seed, [["a"], ["b"]], hidden=0.0)
    low, high = release.low.copy(), release.high.copy()
    low[3], high[3] = 0, UNBOUNDED
    vague = st.Release(release.layout, low, high)
    found = st.audit(vague, truth=records)
    assert compared(vague, found) == ([], 0)


@pytest.mark.usefixtures("few_types")
@pytest.mark.parametrize("seed", range(100 if SLOW else 6))
def test_where_the_number_of_records_is_not_known_nothing_false_is_said(seed: int) -> None:
    release, records = random_release(seed, [["a", "b"], ["c"]], hidden=0.5)
    for truth in (records, None):
        wrong, _ = compared(release, st.audit(release, truth=truth))
        assert not wrong


@pytest.mark.usefixtures("few_types")
@pytest.mark.parametrize("seed", range(100 if SLOW else 6))
def test_tied_attributes_with_too_many_types(seed: int) -> None:
    formulas = [["a", "b"], ["b", "c"], ["c", "d"]]
    release, records = random_release(seed, formulas, hidden=0.3 if seed % 2 else 0.0)
    for truth in (records, None):
        wrong, _ = compared(release, st.audit(release, truth=truth))
        assert not wrong


@pytest.mark.usefixtures("few_types")
@pytest.mark.parametrize("seed", range(40 if SLOW else 4))
def test_bounds(seed: int) -> None:
    """Ends hold in all datasets, and a dataset that is shown attains them; across parts they are exact."""
    formulas = APART[seed % 3] if seed % 4 else [["a", "b"], ["b", "c"], ["c", "d"]]
    release, _ = random_release(seed, formulas, hidden=0.0)
    worlds = brute_force.all_worlds(release)
    for a, c in itertools.product(["no", "yes"], repeat=2):
        found = st.bounds(release, pick(a=a, c=c))
        counts = worlds.count(pick(a=a, c=c))
        assert found.high is not None
        assert found.low <= counts.min()
        assert found.high >= counts.max()
        assert not found.tight or (found.low, found.high) == (counts.min(), counts.max())
        assert found.tight or not seed % 4


def test_an_interval_of_one_number_is_not_called_too_wide() -> None:
    release, _ = random_release(3, [["a", "b"]], hidden=0.0)
    found = dataclasses.replace(st.bounds(release, pick(a="no", b="no")), low_world=None)
    assert "proved for every dataset with these counts, but no such dataset was found" in found.sentence(
        release.schema
    )


@pytest.mark.usefixtures("few_types")
def test_worlds_agree_and_differ() -> None:
    release, _ = random_release(3, [["a", "b"], ["c", "d"]], hidden=0.0)
    found = st.worlds(release, 6)
    checker = Checker(release.schema, release)
    for world in found:
        checker.check_world(world.rows())
    assert len({world.to_json() for world in found}) == len(found)
    assert len(found) == min(6, len(brute_force.all_worlds(release)))


@pytest.mark.usefixtures("few_types")
@pytest.mark.parametrize("seed", [*range(60 if SLOW else 4), 102])
def test_releases_of_every_kind(seed: int) -> None:
    """Rules, sums, weights, intervals, no upper ends, records that are not known: nothing false is said."""
    plan = random_plan(seed, sums=seed % 3 == 0)
    for draw in range(3):
        case = random_tiny(plan, seed, draw)
        asked = Asked.of(case, np.random.default_rng([seed, draw]))
        found = Found()
        try:
            compare_tiny(case, dataclasses.replace(asked, absent=False, gaps=False), found, seed=draw)
        except st.Undecided:
            continue
        assert not found.false
        assert not found.rejected


@pytest.mark.usefixtures("few_types")
def test_tables_that_add_up_to_different_numbers_of_records() -> None:
    schema = st.Schema.of({name: ["no", "yes"] for name in "abc"})
    release = st.Release.of(schema, {"a": [1, 2], "b": [2, 2], "c": [1, 2]})
    with pytest.raises(st.Contradiction):
        st.audit(release)


def test_exchanging_values_keeps_all_counts() -> None:
    release, records = random_release(7, [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]], hidden=0.0)
    codes = np.random.default_rng(1).integers(0, 2, (60, 5)).astype(np.uint16)
    records = st.Records(release.schema, codes)
    release = release.layout.tabulate(records)
    walk = Shuffler(release, Ties(release.layout), (0, 1, 2, 3, 4), Dataset.of_records(records), 1)
    for _ in range(5):
        assert walk.wander(1)
        assert walk.current.agrees_with(release)


def test_a_million_types_apart_are_no_trouble() -> None:
    schema = st.Schema.of({f"question {n}": ["no", "yes"] for n in range(1, 22)})
    release = st.Release.of(
        schema, {name: [10, 0] if name.endswith("7") else [5, 5] for name in schema.names}
    )
    found = st.audit(release, max_columns=2)
    assert (found.n_of("undecided"), found.n_records) == (0, 10)
    everybody = [v for v in found.of_kind("verified") if len(v.claim.selection) == 2]
    assert {v.claim.multiplicity for v in everybody} == {5, 10}
    assert all(v.proof is not None for v in everybody)
