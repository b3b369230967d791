"""A run folder as the checker reads it: what was published, and what is said to follow.

``run.json`` lists the files with their hashes, ``release.json`` says what the cells count, and the
tables have rows about one area after the other. A table is one file, or a folder of numbered parts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from .failure import Unreadable
from .parquet import MALFORMED, NUMBER, NUMBERS, TEXT, TEXTS, read_rows
from .tree import Terms

__all__ = [
    "Attribute",
    "Cell",
    "Folder",
    "Release",
    "Rule",
    "Schema",
    "Selection",
    "StoredRows",
    "parse_dataset",
    "parse_json",
    "parse_terms",
]

#: The tables that are read, where they are, and which of their columns.
TABLES = {
    "counts": ("counts.parquet", {"area": TEXT, "low": NUMBERS, "high": NUMBERS}),
    "proofs": ("proofs/proofs.parquet", {"area": TEXT, "proof": TEXT, "claims": TEXTS}),
    "claims": ("claims.parquet", {"area": TEXT, "selection": TEXT, "multiplicity": NUMBER, "verdict": TEXT}),
    "witnesses": (
        "proofs/witnesses.parquet",
        {"area": TEXT, "selection": TEXT, "first": TEXT, "second": TEXT},
    ),
}

#: The table of areas that have parts, which only runs about nested areas have.
WHOLES = "wholes.parquet", {"area": TEXT, "parts": TEXTS, "low": NUMBERS, "high": NUMBERS}

#: The table of how different two datasets can be, which only runs have that asked for it.
VARIABILITY = (
    "proofs/variability.parquet",
    {"area": TEXT, "proof": TEXT, "first": TEXT, "second": TEXT},
)

MANIFEST, LAYOUT = "run.json", "release.json"


@dataclass(frozen=True)
class Attribute:
    """A column of the hidden records, with the values it can have."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """Which records: for some attributes the allowed values."""

    terms: Terms


@dataclass(frozen=True)
class Rule:
    """Whoever matches the first matches the second; the other way round too, if it says so."""

    when: Selection
    then: Selection
    both_ways: bool


@dataclass(frozen=True)
class Schema:
    """What records can look like."""

    attributes: tuple[Attribute, ...]
    rules: tuple[Rule, ...]


#: What a cell counts: weights and selections.
CellTerms = tuple[tuple[int, Selection], ...]


@dataclass(frozen=True)
class Cell:
    """A published count, or the range that it lies in: of selections, each with its weight."""

    terms: tuple[tuple[int, Selection], ...]
    low: int
    high: int


@dataclass(frozen=True)
class Release:
    """What is published about an area."""

    cells: tuple[Cell, ...]


class StoredRows:
    """The rows of a table, taken area by area."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def take(self, area: str) -> Iterator[tuple[Any, ...]]:
        """The next rows, without their area, as long as they are about this one."""
        while self._next is not None and self._next[0] == area:
            yield self._next[1:]
            self._next = next(self._rows, None)

    @property
    def area(self) -> str | None:
        """The area of the next row; None if there is none."""
        return None if self._next is None else self._next[0]


