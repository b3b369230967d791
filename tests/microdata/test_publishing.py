"""Publishing: the same from anything, nothing that leaks, all or nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import crowd
import small_run
from crowd import METHODS, PROMISE, SEED
from showthrough.engine.duck import DuckBackend
from showthrough.engine.handed import scratch_place
from showthrough.errors import InputError, RecordsError, RunError, ShowthroughError
from showthrough.files import file_digest
from showthrough.microdata import write as writing
from showthrough.microdata.groups import Groups
from showthrough.microdata.partition import partition
from showthrough.microdata.partitioned import Partitioned, perturb_partition
from showthrough.microdata.promises import RhoPrivacy
from showthrough.microdata.publication import Publication
from showthrough.microdata.publish import publish
from showthrough.microdata.sampled import Sampled, sample
from showthrough.microdata.trials import plan_trials
from showthrough.microdata.uniform import UniformPerturbation, perturb
from showthrough.selection import Selection


def test_a_publication_is_what_the_counts_say(tmp_path: Path) -> None:
    """The same draws in memory and through files, for every method with counts."""
    table = crowd.people()
    groups = Groups.read(table, sensitive="ill")
    whole = publish(table, tmp_path / "u", sensitive="ill", method=METHODS["uniform"], seed=SEED)
    assert (whole.groups().counts != perturb(groups, 0.4, seed=SEED).counts).nnz == 0
    kept = publish(table, tmp_path / "s", sensitive="ill", method=METHODS["not merged"], seed=SEED)
    assert (kept.groups().counts != sample(groups, METHODS["not merged"], seed=SEED).counts).nnz == 0
    split = publish(table, tmp_path / "p", sensitive="ill", method=METHODS["partitioned"], seed=SEED)
    parts = perturb_partition(groups, partition(groups.totals, RhoPrivacy(0.3, 0.6)), seed=SEED)
    assert (split.groups().counts != sum(part.counts for part in parts)).nnz == 0


def test_only_records_and_seed_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row order, files, chunks, pieces: the counts stay. The order of rows follows from the seed."""
    table = crowd.people()
    first = publish(table, tmp_path / "1", sensitive="ill", method=UniformPerturbation(0.4), seed=SEED)
    again = publish(
        table.take(np.random.default_rng(1).permutation(3000)),
        tmp_path / "2",
        sensitive="ill",
        method=UniformPerturbation(0.4),
        seed=SEED,
    )
    assert pq.read_table(first.data).equals(pq.read_table(again.data))
    monkeypatch.setattr("showthrough.microdata.write.CHUNK", 400)
    monkeypatch.setattr("showthrough.microdata.write.PIECE", 250)
    monkeypatch.setattr(writing, "PIECE", 250)
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(4):
        pq.write_table(table.slice(750 * at, 750), folder / f"{at}.parquet")
    pieces = publish(folder, tmp_path / "3", sensitive="ill", method=UniformPerturbation(0.4), seed=SEED)
    assert (pieces.groups().counts != first.groups().counts).nnz == 0
    assert not pq.read_table(first.data).equals(pq.read_table(pieces.data))
    other = publish(table, tmp_path / "4", sensitive="ill", method=UniformPerturbation(0.4), seed=SEED + 1)
    assert (other.groups().counts != first.groups().counts).nnz > 0


def test_nothing_leaks(tmp_path: Path) -> None:
    table = crowd.people()
    for name, method in METHODS.items():
        found = publish(table, tmp_path / name, sensitive="ill", method=method, seed=SEED)
        said = json.loads((tmp_path / name / "publication.json").read_text())
        allowed = {
            "kind",
            "version",
            "method",
            "format",
            "records",
            "public",
            "sensitive",
            "domain",
            "tables",
            "label",
            "copies",
            "merged",
            "promise",
            "bound",
            "band",
            "trials",
            "drawn",
            "effective",
            "suppressed",
            "files",
        }
        assert set(said) <= allowed
        assert str(SEED) not in json.dumps(said)
        metadata = pq.read_metadata(found.data)
        assert metadata.metadata is None
        numbers = {int(n) for n in Groups.read(table, sensitive="ill").totals}
        assert not numbers & {value for value in said.values() if isinstance(value, int)}
    assert "copies" not in json.loads((tmp_path / "exact rates" / "publication.json").read_text())
    limits = PROMISE.largest_group((1.3 / 0.7) ** -np.arange(3.0), 0.5, 4, bound="chernoff")
    assert set(sampled_trials(tmp_path / "banded")) <= set(np.floor(limits).tolist())
    largest = plan_trials(Groups.read(table, sensitive="ill").sizes, PROMISE, n_values=4, retention=0.5)
    assert set(sampled_trials(tmp_path / "not merged")) <= set(largest.trials.tolist())


