"""The command export: certificates of the proofs of a run, complete or not at all."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from command import Run, runner
from needs import SLOW
from report.runs import HOSTILE, PEOPLE
from showthrough.cli import main
from showthrough.formats.vipr.vipr_file import check_certificate, read_certificate

VIPRCHK = shutil.which("viprchk")

PROOFS = Path("proofs", "proofs.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "people.csv").write_text(PEOPLE, "utf-8")
    tables = ["--tables", "age*sex", "--tables", "sex*job"]
    out = str(folder / "run")
    assert main(["audit", str(folder / "people.csv"), *tables, "--by", "town", "--out", out, "--quiet"]) == 1
    return folder / "run"


@pytest.fixture
def run(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    shutil.copytree(made, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return runner(capsys, words=True)


def rows_of(name: str) -> list[dict[str, str]]:
    with Path(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def contents(folder: str) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()
    }


def test_every_finding_has_certificates(run: Run) -> None:
    ran = run("export run/ --vipr out --workers 1")
    assert ran.code == 0
    assert "certificates for" in ran.text
    index = {(row["area"], row["proves"], row["records"]) for row in rows_of("out/index.csv")}
    for finding in st.AuditRun(Path("run")).table("findings").to_pylist():
        if finding["kind"] == "group of unknown size":
            continue
        knows, learns = (st.Selection.from_json(finding[name]) for name in ("knows", "learns"))
        for selection in (knows, knows & learns) if knows.terms else (learns,):
            for proves in (f"at least {finding['multiplicity']}", f"at most {finding['multiplicity']}"):
                assert (finding["area"], proves, str(selection)) in index


def test_every_file_holds_and_every_row_is_described(run: Run) -> None:
    told = run("export run/ --vipr out --all --json").json
    index = rows_of("out/index.csv")
    files = sorted(Path("out").rglob("*.vipr"))
    assert {row["file"] for row in index} == {str(path.relative_to("out")) for path in files}
    assert (told["files"], told["claims"], told["areas"]) == (len(files), len(index), 2)
    assert told["size"] == sum(path.stat().st_size for path in files)
    assert told["largest"] == max(path.stat().st_size for path in files)
    described = {(row["area"], row["row"]): row for row in rows_of("out/rows.csv")}
    area_of = {row["file"]: row["area"] for row in index}
    counts = {row["area"]: row for row in st.AuditRun(Path("run")).table("counts").to_pylist()}
    for path in files:
        certificate = read_certificate(path.read_text("ascii"))
        check_certificate(certificate)
        area = area_of[str(path.relative_to("out"))]
        for row in certificate.rows[certificate.n_bounds :]:
            if row.name != "claim_denied":
                assert described[area, row.name.partition("@")[0]]["published"] == str(row.value)
    layout = st.AuditRun(Path("run")).layout
    for (area, _), row in described.items():
        at = layout.names.index((row["table"], row["cell"]))
        assert row["published"] == str(counts[area]["low"][at])
        assert st.Selection.parse(row["records"]) == layout.selections[at]


@pytest.mark.skipif(VIPRCHK is None, reason="viprchk, a checker that others wrote, is not on PATH")
def test_another_program_accepts_all(run: Run) -> None:
    assert run("export run/ --vipr out --all").code == 0
    for path in sorted(Path("out").rglob("*.vipr")):
        assert VIPRCHK is not None
        assert subprocess.run([VIPRCHK, path], capture_output=True, check=False).returncode == 0, path


def test_all_claims_are_proved_on_request(run: Run) -> None:
    run("export run/ --vipr out --all")
    index = {(row["area"], row["records"]) for row in rows_of("out/index.csv")}
    claims = st.AuditRun(Path("run")).table("claims").to_pylist()
    for claim in claims:
        if claim["verdict"] == "verified":
            assert (claim["area"], str(st.Selection.from_json(claim["selection"]))) in index


def test_the_same_for_any_number_of_workers(run: Run) -> None:
    run("export run/ --vipr out --all --workers 1")
    first = contents("out")
    run("export run/ --vipr other --all --workers 2")
    assert contents("other") == first
    assert set(first) == {"index.csv", "rows.csv", "run.json"} | {n for n in first if n.endswith(".vipr")}


def test_one_area(run: Run) -> None:
    assert run("export run/ --vipr out --area Aldea").code == 0
    assert {row["area"] for row in rows_of("out/index.csv")} == {"Aldea"}
    assert {row["area"] for row in rows_of("out/rows.csv")} == {"Aldea"}
    ran = run("export run/ --vipr other --area Alda")
    assert ran.code == 2
    assert "no such area" in ran.err
    assert "Aldea" in ran.err
    assert not Path("other").exists()


def test_what_is_there_is_replaced_only_on_request(run: Run) -> None:
    run("export run/ --vipr out")
    before = contents("out")
    assert run("export run/ --vipr out --all").code == 2
    assert contents("out") == before
    assert run("export run/ --vipr out --all --overwrite").code == 0
    assert len(contents("out")) > len(before)
    assert run("export run/ --vipr run --overwrite").code == 2
    assert run("verify run").code == 0


def change_proofs(change: Callable[[str], str]) -> None:
    proofs = pq.read_table(Path("run") / PROOFS)
    at = proofs.column_names.index("proof")
    changed = pa.array([change(str(text)) for text in proofs["proof"].to_pylist()])
    pq.write_table(proofs.set_column(at, "proof", changed), Path("run") / PROOFS)


#: What is done to the text of every proof.
CHANGES: dict[str, Callable[[str], str]] = {
    "too many": lambda text: text.replace('"multiplicity":1', '"multiplicity":2'),
    "too few": lambda text: text.replace('"multiplicity":1', '"multiplicity":0'),
    "divided by 0": lambda text: text.replace('"denominator":1', '"denominator":0'),
    "no such cell": lambda text: text.replace('"cells":[[', '"cells":[[99999,1],['),
    "cut off": lambda text: text[:-1],
    "deep": lambda text: text[:0] + "[" * 100_000,
    "no such attribute": lambda text: text.replace('"over":[', '"over":["nothing",'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_proof_that_does_not_hold_is_named_and_nothing_is_written(run: Run, name: str) -> None:
    change_proofs(CHANGES[name])
    before = sorted(Path.cwd().iterdir())
    # Processes are told of an error of ours, and of one of Python's, in the same way.
    for workers in ("1", "2") if SLOW or name in ("too many", "deep") else ("1",):
        ran = run(f"export run --vipr out --all --workers {workers}")
        assert ran.code == 2
        assert "proofs.parquet: area Aldea: a proof cannot be exported" in ran.err
        assert len(ran.err.splitlines()) == 1
        assert sorted(Path.cwd().iterdir()) == before


def test_a_folder_that_is_not_a_run(run: Run) -> None:
    Path("empty").mkdir()
    for name in ("empty", "nowhere", "run/claims.parquet"):
        ran = run(f"export {name} --vipr out")
        assert ran.code == 2
        assert len(ran.err.splitlines()) == 1
    run("export run/ --vipr out")
    ran = run("export out --vipr other")
    assert ran.code == 2
    assert "not the folder of an audit" in ran.err


def test_a_damaged_file_of_proofs(run: Run) -> None:
    (Path("run") / PROOFS).write_bytes(b"PAR1 but not really")
    ran = run("export run --vipr out")
    assert ran.code == 2
    assert not Path("out").exists()


def test_nothing_to_export(run: Run) -> None:
    Path("one.csv").write_text("sex\nf\nm\n", "utf-8")
    assert run("audit one.csv --tables sex --out dull --no-report --quiet").code == 0
    ran = run("export dull --vipr out")
    assert ran.code == 0
    assert "nothing to export" in ran.text
    assert rows_of("out/index.csv") == []


def test_hostile_names_stay_in_their_places(tmp_path: Path) -> None:
    odd, values = f"a{HOSTILE}", ("% x", "\n} -1\nVER 9", HOSTILE)
    schema = st.Schema.of({odd: values, "b": ["=1+1", '","', "\x00"]})
    rows = [{odd: one, "b": other} for one, other in zip(values, schema["b"].values, strict=True)]
    tables = [
        st.make_table(schema, "b"),
        st.make_table(schema, "", name=HOSTILE),
        st.make_table(schema, "", name="both", where={odd: HOSTILE, "b": "\x00"}),
        st.make_table(schema, "", name="one", where={odd: HOSTILE}),
    ]
    layout = st.Layout(schema, tuple(tables))
    area = f"{HOSTILE}\r\n% area"
    release = layout.tabulate(st.Records.of(rows, schema), area=area)
    st.run_audit([st.Area(release)], layout, tmp_path / "run")
    done = st.export_vipr(tmp_path / "run", tmp_path / "out", everything=True)
    assert done.files
    for path in (tmp_path / "out").rglob("*.vipr"):
        text = path.read_bytes().decode("ascii")
        assert all(line.isprintable() for line in text.split("\n"))
        assert [line.startswith("% ") for line in text.split("\n")[:3]] == [True, True, False]
        check_certificate(read_certificate(text))
    with (tmp_path / "out" / "index.csv").open(encoding="utf-8", newline="") as stream:
        assert {len(row) for row in csv.reader(stream)} == {4}


def test_arguments_of_the_library(made: Path, tmp_path: Path) -> None:
    for wrong in ({"areas": [1]}, {"workers": 0}, {"progress": 3}):
        with pytest.raises(st.InputError):
            st.export_vipr(made, tmp_path / "out", **wrong)  # type: ignore[arg-type]
    with pytest.raises(st.InputError):
        st.export_vipr(3, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(st.InputError):
        st.export_vipr(made, 3)  # type: ignore[arg-type]
    calls: list[int] = []
    done = st.export_vipr(st.AuditRun(made), str(tmp_path / "out"), progress=calls.append)
    assert sum(calls) == done.areas == 2
