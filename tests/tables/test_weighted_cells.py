"""Cells that are sums of selections, with whole-number weights: everywhere what they are, and never less.

Brute force over tiny releases comes first (``tiny_cases.py`` makes the releases, ``scripts/bench soundness``
goes on for as long as one likes); then every place that a cell passes through.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import brute_force
import showthrough as st
from needs import SLOW
from showthrough.cell import describe_terms
from showthrough.formats.release_file import design_to_toml
from showthrough.tables.grounds import Grounds
from showthrough.tables.proof import Checker, Leaf, Proof
from showthrough.tables.proof.failure import Unreadable
from showthrough.tables.proof.whole import check_run
from showthrough.tables.shape import shape_of
from showthrough.tables.stored import layout_from_json, layout_to_json
from tiny_asked import Totals
from tiny_cases import random_plan, random_tiny
from tiny_comparison import compare_plan
from tiny_runs import compare_stored

#: Plans whose releases have sums, and how many releases are drawn for each.
SEEDS, DRAWS = range(4000 if SLOW else 14), 24 if SLOW else 8

PEOPLE = st.Schema.of({"white": ["no", "yes"], "black": ["no", "yes"], "asian": ["no", "yes"]})

#: Everybody, as often as they have races; everybody who has two or more.
TALLIED = st.Cell.sum("tallied", [(1, f"{race}=yes") for race in PEOPLE.names])
MANY = st.Cell.sum(
    "two or more",
    [(1, "white=yes,black=yes"), (1, "white=yes,black=no,asian=yes"), (1, "white=no,black=yes,asian=yes")],
)
RACES = st.Table("races", (TALLIED, MANY))


def released(tallied: int, many: int, **more: list[int]) -> st.Release:
    return st.Release.of(PEOPLE, {RACES: [tallied, many], **more})


@pytest.fixture(scope="module")
def totals() -> Totals:
    """What was compared with brute force, and what was wrong."""
    return sum((compare_plan(seed, DRAWS, sums=True) for seed in SEEDS), start=Totals())


def test_verdicts_are_those_of_brute_force(totals: Totals) -> None:
    assert totals.problems == []
    assert sum(totals.cases.values()) >= (300 if SLOW else 90)
    assert min(totals.cases[kind] for kind in ("sums of selections", "weights", "no dataset", "gaps")) >= 3


@pytest.mark.parametrize("what", ["verified", "refuted", "absences", "bounds", "learnt"])
def test_something_is_said(totals: Totals, what: str) -> None:
    assert totals.said[what] > (10 if SLOW else 5)


@pytest.mark.parametrize("seed", range(200 if SLOW else 4))
def test_what_is_written_is_what_verifying_accepts(seed: int) -> None:
    assert compare_stored(seed, sums=True).rejected == []


@pytest.mark.parametrize("seed", range(300 if SLOW else 20))
def test_recovered_intervals_hold_in_every_dataset(seed: int) -> None:
    plan = random_plan(seed, sums=True)
    case = random_tiny(plan, seed, 0)
    if not len(case.counts):
        return
    counts = case.counts @ plan.member.T
    for cell in st.recover(case.release).cells:
        endless = bool((plan.member[cell.at] * case.free).any())
        high = None if endless else int(counts[:, cell.at].max())
        assert (cell.low, cell.high) == (int(counts[:, cell.at].min()), high)
        if cell.differs:
            assert endless or len(set(counts[:, cell.at].tolist())) > 1
        for proof in cell.proofs:
            assert bool(proof.sum) == cell.published.is_sum
            Checker(case.schema, case.release).check(proof)
            assert Grounds(case.release).exclusions(proof).complete


class TestCells:
    def test_a_cell_of_one_selection_is_no_sum(self) -> None:
        plain = st.Cell("women", st.Selection.of(sex="f"))
        assert not plain.is_sum
        assert plain == st.Cell.sum("women", [(1, "sex=f")])
        assert plain.terms == ((1, plain.selection),)

    def test_overlapping_selections_add_up(self) -> None:
        assert st.Cell.sum("x", [(1, "sex=f"), (2, "sex=f")]) == st.Cell.sum("x", [(3, "sex=f")])
        counts = Layout([(1, "white=yes"), (2, "black=yes")]).count(
            np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]])
        )
        assert counts.tolist() == [6]

    @pytest.mark.parametrize("weight", [0, -1, 1001, 1.5, "2", True, None])
    def test_other_weights_are_refused(self, weight: object) -> None:
        with pytest.raises(st.ReleaseError, match="whole number from 1 to 1,000"):
            st.Cell.sum("x", [(weight, "sex=f")])  # pyright: ignore[reportArgumentType]

    def test_a_sum_of_nothing_is_refused(self) -> None:
        with pytest.raises(st.ReleaseError, match="counts nothing"):
            st.Cell.sum("x", [])

    def test_a_sum_has_no_selection(self) -> None:
        for cell in (TALLIED, released(3, 1).cells[0]):
            with pytest.raises(st.ReleaseError, match="is a sum of selections"):
                _ = cell.selection
        with pytest.raises(st.ReleaseError, match="cell tallied of table races"):
            _ = released(3, 1).layout.selections

    def test_unknown_values_are_refused(self) -> None:
        table = st.Table("t", (st.Cell.sum("x", [(1, "white=yes"), (1, "black=maybe")]),))
        with pytest.raises(st.ReleaseError, match="cell x of table t"):
            st.Release.of(PEOPLE, {table: [1]})

    def test_in_words(self) -> None:
        cell = released(3, 1).cells[0]
        assert cell.counted == "white=yes + black=yes + asian=yes"
        weighted = st.Cell.sum("x", [(2, "white=yes,black=no"), (3, "asian=no"), (1, "")]).terms
        assert describe_terms(PEOPLE, weighted) == (
            "2 × (white is yes and black is no) + 3 × (asian is no) + (everything)"
        )
        many = st.Cell.sum("x", [(1, f"{a}={v}") for a in PEOPLE.names for v in ("no", "yes")]).terms
        assert describe_terms(PEOPLE, many).endswith(" + 2 more terms")


def Layout(terms: list[tuple[int, str]]) -> st.Layout:  # noqa: N802 (made like the class)
    return st.Layout(PEOPLE, (st.Table("t", (st.Cell.sum("x", terms),)),))


class TestCounting:
    def test_records_count_as_often_as_they_match(self) -> None:
        layout = released(0, 0).layout
        rng = np.random.default_rng(5)
        codes = rng.integers(0, 2, (5000, 3))
        records = [
            {name: ("no", "yes")[code] for name, code in zip(PEOPLE.names, row, strict=True)} for row in codes
        ]
        release = layout.tabulate(st.Records(PEOPLE, codes.astype(np.uint16)))
        expected = [sum(brute_force.counts(cell, record) for record in records) for cell in release.cells]
        assert release.low.tolist() == expected == [int(codes.sum()), int((codes.sum(axis=1) > 1).sum())]

    def test_large_weights(self) -> None:
        layout = Layout([(1000, "white=yes"), (999, "black=yes"), (1, "")])
        assert layout.count(np.array([[1, 1, 0]])).tolist() == [2000]
        release = st.Release.of(PEOPLE, {layout.tables[0]: [2001], "total": [2]})
        audit = st.audit(release)
        verified = {(str(v.claim.selection), v.claim.multiplicity) for v in audit.of_kind("verified")}
        assert verified == {(f"{race}={value}", 1) for race in ("white", "black") for value in ("no", "yes")}


class TestProofs:
    def test_a_tally_equal_to_the_total_leaves_one_race_each(self) -> None:
        rule = st.Rule(st.Selection.of(white="no", black="no"), st.Selection.of(asian="yes"))
        schema = st.Schema.of({a.name: list(a.values) for a in PEOPLE.attributes}, rules=[rule])
        found = st.audit(
            st.Release.of(schema, {RACES: [4, None], "total": [4], "white": [3, 1]}), absent=True
        )
        absent = {str(v.claim.selection) for v in found.of_kind("verified") if v.claim.multiplicity == 0}
        assert "black=yes,white=yes" in absent

    def test_a_sum_of_zero_excludes_all_its_types(self) -> None:
        found = st.audit(released(5, 0, total=[6]))
        whole = {str(v.claim.selection): v for v in found.of_kind("verified")}
        assert whole["asian=no,black=no,white=no"].claim.multiplicity == 1
        proof = whole["asian=no,black=no,white=no"].proof
        assert proof is not None
        exclusions = Grounds(found.release).exclusions(proof)
        assert [found.release.cells[at].name for at in exclusions.zeros] == ["two or more"]

    def test_the_checker_counts_weights(self) -> None:
        release = released(4, 1)
        twice = Proof((("white", ("yes",)),), 4, at_most=Leaf(((0, -1),), (), 1, -4), over=PEOPLE.names)
        Checker(PEOPLE, release).check(twice)
        half = Proof(
            (("white", ("yes",)), ("black", ("yes",))),
            2,
            at_most=Leaf(((0, -1),), (), 2, -4),
            over=PEOPLE.names,
        )
        Checker(PEOPLE, release).check(half)
        with pytest.raises(st.ProofError, match="exceed"):
            Checker(PEOPLE, release).check(Proof(twice.selection, 2, at_most=half.at_most, over=PEOPLE.names))
        least = Proof((), 4, at_least=Leaf(((0, 1),), (), 1, 4), over=PEOPLE.names)
        with pytest.raises(st.ProofError, match="exceed"):
            Checker(PEOPLE, release).check(least)
        Checker(PEOPLE, release).check(Proof((), 2, at_least=Leaf(((0, 1),), (), 3, 4), over=PEOPLE.names))

    def test_a_proof_about_a_sum_is_about_nothing_else(self) -> None:
        release = st.Release.of(PEOPLE, {RACES: [None, None], "total": [2], "white": [0, 2], "black": [0, 2]})
        (found,) = [cell for cell in st.recover(release).cells if cell.published.name == "tallied"]
        assert (found.low, found.high) == (4, 6)
        least, most = found.proofs
        checker = Checker(PEOPLE, release)
        for wrong, message in (
            (replace(least, multiplicity=5), "not at least 5"),
            (replace(most, multiplicity=5), "not at most 5"),
            (replace(least, selection=(("white", ("yes",)),)), "about nothing else"),
            (replace(least, at_least=None, never=least.at_least), "about nothing else"),
            (replace(least, sum=((0, ()), *least.sum)), "a weight"),
            (replace(least, sum=((-1, ()), *least.sum)), "a weight"),
            (replace(least, sum=least.sum[:1]), "exceed"),
            (replace(most, sum=tuple((2 * weight, terms) for weight, terms in most.sum)), "exceed"),
        ):
            with pytest.raises(st.ProofError, match=message):
                checker.check(wrong)
        with pytest.raises(st.ProofError, match="about nothing else"):
            checker.check_all(least, [()])
        with pytest.raises(st.ProofError, match="not stored"):
            least.to_json()

    def test_the_checker_counts_witnesses(self) -> None:
        checker = Checker(PEOPLE, released(4, 1))
        both = {"white": "yes", "black": "yes", "asian": "no"}
        one = {"white": "no", "black": "no", "asian": "yes"}
        checker.check_world([(both, 1), (one, 2)])
        with pytest.raises(st.ProofError, match="3 records in a cell of 4-4"):
            checker.check_world([(both, 1), (one, 1)])

    def test_negative_weights_are_no_cells(self) -> None:
        class Cells:
            def __init__(self, weight: int) -> None:
                cell = released(4, 1).cells[0]
                self.cells = [
                    type("Bare", (), {"terms": [(weight, cell.terms[0][1])], "low": 0, "high": 0})()
                ]

        with pytest.raises(st.ProofError, match="weight"):
            Checker(PEOPLE, Cells(-1))  # pyright: ignore[reportArgumentType]


class TestFiles:
    def test_a_release_file_reads_back(self, tmp_path: Path) -> None:
        layout = released(4, 1).layout
        (tmp_path / "release.toml").write_text(design_to_toml(layout), "utf-8")
        assert st.read_design(tmp_path / "release.toml").layout.tables == layout.tables
        assert layout_from_json(layout_to_json(layout)).tables == layout.tables

    @pytest.mark.parametrize(
        ("cell", "terms"),
        [
            ('[{ white = "yes" }, { weight = 2, black = "yes" }]', ((1, "white=yes"), (2, "black=yes"))),
            ("[{ weight = 2 }]", ((2, ""),)),
            ('[{ white = "yes" }]', ((1, "white=yes"),)),
            (
                '[{ weight = 3, where = { white = ["no", "yes"], black = "no" } }]',
                ((3, "white=no|yes,black=no"),),
            ),
        ],
    )
    def test_brief_and_long_forms(
        self, cell: str, terms: tuple[tuple[int, str], ...], tmp_path: Path
    ) -> None:
        assert _read(cell, tmp_path).terms == tuple((w, st.Selection.parse(text)) for w, text in terms)

    @pytest.mark.parametrize(
        ("cell", "message"),
        [
            ("[]", "cell x counts nothing"),
            ('[{ weight = 0, white = "yes" }]', "whole number from 1 to 1,000.*found '0'"),
            ("[3]", r"tables\[1\]\.cells\.x\[1\]: should be a table"),
            ('[{ weight = true, white = "yes" }]', r"cells\.x\[1\]\.weight"),
            ('[{ white = "perhaps" }]', "column white: cell x of table t: unknown value .found 'perhaps'"),
            ("{ white = 2.5 }", r"tables\[1\]\.cells\.x\.white\[1\]: should be text"),
            ('"white"', r"tables\[1\]\.cells\.x: "),
        ],
    )
    def test_what_is_wrong_is_named(self, cell: str, message: str, tmp_path: Path) -> None:
        with pytest.raises(st.InputError, match=message):
            _read(cell, tmp_path)

    def test_an_attribute_called_weight(self, tmp_path: Path) -> None:
        more = '[attributes.weight]\nvalues = ["1", "2"]\n'
        with pytest.raises(st.ReleaseError, match="weight is an attribute"):
            _read('[{ weight = 1, white = "yes" }]', tmp_path, more)
        assert _read('[{ weight = "2" }]', tmp_path, more).selection == st.Selection.of(weight="2")
        both = _read('[{ weight = 2, where = { weight = "1" } }]', tmp_path, more)
        assert both.terms == ((2, st.Selection.of(weight="1")),)


def _read(cell: str, folder: Path, more: str = "") -> st.Cell:
    attributes = "".join(f'[attributes.{name}]\nvalues = ["no", "yes"]\n' for name in PEOPLE.names)
    text = f'{attributes}{more}[[tables]]\nname = "t"\n[tables.cells]\nx = {cell}\n'
    (folder / "release.toml").write_text(text, "utf-8")
    return st.read_design(folder / "release.toml").layout.tables[0].cells[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> st.AuditRun:
    folder = tmp_path_factory.mktemp("weighted") / "run"
    release = released(6, 2, total=[2])
    area = st.Release(release.layout, release.low, release.high, "here")
    return st.run_audit([area], release.layout, folder)


class TestRuns:
    def test_the_checker_alone_accepts_it(self, run: st.AuditRun) -> None:
        checked = check_run(run.folder)
        assert checked.holds
        assert checked.claims

    @pytest.mark.parametrize(
        "changed",
        [
            {"weight": 2},
            {"weight": 0},
            {"weight": -1},
            {"weight": "1"},
            {"selection": {"white": ["no"]}},
        ],
    )
    def test_changed_weights_are_noticed(
        self, run: st.AuditRun, changed: dict[str, object], tmp_path: Path
    ) -> None:
        plain = json.loads((run.folder / "release.json").read_text("utf-8"))
        plain["tables"][0]["cells"][0]["sum"][0].update(changed)
        for file in run.folder.rglob("*"):
            if file.is_file():
                copy = tmp_path / file.relative_to(run.folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(file.read_bytes())
        (tmp_path / "release.json").write_text(json.dumps(plain), "utf-8")
        try:
            checked = check_run(tmp_path)
        except Unreadable:
            return
        said = Counter(problem.partition(":")[0] for problem in checked.problems)
        assert said["area here"]  # not only that a file changed: what it says no longer holds

    def test_tables_of_sums_are_drawn_as_lists(self, run: st.AuditRun) -> None:
        shape = shape_of(run.layout, 0)
        assert [row.head.partition(":")[0] for row in shape.rows] == ["tallied", "two or more"]

    def test_the_page_draws_a_sum(self, run: st.AuditRun) -> None:
        pytest.importorskip("altair")
        from showthrough.report.write import rendered

        assert "tallied" in rendered(run.folder, None)


def test_protecting_refuses_sums() -> None:
    with pytest.raises(
        st.ReleaseError, match="protecting is for cells that are one selection each, but cell tallied"
    ):
        st.protect(released(4, 1, total=[3]), "singletons", moves="suppress")
