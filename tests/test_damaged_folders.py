"""Folders of results that are not as they were: every reader says so in a line, and none believes them."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from damage import Damage, damages
from result_folders import MADE, READ, make_folder, make_inputs
from showthrough.cli import main

SLOW = os.environ.get("SHOWTHROUGH_SLOW") == "1"

#: Damages of each kind of folder that are tried every time, each with all that reads it.
USUAL = 3

#: Entries of run.json that say nothing about what a run holds, or may as well be null.
HARMLESS = re.compile(
    r"run\.json: (inputs\.\S+ dropped|versions\.\w+ dropped|not_hashed|parameters\.scope\.max_columns = null)"
    r"|timing\.parquet: "
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    make_inputs(folder)
    return folder


def chosen(kind: str, whole: Path) -> Iterator[Damage]:
    """All damages, or some of them."""
    every = list(damages(whole))
    yield from every if SLOW else random.Random(kind).sample(every, min(USUAL, len(every)))  # noqa: S311


@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE)
def test_every_reader_refuses_in_a_line(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    whole = make_folder(kind, place)
    damaged, made = tmp_path / "damaged", tmp_path / "made"
    for damage in chosen(kind, whole):
        for call in READ[kind]:
            shutil.rmtree(tmp_path)
            shutil.copytree(whole, damaged)
            damage.do(damaged / damage.file)
            words = [word.replace("OUT", str(made)) for word in call.split()]
            words = [re.sub("^IN", str(damaged), word) for word in words]
            capsys.readouterr()
            code = main(words)
            check(f"{kind}: {damage}: {call}", call, damage, code, capsys.readouterr().err)


def check(case: str, call: str, damage: Damage, code: int, err: str) -> None:
    assert code in (0, 1, 2, 3), f"{case}: {code}, {err}"
    said = [line for line in err.splitlines() if not line.startswith("note: ")]
    if code == 2:
        assert len(said) == 1, f"{case}: {err}"
        assert re.match("error: .*(damaged|made|contradicts itself)", said[0]), f"{case}: {err}"
    else:
        assert not said, f"{case}: {err}"
    if call.startswith("verify"):
        assert code or HARMLESS.match(str(damage)), case


@pytest.mark.parametrize("kind", MADE)
def test_a_whole_folder_is_read(place: Path, tmp_path: Path, kind: str) -> None:
    """So that what is refused is refused for its damage."""
    whole = place / kind.replace(" ", "-")
    whole = whole if whole.exists() else make_folder(kind, place)
    for number, call in enumerate(READ[kind]):
        words = [word.replace("OUT", str(tmp_path / f"{number}")) for word in call.split()]
        code = main([*(re.sub("^IN", str(whole), word) for word in words), "--quiet"])
        wrong = kind not in ("audit", "census audit") and call.startswith("verify")
        assert code == 2 if wrong else code in (0, 1, 3), call
