"""Microdata of homes: the census columns and the block each home is in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from showthrough.errors import RecordsError, closest
from showthrough.io.census import PARTS
from showthrough.io.frames import read_column_names, read_table
from showthrough.records import Records, area_labels, as_text, code_dtype, encode_column
from showthrough.schema import Schema

__all__ = ["Homes", "read_homes"]

#: How many digits of a block's 15-digit code name the larger place.
DIGITS = {"state": 2, "county": 5, "tract": 11}


@dataclass(frozen=True, eq=False)
class Homes:
    """Homes by block, whose rules are still to be checked, and the columns that were left out."""

    records: Records
    file: str
    ignored: tuple[str, ...] = ()

    def broken(self) -> dict[str, str]:
        """Block → why it cannot be audited: which home breaks which rule of the schema."""
        found: dict[str, str] = {}
        if self.records.areas is None:
            return found
        for box in self.records.schema.forbidden:
            for row in np.flatnonzero(self.records.matching(box)).tolist():
                error = RecordsError(
                    f"the home breaks a rule: no home has {box}", file=self.file, row=row + 1
                )
                found.setdefault(str(self.records.areas[row]), str(error))
        return found

    def table(self, *, places: Sequence[str] = ()) -> pa.Table:
        """The homes that break no rule, with ``block`` and the larger places it lies in."""
        kept = np.ones(len(self.records), bool)
        for box in self.records.schema.forbidden:
            kept &= ~self.records.matching(box)
        blocks = [] if self.records.areas is None else self.records.areas[kept].tolist()
        short = next((block for block in blocks if len(block) != 15 or not block.isdigit()), None)
        if places and short is not None:
            raise RecordsError(
                "the block's code does not tell its tract and state",
                file=self.file,
                column="block",
                found=short,
                remedy="codes of blocks have 15 digits: state (2), county (3), tract (6), block (4)",
            )
        columns: dict[str, Any] = {"block": pa.array(blocks, pa.string())}
        for place in places:
            columns[place] = pc.utf8_slice_codeunits(columns["block"], 0, DIGITS[place])
        homes = Records(self.records.schema, self.records.codes[kept]).to_arrow()
        for name in homes.column_names:
            columns[name] = homes[name]
        return pa.table(columns)


def read_homes(path: str | os.PathLike[str], schema: Schema, *, by: str = "block") -> Homes:
    """Homes from a file with the columns of a census schema and the block in ``by``.

    Blocks may also be numbered within tracts: then ``state``, ``county``, ``tract`` and ``block``
    together are the code of the block.
    """
    names, file = read_column_names(path), str(path)
    _check_names(names, schema, by, file)
    places = [name for name in (*PARTS, by) if name in names]
    table = read_table(path, columns=list(dict.fromkeys((*schema.names, *places))))
    if not table.num_rows:
        raise RecordsError("there are no homes", file=file, remedy="write one row per home")
    codes = np.empty((table.num_rows, len(schema.attributes)), code_dtype(schema))
    for at, attribute in enumerate(schema.attributes):
        codes[:, at] = encode_column(table[attribute.name], attribute, file=file)
    ignored = tuple(name for name in names if name not in {*schema.names, *places})
    blocks = area_labels(_blocks(table, by), by, file=file)
    return Homes(Records(schema, codes, blocks), file, ignored)


def _check_names(names: Sequence[str], schema: Schema, by: str, file: str) -> None:
    for name in (*schema.names, by):
        if name in names:
            continue
        remedy = closest(name, names)
        if name == "children":
            remedy = "leave --children out, or add the column"
        elif name == by == "block":
            remedy += "; another column may be named with --by"
        raise RecordsError("there is no such column", file=file, column=name, remedy=remedy)


def _blocks(table: pa.Table, by: str) -> pa.ChunkedArray | pa.Array:
    """The code of each home's block, joined from its parts where blocks are numbered in tracts."""
    if by != "block" or not all(part in table.column_names for part in PARTS):
        return table[by]
    texts: dict[str, Any] = {part: as_text(table[part]) for part in PARTS}
    if any((pc.max(pc.utf8_length(texts[part])).as_py() or 0) > width for part, width in PARTS.items()):
        return table[by]
    padded = [pc.utf8_lpad(texts[part], width, "0") for part, width in PARTS.items()]
    joined: Any = pc.binary_join_element_wise(*padded, "")
    return joined
