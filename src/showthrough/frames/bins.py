"""Numbers in bins: where bins end, what they are called, and a column of numbers as names of bins."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.frames.columns import text

__all__ = [
    "Bins",
    "as_numbers",
]

pc: Any = pyarrow.compute


@dataclass(frozen=True)
class Bins:
    """Intervals that end where the next one begins; the first and the last are open.

    Parameters
    ----------
    ends : tuple of float
        Where a bin ends and the next one begins, in ascending order. A number that is equal to an end is
        in the upper bin.
    whole : bool
        Whether all numbers are whole, so that "18–29" says all.

    Examples
    --------
    >>> Bins.of([18, 30, 65], whole=True).labels
    ('under 18', '18–29', '30–64', '65 and over')
    >>> Bins.of([0.5, 1], whole=False).labels
    ('under 0.5', '0.5 to under 1', '1 and over')
    """

    ends: tuple[float, ...]
    whole: bool

    @classmethod
    def of(cls, ends: Iterable[float], *, whole: bool) -> Bins:
        """From ends in any order; between whole numbers there are whole ends only."""
        return cls(tuple(sorted({float(math.ceil(end) if whole else end) for end in ends})), whole)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What the bins are called, in ascending order."""
        between = [self._between(*pair) for pair in zip(self.ends, self.ends[1:], strict=False)]
        return (f"under {text(self.ends[0])}", *between, f"{text(self.ends[-1])} and over")

    def _between(self, low: float, high: float) -> str:
        if not self.whole:
            return f"{text(low)} to under {text(high)}"
        if high - low == 1:
            return text(low)
        mark = "–" if low >= 0 else " to "
        return f"{text(low)}{mark}{text(high - 1)}"

    def recode(self, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
        """The name of each number's bin; missing numbers stay missing.

        >>> Bins.of([18], whole=True).recode(pa.chunked_array([[17, None, 18]])).to_pylist()
        ['under 18', None, '18 and over']
        """
        chunks: Any = [self._chunk(chunk) for chunk in numbers.chunks]
        return pa.chunked_array(chunks, self._type)

    @property
    def _type(self) -> Any:
        return pa.dictionary(pa.int32(), pa.string())

    def _chunk(self, chunk: Any) -> pa.Array:
        missing = np.asarray(chunk.is_null())
        numbers = chunk.fill_null(0).to_numpy(zero_copy_only=False)
        code = np.searchsorted(self._edges(numbers), numbers, side="right")
        codes = pa.array(code.astype(np.int32), mask=missing)
        return pa.DictionaryArray.from_arrays(codes, pa.array(self.labels, pa.string()))

    def _edges(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The ends as numbers of the same kind, so that large whole numbers are compared exactly."""
        ends = np.array(self.ends)
        if numbers.dtype.kind == "i" and np.abs(ends).max() < 2**62:
            return np.ceil(ends).astype(np.int64)
        return ends


def as_numbers(
    column: pa.ChunkedArray, name: str, *, file: str | None, row: int, error: type[InputError]
) -> pa.ChunkedArray:
    """A column of numbers, or of texts that are numbers; empty texts are missing.

    ``row`` is how many rows come before, for the message about a value that is no number.

    >>> ages = pa.chunked_array([["7", "", " 8.5"]])
    >>> as_numbers(ages, "age", file=None, row=0, error=InputError).to_pylist()
    [7.0, None, 8.5]
    """
    kind: Any = column.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind):
        stripped = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(stripped, ""), pa.scalar(None, pa.string()), stripped)
    elif not (pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_integer(kind)):
        raise error(
            "the column has no numbers",
            file=file,
            column=name,
            found=str(kind),
            remedy="only columns of numbers can have bins",
        )
    try:
        numbers: Any = column.cast(pa.float64())
        at = pc.index(pc.is_finite(numbers), False).as_py()
    except pa.ArrowException:
        at = next(at for at, value in enumerate(column) if not _is_number(value))
        numbers = None
    if at >= 0 or numbers is None:
        raise error(
            "not a number, so it belongs to no bin",
            file=file,
            row=row + at + 1,
            column=name,
            found=str(column[at].as_py()),
            remedy="leave a missing number empty, or do not bin this column",
        )
    return numbers


def _is_number(value: Any) -> bool:
    try:
        return not value.is_valid or bool(value.cast(pa.float64()).is_valid)
    except pa.ArrowException:
        return False
