"""HiGHS, set up so that the same model always takes the same way."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from showthrough.release import UNBOUNDED

__all__ = [
    "DUAL",
    "INFINITY",
    "PRIMAL",
    "loaded",
    "new_highs",
]

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

INFINITY = 1e30

#: HiGHS's numbers of simplex methods.
DUAL, PRIMAL = 1, 4


def new_highs(**options: str | float) -> Any:
    """HiGHS, silent and on one thread, so that the same model always takes the same way."""
    highs: Any = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def loaded(matrix: Any, low: Counts, high: Counts, cost: Vector, **options: str | float) -> Any:
    """HiGHS with one model: minimise cost·y, low ≤ matrix·y ≤ high (matrix sparse by rows), y ≥ 0."""
    highs = new_highs(presolve="off", random_seed=0, **options)
    n_rows, n_columns = matrix.shape
    # Arrays as they are: filling a HighsLp field by field takes ten times as long.
    highs.passModel(
        n_columns,
        n_rows,
        matrix.nnz,
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost,
        np.zeros(n_columns),
        np.full(n_columns, INFINITY),
        low.astype(float),
        np.where(high >= UNBOUNDED, INFINITY, high.astype(float)),
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        matrix.data.astype(float),
        np.zeros(n_columns, np.int32),
    )
    return highs
