"""The areas of a run some at a time, each with its rows of all tables, to be checked wherever there is room.

Whoever hands out portions finds only where they end. Rows are told apart by areas where they are checked.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.tables.run.nests import with_siblings
from showthrough.tables.run.read import AreaReader, AuditRun
from showthrough.tables.stored import VARIABILITY, WHOLES

__all__ = [
    "AreaNames",
    "Portion",
    "PortionReader",
    "Portions",
]

#: The tables that are read beside those of the areas and of the larger areas that they are parts of.
_BESIDE = ("counts", "claims", "findings", "proofs", "witnesses", VARIABILITY)

#: Columns of areas.parquet that say how many rows an area has in other tables.
_COUNTED = ("verified", "refuted", "undecided", "impossible", "findings")

Tables = dict[str, pa.Table]


class AreaNames:
    """The names of areas, as few bytes as suffice to see that they differ."""

    def __init__(self) -> None:
        self._seen = array("Q")

    def add(self, name: str) -> None:
        """One more."""
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._seen.append(int.from_bytes(digest, "little"))

    def add_all(self, others: AreaNames) -> None:
        """Some more."""
        self._seen.extend(others._seen)

    def __len__(self) -> int:
        return len(self._seen)

    def repeated(self) -> bool:
        """Whether a name occurs twice."""
        seen = np.frombuffer(self._seen, np.uint64)
        return len(np.unique(seen)) < len(seen)


@dataclass(frozen=True)
class Portion:
    """Some areas that stand next to each other in a run, with their rows of all tables.

    Parameters
    ----------
    tables
        By name, the rows of each table. An area's rows stand together, in the order of the areas.
    """

    tables: Mapping[str, pa.Table]

    def __reduce__(self) -> tuple[Callable[..., Portion], tuple[Any, ...]]:
        # Arrow would pickle everything that was read together with these rows.
        return _unpacked, ({name: _packed(table) for name, table in self.tables.items()},)

    def read(self) -> PortionReader:
        """To go through it area by area."""
        return PortionReader(self.tables)


class PortionReader:
    """Goes through a portion: the tables of one area after the other.

    Those of a part of a larger area come with what its siblings have.
    """

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self._readers = {name: AreaReader.over(table) for name, table in tables.items()}

    def __iter__(self) -> Iterator[Tables]:
        areas, wholes = self._readers["areas"], self._readers[WHOLES]
        mine = {name: reader for name, reader in self._readers.items() if name != WHOLES}
        while areas.next_area() is not None:
            whole = wholes.take(found) if (found := wholes.next_area()) is not None else None
            parts = list[Tables]()
            for _ in range(_n_parts(whole)):
                if (area := areas.next_area()) is not None:
                    parts.append({name: reader.take(area) for name, reader in mine.items()})
            yield from parts if whole is None else with_siblings(parts, whole)

    def left(self) -> Iterator[str]:
        """At the end: a sentence about rows that no area has."""
        return _left(self._readers)


class Portions:
    """Goes through a run, or a part of one, portion by portion.

    Parameters
    ----------
    run
        The run.
    size
        How many rows a portion has, about; more if a single area has more.
    """

    def __init__(self, run: AuditRun, size: int) -> None:
        self.names = AreaNames()
        self._size = size
        self._areas, self._wholes = AreaReader(run, "areas"), AreaReader(run, WHOLES)
        self._beside = {name: AreaReader(run, name) for name in _BESIDE}

    def __iter__(self) -> Iterator[Portion]:
        while self._areas.next_area() is not None:
            yield self._next()

    def left(self) -> Iterator[str]:
        """At the end: a sentence about rows that no area has."""
        return _left({"areas": self._areas, **self._beside, WHOLES: self._wholes})

    def _next(self) -> Portion:
        areas, wholes, n_rows = list[pa.Table](), list[pa.Table](), 0
        while n_rows < self._size and self._areas.next_area() is not None:
            found = self._wholes.next_area()
            if found is None:
                areas.append(self._areas.take_next(self._n_fitting(self._size - n_rows)))
            else:
                wholes.append(self._wholes.take(found))
                areas.append(self._areas.take_next(_n_parts(wholes[-1])))
            n_rows += int(_n_rows(areas[-1]).sum())
        return self._with_rows(pa.concat_tables(areas), wholes)

    def _with_rows(self, areas: pa.Table, wholes: list[pa.Table]) -> Portion:
        names = [name for name, _ in groupby(map(str, areas["area"].to_pylist()))]
        for name in names:
            self.names.add(name)
        mine = frozenset(names)
        beside = {name: reader.take_all(mine) for name, reader in self._beside.items()}
        return Portion({"areas": areas, **beside, WHOLES: pa.concat_tables([self._wholes.none, *wholes])})

    def _n_fitting(self, most: int) -> int:
        """How many of the areas that were read ahead have this many rows together."""
        return int(np.searchsorted(np.cumsum(_n_rows(self._areas.held)), most)) + 1


def _n_rows(areas: pa.Table) -> Any:
    """About how many rows each area has in all tables, if what areas.parquet says is true."""
    return 3 + sum(np.clip(areas[name].to_numpy(), 0, 2**40) for name in _COUNTED)


def _left(readers: Mapping[str, AreaReader]) -> Iterator[str]:
    for name, reader in readers.items():
        if (area := reader.next_area()) is not None:
            yield f"{name}: unexpected rows about area {area}"


def _n_parts(whole: pa.Table | None) -> int:
    return 1 if whole is None else len(whole["parts"][0])


def _packed(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue()


def _unpacked(packed: Mapping[str, pa.Buffer]) -> Portion:
    return Portion({name: pa.ipc.open_stream(table).read_all() for name, table in packed.items()})
