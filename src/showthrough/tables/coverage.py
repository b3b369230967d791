"""A whole run in the paper's figures: which records claims cover, in which areas, and how surprisingly.

For k = 1, 2, … columns, once for claims about single records and once for all claims, counting only
verified claims that no cell states directly:

* records covered: how many different records match some claim of k columns (the paper's tables 2
  and 3). With the records at hand this is counted. Without them it is not known, because claims
  overlap differently in different datasets; then the figure is a lower bound that holds in every
  dataset: the records in claims that exclude each other, since two claims that differ in a shared
  column cannot be about the same record.
* areas with at least one claim of k columns (figures 2a and 3a);
* the distribution of the claims' baseline probabilities (figures 2b, 2c, 3b and 3c).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from showthrough.engine.engine import Engine, LocalEngine
from showthrough.engine.handed import in_order_on
from showthrough.errors import RunError
from showthrough.records import Records
from showthrough.schema import Schema
from showthrough.tables.run.read import AuditRun
from showthrough.tables.stored import DAMAGED, MALFORMED, CodedClaims, code_claims, texts
from showthrough.tables.surprise import Reference, ReferenceDistribution, baseline, joint_keys

__all__ = [
    "Background",
    "Coverage",
    "box",
    "evaluate",
    "evaluate_nearby",
]

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
Kinds = dict[str, NDArray[np.bool_]]

#: Name → a reference, and the function from an area to its group there.
References = Mapping[str, tuple[Reference, Callable[[str], str]]]

KINDS = ("singletons", "all")
COLUMNS = ["area", "selection", "k", "multiplicity"]

#: Claims that are looked at together, at least.
_PORTION = 2**17


@dataclass(frozen=True, eq=False)
class Coverage:
    """The figures of a run. ``covered`` and ``areas`` have a row per kind and k, ``baselines`` also
    per reference."""

    n_areas: int
    n_records: int
    covered: pa.Table
    areas: pa.Table
    baselines: pa.Table = field(default_factory=lambda: pa.table({}))


@dataclass(frozen=True, eq=False)
class Background:
    """What is known besides a run: the records, and where areas might have been drawn from."""

    records: Records | None = None
    references: References = field(default_factory=dict[str, tuple[Reference, Callable[[str], str]]])

    @classmethod
    def whole(cls, records: Records, name: str) -> Background:
        """All records together, under a name, as what areas might have been drawn from."""
        return cls(records, {name: (ReferenceDistribution.of(records), lambda _area: "")})

    @classmethod
    def of_places(
        cls, homes: pa.Table, schema: Schema, places: Mapping[str, str], *, block: str = "block"
    ) -> Background:
        """The records of a table by ``block``; ``places`` maps reference names to columns of it."""
        records = Records.from_arrow(homes, schema, by=block)
        references: dict[str, tuple[Reference, Callable[[str], str]]] = {}
        for name, column in places.items():
            labels = homes[column].cast(pa.string())
            both = pa.Table.from_arrays([homes[block].cast(pa.string()), labels], names=["block", "place"])
            pairs = both.group_by(["block", "place"]).aggregate([])
            place_of = dict(zip(texts(pairs["block"]), texts(pairs["place"]), strict=True))
            groups = labels.to_numpy(zero_copy_only=False)
            references[name] = ReferenceDistribution.of(records, groups), place_of.__getitem__
        return cls(records, references)


#: Finds what is known besides a run about the areas of one of its parts.
Nearby = Callable[[AuditRun], Background]


def evaluate(
    run: AuditRun | str | Path,
    records: Records | None = None,
    *,
    references: References | None = None,
    engine: Engine | None = None,
) -> Coverage:
    """The figures of a finished run, or of that in a folder.

    ``records`` are the data of its areas (others are ignored), or one dataset that agrees with the
    release. ``references`` maps a name to a reference and the function from area to group. A run in several
    parts is read part by part, wherever an ``engine`` has room.
    """
    run = run if isinstance(run, AuditRun) else AuditRun.open(run)
    known = None if records is None else _Population.of(records)
    work = _Evaluate(run.layout.schema, known, references or {})
    figures = _added(run, work, engine)
    return figures.coverage(tuple(work.references), exact=known is not None)


def evaluate_nearby(run: AuditRun, nearby: Nearby, names: Sequence[str], *, engine: Engine) -> Coverage:
    """The same figures, where records are found for each part of the run by whoever evaluates it.

    ``names`` are those of the references. ``nearby`` can be pickled.
    """
    work = _EvaluateNearby(run.layout.schema, nearby)
    return _added(run, work, engine).coverage(names, exact=True)


def _added(run: AuditRun, work: Callable[[AuditRun], _Figures], engine: Engine | None) -> _Figures:
    figures = _Figures(len(run.layout.schema.attributes))
    for part in in_order_on(engine or LocalEngine(), work, run.parts):
        figures.add(part)
    return figures


@dataclass(eq=False)
class _Figures:
    """The figures of some areas, which those of others are added to; ``most`` is the number of columns."""

    most: int
    n_areas: int = 0
    n_records: int = 0
    covered: dict[str, Whole] = field(default_factory=dict[str, Whole])
    areas: dict[str, Whole] = field(default_factory=dict[str, Whole])
    #: Per reference, kind and k the baseline probabilities of claims.
    chances: dict[tuple[str, str, int], list[Floats]] = field(
        default_factory=dict[tuple[str, str, int], list[Floats]]
    )

    def __post_init__(self) -> None:
        for numbers in (self.covered, self.areas):
            for kind in KINDS:
                numbers.setdefault(kind, np.zeros(self.most + 1, np.int64))

    def add(self, other: _Figures) -> None:
        """Add the figures of other areas."""
        self.n_areas += other.n_areas
        self.n_records += other.n_records
        for mine, more in ((self.covered, other.covered), (self.areas, other.areas)):
            for kind in KINDS:
                mine[kind] = mine[kind] + more[kind]
        for key, values in other.chances.items():
            self.chances.setdefault(key, []).extend(values)

    def coverage(self, references: Sequence[str], *, exact: bool) -> Coverage:
        """As tables."""
        per_k = _Counts(self.most, self.n_areas, self.n_records)
        rows = [
            {"reference": name, "kind": kind, "k": k, **box(np.concatenate(self.chances[name, kind, k]))}
            for name in references
            for kind in KINDS
            for k in range(self.most + 1)
            if (name, kind, k) in self.chances
        ]
        return Coverage(
            self.n_areas,
            self.n_records,
            per_k.table("records", self.covered, exact=exact),
            per_k.table("areas", self.areas),
            pa.Table.from_pylist(rows) if rows else pa.table({}),
        )


@dataclass(frozen=True, eq=False)
class _Evaluate:
    """Finds the figures of a run, or of a part of one."""

    schema: Schema
    records: _Population | None
    references: References

    def __call__(self, run: AuditRun) -> _Figures:
        """The figures of its areas."""
        names, known = list[str](), list[int | None]()
        for part in run.batches("areas", ["area", "records"]):
            names += texts(part["area"])
            known += part["records"].to_pylist()
        sizes = dict(zip(names, known, strict=True))
        if self.records is not None:
            sizes |= self.records.sizes(names)
        figures = _Figures(len(self.schema.attributes), len(names), sum(n or 0 for n in sizes.values()))
        position = {name: at for at, name in enumerate(names)}
        homes = None if self.records is None else self.records.within(names)
        for claims in _portions(run):
            try:
                part = _Part.of(claims, self.schema, position)
                self._count(part, homes, figures)
            except MALFORMED as error:
                raise RunError(
                    "the claims cannot be read",
                    file=str(run.folder),
                    found=f"{type(error).__name__}: {error}",
                    remedy=DAMAGED,
                ) from None
            for name, (reference, group) in self.references.items():
                one = baseline(claims, reference, schema=self.schema, n_records=sizes, group=group)
                for kind, k, values in _by_k(one, part.k, part.kinds):
                    figures.chances.setdefault((name, kind, k), []).append(values)
        return figures

    def _count(self, part: _Part, homes: _Homes | None, figures: _Figures) -> None:
        found = part.at_least() if homes is None else part.counted(homes)
        for kind, on in part.kinds.items():
            figures.covered[kind] += found[kind]
            figures.areas[kind] += _distinct(part.area[on], part.k[on], figures.most)


@dataclass(frozen=True, eq=False)
class _EvaluateNearby:
    """Finds the figures of a part of a run, and the records of its areas before."""

    schema: Schema
    nearby: Nearby

    def __call__(self, run: AuditRun) -> _Figures:
        """The figures of its areas."""
        known = self.nearby(run)
        records = None if known.records is None else _Population.of(known.records)
        return _Evaluate(self.schema, records, known.references)(run)


def _portions(run: AuditRun) -> Iterator[pa.Table]:
    """The verified claims that no cell states, some areas at a time; an area's rows stand together."""
    held, n_rows = list[pa.Table](), 0
    for batch in run.batches("claims", [*COLUMNS, "verdict", "direct"]):
        wanted = (pc.field("verdict") == "verified") & ~pc.field("direct") & (pc.field("multiplicity") > 0)
        held.append(batch.filter(wanted).select(COLUMNS))
        n_rows += held[-1].num_rows
        if n_rows >= _PORTION:
            whole = pa.concat_tables(held)
            last = texts(whole["area"])
            cut = last.index(last[-1])
            if cut:
                yield whole.slice(0, cut)
            held, n_rows = [whole.slice(cut)], 0
    whole = pa.concat_tables(held) if held else None
    if whole is not None and whole.num_rows:
        yield whole


