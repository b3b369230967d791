"""The page of a publication for its readers, made from the published files alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.errors import shorten
from showthrough.estimate import whole
from showthrough.files import file_digest
from showthrough.microdata.bins import listed_ends
from showthrough.microdata.check_published import (
    RANDOMIZED,
    CheckedGroups,
    check_diversity,
    check_reconstruction,
)
from showthrough.microdata.check_summary import ViolationCount
from showthrough.microdata.manifest import MANIFEST, SENSITIVE, Manifest
from showthrough.microdata.ordinal import describe_ordinal
from showthrough.microdata.people_published import Shown, estimate_people
from showthrough.microdata.product import describe_product
from showthrough.microdata.promises import LDiversity, RhoPrivacy, describe_promise
from showthrough.microdata.publication import Publication
from showthrough.microdata.published import PublishedFile
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.violations import DiversityCheck
from showthrough.report.charts import (
    ACCENT,
    NO_LINE,
    SOFT,
    Chart,
    Key,
    Row,
    Spec,
    count_axis,
    row_height,
    share_axis,
    wrapped_labels,
)
from showthrough.report.group_charts import group_charts
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent, several

__all__ = [
    "buckets_chart",
    "distribution_chart",
    "publication_charts",
    "publication_page",
    "retention_charts",
]

#: Sub-tables and merged values that are listed.
MOST_LISTED = 300

#: Records up to which the groups or buckets, which are held in memory, are checked for the page.
MOST_CHECKED = 20_000_000

#: Records up to which it is estimated for the page of how many people readers become too sure.
MOST_PEOPLE = 2_000_000

#: Sensitive values that are drawn.
MOST_VALUES = 25


def publication_page(folder: Path) -> Page:
    """The page of a publication: nothing is on it that a reader of the folder could not compute."""
    publication = Publication.open(folder)
    said = publication.manifest
    groups, buckets = _checked(publication)
    return figures_page(
        "Publication",
        _headline(said),
        [
            Section(
                "What can be estimated",
                "Counts of many records, not single values. Lines show between which numbers a count lies.",
                [distribution_chart(publication), *retention_charts(publication)],
            ),
            *_kept(groups, buckets),
            Section("How to count in it", _counting(said), (), list(_sheets(said))),
        ],
        manifest={"parameters": _described(said), "outputs": _digests(publication)},
        facts=_facts(said, groups, buckets),
        described=MANIFEST,
        warning=publication.describe_limits(),
        standfirst=[
            text for text in (_readers(publication), _method(said), _worth(groups), _unchecked(said)) if text
        ],
    )


def publication_charts(publication: Publication) -> list[Chart]:
    """The charts of a publication's page."""
    checked = [chart for section in _kept(*_checked(publication)) for chart in section.charts]
    return [distribution_chart(publication), *retention_charts(publication), *checked]


def _checked(publication: Publication) -> tuple[CheckedGroups | None, DiversityCheck | None]:
    """The groups or buckets, checked for the publication's own promise if that takes no great effort."""
    if publication.manifest.records > MOST_CHECKED:
        return None, None
    match publication.manifest.own_promise:
        case ReconstructionPrivacy() as promise:
            return check_reconstruction(publication, promise), None
        case LDiversity() as promise:
            return None, check_diversity(publication, promise)
        case _:
            return None, None


def _unchecked(said: Manifest) -> str:
    if said.records <= MOST_CHECKED or not isinstance(said.own_promise, ReconstructionPrivacy | LDiversity):
        return ""
    return "Whether the promise holds was not checked for this page: use showthrough check."


def _headline(said: Manifest) -> str:
    n, promise = several(said.records, "record"), said.own_promise
    match promise:
        case RhoPrivacy():
            described = describe_promise(promise, method=said.method, given=said.given)
            return f"{n}, published so that {described}."
        case ReconstructionPrivacy():
            return f"{n}: large groups were sampled and all values randomized, to blur what a group shows."
        case LDiversity():
            return f"{n}, separated from their values: {describe_promise(promise)}."
        case None if said.method == "product":
            return f"{n}; {', '.join(said.sensitive)} were randomized each for itself, with a promise each."
        case None:
            return f"{n} with randomized values; nothing more is promised about single people."


