"""Which groups of people two noisy answers would give away, and under how much noise.

By the rule of 1/20 (:data:`showthrough.numbers.ratio.RULE`) a group leaks if the noise's scale is at most
a twentieth of its size: the same noise hides small groups and leaves large ones bare.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_type, closest
from showthrough.export import Tabular
from showthrough.numbers.noise import Floats, as_floats
from showthrough.numbers.ratio import (
    RULE,
    AnswerNoise,
    PrivacyBudget,
    as_answer_noise,
    laplace_scale,
    ratio_attack,
)
from showthrough.text import html_summary, percent

__all__ = [
    "CountedGroups",
    "GroupLeaks",
    "LeakingGroups",
    "attack_groups",
    "error_curve",
    "leak_size",
    "leaking_groups",
    "leaks_by_noise",
    "safe_epsilon",
    "simulate_ratios",
]

#: The seed of the one draw of noise that shows how wrong readings are.
SEED = 0


@runtime_checkable
class CountedGroups(Protocol):
    """Groups of people with equal public values, and how many of each have which sensitive value."""

    @property
    def public(self) -> pa.Table:
        """The public values, one row for each group."""
        ...

    @property
    def domain(self) -> pa.Table:
        """The sensitive values, in one column."""
        ...

    @property
    def counts(self) -> Any:
        """A sparse matrix of people by group and sensitive value."""
        ...

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The people of each group."""
        ...

    @property
    def totals(self) -> NDArray[np.int64]:
        """The people with each sensitive value."""
        ...

    @property
    def records(self) -> int:
        """All people."""
        ...


@dataclass(frozen=True, eq=False)
class GroupLeaks(Tabular):
    """Every group with its commonest value, the most revealing first.

    Attributes
    ----------
    groups
        The groups as given.
    sensitive
        The name of the sensitive column.
    noise
        The noise on each answer.
    budget
        The privacy budget that it follows from, if one was given.
    table
        One row for each group: its public values and its figures.
    names
        The columns of figures in ``table``, by what they hold.
    """

    groups: CountedGroups
    sensitive: str
    noise: AnswerNoise
    budget: PrivacyBudget | None
    table: pa.Table
    names: dict[str, str]

    @property
    def leaking(self) -> pa.Table:
        """The groups that leak."""
        return self.table.filter(np.asarray(self.table[self.names["leaks"]]))

    def to_arrow(self) -> pa.Table:
        """One row for each group."""
        return self.table

    def __repr__(self) -> str:
        n_leaking, n_groups = self.leaking.num_rows, self.table.num_rows
        return f"GroupLeaks({n_leaking:,} of {n_groups:,} groups leak under noise {self.noise})"

    def column(self, figure: str) -> NDArray[Any]:
        """The figures of all groups, by what they are."""
        return np.asarray(self.table[self.names[figure]])


def attack_groups(
    groups: CountedGroups, noise: AnswerNoise | str | PrivacyBudget, *, sensitive: str | None = None
) -> GroupLeaks:
    """The ratio attack on all groups: which shares two noisy answers about each would give away.

    Parameters
    ----------
    groups
        Groups of people, such as :class:`showthrough.Groups`.
    noise
        The noise on each answer, its text (``"laplace:20"``), or a :class:`PrivacyBudget`.
    sensitive
        The name of the sensitive column, if it is not that of the groups.

    Returns
    -------
    GroupLeaks
        Every group with its commonest sensitive value, those that leak first.

    Raises
    ------
    InputError
        If the noise is of another law than Laplace's or Gauss's, or the column is none of the groups'.
    """
    budget = noise if isinstance(noise, PrivacyBudget) else None
    law = budget.noise if budget is not None else as_answer_noise(noise)
    check_type(groups, CountedGroups, name="groups", remedy="count them with Groups.read")
    if sensitive is not None:
        check_type(sensitive, str, name="sensitive", remedy="name a column")
    name = sensitive or groups.domain.column_names[0]
    if name not in groups.domain.column_names:
        raise InputError(
            "the groups have no such sensitive column",
            found=name,
            remedy=closest(name, groups.domain.column_names),
        )
    sizes = groups.sizes
    commonest = np.asarray(groups.counts.argmax(axis=1)).ravel()
    matching = np.asarray(groups.counts.max(axis=1).toarray()).ravel()
    found = leaking_groups(sizes, matching, law)
    overall = (groups.totals / groups.records)[commonest]
    figures: dict[str, Any] = {
        "value": groups.domain[name].take(pa.array(commonest, pa.int64())),
        "size": sizes,
        "matching": matching,
        "confidence": found.confidence,
        "overall": overall,
        "scale_ratio": found.scale_ratio,
        "bias_bound": found.bias_bound,
        "sd": found.sd,
        "leaks": found.leaks,
        "reading": pa.array(simulate_ratios(sizes, matching, law, seed=SEED), from_pandas=True),
    }
    columns, names = _beside(groups.public, figures, sensitive=name)
    order = np.lexsort((-sizes, -(found.confidence - overall), ~found.leaks))
    table = pa.table(columns).take(pa.array(order, pa.int64()))
    return GroupLeaks(groups, name, law, budget, table, names)


