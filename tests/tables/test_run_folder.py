"""The folder of a run: whenever its writer is killed, the same call ends as if nothing had happened."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import showthrough as st
import small_run
from kills import STEP, every_moment, killed_at, n_moments
from showthrough.files import file_digest, write_text
from showthrough.locks import hold
from showthrough.tables.run import batch as parts

N_AREAS = 3

DECIDED: dict[tuple[tuple[str, ...], st.Settings], dict[str, pa.Table]] = {}


SCHEMA = st.schema_to_toml(small_run.SCHEMA)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What matters here is what becomes of results, so each is found once, and nothing is flushed."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    decide = parts.decide_batch

    def remembered(batch: list[st.Area], settings: st.Settings) -> dict[str, pa.Table]:
        key = (tuple(area.release.area for area in batch), settings)
        if key not in DECIDED:
            DECIDED[key] = decide(batch, settings)
        return DECIDED[key]

    monkeypatch.setattr(parts, "decide_batch", remembered)


def page(folder: Path) -> None:
    write_text(folder / "report.html", json.dumps(sorted(json.loads((folder / "run.json").read_text()))))


def areas(n_areas: int) -> Iterator[st.Area]:
    return islice(small_run.areas(), n_areas)


def run(folder: Path, *, seed: int = 0, overwrite: bool = False, n_areas: int = N_AREAS) -> None:
    """As a command does it: it holds the folder until it has said what was found."""
    with hold(folder):
        st.run_audit(
            lambda _: areas(n_areas),
            small_run.LAYOUT,
            folder,
            settings=st.Settings(effort=small_run.EFFORT, seed=seed),
            extra_files={"schema.toml": f"# {seed}\n{SCHEMA}", f"more-{seed}.txt": "x"},
            overwrite=overwrite,
            batch=2,
            page=page,
        )
        assert json.loads((folder / "run.json").read_text())["outputs"]


def contents(folder: Path) -> dict[str, bytes]:
    return {name: text for name, text in small_run.contents(folder).items() if "timing" not in name}


def test_every_file_is_in_the_manifest(tmp_path: Path) -> None:
    run(tmp_path / "run")
    said = json.loads((tmp_path / "run/run.json").read_text())
    found = {name for name in contents(tmp_path / "run") if name != "run.json"}
    assert set(said["outputs"]) == found
    assert "report.html" in found
    assert said["not_hashed"] == ["timing.parquet"]
    assert all(file_digest(tmp_path / "run" / name) == digest for name, digest in said["outputs"].items())
    assert st.verify(tmp_path / "run").holds


def test_killed_at_every_moment(tmp_path: Path) -> None:
    run(tmp_path / "whole/run")
    expected, place, moment = contents(tmp_path / "whole"), tmp_path / "here", 0
    place.mkdir()
    for moment in every_moment(lambda: run(place / "run"), place, step=STEP):
        run(place / "run")
        assert contents(place) == expected, moment
        assert {path.name for path in place.iterdir()} == {"run"}
        shutil.rmtree(place / "run")
    assert moment > 90


def test_killed_at_every_moment_in_place_of_another(tmp_path: Path) -> None:
    """The old run stays until the new one is complete; nobody ever sees a mixture."""
    run(tmp_path / "whole/run", seed=1)
    new, place = contents(tmp_path / "whole"), tmp_path / "here"
    run(place / "run")
    old, seen = contents(place), set[str]()
    shutil.copytree(place, tmp_path / "old")
    for moment in every_moment(lambda: run(place / "run", seed=1, overwrite=True), place, step=STEP):
        there = {name: text for name, text in contents(place).items() if ".partial" not in name}
        there.pop(".run.lock", None)
        if "run/run.json" in there:
            assert there in (old, new), moment
            seen.add("old" if there == old else "new")
        run(place / "run", seed=1, overwrite=True)
        assert contents(place) == new, moment
        assert not (place / "run/.partial").exists()
        shutil.rmtree(place)
        shutil.copytree(tmp_path / "old", place)
    assert seen == {"old", "new"}


def test_what_a_kill_leaves_is_safe_from_other_commands(tmp_path: Path) -> None:
    """Others are refused, or are told of a finished run; then the same command still ends well."""
    run(tmp_path / "whole/run")
    expected, place = contents(tmp_path / "whole"), tmp_path / "here"
    place.mkdir()
    for moment in every_moment(lambda: run(place / "run"), place, first=20, step=STEP):
        if (place / "run/.partial/plan.json").exists() or (place / "run/run.json").exists():
            with pytest.raises(st.RunError, match="finished run"):
                run(place / "run", seed=1)
        run(place / "run")
        assert contents(place) == expected, moment
        shutil.rmtree(place / "run")


def test_a_finished_run_is_told_again_for_the_same_areas_only(tmp_path: Path) -> None:
    last = n_moments(lambda: run(tmp_path / "run"), tmp_path)
    before = contents(tmp_path)
    shutil.rmtree(tmp_path / "run")
    with killed_at(last, tmp_path):  # when the lock is about to go
        run(tmp_path / "run")
    assert (tmp_path / ".run.lock").exists()
    left = (tmp_path / ".run.lock").read_bytes()
    for n_areas in (2, 4):  # the same files, read in another way
        with pytest.raises(st.RunError, match="holds a finished run"):
            run(tmp_path / "run", n_areas=n_areas)
        (tmp_path / ".run.lock").write_bytes(left)
    run(tmp_path / "run")
    assert contents(tmp_path) == before


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run leaves that nobody interrupts."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder)
    return contents(folder)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The place of a run with one decided batch."""
    place, moment = tmp_path_factory.mktemp("begun"), 20
    while not (place / "run/.partial/00000000/areas.parquet").exists():
        with killed_at(moment, place):
            run(place / "run")
        moment += 5
    return place


