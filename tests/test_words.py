"""Proofs in words: the arithmetic shown is the arithmetic checked."""

from __future__ import annotations

import pytest

import showthrough as st
from showthrough.tables.proof import Branch, Leaf, Proof
from strategies import cycles

SCHEMA = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
ILL_WOMEN = st.Selection.parse("sex=f,ill=yes")
Value = int | tuple[int, int] | None


def release(**tables: list[Value]) -> st.Release:
    made = {st.make_table(SCHEMA, name.replace("_x_", "*")): values for name, values in tables.items()}
    return st.Release.of(SCHEMA, made)


def test_a_subtraction() -> None:
    made = release(sex=[3, 2], ill=[1, 4])
    found = st.bounds(made, ILL_WOMEN)
    assert st.explain_proof(found.low_proof, made) == ["count ≥ [sex=f] − [ill=no] = 3 − 1 = 2"]
    assert found.high_proof is not None
    assert st.explain_proof(found.high_proof, made) == ["count ≤ [sex=f] = 3"]


def test_equal_ends_are_one_equation() -> None:
    made = release(sex=[3, 2], sex_x_ill=[1, None, None, None])
    verdict = next(v for v in st.audit(made).verdicts if v.claim.selection == ILL_WOMEN)
    assert verdict.proof is not None
    assert st.explain_proof(verdict.proof, made) == ["count = [sex=f] − [ill=no,sex=f] = 3 − 1 = 2"]


def test_intervals_show_the_end_that_is_used() -> None:
    made = release(sex=[(3, 5), 2], sex_x_ill=[(1, 2), None, None, None])
    found = st.bounds(made, ILL_WOMEN)
    assert st.explain_proof(found.low_proof, made) == ["count ≥ [sex=f] − [ill=no,sex=f] ≥ 3 − 2 = 1"]
    assert found.high_proof is not None
    assert st.explain_proof(found.high_proof, made) == ["count ≤ [sex=f] − [ill=no,sex=f] ≤ 5 − 1 = 4"]


def test_a_zero_cell_is_named() -> None:
    made = release(sex=[0, 2])
    found = st.bounds(made, ILL_WOMEN)
    assert found.high_proof is not None
    assert st.explain_proof(found.low_proof, made) == ["count ≥ 0"]
    assert st.explain_proof(found.high_proof, made) == ["count ≤ [sex=f] = 0"]


def test_denominators_and_rounding() -> None:
    made = release(sex=[3, 2], ill=[2, 3])
    terms = ILL_WOMEN.terms
    half = Leaf(cells=((0, 1), (3, 1), (2, -1)), branches=(), denominator=2, total=4)
    low = Proof(terms, 2, at_least=half, over=SCHEMA.names)
    assert st.explain_proof(low, made) == ["count ≥ ([sex=f] + [ill=yes] − [ill=no])/2 = (3 + 3 − 2)/2 = 2"]
    odd = Proof(terms, 1, at_least=Leaf(((0, 1),), (), 2, 3), at_most=Leaf(((0, -1),), (), 2, -3))
    assert st.explain_proof(Proof(terms, 2, at_least=odd.at_least), made) == [
        "count ≥ ([sex=f])/2 = (3)/2 = 3/2, rounded up: 2"
    ]
    assert st.explain_proof(Proof(terms, 1, at_most=odd.at_most), made) == [
        "count ≤ ([sex=f])/2 = (3)/2 = 3/2, rounded down: 1"
    ]


def test_a_table_is_named_where_cells_share_a_name() -> None:
    first = st.make_table(SCHEMA, "sex", name="police")
    second = st.make_table(SCHEMA, "sex", name="health")
    made = st.Release.of(SCHEMA, {first: [3, 2], second: [None, None]})
    found = st.bounds(made, st.Selection.parse("sex=f"))
    assert st.explain_proof(found.low_proof, made) == ["count ≥ [sex=f of police] = 3"]


def test_plain_cell_names_need_no_brackets() -> None:
    table = st.Table("H4", (st.Cell("H4_002N", st.Selection.parse("sex=f")),))
    made = st.Release.of(SCHEMA, {table: [3]})
    found = st.bounds(made, st.Selection.parse("sex=f"))
    assert st.explain_proof(found.low_proof, made) == ["count ≥ H4_002N = 3"]


def test_cases_are_indented() -> None:
    case = cycles(2)
    selection = st.Selection.parse("speaks=d")
    verdict = next(v for v in st.audit(case.release).verdicts if v.claim.selection == selection)
    assert verdict.proof is not None
    assert isinstance(verdict.proof.at_least, Branch)
    lines = st.explain_proof(verdict.proof, case.release)
    assert lines[0].startswith("either count(")
    assert lines[1].startswith("  ")
    assert any(line.startswith("or count(") for line in lines)


def test_an_impossible_count() -> None:
    """Pairs only: one woman more would need another man more."""
    made = release(total=[4], sex=[(0, 1), (0, 4)])
    leaf = Leaf(cells=((0, 1), (1, -1)), branches=((0, -1),), denominator=1, total=3)
    lines = st.explain_proof(Proof((("sex", ("m",)),), 0, never=leaf, over=("sex",)), made)
    assert lines == ["suppose count = 0:", "  0 ≥ total − [sex=f] − count ≥ 4 − 1 − 0 = 3, which cannot be"]
    st.check_proof(Proof((("sex", ("m",)),), 0, never=leaf, over=("sex",)), SCHEMA, made)


@pytest.mark.parametrize("where", ["sex=f", "ill=yes", "sex=m,ill=no"])
def test_the_last_number_is_the_bound(where: str) -> None:
    made = release(sex=[(2, 3), 2], ill=[1, None], sex_x_ill=[None, None, (0, 1), None])
    found = st.bounds(made, st.Selection.parse(where))
    for proof, end in ((found.low_proof, found.low), (found.high_proof, found.high)):
        if proof is not None:
            assert st.explain_proof(proof, made)[-1].endswith(str(end))
