"""Work on things, done elsewhere: the same results in the same order as here, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elsewhere import Elsewhere
from showthrough.engine.engine import Engine, LocalEngine, Work
from showthrough.engine.handed import in_order_on, shared_scratch
from showthrough.errors import InputError, RecordsError, ShowthroughError


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHOWTHROUGH_SCRATCH", str(tmp_path))
    return tmp_path


def shout(word: str) -> str:
    if word.endswith("?"):
        raise RecordsError(f"no {word}")
    return word.upper()


@pytest.mark.parametrize("n_words", [0, 1, 3, 7, 8])
def test_the_same_as_here(n_words: int, scratch: Path) -> None:
    words = [f"word {n}" for n in range(n_words)]
    engine = Elsewhere()
    assert list(in_order_on(engine, shout, iter(words))) == list(in_order_on(LocalEngine(), shout, words))
    assert sorted(engine.done) == list(range(n_words))
    assert list(scratch.iterdir()) == []


def test_the_first_error_in_order_is_raised(scratch: Path) -> None:
    """As here, whoever was done first; what comes before it is handed over."""
    for engine in (LocalEngine(), Elsewhere()):
        found = in_order_on(engine, shout, ["a", "b?", "c?"])
        assert next(found) == "A"
        with pytest.raises(RecordsError, match=r"no b\?"):
            next(found)
    assert list(scratch.iterdir()) == []


def test_items_are_taken_as_there_is_room() -> None:
    taken = list[str]()

    def words() -> Iterator[str]:
        for n in range(9):
            taken.append(str(n))
            yield str(n)

    for n_found, _ in enumerate(in_order_on(Elsewhere(), shout, words())):
        assert len(taken) <= n_found + 3


class Forgets:
    """An engine that loses an item, or takes one for another."""

    def __init__(self, engine: Engine, *, swaps: bool) -> None:
        self.engine, self.swaps = engine, swaps

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        for item, done in self.engine.run(work, items):
            if item != 4 or self.swaps:
                yield item, done + (item == 4)


@pytest.mark.parametrize("swaps", [False, True])
def test_nothing_is_lost_in_silence(swaps: bool) -> None:
    with pytest.raises(ShowthroughError, match=r"but 4 came back|mixed up"):
        list(in_order_on(Forgets(Elsewhere(), swaps=swaps), shout, "abcdefg"))


def test_a_cluster_needs_a_folder_that_its_machines_share(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def far(master: str, place: Path | None = None) -> Any:
        return SimpleNamespace(
            session=SimpleNamespace(sparkContext=SimpleNamespace(master=master)), scratch=place
        )

    monkeypatch.delenv("SHOWTHROUGH_SCRATCH")
    with pytest.raises(InputError, match="need a shared folder"), shared_scratch(far("spark://host:7077")):
        pass
    with shared_scratch(far("local[2]")):
        pass
    with shared_scratch(far("spark://host:7077", scratch)) as folder:
        assert folder.is_relative_to(scratch)
