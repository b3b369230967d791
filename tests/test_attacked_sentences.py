"""Sentences that comfort are attacked: each is in a table with the test that tries to make it a lie."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "methods" / "attacked-sentences.md"
SOURCES = (
    *sorted((ROOT / "src/showthrough/microdata").glob("*.py")),
    ROOT / "src/showthrough/estimate.py",
    *(
        ROOT / f"src/showthrough/cli/{name}.py"
        for name in ("publish", "promises", "count", "check", "compare", "protect")
    ),
    *(
        ROOT / f"src/showthrough/report/{name}.py"
        for name in ("check_page", "publication_page", "comparison_page", "group_charts", "protect_page")
    ),
    *(ROOT / f"src/showthrough/tables/protect/{name}.py" for name in ("summary", "intervals", "protection")),
)

#: What is said about noise: by attack, advise and perturb. There every percentage counts, too.
NOISE = (
    *sorted((ROOT / "src/showthrough/numbers").glob("*.py")),
    *(ROOT / f"src/showthrough/cli/{name}.py" for name in ("attack", "advise", "ratio")),
    *(ROOT / f"src/showthrough/report/{name}.py" for name in ("attack_page", "advice_page", "ratio_page")),
)

#: Words with which a program comforts.
COMFORT = re.compile(
    r"\b(safe|safely|holds?|kept|keeps?|exact|exactly|nobody|nothing|no (?:reader|group|value|set|person)"
    r"|certain|certainly|confidence|sure|surely|surer|never|nowhere|none of|whatever|any records|always"
    r"|enough)\b",
    re.IGNORECASE,
)


def rows_of(heading: str) -> list[list[str]]:
    """The rows of the table below a heading of the page."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


ATTACKED = rows_of("Sentences and attacks")
ABOUT_NOISE = rows_of("Sentences about noise")
SILENT = rows_of("Promises without a sentence")
HARMLESS = rows_of("Sentences that promise nothing")


def sentences(path: Path) -> Iterator[str]:
    """The texts of a module with such words, and … for what is filled in; no errors, no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    left_out = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _name(node.func).endswith("Error")):
            left_out |= {id(inner) for inner in ast.walk(node)}
        elif isinstance(node, ast.JoinedStr):
            left_out |= {id(inner) for part in node.values for inner in ast.walk(part)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.add(id(node.value))
    for node in ast.walk(tree):
        text = None if id(node) in left_out else _text(node)
        if text and len(text.split()) > 2 and (COMFORT.search(text) or (path in NOISE and _has_share(node))):
            yield " ".join(text.split())


def _has_share(node: ast.AST) -> bool:
    """Whether a percentage is filled in between words."""
    return len(re.findall(r"[^\W\d_]+", _text(node) or "")) > 2 and any(
        isinstance(part, ast.Call) and _name(part.func) == "percent" for part in ast.walk(node)
    )


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


@cache
def pattern(sentence: str) -> re.Pattern[str]:
    parts = re.split(r"\s*…\s*", " ".join(sentence.strip("“”").split()))
    return re.compile(".*".join(re.escape(part) for part in parts))


def is_listed(sentence: str, rows: list[list[str]] = ATTACKED) -> bool:
    return any(pattern(row[0]).search(sentence) for row in rows) or any(
        is_harmless(row[0], sentence) for row in HARMLESS
    )


def is_harmless(row: str, sentence: str) -> bool:
    """Whether a row is about this sentence: from its beginning, and a few words only if they are all."""
    whole = len(row.split()) < 6
    return bool(pattern(row).fullmatch(sentence) if whole else pattern(row).match(sentence))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_comforting_sentence_is_listed(path: Path) -> None:
    assert [text for text in sentences(path) if not is_listed(text)] == []


@pytest.mark.parametrize("path", NOISE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_sentence_about_noise_is_listed(path: Path) -> None:
    assert [text for text in sentences(path) if not is_listed(text, ABOUT_NOISE)] == []


def test_what_is_listed_is_said() -> None:
    """No row outlives its sentence."""
    said = {path: list(sentences(path)) for path in (*SOURCES, *NOISE)}
    groups = ((ATTACKED, SOURCES), (ABOUT_NOISE, NOISE), (HARMLESS, (*SOURCES, *NOISE)))
    stale = [
        row[0]
        for rows, paths in groups
        for row in rows
        if not any(pattern(row[0]).search(text) for path in paths for text in said[path])
    ]
    assert stale == []


@pytest.mark.parametrize("row", [*ATTACKED, *ABOUT_NOISE, *SILENT], ids=lambda row: row[0][:40])
def test_every_attack_is_a_test(row: list[str]) -> None:
    assert len(row) == 3
    assert row[1]
    for test in re.findall(r"tests/[\w/]+\.py::[\w:]+", row[2]):
        file, *names = test.split("::")
        body: list[ast.stmt] = ast.parse((ROOT / file).read_text("utf-8")).body
        for name in names:
            found = [n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name]
            assert found, test
            body = found[0].body
    assert "::test_" in row[2] or "::Test" in row[2]
