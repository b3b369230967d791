"""What a publication promises about each person: (ρ1, ρ2)-privacy, l-diversity, reconstruction privacy.

Each promise knows what it allows and checks true counts. Reconstruction privacy has a file of its own,
:mod:`showthrough.microdata.reconstruction_privacy`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from showthrough.errors import InputError, check_type
from showthrough.microdata.groups import Groups
from showthrough.microdata.parameters import as_counts, check_domain, check_retention, parse_pair
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy, largest_counts
from showthrough.microdata.violations import DiversityCheck, RhoCheck
from showthrough.text import percent

__all__ = [
    "LDiversity",
    "Promise",
    "PromiseKind",
    "PromiseLike",
    "RhoPrivacy",
    "describe_limits",
    "describe_promise",
    "posterior",
    "posterior_of_all_rows",
    "promise_kind",
    "promise_to_plain",
    "read_promise",
    "read_promises",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Shares this much over a limit still count as equal to it: 1/3 is no exact floating-point number.
_EQUAL = 1 + 1e-12

#: The ratio of neighbouring shares on the grid that retentions follow.
STEP = 1.05


@dataclass(frozen=True)
class RhoPrivacy:
    """No reader becomes surer than ``posterior`` of a value that at most a share ``prior`` of people has.

    This is (ρ1, ρ2)-privacy restricted to single values: ρ1 is the prior, ρ2 the posterior. *Of which*
    people depends on how records are published, and :func:`describe_promise` says it: readers see the
    public values too, so to them the prior is the share among the people with the same public values.
    Values that are more frequent than the prior are not protected.

    Parameters
    ----------
    prior : float
        The largest share that a protected value has, between 0 and ``posterior``.
    posterior : float
        The largest probability with which a reader may believe a protected value, below 1.
    known_totals : bool
        Make the promise even to a reader who knows exactly how many records have each value and combines all
        rows. This takes √γ in place of γ.
    sets : int or sequence of sequences of str
        Make the promise for sets of values too: for all sets of up to this many values, or for some that are
        named, as in ``[["judge", "mayor"]]``. By default it is about single values.

    Raises
    ------
    InputError
        If the two are not in this order.

    Examples
    --------
    >>> promise = RhoPrivacy(1 / 3, 2 / 3)
    >>> round(promise.amplification, 9), round(promise.retention(10), 4)
    (4.0, 0.2308)
    """

    prior: float
    posterior: float
    known_totals: bool = False
    sets: int | Sequence[Sequence[str]] = 1

    def __post_init__(self) -> None:
        for name, number in (("prior", self.prior), ("posterior", self.posterior)):
            check_type(number, Real, name=name, remedy="for example RhoPrivacy(0.1, 0.5)")
        check_type(self.known_totals, bool, name="known_totals", remedy="write True or False")
        object.__setattr__(self, "sets", _read_sets(self.sets))
        if not 0 < self.prior < self.posterior < 1:
            raise InputError(
                "the prior must be between 0 and the posterior, and the posterior below 1",
                found=f"{self.prior}:{self.posterior}",
                remedy="for example 0.1:0.5",
            )

    def __repr__(self) -> str:
        more = f", known_totals={self.known_totals}" if self.known_totals else ""
        more += f", sets={self.sets}" if self.sets != 1 else ""
        return f"RhoPrivacy(prior={self.prior}, posterior={self.posterior}{more})"

    @classmethod
    def parse(cls, text: str) -> RhoPrivacy:
        """From ``prior:posterior``, as numbers or fractions.

        >>> RhoPrivacy.parse("1/4:0.5")
        RhoPrivacy(prior=0.25, posterior=0.5)
        """
        return cls(*parse_pair(text, "a prior and a posterior", example="0.1:0.5"))

    @property
    def amplification(self) -> float:
        """γ, how much likelier one value may make a published value than another does (6).

        Its root if totals are known: two rows that swap their values change the likelihood by up to γ².
        """
        return float(self.amplification_at(self.prior))

    def amplification_at(self, largest: ArrayLike) -> Floats:
        """γ_i of tables in which no protected value has a larger share than ``largest`` (10).

        At most 1 where the share reaches the posterior, so that nothing could be published; infinite
        where the share is 0, because then there is nothing to protect (the end of equation 9).
        """
        share = np.asarray(largest, np.float64)
        with np.errstate(divide="ignore"):
            found = self.posterior * (1 - share) / (share * (1 - self.posterior))
        return np.sqrt(np.maximum(found, 0)) if self.known_totals else found

    def retention(self, n_values: int) -> float:
        """The largest retention that keeps the promise whatever the data are (4)."""
        return float(self.retention_at(self.prior, check_domain(n_values)))

    def retention_at(self, largest: ArrayLike, n_values: ArrayLike) -> Floats:
        """p_i = (γ_i − 1)/(m_i − 1 + γ_i), as 1/(1 + m_i/(γ_i − 1)) so that an infinite γ_i gives 1."""
        with np.errstate(divide="ignore"):
            return 1 / (1 + np.asarray(n_values, np.float64) / (self.amplification_at(largest) - 1))

    def for_frequency(self, largest: float) -> RhoPrivacy:
        """The promise a table needs whose most frequent protected value has this share (9)."""
        return replace(self, prior=largest)

    def rounded(self, share: ArrayLike, *, step: float = STEP) -> Floats:
        """Shares rounded up to a grid that everybody knows: the prior times the powers of ``step``.

        A retention is published. If it followed from a share as it is, the share could be calculated back
        from it, and so could the number of records with a value. A step of 1 leaves shares as they are.

        >>> RhoPrivacy(0.2, 0.5).rounded([0.2, 0.191, 0.19, 0]).round(4).tolist()
        [0.2, 0.2, 0.1905, 0.0]
        """
        given = np.asarray(share, np.float64)
        if step == 1:
            return given
        with np.errstate(divide="ignore"):
            power = np.ceil(np.log(given / self.prior) / np.log(step) - 1e-9)
        return np.where(given > 0, self.prior * step ** np.where(given > 0, power, 0), 0.0)

    def most_protected(self, totals: ArrayLike) -> float:
        """How many records a protected value, or a protected set of values, has at most."""
        return self.prior * float(np.asarray(totals, np.float64).sum()) * _EQUAL

    def protects(self, totals: ArrayLike) -> Flags:
        """Which values the promise is about (SA'): those that occur with a share up to the prior.

        >>> RhoPrivacy(0.2, 0.5).protects([7, 2, 1, 0]).tolist()
        [False, True, True, False]
        """
        counts = np.asarray(totals, np.float64)
        return (counts > 0) & (counts <= self.most_protected(counts))

    def check(
        self, tables: Groups | ArrayLike, *, retention: ArrayLike, n_values: ArrayLike | None = None
    ) -> RhoCheck:
        """Whether true counts, perturbed with ``retention``, keep the promise; each row is a sub-table.

        ``n_values`` is the size of the domain each row is perturbed over, by default the values that
        occur in it. A :class:`Groups` is one table over its whole domain. Which values are protected
        follows from all rows together.

        >>> RhoPrivacy(0.5, 0.6).check([[1, 1], [2, 2]], retention=[0.1, 0.3]).violated.tolist()
        [False, True]
        """
        if isinstance(tables, Groups):
            tables, n_values = tables.totals[None, :], len(tables.totals)
        check_retention(retention, whole=True)
        counts = as_counts(tables)
        sizes = counts.sum(axis=1)
        domain = np.asarray((counts > 0).sum(axis=1) if n_values is None else n_values)
        kept = np.broadcast_to(np.asarray(retention, np.float64), sizes.shape)
        protected = self.protects(counts.sum(axis=0))
        largest = counts[:, protected].max(axis=1, initial=0) / np.maximum(sizes, 1)
        # The posterior grows with the share, so the largest share decides.
        if self.known_totals:
            found = posterior_of_all_rows(largest, kept, n_values=domain)
        else:
            found = posterior(largest[:, None], kept[:, None], n_values=np.atleast_1d(domain)[:, None])[:, 0]
        return RhoCheck(sizes, kept, found, found > self.posterior * (1 + 1e-9), ~protected)


def _read_sets(given: object) -> int | tuple[tuple[str, ...], ...]:
    """A size of sets, or sets of named values."""
    remedy = "give a size such as 2, or sets of values such as [['judge', 'mayor']]"
    if isinstance(given, int) and not isinstance(given, bool):
        if given >= 1:
            return given
        raise InputError("a set has at least one value", found=str(given), remedy=remedy)
    check_type(given, Sequence, name="sets", remedy=remedy)
    found = list[tuple[str, ...]]()
    for one in given:  # pyright: ignore[reportGeneralTypeIssues]
        if isinstance(one, str) or not isinstance(one, Sequence) or not one:
            raise InputError("a protected set is a list of values", found=str(one), remedy=remedy)
        found.append(tuple(sorted({str(name) for name in one})))
    if not found:
        raise InputError("no set of values is named", remedy=remedy)
    return tuple(dict.fromkeys(found))


def posterior_of_all_rows(share: ArrayLike, retention: ArrayLike, *, n_values: ArrayLike) -> Floats:
    """How sure at most a reader becomes of a value who knows all totals and combines all rows.

    γ² f/(γ² f + 1 − f), with γ = 1 + p m/(1 − p) and the share f of the value: of the assignments of values
    to rows, each that gives one row the value turns into one that does not by a swap with another row, and
    that changes the likelihood by at most γ².

    >>> float(posterior_of_all_rows(0.5, 1 / 3, n_values=2))
    0.8
    """
    f, kept = np.asarray(share, np.float64), np.asarray(retention, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        fewer = ((1 - kept) / (1 - kept + kept * np.asarray(n_values, np.float64))) ** 2
    known = f + (1 - f) * fewer
    return np.divide(f, known, out=np.zeros_like(known), where=known > 0)


def posterior(frequencies: ArrayLike, retention: ArrayLike, *, n_values: ArrayLike | None = None) -> Floats:
    """How sure a reader can become of each value: the largest Pr[X = x | Y = y] over y, exactly.

    ``frequencies`` are the true shares, with one entry on the last axis for each of the ``n_values``
    values records are perturbed over.

    >>> posterior([0.5, 0.25, 0.25], 0.4).round(3).tolist()
    [0.75, 0.5, 0.5]
    """
    share = np.asarray(frequencies, np.float64)
    kept = np.asarray(retention, np.float64)
    stray = (1 - kept) / np.asarray(share.shape[-1] if n_values is None else n_values)
    # Bayes: Pr[x | y] = π_x P(x → y)/(p π_y + (1 − p)/m). For y = x it is at least π_x, because
    # p π_x + (1 − p)/m ≤ p + (1 − p)/m; for any other y at most π_x. So y = x is the largest.
    shown = kept * share + stray
    return np.divide(share * (kept + stray), shown, out=np.zeros_like(shown), where=shown > 0)


@dataclass(frozen=True)
class LDiversity:
    """No sensitive value has a larger share than 1/``l`` in any bucket.

    Parameters
    ----------
    l : int
        At least 2.

    Raises
    ------
    InputError
        If ``l`` is not a whole number from 2.

    Examples
    --------
    >>> LDiversity(3).check([[1, 1, 1], [2, 1, 1]]).violated.tolist()
    [False, True]
    """

    l: int  # noqa: E741 - the name the literature knows it by

    def __post_init__(self) -> None:
        check_type(self.l, Real, name="l", remedy="for example LDiversity(4)")
        if self.l < 2 or self.l != int(self.l):
            raise InputError(
                "l must be a whole number of at least 2", found=str(self.l), remedy="for example 4"
            )

    @classmethod
    def parse(cls, text: str) -> LDiversity:
        """From a whole number.

        >>> LDiversity.parse("4")
        LDiversity(l=4)
        """
        check_type(text, str, name="l", remedy="for example 4")
        try:
            return cls(int(text))
        except ValueError:
            raise InputError(
                "l must be a whole number of at least 2", found=text, remedy="for example 4"
            ) from None

    def check(self, tables: Groups | ArrayLike) -> DiversityCheck:
        """Which rows (groups, buckets, or one row for a whole table) are not diverse enough."""
        if isinstance(tables, Groups):
            sizes, largest = tables.sizes, largest_counts(tables)
        else:
            counts = as_counts(tables)
            sizes, largest = counts.sum(axis=1), counts.max(axis=1, initial=0)
        return DiversityCheck(sizes, largest, self.l * largest > sizes)


Promise = RhoPrivacy | ReconstructionPrivacy | LDiversity
PromiseKind = Literal["rho", "reconstruction", "diversity"]

#: A promise, or the text that the command line takes for it (a number for l-diversity).
PromiseLike = Promise | str | int

_KINDS: dict[PromiseKind, type[Promise]] = {
    "rho": RhoPrivacy,
    "reconstruction": ReconstructionPrivacy,
    "diversity": LDiversity,
}
_NAMED = re.compile(r"(?:--)?(rho|reconstruction|diversity)[\s=](.*)", re.S)


def read_promise(given: PromiseLike, *, kind: PromiseKind | None = None) -> Promise:
    """A promise, given as such or as text: ``rho=0.1:0.5``, ``reconstruction=0.3:0.3``, ``diversity=4``.

    The name may be left out where the ``kind`` is known.

    >>> read_promise("rho=0.1:0.5")
    RhoPrivacy(prior=0.1, posterior=0.5)
    >>> read_promise("0.3:0.3", kind="reconstruction")
    ReconstructionPrivacy(error=0.3, chance=0.3)
    """
    if isinstance(given, Promise):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return LDiversity(given)
    if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"a promise must be text or a promise, not {type(given).__name__}",
            remedy="for example rho=0.1:0.5",
        )
    named = _NAMED.fullmatch(given.strip())
    name, text = (named[1], named[2].strip()) if named else (kind, given)
    if name is None:
        raise InputError(
            "cannot tell which promise this is",
            found=given,
            remedy="write rho=0.1:0.5, reconstruction=0.3:0.3 or diversity=4",
        )
    return _KINDS[name].parse(text)  # pyright: ignore[reportArgumentType]


def read_promises(
    given: PromiseLike | Sequence[PromiseLike] | None, *, kind: PromiseKind | None = None
) -> list[Promise]:
    """No, one or several promises, each as :func:`read_promise` takes it."""
    if given is None:
        return []
    many = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return [read_promise(one, kind=kind) for one in many]


def promise_kind(promise: Promise) -> PromiseKind:
    """What a promise is called on the command line and in files."""
    return next(name for name, kind in _KINDS.items() if isinstance(promise, kind))


def promise_to_plain(promise: Promise) -> dict[str, Any]:
    """A promise as it is written to the results of a check.

    >>> promise_to_plain(LDiversity(4))
    {'kind': 'diversity', 'l': 4}
    """
    return {"kind": promise_kind(promise), **_given(promise)}


def _given(promise: Promise) -> dict[str, Any]:
    """The parameters of a promise, without those that have their usual value."""
    usual = {field.name: field.default for field in fields(promise)}
    return {name: value for name, value in asdict(promise).items() if usual[name] != value}


def describe_promise(
    promise: Promise, *, unit: str = "bucket", method: str | None = None, given: str | None = None
) -> str:
    """What is promised to whom, as half a sentence; ``unit`` is what a value may not fill.

    One retention for all records promises something about the people with the same public values. A
    ``partitioned`` publication promises it about all records, to readers who do not look at public
    values; ``given="public"`` promises the same to readers who do.

    >>> describe_promise(LDiversity(4), unit="group")
    'no value has more than 1/4 of a group'
    >>> print(describe_promise(RhoPrivacy(0.3, 0.6)).replace("\xa0", " "))
    no reader becomes more than 60 % sure of a single value that at most 30 % of the people with the same \
public values have
    >>> print(describe_promise(RhoPrivacy(0.3, 0.6), given="public").replace("\xa0", " "))
    no reader who sees the public values becomes more than 60 % sure of a single value that at most 30 % \
of the records have
    """
    match promise:
        case RhoPrivacy():
            reader, people = "reader", "the people with the same public values"
            if given == "public":
                reader, people = "reader who sees the public values", "the records"
            elif method == "partitioned":
                reader, people = "reader who does not look at the public values", "the records"
            if promise.known_totals:
                reader += ", even one who knows the exact totals,"
            return (
                f"no {reader} becomes more than {percent(promise.posterior)} sure of {_protected(promise)} "
                f"that at most {percent(promise.prior)} of {people} have"
            )
        case ReconstructionPrivacy():
            return (
                "a frequency estimated from a personal group (all records with the same public values) is "
                f"off by more than {percent(promise.error)} with a probability of at least "
                f"{percent(promise.chance)}"
            )
        case LDiversity():
            return f"no value has more than 1/{promise.l} of a {unit}"


def _protected(promise: RhoPrivacy) -> str:
    """What a promise is about, in words."""
    match promise.sets:
        case 1:
            return "a single value"
        case int() as size:
            return f"a value, or of any {size} values together,"
        case named:
            shown = [f"{{{', '.join(one)}}}" for one in named[:3]] + (["…"] if len(named) > 3 else [])
            return f"a value, or of one of the sets {', '.join(shown)}"


def describe_limits(promise: RhoPrivacy, method: str, *, kept: bool = True) -> str:
    """What a promise does not cover, as a sentence; empty if there is nothing to say.

    There is a limit to what all rows tell if the promise is ``kept`` for any records.

    One domain for all records covers sets of values too. If totals are known, the most that all rows together
    can say is γ² f/(γ² f + 1 − f) where one row says γ f/(γ f + 1 − f); with sub-tables that were drawn
    there is no such limit.

    >>> print(describe_limits(RhoPrivacy(0.1, 0.5), "uniform").replace("\xa0", " "))
    A reader who knows the exact totals and combines all rows can become surer, up to 90 %.
    """
    said = list[str]()
    if method == "partitioned" and promise.sets == 1:
        said.append(
            "A sub-table shows that a record has one of its values, so a reader can become surer of a "
            "set of values."
        )
    if not promise.known_totals:
        odds = promise.amplification * promise.posterior / (1 - promise.posterior)
        most = f", up to {percent(odds / (1 + odds))}" if kept and method in ("uniform", "ordinal") else ""
        said.append(f"A reader who knows the exact totals and combines all rows can become surer{most}.")
    return " ".join(said)
