"""Starting is cheap: nothing is imported before it is needed."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import showthrough as st
from showthrough.census import tables_2020 as census_tables
from showthrough.cli import census
from showthrough.cli.app import JOURNEYS, load

#: Packages that take a while to load.
HEAVY = {
    "altair",
    "duckdb",
    "highspy",
    "jinja2",
    "joblib",
    "numba",
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


#: What a person does with showthrough.
VERBS = [
    "advise",
    "attack",
    "audit",
    "bounds",
    "check",
    "compare",
    "count",
    "perturb",
    "protect",
    "publish",
    "report",
    "tabulate",
    "verify",
    "worlds",
    "read_census",
    "read_counts",
    "read_numbers",
    "read_policy",
    "read_records",
    "read_release",
    "read_schema",
    "read_table",
]


#: Journeys that share options: in a room, and with all others.
ROOMS = ({"census"}, {"publish", "count", "check", "compare"}, {"attack", "advise"})
SHARED = {"audit", "closer", "demo", "import_", "likely", "protect", "results"}


def modules(script: str) -> set[str]:
    """The modules that a fresh Python has imported after a script."""
    tell = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", f"{script}\n{tell}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def imported(script: str) -> set[str]:
    """The packages that a fresh Python has imported after a script."""
    return {name.partition(".")[0] for name in modules(script)}


#: Loads what all commands need, and does each call in a copy of itself; tells how it ended, and all modules.
FORKING = """
import json, os, sys
import cyclopts, rich.console, showthrough.cli.app
from showthrough.cli import main
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
for call in json.loads(sys.argv[1]):
    if not os.fork():
        code = main(call.split())
        os.write(out, json.dumps([call, code, sorted(sys.modules)]).encode() + b"\\n")
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def called() -> dict[str, tuple[int, set[str]]]:
    """How calls that do no work end, and the modules that are imported then."""
    helps = [f"{commands[0]} --help" for commands in JOURNEYS.values()]
    command = [sys.executable, "-c", FORKING, json.dumps(sorted({*CALLS, *helps}))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = map(json.loads, done.stdout.splitlines())
    return {call: (code, set(found)) for call, code, found in told}


@pytest.mark.parametrize("call", CALLS)
def test_commands_that_do_no_work(called: dict[str, tuple[int, set[str]]], call: str) -> None:
    code, found = called[call]
    assert code == CALLS[call]
    assert not {name.partition(".")[0] for name in found} & HEAVY


def test_the_package() -> None:
    """Also ``from showthrough import …`` of what is light."""
    found = imported("import showthrough; from showthrough import InputError, __version__")
    assert not found & (HEAVY | {"cyclopts", "rich"})


def test_the_command_before_it_is_called() -> None:
    """So that an interruption finds somebody who knows what to do."""
    assert not imported("from showthrough.cli import main") & (HEAVY | {"cyclopts", "rich"})


def test_a_command_loads_its_own_journey_only(called: dict[str, tuple[int, set[str]]]) -> None:
    """The commands of other rooms are not imported."""
    assert set.union(SHARED, *ROOMS) == set(JOURNEYS)
    for journey, commands in JOURNEYS.items():
        _, found = called[f"{commands[0]} --help"]
        assert f"showthrough.cli.{journey}" in found
        others = {other for room in ROOMS if journey not in room for other in room}
        assert not found & {f"showthrough.cli.{other}" for other in others}, journey


def test_journeys_are_those_of_the_commands() -> None:
    """Each command is found where it is looked for."""
    app = load()
    listed = {name: journey for journey, commands in JOURNEYS.items() for name in commands}
    assert {name for name in app if not name.startswith("-")} == {*listed, "completion"}
    for name, journey in listed.items():
        command = app[name]
        if command.default_command is not None:
            assert command.default_command.__module__ == f"showthrough.cli.{journey}"


class TestNames:
    def test_all_of_them_are_there(self) -> None:
        for name in st.__all__:
            assert getattr(st, name) is not None
        assert set(st.__all__) <= set(dir(st))

    def test_every_verb(self) -> None:
        for verb in VERBS:
            assert callable(getattr(st, verb)), verb

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
        assert seen == {name: f"showthrough.{module}" for name, module in st._MODULES.items()}
        assert set(seen) == set(st.__all__)

    def test_no_name_shadows_a_module(self) -> None:
        """So that every module can be imported under its name; ``report`` is a verb and a package."""
        modules = {module.name for module in pkgutil.iter_modules(st.__path__)}
        assert modules & set(st.__all__) == {"report"}

    def test_the_package_that_is_a_verb(self) -> None:
        script = (
            "import showthrough as st\n"
            "assert callable(st.report)\n"
            "import showthrough.report.page as page\n"
            "import showthrough.tables.run.folder as folder\n"
            "assert page.render and folder.run_audit and callable(st.report) and callable(st.audit)\n"
            "from showthrough import report\n"
            "assert report is st.report and report.page is page\n"
        )
        assert imported(script)

    @pytest.mark.parametrize("wrong", [3, None, ["run/"]])
    def test_a_report_of_no_folder(self, wrong: Any) -> None:
        with pytest.raises(st.InputError, match="folder must be str or PathLike, not"):
            st.report(wrong)

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
    """In a fresh Python: commands are listed in the order in which their modules were imported."""
    script = (
        "from showthrough.cli.app import completions\n"
        "wrong = [path.name for path, text in completions().items() if path.read_text('utf-8') != text]\n"
        "assert not wrong, f'the options have changed: run scripts/completions ({wrong})'\n"
    )
    assert modules(script)
