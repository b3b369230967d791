"""showthrough import: from published files to a folder that can be audited, corrected and audited again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from command import Run, runner
from showthrough.formats.printed.office import open_printed
from showthrough.formats.printed.tidy_counts import read_tidy
from showthrough.formats.read_subject import read_subject
from showthrough.text import escape_control

TIDY = """area,age,sex,count
North,0-17,f,3
North,0-17,m,c
North,0-17,Total,7
North,18+,f,2
North,18+,m,2
North,18+,Total,4
South,0-17,f,3
South,0-17,m,4
South,0-17,Total,7
South,18+,f,c
South,18+,m,2
South,18+,Total,4
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text(TIDY)
    Path("exact.csv").write_text(TIDY.replace("m,c", "m,4").replace("f,c", "f,2"))
    return runner(capsys)


def test_import_writes_a_release_that_can_be_audited(run: Run) -> None:
    ran = run("import", "counts.csv", "--out", "release")
    assert ran.code == 0, ran.err
    assert "counts age (2) × sex (2) 6 12 sex" in ran.text
    assert "c 2 any count (unknown) not declared" in ran.text
    assert "To be decided: - the mark 'c' (2 cells)" in ran.text
    assert "showthrough audit release/release.toml --out run/" in ran.out
    releases = st.read_release("release/release.toml")
    assert releases.areas == ("North", "South")
    assert [cell.value() for cell in releases["North"].cells] == ["3", "unknown", "7", "2", "2", "4"]
    page = Path("release/report.html").read_text()
    assert "What was understood" in page
    assert "0-17" in page
    ran = run("bounds", "release/release.toml", "--where", "age=0-17,sex=m", "--area", "North", "--json")
    assert ran.json["areas"][0]["low"] == ran.json["areas"][0]["high"] == 4


def test_an_audit_repeats_what_is_to_be_decided(run: Run) -> None:
    run("import", "counts.csv", "--out", "release", "--no-report")
    for given in ("release/release.toml", "release"):
        assert any("mark 'c'" in note for note in read_subject(Path(given)).notes)
    text = Path("release/release.toml").read_text()
    Path("release/release.toml").write_text(text.replace('c = "unknown"', 'c = "1-4"'))
    assert st.read_release("release/release.toml")["North"].cells[1].value() == "1-4"


def test_corrections_and_running_again(run: Run) -> None:
    assert run("import", "counts.csv", "--out", "release", "--no-report").code == 0
    again = ("import", "counts.csv", "--mark", "c=1-4", "--area", "none", "--record", "home")
    ran = run(*again, "--out", "release", "--no-report")
    assert ran.code == 2
    assert "--overwrite" in ran.err
    ran = run(*again, "--out", "release", "--no-report", "--overwrite")
    assert ran.code == 0, ran.err
    assert "To be decided" not in ran.out
    releases = st.read_release("release/release.toml")
    assert releases.areas == ("",)
    assert releases.layout.schema.record == "home"
    assert releases[""].cells[1].value() == "1-4"


