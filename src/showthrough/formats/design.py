"""What a publisher releases, as a TOML file: tables, and how their values are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field, StrictBool, StrictInt, Tag, model_validator
from pydantic_core import PydanticCustomError

from showthrough.errors import InputError, ReleaseError, SchemaError, check_each, check_type, shorten
from showthrough.formats.noise_file import NoiseOrFalse, NoiseShape
from showthrough.formats.schema_file import SchemaShape, read_schema
from showthrough.formats.toml import ONE, SUM, Conditions, Shape, Text, check_shape, read_toml
from showthrough.notation import Notation, Rounding, parse_value
from showthrough.perturbation import Perturbation
from showthrough.release import Cell, Layout, Table, make_table
from showthrough.releases import combine_layouts
from showthrough.schema import Schema
from showthrough.selection import Selection

__all__ = [
    "Design",
    "combine_designs",
    "read_design",
]


class RoundingShape(Shape):
    """``[rounding]``"""

    base: StrictInt
    method: str = "conventional"

    def made(self) -> Rounding | None:
        """The rounding; to multiples of 1 is none."""
        rounding = Rounding(self.base, self.method)
        return rounding if rounding.base > 1 else None


def _no_rounding(value: object) -> object:
    return {"base": 1} if value is False else value


RoundingOrFalse = Annotated[RoundingShape, BeforeValidator(_no_rounding)]
Groups = dict[str, Conditions]


class TermShape(Shape):
    """A term of a cell that is a sum: ``{ weight = 2, where = { sex = "f" } }``, or briefly without where."""

    weight: StrictInt = 1
    where: Conditions
    brief: StrictBool = False

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, plain: object) -> object:
        if not isinstance(plain, dict) or isinstance(plain.get("where"), dict):
            return plain
        if not isinstance(plain.get("weight"), int):  # none, or values of an attribute of that name
            return {"where": plain}
        rest = {name: value for name, value in plain.items() if name != "weight"}
        return {"weight": plain["weight"], "where": rest, "brief": True}


def _is_sum(value: object) -> str:
    return SUM if isinstance(value, list | tuple) else ONE


#: What a cell counts: a condition, or a list of terms that are added.
CellConditions = Annotated[
    Annotated[Conditions, Tag(ONE)] | Annotated[list[TermShape], Tag(SUM)], Discriminator(_is_sum)
]


class TableShape(Shape):
    """``[[tables]]``, by formula or cell by cell."""

    name: str = ""
    label: str = ""
    publisher: str | None = None
    area: str | None = None
    formula: str | None = None
    cells: dict[str, CellConditions] | None = None
    where: Conditions = Field(default_factory=dict[str, list[str]])
    groups: Groups = Field(default_factory=dict[str, dict[str, list[str]]])
    totals: StrictBool = False
    rounding: RoundingOrFalse | None = None
    noise: NoiseOrFalse | None = None
    suppressed: dict[str, Text] = Field(default_factory=dict[str, str])

    def made(self, schema: Schema, publisher: str) -> Table:
        """The table over a schema."""
        who = publisher if self.publisher is None else self.publisher
        if self.formula is not None and self.cells is None:
            return make_table(
                schema,
                self.formula,
                name=self.name,
                where=Selection.of(self.where),
                groups=self.groups,
                totals=self.totals,
                publisher=who,
                label=self.label,
            )
        if self.cells is None or self.formula is not None:
            raise ReleaseError(
                "the table needs a formula or cells, one of the two",
                remedy='write formula = "age*sex", or list the cells under [tables.cells]',
            )
        if not self.name or self.groups or self.totals:
            raise ReleaseError(
                "a table listed cell by cell needs a name, and cannot have groups or totals",
                remedy="give it a name and list every cell",
            )
        where = Selection.of(self.where)
        cells = tuple(_cell(name, counted, where, schema) for name, counted in self.cells.items())
        return Table(self.name, cells, who, self.label)


def _cell(name: str, counted: CellConditions, where: Selection, schema: Schema) -> Cell:
    """A cell: one condition, or the sum of a list of them, each with a weight or none."""
    if isinstance(counted, dict):
        return Cell(name, where & Selection.of(counted))
    if "weight" in schema.index and any(one.brief for one in counted):
        raise ReleaseError(
            f"cell {name}: weight is an attribute, and may be meant as a weight",
            remedy="write { weight = 2, where = { … } }, or the attribute's value in quotes",
        )
    return Cell.sum(name, [(one.weight, where & Selection.of(one.where)) for one in counted])


def _levels(value: object) -> object:
    """One column that names the area, or the larger area's and the part's."""
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not named or not all(isinstance(one, str) for one in named):
        raise PydanticCustomError(
            "area",
            "should be the name of a column, or two of them",
            {"found": str(value), "remedy": 'write area = "block", or area = ["tract", "block"]'},
        )
    if len(named) > 2 or len(set(named)) < len(named):
        raise PydanticCustomError(
            "area",
            "areas are nested in two levels, named by two different columns",
            {
                "found": ", ".join(named),
                "remedy": 'name the larger area and its part: area = ["tract", "block"]',
            },
        )
    return named


class ReleaseShape(SchemaShape):
    """A release file, with a schema of its own or the name of one."""

    schema_file: str | None = Field(default=None, alias="schema")
    counts: str | None = None
    area: Annotated[list[str], BeforeValidator(_levels)] = Field(default_factory=list[str])
    publisher: str = ""
    suppressed: dict[str, Text] = Field(default_factory=dict[str, str])
    rounding: RoundingOrFalse | None = None
    noise: NoiseOrFalse | None = None
    notes: list[str] = Field(default_factory=list[str])
    tables: list[TableShape] = Field(default_factory=list[TableShape])

    def notation(self, table: TableShape, noise: Perturbation | None) -> Notation:
        """How the table's values are written, defaults included; the noise is that of the table."""
        marks = {**self.suppressed, **table.suppressed}
        rounding = self.rounding if table.rounding is None else table.rounding
        return Notation(
            {mark: _meaning(mark, text) for mark, text in marks.items()},
            rounding.made() if rounding else None,
            noise,
        )

    @property
    def area_columns(self) -> tuple[str | None, str | None]:
        """The column that names the larger area, and the one that names the area."""
        named = self.area
        return (named[0] if len(named) > 1 else None), (named[-1] if named else None)

    def ptables(self, file: str | os.PathLike[str]) -> list[Path]:
        """The perturbation tables that it names."""
        declared = [self.noise, *(table.noise for table in self.tables)]
        named = dict.fromkeys(one.ptable for one in declared if one is not None and one.ptable is not None)
        return [beside(file, name) for name in named]


