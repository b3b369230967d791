"""Writes a finished report to look at, the one of the demonstration: python docs/example.py FILE"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from showthrough.cli import main

#: Enough blocks to filter and sort, few enough for a page that loads at once.
AREAS = 12


def write_example(file: Path) -> None:
    """Run the demonstration and keep its page."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "county"
        if main(["demo", "--areas", str(AREAS), "--out", str(run), "--quiet"]) != 0:
            raise SystemExit("the demonstration failed")
        shutil.copy(run / "report.html", file)


if __name__ == "__main__":
    write_example(Path(sys.argv[1]))