@dataclass(frozen=True, eq=False)
class _Population:
    """Records in the order of their areas."""

    codes: NDArray[np.integer]
    #: The names of areas in order, and where the records of each begin and end.
    names: NDArray[np.str_]
    ends: Whole

    @classmethod
    def of(cls, records: Records) -> _Population:
        labels = np.zeros(len(records), "U1") if records.areas is None else records.areas.astype(str)
        names, of = np.unique(labels, return_inverse=True)
        ends = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(names)))])
        return cls(records.codes[np.argsort(of, kind="stable")], names, ends)

    def _found(self, names: Sequence[str]) -> Iterator[tuple[int, str, int, int]]:
        """Of some areas those that have records: their position, name, and where records begin and end."""
        places = np.searchsorted(self.names, np.asarray(names, str)) if len(self.names) else []
        for at, (name, place) in enumerate(zip(names, places, strict=False)):
            if place < len(self.names) and self.names[place] == name:
                yield at, name, int(self.ends[place]), int(self.ends[place + 1])

    def sizes(self, names: Sequence[str]) -> dict[str, int]:
        """How many records areas have, of those that have any."""
        return {name: stop - start for _, name, start, stop in self._found(names)}

    def within(self, names: Sequence[str]) -> _Homes:
        """The records of some areas."""
        found = list(self._found(names))
        rows = [np.zeros(0, np.int64), *(np.arange(start, stop) for _, _, start, stop in found)]
        areas = [np.zeros(0, np.int64), *(np.full(stop - start, at) for at, _, start, stop in found)]
        return _Homes(self.codes[np.concatenate(rows)], np.concatenate(areas))


