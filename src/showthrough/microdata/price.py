"""What a sampled publication costs its readers: how much is left to learn from it, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from showthrough.microdata.publication import Publication
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.trials import plan_trials, standard_error
from showthrough.text import percent, several

__all__ = [
    "describe_price",
]

#: A share over all records that is off by more than this (in standard errors times two) is no answer.
_USELESS: Final = 0.1
#: How much smaller the error λ of the promises is that are shown beside it.
_MILDER: Final = (3, 10, 30)


def describe_price(publication: Publication) -> Iterator[str]:
    """How many trials were drawn, what that leaves of a share over all records, and what would leave more.

    Everything follows from published numbers. Nothing is said about other methods of publishing.
    """
    said = publication.manifest
    if said.method != "sampled" or said.drawn is None or said.effective is None:
        return
    kept, n_values = said.tables[0].retention, len(said.domain)
    error = standard_error(said.effective, kept, n_values)
    yield (
        f"Readers see {several(said.drawn, 'trial')} for {several(said.records, 'record')}, "
        f"with a retention of {kept:.4g}, the best for groups of these sizes."
    )
    if said.suppressed:
        yield (
            f"{several(said.suppressed, 'record')} {'was' if said.suppressed == 1 else 'were'} left out: "
            "whatever the number of trials, readers could learn a share of their groups too precisely. "
            "Which groups these are follows from their sizes."
        )
    precise = f"a share of one half over all these records is known to ± {percent(2 * error, 1)} of them"
    if 2 * error <= _USELESS:
        yield f"What this leaves: {precise} (two standard errors), a share of a part of them less precisely."
        return
    yield f"This promise leaves next to nothing: even {precise} (two standard errors)."
    yield from _alternatives(publication, error)


def _alternatives(publication: Publication, error: float) -> Iterator[str]:
    """Promises with smaller errors, and what they would leave."""
    said = publication.manifest
    promise = said.own_promise
    if not isinstance(promise, ReconstructionPrivacy):
        return
    sizes = publication.read_groups(said.public).sizes
    found = list[str]()
    distinct = np.sort(sizes).astype(np.int64).tobytes()
    for by in _MILDER:
        milder = ReconstructionPrivacy(float(f"{promise.error / by:.2g}"), promise.chance)
        left = _error_left(distinct, milder, len(said.domain))
        if left < error:
            found.append(f"{milder.error:g}:{milder.chance:g} ± {percent(2 * left, 1)}")
    if found:
        yield f"With a smaller error in the promise it would be: {', '.join(found)}."


@lru_cache(maxsize=32)
def _error_left(sizes: bytes, promise: ReconstructionPrivacy, n_values: int) -> float:
    """The standard error of a share of one half; infinite if nothing can be published.

    Terminal and page ask for the same.
    """
    return plan_trials(np.frombuffer(sizes, np.int64), promise, n_values=n_values).error
