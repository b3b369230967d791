"""Many areas: decided batch by batch, written as one folder, resumed after an interruption.

While a run is under way its finished batches lie in ``RUN/.partial``; the folder's own files appear
at the end, ``run.json`` last. So a folder with ``run.json`` is complete, and one without can be
taken up again by the same call. Nothing in the folder but ``timing.parquet`` depends on the engine
or on the number of workers, and no process holds more than a few batches in memory.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.audit.archive import layout_to_json
from showthrough.audit.batch import TABLES, Settings
from showthrough.audit.part import Input, Workplace, name_of
from showthrough.audit.summary import iter_batches, summarise
from showthrough.engine import Engine, LocalEngine
from showthrough.errors import Contradiction, InputError, RunError
from showthrough.plain import html_summary
from showthrough.release import Layout

__all__ = ["BATCH", "AuditRun", "file_hash", "run_audit"]

#: Areas decided together and written as one part.
BATCH = 50

#: Bytes gathered before they are written as one row group.
ROW_GROUP = 16 * 2**20

#: Where each table of a run ends up.
PLACES = {
    "claims": "claims.parquet",
    "areas": "areas.parquet",
    "findings": "findings.parquet",
    "proofs": "proofs/proofs.parquet",
    "witnesses": "proofs/witnesses.parquet",
    "counts": "counts.parquet",
    "timing": "timing.parquet",
}

Progress = Callable[[int], None]

#: Areas, or how to get them given a folder for scratch files.
Inputs = Iterable[Input] | Callable[[Path], Iterable[Input]]


@dataclass(frozen=True)
class AuditRun:
    """A finished run folder."""

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def table(self, name: str) -> pa.Table:
        """One of its tables: claims, areas, findings, proofs, witnesses, counts or timing."""
        return pq.read_table(self.folder / PLACES[name])

    def batches(
        self, name: str, columns: Sequence[str] | None = None, *, rows: int = 2**14
    ) -> Iterator[pa.Table]:
        """The same table some rows at a time, for runs that do not fit in memory."""
        return iter_batches(self.folder / PLACES[name], columns, rows=rows)

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of summary.json."""
        return json.loads((self.folder / "summary.json").read_text("utf-8"))

    def _repr_html_(self) -> str:
        """The figures and the first findings, for notebooks."""
        found = self.summary
        first = next(self.batches("findings", ["area", "sentence"], rows=10), None)
        rows = [] if first is None else [list(row.values()) for row in first.to_pylist()]
        title = (
            f"{found['areas_with_findings']:,} of {found['areas']:,} areas give something away: "
            f"{found['findings']:,} findings, {found['singletons']:,} of them about a single record"
        )
        return html_summary(title, [["area", "what shows through"], *rows], note=f"All of it: {self.folder}")


def run_audit(
    areas: Inputs,
    layout: Layout,
    folder: str | Path,
    *,
    settings: Settings | None = None,
    engine: Engine | None = None,
    workers: int = 1,
    inputs: Mapping[str, str] | None = None,
    extra_files: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
    batch: int = BATCH,
) -> AuditRun:
    """Audit every area and write the run folder.

    The work is done by ``engine``, or else by so many ``workers`` on this machine. ``inputs`` names
    the input files with their hashes, for the record; ``extra_files`` (name → text) are written
    beside the run's own. ``progress`` is called with the number of areas done since the last call.
    """
    settings = settings or Settings()
    plan = _plan(layout, settings, inputs or {}, batch)
    writer = _Folder(Path(folder).absolute(), plan, overwrite=overwrite)
    if not writer.open():
        return AuditRun(Path(folder))
    place = writer.workplace(settings, layout)
    done = progress or _silent
    try:
        listed = areas(writer.scratch()) if callable(areas) else areas
        pending = _Pending(listed, place, layout, batch, done)
        for number, n_areas in (engine or LocalEngine(workers)).run(place, pending):
            place.input(number).unlink(missing_ok=True)
            done(n_areas)
        writer.finish(layout, extra_files or {}, n_parts=pending.n_batches)
    except (InputError, Contradiction):
        writer.discard()
        raise
    return AuditRun(Path(folder))


def _silent(done: int) -> None:
    """Progress that nobody watches."""


@dataclass
class _Pending:
    """The numbers of the batches that are still to be decided; their input is written on the way."""

    areas: Iterable[Input]
    place: Workplace
    layout: Layout
    size: int
    progress: Progress
    n_batches: int = 0

    def __iter__(self) -> Iterator[int]:
        areas = iter(self.areas)
        while batch := list(islice(areas, self.size)):
            number, self.n_batches = self.n_batches, self.n_batches + 1
            found = self.place.names(number)
            if found is None:
                self.place.write_input(number, batch, self.layout)
                yield number
                continue
            if found != [name_of(area) for area in batch]:
                raise RunError(
                    "the unfinished run in this folder is about other areas",
                    file=str(self.place.part(number)),
                    remedy="choose another folder or add --overwrite",
                )
            self.progress(len(batch))


def _plan(layout: Layout, settings: Settings, inputs: Mapping[str, str], batch: int) -> dict[str, Any]:
    """What determines a run's content."""
    packages = ("showthrough", "numpy", "scipy", "pyarrow", "highspy", "ortools")
    return {
        "parameters": asdict(settings),
        "batch": batch,
        "inputs": dict(sorted(inputs.items())),
        "release": hashlib.sha256(layout_to_json(layout).encode()).hexdigest(),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in packages},
        },
    }


