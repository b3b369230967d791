"""What starting the command costs, in processor time, beside a Python that does nothing."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence

#: Calls that do no work.
CALLS = {
    "import showthrough": ["-c", "import showthrough"],
    "showthrough --version": ["-m", "showthrough.cli", "--version"],
    "showthrough --help": ["-m", "showthrough.cli", "--help"],
    "showthrough audit --help": ["-m", "showthrough.cli", "audit", "--help"],
    "showthrough completion bash": ["-m", "showthrough.cli", "completion", "bash"],
    "showthrough adit": ["-m", "showthrough.cli", "adit"],
}
NOTHING = ["-c", "pass"]


def main(arguments: Sequence[str]) -> int:
    """Print a table of ratios."""
    parser = argparse.ArgumentParser(prog="scripts/bench startup", description=__doc__)
    parser.add_argument(
        "--repeats", type=int, default=15, help="runs of each; the median counts (default: 15)"
    )
    repeats = parser.parse_args(arguments).repeats
    calls = {"python -c pass": NOTHING, **CALLS}
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    with tempfile.TemporaryDirectory() as compiled:
        for turn in range(repeats + 1):  # by turns, so that a busy moment hits all of them
            for name, call in calls.items():
                found = processor_time(call, compiled)
                if turn:  # the first one compiles the modules
                    seconds[name].append(found)
    median = {name: statistics.median(found) for name, found in seconds.items()}
    nothing = median["python -c pass"]
    print(f"{'':<29} {'ms':>6} {'× python -c pass':>17}")
    for name, found in median.items():
        print(f"{name:<29} {1000 * found:>6.0f} {found / nothing:>17.1f}")
    return 0


def processor_time(arguments: Sequence[str], compiled: str) -> float:
    """Seconds that a Python spends on this, with a folder for compiled modules."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    python = sys.executable
    process = os.posix_spawn(python, [python, *arguments], environment, file_actions=silent)
    _, _, used = os.wait4(process, 0)
    return used.ru_utime + used.ru_stime
