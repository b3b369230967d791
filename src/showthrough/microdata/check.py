"""Check a promise: of records before they are published, or of a finished publication."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from showthrough.engine.backend import CountingPlace
from showthrough.errors import InputError, check_type
from showthrough.export import Tabular, html_table
from showthrough.files import write_json
from showthrough.folders import Description, PageMaker, result_folder
from showthrough.frames import Source
from showthrough.frames.columns import texts
from showthrough.microdata.anatomy import kept_totals
from showthrough.microdata.bins import BinRuleLike
from showthrough.microdata.check_published import (
    CheckedGroups,
    check_diversity,
    check_reconstruction,
    check_rho,
)
from showthrough.microdata.check_summary import (
    BeliefSummary,
    CheckSummary,
    CheckVerdict,
    DiversitySummary,
    GroupsSummary,
    SubTablesSummary,
    ViolationCount,
    WorstGroup,
)
from showthrough.microdata.columns import Columns
from showthrough.microdata.generalize import Merging, PooledSummary, check_pooled, generalize
from showthrough.microdata.groups import Groups
from showthrough.microdata.manifest import MANIFEST
from showthrough.microdata.parameters import as_names, check_domain, check_retention
from showthrough.microdata.people import ReaderUnits, summarize_people
from showthrough.microdata.plan import free_name
from showthrough.microdata.promises import LDiversity, Promise, PromiseLike, RhoPrivacy, read_promise
from showthrough.microdata.publication import Publication
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.set_exposure import check_unit_sets
from showthrough.microdata.violations import DiversityCheck
from showthrough.microdata.weights import check_weights, weigh_groups

__all__ = [
    "CheckResult",
    "check",
    "checks_to_plain",
    "is_publication",
    "overall_verdict",
    "write_checks",
]

#: What is written to ``checks.json`` for each verdict, and returned by the command.
EXIT_CODES: Mapping[CheckVerdict, int] = {"holds": 0, "violated": 1, "undecided": 3}


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult(Tabular):
    """What a check of one promise found.

    Attributes
    ----------
    summary : CheckSummary
        The numbers in short, with sentences about them.
    table : pyarrow.Table
        Group by group (bucket by bucket, sub-table by sub-table) what was found.
    """

    summary: CheckSummary
    table: pa.Table

    @property
    def promise(self) -> Promise:
        """What was checked."""
        return self.summary.promise

    @property
    def verdict(self) -> CheckVerdict:
        """``holds``, ``violated`` or ``undecided`` (a publication alone may not show it)."""
        return self.summary.verdict

    @property
    def holds(self) -> bool:
        """Whether the promise is known to hold."""
        return self.verdict == "holds"

    @property
    def file(self) -> str | None:
        """The Parquet file that keeps the table in a folder of results; None if it says no more."""
        match self.summary:
            case GroupsSummary():
                return "groups.parquet"
            case DiversitySummary():
                return "diversity.parquet"
            case _:
                return None

    def to_arrow(self) -> pa.Table:
        """Group by group what was found, as an Arrow table."""
        return self.table

    def to_plain(self) -> dict[str, Any]:
        """The summary as plain data, as ``checks.json`` keeps it."""
        return self.summary.to_plain()

    def __repr__(self) -> str:
        return f"CheckResult: {self.verdict}\n{self.summary.promised}\n{self.summary.headline}"

    def _repr_html_(self) -> str:
        """The headline and the first rows, for notebooks."""
        return html_table(self.summary.headline, self.table)


def check(
    data: object,
    promise: PromiseLike,
    *,
    sensitive: str | Sequence[str] = (),
    public: Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    bins: Mapping[str, BinRuleLike] | None = None,
    records: bool = False,
    weight: str | None = None,
    retention: float | None = None,
    merging: Merging = "conditional",
    worst: int = 10,
    truth: object | None = None,
    engine: CountingPlace = None,
) -> CheckResult:
    """Check a promise about records, or about a publication as its readers see it.

    Parameters
    ----------
    data : Publication, path, table or Groups
        A publication or its folder; or records, as a file, a folder of files or a table of Arrow, pandas
        or polars; or records that were counted already.
    promise : RhoPrivacy, ReconstructionPrivacy, LDiversity or str
        For example ``"rho=0.1:0.5"``, ``"reconstruction=0.3:0.3"`` or ``"diversity=4"``.
    sensitive : str or sequence of str
        The sensitive column of records; several count as one compound value.
    public : sequence of str, optional
        The public columns of records, by default all others. A column that nearly identifies single
        people is refused unless it is named here.
    drop : str or sequence of str
        Columns of records to leave out.
    bins : mapping, optional
        Puts numbers of records into bins first, as :func:`publish` does: ``{"age": 10}``.
    records : bool
        Every row is a record, even if the file looks like published counts.
    weight : str, optional
        A public column of weights: each record counts this many times when (ρ1, ρ2)-privacy is checked.
    retention : float, optional
        The share of sensitive values that would be kept, by default all: records published as they are.
    merging : {"conditional", "components", "none"}
        How public values between which a test finds no difference in the sensitive value are merged before
        reconstruction privacy is checked: given the other public values, column by column as in the paper, or
        not at all.
    worst : int
        How many of the worst groups the summary lists.
    truth : path, table or Groups, optional
        The records that a publication was made from: (ρ1, ρ2)-privacy is then checked exactly.
    engine : Engine, optional
        Where records and published rows are counted, by default on this machine.

    Returns
    -------
    CheckResult
        The verdict, a summary, and a table with one row for each group.

    Raises
    ------
    InputError
        If the promise cannot be read, or does not apply to this publication.

    Examples
    --------
    >>> people = pa.table({"sex": ["f", "m"] * 500, "ill": ["no", "no", "yes", "no"] * 250})
    >>> found = check(people, "rho=0.3:0.6", sensitive="ill", retention=0.2)
    >>> found.verdict
    'holds'
    >>> found.to_arrow().column_names
    ['retention', 'n_values', 'posterior']
    """
    asked = read_promise(promise)
    names = as_names(sensitive, name="sensitive")
    check_type(worst, Integral, name="worst", remedy="give a number of groups, such as 10")
    publication = data if isinstance(data, Publication) else None
    if publication is not None or is_publication(data):
        if retention is not None or names or public is not None or drop or bins:
            raise InputError(
                "a publication states its sensitive columns and its retention itself",
                file=str(data.folder if isinstance(data, Publication) else data),
                remedy="leave out sensitive, public, drop, bins and retention",
            )
        if weight is not None:
            raise InputError(
                "only records are checked with a weight", remedy="leave out weight, or check the records"
            )
        opened = publication or Publication.open(str(data), engine=engine)
        known = _true_groups(opened, asked, truth, engine=engine)
        return _check_publication(opened, asked, worst=worst, truth=known)
    if truth is not None:
        raise InputError("only a publication is compared with the truth", remedy="leave out truth")
    if weight is not None:
        _check_weight(weight, asked, data)
    columns = Columns.of(names, public=public, drop=drop, bins=bins, records=records)
    groups = data if isinstance(data, Groups) else columns.read(data, engine=engine)
    check_domain(len(groups.totals))
    if retention is not None:
        check_type(retention, Real, name="retention", remedy="for example 0.5")
        check_retention(retention)
    kept = 1.0 if retention is None else retention
    match asked:
        case ReconstructionPrivacy():
            return _check_groups(groups, asked, kept, worst=worst, merging=merging)
        case RhoPrivacy():
            return _check_belief(groups, asked, kept, worst=worst, weight=weight)
        case LDiversity():
            return _check_diversity(groups, asked)


def _check_weight(weight: str, promise: Promise, data: object) -> None:
    check_type(weight, str, name="weight", remedy="name a public column of numbers")
    if not isinstance(promise, RhoPrivacy):
        raise InputError(
            "weights only matter for (ρ1, ρ2)-privacy", remedy="leave out weight, or check rho=0.1:0.5"
        )
    if not isinstance(data, Groups):
        check_weights(Source.of(data), weight)


def is_publication(data: object) -> bool:
    """Whether this is the folder of a publication."""
    return isinstance(data, str | os.PathLike) and (Path(data) / MANIFEST).is_file()


def _true_groups(
    publication: Publication, promise: Promise, truth: object | None, *, engine: CountingPlace
) -> Groups | None:
    if truth is None or isinstance(truth, Groups):
        return truth
    if not isinstance(promise, RhoPrivacy):
        raise InputError(
            "the truth is only used for (ρ1, ρ2)-privacy", remedy="leave out truth, or check the records"
        )
    said = publication.manifest
    source = Source.of(truth)
    binned = replace(source, bins={name: entry.bins for name, entry in (said.bins or {}).items()})
    return Groups.read(binned, sensitive=list(said.sensitive), public=list(said.public), engine=engine)


def _check_publication(
    publication: Publication, promise: Promise, *, worst: int, truth: Groups | None
) -> CheckResult:
    method = publication.manifest.method
    match promise:
        case ReconstructionPrivacy():
            return _groups_result(check_reconstruction(publication, promise), method, {}, worst=worst)
        case RhoPrivacy():
            found = check_rho(publication, promise, truth=truth, worst=worst)
            summary = SubTablesSummary(
                promise, method, found.verdict, found.rows(), found.people, found.sets, found.divided
            )
            return CheckResult(summary, found.to_arrow())
        case LDiversity():
            buckets = check_diversity(publication, promise)
            numbers = pa.array(np.arange(1, len(buckets.sizes) + 1))
            label = pa.Table.from_arrays([numbers], names=[str(publication.manifest.label)])
            summary = DiversitySummary(promise, unit="buckets", method=method, **_diversity_numbers(buckets))
            return CheckResult(summary, _diversity_table(buckets, label))


def _check_groups(
    groups: Groups, promise: ReconstructionPrivacy, kept: float, *, worst: int, merging: Merging
) -> CheckResult:
    merged: dict[str, tuple[int, int]] = {}
    if groups.public.column_names:
        found = generalize(groups, merging=merging)
        merged = {name: sizes for name, sizes in found.sizes.items() if sizes[1] < sizes[0]}
        groups = found.groups
    pooled = check_pooled(groups, promise, retention=kept)
    checked = CheckedGroups.of(groups, promise, retention=kept)
    return _groups_result(checked, None, merged, worst=worst, pooled=pooled)


def _groups_result(
    checked: CheckedGroups,
    method: str | None,
    merged: dict[str, tuple[int, int]],
    *,
    worst: int,
    pooled: PooledSummary | None = None,
) -> CheckResult:
    found, held, violated = checked.found, checked.surely_held, checked.surely_violated
    summary = GroupsSummary(
        promise=checked.promise,
        method=method,
        merged=merged,
        retention=checked.retention,
        n_values=checked.n_values,
        groups=len(found.sizes),
        records=int(found.sizes.sum()),
        sampled=int(checked.trials.sum()),
        chernoff=ViolationCount.of(found, "chernoff"),
        exact=ViolationCount.of(found, "exact"),
        worst=_worst_groups(checked, number=worst),
        surely_held=None if held is None else int(held.sum()),
        surely_violated=None if violated is None else int(violated.sum()),
        pooled=pooled,
    )
    return CheckResult(summary, checked.to_arrow())


def _worst_groups(checked: CheckedGroups, *, number: int) -> tuple[WorstGroup, ...]:
    found, public = checked.found, checked.public
    # Groups over s_g are violators by either bound; the exact ones alone come after them.
    chosen = list(dict.fromkeys([*found.worst(number, bound="chernoff"), *found.worst(number)]))[:number]
    columns = {name: texts(public[name].take(pa.array(chosen, pa.int64()))) for name in public.column_names}
    return tuple(
        WorstGroup(
            group={name: column[at] for name, column in columns.items()},
            records=int(found.sizes[group]),
            sampled=int(checked.trials[group]),
            frequency=float(found.frequency[group]),
            limit=float(found.chernoff_limit[group]),
            exact_limit=int(found.exact_limit[group]),
        )
        for at, group in enumerate(chosen)
    )


def _check_belief(
    groups: Groups, promise: RhoPrivacy, kept: float, *, worst: int, weight: str | None = None
) -> CheckResult:
    n_values, totals = len(groups.totals), groups.totals
    units = ReaderUnits.of(groups, kept)
    if weight is not None:
        groups, weighed = weigh_groups(groups, weight)
        units = replace(ReaderUnits.of(groups, kept), counts=weighed)
        # Only shares matter here: whole numbers that are large enough to keep them.
        numbers = np.asarray(weighed.sum(axis=0))
        totals = np.rint(numbers * (2.0**50 / numbers.sum())).astype(np.int64)
    found = promise.check(totals[None, :], retention=kept, n_values=n_values)
    protected = totals[~found.unprotected]
    people = summarize_people(units, promise, worst=worst)
    sets = check_unit_sets(units, promise)
    summary = BeliefSummary(
        promise=promise,
        method=None,
        retention=kept,
        n_values=n_values,
        largest_retention=promise.retention(n_values),
        protected_values=len(protected),
        largest_share=float(protected.max(initial=0) / totals.sum()),
        posterior=float(found.posterior[0]),
        holds=found.holds and not people.broken and not sets.exposed,
        people=people,
        sets=sets,
    )
    row = {"retention": [kept], "n_values": [n_values], "posterior": [summary.posterior]}
    return CheckResult(summary, pa.table(row))


def _check_diversity(groups: Groups, promise: LDiversity) -> CheckResult:
    found, n_values = promise.check(groups), int((groups.totals > 0).sum())
    left_out = groups.records
    if n_values >= promise.l:
        left_out = int((groups.totals - kept_totals(groups.totals, promise)).sum())
    numbers = _diversity_numbers(found)
    summary = DiversitySummary(
        promise, unit="groups", method=None, n_values=n_values, left_out_by_anatomy=left_out, **numbers
    )
    return CheckResult(summary, _diversity_table(found, groups.public))


def _diversity_numbers(found: DiversityCheck) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "number": len(found.sizes),
        "records": int(found.sizes.sum()),
        "group_rate": found.group_rate,
        "record_rate": found.record_rate,
        "violating": int(found.violated.sum()),
        "violating_records": int(found.sizes[found.violated].sum()),
    }


def _diversity_table(found: DiversityCheck, public: pa.Table) -> pa.Table:
    columns: dict[str, Any] = {"records": found.sizes, "largest": found.largest, "violated": found.violated}
    for name, numbers in columns.items():
        public = public.append_column(free_name(name, public.column_names), pa.array(numbers))
    return public


def overall_verdict(results: Iterable[CheckResult]) -> CheckVerdict:
    """One verdict for several promises: violated if one is, else undecided if one is."""
    found = {one.verdict for one in results}
    return "violated" if "violated" in found else "undecided" if "undecided" in found else "holds"


def checks_to_plain(results: Sequence[CheckResult], *, published: bool) -> dict[str, Any]:
    """Several checks as plain data, as ``checks.json`` keeps them."""
    return {
        "published": published,
        "checks": [one.to_plain() for one in results],
        "exit_code": EXIT_CODES[overall_verdict(results)],
    }


def write_checks(
    results: Sequence[CheckResult],
    out: str | os.PathLike[str],
    what: Description,
    *,
    published: bool,
    overwrite: bool = False,
    page: PageMaker | None = None,
) -> list[str]:
    """Write checks to a folder; the names of the files with results."""
    files = {one.file: one.table for one in results if one.file is not None}
    with result_folder(out, what, overwrite=overwrite, page=page) as draft:
        write_json(draft.path / "checks.json", checks_to_plain(results, published=published))
        for name, table in files.items():
            pq.write_table(table, draft.path / name, compression="zstd")
    return ["checks.json", *files]
