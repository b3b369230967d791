"""Rebuild the joint distribution of two or three columns, on a product grid.

The joint distribution shows how columns depend on each other, which the columns one by one do not.
The update is the same; convolutions run over all axes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_each
from showthrough.numbers.bins import Kernel, Method, check_finite, check_method, make_taps, n_taps_beside
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.iteration import HeldOut, Stop, Update, as_rule, iterate
from showthrough.numbers.joint_noise import IndependentNoise, as_noise
from showthrough.numbers.noise import Floats, JointNoise, Noise, as_floats
from showthrough.numbers.reconstruction import explainable
from showthrough.text import html_summary, percent

__all__ = [
    "JointDistribution",
    "JointReconstruction",
    "reconstruct_joint",
]

#: Bins of each column by the number of columns.
_BINS = {2: 64, 3: 28}

#: Noise further out than with this probability is left to the nearest cells: space is cubic here.
_TAIL = 1e-7

#: Folds that are held out by default; each costs as much as the whole.
_FOLDS = 4

#: The most cells that noise and grid may take together.
_MOST_CELLS = 2**25

#: Points and weights of Gauss and Legendre's rule for the two halves of a bin's triangle.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Probability mass in the cells of a product grid, one axis per column.

    >>> pair = JointDistribution((Grid(0.0, 1.0, 2), Grid(0.0, 1.0, 2)), [[0.5, 0.0], [0.0, 0.5]])
    >>> pair.mean.tolist(), pair.correlation.round(3).tolist()
    ([1.0, 1.0], [[1.0, 0.75], [0.75, 1.0]])
    >>> pair.marginal(0).mass.tolist()
    [0.5, 0.5]
    """

    grids: tuple[Grid, ...]
    mass: Floats

    def __post_init__(self) -> None:
        mass = np.array(self.mass, float)
        if mass.shape != tuple(grid.bins for grid in self.grids):
            raise InputError("the masses do not fit the grid", found=str(mass.shape))
        if not (np.isfinite(mass).all() and (mass >= 0).all() and mass.sum() > 0):
            raise InputError("the masses of a distribution must be finite, not negative, and not all 0")
        mass /= mass.sum()
        mass.setflags(write=False)
        object.__setattr__(self, "mass", mass)

    @classmethod
    def of(cls, values: ArrayLike, grids: Sequence[Grid]) -> JointDistribution:
        """The histogram of known values; values outside the grid go to its nearest cell."""
        matrix = _matrix(values)
        places = [
            np.clip(np.floor((column - grid.low) / grid.width).astype(int), 0, grid.bins - 1)
            for column, grid in zip(matrix.T, grids, strict=True)
        ]
        sizes = tuple(grid.bins for grid in grids)
        flat = np.bincount(np.ravel_multi_index(places, sizes), minlength=int(np.prod(sizes)))
        return cls(tuple(grids), flat.reshape(sizes).astype(float))

    def marginal(self, column: int) -> Distribution:
        """The distribution of one column."""
        others = tuple(axis for axis in range(self.mass.ndim) if axis != column)
        return Distribution(self.grids[column].edges, self.mass.sum(axis=others))

    @property
    def mean(self) -> Floats:
        """The columns' means."""
        return np.array([self.marginal(column).mean for column in range(self.mass.ndim)])

    @property
    def covariance(self) -> Floats:
        """The covariance matrix, the spread within cells included."""
        size = self.mass.ndim
        found = np.diag([self.marginal(column).variance for column in range(size)])
        apart = [grid.midpoints - mean for grid, mean in zip(self.grids, self.mean, strict=True)]
        for one in range(size):
            for other in range(one):
                rest = tuple(axis for axis in range(size) if axis not in (one, other))
                both = self.mass.sum(axis=rest)
                found[one, other] = found[other, one] = apart[other] @ both @ apart[one]
        return found

    @property
    def correlation(self) -> Floats:
        """The correlation matrix."""
        sds = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(sds, sds)

    def loss(self, other: JointDistribution) -> float:
        """The information loss ½Σ|f − g| over the cells of the same grid."""
        if self.grids != other.grids:
            raise InputError("distributions are on different grids", remedy="use one grid for both")
        return float(np.abs(self.mass - other.mass).sum() / 2)


