"""Nested areas: random ones against all datasets, a tract against one solver call per claim, and its time."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, csr_array, vstack

from showthrough.census.blocks import read_blocks
from showthrough.census.people_nests import LinkedTables
from showthrough.census.people_simulator import simulate_people
from showthrough.census.simulator import BLOCKS_PER_TRACT
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.tables.linked.audit import audit_nest
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import Terms
from showthrough.tables.proof.possible import CellLike
from showthrough.tables.result import Audit, Verdict
from showthrough.tables.run.inputs import Nested

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from tiny_nest_comparison import compare_nests  # pyright: ignore[reportMissingImports]

#: Where the age groups of block tables start.
STARTS = (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)
YEARS = 103

_ALL = slice(None)


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
        self._known = dict[tuple[str, tuple[str, ...]], NDArray[np.bool_]]()
        member = np.array([self.counted(cell) for cell in nest.whole.cells])
        self.kept: list[NDArray[np.int64]] = []
        for own in nest.parts:
            gone = (member[(own.high == 0) | (nest.whole.high == 0)] > 0).any(axis=0)
            gone |= self.forbidden()
            self.kept.append(np.flatnonzero(~gone))
        inside = block_diag([csr_array(member[:, kept], dtype=float) for kept in self.kept])
        above = np.hstack([member[:, kept] for kept in self.kept])
        self.rows = csr_array(vstack([inside, csr_array(above, dtype=float)]))
        self.low = np.concatenate([*(own.low for own in nest.parts), nest.whole.low]).astype(float)
        high = np.concatenate([*(own.high for own in nest.parts), nest.whole.high])
        self.high = np.where(high >= UNBOUNDED, np.inf, high.astype(float))
        self.starts = np.cumsum([0, *map(len, self.kept)])

    def counted(self, cell: CellLike) -> NDArray[np.int8]:
        """How often a cell counts each type."""
        return np.sum([weight * self.matches(one.terms) for weight, one in cell.terms], axis=0).astype(
            np.int8
        )

    def forbidden(self) -> NDArray[np.bool_]:
        """The types that break a rule."""
        found = np.zeros(len(self.codes), bool)
        for rule in self.schema.rules:
            first, second = self.matches(rule.when.terms), self.matches(rule.then.terms)
            found |= first != second if rule.both_ways else first & ~second
        return found

    def matches(self, terms: Terms, types: NDArray[np.int64] | slice = _ALL) -> NDArray[np.bool_]:
        """Which types match, of all or of some."""
        found = np.ones(len(self.codes[types]), bool)
        for name, values in terms:
            found &= self._having(name, tuple(values))[types]
        return found

    def _having(self, name: str, values: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which types have one of these values."""
        if (name, values) not in self._known:
            codes = [self.schema[name].values.index(value) for value in values]
            self._known[name, values] = np.isin(self.codes[:, self.schema.index[name]], codes)
        return self._known[name, values]

    def constant(self, part: int, terms: Terms, count: int) -> bool:
        """Whether the solver finds no dataset with another count."""
        cost = np.zeros(self.starts[-1])
        cost[self.starts[part] : self.starts[part + 1]] = self.matches(terms, self.kept[part])
        rows = LinearConstraint(self.rows, self.low, self.high)  # pyright: ignore[reportArgumentType]
        for sign in (1, -1):
            found = milp(
                sign * cost, constraints=rows, integrality=np.ones(len(cost)), bounds=Bounds(0, np.inf)
            )
            if found.x is None or round(sign * found.fun) != count:
                return False
        return True