@dataclass(frozen=True, eq=False)
class _Homes:
    """The records of the audited areas, sorted by the area's position."""

    codes: NDArray[np.integer]
    area: Whole

    def within(self, areas: Whole) -> _Homes:
        """Those of some areas."""
        starts, stops = (np.searchsorted(self.area, areas, side) for side in ("left", "right"))
        rows = [np.arange(a, b) for a, b in zip(starts, stops, strict=True)]
        chosen = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        return _Homes(self.codes[chosen], self.area[chosen])


@dataclass(frozen=True, eq=False)
class _Part:
    """The claims of some areas, coded."""

    claims: CodedClaims
    area: Whole
    k: Whole
    m: Whole

    @classmethod
    def of(cls, claims: pa.Table, schema: Schema, position: Mapping[str, int]) -> _Part:
        area = np.array([position[name] for name in texts(claims["area"])], np.int64)
        k, m = claims["k"].to_numpy().astype(np.int64), claims["multiplicity"].to_numpy()
        return cls(code_claims(claims["selection"], schema), area, k, m)

    @cached_property
    def kinds(self) -> Kinds:
        """Which claims are of each kind."""
        return {"singletons": self.m == 1, "all": np.ones(len(self.m), bool)}

    def counted(self, homes: _Homes) -> dict[str, Whole]:
        """For each kind and k the records that match some claim."""
        near = homes.within(np.unique(self.area))
        hit = {kind: np.zeros((near.codes.shape[1] + 1, len(near.codes)), bool) for kind in KINDS}
        for columns, rows in self.claims.by_columns():
            keys, asked = joint_keys(
                np.column_stack([near.area, near.codes[:, columns]]),
                np.column_stack([self.area[rows], self.claims.codes[rows][:, columns]]),
            )
            for kind, on in self.kinds.items():
                hit[kind][int(self.k[rows[0]])] |= np.isin(keys, asked[on[rows]])
        return {kind: found.sum(axis=1) for kind, found in hit.items()}

    def at_least(self) -> dict[str, Whole]:
        """For each kind and k records that are covered in every dataset."""
        most = self.claims.codes.shape[1]
        found = {kind: np.zeros(most + 1, np.int64) for kind in KINDS}
        for kind, on in self.kinds.items():
            chosen = np.flatnonzero(on)
            order = chosen[np.lexsort((self.k[chosen], self.area[chosen]))]
            starts = np.flatnonzero(np.diff(self.area[order] * (most + 1) + self.k[order], prepend=-1))
            for start, stop in itertools.pairwise([*starts, len(order)]):
                rows = order[start:stop]
                found[kind][int(self.k[rows[0]])] += packed(self.claims.codes[rows], self.m[rows])
        return found


