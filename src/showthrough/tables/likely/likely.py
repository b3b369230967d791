"""What a release makes likely: claims and findings with their probabilities under a prior."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from showthrough.errors import InputError, check_type
from showthrough.export import Tabular
from showthrough.packing import pack
from showthrough.release import Release
from showthrough.schema import Schema
from showthrough.selection import Selection, SelectionLike
from showthrough.tables.claims import count_word
from showthrough.tables.likely.calibration import HIGH, Kind, said_of
from showthrough.tables.likely.candidates import Candidate, likely_claims, likely_findings
from showthrough.tables.likely.chains import ChainPlan
from showthrough.tables.likely.mixing import MOST_RHAT, Averages
from showthrough.tables.likely.posterior import Posterior, find_posterior
from showthrough.tables.likely.prior import Prior
from showthrough.tables.likely.without import baseline_of
from showthrough.text import percent

__all__ = [
    "COLUMNS",
    "Chances",
    "Likely",
    "Statement",
    "likely",
    "probability",
]

#: From this probability on a statement is kept, and up to this baseline it tells something.
LEAST, UNSURPRISING = 0.8, 0.5

#: The columns of ``likely.parquet``.
COLUMNS = pa.schema(
    [
        ("area", pa.string()),
        ("kind", pa.string()),
        ("given", pa.string()),
        ("selection", pa.string()),
        ("multiplicity", pa.int64()),
        ("q", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("ess", pa.float64()),
        ("rhat", pa.float64()),
        ("baseline", pa.float64()),
        ("sentence", pa.string()),
    ]
)


@dataclass(frozen=True)
class Statement:
    """Something that is likely, not proved.

    Attributes
    ----------
    kind
        A ``claim`` says how many records match; a ``finding`` says what whoever knows ``given`` about
        a record learns about it.
    given, selection
        What is known, and what is claimed or learnt.
    multiplicity
        The number of records that a claim is about; of a finding the expected number of records that
        match what is known, rounded.
    q
        The probability as it is said: under the prior, corrected where it was calibrated, capped
        where it was not.
    low, high
        The sampling error of q, nothing else: it does not cover errors of the prior.
    ess, rhat
        Effective number of draws (None where all datasets were listed), and R̂ between chains.
    baseline
        The same probability without the tables.
    """

    kind: Kind
    given: Selection
    selection: Selection
    multiplicity: int
    q: float
    low: float
    high: float
    ess: float | None
    rhat: float
    baseline: float

    @property
    def telling(self) -> bool:
        """Whether it is highly likely with the tables and not without them."""
        return self.q >= HIGH and self.baseline <= UNSURPRISING

    @property
    def surprise(self) -> float:
        """How far the tables moved the log-odds."""
        inside = np.clip([self.q, self.baseline], 1e-6, 1 - 1e-6)
        odds = np.log(inside) - np.log1p(-inside)
        return float(odds[0] - odds[1])

    def sentence(self, schema: Schema, prior: Prior) -> str:
        """In words, with the prior that it rests on."""
        before = f"{percent(self.baseline, 0)} without the tables"
        under = f"under the prior “{prior.name}”, {prior.standing}"
        chance = f"with probability {percent(self.q, 1)} {under} ({before})"
        learns = schema.describe(self.selection)
        if self.kind == "finding":
            known = schema.describe(self.given)
            return f"Likely, not proved: whoever knows that {known} learns that {learns}, {chance}."
        many = f"{count_word(self.multiplicity)} {schema.noun(self.multiplicity)}"
        return f"Likely, not proved: for exactly {many}, {learns}, {chance}."


@dataclass(frozen=True, eq=False)
class Likely(Tabular):
    """What the release of one area makes likely under a prior.

    Attributes
    ----------
    release
        The release.
    prior
        The prior.
    statements
        Claims and findings, the most surprising first. What follows from the tables is not among them:
        that is for an audit.
    n_records
        The number of records in the area.
    exact
        Whether all datasets that agree were listed; otherwise they were sampled.
    n_certain
        Statements that hold in every dataset, left out.
    n_withheld
        Statements that chains disagree on (R̂ above 1.05), left out.
    n_people, n_beyond
        The expected number of records that a telling finding is about, and of those among them that no
        certain finding is about.
    """

    release: Release = field(repr=False)
    prior: Prior
    statements: tuple[Statement, ...] = field(repr=False)
    n_records: int
    exact: bool
    n_certain: int = 0
    n_withheld: int = 0
    n_people: float = 0.0
    n_beyond: float = 0.0

    def of_kind(self, kind: Kind) -> tuple[Statement, ...]:
        """The statements of one kind."""
        return tuple(one for one in self.statements if one.kind == kind)

    @property
    def telling(self) -> tuple[Statement, ...]:
        """Statements of at least 90 % that were at most 50 % without the tables."""
        return tuple(one for one in self.statements if one.telling)

    def to_arrow(self) -> pa.Table:
        """One row per statement, as in ``likely.parquet``."""
        schema = self.release.schema
        rows = [
            {
                "area": self.release.area,
                "kind": one.kind,
                "given": _json(one.given),
                "selection": _json(one.selection),
                "multiplicity": one.multiplicity,
                "q": one.q,
                "low": one.low,
                "high": one.high,
                "ess": one.ess,
                "rhat": one.rhat,
                "baseline": one.baseline,
                "sentence": one.sentence(schema, self.prior),
            }
            for one in self.statements
        ]
        return pa.Table.from_pylist(rows, COLUMNS)


def _json(selection: Selection) -> str:
    """A selection of single values as a JSON object with sorted keys."""
    plain = {name: values[0] if len(values) == 1 else list(values) for name, values in selection.terms}
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)


def likely(
    release: Release,
    prior: Prior,
    *,
    least: float = LEAST,
    max_columns: int = 3,
    plan: ChainPlan | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> Likely:
    """What a release makes likely without proving it, with probabilities under a prior.

    Parameters
    ----------
    release
        The published tables of one area; the number of its records must follow from them.
    prior
        How likely record types are without the tables.
    least
        Statements of at least this probability are kept.
    max_columns
        The most columns of a statement.
    plan
        How many datasets are listed or drawn.
    effort
        A factor on all limits of work.
    seed
        The seed of the chains.

    Returns
    -------
    Likely
        Statements with probabilities, sampling errors and baselines.

    Raises
    ------
    Contradiction
        If no dataset agrees with the release.
    Undecided
        If the number of records does not follow from the tables.
    InputError
        If the prior is about other attributes or values.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "yes"}] * 30 + [{"sex": "m", "ill": "no"}] * 60, schema)
    >>> prior = st.fit_prior(people, name="a clinic", seed=1)
    >>> release = st.Release.of(schema, {"sex": [1, 2], "ill": [2, 1]})
    >>> found = st.likely(release, prior)
    >>> print(found.of_kind("finding")[0].sentence(schema, prior).replace("\\xa0", " "))
    ... # doctest: +ELLIPSIS
    Likely, not proved: whoever knows that ill is yes learns that sex is f, with probability 89 % under ...
    """
    _check(least, max_columns)
    posterior = find_posterior(release, prior, plan=plan, effort=effort, seed=seed)
    return statements_of(posterior, least=least, max_columns=max_columns)


def _check(least: object, max_columns: object) -> None:
    check_type(least, (int, float), name="least")
    check_type(max_columns, int, name="max_columns")
    if not 0.5 <= float(least) <= 1:  # type: ignore[arg-type]
        raise InputError("least must be a probability from 0.5 to 1", found=str(least))
    if int(max_columns) < 1:  # type: ignore[call-overload]
        raise InputError("max_columns must be at least 1", found=str(max_columns))


def statements_of(posterior: Posterior, *, least: float, max_columns: int) -> Likely:
    """Claims and findings that a posterior makes likely."""
    if not posterior.n_records:
        return Likely(posterior.release, posterior.prior, (), 0, posterior.exact)
    claims = _Sorted(posterior, "claim", least)
    claims.add(list(likely_claims(posterior, least=least, max_columns=max_columns)))
    findings = _Sorted(posterior, "finding", least)
    findings.add(list(likely_findings(posterior, least=least, max_known=max_columns - 1)))
    found = sorted(
        [*claims.statements, *findings.statements],
        key=lambda one: (-one.surprise, one.kind, str(one.given), str(one.selection)),
    )
    return Likely(
        posterior.release,
        posterior.prior,
        tuple(found),
        posterior.n_records,
        posterior.exact,
        claims.n_certain + findings.n_certain,
        claims.n_withheld + findings.n_withheld,
        *findings.n_people(),
    )


class _Sorted:
    """Candidates of one kind, sorted into statements, certainties and what is withheld."""

    def __init__(self, posterior: Posterior, kind: Kind, least: float) -> None:
        self.posterior, self.least = posterior, least
        self.kind: Kind = kind
        self.statements: list[Statement] = []
        self.n_certain = self.n_withheld = 0
        self.universe = posterior.decider.system.universe
        self.baseline = baseline_of(posterior.prior, posterior.release.layout)
        self._certain = np.zeros(len(self.universe), bool)
        self._telling = np.zeros(len(self.universe), bool)

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Sort candidates."""
        candidates = self._distinct(candidates)
        if not candidates:
            return
        given = self._masks([one.given for one in candidates])
        both = self._masks([(*one.given, *one.values) for one in candidates])
        counts = np.array([one.count for one in candidates], np.int64)
        if self.kind == "claim":
            found, asked, wanted = self.posterior.claims(both, counts), both, counts
        else:
            found = self.posterior.shares(given, both)
            asked, wanted = given & ~both, np.zeros_like(counts)
        certain = self.posterior.certain(found, asked, wanted)
        disagree = ~certain & ~(found.rhat <= MOST_RHAT)
        said = [
            said_of(numbers, self.posterior.prior.calibration, self.kind)
            for numbers in (found.mean, found.low, found.high)
        ]
        expected = self.posterior.expected(given)
        for at, one in enumerate(candidates):
            if certain[at]:
                self.n_certain += 1
                self._note_certain(one, given[at])
            elif found.mean[at] >= self.least:
                self.n_withheld += int(disagree[at])
                if not disagree[at]:
                    multiplicity = one.count or max(1, round(float(expected[at])))
                    self._say(
                        one, given[at], [float(numbers[at]) for numbers in said], found, at, multiplicity
                    )

    def _say(
        self, one: Candidate, given: NDArray[np.bool_], q: list[float], found: Averages, at: int, many: int
    ) -> None:
        known, claimed = self._selection(one.given), self._selection(one.values)
        if self.kind == "claim":
            before = self.baseline.claim(claimed, one.count, self.posterior.n_records)
        else:
            before = self.baseline.finding(known, claimed)
        ess = None if self.posterior.exact else float(found.ess[at])
        statement = Statement(
            self.kind, known, claimed, many, q[0], q[1], q[2], ess, float(found.rhat[at]), before
        )
        self.statements.append(statement)
        if statement.telling:
            self._telling |= given

    def _note_certain(self, one: Candidate, given: NDArray[np.bool_]) -> None:
        if self.kind == "finding" and not (self._certain[given]).all():
            known, learnt = self._selection(one.given), self._selection(one.values)
            if self.baseline.finding(known, learnt) <= UNSURPRISING:
                self._certain |= given

    def n_people(self) -> tuple[float, float]:
        """The expected number of records that telling findings are about; without those of certain ones."""
        masks = np.array([self._telling, self._telling & ~self._certain])
        people, beyond = self.posterior.expected(masks).tolist()
        return people, beyond

    def _distinct(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Of claims about the same types the one with the most columns; findings as they are."""
        if self.kind == "finding" or not candidates:
            return list(candidates)
        masks = pack(self._masks([one.values for one in candidates]))
        best: dict[tuple[bytes, int], Candidate] = {}
        for one, mask in zip(candidates, masks, strict=True):
            key = mask.tobytes(), one.count
            if key not in best or len(best[key].values) < len(one.values):
                best[key] = one
        return list(best.values())

    def _masks(self, values: Sequence[Sequence[tuple[int, int]]]) -> NDArray[np.bool_]:
        masks = np.ones((len(values), len(self.universe)), bool)
        for at, terms in enumerate(values):
            for column, code in terms:
                masks[at] &= self.universe.codes[:, column] == code
        return masks

    def _selection(self, values: Sequence[tuple[int, int]]) -> Selection:
        frame = self.universe.frame
        schema = frame.layout.schema
        return Selection.of({frame.names[at]: (schema[frame.names[at]].values[code],) for at, code in values})


@dataclass(frozen=True)
class Chances:
    """How likely each number of matching records is, under a prior.

    Attributes
    ----------
    selection
        Which records are counted.
    chances
        Number of records → (probability, low, high), where the probability is not negligible; low and
        high are its sampling error.
    rhat
        The largest R̂ of these; above 1.05 the chances are not to be relied on.
    exact
        Whether all datasets that agree were listed.
    baseline
        The expected share of matching records without the tables.
    prior
        The name of the prior, and whether it was calibrated.
    """

    selection: Selection
    chances: dict[int, tuple[float, float, float]]
    rhat: float
    exact: bool
    baseline: float
    prior: str

    @property
    def expected(self) -> float:
        """The expected number."""
        return sum(count * q for count, (q, _, _) in self.chances.items())

    @property
    def reliable(self) -> bool:
        """Whether chains agree."""
        return self.rhat <= MOST_RHAT

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        rows = [{"count": m, "q": q, "low": low, "high": high} for m, (q, low, high) in self.chances.items()]
        return {
            "selection": str(self.selection),
            "prior": self.prior,
            "chances": rows if self.reliable else [],
            "rhat": self.rhat if np.isfinite(self.rhat) else None,
            "withheld": not self.reliable,
            "exact": self.exact,
            "baseline_share": self.baseline,
        }


def probability(
    release: Release,
    selection: SelectionLike,
    prior: Prior,
    *,
    plan: ChainPlan | None = None,
    effort: float = 1.0,
    seed: int = 0,
) -> Chances:
    """How likely it is that 0, 1, 2, … records match a selection, given a release and a prior.

    The probabilities are those of the prior as it is, neither corrected nor capped.

    Parameters
    ----------
    release
        The published tables of one area; the number of its records must follow from them.
    selection
        Which records: text such as ``"tenure=rented,size=4"``, a mapping, or a :class:`Selection`.
    prior
        How likely record types are without the tables.
    plan
        How many datasets are listed or drawn.
    effort
        A factor on all limits of work.
    seed
        The seed of the chains.

    Returns
    -------
    Chances
        The distribution of the number.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> people = st.Records.of([{"sex": "f", "ill": "yes"}, {"sex": "m", "ill": "no"}], schema)
    >>> prior = st.fit_prior(people, model="uniform", name="uniform")
    >>> release = st.Release.of(schema, {"sex": [1, 1], "ill": [1, 1]})
    >>> {m: q for m, (q, _, _) in st.probability(release, "sex=f,ill=yes", prior).chances.items()}
    {0: 0.5, 1: 0.5}
    """
    posterior = find_posterior(release, prior, plan=plan, effort=effort, seed=seed)
    chosen = release.schema.check_selection(Selection.of(selection))
    _check_inside(chosen, posterior)
    mask = posterior.mask(chosen)
    counts = np.arange(posterior.n_records + 1)
    found = posterior.claims(np.broadcast_to(mask, (len(counts), len(mask))), counts)
    seen = found.mean > (1e-9 if posterior.exact else 1 / (found.ess + 1))
    chances = {
        int(m): (float(found.mean[m]), float(found.low[m]), float(found.high[m]))
        for m in np.flatnonzero(seen)
    }
    share = baseline_of(prior, release.layout).share(chosen)
    rhat = float(found.rhat[seen].max(initial=1.0))
    name = f"{prior.name} ({prior.standing})"
    return Chances(chosen, chances, rhat, posterior.exact, share, name)


def _check_inside(selection: Selection, posterior: Posterior) -> None:
    """Raise if a selection is about an attribute that no table and no rule is about."""
    names = posterior.decider.system.universe.frame.names
    for name in selection.attributes:
        if name not in names:
            raise InputError("no table and no rule is about this attribute", column=name)
