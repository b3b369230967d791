"""From a folder of results to its page, whatever kind of result it is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from showthrough.errors import RunError, ShowthroughError
from showthrough.files import file_digest, read_json, write_json, write_text
from showthrough.folders import MANIFEST, REPORT, explained, read_result, recover
from showthrough.locks import hold
from showthrough.report.audit_page import audit_page
from showthrough.report.comparison_page import comparison_page
from showthrough.report.page import Page, check_installed, render
from showthrough.report.protect_page import protect_page
from showthrough.tables.coverage import Background

__all__ = [
    "FILE",
    "page_of",
    "write_report",
]

#: Where the page of a folder is put unless the caller says otherwise.
FILE = REPORT

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


def _check(folder: Path) -> Page:
    from showthrough.report.check_page import check_page  # with DuckDB, which other commands need not load

    return check_page(folder)


# Attacks load numerical libraries, which other commands need not.


def _advice(folder: Path) -> Page:
    from showthrough.report.advice_page import advice_page

    return advice_page(folder)


def _attack(folder: Path) -> Page:
    from showthrough.report.attack_page import attack_page

    return attack_page(folder)


def _ratio(folder: Path) -> Page:
    from showthrough.report.ratio_page import ratio_page

    return ratio_page(folder)


#: Kinds of folders, as their run.json names them: what they are, and what makes a page of one.
PAGES: dict[str, tuple[str, Callable[[Path], Page]]] = {
    "advice": ("advice", _advice),
    "attack": ("attack", _attack),
    "ratio attack": ("attack", _ratio),
    "check": ("check", _check),
    "showthrough comparison": ("comparison", comparison_page),
    "protected release": ("protected release", protect_page),
}


def write_report(
    folder: str | Path, path: str | Path | None = None, *, background: Background | None = None
) -> Path:
    """Write the page of a finished folder (``report.html`` within it, unless said otherwise).

    The folder's manifest then lists the new page. ``background`` is for audits: the records, and where
    areas might have been drawn from.
    """
    check_installed()
    own = Path(folder) / FILE
    if path is not None and os.path.realpath(path) != os.path.realpath(own):
        write_text(path, _rendered(Path(folder), background))
        return Path(path)
    if not Path(folder).is_dir():
        page_of(folder)  # says what is missing
    with hold(folder) as lock, explained(lock.target, folder):
        recover(lock.target, PUBLICATION if (Path(folder) / PUBLICATION).is_file() else MANIFEST)
        text = _rendered(Path(folder), background)
        # At no moment does the manifest list a page that is not there.
        digest = hashlib.sha256(text.encode()).hexdigest()
        if not own.exists() or file_digest(own) != digest:
            _list_page(Path(folder), None)
            write_text(own, text)
        _list_page(Path(folder), digest)
    return own


def _list_page(folder: Path, digest: str | None) -> None:
    """Have the manifest of a folder list its page with this hash, or not at all."""
    if (folder / PUBLICATION).is_file():
        from showthrough.microdata.manifest import read_manifest, write_manifest  # as below

        said = read_manifest(folder / PUBLICATION)
        if said.files is not None:
            listed = _with_page(said.files, digest)
            write_manifest(folder / PUBLICATION, said.model_copy(update={"files": listed}))
        return
    found = read_json(folder / MANIFEST, error=RunError)
    if isinstance(found.get("outputs"), dict):
        write_json(folder / MANIFEST, {**found, "outputs": _with_page(found["outputs"], digest)})


def _with_page(listed: Mapping[str, str], digest: str | None) -> dict[str, str]:
    others = {name: other for name, other in listed.items() if name != FILE}
    return dict(sorted({**others, **({FILE: digest} if digest else {})}.items()))


def page_of(folder: str | Path, *, background: Background | None = None) -> Page:
    """The page of a finished folder."""
    place = Path(folder)
    what, make = _maker(place, background)
    with _understood(what, place):
        return make(place)


def _rendered(folder: Path, background: Background | None) -> str:
    page = page_of(folder, background=background)
    with _understood("result", folder):
        return render(page)


def _maker(place: Path, background: Background | None) -> tuple[str, Callable[[Path], Page]]:
    """What a folder holds, and what makes a page of it."""
    if (place / PUBLICATION).is_file():
        from showthrough.report.publication_page import publication_page  # as above

        return "publication", publication_page
    found = read_result(place)
    if found is None or "kind" not in found:
        return "run", lambda folder: audit_page(folder, background)
    kind = found["kind"]
    if not isinstance(kind, str) or kind not in PAGES:
        raise RunError(
            "there is no page for this kind of result",
            file=str(place),
            found=str(kind),
            remedy="give a folder written by audit, protect, publish, check, compare, attack or advise",
        )
    return PAGES[kind]


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
