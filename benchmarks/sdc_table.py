"""The package sdcTable in R, where it is installed: it protects the same cells."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gauss_suppression import levels, read_pattern, write_data
from benchmarks.r_packages import PeerFailed, PeerPattern, run_script

from showthrough.tables.protect.cells.problem import CellProblem

#: Cells of 0 are published, as for the others; totals are named as GaussSuppression names them.
SCRIPT = """
method <- commandArgs(TRUE)[1]
suppressMessages(library(sdcTable))
data <- read.csv("data.csv", colClasses = "character")
data$freq <- as.numeric(data$freq)
axes <- grep("^a[0-9]+$", names(data), value = TRUE)
levels <- lapply(axes, function(axis) read.csv(paste0(axis, ".csv"), colClasses = "character"))
names(levels) <- axes
problem <- makeProblem(data = data[c(axes, "freq")], dimList = levels, freqVarInd = "freq")
problem <- primarySuppression(problem, type = "freq", maxN = 1, allowZeros = FALSE)
started <- proc.time()
safe <- protectTable(problem, method = method)
seconds <- sum((proc.time() - started)[c("user.self", "sys.self")])
found <- as.data.frame(getInfo(safe, "finalData"))
names(found)[names(found) == "Freq"] <- "freq"
found$suppressed <- found$sdcStatus %in% c("u", "x")
found$seconds <- seconds
write.csv(found[c(axes, "freq", "suppressed", "seconds")], "found.csv", row.names = FALSE)
"""


def protect(
    problem: CellProblem, *, method: str = "SIMPLEHEURISTIC", seconds: float | None = None
) -> PeerPattern:
    """Let R protect the cells that count one, by one of the package's methods."""
    if problem.hidden.any():
        raise PeerFailed("it protects tables with all their margins only")
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_data(problem, folder / "data.csv")
        for at in range(len(problem.axes)):
            write_hierarchy(problem, at, folder / f"a{at}.csv")
        run_script(SCRIPT, folder, [method], seconds=seconds)
        return PeerPattern(*read_pattern(problem, folder / "found.csv"))


def write_hierarchy(problem: CellProblem, at: int, path: Path) -> None:
    """The codes of an axis, each after the one above it, with as many signs as its depth."""
    axis, rows = problem.axes[at], [("levels", "codes"), ("@", "Total")]
    below = list(reversed(levels(problem, at)))

    def add(depth: int, within: set[int]) -> None:
        if depth == len(below):
            return
        for node in below[depth]:
            leaves = {leaf for leaf in range(axis.n_leaves) if axis.members[node, leaf]}
            if leaves <= within:
                rows.append(("@" * (depth + 2), f"n{node}"))
                add(depth + 1, leaves)

    add(0, set(range(axis.n_leaves)))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
