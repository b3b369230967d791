"""Areas per core-second, what decided the claims, and the ratio to one solver call per claim.

Random areas (records drawn uniformly) with ten two- and three-way tables over eight attributes. The
baseline asks CP-SAT, on the same model of record types, once per claim for a dataset with another
count; it gets a sample of the claims of some of the areas. Everything runs in one process, so both
sides see the same machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from ortools.sat.python import cp_model

import showthrough as st
from showthrough.audit.batch import Area, decide_batch
from showthrough.audit.run import run_audit
from showthrough.audit.system import System
from showthrough.audit.verify import verify_run

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 3, "f": 4, "g": 2, "h": 3}
TABLES = ["a*b", "c*d", "e*f", "g*h", "a*c*e", "b*d*f", "a*h", "b*g", "c*f*h", "d*e*g"]


def layout() -> st.Layout:
    """Eight attributes of two to four values and ten tables over them."""
    schema = st.Schema.of({name: [str(v) for v in range(size)] for name, size in SIZES.items()})
    return st.Layout(schema, tuple(st.make_table(schema, formula) for formula in TABLES))


def areas(shared: st.Layout, n: int, n_records: int, seed: int) -> Iterator[Area]:
    """Random areas, each drawn with a seed of its own."""
    sizes = np.array([len(attribute.values) for attribute in shared.schema.attributes])
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        records = st.Records(shared.schema, rng.integers(0, sizes, (n_records, len(sizes))))
        yield Area(shared.tabulate(records, area=f"{number:06d}"), records)


class SolverPerClaim:
    """The baseline: is there a dataset in which the claim's count is another one?"""

    def __init__(self, system: System) -> None:
        self.system = system
        self.model = cp_model.CpModel()
        self.types = [self.model.new_int_var(0, int(m), "") for m in system.most[system.group]]
        for row, low, high in zip(system.rows, system.low, system.high, strict=True):
            members = [self.types[t] for t in np.flatnonzero(row[system.group])]
            self.model.add_linear_constraint(cp_model.LinearExpr.sum(members), int(low), int(high))

    def is_verified(self, claim: st.Claim) -> bool | None:
        """The solver's opinion; None if it gives up."""
        model = self.model.clone()
        mask = self.system.mask(claim.selection.terms)
        count = cp_model.LinearExpr.sum(
            [model.get_int_var_from_proto_index(int(t)) for t in np.flatnonzero(mask)]
        )
        m = claim.multiplicity
        other = cp_model.Domain.from_intervals([[0, m - 1], [m + 1, 2**31]])
        model.add_linear_expression_in_domain(count, other)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.cp_model_presolve = False
        solver.parameters.max_deterministic_time = 10
        status = solver.solve(model)
        return {cp_model.INFEASIBLE: True, cp_model.OPTIMAL: False, cp_model.FEASIBLE: False}.get(status)


def compare(sample: list[Area], per_area: int, seed: int) -> tuple[float, float, int]:
    """Seconds per claim for the engine (tables written out) and for the baseline; disagreements."""
    decide_batch(sample[:1], st.Settings())  # imports and first-use costs on neither side
    rng = np.random.default_rng(seed)
    ours = theirs = 0.0
    n_ours = n_theirs = wrong = 0
    for area in sample:
        started = time.process_time()
        decide_batch([area], st.Settings())
        ours += time.process_time() - started
        found = st.audit(area.release, truth=area.truth)
        verdicts = found.verdicts
        n_ours += len(verdicts)
        baseline = SolverPerClaim(found.facts.system)
        for at in rng.choice(len(verdicts), min(per_area, len(verdicts)), replace=False):
            started = time.process_time()
            opinion = baseline.is_verified(verdicts[at].claim)
            theirs += time.process_time() - started
            n_theirs += 1
            wrong += opinion is not None and opinion != (verdicts[at].kind == "verified")
    return ours / n_ours, theirs / n_theirs, wrong


def main(arguments: list[str]) -> int:
    """Run, verify, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks audit")
    parser.add_argument("--areas", type=int, default=2000)
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=10, help="areas given to the baseline")
    parser.add_argument("--claims", type=int, default=60, help="claims of each of them")
    options = parser.parse_args(arguments)
    shared = layout()
    listed = list(areas(shared, options.areas, options.records, options.seed))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = run_audit(listed, shared, Path(folder) / "run", workers=options.workers)
        elapsed = time.perf_counter() - started
        seconds = pc.sum(run.table("timing")["core_seconds"]).as_py()
        summary = run.summary
        checked = verify_run(run.folder)
    print(f"areas                      {options.areas} of {options.records} records, 8 attributes, 10 tables")
    print(
        f"areas per core-second      {options.areas / seconds:.1f} ({elapsed:.0f} s on {options.workers} workers)"
    )
    stages = Counter(summary["verified_by_evidence"])
    stages["worlds (refuted)"], stages["undecided"] = summary["refuted"], summary["undecided"]
    for stage, count in stages.most_common():
        print(f"claims by {stage:<16} {count:>10,}")
    print(
        f"proofs re-checked          {checked.proofs:,} for {checked.claims:,} claims: {len(checked.problems)} rejected"
    )
    ours, theirs, wrong = compare(listed[: options.sample], options.claims, options.seed)
    print(
        f"one solver call per claim  {theirs / ours:,.0f} times the seconds per claim ({wrong} disagreements)"
    )
    return 1 if checked.problems or wrong else 0
