"""Portions of a run: every row once, with its area, however the run is cut and wherever it is read."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import small_run
from showthrough.selection import Selection
from showthrough.tables.run import read as reading
from showthrough.tables.run.portions import Portion, Portions
from showthrough.tables.run.read import AreaReader, AuditRun
from showthrough.tables.stored import TABLES


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    folder = tmp_path_factory.mktemp("portions") / "run"
    small_run.run(folder)
    return AuditRun(folder)


@pytest.mark.parametrize("rows", [1, 3, 2**10])
@pytest.mark.parametrize("size", [1, 60, 10**6])
def test_every_row_comes_once_and_with_its_area(
    run: AuditRun, size: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_ROWS", rows)
    portions = Portions(run, size)
    found = [tables for portion in portions for tables in portion.read()]
    areas = run.table("areas")["area"].to_pylist()
    assert [tables["areas"]["area"].to_pylist() for tables in found] == [[area] for area in areas]
    for name in found[0]:
        for area, tables in zip(areas, found, strict=True):
            assert tables[name].equals(run.table(name).filter(pc.field("area") == area)), (name, area)
    assert not list(portions.left())
    assert len(portions.names) == len(areas)
    assert not portions.names.repeated()


def test_a_portion_is_sent_without_what_was_read_beside_it(run: AuditRun) -> None:
    whole, one = next(iter(Portions(run, 10**6))), next(iter(Portions(run, 1)))
    sent = pickle.dumps(one)
    assert len(sent) < len(pickle.dumps(whole)) / 2
    again: Portion = pickle.loads(sent)  # noqa: S301  (made above)
    assert all(again.tables[name].equals(table) for name, table in one.tables.items())


def test_rows_in_the_wrong_place_are_named(run: AuditRun) -> None:
    portion = next(iter(Portions(run, 10**6)))
    claims = portion.tables["claims"]
    mixed = Portion({**portion.tables, "claims": pa.concat_tables([claims, claims.slice(0, 1)])})
    reader = mixed.read()
    assert sum(1 for _ in reader) == small_run.N_AREAS
    assert list(reader.left()) == [f"claims: unexpected rows about area {claims['area'][0].as_py()}"]


def test_an_area_that_lies_across_rows_read_one_after_the_other_is_taken_whole(
    run: AuditRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_ROWS", 2)
    reader, claims = AreaReader(run, "claims"), run.table("claims")
    names = list(dict.fromkeys(map(str, claims["area"].to_pylist())))
    assert reader.take_next(2).equals(claims.filter(pc.is_in(claims["area"], pa.array(names[:2]))))
    assert reader.next_area() == names[2]
    assert reader.take_all(set(names[2:4])).num_rows == sum(
        a in names[2:4] for a in claims["area"].to_pylist()
    )
    assert reader.take("no such area").equals(TABLES["claims"].empty_table())
    assert reader.take_next(10**6).num_rows + reader.take_next(1).num_rows == sum(
        area in names[4:] for area in claims["area"].to_pylist()
    )


def test_nothing_of_an_empty_run() -> None:
    assert list(Portion({name: table.empty_table() for name, table in TABLES.items()}).read()) == []


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb\x00\x7f", "é\u2028\ud800", "", "[", "{}"])
def test_selections_are_written_as_json_is(text: str) -> None:
    for plain in ({text: text}, {"z": "1", text: [text, "0"]}):
        written = Selection.of(plain).to_json()
        several = {name: one if isinstance(one, str) else sorted(one) for name, one in plain.items()}
        assert written == json.dumps(several, ensure_ascii=False, sort_keys=True)
        assert Selection.from_json(written) == Selection.of(plain)
