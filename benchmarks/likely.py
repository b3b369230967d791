"""What is likely: calibration on held-out simulated blocks, coverage of intervals, and draws per second.

Every figure stands beside what it is compared with: a uniform prior and independent attributes, the nominal
coverage, and the limits that were set.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
from benchmarks.likely_pieces import Pieces, ask_block, print_asked, print_head, print_measure

import showthrough as st
from showthrough.census.blocks import PeopleTables, read_blocks
from showthrough.noise_law import NoiseLaw
from showthrough.tables.likely.certainty import ByDecider
from showthrough.tables.likely.chains import ChainPlan, first_worlds, run_chains
from showthrough.tables.likely.compiled import COMPILED
from showthrough.tables.likely.likely import statements_of
from showthrough.tables.likely.measure import add_noise
from showthrough.tables.likely.posterior import Posterior, agreeing, find_posterior
from showthrough.tables.run.batch import Area

#: Core-seconds that 1,000 effective draws of the slowest 5 % of claims may take, by number of homes.
LIMITS = {20: 1.0, 50: 3.0, 150: 40.0}


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="likely", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["quality", "coverage", "speed", "noise"])
    parser.add_argument("--blocks", type=int, default=60, help="held-out blocks (default: 60)")
    parser.add_argument("--homes", default="4-60", help="sizes of blocks (default: 4-60)")
    parser.add_argument("--models", default="bayes-nets,independent,uniform")
    parser.add_argument(
        "--laws", default="", help="of noise: those whose names contain one of these, apart by ;"
    )
    parser.add_argument("--sizes", default="20,50", help="sizes for speed (default: 20,50; 150 takes long)")
    parser.add_argument("--keep", type=Path, help="a folder that keeps pieces, for quality and noise")
    parser.add_argument("--piece", default="1/1", help="which piece to run, such as 3/10 (default: all)")
    given = parser.parse_args(arguments)
    pieces = Pieces(given.keep, *map(int, given.piece.split("/")))
    low, high = map(int, given.homes.split("-"))
    for part in given.parts:
        if part == "quality":
            quality(given.blocks, low, high, given.models.split(","), pieces)
        elif part == "findings":
            findings(given.blocks, low, high)
        elif part == "coverage":
            coverage(given.blocks)
        elif part == "foreign":
            foreign(given.blocks, pieces)
        elif part == "noise":
            noise(given.blocks, low, high, given.laws.split(";"), pieces)
        elif part == "speed":
            speed([int(size) for size in given.sizes.split(",")])
        elif part == "people":
            people()
        else:
            parser.error(f"no such part: {part}")
    return 0


def records(n_blocks: int, seed: int) -> st.Records:
    return st.Records.from_arrow(st.simulate_households(n_blocks, seed=seed), st.census_schema(), by="block")


def held_out(n: int, low: int, high: int) -> Iterator[tuple[st.Release, st.Records]]:
    """Blocks of a nation that no prior was fitted to, spread over the sizes."""
    layout = st.census_layout()
    fitting = [(name, one) for name, one in records(4000, 99).by_area() if low <= len(one) <= high]
    fitting.sort(key=lambda pair: (len(pair[1]), pair[0]))
    chosen = fitting[:: max(1, len(fitting) // n)][:n]
    return ((layout.tabulate(one, area=name), one) for name, one in chosen)


def quality(n: int, low: int, high: int, models: list[str], pieces: Pieces) -> None:
    """Brier score, calibration error and high probabilities, prior by prior, of the same claims."""
    fitted = records(3000, 5)
    blocks = list(enumerate(held_out(n, low, high)))
    print(f"{len(blocks)} held-out blocks of {low} to {high} homes; priors of {len(fitted):,} other homes")
    print_head()
    for model in models:
        began = time.process_time()
        fit = partial(st.fit_prior, fitted, model=model, name=model, seed=1)  # type: ignore[arg-type]
        prior = pieces.prior(model, fit)
        name = f"quality-{model}-{n}-{low}-{high}"
        print_asked(model, pieces.told(name, blocks, partial(ask_block, prior=prior, publish=_as_it_is)))
        print(f"  {time.process_time() - began:.0f} s")


def findings(n: int, low: int, high: int) -> None:
    """Findings about true homes as ``likely --calibrate`` measures them; chance as if each were alone."""
    prior = st.fit_prior(records(3000, 5), name="nets", seed=1)
    found = st.calibrate(prior, held_out(n, low, high), seed=1).calibration
    assert found is not None
    print_head()
    for what, one in (("findings", found.findings.raw), ("findings, out of fold", found.findings.corrected)):
        print_measure(what, found.n_areas, one, (one.ece_by_chance, float("nan")))


def _as_it_is(release: st.Release) -> st.Release:
    return release


REAL = st.Schema.of(
    {
        "size": ["1", "2", "3", "4", "5", "6", "7"],
        "type": [str(code) for code in range(1, 8)],
        "under18": ["0", "1"],
        "over60": ["0", "1"],
        "over65": ["0", "1"],
        "cars": ["0", "1", "2", "3", "4"],
    },
    rules=[st.Rule("over65=1", "over60=1")],
    record="home",
)

#: With tables of pairs little is left to the prior, with single columns most.
REAL_TABLES = {
    "pairs": ("size*under18", "type*over65", "size*over60", "under18*cars", "type*cars"),
    "single columns": ("size", "type", "under18", "over60", "over65", "cars"),
}

#: Two regions: a file, and the columns that say the same as those of the schema.
REGIONS = {
    "Michigan": (
        "semcog_households.parquet",
        ("hhsize", "hht", "under18", "over60", "over65", "vehicles"),
    ),
    "Oregon": ("calm_households_assembled.parquet", ("NP", "HHT", "R18", "R60", "R65", "VEH")),
}


def _real(file: str, columns: tuple[str, ...]) -> st.Records:
    """Real households of some region, with planning zones for areas."""
    table = pq.read_table(Path(os.environ["SHOWTHROUGH_DATA"]) / file, columns=["block", *columns])
    values = [np.nan_to_num(table[name].to_numpy(zero_copy_only=False).astype(float)) for name in columns]
    size, kind, under18, over60, over65, cars = (value.astype(int) for value in values)
    codes = np.column_stack([
        size.clip(1, 7) - 1, kind.clip(1, 7) - 1, under18 > 0, (over60 > 0) | (over65 > 0), over65 > 0,
        cars.clip(0, 4),
    ]).astype(np.int64)  # fmt: skip
    return st.Records(
        REAL, codes, np.array(table["block"].to_pylist(), dtype=object).astype(str).astype(object)
    )


def foreign(n: int, pieces: Pieces) -> None:
    """Real households: the prior of their own region (other zones), and that of another state, both ways."""
    if "SHOWTHROUGH_DATA" not in os.environ:
        print("foreign: set SHOWTHROUGH_DATA to the folder with semcog_households.parquet")
        return
    regions = {name: _real(*where) for name, where in REGIONS.items()}
    print(f"about {n} real zones of 5 to 40 homes, 6 columns; claims")
    print_head()
    for name, here in regions.items():
        zones = [(zone, one) for zone, one in here.by_area() if 5 <= len(one) <= 40]
        asked = zones[:: max(1, len(zones) // n)][:n]
        names = {zone for zone, _ in asked}
        others = np.array([area not in names for area in (here.areas if here.areas is not None else ())])
        given = {region: one for region, one in regions.items() if region != name}
        given = {"own region": st.Records(REAL, here.codes[others])} | given
        priors = {prior: st.fit_prior(one, name=prior, seed=1) for prior, one in given.items()}
        for tables, formulas in REAL_TABLES.items():
            layout = st.Layout(REAL, tuple(st.make_table(REAL, formula) for formula in formulas))
            blocks = [(at, (layout.tabulate(one, area=zone), one)) for at, (zone, one) in enumerate(asked)]
            for prior, fitted in priors.items():
                file = f"foreign-{name}-{tables}-{prior}-{n}".replace(" ", "-")
                found = pieces.told(file, blocks, partial(ask_block, prior=fitted, publish=_as_it_is))
                print_asked(f"{name}, {tables}, {prior}", found)


#: Cell keys that change counts by at most 2, zeros kept; the chances are those of a common ptable's shape.
CELL_KEYS = st.TransitionTable(
    ((0,), (-1, 0, 1, 2), (-2, -1, 0, 1, 2)),
    ((1.0,), (0.3, 0.45, 0.2, 0.05), (0.05, 0.2, 0.5, 0.2, 0.05)),
)

NOISES: dict[str, NoiseLaw | None] = {
    "exact": None,
    "cell keys, at most 2": CELL_KEYS,
    "random rounding to 3": st.RandomRounding(3),
    "discrete Gaussian, scale 1": st.DiscreteGaussian(1),
    "discrete Gaussian, scale 2": st.DiscreteGaussian(2),
    "scale 1,000: the prior alone": st.DiscreteGaussian(1000),
}


def noise(n: int, low: int, high: int, laws: list[str], pieces: Pieces) -> None:
    """What noise leaves of what is likely: the same claims, whatever is published."""
    prior = pieces.prior("nets", lambda: st.fit_prior(records(3000, 5), name="nets", seed=1))
    blocks = list(enumerate(held_out(n, low, high)))
    print(f"{len(blocks)} blocks of {low} to {high} homes, {len(blocks[0][1][0].low)} cells, homes known")
    print_head()
    for name, law in NOISES.items():
        if not any(one in name for one in laws):
            continue
        began = time.process_time()
        ask = partial(ask_block, prior=prior, publish=partial(_published, law=law))
        file = f"noise-{'-'.join(name.replace(',', '').split())}-{n}-{low}-{high}"
        print_asked(name, pieces.told(file, blocks, ask))
        print(f"    {time.process_time() - began:.0f} s", flush=True)


def _published(release: st.Release, law: NoiseLaw | None) -> st.Release:
    return release if law is None else add_noise(release, law, keep=_is_total, seed=1)


def _is_total(table: st.Table) -> bool:
    """Tables that stay as they are: the number of homes."""
    return len(table.cells) == 1


def coverage(n: int) -> None:
    """How often intervals of short chains hold the exact probability of listed datasets."""
    prior = st.fit_prior(records(700, 5), name="nets", seed=1)
    rows: dict[int, list[float]] = {4: [], 8: []}
    for number, (release, _) in enumerate(held_out(n, 6, 14)):
        exact = find_posterior(release, prior)
        if not exact.exact or exact.n_records < 4:
            continue
        masks, counts, true = _events(exact)
        decider, space = agreeing(release, prior, effort=1, seed=0)
        starts = [space.classes_of(one) for one in first_worlds(decider, 8, seed=1)]
        for chains in rows:
            for seed in range(4):  # of the same events, with sampling errors of their own
                plan = ChainPlan(chains, 60, 10, 5, 0)
                draws = run_chains(space, starts[:chains], plan, seed=1000 * number + seed)
                found = replace(exact, draws=draws, listed=None).claims(masks, counts)
                rows[chains] += ((found.low <= true) & (true <= found.high)).tolist()
    for chains, covered in rows.items():
        print(
            f"coverage of 95 % intervals, {chains} chains: {np.mean(covered):.3f} of {len(covered):,} events"
        )


def _events(exact: Posterior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some claims of a drawn dataset that are neither nearly certain nor nearly impossible."""
    rng = np.random.default_rng(3)
    codes = exact.universe.codes
    masks, counts = [], []
    for _ in range(60):
        draw = exact.draws[0, rng.integers(exact.draws.shape[1])]
        columns = rng.choice(codes.shape[1], int(rng.integers(1, 4)), replace=False)
        mask = (codes[:, columns] == codes[rng.choice(draw)][columns]).all(axis=1)
        masks.append(mask)
        counts.append(int(mask[draw].sum()))
    true = exact.claims(np.array(masks), np.array(counts)).mean
    some = (true > 0.05) & (true < 0.95)
    return np.array(masks)[some], np.array(counts)[some], true[some]


