"""Folders of results: written beside their place and moved there when they are complete."""

from __future__ import annotations

import hashlib
import json
import platform
import secrets
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from showthrough.errors import RunError

__all__ = ["file_digest", "make_folder", "write_manifest"]

#: The file that tells what is in a folder.
MANIFEST = "run.json"


@contextmanager
def make_folder(path: str | Path, *, kind: str, overwrite: bool = False) -> Generator[Path]:
    """A folder to write to that becomes ``path`` once all went well.

    Something that is there already is replaced only if asked for, and only if it is an empty folder
    or a finished one of the same kind.
    """
    target = Path(path).absolute()
    _check_place(target, path, kind=kind, overwrite=overwrite)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        draft.mkdir(parents=True)
        yield draft
        _move(draft, target)
    except OSError as problem:
        raise RunError("cannot write here", file=str(path), found=problem.strerror or str(problem)) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_manifest(
    folder: Path,
    *,
    kind: str,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, str],
    packages: Sequence[str] = ("showthrough", "numpy", "scipy", "pyarrow"),
) -> None:
    """Write what the folder is: parameters, hashes of inputs and outputs, versions. To be called last."""
    outputs = {file.name: file_digest(file) for file in sorted(folder.iterdir())}
    content = {
        "kind": kind,
        "parameters": dict(parameters),
        "inputs": dict(inputs),
        "outputs": outputs,
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in packages},
        },
    }
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (folder / MANIFEST).write_text(text, "utf-8")


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check_place(target: Path, path: str | Path, *, kind: str, overwrite: bool) -> None:
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not target.is_dir():
        raise RunError("the output is a file, not a folder", file=str(path), remedy="choose another name")
    if _kind_of(target) != kind:
        raise RunError(
            "the output folder holds something else", file=str(path), remedy="choose a new or empty folder"
        )
    if not overwrite:
        raise RunError(
            "there is a finished run in this folder already",
            file=str(path),
            remedy="choose another folder or add --overwrite",
        )


def _kind_of(folder: Path) -> str | None:
    try:
        return json.loads((folder / MANIFEST).read_text("utf-8"))["kind"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _move(draft: Path, target: Path) -> None:
    """Put the draft in its place; what was there goes aside first and comes back if that fails."""
    if not target.exists():
        draft.rename(target)
        return
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.old")
    target.rename(aside)
    try:
        draft.rename(target)
    except OSError:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)
