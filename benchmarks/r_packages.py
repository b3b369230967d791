"""R and its packages, where they are installed: why one cannot be used, and scripts that are run."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PeerPattern:
    """What the peer suppresses, and its CPU seconds."""

    suppressed: NDArray[np.bool_]
    seconds: float


class PeerFailed(Exception):
    """The peer gave no pattern; the message says why."""


@cache
def why_absent(package: str) -> str | None:
    """Why a package cannot be used; None if it can."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return "R is not installed"
    asked = [rscript, "-e", f'quit(status = !requireNamespace("{package}", quietly = TRUE))']
    absent = subprocess.run(asked, capture_output=True, check=False).returncode != 0
    return f"R has no package {package} (R_LIBS names further libraries)" if absent else None


def run_script(script: str, folder: Path, arguments: list[str], *, seconds: float | None) -> None:
    """Run a script in a folder; an error says what R wrote about it."""
    (folder / "script.R").write_text(script, "utf-8")
    command = ["Rscript", "script.R", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, check=False, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise PeerFailed(f"stopped after {seconds:g} s") from None
    if done.returncode:
        raise PeerFailed(f"R ended with an error: {_error(done.stderr)}")


def _error(written: str) -> str:
    """What R wrote about an error, in one line: from the word on, without that it halted."""
    lines = [line.strip() for line in written.splitlines() if line.strip() != "Execution halted"]
    start = next((at for at, line in enumerate(lines) if line.startswith("Error")), 0)
    return " ".join(lines[start:])[:300] or "no message"
