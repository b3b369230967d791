"""The same run on a Spark cluster: a standalone master and two workers, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import small_run
from needs import do_without
from showthrough.census.simulator import simulate_households
from showthrough.cli import main
from showthrough.engine.engine import open_engine
from showthrough.errors import InputError
from spark_cluster import Cluster, end, missing, standalone, until

PEOPLE = "town,sex,ill\nBrook,f,no\nAldea,f,yes\nBrook,m,no\nAldea,m,no\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if lacking := missing():
        do_without(lacking)
    with standalone(tmp_path_factory.mktemp("cluster"), path=Path(__file__).parents[1]) as made:
        yield made


def called(cluster: Cluster, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        env=cluster.environment,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("audit", "--tables", "sex*ill", "--by", "town"), "people.csv"),
        (("census", "audit", "--max-columns", "2", "--effort", "0.1"), "homes.parquet"),
    ],
    ids=["audit", "census audit"],
)
def test_the_command_on_a_cluster(
    cluster: Cluster, tmp_path: Path, arguments: tuple[str, ...], name: str
) -> None:
    """The same folder, byte for byte."""
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    pq.write_table(simulate_households(6, seed=2).slice(0, 40), tmp_path / "homes.parquet")
    command = [*arguments, str(tmp_path / name), "--quiet", "--out"]
    there = called(
        cluster, "-m", "showthrough.cli", *command, str(tmp_path / "there"), "--engine", cluster.master
    )
    here = main([*command, str(tmp_path / "here")])
    assert there.returncode == here == 1, there.stderr[-4000:]
    assert small_run.contents(tmp_path / "there") == small_run.contents(tmp_path / "here")


def test_a_cluster_that_fails_does_what_one_machine_does(cluster: Cluster, tmp_path: Path) -> None:
    """Byte for byte, though tasks fail before and after their work, and a machine goes away."""
    script = Path(__file__).with_name("on_spark.py")
    command = [sys.executable, str(script), cluster.master, str(tmp_path)]
    log, begun = tmp_path / "log", [tmp_path / "lost" / f"{item}-0" for item in (0, 1)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=cluster.environment) as process,
    ):
        try:
            until(lambda: all(note.exists() for note in begun) or process.poll() is not None, log)
            end(cluster.workers[0])
            (tmp_path / "lost" / "gone").touch()
            out, _ = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, log.read_text("utf-8", "replace")[-4000:]
    found = json.loads(out)
    small_run.run(tmp_path / "here")
    assert small_run.contents(tmp_path / "run") == small_run.contents(tmp_path / "here")
    assert found["attempts"] == ["1-0", "1-1", "2-0", "2-1"]

    assert found["contradiction"] == "block 11"
    assert not (tmp_path / "contradiction").exists()

    assert "Spark failed: RuntimeError: no machine likes item 4; run the same command again" in found["said"]

    # What the lost machine had begun was begun again elsewhere, and the other item was not.
    assert found["after"] in (["0-0", "0-1", "1-0", "gone"], ["0-0", "1-0", "1-1", "gone"])
    assert small_run.contents(tmp_path / "survived") == small_run.contents(tmp_path / "here")


@pytest.mark.parametrize("missing", ["pyspark.sql", "pandas"])
def test_without_pyspark(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == missing.partition(".")[0]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    said = r"needs PySpark and pandas \(found '.*'\); install it with: pip install \"showthrough\[spark\]\""
    with pytest.raises(InputError, match=said), open_engine("local[2]", workers=1):
        pass


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = "needs Java, and none was found; install Java 17 or later"
    with pytest.raises(InputError, match=said), open_engine("spark://host:7077", workers=1):
        pass


def test_pyspark_is_imported_only_when_used() -> None:
    code = "import sys, showthrough.cli; print('pyspark' in sys.modules, 'duckdb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
