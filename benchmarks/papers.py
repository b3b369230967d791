"""Every figure and table of the four papers: what comes out here, beside what they print.

Papers are named by number: 000 (claims from tables), 001 (reconstruction privacy), 002 (inter-quantile
attack) and 003 (small domains). ``--only 002`` runs one of them, ``--figure "Figure 7"`` the figures whose
name contains that. Each figure is printed with its spread over draws and says whether what the paper says
came true, and why it did not. All figures of this and earlier runs go into one page, ``papers.html``, in the
folder that ``--out`` names; a run replaces what it has run.

001 and 003 need a folder with ``adult.parquet`` (the UCI census income data) and
``acs2018_workers.parquet`` (the American Community Survey 2018), named by ``--data`` or SHOWTHROUGH_DATA.
Nothing is asserted; the exit code is 2 if the data are missing.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.paper.data import Asked
from benchmarks.paper.figure import Figure, load, save, say
from benchmarks.paper.page import figures_written
from benchmarks.parts import Parts

#: Where the figures of each paper are.
MODULES = {
    "000": "claims",
    "001": "reconstruction_privacy",
    "002": "interquantile",
    "003": "small_domain",
}

#: Papers that need the data.
ON_DATA = {"001", "003"}


def run(paper: str, asked: Asked, named: str = "") -> Iterator[list[Figure]]:
    """The figures of a paper whose names contain a text, printed as they are found."""
    module = importlib.import_module(f"benchmarks.paper.{MODULES[paper]}")
    for name, make in module.FIGURES.items():
        if named.lower() not in name.lower():
            continue
        started = time.process_time()
        made = make(asked)
        figures = made if isinstance(made, list) else [made]
        for figure in figures:
            say(figure)
        print(f"  ({time.process_time() - started:.1f} core-seconds)", flush=True)
        yield figures


def replaced(old: Sequence[Figure], new: Sequence[Figure]) -> list[Figure]:
    """Old figures with new ones in their places, others of the new ones at the end."""
    fresh = {figure.name: figure for figure in new}
    kept = [fresh.pop(figure.name, figure) for figure in old]
    return [*kept, *fresh.values()]


def main(arguments: list[str]) -> int:
    """Run the papers asked for, and write the page."""
    parser = Parts("papers", list(MODULES), about=__doc__)
    parser.add_argument("--figure", default="", help="only figures whose name contains this")
    parser.add_argument("--data", type=Path, default=os.environ.get("SHOWTHROUGH_DATA"))
    parser.add_argument("--out", type=Path, default=Path("build/papers"), help="folder of the page")
    parser.add_argument(
        "--quick", action="store_true", help="fewer settings, draws, runs, queries and blocks"
    )
    parser.add_argument("--runs", type=int, help="runs of each publication (10, quick 3)")
    parser.add_argument("--queries", type=int, help="random queries (5,000, quick 1,000)")
    parser.add_argument("--draws", type=int, help="draws of noise or of data (10, quick 3)")
    parser.add_argument("--blocks", type=int, help="census blocks (50, quick 10)")
    parser.add_argument("--claims", type=int, default=6, help="claims put to the program of 000")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.read(arguments)
    quick = options.quick
    asked = Asked(
        None if options.data is None else Path(options.data),
        quick,
        options.runs or (3 if quick else 10),
        options.queries or (1_000 if quick else 5_000),
        options.draws or (3 if quick else 10),
        options.blocks or (10 if quick else 50),
        options.claims,
        options.seed,
    )
    if ON_DATA & set(options.parts) and (problem := asked.missing()):
        print(problem, file=sys.stderr)
        return 2
    for paper in options.parts:
        print(f"== {paper} ==", flush=True)
        file = options.out / f"{paper}.json"
        for figures in run(paper, asked, options.figure):
            save(replaced(load(file), figures), file)
    figures = [figure for paper in MODULES for figure in load(options.out / f"{paper}.json")]
    settings = {name: value for name, value in asdict(asked).items() if name != "data"}
    print(f"\n{figures_written(figures, settings, options.out / 'papers.html')}")
    for figure in figures:
        print(f"  {figure.name:<28} {figure.verdict}")
    return 0
