"""The ways a count may be printed, as plain lists: every text that may stand for it.

What a text means is found by trying: all counts for which it may be printed. So nothing here knows
about intervals, and ``showthrough.notation`` is held against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from showthrough.notation import Notation, Rounding, parse_value
from showthrough.perturbation import BoundedNoise, PerturbationTable
from showthrough.release import UNBOUNDED

#: Counts up to here are tried; a text that may stand for the last of them has no upper end.
TOP = 60


@dataclass(frozen=True)
class Form:
    """A way to print counts: what it is called, how it is declared, and the texts of each count."""

    kind: str
    notation: Notation
    texts: Callable[[int], list[str]]

    @cached_property
    def printed(self) -> list[list[str]]:
        """Per count every text that may be printed for it."""
        return [self.texts(count) for count in range(TOP + 1)]

    @cached_property
    def meaning(self) -> dict[str, tuple[int, int]]:
        """Per text the smallest and the largest count it may be printed for."""
        found: dict[str, tuple[int, int]] = {}
        for count, texts in enumerate(self.printed):
            for text in texts:
                low, _ = found.get(text, (count, count))
                found[text] = (low, UNBOUNDED if count == TOP else count)
        return found

    def wrong(self, text: str) -> str:
        """What is wrong with the package's reading of a text; empty if it is the same."""
        read = parse_value(text, self.notation)
        return "" if read == self.meaning[text] else f"{self.kind}: {text!r} is read as {read}"


def _half_up(base: int) -> Callable[[int], list[str]]:
    return lambda count: [str((2 * count + base) // (2 * base) * base)]


def _half_either_way(base: int) -> Callable[[int], list[str]]:
    def texts(count: int) -> list[str]:
        near = sorted({count // base * base, -(-count // base) * base}, key=lambda value: abs(value - count))
        return [str(value) for value in near if abs(value - count) == abs(near[0] - count)]

    return texts


def _either_way(base: int) -> Callable[[int], list[str]]:
    return lambda count: sorted({str(count // base * base), str(-(-count // base) * base)})


def _rounded(base: int, method: str) -> Form:
    texts = {
        "conventional": _half_up(base),
        "nearest": _half_either_way(base),
        "random": _either_way(base),
        "down": lambda count: [str(count // base * base)],
        "up": lambda count: [str(-(-count // base) * base)],
    }[method]
    return Form(f"rounded {method}", Notation(rounding=Rounding(base, method)), texts)


def _noisy(at_most: int, zeros: str) -> Form:
    def texts(count: int) -> list[str]:
        values = {max(0, count + noise) for noise in range(-at_most, at_most + 1)}
        if count == 0 and zeros != "changed":
            return ["0"]
        return sorted(str(value) for value in values if value or zeros != "exact" or not count)

    return Form(f"noise, zeros {zeros}", Notation(noise=BoundedNoise(at_most, zeros)), texts)


#: Zeros stay, 1 becomes 0 or 3, 2 never stays 2, and larger counts change by at most one.
CHANGES = ((0,), (-1, 2), (-1, 1), (-1, 0, 1))

BY_TABLE = Form(
    "noise by a perturbation table",
    Notation(noise=PerturbationTable(CHANGES)),
    lambda count: [str(count + change) for change in CHANGES[min(count, len(CHANGES) - 1)]],
)

EXACT = Form("exact", Notation(), lambda count: [str(count)])

SUPPRESSED = Form(
    "suppressed", Notation({"*": (1, 4)}), lambda count: ["*"] if 1 <= count <= 4 else [str(count)]
)

NEARLY = Form(
    "interval of two", Notation(), lambda count: [f"{max(0, count - 1)}-{count}", f"{count}-{count + 1}"]
)

FORMS = (
    SUPPRESSED,
    SUPPRESSED,
    Form("suppressed below 5", Notation(), lambda count: ["<5"] if count < 5 else [str(count)]),
    Form("suppressed, 1 or 2", Notation({"..": (1, 2)}), lambda n: [".."] if 1 <= n <= 2 else [str(n)]),
    Form("unpublished", Notation({"x": (0, UNBOUNDED)}), lambda count: [str(count), "x"]),
    Form("top-coded", Notation(), lambda count: ["4+"] if count >= 4 else [str(count)]),
    Form("at least", Notation(), lambda count: [f">={least}" for least in range(count + 1)]),
    Form("interval of three", Notation(), lambda count: [f"{count // 3 * 3}-{count // 3 * 3 + 2}"]),
    NEARLY,
    NEARLY,
    _rounded(3, "conventional"),
    _rounded(5, "conventional"),
    _rounded(2, "nearest"),
    _rounded(4, "nearest"),
    _rounded(3, "random"),
    _rounded(2, "random"),
    _rounded(3, "down"),
    _rounded(2, "up"),
    _rounded(4, "up"),
    _noisy(1, "changed"),
    _noisy(1, "kept"),
    _noisy(2, "exact"),
    BY_TABLE,
)
