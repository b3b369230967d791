"""Browsers and Java: found by one rule, installed where that may be, and never silently missed by CI."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import needs

ROOT = Path(__file__).resolve().parents[1]


class Machine:
    """A machine with some programs, which write down how they are called."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.log = folder / "programs", folder / "log"
        self.programs.mkdir()
        self.log.touch()
        for name in ("bash", "env", "dirname", "id", "timeout"):
            (self.programs / name).symlink_to(f"/usr/bin/{name}")

    def add(self, name: str, script: str = "") -> None:
        """A program that does so much and no more."""
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f'#!/bin/bash\necho "{name} $*" >>{self.log}\n{script}\n', "utf-8")
        path.chmod(0o755)

    def adds(self, name: str) -> str:
        """The line of a script that installs a program."""
        return f"printf '#!/bin/bash\\n' >{self.programs}/{name}; /bin/chmod +x {self.programs}/{name}"

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a copy of one of our scripts; the Python in it cannot download anything."""
        place = self.programs.parent / "copy"
        (place / "scripts").mkdir(parents=True, exist_ok=True)
        (place / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
        python = place / ".venv" / "bin" / "python"
        python.write_text(f'#!/bin/bash\necho "python $*" >>{self.log}\nexit 1\n', "utf-8")
        python.chmod(0o755)
        for name in ("browser", "test"):
            copy = place / "scripts" / name
            copy.write_bytes((ROOT / "scripts" / name).read_bytes())
            copy.chmod(0o755)
        (place / "scripts" / "check").write_text("#!/bin/bash\n", "utf-8")
        (place / "scripts" / "check").chmod(0o755)
        known = {"PATH": str(self.programs), **environment}
        return subprocess.run(
            [str(place / "scripts" / script)], env=known, capture_output=True, text=True, check=False
        )

    def calls(self) -> list[str]:
        """What was called, without paths."""
        return [re.sub(r"\S*/", "", line) for line in self.log.read_text("utf-8").splitlines()]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if not Path("/usr/bin/bash").exists():
        pytest.skip("bash is elsewhere")
    return Machine(tmp_path)


class TestScript:
    @pytest.mark.parametrize("name", needs.NAMES)
    def test_a_browser_on_the_path(self, machine: Machine, name: str) -> None:
        machine.add(name)
        assert machine.run("browser", CI="true").returncode == 0
        assert machine.calls() == []

    def test_a_browser_that_is_named(self, machine: Machine, tmp_path: Path) -> None:
        machine.add("mine")
        assert machine.run("browser", CI="true", CHROMIUM=str(tmp_path / "programs" / "mine")).returncode == 0
        assert machine.calls() == []

    def test_root_installs_debians(self, machine: Machine) -> None:
        machine.add("id", "echo 0")
        machine.add("apt-get", f"[[ $* == *install* ]] && {machine.adds('chromium')}; true")
        assert machine.run("browser", CI="true").returncode == 0
        assert machine.calls()[1:] == [
            "apt-get -q update",
            "id -u",
            "apt-get -q install -y --no-install-recommends chromium",
        ]

    def test_root_installs_fedoras(self, machine: Machine) -> None:
        machine.add("id", "echo 0")
        machine.add("dnf", machine.adds("chromium-browser"))
        assert machine.run("browser", CI="true").returncode == 0
        assert machine.calls() == ["id -u", "dnf -q install -y chromium"]

    def test_others_ask_for_nothing(self, machine: Machine) -> None:
        """With sudo only where that works without a password; then Playwright's, and the end."""
        machine.add("id", "echo 1000")
        machine.add("apt-get", "exit 1")
        machine.add("sudo", "exit 1")
        done = machine.run("browser")
        assert done.returncode == 0
        assert done.stderr == "cannot install Chromium: the tests of pages in a browser are skipped\n"
        assert "sudo -n apt-get -q update" in machine.calls()
        assert machine.calls()[-1] == "python -m playwright install chromium"

    def test_without_a_browser_ci_fails(self, machine: Machine) -> None:
        done = machine.run("browser", CI="true")
        assert done.returncode == 1
        assert done.stderr == "cannot install Chromium; CI is set, so the tests of pages must run\n"

    def test_without_java_ci_fails_at_once(self, machine: Machine) -> None:
        done = machine.run("test", CI="true")
        assert done.returncode == 1
        assert done.stderr.startswith("Java is missing; CI is set")
        assert machine.calls() == []
        machine.add("java")
        machine.add("chromium")
        machine.run("test", CI="true")
        assert machine.calls() == ["python -m pytest -n 2 --dist loadfile --no-loadscope-reorder"]


class TestTests:
    def test_they_look_where_the_script_looks(self) -> None:
        script = (ROOT / "scripts" / "browser").read_text("utf-8")
        listed = re.search(r'for name in "\$\{CHROMIUM:-\}" (.*); do', script)
        assert listed is not None
        assert tuple(listed[1].split()) == needs.NAMES

    def test_the_named_one_comes_first(
        self, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path / "programs"))
        monkeypatch.delenv("CHROMIUM", raising=False)
        assert needs.find_browser() is None
        machine.add("chromium")
        machine.add("mine")
        assert needs.find_browser() == str(tmp_path / "programs" / "chromium")
        monkeypatch.setenv("CHROMIUM", "mine")
        assert needs.find_browser() == str(tmp_path / "programs" / "mine")
        monkeypatch.setenv("CHROMIUM", "nowhere")
        assert needs.find_browser() == str(tmp_path / "programs" / "chromium")

    @pytest.mark.parametrize("ci", ["", "true"])
    def test_something_is_wanting(self, monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
        monkeypatch.setitem(os.environ, "CI", ci)
        kind = pytest.fail.Exception if ci else pytest.skip.Exception
        with pytest.raises(kind, match="no Chromium"):
            needs.do_without("no Chromium")
        with pytest.raises(kind, match="no such thing"):
            needs.need_module("no_such_module", "no such thing")
