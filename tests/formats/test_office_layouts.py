"""Forty layouts: imported, exported and imported again, with the same counts and the same claims."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from printed_tables import make_printed
from showthrough.formats.meaning.understand import understand
from showthrough.formats.meaning.understood import Corrections
from showthrough.formats.printed.excel import write_excel
from showthrough.formats.printed.jsonstat import write_jsonstat
from showthrough.formats.printed.office import open_printed
from showthrough.formats.printed.print_grid import write_cross_csv, write_tidy
from showthrough.formats.printed.sdmx import write_sdmx
from showthrough.formats.printed.table import PrintedTable
from showthrough.release import Release
from showthrough.tables.audit import audit

#: Format → how its files' names end, and what writes them.
FORMATS = {
    "excel": ("xlsx", write_excel),
    "cross table": ("csv", write_cross_csv),
    "tidy": ("csv", write_tidy),
    "json-stat": ("json", write_jsonstat),
    "sdmx": ("csv", write_sdmx),
}

#: Without totals: levels of headers, marks of different kinds, codes beside labels.
PLAIN = {
    "one level": make_printed("3 c 4 9 8 5", {"job": "clerk baker smith", "sex": "m f"}),
    "two levels": make_printed(
        "3 .. 4 9 8 5 2 1", {"job": "clerk baker", "sex": "m f", "age": "0-15 16+"}, across=2
    ),
    "codes": make_printed("3 <5 4 9", {"job": "J01~Clerk J02~Baker", "sex": "m~Men f~Women"}),
    "unnamed": make_printed("3 [low] 4 9 8 5", {"job": "clerk baker smith", "": "m f"}),
}

#: The same with totals.
TOTALS = {
    "one level": make_printed(
        "3 c 7 4 9 13 8 5 13 15 18 33", {"job": "clerk baker smith Total", "sex": "m f Total"}
    ),
    "two levels": make_printed(
        "3 x 5 2 1 3 5 3 8 1 1 2 4 2 6 5 3 8",
        {"job": "clerk baker", "sex": "m f Total", "age": "0-15 16+ All_ages"},
        across=2,
    ),
    "codes": make_printed("3 - 5 4 9 13 7 11 18", {"job": "J1~Clerk J2~Baker _T~Total", "sex": "m f _T"}),
    "unnamed": make_printed("3 * 5 4 9 13 7 11 18", {"job": "clerk baker All", "": "m f Total"}),
}

LAYOUTS = list(product(FORMATS, PLAIN, ("", "totals")))


def release(tables: list[PrintedTable]) -> Release:
    """The tables as a release, without areas."""
    found = understand(tables, Corrections(area=("none",))).releases
    [area] = found.areas
    return found[area]


def counts(tables: list[PrintedTable]) -> list[tuple[str, str]]:
    """What is published, cell by cell."""
    return [(cell.name, cell.value()) for cell in release(tables).cells]


def claims(tables: list[PrintedTable]) -> list[str]:
    """What is proved."""
    verdicts = audit(release(tables)).of_kind("verified")
    return sorted(f"{verdict.claim.selection} {verdict.claim.multiplicity}" for verdict in verdicts)


def test_there_are_forty() -> None:
    assert len(LAYOUTS) == 40


@pytest.mark.parametrize(("form", "shape", "total"), LAYOUTS)
def test_round_trip(tmp_path: Path, form: str, shape: str, total: str) -> None:
    table = (TOTALS if total else PLAIN)[shape]
    ending, write = FORMATS[form]
    first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    write([table], first)
    once = open_printed(first)
    write(once, second)
    twice = open_printed(second)
    assert len(once) == len(twice) == 1
    assert counts(once) == counts(twice)
    assert sorted(value for _, value in counts(once)) == sorted(value for _, value in counts([table]))


@pytest.mark.parametrize("form", FORMATS)
def test_claims(tmp_path: Path, form: str) -> None:
    table = TOTALS["one level"]
    ending, write = FORMATS[form]
    write([table], tmp_path / f"a.{ending}")
    assert claims(open_printed(tmp_path / f"a.{ending}")) == claims([table]) != []
