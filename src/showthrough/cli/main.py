"""Run a command and turn whatever happens into one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from cyclopts import CycloptsError

from showthrough.cli import attack, audit, census, completion, protect, publish, report
from showthrough.cli.app import app
from showthrough.cli.terminal import Terminal
from showthrough.errors import InputError, ShowthroughError, Undecided, nearest

__all__ = ["main"]

#: Importing a module adds its commands.
COMMANDS = (audit, census, publish, attack, protect, report, completion)

#: Longer names are those of no file: asking for them is an error of its own.
MOST_OF_A_PATH = 255


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
    if isinstance(error, InputError):
        return f"{error}{_meant_file(error)}"
    if isinstance(error, ShowthroughError):
        return str(error)
    # An unfinished list of commands says less than the help does.
    text = re.sub(r" Available commands: [^.]*(\.\.\.)$", "", " ".join(str(error).split())).rstrip(".")
    command = " ".join(["showthrough", *(error.command_chain or ())])
    return f"{text[:1].lower()}{text[1:]}{'' if text.endswith('?') else ';'} see {command} --help"


def _meant_file(error: InputError) -> str:
    """The file or folder that somebody who names one that is not there may have meant."""
    named = Path(error.file or "--")
    if error.found is not None or error.column is not None or str(named).startswith("-"):
        return ""  # it is about something in the file, or no file at all
    if len(str(named)) > MOST_OF_A_PATH or named.exists() or not named.parent.is_dir():
        return ""
    near = nearest(named.name, (there.name for there in named.parent.iterdir()))
    return "" if near is None else f"; did you mean {str(named.with_name(near))!r}?"
