"""What a nation of census blocks costs: from the timings of a sample, and a run that is killed and resumed.

Blocks are drawn at random from a large simulation; they are audited, written and verified by one process.
The largest 0.1 % of blocks are not left to chance: some that are just as large are timed by themselves, and
for larger ones their time is carried on by a power of the size, whose exponent the sample has.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

import showthrough as st
from showthrough.census.blocks import Blocks, BlockTables, CensusTables, PeopleTables, read_blocks
from showthrough.census.people_simulator import simulate_people, write_people
from showthrough.census.simulator import simulate_households
from showthrough.report.audit_page import MOST_READ
from showthrough.report.write import rendered
from showthrough.tables.run.agenda import BATCH, MOST_TIMES, in_batches
from showthrough.tables.run.batch import BatchStore, Settings, decide_batch
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.inputs import ready
from showthrough.tables.run.parts import PART_BYTES, write_table
from showthrough.tables.run.read import AuditRun
from showthrough.tables.stored import PLACES

#: Blocks of the nation, and the share of them that is its tail.
NATION, TAIL = 8_000_000, 0.001

#: A workstation, a server, and a cluster: how many cores.
CORES = (16, 64, 1000)

#: Seconds that the driver of a Spark cluster takes for a batch, in Python and in Java, as measured with
#: batches in which nothing is done.
DRIVER = 0.004 + 0.025

#: Blocks of the run that tells what every run takes; with two batches, as large ones have several.
_FEW, _BATCH = 3, 20

#: How often the blocks of the sample are repeated to see how long it takes to read through many.
_TIMES = 100

#: Smaller blocks take about as long whatever their size, so that they say nothing about the exponent.
_SMALL = 30


@dataclass(frozen=True)
class Kind:
    """What lives in blocks."""

    name: str
    simulate: Callable[..., pa.Table]
    tables: CensusTables


KINDS = (Kind("homes", simulate_households, BlockTables()), Kind("people", simulate_people, PeopleTables()))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A simulated population of blocks, those drawn from it, and those as large as its tail begins."""

    kind: Kind
    table: pa.Table
    names: NDArray[np.str_]
    sizes: NDArray[np.int64]
    seed: int

    @classmethod
    def of(cls, kind: Kind, n_blocks: int, seed: int) -> Drawn:
        """So many blocks."""
        table = kind.simulate(n_blocks, seed=seed)
        names, sizes = np.unique(
            table["block"].to_numpy(zero_copy_only=False).astype(str), return_counts=True
        )
        return cls(kind, table, names, sizes, seed)

    @cached_property
    def begin(self) -> int:
        """The size that all but the tail have at most."""
        return int(np.quantile(self.sizes, 1 - TAIL))

    def sample(self, n: int) -> NDArray[np.str_]:
        """So many blocks that are not of the tail, each as likely as any other."""
        usual = np.flatnonzero(self.sizes <= self.begin)
        return self.names[np.random.default_rng(self.seed).permutation(usual)[:n]]

    def largest(self, n: int) -> NDArray[np.str_]:
        """So many blocks about as large as the tail begins."""
        return self.names[np.argsort(np.abs(self.sizes - self.begin), kind="stable")[:n]]

    def opened(self, names: NDArray[np.str_], folder: Path) -> Blocks:
        """Some of the blocks, from a file of their own, in no order."""
        chosen = np.isin(self.table["block"].to_numpy(zero_copy_only=False).astype(str), names)
        rows = self.table.filter(pa.array(chosen))
        order = np.random.default_rng(self.seed).permutation(rows.num_rows)
        pq.write_table(rows.take(pa.array(order, pa.int64())), file := folder / f"{self.kind.name}.parquet")
        return read_blocks(file, tables=self.kind.tables)