@dataclass(frozen=True, eq=False)
class JointReconstruction:
    """The rebuilt joint distribution and how it was reached.

    Attributes
    ----------
    distribution
        The joint distribution of the hidden columns.
    method
        ``"em"`` or ``"as"``.
    n_values
        How many records there are.
    iterations, steps, stopped
        The iterations made, the likelihoods on the way, and why they ended.
    unexplained
        The share of the records that cannot come from the grid with this noise.
    explanation
        All of this, as sentences.
    """

    distribution: JointDistribution
    method: Method
    n_values: int
    iterations: int
    steps: tuple[Update, ...]
    stopped: str
    unexplained: float
    explanation: tuple[str, ...]

    def __repr__(self) -> str:
        title = f"JointReconstruction({self.method}, {self.n_values:,} records)"
        return "\n  ".join([title, *self.explanation])

    def _repr_html_(self) -> str:
        """Means and correlations as rebuilt, for notebooks."""
        found = self.distribution
        means, correlations = found.mean.tolist(), found.correlation.tolist()
        rows = [
            (at + 1, f"{mean:.5g}", *(f"{value:.2f}" for value in correlations[at]))
            for at, mean in enumerate(means)
        ]
        head = ("column", "mean", *(f"correlation with {at + 1}" for at in range(len(rows))))
        title = f"Rebuilt by {self.method} from {self.n_values:,} records"
        return html_summary(title, [head, *rows], note="; ".join(self.explanation))


def reconstruct_joint(
    values: ArrayLike,
    noise: Noise | JointNoise | str,
    *,
    method: Method = "em",
    grids: Sequence[Grid] | None = None,
    stop: Stop | int | None = None,
) -> JointReconstruction:
    """Rebuild the joint distribution of two or three hidden columns.

    Parameters
    ----------
    values
        The noisy values, a matrix with one row for each record.
    noise
        The law for every column, or a joint law; or its text.
    method
        ``"em"`` or ``"as"``, as for :func:`reconstruct`.
    grids
        The bins of each column; chosen from the data by default.
    stop
        A rule or a number of iterations; by default held-out values decide.

    Returns
    -------
    JointReconstruction
        The joint distribution, and an explanation of how it was reached.

    Raises
    ------
    InputError
        If there are not two or three columns, or the noise or the grids are for another number.

    Examples
    --------
    >>> from showthrough.numbers.perturb import perturb
    >>> hidden = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 5_000)
    >>> found = reconstruct_joint(perturb(hidden, "gaussian:sd=1", seed=2), "gaussian:sd=1")
    >>> bool(0.65 < found.distribution.correlation[0, 1] < 0.95)
    True
    """
    check_method(method)
    if grids is not None:
        check_each(grids, Grid, name="grids", remedy="write [Grid(0, 2.5, 40), Grid(0, 1, 50)]")
    matrix = _matrix(values)
    size = matrix.shape[1]
    if size not in _BINS:
        raise InputError(
            "a joint distribution is rebuilt for two or three columns",
            found=str(size),
            remedy="choose columns, or rebuild each by itself with reconstruct_columns",
        )
    law = as_noise(noise, columns=size)
    joint = law if isinstance(law, JointNoise) else IndependentNoise([law] * size)
    if joint.columns != size:
        raise InputError("the noise is for another number of columns", found=f"{joint.columns} for {size}")
    chosen = tuple(grids) if grids is not None else _choose_grids(matrix, joint)
    if len(chosen) != size:
        raise InputError("give one grid for each column", found=f"{len(chosen)} for {size}")
    taps = joint_taps(joint, [grid.width for grid in chosen], method)
    counts = _count(matrix, chosen, taps.shape)
    kernel = Kernel.of(taps[None, None], bins=tuple(grid.bins for grid in chosen))
    start = np.full((1, *kernel.bins), 1 / np.prod(kernel.bins))
    explained = explainable(counts[None], kernel.fold(start[:, None])[:, 0])
    (run,) = iterate(explained, kernel, start, HeldOut(folds=_FOLDS) if stop is None else as_rule(stop))
    unexplained = 1 - int(explained.sum()) / len(matrix)
    cells = " × ".join(str(grid.bins) for grid in chosen)
    how = "as given" if grids is not None else "over the published values"
    explanation = [f"{cells} cells, {how}", f"{method.upper()}: {run.reason}"]
    if unexplained > 0:
        explanation.append(
            f"{percent(unexplained, 3)} of the rows cannot come from this grid and were left out"
        )
    return JointReconstruction(
        JointDistribution(chosen, run.mass),
        method,
        len(matrix),
        run.iterations,
        run.steps,
        run.reason,
        unexplained,
        tuple(explanation),
    )


