"""Input that the tasks of a cluster read and sort: the same run as from one process, or an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import pretend_spark
import showthrough as st
from needs import do_without
from showthrough.census.blocks import Blocks, PeopleTables, read_blocks
from showthrough.census.counts import write_census
from showthrough.census.figures import summarise_run
from showthrough.census.people_simulator import simulate_people
from showthrough.census.simulator import simulate_households
from showthrough.engine import spark_rows
from showthrough.engine.pieces import each_piece, pieces_of
from showthrough.errors import InputError, RecordsError, ShowthroughError
from showthrough.formats.planned import read_areas
from showthrough.frames import Source
from showthrough.tables.run import folder as run_folder
from showthrough.tables.run import parts
from showthrough.tables.run.folder import run_audit
from showthrough.tables.run.read import AuditRun
from small_run import contents
from spark_cluster import missing

QUICK = st.Settings(scope=st.Scope(max_columns=1), effort=0.05, keep_going=True, findings=False)


@pytest.fixture(autouse=True)
def spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if "PySpark" in (lacking := missing()):
        do_without(lacking)
    monkeypatch.setattr(spark_rows, "FILE_ROWS", 15)  # several files
    monkeypatch.setattr(spark_rows, "ROW_GROUP", 5)
    monkeypatch.chdir(tmp_path)


def few(table: pa.Table, column: str = "block") -> pa.Table:
    """The first four records of every block, so that blocks are small."""
    seen, kept = dict[str, int](), list[int]()
    for at, block in enumerate(table[column].to_pylist()):
        seen[block] = seen.get(block, 0) + 1
        if seen[block] <= 4:
            kept.append(at)
    return table.take(kept)


def small_blocks() -> pa.Table:
    return few(simulate_households(12, seed=4))


def shuffled(table: pa.Table) -> pa.Table:
    order: Any = pa.array(np.random.default_rng(1).permutation(len(table)))
    return table.take(order)


def homes(*, bad: bool = False) -> Path:
    """Homes of 12 blocks in any order, in pieces; one of them perhaps outside the schema."""
    table = shuffled(small_blocks())
    if bad:
        ages: list[Any] = table["age"].to_pylist()
        ages[30] = "very old"
        table = table.set_column(table.schema.get_field_index("age"), "age", pa.array(ages))
    pq.write_table(table, "homes.parquet", row_group_size=9)
    return Path("homes.parquet")


def people() -> Path:
    pq.write_table(shuffled(few(simulate_people(9, seed=3))), "people.parquet", row_group_size=9)
    return Path("people.parquet")


def counts(**more: Any) -> Path:
    """Published counts of the blocks of homes, in pieces."""
    blocks = read_blocks(homes(**more), keep_going=True)
    releases = [area.release for area in blocks.areas()]
    write_census(releases, "counts.parquet")
    pq.write_table(shuffled(pq.read_table("counts.parquet")), "counts.parquet", row_group_size=5)
    return Path("counts.parquet")


def opened(kind: str, engine: object) -> Blocks:
    if kind == "people":
        return read_blocks(people(), tables=PeopleTables(), keep_going=True, engine=engine)
    if kind == "counts":
        return read_blocks(counts=[counts()], keep_going=True, engine=engine)
    return read_blocks(homes(bad=kind == "bad homes"), keep_going=True, engine=engine)


@pytest.mark.parametrize("kind", ["homes", "bad homes", "people", "counts"])
def test_the_same_run_from_pieces(kind: str) -> None:
    cluster = pretend_spark.cluster()
    blocks, alone = opened(kind, cluster), opened(kind, None)
    rows = blocks.in_pieces()
    assert rows is not None
    assert len(rows.pieces) > 2
    assert (rows.n_areas, rows.n_rows) == (alone.n_areas, sum(_n_rows(piece) for piece in rows.pieces))
    run_audit(blocks, blocks.layout, "there", settings=QUICK, engine=cluster, batch=3)
    run_audit(alone, alone.layout, "here", settings=QUICK, batch=3)
    here, there = contents(Path("here")), contents(Path("there"))
    assert here == there
    statuses: list[Any] = AuditRun(Path("there")).table("areas")["status"].to_pylist()
    assert sum("very old" in status for status in statuses) == (kind == "bad homes")


def _n_rows(piece: Source) -> int:
    known = piece.n_rows()
    assert known is not None
    return known


def test_a_run_goes_on_with_another_reader() -> None:
    """What one process had read and decided is taken by a cluster, and the other way round."""
    cluster, blocks = pretend_spark.cluster(), opened("homes", None)
    run_audit(blocks, blocks.layout, "whole", settings=QUICK, batch=3)
    for name, first, second in (("one", cluster, None), ("two", None, cluster)):
        done = list[int]()

        def stop(n: int, done: list[int] = done) -> None:
            done.append(n)
            if len(done) == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_audit(blocks, blocks.layout, name, settings=QUICK, batch=3, engine=first, progress=stop)
        assert sum(done) < blocks.n_areas

        class Counts:
            before = 0

            def __call__(self, n: int) -> None:
                pass

            def resumed(self, n: int) -> None:
                self.before += n

        watched = Counts()
        run_audit(blocks, blocks.layout, name, settings=QUICK, batch=3, engine=second, progress=watched)
        assert watched.before >= done[0]
        assert contents(Path(name)) == contents(Path("whole"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda table: table.slice(1), r"the source has \d+ rows; tasks have sorted \d+"),
        (lambda table: pa.concat_tables([table, table.slice(0, 1)]), "the source has"),
        (
            lambda table: table.set_column(
                0, "area", pa.array(["x", *table["area"].to_pylist()[1:]], pa.string())
            ),
            "the input has 12 areas, but 13 were sorted",
        ),
    ],
    ids=["a row lost", "a row twice", "a row in another area"],
)
def test_rows_that_are_lost_on_the_way_are_missed(spoil: Callable[[pa.Table], pa.Table], said: str) -> None:
    cluster = pretend_spark.cluster(spoil=spoil)
    blocks = opened("homes", cluster)
    with pytest.raises(ShowthroughError, match=said):
        run_audit(blocks, blocks.layout, "out", settings=QUICK, engine=cluster)


def test_files_in_another_order_are_refused() -> None:
    """No result would be wrong, but it would not be that of other engines."""
    cluster = pretend_spark.cluster(backwards=True)
    blocks = opened("homes", cluster)
    with pytest.raises(ShowthroughError, match="Spark has not sorted the areas"):
        run_audit(blocks, blocks.layout, "out", settings=QUICK, engine=cluster)


def test_rows_that_change_after_they_were_listed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that sees other files under the same names."""
    cluster = pretend_spark.cluster()
    blocks = opened("homes", cluster)

    def spoiled(*arguments: Any, **more: Any) -> Any:
        found = spark_rows.sort_rows(*arguments, **more)
        path = spark_rows.sorted_file(arguments[3], found[0])
        table = pq.read_table(path)
        codes = [bytes([*data[:-1], data[-1] ^ 1]) for data in table["data"].to_pylist()]
        pq.write_table(table.set_column(2, "data", pa.array(codes, pa.binary())), path)
        return found

    monkeypatch.setattr("showthrough.tables.run.sorted_input.sort_rows", spoiled)
    with pytest.raises(st.RunError, match="are not those that were listed"):
        run_audit(blocks, blocks.layout, "out", settings=QUICK, engine=cluster)


