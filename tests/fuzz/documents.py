"""TOML (schema, release, policy) and JSON: read as they were meant, or refused by name."""

from __future__ import annotations

import copy
import json
import math
import zlib
from functools import cache, partial
from pathlib import Path
from typing import Any

from fuzz.dice import Dice
from fuzz.kind import Fault, Kind, attempt
from fuzz.mutate import ODD_VALUES, change_bytes, change_plain
from fuzz.oracle import bounds
from showthrough.census.counts import open_census
from showthrough.census.tables_2020 import census_layout
from showthrough.errors import SchemaError
from showthrough.files import read_json
from showthrough.formats.design import read_design
from showthrough.formats.policy_file import read_policy
from showthrough.formats.release_file import design_to_toml
from showthrough.formats.schema_file import read_schema, schema_to_toml
from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.tables.protect.policy import Policy

__all__ = ["KINDS"]


class Raw(str):
    """TOML as it is written."""

    __slots__ = ()


ODD: tuple[Any, ...] = (
    *ODD_VALUES, Raw("2024-02-30"), Raw("1979-05-27T07:32:00Z"), Raw("07:32:00"),
    Raw("0x" + "f" * 4000), Raw("1" * 5000), Raw("+inf"), Raw("1_000"), Raw("'''x'''"), Raw('"""\n"""'),
    Raw("[1, [2, [3]]]"), Raw("{a.b = 1}"), Raw("nul"), Raw("[" * 5000), Raw("{" * 300), Raw("1e400"),
    Raw('"\\ud800"'), Raw("0o17"), Raw("0b1"), Raw("1.0.0"),
)  # fmt: skip

SCHEMA: dict[str, Any] = {
    "record": "person",
    "records": "people",
    "attributes": {
        "sex": {"values": ["f", "m"], "label": "sex", "labels": {"f": "female"}},
        "age": {
            "values": ["0-17", "18-64", "65+"],
            "phrases": {"65+": "the person is old"},
            "missing": "0-17",
        },
        "job": {"values": ["none", "clerk", 3]},
    },
    "rules": [
        {"if": {"age": "0-17"}, "then": {"job": "none"}},
        {"iff": {"job": ["clerk", "3"]}, "then": {"age": ["18-64"]}},
        {"if": {"sex": "f", "age": "65+"}, "then": {"job": ["none", "clerk"]}, "iff": False},
    ],
}
RELEASE: dict[str, Any] = {
    **SCHEMA,
    "counts": "counts.csv",
    "area": "town",
    "publisher": "office",
    "suppressed": {"*": "1-4", "": "unknown", "x": "<5"},
    "rounding": {"base": 5, "method": "random"},
    "tables": [
        {"formula": "sex*age", "totals": True, "rounding": False},
        {"name": "jobs", "formula": "job", "where": {"age": ["18-64", "65+"]}, "label": "Jobs"},
        {
            "formula": "age",
            "name": "grouped",
            "groups": {"age": {"adult": ["18-64", "65+"], "child": ["0-17"]}},
        },
        {"name": "own", "cells": {"men": {"sex": "m"}, "all": {}}, "suppressed": {".": "0-2"}},
    ],
}
POLICY: dict[str, Any] = {
    "forbid": ["singletons,k>=2", "groups", "multiplicity<=3,sensitive=job", "hidden"],
    "intervals": [{"where": {"sex": "m"}, "narrower_than": 3}],
    "change": {
        "moves": ["suppress", "round:5", "merge", "drop"],
        "mark": "<5",
        "tables": ["sex*age", "jobs"],
        "keep": ["jobs"],
        "keep_cells": {"sex*age": ["sex=f,age=65+"]},
        "groups": {"age": {"adults": [["18-64", "65+"], ["0-17"]]}},
    },
    "cost": {
        "suppressed": 2,
        "dropped": 0.5,
        "rounded": 1,
        "merged": 3,
        "records": 0.1,
        "weights": {"jobs": 2},
    },
}
MARKS = (
    b'"', b"'", b'"""', b"[", b"]", b"{", b"}", b"=", b".", b"#", b"\n", b"\r", b"\x00", b"\xff",
    b"\xef\xbb\xbf", b"\\", b"a.b.c = 1\n", b"[a]\n", b"[[rules]]\n", b"sex.x = 1\n", b"\t", b",",
    b"nan", b"0x", b"1979-05-27", b"\x7f", b"[attributes.sex]\n", b"a." * 3000 + b"a = 1\n", b"true",
    b"\xc2\x85", b"\xe2\x80\xa8",
)  # fmt: skip


