"""Means of a sensitive column of numbers, from a publication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, SchemaError, check_each, closest
from showthrough.estimate import Estimate
from showthrough.frames.bins import Bins
from showthrough.microdata.channel import Channel, Channelled
from showthrough.microdata.estimation import Observed, Perturbed
from showthrough.microdata.manifest import Manifest
from showthrough.microdata.ordinal import ordinal_channel
from showthrough.text import percent

__all__ = [
    "bin_middles",
    "describe_mean",
    "estimate_mean",
    "find_scores",
    "inverse_rows",
]

Floats = NDArray[np.float64]


def find_scores(said: Manifest, given: Mapping[str, float] | Sequence[float] | None) -> Floats:
    """The number that each value of the domain stands for."""
    if len(said.sensitive) != 1:
        raise InputError("a mean needs one sensitive column", found=", ".join(said.sensitive))
    (name,), shown = said.sensitive, [row[0] for row in said.domain]
    if given is not None:
        return _given_scores(name, shown, given)
    bins = (said.bins or {}).get(name)
    known = {} if bins is None else bin_middles(bins.bins)
    return np.array([known[text] if text in known else _number(name, text) for text in shown])


def _given_scores(name: str, shown: Sequence[str], given: Mapping[str, float] | Sequence[float]) -> Floats:
    if not isinstance(given, Mapping):
        check_each(given, Real, name="scores", remedy="list a number for each value, or write {'some': 1}")
        if len(given) != len(shown):
            raise InputError("scores must be one number for each value", found=str(len(given)), column=name)
        return np.asarray(given, np.float64)
    check_each(list(given.values()), Real, name="scores", remedy="write {'none': 0, 'some': 1}")
    for text in shown:
        if text not in given:
            raise SchemaError("a value has no score", column=name, found=text, remedy=closest(text, given))
    return np.array([float(given[text]) for text in shown])


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise SchemaError(
            "the values are not numbers, so they have no mean",
            column=name,
            found=text,
            remedy="give scores, as in scores={'none': 0, 'some': 1}",
        )
    return found


def bin_middles(bins: Bins) -> dict[str, float]:
    """The middle of each bin; an open one counts as if it were as wide as its neighbour.

    >>> bin_middles(Bins.of([10, 20], whole=True))
    {'under 10': 4.5, '10–19': 14.5, '20 and over': 24.5}
    """
    ends = bins.ends
    widths = [high - low for low, high in pairwise(ends)] or [0.0]
    lows = [ends[0] - widths[0], *ends]
    steps = [widths[0], *(widths if len(ends) > 1 else []), widths[-1]]
    whole = 1 if bins.whole else 0  # 10–19 ends with 19
    middle = [low + max(0, width - whole) / 2 for low, width in zip(lows, steps, strict=True)]
    return dict(zip(bins.labels, middle, strict=True))


@dataclass(frozen=True)
class _Around:
    """An interval around a value, for each level."""

    value: float
    reach: Callable[[float], float]

    def __call__(self, level: float) -> tuple[float, float]:
        return self.value - self.reach(level), self.value + self.reach(level)


def estimate_mean(observed: Observed, said: Manifest, scores: Floats) -> Estimate:
    """The mean of scores over records that were counted, with its standard error."""
    match observed:
        case Channelled(channel=channel, order=order):
            pass
        case Perturbed(tables=(table,)) if said.method == "uniform":
            order = table.values
            channel = Channel.uniform(table.retention, table.n_values)
        case _:
            raise InputError(
                f"means are not estimated from a publication of the method {said.method}",
                remedy="publish with the method uniform or ordinal",
            )
    shown: Any = observed.counts
    counts = np.asarray(shown.sum(axis=0), np.float64)[list(order)]
    number = counts.sum()
    if not number:
        raise SchemaError("no record matches, so there is no mean", remedy="choose other public values")
    weighing = channel.weigh(scores[list(order)])
    total, spread = weighing.estimate(counts)
    value = float(total) / number

    def reach(level: float) -> float:
        return float(weighing.reach(number, level)) / number

    bounds = (float(scores.min()), float(scores.max()))
    return Estimate(value, float(np.sqrt(spread)) / number, int(number), bounds, law=_Around(value, reach))


def inverse_rows(said: Manifest) -> Iterator[tuple[str, str, float]]:
    """The inverse of an ordinal publication's matrix: shown value, value, weight."""
    (table,) = said.sub_tables
    inverse = ordinal_channel(table.n_values, table.decay or 0, table.floor or 0).inverse
    names = [", ".join(said.domain[at]) for at in table.values]
    for shown, row in zip(names, inverse.tolist(), strict=True):
        for value, weight in zip(names, row, strict=True):
            yield shown, value, weight


def describe_mean(found: Estimate, name: str, level: float) -> str:
    """A mean in words.

    >>> print(describe_mean(Estimate(25.31, 1.2, 400), "age", 0.95).replace("\xa0", " "))
    The mean of age is about 25.3, between 23.0 and 27.7 (95 % confidence), over 400 records.
    """
    low, high = found.interval(level)
    places = max(0, 1 - math.floor(math.log10(max(high - low, 1e-9) / 2)))
    about, least, most = (f"{number:,.{places}f}" for number in (found.shown, low, high))
    return (
        f"The mean of {name} is about {about}, between {least} and {most} ({percent(level)} confidence), "
        f"over {found.records or 0:,} records."
    )
