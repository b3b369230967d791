"""Arguments that name something in an object store: worked on in a local copy, and copied back."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from showthrough.cli.terminal import SHOWN_AS
from showthrough.errors import InputError
from showthrough.files import read_json, write_json
from showthrough.folders import remove
from showthrough.formats.toml import read_toml
from showthrough.scratch import SCRATCH, private_scratch
from showthrough.stores import Digests, Stored, is_stored

__all__ = [
    "run_with_copies",
]

#: Options whose value is a file or folder to write.
WRITTEN = ("--out", "--html", "--ledger", "--vipr", "--covariance-out")

#: How the addresses of all stores begin.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

#: Exit codes of commands that did what they were asked to.
DONE = (0, 1, 3)

#: The file beside a result that is not yet copied to its store: the command, and its exit code.
_UNSENT = "unsent.json"


@dataclass
class _Copy:
    """Something in a store, its copy here, and what of it is known to be in the store.

    ``kept`` is a folder of ours that outlives an interrupted command, so that it can be resumed.
    """

    stored: Stored
    local: Path
    known: Digests
    kept: Path | None = None


@dataclass
class _Call:
    """A command with local paths in the place of addresses in stores.

    ``code`` is its exit code if it was done before, and only its result had still to be copied.
    """

    given: list[str]
    copies: list[_Copy] = field(default_factory=list[_Copy])
    code: int | None = None

    def send(self, asked: list[str], code: int) -> None:
        """Copy back what the command has written, and forget the copies."""
        kept = [copy.kept for copy in self.copies if copy.kept is not None]
        for folder in kept:
            write_json(folder / _UNSENT, {"given": asked, "code": code})
        for copy in self.copies:
            if copy.local.exists():
                copy.stored.put(copy.local, copy.known)
        for folder in kept:
            remove(folder)

    def tidy(self) -> None:
        """Keep nothing but what the same command can resume, or still has to copy."""
        for copy in self.copies:
            if copy.kept is not None and not _is_resumable(copy.kept, copy.local):
                remove(copy.kept)


def run_with_copies(given: list[str], run: Callable[[list[str]], int]) -> int:
    """Run a command on local copies of what its arguments name in stores; its exit code.

    What it has written is copied back if it did what it was asked to. What is to be written has a place
    here that the same command finds again, so that an interrupted one is resumed.
    """
    with _local(given) as call:
        try:
            code = run(call.given) if call.code is None else call.code
            if code in DONE:
                call.send(given, code)
            return code
        finally:
            call.tidy()


@contextmanager
def _local(given: Sequence[str]) -> Generator[_Call]:
    """The command with copies of all that it names in stores."""
    made = _Call(list(given))
    SHOWN_AS.clear()
    with private_scratch() as scratch:
        for at, text in enumerate(given):
            option, sign, value = text.partition("=") if text.startswith("--") else ("", "", text)
            before = option or (given[at - 1] if at else "")
            if not is_stored(value):
                if before in WRITTEN:
                    _refuse_unknown(value)
                continue
            stored = Stored(value)
            if before in WRITTEN:
                copy = _output(stored)
                _refuse_second_draw(copy, given)
                made.code = _unsent(copy, given)
            else:
                copy = _input(stored, scratch / str(at))
            made.copies.append(copy)
            made.given[at] = f"{option}{sign}{copy.local}"
            SHOWN_AS[str(copy.local)] = stored.shown
        yield made


def _refuse_unknown(value: str) -> None:
    """Raise if something is to be written to an unknown store: a folder of that name would be made here."""
    if _ADDRESS.match(value):
        raise InputError(
            "results cannot be written to this address",
            found=value,
            remedy="use a folder, or s3://, gs://, abfs:// or hdfs:// with the name of a bucket and a path",
        )


def _input(stored: Stored, folder: Path) -> _Copy:
    """A file or folder to read; it may also be written to, as ``report`` does."""
    folder.mkdir()
    local = folder / stored.name
    known = stored.fetch(local)
    if not known:
        raise InputError("there is nothing there", file=stored.shown, remedy="check the address")
    if local.suffix == ".toml" and local.is_file():
        for text in _texts(read_toml(local, error=InputError)):
            if not Path(text).is_absolute() and not is_stored(text):
                stored.beside(text).fetch(folder / text)
    return _Copy(stored, local, known)


def _texts(value: object) -> Iterator[str]:
    """All texts of a file of settings that may name other files."""
    if isinstance(value, str):
        yield from [value] if value and ".." not in Path(value).parts and value.isprintable() else []
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in _texts(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in _texts(one))


def _output(stored: Stored) -> _Copy:
    """A file or folder to write: with what is in the store, or what an interrupted command left here."""
    folder = _kept(stored)
    local = folder / stored.name
    if _is_resumable(folder, local):
        return _Copy(stored, local, {}, folder)
    remove(local)
    return _Copy(stored, local, stored.fetch_result(local), folder)


def _refuse_second_draw(copy: _Copy, given: Sequence[str]) -> None:
    """Raise if a publication would be drawn anew where a part of another draw may have been read already."""
    if copy.kept is None or _is_resumable(copy.kept, copy.local) or "publish" not in given[:1]:
        return
    settled = any(text.partition("=")[0] in ("--seed", "--overwrite") for text in given)
    if not settled and copy.stored.is_half_copied:
        remove(copy.kept)
        raise InputError(
            "the folder holds part of a publication that was never copied completely: whoever has "
            "read it learns more from a second draw of the same records",
            file=copy.stored.shown,
            remedy=f"run this command where it was interrupted, with the same {SCRATCH}; or, if nobody can "
            "have read it, add --overwrite",
        )


def _is_resumable(folder: Path, local: Path) -> bool:
    return (local / ".partial").exists() or (folder / _UNSENT).exists()


def _kept(stored: Stored) -> Path:
    """The private folder in which this result is made, whoever asks for it."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    number = hashlib.sha256(f"{user} {stored.url}".encode()).hexdigest()[:32]
    folder = Path(os.environ.get(SCRATCH) or tempfile.gettempdir(), f"showthrough-to-store-{number}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != user):
        raise InputError(
            "this folder belongs to another user",
            file=str(folder),
            remedy=f"set {SCRATCH} to another folder",
        )
    return folder


def _unsent(copy: _Copy, given: Sequence[str]) -> int | None:
    """The exit code of this very command, if all it had still to do was to copy its result.

    The unsent result of another command is copied before this one begins.
    """
    if copy.kept is None or not (copy.kept / _UNSENT).exists():
        return None
    found = read_json(copy.kept / _UNSENT)
    if found.get("given") == list(given) and isinstance(found.get("code"), int):
        return found["code"]
    copy.stored.put(copy.local, {})
    remove(copy.kept / _UNSENT)
    copy.known = copy.stored.fetch_result(copy.local)
    return None