def test_the_first_error_of_all_pieces_is_raised() -> None:
    """The one that a single process meets first, with the same words."""
    table = small_blocks()
    ages: list[Any] = table["age"].to_pylist()
    ages[40] = ages[15] = "very old"
    table = table.set_column(table.schema.get_field_index("age"), "age", pa.array(ages))
    pq.write_table(table, "homes.parquet", row_group_size=9)
    said = set[str]()
    for engine in (None, pretend_spark.cluster()):
        with pytest.raises(RecordsError) as found:
            read_blocks(Path("homes.parquet"), engine=engine)
        said.add(str(found.value))
    assert len(said) == 1
    assert "row 16" in said.pop()


def test_inferred_schemas_and_several_files() -> None:
    """The values of all pieces, in their order; files of text are a piece each."""
    table = shuffled(small_blocks()).select(["block", "tenure", "size"])
    Path("parts").mkdir()
    for at in range(3):
        arrow_csv.write_csv(table.slice(15 * at, 15 if at < 2 else None), f"parts/{at}.csv")
    cluster = pretend_spark.cluster()
    here = read_areas("parts", "tenure*size", by="block")
    there = read_areas("parts", "tenure*size", by="block", engine=cluster)
    assert there.layout.schema == here.layout.schema
    assert there.n_areas == here.n_areas
    run_audit(there, there.layout, "there", settings=QUICK, engine=cluster)
    run_audit(here, here.layout, "here", settings=QUICK)
    assert contents(Path("here")) == contents(Path("there"))


