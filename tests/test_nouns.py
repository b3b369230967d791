"""Nouns are values: frozen, and compared as a whole only where that has an answer."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from typing import Any

#: Where to look; what is said here is meant for all of them.
PACKAGES = ("showthrough.tables.proof", "showthrough.microdata", "showthrough.numbers")

#: What changes while it works.
AT_WORK = {"Allotter", "showthrough.numbers.iteration._Column"}

#: Two arrays are equal element by element, which is neither yes nor no.
ARRAYS = r"\b(NDArray|ndarray|Floats|Whole|Flags|Counts)\b"


def nouns() -> list[Any]:
    """Every dataclass of these packages."""
    return [
        one
        for package in PACKAGES
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, package + ".")
        for one in vars(importlib.import_module(module.name)).values()
        if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module.name
    ]


def test_nothing_is_changed_behind_a_reader() -> None:
    open_ = {
        one.__name__ if not one.__name__.startswith("_") else f"{one.__module__}.{one.__name__}"
        for one in nouns()
        if not one.__dataclass_params__.frozen
    }
    assert open_ == AT_WORK
    assert len(nouns()) > 60


def holding_arrays(public: list[Any]) -> set[Any]:
    """Those of a package that hold arrays, or one another that does."""
    holding: set[Any] = set()
    for _ in public:
        names = "|".join([ARRAYS, *(rf"\b{one.__name__}\b" for one in holding)])
        holding |= {
            one
            for one in public
            if any(re.search(names, str(field.type)) for field in dataclasses.fields(one))
        }
    return holding


def test_what_holds_arrays_is_equal_to_itself_only() -> None:
    public = [one for one in nouns() if not one.__name__.startswith("_")]
    names: set[str] = set()
    for package in PACKAGES:
        for one in holding_arrays([one for one in public if one.__module__.startswith(package)]):
            if one.__dataclass_params__.frozen:
                assert one.__eq__ is object.__eq__, one
                assert one.__hash__ is object.__hash__, one
                names.add(one.__name__)
    assert {"Distribution", "Reconstruction", "Perturbed", "Kernel"} <= names
