"""The commands ``prior`` and ``likely``: folder, sentences, page, exit codes and errors."""

from __future__ import annotations

import html
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from command import Ran, Run, runner
from showthrough.tables.likely.run import LikelySummary, SamplingLimits, exit_code, write_likely

HOSTILE = "<script>alert(1)</script>\x1b[31m"

TABLES = ("--tables", "a", "--tables", "b", "--tables", "c")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def people(n: int, seed: int) -> pa.Table:
    """Towns of six people each, in whom b nearly follows a, and c follows b."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = rng.random(n) < np.array([0.02, 0.5, 0.98])[a]
    c = np.where(rng.random(n) < 0.97, b, ~b)
    return pa.table(
        {
            "town": [f"town {at // 6:03}" for at in range(n)],
            "a": pa.array(["0", "1", HOSTILE]).take(pa.array(a)),
            "b": [str(int(one)) for one in b],
            "c": [str(int(one)) for one in c],
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("likely")
    for name, n, seed in (("here", 30, 1), ("there", 1500, 2), ("known", 540, 3)):
        pq.write_table(people(n, seed), folder / f"{name}.parquet")
    schema = st.Schema.of({"a": ["0", "1", HOSTILE], "b": ["0", "1"], "c": ["0", "1"]}, record="person")
    st.write_schema(schema, folder / "schema.toml")
    there = st.read_records(folder / "there.parquet", schema, by="town")
    st.write_prior(st.fit_prior(there, name=f"there {HOSTILE}", seed=1), folder / "prior.json")
    return folder


@pytest.fixture(scope="module")
def calibrated(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LikelySummary]:
    """The folder that a calibrated prior leads to, with its page."""
    from showthrough.folders import Description, result_folder
    from showthrough.report.page import write_page
    from showthrough.report.write import page_of

    out = tmp_path_factory.mktemp("out") / "likely"
    schema = st.read_schema(files / "schema.toml")
    known = st.read_records(files / "known.parquet", schema, by="town")
    here = st.read_records(files / "here.parquet", schema, by="town")
    layout = st.tabulate(here, ["a", "b", "c"]).layout
    areas = [(layout.tabulate(one, area=name), one) for name, one in known.by_area()]
    prior = st.calibrate(st.read_prior(files / "prior.json"), areas, where=HOSTILE, seed=1)
    releases = [layout.tabulate(one, area=f"{name} {HOSTILE}") for name, one in here.by_area()]

    def make(folder: Path) -> None:
        write_page(page_of(folder), folder / "report.html")

    with result_folder(out, Description("likely", {"seed": 0}, {}), page=make) as draft:
        summary = write_likely(draft.path, releases, prior, limits=SamplingLimits())
        st.write_prior(prior, draft.path / "prior.json")
    return out, summary


def likely(run: Run, files: Path, out: Path, *more: str) -> Ran:
    data = str(files / "here.parquet"), *TABLES, "--schema", str(files / "schema.toml"), "--by", "town"
    return run("likely", *data, "--prior", str(files / "prior.json"), "--out", str(out), *more)


def test_without_calibration_nothing_high_is_said(run: Run, files: Path, tmp_path: Path) -> None:
    ran = likely(run, files, tmp_path / "out", "--no-report", "--workers", "1")
    assert ran.code == 0
    assert "not calibrated here" in ran.text
    assert "Likely is not proved" in ran.text
    table = pq.read_table(tmp_path / "out" / "likely.parquet")
    assert table.column_names == [
        "area", "kind", "given", "selection", "multiplicity", "q", "low", "high", "ess", "rhat", "baseline",
        "sentence",
    ]  # fmt: skip
    assert table.num_rows
    assert max(table["q"].to_pylist()) < 0.9
    assert set(table["kind"].to_pylist()) == {"claim", "finding"}
    for row in table.to_pylist():
        given, selection = json.loads(row["given"]), json.loads(row["selection"])
        assert list(selection) == sorted(selection)
        assert bool(given) == (row["kind"] == "finding")
        assert "there <script>" in row["sentence"]  # no probability without its prior
        assert row["sentence"].startswith("Likely, not proved: ")
        assert 0 <= row["low"] <= row["q"] <= row["high"] <= 1


def test_the_same_call_gives_the_same_files(run: Run, files: Path, tmp_path: Path) -> None:
    for name, workers in (("one", "1"), ("two", "2")):
        assert likely(run, files, tmp_path / name, "--no-report", "--workers", workers).code == 0
    for name in ("likely.parquet", "areas.parquet", "summary.json", "prior.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_json_and_one_area(run: Run, files: Path, tmp_path: Path) -> None:
    ran = likely(run, files, tmp_path / "out", "--no-report", "--json", "--area", "town 002")
    assert ran.json["areas"] == 1
    assert ran.json["exit_code"] == ran.code == 0
    assert ran.json["prior"].startswith("there")
    assert not ran.json["calibrated"]
    areas = pq.read_table(tmp_path / "out" / "areas.parquet")["area"].to_pylist()
    assert areas == ["town 002"]


def test_a_calibrated_prior_says_high_probabilities(calibrated: tuple[Path, LikelySummary]) -> None:
    folder, summary = calibrated
    assert summary.earned
    assert summary.telling
    assert exit_code(summary) == 1
    assert 0 < summary.people <= summary.records
    assert sum(one.likely for one in summary.by_columns) == summary.telling
    assert sum(one.certain for one in summary.by_columns) == summary.certain
    assert LikelySummary.from_plain(json.loads((folder / "summary.json").read_text())) == summary
    prior = st.read_prior(folder / "prior.json")
    assert prior.calibration is not None
    assert prior.calibration.n_areas == 90
    told = pq.read_table(folder / "likely.parquet").to_pylist()
    assert summary.telling == sum(row["q"] >= 0.9 and row["baseline"] <= 0.5 for row in told)


def test_the_page_tells_likely_from_proved_and_escapes_labels(calibrated: tuple[Path, LikelySummary]) -> None:
    folder, summary = calibrated
    page = (folder / "report.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    text = " ".join(html.unescape(page).split())
    assert "What is likely, not proved" in text
    assert "Likely is not proved." in text
    assert "showthrough protect removes what can be proved" in text
    assert "How often this comes true" in text
    assert "Beside what is certain" in text
    assert 'class="likely"' in page
    assert f"{summary.telling:,}" in text
    assert "under the prior “there &lt;script&gt;" in " ".join(page.split())  # no probability without it
    assert text.count(", with probability") == 0, "it stands in a column of its own"
    body = text.partition('id="main"')[2]
    for word in ("verified", "safe", "proved that"):
        assert word not in body.partition("Where this comes from")[0]


def test_calibrating_keeps_the_figures_with_the_prior(run: Run, files: Path, tmp_path: Path) -> None:
    pq.write_table(people(150, 9), tmp_path / "few.parquet")
    ran = likely(
        run,
        files,
        tmp_path / "out",
        "--no-report",
        "--workers",
        "1",
        "--calibrate",
        str(tmp_path / "few.parquet"),
    )
    assert ran.code in (0, 1)
    assert "calibrated on 25 areas" in ran.text
    found = st.read_prior(tmp_path / "out" / "prior.json").calibration
    assert found is not None
    assert (found.n_areas, found.where) == (25, "few.parquet")
    assert st.read_prior(files / "prior.json").calibration is None  # what was given stays as it is


def test_report_makes_the_same_page(calibrated: tuple[Path, LikelySummary], run: Run, tmp_path: Path) -> None:
    folder, _ = calibrated
    assert run("report", str(folder), "--html", str(tmp_path / "page.html")).code == 0
    assert (tmp_path / "page.html").read_bytes() == (folder / "report.html").read_bytes()


def test_prior_fits_and_refuses_to_overwrite(run: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "prior.json"
    call = "prior", str(files / "there.parquet"), "--schema", str(files / "schema.toml"), "--out", str(out)
    assert run(*call, "--by", "town", "--model", "independent").code == 0
    assert st.read_prior(out).model == "independent"
    assert st.read_prior(out).name == "there.parquet"
    again = run(*call, "--by", "town")
    assert again.code == 2
    assert "overwrite" in again.err
    assert "town 0" not in out.read_text()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--calibrate", "known.parquet", "--calibrate-by", "nowhere"), "no such column"),
        (("--calibrate", "prior.json", "--calibrate-by", "town"), "prior.json"),
        (("--least", "0.3"), "Must be >= 0.5"),
        (("--area", "atlantis"), "unknown area"),
    ],
)
def test_wrong_calls(run: Run, files: Path, tmp_path: Path, more: tuple[str, str], message: str) -> None:
    known = [str(files / word) if (files / word).exists() else word for word in more]
    ran = likely(run, files, tmp_path / "out", "--no-report", *known)
    assert ran.code == 2
    assert message in ran.err
    assert not (tmp_path / "out").exists()


def test_calibrating_needs_areas(run: Run, files: Path, tmp_path: Path) -> None:
    schema, known = str(files / "schema.toml"), str(files / "known.parquet")
    data = str(files / "here.parquet"), *TABLES, "--schema", schema, "--out", str(tmp_path / "out")
    ran = run("likely", *data, "--prior", str(files / "prior.json"), "--calibrate", known)
    assert ran.code == 2
    assert "--calibrate-by" in ran.err
    ran = run("likely", *data, "--prior", schema)
    assert ran.code == 2
    assert "not valid JSON" in ran.err


def test_areas_of_unknown_size_are_counted(tmp_path: Path, files: Path) -> None:
    schema = st.read_schema(files / "schema.toml")
    release = st.Release.of(schema, {"a": [1, (0, 2), 1]}, area="north")
    summary = write_likely(tmp_path, [release], st.read_prior(files / "prior.json"), limits=SamplingLimits())
    assert (summary.problems, summary.areas, exit_code(summary)) == (1, 1, 3)
    assert "number of records" in pq.read_table(tmp_path / "areas.parquet")["problem"].to_pylist()[0]
    assert any("No statement could be made about 1 area" in text for text in summary.caveats())


@pytest.mark.parametrize("about", [(), ("--people",)])
def test_census_files_are_taken_as_they_are(run: Run, tmp_path: Path, about: tuple[str, ...]) -> None:
    for name, blocks, seed in (("there", "60", "1"), ("here", "1", "5")):
        out = str(tmp_path / f"{name}.parquet")
        assert run("simulate", "--blocks", blocks, "--seed", seed, *about, "--out", out).code == 0
    prior = "--prior", str(tmp_path / "prior.json")
    there, here = str(tmp_path / "there.parquet"), str(tmp_path / "here.parquet")
    assert run("census", "prior", there, *about, "--model", "independent", "--out", prior[1]).code == 0
    out = "--out", str(tmp_path / "out")
    ran = run(
        "census", "likely", here, *about, *prior, *out, "--no-report", "--effort", "0.1", "--workers", "1"
    )
    assert ran.code in (0, 3)
    assert "not calibrated here" in ran.text
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["areas"], summary["problems"]) == (1, 0)


def test_noisy_tables_from_files(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "release.toml").write_text(
        'schema = "schema.toml"\ncounts = "counts.csv"\n[noise]\nlaw = "discrete-gaussian:1"\n'
        + "".join(f'[[tables]]\nformula = "{name}"\n' for name in "abc")
        + '[[tables]]\nname = "total"\nformula = "total"\nnoise = false\n'
    )
    (tmp_path / "schema.toml").write_bytes((files / "schema.toml").read_bytes())
    rows = ["a,a=0,3", "a,a=1,-1", "b,b=0,5", "b,b=1,0", "c,c=0,2", "total,total,4"]
    (tmp_path / "counts.csv").write_text("table,cell,value\n" + "\n".join(rows) + "\n")
    call = "likely", str(tmp_path / "release.toml"), "--prior", str(files / "prior.json")
    ran = run(*call, "--out", str(tmp_path / "out"), "--no-report", "--effort", "0.2", "--workers", "1")
    assert ran.code in (0, 3), ran.err
    assert "discrete Gaussian noise of scale 1" in ran.text + ran.err
    (area,) = pq.read_table(tmp_path / "out" / "areas.parquet").to_pylist()
    assert (area["records"], area["problem"]) == (4, "")
    audited = str(tmp_path / "run")
    assert run("audit", call[1], "--out", audited, "--no-report").code in (0, 1, 3)
    assert run("verify", audited).code == 0
    quick = "--no-report", "--effort", "0.2", "--workers", "1"
    again = run("likely", audited, *call[2:], "--out", str(tmp_path / "again"), *quick)
    assert again.code in (0, 3), again.err
    both = [(tmp_path / name / "likely.parquet").read_bytes() for name in ("out", "again")]
    assert both[0] == both[1]
    (tmp_path / "release.toml").write_text(
        (tmp_path / "release.toml").read_text().replace("discrete-gaussian:1", "discrete-gausian:1")
    )
    ran = run(*call, "--out", str(tmp_path / "other"), "--no-report")
    assert ran.code == 2
    assert "unknown law of noise" in ran.err
    assert "release.toml" in ran.err


@pytest.fixture
def noisy_run(run: Run, files: Path, tmp_path: Path) -> Path:
    """A folder with the run of a noisy release, which lies in a folder of its own."""
    away = tmp_path / "away"
    away.mkdir()
    (away / "release.toml").write_text(
        'schema = "schema.toml"\ncounts = "counts.csv"\n[noise]\nlaw = "random-rounding:3"\n'
        '[[tables]]\nformula = "a"\n[[tables]]\nname = "total"\nformula = "total"\nnoise = false\n'
    )
    (away / "schema.toml").write_bytes((files / "schema.toml").read_bytes())
    (away / "counts.csv").write_text("table,cell,value\na,a=0,3\na,a=1,0\ntotal,total,3\n")
    audited = tmp_path / "run"
    ran = run("audit", str(away / "release.toml"), "--out", str(audited), "--no-report")
    assert ran.code in (0, 1, 3), ran.err
    return audited


def test_a_noisy_run_is_asked_with_its_release(
    run: Run, files: Path, noisy_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, away = noisy_run.parent, noisy_run.parent / "away"
    ask = "likely", str(noisy_run), "--prior", str(files / "prior.json"), "--no-report", "--effort", "0.1"
    lost = run(*ask, "--out", str(folder / "lost"))
    assert lost.code == 2
    assert "random-rounding:3" in lost.err
    assert "--release release.toml" in " ".join(lost.err.split())
    release = str(away / "release.toml")
    assert run(*ask, "--release", release, "--out", str(folder / "named")).code in (0, 1, 3)
    monkeypatch.chdir(away)
    assert run(*ask, "--out", str(folder / "found")).code in (0, 1, 3)
    other = away / "other.toml"
    other.write_text((away / "release.toml").read_text() + "\n")
    wrong = run(*ask, "--release", str(other), "--out", str(folder / "wrong"))
    assert wrong.code == 2
    assert "not the release file that was audited" in " ".join(wrong.err.split())
    (away / "counts.csv").write_text("table,cell,value\na,a=0,0\na,a=1,3\ntotal,total,3\n")
    changed = run(*ask, "--out", str(folder / "changed"))
    assert changed.code == 2
    assert "counts.csv" in changed.err
