"""Reports when a cluster has been given work and has not begun it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Notice",
    "print_notice",
    "watch_for_resources",
]

#: Seconds without any task running after which it is said, and between looks.
PATIENCE, PAUSE = 5.0, 0.5

#: Takes a sentence for people.
Notice = Callable[[str], None]


def print_notice(text: str) -> None:
    """Print a sentence to the error stream."""
    sys.stderr.write(f"showthrough: {text}\n")


@contextmanager
def watch_for_resources(session: SparkSession, notice: Notice) -> Generator[None]:
    """Say once if stages wait although no task is running or has ended; the wait goes on."""
    ended = Event()
    watcher = Thread(target=_watch, args=(session, notice, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(session: SparkSession, notice: Notice, ended: Event) -> None:
    context: Any = session.sparkContext
    began, waited = time.monotonic(), False
    while not ended.wait(PAUSE):
        with suppress(Exception):  # the session may end at any moment
            if _is_idle(context):
                if not waited and time.monotonic() - began >= PATIENCE:
                    waited = True
                    notice(_said(context))
                continue
        if waited:
            notice("the cluster has begun to work")
        return


def _is_idle(context: Any) -> bool:
    """Whether no task of this program is running, or has ever ended in a stage that is under way."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return not any(stage and stage.numActiveTasks + stage.numCompletedTasks for stage in stages)


def _said(context: Any) -> str:
    conf = context.getConf()
    memory, cores = conf.get("spark.executor.memory", "1g"), conf.get("spark.executor.cores", "")
    each = f"{memory} of memory" + (f" and {cores} cores" if cores else "")
    return (
        f"waiting: the cluster {context.master} has not begun any task; each executor asks for {each}. "
        "Check that workers with this much free are registered with the master, or ask for less "
        "(spark.executor.memory)"
    )
