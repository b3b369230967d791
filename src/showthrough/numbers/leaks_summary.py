"""The summary of a ratio attack on groups: its figures as plain data, for terminal, page and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.numbers.leaks import GroupLeaks, error_curve, leak_size, leaks_by_noise, safe_epsilon
from showthrough.numbers.noise import Floats, GaussianNoise, LaplaceNoise
from showthrough.numbers.ratio import RULE, AnswerNoise, PrivacyBudget, laplace_scale, ratio_attack
from showthrough.text import percent

__all__ = [
    "ErrorCurve",
    "ErrorPoint",
    "GroupReading",
    "LeaksSummary",
    "NoiseLeaks",
]

#: The files of a folder, and what they hold.
FILES = {
    "groups.parquet": "every group, its share, and one drawn reading of it",
    "summary.json": "all figures printed here, and more",
}

#: The groups in the summary, the amounts of noise that leaks are counted for, and the points of a curve.
WORST, STEPS, CURVE = 20, 40, 32


@dataclass(frozen=True)
class LeaksSummary:
    """All figures of a ratio attack on groups, as ``summary.json`` has them.

    ``by_size`` counts groups and people by powers of ten of the group's size.
    """

    file: str
    records: int
    groups: int
    noise: str
    epsilon: float | None
    rule: float
    leaking_groups: int
    leaking_records: int
    largest_group: int
    safe_epsilon: float
    sensitive: str
    public: tuple[str, ...]
    names: dict[str, str]
    level: float
    worst: tuple[GroupReading, ...]
    errors: ErrorCurve
    by_size: tuple[dict[str, int], ...]
    by_noise: tuple[NoiseLeaks, ...]

    @classmethod
    def of(cls, found: GroupLeaks, *, file: str, level: float) -> LeaksSummary:
        """The summary of an attack on groups."""
        groups, leaking = found.groups, found.leaking
        largest = int(groups.sizes.max())
        # Where none leaks, the largest groups come nearest to it.
        nearest = leaking if leaking.num_rows else found.table.sort_by([(found.names["size"], "descending")])
        share = float(found.column("matching").sum()) / groups.records
        return cls(
            file,
            groups.records,
            groups.public.num_rows,
            str(found.noise),
            None if found.budget is None else found.budget.epsilon,
            RULE,
            leaking.num_rows,
            int(np.asarray(leaking[found.names["size"]]).sum()),
            largest,
            safe_epsilon(float(largest)),
            found.sensitive,
            tuple(groups.public.column_names),
            found.names,
            level,
            _readings(found, nearest.slice(0, WORST), level),
            ErrorCurve.of(groups.sizes, share, found.noise, level),
            _by_size(found),
            _by_noise(found),
        )

    @classmethod
    def from_plain(cls, content: object) -> LeaksSummary:
        """From what :meth:`to_plain` made, if it is complete."""
        from pydantic import TypeAdapter  # only pages read summaries

        if isinstance(content, dict):
            rows = [{"epsilon": None, "sd": None, **row} for row in content.get("by_noise", ())]
            content = {**content, "by_noise": rows}
        return TypeAdapter(cls).validate_python(content)

    def to_plain(self) -> dict[str, object]:
        """As plain data, for JSON; amounts of noise are by ε or by sd, not both."""
        rows = [asdict(row) for row in self.by_noise]
        left = [{name: value for name, value in row.items() if value is not None} for row in rows]
        return {**asdict(self), "by_noise": left}

    @property
    def rule_text(self) -> str:
        """When a group leaks."""
        return f"A group leaks if the noise's scale is at most {percent(self.rule)} of its size."


@dataclass(frozen=True)
class GroupReading:
    """A group, the share of its commonest value, and the ends of what an attacker reads of it."""

    public: dict[str, str | None]
    value: str
    size: int
    matching: int
    confidence: float
    overall: float
    leaks: bool
    low: float
    high: float

    @classmethod
    def of(
        cls, public: Mapping[str, object], figures: Mapping[str, Any], noise: AnswerNoise, level: float
    ) -> GroupReading:
        """From a group's public values and figures."""
        attack = ratio_attack(figures["size"], figures["matching"], noise)
        low, high = attack.quantiles([(1 - level) / 2, (1 + level) / 2]).tolist()
        return cls(
            {name: None if value is None else str(value) for name, value in public.items()},
            str(figures["value"]),
            figures["size"],
            figures["matching"],
            figures["confidence"],
            figures["overall"],
            figures["leaks"],
            low,
            high,
        )


