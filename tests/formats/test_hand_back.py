"""What protecting hands back: the same tables in the same shape, and nothing that undoes it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import showthrough as st
from command import runner
from showthrough.errors import ReleaseError
from showthrough.formats.drawn import BeforeAndAfter
from showthrough.formats.hand_back import HandedBack, check_linked, hand_back, suppression_mark
from showthrough.formats.import_folder import find_printing
from showthrough.formats.meaning.shapes import PrintedShape
from showthrough.formats.meaning.understand import understand
from showthrough.formats.meaning.understood import Corrections, Understood
from showthrough.formats.printed.excel import write_excel
from showthrough.formats.printed.jsonstat import write_jsonstat
from showthrough.formats.printed.office import open_printed
from showthrough.formats.printed.print_grid import write_cross_csv, write_tidy
from showthrough.formats.printed.sdmx import write_sdmx
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.formats.write_back import write_back
from showthrough.notation import Rounding
from showthrough.tables.protect.areas import ProtectedAreas, protect_areas
from showthrough.tables.protect.policy import Policy
from showthrough.tables.run.batch import Area

Writer = Callable[[Sequence[PrintedTable], Path], None]

WRITERS: dict[str, tuple[Writer, str]] = {
    "xlsx": (write_excel, "in.xlsx"),
    "csv": (write_cross_csv, "in.csv"),
    "tidy": (write_tidy, "in.csv"),
    "jsonstat": (write_jsonstat, "in.json"),
    "sdmx": (write_sdmx, "in.csv"),
}

#: Counts with singletons, and with partners that occur nowhere else.
COUNTS = ((1, 4711), (5023, 3307), (6101, 1))

AGES = ("0-17", "18-64", "65+")

MOVES = {
    "suppress": Policy.of("singletons", moves="suppress"),
    "round": Policy.of("singletons", moves="round:5"),
    "merge": Policy.of("singletons", moves="merge"),
}


def printed(
    *areas: str, counts: Sequence[Sequence[int]] = COUNTS, notes: tuple[str, ...] = ()
) -> PrintedTable:
    """People by age and sex, with totals, in every area the same."""
    inner = np.array(counts)
    table = np.vstack([inner, inner.sum(axis=0)])
    table = np.hstack([table, table.sum(axis=1, keepdims=True)])
    dimensions = [
        Dimension("age", tuple(map(Category, (*AGES[: len(inner)], "Total")))),
        Dimension("sex", tuple(map(Category, ("f", "m", "Total")))),
    ]
    if areas:
        dimensions.insert(0, Dimension("area", tuple(map(Category, areas))))
    sizes = [len(dimension.categories) for dimension in dimensions]
    codes = np.array(list(np.ndindex(*sizes)), np.int32)
    values = [str(table[row[-2], row[-1]]) for row in codes.tolist()]
    return PrintedTable("in", tuple(dimensions), codes, values, title="People by age and sex", notes=notes)


def read(path: Path, **corrections: object) -> Understood:
    return understand(open_printed(path), Corrections(complete=True, **corrections))  # type: ignore[arg-type]


@lru_cache
def plan(move: str) -> ProtectedAreas:
    """How the table of two areas is protected."""
    return protect_areas(
        [Area(release) for release in understood(printed("North", "South")).releases], MOVES[move]
    )


def protected(found: Understood, policy: Policy) -> tuple[ProtectedAreas, list[HandedBack], list[str]]:
    safe = protect_areas([Area(release) for release in found.releases], policy)
    assert safe.status == "safe"
    return safe, *hand_back(found.shapes, found.printing.notations, safe)


def cells(release: st.Release) -> dict[str, tuple[int, int]]:
    return {str(cell.selection): (cell.low, cell.high) for cell in release.cells}


def content(folder: Path) -> Iterator[bytes]:
    """The bytes of all files, those in archives one by one."""
    for path in folder.iterdir():
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as book:
                yield from (book.read(name) for name in book.namelist())
        else:
            yield path.read_bytes()


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("form", WRITERS)
def test_what_is_handed_back_is_the_safe_release(form: str, move: str, tmp_path: Path) -> None:
    write, name = WRITERS[form]
    write([printed("North", "South")], tmp_path / name)
    found, safe = read(tmp_path / name), plan(move)
    for result in safe.results:
        for planned in result.planned:
            assert cells(found.releases[planned.area]) == cells(planned)
    handed, notes = hand_back(found.shapes, found.printing.notations, safe)
    assert not notes
    assert not write_back(handed, tmp_path / "tables")
    (file,) = (tmp_path / "tables").iterdir()
    assert file.name == name
    again = read(file, rounding=Rounding(5) if move == "round" else None)
    releases = [release for result in safe.results for release in result.releases]
    assert [release.area for release in releases] == ["North", "South"]
    for release in releases:
        assert cells(again.releases[release.area]) == cells(release)
    if (form, move) == ("xlsx", "suppress"):
        for release in releases:
            claims = [
                {(row["selection"], row["verdict"]) for row in st.audit(one).claims.to_pylist()}
                for one in (release, again.releases[release.area])
            ]
            assert claims[0] == claims[1]


@pytest.mark.parametrize("form", WRITERS)
def test_no_byte_tells_what_is_suppressed(form: str, tmp_path: Path) -> None:
    write, name = WRITERS[form]
    notes = () if form in ("tidy", "sdmx") else ("1) Of these, 4,711 live alone.", "2) As of May.")
    write([printed("North", "South", notes=notes)], tmp_path / name)
    found = read(tmp_path / name)
    handed, said = hand_back(found.shapes, found.printing.notations, plan("suppress"))
    write_back(handed, tmp_path / "tables", ("xlsx", "csv", "jsonstat", "sdmx"))
    (one,) = handed
    gone = {
        value
        for value, change in zip(one.before.values, one.changed, strict=True)
        if change and len(value) > 2
    }
    assert gone == {"4711", "6101"}
    kept = set(one.after.values) & set(one.before.values)
    every = b"\n".join(content(tmp_path / "tables"))
    assert len(list((tmp_path / "tables").iterdir())) == 4
    for number in gone:
        assert number.encode() not in every
        assert f"{int(number):,}".encode() not in every
    assert all(number.encode() in every for number in kept)
    if notes:
        assert one.after.notes == notes[1:]
        assert any("4,711" in text for text in said)


def test_a_workbook_has_no_hidden_parts(tmp_path: Path) -> None:
    write_excel([printed("North", "South")], tmp_path / "in.xlsx")
    found = read(tmp_path / "in.xlsx")
    write_back(hand_back(found.shapes, found.printing.notations, plan("suppress"))[0], tmp_path / "tables")
    with zipfile.ZipFile(tmp_path / "tables" / "in.xlsx") as book:
        assert not [
            name for name in book.namelist() if "comment" in name or "Chain" in name or "pivot" in name
        ]
        workbook = book.read("xl/workbook.xml").decode()
    assert workbook.count("<sheet ") == 1
    assert "hidden" not in workbook.lower()


def test_the_shape_stays(tmp_path: Path) -> None:
    write_cross_csv([printed("North", "South", notes=("Source: census.",))], tmp_path / "in.csv")
    found = read(tmp_path / "in.csv")
    handed, _ = hand_back(found.shapes, found.printing.notations, plan("suppress"))
    write_back(handed, tmp_path / "tables")
    before = (tmp_path / "in.csv").read_text().splitlines()
    after = (tmp_path / "tables" / "in.csv").read_text().splitlines()
    assert len(before) == len(after)
    changed = {(old, new) for old, new in zip(before, after, strict=True) if old != new}
    inner = {("0-17,1,4711,4712", "0-17,c,c,4712"), ("65+,6101,1,6102", "65+,c,c,6102")}
    assert changed == {
        (f"{area},{old}", f"{area},{new}") for area in ("North", "South") for old, new in inner
    }


def test_texts_that_say_the_same_stay_as_printed() -> None:
    table = printed("North", "South")
    values = [f"{int(value):,}" for value in table.values]
    flags = ["p" if value == "5,023" else "" for value in values]
    found = understood(replace(table, values=values, flags=flags))
    (one,), _ = hand_back(found.shapes, found.printing.notations, plan("suppress"))
    shown = list(zip(one.after.values, one.after.flags, strict=True))
    assert ("5,023", "p") in shown
    assert ("c", "") in shown


def understood(*tables: PrintedTable, **corrections: object) -> Understood:
    given = Corrections(complete=True, **corrections)  # type: ignore[arg-type]
    return understand([replace(table, format="csv", file="in.csv") for table in tables], given)


@pytest.mark.parametrize(
    ("shown", "meaning", "mark"),
    [
        ("[c]", None, "[c]"),  # the office's own
        ("*", "unknown", "*"),
        ("c", "1-4", "x"),  # it would tell that a suppressed count is from 1 to 4
        ("-", None, "c"),  # which readers take for a zero
        ("-", "0", "c"),
    ],
)
def test_suppressed_cells_have_a_mark_that_tells_nothing(shown: str, meaning: str | None, mark: str) -> None:
    other = replace(printed(counts=((3, 2), (7, 9), (8, 6))), name="Other")
    values = [shown if value == "3" else value for value in other.values]
    found = understood(replace(other, values=values), mark={} if meaning is None else {shown: meaning})
    assert suppression_mark(found.shapes, found.printing.notations) == (mark, "")


def test_merged_categories_are_merged_headers() -> None:
    merge = Policy.of("singletons", moves="merge")
    groupings = {"age": {"young": (("0-17", "18-64"),)}}
    merge = replace(merge, change=replace(merge.change, groupings=groupings))
    _, (one,), _ = protected(understood(printed(counts=((1, 4711), (5023, 3307), (6101, 7)))), merge)
    labels = [category.code for category in one.after.dimensions[0].categories]
    assert labels == ["0-64", "65+", "Total"]
    assert list(one.after.values) == ["5024", "8018", "13042", "6101", "7", "6108", "11125", "8025", "19150"]
    assert set(one.states) == {"merged", ""}
    drawn = BeforeAndAfter.of(one)
    assert [text for text, _ in drawn.after.rows[0]] == ["0-64", "5024", "8018", "13042"]
    assert drawn.note() == "Framed: merged."


def test_totals_over_areas_are_refused() -> None:
    check_linked(understood(printed("North", "South")).shapes)
    with pytest.raises(ReleaseError, match="totals over area"):
        check_linked(understood(printed("North", "South", "Total"), area=("area",)).shapes)
    whole = printed("North", "South", "Land")
    values = [
        str(2 * int(value)) if code == 2 else value
        for value, code in zip(whole.values, whole.codes[:, 0].tolist(), strict=True)
    ]
    with pytest.raises(ReleaseError, match=r"totals over areas \(Land\)"):
        check_linked(understood(replace(whole, values=values), area=("area",)).shapes)
    check_linked(understood(whole, area=("area",)).shapes)
    both = understood(printed("North", "South"), replace(printed(), name="All"), area=("area",))
    with pytest.raises(ReleaseError, match="table All has no areas"):
        check_linked(both.shapes)


def test_cells_that_were_left_out_are_printed_once_they_are_suppressed() -> None:
    table = printed(counts=((1, 471), (0, 330), (7, 502)))
    kept = [at for at, value in enumerate(table.values) if value != "0"]
    short = replace(table, codes=table.codes[kept], values=[table.values[at] for at in kept])
    found = understood(short, missing="0")
    names = {cell.name for cell in found.releases[""].cells}
    keep = frozenset(("in", name) for name in names if "," not in name or "65+" in name)
    policy = replace(MOVES["suppress"], change=replace(MOVES["suppress"].change, keep_cells=keep))
    _, (one,), _ = protected(found, policy)
    added = len(one.after.values) - len(one.before.values)
    assert added == 1
    assert [one.after.values[at] for at in range(len(one.after.values)) if one.states[at]].count("c") == 4


def test_a_table_without_counts_is_not_handed_back() -> None:
    found = understood(printed())
    safe = protect_areas([Area(release) for release in found.releases], Policy.of("singletons", moves="drop"))
    handed, notes = hand_back(found.shapes, found.printing.notations, safe)
    assert not handed
    assert notes == ["table in is not handed back: no count of it is left"]


def test_imports_are_handed_back_with_what_their_files_say_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = runner(capsys)
    write_excel([printed()], Path("in.xlsx"))
    assert run("import", "in.xlsx", "--complete", "--out", "release", "--no-report").code == 0
    ran = run("protect", "release", "--forbid", "singletons", "--out", "safe")
    assert ran.code == 0, ran.err
    assert "Suppressed: 4 cells, of in." in ran.text
    assert "Publish only tables/, release.toml and counts.csv" in ran.text
    assert {path.name for path in Path("safe/tables").iterdir()} == {"in.xlsx"}
    page = Path("safe/report.html").read_text()
    assert page.index("What was done") < page.index("Before and after") < page.index("Two datasets disagree")
    assert "Suppressed: 4 cells, of in." in page
    assert page.count('<td class="done" title="suppressed">c</td>') == 4
    counts = Path("release/counts.csv")
    text = counts.read_text().replace("3307", "3308").replace("8019", "8020").replace("8330", "8331")
    counts.write_text(text.replace("19144", "19145"))
    Path("release/release.toml").touch()
    assert (
        run("protect", "release/release.toml", "--forbid", "singletons", "--out", "two", "--no-report").code
        == 0
    )
    (table,) = open_printed(Path("two/tables/in.xlsx"))
    assert "3308" in table.values
    assert "3307" not in table.values
    toml = Path("release/release.toml")
    toml.write_text(toml.read_text().replace('name = "in"', 'name = "Others"'))
    assert find_printing(Path("release"), ()) is None


def test_any_input_can_be_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = runner(capsys)
    people = ["town,sex,age", *["a,f,old"] * 3, "a,m,old", *["a,m,young"] * 4, *["b,f,young"] * 5, "b,m,old"]
    Path("people.csv").write_text("\n".join([*people, *["b,m,young"] * 3, ""]))
    formats = [word for one in ("xlsx", "csv", "jsonstat", "sdmx") for word in ("--as", one)]
    given = ["--tables", "sex*age", "--totals", "--by", "town", "--forbid", "singletons", *formats]
    ran = run("protect", "people.csv", *given, "--out", "safe", "--no-report")
    assert ran.code == 0, ran.err
    names = {path.name for path in Path("safe/tables").iterdir()}
    assert names == {"tables.xlsx", "tables.csv", "tables.json", "tables-sdmx.csv"}
    rows = Path("safe/tables/tables-sdmx.csv").read_text().splitlines()
    assert any(row.endswith(",,Q,C") for row in rows)
    safe = st.read_release("safe/release.toml")
    for name in sorted(names):
        again = read(Path("safe/tables") / name)
        for area in safe.areas:
            assert cells(again.releases[area]) == cells(safe[area])
    assert json.loads(Path("safe/run.json").read_text())["parameters"]["as"] == [
        "xlsx",
        "csv",
        "jsonstat",
        "sdmx",
    ]
    ran = run("protect", "people.csv", *given[:-2], "--as", "pdf", "--out", "other")
    assert ran.code == 2
    assert not Path("other").exists()


def test_shapes_know_where_totals_over_areas_are() -> None:
    (shape,) = understood(printed("North", "South")).shapes
    assert isinstance(shape, PrintedShape)
    assert shape.linked_by() == ""
    assert shape.attributes == ("", "age", "sex")
