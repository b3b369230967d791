"""True counts, printed in many layouts with cells withheld: what is read is true, or it is refused."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as hs
from hypothesis import given, settings

from needs import examples
from showthrough.errors import ReleaseError
from showthrough.formats.printed.cross_table import read_grid
from showthrough.formats.printed.grid import TextGrid
from showthrough.frames.marks import is_total_label

AREAS, SEXES, AGES = ("North", "South", "West"), ("Males", "Females"), ("0-15", "16-64", "65+")

Truth = dict[tuple[str, str, str], int]
Show = Callable[[str, str, str], str]


def rows_under_headings(show: Show, indent: str, total: bool) -> list[list[str]]:
    """Areas across; sexes as headings, ages below them, perhaps a total at the end."""
    rows = [["Age", *AREAS]]
    for sex in SEXES:
        rows.append([sex])
        rows += [[indent + age, *(show(area, sex, age) for area in AREAS)] for age in AGES]
    return rows + ([["All persons", *(show(area, "", "") for area in AREAS)]] if total else [])


def rows_with_subtotals(show: Show, indent: str, total: bool) -> list[list[str]]:
    """The same, and each heading has values of its own."""
    rows = [["Age", *AREAS]]
    if total:
        rows.append(["Total", *(show(area, "", "") for area in AREAS)])
    for sex in SEXES:
        rows.append([sex, *(show(area, sex, "") for area in AREAS)])
        rows += [[(indent or "  ") + age, *(show(area, sex, age) for area in AREAS)] for age in AGES]
    return rows


def classifications_in_columns(show: Show, _: str, total: bool) -> list[list[str]]:
    """Sex and age side by side, which cross nowhere."""
    first, second = ["Area"], [""]
    if total:
        first, second = [*first, "Total"], [*second, ""]
    first += ["Sex", "", "Age group", "", ""]
    rows = [first, [*second, *SEXES, *AGES]]
    for area in AREAS:
        cells = [show(area, sex, "") for sex in SEXES] + [show(area, "", age) for age in AGES]
        rows.append([area, *([show(area, "", "")] if total else []), *cells])
    return rows


def classifications_in_rows(show: Show, indent: str, total: bool) -> list[list[str]]:
    """The same below each other, as profiles have them."""
    rows = [["Subject", *AREAS]]
    if total:
        rows.append(["Total population", *(show(area, "", "") for area in AREAS)])
    rows.append(["SEX"])
    rows += [[indent + sex, *(show(area, sex, "") for area in AREAS)] for sex in SEXES]
    rows.append(["AGE"])
    return rows + [[indent + age, *(show(area, "", age) for area in AREAS)] for age in AGES]


def headers_of_two_levels(show: Show, indent: str, total: bool) -> list[list[str]]:
    """Ages under each sex, perhaps with a total of each or of all at the end."""
    ages = (*AGES, *(["Total"] if indent else []))
    first, second = (
        ["", *(text for sex in SEXES for text in (sex, *[""] * (len(ages) - 1)))],
        ["Area", *ages, *ages],
    )
    if total:
        first, second = [*first, "All" if indent else ""], [*second, "" if indent else "Total"]
    rows = [first, second]
    for area in AREAS:
        cells = [show(area, sex, "" if age == "Total" else age) for sex in SEXES for age in ages]
        rows.append([area, *cells, *([show(area, "", "")] if total else [])])
    return rows


def labels_said_once(show: Show, indent: str, total: bool) -> list[list[str]]:
    """Areas and sexes on the left, said once, perhaps with totals."""
    rows = [["Area", "Sex", *AGES, "All ages"]]
    for area in AREAS:
        for sex in (*SEXES, *(["Total"] if total else [])):
            known = "" if sex == "Total" else sex
            shown = [show(area, known, age) for age in (*AGES, "")]
            rows.append([area if indent or sex == SEXES[0] else "", sex, *shown])
    return rows


LAYOUTS = (
    rows_under_headings,
    rows_with_subtotals,
    classifications_in_columns,
    classifications_in_rows,
    headers_of_two_levels,
    labels_said_once,
)


def true_count(truth: Truth, labels: tuple[str, ...]) -> int:
    """How many people match the labels; totals match everybody."""
    known = [label for label in labels if not is_total_label(label)]
    assert all(label in (*AREAS, *SEXES, *AGES) for label in known), labels
    return sum(count for key, count in truth.items() if all(label in key for label in known))


@given(
    layout=hs.sampled_from(LAYOUTS),
    counts=hs.lists(hs.integers(0, 30), min_size=18, max_size=18),
    withheld=hs.sets(hs.integers(0, 60), max_size=12),
    indent=hs.sampled_from(["", "  "]),
    total=hs.booleans(),
    unstated=hs.sampled_from([0, 0, 1, 4]),
)
@settings(max_examples=examples(150), deadline=None)
def test_what_is_read_is_true(
    layout: Callable[[Show, str, bool], list[list[str]]],
    counts: list[int],
    withheld: set[int],
    indent: str,
    total: bool,
    unstated: int,
) -> None:
    """Some people's sex may not be stated; no column or row is about them."""
    keys = [(area, sex, age) for area in AREAS for sex in SEXES for age in AGES]
    truth = dict(zip(keys, counts, strict=True))
    truth |= {(area, "not stated", AGES[0]): unstated for area in AREAS}
    printed: list[str] = []

    def show(area: str, sex: str, age: str) -> str:
        labels = tuple(label for label in (area, sex, age) if label)
        printed.append("c" if len(printed) in withheld else str(true_count(truth, labels)))
        return printed[-1]

    rows = layout(show, indent, total)
    try:
        tables = read_grid(TextGrid([["Population"], [], *rows, [], ["Source: office"]], "T"))
    except ReleaseError as problem:
        refused = str(problem)
    else:
        refused = ""
        assert tables
    assert not refused or "classifications of the same people" in refused
    for table in [] if refused else tables:
        texts = [[one.label or one.code for one in dimension.categories] for dimension in table.dimensions]
        for labels in texts:  # no dimension mixes classifications
            kinds = [known for known in (AREAS, SEXES, AGES) if set(known) & set(labels)]
            assert len(kinds) == 1, labels
        for key, value in zip(table.codes.tolist(), table.values, strict=True):
            labels = tuple(texts[at][code] for at, code in enumerate(key))
            assert value in ("c", str(true_count(truth, labels))), (labels, value)
