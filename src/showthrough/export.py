"""Results as tables: Arrow, pandas, polars and Spark, and a short form for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from showthrough.errors import InputError
from showthrough.text import html_summary

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import SparkSession

__all__ = [
    "Tabular",
    "html_table",
]

#: Rows shown in a notebook.
N_SHOWN = 10


class Tabular:
    """A mixin for results: define :meth:`to_arrow`, and the other forms follow from it.

    Libraries that read Arrow streams (polars, DuckDB, pandas 3) take such a result as it is.
    """

    def to_arrow(self) -> pa.Table:
        """The result as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """The result as a pandas data frame; needs pandas."""
        _check_installed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The result as a polars data frame; needs polars."""
        found: Any = _check_installed("polars").from_arrow(self.to_arrow())
        return found

    def to_spark(self, session: SparkSession) -> SparkFrame:
        """The result as a DataFrame of a Spark session."""
        _check_installed("pyspark")
        table: Any = self.to_arrow()
        return session.createDataFrame(table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The result as an Arrow stream, for other libraries."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The repr and the first rows, for notebooks."""
        return html_table(repr(self), self.to_arrow())


def html_table(title: str, table: pa.Table, *, n_shown: int = N_SHOWN) -> str:
    """A title and the first rows of a table as HTML, and how many more there are."""
    rows = [list(row.values()) for row in table.slice(0, n_shown).to_pylist()]
    more = table.num_rows - len(rows)
    return html_summary(title, [table.column_names, *rows], note=f"… and {more:,} more rows" if more else "")


def _check_installed(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed", remedy=f"install {name}, or use to_arrow()") from None
