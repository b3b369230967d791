"""The frame of every page: one file, no requests, and a browser that is told to allow none."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from showthrough.errors import InputError, brief
from showthrough.files import write_text
from showthrough.plain import plain

__all__ = ["Page", "check_installed", "pack", "render", "write_page"]

INSTALL = "pip install 'showthrough[report]'"

#: The longest word and the longest text that a page shows whole.
WORD, TEXT = 500, 20_000

#: How the address of a chart's numbers begins, which is not for reading.
CSV = "data:text/csv;charset=utf-8;base64,"


@dataclass(frozen=True, eq=False)
class Page:
    """A template, what goes into it, the scripts it needs, and data blocks that scripts unpack.

    ``described`` is the file that describes the folder the page is about.
    """

    template: str
    content: Mapping[str, Any]
    scripts: Sequence[str] = ()
    blocks: Mapping[str, str] = field(default_factory=dict[str, str])
    described: str = "run.json"


def check_installed() -> None:
    """Raise unless what draws pages is installed."""
    for name in ("jinja2", "vl_convert"):
        if find_spec(name) is None:
            raise InputError(f"reports need a package that is not there: {name}", remedy=INSTALL)


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
        )
    )


def write_page(page: Page, path: str | Path) -> Path:
    """Render a page to a file; what was there stays until the new page is complete."""
    write_text(path, render(page))
    return Path(path)


def pack(content: Any) -> str:
    """Plain data for a script: foreign text made visible, as JSON, compressed, as base64.

    >>> pack([1]) == pack([1])
    True
    """
    text = json.dumps(_visible(content), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


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


def _shown(text: str) -> str:
    return plain(brief(text, TEXT, word=WORD))


def _asset(name: str) -> str:
    return resources.files("showthrough.report").joinpath("assets", name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