def sampled_trials(folder: Path) -> list[float]:
    """The trials of groups that were sampled, as a reader computes them."""
    found = Publication.open(folder)
    columns = [*found.manifest.public, "copies"]
    shown = pq.read_table(found.data).group_by(columns).aggregate([([], "count_all")])
    trials = pc.divide(shown["count_all"], shown["copies"]).to_numpy().round(6)
    return trials[shown["copies"].to_numpy() > 1].tolist()


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("damage", ["one value", "one row less", "another value"])
def test_what_was_written_wrongly_is_not_published(
    damage: str, file_format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that goes wrong in a single row out of 3,000."""
    made = writing._writer

    def wrong(path: Path, ending: str, codec: Any) -> Any:
        if damage == "another value":
            values = pa.array(["cold", "flu", "gout", "plague"])
            codec = type(codec)(codec.public, (type(codec.sensitive[0])("ill", values),), codec.codes)
        manager = made(path, ending, codec)

        class Wrong:
            def __enter__(self) -> Any:
                write = manager.__enter__()

                def spoilt(rows: Any) -> None:
                    rows = rows.copy()
                    if damage == "one value":
                        rows[7] ^= 1
                    write(rows[1:] if damage == "one row less" else rows)

                return spoilt

            def __exit__(self, *problem: Any) -> Any:
                return manager.__exit__(*problem)

        return Wrong()

    monkeypatch.setattr(writing, "_writer", wrong)
    people, out = crowd.people(), tmp_path / "out"
    with pytest.raises(ShowthroughError, match=r"rows differ from those that were drawn .*nothing was"):
        publish(
            people, out, sensitive="ill", method=UniformPerturbation(0.4), seed=1, file_format=file_format
        )
    assert list(tmp_path.iterdir()) == []


def test_the_output_is_new(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("mine")
    said = {
        tmp_path / "old": "the output folder is not empty",
        tmp_path / "old" / "file": "a file, not a folder",
    }
    for place, why in said.items():
        with pytest.raises(RunError, match=why):
            publish(crowd.people(), place, sensitive="ill", method=UniformPerturbation(0.4), seed=1)
    assert (tmp_path / "old" / "file").read_text() == "mine"
    with pytest.raises(RunError, match="cannot write here"):
        publish(
            crowd.people(), tmp_path / "old/file/in", sensitive="ill", method=UniformPerturbation(0.4), seed=1
        )
    (tmp_path / "empty").mkdir()
    publish(crowd.people(), tmp_path / "empty", sensitive="ill", method=UniformPerturbation(0.4), seed=1)
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(RunError, match="cannot write here"):
            publish(
                crowd.people(),
                tmp_path / "closed" / "x",
                sensitive="ill",
                method=UniformPerturbation(0.4),
                seed=1,
            )


def test_bad_input(tmp_path: Path) -> None:
    out, table = tmp_path / "out", crowd.people(60)
    with pytest.raises(RecordsError, match="column sick: no such column"):
        publish(table, out, sensitive="sick", method=UniformPerturbation(0.4), seed=1)
    with pytest.raises(RecordsError, match="at least two values"):
        publish(
            pa.table({"a": ["x"], "b": ["y"]}), out, sensitive="b", method=UniformPerturbation(0.4), seed=1
        )
    with pytest.raises(InputError, match="a seed must be a whole number"):
        publish(table, out, sensitive="ill", method=UniformPerturbation(0.4), seed=-1)
    with pytest.raises(InputError, match="unknown file format"):
        publish(table, out, sensitive="ill", method=UniformPerturbation(0.4), seed=1, file_format="xml")  # pyright: ignore
    for retention in (0, 1, 2, float("nan")):
        with pytest.raises(InputError, match="a retention must be between 0 and 1"):
            UniformPerturbation(retention)
        with pytest.raises(InputError, match="a retention must be between 0 and 1"):
            Sampled(PROMISE, retention)
    assert list(tmp_path.iterdir()) == []


def test_ten_thousand_values(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    table = pa.table({"a": chance.integers(0, 3, 20_000), "v": chance.permutation(20_000) % 10_000})
    found = publish(table, tmp_path / "u", sensitive="v", method=UniformPerturbation(0.5), seed=1)
    assert len(found.manifest.domain) == 10_000
    answer = found.count(Selection.of(v=[str(v) for v in range(5000)]))
    assert abs(answer.value - 10_000) < 6 * answer.error
    parts = publish(table, tmp_path / "p", sensitive="v", method=Partitioned(RhoPrivacy(0.01, 0.1)), seed=1)
    answer = parts.count(Selection.of(v=[str(v) for v in range(5000)]))
    assert abs(answer.value - 10_000) < 6 * answer.error


class Cluster:
    """A backend whose machines are elsewhere."""

    is_shared = True

    def __init__(self, master: str) -> None:
        self.engine = SimpleNamespace(session=SimpleNamespace(sparkContext=SimpleNamespace(master=master)))


def test_scratch_files_of_a_cluster_lie_where_all_machines_see_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOWTHROUGH_SCRATCH", raising=False)
    far: Any = Cluster("spark://host:7077")
    people, out = crowd.people(60), tmp_path / "out"
    with pytest.raises(InputError, match=r"shared folder for temporary files.*--scratch"):
        publish(people, out, sensitive="ill", method=UniformPerturbation(0.4), seed=SEED, engine=far)
    assert list(tmp_path.iterdir()) == []
    assert scratch_place(far.engine, tmp_path) == tmp_path
    assert scratch_place(Cluster("local[2]").engine) is None
    monkeypatch.setenv("SHOWTHROUGH_SCRATCH", str(tmp_path))
    assert scratch_place(far.engine) is None


def test_scratch_files_lie_where_they_should(tmp_path: Path) -> None:
    seen = list[Path]()

    class Looking(DuckBackend):
        def tally(self, *arguments: Any, scratch: Path, **more: Any) -> Any:
            seen.append(scratch)
            return super().tally(*arguments, scratch=scratch, **more)

    (tmp_path / "private").mkdir()
    publish(
        crowd.people(60),
        tmp_path / "here" / "out",
        sensitive="ill",
        method=UniformPerturbation(0.4),
        seed=SEED,
        engine=Looking(),
        scratch=tmp_path / "private",
    )
    assert seen[0].is_relative_to(tmp_path / "private")
    assert list((tmp_path / "private").iterdir()) == []
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["out"]


def test_two_attempts_at_the_same_part_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may try the same once more, while the first attempt is still writing."""
    rivals = list[Callable[[], object]]()
    writer = writing._writer

    @contextmanager
    def overtaken(*arguments: Any, **more: Any) -> Iterator[Any]:
        with writer(*arguments, **more) as write:
            yield write
            while rivals:
                rivals.pop()()

    class Elsewhere(DuckBackend):
        @property
        def is_shared(self) -> bool:
            return True

        def run(self, work: Any, items: Any) -> Iterator[tuple[int, Any]]:
            for item in items:
                if work.__name__ == "write_part":
                    rivals.append(lambda item=item: work(item))
                yield item, work(item)

    publish_it = partial(
        publish, crowd.people(60), sensitive="ill", method=UniformPerturbation(0.4), seed=SEED
    )
    for name, value in {"CHUNK": 8, "ONE_FILE": 20, "FILE_ROWS": 24}.items():
        monkeypatch.setattr(writing, name, value)
    publish_it(tmp_path / "here")
    monkeypatch.setattr(writing, "_writer", overtaken)
    publish_it(tmp_path / "there", engine=Elsewhere())
    here, there = (small_run.contents(tmp_path / name) for name in ("here", "there"))
    assert here == there
    assert {f"data.parquet/part-0000{at}.parquet" for at in range(3)} < set(here)
    assert not list((tmp_path / "there").glob(".*"))


def test_one_file_or_several_hold_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several only if there are very many rows; every reader takes both."""
    monkeypatch.setattr(writing, "CHUNK", 8)
    method = UniformPerturbation(0.4)
    one = publish(crowd.people(60), tmp_path / "one", sensitive="ill", method=method, seed=SEED)
    for name, value in {"ONE_FILE": 20, "FILE_ROWS": 24}.items():
        monkeypatch.setattr(writing, name, value)
    several = publish(crowd.people(60), tmp_path / "several", sensitive="ill", method=method, seed=SEED)
    assert one.data.is_file()
    assert len(list(several.data.iterdir())) == 3
    assert several.to_arrow().equals(one.to_arrow())
    assert several.count("town=Aldea").to_plain(0.9) == one.count("town=Aldea").to_plain(0.9)
    assert {**several.manifest.model_dump(), "files": 0} == {**one.manifest.model_dump(), "files": 0}


def test_older_publications_are_read_and_replaced(tmp_path: Path) -> None:
    """Their manifests do not list their files."""
    place, people = tmp_path / "out", crowd.people(60)
    publish(people, place, sensitive="ill", method=UniformPerturbation(0.4), seed=SEED)
    said = json.loads((place / "publication.json").read_text())
    assert said.pop("files") == {"data.parquet": file_digest(place / "data.parquet")}
    (place / "publication.json").write_text(json.dumps(said))
    assert Publication.open(place).manifest.files is None
    publish(people, place, sensitive="ill", method=UniformPerturbation(0.5), seed=SEED, overwrite=True)
    (place / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match=r"did not write \(found 'mine.txt'\)"):
        publish(people, place, sensitive="ill", method=UniformPerturbation(0.5), seed=SEED, overwrite=True)
