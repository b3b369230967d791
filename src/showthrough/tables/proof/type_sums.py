"""How often record types count, added up for all of them at once.

A set of types is a whole number with a bit per type. How often each type counts is a list of such sets, one
per binary digit: a type is in the first if its count is odd, and so on. Adding and comparing are done as on
paper, digit by digit, for all types at the same time, and are exact however large the counts are.
"""

from __future__ import annotations

__all__ = ["TypeSums"]


class TypeSums:
    """A count per record type, 0 at first.

    >>> odd, few = TypeSums(), TypeSums()
    >>> odd.add(0b1011, 3)
    >>> few.add(0b0001, 4)
    >>> bin(odd.exceeds(few))
    '0b1010'
    """

    def __init__(self) -> None:
        self._digits: list[int] = []

    def add(self, types: int, times: int) -> None:
        """Add a number, not below 0, to the counts of a set of types."""
        place = 0
        while times:
            if times & 1:
                self._carry(types, place)
            times, place = times >> 1, place + 1

    def _carry(self, types: int, place: int) -> None:
        """Add one digit to the counts of a set of types."""
        digits = self._digits
        while types:
            if place >= len(digits):
                digits += [0] * (place + 1 - len(digits))
            digits[place], types = digits[place] ^ types, digits[place] & types
            place += 1

    def exceeds(self, other: TypeSums) -> int:
        """The types that count more often here than there: they do so in the first digit that differs."""
        here, there = self._digits, other._digits
        found = decided = 0
        for place in range(max(len(here), len(there)) - 1, -1, -1):
            one = here[place] if place < len(here) else 0
            two = there[place] if place < len(there) else 0
            found |= one & ~two & ~decided
            decided |= one ^ two
        return found
