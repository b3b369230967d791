"""Publishing: by counts against multi-freq-ldpy, end to end against a plain DuckDB COPY, anatomy.

People with 6 public columns and 50 occupations (``publish_data``), in four parts:

* ``counts``: perturb every record and estimate all frequencies, in memory, against multi-freq-ldpy,
  which does it row by row and knows no groups (goal: 10 times faster);
* ``file``: a shuffled Parquet publication, written, read back and counted again, against DuckDB
  copying the same rows to a new Parquet file (goal: at most twice as long, under 4 GiB of memory);
* ``cost``: the CPU time of a uniform publication and of an anatomy of rows in over a million groups
  (of 10 million rows), against one DuckDB statement that perturbs, shuffles and copies them (goals:
  less, and less than twice as much; each in under 1 GB of memory);
* ``anatomy``: buckets for a million rows against a plain implementation (goal: 10 times faster).

``--only file --rows 200000000 --repeat 1 --alone`` is the large case. The exit code is 1 if a goal is
missed, 2 if a peer is not installed.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from benchmarks.parts import Parts
from benchmarks.plain_anatomy import by_counts, plain_anatomy, timed
from benchmarks.publish_data import DETAILED, N_VALUES, PUBLIC, SENSITIVE, write_people
from scipy.sparse import csr_array

PARTS = ("counts", "file", "cost", "anatomy")
RETENTION = 0.3
SEED = 2**90 + 1

#: The goals: how many times faster, how many times as long, how much memory.
FASTER, AS_LONG, MEMORY = 10.0, 2.0, 4 * 2**30

#: The goals of ``cost``: CPU time as a multiple of the statement's, and memory.
COST, LITTLE = {"publish": 1.0, "dealt": 2.0}, 10**9


def show(name: str, value: str) -> None:
    """One line."""
    print(f"  {name:<58}{value:>18}", flush=True)


def judged(goal: str, reached: bool) -> int:
    """Say whether a goal is reached; 1 if not."""
    print(f"  goal: {goal}: {'reached' if reached else 'MISSED'}", flush=True)
    return 0 if reached else 1


@contextmanager
def seconds(into: dict[str, float], name: str) -> Iterator[None]:
    """Note how long something takes; the least where it is done more than once."""
    started = time.perf_counter()
    yield
    took = time.perf_counter() - started
    into[name] = min(took, into.get(name, math.inf))


def read_codes(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The group and the occupation of every row, as numbers."""
    table = pq.read_table(path)
    code = dict[str, np.ndarray]()
    for name in (*PUBLIC, SENSITIVE):
        encoded = table[name].combine_chunks()
        encoded = encoded if hasattr(encoded, "indices") else encoded.dictionary_encode()
        rank = np.argsort(np.argsort(encoded.dictionary.to_pylist()))
        code[name] = rank[encoded.indices.to_numpy()].astype(np.int64)
    group = np.zeros(table.num_rows, np.int64)
    for name, size in PUBLIC.items():
        group = group * size + code[name]
    return group, code[SENSITIVE]


