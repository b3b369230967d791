"""How long processes have worked: a clock that stands still for a process that waits for a busy machine."""

from __future__ import annotations

import math
import time
from pathlib import Path

__all__ = ["await_work", "worked"]


def worked(pid: int) -> float:
    """Seconds on a processor; not a number if the process is gone."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text("utf-8").split()[0]) / 1e9
    except (OSError, IndexError):
        return math.nan


def await_work(pid: int, seconds: float = math.inf) -> float:
    """Wait until a process has worked so long, or is gone; how long it had worked when last seen."""
    if not Path("/proc/self/schedstat").exists():
        raise AssertionError("needs /proc to see how long processes work")
    last = 0.0
    while (now := worked(pid)) < seconds:  # not so if it is gone
        last = now
        time.sleep(0.002)
    return last
