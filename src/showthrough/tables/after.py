"""What new tables add to those that are out: which findings are new, and which new cells they are due to.

A finding was already out if everything it says is proved by the earlier tables alone. These are audited on
their own (or their run is at hand), in the same scope. What is proved only with the new tables is new, and
its proofs name the new cells that they use.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.engine import Engine
from showthrough.errors import RunError
from showthrough.files import read_json, write_json
from showthrough.folders import PageMaker
from showthrough.release import UNBOUNDED, Layout, Release
from showthrough.schema import Schema
from showthrough.scratch import private_scratch
from showthrough.selection import Selection
from showthrough.tables.earlier import Following, earlier_tables, n_earlier_cells
from showthrough.tables.grounds import Grounds
from showthrough.tables.proof import Proof
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.read import AFTER, AreaReader, AuditRun, StoredFinding
from showthrough.tables.run.totals import RunTotals
from showthrough.tables.stored import DAMAGED, read_rows
from showthrough.text import several

__all__ = [
    "COLUMNS",
    "NEW_FINDINGS",
    "STATUSES",
    "AfterTotals",
    "NewCells",
    "NewFinding",
    "compare_findings",
    "count_areas",
    "deriving",
    "is_same_audit",
    "new_findings",
    "read_after",
    "write_after",
]

#: The table of a run that says which of its findings are new.
NEW_FINDINGS = "after.parquet"

COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("finding", pa.int32()),
        ("status", pa.string()),
        ("because", pa.list_(pa.string())),
        ("sentence", pa.string()),
    ]
)

#: What can be said of a finding after earlier tables.
STATUSES = {
    "new": "they follow only with the new tables",
    "perhaps new": "whether the earlier tables prove them is undecided",
    "already derivable": "they follow from the earlier tables alone, though no earlier run lists them",
    "already out": "an earlier run lists them",
}

#: Cells that are named in a sentence.
MOST_CELLS = 4

#: Findings of an area, the most telling first, of which cells published as 0 are named besides those that are
#: added or subtracted: finding them takes its time.
MOST_GROUNDED = 20


@dataclass(frozen=True)
class AfterTotals:
    """How many findings are new, and what the run says about the earlier ones.

    ``areas_new`` are areas that no earlier run is about, ``areas_earlier`` those without new tables.
    """

    earlier: tuple[str, ...] = ()
    findings: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    areas: int = 0
    areas_new: int = 0
    areas_earlier: int = 0

    @property
    def new(self) -> int:
        """The findings that are new, or perhaps."""
        return self.findings["new"] + self.findings["perhaps new"]

    def headline(self, run: RunTotals | None = None) -> str:
        """What the new tables add, in one sentence; with what is open in the run, if it is given.

        >>> findings = {"new": 2, "perhaps new": 0, "already derivable": 1, "already out": 4}
        >>> AfterTotals(("first",), findings).headline()
        'With the new tables, 2 findings are added to 5 that were already out.'
        """
        out = self.findings["already out"] + self.findings["already derivable"]
        were = f"{out:,} that {'was' if out == 1 else 'were'} already out"
        but = "" if run is None else _open(run)
        if not self.new:
            return f"The new tables add no finding{f' to {were}' if out else ''}{but}."
        return (
            f"With the new tables, {several(self.new, 'finding')} {'is' if self.new == 1 else 'are'} "
            f"{f'added to {were}' if out else 'new, and none was already out'}{but}."
        )

    def lines(self) -> Iterator[str]:
        """What the headline leaves out, one sentence each."""
        for status in ("perhaps new", "already derivable"):
            if n := self.findings[status]:
                yield f"{several(n, 'finding')} {status}: {STATUSES[status]}."
        if self.areas_new:
            yield f"{several(self.areas_new, 'area')} of {self.areas:,} had no tables before."
        if self.areas_earlier:
            verb = "has" if self.areas_earlier == 1 else "have"
            yield f"{several(self.areas_earlier, 'area')} of {self.areas:,} {verb} no new tables."


def _open(run: RunTotals) -> str:
    """What is open in a run, as the end of a sentence.

    >>> _open(RunTotals(undecided=1, areas_failed=2))
    ', but 1 claim is undecided, and 2 areas were not audited'
    """
    parts = list[str]()
    if run.undecided:
        parts.append(f"{several(run.undecided, 'claim')} {'is' if run.undecided == 1 else 'are'} undecided")
    if run.areas_failed:
        verb = "was" if run.areas_failed == 1 else "were"
        parts.append(f"{several(run.areas_failed, 'area')} {verb} not audited")
    return f", but {', and '.join(parts)}" if parts else ""


@dataclass(frozen=True)
class NewFinding:
    """A finding that is new, or perhaps, and the new cells that its proofs use."""

    area: str
    sentence: str
    status: str
    because: tuple[str, ...]

    def reason(self) -> str:
        """The cells in words.

        >>> NewFinding("", "", "new", ("sex=f of table sex", "sex=m of table sex")).reason()
        'New because of sex=f of table sex, and sex=m of table sex.'
        """
        if not self.because:
            return "New."
        named = list(self.because[:MOST_CELLS])
        left = len(self.because) - MOST_CELLS
        *most, last = [*named, *([f"{several(left, 'more cell')}"] if left > 0 else [])]
        first = f"{', '.join(most)}, and " if most else ""
        return f"{self.status[:1].upper()}{self.status[1:]} because of {first}{last}."


def is_same_audit(following: Following, settings: Settings) -> bool:
    """Whether a run at hand tells what the earlier tables prove: there is one, and it decided the same."""
    if len(following.earlier) != 1:
        return False
    run = following.earlier[0].run
    mine = json.loads(json.dumps(asdict(settings)))
    same = ("scope", "effort", "seed", "findings")
    parameters = {"findings": True, **run.manifest["parameters"]}
    return all(parameters.get(name) == mine[name] for name in same) and _says_the_same(
        run.layout.schema, following.layout.schema
    )


def _says_the_same(earlier: Schema, whole: Schema) -> bool:
    """Whether the earlier schema allows the same records as the whole, as far as it names their attributes.

    An attribute without rules, of which no earlier table says anything, changes nothing.
    """
    known, values = ({a.name: {*a.values} for a in schema.attributes} for schema in (earlier, whole))
    return all(values.get(name) == mine for name, mine in known.items()) and {*earlier.rules} == {
        *whole.rules
    }


@dataclass
class _Known:
    """What is proved about one area by some tables."""

    verified: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    undecided: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    learnt: dict[str, list[tuple[int | None, frozenset[Any]]]] = field(
        default_factory=dict[str, list[tuple[int | None, frozenset[Any]]]]
    )
    decided: bool = True

    @classmethod
    def of(cls, claims: pa.Table, findings: pa.Table, *, decided: bool) -> _Known:
        found = cls(decided=decided)
        for row in claims.select(["selection", "multiplicity", "verdict"]).to_pylist():
            kept = {"verified": found.verified, "undecided": found.undecided}.get(row["verdict"])
            if kept is not None:
                kept.add((row["selection"], row["multiplicity"]))
        for row in findings.to_pylist():
            one = StoredFinding.of(row)
            m = None if one.kind == "group of unknown size" else one.multiplicity
            found.learnt.setdefault(one.knows.to_json(), []).append((m, frozenset(one.learns.terms)))
        return found

    def says(self, finding: StoredFinding) -> bool:
        """Whether all of a finding is proved."""
        knows, learns = finding.knows.to_json(), frozenset(finding.learns.terms)
        both, told = (finding.knows & finding.learns).to_json(), self.learnt.get(knows, [])
        if finding.kind == "group of unknown size":
            counts = {m for text, m in self.verified if text == knows}
            return any((both, m) in self.verified for m in counts) or any(learns <= all_ for _, all_ in told)
        m = finding.multiplicity
        ways = [way.to_json() for way in (finding.knows, *finding.other_ways) if way.terms]
        whole = (both, m) in self.verified or any(n == m and learns <= all_ for n, all_ in told)
        return whole and all((way, m) in self.verified for way in ways)

    def may_say(self, finding: StoredFinding) -> bool:
        """Whether it is undecided that all of a finding is proved."""
        return not self.decided or any(
            (text, finding.multiplicity) in self.undecided for text in _claims_of(finding)
        )


def _claims_of(finding: StoredFinding) -> list[str]:
    """The selections whose counts a finding is about."""
    both = finding.knows & finding.learns
    return [one.to_json() for one in (finding.knows, both, *finding.other_ways) if one.terms]


class _Earlier:
    """A run about earlier tables, asked area by area, in the order of the areas."""

    def __init__(self, run: AuditRun) -> None:
        self._readers = {name: AreaReader(run, name) for name in ("areas", "claims", "findings")}

    def area(self, name: str) -> _Known | None:
        """What is known about an area; None if the run is not about it."""
        areas = self._readers["areas"]
        while (found := areas.next_area()) is not None and found < name:
            self._take(found)
        return None if found != name else self._take(name)

    def _take(self, name: str) -> _Known:
        rows = {table: reader.take(name) for table, reader in self._readers.items()}
        decided = str(rows["areas"]["status"][0]) in ("decided", "partly decided")
        return _Known.of(rows["claims"], rows["findings"], decided=decided)


def compare_findings(run: AuditRun, baseline: AuditRun, earlier: Sequence[AuditRun]) -> Iterator[pa.Table]:
    """Area by area for every finding of a run whether it is new, and because of which cells.

    ``baseline`` is the audit of the earlier tables alone, ``earlier`` are the runs that published them.
    """
    n_earlier = n_earlier_cells(run)
    readers = {name: AreaReader(run, name) for name in ("areas", "findings", "proofs", "counts")}
    alone, others = _Earlier(baseline), [_Earlier(one) for one in earlier]
    while (area := readers["areas"].next_area()) is not None:
        rows = {name: reader.take(area) for name, reader in readers.items()}
        known, said = alone.area(area), [one.area(area) for one in others]
        findings = [StoredFinding.of(row) for row in rows["findings"].to_pylist()]
        cells = NewCells(run.layout, rows["counts"], rows["proofs"], n_earlier) if findings else None
        made = list[dict[str, Any]]()
        for at, finding in enumerate(findings):
            status, because = "new", tuple[str, ...]()
            if known is not None and known.says(finding):
                out = any(one is not None and one.says(finding) for one in said)
                status = "already out" if out else "already derivable"
            elif cells is not None:
                because = cells.of(finding, known)
                if not because or at < MOST_GROUNDED:
                    because = tuple(dict.fromkeys((*because, *cells.zeros(finding, known))))
                status = "perhaps new" if known is not None and known.may_say(finding) else "new"
            made.append(
                {
                    "area": area,
                    "finding": at,
                    "status": status,
                    "because": list(because),
                    "sentence": finding.sentence,
                }
            )
        yield pa.Table.from_pylist(made, COLUMNS)


class NewCells:
    """Names the new cells that the proofs of an area use."""

    def __init__(self, layout: Layout, counts: pa.Table, proofs: pa.Table, n_earlier: int) -> None:
        self._layout, self._counts, self._n_earlier = layout, counts, n_earlier
        self._proofs: dict[tuple[str, int], list[Proof]] = {}
        for row in proofs.to_pylist():
            proof = Proof.from_json(row["proof"])
            for text in row["claims"] or [Selection(proof.selection).to_json()]:
                self._proofs.setdefault((text, proof.multiplicity), []).append(proof)
        self._grounds: Grounds | None = None

    def of(self, finding: StoredFinding, known: _Known | None = None) -> tuple[str, ...]:
        """The new cells that the proofs of a finding add or subtract; of those not known before, if given."""
        return self._named(cell for proof in self._behind(finding, known) for cell in proof.cells)

    def zeros(self, finding: StoredFinding, known: _Known | None = None) -> tuple[str, ...]:
        """The new cells published as 0 that exclude record types in these proofs."""
        if self._grounds is None:
            self._grounds = Grounds(self._release())
        grounds = self._grounds
        found = (grounds.exclusions(proof).zeros for proof in self._behind(finding, known))
        return self._named(cell for zeros in found for cell in zeros)

    def _named(self, cells: Iterable[int]) -> tuple[str, ...]:
        names = (self._layout.names[at] for at in sorted({*cells}) if at >= self._n_earlier)
        return tuple(f"{cell} of table {table}" for table, cell in names)

    def _release(self) -> Release:
        (row,) = self._counts.to_pylist()
        return Release(self._layout, np.array(row["low"]), np.array(row["high"]), row["area"])

    def _behind(self, finding: StoredFinding, known: _Known | None) -> Iterator[Proof]:
        """The proofs of what a finding says and the earlier tables do not."""
        out = set[tuple[str, int]]() if known is None else known.verified
        if finding.kind != "group of unknown size":
            asked = [(text, finding.multiplicity) for text in _claims_of(finding)]
            yield from self._about(one for one in asked if one not in out)
            return
        nobody = list[tuple[str, int]]()
        for name, values in finding.learns.terms:
            others = [value for value in self._layout.schema[name].values if value not in values]
            nobody.append((Selection.of({**dict(finding.knows.terms), name: others}).to_json(), 0))
        yield from self._about([(finding.knows.to_json(), 1), *nobody])

    def _about(self, claims: Iterable[tuple[str, int]]) -> Iterator[Proof]:
        """The proofs of these claims; one that proves several is about each of them in turn."""
        for text, m in claims:
            for proof in self._proofs.get((text, m), ()):
                yield replace(proof, selection=Selection.from_json(text).terms)


def deriving(following: Following, settings: Settings, engine: Engine | None = None) -> PageMaker:
    """What writes into a run folder which of its findings are new, as :func:`run_audit` takes it.

    The earlier tables are audited on their own first, unless their run at hand did the same.
    """

    def derive(folder: Path) -> None:
        if is_same_audit(following, settings):
            write_after(folder, following, following.earlier[0].run)
            return
        alone = replace(settings, refuted=False, keep_going=True)
        with private_scratch() as scratch:
            before = run_audit(
                lambda _: following.areas_before(),
                following.before,
                scratch / "before",
                settings=alone,
                engine=engine,
            )
            write_after(folder, following, before)

    return derive


def write_after(folder: Path, following: Following, baseline: AuditRun) -> None:
    """Write into a run folder which of its findings are new: ``after.json`` and ``after.parquet``."""
    run = AuditRun(folder)
    write_json(folder / AFTER, {"earlier": following.to_plain()})
    counted = Counter[str]()
    with pq.ParquetWriter(folder / NEW_FINDINGS, COLUMNS, compression="gzip") as writer:
        for part in compare_findings(run, baseline, [one.run for one in following.earlier]):
            counted.update(str(status) for status in part["status"].to_pylist())
            if part.num_rows:
                writer.write_table(part)
    areas = count_areas(run)
    findings = {status: counted[status] for status in STATUSES}
    write_json(folder / AFTER, {"earlier": following.to_plain(), "findings": findings, **areas})


def count_areas(run: AuditRun) -> dict[str, int]:
    """The areas of a run, those without earlier tables, and those without new ones."""
    n_earlier, total = n_earlier_cells(run), Counter[str](areas=0, areas_new=0, areas_earlier=0)
    for part in run.batches("counts", rows=2**10):
        for row in part.to_pylist():
            low, high = np.array(row["low"]), np.array(row["high"])
            shown = (low > 0) | (high < UNBOUNDED)
            total["areas"] += 1
            total["areas_new"] += not shown[:n_earlier].any()
            total["areas_earlier"] += not shown[n_earlier:].any()
    return dict(total)


def read_after(run: AuditRun) -> AfterTotals | None:
    """What a run says about the tables before it; None if it is not about any."""
    path = run.folder / AFTER
    if not path.is_file():
        return None
    plain = read_json(path, error=RunError, remedy=DAMAGED)
    findings, numbers = plain.get("findings"), ("areas", "areas_new", "areas_earlier")
    if not isinstance(findings, dict) or set(findings) != set(STATUSES):
        raise RunError("the numbers of findings are missing", file=str(path), remedy=DAMAGED)
    if not all(_is_count(n) for n in (*findings.values(), *(plain.get(name) for name in numbers))):
        raise RunError("a number is missing", file=str(path), remedy=DAMAGED)
    earlier_tables(run)  # checks how they are listed
    names = tuple(one["name"] for one in plain["earlier"])
    return AfterTotals(names, dict(findings), *(plain[name] for name in numbers))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def new_findings(run: AuditRun) -> Iterator[NewFinding]:
    """The findings of a run that are new, or perhaps, area by area."""
    for part in read_rows(run.folder / NEW_FINDINGS, COLUMNS):
        for row in part.to_pylist():
            if row["status"] in ("new", "perhaps new"):
                yield NewFinding(row["area"], row["sentence"], row["status"], tuple(row["because"]))
