"""A Spark session: one that is opened here, or one that the caller provides."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from showthrough.engine.spark_failure import root_cause
from showthrough.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "check_session",
    "open_session",
]

_SETTINGS = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}

#: What PySpark says about pandas at every call, although nothing here depends on it.
_ABOUT_PANDAS = "PySpark does not yet fully support pandas"


def open_session(master: str) -> tuple[SparkSession, bool]:
    """A session of this master, and whether it was started here; Spark's own log is not shown."""
    spark = _pyspark()
    _check_java()
    warnings.filterwarnings("ignore", message=_ABOUT_PANDAS, category=FutureWarning)
    running: Any = spark.getActiveSession()
    if running is not None:
        check_session(running)
        _check_master(running, master)
        return running, False
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    with TemporaryFile() as log:
        try:
            _start_java(master, log)
            builder: Any = spark.builder.master(master).appName("showthrough")
            for name, value in _SETTINGS.items():
                builder = builder.config(name, value)
            return builder.getOrCreate(), True
        except Exception as problem:  # noqa: BLE001  (whatever Java and the network come up with)
            raise InputError(
                f"Spark does not start: {root_cause(problem) or _last_error(log)}",
                found=master,
                remedy="check the address of the master, and that Java 17 or later is installed",
            ) from None


def check_session(session: object) -> None:
    """Raise unless this is a session whose tasks can be given work and watched."""
    if not hasattr(session, "createDataFrame"):
        raise InputError(
            f"session must be a Spark session, not {type(session).__name__}",
            remedy="use SparkEngine.open, or open_engine",
        )
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise InputError(
            "a Spark Connect session cannot run this work: it shows neither the tasks of the cluster nor "
            "the storage that they share with this program",
            found=type(session).__module__,
            remedy="run this program where the Spark driver runs, and give the driver's own session or its "
            "master: spark://host:7077, yarn, k8s://…",
        )


def _check_master(session: SparkSession, master: str) -> None:
    """Raise if the session that is running belongs to another master."""
    known = str(session.sparkContext.master)
    if known != master:
        raise InputError(
            f"a Spark session of another master is running in this process ({known})",
            found=master,
            remedy="stop it first: session.stop(), or use it: SparkEngine(session)",
        )


def _pyspark() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession

        import_module("pandas")  # mapInArrow asks for it
    except ImportError as problem:
        raise InputError(
            "this engine needs PySpark and pandas",
            found=problem.name,
            remedy='install it with: pip install "showthrough[spark]", or use --engine local',
        ) from None
    return SparkSession


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").is_file()):
        raise InputError(
            "this engine needs Java, and none was found",
            remedy="install Java 17 or later, or set JAVA_HOME; or use --engine local",
        )


def _start_java(master: str, log: IO[bytes]) -> None:
    """Start Spark's own process, so that what it prints goes to a log instead of the user's terminal."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    context: Any = SparkContext
    if context._gateway is not None:
        return
    conf: Any = SparkConf(loadDefaults=False).setMaster(master)
    for name, value in _SETTINGS.items():
        conf = conf.set(name, value)
    context._ensure_initialized(gateway=launch_gateway(conf, {"stderr": log, "stdout": subprocess.DEVNULL}))


def _last_error(log: IO[bytes]) -> str:
    """The last line of a log that names an error; else its last line."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line or "xception" in line]
    return (errors or lines or ["it printed nothing"])[-1]
