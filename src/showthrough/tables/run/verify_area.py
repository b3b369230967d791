"""One area of a run: proofs, claims, datasets, findings and figures, each checked or derived again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import ProofError
from showthrough.release import Layout, Release
from showthrough.selection import Selection
from showthrough.tables.proof import Checker, PartChecker
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.nests import nest_checker
from showthrough.tables.run.stored_claims import StoredClaims, vocabulary_of
from showthrough.tables.run.stored_proofs import StoredProofs
from showthrough.tables.run.variability import DifferCheck
from showthrough.tables.run.verification import Verification
from showthrough.tables.run.verify_claims import (
    expected_direct,
    rows_out_of_place,
    stating_of,
    unproved_claims,
)
from showthrough.tables.run.verify_findings import check_findings
from showthrough.tables.run.witnesses import check_witnesses
from showthrough.tables.search.questions import Lattice
from showthrough.tables.search.type_counts import add_times
from showthrough.tables.search.universe import TooManyTypes, grow
from showthrough.tables.stored import AREA_COLUMNS, VARIABILITY

__all__ = [
    "verify_area",
]

Tables = Mapping[str, pa.Table]

#: How the status of an area begins that was not audited.
FAILED = ("contradiction: ", "undecided: ")

#: Record types that are listed to count them.
MOST_LISTED = 100_000

#: Figures of an area that nothing else in the folder tells.
WORK = ("worlds_seen", "steps", "programs", "nodes", "solves")


def verify_area(tables: Tables, layout: Layout, settings: Settings) -> Verification:
    """Check all that a run has about one area."""
    row = tables["areas"].to_pylist()[0]
    done = Verification(areas=1)
    if row["status"].startswith(FAILED):
        done.open["failed"] += 1
        problems = _failed(row, tables, settings)
    else:
        problems = _Check(row, tables, layout, settings, done).problems()
    name = f"area {row['area']}: " if row["area"] else ""
    done.problems += [f"{name}{problem}" for problem in problems]
    return done


def _failed(row: Mapping[str, Any], tables: Tables, settings: Settings) -> Iterator[str]:
    """An area that was not audited has no results."""
    if row["status"].startswith("contradiction") and not settings.keep_going:
        yield "contradicts itself, but the run was to stop there"
    for name in ("claims", "findings", "proofs", "witnesses", VARIABILITY):
        if tables[name].num_rows:
            yield f"was not audited, but has {name}"
    if tables["counts"].num_rows > 1:
        yield f"counts.parquet has {tables['counts'].num_rows} rows for it"
    figures = (row[name] for name in AREA_COLUMNS.names if name not in ("area", "status"))
    if any(figures):
        yield "was not audited, but areas.parquet has figures of it"


@dataclass(frozen=True)
class _Check:
    """The check of one area that was audited."""

    row: Mapping[str, Any]
    tables: Tables
    layout: Layout
    settings: Settings
    done: Verification

    def problems(self) -> Iterator[str]:
        """All that does not hold."""
        if self.tables["counts"].num_rows != 1:
            yield f"counts.parquet has {self.tables['counts'].num_rows} rows for it"
            return
        yield from self._claims()
        yield from self._proofs.left()
        yield from self._whole()
        yield from self._figures()
        yield from self._differences()

    @cached_property
    def _release(self) -> Release:
        counts = self.tables["counts"].to_pylist()[0]
        return Release(self.layout, np.array(counts["low"]), np.array(counts["high"]), self.row["area"])

    @cached_property
    def _checker(self) -> Checker:
        if "siblings" not in self.tables:
            return Checker(self.layout.schema, self._release)
        return nest_checker(self.tables["wholes"], self.tables["siblings"], self.layout).part(
            self.row["area"]
        )

    @cached_property
    def _stored(self) -> StoredClaims:
        return StoredClaims.of(self.tables["claims"], vocabulary_of(self.layout))

    @cached_property
    def _proofs(self) -> StoredProofs:
        return StoredProofs.of_table(self.tables["proofs"], self._checker, vocabulary_of(self.layout))

    @property
    def _largest(self) -> int:
        most = len(vocabulary_of(self.layout).names)
        return min(self.settings.scope.max_columns or most, most)

    def _claims(self) -> Iterator[str]:
        """Proofs, claims, datasets and findings."""
        proofs, claims, done = self._proofs, self._stored, self.done
        done.proofs += self.tables["proofs"].num_rows
        yield from proofs.problems
        unknown = list(rows_out_of_place(claims, self.settings))
        yield from unknown
        counted = Counter(claims.verdict)
        done.claims += counted["verified"] + counted["impossible"]
        yield from unproved_claims(claims, proofs, self.layout)
        yield from check_witnesses(self.tables["witnesses"], claims, self._checker)
        done.witnesses += self.tables["witnesses"].num_rows
        for at in np.flatnonzero(expected_direct(claims, self._release) != claims.direct).tolist():
            yield f"direct is wrong for {claims.selections[at]} x{claims.multiplicity[at]}"
        if not unknown:
            for at in claims.misworded():
                yield f"the sentence of a claim is not that of {claims.selections[at]}: {claims.sentence[at]}"
        findings = self.tables["findings"].to_pylist()
        done.sentences += len(claims) + len(findings)
        done.findings += len(findings)
        if self.settings.findings:
            yield from check_findings(findings, claims, proofs, self._release, self._largest)
        elif findings:
            yield "findings.parquet: findings where none were asked for"

    def _whole(self) -> Iterator[str]:
        """Whether every claim of the scope is there, as far as that can be told."""
        if not self.settings.findings:
            self.done.open["findings"] += 1
        else:
            self.done.open["wide"] += self._largest < len(vocabulary_of(self.layout).names)
            self.done.open["groups"] += 1
        self.done.open["undecided"] += "undecided" in self._stored.verdict
        yield from self._unlisted_cells()
        self.done.open["absences"] += self.settings.scope.absent or self.settings.scope.gaps
        suggested = self._suggested
        if suggested is None:
            self.done.open["claims"] += 1
            return
        records, keys, counts = suggested
        try:
            checker = self._checker
            checker.check_own(records) if isinstance(checker, PartChecker) else checker.check_world(records)
        except ProofError as error:
            yield f"the claims are not those of a dataset that agrees: {error}"
        claims, scope = self._stored, self.settings.scope
        listed = set(zip(claims.keys.tolist(), claims.multiplicity.tolist(), strict=True))
        wanted = set(zip(keys.tolist(), counts.tolist(), strict=True))
        if missing := len(wanted - listed):
            yield f"claims of the scope are missing: {missing:,}"
        pairs = zip(claims.keys.tolist(), claims.multiplicity.tolist(), claims.verdict, strict=True)
        for at, (key, m, verdict) in enumerate(pairs):
            extra = m == 0 or verdict == "impossible" or (verdict == "undecided" and scope.gaps)
            if (key, m) not in wanted and not extra and claims.evidence[at] != "rejected":
                yield f"a claim does not belong to the others: {claims.selections[at]} x{m}"

    @cached_property
    def _suggested(
        self,
    ) -> tuple[list[tuple[dict[str, str], int]], NDArray[np.uint64], NDArray[np.int64]] | None:
        """The dataset whose claims were decided, and these claims; None if the folder does not tell.

        Every claim that holds in all datasets holds in this one. So if each of its claims has a verdict,
        none is missing. Claims with all columns are its records.
        """
        claims, scope = self._stored, self.settings.scope
        columns = claims.vocabulary.names
        whole = scope.min_columns <= len(columns) == self._largest and scope.multiplicity is None
        if not (self.settings.refuted and whole and columns):
            return None
        is_record = (claims.k == len(columns)) & (claims.multiplicity > 0)
        is_record &= np.array([verdict != "impossible" for verdict in claims.verdict], bool)
        rows = np.flatnonzero(is_record)
        if len(np.unique(claims.keys[rows])) != len(rows):
            return None
        free = {a.name: a.values[0] for a in self.layout.schema.attributes}
        times = claims.multiplicity[rows]
        records = [(free | claims.terms(at), int(n)) for at, n in zip(rows.tolist(), times, strict=True)]
        lattice = Lattice(claims.vocabulary.lattice.sizes, scope.min_columns, len(columns))
        keys = lattice.keys(claims.codes[rows])
        found, of = np.unique(keys, return_inverse=True)
        weights = np.broadcast_to(times, keys.shape).ravel()
        return records, found, add_times(of.ravel(), weights, len(found))

    def _unlisted_cells(self) -> Iterator[str]:
        """Exact cells that are claims of the scope and are not among the verified ones."""
        release, scope, claims = self._release, self.settings.scope, self._stored
        low, high = scope.multiplicity or (1, np.iinfo(np.int64).max)
        rows = zip(claims.selections, claims.multiplicity.tolist(), claims.verdict, strict=True)
        listed = {(selection, m) for selection, m, verdict in rows if verdict == "verified"}
        for cell, text in stating_of(self.layout).claims:
            m = int(release.low[cell])
            exact = m == release.high[cell] and low <= m <= high
            size = len(self.layout.attributes[cell])
            if exact and scope.min_columns <= size <= self._largest and (text, m) not in listed:
                yield f"a published cell is not among the verified claims: {text} x{m}"

    def _figures(self) -> Iterator[str]:
        """The row of areas.parquet, recounted."""
        verdicts, kinds = Counter(self._stored.verdict), Counter(self.tables["findings"]["kind"].to_pylist())
        expected: dict[str, object] = {
            "status": "partly decided" if verdicts["undecided"] else "decided",
            **{verdict: verdicts[verdict] for verdict in ("verified", "undecided", "impossible")},
            "direct": int(self._stored.direct.sum()),
            "findings": kinds.total(),
            "singletons": kinds["singleton"],
        }
        if (n_types := self._n_types()) is not None:
            expected["record_types"] = n_types
        else:
            self.done.open["types"] += 1
        if self.settings.refuted:
            expected["refuted"] = verdicts["refuted"]
        else:
            self.done.open["refuted"] += 1
        total = self._total
        if total is not None:
            expected["records"] = total
        else:
            self.done.open["records"] += 1
        unique = self._unique(total)
        if unique is not None:
            expected["unique"] = unique
        else:
            self.done.open["determined"] += 1
        for name, value in expected.items():
            self.done.figures += 1
            if self.row[name] != value:
                yield f"areas.parquet: {name} is {self.row[name]}, not {value}"
        if self.row["refuted"] < 0 or (self.row["refuted"] and self.row["unique"]):
            yield "areas.parquet: claims are refuted where only one dataset agrees"
        if any(self.row[name] < 0 for name in WORK):
            yield "areas.parquet: the figures of the work are impossible"

    def _differences(self) -> Iterator[str]:
        """How different two datasets can be, if the run says so."""
        rows = self.tables[VARIABILITY].to_pylist()
        if not self.settings.variability and rows:
            yield "says how different two datasets can be, which was not asked for"
        self.done.open[VARIABILITY] += self.settings.variability and not rows
        self.done.figures += 2 * bool(rows)
        siblings = self.tables["differ"].to_pylist() if rows and "differ" in self.tables else None
        yield from DifferCheck(rows, self._checker, self._stored, siblings).problems(self.row)

    def _n_types(self) -> int | None:
        """How many record types there are; None if they are too many to be listed."""
        context, stated = vocabulary_of(self.layout).context, self.row["record_types"] or 0
        try:
            grow(context.frame, self._release, most=min(max(MOST_LISTED, stated), 10 * MOST_LISTED))
        except TooManyTypes:
            return None
        return self._checker.n_types(context.frame.names)

    @cached_property
    def _total(self) -> int | None:
        """The number of records, where a table (or the claims about one column) adds up to it."""
        release, vocabulary = self._release, vocabulary_of(self.layout)
        for cells in vocabulary.context.margins.of(Selection()):
            low = release.low[list(cells)]
            if (low == release.high[list(cells)]).all():
                return int(low.sum())
        claims = self._stored
        counted = {
            claims.numbers[at][0]: int(claims.multiplicity[at])
            for at in np.flatnonzero(claims.k == 1).tolist()
            if claims.verdict[at] == "verified"
        }
        for name in vocabulary.names:
            numbers = [vocabulary.number[name, value] for value in self.layout.schema[name].values]
            open_ = [number for number in numbers if number not in counted]
            if all(self._is_impossible(number) for number in open_):
                return sum(counted[number] for number in numbers if number in counted)
        return None

    def _is_impossible(self, number: int) -> bool:
        """Whether a cell published as 0 holds all records with a value."""
        name, value = vocabulary_of(self.layout).pairs[number]
        mine, release = Selection.of({name: value}), self._release
        zero = np.flatnonzero(release.high == 0).tolist()
        return any(mine.is_within(one) for cell in zero for _, one in self.layout.terms[cell])

    def _unique(self, total: int | None) -> bool | None:
        """Whether only one dataset agrees; None if the folder does not tell."""
        claims = self._stored
        context = claims.vocabulary.context
        if self.tables["witnesses"].num_rows or (context.left_out and total):
            return False
        if total is None:
            return None
        whole = (claims.k == len(claims.vocabulary.names)) & (claims.multiplicity > 0)
        proved = np.array([verdict == "verified" for verdict in claims.verdict], bool)
        return True if int(claims.multiplicity[whole & proved].sum()) == total else None
