"""Several sensitive columns with a promise each: what one says about another is bounded and said."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.sparse import csr_array

import showthrough as st
from crowd import SEED, people
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.channel import Channel, Channelled, ProductChannel
from showthrough.microdata.product import ProductPerturbation, joint_posteriors
from showthrough.microdata.promises import RhoPrivacy

PROMISES = {"ill": "0.2:0.5", "job": "0.45:0.7"}


def both(*sizes: int, kept: tuple[float, ...] = (0.4, 0.25, 0.6)) -> ProductChannel:
    return ProductChannel(tuple(Channel.uniform(p, m) for p, m in zip(kept, sizes, strict=False)))


def dense(channel: ProductChannel) -> Channel:
    matrix = np.ones((1, 1))
    for one in channel.channels:
        matrix = np.kron(matrix, one.matrix)
    return Channel(matrix.astype(np.float64))


class TestChannel:
    @pytest.mark.parametrize("sizes", [(2, 3), (4, 2), (2, 3, 2)])
    def test_a_product_is_the_large_matrix(self, sizes: tuple[int, ...]) -> None:
        channel, whole = both(*sizes), dense(both(*sizes))
        numbers = np.random.default_rng(1).normal(size=(5, len(whole.matrix)))
        assert np.allclose(channel.push(numbers), whole.push(numbers))
        assert np.allclose(channel.expect(numbers), whole.expect(numbers))
        assert np.allclose(channel.unbias(numbers[0]), whole.unbias(numbers[0]))
        assert channel.amplification == pytest.approx(whole.amplification)
        ours, theirs = channel.weigh(numbers[0]), whole.weigh(numbers[0])
        assert np.allclose(ours.spread, theirs.spread)
        assert ours.step == pytest.approx(np.abs(theirs.given[None, :] - theirs.wanted[:, None]).max())

    @settings(max_examples=50, deadline=None)
    @given(shares=some.lists(some.floats(0, 1), min_size=6, max_size=6), column=some.integers(0, 1))
    def test_what_all_columns_say_about_one_is_bayes_rule_and_below_the_bound(
        self, shares: list[float], column: int
    ) -> None:
        """Against a loop over all true and shown combinations, for any joint distribution."""
        true = (np.array(shares) + 1e-6).reshape(2, 3)
        channel, whole = both(2, 3), dense(both(2, 3))
        cells = list(product(range(2), range(3)))
        found = joint_posteriors(true, channel, column)
        for value in range(true.shape[column]):
            largest = 0.0
            for shown in range(6):
                joint = [true[cell] * whole.matrix[at, shown] for at, cell in enumerate(cells)]
                own = sum(p for p, cell in zip(joint, cells, strict=True) if cell[column] == value)
                largest = max(largest, own / sum(joint))
            assert found[value] == pytest.approx(largest)
            share = true.sum(axis=1 - column)[value] / true.sum()
            gamma = channel.amplification
            assert found[value] <= gamma * share / (gamma * share + 1 - share) * (1 + 1e-9)

    def test_the_bound_is_attained_where_columns_are_one(self) -> None:
        """Two copies of one column: a promise of 50 % each lets readers become 80 % sure of a rare value."""
        promise = RhoPrivacy(0.2, 0.5)
        channel = both(2, 2, kept=(promise.retention(2),) * 2)
        sure = joint_posteriors(np.array([[20.0, 0], [0, 80]]), channel, 0)[0]
        assert channel.amplification == pytest.approx(16)
        assert sure == pytest.approx(0.8)

    def test_independent_columns_say_nothing_about_each_other(self) -> None:
        promise = RhoPrivacy(0.2, 0.5)
        channel = both(2, 2, kept=(promise.retention(2),) * 2)
        sure = joint_posteriors(np.outer([20.0, 80], [0.3, 0.7]), channel, 0)[0]
        assert sure == pytest.approx(0.5)

    def test_intervals_cover(self) -> None:
        """400 draws of correlated columns: Bernstein's intervals hold the truth in more than 91 %."""
        true, channel = np.array([[120, 15, 5], [10, 40, 110]]), both(2, 3)
        matrix, chance = dense(channel).matrix, np.random.default_rng(4)
        shown = sum(chance.multinomial(n, matrix[x], size=400) for x, n in enumerate(true.ravel()))
        observed = Channelled(csr_array(shown), channel, tuple(range(6)))
        for chosen in ([0], [1, 4], [3, 4, 5], [0, 5]):
            low, high = observed.ends(np.array(chosen), 0.95)
            answer = true.ravel()[chosen].sum()
            assert ((low <= answer) & (answer <= high)).mean() > 0.91
            value, spread = observed.chosen(np.array(chosen))
            assert abs(value.mean() - answer) < 5 * np.sqrt(spread.mean() / 400)
            assert value.std() == pytest.approx(np.sqrt(spread.mean()), rel=0.2)
        consistent, _ = observed.each(consistent=True)
        assert (consistent >= 0).all()
        assert np.allclose(consistent.sum(axis=1), 300)


