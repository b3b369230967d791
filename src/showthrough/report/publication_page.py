"""A publication as a page for its readers, made from the published files alone.

Charts of a publication: what can be estimated from it, how many values are kept, how large buckets are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from showthrough.errors import shorten
from showthrough.files import file_digest
from showthrough.microdata.check_published import CheckedGroups, check_diversity, check_reconstruction
from showthrough.microdata.manifest import MANIFEST, SENSITIVE, Manifest
from showthrough.microdata.promises import LDiversity
from showthrough.microdata.publication import Publication
from showthrough.microdata.published import PublishedFile
from showthrough.microdata.reconstruction_privacy import ReconstructionPrivacy
from showthrough.microdata.violations import DiversityCheck
from showthrough.report.charts import ACCENT, SOFT, Chart, Key, share_axis
from showthrough.report.group_charts import NO_LINE, group_charts
from showthrough.report.page import Page, Section, Sheet, figures_page
from showthrough.text import percent, share_text

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


def publication_page(folder: Path) -> Page:
    """The page of a publication: nothing is on it that a reader of the folder could not compute."""
    publication = Publication.open(folder)
    said = publication.manifest
    groups, buckets = _checked_groups(publication), _checked_buckets(publication)
    return figures_page(
        "Publication",
        _headline(said),
        [
            Section(
                "What can be learnt",
                "Numbers of many records, not single values. Error bars say how far off an estimate may be.",
                [distribution_chart(publication), *retention_charts(publication)],
            ),
            *_kept(groups, buckets),
            Section("How to count in it", _counting(said), (), [*_parameters(said), *_merged(said)]),
        ],
        manifest={"parameters": _described(said), "outputs": _digests(publication)},
        facts=_facts(said, groups, buckets),
        described=MANIFEST,
        warning=_sentence(publication.tiny_tables()),
        standfirst=[text for text in (_method(said), _worth(groups), _unchecked(publication)) if text],
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def publication_charts(publication: Publication) -> list[Chart]:
    """The charts of a publication's page."""
    groups, buckets = _checked_groups(publication), _checked_buckets(publication)
    checked = [chart for section in _kept(groups, buckets) for chart in section.charts]
    return [distribution_chart(publication), *retention_charts(publication), *checked]


def _checked_groups(publication: Publication) -> CheckedGroups | None:
    own = publication.manifest.promise or {}
    if own.get("kind") != "ReconstructionPrivacy" or _too_large(publication):
        return None
    promise = ReconstructionPrivacy(float(own["error"]), float(own["chance"]))
    return check_reconstruction(publication, promise)


def _checked_buckets(publication: Publication) -> DiversityCheck | None:
    own = publication.manifest.promise or {}
    if own.get("kind") != "LDiversity" or _too_large(publication):
        return None
    return check_diversity(publication, LDiversity(int(own["l"])))


def _too_large(publication: Publication) -> bool:
    return publication.manifest.records > MOST_CHECKED


def _unchecked(publication: Publication) -> str:
    kind = (publication.manifest.promise or {}).get("kind")
    if kind not in ("ReconstructionPrivacy", "LDiversity") or not _too_large(publication):
        return ""
    return "Whether the promise is kept was not checked for this page: showthrough check does that."


def _headline(said: Manifest) -> str:
    n, own = f"{said.records:,} records", said.promise or {}
    match own.get("kind"):
        case "RhoPrivacy":
            return (
                f"{n}, published so that nobody becomes more than {percent(float(own['posterior']))} sure of "
                f"a value that at most {percent(float(own['prior']))} of them have."
            )
        case "ReconstructionPrivacy":
            return f"{n}, large groups sampled and all values randomized, to blur what single groups show."
        case "LDiversity":
            return f"{n}, unlinked from their values: no value has more than 1/{own['l']:g} of a bucket."
        case _:
            return f"{n} with randomized values; about single people nothing more is promised."


