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
from showthrough.tables.run.batch import Area
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.read import AuditRun
from showthrough.tables.run.verify import verify_tables
from showthrough.tables.search.system import System, build_system
from showthrough.tables.search.universe import make_frame

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
        self.model, self.types = self.build()

    def build(self) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
        """One integer per record type, one constraint per distinct published cell."""
        system, model = self.system, cp_model.CpModel()
        types = [model.new_int_var(0, int(m), "") for m in system.most[system.group]]
        for row, low, high in zip(system.rows, system.low, system.high, strict=True):
            members = [types[t] for t in np.flatnonzero(row[system.group])]
            model.add_linear_constraint(cp_model.LinearExpr.sum(members), int(low), int(high))
        return model, types

    def ask(self, claim: st.Claim, *, reuse: bool) -> tuple[float, bool | None]:
        """Seconds for one claim, the model built anew or copied, and the solver's opinion."""
        started = time.process_time()
        if reuse:
            model = self.model.clone()
            types = [model.get_int_var_from_proto_index(at) for at in range(len(self.types))]
        else:
            model, types = self.build()
        mask = self.system.mask(claim.selection.terms)
        count = cp_model.LinearExpr.sum([types[int(t)] for t in np.flatnonzero(mask)])
        m = claim.multiplicity
        other = cp_model.Domain.from_intervals([[0, m - 1], [m + 1, 2**31]])
        model.add_linear_expression_in_domain(count, other)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.cp_model_presolve = False
        solver.parameters.max_deterministic_time = 10
        status = solver.solve(model)
        known = {cp_model.INFEASIBLE: True, cp_model.OPTIMAL: False, cp_model.FEASIBLE: False}
        return time.process_time() - started, known.get(status)


def compare(sample: list[Area], per_area: int, seed: int) -> tuple[dict[str, float], int]:
    """Seconds per claim for the engine and for the baseline, and how often they disagree."""
    st.audit(sample[0].release, truth=sample[0].truth)  # first-use costs on neither side
    rng = np.random.default_rng(seed)
    spent = {"engine": 0.0, "built": 0.0, "copied": 0.0}
    n_engine = n_baseline = wrong = 0
    for area in sample:
        started = time.process_time()
        found = st.audit(area.release, truth=area.truth)
        spent["engine"] += time.process_time() - started
        verdicts = found.verdicts
        n_engine += len(verdicts)
        frame = make_frame(area.release.layout)
        baseline = SolverPerClaim(build_system(frame, area.release, most_types=10**6))
        for at in rng.choice(len(verdicts), min(per_area, len(verdicts)), replace=False):
            for how, reuse in (("built", False), ("copied", True)):
                seconds, opinion = baseline.ask(verdicts[at].claim, reuse=reuse)
                spent[how] += seconds
                wrong += opinion is not None and opinion != (verdicts[at].kind == "verified")
            n_baseline += 1
    per_claim = {k: v / (n_engine if k == "engine" else n_baseline) for k, v in spent.items()}
    return per_claim, wrong


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
        checked = verify_tables(AuditRun(run.folder))
    print(f"areas                      {options.areas} of {options.records} records")
    print("attributes, tables         8, 10")
    print(f"areas per core-second      {options.areas / seconds:.1f}, all files written")
    print(f"whole run                  {elapsed:.0f} s on {options.workers} workers")
    stages = Counter(summary.verified_by_evidence)
    stages["worlds (refuted)"], stages["undecided"] = summary.refuted, summary.undecided
    for stage, count in stages.most_common():
        print(f"claims by {stage:<16} {count:>10,}")
    rejected = len(checked.problems)
    print(f"proofs re-checked          {checked.proofs:,} for {checked.claims:,} claims: {rejected} rejected")
    spent, wrong = compare(listed[: options.sample], options.claims, options.seed)
    print("seconds per claim, as multiples of the engine's:")
    print(f"  one solver call per claim, model built each time  {spent['built'] / spent['engine']:,.0f}")
    print(f"  one solver call per claim, one model copied       {spent['copied'] / spent['engine']:,.0f}")
    print(f"  disagreements                                     {wrong}")
    return 1 if rejected or wrong else 0
