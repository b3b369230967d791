"""Printed tables become a release that the true records agree with."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest

import showthrough as st
from needs import SLOW
from showthrough.formats.meaning.ranges import parse_range
from showthrough.formats.meaning.understand import understand
from showthrough.formats.meaning.understood import Corrections, Understood
from showthrough.formats.printed.table import Category, Dimension, PrintedTable
from showthrough.notation import Rounding

Person = Mapping[str, str]


def printed(
    name: str,
    dimensions: Mapping[str, Sequence[str]],
    values: Sequence[str],
    *,
    parents: Mapping[str, str] | None = None,
    measure: str = "",
) -> PrintedTable:
    """A table with all combinations, in order."""
    made = tuple(
        Dimension(one, tuple(Category(text, parent=(parents or {}).get(text)) for text in texts))
        for one, texts in dimensions.items()
    )
    codes = list(itertools.product(*(range(len(texts)) for texts in dimensions.values())))
    at = np.array(codes, np.int32)
    rows = range(1, len(codes) + 1)
    return PrintedTable(name, made, at, list(values), rows=rows, file=f"{name}.csv", measure=measure)


def cells(found: Understood, area: str = "") -> dict[str, str]:
    return {cell.name: cell.value() for cell in found.releases[area].cells}


def test_totals_are_margins_and_marks_are_unknown() -> None:
    found = understand([printed("t", {"sex": ["f", "m", "Total"]}, ["3", "c", "7"])])
    assert cells(found) == {"sex=f": "3", "sex=m": "unknown", "total": "7"}
    assert [(mark.text, mark.number, mark.declared) for mark in found.marks] == [("c", 1, False)]
    assert '--rest "sex"' in found.questions[0]
    assert '--mark "c=1-4"' in found.questions[1]
    assert found.rows()[1] == ("t", "sex (2)", "3", "3", "sex")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<5", "0-4"),
        ("≤4", "0-4"),
        ("fewer than 5", "0-4"),
        ("1-4", "1-4"),
        ("1 to 4", "1-4"),
        ("10+", ">=10"),
        ("10 or more", ">=10"),
        ("-", "unknown"),
        ("..", "unknown"),
        (":", "unknown"),
        ("[low]", "unknown"),
        ("n/a", "unknown"),
        ("1,234", "1234"),
        ("1 234", "1234"),
        ("12.0", "12"),
        ("007", "7"),
    ],
)
def test_values(text: str, expected: str) -> None:
    found = understand([printed("t", {"sex": ["f", "m"]}, [text, "8"])])
    assert cells(found)["sex=f"] == expected


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["12.5", "8"], "decimal number or a percentage"),
        (["45 %", "8"], "decimal number or a percentage"),
        (["12,5", "8"], "decimal number or a percentage"),
        (["1.234", "8"], "point between thousands"),
        (["-3", "8"], "negative number"),
        (["1,234", "1 234"], "separated in two ways"),
        (["see note 123 below", "8"], "neither a count nor a mark"),
        (["9" * 30, "8"], "too large"),
        (["12.000", "5.000"], "point between thousands"),
        ([f"a{at}" for at in range(40)], "40 different marks"),
    ],
)
def test_what_is_no_count_is_refused_with_its_place(values: list[str], problem: str) -> None:
    with pytest.raises(st.ReleaseError, match=problem) as caught:
        understand([printed("t", {"age": [str(at) for at in range(len(values))]}, values, measure="n")])
    assert "t.csv, row" in str(caught.value)
    assert "column n" in str(caught.value)


def test_points_between_thousands_are_read_where_they_are_clear_or_declared() -> None:
    table = printed("t", {"sex": ["f", "m"]}, ["1.234", "1.234.567"])
    assert cells(understand([table])) == {"sex=f": "1234", "sex=m": "1234567"}
    table = printed("t", {"sex": ["f", "m"]}, ["12.000", "1.234.567"])
    assert cells(understand([table]))["sex=f"] == "12000"
    table = printed("t", {"sex": ["f", "m"]}, ["12.000", "5.000"])
    assert cells(understand([table], Corrections(thousands=".")))["sex=f"] == "12000"
    table = printed("t", {"sex": ["f", "m"]}, ["1'234", "8"])
    assert cells(understand([table], Corrections(thousands="'")))["sex=f"] == "1234"
    table = printed("t", {"sex": ["f", "m"]}, ["1.234", "8"])
    assert cells(understand([table], Corrections(thousands=".")))["sex=f"] == "1234"


def test_ranges_of_several_tables_are_divided_into_common_parts() -> None:
    found = understand(
        [
            printed("a", {"age": ["0-17", "18-64", "65+", "Total"]}, ["9", "20", "3", "32"]),
            printed("b", {"Age": ["Under 5", "5 to 9", "10-17", "16 and over"]}, ["1", "2", "6", "25"]),
        ]
    )
    (age,) = found.releases.layout.schema.attributes
    assert age.values == ("Under 5", "5 to 9", "10-15", "16-17", "18-64", "65+")
    chosen = dict(
        zip((name for _, name in found.releases.layout.names), found.releases.layout.selections, strict=True)
    )
    assert chosen["age=0-17"]["age"] == {"Under 5", "5 to 9", "10-15", "16-17"}
    assert chosen["age=10-17"]["age"] == {"10-15", "16-17"}
    assert chosen["total"].terms == ()


def test_ranges_that_share_their_ends_are_plain_categories() -> None:
    found = understand([printed("t", {"km": ["0-5", "5-10", "10-20"]}, ["1", "2", "3"])])
    assert found.releases.layout.schema["km"].values == ("0-5", "5-10", "10-20")


def test_a_total_of_some_ranges_is_their_sum_unless_it_exceeds_it() -> None:
    adults = printed("a", {"age": ["15-64", "65+", "Total"]}, ["20", "3", "23"])
    all_ages = printed("b", {"age": ["0-14", "15+"]}, ["5", "23"])
    found = understand([adults, all_ages])
    chosen = dict(zip(found.releases.layout.names, found.releases.layout.selections, strict=True))
    assert chosen["a", "total"]["age"] == {"15-64", "65+"}
    wider = printed("a", {"age": ["15-64", "65+", "Total"]}, ["20", "3", "28"])
    found = understand([wider, all_ages])
    chosen = dict(zip(found.releases.layout.names, found.releases.layout.selections, strict=True))
    assert chosen["a", "total"].terms == ()
    assert not found.conflicts


def test_parents_are_sums_of_their_children() -> None:
    parents = {"full-time": "employed", "part-time": "employed"}
    work = ["Total", "employed", "full-time", "part-time", "unemployed"]
    found = understand([printed("t", {"work": work}, ["9", "7", "4", "3", "2"], parents=parents)])
    assert found.releases.layout.schema["work"].values == ("full-time", "part-time", "unemployed")
    assert found.releases.layout.selections[1]["work"] == {"full-time", "part-time"}
    coarse = printed("u", {"work": ["employed", "unemployed"]}, ["7", "2"])
    both = understand([printed("t", {"work": work}, ["9", "7", "4", "3", "2"], parents=parents), coarse])
    assert len(both.releases.layout.schema.attributes) == 1


def test_the_parent_of_all_is_a_total() -> None:
    parents = {"f": "everybody", "m": "everybody"}
    found = understand([printed("t", {"sex": ["everybody", "f", "m"]}, ["9", "7", "2"], parents=parents)])
    assert cells(found) == {"total": "9", "sex=f": "7", "sex=m": "2"}


def test_categories_that_contain_each_other_are_an_error() -> None:
    parents = {"a": "b", "b": "a"}
    with pytest.raises(st.ReleaseError, match="contain each other"):
        understand([printed("t", {"x": ["a", "b", "c", "d"]}, ["9", "7", "2", "1"], parents=parents)])


def test_other_categories_are_another_attribute_unless_declared() -> None:
    a = printed("a", {"group": ["A", "B", "Other", "Total"]}, ["1", "2", "3", "6"])
    b = printed("b", {"group": ["A", "B", "C", "D", "Total"]}, ["1", "2", "1", "2", "6"])
    found = understand([a, b])
    assert found.releases.layout.schema.names == ("group", "group (b)")
    assert '--same "group"' in found.questions[0]
    assert len(understand([a, b], Corrections(same=("group",))).releases.layout.schema.attributes) == 1


def test_a_single_category_beside_a_total_leaves_a_rest() -> None:
    found = understand([printed("t", {"ill": ["yes", "Total"]}, ["3", "9"])])
    assert found.releases.layout.schema["ill"].values == ("yes", "not yes")
    assert not found.conflicts


def test_a_rest_can_be_declared() -> None:
    table = printed("t", {"sex": ["f", "m", "Total"]}, ["3", "4", "9"])
    (conflict,) = understand([table]).conflicts
    assert conflict == "table t, row 3: Total of sex is 9, but its parts add up to at most 7"
    found = understand([table], Corrections(rest=("sex",)))
    assert found.releases.layout.schema["sex"].values == ("f", "m", "other")
    assert not found.conflicts


def test_that_categories_add_up_is_asked_where_counts_do_not_show_it() -> None:
    exact = printed("t", {"sex": ["f", "m", "Total"]}, ["3", "4", "7"])
    assert not understand([exact]).questions
    hidden = printed("t", {"sex": ["f", "m", "Total"]}, ["3", "<5", "7"])
    assert '--rest "sex"; if not: --complete' in understand([hidden]).questions[0]
    assert not understand([hidden], Corrections(complete=True)).questions
    shown = printed(
        "t", {"sex": ["f", "m", "Total"], "age": ["0-9", "10+"]}, ["3", "9", "<5", "8", "7", "17"]
    )
    assert not understand([shown]).questions


def test_suppressed_parts_contradict_only_if_no_count_fits() -> None:
    table = printed("t", {"sex": ["f", "m", "Total"]}, ["3", "c", "9"])
    assert not understand([table]).conflicts
    assert understand([table], Corrections(mark={"c": "1-4"})).conflicts
    assert not understand([table], Corrections(mark={"c": "1-6"})).conflicts


def test_rounded_counts_are_taken_as_rounded_if_that_is_no_accident() -> None:
    ages = [str(age) for age in range(12)]
    table = printed("t", {"age": ages}, [str(5 * (at + 1)) for at in range(12)])
    found = understand([table])
    assert cells(found)["age=3"] == "16-24"
    assert "--rounding 5:conventional" in found.questions[0]
    assert cells(understand([table], Corrections(rounding=Rounding(1))))["age=3"] == "20"
    assert cells(understand([table], Corrections(rounding=Rounding(5))))["age=3"] == "18-22"
    few = printed("t", {"age": ages[:5]}, ["5", "10", "15", "20", "0"])
    found = understand([few])
    assert cells(found)["age=3"] == "20"
    assert "if they are rounded, declare it" in found.questions[0]


def test_areas_are_known_by_name_and_audited_one_by_one() -> None:
    table = printed("t", {"Region": ["North", "South"], "sex": ["f", "m"]}, ["1", "2", "3", "4"])
    found = understand([table])
    assert found.releases.areas == ("North", "South")
    assert cells(found, "South") == {"sex=f": "3", "sex=m": "4"}
    whole = understand([table], Corrections(area=("none",)))
    assert whole.releases.layout.schema.names == ("Region", "sex")
    other = understand([table], Corrections(area=("sex",)))
    assert other.releases.areas == ("f", "m")


def test_areas_with_a_total_are_audited_together_where_counts_are_suppressed() -> None:
    values = ["c", "2", "3", "4", "4", "6"]
    table = printed("t", {"area": ["North", "South", "Total"], "sex": ["f", "m"]}, values)
    found = understand([table], Corrections(mark={"c": "unknown"}))
    assert found.releases.layout.schema.names == ("area", "sex")
    bounds = st.bounds(found.releases[""], "area=North,sex=f")
    assert (bounds.low, bounds.high) == (1, 1)
    split = understand([table], Corrections(mark={"c": "unknown"}, area=("area",)))
    assert any("NOT found" in note for note in split.notes)


def test_times_are_areas_where_there_are_several() -> None:
    values = [str(at) for at in range(8)]
    table = printed("t", {"year": ["2023", "2024"], "area": ["N", "S"], "sex": ["f", "m"]}, values)
    assert understand([table]).releases.areas == ("2023, N", "2023, S", "2024, N", "2024, S")
    one = understand([table], Corrections(only=("year=2024",)))
    assert one.releases.areas == ("N", "S")
    assert any("year is always 2024" in note for note in one.notes)


def test_dropping_a_dimension_takes_its_total() -> None:
    table = printed("t", {"sex": ["f", "Total"], "age": ["0-9", "10+"]}, ["1", "2", "3", "4"])
    assert cells(understand([table], Corrections(drop=("sex",)))) == {"age=0-9": "3", "age=10+": "4"}


def test_a_cell_that_is_there_twice_is_an_error() -> None:
    table = printed("t", {"sex": ["f", "m"], "unit": ["persons", "homes"]}, ["1", "2", "3", "4"])
    with pytest.raises(st.ReleaseError, match=r"row 2.*another value already \(row 1\): 1.*--only"):
        understand([table], Corrections(drop=("unit",)))
    same = printed("t", {"sex": ["f", "m"], "unit": ["persons", "homes"]}, ["1", "1", "3", "3"])
    assert cells(understand([same], Corrections(drop=("unit",)))) == {"sex=f": "1", "sex=m": "3"}


def test_missing_combinations_can_be_zeros() -> None:
    whole = printed("t", {"sex": ["f", "m"], "age": ["0-9", "10+"]}, ["1", "2", "3", "4"])
    table = PrintedTable("t", whole.dimensions, whole.codes[:3], whole.values[:3])
    assert "age=10+,sex=m" not in cells(understand([table]))
    assert cells(understand([table], Corrections(missing="0")))["age=10+,sex=m"] == "0"


@pytest.mark.parametrize(
    ("corrections", "problem"),
    [
        (Corrections(area=("aera",)), "--area: no such dimension"),
        (Corrections(drop=("aera",)), "--drop: no such dimension"),
        (Corrections(only=("aera=1",)), "--only: no such dimension"),
        (Corrections(only=("sex=x",)), "--only: no such category"),
        (Corrections(sheet=("u",)), "--sheet: no such table"),
        (Corrections(rest=("u",)), "--rest: no such dimension"),
        (Corrections(mark={"c": "few"}), "--mark: the meaning of the mark 'c'"),
        (Corrections(missing="few"), "--missing: what is missing cannot be read"),
        (Corrections(thousands="x"), "--thousands: not a thousands separator"),
    ],
)
def test_corrections_that_name_nothing_are_errors(corrections: Corrections, problem: str) -> None:
    with pytest.raises(st.ReleaseError, match=problem):
        understand([printed("t", {"sex": ["f", "m"]}, ["1", "2"])], corrections)


def test_nothing_but_areas_is_an_error() -> None:
    with pytest.raises(st.ReleaseError, match="--area none"):
        understand([printed("t", {"area": ["N", "S"]}, ["1", "2"])])


def test_equal_labels_with_different_codes_stay_apart() -> None:
    places = Dimension("place", (Category("1", "Newcastle"), Category("2", "Newcastle")))
    table = PrintedTable("t", (places,), np.array([[0], [1]], np.int32), ["3", "4"])
    found = understand([table], Corrections(area=("none",)))
    assert cells(found) == {"place=1": "3", "place=2": "4"}


# The property that matters: whatever is printed of true records, the records agree with what is understood.

BREAKS = (5, 10, 16, 18, 25, 45, 65)


def _ages(draw: random.Random) -> list[str]:
    """Ranges that cover all ages from 0 to 79, now and then one more that overlaps them."""
    cuts = [0, *sorted(draw.sample(BREAKS, draw.randrange(1, 5)))]
    texts = [f"{low}-{high - 1}" for low, high in itertools.pairwise(cuts)] + [f"{cuts[-1]}+"]
    if draw.random() < 0.4:
        texts.append(draw.choice(["Under 25", "16 and over", "18-64"]))
    return texts


def _matches(person: Person, name: str, text: str) -> bool:
    if text in ("Total", "All ages"):
        return True
    ends = parse_range(text)
    if name == "age" and ends is not None:
        return ends[0] <= int(person["age"]) and (ends[1] is None or int(person["age"]) <= ends[1])
    return person[name] == text


def _table(
    draw: random.Random, name: str, people: Sequence[Person], mark: Callable[[int], str]
) -> PrintedTable:
    every = {
        "area": ["N", "S"] + ["Total"] * draw.randrange(2),
        "age": _ages(draw) + ["All ages"] * draw.randrange(2),
        "sex": ["f", "m"] + ["Total"] * draw.randrange(2),
    }
    used = {one: every[one] for one in draw.sample(sorted(every), draw.randrange(1, 4))}
    values = [
        mark(sum(all(_matches(person, *pair) for pair in zip(used, row, strict=True)) for person in people))
        for row in itertools.product(*used.values())
    ]
    return printed(name, used, values)


def _as_record(person: Person, schema: st.Schema) -> dict[str, str]:
    return {
        name: next(value for value in schema[name].values if _matches(person, name, value))
        for name in schema.names
    }


@pytest.mark.parametrize("seed", range(600 if SLOW else 30))
def test_true_records_agree_with_what_is_understood(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    people = [
        {"area": draw.choice("NS"), "age": str(draw.randrange(80)), "sex": draw.choice("fm")}
        for _ in range(draw.randrange(3, 40))
    ]
    base = draw.choice([1, 1, 3, 5])

    def mark(count: int) -> str:
        if base > 1:
            return str(base * (count // base + draw.randrange(2) * (count % base > 0)))
        return "c" if 0 < count < 4 and draw.random() < 0.7 else str(count)

    tables = [_table(draw, name, people, mark) for name in "xyz"[: draw.randrange(1, 4)]]
    declared = draw.random() < 0.5
    rounding = Rounding(base, "random") if base > 1 else Rounding(1)
    corrections = Corrections(mark={"c": "1-4"} if declared else {}, rounding=rounding)
    if all({one.name for one in table.dimensions} == {"area"} for table in tables):
        tables.append(
            printed("w", {"sex": ["f", "m"]}, [mark(sum(p["sex"] == s for p in people)) for s in "fm"])
        )
    found = understand(tables, corrections)
    assert not found.conflicts
    by_area = {"": people, "Total": people, **{a: [p for p in people if p["area"] == a] for a in "NS"}}
    for release in found.releases:
        rows = [_as_record(person, release.schema) for person in by_area[release.area]]
        if rows:
            assert release.agrees_with(st.Records.of(rows, release.schema)), (release.area, found.rows())


def test_a_frame_is_read_as_it_is() -> None:
    table = pa.table({"sex": ["f", "m", "Total"], "n": [3, 4, 7]})
    assert cells(st.read_tables(table)) == {"sex=f": "3", "sex=m": "4", "total": "7"}


def test_tables_that_disagree_are_named() -> None:
    people = printed("people", {"sex": ["f", "m", "Total"]}, ["10", "12", "22"])
    employed = printed("employed", {"age": ["15-64", "65+", "Total"]}, ["11", "2", "13"])
    found = understand([people, employed])
    assert found.conflicts == (
        "table people counts 22 records, and table employed 13: they are not about the same ones",
        "total is 22 in table people, and 13 in table employed, where it counts the same records",
    )
    assert any("same records" in note for note in found.notes)
    areas = ["N", "S"]
    one = printed("one", {"area": areas, "sex": ["f", "m"]}, ["1", "2", "3", "4"])
    two = printed("two", {"area": areas, "sex": ["f", "m"]}, ["1", "2", "3", "c"])
    assert not understand([one, two]).conflicts
    conflicts = understand([one, two], Corrections(mark={"c": "1-3"})).conflicts
    assert conflicts[0].startswith("S: table one counts 7 records, and table two 4 to 6")
    assert conflicts[1].startswith("S: sex=m is 4 in table one, and c in table two")


def test_lists_of_figures_are_questioned() -> None:
    table = printed("t", {"Variable": ["population", "employed"], "sex": ["f", "m"]}, ["9", "8", "3", "4"])
    assert '--only "Variable=population"' in understand([table]).questions[0]
    found = understand([table], Corrections(only=("Variable=population",)))
    assert not found.questions


def test_tables_that_may_count_other_records_are_questioned() -> None:
    people = printed("people", {"sex": ["f", "m"]}, ["10", "12"])
    jobs = printed("jobs", {"job": ["clerk", "nurse", "baker"]}, ["9", "4", "c"])
    found = understand([people, jobs], Corrections(mark={"c": "unknown"}))
    assert any("--rest COLUMN" in text for text in found.questions)
    assert not understand([people, jobs], Corrections(mark={"c": "unknown"}, complete=True)).questions
    with_rest = understand([people, jobs], Corrections(mark={"c": "unknown"}, rest=("job",)))
    assert not any("table jobs" in text for text in with_rest.questions)
    bounds = st.bounds(with_rest.releases[""], "job=baker")
    assert (bounds.low, bounds.high) == (0, 9)
    exact = printed("jobs", {"job": ["clerk", "nurse", "baker"]}, ["9", "4", "9"])
    assert not understand([people, exact]).questions


def test_a_category_that_other_tables_do_not_name_leaves_a_rest() -> None:
    girls = printed("girls", {"sex": ["f"], "age": ["0-9", "10+"]}, ["1", "2"])
    everybody = printed("everybody", {"age": ["0-9", "10+"]}, ["3", "4"])
    found = understand([girls, everybody])
    assert found.releases.layout.schema["sex"].values == ("f", "not f")
    assert not found.conflicts
    alone = understand([girls])
    assert alone.releases.layout.schema.names == ("age",)


@pytest.mark.parametrize("seed", range(1_000 if SLOW else 40))
def test_tables_about_other_records_are_never_mixed_silently(seed: int) -> None:
    draw = random.Random(1000 + seed)  # noqa: S311
    people = [
        {"area": "N", "age": str(draw.randrange(80)), "sex": draw.choice("fm"), "employed": draw.choice("yn")}
        for _ in range(draw.randrange(3, 30))
    ]
    employed = [person for person in people if person["employed"] == "y"]

    def mark(count: int) -> str:
        return "c" if 0 < count < 4 and draw.random() < 0.7 else str(count)

    chosen = [draw.choice([people, employed]) for _ in "xyz"]
    tables = [_table(draw, name, some, mark) for name, some in zip("xyz", chosen, strict=True)]
    corrections = Corrections(mark={"c": "1-3"}, rounding=Rounding(1), area=("none",))
    try:
        found = understand(tables, corrections)
    except st.ReleaseError as refused:  # two rows of a table are the same cell, and only one has the mark
        if "has another value already" in str(refused):
            return
        raise
    if found.conflicts or found.questions:
        return
    (release,) = found.releases
    every = [
        st.Records.of([_as_record(one, release.schema) for one in some], release.schema)
        for some in (people, employed)
    ]
    assert any(release.agrees_with(records) for records in every), (found.rows(), found.notes)


def test_dimensions_without_a_name_get_one() -> None:
    table = printed("t", {"": ["a", "b", "Total"], "sex": ["f", "m"]}, ["<5", "1", "2", "3", "4", "4"])
    found = understand([table])
    assert found.releases.layout.schema.names == ("dimension 1", "sex")
    assert '--rest "dimension 1"' in found.questions[0]
    sexes = printed("t", {"": ["Males", "Females", "Total"]}, ["1", "2", "4"])
    assert "Total of sex is 4" in understand([sexes]).conflicts[0]


def test_totals_over_areas_are_no_question() -> None:
    table = printed("t", {"area": ["N", "S", "Total"], "sex": ["f", "m"]}, ["<5", "1", "2", "3", "4", "4"])
    found = understand([table], Corrections(area=("area",)))
    assert not found.questions


def test_spellings_of_categories_are_one() -> None:
    one = printed("one", {"Sex": ["Female", "Male"]}, ["10", "12"])
    for texts in (["f", "m"], ["female", "MALE"], ["Women", "Men"]):
        other = printed("other", {"sex": texts, "age": ["0-9", "10+"]}, ["4", "6", "5", "7"])
        found = understand([one, other])
        assert found.releases.layout.schema.names == ("Sex", "age")
        assert not found.conflicts
        unnamed = printed("other", {"": texts}, ["10", "12"])
        assert understand([one, unnamed]).releases.layout.schema.names == ("Sex",)
    four = printed("four", {"sex": ["Boys", "Girls", "Men", "Women"]}, ["1", "2", "11", "8"])
    found = understand([one, four])
    assert found.releases.layout.schema.names == ("Sex", "sex (four)")
    assert '--same "sex"' in found.questions[0]
