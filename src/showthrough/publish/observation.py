"""Counts in a publication, unit by unit, as estimation takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from showthrough.errors import InputError
from showthrough.publish.estimation import Bucketed, Observed, Perturbed
from showthrough.publish.manifest import DATA, SENSITIVE, Manifest
from showthrough.publish.reading import PublishedFile, renumber
from showthrough.publish.reconstruction import ReconstructionPrivacy
from showthrough.publish.sample import trials_for
from showthrough.publish.text import texts

__all__ = ["PublishedFolder", "observe"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublishedFolder:
    """The tables of a publication. What they hold is checked when it is read."""

    folder: Path
    manifest: Manifest

    @property
    def data(self) -> Path:
        """The published rows: a file, or a folder of files."""
        return self.folder / DATA[self.manifest.format]

    @cached_property
    def rows(self) -> PublishedFile:
        """The published rows, to count in."""
        said = self.manifest
        hidden = () if said.method == "anatomy" else said.sensitive
        return PublishedFile(self.data, (*said.public, *hidden, *filter(None, (said.label, said.copies))))

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
        """The error for a publication that cannot have been written like this."""
        return InputError(
            f"the publication is damaged: {problem}",
            file=str(self.data),
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
    return Perturbed(n_cells, cell[first], table, copies, counts, said.sub_tables), cells


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
        return _guessed_copies(said, counts)
    try:
        copies = np.asarray(column.cast(pa.float64()).combine_chunks(), np.float64)
    except (pa.ArrowException, ValueError):
        copies = np.full(1, np.nan)
    if not ((copies >= 1) & np.isfinite(copies)).all():
        raise folder.damaged("a row has no number of copies")
    return copies


def _guessed_copies(said: Manifest, counts: Any) -> Floats:
    """The same where it is not published, because it would tell too much: from the estimates."""
    table, promise = said.sub_tables[0], said.promise or {}
    sizes = np.asarray(counts.sum(axis=1), np.int64)
    largest = counts.max(axis=1).toarray().ravel() / np.maximum(sizes, 1)
    trials = trials_for(
        np.clip((largest - table.stray) / table.retention, 0, 1),
        sizes,
        promise=ReconstructionPrivacy(float(promise["error"]), float(promise["chance"])),
        retention=table.retention,
        n_values=table.n_values,
        bound=said.bound or "chernoff",
        band=1,
    )
    return sizes / np.maximum(1, trials)
