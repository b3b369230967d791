"""Run a command and turn whatever happens into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from showthrough.cli import attack, audit, census, protect, publish, report
from showthrough.cli.app import app
from showthrough.cli.terminal import Terminal
from showthrough.errors import ShowthroughError, Undecided

__all__ = ["main"]

#: Importing a module adds its commands.
COMMANDS = (audit, census, publish, attack, protect, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, 1, 2 or 3 (130 when interrupted)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    terminal = Terminal(as_json="--json" in given)
    try:
        return app(given, exit_on_error=False, print_error=False) or 0
    except Undecided as error:
        terminal.error(f"undecided: {error}")
        return 3
    except (ShowthroughError, CycloptsError) as error:
        terminal.error(_one_line(error))
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        terminal.error(f"{named}{error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        again = "; the same command resumes" if "audit" in given[:2] else ""
        terminal.error(f"interrupted{again}")
        return 130


def _one_line(error: ShowthroughError | CycloptsError) -> str:
    if isinstance(error, ShowthroughError):
        return str(error)
    text = " ".join(str(error).split())
    return f"{text[:1].lower()}{text[1:].rstrip('.')}; see showthrough --help"
