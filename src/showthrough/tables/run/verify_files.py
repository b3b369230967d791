"""The files of a run: those that run.json lists and no others, unchanged, and written as they should be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import InputError, RunError
from showthrough.files import file_digest, read_json
from showthrough.folders import MANIFEST, REPORT
from showthrough.locks import INSIDE
from showthrough.tables.after import NEW_FINDINGS
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.read import AFTER, SUMMARY, AuditRun
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.stored import DAMAGED, PLACES, SOMETIMES, TABLES, layout_to_json

__all__ = [
    "SCHEMA_FILE",
    "check_columns",
    "check_files",
    "check_manifest",
    "check_summary",
    "read_settings",
    "unknown_files",
]

#: The schema of a run, for people.
SCHEMA_FILE = "schema.toml"

RELEASE = "release.json"

#: The table that depends on the machine.
TIMING = "timing"

#: Files whose hashes are found together, where that is done elsewhere.
_TOGETHER = 16

#: Everything that run.json says.
ENTRIES = {"parameters", "batch", "inputs", "release", "versions", "outputs", "not_hashed"}


def check_files(run: AuditRun, engine: Engine | None = None) -> Iterator[str]:
    """Which files are missing, changed since the run, or not listed; hashes are found on an engine."""
    listed: dict[str, str] = run.manifest["outputs"]
    for place in sorted(_needed(run) - set(listed)):
        yield f"{place}: not listed in {MANIFEST}"
    plain = [place for place in listed if _is_plain(place)]
    portions = [plain[at : at + _TOGETHER] for at in range(0, len(plain), _TOGETHER)]
    elsewhere = LocalEngine() if engine is None or isinstance(engine, LocalEngine) else engine
    found = chain.from_iterable(in_order_on(elsewhere, _Changed(run.folder.absolute(), listed), portions))
    changed = dict(zip(plain, found, strict=True))
    for place in listed:
        yield from changed.get(place, [f"{place}: not the name of a file in the folder"])
    for place in sorted(_unlisted(run) & {REPORT, SCHEMA_FILE, *_sometimes(run)}):
        yield f"{place}: not listed in {MANIFEST}"
    if run.manifest.get("release") != listed.get(RELEASE):
        yield f"{RELEASE}: not the release named in {MANIFEST}"


def _needed(run: AuditRun) -> set[str]:
    """The files that a run must have, and list with their hashes."""
    return {
        RELEASE,
        SUMMARY,
        *(place for name in PLACES if name != TIMING for place in run.files.places(name)),
    }


def _sometimes(run: AuditRun) -> set[str]:
    """The files of tables that not every run has."""
    return {place for name in SOMETIMES for place in run.files.places(name)}


def _not_hashed(run: AuditRun) -> list[str]:
    """The files that depend on the machine."""
    return list(run.files.places(TIMING))


def _is_plain(place: str) -> bool:
    """Whether a name is that of a file in the folder, and the only name that it has."""
    path = PurePosixPath(place)
    return str(path) == place and not path.is_absolute() and ".." not in path.parts and place != MANIFEST


@dataclass(frozen=True)
class _Changed:
    """Compares files of a folder with their hashes."""

    folder: Path
    expected: Mapping[str, str]

    def __call__(self, places: Sequence[str]) -> list[list[str]]:
        """What is wrong with each of some files."""
        return [self._problems(place) for place in places]

    def _problems(self, place: str) -> list[str]:
        path = self.folder / place
        if path.is_symlink() or not path.is_file():
            return [f"{place}: missing"]
        try:
            return [] if file_digest(path) == self.expected[place] else [f"{place}: changed since the run"]
        except OSError as error:
            return [f"{place}: {error.strerror or error}"]


def _unlisted(run: AuditRun) -> set[str]:
    """The files in the folder that run.json does not list."""
    found = (path for path in run.folder.rglob("*") if path.is_symlink() or not path.is_dir())
    present = {path.relative_to(run.folder).as_posix() for path in found}
    return present - {*run.manifest["outputs"], MANIFEST, INSIDE, *_not_hashed(run)}


def unknown_files(run: AuditRun) -> Iterator[str]:
    """Files that nothing is known about: others that run.json lists, and those that it does not list."""
    known = {*run.files.every_place, RELEASE, SUMMARY, MANIFEST, SCHEMA_FILE, REPORT, AFTER, NEW_FINDINGS}
    for place in sorted(set(run.manifest["outputs"]) - known):
        yield f"{place}: what it says"
    for place in sorted(_unlisted(run) - known):
        yield f"{place}: not listed in {MANIFEST}, so not part of the run"


def check_manifest(run: AuditRun) -> Iterator[str]:
    """What is wrong with what run.json says, and with how it and the other JSON files are written."""
    manifest = run.manifest
    for name in sorted(set(manifest) - ENTRIES):
        yield f"{MANIFEST}: an entry that no run has: {name}"
    if read_settings(manifest) is None:
        yield f"{MANIFEST}: the parameters are invalid"
    if not {"python", "showthrough"} <= set(manifest["versions"]):
        yield f"{MANIFEST}: the versions are missing"
    if not isinstance(manifest.get("batch"), int):
        yield f"{MANIFEST}: the size of a batch is missing"
    if manifest.get("not_hashed", not_hashed := _not_hashed(run)) != not_hashed:
        yield f"{MANIFEST}: not_hashed lists other files than {', '.join(not_hashed)}"
    for place in (MANIFEST, SUMMARY, RELEASE):
        if twice := _first_twice(run.folder / place):
            yield f"{place}: an entry stands there twice: {twice}"
    if (run.folder / RELEASE).read_text("utf-8") != layout_to_json(run.layout):
        yield f"{RELEASE}: not written as a run writes it"


def _first_twice(path: Path) -> str:
    """The first name that an object of a JSON file has twice; readers would see one of them only."""
    found = list[str]()

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        found.extend(name for name in names if names.count(name) > 1)
        return dict(pairs)

    try:
        json.loads(path.read_text("utf-8"), object_pairs_hook=look)
    except (OSError, ValueError, RecursionError):
        return ""  # whoever reads it says so
    return found[0] if found else ""


def read_settings(manifest: Mapping[str, Any]) -> Settings | None:
    """The settings of a run; None if they are none."""
    default = asdict(Settings())
    earlier = {"findings": True, "variability": False, "noise": ""}  # runs that do not say so
    found = {**earlier, **manifest["parameters"]}
    scope = found.get("scope")
    if not (isinstance(scope, dict) and set(scope) == set(default["scope"]) and set(found) == set(default)):
        return None
    try:
        return _settings_adapter().validate_json(json.dumps(found), strict=True)
    except (ValueError, InputError):
        return None


@cache
def _settings_adapter() -> TypeAdapter[Settings]:
    return TypeAdapter(Settings)


def check_columns(run: AuditRun) -> Iterator[str]:
    """Tables with other columns than a run has."""
    for name, place in ((table, place) for table in TABLES for place in run.files.places(table)):
        try:
            found = pq.read_schema(run.folder / place).names
        except (OSError, pa.ArrowException):
            continue  # whoever reads it says so
        if strange := [column for column in found if column not in TABLES[name].names]:
            yield f"{place}: a column that no run has: {strange[0]}"


def check_summary(run: AuditRun, added: RunTotals) -> Iterator[str]:
    """Whether the figures of summary.json differ from what the tables add up to."""
    known = run.summary
    stored = read_json(run.folder / SUMMARY, error=RunError, remedy=DAMAGED)
    if known != added or stored != added.to_plain():
        yield f"{SUMMARY}: figures differ from those of the tables"
