"""JSON-stat files, as PxWeb offices and Eurostat hand them out.

Version 2.0 (a data set, or a collection with data sets in it) and bundles of earlier versions. The reader is
our own, and strict: an error names the place in the file.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from showthrough.errors import ReleaseError
from showthrough.files import current_limits, write_json
from showthrough.formats.printed.cross_table import MOST_CELLS
from showthrough.formats.printed.grid import settled
from showthrough.formats.printed.print_grid import flags_of, plain_values
from showthrough.formats.printed.strict_json import Numeral, read_strict_json
from showthrough.formats.printed.table import Category, Dimension, PrintedTable, check_printed
from showthrough.text import several

__all__ = [
    "is_jsonstat",
    "read_jsonstat",
    "write_jsonstat",
]

#: Kinds of dimensions, and what they are called here.
_ROLES = {"geo": "area", "time": "time", "metric": "metric"}


def is_jsonstat(content: object) -> bool:
    """Whether a JSON file's content has the shape of JSON-stat.

    >>> is_jsonstat({"class": "dataset", "id": []}), is_jsonstat({"results": {}}), is_jsonstat([])
    (True, False, False)
    """
    if not isinstance(content, dict):
        return False
    found = cast("dict[str, Any]", content)
    if found.get("class") in ("dataset", "collection"):
        return True
    values = [found, *(value for value in found.values() if isinstance(value, dict))]
    return any("dimension" in value and "value" in value for value in cast("list[dict[str, Any]]", values))


def read_jsonstat(path: str | os.PathLike[str]) -> list[PrintedTable]:
    """Read the data sets of a JSON-stat file.

    Codes, labels, parents (``child``) and the status of values are kept. Data sets that a collection only
    links to are left out, and a remark says so.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of PrintedTable
        One per data set.

    Raises
    ------
    ReleaseError
        If something does not fit; the message names the place in the file.

    Examples
    --------
    >>> import json
    >>> from tempfile import NamedTemporaryFile
    >>> content = {"version": "2.0", "class": "dataset", "id": ["sex"], "size": [3],
    ...     "dimension": {"sex": {"category": {"index": ["T", "m", "f"], "child": {"T": ["m", "f"]}}}},
    ...     "value": [7, None, None], "status": {"1": "c", "2": "c"}}
    >>> with NamedTemporaryFile("w+", suffix=".json") as file:
    ...     json.dump(content, file)
    ...     file.flush()
    ...     [table] = read_jsonstat(file.name)
    >>> table.values, table.flags, [category.parent for category in table.dimensions[0].categories]
    (('7', '', ''), ('', 'c', 'c'), [None, 'T', 'T'])
    """
    name = os.fspath(path)
    content = read_strict_json(path)
    sets, linked = _data_sets(content, name, Path(path).name.partition(".")[0])
    if not sets:
        _refuse(name, "", "the file has no data set", found=", ".join(list(content)[:8]))
    return [_DataSet(found, name, title, remarks=linked).table() for title, found in sets]


def _refuse(file: str, place: str, problem: str, *, found: object = None, remedy: str = "") -> NoReturn:
    raise ReleaseError(
        f"{place}: {problem}" if place else problem,
        file=file,
        found=None if found is None else str(found),
        remedy=remedy or "see json-stat.org for the format",
    )


def _data_sets(
    content: dict[str, Any], file: str, stem: str
) -> tuple[list[tuple[str, dict[str, Any]]], tuple[str, ...]]:
    """The data sets of a file with their names, and remarks about those that are only linked to."""
    if content.get("class") == "collection":
        items = _mapping(content.get("link"), file, "link").get("item", [])
        if not isinstance(items, list):
            _refuse(file, "link.item", "expected an array", found=_kind(items))
        every = cast("list[Any]", items)
        inside = [item for item in every if isinstance(item, dict) and "dimension" in item]
        sets = [(stem if len(inside) == 1 else f"{stem} {at}", item) for at, item in enumerate(inside, 1)]
        missing = len(every) - len(inside)
        return sets, (f"left out: {several(missing, 'data set')} outside the file",) if missing else ()
    if "dimension" in content:
        return [(stem, content)], ()
    sets = [
        (key, value) for key, value in content.items() if isinstance(value, dict) and "dimension" in value
    ]
    return [(stem if len(sets) == 1 else key, value) for key, value in sets], ()


def _mapping(value: object, file: str, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(file, place, "expected an object", found=_kind(value))
    return cast("dict[str, Any]", value)


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__.strip("_").lower()


@dataclass(frozen=True)
class _DataSet:
    """One data set on its way to a table."""

    content: dict[str, Any]
    file: str
    name: str
    remarks: tuple[str, ...] = ()

    def table(self) -> PrintedTable:
        """The table."""
        ids, sizes = self._shape()
        dimensions = tuple(self._dimension(name, size) for name, size in zip(ids, sizes, strict=True))
        product = math.prod(sizes)
        if product >= 2**62:
            self._refuse("size", "too many cells", found=product)
        cells = self._cells(product)
        codes = np.zeros((len(cells), len(sizes)), np.int32)
        if sizes and cells:
            places = np.unravel_index(np.fromiter(cells, np.int64, len(cells)), tuple(sizes))
            codes = np.stack(places, axis=1).astype(np.int32)
        flags = tuple(flag for _, flag in cells.values())
        label = self.content.get("label", "")
        return PrintedTable(
            name=self.name,
            dimensions=dimensions,
            codes=codes,
            values=tuple(value for value, _ in cells.values()),
            flags=flags if any(flags) else (),
            rows=tuple(at + 1 for at in cells),
            columns=(1,) * len(cells),
            title=label if isinstance(label, str) else "",
            notes=tuple(self._notes()),
            file=self.file,
            across=min(1, len(sizes) - 1),
            remarks=self.remarks,
        )

    def _refuse(self, place: str, problem: str, *, found: object = None, remedy: str = "") -> NoReturn:
        _refuse(f"{self.file}, data set {self.name}", place, problem, found=found, remedy=remedy)

    def _shape(self) -> tuple[list[str], list[int]]:
        inside = _mapping(self.content.get("dimension"), self.file, "dimension")
        older = "id" not in self.content
        place = "dimension." if older else ""
        ids, sizes = (
            (inside if older else self.content).get("id"),
            (inside if older else self.content).get("size"),
        )
        if not isinstance(ids, list) or not all(type(one) is str for one in cast("list[Any]", ids)):
            self._refuse(f"{place}id", "expected an array of names", found=_kind(ids))
        if not isinstance(sizes, list) or len(cast("list[Any]", sizes)) != len(cast("list[Any]", ids)):
            self._refuse(f"{place}size", "expected as many numbers as there are dimensions", found=sizes)
        names = cast("list[str]", ids)
        if len(set(names)) < len(names):
            self._refuse(f"{place}id", "a dimension occurs twice", found=", ".join(names))
        return names, [
            self._size(size, f"{place}size[{at}]") for at, size in enumerate(cast("list[Any]", sizes))
        ]

    def _size(self, size: object, place: str) -> int:
        if not isinstance(size, Numeral) or not re.fullmatch(r"[1-9][0-9]{0,8}", size):
            self._refuse(place, "expected a whole number from 1 on", found=size)
        return int(size)

    def _dimension(self, name: str, size: int) -> Dimension:
        inside = _mapping(self.content["dimension"], self.file, "dimension")
        place = f"dimension.{name}"
        found = _mapping(inside.get(name), self.file, place)
        category = _mapping(found.get("category"), self.file, f"{place}.category")
        labels = _mapping(category.get("label", {}), self.file, f"{place}.category.label")
        codes = self._codes(category.get("index"), labels, size, f"{place}.category")
        self._check_units(category.get("unit", {}), f"{place}.category.unit")
        parents = self._parents(category.get("child", {}), codes, f"{place}.category.child")
        texts = {code: labels.get(code) for code in codes}
        label = found.get("label", "")
        categories = tuple(
            Category(code, text if isinstance(text, str) and text != code else "", parents.get(code))
            for code, text in texts.items()
        )
        text = label if isinstance(label, str) and label != name else ""
        return Dimension(name, categories, text, self._role(name))

    def _role(self, name: str) -> str:
        """What kind of dimension the file says it is."""
        older = _mapping(self.content["dimension"], self.file, "dimension").get("role", {})
        roles = _mapping(self.content.get("role", older), self.file, "role")
        for role, called in _ROLES.items():
            found = roles.get(role, [])
            if isinstance(found, list) and name in found:
                return called
        return ""

    def _codes(self, index: object, labels: Mapping[str, Any], size: int, place: str) -> list[str]:
        """The codes in order; a single one may be named by its label only."""
        if index is None and size == len(labels) == 1:
            return list(labels)
        if isinstance(index, list):
            codes = cast("list[Any]", index)
        else:
            at = _mapping(index, self.file, f"{place}.index")
            if len(at) != size:
                self._refuse(f"{place}.index", f"expected {size} codes, as size says", found=len(at))
            by_place = {str(where): code for code, where in at.items()}
            codes = [by_place.get(str(number)) for number in range(size)]
            if None in codes:
                self._refuse(f"{place}.index", f"expected the positions 0 to {size - 1}, each once")
        if len(codes) != size or not all(isinstance(code, str) for code in codes):
            self._refuse(f"{place}.index", f"expected {size} codes, as size says", found=len(codes))
        plain = [str(code).strip() for code in codes]
        if len(set(plain)) < len(plain):
            self._refuse(f"{place}.index", "a code occurs twice", found=max(plain, key=plain.count))
        return [str(code) for code in codes]

    def _check_units(self, units: object, place: str) -> None:
        for code, unit in _mapping(units, self.file, place).items():
            factor = unit.get("mult", "0") if isinstance(unit, dict) else "0"
            if str(factor) != "0":
                self._refuse(
                    f"{place}.{code}.mult",
                    "the values are not counts but multiples of a power of ten",
                    found=factor,
                    remedy="ask for the counts; what was rounded to thousands cannot be audited as exact",
                )

    def _parents(self, children: object, codes: Sequence[str], place: str) -> dict[str, str]:
        parents: dict[str, str] = {}
        for parent, found in _mapping(children, self.file, place).items():
            known = cast("list[Any]", found) if isinstance(found, list) else []
            if parent not in codes or not isinstance(found, list):
                self._refuse(f"{place}.{parent}", "expected a category with an array of categories")
            for code in known:
                if code not in codes or code == parent:
                    self._refuse(f"{place}.{parent}", "not another category of the dimension", found=code)
                if code in parents:
                    self._refuse(f"{place}.{parent}", "a category has two parents", found=code)
                parents[str(code)] = parent
        for code in parents:
            above, steps = parents.get(code), 0
            while above is not None:
                above, steps = parents.get(above), steps + 1
                if steps > len(parents):
                    self._refuse(place, "a category contains itself", found=code)
        return parents

    def _cells(self, product: int) -> dict[int, tuple[str, str]]:
        """Position → value and flag, of all cells in an array, of those given in an object."""
        values = self._listed(self.content.get("value"), "value", product)
        status = self.content.get("status")
        flags = {} if status is None or isinstance(status, str) else self._listed(status, "status", product)
        same = status if isinstance(status, str) else ""
        return {
            at: settled(self._value(values.get(at), at), self._flag(flags.get(at), at) or same)
            for at in sorted({*values, *flags})
        }

    def _listed(self, found: object, place: str, product: int) -> dict[int, object]:
        if isinstance(found, list):
            held = cast("list[Any]", found)
            if len(held) != product:
                self._refuse(place, f"expected {product:,} entries, as the sizes say", found=len(held))
            pairs = dict(enumerate(held))
        else:
            pairs: dict[int, object] = {}
            for key, value in _mapping(found, self.file, place).items():
                if not re.fullmatch(r"0|[1-9][0-9]{0,18}", key) or int(key) >= product:
                    self._refuse(place, f"expected positions from 0 to {product - 1:,}", found=key)
                pairs[int(key)] = value
        if len(pairs) > MOST_CELLS and current_limits().cell is not None:
            self._refuse(place, f"more than {MOST_CELLS:,} cells", remedy="read it with --no-limits")
        return pairs

    def _value(self, value: object, at: int) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self._refuse(f"value[{at}]", "expected a number or null", found=_kind(value))
        return re.sub(r"\.0+$", "", value) if isinstance(value, Numeral) else value.strip()

    def _flag(self, flag: object, at: int) -> str:
        if flag is not None and not isinstance(flag, str):
            self._refuse(f"status[{at}]", "expected a text", found=_kind(flag))
        return (flag or "").strip()

    def _notes(self) -> list[str]:
        found = self.content.get("note", [])
        return (
            [note for note in cast("list[Any]", found) if type(note) is str]
            if isinstance(found, list)
            else []
        )


def write_jsonstat(tables: Sequence[PrintedTable], path: str | os.PathLike[str]) -> None:
    """Write tables as JSON-stat 2.0: one data set, or a collection of several.

    Marks in place of numbers become the status of a missing value.

    Parameters
    ----------
    tables
        At least one.
    path
        The file.
    """
    check_printed(tables, path)
    found = [_data_set(table) for table in tables]
    if len(found) == 1:
        write_json(path, {"version": "2.0", **found[0]})
    else:
        write_json(path, {"version": "2.0", "class": "collection", "link": {"item": found}})


def _data_set(table: PrintedTable) -> dict[str, Any]:
    sizes = [len(dimension.categories) for dimension in table.dimensions]
    names = _names(table.dimensions)
    flags = flags_of(table)
    places = np.zeros(len(table.values), np.int64)
    if sizes:
        places = np.asarray(np.ravel_multi_index(tuple(table.codes.T.astype(np.int64)), tuple(sizes)))
    values = plain_values(table)
    cells = {int(at): _number(values[k], flags[k]) for k, at in enumerate(places)}
    order = sorted(cells)
    dense = order == list(range(math.prod(sizes)))
    status = {str(at): cells[at][1] for at in order if cells[at][1]}
    roles = {
        role: [name for name, one in zip(names, table.dimensions, strict=True) if one.role == called]
        for role, called in _ROLES.items()
        if any(one.role == called for one in table.dimensions)
    }
    if len(order) < len(table.values):
        raise ReleaseError(f"table {table.name} has two values for the same categories", remedy="keep one")
    return {
        "class": "dataset",
        "label": table.title,
        **({"note": list(table.notes)} if table.notes else {}),
        "id": names,
        "size": sizes,
        **({"role": roles} if roles else {}),
        "dimension": {name: _category(one) for name, one in zip(names, table.dimensions, strict=True)},
        "value": [cells[at][0] for at in order] if dense else {str(at): cells[at][0] for at in order},
        **({"status": status} if status else {}),
    }


def _names(dimensions: Sequence[Dimension]) -> list[str]:
    """The dimensions' names; those without one get one."""
    names: list[str] = []
    for at, dimension in enumerate(dimensions, 1):
        name = dimension.name or f"dimension {at}"
        names.append(name if name not in names else f"{name} {at}")
    return names


def _number(value: str, flag: str) -> tuple[int | float | None, str]:
    """A number and its status; what is no number becomes a status."""
    if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})", value):
        return int(value), flag
    if re.fullmatch(r"-?[0-9]+\.[0-9]+", value) and not re.fullmatch(r"-?[1-9][0-9]{0,2}\.[0-9]{3}", value):
        return float(value), flag
    return None, " ".join(filter(None, (value, flag)))


def _category(dimension: Dimension) -> dict[str, Any]:
    codes = [category.code for category in dimension.categories]
    labels = {category.code: category.label for category in dimension.categories if category.label}
    children: dict[str, list[str]] = {}
    for category in dimension.categories:
        if category.parent in codes:
            children.setdefault(str(category.parent), []).append(category.code)
    inside: dict[str, Any] = {"index": codes}
    if labels:
        inside["label"] = {code: labels.get(code, code) for code in codes}
    if children:
        inside["child"] = children
    return {**({"label": dimension.label} if dimension.label else {}), "category": inside}
