"""Pages whose files, commands and code are run, and whose output is compared.

On a page, in order and in one folder:

* a block after ``<!-- file: NAME -->`` is written to that file;
* a ``console`` block holds commands, each followed by what it prints;
* a ``python`` block is run; what it prints is the block after ``<!-- prints -->``, or nothing.

A line of dots stands for any number of lines. ``python tests/snippets.py PAGE…`` writes what
snippets print now into the pages; read the difference before you keep it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from showthrough.cli import main
from spark_cluster import LIGHT

BLOCK = re.compile(
    r"^(?:<!-- (?:file: (?P<file>[\w./-]+)|(?P<prints>prints)) -->\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
COMMAND = re.compile(r"^\$ ", re.M)
DOTS = "..."


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, its place, and what it is on the page."""

    kind: str
    text: str
    start: int
    end: int
    file: str | None = None
    prints: bool = False

    @property
    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command of a console block, as typed, with the lines it is said to print."""
        found: list[tuple[str, list[str]]] = []
        for part in COMMAND.split(self.text)[1:]:
            shown = part.splitlines()
            typed = [shown.pop(0)]
            while typed[-1].endswith("\\"):
                typed.append(shown.pop(0))
            found.append(("\n".join(typed), shown))
        return found


def blocks_of(page: str) -> list[Block]:
    """All fenced blocks of a page."""
    return [
        Block(
            found["kind"],
            found["text"],
            found.start("text"),
            found.end("text"),
            found["file"],
            bool(found["prints"]),
        )
        for found in BLOCK.finditer(page)
    ]


@dataclass(frozen=True)
class Output:
    """What a snippet is said to print and what it prints, and where on the page the former stands."""

    snippet: str
    shown: list[str]
    real: list[str]
    block: Block | None

    @property
    def agrees(self) -> bool:
        """Whether it prints what is shown."""
        return agrees(self.shown, self.real)


@dataclass
class Run:
    """A page being run in the current folder."""

    page: str
    name: str
    names: dict[str, object] = field(default_factory=dict[str, object])
    code: int = 0

    def outputs(self) -> Iterator[Output]:
        """Everything on the page, done in order."""
        blocks = blocks_of(self.page)
        for at, block in enumerate(blocks):
            after = blocks[at + 1] if at + 1 < len(blocks) else None
            if block.file is not None:
                write(Path(block.file), block.text)
            elif block.kind == "console":
                for command, shown in block.commands:
                    yield Output(f"$ {command}", shown, self.command(command), block)
            elif block.kind == "python":
                printed = after if after is not None and after.prints else None
                shown = printed.text.splitlines() if printed else []
                yield Output(block.text, shown, self.python(block), printed)

    def command(self, command: str) -> list[str]:
        """What a command prints on both streams."""
        name, *arguments = shlex.split(command.replace("\\\n", " "))
        if command == "echo $?":
            return [str(self.code)]
        if name == "python":
            return self.elsewhere(arguments)
        if name not in ("showthrough", "scripts/demo"):
            raise ValueError(f"{self.name}: pages run showthrough and Python only, not {name}")
        if "--engine" in arguments:
            return self.elsewhere(["-m", "showthrough.cli", *arguments])
        with captured() as stream:
            self.code = main(arguments if name == "showthrough" else ["demo", *arguments])
        return lines(stream.getvalue())

    def elsewhere(self, arguments: list[str]) -> list[str]:
        """What Python prints in a process of its own, as Java asks for, and other engines."""
        done = subprocess.run(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # Spark's own notes differ from machine to machine
            env={**os.environ, **LIGHT, "PYSPARK_PYTHON": sys.executable},
            text=True,
            timeout=300,
            check=False,
        )
        self.code = done.returncode
        return lines(done.stdout)

    def python(self, block: Block) -> list[str]:
        """What code prints; blocks of a page share their names."""
        above = self.page[: block.start].count("\n")
        with captured() as stream:
            exec(compile("\n" * above + block.text, self.name, "exec"), self.names)  # noqa: S102
        return lines(stream.getvalue())


@contextlib.contextmanager
def captured() -> Generator[io.StringIO]:
    """Both streams in one."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream


def lines(printed: str) -> list[str]:
    """What was printed, without blanks at the ends of lines and without where the folder is."""
    return [line.rstrip() for line in printed.replace(f"{Path.cwd()}{os.sep}", "").splitlines()]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def agrees(shown: list[str], real: list[str]) -> bool:
    """Whether the lines are the same; a line of dots stands for any number of lines.

    >>> agrees(["a", "...", "d"], ["a", "b", "c", "d"]), agrees(["a", "..."], ["b"])
    (True, False)
    """
    while shown and not shown[-1]:
        shown = shown[:-1]
    pattern = "".join("(?:.*\n)*?" if line == DOTS else re.escape(f"{line}\n") for line in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in real)) is not None


def refreshed(page: str, name: str) -> str:
    """The page with what its snippets print now. Output with dots is left to people."""
    texts: dict[int, tuple[Block, str]] = {}
    for output in Run(page, name).outputs():
        block = output.block
        if block is None:
            continue
        kept = output.shown if output.agrees or DOTS in output.shown else output.real
        before = texts[block.start][1] if block.start in texts else ""
        typed = f"{output.snippet}\n" if block.kind == "console" else ""
        texts[block.start] = block, before + typed + "".join(f"{line}\n" for line in kept)
    for block, text in sorted(texts.values(), key=lambda found: -found[0].start):
        page = page[: block.start] + text + page[block.end :]
    return page


if __name__ == "__main__":
    for path in [Path(argument).resolve() for argument in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            path.write_text(refreshed(path.read_text("utf-8"), path.name), "utf-8")
        os.write(1, f"{path.name}\n".encode())
