"""The application with all its commands: importing a module of commands adds them."""

from __future__ import annotations

from pathlib import Path

from showthrough.cli import attack, audit, census, completion, protect, publish, report
from showthrough.cli.app import app

__all__ = ["MODULES", "app", "completions", "write_completions"]

MODULES = (audit, census, publish, attack, protect, report, completion)


def completions() -> dict[Path, str]:
    """What shells need to complete commands and options, as files of this package."""
    return {
        completion.script(shell): app.generate_completion(shell=shell).rstrip("\n") + "\n"
        for shell in completion.SHELLS
    }


def write_completions() -> None:
    """Write them, after a change of commands or options."""
    for path, text in completions().items():
        path.write_text(text, "utf-8")
