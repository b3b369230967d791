"""Which of many groups two noisy answers would give away, and under how much noise.

By the rule of 1/20 (:data:`showthrough.attack.ratio.RULE`) a group leaks if the noise's scale is at most
a twentieth of its size: the same noise hides small groups and leaves large ones bare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.attack.noise import Floats
from showthrough.attack.ratio import RULE, AnswerNoise, ratio_attack
from showthrough.errors import InputError
from showthrough.plain import html_summary

__all__ = [
    "LeakingGroups",
    "error_curve",
    "leaking_groups",
    "leaks_by_noise",
    "safe_epsilon",
    "simulate_ratios",
]


@dataclass(frozen=True, eq=False)
class LeakingGroups:
    """For each group whether its shares leak, how sure the attacker gets, and how blurred it is."""

    leaks: NDArray[np.bool_]
    confidence: Floats
    scale_ratio: Floats
    bias_bound: Floats
    sd: Floats

    @property
    def count(self) -> int:
        """How many groups leak."""
        return int(self.leaks.sum())

    def _repr_html_(self) -> str:
        """How many leak, for notebooks."""
        title = f"{self.count:,} of {len(self.leaks):,} groups leak"
        rows = [
            (at + 1, f"{self.scale_ratio[at]:.2%}", f"{self.confidence[at]:.1%}", f"{self.sd[at]:.1%}")
            for at in np.argsort(self.scale_ratio, kind="stable")[:5].tolist()
        ]
        return html_summary(title, [("largest groups", "noise / size", "share", "sd of the reading"), *rows])


def leaking_groups(sizes: ArrayLike, matching: ArrayLike, noise: AnswerNoise) -> LeakingGroups:
    """Which of many groups leak how many of their members have a value, by the rule of 1/20.

    ``sizes`` are the numbers of people with equal public values, ``matching`` how many of each have
    the sensitive value in question (their commonest, say).

    >>> from showthrough.attack.noise import Laplace
    >>> leaking_groups([501, 399], [420, 10], Laplace(20)).leaks.tolist()
    [True, False]
    """
    x, y = np.asarray(sizes, np.float64), np.asarray(matching, np.float64)
    if x.shape != y.shape or not ((x > 0) & (y >= 0) & (y <= x)).all():
        raise InputError("every group needs a size of at least 1 and a count between 0 and its size")
    share, ratio = y / x, math.sqrt(noise.variance / 2) / x
    spread = np.sqrt(noise.variance * (1 + share**2)) / x
    return LeakingGroups(np.asarray(ratio <= RULE), share, ratio, 2 * ratio**2, spread)


def safe_epsilon(largest: float, *, sensitivity: float = 2.0) -> float:
    """Below this ε (Laplace noise) not even a group of the largest size leaks by the rule of 1/20.

    >>> round(safe_epsilon(501), 4)
    0.0798
    """
    return sensitivity / (RULE * largest)


def leaks_by_noise(sizes: ArrayLike, noises: Iterable[AnswerNoise]) -> pa.Table:
    """For each law of noise the shares of groups, and of the people in them, that leak.

    >>> from showthrough.attack.noise import Laplace
    >>> leaks_by_noise([501, 100], [Laplace(20), Laplace(2)]).to_pylist()[0]
    {'noise': 'laplace:20', 'scale': 20.0, 'groups': 0.5, 'people': 0.8336106489184693}
    """
    x = _sizes(sizes)
    given = list(noises)
    scales = [math.sqrt(noise.variance / 2) for noise in given]
    leaks = [scale / x <= RULE for scale in scales]
    return pa.table(
        {
            "noise": pa.array([str(noise) for noise in given], pa.string()),
            "scale": pa.array(scales, pa.float64()),
            "groups": pa.array([float(one.mean()) for one in leaks], pa.float64()),
            "people": pa.array([float(x[one].sum() / x.sum()) for one in leaks], pa.float64()),
        }
    )


def simulate_ratios(sizes: ArrayLike, matching: ArrayLike, noise: AnswerNoise, *, seed: int) -> Floats:
    """Each group's Y/X under one draw of the noise; not a number where X ≤ 0 and nothing is learnt.

    >>> from showthrough.attack.noise import Laplace
    >>> simulate_ratios([1000, 1], [500, 1], Laplace(10), seed=6).round(2).tolist()
    [0.5, nan]
    """
    x, y = _sizes(sizes), np.asarray(matching, np.float64)
    drawn = noise.sample((2, len(x)), seed=seed)
    group, count = x + drawn[0], y + drawn[1]
    return np.where(group > 0, count / np.where(group > 0, group, 1.0), np.nan)


def error_curve(
    sizes: Iterable[float], share: float, noise: AnswerNoise, *, level: float
) -> list[float | None]:
    """For groups of these sizes, how far Y/X is at most from this share at this level.

    None stands for any distance: X ≤ 0, where nothing is learnt, is too likely.

    >>> from showthrough.attack.noise import Laplace
    >>> small, large = error_curve([10, 500], 0.8, Laplace(20), level=0.95)
    >>> small, round(large, 3)
    (None, 0.15)
    """
    errors = [ratio_attack(size, share * size, noise).error(level) for size in sizes]
    return [error if math.isfinite(error) else None for error in errors]


def _sizes(sizes: ArrayLike) -> Floats:
    x = np.asarray(sizes, np.float64)
    if x.ndim != 1 or not len(x) or not (x > 0).all():
        raise InputError("every group needs a size of at least 1")
    return x
