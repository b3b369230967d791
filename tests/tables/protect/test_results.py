"""What a user holds after protecting: plans as text, tables and JSON; policies written as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import showthrough as st
from showthrough.formats.safe_release import read_plans
from showthrough.tables.protect.areas import PlanResult, protect_areas
from showthrough.tables.protect.moves import move_from_plain, move_to_plain
from showthrough.tables.protect.policy import Policy
from showthrough.tables.protect.summary import PlanSummary, headline

SCHEMA = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})


def planned(area: str = "") -> st.Release:
    """Tables in which one woman is ill."""
    return st.Release.of(
        SCHEMA,
        {st.make_table(SCHEMA, "sex*ill"): [5, 1, 3, 2], st.make_table(SCHEMA, "sex"): [6, 5]},
        area=area,
    )


def test_a_policy_may_be_written_as_on_the_command_line() -> None:
    policy = Policy.of("singletons", "groups,sensitive=ill", moves="suppress,round:5")
    plans = [
        st.protect(planned(), policy).plan,
        st.protect(planned(), ["singletons", "groups,sensitive=ill"], moves="suppress,round:5").plan,
        st.protect(planned(), ("singletons", "groups,sensitive=ill"), moves=["suppress", "round:5"]).plan,
    ]
    assert plans[0] == plans[1] == plans[2]
    assert st.protect(planned(), "singletons").plan == st.protect(planned(), Policy.of("singletons")).plan


def test_moves_given_beside_a_policy_replace_its_own() -> None:
    policy = Policy.of("singletons", moves="suppress")
    found = st.protect(planned(), policy, moves="drop")
    assert {type(move) for move in found.plan} == {st.Drop}
    assert policy.change.kinds == ("suppress",)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: st.protect("release.toml", "singletons"), "release must be Release, not str"),  # type: ignore[arg-type]
        (lambda: st.protect(planned(), 5), "policy must be Policy, str or Sequence, not int"),  # type: ignore[arg-type]
        (lambda: st.protect(planned(), [5]), "forbidden claims must be str, not int"),  # type: ignore[list-item]
        (lambda: st.protect(planned(), "singletons", moves=5), "moves must be Sequence, not int"),  # type: ignore[arg-type]
        (lambda: st.protect_alike([planned()], "singletons"), "area must be Area, not Release"),  # type: ignore[list-item]
        (lambda: st.protect_alike([], "singletons"), "no areas given"),
        (lambda: st.apply_moves(None, []), "release must be Release, not NoneType"),  # type: ignore[arg-type]
        (lambda: st.compare_rules(planned(), "singletons"), "area must be Area, not Release"),  # type: ignore[arg-type]
        (lambda: st.protect(planned(), "singeltons"), "did you mean 'singletons'?"),
        (lambda: st.protect(planned(), "singletons", moves="supress"), "did you mean 'suppress'?"),
        (lambda: st.protect(planned(), []), "no forbidden claims given"),
        (lambda: st.apply_moves(planned(), [st.Drop("sexx")]), "did you mean 'sex'?"),
        (lambda: st.apply_moves(planned(), [st.Suppress("sex", "sex=g")]), "table sex has no such cell"),
    ],
)
def test_what_is_wrong_is_named(call: object, message: str) -> None:
    with pytest.raises(st.InputError) as caught:
        call()  # type: ignore[operator]
    assert message in str(caught.value)


def test_a_protection_in_a_few_lines_and_as_a_table() -> None:
    found = st.protect(planned("here"), "singletons", moves="suppress")
    lines = repr(found).splitlines()
    told = "at a cost of 2; no safe plan costs less (reported by a solver, not proved)"
    assert lines[0] == f"Protection: safe, 2 moves {told}"
    assert lines[1:] == ["  suppress sex=f of sex", "  suppress ill=yes,sex=f of sex*ill"]
    table = found.to_arrow()
    assert table.column_names == ["move", "kind", "table", "cost", "reasons"]
    assert table["move"].to_pylist() == [str(step.move) for step in found.steps]
    assert all(table["reasons"].to_pylist())
    assert "suppress sex=f of sex" in found._repr_html_()
    (area,) = found.areas
    assert repr(area) == "SafeArea 'here': 1 forbidden before, 0 after"
    assert area.to_arrow() is area.comparison


def test_a_protection_that_is_impossible_says_so() -> None:
    found = st.protect(planned(), Policy.of("singletons", change=st.Change(keep=("sex*ill", "sex"))))
    assert repr(found) == "Protection: impossible, 1 forbidden claim left after 0 moves"
    assert found.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    "move",
    [
        st.Suppress("sex", "sex=f"),
        st.Round("sex", 3),
        st.Merge("sex", "sex", (("f", "m"),), "all"),
        st.Drop("sex"),
    ],
)
def test_moves_survive_json(move: st.Suppress | st.Round | st.Merge | st.Drop) -> None:
    assert move_from_plain(json.loads(json.dumps(move_to_plain(move)))) == move


def test_an_unknown_move_in_a_file_is_refused() -> None:
    with pytest.raises(st.InputError, match=r"unknown move \(found 'shuffle'\)"):
        move_from_plain({"move": "shuffle", "table": "sex"})


def test_plans_survive_json(tmp_path: Path) -> None:
    areas = [st.Area(planned("a")), st.Area(planned("b"))]
    found = protect_areas(areas, Policy.of("singletons", moves="suppress"), compare=True)
    assert found.status == "safe"
    assert [plan.where for plan in found.plans] == ["a", "b"]
    plain = {"plans": [plan.to_plain() for plan in found.plans], "classical": [vars(r) for r in found.rules]}
    (tmp_path / "moves.json").write_text(json.dumps(plain), "utf-8")
    assert read_plans(tmp_path) == (found.plans, list(found.rules))
    assert headline(found.plans) == (
        "Safe: 2 forbidden claims no longer follow, "
        "at a cost of 4; no safe plan costs less (reported by a solver, not proved)."
    )


def test_the_same_moves_make_one_plan_of_several_areas() -> None:
    areas = [st.Area(planned(name)) for name in "ab"]
    areas[1] = st.Area(st.Release(areas[0].release.layout, *(areas[1].release.low,) * 2, "b"))
    seen = list[int]()
    found = protect_areas(areas, Policy.of("singletons"), same=True, progress=seen.append)
    (plan,) = found.plans
    assert plan.areas == ("a", "b")
    assert plan.where == ""
    assert len(seen) == plan.plans_audited


def test_one_claim_is_counted_in_the_singular() -> None:
    found = st.protect(planned(), "singletons,k>=2", moves="suppress")
    plan = PlanResult.of(found).summary
    assert isinstance(plan, PlanSummary)
    assert headline([plan]).startswith("Safe: 1 forbidden claim no longer follows")
