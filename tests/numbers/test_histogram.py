"""Histograms for pictures: nothing is lost, and long tails do not stretch them."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import TypeAdapter

from showthrough.errors import InputError
from showthrough.numbers.histogram import BINS, Histogram

VALUES = some.lists(some.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(VALUES, VALUES)
def test_every_value_is_counted_once(one: list[float], two: list[float]) -> None:
    shown = Histogram.of({"noisy": one, "true": two})
    for name, values in (("noisy", one), ("true", two)):
        assert sum(shown.values[name].counts) + shown.values[name].beyond == len(values)
    assert len(shown.edges) == BINS + 1


def test_a_long_tail_does_not_stretch_the_bins() -> None:
    values = np.append(np.random.default_rng(1).normal(size=5000), [1e9, -1e9])
    shown = Histogram.of({"noisy": values})
    assert shown.edges[-1] < 10
    assert shown.values["noisy"].below >= 1
    assert shown.density("noisy") @ np.diff(shown.edges) == pytest.approx(0.998, abs=0.001)


def test_it_survives_a_file() -> None:
    shown = Histogram.of({"noisy": [1.0, 2.0, 2.0]})
    back = TypeAdapter(Histogram).validate_python(json.loads(json.dumps(asdict(shown))))
    assert back == shown


def test_no_values() -> None:
    with pytest.raises(InputError, match="needs values"):
        Histogram.of({"noisy": []})
