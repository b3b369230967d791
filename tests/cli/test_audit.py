"""The command line, as a user meets it: what it prints, what it writes, how it exits."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import showthrough as st
from command import Run, runner
from showthrough.census.county import simulate_county
from showthrough.cli import main
from showthrough.engine import processes
from showthrough.formats.schema_file import schema_to_toml
from showthrough.tables.run.folder import BATCH
from showthrough.text import escape_control

PEOPLE = """town,sex,age,ill
Aldea,f,young,no
Aldea,f,old,yes
Aldea,m,old,no
Brook,f,young,no
Brook,m,young,no
Brook,m,old,yes
Brook,m,old,yes
"""

SCHEMA = """record = "person"
records = "people"

[attributes.sex]
values = ["f", "m"]
phrases = { f = "the person is a woman", m = "the person is a man" }

[attributes.ill]
values = ["no", "yes"]
phrases = { no = "the person is well", yes = "the person is ill" }
"""

RELEASE = """schema = "schema.toml"
counts = "counts.csv"

[suppressed]
"*" = "1-4"

[[tables]]
formula = "sex"

[[tables]]
formula = "ill"

[[tables]]
formula = "sex*ill"
"""

COUNTS = """table,cell,value
sex,sex=f,3
sex,sex=m,2
ill,ill=no,4
ill,ill=yes,1
sex*ill,"ill=no,sex=f",3
sex*ill,"ill=yes,sex=m",*
"""

#: Files on which every command has something to say.
FILES = {"people.csv": PEOPLE, "schema.toml": SCHEMA, "release.toml": RELEASE, "counts.csv": COUNTS}

#: What a run holds that depends on the machine.
NOT_COMPARED = {"timing.parquet"}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder that holds FILES."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, FILES)

    return runner(capsys)


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run but those that depend on the machine."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in NOT_COMPARED
    }


class TestAudit:
    def test_planned_tables_over_microdata(self, run: Run) -> None:
        ran = run("audit", "people.csv", "--tables", "sex*ill", "--tables", "sex*age", "--by", "town",
                  "--out", "run")  # fmt: skip
        assert ran.code == 1
        assert ran.out.startswith("2 of 2 areas give away something about individual records:")
        assert "exactly one record" in ran.out
        assert "showthrough verify run" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80
        assert "\x1b" not in ran.out + ran.err
        assert st.verify("run").holds

    def test_the_inferred_schema_can_be_corrected_and_passed_back(self, run: Run) -> None:
        arguments = ("audit", "people.csv", "--tables", "sex*ill", "--by", "town")
        ran = run(*arguments, "--out", "run")
        assert "note: people.csv: columns in no table are left out: age" in ran.err
        assert Path("run/schema.toml").read_text("utf-8").startswith("# Inferred from the data")
        assert st.read_schema("run/schema.toml").names == ("sex", "ill")
        again = run(*arguments, "--schema", "run/schema.toml", "--out", "again")
        assert again.code == ran.code
        assert contents(Path("run"))["claims.parquet"] == contents(Path("again"))["claims.parquet"]

    def test_columns_beyond_the_tables_can_be_taken_in(self, run: Run) -> None:
        run("audit", "people.csv", "--tables", "sex", "--columns", "age,ill", "--out", "run")
        assert st.read_schema("run/schema.toml").names == ("sex", "age", "ill")

    def test_a_design_over_microdata(self, run: Run) -> None:
        ran = run("audit", "people.csv", "--release", "release.toml", "--by", "town", "--out", "run")
        assert ran.code in (0, 1)
        assert "audited as exact counts" in ran.err
        assert st.AuditRun(Path("run")).summary.areas == 2

    def test_a_design_without_a_schema_over_microdata(self, run: Run) -> None:
        Path("design.toml").write_text('area = "town"\n[[tables]]\nformula = "sex*age"\n', "utf-8")
        run("audit", "people.csv", "--release", "design.toml", "--tables", "ill", "--out", "run")
        assert st.read_schema("run/schema.toml").names == ("sex", "age", "ill")
        assert st.AuditRun(Path("run")).summary.areas == 2

    @pytest.mark.parametrize(
        "arguments",
        [
            ("release.toml",),
            ("--release", "release.toml"),
            ("--release", "release.toml", "counts.csv"),
            ("--release", "release.toml", "--counts", "counts.csv"),
        ],
        ids=["toml alone", "own counts", "counts after", "counts named"],
    )
    def test_published_counts(self, run: Run, arguments: tuple[str, ...]) -> None:
        """Three women, all of them well; so the one ill person is a man, and the other man is well."""
        ran = run("audit", *arguments, "--out", "run")
        assert ran.code == 1
        assert "learns that the person is a man" in ran.out
        assert "exactly one such person" in ran.out

    def test_several_publishers(self, run: Run) -> None:
        """Neither release alone gives the joint away; both do."""
        one = 'schema = "schema.toml"\ncounts = "one.csv"\n[[tables]]\nformula = "sex"\n'
        two = 'schema = "schema.toml"\ncounts = "two.csv"\n[[tables]]\nformula = "ill"\n'
        write(Path(), {"one.toml": one, "one.csv": "cell,value\nsex=f,0\nsex=m,3\n"})
        write(Path(), {"two.toml": two, "two.csv": "cell,value\nill=no,2\nill=yes,1\n"})
        assert run("audit", "two.toml", "--out", "alone").code == 0
        both = run("audit", "--release", "one.toml", "--release", "two.toml", "--out", "run")
        assert both.code == 1

    def test_nothing_found(self, run: Run) -> None:
        ran = run("audit", "people.csv", "--tables", "sex", "--out", "run")
        assert ran.code == 0
        assert ran.out.startswith("Nothing shows through beyond what the cells state.")

    def test_json(self, run: Run) -> None:
        ran = run("audit", "release.toml", "--out", "run", "--json")
        told = {"folder": "run", "report": "run/report.html", "notes": [], "exit_code": 1}
        assert ran.json == {**st.AuditRun(Path("run")).summary.to_plain(), **told}
        assert ran.err == ""

    def test_quiet(self, run: Run) -> None:
        ran = run("audit", "people.csv", "--tables", "sex", "--out", "run", "--quiet")
        assert (ran.code, ran.out, ran.err) == (0, "", "")

    def test_scope_and_settings_reach_the_run(self, run: Run) -> None:
        ran = run("audit", "release.toml", "--out", "run", "--claims", "all", "--min-columns", "2",
                  "--max-columns", "2", "--multiplicity", "1-2", "--effort", "0.5", "--seed", "3",
                  "--absent", "--gaps", "--keep-going", "--workers", "1")  # fmt: skip
        assert ran.code in (0, 1)
        manifest = json.loads(Path("run/run.json").read_text("utf-8"))
        assert manifest["parameters"] == {
            "scope": {"min_columns": 2, "max_columns": 2, "multiplicity": [1, 2], "absent": True,
                      "gaps": True},
            "effort": 0.5, "seed": 3, "refuted": True, "keep_going": True, "findings": True,
            "variability": False,
        }  # fmt: skip
        assert set(manifest["inputs"]) == {"release.toml", "counts.csv"}
        assert "schema.toml" in manifest["outputs"]

    def test_a_finished_run_is_kept_unless_told_otherwise(self, run: Run) -> None:
        run("audit", "release.toml", "--out", "run")
        before = contents(Path("run"))
        ran = run("audit", "people.csv", "--tables", "sex", "--out", "run")
        assert ran.code == 2
        assert "--overwrite" in ran.err
        assert contents(Path("run")) == before
        assert run("audit", "release.toml", "--out", "run", "--overwrite").code == 1
        assert contents(Path("run")) == before

    def test_keep_going_notes_an_area_that_contradicts_itself(self, run: Run) -> None:
        counts = "area,cell,value\nA,sex=f,1\nA,sex=m,1\nA,ill=no,2\nA,ill=yes,1\nB,sex=f,1\n"
        design = RELEASE.replace('[[tables]]\nformula = "sex*ill"\n', "")
        write(Path(), {"two.csv": counts, "two.toml": design.replace("counts.csv", "two.csv")})
        assert run("audit", "two.toml", "--out", "run").code == 2
        assert not Path("run").exists()
        ran = run("audit", "two.toml", "--out", "run", "--keep-going")
        assert ran.code == 2
        assert "A: contradiction" in " ".join(ran.out.split())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the areas."""
    folder = tmp_path_factory.mktemp("county")
    county = simulate_county(2 * BATCH + 1, seed=1, smallest=3, largest=4)
    st.write_schema(county.schema, folder / "county.toml")
    pq.write_table(county.to_arrow(), folder / "county.parquet")
    return folder


