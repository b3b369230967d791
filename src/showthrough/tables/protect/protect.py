"""Protecting releases: the cheapest moves after which nothing forbidden follows, with proof.

How they are found is told in :mod:`showthrough.tables.protect.plan_search`.

The guarantee is about all datasets that agree with what is published. It does not cover a reader
who knows the policy and asks which datasets would have led to exactly this plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral

from showthrough.errors import InputError, check_function, check_type
from showthrough.records import Records
from showthrough.release import Release, refuse_sums
from showthrough.tables.audit import check_release
from showthrough.tables.protect.area_search import AreaSearch
from showthrough.tables.protect.controlled_plan import RoundingToo
from showthrough.tables.protect.limits import Clock, Improvement
from showthrough.tables.protect.plan_search import PlanSearch
from showthrough.tables.protect.policy import Policy, PolicyLike
from showthrough.tables.protect.protection import Protection
from showthrough.tables.run.batch import Area

__all__ = [
    "protect",
    "protect_alike",
]


def protect(
    release: Release,
    policy: PolicyLike,
    *,
    moves: str | Sequence[str] = (),
    truth: Records | None = None,
    effort: float = 1.0,
    seed: int = 0,
    seconds: float | None = None,
    gap: float | None = None,
    watch: Callable[[Improvement], None] | None = None,
) -> Protection:
    """Find the cheapest moves after which nothing forbidden follows, and prove that they suffice.

    Parameters
    ----------
    release
        The tables about one area, as planned.
    policy
        What is forbidden, what may be changed and at which cost; or only the forbidden claims as
        the command line takes them, one (``"singletons,k>=5"``) or several.
    moves
        The kinds of moves, such as ``"suppress,round:5"``; without them, those of the policy.
    truth
        The records, if available: they spare the search for a first dataset.
    effort
        Multiplies all limits on work.
    seed
        The seed of the random walks.
    seconds
        Stop after this many seconds, with the best safe plan so far. The result then depends on the clock.
    gap
        Stop once a safe plan costs at most this share more than the lower bound; 0.05 is 5 %.
    watch
        Called with each :class:`Improvement` of the plan or of the bound.

    Returns
    -------
    Protection
        The plan, the safe release (:attr:`Protection.release`), and all claims before and after.

    Raises
    ------
    InputError
        If the policy names something that does not exist.
    Contradiction
        If no dataset agrees with the release.

    Examples
    --------
    >>> import showthrough as st
    >>> schema = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
    >>> release = st.Release.of(schema, {st.make_table(schema, "sex*ill"): [5, 1, 3, 2],
    ...                                  st.make_table(schema, "sex"): [6, 5]})
    >>> st.protect(release, "singletons", moves="suppress")
    Protection: safe, 2 moves at a cost of 2; no safe plan costs less (reported by a solver, not proved)
      suppress sex=f of sex
      suppress ill=yes,sex=f of sex*ill
    """
    check_release(release)
    policy = Policy.from_any(policy, moves=moves)
    return protect_alike(
        [Area(release, truth)], policy, effort=effort, seed=seed, seconds=seconds, gap=gap, watch=watch
    )


def protect_alike(
    areas: Iterable[Area],
    policy: PolicyLike,
    *,
    effort: float = 1.0,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    seconds: float | None = None,
    gap: float | None = None,
    watch: Callable[[Improvement], None] | None = None,
) -> Protection:
    """Protect several areas with the same moves in all of them; see :func:`protect`.

    Parameters
    ----------
    areas
        The areas, all with the same layout. Costs are added up over them.
    policy
        What is forbidden, what may be changed, and at which cost.
    effort, seed
        As for :func:`protect`.
    progress
        Called with 1 after each plan that was audited.
    seconds, gap, watch
        As for :func:`protect`.

    Returns
    -------
    Protection
        One plan for all areas.

    Raises
    ------
    InputError
        If there are no areas, or if they have different tables.
    """
    check_type(areas, Iterable, name="areas", remedy="write [Area(release, records)]")
    check_function(progress, name="progress")
    check_type(seed, Integral, name="seed")
    clock = Clock(seconds, gap, watch)
    listed, policy = list(areas), Policy.from_any(policy)
    if not listed:
        raise InputError("no areas given", remedy="give at least one area")
    for area in listed:
        check_type(area, Area, name="area", remedy="write Area(release, records)")
    layout = listed[0].release.layout
    if any(area.release.layout is not layout for area in listed):
        raise InputError(
            "the areas have different tables", remedy="protect each area on its own, with protect"
        )
    refuse_sums(layout, "protecting")
    policy.check(layout)

    def search(policy: Policy, clock: Clock, starts: Sequence[Release | None]) -> Protection:
        pairs = zip(listed, starts, strict=True)
        searches = [AreaSearch(area, policy, effort=effort, seed=seed, start=start) for area, start in pairs]
        return PlanSearch(searches, effort, progress, clock).run()

    if "controlled" in policy.change.kinds:
        return RoundingToo(listed, policy, search, clock, effort).run()
    return search(policy, clock, [None] * len(listed))
