"""Settings of the tests of pages."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from report.browser import open_browser


@pytest.fixture(scope="module", autouse=True)
def drawn(whole_pages: None) -> None:
    """Pages are tested with all their pictures and all their evidence."""


@pytest.fixture(scope="session")
def browser() -> Generator[Any]:
    """One browser for all pages."""
    with open_browser() as found:
        yield found
