"""Suppressed cells: ``recover`` beside linear programs for one cell after the other, on the same tables.

The tables are drawn: three attributes with all margins, counts of 1 and 2 suppressed, and in every line with
one suppressed cell a second one. The linear programs have the published margins as rows and all cells as
columns, published ones fixed; a minimum and a maximum for every suppressed cell. ``linprog``: that of SciPy,
as scripts use it; ``cold``: HiGHS, each from scratch;
``warm``: one model whose objective changes, as HiGHS is by default; ``primal``: the same with the simplex
method that suits it. For cold and warm ones some cells are timed, and multiplied. Seconds are those of the
processor, so that other programs do not matter.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

import showthrough as st
from showthrough.release import Release, make_table

SHAPES = ((12, 6, 6), (50, 20, 10))
NAMES = ("region", "age", "trade")

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Counts, which of them are suppressed, and the release."""

    counts: Counts
    hidden: Flags
    release: Release


def draw(shape: tuple[int, ...], seed: int) -> Drawn:
    """A table with suppressed cells, and its margins."""
    rng = np.random.default_rng(seed)
    rate = np.full(shape, 50.0)
    for axis, size in enumerate(shape):
        line = [1] * len(shape)
        line[axis] = size
        rate = rate * (rng.gamma(1.5, 1 / 1.5, size)).reshape(line)
    counts = rng.poisson(rate * rng.gamma(2, 0.5, shape))
    hidden = (counts > 0) & (counts < 3)
    for _ in range(3):
        for axis in range(counts.ndim):
            second_cells(counts, hidden, axis)
    return Drawn(counts, hidden, release_of(counts, hidden))


def second_cells(counts: Counts, hidden: Flags, axis: int) -> None:
    """In lines with one suppressed cell, suppress the smallest other one that is not 0."""
    left = np.where(hidden | (counts == 0), np.iinfo(np.int64).max, counts)
    at = np.expand_dims(left.argmin(axis=axis), axis)
    alone = np.expand_dims(hidden.sum(axis=axis) == 1, axis)
    some = np.take_along_axis(left, at, axis) < np.iinfo(np.int64).max
    np.put_along_axis(hidden, at, np.take_along_axis(hidden, at, axis) | (alone & some), axis)


def release_of(counts: Counts, hidden: Flags) -> Release:
    """The release: all cells and all margins."""
    names = NAMES[: counts.ndim]
    schema = st.Schema.of(
        {n: [f"{n} {i}" for i in range(k)] for n, k in zip(names, counts.shape, strict=True)}
    )
    table = make_table(schema, "*".join(names), totals=True)
    values: list[int | None] = []
    for cell in table.cells:
        place = tuple(
            schema[name].values.index(next(iter(cell.selection[name])))
            if name in cell.selection
            else slice(None)
            for name in names
        )
        whole = all(name in cell.selection for name in names)
        values.append(None if whole and hidden[place] else int(counts[place].sum()))
    return Release.of(schema, {table: values})


class OneByOne:
    """Linear programs about one suppressed cell after the other."""

    def __init__(self, drawn: Drawn, **options: str | int) -> None:
        counts, shape = drawn.counts, drawn.counts.shape
        index = np.arange(counts.size).reshape(shape)
        parts, right = [], []
        for kept in range(2 ** len(shape) - 1):
            summed = tuple(axis for axis in range(len(shape)) if not kept >> axis & 1)
            flat = np.moveaxis(index, summed, range(-len(summed), 0)).reshape(
                -1, int(np.prod([shape[a] for a in summed]))
            )
            n = len(flat)
            starts = np.arange(n + 1) * flat.shape[1]
            parts.append(csr_array((np.ones(flat.size), flat.ravel(), starts), shape=(n, counts.size)))
            right.append(counts.ravel()[flat].sum(axis=1))
        self.matrix = csr_array(vstack(parts))
        self.right = np.concatenate(right).astype(float)
        self.low = np.where(drawn.hidden, 0, counts).ravel().astype(float)
        self.high = np.where(drawn.hidden, 1e30, counts).ravel().astype(float)
        self.options = options
        self.highs = self.model()

    def model(self) -> highspy.Highs:
        """HiGHS with the rows and columns."""
        highs = highspy.Highs()
        for name, value in {"output_flag": False, "threads": 1, **self.options}.items():
            highs.setOptionValue(name, value)
        n, matrix = len(self.low), self.matrix
        highs.passModel(
            n, len(self.right), matrix.nnz,
            int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), 0.0,
            np.zeros(n), self.low, self.high, self.right, self.right,
            matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), np.ones(matrix.nnz),
            np.zeros(n, np.int32),
        )  # fmt: skip
        return highs

    def end(self, at: int, sign: int, *, cold: bool = False) -> float:
        """The least (sign 1) or largest (sign −1) value of a cell."""
        highs = self.model() if cold else self.highs
        highs.changeColCost(at, float(sign))
        highs.run()
        value = sign * highs.getInfo().objective_function_value
        if not cold:
            highs.changeColCost(at, 0.0)
        return value