class _Folder:
    """Writes a run folder: parts first, the final files at the end."""

    def __init__(self, folder: Path, plan: dict[str, Any], *, overwrite: bool) -> None:
        self.folder = folder
        self.plan = plan
        self.overwrite = overwrite
        self.partial = folder / ".partial"
        self._created = self._resumed = False

    def open(self) -> bool:
        """Make the folder, or take up an interrupted run of the same plan; False if all is done."""
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError("the output is a file, not a folder", file=str(self.folder))
        if (self.folder / "run.json").exists():
            if self._was_finished():
                return False
            self._refuse_or_clear("there is a finished run in this folder already")
        plan = self.partial / "plan.json"
        if plan.exists() and json.loads(plan.read_text("utf-8")) != _jsonable(self.plan):
            self._refuse_or_clear("there is an unfinished run with other settings in this folder")
        if self.folder.exists() and not self.partial.exists() and any(self.folder.iterdir()):
            raise RunError(
                "the output folder is not empty and holds no run",
                file=str(self.folder),
                remedy="choose a new or empty folder",
            )
        self._created, self._resumed = not self.folder.exists(), plan.exists()
        if not self._resumed:  # parts without a plan may be anybody's
            shutil.rmtree(self.partial, ignore_errors=True)
        try:
            self.partial.mkdir(parents=True, exist_ok=True)
            _write_text(plan, json.dumps(_jsonable(self.plan), indent=1))
        except OSError as error:
            raise RunError(
                "cannot write here", file=str(self.folder), found=error.strerror or str(error)
            ) from None
        return True

    def _was_finished(self) -> bool:
        """Whether the run here is this one, killed after its last file but before it tidied up."""
        if not self.partial.exists():
            return False
        try:
            run = json.loads((self.folder / "run.json").read_text("utf-8"))
        except (OSError, ValueError):
            return False
        run.pop("outputs", None)
        if run != _jsonable(self.plan):
            return False
        shutil.rmtree(self.partial)
        return True

    def _refuse_or_clear(self, problem: str) -> None:
        if not self.overwrite:
            raise RunError(problem, file=str(self.folder), remedy="choose another folder or add --overwrite")
        try:
            listed = json.loads((self.folder / "run.json").read_text("utf-8"))["outputs"]
        except (OSError, ValueError, KeyError, TypeError):
            listed = {}
        shutil.rmtree(self.partial, ignore_errors=True)
        shutil.rmtree(self.folder / "proofs", ignore_errors=True)
        names = {*PLACES.values(), *listed, "summary.json", "release.json", "report.html"}
        for name in (*sorted(names - {"run.json"}), "run.json"):  # last, so that a kill leaves a run
            path = self.folder / name
            if path.resolve().is_relative_to(self.folder.resolve()):
                path.unlink(missing_ok=True)

    def workplace(self, settings: Settings, layout: Layout) -> Workplace:
        """Where batches are worked on."""
        key = hashlib.sha256(json.dumps(_jsonable(self.plan), sort_keys=True).encode()).hexdigest()
        place = Workplace(str(self.partial), settings, key)
        place.prepare(layout)
        return place

    def scratch(self) -> Path:
        """A folder for whatever the reading of the areas needs, gone when the run is done."""
        scratch = self.partial / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        return scratch

    def finish(self, layout: Layout, extra_files: Mapping[str, str], *, n_parts: int) -> None:
        """Join the parts, sum up, and write run.json last."""
        parts = sorted(path for path in self.partial.iterdir() if path.name.isdigit())
        if [int(part.name) for part in parts] != list(range(n_parts)):
            raise RunError(
                f"{n_parts} batches were decided, but {len(parts)} are in the folder",
                file=str(self.partial),
                remedy="every machine must write to the same storage; the same call tries again",
            )
        (self.folder / "proofs").mkdir(exist_ok=True)
        for name, place in PLACES.items():
            self._join([part / f"{name}.parquet" for part in parts], name, self.folder / place)
        for name, text in {**extra_files, "release.json": layout_to_json(layout)}.items():
            _write_text(self.folder / Path(name).name, text)
        summary = summarise(*(self.folder / PLACES[name] for name in ("areas", "claims", "findings")))
        _write_text(self.folder / "summary.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
        outputs = {
            place: file_hash(self.folder / place)
            for place in sorted({*PLACES.values(), *extra_files, "release.json", "summary.json"})
            if place != PLACES["timing"]
        }
        run = {**_jsonable(self.plan), "outputs": outputs}
        _write_text(self.folder / "run.json", json.dumps(run, indent=1, ensure_ascii=False) + "\n")
        shutil.rmtree(self.partial)

    def _join(self, parts: list[Path], name: str, place: Path) -> None:
        draft = place.with_name(f"{place.name}.draft")
        with pq.ParquetWriter(draft, TABLES[name], compression="zstd") as writer:
            for table in _gathered(parts):
                writer.write_table(table)
        draft.replace(place)

    def discard(self) -> None:
        """Leave nothing half-written behind, but keep what an earlier call had finished."""
        if self._resumed:
            return
        shutil.rmtree(self.partial, ignore_errors=True)
        if self._created:
            shutil.rmtree(self.folder, ignore_errors=True)


def _gathered(parts: Iterable[Path]) -> Iterator[pa.Table]:
    """The tables in order, small ones together: millions of row groups would fill the memory."""
    waiting, size = list[pa.Table](), 0
    for part in parts:
        table = pq.read_table(part, use_threads=False)
        if table.num_rows:
            waiting.append(table)
            size += table.nbytes
        if size >= ROW_GROUP:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def file_hash(path: str | Path) -> str:
    """The SHA-256 of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _jsonable(plain: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(plain))


def _write_text(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(text, "utf-8")
    draft.replace(path)
