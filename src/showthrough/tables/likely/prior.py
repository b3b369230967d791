"""A prior: how likely each record type was before any table was published.

It is a mixture of networks of attributes, each given at most a few others. Where a combination of parents
was rare, its table is left out and the one for fewer parents stands in for it (back-off); every table is
smoothed towards that one, so that no possible value has chance 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, closest
from showthrough.packing import match_words, pack_selections, unpack
from showthrough.schema import Schema
from showthrough.tables.likely.calibration import Calibration
from showthrough.tables.search.universe import Universe

__all__ = [
    "MODELS",
    "Level",
    "Net",
    "Node",
    "Prior",
    "keys_of",
]

Whole = NDArray[np.int64]

#: Rows looked at together where attributes are summed out, and how many rows that may make in all.
_CHUNK, _MOST_ROWS = 1_000_000, 50_000_000

Floats = NDArray[np.float64]
Codes = NDArray[np.integer]

#: The models that can be fitted, with the words for them.
MODELS = {
    "bayes-nets": "Bayes nets",
    "latent-classes": "latent classes",
    "independent": "independent attributes",
    "uniform": "all record types alike",
}

#: Records drawn from a prior to see what is likely without any table.
N_DRAWN = 20_000

VERSION = 1


def keys_of(codes: Codes, sizes: Sequence[int]) -> Whole:
    """Rows of codes as single numbers."""
    key = np.zeros(len(codes), np.int64)
    for column, size in enumerate(sizes):
        key = key * size + codes[:, column]
    return key


@dataclass(frozen=True, eq=False)
class Level:
    """Chances of an attribute's values (columns) for some combinations of its first parents (rows)."""

    keys: Whole
    chances: Floats


@dataclass(frozen=True, eq=False)
class Node:
    """One attribute: its parents, the most important first, and a level for each number of them."""

    column: int
    parents: tuple[int, ...]
    levels: tuple[Level, ...]

    def rows(self, codes: Codes, sizes: Sequence[int]) -> Floats:
        """For each row of codes the chances of all values, given the parents' codes in it."""
        found = np.broadcast_to(self.levels[0].chances[0], (len(codes), sizes[self.column])).copy()
        for depth, level in enumerate(self.levels[1:], 1):
            parents = list(self.parents[:depth])
            keys = keys_of(codes[:, parents], [sizes[at] for at in parents])
            if len(level.keys):
                at = np.minimum(np.searchsorted(level.keys, keys), len(level.keys) - 1)
                hit = level.keys[at] == keys
                found[hit] = level.chances[at[hit]]
        return found