def timed_linprog(drawn: Drawn, cells: Counts) -> float:
    """Seconds of ``scipy.optimize.linprog`` for both ends of some cells."""
    programs = OneByOne(drawn)
    limits = np.column_stack([programs.low, np.where(programs.high >= 1e30, np.inf, programs.high)])
    begun = time.process_time()
    for at in cells:
        for sign in (1, -1):
            cost = np.zeros(len(programs.low))
            cost[at] = sign
            linprog(cost, A_eq=programs.matrix, b_eq=programs.right, bounds=limits, method="highs")
    return time.process_time() - begun


def timed_ends(drawn: Drawn, cells: Counts, *, cold: bool, **options: str | int) -> tuple[float, Vector]:
    """Seconds, and both ends of some cells."""
    programs = OneByOne(drawn, **options)
    begun = time.process_time()
    found = np.array([[programs.end(int(at), sign, cold=cold) for sign in (1, -1)] for at in cells])
    return time.process_time() - begun, found


def compare(shape: tuple[int, ...], seed: int, cold_cells: int) -> None:
    """One table: all ways, and whether the numbers are the same."""
    drawn = draw(shape, seed)
    cells = np.flatnonzero(drawn.hidden.ravel())
    size = " × ".join(map(str, shape))
    print(f"\n{drawn.counts.size:,} cells ({size}) with margins, {len(cells):,} suppressed")
    st.recover(release_of(drawn.counts[:2, :2, :2], drawn.hidden[:2, :2, :2]))  # loads the solvers
    begun = time.process_time()
    found = st.recover(drawn.release)
    ours = time.process_time() - begun
    proofs = sum(len(cell.proofs) for cell in found.cells)
    attained = sum(cell.low_attained for cell in found.cells) + sum(
        cell.high_attained for cell in found.cells
    )
    print(f"  recover: {ours:.1f} s, {proofs:,} proofs accepted by the checker,", end=" ")
    print(f"{attained:,} of {2 * len(cells):,} ends attained by a dataset of whole records")
    print(f"  {found!r}")
    primal, ends = timed_ends(drawn, cells, cold=False, solver="simplex", simplex_strategy=4, presolve="off")
    said = {cell.published.selection: (cell.low, cell.high) for cell in found.cells}
    check(drawn, cells, ends, said)
    some = np.random.default_rng(0).permutation(cells)[:cold_cells]
    scale = len(cells) / len(some)
    warm, _ = timed_ends(drawn, some, cold=False)
    cold, _ = timed_ends(drawn, some, cold=True)
    script = timed_linprog(drawn, some)
    part = "" if scale == 1 else f" ({len(some)} cells timed)"
    ways = (("linprog", script * scale), ("cold", cold * scale), ("warm", warm * scale), ("primal", primal))
    for name, seconds in ways:
        note = "" if name == "primal" else part
        print(
            f"  linear programs one by one, {name}: {seconds:.1f} s, {seconds / ours:.1f} times as long{note}"
        )


def check(
    drawn: Drawn, cells: Counts, ends: Vector, said: dict[st.Selection, tuple[int, int | None]]
) -> None:
    """Whether the numbers are those of the linear programs, rounded inwards."""
    names, shape = NAMES[: drawn.counts.ndim], drawn.counts.shape
    same, inside = 0, 0
    for at, (low, high) in zip(cells, ends, strict=True):
        place = np.unravel_index(at, shape)
        selection = st.Selection.of({n: f"{n} {int(i)}" for n, i in zip(names, place, strict=True)})
        mine = said[selection]
        rounded = int(np.ceil(low - 1e-6)), int(np.floor(high + 1e-6))
        same += mine == rounded
        inside += mine[1] is not None and rounded[0] <= mine[0] and mine[1] <= rounded[1]
        if not mine[0] <= drawn.counts[place] <= (mine[1] or 0):
            raise SystemExit(f"the true count of {selection} is outside what was found")
    print(f"  same interval as by linear programs: {same:,} of {len(cells):,} cells; inside: {inside:,}")


def main(arguments: list[str] | None = None) -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cold-cells", type=int, default=40, help="cells timed cold (default: 40)")
    parser.add_argument("--small", action="store_true", help="only the table of 432 cells")
    options = parser.parse_args(arguments)
    for shape in SHAPES[:1] if options.small else SHAPES:
        compare(shape, options.seed, options.cold_cells)


if __name__ == "__main__":
    main()