@pytest.fixture(scope="module")
def county(place: Path) -> tuple[str, ...]:
    tables = ("--tables", "tenure*size", "--no-report")
    data = (str(place / "county.parquet"), "--schema", str(place / "county.toml"))
    return ("audit", *data, *tables, "--by", "area", "--quiet")


@pytest.fixture(scope="module")
def whole(place: Path, county: tuple[str, ...]) -> dict[str, bytes]:
    """What a run by one process holds."""
    assert main([*county, "--out", str(place / "whole"), "--workers", "1"]) == 1
    return contents(place / "whole")


#: A command that kills itself as soon as it writes something of its second batch.
KILLED = r"""
import os, re, signal, sys
from showthrough.cli import main

def listen(event, given):
    if event in ("open", "os.mkdir", "os.rename") and re.search(r"\.partial.0*[1-9]", str(given)):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(listen)
main(sys.argv[1:])
"""


class TestManyAreas:
    """Enough areas for several batches."""

    def test_the_number_of_workers_changes_nothing(
        self, run: Run, county: tuple[str, ...], whole: dict[str, bytes]
    ) -> None:
        assert run(*county, "--out", "two", "--workers", "2").code == 1
        assert contents(Path("two")) == whole

    def test_all_processors_work_unless_told_otherwise(
        self, run: Run, county: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: str, *, workers: int, notice: object) -> None:  # noqa: ARG001
            raise st.InputError(f"{workers} workers")

        monkeypatch.setattr(processes, "n_processors", lambda: 3)
        monkeypatch.setattr("showthrough.engine.engine.open_engine", refuse)
        assert "error: 3 workers" in run(*county, "--out", "run").err
        assert "error: 2 workers" in run(*county, "--out", "run", "--workers", "2").err

    def test_a_killed_run_is_taken_up_again(
        self, run: Run, county: tuple[str, ...], whole: dict[str, bytes], tmp_path: Path
    ) -> None:
        command = [sys.executable, "-c", KILLED, *county, "--out", "run", "--workers", "1"]
        assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -signal.SIGKILL
        assert (tmp_path / "run" / ".partial" / "00000000").exists()
        assert not (tmp_path / "run" / "run.json").exists()
        assert run(*county, "--out", "run", "--workers", "1").code == 1
        assert contents(Path("run")) == whole

    def test_a_contradiction_found_by_a_worker(self, run: Run) -> None:
        rows = [f"{at:03d},{cell},1\n" for at in range(101) for cell in ("sex=f", "sex=m", "ill=no")]
        text = "area,cell,value\n" + "".join(rows) + "077,ill=yes,5\n"
        design = RELEASE.replace('[[tables]]\nformula = "sex*ill"\n', "")
        write(Path(), {"many.csv": text, "many.toml": design.replace("counts.csv", "many.csv")})
        ran = run("audit", "many.toml", "--out", "run", "--workers", "2")
        assert ran.code == 2
        assert "area 077: the release contradicts itself" in ran.err
        assert not Path("run").exists()


