"""The frame of every page: one HTML file that makes no requests, and tells the browser to allow none.

A page of charts and tables consists of sections; every page ends with where its result comes from.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from showthrough.errors import InputError, brief
from showthrough.files import write_text
from showthrough.folders import REPORT
from showthrough.report.charts import Chart
from showthrough.text import escape_control

__all__ = [
    "Page",
    "Section",
    "Sheet",
    "check_installed",
    "figures_page",
    "generator",
    "pack",
    "provenance",
    "render",
    "safe_text",
    "unpack",
    "write_page",
]

INSTALL = "pip install 'showthrough[report]'"

#: The longest word and the longest text that a page shows whole.
WORD, TEXT = 500, 20_000

#: How the address of a chart's numbers begins, which is not for reading.
CSV = "data:text/csv;charset=utf-8;base64,"

#: The parts of a run.json that say where a result comes from, and their titles.
TITLES = {
    "inputs": "Input",
    "parameters": "Settings",
    "versions": "Versions",
    "outputs": "Files of the run (SHA-256)",
}


@dataclass(frozen=True, eq=False)
class Page:
    """A template, what goes into it, the scripts it needs, and data blocks that scripts unpack.

    ``described`` is the file that describes the folder the page is about; ``more`` says that the page
    shows data that are not in it.
    """

    template: str
    content: Mapping[str, Any]
    scripts: Sequence[str] = ()
    blocks: Mapping[str, str] = field(default_factory=dict[str, str])
    described: str = "run.json"
    more: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, a sentence or two, charts, tables before and after, and other tables."""

    title: str
    lede: str = ""
    charts: Sequence[Chart] = ()
    tables: Sequence[Sheet] = ()
    pairs: Sequence[Any] = ()


@dataclass(frozen=True)
class Sheet:
    """A table with a row of heads."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def figures_page(
    kind: str,
    headline: str,
    sections: Sequence[Section],
    *,
    manifest: Mapping[str, Any],
    facts: Sequence[tuple[str, str]] = (),
    standfirst: Sequence[str] = (),
    warning: str = "",
    described: str = "run.json",
) -> Page:
    """A page of sections in the common frame; ``described`` is the file that describes its folder."""
    content = {
        "title": kind,
        "kind": kind,
        "headline": headline,
        "facts": facts,
        "stressed": False,
        "standfirst": standfirst,
        "warning": warning,
        "sections": sections,
        "provenance": provenance(manifest),
    }
    return Page("figures.html", content, described=described)


def write_page(page: Page, path: str | Path) -> Path:
    """Render a page to a file; what was there stays until the new page is complete."""
    write_text(path, render(page))
    return Path(path)


def render(page: Page) -> str:
    """The page as HTML."""
    check_installed()
    css = _asset("page.css")
    script = "\n".join(_asset(name) for name in ("frame.js", *page.scripts))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(css)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    from markupsafe import Markup  # of this package's own files, nothing else

    return (
        _environment()
        .get_template(page.template)
        .render(
            **page.content,
            css=Markup(css),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=policy,
            blocks={name: Markup(block) for name, block in page.blocks.items()},  # noqa: S704  (base64)
            described=page.described,
            generator=generator(more=page.more),
        )
    )


def generator(*, more: bool = False) -> str:
    """What makes a page, with the versions that its bytes depend on."""
    made = (f"{name} {metadata.version(name)}" for name in ("showthrough", "jinja2", "vl-convert-python"))
    return f"{', '.join(made)}{'; with other data' if more else ''}"


def check_installed() -> None:
    """Raise unless what draws pages is installed."""
    for name in ("jinja2", "vl_convert"):
        if find_spec(name) is None:
            raise InputError(f"reports need the package {name}, which is not installed", remedy=INSTALL)


def provenance(manifest: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Tables of (name, value) with a title each, from a run.json.

    >>> provenance({"parameters": {"scope": {"absent": False}, "seed": 0}, "inputs": {}})
    [('Settings', [('scope, absent', 'no'), ('seed', '0')])]
    """
    described = {name: dict(manifest.get(name) or {}) for name in TITLES}
    described["outputs"].pop(REPORT, None)  # a page cannot hold its own hash
    found = [(title, list(_rows(described[name]))) for name, title in TITLES.items()]
    return [(title, rows) for title, rows in found if rows]


def _rows(content: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in content.items():
        label = f"{before}{name}".replace("_", " ") if before or not isinstance(value, str) else str(name)
        if isinstance(value, Mapping):
            yield from _rows(value, f"{before}{name}, ")
        else:
            yield label, _text(value)


def _text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pack(content: Any) -> str:
    """Plain data for a script: foreign text made visible, as JSON, compressed, as base64.

    >>> pack([1]) == pack([1])
    True
    """
    text = json.dumps(_visible(content), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def unpack(block: str) -> str:
    """The JSON text that :func:`pack` made a block of; what is no such block is a :class:`ValueError`.

    >>> unpack(pack([1]))
    '[1]'
    """
    try:
        return gzip.decompress(base64.b64decode(block, validate=True)).decode()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"a block of the page is damaged: {error}") from None


def _visible(content: Any) -> Any:
    if isinstance(content, str):
        return _shown(content)
    if isinstance(content, Mapping):
        return {_shown(str(key)): _visible(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_visible(value) for value in content]
    return content


@lru_cache(maxsize=1)
def _environment() -> Any:
    """Templates that escape everything, and make steering characters visible."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("showthrough.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
    )
    environment.filters["number"] = "{:,}".format
    return environment


def _finalized(value: Any) -> Any:
    """Text that is not markup yet, made visible and no longer than fits; escaping comes after."""
    if type(value) is not str:
        return value
    return value if value.startswith(CSV) else _shown(value)


def safe_text(value: object) -> str:
    """Anything as text that may stand in a page: escaped, visible, and no longer than fits."""
    return html.escape(_shown(str(value)))


def _shown(text: str) -> str:
    if len(text) <= WORD and text.isprintable():
        return text  # nothing to cut, nothing to escape
    return escape_control(brief(text, TEXT, word=WORD))


def _asset(name: str) -> str:
    return resources.files("showthrough.report").joinpath("assets", name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