def speed(sizes: list[int]) -> None:
    """Core-seconds for 1,000 effective draws of the slowest 5 % of claims."""
    prior = st.fit_prior(records(700, 5), name="nets", seed=1)
    print(f"compiled: {COMPILED}")
    heads = ("homes", "first", "chains", "slowest", "R-hat", "s/1000", "limit", "ratio")
    print(" ".join(f"{head:>7}" for head in heads))
    for size in sizes:
        for release, _ in held_out(3, size, size + max(1, size // 20)):
            _speed(release, prior, size)


def people() -> None:
    """The same for blocks of about 50 people."""
    with TemporaryDirectory() as folder:
        areas = list[list[Area]]()
        for seed in (5, 99):
            path = Path(folder) / f"{seed}.parquet"
            st.write_people(path, 300, seed=seed)
            areas.append(list(read_blocks(path, tables=PeopleTables()).areas()))
    codes = [area.truth.codes for area in areas[0] if area.truth is not None]
    nation = st.Records(areas[0][0].release.schema, np.concatenate(codes))
    prior = st.fit_prior(nation, name="nets", seed=1)
    near = [area for area in areas[1] if area.truth is not None and 47 <= len(area.truth) <= 53]
    for area in near[:3]:
        _speed(area.release, prior, 50)


def _speed(release: st.Release, prior: st.Prior, size: int) -> None:
    plan = ChainPlan(worlds=0)
    decider, space = agreeing(release, prior, effort=1, seed=0)
    began = time.process_time()
    starts = [space.classes_of(one) for one in first_worlds(decider, plan.chains, seed=1)]
    first = time.process_time() - began
    run_chains(space, starts[:1], ChainPlan(1, 2, 1, 1, 0), seed=1)  # compiled now
    began = time.process_time()
    draws = run_chains(space, starts, plan, seed=1)
    chains = time.process_time() - began
    sampled = Posterior(release, prior, decider.system.universe, draws, ByDecider(decider))
    found = statements_of(sampled, least=0.5, max_columns=2)
    ess = np.array([one.ess for one in found.statements if one.ess is not None and one.q < 0.999])
    slowest = float(np.quantile(ess, 0.05)) if len(ess) else float(draws.shape[0] * draws.shape[1])
    worst = max((one.rhat for one in found.statements), default=1.0)
    seconds = 1000 * chains / slowest
    limit = LIMITS.get(size, float("nan"))
    print(
        f"{sampled.n_records:7} {first:7.2f} {chains:7.2f} {slowest:7.0f} {worst:7.3f} {seconds:7.2f} "
        f"{limit:7.1f} {seconds / limit:7.2f}   withheld {found.n_withheld}",
        flush=True,
    )
