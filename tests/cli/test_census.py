"""The census commands, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import showthrough as st
from command import Ran, Run, runner
from showthrough.census.blocks import read_blocks
from showthrough.census.figures import PAPER_COVERED
from showthrough.census.simulator import simulate_households
from showthrough.census.tables_2020 import census_layout
from showthrough.cli import main
from showthrough.tables.run.batch import Planned

#: Without a page, which takes longer than an audit of few homes.
QUIET = ("--quiet", "--no-report")

#: Few blocks with few homes, so that an audit of all takes no second.
N_BLOCKS, SEED, LARGEST = 3, 12, 12


def small_blocks(children: bool = False) -> pa.Table:
    """Simulated homes without the larger blocks."""
    homes = simulate_households(N_BLOCKS, seed=SEED, children=children)
    sizes = {row["values"]: row["counts"] for row in pc.value_counts(homes["block"]).to_pylist()}
    kept = pa.array([name for name, n in sizes.items() if n <= LARGEST], pa.string())
    return homes.filter(pc.is_in(homes["block"].cast(pa.string()), kept))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Homes, their counts and a run over each, made once."""
    folder = tmp_path_factory.mktemp("census")
    pq.write_table(small_blocks(), folder / "homes.parquet")
    homes, counts = str(folder / "homes.parquet"), str(folder / "counts.parquet")
    assert main(["census", "write-counts", homes, "--out", counts, "--json"]) == 0
    assert main(["census", "audit", homes, "--out", str(folder / "run"), "--quiet"]) == 1
    assert main(["census", "audit", "--counts", counts, "--out", str(folder / "published"), *QUIET]) == 1
    return folder


