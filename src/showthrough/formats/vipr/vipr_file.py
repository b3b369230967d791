"""VIPR, a format for proofs about integer programs that several programs of other people check.

A certificate lists variables, rows (linear constraints), and steps. Each step is a row with its reason:
an assumption, a sum of multiples of earlier rows, such a sum rounded, or two cases that lead to the
same row. The last step is absurd and depends on no assumption, so no whole numbers satisfy the rows.

This module writes such certificates, reads them (versions 1.0 and 1.1), and checks every step in exact
arithmetic. It knows nothing of counts or releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from showthrough.errors import ProofError

__all__ = [
    "Certificate",
    "DerivationStep",
    "Row",
    "check_certificate",
    "plain_name",
    "read_certificate",
    "write_certificate",
]

#: Variable or row → factor.
Terms = tuple[tuple[int, Fraction | int], ...]

Sense = Literal["E", "G", "L"]
Reason = Literal["asm", "lin", "rnd", "uns"]

#: Characters of a name that stay as they are; none of them means anything to a reader of the format.
_PLAIN = re.compile(r"[^A-Za-z0-9_.,=|*+:;/()<>-]")

#: Characters of a name, at most.
_LONGEST = 80

_NUMBER = re.compile(r"[+-]?[0-9]+(?:/[0-9]+|\.[0-9]+)?")


@dataclass(frozen=True)
class Row:
    """A linear constraint.

    Parameters
    ----------
    name
        Its name.
    sense
        ``G``: the sum is at least ``value``; ``L``: at most; ``E``: exactly.
    value
        The right side.
    terms
        Pairs of a variable and its factor.
    """

    name: str
    sense: Sense
    value: Fraction | int
    terms: Terms = ()

    @property
    def absurd(self) -> bool:
        """Whether it says something false of every number, such as 0 ≥ 1."""
        wrong = {"G": self.value > 0, "L": self.value < 0, "E": self.value != 0}
        return wrong[self.sense] and not any(factor for _, factor in self.terms)


@dataclass(frozen=True)
class DerivationStep:
    """A row that follows, and why: for ``uns`` the two results, each with the case it assumes."""

    row: Row
    reason: Reason
    uses: Terms = ()


@dataclass(frozen=True)
class Certificate:
    """An integer program that nothing satisfies, with the proof.

    Parameters
    ----------
    variables
        The names of the variables.
    whole
        The variables that are whole numbers, by position.
    rows
        The constraints; steps count on from there.
    steps
        The proof.
    n_bounds
        How many of the first rows bound a single variable.
    comments
        Lines about it for people.
    """

    variables: tuple[str, ...]
    whole: tuple[int, ...]
    rows: tuple[Row, ...]
    steps: tuple[DerivationStep, ...]
    n_bounds: int = 0
    comments: tuple[str, ...] = ()


def plain_name(text: str) -> str:
    r"""Any text as a name that the format allows: no spaces, nothing but plain characters, not endless.

    >>> plain_name("age=25-34,job=clerk or cook"), plain_name("größe\n")
    ('age=25-34,job=clerk_or_cook', 'gr~f6~~df~e~a~')
    """
    plain = _PLAIN.sub(lambda found: "_" if found[0] == " " else f"~{ord(found[0]):x}~", text)
    plain = plain or "_"
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 2] + ".."


def write_certificate(certificate: Certificate) -> str:
    """A certificate as text, in version 1.0 of the format.

    >>> half = Row("half", "E", 1, ((0, 2),))
    >>> cases = (DerivationStep(Row("low", "L", 0, ((0, 1),)), "asm"),
    ...          DerivationStep(Row("high", "G", 1, ((0, 1),)), "asm"),
    ...          DerivationStep(Row("a", "G", 1), "lin", ((0, 1), (1, -2))),
    ...          DerivationStep(Row("b", "G", 1), "lin", ((0, -1), (2, 2))),
    ...          DerivationStep(Row("end", "G", 1), "uns", ((3, 1), (4, 2))))
    >>> text = write_certificate(Certificate(("x",), (0,), (half,), cases))
    >>> check_certificate(read_certificate(text))
    >>> print(text)
    VER 1.0
    VAR 1
    x
    INT 1
    0
    OBJ min
    0
    CON 1 0
    half E 1 1 0 2
    RTP infeas
    SOL 0
    DER 5
    low L 0 1 0 1 { asm } -1
    high G 1 1 0 1 { asm } -1
    a G 1 0 { lin 2 0 1 1 -2 } -1
    b G 1 0 { lin 2 0 -1 2 2 } -1
    end G 1 0 { uns 3 1 4 2 } -1
    <BLANKLINE>
    """
    lines = [*(f"% {comment}" for comment in certificate.comments), "VER 1.0"]
    lines += [f"VAR {len(certificate.variables)}", *certificate.variables]
    lines += [f"INT {len(certificate.whole)}", " ".join(map(str, certificate.whole)), "OBJ min", "0"]
    lines += [f"CON {len(certificate.rows)} {certificate.n_bounds}", *map(_written, certificate.rows)]
    lines += ["RTP infeas", "SOL 0", f"DER {len(certificate.steps)}"]
    lines += [f"{_written(step.row)} {{ {_reason(step)} }} -1" for step in certificate.steps]
    return "\n".join(lines) + "\n"


def _written(row: Row) -> str:
    return " ".join([row.name, row.sense, str(row.value), str(len(row.terms)), *_pairs(row.terms)])


def _reason(step: DerivationStep) -> str:
    if step.reason == "asm":
        return "asm"
    counted = [] if step.reason == "uns" else [str(len(step.uses))]
    return " ".join([step.reason, *counted, *_pairs(step.uses)])


def _pairs(terms: Terms) -> Iterator[str]:
    return (f"{at} {factor}" for at, factor in terms)


def read_certificate(text: str) -> Certificate:
    """The certificate in a text; a :class:`ProofError` says what is wrong with its form.

    Only proofs that nothing satisfies the rows, complete in every step, are read.
    """
    lines = text.split("\n")
    comments = list[str]()
    while len(comments) < len(lines) and lines[len(comments)].startswith("%"):
        comments.append(lines[len(comments)])
    words = _Words("\n".join(lines[len(comments) :]).split())
    words.expect("VER")
    if (version := words.next()) not in ("1.0", "1.1"):
        raise ProofError(f"version {version} of the format is not known")
    words.expect("VAR")
    variables = tuple(words.next() for _ in range(words.count()))
    words.expect("INT")
    whole = tuple(words.index(len(variables)) for _ in range(words.count()))
    words.expect("OBJ")
    if (goal := words.next()) not in ("min", "max"):
        raise ProofError(f"the certificate says {goal!r} where it should say min or max")
    goal_terms = words.terms(len(variables))
    words.expect("CON")
    n_rows, n_bounds = words.count(), words.count()
    rows = tuple(words.row(len(variables), goal_terms) for _ in range(n_rows))
    for expected in ("RTP", "infeas", "SOL", "0", "DER"):
        words.expect(expected)
    steps = tuple(words.step(len(variables), n_rows + at, goal_terms) for at in range(words.count()))
    words.end()
    plain = tuple(comment.removeprefix("%").removeprefix(" ") for comment in comments)
    return Certificate(variables, whole, rows, steps, n_bounds, plain)


class _Words:
    """The words of a file, taken one after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words, self._at = words, 0

    def next(self) -> str:
        if self._at == len(self._words):
            raise ProofError("the certificate ends too early")
        self._at += 1
        return self._words[self._at - 1]

    def expect(self, word: str) -> None:
        if (found := self.next()) != word:
            raise ProofError(f"the certificate says {found!r} where it should say {word}")

    def end(self) -> None:
        if self._at != len(self._words):
            raise ProofError(f"the certificate goes on after its end: {self._words[self._at]!r}")

    def count(self) -> int:
        word = self.next()
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise ProofError(f"the certificate says {word!r} where it should say how many")
        return int(word)

    def index(self, below: int) -> int:
        if (found := self.count()) >= below:
            raise ProofError(f"the certificate refers to number {found}, there are {below} so far")
        return found

    def number(self) -> Fraction | int:
        word = self.next()
        try:
            value = Fraction(word) if _NUMBER.fullmatch(word) else None
        except ZeroDivisionError:
            value = None
        if value is None:
            raise ProofError(f"the certificate says {word!r} where it should have a number")
        return value.numerator if value.denominator == 1 else value

    def terms(self, below: int) -> Terms:
        found = tuple((self.index(below), self.number()) for _ in range(self.count()))
        if len({at for at, _ in found}) != len(found):
            raise ProofError("the certificate names something twice in one sum")
        return found

    def row(self, n_variables: int, goal: Terms) -> Row:
        name, sense, value = self.next(), self.next(), self.number()
        if sense not in ("E", "G", "L"):
            raise ProofError(f"the certificate says {sense!r} where it should say E, G or L")
        if self._words[self._at : self._at + 1] == ["OBJ"]:
            self.next()
            return Row(name, sense, value, goal)
        return Row(name, sense, value, self.terms(n_variables))

    def step(self, n_variables: int, position: int, goal: Terms) -> DerivationStep:
        row = self.row(n_variables, goal)
        self.expect("{")
        reason, uses = self.next(), Terms()
        if reason in ("lin", "rnd"):
            uses = self.terms(position)
        elif reason == "uns":
            uses = tuple((self.index(position), self.index(position)) for _ in range(2))
        elif reason != "asm":
            raise ProofError(f"a reason that is not known: {reason!r}")
        self.expect("}")
        if (last := self.number()) != -1 and not (isinstance(last, int) and last >= 0):
            raise ProofError(f"a step says {last} where it should say how long it is needed")
        return DerivationStep(row, reason, uses)


