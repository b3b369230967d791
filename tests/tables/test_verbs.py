"""The verbs about tables of counts, as somebody at a prompt calls them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import showthrough as st

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
    "truth": (lambda: st.audit(RELEASE, truth=[1]), "truth must be Records, not list"),  # type: ignore[arg-type]
    "scope": (lambda: st.audit(RELEASE, scope=2), "scope must be Scope, not int"),  # type: ignore[arg-type]
    "effort": (lambda: st.audit(RELEASE, effort="much"), "effort must be int or float, not str"),  # type: ignore[arg-type]
    "no effort": (lambda: st.audit(RELEASE, effort=0), "effort must be a positive number"),
    "seed": (lambda: st.audit(RELEASE, seed="a"), "seed must be int"),  # type: ignore[arg-type]
    "multiplicity": (lambda: st.audit(RELEASE, multiplicity="12"), "multiplicity must be int, not str"),  # type: ignore[arg-type]
    "columns": (lambda: st.audit(RELEASE, max_columns="2"), "max_columns must be int, not str"),  # type: ignore[arg-type]
    "selection": (lambda: st.bounds(RELEASE, 3), "selection must be Selection, str or Mapping, not int"),  # type: ignore[arg-type]
    "n": (lambda: st.worlds(RELEASE, "ten"), "n must be int, not str"),  # type: ignore[arg-type]
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


def test_an_area_of_a_wrong_type_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(st.InputError, match="an area must be Area, Planned, Broken or Release, not int"):
        st.run_audit([3], LAYOUT, tmp_path / "run")  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []


def test_releases_are_areas(tmp_path: Path) -> None:
    run = st.run_audit([RELEASE], LAYOUT, tmp_path / "run")
    assert run.summary.areas == 1
    assert st.verify(run).holds
    assert run.to_pandas().shape == run.to_polars().shape == (run.summary.findings, 10)


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
