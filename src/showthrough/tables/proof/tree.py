"""What a proof consists of: multipliers, and cases that are told apart; as objects and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Branch",
    "Leaf",
    "Node",
    "Terms",
    "from_plain",
    "integer",
    "leaves_of",
    "terms_from_plain",
    "to_plain",
]

#: A selection as the checker knows it: for some attributes the allowed values.
Terms = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Leaf:
    """Multipliers: numerators per cell (by position in the release) and per branch (by depth)."""

    cells: tuple[tuple[int, int], ...]
    branches: tuple[tuple[int, int], ...]
    denominator: int
    total: int


@dataclass(frozen=True)
class Branch:
    """Either the selections' counts add up to at most ``at`` (``below``) or to more (``above``)."""

    on: tuple[Terms, ...]
    at: int
    below: Node
    above: Node


Node = Leaf | Branch


def leaves_of(node: Node) -> Iterable[Leaf]:
    """All leaves below a node."""
    if isinstance(node, Leaf):
        yield node
    else:
        yield from leaves_of(node.below)
        yield from leaves_of(node.above)


def to_plain(node: Node) -> dict[str, Any]:
    """A node as what JSON can hold."""
    if isinstance(node, Leaf):
        return {
            "cells": [list(pair) for pair in node.cells],
            "branches": [list(pair) for pair in node.branches],
            "denominator": node.denominator,
            "total": node.total,
        }
    return {
        "on": [{name: list(values) for name, values in terms} for terms in node.on],
        "at": node.at,
        "below": to_plain(node.below),
        "above": to_plain(node.above),
    }


def from_plain(plain: Mapping[str, Any]) -> Node:
    """The inverse of :func:`to_plain`; what is malformed raises one of Python's own errors."""
    if "on" in plain:
        return Branch(
            on=tuple(map(terms_from_plain, plain["on"])),
            at=integer(plain["at"]),
            below=from_plain(plain["below"]),
            above=from_plain(plain["above"]),
        )
    return Leaf(
        cells=tuple((integer(at), integer(u)) for at, u in plain["cells"]),
        branches=tuple((integer(at), integer(u)) for at, u in plain["branches"]),
        denominator=integer(plain["denominator"]),
        total=integer(plain["total"]),
    )


def terms_from_plain(plain: Mapping[str, Any]) -> Terms:
    """A selection, from attribute → list of values."""
    return tuple((str(name), tuple(map(str, values))) for name, values in plain.items())


def integer(value: Any) -> int:
    """A value that must be an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an integer")
    return value
