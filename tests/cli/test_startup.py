"""Starting is cheap: nothing is imported before it is needed."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import showthrough as st
from showthrough.census import tables_2020 as census_tables
from showthrough.cli import census
from showthrough.cli.commands import completions

#: Packages that take a while to load.
HEAVY = {
    "altair",
    "duckdb",
    "highspy",
    "jinja2",
    "joblib",
    "numpy",
    "ortools",
    "pandas",
    "pyarrow",
    "pydantic",
    "pyspark",
    "scipy",
    "threadpoolctl",
}

CALLS = {
    "": 0,
    "--help": 0,
    "--version": 0,
    "audit --help": 0,
    "census --help": 0,
    "completion bash": 0,
    "adit": 2,
    "audit --blub": 2,
    "verify --workers many": 2,
}


def imported(script: str) -> set[str]:
    """The packages that a fresh Python has imported after a script."""
    tell = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    command = [sys.executable, "-c", f"{script}\n{tell}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("call", CALLS)
def test_commands_that_do_no_work(call: str) -> None:
    script = f"from showthrough.cli import main; assert main({call.split()!r}) == {CALLS[call]}"
    assert not imported(script) & HEAVY


def test_the_package() -> None:
    """Also ``from showthrough import …`` of what is light."""
    found = imported("import showthrough; from showthrough import InputError, __version__")
    assert not found & (HEAVY | {"cyclopts", "rich"})


def test_the_command_before_it_is_called() -> None:
    """So that an interruption finds somebody who knows what to do."""
    assert not imported("from showthrough.cli import main") & (HEAVY | {"cyclopts", "rich"})


class TestNames:
    def test_all_of_them_are_there(self) -> None:
        for name in st.__all__:
            assert getattr(st, name) is not None
        assert set(st.__all__) <= set(dir(st))

    def test_type_checkers_see_the_same(self) -> None:
        """The names imported for type checkers are those that are looked up, from the same modules."""
        tree = ast.parse(Path(st.__file__).read_text("utf-8"))
        block = next(part for part in tree.body if isinstance(part, ast.If))
        seen = {
            name.name: part.module
            for part in block.body
            if isinstance(part, ast.ImportFrom)
            for name in part.names
        }
        packages = {name for name, module in seen.items() if module == "showthrough"}
        looked_up = {name: f"showthrough.{module}" for name, module in st._MODULES.items()}
        assert {name: module for name, module in seen.items() if name not in packages} == looked_up
        assert packages == set(st._PACKAGES)
        assert set(looked_up) == set(st.__all__)

    def test_packages_are_attributes(self) -> None:
        assert st.publish.Uniform is not None
        assert st.protect.Policy is not None
        assert st.attack.Gaussian is not None

    def test_audit_is_the_function(self) -> None:
        importlib.import_module("showthrough.tables.run.folder")  # sets showthrough.audit, to no avail
        assert isinstance(sys.modules["showthrough.audit"], ModuleType)
        assert st.audit is sys.modules["showthrough.tables.audit"].audit

    def test_an_unknown_name(self) -> None:
        with pytest.raises(AttributeError, match="module 'showthrough' has no attribute 'blub'"):
            _ = st.blub  # type: ignore[attr-defined]

    def test_everything_at_once(self) -> None:
        names: dict[str, object] = {}
        exec("from showthrough import *", names)  # noqa: S102
        assert names["audit"] is st.audit


def test_the_command_line_knows_the_choices_of_the_library() -> None:
    assert get_args(census.Cells) == get_args(census_tables.Cells)
    assert get_args(census.Renter) == get_args(census_tables.Renter)


def test_completions_are_those_of_the_commands() -> None:
    for path, text in completions().items():
        assert path.read_text("utf-8") == text, "the options have changed: run scripts/completions"
