"""The command that prints what a shell needs to complete commands and options."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from showthrough.cli.app import OTHER, app
from showthrough.cli.terminal import Terminal

__all__ = ["completion"]

COMPLETION_HELP = """Put the line for your shell into its start file, ~/.bashrc or ~/.zshrc.

Examples:

  eval "$(showthrough completion bash)"
  eval "$(showthrough completion zsh)"
  showthrough completion fish > ~/.config/fish/completions/showthrough.fish"""


@app.command(group=OTHER, help_epilogue=COMPLETION_HELP)
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell that you use.")],
) -> int:
    """Print a script that completes commands, options and choices in a shell."""
    Terminal().data(app.generate_completion(shell=shell).rstrip("\n") + "\n")
    return 0