def joint_taps(noise: JointNoise, widths: Sequence[float], method: Method) -> Floats:
    """Probabilities of being published some number of cells away along each axis.

    Independent noise is a product of single columns' taps. Else densities are taken at midpoints
    (AS) or integrated over both cells by Gauss and Legendre's rule (EM).
    """
    beside = [n_taps_beside(noise.marginal(j), width, tail=_TAIL) for j, width in enumerate(widths)]
    if np.prod([2.0 * b + 1 for b in beside]) > _MOST_CELLS:
        raise InputError(
            "the noise is too wide for such narrow cells",
            found=" × ".join(str(2 * b + 1) for b in beside),
            remedy="use wider bins",
        )
    if isinstance(noise, IndependentNoise):
        singles = [make_taps(noise.marginal(j), width, beside[j], method) for j, width in enumerate(widths)]
        taps = singles[0]
        for single in singles[1:]:
            taps = np.multiply.outer(taps, single)
        return taps
    axes = [width * np.arange(-b, b + 1) for width, b in zip(widths, beside, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    scale = float(np.prod(widths))
    if method == "as":
        return noise.density(points) * scale
    taps = np.zeros(points.shape[:-1])
    for nodes in product(_triangle(), repeat=len(widths)):
        shift = np.array([at for at, _ in nodes]) * np.array(widths)
        taps += float(np.prod([weight for _, weight in nodes])) * noise.density(points + shift)
    return taps * scale


def _triangle() -> list[tuple[float, float]]:
    """Points and weights for the difference of two even draws from [0, 1], a triangle over [−1, 1]."""
    half = (_POINTS + 1) / 2
    weights = _WEIGHTS / 2 * (1 - half)
    right = list(zip(half.tolist(), weights.tolist(), strict=True))
    return right + [(-at, weight) for at, weight in right]


def _matrix(values: ArrayLike) -> Floats:
    matrix = as_floats(values)
    if matrix.ndim != 2 or not matrix.size:
        raise InputError("values must be a matrix with rows and columns", found=str(matrix.shape))
    for number, column in enumerate(matrix.T):
        try:
            check_finite(column)
        except InputError as error:
            raise error.at(column=str(number + 1)) from None
    return matrix


def _choose_grids(matrix: Floats, noise: JointNoise) -> tuple[Grid, ...]:
    """The range of the published values, a little more when there are few, in equal bins."""
    grids: list[Grid] = []
    for number, column in enumerate(matrix.T):
        law = noise.marginal(number)
        more = 2 * np.sqrt(law.variance / len(matrix))
        low, high = column.min() - law.mean - more, column.max() - law.mean + more
        grids.append(Grid.over(float(low), float(high), bins=_BINS[matrix.shape[1]]))
    return tuple(grids)


def _count(matrix: Floats, grids: tuple[Grid, ...], taps: tuple[int, ...]) -> NDArray[np.int64]:
    """Counts of rows in the published cells, without those outside all of them."""
    sizes = tuple(grid.bins + extent - 1 for grid, extent in zip(grids, taps, strict=True))
    inside = np.ones(len(matrix), bool)
    places: list[NDArray[np.int64]] = []
    for column, grid, size, extent in zip(matrix.T, grids, sizes, taps, strict=True):
        place = np.floor((column - grid.low) / grid.width).astype(np.int64) + extent // 2
        inside &= (place >= 0) & (place < size)
        places.append(place)
    flat = np.ravel_multi_index([place[inside] for place in places], sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))).reshape(sizes)
