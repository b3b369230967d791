"""The application that the command modules add their commands to."""

from __future__ import annotations

from cyclopts import App, Group, Parameter

from showthrough import __version__

__all__ = [
    "AUDIT",
    "BLOCKS",
    "CLOSER",
    "OTHER",
    "app",
]

EXAMPLES = """Examples:

  showthrough demo
  showthrough audit people.csv --tables "age*sex" --tables sex --out run/
  showthrough audit --release release.toml counts.csv --by block --out run/
  showthrough bounds run/ --where "age=25-34,tenure=rented"
  showthrough verify run/
  showthrough report run/ --html page.html
  showthrough protect people.csv --tables "age*sex" --forbid singletons --out safe/
  showthrough publish people.csv --sensitive job --rho 0.3:0.6 --out public/
  showthrough count public/ --where "age=old,job=clerk"
  showthrough attack noisy.csv --column income --noise uniform:125 --out run/

Exit codes: 0 nothing found, 1 something shows through (or a proof fails),
2 bad input, 3 nothing found but something is undecided, 70 a fault in
showthrough, 130 interrupted, 143 terminated."""

AUDIT = Group("Audit", sort_key=1)
CLOSER = Group("Look closer", sort_key=2)
BLOCKS = Group("Census blocks", sort_key=2)
OTHER = Group("Other", sort_key=4)

app = App(
    name="showthrough",
    help="What a data release gives away, with proof; and releases that do not.",
    help_epilogue=EXAMPLES,
    help_format="plaintext",
    version=__version__,
    version_format="plaintext",
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=(), show_default=False),
    group_commands=OTHER,
)