def run_counts(path: Path, options: argparse.Namespace) -> int:
    """Perturb and estimate, from codes in memory."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    except ImportError:
        print("multi-freq-ldpy is needed to compare with: pip install multi-freq-ldpy", file=sys.stderr)
        return 2
    from showthrough.microdata.estimation import invert, variance
    from showthrough.microdata.plan import PERTURB, generator
    from showthrough.microdata.uniform import perturb_counts

    group, value = read_codes(path)
    n_groups = math.prod(PUBLIC.values())
    ours, theirs, more = dict[str, float](), dict[str, float](), dict[str, float]()
    estimate = np.zeros(N_VALUES)
    for _ in range(options.repeat):
        with seconds(ours, "count"):
            cells = np.bincount(group * N_VALUES + value, minlength=n_groups * N_VALUES)
            counts = csr_array(cells.reshape(n_groups, N_VALUES))
        with seconds(ours, "perturb"):
            drawn = perturb_counts(counts, RETENTION, chance=generator(SEED, PERTURB, 0))
            shown = drawn.matrix(counts.shape)
        known: dict[str, Any] = {"retention": RETENTION, "n_values": N_VALUES}
        with seconds(ours, "estimate"):
            seen = np.asarray(shown.sum(axis=0))
            estimate = invert(seen, seen.sum(), **known)
            variance(estimate, np.full(N_VALUES, seen.sum()), **known, within=np.arange(N_VALUES))
        with seconds(more, "estimate"):
            sizes = np.asarray(shown.sum(axis=1), np.int64)
            found = invert(shown.toarray(), sizes[:, None], **known).ravel()
            variance(found, np.repeat(sizes, N_VALUES), **known, within=np.arange(found.size))
    # ε for which its randomized response keeps a value as often: e^ε = γ = 1 + m p/(1 − p).
    epsilon = math.log(1 + N_VALUES * RETENTION / (1 - RETENTION))
    for at in (0, 1):
        GRR_Client(at, N_VALUES, epsilon)  # compiled on its first call, which does not count
    rows, share = value.tolist(), np.zeros(N_VALUES)
    for _ in range(options.repeat):
        with seconds(theirs, "perturb"):
            reports = [GRR_Client(one, N_VALUES, epsilon) for one in rows]
        with seconds(theirs, "estimate"):
            share = GRR_Aggregator_MI(reports, N_VALUES, epsilon)
    truth = np.bincount(value, minlength=N_VALUES)
    for name, took in (("by counts", ours), ("multi-freq-ldpy (no groups)", theirs)):
        listed = " + ".join(f"{part} {took[part]:.2f}" for part in took)
        show(f"{name}: {listed}", f"{sum(took.values()):.2f} s")
    show(f"besides, by counts: every frequency in all {n_groups:,} groups", f"{more['estimate']:.2f} s")
    off = [np.abs(one - truth).sum() / truth.sum() for one in (estimate, np.asarray(share) * len(value))]
    show("sum of errors over values, of all records", f"{off[0]:.2%} {off[1]:.2%}")
    ratio = sum(theirs.values()) / sum(ours.values())
    show("times faster", f"{ratio:.1f}")
    return judged(f"at least {FASTER:.0f} times faster", ratio >= FASTER)


def run_file(path: Path, options: argparse.Namespace) -> int:
    """Publish end to end, and copy, each in a process of its own, in turn."""
    found: dict[str, dict[str, float]] = {}
    for _ in range(options.repeat):
        for what in ("publish",) if options.alone else ("copy", "publish"):
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                made = child(what, path, Path(folder) / "out")
            best = found.setdefault(what, made)
            best["seconds"] = min(best["seconds"], made["seconds"])
            best["memory"] = max(best["memory"], made["memory"])
            show(f"{what}: {made['seconds']:.2f} s", f"{made['memory'] / 2**20:,.0f} MiB")
    missed = 0
    if not options.alone:
        ratio = found["publish"]["seconds"] / found["copy"]["seconds"]
        show("times as long as a plain DuckDB COPY", f"{ratio:.2f}")
        missed = judged(f"at most {AS_LONG:.0f} times as long", ratio <= AS_LONG)
    used = found["publish"]["memory"]
    return missed + judged(f"under {MEMORY / 2**30:.0f} GiB ({used / 2**30:.2f})", used < MEMORY)


def run_cost(_: Path, options: argparse.Namespace) -> int:
    """CPU time and memory of publications, beside those of a statement, each in a process of its own."""
    names = {"statement": "one DuckDB statement", "publish": "uniform publication", "dealt": "anatomy, l = 4"}
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        people = Path(folder) / "detailed.parquet"
        write_people(people, options.rows, public=DETAILED, skew=2.0)
        for turn in range(options.repeat):
            for what in names:
                made = child(what, people, Path(folder) / f"{what}-{turn}")
                best = found.setdefault(what, made)
                best["cpu"] = min(best["cpu"], made["cpu"])
                best["memory"] = max(best["memory"], made["memory"])
    for what, name in names.items():
        show(f"{name}: {found[what]['cpu']:.2f} s of CPU", f"{found[what]['memory'] / 10**6:,.0f} MB")
    missed = 0
    for what, goal in COST.items():
        ratio = found[what]["cpu"] / found["statement"]["cpu"]
        show(f"{names[what]}: times the CPU of the statement", f"{ratio:.2f}")
        missed += judged(f"below {goal:.1f}", ratio < goal)
        missed += judged(f"under {LITTLE / 10**9:.0f} GB of memory", found[what]["memory"] < LITTLE)
    return missed


def child(what: str, path: Path, out: Path) -> dict[str, float]:
    """Do something in a process of its own: seconds and CPU without its start, and its peak memory."""
    command = [sys.executable, "-m", "benchmarks", "publish", "--child", what, str(path), str(out)]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def run_child(what: str, path: str, out: str) -> int:
    """The work of such a process."""
    work: Callable[[str, str], None] = {
        "publish": publish_file,
        "dealt": publish_anatomy,
        "copy": copy_file,
        "statement": perturb_in_sql,
    }[what]
    import duckdb  # noqa: F401 - not to be timed

    import showthrough.microdata.publish  # noqa: F401

    started, before = time.perf_counter(), time.process_time()
    work(path, out)
    took, used = time.perf_counter() - started, time.process_time() - before
    print(json.dumps({"seconds": took, "cpu": used, "memory": peak_memory()}))
    return 0


def peak_memory() -> int:
    """The most memory this process ever held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage says on Linux includes the process that started this one.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def publish_file(path: str, out: str) -> None:
    """A uniform publication, as the command makes it."""
    from showthrough.microdata.publish import publish
    from showthrough.microdata.uniform import UniformPerturbation

    publish(path, out, sensitive=SENSITIVE, method=UniformPerturbation(RETENTION), seed=SEED)


