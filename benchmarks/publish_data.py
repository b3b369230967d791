"""Makes a Parquet file of people for the publishing benchmarks: 6 public columns, 50 occupations.

Education and sex go with the occupation, the other columns hardly do. Rows are in no order.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PUBLIC = {"region": 10, "race": 5, "age": 8, "education": 6, "sex": 2, "marital": 4}
#: The same columns with more values: 10 million people are in 1.28 million groups.
DETAILED = {"region": 51, "race": 5, "age": 40, "education": 16, "sex": 2, "marital": 5}
SENSITIVE, N_VALUES = "occupation", 50
ROWS = 2**20


def write_people(
    path: Path, n_rows: int, *, seed: int = 1, public: Mapping[str, int] = PUBLIC, skew: float = 1.5
) -> None:
    """Write so many rows, the same for the same seed; the larger the skew, the rarer are later values."""
    columns = {**public, SENSITIVE: N_VALUES}
    values = {name: pa.array([f"{name} {at:02}" for at in range(size)]) for name, size in columns.items()}
    # One distribution of occupations for each education and sex: the same decay, another order.
    weights = np.arange(1, N_VALUES + 1) ** -0.7
    shift = 2 * np.arange(public["education"])[:, None] + np.arange(public["sex"])
    order = (np.arange(N_VALUES) + shift[..., None]) % N_VALUES
    limits = np.cumsum(weights[order], axis=-1) / weights.sum()
    schema = pa.schema([(name, pa.dictionary(pa.int8(), pa.string())) for name in columns])
    with pq.ParquetWriter(path, schema, store_schema=False) as file:
        for number, first in enumerate(range(0, n_rows, ROWS)):
            chance = np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(number,))))
            n = min(ROWS, n_rows - first)
            # Later values are rarer, so groups are of very different sizes.
            codes = {name: (size * chance.random(n) ** skew).astype(np.int8) for name, size in public.items()}
            row = limits[codes["education"], codes["sex"]]
            codes[SENSITIVE] = (
                (chance.random(n)[:, None] > row).sum(axis=1).clip(0, N_VALUES - 1).astype(np.int8)
            )
            arrays = [pa.DictionaryArray.from_arrays(codes[name], values[name]) for name in columns]
            file.write_table(pa.Table.from_arrays(arrays, schema=schema))


def main(arguments: list[str]) -> int:
    """Write a file."""
    parser = argparse.ArgumentParser(prog="publish_data", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    write_people(chosen.path, int(chosen.rows), seed=chosen.seed)
    print(f"{chosen.path}: {int(chosen.rows):,} rows, {chosen.path.stat().st_size / 2**20:.0f} MiB")
    return 0
