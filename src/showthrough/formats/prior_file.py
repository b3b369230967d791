"""Priors as files: read with all that could be wrong in them, and written whole or not at all."""

from __future__ import annotations

import json
import os

from showthrough.errors import InputError
from showthrough.files import read_json, write_text
from showthrough.tables.likely.prior import Prior

__all__ = [
    "prior_to_json",
    "read_prior",
    "write_prior",
]


def read_prior(path: str | os.PathLike[str]) -> Prior:
    """Read a prior that ``showthrough prior`` or :func:`write_prior` wrote.

    Parameters
    ----------
    path
        The JSON file.

    Returns
    -------
    Prior
        The prior.

    Raises
    ------
    InputError
        If there is no such file, or it is not a prior.
    """
    plain = read_json(path)
    try:
        return Prior.from_plain(plain)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            "this file is not a prior, or it is damaged",
            file=str(path),
            found=f"{type(error).__name__}: {error}",
            remedy="make one with showthrough prior",
        ) from None


def write_prior(prior: Prior, path: str | os.PathLike[str]) -> None:
    """Write a prior to a JSON file.

    A prior holds chances, not records; fitted to confidential records it is still made from them, and
    is to be kept as they are.

    Parameters
    ----------
    prior
        The prior.
    path
        The file to write.
    """
    write_text(path, prior_to_json(prior))


def prior_to_json(prior: Prior) -> str:
    """A prior as the text of its file."""
    return json.dumps(prior.to_plain(), ensure_ascii=False, separators=(",", ":")) + "\n"
