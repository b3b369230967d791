"""Counts in the rows of a publication, with DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.engine.duck import identifier
from showthrough.engine.keys import in_order
from showthrough.errors import InputError

__all__ = ["PublishedFile", "renumber"]

pc: Any = pyarrow.compute


@dataclass(frozen=True, eq=False)
class PublishedFile:
    """A file (or a folder of files) of published rows."""

    path: Path
    #: The columns it must have.
    names: tuple[str, ...]

    @cached_property
    def files(self) -> list[str]:
        """The files the rows are in."""
        ending = self.path.suffix
        found = sorted(self.path.glob(f"part-*{ending}")) if self.path.is_dir() else [self.path]
        if not found or not all(file.is_file() for file in found):
            raise InputError(
                "the rows of the publication are missing",
                file=str(self.path),
                remedy="copy the whole folder of the publication",
            )
        return [str(file.absolute()) for file in found]

    def relation(self, files: str = "$files") -> str:
        """The rows, in SQL."""
        if self.path.suffix == ".parquet":
            return f"read_parquet({files})"
        return (
            f"read_csv({files}, delim = ',', quote = '\"', escape = '\"', header = true, all_varchar = true)"
        )

    @cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """One connection for all questions."""
        return duckdb.connect(
            ":memory:", config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        )

    @cached_property
    def types(self) -> dict[str, str]:
        """The type of each column."""
        rows = self._run(f"DESCRIBE SELECT * FROM {self.relation()}")  # noqa: S608
        types: dict[str, str] = {row[0]: row[1] for row in rows.fetchall()}
        for name in self.names:
            if name not in types:
                raise InputError(
                    "a column of the publication is missing",
                    file=str(self.path),
                    column=name,
                    remedy="ask the publisher for the original",
                )
        return types

    @cached_property
    def records(self) -> int:
        """How many rows there are."""
        return int(self._run(f"SELECT count(*) FROM {self.relation()}").fetchall()[0][0])  # noqa: S608

    def values(self, name: str) -> pa.Array:
        """The different values of a column, in order."""
        found = self._run(f"SELECT DISTINCT {self._value(name)} FROM {self.relation()}")  # noqa: S608
        column: Any = found.to_arrow_table().column(0).combine_chunks()
        return in_order(column)

    def count(self, columns: Sequence[str], allowed: Mapping[str, pa.Array]) -> pa.Table:
        """How many rows there are of each kind, of those that have allowed values.

        The result has the columns in the order given, and the numbers as its last.
        """
        parameters: dict[str, Any] = {}
        terms = ["true"]
        for at, (name, values) in enumerate(allowed.items()):
            parameters[f"allowed_{at}"] = values.drop_null().to_pylist()
            term = f"list_contains(CAST($allowed_{at} AS {self.types[name]}[]), {self._value(name)})"
            terms.append(
                f"({term} OR {self._value(name)} IS NULL)"
                if values.null_count
                else f"coalesce({term}, false)"
            )
        listed = "".join(f"{self._value(name)} AS column_{at}, " for at, name in enumerate(columns))
        query = (
            f"SELECT {listed}count(*) FROM {self.relation()} "  # noqa: S608
            f"WHERE {' AND '.join(terms)} GROUP BY ALL"
        )
        return self._run(query, **parameters).to_arrow_table()

    def _value(self, name: str) -> str:
        quoted = identifier(name)
        return quoted if self.path.suffix == ".parquet" else f"nullif({quoted}, '')"

    def _run(self, query: str, **parameters: object) -> duckdb.DuckDBPyConnection:
        try:
            return self.connection.cursor().execute(query, {"files": self.files, **parameters})
        except duckdb.Error as problem:
            raise InputError(
                "the rows of the publication cannot be read",
                file=str(self.path),
                found=next(iter(str(problem).splitlines()), ""),
                remedy="ask the publisher for the original",
            ) from None


def renumber(columns: Sequence[pa.ChunkedArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal rows get equal numbers, in ascending order; and the first row with each number.

    >>> of, first = renumber([pa.chunked_array([["b", "a", "b"]]), pa.chunked_array([[1, 1, 1]])])
    >>> of.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    key = np.zeros(len(columns[0]) if columns else 0, np.int64)
    for column in columns:
        values = in_order(column.unique())
        codes = pc.index_in(column, value_set=values).to_numpy().astype(np.int64)
        # Numbered anew column by column, so keys stay small however many columns there are.
        key = np.unique(key * max(1, len(values)) + codes, return_inverse=True)[1].astype(np.int64)
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    return of.astype(np.int64), first.astype(np.int64)
