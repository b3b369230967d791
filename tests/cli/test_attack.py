"""The commands about noisy numbers, as a user meets them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks.simulated_numbers import bank_balances

from command import Run, runner
from showthrough.files import file_digest
from showthrough.frames import read_table
from showthrough.numbers.columns_file import read_numbers

DATA = os.environ.get("SHOWTHROUGH_DATA")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, given as texts of one or several words.

    The folder has ``true.csv`` and its first rows ``few.csv``, ``noisy.csv`` (with uniform:125 on the
    income) and ``people.csv``.
    """
    monkeypatch.chdir(tmp_path)
    balances = bank_balances(800, seed=1)
    noisy = balances.copy()
    noisy[:, 0] += np.random.default_rng(2).uniform(-125, 125, 800)
    for name, matrix in (("true.csv", balances), ("few.csv", balances[:150]), ("noisy.csv", noisy)):
        rows = [
            f'{at},{one[0]},{one[2]},{one[0] - 5},{one[0] + 5},"a, b"'
            for at, one in enumerate(matrix.tolist())
        ]
        Path(name).write_text("id,income,debt,low,high,note\n" + "\n".join(rows) + "\n", "utf-8")
    people = ["f,old,yes"] * 420 + ["f,old,no"] * 81 + ["m,old,no"] * 300 + ["m,,no"] * 10
    Path("people.csv").write_text("sex,age,ill\n" + "\n".join(people) + "\n", "utf-8")

    return runner(capsys, words=True)


ATTACK = "attack noisy.csv --column income --noise uniform:125"