class TestPublication:
    @pytest.mark.parametrize("form", ["parquet", "csv"])
    def test_each_column_has_its_retention(self, tmp_path: Path, form: Any) -> None:
        table = people(3000)
        made = st.publish(
            table, tmp_path / "p", sensitive=["ill", "job"], promise=PROMISES, file_format=form, seed=SEED
        )
        said = made.manifest
        assert said.method == "product"
        assert said.tables[0].retentions == pytest.approx(
            (RhoPrivacy(0.2, 0.5).retention(4), RhoPrivacy(0.45, 0.7).retention(2))
        )
        assert len(said.domain) == 8
        assert said.promises == {
            "ill": {"kind": "RhoPrivacy", "prior": 0.2, "posterior": 0.5},
            "job": {"kind": "RhoPrivacy", "prior": 0.45, "posterior": 0.7},
        }
        for where in ("ill=flu", "job=cook", "ill=flu|gout,job=cook", "town=Aldea,ill=none"):
            asked = st.Selection.parse(where)
            rows: list[dict[str, Any]] = table.to_pylist()
            true = sum(all(str(row[name]) in asked[name] for name in asked.attributes) for row in rows)
            low, high = made.count(where).interval(0.9999)
            assert low <= true <= high
            assert high - low < 3000
        assert made.count("town=Aldea").kind == "exact"
        assert made.distribution(["town"]).num_rows == 24

    def test_only_the_seed_and_the_records_matter(self, tmp_path: Path) -> None:
        table, known = people(2000), {"sensitive": ["ill", "job"], "promise": PROMISES, "seed": SEED}
        order = np.random.default_rng(1).permutation(2000)
        one = st.publish(table, tmp_path / "a", **known)  # pyright: ignore[reportArgumentType]
        other = st.publish(table.take(order), tmp_path / "b", **known)  # pyright: ignore[reportArgumentType]
        assert one.to_arrow().equals(other.to_arrow())

    def test_rows_follow_the_product(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """χ² of what 60,000 people with one combination show: 7 degrees of freedom, fails with 1e-6."""
        monkeypatch.setattr("showthrough.microdata.product.RECORDS", 7_000)
        few = people(40).select(["town", "job", "ill"])
        row = pa.table({"town": ["Aldea"] * 60_000, "job": ["cook"] * 60_000, "ill": ["flu"] * 60_000})
        table = pa.concat_tables(
            [row, few.filter(pa.array([one != "Aldea" for one in few["town"].to_pylist()]))]
        )
        promises = {"ill": "0.2:0.5", "job": "0.3:0.7"}
        made = st.publish(table, tmp_path / "p", sensitive=["ill", "job"], promise=promises, seed=SEED)
        found = made.counted(["town", "ill", "job"]).to_pylist()
        sizes = [len({row[at] for row in made.manifest.domain}) for at in range(2)]
        kept = made.manifest.tables[0].retentions or ()
        chi = 0.0
        for one in found:
            if one["column_0"] == "Aldea":
                agree = (one["column_1"] == "flu", one["column_2"] == "cook")
                chances = [
                    (p if same else 0) + (1 - p) / m for p, m, same in zip(kept, sizes, agree, strict=True)
                ]
                expected = 60_000 * np.prod(chances)
                chi += (one["number"] - expected) ** 2 / expected
        assert chi < 42

    def test_publish_says_what_columns_tell_about_each_other(self, tmp_path: Path) -> None:
        """A promise of 50 % was not kept against readers of both columns, and nothing said so."""
        table = pa.table(
            {"ill": ["gout"] * 20 + ["none"] * 80, "drug": ["colchicine"] * 20 + ["no drug"] * 80}
        )
        promises = {"ill": "0.2:0.5", "drug": "0.2:0.5"}
        made = st.publish(table, tmp_path / "p", sensitive=["ill", "drug"], promise=promises, seed=SEED)
        for note in made.notes[:2]:
            assert "up to 80\xa0% as these records are, which is more than that" in note
            assert "at most 80\xa0% for any records" in note

    def test_checks(self, tmp_path: Path) -> None:
        table = people(2000).select(["ill", "job"])
        made = st.publish(table, tmp_path / "p", sensitive=["ill", "job"], promise=PROMISES, seed=SEED)
        gamma = RhoPrivacy(0.2, 0.5).amplification * RhoPrivacy(0.45, 0.7).amplification
        sure = gamma * 0.2 / (gamma * 0.2 + 0.8)
        assert st.check(made, f"rho=0.2:{sure + 1e-6}").verdict == "holds"
        assert st.check(made, f"rho=0.2:{sure - 1e-3}").verdict == "undecided"
        for wrong in ("reconstruction=0.3:0.3", "diversity=2"):
            with pytest.raises(InputError):
                st.check(made, wrong)
        with pytest.raises(InputError, match="a mean needs one sensitive column"):
            made.mean()

    def test_with_the_records_every_combination_is_counted(self, tmp_path: Path) -> None:
        table = people(600).select(["town", "ill", "job"])
        made = st.publish(table, tmp_path / "p", sensitive=["ill", "job"], promise=PROMISES, seed=SEED)
        found = st.check(made, "rho=0.2:0.4", truth=table).to_plain()["people"]
        groups, kept = (
            st.Groups.read(table, sensitive=["ill", "job"]),
            made.manifest.tables[0].retentions or (),
        )
        channel = dense(both(4, 2, kept=tuple(kept)))
        rare, exposed = groups.totals <= 0.2 * 600, 0
        for counts in groups.counts.toarray():
            joint = (counts / counts.sum())[:, None] * channel.matrix
            exposed += counts.sum() * ((joint / joint.sum(axis=0))[rare].max() > 0.4)
        assert rare.any()
        assert found["exposed"] == exposed

    @pytest.mark.parametrize(
        ("promises", "why"),
        [
            ({"ill": "0.2:0.5"}, "at least two sensitive columns"),
            ({"ill": "0.2:0.5", "town": "0.2:0.5"}, "a promise is for no sensitive column"),
            ({"ill": "0.2:0.5", "job": "0.5:0.2"}, "the prior must be between"),
            ({"ill": "0.2:0.5", "job": "diversity=2"}, "one of .*-privacy for single values"),
        ],
    )
    def test_promises_that_do_not_fit(self, tmp_path: Path, promises: dict[str, str], why: str) -> None:
        with pytest.raises(InputError, match=why):
            st.publish(people(), tmp_path / "p", sensitive=["ill", "job"], promise=promises, seed=SEED)
        assert not (tmp_path / "p").exists()

    def test_what_does_not_fit(self, tmp_path: Path) -> None:
        known: dict[str, Any] = {"promise": PROMISES, "seed": SEED}
        with pytest.raises(InputError, match="column town: a sensitive column has no promise"):
            st.publish(people(), tmp_path / "p", sensitive=["ill", "job", "town"], **known)
        with pytest.raises(InputError, match="kept by the method product"):
            st.publish(people(), tmp_path / "p", sensitive=["ill", "job"], method="anatomy", **known)
        wide = pa.table({"a": [str(at) for at in range(200)], "b": [str(at) for at in range(200)]})
        with pytest.raises(RecordsError, match="40,000 combinations"):
            st.publish(
                wide,
                tmp_path / "p",
                sensitive=["a", "b"],
                promise={"a": "0.1:0.5", "b": "0.1:0.5"},
                seed=SEED,
            )

    def test_a_damaged_manifest(self, tmp_path: Path) -> None:
        made = st.publish(people(), tmp_path / "p", sensitive=["ill", "job"], promise=PROMISES, seed=SEED)
        path = made.folder / "publication.json"
        text = path.read_text()
        for before, after in (('"retentions": [', '"retentions": [0.5, '), ('["cold", "baker"], ', "")):
            assert before in text
            path.write_text(text.replace(before, after))
            with pytest.raises(InputError, match="the manifest is damaged"):
                st.Publication.open(made.folder)

    def test_the_order_of_promises_does_not_matter(self) -> None:
        method = ProductPerturbation.of({"job": "0.45:0.7", "ill": "0.2:0.5"})
        assert method.name == "product"
