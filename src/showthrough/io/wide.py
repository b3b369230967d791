"""Wide counts: one row per area, one column per cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from showthrough.errors import ReleaseError, closest
from showthrough.io.cells import AMBIGUOUS, UNKNOWN, area_codes, cell_names, first_duplicate
from showthrough.io.design import Design
from showthrough.io.releases import Releases
from showthrough.io.values import parse_values

__all__ = ["read_wide"]


def read_wide(table: pa.Table, design: Design, *, area: str | None, file: str | None) -> Releases:
    """The releases in a table with a row per area and a column per cell."""
    columns = [name for name in table.column_names if name != area]
    cells = _cells(columns, design, file)
    areas, codes = area_codes(table, area, file=file)
    again = first_duplicate(codes)
    if again is not None:
        raise ReleaseError(
            "an area has two rows" if area else "there are several rows but no column for the area",
            file=file,
            row=again + 1,
            column=area,
            found=areas[int(codes[again])] if area else None,
            remedy="keep one row per area" if area else "name the area column with --by",
        )
    shape = (len(codes), len(columns))
    low, high = np.empty(shape, np.int64), np.empty(shape, np.int64)
    sizes = [len(one.cells) for one in design.layout.tables]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    for at, (name, cell) in enumerate(zip(columns, cells, strict=True)):
        notation = design.notations[int(owner[cell])]
        low[:, at], high[:, at] = parse_values(table[name], notation, file=file, name=name)
    return Releases.arrange(
        design.layout,
        areas,
        codes=np.repeat(codes, len(columns)),
        cells=np.tile(np.array(cells, np.int64), len(codes)),
        low=low.ravel(),
        high=high.ravel(),
    )


def _cells(columns: list[str], design: Design, file: str | None) -> list[int]:
    """The cell that each column holds, every cell at most once."""
    known = cell_names(design.layout)
    cells = [_cell(name, known, file) for name in columns]
    twice = first_duplicate(np.array(cells, np.int64))
    if twice is not None:
        raise ReleaseError(
            "two columns are the same cell",
            file=file,
            column=columns[twice],
            found=columns[twice],
            remedy="keep one of them",
        )
    return cells


def _cell(name: str, known: dict[str, int], file: str | None) -> int:
    at = known.get(name, UNKNOWN)
    if at == AMBIGUOUS:
        raise ReleaseError(
            "several cells have this name",
            file=file,
            column=name,
            found=name,
            remedy="write table:cell as the column's name, or use a tidy file with a column table",
        )
    if at == UNKNOWN:
        raise ReleaseError(
            "the column is no cell of the release",
            file=file,
            column=name,
            found=name,
            remedy=f"{closest(name, known)}; name the area column with --by, "
            "and leave out columns that are no cells",
        )
    return at