def _method(said: Manifest) -> str:
    """What was done to each record, in a sentence."""
    own = said.promise or {}
    match said.method:
        case "anatomy":
            return "Values are true, but a reader learns of each record only which bucket its value is in."
        case "partitioned":
            if len(said.tables) == 1:
                return _kept_or_drawn(said)
            return (
                f"The records were divided into {len(said.tables):,} sub-tables with few values each. A "
                "record keeps its value with the probability of its sub-table, or draws one of its values."
            )
        case "sampled":
            what = "exact tails" if said.bound == "exact" else "the paper's bound"
            return (
                f"The promise: a frequency estimated from a group of equal people is off by more than "
                f"{percent(float(own['error']))} of it with a chance of at least "
                f"{percent(float(own['chance']))}, by {what}. Large groups were sampled for it; a sampled "
                f"record keeps its value with probability {said.tables[0].retention:.4g}, or draws one of "
                f"{len(said.domain):,}."
            )
        case _:
            return _kept_or_drawn(said)


def _kept_or_drawn(said: Manifest) -> str:
    return (
        f"A record keeps its value with probability {said.tables[0].retention:.4g}, or draws one of "
        f"{len(said.domain):,}: whoever looks at one of them cannot tell which."
    )


def _worth(groups: CheckedGroups | None) -> str:
    """What the promise of reconstruction privacy is worth, by exact tails."""
    if groups is None:
        return ""
    rate, of_records = groups.found.group_rate(), groups.found.record_rate()
    if not rate:
        return "By exact tails no group violates the promise, as far as estimates tell."
    return (
        f"By exact tails, which ask for more than the paper's bound, {share_text(rate)} of the groups with "
        f"{share_text(of_records)} of the records fall short of it, as far as estimates tell."
    )


def _facts(
    said: Manifest, groups: CheckedGroups | None, buckets: DiversityCheck | None
) -> list[tuple[str, str]]:
    kept = [table.retention for table in said.tables]
    facts = [
        (f"{said.records:,}", "records"),
        (f"{len(said.public):,}", "public columns" if len(said.public) != 1 else "public column"),
        (f"{len(said.domain):,}", "sensitive values"),
    ]
    if kept:
        least, most = (f"{100 * end:.3g}" for end in (min(kept), max(kept)))
        facts.append((f"{least if least == most else f'{least}–{most}'} %", "of the values are kept"))
    if len(kept) > 1:
        facts.append((f"{len(kept):,}", "sub-tables"))
    if groups is not None:
        facts.append((f"{len(groups.trials):,}", "groups of equal public values"))
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
            where="; showthrough check lists them all",
        )
        yield Section(
            "Is the promise kept?",
            "A group gives away as much as the records that were sampled from it. Their numbers are "
            "published; how frequent values are within a group is estimated.",
            charts,
        )
    if buckets is not None:
        yield Section(
            "Is the promise kept?",
            "A reader who knows nothing else believes each value of a bucket with its share in it. One who "
            "knows the values of others in the bucket can exclude them.",
            [buckets_chart(buckets)],
        )


def _counting(said: Manifest) -> str:
    asks = "From within this folder, showthrough count . --where … does it, with error bars."
    if said.method == "anatomy":
        return (
            "Numbers about public columns are exact. For a value among some records, take each bucket's rows "
            f"of them, times the value's share of the bucket, and add up. {asks}"
        )
    parts = " in each sub-table, and add up" if len(said.tables) > 1 else ""
    return (
        "Numbers about public columns are exact. For a value among some records, take the number that show "
        f"it, less (1 − p)/m of them all, and divide by p{parts}: p is the retention and m the number of "
        f"values. {asks}"
    )


