"""The verbs about tables of counts, as somebody at a prompt calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import showthrough as st
from odd_arguments import check_refused, each_odd

SCHEMA = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
RELEASE = st.Release.of(SCHEMA, {st.make_table(SCHEMA, "sex"): [3, 2], st.make_table(SCHEMA, "ill"): [1, 4]})
LAYOUT: Any = RELEASE.layout


@pytest.mark.parametrize(
    "given", ["sex=f,ill=yes", {"sex": "f", "ill": ["yes"]}, st.Selection.of(sex="f", ill="yes")]
)
def test_a_selection_may_be_text_or_a_mapping(given: Any) -> None:
    found = st.bounds(RELEASE, given)
    assert (found.low, found.high, found.tight) == (2, 3, True)
    assert repr(found) == "<Bounds of ill=yes,sex=f: 2 to 3>"


#: call → what the message says
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "release": (lambda: st.audit("release.toml"), "release must be Release, not str"),  # type: ignore[arg-type]
    "release of bounds": (lambda: st.bounds(None, "sex=f"), "release must be Release, not NoneType"),  # type: ignore[arg-type]
    "release of worlds": (lambda: st.worlds({}), "release must be Release, not dict"),  # type: ignore[arg-type]
    "truth": (lambda: st.audit(RELEASE, truth=[1]), "truth must be Records or None, not list"),  # type: ignore[arg-type]
    "scope": (lambda: st.audit(RELEASE, scope=2), "scope must be Scope or None, not int"),  # type: ignore[arg-type]
    "effort": (lambda: st.audit(RELEASE, effort="much"), "effort must be int or float, not str"),  # type: ignore[arg-type]
    "no effort": (lambda: st.audit(RELEASE, effort=0), "effort must be a positive number"),
    "seed": (lambda: st.audit(RELEASE, seed="a"), "seed must be a whole number, not str"),  # type: ignore[arg-type]
    "multiplicity": (lambda: st.audit(RELEASE, multiplicity="12"), "multiplicity must be a list, not str"),  # type: ignore[arg-type]
    "columns": (lambda: st.audit(RELEASE, max_columns="2"), "max_columns must be a whole number"),  # type: ignore[arg-type]
    "selection": (lambda: st.bounds(RELEASE, 3), "selection must be Selection, str or Mapping, not int"),  # type: ignore[arg-type]
    "n": (lambda: st.worlds(RELEASE, "ten"), "n must be a whole number, not str"),  # type: ignore[arg-type]
    "run": (lambda: st.verify(3), "folder must be str, PathLike or AuditRun, not int"),  # type: ignore[arg-type]
    "proof": (lambda: st.explain_proof(None, RELEASE), "proof must be Proof, not NoneType"),  # type: ignore[arg-type]
    "layout": (lambda: st.run_audit([], RELEASE, "run"), "layout must be Layout, not Release"),  # type: ignore[arg-type]
    "areas": (lambda: st.run_audit(3, LAYOUT, "run"), "areas must be Iterable, not int"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_type_is_a_named_error(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(st.InputError) as caught:
        call()
    assert message in str(caught.value)


THREE: Any = 3


def _bounds_proof() -> st.Proof:
    return st.bounds(RELEASE, "sex=f").low_proof


#: a call with one argument, and which of the odd ones it takes
ODD_CALLS: dict[str, tuple[Callable[[Any], object], tuple[int, ...]]] = {
    "audit": (st.audit, ()),
    "bounds": (lambda odd: st.bounds(odd, "sex=f"), ()),
    "worlds": (st.worlds, ()),
    "n": (lambda odd: st.worlds(RELEASE, odd), (1,)),
    "seed": (lambda odd: st.audit(RELEASE, seed=odd), (1,)),
    "multiplicity": (lambda odd: st.Scope(multiplicity=odd), (0,)),
    "columns": (lambda odd: st.Scope(max_columns=odd), (0, 1)),
    "Settings": (st.Settings, ()),
    "Area": (st.Area, ()),
    "truth": (lambda odd: st.Area(RELEASE, odd), (0,)),
    "Claim": (lambda odd: st.Claim(odd, 1), ()),
    "World": (lambda odd: st.World(odd, odd), ()),
    "AuditRun": (st.AuditRun, ()),
    "AuditRun.open": (st.AuditRun.open, ()),
    "verify": (st.verify, ()),
    "folder": (lambda odd: st.run_audit([RELEASE], LAYOUT, odd), ()),
    "settings": (lambda odd: st.run_audit([RELEASE], LAYOUT, "run", settings=odd or THREE), ()),
    "engine": (lambda odd: st.run_audit([RELEASE], LAYOUT, "run", engine=odd or THREE), ()),
    "workers": (lambda odd: st.verify("run", workers=-1 if odd == 3 else odd), ()),
    "inputs": (lambda odd: st.run_audit([RELEASE], LAYOUT, "run", inputs=odd or THREE), ()),
    "progress": (lambda odd: st.run_audit([RELEASE], LAYOUT, "run", progress=odd or THREE), ()),
    "protect": (lambda odd: st.protect(odd, "singletons"), ()),
    "policy": (lambda odd: st.protect(RELEASE, odd), ()),
    "protect_alike": (lambda odd: st.protect_alike(odd, "singletons"), ()),
    "compare_rules": (lambda odd: st.compare_rules(odd, "singletons"), ()),
    "threshold": (lambda odd: st.compare_rules(st.Area(RELEASE), "singletons", threshold=odd), (1,)),
    "bases": (lambda odd: st.compare_rules(st.Area(RELEASE), "singletons", bases=odd), ()),
    "apply_moves": (lambda odd: st.apply_moves(odd, []), ()),
    "moves": (lambda odd: st.apply_moves(RELEASE, odd), ()),
    "mark": (lambda odd: st.apply_moves(RELEASE, [], mark=odd), (0,)),
    "Suppress": (lambda odd: st.Suppress(odd, "sex=f"), ()),
    "cell": (lambda odd: st.Suppress("sex", odd), ()),
    "Round": (lambda odd: st.Round("sex", odd), (1,)),
    "Merge": (lambda odd: st.Merge("sex", "sex", odd), ()),
    "Drop": (st.Drop, ()),
    "Mark": (lambda odd: st.Mark(0, odd), (1,)),
    "Forbidden": (lambda odd: st.Forbidden(columns=odd), (1,)),
    "sensitive": (lambda odd: st.Forbidden(sensitive=odd), (2,)),
    "Narrow": (lambda odd: st.Narrow(odd, 1), ()),
    "Change": (lambda odd: st.Change(bases=odd), ()),
    "groupings": (lambda odd: st.Change(groupings=odd), ()),
    "Cost": (lambda odd: st.Cost(odd), (1,)),
    "Policy": (st.Policy, ()),
    "Policy.of": (lambda odd: st.Policy.of("singletons", narrow=odd), ()),
    "explain_proof": (lambda odd: st.explain_proof(_bounds_proof(), odd), ()),
    "LocalEngine": (st.LocalEngine, (1,)),
    "work": (lambda odd: list(st.LocalEngine().run(odd, [1])), ()),
    "open_engine": (lambda odd: st.open_engine(odd, workers=1).__enter__(), ()),
    "SparkEngine": (st.SparkEngine, ()),
    "Estimate": (lambda odd: st.Estimate(odd, 1.0), (1,)),
    "level": (lambda odd: st.Estimate(1.0, 1.0).interval(odd), ()),
    "InputError": (st.InputError, ()),
    "Contradiction": (st.Contradiction, ()),
}


@pytest.mark.parametrize("name", ODD_CALLS)
@each_odd
def test_odd_arguments_are_named_errors(
    name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, fine = ODD_CALLS[name]
    check_refused(call, at, fine=fine, place=tmp_path, patch=monkeypatch)


def test_true_is_no_number() -> None:
    with pytest.raises(st.InputError, match="n must be a whole number, not bool"):
        st.worlds(RELEASE, True)


@pytest.mark.parametrize("name", ["audit", "bounds", "worlds", "Area", "protect"])
def test_several_releases_say_how_to_take_one(name: str) -> None:
    people = st.simulate_county(2, seed=1)
    releases = st.tabulate(people, "tenure")
    with pytest.raises(st.InputError, match=r"take one by its name, such as releases\['block 1'\]"):
        ODD_CALLS[name][0](releases)


def test_an_area_of_a_wrong_type_leaves_nothing_behind(tmp_path: Path) -> None:
    kinds = "Area, Planned, Broken, Nested or Release"
    with pytest.raises(st.InputError, match=f"an area must be {kinds}, not int"):
        st.run_audit([3], LAYOUT, tmp_path / "run")  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []


def test_releases_are_areas(tmp_path: Path) -> None:
    run = st.run_audit([RELEASE], LAYOUT, tmp_path / "run")
    assert run.summary.areas == 1
    assert st.verify(run).holds
    assert run.to_pandas().shape == run.to_polars().shape == (run.summary.findings, 11)


def test_results_become_data_frames() -> None:
    audit = st.audit(RELEASE)
    n_kept = audit.n_of("verified") + audit.n_of("undecided")
    assert audit.to_arrow().num_rows == len(audit.to_pandas()) == len(audit.to_polars()) == n_kept
    world = st.worlds(RELEASE, 1)[0]
    assert world.to_pandas().shape == world.to_polars().shape == (5, 2)


def test_reprs_are_short() -> None:
    audit = st.audit(RELEASE)
    for noun in (audit, audit.verdicts[0], st.worlds(RELEASE, 1)[0], st.bounds(RELEASE, "sex=f")):
        assert len(repr(noun)) < 250
    assert repr(audit) == "<Audit: 0 findings; 4 claims verified, 3 claims refuted, 0 claims undecided>"
