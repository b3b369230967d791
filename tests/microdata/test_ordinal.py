"""Ordinal perturbation: what its promise says holds for every prior, and estimates are what they say."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.sparse import csr_array

import showthrough as st
from crowd import SEED
from needs import examples
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.channel import Channel, Channelled
from showthrough.microdata.check_ordinal import posteriors
from showthrough.microdata.groups import Groups
from showthrough.microdata.means import bin_middles
from showthrough.microdata.ordinal import (
    OrdinalPerturbation,
    choose_channel,
    order_values,
    ordinal_channel,
    perturb_ordinal,
)
from showthrough.microdata.plan import SubTable
from showthrough.microdata.promises import RhoPrivacy

PROMISES = [RhoPrivacy(0.1, 0.3), RhoPrivacy(0.2, 0.6), RhoPrivacy(0.3, 0.35), RhoPrivacy(0.05, 0.9)]


def earners(n_rows: int = 4000, *, seed: int = 2) -> pa.Table:
    chance = np.random.default_rng(seed)
    sex = chance.integers(0, 2, n_rows)
    return pa.table(
        {
            "sex": pa.array(np.array(["f", "m"])[sex]),
            "income": pa.array(np.rint(chance.lognormal(10 + 0.2 * sex, 0.5, n_rows)).astype(np.int64)),
        }
    )


class TestChannel:
    @pytest.mark.parametrize("promise", PROMISES, ids=str)
    @pytest.mark.parametrize("n_values", [2, 3, 7, 20, 60])
    def test_the_amplification_is_kept_and_used_up(self, promise: RhoPrivacy, n_values: int) -> None:
        channel = ordinal_channel(n_values, *choose_channel(n_values, promise.amplification))
        matrix = channel.matrix
        assert np.allclose(matrix.sum(axis=1), 1)
        ratios = [
            matrix[x, y] / matrix[z, y] for y in range(n_values) for x in range(n_values) for z in (0, -1)
        ]
        assert max(ratios) <= promise.amplification
        assert channel.amplification == pytest.approx(promise.amplification, rel=1e-6)

    @settings(max_examples=examples(60), deadline=None)
    @given(
        n_values=some.integers(2, 6),
        promise=some.sampled_from(PROMISES),
        prior=some.lists(some.floats(0, 1), min_size=6, max_size=6),
    )
    def test_no_value_and_no_set_exceeds_the_posterior(
        self, n_values: int, promise: RhoPrivacy, prior: list[float]
    ) -> None:
        """By Bayes' rule, for all sets whose prior is at most ρ1, whatever the prior is."""
        weights = np.array(prior[:n_values]) + 1e-9
        shares = weights / weights.sum()
        channel = ordinal_channel(n_values, *choose_channel(n_values, promise.amplification))
        sure = posteriors(shares[None, :], channel)[0]
        for size in range(1, n_values):
            for chosen in combinations(range(n_values), size):
                if shares[list(chosen)].sum() <= promise.prior:
                    assert sure[list(chosen)].sum(axis=0).max() <= promise.posterior * (1 + 1e-9)

    @pytest.mark.parametrize("n_values", [5, 12, 30])
    def test_means_are_never_less_precise_than_with_uniform(self, n_values: int) -> None:
        promise, ranks = RhoPrivacy(0.1, 0.4), np.arange(n_values)
        channel = ordinal_channel(n_values, *choose_channel(n_values, promise.amplification))
        uniform = Channel.uniform(promise.retention(n_values), n_values)
        ours, theirs = (one.weigh(ranks).spread.mean() for one in (channel, uniform))
        assert ours <= theirs * (1 + 1e-6)
        assert n_values < 20 or ours < theirs / 2

    def test_near_values_are_likelier(self) -> None:
        matrix = ordinal_channel(20, *choose_channel(20, 6.0)).matrix
        assert (np.diff(matrix[10, 10:]) <= 1e-15).all()
        assert matrix[10, 11] > 1.3 * matrix[10, 19]

    def test_a_variance_is_that_of_the_draws(self) -> None:
        """The exact variance of a weighted sum, by enumerating what a record may show."""
        channel = ordinal_channel(4, 0.7, 0.2)
        weighing = channel.weigh(np.array([0.0, 1, 1, 5]))
        for x in range(4):
            mean = channel.matrix[x] @ weighing.given
            assert mean == pytest.approx(weighing.wanted[x])
            assert channel.matrix[x] @ (weighing.given - mean) ** 2 == pytest.approx(weighing.spread[x])


