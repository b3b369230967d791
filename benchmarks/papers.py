"""What the papers on publishing report, beside what comes out here, on real data (``--data``).

Needs a folder with ``adult.parquet`` (the UCI census income data) and ``acs2018_workers.parquet`` (the
American Community Survey 2018), named by ``--data`` or SHOWTHROUGH_DATA. In five parts:

* ``ratios``: noisy answers and the ratios they give away (Reconstruction privacy, Table 1);
* ``merging``: public values merged by χ² tests, and the groups that are left (Tables 4 and 5);
* ``violations``: groups and records that violate reconstruction privacy, by p, λ and δ (Figures 2, 4);
* ``sampled``: the errors of uniform and sampled publications, by p, λ and δ (Figures 3, 5);
* ``partitioned``: retentions and errors of uniform, partitioned and anatomy, by L (Small domain
  randomization, Table 2, Figures 2 and 4).

Figures that the papers only draw have no numbers to compare with. Where a claim does not come true
here, a line says so. Nothing is asserted; the exit code is 2 if the data are missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.paper_data import ADULT, CENSUS, measured, merged, percent, read, table, with_error
from benchmarks.parts import Parts
from benchmarks.small_domain_paper import run_partitioned

from showthrough.microdata.methods import vary
from showthrough.microdata.queries import QueryPool, single_queries
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.numbers.noise import LaplaceNoise
from showthrough.numbers.ratio import ratio_attack

DEFAULT = ReconstructionPrivacy(0.3, 0.3)
KEPT = 0.5
BANDED = Sampled(DEFAULT, KEPT, "chernoff", trials="banded")

#: The sweeps of the first paper, its Table 6.
SWEEPS = {
    "retention": (0.1, 0.3, 0.5, 0.7, 0.9),
    "error": (0.1, 0.2, 0.3, 0.4, 0.5),
    "chance": (0.1, 0.2, 0.3, 0.4, 0.5),
}
SYMBOLS = {"retention": "p", "error": "λ", "chance": "δ"}


def run_ratios(options: argparse.Namespace) -> None:
    """Two noisy answers about one group: how far each is off, and what their ratio says."""
    print("501 people with the same public values, 420 of them with an income over 50K; Laplace noise")
    printed = {4: (0.0262, 0.0700), 20: (0.0693, 0.1022), 200: (0.615, 0.570)}
    rows = [
        (
            "scale b",
            "off by (x)",
            "printed",
            "off by (y)",
            "printed",
            "ratio: median",
            "95 % between",
            "X ≤ 0",
        )
    ]
    for scale, theirs in printed.items():
        attack = ratio_attack(501, 420, LaplaceNoise(scale))
        off = np.abs(attack.simulate(options.draws, seed=options.seed) / [501, 420] - 1).mean(axis=0)
        low, middle, high = attack.quantiles([0.025, 0.5, 0.975])
        rows.append(
            (
                str(scale),
                percent(off[0], 2),
                percent(theirs[0], 2),
                percent(off[1], 2),
                percent(theirs[1], 2),
                f"{middle:.3f}",
                f"{low:.3f} and {high:.3f}",
                percent(attack.no_answer, 2),
            )
        )
    table(rows)
    print("  The printed errors do not follow from the paper's noise; those on the left do (b/x and b/y).\n")


def run_merging(options: argparse.Namespace) -> None:
    """Domains before and after, and how many groups there are."""
    for name, source, printed in (
        ("ADULT", ADULT, "16 14 5 2 → 7 4 2 2, |G| 2,240 → 112"),
        ("ACS (the paper: CENSUS)", CENSUS, "77 2 14 6 9 → 1 2 14 6 9, |G| 116,424 → 1,512"),
    ):
        groups, found = read(options.data, *source), merged(options.data, *source)
        before, after = ([size[at] for size in found.sizes.values()] for at in (0, 1))
        print(f"{name}: {groups.records:,} records; public {', '.join(source[1])}; sensitive {source[2]}")
        print(f"  the paper: {printed}")
        print(
            f"  here:      {' '.join(map(str, before))} → {' '.join(map(str, after))}, |G| "
            f"{int(np.prod(before)):,} → {int(np.prod(after)):,}; groups with records {len(groups):,} → "
            f"{len(found.groups):,}\n"
        )


def run_violations(options: argparse.Namespace) -> None:
    """v_g and v_r by both bounds."""
    for name, source, printed in (
        ("ADULT", ADULT, "at p .5, λ .3, δ .3 the paper says 85 % of groups and over 99 % of records"),
        ("ACS", CENSUS, "the paper's CENSUS: no numbers, few groups with most records"),
    ):
        groups = merged(options.data, *source).groups
        print(f"{name}, {len(groups):,} merged groups; {printed}")
        rows = [("", "v_g, s_g", "v_r, s_g", "v_g, exact", "v_r, exact")]
        for parameter, values in SWEEPS.items():
            for value in values:
                method = vary(BANDED, parameter, value)
                if not isinstance(method, Sampled):
                    continue
                check = method.promise.check(groups, retention=method.retention or KEPT)
                rates = [
                    percent(rate(bound))
                    for bound in ("chernoff", "exact")
                    for rate in (check.group_rate, check.record_rate)
                ]
                rows.append((f"{SYMBOLS[parameter]} {value}", *rates))
        table(rows)


def sampled_pool(source: tuple[str, tuple[str, ...], str], options: argparse.Namespace) -> QueryPool:
    """Random queries over original values, asked about merged ones."""
    groups, found = read(options.data, *source), merged(options.data, *source)
    return single_queries(groups, seed=options.seed, number=options.queries, merged=found)


def run_sampled(options: argparse.Namespace) -> None:
    """Uniform against sampled; the cost is how much larger the error is."""
    for name, source, claim, printed in (
        ("ADULT", ADULT, 0.5, "at most about 50 % more error"),
        ("ACS (the paper: CENSUS)", CENSUS, 0.1, "under 10 % more for most settings"),
    ):
        pool = sampled_pool(source, options)
        print(f"{name}: {len(pool):,} queries of at least 0.1 %, {options.runs} runs; the paper: {printed}")
        rows = [("", "uniform", "sampled", "cost", "sampled, s_g as it is", "cost", "records drawn from")]
        costs = list[float]()
        for parameter, values in SWEEPS.items():
            for value in values[:: 2 if options.quick else 1]:
                line, cost = _sampled_row(parameter, value, pool, options)
                rows.append(line)
                costs.append(cost)
        table(rows)
        strict = measured(Sampled(DEFAULT, KEPT, trials="banded"), pool, options)
        print(f"  By exact tails, at the defaults: {with_error(strict)} ({strict.used:.1%} drawn from).")
        kept = measured(Sampled(DEFAULT), pool, options)
        print(
            f"  Valid at every frequency: {with_error(kept)} ({kept.used:.1%} drawn, {kept.retention:.3g})."
        )
        over = sum(cost > claim for cost in costs)
        said = "as the paper says" if not over else f"NOT as the paper says in {over} of {len(costs)}"
        print(f"  With s_g as it is, sampling costs {min(costs):+.0%} to {max(costs):+.0%}: {said}.\n")


def _sampled_row(
    parameter: str, value: float, pool: QueryPool, options: argparse.Namespace
) -> tuple[tuple[str, ...], float]:
    methods = UniformPerturbation(KEPT), BANDED, Sampled(DEFAULT, KEPT, "chernoff", trials="printed")
    uniform, banded, plain = (
        measured(vary(method, parameter, value) or method, pool, options) for method in methods
    )
    costs = [float(found.mean[0] / uniform.mean[0] - 1) for found in (banded, plain)]
    line = (
        f"{SYMBOLS[parameter]} {value}",
        with_error(uniform),
        with_error(banded),
        f"{costs[0]:+.0%}",
        with_error(plain),
        f"{costs[1]:+.0%}",
        f"{banded.used:.0%}, {plain.used:.0%}",
    )
    return line, costs[1]


RUN: dict[str, Callable[[argparse.Namespace], None]] = {
    "ratios": run_ratios,
    "merging": run_merging,
    "violations": run_violations,
    "sampled": run_sampled,
    "partitioned": run_partitioned,
}


def main(arguments: list[str]) -> int:
    """Run the parts asked for."""
    parser = Parts("papers", list(RUN), about=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("SHOWTHROUGH_DATA"))
    parser.add_argument("--quick", action="store_true", help="fewer runs and settings")
    parser.add_argument("--runs", type=int, default=None, help="runs of each method (default: 10)")
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--draws", type=int, default=200_000, help="simulated answers, for ratios")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.read(arguments)
    options.runs = options.runs or (3 if options.quick else 10)
    if problem := missing(options.data, options.parts):
        print(problem, file=sys.stderr)
        return 2
    for part in options.parts:
        print(f"== {part} ==", flush=True)
        RUN[part](options)
    return 0


def missing(folder: Path | str | None, parts: Sequence[str]) -> str | None:
    """What is wrong with the data folder, if anything is."""
    if parts == ["ratios"]:
        return None
    if folder is None:
        return "the data are missing: name their folder with --data or SHOWTHROUGH_DATA"
    for file in (ADULT[0], CENSUS[0]):
        if not Path(folder, file).is_file():
            return f"{folder}: there is no {file}; name the folder that holds it with --data"
    return None
