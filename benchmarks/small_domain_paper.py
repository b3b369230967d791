"""Small domain randomization: retentions and errors of uniform, partitioned and anatomy, by L."""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.paper_data import CENSUS, measured, percent, read, table, with_error

from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.groups import Groups
from showthrough.microdata.merging import Cost, Goal, merge_runs, orders
from showthrough.microdata.partition import Partition, balance, partition
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.queries import QueryPool, crossed_queries
from showthrough.microdata.uniform import UniformPerturbation

#: The larger domain, the skewed one, and the one like the paper's: sensitive column → ρ1 and L.
DOMAINS = {
    "occ50": (1 / 13, (6, 5, 4, 3)),
    "occupation": (1 / 13, (6, 5, 4, 3)),
    "edu14": (1 / 30, (10, 8, 6, 4)),
}


def run_partitioned(options: argparse.Namespace) -> None:
    """Retentions on the paper's shape of data, what other costs and grids give, then errors on real ones."""
    _retentions()
    _costs()
    for sensitive, (prior, numbers) in DOMAINS.items():
        file, public, _ = CENSUS
        columns = tuple("occ_group" if name == sensitive else name for name in (*public, "workclass"))
        groups = read(options.data, file, columns, sensitive)
        pool = crossed_queries(groups, seed=options.seed)
        largest = groups.totals.max() / groups.records
        print(
            f"ACS {sensitive}: {len(groups.totals):,} values, largest share {percent(largest)}; ρ1 = 1/"
            f"{round(1 / prior)}; {len(pool):,} queries of at least 0.1 %, {options.runs} runs"
        )
        heads = "L, uniform p, error, uniform p (largest), error, by the bound p, error, partitioned p, error"
        rows: list[tuple[str, ...]] = [(*heads.split(", "), "anatomy")]
        gains = list[float]()
        for number in numbers[:: 3 if options.quick else 1]:
            line, gain = _partitioned_row(number, prior, groups, pool, options)
            rows.append(line)
            gains.append(gain)
        table(rows)
        best = max(gains)
        said = (
            f"is off by up to {percent(best)} less than uniform for the same largest share"
            if best > 0.02
            else "does NOT beat uniform for the same largest share: nothing is gained by partitioning"
        )
        print(f"  Partitioned {said}.\n")


def _partitioned_row(
    number: int, prior: float, groups: Groups, pool: QueryPool, options: argparse.Namespace
) -> tuple[tuple[str, ...], float]:
    promise = RhoPrivacy(prior, 1 / number)
    protected = promise.protects(groups.totals)
    # Like with like: the partition goes by the largest share of a protected value there is, not by ρ1.
    actual = promise.for_frequency(float(groups.totals[protected].max() / groups.records))
    uniform = UniformPerturbation(promise=promise), UniformPerturbation(promise=actual)
    parts = Partitioned(promise, cost="bound"), Partitioned(promise)
    found = [measured(method, pool, options) for method in (*uniform, *parts, Anatomized(LDiversity(number)))]
    numbers = [text for one in found[:4] for text in (percent(one.retention or 0), with_error(one))]
    left_out = f" ({percent(1 - found[4].used)} left out)" if found[4].used < 1 else ""
    gain = 1 - float(found[3].mean[0] / found[1].mean[0])
    return (str(number), *numbers, with_error(found[4]) + left_out), gain


def _retentions() -> None:
    """The paper's data are not public: 50 values in geometric decay, the largest with 7.57 %."""
    totals = _totals(_decay(50, 0.0757) ** np.arange(50))
    print("300,000 records, 50 values in geometric decay, ρ1 = 1/13: mean retention of the sub-tables")
    rows = [("L", "uniform", "printed", "RCM order", "printed", "best order", "bound: uniform, RCM, best")]
    printed = {6: (2.9, 9.0), 5: (4.0, 12.3), 4: (5.9, 17.3), 3: (9.4, 25.7)}
    for number, (uniform, parts) in printed.items():
        promise = RhoPrivacy(1 / 13, 1 / number)
        best, plain = partition(totals, promise, cost="bound", step=1), _in_first_order(totals, promise)
        bounds = (best.unpartitioned.error_bound, plain.error_bound, best.error_bound)
        rows.append(
            (
                str(number),
                percent(promise.retention(50)),
                f"{uniform} %",
                percent(float(plain.retention.mean())),
                f"{parts} %",
                percent(float(best.retention.mean())),
                ", ".join(f"{bound:.3f}" for bound in bounds),
            )
        )
    table(rows)


def _costs() -> None:
    """How far estimates of totals are off: by the bound, by the variance, and with coarser grids."""
    skewed: dict[str, tuple[np.ndarray, float]] = {
        "geometric": (_totals(_decay(50, 0.0757) ** np.arange(50)), 1 / 13),
        "Zipf": (_totals(1 / np.arange(1.0, 101)), 1 / 5),
        "nearly even": (_totals(np.arange(20.0, 40)), 0.06),
    }
    print("300,000 records: root mean squared error and mean relative error of the estimated totals,")
    print("by what the partition makes small, and by the step of the grid that its retentions follow")
    ways: tuple[tuple[Cost, float], ...] = (
        ("bound", 1),
        *(("variance", step) for step in (1, 1.02, 1.05, 1.1, 1.5)),
    )
    rows: list[tuple[str, ...]] = [
        ("totals", "L", "uniform", *(f"{cost}, {step - 1:.0%}" for cost, step in ways))
    ]
    for name, (totals, prior) in skewed.items():
        for number in (4, 3):
            promise = RhoPrivacy(prior, 1 / number)
            found = [partition(totals, promise, cost=cost, step=step) for cost, step in ways]
            errors = [_errors(one) for one in (found[0].unpartitioned, *found)]
            rows.append((name, str(number), *(f"{off:,.0f}, {percent(share)}" for off, share in errors)))
    table(rows)


def _totals(weights: np.ndarray, records: int = 300_000) -> np.ndarray:
    totals = np.floor(records * weights / weights.sum()).astype(np.int64)
    totals[0] += records - totals.sum()
    return totals


def _errors(found: Partition) -> tuple[float, float]:
    """The root of the mean variance of estimated totals, and their mean relative error."""
    totals, spread = found.allotment.sum(axis=0), np.zeros(found.allotment.shape[1])
    for row, domain, kept in zip(found.allotment, found.domains, found.retention, strict=True):
        other = (1 - kept) / len(domain)
        own = kept + other
        mine = row[domain]
        spread[domain] += (mine * own * (1 - own) + (row.sum() - mine) * other * (1 - other)) / kept**2
    return float(np.sqrt(spread.mean())), float(np.sqrt(2 / np.pi) * (np.sqrt(spread) / totals).mean())


def _in_first_order(totals: np.ndarray, promise: RhoPrivacy) -> Partition:
    """A partition with SciPy's reverse Cuthill–McKee order alone."""
    protected = promise.protects(totals)
    groups = balance(totals, protected)
    found = merge_runs(groups, next(orders(groups)), Goal(promise, totals, cost="bound", step=1))
    labels, dense = found.labels(), groups.toarray()
    parts = np.array([dense[labels == label].sum(axis=0) for label in range(len(found.ends))])
    return Partition(promise, parts, 0.95, groups.shape[0], step=1)


def _decay(number: int, largest: float) -> float:
    """The ratio of a geometric series of so many shares that begins with the largest."""
    low, high = 0.5, 1 - 1e-9
    for _ in range(100):
        middle = (low + high) / 2
        first = (1 - middle) / (1 - middle**number)
        low, high = (middle, high) if first > largest else (low, middle)
    return low
