"""Published values: what each way of writing one means."""

from __future__ import annotations

import itertools

import hypothesis.strategies as hs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from showthrough.errors import ReleaseError
from showthrough.notation import Notation, Rounding, parse_value, parse_values
from showthrough.release import UNBOUNDED, Published
from showthrough.selection import Selection

MARKS = Notation({"*": (1, 4), "c": (0, UNBOUNDED), "": (0, 9), "-1": (2, 3), "7": (5, 6)})


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("12", 12, 12),
        (" 12 ", 12, 12),
        ("012", 12, 12),
        ("12.0", 12, 12),
        ("12.0000", 12, 12),
        ("12.", 12, 12),
        (12, 12, 12),
        ("0", 0, 0),
        ("1-4", 1, 4),
        ("1 – 4", 1, 4),
        ("1–4", 1, 4),
        ("1..4", 1, 4),
        ("3-3", 3, 3),
        ("<5", 0, 4),
        ("< 5", 0, 4),
        ("<=5", 0, 5),
        ("≤5", 0, 5),
        (">5", 6, UNBOUNDED),
        (">=100", 100, UNBOUNDED),
        ("≥100", 100, UNBOUNDED),
        ("100+", 100, UNBOUNDED),
        ("unknown", 0, UNBOUNDED),
        ("*", 1, 4),
        (" * ", 1, 4),
        ("c", 0, UNBOUNDED),
        ("", 0, 9),
        ("  ", 0, 9),
        (None, 0, 9),
        ("-1", 2, 3),
        (-1, 2, 3),
        ("7", 5, 6),
        (str(UNBOUNDED - 1), UNBOUNDED - 1, UNBOUNDED - 1),
    ],
)
def test_what_a_value_means(text, low, high):
    assert parse_value(text, MARKS) == (low, high)
    column = pa.array([None if text is None else str(text)], pa.string())
    assert [ends.tolist() for ends in parse_values(column, MARKS)] == [[low], [high]]


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("-3", "negative count", "counts start at 0"),
        (-3, "negative count", "counts start at 0"),
        ("12.5", "a count is not a whole number", "publish whole counts"),
        ("abc", "not a number", '[suppressed] "abc" = "unknown"'),
        ("1,234", "not a number", "write a whole number"),
        ("1e3", "not a number", "write a whole number"),
        ("٣", "not a number", "write a whole number"),
        ("nan", "not a number", "write a whole number"),
        ("4-1", "no count lies in this interval", "the lower end comes first"),
        ("<0", "no count lies in this interval", "counts start at 0"),
        ("9" * 18 + "999", "a count is too large", "2^62"),
        ("9" * 10_000, "a count is too large", "2^62"),
        (f"{UNBOUNDED}+", "a count is too large", "2^62"),
        ("", "a value is empty", '[suppressed] "" = "unknown"'),
        (None, "a value is empty", '[suppressed] "" = "unknown"'),
        ("12.000", "the point may separate thousands or decimals", "write 12000 or 12"),
    ],
)
def test_what_is_no_value(text, problem, remedy):
    with pytest.raises(ReleaseError) as caught:
        parse_value(text, Notation())
    assert problem in caught.value.problem
    assert (caught.value.found or "") in ("" if text is None else str(text))
    assert remedy in caught.value.remedy
    column = pa.array(["1", "1", None if text is None else str(text)], pa.string())
    with pytest.raises(ReleaseError) as caught:
        parse_values(column, Notation(), file="counts.csv", name="value")
    assert (caught.value.file, caught.value.row, caught.value.column) == ("counts.csv", 3, "value")
    assert problem in caught.value.problem


def may_be_published_as(count: int, base: int, method: str) -> set[int]:
    """By definition: the multiples of the base that a count may be rounded to."""
    below, above = count // base * base, -(-count // base) * base
    return {
        "conventional": {(2 * count + base) // (2 * base) * base},
        "nearest": {m for m in (below, above) if 2 * abs(m - count) <= base},
        "random": {below, above},
        "down": {below},
        "up": {above},
    }[method]


@pytest.mark.parametrize("method", ["conventional", "nearest", "random", "down", "up"])
@pytest.mark.parametrize("base", range(1, 12))
def test_rounding_holds_exactly_the_counts_it_may_come_from(base, method):
    for value in range(0, 6 * base, base):
        low, high = Rounding(base, method).bounds(value)
        possible = [n for n in range(8 * base) if value in may_be_published_as(n, base, method)]
        assert list(range(low, high + 1)) == possible


@given(
    hs.lists(hs.integers(0, 40).map(lambda n: str(3 * n)) | hs.sampled_from(["*", "<5", "9+", ""])),
    hs.sampled_from([None, Rounding(3), Rounding(3, "random")]),
)
def test_columns_mean_what_their_values_mean(texts, rounding):
    notation = Notation({"*": (1, 4), "": (0, 9), "6": (6, 8)}, rounding)
    low, high = parse_values(pa.array(texts, pa.string()), notation)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [
        parse_value(text, notation) for text in texts
    ]


def test_columns_of_numbers():
    for kind in (pa.int8(), pa.int64(), pa.uint64(), pa.float64()):
        low, high = parse_values(pa.array([7, 12, None], kind), MARKS)
        assert (low.tolist(), high.tolist()) == ([5, 12, 0], [6, 12, 9])
    with pytest.raises(ReleaseError, match=r"row 2: a count is not a whole number .found '2.5'"):
        parse_values(pa.array([2.0, 2.5]), Notation())
    with pytest.raises(ReleaseError, match=r"row 2: negative count .found '-2'"):
        parse_values(pa.array([2, -2]), Notation())
    with pytest.raises(ReleaseError, match=r"not a number .found 'inf'"):
        parse_values(pa.array([float("inf")]), Notation())


def test_the_first_wrong_row_is_named():
    column = pa.chunked_array([["1", "2"], ["x", "-1", "x"]])
    with pytest.raises(ReleaseError, match=r"row 3, column v: not a number .found 'x'"):
        parse_values(column, Notation(), name="v")
    with pytest.raises(ReleaseError, match="row 50: not a number"):
        parse_values(column, Notation(), rows=np.arange(30, 80, 10))


def test_rounded_values_that_cannot_be():
    notation = Notation({}, Rounding(5))
    for attempt in (
        lambda: parse_value("12", notation),
        lambda: parse_values(pa.array(["10", "12"]), notation),
    ):
        with pytest.raises(ReleaseError) as caught:
            attempt()
        assert caught.value.problem == "not a multiple of the rounding base 5"
        assert caught.value.found == "12"
        assert "rounding = false" in caught.value.remedy
    assert parse_value("1-4", notation) == (1, 4)


def test_roundings_that_cannot_be():
    for base in (0, -5, 10**10):
        with pytest.raises(ReleaseError, match=r"impossible rounding base .*whole number from 1"):
            Rounding(base)
    with pytest.raises(ReleaseError, match=r"unknown rounding method .*did you mean 'random'"):
        Rounding(3, "randon")


def test_what_a_release_writes_is_read_back():
    ends = [0, 1, 4, 100, UNBOUNDED]
    for low, high in itertools.combinations_with_replacement(ends, 2):
        if low < UNBOUNDED:
            text = Published("t", "c", ((1, Selection()),), low, high).value()
            assert parse_value(text, Notation()) == (low, high)
