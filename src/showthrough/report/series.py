"""Series of a chart, told apart by colour and, for readers who do not see it, by dashes and points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from showthrough.report.theme import COLOURS, PALE

__all__ = ["Key", "areas", "encoding", "lines"]

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 3), (4, 4))

#: Points as Vega names them, and drawn within a square of 10.
SHAPES = {
    "circle": "M5 1.5a3.5 3.5 0 1 0 .01 0z",
    "square": "M2 2h6v6h-6z",
    "triangle-up": "M5 1.2l4 7h-8z",
    "diamond": "M5 .8l4 4.2l-4 4.2l-4-4.2z",
    "cross": "M3.6 1h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z",
    "triangle-down": "M5 8.8l4-7h-8z",
}


@dataclass(frozen=True)
class Key:
    """A series as the legend shows it: an area of a colour, or a line with dashes and points."""

    name: str
    colour: str
    dash: tuple[int, ...] = ()
    shape: str = ""

    def drawing(self) -> str:
        """The sample beside the name, as SVG."""
        colour = escape(self.colour)
        if not self.dash:
            return (
                '<svg class="key" width="12" height="12" aria-hidden="true">'
                f'<rect width="12" height="12" rx="2" fill="{colour}"/></svg>'
            )
        dash = " ".join(str(length) for length in self.dash)
        path = SHAPES.get(self.shape, "")
        point = f'<path transform="translate(10 1)" d="{path}" fill="{colour}"/>'
        return (
            '<svg class="key" width="30" height="12" aria-hidden="true">'
            f'<path d="M0 6h30" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
            f"{point if path else ''}</svg>"
        )


def areas(colours: Mapping[str, str]) -> tuple[Key, ...]:
    """Keys of bars and areas: names with their colours."""
    return tuple(Key(name, colour) for name, colour in colours.items())


def lines(
    names: Iterable[str], *, colours: Mapping[str, str] | None = None, points: bool = True
) -> tuple[Key, ...]:
    """Keys of lines, different in colour, dashes and points as long as there are enough of each.

    >>> [key.shape for key in lines(["uniform", "sampled"])]
    ['circle', 'square']
    """
    given, shapes = dict(colours or {}), list(SHAPES)
    free = [colour for colour in COLOURS if colour != PALE and colour not in given.values()] or [PALE]
    made, taken = list[Key](), 0
    for at, name in enumerate(dict.fromkeys(names)):
        colour = given.get(name)
        if colour is None:
            colour, taken = free[taken % len(free)], taken + 1
        shape = shapes[at % len(shapes)] if points else ""
        made.append(Key(name, colour, DASHES[at % len(DASHES)], shape))
    return tuple(made)


def encoding(field: str, keys: Iterable[Key]) -> dict[str, Any]:
    """The channels of a Vega-Lite encoding that tell the series in ``field`` apart."""
    every = tuple(keys)
    names = [key.name for key in every]

    def channel(values: Iterable[Any]) -> dict[str, Any]:
        return {"field": field, "type": "nominal", "scale": {"domain": names, "range": list(values)}}

    found = {"color": channel(key.colour for key in every)}
    if all(key.dash for key in every):
        found["strokeDash"] = channel(list(key.dash) for key in every)
    if all(key.shape for key in every):
        found["shape"] = channel(key.shape for key in every)
    return found
