"""The seam: an engine runs one function over numbered items of work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

__all__ = [
    "Engine",
    "Work",
]

#: Does the work with a number and returns how much it was. It can be pickled, and it leaves its
#: result where all machines can read it, so that doing it twice does no harm.
Work = Callable[[int], int]


class Engine(Protocol):
    """Runs work somewhere: on this machine (:class:`LocalEngine`) or a cluster (:class:`SparkEngine`).

    Attributes
    ----------
    run
        The one method that an engine must have.
    """

    def run(self, work: Work, items: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Call ``work`` on every item; each item with what was returned, as they finish.

        Items are taken one by one as there is room for them, in the calling thread, so whoever
        makes them may prepare something for each. They finish in any order, and an item may be
        worked on more than once. What ``work`` raises on purpose
        (:class:`~showthrough.errors.ShowthroughError`) is raised here.
        """
        ...
