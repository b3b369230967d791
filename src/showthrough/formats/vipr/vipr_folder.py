"""The proofs of a run as certificates: a folder of files that programs of other people check."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.engine.engine import check_workers, in_order
from showthrough.errors import ProofError, RunError, check_each, check_function, check_type, closest
from showthrough.files import file_digest
from showthrough.folders import MANIFEST, Description, result_folder
from showthrough.formats.vipr.certificates import Part, broken_rules, certify, parts_of, row_names
from showthrough.formats.vipr.vipr_file import read_certificate, write_certificate
from showthrough.release import Layout, Release
from showthrough.selection import Selection
from showthrough.tables.proof import Proof
from showthrough.tables.run.read import AreaReader, AuditRun, StoredFinding
from showthrough.tables.stored import DAMAGED, MALFORMED, PLACES
from showthrough.text import escape_control

__all__ = [
    "INDEX",
    "ROWS",
    "Exported",
    "export_vipr",
]

#: Which file proves what, and what the rows of the files are.
INDEX, ROWS = "index.csv", "rows.csv"

INDEX_COLUMNS = ("file", "area", "proves", "records")
ROW_COLUMNS = ("area", "row", "table", "cell", "published", "records")

#: Files of one folder, at most.
_FILES = 1000

_PROVES: dict[Part, str] = {"at_least": "at least {}", "at_most": "at most {}", "never": "never {}"}


@dataclass(frozen=True)
class Exported:
    """What was written.

    Parameters
    ----------
    folder
        Where it is.
    areas, files, claims
        How many areas have certificates, how many certificates there are, and how many statements
        about counts they prove.
    size, largest
        The size of all certificates together, and of the largest one, in bytes.
    """

    folder: Path
    areas: int = 0
    files: int = 0
    claims: int = 0
    size: int = 0
    largest: int = 0

    def to_plain(self) -> dict[str, object]:
        """As ``export --json`` prints it."""
        counted = {name: getattr(self, name) for name in ("areas", "files", "claims", "size", "largest")}
        return {"folder": str(self.folder), **counted}


@dataclass
class _File:
    """A certificate, and the selections about which it proves the same."""

    text: str
    proves: str
    claims: list[str]


@dataclass
class _AreaFiles:
    """The certificates of one area, and the rows that occur in them."""

    area: str
    files: list[_File] = field(default_factory=list[_File])
    rows: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])


def export_vipr(
    run: str | PathLike[str] | AuditRun,
    folder: str | PathLike[str],
    *,
    areas: Collection[str] | None = None,
    everything: bool = False,
    overwrite: bool = False,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Exported:
    """Write the proofs of a run as certificates in the VIPR format, for checkers that others wrote.

    Parameters
    ----------
    run
        A run folder, or the run in it.
    folder
        The folder to write: the certificates, ``index.csv``, which says what each of them proves, and
        ``rows.csv``, which says what their rows are.
    areas
        Only these areas; all of them if None.
    everything
        Whether to write the proofs of all verified claims, not only of those that findings rest on.
    overwrite
        Whether to replace certificates that are there already.
    workers
        How many processes work.
    progress
        Called with the number of areas that have been written since the last call.

    Returns
    -------
    Exported
        How much was written.

    Raises
    ------
    RunError
        If there is no finished run, an area is unknown, a proof does not hold, or the folder cannot
        be written.

    Examples
    --------
    >>> import showthrough as st
    >>> st.export_vipr("run/", "certificates/").files  # doctest: +SKIP
    4360
    """
    check_type(run, (str, PathLike, AuditRun), name="run", remedy="give the path of a run folder")
    check_type(folder, (str, PathLike), name="folder", remedy="give the path of the folder to write")
    if areas is not None:
        check_each(areas, str, name="areas", remedy="give the names of areas")
    check_workers(workers)
    check_function(progress, name="progress")
    opened = AuditRun.open(run.folder if isinstance(run, AuditRun) else Path(run))
    if opened.without_findings and not everything:
        raise RunError(
            "findings were not asked for in this run, so no proof is behind any",
            file=str(opened.folder),
            remedy="export the proofs of all verified claims (--all, everything=True)",
        )
    if opened.is_nested:
        raise RunError(
            "proofs about nested areas cannot be exported as certificates",
            file=str(opened.folder),
            remedy="check them with showthrough verify, or with python -m showthrough.tables.proof",
        )
    chosen = None if areas is None else _known_areas(opened, areas)
    parameters = {"areas": None if chosen is None else sorted(chosen), "everything": everything}
    manifest = opened.folder / MANIFEST
    what = Description("certificates", parameters, {str(manifest): file_digest(manifest)})
    with result_folder(folder, what, overwrite=overwrite) as draft:
        total, given = _Total(Path(folder), draft.path), _inputs(opened, chosen)
        first = list(islice(given, workers))
        # Processes take a while to start, for a run that is exported in no time.
        several = workers if len(first) == workers else 1
        work = partial(_certify_area, opened.layout, row_names(opened.layout.names), everything)
        with total:
            for one in in_order(work, chain(first, given), workers=several):
                total.add(one)
                if progress is not None:
                    progress(1)
        draft.facts.update(areas=total.areas, certificates=total.files, claims=total.claims)
    return total.exported()


def _known_areas(run: AuditRun, areas: Collection[str]) -> set[str]:
    known = dict.fromkeys(
        str(area) for part in run.batches("areas", ["area"]) for area in part["area"].to_pylist()
    )
    for area in areas:
        if area not in known:
            raise RunError(
                "the run has no such area", file=str(run.folder), found=area, remedy=closest(area, known)
            )
    return set(areas)


#: The rows of one area in the tables of a run.
_Input = tuple[str, dict[str, pa.Table]]


def _inputs(run: AuditRun, chosen: Collection[str] | None) -> Iterator[_Input]:
    readers = {name: AreaReader(run, name) for name in ("counts", "proofs", "findings")}
    while (area := readers["counts"].next_area()) is not None:
        tables = {name: reader.take(area) for name, reader in readers.items()}
        if chosen is None or area in chosen:
            yield area, tables
    for name, reader in readers.items():
        if (area := reader.next_area()) is not None:
            raise RunError(
                "there are rows about an area without counts",
                file=str(run.folder / PLACES[name]),
                found=area,
                remedy=DAMAGED,
            )


def _certify_area(layout: Layout, names: Sequence[str], everything: bool, given: _Input) -> _AreaFiles:
    area = given[0]
    try:
        return _certified(layout, names, everything, given)
    except (ProofError, *MALFORMED) as error:
        gist = str(error) if isinstance(error, ProofError) else f"{type(error).__name__}: {error}"
        raise RunError(
            f"area {area or '(the only one)'}: a proof cannot be exported: {' '.join(gist.split())}",
            file=PLACES["proofs"],
            remedy=DAMAGED,
        ) from None


def _certified(layout: Layout, names: Sequence[str], everything: bool, given: _Input) -> _AreaFiles:
    area, tables = given
    counts = tables["counts"].to_pylist()[0]
    release = Release(layout, np.array(counts["low"], np.int64), np.array(counts["high"], np.int64), area)
    wanted = None if everything else _needed(tables["findings"].to_pylist())
    found, used = _AreaFiles(area), set[str]()
    for row in tables["proofs"].to_pylist():
        proof = Proof.from_json(row["proof"])
        claims: list[str] = [c for c in row["claims"] if wanted is None or (c, proof.multiplicity) in wanted]
        if row["claims"] and not claims:
            continue
        for part in parts_of(proof):
            for file, rows in _files_of(proof, part, claims, release, names):
                found.files.append(file)
                used |= rows
    found.rows = _described(release, names, used)
    return found


def _needed(findings: Sequence[Mapping[str, Any]]) -> set[tuple[str, int]]:
    """The claims, with their counts, that findings rest on."""
    needed: set[tuple[str, int]] = set()
    for finding in map(StoredFinding.of, findings):
        for selection in (finding.knows, finding.knows & finding.learns, *finding.other_ways):
            needed.add((selection.to_json(), finding.multiplicity))
    return needed


def _files_of(
    proof: Proof, part: Part, claims: Sequence[str], release: Release, names: Sequence[str]
) -> Iterator[tuple[_File, set[str]]]:
    """One file for all claims, or one for each if their record types differ too much for that."""
    selections = [Selection.from_json(claim) for claim in claims] or [Selection(proof.selection)]
    try:
        yield _file_of(proof, part, selections, release, names)
    except ProofError:
        if len(selections) == 1:
            raise
        for selection in selections:
            yield _file_of(proof, part, [selection], release, names)


def _file_of(
    proof: Proof, part: Part, claims: Sequence[Selection], release: Release, names: Sequence[str]
) -> tuple[_File, set[str]]:
    proves = _PROVES[part].format(proof.multiplicity)
    comments = [
        _comment(f"area {release.area}: " if release.area else "", f"{proves}: {claims[0]}")
        + (f" (and {len(claims) - 1} more: see {INDEX})" if len(claims) > 1 else ""),
        _comment("kinds by ", ", ".join(proof.over)),
    ]
    certificate = certify(proof, part, [claim.terms for claim in claims], release, names, comments)
    text = write_certificate(certificate)
    if read_certificate(text) != certificate:
        raise AssertionError("a certificate is not read as it was written")
    rows = {row.name.partition("@")[0] for row in certificate.rows}
    return _File(text, proves, [str(claim) for claim in claims]), rows


def _comment(first: str, second: str) -> str:
    """A line for people, of plain characters, and not endless."""
    return (first + second)[:300].encode("ascii", "backslashreplace").decode().translate(_BLANKS)


#: Whatever could end a line, or be taken for something else, is a blank in a comment.
_BLANKS = dict.fromkeys((*range(32), 127), " ")


def _described(release: Release, names: Sequence[str], used: Collection[str]) -> list[tuple[str, ...]]:
    """What the rows are: the cell and its published value, or the rule."""
    cells = [
        (release.area, name, cell.table, cell.name, cell.value(), cell.counted)
        for cell, name in zip(release.cells, names, strict=True)
        if name in used
    ]
    rules = [
        (release.area, one.name, "", _rule_of(release, one.name), "0", str(Selection(one.terms)))
        for one in broken_rules(release.schema)
        if one.name in used
    ]
    return cells + rules


def _rule_of(release: Release, name: str) -> str:
    number = int(name.removeprefix("rule_").partition(".")[0])
    return str(release.schema.rules[number - 1])


class _Total:
    """Writes files and counts them."""

    def __init__(self, folder: Path, draft: Path) -> None:
        self._folder, self._draft, self._stack = folder, draft, ExitStack()
        self.areas = self.files = self.claims = self.size = self.largest = 0

    def __enter__(self) -> _Total:
        self._index = self._table(INDEX, INDEX_COLUMNS)
        self._rows = self._table(ROWS, ROW_COLUMNS)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _table(self, name: str, columns: Sequence[str]) -> Any:
        stream = self._stack.enter_context((self._draft / name).open("w", encoding="utf-8", newline=""))
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        return writer

    def add(self, area: _AreaFiles) -> None:
        """Write the certificates of an area."""
        self.areas += bool(area.files)
        for file in area.files:
            self.files += 1
            place = Path(f"{self.files // _FILES:04d}", f"{self.files:07d}.vipr")
            (self._draft / place.parent).mkdir(exist_ok=True)
            (self._draft / place).write_text(file.text, "ascii", newline="")
            self.claims += len(file.claims)
            self.size += len(file.text)
            self.largest = max(self.largest, len(file.text))
            for claim in file.claims:
                self._index.writerow(
                    [place.as_posix(), *map(escape_control, (area.area, file.proves, claim))]
                )
        for row in area.rows:
            self._rows.writerow(map(escape_control, row))

    def exported(self) -> Exported:
        """What was written."""
        return Exported(self._folder, self.areas, self.files, self.claims, self.size, self.largest)
