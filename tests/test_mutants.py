"""The mutation runner itself: what a test notices is killed, what none notices is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.mutations import mutants_of

ROOT = Path(__file__).resolve().parents[1]

TOY = """
LIMIT = 3

def is_small(number):
    return number < LIMIT

def larger(one, other):
    return one if one > other else other

def product(number):
    found = 1
    while number:
        found *= number
        number -= 1
    return found
"""

TESTS = """
import toy

def test_small():
    assert toy.is_small(2) and not toy.is_small(4)

def test_larger():
    assert toy.larger(1, 2) == toy.larger(2, 1) == 2

def test_product():
    assert toy.product(3) == 6
"""

BOUNDARY = """
def test_boundary():
    assert not toy.is_small(3)
"""

SCRIPT = """
import sys
from pathlib import Path
from benchmarks import mutant_forks
from benchmarks.mutants import Equivalent, Target, run

mutant_forks.GRACE = 0.2
line = "return one if one > other else other"
same = Equivalent("toy.py", "larger", line, ("return one if one >= other else other",), "both are equal")
wrong = Equivalent("toy.py", "larger", line, ("return None", "return 5"), "not at all")
root = Path(sys.argv[1])
sys.path.insert(0, str(root))
tests = tuple(sys.argv[2].split(","))
declared = {"none": [], "same": [same], "wrong": [same, wrong]}[sys.argv[3]]
options = {"sample": int(sys.argv[4])} if len(sys.argv) > 4 else {}
sys.exit(run({"toy": Target(("toy.py",), tests)}, root=root, equivalents=declared, **options))
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(TESTS)
    (tmp_path / "test_boundary.py").write_text("import toy\n" + BOUNDARY)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def mutate(toy: Path, *arguments: str) -> tuple[int, str]:
    """Run the runner on the toy: its exit code and what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(toy), *arguments],
        cwd=toy,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def test_survivors_are_told(toy: Path) -> None:
    code, text = mutate(toy, "test_toy.py", "none")
    assert code == 1
    told = text.split("\n\n", 1)[1]
    assert told.count("survived: toy.py:") == 3
    for line, other in (
        ("return number < LIMIT", "return number <= LIMIT"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("return one if one > other else other", "return one if one >= other else other"),
    ):
        assert f"- {line}\n  + {other}\n" in told
    # Without the step, or with another one, there is no end.
    _, mutants, killed, timed_out, survived, equivalent, _ = text.splitlines()[1].split()
    assert int(mutants) == int(killed) + int(timed_out) + int(survived)
    assert (timed_out, survived, equivalent) == ("4", "3", "0")


def test_nothing_is_left_but_what_is_declared(toy: Path) -> None:
    code, text = mutate(toy, "test_toy.py,test_boundary.py", "same")
    assert code == 0, text
    assert text.splitlines()[1].split()[4:6] == ["0", "1"]
    code, text = mutate(toy, "test_toy.py,test_boundary.py", "wrong", "2")
    assert code == 1
    assert "stale: no such mutant\n  toy.py, in larger\n" in text
    assert text.splitlines()[1].split()[1] == "2"


def test_faults_of_every_kind() -> None:
    source = """
def f(x, *, y=1):
    if x in y and not x:
        raise ValueError(x)
    try:
        x += abs(y) - 2 * max(x, 0.5)
    except (KeyError, OSError):
        return g(x, key=-1)
    return x[1:]
"""
    made = {mutant.becomes for mutant in mutants_of(source)}
    assert made >= {
        "def f(x, *, y=0):",
        "if x not in y and (not x):",
        "if x in y or not x:",
        "if x in y:",
        "if x in y and x:",
        "if True:",
        "if not (x in y and (not x)):",
        "pass",
        "raise Exception(x)",
        "x -= abs(y) - 2 * max(x, 0.5)",
        "x += y - 2 * max(x, 0.5)",
        "x += abs(y) + 2 * max(x, 0.5)",
        "x += abs(y) - 2 / max(x, 0.5)",
        "x += abs(y) - 3 * max(x, 0.5)",
        "x += abs(y) - 2 * min(x, 0.5)",
        "x += abs(y) - 2 * max(x, 0.25)",
        "except (KeyError,):",
        "except Exception:",
        "return g(x)",
        "return g(x, key=1)",
        "return None",
        "return x[:]",
        "return x[2:]",
    }