def to_toml(plain: Any) -> str:
    """Plain values as TOML, even where that is no valid TOML any more."""
    if isinstance(plain, Raw):
        return str(plain)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, dict):
        return "{" + ", ".join(f"{_key(name)} = {to_toml(one)}" for name, one in plain.items()) + "}"
    if isinstance(plain, list | tuple):
        return "[" + ", ".join(map(to_toml, plain)) + "]"
    if isinstance(plain, float) and not math.isfinite(plain):
        return str(plain)
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def make_toml(dice: Dice, base: dict[str, Any]) -> bytes:
    """A TOML file with some values changed, or some bytes."""
    plain = copy.deepcopy(base)
    for name in list(plain):
        if dice.one_in(3) and name != "attributes":
            del plain[name]
    for _ in range(dice.of((0, 1, 1, 1, 2, 3))):
        plain = change_plain(plain, dice, odd=ODD)
        if not isinstance(plain, dict):
            plain = {"record": plain}
    lines = list[str]()
    for name, value in plain.items():
        if isinstance(value, dict) and dice.one_in(2):
            lines += [f"[{_key(name)}]", *(f"{_key(key)} = {to_toml(one)}" for key, one in value.items())]
        else:
            lines.insert(0, f"{_key(name)} = {to_toml(value)}")
    data = "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"
    for _ in range(dice.of((0, 0, 0, 1, 2))):
        data = change_bytes(data, dice, odd=MARKS)
    return data


def check_schema(data: bytes, folder: Path) -> str | None:
    """A schema that is read is written so that it reads back equal."""
    path, again = folder / "schema.toml", folder / "again.toml"
    path.write_bytes(data)
    found = attempt(lambda: read_schema(path), file=path)
    if found.error is None:
        again.write_text(schema_to_toml(found.value), "utf-8", newline="")
        if read_schema(again) != found.value:
            raise Fault(f"it reads back as {read_schema(again)}, not {found.value}")
    return found.words


def check_release(data: bytes, folder: Path) -> str | None:
    """A release file that is read is written so that its layout reads back equal."""
    path, again = folder / "release.toml", folder / "again.toml"
    path.write_bytes(data)
    found = attempt(lambda: read_design(path), file=folder)
    if found.error is None:
        layout: Layout = found.value.layout
        again.write_text(design_to_toml(layout), "utf-8", newline="")
        read = read_design(again).layout
        if read.schema != layout.schema or read.tables != layout.tables:
            raise Fault(f"it reads back as {read}, not {layout}")
    return found.words


@cache
def _schema() -> Schema:
    from showthrough.formats.schema_file import schema_from_mapping

    return schema_from_mapping(SCHEMA)


@cache
def _layout() -> Layout:
    from showthrough.release import make_table

    return Layout(_schema(), (make_table(_schema(), "sex*age"), make_table(_schema(), "job", name="jobs")))


def check_policy(data: bytes, folder: Path) -> str | None:
    """A policy that is read can be held against a layout."""
    path = folder / "policy.toml"
    path.write_bytes(data)
    found = attempt(lambda: read_policy(path, _schema()), file=folder)
    if found.error is not None:
        return found.words
    policy: Policy = found.value
    return attempt(lambda: policy.check(_layout())).words


CENSUS: list[list[Any]] = [
    ["P16_001N", "P16_002N", "H4_001N", "NAME", "state", "county", "tract", "block"],
    ["12", "5", "20", "Block 1000", "01", "001", "020100", "1000"],
    ["3", "1", None, "Block 1001", "01", "001", "020100", "1001"],
    ["0", "0", "7", "Block 2000", "1", "1", "20200", "2000"],
]
CENSUS_ODD: tuple[Any, ...] = (
    *ODD_VALUES, "<5", "1-4", "1e5", "5.0", "1,234", "12 ", "GEO_ID", "GEOID", "area",
    "1000000US010010201001000", "P16_999N", "P16_001NA", "P16_001E", "P17_001N", "Geography", "*",
    "unknown", 12, 3.0,
)  # fmt: skip
BRACES = (
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b":",
    b"\\u0000",
    b"\\ud800",
    b"NaN",
    b"1e999",
    b"\x00",
    b"\xff",
    b"-",
)