@dataclass(frozen=True)
class Design:
    """What a release file describes: tables, how their values are written, and where the counts are.

    Parameters
    ----------
    layout
        The schema and the tables.
    notations
        How the values of each table are written; without them every value is a count or an
        interval, and nothing is rounded.
    counts
        The counts file.
    area
        The column that names the area; of nested areas, the part.
    file
        The release file, for messages.
    notes
        What whoever audits the release should know.
    within
        The column that names the larger area, of nested areas.
    above
        The tables that are published for larger areas only, by name.

    Raises
    ------
    ReleaseError
        If there is not one notation per table.
    """

    layout: Layout
    notations: tuple[Notation, ...] = ()
    counts: Path | None = None
    area: str | None = None
    file: str | None = None
    notes: tuple[str, ...] = ()
    within: str | None = None
    above: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_type(self.layout, Layout, name="layout", remedy="write Layout(schema, tables)")
        n_tables = len(self.layout.tables)
        object.__setattr__(self, "notations", tuple(self.notations) or (Notation(),) * n_tables)
        if len(self.notations) != n_tables:
            raise ReleaseError(
                f"{n_tables} tables need as many notations, not {len(self.notations)}",
                file=self.file,
                remedy="give one notation per table, or none",
            )


def read_design(
    path: str | os.PathLike[str], schema: Schema | str | os.PathLike[str] | None = None
) -> Design:
    """Read what a release file describes.

    Parameters
    ----------
    path
        The release file (TOML).
    schema
        A schema, or the path of a schema file, that replaces the one in the release file.

    Returns
    -------
    Design
        The tables, how their values are written, and where the counts are.

    Raises
    ------
    ReleaseError
        If the file cannot be read or describes impossible tables; the message names the place in it.
    SchemaError
        If the schema is unusable.
    """
    file = str(path)
    shape = check_shape(ReleaseShape, read_toml(path, error=ReleaseError), file=file, error=ReleaseError)
    over = _schema(shape, Path(path), schema)
    tables: list[Table] = []
    notations: list[Notation] = []
    everywhere = _noise(shape.noise, path)
    for number, table in enumerate(shape.tables, 1):
        try:
            tables.append(table.made(over, shape.publisher))
            noise = everywhere if table.noise is None else _noise(table.noise, path)
            notations.append(shape.notation(table, noise))
        except InputError as error:
            named = table.name or table.formula or str(number)
            raise _about(error, f"table {named}", file) from None
    try:
        layout = Layout(over, tuple(tables))
    except InputError as error:
        raise error.at(file=file) from None
    counts = None if shape.counts is None else beside(path, shape.counts)
    notes = (*shape.notes, *_noise_notes(tables, notations))
    within, area = shape.area_columns
    above = frozenset(_only_above(tables, shape, file))
    return Design(layout, tuple(notations), counts, area, file, notes, within, above)


