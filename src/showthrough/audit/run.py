"""Many areas: decided batch by batch, written as one folder, resumed after an interruption.

While a run is under way its finished batches lie in ``RUN/.partial``; the folder's own files appear
at the end, ``run.json`` last. So a folder with ``run.json`` is complete, and one without can be
taken up again by the same call. Batches do not depend on the number of workers, and neither does
anything in the folder but ``timing.parquet``.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib import Parallel, delayed

from showthrough.audit.archive import layout_to_json
from showthrough.audit.batch import TABLES, Area, Settings, decide_batch
from showthrough.errors import RunError
from showthrough.release import Layout

__all__ = ["BATCH", "AuditRun", "file_hash", "run_audit"]

#: Areas decided together and written as one part.
BATCH = 50

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


@dataclass(frozen=True)
class AuditRun:
    """A finished run folder."""

    folder: Path

    def table(self, name: str) -> pa.Table:
        """One of its tables: claims, areas, findings, proofs, witnesses, counts or timing."""
        return pq.read_table(self.folder / PLACES[name])

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of summary.json."""
        return json.loads((self.folder / "summary.json").read_text("utf-8"))


def run_audit(
    areas: Iterable[Area],
    layout: Layout,
    folder: str | Path,
    *,
    settings: Settings | None = None,
    workers: int = 1,
    inputs: Mapping[str, str] | None = None,
    extra_files: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> AuditRun:
    """Audit every area and write the run folder.

    ``inputs`` names the input files with their hashes, for the record; ``extra_files`` (name → text)
    are written beside the run's own. ``progress`` is called with the number of areas done since the
    last call.
    """
    settings = settings or Settings()
    plan = _plan(layout, settings, inputs or {})
    writer = _Folder(Path(folder), plan, overwrite=overwrite)
    writer.open()
    try:
        for number, tables in _batches(areas, settings, workers, writer):
            if tables is not None:
                writer.write_part(number, tables)
            if progress is not None:
                progress(writer.n_areas(number))
        writer.finish(layout, extra_files or {})
    except Exception:
        writer.discard()
        raise
    return AuditRun(writer.folder)


def _batches(
    areas: Iterable[Area], settings: Settings, workers: int, writer: _Folder
) -> Iterator[tuple[int, dict[str, pa.Table] | None]]:
    """Every batch's number with its tables, None where an earlier run left them."""
    if workers == 1:
        for number, batch in enumerate(_chunks(areas)):
            done = writer.has_part(number)
            yield number, None if done else decide_batch(batch, settings)
        return
    parallel = Parallel(n_jobs=workers, return_as="generator", pre_dispatch="2*n_jobs")
    jobs = (
        delayed(_numbered)(number, [] if writer.has_part(number) else batch, settings)
        for number, batch in enumerate(_chunks(areas))
    )
    for number, tables in parallel(jobs):
        yield number, None if writer.has_part(number) else tables


def _numbered(number: int, batch: list[Area], settings: Settings) -> tuple[int, dict[str, pa.Table]]:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is the parent's to report
    return number, decide_batch(batch, settings)


def _chunks(areas: Iterable[Area]) -> Iterator[list[Area]]:
    batch: list[Area] = []
    for area in areas:
        batch.append(area)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _plan(layout: Layout, settings: Settings, inputs: Mapping[str, str]) -> dict[str, Any]:
    """What determines a run's content."""
    packages = ("showthrough", "numpy", "scipy", "pyarrow", "highspy", "ortools")
    return {
        "parameters": asdict(settings),
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

    def open(self) -> None:
        """Make the folder, or take up an interrupted run of the same plan."""
        if (self.folder / "run.json").exists():
            self._refuse_or_clear("there is a finished run in this folder already")
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError("the output is a file, not a folder", file=str(self.folder))
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
        try:
            self.partial.mkdir(parents=True, exist_ok=True)
            _write_text(plan, json.dumps(_jsonable(self.plan), indent=1))
        except OSError as error:
            raise RunError(
                "cannot write here", file=str(self.folder), found=error.strerror or str(error)
            ) from None

    def _refuse_or_clear(self, problem: str) -> None:
        if not self.overwrite:
            raise RunError(problem, file=str(self.folder), remedy="choose another folder or add --overwrite")
        try:
            listed = json.loads((self.folder / "run.json").read_text("utf-8"))["outputs"]
        except (OSError, ValueError, KeyError, TypeError):
            listed = {}
        for name in {*PLACES.values(), *listed, "summary.json", "release.json", "run.json"}:
            path = self.folder / name
            if path.resolve().is_relative_to(self.folder.resolve()):
                path.unlink(missing_ok=True)
        shutil.rmtree(self.partial, ignore_errors=True)
        shutil.rmtree(self.folder / "proofs", ignore_errors=True)

    def _part(self, number: int) -> Path:
        return self.partial / f"{number:08d}"

    def has_part(self, number: int) -> bool:
        """Whether a batch is written."""
        return self._part(number).exists()

    def n_areas(self, number: int) -> int:
        """How many areas a written batch holds."""
        return pq.read_metadata(self._part(number) / "areas.parquet").num_rows

    def write_part(self, number: int, tables: dict[str, pa.Table]) -> None:
        """Write a batch; it appears whole or not at all."""
        draft = self.partial / f"draft-{number:08d}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for name, table in tables.items():
            pq.write_table(table, draft / f"{name}.parquet", compression="zstd")
        draft.replace(self._part(number))

    def finish(self, layout: Layout, extra_files: Mapping[str, str]) -> None:
        """Join the parts, sum up, and write run.json last."""
        parts = sorted(path for path in self.partial.iterdir() if path.name.isdigit())
        (self.folder / "proofs").mkdir(exist_ok=True)
        for name, place in PLACES.items():
            self._join([part / f"{name}.parquet" for part in parts], name, self.folder / place)
        for name, text in {**extra_files, "release.json": layout_to_json(layout)}.items():
            _write_text(self.folder / Path(name).name, text)
        summary = summarise(AuditRun(self.folder))
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
            for part in parts:
                table = pq.read_table(part)
                if table.num_rows:
                    writer.write_table(table)
        draft.replace(place)

    def discard(self) -> None:
        """Leave nothing half-written behind, but keep what an earlier call had finished."""
        if self._resumed:
            return
        shutil.rmtree(self.partial, ignore_errors=True)
        if self._created:
            shutil.rmtree(self.folder, ignore_errors=True)


def summarise(run: AuditRun) -> dict[str, Any]:
    """The figures a reader asks for first."""
    areas, claims, found = run.table("areas"), run.table("claims"), run.table("findings")
    verified = claims.filter(pc.field("verdict") == "verified")
    hidden = verified.filter(~pc.field("direct"))
    failed = areas.filter(~pc.field("status").isin(["decided", "partly decided"]))
    return {
        "areas": areas.num_rows,
        "areas_failed": failed.num_rows,
        "areas_with_findings": int(pc.sum(pc.greater(areas["findings"], 0)).as_py() or 0),
        "areas_unique": int(pc.sum(areas["unique"]).as_py() or 0),
        "records": int(pc.sum(areas["records"]).as_py() or 0),
        **{
            kind: int(pc.sum(areas[kind]).as_py() or 0)
            for kind in ("verified", "refuted", "undecided", "impossible", "direct", "findings", "singletons")
        },
        "verified_by_evidence": _counts(verified["evidence"]),
        "hidden_by_columns": _counts(hidden["k"]),
        "hidden_singletons_by_columns": _counts(hidden.filter(pc.field("multiplicity") == 1)["k"]),
        "findings_by_kind": _counts(found["kind"]),
    }


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    pairs = [(e["values"], e["counts"]) for e in pc.value_counts(column).to_pylist()]
    return {str(value): count for value, count in sorted(pairs)}


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
