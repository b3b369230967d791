"""The part of an audit's page about nested areas: area by area which parts, who, and by which tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.release import Layout
from showthrough.schema import Schema
from showthrough.selection import Selection
from showthrough.tables.decision import context_of
from showthrough.tables.linked.explain import explain_nested
from showthrough.tables.linked.nest import Nest
from showthrough.tables.proof import PART, Proof
from showthrough.tables.run.nests import nests_of
from showthrough.tables.run.read import AuditRun, iter_areas
from showthrough.text import percent, several

__all__ = [
    "NestSection",
    "NestedExample",
    "PartRow",
    "nest_sections",
]

#: Areas that have a section, parts that it lists, and findings that it explains.
MOST_NESTS, MOST_PARTS, MOST_EXAMPLES = 20, 40, 3

#: Tables of the larger area that are named, and lines of a proof that are shown.
MOST_TABLES, MOST_LINES = 6, 30

#: What proofs use of larger areas besides cells that they add up.
ZEROS = "cells published as 0"

_TABLES: dict[str, Sequence[str]] = {
    "claims": ("selection", "k", "multiplicity", "verdict", "evidence"),
    "proofs": ("proof", "claims"),
    "findings": ("kind", "multiplicity", "knows", "learns", "sentence"),
}


@dataclass(frozen=True)
class PartRow:
    """One part: its records, how many of them are proved in every column, and its findings."""

    area: str
    records: int | None
    alone: int
    proved: int
    unique: bool | None
    findings: int
    by_whole: int
    differ_high: int | None = None


@dataclass(frozen=True)
class NestedExample:
    """A finding that needs the tables of the larger area: by which of them, and the arithmetic."""

    area: str
    sentence: str
    tables: str
    lines: tuple[str, ...]


@dataclass
class NestSection:
    """What shows through in one area with parts."""

    area: str
    schema: Schema
    n_parts: int
    parts: list[PartRow] = field(default_factory=list[PartRow])
    examples: list[NestedExample] = field(default_factory=list[NestedExample])
    used: Counter[str] = field(default_factory=Counter[str])

    @property
    def listed(self) -> list[PartRow]:
        """The parts that are listed: those first in which the larger area's tables prove most."""
        order = sorted(self.parts, key=lambda one: (one.alone - one.proved, -one.by_whole, one.area))
        return order[:MOST_PARTS]

    @property
    def compared(self) -> bool:
        """Whether it is known how different two datasets can be."""
        return any(one.differ_high is not None for one in self.parts)

    def sentences(self) -> Iterator[str]:
        """What is proved about its parts, and by which tables."""
        n = sum(one.records or 0 for one in self.parts)
        unique = sum(bool(one.unique) for one in self.parts)
        proved, alone = (sum(getattr(one, name) for one in self.parts) for name in ("proved", "alone"))
        yield f"{several(self.n_parts, 'part')} with {n:,} {self.schema.noun(n)}."
        verb = "is" if unique == 1 else "are"
        yield f"{several(unique, 'part')} {verb} fully determined: only one dataset agrees."
        of = f" of {n:,} {self.schema.noun(n)} ({percent(proved / n, 1)})" if n else ""
        more = f", {proved - alone:,} of them by proofs that use the tables of {self.area}"
        rest = more if alone < proved else ""
        yield f"{proved:,}{of} {'is' if proved == 1 else 'are'} proved in every column{rest}."
        if self.used:
            first = [f"{name} (in {several(times, 'proof')})" for name, times in self._most_used()]
            left = len(self.used) - len(first)
            rest = f" and {several(left, 'other table')}" if left else ""
            yield f"Proofs that need the tables of {self.area} use most often: {', '.join(first)}{rest}."
        else:
            yield f"No proof needs the tables of {self.area}."

    def _most_used(self) -> list[tuple[str, int]]:
        return sorted(self.used.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_TABLES]


def nest_sections(run: AuditRun) -> list[NestSection]:
    """A section for each area that has parts, those with the most findings about single records first."""
    if not run.is_nested:
        return []
    areas = {row["area"]: row for row in run.table("areas").to_pylist()}
    wholes = [
        (row["area"], tuple(row["parts"])) for part in run.batches("wholes") for row in part.to_pylist()
    ]
    wholes.sort(key=lambda one: (-sum(areas[name]["singletons"] for name in one[1]), one[0]))
    chosen = wholes[:MOST_NESTS]
    schema = run.layout.schema
    sections = {name: NestSection(name, schema, len(parts)) for name, parts in chosen}
    of = {part: sections[name] for name, parts in chosen for part in parts}
    nests = nests_of(run, of)
    for area, tables in iter_areas(run, _TABLES, set(of)):
        _Part(area, areas[area], tables, nests[area]).add_to(of[area])
    return list(sections.values())


