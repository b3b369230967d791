"""From counts to rows in an order that tells nothing."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from needs import SLOW
from showthrough.engine.keys import Column, KeyCodec
from showthrough.microdata import write as expand
from showthrough.microdata.write import Checksum, Shuffle, n_chunks, rows_to_table

CHANCE = 1e-6


def codec(n_values: int = 4, *, n_columns: int = 0) -> KeyCodec:
    public = tuple(Column(f"c{at}", pa.array(range(2**10))) for at in range(n_columns))
    return KeyCodec(
        public, (Column("v", pa.array([f"v{at}" for at in range(n_values)])),), np.arange(n_values)
    )


def shuffled(folder: Path, counts: list[int], *, n_chunks: int, seed: int, wide: int = 0) -> list[int]:
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    made = codec(len(counts), n_columns=wide)
    shuffle = Shuffle(folder, made, n_chunks, seed)
    keys = made.join(np.zeros((len(counts), made.n_words), np.uint64), np.arange(len(counts)))
    half = len(counts) // 2
    shuffle.scatter(0, (keys[:half], np.array(counts[:half])))
    shuffle.scatter(1, (keys[half:], np.array(counts[half:])))
    pieces = shuffle.pieces()
    rows = np.concatenate([shuffle.gather(pieces, chunk) for chunk in range(n_chunks)])
    return made.unpack(rows, wide).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("chunks", "wide"), [(1, 0), (3, 0), (2, 8)])
def test_all_orders_are_equally_likely(tmp_path: Path, chunks: int, wide: int) -> None:
    """Three rows, six orders, several chunks and blocks: χ² with a failure probability of 1e-6."""
    times = 900 if SLOW else 240
    found = Counter(
        tuple(shuffled(tmp_path / "s", [1, 1, 1], n_chunks=chunks, seed=seed, wide=wide))
        for seed in range(times)
    )
    observed = [found[order] for order in permutations(range(3))]
    assert sum(observed) == times
    assert stats.chisquare(observed).pvalue > CHANCE


def test_no_value_has_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows of each value stand: χ² with a failure probability of 1e-6."""
    monkeypatch.setattr(expand, "PIECE", 1000)
    counts = [20_000, 5000, 100, 15_000]
    rows = np.array(shuffled(tmp_path, counts, n_chunks=7, seed=4))
    assert np.bincount(rows).tolist() == counts
    place = np.arange(len(rows)) * 10 // len(rows)
    assert stats.chi2_contingency(np.bincount(rows * 10 + place, minlength=40).reshape(4, 10)).pvalue > CHANCE
    # Neighbours are strangers too.
    pairs = np.bincount(rows[:-1] * 4 + rows[1:], minlength=16).reshape(4, 4)
    assert stats.chi2_contingency(pairs).pvalue > CHANCE


def test_scattering_twice_changes_nothing(tmp_path: Path) -> None:
    made = codec()
    shuffle = Shuffle(tmp_path, made, 3, seed=1)
    batch = made.join(np.zeros((4, 1), np.uint64), np.arange(4)), np.array([5, 6, 7, 8])
    assert shuffle.scatter(0, batch) == shuffle.scatter(0, batch)
    once = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    shuffle.scatter(0, batch)
    assert once == {file.name: file.read_bytes() for file in tmp_path.iterdir()}


def test_pieces_cut_counts_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "PIECE", 4)
    keys = np.arange(5, dtype=np.uint64)[:, None]
    pieces = [piece[:, 0].tolist() for piece in expand._pieces(keys, np.array([3, 0, 9, 1, 2]))]
    assert pieces == [[0, 0, 0, 2], [2, 2, 2, 2], [2, 2, 2, 2], [3, 4, 4]]


def test_number_of_chunks() -> None:
    assert [n_chunks(n) for n in (0, 1, 2**18, 2**18 + 1, 2**40)] == [1, 1, 1, 2, 2**16]


def test_checksum_sees_every_change() -> None:
    keys, counts = np.array([[1, 2], [2, 1], [3, 3]], np.uint64), np.array([5, 6, 7])
    whole = Checksum.of(keys, counts)
    assert whole == Checksum.of(keys[::-1], counts[::-1])
    assert whole == Checksum.of(keys[:1], counts[:1]) + Checksum.of(keys[1:], counts[1:])
    assert whole != Checksum.of(keys, np.array([6, 5, 7]))
    assert whole != Checksum.of(keys[:, ::-1], counts)


def test_rows_become_columns() -> None:
    columns = (
        Column("text", pa.array([None, "a", "b"])),
        Column("number", pa.array([None, 1.5])),
        Column("one", pa.array(["only"])),
    )
    made = KeyCodec(columns, (Column("v", pa.array([3, 4])),), np.arange(2))
    keys = made.pack([np.array([0, 1, 2]), np.array([1, 0, 1]), np.zeros(3, int), np.array([0, 1, 1])])
    expected = {"text": [None, "a", "b"], "number": [1.5, None, 1.5], "one": ["only"] * 3, "v": [3, 4, 4]}
    assert rows_to_table(keys, made).to_pydict() == expected
    assert made.table(keys).to_pydict() == expected
