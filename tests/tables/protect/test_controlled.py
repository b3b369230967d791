"""Controlled rounding, against all roundings of small releases and all datasets behind them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import showthrough as st
from brute_force import all_worlds, legal_types, membership
from exhaustive_plans import forbidden
from needs import SLOW
from showthrough.cli.main import main
from showthrough.notation import Rounding
from showthrough.tables.protect.moves import Round, apply_moves, move_from_plain, move_to_plain
from showthrough.tables.protect.protect import protect_alike

SEEDS = range(1000 if SLOW else 30)


def null_space(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every equation between the rows of a matrix, as whole multipliers of rows, in exact arithmetic."""
    n = len(matrix)
    rows = [
        [*map(Fraction, row.tolist()), *(Fraction(int(at == own)) for at in range(n))]
        for own, row in enumerate(matrix)
    ]
    width = matrix.shape[1]
    for column in range(width):
        pivot = next((row for row in rows if row[column] and not any(row[:column])), None)
        if pivot is None:
            continue
        for at, row in enumerate(rows):
            if row is not pivot and row[column]:
                factor = row[column] / pivot[column]
                rows[at] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    found = [row[width:] for row in rows if not any(row[:width])]
    scaled = [[int(one * lcm(*(other.denominator for other in row))) for one in row] for row in found]
    return np.array(scaled, np.int64).reshape(len(found), n)


