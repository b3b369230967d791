"""The README does what it says: its files, commands, outputs and code are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import Run, blocks_of

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")


def test_the_readme_has_what_the_tests_look_for() -> None:
    blocks = blocks_of(README)
    kinds = [block.kind for block in blocks]
    assert kinds.count("console") >= 4
    assert "python" in kinds
    assert {"people.csv", "schema.toml", "release.toml", "counts.csv"} <= {b.file for b in blocks}
    assert README.index("scripts/demo") < 1200
    assert README.index("scripts/test") < 1200


def test_commands_print_what_is_shown_and_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order and in one folder, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    for output in Run(README, "README.md").outputs():
        assert output.agrees, f"{output.snippet}\n" + "\n".join(output.real)
