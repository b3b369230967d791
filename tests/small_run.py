"""A small run of several batches, for tests that interrupt it or do it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import showthrough as st
from showthrough.datasets import COUNTY_SCHEMA, simulate_county
from showthrough.engine import Engine

#: Areas of a batch, and of the whole run: six batches, the last one of a single area.
BATCH, N_AREAS = 2, 11

LAYOUT = st.Layout(
    COUNTY_SCHEMA, tuple(st.make_table(COUNTY_SCHEMA, formula) for formula in ("tenure*size", "age", "race"))
)


def areas() -> Iterator[st.Area]:
    """The areas, the last of which contradicts itself."""
    for name, records in simulate_county(N_AREAS, seed=3, smallest=3, largest=4).by_area():
        release = LAYOUT.tabulate(records, area=name)
        if name == f"{N_AREAS:03d}":
            release.low[0] += 1
            release.high[0] += 1
        yield st.Area(release, records)


def run(folder: Path, *, workers: int = 1, engine: Engine | None = None, keep_going: bool = True) -> None:
    """Audit the areas."""
    settings = st.Settings(keep_going=keep_going)
    st.run_audit(areas(), LAYOUT, folder, settings=settings, workers=workers, engine=engine, batch=BATCH)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run but the one that depends on the machine."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timing.parquet"
    }
