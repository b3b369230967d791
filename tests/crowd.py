"""Made-up people for tests of publishing: three public columns, two that can be sensitive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.plan import Method
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import UniformPerturbation

ILLS = ("cold", "flu", "gout", "none")

SEED = 2**90 + 5
PROMISE = ReconstructionPrivacy(0.3, 0.3)
METHODS: dict[str, Method] = {
    "uniform": UniformPerturbation(0.4),
    "rho": UniformPerturbation(promise=RhoPrivacy(0.3, 0.6)),
    "partitioned": Partitioned(RhoPrivacy(0.3, 0.6)),
    "sampled": Sampled(PROMISE, 0.5),
    "banded": Sampled(PROMISE, 0.5, "chernoff", trials="banded"),
    "exact rates": Sampled(PROMISE, 0.5, "chernoff", trials="printed"),
    "not merged": Sampled(PROMISE, 0.5, significance=None),
    "anatomy": Anatomized(LDiversity(2)),
}


def people(n_rows: int = 3000, *, seed: int = 1) -> pa.Table:
    """Illness goes with age; a tenth of the ages is missing."""
    chance = np.random.default_rng(seed)
    age = chance.integers(0, 4, n_rows)
    ill = np.minimum(chance.geometric(0.7 - 0.15 * age) - 1, 3)
    return pa.table(
        {
            "age": pa.array(10 * age, mask=chance.random(n_rows) < 0.1),
            "town": pa.array(np.array(["Aldea", "Brook, upper", 'C"ley'])[chance.integers(0, 3, n_rows)]),
            "job": pa.array(np.array(["baker", "cook"])[chance.integers(0, 2, n_rows)]),
            "ill": pa.array(np.array(ILLS)[ill]),
        }
    )


def write_people(folder: Path, n_rows: int = 3000) -> pa.Table:
    """The same people as people.parquet and people.csv."""
    table = people(n_rows)
    pq.write_table(table, folder / "people.parquet")
    arrow_csv.write_csv(table, folder / "people.csv")
    return table
