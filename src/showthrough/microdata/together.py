"""What two publications of the same people give away together.

Both show a value for everybody, drawn independently: somebody with value x shows y1 and y2 with probability
P1(y1|x) P2(y2|x). A reader who knew which row of the one belongs to which row of the other would multiply
both: from a prior f, the posterior of x is at most γ f/(γ f + 1 − f), where γ, the amplification of both
together, is the largest P1(y1|x) P2(y2|x)/(P1(y1|x′) P2(y2|x′)), for uniform perturbation γ1 γ2. Rows carry
no names and are shuffled, so readers match them by public values: for certain where somebody is alone with
them in both. A reader who cannot match rows knows less, and what less says is an average of what more would
say: the bound holds for them too.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, check_type
from showthrough.frames.columns import texts
from showthrough.microdata.channel import Channel
from showthrough.microdata.check_summary import CheckVerdict
from showthrough.microdata.manifest import Manifest
from showthrough.microdata.ordinal import ordinal_channel
from showthrough.microdata.promises import PromiseLike, RhoPrivacy, promise_to_plain, read_promise
from showthrough.microdata.publication import Publication
from showthrough.microdata.published import renumber
from showthrough.text import percent

__all__ = [
    "TogetherSummary",
    "check_together",
    "joint_amplification",
]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Amplifications up to this much over a limit still count as equal to it.
EQUAL = 1 + 1e-9


@dataclass(frozen=True)
class TogetherSummary:
    """How sure readers of two publications of the same people become."""

    promise: RhoPrivacy
    methods: tuple[str, str]
    #: How much likelier one value may make what each of them, and what both, show than another does.
    amplification: tuple[float, float]
    joint_amplification: float
    #: How sure each of them, and both, can make a reader of a value with the prior of the promise.
    posteriors: tuple[float, float]
    posterior: float
    records: int
    #: The public columns that both have, by which rows can be matched.
    shared: tuple[str, ...]
    #: People who are alone with their public values in both: at least and at most. Of those who are alone
    #: with the shared ones, how many show the same value twice.
    alone: int
    alone_most: int
    agreeing: int
    #: Whether either has public columns, so that shares among people with the same ones may be larger.
    has_public: bool

    HEADS: ClassVar[tuple[str, ...]] = ("publication", "method", "amplification", "posterior, at most")

    @property
    def is_kept(self) -> bool:
        """Whether even readers who could match all rows stay below the posterior of the promise."""
        return self.joint_amplification <= self.promise.amplification * EQUAL

    @property
    def verdict(self) -> CheckVerdict:
        """*holds* only if it is certain for any records, *violated* only if rows can be matched."""
        if self.is_kept:
            return "undecided" if self.has_public else "holds"
        return "violated" if self.alone else "undecided"

    @property
    def promised(self) -> str:
        """The promise as a sentence."""
        return (
            f"Promise: with both publications, no reader becomes more than {percent(self.promise.posterior)} "
            f"sure of a value that at most {percent(self.promise.prior)} of the records have."
        )

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        return (
            "A reader who matches the rows of both becomes up to "
            f"{percent(self.posterior, 1)} sure of such a value; one publication alone allows "
            f"{percent(max(self.posteriors), 1)}."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read it."""
        most = self.alone_most
        number = f"{most:,}" if self.alone == most else f"{self.alone:,} to {most:,}"
        found = "Nobody is alone with their public values in both, so no two rows surely belong together."
        if most:
            be = "is" if most == 1 else "are"
            found = (
                f"{number} of {self.records:,} people {be} alone with their public values in both: whoever "
                f"knows these can match their rows. Matched by {_columns(self.shared)}, {self.agreeing:,} "
                "show the same value twice."
            )
        if self.is_kept and self.has_public:
            return found, (
                "Among people with the same public values a value can be more frequent than among all: check "
                "each publication for that, with its records."
            )
        return (found,)

    def rows(self) -> list[tuple[str, ...]]:
        """As a table with heads."""
        each = zip(self.methods, self.amplification, self.posteriors, strict=True)
        lines = [(str(at), *_cells(*one)) for at, one in enumerate(each, 1)]
        return [self.HEADS, *lines, ("both", *_cells("", self.joint_amplification, self.posterior))]

    def to_plain(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "promise": promise_to_plain(self.promise),
            "verdict": self.verdict,
            "methods": list(self.methods),
            "amplification": list(self.amplification),
            "joint_amplification": self.joint_amplification,
            "posteriors": list(self.posteriors),
            "posterior": self.posterior,
            "records": self.records,
            "shared": list(self.shared),
            "alone": self.alone,
            "alone_most": self.alone_most,
            "agreeing": self.agreeing,
        }


