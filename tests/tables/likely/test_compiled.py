"""What was compiled is kept from one process to the next, and forgotten where it does not fit any more."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from showthrough.tables.likely import compiled as compiling

SOURCE = """
from showthrough.tables.likely.compiled import compiled

@compiled
def twice(x):
    return 2 * x
"""


class Loaded:
    """A module with a compiled function, read anew as a new process would read it."""

    def __init__(self, path: Path) -> None:
        found = importlib.util.spec_from_file_location("kernels", path)
        assert found is not None
        assert found.loader is not None
        module: Any = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        self.twice: Any = module.twice

    def hits(self) -> int:
        """How often calls have found what was compiled before."""
        assert self.twice(21) == 42
        return sum(self.twice.stats.cache_hits.values())


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("numba")
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    return path


def test_what_was_compiled_is_used_again(path: Path) -> None:
    assert [Loaded(path).hits() for _ in range(3)] == [0, 1, 1]


def test_not_if_a_module_has_changed_whose_functions_may_be_in_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Loaded(path).hits() == 0
    monkeypatch.setattr(compiling, "_sources", lambda: "others")
    assert [Loaded(path).hits() for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04cnothing\nHere\n."])
def test_what_cannot_be_read_is_forgotten(path: Path, ending: str, content: bytes) -> None:
    assert Loaded(path).hits() == 0
    (kept,) = path.parent.rglob(f"*.{ending}")
    kept.write_bytes(content)
    assert [Loaded(path).hits() for _ in range(2)] == [0, 1]


def test_nothing_is_kept_in_ways_that_are_not_known() -> None:
    done: list[str] = []
    kept = SimpleNamespace(disable=lambda: done.append("disable"))
    compiling.keep_what_fits(SimpleNamespace(_cache=kept))
    assert done == ["disable"]
