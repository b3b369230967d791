"""Files of cells to hide, keep, waive or withhold, and flags beside counts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.cli.main import main
from showthrough.formats.policy_file import read_cell_orders, read_flags, read_policy
from showthrough.tables.protect.cell_rules import CellOrder, Distance
from showthrough.tables.protect.limits import Clock

SCHEMA = st.Schema.of({"sex": ["f", "m"], "ill": ["no", "yes"]})
LAYOUT = st.Layout(SCHEMA, tuple(st.make_table(SCHEMA, name) for name in ("sex*ill", "sex", "ill")))

COUNTS = """table,cell,value,status
sex*ill,"sex=f,ill=no",7,
sex*ill,"sex=f,ill=yes",1,1
sex*ill,"sex=m,ill=no",5,s
sex*ill,"sex=m,ill=yes",2,0
sex,sex=f,8,Z
sex,sex=m,7,
ill,ill=no,12,
ill,ill=yes,3,
"""

RELEASE = """
[attributes]
sex.values = ["f", "m"]
ill.values = ["no", "yes"]
[[tables]]
formula = "sex*ill"
[[tables]]
formula = "sex"
[[tables]]
formula = "ill"
"""


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_file_of_orders(tmp_path: Path) -> None:
    text = "table,cell,order,width,below,above,cost,reason\n"
    text += 'sex*ill,"ill=yes,sex=f",hide,3,,20%,,\n'
    text += "sex,sex=f,Keep,,,,,\nsex,sex=m,waive,,,,,out since May\nill,ill=no,,,,,2.5,\n"
    assert read_cell_orders(written(tmp_path, "cells.csv", text), LAYOUT) == (
        CellOrder(
            "sex*ill",
            "ill=yes,sex=f",
            width=Distance(Fraction(3)),
            above=Distance(Fraction(20), percent=True),
        ),
        CellOrder("sex", "sex=f", "keep"),
        CellOrder("sex", "sex=m", "waive", reason="out since May"),
        CellOrder("ill", "ill=no", "", cost=Fraction(5, 2)),
    )


def test_without_a_column_of_orders_cells_are_hidden_and_tables_may_be_left_out(tmp_path: Path) -> None:
    file = written(tmp_path, "cells.csv", 'cell\n"sex=f,ill=yes"\n')
    assert read_cell_orders(file, LAYOUT) == (CellOrder("sex*ill", "ill=yes,sex=f"),)


def test_flags_beside_counts(tmp_path: Path) -> None:
    found = read_flags(written(tmp_path, "counts.csv", COUNTS), LAYOUT, "status")
    assert found == (CellOrder("sex*ill", "ill=yes,sex=f"), CellOrder("sex", "sex=f", "keep"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("table,cell\nsex,sex=x\n", "row 1, column cell: table sex has no such cell (found 'sex=x')"),
        ("table,cell\nseks,sex=f\n", "row 1, column table: the release has no such table (found 'seks')"),
        ("table,cell,ordr\nsex,sex=f,hide\n", "column ordr: a file of orders has no such column"),
        ("table,cell,order\nsex,sex=f,hidden\n", "row 1, column order: unknown order for a cell"),
        ("table,cell,order\nsex,sex=f,keep\nsex,sex=m,waive\n", "row 2: a waiver has no reason"),
        ("table,cell,width\nsex,sex=f,1.5\n", "row 1, column width: a distance must be a whole number"),
        ("table,cell,cost\nsex,sex=f,-1\n", "row 1, column cost: a cost must be a number, 0 or more"),
        ("table,cell,cost\nsex,sex=f,nan\n", "row 1, column cost: a cost must be a number, 0 or more"),
        ("table,count\nsex,1\n", "column count: a file of orders has no such column"),
        ("table,order\nsex,hide\n", "column cell: the column cell is missing"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(st.InputError) as error:
        read_cell_orders(written(tmp_path, "cells.csv", text), LAYOUT)
    assert f"cells.csv, {problem}" in str(error.value)


def test_what_is_wrong_with_flags(tmp_path: Path) -> None:
    file = written(tmp_path, "counts.csv", COUNTS.replace(",1,1", ",1,maybe"))
    with pytest.raises(st.InputError, match="row 2, column status: unknown flag"):
        read_flags(file, LAYOUT, "status")
    with pytest.raises(st.InputError, match=r"column statu: no such column.*did you mean 'status'"):
        read_flags(file, LAYOUT, "statu")


def test_a_policy_file_has_rules_orders_and_a_list_of_cells(tmp_path: Path) -> None:
    written(tmp_path, "cells.csv", "table,cell,order\nsex,sex=m,keep\n")
    text = """
