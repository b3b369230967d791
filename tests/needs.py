"""What some tests need and not every machine has."""

from __future__ import annotations

import importlib
import os
import shutil
from typing import Any, NoReturn

import pytest

__all__ = ["NAMES", "SLOW", "do_without", "examples", "find_browser", "need_module"]

#: Whether slow tests run in full; otherwise in a reduced form.
SLOW = os.environ.get("SHOWTHROUGH_SLOW") == "1"

#: Where a browser may be, as scripts/browser looks for it; CHROMIUM names another one.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def examples(n: int) -> int:
    """How many examples Hypothesis tries: all of them only if slow tests are asked for."""
    return n if SLOW else max(20, n // 4)


def do_without(what: str) -> NoReturn:
    """Skip a test for want of something; where CI is set nothing may be wanting, and it fails."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} (CI is set, so this test must run)", pytrace=False)
    pytest.skip(what)


def need_module(name: str, what: str) -> Any:
    """A module that a test needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        do_without(what)


def find_browser() -> str | None:
    """A browser that is named, or one on the path."""
    found = (shutil.which(name) for name in (os.environ.get("CHROMIUM", ""), *NAMES) if name)
    return next((path for path in found if path), None)