class TestBounds:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("run",),
            ("release.toml",),
            ("--release", "release.toml", "counts.csv"),
        ],
        ids=["run", "toml", "counts"],
    )
    def test_published(self, run: Run, arguments: tuple[str, ...]) -> None:
        run("audit", "release.toml", "--out", "run", "--quiet")
        ran = run("bounds", *arguments, "--where", "sex=m,ill=no")
        assert ran.code == 0
        first, second = ran.out.splitlines()[:2]
        assert first == "exactly 1 person (such a dataset exists)"
        assert second.startswith("  count = ")
        assert second.endswith(" = 1")

    def test_microdata_by_area(self, run: Run) -> None:
        """Aldea: one ill among two women and a man. Brook: two ill among one woman and three men."""
        arguments = ("bounds", "people.csv", "--tables", "sex", "--tables", "ill", "--by", "town")
        ran = run(*arguments, "--where", "sex=m,ill=yes")
        assert "Aldea: between 0 and 1 records (datasets with both numbers exist)" in ran.out
        assert "Brook: between 1 and 2 records (datasets with both numbers exist)" in ran.out
        one = run(*arguments, "--where", "sex=m,ill=yes", "--area", "Brook", "--json")
        (row,) = one.json["areas"]
        assert (row["area"], row["low"], row["high"], row["exact"]) == ("Brook", 1, 2, True)
        assert row["arithmetic"] == [
            "count ≥ [ill=yes] − [sex=f] = 2 − 1 = 1",
            "count ≤ [ill=yes] = 2",
        ]

    def test_nothing_limits_the_count(self, run: Run) -> None:
        write(Path(), {"few.csv": "cell,value\nsex=f,3\n"})
        ran = run("bounds", "--release", "release.toml", "few.csv", "--where", "sex=m")
        assert ran.out.startswith("at least 0 people; nothing published limits the number")

    @pytest.mark.parametrize(
        ("where", "message"),
        [
            ("sexx=m", "--where: unknown attribute (found 'sexx'); did you mean 'sex'?"),
            ("ill=yess", "--where, column ill: unknown value (found 'yess'); did you mean 'yes'?"),
            ("sex", "--where: cannot read this condition (found 'sex')"),
            ("sex=m,sex=f", "--where: an attribute occurs twice"),
        ],
    )
    def test_conditions_are_not_misread(self, run: Run, where: str, message: str) -> None:
        ran = run("bounds", "release.toml", "--where", where)
        assert ran.code == 2
        assert message in ran.err

    def test_unknown_area(self, run: Run) -> None:
        ran = run("bounds", "people.csv", "--tables", "sex", "--by", "town", "--where", "sex=f",
                  "--area", "Brok")  # fmt: skip
        assert ran.code == 2
        assert "unknown area (found 'Brok'); did you mean 'Brook'?" in ran.err