def test_the_same_import_writes_the_same_bytes(run: Run) -> None:
    for out in ("one", "two"):
        run("import", "counts.csv", "--out", out)
    for name in ("release.toml", "schema.toml", "counts.csv", "understood.json", "report.html"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


def test_json_and_errors(run: Run) -> None:
    ran = run("import", "counts.csv", "--out", "release", "--json", "--no-report")
    assert ran.json["areas"] == 2
    assert ran.json["questions"]
    for arguments, problem in (
        (("import", "--out", "x"), "no files given"),
        (("import", "nowhere.csv", "--out", "x"), "no such file"),
        (("import", "counts.csv", "--mark", "c", "--out", "x"), "--mark: cannot read this mark (found 'c')"),
        (("import", "counts.csv", "--rounding", "five", "--out", "x"), "--rounding: cannot read this"),
        (("import", "counts.csv", "--count", "n", "--out", "x"), "no such column"),
        (("import", "release/counts.csv", "--out", "x"), "counts file of a release"),
    ):
        ran = run(*arguments)
        assert ran.code == 2
        assert problem in ran.err
        assert not Path("x").exists()


def test_contradictions_are_named_and_written(run: Run) -> None:
    Path("wrong.csv").write_text(TIDY.replace("South,0-17,Total,7", "South,0-17,Total,8"))
    ran = run("import", "wrong.csv", "--out", "release", "--no-report")
    assert ran.code == 0
    assert (
        "table wrong, row 9, column count: Total of sex is 8, but its parts add up to at most 7" in ran.text
    )
    assert "# CONTRADICTION: table wrong, row 9" in Path("release/release.toml").read_text()
    ran = run("audit", "wrong.csv", "--out", "run")
    assert ran.code == 2
    assert "the tables contradict themselves: table wrong, row 9" in ran.err


def test_commands_read_tables_where_nothing_is_to_be_decided(run: Run) -> None:
    ran = run("bounds", "exact.csv", "--where", "sex=f", "--area", "North", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["areas"][0]["low"] == 5
    ran = run("bounds", "exact.csv", "--where", "sex=f", "--area", "North")
    assert "note: exact.csv: read as published tables: exact (age (2) × sex (2))" in ran.err
    told = "the mark 'c' (2 cells) is taken as any count from 0"
    ran = run("bounds", "counts.csv", "--where", "sex=f")
    assert ran.code == 0, ran.err
    assert told in ran.err
    # What is to be protected is protected from what readers know.
    ran = run("protect", "counts.csv", "--forbid", "singletons", "--out", "safe")
    assert ran.code == 2
    assert f"something is to be decided before these tables can be audited: {told}" in ran.err
    assert "showthrough import counts.csv --out DIR" in ran.err
    assert not Path("safe").exists()


def test_commands_do_not_read_tables_that_may_leave_records_out(run: Run) -> None:
    Path("few.csv").write_text(
        "age,sex,n\nold,f,1\nold,m,c\nold,Total,3\nyoung,f,c\nyoung,m,2\nyoung,Total,5\n"
    )
    ran = run("audit", "few.csv", "--out", "run")
    assert ran.code == 2
    assert "it is assumed that the categories of sex add up to their total in table few" in ran.err
    assert "showthrough import few.csv --out DIR" in ran.err
    assert not Path("run").exists()


def test_several_files_are_tables_of_one_release(run: Run) -> None:
    Path("ages.csv").write_text("area,Age,n\nNorth,0-4,1\nNorth,5-17,6\nNorth,18 and over,4\n")
    ran = run("import", "exact.csv", "ages.csv", "--out", "release", "--no-report")
    assert ran.code == 0, ran.err
    releases = st.read_release("release/release.toml")
    assert releases.layout.schema["age"].values == ("0-4", "5-17", "18+")
    assert [table.name for table in releases.layout.tables] == ["exact", "ages"]
    bounds = st.bounds(releases["North"], "age=5-17,sex=f")
    assert (bounds.low, bounds.high) == (2, 3)


def test_hostile_names_go_through_all_files(run: Run) -> None:
    nasty = 'a"]\n[x]\x1b[31m<script>alert(1)</script>'
    table = pa.table({nasty: ["f", nasty, "Total"], "count": ["3", "c", "7"]})
    pq.write_table(table, "nasty.parquet")
    ran = run("import", "nasty.parquet", "--out", "release")
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    release = st.read_release("release/release.toml")[""]
    (name,) = release.schema.names
    assert name == " ".join(nasty.split())
    assert release.schema[name].values[1] == " ".join(nasty.split())
    page = Path("release/report.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in Path("release/release.toml").read_text()
    assert escape_control("\x1b") in json.loads(json.dumps(Path("release/release.toml").read_text()))


def test_codes_and_labels_flags_and_other_figures(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "area_code,area_name,sex,count,rate,OBS_STATUS,notes\n"
        "E1,North,f,3,0.5,A,\nE1,North,m,,,c,see below\nE2,South,f,4,0.25,p,\nE2,South,m,5,1.5,A,\n"
    )
    (table,) = read_tidy(path)
    assert [one.name for one in table.dimensions] == ["area", "sex"]
    assert [one.label for one in table.dimensions[0].categories] == ["North", "South"]
    assert table.remarks == ("columns that are left out: notes, rate",)
    found = st.read_tables(path)
    assert found.releases.areas == ("North", "South")
    assert [mark.text for mark in found.marks] == ["c"]
    assert any("flag 'p' stands beside 1 value" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sex,job\nf,clerk\nm,baker\n", "no column holds counts"),
        ("sex,n,count\nf,1,2\nm,3,4\n", "several columns may hold the counts"),
        ("count\n1\n2\n", "no column says what is counted"),
    ],
)
def test_tidy_files_that_are_not_clear(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(st.ReleaseError, match=problem):
        read_tidy(path)


@pytest.mark.parametrize("name", ["t.px", "t.xml"])
def test_formats_that_are_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(st.ReleaseError, match="this format is not read"):
        open_printed(tmp_path / name)


def test_answers_of_the_census_api_go_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[["H1_001N"], ["3"]]')
    with pytest.raises(st.ReleaseError, match="showthrough census"):
        open_printed(tmp_path / "t.json")


def test_the_files_say_what_was_understood(run: Run) -> None:
    ages = [f"{at}-{at + 4}" for at in range(0, 90, 5)]
    rounded = [
        "sex,age,n",
        *(f"{sex},{age},{5 * len(age) + 5 * at}" for sex in "fm" for at, age in enumerate(ages)),
    ]
    Path("rounded.csv").write_text("\n".join(rounded))
    Path("exact.csv").write_text("job,n\nclerk,<5\nnurse,c\nbaker,7\nTotal,1203\n")
    corrections = ("--mark", "c=1-4", "--mark", "<5=1-4", "--complete")
    ran = run("import", "rounded.csv", "exact.csv", *corrections, "--out", "release", "--no-report", "--json")
    assert ran.code == 0, ran.err
    assert "--rounding 5:conventional" in ran.json["questions"][0]
    read = st.read_release("release/release.toml")
    found = st.read_tables(
        ["rounded.csv", "exact.csv"], marks={"c": "1-4", "<5": "1-4"}, complete=True
    ).releases
    assert read.layout.names == found.layout.names
    assert [cell.selection for cell in read[""].cells] == [cell.selection for cell in found[""].cells]
    assert read[""].low.tolist() == found[""].low.tolist()
    assert read[""].high.tolist() == found[""].high.tolist()
    assert read[""].cells[-4].value() == "1-4"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "cross.csv",
            '"Table 1",,,\n,,,\nAge,Males,Females,Total\n0-4,12,c,15\n5-9,10,8,18\nTotal,22,11,33\n',
        ),
        (
            "flow.csv",
            "DATAFLOW,SEX,AGE,OBS_VALUE,CONF_STATUS\nX:D(1.0),M,Y_LT5,12,F\nX:D(1.0),F,Y_LT5,,C\n"
            "X:D(1.0),T,Y_LT5,15,F\nX:D(1.0),M,Y5-9,10,F\nX:D(1.0),F,Y5-9,8,F\nX:D(1.0),T,Y5-9,18,F\n",
        ),
        (
            "stat.json",
            '{"version": "2.0", "class": "dataset", "id": ["sex", "age"], "size": [3, 2], "dimension": {'
            '"sex": {"category": {"index": ["M", "F", "T"], "label": {"T": "Total"}}},'
            '"age": {"category": {"index": ["0-4", "5-9"]}}},'
            '"value": [12, 10, null, 8, 15, 18], "status": {"2": "c"}}',
        ),
    ],
)
def test_formats_of_offices(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    found = st.read_tables(tmp_path / name)
    assert not found.conflicts
    assert [mark.text.casefold() for mark in found.marks] == ["c"]
    (release,) = found.releases
    assert {8, 10, 12, 15, 18} <= {cell.low for cell in release.cells if cell.exact}
    women = next(cell.selection for cell in release.cells if not cell.exact and cell.low == 0)
    assert st.bounds(release, women).high == 3


def test_what_was_taken_for_granted_stands_where_nothing_is_found(run: Run) -> None:
    """A page that says that nothing shows through says on what that rests; so does the answer to machines."""
    Path("hidden.csv").write_text(
        "age,sex,n\nold,f,c\nold,m,c\nold,Total,c\nyoung,f,c\nyoung,m,c\nyoung,Total,c\n"
        "Total,f,c\nTotal,m,c\nTotal,Total,900\n"
    )
    assert run("import", "hidden.csv", "--complete", "--out", "release", "--no-report").code == 0
    ran = run("audit", "release/release.toml", "--out", "run", "--json")
    assert ran.code == 0, ran.err
    (told,) = ran.json["notes"]
    assert told.startswith("the mark 'c' (8 cells) is taken as any count from 0")
    page = Path("run/report.html").read_text("utf-8")
    assert "Nothing shows through" in page
    assert "These results hold for the files as they were read" in page
    assert "the mark &#39;c&#39; (8 cells) is taken as any count from 0" in page
    done = st.verify("run")
    assert done.holds
    assert "notes.json: what it says" in done.not_covered
