"""Grids of cells as tables: the layouts of offices, and what is refused."""

from __future__ import annotations

import gzip
from contextlib import nullcontext

import hypothesis.strategies as hs
import pytest
from hypothesis import given, settings

from needs import examples
from printed_tables import cells, make_printed, printed_tables, shown
from showthrough.errors import ReleaseError
from showthrough.files import lifted_limits
from showthrough.formats.printed import cross_table
from showthrough.formats.printed.cross_table import read_cross_tables, read_grid
from showthrough.formats.printed.grid import TextGrid
from showthrough.formats.printed.print_grid import print_grid, same_cells, write_cross_csv, write_tidy
from showthrough.formats.printed.table import PrintedTable


def grid(text: str, merged: list[tuple[int, int, int, int]] | None = None) -> TextGrid:
    """A grid from lines with bars between cells."""
    rows = [line.split("|") if line else [] for line in text.strip("\n").split("\n")]
    return TextGrid(rows, "S", merged, "f.xlsx", "S")


def read(text: str, merged: list[tuple[int, int, int, int]] | None = None) -> list[PrintedTable]:
    """The tables of such a grid."""
    return read_grid(grid(text, merged))


#: Layout → the dimensions of each table, and its values.
LAYOUTS = {
    "plain": (
        "Table 1\n\nArea|m|f|Total\nNorth|1|2|3\nSouth|c|..|<5\nTotal|5|7|12\n\nSource: office",
        ["Area: North South Total; : m f Total = 1 2 3 c .. <5 5 7 12"],
    ),
    "years": ("Region|2019|2020\nA|5|6\nB|7|8", ["Region: A B; : 2019 2020 = 5 6 7 8"]),
    "two levels": (
        "|Males||Females|\nRegion|2019|2020|2019|2020\nA|5|6|1|2\nB|7|8|3|4",
        ["Region: A B; : Males Females; : 2019 2020 = 5 6 1 2 7 8 3 4"],
    ),
    "named levels": (
        "|sex|||\n|Males||Females|\n|age|||\nRegion|0-15|16+|0-15|16+\nA|5|6|1|2\nB|7|8|3|4",
        ["Region: A B; sex: Males Females; age: 0-15 16+ = 5 6 1 2 7 8 3 4"],
    ),
    "classifications side by side": (
        "Area|Total|Sex||Age||\n||Male|Female|0-15|16-64|65+\nA|10|4|6|2|5|3\nB|20|9|11|5|10|5",
        [
            "Area: A B; Sex: Total Male Female = 10 4 6 20 9 11",
            "Area: A B; Age: Total 0-15 16-64 65+ = 10 2 5 3 20 5 10 5",
        ],
    ),
    "classifications below each other": (
        "Subject|A|B\nSEX\n  Male|10|20\n  Female|12|22\nAGE\n  0-17|5|30\n  18+|17|12",
        ["SEX: Male Female; : A B = 10 20 12 22", "AGE: 0-17 18+; : A B = 5 30 17 12"],
    ),
    "headings that cross": (
        "Age|North|South\nMales\n0-15|3|4\n16+|5|6\nFemales\n0-15|1|2\n16+|7|8",
        [": Males Females; Age: 0-15 16+; : North South = 3 4 5 6 1 2 7 8"],
    ),
    "a total after headings": (
        "Age|A|B\nMales\n0-15|3|4\n16+|5|6\nFemales\n0-15|1|2\n16+|7|8\nTotal|16|20",
        [": Males Females Total; Age: 0-15 16+ Total; : A B = 3 4 5 6 1 2 7 8 16 20"],
    ),
    "a total after indented rows": (
        "Age|A|B\nMales\n  0-15|c|4\n  16+|5|6\nFemales\n  0-15|c|2\n  16+|7|8\nAll persons|16|20",
        [": Males Females All_persons; Age: 0-15 16+ Total; : A B = c 4 5 6 c 2 7 8 16 20"],
    ),
    "a total after headers": (
        "|Males||Females||\nArea|0-15|16+|0-15|16+|Total\nA|1|2|c|4|10\nB|1|2|3|4|10",
        ["Area: A B; : Males Females Total; : 0-15 16+ Total = 1 2 c 4 10 1 2 3 4 10"],
    ),
    "totals of headings": (
        "Age|A\nMales\n0-15|3\n16+|5\nTotal|8\nFemales\n0-15|1\n16+|7\nTotal|8",
        [": Males Females; Age: 0-15 16+ Total; : A = 3 5 8 1 7 8"],
    ),
    "the header once more": ("Area|m|f\nA|1|2\nArea|m|f\nB|3|4", ["Area: A B; : m f = 1 2 3 4"]),
    "a change": ("Area|2019|2020|Change\nA|5|6|1\nB|6|7|1", ["Area: A B; : 2019 2020 = 5 6 6 7"]),
    "sources": ("Area|m|f|Source\nA|1|2|us\nB|3|4|them", ["Area: A B; : m f = 1 2 3 4"]),
    "headings over the values": (
        "Alter|Nord|Süd\n|männlich|\n0-15|3|4\n16+|5|6\n|weiblich|\n0-15|1|2\n16+|7|8",
        [": männlich weiblich; Alter: 0-15 16+; : Nord Süd = 3 4 5 6 1 2 7 8"],
    ),
    "groups that make the total": (
        "Age|A|B\nTotal|10|20\nMinors\n  0-9|1|5\n  10-17|2|5\nAdults\n  18-64|3|6\n  65+|4|4",
        [
            "Age: Total Minors 0-9<Minors 10-17<Minors Adults 18-64<Adults 65+<Adults; : A B"
            " = 10 20 1 5 2 5 3 6 4 4"
        ],
    ),
    "classifications with totals of their own": (
        "Subject|A|B\nSEX|22|42\n  Male|10|20\n  Female|12|22\nAGE|22|42\n  0-17|5|30\n  18+|17|12",
        [
            "SEX: Total Male Female; : A B = 22 42 10 20 12 22",
            "AGE: Total 0-17 18+; : A B = 22 42 5 30 17 12",
        ],
    ),
    "classifications of two levels": (
        "Subject|A|B\nSEX|22|42\n  m|10|20\n  f|12|22\nAGE|22|42\n  0-17|5|30"
        "\n    0-9|2|c\n    10-17|3|c\n  18+|17|12",
        [
            "SEX: Total m f; : A B = 22 42 10 20 12 22",
            "AGE: Total 0-17 0-9<0-17 10-17<0-17 18+; : A B = 22 42 5 30 2 c 3 c 17 12",
        ],
    ),
    "classifications under a total": (
        "Subject|A\nTotal|22\n  Sex\n    Male|10\n    Female|12\n  Age\n    0-17|c\n    18+|17",
        ["Sex: Total Male Female; : A = 22 10 12", "Age: Total 0-17 18+; : A = 22 c 17"],
    ),
    "regions of regions": (
        "Place|A|B\nNorth|5|6\n  a|2|c\n  b|3|c\nSouth|7|8\n  d|3|4\n  e|4|4",
        ["Place: North a<North b<North South d<South e<South; : A B = 5 6 2 c 3 c 7 8 3 4 4 4"],
    ),
    "indentation": (
        "Age|Count\nAll|16\n  0-17|6\n    0-9|2\n    10-17|4\n  18+|10",
        ["Age: All 0-17<All 0-9<0-17 10-17<0-17 18+<All = 16 6 2 4 10"],
    ),
    "indentation that crosses": (
        "Sex|A|B\nMales|5|6\n 0-15|2|c\n 16+|3|c\nFemales|7|8\n 0-15|3|4\n 16+|4|4",
        [": Males Females; Sex: Total 0-15 16+; : A B = 5 6 2 c 3 c 7 8 3 4 4 4"],
    ),
    "codes beside names": (
        "Area code|Area name|All|0-4|5-9 [note 1]|Notes\nE06000001|Hartlepool|10|[c]|4|x"
        "\nE06000002|Redcar|20|11|9|",
        ["Area name: E06000001 E06000002; : All 0-4 5-9 = 10 [c] 4 20 11 9"],
    ),
    "steps": (
        "A|B|C|Count\nEngland|||100\n|North||60\n||Durham|40\n||York|20\n|South||40",
        ["A: England North<England Durham<North York<North South<England = 100 60 40 20 40"],
    ),
    "labels said once": (
        "Region|Sex|0-15|16+\nNorth|M|1|2\n|F|3|4\nSouth|M|5|6\n|F|7|8\nTotal||16|20",
        ["Region: North South Total; Sex: M F Total; : 0-15 16+ = 1 2 3 4 5 6 7 8 16 20"],
    ),
    "labels on rows of their own": (
        "Region|Sex|0-15|16+\nNorth\n|M|1|2\n|F|3|4\nSouth\n|M|5|6\n|F|7|8",
        ["Region: North South; Sex: M F; : 0-15 16+ = 1 2 3 4 5 6 7 8"],
    ),
    "tidy": (
        "area|age|sex|count\nN|0|m|1\nN|1|m|2\nN|0|f|3\nN|1|f|c",
        ["area: N; age: 0 1; sex: m f = 1 2 3 c"],
    ),
    "Destatis": (
        "Bevölkerung: Kreise\nStichtag: 31.12.2020\n|Altersgruppen|||\nKreis|unter 18|ab 65"
        "|Insgesamt 1)\n1|2|3|4\nFlensburg|123|-|168\nKiel|1.234|345|3.924\n__________\n(C) office",
        ["Kreis: Flensburg Kiel; Altersgruppen: unter_18 ab_65 Insgesamt = 123 - 168 1.234 345 3.924"],
    ),
    "Eurostat": (
        "GEO|2019||2020|\nBelgium|123|b|124|p\nFrance|:|c|55|",
        ["GEO: Belgium France; : 2019 2020 = 123|b 124|p :|c 55"],
    ),
    "flags in cells": (
        "GEO|a|b\nBelgium|123 b|45 [note 2]\nFrance|: c|12ᵃ",
        ["GEO: Belgium France; : a b = 123|b 45|[note_2] :|c 12|ᵃ"],
    ),
    "two tables": (
        "Table 1\nArea|m|f\nN|1|2\nS|3|4\n\nTable 2\nArea|young|old\nN|2|1\nS|3|4\nNote: x",
        ["Area: N S; : m f = 1 2 3 4", "Area: N S; : young old = 2 1 3 4"],
    ),
    "blank rows": ("Area|m|f\nN|1|2\n\nS|3|4\n\nTotal|4|6", ["Area: N S Total; : m f = 1 2 3 4 4 6"]),
    "metadata above": (
        "population :|All residents\nunits :|Persons\ndate :|2021\n\nArea|Male|Female\nX|4|6\nY|5|7",
        ["Area: X Y; : Male Female = 4 6 5 7"],
    ),
    "words above": (
        "Contact|office\nRights|open\n\nArea|Male|Female\nX|4|6\nY|5|7",
        ["Area: X Y; : Male Female = 4 6 5 7"],
    ),
    "a row without values": ("Area|m|f\nA|1|2\nB||\nC|3|4", ["Area: A B C; : m f = 1 2   3 4"]),
    "ages that look like marks": (
        "Sex|<15|15-64|65+\nm|<5|4|10\nf|5|c|12+",
        ["Sex: m f; : <15 15-64 65+ = <5 4 10 5 c 12+"],
    ),
    "percentages": ("Area|N|%\nA|5|50\nB|5|50\nMean|5|50", ["Area: A B = 5 5"]),
    "percentages beside each count": (
        "|Males||Females|\nArea|Number|%|Number|%\nA|5|50|5|50\nB|6|60|4|40\nMedian age|30|0|31|0",
        ["Area: A B; : Males Females = 5 5 6 4"],
    ),
    "unknown marks": (
        "Area|m|f\nA|hush|hush\nB|1|2\nC|hush|3",
        ["Area: A B C; : m f = hush hush 1 2 hush 3"],
    ),
    "corner names both": ("age \\ sex|m|f\nyoung|1|2\nold|3|4", ["age: young old; sex: m f = 1 2 3 4"]),
    "pandas": (
        "sex|m|m|f|f\nage|young|old|young|old\narea\nN|1|2|3|4\nS|5|6|7|8",
        ["area: N S; sex: m f; age: young old = 1 2 3 4 5 6 7 8"],
    ),
    "numbers that are labels": ("age|m|f\n0|1|2\n1|3|4\n10|5|6", ["age: 0 1 10; : m f = 1 2 3 4 5 6"]),
    "year after region": (
        "Region|Year|m|f\nA|2019|1|2\nA|2020|3|4\nB|2019|5|6\nB|2020|7|8",
        ["Region: A B; Year: 2019 2020; : m f = 1 2 3 4 5 6 7 8"],
    ),
}  # fmt: skip


