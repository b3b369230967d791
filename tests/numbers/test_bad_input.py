"""Input nobody should give: every attack, and every command about numbers, says what is wrong with it.

For each kind: numbers that are none, constant columns, one record, far too much noise, negative scales,
singular covariances, more columns than rows.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from needs import SLOW
from showthrough.cli import main
from showthrough.errors import InputError
from showthrough.numbers.bins import Method
from showthrough.numbers.density import Distribution, Grid
from showthrough.numbers.exposure import expose
from showthrough.numbers.interquantile import PrivacyIntervals
from showthrough.numbers.joint_noise import CorrelatedNoise, IndependentNoise, correlated_like
from showthrough.numbers.joint_reconstruction import reconstruct_joint
from showthrough.numbers.methods import BAYES, METHODS, POSTERIOR, run_attacks
from showthrough.numbers.noise import GaussianNoise, JointNoise, LaplaceNoise, Noise, UniformNoise
from showthrough.numbers.perturb import perturb
from showthrough.numbers.reconstruction import reconstruct
from showthrough.numbers.spectral import bayes_estimate

NOISE = GaussianNoise(sd=1)

BAD: list[tuple[list[list[float]], str]] = [
    ([[1.0, 2.0], [math.nan, 3.0]], "row 2, column 1: a value is missing or infinite"),
    ([[1.0, math.inf], [2.0, 3.0]], "row 1, column 2: a value is missing or infinite"),
    ([[1.0, -math.inf], [2.0, 3.0]], "row 1, column 2: a value is missing or infinite"),
    ([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], "column 2: all published values are equal"),
    ([[1.0, 2.0]], "at least two records"),
]


class TestAttacks:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(("values", "message"), BAD, ids=["nan", "inf", "-inf", "constant", "one"])
    def test_every_method_refuses(self, method: str, values: list[list[float]], message: str) -> None:
        with pytest.raises(InputError, match=message):
            run_attacks(values, NOISE, methods=[method])

    @pytest.mark.parametrize("values", [BAD[0][0], BAD[1][0]], ids=["nan", "inf"])
    def test_product_grids_and_publishers_refuse_too(self, values: list[list[float]]) -> None:
        with pytest.raises(InputError):
            reconstruct_joint(values, IndependentNoise([NOISE, NOISE]))
        with pytest.raises(InputError):
            perturb(values, NOISE, seed=1)

    @pytest.mark.parametrize(
        "noise", [UniformNoise(5_000), GaussianNoise(sd=5_000), LaplaceNoise(5_000)], ids=str
    )
    def test_noise_a_thousand_times_the_data(self, noise: Noise) -> None:
        """Every method ends with finite intervals, and those who rebuild say that no spread is there.

        Noise without ends discloses nobody. Bounded noise ends as sharply as ever, and 2,000 values show
        where: the least and the largest alone tell that everybody has about 100.
        """
        truth = np.random.default_rng(1).normal(100, 5, (2_000, 3))
        values = perturb(truth, noise, seed=2)
        for column, found in enumerate(run_attacks(values, noise)):
            assert set(found.intervals) == {*METHODS, POSTERIOR, BAYES}
            for interval in found.intervals.values():
                assert np.isfinite([interval.low, interval.high]).all()
            assert all(not one.is_recoverable for one in found.reconstructions.values())
            rates = expose(
                truth[:, column],
                values[:, column],
                attacks=found.intervals,
                privacy=[PrivacyIntervals.relative(truth[:, column], 0.5)],
            )
            strongest = rates.strongest("±50 %")
            assert strongest.is_credible(0.95)
            if not isinstance(noise, UniformNoise):
                assert strongest.disclosed.value < 0.02
            elif column == 0:
                assert strongest.disclosed.value > 0.9

    @pytest.mark.parametrize("scale", [-1.0, 0.0, math.nan, math.inf])
    def test_scales(self, scale: float) -> None:
        for make in (
            lambda: UniformNoise(scale),
            lambda: LaplaceNoise(scale),
            lambda: GaussianNoise(sd=scale),
            lambda: GaussianNoise(variance=scale),
        ):
            with pytest.raises(InputError, match="must be a positive number"):
                make()

    def test_singular_noise_is_refused_and_read_off_by_the_bayes_estimate(self) -> None:
        """In a direction without noise the values are published as they are."""
        singular = np.array([[4.0, 2.0], [2.0, 1.0]])
        with pytest.raises(InputError, match="singular"):
            CorrelatedNoise(singular)
        rng = np.random.default_rng(3)
        truth = rng.normal(size=(500, 2)) * [3, 5]
        found = bayes_estimate(truth + rng.normal(size=(500, 1)) * [2, 1], singular)
        clear = np.array([1.0, -2.0])  # orthogonal to the noise
        assert found.estimates @ clear == pytest.approx(truth @ clear, abs=1e-6)

    def test_singular_data_are_attacked(self) -> None:
        """A column that is twice another one."""
        rng = np.random.default_rng(4)
        truth = rng.normal(size=(2_000, 1)) * [3.0, 6.0]
        found = run_attacks(perturb(truth, NOISE, seed=5), NOISE)[0]
        assert found.rebuilt["sf"].rank == 1
        assert found.intervals[BAYES].contains(truth[:, 0]).mean() == pytest.approx(0.95, abs=0.02)
        with pytest.raises(InputError, match="singular"):
            correlated_like(truth, ratio=0.5)

    @pytest.mark.parametrize("noise", [NOISE, CorrelatedNoise(np.eye(9))], ids=["one law", "joint"])
    def test_more_columns_than_rows(self, noise: Noise | JointNoise) -> None:
        values = np.random.default_rng(6).normal(size=(4, 9))
        for found in run_attacks(values, noise):
            for interval in found.intervals.values():
                assert np.isfinite([interval.low, interval.high]).all()
        with pytest.raises(InputError, match="more rows than columns"):
            correlated_like(values, ratio=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["as", "em"])
@pytest.mark.parametrize(
    "noise", [UniformNoise(5_000), GaussianNoise(sd=5_000), LaplaceNoise(5_000)], ids=str
)
def test_a_hidden_constant_is_not_taken_for_a_spread(method: Method, noise: Noise) -> None:
    """Wherever in a bin it lies, and however many values there are.

    By the rule's design one draw in 150 would; all fixed ones must not.
    """
    for seed in range(4 if SLOW else 1):
        values = perturb(np.full(20_000 if SLOW else 2_000, 100.0), noise, seed=seed)
        assert not reconstruct(values, noise, method=method).is_recoverable


@pytest.mark.parametrize("method", ["as", "em"])
def test_values_that_cannot_be_are_no_evidence_of_a_spread(method: Method) -> None:
    """They are left out, and counted."""
    values = np.append(perturb(np.full(2_000, 100.0), UniformNoise(20), seed=1), 10_000.0)
    found = reconstruct(values, UniformNoise(20), method=method, grid=Grid.over(50, 150, bins=100))
    assert found.unexplained == pytest.approx(1 / 2_001)
    assert not found.spread.gain > 5


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("value", [0.0, 3.0, -250.0])
def test_a_constant_estimate_has_lost_everything_in_whatever_unit(value: float, unit: float) -> None:
    """What a filter that keeps no component says: everybody has the mean."""
    varied = Distribution.of(unit * np.random.default_rng(7).normal(value, 10, 2_000))
    constant = Distribution.of(np.full(2_000, unit * value))
    assert constant.loss(varied) > 0.99
    assert constant.mean == pytest.approx(unit * value)


FILES = {
    "nan": ("1,2\nnan,3\n4,5\n", "row 2, column a: the value is not finite"),
    "inf": ("1,2\n-inf,3\n4,5\n", "row 2, column a: the value is not finite"),
    "missing": ("1,2\n,3\n4,5\n", "row 2, column a: the value is missing"),
    "constant": ("1,2\n1,3\n1,5\n", "column a: all"),
    "one": ("1,2\n", "at least 2 records"),
}


class TestCommands:
    @pytest.mark.parametrize("kind", FILES)
    @pytest.mark.parametrize(
        "command",
        [
            "attack x.csv --column a --column b --noise uniform:1 --out run",
            "attack x.csv --column a --noise laplace:1 --method em --out run",
            "advise x.csv --column a --column b --share 0.1 --privacy 50",
        ],
    )
    def test_files(
        self,
        command: str,
        kind: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        text, message = FILES[kind]
        Path("x.csv").write_text(f"a,b\n{text}", "utf-8")
        assert main(command.split()) == 2
        out, err = capsys.readouterr()
        assert (out, err.startswith("error: x.csv")) == ("", True)
        assert message in err
        assert not Path("run").exists()

    @pytest.mark.parametrize("noise", ["uniform:-1", "laplace:-2", "gaussian:sd=-3", "gaussian:variance=-4"])
    @pytest.mark.parametrize("command", ["attack x.csv", "perturb x.csv --out o.csv"])
    def test_negative_scales(
        self,
        command: str,
        noise: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("x.csv").write_text("a\n1\n2\n", "utf-8")
        assert main([*command.split(), "--column", "a", "--noise", noise]) == 2
        assert "must be a positive number" in capsys.readouterr().err
        assert not Path("o.csv").exists()

    def test_wide_noise_wide_tables_and_singular_covariances(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        truth = np.random.default_rng(8).normal(100, 5, (300, 2))
        noisy = perturb(truth, GaussianNoise(sd=5_000), seed=9)
        wide = np.random.default_rng(10).normal(size=(4, 6))
        for name, matrix in (("true", truth), ("noisy", noisy), ("wide", wide)):
            header = ",".join("abcdef"[: matrix.shape[1]])
            np.savetxt(f"{name}.csv", matrix, delimiter=",", header=header, comments="")
        command = ["attack", "noisy.csv", "--column", "a"]
        assert main([*command, "--noise", "gaussian:sd=5000", "--truth", "true.csv"]) == 0
        assert "no spread is recoverable" in capsys.readouterr().err
        columns = [word for name in "abcdef" for word in ("--column", name)]
        assert main(["attack", "wide.csv", *columns, "--noise", "gaussian:sd=1"]) == 3
        assert "Column f: 4 people" in capsys.readouterr().out
        Path("cov.csv").write_text("a,b\n4,2\n2,1\n", "utf-8")
        assert main([*command, "--column", "b", "--covariance", "cov.csv"]) == 2
        assert "singular" in capsys.readouterr().err


def test_no_empty_lines_in_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between columns and before the list of files there is one."""
    monkeypatch.chdir(tmp_path)
    truth = np.random.default_rng(11).normal(100, 5, (80, 2))
    for name, matrix in (("true", truth), ("noisy", perturb(truth, UniformNoise(20), seed=12))):
        np.savetxt(f"{name}.csv", matrix, delimiter=",", header="a,b", comments="")
    command = "attack noisy.csv --column a --column b --noise uniform:20 --out"
    for more in (["run"], ["more", "--truth", "true.csv"]):
        main([*command.split(), *more])
        out = capsys.readouterr().out
        assert "\n\n\n" not in out
        assert "\n\nColumn b" in out
        assert "\n\nWritten to" in out


@pytest.mark.parametrize("noise", [UniformNoise(1.0), GaussianNoise(sd=1e-9)])
def test_noise_that_is_lost_in_the_rounding_of_large_values(noise: Noise) -> None:
    """Nothing lies between such a value and the next number, so all hidden values are in one bin."""
    found = reconstruct(np.full(50, 1e20), noise)
    assert found.distribution.mean == pytest.approx(1e20)
