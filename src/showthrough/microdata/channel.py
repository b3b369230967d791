"""A channel: with which probability a record that has one value shows another, and what follows from that.

Uniform and ordinal perturbation are channels. Any sum over the true values of some records, such as a
count or a mean, is estimated by giving each *shown* value a weight g = P⁻¹ w, where w are the weights of
true values: a record with value x contributes g_Y, whose mean is exactly w_x. Records are perturbed
independently of each other, so the variance of the sum is Σ_x k_x (Σ_y P(y|x) g_y² − w_x²), where k_x
records have value x. It is linear in the k_x, so their estimates stand in for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError
from showthrough.microdata.intervals import CountSpread

__all__ = [
    "AnyChannel",
    "Channel",
    "Channelled",
    "ProductChannel",
    "Weighing",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Steps of the EM iteration for consistent estimates.
STEPS = 1_000


@dataclass(frozen=True, eq=False)
class Channel:
    """``matrix[x, y]`` is the probability that a record with value x shows y.

    >>> channel = Channel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(channel.amplification, 9), channel.invert(np.array([60, 40])).round(9).tolist()
    (3.0, [70.0, 30.0])
    """

    matrix: Floats

    @classmethod
    def uniform(cls, retention: float, n_values: int) -> Channel:
        """Of uniform perturbation."""
        return cls(retention * np.eye(n_values) + (1 - retention) / n_values)

    @cached_property
    def inverse(self) -> Floats:
        """P⁻¹: shown counts times it are unbiased estimates of true ones."""
        try:
            return np.linalg.inv(self.matrix).astype(np.float64)
        except np.linalg.LinAlgError:
            raise InputError(
                "nothing can be estimated: all values are shown alike",
                remedy="ask the publisher for the original",
            ) from None

    @property
    def amplification(self) -> float:
        """How much likelier one value may make what is shown than another does, at most."""
        least = self.matrix.min(axis=0)
        with np.errstate(over="ignore"):
            return float((self.matrix.max(axis=0) / least).max()) if (least > 0).all() else math.inf

    def invert(self, shown: NDArray[Any]) -> Floats:
        """Unbiased true counts from shown ones, on the last axis."""
        return np.asarray(shown, np.float64) @ self.inverse

    def push(self, counts: Floats) -> Floats:
        """Expected shown counts from true ones, on the last axis."""
        return counts @ self.matrix

    def expect(self, numbers: Floats) -> Floats:
        """For each true value the mean of a number of the shown one, on the last axis."""
        return numbers @ self.matrix.T

    def unbias(self, numbers: Floats) -> Floats:
        """Numbers of shown values whose mean for each true value is a given one."""
        return self.inverse @ numbers

    def weigh(self, weights: NDArray[Any]) -> Weighing:
        """How a sum of weights over true values is estimated."""
        return Weighing.of(self, weights)

    def likeliest(self, shown: NDArray[Any]) -> Floats:
        """Counts that are never negative and add up, from many steps towards the likeliest ones (EM)."""
        return _likeliest(self, shown)


@dataclass(frozen=True, eq=False)
class ProductChannel:
    """Several columns at once, each through a channel of its own; values are all combinations, in order.

    >>> both = ProductChannel((Channel.uniform(0.5, 2), Channel.uniform(0.25, 3)))
    >>> round(both.amplification, 9), both.unbias(np.ones(6)).round(9).tolist()
    (6.0, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """

    channels: tuple[Channel, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(len(channel.matrix) for channel in self.channels)

    @property
    def amplification(self) -> float:
        """How much likelier one value may make what is shown than another does, at most."""
        return math.prod(channel.amplification for channel in self.channels)

    def push(self, counts: Floats) -> Floats:
        """Expected shown counts from true ones, on the last axis."""
        return self._along([channel.matrix.T for channel in self.channels], counts)

    def expect(self, numbers: Floats) -> Floats:
        """For each true value the mean of a number of the shown one, on the last axis."""
        return self._along([channel.matrix for channel in self.channels], numbers)

    def unbias(self, numbers: Floats) -> Floats:
        """Numbers of shown values whose mean for each true value is a given one."""
        return self._along([channel.inverse for channel in self.channels], numbers)

    def weigh(self, weights: NDArray[Any]) -> Weighing:
        """How a sum of weights over true values is estimated."""
        return Weighing.of(self, weights)

    def likeliest(self, shown: NDArray[Any]) -> Floats:
        """Counts that are never negative and add up, from many steps towards the likeliest ones (EM)."""
        return _likeliest(self, shown)

    def _along(self, matrices: list[Floats], numbers: Floats) -> Floats:
        """Each matrix times its axis of the last one, taken apart into columns."""
        found = numbers.reshape(*numbers.shape[:-1], *self.shape)
        first = numbers.ndim - 1
        for at, matrix in enumerate(matrices):
            found = np.moveaxis(np.tensordot(matrix, found, axes=(1, first + at)), 0, first + at)
        return found.reshape(numbers.shape)


AnyChannel = Channel | ProductChannel


def _likeliest(channel: AnyChannel, shown: NDArray[Any]) -> Floats:
    observed = np.atleast_2d(np.asarray(shown, np.float64))
    found = np.full(observed.shape, 1.0) * observed.sum(axis=1, keepdims=True) / observed.shape[1]
    for _ in range(STEPS):
        expected = channel.push(found)
        ratio = np.divide(observed, expected, out=np.zeros_like(expected), where=expected > 0)
        found = found * channel.expect(ratio)
    return found.reshape(np.shape(shown))


@dataclass(frozen=True, eq=False)
class Weighing:
    """A sum of weights over the true values of records, estimated from shown ones."""

    channel: AnyChannel
    #: The weight of each true value, that of each shown one, and each true value's part of the variance.
    wanted: Floats
    given: Floats
    spread: Floats

    @classmethod
    def of(cls, channel: AnyChannel, weights: NDArray[Any]) -> Weighing:
        """For weights of true values."""
        wanted = np.asarray(weights, np.float64)
        given = channel.unbias(wanted)
        return cls(channel, wanted, given, channel.expect(given**2) - wanted**2)

    @property
    def step(self) -> float:
        """How far one record can be off."""
        return float(max(self.given.max() - self.wanted.min(), self.wanted.max() - self.given.min()))

    def estimate(self, shown: NDArray[Any]) -> tuple[Floats, Floats]:
        """The sum and its variance, from shown counts on the last axis."""
        counts = np.asarray(shown, np.float64)
        number = counts.sum(axis=-1)
        about = counts @ self.channel.unbias(self.spread)
        least, most = (np.maximum(0, end) * number for end in (self.spread.min(), self.spread.max()))
        return counts @ self.given, np.clip(about, least, most)

    def reach(self, number: NDArray[Any], level: float) -> Floats:
        """How far the sum is off at most, with at least this probability, whatever the records are.

        Bernstein's inequality, with the largest variance that this many records can have.
        """
        log = math.log(2 / (1 - level))
        worst = np.asarray(number, np.float64) * max(0.0, float(self.spread.max()))
        step = self.step * log / 3
        return step + np.sqrt(step**2 + 2 * worst * log)

    def interval(self, value: Floats, number: Whole, level: float) -> tuple[Floats, Floats]:
        """How few and how many of ``number`` records may have a value of weight 1; the others have 0.

        The variance is the largest that this many with, and all others without, can have.
        """
        most, rest = (
            max(0.0, float(self.spread[chosen].max())) for chosen in (self.wanted > 0, self.wanted == 0)
        )
        cells, records = np.arange(len(value)), np.asarray(number, np.float64)
        spread = CountSpread(len(value), records * rest, cells, records, np.full(len(value), most - rest))
        step = np.full(len(value), float(self.given.max() - self.given.min()))
        return spread.interval(value, step, level)


@dataclass(frozen=True, eq=False)
class Channelled:
    """Counts of records that went through a channel: one row of ``counts`` for each cell.

    ``order`` are the positions in the domain of the channel's values.
    """

    counts: Any
    channel: AnyChannel
    order: tuple[int, ...]

    @property
    def records(self) -> Whole:
        """How many published records each cell has."""
        return np.asarray(self.counts.sum(axis=1), np.int64)

    @property
    def _shown(self) -> Floats:
        return np.asarray(self.counts.toarray(), np.float64)[:, list(self.order)]

    def _weights(self, values: Whole) -> Floats:
        return np.isin(np.array(self.order), values).astype(np.float64)

    def chosen(self, values: Whole) -> tuple[Floats, Floats]:
        """For each cell how many records have one of some values, and the variance of that."""
        wanted = self._weights(values)
        if wanted.all() or not wanted.any():
            found = self.records if wanted.all() else np.zeros_like(self.records)
            return found.astype(np.float64), np.zeros(len(found))
        return self.channel.weigh(wanted).estimate(self._shown)

    def each(self, *, consistent: bool) -> tuple[Floats, Floats]:
        """For each cell and each value the number of records, and the variance of that."""
        value, spread = np.zeros(self.counts.shape), np.zeros(self.counts.shape)
        for column in self.order:
            value[:, column], spread[:, column] = self.chosen(np.array([column]))
        if consistent:
            value[:, list(self.order)] = self.channel.likeliest(self._shown)
        return value, spread

    def ends(self, values: Whole, level: float) -> tuple[Floats, Floats]:
        """For each cell how few and how many records may have one of some values."""
        wanted, number = self._weights(values), self.records
        value, _ = self.chosen(values)
        if wanted.all() or not wanted.any():
            return value, value
        return self.channel.weigh(wanted).interval(value, number, level)

    def each_ends(self, level: float) -> tuple[Floats, Floats]:
        """For each cell and each value how few and how many records may have it."""
        low, high = np.zeros(self.counts.shape), np.zeros(self.counts.shape)
        for column in self.order:
            low[:, column], high[:, column] = self.ends(np.array([column]), level)
        return low, high
