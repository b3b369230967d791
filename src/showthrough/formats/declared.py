"""What release and schema files declare: the schema, the tables, the area, and the levels that tables use."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from showthrough.errors import InputError, ReleaseError
from showthrough.formats.cell_names import UNKNOWN, CellNames
from showthrough.formats.design import Design, ReleaseShape, read_design
from showthrough.formats.schema_file import named_code_lists, read_schema
from showthrough.formats.toml import check_shape, read_toml
from showthrough.frames import Content, Source
from showthrough.records import needed
from showthrough.release import Layout, Table
from showthrough.schema import Schema

__all__ = [
    "area_columns",
    "declared_schema",
    "described",
    "has_finest",
    "is_microdata",
    "listed",
    "over_used_levels",
    "release_shape",
    "tables_of",
    "unused_levels",
    "used_levels",
]


def is_microdata(data: Source, releases: Sequence[Path], schema: Path | None) -> bool:
    """Whether a file given with a release holds records rather than published counts."""
    declared = declared_schema(releases, schema)
    if declared is None:
        return True  # counts can only be read with a schema
    names = set(data.names)
    layout = Layout(declared, tables_of([read_design(path, declared) for path in releases]))
    known = CellNames(layout)
    if {"cell", "value"} <= names or any(known.find(name) != UNKNOWN for name in names):
        return False
    missing = [name for name in needed(declared, names) if name not in names]
    if missing and ("cell" in names or "value" in names):
        return False
    if missing:
        raise InputError(
            "neither published counts nor microdata: there are no columns cell and value, no column "
            f"named after a cell, and no column for the attribute {missing[0]}",
            file=data.name,
            found=", ".join(sorted(names)),
            remedy="rename the columns, or say what the file is with --counts or --tables",
        )
    return True


def declared_schema(releases: Sequence[Path], schema: Path | None) -> Schema | None:
    if schema is not None:
        return read_schema(schema)
    for path in releases:
        shape = release_shape(path)
        if shape.schema_file is not None or shape.attributes or shape.hierarchies:
            return read_design(path).layout.schema
    return None


def release_shape(path: Path) -> ReleaseShape:
    plain = read_toml(path, error=ReleaseError)
    return check_shape(ReleaseShape, plain, file=str(path), error=ReleaseError)


def described(releases: Sequence[Path], schema: Path | None) -> list[Path]:
    """The files that describe tables and attributes, code lists and perturbation tables included."""
    shapes = {path: release_shape(path) for path in releases}
    lists = [f for path, shape in shapes.items() for f in (*shape.code_lists(path), *shape.ptables(path))]
    return [*releases, *([] if schema is None else [schema, *named_code_lists(schema)]), *lists]


def area_columns(releases: Sequence[Path]) -> tuple[str | None, str | None]:
    """The column of the larger area, if areas are nested, and the column of the area."""
    for path in releases:
        within, area = release_shape(path).area_columns
        if area is not None:
            return within, area
    return None, None


def tables_of(designs: Sequence[Design]) -> tuple[Table, ...]:
    return tuple(table for design in designs for table in design.layout.tables)


def listed(*files: Path | Content | None) -> tuple[Content, ...]:
    """The files that were read, each once."""
    opened = [
        file if isinstance(file, Content) else Content(file, str(file), InputError)
        for file in files
        if file is not None
    ]
    return tuple({content.path: content for content in opened}.values())


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
