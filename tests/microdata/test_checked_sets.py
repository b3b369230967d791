"""Checks of sets of values and of known totals: what they count against brute force, and what they say."""

from __future__ import annotations

import re
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from scipy.sparse import vstack

from needs import examples
from showthrough.microdata import set_exposure
from showthrough.microdata.check import check
from showthrough.microdata.check_summary import BeliefSummary, SubTablesSummary, read_summary
from showthrough.microdata.groups import Groups
from showthrough.microdata.manifest import Manifest
from showthrough.microdata.partition import partition
from showthrough.microdata.partitioned import Partitioned, perturb_partition, recover
from showthrough.microdata.people import ReaderUnits
from showthrough.microdata.plan import SubTable
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.set_exposure import check_unit_sets, find_set_exposure
from showthrough.microdata.sets import Family
from showthrough.microdata.uniform import UniformPerturbation

THIRDS = RhoPrivacy(1 / 3, 2 / 3)
TOTALS = {"clerk": 12, "nurse": 8, "baker": 6, "cook": 5, "driver": 4, "tailor": 3}
JOBS = [*TOTALS, "judge", "mayor", "priest", "vet"]
NUMBERS = [*TOTALS.values(), 1, 1, 1, 1]


def people(times: int = 1) -> pa.Table:
    jobs = np.repeat(JOBS, np.array(NUMBERS) * times)
    return pa.table({"sex": np.resize(["f", "m"], len(jobs)), "job": jobs})


def made(folder: Path, promise: RhoPrivacy, *, times: int = 1) -> Publication:
    return publish(people(times), folder, sensitive="job", method=Partitioned(promise), seed=2**90)


def counted_by_hand(groups: Groups, kept: float, promise: RhoPrivacy, family: Family) -> float:
    """People in groups where a protected value or set is believed too much, set by set."""
    counts, totals, m = groups.counts.toarray(), groups.totals, len(groups.totals)
    sizes = range(1, family.size + 1)
    pool = [*chain.from_iterable(combinations(range(m), number) for number in sizes), *family.named]
    rare = [list(one) for one in pool if 0 < totals[list(one)].sum() <= promise.prior * totals.sum() + 1e-9]
    channel = np.full((m, m), (1 - kept) / m) + np.eye(m) * kept
    exposed = 0.0
    for row in counts:
        joint = row[:, None] * channel
        sure = max(float((joint[one].sum(axis=0) / joint.sum(axis=0)).max()) for one in rare) if rare else 0
        exposed += row.sum() * (sure > promise.posterior * (1 + 1e-9))
    return exposed


@given(hs.integers(0, 2**32 - 1), hs.integers(2, 3), hs.floats(0.1, 0.5), hs.floats(0.2, 0.9), hs.booleans())
@settings(max_examples=examples(120), deadline=None)
def test_people_exposed_by_sets_are_counted(
    seed: int, size: int, prior: float, more: float, is_named: bool
) -> None:
    """Nobody is counted who is not exposed, and whoever is not counted is safe or called unsettled."""
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, 6, (4, 5)) * chance.integers(0, 2, (4, 5))
    counts[:, 0] += 1
    groups = Groups.of({"g": [0, 1, 2, 3]}, {"v": list("abcde")}, counts)
    promise = RhoPrivacy(prior, prior + (1 - prior) * more)
    family = Family(named=((1, 2), (2, 3, 4))) if is_named else Family(size)
    kept = float(chance.uniform(0.05, 0.9))
    found = find_set_exposure(ReaderUnits.of(groups, kept), promise, family)
    exposed = counted_by_hand(groups, kept, promise, family)
    assert found.exposed == pytest.approx(exposed)
    assert found.unsettled == 0
    # If no further sets are tried, whoever may be exposed is called unsettled.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_exposure, "_MOST_UNITS", 0)
        fewer = find_set_exposure(ReaderUnits.of(groups, kept), promise, family)
    assert fewer.exposed <= exposed + 1e-9 <= fewer.exposed + fewer.unsettled + 1e-6