def test_what_is_one_piece_is_read_here_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "MANY", 5)
    said = list[str]()
    cluster = pretend_spark.cluster(notice=said.append)
    arrow_csv.write_csv(small_blocks(), "homes.csv")
    blocks = read_blocks(Path("homes.csv"), engine=cluster)
    assert blocks.in_pieces() is None
    run_audit(blocks, blocks.layout, "there", settings=QUICK, engine=cluster)
    assert ["this program reads the input" in text for text in said] == [True]


def test_nothing_in_pieces() -> None:
    pq.write_table(simulate_households(2, seed=4).slice(0, 0), "none.parquet")
    with pytest.raises(InputError, match="there are no records"):
        read_blocks(Path("none.parquet"), engine=pretend_spark.cluster())
    for at in range(2):
        Path(f"{at}.csv").write_text("town,sex\n")
    with pytest.raises(InputError, match="there are no records"):
        read_areas("[01].csv", "sex", by="town", engine=pretend_spark.cluster())


def test_a_summary_reads_the_homes_of_each_parts_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run in parts over two states: the same figures as with all homes at hand."""
    monkeypatch.setattr(parts, "PART_BYTES", 10_000)
    table = small_blocks().drop_columns(["state", "county", "tract"])
    blocks: list[Any] = table["block"].to_pylist()
    names = [f"0{1 + at // 24}{block[2:]}" for at, block in enumerate(blocks)]  # two states
    ages: list[Any] = table["age"].to_pylist()
    alone = next(at for at, size in enumerate(table["size"].to_pylist()) if size == "1")
    table = table.set_column(table.schema.get_field_index("block"), "block", pa.array(names))
    pq.write_table(shuffled(table), "homes.parquet", row_group_size=9)
    settings = st.Settings(scope=st.Scope(max_columns=2), effort=0.05, keep_going=True)
    found = read_blocks(Path("homes.parquet"), keep_going=True)
    run = run_audit(found, found.layout, "run", settings=settings, batch=2)
    assert len(run.parts) > 2
    ages[alone] = "vacant"  # breaks a rule, so it is left out
    table = table.set_column(table.schema.get_field_index("age"), "age", pa.array(ages))
    pq.write_table(shuffled(table), "homes.parquet", row_group_size=9)
    here, there = (
        summarise_run("run", "homes.parquet", engine=engine) for engine in (None, pretend_spark.cluster())
    )
    assert here.n_left_out == there.n_left_out == 1
    assert here.to_plain() == there.to_plain()
    assert here.coverage.baselines.num_rows
    pq.write_table(table.filter(pc.not_equal(table["block"], names[0])), "homes.parquet", row_group_size=9)
    for engine in (None, pretend_spark.cluster()):
        with pytest.raises(RecordsError, match=rf"has no homes in this file.*{names[0]}"):
            summarise_run("run", "homes.parquet", engine=engine)


def other_rows(piece: Source) -> int:
    from showthrough.engine.pieces import checked_rows

    return checked_rows(piece, 1)


def test_a_machine_that_sees_another_file_is_named() -> None:
    source = Source.of(homes())
    assert len(pieces_of(source)) > 2
    with pytest.raises(ShowthroughError, match=r"read 1 rows of a piece with 9: it sees another file"):
        each_piece(source, other_rows, pretend_spark.cluster())
