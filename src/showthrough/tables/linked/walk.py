"""Other datasets of a nest, by moves within parts whose effects on the whole cancel out.

A move replaces a few records of one part and keeps all counts of that part. If it keeps those of the
whole too it can be made alone. Otherwise a move in another part with the opposite effect is looked for:
effects on exact counts are compared by 64-bit hashes, which only propose. Whatever is kept as a world is
counted again in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from showthrough.tables.linked.parts import LinkedParts, NestPart
from showthrough.tables.search.type_counts import TypeCounts
from showthrough.tables.search.walk import Moves, Walker

__all__ = [
    "Effects",
    "NestStep",
    "NestWalker",
]

Counts = NDArray[np.int64]
Hashes = NDArray[np.uint64]

#: Replacements of one record that are drawn where not all moves are tabulated.
MOST_REPLACED = 1024

#: Partners that are tried for a move where counts of the whole are intervals.
MOST_PARTNERS = 8


@dataclass(frozen=True, eq=False)
class Effects:
    """The moves of one part, the classes they take out and put in, and their effect on the whole."""

    moves: Moves
    old: Counts
    new: Counts
    effect: Hashes


@dataclass(frozen=True, eq=False)
class NestStep:
    """A move of one part (or several), and the move of another that makes up for it, if one is needed."""

    part: int
    move: int | Counts
    partner: tuple[int, int] | None


class NestWalker:
    """Finds moves in all parts, and which of them go together."""

    def __init__(self, linked: LinkedParts, seed: int) -> None:
        self.linked = linked
        self.rng = np.random.Generator(np.random.Philox(seed))
        self.walkers = [Walker(part.system, (seed + at) % 2**63) for at, part in enumerate(linked.parts)]
        exact = linked.low == linked.high
        weights = np.random.default_rng(3).integers(0, 2**64, int(exact.sum()), dtype=np.uint64)
        self._hash = [_hashes(weights, part.above[exact]) for part in linked.parts]
        self._own = [_own_hashes(part) for part in linked.parts]
        self.loose = not exact.all()
        self.effects: list[Effects] = []
        self._seen: dict[tuple[int, int], Effects] = {}

    def look(self, worlds: Sequence[TypeCounts], *, again: bool = True) -> None:
        """Find the moves of every part from a world; unless ``again``, those of changed parts only."""
        known = self._seen if not again else {}
        effects = [known.get((at, id(world))) for at, world in enumerate(worlds)]
        self.effects = [
            self._effects(at, world) if before is None else before
            for at, (world, before) in enumerate(zip(worlds, effects, strict=True))
        ]
        self._worlds = worlds  # so that no other world gets the same id
        self._seen = {(at, id(world)): self.effects[at] for at, world in enumerate(worlds)}
        sizes = [len(one.effect) for one in self.effects]
        self._part = np.repeat(np.arange(len(sizes)), sizes)
        self._number = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.zeros(0, np.int64)
        every = np.concatenate([one.effect for one in self.effects])
        order = np.argsort(every, kind="stable")
        self._sorted = every[order]
        self._part, self._number = self._part[order], self._number[order]
        self._find_possible(order, sizes)

    def _find_possible(self, order: Counts, sizes: list[int]) -> None:
        """Which moves can be made: alone, or with one of the opposite effect in another part."""
        found = np.zeros(len(order), bool)
        if len(order):
            starts = np.flatnonzero(np.append(True, self._sorted[1:] != self._sorted[:-1]))
            effects = self._sorted[starts]
            least, most = np.minimum.reduceat(self._part, starts), np.maximum.reduceat(self._part, starts)
            opposite = np.uint64(0) - effects
            at = np.minimum(np.searchsorted(effects, opposite), len(effects) - 1)
            exists = effects[at] == opposite
            of = np.cumsum(np.append(False, self._sorted[1:] != self._sorted[:-1]))
            elsewhere = (least[at] != most[at])[of] | (least[at][of] != self._part)
            found[order] = (self._sorted == 0) | (exists[of] & elsewhere)
        self._possible = np.split(found, np.cumsum(sizes)[:-1])

    def possible(self, part: int) -> NDArray[np.bool_]:
        """Which moves of a part can be made: alone, or with one in another part."""
        return self._possible[part]

    def _effects(self, at: int, world: TypeCounts) -> Effects:
        walker, hashes = self.walkers[at], self._hash[at]
        moves = walker.moves(world)
        if self.linked.parts[at].system.n_classes >= 600 and len(world):
            moves = Moves.joined([moves, self._replaced(at, world)])
        old, new = walker.classes_out(moves, world), walker.group[moves.into]
        effect = hashes[new].sum(axis=1, dtype=np.uint64) - hashes[old].sum(axis=1, dtype=np.uint64)
        return Effects(moves, old, new, effect)

    def _replaced(self, at: int, world: TypeCounts) -> Moves:
        """One record by another that the part's own cells do not tell apart from it."""
        system, (order, starts, of) = self.linked.parts[at].system, self._own[at]
        chosen = self.rng.integers(0, len(world), MOST_REPLACED)
        group = of[system.group[world.at(chosen)]]
        pick = starts[group] + (self.rng.random(len(group)) * (starts[group + 1] - starts[group])).astype(int)
        into = system.order[system.starts[order[pick]]]
        changed = system.group[into] != system.group[world.at(chosen)]
        nobody = np.full(int(changed.sum()), -1)
        return Moves(np.stack([chosen[changed], nobody], 1), np.stack([into[changed], nobody], 1))

    def steps(self, part: int, move: int) -> list[NestStep]:
        """Ways to make a move: alone, or together with one of another part."""
        effect = self.effects[part].effect[move : move + 1]
        alone = not effect[0]
        if alone and not self.loose:
            return [NestStep(part, move, None)]
        opposite = np.uint64(0) - effect
        start = int(np.searchsorted(self._sorted, opposite)[0])
        end = int(np.searchsorted(self._sorted, opposite, "right")[0])
        found = [NestStep(part, move, None)] if alone else []
        if end > start:
            drawn = self.rng.integers(start, end, MOST_PARTNERS)
            drawn = drawn[self._part[drawn] != part]
            if not len(drawn) and not alone:
                every = np.arange(start, end)
                drawn = every[self._part[every] != part][:1]
            pairs = zip(self._part[drawn].tolist(), self._number[drawn].tolist(), strict=True)
            found += [NestStep(part, move, pair) for pair in pairs]
        return found

    def applied(self, step: NestStep, worlds: Sequence[TypeCounts]) -> dict[int, TypeCounts]:
        """The changed parts' records after a step."""
        found = {step.part: self.effects[step.part].moves.apply(step.move, worlds[step.part])}
        if step.partner is not None:
            part, move = step.partner
            found[part] = self.effects[part].moves.apply(move, worlds[part])
        return found

    def _many(self, part: int) -> NestStep | None:
        """Many moves of one part that need no other, at times; None where intervals must be kept."""
        effects = self.effects[part]
        alone = np.flatnonzero(effects.effect == 0)
        if (
            self.loose
            or not self.walkers[part].system.exact.all()
            or len(alone) < 2
            or self.rng.random() < 0.4
        ):
            return None
        mixed = self.rng.permutation(alone)
        return NestStep(part, mixed[effects.moves.take(mixed).apart()], None)

    def drawn_steps(self) -> list[NestStep]:
        """Steps that concern different parts, in random order: most parts that can move do."""
        free = set(range(len(self.effects)))
        found: list[NestStep] = []
        for part in self.rng.permutation(len(self.effects)).tolist():
            if part in free and (many := self._many(part)) is not None:
                found.append(many)
                free.discard(part)
                continue
            possible = np.flatnonzero(self.possible(part)) if part in free else []
            if not len(possible):
                continue
            for move in self.rng.choice(possible, min(4, len(possible)), replace=False).tolist():
                step = next(
                    (s for s in self.steps(part, move) if s.partner is None or s.partner[0] in free), None
                )
                if step is not None:
                    found.append(step)
                    free -= {part, *([] if step.partner is None else [step.partner[0]])}
                    break
        return found


def _hashes(weights: Hashes, rows: NDArray[np.uint8]) -> Hashes:
    """The sum of the weights of each class, modulo 2⁶⁴, and 0 for nobody."""
    sums = np.zeros(rows.shape[1] + 1, np.uint64)
    with np.errstate(over="ignore"):
        for weight, row in zip(weights, rows, strict=True):
            sums[:-1] += weight * row.astype(np.uint64)
    return sums


def _own_hashes(part: NestPart) -> tuple[Counts, Counts, Counts]:
    """Classes sorted by how the part's own cells count them, where each kind starts, and which is whose."""
    system = part.system
    if not system.n_classes:
        return np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64)
    _, of = np.unique(system.columns, axis=0, return_inverse=True)
    of = of.ravel()
    order = np.argsort(of, kind="stable")
    return order, np.searchsorted(of[order], np.arange(of.max() + 2)), of