def told(table: PrintedTable) -> str:
    """A table in one line."""
    dimensions, values = shown(table)
    listed = "; ".join(
        f"{name}: {' '.join(label.replace(' ', '_') for label in labels)}" for name, labels in dimensions
    )
    return f"{listed} = {' '.join(value.replace(' ', '_') for value in values)}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout(layout: str) -> None:
    text, expected = LAYOUTS[layout]
    tables = read(text)
    assert [told(table) for table in tables] == expected
    for table in tables:  # printed again, the same is read
        printed = print_grid(table)
        assert same_cells(read_grid(TextGrid(printed.rows, "S", printed.merged))[0], table)


def test_titles_notes_places_and_remarks() -> None:
    [table] = read("Table 1\n\nArea|m|Total (1)\nN|1|2\nS|3|4\n\n(1) of both\nSource: us")
    assert (table.title, table.notes) == ("Table 1", ("(1) of both", "Source: us"))
    assert (table.rows, table.columns) == ((4, 4, 5, 5), (2, 3, 2, 3))
    assert table.remarks == ("the marker (1) after 'Total' was read as that of a footnote",)
    assert (table.name, table.sheet, table.file, table.across) == ("S", "S", "f.xlsx", 1)


def test_figures_that_count_nobody_are_named() -> None:
    [table] = read("Area|N|Share (%)|Notes\nA|5|50|x\nB|5|50|\nMedian|5|50|")
    assert table.remarks == (
        "column 'Share (%)' holds no counts and was left out",
        "column 'Notes' holds no counts and was left out",
        "row 4 holds no counts and was left out",
    )
    assert read("Area|%\nA|50\nB|50") == []  # nothing but percentages


