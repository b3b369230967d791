"""The page of an audit in a real browser: opened, searched, filtered, read, switched, printed."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import showthrough as st
from needs import SLOW
from report.browser import Tab
from report.runs import HOSTILE, county, hostile, repeated
from showthrough.report.write import write_report
from showthrough.tables.coverage import Background
from showthrough.text import escape_control

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with witnesses, whose page has baselines."""
    folder = tmp_path_factory.mktemp("county") / "run"
    records = county(folder)
    write_report(folder, background=Background.whole(records, "county"))
    return folder


@pytest.fixture
def tab(browser: Any, run: Path) -> Generator[Tab]:
    opened = Tab(browser, run / "report.html")
    opened.settle()
    yield opened
    opened.close()


def _findings(run: Path) -> Any:
    return st.AuditRun(run).table("findings")


def test_it_opens_with_the_headline_and_the_most_telling_findings(tab: Tab, run: Path) -> None:
    summary = st.AuditRun(run).summary
    assert f"{summary.findings:,} findings" in tab.page.locator("h1").inner_text()
    assert tab.status() == f"{summary.findings:,} findings"
    assert len(tab.cards()) == 8
    assert set(tab.cards()) <= set(_findings(run)["sentence"].to_pylist())
    tab.page.locator("#more").click()
    assert len(tab.cards()) == 33
    assert tab.page.evaluate("document.activeElement.closest('.card') !== null")


def test_searching_finds_what_has_all_the_words(tab: Tab, run: Path) -> None:
    tab.choose(search="RENTED  partner")
    lower = pc.utf8_lower(_findings(run)["sentence"])
    both = pc.and_(pc.match_substring(lower, "rented"), pc.match_substring(lower, "partner"))
    wanted = pc.sum(both).as_py()
    assert 0 < wanted < _findings(run).num_rows
    assert tab.status().startswith(f"{wanted} of ")
    assert all("rented" in text.lower() and "partner" in text.lower() for text in tab.cards())
    tab.choose(search="no such words anywhere")
    assert tab.status().startswith("0 of ")
    assert not tab.cards()


@pytest.mark.parametrize(
    ("field", "value", "condition"),
    [
        ("k", "6", pc.field("k") == 6),
        ("multiplicity", "1", pc.field("kind") == "singleton"),
        ("multiplicity", "2", (pc.field("kind") == "group") & (pc.field("multiplicity") == 2)),
        ("multiplicity", "least", pc.field("kind") == "group of unknown size"),
        ("area", "block 2", pc.field("area") == "block 2"),
        ("attribute", "0", pc.match_substring(pc.field("learns"), '"tenure"')),
    ],
)
def test_filters_keep_exactly_what_fits(tab: Tab, run: Path, field: str, value: str, condition: Any) -> None:
    tab.choose(**{field: value})
    wanted = _findings(run).filter(condition).num_rows
    assert 0 < wanted < _findings(run).num_rows
    assert tab.status().startswith(f"{wanted} of ")


def test_filters_work_together_and_are_cleared_together(tab: Tab, run: Path) -> None:
    tab.choose(multiplicity="1", area="block 1", search="rented")
    both = (pc.field("kind") == "singleton") & (pc.field("area") == "block 1")
    wanted = _findings(run).filter(both & pc.match_substring(pc.field("sentence"), "rented")).num_rows
    assert tab.status().startswith(f"{wanted} of ")
    tab.page.get_by_role("button", name="Clear").click()
    tab.page.locator("#count", has_text=re.compile(r"^[0-9,]+ findings$")).wait_for()
    assert tab.status() == f"{_findings(run).num_rows} findings"


def test_what_is_unlikely_by_chance_is_found_and_sorted(tab: Tab) -> None:
    tab.choose(baseline="1 % or less, county", order="baseline")
    assert " of " in tab.status()
    shown = tab.page.locator(".card .tags span:last-child").all_text_contents()
    chances = [
        float(text.removeprefix("by chance (county): ").removesuffix("\u00a0%"))
        for text in shown
        if "under" not in text
    ]
    assert chances == sorted(chances)
    assert max(chances) <= 1


def test_orders_sort(tab: Tab) -> None:
    tab.choose(order="k")
    columns = [
        int(text.split()[0]) for text in tab.page.locator(".tags span:nth-child(2)").all_text_contents()
    ]
    assert columns == sorted(columns, reverse=True)
    assert columns[0] == 7
    tab.choose(order="area")
    assert set(tab.page.locator(".card .where").all_text_contents()) == {"block 1"}


def test_a_finding_opens_into_its_proof_its_claims_and_where_it_ends(tab: Tab) -> None:
    tab.choose(multiplicity="1", search="four people live there")
    card = tab.page.locator(".card").first
    card.locator("summary").first.press("Enter")  # by keyboard
    card.locator(".why").wait_for()
    text = card.inner_text()
    assert "Why it holds" in text
    assert "Both are about the same household" in text
    assert card.locator(".steps > li").count() == 2
    assert card.locator(".grid .plus").count() >= 2
    assert card.locator(".step .total").first.inner_text().endswith("so exactly 1 household.")
    card.locator(".names summary").first.click()
    card.locator(".sum").first.wait_for()
    assert "count" in card.locator(".sum").first.inner_text()
    assert "[" in card.locator(".sum").first.inner_text()
    claims = card.locator("details summary", has_text="it stands for")
    number = int(claims.inner_text().split()[1])
    claims.click()
    members = card.locator(".members > li")
    members.first.wait_for()
    assert members.count() == number
    members.first.locator("summary").click()
    members.first.locator(".sum").wait_for()


