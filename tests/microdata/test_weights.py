"""Survey weights: unbiased sums of weights, with variances that have w² in place of w."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest

import showthrough as st
from crowd import METHODS, SEED, people
from needs import SLOW
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.anatomy import Anatomized
from showthrough.microdata.promises import LDiversity


def weighted(n_rows: int = 1500, *, seed: int = 6) -> pa.Table:
    """People with a weight that goes with their town."""
    chance = np.random.default_rng(seed)
    weights = chance.choice([0.5, 1, 2.25, 40], n_rows, p=[0.3, 0.4, 0.29, 0.01])
    return people(n_rows).append_column("weight", pa.array(weights))


def true_sum(table: pa.Table, **where: str) -> float:
    rows: list[dict[str, Any]] = table.to_pylist()
    return sum(row["weight"] for row in rows if all(row[name] == value for name, value in where.items()))


class TestCounts:
    @pytest.mark.parametrize("name", ["uniform", "partitioned", "ordinal"])
    def test_estimates_are_unbiased_and_intervals_cover(self, name: str, tmp_path: Path) -> None:
        """Publications: the mean is off by less than four standard errors, and 95 % intervals miss rarely.

        Fails with a probability below 1e-3: 6 of 40 intervals may miss, where 2 would on average at worst,
        or 4 of 20. Standard errors of 20 vary more.
        """
        times, most, ratio = (40, 6, 1.4) if SLOW else (20, 4, 1.6)
        table = weighted(600)
        method: Any = METHODS.get(name)
        if name == "ordinal":
            method = st.OrdinalPerturbation(st.RhoPrivacy(0.3, 0.6), ("none", "cold", "flu", "gout"))
        true, found = true_sum(table, job="cook", ill="flu"), list[st.Estimate]()
        for at in range(times):
            made = st.publish(table, tmp_path / f"{at}", sensitive="ill", method=method, seed=SEED + at)
            found.append(made.count("job=cook,ill=flu", weight="weight"))
        values = np.array([one.value for one in found])
        error = float(np.mean([one.error or 0 for one in found]))
        assert abs(values.mean() - true) < 4 * error / np.sqrt(times)
        assert error / ratio < values.std() < ratio * error
        assert sum(not low <= true <= high for low, high in (one.interval(0.95) for one in found)) <= most

    def test_public_counts_are_exact(self, tmp_path: Path) -> None:
        table = weighted()
        made = st.publish(table, tmp_path / "p", sensitive="ill", retention=0.4, seed=SEED)
        found = made.count("job=cook", weight="weight")
        assert found.kind == "exact"
        assert found.value == pytest.approx(true_sum(table, job="cook"))

    def test_equal_weights_multiply(self, tmp_path: Path) -> None:
        table = people(800).append_column("weight", pa.array([3] * 800))
        made = st.publish(table, tmp_path / "p", sensitive="ill", retention=0.4, seed=SEED)
        plain, tripled = made.count("ill=flu"), made.count("ill=flu", weight="weight")
        assert tripled.value == pytest.approx(3 * plain.value)
        assert tripled.error == pytest.approx(3 * (plain.error or 0), rel=1e-6)

    def test_distributions_are_the_counts(self, tmp_path: Path) -> None:
        made = st.publish(weighted(), tmp_path / "p", sensitive="ill", retention=0.4, seed=SEED)
        rows: list[dict[str, Any]] = made.distribution(["job"], weight="weight").to_pylist()
        for row in rows:
            found = made.count({"job": row["job"], "ill": row["ill"]}, weight="weight")
            assert row["value"] == pytest.approx(found.value)
            assert row["error"] == pytest.approx(found.error)
            assert (row["low"], row["high"]) == pytest.approx(found.interval(0.95))

    def test_an_anatomy_has_bounds(self, tmp_path: Path) -> None:
        table = weighted()
        made = st.publish(table, tmp_path / "p", sensitive="ill", method=Anatomized(LDiversity(2)), seed=SEED)
        if made.suppressed == 0:
            found = made.count("job=cook,ill=flu", weight="weight")
            low, high = found.interval()
            assert low <= true_sum(table, job="cook", ill="flu") <= high
        else:
            with pytest.raises(InputError, match="what they weigh is not known"):
                made.count("ill=flu", weight="weight")

    def test_what_cannot_be_weighted(self, tmp_path: Path) -> None:
        made = st.publish(weighted(), tmp_path / "p", sensitive="ill", retention=0.4, seed=SEED)
        for wrong, why in (
            ("wait", "did you mean 'weight'"),
            ("town", "not a number"),
            ("ill", "no such public"),
        ):
            with pytest.raises(InputError, match=why):
                made.count("ill=flu", weight=wrong)
        with pytest.raises(InputError, match="unbiased only"):
            made.count("ill=flu", weight="weight", consistent=True)
        with pytest.raises(InputError, match="weight must be"):
            made.count("ill=flu", weight=3)  # pyright: ignore[reportArgumentType]
        binned = st.publish(
            weighted(), tmp_path / "b", sensitive="ill", bins={"weight": 1}, retention=0.4, seed=SEED
        )
        with pytest.raises(InputError, match="merged or put into bins"):
            binned.count("ill=flu", weight="weight")
        sampled = st.publish(
            weighted(), tmp_path / "s", sensitive="ill", method=METHODS["not merged"], seed=SEED
        )
        with pytest.raises(InputError):
            sampled.count("ill=flu", weight="weight")

    @pytest.mark.parametrize(
        ("wrong", "why"), [(None, "a weight is missing"), (-1.0, "a weight is negative")]
    )
    def test_a_wrong_weight_is_named_with_its_row(
        self, tmp_path: Path, wrong: float | None, why: str
    ) -> None:
        weights: list[float | None] = [1.0, 2.0, wrong, 1.0] * 10
        table = pa.table({"weight": weights, "sex": ["f", "m"] * 20, "ill": ["a", "b", "b", "a"] * 10})
        made = st.publish(table, tmp_path / "p", sensitive="ill", retention=0.4, seed=SEED)
        with pytest.raises(InputError, match=rf"row \d+, column weight: {why}"):
            made.count("ill=a", weight="weight")
        arrow_csv.write_csv(table, tmp_path / "people.csv")
        with pytest.raises(RecordsError, match=rf"people.csv, row 3, column weight: {why}"):
            st.check(tmp_path / "people.csv", "rho=0.3:0.6", sensitive="ill", weight="weight")


class TestChecks:
    def test_what_is_rare_follows_from_the_weights(self) -> None:
        """One record in ten has the value, but they stand for half of the people, so it is not protected."""
        table = pa.table(
            {
                "weight": pa.array([9] * 10 + [1] * 90),
                "sex": ["f", "m"] * 50,
                "ill": ["yes"] * 10 + ["no"] * 80 + ["so"] * 10,
            }
        )
        plain = st.check(table, "rho=0.15:0.5", sensitive="ill", retention=0.3).to_plain()
        weighed = st.check(table, "rho=0.15:0.5", sensitive="ill", retention=0.3, weight="weight").to_plain()
        assert plain["protected_values"] == 2
        assert weighed["protected_values"] == 1
        assert weighed["people"]["people"] == 180

    def test_whole_weights_are_copies_of_records(self) -> None:
        """A record of weight 3 is three records, unless somebody counts groups of few."""
        chance = np.random.default_rng(2)
        weights = chance.integers(10, 13, 300)
        table = people(300).append_column("weight", pa.array(weights))
        copies = table.take(np.repeat(np.arange(300), weights))
        one = st.check(table, "rho=0.3:0.5", sensitive="ill", retention=0.3, weight="weight").to_plain()
        other = st.check(copies, "rho=0.3:0.5", sensitive="ill", retention=0.3).to_plain()
        for name in ("posterior", "protected_values", "largest_share", "holds"):
            assert one[name] == pytest.approx(other[name])
        assert one["people"]["exposed"] == other["people"]["exposed"]

    def test_what_is_not_checked(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="weights only matter"):
            st.check(weighted(), "diversity=2", sensitive="ill", weight="weight")
        with pytest.raises(RecordsError, match="did you mean 'weight'"):
            st.check(weighted(), "rho=0.3:0.6", sensitive="ill", weight="wait")
        with pytest.raises(InputError, match="the weight must be a public column"):
            st.check(weighted(), "rho=0.3:0.6", sensitive="ill", weight="weight", drop="weight")
        made = st.publish(weighted(), tmp_path / "p", sensitive="ill", promise="rho=0.3:0.6", seed=SEED)
        with pytest.raises(InputError, match="only records are checked with a weight"):
            st.check(made, "rho=0.3:0.6", weight="weight")
        none = weighted().set_column(4, "weight", pa.array([0] * 1500))
        with pytest.raises(RecordsError, match="all weights are 0"):
            st.check(none, "rho=0.3:0.6", sensitive="ill", weight="weight")