class TestAttack:
    def test_with_the_truth(self, run: Run) -> None:
        ran = run(ATTACK, "--truth", "true.csv", "--out", "run")
        assert ran.code == 1
        assert ran.out.startswith("Column income: 800 people, noise uniform:125.")
        assert "The strongest attack (" in " ".join(ran.out.split())
        header = next(line for line in ran.out.splitlines() if line.lstrip().startswith("privacy"))
        assert header.split() == ["privacy", "direct", "as", "em", "posterior", "ideal"]
        assert "±35 %" in ran.out
        assert "\x1b" not in ran.out + ran.err
        manifest = json.loads(Path("run/run.json").read_text("utf-8"))
        assert manifest["inputs"] == {name: file_digest(name) for name in ("noisy.csv", "true.csv")}
        assert manifest["parameters"]["noise"] == "uniform:125"
        for name, digest in manifest["outputs"].items():
            assert file_digest(Path("run", name)) == digest

    def test_the_run_folder_agrees_with_the_printed_figures(self, run: Run) -> None:
        ran = run(ATTACK, "--truth", "true.csv", "--privacy", "40,60", "--out", "run", "--json")
        assert ran.err == ""
        (column,) = ran.json["columns"]  # type: ignore[misc]
        exposure = pq.read_table("run/exposure.parquet").to_pylist()
        assert [{**row, "column": "income"} for row in column["exposure"]] == exposure
        assert (ran.json["exit_code"], ran.json["folder"], ran.json["people"]) == (1, "run", 800)
        people = pq.read_table("run/people.parquet")
        assert people["row"].to_pylist() == list(range(1, 801))
        for row in exposure:
            narrow = people[row["method"]].to_pylist()
            labels = ("±40 %",) if row["privacy"] == "±40 %" else ("±40 %", "±60 %")
            assert sum(label in labels for label in narrow) == row["disclosed"]
        densities = pq.read_table("run/densities.parquet")
        assert set(densities["method"].to_pylist()) == {"as", "em"}
        assert sum(densities["mass"].to_pylist()) == pytest.approx(2)
        intervals = pq.read_table("run/intervals.parquet")
        assert (intervals.num_rows, set(intervals["method"].to_pylist())) == (800, {"posterior"})

    def test_without_the_truth_nobody_can_tell(self, run: Run) -> None:
        ran = run(ATTACK, "--method", "em", "--out", "run")
        assert ran.code == 3
        assert "add --truth" in " ".join(ran.out.split())
        assert sorted(path.name for path in Path("run").iterdir()) == [
            "densities.parquet",
            "intervals.parquet",
            "report.html",
            "run.json",
            "summary.json",
        ]

    def test_nobody_is_disclosed(self, run: Run) -> None:
        ran = run(ATTACK, "--truth", "true.csv", "--absolute", "0.01")
        assert ran.code == 0
        assert "0 % of 800 people can be placed within ±0.01 of the truth" in " ".join(ran.out.split())

    def test_everybodys_own_privacy_interval(self, run: Run) -> None:
        ran = run(ATTACK, "--truth", "true.csv", "--privacy-columns", "low,high", "--json")
        (column,) = ran.json["columns"]  # type: ignore[misc]
        assert {row["privacy"] for row in column["exposure"]} == {"given"}
        bad = run(ATTACK, "--truth", "true.csv", "--privacy-columns", "high,low")
        assert bad.code == 2
        assert "true.csv, row 1, column high to low: a privacy interval ends before it starts" in bad.err

    def test_several_columns(self, run: Run) -> None:
        run(
            "perturb true.csv --column income --column debt --correlated 0.5",
            "--covariance-out cov.csv --out shaped.csv",
        )
        ran = run(
            "attack shaped.csv --column income --column debt --covariance cov.csv",
            "--truth true.csv --privacy 50 --json",
        )
        assert ran.code == 1
        assert [pair["columns"] for pair in ran.json["pairs"]] == [["income", "debt"]]
        methods = set(ran.json["columns"][0]["methods"])  # type: ignore[index]
        assert methods == {"as", "em", "posterior", "sf", "pca", "be", "be posterior"}
        assert set(ran.json["errors"]) == {"sf", "pca", "be"}  # type: ignore[call-overload]
        two = run(
            "attack shaped.csv --column income --column debt --noise gaussian:sd=5",
            "--noise laplace:9 --method be --truth true.csv --json",
        )
        assert [column["noise"] for column in two.json["columns"]] == [  # type: ignore[union-attr]
            "gaussian:sd=5",
            "laplace:9",
        ]

    def test_no_report(self, run: Run) -> None:
        ran = run(ATTACK, "--truth true.csv --privacy 50 --out run --no-report --json")
        assert ran.code == 1
        assert not Path("run/report.html").exists()
        assert (ran.json["folder"], ran.json["report"]) == ("run", None)
        with_page = run(ATTACK, "--truth true.csv --privacy 50 --out other --json")
        assert with_page.json["report"] == "other/report.html"
        assert Path("other/report.html").exists()

    def test_verbose_tells_the_steps(self, run: Run) -> None:
        ran = run(ATTACK, "--truth true.csv --privacy 50 --out run --verbose")
        for step in ("reading", "attacking", "measuring", "writing"):
            assert f"{step} …" in ran.err
        assert run(ATTACK, "--verbose --quiet").code == 2

    def test_a_singular_covariance_is_named(self, run: Run) -> None:
        Path("cov.csv").write_text("income,debt\n1,1\n1,1\n", "utf-8")
        ran = run("attack noisy.csv --column income --column debt --covariance cov.csv")
        assert ran.code == 2
        assert "cov.csv: the covariance of the noise is singular" in ran.err

    def test_no_spread_is_noted_once(self, run: Run) -> None:
        Path("flat.csv").write_text(
            "income\n" + "\n".join(str(5 + at % 2) for at in range(200)) + "\n", "utf-8"
        )
        run("perturb flat.csv --column income --noise gaussian:sd=500 --seed 1 --out wide.csv")
        ran = run("attack wide.csv --column income --noise gaussian:sd=500")
        assert ran.err.count("no spread is recoverable") == 1

    def test_overwriting(self, run: Run) -> None:
        assert run(ATTACK, "--out", "run").code == 3
        again = run(ATTACK, "--out", "run")
        assert again.code == 2
        assert "already holds a finished run" in again.err
        assert run(ATTACK, "--out", "run", "--overwrite").code == 3
        Path("other").mkdir()
        Path("other/mine.txt").write_text("x")
        assert run(ATTACK, "--out", "other", "--overwrite").code == 2
        assert [path.name for path in Path("other").iterdir()] == ["mine.txt"]

    def test_quiet(self, run: Run) -> None:
        ran = run(ATTACK, "--truth", "true.csv", "--quiet")
        assert (ran.code, ran.out, ran.err) == (1, "", "")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("attack", "nothing to attack"),
            ("attack noisy.csv", "--noise or --covariance"),
            ("attack noisy.csv --noise uniform:1", "no column was named"),
            ("attack nowhere.csv --column income --noise uniform:1", "no such file"),
            ("attack noisy.csv --column incme --noise uniform:1", "did you mean 'income'"),
            ("attack noisy.csv --column note --noise uniform:1", "row 1, column note: the value is not"),
            ("attack noisy.csv --column income --noise uniform:-1", "positive number"),
            ("attack noisy.csv --column income --noise uniform", "the noise has no number"),
            (f"{ATTACK} --method sf", "give several columns"),
            (f"{ATTACK} --confidence 95", "a confidence lies between 0 and 1"),
            (f"{ATTACK} --truth people.csv", "no such column"),
            (f"{ATTACK} --privacy a", "cannot read --privacy"),
            (f"{ATTACK} --privacy -3", "cannot read --privacy"),
            (f"{ATTACK} --privacy-columns low", "cannot read --privacy-columns"),
            (f"{ATTACK} --noise uniform:3 --noise uniform:4", "one noise for all columns, or one for each"),
            (f"{ATTACK} --answers 5:3", "cannot be attacked together"),
        ],
    )
    def test_bad_input(self, run: Run, arguments: str, message: str) -> None:
        ran = run(arguments)
        assert ran.code == 2
        assert message in ran.err
        assert ran.out == ""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("income\n5\n5\n5\n", "x.csv, column income: all published values are equal"),
            ("income\n5\n", "x.csv: at least 2 records"),
            ("income\n5\nnan\n", "x.csv, row 2, column income: the value is not finite"),
            ("income\n5\n\n7\n", "x.csv, row 2, column income: the value is missing"),
        ],
    )
    def test_bad_files(self, run: Run, text: str, message: str) -> None:
        Path("x.csv").write_text(text, "utf-8")
        ran = run("attack x.csv --column income --noise uniform:1 --out run")
        assert ran.code == 2
        assert message in ran.err
        assert not Path("run").exists()

    def test_the_truth_is_about_the_same_people(self, run: Run) -> None:
        Path("few.csv").write_text("income\n1\n2\n", "utf-8")
        ran = run(ATTACK, "--truth", "few.csv")
        assert ran.code == 2
        assert "few.csv: the truth and the noisy values differ" in ran.err