@dataclass
class Measured:
    """What the sample and the blocks of the tail took, in core-seconds and bytes."""

    drawn: Drawn
    sizes: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    tail_sizes: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    tail_seconds: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    besides: float = 0.0
    feeding: float = 0.0
    joining: float = 0.0
    scanning: float = 0.0
    page: float = 0.0
    verifying: float = 0.0
    disk: dict[str, float] = field(default_factory=dict[str, float])
    partial: float = 0.0
    memory: int = 0
    claims: int = 0
    proved: int = 0
    undecided: int = 0
    problems: int = 0

    def leave_out(self, few: Measured) -> None:
        """Take off what joining and verifying take however few blocks there are."""
        more = len(self.sizes) - len(few.sizes)
        for name in ("joining", "verifying"):
            both = (len(one.sizes) * getattr(one, name) for one in (self, few))
            setattr(self, name, max(0.0, next(both) - next(both)) / more)

    @cached_property
    def exponent(self) -> float:
        """The power of the size that the time of larger blocks grows with."""
        sizes = np.concatenate([self.sizes, self.tail_sizes])
        seconds = np.concatenate([self.seconds, self.tail_seconds])
        large = sizes >= _SMALL
        if large.sum() < 2:
            return 2.0
        return float(np.polyfit(np.log(sizes[large]), np.log(np.maximum(seconds[large], 1e-4)), 1)[0])

    def carried_on(self, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The seconds of blocks of the tail, by their sizes."""
        factor = np.exp(np.mean(np.log(self.tail_seconds) - self.exponent * np.log(self.tail_sizes)))
        return factor * sizes.astype(float) ** self.exponent

    @property
    def tail(self) -> NDArray[np.float64]:
        """The seconds of every block of the population's tail."""
        return self.carried_on(self.drawn.sizes[self.drawn.sizes > self.drawn.begin])

    @property
    def bulk(self) -> tuple[float, float]:
        """Seconds of a block that is not of the tail: the mean, and its standard error."""
        return float(self.seconds.mean()), float(self.seconds.std(ddof=1) / np.sqrt(len(self.seconds)))

    @property
    def largest_page(self) -> float:
        """Core-seconds of a page with evidence from as many claims as one has at most."""
        return self.page * max(1.0, MOST_READ / max(1, self.proved))

    @property
    def mean(self) -> float:
        """Core-seconds per block, all in all, but for joining and verifying."""
        return (1 - TAIL) * self.bulk[0] + TAIL * float(self.tail.mean()) + self.besides


def measure(kind: Kind, *, n_blocks: int, n_tail: int, population: int, seed: int) -> Measured:
    """Audit, write and verify a sample; time blocks of the tail."""
    drawn = Drawn.of(kind, max(population, 2 * n_blocks), seed)
    found = Measured(drawn)
    with tempfile.TemporaryDirectory() as folder:
        few = Measured(drawn)  # what every run takes, and what all blocks share, is no cost of a block
        _run(few, drawn.opened(drawn.sample(n_blocks + _FEW)[-_FEW:], Path(folder)), Path(folder) / "few")
        _run(found, drawn.opened(drawn.sample(n_blocks), Path(folder)), Path(folder) / "run")
        found.leave_out(few)
        every = drawn.opened(drawn.names, Path(folder))
        found.feeding = _timed(lambda: _feed(every, Path(folder) / "fed")) / len(drawn.names)
        found.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        large = drawn.opened(drawn.largest(n_tail), Path(folder))
        areas = [ready(area, large.layout) for area in large.stream(Path(folder))]
        tables = decide_batch(areas, Settings())
        found.tail_sizes = tables["areas"]["records"].to_numpy(zero_copy_only=False).astype(float)
        found.tail_seconds = tables["timing"]["core_seconds"].to_numpy()
    return found


def _run(found: Measured, blocks: Blocks, folder: Path) -> None:
    """A run with everything written, by one process, and its verification."""
    started, decided = time.process_time(), 0.0
    partial = 0

    def progress(_: int) -> None:
        nonlocal decided, partial
        decided, partial = time.process_time(), partial_bytes(folder)

    run = run_audit(
        blocks.stream, blocks.layout, folder, progress=progress, batch=min(_BATCH, blocks.n_areas - 1)
    )
    ended = time.process_time()
    areas, seconds = run.table("areas"), run.table("timing")["core_seconds"].to_numpy()
    found.sizes = areas["records"].to_numpy(zero_copy_only=False).astype(float)
    found.seconds = seconds
    found.claims = int(sum(pc.sum(areas[name]).as_py() or 0 for name in ("verified", "refuted", "undecided")))
    found.proved, found.undecided = (
        int(pc.sum(areas[name]).as_py() or 0) for name in ("verified", "undecided")
    )
    n = len(seconds)
    found.besides = max(0.0, (decided - started - float(seconds.sum())) / n)
    found.joining, found.partial = (ended - decided) / n, partial / n
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix == ".parquet")
    found.disk = {str(path.relative_to(folder)): path.stat().st_size / n for path in sorted(files)}
    started = time.process_time()
    found.problems = len(st.verify(folder).problems)
    found.verifying = (time.process_time() - started) / n
    found.page = _timed(lambda: rendered(folder, None))
    found.scanning = _scanning(run, folder.parent / "enlarged")


