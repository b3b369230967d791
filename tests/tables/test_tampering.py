"""Whatever changes what readers believe is caught, even with new hashes, or named as not covered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import showthrough as st
from needs import need_module
from showthrough.report import write
from tampering import KINDS, RUNS, Kind, rewrite_hashes, table_of_kinds

PAGE = Path(__file__).parents[2] / "docs" / "methods" / "tampering.md"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The runs that are tampered with."""
    need_module("vl_convert", "pages need the extra report")
    place = tmp_path_factory.mktemp("runs")
    for name, make in RUNS.items():
        make(place / name)
    return {name: place / name for name in RUNS}


@pytest.fixture(scope="module")
def page(runs: dict[str, Path]) -> str:
    """What the page of the main run must be."""
    return write.rendered(runs["main"], None)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_as_it_was_written_holds(runs: dict[str, Path], name: str) -> None:
    done = st.verify(runs[name])
    assert done.problems == []
    assert done.areas
    assert done.proofs
    assert done.claims
    assert done.figures


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_tampering_is_caught_or_named(
    runs: dict[str, Path], page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(runs[kind.run], folder)
    if not kind.late:
        kind.do(folder)
    rewrite_hashes(folder)
    if kind.late:
        kind.do(folder)
    monkeypatch.setattr(write, "rendered", lambda *_: page)
    counts = tmp_path / "counts.csv"
    counts.write_text("nothing")
    done = st.verify(folder, page=kind.about_page, inputs=[counts] if kind.inputs else ())
    if kind.left:
        assert done.problems == []
        assert any(kind.left in said for said in done.not_covered), done.not_covered
    else:
        assert any(kind.caught in problem for problem in done.problems), done.problems


def test_all_kinds_are_documented() -> None:
    """``python tests/tampering.py`` prints the table."""
    names = [kind.name for kind in KINDS]
    assert len(set(names)) == len(names) > 100
    assert table_of_kinds() in PAGE.read_text("utf-8")
