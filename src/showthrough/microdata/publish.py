"""Publish records: count, draw, shuffle, write, read back, and only then move the folder to its place.

Whatever is counted and drawn on the way is as secret as the records: it is kept in a private folder,
never beside the publication.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType

import pyarrow as pa

from showthrough.engine.backend import CountingBackend, CountingPlace, backend_of
from showthrough.engine.handed import scratch_place
from showthrough.engine.keys import KeyCodec, Keys
from showthrough.errors import InputError, check_function, check_type
from showthrough.folders import Description, PageMaker, new_folder
from showthrough.frames import Source
from showthrough.frames.bins import Bins
from showthrough.frames.columns import check_texts
from showthrough.locks import hold
from showthrough.microdata.bins import BinRuleLike
from showthrough.microdata.columns import Columns, note_many_values
from showthrough.microdata.generalize import Merging
from showthrough.microdata.manifest import (
    DATA,
    KIND,
    MANIFEST,
    SENSITIVE,
    BinsEntry,
    Manifest,
    TableEntry,
    write_manifest,
)
from showthrough.microdata.methods import MethodOptions, PublishingMethod, choose_method
from showthrough.microdata.people import PeopleSummary
from showthrough.microdata.people_planned import planned_people
from showthrough.microdata.plan import Method, Plan, check_seed
from showthrough.microdata.product import ProductPerturbation
from showthrough.microdata.promises import PromiseLike
from showthrough.microdata.publication import Publication
from showthrough.microdata.sampled import Trials
from showthrough.microdata.violations import Bound
from showthrough.microdata.write import FileFormat, check_written, write_rows, write_table
from showthrough.scratch import private_scratch

__all__ = [
    "publish",
]

#: Files that older manifests did not list.
OLDER = (*DATA.values(), *SENSITIVE.values())


def publish(
    data: object,
    out: str | os.PathLike[str],
    *,
    sensitive: str | Sequence[str],
    method: Method | str | None = None,
    promise: PromiseLike | Mapping[str, PromiseLike] | None = None,
    retention: float | None = None,
    bound: Bound = "exact",
    trials: Trials = "independent",
    merging: Merging = "conditional",
    given: str | None = None,
    seed: int | None = None,
    public: Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    bins: Mapping[str, BinRuleLike] | None = None,
    records: bool = False,
    file_format: FileFormat = "parquet",
    overwrite: bool = False,
    engine: CountingPlace = None,
    scratch: str | os.PathLike[str] | None = None,
    page: PageMaker | None = None,
    progress: Callable[[int], None] | None = None,
) -> Publication:
    """Publish records so that individual sensitive values stay deniable and statistics can be estimated.

    The result depends on the records, the method and the seed only.

    Parameters
    ----------
    data : path or table
        A CSV, TSV or Parquet file, a folder of these, a pattern, or a table of Arrow, pandas, polars or
        Spark.
    out : path
        The folder to write.
    sensitive : str or sequence of str
        The sensitive column; several count as one compound value.
    method : str or method, optional
        ``"uniform"``, ``"partitioned"``, ``"sampled"`` or ``"anatomy"``, by default the one that follows from
        the promise; or a method with its parameters, such as ``Partitioned(RhoPrivacy(0.1, 0.5))``.
    promise : promise or str, optional
        For example ``"rho=0.1:0.5"``, or ``"0.1:0.5"`` if the method is named. With several sensitive columns
        there may be one for each, as ``{"income": "0.3:0.6", "disease": "0.1:0.5"}``: each is then perturbed
        separately.
    retention : float, optional
        The share of sensitive values that are kept, for uniform publications; the largest share that may
        be kept, for sampled ones.
    bound : {"exact", "chernoff"}
        Which bound the sample sizes of ``sampled`` follow.
    trials : {"independent", "banded", "printed"}
        How many records of a group ``sampled`` draws. Only ``independent`` keeps the promise against all that
        is published; the others are for comparison.
    merging : {"conditional", "components", "none"}
        How ``sampled`` merges public values between which a test finds no difference in the sensitive value:
        given the other public values, column by column as in the paper, or not at all.
    given : {"public"}, optional
        Keep a promise ``rho`` for readers who see the public values too: public values are merged, and groups
        get a retention by their own shares, until it holds in every published group.
    seed : int, optional
        Makes the result repeatable. Keep it secret and take a large one: whoever knows it can undo the
        perturbation. By default a seed is drawn and discarded.
    public : sequence of str, optional
        The public columns, by default all others. Columns that are neither are not published. A column
        that nearly identifies single people (it has more different values than half of the records) is
        refused unless it is named here.
    drop : str or sequence of str
        Columns to leave out.
    bins : mapping, optional
        Puts the numbers of public or sensitive columns into bins before anything is counted: a width such
        as ``{"age": 10}``, ends such as ``{"age": [18, 30, 65]}``, or ``{"age": "quantiles:5"}``.
    records : bool
        Every row is a record, even if the file looks like published counts.
    file_format : {"parquet", "csv"}
        How rows are written.
    overwrite : bool
        Replace a publication in ``out``.
    engine : Engine, optional
        Where records are counted, drawn and written, by default on this machine. With the same seed the rows
        are the same everywhere.
    scratch : path, optional
        Where a private folder for temporary files goes, by default what SHOWTHROUGH_SCRATCH names, or the
        system's temporary folder. The machines of a cluster must share it.
    page : callable, optional
        Writes the page of the finished folder it is given.
    progress : callable, optional
        Called with the number of rows written since the last call.

    Returns
    -------
    Publication
        The publication, opened. Its ``left_out`` is the number of records that were not published.

    Raises
    ------
    InputError
        If the records or the parameters cannot be used, or the folder is not empty.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> with TemporaryDirectory() as folder:
    ...     found = publish(people, f"{folder}/public", sensitive="ill", retention=0.5, seed=2**90 + 7)
    ...     print(found.count("sex=f,ill=yes"), "of", found.count("sex=f"))
    276 (238 to 315) of 500
    """
    options = MethodOptions(retention=retention, bound=bound, trials=trials, merging=merging, given=given)
    chosen = _chosen_method(method, promise, options)
    target = _Target(out, file_format, overwrite, page, progress)
    check_type(scratch, (str, os.PathLike, NoneType), name="scratch", remedy="give the path of a folder")
    if seed is not None:
        check_seed(seed)
    backend = backend_of(engine)
    columns = Columns.of(sensitive, public=public, drop=drop, bins=bins, records=records)
    place = scratch_place(getattr(backend, "engine", None), scratch)
    order = _Order(Source.of(data, scratch=place), columns, chosen, backend, target, place)
    plan = order.digest()
    with hold(out) as lock:
        # Drawn again, the two together would reveal more.
        done = order.count() if seed is None and lock.finished(plan) else order.write(plan, seed)
        found = Publication.open(out)
    return replace(found, left_out=done.read - found.manifest.records, notes=done.notes, people=done.people)


@dataclass(frozen=True, eq=False)
class _Target:
    """Where a publication goes, and how its rows are written."""

    out: str | os.PathLike[str]
    file_format: FileFormat
    overwrite: bool
    page: PageMaker | None
    progress: Callable[[int], None] | None

    def __post_init__(self) -> None:
        check_type(self.out, (str, os.PathLike), name="out", remedy="give the path of the folder to write")
        for name, called in (("page", self.page), ("progress", self.progress)):
            check_function(called, name=name)
        check_type(self.file_format, str, name="file_format", remedy="choose parquet or csv")
        if self.file_format not in DATA:
            raise InputError("unknown file format", found=self.file_format, remedy="choose parquet or csv")


@dataclass(frozen=True)
class _Done:
    """What the publisher learns: how many records were given, notes, and who learns too much of whom."""

    read: int
    notes: tuple[str, ...]
    people: PeopleSummary | None = None


@dataclass(frozen=True, eq=False)
class _Order:
    """What is to be published, by which method, and where to."""

    data: Source
    columns: Columns
    method: Method
    backend: CountingBackend
    target: _Target
    scratch: str | os.PathLike[str] | None

    def digest(self) -> str | None:
        """What identifies the same publication, but for its seed; None for a table in memory.

        Files are known by their size and time: no hash of them is kept, not even for a while.
        """
        if not self.data.files:
            return None
        found = [(file, Path(file).stat()) for file in self.data.files]
        parameters = {
            "method": repr(self.method),
            **self.columns.to_plain(),
            "format": self.target.file_format,
            "engine": type(self.backend).__name__,
        }
        inputs = {file: f"{known.st_size} {known.st_mtime_ns}" for file, known in found}
        return Description(KIND, parameters, inputs, ("showthrough",)).plan(page=self.target.page is not None)

    def count(self) -> _Done:
        """Only count the records: they are published already."""
        with (
            private_scratch(self.scratch) as files,
            self.columns.count(self.data, backend=self.backend, scratch=files) as counted,
        ):
            return _Done(counted.tally.records, counted.notes)

    def write(self, plan: str | None, seed: int | None) -> _Done:
        """Write the folder, complete or not at all."""
        target = self.target
        with (
            new_folder(
                target.out,
                kind=KIND,
                manifest=MANIFEST,
                older=OLDER,
                plan=plan,
                overwrite=target.overwrite,
                page=target.page,
            ) as draft,
            private_scratch(self.scratch) as files,
        ):
            drawn = secrets.randbits(128) if seed is None else seed
            work = _Work(
                self.method, self.backend, drawn, draft.path, target.file_format, files, target.progress
            )
            done, said = work.write(self.data, self.columns)
            draft.describe = _describing(said)
        return done


@dataclass(frozen=True, eq=False)
class _Work:
    """One publication being written: rows, the second table of an anatomy, and the manifest."""

    method: Method
    backend: CountingBackend
    seed: int
    folder: Path
    file_format: FileFormat
    scratch: Path
    progress: Callable[[int], None] | None

    def write(self, data: Source, columns: Columns) -> tuple[_Done, Manifest]:
        """Count, draw, write and count again."""
        target = self.folder / DATA[self.file_format]
        with columns.count(data, backend=self.backend, scratch=self.scratch) as counted:
            tally = counted.tally
            plan = self.method.plan(tally, seed=self.seed)
            domain, read = _domain(getattr(plan, "domain", tally.codec.domain)), tally.records
            people = planned_people(self.method, plan, tally)
            drawn = write_rows(
                plan,
                tally,
                backend=self.backend,
                seed=self.seed,
                scratch=self.scratch,
                target=target,
                progress=self.progress,
            )
        check_written(target, plan.codec, drawn, backend=self.backend, scratch=self.scratch)
        self._write_second(plan)
        said = _manifest(self.method, plan, list(columns.sensitive), domain, self.file_format)
        many = note_many_values(plan.tables, columns.sensitive, plan.records)
        notes = (*counted.notes, *getattr(plan, "notes", ()), *many)
        return _Done(read, notes, people), said.model_copy(update={"bins": _bins_facts(counted.bins)})

    def _write_second(self, plan: Plan) -> None:
        """The second table of an anatomy."""
        make: Callable[[], tuple[KeyCodec, Iterator[Keys]]] | None = getattr(plan, "second_table", None)
        if make is None:
            return
        target, (codec, rows) = self.folder / SENSITIVE[self.file_format], make()
        written = write_table(target, codec, rows)
        check_written(target, codec, written, backend=self.backend, scratch=self.scratch)


def _describing(said: Manifest) -> Callable[[Path, dict[str, str]], None]:
    """What writes the manifest of a finished folder."""

    def describe(folder: Path, hashes: dict[str, str]) -> None:
        write_manifest(folder / MANIFEST, said.model_copy(update={"files": hashes}))

    return describe


def _chosen_method(
    method: Method | str | None,
    promise: PromiseLike | Mapping[str, PromiseLike] | None,
    options: MethodOptions,
) -> Method:
    if isinstance(promise, Mapping):
        method, promise = ProductPerturbation.of(promise, method=method), None
    if method is None or isinstance(method, str):
        return choose_method(method, promise, options)
    if not isinstance(method, PublishingMethod) and not hasattr(method, "plan"):
        raise InputError(
            f"method must be a name or a method, not {type(method).__name__}",
            remedy="for example method='partitioned', promise='0.1:0.5'",
        )
    if promise is not None or options.retention is not None or options.given is not None:
        raise InputError(
            "the method has its promise and its retention already",
            found=repr(method),
            remedy="give the method by its name, or leave promise and retention out",
        )
    return method


def _manifest(
    method: Method,
    plan: Plan,
    sensitive: list[str],
    domain: tuple[tuple[str, ...], ...],
    file_format: FileFormat,
) -> Manifest:
    facts = plan.facts
    technical = {facts.get("label"), facts.get("copies")}
    return Manifest.model_validate(
        {
            **facts,
            "method": method.name,
            "format": file_format,
            "records": plan.records,
            "public": [column.name for column in plan.codec.public if column.name not in technical],
            "sensitive": sensitive,
            "domain": domain,
            "tables": [
                TableEntry(
                    retention=t.retention,
                    values=t.values,
                    decay=t.decay,
                    floor=t.floor,
                    retentions=t.retentions,
                )
                for t in plan.tables
            ],
        }
    )


def _bins_facts(bins: Mapping[str, Bins]) -> dict[str, BinsEntry] | None:
    return {name: BinsEntry(ends=one.ends, whole=one.whole) for name, one in bins.items()} or None


def _domain(domain: pa.Table) -> tuple[tuple[str, ...], ...]:
    columns = list[list[str]]()
    for name in domain.column_names:
        values = domain[name].unique()
        known = dict(zip(values.to_pylist(), check_texts(values, name), strict=True))
        columns.append([known[value] for value in domain[name].to_pylist()])
    return tuple(zip(*columns, strict=True))
