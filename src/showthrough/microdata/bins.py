"""Rules for bins, and the bins that they make of columns: by width, by given ends, or by quantiles.

One pass through the columns finds whether their numbers are whole, the smallest and the largest, and how
often each number of a column with quantiles occurs; what memory does not hold goes to disk.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.engine.duck import connect, query_batches
from showthrough.errors import InputError, check_each, check_type
from showthrough.frames import Chunk, Source
from showthrough.frames.bins import Bins, as_numbers
from showthrough.frames.columns import text

__all__ = [
    "BinRule",
    "BinRuleLike",
    "FoundBins",
    "find_bins",
    "listed_ends",
    "read_bin_rule",
    "read_bin_rules",
]

pc: Any = pyarrow.compute

#: More bins than this are no bins.
MOST_BINS: Final = 10_000

#: The quantiles of a sensitive column are rounded to this many digits, because they are exact statistics.
DIGITS: Final = 2

#: What counting numbers may take before it goes to disk.
MEMORY: Final = "512MB"

EXAMPLE: Final = "write age=10 for a width, age=0,18,30,65 for ends, or age=quantiles:5"

_QUANTILES = re.compile(r"\s*quantiles\s*:\s*(\d+)\s*", re.I)


@dataclass(frozen=True)
class BinRule:
    """How to find the bins of a column: exactly one of the three is given.

    >>> BinRule(width=10)
    BinRule(width=10, ends=(), quantiles=None)
    """

    width: float | None = None
    ends: tuple[float, ...] = ()
    quantiles: int | None = None

    def __post_init__(self) -> None:
        if (self.width is not None) + bool(self.ends) + (self.quantiles is not None) != 1:
            raise InputError("bins have a width, or ends, or a number of quantiles", remedy=EXAMPLE)
        if self.width is not None and not (self.width > 0 and math.isfinite(self.width)):
            raise InputError("the width of bins must be above 0", found=str(self.width), remedy=EXAMPLE)
        if self.quantiles is not None and not 2 <= self.quantiles <= MOST_BINS:
            problem = f"the number of quantiles must be from 2 to {MOST_BINS:,}"
            raise InputError(problem, found=str(self.quantiles), remedy=EXAMPLE)
        if not all(map(math.isfinite, self.ends)) or list(self.ends) != sorted(set(self.ends)):
            raise InputError("the ends of bins must ascend", found=_plain(self.ends), remedy=EXAMPLE)
        if len(self.ends) >= MOST_BINS:
            raise InputError(f"there are at most {MOST_BINS:,} bins", found=str(len(self.ends) + 1))

    def __str__(self) -> str:
        """As the command line takes it.

        >>> str(BinRule(ends=(0, 18))), str(BinRule(quantiles=5)), str(BinRule(width=2.5))
        ('0,18', 'quantiles:5', '2.5')
        """
        if self.quantiles is not None:
            return f"quantiles:{self.quantiles}"
        return _plain(self.ends) if self.ends else f"{self.width}"


#: A rule, its text, a width, or ends.
BinRuleLike = BinRule | str | float | Sequence[float]


def read_bin_rule(given: BinRuleLike) -> BinRule:
    """A rule, given as such, as text, as a width or as ends.

    >>> read_bin_rule("quantiles:5"), read_bin_rule(10).width, read_bin_rule("0,18").ends
    (BinRule(width=None, ends=(), quantiles=5), 10, (0.0, 18.0))
    """
    if isinstance(given, BinRule):
        return given
    if isinstance(given, int | float | Real):
        check_type(given, Real, name="bins", remedy=EXAMPLE)
        return BinRule(width=int(given) if isinstance(given, Integral) else float(given))
    if not isinstance(given, str):
        check_type(given, (Sequence, np.ndarray), name="bins", remedy=EXAMPLE)
        check_each(given, Real, name="bins", remedy=EXAMPLE)
        return BinRule(ends=tuple(float(end) for end in given))
    if found := _QUANTILES.fullmatch(given):
        return BinRule(quantiles=int(found[1]))
    try:
        numbers = [float(part) for part in given.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError("cannot read these bins", found=given, remedy=EXAMPLE)
    return BinRule(ends=tuple(numbers)) if "," in given else BinRule(width=numbers[0])


def read_bin_rules(given: Mapping[str, BinRuleLike] | Sequence[str] | None) -> dict[str, BinRule]:
    """The rules of several columns, by name or as texts such as ``age=10``.

    >>> read_bin_rules(["age=10"])
    {'age': BinRule(width=10.0, ends=(), quantiles=None)}
    """
    found: dict[str, BinRule] = {}
    if not isinstance(given, Mapping):
        check_each(given or (), str, name="bins", remedy=EXAMPLE)
        for one in given or ():
            name, equals, rule = one.rpartition("=")
            if not equals or not name.strip():
                raise InputError("cannot read these bins", found=one, remedy=EXAMPLE)
            if name.strip() in found:
                raise InputError("a column has bins twice", column=name.strip(), remedy="give one rule")
            found[name.strip()] = read_bin_rule(rule)
        return found
    for name, rule in given.items():
        check_type(name, str, name="a column with bins", remedy="write {'age': 10}")
        try:
            found[name] = read_bin_rule(rule)
        except InputError as error:
            raise error.at(column=name) from None
    return found


@dataclass(frozen=True)
class FoundBins:
    """The bins of columns, and what is worth saying about them."""

    bins: Mapping[str, Bins] = field(default_factory=dict[str, Bins])
    notes: tuple[str, ...] = ()


def find_bins(
    source: Source, rules: Mapping[str, BinRule], *, sensitive: Sequence[str], scratch: Path
) -> FoundBins:
    """The bins that rules make of the columns of a source; an error names a value that is no number.

    >>> from tempfile import TemporaryDirectory
    >>> ages = Source.of(pa.table({"age": [3, 17, 21, 40, 70, None]}))
    >>> with TemporaryDirectory() as folder:
    ...     found = find_bins(ages, {"age": BinRule(quantiles=2)}, sensitive=(), scratch=Path(folder))
    >>> found.bins["age"].labels
    ('under 21', '21 and over')
    """
    if not rules:
        return FoundBins()
    seen = {name: _Seen(name, source) for name in rules}
    counted = [name for name, rule in rules.items() if rule.quantiles is not None]
    quantiles = {name: _Quantiles(rules[name].quantiles or 0) for name in counted}
    batches = _batches(source, seen, counted)
    if counted:
        with connect(scratch, memory=MEMORY) as connection:
            query = "SELECT place, number, count(*) AS n FROM rows GROUP BY ALL ORDER BY place, number"
            schema = pa.schema([("place", pa.int32()), ("number", pa.float64())])
            for batch in query_batches(connection, batches, schema, query, file=source.name):
                at, number, n = (np.asarray(batch.column(name)) for name in ("place", "number", "n"))
                for code in np.unique(at):
                    name, own = counted[code], at == code
                    quantiles[name].see(number[own], n[own], records=seen[name].records)
    else:
        for _ in batches:
            pass
    bins, notes = dict[str, Bins](), list[str]()
    for name, rule in rules.items():
        wanted = quantiles[name].ends() if name in quantiles else rule.ends or seen[name].multiples(rule)
        ends = [_rounded(end) for end in wanted] if name in quantiles and name in sensitive else wanted
        bins[name] = seen[name].bins(ends)
        notes += _notes(name, rule, bins[name], rounded=ends is not wanted)
    return FoundBins(bins, tuple(notes))


def _notes(name: str, rule: BinRule, made: Bins, *, rounded: bool) -> Iterator[str]:
    if rounded:
        yield (
            f"{name}: the quantiles of a sensitive column are exact statistics of the records, so the ends "
            f"of its bins were rounded to {DIGITS} digits; they are published: {listed_ends(made)}"
        )
    if rule.quantiles is not None and len(made.labels) < rule.quantiles:
        made_of = f"{len(made.labels):,} bins instead of {rule.quantiles:,}"
        yield f"{name}: {made_of}, because many records have the same number"


class _Seen:
    """What was seen of a column of numbers."""

    def __init__(self, name: str, source: Source) -> None:
        self.name, self.source = name, source
        self.records, self.whole = 0, True
        self.low, self.high = math.inf, -math.inf

    def see(self, chunk: Chunk) -> pa.ChunkedArray:
        """Take in some rows; their numbers."""
        place = chunk.place
        numbers = as_numbers(
            chunk.table[self.name], self.name, file=place.file, row=place.row, error=self.source.error
        )
        self.records += len(numbers) - numbers.null_count
        if len(numbers) > numbers.null_count:
            ends: Any = pc.min_max(numbers).as_py()
            self.low, self.high = min(self.low, ends["min"]), max(self.high, ends["max"])
            if self.whole and pa.types.is_floating(numbers.type):
                self.whole = bool(pc.all(pc.equal(numbers, pc.floor(numbers))).as_py())
        return numbers

    def multiples(self, rule: BinRule) -> Sequence[float]:
        """The multiples of a width around all numbers."""
        if not self.records:
            return ()
        width = Decimal(str(rule.width))
        first, last = (math.floor(Decimal(str(end)) / width) for end in (self.low, self.high))
        if last - first >= MOST_BINS:
            raise InputError(
                f"numbers from {self.low:g} to {self.high:g} make {last - first + 1:,} bins of this width",
                file=self.source.name,
                column=self.name,
                found=str(rule),
                remedy="choose a larger width",
            )
        return [float(at * width) for at in range(first, last + 2)]

    def bins(self, ends: Sequence[float]) -> Bins:
        """Bins with these ends."""
        if not len(ends):
            raise self.source.error(
                "the column has too few different numbers for bins",
                file=self.source.name,
                column=self.name,
                remedy="leave it as it is, or give the ends",
            )
        return Bins.of(ends, whole=self.whole)


def _batches(source: Source, seen: Mapping[str, _Seen], counted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """One pass through the columns; the numbers of those that are counted, with the column's position."""
    for chunk in source.chunks(list(seen)):
        for name, column in seen.items():
            numbers = column.see(chunk)
            if name in counted:
                known = np.asarray(pc.drop_null(numbers.cast(pa.float64())))
                at = np.full(len(known), counted.index(name), np.int32)
                yield pa.RecordBatch.from_arrays([pa.array(at), pa.array(known)], names=["place", "number"])


