"""The findings about a tiny case: each must hold in every dataset, and nothing that is learnt may lack."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import showthrough as st
from tiny_asked import Asked, Found
from tiny_cases import TinyCase


def check_findings(
    case: TinyCase, audit: st.Audit, asked: Asked, verified: NDArray[np.bool_], found: Found
) -> None:
    """Every finding holds in all datasets, and everything learnt about known groups is a finding."""
    exact: dict[int, list[tuple[set[int], int]]] = {}
    for finding in audit.findings:
        found.said[f"findings: {finding.kind}"] += 1
        if finding.kind == "group of unknown size":
            _check_group(case, finding, found)
            continue
        m, whole = finding.multiplicity, finding.knows & finding.learns
        ways = [one for one in (finding.knows, *finding.other_ways) if one.terms]
        for way in [*ways, whole]:
            both = way & whole
            if not all(_exactly(case, one, m) for one in (way, both)):
                found.false.append(f"{way}: {finding.sentence(case.schema)}")
        if finding.knows.terms:
            _check_news(case, finding, found)
            closed = _closed(case, case.plan.number(whole))
            exact.setdefault(m, []).append(({case.plan.number(way) for way in ways}, closed))
    _check_complete(case, asked, verified, exact, found)
    _count_groups(case, audit, found)


def _exactly(case: TinyCase, selection: st.Selection, m: int) -> bool:
    number = case.plan.number(selection)
    return case.least[number] == case.most[number] == m


def _check_news(case: TinyCase, finding: st.Finding, found: Found) -> None:
    """What is learnt must not be in the rules already."""
    closed = _closed(case, case.plan.number(finding.knows))
    for name, values in finding.learns.terms:
        if _has(case, closed, case.plan.number(st.Selection.of({name: values}))):
            found.false.append(f"the rules alone say {name}: {finding.sentence(case.schema)}")


def _closed(case: TinyCase, number: int) -> int:
    """The largest selection that the rules make the same: all values its types have in common."""
    mine = case.plan.codes[case.plan.masks[number]]
    same = (mine == mine[0]).all(axis=0) if len(mine) else np.zeros(len(case.plan.strides), bool)
    return int(((mine[0] + 1) * same) @ case.plan.strides) if len(mine) else number


def _has(case: TinyCase, number: int, part: int) -> bool:
    """Whether a selection has all values of another."""
    return {*case.plan.selections[number].terms} >= {*case.plan.selections[part].terms}


def _check_group(case: TinyCase, finding: st.Finding, found: Found) -> None:
    """Somebody is as known in every dataset, and nobody who is differs in what is learnt."""
    holds = case.least[case.plan.number(finding.knows)] >= finding.multiplicity == 1
    known = case.plan.masks[case.plan.number(finding.knows)]
    both = case.plan.masks[case.plan.number(finding.knows & finding.learns)]
    holds &= not case.counts[:, known & ~both].any() and not (case.free & known & ~both).any()
    if not holds:
        found.false.append(finding.sentence(case.schema))
    _check_news(case, finding, found)


def _check_complete(
    case: TinyCase,
    asked: Asked,
    verified: NDArray[np.bool_],
    exact: dict[int, list[tuple[set[int], int]]],
    found: Found,
) -> None:
    """Wherever as many match G as match G and C, some finding says that knowing G tells C.

    Not where the rules tell it, and not where single exact cells state every such claim about these
    records. A finding for G has a way within G; what it says is closed under the rules. Where columns
    are limited, a finding says as much as one claim can hold, so something is enough there.
    """
    direct, numbers = _stated(case), np.flatnonzero(verified).tolist()
    for small in numbers:
        m = int(case.least[small])
        same = [big for big in numbers if case.least[big] == m and big != small and _has(case, big, small)]
        if not same or all(direct[one] for one in (small, *same)):
            continue
        told = [whole for ways, whole in exact.get(m, []) if any(_has(case, small, way) for way in ways)]
        for news in _news(case, small, same):
            found.said["learnt"] += 1
            if not any(asked.max_columns or _has(case, whole, news) for whole in told):
                text = f"{case.plan.selections[small]} tells {case.plan.selections[news]} ({m} records)"
                found.missed.append(text)


def _news(case: TinyCase, small: int, same: list[int]) -> set[int]:
    """The single values that claims about the same records have, beyond the claim and the rules."""
    closed = set(case.plan.selections[_closed(case, small)].terms)
    terms = {term for big in same for term in case.plan.selections[big].terms}
    return {case.plan.number(st.Selection((term,))) for term in terms - closed}


def _count_groups(case: TinyCase, audit: st.Audit, found: Found) -> None:
    """How many groups of unknown size share a value, and how many a finding tells; no promise is made."""
    told = [finding for finding in audit.findings if finding.kind == "group of unknown size"]
    few = (case.plan.columns > 0) & (case.plan.columns <= 2) & (case.least > 0) & (case.least < case.most)
    for number in np.flatnonzero(few & case.plan.in_use).tolist():
        known = case.plan.masks[number]
        there = case.plan.codes[known & (case.counts.any(axis=0) | case.free)]
        rules = case.plan.codes[known]
        if ((there == there[0]).all(axis=0) & (rules != rules[0]).any(axis=0)).any():
            found.said["groups that share a value"] += 1
            ways = (case.plan.number(finding.knows) for finding in told)
            found.said["groups that share a value, told"] += any(_has(case, number, way) for way in ways)


def _stated(case: TinyCase) -> NDArray[np.bool_]:
    """Per selection whether an exact cell, that is no sum, counts just its types, given only the rules."""
    exact = (case.release.low == case.release.high) & (case.release.high > 0)
    exact[list(case.release.layout.sums)] = False
    stated = {row.tobytes() for row in case.plan.member[exact] > 0}
    return np.array([row.tobytes() in stated for row in case.plan.masks])
