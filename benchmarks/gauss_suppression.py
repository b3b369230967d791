"""GaussSuppression in R, where it is installed: it protects the same cells."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.r_packages import PeerPattern, run_script
from numpy.typing import NDArray

from showthrough.tables.protect.cells.problem import CellProblem

SCRIPT = """
asked <- commandArgs(TRUE)
suppressMessages(library(GaussSuppression))
data <- read.csv("data.csv", colClasses = "character")
data$freq <- as.integer(data$freq)
dims <- setdiff(names(data), "freq")
options <- list(data = data, maxN = 1, freqVar = "freq", protectZeros = FALSE, printInc = FALSE)
if (asked[2] == "plain") {
  options$singletonMethod <- "none"
}
if (asked[1] == "all") {
  options$dimVar <- dims
} else {
  options$formula <- as.formula(paste0("~ (", paste(dims, collapse = " + "), ")^", asked[1]))
}
started <- proc.time()
found <- do.call(SuppressSmallCounts, options)
found$seconds <- sum((proc.time() - started)[c("user.self", "sys.self")])
write.csv(found, "found.csv", row.names = FALSE)
"""


def protect(problem: CellProblem, *, plain: bool = False, seconds: float | None = None) -> PeerPattern:
    """Let R protect the cells that count one.

    By default it also guards against a person who knows that a cell's single record is their own; ``plain``
    leaves that out.
    """
    ways = "all" if not problem.hidden.any() else str(len(problem.axes) - 1)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(problem, folder / "data.csv")
        run_script(SCRIPT, folder, [ways, "plain" if plain else "usual"], seconds=seconds)
        return PeerPattern(*read_pattern(problem, folder / "found.csv"))


def levels(problem: CellProblem, at: int) -> list[tuple[int, ...]]:
    """The levels of a hierarchy below its total, the finest first."""
    axis = problem.axes[at]
    root = axis.node(range(axis.n_leaves))
    if root is None:
        raise ValueError("only axes with a total can be handed to R")
    return list(reversed(axis.covers[root]))


def write_data(problem: CellProblem, path: Path) -> None:
    """One line per combination of leaves, with a column for each level of each axis."""
    columns = dict[str, list[str]]()
    for at, axis in enumerate(problem.axes):
        leaves = problem.cells[problem.atoms, at]
        for depth, nodes in enumerate(levels(problem, at)):
            above = np.array(
                [next(one for one in nodes if axis.members[one, leaf]) for leaf in range(axis.n_leaves)]
            )
            columns[f"a{at}" + (f"level{depth}" if depth else "")] = [
                f"n{node}" for node in above[leaves].tolist()
            ]
    columns["freq"] = [str(count) for count in problem.counts[problem.atoms].tolist()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def read_pattern(problem: CellProblem, path: Path) -> tuple[NDArray[np.bool_], float]:
    """The cells that R suppresses, and the seconds it took."""
    suppressed, seconds = np.zeros(len(problem.counts), bool), 0.0
    roots = [axis.node(range(axis.n_leaves)) or 0 for axis in problem.axes]
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            codes = [row[f"a{at}"] for at in range(len(problem.axes))]
            nodes = [
                root if code == "Total" else int(code[1:]) for root, code in zip(roots, codes, strict=True)
            ]
            place = sum(node * by for node, by in zip(nodes, problem.strides, strict=True))
            cell = int(problem.index[place])
            if int(row["freq"]) != problem.counts[cell]:
                raise ValueError(f"R counts {row['freq']} in cell {cell}, not {problem.counts[cell]}")
            suppressed[cell] = row["suppressed"] == "TRUE"
            seconds = float(row["seconds"])
    return suppressed, seconds
