"""The data of the papers on publishing, what a method loses on them, and tables of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from showthrough.microdata.generalize import Generalization, generalize
from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import PublishingMethod
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.utility import Utility, measure

ADULT = ("adult.parquet", ("education", "occupation", "race", "sex"), "income")
CENSUS = ("acs2018_workers.parquet", ("age", "gender", "edu14", "marital", "race"), "occ50")


@cache
def read(folder: Path, file: str, public: tuple[str, ...], sensitive: str) -> Groups:
    """The complete records of a file, counted."""
    complete = pq.read_table(folder / file).drop_null()
    return Groups.read(complete, sensitive=sensitive, public=list(public))


@cache
def merged(folder: Path, file: str, public: tuple[str, ...], sensitive: str) -> Generalization:
    """The same with public values merged as in the paper."""
    return generalize(read(folder, file, public, sensitive), merging="components")


def table(rows: Sequence[Sequence[str]]) -> None:
    """Columns side by side."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)))
    print(flush=True)


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def with_error(found: Utility, at: int = 0) -> str:
    """A mean error and its standard error, in percent."""
    return f"{100 * found.mean[at]:.2f} ± {100 * found.standard_error[at]:.2f}"


def measured(method: PublishingMethod, pool: QueryPool, options: argparse.Namespace) -> Utility:
    """The errors of a method."""
    return measure(method, pool, seed=options.seed, runs=options.runs)
