"""A figure or table of a paper: its numbers here, beside the printed ones, and what the paper says of it.

Terminal, page and file are made of the same :class:`Figure`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

Verdict = Literal["reproduced", "in part", "not reproduced", "comparison"]

#: How numbers are written: as they are, or as shares in percent.
Unit = Literal["", "%"]


#: Between a number and its unit.
SPACE = "\xa0"


@dataclass(frozen=True)
class Curve:
    """A series: its mean over draws at each place, the standard deviation over draws, the print."""

    name: str
    at: tuple[str, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...] | None = None
    printed: tuple[float | None, ...] | None = None

    @classmethod
    def of(
        cls, name: str, at: Iterable[Any], draws: ArrayLike, printed: Sequence[float | None] | None = None
    ) -> Curve:
        """From draws, one row each; a single list has no spread."""
        found = np.asarray(draws, np.float64)
        several = found.ndim == 2 and len(found) > 1
        mean = found.mean(axis=0) if found.ndim == 2 else found
        away = found.std(axis=0, ddof=1) if several else np.zeros(1)
        spread = tuple(away.tolist()) if (away > 1e-9 * np.abs(mean)).any() else None
        given = None if printed is None else tuple(printed)
        return cls(name, tuple(str(one) for one in at), tuple(mean.tolist()), spread, given)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Curve:
        """From a mapping as JSON has it."""
        made: dict[str, Any] = {
            name: tuple(part) if isinstance(part, list) else part for name, part in plain.items()
        }
        return cls(**made)

    def beside(self, place: int, unit: Unit) -> str:
        """The number at a place, its spread, and the print in brackets."""
        text = written(self.mean[place], unit)
        if self.spread is not None:
            text += f" ± {written(self.spread[place], unit)}"
        printed = None if self.printed is None else self.printed[place]
        return text if printed is None else f"{text} ({written(printed, unit)})"

    def off(self) -> float:
        """The largest difference from the print."""
        pairs = zip(self.mean, self.printed or (), strict=False)
        return max((abs(mean - given) for mean, given in pairs if given is not None), default=np.nan)


@dataclass(frozen=True)
class Said:
    """What a paper says, what is found here, and whether that is the same."""

    text: str
    found: str
    holds: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))

    @classmethod
    def near(cls, curve: Curve, within: float, unit: Unit = "") -> Said:
        """A printed row of numbers, to within a difference."""
        given = [written(one, unit) for one in curve.printed or () if one is not None]
        off = curve.off()
        far = [f"{100 * one:.3g} points" if unit else written(one) for one in (off, within)]
        found = f"the largest difference is {far[0]}, {far[1]} allowed for"
        return cls(f"{curve.name}: {', '.join(given)}", found, off <= within)


@dataclass(frozen=True)
class Figure:
    """One figure or table: series, what the paper says of it, and why it came out or did not."""

    paper: str
    place: str
    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    said: tuple[Said, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    unit: Unit = ""
    #: Whether the places are numbers, and whether the numbers are drawn on a logarithmic scale.
    numeric: bool = False
    log: bool = False
    #: What stands for data of the paper that are not public.
    data: str = ""

    @property
    def name(self) -> str:
        """Paper and place."""
        return f"{self.paper} {self.place}"

    @property
    def verdict(self) -> Verdict:
        """Whether what the paper says came true here."""
        if not self.said:
            return "comparison"
        held = sum(one.holds for one in self.said)
        return "reproduced" if held == len(self.said) else "in part" if held else "not reproduced"

    def table(self) -> list[list[str]]:
        """Rows of text, a row of heads first; series at other places have their own block of rows."""
        rows = list[list[str]]()
        for places in dict.fromkeys(curve.at for curve in self.curves):
            same = [curve for curve in self.curves if curve.at == places]
            rows.append([self.x, *(curve.name for curve in same)])
            rows += [
                [place, *(curve.beside(at, self.unit) for curve in same)] for at, place in enumerate(places)
            ]
        width = max(map(len, rows), default=0)
        return [row + [""] * (width - len(row)) for row in rows]

    def to_plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Figure:
        """From :meth:`to_plain`."""
        made: dict[str, Any] = {**plain, "notes": tuple(plain["notes"])}
        made["curves"] = tuple(Curve.from_plain(one) for one in plain["curves"])
        made["said"] = tuple(Said(**one) for one in plain["said"])
        return cls(**made)


def written(number: float, unit: Unit = "") -> str:
    """A number as a table shows it.

    >>> written(0.1234, "%").replace(SPACE, " "), written(12345.6), written(0.00012)
    ('12.3 %', '12,346', '0.00012')
    """
    if not np.isfinite(number):
        return "–"
    if unit == "%":
        shown = 100 * number
        return f"{shown:,.0f}{SPACE}%" if abs(shown) >= 100 else f"{shown:.3g}{SPACE}%"
    return f"{number:,.0f}" if abs(number) >= 1_000 else f"{number:.3g}"


def signed(share: float) -> str:
    """A change in percent, with its sign.

    >>> signed(0.5).replace(SPACE, " ")
    '+50 %'
    """
    return f"{100 * share:+,.0f}{SPACE}%"


def change(first: float, last: float) -> str:
    """Two shares with an arrow between them."""
    return f"{written(first, '%')} → {written(last, '%')}"


def listed(shares: Iterable[float]) -> str:
    """Shares in a row."""
    return ", ".join(written(share, "%") for share in shares)


def say(figure: Figure) -> None:
    """Print a figure: its rows, what the paper says, and why."""
    print(f"\n{figure.name}: {figure.title}; {figure.y}", flush=True)
    rows = figure.table()
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    for row in rows:
        print("  " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    for one in figure.said:
        print(f"  the paper: {one.text}\n    here: {one.found}: {'yes' if one.holds else 'NO'}")
    for note in filter(None, (figure.data, *figure.notes)):
        print(f"  {note}")
    print(f"  → {figure.verdict}{': ' if figure.why else ''}{figure.why}", flush=True)


def save(figures: Sequence[Figure], file: Path) -> None:
    """Keep figures in a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    plain = [figure.to_plain() for figure in figures]
    file.write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", "utf-8")


def load(file: Path) -> list[Figure]:
    """The figures of a file, none if there is none."""
    if not file.is_file():
        return []
    return [Figure.from_plain(plain) for plain in json.loads(file.read_text("utf-8"))]