forbid = ["count<=2,below>=1", "singletons"]
cell_list = "cells.csv"

[[cells]]
table = "ill"
cell = "ill=yes"
order = "withhold"
above = "20%"
width = 3
cost = 2.5
reason = "unreliable"

[change]
keep_zeros = true

[cost]
totals = 3
levels = { sex = 2 }
"""
    policy = read_policy(written(tmp_path, "policy.toml", text), SCHEMA, layout=LAYOUT)
    assert [str(rule) for rule in (*policy.cells, *policy.forbidden)] == ["count<=2,below>=1", "singletons"]
    withhold, keep = policy.orders
    assert keep == CellOrder("sex", "sex=m", "keep")
    assert (withhold.order, withhold.cost, withhold.reason) == ("withhold", Fraction(5, 2), "unreliable")
    assert (str(withhold.width), str(withhold.above)) == ("3", "20%")
    assert policy.change.keep_zeros
    assert (policy.cost.totals, policy.cost.levels) == (3, {"sex": 2})
    with pytest.raises(st.SchemaError, match="seks"):
        read_policy(
            written(tmp_path, "p.toml", text.replace("sex = 2", "seks = 2")), SCHEMA, layout=LAYOUT
        ).check(LAYOUT)


@pytest.fixture
def release(tmp_path: Path) -> list[str]:
    counts = written(tmp_path, "counts.csv", COUNTS)
    return ["--release", str(written(tmp_path, "release.toml", RELEASE)), str(counts)]


def test_the_command_says_what_it_reached(
    release: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = "table,cell,order,cost,reason\nsex,sex=m,waive,,out since May\nill,ill=no,,4,\n"
    options = ["--cells", str(written(tmp_path, "cells.csv", cells)), "--flags", "status"]
    options += ["--moves", "suppress", "--seconds", "20", "--gap", "5%", "--out", str(tmp_path / "safe")]
    code = main(["protect", *release, "--forbid", "count<=2", *options, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == said["exit_code"] == 0
    assert (said["status"], said["cost"], said["lower_bound"], said["gap"]) == ("safe", 4, 4, 0)
    assert said["seconds"] > 0
    assert said["steps"][-1]["cost"] == 4
    assert {"area", "cost", "lower_bound", "seconds"} == set(said["steps"][-1])
    (plan,) = said["plans"]
    assert plan["waivers"] == [{"area": "", "table": "sex", "cell": "sex=m", "reason": "out since May"}]
    rows = pq.read_table(tmp_path / "safe" / "intervals.parquet").to_pylist()
    assert rows == said["intervals"]
    assert {row["cell"] for row in rows if row["protected"]} == {"ill=yes,sex=f", "ill=yes,sex=m"}
    page = (tmp_path / "safe" / "report.html").read_text()
    assert "What readers can still know" in page
    assert "Waived: sex=m of sex (out since May)." in page
    assert (
        main(["recover", "--release", *(str(tmp_path / "safe" / f) for f in ("release.toml", "counts.csv"))])
        == 0
    )


def test_orders_about_areas_that_do_not_exist_are_refused(
    release: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = written(tmp_path, "cells.csv", "area,table,cell\nNowhere,sex,sex=m\n")
    assert main(["protect", *release, "--cells", str(cells), "--out", str(tmp_path / "safe")]) == 2
    assert "there is no such area" in capsys.readouterr().err
    assert not (tmp_path / "safe").exists()


def test_an_interrupted_search_writes_the_best_plan(
    release: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def note(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "note", note)
    out = tmp_path / "safe"
    code = main(
        ["protect", *release, "--forbid", "count<=2", "--moves", "suppress", "--out", str(out), "--json"]
    )
    said = json.loads(capsys.readouterr().out)
    assert code == said["exit_code"] == 130
    assert (said["status"], said["interrupted"]) == ("safe", True)
    assert (out / "counts.csv").exists()