def _parameters(said: Manifest) -> Iterator[Sheet]:
    if said.tables:
        rows = [
            [f"{at:,}", f"{table.retention:.6g}", f"{table.n_values:,}", f"{table.stray:.4g}"]
            for at, table in enumerate(said.sub_tables[:MOST_LISTED], 1)
        ]
        head = ("sub-table", "retention p", "values m", "(1 − p)/m")
        yield Sheet("", head, rows, _more(len(said.tables)))


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
    """Hashes of the published rows, by which a reader can tell that the page is about them."""
    folder, said = publication.folder, publication.manifest
    second = [folder / SENSITIVE[said.format]] if said.method == "anatomy" else []
    files = [*second, *map(Path, PublishedFile(publication.data, ()).files)]
    return {file.name: file_digest(file) for file in files}


#: Sensitive values that are drawn.
MOST_VALUES = 25


def distribution_chart(publication: Publication) -> Chart:
    """About how many records have each value, the most frequent first, with 95 % error bars."""
    said = publication.manifest
    named = shorten(", ".join(said.sensitive))
    table = publication.distribution()
    value, error, low, high = (np.asarray(column) for column in table.columns[-4:])
    order = np.argsort(-value, kind="stable")[:MOST_VALUES]
    rows = tuple(
        {
            "value": ", ".join(said.domain[at]),
            "records": float(value[at]),
            "error": float(error[at]),
            "low": float(low[at]),
            "high": float(high[at]),
        }
        for at in order.tolist()
    )
    more = len(said.domain) - len(rows)
    note = f"The {len(rows)} largest of {len(said.domain):,} estimates, which tend to be too large for that."
    between = f", between {rows[0]['low']:,.0f} and {rows[0]['high']:,.0f} (95 % sure)"
    largest = f"{'about ' if rows[0]['error'] else ''}{rows[0]['records']:,.0f} records"
    return Chart(
        "distribution",
        f"Records by {named}",
        f"The most frequent value has {largest}{between if rows[0]['error'] else ''}.",
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
                    "axis": {"labelLimit": 110, "labelOverlap": False, "grid": True},
                }
            },
            "layer": [
                {
                    "mark": {"type": "rule", "color": SOFT, "strokeWidth": 2},
                    "encoding": {"x": _records("low"), "x2": {"field": "high"}},
                },
                {"mark": {"type": "point", "size": 60}, "encoding": {"x": _records("records")}},
            ],
        },
        height=max(110, 24 * len(rows)),
        legend=(Key("estimate", ACCENT, NO_LINE, "circle"), Key("95 % sure", SOFT, (1, 0))),
        note=note if more else "",
    )


def _records(field: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": "records, estimated",
        "axis": {"tickCount": 5, "format": ",.0f"},
        "scale": {"zero": True},
    }


def retention_charts(publication: Publication) -> Iterator[Chart]:
    """How often values are kept, by sub-table, where there are several."""
    said = publication.manifest
    if len(said.tables) < 2:
        return
    label = str(said.label)
    counted = PublishedFile(publication.data, (label,)).count([label], {})
    number = dict(
        zip(counted.column(0).cast(pa.int64()).to_pylist(), counted.column(1).to_pylist(), strict=True)
    )
    rows: tuple[dict[str, Any], ...] = tuple(
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
        "How often values are kept, by sub-table",
        f"From {share_text(least['retention'])} in sub-table {least['table']} to "
        f"{share_text(most['retention'])} in sub-table {most['table']}.",
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
    says = "all keep the promise" if not broken else f"{broken:,} break the promise"
    return Chart(
        "buckets",
        "Buckets by size",
        f"Of {len(found.sizes):,} buckets {says}; no value has more than {share_text(share)} of one.",
        rows,
        {"size": "records of the bucket", "buckets": "buckets"},
        {
            "mark": "bar",
            "encoding": {
                "x": {"field": "size", "type": "ordinal", "title": "records of the bucket"},
                "y": {
                    "field": "buckets",
                    "type": "quantitative",
                    "title": "buckets",
                    "axis": {"format": ",.0f", "tickMinStep": 1},
                },
            },
        },
    )
