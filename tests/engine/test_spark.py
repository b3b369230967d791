"""The same run on a Spark cluster: a master and two executors, each a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import small_run
from showthrough.cli import main
from showthrough.engine import open_engine
from showthrough.errors import InputError

PEOPLE = "town,sex,ill\nBrook,f,no\nAldea,f,yes\nBrook,m,no\nAldea,m,no\n"

#: Two executors with a core each, on this machine.
MASTER = "local-cluster[2,1,1024]"

#: A cluster that starts fast rather than runs fast, and stays on this machine.
LIGHT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false pyspark-shell",
}


def test_a_cluster_does_what_one_machine_does(tmp_path: Path) -> None:
    """Byte for byte, although a task fails before its work and another after it."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip('PySpark is missing: pip install "showthrough[spark]"')
    if shutil.which("java") is None:
        pytest.skip("Java is missing: install Java 17 or later")
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    found = on_spark(tmp_path)
    small_run.run(tmp_path / "here")
    assert small_run.contents(tmp_path / "run") == small_run.contents(tmp_path / "here")
    assert found["attempts"] == ["1-0", "1-1", "2-0", "2-1"]

    assert found["contradiction"] == "block 11"
    assert not (tmp_path / "contradiction").exists()

    assert "Spark gave up: RuntimeError: no machine likes item 4; the same command resumes" in found["said"]

    people = ["audit", str(tmp_path / "people.csv"), "--tables", "sex*ill", "--by", "town", "--quiet"]
    assert found["code"] == main([*people, "--out", str(tmp_path / "command here")])
    assert small_run.contents(tmp_path / "command") == small_run.contents(tmp_path / "command here")


def on_spark(folder: Path) -> dict[str, str]:
    tests = Path(__file__).parents[1]
    environment = {**os.environ, **LIGHT, "PYTHONPATH": str(tests)}
    script = Path(__file__).with_name("on_spark.py")
    done = subprocess.run(
        [sys.executable, str(script), MASTER, str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


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
