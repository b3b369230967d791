"""A layout as plain JSON, so that a run folder stands on its own."""

from __future__ import annotations

import json
from typing import Any

from showthrough.errors import RunError
from showthrough.release import Cell, Layout, Table
from showthrough.schema import Attribute, Rule, Schema, Selection

__all__ = ["layout_from_json", "layout_to_json"]


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
    try:
        plain = json.loads(text)
        attributes = tuple(Attribute(**a) for a in plain["attributes"])
        rules = tuple(
            Rule(Selection.of(r["when"]), Selection.of(r["then"]), bool(r["both_ways"]))
            for r in plain["rules"]
        )
        schema = Schema(attributes, rules, plain["record"], plain["records"])
        return Layout(schema, tuple(_table(table) for table in plain["tables"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError("the run's release.json cannot be read", found=str(error)) from None


def _table(plain: dict[str, Any]) -> Table:
    cells = tuple(Cell(c["name"], Selection.of(c["selection"])) for c in plain["cells"])
    return Table(plain["name"], cells, plain["publisher"], plain["label"])


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
