"""A real browser without a network, for tests of pages; where there is none they say so."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from needs import do_without, find_browser, need_module

__all__ = ["Tab", "open_browser"]

#: Where a window is that shows nothing.
BLANK = "about:blank"

#: The width of a phone.
PHONE = 390

#: Milliseconds after which something on a page never comes, however busy the machine is.
PATIENCE = 300_000


def executable(own: str) -> str:
    """The browser to use: one that is named, one on the path, or the one that Playwright installed."""
    found = find_browser()
    if found is None and not Path(own).is_file():
        do_without("no Chromium: install it (scripts/browser) or name it in CHROMIUM")
    return found or own


@contextmanager
def open_browser() -> Generator[Any]:
    """Headless Chromium, with one window that all tabs use one after the other."""
    playwright = need_module("playwright.sync_api", "no Playwright: pip install playwright")
    with playwright.sync_playwright() as driver:
        path = executable(driver.chromium.executable_path)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def window_of(browser: Any) -> Any:
    """Its window; a new one takes longer than a page, and is made only if a test left a page open."""
    for context in browser.contexts:
        if context.pages[0].url == BLANK:
            return context.pages[0]
        context.close()
    context = browser.new_context(offline=True, locale="en-GB")
    context.set_default_timeout(PATIENCE)
    return context.new_page()


class Tab:
    """A page in a window that remembers nothing, with all it asks for and all it complains about."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1280, scheme: str = "light") -> None:
        self.width = width
        self.page = window_of(browser)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.heard = {"console": self._said, "pageerror": self._failed, "request": self._asked}
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(media="screen", color_scheme=scheme)
        for event, listener in self.heard.items():
            self.page.on(event, listener)
        self.page.goto(path.absolute().as_uri())

    def _said(self, message: Any) -> None:
        self.complaints.append(message.text)

    def _failed(self, error: Any) -> None:
        self.complaints.append(str(error))

    def _asked(self, request: Any) -> None:
        if not request.is_navigation_request() and not request.url.startswith("data:"):
            self.requests.append(request.url)

    def settle(self) -> None:
        """Wait until the findings are there."""
        self.page.wait_for_selector("#tools:not([hidden])")

    def cards(self) -> list[str]:
        """The sentences on display."""
        return self.page.locator(".card .sentence").all_text_contents()

    def status(self) -> str:
        """How many findings the page says it shows."""
        return self.page.locator("#count").inner_text()

    def choose(self, **values: str) -> None:
        """Set fields of the form, by id; after each, wait for the list to follow."""
        for name, value in values.items():
            before = self.page.locator("#list").evaluate("list => list.dataset.round")
            field = self.page.locator(f"#{name}")
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)
            # Not with a function: the page's policy forbids the eval that Playwright would poll with.
            self.page.wait_for_selector(f"#list:not([data-round='{before}'])", state="attached")

    def check_width(self) -> None:
        """Nothing sticks out of the window."""
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width
        if self.width <= PHONE:
            tables = "[...document.querySelectorAll('table.stack')]"
            wide = self.page.evaluate(f"{tables}.some(t => t.offsetWidth > t.parentNode.clientWidth)")
            assert not wide, "tables are read without scrolling sideways"

    def check_figures(self, least: int) -> None:
        """There are pictures enough, they fit, and their numbers can be read."""
        assert self.page.locator("figure svg").count() >= least
        for summary in self.page.locator(".numbers summary").all():
            summary.click()
        self.check_width()
        assert self.page.locator(".numbers table").first.is_visible()

    def check_accessible(self, *more: str) -> int:
        """No rule of accessibility, nor of more sets of rules, is gravely broken; how many are kept."""
        axe = need_module(
            "axe_playwright_python.sync_playwright", "no axe: pip install axe-playwright-python"
        )
        rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", *more]
        # Only violations are listed node by node; of the rest one node per rule is enough to count rules.
        options = {"runOnly": rules, "resultTypes": ["violations"]}
        found = axe.Axe().run(self.page, options=options).response
        grave = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
        assert not [(v["id"], v["nodes"][0]["html"]) for v in grave]
        return len(found["passes"])

    def close(self) -> None:
        """Leave the page, and nothing of it behind; nothing was asked for and nothing was wrong."""
        self.page.evaluate("localStorage.clear()")
        for event, listener in self.heard.items():
            self.page.remove_listener(event, listener)
        self.page.goto(BLANK)
        assert not self.complaints
        assert not self.requests
