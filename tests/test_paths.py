"""A path that exists is that file: whatever SQL, globs, URLs, shells or terminals make of its name."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from needs import SLOW
from showthrough.cli.main import main
from showthrough.errors import InputError
from showthrough.formats.records_file import open_records, read_records
from showthrough.frames import Source, read_table
from showthrough.microdata.groups import Groups
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.numbers.columns_file import read_numbers

#: Names that mean something else to somebody.
NAMES = [
    # globs
    "d[1]", "d?", "d*", "d{1,z}", "d[!z]", "d[a-z]", "**", "d[[]1]", "[", "]", "d\\[1\\]", "d\\?",
    # SQL
    "d'1", 'd"1', "d;--", "d' OR '1'='1", "d);--", "d$1", "$files", "d%", "d_", "d\\'", "SELECT",
    # URLs and file systems
    "d%31", "d%2F", "d#1", "d?x=1", "file:d", "s3:d", "http:d", "hdfs:d", "d:1", "~", "~root",
    "year=1", "d@1",
    # shells
    "d 1", " d", "d ", "-d", "--out", "d&1", "d|1", "d>1", "d<1", "$HOME", "`d`", "d!1",
    "d^1", "d(1)", "d,1", "d=1",
    # terminals and text
    "d\n1", "d\t1", "d\x1b[31m", "d\u202e1", "dü", "d\u0301", "😀", ".d", "_d", "d.1", "d..", "\udcff",
]  # fmt: skip

#: What a pattern or an unescaped name might find instead.
DECOYS = ["d1", "dz", "d", "d11", "d[1", "z", "d' OR '1'='1z"]

RIGHT = pa.table({"who": ["right"] * 3, "ill": ["a", "b", "a"], "x": ["1", "2", "3"]})
WRONG = pa.table({"who": ["wrong"] * 3, "ill": ["a", "b", "b"], "x": ["7", "8", "9"]})


def write(path: Path, table: pa.Table) -> None:
    """Write a table in the format that the name ends in, by means that take no patterns."""
    with path.open("wb") as stream:
        if path.name.endswith(".parquet"):
            pq.write_table(table, stream)
        elif path.name.endswith(".arrow"):
            feather.write_feather(table, stream, compression="uncompressed")
        else:
            options = arrow_csv.WriteOptions(delimiter="\t" if ".tsv" in path.name else ",")
            if path.name.endswith(".gz"):
                with gzip.open(stream, "wb") as packed:
                    arrow_csv.write_csv(table, packed, options)
            else:
                arrow_csv.write_csv(table, stream, options)


READERS: dict[str, Callable[[Any], object]] = {
    "read_table": lambda path: read_table(path)["who"].unique().to_pylist(),
    "tally": lambda path: Groups.read(path, sensitive="ill", public=["who"]).public["who"].to_pylist(),
    "read_records": lambda path: list(read_records(path, columns=["who"]).schema["who"].values),
    "open_records": lambda path: list(
        open_records(path, None, by="x", columns=["who"], tolerant=False).schema["who"].values
    ),
}


ENDINGS = [".tsv", ".csv.gz", ".arrow", ".csv", ".parquet"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_path_that_exists_is_that_file(tmp_path: Path, ending: str) -> None:
    for decoy in DECOYS:
        write(tmp_path / f"{decoy}{ending}", WRONG)
    for name in NAMES if SLOW or ending == ".csv" else NAMES[ENDINGS.index(ending) :: 3]:
        path = tmp_path / f"{name}{ending}"
        write(path, RIGHT)
        for reader, read in READERS.items():
            for given in (path, str(path)) if SLOW or ending == ".csv" else (str(path),):
                assert read(given) == ["right"], (reader, name)
        assert np.array_equal(read_numbers(path, ["x"]).matrix[:, 0], [1, 2, 3]), name
        path.unlink()


@pytest.mark.slow
def test_a_file_in_a_folder_that_looks_like_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for decoy in DECOYS:
        (tmp_path / decoy).mkdir()
        write(tmp_path / decoy / "p.parquet", WRONG)
    for at, name in enumerate(NAMES):
        if name in (".d", "_d"):
            continue
        folder = tmp_path / name
        folder.mkdir()
        write(folder / "p.parquet", RIGHT)
        write(folder / "q.parquet", RIGHT)
        monkeypatch.chdir(tmp_path)
        forms = (folder / "p.parquet", folder, Path(name), Path(name, "p.parquet"))
        for given in forms if SLOW else forms[at % 4 : at % 4 + 1]:
            for reader, read in READERS.items():
                assert read(given) == ["right"], (reader, given)
        shutil.rmtree(folder)


def test_publications_in_folders_of_any_name(tmp_path: Path) -> None:
    people, how = pa.table({"who": ["right"] * 40, "ill": ["a", "b"] * 20}), UniformPerturbation(0.5)
    for decoy in DECOYS:
        publish(people.slice(0, 4), tmp_path / decoy, sensitive="ill", method=how, seed=1)
    for name in NAMES:
        if name == "\udcff":
            continue  # a publication's page is text
        found = publish(people, tmp_path / name, sensitive="ill", method=how, seed=1, file_format="csv")
        assert found.manifest.records == 40
        assert found.distribution()["value"].to_pylist() == pytest.approx([20, 20], abs=20)


def test_what_does_not_exist_may_be_a_pattern(tmp_path: Path) -> None:
    write(tmp_path / "2024-1.csv", RIGHT)
    write(tmp_path / "2024-2.csv", RIGHT)
    assert read_table(tmp_path / "2024-*.csv").num_rows == 6
    assert Source.of(tmp_path / "2024-[12].csv").place(5).file == str(tmp_path / "2024-2.csv")
    write(tmp_path / "2024-*.csv", RIGHT)
    assert read_table(tmp_path / "2024-*.csv").num_rows == 3
    with pytest.raises(InputError, match="no file matches it as a pattern"):
        read_table(tmp_path / "2023-*.csv")


def test_folders_named_column_and_value_add_a_column(tmp_path: Path) -> None:
    for year in ("2023", "2024 %", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / "t" / f"year={year.replace('%', '%25')}").mkdir(parents=True)
        write(tmp_path / "t" / f"year={year.replace('%', '%25')}" / "p.parquet", RIGHT)
    table = read_table(tmp_path / "t")
    assert table.column_names == ["who", "ill", "x", "year"]
    assert sorted(map(str, table["year"].to_pylist())) == ["2023"] * 3 + ["2024 %"] * 3 + ["None"] * 3


#: A name with something for everybody.
HOSTILE = "p[1]{a,b}*? 'q'\";-- %20#&$~!()=^ü\n\x1b[31m"


def hostile_commands(people: str, numbers: str, out: str) -> list[tuple[list[str], set[int]]]:
    """All commands that read or write, and how they may end."""
    tables = ["--tables", "ill", "--tables", "ill*x"]
    promise = ["--sensitive", "ill", "--reconstruction", "0.3:0.3", "--retention", "0.5"]
    noisy = f"{out}/noisy.csv"
    return [
        (["schema", people, "--out", f"{out}/schema.toml"], {0}),
        (["audit", people, *tables, "--by", "who", "--out", f"{out}/run"], {0, 1}),
        (["verify", f"{out}/run"], {0}),
        (["bounds", f"{out}/run", "--where", "ill=a"], {0}),
        (["worlds", f"{out}/run", "--n", "2", "--out", f"{out}/worlds.parquet"], {0}),
        (["report", f"{out}/run"], {0}),
        (["protect", people, *tables, "--by", "who", "--forbid", "singletons", "--out", f"{out}/safe"], {0}),
        (["publish", people, "--sensitive", "ill", "--retention", "0.5", "--out", f"{out}/public"], {0}),
        (["count", f"{out}/public", "--where", "ill=a"], {0}),
        (["check", f"{out}/public", "--reconstruction", "0.3:0.3", "--out", f"{out}/checked"], {0, 1, 3}),
        (["check", people, *promise, "--out", f"{out}/raw"], {0, 1}),
        (["compare", people, "--sensitive", "ill", "--methods", "uniform", "--retention", "0.5", "--runs",
          "2", "--queries", "5", "--selectivity", "1", "--out", f"{out}/compared"], {0}),
        (["perturb", numbers, "--column", "x", "--noise", "uniform:3", "--seed", "1", "--out", noisy], {0}),
        (["attack", noisy, "--column", "x", "--noise", "uniform:3", "--truth", numbers, "--out",
          f"{out}/attack"], {0, 1}),
        (["attack", people, "--sensitive", "ill", "--epsilon", "1", "--out", f"{out}/ratio"], {0, 1}),
        (["report", f"{out}/attack", "--html", f"{out}/page.html"], {0}),
    ]  # fmt: skip


def test_every_command_in_a_folder_with_a_hostile_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = np.random.default_rng(5)
    for name in (HOSTILE, "p1"):
        folder = tmp_path / name / "data"
        folder.mkdir(parents=True)
        who = ["right" if name == HOSTILE else "wrong"] * 30
        people = {"who": who, "ill": pool.choice(["a", "b"], 30), "x": pool.choice(["1", "2"], 30)}
        write(folder / f"{name}.csv", pa.table(people))
        write(folder / f"{name}.parquet", pa.table({"x": pool.normal(100, 9, 300)}))
    monkeypatch.chdir(tmp_path)
    data, out = f"{HOSTILE}/data", f"{HOSTILE}/out"
    Path(out).mkdir()
    for command, codes in hostile_commands(f"{data}/{HOSTILE}.csv", f"{data}/{HOSTILE}.parquet", out):
        code = main(command)
        said = capsys.readouterr()
        assert code in codes, (command, said.err)
        assert "\x1b[31m" not in said.out + said.err
        assert "wrong" not in said.out
    assert not (tmp_path / "p1" / "out").exists()
    shutil.rmtree(HOSTILE)
    assert [path.name for path in tmp_path.iterdir()] == ["p1"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
class TestNamesThatAreNotText:
    """Names are bytes on Linux: an input may have any, a folder of results a name in UTF-8 only."""

    BAD = os.fsdecode(b"pe\xffople\xe9")

    def test_an_input(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path(f"{self.BAD}.csv").write_text("age,sex\nold,f\nold,m\nyoung,f\n", "utf-8")
        call = [
            "audit",
            f"{self.BAD}.csv",
            "--tables",
            "age*sex",
            "--out",
            "run",
            "--workers",
            "1",
            "--quiet",
        ]
        assert main(call) == 1
        assert list(json.loads(Path("run/run.json").read_text("utf-8"))["inputs"]) == [f"{self.BAD}.csv"]
        assert main(["verify", "run", "--quiet"]) == 0
        assert main(["report", "run", "--quiet"]) == 0

    def test_a_folder_of_results(self, tmp_path, monkeypatch, capsys):
        (tmp_path / self.BAD).mkdir()
        monkeypatch.chdir(tmp_path / self.BAD)
        Path("people.csv").write_text("age,sex\nold,f\nold,m\nyoung,f\n", "utf-8")
        for command in (
            ["audit", "people.csv", "--tables", "age*sex"],
            ["publish", "people.csv", "--sensitive", "sex", "--retention", "0.5"],
        ):
            assert main([*command, "--out", "run"]) == 2
            assert "the path is not valid UTF-8" in capsys.readouterr().err
            assert [path.name for path in Path.cwd().iterdir()] == ["people.csv"]
