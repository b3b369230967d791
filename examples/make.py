"""Make the example files: ``python examples/make.py FOLDER``. The same bytes each time.

All numbers are invented. The layouts are those of the offices' downloads.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import xlsxwriter

#: Persons by district, age group and sex, from which most files are made.
AREAS = {"E01000001": "Ashford", "E01000002": "Birch Hill", "E01000003": "Castle Lea"}
COUNTS = {
    "Ashford": {"Female": (4, 11, 3), "Male": (5, 9, 2)},
    "Birch Hill": {"Female": (1, 7, 6), "Male": (3, 8, 1)},
    "Castle Lea": {"Female": (2, 12, 4), "Male": (0, 10, 3)},
}
AGES = ("0 to 15", "16 to 64", "65 and over")

ACCESSIBLE = "01-accessible-tables.xlsx"


def main(folder: Path) -> None:
    """Write every file."""
    folder.mkdir(parents=True, exist_ok=True)
    write_accessible(folder / ACCESSIBLE)
    write_pivot(folder / "02-merged-headers.xlsx")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "08-pxweb.json").write_text(json.dumps(px(), indent=1, ensure_ascii=False) + "\n", "utf-8")


def open_book(path: Path) -> Any:
    """A workbook that is always of the same date."""
    book = xlsxwriter.Workbook(path)
    book.set_properties({"created": datetime.datetime(2000, 1, 1)})
    return book


def put(sheet: Any, rows: list[list[str | int]], start: int = 0) -> None:
    """Write rows of texts and numbers."""
    for at, row in enumerate(rows, start):
        for column, value in enumerate(row):
            if value != "":
                sheet.write(at, column, value)


def shown(count: int) -> str | int:
    """A count as the office shows it: small ones are withheld."""
    return "[c]" if 0 < count < 3 else count


def write_accessible(path: Path) -> None:
    """A cover, notes, and a table that starts in row 6, as the guidance for accessible spreadsheets asks."""
    book = open_book(path)
    cover, notes, table = (book.add_worksheet(name) for name in ("Cover", "Notes", "Table_1"))
    put(
        cover,
        [
            ["Persons by age and sex, districts"],
            ["Published by the office"],
            [],
            ["Contact", "statistics desk"],
        ],
    )
    put(notes, [["Notes"], ["Note number", "Note text"], ["[note 1]", "Usual residents."]])
    rows: list[list[str | int]] = [
        ["Table 1: Persons by sex, districts [note 1]"],
        ["This worksheet contains one table."],
        ["[c]: withheld because the count is small."],
        [],
        ["Area code", "Area name", "All persons", "Female", "Male [note 1]"],
    ]
    sums = {area: {sex: sum(counts) for sex, counts in by.items()} for area, by in COUNTS.items()}
    for code, area in AREAS.items():
        rows.append([code, area, sum(sums[area].values()), sums[area]["Female"], sums[area]["Male"]])
    put(table, rows)
    ages: list[list[str | int]] = [
        [code, area, sum(sums[area].values()), *(shown(sum(both)) for both in zip(*by.values(), strict=True))]
        for (code, area), by in zip(AREAS.items(), COUNTS.values(), strict=True)
    ]
    head: list[str | int] = ["Area code", "Area name", "All ages", *AGES]
    put(book.add_worksheet("Table_2"), [["Table 2: Persons by age, districts"], [], head, *ages])
    book.close()


def write_pivot(path: Path) -> None:
    """Headers of two levels in merged cells, districts in rows."""
    book = open_book(path)
    sheet = book.add_worksheet("Persons")
    head = book.add_format({"bold": True, "align": "center"})
    sheet.merge_range(0, 0, 0, 6, "Persons by district, sex and age", head)
    for at, sex in enumerate(("Female", "Male")):
        sheet.merge_range(2, 1 + 3 * at, 2, 3 + 3 * at, sex, head)
    put(sheet, [["District", *AGES, *AGES]], 3)
    rows = [
        [
            area,
            *(
                count if count > 2 or count == 0 else "c"
                for counts in COUNTS[area].values()
                for count in counts
            ),
        ]
        for area in AREAS.values()
    ]
    put(sheet, rows, 4)  # type: ignore[arg-type]
    put(sheet, [["c: fewer than three"]], 8)
    book.close()


def px() -> dict[str, Any]:
    """A data set of a PxWeb site: ages in two levels; the status of a missing value is its mark."""
    ages = {
        "TOT": "Total",
        "0-17": "0-17 years",
        "0-9": "0-9 years",
        "10-17": "10-17 years",
        "18+": "18 years or older",
    }
    index = ["TOT", "0-17", "0-9", "10-17", "18+"]
    inside = {"TOT": ["0-17", "18+"], "0-17": ["0-9", "10-17"]}
    sexes = {"T": "Total", "1": "men", "2": "women"}
    return {
        "version": "2.0",
        "class": "dataset",
        "label": "Population by age and sex",
        "source": "The office",
        "id": ["Age", "Sex"],
        "size": [5, 3],
        "dimension": {
            "Age": {"label": "age", "category": {"index": index, "label": ages, "child": inside}},
            "Sex": {"label": "sex", "category": {"index": list(sexes), "label": sexes}},
        },
        "value": [31, 16, 15, 9, 5, 4, 4, None, None, 5, None, None, 22, 11, 11],
        "status": {"7": "..", "8": "..", "10": "..", "11": ".."},
    }


TEXTS = {
    "03-headings.csv": """\
