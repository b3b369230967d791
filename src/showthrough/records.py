"""Coded microdata: one small integer per record and attribute."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.errors import InputError, RecordsError, check_each, check_type, closest
from showthrough.export import Tabular
from showthrough.schema import Attribute, Schema
from showthrough.selection import Selection, SelectionLike
from showthrough.text import several

__all__ = [
    "Records",
    "code_dtype",
    "number_rows",
]

Codes = NDArray[np.integer]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


@dataclass(frozen=True, eq=False)
class Records(Tabular):
    """Records over a schema.

    Parameters
    ----------
    schema
        The attributes and their values.
    codes
        ``codes[i, j]`` is the position of record i's value among the values of attribute j.
    areas
        Each record's area, if the records come from several areas.

    Raises
    ------
    RecordsError
        If codes and schema do not fit.

    Examples
    --------
    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> records = Records.of([{"sex": "f", "age": "old"}, {"sex": "m", "age": "old"}], schema)
    >>> records
    Records: 2 records of sex, age
    >>> records.count("age=old")
    2
    """

    schema: Schema
    codes: Codes
    areas: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        check_type(self.schema, Schema, name="schema", remedy="make one with Schema.of or read_schema")
        check_type(self.codes, np.ndarray, name="codes", remedy="use Records.of for rows of values")
        shape = (len(self.codes), len(self.schema.attributes))
        if self.codes.shape != shape:
            raise RecordsError(f"codes have shape {self.codes.shape}, the schema needs {shape}")
        for at, attribute in enumerate(self.schema.attributes):
            column = self.codes[:, at]
            if len(column) and not (column.min() >= 0 and column.max() < len(attribute.values)):
                raise RecordsError("a code lies outside the attribute's values", column=attribute.name)
        if self.areas is not None and len(self.areas) != len(self.codes):
            raise RecordsError("areas must name one area per record")

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, str]], schema: Schema) -> Records:
        """From a list of attribute → value."""
        check_type(schema, Schema, name="schema", remedy="make one with Schema.of or read_schema")
        check_each(rows, Mapping, name="rows", remedy="write [{'sex': 'f'}, {'sex': 'm'}]")
        given = {name for row in rows for name in row} if schema.hierarchies else schema.names
        columns = {
            name: pa.array([row.get(name) for row in rows], pa.string()) for name in needed(schema, given)
        }
        return cls.from_arrow(pa.table(columns), schema)

    @classmethod
    def from_arrow(
        cls, table: pa.Table, schema: Schema, *, by: str | None = None, file: str | None = None
    ) -> Records:
        """From an Arrow table that has every attribute as a column (and ``by`` for the areas).

        Errors name the row as a reader of the file counts it: the first record is row 1.
        """
        for name in (*needed(schema, table.column_names), *([by] if by else [])):
            if name not in table.column_names:
                raise RecordsError(
                    "no such column",
                    file=file,
                    column=name,
                    remedy=closest(name, table.column_names),
                )
        codes = encode_table(table, schema, file=file)
        records = cls(schema, codes, area_labels(table[by], by, file=file) if by else None)
        records.check_rules(file=file)
        return records

    def check_rules(self, *, file: str | None = None) -> None:
        """Raise if a record breaks one of the schema's rules; levels were checked with their columns."""
        for box in self.schema.own_forbidden:
            hits = np.flatnonzero(self.matching(box))
            if len(hits):
                raise RecordsError(
                    f"a record breaks a rule of the schema: no record may match {box}",
                    file=file,
                    row=int(hits[0]) + 1,
                    remedy="correct the record or the rule",
                )

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        n = f"{len(self):,} {self.schema.noun(len(self))}"
        where = "" if self.areas is None else f" in {several(len(set(self.areas.tolist())), 'area')}"
        more = "" if len(self.schema.names) <= 8 else f", … ({len(self.schema.names)} attributes)"
        return f"Records: {n}{where} of {', '.join(self.schema.names[:8])}{more}"

    def matching(self, selection: SelectionLike) -> NDArray[np.bool_]:
        """Which records match a selection, which may be text such as ``"age=old"``."""
        hit = np.ones(len(self), bool)
        for at, allowed in self.schema.encode(Selection.of(selection)).items():
            member = np.zeros(len(self.schema.attributes[at].values), bool)
            member[list(allowed)] = True
            hit &= member[self.codes[:, at]]
        return hit

    def count(self, selection: SelectionLike) -> int:
        """How many records match a selection, which may be text such as ``"age=old"``."""
        return int(self.matching(selection).sum())

    def over(self, schema: Schema) -> Records:
        """The same records over some of their attributes."""
        return Records(schema, self.codes[:, [self.schema.index[name] for name in schema.names]], self.areas)

    def by_area(self) -> Iterator[tuple[str, Records]]:
        """Each area's records, areas in sorted order; one unnamed area if none are given."""
        if self.areas is None:
            yield "", self
            return
        names, inverse = np.unique(self.areas.astype(str), return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        ends = np.searchsorted(inverse[order], np.arange(len(names) + 1))
        for at, name in enumerate(names):
            yield str(name), Records(self.schema, self.codes[order[ends[at] : ends[at + 1]]])

    def to_arrow(self) -> pa.Table:
        """One string column per attribute, and ``area`` where there are areas."""
        columns: dict[str, pa.Array] = {}
        if self.areas is not None:
            columns["area"] = pa.array(self.areas.tolist(), pa.string())
        for at, attribute in enumerate(self.schema.attributes):
            values = pa.array(attribute.values, pa.string())
            columns[attribute.name] = values.take(pa.array(self.codes[:, at], pa.int32()))
        return pa.table(columns)


def code_dtype(schema: Schema) -> np.dtype[np.integer]:
    """The smallest integer type that holds every code of the schema."""
    return np.min_scalar_type(max(len(a.values) for a in schema.attributes) - 1)


def needed(schema: Schema, columns: Collection[str]) -> tuple[str, ...]:
    """The attributes to be read: all but those of a hierarchy that are not among the columns.

    >>> from showthrough.hierarchy import Hierarchy
    >>> place = Hierarchy.of("place", ["region", "town"], {"t1": "r", "t2": "r"})
    >>> needed(Schema.of({"town": ["t1", "t2"], "sex": ["f", "m"]}, hierarchies=[place]), ["town", "sex"])
    ('town', 'sex')
    """
    base = {name: schema.base(name) for name in schema.finer}
    seen = {finest for name, finest in base.items() if name in columns}
    return tuple(
        name for name in schema.names if name in columns or (name not in schema.finer and name not in seen)
    )


def encode_table(table: pa.Table, schema: Schema, *, file: str | None = None) -> Codes:
    """All attributes as codes; levels that have no column follow from the others."""
    codes = np.empty((table.num_rows, len(schema.attributes)), code_dtype(schema))
    given = set(needed(schema, table.column_names))
    for at, attribute in enumerate(schema.attributes):
        if attribute.name in given:
            codes[:, at] = encode_column(table[attribute.name], attribute, file=file)
    faults = fill_levels(codes, schema, given, file=file)
    if faults:
        raise min(faults, key=lambda fault: int(fault.rows[0])).error
    return codes


@dataclass(frozen=True, eq=False)
class LevelFault:
    """Rows whose columns contradict a hierarchy, and what is wrong with the first."""

    rows: NDArray[np.int64]
    error: InputError


def fill_levels(
    codes: Codes, schema: Schema, given: Collection[str], *, file: str | None = None
) -> list[LevelFault]:
    """Fill in the levels that no column gives; what columns say otherwise is returned."""
    faults: list[LevelFault] = []
    for name in schema.names if schema.hierarchies else ():
        if name not in given and name not in schema.finer:
            faults += _fill_finest(codes, schema, name, given=given, file=file)
    for level in sorted(schema.finer, key=lambda name: len(schema.below(name))):
        finer, parents = schema.finer[level]
        mapped = [schema[level].code(parents[value]) for value in schema[finer].values]
        found = np.array(mapped, codes.dtype)[codes[:, schema.index[finer]]]
        column = codes[:, schema.index[level]]
        if level in given and (wrong := np.flatnonzero(column != found)).size:
            error = _level_error(codes[wrong[0]], schema, level).at(file=file, row=int(wrong[0]) + 1)
            faults.append(LevelFault(wrong, error))
        column[:] = found
    return faults


def _level_error(record: Codes, schema: Schema, level: str) -> RecordsError:
    finer, parents = schema.finer[level]
    inner = schema[finer].values[record[schema.index[finer]]]
    return RecordsError(
        f"{finer} {inner} lies in another {level}",
        column=level,
        found=schema[level].values[record[schema.index[level]]],
        remedy=f"it lies in {parents[inner]}: correct the record or the hierarchy",
    )


def _fill_finest(
    codes: Codes, schema: Schema, name: str, *, given: Collection[str], file: str | None
) -> list[LevelFault]:
    """A finest level without a column of its own, from the levels above it, which must determine it."""
    levels = [level for level in schema.finer if level in given and schema.base(level) == name]
    above = codes[:, [schema.index[level] for level in levels]]
    pieces = _pieces(schema, name, levels)
    keys, wanted = np.split(
        number_rows(np.hstack([pieces, above.T]), pieces.shape[1] + len(above)), [pieces.shape[1]]
    )
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if twice.size:
        first, second = (schema[name].values[order[twice[0] + step]] for step in (0, 1))
        raise RecordsError(
            "no such column",
            file=file,
            column=name,
            remedy=f"give it: {', '.join(levels)} cannot tell {first} from {second}",
        )
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    codes[:, schema.index[name]] = order[at]
    absent = np.flatnonzero(keys[order][at] != wanted)
    if not absent.size:
        return []
    shown = [schema[level].values[code] for level, code in zip(levels, above[absent[0]], strict=True)]
    error = RecordsError(
        f"no {name} lies in these values of {', '.join(levels)}",
        file=file,
        row=int(absent[0]) + 1,
        column=levels[-1],
        found=", ".join(shown),
        remedy="correct the record or the hierarchy",
    )
    return [LevelFault(absent, error)]


def _pieces(schema: Schema, name: str, levels: Sequence[str]) -> NDArray[np.int64]:
    """Level × finest value: the code of the value it lies in."""
    pieces = np.empty((len(levels), len(schema[name].values)), np.int64)
    for at, level in enumerate(levels):
        for value, code in schema[level].codes.items():
            pieces[at, [schema[name].code(under) for under in schema.inside(level, value)[1]]] = code
    return pieces


def as_text(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Any column as strings, written as a person would: 3 for 3.0, true for True."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return as_text(column.cast(kind.value_type))
    if pa.types.is_floating(kind):
        exact = pc.less(pc.abs(column), pa.scalar(2.0**53))
        whole = pc.all(pc.and_(exact, pc.equal(column, pc.floor(column))), min_count=0).as_py()
        column = column.cast(pa.int64()) if whole else column
    return column.cast(pa.string())


def encode_column(
    column: pa.ChunkedArray | pa.Array, attribute: Attribute, *, file: str | None = None
) -> Codes:
    """A column's values as codes; missing and unknown values are errors that name the row."""
    text = as_text(column)
    if text.null_count:
        if attribute.missing is None:
            raise RecordsError(
                "missing value",
                file=file,
                row=first_row(pc.is_null(text)),
                column=attribute.name,
                remedy='map missing entries to a declared value (missing = "…" in the schema)',
            )
        text = pc.fill_null(text, attribute.missing)
    codes = pc.index_in(text, value_set=pa.array(attribute.values, pa.string()))
    if codes.null_count:
        row = first_row(pc.is_null(codes))
        found = str(text[row - 1].as_py())
        raise RecordsError(
            "value outside the schema",
            file=file,
            row=row,
            column=attribute.name,
            found=found,
            remedy=closest(found, attribute.values),
        )
    return np.asarray(codes)


def area_labels(
    column: pa.ChunkedArray | pa.Array, name: str, *, file: str | None = None
) -> NDArray[np.object_]:
    """Area names as text; a record without an area is an error."""
    text = as_text(column)
    if text.null_count:
        raise RecordsError(
            "a record has no area",
            file=file,
            row=first_row(pc.is_null(text)),
            column=name,
            remedy="fill the column or leave --by out",
        )
    return np.array(text.to_pylist(), dtype=object)


def first_row(mask: pa.ChunkedArray | pa.Array) -> int:
    """The 1-based number of the first true entry."""
    return int(pc.index(mask, True).as_py()) + 1


def number_rows(columns: Iterable[NDArray[np.integer]], length: int) -> NDArray[np.int64]:
    """Rows of codes as one number each: equal rows have equal numbers, in ascending order without gaps.

    >>> number_rows([np.array([1, 0, 1, 0]), np.array([5, 7, 5, 0])], 4).tolist()
    [2, 1, 2, 0]
    """
    numbers: NDArray[np.int64] = np.zeros(length, np.int64)
    for codes in columns:
        # Numbered anew column by column, so numbers stay small however many columns there are.
        n_codes = int(codes.max(initial=0)) + 1
        numbers = np.unique(numbers * n_codes + codes, return_inverse=True)[1].astype(np.int64)
    return numbers