def _only_above(tables: Sequence[Table], shape: ReleaseShape, file: str) -> Iterator[str]:
    """The names of tables that are published for the larger areas only."""
    within, inside = shape.area_columns
    for made, table in zip(tables, shape.tables, strict=True):
        if table.area is None or (within is not None and table.area == inside):
            continue
        if within is None or table.area != within:
            known = [name for name in (within, inside) if within is not None and name is not None]
            raise ReleaseError(
                f"table {shorten(made.name)}: the area of a table is one of two nested ones",
                file=file,
                column="area",
                found=table.area,
                remedy=f"choose from {', '.join(known)}"
                if known
                else 'leave it out, or name both at the top: area = ["tract", "block"]',
            )
        yield made.name


def _noise(shape: NoiseShape | None, path: str | os.PathLike[str]) -> Perturbation | None:
    try:
        return None if shape is None else shape.made(lambda name: beside(path, name))
    except InputError as error:
        raise _about(error, "noise", str(path)) from None


def _noise_notes(tables: Sequence[Table], notations: Sequence[Notation]) -> Iterator[str]:
    """Where the intervals of noisy tables come from."""
    noises = dict.fromkeys(notation.noise for notation in notations if notation.noise is not None)
    for noise in noises:
        named = [t.name for t, notation in zip(tables, notations, strict=True) if notation.noise == noise]
        many = "table" if len(named) == 1 else "tables"
        few = ", ".join(map(shorten, named[:5])) + (f" and {len(named) - 5:,} more" if named[5:] else "")
        yield f"{many} {few}: published with {noise.sentence()}"


def combine_designs(designs: Sequence[Design]) -> Design:
    """Combine several publishers' designs over one schema into one.

    Parameters
    ----------
    designs
        The designs. Those with counts files of their own are better read one by one, and their
        releases combined with :func:`combine_releases`.

    Returns
    -------
    Design
        All tables; the counts file and the area column are kept only if all designs agree on them.

    Raises
    ------
    ReleaseError
        If no designs are given, their schemas differ, or two tables have the same name.
    """
    check_each(designs, Design, name="designs", remedy="read them with read_design")
    layout = combine_layouts([design.layout for design in designs])
    counts = {design.counts for design in designs}
    areas = {(design.within, design.area) for design in designs}
    within, area = areas.pop() if len(areas) == 1 else (None, None)
    return Design(
        layout,
        tuple(notation for design in designs for notation in design.notations),
        counts.pop() if len(counts) == 1 else None,
        area,
        ", ".join(design.file for design in designs if design.file) or None,
        tuple(dict.fromkeys(note for design in designs for note in design.notes)),
        within,
        frozenset(name for design in designs for name in design.above),
    )


def beside(path: str | os.PathLike[str], name: str) -> Path:
    """A file that a TOML file names, relative to that file."""
    if Path(name).is_absolute():
        raise ReleaseError(
            "the file names another by an absolute path",
            file=str(path),
            found=name,
            remedy="write the path relative to this file",
        )
    return Path(path).parent / name


def _schema(shape: ReleaseShape, path: Path, given: Schema | str | os.PathLike[str] | None) -> Schema:
    if isinstance(given, Schema):
        return given
    if given is not None:
        return read_schema(given)
    if shape.schema_file is None and not (shape.attributes or shape.hierarchies):
        raise ReleaseError(
            "the release has no schema",
            file=str(path),
            remedy='add schema = "schema.toml" or [attributes.…] to the file, or pass --schema',
        )
    if shape.schema_file is None:
        return shape.made(file=str(path))
    if shape.attributes or shape.rules or shape.hierarchies:
        raise ReleaseError(
            "the file both names a schema and defines one",
            file=str(path),
            found=shape.schema_file,
            remedy="keep schema = … or the attributes, rules and hierarchies, not both",
        )
    return read_schema(beside(path, shape.schema_file))


def _meaning(mark: str, text: str) -> tuple[int, int]:
    try:
        return parse_value(text, Notation())
    except ReleaseError as error:
        raise ReleaseError(
            f"the meaning of the mark {mark!r} cannot be read",
            found=error.found,
            remedy='write an interval such as "1-4", or "unknown"',
        ) from None


def _about(error: InputError, what: str, file: str) -> InputError:
    """The same problem as one of the release file."""
    kind = ReleaseError if isinstance(error, SchemaError) else type(error)
    problem = error.problem if error.problem.startswith(what) else f"{what}: {error.problem}"
    place = error.file or file
    return kind(
        problem, file=place, row=error.row, column=error.column, found=error.found, remedy=error.remedy
    )
