"""A page is one file that asks for nothing, lets nothing run but its own script, and is reproducible."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import showthrough as st
from report.runs import HOSTILE, county, hostile
from showthrough.errors import InputError, RunError
from showthrough.files import file_digest
from showthrough.report import page as pages
from showthrough.report.page import pack
from showthrough.report.write import write_report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("county") / "run"
    county(folder)
    return folder


class _Reader(HTMLParser):
    """Tags with their attributes, and the text within scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            self.inside.append((self.tags[-1][0], data))


def test_it_names_no_address_and_allows_only_its_own_script_and_style(run: Path) -> None:
    text = write_report(run).read_text("utf-8")
    reader = _Reader(text)
    for tag, attributes in reader.tags:
        assert not {name for name in attributes if name.startswith("on") or name == "style"}, (
            tag,
            attributes,
        )
        for name in ("src", "href", "action", "srcset", "data", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, value)
    (policy,) = (a["content"] for t, a in reader.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    executed = [
        hashlib.sha256(data.encode()).digest()
        for (kind, data) in reader.inside
        if not re.fullmatch(r"[A-Za-z0-9+/=]*\s*", data)
    ]
    assert len(executed) == 2
    for digest in executed:
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy


def test_the_same_run_gives_the_same_page(run: Path, tmp_path: Path) -> None:
    one, other = write_report(run, tmp_path / "a.html"), write_report(run, tmp_path / "b.html")
    assert one.read_bytes() == other.read_bytes()


def test_it_holds_what_the_run_found_and_how_it_was_made(run: Path) -> None:
    text = write_report(run).read_text("utf-8")
    summary = st.AuditRun(run).summary
    assert f"{summary.findings:,} findings" in text
    manifest = json.loads((run / "run.json").read_text("utf-8"))
    assert manifest["outputs"].pop("report.html") == file_digest(run / "report.html")
    for digest in manifest["outputs"].values():
        assert digest in text
    assert manifest["versions"]["numpy"] in text
    block = re.search(r'id="index">([^<]*)<', text)
    assert block is not None
    index = json.loads(gzip.decompress(base64.b64decode(block[1])))
    assert len(index["area"]) == summary.findings
    sentences = {
        "".join(parts) for parts in zip(index["before"], index["learnt"], index["after"], strict=True)
    }
    assert sentences == set(st.AuditRun(run).table("findings")["sentence"].to_pylist())
    assert all(index["learnt"])


def test_hostile_text_is_text(tmp_path: Path) -> None:
    hostile(tmp_path / "run")
    text = write_report(tmp_path / "run").read_text("utf-8")
    for letter in "\u202e\u2067\u2069\u200f\x1b":
        assert letter not in text
    assert "onerror" not in {name for _, attributes in _Reader(text).tags for name in attributes}
    assert not [a for t, a in _Reader(text).tags if t == "img"]
    assert "<script>document" not in text
    assert len([t for t, _ in _Reader(text).tags if t == "script"]) == text.count('<script type="app') + 1
    assert "\\u202e" in text


def test_what_a_script_unpacks_is_visible_too() -> None:
    content = json.loads(gzip.decompress(base64.b64decode(pack({"a": [HOSTILE], "b": None, "c": 1.5}))))
    assert content["b"] is None
    assert content["c"] == 1.5
    assert "\u202e" not in content["a"][0]
    assert "\\u202e" in content["a"][0]


def test_a_folder_without_a_run_and_one_of_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a finished run"):
        write_report(tmp_path)
    (tmp_path / "run.json").write_text('{"kind": "soup"}', "utf-8")
    with pytest.raises(RunError, match="no page for this kind"):
        write_report(tmp_path)


def test_a_place_that_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.*the file cannot be written"):
        write_report(run, tmp_path / "nowhere" / "page.html")


def test_without_the_extra_it_says_how_to_get_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "find_spec", lambda name: None if name == "jinja2" else name)
    with pytest.raises(InputError, match=r"jinja2.*pip install 'showthrough\[report\]'"):
        write_report(run)


def test_evidence_beyond_the_budget_is_left_out_and_findings_stay(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from showthrough.report import pieces

    monkeypatch.setattr(pieces, "MOST_BYTES", 10)
    monkeypatch.setattr(pieces, "PIECE", 10)
    text = write_report(run, tmp_path / "small.html").read_text("utf-8")
    block = re.search(r'id="index">([^<]*)<', text)
    assert block is not None
    index = json.loads(gzip.decompress(base64.b64decode(block[1])))
    places = {piece for piece, _ in index["where"]}
    assert places == {-1, 0}
    assert len(index["area"]) == st.AuditRun(run).summary.findings