def test_the_datasets_that_refute_neighbours_are_shown_as_counts(tab: Tab) -> None:
    tab.choose(k="4", multiplicity="1")
    tab.page.locator(".card summary").first.click()
    tab.page.locator(".near").first.wait_for()
    assert "Two datasets agree with every published cell" in tab.page.locator(".near").first.inner_text()


def test_an_area_leads_to_its_findings(tab: Tab, run: Path) -> None:
    tab.page.locator("#area-table button", has_text="block 3").click()
    tab.page.locator("#count", has_text="block 3").wait_for()
    wanted = _findings(run).filter(pc.field("area") == "block 3").num_rows
    assert tab.status().startswith(f"{wanted} of ")
    assert set(tab.page.locator(".card .where").all_text_contents()) == {"block 3"}


def _paper(tab: Tab) -> str:
    return tab.page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_that_of_the_system_until_it_is_switched(browser: Any, run: Path, scheme: str) -> None:
    tab = Tab(browser, run / "report.html", scheme=scheme)
    tab.settle()
    first = _paper(tab)
    mark = "getComputedStyle(document.querySelector('.chart [fill=\"#a8321b\"]')).fill"
    drawn = tab.page.evaluate(mark)
    assert (first == "rgb(252, 251, 248)") is (scheme == "light")
    tab.page.locator("#theme").click()
    assert _paper(tab) != first
    assert tab.page.evaluate(mark) != drawn
    assert tab.page.locator("#theme").get_attribute("aria-pressed") == str(scheme == "light").lower()
    tab.page.locator("#theme").click()
    assert _paper(tab) == first
    tab.close()


def test_print_is_light_without_tools_and_fits_the_paper(browser: Any, run: Path, tmp_path: Path) -> None:
    tab = Tab(browser, run / "report.html", scheme="dark")
    tab.settle()
    tab.page.locator(".card summary").first.click()
    tab.page.locator(".why").first.wait_for()
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert not tab.page.locator("#tools").is_visible()
    assert not tab.page.locator("#theme").is_visible()
    assert not tab.page.locator("#more").is_visible()
    assert tab.page.locator(".why").first.is_visible()
    assert tab.page.locator(".chart .wide").first.is_visible()
    assert tab.page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(28, 26, 23)"
    tab.page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    tab.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(browser: Any, run: Path, width: int) -> None:
    tab = Tab(browser, run / "report.html", width=width)
    tab.settle()
    tab.page.locator(".card summary").first.click()
    tab.page.locator(".why").first.wait_for()
    tab.check_width()
    assert tab.page.locator(".chart .narrow").first.is_visible() is (width <= 768)
    tab.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(browser: Any, run: Path, width: int, scheme: str) -> None:
    tab = Tab(browser, run / "report.html", width=width, scheme=scheme)
    tab.settle()
    tab.page.locator(".card summary").first.click()
    tab.page.locator(".why").first.wait_for()
    tab.page.locator(".why details summary").first.click()
    assert tab.check_accessible("best-practice") > 20
    tab.close()


def test_without_scripts_the_most_telling_findings_are_there(browser: Any, run: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((run / "report.html").absolute().as_uri())
    assert page.locator(".card .sentence").count() == 8
    page.locator(".card summary").first.click()
    drawn = page.locator(".card").first.locator(".proof").all_inner_texts()
    context.close()
    tab = Tab(browser, run / "report.html")
    tab.settle()
    tab.page.locator(".card summary").first.click()
    tab.page.locator(".proof").first.wait_for()
    scripted = tab.page.locator(".card").first.locator(".proof").all_inner_texts()
    tab.close()
    assert drawn == [text.removesuffix("The same with the names of the cells").rstrip() for text in scripted]
    assert "+ " in drawn[0]


def test_hostile_text_is_shown_as_text(browser: Any, tmp_path: Path) -> None:
    hostile(tmp_path / "run")
    page = write_report(tmp_path / "run")
    tab = Tab(browser, page, width=390)
    tab.settle()
    for at in range(tab.page.locator(".card").count()):
        tab.page.locator(".card").nth(at).locator("summary").first.click()
        tab.page.locator(".card").nth(at).locator(".why").wait_for()
    assert tab.page.title() == "What shows through – showthrough"
    assert tab.page.locator("img").count() == 0
    shown = " ".join(tab.cards())
    assert escape_control(HOSTILE) in shown
    assert "{{7+7}}" in shown
    assert escape_control(HOSTILE).strip() in tab.page.locator(".card .where").all_text_contents()
    tab.check_width()
    tab.close()


@pytest.mark.slow
def test_many_claims_open_search_and_sort(browser: Any, run: Path, tmp_path: Path) -> None:
    """A page that grows with the claims, but no faster, and is still searched and sorted."""
    wanted, most = (100_000, 20 * MEGABYTE) if SLOW else (8_000, 2 * MEGABYTE)
    n_claims = repeated(run, tmp_path / "many", claims=wanted)
    assert n_claims >= wanted
    page = write_report(tmp_path / "many")
    assert page.stat().st_size < most
    tab = Tab(browser, page)
    tab.settle()
    n = st.AuditRun(tmp_path / "many").summary.findings
    assert tab.status() == f"{n:,} findings"
    tab.choose(search="tract 001 rented")
    assert 0 < int(tab.status().split(" of ")[0].replace(",", "")) < n
    tab.page.locator(".card summary").first.click()
    tab.page.locator(".proof, .sum").first.wait_for()
    tab.choose(search="", order="area")
    assert len(tab.cards()) == 8
    tab.close()