class TestWorlds:
    def test_all_datasets_of_two_areas(self, run: Run) -> None:
        """One ill of three: a woman or the man. Two ill of four: the woman among them or not."""
        ran = run("worlds", "people.csv", "--tables", "sex", "--tables", "ill", "--by", "town",
                  "--n", "9", "--out", "worlds.parquet")  # fmt: skip
        assert ran.code == 0
        assert "Aldea: 2 datasets with the published counts, and the search found no others" in ran.out
        table = pq.read_table("worlds.parquet")
        assert table.column_names == ["area", "world", "sex", "ill"]
        assert table.num_rows == 2 * 3 + 2 * 4
        assert set(table["world"].to_pylist()) == {0, 1}

    def test_one_unnamed_area_and_csv(self, run: Run) -> None:
        ran = run("worlds", "release.toml", "--n", "1", "--out", "worlds.csv", "--json")
        assert ran.json == {"file": "worlds.csv", "asked": 1, "found": {"": 1}}
        lines = Path("worlds.csv").read_text("utf-8").splitlines()
        assert lines[0] == '"world","sex","ill"'
        assert len(lines) == 6

    def test_an_ending_that_cannot_be_written(self, run: Run) -> None:
        ran = run("worlds", "release.toml", "--out", "worlds.xlsx")
        assert ran.code == 2
        assert "use the extension .csv or .parquet" in ran.err


