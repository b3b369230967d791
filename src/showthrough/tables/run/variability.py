"""How different two datasets can be, as a run asks for it, keeps it and checks it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from showthrough.errors import ProofError, Undecided
from showthrough.records import Records
from showthrough.tables.proof import PART, Checker, PartChecker
from showthrough.tables.proof.differ import Difference, n_different, n_settled
from showthrough.tables.result import Audit
from showthrough.tables.run.inputs import Settings
from showthrough.tables.stored import MALFORMED, VARIABILITY_COLUMNS

if TYPE_CHECKING:
    from showthrough.tables.run.stored_claims import StoredClaims

__all__ = [
    "DifferCheck",
    "differ_columns",
    "parts_with_variability",
    "variability_table",
    "with_variability",
]

#: A dataset: its records, each with how often it occurs.
Dataset = list[tuple[dict[str, str], int]]


def with_variability(found: Audit, settings: Settings, *, truth: Records | None = None) -> Audit:
    """The audit of an area, with how different two datasets can be if that is asked for."""
    if not settings.variability:
        return found
    from showthrough.tables.variability import variability_of

    try:
        differ = variability_of(found, truth=truth, effort=settings.effort, seed=settings.seed)
    except Undecided:  # the claims are decided all the same
        return found
    return replace(found, variability=differ)


def parts_with_variability(found: tuple[Audit, ...], settings: Settings) -> tuple[Audit, ...]:
    """The audits of the parts of an area, likewise."""
    if not settings.variability:
        return found
    from showthrough.tables.linked.differ import variability_of_parts

    try:
        differ = variability_of_parts(found, effort=settings.effort, seed=settings.seed)
    except Undecided:
        return found
    if None in differ:  # only the records of all parts together are a dataset
        return found
    return tuple(replace(one, variability=mine) for one, mine in zip(found, differ, strict=True))


def differ_columns(found: Audit) -> dict[str, int | None]:
    """The columns of areas.parquet about it."""
    differ = found.variability
    return {
        "differ_low": None if differ is None else differ.low,
        "differ_high": None if differ is None else differ.high,
    }


def variability_table(found: Audit) -> pa.Table:
    """The proof, and the two datasets; of a part of an area, its own records."""
    differ = found.variability
    if differ is None:
        return VARIABILITY_COLUMNS.empty_table()
    first, second = (world.to_json() for world in differ.worlds)
    row = {"area": found.area, "proof": differ.proof.to_json(), "first": first, "second": second}
    return pa.Table.from_pylist([row], VARIABILITY_COLUMNS)


@dataclass(frozen=True)
class DifferCheck:
    """The check of what a run says about one area.

    ``siblings`` are the rows of all parts of the larger area, if the area is one of them.
    """

    rows: Sequence[Mapping[str, Any]]
    checker: Checker
    claims: StoredClaims
    siblings: Sequence[Mapping[str, Any]] | None = None

    def problems(self, row: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with the columns of areas.parquet, or with what should prove them."""
        said = row["differ_low"], row["differ_high"]
        if not self.rows:
            if said != (None, None):
                yield "areas.parquet says how different two datasets can be, but nothing proves it"
            return
        try:
            expected = self._ends(self.rows[0])
        except ProofError as error:
            yield f"how different two datasets can be: {error}"
            return
        except MALFORMED as error:
            gist = f"{type(error).__name__}: {' '.join(str(error).split())}"
            yield f"how different two datasets can be cannot be read: {gist}"
            return
        if len(self.rows) > 1:
            yield "proofs/variability.parquet has several rows for it"
        for name, found, right in zip(("differ_low", "differ_high"), said, expected, strict=True):
            if found != right:
                yield f"areas.parquet: {name} is {found}, not {right}"

    def _ends(self, row: Mapping[str, Any]) -> tuple[int, int]:
        """Both ends, once the datasets and the proof are checked."""
        proof = Difference.from_json(row["proof"])
        if proof.to_json() != row["proof"]:
            raise ProofError("a proof is not written as proofs are")
        proof.check(self.checker, self._settled())
        first, second = (_dataset(row[side]) for side in ("first", "second"))
        self._check_worlds(first, second)
        return n_different(first, second), proof.most

    def _settled(self) -> int:
        """How many records proved claims name in every attribute."""
        claims = self.claims
        proved = (
            (claims.vocabulary.terms(claims.selections[at]), int(claims.multiplicity[at]))
            for at, verdict in enumerate(claims.verdict)
            if verdict == "verified" and claims.k[at] == len(claims.vocabulary.names)
        )
        return n_settled(proved, self.checker.open_attributes())

    def _check_worlds(self, first: Dataset, second: Dataset) -> None:
        """Both datasets agree; those of parts are the records of all parts together."""
        if not isinstance(self.checker, PartChecker):
            self.checker.check_world(first)
            self.checker.check_world(second)
            return
        siblings = self.siblings or ()
        if siblings and siblings[0]["area"] != self.checker.name:
            return  # the first part's check is that of all
        for side in ("first", "second"):
            self.checker.check_world(
                ({PART: row["area"], **record}, times)
                for row in siblings
                for record, times in _dataset(row[side])
            )


def _dataset(text: str) -> Dataset:
    """A dataset as it is stored."""
    found = [({str(k): str(v) for k, v in record.items()}, int(n)) for record, n in json.loads(text)]
    if json.dumps(found, ensure_ascii=False, separators=(",", ":")) != text:
        raise ProofError(f"a dataset is not written as datasets are: {text[:200]}")
    return found
