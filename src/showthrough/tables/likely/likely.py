"""What a release makes likely: claims and findings with their probabilities under a prior."""

from __future__ import annotations

from showthrough.errors import InputError, check_type
from showthrough.release import Release
from showthrough.tables.likely.candidates import likely_claims, likely_findings
from showthrough.tables.likely.chains import ChainPlan
from showthrough.tables.likely.posterior import Posterior, find_posterior
from showthrough.tables.likely.prior import Prior
from showthrough.tables.likely.sorting import Sorted
from showthrough.tables.likely.statement import LEAST, Likely

__all__ = [
    "likely",
    "statements_of",
]


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
        Multiplies all limits on work.
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
    claims = Sorted(posterior, "claim", least)
    claims.add(list(likely_claims(posterior, least=least, max_columns=max_columns)))
    findings = Sorted(posterior, "finding", least)
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
        claims.certain + findings.certain,
        claims.n_withheld + findings.n_withheld,
        *findings.n_people(),
    )
