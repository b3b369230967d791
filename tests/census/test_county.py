"""The simulated county: deterministic, lawful, and worth auditing."""

from __future__ import annotations

import numpy as np
import pytest

import showthrough as st
from showthrough.census.county import COUNTY_SCHEMA, COUNTY_TABLES, simulate_county


def test_the_same_seed_makes_the_same_county() -> None:
    first, second = (simulate_county(10, seed=3) for _ in range(2))
    assert np.array_equal(first.codes, second.codes)
    assert first.areas is not None
    assert second.areas is not None
    assert first.areas.tolist() == second.areas.tolist()
    assert not np.array_equal(first.codes[:50], simulate_county(10, seed=4).codes[:50])


@pytest.mark.parametrize("seed", range(5))
def test_every_household_obeys_the_rules(seed: int) -> None:
    county = simulate_county(60, seed=seed)
    county.check_rules()
    for row in county.to_arrow().to_pylist():
        alone = row["type"] == "alone"
        assert (row["size"] == "1") == alone
        assert not (alone and row["children"] == "yes")
        old = row["age"] in ("65-74", "75+")
        assert row["seniors"] == "yes" or not old
        assert not (alone and not old and row["seniors"] == "yes")


def test_blocks_have_the_sizes_asked_for() -> None:
    sizes = [len(block) for _, block in simulate_county(50, seed=1, smallest=5, largest=25).by_area()]
    assert len(sizes) == 50
    assert (min(sizes), max(sizes)) == (5, 25)


def test_every_value_occurs() -> None:
    county = simulate_county(200, seed=0)
    for at, attribute in enumerate(COUNTY_SCHEMA.attributes):
        assert len(np.unique(county.codes[:, at])) == len(attribute.values), attribute.name


def test_every_value_has_a_phrase() -> None:
    for attribute in COUNTY_SCHEMA.attributes:
        assert set(attribute.phrases) == set(attribute.values)


def test_tables_have_one_to_three_attributes_and_name_every_column() -> None:
    used = [formula.split("*") for formula in COUNTY_TABLES]
    assert all(len(names) <= 3 for names in used)
    assert {name for names in used for name in names} == {*COUNTY_SCHEMA.names, "total"}


def test_a_block_gives_something_away() -> None:
    (_, block), *_ = simulate_county(1, seed=7).by_area()
    found = st.audit(st.tabulate(block, COUNTY_TABLES), truth=block)
    assert found.n_of("undecided") == 0
    assert any(finding.kind == "singleton" for finding in found.findings)


@pytest.mark.parametrize(("n_areas", "smallest", "largest"), [(0, 5, 25), (3, 0, 4), (3, 6, 5)])
def test_impossible_counties(n_areas: int, smallest: int, largest: int) -> None:
    with pytest.raises(st.InputError, match="a county needs at least one block"):
        simulate_county(n_areas, seed=1, smallest=smallest, largest=largest)
