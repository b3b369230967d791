"""Plans that are probably not safe, although they contain most of what the relaxation takes.

The proof of a forbidden claim is worth most if it rests on cells of which the relaxation takes little: its
clause then cuts the relaxation off. Known datasets tell which cells such a proof must rest on at least: if
all moves are made that the relaxation takes anything of, each dataset that refutes the claim must be kept
out by a move that is not made. So for each claim a cheap choice of moves is left out that keeps all known
datasets out which refute it. Either the claim then follows, or a dataset is found that was not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.protect.dataset_pool import DatasetPool
from showthrough.tables.protect.moves import Move
from showthrough.tables.protect.near_datasets import NearDatasets

__all__ = [
    "UnsafePlan",
    "unsafe_plans",
]

#: How strongly chance decides between moves, and what a move costs at least.
_NOISE, _LEAST = 0.2, 1e-3

#: Claims that are looked at.
_MOST_CLAIMS = 300

#: Of the moves that are left out the relaxation takes less than this together.
_MOST_WEIGHT = 0.999


@dataclass(frozen=True)
class UnsafePlan:
    """A plan under which no known dataset refutes some claim.

    Parameters
    ----------
    plan
        The moves of which the relaxation takes anything, without some.
    claim
        The number of the forbidden claim.
    weight
        How much the relaxation takes of those that are left out.
    """

    plan: frozenset[Move]
    claim: int
    weight: float


def unsafe_plans(near: NearDatasets, shares: Mapping[Move, float], *, seed: int) -> list[UnsafePlan]:
    """Plans that no known dataset shows to be safe, each once, those first that leave out least.

    Parameters
    ----------
    near
        The datasets that are known.
    shares
        How much the relaxation takes of each move.
    seed
        The seed for the choice between moves.
    """
    price = np.array([shares.get(move, 0.0) for move in near.moves])
    found = dict[frozenset[Move], UnsafePlan]()
    taken = np.flatnonzero(price > 0).tolist()
    for claim, left_out in _left_out(near.pool, price, np.random.default_rng([seed, 29])):
        weight = float(price[left_out].sum())
        if weight < _MOST_WEIGHT:
            plan = frozenset(near.moves[at] for at in {*taken}.difference(left_out))
            found.setdefault(plan, UnsafePlan(plan, claim, weight))
    return sorted(found.values(), key=lambda one: (one.weight, one.claim))


def _left_out(
    pool: DatasetPool, price: NDArray[np.float64], rng: np.random.Generator
) -> Iterator[tuple[int, list[int]]]:
    """For claims, moves of a positive price of which every dataset that refutes the claim needs one.

    Of claims that the same datasets refute, one is taken.
    """
    admitted = np.logical_not((pool.needs & (price <= 0)).any(axis=1))
    needs, refutes = pool.needs[admitted], pool.refutes[admitted]
    free = np.logical_not(needs.any(axis=1))
    open_ = np.flatnonzero(np.logical_not(refutes[free].any(axis=0)))
    needs, refutes = needs[~free].astype(np.float32), refutes[~free][:, open_]
    _, first = np.unique(np.packbits(refutes, axis=0), axis=1, return_index=True)
    first = np.sort(first)
    for at in first[np.argsort(refutes[:, first].sum(axis=0), kind="stable")][:_MOST_CLAIMS].tolist():
        worth = np.exp(_NOISE * rng.standard_normal(len(price))) / np.maximum(price, _LEAST)
        yield int(open_[at]), _keeping_out(needs[refutes[:, at]], worth)


def _keeping_out(needs: NDArray[np.float32], worth: NDArray[np.float64]) -> list[int]:
    """Moves of which every one of some datasets needs one, greedily."""
    chosen = list[int]()
    while len(needs):
        best = int((needs.sum(axis=0) * worth).argmax())
        chosen.append(best)
        needs = needs[needs[:, best] == 0]
    return chosen
