"""What is written on the command line: it means what it says, and reads back the same."""

from __future__ import annotations

import contextlib
import io
import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind, attempt, check_words
from showthrough.cli import main
from showthrough.cli.attack import Noisy
from showthrough.cli.compare import read_shares, read_sweeps
from showthrough.cli.options import spread
from showthrough.cli.promises import listed
from showthrough.formats.policy_file import read_mark
from showthrough.formula import formula_attributes
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.numbers.noise import parse_noise
from showthrough.release import make_table
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.protect.change import parse_moves
from showthrough.tables.protect.policy import parse_forbidden

__all__ = ["KINDS"]

MARKS = (
    ",", "=", "|", '"', "'", "\\", "*", "×", ":", "<", ">=", "≥", "-", "–", "+", ".", "/", " ", "\t",
    "\n", "\x00", "(", ")", "1", "0", "9" * 20, "9" * 5000, "１２", "²", "−3", "1e5", "1e999", "nan",
    "inf", "0.5", "1/0", "1/3", "é", "\ud800", "\u202e", "#", "x" * 300, "sex", "age", "total", "k",
    "singletons", "\\u0041", '"a,b"', '"a\\"b"', '""', "=1", "==", "||", "null", "_", "%",
)  # fmt: skip


@cache
def _schema() -> Schema:
    return Schema.of({"sex": ["f", "m"], "age": ["0-17", "18+"], "a,b": ["x|y", "="], "job": ["", "clerk"]})


def _selection(text: str) -> object:
    selection = Selection.parse(text)
    if Selection.parse(str(selection)) != selection:
        raise Fault(f"{text!r} reads back as {Selection.parse(str(selection))!r}, not {selection!r}")
    if Selection.from_json(selection.to_json()) != selection:
        raise Fault(f"{text!r} comes back from JSON as something else")
    return attempt(lambda: _schema().check_selection(selection))


def _formula(text: str) -> object:
    names = formula_attributes(text)
    if names and formula_attributes("*".join(names)) != names:
        raise Fault(f"{text!r} reads back as {formula_attributes('*'.join(names))}")
    return attempt(lambda: make_table(_schema(), text, totals=True))


def _noise(text: str) -> object:
    noise = parse_noise(text)
    if not str(noise):
        raise Fault("no words for the noise")
    return attempt(lambda: parse_noise(str(noise)))


def _forbidden(text: str) -> object:
    found = parse_forbidden(text)
    again = attempt(lambda: parse_forbidden(str(found)))
    if str(found) != "any" and again.value != found and found.baseline == found.baseline:
        raise Fault(f"{text!r} reads back as {again.value or again.words}, not {found}")
    return attempt(lambda: found.check(_schema()))


def _finite(numbers: Any) -> Any:
    if not all(math.isfinite(number) for number in numbers):
        raise Fault(f"not finite: {numbers}")
    return numbers


READERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "selection": (_selection, ("age=0-17|18+,sex=f", '"a,b"="x|y"', "", "job=", 'sex="f"')),
    "formula": (_formula, ("sex*age", "total", "sex × age", "", "sex")),
    "noise": (_noise, ("uniform:125", "gaussian:sd=2.8", "gaussian:variance=8", "laplace:20", "Uniform: 3")),
    "rho": (RhoPrivacy.parse, ("0.1:0.5", "1/4:0.5", "0.2:1/3")),
    "reconstruction": (ReconstructionPrivacy.parse, ("0.3:0.3", "1/4:0.5")),
    "diversity": (LDiversity.parse, ("2", "3", "10")),
    "forbid": (
        _forbidden,
        ("singletons,k>=5", "multiplicity<=3", "groups", "baseline<0.01,hidden", "sensitive=sex|age"),
    ),
    "moves": (parse_moves, ("suppress,round:5,merge,drop", "drop", "round:3")),
    "mark": (read_mark, ("unknown", "<5", "1-4", "0")),
    "sweep": (lambda text: read_sweeps([text]), ("retention=0.1,0.3", "l=2,4")),
    "shares": (lambda text: _finite(read_shares(text)), ("0.1,0.5,1", "5")),
    "multiplicity": (spread, ("1", "1-3", "2–5")),
    "privacy": (lambda text: _finite(Noisy(privacy=text).shares), ("35,50", "80")),
    "absolute": (lambda text: _finite(Noisy(absolute=text).widths), ("10,20", "3")),
    "ends": (lambda text: Noisy(privacy_columns=text).ends, ("low,high",)),
    "listed": (listed, ("a,b,c", "a, b")),
}


