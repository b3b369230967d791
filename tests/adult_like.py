"""People whose rare value goes with their public ones, as in the Adult data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def adult_like(n: int = 8_000, *, seed: int = 4) -> pa.Table:
    """A rare value (24 % of all) that more than half of some groups have, and small groups as well."""
    rng = np.random.default_rng(seed)
    school = rng.choice(6, n, p=[0.35, 0.25, 0.2, 0.12, 0.06, 0.02])
    job, race = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05]), rng.choice(3, n, p=[0.85, 0.13, 0.02])
    sex = rng.choice(2, n, p=[0.67, 0.33])
    chance = 0.15 * school + 0.06 * (job == 1) + 0.1 * (job == 2) - 0.1 * sex
    rich = rng.random(n) < np.clip(chance, 0.01, 0.9)
    names = {"school": school, "job": job, "race": race, "sex": sex}
    return pa.table(
        {**{k: [f"{k}{v}" for v in x] for k, x in names.items()}, "rich": np.where(rich, "y", "n")}
    )
