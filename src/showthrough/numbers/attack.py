"""All attacks on noisy numbers under one call, so that nobody has to guess which is the strongest.

The attacks on a population (``as``, ``em``, ``sf``, ``pca``, ``be``) give one interval for everybody:
that of the rebuilt distribution, or of the rebuilt values. The attacks on a person (``posterior``, and
``be posterior`` for several columns) give everybody their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError, closest
from showthrough.numbers.density import Distribution
from showthrough.numbers.interquantile import Interval, check_confidence, interquantile
from showthrough.numbers.matrix import AnyNoise, check_matrix
from showthrough.numbers.noise import JointNoise, Noise
from showthrough.numbers.posterior import posterior_intervals
from showthrough.numbers.reconstruction import Reconstruction, reconstruct_columns
from showthrough.numbers.spectral import Rebuilt, bayes_estimate, principal_components, spectral_filter
from showthrough.text import html_summary

__all__ = [
    "METHODS",
    "Attacked",
    "check_methods",
    "run_attacks",
]

#: What can be asked for. ``em`` and ``be`` bring the attack on each person along.
METHODS = ("as", "em", "sf", "pca", "be")

#: The attacks on a person.
POSTERIOR, BAYES = "posterior", "be posterior"

_SEVERAL: Mapping[str, Callable[[ArrayLike, AnyNoise], Rebuilt]] = {
    "sf": spectral_filter,
    "pca": principal_components,
    "be": bayes_estimate,
}


@dataclass(frozen=True, eq=False)
class Attacked:
    """What all attacks say about one column.

    ``intervals`` has one entry for each attack, ``distributions`` one for each that rebuilds a
    distribution, ``reconstructions`` and ``rebuilt`` tell how.
    """

    intervals: Mapping[str, Interval]
    distributions: Mapping[str, Distribution]
    reconstructions: Mapping[str, Reconstruction]
    rebuilt: Mapping[str, Rebuilt]

    @property
    def explanations(self) -> dict[str, tuple[str, ...]]:
        """For each method how it came to its result."""
        texts = {name: tuple(found.explanation) for name, found in self.reconstructions.items()}
        return texts | {name: (found.explanation,) for name, found in self.rebuilt.items()}

    def densities(self) -> pa.Table:
        """All rebuilt distributions, one row for each method and bin."""
        tables = [
            found.to_arrow().add_column(0, "method", pa.array([name] * len(found.mass), pa.string()))
            for name, found in self.distributions.items()
        ]
        return pa.concat_tables(tables)

    def _repr_html_(self) -> str:
        """Each attack's interval, for notebooks."""
        rows = [
            (name, "everybody's own" if found.low.ndim else str(found), f"{found.mean_length:.4g}")
            for name, found in self.intervals.items()
        ]
        return html_summary("What the attacks say", [("method", "interval", "mean length"), *rows])


def run_attacks(
    values: ArrayLike,
    noise: Noise | JointNoise,
    *,
    methods: Sequence[str] | None = None,
    confidence: float = 0.95,
) -> tuple[Attacked, ...]:
    """Every column's attacks. By default all that make sense: the last three need several columns.

    >>> from showthrough.numbers.noise import UniformNoise
    >>> rng = np.random.default_rng(1)
    >>> noisy = rng.normal(100, 5, 2000) + UniformNoise(10).sample(2000, seed=rng)
    >>> found, = run_attacks(noisy, UniformNoise(10))
    >>> list(found.intervals)
    ['as', 'em', 'posterior']
    """
    check_confidence(confidence)
    matrix = check_matrix(values)
    d = matrix.shape[1]
    chosen = check_methods(methods, columns=d)
    _check_varies(matrix)
    if isinstance(noise, JointNoise) and noise.columns != d:
        raise InputError(
            "the noise is about another number of columns than the data", found=f"{noise.columns} for {d}"
        )
    laws = [noise.marginal(j) for j in range(d)] if isinstance(noise, JointNoise) else [noise] * d
    rebuilt = {name: _SEVERAL[name](matrix, noise) for name in chosen if name in _SEVERAL}
    by_method = {
        name: reconstruct_columns(matrix, noise, method=name) for name in ("as", "em") if name in chosen
    }
    return tuple(
        _column(
            matrix, j, laws[j], {name: found[j] for name, found in by_method.items()}, rebuilt, confidence
        )
        for j in range(d)
    )


def check_methods(methods: Sequence[str] | None, *, columns: int) -> tuple[str, ...]:
    """The methods in order, if there are such and there are columns enough for them."""
    possible = METHODS if columns > 1 else METHODS[:2]
    for name in methods or ():
        if name not in METHODS:
            raise InputError("unknown method", found=name, remedy=closest(name, METHODS))
        if name not in possible:
            raise InputError(
                "the method lives on what columns have in common",
                found=name,
                remedy="give several columns, or use as or em",
            )
    return tuple(name for name in possible if not methods or name in methods)


def _column(
    matrix: np.ndarray,
    column: int,
    noise: Noise,
    reconstructions: Mapping[str, Reconstruction],
    rebuilt: Mapping[str, Rebuilt],
    confidence: float,
) -> Attacked:
    distributions = {name: found.distribution for name, found in reconstructions.items()}
    intervals = {name: interquantile(found, confidence) for name, found in distributions.items()}
    best = distributions.get("em") or distributions.get("as")
    if best is not None:
        intervals[POSTERIOR] = posterior_intervals(matrix[:, column], noise, best, confidence=confidence)
    for name, found in rebuilt.items():
        estimates = found.estimates[:, column]
        distributions[name] = Distribution.of(estimates)
        intervals[name] = interquantile(estimates, confidence)
        if found.posterior is not None:
            intervals[BAYES] = found.interval(confidence, column=column)
    return Attacked(intervals, distributions, reconstructions, rebuilt)


def _check_varies(matrix: np.ndarray) -> None:
    for column in np.flatnonzero(np.ptp(matrix, axis=0) == 0).tolist():
        raise RecordsError(
            "all published values are equal, so there is no noise on them",
            column=str(column + 1),
            found=f"{matrix[0, column]:g}",
            remedy="leave the column out, or check that it is the noisy one",
        )
