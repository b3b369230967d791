"""Certificates in table space as datasets of records, counted again by the tables of the release itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from showthrough.records import Records
from showthrough.release import Release
from showthrough.tables.claims import World
from showthrough.tables.protect.cells.certificate import CellCertificate
from showthrough.tables.protect.cells.of_release import ReleaseCells
from showthrough.tables.protect.hidden_counts import HiddenCount
from showthrough.tables.protect.needs import Need

__all__ = [
    "CellEvidence",
    "Variant",
]

Codes = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Variant:
    """Records in which some are replaced: those taken out, by position, and those put in."""

    base: Records
    out: NDArray[np.int64]
    put_in: Codes

    def changes(self, release: Release) -> NDArray[np.int64]:
        """By how much each cell of a release changes, counted by its tables."""
        layout = release.layout
        return layout.count(self.put_in) - layout.count(self.base.codes[self.out])

    @cached_property
    def world(self) -> World:
        """The dataset."""
        codes = self.base.codes
        kept = np.delete(codes, self.out, axis=0)
        return World(self.base.schema, np.concatenate([kept, self.put_in.astype(codes.dtype)]))


class CellEvidence:
    """Datasets that agree with a release after a plan: given records, and these with a few replaced.

    Nothing is taken from the certificates but which records to replace: every count is made anew.
    """

    def __init__(
        self, cells: ReleaseCells, certificates: Iterable[CellCertificate], base: Records, after: Release
    ) -> None:
        self.base, self.after = base, after
        self.own = World(base.schema, base.codes)
        self._cells = cells
        self._before = after.layout.count(base.codes)
        self._sorted = np.argsort(self._keys, kind="stable")
        self._packed = _packed(list(certificates))
        self.variants = self._agreeing(self._packed)

    def _agreeing(self, changes: Iterable[Sequence[CellCertificate]]) -> tuple[Variant, ...]:
        """The datasets after some changes, as far as they agree with the release."""
        if not self._holds(self._before):
            return ()
        found = (self._variant(together) for together in changes)
        return tuple(one for one in found if one is not None and self._agrees(one))

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """Which atom each record of the base is in."""
        return self._cells.atoms_of(self.base)

    def _holds(self, counts: NDArray[np.int64]) -> bool:
        return bool(((counts >= self.after.low) & (counts <= self.after.high)).all())

    def _agrees(self, variant: Variant) -> bool:
        return self._holds(self._before + variant.changes(self.after))

    def _variant(self, certificates: Sequence[CellCertificate]) -> Variant | None:
        """The records after some changes together; None if there are not enough records to take out."""
        by = dict[int, int]()
        for one in certificates:
            for atom, change in zip(one.atoms, one.change, strict=True):
                by[atom] = by.get(atom, 0) + change
        out, atoms = list[NDArray[np.int64]](), list[int]()
        keys = self._keys[self._sorted]
        for atom, change in by.items():
            start, end = np.searchsorted(keys, [atom, atom + 1])
            if end - start < -change:
                return None
            out.append(self._sorted[start : start + max(0, -change)])
            atoms += [atom] * max(0, change)
        taken = np.concatenate(out) if out else np.zeros(0, np.int64)
        return Variant(self.base, taken, self._cells.records_in(atoms))

    def counts(self, needs: Sequence[Need]) -> dict[Need, NDArray[np.int64]]:
        """Counts in all datasets, the given records first."""
        parts = [(one.put_in, self.base.codes[one.out]) for one in self.variants]
        rows = [part for pair in parts for part in pair]
        every = Records(self.base.schema, np.concatenate(rows)) if rows else None
        sizes = [len(part) for part in rows]
        owner = np.repeat(np.arange(len(rows)) // 2, sizes)
        sign = np.repeat(np.where(np.arange(len(rows)) % 2, -1, 1), sizes)
        found = dict[Need, NDArray[np.int64]]()
        for need in needs:
            change = np.zeros(len(self.variants) + 1, np.int64)
            if every is not None:
                np.add.at(change, owner + 1, sign * every.matching(need.where))
            found[need] = self.base.count(need.where) + change
        return found

    def shown(self, needs: Sequence[Need]) -> dict[Need, NDArray[np.int64]]:
        """The needs that these datasets show to be met, with the count in each dataset.

        Changes that were made together may cancel in a count: then they are made one by one, too.
        """
        found = self.counts(needs)
        if not all(need.shown_by(counts) for need, counts in found.items()):
            singly = [(one,) for together in self._packed if len(together) > 1 for one in together]
            self.variants += self._agreeing(singly)
            found = self.counts(needs)
        return {need: counts for need, counts in found.items() if need.shown_by(counts)}

    def hidden(self, need: Need, counts: NDArray[np.int64]) -> HiddenCount:
        """A count, with two datasets in which it is farthest apart."""
        least, most = (self._world(int(at)) for at in (np.argmin(counts), np.argmax(counts)))
        return HiddenCount(need, int(counts[0]), (least, most))

    def _world(self, at: int) -> World:
        return self.own if at == 0 else self.variants[at - 1].world


def _packed(certificates: Sequence[CellCertificate]) -> list[tuple[CellCertificate, ...]]:
    """Certificates that change different atoms together: their sum is a certificate, too."""
    found = list[tuple[set[int], list[CellCertificate]]]()
    for one in certificates:
        atoms = set(one.atoms)
        place = next((mine for used, mine in found if not used & atoms), None)
        if place is None:
            found.append((atoms, [one]))
        else:
            used = next(used for used, mine in found if mine is place)
            used |= atoms
            place.append(one)
    return [tuple(mine) for _, mine in found]
