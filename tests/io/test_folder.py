"""Folders of results: complete or not there at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from showthrough.errors import RunError
from showthrough.io.folder import file_digest, make_folder, write_manifest


def make(path: Path, text: str = "x", *, kind: str = "k", overwrite: bool = False) -> None:
    with make_folder(path, kind=kind, overwrite=overwrite) as folder:
        (folder / "a.txt").write_text(text)
        write_manifest(folder, kind=kind, parameters={"p": 1}, inputs={"in": "hash"})


def test_a_finished_folder(tmp_path: Path) -> None:
    make(tmp_path / "deep" / "run")
    run = json.loads((tmp_path / "deep/run/run.json").read_text())
    assert run["outputs"] == {"a.txt": file_digest(tmp_path / "deep/run/a.txt")}
    assert (run["kind"], run["parameters"], run["inputs"]) == ("k", {"p": 1}, {"in": "hash"})
    assert "showthrough" in run["versions"]


def test_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    def fail() -> None:
        with make_folder(tmp_path / "run", kind="k") as folder:
            (folder / "a.txt").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays_unless_asked_for(tmp_path: Path) -> None:
    make(tmp_path / "run", "old")
    with pytest.raises(RunError, match=r"finished run in this folder already.*--overwrite"):
        make(tmp_path / "run", "new")
    assert (tmp_path / "run/a.txt").read_text() == "old"
    make(tmp_path / "run", "new", overwrite=True)
    assert (tmp_path / "run/a.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_failure_keeps_what_was_there(tmp_path: Path) -> None:
    make(tmp_path / "run", "old")
    with pytest.raises(ZeroDivisionError), make_folder(tmp_path / "run", kind="k", overwrite=True):
        raise ZeroDivisionError
    assert (tmp_path / "run/a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_foreign_folders_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    make(tmp_path / "mine")  # empty: fine
    with pytest.raises(RunError, match="holds something else"):
        make(tmp_path / "mine", kind="other", overwrite=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.txt").write_text("x")
    with pytest.raises(RunError, match="holds something else"):
        make(tmp_path / "full", overwrite=True)
    with pytest.raises(RunError, match="a file, not a folder"):
        make(tmp_path / "full/thesis.txt", overwrite=True)
