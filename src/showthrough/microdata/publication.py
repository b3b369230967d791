"""A publication: records whose sensitive values were perturbed, and how to count in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.engine.backend import CountingBackend, CountingPlace, backend_of
from showthrough.engine.duck import identifier
from showthrough.errors import InputError, SchemaError, check_type, closest
from showthrough.estimate import Estimate, check_level
from showthrough.export import Tabular
from showthrough.files import file_digest
from showthrough.frames.columns import texts
from showthrough.microdata.anatomy import ASSUMPTION
from showthrough.microdata.estimation import CountLaw
from showthrough.microdata.groups import Groups
from showthrough.microdata.manifest import MANIFEST, Manifest, read_manifest
from showthrough.microdata.means import estimate_mean, find_scores, inverse_rows
from showthrough.microdata.people import PeopleSummary
from showthrough.microdata.promises import RhoPrivacy, describe_limits
from showthrough.microdata.published import PublishedFile, PublishedFolder, observe, renumber
from showthrough.microdata.weights import (
    WeightedCounts,
    as_weights,
    check_weights,
    weighted_count,
    weighted_counts,
)
from showthrough.schema import Attribute, Schema
from showthrough.selection import Selection, SelectionLike
from showthrough.text import html_summary, several

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkFrame
    from pyspark.sql import SparkSession

__all__ = [
    "Publication",
]

Whole = NDArray[np.int64]

#: How a missing value is named where an empty text is a value too.
MISSING = "(missing)"


@dataclass(frozen=True, eq=False, repr=False)
class Publication(Tabular):
    """A folder with published rows and a manifest that states how to read them.

    ``count`` and ``distribution`` estimate numbers of *true* records, with intervals. Public columns
    were published as they are (or with merged values), so counts of them alone are exact, but for records
    that were left out. A missing public value is written as an empty text in a selection.

    Attributes
    ----------
    folder : Path
        Where it is.
    manifest : Manifest
        What ``publication.json`` states.
    left_out : int or None
        How many records were not published; known only to the publisher.
    notes : tuple of str
        What its publisher should know about the records; empty for a publication that was opened.
    people : PeopleSummary or None
        For how many people the public values reveal too much to readers; known only to the publisher.
    backend : CountingBackend or None
        Where its rows are counted; by default on this machine.
    """

    folder: Path
    manifest: Manifest
    left_out: int | None = None
    notes: tuple[str, ...] = ()
    people: PeopleSummary | None = None
    backend: CountingBackend | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, engine: CountingPlace = None) -> Publication:
        """From a folder. Its manifest and its columns are checked, and its rows are counted.

        Rows are counted on this machine, or on an ``engine``: then and whenever something is asked.
        """
        check_type(folder, (str, os.PathLike), name="folder", remedy="give the folder of a publication")
        backend = None if engine is None else backend_of(engine)
        publication = cls(Path(folder), read_manifest(Path(folder) / MANIFEST), backend=backend)
        rows, said = publication._folder.rows, publication.manifest.records
        if rows.source.names and rows.records != said:
            raise InputError(
                f"the publication has {rows.records:,} rows, but its manifest states {said:,}",
                file=str(publication.data),
                remedy="copy the whole folder, or ask the publisher for the original",
            )
        return publication

    def __repr__(self) -> str:
        said = self.manifest
        columns = f"sensitive: {', '.join(said.sensitive)}; public: {', '.join(said.public) or 'none'}"
        return (
            f"Publication of {several(said.records, 'record')}, {said.method}, in {self.folder}\n  {columns}"
        )

    def _repr_html_(self) -> str:
        """What is published and how, for notebooks."""
        said = self.manifest
        rows = [[table.retention, len(table.values)] for table in said.tables]
        title = f"{several(said.records, 'record')}, {said.method}; sensitive: {', '.join(said.sensitive)}"
        return html_summary(title, [["retention", "values"], *rows], note=f"Public: {', '.join(said.public)}")

    def to_arrow(self) -> pa.Table:
        """The published rows as they are, without any estimate."""
        return self._folder.rows.dataset().to_table()

    def to_spark(self, session: SparkSession) -> SparkFrame:
        """The published rows as a DataFrame of a Spark session, whose tasks read the files."""
        from showthrough.engine.spark_frames import source_to_spark

        return source_to_spark(self._folder.rows.source, session)

    @property
    def data(self) -> Path:
        """The published rows: a file, or a folder of files."""
        return self._folder.data

    @cached_property
    def _folder(self) -> PublishedFolder:
        return PublishedFolder(self.folder, self.manifest, self.backend)

    @cached_property
    def schema(self) -> Schema:
        """The columns a selection can name, with their values as text."""
        public = [Attribute(name, tuple(self._texts(name))) for name in self.manifest.public]
        hidden = [
            Attribute(name, tuple(dict.fromkeys(row[at] for row in self.manifest.domain)))
            for at, name in enumerate(self.manifest.sensitive)
        ]
        return Schema((*public, *hidden))

    @cached_property
    def domain(self) -> pa.Table:
        """The sensitive values, as text."""
        columns = zip(*self.manifest.domain, strict=True)
        return pa.table({name: list(c) for name, c in zip(self.manifest.sensitive, columns, strict=True)})

    def published(self, where: SelectionLike) -> Selection:
        """The selection as it can be answered: with merged public values instead of original ones.

        A question about one of several merged values is answered for all of them together.
        """
        terms = list[tuple[str, tuple[str, ...]]]()
        for name, values in Selection.of(where).terms:
            merged = self.manifest.merged.get(name, {})
            label_of = {value: label for label, members in merged.items() for value in members}
            for value in values:
                if merged and value not in merged and value not in label_of:
                    raise SchemaError(
                        "unknown value", column=name, found=value, remedy=closest(value, [*label_of, *merged])
                    )
            terms.append((name, tuple(v if v in merged else label_of.get(v, v) for v in values)))
        return self.schema.check_selection(Selection(tuple(terms)))

    def count(
        self, where: SelectionLike = "", *, consistent: bool = False, weight: str | None = None
    ) -> Estimate:
        """Estimate how many true records match.

        The value is unbiased, and may be negative. A ``consistent`` one is never negative and never more than
        the records there are: of each sub-table the distribution of sensitive values that makes what is
        published likeliest is taken, and these are added up. Its standard error is that of the unbiased one.
        The interval is the same for both, and contains the true number at least as often as stated. Of an
        anatomy it is made of bounds that hold for certain, and the value rests on an assumption.

        With a ``weight``, a public column, each record counts this many times.
        """
        answered = self.published(where)
        chosen = self._chosen(answered)
        if weight is not None:
            wanted = np.zeros((len(self.manifest.domain), 1))
            wanted[chosen] = 1
            weighed, _, records = self._weighted(answered, (), weight, wanted, consistent=consistent)
            return weighted_count(weighed, int(records[0]), ASSUMPTION)
        observed, _ = observe(self._folder, self._allowed(answered), by=())
        value, spread = observed.chosen(chosen)
        if consistent:
            value = observed.each(consistent=True)[0][:, chosen].sum(axis=1)
        found, records = float(value[0]), int(observed.records[0])
        left_out = self._left_out(chosen, everybody=not self._allowed(answered))
        if np.isnan(spread[0]):
            bounds = CountLaw(observed, chosen)(0.95)
            if bounds[0] == bounds[1]:
                return Estimate(bounds[0], 0.0, records, bounds, left_out)
            return Estimate(found, None, records, bounds, left_out, ASSUMPTION)
        error = float(np.sqrt(spread[0]))
        bounds, law = (0, records) if error else (found, found), CountLaw(observed, chosen)
        return Estimate(found, error, records, bounds, left_out, law=law)

    def distribution(
        self,
        by: str | Sequence[str] = (),
        *,
        where: SelectionLike = "",
        consistent: bool = False,
        level: float = 0.95,
        weight: str | None = None,
    ) -> pa.Table:
        """Estimate how many records have each sensitive value, for each combination of public values.

        A row has the public values, the sensitive value as text, the estimate (``value``), its standard error
        (``error``), and an interval from ``low`` to ``high`` that contains the true number with probability
        ``level``, each row on its own. Of an anatomy there are no errors, and the intervals hold for certain,
        as :meth:`count` explains. Intervals allow for records that were left out.

        The value is unbiased: it may be negative, or more than there are records, and people should be shown
        the nearest end of the interval instead. Consistent estimates are never negative and add up, in each
        combination, to the number of its records. Combinations are estimated separately, so consistent ones
        need not add up to those of a coarser table; unbiased ones do. With a ``weight``, a public column,
        each record counts this many times.
        """
        check_level(level)
        names = [by] if isinstance(by, str) else list(by)
        for name in names:
            if name not in self.manifest.public:
                raise SchemaError(
                    "there is no such public column", found=name, remedy=closest(name, self.manifest.public)
                )
        answered = self.published(where)
        chosen = self._chosen(answered)
        if weight is not None:
            wanted = np.eye(len(self.manifest.domain))[:, chosen]
            weighed, cells, _ = self._weighted(answered, names, weight, wanted, consistent=consistent)
            numbers = (weighed.value, np.sqrt(np.maximum(weighed.variance, 0)), *weighed.ends(level))
            return self._as_table(names, cells, chosen, numbers)
        observed, cells = observe(self._folder, self._allowed(answered), by=names)
        value, spread = (found[:, chosen] for found in observed.each(consistent=consistent))
        low, high = (found[:, chosen] for found in observed.each_ends(level))
        shown = np.clip(value, 0, observed.records[:, None])
        more = np.array([self._left_out(np.array([one]), everybody=False)[1] for one in chosen.tolist()])
        numbers = (value, np.sqrt(spread), np.minimum(low, shown), np.maximum(high, shown) + more)
        return self._as_table(names, cells, chosen, numbers)

    def _as_table(
        self, names: Sequence[str], cells: Sequence[Any], chosen: Whole, numbers: Sequence[NDArray[Any]]
    ) -> pa.Table:
        """Numbers by combination and sensitive value, as rows."""
        at = np.repeat(np.arange(len(numbers[0])), len(chosen))
        columns = [column.take(at) for column in cells]
        values: Any = self.domain.take(np.tile(chosen, len(numbers[0])))
        columns += [*values.columns]
        columns += [pa.array(part.ravel(), mask=~np.isfinite(part.ravel())) for part in numbers]
        labels = [*names, *values.column_names]
        for label in ("value", "error", "low", "high"):
            labels.append(label + "_" * sum(name.rstrip("_") == label for name in labels))
        return self._in_order_of_bins(pa.Table.from_arrays(columns, names=labels), len(names))

    def _in_order_of_bins(self, table: pa.Table, n_public: int) -> pa.Table:
        """The rows of a table, with bins in the order of their numbers instead of that of their names."""
        bins = self.manifest.bins or {}
        keys = list[Whole]()
        for at, name in enumerate(table.column_names[:-4]):
            shown = texts(table[name])
            places = {text: place for place, text in enumerate(dict.fromkeys(shown))}
            if name in bins:
                places = {text: place for place, text in enumerate(("", *bins[name].bins.labels))}
            elif at < n_public:
                keys.append(renumber([table[name]])[0])
                continue
            # Merged bins have names of their own, and come last.
            keys.append(np.array([places.get(text, len(places)) for text in shown], np.int64))
        return table.take(np.lexsort(keys[::-1])) if bins and len(table) else table

    def _weighted(
        self,
        answered: Selection,
        by: Sequence[str],
        weight: str,
        wanted: NDArray[np.float64],
        *,
        consistent: bool,
    ) -> tuple[WeightedCounts, list[Any], Whole]:
        """Weighted counts, the combinations they are of, and how many records each has."""
        self._check_weight(weight, consistent=consistent)
        observed, cells = observe(self._folder, self._allowed(answered), by=[*by, weight])
        weights = as_weights(cells[-1], weight)
        if weights is None:
            check_weights(self._folder.rows.source, weight)
            raise SchemaError("a weight is missing, negative or not a number", column=weight)
        cell, first = np.zeros(len(weights), np.int64), np.zeros(1, np.int64)
        if by:
            cell, first = renumber(cells[:-1])
        found = weighted_counts(observed, weights, cell, len(first), wanted)
        records = np.bincount(cell, observed.records, len(first)).astype(np.int64)
        return found, [column.take(first) for column in cells[:-1]], records

    def _check_weight(self, weight: str, *, consistent: bool) -> None:
        check_type(weight, str, name="weight", remedy="name a public column of numbers")
        said = self.manifest
        if weight not in said.public:
            remedy = closest(weight, said.public) if said.public else "publish the weights as a public column"
            raise SchemaError("there is no such public column", column=weight, remedy=remedy)
        if weight in said.merged or weight in (said.bins or {}):
            raise SchemaError(
                "these weights are no longer numbers: they were merged or put into bins",
                column=weight,
                remedy="weigh by another column",
            )
        if consistent:
            raise InputError("weighted estimates are unbiased only", remedy="leave out consistent")
        if self.suppressed != 0:
            raise InputError(
                "records were left out, and what they weigh is not known", remedy="count without a weight"
            )

    def mean(
        self, where: SelectionLike = "", *, scores: Mapping[str, float] | Sequence[float] | None = None
    ) -> Estimate:
        """Estimate the mean of the sensitive column among the records that match the public part.

        Only for uniform and ordinal publications with one sensitive column. By default values count as their
        numbers, and bins as their middle (an open one as if it were as wide as its neighbour); ``scores``
        gives other numbers, by value or in the order of the domain. The estimate is unbiased, and its
        interval contains the true mean at least as often as stated.
        """
        answered = self.published(where)
        asked = [name for name in self.manifest.sensitive if name in answered]
        if asked:
            raise SchemaError("a mean is over all sensitive values", column=asked[0], remedy="leave it out")
        numbers = find_scores(self.manifest, scores)
        observed, _ = observe(self._folder, self._allowed(answered), by=())
        return estimate_mean(observed, self.manifest, numbers)

    @property
    def suppressed(self) -> int | None:
        """How many records were left out; None if the publication does not state it."""
        said = self.manifest
        return said.suppressed if said.suppressed is not None or said.method == "anatomy" else 0

    def describe_suppressed(self) -> str:
        """How many records were left out, in a sentence; empty if none were."""
        match self.suppressed:
            case None:
                return "It is not stated how many records were left out of the publication."
            case 0:
                return ""
            case number:
                were, them = ("was", "it") if number == 1 else ("were", "them")
                out = f"{several(number, 'record')} {were} left out of the publication"
                return f"{out}; upper ends allow for {them}."

    @cached_property
    def _cut(self) -> NDArray[np.bool_]:
        """Which values the records that were left out may have.

        An anatomy leaves out records of its most frequent values, all cut down to the same number.
        """
        if self.manifest.method != "anatomy":
            return np.ones(len(self.manifest.domain), bool)
        totals = np.asarray(self._folder.bucket_values.sum(axis=0)).ravel()
        return totals == totals.max()

    def _left_out(self, chosen: Whole, *, everybody: bool) -> tuple[float, float]:
        """Of the records that were left out, how few and how many have one of some values."""
        number = self.suppressed
        if not number:
            return (0, np.inf) if number is None else (0, 0)
        cut = self._cut
        if not cut[chosen].any():
            return 0, 0
        return (number if everybody and cut[chosen].sum() == cut.sum() else 0), number

    def groups(self) -> Groups:
        """The published counts by group, as a check of a promise takes them (not those of an anatomy)."""
        if self.manifest.method == "anatomy":
            raise InputError("an anatomy does not state which group has which sensitive value")
        return self.read_groups(self.manifest.public)

    def read_groups(self, public: Sequence[str]) -> Groups:
        """The published rows counted by some columns and the sensitive ones."""
        sensitive = list(self.manifest.sensitive)
        return Groups.read(self.data, sensitive=sensitive, public=list(public), engine=self.backend)

    def counted(self, columns: Sequence[str]) -> pa.Table:
        """How many published rows there are of each combination of columns; the numbers come last."""
        return self._folder.rows.count(list(columns), {})

    def sizes(self) -> Whole:
        """How many records each sub-table has (not for an anatomy, which has buckets)."""
        label = self.manifest.label
        if label is None or self.manifest.method == "anatomy":
            return np.array([self.manifest.records])
        found: Any = self._folder.rows.count([label], {})
        sizes = np.zeros(len(self.manifest.tables), np.int64)
        sizes[self._folder.labels(found.columns[0]) - 1] = self._folder.labels(found.columns[-1])
        return sizes

    def describe_limits(self) -> str:
        """What its promise does not cover, as a sentence; empty if there is nothing to say."""
        try:
            promise = self.manifest.own_promise
        except (LookupError, TypeError, ValueError):
            return ""
        return describe_limits(promise, self.manifest.method) if isinstance(promise, RhoPrivacy) else ""

    def digests(self) -> dict[str, str]:
        """The SHA-256 of the manifest and of the rows, by file."""
        rows = PublishedFile(self.data, ()).source
        return {MANIFEST: file_digest(self.folder / MANIFEST), **rows.digests()}

    def register(self, connection: duckdb.DuckDBPyConnection, name: str = "publication") -> None:
        """Make the rows a view in a DuckDB connection, and the sub-tables' parameters ``name_tables``.

        With p = retention and m = n_values of a sub-table, (number with a value − (1 − p)/m · number of
        all)/p is the unbiased estimate, to be added up over the sub-tables that have the value. It may be
        negative, and it says nothing of records that were left out. An anatomy has buckets in place of
        sub-tables: of c rows and k values that match in a bucket of n, between max(0, c + k − n) and
        min(c, k) belong together. Of an ordinal publication there is ``name_inverse``: the sum of its
        weights for a value over the shown values of all rows is the estimate.
        """
        tables = identifier(f"{name}_tables")
        connection.register(name, self._folder.rows.dataset())
        connection.execute(
            f"CREATE OR REPLACE TABLE {tables} (part BIGINT, retention DOUBLE, n_values BIGINT)"
        )
        if self.manifest.method == "ordinal":
            matrix = identifier(f"{name}_inverse")
            connection.execute(f"CREATE OR REPLACE TABLE {matrix} (shown TEXT, value TEXT, weight DOUBLE)")
            for row in inverse_rows(self.manifest):
                connection.execute(f"INSERT INTO {matrix} VALUES (?, ?, ?)", row)  # noqa: S608
        for at, table in enumerate(self.manifest.sub_tables, 1):
            row = (at, table.retention, table.n_values)
            connection.execute(f"INSERT INTO {tables} VALUES (?, ?, ?)", row)  # noqa: S608

    def _texts(self, name: str) -> list[str]:
        """A public column's values as text, each its own."""
        found = texts(self._values[name])
        if self._values[name].null_count and found.count("") > 1:
            found[0] = MISSING
        return found

    @cached_property
    def _values(self) -> dict[str, pa.Array]:
        return {name: self._folder.rows.values(name) for name in self.manifest.public}

    def _allowed(self, selection: Selection) -> dict[str, pa.Array]:
        """The public values a selection allows, in the types they were published in."""
        allowed: dict[str, pa.Array] = {}
        for name in self.manifest.public:
            if name in selection:
                codes = sorted(self.schema[name].code(value) for value in selection[name])
                allowed[name] = self._values[name].take(np.array(codes))
        return allowed

    def _chosen(self, selection: Selection) -> Whole:
        """The sensitive values a selection allows, as positions in the domain."""
        hit = np.ones(len(self.manifest.domain), bool)
        for at, name in enumerate(self.manifest.sensitive):
            if name in selection:
                hit &= np.array([row[at] in selection[name] for row in self.manifest.domain])
        return np.flatnonzero(hit)