@dataclass(frozen=True)
class ErrorPoint:
    """The errors that half of all readings, and most of them, stay below in a group of some size."""

    size: float
    median: float | None
    most: float | None


@dataclass(frozen=True)
class ErrorCurve:
    """How wrong a reading of some share is in theory, by the size of the group."""

    share: float
    least_size: float
    curve: tuple[ErrorPoint, ...]

    @classmethod
    def of(
        cls, sizes: Floats | NDArray[np.int64], share: float, noise: AnswerNoise, level: float
    ) -> ErrorCurve:
        """For sizes up to the largest of some groups."""
        ladder = np.geomspace(1.0, max(float(np.max(sizes)), 2.0), CURVE).tolist()
        median = error_curve(ladder, share, noise, level=0.5)
        most = error_curve(ladder, share, noise, level=level)
        points = tuple(ErrorPoint(*one) for one in zip(ladder, median, most, strict=True))
        return cls(share, leak_size(noise), points)


@dataclass(frozen=True)
class NoiseLeaks:
    """The shares of groups and of people that an amount of noise gives away; by ε, or by its sd."""

    epsilon: float | None
    sd: float | None
    noise: str
    scale: float
    groups: float
    people: float


def _readings(found: GroupLeaks, table: pa.Table, level: float) -> tuple[GroupReading, ...]:
    """What an attacker reads about the groups of a part of the table, at this level."""
    public = found.groups.public.column_names
    return tuple(
        GroupReading.of(
            {name: row[name] for name in public},
            {figure: row[name] for figure, name in found.names.items()},
            found.noise,
            level,
        )
        for row in table.to_pylist()
    )


def _by_size(found: GroupLeaks) -> tuple[dict[str, int], ...]:
    """How many groups of each order of size leak, and how many people are in them."""
    sizes, leaks = found.column("size"), found.column("leaks")
    power = np.floor(np.log10(sizes) + 1e-12).astype(np.int64)
    rows = list[dict[str, int]]()
    for order in range(int(power.max()) + 1):
        mine = power == order
        rows.append(
            {
                "from": 10**order,
                "to": 10 ** (order + 1) - 1,
                "groups": int(mine.sum()),
                "leaking_groups": int((mine & leaks).sum()),
                "records": int(sizes[mine].sum()),
                "leaking_records": int(sizes[mine & leaks].sum()),
            }
        )
    return tuple(rows)


def _by_noise(found: GroupLeaks) -> tuple[NoiseLeaks, ...]:
    """The share of groups and of people given away, from noise that hides all to noise that hides few.

    By ε where there is one (of Laplace noise: of two counts with one person in both), else by the
    standard deviation.
    """
    sizes, noise, budget = np.sort(found.groups.sizes), found.noise, found.budget
    people = np.cumsum(sizes) / sizes.sum()
    least = leak_size(noise)
    ends = [1.5 * float(sizes[-1]), float(sizes[int(np.searchsorted(people, 0.1))]), least]
    # Amounts of noise by the size from which on groups leak, as multiples of that of the noise at hand.
    steps = np.geomspace(min(ends) / 1.5, max(ends), STEPS) / least
    if budget is None and isinstance(noise, GaussianNoise):
        sds = np.unique(np.append(noise.sd * steps, noise.sd)).tolist()
        rows = leaks_by_noise(sizes, [GaussianNoise(sd=sd) for sd in sds]).to_pylist()
        return tuple(NoiseLeaks(None, sd, **row) for sd, row in zip(sds, rows, strict=True))
    if budget is None:
        budget = PrivacyBudget(2 / (noise.scale if isinstance(noise, LaplaceNoise) else laplace_scale(noise)))
    epsilons = np.unique(np.append(budget.epsilon / steps, budget.epsilon)).tolist()
    noises = [replace(budget, epsilon=epsilon).noise for epsilon in epsilons]
    rows = leaks_by_noise(sizes, noises).to_pylist()
    return tuple(NoiseLeaks(epsilon, None, **row) for epsilon, row in zip(epsilons, rows, strict=True))
