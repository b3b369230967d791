"""``showthrough recover``: what it prints, writes and returns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import showthrough as st
from command import Run, runner
from showthrough.cli import main
from showthrough.report.page import render
from showthrough.report.recovered import recover_page, recovered_section

COUNTS = """town,sex,ill,count
A,f,no,7
A,f,yes,c
A,f,all,8
A,m,no,5
A,m,yes,2
A,m,all,7
B,f,no,c
B,f,yes,c
B,f,all,9
B,m,no,6
B,m,yes,c
B,m,all,8
C,f,no,10
C,f,yes,3
C,f,all,13
C,m,no,1
C,m,yes,1
C,m,all,2
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an import: three areas, of which A and B have suppressed cells."""
    folder = tmp_path_factory.mktemp("recover")
    (folder / "t.csv").write_text(COUNTS, "utf-8")
    arguments = ["--area", "town", "--complete", "--out", str(folder / "release"), "--quiet"]
    assert main(["import", str(folder / "t.csv"), *arguments]) == 0
    return folder


@pytest.fixture
def run(made: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(made)
    return runner(capsys)


class TestWhatIsPrinted:
    def test_the_sentence_the_areas_and_the_arithmetic(self, run: Run) -> None:
        ran = run("recover", "release/release.toml")
        assert ran.code == 1
        assert "2 of 4 suppressed cells can be computed exactly; 2 narrowed." in ran.out
        assert "In 1 area no cell stays hidden: A." in ran.out
        assert "ill=yes,sex=f" in ran.out
        assert "8 − 7 = 1" in ran.out

    def test_one_area(self, run: Run) -> None:
        ran = run("recover", "release/release.toml", "--area", "A")
        assert "1 of 1 suppressed cell can be computed exactly." in ran.out

    def test_nothing_to_recover(self, run: Run) -> None:
        ran = run("recover", "release/release.toml", "--area", "C")
        assert ran.code == 0
        assert "nothing to recover" in ran.out

    def test_json_is_a_list_of_cells(self, run: Run) -> None:
        ran = run("recover", "release/release.toml", "--json")
        cells = json.loads(ran.out)
        assert [(cell["area"], cell["low"], cell["high"], cell["exact"]) for cell in cells] == [
            ("A", 1, 1, True),
            ("B", 0, 9, False),
            ("B", 0, 9, False),
            ("B", 2, 2, True),
        ]
        assert cells[0]["published"] == "unknown"
        assert cells[0]["proof"] == ["count = [sex=f] − [ill=no,sex=f] = 8 − 7 = 1"]
        assert ran.code == 1


class TestThePage:
    def test_tables_are_drawn_with_what_follows(self, run: Run, made: Path) -> None:
        ran = run("recover", "release/release.toml", "--out", "page.html", "--overwrite")
        assert ran.code == 1
        page = (made / "page.html").read_text("utf-8")
        assert '<td class="exact"><s>unknown</s> <b>=</b> 1</td>' in page
        assert '<td class="narrowed"><s>unknown</s> <b>…</b> 0–9</td>' in page
        assert "follows exactly from what is published" in page
        assert "2 of 4 suppressed cells can be computed exactly; 2 narrowed." in page

    def test_no_suppressed_cells_no_section(self, run: Run, made: Path) -> None:
        run("recover", "release/release.toml", "--area", "C", "--out", "none.html")
        assert 'id="recovered"' not in (made / "none.html").read_text("utf-8")

    def test_a_page_that_exists_is_not_replaced(self, run: Run, made: Path) -> None:
        (made / "mine.html").write_text("mine", "utf-8")
        ran = run("recover", "release/release.toml", "--out", "mine.html")
        assert ran.code == 2
        assert (made / "mine.html").read_text("utf-8") == "mine"

    def test_names_are_hostile_text(self) -> None:
        bad = "<script>alert(1)</script>"
        schema = st.Schema.of({"sex": [bad, "m"], "ill": ["no", "yes"]})
        release = st.Release.of(schema, {"sex*ill": [7, None, 5, 2], "sex": [8, 7]}, area=bad)
        page = render(recover_page([st.recover(release)], inputs={bad: "0"}))
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page

    def test_large_tables_are_cut_and_say_so(self) -> None:
        values = [str(number) for number in range(90)]
        schema = st.Schema.of({"age": values, "ill": ["no", "yes"]})
        hidden = [None if number % 2 else 3 for number in range(180)]
        release = st.Release.of(schema, {"age*ill": hidden, "age": [5] * 90})
        section = recovered_section([st.recover(release)])
        assert section is not None
        assert section.sentence == "90 of 90 suppressed cells can be computed exactly."
        assert len(section.tables[0].rows) == 60
        assert section.tables[0].left_out == "Not shown: 30 of its rows."
        assert len(section.sums) < section.n_sums == 90


class TestBadInput:
    def test_an_unknown_area(self, run: Run) -> None:
        ran = run("recover", "release/release.toml", "--area", "D")
        assert ran.code == 2
        assert "D" in ran.err

    def test_no_file(self, run: Run) -> None:
        assert run("recover", "nowhere.toml").code == 2
