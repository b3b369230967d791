"""The verbs about noisy numbers, as a user of the library meets them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import TypeAdapter, ValidationError

import showthrough as st
from showthrough.errors import InputError
from showthrough.numbers.advice_summary import AdviceSummary
from showthrough.numbers.attack_summary import BINS, AttackSummary, Histogram
from showthrough.numbers.exposure import expose
from showthrough.numbers.leaks_summary import LeaksSummary
from showthrough.numbers.methods import MEANINGS, METHODS, run_attacks

NOISE = "uniform:20"

VALUES = some.lists(some.floats(-1e6, 1e6), min_size=1, max_size=50)


def incomes(n: int = 500) -> np.ndarray:
    return np.random.default_rng(1).gamma(9, 5, n)


def pairs(n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.normal(50, 8, (n, 1)) * [1.0, 2.0] + rng.normal(0, 2, (n, 2))


@pytest.fixture(scope="module")
def attacked() -> st.Attack:
    truth = pairs()
    return st.attack(
        st.perturb(truth, "gaussian:sd=5", seed=3), "gaussian:sd=5", truth, columns=["income", "debt"]
    )


class TestAttack:
    def test_it_is_all_attacks_and_their_exposure(self) -> None:
        truth = incomes()
        noisy = st.perturb(truth, NOISE, seed=2)
        (column,) = st.attack(noisy, NOISE, truth, privacy=[0.5, 0.3]).columns
        (alone,) = run_attacks(noisy, st.UniformNoise(20))
        privacy = [st.PrivacyIntervals.relative(truth, share) for share in (0.3, 0.5)]
        assert column.exposure == expose(truth, noisy, attacks=alone.intervals, privacy=privacy)
        assert column.attacked.to_arrow() == alone.to_arrow()

    def test_forms_of_the_same_numbers(self, tmp_path: Path) -> None:
        truth = incomes(100)
        noisy = st.perturb(truth, NOISE, seed=2)
        table = pa.table({"income": noisy, "town": ["a"] * 100})
        path = tmp_path / "noisy.csv"
        path.write_text("income\n" + "\n".join(str(value) for value in noisy.tolist()) + "\n", "utf-8")
        expected = st.attack(noisy, NOISE, truth, columns=["income"]).exposures()
        for form in (noisy.tolist(), noisy[:, None], st.read_numbers(table, ["income"]), table, path):
            assert st.attack(form, NOISE, truth, columns=["income"]).exposures() == expected  # type: ignore[arg-type]
        for noise in (st.UniformNoise(20), [NOISE], [st.UniformNoise(20)]):
            assert st.attack(noisy, noise, truth, columns=["income"]).exposures() == expected

    def test_without_the_truth_nothing_is_determined(self) -> None:
        found = st.attack(st.perturb(incomes(), NOISE, seed=2), NOISE)
        assert found.discloses is None
        assert found.columns[0].exposure is None
        with pytest.raises(InputError, match="cannot be determined without the truth"):
            found.exposures()
        with pytest.raises(InputError, match="cannot be determined without the truth"):
            found.people()

    def test_tables(self, attacked: st.Attack) -> None:
        table = attacked.to_arrow()
        assert set(table["column"].to_pylist()) == {"income", "debt"}
        assert table.num_rows == 2 * 7
        assert attacked.to_pandas().shape == attacked.to_polars().shape == table.shape
        people = attacked.people()
        assert people.num_rows == 2 * 300
        exposures = attacked.exposures().to_pylist()
        for row in (row for row in exposures if row["privacy"] == "±80 %"):
            mine = people.filter(pa.array([name == row["column"] for name in people["column"].to_pylist()]))
            assert sum(label is not None for label in mine[row["method"]].to_pylist()) == row["disclosed"]

    def test_reprs_are_short(self, attacked: st.Attack) -> None:
        column = attacked.columns[0]
        texts = [repr(attacked), repr(column.attacked), repr(column.exposure), repr(attacked.pairs[0])]
        texts += [repr(one) for one in column.attacked.rebuilt.values()]
        texts += [repr(one) for one in column.attacked.reconstructions.values()]
        texts += [repr(one) for one in column.attacked.distributions.values()]
        for text in texts:
            assert len(text.splitlines()) <= 12
            assert len(text) < 700

    def test_doubts_are_said_once(self) -> None:
        """Both methods find no spread, each in its own words; the first one's are enough."""
        (column,) = st.attack(st.perturb(np.full(200, 5.0), NOISE, seed=2), NOISE).columns
        by_as, by_em = (column.attacked.reconstructions[name].doubts for name in ("as", "em"))
        assert set(by_as) == set(by_em) == {"spread"}
        assert column.attacked.doubts == [by_as["spread"]]
        (clear,) = st.attack(st.perturb(incomes(), "uniform:1", seed=2), "uniform:1").columns
        assert clear.attacked.doubts == []

    def test_every_name_of_a_method_is_explained(self, attacked: st.Attack) -> None:
        assert set(METHODS) <= set(MEANINGS)
        assert {row["method"] for row in attacked.exposures().to_pylist()} <= set(MEANINGS)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"noise": 5}, "not a law of noise"),
            ({"noise": []}, "not a law of noise"),
            ({"noise": "cauchy:1"}, "unknown law"),
            ({"noise": [NOISE, NOISE]}, "one noise for all columns, or one for each"),
            ({"noisy": ["a", "b"]}, "not numbers"),
            ({"noisy": None}, "list or a matrix|not numbers|missing"),
            ({"noisy": "noisy.csv"}, "no column was named"),
            ({"truth": incomes(7)}, "differ in the number of people"),
            ({"truth": "x.csv"}, "x.csv"),
            ({"columns": ["a", "b"]}, "one name for each column"),
            ({"methods": ["be"]}, "needs correlated columns"),
            ({"methods": ["guess"]}, "unknown method"),
            ({"privacy": "half"}, "shares of each value"),
            ({"privacy": -1.0}, "positive number"),
            ({"confidence": 95}, "confidence lies between"),
        ],
    )
    def test_wrong_input_is_named(self, changed: dict[str, Any], message: str) -> None:
        usual = {"noisy": incomes(50), "noise": NOISE, "truth": incomes(50)}
        with pytest.raises(InputError, match=message):
            st.attack(**{**usual, **changed})