class TestVerify:
    def test_a_sound_run(self, run: Run) -> None:
        run("audit", "release.toml", "--out", "run", "--claims", "all", "--quiet")
        ran = run("verify", "run")
        assert ran.code == 0
        assert "Everything that was checked holds." in ran.out
        found = run("verify", "run", "--json").json
        assert found["holds"] is True
        assert found["findings"] > 0
        assert found["sentences"] > found["claims"]
        assert found["figures"] > 0
        assert not any("report.html" in said for said in found["not_covered"])

    def test_without_the_page(self, run: Run) -> None:
        run("audit", "release.toml", "--out", "run", "--quiet")
        page = Path("run/report.html")
        page.write_text(page.read_text("utf-8").replace("<h1>", "<h1>Not so: ", 1), "utf-8")
        manifest = json.loads(Path("run/run.json").read_text("utf-8"))
        manifest["outputs"]["report.html"] = hashlib.sha256(page.read_bytes()).hexdigest()
        Path("run/run.json").write_text(json.dumps(manifest), "utf-8")
        ran = run("verify", "run", "--no-page")
        assert ran.code == 0
        assert "report.html: it was not made again" in ran.out
        problems = run("verify", "run", "--json").json["problems"]
        assert len(problems) == 1
        assert problems[0].startswith("report.html: not the page of this run: it differs from line ")

    def test_input_files(self, run: Run) -> None:
        run("audit", "release.toml", "--out", "run", "--quiet", "--no-report")
        assert run("verify", "run", "--input", "release.toml", "--quiet").code == 0
        assert run("verify", "run", "--input", "people.csv", "--json").json["problems"] == [
            "people.csv: not among the input files in run.json"
        ]
        with Path("release.toml").open("a") as file:
            file.write("# changed\n")
        assert run("verify", "run", "--input", "release.toml", "--json").json["problems"] == [
            "release.toml: not the file that the run read"
        ]
        assert run("verify", "run", "--input", "nowhere.csv").code == 2

    def test_a_file_that_was_changed(self, run: Run) -> None:
        run("audit", "release.toml", "--out", "run", "--quiet")
        with Path("run/schema.toml").open("a") as file:
            file.write("# changed\n")
        ran = run("verify", "run")
        assert ran.code == 1
        assert "schema.toml: changed since the run" in ran.out
        found = run("verify", "run", "--json").json
        assert found["problems"] == ["schema.toml: changed since the run"]
        assert "schema.toml: comments, and how it is written" in found["not_covered"]

    def test_no_run(self, run: Run) -> None:
        ran = run("verify", "nowhere")
        assert ran.code == 2
        assert "nowhere: not a finished run" in ran.err


class TestSchema:
    def test_printed(self, run: Run) -> None:
        ran = run("schema", "people.csv", "--by", "town")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == schema_to_toml(st.read_records("people.csv", by="town").schema)

    def test_written(self, run: Run) -> None:
        assert run("schema", "people.csv", "--columns", "sex, ill", "--out", "new.toml").code == 0
        assert st.read_schema("new.toml").names == ("sex", "ill")


class TestDemo:
    def test_it_runs_twice_in_the_same_folder(self, run: Run) -> None:
        ran = run("demo", "--areas", "2", "--out", "demo")
        assert ran.code == 0
        assert "households in 2 blocks" in ran.out
        assert "all hold." in " ".join(ran.out.split())
        before = contents(Path("demo"))
        assert run("demo", "--areas", "2", "--out", "demo").code == 0
        assert contents(Path("demo")) == before

    def test_its_files_can_be_audited(self, run: Run) -> None:
        run("demo", "--areas", "1", "--out", "demo", "--json")
        ran = run("audit", "demo/households.csv", "--release", "demo/release.toml", "--by", "area",
                  "--no-report", "--out", "run", "--json")  # fmt: skip
        summary = st.AuditRun(Path("demo")).summary.to_plain()
        assert {name: ran.json[name] for name in summary} == summary

    def test_it_replaces_no_other_run(self, run: Run) -> None:
        run("audit", "release.toml", "--out", "run", "--quiet")
        before = contents(Path("run"))
        assert run("demo", "--areas", "1", "--out", "run").code == 2
        assert contents(Path("run")) == before


