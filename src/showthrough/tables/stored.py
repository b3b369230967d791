"""What a run folder stores: tables, checked as they are read; claims as codes; and the layout as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from showthrough.errors import InputError, RunError, SchemaError
from showthrough.files import check_file, read_json, unreadable
from showthrough.hierarchy import Hierarchy
from showthrough.release import Cell, Layout, Table
from showthrough.schema import Attribute, Rule, Schema
from showthrough.selection import Selection

__all__ = [
    "AREA_COLUMNS",
    "CLAIM_COLUMNS",
    "COUNT_COLUMNS",
    "DAMAGED",
    "FINDING_COLUMNS",
    "MALFORMED",
    "OPTIONAL",
    "PLACES",
    "PROOF_COLUMNS",
    "SOMETIMES",
    "TABLES",
    "TIMING_COLUMNS",
    "VARIABILITY",
    "VARIABILITY_COLUMNS",
    "VARIABILITY_FILE",
    "WHOLES",
    "WHOLES_FILE",
    "WHOLE_COLUMNS",
    "WITNESS_COLUMNS",
    "CodedClaims",
    "code_claims",
    "layout_from_json",
    "layout_to_json",
    "read_layout",
    "read_rows",
    "texts",
]

CLAIM_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("selection", pa.string()),
        ("k", pa.int32()),
        ("multiplicity", pa.int64()),
        ("verdict", pa.string()),
        ("evidence", pa.string()),
        ("direct", pa.bool_()),
        ("n_tables_added", pa.int32()),
        ("n_tables", pa.int32()),
        ("sentence", pa.string()),
    ]
)

FINDING_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("kind", pa.string()),
        ("multiplicity", pa.int64()),
        ("k", pa.int32()),
        ("knows", pa.string()),
        ("learns", pa.string()),
        ("other_ways", pa.string()),
        ("n_claims", pa.int32()),
        ("n_tables_added", pa.int32()),
        ("n_tables", pa.int32()),
        ("sentence", pa.string()),
    ]
)

AREA_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("status", pa.string()),
        ("records", pa.int64()),
        ("record_types", pa.int64()),
        ("worlds_seen", pa.int64()),
        ("unique", pa.bool_()),
        ("verified", pa.int64()),
        ("refuted", pa.int64()),
        ("undecided", pa.int64()),
        ("impossible", pa.int64()),
        ("direct", pa.int64()),
        ("findings", pa.int64()),
        ("singletons", pa.int64()),
        ("steps", pa.int64()),
        ("programs", pa.int64()),
        ("nodes", pa.int64()),
        ("solves", pa.int64()),
        ("differ_low", pa.int64()),
        ("differ_high", pa.int64()),
    ]
)

PROOF_COLUMNS = pa.schema([("area", pa.string()), ("proof", pa.string()), ("claims", pa.list_(pa.string()))])

WITNESS_COLUMNS = pa.schema(
    [("area", pa.string()), ("selection", pa.string()), ("first", pa.string()), ("second", pa.string())]
)

COUNT_COLUMNS = pa.schema(
    [("area", pa.string()), ("low", pa.list_(pa.int64())), ("high", pa.list_(pa.int64()))]
)

WHOLE_COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("parts", pa.list_(pa.string())),
        ("low", pa.list_(pa.int64())),
        ("high", pa.list_(pa.int64())),
    ]
)

VARIABILITY_COLUMNS = pa.schema(
    [("area", pa.string()), ("proof", pa.string()), ("first", pa.string()), ("second", pa.string())]
)

TIMING_COLUMNS = pa.schema([("area", pa.string()), ("core_seconds", pa.float64())])

#: Every table of a run and its columns.
TABLES: dict[str, pa.Schema] = {
    "claims": CLAIM_COLUMNS,
    "areas": AREA_COLUMNS,
    "findings": FINDING_COLUMNS,
    "proofs": PROOF_COLUMNS,
    "witnesses": WITNESS_COLUMNS,
    "counts": COUNT_COLUMNS,
    "wholes": WHOLE_COLUMNS,
    "variability": VARIABILITY_COLUMNS,
    "timing": TIMING_COLUMNS,
}

#: The file of each table in the run folder.
PLACES = {
    "claims": "claims.parquet",
    "areas": "areas.parquet",
    "findings": "findings.parquet",
    "proofs": "proofs/proofs.parquet",
    "witnesses": "proofs/witnesses.parquet",
    "counts": "counts.parquet",
    "timing": "timing.parquet",
}

#: The table of areas that have parts, and its file, which only runs about nested areas have.
WHOLES, WHOLES_FILE = "wholes", "wholes.parquet"

#: The table of pairs of datasets that differ most, and its file, which only runs have that asked for them.
VARIABILITY, VARIABILITY_FILE = "variability", "proofs/variability.parquet"

#: The tables that not every run has.
SOMETIMES = {WHOLES: WHOLES_FILE, VARIABILITY: VARIABILITY_FILE}

#: The remedy for a run folder that cannot be read.
DAMAGED = "the run is damaged or was written by another version: run the audit again"

#: Errors that malformed values may raise.
MALFORMED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, InputError)

#: Columns whose values may be missing.
OPTIONAL = {"records", "record_types", "unique", "n_tables", "differ_low", "differ_high"}

#: Columns that runs of earlier versions do not have.
ADDED = {"differ_low", "differ_high"}


def layout_to_json(layout: Layout) -> str:
    """Schema and tables, readable and complete.

    >>> from showthrough.release import make_table
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> layout = Layout(schema, (make_table(schema, "sex"),))
    >>> layout_from_json(layout_to_json(layout)).names
    (('sex', 'sex=f'), ('sex', 'sex=m'))
    """
    schema = layout.schema
    plain = {
        "record": schema.record,
        "records": schema.records,
        "attributes": [_attribute(attribute) for attribute in schema.attributes],
        "rules": [
            {"when": _terms(rule.when), "then": _terms(rule.then), "both_ways": rule.both_ways}
            for rule in schema.rules
        ],
        "tables": [
            {
                "name": table.name,
                "publisher": table.publisher,
                "label": table.label,
                "cells": [_cell(cell) for cell in table.cells],
            }
            for table in layout.tables
        ],
    }
    if schema.hierarchies:  # their levels and rules are among the attributes and rules
        plain["hierarchies"] = [
            {"name": one.name, "levels": list(one.levels), "parents": [dict(of) for of in one.parents]}
            for one in schema.hierarchies
        ]
    return json.dumps(plain, ensure_ascii=False, indent=1) + "\n"


def layout_from_json(text: str) -> Layout:
    """The inverse of :func:`layout_to_json`."""
    return _layout(json.loads(text))


def read_layout(path: Path) -> Layout:
    """The layout in a file that :func:`layout_to_json` wrote."""
    plain = read_json(path, error=RunError, remedy=DAMAGED)
    try:
        return _layout(plain)
    except MALFORMED as error:
        gist = f"{type(error).__name__}: {error}"
        raise RunError(
            "the schema or the tables cannot be read", file=str(path), found=gist, remedy=DAMAGED
        ) from None


def _layout(plain: dict[str, Any]) -> Layout:
    attributes = tuple(_read_attribute(**a) for a in plain["attributes"])
    rules = tuple(
        Rule(Selection.of(r["when"]), Selection.of(r["then"]), bool(r["both_ways"])) for r in plain["rules"]
    )
    hierarchies = tuple(_hierarchy(**one) for one in plain.get("hierarchies", []))
    schema = Schema(attributes, rules, _text(plain["record"]), _text(plain["records"]), hierarchies)
    if schema.names != tuple(attribute.name for attribute in attributes) or schema.rules != rules:
        raise SchemaError("the hierarchies do not fit the attributes and rules")
    return Layout(schema, tuple(_table(table) for table in plain["tables"]))


def _read_attribute(
    *, name: Any, values: Any, label: Any, labels: Any, phrases: Any, missing: Any
) -> Attribute:
    return Attribute(
        _text(name),
        tuple(_text(value) for value in values),
        _text(label),
        {_text(value): _text(said) for value, said in labels.items()},
        {_text(value): _text(said) for value, said in phrases.items()},
        None if missing is None else _text(missing),
    )


def _hierarchy(*, name: Any, levels: Any, parents: Any) -> Hierarchy:
    links = [{_text(value): _text(parent) for value, parent in of.items()} for of in parents]
    return Hierarchy(_text(name), tuple(_text(level) for level in levels), tuple(links))


def _table(plain: dict[str, Any]) -> Table:
    cells = tuple(_read_cell(**cell) for cell in plain["cells"])
    return Table(_text(plain["name"]), cells, _text(plain["publisher"]), _text(plain["label"]))


def _read_cell(*, name: Any, selection: Any = None, sum: Any = None) -> Cell:  # noqa: A002
    if (selection is None) == (sum is None):
        raise SchemaError("a cell counts neither a selection nor a sum, or both", found=_text(name))
    if selection is not None:
        return Cell(_text(name), Selection.of(selection))
    return Cell.sum(_text(name), [(term["weight"], Selection.of(term["selection"])) for term in sum])


def _cell(cell: Cell) -> dict[str, Any]:
    if not cell.is_sum:
        return {"name": cell.name, "selection": _terms(cell.selection)}
    terms = [{"weight": weight, "selection": _terms(one)} for weight, one in cell.terms]
    return {"name": cell.name, "sum": terms}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {value!r}")
    return value


def _attribute(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "values": list(attribute.values),
        "label": attribute.label,
        "labels": dict(attribute.labels),
        "phrases": dict(attribute.phrases),
        "missing": attribute.missing,
    }


def _terms(selection: Selection) -> dict[str, list[str]]:
    return {name: list(values) for name, values in selection.terms}


def read_rows(
    path: Path,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    *,
    rows: int = 2**14,
    gaps: Collection[str] = (),
    groups: Callable[[pq.FileMetaData], list[int]] | None = None,
) -> Iterator[pa.Table]:
    """Some columns of a Parquet file (default: all of the schema), some rows at a time.

    Every value must be there, but in the columns named as ``gaps``. ``groups`` says which row groups to read.
    """
    wanted = pa.schema([schema.field(name) for name in columns or schema.names])
    check_file(path, error=RunError)
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            lacking = [name for name in wanted.names if name in ADDED - set(file.schema_arrow.names)]
            there = pa.schema([field for field in wanted if field.name not in lacking])
            _check_columns(path, file.schema_arrow, there)
            chosen = list(range(file.num_row_groups)) if groups is None else groups(file.metadata)
            for batch in file.iter_batches(rows, row_groups=chosen, columns=list(there.names)):
                table = pa.Table.from_batches([batch])
                for name in lacking:
                    table = table.append_column(name, pa.nulls(table.num_rows, wanted.field(name).type))
                table = table.select(wanted.names).cast(wanted)
                _check_values(path, table.drop_columns(list(gaps)))
                yield table
    except (OSError, pa.ArrowException) as problem:
        raise unreadable(str(path), problem, error=RunError) from None


def _check_columns(path: Path, found: pa.Schema, wanted: pa.Schema) -> None:
    for field in wanted:
        if (n_found := len(found.get_all_field_indices(field.name))) != 1:
            raise RunError(
                "the column is missing" if not n_found else "several columns have this name",
                file=str(path),
                column=field.name,
                remedy=DAMAGED,
            )
        kind = found.field(field.name).type
        if not _is_same(kind, field.type):
            raise RunError(
                f"the column has the wrong type: {field.type} expected",
                file=str(path),
                column=field.name,
                found=str(kind),
                remedy=DAMAGED,
            )


def _is_same(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two types are the same; what the values of a list are called does not matter."""
    if pa.types.is_list(kind) and pa.types.is_list(wanted):
        return kind.value_type == wanted.value_type
    return kind == wanted


