"""A comparison of methods: its numbers as tables, and what they show and do not show, in sentences.

Only methods that keep the same promise are rivals. All methods answer the same queries, run by run with the
same seeds, so two of them are compared by the differences of their errors in each run: Student's t-test of
paired differences, corrected for the number of pairs among the rivals (Bonferroni). What it does not tell
apart is a tie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import special

from showthrough.microdata.groups import Groups
from showthrough.microdata.methods import Setting, describe_method
from showthrough.microdata.queries import QueryPool
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.sampled import Sampled, check_design
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.microdata.utility import Utility
from showthrough.microdata.violations import Bound, ReconstructionCheck
from showthrough.text import percent, several

__all__ = [
    "LEVEL",
    "MOST_ANSWERS",
    "AnswerRow",
    "ErrorFinding",
    "ErrorRow",
    "Rival",
    "SettingRow",
    "ViolationRow",
    "answers_table",
    "errors_table",
    "find",
    "read_rows",
    "told_apart",
    "violations_table",
]

Measured = Sequence[tuple[Setting, Utility]]
Whole = NDArray[np.int64]

#: Queries whose answers are kept for each setting.
MOST_ANSWERS: Final = 600

Floats = NDArray[np.float64]

#: The confidence with which one method is said to have a smaller error than another.
LEVEL: Final = 0.95


@dataclass(frozen=True)
class SettingRow:
    """Which setting a row is about: a method, its promise, and the parameter that is varied."""

    method: str
    promise: str
    parameter: str | None
    value: float | None

    @property
    def series(self) -> str:
        """What the setting is called in a chart: its method, and its promise unless that is varied."""
        return self.method if self.parameter or self.promise == "–" else f"{self.method} ({self.promise})"


@dataclass(frozen=True)
class ErrorRow(SettingRow):
    """The mean relative error of a setting, for queries of at least one selectivity."""

    retention: float | None
    used: float
    selectivity: float
    queries: int
    runs: int
    error: float | None
    standard_error: float | None


@dataclass(frozen=True)
class AnswerRow(SettingRow):
    """One query: its true answer, and the estimate of a setting's first run."""

    truth: int
    estimate: float
    selectivity: float


@dataclass(frozen=True)
class ViolationRow(SettingRow):
    """How many groups and records of a setting violate reconstruction privacy, by one bound."""

    retention: float
    error: float
    chance: float
    bound: Bound
    groups: int
    group_rate: float
    records: int
    record_rate: float


_Row = TypeVar("_Row", bound=SettingRow)


def read_rows(kind: type[_Row], table: pa.Table) -> list[_Row]:
    """The rows of a table that was made from such rows."""
    return [kind(**row) for row in table.to_pylist()]


def errors_table(measured: Measured) -> pa.Table:
    """One row for each setting and selectivity."""
    return _table(ErrorRow, list(_error_rows(measured)))


def _error_rows(measured: Measured) -> Iterator[ErrorRow]:
    for setting, utility in measured:
        for at, share in enumerate(utility.selectivities):
            number = int(utility.queries[at])
            yield ErrorRow(
                **_named(setting),
                retention=utility.retention,
                used=utility.used,
                selectivity=share,
                queries=number,
                runs=len(utility.errors),
                error=float(utility.mean[at]) if number else None,
                standard_error=_known(float(utility.standard_error[at])) if number else None,
            )


def _known(number: float) -> float | None:
    return None if number != number else number


def answers_table(measured: Measured, pool: QueryPool, *, number: int = MOST_ANSWERS) -> pa.Table:
    """True answers and the estimates of each setting's first run, for the same queries.

    Of many different queries, ``number`` are taken at even steps from the smallest to the largest.

    >>> from showthrough.microdata.queries import crossed_queries
    >>> from showthrough.microdata.utility import measure_settings
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[600, 400], [800, 200]])
    >>> pool = crossed_queries(groups, seed=1, number=20)
    >>> measured = measure_settings([Setting(UniformPerturbation(0.5))], pool, seed=2, runs=2)
    >>> answers_table(measured, pool)["truth"].to_pylist()
    [200, 400, 600, 800]
    """
    chosen = _spread(pool, number)
    truth, share = pool.answers[chosen], pool.selectivity[chosen]
    parts = [_table(AnswerRow, [])]
    for setting, utility in measured:
        named = [pa.array([value] * len(chosen)) for value in _named(setting).values()]
        columns = [*named, pa.array(truth), pa.array(utility.estimates[chosen]), pa.array(share)]
        parts.append(pa.Table.from_arrays(columns, names=parts[0].column_names).cast(parts[0].schema))
    return pa.concat_tables(parts)


