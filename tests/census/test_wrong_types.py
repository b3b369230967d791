"""Arguments of a wrong type, given to what is public about the census: each is an error that says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import showthrough as st
from odd_arguments import check_refused, each_odd

THREE: Any = 3

#: a call with one argument, and which of the odd ones it takes
CALLS: dict[str, tuple[Callable[[Any], object], tuple[int, ...]]] = {
    "census_schema": (lambda odd: st.census_schema(children=odd), ()),
    "edits": (lambda odd: st.census_schema(edits=odd), ()),
    "census_layout": (lambda odd: st.census_layout(children=odd), ()),
    "cells": (lambda odd: st.census_layout(cells=odd), ()),
    "renter": (lambda odd: st.census_layout(renter=odd), ()),
    "census_tables": (st.census_tables, ()),
    "check_additivity": (st.check_additivity, ()),
    "read_census": (st.read_census, ()),
    "layout": (lambda odd: st.read_census("counts.csv", odd or THREE), ()),
    "write_census": (lambda odd: st.write_census(odd, "counts.csv"), ()),
    "path": (lambda odd: st.write_census([], odd), ()),
    "CensusCounts": (st.CensusCounts, ()),
    "iter_households": (lambda odd: st.iter_households(odd, seed=1), (1,)),
    "simulate_households": (lambda odd: st.simulate_households(odd, seed=1), (1,)),
    "seed": (lambda odd: st.simulate_households(1, seed=odd), (1,)),
    "write_households": (lambda odd: st.write_households(odd, 1, seed=1), ()),
    "simulate_county": (lambda odd: st.simulate_county(odd, seed=1), (1,)),
    "seed of a county": (lambda odd: st.simulate_county(1, seed=odd), (1,)),
    "smallest": (lambda odd: st.simulate_county(1, seed=1, smallest=odd), (1,)),
}


@pytest.mark.parametrize("name", CALLS)
@each_odd
def test_odd_arguments_are_named_errors(
    name: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, fine = CALLS[name]
    check_refused(call, at, fine=fine, place=tmp_path, patch=monkeypatch)


def test_messages_name_the_argument_and_a_remedy() -> None:
    with pytest.raises(st.InputError, match="schema must be Schema, not NoneType; use census_schema"):
        st.census_tables(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(st.InputError, match="cells must be all or bottom or 621"):
        st.census_layout(cells="some")  # pyright: ignore[reportArgumentType]
    with pytest.raises(st.InputError, match="a seed must be at least 0"):
        st.simulate_county(1, seed=-1)
