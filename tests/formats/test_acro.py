"""Records of ACRO: its tables of counts are read, and nothing else is taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from showthrough.errors import ReleaseError
from showthrough.formats.printed.acro import acro_files, read_acro
from showthrough.formats.read_tables import read_decided, read_understood

SETTINGS = {"safe_threshold": 10, "zeros_are_disclosive": True}

COUNTS = "sector,A,B\nfarm,15,\nmine,20,31\n"
OK = {"A": {"farm": "ok", "mine": "ok"}, "B": {"farm": "threshold; ", "mine": "ok"}}


def output(
    name: str = "output_0",
    command: str = "acro.crosstab(df.sector, df.grant)",
    *,
    outcome: Any = None,
    summary: dict[str, Any] | None = None,
    properties: dict[str, Any] | None = None,
    kind: str = "table",
) -> dict[str, Any]:
    """One output as ACRO writes it."""
    checks = {"suppressed": True, "negative": 0, "missing": 0, "threshold": 1, "p-ratio": 0, "nk-rule": 0}
    return {
        "uid": name,
        "status": "review",
        "type": kind,
        "properties": {"method": "crosstab"} if properties is None else properties,
        "files": [{"name": f"{name}_0.csv", "sdc": {"summary": {**checks, **(summary or {})}, "cells": {}}}],
        "outcome": OK if outcome is None else outcome,
        "command": command,
        "summary": "review; threshold: 1 cells suppressed; ",
        "timestamp": "2026-06-30T15:19:49.603861",
        "comments": [],
        "exception": "",
    }


def record(
    folder: Path,
    outputs: dict[str, dict[str, Any]],
    files: dict[str, str],
    settings: dict[str, Any] | None = None,
) -> Path:
    """A folder as ACRO writes it; the path of its record."""
    path = folder / "results.json"
    path.write_text(json.dumps({"version": "0.4.12", "results": outputs}, indent=4), "utf-8")
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    if settings is not None:
        (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    return path


def cells(path: Path) -> dict[str, str]:
    """The cells of a record as they are understood."""
    return {cell.name: cell.value() for cell in read_understood([path]).releases[""].cells}


def test_suppressed_cells_are_below_the_threshold(tmp_path: Path) -> None:
    path = record(tmp_path, {"output_0": output()}, {"output_0_0.csv": COUNTS}, SETTINGS)
    assert cells(path) == {
        "grant=A,sector=farm": "15",
        "grant=B,sector=farm": "0-9",
        "grant=A,sector=mine": "20",
        "grant=B,sector=mine": "31",
    }
    assert acro_files(path) == [path, tmp_path / "config.json", tmp_path / "output_0_0.csv"]


def test_zeros_that_are_shown_are_not_among_the_suppressed(tmp_path: Path) -> None:
    settings = {**SETTINGS, "zeros_are_disclosive": False}
    path = record(tmp_path, {"output_0": output()}, {"output_0_0.csv": COUNTS}, settings)
    assert cells(path)["grant=B,sector=farm"] == "1-9"


@pytest.mark.parametrize("settings", [None, {}, {"safe_threshold": "10"}, {"safe_threshold": True}])
def test_without_a_threshold_nothing_is_known(tmp_path: Path, settings: dict[str, Any] | None) -> None:
    path = record(tmp_path, {"output_0": output()}, {"output_0_0.csv": COUNTS}, settings)
    assert cells(path)["grant=B,sector=farm"] == "unknown"


def test_cells_suppressed_for_other_reasons_are_unknown(tmp_path: Path) -> None:
    outcome = {**OK, "B": {"farm": "threshold; secondary; ", "mine": "ok"}}
    path = record(tmp_path, {"output_0": output(outcome=outcome)}, {"output_0_0.csv": COUNTS}, SETTINGS)
    assert cells(path)["grant=B,sector=farm"] == "unknown"


def test_totals_of_shown_cells_are_left_out(tmp_path: Path) -> None:
    text = "sector,A,B,All\nfarm,15,,15\nmine,20,31,51\nAll,35,31,66\n"
    path = record(tmp_path, {"output_0": output()}, {"output_0_0.csv": text}, SETTINGS)
    assert "total" not in cells(path)
    assert len(cells(path)) == 4
    assert any("its totals are left out" in note for note in read_understood([path]).notes)


def test_totals_stay_where_nothing_was_suppressed(tmp_path: Path) -> None:
    text = "sector,A,B,All\nfarm,15,16,31\nmine,20,31,51\nAll,35,47,82\n"
    fine = {column: dict.fromkeys(("farm", "mine", "All"), "ok") for column in ("A", "B", "All")}
    path = record(tmp_path, {"output_0": output(outcome=fine)}, {"output_0_0.csv": text}, SETTINGS)
    assert cells(path)["total"] == "82"
    assert read_decided(path).releases[""].layout.schema.names == ("sector", "grant")


def test_columns_without_a_shown_cell_are_categories_all_the_same(tmp_path: Path) -> None:
    outcome = {**OK, "C": {"farm": "threshold; ", "mine": "threshold; "}}
    path = record(tmp_path, {"output_0": output(outcome=outcome)}, {"output_0_0.csv": COUNTS}, SETTINGS)
    found = read_understood([path])
    assert found.releases[""].layout.schema["grant"].values == ("A", "B", "C")


def test_rounded_counts_are_intervals(tmp_path: Path) -> None:
    rounded = output(properties={"method": "crosstab", "mitigation": "round", "round_base": 5})
    text = "sector,A,B,All\nfarm,15,0,15\nmine,20,30,50\nAll,35,30,65\n"
    found = cells(record(tmp_path, {"output_0": rounded}, {"output_0_0.csv": text}, SETTINGS))
    assert found["grant=A,sector=farm"] == "13-17"
    assert found["grant=B,sector=farm"] == "0-2"
    assert len(found) == 4


OTHERS = {
    "a mean": output("b", 'acro.crosstab(df.sector, df.grant, values=df.inc, aggfunc="mean")'),
    "checked as a sum": output("b", "acro.crosstab(", summary={"p-ratio": 2}),
    "a pivot table": output("b", properties={"method": "pivot_table"}),
    "a regression": output("b", kind="regression", properties={"method": "ols"}),
    "a share": output("b", "acro.crosstab(df.sector, df.grant, normalize=True)"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_other_outputs_are_named_and_not_read(tmp_path: Path, other: dict[str, Any]) -> None:
    outputs = {"output_0": output(), "b": other}
    path = record(tmp_path, outputs, {"output_0_0.csv": COUNTS, "b_0.csv": COUNTS}, SETTINGS)
    (table,) = read_acro(path)
    assert any("not covered: b (" in remark for remark in table.remarks)


def test_decimals_are_no_counts(tmp_path: Path) -> None:
    text = "sector,A\nfarm,1.5\nmine,2.0\n"
    path = record(tmp_path, {"a": output("a", "acro.crosstab(")}, {"a_0.csv": text})
    with pytest.raises(ReleaseError, match="none of the outputs is a table of counts"):
        read_acro(path)


def test_a_command_that_is_cut_off_is_a_question(tmp_path: Path) -> None:
    path = record(tmp_path, {"a": output("a", "acro.crosstab(")}, {"a_0.csv": COUNTS}, SETTINGS)
    assert any("it is assumed that it holds counts" in text for text in read_understood([path]).questions)
    with pytest.raises(ReleaseError, match="something is to be decided"):
        read_decided(path)


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/passwd", "", "missing.csv"])
def test_files_stand_beside_the_record(tmp_path: Path, name: str) -> None:
    odd = output()
    odd["files"][0]["name"] = name
    with pytest.raises(ReleaseError, match="a file of the record"):
        read_acro(record(tmp_path, {"output_0": odd}, {}))


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"version": "1", "results": {"a": 3}}', "utf-8")
    with pytest.raises(ReleaseError, match="not an ACRO record"):
        read_understood([path])
