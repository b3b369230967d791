"""``showthrough protect``, and what it writes."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import showthrough as st
from brute_force import all_worlds, verified_claims
from showthrough.census.simulator import simulate_households, write_households
from showthrough.cli.main import main
from showthrough.frames import read_table

PEOPLE = """town,sex,age,ill
a,f,young,no
a,f,young,no
a,f,old,yes
a,m,young,no
a,m,old,no
a,m,old,no
a,m,old,yes
a,m,young,yes
b,f,young,no
b,f,young,yes
b,f,old,yes
b,m,young,no
b,m,old,no
b,m,old,yes
"""

TABLES = ["--tables", "sex*age", "--tables", "sex*ill", "--tables", "age*ill"]


@pytest.fixture
def people(tmp_path: Path) -> str:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    return str(file)


def protect(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict]:
    code = main(["protect", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


FORBID = ["--by", "town", "--forbid", "singletons,k>=2"]


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process writes."""
    folder = tmp_path_factory.mktemp("protected")
    (folder / "people.csv").write_text(PEOPLE)
    told = io.StringIO()
    with redirect_stdout(told):
        options = [*TABLES, *FORBID, "--compare", "--out", str(folder / "safe"), "--json"]
        assert main(["protect", str(folder / "people.csv"), *options]) == 0
    (folder / "said.json").write_text(told.getvalue())
    return folder / "safe"


def test_safe_files_alone_give_the_same_answer(safe: Path, tmp_path: Path) -> None:
    run, said = tmp_path / "run", json.loads((safe.parent / "said.json").read_text())
    assert said["status"] == "safe"
    assert [plan["areas"] for plan in said["plans"]] == [["a"], ["b"]]
    assert all(plan["optimal"] for plan in said["plans"])
    assert {row["rule"] for row in said["classical"]} > {"as planned", "round to 3", "round to 5"}
    names = {"release.toml", "counts.csv", "moves.json", "comparison.parquet", "worlds.parquet", "run.json"}
    names |= {"report.html", "before-and-after.json", "intervals.parquet"}
    assert {file.name for file in safe.iterdir()} == names

    releases = st.read_release(safe / "release.toml")
    for release in releases:
        claims = verified_claims(all_worlds(release), release.schema)
        assert not [s for s, m in claims if m == 1 and len(s) >= 2]

    files = ["--release", str(safe / "release.toml"), str(safe / "counts.csv")]
    assert main(["audit", *files, "--no-report", "--out", str(run)]) in (0, 1)
    audited = read_table(run / "claims.parquet").to_pylist()
    follow = {(row["area"], row["selection"]) for row in audited if row["verdict"] == "verified"}
    compared = pq.read_table(safe / "comparison.parquet").to_pylist()
    assert {(row["area"], row["selection"]) for row in compared if row["after"] == "verified"} == follow
    check_worlds(safe, compared, {release.area: release for release in releases})


def test_the_page_marks_what_only_a_solver_reports(safe: Path) -> None:
    """That the plan is the cheapest is not proved, and so neither is that no change can be left out."""
    page = " ".join((safe / "report.html").read_text("utf-8").split())
    plans = json.loads((safe / "moves.json").read_text("utf-8"))["plans"]
    assert {plan["bound"] for plan in plans} == {"solver"}
    assert all(plan["optimal"] for plan in plans)
    needed = "Without any one of these changes, something forbidden would follow"
    assert f"{needed} (reported by a solver, not proved)." in page
    assert f"{needed}." not in page


def check_worlds(safe: Path, compared: list[dict], releases: dict[str, st.Release]) -> None:
    """Two datasets per hidden claim that agree with what is published and not with each other."""
    worlds = {row["world"]: row for row in pq.read_table(safe / "worlds.parquet").to_pylist()}
    hidden = [row for row in compared if row["forbidden"]]
    assert hidden
    for row in hidden:
        assert row["after"] == "refuted"
        selection = st.Selection.from_json(row["selection"])
        counts = set()
        for name in ("first_world", "second_world"):
            world = worlds[row[name]]
            assert world["area"] == row["area"]
            records = [record for record, times in json.loads(world["records"]) for _ in range(times)]
            release = releases[row["area"]]
            assert release.agrees_with(st.Records.of(records, release.schema))
            counts.add(sum(selection.matches(record) for record in records))
        assert len(counts) == 2


def test_any_number_of_processes_gives_the_same_files(safe: Path, tmp_path: Path) -> None:
    options = ["--compare", "--quiet", "--workers", "2", "--out", str(tmp_path / "two")]
    assert main(["protect", str(safe.parent / "people.csv"), *TABLES, *FORBID, *options]) == 0
    one, two = (
        {file.name: file.read_bytes() for file in made.iterdir()} for made in (safe, tmp_path / "two")
    )
    assert one == two


