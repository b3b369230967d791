"""The attacks on noisy numbers by name, all run together so that nobody has to guess the strongest.

The attacks on a population (``as``, ``em``, ``sf``, ``pca``, ``be``) give one interval for everybody:
that of the rebuilt distribution, or of the rebuilt values. The attacks on a person (``posterior``, and
``be posterior`` for several columns) give everybody their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from showthrough.errors import InputError, RecordsError, check_each, closest
from showthrough.export import Tabular
from showthrough.numbers.density import Distribution
from showthrough.numbers.exposure import DIRECT, IDEAL
from showthrough.numbers.given_noise import SampledNoise
from showthrough.numbers.interquantile import Interval, check_confidence, interquantile
from showthrough.numbers.joint_noise import AnyNoise
from showthrough.numbers.noise import Floats, JointNoise, Noise, check_matrix
from showthrough.numbers.points import Point, point_intervals
from showthrough.numbers.posterior import posterior_intervals
from showthrough.numbers.reconstruction import Doubt, Reconstruction, reconstruct, reconstruct_columns
from showthrough.numbers.spectral import Rebuilt, bayes_estimate, principal_components, spectral_filter
from showthrough.text import html_summary

__all__ = [
    "METHODS",
    "ColumnAttack",
    "check_methods",
    "explain_methods",
    "run_attacks",
    "with_measured",
]

#: What can be asked for. ``em`` and ``be`` bring the attack on each person along.
METHODS = ("as", "em", "sf", "pca", "be")

#: The attacks on a person.
POSTERIOR, POINTS, MEASURED, BAYES = "posterior", "points", "measured noise", "be posterior"

#: Values from which the law of noise is taken as measured.
LEAST_SAMPLE = 30

#: What the names stand for.
MEANINGS = {
    "as": "iterated Bayes' rule (Agrawal and Srikant)",
    "em": "expectation maximisation, for the most likely distribution",
    "sf": "spectral filter, which keeps the directions that stand out from the noise",
    "pca": "principal components, after removing the covariance of the noise",
    "be": "Bayes estimate of each record from all its columns",
    POSTERIOR: "each person's own interval, from the rebuilt distribution and their noisy value",
    POINTS: "the same for somebody who knows which values many people hold exactly, such as 0",
    MEASURED: "as posterior, with the noise as it really is (published minus true values), not as declared",
    BAYES: "each person's own interval, from the Bayes estimate",
    DIRECT: "the noisy value itself",
    IDEAL: "the attack of somebody who knows the true distribution",
}

_SEVERAL: Mapping[str, Callable[[ArrayLike, AnyNoise], Rebuilt]] = {
    "sf": spectral_filter,
    "pca": principal_components,
    "be": bayes_estimate,
}


@dataclass(frozen=True, eq=False)
class ColumnAttack(Tabular):
    """What all attacks find out about one column.

    Attributes
    ----------
    intervals
        The interval of each attack, for all people or for each.
    distributions
        The rebuilt distribution of each attack that makes one.
    reconstructions, rebuilt
        How they were reached: from this column alone, or from all columns together.
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

    @property
    def doubts(self) -> list[str]:
        """What speaks against the result, once each, whichever attack says it first."""
        first = dict[Doubt, str]()
        for found in self.reconstructions.values():
            for about, text in found.doubts.items():
                first.setdefault(about, text)
        return list(first.values())

    def densities(self) -> pa.Table:
        """All rebuilt distributions, one row for each method and bin."""
        tables = [
            found.to_arrow().add_column(0, "method", pa.array([name] * len(found.mass), pa.string()))
            for name, found in self.distributions.items()
        ]
        return pa.concat_tables(tables)

    def to_arrow(self) -> pa.Table:
        """One row for each attack: its interval (none where everybody has their own) and mean length."""
        own = [None if found.low.ndim else found for found in self.intervals.values()]
        return pa.table(
            {
                "method": pa.array(list(self.intervals), pa.string()),
                "low": pa.array([one and float(one.low) for one in own], pa.float64()),
                "high": pa.array([one and float(one.high) for one in own], pa.float64()),
                "mean_length": pa.array(
                    [found.mean_length for found in self.intervals.values()], pa.float64()
                ),
            }
        )

    def __repr__(self) -> str:
        found = (f"  {name}: {interval}" for name, interval in self.intervals.items())
        return "\n".join(["ColumnAttack", *found])

    def _repr_html_(self) -> str:
        """Each attack's interval, for notebooks."""
        rows = [
            (name, "everybody's own" if found.low.ndim else str(found), f"{found.mean_length:.4g}")
            for name, found in self.intervals.items()
        ]
        head = ("method", "interval", "mean length")
        return html_summary("What the attacks find", [head, *rows], note=explain_methods(self.intervals))