def _check_values(path: Path, table: pa.Table) -> None:
    for name in table.column_names:
        column: Any = table[name]
        inner = column.combine_chunks().flatten().null_count if pa.types.is_list(column.type) else 0
        if name not in OPTIONAL and column.null_count + inner:
            raise RunError("a value is missing", file=str(path), column=name, remedy=DAMAGED)


def texts(column: pa.ChunkedArray) -> list[str]:
    """A text column without missing entries as a list."""
    return [str(text) for text in column.to_pylist()]


@dataclass(frozen=True, eq=False)
class CodedClaims:
    """Selections as codes, one row each; −1 where the selection leaves the attribute free."""

    schema: Schema
    codes: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.codes)

    def by_columns(self) -> list[tuple[tuple[int, ...], NDArray[np.int64]]]:
        """The sets of restricted attributes that occur, each with the rows that have it."""
        restricted = self.codes >= 0
        sets, of = np.unique(restricted, axis=0, return_inverse=True)
        order = np.argsort(of.ravel(), kind="stable")
        ends = np.searchsorted(of.ravel()[order], np.arange(len(sets) + 1))
        return [
            (tuple(np.flatnonzero(one).tolist()), order[ends[at] : ends[at + 1]])
            for at, one in enumerate(sets)
        ]


def code_claims(selections: pa.ChunkedArray | pa.Array, schema: Schema) -> CodedClaims:
    """Claims' selections, as JSON, in coded form. A claim has one value per attribute."""
    whole: Any = selections.combine_chunks() if isinstance(selections, pa.ChunkedArray) else selections
    encoded = whole.dictionary_encode()
    distinct = np.full((len(encoded.dictionary), len(schema.attributes)), -1, np.int16)
    places = {(one.name, value): at for one in schema.attributes for at, value in enumerate(one.values)}
    found = list[tuple[int, int, int]]()
    for row, text in enumerate(encoded.dictionary.to_pylist()):
        for name, value in json.loads(text).items():
            if not isinstance(value, str):
                raise SchemaError(
                    "a claim names several values of one attribute",
                    column=name,
                    found=text,
                    remedy="baselines are for claims with one value per attribute",
                )
            code = places.get((name, value))
            found.append((row, schema.index[name], schema[name].code(value) if code is None else code))
    if found:
        rows, columns, codes = np.array(found, np.int64).T
        distinct[rows, columns] = codes
    return CodedClaims(schema, distinct[encoded.indices.to_numpy()])
