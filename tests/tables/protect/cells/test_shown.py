"""Plans made elsewhere: what can be shown about them, and how a peer's plan is read."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from benchmarks import gauss_suppression, r_packages, sdc_table
from benchmarks.pattern_audit import audit_pattern

from brute_cells import change_of, changes_of, is_safe, tiny
from showthrough.tables.protect.cells.axis import TableAxis
from showthrough.tables.protect.cells.problem import CellProblem
from showthrough.tables.protect.cells.protect_cells import protect_cells
from showthrough.tables.protect.cells.shown import plan_at_hand, show_inside


@pytest.mark.parametrize("kind", ["2-D", "hierarchy", "intervals"])
def test_random_plans_are_called_safe_exactly_if_enumeration_says_so(kind: str) -> None:
    said = set[bool]()
    for seed in range(12):
        problem, rng = tiny(kind, seed), np.random.default_rng(seed)
        if (problem.primary & problem.fixed).any() or len(problem.atoms) > 8:
            continue
        share = rng.random(len(problem.counts)) < 0.6
        suppressed = (problem.primary | share) & problem.hideable & ~problem.hidden
        found = plan_at_hand(problem, suppressed)
        own = [change_of(one, problem) for one in found.certificates]
        known = np.vstack([changes_of(problem, 2 if len(problem.atoms) <= 6 else 1), *own])
        assert found.safe == is_safe(problem, found.suppressed, known), (kind, seed)
        assert not found.safe or found.lower_bound <= found.cost
        said.add(found.safe)
    assert said == {True, False}


def test_a_plan_of_ours_is_safe_when_looked_at_again() -> None:
    problem = CellProblem.with_margins(np.random.default_rng(5).poisson(2.0, (4, 3, 3)), zeros=False)
    found = protect_cells(problem, effort=0.1)
    suppressed = np.zeros(len(problem.counts), bool)
    suppressed[list(found.suppressed)] = True
    again = plan_at_hand(problem, suppressed)
    assert again.safe
    assert again.cost == found.cost


def test_a_change_that_moves_other_cells_far_is_found() -> None:
    """Sums that leave one direction, (1, −1, −1, −1, 3): the last one changes three times as far."""
    axis = TableAxis.of(5, [{0, 1}, {0, 2}, {0, 3}, {1, 2, 3, 4}])
    problem = CellProblem.with_margins(np.array([1, 3, 3, 3, 5]), axes=[axis])
    assert plan_at_hand(problem, problem.is_atom).safe


def test_a_peers_pattern_is_read_back(tmp_path: Path) -> None:
    """As R writes it: a column per axis with codes of all levels, and totals by their name."""
    axes = [TableAxis.of(4, [{0, 1}, {2, 3}, range(4)]), TableAxis.of(2, [range(2)])]
    problem = CellProblem.with_margins(np.arange(8).reshape(4, 2), axes=axes)
    gauss_suppression.write_data(problem, tmp_path / "data.csv")
    with (tmp_path / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["a0", "a0level1", "a1", "freq"]
    suppressed = np.arange(len(problem.counts)) % 3 == 0
    lines = [["a0", "a1", "freq", "suppressed", "seconds"]]
    choices = [sorted({row["a0"] for row in rows} | {row["a0level1"] for row in rows} | {"Total"})]
    choices.append(sorted({row["a1"] for row in rows} | {"Total"}))
    for one, other in product(*choices):
        mine = [
            row
            for row in rows
            if one in (row["a0"], row["a0level1"], "Total") and other in (row["a1"], "Total")
        ]
        nodes = [6 if one == "Total" else int(one[1:]), 2 if other == "Total" else int(other[1:])]
        cell = int(problem.index[nodes[0] * problem.strides[0] + nodes[1] * problem.strides[1]])
        count = sum(int(row["freq"]) for row in mine)
        lines.append([one, other, str(count), "TRUE" if suppressed[cell] else "FALSE", "0.5"])
    with (tmp_path / "found.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    read, seconds = gauss_suppression.read_pattern(problem, tmp_path / "found.csv")
    assert np.array_equal(read, suppressed)
    assert seconds == 0.5


def test_a_hierarchy_is_written_with_each_code_below_its_own(tmp_path: Path) -> None:
    axes = [TableAxis.of(4, [{0, 1}, {2, 3}, range(4)]), TableAxis.of(2, [range(2)])]
    problem = CellProblem.with_margins(np.arange(8).reshape(4, 2), axes=axes)
    sdc_table.write_hierarchy(problem, 0, tmp_path / "a0.csv")
    with (tmp_path / "a0.csv").open(encoding="utf-8", newline="") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    below = [("@@", "n4"), ("@@@", "n0"), ("@@@", "n1"), ("@@", "n5"), ("@@@", "n2"), ("@@@", "n3")]
    assert rows == [("@", "Total"), *below]


def test_without_r_it_is_said_why_a_peer_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", {}.get)
    r_packages.why_absent.cache_clear()
    assert r_packages.why_absent("sdcTable") == "R is not installed"
    r_packages.why_absent.cache_clear()


def test_an_error_of_r_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rscript = tmp_path / "Rscript"
    rscript.write_text(
        "#!/bin/sh\necho 'Error in f(x) :' >&2; echo '  no such column' >&2\nexit 1\n", "utf-8"
    )
    rscript.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(r_packages.PeerFailed, match=r"Error in f\(x\) : no such column"):
        r_packages.run_script("f(x)", tmp_path, [], seconds=60)


@pytest.mark.parametrize("kind", ["2-D", "hierarchy", "linked"])
def test_what_is_shown_inside_random_plans_holds_by_enumeration(kind: str) -> None:
    """Cells that are determined or excluded have no other count in any dataset that publishes the same."""
    n_shown = 0
    for seed in range(12):
        problem, rng = tiny(kind, seed), np.random.default_rng(seed)
        if len(problem.atoms) > 8 or problem.wide.any():
            continue
        suppressed = (problem.primary | (rng.random(len(problem.counts)) < 0.5)) & problem.hideable
        found = show_inside(problem, suppressed)
        shown = ~(suppressed | problem.hidden)
        known = changes_of(problem, 2 if len(problem.atoms) <= 6 else 1)
        usable = known[~(known[:, shown] != 0).any(axis=1)]
        none = [*found.determined, *found.excluded]
        assert not usable[:, none].any(), (kind, seed)
        n_shown += len(none)
        audit = audit_pattern(problem, suppressed, most=None)
        decided = audit.certified + audit.in_fractions + audit.in_whole_numbers + audit.by_search
        assert decided == audit.primary
    assert n_shown
