"""Plans from datasets near the true one, for one area or for several that are treated alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.cover_search import CoverSearch
from showthrough.tables.protect.dataset_pool import DatasetPool
from showthrough.tables.protect.exchanges import exchange_pool, moves_of_cells
from showthrough.tables.protect.moves import Drop, Mark, Move, Suppress
from showthrough.tables.protect.near_datasets import NearDatasets

__all__ = [
    "better_plan",
    "near_plan",
]

#: Rounds of emptying and filling parts of a plan, at an effort of 1, and how often they must help.
_ROUNDS, _IDLE = 200, 60

#: With more entries (datasets × claims) than this there are fewer rounds, but some.
_LARGE_POOL, _FEWEST_ROUNDS = 5_000_000, 8

#: Datasets kept for all areas together.
_MOST_DATASETS = 40_000


def near_plan(
    searches: Sequence[AreaSearch],
    costs: Mapping[Move, Fraction],
    *,
    effort: float,
    goal: Fraction,
    stop: Callable[[], bool],
) -> frozenset[Move] | None:
    """A cheap plan under which datasets near the true ones refute all forbidden claims that any of them can.

    Parameters
    ----------
    searches
        The areas.
    costs
        What each move costs, in all areas together.
    effort
        A factor on the rounds of improvement.
    goal
        A cost at which there is nothing left to improve.
    stop
        Whether it is time to end.

    Returns
    -------
    frozenset or None
        None where the policy is not about claims only, or where there are no such datasets. Whether the
        plan is safe is for an audit to say.
    """
    moves = _usable(searches, costs)
    each = _MOST_DATASETS // len(searches)
    if not moves or not all(_look_around(search, moves, each) for search in searches):
        return None
    return _cheapest(searches, costs, [frozenset()], effort, int(goal), stop)


def better_plan(
    searches: Sequence[AreaSearch],
    costs: Mapping[Move, Fraction],
    plan: frozenset[Move],
    *,
    effort: float,
    goal: Fraction,
    stop: Callable[[], bool],
) -> frozenset[Move] | None:
    """A plan made from another one or from nothing, by all datasets known by now; see :func:`near_plan`."""
    if any(search.near is None for search in searches):
        return None
    starts = [plan, frozenset[Move]()] if len(searches) == 1 else [plan]
    return _cheapest(searches, costs, starts, effort, int(goal), stop)


def _cheapest(
    searches: Sequence[AreaSearch],
    costs: Mapping[Move, Fraction],
    starts: Sequence[frozenset[Move]],
    effort: float,
    goal: int,
    stop: Callable[[], bool],
) -> frozenset[Move]:
    """The cheapest plan found from some starts, by the datasets that are known."""
    found = [search.near for search in searches if search.near is not None]
    moves = found[0].moves
    pools = [_condensed(near.pool) for near in found]
    unit = lcm(1, *(costs[move].denominator for move in moves))
    cost = np.array([int(costs[move] * unit) for move in moves], np.int64)
    share = min(1.0, _LARGE_POOL / max(1, sum(pool.refutes.size for pool in pools)))
    rounds = max(_FEWEST_ROUNDS, int(_ROUNDS * effort * share))
    made = list[CoverSearch]()
    for number, start in enumerate(starts):
        made.append(CoverSearch(pools, cost, seed=searches[0].seed + number))
        made[-1].start(np.array([move in start for move in moves], bool))
        _improve(made[-1], rounds, goal * unit, stop)
    best = min(made, key=lambda cover: cover.total)
    return frozenset(move for move, chosen in zip(moves, best.plan.tolist(), strict=True) if chosen)


def _improve(cover: CoverSearch, rounds: int, goal: int, stop: Callable[[], bool]) -> None:
    """Improve a plan until that does not help for a while."""
    idle = 0
    for _ in range(rounds):
        before = cover.total
        if before <= goal or idle >= _IDLE or stop():
            break
        cover.improve(1)
        idle = idle + 1 if cover.total == before else 0


def _condensed(pool: DatasetPool) -> DatasetPool:
    """For the claims that any dataset refutes."""
    return DatasetPool(pool.needs, pool.refutes[:, pool.refutes.any(axis=0)]).condensed


def _usable(searches: Sequence[AreaSearch], costs: Mapping[Move, Fraction]) -> list[Move]:
    """The cells that can be suppressed, else the tables that can be dropped, if only claims are forbidden."""
    policy = searches[0].policy
    about_claims = bool(policy.forbidden) and not any(one.groups for one in policy.forbidden)
    if not about_claims or policy.change.mark != Mark() or any(search.judge.needs for search in searches):
        return []
    cells: list[Move] = [move for move in costs if isinstance(move, Suppress)]
    return cells or [move for move in costs if isinstance(move, Drop)]


def _look_around(search: AreaSearch, moves: Sequence[Move], most: int) -> bool:
    """Make the datasets near an area's; whether that can be done."""
    if search.before is None:
        return False
    facts, forbidden = search.before.claim_table, search.forbidden
    mine: list[Move | None] = [move if move in search.menu.moves else None for move in moves]
    pool = exchange_pool(search.planned, search.world, facts, forbidden, mine, most=most, seed=search.seed)
    if pool is not None:
        counts = search.planned.layout.tabulate(search.world).low
        hidden_by = moves_of_cells(search.planned, mine)
        search.near = NearDatasets(pool, moves, hidden_by, counts, facts.candidates.take(forbidden))
    return pool is not None
