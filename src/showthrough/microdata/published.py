"""The files of a publication, and the counts in them as estimation takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as arrow_csv
import pyarrow.dataset
import pyarrow.fs
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.engine.backend import CountingBackend
from showthrough.engine.coding import FoundValues, found_values
from showthrough.engine.handed import in_order_on
from showthrough.engine.keys import sorted_keys
from showthrough.errors import InputError, ShowthroughError
from showthrough.frames import Source, plain_texts
from showthrough.frames.columns import texts
from showthrough.microdata.channel import Channelled
from showthrough.microdata.estimation import Bucketed, Observed, Perturbed
from showthrough.microdata.manifest import DATA, SENSITIVE, Manifest
from showthrough.microdata.product import find_channel
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import trials_for
from showthrough.records import number_rows

__all__ = [
    "PublishedFile",
    "PublishedFolder",
    "damaged",
    "observe",
    "renumber",
]

Found = TypeVar("Found")
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublishedFolder:
    """The tables of a publication. What they hold is checked when it is read."""

    folder: Path
    manifest: Manifest
    backend: CountingBackend | None = None

    @property
    def data(self) -> Path:
        """The published rows: a file, or a folder of files."""
        return self.folder / DATA[self.manifest.format]

    @cached_property
    def rows(self) -> PublishedFile:
        """The published rows, to count in."""
        said = self.manifest
        hidden = () if said.method == "anatomy" else said.sensitive
        names = (*said.public, *hidden, *filter(None, (said.label, said.copies)))
        return PublishedFile(self.data, names, self.backend)

    @cached_property
    def bucket_values(self) -> Any:
        """How often each bucket of an anatomy holds each value."""
        label, hidden = str(self.manifest.label), self.manifest.sensitive
        table = PublishedFile(self.folder / SENSITIVE[self.manifest.format], (label, *hidden))
        number = next((name for name in table.source.names if name not in table.names), None)
        if number is None:
            raise self.damaged("the second table has no numbers")
        found: Any = table.count([label, *hidden, number], {})
        bucket, count = self.labels(found.columns[0]) - 1, self.labels(found.columns[-2])
        value = self.positions(found.columns[1:-2])
        if not len(bucket):
            raise self.damaged("the second table has no rows")
        if min(bucket.min(initial=0), count.min(initial=0)) < 0 or bucket.max() >= self.manifest.records:
            raise self.damaged("the second table has a number that cannot be")
        return csr_array((count, (bucket, value)), shape=(int(bucket.max()) + 1, len(self.manifest.domain)))

    def positions(self, columns: Sequence[Any]) -> Whole:
        """Which value of the domain each row has; an error for one that is not in it."""
        at = {row: number for number, row in enumerate(self.manifest.domain)}
        of, first = renumber(columns)
        shown = [tuple(row) for row in zip(*(texts(column.take(first)) for column in columns), strict=True)]
        for row in shown:
            if row not in at:
                raise self.damaged("a row has a sensitive value that is not in the domain", ", ".join(row))
        return np.array([at[row] for row in shown], np.int64)[of]

    def labels(self, column: Any) -> Whole:
        """A column of whole numbers."""
        try:
            if column.null_count:
                raise ValueError
            return np.asarray(column.cast(pa.int64()).combine_chunks(), np.int64)
        except (pa.ArrowException, ValueError):
            raise self.damaged("a row has no whole number where one should be") from None

    def damaged(self, problem: str, found: str | None = None) -> InputError:
        """The error for rows that cannot have been written like this."""
        return damaged(self.data, problem, found)


def damaged(file: Path, problem: str, found: str | None = None) -> InputError:
    """The error for a file of a publication that cannot have been written like this."""
    return InputError(
        f"the publication is damaged: {problem}",
        file=str(file),
        found=found,
        remedy="ask the publisher for the original",
    )


def observe(
    folder: PublishedFolder, allowed: Mapping[str, pa.Array], *, by: Sequence[str]
) -> tuple[Observed, list[Any]]:
    """Counts of the rows with allowed public values, for each combination of some; and these, as columns.

    Without ``by`` there is one combination, and no columns.
    """
    if folder.manifest.method == "anatomy":
        return _observe_buckets(folder, allowed, by)
    said = folder.manifest
    label = [said.label] if said.label else []
    # The groups of a sampled publication have their own numbers of copies.
    rest = [n for n in (*said.public, said.copies) if n and n not in by] if said.method == "sampled" else []
    found: Any = folder.rows.count([*by, *label, *rest, *said.sensitive], allowed)
    n_unit = len(by) + len(label) + len(rest)
    cell, cells = _combinations(found, len(by))
    unit, first = renumber(found.columns[:n_unit]) if n_unit else _single(found.num_rows)
    value = folder.positions(found.columns[n_unit:-1])
    number = folder.labels(found.columns[-1])
    counts = csr_array((number, (unit, value)), shape=(len(first), len(said.domain)))
    table = np.zeros(len(first), np.int64)
    if label:
        table = folder.labels(found.columns[len(by)])[first] - 1
    _check_tables(folder, table, counts)
    copies = _copies(folder, found.columns[n_unit - 1].take(first) if said.copies else None, counts)
    n_cells = len(cells[0]) if cells else 1
    if said.method in ("ordinal", "product"):
        return _channelled(said, csr_array((number, (cell, value)), shape=(n_cells, len(said.domain)))), cells
    independent = said.trials == "independent"
    return Perturbed(n_cells, cell[first], table, copies, counts, said.sub_tables, independent), cells


def _channelled(said: Manifest, counts: Any) -> Channelled:
    (table,) = said.sub_tables
    return Channelled(counts, find_channel(said), table.values)


def _observe_buckets(
    folder: PublishedFolder, allowed: Mapping[str, pa.Array], by: Sequence[str]
) -> tuple[Observed, list[Any]]:
    found: Any = folder.rows.count([*by, str(folder.manifest.label)], allowed)
    cell, cells = _combinations(found, len(by))
    bucket, counts = folder.labels(found.columns[len(by)]) - 1, folder.bucket_values
    if len(bucket) and not (bucket.min() >= 0 and bucket.max() < counts.shape[0]):
        raise folder.damaged("a row belongs to a bucket that does not exist")
    rows = folder.labels(found.columns[-1])
    return Bucketed(len(cells[0]) if cells else 1, cell, bucket, rows, counts), cells


def _combinations(found: Any, n_columns: int) -> tuple[Whole, list[Any]]:
    """To which combination of the first columns each row belongs, and these combinations."""
    if not n_columns:
        return np.zeros(found.num_rows, np.int64), []
    cell, first = renumber(found.columns[:n_columns])
    return cell, [column.take(first) for column in found.columns[:n_columns]]


def _single(n_rows: int) -> tuple[Whole, Whole]:
    return np.zeros(n_rows, np.int64), np.zeros(min(1, n_rows), np.int64)


def _check_tables(folder: PublishedFolder, table: Whole, counts: Any) -> None:
    tables = folder.manifest.tables
    if len(table) and not (table.min() >= 0 and table.max() < len(tables)):
        raise folder.damaged("a row belongs to a sub-table that does not exist")
    member = np.zeros((len(tables), len(folder.manifest.domain)), bool)
    for at, one in enumerate(tables):
        member[at, list(one.values)] = True
    cells = counts.tocoo()
    if not member[table[cells.row], cells.col].all():
        raise folder.damaged("a row has a sensitive value that its sub-table does not have")


def _copies(folder: PublishedFolder, column: Any, counts: Any) -> Floats:
    """How many copies of each trial were published, for each unit."""
    said = folder.manifest
    if said.method != "sampled":
        return np.ones(counts.shape[0])
    if column is None:
        return _most_copies(said, counts)
    try:
        copies = np.asarray(column.cast(pa.float64()).combine_chunks(), np.float64)
    except (pa.ArrowException, ValueError):
        copies = np.full(1, np.nan)
    if not ((copies >= 1) & np.isfinite(copies)).all():
        raise folder.damaged("a row has no number of copies")
    return copies


def _most_copies(said: Manifest, counts: Any) -> Floats:
    """The same where it is not published, because it would tell too much: as many as there can be.

    The number of trials follows from a frequency that readers do not know, so the fewest trials of any
    frequency are assumed: error bars are then too wide rather than too narrow.
    """
    table = said.sub_tables[0]
    promise: dict[str, Any] = dict(said.promise or {})
    sizes = np.asarray(counts.sum(axis=1), np.int64)
    # By the Chernoff bound the most frequent value has the fewest trials; exact limits jump.
    shares = np.ones(1) if said.bound != "exact" else np.linspace(1 / table.n_values, 1, 513)
    fewest = trials_for(
        shares,
        np.full(len(shares), sizes.max(initial=1)),
        promise=ReconstructionPrivacy(float(promise["error"]), float(promise["chance"])),
        retention=table.retention,
        n_values=table.n_values,
        bound=said.bound or "chernoff",
        band=1,
    ).min()
    return sizes / np.maximum(1, np.minimum(sizes, fewest))


pc: Any = pyarrow.compute

#: Counted cells of chunks that wait to be added up.
CELLS = 2**20


@dataclass(frozen=True, eq=False)
class PublishedFile:
    """A file (or a folder of files) of published rows."""

    path: Path
    #: The columns it must have.
    names: tuple[str, ...]
    #: Where the rows are counted; by default here.
    backend: CountingBackend | None = None

    @cached_property
    def source(self) -> Source:
        """The rows, checked for the columns they must have."""
        if not self.path.exists():
            raise InputError(
                "the rows of the publication are missing",
                file=str(self.path),
                remedy="copy the whole folder of the publication",
            )
        found = Source.of(self.path, error=InputError)
        for name in self.names:
            if name not in found.names:
                raise InputError(
                    "a column of the publication is missing",
                    file=str(self.path),
                    column=name,
                    remedy="ask the publisher for the original",
                )
        return found

    @property
    def files(self) -> tuple[str, ...]:
        """The files the rows are in."""
        return self.source.files

    @cached_property
    def records(self) -> int:
        """How many rows there are."""
        known = self.source.n_rows()
        if known is not None:
            return known
        return sum(self._each(_count_rows))

    def _each(self, work: Callable[[Source], Found]) -> Iterator[Found]:
        """What is found in the rows; where they are counted elsewhere, piece by piece, in their order."""
        engine: Any = getattr(self.backend, "engine", None)
        if engine is None:
            yield work(self.source)
        else:
            yield from in_order_on(engine, work, self.source.pieces())

    def values(self, name: str) -> pa.Array:
        """The different values of a column, in order."""
        found = FoundValues([name])
        for part in self._each(partial(found_values, names=[name])):
            found.add(part)
        self._check_read(found.records)
        return found.column(name).values

    def _check_read(self, rows: int) -> None:
        """Raise unless all rows were read, where other machines read them."""
        if self.backend is not None and rows != self.records:
            raise ShowthroughError(
                f"{self.path}: there are {self.records:,} rows, but {rows:,} were read; check the disk, and "
                "that all machines see the same files"
            )

    def count(self, columns: Sequence[str], allowed: Mapping[str, pa.Array]) -> pa.Table:
        """How many rows there are of each kind, of those that have allowed values.

        The result has the columns in the order given, and the numbers as its last.
        """
        work = _CountCells(tuple(columns), dict(allowed))
        found, n_cells, n_rows = list[pa.Table](), 0, 0
        for part, read in self._each(work):
            found.append(part)
            n_rows += read
            n_cells += part.num_rows
            if n_cells > CELLS:
                found = [_added(found, work.names)]
                n_cells = found[0].num_rows - CELLS
        self._check_read(n_rows)
        if not columns:
            return pa.table({"number": [sum(int(part["count_all"][0].as_py()) for part in found)]})
        kinds = [(name, self.source.types[column]) for name, column in zip(work.names, columns, strict=True)]
        empty = pa.schema([*kinds, ("count_all", pa.int64())]).empty_table()
        there = [part for part in found if part.num_rows]
        return _added(there or [empty], work.names).rename_columns([*work.names, "number"])

    def dataset(self) -> pyarrow.dataset.Dataset:
        """The rows for other programs, which read from the files what they need."""
        local = pyarrow.fs.LocalFileSystem()
        if not self.source.is_text:
            return pyarrow.dataset.dataset(list(self.files), format="parquet", filesystem=local)
        texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(self.source.names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        )
        kind = pyarrow.dataset.CsvFileFormat(
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True), convert_options=texts
        )
        return pyarrow.dataset.dataset(list(self.files), format=kind, filesystem=local)


@dataclass(frozen=True, eq=False)
class _CountCells:
    """Counts in some rows how many there are of each kind, of those that have allowed values."""

    columns: tuple[str, ...]
    allowed: dict[str, pa.Array]

    @property
    def names(self) -> list[str]:
        """What the columns are called where they are counted: two may be the same."""
        return [f"column_{at}" for at in range(len(self.columns))]

    def __call__(self, source: Source) -> tuple[pa.Table, int]:
        """The counts, and how many rows were read."""
        found, n_cells, n_rows, n_allowed = list[pa.Table](), 0, 0, 0
        for chunk in source.chunks(list(dict.fromkeys((*self.columns, *self.allowed)))):
            table: Any = self._with_allowed(plain_texts(chunk.table))
            n_rows, n_allowed = n_rows + chunk.table.num_rows, n_allowed + table.num_rows
            if not self.columns:
                continue
            cells = table.select(list(self.columns)).rename_columns(self.names)
            found.append(cells.group_by(self.names).aggregate([([], "count_all")]))
            n_cells += found[-1].num_rows
            if n_cells > CELLS:
                found = [_added(found, self.names)]
                n_cells = found[0].num_rows - CELLS
        if not self.columns:
            return pa.table({"count_all": [n_allowed]}), n_rows
        return (_added(found, self.names) if found else pa.table({})), n_rows

    def _with_allowed(self, table: pa.Table) -> pa.Table:
        """The rows that have allowed values."""
        for name, values in self.allowed.items():
            table = table.filter(pc.is_in(table[name], value_set=values))
        return table


def _count_rows(source: Source) -> int:
    return sum(chunk.table.num_rows for chunk in source.chunks(source.names[:1]))


def _added(parts: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Counts of the same cells, added up."""
    whole: Any = pa.concat_tables(parts)
    counted = whole.group_by(list(names)).aggregate([("count_all", "sum")])
    return counted.select([*names, "count_all_sum"]).rename_columns([*names, "count_all"])


def renumber(columns: Sequence[pa.ChunkedArray]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal rows get equal numbers, in ascending order; and the first row with each number.

    >>> of, first = renumber([pa.chunked_array([["b", "a", "b"]]), pa.chunked_array([[1, 1, 1]])])
    >>> of.tolist(), first.tolist()
    ([1, 0, 1], [1, 0])
    """
    codes = (
        pc.index_in(column, value_set=sorted_keys(column.unique())).to_numpy().astype(np.int64)
        for column in columns
    )
    of = number_rows(codes, len(columns[0]) if columns else 0)
    return of, np.unique(of, return_index=True)[1].astype(np.int64)