def make(dice: Dice) -> bytes:
    """The name of an option, and its text."""
    name = dice.of(list(READERS))
    text = dice.of(READERS[name][1])
    for _ in range(dice.of((0, 1, 1, 2, 3))):
        at, to = dice.below(len(text) + 1), dice.below(len(text) + 1)
        text = dice.of(
            (
                text[:at] + dice.of(MARKS) + text[at:],
                text[:at] + text[at + 1 :],
                text[: max(at, to)] + text[min(at, to) :],
            )
        )
    return f"{name}\n{text}".encode("utf-8", "surrogatepass")


def check(data: bytes, _: Path) -> str | None:
    """Read one option."""
    name, _, text = data.decode("utf-8", "surrogatepass").partition("\n")
    if name not in READERS:
        return None
    return attempt(lambda: READERS[name][0](text)).words


COMMANDS = (
    "attack --answers 501:420 --laplace 20 --json",
    "attack --answers 501:420 --epsilon 0.1 --delta 1e-6 --json",
    "attack noisy.csv --column x --noise uniform:5 --json",
    "advise noisy.csv --column x --share 0.2 --privacy 50 --draws 1 --json",
    "perturb noisy.csv --column x --noise laplace:3 --seed 1 --out OUT.csv",
    "publish people.csv --sensitive job --rho 0.1:0.5 --seed 1 --out OUT",
    "publish people.csv --sensitive job --diversity 2 --seed 1 --out OUT",
    "publish people.csv --sensitive job --reconstruction 0.3:0.3 --retention 0.5 --seed 1 --out OUT",
    "check people.csv --sensitive job --reconstruction 0.3:0.3 --retention 0.5 --json",
    "compare people.csv --sensitive job --methods uniform --retention 0.5 --runs 1 --queries 3",
    "audit people.csv --tables sex*age --multiplicity 1-2 --max-columns 2 --no-report --workers 1 --out OUT",
    "protect people.csv --tables sex*age --forbid singletons --moves drop --workers 1 --no-report --out OUT",
    "bounds people.csv --tables sex*age --where sex=f,age=young",
    "schema people.csv --out OUT.toml",
    "simulate --blocks 1 --seed 1 --out OUT.parquet",
)
INPUTS = {
    "noisy.csv": "x\n" + "\n".join(str(at * 7 % 13) for at in range(20)) + "\n",
    "people.csv": "sex,age,job\n" + "f,young,clerk\nm,old,baker\nf,old,nurse\nm,young,clerk\n" * 4,
}


def make_call(dice: Dice) -> bytes:
    """A call, a word on each line, with one or two words changed."""
    words = dice.of(COMMANDS).split()
    for _ in range(dice.of((0, 1, 1, 1, 2))):
        at, way = dice.between(1, len(words) - 1), dice.below(6)
        if way == 0:
            del words[at]
        elif way == 1:
            words.insert(
                at, dice.of(("--json", "--quiet", "--overwrite", "-h", "--", "--x", "", *MARKS[:20]))
            )
        elif words[at] not in ("OUT", "OUT.csv", "OUT.toml", "OUT.parquet"):
            cut = dice.below(len(words[at]) + 1)
            words[at] = words[at][:cut] + dice.of(MARKS) + words[at][cut:] if way < 5 else dice.of(MARKS)
        if len(words) < 2:
            break
    return "\n".join(word.replace("\n", " ") for word in words).encode("utf-8", "surrogatepass")


def check_call(data: bytes, folder: Path) -> str | None:
    """A command ends with a code that is in the manual, and one line about what is wrong."""
    words = data.decode("utf-8", "surrogatepass").split("\n")
    for name, text in INPUTS.items():
        if not (folder / name).exists():
            (folder / name).write_text(text, "utf-8")
    clean(folder, keep=tuple(INPUTS))
    return run_command(words, folder)


def clean(folder: Path, *, keep: tuple[str, ...]) -> None:
    """Remove what the call before wrote."""
    import shutil

    for path in folder.iterdir():
        if path.name in keep:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def run_command(words: list[str], folder: Path) -> str | None:
    """Run a command in a folder; None if it worked, else what it said."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as end:
                raise Fault(f"the interpreter was told to end: {end.code}") from None
    finally:
        os.chdir(before)
    said = err.getvalue()
    if code not in (0, 1, 2, 3):
        raise Fault(f"exit code {code}: {said}")
    if "Traceback" in said + out.getvalue():
        raise Fault(f"a traceback: {said}")
    if code != 2:
        return None
    lines = [line for line in said.splitlines() if "error:" in line]
    if len(lines) != 1:
        raise Fault(f"not one line that says what is wrong: {said!r}")
    check_words(lines[0], None)
    return lines[0]


KINDS = (
    Kind("words", make, check, 18),
    Kind("calls", make_call, check_call, 0.1, seconds=60),
)