def copy_file(path: str, out: str) -> None:
    """The same rows in a new file, as they are."""
    import duckdb

    target = f"{out}.parquet".replace("'", "''")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM read_parquet($1)) TO '{target}' (FORMAT parquet)", [path])  # noqa: S608


def publish_anatomy(path: str, out: str) -> None:
    """An anatomy, as the command makes it."""
    from showthrough.microdata.anatomy import Anatomized
    from showthrough.microdata.promises import LDiversity
    from showthrough.microdata.publish import publish

    publish(path, out, sensitive=SENSITIVE, method=Anatomized(LDiversity(4)), seed=SEED)


def perturb_in_sql(path: str, out: str) -> None:
    """The same rows perturbed and shuffled by a statement; nothing is checked, and no seed is kept."""
    import duckdb

    source, target = (text.replace("'", "''") for text in (path, f"{out}.parquet"))
    drawn = f"(SELECT v FROM known)[1 + floor(random() * {N_VALUES})::INT]"  # noqa: S608
    shown = f"CASE WHEN random() < {RETENTION} THEN {SENSITIVE} ELSE {drawn} END AS {SENSITIVE}"
    query = f"""
        COPY (WITH known AS (SELECT list(DISTINCT {SENSITIVE}) AS v FROM '{source}')
              SELECT * REPLACE ({shown}) FROM '{source}' ORDER BY random()) TO '{target}' (FORMAT parquet)
    """  # noqa: S608 - names and paths of this benchmark
    with duckdb.connect() as connection:
        connection.execute(query)


def run_anatomy(_: Path, options: argparse.Namespace) -> int:
    """Buckets of five for a million rows, the counting included."""
    chosen = argparse.Namespace(groups=5_000, values=50, l=5, seed=1)
    rng = np.random.default_rng(chosen.seed)
    group = rng.integers(0, chosen.groups, 1_000_000)
    weights = 0.95 ** np.arange(chosen.values)
    value = rng.choice(chosen.values, len(group), p=weights / weights.sum())
    rows = value.tolist()
    ours = min(timed(lambda: by_counts(group, value, chosen)) for _ in range(options.repeat))
    plain = min(timed(lambda: plain_anatomy(rows, chosen.l, chosen.seed)) for _ in range(2))
    show("by counts, plain buckets", f"{ours:.2f} s, {plain:.2f} s")
    show("times faster", f"{plain / ours:.1f}")
    return judged(f"at least {FASTER:.0f} times faster", plain / ours >= FASTER)


RUN: dict[str, Callable[[Path, argparse.Namespace], int]] = {
    "counts": run_counts,
    "file": run_file,
    "cost": run_cost,
    "anatomy": run_anatomy,
}


def main(arguments: list[str]) -> int:
    """Run the parts asked for."""
    parser = Parts("publish", PARTS, about=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--alone", action="store_true", help="publish files without a copy to compare with")
    parser.add_argument("--folder", type=Path, default=None, help="where to put files meanwhile")
    parser.add_argument("--child", nargs=3, metavar=("WHAT", "FROM", "TO"), help=argparse.SUPPRESS)
    options = parser.read(arguments)
    if options.child:
        return run_child(*options.child)
    codes = list[int]()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        people = Path(folder) / "people.parquet"
        if {"counts", "file"} & set(options.parts):
            write_people(people, options.rows)
            size = people.stat().st_size / 2**20
            print(f"{options.rows:,} rows, 6 public columns, {N_VALUES} values, {size:,.0f} MiB")
        for part in options.parts:
            print(f"{part}:", flush=True)
            codes.append(RUN[part](people, options))
    return 2 if 2 in codes else min(1, sum(codes))
