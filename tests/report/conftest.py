"""Settings of the tests of pages."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def drawn(whole_pages: None) -> None:
    """Pages are tested with all their pictures and all their evidence."""
