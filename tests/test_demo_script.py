"""The script for newcomers says what it does and how to go on; stand-ins for Python and the command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"

#: A Python that makes an environment of itself, and installs a command that prints what it is called with.
PYTHON = """#!/bin/sh
case "$*" in
    *--version*) echo "Python 3.13.0" ;;
    *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *"-m pip install"*)
        printf '#!/bin/sh\\necho "called with $*"\\nexit "${CODE:-0}"\\n' > .venv/bin/showthrough
        chmod +x .venv/bin/showthrough ;;
    *"import pip"*) test -e .venv/bin/showthrough ;;
esac
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A fresh copy of the project, as far as the scripts need it, in a folder with a space."""
    made = tmp_path / "my project"
    (made / "scripts").mkdir(parents=True)
    for name in ("demo", "env"):
        shutil.copy(SCRIPTS / name, made / "scripts" / name)
    for name in ("pyproject.toml", "constraints.txt"):
        (made / name).touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.13").write_text(PYTHON, "utf-8")
    (tmp_path / "bin" / "python3.13").chmod(0o755)
    return made


def _demo(root: Path, code: int = 0, before: str = "") -> subprocess.CompletedProcess[str]:
    path = f"{before}{root.parent / 'bin'}:/usr/bin:/bin"
    return subprocess.run(
        [root / "scripts" / "demo", "--areas", "2"],
        env={"PATH": path, "CODE": str(code)},
        capture_output=True,
        text=True,
        check=False,
        cwd=root.parent,
    )


def test_a_newcomer_is_told_what_happens_and_how_to_go_on(root: Path) -> None:
    done = _demo(root)
    assert done.returncode == 0
    assert done.stdout == "called with demo --areas 2\n"
    created, installing, empty, named, source = done.stderr.splitlines()
    assert created == f"Creating {root}/.venv with Python 3.13.0 …"
    assert installing.startswith("Installing showthrough and what it needs into .venv")
    assert not empty
    assert named == f"The command is {root}/.venv/bin/showthrough."
    escaped = str(root).replace(" ", "\\ ")
    assert source.endswith(f"run: source {escaped}/.venv/bin/activate")


def test_the_second_time_nothing_is_installed_and_an_active_environment_needs_no_advice(root: Path) -> None:
    _demo(root)
    assert "Installing" not in _demo(root).stderr
    assert _demo(root, before=f"{root}/.venv/bin:").stderr == ""


def test_the_exit_code_is_that_of_the_command(root: Path) -> None:
    done = _demo(root, code=3)
    assert done.returncode == 3
    assert "source" not in done.stderr
