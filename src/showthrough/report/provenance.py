"""Where a result comes from: inputs with their hashes, settings, versions, files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from showthrough.folders import REPORT

__all__ = ["provenance"]

TITLES = {
    "inputs": "Input",
    "parameters": "Settings",
    "versions": "Versions",
    "outputs": "Files of the run (SHA-256)",
}


def provenance(manifest: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Tables of (name, value) with a title each, from a run.json.

    >>> provenance({"parameters": {"scope": {"absent": False}, "seed": 0}, "inputs": {}})
    [('Settings', [('scope, absent', 'no'), ('seed', '0')])]
    """
    described = {name: dict(manifest.get(name) or {}) for name in TITLES}
    described["outputs"].pop(REPORT, None)  # a page cannot hold its own hash
    found = [(title, list(_rows(described[name]))) for name, title in TITLES.items()]
    return [(title, rows) for title, rows in found if rows]


def _rows(content: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in content.items():
        label = f"{before}{name}".replace("_", " ") if before or not isinstance(value, str) else str(name)
        if isinstance(value, Mapping):
            yield from _rows(value, f"{before}{name}, ")
        else:
            yield label, _text(value)


def _text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
