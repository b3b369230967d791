"""Totals of planned tables: counted when asked for, and missed when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Run, runner
from showthrough.errors import InputError
from showthrough.formats.read_subject import read_subject
from showthrough.formats.safe_release import read_notes
from showthrough.formats.subject import Subject


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Three people."""
    path = tmp_path / "people.csv"
    path.write_text("age,sex\nold,f\nold,m\nyoung,m\n")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def names(subject: Subject) -> list[str]:
    return [name for _, name in subject.layout.names]


def test_totals_are_counted_when_asked_for(people: Path) -> None:
    plain = read_subject(people, tables=["age*sex"])
    whole = read_subject(people, tables=["age*sex"], totals=True)
    assert (len(names(plain)), plain.lacks_totals) == (4, True)
    assert names(whole)[4:] == ["age=old", "age=young", "sex=f", "sex=m", "total"]
    assert not whole.lacks_totals
    (area,) = whole.areas()
    assert area.release.low.tolist()[4:] == [2, 1, 1, 2, 3]


def test_totals_that_are_tables_of_their_own_are_not_missed(people: Path) -> None:
    assert not read_subject(people, tables=["age*sex", "sex", "age", "total"]).lacks_totals
    assert read_subject(people, tables=["age*sex", "sex", "total"]).lacks_totals


def test_totals_need_tables(people: Path, tmp_path: Path) -> None:
    release = tmp_path / "release.toml"
    release.write_text('[[tables]]\nformula = "age*sex"\n')
    with pytest.raises(InputError, match="--totals is for the tables that --tables names"):
        read_subject(people, releases=[release], totals=True)
    assert read_subject(people, releases=[release]).lacks_totals
    release.write_text('[[tables]]\nformula = "age*sex"\ntotals = true\n')
    assert not read_subject(people, releases=[release]).lacks_totals


@pytest.mark.parametrize("totals", [True, False])
def test_whoever_protects_tables_without_totals_is_told_once(
    run: Run, people: Path, tmp_path: Path, *, totals: bool
) -> None:
    more = ["--totals"] if totals else []
    out = tmp_path / "safe"
    table = ["--tables", "age*sex", "--forbid", "singletons,k>=2", "--out", str(out)]
    ran = run("protect", str(people), *table, *more)
    assert ran.code == 0
    assert ran.err.count("planned without totals") == (0 if totals else 1)
    assert "planned without totals" not in ran.out
    assert len(read_notes(out)) == (0 if totals else 1)
    assert (out / "report.html").read_text("utf-8").count("planned without totals") == (0 if totals else 1)


def test_an_audit_says_nothing_of_totals_for_they_follow_from_the_cells(
    run: Run, people: Path, tmp_path: Path
) -> None:
    ran = run("audit", str(people), "--tables", "age*sex", "--out", str(tmp_path / "run"), "--no-report")
    assert "totals" not in ran.err + ran.out
