"""A table as an office prints it: dimensions with their categories, totals among them, and cells of text.

Every reader of office files makes these, every writer takes them, and one step
(:mod:`showthrough.formats.meaning.understand`) turns them into a release.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import ReleaseError, check_each

__all__ = [
    "Category",
    "Dimension",
    "PrintedTable",
    "check_printed",
]


@dataclass(frozen=True)
class Category:
    """One category of a dimension; a total is one too.

    Parameters
    ----------
    code
        As the file codes it, or its label where there are no codes; unique in its dimension.
    label
        As the file names it, if that is not the code.
    parent
        The code of the category that contains it, where the file says so.
    """

    code: str
    label: str = ""
    parent: str | None = None


@dataclass(frozen=True)
class Dimension:
    """A dimension of a printed table.

    Parameters
    ----------
    name
        As in the file's header; empty if the file does not say.
    categories
        In the file's order.
    label
        As the file names it, if that is not the name.
    role
        ``area``, ``time`` or ``metric`` (different figures, not parts of one) where the file says so.
    """

    name: str
    categories: tuple[Category, ...]
    label: str = ""
    role: str = ""


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """A table as printed.

    Parameters
    ----------
    name
        Short and unique in the file: a sheet, a data set, a file's stem.
    dimensions
        The dimensions, in the file's order.
    codes
        Cells × dimensions: the position of each cell's category.
    values
        The text of every cell as printed, spaces stripped; empty if nothing is printed.
    flags
        The observation status or confidentiality flag beside every value; empty if there is none.
    rows, columns
        Where every value stands in the file or sheet, from 1.
    title, notes
        The title, and footnotes as printed.
    file, sheet
        Where the table comes from, for messages.
    across
        How many of the dimensions, the last ones, stand in columns; the others stand in rows.
    remarks
        What the reader decided: what it left out, and markers of footnotes that it took off labels.
    measure
        What is counted, as the head of a column of counts says it.
    questions
        What the reader could not see, and people must decide.
    format
        The format of the file: ``xlsx``, ``csv``, ``jsonstat`` or ``sdmx``; empty if there is none.

    Raises
    ------
    ReleaseError
        If the parts do not fit each other.
    """

    name: str
    dimensions: tuple[Dimension, ...]
    codes: NDArray[np.int32]
    values: Sequence[str]
    flags: Sequence[str] = ()
    rows: Sequence[int] = ()
    columns: Sequence[int] = ()
    title: str = ""
    notes: tuple[str, ...] = ()
    file: str = ""
    sheet: str = ""
    across: int = 1
    remarks: tuple[str, ...] = ()
    measure: str = ""
    format: str = ""
    questions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.values), len(self.dimensions)):
            raise ReleaseError(
                f"table {self.name} has {len(self.values)} values, and codes of shape {self.codes.shape}",
                file=self.file or None,
            )


def check_printed(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    """Raise unless there are tables to write to a file.

    >>> check_printed([], "tables.json")
    Traceback (most recent call last):
    showthrough.errors.ReleaseError: tables.json: there is no table to write; give at least one
    """
    check_each(tables, PrintedTable, name="tables", remedy="give a list of tables")
    if not tables:
        raise ReleaseError("there is no table to write", file=os.fspath(path), remedy="give at least one")
