"""Settings of all tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

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
