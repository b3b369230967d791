"""Two publications of the same people: the bound for both holds against every reader, and is attained."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from crowd import SEED, people
from showthrough.errors import InputError
from showthrough.microdata.channel import Channel
from showthrough.microdata.ordinal import choose_channel, ordinal_channel
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.together import check_together, joint_amplification

CHANNELS = {
    "two uniform": (Channel.uniform(0.4, 3), Channel.uniform(0.25, 3)),
    "two ordinal": (ordinal_channel(3, 0.5, 0.2), ordinal_channel(3, 1.2, 0.4)),
    "one of each": (Channel.uniform(0.3, 3), ordinal_channel(3, *choose_channel(3, 4.0))),
}


def bound(share: float, gamma: float) -> float:
    return gamma * share / (gamma * share + 1 - share)


def shuffled(channel: Channel, world: Sequence[int], shown: Sequence[int]) -> float:
    """How likely people with these values show these, in any order."""
    orders = permutations(shown)
    return float(
        np.mean([np.prod([channel.matrix[x, y] for x, y in zip(world, o, strict=True)]) for o in orders])
    )


class TestBound:
    @pytest.mark.parametrize("name", CHANNELS)
    def test_the_joint_amplification_is_the_largest_ratio(self, name: str) -> None:
        one, other = CHANNELS[name]
        ratios = [
            one.matrix[x, a] * other.matrix[x, b] / (one.matrix[z, a] * other.matrix[z, b])
            for x, z, a, b in product(range(3), repeat=4)
        ]
        joint = joint_amplification(one, other)
        assert joint == pytest.approx(max(ratios))
        assert joint <= one.amplification * other.amplification * (1 + 1e-12)

    @pytest.mark.parametrize("name", CHANNELS)
    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_no_reader_of_a_tiny_group_exceeds_it(self, name: str, size: int) -> None:
        """All values of a group, all that both can show, all ways to match the rows, by brute force.

        The reader knows the shares and all rows of both, but not which rows belong together (with one
        person there is nothing to match). The target is the first person.
        """
        one, other = CHANNELS[name]
        joint = joint_amplification(one, other)
        shares = np.array([0.6, 0.3, 0.1])
        worlds = list(product(range(3), repeat=size))
        prior = np.array([np.prod(shares[list(world)]) for world in worlds])
        largest = np.zeros(3)
        for first in product(range(3), repeat=size):
            if list(first) != sorted(first):
                continue  # rows are shuffled, so their order says nothing
            for second in product(range(3), repeat=size):
                if list(second) != sorted(second):
                    continue
                likely = np.array(
                    [shuffled(one, world, first) * shuffled(other, world, second) for world in worlds]
                )
                sure = prior * likely / (prior * likely).sum()
                for value in range(3):
                    seen = sum(p for world, p in zip(worlds, sure, strict=True) if world[0] == value)
                    largest[value] = max(largest[value], seen)
        limits = [bound(share, joint) for share in shares]
        assert (largest <= np.array(limits) * (1 + 1e-9)).all()
        if size == 1 and name == "two uniform":  # attained, where rows can be matched
            assert largest == pytest.approx(limits)

    def test_two_publications_that_keep_a_promise_each_break_it_together(self, tmp_path: Path) -> None:
        """Each promises 60 %; both together let a reader become 84 % sure, and nothing said so."""
        table = people(300).append_column("number", pa.array(np.arange(300)))
        known: dict[str, Any] = {"sensitive": "ill", "promise": "rho=0.3:0.6", "public": ["number"]}
        one = publish(table, tmp_path / "a", seed=SEED, **known)
        other = publish(table, tmp_path / "b", seed=SEED + 1, **known)
        found = check_together(one, other, RhoPrivacy(0.3, 0.6))
        assert found.posteriors == pytest.approx((0.6, 0.6))
        assert found.posterior == pytest.approx(bound(0.3, 3.5**2))
        assert found.alone == found.alone_most == 300
        assert found.verdict == "violated"
        rows = [one.to_arrow().sort_by("number")["ill"], other.to_arrow().sort_by("number")["ill"]]
        assert found.agreeing == sum(a == b for a, b in zip(*(x.to_pylist() for x in rows), strict=True))

    def test_the_attack_works_where_rows_can_be_matched(self) -> None:
        """Of people whose matched rows show a rare value twice, more than promised have it.

        200,000 people, 10 % with the value; the bound is attained: the share of those who have it lies within
        five standard errors of 45.2 % where each publication alone allows 21.7 %.
        """
        chance = np.random.default_rng(5)
        channel = Channel.uniform(0.25, 4)
        has = chance.random(200_000) < 0.1
        true = np.where(has, 0, chance.integers(1, 4, len(has)))
        shown = [
            np.where(chance.random(len(has)) < 0.25, true, chance.integers(0, 4, len(has))) for _ in range(2)
        ]
        twice = (shown[0] == 0) & (shown[1] == 0)
        share, expected = true[twice] == 0, bound(0.1, channel.amplification**2)
        assert abs(share.mean() - expected) < 5 * np.sqrt(expected / twice.sum())
        once = (true[shown[0] == 0] == 0).mean()
        assert once < bound(0.1, channel.amplification) + 0.02 < expected


class TestPublications:
    def test_verdicts(self, tmp_path: Path) -> None:
        table = people(400)
        known: dict[str, Any] = {"sensitive": "ill", "public": []}
        one = publish(table, tmp_path / "a", retention=0.1, seed=SEED, **known)
        other = publish(table, tmp_path / "b", retention=0.15, seed=SEED + 1, **known)
        assert check_together(one, other, RhoPrivacy(0.3, 0.6)).verdict == "holds"
        found = check_together(one, other, RhoPrivacy(0.3, 0.4))
        assert found.verdict == "undecided"
        assert "Nobody is alone" in found.notes[0]
        with_age = publish(table, tmp_path / "c", retention=0.1, seed=SEED, sensitive="ill", public=["age"])
        assert check_together(with_age, other, RhoPrivacy(0.3, 0.6)).verdict == "undecided"

    def test_different_public_columns_do_not_hide_who_is_alone(self, tmp_path: Path) -> None:
        """Somebody who is alone by town in one and by job in the other can be matched by who knows both."""
        table = pa.table(
            {
                "town": [str(at) for at in range(30)],
                "job": [str(at) for at in range(30)],
                "ill": ["a", "b", "c"] * 10,
            }
        )
        known: dict[str, Any] = {"sensitive": "ill", "retention": 0.5}
        one = publish(table, tmp_path / "a", public=["town"], seed=SEED, **known)
        other = publish(table, tmp_path / "b", public=["job"], seed=SEED + 1, **known)
        found = check_together(one, other, RhoPrivacy(0.3, 0.5))
        assert found.shared == ()
        assert found.alone == found.alone_most == 30
        assert found.verdict == "violated"

    def test_what_does_not_fit(self, tmp_path: Path) -> None:
        table, promise = people(400), RhoPrivacy(0.3, 0.6)
        made = publish(table, tmp_path / "a", sensitive="ill", retention=0.3, seed=SEED)

        def other(name: str, data: pa.Table = table, **how: Any) -> Publication:
            known: dict[str, Any] = {"sensitive": "ill", "retention": 0.3, **how}
            return publish(data, tmp_path / name, seed=SEED, **known)

        wrong = {
            "this is one publication twice": made,
            "different sensitive columns": other("b", sensitive="job"),
            "different numbers of records": other("c", table.slice(0, 399)),
            "uniform and ordinal ones": other(
                "d", retention=None, promise="rho=0.45:0.8", method="partitioned"
            ),
            "different sensitive values": other(
                "e", table.set_column(3, "ill", pa.array([f"{one}!" for one in table["ill"].to_pylist()]))
            ),
        }
        for why, second in wrong.items():
            with pytest.raises(InputError, match=why):
                check_together(made, second, promise)
        with pytest.raises(InputError, match="know the totals"):
            check_together(made, other("f"), RhoPrivacy(0.3, 0.6, known_totals=True))

    def test_wrong_arguments(self, tmp_path: Path) -> None:
        made = publish(people(400), tmp_path / "a", sensitive="ill", retention=0.3, seed=SEED)
        wrong: Any
        for wrong in ((made, 3, "0.3:0.6"), (made, tmp_path / "b", "0.3:0.6"), (made, made, "diversity=3")):
            with pytest.raises(InputError):
                st.check_together(*wrong)
