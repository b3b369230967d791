"""Run a command and turn whatever happens into one line and an exit code."""

from __future__ import annotations

# What a command needs is imported once interruptions are in good hands.
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from showthrough.cli.interrupts import Interrupts

__all__ = [
    "main",
]

#: The exit code where nobody reads the output to its end, as if by the signal for that.
UNREAD = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    The exit code is 0, 1, 2 or 3, or 70 for a fault in showthrough; 130 when interrupted, 143 when
    terminated, 141 when nobody reads the output.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    interrupts = Interrupts("; the same command resumes" if "audit" in given[:2] else "")
    try:
        interrupts.listen()
        return _run(given, interrupts)
    except KeyboardInterrupt:
        return interrupts.tell(lambda text: _complain(given, text))
    finally:
        interrupts.rest(last=arguments is None)


def _run(given: list[str], interrupts: Interrupts) -> int:
    try:
        from showthrough.cli.commands import app

        with _limits(given):
            return app(given, exit_on_error=False, print_error=False) or 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except Exception as error:
        if interrupts.came or type(error).__name__ == "ArrowCancelled":
            raise KeyboardInterrupt from error  # some libraries make an error of their own of it
        return _failed(given, error)


def _limits(given: list[str]) -> AbstractContextManager[None]:
    """What input may ask of this machine, as far as the call says."""
    if "--no-limits" not in given:
        return nullcontext()
    from showthrough.files import lifted_limits

    return lifted_limits()


def _failed(given: list[str], error: Exception) -> int:
    from showthrough.cli.faults import FAULT, explain

    text, code = explain(error)
    if code == FAULT and "--verbose" in given:
        _trace(error)
    _complain(given, text)
    return code


def _trace(error: Exception) -> None:
    import traceback

    from showthrough.cli.terminal import Terminal

    terminal = Terminal(verbose=True)
    for line in "".join(traceback.format_exception(error)).splitlines():
        terminal.detail(line)


def _complain(given: list[str], text: str) -> None:
    from showthrough.cli.terminal import Terminal

    Terminal(as_json="--json" in given).error(text)
