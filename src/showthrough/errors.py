"""What can go wrong, as one tree.

::

    ShowthroughError
    ├── InputError              something the caller handed over is unusable (exit code 2)
    │   ├── SchemaError         a schema, attribute, value, rule or selection
    │   ├── RecordsError        microdata
    │   ├── ReleaseError        tables, cells, published values
    │   └── RunError            a run folder
    ├── Contradiction           no dataset at all agrees with the release (exit code 2)
    ├── Undecided               the effort does not suffice to say anything (exit code 3)
    └── ProofError              a proof or witness does not hold

A disclosure is a result, not an error, and so is "undecided".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from numbers import Integral, Real
from types import NoneType

__all__ = [
    "Contradiction",
    "InputError",
    "ProofError",
    "RecordsError",
    "ReleaseError",
    "RunError",
    "SchemaError",
    "ShowthroughError",
    "Undecided",
    "brief",
    "check_each",
    "check_function",
    "check_type",
    "closest",
    "nearest",
    "shorten",
]

#: The longest parts of a message: a word or a path, a sentence about it, all of it.
_WORD, _SENTENCE, _MESSAGE = 200, 600, 4000

#: What some types are called in messages.
_PLAIN = {"Integral": "a whole number", "Real": "a number", "NoneType": "None"}

#: Kinds of numbers, optional ones too: True and False are none of them.
_NUMBERS = frozenset({Integral, Real, NoneType})

#: How much of a value that is no number is shown.
_FOUND = 60

#: How much of a name is compared with others.
_COMPARED = 200


class ShowthroughError(Exception):
    """Anything showthrough raises on purpose.

    Parameters
    ----------
    *args
        The message.
    """


class InputError(ShowthroughError):
    """Unusable input. The message names the place, the value found and the remedy.

    Parameters
    ----------
    problem
        What is wrong.
    file, row, column
        Where it is, as far as that is known; rows are counted from 1.
    found
        The value that is wrong.
    remedy
        What to do about it.

    Examples
    --------
    >>> print(InputError("negative count", file="counts.csv", row=3, column="value", found="-1",
    ...                  remedy="counts start at 0"))
    counts.csv, row 3, column value: negative count (found '-1'); counts start at 0
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        found: str | None = None,
        remedy: str | None = None,
    ) -> None:
        check_type(problem, str, name="problem")
        for name, part in (("file", file), ("column", column), ("found", found), ("remedy", remedy)):
            check_type(part, (str, NoneType), name=name)
        self.problem = problem
        self.file = file
        self.row = row
        self.column = column
        self.found = found
        self.remedy = remedy
        super().__init__(self._message())

    def _message(self) -> str:
        place = [
            part
            for part in (
                shorten(self.file, _WORD) if self.file else None,
                None if self.row is None else f"row {self.row}",
                None if self.column is None else f"column {shorten(self.column)}",
            )
            if part
        ]
        problem = brief(self.problem, _SENTENCE)
        text = f"{', '.join(place)}: {problem}" if place else problem
        if self.found is not None:
            text += f" (found {shorten(self.found)!r})"
        return f"{text}; {brief(self.remedy, _SENTENCE)}" if self.remedy else text

    def at(self, *, file: str | None = None, row: int | None = None, column: str | None = None) -> InputError:
        """The same error with the place filled in where it was not known before."""
        return type(self)(
            self.problem,
            file=self.file or file,
            row=self.row if self.row is not None else row,
            column=self.column or column,
            found=self.found,
            remedy=self.remedy,
        )


class SchemaError(InputError):
    """A schema, attribute, value, rule or selection is unusable.

    Parameters
    ----------
    problem, file, row, column, found, remedy
        As for :class:`InputError`.
    """


class RecordsError(InputError):
    """Microdata do not fit their schema.

    Parameters
    ----------
    problem, file, row, column, found, remedy
        As for :class:`InputError`.
    """


class ReleaseError(InputError):
    """Tables, cells or published values are unusable.

    Parameters
    ----------
    problem, file, row, column, found, remedy
        As for :class:`InputError`.
    """


class RunError(InputError):
    """A run folder is missing, incomplete or in the way.

    Parameters
    ----------
    problem, file, row, column, found, remedy
        As for :class:`InputError`.
    """


class Contradiction(ShowthroughError):
    """No dataset agrees with the release: from it anything would follow, so nothing is concluded.

    Parameters
    ----------
    cells
        The cells that cannot all be true, each as ``(table, cell, published)``.
    area
        The area that they are about.
    minimal
        Whether the conflict goes away as soon as any of the cells is left out.
    """

    def __init__(
        self, cells: Sequence[tuple[str, str, str]], *, area: str = "", minimal: bool = True
    ) -> None:
        check_each(cells, (tuple, list), name="cells", remedy="write [('sex', 'sex=f', '3')]")
        check_type(area, str, name="area")
        self.cells = tuple(cells)
        self.area = area
        self.minimal = minimal
        where = f"area {shorten(area)}: " if area else ""
        listed = "; ".join(
            f"{shorten(cell, _WORD)} of table {shorten(table, _WORD)} = {value}"
            for table, cell, value in self.cells
        )
        what = "these cells cannot all be true" if self.cells else "the rules leave no record type"
        super().__init__(
            f"{where}the release contradicts itself: {what}: {listed}; "
            "correct one of them (nothing was concluded from this release)"
        )

    def __reduce__(self) -> tuple[Callable[..., Contradiction], tuple[object, ...]]:
        # Raised in one process and caught in another, so it must survive pickling.
        return partial(type(self), area=self.area, minimal=self.minimal), (self.cells,)


