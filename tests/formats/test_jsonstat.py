"""JSON-stat: versions, sparse values, status, parents, and errors that name the place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from needs import examples
from printed_tables import cells, make_printed, printed_tables, shown
from showthrough.errors import ReleaseError
from showthrough.files import lifted_limits
from showthrough.formats.printed import jsonstat, strict_json
from showthrough.formats.printed.jsonstat import is_jsonstat, read_jsonstat, write_jsonstat
from showthrough.formats.printed.table import PrintedTable

SEX: dict[str, Any] = {"label": "Sex", "category": {"index": ["m", "f"], "label": {"m": "Men", "f": "Women"}}}
GEO: dict[str, Any] = {"category": {"index": {"S": 1, "N": 0, "T": 2}, "child": {"T": ["N", "S"]}}}
SET: dict[str, Any] = {
    "version": "2.0", "class": "dataset", "label": "People", "note": ["c: withheld"], "id": ["geo", "sex"],
    "size": [3, 2], "role": {"geo": ["geo"]}, "dimension": {"geo": GEO, "sex": SEX},
    "value": [1, 2, None, 4.0, 5, 6], "status": {"2": "c", "5": "p"},
}  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Callable[[object], list[PrintedTable]]:
    """Read content as a file."""

    def reader(content: object) -> list[PrintedTable]:
        path = tmp_path / "people.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_jsonstat(path)

    return reader


EXPECTED = (
    [("geo", ["N<T", "S<T", "T"]), ("sex", ["m", "f"])],
    ["1", "2", "|c", "4", "5", "6|p"],
)


def test_data_set(read) -> None:
    [table] = read(SET)
    assert shown(table) == EXPECTED
    assert (table.name, table.title, table.notes) == ("people", "People", ("c: withheld",))
    assert (table.dimensions[0].role, table.dimensions[1].label) == ("area", "Sex")
    assert [one.label for one in table.dimensions[1].categories] == ["Men", "Women"]


def test_other_shapes(read) -> None:
    """Sparse values, a status for all or in an array, a collection, bundles of earlier versions."""
    sparse = {**SET, "value": {"0": 1, "1": 2, "3": 4, "4": 5, "5": 6}}
    assert shown(read(sparse)[0]) == EXPECTED
    listed = {**SET, "status": [None, None, "c", None, None, "p"]}
    assert shown(read(listed)[0]) == EXPECTED
    assert read({**SET, "status": "e"})[0].flags == ("e",) * 6
    linked = {"class": "collection", "link": {"item": [SET, {"class": "dataset", "href": "https://x"}, SET]}}
    first, second = read(linked)
    assert (first.name, second.name) == ("people 1", "people 2")
    assert first.remarks == ("left out: 1 data set outside the file",)
    older = {
        key: value for key, value in SET.items() if key not in ("version", "class", "id", "size", "role")
    }
    older["dimension"] = {**SET["dimension"], "id": ["geo", "sex"], "size": [3, 2], "role": {"geo": ["geo"]}}
    assert shown(read({"dataset": older})[0]) == EXPECTED
    assert [table.name for table in read({"a": older, "b": older})] == ["a", "b"]
    single = {**SET, "id": ["sex"], "size": [1], "dimension": {"sex": {"category": {"label": {"m": "Men"}}}}}
    assert shown(read({**single, "value": [3], "status": {}})[0]) == ([("sex", ["m"])], ["3"])


def whole(place: str, value: object) -> dict[str, Any]:
    """The data set with another value in some place."""
    content = json.loads(json.dumps(SET))
    inside = content
    *above, last = place.split(".")
    for key in above:
        inside = inside[key]
    inside[last] = value
    return content


#: Place, value there, and what the message says.
WRONG: list[tuple[str, object, str]] = [
    ("id", "geo", "id: expected an array of names"),
    ("id", ["geo", "geo"], "id: a dimension occurs twice"),
    ("size", [3], "size: expected as many numbers"),
    ("size", [3, 0], r"size\[1\]: expected a whole number from 1 on \(found '0'\)"),
    ("size", [3, "2"], r"size\[1\]: expected a whole number"),
    ("size", [3, 3], r"dimension.sex.category.index: expected 3 codes, as size says \(found '2'\)"),
    ("dimension", [], "dimension: expected an object"),
    ("dimension.geo", 7, "dimension.geo: expected an object"),
    ("dimension.geo.category.index", {"N": 0, "S": 0, "T": 2}, "the positions 0 to 2, each once"),
    ("dimension.geo.category.index", ["N", "N", "T"], "a code occurs twice"),
    ("dimension.geo.category.child", {"T": ["X"]}, r"child.T: not another category .*'X'"),
    ("dimension.geo.category.child", {"T": ["N"], "S": ["N"]}, "child.S: a category has two parents"),
    ("dimension.geo.category.child", {"T": ["N"], "N": ["T"]}, "a category contains itself"),
    ("dimension.sex.category.unit", {"m": {"mult": 3}}, "unit.m.mult: the values are not counts"),
    ("value", [1, 2], r"value: expected 6 entries, as the sizes say \(found '2'\)"),
    ("value", {"6": 1}, r"value: expected positions from 0 to 5 \(found '6'\)"),
    ("value", {"-1": 1}, "value: expected positions"),
    ("value", [1, 2, 3, 4, 5, True], r"value\[5\]: expected a number or null \(found 'bool'\)"),
    ("value", [1, 2, 3, 4, 5, [6]], r"value\[5\]: expected a number or null \(found 'list'\)"),
    ("status", {"1": 7.5, "9": "c"}, "status: expected positions"),
    ("status", {"1": ["c"]}, r"status\[1\]: expected a text"),
]


@pytest.mark.parametrize(("place", "value", "message"), WRONG)
def test_wrong_places_are_named(read, place: str, value: object, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        read(whole(place, value))


def test_damaged_files(read, tmp_path: Path) -> None:
    for content, message in (
        ("", "not valid JSON"),
        ("[]", "no JSON object"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('{"value": NaN}', "NaN is not a number"),
        ('{"id": 1, "id": 2}', "'id' occurs twice"),
        ("{}", "no data set"),
        ('{"class": "collection", "link": {"item": 7}}', "link.item: expected an array"),
    ):
        with pytest.raises(ReleaseError, match=message):
            read(content)
    text = json.dumps(SET)
    for at in range(0, len(text), 7):
        try:
            read(text[:at] + text[at + 1 :])
        except ReleaseError:
            continue
    (tmp_path / "people.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ReleaseError, match="not valid JSON"):
        read_jsonstat(tmp_path / "people.json")


def test_huge_sizes(read, monkeypatch) -> None:
    with pytest.raises(ReleaseError, match=r"dimension.geo.category.index: expected 999999999 codes"):
        read(whole("size", [999_999_999, 999_999_999]))
    for module, limit in ((jsonstat, "MOST_CELLS"), (strict_json, "MOST_BYTES")):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 5)
            with pytest.raises(ReleaseError, match="--no-limits"):
                read(SET)
            with lifted_limits():
                assert shown(read(SET)[0]) == EXPECTED


def test_what_is_written_is_read(read, tmp_path: Path) -> None:
    [table] = read(SET)
    write_jsonstat([table], tmp_path / "a.json")
    [again] = read_jsonstat(tmp_path / "a.json")
    assert (again.dimensions, shown(again), again.title, again.notes) == (
        table.dimensions, shown(table), table.title, table.notes,
    )  # fmt: skip
    write_jsonstat([again], tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    write_jsonstat([table, make_printed("1 c", {"": "m f"})], tmp_path / "c.json")
    assert [len(found.values) for found in read_jsonstat(tmp_path / "c.json")] == [6, 2]
    assert is_jsonstat(json.loads((tmp_path / "c.json").read_text()))
    with pytest.raises(ReleaseError, match="at least one"):
        write_jsonstat([], tmp_path / "d.json")


def test_marks_become_status(tmp_path: Path) -> None:
    table = make_printed("1,234 c <5 .. 7_p 12.5", {"age": "a b c d e f"})
    write_jsonstat([table], tmp_path / "a.json")
    found = cells(read_jsonstat(tmp_path / "a.json")[0])
    assert list(found.values()) == [
        ("", "1,234"),
        ("", "c"),
        ("<5", ""),
        ("", ".."),
        ("", "7 p"),
        ("12.5", ""),
    ]
    write_jsonstat([make_printed("1,234 c 12", {"age": "a b c"})], tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text())["value"] == [1234, None, 12]


@given(table=printed_tables())
@settings(max_examples=examples(50), deadline=None)
def test_labels_of_all_kinds(tmp_path_factory, table: PrintedTable) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    write_jsonstat([table], path)
    [again] = read_jsonstat(path)
    assert [one.categories for one in again.dimensions] == [one.categories for one in table.dimensions]
    assert list(cells(again)) == list(cells(table))