def check_certificate(certificate: Certificate) -> None:
    """Raise :class:`ProofError` unless every step follows and the last one is absurd for all."""
    known = list(certificate.rows)
    assumed: list[frozenset[int]] = [frozenset()] * len(known)
    whole = frozenset(certificate.whole)
    for step in certificate.steps:
        _check_indices(step, len(known), len(certificate.variables))
        if step.reason == "asm":
            rests = frozenset((len(known),))
        elif step.reason == "uns":
            rests = _check_cases(step, known, assumed, whole)
        else:
            _check_sum(step, known, whole)
            rests = frozenset[int]().union(*(assumed[at] for at, _ in step.uses))
        known.append(step.row)
        assumed.append(rests)
    if not certificate.steps or not known[-1].absurd:
        raise ProofError("the certificate does not end with a contradiction")
    if assumed[-1]:
        raise ProofError("the contradiction rests on an assumption")


def _check_indices(step: DerivationStep, n_known: int, n_variables: int) -> None:
    used = [at for at, _ in step.uses] + [int(at) for _, at in step.uses if step.reason == "uns"]
    if not all(0 <= at < n_known for at in used):
        raise ProofError(f"{step.row.name}: refers to a row that is not known yet")
    if not all(0 <= at < n_variables for at, _ in step.row.terms):
        raise ProofError(f"{step.row.name}: has a variable that does not exist")


