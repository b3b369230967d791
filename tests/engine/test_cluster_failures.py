"""What a cluster can do wrong, without a cluster: hidden folders, other versions, no resources."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from showthrough.engine import shared_folder, spark_watch
from showthrough.engine.checked_work import CheckedWork, machine_versions
from showthrough.engine.engine import open_engine
from showthrough.engine.shared_folder import SharedFolder
from showthrough.engine.spark import SparkEngine
from showthrough.engine.spark_failure import explain_failure, root_cause
from showthrough.engine.spark_watch import watch_for_resources
from showthrough.errors import InputError, ShowthroughError

JAVA = """An error occurred while calling o59.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, \
most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (host executor 1): {cause}
\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala:12)
Caused by: {root}
\t... 12 more"""

PYTHON = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 2044, in main
ModuleNotFoundError: No module named 'showthrough'
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 2044, in main
ModuleNotFoundError: No module named 'showthrough'
"""


def double(item: int) -> int:
    return 2 * item


def full(_: int) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@dataclass
class Leaves:
    """Work that leaves its result in a folder, and says which."""

    folder: str
    done: list[int] = field(default_factory=list[int])

    def __call__(self, item: int) -> int:
        self.done.append(item)
        return item


@pytest.mark.parametrize(
    ("trace", "cause", "remedy"),
    [
        (
            JAVA.format(
                cause='java.io.IOException: Cannot run program "python9": error=2, No such file or directory',
                root="java.io.IOException: error=2, No such file or directory",
            ),
            'Cannot run program "python9"',
            "the same Python at the same path",
        ),
        (PYTHON, "ModuleNotFoundError: No module named 'showthrough'", "the same packages"),
        (
            JAVA.format(cause="java.lang.OutOfMemoryError: Java heap space", root="x"),
            "OutOfMemoryError",
            "memory",
        ),
        ("nothing that has a name", "nothing that has a name", ""),
    ],
    ids=["interpreter", "package", "memory", "unknown"],
)
def test_the_cause_is_named_not_the_call(trace: str, cause: str, remedy: str) -> None:
    said = explain_failure(RuntimeError(trace))
    assert cause in said
    assert remedy in said
    assert "o59" not in said
    assert "\n" not in said


def test_a_trace_without_words_has_no_cause() -> None:
    assert root_cause(RuntimeError()) == ""
    assert explain_failure(RuntimeError()) == "RuntimeError"


def test_a_machine_that_sees_another_folder_does_no_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the same path, but on another disk: without the check its result would be lost silently."""
    monkeypatch.setattr(shared_folder, "_PATIENCE", 0.0)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    work = Leaves(str(here))
    task = CheckedWork.of(work)
    assert task.folder is not None
    assert task(3) == 3
    here.rename(there)  # now the same path is an empty folder
    here.mkdir()
    with pytest.raises(ShowthroughError, match="does not see what others write to this folder"):
        task(4)
    assert work.done == [3]
    here.rmdir()  # or no folder at all
    with pytest.raises(ShowthroughError, match="storage that all machines share"):
        task(5)
    SharedFolder(there, task.folder.token).unmark()
    assert list(there.iterdir()) == []


def test_the_folder_of_a_method_is_that_of_its_object(tmp_path: Path) -> None:
    task = CheckedWork.of(Leaves(str(tmp_path)).__call__)
    assert task.folder is not None
    assert task.folder.path == tmp_path
    task.close()
    assert list(tmp_path.iterdir()) == []
    assert CheckedWork.of(double).folder is None


def test_a_machine_with_other_versions_does_no_work() -> None:
    task = CheckedWork(double, {**machine_versions(), "numpy": "0.1"}, None)
    with pytest.raises(ShowthroughError, match=r"has numpy \d.*, this one has numpy 0\.1; install the same"):
        task(1)


def session_with(active: int) -> Any:
    """A session with one stage that has so many tasks running."""
    stage = SimpleNamespace(numActiveTasks=active, numCompletedTasks=0)
    tracker = SimpleNamespace(getActiveStageIds=lambda: [1], getStageInfo={1: stage}.get)
    asked = {"spark.executor.memory": "8g", "spark.executor.cores": "4"}
    context = SimpleNamespace(master="spark://host", statusTracker=lambda: tracker, getConf=lambda: asked)
    return SimpleNamespace(sparkContext=context, createDataFrame=None, stage=stage)


def test_waiting_for_resources_is_said_once_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_watch, "PATIENCE", 0.0)
    monkeypatch.setattr(spark_watch, "PAUSE", 0.001)
    session, said, two = session_with(0), list[str](), threading.Event()

    def notice(text: str) -> None:
        said.append(text)
        if len(said) == 2:
            two.set()
        session.stage.numActiveTasks = 1

    with watch_for_resources(session, notice):
        assert two.wait(30)
    first, second = said
    assert "has not begun any task; each executor asks for 8g of memory and 4 cores" in first
    assert second == "the cluster has begun to work"


def test_a_cluster_that_works_is_not_said_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_watch, "PATIENCE", 0.0)
    monkeypatch.setattr(spark_watch, "PAUSE", 0.001)
    said: list[str] = []
    with watch_for_resources(session_with(1), said.append):
        threading.Event().wait(0.05)
    assert said == []


def test_spark_connect_is_refused_with_the_reason() -> None:
    connected = type(
        "SparkSession", (), {"createDataFrame": None, "__module__": "pyspark.sql.connect.session"}
    )
    session: Any = connected()
    with pytest.raises(InputError, match="Spark Connect session cannot run this work: it shows neither"):
        SparkEngine(session)
    with (
        pytest.raises(InputError, match=r"Spark Connect cannot run this work.*\(found 'sc://host'\)"),
        open_engine("sc://host", workers=1),
    ):
        pass


def test_a_session_that_is_brought_along_is_not_stopped() -> None:
    engine = SparkEngine(session_with(0))
    engine.close()  # a session without stop()
    assert not engine.own


@dataclass
class Tasks:
    """What a context makes of items: it does them in this process."""

    items: list[int]
    each: Any = None

    def mapPartitions(self, each: Any) -> Tasks:  # noqa: N802  (as Spark has it)
        return Tasks(self.items, each)

    def collect(self) -> list[Any]:
        return [row for item in self.items for row in self.each([item])]


def test_an_error_ends_the_jobs_of_this_call_and_no_others() -> None:
    session, begun, ended = session_with(1), list[str](), list[str]()
    session.sparkContext.defaultParallelism = 1
    session.sparkContext.parallelize = lambda items, _: Tasks(items)
    session.sparkContext.setJobGroup = lambda group, _: begun.append(group)
    session.sparkContext.cancelJobGroup = ended.append
    engine = SparkEngine(session)
    assert sorted(engine.run(double, range(3))) == [(0, 0), (1, 2), (2, 4)]
    assert len(set(begun)) == 1
    assert not ended
    begun.clear()
    with pytest.raises(ShowthroughError, match="Spark failed"):
        list(engine.run(full, [1]))
    assert set(begun) == set(ended)


def test_a_full_disk_in_a_task_is_named() -> None:
    session = session_with(1)
    session.sparkContext.defaultParallelism = 1
    session.sparkContext.parallelize = lambda items, _: Tasks(items)
    session.sparkContext.setJobGroup = session.sparkContext.cancelJobGroup = lambda *_: None
    with pytest.raises(ShowthroughError, match=r"No space left on device.*free some space.*run the same"):
        list(SparkEngine(session).run(full, [1]))