def test_markers_that_tell_labels_apart_stay() -> None:
    [table] = read("Area|Room (1)|Room (2)\nN|1|2\nS|3|4")
    assert [one.code for one in table.dimensions[1].categories] == ["Room (1)", "Room (2)"]


def test_merged_cells_are_believed() -> None:
    """The total stands beside the two, not under Females."""
    text = "|Males||Females||All\nArea|a|b|a|b|\nN|1|2|3|4|10\nS|1|2|3|4|10"
    [table] = read(text, [(0, 1, 0, 2), (0, 3, 0, 4)])
    assert told(table).startswith("Area: N S; : Males Females All; : a b Total = ")


def test_a_number_of_years_is_not_a_count() -> None:
    """A first row of values that happen to be years is not a header."""
    [table] = read("Area|m|f\nA|1999|2001\nB|5|6")
    assert table.values == ("1999", "2001", "5", "6")


#: Grid → parts of the message.
REFUSED = {
    "Area|m|m\nA|1|2": ["sheet S, row 1, column C", "same header", "'m'"],
    "Area|m|\nA|1|2\nB|3|4": ["sheet S, row 1, column C", "no header"],
    "Area|m|f\nA|1|2\n|3|4": ["sheet S, row 3, column A", "no label"],
    "Area|m|f\nA|1|2\nA|3|4": ["sheet S, row 3, column B", "same labels", "row 2"],
    "Area|Sex||Age|\n|m|f|0-15|16+\nA|c|6|2|5": ["sheet S, row 1, column B", "Sex, Age", "table of its own"],
    "Area|m|f||Area|young|old\nA|1|2||A|2|1\nB|3|4||B|3|4": ["row 2, column E", "column of words", "'A'"],
    # Whether somebody's sex is not stated, or the ages are other people, does not show.
    "Area|Sex||Age|\n|m|f|0-15|16+\nA|4|5|2|8\nB|4|5|2|9": ["Sex, Age"],
    "Area|Total|Sex||Age|\n||m|f|0-15|16+\nA|10|4|5|2|c\nB|11|4|5|2|c": ["Sex, Age"],
    "Subject|A\nSEX|7\n  m|3\n  f|4\nAGE|7\n  0-15|2\n  16+|5": ["SEX, AGE"],
    "Subject|A|B\nSEX\n  Total|1|2\n  All|3|4\nAGE\n  0-15|2|5\n  16+|5|7": ["SEX, AGE"],  # totals of nothing
    "Persons (thousands)\n\nArea|m|f\nA|1|2": ["sheet S, row 3", "thousands or more"],
    "Area|m|f ('000)\nA|1|2": ["sheet S, row 1", "thousands or more", "f ('000)"],
    "Age|A\nMinors\n0-9|1\n10-17|2\nAdults\n18-64|c\n65+|4": ["sheet S, row 3", "Minors, Adults"],
    "Age|A\nMinors\n0-9|3\n10-17|4\nAdults\n18-64|2\n65+|5": ["Minors, Adults"],  # equal by chance, once
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(ReleaseError) as found:
        read(text)
    for part in REFUSED[text]:
        assert part in str(found.value)


def test_no_table(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Read me\nThis file has notes only\n")
    with pytest.raises(ReleaseError, match="no table was found"):
        read_cross_tables(path)
    path.write_text("A,5,6\nB,7,8\n")  # no header: the first row is not taken for one
    with pytest.raises(ReleaseError, match="no table was found"):
        read_cross_tables(path)


def test_csv_files(tmp_path) -> None:
    text = "Gebiet;m;w\nNord;1;2\nSüd;3;4\n"
    plain, packed = tmp_path / "a.csv", tmp_path / "b.csv.gz"
    plain.write_text("\ufeff" + text, "utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, packed):
        [table] = read_cross_tables(path)
        assert told(table) == "Gebiet: Nord Süd; : m w = 1 2 3 4"
        assert table.name == path.name[0]


def test_csv_files_that_are_damaged(tmp_path) -> None:
    path = tmp_path / "a.csv"
    for content, part in (
        (b'Area,m\nA,"1\n', "row 2: the row cannot be split"),
        (b"Area,m\nA,\xff\n", "row 2: the text is not UTF-8"),
        ("Area,m\nA,1\n".encode("utf-16"), "not UTF-8"),
        (b"", "no table was found"),
    ):
        path.write_bytes(content)
        with pytest.raises(ReleaseError, match=part):
            read_cross_tables(path)


def test_limits(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Area,m,f\nA,1,2\nB,3,4\n")
    for limit in ("MOST_CELLS", "MOST_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(cross_table, limit, 5)
            with pytest.raises(ReleaseError, match="--no-limits"):
                read_cross_tables(path)
            with lifted_limits():
                assert len(read_cross_tables(path)) == 1


def test_several_tables_in_one_file(tmp_path) -> None:
    one = make_printed("1 2 3 c", {"area": "N S", "sex": "m f"}, title="First", notes=("Source",))
    two = make_printed("5 6 7", {"age": "young old Total"}, title="Second")
    write_cross_csv([one, two], tmp_path / "a.csv")
    found = read_cross_tables(tmp_path / "a.csv")
    assert all(map(same_cells, found, [one, two]))
    assert [(table.title, table.notes) for table in found] == [("First", ("Source",)), ("Second", ())]


def test_labels_are_no_formulas(tmp_path) -> None:
    table = make_printed("1 2 3 - -5 c", {"area": "=1+1 @x", "sex": "+cmd -m f"})
    write_cross_csv([table], tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    assert [mark for mark in (",=", ",@", ",+", "\n=", "\n@", "\n+") if mark in text] == []
    assert cells(read_cross_tables(tmp_path / "a.csv")[0]) == cells(table)
    write_tidy([table], tmp_path / "b.csv")
    assert "\n'=1+1,'+cmd,1\n" in (tmp_path / "b.csv").read_text()


def test_a_table_that_cannot_be_printed_is_refused(tmp_path) -> None:
    table = make_printed("1 2", {"area": "N N_[1]"})
    with pytest.raises(ReleaseError, match=r"at least one"):
        write_cross_csv([], tmp_path / "a.csv")
    with pytest.raises(ReleaseError, match=r"JSON-stat"):
        write_cross_csv([make_printed("Adam Eve", {"sex": "m f"})], tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    write_cross_csv([table], tmp_path / "a.csv")
    assert cells(read_cross_tables(tmp_path / "a.csv")[0]) == cells(table)


@given(printed_tables())
@settings(max_examples=examples(60), deadline=None)
def test_what_is_printed_is_read_again(table: PrintedTable) -> None:
    try:
        printed = print_grid(table)
    except ReleaseError:
        return
    [again] = read_grid(TextGrid(printed.rows, "S", printed.merged))
    assert same_cells(again, table)


def can_be_read(rows: list[list[str]]) -> bool:
    """Whether reading raises no error of ours."""
    try:
        read_grid(TextGrid(rows, "S"))
    except ReleaseError:
        return False
    return True


TEXTS = hs.sampled_from(["", "a", " b", "Total", "5", "c", "2020", "[x]", "Sex"])


@given(hs.lists(hs.lists(TEXTS, max_size=5), max_size=8))
@settings(max_examples=examples(150), deadline=None)
def test_any_grid_is_read_or_refused(rows: list[list[str]]) -> None:
    tables: list[PrintedTable] = []
    with nullcontext() if can_be_read(rows) else pytest.raises(ReleaseError, match=r"sheet S, row \d"):
        tables = read_grid(TextGrid(rows, "S", None, "f.xlsx", "S"))
    for table in tables:
        assert len({tuple(key) for key in table.codes.tolist()}) == len(table.values)
