"""Microdata of homes: the census columns and the block each home is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from showthrough.census.places import DIGITS, PARTS, TRACT_PARTS, is_block, join_parts, numbered_in_parts
from showthrough.errors import RecordsError, closest
from showthrough.frames import Source, iter_tables
from showthrough.records import Records, area_labels, as_text, code_dtype, encode_column
from showthrough.schema import Schema

__all__ = [
    "Homes",
    "check_homes",
    "numbered_within",
    "read_checked_homes",
    "read_homes",
]


@dataclass(frozen=True, eq=False)
class Homes:
    """Homes by block, whose rules are still to be checked."""

    records: Records
    file: str | None

    def table(self, *, places: Sequence[str] = ()) -> pa.Table:
        """The homes that break no rule, with ``block`` and the larger places it lies in."""
        kept = np.ones(len(self.records), bool)
        for box in self.records.schema.forbidden:
            kept &= ~self.records.matching(box)
        blocks = [] if self.records.areas is None else self.records.areas[kept].tolist()
        short = next((block for block in blocks if not is_block(block)), None)
        if places and short is not None:
            raise RecordsError(
                "not a block code of 15 digits, so the tract and the state are not known",
                file=self.file,
                column="block",
                found=short,
                remedy="block codes consist of state (2 digits), county (3), tract (6) and block (4)",
            )
        columns: dict[str, Any] = {"block": pa.array(blocks, pa.string())}
        for place in places:
            columns[place] = pc.utf8_slice_codeunits(columns["block"], 0, DIGITS[place])
        homes = Records(self.records.schema, self.records.codes[kept]).to_arrow()
        columns |= {name: homes[name] for name in homes.column_names}
        return pa.table(columns)


def read_homes(source: object, schema: Schema, *, by: str = "block") -> Homes:
    """All homes of a file with the columns of a census schema and the block in ``by``.

    Blocks may also be numbered within tracts: then ``state``, ``county``, ``tract`` and ``block``
    together are the code of the block.
    """
    opened = Source.of(source)
    check_homes(opened, schema, by=by)
    return read_checked_homes(opened, schema, by=by, numbered=numbered_within(opened, by=by))


def read_checked_homes(
    opened: Source, schema: Schema, *, by: str, numbered: Mapping[str, int] | None
) -> Homes:
    """The homes of a source, or of a piece of one, whose columns are known to be there.

    ``numbered`` are the columns that name a block together, as :func:`numbered_within` finds them.
    """
    file = opened.name
    places = [name for name in (*PARTS, by) if name in opened.names]
    table = opened.table(list(dict.fromkeys((*schema.names, *places))))
    codes = np.empty((table.num_rows, len(schema.attributes)), code_dtype(schema))
    with opened.locating():
        for at, attribute in enumerate(schema.attributes):
            codes[:, at] = encode_column(table[attribute.name], attribute, file=file)
        blocks: Any = table[by]
        if numbered:
            blocks = join_parts(as_text(table[part]) for part in numbered)
        return Homes(Records(schema, codes, area_labels(blocks, by, file=file)), file)


def check_homes(source: object, schema: Schema, *, by: str = "block") -> tuple[str, ...]:
    """The columns that are not used; an error if one of the needed ones is missing."""
    opened = Source.of(source)
    names, file = opened.names, opened.name
    for name in (*schema.names, by):
        if name not in names:
            remedy = closest(name, names)
            if name == "children":
                remedy = "remove --children, or add the column"
            elif name == by == "block":
                remedy += "; --by names another column"
            raise RecordsError("no such column", file=file, column=name, remedy=remedy)
    return tuple(name for name in names if name not in {*schema.names, *PARTS, by})


def numbered_within(source: object, *, by: str = "block") -> Mapping[str, int] | None:
    """The columns, and their widths, that together name a block or a tract; None if one does.

    Blocks may have numbers of up to four digits beside columns for tract, county and state, and tracts
    numbers of up to six digits beside columns for county and state.
    """
    opened = Source.of(source)
    parts = {"block": PARTS, "tract": TRACT_PARTS}.get(by)
    if parts is None or not set(parts) <= set(opened.names):
        return None
    tables = (chunk.table for chunk in iter_tables(opened, list(parts), error=RecordsError))
    return parts if numbered_in_parts(tables, parts) else None