def test_checks_of_records_tell_about_sets() -> None:
    """A promise that is kept for single values may be broken for sets like {judge, mayor}, and it is said."""
    table = pa.table({"job": people(50)["job"]})
    kept = float(partition(np.array(NUMBERS) * 50, THIRDS).unpartitioned.retention[0])
    found = check(table, THIRDS, sensitive="job", public=[], retention=kept)
    assert found.verdict == "holds"
    notes = " ".join(found.summary.notes).replace("\xa0", " ")
    assert "The promise is about single values." in notes
    assert "Of 2 values together a reader can become surer" in notes
    asked = RhoPrivacy(1 / 3, 2 / 3, sets=2)
    broken = check(table, asked, sensitive="job", public=[], retention=kept)
    assert broken.verdict == "violated"
    assert "more than 66.67 % sure of a protected value or set" in broken.summary.headline.replace(
        "\xa0", " "
    )
    # With the retention of the prior every set is covered, and nothing needs to be said about sets.
    safe = check(table, asked, sensitive="job", public=[], retention=THIRDS.retention(10))
    assert safe.verdict == "holds"
    assert "values together a reader" not in " ".join(safe.summary.notes)
    assert isinstance(safe.summary, BeliefSummary)
    assert read_summary(safe.to_plain()) == safe.summary
    named = check(
        table, RhoPrivacy(1 / 3, 2 / 3, sets=[["judge", "mayor"]]), sensitive="job", public=[], retention=kept
    )
    assert named.verdict == "holds"


def test_checks_of_publications_tell_about_sets(tmp_path: Path) -> None:
    public = made(tmp_path / "public", THIRDS, times=20)
    assert any("of 2 values together a reader can become surer: up to 83.3" in note for note in public.notes)
    outside = check(public, THIRDS)
    assert "so a reader can become surer of a set of values" in " ".join(outside.summary.notes)
    inside = check(public, THIRDS, truth=people(20))
    notes = " ".join(inside.summary.notes).replace("\xa0", " ")
    assert "Of 2 values together a reader can become surer: up to 83.3 %" in notes
    assert "is estimated" not in notes
    assert isinstance(inside.summary, SubTablesSummary)
    assert read_summary(inside.to_plain()) == inside.summary
    # What was asked for is kept, and said to be.
    pairs = RhoPrivacy(1 / 3, 2 / 3, sets=2)
    bare = publish(
        people(20), tmp_path / "pairs", sensitive="job", public=[], method=Partitioned(pairs), seed=2**90
    )
    assert bare.manifest.own_promise == pairs
    assert check(bare, pairs, truth=people(20)).verdict == "holds"
    assert check(bare, RhoPrivacy(1 / 3, 2 / 3, sets=5), truth=people(20)).verdict == "violated"


@pytest.mark.parametrize("seed", range(20))
def test_what_is_said_about_sets_from_outside_is_true(seed: int) -> None:
    """No maximum of noisy estimates: a set is named only if the truth is at least what is said.

    Twenty publications, each with hundreds of sets that could be named; a bound is four standard errors
    and more, so that any of them fails with a probability of less than 1e-2 all in all.
    """
    chance = np.random.default_rng(seed)
    weights = 0.75 ** np.arange(9)
    totals = chance.multinomial(40_000, weights / weights.sum())
    promise = RhoPrivacy(0.25, 0.5)
    found = partition(totals, promise)
    groups = Groups.of({"g": [0]}, {"v": list("abcdefghi")}, totals[None, :])
    drawn = perturb_partition(groups, found, seed=seed)
    counts = vstack([table.counts for table in drawn], format="csr")
    tables = tuple(
        SubTable(float(kept), tuple(domain.tolist()))
        for kept, domain in zip(found.retention, found.domains, strict=True)
    )
    domain = tuple((name,) for name in "abcdefghi")
    units = ReaderUnits(groups.public.take([0] * len(tables)), domain, counts, np.arange(len(tables)), tables)
    sentences = check_unit_sets(units, promise, estimated=True).found
    assert sentences
    for said in sentences:
        text = said.replace("\xa0", " ")
        match = re.search(r"over ([\d.]+) % that it is one of ([a-i, ]+) \(at most ([\d.]+) %", text)
        assert match, text
        members = ["abcdefghi".index(name) for name in match[2].split(", ")]
        row = found.allotment[:, members]
        other = (1 - found.retention) / np.array([len(one) for one in found.domains])
        largest, together = row.max(axis=1), row.sum(axis=1)
        real = (other * together + found.retention * largest) / (
            other * found.sizes + found.retention * largest
        )
        assert real.max() >= float(match[1]) / 100 - 0.01
        assert totals[members].sum() / totals.sum() <= float(match[3]) / 100 + 0.01


