"""Published counts are never taken for people, and people are never taken for counts."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import showthrough as st
from showthrough.formats.read_subject import read_subject
from showthrough.frames import Source
from showthrough.frames.counts_as_people import published_counts

AREAS, AGES, SEXES = ["North", "South"], ["0-17", "18-64", "65+"], ["f", "m"]


def tidy(
    name: str = "count",
    *,
    total: str | None = None,
    marks: tuple[str, ...] = (),
    keep: float = 1.0,
    shuffled: bool = False,
) -> pa.Table:
    """Counts by area, age and sex, as offices publish them."""
    draw = random.Random(3)  # noqa: S311
    sexes = [*SEXES, *([total] if total else [])]
    rows = [(*row, str(draw.randrange(400))) for row in itertools.product(AREAS, AGES, sexes)]
    rows = [row for row in rows if draw.random() < keep]
    for at, mark in enumerate(marks):
        rows[2 * at + 1] = (*rows[2 * at + 1][:3], mark)
    if shuffled:
        draw.shuffle(rows)
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("area", "age", "sex", name), map(list, columns), strict=True)))


def is_refused(table: pa.Table) -> bool:
    return published_counts(Source.of(table)) is not None


@pytest.mark.parametrize("name", ["count", "n", "Freq", "OBS_VALUE", "Anzahl", "Number of persons", "antal"])
def test_a_named_count_beside_distinct_combinations_is_refused(name: str) -> None:
    assert is_refused(tidy(name))
    assert is_refused(tidy(name, keep=0.6, shuffled=True))


@pytest.mark.parametrize("name", ["value", "persons", "population"])
def test_a_name_that_says_less_needs_a_complete_table(name: str) -> None:
    assert is_refused(tidy(name))


@pytest.mark.parametrize(
    "total", ["Total", "All", "Insgesamt", "Ensemble", "_T", "TOTAL", "Both sexes", "合計"]
)
def test_totals_are_refused_whatever_the_column_is_called(total: str) -> None:
    assert is_refused(tidy("x", total=total))
    assert is_refused(tidy("x", total=total, keep=0.7, shuffled=True))


@pytest.mark.parametrize("mark", ["c", "..", "<5", "[low]", ":", "(c)", "≤4", "s"])
def test_marks_among_numbers_are_refused_whatever_the_column_is_called(mark: str) -> None:
    assert is_refused(tidy("x", marks=(mark,)))


def test_a_status_column_and_a_constant_one_hide_nothing() -> None:
    table = tidy("x", total="Total").append_column("OBS_STATUS", pa.array(["A"] * 18))
    assert is_refused(table.append_column("year", pa.array(["2024"] * 18)))


def test_rates_with_totals_are_refused_too() -> None:
    table = tidy("x", total="Total")
    assert is_refused(table.set_column(3, "rate", pa.array([f"{at}.5" for at in range(18)])))


def test_a_row_that_is_there_twice_by_mistake_hides_nothing() -> None:
    rows = list(itertools.product("abcdefgh", "ijklmnop", SEXES))
    rows.append(rows[0])
    table = pa.table({str(at): [row[at] for row in rows] for at in range(3)})
    assert is_refused(table.append_column("count", pa.array([str(at) for at in range(len(rows))])))


def test_a_complete_table_of_numbers_under_a_strange_name_is_refused() -> None:
    rows = list(itertools.product("abc", "defg", SEXES))
    table = pa.table({str(at): [row[at] for row in rows] for at in range(3)})
    assert is_refused(table.append_column("zz", pa.array(range(24))))
    assert not is_refused(table.slice(0, 23).append_column("zz", pa.array(range(23))))


@pytest.mark.parametrize(
    "columns",
    [
        {"area": ["North", "South", "Total"], "x": ["3", "4", "7"], "y": ["1", "c", "5"]},
        {"area": ["North", "South"], "Female": ["3", "4"], "Male": ["1", "5"]},
        {"area": ["North", "South"], "0-17": ["3", "4"], "18-64": ["1", "5"], "65+": ["1", "5"]},
        {"area": ["North", "South"], "a": ["3", "4"], "b": ["1", "5"], "Total": ["4", "9"]},
        {"area": ["North", "South"], "a": ["<5", "40"], "b": ["<5", "50"]},
        {"code": ["01", "02", "03"], "2019": ["3", "4", "7"], "2020": ["1", "2", "5"]},
    ],
)
def test_cross_tables_are_refused(columns: dict[str, list[str]]) -> None:
    assert is_refused(pa.table(columns))


@pytest.mark.parametrize(
    "columns",
    [
        {"sex": ["f", "m"], "age": ["12", "40"]},
        {"id": ["1", "2", "3"], "age": ["12", "40", "41"], "income": ["100", "900", "20000"]},
        {"name": ["Ann", "Bob", "Cid"], "income": ["100", "900", "20000"], "children": ["0", "1", "5+"]},
        {"tenure": ["own", "rent", "own"], "rooms": ["1", "2", "3"], "persons": ["2", "1", "6"]},
        {"age": ["<1", "4", "90+", "17"], "sex": ["f", "m", "m", "f"], "job": ["a", "b", "c", "d"]},
        {"person": ["1", "2", "3"], "female": ["0", "1", "1"], "male": ["1", "0", "0"]},
        {"sex": ["f", "m", "f"], "age": ["1", "2", "3"], "weight": ["120", "80", "77"]},
        {"age": ["young", "old"] * 20, "sex": ["f", "f", "m", "m"] * 10, "count": ["1", "2", "3", "4"] * 10},
        {"test": ["x"] * 40, "score": [str(at % 7) for at in range(40)]},
    ],
)
def test_records_are_not_refused(columns: dict[str, list[str]]) -> None:
    assert not is_refused(pa.table(columns))


def test_random_people_are_not_refused() -> None:
    draw = random.Random(7)  # noqa: S311
    for size in (2, 3, 5, 8, 13, 40, 400):
        for _ in range(10):
            table = pa.table(
                {
                    "sex": [draw.choice(SEXES) for _ in range(size)],
                    "age": [str(draw.randrange(90)) for _ in range(size)],
                    "job": [draw.choice("abcdef") for _ in range(size)],
                    "income": [str(draw.randrange(10**5)) for _ in range(size)],
                    "size": [str(draw.randrange(1, 6)) for _ in range(size)],
                }
            )
            assert not is_refused(table), table.to_pydict()


def test_the_library_refuses_and_names_the_parameter(tmp_path: Path) -> None:
    table = tidy(total="Total", marks=("c",))
    for refuse in (
        lambda: st.read_records(table),
        lambda: st.check(table, "rho=0.3:0.6", sensitive="sex"),
        lambda: st.compare(table, "uniform", sensitive="sex", retention=0.5),
        lambda: st.publish(table, tmp_path / "out", sensitive="sex", retention=0.5),
    ):
        with pytest.raises(st.RecordsError, match=r"records=True"):
            refuse()
    assert not (tmp_path / "out").exists()
    assert len(st.read_records(table, records=True)) == 18


def test_commands_refuse_and_name_the_other_command(tmp_path: Path) -> None:
    st_file = tmp_path / "my counts.csv"
    lines = [",".join(row.values()) for row in tidy(total="Total", marks=("c",)).to_pylist()]
    st_file.write_text("\n".join(["area,age,sex,count", *lines]))
    every: list[dict[str, Any]] = [{}, {"by": "area"}, {"by": "area", "streaming": True}]
    for options in every:
        with pytest.raises(st.RecordsError) as caught:
            read_subject(st_file, tables=["age*sex"], **options)
        assert f"showthrough import '{st_file}' --out DIR" in str(caught.value)
        assert "--records" in str(caught.value)
        assert "'Total' in column sex is a total" in str(caught.value)
    assert read_subject(st_file, tables=["age*sex"], records=True).n_areas == 1


def test_a_schema_does_not_make_people_of_counts() -> None:
    schema = st.Schema.of({"age": AGES, "sex": SEXES})
    with pytest.raises(st.RecordsError, match="published counts"):
        st.read_records(tidy(), schema)


def test_what_cannot_be_read_is_left_to_the_reader() -> None:
    table = pa.table({"a": [[1], [2]], "sex": ["f", "m"], "count": ["1", "2"]})
    assert is_refused(table)
    assert not is_refused(pa.table({"a": [[1], [2]], "sex": ["f", "m"]}))


def test_several_measures_and_names_beside_codes_hide_nothing() -> None:
    counts = tidy("deaths").append_column("births", pa.array([str(7 * at % 11) for at in range(12)]))
    assert is_refused(counts)
    named = tidy("value").append_column("area_code", tidy()["area"])
    assert is_refused(named)


def test_small_records_with_a_number_are_not_refused() -> None:
    table = pa.table(
        {"sex": ["f", "m", "f", "m"], "job": ["a", "a", "b", "b"], "amount": ["500", "90", "7", "10"]}
    )
    assert not is_refused(table)
    assert not is_refused(table.rename_columns(["sex", "job", "value"]))