class TestOrder:
    def test_numbers_bins_and_given_orders(self) -> None:
        def ordered(values: list[str], order: tuple[str, ...] = ()) -> list[str]:
            return [values[at] for at in order_values(pa.table({"x": values}), order)]

        assert ordered(["10", "9", "-3", "2.5"]) == ["-3", "2.5", "9", "10"]
        bins = ["under 0", "0–17", "18–29", "100–109", "65 and over"]
        assert ordered(sorted(bins)) == ["under 0", "0–17", "18–29", "65 and over", "100–109"]
        assert ordered(["0.5 to under 1", "under 0.5", "1 and over"]) == [
            "under 0.5",
            "0.5 to under 1",
            "1 and over",
        ]
        assert ordered(["much", "none", "some"], ("none", "some", "much", "all")) == ["none", "some", "much"]

    def test_what_has_no_order(self) -> None:
        with pytest.raises(RecordsError, match=r"no place in the order.*--order"):
            order_values(pa.table({"ill": ["flu", "gout"]}))
        with pytest.raises(InputError, match=r"a value has no place in the order.*'gout'"):
            order_values(pa.table({"ill": ["flu", "gout"]}), ("flu", "cold"))
        with pytest.raises(InputError, match="lists a value twice"):
            order_values(pa.table({"ill": ["flu", "gout"]}), ("flu", "gout", "flu"))
        with pytest.raises(InputError, match="one sensitive column"):
            order_values(pa.table({"a": ["1"], "b": ["2"]}))
        with pytest.raises(RecordsError, match="up to 300 values"):
            OrdinalPerturbation(RhoPrivacy(0.1, 0.5)).table(pa.table({"x": [str(at) for at in range(400)]}))