class Undecided(ShowthroughError):
    """The effort does not suffice to decide anything about an area; the message gives the reason.

    Parameters
    ----------
    *args
        The message.
    """


class ProofError(ShowthroughError):
    """A proof, or a witness, does not hold; the message says where it fails.

    Parameters
    ----------
    *args
        The message.
    """


def check_type(value: object, kind: type | tuple[type, ...], *, name: str, remedy: str | None = None) -> None:
    """Raise an InputError if an argument of a public function has the wrong type.

    >>> check_type([1, 2], str, name="table", remedy="give a formula such as 'age*sex'")
    Traceback (most recent call last):
    showthrough.errors.InputError: table must be str, not list; give a formula such as 'age*sex'
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and _NUMBERS.issuperset(kinds)):
        names = [_PLAIN.get(one.__name__, one.__name__) for one in kinds]
        wanted = " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        found = f"{value!r}"[:_FOUND] if _NUMBERS.issuperset(kinds) else None  # others may be large
        raise InputError(f"{name} must be {wanted}, not {type(value).__name__}", found=found, remedy=remedy)


def check_each(
    values: object, kind: type | tuple[type, ...], *, name: str, remedy: str | None = None
) -> None:
    """Raise an InputError if an argument is not a sequence of things of some type.

    >>> check_each(["age", 3], str, name="columns", remedy="give names")
    Traceback (most recent call last):
    showthrough.errors.InputError: an entry of columns must be str, not int; give names
    """
    check_type(values, Iterable, name=name, remedy=remedy)
    if isinstance(values, str):
        raise InputError(f"{name} must be a list, not str", found=values, remedy=remedy)
    for value in values if isinstance(values, Sequence) else ():
        if not isinstance(value, kind):
            check_type(value, kind, name=f"an entry of {name}", remedy=remedy)


def check_function(value: object, *, name: str) -> None:
    """Raise an InputError if an optional argument is given but cannot be called.

    >>> check_function(print, name="progress")
    >>> check_function(3, name="progress")
    Traceback (most recent call last):
    showthrough.errors.InputError: progress must be a function or None, not int
    """
    if value is not None and not callable(value):
        raise InputError(f"{name} must be a function or None, not {type(value).__name__}")


def shorten(text: str, limit: int = 60) -> str:
    """Foreign text cut to a length that fits a message; its start and its end are kept.

    >>> shorten("a" * 40 + "b" * 40, 20)
    'aaaaaaaaaaaaa…bbbbbb'
    """
    if len(text) <= limit:
        return text
    end = (limit - 1) // 3
    return f"{text[: limit - 1 - end]}…{text[len(text) - end :]}"


def brief(text: str, limit: int = _MESSAGE, *, word: int = _WORD) -> str:
    """A message in which foreign names may stand: no word of it, nor all of it, is endless.

    >>> brief("no column " + "a" * 10_000 + " here") == f"no column {'a' * 133}…{'a' * 66} here"
    True
    """
    if len(text) <= min(word, limit):
        return text
    return shorten(re.sub(rf"\S{{{word + 1},}}", lambda found: shorten(found[0], word), text), limit)


def closest(word: str, known: Iterable[str]) -> str:
    """A remedy that names what the caller may have meant.

    >>> closest("tenur", ["tenure", "age"])
    "did you mean 'tenure'? known: 'tenure', 'age'"
    """
    names = list(known)
    listed = ", ".join(repr(shorten(name)) for name in names[:12])
    if len(names) > 12:
        listed += f" and {len(names) - 12} more"
    near = nearest(word, names)
    return f"known: {listed}" if near is None else f"did you mean {shorten(near)!r}? known: {listed}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The name most like a word, if any is; capitals matter only where both are there.

    >>> nearest("AGE", ["age", "race"]), nearest("zebra", ["age"])
    ('age', None)
    """
    import difflib  # for those who mistype only: it takes a while to load

    names = list(known)
    exact = {name[:_COMPARED]: name for name in reversed(names)}
    folded = {name.casefold()[:_COMPARED]: name for name in reversed(names)}
    for wanted, among in ((word, exact), (word.casefold(), folded)):
        found = difflib.get_close_matches(wanted[:_COMPARED], among, n=1)
        if found:
            return among[found[0]]
    return None
