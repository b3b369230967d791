"""The bytes of one input file: a small one is read once and kept, a large one must not change."""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from showthrough.errors import InputError
from showthrough.files import Limits, current_limits, open_file, unreadable

__all__ = [
    "DAMAGED",
    "Content",
]

#: Files up to this size are read once, and their bytes kept.
HELD = 2**24

#: How zlib is told to expect a gzip file's header and checksum. Unlike Python's own reader it refuses
#: flags that have no meaning.
_GZIP = 31

#: Bytes of a compressed file that are unpacked at a time.
_PACKED = 2**16

#: What reading a damaged or a vanishing file may raise.
DAMAGED = (OSError, EOFError, zlib.error)


@dataclass(frozen=True, eq=False)
class Content:
    """What is in a file. ``name`` is what the caller called it, for messages.

    The small ones ``among`` this many files are held in memory. What was sent to another machine is looked at
    there when it is asked for, so that whoever gets many of them and needs one opens one.
    """

    path: Path
    name: str
    error: type[InputError]
    limits: Limits = field(default_factory=current_limits)
    among: int = 1
    _stamp: tuple[int, int, int] = field(init=False)
    _held: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        with open_file(self.path, error=self.error) as stream:
            object.__setattr__(self, "_stamp", _stamp(stream))
            if self.is_small:
                object.__setattr__(self, "_held", self._all(stream))

    @property
    def is_packed(self) -> bool:
        """Whether the file is compressed as a whole."""
        return self.path.name.lower().endswith(".gz")

    @property
    def size(self) -> int:
        """How many bytes it has on disk."""
        return self._stamp[0]

    @property
    def is_small(self) -> bool:
        """Whether all of it is in memory."""
        return self.size <= HELD // self.among

    def _all(self, stream: BinaryIO) -> bytes:
        try:
            return stream.read()
        except OSError as problem:
            raise unreadable(self.name, problem, error=self.error) from None

    def _file(self) -> BinaryIO:
        """The file itself, if it is still the one that was looked at first."""
        stream = open_file(self.path, error=self.error)
        if _stamp(stream) != self._stamp:
            stream.close()
            raise self.error(
                "the file changed while it was being read",
                file=self.name,
                remedy="wait until it is complete, then run the command again",
            )
        return stream

    def open(self) -> BinaryIO:
        """The bytes from the start, unpacked where the file is compressed."""
        raw: BinaryIO = io.BytesIO(self._held) if self.is_small else self._file()
        if not self.is_packed:
            return raw
        return _Unpacked(raw, self)  # type: ignore[return-value]

    def arrow(self) -> pa.NativeFile:
        """The bytes for Arrow's own readers, which may jump about in them."""
        if self.is_small:
            return pa.BufferReader(self._held)
        self._file().close()
        # As bytes, because not every name is text.
        return pa.OSFile(os.fsencode(self.path), "rb")  # type: ignore[arg-type]

    def digest(self) -> str:
        """The SHA-256 of the file as it lies on disk."""
        if self.is_small:
            return hashlib.sha256(self._held).hexdigest()
        with self._file() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        # On another machine the file is read there, whatever folder is current.
        names = ("name", "error", "limits", "among")
        state = {"path": self.path.absolute(), **{name: getattr(self, name) for name in names}}
        return object.__new__, (type(self),), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """The state of a file that was not looked at yet."""
        if name != "_stamp":
            raise AttributeError(name)
        self.__post_init__()
        return self.__dict__[name]


class _Unpacked(io.RawIOBase):
    """A compressed file's content, as far as its limit."""

    def __init__(self, packed: BinaryIO, content: Content) -> None:
        super().__init__()
        self._packed, self._content = packed, content
        self._member: Any = None  # which zlib does not name
        self._pending, self._started = b"", False
        self._most = content.limits.most_unpacked(content.size)
        self._read = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if size < 0:
            return b"".join(iter(lambda: self.read(2**20), b""))
        found = b"".join(self._pieces(size))
        self._read += len(found)
        if self._most is not None and self._read > self._most:
            raise self._content.error(
                f"the file unpacks to more than {self._most:,} bytes",
                file=self._content.name,
                remedy="unpack and inspect it first, or read it anyway with --no-limits",
            )
        return found

    def _pieces(self, size: int) -> Iterator[bytes]:
        """So many bytes in all, fewer only at the end."""
        while size:
            self._pending = self._pending or self._packed.read(_PACKED)
            if self._member is None and self._started:  # some programs fill up the last block with zeros
                self._pending = self._pending.lstrip(b"\0") or self._packed.read(_PACKED)
                if self._pending.startswith(b"\0"):
                    continue
            if self._member is None:
                if not self._pending:
                    return
                self._member, self._started = zlib.decompressobj(_GZIP), True
            found = self._member.decompress(self._pending, size)  # without input, what it still holds
            if not found and not self._pending and not self._member.eof:
                raise EOFError("the compressed file is truncated")
            if self._member.eof:
                self._pending, self._member = self._member.unused_data, None
            else:
                self._pending = self._member.unconsumed_tail
            size -= len(found)
            yield found

    def close(self) -> None:
        self._packed.close()
        super().close()


def _stamp(stream: BinaryIO) -> tuple[int, int, int]:
    found = os.fstat(stream.fileno())
    return found.st_size, found.st_mtime_ns, found.st_ino
