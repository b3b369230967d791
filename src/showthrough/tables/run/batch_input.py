"""What is to be decided together, as a file that any process on any machine reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.errors import RecordsError
from showthrough.records import Records, code_dtype
from showthrough.release import Layout, Release
from showthrough.tables.run.inputs import Area, Broken, Input, Nested, Planned, names_of

__all__ = [
    "read_input",
    "write_input",
]

INPUT_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("low", pa.list_(pa.int64())),
        ("high", pa.list_(pa.int64())),
        ("codes", pa.binary()),
        ("why", pa.string()),
        ("n_parts", pa.int64()),
    ]
)


def write_input(path: Path, areas: Sequence[Input], layout: Layout) -> None:
    """Write areas to a file."""
    rows = [row for area in areas for row in _rows(area, layout)]
    pq.write_table(pa.Table.from_pylist(rows, INPUT_COLUMNS), path, compression="zstd")


def _rows(area: Input, layout: Layout) -> Iterator[dict[str, object]]:
    """An area as a row; with parts a row for the whole, which counts them, and one for each."""
    if not isinstance(area, Nested):
        yield _row(area, layout)
        return
    whole = area.whole
    yield {"area": whole.area, "low": whole.low, "high": whole.high, "n_parts": len(area.parts)}
    yield from (_row(part, layout) for part in area.parts)


def _row(area: Area | Planned | Broken, layout: Layout) -> dict[str, object]:
    row: dict[str, object] = {"area": names_of(area)[0]}
    if isinstance(area, Broken):
        return row | {"why": area.why}
    if isinstance(area, Area):
        row |= {"low": area.release.low, "high": area.release.high, "why": area.problem or None}
    records = area.truth if isinstance(area, Area) else area.records
    if records is None:
        return row
    if records.schema is not layout.schema and records.schema != layout.schema:
        raise RecordsError("the records have another schema than the release", file=names_of(area)[0] or None)
    return row | {"codes": records.codes.astype(code_dtype(layout.schema)).tobytes()}


def read_input(path: Path, layout: Layout) -> list[Area | Broken | Nested]:
    """The areas in such a file."""
    rows = iter(pq.read_table(path, use_threads=False).to_pylist())
    found: list[Area | Broken | Nested] = []
    for row in rows:
        n_parts = row.pop("n_parts")
        area = _area(layout=layout, **row)
        if n_parts is None:
            found.append(area)
            continue
        parts = [
            _area(layout=layout, **{k: v for k, v in one.items() if k != "n_parts"})
            for one in islice(rows, n_parts)
        ]
        if isinstance(area, Area):
            found.append(Nested(area.release, tuple(part for part in parts if isinstance(part, Area))))
    return found


def _area(
    *,
    area: str,
    low: list[int] | None,
    high: list[int] | None,
    codes: bytes | None,
    why: str | None,
    layout: Layout,
) -> Area | Broken:
    records = None if codes is None else _records(codes, layout)
    if low is not None and high is not None:
        release = Release(layout, np.array(low, np.int64), np.array(high, np.int64), area)
        return Area(release, records, why or "")
    if records is None:
        return Broken(area, why or "no counts and no records")
    return Area(layout.tabulate(records, area=area), records)


def _records(codes: bytes, layout: Layout) -> Records:
    schema = layout.schema
    flat = np.frombuffer(codes, code_dtype(schema))
    return Records(schema, flat.reshape(-1, len(schema.attributes)))
