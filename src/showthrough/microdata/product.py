"""Several sensitive columns with a promise each: every column is perturbed for itself.

A record keeps each of its sensitive values with the retention that the column's own promise allows, or draws
one of the column's values, independently of the other columns: a product of channels. What a reader sees of
one column alone is what uniform perturbation of that column would show. But columns go together: who sees
what a record shows in the others learns something from that too. For any records, the amplification about
one column is then at most the product of all: its posterior is at most γ ρ1/(γ ρ1 + 1 − ρ1), γ = γ1 γ2 ….
How far that goes for the records at hand is computed from their totals, exactly, for their publisher.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.engine.backend import Batch, Tally
from showthrough.engine.keys import KeyCodec
from showthrough.errors import InputError, RecordsError, check_each, check_type, closest
from showthrough.microdata.channel import AnyChannel, Channel, ProductChannel
from showthrough.microdata.groups import Block, iter_blocks
from showthrough.microdata.manifest import MOST_COMBINED, Manifest
from showthrough.microdata.ordinal import ordinal_channel
from showthrough.microdata.parameters import check_domain
from showthrough.microdata.plan import PERTURB, Plan, SubTable, generator, promise_facts
from showthrough.microdata.promises import PromiseLike, RhoPrivacy, read_promise
from showthrough.text import percent

__all__ = [
    "ProductPerturbation",
    "describe_product",
    "find_channel",
    "joint_posteriors",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Records that are drawn at a time.
RECORDS: Final = 2**20


@dataclass(frozen=True)
class ProductPerturbation:
    """Every sensitive column is perturbed separately, with the retention its own promise allows.

    Parameters
    ----------
    promises : sequence of (str, RhoPrivacy)
        What is promised about each sensitive column.

    Raises
    ------
    InputError
        If there are fewer than two columns, or a promise is not one of (ρ1, ρ2)-privacy for single values.

    Examples
    --------
    >>> method = ProductPerturbation.of({"income": "0.3:0.6", "disease": "0.1:0.5"})
    >>> method.name, [name for name, _ in method.promises]
    ('product', ['income', 'disease'])
    """

    promises: tuple[tuple[str, RhoPrivacy], ...]

    @classmethod
    def of(cls, promises: Mapping[str, PromiseLike], *, method: object = None) -> ProductPerturbation:
        """From promises by column."""
        check_type(promises, Mapping, name="promises", remedy="write {'income': '0.3:0.6', 'ill': '0.1:0.5'}")
        if method is not None and method not in ("uniform", "product"):
            raise InputError(
                "a promise for each column is kept by the method product",
                found=str(method),
                remedy="leave out the method, or give one promise",
            )
        found = list[tuple[str, RhoPrivacy]]()
        for name, given in promises.items():
            try:
                promise = read_promise(given, kind="rho")
            except InputError as error:
                raise error.at(column=str(name)) from None
            if not isinstance(promise, RhoPrivacy) or promise.sets != 1 or promise.known_totals:
                raise InputError(
                    "a promise for each column is one of (ρ1, ρ2)-privacy for single values",
                    column=str(name),
                    remedy="for example 0.1:0.5",
                )
            found.append((str(name), promise))
        return cls(tuple(found))

    def __post_init__(self) -> None:
        check_each(self.promises, (tuple, list), name="promises", remedy="use ProductPerturbation.of")
        for pair in self.promises:
            if len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], RhoPrivacy):  # pyright: ignore[reportUnnecessaryIsInstance, reportUnnecessaryComparison]
                raise InputError(
                    "promises must be pairs of a column and its promise",
                    remedy="use ProductPerturbation.of({'income': '0.3:0.6', 'disease': '0.1:0.5'})",
                )
        if len({name for name, _ in self.promises}) < 2:
            raise InputError(
                "there must be a promise for each of at least two sensitive columns",
                remedy="with one sensitive column give one promise, as in 0.1:0.5",
            )

    @property
    def name(self) -> str:
        """What it is called in the manifest."""
        return "product"

    def plan(self, tally: Tally, *, seed: int) -> Plan:
        """Fix the retention of each column, and find out what they say about each other."""
        sizes = [check_domain(len(column.values)) for column in tally.codec.sensitive]
        names = [column.name for column in tally.codec.sensitive]
        promises = self._in_order(names)
        if math.prod(sizes) > MOST_COMBINED:
            raise RecordsError(
                f"the sensitive columns have {math.prod(sizes):,} combinations, more than {MOST_COMBINED:,}",
                column=", ".join(names),
                remedy="put numbers into bins, or publish fewer sensitive columns",
            )
        kept = tuple(promise.retention(size) for promise, size in zip(promises, sizes, strict=True))
        codec, positions = _all_combinations(tally.codec, sizes)
        totals = np.zeros(tally.codec.n_values, np.int64)
        for keys, counts in tally.cells():
            totals += np.bincount(tally.codec.split(keys)[1], counts, len(totals)).astype(np.int64)
        true = np.zeros(math.prod(sizes))
        true[np.ravel_multi_index(tuple(positions.T), sizes)] = totals
        channel = _product(kept, sizes)
        notes = tuple(_notes(names, promises, true.reshape(sizes), channel))
        facts = {"promises": {n: promise_facts(one) for n, one in zip(names, promises, strict=True)}}
        return _ProductPlan(codec, tally.records, kept, tuple(sizes), positions, facts, notes, seed)

    def _in_order(self, names: Sequence[str]) -> list[RhoPrivacy]:
        known = dict(self.promises)
        for name in known:
            if name not in names:
                remedy = closest(name, names)
                raise InputError("a promise is for no sensitive column", column=name, remedy=remedy)
        for name in names:
            if name not in known:
                raise InputError(
                    "a sensitive column has no promise", column=name, remedy=f"for example {name}=0.1:0.5"
                )
        return [known[name] for name in names]


@dataclass(frozen=True, eq=False)
class _ProductPlan:
    codec: KeyCodec
    records: int
    retentions: tuple[float, ...]
    sizes: tuple[int, ...]
    #: For each combination that occurs, the position of its value in each column.
    positions: Whole
    facts: dict[str, Any]
    notes: tuple[str, ...]
    seed: int

    @property
    def tables(self) -> tuple[SubTable, ...]:
        number = math.prod(self.sizes)
        reached = _product(self.retentions, self.sizes).amplification
        kept = (reached - 1) / (number - 1 + reached)
        return (SubTable(kept, tuple(range(number)), retentions=self.retentions),)

    @property
    def domain(self) -> pa.Table:
        return self.codec.domain

    def blocks(self, tally: Tally) -> Iterator[Block]:
        return iter_blocks(tally)

    def draw(self, block: Block) -> Batch:
        chance = generator(self.seed, PERTURB, block.number)
        cells = block.counts.tocoo()
        number, drawn = math.prod(self.sizes), list[tuple[Whole, Whole]]()
        ends = np.cumsum(cells.data)
        for first in range(0, int(ends[-1]) if len(ends) else 0, RECORDS):
            record = np.arange(first, min(first + RECORDS, int(ends[-1])))
            cell = np.searchsorted(ends, record, side="right")
            shown = np.zeros(len(record), np.int64)
            for at, (kept, size) in enumerate(zip(self.retentions, self.sizes, strict=True)):
                own = self.positions[cells.col[cell], at]
                other = chance.integers(size, size=len(record))
                shown = shown * size + np.where(chance.random(len(record)) < kept, own, other)
            key, count = np.unique(cells.row[cell].astype(np.int64) * number + shown, return_counts=True)
            drawn.append((key, count.astype(np.int64)))
        if not drawn:
            return block.public[:0], np.zeros(0, np.int64)
        key = np.concatenate([one for one, _ in drawn])
        count = np.concatenate([one for _, one in drawn])
        return self.codec.join(block.public[key // number], key % number), count


def _all_combinations(codec: KeyCodec, sizes: Sequence[int]) -> tuple[KeyCodec, Whole]:
    """The codec with all combinations as sensitive values; and where each that occurs stands."""
    first, zeros = len(codec.public), np.zeros(math.prod(sizes), np.int64)
    every = np.array(list(product(*(range(size) for size in sizes))), np.int64)
    packed = codec.pack([*[zeros] * first, *every.T])
    codes = (packed[:, -1] & np.uint64((1 << codec.width) - 1)).astype(np.int64)
    keys = np.zeros((codec.n_values, codec.n_words), np.uint64)
    keys[:, -1] = np.asarray(codec.codes).astype(np.uint64)
    positions = [codec.unpack(keys, first + at).astype(np.int64) for at in range(len(sizes))]
    return replace(codec, codes=codes), np.column_stack(positions)


def _product(retentions: Sequence[float], sizes: Sequence[int]) -> ProductChannel:
    each = zip(retentions, sizes, strict=True)
    return ProductChannel(tuple(Channel.uniform(kept, size) for kept, size in each))


def find_channel(said: Manifest) -> AnyChannel:
    """The channel of an ordinal publication, or of several columns that were perturbed each for itself."""
    (table,) = said.sub_tables
    if table.retentions is None:
        return ordinal_channel(table.n_values, table.decay or 0, table.floor or 0)
    sizes = [len({row[at] for row in said.domain}) for at in range(len(said.sensitive))]
    return _product(table.retentions, sizes)


def joint_posteriors(true: Floats, channel: ProductChannel, column: int) -> Floats:
    """How sure a reader of all columns becomes of each value of one: the largest over all that is shown.

    ``true`` are numbers of records, with an axis for each column.

    >>> both = ProductChannel((Channel.uniform(0.5, 2), Channel.uniform(0.5, 2)))
    >>> joint_posteriors(np.array([[1.0, 0], [0, 9]]), both, 0).round(3).tolist()
    [0.5, 0.988]
    """
    shown = channel.push(true.ravel())
    found = np.zeros(true.shape[column])
    for value in range(len(found)):
        only = np.zeros_like(true)
        at = tuple(value if axis == column else slice(None) for axis in range(true.ndim))
        only[at] = true[at]
        joint = channel.push(only.ravel())
        found[value] = np.divide(joint, shown, out=np.zeros_like(joint), where=shown > 0).max()
    return found


def _notes(
    names: Sequence[str], promises: Sequence[RhoPrivacy], true: Floats, channel: ProductChannel
) -> Iterator[str]:
    """What readers who look at all columns learn about each."""
    for at, (name, promise) in enumerate(zip(names, promises, strict=True)):
        totals = true.sum(axis=tuple(axis for axis in range(true.ndim) if axis != at))
        rare = promise.protects(totals)
        most = _posterior(promise.prior, channel.amplification)
        start = f"{name}: {_alone(promise.prior, promise.posterior)}"
        if not rare.any():
            yield f"{start} (no value is that rare in the whole table)"
            continue
        sure = float(joint_posteriors(true, channel, at)[rare].max())
        more = ", which is more than that," if sure > promise.posterior * (1 + 1e-9) else ""
        yield (
            f"{start}; a reader who sees all sensitive columns, but no public ones, up to "
            f"{percent(sure, 1)} as these records are{more} and at most {percent(most, 1)} for any "
            "records"
        )


def _alone(prior: float, posterior: float) -> str:
    return (
        f"who sees this column alone becomes at most {percent(posterior)} sure of a value that at most "
        f"{percent(prior)} of the people with the same public values have"
    )


def _posterior(share: float, amplification: float) -> float:
    return amplification * share / (amplification * share + 1 - share)


def describe_product(said: Manifest) -> list[str]:
    """What happens to a record, column by column, in sentences; with the bound that holds for any records."""
    (table,) = said.tables
    channel = find_channel(said)
    lines = list[str]()
    for at, (name, kept) in enumerate(zip(said.sensitive, table.retentions or (), strict=True)):
        size = len({row[at] for row in said.domain})
        promise = (said.promises or {}).get(name, {})
        line = f"{name}: a record keeps its value with probability {kept:.4g}, or draws one of {size:,}."
        if "prior" in promise and "posterior" in promise:
            prior, posterior = float(promise["prior"]), float(promise["posterior"])
            most = percent(_posterior(prior, channel.amplification), 1)
            alone = _alone(prior, posterior)
            line += (
                f" {alone[0].upper()}{alone[1:]}; a reader who sees all sensitive columns, at most {most}."
            )
        lines.append(line)
    totals = "A reader who knows the exact totals and combines all rows can become surer."
    return [*lines, totals] if said.promises else lines
