"""Runs to make pages of: a small one with everything in it, a hostile one, and a large one."""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import showthrough as st
from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county
from showthrough.tables.stored import PLACES

#: A label that is markup, closes what it stands in, turns the direction of text, and does not end.
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "</script>\"'`&amp;{{7+7}}\u202e\u2067right to left\u2069\u200f\x1b[31m\n" + ("long " * 2000).strip()
)

#: Two towns.
PEOPLE = """town,age,sex,job
Aldea,young,f,clerk
Aldea,young,m,baker
Aldea,old,f,clerk
Aldea,old,f,nurse
Brook,young,f,nurse
Brook,old,m,clerk
Brook,old,m,clerk
"""


def county(folder: Path, *, areas: int = 4, refuted: bool = True) -> st.Records:
    """A run over a small simulated county, and its records; audited once in a process, then copied."""
    made, records = _audited(areas, refuted)
    shutil.copytree(made.name, folder, dirs_exist_ok=True)
    return records


@cache
def _audited(areas: int, refuted: bool) -> tuple[tempfile.TemporaryDirectory[str], st.Records]:
    records = simulate_county(areas, seed=5)
    layout = st.Layout(COUNTY_SCHEMA, tuple(st.make_table(COUNTY_SCHEMA, f) for f in COUNTY_TABLES))
    holder = tempfile.TemporaryDirectory(prefix="showthrough-county-")
    settings = st.Settings(refuted=refuted)
    inputs = {"county": "made up"}
    st.run_audit(_areas(records, layout), layout, Path(holder.name), settings=settings, inputs=inputs)
    return holder, records


def _areas(records: st.Records, layout: st.Layout) -> list[st.Area]:
    assert records.areas is not None
    made: list[st.Area] = []
    for name in dict.fromkeys(records.areas.tolist()):
        part = st.Records(records.schema, records.codes[records.areas == name])
        made.append(st.Area(layout.tabulate(part, area=str(name)), part))
    return made


def hostile(folder: Path) -> None:
    """A run whose every name, label, phrase and area is hostile."""
    evil = f"x{HOSTILE}"
    schema = st.Schema(
        (
            st.Attribute("sex", ("f", "m"), label=HOSTILE, phrases={"f": HOSTILE}),
            st.Attribute(evil, ("no", HOSTILE), labels={HOSTILE: HOSTILE}),
            st.Attribute("age", ("young", "old")),
        ),
        record="person",
        records="people",
    )
    tables = (
        st.make_table(schema, f"sex*{evil}", name=HOSTILE, label=HOSTILE),
        st.make_table(schema, "sex*age", publisher=HOSTILE),
    )
    layout = st.Layout(schema, tables)
    codes = np.array([[0, 1, 1], [1, 0, 1], [1, 0, 0]], np.uint16)
    records = st.Records(schema, codes)
    areas = [st.Area(layout.tabulate(records, area=name), records) for name in (HOSTILE, "plain")]
    st.run_audit(areas, layout, folder, settings=st.Settings(refuted=True), inputs={HOSTILE: HOSTILE})


def repeated(source: Path, folder: Path, *, claims: int) -> int:
    """A finished run repeated under other names of areas until it has so many claims."""
    times = -(-claims // pq.read_metadata(source / "claims.parquet").num_rows)
    (folder / "proofs").mkdir(parents=True)
    for place in PLACES.values():
        table = pq.read_table(source / place)
        parts = [_renamed(table, number) for number in range(times)]
        pq.write_table(pa.concat_tables(parts), folder / place)
    for name in ("release.json", "run.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    summary = json.loads((source / "summary.json").read_text("utf-8"))
    grown = {key: _times(value, times) for key, value in summary.items()}
    (folder / "summary.json").write_text(json.dumps(grown), "utf-8")
    return pq.read_metadata(folder / "claims.parquet").num_rows


def _renamed(table: pa.Table, number: int) -> pa.Table:
    names = pa.array([f"{area} of tract {number:03d}" for area in table["area"].to_pylist()], pa.string())
    return table.set_column(table.schema.get_field_index("area"), "area", names)


def _times(value: object, times: int) -> object:
    if isinstance(value, dict):
        return {key: number * times for key, number in value.items()}
    return value * times if isinstance(value, int) else value
