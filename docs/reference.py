"""Writes the reference pages from docstrings: python docs/reference.py FOLDER

One page for what ``import showthrough`` offers, one for each package below it, one for the commands.
Nothing is written by hand, so nothing can be out of date; what has no docstring is an error.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import showthrough
from showthrough.cli import main as showthrough_command
from showthrough.cli.commands import app

#: The packages that have a page, in the order of the site.
PACKAGES = ("audit", "protect", "publish", "attack", "report", "io", "datasets", "engine")

#: Of these packages only some modules are for others; the rest is how pages are drawn.
SHOWN = {"report": {"attack_plots", "charts", "plots", "writing"}}

_ROLE = re.compile(r":[\w:]+:`~?(?:[^`<]*<)?([^`>]+)>?`")
#: The modules before the name of a class.
_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_LITERAL = re.compile(r"``(.+?)``")


def write_reference(folder: Path) -> list[Path]:
    """Write all pages into a folder; the pages written."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index": index_page(), "library": library_page(), "commands": commands_page()}
    pages |= {name: package_page(name) for name in PACKAGES}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return [folder / f"{name}.md" for name in pages]


def index_page() -> str:
    """The list of pages."""
    entries = [
        "- [Commands](commands.md): every command and its options.",
        "- [The library](library.md): what `import showthrough` offers.",
    ]
    entries += [f"- [showthrough.{name}]({name}.md): {_first_line(_module(name))}" for name in PACKAGES]
    return "# Reference\n\nWritten from the code when the site is built.\n\n" + "\n".join(entries) + "\n"


def library_page() -> str:
    """The names that the package exports."""
    parts = ["# The library\n", "What `import showthrough` offers.\n"]
    for name in sorted(showthrough.__all__, key=str.casefold):
        parts += entry(name, getattr(showthrough, name), level=2)
    return "\n".join(parts)


def package_page(name: str) -> str:
    """The modules of a package, each with the names it exports."""
    package = _module(name)
    parts = [f"# showthrough.{name}\n", *prose(_doc(package))]
    for found in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if found.name not in SHOWN.get(name, {found.name}):
            continue
        module = _module(f"{name}.{found.name}")
        exported = [n for n in getattr(module, "__all__", ()) if _is_own(getattr(module, n), module)]
        if exported:
            parts += [f"## {name}.{found.name}\n", *prose(_doc(module))]
            for exported_name in exported:
                parts += entry(exported_name, getattr(module, exported_name), level=3)
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


def entry(name: str, thing: Any, *, level: int) -> list[str]:
    """A class, a function or a value: its signature, its docstring, its public members."""
    heading = f"{'#' * level} {name}\n"
    if not (inspect.isclass(thing) or callable(thing)):
        return [heading, f"A value of type `{type(thing).__name__}`.\n"]
    parts = [heading, *_signature(name, thing), *prose(_doc(thing, name))]
    if inspect.isclass(thing):
        for member, found in _members(thing):
            parts += [f"**{member}**\n", *_signature(member, found), *prose(_doc(found, f"{name}.{member}"))]
    return parts


def prose(docstring: str) -> list[str]:
    """A docstring as Markdown: examples and indented text fenced, roles and literals as code."""
    parts: list[str] = []
    for paragraph in _paragraphs(docstring):
        first = paragraph.splitlines()[0]
        if first.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{textwrap.dedent(paragraph)}\n```\n")
        elif first.startswith("    "):
            parts.append(f"```text\n{textwrap.dedent(paragraph)}\n```\n")
        else:
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
    shown = [_plain(parameter) for parameter in found.parameters.values() if parameter.name != "self"]
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
    for name in app:
        if name.startswith("-"):
            continue
        found.append([name])
        below = [inner for inner in app[name] if not inner.startswith("-")]
        found += [[name, inner] for inner in below]
    return found


def _is_own(thing: Any, module: ModuleType) -> bool:
    """Whether a name is defined here rather than passed on from another module."""
    return getattr(thing, "__module__", module.__name__) == module.__name__


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"showthrough.{name}")


def _doc(thing: Any, name: str = "") -> str:
    found = inspect.getdoc(thing)
    if not found:
        raise SystemExit(f"{name or thing!r} has no docstring")
    return found


def _first_line(module: ModuleType) -> str:
    return _inline(_doc(module).split("\n\n")[0].replace("\n", " "))


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
