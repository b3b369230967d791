"""A mixed-integer search over some classes: what it finds is a dataset, what it misses proves nothing."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import all_worlds, legal_types
from showthrough import Layout, Records, audit, make_table
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.tables.audit import start_decider
from showthrough.tables.search import counterexamples, decider
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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("told", [True, False], ids=["with records", "counts alone"])
def test_questions_in_parts_are_decided_as_all_at_once(
    seed: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of the questions comes after worlds of another are known, and loses none of them."""
    rng = np.random.default_rng(seed)
    records = Records(SCHEMA, np.stack([rng.integers(0, 2, 5), rng.integers(0, 3, 5)], axis=1).astype("u2"))
    formulas = ["sex", "age"] if seed % 2 else ["sex*age"]
    release = Layout(SCHEMA, tuple(make_table(SCHEMA, one) for one in formulas)).tabulate(records)
    monkeypatch.setattr(decider, "_MOST_ENTRIES", 3 * len(legal_types(SCHEMA)))
    found, worlds = audit(release, truth=records if told else None), all_worlds(release)
    assert found.n_of("undecided") == 0
    for verdict in found.verdicts:
        counts = worlds.count(verdict.claim.selection)
        assert (verdict.kind == "verified") == bool((counts == verdict.claim.multiplicity).all())
        if verdict.worlds is not None:
            assert len({world.count(verdict.claim.selection) for world in verdict.worlds}) == 2
