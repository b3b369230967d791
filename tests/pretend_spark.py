"""A Spark session that does everything in this process: what tasks are given and return, without Java.

Only what reading and sorting a source asks for. Partitions are made as Spark makes them: ranges of a column,
each sorted; and every function is pickled on its way to a task.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from showthrough.engine.spark import SparkEngine

Partition = list[pa.RecordBatch]


@dataclass(frozen=True)
class Listed:
    """A list for tasks, one item each."""

    items: tuple[Any, ...]
    each: Callable[[Iterable[Any]], Iterable[Any]] | None = None

    def mapPartitions(self, each: Any) -> Listed:  # noqa: N802  (as Spark has it)
        return replace(self, each=travelled(each))

    def collect(self) -> list[Any]:
        assert self.each is not None
        return [row for item in self.items for row in self.each([item])]


@dataclass(frozen=True)
class Frame:
    """A DataFrame: batches of rows, partition by partition."""

    partitions: tuple[Partition, ...]
    spoil: Callable[[pa.Table], pa.Table]
    backwards: bool = False

    def mapInArrow(self, each: Any, _columns: str) -> Frame:  # noqa: N802
        found = list[Partition]()
        for number, partition in enumerate(self.partitions):
            with task(number):
                found.append(list(travelled(each)(iter(partition))))
        return replace(self, partitions=tuple(found))

    def repartitionByRange(self, n: int, column: str) -> Frame:  # noqa: N802
        whole = self.spoil(self.table().sort_by(column))
        names: Any = whole[column]
        distinct = sorted(set(names.to_pylist()))
        each = -(-len(distinct) // n) or 1
        ranges = [distinct[at : at + each] for at in range(0, len(distinct), each)]
        ranges = ranges[::-1] if self.backwards else ranges
        parts = [whole.filter(pc.is_in(names, value_set=pa.array(some))) for some in ranges]
        return replace(self, partitions=tuple(part.to_batches() for part in parts))

    def sortWithinPartitions(self, *columns: str) -> Frame:  # noqa: N802
        order = [(column, "ascending") for column in columns]
        tables = [pa.Table.from_batches(part).sort_by(order) for part in self.partitions]
        return replace(self, partitions=tuple(table.to_batches(max_chunksize=7) for table in tables))

    def table(self) -> pa.Table:
        return pa.Table.from_batches([batch for part in self.partitions for batch in part])

    def distinct(self) -> Frame:
        table = self.table()
        return replace(self, partitions=(table.group_by(table.column_names).aggregate([]).to_batches(),))

    def count(self) -> int:
        return self.table().num_rows

    def collect(self) -> list[dict[str, Any]]:
        return self.table().to_pylist()


class task:  # noqa: N801  (a context, as a function would be)
    """While it is entered, tasks learn their number from Spark's own context."""

    def __init__(self, number: int) -> None:
        self.context = SimpleNamespace(partitionId=lambda: number)

    def __enter__(self) -> None:
        from pyspark import TaskContext

        self.known = TaskContext.get
        TaskContext.get = classmethod(lambda _: self.context)  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        from pyspark import TaskContext

        TaskContext.get = self.known  # type: ignore[method-assign]


def travelled(function: Any) -> Any:
    return pickle.loads(pickle.dumps(function))  # noqa: S301  (our own)


def as_it_is(table: pa.Table) -> pa.Table:
    return table


def cluster(
    notice: Callable[[str], None] = lambda _: None,
    spoil: Callable[[pa.Table], pa.Table] = as_it_is,
    backwards: bool = False,
) -> SparkEngine:
    """An engine; ``spoil`` is done to the rows while they are shuffled, ``backwards`` to partitions."""
    stage = SimpleNamespace(numActiveTasks=1, numCompletedTasks=0)
    tracker = SimpleNamespace(getActiveStageIds=lambda: [1], getStageInfo={1: stage}.get)

    def parallelize(items: Iterable[Any], _n: int) -> Listed:
        return Listed(tuple(items))

    def frame(listed: Listed, columns: str, **_more: object) -> Frame:
        names = [part.split()[0] for part in columns.split(",")]
        rows = [dict(zip(names, item, strict=True)) for item in listed.items]
        return Frame(tuple([pa.RecordBatch.from_pylist([row])] for row in rows), spoil, backwards)

    context = SimpleNamespace(
        master="local[2]",
        defaultParallelism=2,
        statusTracker=lambda: tracker,
        parallelize=parallelize,
        setJobGroup=lambda *_: None,
        cancelJobGroup=lambda _: None,
    )
    session: Any = SimpleNamespace(sparkContext=context, createDataFrame=frame)
    return SparkEngine(session, notice=notice)
