"""Nested areas held against every dataset that there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from brute_force import all_worlds
from needs import SLOW
from showthrough.errors import Contradiction, InputError, ProofError, ReleaseError
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Release, make_table
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.audit import Scope
from showthrough.tables.linked.audit import audit_nest
from showthrough.tables.linked.nest import PART, Nest, plain_release
from tiny_asked import Found, Totals
from tiny_nest_comparison import checker_of, compare_nest, compare_nests
from tiny_nests import random_nest

#: Seeds that once went wrong, and others.
SEEDS = [267, 435, 443, 745, *range(5000 if SLOW else 40)]


def test_claims_about_parts_are_those_of_all_datasets_and_their_proofs_are_accepted() -> None:
    totals = sum((compare_nests(range(seed, seed + 1)) for seed in SEEDS), start=Totals())
    assert not totals.problems
    assert totals.cases["nested"] == len(SEEDS)
    for kind in ("three parts", "rules", "intervals", "no upper end", "weights and sums", "differences"):
        assert totals.cases[f"nested, {kind}"] >= 2, kind


def test_a_comparison_that_is_handed_wrong_datasets_says_so() -> None:
    case, found = random_nest(3), Found()
    compare_nest(case, found, seed=3)
    assert found.said["nested: verified"]
    assert not [*found.false, *found.missed, *found.rejected]
    fewer = replace(case, counts=np.zeros_like(case.counts[:1]))
    compare_nest(fewer, found, seed=3)
    assert found.false


@pytest.mark.parametrize("seed", range(12))
def test_a_dataset_whose_records_are_in_other_parts_is_refused(seed: int) -> None:
    case = random_nest(seed)
    checker = checker_of(case.nest)
    for name, found in zip(case.nest.names, audit_nest(case.nest, seed=seed, findings=False), strict=True):
        mine = checker.part(name)
        for one in found.of_kind("refuted"):
            assert one.worlds is not None
            spoilt = [({**record, PART: case.nest.names[0]}, times) for record, times in one.worlds[0].rows()]
            if spoilt != list(one.worlds[0].rows()) and not agrees(case.nest, spoilt):
                with pytest.raises(ProofError):
                    mine.check_world(spoilt)


def agrees(nest: Nest, rows: list[tuple[dict[str, str], int]]) -> bool:
    """By plain counting."""
    release = plain_release(nest)
    for cell in release.cells:
        count = sum(
            weight * times
            for weight, one in cell.terms
            for record, times in rows
            if all(record[name] in values for name, values in one.terms)
        )
        if not cell.low <= count <= cell.high:
            return False
    return True


@pytest.mark.parametrize("seed", range(10))
def test_a_nest_is_one_release_about_records_that_name_their_part(seed: int) -> None:
    case = random_nest(seed)
    worlds = all_worlds(plain_release(case.nest))
    assert len(worlds) == len(case.counts)


def town(north: tuple[int, ...], south: tuple[int, ...], whole: tuple[int, ...]) -> Nest:
    """Two parts with totals of their own; who is ill is published for the town only."""
    schema = Schema.of({"ill": ["no", "yes"]}, record="person")
    layout = Layout(schema, (make_table(schema, "total"), make_table(schema, "ill")))

    def about(area: str, numbers: tuple[int, ...]) -> Release:
        low = np.array([max(0, n) for n in numbers])
        return Release(layout, low, np.array([n if n >= 0 else UNBOUNDED for n in numbers]), area)

    return Nest(about("town", whole), (about("north", north), about("south", south)))


def test_what_the_whole_leaves_for_a_part_is_found() -> None:
    north, south = audit_nest(town((2, -1, -1), (1, 1, 0), (3, 2, 1)))
    verified = {str(one.claim.selection): one for one in north.of_kind("verified")}
    assert set(verified) == {"ill=no", "ill=yes"}
    assert {one.evidence for one in verified.values()} == {"nested"}
    assert {str(one.claim.selection) for one in south.of_kind("verified")} == {"ill=no"}


def test_parts_that_do_not_add_up_are_a_contradiction() -> None:
    with pytest.raises(Contradiction) as caught:
        audit_nest(town((2, -1, -1), (1, -1, -1), (4, -1, -1)))
    assert {cell[0] for cell in caught.value.cells} == {"total", "north: total", "south: total"}


def test_records_that_do_not_add_up_are_refused() -> None:
    nest = town((2, -1, -1), (1, -1, -1), (3, 3, 0))
    schema = nest.whole.schema
    truth = {
        "north": Records.of([{"ill": "yes"}, {"ill": "no"}], schema),
        "south": Records.of([{"ill": "no"}], schema),
    }
    with pytest.raises(InputError, match="do not add up"):
        audit_nest(nest, truth=truth)


def test_what_cannot_be_decided_for_nested_areas_is_refused() -> None:
    with pytest.raises(InputError, match="not decided for nested areas"):
        audit_nest(town((1, -1, -1), (1, -1, -1), (2, -1, -1)), scope=Scope(absent=True))


def test_parts_need_names_of_their_own_and_one_layout() -> None:
    nest = town((1, -1, -1), (1, -1, -1), (2, -1, -1))
    with pytest.raises(ReleaseError, match="same name"):
        Nest(nest.whole, (nest.parts[0], nest.parts[0]))
    with pytest.raises(ReleaseError, match="no parts"):
        Nest(nest.whole, ())
    with pytest.raises(ReleaseError, match="different layouts"):
        Nest(nest.whole, town((1, -1, -1), (1, -1, -1), (2, -1, -1)).parts)


def test_a_selection_of_a_part_says_which() -> None:
    assert str(Selection.of({PART: "north"})) == "(part)=north"
