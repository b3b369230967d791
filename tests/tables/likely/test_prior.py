"""Priors: chances that add up, hold what was fitted, and survive being kept in a file."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import showthrough as st
from showthrough.tables.audit import start_decider

MODELS = ("bayes-nets", "latent-classes", "independent", "uniform")

SCHEMA = st.Schema.of(
    {"a": ["0", "1", "2"], "b": ["0", "1"], "c": ["0", "1"], "d": ["0", "1", "2"]},
    rules=[st.Rule("a=2", "b=1")],
)


@pytest.fixture(scope="module")
def records() -> st.Records:
    """b follows a, c follows b nearly always, d follows a and c."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, 600)
    b = np.where(a == 2, 1, rng.integers(0, 2, 600))
    c = np.where(rng.random(600) < 0.95, b, 1 - b)
    d = (a + c + (rng.random(600) < 0.1)) % 3
    return st.Records(SCHEMA, np.column_stack([a, b, c, d]))


@pytest.fixture(scope="module")
def priors(records: st.Records) -> dict[str, st.Prior]:
    return {model: st.fit_prior(records, model=model, name=model, seed=4) for model in MODELS}  # type: ignore[arg-type]


def every_type(names: tuple[str, ...]) -> np.ndarray:
    return np.array(list(itertools.product(*(range(len(SCHEMA[name].values)) for name in names))))


@pytest.mark.parametrize("model", MODELS)
def test_chances_of_all_types_add_up_to_one(priors: dict[str, st.Prior], model: str) -> None:
    chances = priors[model].chances(every_type(SCHEMA.names), SCHEMA.names)
    assert (chances > 0).all()
    assert chances.sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_chances_over_possible_types_add_up_to_one_and_obey_rules(
    priors: dict[str, st.Prior], model: str
) -> None:
    release = st.Release.of(SCHEMA, {"a": [1, 1, 1], "c*d": [1, 1, 1, 0, 0, 0]})
    universe = start_decider(release, truth=None, effort=1, seed=0).system.universe
    chances = priors[model].over(universe)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    found = {tuple(row) for row in universe.codes[:, np.argsort(universe.frame.over)].tolist()}
    assert found  # and no record type that the rule or a zero excludes
    assert all(not (row[0] == 2 and row[1] == 0) and row[2] == 0 for row in found)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("names", [("d",), ("c", "a"), ("d", "b"), ("b", "c", "d")])
def test_attributes_are_summed_out(priors: dict[str, st.Prior], model: str, names: tuple[str, ...]) -> None:
    rows = every_type(SCHEMA.names)
    whole = priors[model].chances(rows, SCHEMA.names)
    columns = [SCHEMA.index[name] for name in names]
    for row in every_type(names):
        mine = (rows[:, columns] == row).all(axis=1)
        assert priors[model].chances(row[None, :], names)[0] == pytest.approx(whole[mine].sum(), rel=1e-4)


def test_nets_hold_what_independent_attributes_miss(priors: dict[str, st.Prior], records: st.Records) -> None:
    likelihood = {
        model: float(np.log(prior.chances(records.codes, SCHEMA.names)).mean())
        for model, prior in priors.items()
    }
    assert likelihood["bayes-nets"] > likelihood["latent-classes"] - 0.1
    assert likelihood["latent-classes"] > likelihood["independent"] + 0.3
    assert likelihood["independent"] > likelihood["uniform"]
    true = records.count("b=1,c=1") / records.count("b=1")
    assert priors["bayes-nets"].share("c=1", given="b=1") == pytest.approx(true, abs=0.03)


