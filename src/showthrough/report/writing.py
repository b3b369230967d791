"""From a folder of results to its page, whatever kind of result it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from showthrough.errors import RunError
from showthrough.report.attack_page import attack_page
from showthrough.report.audit_page import Background, audit_page
from showthrough.report.comparison_page import comparison_page
from showthrough.report.page import Page, check_installed, write_page
from showthrough.report.protect_page import protect_page

__all__ = ["FILE", "page_of", "write_report"]

#: Where the page of a folder is put unless the caller says otherwise.
FILE = "report.html"

#: Kinds of folders, as their run.json names them, and what makes a page of one.
PAGES: dict[str, Callable[[Path], Page]] = {
    "attack": attack_page,
    "showthrough comparison": comparison_page,
    "protected release": protect_page,
}


def write_report(
    folder: str | Path, path: str | Path | None = None, *, background: Background | None = None
) -> Path:
    """Write the page of a finished folder (``report.html`` within it, unless said otherwise).

    ``background`` is for audits: the records, and where areas might have been drawn from.
    """
    check_installed()
    return write_page(page_of(folder, background=background), path or Path(folder) / FILE)


def page_of(folder: str | Path, *, background: Background | None = None) -> Page:
    """The page of a finished folder."""
    place = Path(folder)
    try:
        manifest = json.loads((place / "run.json").read_text("utf-8"))
        kind = manifest.get("kind")
    except (OSError, ValueError, AttributeError):
        kind = None
    if kind is None:
        return audit_page(place, background)
    if kind not in PAGES:
        raise RunError(
            "there is no page for this kind of result",
            file=str(folder),
            found=str(kind),
            remedy="name the folder of an audit, an attack, a comparison or a protected release",
        )
    return PAGES[kind](place)
