"""Writes the reference pages from docstrings: python docs/reference.py FOLDER

One page for the commands, one for the charts, and one for each group of names that ``import
showthrough`` offers. Nothing is written by hand, so nothing can be out of date; a public name without a
docstring or without a page is an error.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import showthrough
from showthrough.cli import main as showthrough_command
from showthrough.cli.app import load


class Group(NamedTuple):
    """Public names that share a page: those defined in these modules, or below them."""

    title: str
    purpose: str
    modules: tuple[str, ...]


#: The pages, in the order of the site. The first group that has a name's module takes it.
GROUPS = {
    "data": Group(
        "Records and releases",
        "Schemas, records, tables and releases, and how to read and write them.",
        (
            "selection",
            "attribute",
            "hierarchy",
            "schema",
            "records",
            "release",
            "releases",
            "notation",
            "perturbation",
            "noise_law",
            "estimate",
            "formats",
            "frames",
        ),
    ),
    "protect": Group(
        "Protect tables", "The least to change so that nothing forbidden follows.", ("tables.protect",)
    ),
    "tables": Group("Audit tables", "What tables of counts prove about single records.", ("tables",)),
    "microdata": Group(
        "Publish microdata",
        "Records with a randomized sensitive column, and what they promise.",
        ("microdata",),
    ),
    "numbers": Group("Noisy numbers", "Attacks on added noise, and how much noise is enough.", ("numbers",)),
    "census": Group(
        "The 2020 Census", "Homes, the tables published about them, and simulated data.", ("census",)
    ),
    "report": Group("Reports and charts", "Results as pages and as charts for notebooks.", ("report",)),
    "engine": Group("Engines", "Where work runs: on this machine or on a Spark cluster.", ("engine",)),
    "errors": Group("Errors", "Everything showthrough raises.", ("errors",)),
}

#: The one module beside the root whose names are public: charts need the extra ``report``.
CHARTS = "showthrough.report.plots"

_ROLE = re.compile(r":[\w:]+:`~?(?:[^`<]*<)?([^`>]+)>?`")
#: The modules before the name of a class.
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_LITERAL = re.compile(r"``(.+?)``")
#: The title of a numpydoc section and the line below it.
_SECTION = re.compile(r"^([A-Z][\w ]+)\n-{3,}\n", re.M)
#: Sections that list names, types or errors, each with an indented description.
_LISTS = {"Attributes", "Other Parameters", "Parameters", "Raises", "Returns", "Warns", "Yields"}


def write_reference(folder: Path) -> list[Path]:
    """Write all pages into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index": index_page(), "commands": commands_page()}
    pages |= {name: group_page(name) for name in GROUPS}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return [folder / f"{name}.md" for name in pages]


def index_page() -> str:
    """The list of pages, and every public name with a link."""
    parts = [
        "# Reference\n",
        "These pages are written from the code when the site is built.\n",
        "[Commands](commands.md) has every command and its options.\n",
        "What `import showthrough as st` offers:\n",
        '<div class="stacked" markdown>\n',
        "| page | names |\n|---|---|",
    ]
    for name, group in GROUPS.items():
        names = ", ".join(f"[{public}]({name}.md#{anchor})" for public, anchor in _anchors(names_of(name)))
        parts.append(f"| [{group.title}]({name}.md) | {names} |")
    return "\n".join([*parts, "\n</div>\n"])


def names_of(group: str) -> list[str]:
    """The public names of a group: functions first, then classes and values."""
    mine = [name for name in showthrough.__all__ if _group_of(name) == group]
    return sorted(mine, key=lambda name: (not name[0].islower(), name.casefold()))