@dataclass(frozen=True, eq=False)
class Net:
    """A network of attributes, parents before children, with its weight in a mixture."""

    weight: float
    sizes: tuple[int, ...]
    nodes: tuple[Node, ...]

    @cached_property
    def _by_column(self) -> dict[int, Node]:
        return {node.column: node for node in self.nodes}

    def chances(self, codes: Codes, columns: Sequence[int]) -> Floats:
        """For rows of codes of some attributes their chance, the other attributes summed out."""
        needed = self._ancestors(columns)
        nodes = [node for node in self.nodes if node.column in needed]
        extra = sorted(needed - set(columns))
        ways = int(np.prod([self.sizes[at] for at in extra], dtype=object))
        if ways * len(codes) > _MOST_ROWS:
            raise InputError(
                f"the prior has {len(extra)} attributes that no table is about, too many to sum out",
                remedy="fit a prior to the attributes of the tables alone (--columns)",
            )
        step = max(1, _CHUNK // max(ways, 1))
        parts = [
            self._summed(codes[start : start + step], columns, nodes, extra)
            for start in range(0, len(codes), step)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _summed(
        self, codes: Codes, columns: Sequence[int], nodes: Sequence[Node], extra: Sequence[int]
    ) -> Floats:
        others = list(itertools.product(*(range(self.sizes[at]) for at in extra)))
        filled = np.array(others, np.int64).reshape(len(others), len(extra))
        whole = np.zeros((len(filled) * len(codes), len(self.sizes)), np.int64)
        whole[:, list(columns)] = np.tile(codes, (len(filled), 1))
        whole[:, list(extra)] = np.repeat(filled, len(codes), axis=0)
        chance = np.ones(len(whole))
        every = np.arange(len(whole))
        for node in nodes:
            chance *= node.rows(whole, self.sizes)[every, whole[:, node.column]]
        return chance.reshape(len(filled), len(codes)).sum(axis=0)

    def _ancestors(self, columns: Sequence[int]) -> set[int]:
        found: set[int] = set()
        left = list(columns)
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left.extend(self._by_column[at].parents)
        return found

    def draw(self, n: int, rng: np.random.Generator) -> Codes:
        """Random records."""
        codes = np.zeros((n, len(self.sizes)), np.int64)
        for node in self.nodes:
            cumulative = np.cumsum(node.rows(codes, self.sizes), axis=1)
            wanted = rng.random(n) * cumulative[:, -1]
            found = (cumulative <= wanted[:, None]).sum(axis=1)
            codes[:, node.column] = np.minimum(found, self.sizes[node.column] - 1)
        return codes


@dataclass(frozen=True, eq=False)
class Prior:
    """How likely each record type was before any table was published.

    Parameters
    ----------
    name
        What it is called wherever it is used.
    model
        One of ``bayes-nets``, ``latent-classes``, ``independent`` and ``uniform``.
    attributes
        Attribute → values, in order.
    nets
        A mixture of networks of these attributes.
    n_records
        How many records it was fitted to.
    calibration
        How its probabilities compare with the truth, where that was measured.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "yes"}] * 30 + [{"sex": "m", "ill": "no"}] * 60, schema)
    >>> prior = st.fit_prior(people, name="a clinic", seed=1)
    >>> prior
    Prior "a clinic": Bayes nets fitted to 90 records, not calibrated here
    >>> prior.share("ill=yes", given="sex=f") > 0.9
    True
    """

    name: str
    model: str
    attributes: Mapping[str, tuple[str, ...]]
    nets: tuple[Net, ...] = field(repr=False)
    n_records: int = 0
    calibration: Calibration | None = None

    def __repr__(self) -> str:
        return f'Prior "{self.name}": {self.description}'

    @property
    def description(self) -> str:
        """What it is, and whether it was calibrated."""
        fitted = "" if self.model == "uniform" else f" fitted to {self.n_records:,} records"
        return f"{MODELS[self.model]}{fitted}, {self.standing}"

    @property
    def standing(self) -> str:
        """Whether it was calibrated, and where."""
        if self.calibration is None:
            return "not calibrated here"
        return f"calibrated on {self.calibration.n_areas:,} areas"

    def with_calibration(self, calibration: Calibration | None) -> Prior:
        """The same prior with what was measured about it."""
        return replace(self, calibration=calibration)

    def check_schema(self, schema: Schema, names: Sequence[str]) -> None:
        """Raise unless the prior is about these attributes of a schema, with the same values."""
        for name in names:
            if name not in self.attributes:
                raise InputError(
                    f"the prior {self.name!r} lacks an attribute of the tables",
                    column=name,
                    remedy=closest(name, self.attributes),
                )
            if self.attributes[name] != schema[name].values:
                raise InputError(
                    f"the prior {self.name!r} has other values of an attribute than the tables",
                    column=name,
                    found=", ".join(self.attributes[name][:6]),
                    remedy="fit it to records with the values: " + ", ".join(schema[name].values[:6]),
                )

    def chances(self, codes: Codes, names: Sequence[str]) -> Floats:
        """For rows of codes of some attributes their chance, rules not considered."""
        columns = [list(self.attributes).index(name) for name in names]
        total = np.zeros(len(codes))
        for net in self.nets:
            total += net.weight * net.chances(codes, columns)
        return total

    def over(self, universe: Universe) -> Floats:
        """The chance of each record type that can exist; they add up to 1."""
        frame = universe.frame
        self.check_schema(frame.layout.schema, frame.names)
        chances = self.chances(universe.codes, frame.names)
        total = chances.sum()
        return chances / total if total > 0 else chances

    def draw(self, n: int, schema: Schema, *, seed: int) -> Codes:
        """Random records that obey the rules, over the attributes of a schema that the prior has.

        Attributes that it does not have get their first value. Fewer than ``n`` records where most
        of the drawn ones break a rule.
        """
        rng = np.random.Generator(np.random.Philox(seed))
        times = rng.multinomial(n, [net.weight for net in self.nets])
        drawn = np.concatenate([net.draw(k, rng) for net, k in zip(self.nets, times.tolist(), strict=True)])
        own = list(self.attributes)
        codes = np.zeros((n, len(schema.names)), np.int64)
        known = [name for name in schema.names if name in self.attributes]
        codes[:, [schema.index[name] for name in known]] = drawn[:, [own.index(name) for name in known]]
        return codes[~_breaks_rule(codes, schema, set(known))]

    def share(self, selection: object, *, given: object = None) -> float:
        """How likely a random record matches, among those that match ``given``; rules not considered."""
        from showthrough.selection import Selection, SelectionLike

        def sized(selected: SelectionLike) -> float:
            terms = Selection.of(selected)
            names = list(terms.attributes)
            grids = [[self.attributes[name].index(value) for value in sorted(terms[name])] for name in names]
            rows = np.array(np.meshgrid(*grids, indexing="ij")).reshape(len(names), -1).T
            return float(self.chances(rows, names).sum()) if names else 1.0

        wanted = Selection.of(selection)  # type: ignore[arg-type]
        if given is None:
            return sized(wanted)
        known = Selection.of(given)  # type: ignore[arg-type]
        both = {name: tuple(one[name]) for one in (known, wanted) for name in one.attributes}
        return sized(Selection.of(both)) / sized(known)

    def to_plain(self) -> dict[str, Any]:
        """As it is kept in a file."""
        names = list(self.attributes)
        return {
            "kind": "prior",
            "version": VERSION,
            "name": self.name,
            "model": self.model,
            "n_records": self.n_records,
            "standing": self.standing,
            "attributes": {name: list(values) for name, values in self.attributes.items()},
            "calibration": None if self.calibration is None else self.calibration.to_plain(),
            "nets": [
                {
                    "weight": net.weight,
                    "nodes": [
                        {
                            "attribute": names[node.column],
                            "parents": [names[at] for at in node.parents],
                            "levels": [
                                {"keys": level.keys.tolist(), "chances": level.chances.tolist()}
                                for level in node.levels
                            ],
                        }
                        for node in net.nodes
                    ],
                }
                for net in self.nets
            ],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Prior:
        """From the content of a file; what does not fit together is an error."""
        attributes = {str(name): tuple(map(str, values)) for name, values in plain["attributes"].items()}
        if plain["kind"] != "prior" or plain["version"] != VERSION or plain["model"] not in MODELS:
            raise ValueError(f"not a prior of version {VERSION}")
        at = {name: number for number, name in enumerate(attributes)}
        sizes = tuple(map(len, attributes.values()))
        nets = tuple(_net(net, at, sizes) for net in plain["nets"])
        if not nets or abs(sum(net.weight for net in nets) - 1) > 1e-3:
            raise ValueError("the weights of the nets do not add up to 1")
        found = plain["calibration"]
        calibration = None if found is None else Calibration.from_plain(found)
        return cls(str(plain["name"]), plain["model"], attributes, nets, int(plain["n_records"]), calibration)


def _net(plain: Mapping[str, Any], at: Mapping[str, int], sizes: tuple[int, ...]) -> Net:
    nodes: list[Node] = []
    seen: set[int] = set()
    for one in plain["nodes"]:
        parents = tuple(at[name] for name in one["parents"])
        if not set(parents) <= seen or len(one["levels"]) != len(parents) + 1:
            raise ValueError(f"the parents of {one['attribute']} do not come before it")
        column = at[one["attribute"]]
        levels = tuple(_level(level, sizes[column]) for level in one["levels"])
        if len(levels[0].keys) != 1:
            raise ValueError(f"{one['attribute']} has no chances without parents")
        nodes.append(Node(column, parents, levels))
        seen.add(column)
    if sorted(node.column for node in nodes) != list(range(len(sizes))):
        raise ValueError("a net does not have every attribute once")
    weight = float(plain["weight"])
    if not 0 <= weight <= 1:
        raise ValueError("a net has an impossible weight")
    return Net(weight, sizes, tuple(nodes))


def _level(plain: Mapping[str, Any], size: int) -> Level:
    keys = np.array(plain["keys"], np.int64)
    chances = np.array(plain["chances"], float).reshape(len(keys), size)
    if not (np.isfinite(chances).all() and (chances >= 0).all() and (np.diff(keys) > 0).all()):
        raise ValueError("chances must be finite and not negative, and their keys sorted")
    if len(chances) and abs(chances.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError("the chances of an attribute do not add up to 1")
    return Level(keys, chances)


def _breaks_rule(codes: Codes, schema: Schema, known: set[str]) -> NDArray[np.bool_]:
    """Which records match what a rule forbids, among rules about known attributes only."""
    boxes = [box for box in schema.forbidden if set(box.attributes) <= known]
    if not boxes:
        return np.zeros(len(codes), bool)
    words = match_words(pack_selections(boxes, schema), codes)
    return np.asarray(unpack(words, len(boxes)).any(axis=1))


def check_prior(prior: object) -> Prior:
    """The prior, if it is one."""
    if not isinstance(prior, Prior):
        raise InputError(
            f"prior must be a Prior, not {type(prior).__name__}",
            remedy="fit one with fit_prior, or read one with read_prior",
        )
    return prior
