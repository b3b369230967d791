"""Simulated homes: lawful, reproducible, uneven, and in sum like the nation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import showthrough as st
from showthrough.census.homes import census_schema
from showthrough.census.simulator import iter_households, simulate_households, write_households
from showthrough.census.tables_2020 import census_layout, check_additivity

SCHEMA = census_schema()

# Percent of households. ACS 2021 1-year, table DP02, unless another source is named. What is assumed
# (see neighbourhoods.py) is what the simulation is raked to, and checked as such.
NATIONAL = {
    "detailed_type=married with children": 17.9,
    "detailed_type=married without children": 29.4,
    "detailed_type=cohabiting with children": 2.3,
    "detailed_type=cohabiting without children": 4.9,
    "detailed_type=woman alone": 15.4,
    "detailed_type=woman alone,age=65-74|75-84|85+": 7.5,
    "detailed_type=woman with children": 4.9,
    "detailed_type=man alone": 12.8,
    "detailed_type=man alone,age=65-74|75-84|85+": 3.8,
    "detailed_type=man with children": 1.2,
    "type=married couple": 47.3,
    "under18=yes": 29.5,
    "over65=yes": 31.3,
    "tenure=mortgage|owned": 63.1,  # 2020 Census, H4
    "tenure=mortgage": 38.6,  # assumed
    "size=1": 28.3,  # DP02; 27.6 in the 2020 Census, H9
    "size=2": 33.8,  # this and the sizes below: assumed
    "size=3": 15.4,
    "size=4": 12.9,
    "size=5": 5.9,
    "size=6": 2.3,
    "size=7+": 1.4,
    "age=15-24": 4.0,  # this and the ages below: assumed
    "age=25-34": 16.0,
    "age=35-44": 17.3,
    "age=45-54": 16.7,
    "age=55-59": 9.3,
    "age=60-64": 9.5,
    "age=65-74": 16.0,
    "age=75-84": 8.2,
    "age=85+": 3.0,
    "race=white": 66.0,  # this and the races below: assumed
    "race=black": 12.3,
    "race=native": 0.9,
    "race=asian": 5.3,
    "race=pacific": 0.2,
    "race=other": 6.3,
    "race=several": 9.0,
    "hispanic=yes": 14.8,  # assumed
}


@pytest.fixture(scope="module")
def homes() -> pa.Table:
    return simulate_households(20_000, seed=2020)


@pytest.fixture(scope="module")
def records(homes: pa.Table) -> st.Records:
    return st.Records.from_arrow(homes, SCHEMA)  # checks every rule


def test_national_figures(records: st.Records) -> None:
    """Within 1.5 points. 250 tracts leave a standard error of about 0.3."""
    occupied = records.count(st.Selection.of(vacancy="occupied"))
    assert 100 * (1 - occupied / len(records)) == pytest.approx(9.7, abs=1.5)  # 2020 Census, H3
    sizes = [records.count(st.Selection.of(size=size)) for size in SCHEMA["size"].values[:7]]
    people = sum(size * n for size, n in zip((1, 2, 3, 4, 5, 6, 7.6), sizes, strict=True))
    assert people / occupied == pytest.approx(2.54, abs=0.1)  # DP02; households of 7+ have about 7.6
    found = {text: 100 * records.count(st.Selection.parse(text)) / occupied for text in NATIONAL}
    assert found == pytest.approx(NATIONAL, abs=1.5)


def test_rare_values_are_rare_but_there(records: st.Records) -> None:
    for attribute in SCHEMA.attributes:
        counts = np.bincount(records.codes[:, SCHEMA.index[attribute.name]], minlength=len(attribute.values))
        assert counts.min() > 0, attribute.name


def test_block_sizes_have_a_long_tail(homes: pa.Table) -> None:
    sizes = pc.value_counts(homes["block"].cast(pa.string())).field("counts").to_numpy()
    assert len(sizes) == 20_000
    assert 17 < sizes.mean() < 21
    assert 9 <= np.median(sizes) <= 11
    assert sizes.max() > 300


def shares(homes: pa.Table, place: str, text: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The share of homes that match, and the number of homes, per place."""
    codes = homes[place].combine_chunks().indices.to_numpy()
    records = st.Records.from_arrow(homes, SCHEMA)
    total = np.bincount(codes)
    return np.bincount(codes, records.matching(st.Selection.parse(text))) / total, total


@pytest.mark.parametrize(
    "text", ["tenure=rented", "age=65-74|75-84|85+", "race=black", "hispanic=yes", "under18=yes"]
)
def test_tracts_and_blocks_differ_more_than_by_chance(homes: pa.Table, text: str) -> None:
    for place in ("tract", "block"):
        share, total = shares(homes, place, text)
        large = total >= 30
        mean = float(share @ total / total.sum())
        by_chance = mean * (1 - mean) / total[large]
        assert np.mean((share[large] - mean) ** 2) > 1.5 * by_chance.mean(), place


def test_places_nest(homes: pa.Table) -> None:
    places = (
        homes.select(["state", "county", "tract", "block"]).group_by(homes.column_names[:4]).aggregate([])
    )
    rows = places.to_pylist()
    assert len(rows) == 20_000
    assert all(
        row["block"].startswith(row["tract"])
        and row["tract"].startswith(row["county"])
        and row["county"].startswith(row["state"])
        for row in rows
    )
    assert {len(row["block"]) for row in rows} == {15}
    assert {len(row["tract"]) for row in rows} == {11}


def test_more_blocks_begin_with_the_same_homes() -> None:
    few, many = simulate_households(90, seed=5), simulate_households(300, seed=5)
    assert many.slice(0, few.num_rows).to_pylist() == few.to_pylist()
    assert simulate_households(90, seed=5).equals(few)
    assert simulate_households(90, seed=6).to_pylist()[:50] != few.to_pylist()[:50]


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = simulate_households(400, seed=5).to_pylist()
    monkeypatch.setattr("showthrough.census.simulator._BATCH", 2)
    batches = list(iter_households(400, seed=5))
    assert len(batches) == 3
    assert pa.concat_tables(batches).to_pylist() == whole
    n_rows = write_households(tmp_path / "homes.parquet", 400, seed=5)
    file = pq.ParquetFile(tmp_path / "homes.parquet")
    assert file.num_row_groups == 3
    assert file.read().to_pylist() == whole
    assert n_rows == len(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["homes.parquet"]
    with pytest.raises(st.InputError, match="cannot be written"):
        write_households(tmp_path / "nowhere" / "homes.parquet", 1, seed=5)


def test_the_eleventh_column() -> None:
    schema = census_schema(children=True)
    homes = simulate_households(2_000, seed=3, children=True)
    records = st.Records.from_arrow(homes, schema)
    young = records.count(st.Selection.of(under18="yes"))
    assert 0.98 * young < records.count(st.Selection.of(children="yes")) <= young


def test_blocks_can_be_tabulated_and_audited() -> None:
    homes = simulate_households(3, seed=11)
    records = st.Records.from_arrow(homes, SCHEMA, by="block")
    for block, inside in records.by_area():
        release = census_layout().tabulate(inside, area=block)
        check_additivity(release)
        found = st.audit(release, truth=inside)
        assert found.n_records == len(inside)


@pytest.mark.parametrize("n_blocks", [0, -1, 10**9])
def test_impossible_numbers_of_blocks(n_blocks: int) -> None:
    with pytest.raises(st.InputError, match="number of blocks out of range"):
        simulate_households(n_blocks, seed=1)


def test_impossible_seed() -> None:
    with pytest.raises(st.InputError, match="seed out of range"):
        simulate_households(1, seed=-1)
