"""Paper 003, Small Domain Randomization: retentions, sub-tables, errors by L and |T|, times, Theorem 2."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from benchmarks.paper.data import CENSUS, SIZES, STAND_IN, Asked, Source, measured, read, resized
from benchmarks.paper.figure import Curve, Figure, Floats, Said, change, listed, signed, written
from benchmarks.paper.small_domain_tables import PAPER, TABLES

from showthrough.microdata.anatomy import Anatomized, anatomize
from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import PublishingMethod
from showthrough.microdata.partitioned import Partitioned, perturb_partition
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.queries import QueryPool, crossed_queries
from showthrough.microdata.uniform import UniformPerturbation, perturb
from showthrough.microdata.utility import Utility

#: The two data sets of the paper: sensitive column, ρ1, and L.
OCC: tuple[str, float, tuple[float, ...]] = ("occ50", 1 / 13, (6, 5, 4, 3))
EDU: tuple[str, float, tuple[float, ...]] = ("edu14", 1 / 30, (10, 8, 6, 4))

#: Names of methods in the figures.
UP, UP_FAIR, PP_PRINTED, PP, ANA, ANA_OLD = (
    "UP",
    "UP, same ρ1",
    "PP, by the bound",
    "PP, by the variance",
    "Ana",
    "Ana, as described",
)


def source(domain: tuple[str, float, tuple[float, ...]]) -> Source:
    """The survey with one of its columns as the sensitive one."""
    file, public, _ = CENSUS
    columns = tuple("occ_group" if name == domain[0] else name for name in (*public, "workclass"))
    return file, columns, domain[0]


def methods(groups: Groups, prior: float, number: int) -> dict[str, PublishingMethod]:
    """The rivals at one L: as the paper has them, like with like, and ours."""
    promise = RhoPrivacy(prior, 1 / number)
    protected = promise.protects(groups.totals)
    actual = promise.for_frequency(float(groups.totals[protected].max() / groups.records))
    return {
        UP: UniformPerturbation(promise=promise),
        UP_FAIR: UniformPerturbation(promise=actual),
        PP_PRINTED: Partitioned(promise, cost="bound"),
        PP: Partitioned(promise),
        ANA: Anatomized(LDiversity(number)),
        ANA_OLD: Anatomized(LDiversity(number), dealing="fullest"),
    }


Measured = Mapping[str, list[Utility]]


def by_number(
    groups: Groups, domain: tuple[str, float, tuple[float, ...]], asked: Asked
) -> tuple[Measured, list[int]]:
    """Every method at every L."""
    pool = crossed_queries(groups, seed=asked.seed)
    numbers = [int(number) for number in asked.some(domain[2], 3)]
    found: dict[str, list[Utility]] = {}
    for number in numbers:
        for name, method in methods(groups, domain[1], number).items():
            found.setdefault(name, []).append(measured(method, pool, asked))
    return found, numbers


def by_size(
    domain: tuple[str, float, tuple[float, ...]], number: int, asked: Asked
) -> tuple[dict[str, Floats], list[str]]:
    """The errors at selectivity 0.1 % by the number of records, one row for each draw of records."""
    sizes = asked.some(SIZES)
    several = 2 if asked.quick else 3
    found: dict[str, Floats] = {}
    fewer = Asked(
        asked.data, asked.quick, max(2, asked.runs // 3), asked.queries, asked.draws, seed=asked.seed
    )
    for draw in range(several):
        for at, size in enumerate(sizes):
            groups = resized(read(asked.folder, source(domain)), int(size), seed=asked.seed + draw)
            pool = crossed_queries(groups, seed=asked.seed)
            for name, method in methods(groups, domain[1], number).items():
                rows = found.setdefault(name, np.zeros((several, len(sizes))))
                rows[draw, at] = measured(method, pool, fewer).mean[0]
    return found, [f"{int(size):,}" for size in sizes]


def _curves(found: Measured, numbers: Sequence[int]) -> tuple[Curve, ...]:
    """Errors by L, one block of curves for each selectivity."""
    curves = list[Curve]()
    for place, share in enumerate((0.001, 0.005, 0.01)):
        at = [f"{number}, ≥ {written(share, '%')}" for number in numbers]
        curves += [
            Curve.of(name, at, np.column_stack([one.errors[:, place] for one in rows]))
            for name, rows in found.items()
        ]
    return tuple(curves)


def _mean(found: Measured, name: str, place: int = 0) -> Floats:
    return np.array([one.mean[place] for one in found[name]])


def figure_2(asked: Asked) -> list[Figure]:
    """OCC: errors by L and by |T|."""
    found, numbers = by_number(read(asked.folder, source(OCC)), OCC, asked)
    pp, up, ana = (_mean(found, name) for name in (PP_PRINTED, UP, ANA_OLD))
    best = _mean(found, PP)
    moved = ana.max() / ana.min() - 1
    better = f"at L {', '.join(map(str, numbers))}: {listed(pp)}"
    upper = Figure(
        PAPER,
        "Figure 2, upper half",
        f"OCC: relative errors by L and selectivity, {asked.runs} runs",
        "L, selectivity",
        "mean relative error",
        _curves(found, numbers),
        (
            Said("PP is off by less than UP", f"{better}, UP {listed(up)}", bool((pp < up).all())),
            Said("PP is off by less than Ana", f"Ana {listed(ana)}", bool((pp < ana).all())),
            Said("PP gains from a smaller L", change(pp[0], pp[-1]), pp[-1] < pp[0]),
            Said("Ana changes little with L", f"by {signed(moved)}", moved < 0.3),
        ),
        f"Occupations hang together with the public columns, which Anatomy's answers do not "
        "see. Compared with "
        "UP at the same ρ1 the bound gains little or nothing; by the variance PP is off by "
        f"{listed(best)}.",
        unit="%",
        log=True,
        data=STAND_IN,
    )
    rows, sizes = by_size(OCC, 6, asked)
    return [upper, _by_size_figure("Figure 2, lower half", "OCC", 6, rows, sizes)]


def _by_size_figure(
    place: str, name: str, number: int, rows: Mapping[str, Floats], sizes: Sequence[str]
) -> Figure:
    pp, up, ana = (rows[one].mean(axis=0) for one in (PP_PRINTED, UP, ANA_OLD))
    said = [
        Said(
            "PP and UP are off by less the more records there are",
            f"PP {change(pp[0], pp[-1])}",
            bool(pp[-1] < pp[0] and up[-1] < up[0]),
        ),
        Said(
            "PP is off by less than Ana at every size",
            f"Ana {change(ana[0], ana[-1])}",
            bool((pp < ana).all()),
        ),
    ]
    if name == "OCC":
        said.append(
            Said(
                "PP is off by less than UP at every size",
                f"UP {change(up[0], up[-1])}",
                bool((pp < up).all()),
            )
        )
    return Figure(
        PAPER,
        place,
        f"{name}: relative errors by the number of records |T|, L = {number}, selectivity at least 0.1 %",
        "records",
        "mean relative error",
        tuple(Curve.of(one, sizes, found) for one, found in rows.items()),
        tuple(said),
        "Errors of UP and PP fall like 1/√|T|; those of Anatomy do not, they are no matter of chance.",
        unit="%",
        numeric=True,
        log=True,
        data=STAND_IN,
    )


def figure_3(asked: Asked) -> Figure:
    """OCC, L = 6: how far estimates are from the true answers, by the size of the answer."""
    groups = read(asked.folder, source(OCC))
    pool = crossed_queries(groups, seed=asked.seed)
    chosen = methods(groups, OCC[1], 6)
    edges = np.quantile(pool.answers, np.linspace(0, 1, 6))
    of = np.clip(np.searchsorted(edges, pool.answers, side="right") - 1, 0, 4)
    at = [f"{low:,.0f} to {high:,.0f}" for low, high in pairwise(edges.tolist())]
    rows, whole = dict[str, Floats](), dict[str, float]()
    for name in (UP, PP_PRINTED, PP, ANA_OLD):
        runs = [_offs(chosen[name], pool, asked, run) for run in range(max(2, asked.runs // 3))]
        rows[name] = np.array([[np.sqrt((off[of == part] ** 2).mean()) for part in range(5)] for off in runs])
        whole[name] = float(np.mean([np.sqrt((off**2).mean()) for off in runs]))
    best = min(whole, key=lambda name: whole[name])
    return Figure(
        PAPER,
        "Figure 3",
        f"OCC, L = 6: distance of estimates from true answers, {len(pool):,} queries of at least 0.1 %",
        "true answer",
        "root mean squared distance",
        tuple(Curve.of(name, at, found) for name, found in rows.items()),
        (
            Said(
                "PP is nearest to the diagonal, of UP, PP and Ana",
                ", ".join(f"{name} {distance:,.0f}" for name, distance in whole.items()),
                whole[PP_PRINTED] < min(whole[UP], whole[ANA_OLD]),
            ),
        ),
        f"Nearest here: {best}.",
        data=STAND_IN,
    )


def _offs(method: PublishingMethod, pool: QueryPool, asked: Asked, run: int) -> Floats:
    once = Asked(asked.data, asked.quick, 1, seed=asked.seed + run)
    return measured(method, pool, once).estimates - pool.answers


def figure_4(asked: Asked) -> list[Figure]:
    """EDU: errors by L and by |T|."""
    groups = read(asked.folder, source(EDU))
    found, numbers = by_number(groups, EDU, asked)
    pp, fair, ana = (_mean(found, name) for name in (PP_PRINTED, UP_FAIR, ANA_OLD))
    parts = [
        len(Partitioned(RhoPrivacy(EDU[1], 1 / n), cost="bound").partition(groups.totals, groups.domain))
        for n in numbers
    ]
    left = [1 - one.used for one in found[ANA_OLD]]
    upper = Figure(
        PAPER,
        "Figure 4, upper half",
        f"EDU: relative errors by L and selectivity, {asked.runs} runs",
        "L, selectivity",
        "mean relative error",
        _curves(found, numbers),
        (
            Said(
                "PP degenerates into UP",
                f"{', '.join(map(str, parts))} sub-tables",
                all(one == 1 for one in parts),
            ),
            Said(
                "Ana is off by far more than PP and UP",
                f"Ana {listed(ana)}, PP {listed(pp)}",
                bool((ana > 1.5 * np.maximum(pp, fair)).all()),
            ),
        ),
        f"Anatomy leaves out {listed(left)} of the records.",
        unit="%",
        log=True,
        data=STAND_IN,
    )
    rows, sizes = by_size(EDU, 10, asked)
    return [upper, _by_size_figure("Figure 4, lower half", "EDU", 10, rows, sizes)]


def figure_5(asked: Asked) -> Figure:
    """Core-seconds of each publication by the number of records."""
    sizes = asked.some(SIZES)
    rows: dict[str, list[list[float]]] = {UP: [], PP: [], ANA: [], ANA_OLD: []}
    for draw in range(max(2, asked.draws // 3)):
        each: dict[str, list[float]] = {name: [] for name in rows}
        for size in sizes:
            groups = resized(read(asked.folder, source(OCC)), int(size), seed=asked.seed + draw)
            for name, seconds in _timed(groups, asked.seed + draw).items():
                each[name].append(seconds)
        for name, found in each.items():
            rows[name].append(found)
    named = [f"{int(size):,}" for size in sizes]
    most = max(max(one) for one in rows[PP])
    return Figure(
        PAPER,
        "Figure 5",
        "OCC, L = 6: core-seconds by the number of records",
        "records",
        "core-seconds",
        tuple(Curve.of(name, named, found) for name, found in rows.items()),
        (
            Said("PP takes no more than 30 seconds", f"{most:.2f} at most", most <= 30),
            Said(
                "PP is comparable to Ana and UP",
                f"at the largest size UP {np.mean(rows[UP], axis=0)[-1]:.2f}, Ana "
                f"{np.mean(rows[ANA_OLD], axis=0)[-1]:.2f}",
                bool(
                    np.mean(rows[PP], axis=0)[-1]
                    < 10 * max(np.mean(rows[UP], axis=0)[-1], np.mean(rows[ANA_OLD], axis=0)[-1])
                ),
            ),
        ),
        "From counted records, without reading and writing; the machine is another.",
        numeric=True,
        log=True,
    )


def _timed(groups: Groups, seed: int) -> dict[str, float]:
    promise = RhoPrivacy(OCC[1], 1 / 6)

    def partitioned() -> None:
        found = Partitioned(promise).partition(groups.totals, groups.domain)
        list(perturb_partition(groups, found, seed=seed))

    work: dict[str, Callable[[], object]] = {
        UP: lambda: perturb(groups, promise.retention(len(groups.totals)), seed=seed),
        PP: partitioned,
        ANA: lambda: anatomize(groups, LDiversity(6), seed=seed),
        ANA_OLD: lambda: anatomize(groups, LDiversity(6), seed=seed, dealing="fullest"),
    }
    seconds = dict[str, float]()
    for name, one in work.items():
        started = time.process_time()
        one()
        seconds[name] = time.process_time() - started
    return seconds


FIGURES: dict[str, Callable[[Asked], Figure | list[Figure]]] = {
    **TABLES,
    "Figure 2": figure_2,
    "Figure 3": figure_3,
    "Figure 4": figure_4,
    "Figure 5": figure_5,
}