def _beside(
    public: pa.Table, figures: Mapping[str, Any], *, sensitive: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Public columns and figures side by side, and the names of the figures, so that none hides another."""
    columns: dict[str, Any] = {name: public[name] for name in public.column_names}
    names = dict[str, str]()
    for figure, values in figures.items():
        name = sensitive if figure == "value" else figure
        while name in columns:
            name += " (found)"
        names[figure], columns[name] = name, values
    return columns, names


@dataclass(frozen=True, eq=False)
class LeakingGroups(Tabular):
    """For each group whether its share leaks, what it is, and how blurred an attacker reads it."""

    leaks: NDArray[np.bool_]
    confidence: Floats
    scale_ratio: Floats
    bias_bound: Floats
    sd: Floats

    @property
    def count(self) -> int:
        """How many groups leak."""
        return int(self.leaks.sum())

    def to_arrow(self) -> pa.Table:
        """One row for each group, in the order given."""
        return pa.table({name: pa.array(values) for name, values in vars(self).items()})

    def __repr__(self) -> str:
        return f"LeakingGroups({self.count:,} of {len(self.leaks):,} groups leak)"

    def _repr_html_(self) -> str:
        """How many leak, for notebooks."""
        rows = [
            (
                at + 1,
                *(percent(float(found[at]), 1) for found in (self.scale_ratio, self.confidence, self.sd)),
            )
            for at in np.argsort(self.scale_ratio, kind="stable")[:5].tolist()
        ]
        head = ("largest groups", "noise / size", "share", "sd of the reading")
        return html_summary(f"{self.count:,} of {len(self.leaks):,} groups leak", [head, *rows])


def leaking_groups(sizes: ArrayLike, matching: ArrayLike, noise: AnswerNoise | str) -> LeakingGroups:
    """Which of many groups leak a share under noisy answers, by the rule of 1/20.

    Parameters
    ----------
    sizes
        The numbers of people with equal public values.
    matching
        How many of each group have the sensitive value in question (their commonest, say).
    noise
        The noise on both answers, Laplace or Gaussian, or its text.

    Returns
    -------
    LeakingGroups
        One entry for each group.

    Raises
    ------
    InputError
        If a size is below 1, or a count is not between 0 and its size.

    Examples
    --------
    >>> leaking_groups([501, 399], [420, 10], "laplace:20").leaks.tolist()
    [True, False]
    """
    law = as_answer_noise(noise)
    x, y = as_floats(sizes, "the sizes"), as_floats(matching, "the matching counts")
    if x.shape != y.shape or not ((x > 0) & (y >= 0) & (y <= x)).all():
        raise InputError("every group needs a size of at least 1 and a count between 0 and its size")
    share, ratio = y / x, laplace_scale(law) / x
    spread = np.sqrt(law.variance * (1 + share**2)) / x
    return LeakingGroups(np.asarray(ratio <= RULE), share, ratio, 2 * ratio**2, spread)


def leak_size(noise: AnswerNoise) -> float:
    """The size from which on groups leak."""
    return laplace_scale(noise) / RULE


def safe_epsilon(largest: float, *, sensitivity: float = 2.0) -> float:
    """Below this ε (Laplace noise) not even a group of the largest size leaks by the rule of 1/20.

    >>> round(safe_epsilon(501), 4)
    0.0798
    """
    return sensitivity / (RULE * largest)


def leaks_by_noise(sizes: ArrayLike, noises: Iterable[AnswerNoise]) -> pa.Table:
    """For each law of noise the shares of groups, and of the people in them, that leak.

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> leaks_by_noise([501, 100], [LaplaceNoise(20), LaplaceNoise(2)]).to_pylist()[0]
    {'noise': 'laplace:20', 'scale': 20.0, 'groups': 0.5, 'people': 0.8336106489184693}
    """
    x = _sizes(sizes)
    given = list(noises)
    scales = [laplace_scale(noise) for noise in given]
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

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> simulate_ratios([1000, 1], [500, 1], LaplaceNoise(10), seed=6).round(2).tolist()
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

    >>> from showthrough.numbers.noise import LaplaceNoise
    >>> small, large = error_curve([10, 500], 0.8, LaplaceNoise(20), level=0.95)
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
