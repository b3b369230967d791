"""One batch of a run, on disk: what is to be decided, and what was.

Whoever works on a batch, on whatever machine, reads its input from the run's working folder and
writes its result there, so nothing large passes through the process that runs the whole. A result
appears whole or not at all, and the first one stays: doing a batch twice does no harm. It is sealed
with the hashes of its files and with what it is a result of, so that a damaged one, or one of
another run, is found out and decided again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from secrets import token_hex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.audit.archive import layout_from_json, layout_to_json
from showthrough.audit.batch import Area, Broken, Settings, decide_batch
from showthrough.errors import InputError, RecordsError
from showthrough.files import file_digest, read_json, write_text
from showthrough.folders import remove
from showthrough.records import Records, code_dtype
from showthrough.release import Layout, Release

__all__ = ["Input", "Planned", "Workplace", "name_of"]

#: What a result is sealed with.
SEAL = "seal.json"

INPUT_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("low", pa.list_(pa.int64())),
        ("high", pa.list_(pa.int64())),
        ("codes", pa.binary()),
        ("why", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class Planned:
    """An area whose tables are yet to be counted, over its records."""

    area: str
    records: Records


#: What a run takes for an area.
Input = Area | Planned | Broken


def name_of(area: Input) -> str:
    """The area's name."""
    return area.release.area if isinstance(area, Area) else area.area


@dataclass(frozen=True)
class Workplace:
    """The working folder of a run. Called with a number, it decides that batch.

    ``key`` stands for everything that determines the results.
    """

    folder: str
    settings: Settings
    key: str

    def __call__(self, number: int) -> int:
        """Decide a batch and write it, unless it is written; the number of its areas."""
        part = self.part(number)
        if not self.is_decided(number):
            areas = _read_input(self.input(number), _layout(self.folder, self.key))
            tables = decide_batch(areas, self.settings)
            remove(part)
            _write_part(tables, part, self.key)
        return pq.read_metadata(part / "areas.parquet").num_rows

    def part(self, number: int) -> Path:
        """Where a decided batch is."""
        return Path(self.folder, f"{number:08d}")

    def input(self, number: int) -> Path:
        """Where a batch's input is while it waits."""
        return Path(self.folder, "input", f"{number:08d}.parquet")

    def prepare(self, layout: Layout) -> None:
        """Write down what all batches share."""
        self.input(0).parent.mkdir(exist_ok=True)
        write_text(Path(self.folder, "layout.json"), layout_to_json(layout))

    def is_decided(self, number: int) -> bool:
        """Whether there is a result of this batch, undamaged and of this run."""
        part = self.part(number)
        if not part.exists():
            return False
        try:
            sealed = read_json(part / SEAL)
            return sealed == {"key": self.key, "files": _hashes(part)}
        except (InputError, OSError):
            return False

    def names(self, number: int) -> list[str] | None:
        """The areas of a decided batch; None if it is not decided."""
        if not self.is_decided(number):
            return None
        areas = pq.read_table(self.part(number) / "areas.parquet", columns=["area"])["area"]
        return [str(area) for area in areas.to_pylist()]

    def write_input(self, number: int, areas: Sequence[Input], layout: Layout) -> None:
        """Write what is to be decided, so that any process can."""
        table = pa.Table.from_pylist([_row(area, layout) for area in areas], INPUT_COLUMNS)
        draft = Path(self.folder, f"draft-input-{number:08d}-{token_hex(8)}")
        pq.write_table(table, draft, compression="zstd")
        draft.replace(self.input(number))


def _row(area: Input, layout: Layout) -> dict[str, object]:
    row: dict[str, object] = {"area": name_of(area)}
    if isinstance(area, Broken):
        return row | {"why": area.why}
    if isinstance(area, Area):
        row |= {"low": area.release.low, "high": area.release.high, "why": area.problem or None}
    records = area.truth if isinstance(area, Area) else area.records
    if records is None:
        return row
    if records.schema != layout.schema:
        raise RecordsError("the records have another schema than the release", file=name_of(area) or None)
    return row | {"codes": records.codes.astype(code_dtype(layout.schema)).tobytes()}


def _read_input(path: Path, layout: Layout) -> list[Area | Broken]:
    rows = pq.read_table(path, use_threads=False).to_pylist()
    return [_area(layout=layout, **row) for row in rows]


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
        return Broken(area, why or "there are neither counts nor records")
    return Area(layout.tabulate(records, area=area), records)


def _records(codes: bytes, layout: Layout) -> Records:
    schema = layout.schema
    flat = np.frombuffer(codes, code_dtype(schema))
    return Records(schema, flat.reshape(-1, len(schema.attributes)))


@lru_cache(maxsize=2)
def _layout(folder: str, key: str) -> Layout:  # noqa: ARG001  (the key tells runs in one folder apart)
    """The layout, read once by each process, so that what is derived from it is shared too."""
    return layout_from_json(Path(folder, "layout.json").read_text("utf-8"))


def _write_part(tables: dict[str, pa.Table], part: Path, key: str) -> None:
    draft = part.with_name(f"draft-{part.name}-{token_hex(8)}")
    draft.mkdir()  # without parents: once a run is over, a straggler finds no folder
    try:
        for name, table in tables.items():
            pq.write_table(table, draft / f"{name}.parquet", compression="zstd")
        (draft / SEAL).write_text(json.dumps({"key": key, "files": _hashes(draft)}), "utf-8")
        draft.rename(part)
    except OSError:
        if not part.exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _hashes(part: Path) -> dict[str, str]:
    return {path.name: file_digest(path) for path in sorted(part.iterdir()) if path.name != SEAL}
