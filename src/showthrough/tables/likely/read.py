"""Reading a folder of what is likely: its most telling statements first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.tables.likely.calibration import HIGH, Kind
from showthrough.tables.likely.run import STATEMENTS
from showthrough.tables.likely.statement import UNSURPRISING

__all__ = [
    "most_telling",
]


def most_telling(folder: Path, kind: Kind, most: int) -> list[dict[str, Any]]:
    """Statements of a kind, at least 90 % and at most 50 % without the tables, the most surprising first.

    Read in parts, so that any number of statements fits.
    """
    best: pa.Table | None = None
    with pq.ParquetFile(folder / STATEMENTS) as file:
        for batch in file.iter_batches():
            table = pa.Table.from_batches([batch])
            q, before = table["q"].to_numpy(), table["baseline"].to_numpy()
            mine = np.array(table["kind"].to_pylist()) == kind
            part = table.filter(pa.array(mine & (q >= HIGH) & (before <= UNSURPRISING), pa.bool_()))
            best = _first(part if best is None else pa.concat_tables([best, part]), most)
    return [] if best is None else best.to_pylist()


def _first(table: pa.Table, most: int) -> pa.Table:
    """The statements whose odds the tables moved most."""
    inside = [np.clip(table[name].to_numpy(), 1e-6, 1 - 1e-6) for name in ("q", "baseline")]
    odds = [np.log(one) - np.log1p(-one) for one in inside]
    order = np.argsort(odds[1] - odds[0], kind="stable")[:most]
    return table.take(pa.array(order.tolist(), pa.int64()))
