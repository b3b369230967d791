"""The errors of the checker. Within showthrough they belong to its tree; copied out, they stand alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "ProofError",
    "Unreadable",
]

if TYPE_CHECKING or __name__.startswith("showthrough."):
    from showthrough.errors import ProofError
else:

    class ProofError(Exception):
        """A proof, or a witness, does not hold; the message says where it fails."""


class Unreadable(Exception):
    """A file of a run cannot be read, or says what no run says; the message names the file."""
