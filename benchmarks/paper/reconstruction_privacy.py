"""Paper 001, Reconstruction Privacy: noisy ratios, merged values, limits of group sizes, and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from benchmarks.paper.data import (
    ADULT,
    CENSUS,
    SIZES,
    STAND_IN,
    Asked,
    merge,
    merged,
    queries,
    read,
    resized,
)
from benchmarks.paper.figure import Curve, Figure, Said, change, signed, written
from benchmarks.paper.ratios import correlated_answers, table_1, table_2
from benchmarks.paper.sps_cost import PRINTED_SPS, sps_cost

from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import PublishingMethod, vary
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import measure
from showthrough.microdata.violations import Bound

PAPER = "001"
PROMISE = ReconstructionPrivacy(0.3, 0.3)
KEPT = 0.5
BANDED = Sampled(PROMISE, KEPT, "chernoff", trials="banded")

#: The sweeps of Table 6, with the symbols of the paper.
SWEEPS: dict[str, tuple[str, tuple[float, ...]]] = {
    "retention": ("p", (0.1, 0.3, 0.5, 0.7, 0.9)),
    "error": ("λ", (0.1, 0.2, 0.3, 0.4, 0.5)),
    "chance": ("δ", (0.1, 0.2, 0.3, 0.4, 0.5)),
}


def tables_4_and_5(asked: Asked) -> list[Figure]:
    """Domains before and after merging, and how many groups there are."""
    found = list[Figure]()
    for place, name, source, before, after, numbers in (
        ("Table 4", "ADULT", ADULT, (16, 14, 5, 2), (7, 4, 2, 2), (2_240, 112)),
        ("Table 5", "CENSUS", CENSUS, (77, 2, 14, 6, 9), (1, 2, 14, 6, 9), (116_424, 1_512)),
    ):
        groups, one = read(asked.folder, source), merged(asked.folder, source)
        sizes = list(one.sizes.values())
        at = (*source[1], "|G|", "with records")
        first = [size[0] for size in sizes]
        last = [size[1] for size in sizes]
        cells = int(np.prod(first)), int(np.prod(last))
        here = (
            Curve.of("before", at, [*first, cells[0], len(groups)], [*before, numbers[0], None]),
            Curve.of("after", at, [*last, cells[1], len(one.groups)], [*after, numbers[1], None]),
        )
        same = tuple(last) == after
        each = [groups.records / number for number in (len(one.groups), cells[1])]
        records = f"{each[0]:,.0f} records in a group that has any, {each[1]:,.0f} by |G|"
        found.append(
            Figure(
                PAPER,
                place,
                f"Public values merged on {name}",
                "column",
                "values, and groups",
                here,
                (
                    Said(
                        f"{' '.join(map(str, after))}, |G| {numbers[1]:,}",
                        f"{' '.join(map(str, last))}, |G| {cells[1]:,}",
                        same,
                    ),
                ),
                ("" if same else "The survey's columns have other values. ")
                + "The paper counts cells of the product of domains as groups, empty ones too.",
                (f"{len(one.groups):,} of {cells[1]:,} cells have records: {records}.",),
                log=True,
                data="" if same else STAND_IN,
            )
        )
    return found


def figure_1(asked: Asked) -> Figure:
    """The largest allowed group by the largest frequency."""
    del asked
    curves = list[Curve]()
    for values, low in ((2, 0.5), (50, 0.1)):
        frequencies = np.round(np.arange(low, 0.91, 0.1), 1)
        for kept in SWEEPS["retention"][1]:
            limit = PROMISE.largest_group(frequencies, kept, values, bound="chernoff")
            curves.append(Curve.of(f"m = {values}, p = {kept}", frequencies, limit))
        exact = PROMISE.largest_group(frequencies, KEPT, values)
        curves.append(Curve.of(f"m = {values}, p = {KEPT}, exact tails", frequencies, exact))
    printed = [np.array(curve.mean) for curve in curves if "exact" not in curve.name]
    falls = all((np.diff(one) < 0).all() for one in printed)
    many = np.array(next(curve.mean for curve in curves if curve.name == "m = 50, p = 0.5"))
    steep = many[0] / many[2], many[-3] / many[-1]
    return Figure(
        PAPER,
        "Figure 1",
        "The limit s_g of a group by the largest frequency f (λ = δ = 0.3)",
        "f",
        "records",
        tuple(curves),
        (
            Said("s_g falls as f grows", "on every curve" if falls else "not on every curve", falls),
            Said(
                "f dominates where it is small, f ≤ 0.3",
                f"from 0.1 to 0.3 s_g falls {steep[0]:.1f} times, from 0.7 to 0.9 {steep[1]:.1f} times",
                bool(steep[0] > 2 * steep[1]),
            ),
        ),
        "The curves follow from the formula. By exact tails the promise allows groups of a few records only.",
        log=True,
    )


def violated(groups: Groups, method: Sampled, bound: Bound = "chernoff") -> tuple[float, float]:
    """The shares of groups and of records that violate the promise of a method."""
    check = method.promise.check(groups, retention=method.retention or KEPT)
    return check.group_rate(bound), check.record_rate(bound)


def figures_2_and_4(asked: Asked) -> list[Figure]:
    """Violations by p, λ and δ."""
    adult, census = (merged(asked.folder, source).groups for source in (ADULT, CENSUS))
    at_default = {name: violated(groups, BANDED) for name, groups in (("ADULT", adult), ("CENSUS", census))}
    (g, r), (census_g, census_r) = at_default.values()
    return [
        Figure(
            PAPER,
            "Figure 2",
            "ADULT: groups (v_g) and records (v_r) that violate the promise after uniform perturbation",
            "setting",
            "share that violates",
            _violation_curves(adult),
            (
                Said("85 % of groups at the defaults", written(g, "%"), abs(g - 0.85) < 0.05),
                Said("more than 99 % of records at the defaults", written(r, "%"), r > 0.99),
            ),
            "Recomputed as described, over the groups that have records. Counting empty cells as well "
            "makes the share of "
            "groups smaller still.",
            unit="%",
        ),
        Figure(
            PAPER,
            "Figure 4a–c",
            "CENSUS: groups (v_g) and records (v_r) that violate the promise after uniform perturbation",
            "setting",
            "share that violates",
            _violation_curves(census),
            (
                Said(
                    "v_g is much smaller than on ADULT",
                    f"{written(census_g, '%')} against {written(g, '%')}",
                    census_g < g / 2,
                ),
                Said(
                    "few groups hold most records",
                    f"{written(census_g, '%')} of groups hold {written(census_r, '%')}",
                    census_r > 0.5 > 5 * census_g,
                ),
            ),
            "",
            unit="%",
            data=STAND_IN,
        ),
    ]


def _violation_curves(groups: Groups) -> tuple[Curve, ...]:
    curves = list[Curve]()
    for parameter, (symbol, values) in SWEEPS.items():
        at = [f"{symbol} {value}" for value in values]
        methods = [vary(BANDED, parameter, value) for value in values]
        bounds: tuple[tuple[Bound, str], ...] = (("chernoff", "s_g"), ("exact", "exact"))
        for bound, title in bounds:
            rates = [violated(groups, one, bound) for one in methods if isinstance(one, Sampled)]
            curves += [
                Curve.of(f"{name}, {title}", at, [rate[place] for rate in rates])
                for place, name in enumerate(("v_g", "v_r"))
            ]
    return tuple(curves)


def figures_3_and_5(asked: Asked) -> list[Figure]:
    """Errors of uniform and sampled publications by p, λ and δ."""
    found = list[Figure]()
    for place, name, source, claim, said in (
        ("Figure 3", "ADULT", ADULT, 0.5, "the error grows by about 50 % in the worst case"),
        ("Figure 5a–c", "CENSUS", CENSUS, 0.1, "less than 10 % more for most settings"),
    ):
        pool = queries(read(asked.folder, source), merged(asked.folder, source), asked)
        curves, costs = _error_curves(pool, asked)
        held = float(np.mean(np.array(costs) <= 1.1 * claim))
        worst = held == 1 if name == "ADULT" else held > 0.5
        kept = measure(Sampled(PROMISE), pool, seed=asked.seed, runs=asked.runs)
        found.append(
            Figure(
                PAPER,
                place,
                f"{name}: relative errors of uniform perturbation (UP) and SPS, {len(pool):,} queries, "
                f"{asked.runs} runs",
                "setting",
                "mean relative error",
                curves,
                (
                    Said(
                        said,
                        f"{signed(min(costs))} to {signed(max(costs))}; as said in {written(held, '%')} of "
                        "settings",
                        worst,
                    ),
                ),
                "The cost follows from sizes of groups: see the cost of SPS below. The printed cost fits "
                "groups over values "
                "that were not merged.",
                (
                    "A number of trials that is valid at every frequency, which is what publish uses, is "
                    "off by "
                    f"{written(kept.mean[0], '%')}.",
                ),
                unit="%",
                log=True,
                data="" if name == "ADULT" else STAND_IN,
            )
        )
    return found


def _error_curves(pool: QueryPool, asked: Asked) -> tuple[tuple[Curve, ...], list[float]]:
    """UP, SPS as printed, and SPS by bands; and what SPS as printed costs at each setting."""
    methods: dict[str, PublishingMethod] = {
        "UP": UniformPerturbation(KEPT),
        "SPS": PRINTED_SPS,
        "SPS, banded": BANDED,
    }
    curves, costs = list[Curve](), list[float]()
    for parameter, (symbol, values) in SWEEPS.items():
        values = asked.some(values)
        at = [f"{symbol} {value}" for value in values]
        errors = {name: _swept(method, parameter, values, pool, asked) for name, method in methods.items()}
        curves += [Curve.of(name, at, one) for name, one in errors.items()]
        costs += (errors["SPS"].mean(axis=0) / errors["UP"].mean(axis=0) - 1).tolist()
    return tuple(curves), costs


def _swept(
    method: PublishingMethod, parameter: str, values: Sequence[float], pool: QueryPool, asked: Asked
) -> np.ndarray:
    """The errors of a method over runs (rows) at each value of a parameter."""
    varied = [vary(method, parameter, value) or method for value in values]
    return np.column_stack(
        [measure(one, pool, seed=asked.seed, runs=asked.runs).errors[:, 0] for one in varied]
    )


def figures_4d_and_5d(asked: Asked) -> list[Figure]:
    """Violations and errors by the number of records."""
    sizes = asked.some(SIZES)
    several = 2 if asked.quick else 3
    rates, errors, once = (np.zeros((2, several, len(sizes))) for _ in range(3))
    whole = merged(asked.folder, CENSUS).groups
    for draw in range(several):
        for at, size in enumerate(sizes):
            groups = resized(read(asked.folder, CENSUS), int(size), seed=asked.seed + draw)
            one = merge(groups)
            rates[:, draw, at] = violated(one.groups, BANDED)
            once[:, draw, at] = violated(resized(whole, int(size), seed=asked.seed + draw), BANDED)
            pool = queries(groups, one, asked)
            for place, method in enumerate((UniformPerturbation(KEPT), PRINTED_SPS)):
                found = measure(method, pool, seed=asked.seed + draw, runs=max(2, asked.runs // 3))
                errors[place, draw, at] = found.mean[0]
    named = [f"{int(size):,}" for size in sizes]
    (g, r), (once_g, once_r) = rates.mean(axis=1), once.mean(axis=1)
    up, sps = errors.mean(axis=1)
    return [
        Figure(
            PAPER,
            "Figure 4d",
            "CENSUS: violations by the number of records |D|",
            "records",
            "share that violates",
            (
                Curve.of("v_g, merged at each size", named, rates[0]),
                Curve.of("v_r, merged at each size", named, rates[1]),
                Curve.of("v_g, merged once", named, once[0]),
                Curve.of("v_r, merged once", named, once[1]),
            ),
            (
                Said(
                    "more records, more violations (values merged once)",
                    f"v_g {change(once_g[0], once_g[-1])}, v_r {change(once_r[0], once_r[-1])}",
                    once_g[-1] > once_g[0] and once_r[-1] > once_r[0],
                ),
                Said(
                    "the same, values merged at each size",
                    f"v_g {change(g[0], g[-1])}, v_r {change(r[0], r[-1])}",
                    g[-1] > g[0] and r[-1] > r[0],
                ),
            ),
            "Larger groups violate more. But with more records the tests that merge values "
            "tell more of them apart, so groups become smaller, which outweighs it.",
            unit="%",
            numeric=True,
            data=STAND_IN,
        ),
        Figure(
            PAPER,
            "Figure 5d",
            "CENSUS: relative errors by the number of records |D|",
            "records",
            "mean relative error",
            (Curve.of("UP", named, errors[0]), Curve.of("SPS", named, errors[1])),
            (
                Said("the error of UP falls with |D|", change(up[0], up[-1]), bool(up[-1] < up[0])),
                Said("the error of SPS falls with |D|", change(sps[0], sps[-1]), bool(sps[-1] < sps[0])),
                Said(
                    "SPS costs less than 10 % more",
                    f"{signed(sps[0] / up[0] - 1)} → {signed(sps[-1] / up[-1] - 1)}",
                    bool((sps / up - 1 < 0.11).all()),
                ),
            ),
            "Groups above their limit have the same number of trials however large they are, "
            "so more records "
            "do not help SPS as they help UP: its cost grows.",
            unit="%",
            numeric=True,
            data=STAND_IN,
        ),
    ]


FIGURES: dict[str, Callable[[Asked], Figure | list[Figure]]] = {
    "Table 1": table_1,
    "Table 2": table_2,
    "Lemma 1": correlated_answers,
    "Tables 4 and 5": tables_4_and_5,
    "Figure 1": figure_1,
    "Figures 2 and 4": figures_2_and_4,
    "Figures 3 and 5": figures_3_and_5,
    "Figures 4d and 5d": figures_4d_and_5d,
    "cost of SPS": sps_cost,
}
