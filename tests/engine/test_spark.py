"""The same run on a Spark cluster: a standalone master and two workers, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowd
import small_run
from engine import on_spark
from needs import do_without
from showthrough.census.simulator import simulate_households
from showthrough.engine.engine import open_engine
from showthrough.errors import InputError, RecordsError
from showthrough.microdata import write as writing
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation
from showthrough.report.verify import verify
from showthrough.tables.run import parts
from showthrough.tables.run.read import AuditRun
from spark_cluster import Cluster, end, missing, standalone, until

pytestmark = pytest.mark.usefixtures("whole_pages")

PEOPLE = "town,sex,ill\nBrook,f,no\nAldea,f,yes\nBrook,m,no\nAldea,m,no\n"


@dataclass(frozen=True)
class Done:
    """What a cluster did: the folders it worked in, and what it said."""

    folder: Path
    people: Path
    said: dict[str, Any]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """All work for a cluster, by one driver; at the end it loses a worker.

    One folder has a name that looks like a pattern or a URL.
    """
    if lacking := missing():
        do_without(lacking)
    folder = tmp_path_factory.mktemp("work")
    people = folder / "p[1] *?{a,b}%20'#:"
    people.mkdir()
    crowd.write_people(people)
    (people / "bad.csv").write_text('age,ill\n1,x\n2,"x"y\n')
    (folder / "people.csv").write_text(PEOPLE, "utf-8")
    homes = simulate_households(6, seed=2).slice(0, 40)
    shuffled = homes.take(pa.array(np.random.default_rng(3).permutation(len(homes))))
    pq.write_table(shuffled, folder / "homes.parquet", row_group_size=15)  # three pieces for tasks to read
    with standalone(tmp_path_factory.mktemp("cluster"), path=Path(__file__).parents[1]) as cluster:
        return Done(folder, people, json.loads(worked(cluster, folder, people)))


def worked(cluster: Cluster, folder: Path, people: Path) -> bytes:
    """What the driver prints; a worker is taken away as soon as both are at work on what waits for it."""
    command = [sys.executable, on_spark.__file__, cluster.master, str(folder), str(people)]
    log, begun = folder / "log", [folder / "lost" / f"{item}-0" for item in (0, 1)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=cluster.environment) as process,
    ):
        try:
            until(lambda: all(note.exists() for note in begun) or process.poll() is not None, log)
            end(cluster.workers[0])
            (folder / "lost").mkdir(exist_ok=True)
            (folder / "lost" / "gone").touch()
            out, _ = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, log.read_text("utf-8", "replace")[-4000:]
    return out


@pytest.mark.parametrize("name", on_spark.COMMANDS)
def test_the_command_on_a_cluster(done: Done, name: str) -> None:
    """The same folder, byte for byte."""
    assert done.said["codes"] == [1, 1]
    assert on_spark.command(name, done.folder, "here") == 1
    there = small_run.contents(done.folder / "there" / name)
    assert there == small_run.contents(done.folder / "here" / name)
    assert "run.json" in there


def test_a_cluster_that_fails_does_what_one_machine_does(done: Done) -> None:
    """Byte for byte, though tasks fail before and after their work, and a machine goes away."""
    folder, found = done.folder, done.said
    small_run.run(folder / "local")
    assert small_run.contents(folder / "run") == small_run.contents(folder / "local")
    assert found["attempts"] == ["1-0", "1-1", "2-0", "2-1"]

    assert found["contradiction"] == "block 11"
    assert not (folder / "contradiction").exists()

    assert "Spark failed: RuntimeError: no machine likes item 4; run the same command again" in found["said"]

    assert "a Spark session of another master is running" in found["second"]

    # What the lost machine had begun was begun again elsewhere, and the other item was not.
    assert found["after"] in (["0-0", "0-1", "1-0", "gone"], ["0-0", "1-0", "1-1", "gone"])
    assert small_run.contents(folder / "survived") == small_run.contents(folder / "local")


def test_parts_are_joined_on_a_cluster(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a run is large, its tables are several files, whoever wrote them."""
    monkeypatch.setattr(parts, "PART_BYTES", on_spark.TINY)
    small_run.run(done.folder / "local parts")
    there, here = (small_run.contents(done.folder / name) for name in ("parts", "local parts"))
    assert {name for name in here if not name.startswith("timing")} > {"claims/part-00001.parquet"}
    assert {n: t for n, t in there.items() if n[:6] != "timing"} == {
        n: t for n, t in here.items() if n[:6] != "timing"
    }


def test_long_work_on_a_cluster(done: Done) -> None:
    """The same answers as on one machine, from runs, publications and DataFrames."""
    folder, people, said = done.folder, done.people, done.said
    assert said["verified"] == json.loads(json.dumps(verify(folder / "run").to_plain()))
    assert said["verified"]["holds"]
    assert said["counted"] == Publication.open(people / "there").count("town=Aldea").to_plain(0.9)
    assert said["claims"] == AuditRun.open(folder / "run").table("claims").num_rows
    assert said["shown"] == 3
    here = publish(
        crowd.people(300),
        folder / "unframed",
        sensitive="ill",
        method=UniformPerturbation(0.5),
        seed=on_spark.SEED,
    )
    assert Publication.open(people / "framed").to_arrow().equals(here.to_arrow())


def test_a_cluster_publishes_the_same(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same folder and words as on one machine, byte for byte."""
    people = done.people
    assert done.said["missing"].startswith("the sensitive value is missing in")
    with pytest.raises(RecordsError) as refused:
        publish(people / "bad.csv", people / "none", sensitive="ill", method=UniformPerturbation(0.5), seed=1)
    assert done.said["refused"] == str(refused.value)
    for name, value in on_spark.FEW_ROWS.items():
        monkeypatch.setattr(writing, name, value)
    publish(
        people / "people.csv",
        people / "here",
        sensitive=on_spark.SENSITIVE,
        method=on_spark.METHOD,
        seed=on_spark.SEED,
    )
    here, there = (small_run.contents(people / name) for name in ("here", "there"))
    assert here == there
    assert {f"data.parquet/part-0000{at}.parquet" for at in range(2)} < set(here)


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
