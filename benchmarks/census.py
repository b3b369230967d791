"""Census blocks: cost, growth, the paper's tables, and every proof checked again.

Simulated homes with the 79 block tables of the 2020 Census, in six parts:

* ``paper``: all claims of a block of 10 homes against the paper's program, seconds per claim;
* ``sweep``: many blocks of realistic sizes: core-seconds per block and what decided the claims;
  every proof is checked again, and claims of small blocks are put to the paper's program (corrected);
* ``growth``: core-seconds for blocks of 10 to 500 homes (larger ones are blocks of a tract together);
* ``tables``: 50 blocks of median size, homes covered beside the paper's tables 2 and 3;
* ``printed``: how many false claims the paper's constraint (16) verifies as printed;
* ``nation``: what 8 million blocks cost, of homes and of people, by a sample; and a run that is killed,
  resumed and verified.

The exit code is 1 if a proof is rejected or the reference disagrees.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks import nation
from benchmarks.paper_formulation import Answer, PaperProgram
from benchmarks.parts import Parts
from joblib import Parallel, delayed

import showthrough as st
from showthrough.census.figures import PAPER_COVERED, PAPER_HOMES, census_summary
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_layout
from showthrough.tables.explain import EVIDENCE
from showthrough.tables.run.batch import Area, Settings, decide_batch
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.read import AuditRun

LAYOUT = census_layout()
PARTS = ("paper", "sweep", "growth", "tables", "printed", "nation")


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated homes, and the records of every block."""

    homes: pa.Table
    blocks: dict[str, st.Records]

    @classmethod
    def of(cls, n_blocks: int, seed: int) -> Simulation:
        """So many blocks."""
        homes = simulate_households(n_blocks, seed=seed)
        return cls(homes, dict(st.Records.from_arrow(homes, LAYOUT.schema, by="block").by_area()))

    def of_size(self, low: int, high: int) -> list[str]:
        """The blocks with this many homes, in order."""
        return [name for name, block in self.blocks.items() if low <= len(block) <= high]

    def areas(self, names: Sequence[str] | None = None, *, blind: bool = False) -> Iterator[Area]:
        """Blocks to audit; ``blind`` withholds the homes."""
        for name in self.blocks if names is None else names:
            block = self.blocks[name]
            yield Area(LAYOUT.tabulate(block, area=name), None if blind else block)

    def median(self, number: int) -> list[str]:
        """So many blocks of 9 to 11 homes, from as many tracts as there are."""
        firsts: dict[str, str] = {}
        middling = self.of_size(9, 11)
        for name in middling:
            firsts.setdefault(name[:11], name)
        chosen = [*firsts.values(), *(name for name in middling if name not in set(firsts.values()))]
        return sorted(chosen[:number])

    def about(self, size: int, n: int) -> Iterator[st.Records]:
        """n blocks of about this many homes; where there are too few, blocks of a tract are joined."""
        near = self.of_size(round(0.9 * size), round(1.1 * size))[:n]
        yield from (self.blocks[name] for name in near)
        tracts: dict[str, list[str]] = {}
        for name in self.blocks:
            tracts.setdefault(name[:11], []).append(name)
        for names in list(tracts.values())[: n - len(near)]:
            codes = np.concatenate([self.blocks[name].codes for name in names])
            yield st.Records(LAYOUT.schema, codes[:size])


def show(name: str, value: object) -> None:
    """One line."""
    print(f"  {name:<44}{value:>24}" if isinstance(value, str) else f"  {name:<44}{value:>24,}", flush=True)


def reference(area: Area, claims: Sequence[st.Claim], seconds: float) -> list[tuple[Answer, float]]:
    """The paper's answers about claims of one block, each with the seconds it took."""
    n = 0 if area.truth is None else len(area.truth)
    program = PaperProgram(area.release, n, seconds=seconds)
    found: list[tuple[Answer, float]] = []
    for claim in claims:
        started = time.process_time()
        found.append((program.verify(claim), time.process_time() - started))
    return found


