"""The notebooks print what is stored in them, in order and in one namespace, as in a fresh kernel."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from needs import need_module
from notebooks import NOTEBOOKS, read_cells, run_cells

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_there_is_one_for_each_reader() -> None:
    assert [path.stem.split("-")[0] for path in NOTEBOOKS] == ["journalist", "officer", "researcher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_print_what_is_stored(path: Path) -> None:
    if "xlsx" in path.read_text("utf-8"):
        need_module("python_calamine", "Excel files are read by calamine")
    ran = list(run_cells(path))
    assert len(ran) >= 5
    for cell, printed in ran:
        assert printed == cell.printed, f"{path.name}, {cell.name}: store it with python tests/notebooks.py"
    assert any(printed for _, printed in ran)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_notebooks_that_jupyter_opens(path: Path) -> None:
    content = json.loads(path.read_text("utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    cells = read_cells(path)
    assert len({cell.name for cell in cells}) == len(cells)
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", cell.name) for cell in cells)
    assert {cell.kind for cell in cells} == {"markdown", "code"}
    counts = [cell["execution_count"] for cell in content["cells"] if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    for cell in cells:
        if cell.kind == "code":
            ast.parse(cell.source)
        assert max(map(len, cell.source.splitlines())) <= 130


def test_they_are_linked() -> None:
    page = (DOCS / "notebooks" / "index.md").read_text("utf-8")
    assert set(re.findall(r"\(([a-z-]+\.ipynb)\)", page)) == {path.name for path in NOTEBOOKS}
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    assert "docs/notebooks/index.md" in readme
