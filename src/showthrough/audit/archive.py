"""A layout as plain JSON, so that a run folder stands on its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from showthrough.audit.tables import DAMAGED, MALFORMED
from showthrough.errors import RunError
from showthrough.files import read_json
from showthrough.release import Cell, Layout, Table
from showthrough.schema import Attribute, Rule, Schema, Selection

__all__ = ["layout_from_json", "layout_to_json", "read_layout"]


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
                "cells": [{"name": c.name, "selection": _terms(c.selection)} for c in table.cells],
            }
            for table in layout.tables
        ],
    }
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
    schema = Schema(attributes, rules, _text(plain["record"]), _text(plain["records"]))
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


def _table(plain: dict[str, Any]) -> Table:
    cells = tuple(Cell(_text(c["name"]), Selection.of(c["selection"])) for c in plain["cells"])
    return Table(_text(plain["name"]), cells, _text(plain["publisher"]), _text(plain["label"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"this is not text: {value!r}")
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
