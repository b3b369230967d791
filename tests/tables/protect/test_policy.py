"""Policies as they are written, and what is wrong with some of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import showthrough as st
from showthrough.formats.policy_file import read_policy
from showthrough.tables.protect.change import Change, Cost, parse_moves
from showthrough.tables.protect.moves import Mark
from showthrough.tables.protect.policy import Forbidden, Narrow, Policy, parse_forbidden

SCHEMA = st.Schema.of({"age": ["young", "middle", "old"], "ill": ["no", "yes"]})
LAYOUT = st.Layout(SCHEMA, (st.make_table(SCHEMA, "age*ill", name="t"), st.make_table(SCHEMA, "age")))

FILE = """
forbid = ["singletons,k>=2", "groups,sensitive=ill"]

[[intervals]]
where = { ill = "yes" }
narrower_than = 3

[change]
moves = ["suppress", "round:5", "merge"]
mark = "<5"
keep = ["age"]
keep_cells = { t = ["age=old,ill=no"] }
groups.age.coarse = [["young", "middle"], ["old"]]

[cost]
suppressed = 2
rounded = 0.1
weights = { t = 3 }
"""


def test_a_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(FILE)
    policy = read_policy(file, SCHEMA)
    assert policy.forbidden == (
        Forbidden(most=1, columns=2),
        Forbidden(groups=True, sensitive=("ill",)),
    )
    assert policy.narrow == (Narrow(st.Selection.of(ill="yes"), 3),)
    change = policy.change
    assert (change.kinds, change.bases, change.mark) == (("suppress", "round", "merge"), (5,), Mark(0, 4))
    assert change.groupings == {"age": {"coarse": (("young", "middle"), ("old",))}}
    assert change.allows("t")
    assert not change.allows("age")
    assert change.keep_cells == {("t", "age=old,ill=no")}
    assert policy.cost == Cost(suppressed=Fraction(2), rounded=Fraction(1, 10), weights={"t": Fraction(3)})
    policy.check(LAYOUT)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("forbid = []", "no forbidden claims given"),
        ('forbid = ["singelton"]', "unknown condition for forbidden claims"),
        ('forbid = ["baseline<0.1"]', "needs reference records"),
        ('forbid = ["singletons"]\n[change]\nmoves = ["shuffle"]', "unknown move"),
        ('forbid = ["singletons"]\n[change]\nmark = "7"', "must stand for several counts"),
        ('forbid = ["singletons"]\n[cost]\nsuppressed = -1', "negative"),
        ('forbid = ["singletons"]\n[chnge]\n', "unknown key"),
        ("[[intervals]]\nnarrower_than = 0", "must be 1 or more"),
        ('forbid = ["singletons"]\n[change]\ngroups.age.g = [["a"], ["a"]]', "a value in two groups"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(st.InputError, match=problem) as caught:
        read_policy(file, SCHEMA)
    assert "policy.toml" in str(caught.value)


@pytest.mark.parametrize(
    "policy",
    [
        Policy.of("sensitive=illness"),
        Policy.of("singletons", change=Change(keep=("tt",))),
        Policy.of("singletons", change=Change(keep_cells=frozenset({("t", "x")}))),
        Policy.of("singletons", change=Change(groupings={"age": {"g": (("ancient",),)}})),
        Policy.of("singletons", cost=Cost(weights={"tt": Fraction(1)})),
        Policy.of(narrow=[Narrow(st.Selection.of(ill="maybe"), 2)]),
    ],
)
def test_names_must_exist(policy: Policy) -> None:
    with pytest.raises(st.InputError):
        policy.check(LAYOUT)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("singletons", Forbidden(most=1)),
        ("multiplicity<=3, k>=2", Forbidden(most=3, columns=2)),
        ("multiplicity<3", Forbidden(most=2)),
        ("sensitive=a|b,hidden", Forbidden(sensitive=("a", "b"), hidden=True)),
        ("baseline<1e-3", Forbidden(baseline=0.001)),
        ("groups", Forbidden(groups=True)),
    ],
)
def test_conditions(text: str, made: Forbidden) -> None:
    assert parse_forbidden(text) == made


@pytest.mark.parametrize(
    "text", ["", "k<=3", "k>=x", "singletons,multiplicity<=2", "baseline>0.1", "groups,hidden"]
)
def test_conditions_that_make_no_sense(text: str) -> None:
    with pytest.raises(st.InputError):
        parse_forbidden(text)


@pytest.mark.parametrize("text", ["round", "drop:3", "round:x", "", "suppress,,drop"])
def test_moves_that_make_no_sense(text: str) -> None:
    with pytest.raises(st.InputError):
        parse_moves(text)
