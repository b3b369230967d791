"""SDMX-CSV: both versions, labels, flags, several data flows; and pysdmx reads what we write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings

from needs import examples, need_module
from printed_tables import cells, make_printed, printed_tables, shown
from showthrough.errors import ReleaseError
from showthrough.formats.printed.sdmx import read_sdmx, write_sdmx
from showthrough.formats.printed.table import PrintedTable


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], list[PrintedTable]]:
    """Read lines as a file."""

    def reader(text: str) -> list[PrintedTable]:
        (tmp_path / "flow.csv").write_text(text)
        return read_sdmx(tmp_path / "flow.csv")

    return reader


def test_eurostat(read) -> None:
    """Version 1.0; codes that look like numbers stay codes."""
    [table] = read(
        "DATAFLOW,LAST UPDATE,freq,age,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS\n"
        "ESTAT:CENS(1.0),01/02/24 11:00:00,A,01,BE,2021,5,,F\n"
        "ESTAT:CENS(1.0),01/02/24 11:00:00,A,02,BE,2021,,c,\n"
        "ESTAT:CENS(1.0),01/02/24 11:00:00,A,01,FR,2021,7,b,\n"
        "ESTAT:CENS(1.0),01/02/24 11:00:00,A,02,FR,2021,,,C\n"
    )
    dimensions = [("freq", ["A"]), ("age", ["01", "02"]), ("geo", ["BE", "FR"]), ("TIME_PERIOD", ["2021"])]
    assert shown(table) == (dimensions, ["5", "|c", "7|b", "|C"])
    assert (table.name, [one.role for one in table.dimensions]) == ("CENS", ["", "", "area", "time"])
    assert (table.rows, table.columns[0]) == ((2, 3, 4, 5), 7)


def test_labels_beside_codes(read) -> None:
    """Version 2.0 with labels in cells, and with labels in columns of their own, as the OECD has them."""
    [both] = read(
        "STRUCTURE,STRUCTURE_ID,ACTION,REF_AREA: Area,SEX: Sex,OBS_VALUE,OBS_STATUS: Status\n"
        "dataflow,X:F(1.0): Flow,I,01: North,M: Men,5,A: Normal\n"
        "dataflow,X:F(1.0): Flow,I,01: North,F: Women,6,P: Provisional\n"
    )
    [apart] = read(
        "STRUCTURE,STRUCTURE_ID,STRUCTURE_NAME,ACTION,REF_AREA,Area,SEX,Sex,OBS_VALUE,OBS_STATUS,Status\n"
        "DATAFLOW,X:F(1.0),Flow,I,01,North,M,Men,5,A,Normal\n"
        "DATAFLOW,X:F(1.0),Flow,I,01,North,F,Women,6,P,Provisional\n"
    )
    assert both.dimensions == apart.dimensions
    assert shown(both) == shown(apart) == ([("REF_AREA", ["01"]), ("SEX", ["M", "F"])], ["5", "6|P"])
    assert [one.label for one in both.dimensions[1].categories] == ["Men", "Women"]
    assert both.title == "Flow"


def test_several_flows_deletions_and_partial_keys(read) -> None:
    first, second = read(
        "STRUCTURE,STRUCTURE_ID,ACTION,SEX,AGE,OBS_VALUE,TITLE\n"
        "dataflow,X:A(1.0),I,,,,Population\n"
        "dataflow,X:A(1.0),I,M,,5,\n"
        "dataflow,X:A(1.0),I,F,,6,\n"
        "dataflow,X:A(1.0),D,F,,7,\n"
        "dataflow,X:B(1.0),I,,young,11,\n"
    )
    assert (first.name, shown(first)) == ("A", ([("SEX", ["M", "F"])], ["5", "6"]))
    assert (second.name, shown(second)) == ("B", ([("AGE", ["young"])], ["11"]))


HEAD = "DATAFLOW,SEX,OBS_VALUE,UNIT_MULT\n"
WRONG = {
    "a,b\n1,2\n": "row 1: not an SDMX-CSV file",
    "": "not an SDMX-CSV file",
    "DATAFLOW,SEX,SEX,OBS_VALUE\n": "row 1, column B: two columns have the same name",
    "DATAFLOW,OBS_VALUE\nX,1\n": "row 1, column B: no dimension stands before OBS_VALUE",
    HEAD: "the file has no observation",
    HEAD + "X,M,5\n": "row 2: the row has 3 fields, the header 4",
    HEAD + "X,M,5,0\nX,M,6,0\n": r"row 3, column C: .* same codes as that in row 2 \(found '6'\)",
    HEAD + "X,M,5,0\nX,,6,0\n": "row 3, column B: the observation has no SEX",
    HEAD + "X,M,5,3\n": r"row 2, column D: the values are not counts .*\(found '3'\)",
    HEAD + "X,M: Men,5,0\nX,M: Males,6,0\n": "row 3, column B: the code M has two labels",
    HEAD + 'X,"M,5,0\n': "row 2: the row cannot be split",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_places_are_named(read, text: str) -> None:
    with pytest.raises(ReleaseError, match=WRONG[text]):
        read(text)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    first = make_printed(
        "5 c <5 1,234 7 ..", {"REF_AREA": "01~North 02~South", "Age group": "0-15 16+ Total"}, title="Flow"
    )
    second = make_printed("1 2", {"SEX": "M F"}, name="T 2", flags=("", "P"))
    path = tmp_path / "flow.csv"
    write_sdmx([first, second], path)
    one, two = read_sdmx(path)
    assert [(two.name, two.title), shown(two)] == [("T_2", "T 2"), ([("SEX", ["M", "F"])], ["1", "2|P"])]
    assert (one.title, one.dimensions[0]) == ("Flow", one.dimensions[0])
    assert [found.label for found in one.dimensions] == ["", "Age group"]
    assert list(cells(one).values()) == [
        ("5", ""),
        ("", "Q C"),
        ("<5", ""),
        ("1234", ""),
        ("7", ""),
        ("", ".."),
    ]
    write_sdmx([one, two], tmp_path / "again.csv")
    assert [shown(table) for table in read_sdmx(tmp_path / "again.csv")] == [shown(one), shown(two)]
    with pytest.raises(ReleaseError, match="at least one"):
        write_sdmx([], path)


def test_pysdmx_reads_what_we_write(tmp_path: Path) -> None:
    peer = need_module("pysdmx.io.csv.sdmx20.reader", "pysdmx is the peer")
    table = make_printed("5 c 3 7", {"REF_AREA": "N S", "SEX": "M F"})
    write_sdmx([table], tmp_path / "flow.csv")
    [found] = peer.read((tmp_path / "flow.csv").read_text())
    assert found.short_urn == "Dataflow=OFFICE:T1(1.0)"
    assert list(found.data.columns) == ["REF_AREA", "SEX", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"]
    assert found.data["OBS_VALUE"].tolist() == ["5", "", "3", "7"]
    assert found.data["CONF_STATUS"].tolist() == ["F", "C", "F", "F"]


def test_pysdmx_takes_codes_for_numbers() -> None:
    """Why the reader is our own; if this fails, look at pysdmx again."""
    peer = need_module("pysdmx.io.csv.sdmx10.reader", "pysdmx is the peer")
    [found] = peer.read("DATAFLOW,GEO,OBS_VALUE\nX:F(1.0),01,5\n")
    assert found.data["GEO"].tolist() == ["1"]


@given(table=printed_tables())
@settings(max_examples=examples(50), deadline=None)
def test_labels_of_all_kinds(tmp_path_factory, table: PrintedTable) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    write_sdmx([table], path)
    [again] = read_sdmx(path)
    assert list(cells(again)) == list(cells(table))
    assert not any(line.startswith(("=", "+", "@")) for line in path.read_text().splitlines())
