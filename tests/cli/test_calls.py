"""Calls that cannot be run: the message names what is wrong and gives a command that can."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from showthrough.cli import main
from showthrough.cli.app import load
from showthrough.cli.calls import examples, required
from showthrough.cli.terminal import WIDTH

PEOPLE = "age,sex,job\nyoung,f,clerk\nyoung,m,baker\nold,f,nurse\nold,f,clerk\nold,m,clerk\n"


def _commands() -> list[str]:
    app, found = load(), list[str]()
    for name in app:
        below = [f"{name} {inner}" for inner in app[name] if not inner.startswith("-")]
        found += [] if name.startswith("-") else below or [name]
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE, "utf-8")
    Path("incomes.csv").write_text("income\n1\n2\n3\n40\n5\n", "utf-8")
    return tmp_path


def _error(call: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(shlex.split(call)) == 2
    printed = capsys.readouterr()
    assert not printed.out
    (line,) = [line for line in printed.err.splitlines() if line.startswith("error: ")]
    return line.removeprefix("error: ")


MISSING = {
    "audit people.csv --tables age*sex": "no output folder given; name one: --out run/, or "
    "--ledger ledger/; run: showthrough audit people.csv --tables 'age*sex' --out run/",
    "protect people.csv --tables age*sex": (
        "--out is missing; for example: showthrough protect people.csv --tables 'age*sex' --out safe/"
    ),
    "worlds people.csv --tables age sex": "--out is missing; for example: showthrough worlds people.csv "
    "--tables age --tables sex --out worlds.parquet",
    "audit people.csv --out --json-not": "--out is missing",
    "simulate": "--blocks is missing; for example: showthrough simulate --blocks 100 --seed 1 "
    "--out homes.parquet",
    "publish --sensitive job": "DATA is missing; for example: showthrough publish people.parquet "
    "--sensitive job --out public/",
    "audit people.csv --tables age sex --out run": "unexpected argument 'sex': --tables takes one value, "
    "and can be given several times; run: showthrough audit people.csv --tables age --tables sex --out run",
    "audit --tables age sex people.csv --out run": "unexpected argument 'people.csv': --tables takes one "
    "value, and can be given several times; run: showthrough audit --tables age --tables sex people.csv "
    "--out run",
    "audit people.csv more.csv --tables age --out run": (
        "unexpected argument 'more.csv'; see showthrough audit --help"
    ),
    "publish people.csv --sensitive job --out public": "no promise given; choose --rho 0.1:0.5, "
    "--reconstruction 0.3:0.3, --diversity 4, or --retention 0.5; run: showthrough publish people.csv "
    "--sensitive job --out public --rho 0.1:0.5",
    "protect people.csv --tables age --totals --out safe": "no forbidden claims given; name them with "
    '--forbid "singletons,k>=5", or give a policy file with --policy, or cells to hide with --cells; run: '
    "showthrough protect people.csv --tables age --totals --out safe --forbid singletons",
    "advise incomes.csv --column income --share 5 --privacy 50": "--share: a share is at least 0 and less "
    "than 1 (found '5'); write 5 % as 0.05; run: showthrough advise incomes.csv --column income "
    "--share 0.05 --privacy 50",
    "advise incomes.csv --column income --share 5% --privacy 50": "--share: expected a number (found '5%'); "
    "run: showthrough advise incomes.csv --column income --share 0.05 --privacy 50",
    "check people.csv --sensitive job": "no promise to check; give --reconstruction 0.3:0.3, --rho 0.1:0.5 "
    "or --diversity 4; run: showthrough check people.csv --sensitive job --rho 0.1:0.5",
    'audit people.csv --tables "age, sex" --out run': "people.csv, column age, sex: table age, sex uses a "
    'column that the data do not have; write "age*sex" for one table of age by sex, or "age" and "sex" for '
    "two tables",
}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("call", MISSING)
def test_the_message_has_the_remedy(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _error(call, capsys).startswith(MISSING[call])


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "call",
    [
        "audit people.csv --tables age*sex --no-report --quiet",
        "worlds people.csv --tables age sex --quiet",
        "audit people.csv --tables age sex*job --out run --no-report --quiet",
        "publish people.csv --sensitive job --out public --no-report --quiet",
        "protect people.csv --tables age --totals --out safe --no-report --quiet",
        "check people.csv --sensitive job --quiet",
    ],
)
def test_the_command_that_is_shown_runs(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.search(r"(?:run|for example): showthrough (.*)$", _error(call, capsys))
    assert shown is not None
    assert main(shlex.split(shown[1])) in (0, 1)


@pytest.mark.parametrize("command", _commands())
def test_examples_have_everything_that_is_required(command: str) -> None:
    chain = command.split()
    app = load()
    for name in chain:
        app = app[name]
    values = examples(chain, app)
    for argument in required(app):
        assert values.get("" if argument.index is not None else argument.name), argument.name


def test_a_long_or_unreadable_command_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x" * 1000, "a\x1b[31mb"):
        assert _error(f"protect {shlex.quote(name)}", capsys) == (
            "--out is missing; see showthrough protect --help"
        )


@pytest.mark.parametrize("command", ["", *_commands()])
def test_examples_in_the_help_fit_a_terminal(command: str) -> None:
    app = load()
    for name in command.split():
        app = app[name]
    assert [line for line in str(app.help_epilogue).splitlines() if len(line) > WIDTH] == []
