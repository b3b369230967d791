"""Levels against the same release written out by hand, value by value, without any hierarchy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import brute_force
import showthrough as st
from comparison import verified_claims
from needs import SLOW

FORMULAS = ("town", "district", "region", "grid", "district*sex", "region*sex", "grid*sex", "town*sex", "sex")


@dataclass(frozen=True, eq=False)
class Both:
    """A release over levels, and the same written out over towns."""

    levels: st.Release
    plain: st.Release
    lies_in: Mapping[str, Mapping[str, str]]

    def by_hand(self, selection: st.Selection) -> st.Selection | None:
        """The towns instead of what they lie in; None if no town lies in all of it."""
        return written_out(selection, self.lies_in)


def written_out(selection: st.Selection, lies_in: Mapping[str, Mapping[str, str]]) -> st.Selection | None:
    towns = set(lies_in["town"])
    rest: dict[str, frozenset[str]] = {}
    for name, values in ((name, selection[name]) for name in selection.attributes):
        if name in lies_in:
            towns &= {town for town, place in lies_in[name].items() if place in values}
        else:
            rest[name] = values
    return st.Selection.of({**rest, "town": towns}) if towns else None


def of_towns(selection: st.Selection, lies_in: Mapping[str, Mapping[str, str]]) -> st.Selection:
    found = written_out(selection, lies_in)
    assert found is not None
    return found


def random_both(seed: int) -> Both:
    """Towns in districts in regions, and in squares of a grid that cuts across these."""
    rng = np.random.default_rng(seed)
    towns = [f"t{number}" for number in range(int(rng.integers(2, 5)))]
    district = {town: f"d{number}" for town, number in zip(towns, draw(rng, len(towns), 3), strict=True)}
    districts = sorted(set(district.values()))
    regions = {one: f"r{number}" for one, number in zip(districts, draw(rng, len(districts), 2), strict=True)}
    grid = {town: f"g{number}" for town, number in zip(towns, draw(rng, len(towns), 2), strict=True)}
    lies_in = {
        "town": dict(zip(towns, towns, strict=True)),
        "district": district,
        "region": {town: regions[district[town]] for town in towns},
        "grid": grid,
    }
    schema = st.Schema.of(
        {"town": towns, "sex": ["f", "m"]},
        hierarchies=[
            st.Hierarchy.of("place", ["region", "district", "town"], {**district, **regions}),
            st.Hierarchy.of("squares", ["grid", "town"], grid),
        ],
    )
    plain = st.Schema.of({"town": towns, "sex": ["f", "m"]})
    people = [
        {"town": str(rng.choice(towns)), "sex": str(rng.choice(["f", "m"]))}
        for _ in range(int(rng.integers(1, 5)))
    ]
    formulas = ["total", *rng.choice(FORMULAS, int(rng.integers(1, 4)), replace=False).tolist()]
    layout = st.Layout(schema, tuple(st.make_table(schema, formula) for formula in formulas))
    counted = layout.tabulate(st.Records.of(people, schema))
    hidden = rng.random(len(counted.low)) < 0.2
    hidden[0] = False
    low, high = np.where(hidden, 0, counted.low), np.where(hidden, 4, counted.high)
    tables = tuple(
        st.Table(
            table.name,
            tuple(st.Cell(cell.name, of_towns(cell.selection, lies_in)) for cell in table.cells),
        )
        for table in layout.tables
    )
    by_hand = st.Release(st.Layout(plain, tables), low, high)
    return Both(st.Release(layout, low, high), by_hand, lies_in)


def draw(rng: np.random.Generator, size: int, most: int) -> list[int]:
    return rng.integers(0, most, size).tolist()


@pytest.mark.parametrize("seeds", [range(at, at + 10) for at in range(0, 400 if SLOW else 20, 10)], ids=str)
def test_claims_are_those_of_brute_force_over_towns(seeds: range) -> None:
    for seed in seeds:
        both = random_both(seed)
        worlds = brute_force.all_worlds(both.plain)
        counts = {
            selection: worlds.count(by_hand)
            for selection in brute_force.selections(both.levels.schema)
            if (by_hand := both.by_hand(selection)) is not None
        }
        in_use = set(brute_force.attributes_in_use(both.levels))
        expected = {
            (selection, int(found[0]))
            for selection, found in counts.items()
            if set(selection.attributes) <= in_use and found[0] == found.min() == found.max() > 0
        }
        audit = st.audit(both.levels)
        assert verified_claims(audit) == expected, seed
        towns = {(s, m) for s, m in expected if {*s.attributes} <= {"town", "sex"}}
        assert verified_claims(st.audit(both.plain)) <= towns, seed


@pytest.mark.parametrize("seed", range(100, 120))
def test_bounds_are_those_of_the_values_written_out(seed: int) -> None:
    both = random_both(seed)
    worlds = brute_force.all_worlds(both.plain)
    place = both.levels.schema["district"].values[0]
    for asked in (f"district={place}", f"district={place},sex=f", f"district={place},grid=g0"):
        try:
            selection = both.levels.schema.check_selection(st.Selection.of(asked))
        except st.SchemaError:
            continue  # no square g0
        by_hand = both.by_hand(selection)
        found = st.bounds(both.levels, selection)
        if by_hand is None:
            assert (found.low, found.high) == (0, 0)
        else:
            counts = worlds.count(by_hand)
            assert (found.low, found.high) == (counts.min(), counts.max()), (seed, asked)


@pytest.mark.parametrize("seed", range(200, 220))
def test_claims_are_the_same_without_the_levels_that_no_table_uses(seed: int) -> None:
    release = random_both(seed).levels
    schema = release.schema.trimmed({name for cell in release.cells for name in cell.selection.attributes})
    trimmed = st.Release(st.Layout(schema, release.tables), release.low, release.high)
    whole = verified_claims(st.audit(release))
    assert verified_claims(st.audit(trimmed)) == {
        (selection, m) for selection, m in whole if {*selection.attributes} <= {*schema.names}
    }


def test_what_shows_through_of_a_level_is_found_though_no_value_of_the_finest_does() -> None:
    place = st.Hierarchy.of("place", ["district", "town"], {"t1": "d1", "t2": "d1", "t3": "d2", "t4": "d2"})
    schema = st.Schema.of(
        {"town": ["t1", "t2", "t3", "t4"], "sex": ["f", "m"], "ill": ["no", "yes"]}, hierarchies=[place]
    )
    release = st.Release.of(schema, {"district*sex": [1, 2, 3, 3], "district*ill": [0, 3, 3, 3]})
    sentences = [finding.sentence(schema) for finding in st.audit(release).findings]
    assert (
        "Whoever knows that district is d1 and sex is f learns that ill is yes (exactly one such record)."
        in sentences
    )
    assert not any("town" in sentence for sentence in sentences)


def test_a_run_folder_keeps_the_hierarchy_and_its_proofs_hold(tmp_path: Path) -> None:
    both = random_both(3)
    st.run_audit([st.Area(both.levels)], both.levels.layout, tmp_path / "run")
    assert st.AuditRun.open(tmp_path / "run").layout.schema == both.levels.schema
    checked = st.verify(tmp_path / "run")
    assert checked.holds
    assert checked.claims


def test_protecting_names_levels() -> None:
    place = st.Hierarchy.of("place", ["district", "town"], {"t1": "d1", "t2": "d1", "t3": "d2"})
    schema = st.Schema.of({"town": ["t1", "t2", "t3"], "sex": ["f", "m"]}, hierarchies=[place])
    release = st.Release.of(schema, {st.make_table(schema, "town*sex", totals=True): TOTALS})
    found = st.protect(release, st.Policy.of("singletons,k>=2", moves="suppress"))
    assert found.status == "safe"
    (area,) = found.areas
    shown = {cell.name: cell.value() for cell in area.release.cells}
    assert shown["sex=f,town=t1"] == "unknown"
    safe = st.audit(area.release)
    assert not any(m == 1 and len(s) >= 2 for s, m in verified_claims(safe))


def test_levels_of_one_hierarchy_are_one_column_of_a_policy() -> None:
    place = st.Hierarchy.of("place", ["district", "town"], {"t1": "d1", "t2": "d1", "t3": "d2"})
    schema = st.Schema.of({"town": ["t1", "t2", "t3"], "sex": ["f", "m"]}, hierarchies=[place])
    towns = st.Release.of(schema, {"town": [1, 2, 3]})
    assert (st.Selection.of("district=d1,town=t1"), 1) in verified_claims(st.audit(towns))
    assert st.protect(towns, st.Policy.of("singletons,k>=2")).steps == ()
    assert st.protect(towns, st.Policy.of("singletons,k>=1")).steps
    crossed = st.Release.of(schema, {"town*sex": [1, 2, 3, 3, 3, 3]})
    assert st.protect(crossed, st.Policy.of("singletons,k>=2")).steps
    assert not st.protect(crossed, st.Policy.of("singletons,k>=3")).steps


#: Towns by sex, districts by sex, towns, districts, sexes and all.
TOTALS = [1, 4, 3, 5, 4, 4, 4, 9, 4, 4, 5, 8, 8, 13, 8, 8, 13, 21]
