"""Hierarchies in schema files: written out, in a code list, or as nested codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import Field, StrictInt

from showthrough.attribute import Attribute
from showthrough.errors import InputError, SchemaError, closest
from showthrough.formats.toml import Conditions, Shape, Text, key, list_of, quoted, table_of
from showthrough.frames import Source
from showthrough.hierarchy import Hierarchy, check_links
from showthrough.records import as_text

__all__ = [
    "HierarchyShape",
    "code_lists",
    "hierarchy_lines",
    "made_hierarchies",
]

#: Level → value → what to call it in sentences.
Labels = dict[str, dict[str, str]]

#: What stands between the codes of zonings in the name of a piece that has no name of its own.
AND = " & "


class HierarchyShape(Shape):
    """``[hierarchies.place]``"""

    levels: list[Text] = Field(default_factory=list[str])
    over: str | None = None
    parents: dict[str, Text] = Field(default_factory=dict[str, str])
    groups: dict[str, Conditions] = Field(default_factory=dict[str, dict[str, list[str]]])
    nested: list[StrictInt] = Field(default_factory=list[int])
    file: str | None = None
    zonings: list[Text] = Field(default_factory=list[str])

    def made(
        self, name: str, known: Mapping[str, Attribute], others: Mapping[str, str], folder: Path
    ) -> tuple[list[Hierarchy], Labels]:
        """The hierarchies it describes (one for each zoning), and the labels of their values."""
        given = [what for what in ("parents", "groups", "nested", "file") if getattr(self, what)]
        if len(given) != 1:
            raise SchemaError(
                f"hierarchy {name}: the levels must be linked in exactly one way",
                found=", ".join(given) or None,
                remedy='give parents = {…}, groups.<level> = {…}, nested = [3, 4, 5] or file = "codes.csv"',
            )
        if self.zonings:
            return self._zonings(name, folder)
        finest = self.finest(name, known)
        if finest not in known and finest not in self.levels:
            finest = others.get(finest, finest)
        levels = self.levels if finest in self.levels[-1:] else [*self.levels, finest]
        if self.file is not None:
            return _read_levels(name, levels, code_list(self.file, folder))
        if self.parents:
            return [Hierarchy.of(name, levels, self.parents)], {}
        if self.groups:
            return [Hierarchy.by_groups(name, levels, self.groups)], {}
        if levels[-1] not in known:
            raise SchemaError(
                f"hierarchy {name}: nested codes need an attribute with values",
                found=levels[-1],
                remedy=f"declare [attributes.{key(levels[-1])}] with values = […]",
            )
        return [Hierarchy.nested(name, levels, known[levels[-1]].values, lengths=self.nested)], {}

    def finest(self, name: str, known: Mapping[str, Attribute]) -> str:
        """What the levels are of: ``over``, or the attribute of the hierarchy's name, or the last level."""
        if self.over is not None:
            return self.over
        if self.zonings or (name in known and name not in self.levels):
            return name
        return self.levels[-1] if self.levels else name

    def _zonings(self, name: str, folder: Path) -> tuple[list[Hierarchy], Labels]:
        """One hierarchy for each zoning, over their common pieces: one row of the file for each."""
        if self.levels or self.over or self.file is None:
            raise SchemaError(
                f"hierarchy {name}: zonings need a file with a row for each piece, and nothing else",
                remedy='write zonings = ["municipality", "grid"] and file = "pieces.csv"',
            )
        source = code_list(self.file, folder)
        columns = _texts(source, [*self.zonings, *([name] if name in source.names else [])])
        rows = list(zip(*(columns[zoning] for zoning in self.zonings), strict=True))
        pieces = columns.get(name) or [AND.join(row) for row in rows]
        made: list[Hierarchy] = []
        for at, zoning in enumerate(self.zonings):
            for number, row in enumerate(rows, 1):
                if not row[at] or not pieces[number - 1]:
                    column = name if row[at] else zoning
                    raise SchemaError("a code is missing", file=source.name, row=number, column=column)
            chains = [(row[at], piece) for row, piece in zip(rows, pieces, strict=True)]
            made.append(_placed(source, zoning, [zoning, name], chains))
        return made, {}


def made_hierarchies(
    shapes: Mapping[str, HierarchyShape], known: Mapping[str, Attribute], *, folder: Path
) -> tuple[tuple[Hierarchy, ...], Labels]:
    """All hierarchies of a schema file, and the labels that code lists give to values."""
    made: list[Hierarchy] = []
    labels: Labels = {}
    finest = {name: shape.finest(name, known) for name, shape in shapes.items()}
    for name, shape in shapes.items():
        others = {other: attribute for other, attribute in finest.items() if other != name}
        several, found = shape.made(name, known, others, folder)
        made += several
        for level, texts in found.items():
            labels.setdefault(level, {}).update(texts)
    check_links(made)
    return tuple(made), labels