class Folder:
    """A run folder.

    Parameters
    ----------
    path
        Where it is.

    Raises
    ------
    Unreadable
        If there is no finished audit, or what it is about cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / MANIFEST).is_file():
            raise Unreadable(f"{path}: not the folder of a finished run: there is no {MANIFEST}")
        self._manifest = _read(path / MANIFEST, dict)
        if "kind" in self._manifest:
            raise Unreadable(f"{path}: not the folder of an audit, but of: {self._manifest['kind']!r:.60}")
        self.schema, self._cells = _read(path / LAYOUT, _layout)

    def changed(self) -> Iterator[str]:
        """Which files are missing, changed since the run, or not listed."""
        listed = self._manifest.get("outputs")
        listed = listed if isinstance(listed, dict) else {}
        needed = {LAYOUT, *(file for place, _ in TABLES.values() for file in self._files(place))}
        for name in sorted(needed - set(listed)):
            yield f"{name}: not listed in {MANIFEST}"
        for name, expected in listed.items():
            file = self.path / name
            if Path(name).is_absolute() or ".." in Path(name).parts:
                yield f"{name}: not a file of the folder"
            elif not file.is_file():
                yield f"{name}: missing"
            elif _digest(file) != expected:
                yield f"{name}: changed since the run"
        if self._manifest.get("release") != listed.get(LAYOUT):
            yield f"{LAYOUT}: not the release named in {MANIFEST}"

    def rows(self, name: str) -> StoredRows:
        """The rows of one of its tables."""
        return self._rows(*TABLES[name])

    def wholes(self) -> StoredRows:
        """The areas that have parts, if there are any."""
        return self._if_there(*WHOLES)

    def variability(self) -> StoredRows:
        """How different two datasets can be, if the run says so."""
        return self._if_there(*VARIABILITY)

    def _if_there(self, place: str, columns: Mapping[str, str]) -> StoredRows:
        there = (self.path / self._files(place)[0]).is_file()
        return self._rows(place, columns) if there else StoredRows(iter(()))

    def _rows(self, place: str, columns: Mapping[str, str]) -> StoredRows:
        files = self._files(place)
        return StoredRows(chain.from_iterable(read_rows(self.path / file, columns) for file in files))

    def _files(self, place: str) -> list[str]:
        """The files of a table: its own, or the parts in the folder of the same name, by their numbers."""
        inside = place.removesuffix(".parquet")
        n_parts = sum(1 for _ in (self.path / inside).glob("part-*.parquet"))
        if n_parts and (self.path / place).exists():
            raise Unreadable(f"{self.path / place}: the table is here twice: as one file, and in parts")
        return [f"{inside}/part-{number:05d}.parquet" for number in range(n_parts)] or [place]

    def release(self, area: str, low: Sequence[int], high: Sequence[int]) -> Release:
        """What is published about an area, from a row of its counts."""
        place, n_cells = f"{self.path}: area {area!r:.60}", len(self._cells)
        if not len(low) == len(high) == n_cells:
            raise Unreadable(f"{place} has counts of {len(low)} and {len(high)} cells, not of {n_cells}")
        if any(not 0 <= least <= most for least, most in zip(low, high, strict=True)):
            raise Unreadable(f"{place} has a count below 0, or a range that ends before it begins")
        return Release(tuple(map(Cell, self._cells, low, high)))


def parse_json(text: str) -> Any:
    """What a JSON text says; ValueError if it says something twice."""
    return json.loads(text, object_pairs_hook=_once)


def parse_terms(text: str, schema: Schema) -> Terms:
    """A claim's selection: per attribute a value or a list of values; all of them must be known."""
    plain = parse_json(text)
    return _terms({n: [v] if isinstance(v, str) else v for n, v in plain.items()}, schema.attributes)


def parse_dataset(text: str) -> list[tuple[dict[str, str], int]]:
    """A witness: its different records, each with how often it occurs."""
    found: list[tuple[dict[str, str], int]] = []
    for record, times in parse_json(text):
        if type(times) is not int or not isinstance(record, dict):
            raise TypeError("a record, and how often it occurs, expected")
        found.append((record, times))
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _read(path: Path, make: Any) -> Any:
    """What a function makes of a JSON file."""
    try:
        return make(parse_json(path.read_text("utf-8")))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
    except (*MALFORMED, RecursionError) as error:
        raise Unreadable(f"{path}: the file cannot be read: {type(error).__name__}: {error}") from None


def _layout(plain: Mapping[str, Any]) -> tuple[Schema, tuple[CellTerms, ...]]:
    """The schema, and what each cell counts, in the order of their counts."""
    attributes = tuple(
        Attribute(_text(a["name"]), tuple(map(_text, a["values"]))) for a in plain["attributes"]
    )
    for said in ([a.name for a in attributes], *(a.values for a in attributes)):
        if not said or len(set(said)) != len(said):
            raise ValueError("there are no attributes, no values, or the same twice")
    rules = tuple(
        Rule(
            Selection(_terms(rule["when"], attributes)),
            Selection(_terms(rule["then"], attributes)),
            _flag(rule["both_ways"]),
        )
        for rule in plain["rules"]
    )
    cells = [cell for table in plain["tables"] for cell in table["cells"]]
    return Schema(attributes, rules), tuple(_counted(cell, attributes) for cell in cells)


def _counted(cell: Mapping[str, Any], attributes: Sequence[Attribute]) -> CellTerms:
    """What a cell counts: a selection, or a sum of several with weights."""
    if ("selection" in cell) == ("sum" in cell):
        raise ValueError("a cell counts neither a selection nor a sum, or both")
    if "selection" in cell:
        return ((1, Selection(_terms(cell["selection"], attributes))),)
    found: list[tuple[int, Selection]] = []
    for term in cell["sum"]:
        if type(term["weight"]) is not int or term["weight"] < 1:
            raise ValueError(f"a weight is not a whole number from 1: {term['weight']!r:.60}")
        found.append((term["weight"], Selection(_terms(term["selection"], attributes))))
    if not found:
        raise ValueError("a cell is a sum of nothing")
    return tuple(found)


def _terms(plain: Mapping[str, Any], attributes: Sequence[Attribute]) -> Terms:
    known = {attribute.name: attribute.values for attribute in attributes}
    for name, values in plain.items():
        if not isinstance(values, list) or not values or not set(values) <= set(known[name]):
            raise ValueError(f"{name!r:.60} has none of the values {values!r:.200}")
    return tuple((name, tuple(values)) for name, values in plain.items())


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {value!r:.60}")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"true or false expected, not {value!r:.60}")
    return value


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None
