"""What to read records from: files in one format, or a table in memory."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import pyarrow as pa

from showthrough.errors import InputError, RecordsError, closest

__all__ = ["Source", "choose_columns"]

Format = Literal["parquet", "csv", "tsv", "memory"]

#: How a file's name ends, and what it holds then.
ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
}


SEPARATORS: dict[Format, str] = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True, eq=False)
class Source:
    """Files of one format, or a table.

    >>> Source.of(pa.table({"a": [1]})).format
    'memory'
    """

    format: Format
    files: tuple[str, ...] = ()
    table: pa.Table | None = None
    #: The columns of delimited files.
    header: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: object) -> Source:
        """From a path, a pattern such as ``2024-*.parquet``, a folder of Parquet files, or a table.

        A table may be of Arrow, pandas or polars.
        """
        if isinstance(source, Source):
            return source
        if not isinstance(source, str | os.PathLike):
            return cls("memory", table=_table(source))
        text = os.fspath(source)
        if Path(text).is_dir():
            return cls._files(text, sorted(str(path) for path in Path(text).glob("**/*.parquet")))
        if Path(text).exists() or not glob.has_magic(text):
            return cls._files(text, [text])
        found = glob.glob(text)  # noqa: PTH207  (a path's own glob takes no absolute pattern)
        return cls._files(text, sorted(found))

    @classmethod
    def _files(cls, asked: str, files: Sequence[str]) -> Source:
        if not files:
            raise RecordsError(
                "there is no file to read",
                file=asked,
                remedy="name a file, a folder of Parquet files, or a pattern that matches some",
            )
        formats: set[Format] = {_format(file) for file in files}
        if len(formats) > 1:
            raise RecordsError(
                "the files are of several formats", file=asked, found=", ".join(sorted(formats))
            )
        for file in files:
            _check_readable(file)
        kind = formats.pop()
        header = () if kind == "parquet" else _read_header(files, separator=SEPARATORS[kind])
        return cls(kind, tuple(str(Path(file).absolute()) for file in files), header=header)

    @property
    def name(self) -> str | None:
        """What to call it in a message."""
        return None if self.table is not None else self.files[0]

    @property
    def is_text(self) -> bool:
        """Whether every value is text, and empty fields are missing."""
        return self.format in ("csv", "tsv")

    @property
    def separator(self) -> str:
        """What stands between the fields of a delimited file."""
        return SEPARATORS[self.format]


def choose_columns(
    names: Sequence[str], *, public: Sequence[str] | None, sensitive: Sequence[str], file: str | None
) -> tuple[list[str], list[str]]:
    """The public and the sensitive columns, of those there are; all others are public by default.

    >>> choose_columns(["sex", "age", "ill"], public=None, sensitive=["ill"], file=None)
    (['sex', 'age'], ['ill'])
    """
    if not sensitive:
        raise InputError("no sensitive column is named", remedy=closest("", names))
    chosen = list(public) if public is not None else [name for name in names if name not in set(sensitive)]
    wanted = [*chosen, *sensitive]
    for name in wanted:
        if name not in names:
            raise RecordsError("there is no such column", file=file, column=name, remedy=closest(name, names))
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise InputError(
            "a column is named twice", column=twice, remedy="a column is either public or sensitive"
        )
    return chosen, list(sensitive)


def _read_header(files: Sequence[str], *, separator: str) -> tuple[str, ...]:
    """The columns of delimited files, which must be the same in all of them."""
    found: tuple[str, ...] = ()
    for file in files:
        try:
            with _open_text(file) as lines:
                names = tuple(next(csv.reader(lines, delimiter=separator), []))
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as problem:
            raise RecordsError(
                "the file cannot be read", file=file, found=str(problem), remedy="save as UTF-8"
            ) from None
        if not names or not all(names) or len(set(names)) < len(names):
            raise RecordsError(
                "the first line does not name each column once",
                file=file,
                found=separator.join(names),
                remedy="give every column a name of its own",
            )
        if found and names != found:
            raise RecordsError(
                "the file has other columns than the ones before it",
                file=file,
                found=separator.join(names),
                remedy="read files with the same columns, in the same order",
            )
        found = names
    return found


def _open_text(file: str) -> TextIO:
    if file.lower().endswith(".gz"):
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return Path(file).open(encoding="utf-8-sig", newline="")


def _format(file: str) -> Format:
    name = file.lower()
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise RecordsError(
        "the file's ending is none that can be read",
        file=file,
        found=Path(file).suffix,
        remedy=f"use one of {', '.join(ENDINGS)}",
    )


def _check_readable(file: str) -> None:
    try:
        with Path(file).open("rb"):
            return
    except FileNotFoundError:
        raise RecordsError(
            "there is no such file", file=file, remedy="check the name and the folder"
        ) from None
    except OSError as problem:
        raise RecordsError(
            f"the file cannot be read: {problem.strerror or problem}",
            file=file,
            remedy="check that you may read it",
        ) from None


def _table(source: Any) -> pa.Table:
    try:
        if isinstance(source, pa.Table):
            table = source
        elif type(source).__module__.partition(".")[0] == "pandas":
            table = pa.Table.from_pandas(source, preserve_index=False)
        elif hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch):
            table = pa.table(source)
        else:
            raise RecordsError(
                "this is neither a path nor a table",
                found=type(source).__name__,
                remedy="pass a path, an Arrow table, or a pandas or polars data frame",
            )
    except (pa.ArrowException, ValueError, TypeError) as problem:
        raise RecordsError(
            "the data frame cannot be read",
            found=" ".join(str(problem).split()),
            remedy="give every column its own name and one type",
        ) from None
    if len(set(table.column_names)) < len(table.column_names):
        raise RecordsError("two columns have the same name", remedy="rename one")
    return table