class TestAnswers:
    def test_the_papers_pair(self, run: Run) -> None:
        ran = run("attack --answers 501:420 --laplace 20")
        assert ran.code == 1
        assert "83.8\u00a0%" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80

    def test_epsilon_and_its_scale_agree(self, run: Run) -> None:
        one = run("attack --answers 501:420 --laplace 20 --json").json
        two = run("attack --answers 501:420 --epsilon 0.1 --json").json
        assert one == two
        assert one["confidence"] == pytest.approx(0.8383, abs=5e-5)

    def test_more_noise_hides(self, run: Run) -> None:
        ran = run("attack --answers 501:420 --gaussian 500")
        assert ran.code == 0
        assert "hide the share" in ran.out
        assert "comes out as 0 or less" in ran.out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--answers 501:420", "in one way"),
            ("--answers 501:420 --laplace 1 --epsilon 1", "in one way"),
            ("--answers 501 --laplace 1", "cannot read --answers"),
            ("--answers 420:501 --laplace 1", "write the larger count first"),
            ("--answers 0:0 --laplace 1", "at least one person"),
            ("--answers 501:420 --laplace -1", "positive number"),
            ("--answers 501:420 --laplace 1 --delta 0.1", "go with --epsilon"),
            ("people.csv --answers 501:420 --laplace 1", "takes no file"),
            ("--sensitive ill --epsilon 1", "name the file with the people"),
        ],
    )
    def test_bad_input(self, run: Run, arguments: str, message: str) -> None:
        ran = run("attack", arguments)
        assert ran.code == 2
        assert message in ran.err


