"""Areas of microdata for a run, read when they are asked for, wherever the records are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

from showthrough.engine.engine import Engine, check_engine
from showthrough.errors import check_each, check_type
from showthrough.formats.planned import planned_subject
from showthrough.formats.subject import Subject, SubjectRows
from showthrough.frames import Source
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.release import Layout
from showthrough.tables.run.batch import Input

__all__ = [
    "PlannedAreas",
    "read_areas",
]


@dataclass(frozen=True, eq=False)
class PlannedAreas:
    """Areas whose tables are yet to be counted, for :func:`run_audit`; :func:`read_areas` makes them.

    Parameters
    ----------
    subject
        What was read.
    """

    subject: Subject

    def __post_init__(self) -> None:
        check_type(self.subject, Subject, name="subject", remedy="use read_areas")

    @property
    def layout(self) -> Layout:
        """The tables to count, and the schema of the records."""
        return self.subject.layout

    @property
    def n_areas(self) -> int:
        """How many areas there are."""
        return self.subject.n_areas

    @property
    def notes(self) -> tuple[str, ...]:
        """How the records were read."""
        return self.subject.notes

    def __repr__(self) -> str:
        return f"PlannedAreas: {self.n_areas:,} areas, {self.layout!r}"

    def __call__(self, scratch: Path) -> Iterator[Input]:
        """The areas in order; what does not fit in memory while they are sorted goes to ``scratch``."""
        return self.subject.stream(scratch)

    def in_pieces(self) -> SubjectRows | None:
        """The areas for a cluster that reads the records itself; None if they are not in pieces."""
        return self.subject.in_pieces()


def read_areas(
    source: object,
    *tables: str,
    by: str | None = None,
    schema: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
    totals: bool = False,
    records: bool = False,
    engine: Engine | None = None,
) -> PlannedAreas:
    """Plan tables of microdata, area by area, for a run; the records need not fit in memory.

    Parameters
    ----------
    source
        A path, an Arrow table, or a pandas, polars or Spark data frame. Of Spark's, no row passes through
        the driver's memory but as part of an area.
    tables
        Formulas such as ``"age*sex"``.
    by
        The column that names the area; without it there is one area, which is read whole.
    schema
        The path of a schema file; without one the schema is inferred from the values.
    columns
        The columns to infer a schema from; those of the tables if none are given.
    totals
        Whether the totals of tables are published too.
    records
        Every row is a record, even if the file looks like published counts.
    engine
        A cluster whose tasks look through the records, if these are in several pieces: Parquet files with
        several row groups, several files, or a data frame of Spark. Otherwise it is done here.

    Returns
    -------
    PlannedAreas
        The areas, with their layout.

    Raises
    ------
    InputError
        If the records cannot be read, or a table names an unknown column.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import showthrough as st
    >>> people = pa.table({"town": ["A", "A", "B"], "sex": ["f", "m", "f"], "ill": ["no", "yes", "no"]})
    >>> areas = st.read_areas(people, "sex", "ill", by="town")
    >>> areas
    PlannedAreas: 2 areas, Layout: 4 cells in 2 tables (sex, ill)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     st.run_audit(areas, areas.layout, f"{folder}/run").summary.areas
    2
    """
    check_each(tables, str, name="tables", remedy='write "age*sex"')
    check_type(by, (str, NoneType), name="by", remedy="name the column of areas")
    check_type(schema, (str, os.PathLike, NoneType), name="schema", remedy="give the path of a schema file")
    check_engine(engine, workers=1)
    opened = Source.of(source)
    refuse_counts(opened, records=records)
    found = planned_subject(
        opened,
        tables,
        (),
        totals=totals,
        schema=None if schema is None else Path(schema),
        columns=columns,
        by=by,
        tolerant=False,
        engine=engine,
    )
    return PlannedAreas(found)