def test_the_publisher_makes_the_partition_again(tmp_path: Path) -> None:
    """From the folder and the true totals: which probabilities the records had, exactly."""
    for promise in (THIRDS, RhoPrivacy(1 / 3, 2 / 3, sets=[["judge", "mayor"]], known_totals=True)):
        said = made(tmp_path / str(promise.known_totals), promise).manifest
        order = np.argsort(JOBS)
        totals = np.array(NUMBERS)[order]
        found = recover(said.sub_tables, totals, promise, np.array(JOBS)[order].tolist())
        assert found is not None
        assert found.allotment.sum(axis=0).tolist() == totals.tolist()
        assert [tuple(domain.tolist()) for domain in found.domains] == [t.values for t in said.sub_tables]
        assert recover((SubTable(0.5, (0, 1)),), totals, promise, JOBS) is None


@pytest.mark.parametrize("promise", [THIRDS, RhoPrivacy(1 / 3, 2 / 3, known_totals=True)])
def test_no_check_of_sub_tables_calls_known_totals_safe(tmp_path: Path, promise: RhoPrivacy) -> None:
    """What all rows of a group tell together to readers who know its totals is not bounded: never *holds*."""
    public = made(tmp_path / "public", promise, times=20)
    asked = RhoPrivacy(0.5, 0.95, known_totals=True)
    assert check(public, asked).verdict != "holds"
    assert check(public, asked, truth=people(20)).verdict != "holds"


def test_known_totals_are_checked_by_the_bound() -> None:
    """Two values, half of the records each, γ = 2: .80, where the usual promise is 2/3."""
    table = pa.table({"v": ["a", "b"] * 20})
    for known, posterior, verdict in ((False, 2 / 3, "holds"), (True, 0.8, "violated")):
        promise = RhoPrivacy(0.5, 2 / 3 + 1e-9, known_totals=known)
        found = check(table, promise, sensitive="v", public=[], retention=1 / 3)
        assert isinstance(found.summary, BeliefSummary)
        assert found.summary.posterior == pytest.approx(posterior)
        assert found.verdict == verdict
    promise = RhoPrivacy(0.5, 2 / 3, known_totals=True)
    safe = check(table, promise, sensitive="v", public=[], retention=promise.retention(2))
    assert safe.verdict == "holds"
    assert "even one who knows the exact totals" in safe.summary.promised


def test_what_is_promised_to_whom_is_in_the_folder(tmp_path: Path) -> None:
    for at, promise in enumerate(
        [
            THIRDS,
            RhoPrivacy(1 / 3, 2 / 3, known_totals=True),
            RhoPrivacy(1 / 3, 2 / 3, sets=3),
            RhoPrivacy(1 / 3, 2 / 3, sets=[["judge", "mayor"], ["vet", "priest"]]),
        ]
    ):
        public = made(tmp_path / f"p{at}", promise)
        assert public.manifest.own_promise == promise
        limits = public.describe_limits()
        assert ("exact totals" in limits) != promise.known_totals
        assert ("of a set of values" in limits) == (promise.sets == 1)
        plain = publish(
            people(),
            tmp_path / f"u{at}",
            sensitive="job",
            method=UniformPerturbation(promise=promise),
            seed=2**90,
        )
        assert plain.manifest.own_promise == promise
        assert "of a set of values" not in plain.describe_limits()
    # Folders by older versions have neither, and promise what they did.
    made_last = Publication.open(tmp_path / "u3")
    older = {
        **made_last.manifest.model_dump(),
        "promise": {"kind": "RhoPrivacy", "prior": 0.1, "posterior": 0.5},
    }
    assert Manifest.model_validate(older).own_promise == RhoPrivacy(0.1, 0.5)
