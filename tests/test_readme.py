"""The README does what it says: its files, commands, outputs and code are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from needs import SLOW
from snippets import Output, Run, blocks_of

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")

#: The demonstration as it is shown, one of fewer areas, and what it prints before the most telling findings.
DEMO, FEWER, FINDINGS = "$ scripts/demo", "$ scripts/demo --areas 3", "The most telling of them:"


def test_the_readme_has_what_the_tests_look_for() -> None:
    blocks = blocks_of(README)
    kinds = [block.kind for block in blocks]
    assert kinds.count("console") >= 4
    assert "python" in kinds
    assert {"people.csv", "schema.toml", "release.toml", "counts.csv"} <= {b.file for b in blocks}
    assert README.index("scripts/demo") < 1200
    assert README.index("scripts/test") < 1200


def test_commands_print_what_is_shown_and_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order and in one folder, as a reader would type them.

    The county of the demonstration is smaller unless slow tests are asked for, and its numbers are others.
    """
    monkeypatch.chdir(tmp_path)
    for output in Run(README if SLOW else README.replace(DEMO, FEWER), "README.md").outputs():
        same = is_alike(output) if output.snippet == FEWER else output.agrees
        assert same, f"{output.snippet}\n" + "\n".join(output.real)


def is_alike(output: Output) -> bool:
    """Whether the same is printed but for numbers and findings."""
    (shown, *findings), (real, *others) = (
        re.sub(r"\d[\d,]*", "1", " ".join(" ".join(lines).split())).split(FINDINGS)
        for lines in (output.shown, output.real)
    )
    return bool(findings and others) and shown == real and output.shown[-1] == output.real[-1]


@pytest.mark.parametrize(
    ("real", "alike"),
    [
        (["25 households.", FINDINGS, "- another", "Now open it."], True),
        (["25 homes.", FINDINGS, "- another", "Now open it."], False),
        (["25 households.", "Now open it."], False),
        (["25 households.", FINDINGS, "- another", "Open it."], False),
    ],
)
def test_other_words_of_the_demonstration_are_found(real: list[str], alike: bool) -> None:
    shown = ["1,565 households.", FINDINGS, "- what is found", "...", "Now open it."]
    assert is_alike(Output(FEWER, shown, real, None)) is alike
