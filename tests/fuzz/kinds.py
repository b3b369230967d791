"""All kinds of inputs, and how many of each there are among many."""

from __future__ import annotations

from fuzz import binary, counts, delimited, documents, folders, parts, words
from fuzz.kind import Kind

__all__ = ["KINDS", "REPORTED", "numbers"]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for room in (delimited, binary, parts, documents, counts, words, folders)
    for kind in room.KINDS
}

#: Faults that are known and wait for somebody, each with its smallest input in the corpus.
REPORTED = frozenset[str]()


def numbers(total: int) -> dict[str, int]:
    """How many inputs of each kind make so many: at least one of each.

    >>> sum(numbers(10_000).values())
    10000
    """
    whole = sum(kind.share for kind in KINDS.values())
    found = {name: max(1, int(total * kind.share / whole)) for name, kind in KINDS.items()}
    largest = max(found, key=lambda name: found[name])
    found[largest] = max(1, found[largest] + total - sum(found.values()))
    return found