def roundings(release: st.Release, base: int) -> Iterator[NDArray[np.int64]]:
    """All ways to take each exact count to a multiple next to it so that every equation holds."""
    exact = np.flatnonzero(release.low == release.high)
    equations = null_space(membership(release, legal_types(release.schema))[exact])
    counts = release.low[exact].tolist()
    ways = [sorted({count // base * base, -(-count // base) * base}) for count in counts]
    every = np.array(list(itertools.product(*ways)), np.int64)
    yield from every[(every @ equations.T == 0).all(axis=1)]


def small(seed: int) -> st.Release:
    """Tables of few counts: margins, a level above, tables of two and three columns."""
    rng = np.random.default_rng(seed)
    schema = st.Schema.of({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1", "2"]})
    shapes = [["a*b", "a", "b"], ["a*c", "c"], ["a*b", "b*c", "a*c"], ["a*c", "a", "c", "total"], ["c", "b"]]
    layout = st.Layout(schema, tuple(st.make_table(schema, one) for one in shapes[seed % len(shapes)]))
    types = legal_types(schema)
    none = np.zeros(len(layout.names), np.int64)
    blank = st.Release(layout, none, none)
    counts = membership(blank, types) @ rng.integers(0, 3, len(types))
    low, high = counts.copy(), counts.copy()
    hidden = rng.random(len(counts)) < 0.1
    low[hidden], high[hidden] = 0, high[hidden] + 2
    return st.Release(layout, low, high)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_nearest_of_all_roundings_that_add_up(seed: int) -> None:
    release, base = small(seed), 2 + seed % 4
    found = st.controlled_rounding(release, base)
    every = list(roundings(release, base))
    assert (found is None) == (not every)
    if found is None:
        return
    exact = release.low == release.high
    true, shown = release.low[exact], found.counts[exact]
    assert any((shown == one).all() for one in every)  # multiples, next to the counts, adding up
    assert found.distance == int(np.abs(shown - true).sum())
    assert found.distance == min(int(np.abs(one - true).sum()) for one in every)
    assert found.nearest
    assert (shown[true % base == 0] == true[true % base == 0]).all()
    known = [Rounding(base, "random").bounds(int(one)) for one in shown]
    ends = zip(found.release.low[exact].tolist(), found.release.high[exact].tolist(), strict=True)
    assert list(ends) == known
    assert (found.release.low <= release.low).all()
    assert (found.release.high >= release.high).all()
    assert (found.release.low[~exact] == release.low[~exact]).all()
    assert (found.counts[~exact] == -1).all()


@pytest.mark.parametrize("seed", range(200 if SLOW else 10))
def test_what_is_called_safe_is_safe_by_all_datasets(seed: int) -> None:
    """Rounded alone, and with other moves, of which the cheapest are taken."""
    rng = np.random.default_rng(seed)
    schema = st.Schema.of({"a": ["0", "1"], "b": ["0", "1"]})
    table = rng.integers(0, 3, (2, 2))
    counts = {"a*b": table.ravel(), "a": table.sum(axis=1), "b": table.sum(axis=0)}
    chosen = [["a*b"], ["a*b", "a"], ["a", "b"], ["a*b", "a", "b"]][seed % 4]
    release = st.Release.of(schema, {st.make_table(schema, one): counts[one].tolist() for one in chosen})
    moves = ("", ",suppress", ",suppress,drop")[seed % 3]
    rule = ("singletons", "multiplicity<=2", "k>=1")[seed // 3 % 3]
    policy = st.Policy.of(rule, moves=f"controlled:{2 + seed % 2}{moves}")
    found = st.protect(release, policy)
    if found.safe:
        assert not forbidden(all_worlds(found.release, most=20_000), policy, schema)
        assert found.lower_bound <= found.cost
    else:
        assert found.status == "undecided"
    if moves:
        alone = st.protect(release, policy.extended(moves=moves[1:]))
        assert found.safe >= alone.safe
        assert not alone.safe or found.lower_bound <= found.cost <= alone.cost


@pytest.fixture(scope="module")
def release() -> st.Release:
    schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    counts = {st.make_table(schema, "sex*ill"): [6, 1, 3, 2], st.make_table(schema, "sex"): [7, 5]}
    return st.Release.of(schema, counts)


def test_a_kept_table_may_leave_no_rounding(release: st.Release) -> None:
    assert st.controlled_rounding(release, 5, keep=("sex",)) is None
    change = st.Change(kinds=("controlled",), controlled=(5,), keep=("sex",))
    found = st.protect(release, st.Policy.of("singletons", change=change))
    assert found.status == "undecided"
    assert found.remains[0] == "No rounding to multiples of 5 was found in which the tables add up."
    assert not found.steps
    nothing = st.Change(kinds=("controlled",), controlled=(5,), keep=("sex", "sex*ill"))
    assert st.protect(release, st.Policy.of("singletons", change=nothing)).status == "impossible"


def test_a_kept_table_of_multiples_stays_exact(release: st.Release) -> None:
    schema = release.schema
    even = st.Release.of(
        schema, {st.make_table(schema, "sex*ill"): [4, 1, 3, 2], st.make_table(schema, "sex"): [5, 5]}
    )
    found = st.controlled_rounding(even, 5, keep=("sex",))
    assert found is not None
    assert found.counts.tolist() == [5, 0, 5, 0, 5, 5]
    assert found.release.low.tolist()[4:] == found.release.high.tolist()[4:] == [5, 5]


def test_the_cheapest_of_all_moves_is_taken(release: st.Release) -> None:
    by_cells = st.protect(release, "singletons", moves="controlled:5,suppress")
    assert not any(isinstance(step.move, Round) for step in by_cells.steps)
    assert (by_cells.cost, by_cells.optimal) == (2, True)
    cheap = st.Policy.of("singletons", moves="controlled:5,suppress", cost=st.Cost(rounded=Fraction(1, 10)))
    rounded = st.protect(release, cheap)
    assert [str(step.move) for step in rounded.steps] == [
        "round sex to multiples of 5 that add up",
        "round sex*ill to multiples of 5 that add up",
    ]
    assert (rounded.cost, rounded.optimal) == (Fraction(6, 10), True)
    assert rounded.steps[0].reasons


def test_counts_of_cells_and_two_areas_alike(release: st.Release) -> None:
    other = st.Release(release.layout, release.low + 1, release.high + 1, "b")
    with pytest.raises(st.Contradiction):
        protect_alike([st.Area(release), st.Area(other)], st.Policy.of("count<=2", moves="controlled:5"))
    doubled = st.Release(release.layout, 2 * release.low, 2 * release.high, "b")
    found = protect_alike(
        [st.Area(release), st.Area(doubled)], st.Policy.of("count<=2,width>=3", moves="controlled:5")
    )
    assert found.safe
    assert found.cost == 6
    for area in found.areas:
        worlds = all_worlds(area.release)
        for at in np.flatnonzero((area.planned.low > 0) & (area.planned.low <= 2)):
            counts = worlds.count(area.planned.layout.selections[at])
            assert counts.max() - counts.min() >= 3


def test_improvements_are_told_with_the_cost_of_rounding(release: st.Release) -> None:
    seen = []
    found = st.protect(release, "count<=2", moves="controlled:5,suppress", watch=seen.append)
    assert seen[-1].cost == found.cost == 3
    assert all(one.lower_bound <= found.cost for one in seen)
    assert found.improvements == tuple(seen)


@pytest.mark.parametrize("base", [1, 0, -5, 10**10])
def test_impossible_bases(release: st.Release, base: int) -> None:
    with pytest.raises(st.InputError, match="rounding base"):
        st.controlled_rounding(release, base)


@pytest.mark.parametrize(
    "moves", ["controlled", "controlled:", "controlled:x", "controlled:1", "controlled:0"]
)
def test_impossible_moves(release: st.Release, moves: str) -> None:
    with pytest.raises(st.InputError, match=r"unknown move|rounding base"):
        st.protect(release, "singletons", moves=moves)


def test_a_table_is_never_rounded_alone(release: st.Release) -> None:
    move = Round("sex", 5, controlled=True)
    with pytest.raises(st.InputError, match="controlled_rounding"):
        apply_moves(release, [move])
    assert move_from_plain(json.loads(json.dumps(move_to_plain(move)))) == move
    assert "controlled" not in move_to_plain(Round("sex", 5))


def test_the_safe_folder_reads_as_it_was_certified(tmp_path: Path, release: st.Release) -> None:
    """Through the command line: the numbers add up, and readers take none of them for exact."""
    people = [("f", "no")] * 6 + [("f", "yes")] + [("m", "no")] * 3 + [("m", "yes")] * 2
    lines = ["sex,ill", *map(",".join, people)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "safe"
    tables = ["--tables", "sex*ill", "--tables", "sex"]
    arguments = [str(tmp_path / "people.csv"), *tables, "--forbid", "singletons", "--moves", "controlled:5"]
    assert main(["protect", *arguments, "--out", str(out)]) == 0
    (again,) = st.read_release(out / "release.toml")
    certified = st.protect(release, "singletons", moves="controlled:5").release
    known = dict(zip(certified.layout.names, zip(certified.low, certified.high, strict=True), strict=True))
    assert known == dict(zip(again.layout.names, zip(again.low, again.high, strict=True), strict=True))
    text = (out / "release.toml").read_text()
    assert text.count('rounding = { base = 5, method = "random" }') == 2
    assert '"controlled": true' in (out / "moves.json").read_text()