def _named(setting: Setting) -> dict[str, Any]:
    return {
        "method": setting.method.name,
        "promise": describe_method(setting.method),
        "parameter": setting.parameter,
        "value": setting.value,
    }


def _spread(pool: QueryPool, number: int) -> Whole:
    """Different queries at even steps of their true answers."""
    keys = pool.condition * (int(pool.value.max(initial=0)) + 1) + pool.value
    _, different = np.unique(keys, return_index=True)
    order = different[np.argsort(pool.answers[different], kind="stable")]
    if len(order) <= number:
        return order
    return order[np.rint(np.linspace(0, len(order) - 1, number)).astype(np.int64)]


def violations_table(found: Measured, groups: Groups, promise: ReconstructionPrivacy) -> pa.Table:
    """Which shares of the groups (v_g) and of the records (v_r) would violate the promise, by both bounds.

    That can be said of methods with one retention over all values, so of uniform and sampled ones. Along a
    swept error or chance the promise changes for all methods.

    >>> from showthrough.microdata.queries import crossed_queries
    >>> from showthrough.microdata.utility import measure_settings
    >>> groups = Groups.of({"sex": ["f", "m"]}, {"ill": ["no", "yes"]}, [[6, 6], [800, 200]])
    >>> pool = crossed_queries(groups, seed=1)
    >>> found = measure_settings([Setting(UniformPerturbation(0.5))], pool, seed=2, runs=1)
    >>> violations_table(found, groups, ReconstructionPrivacy(0.3, 0.3))["group_rate"].to_pylist()
    [0.5, 0.5]
    """
    rows = list[ViolationRow]()
    known: dict[tuple[Any, ...], ReconstructionCheck] = {}
    for setting, utility in found:
        if not isinstance(setting.method, UniformPerturbation | Sampled) or utility.retention is None:
            continue
        for value, asked in _asked(setting, found, promise):
            sampled = setting.method if isinstance(setting.method, Sampled) else None
            key = (sampled, utility.retention, asked)
            if key not in known:
                known[key] = _checked(groups, asked, utility.retention, sampled)
            rows += _violation_rows({**_named(setting), "value": value}, known[key], asked, utility.retention)
    return _table(ViolationRow, rows)


def _asked(
    setting: Setting, found: Measured, promise: ReconstructionPrivacy
) -> Iterator[tuple[float | None, ReconstructionPrivacy]]:
    """What is asked of a method, with the swept value it is asked at."""
    if setting.parameter not in ("error", "chance"):
        yield setting.value, promise
        return
    swept = {one.value for one, _ in found if one.parameter == setting.parameter and one.value is not None}
    for value in sorted(swept) if setting.value is None else [setting.value]:
        yield value, replace(promise, **{setting.parameter: value})


def _checked(
    groups: Groups, promise: ReconstructionPrivacy, retention: float, sampled: Sampled | None
) -> ReconstructionCheck:
    if sampled is None:
        return promise.check(groups, retention=retention)
    return check_design(groups, sampled.design(groups), promise)


def _violation_rows(
    named: dict[str, Any], found: ReconstructionCheck, promise: ReconstructionPrivacy, retention: float
) -> Iterator[ViolationRow]:
    bound: Bound
    for bound in get_args(Bound):
        violated = found.violated(bound)
        yield ViolationRow(
            **named,
            retention=retention,
            error=promise.error,
            chance=promise.chance,
            bound=bound,
            groups=int(violated.sum()),
            group_rate=found.group_rate(bound),
            records=int(found.sizes[violated].sum()),
            record_rate=found.record_rate(bound),
        )


_TYPES: Final = {"float": pa.float64(), "int": pa.int64(), "str": pa.string(), "Bound": pa.string()}


def _table(kind: type[SettingRow], rows: Sequence[SettingRow]) -> pa.Table:
    types = {field.name: _TYPES[str(field.type).removesuffix(" | None")] for field in fields(kind)}
    return pa.Table.from_pylist([vars(row) for row in rows], pa.schema(list(types.items())))


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