@dataclass
class Agreement:
    """Verdicts of tracts beside those of a solver that is asked about each question."""

    people: int = 0
    verdicts: int = 0
    covered: int = 0
    questions: int = 0
    wrong: int = 0
    undecided: int = 0
    ours: float = 0.0
    theirs: float = 0.0

    def compare(self, nest: Nest, found: Sequence[Audit], *, most: int, seed: int = 0) -> None:
        """Ask about at most so many questions, drawn at random; equal ones of one part are asked once."""
        model, asked = PlainModel(nest), dict[tuple[int, bytes, int], list[Verdict]]()
        for part, audit in enumerate(found):
            masks = dict[Terms, bytes]()
            for verdict in audit.verdicts:
                terms = verdict.claim.selection.terms
                if terms not in masks:
                    masks[terms] = np.packbits(model.matches(terms, model.kept[part])).tobytes()
                asked.setdefault((part, masks[terms], verdict.claim.multiplicity), []).append(verdict)
        questions = list(asked.items())
        self.verdicts += sum(map(len, asked.values()))
        for at in np.random.default_rng(seed).permutation(len(questions))[: most or None].tolist():
            (part, _, count), verdicts = questions[at]
            started = time.process_time()
            said = model.constant(part, verdicts[0].claim.selection.terms, count)
            self.theirs += time.process_time() - started
            self.questions += 1
            self.covered += len(verdicts)
            self.undecided += sum(one.kind == "undecided" for one in verdicts)
            self.wrong += sum(one.kind == ("refuted" if said else "verified") for one in verdicts)

    def show(self) -> None:
        """Print it."""
        print(f"{self.verdicts:,} verdicts on {self.people:,} people in tracts: {self.ours:.1f} core-seconds")
        each = self.theirs / max(self.questions, 1)
        print(
            f"  {self.questions:,} questions put to a solver: {self.theirs:.1f} core-seconds, {each:.3f} each"
        )
        print(f"  verdicts that they settle: {self.covered:,}; {self.wrong} not as the solver says")
        print(f"  undecided among them: {self.undecided}")
        per_verdict = self.ours / max(self.verdicts, 1)
        print(f"  time of a verdict, ours to a call of the solver: 1 to {each / max(per_verdict, 1e-9):,.0f}")


def simulated_tract(n_people: int, *, seed: int) -> tuple[Nest, dict[str, Records]]:
    """The first blocks of a simulated tract, up to so many people, with all person tables of 2010."""
    people = simulate_people(BLOCKS_PER_TRACT, seed=seed)
    names, sizes = np.unique(people["block"].to_numpy(zero_copy_only=False), return_counts=True)
    few = names[: max(2, int(np.searchsorted(np.cumsum(sizes), n_people, side="right")))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people.parquet"
        pq.write_table(people.filter(pc.is_in(people["block"], pa.array(few, pa.string()))), file)
        (found,) = read_blocks(file, tables=LinkedTables()).stream(Path(folder))
    assert isinstance(found, Nested)
    nest = Nest(found.whole, tuple(part.release for part in found.parts))
    return nest, {part.release.area: part.truth for part in found.parts if part.truth is not None}


def compare_tracts(n_tracts: int, n_people: int, most: int) -> Agreement:
    """All verdicts of simulated tracts; questions drawn from them are put to a solver."""
    found = Agreement()
    for seed in range(1, n_tracts + 1):
        nest, truth = simulated_tract(n_people, seed=seed)
        started = time.process_time()
        audits = audit_nest(nest, truth=truth, findings=False, seed=seed)
        found.ours += time.process_time() - started
        found.people += sum(map(len, truth.values()))
        found.compare(nest, audits, most=most, seed=seed)
    return found


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
    parser.add_argument("--compare", type=int, default=3, metavar="TRACTS", help="tracts put to a solver")
    parser.add_argument("--people", type=int, default=300, help="people of each of them, at most")
    parser.add_argument("--questions", type=int, default=100, help="asked about each (0: all there are)")
    parser.add_argument("--tract", type=int, nargs=2, default=(50, 1000), metavar=("BLOCKS", "PEOPLE"))
    given = parser.parse_args(arguments)
    wrong = 0
    if given.nests:
        totals = compare_nests(range(given.nests))
        wrong = totals.wrong
        print("\n".join(totals.problems[:20]), end="\n" if totals.problems else "")
        print(f"{given.nests:,} random nested releases: {wrong} not as all datasets say")
    if given.compare:
        agreement = compare_tracts(given.compare, given.people, given.questions)
        agreement.show()
        wrong += agreement.wrong
    if all(given.tract):
        timed(*given.tract)
    return 1 if wrong else 0
