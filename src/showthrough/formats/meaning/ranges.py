"""Categories that are ranges of numbers, such as ages, and the finest ranges that all of them consist of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = [
    "Range",
    "parse_range",
    "range_name",
    "refine",
]

#: First and last number; None for a range without an end.
Range = tuple[int, int | None]

_UNIT = r"(?:\s*(?:years?|yrs?|y\.?o\.?|jahren?|ans|anni|años|år|jaar|lat|let|years? old|years? of age))?"
_NUMBER = r"([0-9]{1,9})"
_AGED = r"(?:aged?\s+)?"
_FORMS: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(_AGED + form + _UNIT, re.IGNORECASE), kind)
    for form, kind in (
        (_NUMBER, "one"),
        (rf"{_NUMBER}{_UNIT}\s*(?:-|–|—|\.\.|to|bis|à|a|til|till|do)\s*{_NUMBER}", "both"),
        (rf"{_NUMBER}{_UNIT}\s+to\s+under\s+{_NUMBER}", "below"),
        (rf"{_NUMBER}{_UNIT}\s+bis\s+unter\s+{_NUMBER}", "below"),
        (rf"(?:under|below|less than|younger than|unter|moins de|menos de|<)\s*{_NUMBER}", "under"),
        (rf"(?:up to|bis|≤|<=)\s*{_NUMBER}", "up to"),
        (rf"{_NUMBER}{_UNIT}\s*(?:and|or)\s+(?:under|less|younger|below)", "up to"),
        (
            rf"{_NUMBER}{_UNIT}\s*(?:\+|plus|(?:and|or)\s+(?:over|older|above|more)|und (?:älter|mehr))",
            "from",
        ),
        (rf"{_NUMBER}{_UNIT}\s*(?:et plus|ans et plus|y más|o más|og over|och äldre|en ouder)", "from"),
        (rf"(?:over|above|older than|über|plus de|>)\s*{_NUMBER}", "over"),
        (rf"(?:≥|>=|from)\s*{_NUMBER}", "from"),
        (rf"Y{_NUMBER}(?:T|-|_){_NUMBER}", "both"),
        (rf"Y{_NUMBER}", "one"),
        (rf"Y_LT{_NUMBER}", "under"),
        (rf"Y_GE{_NUMBER}", "from"),
        (rf"Y_GT{_NUMBER}", "over"),
    )
)


def parse_range(text: str) -> Range | None:
    """The range of whole numbers that a label names; None if it names none.

    >>> [parse_range(text) for text in ("0-17", "Under 5", "65 and over", "Y_GE85", "7", "20 to 24 years")]
    [(0, 17), (0, 4), (65, None), (85, None), (7, 7), (20, 24)]
    >>> parse_range("Single"), parse_range("18-17")
    (None, None)
    """
    plain = " ".join(text.split())
    for form, kind in _FORMS:
        found = form.fullmatch(plain)
        if found is not None:
            return _ends(kind, [int(number) for number in found.groups()])
    return None


def _ends(kind: str, numbers: Sequence[int]) -> Range | None:
    first, last = numbers[0], numbers[-1]
    ends: dict[str, Range] = {
        "one": (first, first),
        "both": (first, last),
        "below": (first, last - 1),
        "under": (0, first - 1),
        "up to": (0, first),
        "from": (first, None),
        "over": (first + 1, None),
    }
    low, high = ends[kind]
    return None if high is not None and high < low else (low, high)


def range_name(ends: Range) -> str:
    """What a range is called.

    >>> range_name((0, 4)), range_name((7, 7)), range_name((85, None))
    ('0-4', '7', '85+')
    """
    low, high = ends
    if high is None:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def refine(ranges: Mapping[str, Range]) -> dict[str, tuple[Range, ...]]:
    """The finest ranges that each range consists of, so that all are sums of the same parts.

    >>> refine({"0-17": (0, 17), "0-4": (0, 4), "16+": (16, None)})
    {'0-17': ((0, 4), (5, 15), (16, 17)), '0-4': ((0, 4),), '16+': ((16, 17), (18, None))}
    """
    starts = {low for low, _ in ranges.values()}
    starts |= {high + 1 for _, high in ranges.values() if high is not None}
    ordered = sorted(starts)
    ends = [*(start - 1 for start in ordered[1:]), None]
    parts: list[Range] = list(zip(ordered, ends, strict=True))
    return {name: tuple(part for part in parts if _within(part, whole)) for name, whole in ranges.items()}


def _within(part: Range, whole: Range) -> bool:
    if part[0] < whole[0]:
        return False
    return whole[1] is None or (part[1] is not None and part[1] <= whole[1])
