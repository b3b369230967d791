"""A Spark cluster as in a machine room, only smaller: a master and two workers, on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

#: A cluster that starts fast rather than runs fast, and stays on this machine.
LIGHT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+IgnoreUnrecognizedVMOptions "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 "
    "pyspark-shell",
}

#: Seconds after which a cluster that does not start never will.
PATIENCE = 300


def missing() -> str:
    """What a cluster needs and this machine lacks, or nothing."""
    if importlib.util.find_spec("pyspark") is None:
        return 'PySpark is missing: pip install "showthrough[spark]"'
    return "" if shutil.which("java") else "Java is missing: install Java 17 or later"


@dataclass(frozen=True)
class Cluster:
    """Its address, its workers' processes, and what its processes need in their environment."""

    master: str
    workers: tuple[subprocess.Popen[bytes], ...]
    environment: dict[str, str]


@contextmanager
def standalone(folder: Path, *, path: Path) -> Generator[Cluster]:
    """A master and two workers with a core each, gone afterwards whatever happens.

    ``path`` is where the Python processes of the workers find modules.
    """
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home = Path(found.origin).parent
    environment = {**os.environ, **LIGHT, "SPARK_HOME": str(home), "PYTHONPATH": str(path)}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"

    def start(stack: ExitStack, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        classes = "org.apache.spark.deploy"
        command = [str(home / "bin" / "spark-class"), f"{classes}.{arguments[0]}", "--host", "127.0.0.1"]
        log = stack.enter_context((folder / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            [*command, "--webui-port", "0", *arguments[1:]],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,  # so that what it starts can be ended with it
        )
        stack.callback(end, process)
        return process

    with ExitStack() as stack:
        start(stack, "master", "master.Master", "--port", str(port))
        until(lambda: says(folder / "master.log", "elected leader"), folder / "master.log")
        workers: list[subprocess.Popen[bytes]] = []
        for name in ("one", "two"):
            own = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name), master)
            workers.append(start(stack, name, "worker.Worker", *own))
        for name in ("one", "two"):
            until(lambda n=name: says(folder / f"{n}.log", "registered with master"), folder / f"{name}.log")
        yield Cluster(master, tuple(workers), environment)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)


def says(log: Path, words: str) -> bool:
    """Whether a log has come to these words."""
    return words in log.read_text("utf-8", "replace")


def until(there: Callable[[], bool], log: Path | None = None) -> None:
    """Wait for something that should happen soon."""
    deadline = time.monotonic() + PATIENCE
    while not there():
        if time.monotonic() > deadline:
            tail = "" if log is None else log.read_text("utf-8", "replace")[-3000:]
            raise AssertionError(f"this takes too long: {tail}")
        time.sleep(0.1)
