"""The command report, and the pages that other commands leave behind."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from kills import every_moment
from report.runs import PEOPLE
from showthrough.cli import main
from showthrough.files import file_digest
from showthrough.report import page as pages


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    """The audit of a small file, to be completed by options."""
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    tables = ["--tables", "age*sex", "--tables", "sex*job"]
    return ["audit", str(tmp_path / "people.csv"), *tables, "--by", "town", "--out", str(tmp_path / "run")]


def test_an_audit_leaves_a_page_and_names_it(
    people: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(people) == 1
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "2 of 2 areas give away something" in page
    assert "report.html" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "run")]) == 0


def test_a_run_with_a_page_is_replaced_as_a_whole(people: list[str], tmp_path: Path) -> None:
    main(people)
    first = (tmp_path / "run" / "report.html").read_bytes()
    assert main([*people, "--overwrite", "--max-columns", "2"]) == 1
    assert (tmp_path / "run" / "report.html").read_bytes() != first
    assert main([*people, "--overwrite", "--no-report"]) == 1
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_page_anywhere_on_request(
    people: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*people, "--no-report"])
    capsys.readouterr()
    assert main(["report", str(tmp_path / "run"), "--html", str(tmp_path / "page.html"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "page.html").stat().st_size
    assert main(["report", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "report.html").read_bytes() == (tmp_path / "page.html").read_bytes()


def test_without_the_extra_one_line_says_how_to_get_it(
    people: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "find_spec", dict.get.__get__({}))
    assert main(people) == 1
    told = capsys.readouterr()
    assert "pip install 'showthrough[report]'" in told.err
    assert "report.html" not in told.out
    assert not (tmp_path / "run" / "report.html").exists()
    assert main(["report", str(tmp_path / "run")]) == 2
    assert "pip install 'showthrough[report]'" in capsys.readouterr().err


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "not a finished run" in capsys.readouterr().err


def test_the_demo_ends_with_five_sentences_and_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--areas", "2", "--out", str(tmp_path / "demo")]) == 0
    *_, sentences, last = capsys.readouterr().out.strip().split("\n\n")
    assert sentences.startswith("The most telling of them:")
    assert sentences.count("\n  - ") == 5
    assert last == f"Now open {tmp_path / 'demo' / 'report.html'} in a browser."
    page = (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert "How likely by chance: county" in page


def test_census_pages_have_baselines_of_tract_and_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes, run = str(tmp_path / "homes.parquet"), str(tmp_path / "run")
    assert main(["simulate", "--blocks", "3", "--seed", "11", "--out", homes]) == 0
    assert main(["census", "audit", homes, "--out", run, "--max-columns", "2"]) == 1
    assert "How likely by chance" not in (tmp_path / "run" / "report.html").read_text("utf-8")
    assert main(["report", run, "--homes", homes]) == 0
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "How likely by chance: tract" in page
    assert "How likely by chance: state" in page
    other = str(tmp_path / "other.parquet")
    main(["simulate", "--blocks", "1", "--seed", "12", "--out", other])
    capsys.readouterr()
    assert main(["report", run, "--homes", other]) == 2
    assert "has no homes in this file" in capsys.readouterr().err


def listed(folder: Path, name: str) -> dict[str, str]:
    said = json.loads((folder / name).read_text("utf-8"))
    return said["files"] if name == "publication.json" else said["outputs"]


@pytest.mark.parametrize("kind", ["run", "publication", "check"])
def test_a_page_that_is_written_again_is_listed(
    kind: str, people: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the writer is killed, the manifest lists the page that is there, or none."""
    folder, data = tmp_path / "run", str(tmp_path / "people.csv")
    commands = {
        "run": people,
        "publication": ["publish", data, "--sensitive", "job", "--retention", "0.5", "--out", str(folder)],
        "check": ["check", data, "--sensitive", "job", "--diversity", "2", "--out", str(folder)],
    }
    main(commands[kind])
    name = "publication.json" if kind == "publication" else "run.json"
    before, manifest = (folder / "report.html").read_bytes(), (folder / name).read_bytes()
    assert listed(folder, name)["report.html"] == file_digest(folder / "report.html")
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").read_bytes() == before
    assert (folder / name).read_bytes() == manifest
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (folder / "report.html").write_text("old")
    for _ in every_moment(lambda: main(["report", str(folder)]), tmp_path, step=2):
        digest = listed(folder, name).get("report.html")
        assert digest in (None, file_digest(folder / "report.html"), file_digest_of(before))
        (folder / "report.html").write_text("old")
    assert (folder / "report.html").read_bytes() == before
    assert (folder / name).read_bytes() == manifest
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "run"}


def file_digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_page_elsewhere_touches_nothing(people: list[str], tmp_path: Path) -> None:
    main(people)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    page = ["report", str(tmp_path / "run"), "--html", str(tmp_path / "page.html")]
    assert main(page) == 0
    assert main(page) == 2
    assert main([*page, "--overwrite"]) == 0
    assert before == {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
