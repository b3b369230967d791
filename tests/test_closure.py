"""What the rules imply, against every record the rules allow."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force import legal_types
from showthrough.closure import Closure, bits, codes
from showthrough.schema import Rule, Schema
from showthrough.selection import Selection
from strategies import random_schema, random_selection


@pytest.mark.parametrize("seed", range(100))
def test_no_possible_record_is_lost(seed: int) -> None:
    """And whatever is said to be implied holds for every record the rules allow."""
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    for _ in range(10):
        selection = random_selection(rng, schema, 3)
        matching = [record for record in legal_types(schema) if selection.matches(record)]
        closed = schema.closure.close(schema.closure.only(schema.encode(selection)))
        if closed is None:
            assert not matching
            continue
        for attribute, allowed in zip(schema.attributes, closed, strict=True):
            left = {attribute.values[code] for code in codes(allowed)}
            assert {record[attribute.name] for record in matching} <= left
        for name in selection.attributes:
            having = [record for record in legal_types(schema) if record[name] in selection[name]]
            for other in schema.attributes:
                some = frozenset(rng.choice(other.values, 1).tolist())
                if schema.implies(name, selection[name], other.name, some):
                    assert all(record[other.name] in some for record in having)


def test_rules_are_followed_one_after_the_other() -> None:
    """Size 1 implies alone, alone implies no children."""
    chain = [
        Rule(Selection.of(size="1"), Selection.of(type="alone")),
        Rule(Selection.of(type="alone"), Selection.of(children="no")),
    ]
    values = {"children": ["no", "yes"], "type": ["alone", "family"], "size": ["1", "2"]}
    for rules in (chain, chain[::-1]):
        closure = Schema.of(values, rules=rules).closure
        assert closure.close([0b11, 0b11, 0b01]) == (0b01, 0b01, 0b01)
        assert closure.close([0b10, 0b11, 0b11]) == (0b10, 0b10, 0b10)
        assert closure.close([0b10, 0b11, 0b01]) is None


def test_nothing_is_taken_away_for_nothing() -> None:
    """A box that holds everything allowed leaves the sets as they are; only their closure is none."""
    closure = Closure((2, 2), ({0: 0b01, 1: 0b10},))
    assert closure.narrow([0b01, 0b10]) == (0b01, 0b10)
    assert closure.close([0b01, 0b10]) is None
    assert closure.close([0b11, 0b11]) == (0b11, 0b11)


@pytest.mark.parametrize("chosen", [[], [0], [1, 3], [0, 70]])
def test_bits_and_codes(chosen: list[int]) -> None:
    assert codes(bits(chosen)) == chosen
