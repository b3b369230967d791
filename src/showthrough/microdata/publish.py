"""Publish records: count, draw, shuffle, write, read back, and only then put the folder in place.

What is counted and drawn on the way is as secret as the records: it lies in a private folder, never
beside the publication.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.engine.backend import CountingBackend
from showthrough.errors import InputError, RunError
from showthrough.folders import Page, new_folder
from showthrough.frames import Source
from showthrough.frames.columns import check_texts
from showthrough.microdata.draws import check_seed
from showthrough.microdata.manifest import (
    DATA,
    KIND,
    MANIFEST,
    SENSITIVE,
    Manifest,
    TableEntry,
    write_manifest,
)
from showthrough.microdata.method import Method, Plan
from showthrough.microdata.publication import Publication
from showthrough.microdata.write import FileFormat, check_written, write_rows
from showthrough.scratch import SCRATCH, private_scratch

__all__ = [
    "publish",
]


def publish(
    source: object,
    out: str | os.PathLike[str],
    *,
    sensitive: str | Sequence[str],
    method: Method,
    seed: int,
    public: Sequence[str] | None = None,
    plane: CountingBackend | None = None,
    file_format: FileFormat = "parquet",
    progress: Callable[[int], None] | None = None,
    overwrite: bool = False,
    page: Page | None = None,
    scratch: str | os.PathLike[str] | None = None,
    plan: str | None = None,
) -> Publication:
    """Write a publication of records to a new folder, or (``overwrite``) in place of another publication.

    ``source`` is as for :meth:`Groups.read <showthrough.microdata.groups.Groups.read>`. All columns are
    published but those neither ``public`` (by default all that are not sensitive) nor ``sensitive``;
    several sensitive columns count as one value. The result depends on the records, the method and
    the seed only. Keep the seed secret, and take a large one: who knows it can undo the perturbation.

    ``progress`` is called with the number of rows written since the last call. ``page`` makes the page
    of the finished folder that it is given, and puts it there. What does not fit in memory goes to a
    private folder in ``scratch``, by default where SHOWTHROUGH_SCRATCH says or in the system's temporary
    folder; the machines of a cluster must share it. ``plan`` stands for everything but the seed: where
    the same plan was published by a call that was killed right after, the same rows are no error.

    >>> from tempfile import TemporaryDirectory
    >>> from showthrough.microdata.uniform import UniformPerturbation
    >>> from showthrough.selection import Selection
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> with TemporaryDirectory() as folder:
    ...     method = UniformPerturbation(0.5)
    ...     found = publish(people, f"{folder}/public", sensitive="ill", method=method, seed=2**90 + 7)
    ...     print(found.count(Selection.of(sex="f", ill="yes")), "of", found.count(Selection.of(sex="f")))
    276 ± 38 of 500 ± 0
    """
    from showthrough.engine.duck import DuckBackend

    check_seed(seed)
    if file_format not in DATA:
        raise InputError("an unknown format", found=file_format, remedy="choose parquet or csv")
    engine = plane or DuckBackend()
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    opened = Source.of(source)
    older = (*DATA.values(), *SENSITIVE.values())
    place = _scratch_place(engine, scratch)
    with new_folder(
        out, kind=KIND, manifest=MANIFEST, older=older, plan=plan, overwrite=overwrite, page=page
    ) as draft:
        target = draft.path / DATA[file_format]
        with private_scratch(place) as files:
            with engine.tally(opened, public=public, sensitive=names, scratch=files) as tally:
                planned = method.plan(tally, seed=seed)
                domain = _domain(tally.layout.domain)
                drawn = write_rows(
                    planned, tally, plane=engine, seed=seed, scratch=files, target=target, progress=progress
                )
            check_written(target, planned.layout, drawn, plane=engine, scratch=files)
        _write_sensitive(planned, draft.path / SENSITIVE[file_format])
        said = _manifest(method, planned, names, domain, file_format)

        def describe(folder: Path, hashes: dict[str, str]) -> None:
            write_manifest(folder / MANIFEST, said.model_copy(update={"files": hashes}))

        draft.describe = describe
    return Publication.open(out)


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
            "public": [column.name for column in plan.layout.public if column.name not in technical],
            "sensitive": sensitive,
            "domain": domain,
            "tables": [TableEntry(retention=t.retention, values=t.values) for t in plan.tables],
        }
    )


def _domain(domain: pa.Table) -> tuple[tuple[str, ...], ...]:
    columns = list[list[str]]()
    for name in domain.column_names:
        values = domain[name].unique()
        known = dict(zip(values.to_pylist(), check_texts(values, name), strict=True))
        columns.append([known[value] for value in domain[name].to_pylist()])
    return tuple(zip(*columns, strict=True))


def _write_sensitive(plan: Plan, path: Path) -> None:
    make: Callable[[], pa.Table] | None = getattr(plan, "sensitive_table", None)
    if make is None:
        return
    table = make()
    if path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    else:
        pq.write_table(table, path, store_schema=False)
    if Source.of(path).format == "parquet" and not pq.read_table(path).equals(table):
        raise RunError("the second table was not written as it should be", file=str(path))


def _scratch_place(
    plane: CountingBackend, scratch: str | os.PathLike[str] | None
) -> str | os.PathLike[str] | None:
    """Where scratch files go: for several machines, to storage that all of them share."""
    engine: Any = getattr(plane, "engine", None)
    master = "local" if engine is None else str(engine.session.sparkContext.master)
    if plane.is_shared and not master.startswith("local") and not (scratch or os.environ.get(SCRATCH)):
        raise InputError(
            "the machines of the cluster need a folder for scratch files that all of them share",
            found=master,
            remedy=f"name one that nobody else can read with --scratch or {SCRATCH}",
        )
    return scratch
