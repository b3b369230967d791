"""The audit of one area: candidates from one world are decided and become verdicts and findings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from showthrough.errors import InputError, RecordsError, check_each, check_type, shorten
from showthrough.records import Records
from showthrough.release import Release
from showthrough.releases import Releases
from showthrough.tables.decision import Context, Decision, context_of
from showthrough.tables.proof import Proof
from showthrough.tables.result import Audit
from showthrough.tables.search.conflict import explain_conflict
from showthrough.tables.search.decider import Decider, Effort, Infeasible
from showthrough.tables.search.system import Conflict, System, build_system
from showthrough.tables.search.universe import TooManyTypes

__all__ = [
    "Context",
    "Scope",
    "audit",
    "check_release",
    "context_of",
    "locate",
    "start_decider",
]


@dataclass(frozen=True)
class Scope:
    """Which claims to decide.

    Parameters
    ----------
    min_columns, max_columns
        The fewest and the most columns of a claim.
    multiplicity
        Only claims about this many records: the smallest and the largest number.
    absent
        Whether to decide also which selections no record matches.
    gaps
        Whether to decide also which counts a selection can never have although smaller and larger
        ones occur.
    """

    min_columns: int = 1
    max_columns: int | None = None
    multiplicity: tuple[int, int] | None = None
    absent: bool = False
    gaps: bool = False

    def __post_init__(self) -> None:
        check_type(self.min_columns, Integral, name="min_columns")
        check_type(self.max_columns, (Integral, NoneType), name="max_columns")
        low, high = (1, 1) if self.multiplicity is None else _range(self.multiplicity)
        if self.min_columns < 1:
            raise InputError("min_columns must be at least 1", found=str(self.min_columns))
        if self.max_columns is not None and self.max_columns < self.min_columns:
            raise InputError(
                "max_columns is below min_columns",
                found=f"{self.max_columns} < {self.min_columns}",
            )
        if not 0 < low <= high:
            raise InputError("multiplicity must be a range that starts at 1 or above", found=f"{low}-{high}")


def _range(multiplicity: object) -> tuple[int, int]:
    """The smallest and the largest number of records, if this is both."""
    remedy = "give the smallest and the largest number, such as (1, 3)"
    check_type(multiplicity, Sequence, name="multiplicity", remedy=remedy)
    check_each(multiplicity, Integral, name="multiplicity", remedy=remedy)
    if not isinstance(multiplicity, Sequence) or len(multiplicity) != 2:
        raise InputError("multiplicity must be two numbers", found=str(multiplicity), remedy=remedy)
    return multiplicity[0], multiplicity[1]


def audit(
    release: Release,
    *,
    truth: Records | None = None,
    scope: Scope | None = None,
    effort: float = 1.0,
    seed: int = 0,
    min_columns: int = 1,
    max_columns: int | None = None,
    multiplicity: int | tuple[int, int] | None = None,
    absent: bool = False,
    gaps: bool = False,
    findings: bool = True,
) -> Audit:
    """Decide which claims about the records follow from a release, each with evidence.

    Parameters
    ----------
    release
        The published tables of one area.
    truth
        The microdata, where the publisher holds them. They only spare the search for a first dataset: the
        verdicts are about all datasets that agree with the release.
    scope
        Which claims to decide; in place of the options from ``min_columns`` to ``gaps``, which are
        those of :class:`Scope`.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walks.
    findings
        Whether to combine the claims into findings.

    Returns
    -------
    Audit
        Verdicts and findings.

    Raises
    ------
    Contradiction
        If no dataset agrees with the release.
    Undecided
        If no dataset was found within the effort.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "yes"}, {"sex": "m", "ill": "no"},
    ...                         {"sex": "m", "ill": "no"}], schema)
    >>> found = st.audit(st.tabulate(people, ["sex", "ill"]), truth=people)
    >>> [str(v.claim.selection) for v in found.of_kind("verified") if not v.direct]
    []
    """
    check_type(scope, (Scope, NoneType), name="scope", remedy="write Scope(max_columns=4)")
    if scope is None:
        limits = (multiplicity, multiplicity) if isinstance(multiplicity, int | np.integer) else multiplicity
        scope = Scope(min_columns, max_columns, limits, absent, gaps)
    try:
        decider = start_decider(release, truth=truth, effort=effort, seed=seed)
    except TooManyTypes:
        from showthrough.tables.wide.audit import audit_wide, wide_area

        area = wide_area(release, effort=effort, seed=area_seed(seed, release.area))
        return audit_wide(area, truth=truth, scope=scope, findings=findings)
    return Decision(context_of(release.layout), decider, scope).audit(findings=findings)


def start_decider(release: Release, *, truth: Records | None, effort: float, seed: int) -> Decider:
    """A decider with a first world; raises Contradiction where there is none."""
    check_release(release)
    check_type(truth, (Records, NoneType), name="truth", remedy="read them with read_records")
    check_type(seed, Integral, name="seed")
    limits = Effort.of(effort)
    try:
        system = build_system(context_of(release.layout).frame, release, most_types=limits.types)
        first = None if truth is None else locate(system, truth)
        return Decider(system, limits, seed=area_seed(seed, release.area), first=first)
    except Conflict as conflict:
        raise explain_conflict(release, conflict.cells) from None
    except Infeasible as conflict:
        proof = Proof((), 0, never=conflict.node)
        raise explain_conflict(release, proof.cells) from None


def check_release(release: object) -> None:
    """Raise unless this is the release of one area; of several, say how to take one."""
    if isinstance(release, Releases):
        name = release.areas[0] if len(release) else "North"
        raise InputError(
            "release must be that of one area, not Releases",
            found=f"{len(release):,} areas",
            remedy=f"take one by its name, such as releases[{shorten(name)!r}], or audit all with run_audit",
        )
    check_type(release, Release, name="release", remedy="tabulate records, or read a release file")


def area_seed(seed: int, area: str) -> int:
    """A seed of its own for every area, whatever the order they come in."""
    digest = hashlib.blake2b(f"{seed}/{area}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def locate(system: System, records: Records) -> NDArray[np.int64]:
    """The types of records, which must agree with the release."""
    frame = system.universe.frame
    if records.schema != frame.layout.schema:
        raise RecordsError("the records have another schema than the release")
    if not system.release.agrees_with(records):
        raise RecordsError(
            "the records do not have the published counts",
            remedy="audit the counts alone, or tabulate these records",
        )
    wanted = records.codes[:, list(frame.over)]
    known = {row.tobytes(): at for at, row in enumerate(system.universe.codes)}
    found = [known.get(row.tobytes()) for row in wanted.astype(np.uint16)]
    for at, type_ in enumerate(found):
        if type_ is None:
            raise RecordsError("a record breaks a rule of the schema", row=at + 1)
    return np.array(found, np.int64)
