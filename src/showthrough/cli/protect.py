"""The command that repairs tables of counts: protect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from showthrough.cli.app import AUDIT, app
from showthrough.cli.audit import Inputs, TableOptions
from showthrough.cli.options import INPUT, SCOPE
from showthrough.cli.protecting import Safely

__all__ = [
    "protect",
]

PROTECT_HELP = """Examples:

  showthrough protect people.csv --tables "age*sex" --tables sex \\
      --forbid singletons --out safe/
  showthrough protect --release release.toml counts.csv --policy policy.toml --out safe/
  showthrough audit --release safe/release.toml safe/counts.csv --out run/

Exit codes: 0 safe, 1 impossible within the policy (the claims that remain are
listed, and nothing is written), 2 bad input, 3 no safe plan found within the effort."""


@app.command(group=AUDIT, help_epilogue=PROTECT_HELP)
def protect(
    data: Annotated[Path | None, Parameter(group=INPUT, help="Microdata, or published counts.")] = None,
    *,
    source: Inputs = None,
    how: Safely,
    area: Annotated[str | None, Parameter(group=SCOPE, help="Only this area.")] = None,
) -> int:
    """Withhold, round or merge as little as possible so that nothing forbidden follows."""
    from showthrough.cli.protect_jobs import protect_subject

    terminal = how.terminal()
    with terminal.step("reading"):
        subject = (source or TableOptions()).read(data)
    return protect_subject(subject, how, terminal, only=area)
