"""The command that prints what a shell needs to complete commands and options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

from cyclopts import Parameter

from showthrough.cli.app import OTHER, app
from showthrough.cli.terminal import Terminal

__all__ = [
    "SHELLS",
    "Shell",
    "completion",
    "script",
]

COMPLETION_HELP = """Put the line for your shell into its start file, ~/.bashrc or ~/.zshrc.

Examples:

  eval "$(showthrough completion bash)"
  eval "$(showthrough completion zsh)"
  showthrough completion fish > ~/.config/fish/completions/showthrough.fish"""

Shell = Literal["bash", "zsh", "fish"]
SHELLS: tuple[Shell, ...] = get_args(Shell)


def script(shell: Shell) -> Path:
    """Where a shell's script is: made beforehand, because every new shell asks for it."""
    return Path(__file__).with_name("completions") / f"showthrough.{shell}"


@app.command(group=OTHER, help_epilogue=COMPLETION_HELP)
def completion(
    shell: Annotated[Shell, Parameter(help="The shell that you use.")],
) -> int:
    """Print a script that completes commands, options and choices in a shell."""
    Terminal().data(script(shell).read_text("utf-8"))
    return 0
