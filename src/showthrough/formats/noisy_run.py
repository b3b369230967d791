"""The release file that a run of noisy counts was made of: a run keeps what noise proves, not the values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from showthrough.errors import InputError
from showthrough.files import file_digest
from showthrough.tables.run.read import AuditRun

__all__ = [
    "check_same_inputs",
    "noisy_release",
]


def noisy_release(run: AuditRun, given: Sequence[Path] = ()) -> Path:
    """The release file of a run of noisy counts: the one given, or one beside the run or in this folder.

    It is told by its hash, which the run has.

    Raises
    ------
    InputError
        If the file given is another one, or if none is found.
    """
    known = set(run.manifest["inputs"].values())
    for path in given or _nearby(run):
        if path.is_file() and file_digest(path) in known and _has_tables(path):
            return path
    law, remedy = run.noise, f"name the release file: showthrough likely {run.folder} --release release.toml"
    if given:
        raise InputError(
            "not the release file that was audited, or it was changed since",
            file=str(given[0]),
            remedy="give the one that was, or audit this one and give the new run",
        )
    raise InputError(
        "the counts of this run were published with random noise, a run keeps only their bounds, and the "
        "release file that was audited is neither beside the run nor in this folder",
        file=str(run.folder),
        found=law,
        remedy=remedy,
    )


def _nearby(run: AuditRun) -> Iterator[Path]:
    for folder in dict.fromkeys((run.folder.resolve().parent, Path.cwd())):
        for name in run.manifest["inputs"]:
            if name.endswith(".toml"):
                yield folder / name


def _has_tables(path: Path) -> bool:
    """Whether it describes tables, as a schema does not."""
    return "tables" in tomllib.loads(path.read_text("utf-8"))


def check_same_inputs(run: AuditRun, inputs: dict[str, str], release: Path) -> None:
    """Raise unless what was read with a release file is what the run was made of."""
    before = set(run.manifest["inputs"].values())
    for name, digest in inputs.items():
        if digest not in before:
            raise InputError(
                "a file that the release names was changed since it was audited",
                file=str(release),
                found=name,
                remedy="audit the release again and give the new run, or give the release file itself",
            )