def make_json(dice: Dice, base: Any, odd: tuple[Any, ...] = ODD_VALUES) -> bytes:
    """A JSON file with some values changed, or some bytes."""
    if dice.one_in(300):
        depth = dice.of((900, 5_000, 200_000))
        return dice.of((b"[", b'{"a":', b"[[],")) * depth + dice.of((b"", b"]" * depth))
    if dice.one_in(300):
        return dice.of(
            (
                b"1" * 5000,
                b"1e" + b"9" * 500,
                b"-0",
                b"[" + b"1" * 5000 + b"]",
                b'"' + b"\\u0000" * 2000 + b'"',
            )
        )
    plain = base
    for _ in range(dice.of((0, 1, 1, 2, 3))):
        plain = change_plain(plain, dice, odd=odd)
    data = json.dumps(plain, ensure_ascii=dice.one_in(2)).encode("utf-8", "surrogatepass")
    if dice.one_in(12):
        data = b"\xef\xbb\xbf" + data
    for _ in range(dice.of((0, 0, 0, 0, 1, 2))):
        data = change_bytes(data, dice, odd=BRACES)
    if dice.one_in(60):
        data = data.decode("utf-8", "replace").encode(dice.of(("utf-16", "latin-1")), "replace")
    return data


def check_census(data: bytes, folder: Path) -> str | None:
    """An answer of the Census API: every count that is read is the one that was meant."""
    path = folder / "answer.json"
    path.write_bytes(data)
    layout, tolerant = census_layout(children=True), zlib.crc32(data) % 2 == 1

    def read() -> dict[str, dict[str, tuple[int, int]]]:
        stream = open_census([path], layout, tolerant=tolerant)
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for area, rows in stream.by_area(folder):
            cells = stream.cells(area, rows).T.tolist()
            found[area] = {layout.names[cell][1]: (low, high) for cell, low, high in cells}
        if len(found) != stream.n_areas:
            raise Fault(f"{stream.n_areas} areas were announced, {len(found)} came")
        return found

    found = attempt(read, file=None if tolerant else path)
    if found.error is None:
        _compare_census(json.loads(data.decode("utf-8-sig")), found.value)
    return found.words


def _compare_census(rows: Any, found: dict[str, dict[str, tuple[int, int]]]) -> None:
    header, *values = rows
    said = [
        {name: one for name, one in zip(header, row, strict=True) if name.startswith(("P16_", "H4_"))}
        for row in values
    ]
    meant = [
        {name: bounds(str(one)) for name, one in row.items() if one is not None and str(one).strip()}
        for row in said
    ]
    known = {cell for _, cell in census_layout(children=True).names}
    kept = [{name: one for name, one in row.items() if name in known} for row in meant]
    rest = [{name: tuple(one) for name, one in row.items()} for row in found.values()]
    words = {"geography", "id", "geo_id"}
    first = next(
        (
            str(row[header.index(name)])
            for name in ("GEO_ID", "GEOID")
            if name in header
            for row in values[:1]
        ),
        "",
    )
    kept = kept[1:] if first.strip().lower() in words else kept
    if sorted(map(_sorted, kept)) != sorted(map(_sorted, rest)):
        raise Fault(f"read as {rest}, not as {kept}")


def _sorted(row: dict[str, Any]) -> str:
    return str(sorted(row.items()))


OBJECT = {"kind": "showthrough run", "version": 1, "files": {"a.parquet": "00"}, "claims": [1, 2], "x": None}


def check_json(data: bytes, folder: Path) -> str | None:
    """A JSON file that commands write: an object, or refused."""
    path = folder / "some.json"
    path.write_bytes(data)
    found = attempt(lambda: read_json(path, error=SchemaError), file=path)
    try:
        meant = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        meant = None
    if (found.error is None) != isinstance(meant, dict) or (
        found.error is None and repr(found.value) != repr(meant)
    ):
        raise Fault(f"read as {found.value}, not as {meant}")
    return found.words


KINDS = (
    Kind("schema", partial(make_toml, base=SCHEMA), check_schema, 12),
    Kind("release", partial(make_toml, base=RELEASE), check_release, 4),
    Kind("policy", partial(make_toml, base=POLICY), check_policy, 10),
    Kind("census", partial(make_json, base=CENSUS, odd=CENSUS_ODD), check_census, 0.8),
    Kind("json", partial(make_json, base=OBJECT), check_json, 16),
)
