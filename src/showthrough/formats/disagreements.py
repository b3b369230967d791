"""Why hidden claims can no longer be proved: for each, two datasets that have all published counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from showthrough.errors import RunError
from showthrough.files import unreadable
from showthrough.selection import Selection
from showthrough.tables.protect.areas import WORLD_NUMBERS
from showthrough.tables.protect.protection import COMPARISON_COLUMNS
from showthrough.tables.stored import read_rows

__all__ = [
    "Disagreement",
    "read_disagreements",
]

WORLD_COLUMNS = pa.schema([("world", pa.int64()), ("area", pa.string()), ("records", pa.string())])

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute

#: A record's values with how often it occurs.
Counted = dict[tuple[tuple[str, str], ...], int]


@dataclass(frozen=True)
class Disagreement:
    """A claim that followed before, and two datasets that disagree on it and agree with what is published.

    Parameters
    ----------
    area, sentence, k
        The claim, and the number of its columns.
    before
        How many records it was proved to be.
    counts
        How many they are in the two datasets.
    names, rows
        The attributes, and the records whose numbers differ between the two, those of the claim first: their
        values, and how often they occur in each.
    n_left_out
        How many such records are not listed.
    """

    area: str
    sentence: str
    k: int
    before: int
    counts: tuple[int, int]
    names: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], int, int], ...]
    n_left_out: int = 0


def read_disagreements(folder: Path, *, most: int, most_rows: int = 12) -> tuple[list[Disagreement], int]:
    """The forbidden claims of a folder that can no longer be proved, those of most columns first.

    Also returns how many there are.
    """
    held = _compared(folder / "comparison.parquet")
    followed, follow = pc.field("before") == "verified", pc.field("after") == "verified"
    gone = held.filter(pc.field("forbidden") & followed & ~follow)
    hidden = gone.take(pc.sort_indices(gone, sort_keys=[("k", "descending")]))
    shown = hidden.filter(pc.field(WORLD_NUMBERS[0]).is_valid()).slice(0, most).to_pylist()
    wanted = {row[name] for row in shown for name in WORLD_NUMBERS}
    worlds = dict(_worlds(folder, wanted))
    missing = sorted(wanted - worlds.keys())
    if missing:
        raise RunError("a dataset is missing", file=str(folder / "worlds.parquet"), found=str(missing[0]))
    first, second = ([worlds[row[name]] for row in shown] for name in WORLD_NUMBERS)
    found = [_disagreement(*three, most_rows) for three in zip(shown, first, second, strict=True)]
    return found, gone.num_rows


def _compared(path: Path) -> pa.Table:
    """All claims before and after, with the numbers of two datasets for those that are hidden."""
    held = pa.concat_tables([COMPARISON_COLUMNS.empty_table(), *read_rows(path, COMPARISON_COLUMNS)])
    try:
        numbers = pq.read_table(path, columns=list(WORLD_NUMBERS))
        for name in WORLD_NUMBERS:
            held = held.append_column(name, numbers[name].cast(pa.int64()))
    except (OSError, KeyError, pa.ArrowException) as problem:
        raise unreadable(str(path), problem, error=RunError) from None
    return held


def _worlds(folder: Path, wanted: set[int]) -> Iterator[tuple[int, Counted]]:
    for part in read_rows(folder / "worlds.parquet", WORLD_COLUMNS):
        for row in part.to_pylist():
            if row["world"] in wanted:
                try:
                    pairs = json.loads(row["records"])
                    counted = {tuple(record.items()): int(times) for record, times in pairs}
                except (ValueError, TypeError, AttributeError) as error:
                    file = str(folder / "worlds.parquet")
                    raise RunError("a dataset cannot be read", file=file, found=str(error)) from None
                yield row["world"], counted


def _disagreement(row: dict[str, Any], first: Counted, second: Counted, most_rows: int) -> Disagreement:
    selection = Selection.from_json(row["selection"])
    both = list(dict.fromkeys([*first, *second]))
    matching = {record for record in both if selection.matches(dict(record))}
    counts = [sum(one.get(record, 0) for record in matching) for one in (first, second)]
    differ = [record for record in both if first.get(record, 0) != second.get(record, 0)]
    differ.sort(key=lambda record: record not in matching)
    names = tuple(name for name, _ in both[0]) if both else ()
    return Disagreement(
        row["area"],
        row["sentence"],
        row["k"],
        row["multiplicity"],
        (counts[0], counts[1]),
        names,
        tuple(_row(record, first, second) for record in differ[:most_rows]),
        max(0, len(differ) - most_rows),
    )


def _row(
    record: Sequence[tuple[str, str]], first: Counted, second: Counted
) -> tuple[tuple[str, ...], int, int]:
    key = tuple(record)
    return tuple(value for _, value in record), first.get(key, 0), second.get(key, 0)
