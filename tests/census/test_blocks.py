"""Blocks from files of homes or counts, without the command line; tables and places by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.census.blocks import BlockTables, read_blocks
from showthrough.census.counts import write_census
from showthrough.census.figures import PAPER_HOMES, summarise_run
from showthrough.census.places import DIGITS, join_parts, numbered_in_parts
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_cells, census_layout
from showthrough.tables.run.folder import run_audit


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    """The homes of three blocks."""
    file = tmp_path / "homes.parquet"
    pq.write_table(simulate_households(3, seed=1), file)
    return file


def test_homes_and_their_counts_are_the_same_releases(homes: Path, tmp_path: Path) -> None:
    from_homes = [area.release for area in read_blocks(homes).areas()]
    assert write_census(from_homes, tmp_path / "counts.parquet") == 3
    published = list(read_blocks(counts=[tmp_path / "counts.parquet"]).areas())
    for one, other in zip(from_homes, published, strict=True):
        assert one.area == other.release.area
        assert (one.low == other.release.low).all()
        assert (one.high == other.release.high).all()
        assert other.truth is None


def test_one_block_and_fewer_cells(homes: Path) -> None:
    blocks = read_blocks(homes, tables=BlockTables(cells="bottom"))
    name = blocks.names[1]
    (area,) = blocks.areas(name)
    assert area.release.area == name
    assert area.release.layout is census_layout(cells="bottom")
    assert area.truth is not None
    with pytest.raises(st.InputError, match="unknown area"):
        list(blocks.areas("nowhere"))


def test_counts_that_cannot_be_used_stop_at_the_block(homes: Path, tmp_path: Path) -> None:
    write_census((area.release for area in read_blocks(homes).areas()), tmp_path / "counts.parquet")
    table = pq.read_table(tmp_path / "counts.parquet")
    at = table.column_names.index("P16_001N")
    wrong = np.add(table["P16_001N"].to_numpy(), [0, 1, 0])
    pq.write_table(table.set_column(at, "P16_001N", [wrong]), tmp_path / "counts.parquet")
    areas = read_blocks(counts=[tmp_path / "counts.parquet"], keep_going=True).areas()
    assert next(areas).release.area == "010010000010001"
    with pytest.raises(st.RecordsError, match="the tables do not add up"):
        next(areas)


def test_homes_or_counts() -> None:
    with pytest.raises(st.InputError, match="no homes and no counts given"):
        read_blocks()
    with pytest.raises(st.InputError, match="both homes and --counts are given"):
        read_blocks(Path("homes.csv"), counts=[Path("counts.csv")])


def test_the_cells_of_a_table() -> None:
    table, cells = census_cells("h13a", census_layout())
    assert (table.name, table.universe, len(cells)) == ("H13A", "households", table.n_cells)
    _, bottom = census_cells("H13A", census_layout(cells="bottom"))
    assert set(bottom) < set(cells)
    with pytest.raises(st.InputError, match=r"there is no such block table .*did you mean 'P16'"):
        census_cells("P166", census_layout())


def test_codes_of_places() -> None:
    homes = simulate_households(90, seed=1)
    blocks = homes["block"].cast("string").to_pylist()
    for place, digits in DIGITS.items():
        assert homes[place].cast("string").to_pylist() == [block[:digits] for block in blocks]
    assert not numbered_in_parts([homes])
    parts = [pa.array([part]) for part in ("1", "1", "20100", "1000")]
    assert join_parts(parts).to_pylist() == ["010010201001000"]


def test_the_summary_of_a_run_has_the_papers_figures_beside(homes: Path, tmp_path: Path) -> None:
    blocks = read_blocks(homes)
    small = min(blocks.areas(), key=lambda area: area.release.low.max())
    run_audit([small], blocks.layout, tmp_path / "run", settings=st.Settings(st.Scope(max_columns=3)))
    found = summarise_run(tmp_path / "run", homes)
    plain = found.to_plain()
    assert plain["blocks"] == 1
    assert plain["paper"]["homes"] == PAPER_HOMES  # type: ignore[index]
    assert found.n_left_out == 0
    assert found.coverage.baselines.num_rows
    least = summarise_run(tmp_path / "run").coverage
    exact = found.coverage.covered["records"].to_pylist()
    assert all(a <= b for a, b in zip(least.covered["records"].to_pylist(), exact, strict=True))