def _columns(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "no column"


def _cells(method: str, amplification: float, sure: float) -> tuple[str, str, str]:
    return method, f"{amplification:,.4g}", f"{sure:.3f}"


def check_together(
    first: Publication | str | os.PathLike[str],
    second: Publication | str | os.PathLike[str],
    promise: PromiseLike,
) -> TogetherSummary:
    """Check what two publications of the same people give away together.

    Parameters
    ----------
    first, second : Publication or path
        Two publications of the same records, uniform or ordinal, with the same sensitive column and values.
    promise : RhoPrivacy or str
        For example ``"rho=0.1:0.5"``.

    Returns
    -------
    TogetherSummary
        How sure readers become who match the rows of both, who can be matched, and a verdict.

    Raises
    ------
    InputError
        If their sensitive columns, values or numbers of records do not fit together.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from showthrough.microdata.publish import publish
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("one", "two"):
    ...         _ = publish(people, f"{folder}/{name}", sensitive="ill", promise="rho=0.3:0.6")
    ...     found = check_together(f"{folder}/one", f"{folder}/two", "rho=0.3:0.6")
    >>> [round(sure, 2) for sure in (*found.posteriors, found.posterior)], found.verdict
    ([0.6, 0.6, 0.84], 'undecided')
    """
    promise = read_promise(promise, kind="rho")
    if not isinstance(promise, RhoPrivacy):
        raise InputError("two publications are checked for (ρ1, ρ2)-privacy", remedy="give rho=0.1:0.5")
    for name, given in (("first", first), ("second", second)):
        check_type(
            given, (Publication, str, os.PathLike), name=name, remedy="name the folder of a publication"
        )
    first, second = both = (_opened(first), _opened(second))
    _check_fit(both, promise)
    one, other = (_channel(publication.manifest) for publication in both)
    joint = joint_amplification(one, other)
    shared = tuple(
        name
        for name in first.manifest.public
        if name in second.manifest.public and _same_values(first.manifest, second.manifest, name)
    )
    by_shared, agreeing = _matched(both, shared)
    records, alone = first.manifest.records, [_alone(publication) for publication in both]
    return TogetherSummary(
        promise=promise,
        methods=(first.manifest.method, second.manifest.method),
        amplification=(one.amplification, other.amplification),
        joint_amplification=joint,
        posteriors=(
            _posterior(promise.prior, one.amplification),
            _posterior(promise.prior, other.amplification),
        ),
        posterior=_posterior(promise.prior, joint),
        records=records,
        shared=shared,
        alone=max(by_shared, sum(alone) - records),
        alone_most=max(by_shared, min(alone)),
        agreeing=agreeing,
        has_public=bool(first.manifest.public or second.manifest.public),
    )


def _opened(given: Publication | str | os.PathLike[str]) -> Publication:
    return given if isinstance(given, Publication) else Publication.open(given)


def joint_amplification(one: Channel, other: Channel) -> float:
    """The largest P1(y1|x) P2(y2|x)/(P1(y1|x′) P2(y2|x′)); both channels over the same values.

    >>> joint_amplification(Channel.uniform(0.5, 4), Channel.uniform(0.5, 4)).__round__(9)
    25.0
    """
    largest = 1.0
    with np.errstate(divide="ignore"):
        left, right = np.log(one.matrix), np.log(other.matrix)
    for shown in range(left.shape[1]):
        together = left[:, shown, None] + right
        largest = max(largest, float(np.exp((together.max(axis=0) - together.min(axis=0)).max())))
    return largest


def _posterior(share: float, amplification: float) -> float:
    if not np.isfinite(amplification):
        return 1.0
    return amplification * share / (amplification * share + 1 - share)


def _check_fit(both: tuple[Publication, Publication], promise: RhoPrivacy) -> None:
    first, second = (one.manifest for one in both)
    where = f"{both[0].folder}, {both[1].folder}"
    if Path(both[0].folder).resolve() == Path(both[1].folder).resolve():
        raise InputError("this is one publication twice", file=where, remedy="name two publications")
    if promise.known_totals:
        raise InputError(
            "two publications are not checked for readers who know the totals",
            file=where,
            remedy="leave out --known-totals",
        )
    for one in both:
        if one.manifest.method not in ("uniform", "ordinal") or len(one.manifest.tables) > 1:
            raise InputError(
                "what two publications give away together is known for uniform and ordinal ones with one "
                "retention only",
                file=str(one.folder),
                found=one.manifest.method,
                remedy="check each publication for itself; assume that together they give away everything",
            )
    if first.sensitive != second.sensitive:
        raise InputError(
            "the publications are about different sensitive columns",
            file=where,
            found=f"{', '.join(first.sensitive)}; {', '.join(second.sensitive)}",
            remedy="check two publications of the same sensitive column",
        )
    if set(first.domain) != set(second.domain):
        other = sorted(set(first.domain) ^ set(second.domain))[0]
        raise InputError(
            "the publications have different sensitive values",
            file=where,
            column=", ".join(first.sensitive),
            found=", ".join(other),
            remedy="check two publications with the same values, in the same bins",
        )
    if first.records != second.records:
        raise InputError(
            "the publications have different numbers of records, so they are not about the same people",
            file=where,
            found=f"{first.records:,}; {second.records:,}",
            remedy="check two publications of the same records",
        )


def _channel(said: Manifest) -> Channel:
    """The channel of a publication, over the values in the order of their texts."""
    (table,) = said.sub_tables
    channel = Channel.uniform(table.retention, table.n_values)
    if table.decay is not None and table.floor is not None:
        channel = ordinal_channel(table.n_values, table.decay, table.floor)
    order = sorted(range(len(said.domain)), key=lambda at: said.domain[at])
    place = np.argsort(table.values)[order]
    return Channel(channel.matrix[np.ix_(place, place)])


def _alone(publication: Publication) -> int:
    """How many people are alone with all their public values."""
    if not publication.manifest.public:
        return int(publication.manifest.records == 1)
    counted: Any = publication.counted(publication.manifest.public)
    return int((np.asarray(counted.columns[-1]) == 1).sum())


def _same_values(first: Manifest, second: Manifest, name: str) -> bool:
    """Whether both publish a column with the same values merged or in the same bins."""
    bins = [(one.bins or {}).get(name) for one in (first, second)]
    merged = [one.merged.get(name) for one in (first, second)]
    return bins[0] == bins[1] and merged[0] == merged[1]


def _matched(both: tuple[Publication, Publication], shared: tuple[str, ...]) -> tuple[int, int]:
    """How many people are alone with shared public values in both, and how many show the same value twice."""
    counted: list[Any] = [one.counted([*shared, *one.manifest.sensitive]) for one in both]
    numbers = [np.asarray(table.columns[-1], np.int64) for table in counted]
    if not shared:
        of = [np.zeros(len(number), np.int64) for number in numbers]
    else:
        joined = [
            pa.chunked_array([[*texts(counted[0].columns[at]), *texts(counted[1].columns[at])]], pa.string())
            for at in range(len(shared))
        ]
        group = renumber(joined)[0]
        of = [group[: len(numbers[0])], group[len(numbers[0]) :]]
    n_groups = max(int(part.max(initial=-1)) for part in of) + 1
    sizes = [np.bincount(part, number, n_groups) for part, number in zip(of, numbers, strict=True)]
    single = (sizes[0] == 1) & (sizes[1] == 1)
    shown = [
        _single_values(table, part, single, len(shared)) for table, part in zip(counted, of, strict=True)
    ]
    return int(single.sum()), sum(shown[0][at] == shown[1][at] for at in np.flatnonzero(single).tolist())


def _single_values(
    table: Any, group: Whole, single: NDArray[np.bool_], n_shared: int
) -> dict[int, tuple[str, ...]]:
    """The sensitive value, as text, that each group of one shows."""
    rows = np.flatnonzero(single[group])
    columns = [texts(column.take(rows)) for column in table.columns[n_shared:-1]]
    return dict(zip(group[rows].tolist(), zip(*columns, strict=True), strict=True))