def explain_methods(names: Iterable[str]) -> str:
    """What the names of attacks stand for, as sentences.

    >>> explain_methods(["em", "direct"])
    'em: expectation maximisation, for the most likely distribution. direct: the noisy value itself.'
    """
    return " ".join(f"{name}: {MEANINGS[name]}." for name in dict.fromkeys(names) if name in MEANINGS)


def run_attacks(
    values: ArrayLike,
    noise: Noise | JointNoise,
    *,
    methods: Sequence[str] | None = None,
    confidence: float = 0.95,
    points: Sequence[Sequence[Point]] = (),
) -> tuple[ColumnAttack, ...]:
    """Run the attacks on every column; by default all that fit (the last three need several columns).

    ``points`` are the values of each column that many people hold exactly, where the attacker knows them.

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
            "the noise is for another number of columns than the data", found=f"{noise.columns} for {d}"
        )
    laws = [noise.marginal(j) for j in range(d)] if isinstance(noise, JointNoise) else [noise] * d
    rebuilt = {name: _SEVERAL[name](matrix, noise) for name in chosen if name in _SEVERAL}
    by_method = {
        name: reconstruct_columns(matrix, noise, method=name) for name in ("as", "em") if name in chosen
    }
    return tuple(
        _column(
            matrix,
            j,
            laws[j],
            {name: found[j] for name, found in by_method.items()},
            rebuilt,
            confidence,
            points[j] if points else (),
        )
        for j in range(d)
    )


def with_measured(found: ColumnAttack, noisy: Floats, added: Floats, *, confidence: float) -> ColumnAttack:
    """The attacks on a column, and that of somebody who knows how the noise really is: a sample of it."""
    if len(added) < LEAST_SAMPLE or np.ptp(added) == 0:
        return found
    law = SampledNoise(added)
    rebuilt = reconstruct(noisy, law)
    own = posterior_intervals(noisy, law, rebuilt.distribution, confidence=confidence)
    return replace(found, intervals={**found.intervals, MEASURED: own})


def check_methods(methods: Sequence[str] | None, *, columns: int) -> tuple[str, ...]:
    """The methods in order, if they exist and there are enough columns for them."""
    possible = METHODS if columns > 1 else METHODS[:2]
    if methods is not None:
        check_each(methods, str, name="methods", remedy=f"some of {', '.join(METHODS)}")
    for name in methods or ():
        if name not in METHODS:
            raise InputError("unknown method", found=name, remedy=closest(name, METHODS))
        if name not in possible:
            raise InputError(
                "this method needs correlated columns",
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
    points: Sequence[Point],
) -> ColumnAttack:
    distributions = {name: found.distribution for name, found in reconstructions.items()}
    intervals = {name: interquantile(found, confidence) for name, found in distributions.items()}
    best = distributions.get("em") or distributions.get("as")
    if best is not None:
        seen = matrix[:, column]
        intervals[POSTERIOR] = posterior_intervals(seen, noise, best, confidence=confidence)
        if points:
            intervals[POINTS] = point_intervals(seen, noise, best, points, confidence=confidence)
    for name, found in rebuilt.items():
        estimates = found.estimates[:, column]
        distributions[name] = Distribution.of(estimates)
        intervals[name] = interquantile(estimates, confidence)
        if found.posterior is not None:
            intervals[BAYES] = found.interval(confidence, column=column)
    return ColumnAttack(intervals, distributions, reconstructions, rebuilt)


def _check_varies(matrix: np.ndarray) -> None:
    for column in np.flatnonzero(np.ptp(matrix, axis=0) == 0).tolist():
        raise RecordsError(
            "all published values are equal, so they carry no noise",
            column=str(column + 1),
            found=f"{matrix[0, column]:g}",
            remedy="leave the column out, or check that it is the noisy one",
        )