class TestDraws:
    @pytest.mark.parametrize("one_by_one", [True, False])
    def test_rows_follow_the_channel(self, one_by_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """χ² of 200,000 draws for each value; fails with a probability of 1e-6 for each of 5."""
        if not one_by_one:
            monkeypatch.setattr("showthrough.microdata.ordinal.ONE_BY_ONE", 0)
        number, domain = 200_000, pa.table({"x": ["30", "10", "50", "40", "20"]})
        groups = Groups.of(
            {"g": list("abcde")}, {"x": domain["x"].to_pylist()}, np.eye(5, dtype=int) * number
        )
        table = OrdinalPerturbation(RhoPrivacy(0.2, 0.6)).table(groups.domain)
        assert [domain["x"][at].as_py() for at in table.values] == ["10", "20", "30", "40", "50"]
        drawn = perturb_ordinal(groups, table, seed=SEED).counts.toarray()
        matrix = ordinal_channel(5, table.decay or 0, table.floor or 0).matrix
        rank = np.argsort(table.values)
        expected = number * matrix[np.ix_(rank, rank)]
        assert drawn.sum(axis=1).tolist() == [number] * 5
        assert (((drawn - expected) ** 2 / expected).sum(axis=1) < 33).all()  # 4 degrees: 1e-6

    def test_intervals_cover(self) -> None:
        """Counts, and means, of 400 publications of skewed groups: at least 95 % of intervals hold the truth.

        By Bernstein's inequality that is so whatever the truth is; 400 draws of 95 % stay above 91 % but for
        a probability of 1e-4.
        """
        true = np.array([300, 150, 40, 8, 2])
        channel = ordinal_channel(5, *choose_channel(5, 4.0))
        chance = np.random.default_rng(3)
        shown = sum(chance.multinomial(n, channel.matrix[x], size=400) for x, n in enumerate(true))
        observed = Channelled(csr_array(shown), channel, (0, 1, 2, 3, 4))
        low, high = observed.each_ends(0.95)
        assert (((low <= true) & (true <= high)).mean(axis=0) > 0.91).all()
        value, spread = observed.each(consistent=False)
        assert np.abs(value.mean(axis=0) - true).max() < 5 * np.sqrt(spread.max() / 400)
        assert np.allclose(value.std(axis=0), np.sqrt(spread.mean(axis=0)), rtol=0.2)
        consistent, _ = observed.each(consistent=True)
        assert (consistent >= 0).all()
        assert np.allclose(consistent.sum(axis=1), 500)


class TestPublication:
    @pytest.fixture
    def made(self, tmp_path: Path) -> st.Publication:
        return st.publish(
            earners(), tmp_path / "p", sensitive="income", bins={"income": "quantiles:10"}, method="ordinal",
            promise="0.2:0.5", seed=SEED,
        )  # fmt: skip

    def test_counts_and_means(self, made: st.Publication) -> None:
        table, bins = earners(), (made.manifest.bins or {})["income"].bins
        shown = bins.recode(table["income"]).to_pylist()
        assert made.count("").value == 4000
        assert made.count("sex=f").kind == "exact"
        label = bins.labels[3]
        found = made.count({"sex": "f", "income": label})
        true = sum(
            sex == "f" and one == label for sex, one in zip(table["sex"].to_pylist(), shown, strict=True)
        )
        low, high = found.interval(0.999)
        assert low <= true <= high
        middles = bin_middles(bins)
        mean = made.mean("sex=m")
        true_mean = np.mean(
            [
                middles[str(one)]
                for sex, one in zip(table["sex"].to_pylist(), shown, strict=True)
                if sex == "m"
            ]
        )
        low, high = mean.interval(0.999)
        assert low <= true_mean <= high
        assert abs(mean.value - true_mean) < 5 * (mean.error or 0)
        assert made.distribution("sex").num_rows == 20

    def test_the_manifest_says_how_to_invert(self, made: st.Publication) -> None:
        (entry,) = made.manifest.tables
        assert entry.decay
        assert entry.floor
        order = [made.manifest.domain[at][0] for at in entry.values]
        assert order[0].startswith("under")
        assert order[-1].endswith("and over")
        promise = made.manifest.own_promise
        assert isinstance(promise, RhoPrivacy)
        assert ordinal_channel(10, entry.decay, entry.floor).amplification <= promise.amplification

    def test_sql(self, made: st.Publication) -> None:
        with duckdb.connect() as connection:
            made.register(connection, "p")
            value = made.manifest.domain[0][0]
            query = "SELECT sum(weight) FROM p JOIN p_inverse ON p.income = p_inverse.shown WHERE value = ?"
            (found,) = connection.execute(query, [value]).fetchone() or (None,)
        assert found == pytest.approx(made.count({"income": value}).value)

    def test_means_of_uniform_publications_too(self, tmp_path: Path) -> None:
        made = st.publish(
            earners(), tmp_path / "u", sensitive="income", bins={"income": "quantiles:10"},
            promise="rho=0.2:0.5", seed=SEED,
        )  # fmt: skip
        assert made.mean().error
        with pytest.raises(st.SchemaError, match="a mean is over all sensitive values"):
            made.mean({"income": made.manifest.domain[0][0]})
        scores = {row[0]: 1.0 for row in made.manifest.domain}
        assert made.mean(scores=scores).value == pytest.approx(1)
        with pytest.raises(st.SchemaError, match="a value has no score"):
            made.mean(scores={"x": 1})

    def test_texts_have_no_mean(self, tmp_path: Path) -> None:
        table = pa.table({"sex": ["f", "m"] * 50, "pain": ["none", "some", "much", "none"] * 25})
        method = OrdinalPerturbation(RhoPrivacy(0.3, 0.6), ("none", "some", "much"))
        made = st.publish(table, tmp_path / "p", sensitive="pain", method=method, seed=SEED)
        with pytest.raises(st.SchemaError, match="the values are not numbers"):
            made.mean()
        assert 0 <= made.mean(scores={"none": 0, "some": 1, "much": 2}).shown <= 2

    def test_a_damaged_manifest(self, made: st.Publication) -> None:
        path = made.folder / "publication.json"
        path.write_text(path.read_text().replace('"floor"', '"flor"'))
        with pytest.raises(InputError, match="the manifest is damaged"):
            st.Publication.open(made.folder)


class TestCheck:
    def test_from_outside_nothing_is_certain_but_the_amplification(self, tmp_path: Path) -> None:
        known: dict[str, Any] = {
            "sensitive": "income",
            "bins": {"income": "quantiles:10"},
            "method": "ordinal",
            "seed": SEED,
        }
        with_sex = st.publish(earners(), tmp_path / "a", promise="0.2:0.5", **known)
        alone = st.publish(earners(), tmp_path / "b", promise="0.2:0.5", drop="sex", **known)
        assert st.check(with_sex, "rho=0.2:0.5").verdict == "undecided"
        assert st.check(alone, "rho=0.2:0.5").verdict == "holds"
        assert st.check(alone, "rho=0.2:0.49").verdict == "undecided"
        with pytest.raises(InputError):
            st.check(alone, "reconstruction=0.3:0.3")

    def test_with_the_records_everybody_is_counted(self, tmp_path: Path) -> None:
        """People in groups where a rare value is not rare, one by one with Bayes' rule."""
        chance = np.random.default_rng(8)
        town = chance.integers(0, 12, 600)
        age = (chance.integers(0, 5, 600) * (town > 1)) % 5
        table = pa.table({"town": pa.array([f"t{at}" for at in town]), "age": pa.array(age)})
        made = st.publish(
            table, tmp_path / "p", sensitive="age", method="ordinal", promise="0.2:0.5", seed=SEED
        )
        found = st.check(made, "rho=0.2:0.5", truth=table).to_plain()["people"]
        groups, (entry,) = Groups.read(table, sensitive="age"), made.manifest.tables
        channel = ordinal_channel(5, entry.decay or 0, entry.floor or 0)
        rare = groups.totals <= 0.2 * 600
        assert rare.any()
        exposed, worst = 0, 0.0
        for counts in groups.counts.toarray():
            shares = counts / counts.sum()
            joint = shares[:, None] * channel.matrix
            sure = (joint / joint.sum(axis=0))[rare].max(initial=0)
            worst = max(worst, sure)
            exposed += counts.sum() * (sure > 0.5)
        assert found["exposed"] == exposed
        assert found["posterior"] == pytest.approx(worst)

    def test_posteriors_against_brute_force(self) -> None:
        chance = np.random.default_rng(4)
        channel = ordinal_channel(4, 0.8, 0.1)
        for shares in chance.dirichlet(np.ones(4), 20):
            sure = posteriors(shares[None, :], channel)[0]
            for x in range(4):
                for y in range(4):
                    shown = sum(shares[z] * channel.matrix[z, y] for z in range(4))
                    assert sure[x, y] == pytest.approx(shares[x] * channel.matrix[x, y] / shown)


def test_a_useless_retention_is_said(tmp_path: Path) -> None:
    """Retention .003 over thousands of values was published without a word."""
    found = st.publish(earners(), tmp_path / "p", sensitive="income", promise="rho=0.1:0.5", seed=SEED)
    (note,) = found.notes
    assert "errors are larger than most counts" in note
    assert "--bin income=quantiles:10" in note
    assert SubTable(0.5, (0, 1)).decay is None