class _Quantiles:
    """The ends of bins with about equally many records, from counts of numbers in ascending order.

    A bin can only end between two different numbers: each end is the number below which there are most
    nearly as many records as there should be.
    """

    def __init__(self, number: int) -> None:
        self.shares = np.arange(1, number) / number
        self.below = 0
        self.best = np.full(number - 1, np.inf)
        self.end = np.full(number - 1, np.nan)

    def see(self, numbers: NDArray[np.float64], counts: NDArray[np.int64], *, records: int) -> None:
        """Take in some numbers and how many records have each."""
        below = self.below + np.concatenate([[0], np.cumsum(counts)[:-1]])
        self.below += int(counts.sum())
        for at, wanted in enumerate(self.shares * records):
            near = np.searchsorted(below, wanted)
            for one in (near - 1, near):
                # Nothing is below the smallest number, so no bin ends there.
                if 0 <= one < len(below) and below[one] and abs(below[one] - wanted) < self.best[at]:
                    self.best[at], self.end[at] = abs(below[one] - wanted), numbers[one]

    def ends(self) -> list[float]:
        """Where bins end."""
        return sorted(set(self.end[~np.isnan(self.end)].tolist()))


def _rounded(number: float) -> float:
    """To two significant digits.

    >>> _rounded(1_849.5), _rounded(-0.01234), _rounded(0.0)
    (1800.0, -0.012, 0.0)
    """
    return float(f"{number:.{DIGITS}g}")


def listed_ends(bins: Bins) -> str:
    """Where bins end, as text; only the first and the last of many.

    >>> listed_ends(Bins.of([18, 30], whole=True)), listed_ends(Bins.of(range(0, 101, 5), whole=True))
    ('18, 30', '0, 5, 10, …, 95, 100')
    """
    ends = [text(end) for end in bins.ends]
    return ", ".join(ends if len(ends) <= 8 else [*ends[:3], "…", *ends[-2:]])


def _plain(numbers: Sequence[float]) -> str:
    return ",".join(f"{number:g}" if abs(number) < 10**6 else f"{number:.17g}" for number in numbers)
