"""Tables published before: their runs, and the release that new tables make together with them.

Tables that are already out cannot be taken back. A reader of new tables has the old ones, too, so that the
release to audit is both together, area by area.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, RunError, SchemaError
from showthrough.files import file_digest, read_json
from showthrough.folders import MANIFEST
from showthrough.hierarchy import Hierarchy
from showthrough.records import Records
from showthrough.release import UNBOUNDED, Layout, Release, Table
from showthrough.schema import Attribute, Schema
from showthrough.tables.run.batch import Area, Broken, Input, Nested, Planned, names_of
from showthrough.tables.run.read import AFTER, AuditRun
from showthrough.tables.stored import DAMAGED
from showthrough.text import escape_control

__all__ = [
    "EarlierRun",
    "Following",
    "earlier_tables",
    "n_earlier_cells",
    "open_earlier",
    "unite_schemas",
]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EarlierRun:
    """A finished run about tables that are already out.

    ``digest`` is the SHA-256 of its ``run.json``; ``holds`` are those of the runs whose tables it has in it.
    """

    run: AuditRun
    name: str
    digest: str
    holds: frozenset[str] = frozenset()

    @classmethod
    def open(cls, folder: str | Path) -> EarlierRun:
        """The finished run in a folder; a :class:`RunError` if there is none."""
        run = AuditRun.open(folder)
        if run.is_nested:
            raise RunError(
                "a run about nested areas cannot be an earlier one: the larger areas would be forgotten",
                file=str(run.folder),
                remedy="audit the new tables together with the earlier ones, in one release file",
            )
        holds = {one["run"] for one in _said_earlier(run)} | {
            text for one in _said_earlier(run) for text in one.get("holds", ())
        }
        name = escape_control(Path(folder).resolve().name)
        return cls(run, name, file_digest(run.folder / MANIFEST), frozenset(holds))

    def releases(self) -> Iterator[tuple[str, Whole, Whole]]:
        """Every area with its bounds, areas sorted by name."""
        before, size = None, len(self.run.layout.names)
        for part in self.run.batches("counts", rows=2**10):
            for row in part.to_pylist():
                area, low, high = str(row["area"]), row["low"], row["high"]
                if len(low) != size or len(high) != size:
                    raise RunError(
                        "an area has too few or too many counts",
                        file=str(self.run.folder),
                        found=area,
                        remedy=DAMAGED,
                    )
                if before is not None and area <= before:
                    raise RunError(
                        "the areas of an earlier run are not sorted",
                        file=str(self.run.folder),
                        found=area,
                        remedy="audit the earlier tables again with showthrough audit",
                    )
                before = area
                yield area, np.array(low, np.int64), np.array(high, np.int64)


def _said_earlier(run: AuditRun) -> list[dict[str, Any]]:
    """What a run says about the runs before it; nothing if it is the first."""
    path = run.folder / AFTER
    if not path.is_file():
        return []
    found = read_json(path, error=RunError, remedy=DAMAGED).get("earlier")
    if not isinstance(found, list) or not all(_is_entry(one) for one in found):
        raise RunError("the earlier runs are not listed", file=str(path), remedy=DAMAGED)
    return found


def _is_entry(one: object) -> bool:
    return (
        isinstance(one, dict)
        and all(isinstance(one.get(key), str) for key in ("name", "run"))
        and all(
            isinstance(one.get(key), list) and all(isinstance(text, str) for text in one[key])
            for key in ("tables", "holds")
        )
    )


def earlier_tables(run: AuditRun) -> list[str]:
    """The tables of a run that were out before it."""
    return [name for one in _said_earlier(run) for name in one["tables"]]


def n_earlier_cells(run: AuditRun) -> int:
    """How many cells of a run were out before: the first ones."""
    names, tables = earlier_tables(run), run.layout.tables
    if [table.name for table in tables[: len(names)]] != names or len(names) >= len(tables):
        raise RunError(
            "the earlier tables are not the first ones of the run",
            file=str(run.folder / AFTER),
            remedy=DAMAGED,
        )
    return sum(len(table.cells) for table in tables[: len(names)])


def open_earlier(folders: Iterable[str | Path]) -> tuple[list[EarlierRun], list[str]]:
    """The runs in some folders, each table once, and a note about every folder that another one holds."""
    opened = [EarlierRun.open(folder) for folder in folders]
    kept, notes = list[EarlierRun](), list[str]()
    for at, one in enumerate(opened):
        holder = next((o for o in opened if one.digest in o.holds), None)
        twice = next((o for o in opened[:at] if o.digest == one.digest), None)
        if other := holder or twice:
            notes.append(f"{one.run.folder}: its tables are in {other.run.folder} already")
        else:
            kept.append(one)
    return kept, notes


def unite_schemas(new: Schema, earlier: Schema, *, inferred: bool = False, file: str = "") -> Schema:
    """The schema of records that two releases are about: the attributes and rules of both.

    ``inferred`` says that the first schema was inferred from data, in which not every value need occur.

    Raises
    ------
    SchemaError
        If an attribute has other values in one than in the other, or levels differ.

    Examples
    --------
    >>> one, other = Schema.of({"sex": ["f", "m"]}), Schema.of({"sex": ["m", "f"], "ill": ["no", "yes"]})
    >>> unite_schemas(one, other).names
    ('sex', 'ill')
    """
    attributes = {one.name: one for one in new.attributes}
    for one in earlier.attributes:
        attributes[one.name] = _united(attributes.get(one.name, one), one, inferred=inferred, file=file)
    hierarchies = {one.name: one for one in new.hierarchies}
    for one in earlier.hierarchies:
        hierarchies[one.name] = _deeper(hierarchies.get(one.name, one), one, file)
    rules = tuple(dict.fromkeys((*new.rules, *earlier.rules)))
    return Schema(tuple(attributes.values()), rules, new.record, new.records, tuple(hierarchies.values()))


def _united(new: Attribute, earlier: Attribute, *, inferred: bool, file: str) -> Attribute:
    ours, theirs = set(new.values), set(earlier.values)
    if ours == theirs:
        return new
    if inferred and ours < theirs:
        return earlier
    odd = sorted(ours ^ theirs)
    where = "the new tables" if odd[0] in ours else "the earlier ones"
    raise SchemaError(
        f"an attribute has other values in the new tables than in earlier ones: only {where} have this one",
        file=file or None,
        column=new.name,
        found=odd[0],
        remedy="use one schema for both: --schema schema.toml",
    )


def _deeper(new: Hierarchy, earlier: Hierarchy, file: str) -> Hierarchy:
    """The one with more levels; they must agree where both have the same."""
    small, large = sorted((new, earlier), key=lambda one: len(one.levels))
    n = len(small.levels)
    if large.levels[:n] != small.levels or large.parents[: n - 1] != small.parents:
        raise SchemaError(
            "the new tables and the earlier ones have different levels",
            file=file or None,
            column=new.name,
            remedy="use one schema for both: --schema schema.toml",
        )
    return large


@dataclass(frozen=True, eq=False)
class Following:
    """New tables and those that were out before, as one layout: the earlier ones come first.

    ``named`` are, for every earlier run, the names that its tables have here.
    """

    own: Layout
    layout: Layout
    earlier: tuple[EarlierRun, ...]
    named: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, own: Layout, earlier: Sequence[EarlierRun], schema: Schema | None = None) -> Following:
        """New tables after some runs, over the given schema or that of both."""
        for one in () if schema else earlier:
            schema = unite_schemas(schema or own.schema, one.run.layout.schema, file=str(one.run.folder))
        taken = {table.name for table in own.tables}
        tables, named = list[Table](), list[tuple[str, ...]]()
        for one in earlier:
            mine = [_renamed(table, one.name, taken) for table in one.run.layout.tables]
            named.append(tuple(table.name for table in mine))
            tables += mine
        return cls(own, Layout(schema or own.schema, (*tables, *own.tables)), tuple(earlier), tuple(named))

    @property
    def n_earlier(self) -> int:
        """How many cells were out before: the first ones."""
        return len(self.layout.names) - len(self.own.names)

    @property
    def before(self) -> Layout:
        """The earlier tables alone."""
        return Layout(self.layout.schema, self.layout.tables[: -len(self.own.tables)])

    def to_plain(self) -> list[dict[str, Any]]:
        """The earlier runs as ``after.json`` lists them."""
        return [
            {"name": one.name, "run": one.digest, "tables": list(names), "holds": sorted(one.holds)}
            for one, names in zip(self.earlier, self.named, strict=True)
        ]

    def inputs(self) -> dict[str, str]:
        """The earlier runs as input files: their manifests with their hashes."""
        return {str(one.run.folder / MANIFEST): one.digest for one in self.earlier}

    def areas_before(self) -> Iterator[Area]:
        """All areas with the earlier tables alone."""
        layout = self.before
        for name, found in self._joined(()):
            low, high = self._bounds(found)
            yield Area(Release(layout, low, high, name))

    def areas(self, new: Iterable[Input], *, keep_going: bool = False) -> Iterator[Input]:
        """All areas, of the new tables or of earlier ones, with both."""
        for name, found in self._joined(new):
            area = found.pop(len(self.earlier), None)
            low, high = self._bounds(found)
            try:
                yield self._whole(name, area, low, high)
            except InputError as error:
                if not keep_going:
                    raise
                yield Broken(name, str(error))

    def _joined(self, new: Iterable[Input]) -> Iterator[tuple[str, dict[int, Any]]]:
        """Every area's name with what the runs (by number), and at last the new tables, say about it."""
        streams = [_numbered(at, one.releases()) for at, one in enumerate(self.earlier)]
        mine = ((names_of(area)[0], len(self.earlier), area) for area in _sorted_areas(new))
        unnamed = False
        for name, group in groupby(merge(*streams, mine, key=lambda row: row[:2]), key=lambda row: row[0]):
            if unnamed:
                raise InputError(
                    "one release names areas and another does not",
                    found=name,
                    remedy="name the area column of both: --by",
                )
            unnamed = not name
            yield name, {at: found for _, at, found in group}

    def _bounds(self, found: Mapping[int, tuple[Whole, Whole]]) -> tuple[Whole, Whole]:
        """The bounds of the earlier cells; a run that does not name an area says nothing about it."""
        low, high = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for at, one in enumerate(self.earlier):
            size = len(one.run.layout.names)
            least, most = found.get(at, (np.zeros(size, np.int64), np.full(size, UNBOUNDED, np.int64)))
            low.append(least)
            high.append(most)
        return np.concatenate(low), np.concatenate(high)

    def _whole(self, name: str, area: Input | None, low: Whole, high: Whole) -> Input:
        if isinstance(area, Broken | Nested):
            return area
        truth = None if area is None else area.records if isinstance(area, Planned) else area.truth
        if isinstance(area, Area):
            mine = area.release.low, area.release.high
        elif area is not None:
            counted = self.own.tabulate(area.records)
            mine = counted.low, counted.high
        else:
            size = len(self.own.names)
            mine = np.zeros(size, np.int64), np.full(size, UNBOUNDED, np.int64)
        release = Release(self.layout, np.concatenate([low, mine[0]]), np.concatenate([high, mine[1]]), name)
        if truth is not None and truth.schema == self.layout.schema:
            truth = Records(truth.schema, truth.codes)
            self._check_truth(release, truth)
        else:
            truth = None
        return Area(release, truth, area.problem if isinstance(area, Area) else "")

    def _check_truth(self, release: Release, truth: Records) -> None:
        """Raise if the records do not have the counts that are out."""
        counted = self.layout.count(truth.codes)
        wrong = np.flatnonzero((counted < release.low) | (counted > release.high))
        if not len(wrong):
            return
        at = int(wrong[0])
        table, cell = self.layout.names[at]
        where = f" of area {release.area}" if release.area else ""
        raise InputError(
            f"the records{where} do not have the counts of an earlier release",
            column=f"{cell} of table {table}",
            found=f"{int(counted[at]):,} counted, {release.cells[at].value()} published",
            remedy="give the records that the earlier tables were counted over",
        )


def _numbered(
    at: int, rows: Iterable[tuple[str, Whole, Whole]]
) -> Iterator[tuple[str, int, tuple[Whole, Whole]]]:
    for name, low, high in rows:
        yield name, at, (low, high)


def _sorted_areas(areas: Iterable[Input]) -> Iterator[Input]:
    before = None
    for area in areas:
        if isinstance(area, Nested):
            raise InputError(
                "nested areas cannot be audited after earlier tables",
                found=area.whole.area,
                remedy="audit the new tables without --after and --ledger, or without their larger areas",
            )
        name = names_of(area)[0]
        if before is not None and name <= before:
            raise AssertionError("areas come sorted by name")
        before = name
        yield area


def _renamed(table: Table, run: str, taken: set[str]) -> Table:
    """An earlier table with a name of its own, and with whence it comes."""
    name, at = table.name, 1
    while name in taken:
        name = f"{table.name} (earlier{'' if at == 1 else f' {at}'})"
        at += 1
    taken.add(name)
    said = f"earlier: {run}"
    if "earlier: " not in table.publisher:
        table = replace(table, publisher=f"{table.publisher}, {said}" if table.publisher else said)
    return replace(table, name=name)