#: name → (files, arguments without --out, what the message says)
BAD: dict[str, tuple[Mapping[str, str | bytes], tuple[str, ...], tuple[str, ...]]] = {
    "unknown column": (
        {},
        ("people.csv", "--tables", "sex", "--columns", "ages"),
        ("people.csv, column ages", "did you mean 'age'?"),
    ),
    "unknown area column": (
        {},
        ("people.csv", "--tables", "sex", "--by", "twon"),
        ("people.csv, column twon", "did you mean 'town'?"),
    ),
    "value outside the schema": (
        {"people.csv": "sex,ill\nf,no\nm,yess\n"},
        ("people.csv", "--tables", "sex*ill", "--schema", "schema.toml"),
        ("people.csv, row 2, column ill", "found 'yess'", "did you mean 'yes'?"),
    ),
    "negative count": (
        {"counts.csv": COUNTS.replace("sex=m,2", "sex=m,-2")},
        ("release.toml",),
        ("counts.csv, row 2, column value: negative count (found '-2')", "counts start at 0"),
    ),
    "fractional count": (
        {"counts.csv": COUNTS.replace("sex=m,2", "sex=m,2.5")},
        ("release.toml",),
        ("counts.csv, row 2, column value", "not a whole number (found '2.5')", "publish whole counts"),
    ),
    "duplicate cell": (
        {"counts.csv": COUNTS + "sex,sex=f,3\n"},
        ("release.toml",),
        ("counts.csv, row 7, column cell", "cell sex=f of table sex occurs twice", "keep one value"),
    ),
    "contradictory totals": (
        {"counts.csv": COUNTS.replace("ill=yes,1", "ill=yes,2")},
        ("release.toml",),
        ("the release contradicts itself", "sex=f of table sex = 3", "correct one of them"),
    ),
    "empty file": ({"people.csv": ""}, ("people.csv", "--tables", "sex"), ("people.csv: the file is empty",)),
    "no records": (
        {"people.csv": "sex,ill\n"},
        ("people.csv", "--tables", "sex"),
        ("people.csv: there are no records", "one row per record"),
    ),
    "wrong encoding": (
        {"people.csv": "sex,name\nf,José\n".encode("latin-1")},
        ("people.csv", "--tables", "sex*name"),
        ("people.csv, row 1, column name: the text is not UTF-8 (found 'José')", "save as UTF-8"),
    ),
    "a hundred columns": (
        {"people.csv": ",".join(f"c{at}" for at in range(100)) + "\n" + ",".join("x" * 100) + "\n"},
        ("people.csv", "--tables", "c1*c2"),
        ("people.csv: there are 100 columns", "--columns, or in a schema with --schema"),
    ),
    "a table over an absent attribute": (
        {},
        ("people.csv", "--tables", "sex*illness"),
        ("people.csv, column illness: table sex*illness uses a column", "did you mean 'ill'?"),
    ),
    "a table over an attribute the schema lacks": (
        {},
        ("people.csv", "--tables", "sex*age", "--schema", "schema.toml"),
        (
            "table sex*age uses an attribute that the schema does not have (found 'age')",
            "known: 'sex', 'ill'",
        ),
    ),
    "missing file": (
        {},
        ("nobody.csv", "--tables", "sex"),
        ("nobody.csv: no such file", "check the name"),
    ),
    "missing release": ({}, ("--release", "none.toml"), ("none.toml: no such file",)),
    "missing values without a mapping": (
        {"people.csv": "sex,ill\nf,no\nm,\n"},
        ("people.csv", "--tables", "sex*ill", "--schema", "schema.toml"),
        ("people.csv, row 2, column ill: missing value", "map missing entries"),
    ),
    "a rule that empties the universe": (
        {
            "schema.toml": SCHEMA
            + '[[rules]]\nif = { sex = ["f", "m"] }\nthen = { ill = "no" }\n'
            + '[[rules]]\nif = { ill = "no" }\nthen = { ill = "yes" }\n'
        },
        ("release.toml",),
        ("schema.toml: rule 2", "leaves no possible record", "correct or remove the rule"),
    ),
    "neither counts nor microdata": (
        {"people.csv": "town,size\nAldea,3\n"},
        ("people.csv", "--release", "release.toml"),
        ("people.csv: neither published counts nor microdata", "rename the columns"),
    ),
    "data and counts": (
        {},
        ("people.csv", "--counts", "counts.csv", "--release", "release.toml"),
        ("people.csv: both data and --counts are given",),
    ),
    "no tables": ({}, ("people.csv",), ("people.csv: no tables given", '--tables "age*sex"')),
    "tables without data": ({}, ("--tables", "sex"), ("no data given", "give the file")),
    "a schema and columns": (
        {},
        ("people.csv", "--tables", "sex", "--schema", "schema.toml", "--columns", "ill"),
        ("both a schema and --columns are given", "leave out --columns"),
    ),
    "an unreadable multiplicity": (
        {},
        ("release.toml", "--multiplicity", "few"),
        ("--multiplicity (found 'few')", "write 1"),
    ),
    "columns the wrong way round": (
        {},
        ("release.toml", "--min-columns", "3", "--max-columns", "2"),
        ("max_columns is below min_columns",),
    ),
    "no effort": ({}, ("release.toml", "--effort", "0"), ("--effort",)),
    "no workers": ({}, ("release.toml", "--workers", "0"), ("--workers",)),
    "unknown option": ({}, ("release.toml", "--tabels", "sex"), ("unknown option", "--tabels")),
}


