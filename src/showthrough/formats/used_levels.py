"""The levels of hierarchies that tables use: finer ones are left out before anything is counted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from showthrough.formats.design import Design
from showthrough.release import Layout
from showthrough.schema import Schema

__all__ = [
    "has_finest",
    "over_used_levels",
    "unused_levels",
    "used_levels",
]


def used_levels(layouts: Sequence[Layout]) -> Schema:
    """The schema of these layouts without the finest levels of hierarchies that no table uses."""
    schema = layouts[0].schema
    if not schema.hierarchies:
        return schema
    return schema.trimmed({name for layout in layouts for names in layout.attributes for name in names})


def has_finest(schema: Schema, columns: Collection[str]) -> bool:
    """Whether the finest level of every hierarchy is among the columns."""
    return all(schema.base(level) in columns for level in schema.finer)


def over_used_levels(designs: list[Design]) -> list[Design]:
    """The designs, of one schema, without levels that none of their tables uses."""
    layouts = [design.layout for design in designs]
    if not layouts or any(layout.schema != layouts[0].schema for layout in layouts):
        return designs
    schema = used_levels(layouts)
    return [replace(design, layout=Layout(schema, design.layout.tables)) for design in designs]


def unused_levels(schema: Schema, used: Schema) -> str:
    names = [name for name in schema.names if name not in used.names]
    return f"levels that no table uses are left out: {', '.join(names)}"
