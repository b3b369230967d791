"""Nested areas: random ones against all datasets, a tract against one solver call per claim, and its time."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, csr_array, vstack

from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.tables.linked.audit import audit_nest
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import Terms
from showthrough.tables.result import Audit

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

#: Where the age groups of block tables start.
STARTS = (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)
YEARS = 103


def made_up_tract(n_blocks: int, n_people: int, *, seed: int = 0) -> tuple[Nest, dict[str, Records]]:
    """People in blocks: tables by age group for each block, by single years for the tract."""
    rng = np.random.default_rng(seed)
    years = [str(age) for age in range(YEARS)]
    ends = (*STARTS[1:], YEARS)
    bins = {"age": {f"{a}-{b - 1}": years[a:b] for a, b in zip(STARTS, ends, strict=True)}}
    values = {"sex": ["f", "m"], "age": years, "race": list("WBIAPOT"), "hispanic": ["no", "yes"]}
    schema = Schema.of(values, record="person")
    block = [
        make_table(schema, "total", name="P1"),
        make_table(schema, "race", name="P8"),
        make_table(schema, "race*hispanic", name="P9"),
        make_table(schema, "sex*age", name="P12", groups=bins),
        make_table(schema, "sex*age*race", name="P12A-G", groups=bins),
        make_table(schema, "sex*age*hispanic", name="P12H", groups=bins),
        make_table(schema, "sex*age", name="P14", where={"age": years[:20]}),
    ]
    formulas = {"PCT12": "sex*age", "PCT12A-G": "sex*age*race", "PCT12H": "sex*age*hispanic"}
    layout = Layout(schema, (*block, *(make_table(schema, f, name=n) for n, f in formulas.items())))
    n_own = sum(len(table.cells) for table in block)
    truth = dict(_people(rng, n_blocks, n_people, schema))
    counts = {name: layout.count(people.codes) for name, people in truth.items()}
    total = np.sum(list(counts.values()), axis=0)
    parts = [_own(layout, name, count, n_own) for name, count in counts.items()]
    return Nest(Release(layout, total, total, "tract"), tuple(parts)), truth


def _people(
    rng: np.random.Generator, n_blocks: int, n_people: int, schema: Schema
) -> list[tuple[str, Records]]:
    sizes = rng.multinomial(n_people, rng.dirichlet(np.ones(n_blocks)))
    mix = rng.dirichlet([8, 2, 0.2, 1.5, 0.05, 1, 0.8])
    found: list[tuple[str, Records]] = []
    for number, size in enumerate(sizes.tolist()):
        ages = np.minimum(YEARS - 1, (rng.beta(1.2, 1.8, size) * YEARS).astype(int))
        race = rng.choice(7, size, p=rng.dirichlet(20 * mix))
        hispanic = rng.random(size) < 0.2
        codes = np.stack([rng.integers(0, 2, size), ages, race, hispanic], axis=1).astype(np.uint16)
        found.append((f"b{number:03d}", Records(schema, codes)))
    return found


def _own(layout: Layout, name: str, counts: NDArray[np.int64], n_own: int) -> Release:
    low, high = counts.copy(), counts.copy()
    low[n_own:], high[n_own:] = 0, UNBOUNDED
    return Release(layout, low, high, name)


class PlainModel:
    """The nest as one integer program: a variable for each record type of each part, a row for each cell.

    It shares no code with the audit. Types in a cell published as 0 are left out.
    """

    def __init__(self, nest: Nest) -> None:
        sizes = [len(attribute.values) for attribute in nest.whole.schema.attributes]
        self.codes = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)
        self.schema = nest.whole.schema
        member = np.array([self.matches(one.selection.terms) for one in nest.whole.cells])
        self.kept: list[NDArray[np.int64]] = []
        for own in nest.parts:
            gone = member[(own.high == 0) | (nest.whole.high == 0)].any(axis=0)
            self.kept.append(np.flatnonzero(~gone))
        inside = block_diag([csr_array(member[:, kept], dtype=float) for kept in self.kept])
        above = np.hstack([member[:, kept] for kept in self.kept])
        self.rows = csr_array(vstack([inside, csr_array(above, dtype=float)]))
        self.low = np.concatenate([*(own.low for own in nest.parts), nest.whole.low]).astype(float)
        high = np.concatenate([*(own.high for own in nest.parts), nest.whole.high])
        self.high = np.where(high >= UNBOUNDED, np.inf, high.astype(float))
        self.starts = np.cumsum([0, *map(len, self.kept)])

    def matches(self, terms: Terms) -> NDArray[np.bool_]:
        """Which types match."""
        found = np.ones(len(self.codes), bool)
        for name, values in terms:
            codes = [self.schema[name].values.index(value) for value in values]
            found &= np.isin(self.codes[:, self.schema.index[name]], codes)
        return found

    def constant(self, part: int, terms: Terms, count: int) -> bool:
        """Whether the solver finds no dataset with another count."""
        cost = np.zeros(self.starts[-1])
        cost[self.starts[part] : self.starts[part + 1]] = self.matches(terms)[self.kept[part]]
        rows = LinearConstraint(self.rows, self.low, self.high)  # pyright: ignore[reportArgumentType]
        for sign in (1, -1):
            found = milp(
                sign * cost, constraints=rows, integrality=np.ones(len(cost)), bounds=Bounds(0, np.inf)
            )
            if found.x is None or round(sign * found.fun) != count:
                return False
        return True


def compare_with_solver(nest: Nest, found: Sequence[Audit]) -> tuple[int, int]:
    """How many verdicts there are, and on how many a solver, asked about each, disagrees."""
    model, n_claims, n_wrong = PlainModel(nest), 0, 0
    for part, audit in enumerate(found):
        said: dict[tuple[bytes, int], bool] = {}
        for verdict in audit.verdicts:
            claim = verdict.claim
            key = model.matches(claim.selection.terms)[model.kept[part]].tobytes(), claim.multiplicity
            if key not in said:
                said[key] = model.constant(part, claim.selection.terms, claim.multiplicity)
            n_claims += 1
            n_wrong += said[key] is not (verdict.kind == "verified")
    return n_claims, n_wrong


def sweep(n: int) -> int:
    """Random nested releases against all datasets; how many claims are wrong or undecided."""
    from tiny_nests import random_nest  # pyright: ignore[reportMissingImports]

    wrong = 0
    for seed in range(n):
        case = random_nest(seed)
        for part, audit in enumerate(
            audit_nest(case.nest, truth=case.truth if seed % 2 else None, seed=seed)
        ):
            verified = {(one.claim.selection, one.claim.multiplicity) for one in audit.of_kind("verified")}
            wrong += len(verified ^ case.verified(part)) + audit.n_of("undecided")
    return wrong


def timed(n_blocks: int, n_people: int) -> None:
    """Audit a tract and print what became of its claims, and the seconds."""
    nest, truth = made_up_tract(n_blocks, n_people)
    for name, known in (("with the records at hand", truth), ("from the counts alone", None)):
        started = time.process_time()
        found = audit_nest(nest, truth=known)
        spent, kinds = time.process_time() - started, Counter[str]()
        for audit in found:
            kinds.update({kind: audit.n_of(kind) for kind in ("verified", "refuted", "undecided")})
            kinds["findings"] += len(audit.findings)
        counted = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
        print(f"{n_blocks} blocks, {n_people:,} people, {name}: {spent:.1f} core-seconds; {counted}")


def main(arguments: list[str]) -> int:
    """Run the parts that are asked for; by default all, in a reduced form."""
    parser = argparse.ArgumentParser(prog="nested", description=__doc__)
    parser.add_argument("--nests", type=int, default=200, help="random nested releases (0: none)")
    parser.add_argument("--compare", type=int, nargs=2, default=(6, 100), metavar=("BLOCKS", "PEOPLE"))
    parser.add_argument("--tract", type=int, nargs=2, default=(50, 1000), metavar=("BLOCKS", "PEOPLE"))
    given = parser.parse_args(arguments)
    wrong = 0
    if given.nests:
        wrong = sweep(given.nests)
        print(f"{given.nests:,} random nested releases: {wrong} claims wrong or undecided")
    if all(given.compare):
        nest, truth = made_up_tract(*given.compare)
        n_claims, n_wrong = compare_with_solver(nest, audit_nest(nest, truth=truth, findings=False))
        print(
            f"{n_claims:,} verdicts on a tract of {given.compare[1]} people: {n_wrong} not as a solver says"
        )
        wrong += n_wrong
    if all(given.tract):
        timed(*given.tract)
    return 1 if wrong else 0
