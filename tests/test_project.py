"""The repository as a whole."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
from pathlib import Path

import pytest

import showthrough

ROOT = Path(__file__).resolve().parents[1]
NOT_OURS = {".git", ".venv", "dist", "build", "demo-run", "showthrough-demo"}
BINARY = {".parquet", ".png", ".gz", ".zip", ".arrow", ".pyc", ".xlsx"}


def files() -> list[Path]:
    """Every text file of the repository."""
    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in NOT_OURS
            and not name.endswith(("cache", "cache__", ".egg-info"))
            and name != ".hypothesis"
        ]
        found += [  # in a working tree beside others .git is a file
            Path(folder, name) for name in names if Path(name).suffix not in BINARY and name not in NOT_OURS
        ]
    return found


def kind_then_name(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as ruff sorts ``__all__``."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_all_is_sorted_and_complete() -> None:
    assert showthrough.__all__ == sorted(showthrough.__all__, key=kind_then_name)
    assert set(showthrough.__all__) == set(showthrough._MODULES)
    assert showthrough.__version__


def test_every_module_exports_what_it_says() -> None:
    walked = pkgutil.walk_packages(showthrough.__path__, "showthrough.")
    found = [module.name for module in walked if not module.name.endswith("__main__")]
    assert len(found) > 10
    for name in found:
        module = importlib.import_module(name)
        assert module.__doc__, f"{name} has no docstring"
        for exported in getattr(module, "__all__", ()):
            assert hasattr(module, exported), f"{name} exports {exported}, which it lacks"


def test_nothing_is_left_to_do() -> None:
    """And no file knows the machine it was written on."""
    marks = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    places = re.compile(r"(?<![\w.*/])/(ho" + r"me|Us" + r"ers|ro" + r"ot|wo" + r"rk)/\w")
    for file in files():
        text = file.read_text("utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{file.relative_to(ROOT)}, line {number}: {line.strip()}"
            assert not marks.search(line), where
            assert not places.search(line), where


SCRIPTS = [*sorted((ROOT / "scripts").iterdir()), ROOT / ".ci" / "run"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    lines = script.read_text("utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines


def test_constraints_are_plain_pins() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    names = [line.partition("==")[0].casefold() for line in lines]
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.+]*", line) for line in lines)


def test_benchmarks_can_explain_themselves() -> None:
    """A percent sign alone in a help text ends ``--help`` with an error."""
    texts = [
        str(keyword.value.value)
        for path in sorted((ROOT / "benchmarks").glob("*.py"))
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "help" and isinstance(keyword.value, ast.Constant)
    ]
    assert len(texts) > 50
    for text in texts:
        assert text % {"default": "", "prog": ""}
