"""The data of the papers on publishing, in any size, and what a method loses on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from showthrough.microdata.generalize import Generalization, generalize
from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import PublishingMethod
from showthrough.microdata.queries import QueryPool, single_queries
from showthrough.microdata.utility import Utility, measure

#: A file, its public columns, and its sensitive one.
Source = tuple[str, tuple[str, ...], str]

ADULT: Source = ("adult.parquet", ("education", "occupation", "race", "sex"), "income")
CENSUS: Source = ("acs2018_workers.parquet", ("age", "gender", "edu14", "marital", "race"), "occ50")

#: The sizes that the papers sweep, in records.
SIZES = (100_000, 200_000, 300_000, 400_000, 500_000)

#: What stands in for the papers' CENSUS.
STAND_IN = (
    "CENSUS (500,000 adults) is replaced by the American Community Survey of 2018, 295,243 workers: smaller "
    "sizes are samples of it, larger ones take records again."
)


@dataclass(frozen=True)
class Asked:
    """What a run of the benchmark is about: the data, and how much of everything."""

    data: Path | None = None
    quick: bool = False
    runs: int = 10
    queries: int = 5_000
    draws: int = 10
    blocks: int = 50
    claims: int = 6
    seed: int = 1

    @property
    def folder(self) -> Path:
        """The folder of the data."""
        if self.data is None:
            raise FileNotFoundError("the data are missing: name their folder with --data or SHOWTHROUGH_DATA")
        return self.data

    def some(self, values: tuple[float, ...], step: int = 2) -> tuple[float, ...]:
        """All values, or every second one where less is asked for."""
        return values[::step] if self.quick else values

    def missing(self) -> str | None:
        """What is wrong with the data folder, if anything is."""
        if self.data is None:
            return "the data are missing: name their folder with --data or SHOWTHROUGH_DATA"
        for file in (ADULT[0], CENSUS[0]):
            if not (self.data / file).is_file():
                return f"{self.data}: there is no {file}; name the folder that holds it with --data"
        return None


@cache
def read(folder: Path, source: Source) -> Groups:
    """The complete records of a file, counted."""
    file, public, sensitive = source
    complete = pq.read_table(folder / file).drop_null()
    return Groups.read(complete, sensitive=sensitive, public=list(public))


def merge(groups: Groups) -> Generalization:
    """Public values merged as in the paper."""
    return generalize(groups, merging="components")


@cache
def merged(folder: Path, source: Source) -> Generalization:
    """The complete records of a file with public values merged as in the paper."""
    return merge(read(folder, source))


def resized(groups: Groups, records: int, *, seed: int) -> Groups:
    """So many of the records: a sample, or all of them as often as they fit and a sample of them."""
    counts = groups.counts.tocoo()
    times, rest = divmod(records, groups.records)
    rng = np.random.default_rng(seed)
    drawn = rng.multivariate_hypergeometric(counts.data.astype(np.int64), rest, method="marginals")
    new = csr_array((times * counts.data + drawn, (counts.row, counts.col)), shape=counts.shape)
    kept = np.flatnonzero(np.asarray(new.sum(axis=1)))
    return replace(groups, public=groups.public.take(kept), counts=new[kept])


def queries(groups: Groups, found: Generalization | None, asked: Asked) -> QueryPool:
    """Random queries over original values, asked about merged ones where there are any."""
    return single_queries(groups, seed=asked.seed, number=asked.queries, merged=found)


def measured(method: PublishingMethod, pool: QueryPool, asked: Asked) -> Utility:
    """The errors of a method."""
    return measure(method, pool, seed=asked.seed, runs=asked.runs)