def code_lists(shapes: Mapping[str, HierarchyShape], folder: Path) -> list[Path]:
    """The code lists that the hierarchies are read from."""
    return [folder / shape.file for shape in shapes.values() if shape.file]


def code_list(name: str, folder: Path) -> Source:
    """A code list that a schema file names, relative to it."""
    if Path(name).is_absolute():
        raise SchemaError(
            "a code list is named by an absolute path",
            found=name,
            remedy="write the path relative to the schema file",
        )
    return Source.of(folder / name, error=SchemaError)


def _read_levels(name: str, levels: Sequence[str], source: Source) -> tuple[list[Hierarchy], Labels]:
    """From a code list: a column for each level, or the columns code and parent."""
    if set(levels) <= set(source.names):
        titles = {level: f"{level}_label" for level in levels if f"{level}_label" in source.names}
        columns = _texts(source, [*levels, *titles.values()])
        rows = list(zip(*(columns[level] for level in levels), strict=True))
        labels = {
            level: {code: said for code, said in zip(columns[level], columns[title], strict=True) if said}
            for level, title in titles.items()
        }
        return [_placed(source, name, levels, rows)], labels
    if not {"code", "parent"} <= set(source.names):
        near = closest(next(level for level in levels if level not in source.names), source.names)
        raise SchemaError(
            f"hierarchy {name}: the code list has neither a column for each level nor code and parent",
            file=source.name,
            found=", ".join(source.names),
            remedy=f"name its columns code and parent, or {', '.join(levels)}; {near}",
        )
    columns = _texts(source, ["code", "parent", *(["label"] if "label" in source.names else [])])
    made = _from_codes(name, levels, columns, source)
    said = {
        code: label for code, label in zip(columns["code"], columns.get("label", []), strict=False) if label
    }
    values = [made.parents[0].values(), *made.parents]
    return [made], {
        level: {code: said[code] for code in dict.fromkeys(of) if code in said}
        for level, of in zip(levels, values, strict=True)
    }


def _from_codes(
    name: str, levels: Sequence[str], columns: Mapping[str, list[str]], source: Source
) -> Hierarchy:
    """From codes with their parents; those of the coarsest level have none."""
    row_of: dict[str, int] = {}
    parents: dict[str, str] = {}
    for number, (code, parent) in enumerate(zip(columns["code"], columns["parent"], strict=True), 1):
        if not code or code in row_of:
            what = "a code is missing" if not code else f"a code is listed twice, first in row {row_of[code]}"
            raise SchemaError(
                f"hierarchy {name}: {what}", file=source.name, row=number, column="code", found=code or None
            )
        row_of[code] = number
        if parent:
            parents[code] = parent
    for code, parent in parents.items():
        if parent not in row_of:
            raise SchemaError(
                f"hierarchy {name}: the parent is not a code of the list",
                file=source.name,
                row=row_of[code],
                column="parent",
                found=parent,
                remedy=closest(parent, row_of),
            )
    inner = set(parents.values())
    for code, number in row_of.items():
        if code not in parents and code not in inner:
            raise SchemaError(
                f"hierarchy {name}: a code has no parent and no children",
                file=source.name,
                row=number,
                column="parent",
                found=code,
                remedy="name its parent, or leave the code out",
            )
    try:
        return Hierarchy.of(name, levels, parents)
    except InputError as error:
        raise error.at(file=source.name, row=row_of.get(error.found or ""), column="parent") from None


def _placed(source: Source, name: str, levels: Sequence[str], rows: Sequence[Sequence[str]]) -> Hierarchy:
    try:
        return Hierarchy.of_rows(name, levels, rows, numbered=True)
    except InputError as error:
        raise error.at(file=source.name) from None


def _texts(source: Source, columns: Sequence[str]) -> dict[str, list[str]]:
    """Columns as texts; a missing entry is empty."""
    table: pa.Table = source.table(list(dict.fromkeys(columns)))
    found: dict[str, list[Any]] = {name: as_text(table[name]).to_pylist() for name in table.column_names}
    return {name: [text.strip() if text else "" for text in texts] for name, texts in found.items()}


def hierarchy_lines(hierarchy: Hierarchy) -> list[str]:
    """A hierarchy as TOML lines, with the groups of every level."""
    lines = [
        f"[hierarchies.{key(hierarchy.name)}]",
        f"levels = {list_of(hierarchy.levels[:-1])}",
        f"over = {quoted(hierarchy.finest)}",
    ]
    for level in hierarchy.levels[:-1]:
        groups: dict[str, Sequence[str]] = {**hierarchy.groups(level)}
        lines.append(f"groups.{key(level)} = {table_of(groups)}")
    return lines