"Table 17-10: Population by sex and age group"
"Geography: Harbour Town"
,,,
"Sex and age group","Census 2016","Census 2021"
"Both sexes"
"  0 to 14 years",8,9
"  15 years and over",31,33
"Males"
"  0 to 14 years",5,x
"  15 years and over",14,16
"Females"
"  0 to 14 years",3,x
"  15 years and over",17,17
,,,
"Symbols: x suppressed to meet the confidentiality requirements of the Statistics Act"
""",
    "04-profile.csv": """\
Label,Block 1001,Block 1002
Total population,14,23
SEX
    Male,6,12
    Female,8,11
AGE
    Under 18 years,3,7
    18 to 64 years,10,12
    65 years and over,1,4
""",
    "05-semicolons.csv": """\
Bevölkerung: Gemeinden, Geschlecht, Altersgruppen
Stichtag: 31.12.2024
;Altersgruppen;;;
Gemeinde;unter 18;18 bis 64;65 und mehr;Insgesamt 1)
1;2;3;4;5
Ahausen;12;31;.;52
Bergdorf;.;22;11;37
Insgesamt;16;53;20;89
__________
1) Ohne Personen ohne Angabe.
. = Zahlenwert unbekannt oder geheim zu halten
""",
    "06-sdmx-1.csv": """\
DATAFLOW,LAST UPDATE,freq,sex,age,geo,TIME_PERIOD,OBS_VALUE,OBS_FLAG,CONF_STATUS
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,T,TOTAL,XX01,2021,33,,F
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,T,Y_LT15,XX01,2021,7,,F
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,T,Y_GE15,XX01,2021,26,,F
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,M,TOTAL,XX01,2021,15,,F
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,M,Y_LT15,XX01,2021,,,C
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,M,Y_GE15,XX01,2021,,,C
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,F,TOTAL,XX01,2021,18,,F
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,F,Y_LT15,XX01,2021,5,p,F
ESTAT:CENS_21(1.0),14/02/24 11:00:00,A,F,Y_GE15,XX01,2021,13,,F
""",
    "07-sdmx-2.csv": """\
STRUCTURE,STRUCTURE_ID,STRUCTURE_NAME,ACTION,REF_AREA,Area,SEX,Sex,TENURE,Tenure,OBS_VALUE,OBS_STATUS
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,01,North,M,Male,O,Owned,7,A
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,01,North,M,Male,R,Rented,4,A
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,01,North,F,Female,O,Owned,6,A
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,01,North,F,Female,R,Rented,,Q
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,02,South,M,Male,O,Owned,9,A
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,02,South,M,Male,R,Rented,,Q
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,02,South,F,Female,O,Owned,8,A
DATAFLOW,OFFICE:HOMES(1.0),Homes,I,02,South,F,Female,R,Rented,5,A
""",
    "09-tidy.csv": """\
school,grade,result,pupils
Elm Road,5,passed,11
Elm Road,5,failed,c
Elm Road,5,Total,13
Elm Road,6,passed,9
Elm Road,6,failed,4
Elm Road,6,Total,13
Elm Road,Total,passed,20
Elm Road,Total,failed,6
Elm Road,Total,Total,26
""",
}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
