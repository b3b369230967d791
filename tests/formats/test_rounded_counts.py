"""Counts of rounded tables, written and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import showthrough as st
from needs import examples
from showthrough.formats.release_file import write_release
from showthrough.notation import METHODS, Rounding
from showthrough.releases import write_counts


@settings(max_examples=examples(60), deadline=None)
@given(
    some.integers(1, 7),
    some.sampled_from(sorted(METHODS)),
    some.lists(some.tuples(some.integers(0, 30), some.integers(0, 9)), min_size=2, max_size=2),
)
def test_whatever_is_known_reads_back(
    tmp_path_factory: pytest.TempPathFactory, base: int, method: str, known: list[tuple[int, int]]
) -> None:
    """Intervals that a rounded number says, and others, in one rounded table."""
    schema = st.Schema.of({"sex": ["f", "m"]})
    layout = st.Layout(schema, (st.make_table(schema, "sex"),))
    rounding = {"sex": Rounding(base, method)}
    first, second = Rounding(base, method).bounds(base * known[0][0]), (known[1][0], sum(known[1]))
    low, high = np.array([first, second]).T
    release = st.Release(layout, low, high)
    folder: Path = tmp_path_factory.mktemp("rounded")
    write_release(layout, folder / "release.toml", counts="counts.csv", rounding=rounding)
    write_counts([release], folder / "counts.csv", rounding=rounding)
    (again,) = st.read_release(folder / "release.toml")
    assert (again.low == low).all()
    assert (again.high == high).all()
    shown = (folder / "counts.csv").read_text().splitlines()[1]
    assert shown.endswith(f'"{base * known[0][0]}"') or base == 1
