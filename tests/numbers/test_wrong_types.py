"""An argument of the wrong type is named: no TypeError or AttributeError comes from inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import showthrough
from showthrough.errors import InputError
from showthrough.numbers import interquantile

#: Nothing here has the types that were asked for.
st: Any = showthrough


def _silent(_: object) -> None:
    """A function of one argument."""


#: What is wrong nearly everywhere.
WRONG = {
    "none": None,
    "number": 7,
    "fraction": 0.5,
    "texts": ["one", "two"],
    "text": "one",
    "object": object(),
    "mapping": {"one": object()},
    "function": _silent,
    "law": st.UniformNoise,
}

_TRUTH = np.random.default_rng(1).normal(100, 5, (40, 2))
_NOISY = _TRUTH + np.random.default_rng(2).uniform(-20, 20, (40, 2))
_MANY = np.random.default_rng(3).normal(100, 5, 400)
_BLURRED = _MANY + np.random.default_rng(4).normal(0, 10, 400)
_TABLE = pa.table({"a": pa.array(_NOISY[:, 0]), "b": pa.array(_NOISY[:, 1])})
_PRIVACY = [st.PrivacyIntervals.relative(_TRUTH[:, 0], 0.5)]
_ADVICE = {"privacy": 0.5, "draws": 1, "seed": 1}
_GROUPS = st.Groups.of({"town": ["a", "b"]}, {"ill": ["y", "n"]}, [[1, 1], [0, 3]])
_BAYES = {"be": st.bayes_estimate(_NOISY, 1.0)}


@dataclass(frozen=True)
class Call:
    """A call that works, and which of the wrong values are right for which argument."""

    function: Callable[..., object]
    arguments: Mapping[str, object]
    right: Mapping[str, str] = field(default_factory=dict[str, str])


CALLS = {
    "Converged": Call(
        st.Converged, {"tolerance": 1e-3, "most": 5}, {"tolerance": "number fraction", "most": "number"}
    ),
    "CorrelatedNoise": Call(st.CorrelatedNoise, {"covariance": [[1.0, 0.0], [0.0, 1.0]]}),
    "Distribution": Call(st.Distribution, {"edges": [0, 1], "mass": [1]}),
    "Distribution.of": Call(
        st.Distribution.of,
        {"values": [1.0, 2.0], "grid": st.Grid(0.0, 1.0, 3), "weights": [1.0, 2.0]},
        {"values": "", "grid": "none", "weights": "none"},
    ),
    "Distribution.loss": Call(st.Distribution([0, 1], [1]).loss, {"other": st.Distribution([0, 1], [1])}),
    "Ellipsoids": Call(
        st.Ellipsoids,
        {"centres": [[0.0, 0.0]], "covariance": [[1.0, 0.0], [0.0, 1.0]], "confidence": 0.9},
        {"confidence": "fraction"},
    ),
    "Fixed": Call(st.Fixed, {"iterations": 5}, {"iterations": "number"}),
    "GaussianNoise": Call(st.GaussianNoise, {"sd": 2.0}, {"sd": "number fraction"}),
    "Grid": Call(
        st.Grid,
        {"low": 0.0, "width": 1.0, "bins": 3},
        dict.fromkeys(["low", "width"], "number fraction") | {"bins": "number"},
    ),
    "Grid.over": Call(
        st.Grid.over,
        {"low": 0.0, "high": 10.0, "bins": 3},
        dict.fromkeys(["low", "high"], "number fraction") | {"bins": "number"},
    ),
    "HeldOut": Call(
        st.HeldOut,
        {"folds": 3, "margin": 1.0, "most": 5, "seed": 1},
        {"folds": "number", "margin": "number fraction", "most": "none number", "seed": "number"},
    ),
    "IndependentNoise": Call(st.IndependentNoise, {"noises": [st.UniformNoise(1)]}),
    "KnownOfTruth": Call(st.KnownOfTruth, {"step": 1.0}, {"step": "none number fraction"}),
    "KnownOfTruth.atom": Call(st.KnownOfTruth, {"atom": (0.0, 0.3)}, {"atom": "none"}),
    "KnownOfTruth.components": Call(st.KnownOfTruth, {"components": 1}, {"components": "none number"}),
    "LaplaceNoise": Call(st.LaplaceNoise, {"scale": 2.0}, {"scale": "number fraction"}),
    "Numbers": Call(
        st.Numbers,
        {"file": "data", "columns": ("a", "b"), "matrix": _NOISY},
        {"file": "text", "columns": "texts"},
    ),
    "PrivacyBudget": Call(
        st.PrivacyBudget,
        {"epsilon": 0.1, "sensitivity": 2.0, "delta": 1e-5},
        {
            "epsilon": "number fraction",
            "sensitivity": "none number fraction",
            "delta": "none number fraction",
        },
    ),
    "PrivacyIntervals": Call(
        st.PrivacyIntervals,
        {"low": [1.0], "high": [9.0], "label": "own", "width": 0.5},
        {
            "low": "number fraction",
            "high": "number fraction",
            "label": "text",
            "width": "none number fraction",
        },
    ),
    "PrivacyIntervals.relative": Call(
        st.PrivacyIntervals.relative,
        {"values": [1.0], "share": 0.5},
        {"values": "number fraction", "share": "number fraction"},
    ),
    "PrivacyIntervals.absolute": Call(
        st.PrivacyIntervals.absolute,
        {"values": [1.0], "width": 0.5},
        {"values": "number fraction", "width": "number fraction"},
    ),
    "PrivacyLevels": Call(
        st.PrivacyLevels,
        {
            "shares": (0.5,),
            "widths": (3.0,),
            "columns": ("low", "high"),
            "own": st.Numbers("data", ("a", "b"), _NOISY),
        },
        {"columns": "none texts", "own": "none"},
    ),
    "PrivacyLevels.of": Call(st.PrivacyLevels.of, {"given": 0.5}, {"given": "none number fraction"}),
    "Rate": Call(st.Rate, {"count": 7, "total": 20}, {"count": "number", "total": "number"}),
    "RatioAttack": Call(
        st.RatioAttack,
        {"group": 501.0, "matching": 420.0, "noise": st.LaplaceNoise(20)},
        {"group": "number fraction", "matching": "number fraction"},
    ),
    "SampledNoise": Call(st.SampledNoise, {"values": [1.0, 2.0]}),
    "TabulatedNoise": Call(st.TabulatedNoise, {"grid": [-1, 0, 1], "density": [0, 1, 0]}),
    "UniformNoise": Call(st.UniformNoise, {"half_width": 2.0}, {"half_width": "number fraction"}),
    "advise": Call(
        st.advise,
        {
            "values": _TRUTH,
            "share": 0.05,
            "privacy": 0.5,
            "family": "uniform",
            "confidence": 0.9,
            "draws": 1,
            "confirmations": 6,
            "seed": 1,
        }
        | {"progress": _silent},
        {"share": "fraction", "privacy": "number fraction", "confidence": "fraction"}
        | {"draws": "number", "confirmations": "number", "seed": "number"}
        | {"progress": "none function law"},
    ),
    "attack": Call(
        st.attack,
        {"noisy": _NOISY, "noise": "uniform:20", "truth": _TRUTH, "columns": ["a", "b"], "methods": ["em"]}
        | {"privacy": 0.5, "confidence": 0.9},
        {"truth": "none", "columns": "none texts", "methods": "none"}
        | {"privacy": "none number fraction", "confidence": "fraction"},
    ),
    "attack_groups": Call(
        st.attack_groups,
        {"groups": _GROUPS, "noise": "laplace:20", "sensitive": "ill"},
        {"sensitive": "none"},
    ),
    "attack_unknown": Call(
        st.attack_unknown,
        {"noisy": _BLURRED, "known": None, "truth": _MANY, "methods": ["em"]}
        | {"privacy": 0.5, "confidence": 0.9},
        {"known": "none", "methods": "none"} | {"privacy": "none number fraction", "confidence": "fraction"},
    ),
    "bayes_estimate": Call(
        st.bayes_estimate,
        {"values": _NOISY, "noise": 1.0, "mean": [0.0, 0.0], "covariance": [[1.0, 0.0], [0.0, 1.0]]},
        {"noise": "number fraction", "mean": "none", "covariance": "none"},
    ),
    "compare_pairs": Call(
        st.compare_pairs,
        {"values": _NOISY, "noise": 1.0, "rebuilt": _BAYES, "truth": _TRUTH, "most": 3, "points": 40},
        {"noise": "number fraction", "truth": "none", "most": "number", "points": "number"},
    ),
    "correlated_like": Call(
        st.correlated_like, {"values": _TRUTH, "ratio": 0.5}, {"ratio": "number fraction"}
    ),
    "estimate_noise": Call(
        st.estimate_noise, {"noisy": _BLURRED, "known": None, "truth": _MANY}, {"known": "none"}
    ),
    "expose": Call(
        st.expose,
        {
            "truth": _TRUTH[:, 0],
            "noisy": _NOISY[:, 0],
            "attacks": {"guess": interquantile.interquantile([85, 115])},
        }
        | {"privacy": _PRIVACY, "confidence": 0.9},
        {"confidence": "fraction"},
    ),
    "leaking_groups": Call(st.leaking_groups, {"sizes": [501], "matching": [420], "noise": "laplace:20"}),
    "parse_noise": Call(st.parse_noise, {"text": "laplace:20"}),
    "perturb": Call(st.perturb, {"values": _TRUTH, "noise": "uniform:20", "seed": 1}, {"seed": "number"}),
    "posterior_intervals": Call(
        st.posterior_intervals,
        {"values": [50.0], "noise": "uniform:10", "distribution": st.Distribution([0, 100], [1])}
        | {"confidence": 0.9, "shape": "shortest"},
        {"confidence": "fraction"},
    ),
    "principal_components": Call(
        st.principal_components,
        {"values": _NOISY, "noise": 1.0, "rank": 1},
        {"noise": "number fraction", "rank": "none"},
    ),
    "ratio_attack": Call(
        st.ratio_attack,
        {"group": 501, "matching": 420, "noise": "laplace:20"},
        {"group": "", "matching": "number fraction"},
    ),
    "ratio_interval": Call(
        st.ratio_interval,
        {"group": 501, "matching": 420, "noise": "laplace:20", "confidence": 0.9},
        {"group": "number fraction", "matching": "number fraction", "confidence": "fraction"},
    ),
    "read_numbers": Call(
        st.read_numbers,
        {"source": _TABLE, "columns": ["a"], "least": 2},
        {"least": "number"},
    ),
    "reconstruct": Call(
        st.reconstruct,
        {
            "values": _NOISY[:, 0],
            "noise": "uniform:20",
            "method": "em",
            "grid": st.Grid(50.0, 1.0, 100),
            "stop": 5,
        },
        {"grid": "none", "stop": "none number"},
    ),
    "reconstruct_columns": Call(
        st.reconstruct_columns,
        {
            "values": _NOISY,
            "noise": "uniform:20",
            "method": "em",
            "grids": [st.Grid(50.0, 1.0, 100)] * 2,
            "stop": 5,
        },
        {"grids": "none", "stop": "none number"},
    ),
    "reconstruct_joint": Call(
        st.reconstruct_joint,
        {
            "values": _NOISY,
            "noise": "uniform:20",
            "method": "em",
            "grids": [st.Grid(50.0, 4.0, 25)] * 2,
            "stop": 5,
        },
        {"grids": "none", "stop": "none number"},
    ),
    "spectral_filter": Call(
        st.spectral_filter,
        {"values": _NOISY, "noise": 1.0, "level": 0.95, "rank": 1},
        {"noise": "number fraction", "rank": "none"},
    ),
    "try_scales": Call(
        st.try_scales,
        {
            "values": _TRUTH,
            "scales": [1.0],
            "privacy": 0.5,
            "family": "uniform",
            "confidence": 0.9,
            "draws": 1,
        }
        | {"seed": 1, "progress": _silent},
        {"privacy": "number fraction", "confidence": "fraction", "draws": "number", "seed": "number"}
        | {"progress": "none function law"},
    ),
}

#: What the functions above return: nobody makes these by hand.
RESULTS = {
    "Advice",
    "Attack",
    "ColumnAttack",
    "Exposure",
    "GroupLeaks",
    "JointReconstruction",
    "NoiseEstimate",
    "NoiseTrial",
    "Pair",
    "Rebuilt",
    "Reconstruction",
}


@pytest.mark.parametrize(
    ("name", "argument"), [(name, one) for name in CALLS for one in CALLS[name].arguments]
)
def test_a_wrong_type_is_named(name: str, argument: str) -> None:
    call = CALLS[name]
    taken: list[str] = []
    for wrong in WRONG.keys() - call.right.get(argument, "").split():
        with suppress(InputError):
            call.function(**{**call.arguments, argument: WRONG[wrong]})
            taken.append(wrong)
    assert not taken


@pytest.mark.parametrize("name", CALLS)
def test_the_right_types_are_taken(name: str) -> None:
    call = CALLS[name]
    if name == "advise":
        call = Call(call.function, {**call.arguments, "share": 0.9, "confirmations": 1})
    call.function(**call.arguments)


def test_all_public_names_are_tried() -> None:
    places = {
        name: getattr(st, name).__module__ for name in st.__all__ if hasattr(getattr(st, name), "__module__")
    }
    public = {name for name, module in places.items() if module.startswith("showthrough.numbers.")}
    assert public == RESULTS | {name.partition(".")[0] for name in CALLS}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: st.UniformNoise("3"),
            "the half-width of the noise must be a number, not str (found \"'3'\")",
        ),
        (
            lambda: st.Grid(0.0, 1.0, 2.5),
            "the number of bins must be a whole number, not float (found '2.5')",
        ),
        (lambda: st.Fixed("3"), "the number of iterations must be a whole number, not str (found \"'3'\")"),
        (
            lambda: st.IndependentNoise([3]),
            "an entry of noises must be Noise or str, not int; write [UniformNoise(3), LaplaceNoise(1)]",
        ),
        (
            lambda: st.reconstruct([1.0], "uniform:3", stop="soon"),
            "stop must be Fixed, Converged or HeldOut, not str; give a rule, a number of iterations, or None",
        ),
        (
            lambda: st.IndependentNoise([st.IndependentNoise(["uniform:3"])]),
            "an entry of noises must be Noise or str, not IndependentNoise; "
            "write [UniformNoise(3), LaplaceNoise(1)]",
        ),
        (lambda: st.HeldOut(seed=-1), "a seed is a whole number from 0 (found '-1')"),
        (
            lambda: st.Distribution.of([1.0, 2.0], weights=[1.0]),
            "give one weight for each value (found '1 for 2 values')",
        ),
        (
            lambda: st.attack_groups(_GROUPS, "laplace:20", sensitive="il"),
            "the groups have no such sensitive column (found 'il'); did you mean 'ill'? known: 'ill'",
        ),
        (
            lambda: st.reconstruct(iter([["a"]]), "uniform:3"),
            "the values are not numbers (found \"['a']\"); give a list or a matrix of numbers",
        ),
        (
            lambda: st.reconstruct([[1.0], [1.0, 2.0]], "uniform:3"),
            "the values are not numbers (found '[[1.0], [1.0, 2.0]]'); give a list or a matrix of numbers",
        ),
        (
            lambda: st.reconstruct([1.0], "uniform:3", grid=3),
            "grid must be Grid, not int; write Grid(0, 2.5, 40)",
        ),
        (
            lambda: st.reconstruct_columns([[1.0]], "uniform:3", grids=[3]),
            "an entry of grids must be Grid or None, not int; write [Grid(0, 2.5, 40)]",
        ),
        (
            lambda: st.Distribution.of([1.0], grid=3),
            "grid must be Grid, not int; write Grid(0, 2.5, 40)",
        ),
        (
            lambda: st.Distribution([0, 1], [1]).loss(3),
            "other must be Distribution, not int; use Distribution.of for values",
        ),
        (lambda: st.Grid("0", 1, 3), "the lower end of a grid must be a number, not str (found \"'0'\")"),
        (lambda: st.Grid(0, "1", 3), "the width of a bin must be a number, not str (found \"'1'\")"),
        (
            lambda: st.Grid.over("0", 1, bins=3),
            "the lower end of a grid must be a number, not str (found \"'0'\")",
        ),
        (
            lambda: st.Grid.over(0, "1", bins=3),
            "the upper end of a grid must be a number, not str (found \"'1'\")",
        ),
        (
            lambda: st.Grid.over(0, 1, bins="3"),
            "the number of bins must be a whole number, not str (found \"'3'\")",
        ),
        (
            lambda: st.Distribution("ab", [1]),
            "the edges are not numbers (found \"'ab'\"); give a list or a matrix of numbers",
        ),
        (
            lambda: st.Distribution([0, 1], "x"),
            "the masses are not numbers (found \"'x'\"); give a list or a matrix of numbers",
        ),
        (
            lambda: st.Distribution.of([1.0], weights=["a"]),
            "the weights are not numbers (found \"['a']\"); give a list or a matrix of numbers",
        ),
        (
            lambda: st.read_numbers(_TABLE, "a"),
            "columns must be a list, not str (found 'a'); write [\"income\"]",
        ),
    ],
)
def test_messages(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message


def test_independent_noise_from_texts() -> None:
    assert st.IndependentNoise(["uniform:3"]) == st.IndependentNoise([st.UniformNoise(3)])
