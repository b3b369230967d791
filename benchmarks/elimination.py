"""A peer's idea by code of our own, timed: secondary suppression by greedy Gaussian elimination."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.cells.elimination import eliminate as find
from showthrough.tables.protect.cells.problem import CellProblem


@dataclass(frozen=True)
class Eliminated:
    """What elimination suppresses, and the CPU seconds."""

    suppressed: NDArray[np.bool_]
    seconds: float


def eliminate(problem: CellProblem) -> Eliminated | None:
    """Suppress by elimination; None if the table is too large for it."""
    busy = time.process_time()
    suppressed = find(problem)
    return None if suppressed is None else Eliminated(suppressed, time.process_time() - busy)
