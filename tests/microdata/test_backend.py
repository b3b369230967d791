"""Counting on one machine: within little memory, and with errors as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowd
from showthrough.engine.backend import open_backend
from showthrough.engine.duck import DuckBackend
from showthrough.errors import InputError
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation


def test_little_memory_is_enough(tmp_path: Path) -> None:
    """Many groups within a limit that holds only a part of them: the rest goes to disk."""
    table = crowd.people(200_000)
    ids = table.append_column("n", [list(range(100_000)) * 2])
    backend = DuckBackend(memory="60MB", threads=1)
    found = publish(
        ids, tmp_path / "out", sensitive="ill", method=UniformPerturbation(0.5), seed=1, engine=backend
    )
    assert found.manifest.records == 200_000


def test_backends_by_name() -> None:
    with open_backend("local", threads=3, memory="2GB") as backend:
        assert backend == DuckBackend("2GB", 3)
    with pytest.raises(InputError, match="unknown engine"), open_backend("sparks"):
        pass


def test_work_raises_what_it_raises() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise InputError("no")
        return 2 * item

    assert sorted(DuckBackend(threads=2).run(work, range(3))) == [(0, 0), (1, 2), (2, 4)]
    with pytest.raises(InputError, match="no"):
        list(DuckBackend(threads=2).run(work, range(9)))
