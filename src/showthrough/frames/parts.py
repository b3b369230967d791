"""The files that a path stands for: one, those of a folder, or those that match a pattern.

A path that exists is that file, whatever characters its name has; only one that does not exist may
be a pattern. No path is ever handed to a library that would look for patterns in it.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pyarrow as pa

from showthrough.errors import InputError
from showthrough.frames.binary import ArrowFile, ParquetFile, open_arrow, open_parquet
from showthrough.frames.columns import check_columns
from showthrough.frames.content import Content
from showthrough.frames.delimited import Delimited, open_delimited

__all__ = [
    "FilePart",
    "Format",
    "check_alike",
    "find_parts",
    "format_of",
]

Format = Literal["parquet", "csv", "tsv", "arrow", "memory"]

#: How a file's name ends, and what it holds then.
ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".csv.gz": "csv",
    ".tsv.gz": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}

SEPARATORS = {"csv": ",", "tsv": "\t"}

#: A folder with one of these files is a result of a command, not a table in parts.
RESULTS = ("publication.json", "run.json")

#: What stands for a missing value in the name of a folder.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, eq=False)
class FilePart:
    """One file, and the values that all its rows share because of the folder it lies in."""

    file: Delimited | ParquetFile | ArrowFile
    shared: tuple[tuple[str, str | None], ...] = ()
    #: The row groups of a Parquet file that are meant; None for all.
    groups: tuple[int, ...] | None = None

    @property
    def before(self) -> int:
        """How many rows of the file come before those that are meant."""
        if self.groups is None or not isinstance(self.file, ParquetFile):
            return 0
        return sum(self.file.groups[: self.groups[0]])

    @property
    def n_rows(self) -> int | None:
        """How many rows are meant, where that is known without reading them."""
        if not isinstance(self.file, ParquetFile):
            return None
        return self.file.n_rows if self.groups is None else sum(self.file.groups[at] for at in self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return (*self.file.names, *(name for name, _ in self.shared))

    def named(self, name: str) -> FilePart:
        """The same, called otherwise in messages."""
        return replace(self, file=replace(self.file, content=replace(self.file.content, name=name)))

    def type_of(self, name: str) -> pa.DataType:
        """A column's type."""
        if isinstance(self.file, Delimited) or name not in self.file.names:
            return pa.string()
        return self.file.schema.field(name).type

    def tables(self, columns: Sequence[str], *, rows: int) -> Iterator[pa.Table]:
        """Its rows, some at a time."""
        there = set(self.file.names)
        own = [name for name in columns if name in there]
        if isinstance(self.file, Delimited):
            found = self.file.tables(own)
        elif isinstance(self.file, ArrowFile):
            found = self.file.tables(own, rows=rows)
        else:
            found = self.file.tables(own, rows=rows, groups=self.groups)
        shared = dict(self.shared)
        for table in found:
            for name in columns:
                if name in shared and name not in own:
                    same = pa.repeat(pa.scalar(shared[name], pa.string()), table.num_rows)
                    table = table.append_column(name, same)
            yield table.select(list(columns))


def format_of(path: Path, asked: str, error: type[InputError]) -> Format:
    """What a file holds, by how its name ends."""
    name = path.name.lower()
    for ending in sorted(ENDINGS, key=len, reverse=True):
        if name.endswith(ending):
            return ENDINGS[ending]
    raise error(
        "unsupported file extension",
        file=asked,
        found=path.suffix,
        remedy=f"use one of {', '.join(ENDINGS)}",
    )


def find_parts(name: str, error: type[InputError]) -> Iterator[FilePart]:
    """The files that a path stands for, in order."""
    path = Path(name)
    if _is_dir(path):
        yield from _parts_of_folder(path, name, error)
        return
    files = [name]
    if glob.has_magic(name) and not _exists(path):
        files = sorted(glob.glob(name))  # noqa: PTH207  (a path's own glob takes no absolute pattern)
        if not files:
            raise error(
                "no such file, and no file matches it as a pattern",
                file=name,
                remedy="check the name and the folder",
            )
    for file in files:
        yield FilePart(_open(Path(file), file, error, among=len(files)))


def _parts_of_folder(folder: Path, name: str, error: type[InputError]) -> Iterator[FilePart]:
    """The files of a table in parts; folders named ``column=value`` add a column."""
    if any((folder / result).exists() for result in RESULTS):
        raise error(
            "this folder holds results of another command, not a table",
            file=name,
            remedy="give the table's own file or folder",
        )
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        and not _is_dir(file)
    ]
    if not files:
        raise error(
            "there is no table in this folder", file=name, remedy=f"it should hold {', '.join(ENDINGS)} files"
        )
    for file in files:
        shared = [part.partition("=") for part in file.relative_to(folder).parts[:-1]]
        yield FilePart(
            _open(file, str(file), error, among=len(files)),
            tuple(
                (unquote(key), None if value == NO_VALUE else unquote(value))
                for key, equals, value in shared
                if equals
            ),
        )


def _open(
    path: Path, name: str, error: type[InputError], *, among: int
) -> Delimited | ParquetFile | ArrowFile:
    """A file; of several that are read together, all together are kept in memory only if they are small."""
    kind = format_of(path, name, error) if _exists(path) else "csv"
    content = Content(path, name, error, among=among)  # where no such file, this says so
    if kind == "parquet":
        return open_parquet(content)
    if kind == "arrow":
        return open_arrow(content)
    return open_delimited(content, SEPARATORS[kind])


def check_alike(parts: Sequence[FilePart], error: type[InputError]) -> None:
    """Raise unless all files have the same format and the same columns, each with a name of its own."""
    for part in parts:
        file = part.file.content.name
        check_columns(part.names, (), file=file, error=error)
        if type(part.file) is not type(parts[0].file):
            raise error(
                "the files are of several formats",
                file=file,
                found=f"{parts[0].file.content.path.suffix}, {part.file.content.path.suffix}",
                remedy="read files of one format",
            )
        if set(part.names) != set(parts[0].names):
            other = sorted(set(part.names) ^ set(parts[0].names))
            raise error(
                "the file has different columns than the previous ones",
                file=file,
                column=other[0],
                remedy="read files with the same columns",
            )


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):
        return False
