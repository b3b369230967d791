"""Checks a whole run folder: every proof, every witness, and that no claim lacks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from .checker import Checker, Proof
from .differ import Difference, n_different, n_settled
from .failure import ProofError
from .folder import Folder, Release, StoredRows, parse_dataset, parse_terms
from .nested import PART, NestChecker, PartChecker
from .tree import Terms
from .world import World

__all__ = [
    "CheckedRun",
    "check_run",
]

#: Problems that are told one by one; datasets, and selections, that are remembered.
MOST_TOLD, MOST_WORLDS, MOST_SELECTIONS = 1000, 4096, 2**16

#: A record, and how often it occurs.
Row = tuple[dict[str, str], int]

VERDICTS = ("verified", "impossible", "refuted", "undecided")


@dataclass(frozen=True)
class CheckedRun:
    """What was checked, and what does not hold.

    Attributes
    ----------
    areas, proofs, claims, witnesses
        How many of each were checked.
    problems
        The first of the things that do not hold, one sentence each.
    n_problems
        How many there are.
    """

    areas: int
    proofs: int
    claims: int
    witnesses: int
    problems: tuple[str, ...]
    n_problems: int

    @property
    def holds(self) -> bool:
        """Whether everything that was checked holds."""
        return not self.n_problems


class _Tally:
    """What has been checked so far."""

    def __init__(self) -> None:
        self.areas = self.proofs = self.claims = self.witnesses = self.n_problems = 0
        self.problems: list[str] = []

    def note(self, area: str, problem: str) -> None:
        """Note a problem."""
        self.n_problems += 1
        if len(self.problems) < MOST_TOLD:
            self.problems.append(f"area {area}: {problem}" if area else problem)

    def result(self) -> CheckedRun:
        return CheckedRun(
            self.areas, self.proofs, self.claims, self.witnesses, tuple(self.problems), self.n_problems
        )


def check_run(path: Path, progress: Callable[[int, int], None] | None = None) -> CheckedRun:
    """Check a run folder.

    Parameters
    ----------
    path
        The folder.
    progress
        Called after every area, with how many areas and proofs have been checked.

    Raises
    ------
    Unreadable
        If a file cannot be read.
    """
    folder, done = Folder(path), _Tally()
    for problem in folder.changed():
        done.note("", problem)
    tables = {name: folder.rows(name) for name in ("counts", "proofs", "claims", "witnesses")}
    terms_of = lru_cache(MOST_SELECTIONS)(partial(parse_terms, schema=folder.schema))
    wholes = folder.wholes()
    tables["variability"] = folder.variability()
    while tables["counts"].area is not None:
        pair = _Pair()
        for area, checker in _checkers(folder, tables["counts"], wholes, done):
            _Area(area, checker, terms_of, done).check(tables, pair)
            done.areas += 1
            if progress is not None:
                progress(done.areas, done.proofs)
        pair.finish(done)
    tables["wholes"] = wholes
    for name, rows in tables.items():
        if rows.area is not None:
            done.note(rows.area, f"rows about it in the table {name}, but no counts in their order")
    return done.result()


def _checkers(
    folder: Folder, counts: StoredRows, wholes: StoredRows, done: _Tally
) -> Iterator[tuple[str, Checker]]:
    """The next area with its checker, or all parts of the next area that has parts."""
    if wholes.area is None:
        area, release = _next(folder, counts, done)
        yield area, Checker(folder.schema, release)
        return
    name = wholes.area
    (parts, low, high), *more = wholes.take(name)
    if more:
        done.note(name, "has counts more than once")
    whole, found = folder.release(name, low, high), dict[str, Release]()
    while counts.area is not None and len(found) < len(parts):
        area, release = _next(folder, counts, done)
        found[area] = release
    if list(found) != list(parts):
        done.note(name, "its parts are not those whose counts follow")
    cells = {area: release.cells for area, release in found.items()}
    nest = NestChecker(folder.schema, whole.cells, cells)
    for area in found:
        yield area, nest.part(area)


def _next(folder: Folder, counts: StoredRows, done: _Tally) -> tuple[str, Release]:
    """The next area and what is published about it."""
    area = str(counts.area)
    first, *more = counts.take(area)
    if more:
        done.note(area, "has counts more than once")
    return area, folder.release(area, *first)


class _Pair:
    """The two datasets that differ most, of an area or of all its parts, each with its own records."""

    def __init__(self) -> None:
        self._rows: tuple[list[Row], list[Row]] = [], []
        self._part: PartChecker | None = None

    def add(self, checker: Checker, first: list[Row], second: list[Row]) -> None:
        """Take the records of an area, which are checked at once, or of a part."""
        if not isinstance(checker, PartChecker):
            checker.check_world(first)
            checker.check_world(second)
            return
        self._part = checker
        for known, rows in zip(self._rows, (first, second), strict=True):
            known.extend(({PART: checker.name, **record}, times) for record, times in rows)

    def finish(self, done: _Tally) -> None:
        """Check the records of all parts together."""
        part = self._part
        if part is None:
            return
        for rows in self._rows:
            try:
                part.check_world(rows)
            except ProofError as error:
                done.note(part.name, str(error))


class _Area:
    """One area while it is checked: what was proved and refuted so far."""

    def __init__(self, name: str, checker: Checker, terms_of: Callable[[str], Terms], done: _Tally) -> None:
        self.name, self.checker, self.terms_of, self.done = name, checker, terms_of, done
        self.proved: set[tuple[str, int, str]] = set()
        self.refuted: set[str] = set()
        self.worlds: dict[str, World] = {}

    def check(self, tables: dict[str, StoredRows], pair: _Pair) -> None:
        """Check the rows about it; datasets of parts are gathered in the pair."""
        for row in tables["proofs"].take(self.name):
            self.done.proofs += 1
            self._note_failure(self._check_proof, *row)
        for row in tables["witnesses"].take(self.name):
            self.done.witnesses += 1
            self._note_failure(self._check_witness, *row)
        for row in tables["claims"].take(self.name):
            self._check_claim(*row)
        for row in tables["variability"].take(self.name):
            self.done.proofs += 1
            self._note_failure(self._check_difference, pair, *row)

    def _note_failure(self, check: Callable[..., None], *row: Any) -> None:
        try:
            check(*row)
        except ProofError as error:
            self.done.note(self.name, str(error))
        except Exception as error:  # noqa: BLE001  (what cannot be checked does not hold, whatever it is)
            self.done.note(self.name, f"cannot be checked: {type(error).__name__}: {error}")

    def _check_proof(self, text: str, claims: list[str]) -> None:
        proof = Proof.from_json(text)
        self.checker.check_all(proof, [self.terms_of(claim) for claim in claims])
        if proof.at_least is not None and proof.at_most is not None:
            self.proved |= {(claim, proof.multiplicity, "verified") for claim in claims}
        if proof.never is not None:
            self.proved |= {(claim, proof.multiplicity, "impossible") for claim in claims}

    def _check_witness(self, selection: str, first: str, second: str) -> None:
        terms = self.terms_of(selection)
        if self._world(first).count(terms) == self._world(second).count(terms):
            raise ProofError(f"the witnesses agree on {selection}")
        self.refuted.add(selection)

    def _world(self, text: str) -> World:
        """A dataset that agrees with what is published; remembered, as most refute many claims."""
        if text not in self.worlds:
            if len(self.worlds) >= MOST_WORLDS:
                self.worlds.clear()
            self.worlds[text] = self.checker.check_world(parse_dataset(text))
        return self.worlds[text]

    def _check_difference(self, pair: _Pair, text: str, first: str, second: str) -> None:
        """No two datasets differ more than a proof allows, and two do differ."""
        proved = ((self.terms_of(s), m) for s, m, kind in self.proved if kind == "verified")
        proof = Difference.from_json(text)
        proof.check(self.checker, n_settled(proved, self.checker.open_attributes()))
        one, other = parse_dataset(first), parse_dataset(second)
        if n_different(one, other) > proof.most:
            raise ProofError("two datasets differ more than is proved to be the most")
        pair.add(self.checker, one, other)

    def _check_claim(self, selection: str, multiplicity: int, verdict: str) -> None:
        self.done.claims += verdict in ("verified", "impossible")
        if verdict not in VERDICTS:
            self.done.note(self.name, f"an unknown verdict on {selection}: {verdict}")
        elif verdict == "refuted" and selection not in self.refuted:
            self.done.note(self.name, f"no witnesses against {selection}")
        elif verdict in ("verified", "impossible") and (selection, multiplicity, verdict) not in self.proved:
            self.done.note(self.name, f"no proof for {selection} x{multiplicity}")
