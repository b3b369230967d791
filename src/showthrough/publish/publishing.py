"""Publish records: count, draw, shuffle, write, read back, and only then put the folder in place."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.engine.plane import Plane
from showthrough.engine.source import Source
from showthrough.errors import InputError, RunError
from showthrough.publish.draws import check_seed
from showthrough.publish.manifest import DATA, MANIFEST, SENSITIVE, Manifest, Table, write_manifest
from showthrough.publish.method import Method, Plan
from showthrough.publish.publication import Publication
from showthrough.publish.text import check_texts
from showthrough.publish.writing import FileFormat, check_written, write_rows

__all__ = ["publish"]


def publish(
    source: object,
    out: str | os.PathLike[str],
    *,
    sensitive: str | Sequence[str],
    method: Method,
    seed: int,
    public: Sequence[str] | None = None,
    plane: Plane | None = None,
    file_format: FileFormat = "parquet",
    progress: Callable[[int], None] | None = None,
) -> Publication:
    """Write a publication of records to a new folder.

    ``source`` is as for :meth:`Groups.read <showthrough.publish.groups.Groups.read>`. All columns are
    published but those neither ``public`` (by default all that are not sensitive) nor ``sensitive``;
    several sensitive columns count as one value. The result depends on the records, the method and
    the seed only. Keep the seed secret, and take a large one: who knows it can undo the perturbation.

    ``progress`` is called with the number of rows written since the last call.

    >>> from tempfile import TemporaryDirectory
    >>> from showthrough.publish.method import Uniform
    >>> from showthrough.schema import Selection
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> with TemporaryDirectory() as folder:
    ...     found = publish(people, f"{folder}/public", sensitive="ill", method=Uniform(0.5), seed=2**90 + 7)
    ...     print(found.count(Selection.of(sex="f", ill="yes")), "of", found.count(Selection.of(sex="f")))
    276 ± 38 of 500 ± 0
    """
    from showthrough.engine.duck import DuckPlane

    check_seed(seed)
    if file_format not in DATA:
        raise InputError("an unknown format", found=file_format, remedy="choose parquet or csv")
    engine = plane or DuckPlane()
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    opened = Source.of(source)
    with _new_folder(Path(out)) as (folder, scratch):
        with engine.tally(opened, public=public, sensitive=names, scratch=scratch) as tally:
            plan = method.plan(tally, seed=seed)
            domain = _domain(tally.layout.domain)
            target = folder / DATA[file_format]
            drawn = write_rows(
                plan, tally, plane=engine, seed=seed, scratch=scratch, target=target, progress=progress
            )
        check_written(target, plan.layout, drawn, plane=engine, scratch=scratch)
        _write_sensitive(plan, folder / SENSITIVE[file_format])
        write_manifest(folder / MANIFEST, _manifest(method, plan, names, domain, file_format))
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
            "tables": [Table(retention=t.retention, values=t.values) for t in plan.tables],
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


@contextmanager
def _new_folder(out: Path) -> Generator[tuple[Path, Path]]:
    """A folder to write to that becomes ``out`` once all went well, and one for scratch files."""
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise RunError(
                "there is something in this place already",
                file=str(out),
                remedy="choose a new folder for the publication",
            )
        draft = out.absolute().parent / f".{secrets.token_hex(8)}.partial"
        folder, scratch = draft / "publication", draft / "scratch"
        try:
            out.absolute().parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(parents=True)
            scratch.mkdir()
            yield folder, scratch
            folder.replace(out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as problem:
        raise RunError(
            f"the publication cannot be written: {problem.strerror or problem}",
            file=str(out),
            remedy="choose a folder you may write to, with enough room",
        ) from None
