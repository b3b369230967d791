"""The documentation does what it says: snippets are run, links lead somewhere, the site builds."""

from __future__ import annotations

import importlib.util
import inspect
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import showthrough
from needs import do_without
from showthrough.report import plots
from snippets import Run, blocks_of
from spark_cluster import missing

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUN = {"console", "python"}
SHOWN = {"csv", "sh", "text", "toml"}

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
SUBHEADING = re.compile(r"^## (.+)$", re.M)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the site is built from, with the reference pages and the example written."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["reference.py", str(folder / "docs" / "reference")])
        runpy.run_path(str(DOCS / "reference.py"), run_name="__main__")
        write_example = runpy.run_path(str(DOCS / "example.py"))["write_example"]
        patch.setitem(write_example.__globals__, "AREAS", 2)  # enough for a page
        write_example(folder / "docs" / "example" / "report.html")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_snippets_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    text = page.read_text("utf-8")
    typed = "".join(block.text for block in blocks_of(text) if block.kind == "console")
    if "--engine" in typed and (lacking := missing()):
        do_without(lacking)
    if "--engine" in typed:  # pages of two processes are compared
        request.getfixturevalue("whole_pages")
    monkeypatch.chdir(tmp_path)
    for output in Run(text, name_of(page)).outputs():
        assert output.agrees, f"{name_of(page)}: {output.snippet}\n" + "\n".join(output.real)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_block_goes_unseen(page: Path) -> None:
    """Every fence opens or closes a block that is run, written, compared, or only shown on purpose."""
    text = page.read_text("utf-8")
    blocks = blocks_of(text)
    assert text.count("```") == 2 * len(blocks)
    assert {block.kind for block in blocks} <= RUN | SHOWN
    for block in blocks:
        if block.kind == "console":
            assert block.text.startswith("$ "), block.text
        assert ">>>" not in block.text, "write plain code and what it prints"


def test_pages_are_run() -> None:
    """Nearly all pages have something to run; those that have nothing are known."""
    without = {name_of(p) for p in PAGES if not RUN & {b.kind for b in blocks_of(p.read_text("utf-8"))}}
    assert without == {
        "architecture.md",
        "comparison.md",
        "glossary.md",
        "methods/attacked-sentences.md",
        "methods/figures-of-the-papers.md",
        "methods/nested-areas.md",
        "methods/protecting-tables.md",
        "methods/tampering.md",
        "notebooks/index.md",
    }


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Python-Markdown makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCED.sub("", page.read_text("utf-8"))):
        anchor = re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
        found.add(f"{anchor}_1" if anchor in found else anchor)
    return found


def links(folder: Path) -> Iterator[tuple[Path, str]]:
    for page in sorted(folder.rglob("*.md")):
        for target in LINK.findall(FENCED.sub("", page.read_text("utf-8"))):
            yield page, target


def test_links_lead_somewhere(site: Path) -> None:
    found = list(links(site / "docs"))
    assert {target for _, target in found} >= {"reference/index.md", "../methods/why-a-proof-proves.md"}
    for page, target in found:
        where = f"{page.relative_to(site)}: {target}"
        assert not target.startswith(("http:", "https:", "/")), f"{where} leaves the site"
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        assert other.is_file(), where
        assert not anchor or anchor in anchors(other), where


def pages_in(nav: Any) -> Iterator[str]:
    for entry in nav:
        for value in [entry] if isinstance(entry, str) else entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from pages_in(value)


def test_every_page_is_in_the_navigation_once(site: Path) -> None:
    listed = list(pages_in(tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]))
    there = [str(page.relative_to(site / "docs")) for page in (site / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(there)


def test_the_reference_is_complete(site: Path) -> None:
    """Every public name is described once, on some page, and nothing else but charts and commands is."""
    folder = site / "docs" / "reference"
    pages = {page.stem: page.read_text("utf-8") for page in folder.glob("*.md")}
    described = {name: SUBHEADING.findall(FENCED.sub("", text)) for name, text in pages.items()}
    commands = described.pop("commands")
    for command in ("audit", "bounds", "census summary", "publish", "attack", "verify", "completion"):
        assert f"showthrough {command}" in commands
    public = [*showthrough.__all__, *plots.__all__]
    assert sorted(name for names in described.values() for name in names) == sorted(public)
    assert set(plots.__all__) <= set(described["report"])
    for name, text in pages.items():
        assert ":class:" not in text, name
        assert "``" not in FENCED.sub("", text), name
    for name in ("data", "tables", "protect", "microdata", "numbers"):
        assert "```pycon" in pages[name]


def test_numpydoc_sections_become_lists() -> None:
    """Parameters, returns and errors are listed, each with its type and its description."""
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    docstring = """Count people.

    Parameters
    ----------
    where : Selection or str
        Who is counted, such as
        ``"age=old"``.

    Returns
    -------
    int
        How many.

    Examples
    --------
    >>> 1
    1
    """
    assert reference.prose(inspect.cleandoc(docstring)) == [
        "Count people.\n",
        "*Parameters*\n",
        '- `where` (`Selection or str`): Who is counted, such as `"age=old"`.\n',
        "*Returns*\n",
        "- `int`: How many.\n",
        "*Examples*\n",
        "```pycon\n>>> 1\n1\n```\n",
    ]


def test_the_architecture_names_modules_that_exist() -> None:
    """Every module named on the page, and every package of the library is named."""
    text = (DOCS / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`(showthrough(?:\.\w+)+)`", text))
    named |= {f"showthrough.tables.{short}" for short in re.findall(r"`((?:linked|search|wide)\.\w+)`", text)}
    for module in sorted(named):
        assert importlib.util.find_spec(module) is not None, module
    packages = {path.parent.name for path in (ROOT / "src" / "showthrough").glob("*/__init__.py")}
    assert {f"showthrough.{package}" for package in packages} <= named
    walks = [part for part in re.split(r"^## ", text, flags=re.M) if "showthrough.cli." in part]
    assert len(walks) == 4


def test_the_site_builds_without_warnings(site: Path) -> None:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is missing: pip install 'showthrough[docs]'")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    built = sorted((site / "site").rglob("*.html"))
    assert len(built) > len(PAGES)
    for page in built:
        fetched = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?(https?:)?//", page.read_text("utf-8")
        )
        assert not fetched, f"{page.relative_to(site)} fetches something from elsewhere"