@pytest.mark.parametrize("model", MODELS)
def test_drawn_records_have_the_chances_and_obey_rules(priors: dict[str, st.Prior], model: str) -> None:
    drawn = priors[model].draw(20_000, SCHEMA, seed=1)
    assert not ((drawn[:, 0] == 2) & (drawn[:, 1] == 0)).any()
    rows = every_type(SCHEMA.names)
    legal = rows[~((rows[:, 0] == 2) & (rows[:, 1] == 0))]
    chances = priors[model].chances(legal, SCHEMA.names)
    chances /= chances.sum()
    seen = np.array([(drawn == row).all(axis=1).mean() for row in legal])
    # Five standard errors, for 30 types and four models: fails by chance once in 14,000 times.
    assert (abs(seen - chances) <= 5 * np.sqrt(chances / len(drawn)) + 1e-4).all()


@pytest.mark.parametrize("model", MODELS)
def test_files_hold_the_same_prior_and_no_records(
    priors: dict[str, st.Prior], model: str, tmp_path: Path
) -> None:
    st.write_prior(priors[model], tmp_path / "prior.json")
    again = st.read_prior(tmp_path / "prior.json")
    rows = every_type(SCHEMA.names)
    assert (again.chances(rows, SCHEMA.names) == priors[model].chances(rows, SCHEMA.names)).all()
    assert repr(again) == repr(priors[model])
    assert "not calibrated here" in (tmp_path / "prior.json").read_text()


def test_the_same_seed_gives_the_same_prior(records: st.Records, priors: dict[str, st.Prior]) -> None:
    for model in ("bayes-nets", "latent-classes"):
        again = st.fit_prior(records, model=model, name=model, seed=4)  # type: ignore[arg-type]
        assert again.to_plain() == priors[model].to_plain()
    assert st.fit_prior(records, name="bayes-nets", seed=5).to_plain() != priors["bayes-nets"].to_plain()


def _damage(plain: dict[str, Any], how: str) -> None:
    node = plain["nets"][0]["nodes"][0]
    if how == "chances":
        node["levels"][0]["chances"][0][0] = 5
    elif how == "negative":
        node["levels"][0]["chances"][0][:2] = [-0.5, 1.5]
    elif how == "missing":
        del plain["nets"]
    elif how == "order":
        plain["nets"][0]["nodes"].reverse()
        plain["nets"][0]["nodes"][0]["parents"] = ["a", "b", "c"]
    elif how == "weights":
        plain["nets"] = plain["nets"][:1] + plain["nets"]
    elif how == "attribute":
        node["attribute"] = "unknown"
    elif how == "kind":
        plain["kind"] = "run"


@pytest.mark.parametrize(
    "how", ["chances", "negative", "missing", "order", "weights", "attribute", "kind", "text"]
)
def test_damaged_files_are_errors_that_name_the_file(
    priors: dict[str, st.Prior], how: str, tmp_path: Path
) -> None:
    plain = priors["bayes-nets"].to_plain()
    _damage(plain, how)
    (tmp_path / "prior.json").write_text("x" if how == "text" else json.dumps(plain))
    with pytest.raises(st.InputError) as caught:
        st.read_prior(tmp_path / "prior.json")
    assert str(caught.value.file).endswith("prior.json")


def test_another_schema_is_an_error(priors: dict[str, st.Prior]) -> None:
    other = st.Schema.of({"a": ["0", "1", "2"], "e": ["0", "1"]})
    with pytest.raises(st.InputError, match="lacks an attribute") as caught:
        st.likely(st.Release.of(other, {"a*e": [1, 1, 1, 1, 1, 1]}), priors["uniform"])
    assert caught.value.column == "e"
    other = st.Schema.of({"a": ["0", "1", "3"]})
    with pytest.raises(st.InputError, match="other values"):
        st.likely(st.Release.of(other, {"a": [1, 1, 1]}), priors["uniform"])


def test_wrong_arguments(records: st.Records) -> None:
    with pytest.raises(st.InputError, match="unknown model"):
        st.fit_prior(records, model="guess")  # type: ignore[arg-type]
    with pytest.raises(st.InputError, match="no records"):
        st.fit_prior(st.Records(SCHEMA, np.zeros((0, 4), int)))
