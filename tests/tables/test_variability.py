"""How different two datasets can be, held against all pairs of datasets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from brute_force import Worlds
from needs import SLOW
from showthrough.errors import ProofError
from showthrough.release import Release
from showthrough.report.verify import verify
from showthrough.schema import Schema
from showthrough.tables.linked.audit import audit_nest
from showthrough.tables.linked.differ import variability_of_parts
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import PART, Checker, Leaf, NestChecker
from showthrough.tables.proof.differ import Difference, n_different
from showthrough.tables.proof.whole import check_run
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import run_audit
from showthrough.tables.variability import settled_records, variability
from strategies import random_case
from tiny_nests import random_nest

SEEDS = range(1000 if SLOW else 90)


def checker_of(nest: Nest) -> NestChecker:
    return NestChecker(nest.whole.schema, nest.whole.cells, {one.area: one.cells for one in nest.parts})


def largest_difference(worlds: Worlds) -> int | None:
    """By all pairs; None where datasets have different numbers of records."""
    sizes = worlds.counts.sum(axis=1)
    if len(np.unique(sizes)) > 1 or worlds.free.any():
        return None
    common = [int(np.minimum(one, worlds.counts).sum(axis=1).min()) for one in worlds.counts]
    return int(sizes[0]) - min(common)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 30))
def test_the_largest_difference_lies_between_the_ends(first: int) -> None:
    n_tight = n_all = 0
    for seed in SEEDS[first : first + 30]:
        case = random_case(seed)
        if len(case.worlds) > 300:
            continue
        found, expected = variability(case.release), largest_difference(case.worlds)
        assert (found is None) == (expected is None)
        if found is None or expected is None:
            continue
        assert found.low <= expected <= found.high
        assert found.high or len(case.worlds) == 1
        one, other = ({tuple(r.items()): n for r, n in world.rows()} for world in found.worlds)
        common = sum(min(n, other.get(record, 0)) for record, n in one.items())
        assert found.records - common == found.low
        n_all += 1
        n_tight += found.low == found.high
    assert n_tight >= 0.8 * n_all


def test_the_checker_accepts_no_smaller_difference() -> None:
    schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = Release.of(schema, {"sex": [1, 5], "ill": [5, 1]})
    found = variability(release)
    assert found is not None
    assert (found.low, found.high, found.records) == (2, 2, 6)
    checker, proof = Checker(schema, release), found.proof
    assert proof.leaf is not None
    proof.check(checker)
    assert Difference.from_json(proof.to_json()) == proof
    with pytest.raises(ProofError, match="at most 2 differ, not 1"):
        replace(proof, most=1).check(checker)
    with pytest.raises(ProofError, match="at most 4 differ, not 1"):
        replace(proof, most=1, leaf=None).check(checker, settled=2)
    replace(proof, leaf=None).check(checker, settled=4)
    with pytest.raises(ProofError, match="exceed"):
        replace(proof, most=1, leaf=Leaf(((1, 9),), (), 1, 45)).check(checker)
    with pytest.raises(ProofError, match="not proved"):
        replace(proof, total=replace(proof.total, at_most=None)).check(checker)
    with pytest.raises(ProofError, match="leaves out"):
        replace(proof, most=1, over=("sex",)).check(checker)


def test_an_attribute_in_no_table_can_differ_everywhere() -> None:
    schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    found = variability(Release.of(schema, {"sex": [1, 2]}))
    assert found is not None
    assert (found.low, found.high) == (3, 3)


@pytest.mark.parametrize("first", range(0, 2000 if SLOW else 20, 20))
def test_parts_differ_no_more_than_all_pairs_of_datasets_say(first: int) -> None:
    n_all = n_tight = 0
    for seed in range(first, first + 20):
        case = random_nest(seed)
        audits = audit_nest(case.nest, truth=case.truth if seed % 2 else None, seed=seed, findings=False)
        found = variability_of_parts(audits, seed=seed)
        checker = checker_of(case.nest)
        if all(one is not None for one in found):
            for side in (0, 1):  # the records of all parts together are a dataset of the whole
                checker.check_world(
                    ({PART: name, **record}, times)
                    for name, one in zip(case.nest.names, found, strict=True)
                    if one is not None
                    for record, times in one.worlds[side].rows()
                )
        for at, one in enumerate(found):
            if one is None:
                continue
            counts = case.counts[:, at]
            sizes = counts.sum(axis=1)
            assert (sizes == one.records).all()
            common = min(int(np.minimum(mine, counts).sum(axis=1).min()) for mine in counts)
            free = any(len(case.nest.whole.schema[name].values) > 1 for name in audits[at].left_out)
            largest = one.records if free else one.records - common
            assert one.low <= largest <= one.high
            assert n_different(*(world.rows() for world in one.worlds)) == one.low
            one.proof.check(checker.part(case.nest.names[at]), settled_records(audits[at]))
            n_all, n_tight = n_all + 1, n_tight + (one.low == one.high)
    assert n_all > 10
    assert n_tight >= 0.8 * n_all


def test_a_run_keeps_pairs_and_proofs_that_both_checkers_accept(tmp_path: Path) -> None:
    schema = Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    first = Release.of(schema, {"sex": [1, 5], "ill": [5, 1]}, area="a")
    others = [([2, 0], "b"), ([0, 0], "c")]
    areas = [first, *(Release(first.layout, n := np.array(low * 2), n, area) for low, area in others)]
    run = run_audit(areas, first.layout, tmp_path / "run", settings=Settings(variability=True))
    rows = {row["area"]: row for row in run.table("areas").to_pylist()}
    ends = {area: (row["differ_low"], row["differ_high"], row["unique"]) for area, row in rows.items()}
    assert ends == {"a": (2, 2, False), "b": (0, 0, True), "c": (0, 0, True)}
    assert (run.summary.differ_high, run.summary.records_compared) == (2, 8)
    assert verify(run.folder).holds
    assert check_run(run.folder).holds
    path = run.folder / "proofs" / "variability.parquet"
    table = pq.read_table(path)
    for old, new in (('"most":2', '"most":1'), ('"denominator":', '"denominator":-')):
        proofs = [str(text).replace(old, new) for text in table["proof"].to_pylist()]
        assert proofs != table["proof"].to_pylist()
        pq.write_table(table.set_column(1, "proof", pa.array(proofs)), path, compression="gzip")
        assert any("area a: how different" in problem for problem in verify(run.folder).problems)
        assert any(problem.startswith("area a: ") for problem in check_run(run.folder).problems)


def test_a_run_that_was_not_asked_says_nothing(tmp_path: Path) -> None:
    schema = Schema.of({"sex": ["f", "m"]})
    release = Release.of(schema, {"sex": [1, 5]}, area="a")
    run = run_audit([release], release.layout, tmp_path / "run")
    (row,) = run.table("areas").to_pylist()
    assert (row["differ_low"], row["differ_high"]) == (None, None)
    assert "areas_compared" not in run.summary.to_plain()
    assert not run.summary.differences(schema)
    assert not run.has_variability
    path = run.folder / "areas.parquet"
    older = pq.read_table(path).drop_columns(["differ_low", "differ_high"])
    pq.write_table(older, path, compression="gzip")  # as earlier versions wrote it
    assert run.table("areas").to_pylist() == [row]
