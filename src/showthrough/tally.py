"""What a cell counts: one selection, or a sum of several, each with a whole-number weight.

Most cells count the records that match one selection. Some do not: "two or more races" is a sum of
disjoint selections, and "races tallied" counts a person once for every race. So a cell is a list of
*terms*, pairs of a weight and a selection, and a record counts in it as many times as the weights of
the terms that it matches add up to. A cell of one term with weight 1 is the usual one. Where terms
are disjoint and their weights are 1 a record still counts once or not at all; where they overlap, or
have other weights, it counts several times, and it counts that many times in every proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from showthrough.errors import ReleaseError
from showthrough.selection import Selection, SelectionLike

__all__ = [
    "MOST_WEIGHT",
    "CellTerms",
    "attributes_of",
    "make_terms",
    "only_selection",
    "terms_as_text",
    "times_counted",
]

#: The largest weight of a term.
MOST_WEIGHT = 1000

#: What a cell counts: weights and selections.
CellTerms = tuple[tuple[int, Selection], ...]


def make_terms(terms: Iterable[tuple[int, SelectionLike]], *, cell: str = "") -> CellTerms:
    """Terms in one form: every selection once, with its weights added up.

    >>> make_terms([(1, "sex=f"), (2, "age=old"), (1, "sex=f")])
    ((2, Selection.parse('sex=f')), (2, Selection.parse('age=old')))

    Raises
    ------
    ReleaseError
        If there are no terms, or a weight is not a whole number from 1 to 1,000.
    """
    found: dict[Selection, int] = {}
    for weight, selection in terms:
        one = Selection.of(selection)
        found[one] = found.get(one, 0) + _checked(weight, cell)
        _checked(found[one], cell)
    if not found:
        raise ReleaseError(f"{_named(cell)} counts nothing", remedy="give at least one condition")
    return tuple((weight, selection) for selection, weight in found.items())


def only_selection(terms: CellTerms) -> Selection | None:
    """The selection of a cell that is not a sum; None for a sum.

    >>> only_selection(make_terms([(1, "sex=f")])), only_selection(make_terms([(2, "sex=f")]))
    (Selection.parse('sex=f'), None)
    """
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else None


def times_counted(terms: CellTerms, record: Mapping[str, str]) -> int:
    """How many times a record, given as attribute → value, counts.

    >>> times_counted(make_terms([(1, "sex=f"), (2, "age=old")]), {"sex": "f", "age": "old"})
    3
    """
    return sum(weight for weight, selection in terms if selection.matches(record))


def attributes_of(terms: CellTerms) -> tuple[str, ...]:
    """The attributes that any of the terms restricts, sorted."""
    if len(terms) == 1:
        return terms[0][1].attributes
    return tuple(sorted({name for _, selection in terms for name in selection.attributes}))


def terms_as_text(terms: CellTerms) -> str:
    """The terms in one line.

    >>> print(terms_as_text(make_terms([(1, "sex=f"), (2, "age=old,sex=m")])))
    sex=f + 2 × (age=old,sex=m)
    """
    one = only_selection(terms)
    if one is not None:
        return str(one)
    return " + ".join(_term(weight, selection) for weight, selection in terms)


def _term(weight: int, selection: Selection) -> str:
    text = str(selection) or "everything"
    if weight == 1:
        return text
    return f"{weight} × ({text})" if len(selection) > 1 else f"{weight} × {text}"


def _checked(weight: object, cell: str) -> int:
    if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= MOST_WEIGHT:
        raise ReleaseError(
            f"a weight of {_named(cell)} is not a whole number from 1 to {MOST_WEIGHT:,}",
            found=str(weight),
            remedy="write how many times a record counts",
        )
    return weight


def _named(cell: str) -> str:
    return f"cell {cell}" if cell else "a cell"