def _check_sum(step: DerivationStep, known: Sequence[Row], whole: frozenset[int]) -> None:
    signs = {"G": 1, "L": -1, "E": 0}
    directions = {
        (u > 0) - (u < 0) if known[at].sense == "G" else (u < 0) - (u > 0)
        for at, u in step.uses
        if u and signs[known[at].sense]
    }
    if len(directions) > 1:
        raise ProofError(f"{step.row.name}: adds rows that point in opposite directions")
    total: Fraction | int = sum(u * known[at].value for at, u in step.uses)
    left: dict[int, Fraction | int] = {}
    for at, u in step.uses:
        for variable, factor in known[at].terms:
            left[variable] = left.get(variable, 0) + u * factor
    left = {variable: factor for variable, factor in left.items() if factor}
    sense: Sense = "E" if not directions else "G" if 1 in directions else "L"
    if step.reason == "rnd":
        if sense == "E" or not all(v in whole and factor == int(factor) for v, factor in left.items()):
            raise ProofError(f"{step.row.name}: the sum cannot be rounded")
        total = ceil(total) if sense == "G" else floor(total)
    if not _dominates(Row("", sense, total, tuple(left.items())), step.row):
        raise ProofError(f"{step.row.name}: does not follow from the sum of the rows")


def _check_cases(
    step: DerivationStep, known: Sequence[Row], assumed: Sequence[frozenset[int]], whole: frozenset[int]
) -> frozenset[int]:
    (first, case), (second, other) = [(at, int(assumption)) for at, assumption in step.uses]
    for at in (first, second):
        if not _dominates(known[at], step.row):
            raise ProofError(f"{step.row.name}: does not follow in one of the cases")
    below, above = sorted((known[case], known[other]), key=lambda row: row.sense, reverse=True)
    exact = all(v in whole and factor == int(factor) for v, factor in below.terms)
    if not (
        (below.sense, above.sense) == ("L", "G")
        and exact
        and below.value == int(below.value)
        and above.value == below.value + 1
        and _sum_of(below) == _sum_of(above)
    ):
        raise ProofError(f"{step.row.name}: the two cases leave something out")
    return (assumed[first] - {case}) | (assumed[second] - {other})


def _dominates(row: Row, other: Row) -> bool:
    """Whether the first row says at least as much as the second."""
    if row.absurd:
        return True
    if _sum_of(row) != _sum_of(other):
        return False
    if other.sense == "E":
        return row.sense == "E" and row.value == other.value
    if row.sense not in (other.sense, "E"):
        return False
    return row.value >= other.value if other.sense == "G" else row.value <= other.value


def _sum_of(row: Row) -> dict[int, Fraction | int]:
    return {variable: factor for variable, factor in row.terms if factor}
