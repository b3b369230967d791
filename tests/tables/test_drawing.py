"""Proofs drawn: the marks are the proof's cells, the sum is right, and what it rests on is said in words."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import showthrough as st
from showthrough.release import Layout, Release, make_table
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from showthrough.tables.drawing import Drawing, DrawnStep, draw_proof
from showthrough.tables.drawn_html import drawing_html
from showthrough.tables.proof import Branch, Leaf, Proof, Terms
from showthrough.tables.shape import GAP, cut, shape_of
from strategies import random_case

SEX_ILL = replace(Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]}), record="person", records="people")


def drawn(proof: Proof | None, release: Release) -> Drawing:
    assert proof is not None
    found = draw_proof(proof, release)
    assert found is not None
    return found


def marks_of(step: DrawnStep) -> dict[int, tuple[str, int]]:
    return {mark.cell: (mark.sign, mark.times) for table in step.tables for mark in table.marks}


class TestSums:
    def test_what_is_added_and_subtracted_is_marked_and_summed(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 2], "sex*ill": [3, None, None, None]})
        (step,) = drawn(st.bounds(release, "sex=f,ill=yes").low_proof, release).steps
        assert marks_of(step) == {0: ("+", 1), 2: ("−", 1)}
        assert (step.sum, step.therefore) == ("5 − 3 = 2", "so at least 2 people.")
        assert not step.given

    def test_the_end_of_an_interval_is_named(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 2], "sex*ill": [(1, 4), None, None, None]})
        (step,) = drawn(st.bounds(release, "sex=f,ill=yes").low_proof, release).steps
        assert (step.sum, step.therefore) == ("5 − 4 = 1", "so at least 1 person.")
        assert step.given == (
            "At most 4 people in the cell ill=no,sex=f of table sex*ill: it is published as 1-4.",
        )

    def test_a_division_is_rounded_and_says_so(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 2]})
        half = Leaf(((0, 1), (1, 1)), (), 2, 7)
        (step,) = drawn(Proof((), 4, at_least=half, over=("sex",)), release).steps
        assert step.sum == "(5 + 2) / 2 = 3.5"
        assert step.therefore == "so at least 4 people (rounded up, as people come whole)."

    def test_multipliers_are_written_out(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 2]})
        twice = Leaf(((0, 2), (1, -1)), (), 1, 8)
        (step,) = drawn(Proof((), 8, at_least=twice, over=("sex",)), release).steps
        assert step.sum == "2 × 5 − 2 = 8"
        assert marks_of(step) == {0: ("+", 2), 1: ("−", 1)}

    def test_drawings_of_random_proofs_say_what_the_proofs_do(self) -> None:
        some = 0
        for seed in range(81_000_000, 81_000_008):
            case = random_case(seed)
            audit = st.audit(case.release, truth=case.records)
            for verdict in audit.of_kind("verified"):
                proof = verdict.proof
                found = None if proof is None else draw_proof(proof, case.release)
                if proof is None or found is None or not all(isinstance(n, Leaf) for n in proof.nodes):
                    continue
                used = {at for step in found.steps for at, (sign, _) in marks_of(step).items() if sign != "✕"}
                assert used == set(proof.cells)
                for step in found.steps:
                    numbers = re.search(r"so (exactly|at least|at most) (\d+) ", step.therefore)
                    assert numbers is not None or "no such" in step.therefore
                    assert numbers is None or int(numbers[2]) == verdict.claim.multiplicity
                    zeros = [at for at, (sign, _) in marks_of(step).items() if sign == "✕"]
                    assert all(case.release.high[at] == 0 for at in zeros)
                    assert _value(step.sum) is None or _value(step.sum) == verdict.claim.multiplicity
                some += 1
        assert some > 20


def _value(text: str) -> float | None:
    """What the left side of a sum is, if it is one."""
    left, equal, _ = text.partition(" = ")
    plain = left.replace("×", "*").replace("−", "-").replace(",", "")
    if not equal or not re.fullmatch(r"[\d +*/().-]+", plain):
        return None
    value = eval(plain)  # noqa: S307  (digits and signs only)
    return -(-value // 1) if "at least" in text else value


class TestWhatItRestsOn:
    def test_zeros_and_rules_are_said_in_words(self) -> None:
        rule = Rule("age=child", "job=none")
        schema = Schema.of(
            {"age": ["child", "adult"], "job": ["none", "baker"], "sex": ["f", "m"]},
            rules=[rule],
            record="person",
        )
        release = Release.of(schema, {"job": [2, 1], "age*sex": [1, 0, 0, 2]})
        (step, *_) = drawn(st.bounds(release, "job=baker,sex=m").low_proof, release).steps
        assert step.sum == "The marked cell is 1"
        assert step.because == "Every person in the marked cell is counted, given:"
        assert step.given == (
            "For no person, age is adult and sex is f: table age*sex publishes 0.",
            "A rule: whenever age is child, job is none.",
        )
        assert {sign for sign, _ in marks_of(step).values()} == {"+", "✕"}

    def test_zeros_that_differ_in_one_value_are_one_sentence(self) -> None:
        schema = Schema.of({"size": ["1", "2", "3", "4"], "rent": ["no", "yes"]}, record="home")
        release = Release.of(schema, {"rent": [3, 1], "rent*size": [None, None, None, None, 0, 0, 1, 0]})
        (step, *_) = drawn(st.bounds(release, "size=3,rent=yes").low_proof, release).steps
        assert step.given == ("For no home, size is 1, 2 or 4 and rent is yes: table rent*size publishes 0.",)

    def test_nobody_is_excluded_by_zeros(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 0], "ill": [1, 4]})
        (step,) = drawn(st.bounds(release, "sex=m,ill=yes").high_proof, release).steps
        assert step.therefore == "So there is no such person."
        assert step.given == ("For no person, sex is m: table sex publishes 0.",)


class TestCases:
    def test_a_proof_by_cases_reads_as_cases(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 2]})
        women: Terms = (("sex", ("f",)),)
        inner = Branch(((("ill", ("yes",)),),), 0, Leaf(((0, 1),), (), 1, 5), Leaf(((0, 1),), (), 1, 5))
        node = Branch((women,), 3, Leaf(((0, 1),), (), 1, 5), inner)
        (step,) = drawn(Proof(women, 5, at_least=node, over=("sex", "ill")), release).steps
        assert [case.heading for case in step.cases] == [
            "Case 1: the people for which sex is f: 3 or fewer",
            "Case 2: the people for which sex is f: 4 or more; the people for which ill is yes: 0",
            "Case 3: the people for which sex is f: 4 or more; the people for which ill is yes: 1 or more",
        ]
        assert all(case.therefore == "so at least 5 people." for case in step.cases)
        assert step.therefore == "In every case, at least 5 people."
        assert drawing_html(Drawing((step,)), release).count('class="step"') == 4

    def test_what_can_never_be_is_supposed_first(self) -> None:
        schema = Schema.of({"twin": ["no", "yes"]})
        release = Release.of(schema, {"twin": [None, 4]})
        never = Leaf(((1, 1),), ((0, -1),), 1, 1)
        proof = Proof((("twin", ("yes",)),), 3, never=never, over=("twin",))
        st.check_proof(proof, schema, release)
        (step,) = drawn(proof, release).steps
        assert step.heading == "Suppose that there were exactly 3 records."
        assert (step.sum, step.therefore) == (
            "4 − 3 = 1",
            "but the sum cannot be more than 0: so there are never 3.",
        )

    def test_what_nobody_could_follow_is_not_drawn(self) -> None:
        release = Release.of(SEX_ILL, {"sex": [5, 2]})
        long_ = Leaf(tuple((0, 1) for _ in range(25)), (), 1, 125)
        assert draw_proof(Proof((), 125, at_least=long_, over=("sex",)), release) is None


class TestShapes:
    def test_a_third_attribute_makes_groups_of_rows(self) -> None:
        schema = Schema.of({"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2", "3"]})
        shape = shape_of(Layout(schema, (make_table(schema, "total"), make_table(schema, "a*b*c"))), 1)
        assert (shape.across, shape.down, shape.columns) == ("c", "a × b", ("1", "2", "3"))
        assert [(row.group, row.head) for row in shape.rows] == [
            ("1", "1"),
            ("1", "2"),
            ("2", "1"),
            ("2", "2"),
        ]
        assert [at for row in shape.rows for at in row.cells] == [*range(1, 13)]

    def test_margins_are_called_all(self) -> None:
        schema = Schema.of({"a": ["1", "2"], "b": ["1", "2"]})
        shape = shape_of(Layout(schema, (make_table(schema, "a*b", totals=True),)), 0)
        assert shape.columns == ("1", "2", "all")
        assert {row.head for row in shape.rows} == {"1", "2", "all"}
        assert sorted(at for row in shape.rows for at in row.cells) == [*range(9)]

    def test_what_is_no_grid_is_a_list(self) -> None:
        schema = Schema.of({"a": ["1", "2"], "b": ["1", "2"]})
        cells = (
            st.Cell("C1", Selection.of(a="1")),
            st.Cell("C2", Selection.of(b="1")),
            st.Cell("C3", Selection.of(a="1")),
        )
        shape = shape_of(Layout(schema, (st.Table("T", cells),)), 0)
        assert [row.head for row in shape.rows] == ["C1: a is 1", "C2: b is 1", "C3: a is 1"]

    def test_of_a_large_table_the_part_around_is_shown(self) -> None:
        schema = Schema.of({"a": [str(at) for at in range(40)], "b": ["1", "2"]})
        shape = shape_of(Layout(schema, (make_table(schema, "a*b"),)), 0)
        rows, columns = cut(shape, [20, 60])
        assert rows == (GAP, 9, 10, 11, GAP, 29, 30, 31, GAP)
        assert columns == (0, 1)


HOSTILE = "<script>alert(1)</script>\"'\u202e"


def test_hostile_text_is_escaped_in_notebooks_and_pages() -> None:
    schema = Schema.of({HOSTILE: ["x", HOSTILE]}, record=HOSTILE)
    table = make_table(schema, "total", name=f"all {HOSTILE}", label=HOSTILE)
    release = Release.of(schema, {table: [3], make_table(schema, HOSTILE): [1, None]})
    found = st.bounds(release, {HOSTILE: HOSTILE})
    for text in (found._repr_html_(), drawing_html(drawn(found.low_proof, release), release)):
        assert "&lt;script&gt;" in text
        assert "<script" not in text
        assert "\u202e" not in text


def test_a_notebook_shows_both_ends_with_styles_of_their_own() -> None:
    release = Release.of(SEX_ILL, {"sex": [5, 2], "ill": [1, 6]})
    text = st.bounds(release, "sex=f,ill=yes")._repr_html_()
    assert text.count("<figure") >= 2
    assert "so at least 4 people." in text
    assert "so at most 5 people." in text
    assert 'class="plus"' not in text
    assert "<style" not in text


@pytest.mark.parametrize("low", [0, 3])
def test_without_a_release_a_notebook_shows_the_interval(low: int) -> None:
    release = Release.of(SEX_ILL, {"sex": [low, 2]})
    found = replace(st.bounds(release, "sex=f"), release=None)
    assert "<figure" not in found._repr_html_()
    assert f"exactly {low}" in found._repr_html_()
