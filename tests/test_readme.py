"""The README does what it says: its files, commands, outputs and code are run."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from showthrough.cli import main

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")
BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>[\w./-]+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the file it is, if any."""

    kind: str
    text: str
    file: str | None


def blocks() -> list[Block]:
    return [Block(found["kind"], found["text"], found["file"]) for found in BLOCK.finditer(README)]


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines it is said to print."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, *shown = part.replace("\\\n", " ").splitlines()
        yield command, shown


def printed(command: str) -> list[str]:
    """What a command prints on both streams."""
    words = shlex.split(command)
    name, arguments = words[0], words[1:]
    assert name in ("showthrough", "scripts/demo"), command
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        main(arguments if name == "showthrough" else ["demo", *arguments])
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def agrees(shown: list[str], real: list[str]) -> bool:
    """Whether the lines are the same; a line of dots stands for any number of lines.

    >>> agrees(["a", "...", "d"], ["a", "b", "c", "d"]), agrees(["a", "..."], ["b"])
    (True, False)
    """
    while shown and not shown[-1]:
        shown = shown[:-1]
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(f"{line}\n") for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in real)) is not None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the README's files, to work in."""
    monkeypatch.chdir(tmp_path)
    for block in blocks():
        if block.file:
            (tmp_path / block.file).write_text(block.text, "utf-8")
    return tmp_path


def test_the_readme_has_what_the_tests_look_for() -> None:
    kinds = [block.kind for block in blocks()]
    assert kinds.count("console") >= 4
    assert "python" in kinds
    assert {"people.csv", "schema.toml", "release.toml", "counts.csv"} <= {b.file for b in blocks()}
    assert README.index("scripts/demo") < 1200
    assert README.index("scripts/test") < 1200


def test_commands_print_what_is_shown(folder: Path) -> None:
    """In order and in one folder, as a reader would type them."""
    assert folder.is_dir()
    for block in blocks():
        for command, shown in commands(block) if block.kind == "console" else ():
            real = printed(command)
            assert agrees(shown, real), f"$ {command}\n" + "\n".join(real)


def test_code_runs(folder: Path) -> None:
    assert folder.is_dir()
    names: dict[str, object] = {}
    for block in blocks():
        if block.kind == "python":
            exec(compile(block.text, "README.md", "exec"), names)  # noqa: S102