def _timed(work: Callable[[], object]) -> float:
    """The core-seconds that something takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def _feed(blocks: Blocks, folder: Path) -> None:
    """Read all blocks and write them down for others, as one process does while they work."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "scratch").mkdir(parents=True)
    store = BatchStore(str(folder), Settings(), "key")
    store.prepare(blocks.layout)
    for number, batch in enumerate(in_batches(blocks.stream(folder / "scratch"), MOST_TIMES * BATCH)):
        store.write_input(number, partial(batch.write, layout=blocks.layout))


def _scanning(run: AuditRun, folder: Path) -> float:
    """Core-seconds per block of what the page of a run in parts reads of all, measured over many of them.

    The claims are not among it: workers have counted them.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("areas", "findings", "counts"):
        write_table([run.table(name)] * _TIMES, name, folder / PLACES[name])
    enlarged = AuditRun(folder)

    def scan() -> None:
        _ = enlarged.has_intervals
        for name, columns in (("findings", ["kind", "k", "n_tables_added"]), ("areas", None)):
            for _part in enlarged.batches(name, columns, rows=2**17):
                pass

    return _timed(scan) / (_TIMES * run.summary.areas)


def partial_bytes(folder: Path) -> int:
    """The bytes of the finished batches of a run that is under way."""
    return sum(path.stat().st_size for path in (folder / ".partial").rglob("*.parquet"))


def show(name: str, value: str) -> None:
    """One line."""
    print(f"  {name:<58}{value:>30}", flush=True)


def report(found: Measured) -> None:
    """Print what was measured, what is carried on, and what a nation costs by it."""
    drawn, what = found.drawn, found.drawn.kind.name
    mean, error = found.bulk
    usual, beyond = found.sizes, drawn.sizes[drawn.sizes > drawn.begin]
    print(f" {what}, measured")
    show(f"blocks drawn, {what}, largest of them", f"{len(usual):,}, {usual.sum():,.0f}, {usual.max():,.0f}")
    show("core-seconds per block: deciding (standard error)", f"{mean:.3f} ({error:.3f})")
    half, most, tail = np.percentile(found.seconds, [50, 95, 99])
    show(
        "  50, 95, 99 % of blocks, the slowest", f"{half:.2f} {most:.2f} {tail:.2f} {found.seconds.max():.1f}"
    )
    show("  reading, counting and writing", f"{found.besides:.4f}")
    show("  joining the files", f"{found.joining:.4f}")
    show("  verifying", f"{found.verifying:.3f}")
    show("  feeding, by one process", f"{found.feeding:.6f}")
    show("  what a page reads of every block, by one process", f"{found.scanning:.6f}")
    show("core-seconds of a page with all that it shows", f"{found.page:.1f}")
    show("  of one with evidence from as many claims as a page reads", f"{found.largest_page:.1f}")
    show("claims, undecided", f"{found.claims:,}, {found.undecided / max(found.claims, 1):.4%}")
    show("rejected by verify", f"{found.problems:,}")
    show("memory of the process, MB", f"{found.memory:,}")
    for name, size in found.disk.items():
        show(f"bytes per block, {name}", f"{size:,.0f}")
    timed = ", ".join(
        f"{n:,.0f}: {s:.1f} s" for n, s in zip(found.tail_sizes, found.tail_seconds, strict=True)
    )
    show(f"the largest {TAIL:.1%} begin at {drawn.begin:,} {what}; timed", timed)
    print(f" {what}, extrapolated to {NATION:,} blocks")
    show(f"the largest {TAIL:.1%}: seconds grow with the size to the power", f"{found.exponent:.2f}")
    largest = found.carried_on(beyond[-1:].clip(min=int(beyond.max())))[0]
    show(
        "  core-seconds of one, on average; of the largest", f"{found.tail.mean():.1f}; {float(largest):,.0f}"
    )
    show("  their share of the time for deciding", f"{_tail_share(found):.1%}")
    _report_nation(found)


def _tail_share(found: Measured) -> float:
    tail = TAIL * float(found.tail.mean())
    return tail / (tail + (1 - TAIL) * found.bulk[0])


def _report_nation(found: Measured) -> None:
    hours = NATION / 3600
    working = (found.mean + found.joining) * hours
    kept = sum(found.disk.values()) * NATION
    n_parts, n_batches = found.partial * NATION / PART_BYTES, NATION / (MOST_TIMES * BATCH)
    show("core-hours: deciding, writing and joining, all by workers", f"{working:,.0f}")
    show("core-hours: verifying, by workers", f"{found.verifying * hours:,.0f}")
    alone = {
        "feeding input in one piece, meanwhile": found.feeding * hours,
        "handing out batches on Spark, meanwhile": DRIVER * n_batches / 3600,
        "the page": found.largest_page / 3600 + found.scanning * hours,
    }
    for name, spent in alone.items():
        show(f"hours of one process: {name}", f"{spent:,.2f}")
    print("  (The tasks of a cluster read and sort input in several pieces; then nothing waits for feeding.)")
    for cores in CORES:
        _report_cores(found, cores, working, alone)
    show("files; GB of them", f"{n_parts * len(PLACES):,.0f}; {kept / 1e9:,.0f}")
    show("  the largest file of a part, MB", f"{max(found.disk.values()) * NATION / n_parts / 1e6:,.0f}")
    show("memory, GB: 16 processes, each like the one measured", f"{16 * found.memory / 1024:,.1f}")


def _report_cores(found: Measured, cores: int, working: float, alone: Mapping[str, float]) -> None:
    """The hours on so many cores, and what they wait for."""
    feeding, handing, page = alone.values()
    audit, verify = max(working / cores, feeding, handing), found.verifying * NATION / 3600 / cores
    busiest = max(("the workers", working / cores), *list(alone.items())[:2], key=lambda one: one[1])
    show(f"hours on {cores:,} cores: audit, page, verify", f"{audit:,.1f} + {page:,.2f} + {verify:,.1f}")
    show("  in all; the audit waits for", f"{audit + page + verify:,.1f}; {busiest[0].split(',')[0]}")


def resumed(n_blocks: int, *, seed: int, workers: int) -> int:
    """Kill a run over people when its first batch is written, call it again, verify it; what was wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_people = write_people(folder / "people.parquet", n_blocks, seed=seed)
        command = [sys.executable, "-m", "showthrough.cli", "census", "audit", str(folder / "people.parquet")]
        command += ["--people", "--workers", str(workers), "--out"]
        kept = _killed([*command, str(folder / "run")], folder / "run")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        again = subprocess.run([*command, str(folder / "run")], capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(" killed and resumed")
        show("blocks, people", f"{n_blocks:,}, {n_people:,}")
        show("batches that were written when it was killed", str(kept))
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        show("exit code of the same command again, core-seconds", f"{again.returncode}, {spent:.1f}")
        if not (folder / "run" / "run.json").exists():
            show("the same command did not finish", again.stderr.strip()[-30:])
            return 1
        checked = st.verify(folder / "run", workers=workers)
        show("proofs checked again, rejected", f"{checked.proofs:,}, {len(checked.problems):,}")
        same = _same_as_undisturbed([*command, str(folder / "whole")], folder) if n_blocks <= 1000 else True
        show("files as without the kill", "not compared" if n_blocks > 1000 else str(same))
    return len(checked.problems) + (not same) + (kept == 0)


def _killed(command: list[str], run: Path) -> int:
    """Start a command, kill it and its workers once a batch is written; how many there are."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while process.poll() is None and not list(run.glob(".partial/[0-9]*/areas.parquet")):
        time.sleep(0.05)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return len(list(run.glob(".partial/[0-9]*/areas.parquet")))


def _same_as_undisturbed(command: list[str], folder: Path) -> bool:
    """Whether a run that nobody kills has files with the same hashes."""
    subprocess.run(command, capture_output=True, check=False)
    hashes = [
        json.loads((folder / run / "run.json").read_text("utf-8"))["outputs"] for run in ("run", "whole")
    ]
    return hashes[0] == hashes[1]
