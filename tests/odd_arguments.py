"""Arguments of types that hardly any public function takes: each must be refused as a named error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import showthrough as st

__all__ = ["check_refused", "each_odd"]

#: What is wrong nearly everywhere.
ODD: list[Any] = [None, 3, ["a", "b"], object()]

#: Runs a test for each of them, by its number.
each_odd = pytest.mark.parametrize("at", range(len(ODD)), ids=["None", "a number", "texts", "an object"])


def check_refused(
    call: Callable[[Any], object], at: int, *, fine: tuple[int, ...], place: Path, patch: pytest.MonkeyPatch
) -> None:
    """Give a call an odd argument: it is refused by name and nothing is written, unless it is fine there."""
    patch.chdir(place)
    if at in fine:
        call(ODD[at])
        return
    with pytest.raises(st.InputError):
        call(ODD[at])
    assert list(place.iterdir()) == []
