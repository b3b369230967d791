"""Proofs about counts, and the checker that accepts or rejects them.

These files share no code with what finds proofs: they import nothing but the standard library and
NumPy, know no solver, and do all arithmetic in integers. :mod:`~showthrough.tables.proof.tree` is what
a proof consists of, :mod:`~showthrough.tables.proof.possible` finds the record types that can exist,
:mod:`~showthrough.tables.proof.checker` adds up, :mod:`~showthrough.tables.proof.world` counts in datasets.

``python -m showthrough.tables.proof RUN`` checks a run folder (:mod:`~showthrough.tables.proof.whole`), read
by code of its own (:mod:`~showthrough.tables.proof.folder`, :mod:`~showthrough.tables.proof.parquet`). A copy
of this folder does the same where showthrough is not installed: ``python COPY RUN``.

**What a leaf proves.** Every published cell says ``low ≤ count ≤ high``. Let ``u`` be one integer
per cell, ``d`` a positive integer, and ``c`` an integer per record type. If for every record type
``t`` that can exist ::

    Σ u_i·[t ∈ cell_i]  ≤  d·c(t)

then summing over the records of any dataset that agrees with the release gives ::

    total = Σ (u_i⁺·low_i − u_i⁻·high_i)  ≤  d·Σ_records c

so the integer ``Σ c`` is at least ``total / d`` rounded up. With ``c = [t ∈ claim]`` this is a lower
bound on the claim's count, with ``c = −[t ∈ claim]`` an upper bound, and with ``c = 0`` and a
positive total it shows that no dataset exists.

**What a branch proves.** A sum of counts is an integer, so it is at most ``at`` or at least
``at + 1``. If both cases prove the goal, each using its case as one more row, the goal holds.

**Which record types can exist.** Those that satisfy the rules and lie in no cell published as zero.
A proof may restrict itself to some attributes (``over``): leaving attributes, and with them rules
and cells, out of account only makes more types possible, so nothing false becomes provable.
"""

from .checker import Checker, Proof, check_proof
from .nested import PART, NestChecker, PartChecker
from .tree import Branch, Leaf, Node, Terms, leaves_of

__all__ = [
    "PART",
    "Branch",
    "Checker",
    "Leaf",
    "NestChecker",
    "Node",
    "PartChecker",
    "Proof",
    "Terms",
    "check_proof",
    "leaves_of",
]
