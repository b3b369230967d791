"""How likely each number of records is that match a selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from showthrough.errors import InputError
from showthrough.release import Release
from showthrough.selection import Selection, SelectionLike
from showthrough.tables.likely.chains import MOST_RHAT, ChainPlan
from showthrough.tables.likely.posterior import Posterior, find_posterior
from showthrough.tables.likely.prior import Prior
from showthrough.tables.likely.statement import baseline_of

__all__ = [
    "Chances",
    "probability",
]


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
        Multiplies all limits on work.
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
    counts = np.arange(posterior.most_records + 1)
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
    names = posterior.universe.frame.names
    for name in selection.attributes:
        if name not in names:
            raise InputError("no table and no rule is about this attribute", column=name)
