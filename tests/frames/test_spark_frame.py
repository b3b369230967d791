"""DataFrames of Spark as records, with a frame whose tasks run here: written, checked, read, and gone."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
from showthrough.errors import RecordsError
from showthrough.frames import Source
from showthrough.frames.content import HELD

PEOPLE = pa.table({"sex": ["f", "m", "m", "f"] * 20, "ill": ["no", "yes", "no", "no"] * 20})


@dataclass
class Frame:
    """As much of a DataFrame as is used: some rows in each of several tasks."""

    table: pa.Table
    n_tasks: int = 3
    master: str = "local[2]"
    #: What happens to the files of a task once they are written.
    after: Callable[[Path], None] = lambda _: None

    @property
    def columns(self) -> list[str]:
        return self.table.column_names

    @property
    def sparkSession(self) -> Any:  # noqa: N802  (as Spark has it)
        return SimpleNamespace(sparkContext=SimpleNamespace(master=self.master))

    def mapInArrow(self, work: Any, _schema: str) -> Any:  # noqa: N802
        return SimpleNamespace(collect=lambda: list(self.worked(work)))

    def worked(self, work: Any) -> Iterator[dict[str, int]]:
        size = -(-self.table.num_rows // self.n_tasks)
        for at in range(self.n_tasks):
            sys.modules["pyspark"].TaskContext.number = at  # type: ignore[attr-defined]
            rows = self.table.slice(at * size, size)
            for batch in work(iter(rows.to_batches(max_chunksize=5))):
                yield from batch.to_pylist()
        for path in work.__closure__[0].cell_contents.iterdir():
            self.after(path)


Frame.__module__ = "pyspark.sql.made_up"


@pytest.fixture(autouse=True)
def tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where tasks learn their numbers, and where files go."""
    context = SimpleNamespace(number=0)
    context.get = lambda: SimpleNamespace(partitionId=lambda: context.number)
    monkeypatch.setitem(sys.modules, "pyspark", SimpleNamespace(TaskContext=context))  # type: ignore[arg-type]
    monkeypatch.setenv("SHOWTHROUGH_SCRATCH", str(tmp_path))
    return tmp_path


def test_the_same_rows(tasks: Path) -> None:
    source = Source.of(Frame(PEOPLE))
    assert source.table().equals(PEOPLE)
    assert [len(piece.parts) for piece in source.pieces()] == [1, 1, 1]
    assert (source.files, source.digests(), source.name) == ((), {}, None)
    assert not any(part.file.content._held for part in source.parts if part.file.content.size > HELD // 3)
    there = pickle.loads(pickle.dumps(source.pieces()[1]))  # noqa: S301  (our own)
    assert there.kept is None
    assert there.table().equals(PEOPLE.slice(27, 27))
    del source, there
    gc.collect()
    assert list(tasks.iterdir()) == []


def test_verbs_take_frames(tasks: Path) -> None:
    """The same as of a table in memory, and nothing is left behind."""
    found = st.check(Frame(PEOPLE), "rho=0.3:0.6", sensitive="ill", retention=0.2)
    assert found.to_plain() == st.check(PEOPLE, "rho=0.3:0.6", sensitive="ill", retention=0.2).to_plain()
    here, there = (st.read_records(one) for one in (PEOPLE, Frame(PEOPLE)))
    assert (here.codes == there.codes).all()
    rows = [
        st.publish(data, tasks / name, sensitive="ill", retention=0.5, seed=2**90).to_arrow()
        for name, data in (("here", PEOPLE), ("there", Frame(PEOPLE)))
    ]
    assert rows[0].equals(rows[1])
    gc.collect()
    assert sorted(path.name for path in tasks.iterdir()) == ["here", "there"]


def test_areas_of_a_frame_are_audited(tasks: Path) -> None:
    """Read one after the other; the same claims as of a table in memory."""
    towns = PEOPLE.append_column("town", pa.array(["North", "South", "South", "North"] * 20))
    claims = list[pa.Table]()
    for name, data in (("here", towns), ("there", Frame(towns))):
        areas = st.read_areas(data, "sex", "ill", by="town")
        assert (areas.n_areas, areas.notes) == (2, ())
        claims.append(st.run_audit(areas, areas.layout, tasks / name).table("claims"))
    assert claims[0].num_rows
    assert claims[0].equals(claims[1])


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (Frame(PEOPLE, after=lambda path: path.unlink()), "has written 27 rows, and 0 of them are here"),
        (
            Frame(PEOPLE, after=lambda path: pq.write_table(PEOPLE.slice(0, 9), path)),
            "has written 27 rows, and 9 of them are here",
        ),
        (Frame(PEOPLE.rename_columns(["sex", "sex"])), "column sex: two columns have the same name"),
        (
            Frame(pa.table({"sex": [["f"]], "ill": ["no"]}), 1),
            r"^Spark data frame, part 1, column sex: the column cannot be read as text",
        ),
    ],
)
def test_what_cannot_be_read_is_said(frame: Frame, said: str, tasks: Path) -> None:
    with pytest.raises(RecordsError, match=said):
        Source.of(frame).table()
    gc.collect()
    assert list(tasks.iterdir()) == []


def test_a_task_that_fails_and_a_cluster_without_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: Frame, _work: Any) -> Iterator[dict[str, int]]:
        raise RuntimeError("calling o59\n[DIVIDE_BY_ZERO] error: Division by zero")

    monkeypatch.setattr(Frame, "worked", fail)
    with pytest.raises(RecordsError, match=r"cannot be read.*Division by zero"):
        Source.of(Frame(PEOPLE))
    monkeypatch.delenv("SHOWTHROUGH_SCRATCH")
    with pytest.raises(st.InputError, match="need a shared folder"):
        Source.of(Frame(PEOPLE, master="spark://host:7077"))
    monkeypatch.setattr(Frame, "__module__", "pyspark.sql.connect.dataframe")
    with pytest.raises(RecordsError, match="Spark Connect"):
        Source.of(Frame(PEOPLE))