def test_an_error_in_a_process_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = ("sex,sex=f,3", "sex,sex=m,1", '"age","age=old",2', '"age","age=young",1')
    rows = [f"{area},{cell}" for area in ("a", "b") for cell in cells]
    (tmp_path / "counts.csv").write_text("\n".join(["town,table,cell,value", *rows]))
    attributes = '[attributes.sex]\nvalues = ["f", "m"]\n[attributes.age]\nvalues = ["old", "young"]\n'
    (tmp_path / "schema.toml").write_text(attributes)
    tables = '[[tables]]\nformula = "sex"\n[[tables]]\nformula = "age"\n'
    (tmp_path / "release.toml").write_text(f'schema = "schema.toml"\narea = "town"\n{tables}')
    files = ["--release", str(tmp_path / "release.toml"), str(tmp_path / "counts.csv")]
    more = ["--forbid", "singletons", "--workers", "2", "--out", str(tmp_path / "safe")]
    assert main(["protect", *files, *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: area a: the release contradicts itself")
    assert said.count("\n") == 1
    assert not (tmp_path / "safe").exists()


def test_areas_that_publish_a_table_in_different_forms(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    safe = tmp_path / "safe"
    code, said = protect(
        people,
        "--tables", "sex*age",
        "--by", "town",
        "--forbid", "singletons",
        "--moves", "merge,drop",
        "--out", str(safe),
        capsys=capsys,
    )  # fmt: skip
    assert code == 0
    for release in st.read_release(safe / "release.toml"):
        assert not [m for _, m in verified_claims(all_worlds(release), release.schema) if m == 1]
    moves = [move for plan in said["plans"] for move in plan["moves"]]
    assert {move["move"] for move in moves} <= {"merge", "drop"}


def test_the_same_moves_everywhere(people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--by", "town", "--forbid", "singletons,k>=2", "--out", str(tmp_path / "safe")]
    code, said = protect(people, *TABLES, *options, "--same", capsys=capsys)
    assert code == 0
    (plan,) = said["plans"]
    assert plan["areas"] == ["a", "b"]
    hidden = {(move["table"], move["cell"]) for move in plan["moves"]}
    for release in st.read_release(tmp_path / "safe" / "release.toml"):
        unknown = {(c.table, c.name) for c in release.cells if c.value() == "unknown"}
        assert unknown == hidden


def test_impossible_policies_say_what_remains_and_write_nothing(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('forbid = ["singletons,k>=2"]\n[change]\nkeep = ["sex*age", "sex*ill", "age*ill"]\n')
    safe = tmp_path / "safe"
    options = ["--by", "town", "--policy", str(policy), "--out", str(safe)]
    code, said = protect(people, *TABLES, *options, capsys=capsys)
    assert code == 1
    assert said["status"] == "impossible"
    assert all(plan["remains"] for plan in said["plans"])
    assert not safe.exists()
    assert main(["protect", people, *TABLES, *options]) == 1
    assert "Impossible" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no forbidden claims given"),
        (["--forbid", "everything"], "unknown condition for forbidden claims"),
        (["--forbid", "singletons", "--moves", "shuffle"], "unknown move"),
        (["--forbid", "sensitive=wealth"], "unknown attribute"),
        (["--forbid", "singletons", "--by", "town", "--area", "c"], "unknown area"),
    ],
)
def test_bad_input(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    assert main(["protect", people, *TABLES, *arguments, "--out", str(tmp_path / "safe")]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "safe").exists()


def test_a_folder_in_use_is_left_alone(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    safe = tmp_path / "safe"
    safe.mkdir()
    (safe / "mine.txt").write_text("mine")
    assert main(["protect", people, *TABLES, "--forbid", "singletons", "--out", str(safe)]) == 2
    assert "the output folder is not empty" in capsys.readouterr().err
    assert [file.name for file in safe.iterdir()] == ["mine.txt"]


def test_published_counts_can_be_protected(
    safe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = tmp_path / "second"
    files = ["--release", str(safe / "release.toml"), str(safe / "counts.csv")]
    code, said = protect(*files, "--forbid", "singletons,k>=2", "--out", str(second), capsys=capsys)
    assert code == 0
    assert [plan["moves"] for plan in said["plans"]] == [[], []]  # it is safe already
    assert (safe / "counts.csv").read_text() == (second / "counts.csv").read_text()


def test_census_blocks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    homes, safe = tmp_path / "homes.parquet", tmp_path / "safe"
    write_households(homes, 12, seed=1)
    sizes = simulate_households(12, seed=1)["block"].value_counts().to_pylist()
    block = min(sizes, key=lambda row: row["counts"])["values"]
    options = ["--forbid", "singletons,k>=9", "--moves", "drop", "--area", block, "--out", str(safe)]
    code = main(["census", "protect", str(homes), *options, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (code, said["status"]) == (0, "safe")
    assert all(row["forbidden_after"] == 0 for plan in said["plans"] for row in plan["claims"])
    release = st.read_release(safe / "release.toml")[block]
    claims = st.audit(release, min_columns=9, multiplicity=1)
    assert claims.n_of("verified") == claims.n_of("undecided") == 0


@pytest.mark.parametrize("base", [2, 3, 5])
def test_rounded_tables_are_published_as_rounded_numbers(people: str, tmp_path: Path, base: int) -> None:
    safe = tmp_path / "safe"
    options = ["--by", "town", "--forbid", "multiplicity<=2,k>=2", "--moves", f"round:{base},drop"]
    assert main(["protect", people, *TABLES, *options, "--same", "--out", str(safe)]) == 0
    (plan,) = json.loads((safe / "moves.json").read_text())["plans"]
    rounded = {move["table"] for move in plan["moves"] if move["move"] == "round"}
    rows = read_table(safe / "counts.csv").to_pylist()
    shown = {row["value"] for row in rows if row["table"] in rounded}
    assert all(int(value) % base == 0 for value in shown)
    assert ("rounding = " in (safe / "release.toml").read_text()) == bool(rounded)
    truth = st.read_records(Path(people), by="town")
    for release in st.read_release(safe / "release.toml"):
        (mine,) = (part for name, part in truth.by_area() if name == release.area)
        assert release.agrees_with(mine)
        claims = verified_claims(all_worlds(release), release.schema)
        assert not [s for s, m in claims if m <= 2 and len(s) >= 2]
