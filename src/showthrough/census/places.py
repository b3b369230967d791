"""Where a home is: the codes of states, counties, tracts and blocks.

A block's code has 15 digits: state (2), county (3), tract (6), block (4). The first 2, 5 or 11 of
them are the code of the state, the county or the tract that the block lies in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from showthrough.engine.rows import join_padded
from showthrough.records import as_text

__all__ = [
    "DIGITS",
    "PARTS",
    "TRACT_PARTS",
    "is_block",
    "join_parts",
    "numbered_in_parts",
    "place_code",
]

#: The parts of a block's code and their widths.
PARTS = {"state": 2, "county": 3, "tract": 6, "block": 4}

#: The parts of a tract's code and their widths.
TRACT_PARTS = {part: width for part, width in PARTS.items() if part != "block"}

#: How many digits of a block's code are the code of each place.
DIGITS = dict(zip(PARTS, accumulate(PARTS.values()), strict=True))

_GEO_ID = re.compile(r"(?:[0-9A-Z]*US)?([0-9]+)")


def is_block(code: str) -> bool:
    """Whether this is the full code of a block.

    >>> is_block("010010000010001"), is_block("1001")
    (True, False)
    """
    return len(code) == DIGITS["block"] and code.isdigit()


def place_code(geo_id: str) -> str | None:
    """The digits of a GEO_ID, with or without the prefix for the kind of place; None if it is none.

    >>> place_code("1000000US010010201001000"), place_code("Alabama")
    ('010010201001000', None)
    """
    match = _GEO_ID.fullmatch(geo_id)
    return None if match is None else match[1]


def numbered_in_parts(tables: Iterable[pa.Table], parts: Mapping[str, int] = PARTS) -> bool:
    """Whether the columns state, county, tract and block each hold only their part of the code."""
    for table in tables:
        for part, width in parts.items():
            text: Any = as_text(table[part])
            if (pc.max(pc.utf8_length(text)).as_py() or 0) > width:
                return False
    return True


def join_parts(columns: Iterable[Any]) -> Any:
    """The codes of blocks, or of tracts, from columns with their parts, which may lack leading zeros."""
    listed = list(columns)
    return join_padded(listed, list(PARTS.values())[: len(listed)])
