"""Histograms for pictures: nothing is lost, and long tails do not stretch them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from showthrough.errors import InputError
from showthrough.numbers.density import BINS, Histogram

VALUES = some.lists(some.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(VALUES, VALUES)
def test_every_value_is_counted_once(one: list[float], two: list[float]) -> None:
    shown = Histogram.of({"noisy": one, "true": two})
    for name, values in (("noisy", one), ("true", two)):
        assert shown.counts[name].sum() + sum(shown.beyond[name]) == len(values)
    assert len(shown.edges) == BINS + 1


def test_a_long_tail_does_not_stretch_the_bins() -> None:
    values = np.append(np.random.default_rng(1).normal(size=5000), [1e9, -1e9])
    shown = Histogram.of({"noisy": values})
    assert shown.edges[-1] < 10
    assert shown.beyond["noisy"][0] >= 1
    assert shown.density("noisy") @ np.diff(shown.edges) == pytest.approx(0.998, abs=0.001)


def test_it_survives_a_file() -> None:
    shown = Histogram.of({"noisy": [1.0, 2.0, 2.0]})
    back = Histogram.from_dict(json.loads(json.dumps(shown.to_dict())))
    assert back.counts["noisy"].tolist() == shown.counts["noisy"].tolist()
    assert back.edges.tolist() == shown.edges.tolist()
    assert back.beyond == shown.beyond


def test_no_values() -> None:
    with pytest.raises(InputError, match="needs values"):
        Histogram.of({"noisy": []})