@pytest.fixture
def run(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run a command in a folder that holds homes.parquet and counts.parquet."""
    monkeypatch.chdir(tmp_path)
    for name in ("homes.parquet", "counts.parquet"):
        (tmp_path / name).write_bytes((made / name).read_bytes())

    return runner(capsys)


def said(text: str) -> str:
    """Printed text without its line breaks."""
    return " ".join(text.split())


def with_column(name: str, values: list[object], file: str = "homes.parquet") -> None:
    """Put other values at the top of a column of a Parquet file."""
    table = pq.read_table(file)
    column = table[name].cast(pa.string()).to_pylist()
    column[: len(values)] = [str(value) for value in values]
    kind = pa.int64() if table.schema.field(name).type == pa.int64() else pa.string()
    at = table.column_names.index(name)
    pq.write_table(table.set_column(at, name, pa.array(column, pa.string()).cast(kind)), file)


class TestSimulate:
    def test_homes_are_those_of_the_library(self, run: Run) -> None:
        ran = run("simulate", "--blocks", "5", "--seed", "4", "--out", "new.parquet")
        homes = simulate_households(5, seed=4)
        assert ran.code == 0
        assert ran.out == f"Wrote {homes.num_rows} homes in 5 blocks to new.parquet.\n"
        assert pq.read_table("new.parquet").to_pylist() == homes.to_pylist()
        assert homes.column_names == ["state", "county", "tract", "block", *census_layout().schema.names]

    def test_for_machines_and_with_children(self, run: Run) -> None:
        ran = run("simulate", "--blocks", "1", "--seed", "4", "--out", "new.parquet", "--children", "--json")
        homes = pq.read_table("new.parquet")
        assert ran.json == {"file": "new.parquet", "homes": homes.num_rows, "blocks": 1, "seed": 4}
        assert "children" in homes.column_names

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--blocks", "0", "--seed", "1", "--out", "a.parquet"), "--blocks"),
            (("--blocks", "1", "--seed", "-1", "--out", "a.parquet"), "seed out of range (found '-1')"),
            (("--blocks", "1", "--seed", "1", "--out", "a.csv"), "a.csv: homes are written as Parquet"),
            (("--blocks", "1", "--seed", "1", "--out", "no/a.parquet"), "no/a.parquet: the file cannot be"),
            (("--blocks", "1", "--out", "a.parquet"), "--seed"),
        ],
    )
    def test_bad_options(self, run: Run, arguments: tuple[str, ...], message: str) -> None:
        ran = run("simulate", *arguments)
        assert ran.code == 2
        assert message in ran.err
        assert sorted(path.name for path in Path().iterdir()) == ["counts.parquet", "homes.parquet"]


class TestTables:
    def test_all(self, run: Run) -> None:
        ran = run("census", "tables")
        assert ran.code == 0
        assert "79 tables with 861 cells in all" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80
        tables = run("census", "tables", "--json").json["tables"]
        assert isinstance(tables, list)
        assert [len(tables), sum(table["cells"] for table in tables)] == [79, 861]
        assert tables[1] == {
            "table": "P16A", "title": "Household type", "counts": "households",
            "householders": "White alone householder", "iterated": True, "cells": 9,
        }  # fmt: skip

    def test_one(self, run: Run) -> None:
        ran = run("census", "tables", "h13a")
        assert "H13A_003N Total > Owner occupied > Householder 15 to 24 years" in said(ran.out)
        assert "age=15-24,race=white,tenure=mortgage|owned" in ran.out
        cells = run("census", "tables", "P16", "--json").json["cells"]
        assert isinstance(cells, list)
        assert cells[1] == {
            "cell": "P16_002N",
            "label": "Total > Family households",
            "where": "type=female family|male family|married couple",
        }
        assert len(cells) == 9

    def test_renters_of_the_paper(self, run: Run) -> None:
        assert "tenure=no rent|rented" in run("census", "tables", "H4").out
        assert "no rent" not in run("census", "tables", "H4", "--renter", "paper").out

    def test_an_unknown_table(self, run: Run) -> None:
        ran = run("census", "tables", "P17")
        assert ran.code == 2
        assert "there is no such block table (found 'P17')" in ran.err


class TestAudit:
    def test_homes_and_their_counts_give_the_same_claims(self, made: Path) -> None:
        """Though one search starts from the homes, and the other from whatever dataset it finds."""
        for name in ("claims.parquet", "findings.parquet", "counts.parquet"):
            assert (made / "run" / name).read_bytes() == (made / "published" / name).read_bytes(), name
        run, published = st.AuditRun(made / "run"), st.AuditRun(made / "published")
        work = ["refuted", "worlds_seen", "steps", "programs", "nodes", "solves"]  # of this search
        assert run.table("areas").drop(work).equals(published.table("areas").drop(work))
        assert run.summary.areas == N_BLOCKS
        assert run.summary.findings > 40
        assert run.summary.undecided == 0
        assert st.verify(made / "run").holds

    def test_verified_claims_are_true_of_the_homes(self, made: Path) -> None:
        blocks = dict(st.read_records(made / "homes.parquet", census_layout().schema, by="block").by_area())
        claims = st.AuditRun(made / "run").table("claims")
        rows = claims.filter(pc.field("verdict") == "verified").to_pylist()
        for row in rows[:: max(1, len(rows) // 300)]:
            count = blocks[row["area"]].count(st.Selection.from_json(row["selection"]))
            assert count == row["multiplicity"], row

    def test_the_search_starts_from_the_homes(self, made: Path, tmp_path: Path) -> None:
        blocks = read_blocks(made / "homes.parquet")
        homes = pq.read_table(made / "homes.parquet")
        for block in blocks.stream(tmp_path):
            assert isinstance(block, Planned)
            mine = homes.filter(pc.field("block") == block.area)
            rows = block.records.to_arrow().to_pylist()
            assert rows == mine.select(census_layout().schema.names).to_pylist()

    def test_what_is_said_and_for_machines(self, run: Run) -> None:
        arguments = ("census", "audit", "homes.parquet", "--max-columns", "2", "--multiplicity", "1",
                     "--seed", "5", "--effort", "0.5", "--claims", "all", "--out", "run",
                     "--no-report")  # fmt: skip
        ran = run(*arguments)
        assert ran.code == 1
        assert "areas give away something about individual records" in ran.out
        assert "showthrough verify run" in ran.out
        assert max(map(len, ran.out.splitlines())) <= 80
        again = run(*arguments, "--overwrite", "--json")
        assert again.json["exit_code"] == 1
        manifest = json.loads(Path("run/run.json").read_text("utf-8"))
        assert manifest["inputs"].keys() == {"homes.parquet"}
        assert manifest["parameters"]["keep_going"] is True
        claims = st.AuditRun(Path("run")).table("claims")
        assert set(claims["k"].to_pylist()) == {1, 2}
        assert set(claims["verdict"].to_pylist()) >= {"verified", "refuted"}
        assert st.verify("run").holds

    @pytest.mark.parametrize(
        ("arguments", "n_cells"),
        [
            (("--cells", "bottom"), None),
            (("--cells", "621"), 621),
            (("--renter", "paper", "--cells", "621"), None),
            (("--edits",), 861),
        ],
        ids=["bottom", "621", "paper", "edits"],
    )
    def test_cells_and_coding(self, run: Run, arguments: tuple[str, ...], n_cells: int | None) -> None:
        pq.write_table(pq.read_table("homes.parquet").slice(0, 15), "homes.parquet")
        few = ("--max-columns", "1", *QUIET, *arguments)
        assert run("census", "audit", "homes.parquet", "--out", "run", *few).code in (0, 1)
        counts = st.AuditRun(Path("run")).table("counts")
        assert n_cells in (None, len(counts["low"][0]))
        published = ("census", "write-counts", "homes.parquet", "--out", "c.csv", "--json")
        coding = ("--renter", "paper") if "--renter" in arguments else ()
        assert run(*published, *coding).json["cells"] == 861
        assert run("census", "audit", "--counts", "c.csv", "--out", "two", *few).code in (0, 1)
        assert Path("run/claims.parquet").read_bytes() == Path("two/claims.parquet").read_bytes()

    def test_children(self, run: Run) -> None:
        pq.write_table(small_blocks(children=True).slice(0, 12), "homes.parquet")
        ran = run("census", "audit", "homes.parquet", "--out", "ten", "--max-columns", "1", "--no-report")
        assert "left out: children (use --children to include the column children)" in ran.err
        ran = run(
            "census",
            "audit",
            "homes.parquet",
            "--children",
            "--out",
            "eleven",
            "--max-columns",
            "1",
            "--no-report",
        )
        assert ran.err == ""
        assert len(st.read_schema("eleven/schema.toml").names) == 11

    def test_several_files_of_counts(self, run: Run, made: Path) -> None:
        """The same cells from a download of the website and an answer of the API."""
        counts = pq.read_table("counts.parquet")
        names = counts.column_names[1:]
        blocks = counts["block"].to_pylist()
        api = [[*names[400:], "state", "county", "tract", "block"]]
        rows = zip(*(counts[name].to_pylist() for name in names[400:]), blocks, strict=True)
        api += [[*map(str, values), b[:2], b[2:5], b[5:11], b[11:]] for *values, b in rows]
        Path("api.json").write_text(json.dumps(api), "utf-8")
        ids = pa.array([f"1000000US{block}" for block in blocks])
        website = counts.select(names[:400]).add_column(0, "GEO_ID", ids)
        arrow_csv.write_csv(website, "data.csv")
        ran = run("census", "audit", "--counts", "api.json", "--counts", "data.csv", "--out", "run", *QUIET)
        assert ran.code == 1
        assert Path("run/claims.parquet").read_bytes() == (made / "run" / "claims.parquet").read_bytes()

    def test_blocks_numbered_within_tracts(self, run: Run, made: Path) -> None:
        homes = pq.read_table("homes.parquet")
        codes = homes["block"].cast(pa.string()).to_pylist()
        for name, start, stop in (("state", 0, 2), ("county", 2, 5), ("tract", 5, 11), ("block", 11, 15)):
            at = homes.column_names.index(name)
            homes = homes.set_column(at, name, pa.array([int(code[start:stop]) for code in codes]))
        pq.write_table(homes, "homes.parquet")
        assert run("census", "audit", "homes.parquet", "--out", "run", *QUIET).code == 1
        assert Path("run/claims.parquet").read_bytes() == (made / "run" / "claims.parquet").read_bytes()
        sizes = homes["size"].cast(pa.string()).to_pylist()
        with_column("size", [*sizes[: sizes.index("1")], "5"])
        assert (
            run("census", "audit", "homes.parquet", "--out", "two", "--max-columns", "1", "--no-report").code
            == 1
        )
        (bad,) = [one for one in TestBadBlocks().statuses("two").values() if one != "decided"]
        assert f"homes.parquet, row {sizes.index('1') + 1}: a record breaks a rule" in bad


class TestBadBlocks:
    """A block that cannot be audited is noted with the reason, and the others are audited."""

    def statuses(self, folder: str = "run") -> dict[str, str]:
        areas = st.AuditRun(Path(folder)).table("areas").to_pylist()
        return {row["area"]: row["status"] for row in areas}

    def test_counts_that_do_not_add_up(self, run: Run, made: Path) -> None:
        counts = pq.read_table("counts.parquet")
        first, total = counts["P16_003N"][0].as_py(), counts["P16_002N"][0].as_py()
        with_column("P16_003N", [first + 1], "counts.parquet")
        arguments = ("census", "audit", "--counts", "counts.parquet", "--out", "run", "--no-report")
        ran = run(*arguments)
        assert ran.code == 1
        block, *others = sorted(self.statuses())
        reason = (
            f"contradiction: counts.parquet, row 1, column P16_002N: area {block}: the tables do not add "
            f"up: P16_002N ({total}) should be P16_003N ({first + 1}) + "
        )
        assert self.statuses()[block].startswith(reason)
        assert self.statuses()[block].endswith(
            f"(found '{total}'); correct the counts, or publish these cells as intervals"
        )
        assert {self.statuses()[other] for other in others} == {"decided"}
        assert f"{block}: contradiction:" in said(ran.out)
        whole = st.AuditRun(made / "run").table("claims").filter(pc.field("area") != block)
        assert st.AuditRun(Path("run")).table("claims").equals(whole)
        stopped = run(*arguments, "--overwrite", "--no-keep-going")
        assert stopped.code == 2
        assert f"counts.parquet, row 1, column P16_002N: area {block}: the tables do not" in stopped.err

    def test_the_place_of_a_total_is_in_its_own_file(self, run: Run) -> None:
        counts = pq.read_table("counts.parquet")
        pq.write_table(counts.select(["block", "P16_001N", "P16_002N", "P16_003N"]), "one.parquet")
        names = [name for name in counts.column_names if not name.startswith("P16_")]
        order = pa.array(range(counts.num_rows - 1, -1, -1))  # the other way round: it is sorted
        pq.write_table(counts.select(names).take(order), "two.parquet")
        with_column("H13_001N", [99], "two.parquet")
        ran = run("census", "audit", "--counts", "one.parquet", "--counts", "two.parquet", "--out", "run",
                  "--max-columns", "1", "--no-report")  # fmt: skip
        block = counts["block"][counts.num_rows - 1].as_py()
        bad = {name: status for name, status in self.statuses().items() if status != "decided"}
        assert bad.keys() == {block}
        assert "contradiction: two.parquet, row 1, column" in bad[block]
        assert ran.code == 1

    def test_totals_are_checked_though_they_are_not_asked_for(self, run: Run) -> None:
        total = pq.read_table("counts.parquet")["H13_001N"][0].as_py()
        with_column("H13_001N", [total + 1], "counts.parquet")
        run("census", "audit", "--counts", "counts.parquet", "--cells", "bottom", "--max-columns", "1",
            "--no-report", "--out", "run")  # fmt: skip
        assert sum(status.startswith("contradiction") for status in self.statuses().values()) == 1

    def test_a_home_that_breaks_a_rule(self, run: Run) -> None:
        homes = pq.read_table("homes.parquet")
        sizes = homes["size"].cast(pa.string()).to_pylist()
        lonely = sizes.index("1")
        with_column("size", [*sizes[:lonely], "5"])
        run("census", "audit", "homes.parquet", "--out", "run", "--max-columns", "2", "--no-report")
        block = homes["block"][lonely].as_py()
        bad = {name: status for name, status in self.statuses().items() if status != "decided"}
        assert bad.keys() == {block}
        assert f"homes.parquet, row {lonely + 1}: a record breaks a rule" in bad[block]
        counted = run("census", "write-counts", "homes.parquet", "--out", "c.parquet")
        assert counted.code == 2
        assert "breaks a rule" in counted.err
        assert not Path("c.parquet").exists()
        ran = run("census", "summary", "run", "--homes", "homes.parquet")
        assert ran.code == 0
        assert "note: homes.parquet: left out 1 home that breaks a rule" in ran.err

    def test_an_empty_block(self, run: Run) -> None:
        counts = pq.read_table("counts.parquet").slice(0, 1)
        zeros = [pa.array([0], pa.int64()) for _ in counts.column_names[1:]]
        pq.write_table(pa.table([counts["block"], *zeros], names=counts.column_names), "zero.parquet")
        ran = run("census", "audit", "--counts", "zero.parquet", "--out", "run", "--no-report")
        assert ran.code == 0
        assert list(self.statuses().values()) == ["decided"]


class TestBadInput:
    def refused(self, ran: Ran) -> str:
        assert ran.code == 2
        assert ran.out == ""
        assert len(ran.err.splitlines()) == 1
        assert not Path("run").exists()
        return ran.err

    def test_a_column_of_another_name(self, run: Run) -> None:
        homes = pq.read_table("homes.parquet")
        names = ["tenur" if name == "tenure" else name for name in homes.column_names]
        pq.write_table(homes.rename_columns(names), "homes.parquet")
        error = self.refused(run("census", "audit", "homes.parquet", "--out", "run"))
        assert "homes.parquet, column tenure: no such column; did you mean 'tenur'?" in error

    def test_a_column_of_no_table_is_left_out(self, run: Run) -> None:
        homes = pq.read_table("homes.parquet")
        pq.write_table(homes.append_column("pets", pa.array(np.arange(homes.num_rows))), "homes.parquet")
        ran = run("census", "audit", "homes.parquet", "--out", "run", "--max-columns", "1", "--no-report")
        assert ran.err == "note: homes.parquet: columns in no table are left out: pets\n"

    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("tenure", "rentd", "homes.parquet, row 1, column tenure: value outside the schema"),
            ("size", "0", "homes.parquet, row 1, column size: value outside the schema (found '0')"),
        ],
    )
    def test_a_value_outside_the_schema(self, run: Run, column: str, value: str, message: str) -> None:
        """It costs its block, or with --no-keep-going it is an error."""
        with_column(column, [value])
        arguments = ("census", "audit", "homes.parquet", "--out", "run", "--max-columns", "1", "--no-report")
        assert message in self.refused(run(*arguments, "--no-keep-going"))
        assert run(*arguments).code == 1
        areas = st.AuditRun(Path("run")).table("areas").to_pylist()
        (bad,) = [row["status"] for row in areas if row["status"] != "decided"]
        assert message in bad

    @pytest.mark.parametrize(
        ("value", "message"),
        [("-1", "column H1_001N: negative count (found '-1')"), ("2.5", "not a whole number (found '2.5')")],
    )
    def test_a_count_that_is_none(self, run: Run, value: str, message: str) -> None:
        """It costs its block, or with --no-keep-going it is an error."""
        table = pq.read_table("counts.parquet")
        column = table["H1_001N"].cast(pa.string()).to_pylist()
        column[0] = value
        at = table.column_names.index("H1_001N")
        arrow_csv.write_csv(table.set_column(at, "H1_001N", pa.array(column)), "bad.csv")
        arguments = (
            "census",
            "audit",
            "--counts",
            "bad.csv",
            "--out",
            "run",
            "--max-columns",
            "1",
            "--no-report",
        )
        assert message in self.refused(run(*arguments, "--no-keep-going"))
        assert run(*arguments).code == 1
        areas = st.AuditRun(Path("run")).table("areas").to_pylist()
        (bad,) = [row["status"] for row in areas if row["status"] != "decided"]
        assert bad.startswith("contradiction: bad.csv, row 1, column H1_001N: ")
        assert message in bad

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("nobody.parquet",), "nobody.parquet: no such file"),
            (("--counts", "nobody.json"), "nobody.json: no such file"),
            ((), "no homes and no counts given; name a file of homes"),
            (("homes.parquet", "--counts", "counts.parquet"), "both homes and --counts are given"),
            (("counts.parquet",), "counts.parquet, column tenure: no such column"),
            (("--counts", "homes.parquet"), "homes.parquet: no column is a variable of the block tables"),
            (
                ("homes.parquet", "--by", "blocks"),
                "column blocks: no such column; did you mean 'block'?",
            ),
            (
                ("homes.parquet", "--children"),
                "column children: no such column; remove --children",
            ),
            (("homes.parquet", "--cells", "some"), "--cells"),
            (("homes.parquet", "--multiplicity", "few"), "--multiplicity (found 'few')"),
            (("--counts", "counts.parquet", "--counts", "counts.parquet"), "a file is given twice"),
        ],
    )
    def test_refused(self, run: Run, arguments: tuple[str, ...], message: str) -> None:
        assert message in self.refused(run("census", "audit", *arguments, "--out", "run"))


class TestSummary:
    def test_figures_are_those_of_the_claims(self, run: Run, made: Path) -> None:
        ran = run(
            "census", "summary", str(made / "run"), "--homes", "homes.parquet", "--out", "s.json", "--json"
        )
        assert ran.code == 0
        assert json.loads(Path("s.json").read_text("utf-8")) == ran.json
        rows = {(row["kind"], row["k"]): row for row in ran.json["covered"]}  # type: ignore[attr-defined]
        homes = pq.read_table("homes.parquet").to_pylist()
        claims = st.AuditRun(made / "run").table("claims")
        claims = claims.filter((pc.field("verdict") == "verified") & ~pc.field("direct"))
        singles = claims.filter((pc.field("k") == 8) & (pc.field("multiplicity") == 1)).to_pylist()
        hit: set[int] = set()
        for claim in singles:
            selection = st.Selection.from_json(claim["selection"])
            found = [
                at for at, home in enumerate(homes)
                if home["block"] == claim["area"] and selection.matches(home)
            ]  # fmt: skip
            assert len(found) == 1
            hit.update(found)
        assert rows["singletons", 8]["records"] == len(hit) > 0
        assert rows["singletons", 8]["exact"] is True
        assert rows["singletons", 8]["share"] == pytest.approx(len(hit) / len(homes))
        assert ran.json["homes"] == len(homes)
        assert {row["reference"] for row in ran.json["baselines"]} == {"tract", "state"}  # type: ignore[attr-defined]

    def test_printed(self, run: Run, made: Path) -> None:
        ran = run("census", "summary", str(made / "run"), "--homes", "homes.parquet")
        assert ran.code == 0
        assert ran.err == ""
        assert max(map(len, ran.out.splitlines())) <= 80
        assert "Claims about exactly one home" in ran.out
        share = f"{100 * PAPER_COVERED['singletons'][5] / 486:.1f} %"
        row = next(line.split() for line in ran.out.splitlines() if line.strip().startswith("5 "))
        assert " ".join(row[5:7]) == share == "34.2 %"

    def test_without_homes_the_figures_are_lower_bounds(self, run: Run, made: Path) -> None:
        ran = run("census", "summary", str(made / "run"))
        assert "lower bounds" in said(ran.out)
        assert "without --homes" in ran.err
        assert "drawn at random" not in ran.out

    def test_bad_input(self, run: Run, made: Path) -> None:
        assert "not a finished run" in run("census", "summary", "nowhere").err
        pq.write_table(pq.read_table("homes.parquet").slice(0, 3), "few.parquet")
        ran = run("census", "summary", str(made / "run"), "--homes", "few.parquet")
        assert ran.code == 2
        assert "a block of the run has no homes in this file" in ran.err


def test_help(run: Run) -> None:
    shown = run("--help")
    assert "census" in shown.out
    assert "simulate" in shown.out
    for command in ("audit", "summary", "tables", "write-counts"):
        assert run("census", command, "--help").out.startswith(f"Usage: showthrough census {command}")
