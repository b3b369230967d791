"""A mixed-integer search over some classes: what it finds is a dataset, what it misses proves nothing."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import all_worlds
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.tables.audit import start_decider
from showthrough.tables.search import counterexamples
from showthrough.tables.search.counterexamples import Counterexamples

SCHEMA = Schema.of({"sex": ["f", "m"], "age": ["young", "old", "older"]})
RELEASE = Release.of(SCHEMA, {"sex": [3, 2], "age": [2, 2, 1]})


def test_what_is_found_among_few_classes_is_a_dataset() -> None:
    program = start_decider(RELEASE, truth=None, effort=1.0, seed=0).program
    worlds, n = all_worlds(RELEASE), program.system.n_classes
    assert len(worlds) > 2
    n_found = 0
    for chosen in range(1 << n):
        among = np.flatnonzero([chosen >> at & 1 for at in range(n)])
        goal = np.zeros(n, np.int64)
        goal[chosen % n] = 1
        found = program.integers_below(goal, 0, nodes=50, among=among)
        if found is not None:
            assert program.system.allows(found)
            assert set(np.flatnonzero(found).tolist()) <= set(among.tolist())
            assert int(goal @ found) == 0
            n_found += 1
    assert n_found


def test_many_classes_are_reduced_to_those_of_worlds_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    decider = start_decider(RELEASE, truth=None, effort=1.0, seed=0)
    counts = decider.class_counts(decider.current)
    goal = np.zeros(len(counts), np.int64)
    goal[int(np.argmax(counts))] = 1
    search = Counterexamples(decider)
    assert search.some_classes(goal, 0) is None
    monkeypatch.setattr(counterexamples, "_MOST_CLASSES", 0)
    among = search.some_classes(goal, int(counts.max()) - 1)
    assert among is not None
    assert set(np.flatnonzero(counts).tolist()) < set(among.tolist())
