"""Settings of all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import settings

from showthrough.engine import processes

# No test asserts a time: a busy machine is no fault of the code.
settings.register_profile("showthrough", deadline=None)
settings.load_profile("showthrough")


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def one_worker() -> Iterator[None]:
    """Commands that are not told how many processes to use start none: tests share the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "n_processors", lambda: 1)
        yield


@pytest.fixture(scope="session", autouse=True)
def fresh_options() -> Iterator[None]:
    """Options are read as in a process of their own, where nothing has loaded pydantic by then.

    If something has, cyclopts has it check every option once more.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cyclopts.argument._argument.sys", SimpleNamespace(modules={}))
        yield