def _anchors(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The anchors of headings: ``audit`` and ``Audit`` on one page are ``audit`` and ``audit_1``."""
    seen: set[str] = set()
    for name in names:
        yield name, f"{name.lower()}_1" if name.lower() in seen else name.lower()
        seen.add(name.lower())


def _group_of(name: str) -> str:
    module = f"{showthrough._MODULES[name]}."  # pyright: ignore[reportPrivateUsage]
    for group, (_, _, modules) in GROUPS.items():
        if any(module.startswith(f"{one}.") for one in modules):
            return group
    raise SystemExit(f"showthrough.{name} has no page: add {module} to GROUPS")


def group_page(name: str) -> str:
    """The public names of a group; to those of reports the charts are added."""
    group = GROUPS[name]
    parts = [f"# {group.title}\n", f"{group.purpose}\n"]
    for public in names_of(name):
        parts += entry(public, getattr(showthrough, public))
    if name == "report":
        charts = importlib.import_module(CHARTS)
        parts.append(f"The charts below are in `{CHARTS}`.\n")
        for chart in charts.__all__:
            parts += entry(chart, getattr(charts, chart))
    return "\n".join(parts)


def commands_page() -> str:
    """What every command says about itself."""
    parts = ["# Commands\n", "What `showthrough COMMAND --help` prints.\n"]
    for words in _commands():
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            showthrough_command([*words, "--help"])
        text = "\n".join(line.rstrip() for line in stream.getvalue().strip().splitlines())
        parts += [f"## showthrough {' '.join(words)}".rstrip() + "\n", f"```console\n{text}\n```\n"]
    return "\n".join(parts)


def entry(name: str, thing: Any) -> list[str]:
    """A class, a function or a value: its signature, its docstring, its public members."""
    heading = f"## {name}\n"
    if inspect.ismodule(thing):  # a package that can be called
        thing = getattr(thing, name)
    if not (inspect.isclass(thing) or callable(thing)):
        return [heading, f"A value of type `{type(thing).__name__}`.\n"]
    parts = [heading, *_signature(name, thing), *prose(_doc(thing, name))]
    if inspect.isclass(thing):
        for member, found in _members(thing):
            parts += [f"**{member}**\n", *_signature(member, found), *prose(_doc(found, f"{name}.{member}"))]
    return parts


def prose(docstring: str) -> list[str]:
    """A docstring as Markdown: numpydoc sections as lists, examples fenced, roles and literals as code."""
    opening, *sections = _SECTION.split(docstring)
    parts = _text(opening)
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        parts.append(f"*{title}*\n")
        parts += _list(content) if title in _LISTS else _text(content)
    return parts


def _list(section: str) -> list[str]:
    """The entries of a section such as Parameters, as a Markdown list."""
    entries: list[str] = []
    for found in re.finditer(r"^(\S.*)((?:\n(?:[ \t].*)?)*)", section.strip("\n"), re.M):
        name, _, kind = found[1].partition(" : ")
        about = " ".join(textwrap.dedent(found[2]).split())
        entries.append(
            f"- `{name}`" + (f" (`{kind}`)" if kind else "") + (f": {_inline(about)}" if about else "")
        )
    return ["\n".join(entries) + "\n"]


def _text(docstring: str) -> list[str]:
    parts: list[str] = []
    for paragraph in _paragraphs(docstring):
        first = paragraph.splitlines()[0] if paragraph else ""
        if first.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{textwrap.dedent(paragraph)}\n```\n")
        elif first.startswith("    "):
            parts.append(f"```text\n{textwrap.dedent(paragraph)}\n```\n")
        elif first:
            parts.append(_inline(paragraph) + "\n")
    return parts


def _paragraphs(docstring: str) -> Iterator[str]:
    """Paragraphs; the parts of one example, and of one indented text, stay together."""
    kept: list[str] = []
    for paragraph in re.split(r"\n\s*\n", docstring.strip("\n")):
        if kept and paragraph.startswith("    ") and kept[-1].startswith("    "):
            kept[-1] += f"\n\n{paragraph}"
        else:
            kept.append(paragraph)
    yield from kept


def _inline(text: str) -> str:
    text = _ROLE.sub(lambda found: f"`{found[1].rpartition('.')[2]}`", text)
    text = _LITERAL.sub(r"`\1`", text)
    text = re.sub(r"\s*::$", ":", text, flags=re.M)
    inside_code = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else part.replace("<", "&lt;").replace("_", r"\_")
        for part in inside_code
    )


def _signature(name: str, thing: Any) -> list[str]:
    if isinstance(thing, property):
        return []
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in found.parameters.values()):
        return []  # of a protocol, which cannot be called
    shown = [
        _plain(parameter) for parameter in found.parameters.values() if parameter.name not in ("self", "cls")
    ]
    returned = inspect.Signature.empty if inspect.isclass(thing) else _Words(found.return_annotation)
    plain = f"{name}{found.replace(parameters=shown, return_annotation=returned)}"
    return [f"```python\n{_wrapped(_MODULE.sub('', plain))}\n```\n"]


class _Words(str):
    """Text that is shown without quotation marks."""

    __repr__ = str.__str__


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """An annotation without quotation marks, and a default that is made when needed as dots."""
    empty = inspect.Parameter.empty
    annotation = parameter.annotation if parameter.annotation is empty else _Words(parameter.annotation)
    made = "factory" in repr(parameter.default)
    return parameter.replace(annotation=annotation, default=_Words("…") if made else parameter.default)


def _wrapped(signature: str, width: int = 100) -> str:
    """One parameter to a line where it is too long."""
    if len(signature) <= width:
        return signature
    start, depth, lines, line = signature.index("(") + 1, 0, [], ""
    for at, character in enumerate(signature[start:], start):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return "\n".join([signature[:start], *lines, f"    {line.strip()},", signature[at:]])
        if character == "," and depth == 0:
            lines.append(f"    {line.strip()},")
            line = ""
        else:
            line += character
    return signature


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the class itself defines and describes."""
    for name, found in vars(thing).items():
        plain = found.__func__ if isinstance(found, classmethod | staticmethod) else found
        wrapped = getattr(plain, "func", plain)  # of a cached property
        is_member = inspect.isfunction(wrapped) or isinstance(plain, property)
        if not name.startswith("_") and is_member and wrapped.__doc__:
            yield name, property(wrapped) if wrapped is not plain else plain


def _commands() -> list[list[str]]:
    found: list[list[str]] = [[]]
    app = load()
    for name in app:
        if name.startswith("-"):
            continue
        found.append([name])
        below = [inner for inner in app[name] if not inner.startswith("-")]
        found += [[name, inner] for inner in below]
    return found


def _doc(thing: Any, name: str = "") -> str:
    found = inspect.getdoc(thing)
    if not found:
        raise SystemExit(f"{name or thing!r} has no docstring")
    return found


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
