"""Whether machines share a folder: each looks for the token that the first of them has left there."""

from __future__ import annotations

import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from showthrough.errors import ShowthroughError

__all__ = [
    "SharedFolder",
]

#: Seconds after which a file that another machine has written must be visible.
_PATIENCE = 10.0


@dataclass(frozen=True)
class SharedFolder:
    """A folder with a token in it, which every machine must find before it works there.

    A folder of the same name on a machine's own disk would swallow results without any error.
    """

    path: Path
    token: str

    @classmethod
    def mark(cls, path: Path) -> Self:
        """Leave a token in a folder."""
        made = cls(path, secrets.token_hex(16))
        made._file.touch(mode=0o600)
        return made

    @property
    def _file(self) -> Path:
        return self.path / f".shared-{self.token}"

    def check(self) -> None:
        """Raise unless the token is visible from here."""
        deadline = time.monotonic() + (_PATIENCE if self.path.is_dir() else 0.0)
        while not self._file.exists():
            if time.monotonic() >= deadline:
                raise ShowthroughError(
                    f"{self.path}: the machine {socket.gethostname()} of the cluster does not see what "
                    "others write to this folder; use storage that all machines share under the same path"
                )
            time.sleep(0.2)

    def unmark(self) -> None:
        """Take the token away."""
        self._file.unlink(missing_ok=True)
