"""One is one: no sentence about a single thing has its plural."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import showthrough as st
from showthrough.cli import main
from showthrough.report.page import unpack

#: Things that are counted; "1 of 1 groups" is right, and "0.1 values" is no number of things.
WRONG = re.compile(
    r"(?<![\d.,:±] )(?<![\d.,:±])(?<!of )\b1\s(?:sensitive )?(?:table|area|cell|record|claim|"
    r"finding|group|column|value|row|home|block|household|dataset|proof|witnesse|sentence|figure|run|trial|sub-table)s\b"
)

ONE = "age,sex\nold,f\n"

CALLS = {
    "audit": "audit one.csv --tables age*sex --tables sex --out made",
    "bounds": "bounds one.csv --tables age --where age=old",
    "check": "check two.csv --sensitive sex --public age --diversity 2",
    "compare": "compare two.csv --sensitive sex --public age --methods uniform --retention 0.5 --runs 1 "
    "--queries 1 --out made",
    "demo": "demo --areas 1 --out made",
    "publish": "publish two.csv --sensitive sex --public age --retention 0.5 --seed 1 --out made",
    "simulate": "simulate --blocks 1 --seed 1 --out homes.parquet",
    "worlds": "worlds one.csv --tables age --out worlds.csv",
}


def _visible(page: Path) -> str:
    """What a reader sees, what scripts unpack included."""
    text = page.read_text("utf-8")
    packed = re.findall(r'<script type="application/[^"]*"[^>]*>([A-Za-z0-9+/=]{20,})</script>', text)
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " | ", text, flags=re.S)
    return " ".join([shown, *map(unpack, packed)])


@pytest.mark.parametrize("name", CALLS)
def test_one_is_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text(ONE, "utf-8")
    Path("two.csv").write_text("age,sex\nold,f\nold,m\n", "utf-8")
    assert main(CALLS[name].split()) in (0, 1, 3), capsys.readouterr().err
    printed = capsys.readouterr()
    shown = [printed.out, printed.err, *map(_visible, Path().rglob("report.html"))]
    assert [found[0] for text in shown for found in WRONG.finditer(" ".join(text.split()))] == []


def test_what_is_printed_in_a_notebook() -> None:
    schema = st.Schema.of({"age": ["old"], "sex": ["f"]})
    release = st.Release.of(schema, {"age": [1]})
    shown = [repr(one) for one in (release, release.layout, release.layout.tables[0], st.audit(release))]
    assert not WRONG.search(" ".join(shown))
    assert WRONG.search("there are 1 tables")
    assert not WRONG.search("1 of 1 groups, 0.1 values, 11 cells, 1 table")