def _method(said: Manifest) -> str:
    """What was done to each record, in a sentence."""
    if said.method == "anatomy":
        return "Values are true, but a reader learns only in which bucket the value of a record is."
    if said.given == "public":
        return _given(said)
    if len(said.tables) > 1:
        return (
            f"The records were divided into {len(said.tables):,} sub-tables with few values each. A record "
            "keeps its value with the retention of its sub-table, or draws one of its values."
        )
    if said.method == "product":
        return " ".join(describe_product(said))
    if said.method == "ordinal":
        return f"{describe_ordinal(said.sub_tables[0])} So one record alone proves nothing about a person."
    kept = (
        f"keeps its value with probability {said.sub_tables[0].retention:.4g}, or draws one of "
        f"{len(said.domain):,} values"
    )
    if said.method == "sampled" and said.own_promise is not None:
        if said.trials == "independent":
            return (
                f"Promise: {describe_promise(said.own_promise)}. For it, trials were drawn from every group, "
                f"as many as its size allows whatever its records are; a trial {kept}."
            )
        bound = "exact tails" if said.bound == "exact" else "the paper's bound"
        return (
            f"Promise, by {bound}: {describe_promise(said.own_promise)}. Large groups were sampled for it; "
            f"a sampled record {kept}. The sizes of the samples follow from the groups' frequencies and tell "
            "them."
        )
    return f"A record {kept}. So one record alone proves nothing about a person."


def _given(said: Manifest) -> str:
    """What was done so that the promise holds for readers who see the public values."""
    merged = "Public values were merged for it. " if said.merged else ""
    kept = [table.retention for table in said.tables]
    if len(kept) == 1:
        return f"{merged}A record keeps its value with probability {kept[0]:.4g}, or draws any value."
    return (
        f"{merged}Groups with the same public values are in {len(kept)} classes, by the largest share that a "
        f"rare value has in them. A record keeps its value with the retention of its class, {min(kept):.4g} "
        f"to {max(kept):.4g}, or draws any value."
    )


def _readers(publication: Publication) -> str:
    """To whom (ρ1, ρ2)-privacy is promised, and what can be seen from outside of everybody else."""
    said = publication.manifest
    promise = said.own_promise
    if not isinstance(promise, RhoPrivacy) or said.method not in RANDOMIZED or not said.public:
        return ""
    to_whom = (
        "The publisher states that this holds in every group. "
        if said.given == "public"
        else (
            "Where a value is more frequent than that among people with the same public values, readers may "
            "become surer of it. "
            if said.method != "partitioned"
            else "Readers who look at the public values may become surer. "
        )
    )
    if said.records > MOST_PEOPLE:
        return to_whom.strip()
    return to_whom + estimate_people(Shown.of(publication), promise, worst=0).headline(promise)


def _worth(groups: CheckedGroups | None) -> str:
    """How far the promise of reconstruction privacy holds, by exact tails."""
    if groups is None:
        return ""
    if groups.surely_held is not None and groups.surely_held.all():
        return "It holds in every published group, whatever the records are; not for groups that are pooled."
    found = ViolationCount.of(groups.found, "exact")
    return f"By exact tails, which are stricter than the paper's bound, {found}, as far as can be estimated."


def _facts(
    said: Manifest, groups: CheckedGroups | None, buckets: DiversityCheck | None
) -> list[tuple[str, str]]:
    kept = [table.retention for table in said.tables]
    facts = [
        (f"{said.records:,}", "records"),
        (f"{len(said.public):,}", "public columns" if len(said.public) != 1 else "public column"),
        (f"{len(said.domain):,}", "sensitive values"),
    ]
    if kept and said.method not in ("ordinal", "product"):
        least, most = (percent(end, 1) for end in (min(kept), max(kept)))
        shown = least if least == most else f"{least} to {most}"
        facts.append((shown, "of the values are kept (retention)"))
    if len(kept) > 1:
        facts.append((f"{len(kept):,}", "sub-tables"))
    if groups is not None:
        facts.append((f"{len(groups.trials):,}", "personal groups (same public values)"))
    if buckets is not None:
        facts.append((f"{len(buckets.sizes):,}", "buckets"))
    return facts


def _kept(groups: CheckedGroups | None, buckets: DiversityCheck | None) -> Iterator[Section]:
    """Whether the publication's own promise can be seen to be kept."""
    if groups is not None:
        charts = group_charts(
            groups.to_arrow(),
            groups.promise,
            retention=groups.retention,
            n_values=groups.n_values,
            where="; showthrough check lists all",
        )
        yield Section(
            "Does the promise hold?",
            "A group reveals as much as the records that were sampled from it. Their numbers are published; "
            "the frequencies of values within a group are estimated.",
            charts,
        )
    if buckets is not None:
        yield Section(
            "Does the promise hold?",
            "To a reader who knows nothing else, the probability of a value is its share of the bucket. One "
            "who knows the values of others in the bucket can exclude them.",
            [buckets_chart(buckets)],
        )


