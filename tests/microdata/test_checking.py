"""Finished publications, checked from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from showthrough.errors import InputError
from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.check import check
from showthrough.microdata.check_published import check_diversity, check_reconstruction, check_rho
from showthrough.microdata.groups import Groups
from showthrough.microdata.partitioned import Partitioned
from showthrough.microdata.plan import Method
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled
from showthrough.microdata.uniform import UniformPerturbation

PROMISE = ReconstructionPrivacy(0.3, 0.3)

#: Counts of four groups: two far over their limits, two far under.
COUNTS = {
    ("f", "a"): [9000, 500, 500],
    ("f", "b"): [4000, 3500, 2500],
    ("m", "a"): [9, 5, 6],
    ("m", "b"): [3, 3, 4],
}


def people(counts: dict[tuple[str, str], list[int]] = COUNTS) -> pa.Table:
    rows = [
        (sex, town, f"s{value}")
        for (sex, town), numbers in counts.items()
        for value, number in enumerate(numbers)
        for _ in range(number)
    ]
    return pa.table(dict(zip(("sex", "town", "ill"), map(list, zip(*rows, strict=True)), strict=True)))


def made(method: Method, folder: Path, *, seed: int = 2**70, form: str = "parquet") -> Publication:
    return publish(
        people(),
        folder,
        sensitive="ill",
        method=method,
        seed=seed,
        file_format="csv" if form == "csv" else "parquet",
    )


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_groups_of_a_uniform_publication_are_judged_as_the_records_are(tmp_path: Path, form: str) -> None:
    publication = made(UniformPerturbation(0.5), tmp_path / "public", form=form)
    found = check_reconstruction(publication, PROMISE)
    truth = PROMISE.check(Groups.read(people(), sensitive="ill"), retention=0.5)
    assert found.found.sizes.tolist() == truth.sizes.tolist() == found.trials.tolist()
    assert found.found.violated("chernoff").tolist() == truth.violated("chernoff").tolist()
    assert found.found.frequency[:2] == pytest.approx(truth.frequency[:2], abs=0.05)
    assert found.public.column_names == ["sex", "town"]


@pytest.mark.parametrize("trials", ["banded", "printed"])
@pytest.mark.parametrize("seed", range(2**70, 2**70 + 5))
def test_a_sampled_publication_never_exceeds_its_own_limits(tmp_path: Path, seed: int, trials: Any) -> None:
    method = Sampled(PROMISE, 0.5, "chernoff", significance=None, trials=trials)
    found = check_reconstruction(made(method, tmp_path / "public", seed=seed), PROMISE)
    assert found.found.holds("chernoff")
    assert (found.trials[:2] < 300).all()
    assert (found.trials[2:] == found.found.sizes[2:]).all()
    assert found.found.sizes.tolist() == [sum(row) for row in COUNTS.values()]
    stricter = check_reconstruction(
        made(method, tmp_path / "again", seed=seed), ReconstructionPrivacy(0.9, 0.9)
    )
    assert not stricter.found.holds("chernoff")
    assert not found.surely_held.any(), "sizes that follow from frequencies tell them: nothing is certain"


def test_independent_trials_are_known_to_keep_the_promise_whatever_the_records_were(tmp_path: Path) -> None:
    """From outside *holds* once followed from estimated frequencies; now it is certain, or not said."""
    publication = made(Sampled(PROMISE, significance=None), tmp_path / "public")
    found = check_reconstruction(publication, PROMISE)
    assert found.surely_held.all()
    assert not found.surely_violated.any()
    result = check(publication, PROMISE)
    assert result.verdict == "holds"
    assert result.summary.headline.startswith("The promise holds in every published group, whatever")
    assert check(publication, ReconstructionPrivacy(0.3, 0.45)).verdict == "undecided"
    assert check(publication, ReconstructionPrivacy(0.9, 0.9)).verdict == "violated"


def test_of_a_uniform_publication_only_the_certain_is_said(tmp_path: Path) -> None:
    publication = made(UniformPerturbation(0.5), tmp_path / "public")
    assert check(publication, PROMISE).verdict == "violated"
    assert check(publication, ReconstructionPrivacy(0.01, 0.2)).verdict == "undecided"


def test_a_promise_of_rho_holds_is_broken_or_cannot_be_told(tmp_path: Path) -> None:
    promise = RhoPrivacy(0.4, 0.6)
    publication = made(UniformPerturbation(promise=promise), tmp_path / "kept")
    assert check_rho(publication, promise).verdict == "undecided"  # public values may tell more
    truth = Groups.read(people(), sensitive="ill")
    known = check_rho(publication, promise, truth=truth)
    assert (known.verdict, known.people.exposed) == ("holds", 0)
    # s1 has 20 % of all records, but 35 % of one group; s2 has 15 %, but 40 % of another.
    stricter = RhoPrivacy(0.3, 0.6)
    publication = made(UniformPerturbation(promise=stricter), tmp_path / "stricter")
    known = check_rho(publication, stricter, truth=truth)
    assert (known.verdict, known.people.exposed, known.people.not_rare) == ("violated", 10_010, 10_010)
    assert check_rho(publication, stricter).verdict == "violated"
    alone = publish(people(), tmp_path / "alone", sensitive="ill", public=[], promise=promise)
    assert check_rho(alone, promise).verdict == "holds"
    assert (check_rho(alone, promise).high <= 0.6 * (1 + 1e-9)).all()
    broken = check_rho(made(UniformPerturbation(0.9), tmp_path / "broken"), promise)
    assert broken.verdict == "violated"
    assert broken.low[0] > 0.6
    publication = made(Partitioned(promise), tmp_path / "parts")
    parts = check_rho(publication, promise)
    known = check_rho(publication, promise, truth=truth)
    assert parts.verdict == known.verdict == "violated"  # a group differs from the whole sub-table
    assert parts.people.exposed <= known.people.exposed <= parts.people.exposed_most
    assert ((parts.low <= parts.posterior) & (parts.posterior <= parts.high)).all()
    # Values over the prior are not protected, so nothing is broken whatever is kept.
    assert (
        check_rho(made(UniformPerturbation(0.9), tmp_path / "other"), RhoPrivacy(0.01, 0.2)).verdict
        == "undecided"
    )


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_diversity_of_an_anatomy_is_known_exactly(tmp_path: Path, form: str) -> None:
    publication = made(Anatomized(LDiversity(2)), tmp_path / "public", form=form)
    found = check_diversity(publication, LDiversity(2))
    assert found.holds
    assert found.sizes.sum() == publication.manifest.records
    assert (found.largest == 1).all()
    assert not check_diversity(publication, LDiversity(4)).holds


def test_what_a_publication_cannot_be_checked_for(tmp_path: Path) -> None:
    anatomy = made(Anatomized(LDiversity(2)), tmp_path / "anatomy")
    uniform = made(UniformPerturbation(0.5), tmp_path / "uniform")
    with pytest.raises(InputError, match="an anatomy has no retention"):
        check_rho(anatomy, RhoPrivacy(0.1, 0.5))
    with pytest.raises(InputError, match="one retention for all values"):
        check_reconstruction(anatomy, PROMISE)
    with pytest.raises(InputError, match="diversity does not apply"):
        check_diversity(uniform, LDiversity(2))


def test_estimated_posteriors_cover_the_true_one(tmp_path: Path) -> None:
    """Four standard errors fail with a chance under 1e-4 for each of ten seeds."""
    counts = np.array(list(COUNTS.values())).sum(axis=0)
    promise = RhoPrivacy(0.4, 0.7)
    truth = promise.check(counts, retention=0.5).posterior[0]
    for seed in range(10):
        found = check_rho(made(UniformPerturbation(0.5), tmp_path / str(seed), seed=2**70 + seed), promise)
        assert found.low[0] <= truth <= found.high[0]
