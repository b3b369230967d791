"""Simulated numbers have the published shapes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.simulated_numbers import BANK_COLUMNS, Wave, bank_balances, bimodal, plateau, signals

from showthrough.errors import InputError

LEVELS = np.arange(35, 81, 5) / 100
DIRECT = [13.9, 16.0, 17.9, 19.8, 22.0, 23.9, 26.0, 28.0, 29.9, 32.0]
IDEAL = [21.2, 32.5, 43.0, 52.9, 62.9, 72.9, 83.3, 94.3, 99.9, 100]


def test_balances_have_the_published_shares() -> None:
    """Direct and ideal disclosure of the published table, within 0.5 and 3 percentage points."""
    values = bank_balances(50_000, seed=1)[:, 0]
    noise = np.random.default_rng(2).uniform(-125, 125, len(values))
    low, high = np.quantile(values, [0.025, 0.975])
    for level, direct, ideal in zip(LEVELS, DIRECT, IDEAL, strict=True):
        assert 100 * np.mean(np.abs(noise) <= level * values) == pytest.approx(direct, abs=0.5)
        inside = (high / (1 + level) <= values) & (values <= low / (1 - level))
        assert 100 * np.mean(inside) == pytest.approx(ideal, abs=3)


def test_balances_are_skewed_and_correlated() -> None:
    values = bank_balances(20_000, seed=3)
    assert values.shape == (20_000, len(BANK_COLUMNS))
    assert values.min() > 0
    apart = values - values.mean(axis=0)
    assert ((apart**3).mean(axis=0) > 0.5 * values.std(axis=0) ** 3).all()
    found = np.corrcoef(values.T)
    assert found[~np.eye(5, dtype=bool)].min() > 0.15


@pytest.mark.parametrize("kind", ["sinusoid", "square", "triangle"])
def test_signals_have_rank_four(kind: Wave) -> None:
    waves = signals(kind, seed=2)
    sizes = np.linalg.svd(waves - waves.mean(axis=0), compute_uv=False)
    assert sizes[3] > 1
    assert sizes[4] < 1e-9 * sizes[0]
    assert np.linalg.norm(waves) == pytest.approx(533.9)


def test_the_first_sinusoid_has_the_published_interval() -> None:
    for seed in range(3):
        assert np.quantile(signals(seed=seed)[:, 0], [0.025, 0.975]) == pytest.approx([2.05, 3.9], abs=0.02)


def test_draws_repeat_with_the_seed() -> None:
    for make in (bank_balances, plateau, bimodal):
        assert np.array_equal(make(50, seed=1), make(50, seed=1))
        assert not np.array_equal(make(50, seed=1), make(50, seed=2))
    assert signals(rows=9, columns=1, seed=1).shape == (9, 1)


def test_unusable() -> None:
    for make in (bank_balances, plateau, bimodal):
        with pytest.raises(InputError, match="or more"):
            make(0, seed=1)
    with pytest.raises(InputError, match="did you mean 'square'"):
        signals("squares", seed=1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="columns or more"):
        signals(columns=0, seed=1)
