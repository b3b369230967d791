"""Check a whole run again: every file, every proof, every witness, and that no claim lacks evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from showthrough.engine.engine import check_workers, in_order
from showthrough.errors import InputError, ProofError, RunError, check_function, check_type
from showthrough.files import file_digest, read_json
from showthrough.folders import MANIFEST, REPORT
from showthrough.release import Layout, Release
from showthrough.selection import Selection
from showthrough.tables.proof import Checker, Proof
from showthrough.tables.run.batch import Settings
from showthrough.tables.run.read import SUMMARY, AreaReader, AuditRun, add_up
from showthrough.tables.stored import DAMAGED, MALFORMED, PLACES

__all__ = [
    "Verification",
    "verify",
]

Tables = dict[str, pa.Table]

#: Rows that a process checks at a time, at least.
_PORTION = 2**12

#: Files that every run has, and lists with their hashes.
NEEDED = {place for name, place in PLACES.items() if name != "timing"} | {"release.json", SUMMARY}


@dataclass
class Verification:
    """What was checked again, and every problem found.

    Attributes
    ----------
    areas, proofs, claims, witnesses
        How many of each were checked.
    problems
        One sentence for everything that does not hold.
    """

    areas: int = 0
    proofs: int = 0
    claims: int = 0
    witnesses: int = 0
    problems: list[str] = field(default_factory=list[str])

    def add(self, other: Verification) -> None:
        """Take over what was checked elsewhere."""
        for name in ("areas", "proofs", "claims", "witnesses"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.problems += other.problems

    @property
    def holds(self) -> bool:
        """Whether everything holds."""
        return not self.problems

    def sentence(self) -> str:
        """How much was checked."""
        ones = {"areas": "area", "proofs": "proof", "claims": "claim", "witnesses": "witness"}
        counted = ((getattr(self, name), name) for name in ones)
        return f"Checked {', '.join(f'{n:,} {ones[name] if n == 1 else name}' for n, name in counted)}."

    def to_plain(self) -> dict[str, object]:
        """As ``verify --json`` prints it."""
        counted = {name: getattr(self, name) for name in ("areas", "proofs", "claims", "witnesses")}
        return {"holds": self.holds, **counted, "problems": self.problems}


def verify(
    folder: str | Path | AuditRun, *, workers: int = 1, progress: Callable[[int], None] | None = None
) -> Verification:
    """Check a run folder from scratch with a checker that shares no code with the search.

    Parameters
    ----------
    folder
        A run folder, or the run in it.
    workers
        How many processes work.
    progress
        Called with the number of areas that have been checked since the last call.

    Returns
    -------
    Verification
        What was checked; its ``problems`` are empty if everything holds.

    Raises
    ------
    RunError
        If there is no finished run in the folder.

    Examples
    --------
    >>> import showthrough as st
    >>> st.verify("run/").holds  # doctest: +SKIP
    True
    """
    check_type(folder, (str, PathLike, AuditRun), name="folder", remedy="give the path of a run folder")
    check_workers(workers)
    check_function(progress, name="progress")
    run = AuditRun.open(folder.folder if isinstance(folder, AuditRun) else folder)
    manifest, layout = run.manifest, run.layout
    done = Verification()
    done.problems += _changed_files(run.folder, manifest)
    done.problems += _invalid_entries(manifest)
    readers = {name: AreaReader(run, name) for name in ("counts", "claims", "proofs", "witnesses")}
    try:
        portions = _portions(readers)
        first = list(islice(portions, workers))
        # Processes take a while to start, for a run that is checked in no time.
        several = workers if len(first) == workers else 1
        for found in in_order(partial(_verify_areas, layout), chain(first, portions), workers=several):
            done.add(found)
            if progress is not None:
                progress(found.areas)
        for name, reader in readers.items():
            if (area := reader.next_area()) is not None:
                done.problems.append(f"{name}: unexpected rows about area {area}")
        done.problems += _other_figures(run)
    except RunError as error:
        done.problems.append(str(error))
    return done


def _changed_files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Which files are missing, changed since the run, or not listed."""
    listed: dict[str, str] = manifest["outputs"]
    own = NEEDED | {place for place in (REPORT, "schema.toml") if (folder / place).exists()}
    for place in sorted(own - set(listed)):
        yield f"{place}: not listed in {MANIFEST}"
    for place, expected in listed.items():
        path = folder / place
        if not path.is_file():
            yield f"{place}: missing"
            continue
        try:
            if file_digest(path) != expected:
                yield f"{place}: changed since the run"
        except OSError as error:
            yield f"{place}: {error.strerror or error}"
    if manifest.get("release") != listed.get("release.json"):
        yield f"release.json: not the release named in {MANIFEST}"


