"""Counts per record type as sets of binary digits, beside plain lists of integers."""

from __future__ import annotations

import random

import pytest

from showthrough.tables.proof.type_sums import TypeSums


@pytest.mark.parametrize("largest", [1, 3, 40, 2**70])
def test_sums_are_those_of_integers(largest: int) -> None:
    rng = random.Random(largest)  # noqa: S311
    for _ in range(150):
        n = rng.randrange(0, 9)
        sums = [[0] * n, [0] * n]
        both = TypeSums(), TypeSums()
        for _ in range(rng.randrange(0, 6)):
            side, types, times = rng.randrange(2), rng.getrandbits(n) if n else 0, rng.randint(0, largest)
            both[side].add(types, times)
            for at in range(n):
                sums[side][at] += times * (types >> at & 1)
        expected = sum(1 << at for at in range(n) if sums[0][at] > sums[1][at])
        assert both[0].exceeds(both[1]) == expected