class TestGroups:
    def test_the_groups_that_leak(self, run: Run) -> None:
        ran = run("attack people.csv --public sex,age --sensitive ill --epsilon 0.1 --out run --json")
        assert ran.code == 1
        (leak,) = ran.json["leaks"]  # type: ignore[misc]
        assert (leak["sex"], leak["age"], leak["ill"], leak["size"], leak["matching"]) == (
            "f",
            "old",
            "yes",
            501,
            420,
        )
        assert ran.json["leaking_groups"] == 1
        table = pq.read_table("run/groups.parquet").to_pylist()
        assert [row["size"] for row in table] == [501, 300, 10]
        assert json.loads(Path("run/run.json").read_text())["kind"] == "ratio attack"

    def test_names_of_columns_do_not_hide_figures(self, run: Run) -> None:
        """People may have columns called as the figures are."""
        rows = ["high,big,yes"] * 420 + ["high,big,no"] * 81 + ["low,small,no"] * 30
        Path("people.csv").write_text("confidence,size,leaks\n" + "\n".join(rows) + "\n", "utf-8")
        ran = run("attack people.csv --sensitive leaks --epsilon 0.1 --out run --json")
        assert ran.code == 1
        table = pq.read_table("run/groups.parquet").to_pylist()
        assert [row["confidence"] for row in table] == ["high", "low"]
        assert [row["size (found)"] for row in table] == [501, 30]
        assert [row["leaks"] for row in table] == ["yes", "no"]
        assert [row["leaks (found)"] for row in table] == [True, False]
        first = ran.json["worst"][0]
        assert (first["public"], first["value"]) == ({"confidence": "high", "size": "big"}, "yes")
        said = run("attack people.csv --sensitive leaks --epsilon 0.1")
        assert "high, big     leaks yes" in said.out

    def test_dates_among_the_public_values(self, run: Run) -> None:
        Path("people.csv").write_text("born,ill\n" + "2001-02-03,yes\n" * 500, "utf-8")
        ran = run("attack people.csv --sensitive ill --epsilon 1 --out run --json")
        assert ran.code == 1
        assert ran.json["leaks"][0]["born"] == "2001-02-03"

    @pytest.mark.parametrize("noise", ["--gaussian 3", "--epsilon 1 --delta 1e-5", "--laplace 2"])
    def test_shares_by_noise_hold_the_noise_attacked(self, run: Run, noise: str) -> None:
        found = run("attack people.csv --sensitive ill --json", noise).json
        (here,) = [row for row in found["by_noise"] if row["noise"] == found["noise"]]
        assert here["groups"] == pytest.approx(found["leaking_groups"] / found["groups"])
        assert here["people"] == pytest.approx(found["leaking_records"] / found["records"])

    def test_pages(self, run: Run) -> None:
        usual = "attack people.csv --sensitive ill --epsilon 0.1 --out"
        assert run(usual, "run").code == 1
        assert Path("run/report.html").exists()
        assert run(usual, "run").code == 2
        assert run(usual, "run --overwrite --no-report").code == 1
        assert not Path("run/report.html").exists()

    def test_said_in_words(self, run: Run) -> None:
        ran = run("attack people.csv --sensitive ill --epsilon 0.1")
        assert ran.out.startswith("1 of 3 groups of people with the same public values would leak:")
        assert "f, old" in ran.out
        assert "ill yes" in ran.out

    def test_none(self, run: Run) -> None:
        ran = run("attack people.csv --sensitive ill --epsilon 0.05")
        assert ran.code == 0
        assert ran.out.startswith("0 of 3 groups")

    def test_labels_cannot_steer_the_terminal(self, run: Run) -> None:
        Path("people.csv").write_text("sex,ill\n" + "\x1b[31mf,yes\n" * 500, "utf-8")
        ran = run("attack people.csv --sensitive ill --epsilon 1")
        assert ran.code == 1
        assert "\x1b" not in ran.out
        assert "\\u001b[31mf" in ran.out

    def test_bad_column(self, run: Run) -> None:
        ran = run("attack people.csv --sensitive il --epsilon 1")
        assert ran.code == 2
        assert "il" in ran.err

    @pytest.mark.skipif(DATA is None, reason="SHOWTHROUGH_DATA names no folder with adult.parquet")
    def test_adult(self, run: Run) -> None:
        ran = run(
            "attack",
            str(Path(DATA or "") / "adult.parquet"),
            "--public",
            "education,occupation,race,sex",
            "--sensitive",
            "income",
            "--epsilon",
            "0.1",
            "--json",
        )
        assert ran.code == 1
        first = ran.json["leaks"][0]  # type: ignore[index]
        assert first["education"] == "Prof-school"
        assert first["income"] == ">50K"


