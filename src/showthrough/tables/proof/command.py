"""The checker as a command: what it prints, and its exit codes."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from .failure import Unreadable
from .whole import CheckedRun, check_run

__all__ = [
    "main",
]

ABOUT = """Check every proof and every witness of a run folder.

It checks that the files are those that run.json lists, that every proof proves all claims listed with
it, that every verified or impossible claim has a proof, and that every refuted claim has two datasets
that agree with the counts and disagree on it. It needs Python and NumPy, and nothing else."""

NOT_CHECKED = (
    "Not checked here: that the counts are the published ones; findings, sentences, totals and the page "
    "(showthrough verify)."
)

EXIT_CODES = "exit codes: 0 all of it holds, 1 something does not, 2 a file cannot be read"

#: Problems printed, the longest line, and seconds between two lines about progress.
MOST_PRINTED, LONGEST_LINE, PAUSE = 20, 400, 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a folder, print what was found, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog=f"python {_called()}",
        description=ABOUT,
        epilog=f"{NOT_CHECKED}\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="the run folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    options = parser.parse_args(arguments)
    try:
        found = check_run(options.run, _progress() if sys.stderr.isatty() else None)
    except Unreadable as error:
        _write(f"error: {_shown(str(error))}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    _write(_plain(found) if options.json else _text(found), sys.stdout)
    return 0 if found.holds else 1


def _write(text: str, stream: TextIO) -> None:
    """Print a text, whatever characters the stream can show."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _called() -> str:
    """How the command was called, for the line that says how to."""
    return f"-m {__package__}" if __package__ != "proof_checker" else str(Path(__file__).parent)


def _text(found: CheckedRun) -> str:
    ones = {"areas": "area", "proofs": "proof", "claims": "claim", "witnesses": "witness"}
    counted = ((getattr(found, name), name) for name in ones)
    lines = [f"Checked {', '.join(f'{n:,} {ones[name] if n == 1 else name}' for n, name in counted)}."]
    if found.holds:
        lines.append("All of it holds.")
    else:
        lines.append(f"{found.n_problems:,} problem{'s' * (found.n_problems > 1)}:")
        lines += [f"  {_shown(problem)}" for problem in found.problems[:MOST_PRINTED]]
        lines += ["..."] * (found.n_problems > MOST_PRINTED)
    return "\n".join([*lines, NOT_CHECKED])


def _plain(found: CheckedRun) -> str:
    counted = {name: getattr(found, name) for name in ("areas", "proofs", "claims", "witnesses")}
    problems = {"n_problems": found.n_problems, "problems": found.problems}
    return json.dumps({"holds": found.holds, **counted, **problems, "not_checked": NOT_CHECKED}, indent=1)


def _shown(text: str) -> str:
    """Text of unknown origin in one line, without anything that a terminal would act upon."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= LONGEST_LINE else f"{safe[:LONGEST_LINE]}…"


def _progress() -> Callable[[int, int], None]:
    """Says on the terminal how far it is, now and then."""
    told = time.monotonic()

    def tell(areas: int, proofs: int) -> None:
        nonlocal told
        if time.monotonic() - told > PAUSE:
            told = time.monotonic()
            sys.stderr.write(f"\r{areas:,} areas, {proofs:,} proofs \r")
            sys.stderr.flush()

    return tell
