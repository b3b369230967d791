"""Reconstruction privacy at its edges: limits met exactly, single groups, and what is said in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from showthrough.errors import InputError
from showthrough.microdata.groups import Groups
from showthrough.microdata.reconstruction_privacy import (
    ReconstructionPrivacy,
    Tails,
    _binomial_at_least,  # pyright: ignore[reportPrivateUsage]
    _tails_down,  # pyright: ignore[reportPrivateUsage]
    largest_counts,
)

#: −log(chance) is 1, so for half of a group of 16, two values and p = ½ the limit is 16 exactly.
EXACT = ReconstructionPrivacy(1.0, math.exp(-1))


class TestMessages:
    @pytest.mark.parametrize(
        ("error", "chance", "told"),
        [
            (0.0, 0.3, "the relative error must be above 0 (found '0.0'); for example 0.3 for 30\xa0%"),
            (math.inf, 0.3, "the relative error must be above 0 (found 'inf'); for example 0.3 for 30\xa0%"),
            (0.3, 1.0, "the chance must be between 0 and 1 (found '1.0'); for example 0.3"),
            (0.3, 0.0, "the chance must be between 0 and 1 (found '0.0'); for example 0.3"),
        ],
    )
    def test_parameters(self, error: float, chance: float, told: str) -> None:
        with pytest.raises(InputError) as raised:
            ReconstructionPrivacy(error, chance)
        assert str(raised.value) == told

    @pytest.mark.parametrize("share", [-0.5, 1.5, math.nan])
    def test_frequencies(self, share: float) -> None:
        with pytest.raises(InputError) as raised:
            EXACT.largest_group([0.5, share], 0.5, 2)
        assert str(raised.value) == "a frequency must be between 0 and 1; give shares, not counts"

    @pytest.mark.parametrize(("count", "size"), [(-1, 5), (6, 5)])
    def test_counts(self, count: int, size: int) -> None:
        with pytest.raises(InputError, match="a count must be between 0 and the size of its group"):
            EXACT.holds([1, count], size, retention=0.5, n_values=2)

    def test_bounds(self) -> None:
        with pytest.raises(InputError) as raised:
            EXACT.largest_group(0.5, 0.5, 2, bound="normal")  # pyright: ignore[reportArgumentType]
        assert str(raised.value) == "unknown bound (found 'normal'); choose 'chernoff' or 'exact'"


class TestTheChernoffBound:
    def test_a_group_at_the_limit_holds(self) -> None:
        assert EXACT.largest_group(0.5, 0.5, 2, bound="chernoff") == 16
        held = EXACT.holds([8, 9, 0, 0, 1], [16, 18, 16, 0, 1], retention=0.5, n_values=2, bound="chernoff")
        assert held.tolist() == [True, False, True, True, True]
        groups = Groups.of({"g": [1, 2]}, {"v": ["a", "b"]}, [[8, 8], [9, 9]])
        assert EXACT.check(groups, retention=0.5).violated("chernoff").tolist() == [False, True]

    def test_a_single_record(self) -> None:
        """Its frequency is 1, not ½."""
        promise = ReconstructionPrivacy(1.0, math.exp(-0.13))
        limits = promise.largest_group([1.0, 0.5], 0.5, 2, bound="chernoff")
        assert limits.tolist() == pytest.approx([6 * 0.13, 16 * 0.13])
        assert not promise.holds(1, 1, retention=0.5, n_values=2, bound="chernoff")

    def test_the_largest_retention_of_several_groups_is_that_of_the_hardest(self) -> None:
        promise = ReconstructionPrivacy(0.3, 0.3)
        known: Any = {"n_values": 50, "bound": "chernoff"}
        alone = [promise.largest_retention(k, n, **known) for k, n in ((64, 642), (300, 500), (1, 4000))]
        assert min(alone) < sorted(alone)[1] < max(alone)
        counts, sizes = [64, 0, 300, 1], [642, 9, 500, 4000]
        assert promise.largest_retention(counts, sizes, **known) == min(alone)
        for at in (1, 2):
            assert promise.largest_retention(counts[at:], sizes[at:], **known) == min(alone[1:])
        assert promise.largest_retention(counts[3:], sizes[3:], **known) == alone[2]

    def test_where_the_bound_changes(self) -> None:
        """ω = 1 at p = ½, where the limit jumps from n to 3/2 n: a larger retention keeps the promise."""
        promise = ReconstructionPrivacy(2.0, math.exp(-1))
        assert promise.largest_group(0.5, 0.5, 2, bound="chernoff") == 4
        found = promise.largest_retention([2], [4], n_values=2, bound="chernoff")
        assert found == pytest.approx((0.5 + math.sqrt(4.25)) / 4)
        assert promise.largest_group(0.5, found, 2, bound="chernoff") == pytest.approx(4)


class TestExactTails:
    @pytest.mark.parametrize(
        ("promise", "counts", "sizes", "n_values", "expected"),
        [
            (ReconstructionPrivacy(0.3, 0.05), [5], [12], 2, 0.799),
            (ReconstructionPrivacy(0.3, 0.01), [3, 12], [30, 14], 3, 0.762),
            (ReconstructionPrivacy(0.3, 0.01), [12, 3], [14, 30], 3, 0.762),
            (ReconstructionPrivacy(0.5, 0.01), [2, 3], [3, 31], 5, 0.873),
            (ReconstructionPrivacy(0.3, 1e-4), [1], [2], 2, 0.999),
            (ReconstructionPrivacy(0.3, 0.48), [343], [343], 2, 0.001),
            (ReconstructionPrivacy(0.3, 0.49), [20_000], [20_000], 2, 0.0),
            (ReconstructionPrivacy(0.3, 1e-13), [1], [2], 2, 0.999),
        ],
    )
    def test_the_largest_retention_is_the_first_that_holds_for_all(
        self,
        promise: ReconstructionPrivacy,
        counts: list[int],
        sizes: list[int],
        n_values: int,
        expected: float,
    ) -> None:
        found = promise.largest_retention(counts, sizes, n_values=n_values, bound="exact")
        held = (
            step / 1000
            for step in range(999, 0, -1)
            if Tails(promise.error, step / 1000, n_values).reach(promise.chance, counts, sizes).all()
        )
        assert found == next(held, 0.0) == expected

    def test_nobody_has_the_value(self) -> None:
        """Estimates above and below 0 have to be likely too: once any retention was taken for safe."""
        promise = ReconstructionPrivacy(0.3, 0.3)
        found = promise.largest_retention([0, 0], [5, 9], n_values=2)
        assert found == 0.862
        for size in (5, 9):
            upper, lower = promise.tails(retention=found, n_values=2).exact(0, size)
            assert min(upper[0], lower[0]) >= 0.3
        assert EXACT.largest_retention([0, 0], [5, 9], n_values=2, bound="chernoff") == 1


def test_the_most_frequent_value_of_no_group_and_of_no_values() -> None:
    none = Groups.of({"g": []}, {"v": ["a", "b"]}, np.zeros((0, 2)))
    assert largest_counts(none).tolist() == []
    empty = Groups.of({"g": [1, 2]}, {"v": []}, np.zeros((2, 0)))
    assert largest_counts(empty).tolist() == [0, 0]
    some = Groups.of({"g": [1, 2]}, {"v": ["a", "b"]}, [[3, 4], [0, 0]])
    assert largest_counts(some).tolist() == [4, 0]


def test_a_wrong_type_comes_with_a_remedy():
    with pytest.raises(InputError, match=r"for example ReconstructionPrivacy\(0.3, 0.3\)"):
        ReconstructionPrivacy("much", 0.3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"count records with Groups.read"):
        ReconstructionPrivacy(0.3, 0.3).check("people.csv", retention=0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.01, 0.3, 0.999])
@pytest.mark.parametrize("n", [0, 1, 7, 300, 40_000])
def test_tails_that_grow_by_single_numbers_are_those_computed_one_by_one(n: int, share: float) -> None:
    first = np.array([n * share - 90, n * share + 40, n + 30, -3], np.int64)
    found = _tails_down(np.full(4, n), share, first, 120)
    alone = _binomial_at_least(np.full((4, 1), n), share, first[:, None] - np.arange(120))
    assert np.abs(found - alone).max() < 1e-12
