"""What follows about the suppressed cells of a run's areas, from the counts that it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from showthrough.errors import ShowthroughError
from showthrough.files import file_digest
from showthrough.release import Release
from showthrough.tables.recover import Recovery, recover
from showthrough.tables.run.read import AuditRun

__all__ = [
    "RunRecovery",
    "recover_run",
]

#: Cells without a published count that are looked at, of all areas together.
MOST_CELLS = 2_000


@dataclass(frozen=True)
class RunRecovery:
    """What follows about areas with suppressed cells; the other such areas were not looked at."""

    found: tuple[Recovery, ...]
    n_left_out: int = 0

    @property
    def note(self) -> str:
        """What was left out, in words."""
        if not self.n_left_out:
            return ""
        areas = "area has" if self.n_left_out == 1 else "areas have"
        return f"{self.n_left_out:,} more {areas} suppressed cells; showthrough recover looks at all."


def recover_run(run: AuditRun, most_cells: int = MOST_CELLS) -> RunRecovery:
    """The areas of a run in order, until they have had this many suppressed cells together.

    The page and the terminal ask for the same one after the other.
    """
    files = (run.folder / "release.json", *run.files.paths("counts"))
    key = (*map(file_digest, files), most_cells)
    if key not in _LAST:
        _LAST.clear()
        _LAST[key] = _recover(run, most_cells)
    return _LAST[key]


#: What was found last, by the hashes of what it follows from.
_LAST: dict[tuple[str | int, ...], RunRecovery] = {}


def _recover(run: AuditRun, left: int) -> RunRecovery:
    found: list[Recovery] = []
    skipped = 0
    if not run.has_intervals or run.is_nested:  # of a part alone less would follow than is true
        return RunRecovery(())
    for release in _suppressed(run):
        n_cells = int((release.low < release.high).sum())
        if n_cells > left:
            skipped += 1
            continue
        left -= n_cells
        try:
            found.append(recover(release))
        except ShowthroughError:  # of such an area the run says why itself
            skipped += 1
    return RunRecovery(tuple(found), skipped)


def _suppressed(run: AuditRun) -> Iterator[Release]:
    """The releases in which some cell has no published count."""
    for part in run.batches("counts", ["area", "low", "high"]):
        for row in part.to_pylist():
            low, high = np.array(row["low"], np.int64), np.array(row["high"], np.int64)
            if (low < high).any():
                yield Release(run.layout, low, high, str(row["area"]))