class TestBadInput:
    @pytest.mark.parametrize("name", BAD)
    def test_audit_refuses(self, run: Run, name: str) -> None:
        files, arguments, said = BAD[name]
        write(Path(), files)
        ran = run("audit", *arguments, "--out", "run")
        assert ran.code == 2
        assert ran.out == ""
        assert ran.err.startswith("error: ")
        assert len(ran.err.splitlines()) == 1
        for part in said:
            assert part in ran.err
        assert not Path("run").exists()

    def test_a_folder_that_is_no_run_stays_as_it_is(self, run: Run) -> None:
        Path("mine").mkdir()
        Path("mine/letter.txt").write_text("dear", "utf-8")
        for more in ((), ("--overwrite",)):
            ran = run("audit", "release.toml", "--out", "mine", *more)
            assert ran.code == 2
            assert "mine: the output folder is not empty" in ran.err
            assert contents(Path("mine")) == {"letter.txt": b"dear"}

    def test_an_output_that_is_a_file(self, run: Run) -> None:
        ran = run("audit", "release.toml", "--out", "people.csv")
        assert ran.code == 2
        assert "people.csv: the output is a file, not a folder" in ran.err
        assert Path("people.csv").read_text("utf-8") == PEOPLE

    def test_a_missing_option(self, run: Run) -> None:
        ran = run("audit", "release.toml")
        assert ran.code == 2
        assert "--out" in ran.err

    def test_an_unknown_command(self, run: Run) -> None:
        ran = run("audti", "release.toml")
        assert ran.code == 2
        assert ran.err.startswith("error: ")

    def test_errors_for_machines(self, run: Run) -> None:
        ran = run("audit", "nobody.csv", "--tables", "sex", "--out", "run", "--json")
        assert ran.code == 2
        assert set(ran.json) == {"error"}
        assert ran.err == f"error: {ran.json['error']}\n"

    def test_an_interruption(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("showthrough.tables.run.folder.run_audit", interrupt)
        ran = run("audit", "release.toml", "--out", "run")
        assert ran.code == 130
        assert ran.err == "error: interrupted; the same command resumes\n"


class TestForeignText:
    HOSTILE = "\x1b[31m[red]:smile:\u202eevil"

    def test_shows_as_text(self, run: Run) -> None:
        schema = st.Schema.of({"sex": ["f", self.HOSTILE], "ill": ["no", "yes"]})
        people = st.Records.of([{"sex": "f", "ill": "no"}, {"sex": self.HOSTILE, "ill": "yes"}], schema)
        pq.write_table(people.to_arrow(), "odd.parquet")
        arguments = ("odd.parquet", "--tables", "sex*ill", "--tables", "ill")
        for ran in (
            run("audit", *arguments, "--out", "run"),
            run("bounds", "run", "--where", "ill=yes"),
            run("schema", "odd.parquet"),
            run("bounds", "run", "--where", f"ill={self.HOSTILE}"),
        ):
            assert "\x1b" not in ran.out + ran.err
            assert "\u202e" not in ran.out + ran.err
        shown = " ".join(run("schema", "odd.parquet").out.split())
        assert r"\u001b[31m[red]:smile:\u202eevil" in shown
        Path("back.toml").write_text(run("schema", "odd.parquet").out, "utf-8")
        assert set(st.read_schema("back.toml")["sex"].values) == {"f", self.HOSTILE}

    def test_sentences_keep_markup_as_text(self, run: Run) -> None:
        label = "[red]:smile: \x1b[2J"
        rows = f'sex,ill,age\nf,no,young\n"{label}",yes,old\n'
        write(Path(), {"odd.csv": rows})
        ran = run("audit", "odd.csv", "--tables", "sex*ill", "--tables", "ill*age", "--out", "run")
        assert ran.code == 1
        assert r"[red]:smile: \u001b[2J" in " ".join(ran.out.split())

    def test_plain(self) -> None:
        assert escape_control("a\tb\x07\x9b\u2066é−\udc80") == r"a\u0009b\u0007\u009b\u2066é−\udc80"


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == f"{st.__version__}\n"
    shown = run("--help")
    assert shown.code == 0
    for name in ("audit", "bounds", "worlds", "verify", "schema", "demo", "Examples", "Exit codes"):
        assert name in shown.out
    for command in ("audit", "bounds", "worlds", "verify", "schema", "demo"):
        assert run(command, "--help").out.startswith(f"Usage: showthrough {command}")