def _invalid_entries(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with what run.json says about how the run was done."""
    found, default = manifest["parameters"], asdict(Settings())
    scope = found.get("scope")
    known = isinstance(scope, dict) and set(scope) == set(default["scope"]) and set(found) == set(default)
    try:
        if not known:
            raise ValueError
        TypeAdapter(Settings).validate_json(json.dumps(found), strict=True)
    except (ValueError, InputError):
        yield f"{MANIFEST}: the parameters are invalid"
    if not {"python", "showthrough"} <= set(manifest["versions"]):
        yield f"{MANIFEST}: the versions are missing"
    if not isinstance(manifest.get("batch"), int):
        yield f"{MANIFEST}: the size of a batch is missing"


def _other_figures(run: AuditRun) -> Iterator[str]:
    """Whether the figures of summary.json differ from those of the tables."""
    known, added = run.summary, add_up(run)
    stored = read_json(run.folder / SUMMARY, error=RunError, remedy=DAMAGED)
    if known != added or stored != added.to_plain():
        yield f"{SUMMARY}: figures differ from those of the tables"


def _portions(readers: Mapping[str, AreaReader]) -> Iterator[list[tuple[str, Tables]]]:
    """The areas with their rows, some of them together."""
    held, n_rows = list[tuple[str, Tables]](), 0
    while (area := readers["counts"].next_area()) is not None:
        held.append((area, {name: reader.take(area) for name, reader in readers.items()}))
        n_rows += sum(table.num_rows for table in held[-1][1].values())
        if n_rows >= _PORTION:
            yield held
            held, n_rows = [], 0
    if held:
        yield held


def _verify_areas(layout: Layout, portion: Iterable[tuple[str, Tables]]) -> Verification:
    done = Verification()
    for area, tables in portion:
        try:
            _verify_area(area, tables, layout, done)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  (what cannot be checked does not hold, whatever it is)
            done.problems.append(f"{_place(area)}cannot be checked: {_gist(error)}")
        done.areas += 1
    return done


def _verify_area(area: str, tables: Tables, layout: Layout, done: Verification) -> None:
    counts = tables["counts"].to_pylist()[0]
    release = Release(layout, np.array(counts["low"]), np.array(counts["high"]), area)
    checker = Checker(layout.schema, release)
    proved: set[tuple[str, int, str]] = set()
    for row in tables["proofs"].to_pylist():
        done.proofs += 1
        try:
            proof = Proof.from_json(row["proof"])
            terms = [Selection.from_json(selection).terms for selection in row["claims"]]
            checker.check_all(proof, terms)
            proved |= {(selection, proof.multiplicity, _says(proof)) for selection in row["claims"]}
        except ProofError as error:
            done.problems.append(f"{_place(area)}{error}")
        except MALFORMED as error:
            done.problems.append(f"{_place(area)}a proof cannot be read: {_gist(error)}")
    for row in tables["claims"].to_pylist():
        if row["verdict"] in ("verified", "impossible"):
            done.claims += 1
            if (row["selection"], row["multiplicity"], row["verdict"]) not in proved:
                done.problems.append(f"{_place(area)}no proof for {row['selection']} x{row['multiplicity']}")
    _verify_witnesses(area, tables, checker, done)


def _says(proof: Proof) -> str:
    if proof.at_least is not None and proof.at_most is not None:
        return "verified"
    return "impossible" if proof.never is not None else "bound"


def _verify_witnesses(area: str, tables: Tables, checker: Checker, done: Verification) -> None:
    """Refuted claims: both datasets agree with the release, and they disagree on the claim."""
    refuted: set[str] = set()
    checked: set[str] = set()
    for row in tables["witnesses"].to_pylist():
        done.witnesses += 1
        try:
            counts: list[int] = []
            for side in ("first", "second"):
                records = [(record, int(n)) for record, n in json.loads(row[side])]
                if row[side] not in checked:
                    checker.check_world(records)
                    checked.add(row[side])
                selection = Selection.from_json(row["selection"])
                counts.append(sum(n for record, n in records if selection.matches(record)))
            if counts[0] == counts[1]:
                raise ProofError(f"the witnesses agree on {row['selection']}")
            refuted.add(row["selection"])
        except ProofError as error:
            done.problems.append(f"{_place(area)}{error}")
        except MALFORMED as error:
            done.problems.append(f"{_place(area)}a dataset cannot be read: {_gist(error)}")
    for row in tables["claims"].to_pylist():
        if row["verdict"] == "refuted" and row["selection"] not in refuted:
            done.problems.append(f"{_place(area)}no witnesses against {row['selection']}")


def _place(area: str) -> str:
    return f"area {area}: " if area else ""


def _gist(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
