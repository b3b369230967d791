"""What checks of promises find, as data: of records with a planned retention, of a finished publication."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from showthrough.frames.columns import texts
from showthrough.microdata.anatomy import kept_totals
from showthrough.microdata.check import CheckedGroups, check_diversity, check_reconstruction, check_rho
from showthrough.microdata.generalize import generalize
from showthrough.microdata.groups import Groups
from showthrough.microdata.method import free_name
from showthrough.microdata.promises import LDiversity, RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.violations import Bound, DiversityCheck

__all__ = [
    "CheckResult",
    "published_buckets",
    "published_groups",
    "published_tables",
    "raw_diversity",
    "raw_groups",
    "raw_rho",
]


@dataclass(frozen=True, eq=False)
class CheckResult:
    """What one check found: as plain facts, as an exit code, and group by group as tables for files."""

    facts: dict[str, Any]
    code: int
    tables: dict[str, pa.Table] = field(default_factory=dict[str, pa.Table])


def raw_groups(
    groups: Groups, promise: ReconstructionPrivacy, kept: float | None, *, worst: int, keep_values: bool
) -> CheckResult:
    """Which groups of records are reconstructed too well, with public values merged or as they are."""
    merged: dict[str, list[int]] = {}
    if not keep_values and groups.public.column_names:
        found = generalize(groups)
        merged = {name: list(pair) for name, pair in found.sizes.items() if pair[1] < pair[0]}
        groups = found.groups
    checked = CheckedGroups.of(groups, promise, retention=1.0 if kept is None else kept)
    return _groups(checked, {"method": None, "merged": merged}, worst=worst)


def published_groups(publication: Publication, promise: ReconstructionPrivacy, *, worst: int) -> CheckResult:
    """The same of a publication, where frequencies are estimated."""
    method = publication.manifest.method
    return _groups(check_reconstruction(publication, promise), {"method": method, "merged": {}}, worst=worst)


def _groups(checked: CheckedGroups, source: dict[str, Any], *, worst: int) -> CheckResult:
    found, promise = checked.found, checked.promise
    bounds: dict[str, Any] = {}
    bound: Bound
    for bound in get_args(Bound):
        violated = found.violated(bound)
        bounds[bound] = {
            "holds": found.holds(bound),
            "groups": int(violated.sum()),
            "group_rate": found.group_rate(bound),
            "records": int(found.sizes[violated].sum()),
            "record_rate": found.record_rate(bound),
        }
    facts = {
        "promise": {"kind": "reconstruction", "error": promise.error, "chance": promise.chance},
        **source,
        "retention": checked.retention,
        "n_values": checked.n_values,
        "groups": len(found.sizes),
        "records": int(found.sizes.sum()),
        "sampled": int(checked.trials.sum()),
        **bounds,
        "worst": _worst_rows(checked, number=worst),
    }
    code = 0 if found.holds("exact") and found.holds("chernoff") else 1
    return CheckResult(facts, code, {"groups": checked.table()})


def _worst_rows(checked: CheckedGroups, *, number: int) -> list[dict[str, Any]]:
    found, public = checked.found, checked.public
    # Groups over s_g are violators by either bound; the exact ones alone come after them.
    chosen = list(dict.fromkeys([*found.worst(number, bound="chernoff"), *found.worst(number)]))[:number]
    columns = {name: texts(public[name].take(pa.array(chosen, pa.int64()))) for name in public.column_names}
    return [
        {
            "group": {name: column[at] for name, column in columns.items()},
            "records": int(found.sizes[group]),
            "sampled": int(checked.trials[group]),
            "frequency": float(found.frequency[group]),
            "limit": float(found.chernoff_limit[group]),
            "exact_limit": int(found.exact_limit[group]),
        }
        for at, group in enumerate(chosen)
    ]


def raw_rho(groups: Groups, promise: RhoPrivacy, kept: float | None) -> CheckResult:
    """How sure a reader becomes of a protected value of records."""
    retention, m = 1.0 if kept is None else kept, len(groups.totals)
    found = promise.check(groups, retention=retention)
    protected = groups.totals[~found.unprotected]
    facts = {
        "promise": {"kind": "rho", "prior": promise.prior, "posterior": promise.posterior},
        "method": None,
        "retention": retention,
        "n_values": m,
        "largest_retention": promise.retention(m),
        "protected_values": len(protected),
        "largest_share": float(protected.max(initial=0) / groups.records),
        "posterior": float(found.posterior[0]),
        "holds": found.holds,
    }
    return CheckResult(facts, 0 if found.holds else 1)


def published_tables(publication: Publication, promise: RhoPrivacy) -> CheckResult:
    """The same of a publication, sub-table by sub-table, where shares are estimated."""
    found = check_rho(publication, promise)
    rows = [
        {
            "retention": float(found.retention[at]),
            "n_values": int(found.n_values[at]),
            "posterior": float(found.posterior[at]),
            "low": float(found.low[at]),
            "high": float(found.high[at]),
        }
        for at in range(len(found.retention))
    ]
    facts = {
        "promise": {"kind": "rho", "prior": promise.prior, "posterior": promise.posterior},
        "method": publication.manifest.method,
        "verdict": found.verdict,
        "tables": rows,
    }
    return CheckResult(facts, {"holds": 0, "violated": 1, "undecided": 3}[found.verdict])


def raw_diversity(groups: Groups, promise: LDiversity) -> CheckResult:
    """Which groups of records have a value that is too frequent, and what an anatomy would leave out."""
    n_values = int((groups.totals > 0).sum())
    left_out = groups.records
    if n_values >= promise.l:
        left_out = int((groups.totals - kept_totals(groups.totals, promise)).sum())
    more = {"n_values": n_values, "left_out_by_anatomy": left_out}
    return _diverse(promise.check(groups), promise, groups.public, {"method": None, **more}, what="groups")


def published_buckets(publication: Publication, promise: LDiversity) -> CheckResult:
    """Which buckets of an anatomy have a value that is too frequent."""
    found = check_diversity(publication, promise)
    numbers = pa.array(np.arange(1, len(found.sizes) + 1))
    bucket = pa.Table.from_arrays([numbers], names=[str(publication.manifest.label)])
    return _diverse(found, promise, bucket, {"method": "anatomy"}, what="buckets")


def _diverse(
    found: DiversityCheck, promise: LDiversity, public: pa.Table, more: dict[str, Any], *, what: str
) -> CheckResult:
    facts = {
        "promise": {"kind": "diversity", "l": promise.l},
        "holds": found.holds,
        what: len(found.sizes),
        "records": int(found.sizes.sum()),
        "group_rate": found.group_rate,
        "record_rate": found.record_rate,
        "violating": int(found.violated.sum()),
        "violating_records": int(found.sizes[found.violated].sum()),
        **more,
    }
    table = public
    columns: dict[str, Any] = {"records": found.sizes, "largest": found.largest, "violated": found.violated}
    for name, numbers in columns.items():
        table = table.append_column(free_name(name, table.column_names), pa.array(numbers))
    return CheckResult(facts, 0 if found.holds else 1, {"diversity": table})
