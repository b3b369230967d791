"""What rules imply: the values left to each attribute once some are ruled out.

Sets of codes are integers whose bit number c stands for code c, one per attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "Closure",
    "bits",
    "codes",
]


@dataclass(frozen=True)
class Closure:
    """How many values each attribute has, and the boxes of codes that no record lies in.

    A box maps the positions of some attributes to the codes it holds there. Of values ruled out by
    several boxes only together it knows nothing: it looks at one box at a time, over and over.

    >>> alone = Closure((2, 2), ({0: 0b01, 1: 0b10},))  # nobody has 0 of the first and 1 of the second
    >>> alone.close([0b01, 0b11])
    (1, 1)
    >>> alone.close([0b01, 0b10]) is None
    True
    """

    sizes: tuple[int, ...]
    boxes: tuple[Mapping[int, int], ...]

    def everything(self) -> list[int]:
        """The bit sets that allow every value."""
        return [(1 << size) - 1 for size in self.sizes]

    def only(self, chosen: Mapping[int, Iterable[int]]) -> list[int]:
        """The bit sets that allow some codes of some attributes, and everything of the others.

        >>> Closure((2, 3), ()).only({1: [0, 2]})
        [3, 5]
        """
        allowed = self.everything()
        for at, some in chosen.items():
            allowed[at] = bits(some)
        return allowed

    def close(self, allowed: Sequence[int]) -> tuple[int, ...] | None:
        """What the boxes leave of bit sets; None if no record lies within them."""
        left = self.narrow(allowed)
        return None if any(self._holds(box, left) for box in self.boxes) else left

    def narrow(self, allowed: Sequence[int]) -> tuple[int, ...]:
        """What the boxes leave, attribute by attribute.

        Where all but one attribute of a box lie within it, the codes of that one in the box are gone.
        A box that holds all of what is allowed takes nothing away: :meth:`close` tells.
        """
        left = list(allowed)
        changed = True
        while changed:
            changed = False
            for box in self.boxes:
                outside = [at for at, inside in box.items() if left[at] & ~inside]
                if len(outside) == 1 and left[outside[0]] & box[outside[0]]:
                    left[outside[0]] &= ~box[outside[0]]
                    changed = True
        return tuple(left)

    @staticmethod
    def _holds(box: Mapping[int, int], allowed: Sequence[int]) -> bool:
        return not any(allowed[at] & ~inside for at, inside in box.items())


def bits(chosen: Iterable[int]) -> int:
    """Different codes as one integer.

    >>> bits([0, 2])
    5
    """
    return sum(1 << code for code in chosen)


def codes(allowed: int) -> list[int]:
    """The inverse of :func:`bits`, in order.

    >>> codes(5)
    [0, 2]
    """
    return [code for code in range(allowed.bit_length()) if allowed >> code & 1]
