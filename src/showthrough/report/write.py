"""From a folder of results to its page, whatever kind of result it is."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from showthrough.errors import RunError, ShowthroughError
from showthrough.files import file_digest, read_json, write_json, write_text
from showthrough.folders import MANIFEST, REPORT, explained, read_result, recover
from showthrough.locks import hold
from showthrough.report.page import Page, check_installed, render

if TYPE_CHECKING:
    from showthrough.tables.coverage import Background

__all__ = [
    "area_file",
    "page_of",
    "rendered",
    "write_report",
]

#: What may be raised by files that are not what they should be.
MALFORMED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    pa.ArrowException,
)

#: The file that makes a folder a publication.
PUBLICATION = "publication.json"


#: Kinds of folders, as their run.json names them: what they hold, and the module (and function) that
#: makes the page. It is imported when it is needed: attacks load SciPy, checks load DuckDB.
PAGES = {
    "advice": ("advice", "advice_page"),
    "attack": ("attack", "attack_page"),
    "ratio attack": ("attack", "ratio_page"),
    "check": ("check", "check_page"),
    "showthrough comparison": ("comparison", "comparison_page"),
    "protected release": ("protected release", "protect_page"),
    "import": ("import", "import_page"),
    "likely": ("result", "likely_page"),
}


def write_report(
    folder: str | Path,
    path: str | Path | None = None,
    *,
    background: Background | None = None,
    area: str | None = None,
) -> Path:
    """Write the page of a finished folder, by default to ``report.html`` in it.

    The folder's manifest then lists the new page. ``background`` is for audits: the records, and where
    areas might have been drawn from. The page of one ``area`` of an audit goes elsewhere: to
    ``path``, or to a file of its name in the current folder.
    """
    check_installed()
    own = Path(folder) / REPORT
    if area is not None:
        target = Path(path) if path is not None else area_file(area)
        write_text(target, rendered(Path(folder), background, area))
        return target
    if path is not None and os.path.realpath(path) != os.path.realpath(own):
        write_text(path, rendered(Path(folder), background))
        return Path(path)
    if not Path(folder).is_dir():
        page_of(folder)  # raises an error that names what is missing
    with hold(folder) as lock, explained(lock.target, folder):
        recover(lock.target, PUBLICATION if (Path(folder) / PUBLICATION).is_file() else MANIFEST)
        text = rendered(Path(folder), background)
        # At no moment does the manifest list a page that is not there.
        digest = hashlib.sha256(text.encode()).hexdigest()
        if not own.exists() or file_digest(own) != digest:
            _list_page(Path(folder), None)
            write_text(own, text)
        _list_page(Path(folder), digest)
    return own


def area_file(area: str) -> Path:
    """The file that the page of an area goes to, unless another is named; its name has no odd characters.

    >>> str(area_file("Upper/Lower Brook"))
    'Upper_Lower_Brook.html'
    """
    name = re.sub(r"[^\w.-]", "_", area).lstrip(".")[:100]
    return Path(f"{name or 'area'}.html")


def _list_page(folder: Path, digest: str | None) -> None:
    """Have the manifest of a folder list its page with this hash, or not at all."""
    if (folder / PUBLICATION).is_file():
        from showthrough.microdata.manifest import read_manifest, write_manifest  # loads pydantic

        said = read_manifest(folder / PUBLICATION)
        if said.files is not None:
            listed = _with_page(said.files, digest)
            write_manifest(folder / PUBLICATION, said.model_copy(update={"files": listed}))
        return
    found = read_json(folder / MANIFEST, error=RunError)
    if isinstance(found.get("outputs"), dict):
        write_json(folder / MANIFEST, {**found, "outputs": _with_page(found["outputs"], digest)})


def _with_page(listed: Mapping[str, str], digest: str | None) -> dict[str, str]:
    others = {name: other for name, other in listed.items() if name != REPORT}
    return dict(sorted({**others, **({REPORT: digest} if digest else {})}.items()))


def page_of(folder: str | Path, *, background: Background | None = None, area: str | None = None) -> Page:
    """The page of a finished folder, or of one area of an audit."""
    place = Path(folder)
    what, make = _maker(place, background, area)
    with _understood(what, place):
        return make(place)


def rendered(folder: Path, background: Background | None, area: str | None = None) -> str:
    """The page of a finished folder as HTML, or that of one area of an audit."""
    page = page_of(folder, background=background, area=area)
    with _understood("result", folder):
        return render(page)


def _maker(
    place: Path, background: Background | None, area: str | None = None
) -> tuple[str, Callable[[Path], Page]]:
    """What a folder holds, and what makes a page of it."""
    found = None if (place / PUBLICATION).is_file() else read_result(place)
    is_run = not (place / PUBLICATION).is_file() and (found is None or "kind" not in found)
    if area is not None and not is_run:
        raise RunError(
            "only audits have pages of single areas",
            file=str(place),
            found=area,
            remedy="leave out --area, or give a folder of audit",
        )
    if (place / PUBLICATION).is_file():
        return "publication", _imported("publication_page")
    if found is None or "kind" not in found:
        return "run", partial(_imported("audit_page"), background=background, area=area)
    kind = found["kind"]
    if not isinstance(kind, str) or kind not in PAGES:
        raise RunError(
            "there is no page for this kind of result",
            file=str(place),
            found=str(kind),
            remedy="give a folder of audit, likely, protect, publish, check, compare, attack or advise",
        )
    what, module = PAGES[kind]
    return what, _imported(module)


def _imported(module: str) -> Callable[..., Page]:
    """The function of a module that has its name."""
    return getattr(import_module(f"showthrough.report.{module}"), module)


@contextmanager
def _understood(what: str, folder: Path) -> Generator[None]:
    """Whatever goes wrong with what a folder holds is an error about that folder."""
    try:
        yield
    except (*MALFORMED, ShowthroughError) as error:
        if isinstance(error, RunError) and error.file and Path(error.file).is_relative_to(folder):
            raise
        raise RunError(
            f"the {what} cannot be read",
            file=str(folder),
            found=f"{type(error).__name__}: {error}",
            remedy="a file is missing or damaged, or another version wrote it: run the command again",
        ) from error
