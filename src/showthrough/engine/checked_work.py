"""Work for other machines: each checks that it is fit for it before it does any."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from showthrough.engine.engine import Work
from showthrough.engine.shared_folder import SharedFolder
from showthrough.errors import ShowthroughError
from showthrough.folders import versions

__all__ = [
    "CheckedWork",
    "check_versions",
    "machine_versions",
]

#: What must be the same on all machines, so that their results are.
_PACKAGES = ("showthrough", "numpy", "scipy", "pyarrow", "highspy", "ortools")


@dataclass(frozen=True, eq=False)
class CheckedWork:
    """The work, and what must be true of a machine that does some of it."""

    work: Work
    versions: dict[str, str]
    folder: SharedFolder | None

    @classmethod
    def of(cls, work: Work) -> Self:
        """The work with the versions of this machine; the folder that its results are left in is marked."""
        folder = getattr(getattr(work, "__self__", work), "folder", None)
        return cls(work, machine_versions(), None if folder is None else SharedFolder.mark(Path(folder)))

    def __call__(self, item: int) -> int:
        """Check the machine, and do the work."""
        check_versions(self.versions)
        if self.folder is not None:
            self.folder.check()
        return self.work(item)

    def close(self) -> None:
        """Take the mark away when all is done."""
        if self.folder is not None:
            self.folder.unmark()


@cache
def machine_versions() -> dict[str, str]:
    """The versions that must be the same on all machines."""
    found = versions(_PACKAGES)
    return {**found, "python": found["python"].rpartition(".")[0]}


def check_versions(wanted: dict[str, str]) -> None:
    """Raise unless this machine has the versions of the one that asks for the work."""
    if (found := machine_versions()) != wanted:
        raise ShowthroughError(
            f"the machine {socket.gethostname()} of the cluster has {_listed(found, wanted)}, "
            f"this one has {_listed(wanted, found)}; install the same versions on all machines"
        )


def _listed(some: dict[str, str], others: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in some.items() if others.get(name) != version)
