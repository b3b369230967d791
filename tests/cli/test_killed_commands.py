"""Every command that writes a folder, killed at its moments: the same command ends as if undisturbed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.simulated_numbers import bank_balances

import crowd
from command import Ran, Run, runner
from kills import killed_at, n_moments

SLOW = os.environ.get("SHOWTHROUGH_SLOW") == "1"

ILL = "people.parquet --sensitive ill"
SEED = f"--seed {crowd.SEED}"

COMMANDS = {
    "audit": "audit few.csv --by town --tables sex*age --tables sex*ill --effort 0.01",
    "protect": "protect few.csv --by town --tables sex*age --tables sex*ill --forbid singletons --workers 1",
    "publish uniform": f"publish {ILL} --rho 0.3:0.6 {SEED}",
    "publish partitioned": f"publish {ILL} --rho 0.3:0.6 --method partitioned {SEED} --format csv",
    "publish sampled": f"publish {ILL} --reconstruction 0.3:0.3 --retention 0.5 {SEED}",
    "publish anatomy": f"publish {ILL} --diversity 2 {SEED}",
    "check": f"check {ILL} --reconstruction 0.3:0.3 --retention 0.5",
    "compare": f"compare {ILL} --methods uniform,anatomy --rho 0.4:0.6 --diversity 2 --runs 2 --queries 20",
    "attack": "attack noisy.csv --column income --noise uniform:125 --method em",
    "ratio attack": f"attack {ILL} --public age,town --epsilon 0.1",
    "advise": "advise true.csv --column income --share 0.9 --privacy 50 --draws 1 --confirmations 4",
}

#: Commands that take their time, and how long before the last moment each is killed if not all are tried.
LONG = {"advise": 0, "protect": 2}

FEW = "town,sex,age,ill\na,f,old,no\na,f,old,yes\na,m,young,no\nb,f,young,no\nb,m,old,yes\nb,m,old,no\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    place = tmp_path / "here"
    place.mkdir()
    (tmp_path / "scratch").mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("SHOWTHROUGH_SCRATCH", str(tmp_path / "scratch"))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    crowd.write_people(place, 300)
    (place / "few.csv").write_text(FEW)
    balances = bank_balances(60, seed=1)[:, 0]
    noise = np.random.default_rng(2).uniform(-125, 125, 60)
    for name, column in (("true.csv", balances), ("noisy.csv", balances + noise)):
        (place / name).write_text("income\n" + "\n".join(map(str, column.tolist())) + "\n")
    return runner(capsys, words=True)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "timing.parquet")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", COMMANDS)
def test_killed(name: str, run: Run, tmp_path: Path) -> None:
    command = f"{COMMANDS[name]} --out out"
    said = list[Ran]()
    inputs = set(Path().iterdir())
    last = n_moments(lambda: said.append(run(command)), tmp_path)
    assert said[0].code != 2, said[0].err
    expected = contents(Path("out"))
    # The last moment is when the lock goes; some before that the folder takes its place.
    early = last // 3 if list(COMMANDS).index(name) % 2 else last - 5
    moments = range(1, last + 1) if SLOW else (last - LONG[name],) if name in LONG else (early, last)
    for moment in moments:
        shutil.rmtree("out", ignore_errors=True)
        with killed_at(moment, tmp_path) as was:
            run(command)
        assert was()
        ended = run(command)
        assert (ended.code, ended.out, ended.err) == (said[0].code, said[0].out, said[0].err), moment
        assert contents(Path("out")) == expected, moment
        assert set(Path().iterdir()) == {*inputs, Path("out")}
        assert list((tmp_path / "scratch").iterdir()) == []
    refused = run(command)
    assert refused.code == 2
    assert "finished" in refused.err


def test_a_publication_is_not_drawn_again(run: Run, tmp_path: Path) -> None:
    """Killed after its end, a publication whose seed nobody knows is told, not made, once more."""
    command = f"publish {ILL} --diversity 2 --out out"
    last = n_moments(lambda: run(command), tmp_path)
    shutil.rmtree("out")
    with killed_at(last, tmp_path):
        run(command)
    before = contents(Path("out"))
    other = run(f"publish {ILL} --rho 0.3:0.6 --out out")
    assert other.code == 2
    assert "finished publication" in other.err
    told = run(command, "--json")
    assert told.code == 0
    assert told.json["records"] + told.json["suppressed"] == 300
    assert contents(Path("out")) == before
    assert run(command).code == 2
    # With another seed the same command is another one.
    shutil.rmtree("out")
    with killed_at(last, tmp_path):
        run(f"{command} {SEED}")
    assert Path(".out.lock").exists()
    before = contents(Path("out"))
    assert run(f"{command} --seed 5").code == 2
    assert contents(Path("out")) == before


def test_the_lock_tells_nothing(run: Run, tmp_path: Path) -> None:
    command = f"publish {ILL} --diversity 2 {SEED} --out out"
    last = n_moments(lambda: run(command), tmp_path)
    shutil.rmtree("out")
    with killed_at(last, tmp_path):
        run(command)
    left = Path(".out.lock").read_text()
    for secret in (str(crowd.SEED), f"{crowd.SEED:x}", "people", "ill"):
        assert secret not in left
    assert not Path(".out.lock").stat().st_mode & 0o077