@dataclass(frozen=True)
class _Counts:
    """What shares are taken of."""

    most: int
    n_areas: int
    n_records: int

    def table(self, what: str, counts: Mapping[str, Whole], *, exact: bool | None = None) -> pa.Table:
        """One row per kind and k."""
        whole = self.n_records if what == "records" else self.n_areas
        rows = [
            {
                "kind": kind,
                "k": k,
                what: int(values[k]),
                **({"per_area": int(values[k]) / max(self.n_areas, 1)} if what == "records" else {}),
                "share": int(values[k]) / max(whole, 1),
                **({} if exact is None else {"exact": exact}),
            }
            for kind, values in counts.items()
            for k in range(1, self.most + 1)
        ]
        return pa.Table.from_pylist(rows)


def _distinct(area: Whole, k: Whole, most: int) -> Whole:
    """For each k the number of different areas."""
    pairs = np.unique(np.stack([k, area]), axis=1)
    return np.bincount(pairs[0], minlength=most + 1)


def packed(codes: NDArray[np.int16], m: Whole) -> int:
    """The records in claims that exclude each other: those of the best column set, then greedily.

    >>> packed(np.array([[0, -1], [1, -1], [1, 0]], np.int16), np.array([2, 3, 1]))
    5
    """
    sets, of = np.unique(codes >= 0, axis=0, return_inverse=True)
    best = int(np.argmax(np.bincount(of.ravel(), m, len(sets))))
    first = of.ravel() == best  # equal columns, so different claims differ in a value
    open_, total = ~first, int(m[first].sum())
    for row in codes[first]:
        open_ &= _exclude(codes, row)
    while open_.any():
        at = int(np.argmax(np.where(open_, m, -1)))
        total += int(m[at])
        open_ &= _exclude(codes, codes[at])
    return total


def _exclude(codes: NDArray[np.int16], row: NDArray[np.int16]) -> NDArray[np.bool_]:
    return ((codes >= 0) & (row >= 0) & (codes != row)).any(axis=1)


def _by_k(probabilities: pa.Table, k: Whole, kinds: Kinds) -> Iterator[tuple[str, int, NDArray[np.float64]]]:
    values = probabilities["probability"].to_numpy()
    for kind, on in kinds.items():
        for one in np.unique(k[on]).tolist():
            chosen = values[on & (k == one)]
            if len(chosen := chosen[~np.isnan(chosen)]):
                yield kind, one, chosen


def box(values: NDArray[np.float64]) -> dict[str, float | int]:
    """What a box plot shows; whiskers end at the furthest point within 1.5 interquartile ranges.

    >>> box(np.array([0.0, 1.0, 2.0, 3.0, 40.0]))  # doctest: +NORMALIZE_WHITESPACE
    {'n': 5, 'min': 0.0, 'whisker_low': 0.0, 'q1': 1.0, 'median': 2.0, 'q3': 3.0,
     'whisker_high': 3.0, 'max': 40.0, 'outliers': 1}
    """
    q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return {
        "n": len(values),
        "min": float(values.min()),
        "whisker_low": min(q1, float(inside.min())),
        "q1": q1,
        "median": median,
        "q3": q3,
        "whisker_high": max(q3, float(inside.max())),
        "max": float(values.max()),
        "outliers": len(values) - len(inside),
    }
