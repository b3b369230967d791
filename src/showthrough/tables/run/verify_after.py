"""Check what a run states about tables published before it, as far as the run itself shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from showthrough.errors import RunError
from showthrough.files import read_json
from showthrough.tables.after import COLUMNS, NEW_FINDINGS, STATUSES, NewCells, count_areas, read_after
from showthrough.tables.earlier import n_earlier_cells
from showthrough.tables.run.read import AFTER, AreaReader, AuditRun, StoredFinding
from showthrough.tables.stored import DAMAGED, MALFORMED, read_rows

__all__ = [
    "check_after",
    "comes_after",
]

ENTRIES = {"earlier", "findings", "areas", "areas_new", "areas_earlier"}


def comes_after(run: AuditRun) -> bool:
    """Whether a run says that tables were out before it."""
    return (run.folder / AFTER).is_file() or (run.folder / NEW_FINDINGS).is_file()


def check_after(run: AuditRun) -> Iterator[str]:
    """What does not fit in what a run says about the tables before it."""
    if not comes_after(run):
        return
    try:
        yield from _of_json(run)
        yield from _of_findings(run)
    except (RunError, OSError) as error:
        yield f"{AFTER}: {' '.join(str(error).split())}"
    except MALFORMED as error:
        yield f"{NEW_FINDINGS}: it cannot be checked: {type(error).__name__}: {' '.join(str(error).split())}"


def _of_json(run: AuditRun) -> Iterator[str]:
    plain = read_json(run.folder / AFTER, error=RunError, remedy=DAMAGED)
    if set(plain) != ENTRIES:
        yield f"{AFTER}: an entry is missing, or one that no run has is there"
    n_earlier_cells(run)
    totals = read_after(run)
    if totals is None or not totals.earlier:
        yield f"{AFTER}: no earlier run is named"
    for one in plain["earlier"]:
        if one["run"] not in run.manifest["inputs"].values():
            yield f"{AFTER}: {one['name']} is not among the inputs in run.json"
    if {name: plain.get(name) for name in ("areas", "areas_new", "areas_earlier")} != count_areas(run):
        yield f"{AFTER}: other numbers of areas than those of counts.parquet"


def _of_findings(run: AuditRun) -> Iterator[str]:
    """Every finding has its row, and the cells that it is due to are new ones that its proofs use."""
    rows = _rows(run)
    readers = {name: AreaReader(run, name) for name in ("areas", "findings", "proofs", "counts")}
    counted, n_earlier = Counter[str](), n_earlier_cells(run)
    while (area := readers["areas"].next_area()) is not None:
        tables = {name: reader.take(area) for name, reader in readers.items()}
        if not tables["findings"].num_rows:
            continue
        cells = NewCells(run.layout, tables["counts"], tables["proofs"], n_earlier)
        for at, stored in enumerate(tables["findings"].to_pylist()):
            row = next(rows, None)
            mine = area, at, stored["sentence"]
            if row is None or (row["area"], row["finding"], row["sentence"]) != mine:
                yield f"{NEW_FINDINGS}: not the findings of findings.parquet: {area} {at}"
                return
            counted[row["status"]] += 1
            yield from _problems(row, StoredFinding.of(stored), cells)
    if next(rows, None) is not None:
        yield f"{NEW_FINDINGS}: more findings than in findings.parquet"
    totals = read_after(run)
    if totals is None or totals.findings != {status: counted[status] for status in STATUSES}:
        yield f"{AFTER}: other numbers of findings than those of {NEW_FINDINGS}"


def _rows(run: AuditRun) -> Iterator[dict[str, Any]]:
    part: pa.Table
    for part in read_rows(run.folder / NEW_FINDINGS, COLUMNS):
        yield from part.to_pylist()


def _problems(row: dict[str, Any], finding: StoredFinding, cells: NewCells) -> Iterator[str]:
    where = f"{NEW_FINDINGS}: {row['area'] or 'finding'} {row['finding']}"
    if row["status"] not in STATUSES:
        yield f"{where}: no such status: {row['status']}"
    elif row["because"] and not row["status"].endswith("new"):
        yield f"{where}: cells are named for a finding that was already out"
    elif not set(row["because"]) <= {*cells.of(finding), *cells.zeros(finding)}:
        yield f"{where}: the proofs do not use the cells that are named"
