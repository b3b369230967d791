"""Folders of results: written beside their place, under a lock, and moved there when they are complete.

A folder under way is a *draft* that only its owner can read. Its manifest lists every file with its
SHA-256 and is written last; then the draft is renamed. Whatever a writer that was killed left behind
is put right by the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from showthrough.errors import InputError, RunError
from showthrough.files import (
    NotWritten,
    file_digest,
    flush_file,
    flush_folder,
    read_json,
    remove_stale,
    usual_mode,
    write_json,
)
from showthrough.locks import INSIDE, Lock, hold, short_name

__all__ = [
    "DAMAGED",
    "Description",
    "Draft",
    "PageMaker",
    "check_place",
    "complete",
    "explained",
    "listed_files",
    "new_folder",
    "read_result",
    "recover",
    "remove",
    "result_folder",
    "versions",
]

#: The file that tells what is in a folder, and the page about it.
MANIFEST, REPORT = "run.json", "report.html"

#: Makes the page of a folder and puts it there.
PageMaker = Callable[[Path], object]

#: Writes the manifest of a folder, given the hashes of its other files.
Describe = Callable[[Path, dict[str, str]], None]

DAMAGED = "choose another folder, or remove this one yourself"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of some packages."""
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


#: What a folder lets others do before it is finished: nothing.
PRIVATE = 0o700


@dataclass(frozen=True)
class Description:
    """What determines the content of a folder, known before it is written."""

    kind: str
    parameters: Mapping[str, Any]
    inputs: Mapping[str, str]
    packages: Sequence[str] = ("showthrough", "numpy", "scipy", "pyarrow")

    def plan(self, *, page: bool) -> str:
        """A digest that tells the same command again from another one."""
        plain = {
            "kind": self.kind,
            "parameters": dict(self.parameters),
            "inputs": dict(self.inputs),
            "versions": versions(self.packages),
            "page": page,
        }
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


@dataclass
class Draft:
    """A folder under way. Whoever writes it sets ``describe`` before it is complete.

    ``parameters`` and ``facts`` that become known on the way stand in the manifest too.
    """

    path: Path
    describe: Describe | None = None
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


@contextmanager
def result_folder(
    path: str | os.PathLike[str],
    what: Description,
    *,
    overwrite: bool = False,
    page: PageMaker | None = None,
) -> Generator[Draft]:
    """A draft that becomes ``path``, with a ``run.json``, once all went well."""
    plan = what.plan(page=page is not None)

    def describe(folder: Path, hashes: dict[str, str]) -> None:
        content = {
            "kind": what.kind,
            "parameters": {**what.parameters, **draft.parameters},
            "inputs": dict(what.inputs),
            "outputs": hashes,
            "versions": versions(what.packages),
        }
        write_json(folder / MANIFEST, {**draft.facts, **content})

    with new_folder(path, kind=what.kind, plan=plan, overwrite=overwrite, page=page) as draft:
        draft.describe = describe
        yield draft


@contextmanager
def new_folder(
    path: str | os.PathLike[str],
    *,
    kind: str,
    manifest: str = MANIFEST,
    older: Collection[str] = (),
    plan: str | None = None,
    overwrite: bool = False,
    page: PageMaker | None = None,
) -> Generator[Draft]:
    """A draft that becomes ``path`` once all went well.

    What is there already is replaced only if asked for, and only if it is an empty folder or a
    finished one of the same kind that holds nothing else (``older``: what manifests did not list
    once). Where the same ``plan`` was finished by a writer that was killed right after, the result
    must be the same, and what is there stays.
    """
    with hold(path) as lock, explained(lock.target, path):
        recover(lock.target, manifest)
        again = lock.finished(plan) and not overwrite
        replaces = overwrite or again
        _check_place(lock.target, path, kind=kind, manifest=manifest, older=older, overwrite=replaces)
        draft = Draft(_beside(lock.target, "draft"))
        try:
            draft.path.mkdir(mode=PRIVATE)
            yield draft
            if draft.describe is None:
                raise AssertionError("nothing describes this folder")
            complete(draft.path, draft.describe, manifest=manifest, page=page)
            if again and _contents(draft.path) != _contents(lock.target):
                raise _finished_already(path, kind)
            if again and stat.S_IMODE(lock.target.stat().st_mode) & 0o777 == PRIVATE:
                _open_to_others(lock.target)  # killed just before it did
            if not again:
                digest = file_digest(draft.path / manifest)
                _commit(draft.path, lock, lambda: lock.note(plan, file=manifest, digest=digest))
        finally:
            shutil.rmtree(draft.path, ignore_errors=True)


def complete(
    folder: Path,
    describe: Describe,
    *,
    manifest: str = MANIFEST,
    page: PageMaker | None = None,
    known: Mapping[str, str] | None = None,
) -> None:
    """Flush all files of a folder, make its page, and write its manifest last.

    The page is made from the folder as it stands without it, so that it is the same whenever it is made.
    Files whose hashes are ``known`` were flushed by whoever wrote them.
    """
    hashes = dict(known or {})
    _add_hashes(folder, hashes, manifest)
    describe(folder, dict(sorted(hashes.items())))
    if page is not None:
        page(folder)
        _add_hashes(folder, hashes, manifest)
        describe(folder, dict(sorted(hashes.items())))
    for inner in (path for path in folder.rglob("*") if path.is_dir()):
        flush_folder(inner)
    flush_folder(folder)


