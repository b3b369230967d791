"""Counts of any size: what is decided, and at what cost, does not depend on how many records there are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import showthrough as st
from brute_force import legal_types
from command import runner
from needs import SLOW
from showthrough.tables.search.type_counts import MOST_RECORDS, TypeCounts, add_times, exact_dot
from showthrough.tables.search.walk import Moves
from strategies import random_schema, random_table

#: So many records more of every type: usual, more than fit in memory, more than floating point tells apart.
USUAL, MANY, VERY_MANY = 60, 3 * 10**10, 2**56


def tables_of(seed: int) -> tuple[st.Layout, list[dict[str, str]]]:
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    layout = st.Layout(schema, tuple(random_table(rng, schema, f"table {at}") for at in range(3)))
    return layout, legal_types(schema)


def with_more(layout: st.Layout, types: list[dict[str, str]], base: int, seed: int) -> st.Release:
    """The release about some records and so many more of every type."""
    rng = np.random.default_rng(seed)
    times = [base + int(more) for more in rng.integers(0, 4, len(types))]
    records = st.Records.of(types, layout.schema)
    counts = [
        sum(t for t, inside in zip(times, records.matching(one), strict=True) if inside)
        for one in layout.selections
    ]
    return st.Release(layout, np.array(counts, np.int64), np.array(counts, np.int64), "")


@pytest.mark.parametrize("seed", range(8 if SLOW else 4))
@pytest.mark.parametrize("base", [MANY, VERY_MANY])
def test_the_verdicts_are_those_of_fewer_records(seed: int, base: int) -> None:
    """With some records of every type, a claim follows exactly if cells add up to it."""
    layout, types = tables_of(seed)
    few, many = (st.audit(with_more(layout, types, n, seed), findings=False) for n in (USUAL, base))
    before = {v.claim.selection: v for v in few.of_kind("verified")}
    after = {v.claim.selection: v for v in many.of_kind("verified")}
    assert many.n_of("undecided") == 0
    assert after.keys() == before.keys()
    for selection, verdict in after.items():
        matching = int(st.Records.of(types, layout.schema).matching(selection).sum())
        assert verdict.direct == before[selection].direct
        assert verdict.claim.multiplicity == before[selection].claim.multiplicity + matching * (base - USUAL)


def crowd(n: int) -> tuple[st.Schema, dict[str, list[int]]]:
    """Two tables of n records of each of four types, and one more of one of them."""
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"], "rich": ["no", "yes"]})
    return schema, {"sex*ill": [n + 1, n, n, 1], "ill*rich": [n, n + 1, n, 1]}


@pytest.mark.parametrize("n", [5, MANY, VERY_MANY])
def test_a_run_with_witnesses_verifies(n: int, tmp_path: Path) -> None:
    schema, tables = crowd(n)
    release = st.Release.of(schema, {st.make_table(schema, name): c for name, c in tables.items()})
    settings = st.Settings(refuted=True)
    run = st.run_audit([st.Area(release)], release.layout, tmp_path / "run", settings=settings)
    assert run.summary.refuted > 0
    assert run.summary.undecided == 0
    checked = st.verify(run.folder)
    assert checked.problems == []
    assert checked.witnesses > 0


def test_the_command_reads_such_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, tables = crowd(MANY)
    release = st.Release.of(schema, {st.make_table(schema, name): c for name, c in tables.items()})
    toml, counts = tmp_path / "release.toml", tmp_path / "counts.csv"
    toml.write_text(st.design_to_toml(release.layout))
    lines = (f'{cell.table},"{cell.name}",{cell.low}' for cell in release.cells)
    counts.write_text("\n".join(["table,cell,value", *lines]) + "\n")
    out = str(tmp_path / "run")
    ran = runner(capsys)("audit", "--release", str(toml), str(counts), "--no-report", "--out", out)
    assert ran.code == 0, ran.err
    assert st.verify(out).holds


def test_a_large_dataset_is_kept_as_counts() -> None:
    schema, tables = crowd(MANY)
    release = st.Release.of(schema, {st.make_table(schema, name): c for name, c in tables.items()})
    (world,) = st.worlds(release, 1)
    assert len(world) == 3 * MANY + 2
    assert world.count(st.Selection.of(sex="f", ill="no")) == MANY + 1
    assert sum(times for _, times in world.rows()) == len(world)
    with pytest.raises(st.InputError, match=r"too large for a list.*\.rows\(\)"):
        world.records()


def test_counts_of_worlds_are_exact_beyond_floating_point() -> None:
    odd = 2**60 + 1
    world = TypeCounts.of_counts(np.array([3, 1, 3]), np.array([odd, 2, odd]))
    assert world.types.tolist() == [1, 3]
    assert len(world) == 2 * odd + 2
    assert world.at(np.array([0, 1, 2, 2 * odd + 1, -1])).tolist() == [1, 1, 3, 3, -1]
    assert world.exchanged(np.array([0, 5]), np.array([9])).times.tolist() == [1, 2 * odd - 1, 1]
    assert add_times(np.array([0, 0, 1]), np.array([odd, 1, odd]), 2).tolist() == [odd + 1, odd]
    assert exact_dot(np.array([2, -3]), np.array([MOST_RECORDS, 2**61])) == 2 * MOST_RECORDS - 3 * 2**61
    far = Moves(np.array([[0, odd], [odd, 7], [-1, -1]]), np.array([[3, 3]] * 3))
    assert far.apart().tolist() == [0, 2]


@pytest.mark.parametrize("n", [10**12, 10**15, 8 * 10**17])
def test_both_ends_of_overlaps_of_very_large_counts(n: int) -> None:
    """Long steps of the simplex method are not taken for endless ones."""
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = st.Release.of(schema, {"sex": [3 * n, 2 * n + 1], "ill": [n, 4 * n + 1]})
    both, other = st.bounds(release, "sex=f,ill=yes"), st.bounds(release, "sex=m,ill=yes")
    assert (both.low, both.high, both.tight) == (2 * n, 3 * n, True)
    assert (other.low, other.high, other.tight) == (n + 1, 2 * n + 1, True)


def test_both_ends_of_a_selection_of_several_values_and_under_wide_intervals() -> None:
    n = 8 * 10**17
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    layout = st.Release.of(schema, {"sex": [n, n], "ill": [n, n]}).layout
    low, high = np.array([0, 2 * n, n - 3, 0]), np.array([4 * n, 3 * n, n + 9, 5 * n - n // 3])
    release = st.Release(layout, low, high, "")
    found = st.bounds(release, "sex=m,ill=yes")
    assert (found.low, found.high, found.tight) == (n - 9, 3 * n, True)
    either = st.bounds(release, "sex=f|m,ill=yes")
    assert (either.low, either.high, either.tight) == (n - 9, 5 * n - n // 3, True)


@pytest.mark.parametrize("seed", range(60 if SLOW else 6))
def test_both_ends_are_found_however_large_counts_and_intervals_are(seed: int) -> None:
    """A dataset attains each end, and the checker has accepted its proof: so both are exact."""
    layout, types = tables_of(seed)
    rng, base = np.random.default_rng(seed), 2**61 // len(types) + 3
    exact = with_more(layout, types, base, seed)
    low, high = (rng.integers(0, most, len(exact.low)) for most in (5, base // 7))
    selection = {name: types[0][name] for name in list(types[0])[:2]}
    for release in (exact, st.Release(layout, np.maximum(exact.low - low, 0), exact.high + high, "")):
        assert st.bounds(release, selection).tight


@pytest.mark.parametrize("n", [5, 2**16, 2**60 + 1])
def test_what_flags_mark_is_counted_exactly(n: int) -> None:
    world = TypeCounts.of_counts(np.array([1, 3]), np.array([n, 2]))
    flags = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1]], np.uint8)
    assert world.counted(flags).tolist() == [2, n, n + 2]