def run_paper(options: argparse.Namespace) -> int:
    """All claims of one block at once, against the paper's program on some of them."""
    simulation = Simulation.of(400, options.seed)
    blocks = list(simulation.areas(simulation.of_size(10, 10)))
    # What all blocks share is made on the way; the block taken has the median number of types.
    types = [st.audit(block.release, truth=block.truth).n_types for block in blocks]
    area = blocks[int(np.argsort(types)[len(types) // 2])]
    started = time.process_time()
    audit = st.audit(area.release, truth=area.truth)
    ours = time.process_time() - started
    by_kind = {
        kind: [v.claim for v in audit.of_kind(kind) if not v.direct] for kind in ("verified", "refuted")
    }
    rng = np.random.default_rng(options.seed)
    chosen = [
        (kind, claims[int(at)])
        for kind, claims in by_kind.items()
        for at in rng.permutation(len(claims))[: options.claims // 2]
    ]
    answers = reference(area, [claim for _, claim in chosen], options.seconds)
    n_claims = len(audit.verdicts)
    theirs = sum(seconds for _, seconds in answers) / max(len(answers), 1)
    open_ = sum(answer == "undecided" for answer, _ in answers)
    wrong = sum(
        answer not in (kind, "undecided") for (kind, _), (answer, _) in zip(chosen, answers, strict=True)
    )
    show("homes, record types that remain", f"{len(area.truth or ())}, {audit.n_types:,}")
    show("claims decided, core-seconds for all", f"{n_claims:,}, {ours:.3f}")
    show("the paper's program, core-seconds per claim", f"{'> ' if open_ else ''}{theirs:.1f}")
    show("  of claims tried, it ran out of time on", f"{open_} of {len(answers)}")
    show("times faster per claim", f"{'> ' if open_ else ''}{theirs * n_claims / ours:,.0f}")
    show("disagreements", wrong)
    return wrong


def run_sweep(options: argparse.Namespace) -> int:
    """Audit many blocks, check every proof, and put a sample to the paper's program."""
    simulation = Simulation.of(options.blocks, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = run_audit(
            simulation.areas(blind=options.blind),
            LAYOUT,
            Path(folder) / "run",
            settings=Settings(effort=options.effort),
            workers=options.workers,
        )
        elapsed = time.perf_counter() - started
        show("blocks, homes", f"{options.blocks:,}, {simulation.homes.num_rows:,}")
        show("blocks per second of wall time", f"{options.blocks / elapsed:.2f} ({options.workers} workers)")
        _show_cost(run)
        _show_evidence(run)
        started = time.perf_counter()
        checked = st.verify(run.folder, workers=options.workers)
        show("proofs checked again, claims they prove", f"{checked.proofs:,}, {checked.claims:,}")
        show(
            "rejected (seconds for checking)",
            f"{len(checked.problems)} ({time.perf_counter() - started:.1f})",
        )
        for problem in checked.problems[:5]:
            print(f"    {problem}")
        wrong = _against_reference(run, simulation, options)
    return len(checked.problems) + wrong


def _show_cost(run: AuditRun) -> None:
    seconds = run.table("timing")["core_seconds"].to_numpy()
    areas = run.table("areas")
    sizes = areas["records"].to_numpy(zero_copy_only=False).astype(float)
    half, ninety, most = np.percentile(seconds, [50, 90, 99])
    show("core-seconds per block, mean", f"{seconds.mean():.3f}")
    show("  50, 90, 99 % of blocks, largest", f"{half:.3f} {ninety:.2f} {most:.2f} {seconds.max():.1f}")
    top = np.sort(seconds)[::-1]
    show("  share of the time in the slowest 1 %", f"{top[: max(1, len(top) // 100)].sum() / top.sum():.0%}")
    for low, high in ((1, 10), (11, 30), (31, 100), (101, 10_000)):
        there = (sizes >= low) & (sizes <= high)
        if there.any():
            name = (
                f"  blocks of {low} to {high} homes" if high < 10_000 else f"  blocks of more than {low - 1}"
            )
            show(name, f"{there.sum():,} × {seconds[there].mean():.3f} s")
    solves = areas["solves"].to_numpy()
    show("solver calls, blocks with any", f"{solves.sum():,}, {(solves > 0).sum():,}")


def _show_evidence(run: AuditRun) -> None:
    summary = run.summary
    counts = Counter({"worlds (refuted)": summary.refuted, "undecided": summary.undecided})
    for evidence, n in summary.verified_by_evidence.items():
        counts[EVIDENCE[evidence]] += n
    total = counts.total()
    show("claims", total)
    for name, n in counts.most_common():
        show(f"  {name}", f"{n:,} ({n / total:.3%})")
    left = run.table("areas").filter(pc.field("status") != "decided")
    show("blocks not wholly decided", left.num_rows)
    for row in left.to_pylist()[:5]:
        print(
            f"    {row['area']}: {row['records']} homes, {row['undecided']} undecided, {row['status'][:60]}"
        )


def _against_reference(run: AuditRun, simulation: Simulation, options: argparse.Namespace) -> int:
    """Verified claims of small blocks, drawn at random, put to the corrected program."""
    small = set(simulation.of_size(1, options.largest))
    claims = run.table("claims").filter((pc.field("verdict") == "verified") & ~pc.field("direct"))
    claims = claims.filter(pc.is_in(claims["area"], pa.array(sorted(small), pa.string())))
    rng = np.random.default_rng(options.seed)
    drawn = np.sort(rng.permutation(claims.num_rows)[: options.sample])
    by_block: dict[str, list[st.Claim]] = {}
    for row in claims.take(pa.array(drawn)).to_pylist():
        claim = st.Claim(st.Selection.from_json(row["selection"]), row["multiplicity"])
        by_block.setdefault(row["area"], []).append(claim)
    jobs = [
        delayed(reference)(next(simulation.areas([name])), asked, options.reference_seconds)
        for name, asked in by_block.items()
    ]
    answers = Counter(answer for part in Parallel(n_jobs=options.workers)(jobs) for answer, _ in part)
    show(f"verified claims of blocks of up to {options.largest}, for the reference", answers.total())
    for answer in ("verified", "undecided", "refuted"):
        name = {"verified": "agrees", "undecided": "runs out of time", "refuted": "disagrees"}[answer]
        show(f"  it {name}", answers[answer])
    return answers["refuted"]


def run_growth(options: argparse.Namespace) -> int:
    """Blocks of about this many homes."""
    simulation = Simulation.of(max(400, min(options.blocks, 2000)), options.seed)
    decide_batch(list(simulation.areas(simulation.of_size(5, 5)[:1])), Settings())  # what blocks share
    print("  homes  blocks   core-seconds    slowest     types    claims  undecided  programs  solves")
    for size in options.sizes:
        n = options.repeat if size <= 100 else max(1, options.repeat // 2)
        rows: list[tuple[float, dict[str, float]]] = []
        for at, block in enumerate(simulation.about(size, n)):
            area = Area(LAYOUT.tabulate(block, area=f"{size}-{at}"), None if options.blind else block)
            tables = decide_batch([area], Settings(effort=options.effort))
            (row,) = tables["areas"].to_pylist()
            row["records"] = len(block)
            rows.append((tables["timing"]["core_seconds"][0].as_py(), row))
        seconds = [spent for spent, _ in rows]

        def mean(*names: str, among: list[tuple[float, dict[str, float]]] = rows) -> float:
            return float(np.mean([sum(row[name] for name in names) for _, row in among]))

        print(
            f"  {mean('records'):5.0f}  {len(rows):6}  {np.mean(seconds):13.2f}  {max(seconds):9.2f}"
            f"  {mean('record_types'):8,.0f}  {mean('verified', 'refuted', 'undecided'):8,.0f}"
            f"  {mean('undecided'):9.1f}  {mean('programs'):8.0f}  {mean('solves'):6.1f}",
            flush=True,
        )
    return 0


def run_tables(options: argparse.Namespace) -> int:
    """The paper's tables 2 and 3 over blocks of median size, from as many tracts as there are."""
    simulation = Simulation.of(max(options.blocks, 10 * options.median), options.seed)
    names = simulation.median(options.median)
    with tempfile.TemporaryDirectory() as folder:
        areas = simulation.areas(names, blind=options.blind)
        run = run_audit(areas, LAYOUT, Path(folder) / "run", workers=options.workers)
        summary = census_summary(run.folder, simulation.homes)
        unique = run.summary.areas_unique
    show("blocks, homes, unique blocks", f"{summary.n_areas}, {summary.n_records}, {unique}")
    covered = {(row["kind"], row["k"]): row for row in summary.covered.to_pylist()}
    blocks = {(row["kind"], row["k"]): row for row in summary.areas.to_pylist()}
    medians = {(r["reference"], r["kind"], r["k"]): r for r in summary.baselines.to_pylist()}
    print("  claims        k   homes   share  paper's   blocks   baseline: tract   state   (medians)")
    for kind in PAPER_COVERED:
        for k in range(1, len(LAYOUT.schema.names) + 1):
            row, paper = covered[kind, k], PAPER_COVERED[kind].get(k)
            theirs = "" if paper is None else f"{paper / PAPER_HOMES:.1%}"
            chance = [medians.get((place, kind, k), {}).get("median") for place in ("tract", "state")]
            tract, state = ("" if one is None else f"{one:.2%}" for one in chance)
            print(
                f"  {kind:<10} {k:>4} {row['records']:>7} {row['share']:>7.1%} {theirs:>8}"
                f" {blocks[kind, k]['share']:>8.0%} {tract:>17} {state:>7}"
            )
    return 0


def run_printed(options: argparse.Namespace) -> int:
    """False claims that (16) verifies as printed; they are reported, they are no failure of ours."""
    simulation = Simulation.of(80, options.seed)
    best = min(simulation.of_size(3, 5), key=lambda name: -len(simulation.blocks[name]))
    (area,) = simulation.areas([best])
    audit = st.audit(area.release, truth=area.truth)
    n = 0 if area.truth is None else len(area.truth)
    false = [verdict.claim for verdict in audit.of_kind("refuted")]
    rng = np.random.default_rng(options.seed)
    tried = [false[int(at)] for at in rng.permutation(len(false))[: 5 * options.claims]]
    program = PaperProgram(area.release, n, as_printed=True, seconds=options.reference_seconds)
    answers = Counter(program.verify(claim) for claim in tried)
    show("homes of the block, false claims put to it", f"{n}, {len(tried)} of {len(false):,}")
    show("it verifies", f"{answers['verified']} ({answers['undecided']} undecided)")
    return 0


def run_nation(options: argparse.Namespace) -> int:
    """What a nation costs, by samples of homes and of people; and a run that is killed and resumed."""
    wrong = 0
    for kind in nation.KINDS if options.nation else ():
        found = nation.measure(
            kind,
            n_blocks=options.nation,
            n_tail=options.tail,
            population=options.population,
            seed=options.seed,
        )
        nation.report(found)
        wrong += found.problems
    if options.resumed:
        wrong += nation.resumed(options.resumed, seed=options.seed, workers=options.workers)
    return wrong


RUN: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "paper": ("a block of 10 homes, claim by claim", run_paper),
    "sweep": ("many blocks of realistic sizes", run_sweep),
    "growth": ("cost by number of homes", run_growth),
    "tables": ("blocks of median size beside the paper's", run_tables),
    "printed": ("constraint (16) as the paper prints it", run_printed),
    "nation": ("8 million blocks, by a sample", run_nation),
}


def main(arguments: list[str]) -> int:
    """Run the parts asked for."""
    parser = Parts("census", PARTS)
    parser.add_argument("--blocks", type=int, default=2000, help="blocks of the sweep")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--blind", action="store_true", help="audit counts only, without the homes")
    parser.add_argument("--claims", type=int, default=6, help="claims put to the paper's program")
    parser.add_argument("--seconds", type=float, default=120, help="its limit per claim, block of 10 homes")
    parser.add_argument("--sample", type=int, default=500, help="verified claims put to the reference")
    parser.add_argument("--largest", type=int, default=8, help="homes of the blocks they are from, at most")
    parser.add_argument("--reference-seconds", type=float, default=20, help="its limit per claim there")
    parser.add_argument("--sizes", default="10,20,50,100,200,500", help="homes, for growth")
    parser.add_argument("--repeat", type=int, default=4, help="blocks of each size, for growth")
    parser.add_argument("--median", type=int, default=50, help="blocks of median size, for tables")
    parser.add_argument("--nation", type=int, default=300, help="blocks of homes, and of people, for nation")
    parser.add_argument("--population", type=int, default=10_000, help="blocks that they are drawn from")
    parser.add_argument("--tail", type=int, default=1, help="blocks timed where the largest 0.1 %% begin")
    parser.add_argument("--resumed", type=int, default=150, help="blocks of the run that is killed")
    options = parser.read(arguments)
    options.sizes = [int(size) for size in options.sizes.split(",")]
    failures = 0
    for part in options.parts:
        title, run = RUN[part]
        print(f"{part}: {title}", flush=True)
        failures += run(options)
    return 1 if failures else 0
