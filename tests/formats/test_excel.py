"""Excel files: as offices lay them out, damaged, hostile, and written so that they are read again."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from needs import need_module
from printed_tables import cells, make_printed, shown
from showthrough.errors import ReleaseError
from showthrough.files import Limits, NotWritten, lifted_limits
from showthrough.formats.printed import excel
from showthrough.formats.printed.excel import read_excel, write_excel
from showthrough.formats.printed.table import PrintedTable

need_module("python_calamine", "Excel files are read by python-calamine")
xlsxwriter = need_module("xlsxwriter", "Excel files are written by XlsxWriter")


@pytest.fixture
def book(tmp_path: Path) -> Callable[..., Path]:
    """Make a workbook: sheet → what writes it."""

    def make(**sheets: Callable[[Any], object]) -> Path:
        path = tmp_path / "tables.xlsx"
        made = xlsxwriter.Workbook(path)
        for name, fill in sheets.items():
            fill(made.add_worksheet(name))
        made.close()
        return path

    return make


def fill(text: str) -> Callable[[Any], object]:
    """Write lines with bars between cells; digits become numbers."""

    def write(sheet: Any) -> None:
        for row, line in enumerate(text.split("\n")):
            for column, cell in enumerate(line.split("|")):
                if cell.isdigit():
                    sheet.write_number(row, column, int(cell))
                elif cell:
                    sheet.write_string(row, column, cell)

    return write


TABLE = "Area|m|f\nNorth|3|c\nSouth|8|1 234"


def test_sheets(book) -> None:
    """Cover and notes are left out, and a remark says so; a hidden sheet is read."""

    def hidden(sheet: Any) -> None:
        fill("Area|young|old\nNorth|1|2\nSouth|3|4")(sheet)
        sheet.hide()

    path = book(
        Cover=fill("Population\n\nContact|office"), T1=fill(TABLE), T2=hidden, Notes=fill("[1]|revised")
    )
    first, second = read_excel(path)
    assert shown(first) == ([("Area", ["North", "South"]), ("", ["m", "f"])], ["3", "c", "8", "1 234"])
    assert first.remarks == (
        "sheet Cover has no table and was left out",
        "sheet Notes has no table and was left out",
    )
    assert (second.sheet, second.name, second.remarks) == ("T2", "T2", ())
    assert (second.rows, second.columns) == ((2, 2, 3, 3), (2, 3, 2, 3))


def test_merged_headers_hidden_rows_and_numbers_as_text(book) -> None:
    def write(sheet: Any) -> None:
        sheet.merge_range(0, 0, 0, 5, "Table 1: people (1)")
        sheet.merge_range(2, 1, 2, 2, "Males")
        sheet.merge_range(2, 3, 2, 4, "Females")
        sheet.merge_range(2, 5, 3, 5, "All")
        for column, text in enumerate(["Area", "0-15", "16+", "0-15", "16+"]):
            sheet.write_string(3, column, text)
        for row, values in enumerate((["North", "1", 2, "3", 4, 10.0], ["South", 5, 6, 7, "x", "1,234"]), 4):
            for column, value in enumerate(values):
                sheet.write(row, column, value)
        sheet.set_row(5, None, None, {"hidden": True})
        sheet.write_string(7, 0, "(1) on census day")

    [table] = read_excel(book(T=write))
    assert shown(table) == (
        [("Area", ["North", "South"]), ("", ["Males", "Females", "All"]), ("", ["0-15", "16+", "Total"])],
        ["1", "2", "3", "4", "10", "5", "6", "7", "x", "1,234"],
    )
    assert (table.title, table.notes) == ("Table 1: people (1)", ("(1) on census day",))


def test_decimals_are_not_thousands(book) -> None:
    """1.234 in a cell is a decimal number, however a German file would print it."""

    def write(sheet: Any) -> None:
        fill("Area|m|f\nNorth|3|4")(sheet)
        sheet.write_number(1, 1, 1.234)

    assert read_excel(book(T=write))[0].values == ("1.2340", "4")


REFUSED = {
    "Area|m|m\nA|1|2": "sheet T, row 1, column C: two columns have the same header",
    "Area|m|f\nA|1|2\n|3|4": "sheet T, row 3, column A: a row of values has no label",
    "Area|Sex||Age|\n|m|f|0-15|16+\nA|c|6|2|5": "sheet T, row 1, column B: the headings may be parts",
    "Just words": "no table was found",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(book, text: str) -> None:
    with pytest.raises(ReleaseError, match=REFUSED[text]):
        read_excel(book(T=fill(text)))


def test_damaged_files(book, tmp_path: Path) -> None:
    """Cut, garbled, empty, something else: a sentence, and no traceback."""
    whole = book(T=fill(TABLE)).read_bytes()
    path = tmp_path / "damaged.xlsx"
    for content in (
        b"",
        b"PK\x03\x04",
        whole[:-100],
        whole[100:],
        b"a,b\n1,2\n",
        b"\xd0\xcf\x11\xe0" + bytes(600),
    ):
        path.write_bytes(content)
        with pytest.raises(ReleaseError, match=r"damaged or not a spreadsheet|no table was found"):
            read_excel(path)
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            read_excel(path)
        except ReleaseError:
            continue
    with pytest.raises(ReleaseError, match="no such file"):
        read_excel(tmp_path / "nowhere.xlsx")


def test_bombs(tmp_path: Path, book, monkeypatch) -> None:
    """Small files that would need all memory are refused before a library reads them."""
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2**20))
    with monkeypatch.context() as patch:
        patch.setattr(excel, "current_limits", lambda: Limits(unpacked=10_000, ratio=2))
        with pytest.raises(ReleaseError, match=r"unpacks to more than .* --no-limits"):
            read_excel(path)

    def far(sheet: Any) -> None:
        fill(TABLE)(sheet)
        sheet.write_number(1_000_000, 10_000, 1)

    with pytest.raises(ReleaseError, match=r"sheet1.xml has more .*1,000,001 rows and 10,001 columns"):
        read_excel(book(T=far))
    row = '<table-row t:number-rows-repeated="999999">'
    cell = '<table-cell value-type="float" t:number-columns-repeated="999"/>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", f'<table xmlns:t="x">{row}{cell}</table-row></table>')
    with pytest.raises(ReleaseError, match=r"content.xml has more .*999,999 rows and 999 columns"):
        read_excel(path)
    corner = b"\x00\x04\xff\xff\x0f\x00" + b"\x02\x04\xff\x3f\x00\x00"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.bin", corner)
    with pytest.raises(ReleaseError, match=r"1,048,576 rows and 16,384 columns"):
        read_excel(path)


def test_far_cells_of_all_kinds() -> None:
    """Columns beyond the last one, cells without a name, prefixes, other quotes, spaces."""
    for text, found in (
        (b'<c r="BZZZ2"><v>1</v></c>', (2, 53_430)),
        (b"<x:c t='s' r = 'C9999999999'><v>1</v></x:c>", (9_999_999_999, 3)),
        (b'<row r="7"><c><v>1</v></c><c><v>1</v></c></row>', (7, 2)),
        (b'<row r="9"/><c r="A1" s="3"/><cols><col r="Z9"></col></cols>', (0, 0)),
    ):
        assert excel._of_xml(text) == found


def test_open_document_files(tmp_path: Path) -> None:
    """Cells and empty rows may be repeated."""
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
        for short in ("office", "table", "text")
    )

    def row(*texts: str) -> str:
        return f"<table:table-row>{''.join(cell(text) for text in texts)}</table:table-row>"

    def cell(text: str) -> str:
        kind = f'float" office:value="{text}' if text.isdigit() else "string"
        return f'<table:table-cell office:value-type="{kind}"><text:p>{text}</text:p></table:table-cell>'

    blank = '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
    rows = row("Area", "m", "f") + row("North", "3", "c") + row("South", "8", "4") + blank
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    listed = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
    space = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    body = f'<office:spreadsheet><table:table table:name="T">{rows}</table:table></office:spreadsheet>'
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{space}">{listed}</manifest:manifest>',
        )
        archive.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body>{body}</office:body></office:document-content>",
        )
    [table] = read_excel(tmp_path / "a.ods")
    assert shown(table) == ([("Area", ["North", "South"]), ("", ["m", "f"])], ["3", "c", "8", "4"])


def test_a_missing_extra(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"PK")
    for module in ("python_calamine", "xlsxwriter"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ReleaseError, match=r"pip install 'showthrough\[office\]'"):
        read_excel(path)
    with pytest.raises(ReleaseError, match=r"pip install 'showthrough\[office\]'"):
        write_excel([make_printed("1 2", {"sex": "m f"})], path)


def write_and_read(tables: list[PrintedTable], folder: Path) -> list[PrintedTable]:
    """What is read from what was written."""
    write_excel(tables, folder / "out.xlsx")
    return read_excel(folder / "out.xlsx")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    one = make_printed(
        "1 c 3 4_p 5 6_[note_2] 12ᵃ ..",
        {"area": "E01~North E02~South", "sex": "m f", "age": "0-15 16+"},
        across=2, title="First: people", notes=("c: withheld", "Source: office"),
    )  # fmt: skip
    two = make_printed("9 1,234 7", {"age": "young old Total"}, name="T1")
    again = write_and_read([one, two], tmp_path)
    assert [table.sheet for table in again] == ["T1", "T1 2"]
    assert [(table.title, table.notes) for table in again] == [(one.title, one.notes), ("", ())]
    assert again[0].dimensions == one.dimensions
    assert list(cells(again[0]).values())[3:7] == [("4", "p"), ("5", ""), ("6", "[note 2]"), ("12", "ᵃ")]
    assert cells(again[1]) == cells(two)


def test_parents_are_indented(tmp_path: Path) -> None:
    table = make_printed("16 6 2 4 10", {"age": "All 0-17<All 0-9<0-17 10-17<0-17 18+<All"})
    assert shown(write_and_read([table], tmp_path)[0]) == shown(table)


def test_no_formulas_and_no_links(tmp_path: Path) -> None:
    """What looks like a formula, a link or a number is text, and stays what it is."""
    table = make_printed(
        "1 2 3 4 5 6 7 8", {"area": "=1+1 http://a.b @SUM(A1) -x", "sex": "+cmd|'/c_calc'!A0 007"}
    )
    assert cells(write_and_read([table], tmp_path)[0]) == cells(table)
    with zipfile.ZipFile(tmp_path / "out.xlsx") as archive:
        names = archive.namelist()
        sheet = archive.read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet
    assert b"hyperlink" not in sheet
    assert not [name for name in names if "external" in name.casefold() or "rels/sheet" in name]


def test_the_same_tables_make_the_same_bytes(tmp_path: Path, monkeypatch) -> None:
    table = make_printed("1 2 3 c", {"area": "N S", "sex": "m f"})
    write_excel([table], tmp_path / "a.xlsx")
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_excel([table], tmp_path / "b.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_names_of_sheets(tmp_path: Path) -> None:
    names = ["a/b:c*[d]?", "History", "'x'", "", "t" * 40, "t" * 40, "T1", "t1"]
    tables = [make_printed("1 2", {"sex": "m f"}, name=name) for name in names]
    found = [table.sheet for table in write_and_read(tables, tmp_path)]
    assert len({name.casefold() for name in found}) == len(names)
    assert found[:4] == ["a b c  d", "History table", "x", "Table"]
    assert all(len(name) <= 31 for name in found)


def test_nothing_half_written(tmp_path: Path) -> None:
    table = make_printed("1 2", {"sex": "m f"})
    with pytest.raises(ReleaseError, match="at least one"):
        write_excel([], tmp_path / "a.xlsx")
    with pytest.raises(ReleaseError, match="32,767 characters"):
        write_excel([make_printed("1 2", {"sex": f"m {'f' * 40_000}"})], tmp_path / "a.xlsx")
    with pytest.raises(NotWritten):
        write_excel([table], tmp_path / "nowhere" / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_large_sheets_can_be_read_on_request(book, monkeypatch) -> None:
    path = book(T=fill(TABLE))
    monkeypatch.setattr(excel, "MOST_PLACES", 0)
    with pytest.raises(ReleaseError, match="--no-limits"):
        read_excel(path)
    with lifted_limits():
        assert len(read_excel(path)) == 1
