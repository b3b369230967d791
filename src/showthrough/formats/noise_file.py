"""Noise of published counts: as a release file declares it, and perturbation tables (ptables) as files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

from pydantic import BeforeValidator, StrictInt

from showthrough.errors import ReleaseError
from showthrough.formats.toml import Shape, quoted
from showthrough.frames import Source
from showthrough.noise_law import parse_law
from showthrough.perturbation import (
    MOST_CLASSES,
    BoundedNoise,
    Perturbation,
    PerturbationTable,
    TransitionTable,
)
from showthrough.records import as_text

__all__ = [
    "NoiseOrFalse",
    "NoiseShape",
    "noise_to_toml",
    "read_perturbation_table",
]

#: How far the probabilities of a count may be from adding up to 1.
_TOLERANCE = 1e-6


class NoiseShape(Shape):
    """``[noise]``"""

    law: str | None = None
    at_most: StrictInt | None = None
    zeros: str | None = None
    ptable: str | None = None
    changes: list[list[StrictInt]] | None = None
    chances: list[list[float]] | None = None

    def made(self, find: Callable[[str], Path]) -> Perturbation | None:
        """The noise; of at most 0 is none. ``find`` tells where a file that is named lies."""
        given = [name for name in ("law", "at_most", "ptable", "changes") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ReleaseError(
                "noise must be declared in one way",
                found=", ".join(given) or None,
                remedy='write law = "discrete-gaussian:2", or at_most = 2, or ptable = "ptable.csv", '
                "or changes = [[0], [-1, 0, 1]]",
            )
        if self.chances is not None and self.changes is None:
            raise ReleaseError(f"chances does not go with {given[0]}", remedy="give them with changes")
        if self.at_most is not None:
            noise = self.at_most and BoundedNoise(self.at_most, self.zeros or "changed")
            return noise or None
        if self.zeros is not None:
            raise ReleaseError(
                f"zeros does not go with {given[0]}",
                found=self.zeros,
                remedy="leave it out: the changes of a count of 0 say what becomes of zeros",
            )
        if self.law is not None:
            return parse_law(self.law)
        if self.ptable is not None:
            return read_perturbation_table(find(self.ptable))
        changes = tuple(tuple(one) for one in self.changes or ())
        if self.chances is None:
            return PerturbationTable(changes)
        return TransitionTable(changes, tuple(tuple(one) for one in self.chances))


def _no_noise(value: object) -> object:
    return {"at_most": 0} if value is False else value


NoiseOrFalse = Annotated[NoiseShape, BeforeValidator(_no_noise)]


def noise_to_toml(noise: Perturbation) -> str:
    """The noise as a release file declares it within a table.

    >>> noise_to_toml(BoundedNoise(2, "kept")), noise_to_toml(PerturbationTable([[0], [-1, 1]]))
    ('{ at_most = 2, zeros = "kept" }', '{ changes = [[0], [-1, 1]] }')
    """
    if isinstance(noise, BoundedNoise):
        return f"{{ at_most = {noise.at_most}, zeros = {quoted(noise.zeros)} }}"
    if not isinstance(noise, PerturbationTable):
        return f"{{ law = {quoted(noise.text)} }}"
    chances = (
        f", chances = {[list(one) for one in noise.chances]}" if isinstance(noise, TransitionTable) else ""
    )
    return f"{{ changes = {[list(one) for one in noise.changes]}{chances} }}"


def read_perturbation_table(source: object) -> TransitionTable:
    """Read a perturbation table (ptable) as the cell-key method uses it.

    The columns are ``i`` (the count), ``j`` (the published value) or ``v`` (the change, j − i), and
    ``p`` (the probability); others are ignored. The counts start at 0 without a gap; the changes of
    the last one are those of all larger counts.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, Arrow, Feather), an Arrow table, or a pandas or polars data frame.

    Returns
    -------
    TransitionTable
        The changes of each count that have a probability above 0, with these.

    Raises
    ------
    ReleaseError
        If the file cannot be read, a count is missing, or the probabilities of a count do not add up
        to 1; the message names file, row and column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"i": [0, 1, 1, 2], "j": [0, 0, 2, 2], "p": [1, 0.5, 0.5, 1]})
    >>> read_perturbation_table(rows).changes
    ((0,), (-1, 1), (0,))
    """
    opened = Source.of(source, error=ReleaseError)
    rows = _Rows(opened)
    by_count: dict[int, dict[int, float]] = {}
    for row in range(rows.size):
        count, change, p = rows.count(row), rows.change(row), rows.probability(row)
        known = by_count.setdefault(count, {})
        if change in known:
            raise ReleaseError(
                f"the change of a count of {count} by {change} is there twice",
                file=opened.name,
                row=row + 1,
                remedy="keep one of the rows",
            )
        known[change] = p
    _check_classes(by_count, opened.name)
    kept = [{c: p for c, p in by_count[i].items() if p > 0} for i in sorted(by_count)]
    chances = tuple(tuple(p / math.fsum(one.values()) for p in one.values()) for one in kept)
    try:
        return TransitionTable(tuple(map(tuple, kept)), chances)
    except ReleaseError as error:
        raise error.at(file=opened.name) from None


class _Rows:
    """The rows of a perturbation table, as numbers."""

    def __init__(self, source: Source) -> None:
        self.file = source.name
        named = {name.strip().lower(): name for name in source.names}
        lacking = [name for name in ("i", "p") if name not in named]
        if not {"j", "v"} & {*named}:
            lacking.insert(1 if "i" in lacking else 0, "j")
        if lacking:
            raise ReleaseError(
                f"the perturbation table has no column {lacking[0]}",
                file=self.file,
                found=", ".join(source.names[:10]),
                remedy="it needs the columns i (count), j (published value) or v (change), p (probability)",
            )
        wanted = {name: named[name] for name in ("i", "j", "v", "p") if name in named}
        table = source.table(list(wanted.values()))
        self._texts: dict[str, Sequence[str | None]] = {
            name: as_text(table[column]).to_pylist() for name, column in wanted.items()
        }
        self.size = table.num_rows

    def count(self, row: int) -> int:
        """The true count."""
        count = self._whole("i", row)
        if not 0 <= count < MOST_CLASSES:
            self._refuse("i", row, "impossible count", f"use counts from 0 to {MOST_CLASSES - 1:,}")
        return count

    def change(self, row: int) -> int:
        """What is added to the count."""
        changes = {self._whole("v", row)} if "v" in self._texts else set[int]()
        if "j" in self._texts:
            changes.add(self._whole("j", row) - self._whole("i", row))
        if len(changes) > 1:
            self._refuse("v", row, "v is not j - i", "correct one of the columns, or leave one out")
        return changes.pop()

    def probability(self, row: int) -> float:
        """The probability, from 0 to 1."""
        try:
            p = float(self._texts["p"][row] or "")
        except ValueError:
            p = math.nan
        if not 0 <= p <= 1 + _TOLERANCE:
            self._refuse("p", row, "not a probability", "write a number from 0 to 1, such as 0.25")
        return p

    def _whole(self, name: str, row: int) -> int:
        text = (self._texts[name][row] or "").strip().replace("−", "-")
        sign, digits = text.startswith("-"), text.removeprefix("-").removeprefix("+")
        digits = digits.removesuffix(".0")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            self._refuse(name, row, "not a whole number", "write a whole number")
        return -int(digits) if sign else int(digits)

    def _refuse(self, name: str, row: int, problem: str, remedy: str) -> NoReturn:
        text = self._texts[name][row]
        raise ReleaseError(
            problem,
            file=self.file,
            row=row + 1,
            column=name,
            found="" if text is None else text,
            remedy=remedy,
        )


def _check_classes(by_count: dict[int, dict[int, float]], file: str | None) -> None:
    """Raise unless the counts have no gaps and the probabilities of each add up to 1."""
    if not by_count:
        raise ReleaseError("the perturbation table has no rows", file=file)
    for count in range(max(by_count) + 1):
        if count not in by_count:
            raise ReleaseError(
                f"the perturbation table has no rows for a count of {count}",
                file=file,
                remedy=f"add them; {count},{count},1 (i, j, p) if such a count is never changed",
            )
        total = math.fsum(by_count[count].values())
        if abs(total - 1) > _TOLERANCE:
            raise ReleaseError(
                f"the probabilities for a count of {count} do not add up to 1",
                file=file,
                found=f"{total:.6g}",
                remedy="give all rows with all digits: a change that is missing or has probability 0 "
                "is taken to be impossible",
            )
