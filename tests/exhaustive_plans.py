"""Protection by exhaustion: every plan, and for each every dataset; and random policies and plans.

It shares with the search only what a move does to a release (:func:`apply_moves`), which has tests
of its own, and the list of moves with their costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from brute_force import Worlds, all_worlds, count_range, selections, verified_claims
from needs import SLOW
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.protect.change import Change, Cost
from showthrough.tables.protect.menu import Menu
from showthrough.tables.protect.moves import Mark, Move, Suppress, apply_moves
from showthrough.tables.protect.policy import Narrow, Policy
from strategies import Case, random_selection

#: Datasets the brute force may hold.
MOST_WORLDS = 40_000 if SLOW else 4_000

#: Plans there may be for it to try them all.
MOST_PLANS = 150 if SLOW else 40


def plans(menu: Menu) -> Iterator[tuple[Fraction, frozenset[Move]]]:
    """Every plan that treats each table in one way, the cheapest first."""
    per_table: list[list[tuple[Move, ...]]] = []
    for moves in menu.by_table.values():
        cells = [move for move in moves if isinstance(move, Suppress)]
        sizes = range(len(cells) + 1)
        partly = [chosen for size in sizes for chosen in itertools.combinations(cells, size)]
        per_table.append([*partly, *((move,) for move in moves if not isinstance(move, Suppress))])
    found = [frozenset(itertools.chain(*chosen)) for chosen in itertools.product(*per_table)]
    priced = [(sum((menu.moves[move] for move in plan), Fraction(0)), plan) for plan in found]
    yield from sorted(priced, key=lambda pair: (pair[0], len(pair[1])))


def n_plans(menu: Menu) -> int:
    """How many plans there are."""
    number = 1
    for moves in menu.by_table.values():
        cells = sum(isinstance(move, Suppress) for move in moves)
        number *= 2**cells + len(moves) - cells
    return number


def forbidden(worlds: Worlds, policy: Policy, schema: Schema) -> set[object]:
    """Everything forbidden that holds in all datasets, by the plain meaning of the conditions.

    Covers multiplicity, columns, sensitive attributes, groups (whatever is known about a group) and
    intervals.
    """
    found: set[object] = set()
    claims = verified_claims(worlds, schema)
    for rule in policy.forbidden:
        if rule.groups:
            found |= disclosures(worlds, schema, rule.sensitive, rule.columns)
            continue
        for selection, m in claims:
            about = not rule.sensitive or set(rule.sensitive) & set(selection.attributes)
            if len(selection) >= rule.columns and (rule.most is None or m <= rule.most) and about:
                found.add((selection, m))
    for narrow in policy.narrow:
        low, high = count_range(worlds, narrow.where)
        if high is not None and high - low < narrow.width:
            found.add(narrow)
    return found


def disclosures(
    worlds: Worlds, schema: Schema, sensitive: tuple[str, ...], columns: int
) -> set[tuple[Selection, str, str]]:
    """Known columns, and a column with a value that all who match them have, of whom there are some.

    What the rules imply is no disclosure.
    """
    found: set[tuple[Selection, str, str]] = set()
    for known in selections(schema):
        if len(known) + 1 < columns or worlds.count(known).min() < 1:
            continue
        for attribute in schema.attributes:
            name = attribute.name
            if name in known or (sensitive and name not in sensitive):
                continue
            for value in attribute.values:
                others = [other for other in attribute.values if other != value]
                if not others:
                    continue
                rest = known & Selection.of({name: others})
                if worlds.mask(rest).any() and count_range(worlds, rest) == (0, 0):
                    found.add((known, name, value))
    return found


def cheapest(release: Release, policy: Policy, *, most: int) -> Fraction | None:
    """What the cheapest safe plan costs; None if no plan is safe."""
    menu = Menu(release, policy)
    for cost, plan in plans(menu):
        after, _ = apply_moves(release, plan, mark=policy.change.mark)
        if not forbidden(all_worlds(after, most=most), policy, release.schema):
            return cost
    return None


def safe_plans(release: Release, policy: Policy, *, most: int) -> set[frozenset[Move]]:
    """All plans after which nothing forbidden holds in all datasets."""
    found = set[frozenset[Move]]()
    for _, plan in plans(Menu(release, policy)):
        after, _ = apply_moves(release, plan, mark=policy.change.mark)
        if not forbidden(all_worlds(after, most=most), policy, release.schema):
            found.add(plan)
    return found


def random_policy(case: Case, seed: int) -> Policy:
    """What is forbidden, what may be done, and at which cost, at random."""
    rng = np.random.default_rng([seed, 5])
    texts = ["singletons", "multiplicity<=2", "k>=2", f"sensitive={case.schema.names[0]}", "singletons,k>=2"]
    moves = ["suppress", "drop", "suppress,drop", "round:3,drop", "merge,drop", "suppress,round:5,merge"]
    narrow = [Narrow(random_selection(rng, case.schema, 2), int(rng.integers(1, 3)))]
    chosen = [texts[rng.integers(len(texts))]]
    mark = Mark(0, 4) if rng.random() < 0.3 else Mark()
    cost = Cost(
        suppressed=Fraction(int(rng.integers(1, 4))),
        rounded=Fraction(1, 3),
        records=Fraction(int(rng.integers(0, 2))),
    )
    kinds = moves[rng.integers(len(moves))]
    only = narrow if rng.random() < 0.25 else []
    return Policy.of(
        *([] if only and rng.random() < 0.5 else chosen),
        moves=kinds,
        change=Change(mark=mark),
        cost=cost,
        narrow=only,
    )


def random_plan(rng: np.random.Generator, menu: Menu) -> frozenset[Move]:
    """Any plan that treats each table in one way."""
    plan: list[Move] = []
    for moves in menu.by_table.values():
        cells = [move for move in moves if isinstance(move, Suppress)]
        whole = [move for move in moves if not isinstance(move, Suppress)]
        if whole and rng.random() < 0.3:
            plan.append(whole[rng.integers(len(whole))])
        elif rng.random() < 0.6:
            plan += [move for move in cells if rng.random() < 0.3]
    return frozenset(plan)
