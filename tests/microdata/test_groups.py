"""Reading records as counts: the same whatever they are read from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import crowd
from needs import SLOW
from showthrough.engine.coding import UNKNOWN, pack_rows
from showthrough.engine.duck import DuckBackend, _runs
from showthrough.engine.keys import Column, KeyCodec
from showthrough.errors import InputError, RecordsError
from showthrough.frames.columns import texts
from showthrough.microdata import groups as blocks
from showthrough.microdata.groups import Groups


def same(one: Groups, other: Groups) -> bool:
    public, others = ([texts(column) for column in groups.public.columns] for groups in (one, other))
    return public == others and one.domain.equals(other.domain) and (one.counts != other.counts).nnz == 0


def test_counts_are_those_of_a_plain_loop() -> None:
    table = crowd.people(500)
    groups = Groups.read(table, sensitive="ill")
    expected: dict[tuple[object, ...], int] = {}
    for row in table.to_pylist():
        key = tuple(row.values())
        expected[key] = expected.get(key, 0) + 1
    cells = groups.counts.tocoo()
    public, domain = groups.public.to_pylist(), groups.domain["ill"].to_pylist()
    found = {
        (*public[g].values(), domain[v]): int(n)
        for g, v, n in zip(cells.row, cells.col, cells.data, strict=True)
    }
    assert found == expected
    assert groups.records == 500
    # Ascending, missing first.
    keys = [tuple((value is not None, value) for value in row.values()) for row in public]
    assert keys == sorted(keys, key=lambda key: [(there, value if there else 0) for there, value in key])


def test_all_sources_give_the_same(tmp_path: Path) -> None:
    table = crowd.write_people(tmp_path)
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(3):
        pq.write_table(table.slice(1000 * at, 1000), folder / f"{at}.parquet", row_group_size=100)
    arrow_csv.write_csv(
        table, tmp_path / "people.tsv", arrow_csv.WriteOptions(delimiter="\t", quoting_style="needed")
    )
    expected = Groups.read(table, sensitive="ill")
    assert len(expected) == 30
    for source in (
        table.take(np.random.default_rng(1).permutation(3000)),
        table.to_pandas(),
        pl.from_arrow(table),
        tmp_path / "people.parquet",
        tmp_path / "people.csv",
        tmp_path / "people.tsv",
        folder,
        str(folder / "*.parquet"),
    ):
        assert same(Groups.read(source, sensitive="ill"), expected), str(source)


@pytest.mark.parametrize(("dense", "in_order"), [(22, 2**25), (0, 2**25), (0, 0)])
@pytest.mark.parametrize("cells", [4, 12, 2**18] if SLOW else [4, 2**18])
def test_blocks_do_not_matter(dense: int, in_order: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records are counted in an array, by sorting, or by the database: with the same result."""
    expected = Groups.read(crowd.people(), sensitive="ill")
    monkeypatch.setattr("showthrough.engine.duck.DENSE", dense)
    monkeypatch.setattr("showthrough.engine.duck.SORTED", in_order)
    monkeypatch.setattr("showthrough.engine.duck.ROWS", 7)
    monkeypatch.setattr(blocks, "CELLS", cells)
    assert same(Groups.read(crowd.people(), sensitive="ill", engine=DuckBackend(threads=1)), expected)


@pytest.mark.parametrize("bits", [20, 40])
def test_sorting_counts_what_comes(bits: int) -> None:
    """As many of each key as there are, those with an unknown value too, even if more come than expected."""
    chance = np.random.default_rng(bits)
    keys = chance.integers(0, 2**bits, 500, dtype=np.uint64)[chance.integers(0, 500, 3000)]
    keys[::7] = UNKNOWN
    expected = dict(zip(*(found.tolist() for found in np.unique(keys, return_counts=True)), strict=True))
    for records in (0, 1000, 3000, 5000):
        parts = (keys[at : at + 70, None] for at in range(0, len(keys), 70))
        found, counts = _runs(parts, records, short=bits <= 32)
        assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == expected
        assert (np.diff(found.astype(np.float64)) > 0).all()


def test_numbers_without_a_gap_are_looked_up_by_their_place() -> None:
    """The numbers of buckets, for one: with the same result as a search, also for what is not there."""
    column = Column("bucket", pa.array([3, 4, 5, 6]))
    codec = KeyCodec((column,), (Column("ill", pa.array(["no", "yes"])),), np.arange(2))
    asked = pa.table({"bucket": pa.array([6, 3, None, 2, 7, 5], pa.int16()), "ill": ["yes", "no"] * 3})
    expected = [7, 0, int(UNKNOWN), int(UNKNOWN), int(UNKNOWN), 4]
    assert pack_rows(asked, codec)[:, 0].tolist() == expected
    gap = KeyCodec((Column("bucket", pa.array([3, 4, 6])),), codec.sensitive, codec.codes)
    rows = [5, 0, int(UNKNOWN), int(UNKNOWN), int(UNKNOWN), int(UNKNOWN)]
    assert pack_rows(asked, gap)[:, 0].tolist() == rows