def _counting(said: Manifest) -> str:
    asks = "In this folder, showthrough count . --where … does this, and says between which numbers it lies."
    of = "published records by public columns" if said.suppressed else "public columns"
    if said.method == "anatomy":
        return (
            f"Counts of {of} are exact. If c rows and k values of a bucket of n records match, between "
            "max(0, c + k − n) and min(c, k) of its records do: added up over buckets, these bounds hold "
            "whatever the pairing is. The sum of c k/n is right if public and sensitive values are "
            f"independent within buckets. {asks}"
        )
    if said.method == "product":
        return (
            f"Counts of {of} are exact. Columns were perturbed each for itself: a record with one "
            "combination of values shows another with the product of p + (1 − p)/m over the columns in which "
            "both agree and (1 − p)/m over the others. Inverting that column by column gives unbiased "
            f"estimates. {asks}"
        )
    if said.method == "ordinal":
        return (
            f"Counts of {of} are exact. With P(y|x) proportional to max(exp(−decay·|x − y|), floor), where x "
            "and y are positions in the order of the values, the numbers of records that show each value "
            "times the inverse of the matrix P are unbiased estimates of the numbers that have it. "
            f"{asks}"
        )
    parts = " in each sub-table, and add up" if len(said.tables) > 1 else ""
    return (
        f"Counts of {of} are exact. To count a value among some records, take the number of records "
        f"that show it, subtract (1 − p)/m of these records, and divide by p{parts}. Here p is the retention "
        f"and m the number of values. {asks}"
    )


def _parameters(said: Manifest) -> Iterator[Sheet]:
    if said.method == "product":
        kept = said.tables[0].retentions or ()
        sizes = [len({row[at] for row in said.domain}) for at in range(len(said.sensitive))]
        rows = [
            [name, f"{p:.6g}", f"{m:,}", f"{(1 - p) / m:.4g}"]
            for name, p, m in zip(said.sensitive, kept, sizes, strict=True)
        ]
        yield Sheet("", ("column", "retention p", "values m", "(1 − p)/m"), rows, "")
        return
    if said.method == "ordinal":
        (table,) = said.tables
        names = [", ".join(said.domain[at]) for at in table.values]
        rows = [[f"{table.decay:.6g}", f"{table.floor:.6g}", "; ".join(names[:MOST_LISTED])]]
        yield Sheet("", ("decay", "floor", "values in their order"), rows, _more(len(names)))
    elif said.tables:
        rows = [
            [f"{at:,}", f"{table.retention:.6g}", f"{table.n_values:,}", f"{table.stray:.4g}"]
            for at, table in enumerate(said.sub_tables[:MOST_LISTED], 1)
        ]
        head = ("sub-table", "retention p", "values m", "(1 − p)/m")
        yield Sheet("", head, rows, _more(len(said.tables)))


def _sheets(said: Manifest) -> Iterator[Sheet]:
    yield from _parameters(said)
    yield from _bins(said)
    yield from _merged(said)


def _bins(said: Manifest) -> Iterator[Sheet]:
    rows = [[name, listed_ends(entry.bins)] for name, entry in (said.bins or {}).items()]
    if rows:
        yield Sheet("Numbers that were put into bins", ("column", "bins end at"), rows[:MOST_LISTED], "")


def _merged(said: Manifest) -> Iterator[Sheet]:
    rows = [
        [name, label, ", ".join(members)]
        for name, labels in said.merged.items()
        for label, members in labels.items()
    ]
    if rows:
        head = ("column", "published as", "stands for")
        yield Sheet("Public values that were merged", head, rows[:MOST_LISTED], _more(len(rows)))


def _more(total: int) -> str:
    return f"… and {total - MOST_LISTED:,} more, in {MANIFEST}." if total > MOST_LISTED else ""


def _described(said: Manifest) -> dict[str, Any]:
    names = ("method", "format", "public", "sensitive", "label", "copies", "promise", "bound", "band")
    plain = said.model_dump(mode="json", exclude_none=True)
    return {name: plain[name] for name in names if name in plain}


def _digests(publication: Publication) -> dict[str, str]:
    """Hashes of the published rows, which show that the page is about them."""
    folder, said = publication.folder, publication.manifest
    second = [folder / SENSITIVE[said.format]] if said.method == "anatomy" else []
    files = [*second, *map(Path, PublishedFile(publication.data, ()).files)]
    return {file.name: file_digest(file) for file in files}


