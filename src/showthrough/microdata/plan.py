"""The seam of the methods: see the counts, make a plan, draw block by block.

Besides the rows, a plan publishes all that a reader needs to invert them: the domain and the retention
of each sub-table. The methods' own analysis takes both as public. The retention of a sub-table follows
from its largest frequency, rounded up to a grid that everybody knows, so that it does not tell it. The
allotment, the totals and the trials of single groups stay with the publisher
(:mod:`showthrough.microdata.sampled` explains what the number of copies reveals).

Random numbers are repeatable: every piece of work has a generator of its own, whoever does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Protocol

import numpy as np
import pyarrow.compute
from numpy.typing import NDArray

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import Column, KeyCodec, Keys, sorted_keys
from showthrough.errors import InputError
from showthrough.microdata.groups import Block, Groups

__all__ = [
    "ALLOT",
    "LEVEL",
    "ORDER",
    "PERTURB",
    "SCATTER",
    "Method",
    "Plan",
    "SubTable",
    "check_seed",
    "free_name",
    "generator",
    "key_groups",
    "promise_facts",
]

Whole = NDArray[np.int64]

pc: Any = pyarrow.compute

#: What is drawn, as the second part of a generator's name.
PERTURB: Final = 0
ALLOT: Final = 1
SCATTER: Final = 2
ORDER: Final = 3
LEVEL: Final = 4


class Method(Protocol):
    """A method of publishing records."""

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        ...

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Look at the counts and decide."""
        ...


class Plan(Protocol):
    """What will be published. It can be pickled, and drawing a block twice gives the same rows."""

    @property
    def codec(self) -> KeyCodec:
        """The columns of the publication and their values."""
        ...

    @property
    def tables(self) -> tuple[SubTable, ...]:
        """The sub-tables a reader inverts, one for each label; none where nothing is perturbed."""
        ...

    @property
    def records(self) -> int:
        """How many records are published."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """What else goes into the manifest."""
        ...

    def blocks(self, tally: Tally) -> Iterator[Block]:
        """The blocks to draw, prepared one after the other."""
        ...

    def draw(self, block: Block) -> Batch:
        """The keys of published records and their numbers."""
        ...


@dataclass(frozen=True)
class SubTable:
    """Records that kept their sensitive value with ``retention``, else drew one of ``values``.

    ``values`` are positions among all sensitive values. With a ``decay``, values are in ascending order and
    near ones likelier (:mod:`showthrough.microdata.ordinal`); ``retention`` is then that of uniform
    perturbation that gives away as much.

    >>> SubTable(0.5, (0, 2, 3)).n_values
    3
    """

    retention: float
    values: tuple[int, ...]
    decay: float | None = None
    floor: float | None = None
    #: With several columns that were perturbed each for itself, the retention of each.
    retentions: tuple[float, ...] | None = None

    @property
    def n_values(self) -> int:
        """How many values there are to draw from."""
        return len(self.values)

    @property
    def stray(self) -> float:
        """The chance that a record shows one certain value it does not have: (1 − p)/m."""
        return (1 - self.retention) / self.n_values


def promise_facts(promise: Any) -> dict[str, Any]:
    """A promise as plain data; parameters with their usual value are left out."""
    usual = {field.name: field.default for field in fields(promise)}
    given = {name: value for name, value in vars(promise).items() if usual[name] != value}
    return {"kind": type(promise).__name__, **given}


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores after it until no column has it.

    >>> free_name("part", ["part", "age"])
    'part_'
    """
    while name in taken:
        name += "_"
    return name


def key_groups(groups: Groups, codec: KeyCodec, extra: Sequence[Column]) -> tuple[KeyCodec, Keys]:
    """A codec with the public columns of groups in memory and more, and each group's key in it."""
    columns, codes = list[Column](), list[Whole]()
    for name in groups.public.column_names:
        column = Column(name, sorted_keys(groups.public[name].unique()))
        columns.append(column)
        codes.append(pc.index_in(groups.public[name], value_set=column.values).to_numpy().astype(np.int64))
    made = replace(codec, public=(*columns, *extra))
    zeros = np.zeros(len(groups), np.int64)
    return made, made.pack([*codes, *[zeros] * (len(extra) + len(made.sensitive))])


def check_seed(seed: int) -> int:
    """Raise unless the seed is a whole number from 0.

    Whoever knows the seed can undo the perturbation, and a small one can be found by trying. Take a
    large random number (``secrets.randbits(128)``) and keep it as secret as the data.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            "a seed must be a whole number of at least 0",
            found=str(seed),
            remedy="for example secrets.randbits(128)",
        )
    return int(seed)


def generator(seed: int, *name: int) -> np.random.Generator:
    """The generator with this name: the same numbers on every machine, in every order of work.

    >>> generator(7, PERTURB, 3).integers(100) == generator(7, PERTURB, 3).integers(100)
    np.True_
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(check_seed(seed), spawn_key=name)))
