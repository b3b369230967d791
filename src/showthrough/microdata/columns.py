"""Which columns of records are sensitive, which are published as they are, and which of them may not be.

A column in which nearly every record has a value of its own (a number, a name, an exact income) is an
identifier: published, it would tell whoever knows it which row is whose. It becomes public only if it is
named as public. Columns of numbers can be put into bins (:mod:`showthrough.microdata.bins`) before
anything is counted, so that no method needs to know.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from showthrough.engine.backend import CountingBackend, CountingPlace, Tally
from showthrough.engine.handed import scratch_place
from showthrough.errors import InputError, RecordsError, closest, shorten
from showthrough.frames import Source
from showthrough.frames.bins import Bins
from showthrough.frames.counts_as_people import refuse_counts
from showthrough.microdata.bins import BinRule, BinRuleLike, FoundBins, find_bins, read_bin_rules
from showthrough.microdata.groups import Groups
from showthrough.microdata.parameters import as_names
from showthrough.microdata.plan import SubTable
from showthrough.scratch import private_scratch
from showthrough.text import percent

__all__ = [
    "Columns",
    "CountedRecords",
    "note_many_values",
]

#: An identifier has more different values than this share of the records.
NEARLY_UNIQUE: Final = 0.5

#: Up to this many records, rows differ from each other anyway, and no column is refused.
FEW: Final = 20


@dataclass(frozen=True)
class Columns:
    """The columns of records: sensitive, public (all others by default), and left out.

    >>> columns = Columns.of("ill", drop=["name"])
    >>> columns.chosen(["name", "sex", "ill"])
    ['sex']
    """

    sensitive: tuple[str, ...]
    #: The columns that were named as public; None for all that are not sensitive and not left out.
    public: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    #: How the numbers of some columns are put into bins.
    bins: tuple[tuple[str, BinRule], ...] = ()
    #: Whether somebody says that rows are records, so that they are not taken for published counts.
    records: bool = False

    @classmethod
    def of(
        cls,
        sensitive: str | Sequence[str],
        *,
        public: str | Sequence[str] | None = None,
        drop: str | Sequence[str] = (),
        bins: Mapping[str, BinRuleLike] | Sequence[str] | None = None,
        records: bool = False,
    ) -> Columns:
        """From one or several names each, and rules for bins by name."""
        return cls(
            tuple(as_names(sensitive, name="sensitive")),
            None if public is None else tuple(as_names(public, name="public")),
            tuple(as_names(drop, name="drop")),
            tuple(read_bin_rules(bins).items()),
            records,
        )

    def chosen(self, names: Sequence[str], *, file: str | None = None) -> list[str] | None:
        """The public columns, of those there are; None for all that are not sensitive."""
        for name in self.drop:
            if name not in names:
                raise RecordsError("no such column", file=file, column=name, remedy=closest(name, names))
            if name in self.sensitive or name in (self.public or ()):
                kind = "sensitive" if name in self.sensitive else "public"
                raise InputError(
                    f"a column is both left out and {kind}",
                    column=name,
                    remedy=f"take it out of --drop or of --{kind}",
                )
        if self.public is not None:
            return list(self.public)
        if not self.drop:
            return None
        return [name for name in names if name not in self.sensitive and name not in self.drop]

    def read(self, source: object, *, engine: CountingPlace = None) -> Groups:
        """The groups of records; an error for an identifier that was not named as public."""
        opened = Source.of(source, scratch=scratch_place(getattr(engine, "engine", engine)))
        refuse_counts(opened, records=self.records)
        chosen = self.chosen(opened.names, file=opened.name)
        if self.bins:
            with private_scratch() as scratch:
                opened = replace(opened, bins=self.find_bins(opened, scratch=scratch).bins)
        groups = Groups.read(opened, sensitive=self.sensitive, public=chosen, engine=engine)
        values = {name: groups.public[name].unique() for name in groups.public.column_names}
        self._check(values, groups.records, file=opened.name)
        return groups

    def to_plain(self) -> dict[str, Any]:
        """As the parameters of a result keep it; what was not asked for is left out."""
        public = None if self.public is None else list(self.public)
        return {
            "sensitive": list(self.sensitive),
            "public": public,
            **({"drop": list(self.drop)} if self.drop else {}),
            **({"bins": {name: str(rule) for name, rule in self.bins}} if self.bins else {}),
        }

    @contextmanager
    def count(self, source: Source, *, backend: CountingBackend, scratch: Path) -> Generator[CountedRecords]:
        """Count the records; an error for an identifier that was not named as public."""
        refuse_counts(source, records=self.records)
        public = self.chosen(source.names, file=source.name)
        found = self.find_bins(source, scratch=scratch)
        binned = replace(source, bins=found.bins) if found.bins else source
        with backend.tally(binned, public=public, sensitive=self.sensitive, scratch=scratch) as tally:
            values = {column.name: column.values for column in tally.codec.public}
            notes = self._check(values, tally.records, file=source.name)
            yield CountedRecords(tally, found.bins, (*found.notes, *notes))

    def find_bins(self, source: Source, *, scratch: Path) -> FoundBins:
        """The bins that the rules make of the columns."""
        chosen = self.chosen(source.names, file=source.name)
        known = [name for name in source.names if name not in self.drop]
        if chosen is not None:
            known = [*chosen, *self.sensitive]
        for name, _ in self.bins:
            if name not in known:
                raise RecordsError(
                    "there is no such public or sensitive column to put into bins",
                    file=source.name,
                    column=name,
                    remedy=closest(name, known),
                )
        return find_bins(source, dict(self.bins), sensitive=self.sensitive, scratch=scratch)

    def _check(self, values: Mapping[str, Any], records: int, *, file: str | None) -> tuple[str, ...]:
        found = {
            name: len(known)
            for name, known in values.items()
            if name not in (self.public or ()) and len(known) > NEARLY_UNIQUE * records
        }
        if not found:
            return ()
        if records > FEW:
            raise _identifying(found, records, values, file=file)
        return (
            f"{_listed(found)} in {records:,} records: rows of so small a table can be told apart; "
            "leave out columns that identify people with --drop",
        )


@dataclass(frozen=True, eq=False)
class CountedRecords:
    """Records that were counted, the bins of their columns, and what their publisher should know."""

    tally: Tally
    bins: Mapping[str, Bins]
    notes: tuple[str, ...]


def note_many_values(tables: Sequence[SubTable], sensitive: Sequence[str], records: int) -> tuple[str, ...]:
    """What to say where values are so many that counts of single ones are mostly error.

    The standard error of the share of a value that has 1/m of n records is about √(1/(m n))/p; it exceeds
    the share itself if p < √(m/n).

    >>> table = SubTable(0.003, tuple(range(7937)))
    >>> note_many_values([table], ["income"], 45_222)[0].replace("\xa0", " ")[:72]
    'income has 7,937 values, so that only 0.3 % of them are kept: errors are'
    """
    if len(tables) != 1 or tables[0].n_values <= FEW:
        return ()
    (table,) = tables
    if table.retention >= math.sqrt(table.n_values / max(1, records)):
        return ()
    name = ", ".join(sensitive)
    return (
        f"{name} has {table.n_values:,} values, so that only {percent(table.retention, 1)} of them are kept: "
        "errors are larger than most counts; fewer values would help, for numbers "
        f"--bin {sensitive[-1]}=quantiles:10",
    )


def _identifying(
    found: Mapping[str, int], records: int, values: Mapping[str, Any], *, file: str | None
) -> RecordsError:
    names = ",".join(shorten(name) for name in found)
    numeric = [shorten(name) for name in found if _is_numeric(values[name])]
    coarser = f"group numbers (--bin {numeric[0]}=quantiles:10), " if numeric else ""
    these = "them" if len(found) > 1 else "it"
    return RecordsError(
        f"{_listed(found)} in {records:,} records, so many that they can tell whose record it is",
        file=file,
        column=", ".join(shorten(name) for name in found),
        remedy=f"leave {these} out (--drop {names}), {coarser}"
        f"or name {these} among the --public columns to publish {these} all the same",
    )


def _listed(found: Mapping[str, int]) -> str:
    """The columns with their numbers of values.

    >>> _listed({"name": 900, "id": 1000})
    'name has 900 and id has 1,000 different values'
    """
    each = [f"{shorten(name)} has {number:,}" for name, number in found.items()]
    return f"{' and '.join(each)} different values"


def _is_numeric(values: Any) -> bool:
    """Whether all values are numbers, or texts that are."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return True
    try:
        return pa.types.is_string(kind) and bool(values.cast(pa.float64()))
    except pa.ArrowException:
        return False