def test_every_type_is_a_category() -> None:
    table = pa.table(
        {
            "number": pa.array([1.5, float("nan"), -0.0, 0.0], pa.float64()),
            "small": pa.array([1, 200, 1, 1], pa.uint8()),
            "large": pa.array([-(2**62), 2**62, 0, 0], pa.int64()),
            "flag": [True, None, False, False],
            "day": pa.array([0, 1, 2, 2], pa.date32()),
            "price": pa.array([1, 2, 3, 3]).cast(pa.decimal128(22, 2)),
            "word": pa.array(["b", "a", None, None]).dictionary_encode(),
            "ill": ["x", "y", "x", "y"],
        }
    )
    groups = Groups.read(table, sensitive="ill")
    assert groups.sizes.tolist() == [1, 2, 1]
    assert groups.public["number"].to_pylist() == [None, 0.0, 1.5]
    assert groups.public["large"].to_pylist() == [2**62, 0, -(2**62)]
    with pytest.raises(RecordsError, match=r"column day: the column cannot be read as text .*list"):
        Groups.read(pa.table({"day": pa.array([[1]], pa.list_(pa.date32())), "ill": ["x"]}), sensitive="ill")


def test_many_columns_take_more_than_one_word() -> None:
    chance = np.random.default_rng(1)
    table = pa.table(
        {f"c{at}": chance.integers(0, 100, 400) for at in range(12)} | {"ill": chance.integers(0, 3, 400)}
    )
    groups = Groups.read(table, sensitive="ill")
    rows = sorted(tuple(row.values())[:-1] for row in table.to_pylist())
    assert [tuple(row.values()) for row in groups.public.to_pylist()] == rows
    assert groups.sizes.tolist() == [1] * 400


def test_several_sensitive_columns_are_one_value() -> None:
    groups = Groups.read(crowd.people(), sensitive=["ill", "job"], public=["town"])
    pairs = {(row["ill"], row["job"]) for row in crowd.people().to_pylist()}
    assert [tuple(row.values()) for row in groups.domain.to_pylist()] == sorted(pairs)
    assert groups.records == 3000
    few = pa.table({"a": ["x", "x", "y"], "b": ["p", "q", "q"]})
    assert Groups.read(few, sensitive=["a", "b"], public=[]).domain.to_pylist() == few.to_pylist()


def test_no_public_column_is_one_group() -> None:
    groups = Groups.read(crowd.people(), sensitive="ill", public=[])
    assert (len(groups), groups.records) == (1, 3000)


def test_bad_input(tmp_path: Path) -> None:
    table = crowd.people(50)
    with pytest.raises(RecordsError, match="column il: no such column; did you mean 'ill'"):
        Groups.read(table, sensitive="il")
    with pytest.raises(
        RecordsError, match=r"column age: the sensitive value is missing in \d+ records; leave"
    ):
        Groups.read(table, sensitive="age")
    with pytest.raises(InputError, match="column ill: a column is named twice"):
        Groups.read(table, sensitive="ill", public=["ill"])
    with pytest.raises(RecordsError, match="there are no records"):
        Groups.read(table.slice(0, 0), sensitive="ill")
    with pytest.raises(RecordsError, match="neither a path nor a table"):
        Groups.read(7, sensitive="ill")
    with pytest.raises(RecordsError, match="no such file"):
        Groups.read(tmp_path / "nowhere.csv", sensitive="ill")
    with pytest.raises(RecordsError, match="no file matches it as a pattern"):
        Groups.read(str(tmp_path / "*.parquet"), sensitive="ill")
    (tmp_path / "people.xls").write_text("x")
    with pytest.raises(RecordsError, match="unsupported file extension"):
        Groups.read(tmp_path / "people.xls", sensitive="ill")
    (tmp_path / "empty.csv").write_text("age,ill\n")
    with pytest.raises(RecordsError, match=r"empty\.csv: there are no records"):
        Groups.read(tmp_path / "empty.csv", sensitive="ill")
    (tmp_path / "ragged.csv").write_text("age,ill\n1,x\n2,x,3\n")
    with pytest.raises(RecordsError, match=r"ragged\.csv, row 2: the row has 3 fields, the header 2"):
        Groups.read(tmp_path / "ragged.csv", sensitive="ill")
    (tmp_path / "twice.csv").write_text("age,age,ill\n1,2,x\n")
    with pytest.raises(RecordsError, match="column age: two columns have the same name"):
        Groups.read(tmp_path / "twice.csv", sensitive="ill")
    (tmp_path / "broken.parquet").write_text("PAR1")
    with pytest.raises(RecordsError, match=r"broken\.parquet: the file is damaged or not a parquet file"):
        Groups.read(tmp_path / "broken.parquet", sensitive="ill")


def test_a_column_that_names_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("showthrough.engine.backend.MOST_VALUES", 16)
    people = pd.DataFrame({"id": range(20), "ill": ["x", "y"] * 10})
    with pytest.raises(
        RecordsError, match="column id: the column has over 16 values, so it identifies single records"
    ):
        Groups.read(people, sensitive="ill")


def test_names_and_values_are_only_text(tmp_path: Path) -> None:
    name, value = 'a"; DROP TABLE x; --', "'; $files; \x1b[31m"
    table = pa.table({name: [value, "b"], "word_0": ["x", "x"], "number": [1, 2], "ill": ["x", "y"]})
    path = tmp_path / "it's [odd] $files.parquet"
    pq.write_table(table, path)
    groups = Groups.read(path, sensitive="ill")
    assert groups.public.to_pylist() == sorted(table.drop(["ill"]).to_pylist(), key=lambda row: row[name])
