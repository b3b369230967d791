"""The tables of an attack, written to its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.files import write_json
from showthrough.numbers.attack import Attack, MeasuredColumn, person_columns, with_column
from showthrough.numbers.attack_summary import AttackSummary
from showthrough.numbers.pairs import Pair

__all__ = [
    "FILES",
    "write_attack",
]

#: The files of a folder, and what they hold.
FILES = {
    "densities.parquet": "the rebuilt distributions",
    "intervals.parquet": "everybody's own interval, from the attacks on single people",
    "exposure.parquet": "how many people are disclosed, by method and privacy interval",
    "points.parquet": "some records of pairs of columns, as published and as rebuilt",
    "people.parquet": "who is disclosed by which method",
    "summary.json": "all figures printed here, and more",
}


def write_attack(folder: Path, attack: Attack, summary: AttackSummary) -> None:
    """Write the tables that an attack has, and its summary."""
    tables = {
        "densities.parquet": [with_column(one.attacked.densities(), one.name) for one in attack.columns],
        "intervals.parquet": [table for one in attack.columns for table in _own_intervals(one)],
        "exposure.parquet": [] if attack.truth is None else [attack.exposures()],
        "people.parquet": [] if attack.truth is None else [attack.people()],
        "points.parquet": [_points(number, pair) for number, pair in enumerate(attack.pairs, 1)],
    }
    for name, parts in tables.items():
        _store(folder / name, parts)
    write_json(folder / "summary.json", summary.to_plain())


def _store(path: Path, tables: Sequence[pa.Table]) -> None:
    if tables:
        pq.write_table(pa.concat_tables(tables), path, compression="zstd")


def _own_intervals(one: MeasuredColumn) -> Iterator[pa.Table]:
    """The intervals of the attacks on single people."""
    for method, interval in one.attacked.intervals.items():
        if interval.low.ndim:
            n = len(interval.low)
            columns = {**person_columns(one.name, n), "method": pa.array([method] * n, pa.string())}
            yield pa.table({**columns, "low": pa.array(interval.low), "high": pa.array(interval.high)})


def _points(number: int, pair: Pair) -> pa.Table:
    """Records of a pair of columns, by its number in the summary (from 1)."""
    n = len(pair.rows)
    parts = list[pa.Table]()
    for name, values in pair.points.items():
        columns: dict[str, Any] = {
            "pair": pa.array([number] * n, pa.int64()),
            "values": pa.array([name] * n, pa.string()),
            "row": pa.array(pair.rows + 1, pa.int64()),
            "first": pa.array(np.ascontiguousarray(values[:, 0])),
            "second": pa.array(np.ascontiguousarray(values[:, 1])),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)
