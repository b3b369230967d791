"""Notebooks without Jupyter: run their cells in order, in one namespace; compare or store what they print.

``python tests/notebooks.py`` runs all notebooks of the documentation and stores what they print now.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["NOTEBOOKS", "Cell", "read_cells", "run_cells"]

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@dataclass(frozen=True)
class Cell:
    """A cell: its name, its code or text, and what it printed when it was stored."""

    name: str
    kind: str
    source: str
    printed: str


def read_cells(path: Path) -> list[Cell]:
    """The cells of a notebook."""
    return [
        Cell(cell["id"], cell["cell_type"], "".join(cell["source"]), _printed(cell))
        for cell in json.loads(path.read_text("utf-8"))["cells"]
    ]


def _printed(cell: dict[str, Any]) -> str:
    return "".join(text for output in cell.get("outputs", []) for text in output["text"])


def run_cells(path: Path) -> Iterator[tuple[Cell, str]]:
    """Each cell with code, and what it prints, in the notebook's folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with chdir(path.parent):
        for cell in read_cells(path):
            if cell.kind == "code":
                stream = io.StringIO()
                with redirect_stdout(stream):
                    exec(compile(cell.source, f"{path.name}:{cell.name}", "exec"), names)  # noqa: S102
                yield cell, stream.getvalue()


def store(path: Path) -> None:
    """Store what the cells print now, as Jupyter would."""
    content = json.loads(path.read_text("utf-8"))
    printed = {cell.name: text for cell, text in run_cells(path)}
    coded = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(coded, 1):
        text = printed[cell["id"]]
        shown = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
        cell |= {"execution_count": number, "outputs": [shown] if text else []}
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "80")
    for notebook in NOTEBOOKS:
        store(notebook)