class TestPerturb:
    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
    def test_other_columns_stay(self, run: Run, ending: str) -> None:
        out = f"out.{ending}"
        ran = run("perturb true.csv --column income --noise uniform:125 --seed 1 --out", out)
        assert ran.code == 0
        before, after = read_table("true.csv"), read_table(out)
        assert after.column_names == before.column_names
        for name in ("id", "debt", "note"):
            assert after[name].to_pylist() == before[name].to_pylist()
        off = read_numbers(out, ["income"]).matrix - read_numbers("true.csv", ["income"]).matrix
        assert 100 < np.abs(off).max() <= 125
        assert abs(off.mean()) < 4 * 125 / np.sqrt(3 * 800)

    def test_the_seed_decides_and_is_not_told(self, run: Run) -> None:
        seed = str(2**70 + 12345)
        usual = "perturb true.csv --column income --noise gaussian:sd=3"
        ran = run(usual, "--seed", seed, "--out", "a.parquet", "--json")
        run(usual, "--seed", seed, "--out", "b.parquet")
        run(usual, "--out", "c.parquet")
        a, b, c = (Path(f"{name}.parquet").read_bytes() for name in "abc")
        assert a == b != c
        assert seed not in ran.out + ran.err
        assert seed.encode() not in a
        assert pq.read_schema("a.parquet").metadata is None

    def test_a_small_seed_is_warned_about(self, run: Run) -> None:
        ran = run("perturb true.csv --column income --noise laplace:3 --seed 7 --out o.csv")
        assert "can be found by trying" in ran.err

    def test_correlated_noise(self, run: Run) -> None:
        run(
            "perturb true.csv --column income --column debt --correlated 0.5 --seed 1",
            "--covariance-out cov.csv --out o.csv",
        )
        names = ["income", "debt"]
        true, noisy = (read_numbers(file, names).matrix for file in ("true.csv", "o.csv"))
        given = read_numbers("cov.csv", names).matrix
        assert given == pytest.approx(np.cov(true, rowvar=False) / 2)
        assert np.cov(noisy - true, rowvar=False) == pytest.approx(given, rel=0.3)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--column income --noise uniform:1 --out true.csv", "the file already exists"),
            ("--column income --noise uniform:1 --out true.csv --overwrite", "the true values"),
            ("--column income --noise uniform:1 --out o.txt", "unsupported file extension"),
            ("--column income --out o.csv", "--noise or --covariance"),
            ("--column income --correlated 1 --out o.csv", "needs several columns"),
            ("--column income --column debt --correlated -1 --out o.csv", "positive number"),
            ("--column income --correlated 1 --noise uniform:1 --out o.csv", "in one way"),
            (
                "--column income --noise uniform:1 --covariance-out c.csv --out o.csv",
                "goes with --correlated",
            ),
            ("--column income --noise uniform:1 --seed -4 --out o.csv", "whole number from 0"),
        ],
    )
    def test_bad_input(self, run: Run, arguments: str, message: str) -> None:
        before = Path("true.csv").read_bytes()
        ran = run("perturb", "true.csv", arguments)
        assert ran.code == 2
        assert message in ran.err
        assert Path("true.csv").read_bytes() == before
        assert not any(Path(name).exists() for name in ("o.csv", "o.txt", "c.csv"))


