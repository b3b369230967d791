"""A cell of a table: what it counts, and what is published for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from showthrough.errors import ReleaseError
from showthrough.schema import Schema
from showthrough.selection import Selection, SelectionLike
from showthrough.tally import CellTerms, make_terms, only_selection, terms_as_text

__all__ = [
    "UNBOUNDED",
    "Cell",
    "Published",
    "describe_terms",
    "the_selection",
]

#: The upper end of an interval that has none.
UNBOUNDED = 2**62

#: Terms of a sum that are said one by one.
MOST_SAID = 4


@dataclass(frozen=True, init=False, repr=False)
class Cell:
    """A cell of a table.

    Parameters
    ----------
    name
        The cell's name, unique in its table.
    selection
        The records it counts.

    Attributes
    ----------
    terms
        What it counts, as pairs of a weight and a selection; one pair with weight 1 unless it is a sum.

    Examples
    --------
    >>> Cell("women", Selection.of(sex="f"))
    Cell(name='women', selection=Selection.parse('sex=f'))

    A cell may be a sum of selections, with whole-number weights:

    >>> Cell.sum("hands", [(2, "hands=two"), (1, "hands=one")])
    Cell.sum('hands', [(2, 'hands=two'), (1, 'hands=one')])
    """

    name: str
    terms: CellTerms

    def __init__(self, name: str, selection: Selection) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "terms", ((1, selection),))

    @classmethod
    def sum(cls, name: str, terms: Iterable[tuple[int, SelectionLike]]) -> Cell:
        """A cell that is a sum: a record counts as often as the weights of what it matches add up to.

        Parameters
        ----------
        name
            The cell's name.
        terms
            Weights, whole numbers from 1, and selections. Where selections overlap their weights add up.

        Raises
        ------
        ReleaseError
            If there are no terms, or a weight is not a whole number from 1 to 1,000.
        """
        return cls.of_terms(name, make_terms(terms, cell=name))

    @classmethod
    def of_terms(cls, name: str, terms: CellTerms) -> Cell:
        """A cell with terms as they are, for instance those of another cell."""
        made = cls(name, terms[0][1])
        object.__setattr__(made, "terms", terms)
        return made

    @property
    def is_sum(self) -> bool:
        """Whether it is more than one selection, or has a weight."""
        return only_selection(self.terms) is None

    @property
    def selection(self) -> Selection:
        """The records it counts; an error for a sum, which has :attr:`terms`."""
        return the_selection(self.terms, f"cell {self.name}")

    def __repr__(self) -> str:
        if self.is_sum:
            return f"Cell.sum({self.name!r}, {[(weight, str(one)) for weight, one in self.terms]})"
        return f"Cell(name={self.name!r}, selection={self.selection!r})"


@dataclass(frozen=True)
class Published:
    """A cell of a release with what is published for it.

    Parameters
    ----------
    table, name
        The table and the cell.
    terms
        What it counts: weights and selections.
    low, high
        The published bounds: low ≤ count ≤ high.
    """

    table: str
    name: str
    terms: CellTerms
    low: int
    high: int

    @property
    def is_sum(self) -> bool:
        """Whether it is more than one selection, or has a weight."""
        return only_selection(self.terms) is None

    @property
    def selection(self) -> Selection:
        """The records it counts; an error for a sum, which has :attr:`terms`."""
        return the_selection(self.terms, f"cell {self.name} of table {self.table}")

    @property
    def counted(self) -> str:
        """What it counts, as text: ``sex=f``, or ``sex=f + 2 × age=old`` for a sum."""
        return terms_as_text(self.terms)

    @property
    def exact(self) -> bool:
        """Whether the count itself is published."""
        return self.low == self.high

    def value(self) -> str:
        """The published value as text: ``3``, ``1-4``, ``>=100`` or ``unknown``."""
        if self.exact:
            return str(self.low)
        if self.high >= UNBOUNDED:
            return f">={self.low}" if self.low else "unknown"
        return f"{self.low}-{self.high}"


def the_selection(terms: CellTerms, what: str) -> Selection:
    """The one selection of a cell; an error for a sum."""
    found = only_selection(terms)
    if found is None:
        raise ReleaseError(
            f"{what} is a sum of selections, and this is for cells that are one selection each",
            found=terms_as_text(terms),
            remedy="make a cell of each of the selections",
        )
    return found


def describe_terms(schema: Schema, terms: CellTerms) -> str:
    """What a cell counts as a clause, that of a sum term by term.

    >>> schema = Schema.of({"sex": ["f", "m"], "age": ["young", "old"]})
    >>> print(describe_terms(schema, make_terms([(1, "sex=f"), (2, "age=old")])))
    (sex is f) + 2 × (age is old)
    """
    one = only_selection(terms)
    if one is not None:
        return schema.describe(one)
    said = [
        f"{'' if weight == 1 else f'{weight} × '}({schema.describe(selection) or 'everything'})"
        for weight, selection in terms[:MOST_SAID]
    ]
    more = len(terms) - len(said)
    return " + ".join([*said, f"{more:,} more terms"] if more else said)
