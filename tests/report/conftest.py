"""Settings of the tests of pages."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def one_picture_of_a_kind() -> None:
    """Every chart is drawn, other than in other tests."""
