"""What people see: sentences, small tables and progress, on a terminal or in a file."""

from __future__ import annotations

import io
import json
import math
import re
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from showthrough.errors import brief
from showthrough.text import escape_control

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

__all__ = [
    "SHOWN_AS",
    "Terminal",
    "Watched",
]

#: Lines are no longer than this where the output is no terminal.
WIDTH = 80

#: The longest word, the longest text and the longest cell of a table that are shown whole.
WORD, TEXT, CELL = 300, 20_000, 2_000

#: A space at which no line is broken, and what stands for it while lines are broken.
NO_BREAK, JOINT = "\xa0", "\ue000"

#: A number, which is not broken, and what stands flush right in a column of numbers.
NUMBER = re.compile(rf"[-+−–≥≤<>~]?[\s{JOINT}]?[\d.,]*( ± [\d.,]+)?[\s{JOINT}]?%?")
FLUSH_RIGHT = re.compile(f"(?:under |over )?{NUMBER.pattern}")

#: Spaces between the columns of a table, and the longest word that is not broken there.
GAP, LONGEST = 3, 24


#: Paths of this machine that stand for something elsewhere, and what the user calls it.
SHOWN_AS: dict[str, str] = {}


class Terminal:
    """Prints for people, or one JSON object for machines, or (quiet) nothing but errors.

    Verbose, it also says on the error stream what is being done and how long that took.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self.as_json, self.verbose = as_json, verbose
        self.silent = as_json or quiet
        self.out, self.err = _console(sys.stdout), _console(sys.stderr)

    def say(self, text: str = "", *, indent: int = 0, hang: int = 0, style: str = "") -> None:
        """A paragraph, wrapped; lines after the first are indented ``hang`` more."""
        if self.silent:
            return
        width = self.out.width - indent - hang
        joined = _shown(text).replace(NO_BREAK, JOINT)  # otherwise lines would be broken there
        for number, line in enumerate(Text(joined).wrap(self.out, width) or [Text()]):
            before = " " * (indent + (hang if number else 0))
            shown = line.plain.rstrip().replace(JOINT, NO_BREAK)
            self.out.print(Text(before + shown if shown else "", style), soft_wrap=True)

    def line(self, text: str, *, indent: int = 0) -> None:
        """One line, however long: arithmetic and commands are not to be broken."""
        if not self.silent:
            self.out.print(Text(" " * indent + _shown(text)), soft_wrap=True)

    def table(self, rows: Sequence[Sequence[str]], *, indent: int = 2, gap: int = GAP) -> None:
        """Columns side by side, numbers flush right, wrapped to fit the terminal.

        Where they do not fit, the rest follows below, with the first column again.
        """
        if self.silent or not rows:
            return
        shown = [[_shown(text, CELL).replace(NO_BREAK, JOINT) for text in row] for row in rows]
        columns = list(zip(*shown, strict=True))
        narrow = [max(_narrowest(text) for text in column) for column in columns]
        for number, part in enumerate(_parts(narrow, self.out.width - indent)):
            if number:
                self.say()
            self._draw([columns[at] for at in part], [narrow[at] for at in part], indent, gap)

    def _draw(self, columns: Sequence[Sequence[str]], narrow: list[int], indent: int, gap: int) -> None:
        """A table, column by column, each at least this wide."""
        from rich.padding import Padding
        from rich.table import Table

        gap = self._gap(columns, narrow, indent, gap)
        if indent + sum(narrow) + gap * (len(narrow) - 1) > self.out.width:
            narrow = [max(_narrowest(text, whole=False) for text in column) for column in columns]
        room, widths = self.out.width - indent - gap * (len(narrow) - 1), narrow
        for first in (1, 0):  # what stands below the heads has the room before them
            wanted = [max((Text(text).cell_len for text in column[first:]), default=0) for column in columns]
            widths = _fitted(widths, wanted, room)
        grid = Table.grid(padding=(0, gap, 0, 0), pad_edge=False)
        for column, width in zip(columns, widths, strict=True):
            figures = all(any(map(str.isdigit, text)) for text in column[1:])
            right = (column is columns[-1] and figures) or all(FLUSH_RIGHT.fullmatch(t) for t in column[1:])
            grid.add_column(justify="right" if right else "left", overflow="fold", width=width)
        for row in zip(*columns, strict=True):
            grid.add_row(*(Text(text) for text in row))
        drawn = io.StringIO()
        wide = indent + sum(widths) + gap * len(widths)
        Console(file=drawn, width=wide, color_system=None).print(
            Padding(grid, (0, 0, 0, indent), expand=False)
        )
        for line in drawn.getvalue().splitlines():
            self.out.print(Text(line.rstrip().replace(JOINT, NO_BREAK)), soft_wrap=True)

    def _gap(self, columns: Sequence[Sequence[str]], narrow: list[int], indent: int, gap: int) -> int:
        """The space between columns: smaller if what stands below the heads would not fit otherwise."""
        below = [max((Text(text).cell_len for text in column[1:]), default=0) for column in columns]
        for widths in (list(map(max, below, narrow)), narrow):
            room = self.out.width - indent - sum(widths)
            if room >= len(widths) - 1:
                return min(gap, room // max(1, len(widths) - 1))
        return 1

    def files(self, folder: Path, contents: Mapping[str, str]) -> None:
        """What was written to a folder: its files and what they hold."""
        self.say()
        self.say(f"Written to {folder}/:")
        for name, content in contents.items():
            self.line(f"{name:18} {content}", indent=2)

    def note(self, text: str) -> None:
        """Something worth knowing, beside the result."""
        if not self.silent:
            self.err.print(Text(f"note: {escape_control(brief(_named(text)))}", "yellow"), soft_wrap=True)

    @contextmanager
    def step(self, what: str) -> Generator[None]:
        """A part of the work, told when it begins and when it is done."""
        began = time.perf_counter()
        self.detail(f"{what} …")
        yield
        self.detail(f"{what}: {time.perf_counter() - began:.1f} s")

    def detail(self, text: str) -> None:
        """Something for those who asked for more."""
        if self.verbose:
            self.err.print(Text(escape_control(text), "dim"), soft_wrap=True)

    def error(self, text: str) -> None:
        """What went wrong, on one line; for machines also as JSON."""
        short = brief(_named(text))
        self.err.print(Text(f"error: {escape_control(short)}", "red"), soft_wrap=True)
        if self.as_json:
            self.json({"error": short})

    def json(self, content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """The result for machines."""
        text = json.dumps(content, indent=1, ensure_ascii=False)
        self.data(text + "\n")

    def data(self, text: str) -> None:
        """JSON or TOML as it is; unsafe characters as escapes that mean the same in both."""
        lines = _named(text).split("\n")[:-1]
        self.out.file.write("".join(f"{escape_control(line)}\n" for line in lines))
        self.out.file.flush()

    @contextmanager
    def progress(self, what: str, total: int | None) -> Generator[Watched | Unwatched]:
        """A bar with rate and time left while something runs; nothing where nobody watches."""
        if self.silent or not self.err.is_terminal:
            yield Unwatched()
            return
        with _bar(self.err) as bar:
            yield Watched(bar, bar.add_task(what, total=total))


class Watched:
    """Progress that somebody watches: how much is done, and how much of it since the bar appeared.

    The rate is that of the whole time until the last step. A rate between two steps would be far off
    where several processes finish at about the same time, or where an earlier run had done a part.
    """

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self.bar, self.task = bar, task
        self.began, self.worked = bar.get_time(), 0

    def __call__(self, done: int) -> None:
        """So many more are done."""
        self.worked += done
        seconds = self.bar.get_time() - self.began
        rate = self.worked / seconds if seconds > 0 else 0.0
        self.bar.update(self.task, advance=done, rate=rate)

    def tell(self, text: str) -> None:
        """What is being done, from now on."""
        self.bar.update(self.task, description=text)

    def resumed(self, done: int) -> None:
        """So many were done before."""
        self.bar.advance(self.task, done)


def _named(text: str) -> str:
    """Text in which places have the names that the user gave them."""
    for path, name in SHOWN_AS.items():
        text = text.replace(path, name)
    return text


def _shown(text: str, most: int = TEXT) -> str:
    """Text in which foreign names may stand; none of them is endless."""
    text = _named(text)
    if len(text) <= min(WORD, most) and text.isprintable():
        return text  # nothing to cut, nothing to escape
    return escape_control(brief(text, most, word=WORD))


class Unwatched:
    """Progress that nobody watches."""

    def __call__(self, done: int) -> None:
        """Nothing is shown."""

    def tell(self, text: str) -> None:
        """Nothing is shown."""

    def resumed(self, done: int) -> None:
        """Nothing is shown."""


class _Console(Console):
    """A console that leaves it to the command how to end when nobody reads on."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(stream: Any) -> Console:
    console = _Console(file=stream, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def _bar(console: Console) -> Progress:
    """A bar with rate and time left, gone when the work is done."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
    )

    class Rate(ProgressColumn):
        """How many a second, and the time that the rest will take."""

        def render(self, task: Task) -> Text:
            return Text(_pace(task.fields.get("rate", 0.0), task.remaining), "dim")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        console=console,
        transient=True,
    )


def _pace(rate: float, left: float | None) -> str:
    """A rate and, where the number is known, the time left.

    >>> _pace(12.34, 1000), _pace(0.05, 3600), _pace(3.0, None), _pace(0.0, 7)
    ('12.3/s, 1:22 left', '3.0/min, 20:00:00 left', '3.0/s', '')
    """
    if not rate:
        return ""
    pace = f"{rate:,.1f}/s" if rate >= 1 else f"{rate * 60:,.1f}/min"
    if not left:
        return pace
    minutes, seconds = divmod(math.ceil(left / rate), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{pace}, {f'{hours}:{minutes:02}' if hours else minutes}:{seconds:02} left"


def _fitted(narrow: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """Widths of columns between the least and what they would like.

    Those that lack least are served first, the others share what is left.

    >>> _fitted([3, 4], [10, 4], 12), _fitted([3, 4], [30, 40], 17), _fitted([9, 9], [9, 20], 10)
    ([8, 4], [8, 9], [9, 9])
    """
    widths, left = list(narrow), max(0, room - sum(narrow))
    order = sorted(range(len(widths)), key=lambda at: natural[at] - narrow[at])
    for served, at in enumerate(order):
        lacking = max(0, natural[at] - narrow[at])
        given = lacking if lacking <= left else left // (len(order) - served)
        widths[at] += given
        left -= given
    return widths


def _parts(narrow: Sequence[int], room: int) -> list[list[int]]:
    """The columns that fit side by side with a space between them, two at least; each part has the first.

    >>> _parts([4, 5, 5, 5], 22), _parts([4, 5, 5, 5], 21), _parts([9, 9], 5)
    ([[0, 1, 2, 3]], [[0, 1, 2], [0, 3]], [[0, 1]])
    """
    parts = [[0]]
    for at in range(1, len(narrow)):
        wide = sum(narrow[one] + 1 for one in (*parts[-1], at)) - 1
        if wide > room and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(at)
    return parts


def _narrowest(text: str, *, whole: bool = True) -> int:
    """The least width of a cell: numbers stay whole, and so do words unless they are very long."""
    parts = [text] if whole and NUMBER.fullmatch(text) else text.split()
    return min(LONGEST, max((Text(part).cell_len for part in parts), default=0))
