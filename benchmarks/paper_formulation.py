"""The paper's own integer program, claim by claim, against the audit of all claims at once.

"Generate-then-Verify" encodes a dataset as N one-hot rows and asks, for one claim at a time, for a
dataset with the same tables in which the claim fails. This is that program with its slips
corrected; equation numbers are the paper's. It is the reference of some tests and is too slow
for anything else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

import showthrough as st
from showthrough.census.county import COUNTY_TABLES, simulate_county
from showthrough.release import UNBOUNDED

Answer = Literal["verified", "refuted", "undecided"]


@dataclass(frozen=True)
class PaperProgram:
    """The program for a release about so many records.

    ``ordered`` sorts rows by a random hash (8), which is meant to break symmetry. ``as_printed``
    uses (16) with the sign the paper prints: Y = 0 is then impossible, only larger counts are
    searched for, and claims whose count can only be smaller are "verified" though they are false.
    """

    release: st.Release
    n_records: int
    ordered: bool = False
    as_printed: bool = False
    seconds: float = 60.0

    def verify(self, claim: st.Claim) -> Answer:
        """Whether no dataset with these tables has another count, within the time limit."""
        model, rows = self._datasets()
        total = sum(_all(model, self._factors(row, claim.selection)) for row in rows)
        large = self.n_records + 1
        other = model.new_bool_var("Y")
        m = claim.multiplicity
        model.add(total - m <= large * other - 1)  # (15)
        sign = -1 if self.as_printed else 1
        model.add(total - m >= 1 - sign * large * (1 - other))  # (16)
        status = self._solver().solve(model)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return "refuted"
        return "verified" if status == cp_model.INFEASIBLE else "undecided"

    def find(self) -> st.Records | None:
        """A dataset with these tables; None if there is none or the time is up."""
        model, rows = self._datasets()
        solver = self._solver()
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        codes = [[[solver.value(x) for x in column].index(1) for column in row] for row in rows]
        return st.Records(self.release.schema, np.array(codes, np.int64))

    def pool(self, number: int, effort: float = 40.0) -> list[NDArray[np.int64]]:
        """Up to so many different datasets with these tables, as a solver that enumerates finds them.

        ``effort`` is the solver's own measure of work, so the same datasets are found on any machine.
        """
        model, rows = self._datasets()
        solver = self._solver()
        solver.parameters.enumerate_all_solutions = True
        solver.parameters.max_deterministic_time = effort
        solver.parameters.max_time_in_seconds = 100 * effort
        found = _Pool(rows, number)
        solver.solve(model, found)
        return list(found.datasets.values())

    def _datasets(self) -> tuple[Any, list[list[list[Any]]]]:
        """The model of all datasets with these tables: ``rows[i][column][value]``."""
        model: Any = cp_model.CpModel()
        attributes = self.release.schema.attributes
        rows = [
            [[model.new_bool_var("") for _ in attribute.values] for attribute in attributes]
            for _ in range(self.n_records)
        ]
        for row in rows:
            for column in row:
                model.add_exactly_one(column)  # used in the paper, never written
            for box in self.release.schema.forbidden:
                factors = self._factors(row, box)
                model.add(sum(factors) <= len(factors) - 1)
        for cell in self.release.cells:
            counted = sum(_all(model, self._factors(row, cell.selection)) for row in rows)
            model.add(counted >= cell.low)  # (7), for intervals too
            model.add(counted <= (self.n_records if cell.high >= UNBOUNDED else cell.high))
        if self.ordered:
            self._order(model, rows)
        return model, rows

    def _factors(self, row: list[list[Any]], selection: st.Selection) -> list[Any]:
        """One expression per restricted column, 1 if the row has an allowed value: Z of (3), (4)."""
        encoded = self.release.schema.encode(selection)
        return [sum(row[at][code] for code in sorted(codes)) for at, codes in sorted(encoded.items())]

    def _order(self, model: Any, rows: list[list[list[Any]]]) -> None:
        rng = np.random.default_rng(0)
        hashes = [rng.integers(0, 1000, len(a.values)).tolist() for a in self.release.schema.attributes]
        values = [
            sum(
                h * x
                for weights, column in zip(hashes, row, strict=True)
                for h, x in zip(weights, column, strict=True)
            )
            for row in rows
        ]
        for before, after in pairwise(values):
            model.add(after >= before)  # (8)

    def _solver(self) -> Any:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = self.seconds
        return solver


class _Pool(cp_model.CpSolverSolutionCallback):
    """Keeps the first solutions that are different datasets: equal records in another order are not."""

    def __init__(self, rows: list[list[list[Any]]], number: int) -> None:
        super().__init__()
        self.rows, self.number = rows, number
        self.datasets: dict[bytes, NDArray[np.int64]] = {}

    def on_solution_callback(self) -> None:
        """Called by the solver at each solution."""
        codes = [[[self.value(x) for x in column].index(1) for column in row] for row in self.rows]
        dataset = np.array(sorted(codes), np.int64)
        self.datasets.setdefault(dataset.tobytes(), dataset)
        if len(self.datasets) >= self.number:
            self.stop_search()


def _all(model: Any, factors: list[Any]) -> Any:
    """A variable that is 1 exactly if all factors are: W of (5) and (6), S of (13) and (14)."""
    if len(factors) <= 1:
        return factors[0] if factors else 1
    product = model.new_bool_var("")
    for factor in factors:
        model.add(product <= factor)
    model.add(product >= sum(factors) - (len(factors) - 1))
    return product


def claims_of(records: st.Records) -> Iterator[st.Claim]:
    """Every claim that these records satisfy, fewest columns first."""
    schema = records.schema
    for size in range(1, len(schema.names) + 1):
        for columns in combinations(range(len(schema.names)), size):
            for row in np.unique(records.codes[:, columns], axis=0):
                values = {
                    schema.names[at]: schema.attributes[at].values[int(code)]
                    for at, code in zip(columns, row, strict=True)
                }
                selection = st.Selection.of(values)
                yield st.Claim(selection, records.count(selection))


def main(arguments: list[str]) -> int:
    """Time both on one block of the simulated county."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks paper_formulation")
    parser.add_argument("--records", type=int, default=8)
    parser.add_argument("--claims", type=int, default=20, help="claims given to the paper's program")
    parser.add_argument("--seconds", type=float, default=60, help="its time limit per claim")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ordered", action="store_true", help="with the hash ordering (8)")
    options = parser.parse_args(arguments)
    block = simulate_county(1, seed=options.seed, smallest=options.records, largest=options.records)
    release = st.tabulate(st.Records(block.schema, block.codes), COUNTY_TABLES)
    assert isinstance(release, st.Release), "one block is one release"
    started = time.perf_counter()
    audit = st.audit(release, truth=st.Records(block.schema, block.codes))
    ours = time.perf_counter() - started
    verdicts = {v.claim: v.kind for v in audit.verdicts}
    chosen = np.random.default_rng(options.seed).permutation(len(verdicts))[: options.claims]
    program = PaperProgram(release, options.records, ordered=options.ordered, seconds=options.seconds)
    answers: list[tuple[str, str]] = []
    started = time.perf_counter()
    for at in chosen:
        claim, kind = list(verdicts.items())[int(at)]
        answers.append((kind, program.verify(claim)))
    per_claim = (time.perf_counter() - started) / max(len(chosen), 1)
    settled = [(a, b) for a, b in answers if "undecided" not in (a, b)]
    print(f"{'records':<34}{options.records:>12,}")
    print(f"{'claims decided by the audit':<34}{len(verdicts):>12,}")
    print(f"{'seconds, audit, all claims':<34}{ours:>12.3f}")
    print(f"{'seconds, paper, per claim':<34}{per_claim:>12.3f}")
    print(f"{'times faster per claim':<34}{per_claim * len(verdicts) / ours:>12,.0f}")
    print(f"{'claims both decided':<34}{len(settled):>12,}")
    print(f"{'of these they disagree on':<34}{sum(a != b for a, b in settled):>12,}")
    return 1 if any(a != b for a, b in settled) else 0
