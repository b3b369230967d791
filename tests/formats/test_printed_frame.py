"""Data frames as tables: crosstabs, pivots and groupings of pandas and polars."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from printed_tables import shown
from showthrough.errors import ReleaseError
from showthrough.formats.printed.frame import read_frame

PEOPLE = pd.DataFrame(
    {
        "area": ["n", "n", "n", "s", "s", "s"],
        "sex": ["m", "f", "f", "m", "m", "f"],
        "age": ["young", "old", "young", "old", "young", "old"],
    }
)


def test_crosstab_with_margins() -> None:
    [table] = read_frame(pd.crosstab(PEOPLE.area, PEOPLE.sex, margins=True, margins_name="Total"), name="T")
    assert shown(table) == (
        [("area", ["n", "s", "Total"]), ("sex", ["f", "m", "Total"])],
        ["2", "1", "3", "1", "2", "3", "3", "3", "6"],
    )
    assert (table.name, table.across) == ("T", 1)


def test_several_levels_and_margins() -> None:
    """What pandas leaves empty beside margins is the same total."""
    made = pd.crosstab([PEOPLE.area, PEOPLE.age], PEOPLE.sex, margins=True)
    [table] = read_frame(made)
    assert shown(table)[0] == [
        ("area", ["n", "s", "All"]),
        ("age", ["old", "young", "All"]),
        ("sex", ["f", "m", "All"]),
    ]
    turned = pd.crosstab(PEOPLE.sex, [PEOPLE.area, PEOPLE.age], margins=True)
    [table] = read_frame(turned)
    assert [one.name for one in table.dimensions] == ["sex", "area", "age"]
    assert table.across == 2
    assert table.values[-1] == "6"


def test_pivots_and_groupings() -> None:
    counted = PEOPLE.assign(count=1).pivot_table(index="area", columns="sex", values=["count"], aggfunc="sum")
    expected = ([("area", ["n", "s"]), ("sex", ["f", "m"])], ["2", "1", "1", "2"])
    assert shown(read_frame(counted)[0]) == expected
    assert shown(read_frame(PEOPLE.groupby(["area", "sex"]).size())[0]) == expected
    assert shown(read_frame(PEOPLE.groupby(["area", "sex"]).size().unstack())[0]) == expected


def test_frames_without_an_index_are_read_as_sheets() -> None:
    flat = pd.DataFrame({"area": ["n", "s"], "m": [1, 2], "f": ["c", 4.0]})
    expected = ([("area", ["n", "s"]), ("", ["m", "f"])], ["1", "c", "2", "4"])
    assert shown(read_frame(flat)[0]) == expected
    assert shown(read_frame(pl.DataFrame({"area": ["n", "s"], "m": [1, 2], "f": ["c", "4"]}))[0]) == expected
    assert shown(read_frame(pa.table({"area": ["n", "s"], "m": [1, 2], "f": ["c", "4"]}))[0]) == expected


def test_polars_pivots() -> None:
    people = pl.DataFrame(PEOPLE.to_dict("list")).with_columns(pl.lit(1).alias("one"))
    made = people.pivot(
        ["sex", "age"], index="area", values="one", aggregate_function="sum", sort_columns=True
    )
    [table] = read_frame(made)
    assert shown(table)[0] == [("area", ["n", "s"]), ("", ["f", "m"]), ("", ["old", "young"])]
    assert list(table.values) == ["1", "1", "0", "1", "1", "0", "1", "1"]


def test_missing_labels_are_no_totals() -> None:
    """People without a value are a category of their own."""
    made = pd.crosstab(PEOPLE.area, PEOPLE.sex)
    made.index = pd.Index(["n", np.nan], name="area")
    assert shown(read_frame(made)[0])[0][0] == ("area", ["n", "(missing)"])
    both = pd.Series(
        [1, 2, 3], pd.MultiIndex.from_tuples([("a", "x"), ("a", ""), ("All", "")], names=["p", "q"])
    )
    assert shown(read_frame(both)[0])[0] == [("p", ["a", "All"]), ("q", ["x", "(missing)", "All"])]
    polars = pl.DataFrame({"area": ["n", None], "m": [1, 2], "f": [3, 4]})
    assert shown(read_frame(polars)[0])[0][0] == ("area", ["n", "(missing)"])


def test_refused() -> None:
    twice = pd.DataFrame([[1], [2]], index=pd.Index(["a", "a"], name="x"), columns=["count"])
    with pytest.raises(
        ReleaseError, match="row 2, column 1: two cells of the data frame have the same labels"
    ):
        read_frame(twice)
    with pytest.raises(ReleaseError, match="not a cross-table"):
        read_frame(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(ReleaseError, match="not a data frame"):
        read_frame([1, 2])


def test_nothing_is_imported_for_others() -> None:
    code = (
        "import sys; from showthrough.formats.printed import excel, frame, jsonstat, sdmx;"
        "names = ('pandas', 'polars', 'python_calamine', 'xlsxwriter', 'pysdmx');"
        "sys.exit(any(name in sys.modules for name in names))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
