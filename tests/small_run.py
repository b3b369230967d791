"""A small run of several batches, for tests that interrupt it or do it elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

import showthrough as st
from showthrough.engine.engine import Engine

#: Areas of a batch, and of the whole run: six batches, the last one of a single area.
BATCH, N_AREAS = 2, 11

#: Little, because how the run is done matters here, not what it finds.
EFFORT = 0.01

SCHEMA = st.Schema.of({"sex": ["f", "m"], "age": ["young", "middle", "old"], "ill": ["no", "yes"]})
LAYOUT = st.Layout(SCHEMA, tuple(st.make_table(SCHEMA, formula) for formula in ("sex*age", "age*ill", "sex")))


def areas() -> Iterator[st.Area]:
    """The areas, the last of which contradicts itself."""
    rng = np.random.default_rng(3)
    for number in range(1, N_AREAS + 1):
        records = st.Records(SCHEMA, rng.integers(0, (2, 3, 2), (5, 3)).astype(np.uint8))
        release = LAYOUT.tabulate(records, area=f"block {number:02d}")
        if number == N_AREAS:
            low = release.low.copy()
            low[0] += 1
            yield st.Area(st.Release(LAYOUT, low, low, release.area))
        else:
            yield st.Area(release, records)


def run(
    folder: Path,
    *,
    workers: int = 1,
    engine: Engine | None = None,
    keep_going: bool = True,
    others: Iterable[st.Area] | None = None,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Audit the areas, or others."""
    st.run_audit(
        others or areas(),
        LAYOUT,
        folder,
        settings=st.Settings(effort=EFFORT, keep_going=keep_going),
        workers=workers,
        engine=engine,
        progress=progress,
        batch=BATCH,
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run but the one that depends on the machine."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "timing.parquet"
    }