class TestAdvise:
    def test_enough_noise(self, run: Run) -> None:
        ran = run(
            "advise true.csv --column debt --share 0.05 --privacy 50 --draws 1 --family laplace",
            "--confirmations 4",
        )
        assert ran.code == 0
        assert ran.out.startswith("Noise laplace:")
        assert "standard error of a mean" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80

    def test_json(self, run: Run) -> None:
        ran = run(
            "advise few.csv --column debt --column income --share 0.2 --absolute 5",
            "--draws 1 --confirmations 4 --family correlated --json",
        )
        found = ran.json
        assert found["trial"]["disclosed"] <= 0.2 < found["smaller"]["disclosed"]  # type: ignore[index]
        assert np.shape(found["noise"]["covariance"]) == (2, 2)  # type: ignore[index]
        assert found["trial"]["column"] in ("debt", "income")  # type: ignore[index]
        assert found["utility"]["distortion"] is not None  # type: ignore[index]

    def test_a_folder(self, run: Run) -> None:
        usual = "advise few.csv --column debt --share 0.05 --privacy 50 --draws 1 --confirmations 4"
        ran = run(usual, "--out advice --json")
        assert ran.code == 0
        assert sorted(path.name for path in Path("advice").iterdir()) == [
            "report.html",
            "run.json",
            "scales.parquet",
            "summary.json",
        ]
        summary = json.loads(Path("advice/summary.json").read_text("utf-8"))
        told = {"folder": "advice", "report": "advice/report.html", "exit_code": 0}
        assert ran.json == {**summary, **told}
        alone = run(usual, "--json").json
        assert {name: alone[name] for name in alone if name not in told} == {
            name: summary[name] for name in summary if name != "curve"
        }
        rows = pq.read_table("advice/scales.parquet").to_pylist()
        assert [row["share"] for row in rows] == [
            one["disclosed"] for one in [*summary["trials"], *summary["curve"]]
        ]
        manifest = json.loads(Path("advice/run.json").read_text("utf-8"))
        assert manifest["inputs"] == {"few.csv": file_digest("few.csv")}
        for name, digest in manifest["outputs"].items():
            assert file_digest(Path("advice", name)) == digest
        again = run(usual, "--out again --quiet")
        assert (again.code, again.out, again.err) == (0, "", "")
        assert Path("again/scales.parquet").read_bytes() == Path("advice/scales.parquet").read_bytes()

    def test_where_the_folder_may_be(self, run: Run) -> None:
        usual = (
            "advise few.csv --column debt --share 0.05 --privacy 50 --draws 1 --confirmations 4 --no-report"
        )
        usual = f"{usual} --out"
        assert run(usual, "advice").code == 0
        assert not Path("advice/report.html").exists()
        refused = run(usual, "advice")
        assert refused.code == 2
        assert "already holds a finished run" in refused.err
        assert refused.out == ""
        assert run(usual, "advice --overwrite").code == 0
        taken = run(usual, "true.csv")
        assert taken.code == 2
        assert "a file, not a folder" in taken.err
        assert run(ATTACK, "--out advice --overwrite").code == 2
        said = run(usual.replace("--no-report ", ""), "advice --overwrite --verbose")
        assert "Written to advice/:" in said.out
        assert "scales.parquet" in said.out
        assert "following the curve …" in said.err

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("--share 0.05 --privacy 50 --seed -1", "whole number from 0"),
            ("--privacy 50", "share"),
            ("--share 0.05", "--privacy or --absolute"),
            ("--share 0.05 --privacy 50 --absolute 3", "--privacy or --absolute"),
            ("--share 2 --privacy 50", "a share is at least 0"),
            ("--share 0.05 --privacy -50", "positive number"),
            ("--share 0.05 --privacy 50 --family correlated", "several columns"),
            ("--share 0.05 --privacy 50 --draws 0", "draws"),
        ],
    )
    def test_bad_input(self, run: Run, arguments: str, message: str) -> None:
        ran = run("advise", "true.csv", "--column", "income", arguments)
        assert ran.code == 2
        assert message in ran.err

    def test_constant_columns(self, run: Run) -> None:
        Path("x.csv").write_text("a,b\n1,5\n2,5\n3,5\n", "utf-8")
        ran = run("advise x.csv --column a --column b --share 0.1 --privacy 50")
        assert ran.code == 2
        assert "x.csv, column b: all true values are equal" in ran.err


def test_the_command_does_not_end_in_comfort(run: Run) -> None:
    """Declared uniform:20 for uniform:40 ended with "0.0 %" and exit code 0."""
    rng = np.random.default_rng(6)
    truth = rng.gamma(9, 5, 20)
    for name, values in (("t.csv", truth), ("n.csv", truth + rng.uniform(-40, 40, 20))):
        Path(name).write_text("v\n" + "\n".join(f"{value:.6f}" for value in values) + "\n", "utf-8")
    ran = run(
        "attack", "n.csv", "--column", "v", "--noise", "uniform:20", "--truth", "t.csv", "--privacy", "5"
    )
    assert ran.code != 0
    assert "does not follow the law given" in ran.err
