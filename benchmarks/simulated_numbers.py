"""Simulated numbers to add noise to: bank balances, signals, a plateau, two peaks.

The bank balances and the sinusoid are shaped after figures published about data that are not public:
balances of mean 50 whose shares disclosed at each privacy level are known, and a 300 × 35 matrix of
norm 533.9 whose first column has 95 % of its values between 2.05 and 3.9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import special

from showthrough.errors import InputError, closest
from showthrough.numbers.noise import Floats

__all__ = [
    "BANK_COLUMNS",
    "bank_balances",
    "bimodal",
    "plateau",
    "signals",
]

Wave = Literal["sinusoid", "square", "triangle"]

#: The columns of :func:`bank_balances`, in order.
BANK_COLUMNS = ("stocks_bonds", "checking", "savings", "certificates", "retirement")

# How strongly each column follows the wealth behind all of them.
_LOADINGS = np.array([0.85, 0.6, 0.7, 0.5, 0.8])

# Levels of the first signal: 95 % of a sinusoid lies within 0.9969 amplitudes of its level.
_LEVEL, _AMPLITUDE, _NORM = 2.975, 0.928, 533.9

# Two frequencies and two phases a quarter apart: four directions in all.
_CYCLES = (3, 7)


def bank_balances(n: int, *, seed: int) -> Floats:
    """Five correlated, skewed balances of n customers, one column each of :data:`BANK_COLUMNS`.

    >>> balances = bank_balances(50_000, seed=1)
    >>> balances.shape, round(float(balances[:, 0].mean()))
    ((50000, 5), 50)
    """
    _check_size(n, "customers")
    rng = np.random.default_rng(seed)
    wealth, own = rng.standard_normal((n, 1)), rng.standard_normal((n, len(_LOADINGS)))
    share = special.ndtr(_LOADINGS * wealth + np.sqrt(1 - _LOADINGS**2) * own)
    rare = -special.log1p(-share)
    return np.column_stack(
        [
            41.3 + 8.9 * rare[:, 0] ** (1 / 1.08),
            np.exp(2.2 + 0.7 * special.ndtri(share[:, 1])),
            5 + 20 * rare[:, 2],
            special.gammaincinv(2.0, share[:, 3]) * 15,
            np.exp(3.5 + 0.9 * special.ndtri(share[:, 4])),
        ]
    )


def plateau(n: int, *, seed: int) -> Floats:
    """Half the values spread evenly from 0 to 100, the other half from 30 to 60.

    >>> values = plateau(10_000, seed=1)
    >>> round(float(np.mean((values > 30) & (values < 60))), 2)
    0.65
    """
    _check_size(n, "values")
    rng = np.random.default_rng(seed)
    high = rng.uniform(size=n) < 0.5
    return np.where(high, rng.uniform(30, 60, n), rng.uniform(0, 100, n))


def bimodal(n: int, *, seed: int) -> Floats:
    """Two normal peaks, 60 % about 30 and 40 % about 70.

    >>> values = bimodal(10_000, seed=1)
    >>> round(float(np.mean(values < 50)), 1)
    0.6
    """
    _check_size(n, "values")
    rng = np.random.default_rng(seed)
    low = rng.uniform(size=n) < 0.6
    return np.where(low, rng.normal(30, 5, n), rng.normal(70, 6, n))


def signals(kind: Wave = "sinusoid", *, rows: int = 300, columns: int = 35, seed: int) -> Floats:
    """Waves over time, one per column, about levels of their own; rank 4 once columns are centred.

    >>> waves = signals(seed=1)
    >>> waves.shape, round(float(np.linalg.norm(waves)), 1), np.quantile(waves[:, 0], [0.025, 0.975]).round(2)
    ((300, 35), 533.9, array([2.05, 3.9 ]))
    """
    _check_size(rows, "rows")
    _check_size(columns, "columns")
    if kind not in _WAVES:
        raise InputError("unknown kind of signal", found=str(kind), remedy=closest(str(kind), _WAVES))
    rng = np.random.default_rng(seed)
    cycles = rng.choice(_CYCLES, columns)
    quarter = rng.integers(0, 2, columns) / 4
    levels = rng.uniform(1, 2, columns)
    levels[0] = 1.0
    # Half a step off, so that no square wave is looked at where it jumps.
    time = (np.arange(rows)[:, None] + 0.5) / rows
    waves = levels * (_LEVEL + _AMPLITUDE * _WAVES[kind](time * cycles + quarter))
    if columns > 1:
        # The published norm is that of 300 × 35 values.
        wanted = _NORM**2 * rows * columns / (300 * 35) - float((waves[:, 0] ** 2).sum())
        waves[:, 1:] *= math.sqrt(wanted / float((waves[:, 1:] ** 2).sum()))
    return waves


def _sinusoid(turns: Floats) -> Floats:
    return np.sin(2 * math.pi * turns)


def _square(turns: Floats) -> Floats:
    return np.where(turns % 1 < 0.5, 1.0, -1.0)


def _triangle(turns: Floats) -> Floats:
    return 1 - 4 * np.abs((turns + 0.25) % 1 - 0.5)


_WAVES: dict[str, Callable[[Floats], Floats]] = {
    "sinusoid": _sinusoid,
    "square": _square,
    "triangle": _triangle,
}


def _check_size(size: int, what: str) -> None:
    if size < 1:
        raise InputError(f"simulated data need one of the {what} or more", found=str(size))
