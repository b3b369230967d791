"""The example files: made again they are the same, and all of them can be imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from needs import need_module
from showthrough.errors import InputError
from showthrough.formats.meaning.understand import understand
from showthrough.formats.printed.office import open_printed
from showthrough.formats.read_subject import read_subject

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FILES = sorted(path.name for path in EXAMPLES.iterdir() if path.name[0].isdigit())

#: Tables, and published values, of each file.
EXPECTED = {
    "01-accessible-tables.xlsx": (2, 21),
    "02-merged-headers.xlsx": (1, 18),
    "03-headings.csv": (1, 12),
    "04-profile.csv": (2, 14),
    "05-semicolons.csv": (1, 12),
    "06-sdmx-1.csv": (1, 9),
    "07-sdmx-2.csv": (1, 8),
    "08-pxweb.json": (1, 15),
    "09-tidy.csv": (1, 9),
}


def test_the_same_files_are_made_again(tmp_path: Path) -> None:
    need_module("xlsxwriter", "Excel files are written by XlsxWriter")
    spec = importlib.util.spec_from_file_location("make_examples", EXAMPLES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (EXAMPLES / name).read_bytes(), name
        assert (tmp_path / name).stat().st_size < 10_000


@pytest.mark.parametrize("name", FILES)
def test_examples_are_read(name: str) -> None:
    tables = open_printed(EXAMPLES / name)
    assert (len(tables), sum(len(table.values) for table in tables)) == EXPECTED[name]
    assert understand(tables).releases.areas
    assert read_subject(EXAMPLES / name).n_areas > 0  # as every command reads it, without any option


def test_rows_that_are_no_table_are_not_taken_for_one(tmp_path: Path) -> None:
    for text in ("a,b\n1,2\n3\n", "a,b\n1,2\n3,4\n"):
        (tmp_path / "rows.csv").write_text(text)
        with pytest.raises(InputError, match="no tables given"):
            read_subject(tmp_path / "rows.csv")


def test_all_are_listed() -> None:
    text = (EXAMPLES / "README.md").read_text("utf-8")
    assert [name for name in FILES if f"| `{name}` |" not in text] == []
    assert list(EXPECTED) == FILES
