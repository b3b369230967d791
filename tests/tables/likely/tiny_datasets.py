"""All datasets that agree with a tiny release, one order of records after the other, with their weights."""

from __future__ import annotations

import itertools

import numpy as np

import showthrough as st


def sequences(release: st.Release, n: int) -> np.ndarray:
    """Every sequence of n possible records (their codes) whose counts are as published."""
    schema = release.schema
    sizes = [len(attribute.values) for attribute in schema.attributes]
    every = np.array(list(itertools.product(*map(range, sizes))))
    bad = np.zeros(len(every), bool)
    for box in schema.forbidden:
        bad |= st.Records(schema, every).matching(box)
    every = every[~bad]
    one = np.array([release.layout.count(row[None, :]) for row in every])  # what one record counts
    found = []
    for chosen in itertools.product(range(len(every)), repeat=n):
        counts = one[list(chosen)].sum(axis=0) if n else np.zeros(len(release.low))
        if (release.low <= counts).all() and (counts <= release.high).all():
            found.append(chosen)
    return every[np.array(found, int).reshape(len(found), n)]


def weights(prior: st.Prior, found: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """The probability of each sequence."""
    flat = prior.chances(found.reshape(-1, found.shape[2]), names).reshape(found.shape[:2])
    product = flat.prod(axis=1)
    return product / product.sum()


def matching(release: st.Release, found: np.ndarray, selection: str) -> np.ndarray:
    """How many records of each sequence match."""
    return np.array([st.Records(release.schema, one).count(selection) for one in found])
