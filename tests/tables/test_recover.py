"""Suppressed cells: all ends are those of every dataset that agrees, proved, and attained."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import showthrough as st
from showthrough.errors import Contradiction, InputError
from showthrough.release import UNBOUNDED
from showthrough.tables import recover as module
from showthrough.tables.proof import Checker
from showthrough.tables.recover import RecoveredCell, Recovery, exit_code, given_away, interval, sentence
from showthrough.tables.run.batch import Area
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.recovered import recover_run
from showthrough.tables.search.decider import Effort
from showthrough.tables.search.ends import Ends
from showthrough.tables.search.lattice import build_lattice
from showthrough.tables.search.propagate import Propagation
from showthrough.tables.search.universe import TooManyTypes, make_frame
from strategies import Case, random_case

SCHEMA = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})


def true_ends(case: Case, cell: RecoveredCell) -> tuple[int, int | None]:
    """The least and the largest count in all datasets, by exhaustion."""
    selection = cell.published.selection
    counts = case.worlds.count(selection)
    endless = (case.worlds.mask(selection) & case.worlds.free).any()
    return int(counts.min()), None if endless else int(counts.max())


class TestAgainstAllDatasets:
    @pytest.mark.parametrize("start", range(0, 80, 20))
    def test_all_ends_are_those_of_every_dataset(self, start: int) -> None:
        outcomes: set[str] = set()
        for seed in range(start, start + 20):
            case = random_case(seed)
            for cell in st.recover(case.release).cells:
                low, high = true_ends(case, cell)
                assert (cell.low, cell.high) == (low, high), (seed, cell)
                assert cell.tight
                assert cell.differs == (low != high)
                outcomes.add(cell.outcome)
        assert "exact" in outcomes
        assert "undecided" not in outcomes

    def test_every_cell_without_a_count_is_there_once(self) -> None:
        for seed in range(20):
            release = random_case(seed).release
            found = [cell.at for cell in st.recover(release).cells]
            assert found == np.flatnonzero(release.low < release.high).tolist()

    def test_every_narrower_end_has_a_proof_that_the_checker_accepts(self) -> None:
        proved = 0
        for seed in range(40):
            release = random_case(seed).release
            checker = Checker(release.schema, release)
            for cell in st.recover(release).cells:
                high = UNBOUNDED if cell.high is None else cell.high
                parts = {
                    part for proof in cell.proofs for part in ("at_least", "at_most") if getattr(proof, part)
                }
                assert ("at_least" in parts) == (cell.low > cell.published.low)
                assert ("at_most" in parts) == (high < cell.published.high)
                for proof in cell.proofs:
                    checker.check(proof)
                    proved += 1
                    better = proof.multiplicity + (1 if proof.at_least else -1)
                    with pytest.raises(st.ProofError):
                        checker.check(dataclasses.replace(proof, multiplicity=better))
        assert proved > 40

    def test_bounds_of_fewer_attributes_hold_but_are_not_called_the_narrowest(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def too_many(_: object) -> None:
            raise TooManyTypes("more record types than allowed")

        narrowed = 0
        for seed in range(30):
            case = random_case(seed)
            with monkeypatch.context() as patch:
                patch.setattr(module, "context_of", too_many)
                found = st.recover(case.release)
            assert not (found.whole and found.cells)
            for cell in found.cells:
                low, high = true_ends(case, cell)
                assert cell.low <= low
                assert cell.high is None or (high is not None and high <= cell.high)
                assert not cell.tight
                assert cell.outcome in ("exact", "undecided")
                narrowed += bool(cell.proofs)
        assert narrowed


class TestSums:
    def test_propagated_bounds_hold_and_are_proved(self) -> None:
        improved = 0
        for seed in range(60):
            case = random_case(seed)
            release = case.release
            wanted = release.low < release.high
            lattice = build_lattice(make_frame(release.layout), release, wanted, most_types=1000)
            sums = Propagation(lattice)
            assert not sums.conflict
            for at in np.flatnonzero(lattice.row_of_cell >= 0):
                row = int(lattice.row_of_cell[at])
                counts = case.worlds.count(release.layout.selections[int(at)])
                assert sums.low[row] <= counts.min()
                assert sums.high[row] >= counts.max()
                improved += bool(sums.low[row] > lattice.low[row]) and lattice.sizes[row] > 0
        assert improved

    def test_equations_hold_record_type_by_record_type(self) -> None:
        schema = st.Schema.of({"a": ["1", "2", "3"], "b": ["x", "y"]})
        table = st.make_table(schema, "a*b", totals=True)
        release = st.Release.of(schema, {table: [None] * len(table.cells)})
        wanted = np.ones(len(release.low), bool)
        lattice = build_lattice(make_frame(release.layout), release, wanted, most_types=100)
        assert len(lattice.equations) == 3 + 2 + 3  # rows, columns, and the total in three ways
        for equation in lattice.equations:
            parts = lattice.member[list(equation.children)].sum(axis=0)
            assert (parts == lattice.member[[equation.parent]].toarray()[0]).all()

    def test_datasets_are_recounted(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [7, None, 5, None], "ill": [12, 3]})
        wanted = release.low < release.high
        lattice = build_lattice(make_frame(release.layout), release, wanted, most_types=100)
        rows = np.unique(lattice.row_of_cell[wanted])
        ends = Ends(lattice, rows, Effort(), seed=0)
        assert ends.worlds
        assert all(lattice.recount(ends.reduced.whole(world)) for world in ends.worlds)
        assert not lattice.recount(ends.reduced.whole(ends.worlds[0]) + 1)


class TestWhatIsSaid:
    def test_the_sum_that_gives_a_cell_away(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [7, None, 5, 2], "sex": [8, 7]})
        found = st.recover(release)
        assert found.given_away
        assert found.cells[0].outcome == "exact"
        assert found.to_plain()[0]["proof"] == ["count = [sex=f] − [ill=no,sex=f] = 8 − 7 = 1"]

    def test_outcomes(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [(1, 4), None, (1, 4), None], "sex": [5, None]})
        found = st.recover(release)
        assert [cell.outcome for cell in found.cells] == [
            "hidden",
            "narrowed",
            "hidden",
            "hidden",
            "narrowed",
        ]
        assert [interval(cell.low, cell.high) for cell in found.cells] == [
            "1–4",
            "1–4",
            "1–4",
            "any number",
            "at least 1",
        ]
        assert sentence([found]) == (
            "0 of 5 suppressed cells can be computed exactly; 2 narrowed; 3 as hidden as published."
        )

    def test_what_no_dataset_shows_is_not_decided(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [(1, 4), None, (1, 4), None], "sex": [5, None]})
        hidden = st.recover(release).cells[0]
        assert hidden.outcome == "hidden"
        assert dataclasses.replace(hidden, low_attained=False).outcome == "undecided"
        assert dataclasses.replace(hidden, differs=False).outcome == "undecided"
        unsure = Recovery(release, (dataclasses.replace(hidden, differs=False),))
        assert exit_code([unsure]) == 3
        assert exit_code([Recovery(release, (hidden,))]) == 0
        assert sentence([unsure]) == "0 of 1 suppressed cell can be computed exactly; 1 not decided."

    def test_to_within_one(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [None, None, 5, 2], "sex": [2, 7]})
        found = st.recover(release)
        assert [cell.outcome for cell in found.cells] == ["close", "close"]
        assert "2 more to within ±1" in sentence([found])

    def test_rounded_cells_are_counted_apart(self) -> None:
        schema = st.Schema.of({"age": ["1", "2", "3", "4"]})
        rounded = [(3, 7), (8, 12), (13, 17), (18, 22)]
        release = st.Release.of(schema, {"age": rounded, "total": [58]})
        found = st.recover(release)
        assert found.suppressed == ()
        assert sentence([found]) == "4 of 4 rounded cells can be computed exactly."

    def test_nothing_suppressed(self) -> None:
        release = st.Release.of(SCHEMA, {"sex": [3, 4]})
        assert st.recover(release).cells == ()
        assert not st.recover(release).given_away
        assert "nothing to recover" in repr(st.recover(release))

    def test_the_same_seed_gives_the_same(self) -> None:
        release = random_case(11).release
        assert st.recover(release, seed=3).cells == st.recover(release, seed=3).cells

    def test_as_a_table_and_in_a_notebook(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [7, None, 5, 2], "sex": [8, 7]})
        found = st.recover(release)
        assert found.to_arrow().to_pylist()[0]["outcome"] == "exact"
        assert "ill=yes,sex=f" in str(getattr(found, "_repr_html_")())  # noqa: B009


class TestRuns:
    def made(self, folder: Path) -> AuditRun:
        """A run of three areas; of two of them a cell is suppressed."""
        values: dict[str, list[int | None]] = {"A": [7, None, 5, 2], "B": [7, 1, None, 2], "C": [7, 1, 5, 2]}
        areas = [
            st.Release.of(SCHEMA, {"sex*ill": given, "sex": [8, 7]}, area=at) for at, given in values.items()
        ]
        return st.run_audit([Area(one) for one in areas], areas[0].layout, folder / "run")

    def test_areas_with_suppressed_cells_are_looked_at(self, tmp_path: Path) -> None:
        found = recover_run(self.made(tmp_path))
        assert [one.release.area for one in found.found] == ["A", "B"]
        assert sentence(found.found) == "2 of 2 suppressed cells can be computed exactly."
        assert given_away(found.found) == "In 2 areas no cell stays hidden: A, B."
        assert found.note == ""

    def test_what_is_left_out_is_said(self, tmp_path: Path) -> None:
        found = recover_run(self.made(tmp_path), most_cells=1)
        assert len(found.found) == 1
        assert found.note == "1 more area has suppressed cells; showthrough recover looks at all."

    def test_the_page_draws_them_and_verify_makes_it_again(self, tmp_path: Path) -> None:
        run = self.made(tmp_path)
        page = st.report(run.folder).read_text("utf-8")
        assert "2 of 2 suppressed cells can be computed exactly." in page
        assert '<td class="exact"><s>unknown</s> <b>=</b> 1</td>' in page
        assert st.verify(run.folder).holds


class TestBadInput:
    def test_a_contradiction_is_named(self) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [7, None, 5, 2], "sex": [6, 7]})
        with pytest.raises(Contradiction):
            st.recover(release)

    def test_a_contradiction_of_whole_numbers(self) -> None:
        schema = st.Schema.of({"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]})
        odd = {"a*b": [(0, 1)] * 4, "a": [1, 2], "b": [2, 0]}
        with pytest.raises(Contradiction):
            st.recover(st.Release.of(schema, odd))

    def test_no_release(self) -> None:
        with pytest.raises(InputError, match="release"):
            st.recover("release.toml")  # pyright: ignore[reportArgumentType]

    def test_a_rejected_proof_is_not_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        release = st.Release.of(SCHEMA, {"sex*ill": [7, None, 5, 2], "sex": [8, 7]})
        monkeypatch.setattr(module.Recheck, "accepts", _never)
        with pytest.raises(st.Undecided, match="rejects"):
            st.recover(release)


def test_a_recovery_of_several_areas_is_one_sentence() -> None:
    release = st.Release.of(SCHEMA, {"sex*ill": [7, None, 5, 2], "sex": [8, 7]})
    both: list[Recovery] = [st.recover(release), st.recover(dataclasses.replace(release, area="B"))]
    assert sentence(both) == "2 of 2 suppressed cells can be computed exactly."


def _never(*_: object) -> bool:
    return False