@pytest.fixture
def interrupted(begun: Path, tmp_path: Path) -> Path:
    """A run with one decided batch, to be damaged."""
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run"


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "no seal", "other key", "file", "stray"])
def test_damaged_parts_are_decided_again(interrupted: Path, whole: dict[str, bytes], damage: str) -> None:
    part = interrupted / ".partial/00000000"
    claims, seal = part / "claims.parquet", part / parts.SEAL
    match damage:
        case "cut":
            claims.write_bytes(claims.read_bytes()[:-20])
        case "empty":
            claims.write_bytes(b"")
        case "gone":
            claims.unlink()
        case "no seal":
            seal.unlink()
        case "other key":
            seal.write_text(json.dumps({**json.loads(seal.read_text()), "key": "of another run"}))
        case "file":
            shutil.rmtree(part)
            part.write_text("no folder")
        case _:
            (part / "more.parquet").write_bytes(b"PAR1")
    run(interrupted)
    assert contents(interrupted) == whole


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\xff", "[" * 200_000, '{"plan": 1}'])
def test_damaged_descriptions(interrupted: Path, whole: dict[str, bytes], text: str) -> None:
    folder = interrupted
    (folder / ".partial/plan.json").write_text(text, "latin-1")
    if text.startswith('{"'):
        with pytest.raises(st.RunError, match="an unfinished run with other settings"):
            run(folder)
        run(folder, overwrite=True)
    else:
        run(folder)
    assert contents(folder) == whole
    (folder / "run.json").write_text(text, "latin-1")
    before = contents(folder)
    for overwrite in (False, True):
        with pytest.raises(st.RunError, match=r"damaged|the result of another command"):
            run(folder, overwrite=overwrite)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", '{"old": ["../x"], "new": []}', '{"old": [], "new": ["/tmp/x"]}', '{"old": 3}']
)
def test_a_damaged_commit_moves_and_removes_nothing(interrupted: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text("mine")
    (interrupted / ".partial/commit").write_text(text)
    with pytest.raises(st.RunError, match="damaged"):
        run(interrupted, overwrite=True)
    assert (tmp_path / "x").read_text() == "mine"


def test_foreign_folders(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/summary.json").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(st.RunError, match="the output folder is not empty"):
            run(tmp_path / "run", overwrite=overwrite)
    (tmp_path / "run/run.json").write_text('{"kind": "check", "outputs": {}}')
    with pytest.raises(st.RunError, match="the result of another command"):
        run(tmp_path / "run", overwrite=True)
    assert (tmp_path / "run/summary.json").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"run"}


def test_files_of_the_user_stay_beside_those_of_a_run(tmp_path: Path) -> None:
    run(tmp_path / "run")
    (tmp_path / "run/notes.txt").write_text("mine")
    run(tmp_path / "run", seed=1, overwrite=True)
    assert (tmp_path / "run/notes.txt").read_text() == "mine"
    assert not (tmp_path / "run/more-0.txt").exists()
    done = st.verify(tmp_path / "run")
    assert done.holds
    assert "notes.txt: not listed in run.json, so not part of the run" in done.not_covered


def test_an_error_keeps_the_old_run(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = contents(tmp_path)
    with pytest.raises(st.Contradiction):
        run(tmp_path / "run", n_areas=small_run.N_AREAS, overwrite=True)
    assert contents(tmp_path) == before


def test_nobody_else_can_read_a_run_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[int]()
    decide = parts.decide_batch

    def looking(*arguments: Any) -> Any:
        seen.append(stat.S_IMODE((tmp_path / "run/.partial").stat().st_mode))
        assert [path.name for path in (tmp_path / "run").iterdir()] == [".partial"]
        return decide(*arguments)

    monkeypatch.setattr(parts, "decide_batch", looking)
    before = os.umask(0o022)
    try:
        run(tmp_path / "run")
    finally:
        os.umask(before)
    assert set(seen) == {0o700}
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "run/proofs").stat().st_mode) == 0o755


@pytest.mark.parametrize("where", ["part", "join"])
def test_no_room_left(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear error, and what was decided stays for the same call to go on with."""
    run(tmp_path / "whole")
    full = OSError(errno.ENOSPC, "No space left on device")
    real = pq.write_table

    def failing(table: Any, path: Any, **options: Any) -> None:
        if "00000001" in str(path) and "draft-0" in str(path):
            raise full
        real(table, path, **options)

    def no_writer(*_: Any, **__: Any) -> None:
        raise full

    with monkeypatch.context() as patched:
        if where == "part":
            patched.setattr(parts.pq, "write_table", failing)
        else:
            patched.setattr(pq, "ParquetWriter", no_writer)
        with pytest.raises(st.RunError, match="cannot write here: No space left on device"):
            run(tmp_path / "run")
    assert (tmp_path / "run/.partial/00000000").exists()
    assert not (tmp_path / "run/run.json").exists()
    run(tmp_path / "run")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
