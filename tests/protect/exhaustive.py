"""Protection by exhaustion: every plan, and for each every dataset.

It shares with the search only what a move does to a release (:func:`apply_moves`), which has tests
of its own, and the list of moves with their costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from brute_force import Worlds, all_worlds, count_range, selections, verified_claims
from showthrough.protect.menu import Menu
from showthrough.protect.moves import Move, Suppress, apply_moves
from showthrough.protect.policy import Policy
from showthrough.release import Release
from showthrough.schema import Schema, Selection


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