def _add_hashes(folder: Path, hashes: dict[str, str], manifest: str) -> None:
    for name in sorted(set(_files(folder)) - {manifest, *hashes}):
        flush_file(folder / name)
        hashes[name] = file_digest(folder / name)


def _files(folder: Path) -> Iterator[str]:
    """The names of all files of a folder and the folders in it."""
    for path in folder.rglob("*"):
        if not path.is_dir() or path.is_symlink():
            yield path.relative_to(folder).as_posix()


def _contents(folder: Path) -> dict[str, str]:
    return {name: file_digest(folder / name) for name in _files(folder) if name != INSIDE}


def recover(target: Path, manifest: str = MANIFEST) -> None:
    """Put right what a writer that was killed left beside a folder; to be called under its lock.

    A folder that had been put aside comes back if nothing took its place.
    """
    form = re.compile(rf"\.{re.escape(short_name(target))}\.[0-9a-f]{{16}}\.(draft|old)")
    left = sorted(path for path in target.parent.iterdir() if form.fullmatch(path.name))
    for path in left:
        if path.suffix == ".old" and (path / manifest).is_file() and _is_free(target):
            with suppress(FileNotFoundError):
                target.rmdir()
            path.rename(target)
            flush_folder(target.parent)
    for path in left:
        remove(path)
    if target.is_dir():
        for name in (manifest, REPORT):
            remove_stale(target / name)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def check_place(
    path: str | os.PathLike[str], what: Description, *, overwrite: bool = False, page: PageMaker | None = None
) -> None:
    """Raise unless :func:`result_folder` may write here, so that nobody works in vain."""
    with hold(path) as lock, explained(lock.target, path):
        recover(lock.target)
        again = lock.finished(what.plan(page=page is not None))
        _check_place(lock.target, path, kind=what.kind, overwrite=overwrite or again)


def _check_place(
    target: Path,
    path: str | os.PathLike[str],
    *,
    kind: str,
    manifest: str = MANIFEST,
    older: Collection[str] = (),
    overwrite: bool,
) -> None:
    """Raise unless a folder of this kind may be written here."""
    shown = os.fspath(path)
    if _is_free(target):
        return
    if not target.is_dir():
        raise RunError("the output is a file, not a folder", file=shown, remedy="choose another name")
    found = read_result(target, manifest)
    if found is None or found.get("kind") != kind:
        raise RunError("the output folder is not empty", file=shown, remedy="choose a new or empty folder")
    if not overwrite:
        raise _finished_already(path, kind)
    own = {manifest, REPORT, INSIDE, *listed_files(found)}
    foreign = sorted(name for name in _files(target) if name not in own and name.split("/")[0] not in older)
    if foreign:
        raise RunError(
            "the output folder also holds files that showthrough did not write",
            file=shown,
            found=foreign[0],
            remedy="move them elsewhere, or choose another folder",
        )


def _finished_already(path: str | os.PathLike[str], kind: str) -> RunError:
    noun = "publication" if kind.endswith("publication") else "run"
    return RunError(
        f"the output folder already holds a finished {noun}",
        file=os.fspath(path),
        remedy="choose another folder or add --overwrite",
    )


def listed_files(found: Mapping[str, Any]) -> set[str]:
    """The files that a manifest lists."""
    listed = (found.get(name) for name in ("outputs", "files", "not_hashed"))
    return {str(name) for names in listed if isinstance(names, dict | list) for name in names}


def read_result(folder: Path, manifest: str = MANIFEST) -> dict[str, Any] | None:
    """The manifest of a finished folder; None if there is none, or none that can be read."""
    if not (folder / manifest).is_file():
        return None
    try:
        return read_json(folder / manifest, remedy=DAMAGED)
    except InputError:
        return None


def _is_free(target: Path) -> bool:
    """Whether there is nothing, or an empty folder."""
    if not os.path.lexists(target):
        return True
    return target.is_dir() and all(path.name == INSIDE for path in target.iterdir())


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{short_name(target)}.{secrets.token_hex(8)}.{what}")


def _commit(draft: Path, lock: Lock, note: Callable[[], None]) -> None:
    """Put the draft in its place; what was there goes aside first and comes back if that fails."""
    target = lock.target
    if target.exists():
        draft.chmod(stat.S_IMODE(target.stat().st_mode))
    note()
    if _is_free(target):
        fresh = not target.exists()
        with suppress(FileNotFoundError):
            target.rmdir()
        draft.rename(target)
        if fresh:
            _open_to_others(target)
        flush_folder(target.parent)
        return
    aside = _beside(target, "old")
    target.rename(aside)
    try:
        draft.rename(target)
    except BaseException:
        if not os.path.lexists(target):
            aside.rename(target)
        raise
    flush_folder(target.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _open_to_others(folder: Path) -> None:
    """Let a finished folder be read by whoever may read a new one; until then it is private."""
    kept = stat.S_IMODE(folder.stat().st_mode) & 0o7000
    folder.chmod(kept | usual_mode(0o777))


@contextmanager
def explained(target: Path, path: str | os.PathLike[str]) -> Generator[None]:
    """Turn a failure to write into an error that says so; other failures stay what they are."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        named = problem.filename
        if isinstance(named, str) and not Path(named).absolute().is_relative_to(target.parent):
            raise
        raise _unwritten(path, problem.strerror or str(problem)) from None
    except NotWritten as problem:
        raise _unwritten(path, problem.reason) from None


def _unwritten(path: str | os.PathLike[str], why: str) -> RunError:
    return RunError(
        f"cannot write here: {why}",
        file=os.fspath(path),
        remedy="choose a folder you can write to, on a disk with enough space",
    )
