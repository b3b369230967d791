"""Settings of all tests.

The process that only hands tests to others loads this file as well, so what is large is imported by
those that run them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# While modules are imported nothing becomes garbage.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """What holds for all tests, those in src included."""
    config.pluginmanager.register(OnlyWithExamples())
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        _set_up_hypothesis()


def _set_up_hypothesis() -> None:
    """No test asserts a time: a busy machine is no fault of the code."""
    from hypothesis import settings

    from needs import examples

    settings.register_profile("showthrough", deadline=None, max_examples=examples(100))
    settings.load_profile("showthrough")


class OnlyWithExamples:
    """Examples in docstrings are looked for only in files that have some."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Iterator[Any]:
        collectors = yield
        if any(map(_looks_for_examples, collectors)) and b">>>" not in file_path.read_bytes():
            return [one for one in collectors if not _looks_for_examples(one)]
        return collectors


def _looks_for_examples(collector: pytest.Collector) -> bool:
    return type(collector).__name__ == "DoctestModule"


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector need not look at them again and again."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def as_in_all_tests() -> Iterator[None]:
    """What is otherwise than in a process of its own; one fixture, because every test asks for it."""
    from shortcuts import all_shortcuts

    with all_shortcuts():
        yield


@pytest.fixture(scope="module")
def whole_pages() -> Iterator[None]:
    """Pages as in a process of its own."""
    from shortcuts import whole_pages

    with whole_pages():
        yield