@dataclass(frozen=True)
class _Part:
    """One part of an area, to be added to its section."""

    name: str
    row: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    nest: Nest

    def add_to(self, section: NestSection) -> None:
        """Add a row, the tables that its proofs use, and an example."""
        alone, proved = self._in_every_column()
        proofs = dict(self._nested_proofs())
        for proof in {id(one): one for one in proofs.values()}.values():
            section.used.update(self._tables(proof)[0] or [ZEROS])
        needing = [(row, proof) for row in self.tables["findings"].to_pylist() if (proof := _of(row, proofs))]
        section.parts.append(
            PartRow(
                self.name,
                self.row["records"],
                alone,
                proved,
                self.row["unique"],
                self.row["findings"],
                len(needing),
                self.row["differ_high"],
            )
        )
        if needing and len(section.examples) < MOST_EXAMPLES:
            row, proof = min(needing, key=lambda pair: (pair[0]["multiplicity"], len(pair[1].cells)))
            section.examples.append(self._example(row, proof))

    def _in_every_column(self) -> tuple[int, int]:
        """How many records are proved in every column: by the part's own tables, and by all."""
        n_columns = len(context_of(self.nest.layout).frame.names)
        alone = proved = 0
        for row in self.tables["claims"].to_pylist():
            if row["k"] == n_columns and row["verdict"] == "verified":
                proved += row["multiplicity"]
                alone += row["multiplicity"] if row["evidence"] != "nested" else 0
        return alone, proved

    def _nested_proofs(self) -> Iterator[tuple[str, Proof]]:
        """The claims that are proved by the tables of the larger area, each with its proof."""
        for row in self.tables["proofs"].to_pylist():
            if f'"{PART}"' in row["proof"]:
                proof = Proof.from_json(row["proof"])
                yield from ((text, proof) for text in row["claims"])

    def _tables(self, proof: Proof) -> tuple[list[str], list[str], int]:
        """The tables of the larger area and of the part that a proof adds up, and how many other parts'."""
        layout, size = self.nest.layout, len(self.nest.whole.low)
        here = self.nest.names.index(self.name) + 1
        above = {_table(layout, at) for at in proof.cells if at < size}
        own = {_table(layout, at % size) for at in proof.cells if at // size == here}
        others = {at // size for at in proof.cells} - {0, here}
        return sorted(above), sorted(own), len(others)

    def _example(self, row: Mapping[str, Any], proof: Proof) -> NestedExample:
        above, own, others = self._tables(proof)
        of_whole = f"{_listed(above) if above else self._zeros(row)} of {self.nest.area}"
        of_part = f", {_listed(own)} of {self.name}" if own else ""
        rest = f", and tables of {several(others, 'other part')}" if others else ""
        lines = explain_nested(proof, self.nest)
        more = [f"… and {len(lines) - MOST_LINES:,} more lines"] if len(lines) > MOST_LINES else []
        return NestedExample(
            self.name, row["sentence"], f"By {of_whole}{of_part}{rest}.", (*lines[:MOST_LINES], *more)
        )

    def _zeros(self, row: Mapping[str, Any]) -> str:
        """The tables whose cells, published as 0 for the larger area, can concern those known."""
        knows = Selection.from_json(row["knows"])
        whole = self.nest.whole
        zero = ((at, term) for at in np.flatnonzero(whole.high == 0) for _, term in whole.layout.terms[at])
        names = sorted({_table(whole.layout, int(at)) for at, term in zero if _meet(term, knows)})
        return f"{ZEROS} in {_listed(names)}" if names else ZEROS


def _meet(one: Selection, other: Selection) -> bool:
    """Whether a record can match both, as far as these say."""
    return all(one[name] & other[name] for name in one.attributes if name in other)


def _of(row: Mapping[str, Any], proofs: Mapping[str, Proof]) -> Proof | None:
    """The proof by tables of the larger area that a finding rests on, if it does."""
    knows, learns = (Selection.from_json(row[name]) for name in ("knows", "learns"))
    for selection in (knows & learns, knows):
        found = proofs.get(selection.to_json())
        if found is not None and found.multiplicity == row["multiplicity"]:
            return found
    return None


def _table(layout: Layout, cell: int) -> str:
    return layout.names[cell][0]


def _listed(names: Sequence[str]) -> str:
    few = ", ".join(names[:MOST_TABLES])
    more = f" and {len(names) - MOST_TABLES:,} more" if len(names) > MOST_TABLES else ""
    return f"{'table' if len(names) == 1 else 'tables'} {few}{more}"