def distribution_chart(publication: Publication) -> Chart:
    """Estimates of how many records have each value, the most frequent first, with 95 % error bars."""
    said = publication.manifest
    named = shorten(", ".join(said.sensitive))
    table = publication.distribution()
    certain = said.method == "anatomy"
    value, low, high = (table.columns[at].to_numpy() for at in (-4, -2, -1))
    error = table.columns[-3].to_pylist()
    # What can be, as far as it is stated; an old folder may not say how many records were left out.
    high = np.where(np.isfinite(high), high, np.maximum(value, low))
    about = np.clip(value, low, high)
    order = np.argsort(-value, kind="stable")[:MOST_VALUES]
    rows: tuple[Row, ...] = tuple(
        {
            "value": ", ".join(said.domain[at]),
            "records": float(about[at]),
            "error": error[at],
            "low": float(low[at]),
            "high": float(high[at]),
        }
        for at in order.tolist()
    )
    more, top = len(said.domain) - len(rows), max(row["high"] for row in rows)
    note = f"The {len(rows)} largest of {len(said.domain):,} estimates; the largest tend to be too large."
    sure = "for certain" if certain else f"{percent(0.95)} confidence"
    between = f", between {whole(rows[0]['low'])} and {whole(rows[0]['high'])} ({sure})"
    exact = rows[0]["low"] == rows[0]["high"]
    largest = f"{'' if exact else 'about '}{whole(rows[0]['records'])} records"
    return Chart(
        "distribution",
        f"Records by {named}",
        f"The most frequent value has {largest}{'' if exact else between}.",
        rows,
        {
            "value": named,
            "records": "records, about",
            "error": "standard error",
            "low": "from",
            "high": "to",
        },
        {
            "encoding": {
                "y": {
                    "field": "value",
                    "type": "nominal",
                    "sort": None,
                    "title": None,
                    "axis": {**wrapped_labels(), "grid": True},
                }
            },
            "layer": [
                {
                    "mark": {"type": "rule", "color": SOFT, "strokeWidth": 2},
                    "encoding": {"x": _records("low", top), "x2": {"field": "high"}},
                },
                {"mark": {"type": "point", "size": 60}, "encoding": {"x": _records("records", top)}},
            ],
        },
        height=max(110, row_height(row["value"] for row in rows) * len(rows)),
        legend=(Key("estimate", ACCENT, NO_LINE, "circle"), Key(sure, SOFT, (1, 0))),
        note=" ".join(filter(None, (note if more else "", publication.describe_suppressed()))),
    )


def _records(field: str, top: float) -> Spec:
    return count_axis(field, "records, estimated", top)


def retention_charts(publication: Publication) -> Iterator[Chart]:
    """The retention of each sub-table, if there are several."""
    said = publication.manifest
    if len(said.tables) < 2:
        return
    label = str(said.label)
    counted = PublishedFile(publication.data, (label,)).count([label], {})
    number = dict(
        zip(counted.column(0).cast(pa.int64()).to_pylist(), counted.column(1).to_pylist(), strict=True)
    )
    rows: tuple[Row, ...] = tuple(
        {
            "table": at,
            "retention": table.retention,
            "values": len(table.values),
            "records": number.get(at, 0),
        }
        for at, table in enumerate(said.tables, 1)
    )
    most = max(rows, key=lambda row: row["retention"])
    least = min(rows, key=lambda row: row["retention"])
    yield Chart(
        "retention",
        "Retention: how often values are kept, by sub-table",
        f"From {percent(least['retention'], 1)} in sub-table {least['table']} to "
        f"{percent(most['retention'], 1)} in sub-table {most['table']}.",
        rows,
        {"table": "sub-table", "retention": "retention", "values": "values", "records": "records"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "table", "type": "ordinal", "title": "sub-table"},
                "y": share_axis("retention", "share of values that are kept", most["retention"]),
            },
        },
    )


def buckets_chart(found: DiversityCheck) -> Chart:
    """How many buckets of an anatomy there are of each size."""
    sizes, number = np.unique(found.sizes, return_counts=True)
    rows = tuple({"size": int(s), "buckets": int(n)} for s, n in zip(sizes, number, strict=True))
    share = float((found.largest / found.sizes).max())
    broken = int(found.violated.sum())
    says = "all keep the promise" if not broken else f"{broken:,} violate the promise"
    return Chart(
        "buckets",
        "Buckets by size",
        f"Of {len(found.sizes):,} buckets, {says}; no value has more than {percent(share, 1)} of one.",
        rows,
        {"size": "records of the bucket", "buckets": "buckets"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "size", "type": "ordinal", "title": "records of the bucket"},
                "y": count_axis("buckets", "buckets", int(number.max(initial=0))),
            },
        },
    )
