"""The application: its commands by journey, loaded as they are called, and completion in shells."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal, get_args

from cyclopts import App, Group, Parameter

from showthrough import __version__
from showthrough.cli.terminal import Terminal

__all__ = [
    "AUDIT",
    "BLOCKS",
    "CLOSER",
    "JOURNEYS",
    "OTHER",
    "app",
    "completions",
    "load",
    "write_completions",
]

#: The modules of commands, with the commands that importing them adds.
JOURNEYS = {
    "audit": ("audit", "schema"),
    "closer": ("bounds", "recover", "worlds"),
    "demo": ("demo",),
    "likely": ("likely", "prior"),
    "census": ("census", "simulate"),
    "publish": ("publish",),
    "count": ("count",),
    "check": ("check",),
    "compare": ("compare",),
    "attack": ("attack",),
    "advise": ("advise", "perturb"),
    "import_": ("import",),
    "protect": ("protect",),
    "results": ("export", "report", "verify"),
}

EXAMPLES = """Examples:

  showthrough demo
  showthrough audit people.csv --tables "age*sex" --tables sex --out run/
  showthrough import tables.xlsx --out release/
  showthrough audit release/release.toml --out run/
  showthrough recover release/release.toml
  showthrough bounds run/ --where "age=25-34,tenure=rented"
  showthrough verify run/
  showthrough report run/ --html page.html
  showthrough protect people.csv --tables "age*sex" --forbid singletons \\
      --out safe/
  showthrough publish people.csv --sensitive job --rho 0.3:0.6 --out public/
  showthrough count public/ --where "age=old,job=clerk"
  showthrough attack noisy.csv --column income --noise uniform:125 --out run/

Exit codes: 0 nothing found, 1 something shows through (or a proof fails),
2 bad input, 3 nothing found but something is undecided, 70 a fault in
showthrough, 130 interrupted, 143 terminated."""

COMPLETION_HELP = """Add the line for your shell to its startup file, such as ~/.bashrc or ~/.zshrc.

Examples:

  eval "$(showthrough completion bash)"
  eval "$(showthrough completion zsh)"
  showthrough completion fish > ~/.config/fish/completions/showthrough.fish"""

AUDIT = Group("Audit", sort_key=1)
CLOSER = Group("Look closer", sort_key=2)
BLOCKS = Group("Census blocks", sort_key=2)
OTHER = Group("Other", sort_key=4)

Shell = Literal["bash", "zsh", "fish"]

app = App(
    name="showthrough",
    help="Show what a data release gives away, with proof, and make releases that do not.",
    help_epilogue=EXAMPLES,
    help_format="plaintext",
    version=__version__,
    version_format="plaintext",
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=False),
    group_commands=OTHER,
)


def load(arguments: Sequence[str] = ()) -> App:
    """The application with the command that is called; with all of them if none is."""
    called = arguments[0] if arguments else ""
    named = [module for module, commands in JOURNEYS.items() if called in commands]
    for module in named or ([] if called == "completion" else JOURNEYS):
        import_module(f"showthrough.cli.{module}")
    return app


@app.command(group=OTHER, help_epilogue=COMPLETION_HELP)
def completion(
    shell: Annotated[Shell, Parameter(help="Your shell.")],
) -> int:
    """Print a script that completes commands, options and choices in a shell."""
    Terminal().data(_script(shell).read_text("utf-8"))
    return 0


def completions() -> dict[Path, str]:
    """What shells need to complete commands and options, as files of this package."""
    load()
    shells: tuple[Shell, ...] = get_args(Shell)
    return {_script(shell): app.generate_completion(shell=shell).rstrip("\n") + "\n" for shell in shells}


def write_completions() -> None:
    """Write them, after a change of commands or options."""
    for path, text in completions().items():
        path.write_text(text, "utf-8")


def _script(shell: Shell) -> Path:
    """A shell's script, made beforehand because every new shell asks for it."""
    return Path(__file__).with_name("completions") / f"showthrough.{shell}"
