"""Counting on one machine and on a cluster gives the same publication."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import crowd
from needs import do_without
from showthrough.engine.backend import open_backend
from showthrough.engine.duck import DuckBackend
from showthrough.errors import InputError, RecordsError
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.uniform import UniformPerturbation
from spark_cluster import missing

#: Two executors with a core each, on this machine; fast to start rather than to run.
MASTER = "local-cluster[2,1,1024]"
LIGHT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 "
    "pyspark-shell",
}


def test_a_cluster_publishes_the_same(tmp_path: Path) -> None:
    """The same counts, manifest and words, also in a folder whose name looks like a pattern or a URL."""
    if lacking := missing():
        do_without(lacking)
    folder = tmp_path / "p[1] *?{a,b}%20'#:"
    folder.mkdir()
    crowd.write_people(folder)
    (folder / "bad.csv").write_text('age,ill\n1,x\n2,"x"y\n')
    script = Path(__file__).with_name("on_spark.py")
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, str(script), MASTER, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, **LIGHT, "PYTHONPATH": f"{tests}{os.pathsep}{script.parent}"},
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said = json.loads(done.stdout)
    assert said["missing"].startswith("the sensitive value is missing in")
    with pytest.raises(RecordsError) as refused:
        publish(folder / "bad.csv", folder / "none", sensitive="ill", method=UniformPerturbation(0.5), seed=1)
    assert said["refused"] == str(refused.value)
    spec = importlib.util.spec_from_file_location("on_spark_methods", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, (file, sensitive, method) in module.METHODS.items():
        here = publish(folder / file, folder / name, sensitive=sensitive, method=method, seed=module.SEED)
        there = Publication.open(folder / f"spark-{name}")
        assert len(list(there.data.glob("part-*.parquet"))) == 4
        same = {"files": None}  # one file here, several there
        assert here.manifest.model_copy(update=same) == there.manifest.model_copy(update=same)
        columns = [*here.manifest.public, *here.manifest.sensitive, *filter(None, [here.manifest.label])]
        one, other = (sorted(map(str, p._folder.rows.count(columns, {}).to_pylist())) for p in (here, there))
        assert one == other


def test_little_memory_is_enough(tmp_path: Path) -> None:
    """Many groups within a limit that holds only a part of them: the rest goes to disk."""
    table = crowd.people(200_000)
    ids = table.append_column("n", [list(range(100_000)) * 2])
    backend = DuckBackend(memory="60MB", threads=1)
    found = publish(
        ids, tmp_path / "out", sensitive="ill", method=UniformPerturbation(0.5), seed=1, backend=backend
    )
    assert found.manifest.records == 200_000


def test_backends_by_name() -> None:
    with open_backend("local", threads=3, memory="2GB") as backend:
        assert backend == DuckBackend("2GB", 3)
    with pytest.raises(InputError, match="unknown engine"), open_backend("sparks"):
        pass


def test_work_raises_what_it_raises() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise InputError("no")
        return 2 * item

    assert sorted(DuckBackend(threads=2).run(work, range(3))) == [(0, 0), (1, 2), (2, 4)]
    with pytest.raises(InputError, match="no"):
        list(DuckBackend(threads=2).run(work, range(9)))
