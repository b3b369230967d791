"""What a comparison of methods shows, and what it does not: one source of sentences for terminal and page.

Only methods that keep the same promise are rivals. All methods answer the same queries, run by run with the
same seeds, so two of them are compared by the differences of their errors in each run: Student's t-test of
paired differences, corrected for the number of pairs among the rivals (Bonferroni). What it does not tell
apart is a tie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from showthrough.microdata.methods import Setting, describe_method
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import Utility
from showthrough.text import percent, several

__all__ = [
    "LEVEL",
    "ErrorFinding",
    "Rival",
    "find",
    "told_apart",
]

Floats = NDArray[np.float64]
Measured = Sequence[tuple[Setting, Utility]]

#: The confidence with which one method is said to have a smaller error than another.
LEVEL: Final = 0.95


@dataclass(frozen=True)
class ErrorFinding:
    """A sentence about all settings, or those along one swept parameter, for queries of one size."""

    parameter: str | None
    selectivity: float
    says: str

    def to_plain(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Rival:
    """A method with its error in each run, and what it promises."""

    name: str
    promise: str
    errors: Floats

    @property
    def error(self) -> float:
        """The mean over runs."""
        return float(self.errors.mean())

    def __str__(self) -> str:
        return f"{self.name} {percent(self.error, 2)}"


def find(measured: Measured, *, level: float = LEVEL) -> tuple[ErrorFinding, ...]:
    """What can be said of each size of queries, and along each swept parameter."""
    found = list[ErrorFinding]()
    parameters = dict.fromkeys(setting.parameter for setting, _ in measured)
    for parameter in parameters:
        mine = [(setting, utility) for setting, utility in measured if setting.parameter == parameter]
        for at, share in enumerate(mine[0][1].selectivities):
            says = "No query was large enough to be compared."
            if mine[0][1].queries[at]:
                counted = f"on queries that count at least {percent(share)} of the records"
                says = (_along if parameter else _side_by_side)(mine, at, counted, level)
            found.append(ErrorFinding(parameter, share, says))
    return tuple(found)


def told_apart(first: Floats, second: Floats, *, level: float = LEVEL, n_pairs: int = 1) -> bool:
    """Whether the errors of two methods in the same runs differ by more than chance, at a level.

    >>> first, second = np.array([0.33, 0.39, 0.30]), np.array([0.41, 0.34, 0.36])
    >>> told_apart(first, second), told_apart(first, first + [0.1, 0.11, 0.12])
    (False, True)
    """
    runs, differences = len(first), second - first
    if runs < 2:
        return False
    mean, error = abs(float(differences.mean())), float(differences.std(ddof=1) / np.sqrt(runs))
    return mean > float(special.stdtrit(runs - 1, 1 - (1 - level) / (2 * n_pairs))) * error


def _rivals(measured: Measured, at: int) -> list[list[Rival]]:
    """Methods that keep the same promise, together."""
    found: dict[str, list[Rival]] = {}
    for setting, utility in measured:
        promise = _promise(setting)
        found.setdefault(promise, []).append(Rival(setting.method.name, promise, utility.errors[:, at]))
    return list(found.values())


def _promise(setting: Setting) -> str:
    """What is promised, in symbols; where nothing is, the retention, so that nothing is its rival."""
    method: Any = setting.method
    if isinstance(method, UniformPerturbation) and method.promise is None:
        return f"no promise, retention {method.retention:.4g}"
    return describe_method(method if setting.asked is None else replace(method, promise=setting.asked))


def _best(rivals: Sequence[Rival], level: float) -> tuple[Rival, list[Rival], list[Rival]]:
    """The rival with the smallest error, those it is tied with, and those it is better than."""
    best = min(rivals, key=lambda one: one.error)
    pairs = len(rivals) * (len(rivals) - 1) // 2
    tied, worse = list[Rival](), list[Rival]()
    for one in rivals:
        if one is not best:
            apart = told_apart(best.errors, one.errors, level=level, n_pairs=pairs)
            (worse if apart else tied).append(one)
    return best, tied, worse


def _side_by_side(measured: Measured, at: int, counted: str, level: float) -> str:
    groups = _rivals(measured, at)
    alone = [one for rivals in groups if len(rivals) == 1 for one in rivals]
    says = [_ranked(rivals, counted, level) for rivals in groups if len(rivals) > 1]
    if says and alone:
        listed = _listed(f"{one} ({one.promise})" for one in alone)
        says.append(f"Not to be ranked with them, for another promise: {listed}.")
    elif len(alone) == 1:
        (one,) = alone
        error = percent(one.error, 2)
        says.append(f"{one.name} ({one.promise}) has a mean relative error of {error} {counted}.")
    elif alone:
        listed = _listed(f"{one} ({one.promise})" for one in alone)
        says.append(f"Each method makes another promise, so errors do not rank them: {listed}, {counted}.")
    return " ".join(says)


def _ranked(rivals: Sequence[Rival], counted: str, level: float) -> str:
    best, tied, worse = _best(rivals, level)
    sure = _sure(best.errors, level)
    if not worse:
        listed = _listed(map(str, sorted(rivals, key=lambda one: one.error)))
        return f"Under {best.promise} it is a tie {counted}: {listed} ({sure})."
    than = _listed(f"{one.name} with {percent(one.error, 2)}" for one in worse)
    ties = f"; tied with {_listed(map(str, tied))}" if tied else ""
    smallest = f"{best.name} has the smallest error {counted}: {percent(best.error, 2)}"
    return f"Under {best.promise}, {smallest}{ties}, less than {than} ({sure})."


def _along(measured: Measured, at: int, counted: str, level: float) -> str:
    """Along a sweep: at how many of its values each method is best, of those with the same promise."""
    parameter = measured[0][0].parameter
    values = sorted({setting.value for setting, _ in measured if setting.value is not None})
    outcomes = Counter[str]()
    for value in values:
        here = [(setting, utility) for setting, utility in measured if setting.value in (value, None)]
        for rivals in _rivals(here, at):
            if len(rivals) > 1:
                best, tied, _ = _best(rivals, level)
                outcomes["" if tied else best.name] += 1
    if not outcomes:
        return f"No two methods make the same promise along {parameter}: errors do not rank them, {counted}."
    settings = outcomes.total()
    says = [
        f"{name} has the smallest error at {number} of {settings} settings"
        for name, number in outcomes.most_common()
        if name
    ]
    if ties := outcomes[""]:
        says.append(f"{ties} of {several(settings, 'setting')} {'is a tie' if ties == 1 else 'are ties'}")
    sure = _sure(measured[0][1].errors, level)
    return f"{', and '.join(says)} along {parameter}, {counted} ({sure})."


def _sure(errors: Floats, level: float) -> str:
    runs = len(errors)
    if runs < 2:
        return "one run cannot tell methods apart"
    return f"{percent(level)} confidence, paired over {several(runs, 'run')}"


def _listed(names: Iterable[str]) -> str:
    """Names one after the other: a, b and c.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    some = list(names)
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"
