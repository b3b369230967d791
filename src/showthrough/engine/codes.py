"""Values as numbers, in SQL: how DuckDB finds the position of a value fastest."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute

from showthrough.engine.keys import Column

__all__ = ["Coder"]

pc: Any = pyarrow.compute

#: Up to so many texts a search through a list beats hashing, where a value is looked up once for
#: all rows that share it (as in Parquet files, whose columns come as dictionaries).
LISTED = 512

#: Whole numbers in a range of this length are looked up by their distance from the least.
RANGE = 2**16

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")


class Coder:
    """Writes the SQL for a value's position in its column, and keeps what that SQL needs."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, is_dictionary: bool) -> None:
        self.connection = connection
        self.is_dictionary = is_dictionary
        self.parameters: dict[str, Any] = {}
        self._number = 0

    def code(self, column: Column, value: str, *, kind: str) -> str:
        """The position of ``value`` among the column's values; NULL where it is none of them."""
        self._number += 1
        known = column.values.slice(1) if column.has_missing else column.values
        if not len(known):
            position = "NULL"
        elif kind == "VARCHAR" and self.is_dictionary and len(known) <= LISTED:
            position = self._listed(known, value)
        elif kind in WHOLE and _spread(known) <= RANGE:
            position = self._ranged(known, value)
        else:
            position = self._hashed(known, value)
        if column.has_missing:
            position = f"CASE WHEN {value} IS NULL THEN 0 ELSE {position} + 1 END"
        return f"CAST({position} AS BIGINT)"

    def _listed(self, known: pa.Array, value: str) -> str:
        self.parameters[f"list_{self._number}"] = known.to_pylist()
        return f"(list_position(CAST($list_{self._number} AS VARCHAR[]), {value}) - 1)"

    def _ranged(self, known: pa.Array, value: str) -> str:
        numbers = known.to_numpy(zero_copy_only=False)
        least = int(numbers[0])
        table = np.full(int(numbers[-1]) - least + 1, -1)
        table[numbers - numbers[0]] = np.arange(len(numbers))
        self.parameters[f"list_{self._number}"] = [None if at < 0 else at for at in table.tolist()]
        self.parameters[f"least_{self._number}"] = least
        # A list counts from 1, and from its end where the position is negative.
        place = f"(CAST({value} AS HUGEINT) - $least_{self._number} + 1)"
        return (
            f"list_extract(CAST($list_{self._number} AS INTEGER[]), "
            f"CASE WHEN {place} BETWEEN 1 AND {len(table)} THEN CAST({place} AS BIGINT) END)"
        )

    def _hashed(self, known: pa.Array, value: str) -> str:
        name = f"values_{self._number}"
        self.connection.register(name, pa.table({"value": known, "place": pa.array(np.arange(len(known)))}))
        listed = f"SELECT CAST(value AS VARCHAR) FROM {name} ORDER BY place"  # noqa: S608
        self.connection.execute(f"CREATE OR REPLACE TYPE {name}_type AS ENUM ({listed})")
        return f"enum_code(TRY_CAST(CAST({value} AS VARCHAR) AS {name}_type))"


def _spread(known: pa.Array) -> int:
    return int(known[-1].as_py()) - int(known[0].as_py()) + 1