class TestSummaries:
    def test_of_an_attack(self, attacked: st.Attack) -> None:
        summary = AttackSummary.of(attacked)
        assert AttackSummary.from_plain(json.loads(json.dumps(summary.to_plain()))) == summary
        blind = AttackSummary.of(st.attack(incomes(50), NOISE))
        assert not {"pairs", "errors"} & set(blind.to_plain())
        assert AttackSummary.from_plain(json.loads(json.dumps(blind.to_plain()))) == blind
        assert blind.worst is None

    @pytest.mark.parametrize("noise", [st.PrivacyBudget(0.1), "laplace:20", "gaussian:sd=30"])
    def test_of_groups(self, noise: Any) -> None:
        groups = st.Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[81, 420], [10, 2]])
        found = st.attack_groups(groups, noise)
        summary = LeaksSummary.of(found, file="people.csv", level=0.9)
        assert LeaksSummary.from_plain(json.loads(json.dumps(summary.to_plain()))) == summary
        assert summary.leaking_groups == found.leaking.num_rows == 1
        assert summary.worst[0].public == {"sex": "f"}
        assert ("sd" in summary.to_plain()["by_noise"][0]) == (noise == "gaussian:sd=30")  # type: ignore[index]
        assert "1 of 2 groups leak" in repr(found)

    def test_of_advice(self) -> None:
        numbers = st.read_numbers(pa.table({"income": incomes(200)}), ["income"])
        found = st.advise(numbers.matrix, share=0.2, privacy=0.5, draws=1, confirmations=6, seed=1)
        curve = st.try_scales(numbers.matrix, [found.trial.scale], privacy=0.5, draws=1, seed=1)
        for more in ((), curve):
            summary = AdviceSummary.of(found, numbers, privacy="±50 %", confidence=0.95, curve=more)
            assert AdviceSummary.from_plain(json.loads(json.dumps(summary.to_plain()))) == summary
            assert ("curve" in summary.to_plain()) == bool(more)
        assert len(repr(found).splitlines()) == 1
        assert found.to_arrow().num_rows == len(found.trials)

    @pytest.mark.parametrize("kind", [AttackSummary, LeaksSummary, AdviceSummary])
    def test_what_is_no_summary(self, kind: Any) -> None:
        for content in ({}, [], {"file": "x"}, {"by_noise": [{}]}):
            with pytest.raises(ValidationError):
                kind.from_plain(content)


class TestHistograms:
    """Nothing is lost, and long tails do not stretch them."""

    @given(VALUES, VALUES)
    def test_every_value_is_counted_once(self, one: list[float], two: list[float]) -> None:
        shown = Histogram.of({"noisy": one, "true": two})
        for name, values in (("noisy", one), ("true", two)):
            assert sum(shown.values[name].counts) + shown.values[name].beyond == len(values)
        assert len(shown.edges) == BINS + 1

    def test_a_long_tail_does_not_stretch_the_bins(self) -> None:
        values = np.append(np.random.default_rng(1).normal(size=5000), [1e9, -1e9])
        shown = Histogram.of({"noisy": values})
        assert shown.edges[-1] < 10
        assert shown.values["noisy"].below >= 1
        assert shown.density("noisy") @ np.diff(shown.edges) == pytest.approx(0.998, abs=0.001)

    def test_it_survives_a_file(self) -> None:
        shown = Histogram.of({"noisy": [1.0, 2.0, 2.0]})
        back = TypeAdapter(Histogram).validate_python(json.loads(json.dumps(asdict(shown))))
        assert back == shown

    def test_no_values(self) -> None:
        with pytest.raises(InputError, match="needs values"):
            Histogram.of({"noisy": []})


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        (st.perturb, (["a"], NOISE), "not numbers"),
        (st.perturb, ([1.0], 3), "not a law of noise"),
        (st.perturb, ([[1.0, 2.0]], [NOISE]), ""),
        (st.ratio_attack, (501, 420, "uniform:20"), "Laplace or Gaussian"),
        (st.ratio_attack, (501, 420, 20), "Laplace or Gaussian"),
        (st.ratio_attack, ("many", 420, "laplace:20"), "must be numbers"),
        (st.ratio_interval, (501, 420, None), "Laplace or Gaussian"),
        (st.leaking_groups, ([501], [420], "uniform:1"), "Laplace or Gaussian"),
        (st.reconstruct, ([1.0, 2.0], None), "not a law of noise"),
        (st.reconstruct, ([1.0, 2.0], st.CorrelatedNoise([[1.0]])), "several columns"),
    ],
)
def test_wrong_types_are_named(verb: Any, arguments: tuple[Any, ...], message: str) -> None:
    more = {"seed": 1} if verb is st.perturb else {}
    if not message:
        assert np.shape(verb(*arguments, **more)) == (1, 2)
        return
    with pytest.raises(InputError, match=message):
        verb(*arguments, **more)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", None])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(InputError, match="whole number from 0"):
        st.perturb([1.0], NOISE, seed=seed)
